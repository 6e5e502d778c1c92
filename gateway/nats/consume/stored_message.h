/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answer to a request for one message of a stream. Messages provoke such requests, so their
 * answers are read without jansson. */

#include "api_fields.h"
#include "jetstream_types.h"

#define MESSAGE_ANSWER_NO_RESPONDERS "no NATS server responds to this request"

enum {
    MESSAGE_ANSWER_MESSAGE = ANSWER_ERROR_COUNT,
    MESSAGE_ANSWER_SUBJECT,
    MESSAGE_ANSWER_HEADERS,
    MESSAGE_ANSWER_DATA,
    MESSAGE_ANSWER_TIME,
    MESSAGE_ANSWER_SEQUENCE,
    MESSAGE_ANSWER_MEMBER_COUNT
};

struct stored_message {
    struct answer_member members[MESSAGE_ANSWER_MEMBER_COUNT];
    int error;          /* the server's; JETSTREAM_NO_RESPONDERS; -1: another; 0: no error */
    const char *reason; /* of an error */
    struct parley_arena arena;
};

/* Reads `text`; data NULL if no answer came. `is_unanswerable`: no server listens.
 * Owns: `text` is borrowed until stored_message_finish. */
void stored_message_init(struct stored_message *answer, struct parley_bytes text,
                         bool is_unanswerable);
void stored_message_finish(struct stored_message *answer);

/* Interprets it as the answer to jetstream_last_ask or jetstream_held_ask. Where memory runs out it
 * is an error.  Owns: valid until stored_message_finish. */
void stored_message_last(struct stored_message *answer, struct jetstream_last *out);
void stored_message_held(struct stored_message *answer, struct jetstream_held *out);
