/* SPDX-License-Identifier: Apache-2.0 */

/* GET …/agents/{agent}/checkpoints/{id}, and …/agents/{agent}/restore. Both are JSON that is put
 * together from pieces, of which the largest, the agent's state, is copied as it is: it comes from
 * the message or, chunk by chunk, from the object store. A restore continues with the log. Long
 * steps (checking a message, unpacking a state, converting the answer) are done by the worker pool.
 */

#include "restore_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "phase.h"
#include "query_options.h"
#include "text.h"
#include "checkpoint_options.h"
#include "checkpoints.h"

void reading_enter(struct reading *reading, enum reading_phase phase) {
    static const unsigned allowed[] = {
        [READING_FINDING] = PHASE(READING_FETCHING) | PHASE(READING_OVER),
        [READING_FETCHING] = PHASE(READING_CHECKING) | PHASE(READING_OVER),
        [READING_CHECKING] = PHASE(READING_COPYING) | PHASE(READING_OVER),
        [READING_COPYING] = PHASE(READING_UNPACKING) | PHASE(READING_STARTING) |
                            PHASE(READING_ENDING) | PHASE(READING_OVER),
        [READING_UNPACKING] = PHASE(READING_STARTING) | PHASE(READING_OVER),
        [READING_STARTING] = PHASE(READING_LOGGING) | PHASE(READING_OVER),
        [READING_LOGGING] = PHASE(READING_ENDING) | PHASE(READING_OVER),
        [READING_ENDING] = PHASE(READING_CONVERTING) | PHASE(READING_OVER),
        [READING_CONVERTING] = PHASE(READING_OVER),
        [READING_OVER] = PHASE(READING_OVER),
    };
    reading->phase = (enum reading_phase)phase_after(allowed, reading->phase, phase);
}

void reading_be_patient(struct reading *reading) {
    reactor_timer_set(reading->scope.checkpoints->reactor, &reading->patience,
                      CHECKPOINT_PATIENCE_MS);
}

/* ---- its end ---- */

void reading_stop(struct reading *reading) {
    reading_enter(reading, READING_OVER);
    reactor_timer_clear(reading->scope.checkpoints->reactor, &reading->patience);
    checkpoint_scan_close(&reading->scan);
    jetstream_request_cancel(reading->asked);
    object_reader_close(reading->object);
    log_start_close(&reading->start);
    agent_log_close(&reading->log);
    reading->asked = NULL;
    reading->object = NULL;
}

static void destroy(struct reading *reading) {
    checkpoint_scope_leave(&reading->scope);
    checkpoint_answer_finish(&reading->answer);
    stored_checkpoint_finish(&reading->checkpoint, reading->scope.checkpoints);
    parley_buffer_finish(&reading->state);
    budget_uncover(reading->scope.checkpoints->budget, &reading->state_share);
    parley_message_finish(&reading->message);
    free(reading);
}

void reading_refuse(struct reading *reading, enum problem problem, const char *detail) {
    reading_stop(reading);
    if (reading->answer.phase == CHECKPOINT_GATHERING) {
        problem_respond(reading->request, problem, detail);
    } else {
        checkpoint_answer_break(&reading->answer);
    }
}

void reading_refuse_away(struct reading *reading, const char *error) {
    const char *trouble = jetstream_trouble(reading->scope.checkpoints->jetstream);
    char detail[512];
    trouble = trouble != NULL ? trouble : error;
    snprintf(detail, sizeof detail, "The checkpoint cannot be read%s%.300s. Ask again later.",
             trouble != NULL ? ": " : "", trouble != NULL ? trouble : "");
    reading_refuse(reading, PROBLEM_BUS_UNAVAILABLE, detail);
}

void reading_refuse_room(struct reading *reading) {
    reading_refuse(
        reading, PROBLEM_OVERLOADED,
        "There is no room to put the answer together (--gather-max). Ask for it as JSON, which "
        "is sent as it is read, or later.");
}

