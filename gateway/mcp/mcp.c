/* SPDX-License-Identifier: Apache-2.0 */

/* Receives a JSON-RPC message, and sends its answer: as JSON, or, if that takes a while and the
 * client reads such, as a stream of events, in which something is sent every 15 s. A client that
 * closes its stream cancels what it asked for: the inner request ends with the outer one. */

#include "mcp.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcp_call.h"
#include "media_type.h"
#include "negotiate.h"
#include "problem.h"

enum {
    QUIET_MS = 15000,
    BODY_BYTES_MAX = 8 * 1024 * 1024,   /* larger messages go to /v1/{protocol}/messages */
    ANSWER_BYTES_MAX = 4 * 1024 * 1024, /* of a stream */
    ACCEPTED = 202,
};

#define EVENTS_TYPE "text/event-stream"

static void destroy(struct mcp_call *call) {
    struct reactor *reactor = call->mcp->gateway->reactor;
    http_inner_destroy(call->inner);
    reactor_timer_clear(reactor, &call->quiet);
    reactor_timer_clear(reactor, &call->next);
    reactor_timer_clear(reactor, &call->cut);
    tool_request_finish(&call->asked);
    tool_request_finish(&call->following);
    tool_call_finish(&call->arguments);
    budget_uncover(call->mcp->gateway->budget, &call->held);
    parley_arena_finish(&call->arena);
    parley_buffer_finish(&call->body);
    parley_buffer_finish(&call->answer);
    parley_buffer_finish(&call->events);
    free(call);
}

/* ---- answers as events ---- */

static void add_event(struct mcp_call *call, struct parley_bytes json) {
    parley_buffer_text(&call->events, "event: message\ndata: ");
    parley_buffer_append(&call->events, json);
    parley_buffer_text(&call->events, "\n\n");
    http_wake(call->request);
}

static ssize_t read_events(void *state, char *buffer, size_t size) {
    struct mcp_call *call = state;
    if (call->events.has_failed) {
        return HTTP_SOURCE_ABORT;
    }
    const size_t left = call->events.length - call->sent_bytes;
    const size_t length = left < size ? left : size;
    if (length == 0) {
        return call->is_answered ? HTTP_SOURCE_END : 0;
    }
    memcpy(buffer, call->events.data + call->sent_bytes, length);
    call->sent_bytes += length;
    if (call->sent_bytes == call->events.length) {
        parley_buffer_clear(&call->events);
        call->sent_bytes = 0;
    }
    return (ssize_t)length;
}

/* Something is sent: whether the client is still there shows then. */
static void keep_alive(struct mcp_call *call) {
    parley_buffer_text(&call->events, ": waiting\n\n");
    http_wake(call->request);
}

static void on_quiet(struct reactor_timer *timer) {
    struct mcp_call *call = OWNER_OF(timer, struct mcp_call, quiet);
    call->quiet_count++;
    reactor_timer_set(call->mcp->gateway->reactor, timer, QUIET_MS);
    if (call->rpc.progress_token.data == NULL) {
        keep_alive(call);
        return;
    }
    struct parley_buffer *out = &call->answer;
    parley_buffer_text(out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                            "\"params\":{\"progressToken\":");
    parley_buffer_append(out, call->rpc.progress_token);
    parley_buffer_format(out, ",\"progress\":%u,\"message\":\"waiting\"}}",
                         call->quiet_count * QUIET_MS / 1000);
    add_event(call, parley_buffer_bytes(out));
    parley_buffer_clear(out);
}

static void on_half_closed(void *state, struct http_request *request) {
    (void)request;
    keep_alive(state);
}

static void on_closed(void *state, bool is_complete) {
    (void)is_complete;
    destroy(state);
}

/* Who accepts everything does not say that it reads events. */
static bool accepts_events(const struct mcp_call *call) {
    const char *accept = http_request_header(call->request, "Accept");
    return accept != NULL && strstr(accept, EVENTS_TYPE) != NULL &&
           negotiate_quality(accept, EVENTS_TYPE) > 0;
}

