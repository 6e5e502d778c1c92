/* SPDX-License-Identifier: Apache-2.0 */

/* Checks, in this order: media type, query, Accept, and the other headers. */

#include "request_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include <parley/dialect.h>

#include "channel.h"
#include "encodings.h"
#include "media_type.h"
#include "negotiate.h"
#include "problem.h"
#include "query_problem.h"
#include "auth_error.h"
#include "trace.h"

/* ---- the query ---- */

struct choice {
    const char *name;
    int value;
};

static const struct choice results_choices[] = {
    {"all", RESULTS_ALL}, {"errors", RESULTS_ERRORS}, {"summary", RESULTS_SUMMARY}, {NULL, 0}};
static const struct choice ack_choices[] = {{"true", true}, {"false", false}, {NULL, 0}};
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
    struct request_options *options;
    struct http_request *request;
    struct query_names seen;
    bool is_refused;
    char encodings[ENCODINGS_TEXT_MAX]; /* only for INGEST_CONVERT */
    char dialects[ENCODINGS_TEXT_MAX];  /* once one that there is not was asked for */
};

static void list_dialects(const struct parley_protocol *protocol, char out[ENCODINGS_TEXT_MAX]) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_dialects_describe(protocol, &text);
    snprintf(out, ENCODINGS_TEXT_MAX, "%.*s", (int)text.length, text.length > 0 ? text.data : "");
    parley_buffer_finish(&text);
}

/* One option.  Returns: the values it takes, when `value` is not one; NULL when it is valid or the
 * option is unknown. */
static const char *read_option(struct query_reading *reading, const char *name, const char *value,
                               bool *out_is_known) {
    struct request_options *options = reading->options;
    const bool is_converting = options->task == INGEST_CONVERT;
    int chosen = 0;
    *out_is_known = true;
    if (is_converting && strcmp(name, "to") == 0) {
        options->to = encodings_find(options->protocol, value);
        return options->to != NULL ? NULL : reading->encodings;
    }
    if (!is_converting && strcmp(name, "results") == 0) {
        const bool is_fine = choose(results_choices, value, &chosen);
        options->results = (enum ingest_results)chosen;
        return is_fine ? NULL : request_options_help(options->protocol, name)->wants;
    }
    if (!is_converting && strcmp(name, "emit") == 0) {
        const bool is_fine = choose(emit_choices, value, &chosen);
        options->emit = (enum ingest_emit)chosen;
        return is_fine ? NULL : request_options_help(options->protocol, name)->wants;
    }
    if (!is_converting && strcmp(name, "ack") == 0) {
        const bool is_fine = choose(ack_choices, value, &chosen);
        options->wants_ack = chosen != 0 && request_may_be_acknowledged(options->protocol);
        return is_fine ? NULL : request_options_help(options->protocol, name)->wants;
    }
    if (options->task == INGEST_FORWARD && strcmp(name, "fix") == 0) {
        *out_is_known = false; /* what an agent says is forwarded as it says it */
        return NULL;
    }
    const char *wants = NULL;
    const enum parley_option_result result =
        parley_options_set(&options->check, options->protocol, name, value, &wants);
    *out_is_known = result != PARLEY_OPTION_UNKNOWN;
    if (result == PARLEY_OPTION_INVALID && strcmp(name, "dialect") == 0) {
        list_dialects(options->protocol, reading->dialects);
        return reading->dialects;
    }
    return result == PARLEY_OPTION_INVALID ? wants : NULL;
}

static bool take_query(void *context, const char *name, const char *value) {
    struct query_reading *reading = context;
    bool is_known;
    if (!query_option_is_sound(reading->request, &reading->seen, name, value)) {
        reading->is_refused = true;
        return false;
    }
    const char *wants = read_option(reading, name, value, &is_known);
    if (!is_known) {
        const char *names[REQUEST_NAMES_MAX];
        request_options_names(reading->options->task, names);
        query_problem_unknown(reading->request, name, names);
    } else if (wants != NULL) {
        query_problem_value(reading->request, name, value, wants);
    }
    reading->is_refused = !is_known || wants != NULL;
    return !reading->is_refused;
}

/* Returns: whether the query is valid; if not, the request is answered. */
static bool read_query(struct request_options *options, struct http_request *request) {
    struct query_reading reading;
    reading.options = options;
    reading.request = request;
    reading.seen.count = 0;
    reading.is_refused = false;
    if (options->task == INGEST_CONVERT) {
        encodings_list(options->protocol, false, reading.encodings);
    }
    http_request_each_query(request, take_query, &reading);
    if (!reading.is_refused && options->task == INGEST_CONVERT && options->to == NULL) {
        problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                               "The query option `to` is missing: set it to the encoding to "
                               "convert to, which may be %s.",
                               reading.encodings);
        return false;
    }
    return !reading.is_refused;
}

