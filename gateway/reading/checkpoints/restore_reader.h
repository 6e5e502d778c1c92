/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One request for a checkpoint or a restore, in three files: restore_reader.c begins it and finds
 * the checkpoint, restore_state.c copies the state, restore_tail.c adds the log and ends it.
 * Private to these. */

#include "object_reader.h"
#include "problem.h"
#include "checkpoint_answer.h"
#include "stored_checkpoint.h"
#include "json_span.h"
#include "agent_log.h"
#include "checkpoint_scan.h"
#include "log_start.h"
#include "checkpoint_task.h"

/*   FINDING ── its headers (of one by its id) ──▶ FETCHING ──▶ CHECKING ──▶ COPYING the state
 *
 *   COPYING ──▶ ENDING, of a checkpoint
 *   COPYING ── of a restore, packed ──▶ UNPACKING ──▶ STARTING
 *   COPYING ── of a restore ──▶ STARTING (where the log begins) ──▶ LOGGING ──▶ ENDING
 *   ENDING ── in another encoding ──▶ CONVERTING ──▶ OVER
 *   ENDING ──▶ OVER
 *   any ── it cannot go on, or its client is gone ──▶ OVER
 */
enum reading_phase {
    READING_FINDING,
    READING_FETCHING,
    READING_CHECKING,
    READING_COPYING,
    READING_UNPACKING,
    READING_STARTING,
    READING_LOGGING,
    READING_ENDING,
    READING_CONVERTING,
    READING_OVER,
};

struct reading {
    struct checkpoint_scope scope;
    struct http_request *request; /* NULL once it is gone */
    enum reading_phase phase;
    bool is_restore;
    bool is_last;            /* the last one is asked for … */
    char id[STORED_ID_SIZE]; /* … or the one with this id; "": with one that none has */
    uint64_t found;          /* its sequence; 0: it was not found */
    struct reactor_timer patience;
    struct checkpoint_answer answer;
    struct checkpoint_scan scan;
    struct jetstream_request *asked;
    struct stored_checkpoint checkpoint;
    struct object_reader *object;
    struct json_span fence;     /* of its bytes */
    struct parley_buffer state; /* to be unpacked, then the unpacked text */
    struct budget_share state_share;
    struct checkpoint_task task;
    enum parley_status result;     /* of the task */
    struct parley_message message; /* of the log */
    struct log_start start;
    struct agent_log log;
    bool has_begun;   /* the answer has the part before the state */
    bool has_entries; /* … and an entry of the log */
};

static inline const struct parley_restore *restore_of(const struct reading *reading) {
    return reading->scope.protocol->restore;
}

static inline struct parley_bytes payload_of(const struct reading *reading) {
    return parley_buffer_bytes(&reading->checkpoint.payload);
}

static inline struct parley_bytes cut(struct parley_bytes text, size_t start, size_t end) {
    return (struct parley_bytes){text.data + start, end - start};
}

/* ---- restore_reader.c ---- */

void reading_enter(struct reading *reading, enum reading_phase phase);
/* Something has come: it has its whole patience again. */
void reading_be_patient(struct reading *reading);
/* Nothing more is read. */
void reading_stop(struct reading *reading);
/* Its end: a problem, or the answer is broken off. */
void reading_refuse(struct reading *reading, enum problem problem, const char *detail);
/* `error`: half a sentence, or NULL. */
void reading_refuse_away(struct reading *reading, const char *error);
void reading_refuse_room(struct reading *reading);
void reading_fail(struct reading *reading, enum parley_status status);
/* Adds to the answer.  Returns: false: that was its end. */
bool reading_add(struct reading *reading, struct parley_bytes text);
/* Runs a long task elsewhere; `done` begins with reading_goes_on. */
void reading_run(struct reading *reading, void (*work)(struct checkpoint_task *task),
                 void (*done)(struct checkpoint_task *task));
static inline struct reading *reading_of(struct checkpoint_task *task) {
    return OWNER_OF(task, struct reading, task);
}
/* Whether it continues after its task; else it has ended, and is freed if its request is gone. */
bool reading_goes_on(struct reading *reading);

/* ---- restore_state.c ---- */

/* Copies the state of the checkpoint, which was checked. */
void reading_copy_state(struct reading *reading);

/* ---- restore_tail.c ---- */

/* Called once the state is in the answer: adds the part after it. */
void reading_end_state(struct reading *reading);