static void begin_events(struct mcp_call *call) {
    static const struct http_handler handler = {.half_closed = on_half_closed, .closed = on_closed};
    call->is_streaming = true;
    http_request_serve(call->request, &handler, call);
    http_header(call->request, "Cache-Control", "no-cache, no-store");
    http_header(call->request, "X-Accel-Buffering", "no");
    reactor_timer_set(call->mcp->gateway->reactor, &call->quiet, QUIET_MS);
    http_respond_live(call->request, 200, EVENTS_TYPE, read_events);
    keep_alive(call);
}

/* ---- answers ---- */

/* Returns: false: the body is not JSON, as *error says. */
static bool is_json(struct mcp_call *call, struct rpc_error *error) {
    return rpc_read_rest(parley_buffer_bytes(&call->body), &call->arena, &call->rpc, error);
}

/* What was refused may not have been read whole: that the body is not JSON is said first. */
void mcp_respond(struct mcp_call *call, unsigned status) {
    struct parley_buffer *answer = &call->answer;
    struct rpc_error error;
    call->is_answered = true;
    if (!is_json(call, &error)) {
        answer->length = 0;
        rpc_write_error(answer, &call->rpc, &error);
        status = error.status;
    }
    if (answer->has_failed && !call->is_streaming) {
        problem_respond(call->request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    if (status == 200 && !call->accepts_json && !call->is_streaming) {
        begin_events(call);
    }
    if (call->is_streaming) {
        call->events.has_failed |= answer->has_failed;
        reactor_timer_clear(call->mcp->gateway->reactor, &call->quiet);
        add_event(call, parley_buffer_bytes(answer));
        return;
    }
    parley_buffer_char(answer, '\n');
    http_header(call->request, "Cache-Control", "no-store");
    http_compress(call->request);
    http_respond(call->request, status, "application/json", parley_buffer_bytes(answer));
}

void mcp_respond_error(struct mcp_call *call, const struct rpc_error *error) {
    rpc_write_error(&call->answer, &call->rpc, error);
    mcp_respond(call, error->status);
}

/* ---- other addresses ---- */

enum { HEADERS_MAX = 8 };

/* The headers of a request to be. */
struct headers {
    struct http_field fields[HEADERS_MAX];
    size_t count;
    char preference[24];
};

static void add_header(struct headers *headers, const char *name, const char *value) {
    if (value != NULL) {
        headers->fields[headers->count++] = (struct http_field){name, parley_bytes_of(value)};
    }
}

/* A header of the client's own request.  Returns: whether it is there. */
static bool copy_header(const struct mcp_call *call, const char *name, struct headers *out) {
    const size_t before = out->count;
    add_header(out, name, http_request_header(call->request, name));
    return out->count > before;
}

static bool is_fit_for_header(struct parley_bytes text) {
    bool is_fit = text.data != NULL;
    for (size_t i = 0; i < text.length; i++) {
        is_fit = is_fit && text.data[i] >= 0x20 && text.data[i] < 0x7F;
    }
    return is_fit;
}

/* A header with a value from the call. */
static void add_value(struct headers *headers, const char *name, struct parley_bytes value) {
    if (is_fit_for_header(value)) {
        headers->fields[headers->count++] = (struct http_field){name, value};
    }
}

/* Host and Origin were judged as those of the client's own request. */
static void choose_headers(const struct mcp_call *call, const struct tool_request *asked,
                           struct headers *out) {
    out->count = 0;
    add_header(out, "Accept", asked->accept);
    add_header(out, "Content-Type", asked->content_type);
    add_value(out, "Idempotency-Key", asked->key);
    if (asked->wait_s > 0) {
        snprintf(out->preference, sizeof out->preference, "wait=%u", asked->wait_s);
        add_header(out, "Prefer", out->preference);
    }
    (void)copy_header(call, "Authorization", out);
    if (call->rpc.traceparent.data != NULL) {
        add_value(out, "traceparent", call->rpc.traceparent);
    } else if (copy_header(call, "traceparent", out)) {
        (void)copy_header(call, "tracestate", out);
    }
}

/* The result, or the request after which there is one: it is made in the next turn, since the
 * handler that has answered is still at work. */
static void take_step(struct mcp_call *call, const struct http_inner *inner,
                      const struct http_inner_answer *answer) {
    const struct tool_answer given = {answer->status, answer->body};
    struct tool_request next;
    tool_request_init(&next);
    const enum tool_step step = call->tool->then(&call->arguments, &given, &next);
    call->answer.has_failed |= next.answer.has_failed;
    switch (step) {
    case TOOL_ANSWERED:
        tool_result_of_answer(call, inner, answer);
        break;
    case TOOL_MADE:
        tool_result_write(call, parley_buffer_bytes(&next.answer), false);
        break;
    case TOOL_REFUSED:
        tool_result_of_problem(call, parley_buffer_bytes(&next.answer));
        break;
    case TOOL_ASKS:
        call->following = next;
        reactor_timer_set(call->mcp->gateway->reactor, &call->next, 0);
        return;
    }
    tool_request_finish(&next);
    mcp_respond(call, 200);
}

static void take_answer(struct mcp_call *call, const struct http_inner *inner,
                        const struct http_inner_answer *answer) {
    call->arguments.answered_count++;
    if (answer->status / 100 == 2 && !call->tool->is_read_only) {
        call->rpc.has_unread = false; /* what is taken was read; a verdict may be on anything */
    }
    reactor_timer_clear(call->mcp->gateway->reactor, &call->cut);
    if (call->tool->then != NULL) {
        take_step(call, inner, answer);
        return;
    }
    tool_result_of_answer(call, inner, answer);
    mcp_respond(call, 200);
}

static void on_asked(void *context, struct http_inner *inner,
                     const struct http_inner_answer *answer) {
    struct mcp_call *call = context;
    if (call->is_answered) { /* as a stream that was cut */
        return;
    }
    if (call->tool == NULL) {
        resources_result_of_answer(call, answer);
    } else {
        take_answer(call, inner, answer);
    }
}

static void on_next(struct reactor_timer *timer) {
    struct mcp_call *call = OWNER_OF(timer, struct mcp_call, next);
    http_inner_destroy(call->inner);
    tool_request_finish(&call->asked);
    call->inner = NULL;
    call->asked = call->following;
    tool_request_init(&call->following);
    mcp_ask(call);
}

static void on_cut(struct reactor_timer *timer) {
    struct mcp_call *call = OWNER_OF(timer, struct mcp_call, cut);
    if (!call->is_answered) {
        take_answer(call, call->inner,
                    &(const struct http_inner_answer){.status = 200,
                                                      .content_type = "application/x-ndjson",
                                                      .body = http_inner_so_far(call->inner),
                                                      .is_whole = true});
    }
}

static enum parley_status make_inner(struct mcp_call *call) {
    const struct tool_request *asked = &call->asked;
    struct headers headers;
    if (asked->target.has_failed || asked->body.has_failed) {
        return PARLEY_E_MEMORY;
    }
    choose_headers(call, asked, &headers);
    return http_inner_create(
        call->request,
        &(const struct http_inner_options){.method = asked->method,
                                           .target = parley_buffer_bytes(&asked->target),
                                           .headers = headers.fields,
                                           .header_count = headers.count,
                                           .body = asked->message.data != NULL
                                                       ? asked->message
                                                       : parley_buffer_bytes(&asked->body),
                                           .answer_bytes_max = ANSWER_BYTES_MAX,
                                           .answered = on_asked,
                                           .context = call},
        &call->inner);
}

void mcp_ask(struct mcp_call *call) {
    const unsigned cut_after_s = call->asked.cut_after_s;
    const bool may_last = call->asked.wait_s > 0 || cut_after_s > 0;
    const enum parley_status status = make_inner(call);
    if (status == PARLEY_E_UNSUPPORTED) {
        tool_result_of_fault(call, "The arguments are too long for a request.");
        mcp_respond(call, 200);
        return;
    }
    if (status != PARLEY_OK) {
        mcp_respond_error(call, &(const struct rpc_error){.code = RPC_INTERNAL_ERROR,
                                                          .status = 500,
                                                          .message = "Out of memory"});
        return;
    }
    http_inner_begin(call->inner);
    if (cut_after_s > 0 && !call->is_answered) {
        reactor_timer_set(call->mcp->gateway->reactor, &call->cut, (int64_t)cut_after_s * 1000);
    }
    if (may_last && !call->is_answered && !call->is_streaming && accepts_events(call)) {
        begin_events(call);
    }
}

/* ---- the request ---- */

static size_t on_body(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct mcp_call *call = state;
    if (bytes.length > BODY_BYTES_MAX - call->body.length) {
        problem_respond(request, PROBLEM_TOO_LARGE,
                        "A JSON-RPC message has at most 8 MiB here. Send larger messages to "
                        "/v1/PROTOCOL/messages.");
        return bytes.length;
    }
    parley_buffer_append(&call->body, bytes);
    if (!budget_cover(call->mcp->gateway->budget, &call->held, call->body.length)) {
        problem_respond(request, PROBLEM_OVERLOADED,
                        "Too many bodies are being received. Nothing was done: send it again.");
    }
    return bytes.length;
}

static void on_end(void *state, struct http_request *request) {
    struct mcp_call *call = state;
    struct rpc_error error;
    const struct rpc_headers headers = {.version =
                                            http_request_header(request, "MCP-Protocol-Version"),
                                        .method = http_request_header(request, "Mcp-Method"),
                                        .name = http_request_header(request, "Mcp-Name")};
    call->answer.has_failed |= call->body.has_failed;
    const bool is_read =
        rpc_read(parley_buffer_bytes(&call->body), &headers, &call->arena, &call->rpc, &error);
    const bool is_notification = is_read && call->rpc.id.data == NULL;
    if (!is_read || (is_notification && !is_json(call, &error))) {
        mcp_respond_error(call, &error);
    } else if (is_notification) {
        call->is_answered = true;
        http_respond(request, ACCEPTED, NULL, (struct parley_bytes){0});
    } else {
        mcp_dispatch(call);
    }
}

static bool is_json_type(const char *type) {
    char charset[MEDIA_TYPE_CHARSET_MAX];
    return type != NULL && strncasecmp(type, "application/json", 16) == 0 &&
           strchr("; \t", type[16]) != NULL && media_type_read(type, charset) == MEDIA_TYPE_FINE;
}

/* *out_accepts_json: whether answers may be JSON.  Returns: whether it can be served; if not, it is
 * answered. */
static bool admit(struct http_request *request, bool *out_accepts_json) {
    const char *accept = http_request_header(request, "Accept");
    if (!is_json_type(http_request_header(request, "Content-Type")) ||
        http_request_header(request, "Content-Encoding") != NULL) {
        http_header(request, "Accept-Post", "application/json");
        http_header(request, "Accept-Encoding", "identity");
        problem_respond(request, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                        "A JSON-RPC message is application/json, in UTF-8, and not compressed.");
        return false;
    }
    *out_accepts_json = negotiate_quality(accept, "application/json") > 0;
    if (!*out_accepts_json && negotiate_quality(accept, EVENTS_TYPE) == 0) {
        problem_respond(request, PROBLEM_NOT_ACCEPTABLE,
                        "Answers are application/json or " EVENTS_TYPE ": accept both.");
        return false;
    }
    return true;
}

void mcp_serve(struct mcp *mcp, struct http_request *request) {
    static const struct http_handler handler = {
        .body = on_body, .end = on_end, .closed = on_closed};
    bool accepts_json;
    if (!admit(request, &accepts_json)) {
        return;
    }
    struct mcp_call *call = calloc(1, sizeof *call);
    if (call == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    call->mcp = mcp;
    call->request = request;
    call->accepts_json = accepts_json;
    call->quiet.fire = on_quiet;
    call->next.fire = on_next;
    call->cut.fire = on_cut;
    tool_request_init(&call->asked);
    tool_request_init(&call->following);
    parley_arena_init(&call->arena, 0);
    parley_buffer_init(&call->body);
    parley_buffer_init(&call->answer);
    parley_buffer_init(&call->events);
    http_request_serve(request, &handler, call);
}
