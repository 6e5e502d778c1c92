/* SPDX-License-Identifier: Apache-2.0 */

/* One message in one request: gather it, reach a verdict, and either say what is wrong, or convert
 * it, or publish it and answer when JetStream has it. What the answer will say of the message is
 * written before publishing, since the message object belongs to the next request by the time of
 * the ack. */

#include "offload.h"
#include "duplicates.h"
#include "correlation_lookup.h"

#include <stdio.h>
#include <stdlib.h>

enum { ANSWER_BYTES_USUAL = 480 }; /* with malloc's header one of its classes */

struct single {
    struct request_options options;
    struct http_request *request;     /* NULL once it is gone */
    struct parley_buffer body;        /* up to a byte over the limit: enough to refuse it */
    struct parley_buffer answer;      /* up to and including the subject */
    size_t id_at, id_end, subject_at; /* in it, as JSON */
    struct parley_buffer warnings;
    struct correlation_lookup lookup;
    struct budget_share held;     /* taken for the body */
    struct offload *offload;      /* NULL: the message is checked here */
    bool is_offloaded;            /* it is being checked */
    bool is_told;                 /* what it wanted to know is known, or nobody knows it */
    bool is_published;            /* its ack is still to come */
    struct publication_mark mark; /* of what was published */
    struct duplicate *duplicate;  /* it is being compared with what is stored; NULL: it is not */
};

struct single *single_create(const struct request_options *options, struct http_request *request) {
    struct single *single = malloc(sizeof *single);
    if (single == NULL) {
        return NULL;
    }
    *single = (struct single){.request = request};
    if (!request_options_keep(&single->options, options)) {
        free(single);
        return NULL;
    }
    return single;
}

static void drop_body(struct single *single) {
    parley_buffer_finish(&single->body);
    budget_uncover(single->options.gateway->budget, &single->held);
}

static void destroy(struct single *single) {
    offload_release(single->offload);
    drop_body(single);
    parley_buffer_finish(&single->answer);
    parley_buffer_finish(&single->warnings);
    correlation_lookup_finish(&single->lookup);
    gateway_forget_message(single->options.gateway, single->options.protocol);
    request_options_release(&single->options);
    free(single);
}

/* Nobody waits for it, and it waits for nothing. */
static void destroy_if_done(struct single *single) {
    if (single->request == NULL && !single->is_published && !single->lookup.is_asking &&
        !single->is_offloaded) {
        destroy(single);
    }
}

struct parley_bytes single_text(const struct single *single) {
    return parley_buffer_bytes(&single->body);
}

static void refuse_overloaded(struct single *single) {
    const struct failure failure = failure_overloaded(&single->options);
    drop_body(single);
    problem_respond(single->request, failure.problem, failure.detail);
}

void single_body(struct single *single, struct parley_bytes bytes) {
    const size_t room = request_message_bytes_max(&single->options) + 1 - single->body.length;
    const size_t count = bytes.length < room ? bytes.length : room;
    parley_buffer_append(&single->body, (struct parley_bytes){bytes.data, count});
    if (!budget_cover(single->options.gateway->budget, &single->held, single->body.length)) {
        refuse_overloaded(single);
    }
}

/* What came whole is published, whether or not the client waits for it. */
void single_closed(struct single *single) {
    single->request = NULL;
    duplicate_cancel(single->duplicate);
    single->duplicate = NULL;
    destroy_if_done(single);
}

static void respond_internal(struct single *single, enum parley_status status) {
    if (single->request == NULL) {
        return;
    }
    problem_respond_format(single->request, PROBLEM_INTERNAL, "No verdict was reached: %s.",
                           parley_status_text(status));
}

/* RFC 7763 wants a charset with text/markdown. */
static void respond_as(struct single *single, unsigned status, const char *media_type) {
    char type[128];
    const bool is_text = strncmp(media_type, "text/", 5) == 0;
    snprintf(type, sizeof type, "%s%s", media_type, is_text ? "; charset=utf-8" : "");
    http_respond(single->request, status, type, parley_buffer_bytes(&single->answer));
}

/* The refusal as the protocol itself would write it. */
static void respond_own_refusal(struct single *single, struct parley_message *message,
                                unsigned http_status) {
    const struct parley_protocol *protocol = message->protocol;
    enum parley_status status = protocol->write_refusal(message, &single->answer);
    status = status != PARLEY_OK ? status : parley_buffer_status(&single->answer);
    if (status != PARLEY_OK) {
        respond_internal(single, status);
        return;
    }
    respond_as(single, http_status, protocol->refusal_media_type);
}