static void refuse_missing(struct reading *reading) {
    char detail[512];
    if (reading->is_last) {
        snprintf(detail, sizeof detail, "The stream %.100s has no checkpoint of the agent %s.",
                 reading->scope.stream, reading->scope.agent);
    } else {
        snprintf(detail, sizeof detail,
                 "The stream %.100s has no checkpoint of that id of the agent %s. "
                 "GET /v1/%s/agents/%s/checkpoints lists them.",
                 reading->scope.stream, reading->scope.agent, reading->scope.protocol->name,
                 reading->scope.agent);
    }
    reading_refuse(reading, PROBLEM_NOT_FOUND, detail);
}

void reading_fail(struct reading *reading, enum parley_status status) {
    if (status == PARLEY_E_LIMIT) {
        reading_refuse_room(reading);
    } else {
        reading_refuse(reading, PROBLEM_INTERNAL, parley_status_text(status));
    }
}

bool reading_add(struct reading *reading, struct parley_bytes text) {
    const enum parley_status status = checkpoint_answer_add(&reading->answer, text);
    if (status != PARLEY_OK) {
        reading_fail(reading, status);
    }
    return status == PARLEY_OK;
}

/* ---- tasks ---- */

void reading_run(struct reading *reading, void (*work)(struct checkpoint_task *task),
                 void (*done)(struct checkpoint_task *task)) {
    reactor_timer_clear(reading->scope.checkpoints->reactor, &reading->patience);
    reading->task = (struct checkpoint_task){.work = work, .done = done};
    checkpoint_task_run(&reading->task, reading->scope.checkpoints);
}

bool reading_goes_on(struct reading *reading) {
    if (reading->request == NULL) {
        destroy(reading);
        return false;
    }
    if (reading->phase != READING_OVER && reading->result != PARLEY_OK) {
        reading_fail(reading, reading->result);
    }
    if (reading->phase == READING_OVER) {
        return false;
    }
    reading_be_patient(reading);
    return true;
}

/* ---- the checkpoint ---- */

static void check(struct checkpoint_task *task) {
    struct reading *reading = reading_of(task);
    reading->result = stored_checkpoint_check(&reading->checkpoint, &reading->scope);
}

static void on_checked(struct checkpoint_task *task) {
    struct reading *reading = reading_of(task);
    if (!reading_goes_on(reading)) {
        return;
    }
    if (reading->checkpoint.is_valid) {
        reading_copy_state(reading);
    } else {
        refuse_missing(reading);
    }
}

static void on_held(void *context, const struct jetstream_held *held) {
    struct reading *reading = context;
    reading->asked = NULL;
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        reading_refuse_away(reading, held->error);
        return;
    }
    const enum stored_checkpoint_taken taken =
        held->found == JETSTREAM_HELD_FOUND
            ? stored_checkpoint_take(&reading->checkpoint, &reading->scope, held)
            : STORED_CHECKPOINT_NO_CHECKPOINT;
    switch (taken) {
    case STORED_CHECKPOINT_TAKEN:
        reading_enter(reading, READING_CHECKING);
        reading_run(reading, check, on_checked);
        break;
    case STORED_CHECKPOINT_NO_CHECKPOINT:
        refuse_missing(reading);
        break;
    case STORED_CHECKPOINT_NO_ROOM:
        reading_refuse_room(reading);
        break;
    case STORED_CHECKPOINT_NO_MEMORY:
        reading_fail(reading, PARLEY_E_MEMORY);
        break;
    }
}

static void fetch(struct reading *reading) {
    struct jetstream *jetstream = reading->scope.checkpoints->jetstream;
    reading_enter(reading, READING_FETCHING);
    reading->asked = reading->is_last
                         ? jetstream_last_held_ask(jetstream, reading->scope.stream,
                                                   reading->scope.subject, on_held, reading)
                         : jetstream_held_ask(jetstream, reading->scope.stream, reading->found,
                                              on_held, reading);
    if (reading->asked == NULL) {
        reading_refuse_away(reading, "NATS cannot be asked now");
    }
}

/* Takes the last of several with one id: a retry that came too late to be known as one. */
static void note(void *context, const struct scanned_checkpoint *entry) {
    struct reading *reading = context;
    if (strcasecmp(entry->id, reading->id) == 0) { /* UUIDs */
        reading->found = entry->sequence;
    }
}

