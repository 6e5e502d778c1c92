/* SPDX-License-Identifier: Apache-2.0 */

/* See task_action.h.
 *
 *   READING ── the facts are there, and it may be ──▶ SENDING ──▶ ENDED
 *      │                                               ▲
 *      └── a retry: the request is fetched ──▶ FETCHING ┘
 *   any ── it may not be, or cannot ──▶ ENDED
 */

#include "task_action.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal_submit.h"
#include "json_fields.h"
#include "phase.h"
#include "stored_headers.h"
#include "tasks.h"

enum {
    ARENA_BYTES_MAX = 4 * 1024 * 1024, /* a request, decoded, and the facts */
    REPEATED_MAX = 8,                  /* members of a request */
    REUSED_MAX = 8,
};

enum action_phase { ACTION_READING, ACTION_FETCHING, ACTION_SENDING, ACTION_ENDED };

struct task_action {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    struct task_action_kind what; /* not once it was left */
    struct fact_query query;
    struct jetstream_request *asked;
    struct parley_arena arena;
    struct parley_task task; /* in the arena and the query */
    enum action_phase phase;
    unsigned reused_count; /* how often another message was stored with the id of this one */
    task_action_fn *done;  /* NULL: it was left */
    void *context;
    struct failure failure;
    char *members; /* of the problem, or NULL */
    struct reactor_timer end;
    char id[BOARD_ID_MAX], new_id[BOARD_ID_MAX];
};

static void enter(struct task_action *action, enum action_phase phase) {
    static const unsigned allowed[] = {
        [ACTION_READING] = PHASE(ACTION_READING) | PHASE(ACTION_FETCHING) | PHASE(ACTION_SENDING) |
                           PHASE(ACTION_ENDED),
        [ACTION_FETCHING] = PHASE(ACTION_SENDING) | PHASE(ACTION_ENDED),
        [ACTION_SENDING] = PHASE(ACTION_READING) | PHASE(ACTION_ENDED),
        [ACTION_ENDED] = 0,
    };
    action->phase = (enum action_phase)phase_after(allowed, action->phase, phase);
}

static void destroy(struct task_action *action) {
    reactor_timer_clear(action->gateway->reactor, &action->end);
    jetstream_request_cancel(action->asked);
    fact_query_finish(&action->query);
    parley_arena_finish(&action->arena);
    free(action->members);
    free(action);
}

/* ---- its end ---- */

static void on_end(struct reactor_timer *timer) {
    struct task_action *action = OWNER_OF(timer, struct task_action, end);
    const struct task_action_answer answer = {
        .failure = &action->failure,
        .text = parley_bytes_of(action->members != NULL ? action->members : ""),
        .new_id = ""};
    action->done(action->context, &answer);
    destroy(action);
}

/* `members` are NULL, or in what the action does not keep. */
static void fail_with(struct task_action *action, const struct failure *failure,
                      struct parley_bytes members) {
    enter(action, ACTION_ENDED);
    action->failure = *failure;
    action->members = members.length > 0 ? parley_bytes_copy(members) : NULL;
    reactor_timer_set(action->gateway->reactor, &action->end, 0);
}

static void fail(struct task_action *action, enum problem problem, const char *detail) {
    struct failure failure = {.problem = problem};
    snprintf(failure.detail, sizeof failure.detail, "%s", detail);
    fail_with(action, &failure, (struct parley_bytes){0});
}

/* ---- sending ---- */

static void ask(struct task_action *action, int64_t delay_ms);

/* A client that asks again learns what became of the task: what is done is done once. */
static struct failure unsure(const struct failure *failure) {
    struct failure other = *failure;
    if (failure->problem == PROBLEM_BUS_TIMEOUT) {
        other.problem = PROBLEM_BUS_UNAVAILABLE;
        snprintf(other.detail, sizeof other.detail,
                 "It is not known whether the message was stored. Ask again: it is stored once.");
    }
    return other;
}

/* By another gateway, at the same time, for another reason: its key comes in a moment. */
static bool is_cancelled_elsewhere(struct task_action *action,
                                   const struct internal_submit_answer *answer) {
    return answer->failure->problem == PROBLEM_ID_REUSED &&
           action->what.kind == PARLEY_TASK_CANCEL && action->reused_count++ < REUSED_MAX;
}

static void on_sent(void *context, const struct internal_submit_answer *answer) {
    struct task_action *action = context;
    if (action->done == NULL) {
        destroy(action);
    } else if (answer->is_stored) {
        const struct task_action_answer done = {
            .is_done = true, .text = answer->text, .new_id = action->new_id};
        action->done(action->context, &done);
        destroy(action);
    } else if (is_cancelled_elsewhere(action, answer)) {
        ask(action, FACT_RETRY_MS);
    } else {
        const struct failure failure = unsure(answer->failure);
        fail_with(action, &failure, answer->text);
    }
}

