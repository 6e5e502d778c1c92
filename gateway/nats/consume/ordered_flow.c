/* SPDX-License-Identifier: Apache-2.0 */

/* See ordered_flow.h. Messages are pulled from every consumer, a following one too: always so many
 * messages ahead. A consumer that pushes would need a literal subscription of its own (a wildcard
 * one is no interest to nats-server), could have sent before it said where it begins, and heeds
 * only its own bytes, while the server closes a connection on which 64 MB wait to be written. So
 * each request is bounded in bytes, and so is the sum of the requests of replaying consumers: one
 * of these requests more when half of its last request has come, and waits in a queue for it.
 *
 * nats-server 2.9 ends a request without a status when the request's last message fits its bytes
 * exactly. So a request is for as many messages as will fit, with some room to spare, and a request
 * that is silent past its time has ended (ordered_flow_expire).
 *
 * nats-server 2.9 also forgets the message that does not fit a request to a consumer that begins
 * with the last one on each subject: it has taken it off its list. So requests of a replaying one
 * have room for any message, and those of small ones for many; if several large ones meet all the
 * same, the consumer is replaced, and they are requested one by one from then on (loses_misfits).
 *
 * Transitions of the pace. "Expired": a request's time has passed and it brought nothing (408, of a
 * replaying consumer). "Exceeded": the next message exceeds the bytes of the last request under
 * way, and nothing came since (409). "Replaced": the consumer on the server is.
 *
 *                message      large message   expired      exceeded   replaced
 *   AHEAD        AHEAD        AHEAD           IDLE         LARGE      AHEAD
 *   IDLE         AHEAD        AHEAD           IDLE         AHEAD      IDLE
 *   LARGE        AHEAD        LARGE           LARGE_IDLE   LARGE      AHEAD
 *   LARGE_IDLE   AHEAD        LARGE           LARGE_IDLE   AHEAD      IDLE
 *
 * (A following consumer never gets to IDLE or LARGE_IDLE; after any message it is AHEAD. One that
 * loses misfits stays LARGE once it is.) */

#include "ordered_flow.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NS_A_MS INT64_C(1000000)

enum {
    HEARTBEAT_MS = 1500,
    EXPIRES_MS = 300000,
    FOLLOW_BYTES_MAX = 4 * 1024 * 1024,
    /* A request that waits for messages to be stored must not delay the requests of others: after
     * this time it is known to do so. */
    REPLAY_FIRST_EXPIRES_MS = 500,
    REPLAY_EXPIRES_MS = 4000,
    REPLAY_BYTES_MAX = ORDERED_REPLAY_REQUEST_BYTES_MAX,
    REPLAY_BYTES_MIN = 4 * 1024, /* also the bytes of a request while nothing is stored */
    /* The bytes that the server counts against a request besides the payload: subjects, headers. */
    SUBJECTS_BYTES_MAX = 4 * 1024,
    HEADERS_BYTES_TYPICAL = 256,
    EXPIRY_GRACE_MS = 250,
};

/* ---- the pace ---- */

static void set_pace(struct ordered_consumer *consumer, enum ordered_pace pace) {
    static const bool can[][4] = {
        [ORDERED_AHEAD] = {[ORDERED_AHEAD] = true, [ORDERED_IDLE] = true, [ORDERED_LARGE] = true},
        [ORDERED_IDLE] = {[ORDERED_AHEAD] = true, [ORDERED_IDLE] = true},
        [ORDERED_LARGE] =
            {[ORDERED_AHEAD] = true, [ORDERED_LARGE] = true, [ORDERED_LARGE_IDLE] = true},
        [ORDERED_LARGE_IDLE] = {true, true, true, true},
    };
    assert(can[consumer->pace][pace]);
    (void)can; /* for builds without assertions */
    consumer->pace = pace;
}

static bool is_large(const struct ordered_consumer *consumer) {
    return consumer->pace == ORDERED_LARGE || consumer->pace == ORDERED_LARGE_IDLE;
}

