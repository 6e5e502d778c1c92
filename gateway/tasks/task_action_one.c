/* SPDX-License-Identifier: Apache-2.0 */

/* POST …/tasks/{id}/cancel and …/retry: what who requested a task asks for, which is done by a
 * message like any other (task_action.h). */

#include <stdio.h>
#include <stdlib.h>

#include "json_fields.h"
#include "problem.h"
#include "small_body.h"
#include "task_action.h"
#include "task_agent.h"
#include "tasks.h"

struct one {
    struct request_options options;
    struct http_request *request;
    struct small_body body;
    struct task_action_kind what;
    struct task_action *action; /* NULL when none is under way */
    char id[BOARD_ID_MAX];
};

#define FORBIDDEN_CHALLENGE "Bearer realm=\"parley\", error=\"insufficient_scope\", scope=\"admin\""

static void destroy(struct one *one) {
    task_action_leave(one->action);
    small_body_finish(&one->body);
    request_options_release(&one->options);
    free(one);
}

/* ---- the answer ---- */

static void respond_done(struct one *one, const struct task_action_answer *answer) {
    struct parley_buffer text;
    char location[128];
    if (answer->new_id[0] != '\0') {
        snprintf(location, sizeof location, "/v1/%s/tasks/%s", one->options.protocol->name,
                 answer->new_id);
        http_header(one->request, "Location", location);
    }
    parley_buffer_init(&text);
    parley_buffer_append(&text, answer->text);
    parley_buffer_char(&text, '\n');
    problem_or_json(one->request, &text);
}

static void on_done(void *context, const struct task_action_answer *answer) {
    struct one *one = context;
    one->action = NULL;
    if (answer->is_done) {
        respond_done(one, answer);
    } else {
        if (answer->failure->problem == PROBLEM_FORBIDDEN) {
            http_header(one->request, "WWW-Authenticate", FORBIDDEN_CHALLENGE);
        }
        problem_respond_members(one->request, answer->failure->problem, answer->failure->detail,
                                answer->text);
    }
}

/* ---- the body ---- */

static const char wants_cancel[] =
    "The members of the body are `agent`, a string, and where it is given `reason`, a string of at "
    "most 1024 bytes.";
static const char wants_retry[] = "The only member of the body is `agent`, a string.";

static bool read_body(struct one *one) {
    const bool cancels = one->what.kind == PARLEY_TASK_CANCEL;
    struct json_field fields[] = {{.name = "agent"}, {.name = "reason"}};
    struct parley_bytes unknown;
    const enum json_fields_result result = json_fields_read(
        parley_buffer_bytes(&one->body.bytes), fields, cancels ? 2 : 1, &one->body.arena, &unknown);
    one->what.agent = fields[0].text;
    one->what.why = fields[1].text;
    return result == JSON_FIELDS_READ && unknown.data == NULL && fields[0].kind == PARLEY_STRING &&
           (fields[1].kind == PARLEY_ABSENT ||
            (fields[1].kind == PARLEY_STRING && fields[1].text.length <= TASK_REASON_BYTES_MAX));
}

static size_t on_body(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct one *one = state;
    return small_body_take(&one->body, request, bytes);
}

static void begin(struct one *one, struct http_request *request) {
    if (task_agent_is_allowed(&one->options, request, one->what.agent) &&
        task_action_begin(&one->what, one->id, on_done, one, &one->action) != PARLEY_OK) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
    }
}

static void on_end(void *state, struct http_request *request) {
    struct one *one = state;
    if (!small_body_is_whole(&one->body, request)) {
        return;
    }
    if (read_body(one)) {
        begin(one, request);
    } else {
        problem_respond(request, PROBLEM_MALFORMED,
                        one->what.kind == PARLEY_TASK_CANCEL ? wants_cancel : wants_retry);
    }
}

static void on_closed(void *state, bool is_complete) {
    (void)is_complete;
    destroy(state);
}

/* ---- its beginning ---- */

static struct one *create(const struct request_options *options, struct http_request *request,
                          enum parley_task_change_kind kind) {
    struct one *one = calloc(1, sizeof *one);
    if (one == NULL || !request_options_keep(&one->options, options)) {
        free(one);
        return NULL;
    }
    small_body_init(&one->body, SMALL_BODY_BYTES_MAX);
    one->request = request;
    one->what = (struct task_action_kind){
        .options = &one->options, .kind = kind, .may_any = guard_principal(request)->scopes.admin};
    return one;
}

void tasks_serve_action(struct tasks *tasks, struct http_request *request,
                        const struct parley_protocol *protocol, const char *id,
                        enum parley_task_change_kind kind) {
    static const struct http_handler handler = {
        .body = on_body, .end = on_end, .closed = on_closed};
    struct request_options options = {
        .gateway = tasks->gateway, .protocol = protocol, .task = INGEST_FORWARD};
    if (!task_options_read(&options, request)) {
        return;
    }
    struct one *one = create(&options, request, kind);
    if (one == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    if (!tasks_write_id(protocol, id, one->id)) {
        destroy(one);
        tasks_refuse_id(request, id);
        return;
    }
    http_request_serve(request, &handler, one);
    http_commit(request);
}
