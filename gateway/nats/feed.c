/* SPDX-License-Identifier: Apache-2.0 */

/* Reading a stream in order: an ordered consumer made by hand. The consumer on the server is
 * ephemeral, in memory, without acks, and thrown away at the first sign of trouble: a hole in its
 * own count of what it sent, silence where heartbeats should be, a status that says it is gone, a
 * new connection. Then another is made, behind the last message that was delivered. So nothing here
 * is ever repaired, and nothing on the server is worth keeping.
 *
 * All consumers are pulled from, those of JETSTREAM_PUSH too: always so many messages ahead. A
 * consumer that pushes would need a literal subscription of its own (a wildcard one is no interest
 * to nats-server), could have sent before it said where it began, and heeds only its own bytes,
 * while the server cuts a connection on which 64 MB wait to be read. So each request is bounded in
 * bytes as well. */

#include "jetstream_internal.h"

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
    HEARTBEAT_MS = 1500,
    SILENCE_MAX_MS = 5000,
    EXPIRES_MS = 300000,
    PUSH_AHEAD_COUNT = 2048,
    REQUEST_BYTES_MAX = 4 * 1024 * 1024,
    /* How long the server keeps a consumer whose reader vanished, or reads nothing for a while. */
    INACTIVE_MS = 60000,
    CONSUMER_NAME_MAX = BUS_TAG_MAX + 8,
    ACK_TOKENS_MAX = 12,
};

enum feed_state { FEED_IDLE, FEED_CREATING, FEED_RUNNING };

struct jetstream_feed {
    struct jetstream *jetstream;
    struct jetstream_feed *next, **link; /* *link == this */
    char *stream;
    struct jetstream_start start;
    enum jetstream_flow flow;
    struct jetstream_feed_events events;

    enum feed_state state;
    char consumer[CONSUMER_NAME_MAX]; /* the one of now; "" if there is none */
    struct bus_mailbox mailbox;       /* open while there is a consumer, and only for that one */
    struct jetstream_request *request;
    struct reactor_timer retry;

    bool is_settled;            /* next_sequence is known */
    bool is_opened;             /* and was told */
    bool has_delivered;         /* anything at all */
    uint64_t next_sequence;     /* of the stream */
    uint64_t consumer_sequence; /* so many has the present consumer sent */
    size_t wanted_count;        /* to be delivered; for PUSH always the same */
    size_t requested_count;     /* of these, asked for on the server */
    bool is_large;              /* the next message is too large for a bounded request */
    bool has_progress;          /* something came since the last request ran out of bytes */
    int64_t heard_ms;

    unsigned depth; /* of calls that will touch it after a callback */
    bool is_closed;
};

/* ---- staying alive through callbacks ---- */

static void free_feed(struct jetstream_feed *feed) {
    free(feed->stream);
    free(feed);
}

static void enter(struct jetstream_feed *feed) {
    feed->depth++;
}

static void leave(struct jetstream_feed *feed) {
    feed->depth--;
    if (feed->is_closed && feed->depth == 0) {
        free_feed(feed);
    }
}

/* ---- the consumer ---- */

static void drop_consumer(struct jetstream_feed *feed) {
    jetstream_request_cancel(feed->request);
    feed->request = NULL;
    if (feed->consumer[0] != '\0') {
        char what[JETSTREAM_SUBJECT_MAX];
        bus_mailbox_close(feed->jetstream->bus, feed->mailbox);
        snprintf(what, sizeof what, "CONSUMER.DELETE.%s.%s", feed->stream, feed->consumer);
        jetstream_request_forget(feed->jetstream, what);
        feed->consumer[0] = '\0';
    }
    reactor_timer_clear(feed->jetstream->reactor, &feed->retry);
    feed->state = FEED_IDLE;
    feed->requested_count = 0;
    feed->consumer_sequence = 0;
    feed->is_large = false;
    feed->has_progress = false;
}

static void restart_feed(struct jetstream_feed *feed) {
    drop_consumer(feed);
    reactor_timer_set(feed->jetstream->reactor, &feed->retry, JETSTREAM_RETRY_MS);
}