static bool is_idle(const struct ordered_consumer *consumer) {
    return consumer->pace == ORDERED_IDLE || consumer->pace == ORDERED_LARGE_IDLE;
}

static bool loses_misfits(const struct ordered_consumer *consumer) {
    return consumer->mode == ORDERED_REPLAY && consumer->start.from == JETSTREAM_FROM_LAST;
}

/* Requests have room for any one message. */
static bool has_large_requests(const struct ordered_consumer *consumer) {
    return is_large(consumer) || loses_misfits(consumer);
}

static void body_throttle_received(struct ordered_consumer *consumer, size_t bytes) {
    /* After a large message another one is likely. */
    const bool stays_large = consumer->mode == ORDERED_REPLAY && is_large(consumer) &&
                             (bytes > REPLAY_BYTES_MAX / 2 || loses_misfits(consumer));
    set_pace(consumer, stays_large ? ORDERED_LARGE : ORDERED_AHEAD);
}

static void body_throttle_out_of_bytes(struct ordered_consumer *consumer) {
    set_pace(consumer, is_idle(consumer) ? ORDERED_AHEAD : ORDERED_LARGE);
}

static void body_throttle_expired(struct ordered_consumer *consumer) {
    if (consumer->mode == ORDERED_REPLAY && !consumer->has_progress) {
        set_pace(consumer, is_large(consumer) ? ORDERED_LARGE_IDLE : ORDERED_IDLE);
    } else {
        set_pace(consumer, is_large(consumer) ? ORDERED_LARGE : ORDERED_AHEAD);
    }
}

static void body_throttle_replaced(struct ordered_consumer *consumer) {
    const enum ordered_pace small = is_idle(consumer) ? ORDERED_IDLE : ORDERED_AHEAD;
    set_pace(consumer, is_large(consumer) && loses_misfits(consumer) ? ORDERED_LARGE : small);
}

/* ---- the bytes under way ---- */

static void join_queue(struct ordered_consumer *consumer) {
    struct jetstream_lane *lane =
        &consumer->jetstream->pulling.lanes[has_large_requests(consumer) ? 1 : 0];
    if (TAILQ_EMPTY(&lane->queue)) {
        TAILQ_INIT(&lane->queue);
    }
    TAILQ_INSERT_TAIL(&lane->queue, consumer, queue_link);
    consumer->lane = lane;
    consumer->is_queued = true;
}

static void leave_queue(struct ordered_consumer *consumer) {
    if (consumer->is_queued) {
        TAILQ_REMOVE(&consumer->lane->queue, consumer, queue_link);
        consumer->is_queued = false;
    }
}

/* `count` of the messages under way have come, or will not. All count as equally large, so that
 * nothing is left in the end. */
static void release_bytes(struct ordered_consumer *consumer, size_t count) {
    if (consumer->reserved_bytes == 0) {
        return;
    }
    const bool is_all = count >= consumer->requested_count;
    const size_t bytes = is_all ? consumer->reserved_bytes
                                : consumer->reserved_bytes / consumer->requested_count * count;
    consumer->reserved_bytes -= bytes;
    consumer->lane->bytes -= bytes;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static void count_off(struct ordered_consumer *consumer, size_t count) {
    release_bytes(consumer, count);
    consumer->requested_count -= smaller(count, consumer->requested_count);
}

/* ---- the consumer on the server is deleted ---- */

/* Messages requested from it may come until the server has answered that it is deleted. */
struct ordered_debt {
    struct jetstream *jetstream;
    struct jetstream_request *request;
    struct jetstream_lane *lane;
    size_t bytes;
    LIST_ENTRY(ordered_debt) link;
};

static void settle_debt(struct ordered_debt *debt) {
    debt->lane->bytes -= debt->bytes;
    LIST_REMOVE(debt, link);
    free(debt);
}

static void on_deleted(void *context, json_t *answer) {
    (void)answer;
    struct ordered_debt *debt = context;
    struct jetstream *jetstream = debt->jetstream;
    settle_debt(debt);
    ordered_flow_serve_queue(jetstream);
}

/* Without memory or connection the debt is forgotten, which at worst allows a burst. */
static void delete_consumer(struct ordered_consumer *consumer) {
    struct jetstream *jetstream = consumer->jetstream;
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "CONSUMER.DELETE.%s.%s", consumer->stream, consumer->name);
    struct ordered_debt *debt = consumer->reserved_bytes > 0 ? malloc(sizeof *debt) : NULL;
    if (debt == NULL) {
        jetstream_request_forget(jetstream, what);
        return;
    }
    *debt = (struct ordered_debt){
        .jetstream = jetstream, .lane = consumer->lane, .bytes = consumer->reserved_bytes};
    debt->request = jetstream_request_send(jetstream, what, NULL, on_deleted, debt);
    if (debt->request == NULL) {
        free(debt);
        return;
    }
    LIST_INSERT_HEAD(&jetstream->pulling.debts, debt, link);
    consumer->reserved_bytes = 0; /* it continues to count, as a debt */
}

