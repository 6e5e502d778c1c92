/* SPDX-License-Identifier: Apache-2.0 */

/* See shared_consumer.h. The durable consumer is looked up after each connection and created if it
 * is missing. While there is nothing to read, one request waits on the server, and a heartbeat
 * every few seconds shows that it still does. As with an ordered consumer, nothing is repaired: at
 * the first sign of trouble (silence, a status that says that the consumer no longer exists or has
 * another leader) it is looked up again.
 *
 * All gateways use one name for the consumer, so its messages have no mailbox's tag (bus.h), but an
 * alias. A message that was delivered to a gateway that then dies is delivered to another one when
 * the time for its acknowledgement has passed.
 *
 * Where the stream is a work queue or has interest retention, there is no consumer, but a core
 * subscription in a queue of all gateways. Messages are delivered some seconds late, when the
 * gateway that published them, if one did, has done its part. */

#include "shared_consumer.h"

#include "core_subscription.h"
#include "jetstream_delivery.h"
#include "jetstream_map.h"
#include "jetstream_request.h"
#include "jetstream_state.h"
#include "delay_queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_A_MS INT64_C(1000000)

enum {
    EXPIRES_MS = 300000,
    HEARTBEAT_MS = 5000,
    SILENCE_MAX_MS = 15000,
    WATCH_MS = 5000,
    ALIAS_MAX = 300,
    LATE_MS = 5000,
};

struct shared_consumer {
    struct jetstream *jetstream;
    struct shared_consumer *next, **link; /* *link == this */
    struct shared_consumer_options options;
    shared_consumer_fn *delivered;
    void *context;
    struct jetstream_request *request;
    struct bus_mailbox mailbox;
    struct bus_alias alias;
    char alias_text[ALIAS_MAX];
    char stream[JETSTREAM_STREAM_MAX]; /* that has the filter's subjects */
    bool is_running;                   /* the consumer exists, and the mailbox is open */
    size_t requested_count;            /* requested from the server, not received so far */
    size_t open_count;                 /* delivered, not acknowledged or returned so far */
    int64_t heard_ms;
    bool is_pending_known; /* while it is running */
    uint64_t pending;
    struct core_subscription *core; /* instead of a consumer; NULL if there is none */
    struct delay_queue late;        /* messages that it has read */
    struct reactor_timer timer;     /* to try again; while running, to watch for silence */
};

static void look_up(struct shared_consumer *consumer);

static void stop(struct shared_consumer *consumer) {
    core_subscription_close(consumer->core);
    consumer->core = NULL;
    jetstream_request_cancel(consumer->request);
    consumer->request = NULL;
    consumer->is_pending_known = false;
    reactor_timer_clear(consumer->jetstream->reactor, &consumer->timer);
    if (consumer->is_running) {
        bus_alias_remove(consumer->jetstream->bus, &consumer->alias);
        bus_mailbox_close(consumer->jetstream->bus, consumer->mailbox);
        consumer->is_running = false;
    }
}

static void restart(struct shared_consumer *consumer) {
    stop(consumer);
    reactor_timer_set(consumer->jetstream->reactor, &consumer->timer, JETSTREAM_RETRY_MS);
}

/* ---- requests ---- */

static void ask_server(struct shared_consumer *consumer, const char *verb, json_t *body,
                       jetstream_answer_fn *done) {
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "CONSUMER.%s.%s.%s", verb, consumer->stream,
             consumer->options.durable);
    consumer->request = jetstream_request_send(consumer->jetstream, what, body, done, consumer);
    if (consumer->request == NULL) {
        restart(consumer);
    }
}

/* The next messages are requested once half of those delivered are done: so the handling of
 * messages, and its requests to NATS, never keep others waiting for longer than a batch takes. */
