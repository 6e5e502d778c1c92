/* SPDX-License-Identifier: Apache-2.0 */

/* POST …/tasks/{id}/extend and /release: what the holder of a task asks for without a message. The
 * facts of the task are read, its protocol decides, and a key is created, which decides over all
 * gateways; if another key was quicker, the facts are read again.
 *
 *   RECEIVING ── the body has ended ──▶ ASKING ── decided ──▶ WRITING ── created ──▶ OVER
 *                                         ▲                      │
 *                                         └── another was quicker┘
 */

#include <math.h>
#include <stdlib.h>

#include "board.h"
#include "failure.h"
#include "json_fields.h"
#include "problem.h"
#include "small_body.h"
#include "task_agent.h"
#include "tasks.h"

enum {
    ARENA_BYTES_MAX = 256 * 1024,
    QUICKER_MAX = 16, /* others; each time the task had another turn */
    SECONDS_MAX = 86400,
    LEASE_SECONDS_MIN = 60,
    WHY_BYTES_MAX = 256,
};

struct change {
    struct request_options options;
    struct http_request *request; /* NULL once it is gone */
    struct small_body body;
    struct parley_arena arena;
    struct parley_task_change what;
    struct fact_query query;
    char id[BOARD_ID_MAX];
    char *answer; /* once the key is created */
    unsigned quicker_count;
    bool is_writing;
};

static void destroy(struct change *change) {
    fact_query_finish(&change->query);
    small_body_finish(&change->body);
    parley_arena_finish(&change->arena);
    request_options_release(&change->options);
    free(change->answer);
    free(change);
}

static struct fact_store *store_of(const struct change *change) {
    return gateway_fact_store(change->options.gateway, change->options.protocol);
}

/* ---- answers ---- */

static void refuse(struct change *change, enum problem problem, const char *detail) {
    problem_respond(change->request, problem, detail);
}

/* `members`: each with a comma before it. */
static void answer(struct change *change, struct parley_bytes members) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_char(&text, '{');
    if (members.length > 0) {
        parley_buffer_append(&text, (struct parley_bytes){members.data + 1, members.length - 1});
    }
    parley_buffer_text(&text, "}\n");
    problem_or_json(change->request, &text);
}

static void answer_refused(struct change *change, const struct parley_decision *decision) {
    const char *detail = parley_arena_copy(&change->arena, decision->detail);
    problem_respond_members(change->request, problem_of_name(decision->problem),
                            detail != NULL ? detail : "The agent does not hold the task.",
                            decision->members);
}

/* ---- deciding ---- */

static void ask(struct change *change);

static void on_written(void *context, enum fact_written written, const struct jetstream_ack *ack) {
    struct change *change = context;
    (void)ack;
    change->is_writing = false;
    if (change->request == NULL) {
        destroy(change);
    } else if (written == FACT_WRITTEN) {
        answer(change, parley_bytes_of(change->answer));
    } else if (written == FACT_EXISTS && ++change->quicker_count < QUICKER_MAX) {
        ask(change);
    } else {
        refuse(change, PROBLEM_BUS_UNAVAILABLE,
               "It is not known whether the key of this turn was written. Ask again: it is done "
               "once.");
    }
}

static void write_key(struct change *change, const struct parley_decision *decision) {
    struct parley_buffer value;
    free(change->answer);
    change->answer = parley_bytes_copy(decision->members);
    parley_buffer_init(&value);
    parley_decision_write_fact(decision, (struct parley_bytes){0}, 0, &value);
    const enum jetstream_publish published =
        value.has_failed || change->answer == NULL
            ? JETSTREAM_FAILED
            : fact_store_create_key(store_of(change), decision->fact_key,
                                    parley_buffer_bytes(&value), on_written, change);
    parley_buffer_finish(&value);
    change->is_writing = published == JETSTREAM_PUBLISHED;
    if (!change->is_writing) {
        const struct failure failure = failure_of_refusal(&change->options, published);
        refuse(change, failure.problem, failure.detail);
    }
}

static void decide(struct change *change) {
    const struct parley_task_kind *kind = change->options.protocol->tasks;
    struct parley_known_facts known = {.is_final = true, .digest = ""};
    struct parley_decision decision;
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        known.values[i] = parley_bytes_of(change->query.values[i]);
    }
    if (!tasks_are_known(&change->query)) {
        refuse(change, PROBLEM_NOT_FOUND, "There is no task with this id, or it is forgotten.");
        return;
    }
    parley_arena_reset(&change->arena);
    change->what.known = &known;
    change->what.now_seconds = clock_now_seconds();
    const enum parley_status status = kind->change(&change->what, &change->arena, &decision);
    if (status != PARLEY_OK) {
        refuse(change, PROBLEM_INTERNAL, parley_status_text(status));
    } else if (decision.kind == PARLEY_DECISION_PREPARE) {
        write_key(change, &decision);
    } else if (decision.kind == PARLEY_DECISION_REFUSED) {
        answer_refused(change, &decision);
    } else {
        answer(change, decision.members);
    }
}