/* As strict as can be: a message that does not end its task is not stored. What is sent in the name
 * of the requester may be sent by who may do so for all. */
static struct request_options options_of(const struct task_action *action) {
    struct request_options options = *action->what.options;
    const struct parley_option *mode = action->protocol->facts->mode;
    options.codec = &parley_codec_json;
    options.check.stamp = false;
    if (action->what.kind == PARLEY_TASK_CANCEL) {
        options.check.only_sender = NULL;
        if (mode != NULL) {
            options.check.values[mode - action->protocol->options].number = PARLEY_LIFECYCLE_STRICT;
        }
    }
    return options;
}

/* `headers`: of a message whose options this one has, too; data NULL: of none. */
static void send_message(struct task_action *action, struct parley_buffer *text,
                         struct parley_bytes headers) {
    struct request_options options = options_of(action);
    options.check.now_seconds = clock_now_seconds();
    held_options(headers, action->protocol, &options.check);
    enum parley_status status = parley_buffer_status(text);
    enter(action, ACTION_SENDING);
    if (status == PARLEY_OK) {
        status = internal_submit_begin(&options, parley_buffer_bytes(text), on_sent, action);
    }
    if (status != PARLEY_OK) {
        fail(action, PROBLEM_INTERNAL, parley_status_text(status));
    }
}

static void cancel(struct task_action *action) {
    struct parley_buffer text;
    char now[32];
    clock_now_text(now);
    parley_buffer_init(&text);
    action->protocol->tasks->write_cancel(&action->task, action->what.why, now, &text);
    send_message(action, &text, (struct parley_bytes){0});
    parley_buffer_finish(&text);
}

/* ---- a retry ---- */

/* Appends the members of the request that the new one repeats, as they were written. */
static enum parley_status write_repeated(struct task_action *action, struct parley_bytes request,
                                         struct parley_buffer *out) {
    const char *const *names = action->protocol->tasks->repeated;
    struct json_field fields[REPEATED_MAX] = {{0}};
    size_t count = 0;
    while (count < REPEATED_MAX && names[count] != NULL) {
        fields[count].name = names[count];
        count++;
    }
    if (json_fields_read(request, fields, count, &action->arena, NULL) != JSON_FIELDS_READ) {
        return PARLEY_E_MEMORY; /* it was valid when it was stored */
    }
    for (size_t i = 0; i < count; i++) {
        if (fields[i].kind != PARLEY_ABSENT) {
            parley_buffer_format(out, ",\"%s\":", fields[i].name);
            parley_buffer_append(out, fields[i].raw);
        }
    }
    return parley_buffer_status(out);
}

static void note_new_id(struct task_action *action, struct parley_bytes message) {
    struct json_field id = {.name = "id"};
    if (json_fields_read(message, &id, 1, &action->arena, NULL) == JSON_FIELDS_READ &&
        id.text.length < sizeof action->new_id) {
        memcpy(action->new_id, id.text.data, id.text.length);
    }
}

static void send_retry(struct task_action *action, const struct jetstream_held *request) {
    struct parley_buffer members, text;
    char now[32];
    clock_now_text(now);
    parley_buffer_init(&members);
    parley_buffer_init(&text);
    if (write_repeated(action, request->payload, &members) == PARLEY_OK) {
        action->protocol->tasks->write_retry(parley_bytes_of(action->id), action->what.agent,
                                             parley_buffer_bytes(&members), now, &text);
        note_new_id(action, parley_buffer_bytes(&text));
        send_message(action, &text, request->headers);
    } else {
        fail(action, PROBLEM_INTERNAL, "The request of the task cannot be read.");
    }
    parley_buffer_finish(&members);
    parley_buffer_finish(&text);
}

static void on_fetched(void *context, const struct jetstream_held *held) {
    struct task_action *action = context;
    action->asked = NULL;
    if (held->found == JETSTREAM_HELD_FOUND) {
        send_retry(action, held);
    } else if (held->found == JETSTREAM_HELD_GONE) {
        fail(action, PROBLEM_GONE,
             "The request of the task is not in its stream any more: request it anew.");
    } else {
        fail(action, PROBLEM_BUS_UNAVAILABLE,
             "The request of the task could not be read from NATS. Ask again later.");
    }
}