/* An acknowledgement has a receiver, and its text goes to the requester. Returns: whether the
 * request may ask for it; if not, it is answered. */
static bool can_acknowledge(const struct request_options *options, struct http_request *request) {
    const struct principal *principal = guard_principal(request);
    char scope[64];
    if (!options->wants_ack) {
        return true;
    }
    if (options->check.agent == NULL) {
        problem_respond(request, PROBLEM_INVALID_PARAMETER,
                        "The query option `ack` needs `agent`: name the agent whose message it is, "
                        "so that the acknowledgement can be addressed to it.");
        return false;
    }
    if (!scopes_may_read(&principal->scopes, options->protocol)) {
        snprintf(scope, sizeof scope, "read:%s", options->protocol->name);
        auth_error_of_scope(request, principal, scope, "");
        return false;
    }
    return true;
}

/* ---- the headers ---- */

static bool is_visible_ascii(const char *text, size_t length_max) {
    size_t length = 0;
    for (; text[length] != '\0'; length++) {
        if (text[length] <= 0x20 || text[length] >= 0x7F || length == length_max) {
            return false;
        }
    }
    return length > 0;
}

/* Begins a trace, and names it in the answer. Returns: the traceparent of messages published by the
 * request; NULL: no memory. */
static const char *start_trace(struct http_request *request) {
    struct trace trace;
    char traceparent[TRACE_PARENT_LENGTH + 1];
    trace_start(&trace);
    trace_write(&trace, traceparent);
    http_request_remark(request, HTTP_REMARK_TRACE, parley_bytes_of(traceparent));
    http_header(request, TRACE_RESPONSE_HEADER, traceparent);
    return http_request_remarked(request, HTTP_REMARK_TRACE);
}

/* The messages that a request publishes belong to its trace. An invalid header is ignored (W3C
 * Trace Context, section 4.2). A trace that is recorded has a line in the log. */
static void read_trace(struct request_options *options, struct http_request *request,
                       const char *header) {
    struct publication_context *publication = &options->publication;
    struct trace trace;
    if (trace_read(header, &trace)) {
        const char *state = http_request_header(request, "tracestate");
        publication->traceparent = header;
        publication->tracestate = trace_state_is_valid(state) ? state : NULL;
        if (trace_is_sampled(&trace)) {
            http_request_remark(request, HTTP_REMARK_TRACE, parley_bytes_of(header));
        }
    } else if (options->gateway->configuration->trace) {
        publication->traceparent = start_trace(request);
    }
}

/* Returns: whether the headers are valid; if not, the request is answered. */
static bool read_headers(struct request_options *options, struct http_request *request) {
    enum { IDEMPOTENCY_KEY_MAX = 128 };
    const char *key = http_request_header(request, "Idempotency-Key");
    if (key != NULL && !is_visible_ascii(key, IDEMPOTENCY_KEY_MAX)) {
        problem_respond(request, PROBLEM_INVALID_PARAMETER,
                        "An Idempotency-Key is 1 to 128 characters of visible ASCII.");
        return false;
    }
    options->publication = (struct publication_context){
        .idempotency_key = key,
        .key_owner = key != NULL ? guard_principal(request)->name : NULL,
        .identities = &options->gateway->identities,
        .has_dedupe = options->gateway->configuration->dedupe_window_ms > 0};
    const char *traceparent = http_request_header(request, "traceparent");
    if (traceparent != NULL || options->gateway->configuration->trace) {
        read_trace(options, request, traceparent);
    }
    const struct principal *principal = guard_principal(request);
    const bool is_named = options->protocol->halts != NULL && principal->name[0] != '\0';
    options->check.only_sender =
        principal_agent(principal, options->gateway->configuration->bind_sender);
    options->principal = is_named ? principal->name : NULL;
    options->check.has_spelling = options->task == INGEST_VALIDATE;
    return true;
}

/* The supported ones, for a 415. */
static void list_media_types(const struct request_options *options, struct http_request *request,
                             char known[ENCODINGS_TEXT_MAX]) {
    encodings_list_media_types(options->protocol, known);
    http_header(request, "Accept-Post", known);
}

/* Returns: whether the text is UTF-8, by what Content-Type says; if not, the request is answered.
 */