static json_t *time_text(int64_t time_ns) {
    time_t seconds = (time_t)(time_ns / NS_A_S);
    struct tm parts;
    char day[32];
    gmtime_r(&seconds, &parts);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    return json_sprintf("%s.%09" PRId64 "Z", day, time_ns % NS_A_S);
}

static void set_start(const struct jetstream_feed *feed, json_t *config) {
    const char *policy = "by_start_sequence";
    if (feed->is_settled) {
        uint64_t sequence = feed->next_sequence > 0 ? feed->next_sequence : 1;
        json_object_set_new(config, "opt_start_seq", json_integer((json_int_t)sequence));
    } else if (feed->start.from == JETSTREAM_FROM_NEW) {
        policy = "new";
    } else {
        policy = "by_start_time";
        json_object_set_new(config, "opt_start_time", time_text(feed->start.time_ns));
    }
    json_object_set_new(config, "deliver_policy", json_string(policy));
}

static json_t *consumer_body(const struct jetstream_feed *feed) {
    json_t *config =
        json_pack("{s:s, s:s, s:s, s:b, s:i, s:I}", "name", feed->consumer, "ack_policy", "none",
                  "replay_policy", "instant", "mem_storage", true, "num_replicas", 1,
                  "inactive_threshold", (json_int_t)(INACTIVE_MS * NS_A_MS));
    set_start(feed, config);
    return json_pack("{s:s, s:o}", "stream_name", feed->stream, "config", config);
}

/* ---- asking for more ---- */

static void request(struct jetstream_feed *feed, size_t count) {
    char subject[JETSTREAM_SUBJECT_MAX], address[BUS_SUBJECT_MAX], body[192], bytes[48] = "";
    if (feed->is_large) {
        count = 1;
    } else {
        snprintf(bytes, sizeof bytes, ",\"max_bytes\":%d", REQUEST_BYTES_MAX);
    }
    snprintf(subject, sizeof subject, "$JS.API.CONSUMER.MSG.NEXT.%s.%s", feed->stream,
             feed->consumer);
    bus_mailbox_address(feed->jetstream->bus, feed->mailbox, address);
    snprintf(body, sizeof body,
             "{\"batch\":%zu,\"expires\":%" PRId64 ",\"idle_heartbeat\":%" PRId64 "%s}", count,
             EXPIRES_MS * NS_A_MS, HEARTBEAT_MS * NS_A_MS, bytes);
    if (bus_publish(feed->jetstream->bus, subject, address, NULL, 0, parley_bytes_of(body)) !=
        BUS_SENT) {
        return; /* the bus is full, or going: the tick comes by again */
    }
    if (feed->requested_count == 0) {
        feed->heard_ms = reactor_now_ms(feed->jetstream->reactor);
    }
    feed->requested_count += count;
}

/* At least half of what is wanted at once: a request a message would run into the server's limit
 * on waiting requests, and cost as much again as the messages. */
static void top_up(struct jetstream_feed *feed) {
    if (feed->state != FEED_RUNNING || feed->requested_count >= feed->wanted_count) {
        return;
    }
    size_t lacking = feed->wanted_count - feed->requested_count;
    if (feed->requested_count == 0 || (!feed->is_large && lacking >= feed->wanted_count / 2)) {
        request(feed, lacking);
    }
}

void jetstream_feed_pull(struct jetstream_feed *feed, size_t count) {
    assert(feed->flow == JETSTREAM_PULL);
    feed->wanted_count += count;
    top_up(feed);
}

/* ---- what comes ---- */

bool jetstream_delivery_read(const char *reply, struct jetstream_delivery *out) {
    const char *tokens[ACK_TOKENS_MAX];
    size_t count = 0;
    if (reply == NULL || strncmp(reply, "$JS.ACK.", 8) != 0) {
        return false;
    }
    for (const char *at = reply; at != NULL && count < ACK_TOKENS_MAX;
         at = strchr(at, '.'), at = at != NULL ? at + 1 : NULL) {
        tokens[count++] = at;
    }
    if (count < 9 || count == 10) {
        return false;
    }
    const char *const *numbers = &tokens[count == 9 ? 5 : 7];
    out->stream_sequence = strtoull(numbers[0], NULL, 10);
    out->consumer_sequence = strtoull(numbers[1], NULL, 10);
    out->time_ns = (int64_t)strtoll(numbers[2], NULL, 10);
    return true;
}

