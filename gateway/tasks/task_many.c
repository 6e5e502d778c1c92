/* SPDX-License-Identifier: Apache-2.0 */

/* POST …/tasks/cancel and …/tasks/retry: many tasks at once, by their ids or by a filter. Each is
 * what one alone is (task_action.h), some at a time; the answer has a line for each, in the order
 * of the ids, or the oldest first.
 *
 *   RECEIVING ── ids ─────────────────────────────────────────▶ ACTING ──▶ OVER
 *       └── a filter ──▶ WAITING ── the board is read ──▶ SELECTING ──┘
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "phase.h"
#include "problem.h"
#include "small_body.h"
#include "task_action.h"
#include "task_agent.h"
#include "task_many_body.h"
#include "tasks.h"
#include "text.h"

enum {
    AT_ONCE_MAX = 16,
    REQUESTS_MAX = 8, /* of a worker at a time */
    LOOK_MS = 10,
    PATIENCE_MS = 5000,
    LINE_ID_BYTES_MAX = 64, /* of an id that is none */
};

enum many_phase { MANY_RECEIVING, MANY_WAITING, MANY_SELECTING, MANY_ACTING, MANY_OVER };

struct item {
    struct many *many;
    struct task_action *action; /* NULL when none is under way */
    struct parley_bytes given;  /* as the client wrote it */
    char *line;
};

struct many {
    struct request_options options;
    struct tasks *tasks;
    struct http_request *request;
    struct request_slot slot;
    struct small_body body;
    struct task_action_kind what;
    struct task_many_body in;
    enum many_phase phase;
    struct board *board; /* of a filter */
    struct board_selection selection;
    struct reactor_timer timer;
    int64_t patient_until_ms;
    size_t count, next, under_way, done_count, failed_count;
    bool is_stopped; /* NATS is away: the rest is left */
    char ids[TASK_MANY_MAX][BOARD_ID_MAX];
    struct item items[TASK_MANY_MAX];
};

static void enter(struct many *many, enum many_phase phase) {
    static const unsigned allowed[] = {
        [MANY_RECEIVING] = PHASE(MANY_WAITING) | PHASE(MANY_ACTING) | PHASE(MANY_OVER),
        [MANY_WAITING] = PHASE(MANY_SELECTING) | PHASE(MANY_OVER),
        [MANY_SELECTING] = PHASE(MANY_ACTING) | PHASE(MANY_OVER),
        [MANY_ACTING] = PHASE(MANY_OVER),
        [MANY_OVER] = 0,
    };
    many->phase = (enum many_phase)phase_after(allowed, many->phase, phase);
}

static void destroy(struct many *many) {
    for (size_t i = 0; i < many->count; i++) {
        task_action_leave(many->items[i].action);
        free(many->items[i].line);
    }
    reactor_timer_clear(many->options.gateway->reactor, &many->timer);
    small_body_finish(&many->body);
    request_options_release(&many->options);
    free(many);
}

static void refuse(struct many *many, enum problem problem, const char *detail) {
    enter(many, MANY_OVER);
    problem_respond(many->request, problem, detail);
}

/* ---- the answer ---- */

static void write_summary(const struct many *many, struct parley_buffer *out) {
    const size_t matched = many->board != NULL ? many->selection.matched : many->count;
    const size_t counts[] = {matched, many->done_count, many->failed_count,
                             matched - many->done_count - many->failed_count};
    static const char *const names[] = {"matched", "done", "failed", "left"};
    parley_buffer_text(out, "{\"summary\":{");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        parley_buffer_format(out, "%s\"%s\":%zu", i > 0 ? "," : "", names[i], counts[i]);
    }
    parley_buffer_text(out, "}}\n");
}

static void answer(struct many *many) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    for (size_t i = 0; i < many->next; i++) {
        text.has_failed = text.has_failed || many->items[i].line == NULL;
        parley_buffer_append(&text, parley_bytes_of(many->items[i].line));
    }
    write_summary(many, &text);
    if (text.has_failed) {
        refuse(many, PROBLEM_INTERNAL, "Out of memory, after some of it was done. Ask again.");
    } else {
        enter(many, MANY_OVER);
        http_header(many->request, "Cache-Control", "no-store");
        http_respond(many->request, 200, many->options.lines_type, parley_buffer_bytes(&text));
    }
    parley_buffer_finish(&text);
}

