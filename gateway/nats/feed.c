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
 * bytes as well, and so is the sum of what readers of the past have asked for: a feed of theirs
 * asks for more when half of it has come, and stands in a queue for it.
 *
 * nats-server 2.9 ends a request without a word when its last message fits its bytes exactly. So a
 * request is for so many messages as will fit, with some room to spare, and one of which nothing
 * is heard past its time has ended (expire_silently). */

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
    PUSH_BYTES_MAX = 4 * 1024 * 1024,
    /* A request that waits for messages to be stored must not keep others from theirs: after so
     * long it is known to do so. */
    PULL_PATIENCE_MS = 500,
    PULL_EXPIRES_MS = 4000,
    PULL_BYTES_MAX = 512 * 1024,
    PULL_BYTES_MIN = 4 * 1024, /* and what it may hold while nothing is there */
    /* What the server counts against a request besides the message: subjects, headers. */
    SUBJECTS_BYTES_MAX = 4 * 1024,
    HEADERS_BYTES_TYPICAL = 256,
    EXPIRY_GRACE_MS = 250,
    /* How long the server keeps a consumer whose reader vanished, or reads nothing for a while. */
    INACTIVE_MS = 60000,
    CONSUMER_NAME_MAX = BUS_TAG_MAX + 8,
    ACK_TOKENS_MAX = 12,
};

enum feed_state { FEED_IDLE, FEED_CREATING, FEED_RUNNING, FEED_REFUSED };

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
    size_t typical_bytes;       /* of the larger ones of late */
    bool is_large;              /* the next message is too large for a bounded request */
    bool has_progress;          /* something came since the last request ran out of bytes */
    int64_t heard_ms;

    /* PULL */
    size_t wanted_bytes;         /* of those to be delivered */
    size_t reserved_bytes;       /* of the requests that are under way, not yet received */
    int64_t expires_ms;          /* when the last of them ends at the latest */
    bool is_hungry;              /* nothing came of what was pulled since it last rested */
    bool is_idle;                /* nothing came of the last request */
    bool is_draining;            /* nothing is requested until nothing is under way */
    struct jetstream_lane *lane; /* of the last request, or of the next when it is queued */
    bool is_queued;
    TAILQ_ENTRY(jetstream_feed) queue_link;

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

/* ---- the bytes under way ---- */

static void join_queue(struct jetstream_feed *feed) {
    struct jetstream_lane *lane = &feed->jetstream->pulling.lanes[feed->is_large ? 1 : 0];
    if (TAILQ_EMPTY(&lane->queue)) {
        TAILQ_INIT(&lane->queue);
    }
    TAILQ_INSERT_TAIL(&lane->queue, feed, queue_link);
    feed->lane = lane;
    feed->is_queued = true;
}

static void leave_queue(struct jetstream_feed *feed) {
    if (feed->is_queued) {
        TAILQ_REMOVE(&feed->lane->queue, feed, queue_link);
        feed->is_queued = false;
    }
}

/* So many of the messages that are under way have come, or will not. Each is taken for as large as
 * the others, so that in the end nothing is left. */
static void release_bytes(struct jetstream_feed *feed, size_t count) {
    if (feed->reserved_bytes == 0) {
        return;
    }
    const bool is_all = count >= feed->requested_count;
    const size_t bytes =
        is_all ? feed->reserved_bytes : feed->reserved_bytes / feed->requested_count * count;
    feed->reserved_bytes -= bytes;
    feed->lane->bytes -= bytes;
}

static void count_off(struct jetstream_feed *feed, size_t count) {
    release_bytes(feed, count);
    feed->requested_count -= count < feed->requested_count ? count : feed->requested_count;
}

/* What a consumer was asked for may come until the server says that it has deleted it. */
struct jetstream_feed_debt {
    struct jetstream *jetstream;
    struct jetstream_request *request;
    struct jetstream_lane *lane;
    size_t bytes;
    LIST_ENTRY(jetstream_feed_debt) link;
};

static void settle_debt(struct jetstream_feed_debt *debt) {
    debt->lane->bytes -= debt->bytes;
    LIST_REMOVE(debt, link);
    free(debt);
}

static void serve_queue(struct jetstream *jetstream);

static void on_deleted(void *context, json_t *answer) {
    (void)answer;
    struct jetstream_feed_debt *debt = context;
    struct jetstream *jetstream = debt->jetstream;
    settle_debt(debt);
    serve_queue(jetstream);
}

