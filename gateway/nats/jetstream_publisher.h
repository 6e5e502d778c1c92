/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Acknowledged publishing in a bounded window. */

#include "jetstream_types.h"

/* Publishes a message; `done` gets its ack. `done` is called only after JETSTREAM_PUBLISHED, and
 * cannot be cancelled: keep the context until then.  Owns: copies everything else. */
enum jetstream_publish jetstream_publish(struct jetstream *jetstream, const char *subject,
                                         const struct bus_header *headers, size_t header_count,
                                         struct parley_bytes payload, jetstream_ack_fn *done,
                                         void *context);

/* The same for a message that belongs together with the one published just before and needs no room
 * of its own in the window. At most one may follow each message. */
enum jetstream_publish jetstream_publish_second(struct jetstream *jetstream, const char *subject,
                                                const struct bus_header *headers,
                                                size_t header_count, struct parley_bytes payload,
                                                jetstream_ack_fn *done, void *context);

/* Calls `room` once, in a later turn, when the window has room again or the bus went away. Does
 * nothing when the waiter waits already. */
void jetstream_wait_for_room(struct jetstream *jetstream, struct jetstream_waiter *waiter);
/* Harmless when it does not wait. */
void jetstream_wait_cancel(struct jetstream *jetstream, struct jetstream_waiter *waiter);

/* How many publications await their ack. */
size_t jetstream_in_flight_count(const struct jetstream *jetstream);

/* ---- for jetstream.c ---- */

enum parley_status jetstream_publisher_init(struct jetstream *jetstream) PARLEY_MUST_CHECK;
/* Harmless when it was not initialised. */
void jetstream_publisher_finish(struct jetstream *jetstream);
/* The connection is lost: ends everything in flight with JETSTREAM_LOST, and wakes the waiters. */
void jetstream_publisher_lose_all(struct jetstream *jetstream);
/* NATS does not permit publishing to `subject`: ends what is in flight on it with
 * JETSTREAM_REFUSED. */
void jetstream_publisher_refuse(struct jetstream *jetstream, const char *subject);