static bool can_read_parameters(const struct request_options *options, struct http_request *request,
                                const char *type) {
    char charset[MEDIA_TYPE_CHARSET_MAX], known[ENCODINGS_TEXT_MAX];
    const enum media_type_parameters parameters = media_type_read(type, charset);
    if (parameters != MEDIA_TYPE_CHARSET && parameters != MEDIA_TYPE_MALFORMED) {
        return true;
    }
    list_media_types(options, request, known);
    if (parameters == MEDIA_TYPE_MALFORMED) {
        problem_respond_format(
            request, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
            "The parameters of the Content-Type `%.100s` are malformed: expected "
            "`; name=value`, with at most one charset.",
            type);
    } else {
        problem_respond_format(request, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                               "The charset `%s` is not supported: encode the body as UTF-8.",
                               charset);
    }
    return false;
}

static bool read_coding(struct request_options *options, struct http_request *request) {
    const char *coding = http_request_header(request, "Content-Encoding");
    options->coding = coding != NULL ? coding_find(parley_bytes_of(coding)) : CODING_IDENTITY;
    if (options->coding != CODING_UNKNOWN) {
        return true;
    }
    http_header(request, "Accept-Encoding", "gzip, zstd, identity");
    problem_respond_format(request, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                           "The Content-Encoding `%.100s` is not supported: compress the body with "
                           "gzip or zstd, once, or send it as it is.",
                           coding);
    return false;
}

static bool read_media_type(struct request_options *options, struct http_request *request) {
    const char *type = http_request_header(request, "Content-Type");
    options->codec =
        parley_codec_find(options->protocol, parley_bytes_of(type != NULL ? type : ""));
    if (options->codec != NULL) {
        return can_read_parameters(options, request, type);
    }
    char known[ENCODINGS_TEXT_MAX];
    list_media_types(options, request, known);
    problem_respond_format(request, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                           "%s%.100s%s is not a media type of %s; set Content-Type to one of: %s.",
                           type != NULL ? "`" : "", type != NULL ? type : "A missing Content-Type",
                           type != NULL ? "`" : "", options->protocol->name, known);
    return false;
}

/* ---- accepted types ---- */

static const struct parley_codec *converted_codec(const struct request_options *options,
                                                  bool is_many) {
    return is_many ? encodings_for_many(options->to) : options->to;
}

const char *request_converted_type(const struct request_options *options, bool is_many) {
    return converted_codec(options, is_many)->media_types[0];
}

/* By any of its names. */
static bool accepts_converted(const struct request_options *options, struct http_request *request,
                              bool is_many) {
    const char *accept = http_request_header(request, "Accept");
    return negotiate_quality_of_any(accept, converted_codec(options, is_many)->media_types) > 0;
}

static void refuse_accept(struct http_request *request, const char *one, const char *many) {
    const bool is_same = strcmp(one, many) == 0;
    problem_respond_format(request, PROBLEM_NOT_ACCEPTABLE,
                           is_same ? "The answer is %s: accept it, or omit the Accept header."
                                   : "The answer is %s for one message and %s for many: accept one "
                                     "of them, or omit the Accept header.",
                           one, many);
}

bool request_accepts_converted(const struct request_options *options, struct http_request *request,
                               bool is_many) {
    const char *type = request_converted_type(options, is_many);
    if (accepts_converted(options, request, is_many)) {
        return true;
    }
    refuse_accept(request, type, type);
    return false;
}

/* NDJSON by any of its names.  Returns: its quality value, in thousandths. */
static int like_lines(struct request_options *options, const char *accept) {
    int best = 0;
    options->lines_type = parley_codec_ndjson.media_types[0];
    for (const char *const *type = parley_codec_ndjson.media_types; *type != NULL; type++) {
        const int quality = negotiate_quality(accept, *type);
        if (quality > best) {
            best = quality;
            options->lines_type = *type;
        }
    }
    return best;
}

/* One message is answered in JSON and many in NDJSON, unless the client prefers the other. A client
 * that accepts only the protocol's form of a refusal gets the same; one that reads answers in
 * another encoding gets one message answered in that. */
static bool choose_form(struct request_options *options, struct http_request *request) {
    const char *accept = http_request_header(request, "Accept");
    const char *refusal = options->protocol->refusal_media_type;
    if (accept == NULL) { /* as of most agents */
        options->lines_type = parley_codec_ndjson.media_types[0];
        return true;
    }
    const bool is_encoded = http_request_encoding(request)->protocol != NULL;
    const int json = negotiate_quality(accept, "application/json");
    const int lines = like_lines(options, accept);
    options->is_only_for_one = is_encoded && json == 0 && lines == 0;
    if (json == 0 && lines == 0 && !is_encoded &&
        (refusal == NULL || negotiate_quality(accept, refusal) == 0)) {
        refuse_accept(request, "application/json", options->lines_type);
        return false;
    }
    if (json > lines) {
        options->form = ANSWER_DOCUMENT;
    } else if (lines > json && !options->has_own_refusal && !is_encoded) {
        options->form = ANSWER_LINES;
    }
    return true;
}

