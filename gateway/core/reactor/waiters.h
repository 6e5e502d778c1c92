/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests of one reactor that wait, for seconds or minutes, for something that may never come: a
 * place for each, up to a limit, with a deadline. It does not depend on HTTP: the caller that parks
 * a request answers it when its place is given up. The addresses of such requests stay open
 * (server/routes.c), so that they slow no others.
 *
 *     free ──enter──▶ parked ──wake, from any thread; time up; drain──▶ free, and then `over`
 *       ▲                └───────────────────leave────────────────────▶ free
 *       └────────────────────────────────────────────────────────────────┘
 *
 * Everything is called on the reactor's thread, unless it says otherwise. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <parley/status.h>

#include "reactor.h"

struct waiters;

enum waiter_end { WAITER_WOKEN, WAITER_TIME_UP, WAITER_DRAINING };

/* Owns: the caller embeds it in its state of the request, and calls waiter_leave before it frees
 * that. Zeroed except `over` it is free. */
struct waiter {
    /* It is free again when this is called, never from within waiters_enter. */
    void (*over)(struct waiter *place, enum waiter_end end);
    struct waiters *waiters; /* NULL if it is free */
    int64_t due_ms;
    uint32_t slot;
    TAILQ_ENTRY(waiter) links;
};

/* A parked place, for other threads: usable after the place was freed, but not after the waiters
 * were. */
struct waiter_ticket {
    struct waiters *waiters;
    uint64_t number; /* of the stay: it is never reused */
    uint32_t slot;
};

/* `places_max`: at once.  Owns: borrows the reactor; returns a new one, to be destroyed when the
 * reactor no longer runs. */
enum parley_status waiters_create(struct reactor *reactor, size_t places_max,
                                  struct waiters **out) PARLEY_MUST_CHECK;
/* No request may be parked. NULL is allowed. */
void waiters_destroy(struct waiters *waiters);

/* Parks it for at most `wait_ms`.  Returns: false where there is no room, or no memory for it, or
 * the end has begun: it stays free. */
bool waiters_enter(struct waiters *waiters, struct waiter *place,
                   int64_t wait_ms) PARLEY_MUST_CHECK;
/* Its request has ended, or is answered otherwise: `over` is not called. Harmless when it is
 * free. */
void waiter_leave(struct waiter *place);

/* Returns the ticket of a parked place. */
struct waiter_ticket waiter_ticket(const struct waiter *place);
/* Makes its `over` be called with WAITER_WOKEN, in a later turn; does nothing when that stay has
 * ended by then.  Threads: any. */
void waiter_wake(struct waiter_ticket ticket);

/* Ends every stay, and admits no request from now on. */
void waiters_drain(struct waiters *waiters);

size_t waiters_count(const struct waiters *waiters);
