/* SPDX-License-Identifier: Apache-2.0 */

/* Reads what a POST asks for, refuses what cannot be, and gives the body to single.c or bulk.c: an
 * application/json body is many messages when it begins with a bracket. */

#include "sending.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "identity.h"
#include "negotiate.h"

static const char away_detail[] = "NATS is away: nothing was read. Send the body again later.";

/* ---- what the head says ---- */

struct choice {
    const char *name;
    int value;
};

static const struct choice results_choices[] = {
    {"all", RESULTS_ALL}, {"errors", RESULTS_ERRORS}, {"summary", RESULTS_SUMMARY}, {NULL, 0}};
static const struct choice emit_choices[] = {
    {"verdicts", EMIT_VERDICTS}, {"messages", EMIT_MESSAGES}, {"both", EMIT_BOTH}, {NULL, 0}};

static bool choose(const struct choice *choices, const char *value, int *out) {
    for (; choices->name != NULL; choices++) {
        if (strcmp(choices->name, value) == 0) {
            *out = choices->value;
            return true;
        }
    }
    return false;
}

struct query_reading {
    struct sending *sending;
    struct http_request *request;
    bool is_refused;
};

/* One option.  Returns: what it may be, when it cannot be this; NULL when it is fine or unknown. */
static const char *read_option(struct sending *sending, const char *name, const char *value,
                               bool *out_is_known) {
    int chosen = 0;
    *out_is_known = true;
    if (strcmp(name, "results") == 0) {
        const bool is_fine = choose(results_choices, value, &chosen);
        sending->results = (enum sending_results)chosen;
        return is_fine ? NULL : "all, errors or summary";
    }
    if (strcmp(name, "emit") == 0) {
        const bool is_fine = choose(emit_choices, value, &chosen);
        sending->emit = (enum sending_emit)chosen;
        return is_fine ? NULL : "verdicts, messages or both";
    }
    const char *wants = NULL;
    const enum parley_option_result result =
        parley_options_set(&sending->options, name, value, &wants);
    *out_is_known = result != PARLEY_OPTION_UNKNOWN;
    return result == PARLEY_OPTION_INVALID ? wants : NULL;
}

static bool read_query(void *context, const char *name, const char *value) {
    struct query_reading *reading = context;
    bool is_known;
    const char *wants = read_option(reading->sending, name, value, &is_known);
    if (!is_known) {
        problem_respond_format(reading->request, PROBLEM_INVALID_PARAMETER,
                               "There is no query option `%s` here: strict, stamp, results, emit, "
                               "from and domain are known.",
                               name);
    } else if (wants != NULL) {
        problem_respond_format(reading->request, PROBLEM_INVALID_PARAMETER,
                               "The query option `%s` cannot be `%s`: it may be %s.", name, value,
                               wants);
    }
    reading->is_refused = !is_known || wants != NULL;
    return !reading->is_refused;
}

static bool is_visible_ascii(const char *text, size_t length_max) {
    size_t length = 0;
    for (; text[length] != '\0'; length++) {
        if (text[length] <= 0x20 || text[length] >= 0x7F || length == length_max) {
            return false;
        }
    }
    return length > 0;
}

/* Returns: whether the headers can be; if not, the request is answered. */
static bool read_headers(struct sending *sending, struct http_request *request) {
    enum { IDEMPOTENCY_KEY_MAX = 128, TRACEPARENT_MAX = 128 };
    const char *key = http_request_header(request, "Idempotency-Key");
    if (key != NULL && !is_visible_ascii(key, IDEMPOTENCY_KEY_MAX)) {
        problem_respond(request, PROBLEM_INVALID_PARAMETER,
                        "An Idempotency-Key is 1 to 128 characters of visible ASCII.");
        return false;
    }
    const char *traceparent = http_request_header(request, "traceparent");
    const bool is_traced = traceparent != NULL && is_visible_ascii(traceparent, TRACEPARENT_MAX);
    sending->publication = (struct publication_context){
        .idempotency_key = key,
        .traceparent = is_traced ? traceparent : NULL,
        .has_dedupe = sending->gateway->configuration->dedupe_window_ms > 0};
    return true;
}

