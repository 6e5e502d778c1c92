/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The messages that people approved, for the readers of one stream that ask for them: each is
 * fetched once for all of them, a few at a time, and kept for a while within bounds. A message that
 * announces an approval is believed only if the key of the decision says the same (ADR 48). */

#include <sys/queue.h>

#include "reactor.h"
#include "stream_event.h"

struct stream_hub;
struct stream_approved;
TAILQ_HEAD(stream_approved_list, stream_approved);

/* Owns: the hub embeds it. */
struct stream_approvals {
    struct stream_hub *hub;
    struct stream_approved_list list; /* those last that were wanted last */
    size_t count, asked_count;
    size_t bytes;                   /* of the events in it */
    struct stream_approved *newest; /* readers are being notified of it; NULL: of none */
    struct reactor_timer retry;
};

/* Owns: borrows the hub, which calls stream_approvals_finish. */
void stream_approvals_init(struct stream_approvals *approvals, struct stream_hub *hub);
void stream_approvals_finish(struct stream_approvals *approvals);

/* Finds what `notice`, which has a review, announces.  Returns: false: it is not known so far;
 * stream_hub_notify_reviewed is called when there is more.  `out`: NULL: nothing: it is not true,
 * or the message is gone.  Owns: borrowed until a later turn. */
bool stream_approvals_find(struct stream_approvals *approvals, struct stream_event *notice,
                           struct stream_event **out);

/* The stream's messages are others now: all is asked again. */
void stream_approvals_forget(struct stream_approvals *approvals);
/* Keeps nothing that is known already: no reader follows any more. */
void stream_approvals_trim(struct stream_approvals *approvals);