static void on_scanned(void *context, const char *error) {
    struct reading *reading = context;
    reading_be_patient(reading);
    if (error != NULL) {
        reading_refuse_away(reading, error);
    } else if (reading->found == 0) {
        refuse_missing(reading);
    } else {
        fetch(reading);
    }
}

/* ---- requests ---- */

/* The client has taken all that there was. */
static void on_drained(struct checkpoint_answer *answer) {
    struct reading *reading = OWNER_OF(answer, struct reading, answer);
    if (reading->phase == READING_COPYING && reading->object != NULL) {
        object_reader_pull(reading->object);
    } else if (reading->phase == READING_LOGGING) {
        agent_log_go_on(&reading->log);
    }
}

static ssize_t read_answer(void *state, char *buffer, size_t size) {
    struct reading *reading = state;
    return checkpoint_answer_read(&reading->answer, buffer, size);
}

static void on_patience(struct reactor_timer *timer) {
    struct reading *reading = OWNER_OF(timer, struct reading, patience);
    if (checkpoint_answer_is_full(&reading->answer)) {
        reading_be_patient(reading); /* with the client: http has its own timeout */
    } else {
        reading_refuse_away(reading, "NATS did not send it in time");
    }
}

static void request_closed(void *state, bool is_complete) {
    struct reading *reading = state;
    (void)is_complete;
    reading_stop(reading);
    reading->request = NULL;
    if (!reading->task.is_busy) {
        destroy(reading);
    }
}

static const struct http_handler handler = {.closed = request_closed};

static void begin(struct reading *reading) {
    checkpoint_scope_enter(&reading->scope);
    parley_buffer_init(&reading->state);
    parley_message_init(&reading->message, reading->scope.schema);
    stored_checkpoint_init(&reading->checkpoint);
    http_request_serve(reading->request, &handler, reading);
    reading_be_patient(reading);
    if (reading->is_last) {
        fetch(reading);
        return;
    }
    reading->scan = (struct checkpoint_scan){
        .scope = &reading->scope, .note = note, .done = on_scanned, .context = reading};
    if (!checkpoint_scan_open(&reading->scan)) {
        reading_fail(reading, PARLEY_E_MEMORY);
    }
}

struct wanted {
    const char *agent, *id; /* id NULL: the last one */
    bool is_restore;
};

static void serve(struct checkpoints *checkpoints, struct http_request *request,
                  const struct parley_protocol *protocol, const struct wanted *wanted) {
    struct checkpoint_scope scope;
    struct checkpoint_answer answer;
    if (!checkpoint_scope_find(checkpoints, request, protocol, wanted->agent, &scope) ||
        !checkpoint_answer_init(&answer, checkpoints, request, protocol)) {
        return;
    }
    struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    reading->scope = scope;
    reading->request = request;
    reading->is_restore = wanted->is_restore;
    reading->is_last = wanted->id == NULL;
    reading->answer = answer;
    reading->answer.drained = on_drained;
    reading->answer.read = read_answer;
    reading->patience.fire = on_patience;
    const bool fits = wanted->id != NULL && strlen(wanted->id) < sizeof reading->id;
    snprintf(reading->id, sizeof reading->id, "%s", fits ? wanted->id : "");
    begin(reading);
}

void checkpoints_serve_one(struct checkpoints *checkpoints, struct http_request *request,
                           const struct parley_protocol *protocol, const char *agent,
                           const char *id) {
    const struct wanted wanted = {.agent = agent, .id = id};
    if (query_options_none(request)) {
        serve(checkpoints, request, protocol, &wanted);
    }
}

/* restore_options has one row. */
static bool set_checkpoint(void *context, size_t number, const char *value) {
    struct wanted *wanted = context;
    (void)number;
    wanted->id = value;
    return text_is_uuid(parley_bytes_of(value), false);
}

void checkpoints_serve_restore(struct checkpoints *checkpoints, struct http_request *request,
                               const struct parley_protocol *protocol, const char *agent) {
    struct wanted wanted = {.agent = agent, .is_restore = true};
    if (query_options_read(request, restore_options, set_checkpoint, &wanted)) {
        serve(checkpoints, request, protocol, &wanted);
    }
}
