/* SPDX-License-Identifier: Apache-2.0 */

/* Gives the body of a POST to single.c, batch.c or conversion.c: an application/json body is many
 * messages when it begins with a bracket. */

#include "ingest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encodings.h"
#include "clock_and_ids.h"
#include "repetition.h"

/* ---- what outlives the request ---- */

static bool keep_text(const char **text) {
    char *copy = *text != NULL ? strdup(*text) : NULL;
    const bool is_kept = copy != NULL || *text == NULL;
    *text = copy;
    return is_kept;
}

bool request_options_keep(struct request_options *out, const struct request_options *options) {
    *out = *options;
    const bool has_from = keep_text(&out->check.from);
    const bool has_agent = keep_text(&out->check.agent);
    const bool has_domain = keep_text(&out->check.domain);
    const bool has_key = keep_text(&out->publication.idempotency_key);
    const bool has_trace = keep_text(&out->publication.traceparent);
    if (has_from && has_agent && has_domain && has_key && has_trace) {
        return true;
    }
    request_options_release(out);
    return false;
}

void request_options_release(struct request_options *kept) {
    const char *const texts[] = {kept->check.from, kept->check.agent, kept->check.domain,
                                 kept->publication.idempotency_key, kept->publication.traceparent};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        free((char *)(uintptr_t)texts[i]);
    }
}

/* ---- verdicts ---- */

size_t request_message_bytes_max(const struct request_options *options) {
    return options->check.message_bytes_max != 0 ? options->check.message_bytes_max
                                                 : options->protocol->message_bytes_max;
}

/* Sets what only the moment knows. */
static const struct parley_options *options_now(struct request_options *options) {
    options->check.now_seconds = clock_now_seconds();
    if (options->check.stamp) {
        id_new(options->fresh_id);
        clock_now_text(options->now);
        options->check.fresh_id = options->fresh_id;
        options->check.now = options->now;
    }
    return &options->check;
}

enum parley_status check_message_as(struct request_options *options, struct parley_message *message,
                                    struct parley_bytes bytes, struct parley_position origin) {
    return parley_message_check(message, bytes, options->codec, options_now(options), origin);
}

enum parley_status check_message(struct request_options *options, struct parley_bytes bytes,
                                 struct parley_position origin) {
    return check_message_as(options, gateway_message(options->gateway, options->protocol), bytes,
                            origin);
}

enum parley_status check_slice(struct request_options *options, enum parley_split split,
                               const struct parley_slice *slice, struct parley_splitter *splitter) {
    return parley_splitter_check(splitter, split, slice,
                                 gateway_message(options->gateway, options->protocol),
                                 options->codec, options_now(options));
}

void check_describe(const struct parley_message *message, struct parley_buffer *out) {
    const struct parley_finding *first = &message->findings.items[0];
    parley_buffer_text(out, first->rule->id);
    if (first->at.line != 0) {
        parley_buffer_text(out, " at ");
        parley_position_describe(first->at, out);
    }
    parley_buffer_format(out, ": %s.%s", first->message,
                         message->findings.count > 1 ? " There is more in `violations`." : "");
}

/* ---- one or many ---- */

/* A request whose body is being looked at: it becomes one of them. */
struct intake {
    struct request_options options;
    struct single *single;
    struct batch *batch;
    struct conversion *conversion;
    bool is_told; /* whether it is one message or many */
};

static bool is_blank(struct parley_bytes bytes, char *out_first) {
    for (size_t i = 0; i < bytes.length; i++) {
        *out_first = bytes.data[i];
        if (*out_first != ' ' && *out_first != '\t' && *out_first != '\r' && *out_first != '\n') {
            return false;
        }
    }
    return true;
}

static void no_memory(struct http_request *request) {
    problem_respond(request, PROBLEM_INTERNAL, "There is no memory for this request.");
}

