/* SPDX-License-Identifier: Apache-2.0 */

/* See ordered_consumer.h: an ordered consumer made by hand. Its counterpart on the server is
 * ephemeral, in memory, without acks, and thrown away at the first sign of trouble: a gap in its
 * count of the messages it sent, silence where heartbeats should be, a status that says that it no
 * longer exists, a new connection. Then another one is created, after the last message that was
 * delivered. So nothing here is ever repaired, and nothing on the server is worth keeping.
 *
 * This file handles its lifecycle; ordered_flow.c decides on the requests, ordered_delivery.c reads
 * the answers. */

#include "ordered_consumer.h"

#include "ordered_delivery.h"
#include "ordered_flow.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_A_MS INT64_C(1000000)
#define NS_A_S INT64_C(1000000000)

enum {
    TICK_MS = 1000,
    SILENCE_MAX_MS = 5000,
    OWED_MAX_MS = 8000,
    FOLLOW_AHEAD_COUNT = 2048,
    /* How long the server keeps a consumer whose reader vanished, or requests nothing for a
     * while. */
    INACTIVE_MS = 60000,
};

/* ---- staying alive through callbacks ---- */

static void free_consumer(struct ordered_consumer *consumer) {
    free(consumer->stream);
    free(consumer);
}

static void enter(struct ordered_consumer *consumer) {
    consumer->depth++;
}

static void leave(struct ordered_consumer *consumer) {
    consumer->depth--;
    if (consumer->phase == ORDERED_CLOSED && consumer->depth == 0) {
        free_consumer(consumer);
    }
}

/* ---- the phase ---- */

static void set_phase(struct ordered_consumer *consumer, enum ordered_phase phase) {
    static const enum ordered_phase before[] = {[ORDERED_CREATING] = ORDERED_STOPPED,
                                                [ORDERED_RUNNING] = ORDERED_CREATING,
                                                [ORDERED_REFUSED] = ORDERED_STOPPED,
                                                [ORDERED_CLOSED] = ORDERED_STOPPED};
    assert(phase == ORDERED_STOPPED ? consumer->phase != ORDERED_CLOSED
                                    : consumer->phase == before[phase]);
    (void)before; /* for builds without assertions */
    consumer->phase = phase;
}

/* From any phase. */
static void stop(struct ordered_consumer *consumer) {
    jetstream_request_cancel(consumer->request);
    consumer->request = NULL;
    if (consumer->name[0] != '\0') {
        bus_mailbox_close(consumer->jetstream->bus, consumer->mailbox);
    }
    ordered_flow_drop(consumer);
    consumer->name[0] = '\0';
    consumer->owed_ms = 0;
    reactor_timer_clear(consumer->jetstream->reactor, &consumer->retry);
    set_phase(consumer, ORDERED_STOPPED);
    consumer->consumer_sequence = 0;
    consumer->has_all = false;
}

static void cut(struct ordered_consumer *consumer) {
    const bool was_running = consumer->phase == ORDERED_RUNNING;
    stop(consumer);
    if (was_running && consumer->events.cut != NULL) {
        consumer->events.cut(consumer->events.context);
    }
}

static void restart(struct ordered_consumer *consumer) {
    cut(consumer);
    reactor_timer_set(consumer->jetstream->reactor, &consumer->retry, JETSTREAM_RETRY_MS);
}

static void refuse(struct ordered_consumer *consumer, const json_t *answer) {
    enter(consumer);
    stop(consumer);
    set_phase(consumer, ORDERED_REFUSED);
    consumer->events.refused(consumer->events.context, jetstream_answer_text(answer));
    leave(consumer);
}

static void run(struct ordered_consumer *consumer, bool has_all) {
    enter(consumer);
    set_phase(consumer, ORDERED_RUNNING);
    consumer->heard_ms = reactor_now_ms(consumer->jetstream->reactor);
    consumer->has_all = has_all;
    if (consumer->position < ORDERED_OPENED) {
        ordered_delivery_advance(consumer, ORDERED_OPENED);
        consumer->events.opened(consumer->events.context, consumer->next_sequence);
    }
    if (has_all && consumer->phase == ORDERED_RUNNING && consumer->events.current != NULL) {
        consumer->events.current(consumer->events.context);
    }
    ordered_flow_top_up(consumer);
    leave(consumer);
}

static void on_message(void *context, const struct bus_message *message) {
    struct ordered_consumer *consumer = context;
    enter(consumer);
    if (!ordered_delivery_handle(consumer, message)) {
        restart(consumer);
    }
    leave(consumer);
}

/* ---- creating the consumer on the server ---- */

static json_t *time_text(int64_t time_ns) {
    time_t seconds = (time_t)(time_ns / NS_A_S);
    struct tm parts;
    char day[32];
    gmtime_r(&seconds, &parts);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    return json_sprintf("%s.%09" PRId64 "Z", day, time_ns % NS_A_S);
}

