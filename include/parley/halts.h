/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Conversations that a message halts until people release them: the gateway keeps the halts and
 * refuses what obeys them; a protocol that has them says which messages halt, which obey
 * (parley_route.halt_role), and which message says that a halt was released. */

#include <stddef.h>

#include <parley/buffer.h>
#include <parley/bytes.h>

struct parley_option;

/* The role of a message in halts: a conversation stays halted until people release it. */
enum parley_halt_role {
    PARLEY_HALT_NONE,    /* passes */
    PARLEY_HALT_LATCHES, /* halts its conversation */
    PARLEY_HALT_OBEYS,   /* is refused while its conversation is halted */
};

/* Halts that are released. */
struct parley_release {
    const char *kind; /* of parley_halts_kind.kinds; NULL: they are not all of one conversation */
    struct parley_bytes name, reason;
    const struct parley_bytes *ids; /* of the messages that had halted it */
    size_t id_count;
    const char *id, *now; /* for the message: a new UUID, RFC 3339 */
};

/* The fate of a message that obeys while its conversation is halted. */
enum parley_on_halt { PARLEY_ON_HALT_REFUSE, PARLEY_ON_HALT_IGNORE };

struct parley_halts_kind {
    const char *bucket;       /* the key-value bucket of halts */
    const char *subjects;     /* of messages that bypassed the gateway and halt all the same, below
                                 the protocol's first token: "block.>" */
    const char *const *kinds; /* of conversations, NULL-terminated */
    /* The one of protocol->options, a choice, whose value is an enum parley_on_halt. NULL if
     * messages that obey are always refused. */
    const struct parley_option *mode;
    /* Appends the message, as JSON, that says that halts were released. */
    void (*write_release)(const struct parley_release *release, struct parley_buffer *out);
};
