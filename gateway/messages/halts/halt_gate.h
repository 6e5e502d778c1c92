/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How messages pass the halts of a protocol on one reactor. The key of a halt is stored before the
 * message that halts is published, or is refused as invalid; and while the bucket of halts cannot
 * be read, what obeys halts waits, as long as messages wait for NATS. */

#include "halt_set.h"
#include "jetstream.h"

struct halt_gate;

/* A task that must keep its order with the messages held here: it waits while there are any. Owns:
 * the caller embeds it, zeroed at first, and keeps it until the last `done`. */
struct halt_hold {
    size_t held_count;
    void (*released)(struct halt_hold *hold); /* none is left */
};

/* Owns: everything is borrowed for the call, but for the hold. */
struct halt_post {
    const struct jetstream_message *message;
    const char *conversation; /* halt_digest_conversation */
    const char *key;          /* of a message that halts; NULL: of one that obeys */
    struct parley_bytes value;
    bool is_key_only;       /* nothing is published once the key is stored, and `done` gets
                               JETSTREAM_STORED: of the message only `share` counts */
    struct halt_hold *hold; /* NULL: its order does not matter */
    jetstream_ack_fn *done;
    void *context;
};

/* `bucket`: as of channel.h.  Owns: borrows all arguments; returns a new gate, which the caller
 * destroys before the jetstream. */
enum parley_status halt_gate_create(struct reactor *reactor, struct jetstream *jetstream,
                                    struct halt_set *set, const char *bucket,
                                    struct halt_gate **out) PARLEY_MUST_CHECK;
/* The callbacks of held messages are not called. NULL is allowed. */
void halt_gate_destroy(struct halt_gate *gate);

/* As jetstream_publish. A message that is held and then cannot be published ends with
 * JETSTREAM_REFUSED: it was not stored. */
enum jetstream_publish halt_gate_publish(struct halt_gate *gate, const struct halt_post *post);

/* Writes a key on the condition that it has no value. */
enum jetstream_publish halt_gate_put(struct halt_gate *gate, const char *key,
                                     struct parley_bytes value, unsigned share,
                                     jetstream_ack_fn *done, void *context);
/* Replaces the value of a key. */
enum jetstream_publish halt_gate_overwrite(struct halt_gate *gate, const char *key,
                                           struct parley_bytes value, jetstream_ack_fn *done,
                                           void *context);

struct halt_set *halt_gate_set(struct halt_gate *gate);
size_t halt_gate_held_count(const struct halt_gate *gate);
/* Ends what waits for the bucket: the server shuts down. */
void halt_gate_give_up(struct halt_gate *gate);
