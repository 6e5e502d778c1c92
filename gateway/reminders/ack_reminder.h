/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reminds of acknowledgements of one protocol that are overdue, once over all gateways: a message
 * in the thread, to who must acknowledge. What became overdue more than a day ago is left alone.
 *
 * Threads: that of the reactor. */

#include "gateway.h"

struct ack_reminder;
struct index_keeper;
struct index_service;

struct ack_reminder_options {
    struct gateway *gateway;
    const struct channel *channel;     /* of a protocol whose messages are acknowledged */
    const struct index_keeper *keeper; /* of the index, which … */
    struct index_service *service;     /* … answers questions */
    int64_t overdue_ms;                /* after the message was stored */
};

/* Before: the reactor runs.  Owns: borrows what the options point to; returns a new one, which the
 * caller destroys after the jetstream and before the reactor. */
enum parley_status ack_reminder_create(const struct ack_reminder_options *options,
                                       struct ack_reminder **out) PARLEY_MUST_CHECK;
/* It begins nothing from now on. NULL is allowed, here and below. */
void ack_reminder_stop(struct ack_reminder *reminder);
void ack_reminder_destroy(struct ack_reminder *reminder);
