/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests that a worker serves a few of at a time. One sender gets three quarters of them at the
 * most, so that others are served however slowly its clients read. A program on this machine that
 * has no name counts, but is not limited: it may be a proxy. Called on one reactor's thread. */

#include <stddef.h>
#include <sys/queue.h>

#include "http.h"
#include "sender_limits.h"

/* Of one kind. Zeroed at first. */
struct shares {
    LIST_HEAD(, share) taken;
};

/* One request's.  Owns: the caller embeds it; it may be moved until it is taken. */
struct share {
    struct limit_sender sender;
    bool is_limited;
    LIST_ENTRY(share) links;
};

enum share_room { SHARE_ROOM, SHARE_NONE_LEFT, SHARE_SENDER_HAS_ENOUGH };

/* How many of `max` one sender gets. */
#define SHARE_OF(max) ((max) / 4 * 3)

/* Whether one more of at most `max` may be served.  `limits` NULL: no sender is limited.
 * `out`: to be taken where there is room. */
enum share_room share_find(const struct shares *shares, size_t max, const struct limits *limits,
                           const struct http_request *request, struct share *out);
/* The same.  `what`: the requests are for.  Returns: false: there is no room, and it is answered
 * with 503. */
bool share_admit(const struct shares *shares, size_t max, const struct limits *limits,
                 struct http_request *request, const char *what, struct share *out);

/* After share_find or share_admit, in the same callback. */
void share_take(struct shares *shares, struct share *share);
/* Once its request is closed. */
void share_leave(struct share *share);
