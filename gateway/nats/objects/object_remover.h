/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Removes messages of a bucket: chunks that no meta names, and objects that are too many. While
 * nats-server removes what one request names it reads nothing else of the connection, and messages
 * wait: 0.1 s for an object of 100 MB. So they are removed in pieces, one after the other, of all
 * that is to be removed. */

#include <sys/queue.h>

#include "jetstream.h"
#include "reactor.h"

/* Owns: the caller embeds it; borrows its arguments for its life. */
struct object_remover {
    /* Private. */
    struct reactor *reactor;
    struct jetstream *jetstream;
    const char *stream;
    TAILQ_HEAD(, object_removal) line;
    size_t count;
    struct jetstream_request *request; /* for a piece of the first; NULL: none is asked for */
    struct reactor_timer again;        /* until what was not answered is asked again */
};

void object_remover_init(struct object_remover *remover, struct reactor *reactor,
                         struct jetstream *jetstream, const char *stream);
/* What is not removed yet expires with the bucket's age. */
void object_remover_finish(struct object_remover *remover);

/* All messages on `subject` are to be removed, the oldest first, after what was added before, and
 * until JetStream says that they are. Without memory, or if NATS is away for long, they expire with
 * the bucket's age. `count`: as many as there are, or nearly so. */
void object_remover_add(struct object_remover *remover, const char *subject, uint64_t count);
/* The same for the message with this sequence, and what was on the subject before: what came there
 * later stays. */
void object_remover_add_up_to(struct object_remover *remover, const char *subject,
                              uint64_t sequence);
