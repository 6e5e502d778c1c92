/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_away_queue.h. Each stream has a flow: while it is held, all publications to the
 * stream queue up, so that none overtakes those that wait. A publication in flight when an outage
 * begins joins the queue, if publishing it again cannot store it twice; then the first of the queue
 * is tried alone, and once it is acknowledged the others follow.
 *
 * How an outage shows: the connection is lost; NATS says that no server listens on the subject, as
 * it does between two leaders; or no ack at all comes for two seconds. In the last case acks may
 * still come: each publication keeps its mailbox, and the first answer counts.
 *
 * After `patience_ms` an outage is no longer waited for: later publications are sent or refused at
 * once, as without patience, and each that waits has its own time. */

#include "jetstream_away_queue.h"

#include "jetstream_publisher.h"
#include "jetstream_trouble.h"
#include "jetstream_undecided.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICK_MS = 100,
    TRY_MS = 250,         /* between two attempts, while there is no leader */
    SILENCE_MS = 2000,    /* a stream that acknowledges nothing for so long (or for half of the ack
                             timeout) has perhaps no leader */
    OUTAGE_GAP_MS = 5000, /* without a sign of it, an outage has ended */
};

static int64_t now_of(const struct jetstream_flow *flow) {
    return reactor_now_ms(flow->jetstream->reactor);
}

/* ---- the queue ---- */

static struct jetstream_publication *first_of(struct jetstream_flow *flow) {
    return flow->queue.next != &flow->queue ? flow->queue.next : NULL;
}

static void insert_before(struct jetstream_publication *next,
                          struct jetstream_publication *publication) {
    publication->next = next;
    publication->previous = next->previous;
    next->previous->next = publication;
    next->previous = publication;
    publication->place = JETSTREAM_QUEUED;
}

/* Most belong at one of the ends. */
static void enqueue(struct jetstream_publication *publication) {
    struct jetstream_publication *end = &publication->flow->queue;
    struct jetstream_publication *next = end;
    if (end->next != end && publication->number < end->next->number) {
        next = end->next;
    }
    while (next == end || next->number > publication->number) {
        if (next->previous == end || next->previous->number < publication->number) {
            break;
        }
        next = next->previous;
    }
    insert_before(next, publication);
}

static void arm(struct jetstream *jetstream) {
    if (!jetstream->patience.tick.is_armed) {
        reactor_timer_set(jetstream->reactor, &jetstream->patience.tick, TICK_MS);
    }
}

/* ---- whether to wait ---- */

static int64_t silence_ms(const struct jetstream *jetstream) {
    const int64_t half_ms = jetstream->options.ack_timeout_ms / 2;
    return half_ms < SILENCE_MS ? half_ms : SILENCE_MS;
}

static bool can_help(const struct jetstream *jetstream) {
    return !jetstream->patience.is_over && jetstream_is_curable(jetstream);
}

bool jetstream_flow_is_patient(const struct jetstream_flow *flow) {
    const struct jetstream *jetstream = flow->jetstream;
    const int64_t now_ms = now_of(flow), patience_ms = jetstream->options.patience_ms;
    if (!jetstream->is_ready) {
        return can_help(jetstream) && now_ms - jetstream->patience.away_ms < patience_ms;
    }
    const bool is_long = flow->since_ms >= 0 && now_ms - flow->last_ms < OUTAGE_GAP_MS &&
                         now_ms - flow->since_ms >= patience_ms;
    return can_help(jetstream) && !is_long;
}

static void note_outage(struct jetstream_flow *flow, bool is_silent) {
    const int64_t now_ms = now_of(flow);
    if (flow->since_ms < 0 || now_ms - flow->last_ms >= OUTAGE_GAP_MS) {
        flow->since_ms = now_ms;
    }
    flow->last_ms = now_ms;
    flow->is_silent = is_silent;
}

bool jetstream_flows_are_silent(const struct jetstream *jetstream, int64_t for_ms) {
    for (size_t i = 0; i < jetstream->options.stream_count; i++) {
        const struct jetstream_flow *flow = &jetstream->patience.flows[i];
        const int64_t now_ms = now_of(flow), since_ms = flow->since_ms - silence_ms(jetstream);
        const bool was_tried_again = flow->last_ms > flow->since_ms;
        if (flow->is_silent && flow->since_ms >= 0 && was_tried_again &&
            now_ms - flow->last_ms < OUTAGE_GAP_MS && now_ms - since_ms >= for_ms) {
            return true;
        }
    }
    return false;
}

/* A later message of this sender is stored, so that this one would be out of order. */
static bool is_overtaken(const struct jetstream_publication *publication) {
    const struct jetstream_sender *sender = publication->sender;
    return sender != NULL && publication->sender_number < sender->stored;
}

