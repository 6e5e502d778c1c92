/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Who must acknowledge the messages of a thread, who has, and who has answered. Pure: it knows
 * nothing of the file. */

#include <parley/index.h>

#include "index_item.h"

enum {
    DUTY_NAMES_MAX = PARLEY_INDEX_RECEIVERS_MAX,
    /* Subjects are kept cut, and an acknowledgement's begins with a prefix of its own: so many
     * bytes are compared. */
    DUTY_SUBJECT_MAX = 200,
};

/* A message of the thread.  Owns: texts are borrowed; length 0: it has none. */
struct duty_message {
    struct index_cursor at;
    unsigned part; /* a set of PARLEY_INDEX_ASKS … */
    struct parley_bytes sender, subject, topic;
    int64_t of; /* of an acknowledgement, once it is settled: as duty_ack.of */
};

/* An acknowledgement, of the thread or of another.  Owns: as above. */
struct duty_ack {
    struct index_cursor at;
    struct parley_bytes sender, topic;
    size_t status; /* a higher number is more; 0: it says none that is known */
    int64_t of;    /* `pos` of the message that it acknowledges; 0: it is found by its topic */
};

/* A text and the number of a message that it is of. */
struct duty_name {
    struct parley_bytes text;
    size_t number;
};

struct duty_names {
    struct duty_name *items;
    size_t count;
};

/* Owns: zeroed is empty; duty_finish frees what it has, but no texts. */
struct duty_thread {
    struct duty_message *messages; /* in the order of storage */
    size_t count, capacity;
    struct duty_ack *acks; /* once it is settled, those of a message and a sender lie together */
    size_t ack_count, ack_capacity;
    /* Private: writers in the order of their first messages; senders of all but acknowledgements,
     * and what these messages are about, by text. */
    struct duty_names writers, answers, subjects;
    bool is_cut; /* the thread has more */
};

/* Adds the next message.  Returns: PARLEY_E_MEMORY. */
enum parley_status duty_add_message(struct duty_thread *thread,
                                    const struct duty_message *message) PARLEY_MUST_CHECK;
enum parley_status duty_add_ack(struct duty_thread *thread,
                                const struct duty_ack *ack) PARLEY_MUST_CHECK;

/* Once all is added: finds the message of each acknowledgement of the thread that has none so far.
 * It is the newest before it whose subject, with or without its prefix, is the acknowledgement's
 * without its own: no other acknowledgement, and none of the same sender.
 * Returns: PARLEY_E_MEMORY. */
enum parley_status duty_settle(struct duty_thread *thread) PARLEY_MUST_CHECK;
void duty_finish(struct duty_thread *thread);

/* These are for a thread that is settled. */

/* The number of the message at that place; SIZE_MAX: there is none. */
size_t duty_number(const struct duty_thread *thread, const struct index_cursor *at);

/* Who wrote before the message, in the order of their first messages, but not who sent it.
 * `out_more`: there are more than fit. */
size_t duty_writers(const struct duty_thread *thread, size_t number,
                    struct parley_bytes out[DUTY_NAMES_MAX], bool *out_more);
/* The first of the acknowledgements with the highest status that this recipient has sent of the
 * message; data NULL: any but its sender.  Returns: NULL: there is none. */
const struct duty_ack *duty_acknowledged(const struct duty_thread *thread, size_t number,
                                         struct parley_bytes recipient);
/* The first of all acknowledgements that this recipient has sent of the message; as above. */
const struct duty_ack *duty_first_ack(const struct duty_thread *thread, size_t number,
                                      struct parley_bytes recipient);
/* The first message of the recipient after this one that is no acknowledgement.  Returns: NULL. */
const struct duty_message *duty_answered(const struct duty_thread *thread, size_t number,
                                         struct parley_bytes recipient);

/* The order of names. */
int duty_compare(struct parley_bytes one, struct parley_bytes other);

/* ---- which message has the id ---- */

/* A message that bears the id which an acknowledgement names. */
struct duty_bearer {
    struct index_cursor at;
    bool is_near; /* of its thread */
};

/* The one that is meant: of its thread, else any; the newest that was stored before it.
 * Returns: SIZE_MAX: none was. */
size_t duty_choose(const struct index_cursor *ack, const struct duty_bearer *bearers, size_t count);
