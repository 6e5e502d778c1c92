/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Limits the requests of a kind that a worker serves at a time. One sender gets three quarters of
 * them at the most, so that others are served however slowly its clients read. A program on this
 * machine that has no name counts, but is not limited: it may be a proxy. Called on one reactor's
 * thread. */

#include <stddef.h>
#include <sys/queue.h>

#include "http.h"
#include "sender_limits.h"

/* The slots of one kind. Zeroed at first. */
struct request_slots {
    LIST_HEAD(, request_slot) taken;
};

/* One request's.  Owns: the caller embeds it; it may be moved until it is taken. */
struct request_slot {
    struct limit_sender sender;
    bool is_limited;
    LIST_ENTRY(request_slot) links;
};

enum request_slots_state {
    REQUEST_SLOTS_FREE,
    REQUEST_SLOTS_TAKEN,
    REQUEST_SLOTS_SENDER_HAS_ENOUGH
};

/* How many of `max` one sender gets. */
#define REQUEST_SLOTS_OF_SENDER(max) ((max) / 4 * 3)

/* Checks whether one more of at most `max` may be served.  `limits` NULL: no sender is limited.
 * `out`: the slot to take where there is room. */
enum request_slots_state request_slots_find(const struct request_slots *slots, size_t max,
                                            const struct limits *limits,
                                            const struct http_request *request,
                                            struct request_slot *out);
/* As request_slots_find.  `what`: the purpose of the requests.  Returns: false if there is no room:
 * it is answered with 503. */
bool request_slots_admit(const struct request_slots *slots, size_t max, const struct limits *limits,
                         struct http_request *request, const char *what, struct request_slot *out);

/* After request_slots_find or request_slots_admit, in the same callback. */
void request_slot_take(struct request_slots *slots, struct request_slot *slot);
/* Once its request is closed. */
void request_slot_leave(struct request_slot *slot);
