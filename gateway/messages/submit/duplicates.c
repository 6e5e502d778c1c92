/* SPDX-License-Identifier: Apache-2.0 */

/* See duplicates.h. Only duplicates pay for it: a retry, or a defect of the sender. A look-up that
 * gets no answer in time fails all that wait in line after it, since each of them would ask the
 * same leader. */

#include "duplicates.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "stored_headers.h"
#include "retry_advice.h"

enum {
    ASKED_COUNT_MAX = 64,
    /* The bytes of all answers that may be under way. A server closes a connection on which it has
       64 MB to write, and replays may have requested a quarter of that (ORDERED_PULL_BYTES_MAX). */
    ASKED_BYTES_MAX = 32 << 20,
    ANSWER_EXTRA_BYTES = 4096, /* beside the payload in base64 */
    HEADER_VALUE_MAX = 256,
};

struct duplicate {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    TAILQ_ENTRY(duplicate) link;       /* while it is in line */
    struct jetstream_request *request; /* NULL: it is in line */
    duplicate_fn *done;
    void *context;
    struct publication_mark mark;
    uint64_t sequence;
    bool is_again;
    char stream[];
};

bool duplicate_is_open(const struct publication_mark *mark, const struct jetstream_ack *ack) {
    return ack->outcome == JETSTREAM_STORED && ack->is_duplicate && mark->is_compared;
}

static size_t asked_count_max(const struct gateway *gateway) {
    const size_t payload = jetstream_max_payload_bytes(gateway->jetstream);
    const size_t count = ASKED_BYTES_MAX / (payload / 3 * 4 + ANSWER_EXTRA_BYTES);
    return count == 0 ? 1 : count < ASKED_COUNT_MAX ? count : ASKED_COUNT_MAX;
}

/* ---- the stored message ---- */

