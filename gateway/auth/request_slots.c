/* SPDX-License-Identifier: Apache-2.0 */

#include "request_slots.h"

#include "problem.h"
#include "limit_sender.h"

static bool is_same_sender(const struct request_slot *a, const struct request_slot *b) {
    return a->is_limited && b->is_limited && a->sender.kind == b->sender.kind &&
           limit_key_equals(&a->sender.key, &b->sender.key);
}

enum request_slots_state request_slots_find(const struct request_slots *slots, size_t max,
                                            const struct limits *limits,
                                            const struct http_request *request,
                                            struct request_slot *out) {
    const struct request_slot *other;
    size_t count = 0, sender_count = 0;
    *out =
        (struct request_slot){.is_limited = limits != NULL && !limit_sender_is_loopback(request)};
    if (out->is_limited) {
        out->sender = limit_sender_of(limits, request);
    }
    LIST_FOREACH(other, &slots->taken, links) {
        count++;
        sender_count += is_same_sender(out, other) ? 1 : 0;
    }
    return count >= max                                   ? REQUEST_SLOTS_TAKEN
           : sender_count >= REQUEST_SLOTS_OF_SENDER(max) ? REQUEST_SLOTS_SENDER_HAS_ENOUGH
                                                          : REQUEST_SLOTS_FREE;
}

bool request_slots_admit(const struct request_slots *slots, size_t max, const struct limits *limits,
                         struct http_request *request, const char *what, struct request_slot *out) {
    const enum request_slots_state room = request_slots_find(slots, max, limits, request, out);
    if (room == REQUEST_SLOTS_TAKEN) {
        problem_respond_format(request, PROBLEM_OVERLOADED,
                               "Too many requests for %s are in progress. Try again later.", what);
    } else if (room == REQUEST_SLOTS_SENDER_HAS_ENOUGH) {
        problem_respond_format(request, PROBLEM_OVERLOADED,
                               "This sender has %zu requests for %s in progress already. Read what "
                               "has come, or close a connection, then try again.",
                               REQUEST_SLOTS_OF_SENDER(max), what);
    }
    return room == REQUEST_SLOTS_FREE;
}

void request_slot_take(struct request_slots *slots, struct request_slot *slot) {
    LIST_INSERT_HEAD(&slots->taken, slot, links);
}

void request_slot_leave(struct request_slot *slot) {
    LIST_REMOVE(slot, links);
}
