/* SPDX-License-Identifier: Apache-2.0 */

#include "failure.h"

#include <stdio.h>

#include <parley/objects.h>

#include "jetstream_codes.h"
#include "retry_advice.h"

static struct failure failure(enum problem problem, const char *detail) {
    struct failure failure = {.problem = problem};
    snprintf(failure.detail, sizeof failure.detail, "%s", detail);
    return failure;
}

struct failure failure_of_status(enum parley_status status) {
    return failure(PROBLEM_INTERNAL, parley_status_text(status));
}

/* `trouble` is NULL if none is known. */
static struct failure unavailable(const char *trouble) {
    struct failure failure = {.problem = PROBLEM_BUS_UNAVAILABLE};
    snprintf(failure.detail, sizeof failure.detail,
             "%.400s. Nothing was stored: send it again later.",
             trouble != NULL ? trouble : "NATS cannot take messages now");
    return failure;
}

static struct failure full(const char *bound) {
    struct failure failure = {.problem = PROBLEM_OVERLOADED};
    snprintf(failure.detail, sizeof failure.detail,
             "Too many messages are in progress: %s. Nothing was stored: send it again later.",
             bound);
    return failure;
}

static struct failure too_large(const struct request_options *options) {
    const struct parley_objects *objects = options->protocol->objects;
    struct failure failure = {.problem = PROBLEM_TOO_LARGE};
    const int length =
        snprintf(failure.detail, sizeof failure.detail,
                 "As JSON with its headers the message exceeds the %zu bytes that NATS accepts "
                 "(its max_payload); parley's limit is %zu bytes (--message-max). Send a smaller "
                 "one, or raise max_payload.",
                 jetstream_max_payload_bytes(options->gateway->jetstream),
                 request_message_bytes_max(options));
    if (objects != NULL && length > 0 && (size_t)length < sizeof failure.detail) {
        snprintf(failure.detail + length, sizeof failure.detail - (size_t)length,
                 " A %s may be larger if it is sent alone in its request.",
                 options->protocol->types[objects->type]);
    }
    return failure;
}

struct failure failure_of_refusal(const struct request_options *options,
                                  enum jetstream_publish refused) {
    switch (refused) {
    case JETSTREAM_AWAY:
        return unavailable(jetstream_trouble(options->gateway->jetstream));
    case JETSTREAM_BARRED:
        return unavailable(jetstream_bar(options->gateway->jetstream));
    case JETSTREAM_FULL:
        return full(jetstream_bound(options->gateway->jetstream));
    case JETSTREAM_TOO_LARGE:
        return too_large(options);
    case JETSTREAM_FAILED:
    case JETSTREAM_PUBLISHED:
        break;
    }
    return failure(PROBLEM_INTERNAL, "The message could not be passed to NATS.");
}

static struct failure refused_otherwise(const struct jetstream_ack *ack) {
    struct failure failure = {.problem = PROBLEM_BUS_UNAVAILABLE};
    if (ack->error_code == 0) { /* a permission is missing: it did not get to JetStream */
        return unavailable(ack->error);
    }
    snprintf(failure.detail, sizeof failure.detail,
             "JetStream refused the message: %.300s (%d). Nothing was stored: send it again "
             "later.",
             ack->error != NULL ? ack->error : "it gave no reason", ack->error_code);
    return failure;
}

struct failure failure_of_upload(const struct object_put *put) {
    if (put->end == OBJECT_PUT_FAILED) {
        return failure_of_status(PARLEY_E_MEMORY);
    }
    return unavailable(put->error[0] != '\0' ? put->error : NULL);
}

/* Describes a message that may or may not be stored: the reason, and the advice. */
static struct failure unsure(const struct request_options *options,
                             const struct publication_mark *mark, enum retry_time time,
                             const char *what) {
    struct failure unsure = {.problem = PROBLEM_BUS_TIMEOUT};
    char advice[RETRY_TEXT_MAX];
    retry_advice(options->gateway, options->protocol, mark->repeat, time, advice);
    snprintf(unsure.detail, sizeof unsure.detail, "%.250s %s", what, advice);
    return unsure;
}

/* `bytes_max`: 0: the stream has got that limit since it was looked at. */
static struct failure too_large_for_stream(const struct request_options *options,
                                           size_t bytes_max) {
    struct failure failure = {.problem = PROBLEM_TOO_LARGE};
    char limit[32] = "limit";
    if (bytes_max > 0) {
        snprintf(limit, sizeof limit, "%zu bytes", bytes_max);
    }
    snprintf(failure.detail, sizeof failure.detail,
             "As JSON with its headers the message exceeds the %s of its stream in NATS (its "
             "max_msg_size); parley's limit is %zu bytes (--message-max). Send a smaller one, or "
             "raise max_msg_size.",
             limit, request_message_bytes_max(options));
    return failure;
}

static struct failure refused_by_jetstream(const struct request_options *options,
                                           const struct jetstream_ack *ack) {
    switch (jetstream_reason_of(ack->error_code)) {
    case JETSTREAM_REASON_OVER_PAYLOAD:
        return failure_of_refusal(options, JETSTREAM_TOO_LARGE);
    case JETSTREAM_REASON_OVER_STREAM:
        return too_large_for_stream(options, ack->bytes_max);
    default:
        return refused_otherwise(ack);
    }
}

struct failure failure_of_ack(const struct request_options *options,
                              const struct publication_mark *mark,
                              const struct jetstream_ack *ack) {
    switch (ack->outcome) {
    case JETSTREAM_REFUSED:
        return refused_by_jetstream(options, ack);
    case JETSTREAM_TIMEOUT:
        return unsure(options, mark, RETRY_LATE,
                      ack->error != NULL ? ack->error
                                         : "JetStream did not acknowledge in time. The message may "
                                           "have been stored.");
    case JETSTREAM_LOST:
    case JETSTREAM_STORED:
        break;
    }
    return unsure(options, mark, RETRY_SOON,
                  "The connection to NATS broke before the acknowledgement. The message may have "
                  "been stored.");
}

void failure_write_members(enum problem problem, struct parley_bytes id, const char *stream,
                           uint64_t sequence, struct parley_buffer *out) {
    if (problem == PROBLEM_BUS_TIMEOUT && id.data != NULL) {
        parley_buffer_text(out, ",\"id\":");
        parley_buffer_append(out, id);
    }
    if (problem == PROBLEM_ID_REUSED && stream != NULL) {
        parley_buffer_text(out, ",\"stream\":");
        parley_buffer_json(out, parley_bytes_of(stream));
        parley_buffer_text(out, ",\"seq\":");
        parley_buffer_uint(out, sequence);
    }
}

struct failure failure_overloaded(const struct request_options *options) {
    struct failure overloaded = {.problem = PROBLEM_OVERLOADED};
    snprintf(overloaded.detail, sizeof overloaded.detail,
             "The request bodies in memory have reached the limit of %zu bytes "
             "(--gather-max). Nothing was stored: send it again later, or send smaller messages.",
             options->gateway->budget->max_bytes);
    return overloaded;
}

struct failure failure_ungathered(const struct request_options *options) {
    struct failure failure = {.problem = PROBLEM_TOO_LARGE};
    snprintf(failure.detail, sizeof failure.detail,
             "The message and its JSON do not fit into the %zu bytes that requests may have in "
             "memory together (--gather-max). Send a smaller one, or as JSON on one line, or raise "
             "that limit.",
             options->gateway->budget->max_bytes);
    return failure;
}
