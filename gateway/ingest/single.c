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
    struct sending sending;
    struct http_request *request;     /* NULL once it is gone */
    struct parley_buffer body;        /* up to a byte over the limit: enough to refuse it */
    struct parley_buffer answer;      /* up to and including the subject */
    size_t id_at, id_end, subject_at; /* in it, as JSON */
    struct parley_buffer warnings;
    struct recalling recalling;
    struct budget_share held;     /* taken for the body */
    struct aside *aside;          /* NULL: the message is checked here */
    bool is_aside;                /* it is being checked */
    bool is_told;                 /* what it wanted to know is known, or nobody knows it */
    bool is_published;            /* its ack is still to come */
    struct publication_mark mark; /* of what was published */
    struct duplicate *duplicate;  /* it is being compared with what is stored; NULL: it is not */
};

struct single *single_create(const struct sending *sending, struct http_request *request) {
    struct single *single = malloc(sizeof *single);
    if (single == NULL) {
        return NULL;
    }
    *single = (struct single){.request = request};
    if (!sending_keep(&single->sending, sending)) {
        free(single);
        return NULL;
    }
    return single;
}

static void drop_body(struct single *single) {
    parley_buffer_finish(&single->body);
    budget_uncover(single->sending.gateway->budget, &single->held);
}

static void destroy(struct single *single) {
    aside_release(single->aside);
    drop_body(single);
    parley_buffer_finish(&single->answer);
    parley_buffer_finish(&single->warnings);
    recalling_finish(&single->recalling);
    gateway_forget_message(single->sending.gateway, single->sending.protocol);
    sending_release(&single->sending);
    free(single);
}

/* Nobody waits for it, and it waits for nothing. */
static void destroy_if_done(struct single *single) {
    if (single->request == NULL && !single->is_published && !single->recalling.is_asking &&
        !single->is_aside) {
        destroy(single);
    }
}

struct parley_bytes single_text(const struct single *single) {
    return parley_buffer_bytes(&single->body);
}

static void refuse_overloaded(struct single *single) {
    const struct sending_failure failure = sending_overloaded(&single->sending);
    drop_body(single);
    problem_respond(single->request, failure.problem, failure.detail);
}

