/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a stored message says of halts (parley/halts.h), for readers whose filters may not let the
 * message itself pass. */

#include <parley/protocol.h>

#include "jetstream.h"

/* The header of the message that says that halts were released: the kind of their conversation,
 * which the message names, or STREAM_RELEASED_ALL. */
#define STREAM_RELEASED_HEADER "Parley-Released"
#define STREAM_RELEASED_ALL "*"

/* The conversation is a thread, or the messages of a sender that have none; neither: it is not only
 * one.  Owns: one allocation, with all texts. */
struct stream_halt {
    bool is_release;
    struct parley_bytes thread, sender; /* data NULL for none */
    char data[];                        /* of the event, as JSON */
};

/* Returns: false: no memory; `out` NULL: the message says nothing of halts. */
bool stream_halt_note(const struct parley_protocol *protocol, const struct jetstream_stored *stored,
                      const struct parley_route *route, struct stream_halt **out);
/* NULL is allowed. */
void stream_halt_destroy(struct stream_halt *halt);