static void set_start(const struct ordered_consumer *consumer, json_t *config) {
    const char *policy = "by_start_sequence";
    if (consumer->start.from == JETSTREAM_FROM_LAST) {
        policy = "last_per_subject";
    } else if (consumer->position >= ORDERED_KNOWN) {
        uint64_t sequence = consumer->next_sequence > 0 ? consumer->next_sequence : 1;
        json_object_set_new(config, "opt_start_seq", json_integer((json_int_t)sequence));
    } else if (consumer->start.from == JETSTREAM_FROM_NEW) {
        policy = "new";
    } else {
        policy = "by_start_time";
        json_object_set_new(config, "opt_start_time", time_text(consumer->start.time_ns));
    }
    json_object_set_new(config, "deliver_policy", json_string(policy));
}

static json_t *configuration(const struct ordered_consumer *consumer) {
    json_t *config =
        json_pack("{s:s, s:s, s:s, s:b, s:b, s:i, s:I}", "name", consumer->name, "ack_policy",
                  "none", "replay_policy", "instant", "mem_storage", true, "headers_only",
                  consumer->start.is_headers_only, "num_replicas", 1, "inactive_threshold",
                  (json_int_t)(INACTIVE_MS * NS_A_MS));
    set_start(consumer, config);
    if (consumer->start.filter != NULL) {
        json_object_set_new(config, "filter_subject", json_string(consumer->start.filter));
    }
    return json_pack("{s:s, s:o}", "stream_name", consumer->stream, "config", config);
}

/* Whether a repeated request would be refused again: the stream of a 404 may be created again, 408
 * and 503 are temporary. */
static bool is_refusal(const json_t *answer) {
    const json_t *error = json_object_get(answer, "error");
    return json_integer_value(json_object_get(error, "code")) == 400;
}

static void on_created(void *context, json_t *answer) {
    struct ordered_consumer *consumer = context;
    consumer->request = NULL;
    if (answer != NULL && is_refusal(answer)) {
        refuse(consumer, answer);
        return;
    }
    if (answer == NULL || jetstream_answer_error(answer) != 0) {
        restart(consumer);
        return;
    }
    if (consumer->position == ORDERED_UNKNOWN) {
        /* Exact, since nothing is delivered before it is requested. */
        consumer->next_sequence = jetstream_answer_number(answer, "delivered", "stream_seq") + 1;
        ordered_delivery_advance(consumer, ORDERED_KNOWN);
    }
    run(consumer, json_integer_value(json_object_get(answer, "num_pending")) == 0);
}

static void start(struct ordered_consumer *consumer) {
    struct jetstream *jetstream = consumer->jetstream;
    set_phase(consumer, ORDERED_CREATING);
    if (bus_mailbox_open(jetstream->bus, on_message, consumer, &consumer->mailbox) != PARLEY_OK) {
        restart(consumer);
        return;
    }
    /* parley chooses the name, so that it can delete the consumer when the answer got lost. The
     * name contains the mailbox's tag, since JetStream delivers messages under the subject they
     * were stored with. */
    char tag[BUS_TAG_MAX];
    bus_mailbox_tag(jetstream->bus, consumer->mailbox, tag);
    snprintf(consumer->name, sizeof consumer->name, "parley-%s", tag);
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "CONSUMER.CREATE.%s.%s", consumer->stream, consumer->name);
    consumer->request =
        jetstream_request_send(jetstream, what, configuration(consumer), on_created, consumer);
    if (consumer->request == NULL) {
        restart(consumer);
    }
}

static void on_retry(struct reactor_timer *timer) {
    struct ordered_consumer *consumer = OWNER_OF(timer, struct ordered_consumer, retry);
    if (consumer->jetstream->is_ready) {
        start(consumer);
    }
}

/* ---- all of them ---- */

static void on_tick(struct reactor_timer *timer) {
    struct jetstream *jetstream = OWNER_OF(timer, struct jetstream, ordered_tick);
    const int64_t now_ms = reactor_now_ms(jetstream->reactor);
    struct ordered_consumer *consumer = jetstream->ordered_consumers;
    for (; consumer != NULL; consumer = consumer->next) {
        ordered_flow_expire(consumer, now_ms);
        if (consumer->phase == ORDERED_RUNNING && consumer->requested_count > 0 &&
            now_ms - consumer->heard_ms > SILENCE_MAX_MS) {
            restart(consumer);
        } else {
            ordered_flow_top_up(consumer);
        }
    }
    if (jetstream->ordered_consumers != NULL) {
        reactor_timer_set(jetstream->reactor, timer, TICK_MS);
    }
}

/* The next message has been in the stream for long, and does not come although heartbeats do: the
 * consumer is on a member of the cluster that does not catch up with the others. (Or the stream's
 * last messages were deleted, in which case another consumer makes no difference.) */
static bool is_stalled(struct ordered_consumer *consumer, uint64_t last_sequence, int64_t now_ms) {
    /* The last message of a stream that holds other subjects too may have one of those. */
    const bool is_owed = consumer->start.filter == NULL && consumer->phase == ORDERED_RUNNING &&
                         consumer->requested_count > 0 && consumer->next_sequence <= last_sequence;
    if (!is_owed || consumer->owed_ms == 0 || consumer->owed_sequence != consumer->next_sequence) {
        consumer->owed_ms = is_owed ? now_ms : 0;
        consumer->owed_sequence = consumer->next_sequence;
    }
    return is_owed && now_ms - consumer->owed_ms >= OWED_MAX_MS;
}