/* Publishing it, perhaps again, stores it once. */
static bool is_recognised(const struct jetstream_publication *publication) {
    return publication->unknown_count == 0 ||
           now_of(publication->flow) < publication->repeatable_until_ms;
}

/* … and in order. */
static bool is_safe(const struct jetstream_publication *publication) {
    return !is_overtaken(publication) && is_recognised(publication);
}

static bool may_wait(const struct jetstream_publication *publication) {
    return can_help(publication->jetstream) &&
           now_of(publication->flow) < publication->patient_until_ms;
}

static bool can_wait(const struct jetstream_publication *publication) {
    return may_wait(publication) && is_safe(publication);
}

/* It waits for another message, which its leader had before all messages sent after this one, and
 * stores before them: a leader that no longer exists may have dropped it. */
static bool is_behind_another(const struct jetstream_publication *publication) {
    return publication->unknown_count == 0 &&
           publication->outage_count == publication->flow->outage_count;
}

bool jetstream_flow_can_repeat(const struct jetstream_publication *publication) {
    return may_wait(publication) && (is_behind_another(publication) || is_safe(publication));
}

/* It may wait for its own first copy, which a leader that no longer exists has dropped: messages
 * after it in its body must not be published before it is decided. */
bool jetstream_flow_leads(const struct jetstream_publication *publication) {
    const struct jetstream_sender *sender = publication->sender;
    return sender != NULL && publication->sender_number < sender->published_count &&
           !is_behind_another(publication);
}

/* ---- ends ---- */

static void explain(const struct jetstream_publication *publication, char *text, size_t size) {
    const struct jetstream_flow *flow = publication->flow;
    const char *all = jetstream_trouble(flow->jetstream);
    if (is_overtaken(publication)) {
        snprintf(text, size,
                 "stream %s had no leader for this message, and has stored a later one of the same "
                 "request since",
                 flow->stream->name);
    } else if (all != NULL) {
        snprintf(text, size, "%s", all);
    } else if (flow->is_silent) {
        snprintf(
            text, size,
            "JetStream does not acknowledge messages for stream %s: if that lasts, nats-server "
            "may have failed to write one, and has to be restarted (its log says so)",
            flow->stream->name);
    } else {
        snprintf(text, size,
                 "stream %s has no leader at present: NATS is electing one, or too few of its "
                 "servers are reachable",
                 flow->stream->name);
    }
}

size_t jetstream_held_count(const struct jetstream *jetstream) {
    size_t count = 0;
    for (size_t i = 0; i < jetstream->options.stream_count; i++) {
        const struct jetstream_publication *queue = &jetstream->patience.flows[i].queue;
        for (const struct jetstream_publication *at = queue->next; at != queue; at = at->next) {
            count++;
        }
    }
    return count;
}

/* One in the queue is no longer published. */
static void end(struct jetstream_publication *publication) {
    char text[JETSTREAM_TROUBLE_MAX] = "";
    struct jetstream_ack ack = {.outcome = JETSTREAM_REFUSED, .error = text};
    if (publication->unknown_count > 0) {
        ack = (struct jetstream_ack){.outcome = publication->deadline_ms > 0 ? JETSTREAM_TIMEOUT
                                                                             : JETSTREAM_LOST};
    } else {
        explain(publication, text, sizeof text);
    }
    jetstream_publication_complete(publication, &ack);
}

/* An ack that may still come is awaited as without patience. */
static int64_t due_ms(const struct jetstream_publication *publication) {
    const int64_t until_ms = publication->patient_until_ms;
    const bool is_awaited = publication->unknown_count > 0 && publication->deadline_ms > until_ms;
    return is_awaited ? publication->deadline_ms : until_ms;
}

static void expire(struct jetstream_flow *flow) {
    const int64_t now_ms = now_of(flow);
    struct jetstream_publication *next;
    for (struct jetstream_publication *at = flow->queue.next; at != &flow->queue; at = next) {
        next = at->next;
        if (due_ms(at) <= now_ms) {
            end(at);
        }
    }
}

/* ---- continuing ---- */

enum step { STEP_SENT, STEP_ENDED, STEP_STUCK };

static bool is_dropped(const struct jetstream_publication *publication) {
    const struct jetstream_sender *sender = publication->sender;
    return sender != NULL && sender->is_abandoned && publication->unknown_count == 0;
}

