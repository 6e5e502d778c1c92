/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Acknowledged publishing in a bounded window. */

#include "jetstream_types.h"

struct jetstream_publication;

/* Publishes a message, or keeps it until that is possible (jetstream_away_queue.h); `done` gets its
 * ack. `done` is called only after JETSTREAM_PUBLISHED, and cannot be cancelled: keep the context
 * until then.  Owns: copies the message. */
enum jetstream_publish jetstream_publish(struct jetstream *jetstream,
                                         const struct jetstream_message *message,
                                         jetstream_ack_fn *done, void *context);

/* As jetstream_publish, for a message that belongs together with the one published just before and
 * needs no room of its own in the window. At most one may follow each message. */
enum jetstream_publish jetstream_publish_second(struct jetstream *jetstream,
                                                const struct jetstream_message *message,
                                                jetstream_ack_fn *done, void *context);

/* Whether messages are published, or may wait until they can be; else they get JETSTREAM_AWAY. */
bool jetstream_is_accepting(const struct jetstream *jetstream);
/* How long a message may wait, as set, or 0 once jetstream_give_up was called. */
int64_t jetstream_patience_ms(const struct jetstream *jetstream);

/* Returns the bound that made the last publication JETSTREAM_FULL, as half a sentence.  Owns:
 * borrowed, for this turn. */
const char *jetstream_bound(const struct jetstream *jetstream);

/* Calls `room` once, in a later turn, when its share of the window has room again or messages are
 * no longer accepted (JETSTREAM_AWAY): in the order in which they came, except those whose share is
 * full. `room` may cancel no other waiter. Does nothing when the waiter waits already. */
void jetstream_wait_for_room(struct jetstream *jetstream, struct jetstream_waiter *waiter);
/* Harmless when it does not wait. */
void jetstream_wait_cancel(struct jetstream *jetstream, struct jetstream_waiter *waiter);

/* How many publications await their ack, or wait for NATS. */
size_t jetstream_in_flight_count(const struct jetstream *jetstream);
/* How many of them wait for NATS, and were not published or may be again. */
size_t jetstream_held_count(const struct jetstream *jetstream);
/* Ends all of them at once, and lets none wait from now on: the server shuts down. */
void jetstream_give_up(struct jetstream *jetstream);

/* ---- for jetstream.c ---- */

enum parley_status jetstream_publisher_init(struct jetstream *jetstream) PARLEY_MUST_CHECK;
/* Harmless when it was not initialised. */
void jetstream_publisher_finish(struct jetstream *jetstream);
/* The connection is lost: publications that may be repeated wait, and all others in flight end with
 * JETSTREAM_LOST. */
void jetstream_publisher_lose_all(struct jetstream *jetstream);
/* NATS does not permit publishing to `subject`: ends the publications in flight on it with
 * JETSTREAM_REFUSED. */
void jetstream_publisher_refuse(struct jetstream *jetstream, const char *subject);

/* ---- for jetstream_away_queue.c ---- */

/* Publishes one that is not in flight. It is, if this returns BUS_SENT. */
enum bus_send jetstream_publication_send(struct jetstream_publication *publication);
/* Takes one out of its list: of those in flight, or a flow's queue. */
void jetstream_publication_withdraw(struct jetstream_publication *publication);
/* Completes one that was refused with the ack's reason: JETSTREAM_REFUSED, or JETSTREAM_TIMEOUT if
 * it may be stored nevertheless. */
void jetstream_publication_refuse(struct jetstream_publication *publication, int code,
                                  const char *error);
/* Calls `done`, and frees it. */
void jetstream_publication_complete(struct jetstream_publication *publication,
                                    const struct jetstream_ack *ack);