static int hex_value(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* CloudEvents' HTTP binding, section 3.1.3.2; a NUL ends the text. */
static void percent_decode(char *text) {
    char *out = text;
    for (const char *at = text; *at != '\0'; at++) {
        const int high = *at == '%' ? hex_value(at[1]) : -1;
        const int low = high >= 0 ? hex_value(at[2]) : -1;
        *out++ = (char)(low >= 0 ? high * 16 + low : *at);
        at += low >= 0 ? 2 : 0;
    }
    *out = '\0';
}

/* ---- the answer ---- */

static struct failure reused(const struct duplicate *duplicate) {
    struct failure failure = {.problem = PROBLEM_ID_REUSED};
    const bool is_key = duplicate->mark.repeat == PUBLICATION_REPEAT_KEY;
    snprintf(failure.detail, sizeof failure.detail,
             "This %s was used before for another message: sequence %llu of stream %s. This one "
             "was not stored: send it with a new %s.",
             is_key ? "Idempotency-Key" : "id", (unsigned long long)duplicate->sequence,
             duplicate->stream, is_key ? "key" : "id");
    return failure;
}

static struct failure away(void) {
    struct failure failure = {.problem = PROBLEM_BUS_UNAVAILABLE};
    snprintf(failure.detail, sizeof failure.detail,
             "A message with this id or key is stored already, and the connection to NATS was lost "
             "before the two could be compared. Nothing was stored now: send it again later.");
    return failure;
}

static struct failure unanswered(const struct duplicate *duplicate, const char *error) {
    struct failure failure = {.problem =
                                  error != NULL ? PROBLEM_BUS_UNAVAILABLE : PROBLEM_BUS_TIMEOUT};
    char advice[RETRY_TEXT_MAX];
    retry_advice(duplicate->gateway, duplicate->protocol, duplicate->mark.repeat, RETRY_SOON,
                 advice);
    snprintf(failure.detail, sizeof failure.detail,
             "A message with this id or key is stored already (sequence %llu of stream %s), but "
             "JetStream did not say whether it is this one (%.100s). Nothing was stored now. %s",
             (unsigned long long)duplicate->sequence, duplicate->stream,
             error != NULL ? error : "no answer came in time", advice);
    return failure;
}

static struct failure overloaded(void) {
    struct failure failure = {.problem = PROBLEM_OVERLOADED};
    snprintf(failure.detail, sizeof failure.detail,
             "A message with this id or key is stored already, and the two cannot be compared "
             "at present. Nothing was stored now: send it again later.");
    return failure;
}

/* `failure`: the one of a message that was published once. The stored message is most likely this
 * one itself if it was published again, since no ack came. */
static struct failure uncompared(const struct gateway *gateway,
                                 const struct parley_protocol *protocol,
                                 enum publication_repeat repeat, bool is_again,
                                 struct failure failure) {
    char advice[RETRY_TEXT_MAX];
    if (!is_again) {
        return failure;
    }
    retry_advice(gateway, protocol, repeat, RETRY_SOON, advice);
    failure = (struct failure){.problem = PROBLEM_BUS_TIMEOUT};
    snprintf(failure.detail, sizeof failure.detail,
             "A message with this id or key is stored, most likely this one: it was published "
             "again, since NATS was away. JetStream did not confirm it. %s",
             advice);
    return failure;
}

/* ---- its life ---- */

static struct duplicate_line *line_of(struct gateway *gateway) {
    struct duplicate_line *line = &gateway->duplicates.line;
    if (line->tqh_last == NULL) {
        TAILQ_INIT(line);
    }
    return line;
}

static void end(struct duplicate *duplicate, const struct duplicate_answer *answer) {
    duplicate->done(duplicate->context, answer);
    free(duplicate);
}

static void end_failed(struct duplicate *duplicate, struct failure failure) {
    const struct duplicate_answer answer = {
        .verdict = DUPLICATE_UNKNOWN,
        .stream = duplicate->stream,
        .sequence = duplicate->sequence,
        .failure = uncompared(duplicate->gateway, duplicate->protocol, duplicate->mark.repeat,
                              duplicate->is_again, failure)};
    end(duplicate, &answer);
}

static void end_other(struct duplicate *duplicate, const struct jetstream_held *held) {
    const struct duplicate_answer answer = {.verdict = DUPLICATE_OTHER,
                                            .stream = duplicate->stream,
                                            .sequence = duplicate->sequence,
                                            .subject = held->subject,
                                            .payload = held->payload,
                                            .headers = held->headers,
                                            .failure = reused(duplicate)};
    end(duplicate, &answer);
}

static void end_same(struct duplicate *duplicate, const struct jetstream_held *held) {
    char id[HEADER_VALUE_MAX + 1];
    const bool has_id = held_header(held->headers, "ce-id", id, sizeof id);
    if (has_id) {
        percent_decode(id);
    }
    const struct duplicate_answer answer = {.verdict = DUPLICATE_SAME,
                                            .stream = duplicate->stream,
                                            .sequence = duplicate->sequence,
                                            .is_again = duplicate->is_again,
                                            .subject = held->subject,
                                            .payload = held->payload,
                                            .headers = held->headers,
                                            .id = has_id ? id : NULL};
    end(duplicate, &answer);
}

/* Retention may have removed it within the window: then the message sent is all that is known of
 * it. */
static void decide(struct duplicate *duplicate, const struct jetstream_held *held) {
    char digest[HEADER_VALUE_MAX + 1];
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        end_failed(duplicate, jetstream_is_ready(duplicate->gateway->jetstream)
                                  ? unanswered(duplicate, held->error)
                                  : away());
    } else if (duplicate->mark.digest[0] != '\0' &&
               held_header(held->headers, PUBLICATION_DIGEST_HEADER, digest, sizeof digest) &&
               strcmp(digest, duplicate->mark.digest) != 0) {
        end_other(duplicate, held);
    } else {
        end_same(duplicate, held);
    }
}

static void on_held(void *context, const struct jetstream_held *held);

static bool ask(struct duplicate *duplicate) {
    struct gateway *gateway = duplicate->gateway;
    duplicate->request = jetstream_held_ask(gateway->jetstream, duplicate->stream,
                                            duplicate->sequence, on_held, duplicate);
    gateway->duplicates.asked_count += duplicate->request != NULL ? 1 : 0;
    return duplicate->request != NULL;
}

