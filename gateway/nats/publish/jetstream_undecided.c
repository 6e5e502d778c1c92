/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_undecided.h. A stream with several replicas gives such answers in the moment
 * between two messages that came together: nats-server 2.9 with the first one's outcome, 2.10 with
 * a duplicate without a sequence, later ones with errors. JetStream knows the id or the subject, so
 * that one that is published again is never stored twice.
 *
 * Later messages of its stream continue in the meantime, except those that would break the order
 * within a body (jetstream_flow_leads): then the whole stream waits, for a while. */

#include "jetstream_undecided.h"

#include "jetstream_away_queue.h"
#include "jetstream_publisher.h"

enum { FIRST_MS = 5, LONGEST_MS = 250, DOUBLINGS_MAX = 6, HOLDS_MAX = 8 };

static int64_t now_of(const struct jetstream *jetstream) {
    return reactor_now_ms(jetstream->reactor);
}

static int64_t delay_ms(unsigned count) {
    const int64_t doubled_ms = (int64_t)FIRST_MS << (count < DOUBLINGS_MAX ? count : DOUBLINGS_MAX);
    return doubled_ms < LONGEST_MS ? doubled_ms : LONGEST_MS;
}

static void insert(struct jetstream_publication *publication) {
    struct jetstream_undecided *undecided = &publication->jetstream->undecided;
    publication->next = &undecided->list;
    publication->previous = undecided->list.previous;
    publication->previous->next = publication;
    undecided->list.previous = publication;
    publication->place = JETSTREAM_UNDECIDED;
}

static void arm(struct jetstream *jetstream, int64_t due_ms) {
    struct reactor_timer *timer = &jetstream->undecided.timer;
    if (!timer->is_armed || timer->due_ms > due_ms) {
        const int64_t left_ms = due_ms - now_of(jetstream);
        reactor_timer_set(jetstream->reactor, timer, left_ms > 0 ? left_ms : 0);
    }
}

static void give_up(struct jetstream_publication *publication) {
    jetstream_publication_refuse(publication, 0,
                                 "JetStream is still storing a message with this id or key");
}

/* No message of a stream is published before those that wait for its leader. */
static void publish_again(struct jetstream_publication *publication) {
    struct jetstream_flow *flow = publication->flow;
    if (!jetstream_flow_can_repeat(publication)) {
        give_up(publication);
        return;
    }
    jetstream_publication_withdraw(publication);
    const bool waits = jetstream_flow_is_held(flow) || jetstream_flow_leads(publication) ||
                       !jetstream_can_publish(publication->jetstream);
    const enum bus_send sent = waits ? BUS_AWAY : jetstream_publication_send(publication);
    if (sent == BUS_AWAY || sent == BUS_FULL) {
        jetstream_flow_add(publication);
    } else if (sent != BUS_SENT) {
        jetstream_publication_refuse(publication, 0, "the message could not be passed to NATS");
    }
}

/* Messages that `done` publishes are not in this list. */
static void on_due(struct reactor_timer *timer) {
    struct jetstream *jetstream = OWNER_OF(timer, struct jetstream, undecided.timer);
    const struct jetstream_publication *end = &jetstream->undecided.list;
    const int64_t now_ms = now_of(jetstream);
    struct jetstream_publication *next;
    for (struct jetstream_publication *at = end->next; at != end; at = next) {
        next = at->next;
        if (at->again_ms <= now_ms) {
            publish_again(at);
        } else {
            arm(jetstream, at->again_ms);
        }
    }
}

/* A server may have forgotten the copy, and know its id for as long as the dedupe window is open.
 */
bool jetstream_undecided_hold(struct jetstream_publication *publication) {
    struct jetstream_flow *flow = publication->flow;
    if (flow == NULL || !jetstream_flow_leads(publication)) {
        return false;
    }
    if (publication->undecided_count++ < HOLDS_MAX && jetstream_flow_take_back(publication)) {
        return true;
    }
    give_up(publication);
    jetstream_flow_go_on(flow);
    return true;
}

void jetstream_undecided_add(struct jetstream_publication *publication) {
    struct jetstream *jetstream = publication->jetstream;
    if (publication->place == JETSTREAM_QUEUED || publication->place == JETSTREAM_UNDECIDED) {
        return; /* it is published again in any case */
    }
    if (publication->flow == NULL || !jetstream_flow_can_repeat(publication)) {
        give_up(publication);
        return;
    }
    jetstream_publication_withdraw(publication);
    publication->again_ms = now_of(jetstream) + delay_ms(publication->undecided_count++);
    insert(publication);
    arm(jetstream, publication->again_ms);
}

void jetstream_undecided_queue_all(struct jetstream *jetstream) {
    struct jetstream_publication *list = &jetstream->undecided.list;
    while (list->next != list) {
        struct jetstream_publication *first = list->next;
        jetstream_publication_withdraw(first);
        jetstream_flow_add(first);
    }
}

void jetstream_undecided_init(struct jetstream *jetstream) {
    struct jetstream_undecided *undecided = &jetstream->undecided;
    undecided->list.next = undecided->list.previous = &undecided->list;
    undecided->timer.fire = on_due;
}

void jetstream_undecided_finish(struct jetstream *jetstream) {
    reactor_timer_clear(jetstream->reactor, &jetstream->undecided.timer);
}