/* Without memory, or a connection, the debt is forgotten: the worst is a burst. */
static void delete_consumer(struct jetstream_feed *feed) {
    struct jetstream *jetstream = feed->jetstream;
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "CONSUMER.DELETE.%s.%s", feed->stream, feed->consumer);
    struct jetstream_feed_debt *debt = feed->reserved_bytes > 0 ? malloc(sizeof *debt) : NULL;
    if (debt == NULL) {
        jetstream_request_forget(jetstream, what);
        return;
    }
    *debt = (struct jetstream_feed_debt){
        .jetstream = jetstream, .lane = feed->lane, .bytes = feed->reserved_bytes};
    debt->request = jetstream_request_send(jetstream, what, NULL, on_deleted, debt);
    if (debt->request == NULL) {
        free(debt);
        return;
    }
    LIST_INSERT_HEAD(&jetstream->pulling.debts, debt, link);
    feed->reserved_bytes = 0; /* it counts on, as a debt */
}

size_t jetstream_pulled_bytes(const struct jetstream *jetstream) {
    return jetstream->pulling.lanes[0].bytes + jetstream->pulling.lanes[1].bytes;
}

/* ---- the consumer ---- */

static void drop_consumer(struct jetstream_feed *feed) {
    jetstream_request_cancel(feed->request);
    feed->request = NULL;
    if (feed->consumer[0] != '\0') {
        bus_mailbox_close(feed->jetstream->bus, feed->mailbox);
        delete_consumer(feed);
        feed->consumer[0] = '\0';
    }
    leave_queue(feed);
    count_off(feed, feed->requested_count);
    reactor_timer_clear(feed->jetstream->reactor, &feed->retry);
    feed->state = FEED_IDLE;
    feed->consumer_sequence = 0;
    feed->is_large = feed->is_draining = false;
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

/* Returns: false when the bus is full, or going: the tick comes by again.  `bytes` 0: any. */
static bool request(struct jetstream_feed *feed, size_t count, size_t bytes, int64_t expires_ms) {
    char subject[JETSTREAM_SUBJECT_MAX], address[BUS_SUBJECT_MAX], body[192], limit[48] = "";
    if (bytes > 0) {
        snprintf(limit, sizeof limit, ",\"max_bytes\":%zu", bytes);
    }
    snprintf(subject, sizeof subject, "$JS.API.CONSUMER.MSG.NEXT.%s.%s", feed->stream,
             feed->consumer);
    bus_mailbox_address(feed->jetstream->bus, feed->mailbox, address);
    /* One that ends soon needs no heartbeat, and the server allows none. */
    int64_t heartbeat_ms = expires_ms >= 2 * HEARTBEAT_MS ? HEARTBEAT_MS : 0;
    snprintf(body, sizeof body,
             "{\"batch\":%zu,\"expires\":%" PRId64 ",\"idle_heartbeat\":%" PRId64 "%s}", count,
             expires_ms * NS_A_MS, heartbeat_ms * NS_A_MS, limit);
    if (bus_publish(feed->jetstream->bus, subject, address, NULL, 0, parley_bytes_of(body)) !=
        BUS_SENT) {
        return false;
    }
    if (feed->requested_count == 0) {
        feed->heard_ms = reactor_now_ms(feed->jetstream->reactor);
    }
    feed->requested_count += count;
    return true;
}

/* How many messages will fit, at least one. */
static size_t count_fitting(const struct jetstream_feed *feed, size_t bytes) {
    const size_t padded = feed->typical_bytes + feed->typical_bytes / 4 + HEADERS_BYTES_TYPICAL;
    return bytes > padded ? bytes / padded : 1;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* At least half of what is wanted at once: a request a message would run into the server's limit
 * on waiting requests, and cost as much again as the messages. */
static void top_up_push(struct jetstream_feed *feed) {
    const size_t fitting = count_fitting(feed, PUSH_BYTES_MAX);
    const size_t wanted = smaller(feed->wanted_count, 2 * fitting);
    const size_t lacking = wanted > feed->requested_count ? wanted - feed->requested_count : 0;
    if (feed->is_large && feed->requested_count == 0) {
        request(feed, 1, 0, EXPIRES_MS);
    } else if (!feed->is_large && lacking > 0 &&
               (feed->requested_count == 0 || lacking >= wanted / 2)) {
        request(feed, smaller(lacking, fitting), PUSH_BYTES_MAX, EXPIRES_MS);
    }
}

/* Of the bytes that are wanted, those not asked for yet. */
static size_t lacking_bytes(const struct jetstream_feed *feed) {
    return feed->wanted_bytes > feed->reserved_bytes ? feed->wanted_bytes - feed->reserved_bytes
                                                     : 0;
}

/* The next request waits until half of what is under way has come, and not for the rest. */
static bool wants_request(const struct jetstream_feed *feed) {
    if (feed->is_queued || feed->wanted_count <= feed->requested_count) {
        return false;
    }
    const size_t count = feed->wanted_count - feed->requested_count, bytes = lacking_bytes(feed);
    return feed->requested_count == 0 ||
           (!feed->is_large && !feed->is_draining && bytes >= PULL_BYTES_MIN &&
            count * 2 >= feed->wanted_count && bytes * 2 >= feed->wanted_bytes);
}

static void top_up(struct jetstream_feed *feed) {
    if (feed->state != FEED_RUNNING) {
        return;
    }
    if (feed->flow == JETSTREAM_PUSH) {
        top_up_push(feed);
        return;
    }
    if (wants_request(feed)) {
        join_queue(feed);
    }
    serve_queue(feed->jetstream); /* what has come made room for others */
}

static size_t bytes_to_reserve(const struct jetstream_feed *feed) {
    const size_t bytes = lacking_bytes(feed);
    if (feed->is_large) {
        return bus_max_payload_bytes(feed->jetstream->bus) + SUBJECTS_BYTES_MAX;
    }
    if (feed->is_idle || bytes < PULL_BYTES_MIN) {
        return PULL_BYTES_MIN;
    }
    return smaller(bytes, PULL_BYTES_MAX);
}

static bool request_reserved(struct jetstream_feed *feed, size_t bytes) {
    const size_t lacking = feed->wanted_count - feed->requested_count;
    const size_t count = feed->is_large ? 1 : smaller(lacking, count_fitting(feed, bytes));
    const int64_t expires_ms = feed->is_idle ? PULL_EXPIRES_MS : PULL_PATIENCE_MS;
    if (!request(feed, count, bytes, expires_ms)) {
        return false;
    }
    feed->expires_ms = reactor_now_ms(feed->jetstream->reactor) + expires_ms;
    feed->reserved_bytes += bytes;
    feed->lane->bytes += bytes;
    feed->has_progress = false;
    return true;
}

/* The first to come first, and nobody past them: the largest one gets its turn too. */
static void serve_lane(struct jetstream_lane *lane) {
    struct jetstream_feed *feed;
    while ((feed = TAILQ_FIRST(&lane->queue)) != NULL) {
        size_t bytes = bytes_to_reserve(feed);
        if ((lane->bytes > 0 && lane->bytes + bytes > JETSTREAM_PULL_BYTES_MAX / 2) ||
            !request_reserved(feed, bytes)) {
            return;
        }
        leave_queue(feed);
    }
}

static void serve_queue(struct jetstream *jetstream) {
    serve_lane(&jetstream->pulling.lanes[0]);
    serve_lane(&jetstream->pulling.lanes[1]);
}

void jetstream_feed_pull(struct jetstream_feed *feed, size_t count, size_t bytes) {
    assert(feed->flow == JETSTREAM_PULL);
    if (feed->wanted_count == 0) {
        feed->is_hungry = true;
    }
    feed->wanted_count = count > feed->requested_count ? count : feed->requested_count;
    feed->wanted_bytes = bytes;
    top_up(feed);
}

/* ---- what comes ---- */

/* Digits up to the next dot or the end. */
static uint64_t read_number(const char *text) {
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        number = number * 10 + (uint64_t)(*text - '0');
    }
    return number;
}

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
    out->stream_sequence = read_number(numbers[0]);
    out->consumer_sequence = read_number(numbers[1]);
    out->time_ns = (int64_t)read_number(numbers[2]);
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

/* Nothing of what was pulled is to come any more. */
static void rest(struct jetstream_feed *feed) {
    feed->wanted_count = 0;
    feed->wanted_bytes = 0;
    feed->events.rested(feed->events.context);
}

/* Takes a message out of what was asked for. */
static void count_received(struct jetstream_feed *feed, const struct jetstream_delivery *delivery,
                           const struct bus_message *message) {
    feed->consumer_sequence = delivery->consumer_sequence;
    count_off(feed, 1);
    feed->has_progress = true;
    feed->is_idle = feed->is_draining = false;
    size_t bytes = message->payload.length + strlen(message->subject) + strlen(message->reply);
    feed->typical_bytes = bytes > feed->typical_bytes
                              ? bytes
                              : feed->typical_bytes - (feed->typical_bytes - bytes) / 4;
    /* Behind a large one comes another. */
    feed->is_large = feed->flow == JETSTREAM_PULL && feed->is_large && bytes > PULL_BYTES_MAX / 2;
    if (feed->flow == JETSTREAM_PULL) {
        feed->wanted_bytes -= bytes < feed->wanted_bytes ? bytes : feed->wanted_bytes;
    }
}

static void deliver(struct jetstream_feed *feed, const struct jetstream_delivery *delivery,
                    const struct bus_message *message) {
    count_received(feed, delivery, message);
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
    feed->is_hungry = false;
    feed->has_delivered = true;
    feed->next_sequence = delivery->stream_sequence + 1;
    const struct jetstream_stored stored = {
        .sequence = delivery->stream_sequence,
        .time_ns = delivery->time_ns,
        .subject = message->subject,
        .payload = message->payload,
        .message = message,
    };
    feed->events.stored(feed->events.context, &stored);
    /* With a request used up, the next message would hardly fit. */
    bool is_out = feed->requested_count == 0 && feed->wanted_bytes < feed->typical_bytes;
    if (!feed->is_closed && feed->flow == JETSTREAM_PULL && feed->state == FEED_RUNNING &&
        (feed->wanted_count == 0 || is_out)) {
        rest(feed);
    }
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

/* The next message does not fit. When nothing came at all, it is fetched however large it is. */
static void on_out_of_bytes(struct jetstream_feed *feed) {
    feed->is_draining = feed->flow == JETSTREAM_PULL && feed->requested_count > 0;
    if (feed->is_draining) {
        return; /* it may fit the other request */
    }
    if (!feed->has_progress) {
        feed->is_large = !feed->is_idle;
        feed->is_idle = false;
    }
    feed->has_progress = false;
    if (feed->flow == JETSTREAM_PULL && !feed->is_hungry) {
        rest(feed);
    }
}

/* A request ended early: `left` of its messages will not come. */
static void on_request_end(struct jetstream_feed *feed, const char *left, bool is_out_of_bytes) {
    count_off(feed, strtoull(left, NULL, 10));
    if (is_out_of_bytes) {
        on_out_of_bytes(feed);
    } else {
        feed->is_idle = feed->flow == JETSTREAM_PULL && !feed->has_progress;
    }
    if (!feed->is_closed) {
        top_up(feed);
    }
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

/* Whether the same request would be refused again: 404 is a stream that may be made again, 408 and
 * 503 pass. */
static bool is_refusal(const json_t *answer) {
    const json_t *error = json_object_get(answer, "error");
    return json_integer_value(json_object_get(error, "code")) == 400;
}

static void refuse(struct jetstream_feed *feed, const json_t *answer) {
    enter(feed);
    drop_consumer(feed);
    feed->state = FEED_REFUSED;
    feed->events.refused(feed->events.context, jetstream_answer_text(answer));
    leave(feed);
}

static void on_created(void *context, json_t *answer) {
    struct jetstream_feed *feed = context;
    feed->request = NULL;
    if (answer != NULL && is_refusal(answer)) {
        refuse(feed, answer);
        return;
    }
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

/* A request that has not ended with a status by its time has been used up to its last byte. */
static void expire_silently(struct jetstream_feed *feed, int64_t now_ms) {
    const int64_t heard_ms = feed->heard_ms > feed->expires_ms ? feed->heard_ms : feed->expires_ms;
    if (feed->flow == JETSTREAM_PULL && feed->state == FEED_RUNNING &&
        now_ms - heard_ms > EXPIRY_GRACE_MS) {
        count_off(feed, feed->requested_count);
    }
}

static void on_tick(struct reactor_timer *timer) {
    struct jetstream *jetstream = OWNER_OF(timer, struct jetstream, feeds_tick);
    int64_t now_ms = reactor_now_ms(jetstream->reactor);
    for (struct jetstream_feed *feed = jetstream->feeds; feed != NULL; feed = feed->next) {
        expire_silently(feed, now_ms);
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
    while (!LIST_EMPTY(&jetstream->pulling.debts)) {
        struct jetstream_feed_debt *debt = LIST_FIRST(&jetstream->pulling.debts);
        jetstream_request_cancel(debt->request);
        settle_debt(debt);
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
    struct jetstream *jetstream = feed->jetstream;
    drop_consumer(feed);
    serve_queue(jetstream);
    *feed->link = feed->next;
    if (feed->next != NULL) {
        feed->next->link = feed->link;
    }
    feed->is_closed = true;
    if (feed->depth == 0) {
        free_feed(feed);
    }
}