static void refuse_many(const struct request_options *options, struct http_request *request) {
    char others[ENCODINGS_TEXT_MAX];
    encodings_list(options->protocol, true, others);
    problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                           "The query option `to` cannot be `%s` for many messages, since it holds "
                           "one: convert to %s, or send one message at a time.",
                           options->to->name, others);
}

/* The body holds many messages, or one that is answered as a batch (PARLEY_FRAMING_WHOLE).
 * Returns: whether they can be taken; if not, the request is answered. */
static bool begin_many(struct intake *intake, enum parley_framing framing,
                       struct http_request *request) {
    const struct request_options *options = &intake->options;
    if (options->task == INGEST_CONVERT && !encodings_holds_many(options->to)) {
        refuse_many(options, request);
        return false;
    }
    if (options->task == INGEST_CONVERT && !request_accepts_converted(options, request, true)) {
        return false;
    }
    if (options->task == INGEST_FORWARD && !jetstream_is_ready(options->gateway->jetstream)) {
        const char *trouble = jetstream_trouble(options->gateway->jetstream);
        problem_respond_format(request, PROBLEM_BUS_UNAVAILABLE,
                               "%s. Nothing was read: send the body again later.",
                               trouble != NULL ? trouble : "NATS cannot take messages now");
        return false;
    }
    if (options->task == INGEST_CONVERT) {
        intake->conversion = conversion_create(options, request);
    } else {
        intake->batch = batch_create(options, framing, request);
    }
    if (intake->conversion == NULL && intake->batch == NULL) {
        no_memory(request);
        return false;
    }
    return true;
}

static size_t many_body(struct intake *intake, struct parley_bytes bytes) {
    if (intake->conversion != NULL) {
        return conversion_body(intake->conversion, bytes);
    }
    return batch_body(intake->batch, bytes);
}

/* The body is not for the single, to which the blanks before `bytes` went. */
static size_t pass_on(struct intake *intake, enum parley_framing framing,
                      struct http_request *request, struct parley_bytes bytes) {
    if (!begin_many(intake, framing, request)) {
        return bytes.length;
    }
    many_body(intake, single_text(intake->single));
    return many_body(intake, bytes);
}

static bool is_many(const struct intake *intake) {
    return intake->conversion != NULL || intake->batch != NULL;
}

static size_t intake_body(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct intake *intake = state;
    char first = ' ';
    if (is_many(intake)) {
        return many_body(intake, bytes);
    }
    if (!intake->is_told && !is_blank(bytes, &first)) {
        intake->is_told = true;
        if (first == '[') {
            return pass_on(intake, PARLEY_FRAMING_JSON, request, bytes);
        }
        if (intake->options.wants_lines) {
            return pass_on(intake, PARLEY_FRAMING_WHOLE, request, bytes);
        }
    }
    single_body(intake->single, bytes);
    return bytes.length;
}

static void intake_end(void *state, struct http_request *request) {
    struct intake *intake = state;
    if (!intake->is_told && intake->options.wants_lines) { /* nothing but blanks */
        intake->is_told = true;
        pass_on(intake, PARLEY_FRAMING_WHOLE, request, PARLEY_BYTES(""));
        if (!is_many(intake)) {
            return; /* it is answered */
        }
    }
    if (intake->conversion != NULL) {
        conversion_end(intake->conversion);
    } else if (intake->batch != NULL) {
        batch_end(intake->batch);
    } else {
        single_end(intake->single);
    }
}

static void intake_closed(void *state, bool is_complete) {
    struct intake *intake = state;
    (void)is_complete;
    if (intake->conversion != NULL) {
        conversion_closed(intake->conversion);
    }
    if (intake->batch != NULL) {
        batch_closed(intake->batch);
    }
    if (intake->single != NULL) {
        single_closed(intake->single);
    }
    free(intake);
}

ssize_t ingest_read(void *state, char *buffer, size_t size) {
    const struct intake *intake = state;
    return intake->conversion != NULL ? conversion_read(intake->conversion, buffer, size)
                                      : batch_read(intake->batch, buffer, size);
}