/* The media types that this protocol reads, for Accept-Post and error texts. */
static void list_media_types(const struct parley_protocol *protocol, char *out, size_t size) {
    size_t length = 0;
    out[0] = '\0';
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        const int written = snprintf(out + length, size - length, "%s%s", length > 0 ? ", " : "",
                                     (*codec)->media_types[0]);
        length += written > 0 && (size_t)written < size - length ? (size_t)written : 0;
    }
}

static bool read_media_type(struct sending *sending, struct http_request *request) {
    const char *encoding = http_request_header(request, "Content-Encoding");
    if (encoding != NULL && strcasecmp(encoding, "identity") != 0) {
        http_header(request, "Accept-Encoding", "identity");
        problem_respond_format(request, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                               "The body is encoded as `%s`; send it as it is.", encoding);
        return false;
    }
    const char *type = http_request_header(request, "Content-Type");
    sending->codec =
        parley_codec_find(sending->protocol, parley_bytes_of(type != NULL ? type : ""));
    if (sending->codec != NULL) {
        return true;
    }
    char known[256];
    list_media_types(sending->protocol, known, sizeof known);
    http_header(request, "Accept-Post", known);
    problem_respond_format(request, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                           "%s%.100s%s is not a media type of %s; set Content-Type to one of: %s.",
                           type != NULL ? "`" : "", type != NULL ? type : "A missing Content-Type",
                           type != NULL ? "`" : "", sending->protocol->name, known);
    return false;
}

static bool is_acceptable(const struct sending *sending, struct http_request *request) {
    static const char *const offers[] = {"application/json", "application/x-ndjson", NULL};
    (void)sending;
    if (negotiate(http_request_header(request, "Accept"), offers) >= 0) {
        return true;
    }
    problem_respond(request, PROBLEM_NOT_ACCEPTABLE,
                    "Answers here are application/json for one message and application/x-ndjson "
                    "for many; accept one of them.");
    return false;
}

static bool read_head(struct sending *sending, struct http_request *request) {
    struct query_reading reading = {.sending = sending, .request = request};
    sending->options.message_bytes_max = (size_t)sending->gateway->configuration->message_max_bytes;
    if (!read_media_type(sending, request) || !is_acceptable(sending, request)) {
        return false;
    }
    http_request_each_query(request, read_query, &reading);
    return !reading.is_refused && read_headers(sending, request);
}

size_t sending_message_bytes_max(const struct sending *sending) {
    return sending->options.message_bytes_max != 0 ? sending->options.message_bytes_max
                                                   : sending->protocol->message_bytes_max;
}

enum parley_status sending_check(struct sending *sending, struct parley_bytes bytes,
                                 struct parley_position origin) {
    if (sending->options.stamp) {
        identity_uuid(sending->fresh_id);
        identity_now(sending->now);
        sending->options.fresh_id = sending->fresh_id;
        sending->options.now = sending->now;
    }
    return parley_message_check(gateway_message(sending->gateway, sending->protocol), bytes,
                                sending->codec, &sending->options, origin);
}

/* ---- one or many ---- */