/* Publishes the first of the queue, or ends it. */
static enum step step(struct jetstream_publication *first) {
    if (is_dropped(first) || !is_safe(first)) {
        end(first);
        return STEP_ENDED;
    }
    jetstream_publication_withdraw(first);
    switch (jetstream_publication_send(first)) {
    case BUS_SENT:
        return STEP_SENT;
    case BUS_TOO_LARGE:
        jetstream_publication_refuse(first, JETSTREAM_OVER_PAYLOAD, NULL);
        return STEP_ENDED;
    case BUS_FAILED:
        jetstream_publication_refuse(first, 0, "the message could not be passed to NATS");
        return STEP_ENDED;
    case BUS_AWAY:
    case BUS_FULL:
        break;
    }
    enqueue(first);
    return STEP_STUCK;
}

static void try_first(struct jetstream_flow *flow) {
    struct jetstream_publication *first;
    while ((first = first_of(flow)) != NULL) {
        const enum step taken = step(first);
        if (taken == STEP_SENT) {
            flow->state = JETSTREAM_FLOW_TRYING;
            flow->trial = first;
            flow->try_ms = now_of(flow);
        }
        if (taken != STEP_ENDED) {
            return;
        }
    }
    flow->state = JETSTREAM_FLOW_OPEN;
}

static void release(struct jetstream_flow *flow) {
    struct jetstream_publication *first;
    flow->state = JETSTREAM_FLOW_RELEASING;
    while ((first = first_of(flow)) != NULL) {
        if (step(first) == STEP_STUCK) {
            return; /* the tick continues */
        }
    }
    flow->state = JETSTREAM_FLOW_OPEN;
}

void jetstream_flow_go_on(struct jetstream_flow *flow) {
    if (flow == NULL) {
        return;
    }
    flow->sign_ms = now_of(flow);
    flow->since_ms = -1;
    if (flow->state == JETSTREAM_FLOW_HELD || flow->state == JETSTREAM_FLOW_TRYING) {
        flow->trial = NULL;
        release(flow);
    }
}

/* ---- waiting ---- */

/* All that is in flight and may be published again joins the queue, newest first. */
static void take_back_all(struct jetstream_flow *flow) {
    struct jetstream_publication *in_flight = &flow->jetstream->window.in_flight;
    struct jetstream_publication *previous;
    for (struct jetstream_publication *at = in_flight->previous; at != in_flight; at = previous) {
        previous = at->previous;
        if (at->flow == flow && can_wait(at)) {
            jetstream_publication_withdraw(at);
            enqueue(at);
        }
    }
}

static void hold(struct jetstream_flow *flow, int64_t delay_ms) {
    flow->state = JETSTREAM_FLOW_HELD;
    flow->outage_count++;
    flow->trial = NULL;
    flow->try_ms = now_of(flow) + delay_ms;
    take_back_all(flow);
    arm(flow->jetstream);
}

void jetstream_flow_add(struct jetstream_publication *publication) {
    struct jetstream_flow *flow = publication->flow;
    if (flow->state == JETSTREAM_FLOW_OPEN) {
        hold(flow, 0);
    }
    enqueue(publication);
    arm(flow->jetstream);
}

void jetstream_flow_note_sent(struct jetstream_publication *publication) {
    struct jetstream_flow *flow = publication->flow;
    if (flow == NULL) {
        return;
    }
    if (flow->in_flight_count++ == 0) {
        flow->sign_ms = now_of(flow);
    }
    arm(flow->jetstream);
}

void jetstream_flow_note_end(struct jetstream_publication *publication) {
    struct jetstream_flow *flow = publication->flow;
    if (flow == NULL) {
        return;
    }
    flow->in_flight_count -= publication->place == JETSTREAM_IN_FLIGHT ? 1 : 0;
    if (flow->trial == publication) {
        flow->state = JETSTREAM_FLOW_HELD;
        flow->trial = NULL;
        flow->try_ms = now_of(flow);
    }
}

bool jetstream_flow_take_back(struct jetstream_publication *publication) {
    struct jetstream_flow *flow = publication->flow;
    if (flow == NULL) {
        return false;
    }
    note_outage(flow, false);
    if (publication->place == JETSTREAM_QUEUED) {
        return true;
    }
    if (!can_wait(publication)) {
        return false;
    }
    if (flow->state != JETSTREAM_FLOW_HELD) {
        hold(flow, TRY_MS); /* takes it back as well */
    }
    if (publication->place == JETSTREAM_IN_FLIGHT) {
        jetstream_publication_withdraw(publication);
        enqueue(publication);
    }
    return true;
}