/* Returns: whether there is something to take the body; if not, the request is answered. */
static bool begin(struct intake *intake, struct http_request *request) {
    const enum parley_framing framing = intake->options.codec->framing;
    if (framing == PARLEY_FRAMING_LINES || framing == PARLEY_FRAMING_FRAMES) {
        intake->is_told = true;
        return begin_many(intake, framing, request);
    }
    intake->is_told = framing == PARLEY_FRAMING_WHOLE;
    if (intake->is_told && intake->options.wants_lines) {
        return begin_many(intake, framing, request);
    }
    intake->single = single_create(&intake->options, request);
    if (intake->single == NULL) {
        no_memory(request);
    }
    return intake->single != NULL;
}

void ingest_serve(struct gateway *gateway, struct http_request *request,
                  const struct parley_protocol *protocol, enum ingest_task task) {
    static const struct http_handler handler = {
        .body = intake_body, .end = intake_end, .closed = intake_closed};
    struct request_options options = {.gateway = gateway, .protocol = protocol, .task = task};
    if (!request_options_read(&options, request)) {
        return;
    }
    struct intake *intake = malloc(sizeof *intake); /* calloc passes by malloc's cache */
    if (intake == NULL) {
        no_memory(request);
        return;
    }
    *intake = (struct intake){.options = options};
    if (begin(intake, request)) {
        http_request_serve(request, &handler, intake);
    } else {
        free(intake);
    }
}

/* ---- failures ---- */

static struct failure failure(enum problem problem, const char *detail) {
    struct failure failure = {.problem = problem};
    snprintf(failure.detail, sizeof failure.detail, "%s", detail);
    return failure;
}

enum parley_status ingest_prepare(const struct request_options *options,
                                  struct parley_message *message, size_t number,
                                  struct publication *out) {
    struct gateway *gateway = options->gateway;
    gateway->payload.limit_bytes = jetstream_max_payload_bytes(gateway->jetstream);
    return publication_prepare(message, &options->publication, number, &gateway->payload, out);
}

/* What it may take at most, without encoding it: JSON is published as it came, but for blanks, and
 * of other encodings a byte becomes six at worst. */
static size_t published_bytes_most(const struct request_options *options,
                                   const struct parley_message *message) {
    enum { HEADERS_AND_STAMP_BYTES_MOST = 8192, TEXT_BYTES_A_BYTE = 6 };
    const bool is_json =
        options->codec == &parley_codec_json || options->codec == &parley_codec_ndjson;
    return message->sent.length * (is_json ? 1 : TEXT_BYTES_A_BYTE) + HEADERS_AND_STAMP_BYTES_MOST;
}

enum parley_status check_warn_of_size(const struct request_options *options,
                                      struct parley_message *message, size_t number,
                                      size_t nats_bytes_max, struct parley_buffer *scratch) {
    struct publication publication;
    char text[256];
    if (nats_bytes_max == 0 || published_bytes_most(options, message) <= nats_bytes_max) {
        return PARLEY_OK;
    }
    scratch->limit_bytes = nats_bytes_max;
    const enum parley_status status =
        publication_prepare(message, &options->publication, number, scratch, &publication);
    scratch->limit_bytes = 0;
    if (status != PARLEY_OK && status != PARLEY_E_LIMIT) {
        return status;
    }
    const size_t bytes =
        scratch->length + bus_headers_bytes(publication.headers, publication.header_count);
    if (status == PARLEY_OK && bytes <= nats_bytes_max) {
        return PARLEY_OK;
    }
    snprintf(text, sizeof text,
             "as JSON with its headers this message is over the %zu bytes that NATS takes (its "
             "max_payload), so that it could not be forwarded; the limit of a message is %zu bytes "
             "(--message-max)",
             nats_bytes_max, request_message_bytes_max(options));
    return parley_message_warn(message, PARLEY_GW_TRANSPORT, parley_bytes_of(text));
}

