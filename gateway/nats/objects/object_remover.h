/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Removes messages of a bucket: chunks that no meta names, and surplus objects. While nats-server
 * removes the messages that one request names it reads nothing else of the connection, and messages
 * wait: 0.1 s for an object of 100 MB. So they are removed in pieces, one after the other. */

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
    struct jetstream_request *request; /* for a piece of the first; NULL if none is asked for */
    struct reactor_timer again;        /* until an unanswered request is sent again */
};

void object_remover_init(struct object_remover *remover, struct reactor *reactor,
                         struct jetstream *jetstream, const char *stream);
/* Messages not removed by then expire with the bucket's age. */
void object_remover_finish(struct object_remover *remover);

/* Removes all messages on `subject`, the oldest first, after those added before, and until
 * JetStream confirms it. Without memory, or if NATS is away for long, they expire with the bucket's
 * age. `count`: as many as there are, or nearly so. */
void object_remover_add(struct object_remover *remover, const char *subject, uint64_t count);
/* As object_remover_add, for the message with this sequence, and earlier ones on the subject: later
 * ones stay. */
void object_remover_add_up_to(struct object_remover *remover, const char *subject,
                              uint64_t sequence);