void ordered_flow_drop(struct ordered_consumer *consumer) {
    if (consumer->name[0] != '\0') {
        delete_consumer(consumer);
    }
    leave_queue(consumer);
    count_off(consumer, consumer->requested_count);
    body_throttle_replaced(consumer);
    consumer->is_draining = false;
    consumer->has_progress = false;
}

void ordered_flow_forget_debts(struct jetstream *jetstream) {
    while (!LIST_EMPTY(&jetstream->pulling.debts)) {
        struct ordered_debt *debt = LIST_FIRST(&jetstream->pulling.debts);
        jetstream_request_cancel(debt->request);
        settle_debt(debt);
    }
}

size_t ordered_consumer_pulled_bytes(const struct jetstream *jetstream) {
    return jetstream->pulling.lanes[0].bytes + jetstream->pulling.lanes[1].bytes;
}

/* ---- requests ---- */

/* `bytes` 0: any. The server counts payloads that it does not send, so that headers are requested
 * by count alone.  Returns: false when the bus is full, or going away: the next tick tries again.
 */
static bool request(struct ordered_consumer *consumer, size_t count, size_t bytes,
                    int64_t expires_ms) {
    struct bus *bus = consumer->jetstream->bus;
    char subject[JETSTREAM_SUBJECT_MAX], address[BUS_SUBJECT_MAX], body[192], limit[48] = "";
    if (bytes > 0 && !consumer->start.is_headers_only) {
        snprintf(limit, sizeof limit, ",\"max_bytes\":%zu", bytes);
    }
    snprintf(subject, sizeof subject, "$JS.API.CONSUMER.MSG.NEXT.%s.%s", consumer->stream,
             consumer->name);
    bus_mailbox_address(bus, consumer->mailbox, address);
    /* A request that ends soon needs no heartbeat, and the server allows none. */
    const int64_t heartbeat_ms = expires_ms >= 2 * HEARTBEAT_MS ? HEARTBEAT_MS : 0;
    snprintf(body, sizeof body,
             "{\"batch\":%zu,\"expires\":%" PRId64 ",\"idle_heartbeat\":%" PRId64 "%s}", count,
             expires_ms * NS_A_MS, heartbeat_ms * NS_A_MS, limit);
    if (bus_publish(bus, subject, address, parley_bytes_of(body)) != BUS_SENT) {
        return false;
    }
    if (consumer->requested_count == 0) {
        consumer->heard_ms = reactor_now_ms(consumer->jetstream->reactor);
    }
    consumer->requested_count += count;
    return true;
}

/* Returns how many messages will fit, at least one. */
static size_t count_fitting(const struct ordered_consumer *consumer, size_t bytes) {
    const size_t padded =
        consumer->typical_bytes + consumer->typical_bytes / 4 + HEADERS_BYTES_TYPICAL;
    return bytes > padded ? bytes / padded : 1;
}

