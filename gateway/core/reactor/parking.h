/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests of one reactor that wait, for seconds or minutes, for something that may never come: a
 * place for each, up to a limit, with a deadline. It knows no HTTP: the caller that parks a request
 * answers it when its place is given up. The addresses of such requests stay open
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

struct parking;

enum parking_end { PARKING_WOKEN, PARKING_TIME_UP, PARKING_DRAINING };

/* Owns: the caller embeds it in what it keeps of the request, and calls parking_leave before it
 * frees that. Zeroed but for `over` it is free. */
struct parking_place {
    /* It is free again when this is called, never from within parking_enter. */
    void (*over)(struct parking_place *place, enum parking_end end);
    struct parking *parking; /* NULL: free */
    int64_t due_ms;
    uint32_t slot;
    TAILQ_ENTRY(parking_place) links;
};

/* A parked place, for other threads: valid when that is gone, but not when the parking is. */
struct parking_ticket {
    struct parking *parking;
    uint64_t number; /* of the stay: it never comes again */
    uint32_t slot;
};

/* `places_max`: at once.  Owns: borrows the reactor; returns a new one, to be destroyed when the
 * reactor does not run any more. */
enum parley_status parking_create(struct reactor *reactor, size_t places_max,
                                  struct parking **out) PARLEY_MUST_CHECK;
/* Nobody may be parked. NULL is allowed. */
void parking_destroy(struct parking *parking);

/* Parks it for at most `wait_ms`.  Returns: false where there is no room, or no memory for it, or
 * the end has begun: it stays free. */
bool parking_enter(struct parking *parking, struct parking_place *place,
                   int64_t wait_ms) PARLEY_MUST_CHECK;
/* Its request is over, or answered otherwise: `over` is not called. Harmless when it is free. */
void parking_leave(struct parking_place *place);

/* Of a place that is parked. */
struct parking_ticket parking_ticket(const struct parking_place *place);
/* Has its `over` called with PARKING_WOKEN, in a later turn; nothing when that stay has ended by
 * then.  Threads: any. */
void parking_wake(struct parking_ticket ticket);

/* Ends every stay, and lets nobody in from now on. */
void parking_drain(struct parking *parking);

size_t parking_count(const struct parking *parking);
