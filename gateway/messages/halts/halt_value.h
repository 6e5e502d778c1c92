/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A halt as it is kept in NATS: a key of the bucket, and a value that is JSON. */

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/protocol.h>

#include "log.h"

enum {
    HALT_DIGEST_LENGTH = 32,
    HALT_KEY_LENGTH = 2 * HALT_DIGEST_LENGTH + 1,
    HALT_VALUE_MAX = 2048, /* longer ones are not kept in memory, and halt all the same */
};

/* BLAKE2b of 128 bits, in lower-case hexadecimal, of "KIND:NAME": the prefix of a conversation's
 * keys. */
void halt_digest_conversation(const char *kind, struct parley_bytes name,
                              char out[HALT_DIGEST_LENGTH + 1]);
/* "<digest of the conversation>.<digest of the message that halts it>" */
void halt_key(const char conversation[HALT_DIGEST_LENGTH + 1], struct parley_bytes payload,
              char out[HALT_KEY_LENGTH + 1]);
bool halt_key_is_one(struct parley_bytes key);

/* The members of a value; data is NULL for a missing one.  Owns: borrowed. */
struct halt_value {
    struct parley_bytes kind, name;      /* "session", or whatever its first member is */
    struct parley_bytes by, id, why, at; /* `by`: the sender that the message names */
    struct parley_bytes principal;       /* whose token it was sent with */
    bool is_invalid;                     /* the message broke a rule; not read back */
    struct parley_bytes released_by, reason, released_at;
    struct parley_bytes
        released_principal; /* the token of who released it, if that named another */
};

/* It is JSON, an object. */
bool halt_value_is_json(struct parley_bytes text);
/* Logs that a halt is new (LOG_HALT_LATCHED), or that there is no room for it (LOG_HALT_REFUSED).
 * `reason`: as log_write's message; NULL: the event's. */
void halt_value_log(enum log_event event, const char *protocol, struct parley_bytes value,
                    const char *reason);
/* Long texts are cut, and empty ones left out. */
void halt_value_write(const struct halt_value *value, struct parley_buffer *out);
/* For a value that is not valid, `out` is empty.  Owns: decoded texts are in `arena`, others in
 * `text`. */
enum parley_status halt_value_read(struct parley_bytes text, struct parley_arena *arena,
                                   struct halt_value *out);

/* Who has made it: whose token it was, or, without one, the sender that the message names. Two
 * halts have one owner if their digests are equal. */
void halt_value_owner(const struct halt_value *value, char out[HALT_DIGEST_LENGTH + 1]);
/* Whether its token or the sender that its message names has this name. */
bool halt_value_is_by(const struct halt_value *value, struct parley_bytes name);

/* A message that halts. */
struct halting_message {
    const struct parley_route *route;
    struct parley_bytes payload;
    struct parley_bytes principal; /* data NULL: not known */
    bool is_valid;                 /* it keeps the rules of its protocol */
    const char *now;               /* RFC 3339 */
};

/* The halt that a message is: its key, and its value. */
struct halt_of_message {
    char conversation[HALT_DIGEST_LENGTH + 1], key[HALT_KEY_LENGTH + 1];
};
void halt_of_message(const struct halting_message *message, struct halt_of_message *out,
                     struct parley_buffer *value);
