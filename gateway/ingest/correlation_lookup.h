/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How publishing uses a protocol's correlation store: a request is put there, and a reply needs to
 * know its request before its subject is known. */

#include "failure.h"
#include "halting.h"

enum correlation_lookup_state {
    LOOKUP_NONE,
    LOOKUP_ASKING, /* on_ready will be called */
    LOOKUP_DONE,   /* `text` is the value, NULL: there is none */
    LOOKUP_FAILED, /* `text` is what to say to the sender, NULL: no memory */
};

/* What a message needs to know of an earlier one.  Owns: the text; zeroed at first. */
struct correlation_lookup {
    struct correlation_query query;
    void (*on_ready)(struct correlation_lookup *lookup);
    enum correlation_lookup_state state;
    char *text;
};

/* Whether a valid message needs to know something that is not known here: then that key, else what
 * is known has become an option of the message.
 * Owns: the key lives in the message's arena.  `out_key`: data NULL when there is nothing to ask.
 */
enum parley_status correlation_lookup_need(struct request_options *options,
                                           struct parley_message *message,
                                           struct parley_bytes *out_key) PARLEY_MUST_CHECK;

/* Asks; `on_ready` follows in a later turn if the state is LOOKUP_ASKING. */
void correlation_lookup_begin(struct correlation_lookup *lookup, struct request_options *options,
                              struct parley_bytes key);
/* What is known here already. */
void correlation_lookup_set(struct correlation_lookup *lookup, const char *text);
/* The value, NULL: there is none, or it could not be found out. */
const char *correlation_lookup_value(const struct correlation_lookup *lookup);
void correlation_lookup_finish(struct correlation_lookup *lookup);
struct failure correlation_lookup_failure(const struct correlation_lookup *lookup);

/* Keeps what others need to know of a message that cannot be published yet, so that those after it
 * need not wait for it. */
void correlation_lookup_keep_early(struct request_options *options, struct parley_message *message);

/* Publishes as halts allow (halting.h), and puts into the store what later messages need; as
 * jetstream_publish. */
enum jetstream_publish correlation_lookup_publish(struct request_options *options,
                                                  const struct publication *publication,
                                                  struct jetstream_sender *sender,
                                                  struct halt_hold *hold, jetstream_ack_fn *done,
                                                  void *context);