static void swap(struct parley_buffer *a, struct parley_buffer *b) {
    const struct parley_buffer other = *a;
    *a = *b;
    *b = other;
}

static void respond_converted(struct single *single, struct parley_message *message) {
    const struct parley_codec *to = single->options.to;
    if (!request_accepts_converted(&single->options, single->request, false)) {
        return;
    }
    enum parley_status status;
    if (single->offload != NULL && single->offload->is_prepared) {
        swap(&single->answer, &single->offload->payload);
        status = single->offload->prepared;
    } else {
        status = message->protocol->convert(message, to, &single->answer);
    }
    if (to->framing == PARLEY_FRAMING_LINES) {
        parley_buffer_char(&single->answer, '\n');
    }
    status = status != PARLEY_OK ? status : parley_buffer_status(&single->answer);
    if (status != PARLEY_OK) {
        respond_internal(single, status);
        return;
    }
    respond_as(single, 200, request_converted_type(&single->options, false));
}

static void respond_verdict(struct single *single, struct parley_message *message) {
    if (single->options.has_own_refusal && !parley_message_is_valid(message)) {
        respond_own_refusal(single, message, 200);
        return;
    }
    struct gateway *gateway = single->options.gateway;
    struct parley_buffer *answer = &single->answer;
    enum parley_status status = PARLEY_OK;
    if (single->offload == NULL && parley_message_is_valid(message)) {
        status =
            check_warn_of_size(&single->options, message, 1,
                               jetstream_max_payload_bytes(gateway->jetstream), &gateway->payload);
    }
    parley_buffer_reserve(answer, ANSWER_BYTES_USUAL);
    parley_buffer_char(answer, '{');
    status = status != PARLEY_OK ? status : parley_message_write_verdict(message, answer);
    parley_buffer_char(answer, '}');
    status = status != PARLEY_OK ? status : parley_buffer_status(answer);
    if (status != PARLEY_OK) {
        respond_internal(single, status);
        return;
    }
    http_respond(single->request, 200, "application/json", parley_buffer_bytes(answer));
}

/* Broken rules: the problem names the first, the violations tell all. */
static void respond_invalid(struct single *single, struct parley_message *message) {
    const struct parley_finding *first = &message->findings.items[0];
    const enum problem problem = message->is_decoded ? PROBLEM_INVALID_MESSAGE
                                 : first->rule == &parley_gateway_rules[PARLEY_GW_SIZE]
                                     ? PROBLEM_TOO_LARGE
                                     : PROBLEM_MALFORMED;
    if (single->options.has_own_refusal) {
        respond_own_refusal(single, message, problem_status(problem));
        return;
    }
    struct parley_buffer *detail = &single->answer;
    check_describe(message, detail);
    parley_buffer_char(detail, '\0');
    if (detail->has_failed) {
        respond_internal(single, PARLEY_E_MEMORY);
        return;
    }
    problem_respond_findings(single->request, problem, detail->data, &message->findings);
}

static void respond_stored(struct single *single, const char *stream, uint64_t sequence,
                           bool is_duplicate) {
    struct parley_buffer *answer = &single->answer;
    parley_buffer_text(answer, ",\"stream\":");
    parley_buffer_json(answer, parley_bytes_of(stream));
    parley_buffer_text(answer, ",\"seq\":");
    parley_buffer_uint(answer, sequence);
    parley_buffer_text(answer, ",\"duplicate\":");
    parley_buffer_text(answer, is_duplicate ? "true" : "false");
    parley_buffer_text(answer, ",\"warnings\":");
    parley_buffer_append(answer, single->warnings.length > 0
                                     ? parley_buffer_bytes(&single->warnings)
                                     : PARLEY_BYTES("[]"));
    parley_buffer_char(answer, '}');
    if (answer->has_failed) {
        respond_internal(single, PARLEY_E_MEMORY);
        return;
    }
    http_respond(single->request, 200, "application/json", parley_buffer_bytes(answer));
}

/* `stream` NULL: none. */
static void respond_failed(struct single *single, const struct failure *failure, const char *stream,
                           uint64_t sequence) {
    const char *answer = single->answer.data;
    const struct parley_bytes id = {answer + single->id_at, single->id_end - single->id_at};
    struct parley_buffer members;
    parley_buffer_init(&members);
    failure_write_members(failure->problem, id, stream, sequence, &members);
    if (members.has_failed) {
        respond_internal(single, PARLEY_E_MEMORY);
    } else {
        problem_respond_members(single->request, failure->problem, failure->detail,
                                parley_buffer_bytes(&members));
    }
    parley_buffer_finish(&members);
}

