/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What follows when acknowledgements of one protocol are overdue, each once over all gateways: a
 * message that reminds of it, in the thread, to who must acknowledge; and a key for webhooks, whose
 * value is the item of the view acks. What became overdue more than a day ago is left alone.
 *
 * Threads: that of the reactor. */

#include "gateway.h"

struct ack_watch;
struct index_keeper;
struct index_service;

#define OVERDUE_WITHOUT "webhooks are not told of acknowledgements that are overdue meanwhile"

struct ack_watch_options {
    struct gateway *gateway;
    const struct channel *channel;     /* of a protocol whose messages are acknowledged */
    const struct index_keeper *keeper; /* of the index, which … */
    struct index_service *service;     /* … answers questions */
    int64_t overdue_ms;                /* after the message was stored */
    bool reminds;
    bool stores; /* keys of channel->ack_bucket */
};

/* Before: the reactor runs.  Owns: borrows what the options point to; returns a new one, which the
 * caller destroys after the jetstream and before the reactor. */
enum parley_status ack_watch_create(const struct ack_watch_options *options,
                                    struct ack_watch **out) PARLEY_MUST_CHECK;
/* It begins nothing from now on. NULL is allowed, here and below. */
void ack_watch_stop(struct ack_watch *watch);
void ack_watch_destroy(struct ack_watch *watch);