static void on_facts(struct fact_query *query) {
    struct change *change = OWNER_OF(query, struct change, query);
    if (query->has_failed) {
        refuse(change, PROBLEM_BUS_UNAVAILABLE,
               query->error != NULL ? query->error : "Out of memory.");
    } else {
        decide(change);
    }
}

static void ask(struct change *change) {
    if (!fact_query_begin(&change->query, 0)) {
        const struct failure failure = failure_of_refusal(&change->options, JETSTREAM_AWAY);
        refuse(change, failure.problem, failure.detail);
    }
}

/* ---- the body ---- */

static const char wants_extend[] =
    "The members of the body are `agent`, a string, and `lease`, seconds from 60 to 86400, where "
    "it is given.";
static const char wants_release[] =
    "The members of the body are `agent`, a string; and where they are given `why`, a string of at "
    "most 256 bytes, and `after`, seconds from 0 to 86400.";

/* Returns: whether it is absent (then -1), or a whole number in the range. */
static bool read_seconds(const struct json_field *field, double minimum, int64_t *out) {
    const bool is_number = field->kind == PARLEY_NUMBER && field->number >= minimum &&
                           field->number <= (double)SECONDS_MAX &&
                           floor(field->number) == field->number;
    *out = is_number ? (int64_t)field->number : -1;
    return is_number || field->kind == PARLEY_ABSENT;
}

/* Returns: whether it is absent, or a string of at most so many bytes. */
static bool read_text(const struct json_field *field, size_t bytes_max, struct parley_bytes *out) {
    *out = field->text;
    return field->kind == PARLEY_ABSENT ||
           (field->kind == PARLEY_STRING && field->text.length <= bytes_max);
}

static bool read_body(struct change *change) {
    const bool extends = change->what.kind == PARLEY_TASK_EXTEND;
    struct json_field fields[] = {
        {.name = "agent"}, {.name = extends ? "lease" : "after"}, {.name = "why"}};
    struct parley_bytes unknown;
    const enum json_fields_result result =
        json_fields_read(parley_buffer_bytes(&change->body.bytes), fields, extends ? 2 : 3,
                         &change->body.arena, &unknown);
    return result == JSON_FIELDS_READ && unknown.data == NULL && fields[0].kind == PARLEY_STRING &&
           read_text(&fields[0], SMALL_BODY_BYTES_MAX, &change->what.agent) &&
           read_seconds(&fields[1], extends ? LEASE_SECONDS_MIN : 0, &change->what.seconds) &&
           (extends || read_text(&fields[2], WHY_BYTES_MAX, &change->what.why));
}

static size_t on_body(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct change *change = state;
    return small_body_take(&change->body, request, bytes);
}

static void on_end(void *state, struct http_request *request) {
    struct change *change = state;
    if (!small_body_is_whole(&change->body, request)) {
        return;
    }
    if (!read_body(change)) {
        refuse(change, PROBLEM_MALFORMED,
               change->what.kind == PARLEY_TASK_EXTEND ? wants_extend : wants_release);
    } else if (task_agent_is_allowed(&change->options, request, change->what.agent)) {
        change->query.done = on_facts;
        if (tasks_open_query(&change->query, store_of(change), change->options.protocol,
                             change->id)) {
            ask(change);
        } else {
            refuse(change, PROBLEM_INTERNAL, "Out of memory.");
        }
    }
}

/* Its client is gone. A key that is being written is so all the same. */
static void on_closed(void *state, bool is_complete) {
    struct change *change = state;
    (void)is_complete;
    change->request = NULL;
    if (!change->is_writing) {
        destroy(change);
    }
}

/* ---- its beginning ---- */

void tasks_serve_change(struct tasks *tasks, struct http_request *request,
                        const struct parley_protocol *protocol, const char *id,
                        enum parley_task_change_kind kind) {
    static const struct http_handler handler = {
        .body = on_body, .end = on_end, .closed = on_closed};
    struct request_options options = {
        .gateway = tasks->gateway, .protocol = protocol, .task = INGEST_FORWARD};
    if (!task_options_read(&options, request)) {
        return;
    }
    struct change *change = calloc(1, sizeof *change);
    if (change == NULL || !request_options_keep(&change->options, &options)) {
        free(change);
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    small_body_init(&change->body, SMALL_BODY_BYTES_MAX);
    parley_arena_init(&change->arena, ARENA_BYTES_MAX);
    change->request = request;
    change->what.kind = kind;
    change->what.options = change->options.check.values; /* the operator's: none is a request's */
    if (!tasks_write_id(protocol, id, change->id)) {
        destroy(change);
        tasks_refuse_id(request, id);
        return;
    }
    change->what.id = parley_bytes_of(change->id);
    http_request_serve(request, &handler, change);
    http_commit(request);
}