/* A receipt names what is stored, not what was sent. */
static void name_stored(struct single *single, const struct duplicate_answer *stored) {
    const struct parley_bytes sent = parley_buffer_bytes(&single->answer);
    const bool has_id = sent.data[single->id_at] == '"' && stored->id != NULL;
    struct parley_buffer answer;
    parley_buffer_init(&answer);
    parley_buffer_append(&answer, (struct parley_bytes){sent.data, single->id_at});
    if (has_id) {
        parley_buffer_json(&answer, parley_bytes_of(stored->id));
    } else {
        parley_buffer_append(&answer, (struct parley_bytes){sent.data + single->id_at,
                                                            single->id_end - single->id_at});
    }
    parley_buffer_append(&answer, (struct parley_bytes){sent.data + single->id_end,
                                                        single->subject_at - single->id_end});
    parley_buffer_json(&answer, parley_bytes_of(stored->subject));
    parley_buffer_finish(&single->answer);
    single->answer = answer;
}

static void on_compared(void *context, const struct duplicate_answer *answer) {
    struct single *single = context;
    single->duplicate = NULL;
    if (answer->verdict != DUPLICATE_SAME) {
        respond_failed(single, &answer->failure, answer->stream, answer->sequence);
        return;
    }
    if (answer->subject != NULL) {
        name_stored(single, answer);
    }
    respond_stored(single, answer->stream, answer->sequence, true);
}

static void compare(struct single *single, const struct jetstream_ack *ack) {
    struct failure failure;
    single->duplicate =
        duplicate_begin(&single->options, &single->mark, ack, on_compared, single, &failure);
    if (single->duplicate == NULL) {
        respond_failed(single, &failure, ack->stream, ack->sequence);
    }
}

static void on_ack(void *context, const struct jetstream_ack *ack) {
    struct single *single = context;
    single->is_published = false;
    if (single->request == NULL) {
        destroy(single);
    } else if (duplicate_is_open(&single->mark, ack)) {
        compare(single, ack);
    } else if (ack->outcome == JETSTREAM_STORED) {
        respond_stored(single, ack->stream, ack->sequence, ack->is_duplicate);
    } else {
        const struct failure failure = failure_of_ack(&single->options, &single->mark, ack);
        respond_failed(single, &failure, NULL, 0);
    }
}

static void write_or_null(struct parley_buffer *out, struct parley_bytes text) {
    if (text.data != NULL) {
        parley_buffer_json(out, text);
    } else {
        parley_buffer_text(out, "null");
    }
}

/* Everything of the answer that the message tells. */
static enum parley_status write_head(struct single *single, const struct parley_message *message,
                                     const struct parley_route *route) {
    struct parley_buffer *answer = &single->answer;
    parley_buffer_reserve(answer, ANSWER_BYTES_USUAL);
    parley_buffer_text(answer, "{\"protocol\":\"");
    parley_buffer_text(answer, message->protocol->name);
    parley_buffer_text(answer, "\",\"type\":");
    parley_buffer_json(answer, parley_bytes_of(message->protocol->types[message->type]));
    parley_buffer_text(answer, ",\"id\":");
    single->id_at = answer->length;
    write_or_null(answer, route->id);
    single->id_end = answer->length;
    parley_buffer_text(answer, ",\"lane\":");
    write_or_null(answer, route->lane);
    parley_buffer_text(answer, ",\"subject\":");
    single->subject_at = answer->length;
    parley_buffer_json(answer, route->subject);
    if (message->findings.count > 0) {
        parley_findings_write(&message->findings, &single->warnings);
    }
    PARLEY_TRY(parley_buffer_status(answer));
    return parley_buffer_status(&single->warnings);
}

/* ingest_prepare, unless the worker pool has done it. */
static enum parley_status prepare(struct single *single, struct parley_message *message,
                                  struct publication *out) {
    struct offload *offload = single->offload;
    if (offload == NULL || !offload->is_prepared) {
        return ingest_prepare(&single->options, message, 1, out);
    }
    swap(&single->options.gateway->payload, &offload->payload);
    *out = offload->publication;
    return offload->prepared;
}