void ordered_consumers_compare(struct jetstream *jetstream, const char *stream, uint64_t whole_from,
                               uint64_t last_sequence, int64_t now_ms) {
    struct ordered_consumer *consumer = jetstream->ordered_consumers;
    for (; consumer != NULL; consumer = consumer->next) {
        if (strcmp(consumer->stream, stream) != 0) {
            continue;
        }
        consumer->whole_from = whole_from;
        if (is_stalled(consumer, last_sequence, now_ms)) {
            restart(consumer);
        }
    }
}

void ordered_consumers_start(struct jetstream *jetstream) {
    struct ordered_consumer *consumer = jetstream->ordered_consumers;
    for (; consumer != NULL; consumer = consumer->next) {
        if (consumer->phase == ORDERED_STOPPED && !consumer->retry.is_armed) {
            start(consumer);
        }
    }
    if (jetstream->ordered_consumers != NULL) {
        reactor_timer_set(jetstream->reactor, &jetstream->ordered_tick, TICK_MS);
    }
}

void ordered_consumers_stop(struct jetstream *jetstream) {
    struct ordered_consumer *consumer = jetstream->ordered_consumers;
    for (; consumer != NULL; consumer = consumer->next) {
        cut(consumer);
    }
    ordered_flow_forget_debts(jetstream);
    reactor_timer_clear(jetstream->reactor, &jetstream->ordered_tick);
}

/* ---- opening and closing ---- */

static void add_to_list(struct ordered_consumer *consumer) {
    struct jetstream *jetstream = consumer->jetstream;
    consumer->next = jetstream->ordered_consumers;
    consumer->link = &jetstream->ordered_consumers;
    if (consumer->next != NULL) {
        consumer->next->link = &consumer->next;
    }
    jetstream->ordered_consumers = consumer;
    jetstream->ordered_tick.fire = on_tick;
    if (!jetstream->ordered_tick.is_armed) {
        reactor_timer_set(jetstream->reactor, &jetstream->ordered_tick, TICK_MS);
    }
}

/* As of the last look at the stream. */
static uint64_t find_whole_from(const struct jetstream *jetstream, const char *stream) {
    const size_t count = jetstream_check_count(jetstream);
    for (size_t i = 0; i < count; i++) {
        const struct jetstream_check *check = &jetstream->setup.checks[i];
        if (strcmp(check->place.stream, stream) == 0) {
            return check->whole_from;
        }
    }
    return 0;
}

enum parley_status ordered_consumer_open(struct jetstream *jetstream, const char *stream,
                                         struct jetstream_start start_at, enum ordered_mode mode,
                                         const struct ordered_consumer_events *events,
                                         struct ordered_consumer **out) {
    const size_t seen_count = mode == ORDERED_FOLLOW ? ORDERED_SEEN_COUNT : 1;
    struct ordered_consumer *consumer =
        calloc(1, sizeof *consumer + seen_count * sizeof consumer->seen[0]);
    char *name = strdup(stream);
    if (consumer == NULL || name == NULL) {
        free(consumer);
        free(name);
        return PARLEY_E_MEMORY;
    }
    consumer->jetstream = jetstream;
    consumer->stream = name;
    consumer->start = start_at;
    consumer->whole_from =
        start_at.doubts == JETSTREAM_DOUBTS_HELD ? find_whole_from(jetstream, stream) : 0;
    consumer->mode = mode;
    consumer->seen_count = seen_count;
    consumer->events = *events;
    const bool is_known =
        start_at.from == JETSTREAM_FROM_SEQUENCE || start_at.from == JETSTREAM_FROM_LAST;
    consumer->position = is_known ? ORDERED_KNOWN : ORDERED_UNKNOWN;
    consumer->next_sequence = start_at.sequence;
    consumer->wanted_count = mode == ORDERED_FOLLOW ? FOLLOW_AHEAD_COUNT : 0;
    consumer->retry.fire = on_retry;
    add_to_list(consumer);
    if (jetstream->is_ready) {
        /* In a later turn, so that no callback comes before *out is set. */
        reactor_timer_set(jetstream->reactor, &consumer->retry, 0);
    }
    *out = consumer;
    return PARLEY_OK;
}

bool ordered_consumer_has_all(struct ordered_consumer *consumer, uint64_t last_sequence) {
    if (consumer->phase == ORDERED_RUNNING && consumer->next_sequence > last_sequence) {
        consumer->has_all = true;
    }
    return consumer->has_all;
}

void ordered_consumer_close(struct ordered_consumer *consumer) {
    if (consumer == NULL) {
        return;
    }
    struct jetstream *jetstream = consumer->jetstream;
    stop(consumer);
    ordered_flow_serve_queue(jetstream);
    *consumer->link = consumer->next;
    if (consumer->next != NULL) {
        consumer->next->link = consumer->link;
    }
    set_phase(consumer, ORDERED_CLOSED);
    if (consumer->depth == 0) {
        free_consumer(consumer);
    }
}