static void request_more(struct shared_consumer *consumer) {
    char subject[JETSTREAM_SUBJECT_MAX], address[BUS_SUBJECT_MAX], body[128];
    const size_t batch = consumer->options.batch;
    if (!consumer->is_running || consumer->requested_count > 0 ||
        consumer->open_count > batch / 2) {
        return;
    }
    snprintf(subject, sizeof subject, "$JS.API.CONSUMER.MSG.NEXT.%s.%s", consumer->stream,
             consumer->options.durable);
    bus_mailbox_address(consumer->jetstream->bus, consumer->mailbox, address);
    snprintf(body, sizeof body,
             "{\"batch\":%zu,\"expires\":%" PRId64 ",\"idle_heartbeat\":%" PRId64 "}",
             batch - consumer->open_count, EXPIRES_MS * NS_A_MS, HEARTBEAT_MS * NS_A_MS);
    consumer->heard_ms = reactor_now_ms(consumer->jetstream->reactor);
    if (bus_publish(consumer->jetstream->bus, subject, address, parley_bytes_of(body)) !=
        BUS_SENT) {
        restart(consumer); /* the bus is full, or going away */
        return;
    }
    consumer->requested_count = batch - consumer->open_count;
}

/* ---- how many are left ---- */

static void note_pending(struct shared_consumer *consumer, uint64_t pending) {
    consumer->is_pending_known = true;
    consumer->pending = pending;
}

static void note_described(struct shared_consumer *consumer, const json_t *answer) {
    const json_int_t pending = json_integer_value(json_object_get(answer, "num_pending"));
    note_pending(consumer, pending > 0 ? (uint64_t)pending : 0);
}

static void on_described(void *context, json_t *answer) {
    struct shared_consumer *consumer = context;
    consumer->request = NULL;
    if (answer != NULL && jetstream_answer_error(answer) == 0) {
        note_described(consumer, answer);
    }
}

/* Nothing was delivered for some seconds: others were given the rest, or it is held back since too
 * many have not been acknowledged. */
static void review_pending(struct shared_consumer *consumer) {
    if (consumer->pending > 0 && consumer->request == NULL) {
        ask_server(consumer, "INFO", NULL, on_described);
    }
}

/* ---- messages ---- */

/* A request ended early: `left` of its messages will not come. */
static void end_request(struct shared_consumer *consumer, const char *left) {
    const size_t count = strtoull(left, NULL, 10);
    consumer->requested_count -=
        count < consumer->requested_count ? count : consumer->requested_count;
    request_more(consumer);
}

static void on_status(struct shared_consumer *consumer, const struct bus_message *message) {
    const unsigned status = bus_message_status(message);
    const char *left = bus_message_header(message, "Nats-Pending-Messages");
    if (status == 408 && left != NULL) {
        end_request(consumer, left);
    } else if (status == 100) {
        review_pending(consumer);
    } else {
        restart(consumer); /* 409: deleted, another leader, …; 503: it does not exist */
    }
}

static void on_message(void *context, const struct bus_message *message) {
    struct shared_consumer *consumer = context;
    struct jetstream_delivery delivery;
    consumer->heard_ms = reactor_now_ms(consumer->jetstream->reactor);
    if (!jetstream_delivery_read(message->reply, &delivery)) {
        on_status(consumer, message);
        return;
    }
    consumer->requested_count -= consumer->requested_count > 0 ? 1 : 0;
    note_pending(consumer, delivery.pending);
    const struct jetstream_stored stored = {.sequence = delivery.stream_sequence,
                                            .time_ns = delivery.time_ns,
                                            .subject = message->subject,
                                            .payload = message->payload,
                                            .message = message};
    consumer->open_count++;
    consumer->delivered(consumer->context, consumer, &stored, message->reply);
    request_more(consumer);
}

static void run(struct shared_consumer *consumer) {
    struct jetstream *jetstream = consumer->jetstream;
    if (bus_mailbox_open(jetstream->bus, on_message, consumer, &consumer->mailbox) != PARLEY_OK) {
        restart(consumer);
        return;
    }
    consumer->alias =
        (struct bus_alias){.text = consumer->alias_text, .mailbox = consumer->mailbox};
    bus_alias_add(jetstream->bus, &consumer->alias);
    consumer->is_running = true;
    consumer->requested_count = 0;
    reactor_timer_set(jetstream->reactor, &consumer->timer, WATCH_MS);
    request_more(consumer);
}

/* ---- the consumer ---- */