/* ---- following ---- */

/* Requests at least half of the wanted messages at once: a request per message would run into the
 * server's limit of waiting requests, and cost as much again as the messages. */
static void top_up_follow(struct ordered_consumer *consumer) {
    const size_t fitting = count_fitting(consumer, FOLLOW_BYTES_MAX);
    const size_t wanted = smaller(consumer->wanted_count, 2 * fitting);
    const size_t requested = consumer->requested_count;
    const size_t lacking = wanted > requested ? wanted - requested : 0;
    if (is_large(consumer) && requested == 0) {
        request(consumer, 1, 0, EXPIRES_MS);
    } else if (!is_large(consumer) && lacking > 0 && (requested == 0 || lacking >= wanted / 2)) {
        request(consumer, smaller(lacking, fitting), FOLLOW_BYTES_MAX, EXPIRES_MS);
    }
}

/* ---- replaying ---- */

/* Returns the number of wanted bytes that are not requested so far. */
static size_t lacking_bytes(const struct ordered_consumer *consumer) {
    return consumer->wanted_bytes > consumer->reserved_bytes
               ? consumer->wanted_bytes - consumer->reserved_bytes
               : 0;
}

/* The next request is sent once half of the outstanding bytes have come, without waiting for the
 * rest. */
static bool is_request_due(const struct ordered_consumer *consumer) {
    if (consumer->is_queued || consumer->wanted_count <= consumer->requested_count) {
        return false;
    }
    const size_t count = consumer->wanted_count - consumer->requested_count;
    const size_t bytes = lacking_bytes(consumer);
    return consumer->requested_count == 0 ||
           (!is_large(consumer) && !consumer->is_draining && bytes >= REPLAY_BYTES_MIN &&
            count * 2 >= consumer->wanted_count && bytes * 2 >= consumer->wanted_bytes);
}

static size_t bytes_to_reserve(const struct ordered_consumer *consumer) {
    const size_t bytes = lacking_bytes(consumer);
    if (has_large_requests(consumer)) {
        return bus_max_payload_bytes(consumer->jetstream->bus) + SUBJECTS_BYTES_MAX;
    }
    if (is_idle(consumer) || bytes < REPLAY_BYTES_MIN) {
        return REPLAY_BYTES_MIN;
    }
    return smaller(bytes, REPLAY_BYTES_MAX);
}

static bool request_reserved(struct ordered_consumer *consumer, size_t bytes) {
    const size_t lacking = consumer->wanted_count - consumer->requested_count;
    const size_t fitting =
        count_fitting(consumer, loses_misfits(consumer) ? lacking_bytes(consumer) : bytes);
    const size_t count = is_large(consumer) ? 1 : smaller(lacking, fitting);
    const int64_t expires_ms = is_idle(consumer) ? REPLAY_EXPIRES_MS : REPLAY_FIRST_EXPIRES_MS;
    if (!request(consumer, count, bytes, expires_ms)) {
        return false;
    }
    consumer->expires_ms = reactor_now_ms(consumer->jetstream->reactor) + expires_ms;
    consumer->reserved_bytes += bytes;
    consumer->lane->bytes += bytes;
    consumer->has_progress = false;
    return true;
}

/* Serves them in the order in which they came, without overtaking: the one with the largest request
 * gets its turn too. */
static void serve_lane(struct jetstream_lane *lane) {
    struct ordered_consumer *consumer;
    while ((consumer = TAILQ_FIRST(&lane->queue)) != NULL) {
        const size_t bytes = bytes_to_reserve(consumer);
        if ((lane->bytes > 0 && lane->bytes + bytes > ORDERED_PULL_BYTES_MAX / 2) ||
            !request_reserved(consumer, bytes)) {
            return;
        }
        leave_queue(consumer);
    }
}

void ordered_flow_serve_queue(struct jetstream *jetstream) {
    serve_lane(&jetstream->pulling.lanes[0]);
    serve_lane(&jetstream->pulling.lanes[1]);
}