static bool is_convertible(const struct request_options *options, struct http_request *request) {
    const enum parley_framing framing = options->codec->framing;
    const bool is_many = framing == PARLEY_FRAMING_LINES || framing == PARLEY_FRAMING_FRAMES;
    const bool may_be_many = framing != PARLEY_FRAMING_WHOLE;
    if (accepts_converted(options, request, is_many) ||
        accepts_converted(options, request, may_be_many)) {
        return true;
    }
    refuse_accept(request, request_converted_type(options, is_many),
                  request_converted_type(options, may_be_many));
    return false;
}

/* JSON, unless the client prefers the protocol's form. */
static bool prefers_own_refusal(const struct request_options *options,
                                struct http_request *request) {
    const char *const offers[] = {"application/problem+json", "application/json",
                                  options->protocol->refusal_media_type, NULL};
    return offers[2] != NULL && negotiate(http_request_header(request, "Accept"), offers) == 2;
}

void request_options_of_server(struct request_options *options) {
    const struct configuration *configuration = options->gateway->configuration;
    const struct channel *channel = channel_find(configuration->channels, options->protocol);
    const struct parley_facts_kind *facts = options->protocol->facts;
    union parley_option_value *values = options->check.values;
    options->check.subject_prefix = channel->prefix;
    options->check.dialect = channel->dialect;
    memcpy(values, configuration_values(configuration, channel), sizeof options->check.values);
    if (options->task != INGEST_FORWARD && facts != NULL && facts->mode != NULL) {
        values[facts->mode - options->protocol->options].number = PARLEY_LIFECYCLE_OFF;
    }
}

bool request_options_read(struct request_options *options, struct http_request *request) {
    options->check.message_bytes_max = (size_t)options->gateway->configuration->message_max_bytes;
    request_options_of_server(options);
    options->check.now_seconds = clock_now_seconds();
    if (!read_coding(options, request) || !read_media_type(options, request) ||
        !read_query(options, request)) {
        return false;
    }
    options->has_own_refusal = prefers_own_refusal(options, request);
    const bool is_acceptable = options->task == INGEST_CONVERT ? is_convertible(options, request)
                                                               : choose_form(options, request);
    return is_acceptable && can_acknowledge(options, request) && read_headers(options, request);
}

size_t request_message_bytes_max(const struct request_options *options) {
    return options->check.message_bytes_max != 0 ? options->check.message_bytes_max
                                                 : options->protocol->message_bytes_max;
}

/* ---- what outlives the request ---- */

static bool keep_text(const char **text) {
    char *copy = *text != NULL ? strdup(*text) : NULL;
    const bool is_kept = copy != NULL || *text == NULL;
    *text = copy;
    return is_kept;
}

/* The text of a value of the protocol's options; NULL: the option is not a text. */
static const char **text_of_value(struct request_options *options, size_t i) {
    return options->protocol->options[i].type == PARLEY_OPTION_TEXT ? &options->check.values[i].text
                                                                    : NULL;
}

static bool has_value(const struct request_options *options, size_t i) {
    const struct parley_option *rows = options->protocol->options;
    return rows != NULL && rows[i].help.name != NULL;
}

static bool keep_values(struct request_options *options) {
    bool are_kept = true;
    for (size_t i = 0; has_value(options, i); i++) {
        const char **text = text_of_value(options, i);
        are_kept = (text == NULL || keep_text(text)) && are_kept;
    }
    return are_kept;
}

bool request_options_keep(struct request_options *out, const struct request_options *options) {
    *out = *options;
    const bool has_values = keep_values(out);
    const bool has_agent = keep_text(&out->check.agent);
    const bool has_sender = keep_text(&out->check.only_sender);
    const bool has_principal = keep_text(&out->principal);
    const bool has_key = keep_text(&out->publication.idempotency_key);
    const bool has_owner = keep_text(&out->publication.key_owner);
    const bool has_trace = keep_text(&out->publication.traceparent);
    const bool has_state = keep_text(&out->publication.tracestate);
    if (has_values && has_agent && has_sender && has_principal && has_key && has_owner &&
        has_trace && has_state) {
        return true;
    }
    request_options_release(out);
    return false;
}

void request_options_release(struct request_options *kept) {
    const char *const texts[] = {kept->check.agent,
                                 kept->check.only_sender,
                                 kept->principal,
                                 kept->publication.idempotency_key,
                                 kept->publication.key_owner,
                                 kept->publication.traceparent,
                                 kept->publication.tracestate};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        free((char *)(uintptr_t)texts[i]);
    }
    for (size_t i = 0; has_value(kept, i); i++) {
        const char **text = text_of_value(kept, i);
        free(text != NULL ? (char *)(uintptr_t)*text : NULL);
    }
}