void single_body(struct single *single, struct parley_bytes bytes) {
    const size_t room = sending_message_bytes_max(&single->sending) + 1 - single->body.length;
    const size_t count = bytes.length < room ? bytes.length : room;
    parley_buffer_append(&single->body, (struct parley_bytes){bytes.data, count});
    if (!budget_cover(single->sending.gateway->budget, &single->held, single->body.length)) {
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
    const struct parley_codec *to = single->sending.to;
    if (!sending_accepts_converted(&single->sending, single->request, false)) {
        return;
    }
    enum parley_status status;
    if (single->aside != NULL && single->aside->is_prepared) {
        swap(&single->answer, &single->aside->payload);
        status = single->aside->prepared;
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
    respond_as(single, 200, sending_converted_type(&single->sending, false));
}

static void respond_verdict(struct single *single, struct parley_message *message) {
    if (single->sending.has_own_refusal && !parley_message_is_valid(message)) {
        respond_own_refusal(single, message, 200);
        return;
    }
    struct gateway *gateway = single->sending.gateway;
    struct parley_buffer *answer = &single->answer;
    enum parley_status status = PARLEY_OK;
    if (single->aside == NULL && parley_message_is_valid(message)) {
        status = sending_warn_of_size(&single->sending, message, 1,
                                      jetstream_max_payload_bytes(gateway->jetstream),
                                      &gateway->payload);
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
    if (single->sending.has_own_refusal) {
        respond_own_refusal(single, message, problem_status(problem));
        return;
    }
    struct parley_buffer *detail = &single->answer;
    sending_describe(message, detail);
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
static void respond_failed(struct single *single, const struct sending_failure *failure,
                           const char *stream, uint64_t sequence) {
    const char *answer = single->answer.data;
    const struct parley_bytes id = {answer + single->id_at, single->id_end - single->id_at};
    struct parley_buffer members;
    parley_buffer_init(&members);
    sending_failure_members(failure->problem, id, stream, sequence, &members);
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
    struct sending_failure failure;
    single->duplicate =
        duplicate_begin(&single->sending, &single->mark, ack, on_compared, single, &failure);
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
        const struct sending_failure failure = sending_failed(&single->sending, &single->mark, ack);
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

/* sending_prepare, unless the crew has done it. */
static enum parley_status prepare(struct single *single, struct parley_message *message,
                                  struct publication *out) {
    struct aside *aside = single->aside;
    if (aside == NULL || !aside->is_prepared) {
        return sending_prepare(&single->sending, message, 1, out);
    }
    swap(&single->sending.gateway->payload, &aside->payload);
    *out = aside->publication;
    return aside->prepared;
}

static void publish(struct single *single, struct parley_message *message) {
    struct publication publication;
    enum parley_status status = PARLEY_OK;
    enum jetstream_publish published = JETSTREAM_AWAY;
    /* A large one is not written out in vain. */
    const bool is_in_vain =
        single->aside != NULL && !jetstream_is_ready(single->sending.gateway->jetstream);
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
        published = status == PARLEY_E_LIMIT
                        ? JETSTREAM_TOO_LARGE
                        : recalling_publish(&single->sending, &publication, on_ack, single);
    }
    single->is_published = published == JETSTREAM_PUBLISHED;
    if (single->is_published) {
        single->mark = publication.mark;
        drop_body(single); /* blanks in it count for nothing in the window */
        aside_release(single->aside);
        single->aside = NULL;
    } else if (single->request != NULL) {
        const struct sending_failure failure = sending_refused(&single->sending, published);
        problem_respond(single->request, failure.problem, failure.detail);
    }
}

/* What follows from a valid message. */
static void conclude(struct single *single, struct parley_message *message) {
    switch (single->sending.task) {
    case SENDING_FORWARD:
        publish(single, message);
        break;
    case SENDING_VALIDATE:
        respond_verdict(single, message);
        break;
    case SENDING_CONVERT:
        respond_converted(single, message);
        break;
    }
}

static void conclude_told(struct single *single);

static void on_told(struct recalling *recalling) {
    struct single *single = OWNER_OF(recalling, struct single, recalling);
    if (single->request != NULL || single->sending.task == SENDING_FORWARD) {
        conclude_told(single);
    }
    destroy_if_done(single);
}

static void recall_or_conclude(struct single *single, struct parley_message *message) {
    struct parley_bytes key = {0};
    const enum parley_status status =
        single->is_told ? PARLEY_OK : recalling_need(&single->sending, message, &key);
    if (status != PARLEY_OK) {
        respond_internal(single, status);
    } else if (key.data == NULL) {
        conclude(single, message);
    } else {
        single->recalling.told = on_told;
        recalling_begin(&single->recalling, &single->sending, key);
        if (!single->recalling.is_asking) {
            conclude_told(single);
        }
    }
}

/* What follows from the verdict on the message. */
static void judge(struct single *single, struct parley_message *message,
                  enum parley_status status) {
    const bool is_oversize =
        status == PARLEY_OK && message->findings.count > 0 &&
        message->findings.items[0].rule == &parley_gateway_rules[PARLEY_GW_SIZE];
    if (status != PARLEY_OK) {
        respond_internal(single, status);
    } else if (parley_message_is_valid(message)) {
        recall_or_conclude(single, message);
    } else if (single->request == NULL) {
        return; /* nobody is there to hear of it */
    } else if (single->sending.task == SENDING_VALIDATE && !is_oversize) {
        respond_verdict(single, message);
    } else {
        respond_invalid(single, message);
    }
}

static void on_checked(struct aside *aside, void *context) {
    struct single *single = context;
    single->is_aside = false;
    if (single->request != NULL || single->sending.task == SENDING_FORWARD) {
        judge(single, &aside->message, aside->status);
    }
    destroy_if_done(single);
}

static void check(struct single *single) {
    struct sending *sending = &single->sending;
    const struct parley_bytes text = parley_buffer_bytes(&single->body);
    const size_t limit = sending_message_bytes_max(sending);
    aside_release(single->aside);
    single->aside = NULL;
    if (text.length >= ASIDE_BYTES_MIN && text.length <= limit) {
        const struct parley_slice slice = {.bytes = text, .origin = {1, 1}, .number = 1};
        single->aside = aside_begin(sending, &slice, on_checked, single);
        single->is_aside = single->aside != NULL;
    }
    if (single->aside == NULL) {
        const enum parley_status status =
            sending_check(sending, text, (struct parley_position){1, 1});
        judge(single, gateway_message(sending->gateway, sending->protocol), status);
    }
}

/* What it wanted to know is known, or nobody knows it; the message object has served others
 * meanwhile. */
static void conclude_told(struct single *single) {
    struct sending *sending = &single->sending;
    if (single->recalling.has_failed && sending->task == SENDING_FORWARD) {
        const struct sending_failure failure = recalling_failure(&single->recalling);
        if (single->request != NULL) {
            problem_respond(single->request, failure.problem, failure.detail);
        }
        return;
    }
    sending->options.recalled = single->recalling.has_failed ? NULL : single->recalling.text;
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