static void on_created(void *context, json_t *answer) {
    struct shared_consumer *consumer = context;
    consumer->request = NULL;
    if (answer == NULL || jetstream_answer_error(answer) != 0) {
        restart(consumer);
    } else {
        note_described(consumer, answer);
        run(consumer);
    }
}

static json_t *configuration(const struct shared_consumer *consumer) {
    const struct shared_consumer_options *options = &consumer->options;
    json_t *config = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:i}", "durable_name",
                               options->durable, "filter_subject", options->filter,
                               "deliver_policy", options->is_from_now ? "new" : "all", "ack_policy",
                               "explicit", "replay_policy", "instant", "ack_wait",
                               (json_int_t)(options->ack_wait_ms * NS_A_MS), "max_deliver", -1);
    if (options->unacked_max > 0) {
        json_object_set_new(config, "max_ack_pending",
                            json_integer((json_int_t)options->unacked_max));
    }
    if (options->idle_ms > 0) {
        json_object_set_new(config, "inactive_threshold",
                            json_integer((json_int_t)(options->idle_ms * NS_A_MS)));
    }
    return json_pack("{s:s, s:o}", "stream_name", consumer->stream, "config", config);
}

static void on_info(void *context, json_t *answer) {
    struct shared_consumer *consumer = context;
    consumer->request = NULL;
    const int error = answer != NULL ? jetstream_answer_error(answer) : -1;
    if (error == 0) {
        note_described(consumer, answer);
        run(consumer);
    } else if (error == JETSTREAM_E_NO_CONSUMER) {
        ask_server(consumer, "DURABLE.CREATE", configuration(consumer), on_created);
    } else {
        restart(consumer);
    }
}

/* ---- without a consumer ---- */

static void on_read(void *context, const struct jetstream_stored *stored) {
    struct shared_consumer *consumer = context;
    delay_queue_add(&consumer->late, stored);
}

static void on_late(struct delay_queue *queue, const struct jetstream_stored *stored) {
    struct shared_consumer *consumer = OWNER_OF(queue, struct shared_consumer, late);
    struct jetstream_stored late = *stored;
    late.sequence = 0;
    consumer->delivered(consumer->context, consumer, &late, "");
}

static void read_core(struct shared_consumer *consumer) {
    struct jetstream *jetstream = consumer->jetstream;
    if (consumer->core == NULL &&
        core_subscription_open(jetstream, &consumer->options.filter, 1, "parley", on_read, consumer,
                               &consumer->core) != PARLEY_OK) {
        restart(consumer);
        return;
    }
    reactor_timer_set(jetstream->reactor, &consumer->timer, WATCH_MS);
}

/* ---- consumer or core subscription ---- */

/* Returns: whether there may be a consumer. */
static bool find_stream(struct shared_consumer *consumer) {
    const struct shared_consumer_options *options = &consumer->options;
    const struct jetstream_place *place =
        jetstream_place_find(consumer->jetstream, options->filter);
    const char *stream = place != NULL ? place->stream : options->stream;
    snprintf(consumer->stream, sizeof consumer->stream, "%s", stream);
    snprintf(consumer->alias_text, sizeof consumer->alias_text, ".%s.%s.", stream,
             options->durable);
    return place == NULL || jetstream_place_takes_consumers(place);
}

/* An operator has made another stream for these subjects. */
static bool has_moved(const struct shared_consumer *consumer) {
    const struct jetstream_place *place =
        jetstream_place_find(consumer->jetstream, consumer->options.filter);
    return place != NULL && (strcmp(place->stream, consumer->stream) != 0 ||
                             jetstream_place_takes_consumers(place) == (consumer->core != NULL));
}

static void look_up(struct shared_consumer *consumer) {
    if (find_stream(consumer)) {
        ask_server(consumer, "INFO", NULL, on_info);
    } else {
        read_core(consumer);
    }
}

/* ---- opening and closing ---- */