/* `trouble` NULL: nothing is known. */
static struct failure unavailable(const char *trouble) {
    struct failure failure = {.problem = PROBLEM_BUS_UNAVAILABLE};
    snprintf(failure.detail, sizeof failure.detail,
             "%.400s. Nothing was stored: send it again later.",
             trouble != NULL ? trouble : "NATS cannot take messages now");
    return failure;
}

struct failure failure_of_refusal(const struct request_options *options,
                                  enum jetstream_publish refused) {
    struct failure too_large = {.problem = PROBLEM_TOO_LARGE};
    switch (refused) {
    case JETSTREAM_AWAY:
        return unavailable(jetstream_trouble(options->gateway->jetstream));
    case JETSTREAM_BARRED:
        return unavailable(jetstream_bar(options->gateway->jetstream));
    case JETSTREAM_FULL:
        return failure(PROBLEM_OVERLOADED, "Too many messages await their acknowledgement. "
                                           "Nothing was stored: send it again.");
    case JETSTREAM_TOO_LARGE:
        snprintf(too_large.detail, sizeof too_large.detail,
                 "As JSON with its headers the message is over the %zu bytes that NATS takes "
                 "(its max_payload); the limit of a message is %zu bytes (--message-max).",
                 jetstream_max_payload_bytes(options->gateway->jetstream),
                 request_message_bytes_max(options));
        return too_large;
    case JETSTREAM_FAILED:
    case JETSTREAM_PUBLISHED:
        break;
    }
    return failure(PROBLEM_INTERNAL, "The message could not be handed to NATS.");
}

static struct failure refused_by_jetstream(const struct jetstream_ack *ack) {
    struct failure failure = {.problem = PROBLEM_BUS_UNAVAILABLE};
    if (ack->error_code == 0) { /* a permission is missing: it did not get to JetStream */
        return unavailable(ack->error);
    }
    snprintf(failure.detail, sizeof failure.detail,
             "JetStream did not take the message: %.300s (%d). Nothing was stored: send it again "
             "later.",
             ack->error != NULL ? ack->error : "it gave no reason", ack->error_code);
    return failure;
}

/* It may have been stored or not: what happened, and what to do about it. */
static struct failure unsure(const struct request_options *options,
                             const struct publication_mark *mark, enum repetition_time time,
                             const char *what) {
    struct failure unsure = {.problem = PROBLEM_BUS_TIMEOUT};
    char advice[REPETITION_TEXT_MAX];
    repetition_advice(options->gateway, options->protocol, mark->repeat, time, advice);
    snprintf(unsure.detail, sizeof unsure.detail, "%.250s %s", what, advice);
    return unsure;
}

struct failure failure_of_ack(const struct request_options *options,
                              const struct publication_mark *mark,
                              const struct jetstream_ack *ack) {
    enum { E_MESSAGE_SIZE = 10054 }; /* over the stream's own max_msg_size: in vain for ever */
    switch (ack->outcome) {
    case JETSTREAM_REFUSED:
        if (ack->error_code == E_MESSAGE_SIZE) {
            return failure(PROBLEM_TOO_LARGE,
                           "The message is over what its stream in NATS takes (max_msg_size).");
        }
        return refused_by_jetstream(ack);
    case JETSTREAM_TIMEOUT:
        return unsure(options, mark, REPETITION_LATE,
                      ack->error != NULL ? ack->error
                                         : "JetStream did not acknowledge in time. The message may "
                                           "have been stored.");
    case JETSTREAM_LOST:
    case JETSTREAM_STORED:
        break;
    }
    return unsure(options, mark, REPETITION_SOON,
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
             "The bodies that are being received hold %zu bytes, which is all that they may "
             "(--gather-max). Nothing was stored: send it again, or in smaller messages.",
             options->gateway->budget->max_bytes);
    return overloaded;
}
