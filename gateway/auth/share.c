/* SPDX-License-Identifier: Apache-2.0 */

#include "share.h"

#include "problem.h"
#include "sender.h"

static bool is_same_sender(const struct share *a, const struct share *b) {
    return a->is_limited && b->is_limited && a->sender.kind == b->sender.kind &&
           limit_key_equals(&a->sender.key, &b->sender.key);
}

enum share_room share_find(const struct shares *shares, size_t max, const struct limits *limits,
                           const struct http_request *request, struct share *out) {
    const struct share *other;
    size_t count = 0, sender_count = 0;
    *out = (struct share){.is_limited = limits != NULL && !sender_is_loopback(request)};
    if (out->is_limited) {
        out->sender = sender_of(limits, request);
    }
    LIST_FOREACH(other, &shares->taken, links) {
        count++;
        sender_count += is_same_sender(out, other) ? 1 : 0;
    }
    return count >= max                    ? SHARE_NONE_LEFT
           : sender_count >= SHARE_OF(max) ? SHARE_SENDER_HAS_ENOUGH
                                           : SHARE_ROOM;
}

bool share_admit(const struct shares *shares, size_t max, const struct limits *limits,
                 struct http_request *request, const char *what, struct share *out) {
    const enum share_room room = share_find(shares, max, limits, request, out);
    if (room == SHARE_NONE_LEFT) {
        problem_respond_format(request, PROBLEM_OVERLOADED,
                               "Too many requests for %s are in progress. Try again later.", what);
    } else if (room == SHARE_SENDER_HAS_ENOUGH) {
        problem_respond_format(request, PROBLEM_OVERLOADED,
                               "This sender has %zu requests for %s in progress already. Read what "
                               "has come, or close a connection, then try again.",
                               SHARE_OF(max), what);
    }
    return room == SHARE_ROOM;
}

void share_take(struct shares *shares, struct share *share) {
    LIST_INSERT_HEAD(&shares->taken, share, links);
}

void share_leave(struct share *share) {
    LIST_REMOVE(share, links);
}