static void tend(struct jetstream_flow *flow) {
    const int64_t now_ms = now_of(flow);
    expire(flow);
    if (!jetstream_can_publish(flow->jetstream)) {
        return;
    }
    switch (flow->state) {
    case JETSTREAM_FLOW_OPEN:
        if (flow->in_flight_count > 0 && now_ms - flow->sign_ms >= silence_ms(flow->jetstream)) {
            note_outage(flow, true);
            flow->sign_ms = now_ms;
            hold(flow, 0);
        }
        break;
    case JETSTREAM_FLOW_HELD:
        if (now_ms >= flow->try_ms) {
            try_first(flow);
        }
        break;
    case JETSTREAM_FLOW_TRYING:
        if (now_ms - flow->try_ms >= silence_ms(flow->jetstream)) {
            note_outage(flow, true);
            hold(flow, 0);
        }
        break;
    case JETSTREAM_FLOW_RELEASING:
        release(flow);
        break;
    }
}

/* While a turn of ours took long, nothing was sent and no answer was read. */
static void on_tick(struct reactor_timer *timer) {
    struct jetstream *jetstream = OWNER_OF(timer, struct jetstream, patience.tick);
    const int64_t late_ms = reactor_now_ms(jetstream->reactor) - timer->due_ms;
    bool is_needed = false;
    for (size_t i = 0; i < jetstream->options.stream_count; i++) {
        struct jetstream_flow *flow = &jetstream->patience.flows[i];
        flow->sign_ms += late_ms;
        tend(flow);
        is_needed = is_needed || flow->in_flight_count > 0 || first_of(flow) != NULL;
    }
    if (is_needed) {
        arm(jetstream);
    }
}

/* ---- the connection ---- */

void jetstream_away_queue_begin(struct jetstream *jetstream) {
    jetstream->patience.away_ms = reactor_now_ms(jetstream->reactor);
    jetstream_undecided_queue_all(jetstream);
    for (size_t i = 0; jetstream->options.patience_ms > 0 && i < jetstream->options.stream_count;
         i++) {
        struct jetstream_flow *flow = &jetstream->patience.flows[i];
        hold(flow, 0);
        for (struct jetstream_publication *at = flow->queue.next; at != &flow->queue;
             at = at->next) {
            at->deadline_ms = 0;
        }
    }
}

void jetstream_away_queue_end(struct jetstream *jetstream) {
    jetstream->patience.away_ms = -1;
    for (size_t i = 0; i < jetstream->options.stream_count; i++) {
        struct jetstream_flow *flow = &jetstream->patience.flows[i];
        flow->since_ms = -1;
        if (flow->state == JETSTREAM_FLOW_HELD) {
            try_first(flow);
        }
    }
}

void jetstream_away_queue_give_up(struct jetstream *jetstream) {
    jetstream->patience.is_over = true;
    jetstream_undecided_queue_all(jetstream);
    for (size_t i = 0; i < jetstream->options.stream_count; i++) {
        struct jetstream_publication *first;
        while ((first = first_of(&jetstream->patience.flows[i])) != NULL) {
            end(first);
        }
    }
}

bool jetstream_is_accepting(const struct jetstream *jetstream) {
    return jetstream_can_publish(jetstream) ||
           (!jetstream->is_ready && can_help(jetstream) &&
            reactor_now_ms(jetstream->reactor) - jetstream->patience.away_ms <
                jetstream->options.patience_ms);
}

int64_t jetstream_patience_ms(const struct jetstream *jetstream) {
    return jetstream->patience.is_over ? 0 : jetstream->options.patience_ms;
}

/* ---- creation ---- */

/* "vlp.>" covers subjects that begin with "vlp.". */
struct jetstream_flow *jetstream_flow_of(struct jetstream *jetstream, const char *subject) {
    for (size_t i = 0; jetstream->options.patience_ms > 0 && i < jetstream->options.stream_count;
         i++) {
        const char *subjects = jetstream->options.streams[i].subjects;
        if (strncmp(subjects, subject, strlen(subjects) - 1) == 0) {
            return &jetstream->patience.flows[i];
        }
    }
    return NULL;
}

enum parley_status jetstream_away_queue_init(struct jetstream *jetstream) {
    const size_t count = jetstream->options.stream_count;
    jetstream->patience.flows = calloc(count + 1, sizeof *jetstream->patience.flows);
    if (jetstream->patience.flows == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        struct jetstream_flow *flow = &jetstream->patience.flows[i];
        flow->jetstream = jetstream;
        flow->stream = &jetstream->options.streams[i];
        flow->queue.next = flow->queue.previous = &flow->queue;
        flow->since_ms = -1;
    }
    jetstream->patience.tick.fire = on_tick;
    jetstream->patience.away_ms = reactor_now_ms(jetstream->reactor);
    return PARLEY_OK;
}

void jetstream_away_queue_finish(struct jetstream *jetstream) {
    reactor_timer_clear(jetstream->reactor, &jetstream->patience.tick);
    free(jetstream->patience.flows);
    jetstream->patience.flows = NULL;
}