static void fail_line(struct gateway *gateway) {
    struct duplicate *first;
    while ((first = TAILQ_FIRST(line_of(gateway))) != NULL) {
        TAILQ_REMOVE(line_of(gateway), first, link);
        end_failed(first,
                   jetstream_is_ready(gateway->jetstream) ? unanswered(first, NULL) : away());
    }
}

/* A question that does not fit now is sent when the next answer comes; if none will, it has failed.
 */
static void ask_on(struct gateway *gateway) {
    struct duplicates *duplicates = &gateway->duplicates;
    struct duplicate *first;
    while ((first = TAILQ_FIRST(line_of(gateway))) != NULL &&
           duplicates->asked_count < asked_count_max(gateway)) {
        if (!ask(first)) {
            if (duplicates->asked_count == 0) {
                fail_line(gateway);
            }
            return;
        }
        TAILQ_REMOVE(line_of(gateway), first, link);
    }
}

static void on_held(void *context, const struct jetstream_held *held) {
    struct duplicate *duplicate = context;
    struct gateway *gateway = duplicate->gateway;
    const bool is_unanswered = held->found == JETSTREAM_HELD_UNKNOWN && held->error == NULL;
    duplicate->request = NULL;
    gateway->duplicates.asked_count--;
    decide(duplicate, held);
    if (is_unanswered) {
        fail_line(gateway);
    }
    ask_on(gateway);
}

static void on_pump(struct reactor_timer *timer) {
    ask_on(OWNER_OF(timer, struct gateway, duplicates.pump));
}

static struct duplicate *cannot_begin(const struct request_options *options,
                                      const struct publication_mark *mark,
                                      const struct jetstream_ack *ack,
                                      struct failure *out_failure) {
    const struct gateway *gateway = options->gateway;
    const struct failure failure = jetstream_is_ready(gateway->jetstream) ? overloaded() : away();
    *out_failure = uncompared(gateway, options->protocol, mark->repeat, ack->is_again, failure);
    return NULL;
}

struct duplicate *duplicate_begin(const struct request_options *options,
                                  const struct publication_mark *mark,
                                  const struct jetstream_ack *ack, duplicate_fn *done,
                                  void *context, struct failure *out_failure) {
    struct gateway *gateway = options->gateway;
    if (!jetstream_is_ready(gateway->jetstream)) {
        return cannot_begin(options, mark, ack, out_failure);
    }
    const size_t stream_size = strlen(ack->stream) + 1;
    struct duplicate *duplicate = malloc(sizeof *duplicate + stream_size);
    if (duplicate == NULL) {
        return cannot_begin(options, mark, ack, out_failure);
    }
    *duplicate = (struct duplicate){.gateway = gateway,
                                    .protocol = options->protocol,
                                    .done = done,
                                    .context = context,
                                    .mark = *mark,
                                    .sequence = ack->sequence,
                                    .is_again = ack->is_again};
    memcpy(duplicate->stream, ack->stream, stream_size);
    const bool is_next =
        TAILQ_EMPTY(line_of(gateway)) && gateway->duplicates.asked_count < asked_count_max(gateway);
    if (is_next && ask(duplicate)) {
        return duplicate;
    }
    if (gateway->duplicates.asked_count == 0) {
        free(duplicate);
        return cannot_begin(options, mark, ack, out_failure);
    }
    TAILQ_INSERT_TAIL(line_of(gateway), duplicate, link);
    return duplicate;
}

void duplicate_cancel(struct duplicate *duplicate) {
    if (duplicate == NULL) {
        return;
    }
    struct gateway *gateway = duplicate->gateway;
    if (duplicate->request == NULL) {
        TAILQ_REMOVE(line_of(gateway), duplicate, link);
    } else {
        jetstream_request_cancel(duplicate->request);
        gateway->duplicates.asked_count--;
    }
    free(duplicate);
    /* In a later turn, since the caller may be about to cancel the next one. */
    if (!TAILQ_EMPTY(line_of(gateway)) && !gateway->duplicates.pump.is_armed) {
        gateway->duplicates.pump.fire = on_pump;
        reactor_timer_set(gateway->reactor, &gateway->duplicates.pump, 0);
    }
}