static void stands(struct jetstream_feed *feed) {
    feed->state = FEED_RUNNING;
    feed->heard_ms = reactor_now_ms(feed->jetstream->reactor);
    if (!feed->is_opened) {
        feed->is_opened = true;
        feed->events.opened(feed->events.context, feed->next_sequence);
    }
    if (!feed->is_closed) {
        top_up(feed);
    }
}

static void deliver(struct jetstream_feed *feed, const struct jetstream_delivery *delivery,
                    const struct bus_message *message) {
    feed->consumer_sequence = delivery->consumer_sequence;
    feed->requested_count -= feed->requested_count > 0 ? 1 : 0;
    feed->has_progress = true;
    feed->is_large = false;
    /* Asked to begin past the end, the server begins at the end. But after we have delivered
     * something it is right: then the stream lost its last messages with a power cut, and what
     * comes now is new. */
    if (!feed->has_delivered && delivery->stream_sequence < feed->next_sequence) {
        top_up(feed);
        return;
    }
    if (feed->flow == JETSTREAM_PULL && feed->wanted_count > 0) {
        feed->wanted_count--;
    }
    feed->has_delivered = true;
    feed->next_sequence = delivery->stream_sequence + 1;
    const struct jetstream_stored stored = {
        .sequence = delivery->stream_sequence,
        .time_ns = delivery->time_ns,
        .subject = message->subject,
        .payload = message->payload,
    };
    feed->events.stored(feed->events.context, &stored);
    if (!feed->is_closed) {
        top_up(feed);
    }
}

static void on_heartbeat(struct jetstream_feed *feed, const struct bus_message *message) {
    const char *sent = bus_message_header(message, "Nats-Last-Consumer");
    if (sent != NULL && strtoull(sent, NULL, 10) > feed->consumer_sequence) {
        restart_feed(feed); /* the last ones were lost */
    }
}

/* A request ended early: `left` of its messages will not come. */
static void on_request_end(struct jetstream_feed *feed, const char *left, bool is_out_of_bytes) {
    size_t count = strtoull(left, NULL, 10);
    feed->requested_count -= count < feed->requested_count ? count : feed->requested_count;
    if (is_out_of_bytes) {
        feed->is_large = !feed->has_progress;
        feed->has_progress = false;
    }
    top_up(feed);
}

static void on_status(struct jetstream_feed *feed, const struct bus_message *message) {
    unsigned status = bus_message_status(message);
    const char *left = bus_message_header(message, "Nats-Pending-Messages");
    if (status == 100) {
        on_heartbeat(feed, message);
    } else if ((status == 408 || status == 409) && left != NULL) {
        on_request_end(feed, left, status == 409);
    } else {
        restart_feed(feed); /* 409: deleted, another leader, …; 503: it is not there */
    }
}

static void on_message(void *context, const struct bus_message *message) {
    struct jetstream_feed *feed = context;
    struct jetstream_delivery delivery;
    enter(feed);
    feed->heard_ms = reactor_now_ms(feed->jetstream->reactor);
    if (!jetstream_delivery_read(message->reply, &delivery)) {
        on_status(feed, message);
    } else if (delivery.consumer_sequence != feed->consumer_sequence + 1) {
        restart_feed(feed);
    } else {
        deliver(feed, &delivery, message);
    }
    leave(feed);
}

/* ---- its life ---- */

static void on_created(void *context, json_t *answer) {
    struct jetstream_feed *feed = context;
    feed->request = NULL;
    if (answer == NULL || jetstream_answer_error(answer) != 0) {
        restart_feed(feed);
        return;
    }
    if (!feed->is_settled) {
        /* Exact, for nothing is delivered before it is asked for. */
        feed->next_sequence = jetstream_answer_number(answer, "delivered", "stream_seq") + 1;
        feed->is_settled = true;
    }
    enter(feed);
    stands(feed);
    leave(feed);
}