static void on_timer(struct reactor_timer *timer) {
    struct shared_consumer *consumer = OWNER_OF(timer, struct shared_consumer, timer);
    if (!consumer->jetstream->is_ready) {
        return;
    }
    const bool is_silent =
        reactor_now_ms(consumer->jetstream->reactor) - consumer->heard_ms > SILENCE_MAX_MS;
    const bool is_reading = consumer->is_running || consumer->core != NULL;
    const bool is_waiting = consumer->is_running && consumer->requested_count > 0;
    if ((is_waiting && is_silent) || (is_reading && has_moved(consumer))) {
        restart(consumer);
    } else if (!consumer->is_running) {
        look_up(consumer);
    } else {
        reactor_timer_set(consumer->jetstream->reactor, timer, WATCH_MS);
    }
}

void shared_consumers_start(struct jetstream *jetstream) {
    for (struct shared_consumer *consumer = jetstream->shared_consumers; consumer != NULL;
         consumer = consumer->next) {
        /* In a later turn, so that no callback comes before shared_consumer_open has returned. */
        reactor_timer_set(jetstream->reactor, &consumer->timer, 0);
    }
}

void shared_consumers_stop(struct jetstream *jetstream) {
    for (struct shared_consumer *consumer = jetstream->shared_consumers; consumer != NULL;
         consumer = consumer->next) {
        stop(consumer);
    }
}

enum parley_status shared_consumer_open(struct jetstream *jetstream,
                                        const struct shared_consumer_options *options,
                                        shared_consumer_fn *delivered, void *context,
                                        struct shared_consumer **out) {
    struct shared_consumer *consumer = calloc(1, sizeof *consumer);
    if (consumer == NULL) {
        return PARLEY_E_MEMORY;
    }
    consumer->jetstream = jetstream;
    consumer->options = *options;
    consumer->delivered = delivered;
    consumer->context = context;
    consumer->timer.fire = on_timer;
    delay_queue_init(&consumer->late, jetstream->reactor, LATE_MS, on_late);
    consumer->next = jetstream->shared_consumers;
    consumer->link = &jetstream->shared_consumers;
    if (consumer->next != NULL) {
        consumer->next->link = &consumer->next;
    }
    jetstream->shared_consumers = consumer;
    if (jetstream->is_ready) {
        reactor_timer_set(jetstream->reactor, &consumer->timer, 0);
    }
    *out = consumer;
    return PARLEY_OK;
}

void shared_consumer_close(struct shared_consumer *consumer) {
    if (consumer == NULL) {
        return;
    }
    stop(consumer);
    delay_queue_finish(&consumer->late);
    *consumer->link = consumer->next;
    if (consumer->next != NULL) {
        consumer->next->link = consumer->link;
    }
    free(consumer);
}

bool shared_consumer_pending(const struct shared_consumer *consumer, uint64_t *out) {
    *out = consumer->pending;
    return consumer->is_pending_known;
}

const char *shared_consumer_stream(const struct shared_consumer *consumer) {
    return consumer->stream;
}

uint64_t shared_consumer_tries(const char *receipt) {
    struct jetstream_delivery delivery;
    return jetstream_delivery_read(receipt, &delivery) ? delivery.tries : 0;
}

void shared_consumer_set_aside(struct shared_consumer *consumer) {
    if (consumer != NULL && consumer->open_count > 0) {
        consumer->open_count--;
        request_more(consumer);
    }
}

/* When the acknowledgement is lost, the message is delivered again. */
static void end(struct jetstream *jetstream, struct shared_consumer *consumer, const char *receipt,
                const char *answer) {
    if (receipt[0] == '\0') {
        return;
    }
    (void)bus_publish(jetstream->bus, receipt, NULL, parley_bytes_of(answer));
    shared_consumer_set_aside(consumer);
}

void shared_consumer_ack(struct jetstream *jetstream, struct shared_consumer *consumer,
                         const char *receipt) {
    end(jetstream, consumer, receipt, "+ACK");
}

void shared_consumer_return(struct jetstream *jetstream, struct shared_consumer *consumer,
                            const char *receipt, int64_t delay_ms) {
    char body[64];
    snprintf(body, sizeof body, "-NAK {\"delay\":%" PRId64 "}", delay_ms * NS_A_MS);
    end(jetstream, consumer, receipt, body);
}