/* A request whose body is being looked at: it becomes one of the two. */
struct intake {
    struct sending sending;
    struct single *single;
    struct bulk *bulk;
    bool is_begun; /* a byte that is no blank has come */
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

/* The body is an array: blanks in front of it went to the single, which is not wanted any more. */
static size_t begin_array(struct intake *intake, struct http_request *request,
                          struct parley_bytes bytes) {
    if (!intake->sending.is_validating && !jetstream_is_ready(intake->sending.gateway->jetstream)) {
        problem_respond(request, PROBLEM_BUS_UNAVAILABLE, away_detail);
        return bytes.length;
    }
    intake->bulk = bulk_create(&intake->sending, request);
    if (intake->bulk == NULL) {
        no_memory(request);
        return bytes.length;
    }
    bulk_body(intake->bulk, single_text(intake->single));
    return bulk_body(intake->bulk, bytes);
}

static size_t intake_body(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct intake *intake = state;
    char first = ' ';
    if (intake->bulk != NULL) {
        return bulk_body(intake->bulk, bytes);
    }
    if (!intake->is_begun && !is_blank(bytes, &first)) {
        intake->is_begun = true;
        if (first == '[') {
            return begin_array(intake, request, bytes);
        }
    }
    single_body(intake->single, bytes);
    return bytes.length;
}

static void intake_end(void *state, struct http_request *request) {
    struct intake *intake = state;
    (void)request;
    if (intake->bulk != NULL) {
        bulk_end(intake->bulk);
        return;
    }
    single_end(intake->single);
}

static void intake_closed(void *state, bool is_complete) {
    struct intake *intake = state;
    (void)is_complete;
    if (intake->bulk != NULL) {
        bulk_closed(intake->bulk);
    }
    if (intake->single != NULL) {
        single_closed(intake->single);
    }
    free(intake);
}

ssize_t sending_read(void *state, char *buffer, size_t size) {
    const struct intake *intake = state;
    return bulk_read(intake->bulk, buffer, size);
}

void sending_serve(struct gateway *gateway, struct http_request *request,
                   const struct parley_protocol *protocol, bool is_validating) {
    static const struct http_handler handler = {
        .body = intake_body, .end = intake_end, .closed = intake_closed};
    struct sending sending = {
        .gateway = gateway, .protocol = protocol, .is_validating = is_validating};
    if (!read_head(&sending, request)) {
        return;
    }
    const bool is_many = sending.codec->framing == PARLEY_FRAMING_LINES;
    if (is_many && !is_validating && !jetstream_is_ready(gateway->jetstream)) {
        problem_respond(request, PROBLEM_BUS_UNAVAILABLE, away_detail);
        return;
    }
    struct intake *intake = calloc(1, sizeof *intake);
    if (intake == NULL) {
        no_memory(request);
        return;
    }
    intake->sending = sending;
    if (is_many) {
        intake->bulk = bulk_create(&intake->sending, request);
    } else {
        intake->single = single_create(&intake->sending, request);
    }
    if (intake->bulk == NULL && intake->single == NULL) {
        free(intake);
        no_memory(request);
        return;
    }
    http_request_serve(request, &handler, intake);
}

/* ---- failures ---- */

static struct sending_failure failure(enum problem problem, const char *detail) {
    struct sending_failure failure = {.problem = problem};
    snprintf(failure.detail, sizeof failure.detail, "%s", detail);
    return failure;
}

struct sending_failure sending_refused(const struct sending *sending,
                                       enum jetstream_publish refused) {
    struct sending_failure too_large = {.problem = PROBLEM_TOO_LARGE};
    switch (refused) {
    case JETSTREAM_AWAY:
        return failure(PROBLEM_BUS_UNAVAILABLE,
                       "NATS is away. Nothing was stored: send it again later.");
    case JETSTREAM_FULL:
        return failure(PROBLEM_OVERLOADED, "Too many messages await their acknowledgement. "
                                           "Nothing was stored: send it again.");
    case JETSTREAM_TOO_LARGE:
        snprintf(too_large.detail, sizeof too_large.detail,
                 "With its headers the message is over the %zu bytes that NATS takes "
                 "(max_payload).",
                 jetstream_max_payload_bytes(sending->gateway->jetstream));
        return too_large;
    case JETSTREAM_FAILED:
    case JETSTREAM_PUBLISHED:
        break;
    }
    return failure(PROBLEM_INTERNAL, "The message could not be handed to NATS.");
}

struct sending_failure sending_failed(const struct jetstream_ack *ack) {
    enum { E_MESSAGE_SIZE = 10054 }; /* over the stream's own max_msg_size: in vain for ever */
    switch (ack->outcome) {
    case JETSTREAM_REFUSED:
        if (ack->error_code == E_MESSAGE_SIZE) {
            return failure(PROBLEM_TOO_LARGE,
                           "The message is over what its stream in NATS takes (max_msg_size).");
        }
        return failure(PROBLEM_BUS_UNAVAILABLE,
                       ack->error != NULL ? ack->error : "JetStream refused the message.");
    case JETSTREAM_TIMEOUT:
        return failure(PROBLEM_BUS_TIMEOUT,
                       "JetStream did not acknowledge in time. The message may have been stored: "
                       "send it again with the same id, and nothing is stored twice.");
    case JETSTREAM_LOST:
    case JETSTREAM_STORED:
        break;
    }
    return failure(PROBLEM_BUS_TIMEOUT,
                   "The connection to NATS broke before the acknowledgement. The message may have "
                   "been stored: send it again with the same id, and nothing is stored twice.");
}
