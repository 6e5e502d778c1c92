/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Halts, for sending: which messages they stop, which must wait for them, and which invalid
 * messages halt all the same. A protocol without halts passes through here at the price of a
 * comparison. */

#include "failure.h"
#include "halt_gate.h"

/* Whether a valid message is refused, since its conversation is halted. */
bool halting_refuses(const struct request_options *options, struct parley_message *message,
                     struct failure *out);

/* Whether the conversation of this route is halted, for what obeys halts. */
bool halting_stops(const struct request_options *options, const struct parley_route *route,
                   struct failure *out);

/* The effect of an invalid message on its conversation. */
enum halting_effect {
    HALTING_NOTHING, /* also of one whose halt was released */
    HALTING_HALTED,  /* its halt is stored already */
    HALTING_HALTS,   /* halting_latch is to be called */
};
/* For a message that was to be forwarded. Messages that their sender may not send (GW-102) halt
 * nothing. */
enum halting_effect halting_of_invalid(const struct request_options *options,
                                       struct parley_message *message);
/* Stores the halt of an invalid message; as jetstream_publish.  `hold`: as of halt_post.  `done`:
 * its outcome is JETSTREAM_STORED, or the halt is not stored.  `out_share`: of the window, of which
 * none was free. */
enum jetstream_publish halting_latch(const struct request_options *options,
                                     struct parley_message *message, struct halt_hold *hold,
                                     jetstream_ack_fn *done, void *context, unsigned *out_share);

/* Publishes a message that was not refused, with its protocol's share of JetStream's window; as
 * jetstream_publish.  `hold`: as of halt_post. */
enum jetstream_publish halting_publish(const struct request_options *options,
                                       const struct publication *publication,
                                       struct jetstream_sender *sender, struct halt_hold *hold,
                                       jetstream_ack_fn *done, void *context);