static void publish(struct single *single, struct parley_message *message) {
    struct publication publication;
    enum parley_status status = PARLEY_OK;
    enum jetstream_publish published = JETSTREAM_AWAY;
    /* A large one is not written out in vain. */
    const bool is_in_vain =
        single->offload != NULL && !jetstream_is_ready(single->options.gateway->jetstream);
    if (!is_in_vain) {
        status = prepare(single, message, &publication);
    }
    if (status == PARLEY_OK && !is_in_vain) {
        status = write_head(single, message, &publication.route);
    }
    if (status != PARLEY_OK && status != PARLEY_E_LIMIT) {
        respond_internal(single, status);
        return;
    }
    if (!is_in_vain) {
        published =
            status == PARLEY_E_LIMIT
                ? JETSTREAM_TOO_LARGE
                : correlation_lookup_publish(&single->options, &publication, on_ack, single);
    }
    single->is_published = published == JETSTREAM_PUBLISHED;
    if (single->is_published) {
        single->mark = publication.mark;
        drop_body(single); /* blanks in it count for nothing in the window */
        offload_release(single->offload);
        single->offload = NULL;
    } else if (single->request != NULL) {
        const struct failure failure = failure_of_refusal(&single->options, published);
        problem_respond(single->request, failure.problem, failure.detail);
    }
}

/* What follows from a valid message. */
static void finish_valid(struct single *single, struct parley_message *message) {
    switch (single->options.task) {
    case INGEST_FORWARD:
        publish(single, message);
        break;
    case INGEST_VALIDATE:
        respond_verdict(single, message);
        break;
    case INGEST_CONVERT:
        respond_converted(single, message);
        break;
    }
}

static void finish_after_lookup(struct single *single);

static void on_lookup(struct correlation_lookup *lookup) {
    struct single *single = OWNER_OF(lookup, struct single, lookup);
    if (single->request != NULL || single->options.task == INGEST_FORWARD) {
        finish_after_lookup(single);
    }
    destroy_if_done(single);
}

static void look_up_or_finish(struct single *single, struct parley_message *message) {
    struct parley_bytes key = {0};
    const enum parley_status status =
        single->is_told ? PARLEY_OK : correlation_lookup_need(&single->options, message, &key);
    if (status != PARLEY_OK) {
        respond_internal(single, status);
    } else if (key.data == NULL) {
        finish_valid(single, message);
    } else {
        single->lookup.on_ready = on_lookup;
        correlation_lookup_begin(&single->lookup, &single->options, key);
        if (!single->lookup.is_asking) {
            finish_after_lookup(single);
        }
    }
}

/* What follows from the verdict on the message. */
static void on_verdict(struct single *single, struct parley_message *message,
                       enum parley_status status) {
    const bool is_oversize =
        status == PARLEY_OK && message->findings.count > 0 &&
        message->findings.items[0].rule == &parley_gateway_rules[PARLEY_GW_SIZE];
    if (status != PARLEY_OK) {
        respond_internal(single, status);
    } else if (parley_message_is_valid(message)) {
        look_up_or_finish(single, message);
    } else if (single->request == NULL) {
        return; /* nobody is there to hear of it */
    } else if (single->options.task == INGEST_VALIDATE && !is_oversize) {
        respond_verdict(single, message);
    } else {
        respond_invalid(single, message);
    }
}

static void on_checked(struct offload *offload, void *context) {
    struct single *single = context;
    single->is_offloaded = false;
    if (single->request != NULL || single->options.task == INGEST_FORWARD) {
        on_verdict(single, &offload->message, offload->status);
    }
    destroy_if_done(single);
}

static void check(struct single *single) {
    struct request_options *options = &single->options;
    const struct parley_bytes text = parley_buffer_bytes(&single->body);
    const size_t limit = request_message_bytes_max(options);
    offload_release(single->offload);
    single->offload = NULL;
    if (text.length >= OFFLOAD_BYTES_MIN && text.length <= limit) {
        const struct parley_slice slice = {.bytes = text, .origin = {1, 1}, .number = 1};
        single->offload = offload_begin(options, &slice, on_checked, single);
        single->is_offloaded = single->offload != NULL;
    }
    if (single->offload == NULL) {
        const enum parley_status status =
            check_message(options, text, (struct parley_position){1, 1});
        on_verdict(single, gateway_message(options->gateway, options->protocol), status);
    }
}

/* What it wanted to know is known, or nobody knows it; the message object has served others
 * meanwhile. */
static void finish_after_lookup(struct single *single) {
    struct request_options *options = &single->options;
    if (single->lookup.has_failed && options->task == INGEST_FORWARD) {
        const struct failure failure = correlation_lookup_failure(&single->lookup);
        if (single->request != NULL) {
            problem_respond(single->request, failure.problem, failure.detail);
        }
        return;
    }
    options->check.recalled = single->lookup.has_failed ? NULL : single->lookup.text;
    single->is_told = true;
    check(single);
}

void single_end(struct single *single) {
    if (single->body.has_failed) {
        respond_internal(single, PARLEY_E_MEMORY);
    } else {
        check(single);
    }
}