/* ---- acting ---- */

static void write_line(struct item *item, const struct task_action_answer *answer) {
    struct many *many = item->many;
    const bool retries = many->what.kind == PARLEY_TASK_RETRY;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "{\"id\":");
    parley_buffer_json(&text, text_prefix(item->given, LINE_ID_BYTES_MAX));
    parley_buffer_format(&text, ",\"status\":\"%s\"",
                         !answer->is_done ? "failed"
                         : retries        ? "retried"
                                          : "cancelled");
    if (answer->is_done && retries) {
        parley_buffer_format(&text, ",\"retried_by\":\"%s\"", answer->new_id);
    } else if (!answer->is_done) {
        parley_buffer_text(&text, ",\"problem\":");
        problem_write_members(&text, answer->failure->problem, answer->failure->detail,
                              answer->text);
    }
    parley_buffer_text(&text, "}\n");
    item->line = text.has_failed ? NULL : parley_bytes_copy(parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
    many->done_count += answer->is_done ? 1 : 0;
    many->failed_count += answer->is_done ? 0 : 1;
}

static void act(struct many *many);

static void on_done(void *context, const struct task_action_answer *answer) {
    struct item *item = context;
    struct many *many = item->many;
    item->action = NULL;
    many->under_way--;
    write_line(item, answer);
    if (!answer->is_done && answer->failure->problem == PROBLEM_BUS_UNAVAILABLE) {
        many->is_stopped = true;
    }
    act(many);
}

static void fail_at_once(struct item *item, enum problem problem, const char *detail) {
    struct failure failure = {.problem = problem};
    snprintf(failure.detail, sizeof failure.detail, "%s", detail);
    write_line(item, &(struct task_action_answer){.failure = &failure, .new_id = ""});
}

static void begin(struct many *many, size_t number) {
    struct item *item = &many->items[number];
    item->many = many;
    if (many->ids[number][0] == '\0') {
        fail_at_once(item, PROBLEM_NOT_FOUND,
                     "This is not the id of a task: that is the id of its request.");
    } else if (task_action_begin(&many->what, many->ids[number], on_done, item, &item->action) !=
               PARLEY_OK) {
        fail_at_once(item, PROBLEM_INTERNAL, "Out of memory.");
    } else {
        many->under_way++;
    }
}

static void act(struct many *many) {
    while (!many->is_stopped && many->next < many->count && many->under_way < AT_ONCE_MAX) {
        begin(many, many->next++);
    }
    if (many->under_way == 0) {
        answer(many);
    }
}

/* ---- which tasks ---- */

static void take_ids(struct many *many) {
    const struct parley_protocol *protocol = many->options.protocol;
    for (size_t i = 0; i < many->in.id_count; i++) {
        const struct parley_bytes given = many->in.ids[i];
        char id[BOARD_ID_MAX] = "";
        if (given.length < sizeof id) {
            memcpy(id, given.data, given.length);
        }
        many->items[i].given = given;
        if (!tasks_write_id(protocol, id, many->ids[i])) {
            many->ids[i][0] = '\0';
        }
    }
    many->count = many->in.id_count;
    enter(many, MANY_ACTING);
    act(many);
}

static void take_selected(struct many *many) {
    for (size_t i = 0; i < many->selection.count; i++) {
        many->items[i].given = parley_bytes_of(many->ids[i]);
    }
    many->count = many->selection.count;
    enter(many, MANY_ACTING);
    act(many);
}

static void select_more(struct many *many) {
    if (board_select(many->board, &many->in.filter, &many->selection) != PARLEY_OK) {
        refuse(many, PROBLEM_INTERNAL, "Out of memory. Nothing was done.");
    } else if (many->selection.is_over) {
        take_selected(many);
    } else {
        reactor_timer_set(many->options.gateway->reactor, &many->timer, 0);
    }
}

