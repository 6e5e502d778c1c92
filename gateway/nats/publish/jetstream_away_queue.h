/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Messages that find no connection, no leader or no ack wait, and are published once NATS is back
 * (ADR 15). Private to nats/. */

#include "jetstream_state.h"

enum parley_status jetstream_away_queue_init(struct jetstream *jetstream) PARLEY_MUST_CHECK;
/* Harmless when it was not initialised. */
void jetstream_away_queue_finish(struct jetstream *jetstream);

/* The flow of a subject; NULL if messages to it do not wait. */
struct jetstream_flow *jetstream_flow_of(struct jetstream *jetstream, const char *subject);
/* Whether a message that cannot be published now may wait: the outage has not lasted too long. */
bool jetstream_flow_is_patient(const struct jetstream_flow *flow);
/* Whether a message that comes now must not be published before those that wait. */
static inline bool jetstream_flow_is_held(const struct jetstream_flow *flow) {
    return flow->state != JETSTREAM_FLOW_OPEN;
}

/* Whether one that JetStream has not decided on may be published again: its time is not over, and
 * that stores it once and in order. */
bool jetstream_flow_can_repeat(const struct jetstream_publication *publication);
/* Whether others of its body, which come after one that is not decided, must wait for it. */
bool jetstream_flow_leads(const struct jetstream_publication *publication);

/* Queues one that was not published so far. */
void jetstream_flow_add(struct jetstream_publication *publication);
/* One is in flight now. */
void jetstream_flow_note_sent(struct jetstream_publication *publication);
/* One is taken out of its list, or ends. */
void jetstream_flow_note_end(struct jetstream_publication *publication);
/* The stream has no leader, as this one's answer says.  Returns: whether it waits now. */
bool jetstream_flow_take_back(struct jetstream_publication *publication);
/* The stream answered: messages that wait for it continue.  `flow`: may be NULL. */
void jetstream_flow_go_on(struct jetstream_flow *flow);

/* Whether a stream has acknowledged nothing for so long, though messages were published to it more
 * than once. Only with `patience_ms`. */
bool jetstream_flows_are_silent(const struct jetstream *jetstream, int64_t for_ms);

/* The connection is lost: messages in flight that may be published again wait from now on. */
void jetstream_away_queue_begin(struct jetstream *jetstream);
/* Messages can be published again. */
void jetstream_away_queue_end(struct jetstream *jetstream);
/* Ends all waiting publications, and lets none wait from now on. */
void jetstream_away_queue_give_up(struct jetstream *jetstream);