void ordered_flow_top_up(struct ordered_consumer *consumer) {
    if (consumer->phase != ORDERED_RUNNING) {
        return;
    }
    if (consumer->mode == ORDERED_FOLLOW) {
        top_up_follow(consumer);
        return;
    }
    if (is_request_due(consumer)) {
        join_queue(consumer);
    }
    ordered_flow_serve_queue(consumer->jetstream); /* the received bytes made room for others */
}

void ordered_consumer_pull(struct ordered_consumer *consumer, size_t count, size_t bytes) {
    assert(consumer->mode == ORDERED_REPLAY);
    if (consumer->wanted_count == 0) {
        consumer->is_hungry = true;
    }
    consumer->wanted_count = count > consumer->requested_count ? count : consumer->requested_count;
    consumer->wanted_bytes = bytes;
    ordered_flow_top_up(consumer);
}

/* ---- incoming messages ---- */

static void end_pull(struct ordered_consumer *consumer) {
    consumer->wanted_count = 0;
    consumer->wanted_bytes = 0;
    consumer->events.pull_ended(consumer->events.context);
}

void ordered_flow_received(struct ordered_consumer *consumer, size_t bytes) {
    count_off(consumer, 1);
    consumer->has_progress = true;
    consumer->is_draining = false;
    consumer->typical_bytes = bytes > consumer->typical_bytes
                                  ? bytes
                                  : consumer->typical_bytes - (consumer->typical_bytes - bytes) / 4;
    body_throttle_received(consumer, bytes);
    if (consumer->mode == ORDERED_REPLAY) {
        consumer->wanted_bytes -= smaller(bytes, consumer->wanted_bytes);
    }
}

void ordered_flow_delivering(struct ordered_consumer *consumer) {
    consumer->is_hungry = false;
    if (consumer->mode == ORDERED_REPLAY && consumer->wanted_count > 0) {
        consumer->wanted_count--;
    }
}

void ordered_flow_delivered(struct ordered_consumer *consumer) {
    const bool would_hardly_fit =
        consumer->requested_count == 0 && consumer->wanted_bytes < consumer->typical_bytes;
    if (consumer->mode == ORDERED_REPLAY && consumer->phase == ORDERED_RUNNING &&
        (consumer->wanted_count == 0 || would_hardly_fit)) {
        end_pull(consumer);
    }
}

/* The next message does not fit. When nothing came at all, it is requested however large it is. */
static void on_out_of_bytes(struct ordered_consumer *consumer) {
    consumer->is_draining = consumer->mode == ORDERED_REPLAY && consumer->requested_count > 0;
    if (consumer->is_draining) {
        return; /* it may fit the other request */
    }
    if (!consumer->has_progress) {
        body_throttle_out_of_bytes(consumer);
    }
    consumer->has_progress = false;
    if (consumer->mode == ORDERED_REPLAY && !consumer->is_hungry) {
        end_pull(consumer);
    }
}

bool ordered_flow_request_ended(struct ordered_consumer *consumer, size_t left,
                                bool is_out_of_bytes) {
    count_off(consumer, left);
    if (is_out_of_bytes && loses_misfits(consumer)) {
        body_throttle_out_of_bytes(consumer);
        return false;
    }
    if (is_out_of_bytes) {
        on_out_of_bytes(consumer);
    } else {
        body_throttle_expired(consumer);
    }
    ordered_flow_top_up(consumer);
    return true;
}

/* A request that has not ended with a status by its time was used up to its last byte. */
void ordered_flow_expire(struct ordered_consumer *consumer, int64_t now_ms) {
    const int64_t heard_ms =
        consumer->heard_ms > consumer->expires_ms ? consumer->heard_ms : consumer->expires_ms;
    if (consumer->mode == ORDERED_REPLAY && consumer->phase == ORDERED_RUNNING &&
        now_ms - heard_ms > EXPIRY_GRACE_MS) {
        count_off(consumer, consumer->requested_count);
    }
}