static void on_timer(struct reactor_timer *timer) {
    struct many *many = OWNER_OF(timer, struct many, timer);
    struct reactor *reactor = many->options.gateway->reactor;
    if (many->phase == MANY_SELECTING) {
        select_more(many);
    } else if (board_is_current(many->board)) {
        enter(many, MANY_SELECTING);
        select_more(many);
    } else if (reactor_now_ms(reactor) >= many->patient_until_ms) {
        refuse(many, PROBLEM_BUS_UNAVAILABLE,
               "The tasks are still being read from NATS. Nothing was done: ask again later.");
    } else {
        reactor_timer_set(reactor, timer, LOOK_MS);
    }
}

/* A filter means the tasks that the agent may end or retry. */
static void begin_filter(struct many *many) {
    const struct parley_task_kind *kind = many->options.protocol->tasks;
    struct board_filter *filter = &many->in.filter;
    many->board = tasks_board(many->tasks, many->request, many->options.protocol);
    if (many->board == NULL) {
        enter(many, MANY_OVER);
        return;
    }
    if (filter->states == 0) {
        filter->states =
            many->what.kind == PARLEY_TASK_CANCEL ? kind->open_states : kind->retried_states;
    }
    if (!many->what.may_any) {
        filter->from = (struct board_names){&many->in.agent, 1};
    }
    many->selection = (struct board_selection){.ids = many->ids, .max = TASK_MANY_MAX};
    many->patient_until_ms = reactor_now_ms(many->options.gateway->reactor) + PATIENCE_MS;
    enter(many, MANY_WAITING);
    on_timer(&many->timer);
}

/* ---- the body ---- */

static size_t on_body(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct many *many = state;
    return small_body_take(&many->body, request, bytes);
}

static void on_end(void *state, struct http_request *request) {
    struct many *many = state;
    if (!small_body_is_whole(&many->body, request)) {
        return;
    }
    const char *fault =
        task_many_read(parley_buffer_bytes(&many->body.bytes),
                       many->options.protocol->tasks->states, &many->body.arena, &many->in);
    if (fault != NULL) {
        refuse(many, PROBLEM_MALFORMED, fault);
        return;
    }
    many->what.agent = many->in.agent;
    if (!task_agent_is_allowed(&many->options, request, many->in.agent)) {
        enter(many, MANY_OVER);
    } else if (many->in.has_ids) {
        take_ids(many);
    } else {
        begin_filter(many);
    }
}

static void on_closed(void *state, bool is_complete) {
    struct many *many = state;
    (void)is_complete;
    request_slot_leave(&many->slot);
    destroy(many);
}

/* ---- its beginning ---- */

static struct many *create(const struct request_options *options, struct http_request *request,
                           enum parley_task_change_kind kind) {
    struct many *many = calloc(1, sizeof *many);
    if (many == NULL || !request_options_keep(&many->options, options)) {
        free(many);
        return NULL;
    }
    small_body_init(&many->body, TASK_MANY_BODY_BYTES_MAX);
    many->request = request;
    many->timer.fire = on_timer;
    many->what = (struct task_action_kind){
        .options = &many->options, .kind = kind, .may_any = guard_principal(request)->scopes.admin};
    return many;
}

void tasks_serve_many(struct tasks *tasks, struct http_request *request,
                      const struct parley_protocol *protocol, enum parley_task_change_kind kind) {
    static const struct http_handler handler = {
        .body = on_body, .end = on_end, .closed = on_closed};
    struct request_options options = {
        .gateway = tasks->gateway, .protocol = protocol, .task = INGEST_FORWARD};
    struct request_slot slot;
    if (!task_options_read(&options, request) ||
        !request_slots_admit(&tasks->many_slots, REQUESTS_MAX, tasks->gateway->limits, request,
                             "changes of many tasks", &slot)) {
        return;
    }
    struct many *many = create(&options, request, kind);
    if (many == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    many->tasks = tasks;
    many->slot = slot;
    request_slot_take(&tasks->many_slots, &many->slot);
    http_request_serve(request, &handler, many);
    http_commit(request);
}