static void fetch(struct task_action *action) {
    const struct parley_task *task = &action->task;
    const char *stream = parley_arena_copy(&action->arena, task->streams[PARLEY_TASK_REQUEST]);
    const uint64_t sequence = task->sequences[PARLEY_TASK_REQUEST];
    if (task->streams[PARLEY_TASK_REQUEST].data == NULL || sequence == 0) {
        fail(action, PROBLEM_GONE, "It is not known where the request of the task is stored.");
        return;
    }
    enter(action, ACTION_FETCHING);
    if (stream != NULL) {
        action->asked =
            jetstream_held_ask(action->gateway->jetstream, stream, sequence, on_fetched, action);
    }
    if (action->asked == NULL) {
        fail(action, PROBLEM_BUS_UNAVAILABLE, "NATS cannot be asked now. Ask again later.");
    }
}

/* ---- deciding ---- */

static enum parley_status read_task(struct task_action *action) {
    const struct parley_task_kind *kind = action->protocol->tasks;
    struct parley_bytes facts[PARLEY_TASK_FACTS];
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        facts[i] = parley_bytes_of(action->query.values[kind->places[i]]);
    }
    return kind->read(parley_bytes_of(action->id), facts, clock_now_seconds() * 1000,
                      &action->arena, &action->task);
}

static enum parley_status decide_by(struct task_action *action, struct parley_decision *out) {
    struct parley_known_facts known = {.is_final = true, .digest = ""};
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        known.values[i] = parley_bytes_of(action->query.values[i]);
    }
    const struct parley_task_change change = {.kind = action->what.kind,
                                              .id = parley_bytes_of(action->id),
                                              .agent = action->what.agent,
                                              .may_any = action->what.may_any,
                                              .now_seconds = clock_now_seconds(),
                                              .known = &known,
                                              .options = action->what.options->check.values};
    return action->protocol->tasks->change(&change, &action->arena, out);
}

static void refuse(struct task_action *action, const struct parley_decision *decision) {
    struct failure failure = {.problem = problem_of_name(decision->problem)};
    snprintf(failure.detail, sizeof failure.detail, "%.*s", (int)decision->detail.length,
             decision->detail.data);
    fail_with(action, &failure, decision->members);
}

static void decide(struct task_action *action) {
    struct parley_decision decision;
    parley_arena_reset(&action->arena);
    enum parley_status status = read_task(action);
    if (status == PARLEY_OK && action->task.from.data == NULL) {
        fail(action, PROBLEM_NOT_FOUND,
             "There is no task with this id, or its request is forgotten.");
        return;
    }
    if (status == PARLEY_OK) {
        status = decide_by(action, &decision);
    }
    if (status != PARLEY_OK) {
        fail(action, PROBLEM_INTERNAL, parley_status_text(status));
    } else if (decision.kind == PARLEY_DECISION_REFUSED) {
        refuse(action, &decision);
    } else if (action->what.kind == PARLEY_TASK_CANCEL) {
        cancel(action);
    } else {
        fetch(action);
    }
}

static void on_facts(struct fact_query *query) {
    struct task_action *action = OWNER_OF(query, struct task_action, query);
    if (query->has_failed) {
        fail(action, PROBLEM_BUS_UNAVAILABLE,
             query->error != NULL ? query->error : "Out of memory.");
    } else {
        decide(action);
    }
}

static void ask(struct task_action *action, int64_t delay_ms) {
    enter(action, ACTION_READING);
    if (!fact_query_begin(&action->query, delay_ms)) {
        const struct failure failure = failure_of_refusal(action->what.options, JETSTREAM_AWAY);
        fail_with(action, &failure, (struct parley_bytes){0});
    }
}

/* ---- its beginning ---- */

enum parley_status task_action_begin(const struct task_action_kind *what, const char *id,
                                     task_action_fn *done, void *context,
                                     struct task_action **out) {
    struct fact_store *store = gateway_fact_store(what->options->gateway, what->options->protocol);
    struct task_action *action = calloc(1, sizeof *action);
    if (action == NULL) {
        return PARLEY_E_MEMORY;
    }
    action->gateway = what->options->gateway;
    action->protocol = what->options->protocol;
    action->what = *what;
    action->done = done;
    action->context = context;
    action->end.fire = on_end;
    action->query.done = on_facts;
    snprintf(action->id, sizeof action->id, "%s", id);
    parley_arena_init(&action->arena, ARENA_BYTES_MAX);
    if (!tasks_open_query(&action->query, store, what->options->protocol, id)) {
        destroy(action);
        return PARLEY_E_MEMORY;
    }
    *out = action;
    ask(action, 0);
    return PARLEY_OK;
}

void task_action_leave(struct task_action *action) {
    if (action == NULL) {
        return;
    }
    action->done = NULL;
    if (action->phase != ACTION_SENDING) {
        destroy(action);
    }
}