static void start_feed(struct jetstream_feed *feed) {
    struct jetstream *jetstream = feed->jetstream;
    assert(feed->state == FEED_IDLE);
    if (bus_mailbox_open(jetstream->bus, on_message, feed, &feed->mailbox) != PARLEY_OK) {
        restart_feed(feed);
        return;
    }
    /* The name is ours, so that the consumer can be deleted when the answer got lost; and it bears
     * the mailbox's tag, for JetStream sends messages under the subject they were stored with. */
    char tag[BUS_TAG_MAX];
    bus_mailbox_tag(jetstream->bus, feed->mailbox, tag);
    snprintf(feed->consumer, sizeof feed->consumer, "parley-%s", tag);
    feed->state = FEED_CREATING;
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "CONSUMER.CREATE.%s.%s", feed->stream, feed->consumer);
    feed->request = jetstream_request_send(jetstream, what, consumer_body(feed), on_created, feed);
    if (feed->request == NULL) {
        restart_feed(feed);
    }
}

static void on_retry(struct reactor_timer *timer) {
    struct jetstream_feed *feed = OWNER_OF(timer, struct jetstream_feed, retry);
    if (feed->jetstream->is_ready) {
        start_feed(feed);
    }
}

static void on_tick(struct reactor_timer *timer) {
    struct jetstream *jetstream = OWNER_OF(timer, struct jetstream, feeds_tick);
    int64_t now_ms = reactor_now_ms(jetstream->reactor);
    for (struct jetstream_feed *feed = jetstream->feeds; feed != NULL; feed = feed->next) {
        if (feed->state == FEED_RUNNING && feed->requested_count > 0 &&
            now_ms - feed->heard_ms > SILENCE_MAX_MS) {
            restart_feed(feed);
        } else {
            top_up(feed);
        }
    }
    if (jetstream->feeds != NULL) {
        reactor_timer_set(jetstream->reactor, timer, TICK_MS);
    }
}

void jetstream_feeds_start(struct jetstream *jetstream) {
    for (struct jetstream_feed *feed = jetstream->feeds; feed != NULL; feed = feed->next) {
        if (feed->state == FEED_IDLE && !feed->retry.is_armed) {
            start_feed(feed);
        }
    }
    if (jetstream->feeds != NULL) {
        reactor_timer_set(jetstream->reactor, &jetstream->feeds_tick, TICK_MS);
    }
}

void jetstream_feeds_stop(struct jetstream *jetstream) {
    for (struct jetstream_feed *feed = jetstream->feeds; feed != NULL; feed = feed->next) {
        drop_consumer(feed);
    }
    reactor_timer_clear(jetstream->reactor, &jetstream->feeds_tick);
}

enum parley_status jetstream_feed_open(struct jetstream *jetstream, const char *stream,
                                       struct jetstream_start start, enum jetstream_flow flow,
                                       const struct jetstream_feed_events *events,
                                       struct jetstream_feed **out) {
    struct jetstream_feed *feed = calloc(1, sizeof *feed);
    char *name = strdup(stream);
    if (feed == NULL || name == NULL) {
        free(feed);
        free(name);
        return PARLEY_E_MEMORY;
    }
    feed->jetstream = jetstream;
    feed->stream = name;
    feed->start = start;
    feed->flow = flow;
    feed->events = *events;
    feed->is_settled = start.from == JETSTREAM_FROM_SEQUENCE;
    feed->next_sequence = start.sequence;
    feed->wanted_count = flow == JETSTREAM_PUSH ? PUSH_AHEAD_COUNT : 0;
    feed->retry.fire = on_retry;
    feed->next = jetstream->feeds;
    feed->link = &jetstream->feeds;
    if (feed->next != NULL) {
        feed->next->link = &feed->next;
    }
    jetstream->feeds = feed;
    jetstream->feeds_tick.fire = on_tick;
    if (!jetstream->feeds_tick.is_armed) {
        reactor_timer_set(jetstream->reactor, &jetstream->feeds_tick, TICK_MS);
    }
    if (jetstream->is_ready) {
        /* In a later turn, so that no callback comes before *out is set. */
        reactor_timer_set(jetstream->reactor, &feed->retry, 0);
    }
    *out = feed;
    return PARLEY_OK;
}

void jetstream_feed_close(struct jetstream_feed *feed) {
    if (feed == NULL) {
        return;
    }
    drop_consumer(feed);
    *feed->link = feed->next;
    if (feed->next != NULL) {
        feed->next->link = feed->link;
    }
    feed->is_closed = true;
    if (feed->depth == 0) {
        free_feed(feed);
    }
}
