/* SPDX-License-Identifier: Apache-2.0 */

/* The agent's state: as it is in the message or the object store; of a restore, unpacked. */

#include "restore_reader.h"

#include <stdio.h>

#include "clock_and_ids.h"

/* ---- the state ---- */

static bool is_to_be_unpacked(const struct reading *reading) {
    return reading->is_restore && reading->checkpoint.says.is_packed;
}

static bool add_restore(struct reading *reading) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    restore_of(reading)->begin(reading->checkpoint.id, clock_now_seconds(), &text);
    const bool has_failed = text.has_failed;
    const bool is_added = !has_failed && reading_add(reading, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
    if (has_failed) {
        reading_fail(reading, PARLEY_E_MEMORY);
    }
    return is_added;
}

/* Nothing is sent before it is known that there is a state. */
static bool add_state(struct reading *reading, struct parley_bytes bytes) {
    if (!reading->has_begun) {
        reading->has_begun = true;
        const bool is_added = reading->is_restore
                                  ? add_restore(reading)
                                  : reading_add(reading, cut(payload_of(reading), 0,
                                                             reading->checkpoint.state_start));
        if (!is_added) {
            return false;
        }
    }
    return reading_add(reading, bytes);
}

static void unpack(struct checkpoint_task *task) {
    struct reading *reading = reading_of(task);
    struct parley_buffer out;
    parley_buffer_init(&out);
    reading->result = restore_of(reading)->unpack(parley_buffer_bytes(&reading->state), &out);
    parley_buffer_finish(&reading->state);
    reading->state = out;
}

static void on_unpacked(struct checkpoint_task *task) {
    struct reading *reading = reading_of(task);
    if (!reading_goes_on(reading)) {
        return;
    }
    if (add_state(reading, parley_buffer_bytes(&reading->state))) {
        parley_buffer_finish(&reading->state);
        parley_buffer_init(&reading->state);
        budget_uncover(reading->scope.checkpoints->budget, &reading->state_share);
        reading_end_state(reading);
    }
}

static bool hold_state(struct reading *reading, struct parley_bytes bytes) {
    if (!budget_cover(reading->scope.checkpoints->budget, &reading->state_share,
                      reading->state.length + bytes.length)) {
        reading_refuse_room(reading);
        return false;
    }
    parley_buffer_append(&reading->state, bytes);
    if (reading->state.has_failed) {
        reading_fail(reading, PARLEY_E_MEMORY);
    }
    return !reading->state.has_failed;
}

/* A piece of it. */
static bool take_state(struct reading *reading, struct parley_bytes bytes) {
    return is_to_be_unpacked(reading) ? hold_state(reading, bytes) : add_state(reading, bytes);
}

/* All of it is here. */
static void finish_state(struct reading *reading) {
    if (is_to_be_unpacked(reading)) {
        reading_enter(reading, READING_UNPACKING);
        reading_run(reading, unpack, on_unpacked);
    } else {
        reading_end_state(reading);
    }
}

static void refuse_wrong(struct reading *reading) {
    reading_refuse(reading, PROBLEM_INTERNAL,
                   "The object that holds the checkpoint is not the one that its message "
                   "describes, or parts of it are missing in NATS.");
}

static void refuse_gone(struct reading *reading) {
    const struct checkpoint_scope *scope = &reading->scope;
    char detail[512];
    snprintf(detail, sizeof detail,
             "The object that holds the checkpoint %s is not kept any more. "
             "GET /v1/%s/agents/%s/checkpoints lists those that are, as \"gone\":false, and "
             "`restore?checkpoint=ID` goes on from one of them.",
             reading->checkpoint.id, scope->protocol->name, scope->agent);
    reading_refuse(reading, PROBLEM_GONE, detail);
}

static void on_bytes(void *context, struct parley_bytes bytes) {
    struct reading *reading = context;
    reading_be_patient(reading);
    if (json_span_take(&reading->fence, bytes)) {
        take_state(reading, bytes);
    } else {
        refuse_wrong(reading);
    }
}

/* Whatever does not wait for the client is pulled at once. */
static void on_pulled(void *context) {
    const struct reading *reading = context;
    if (!checkpoint_answer_is_full(&reading->answer)) {
        object_reader_pull(reading->object);
    }
}

static void on_object_ended(void *context, enum object_end how) {
    struct reading *reading = context;
    switch (how) {
    case OBJECT_WHOLE:
        if (reading->fence.position == JSON_SPAN_AFTER) {
            finish_state(reading);
        } else {
            refuse_wrong(reading);
        }
        break;
    case OBJECT_GONE:
        refuse_gone(reading);
        break;
    case OBJECT_WRONG:
        refuse_wrong(reading);
        break;
    case OBJECT_UNREACHABLE:
        reading_refuse_away(reading, NULL);
        break;
    case OBJECT_NO_MEMORY:
        reading_fail(reading, PARLEY_E_MEMORY);
        break;
    }
}

static void open_object(struct reading *reading) {
    const struct object_reader_events events = {
        .bytes = on_bytes, .pulled = on_pulled, .ended = on_object_ended, .context = reading};
    const enum parley_status status = object_reader_open(
        reading->scope.checkpoints->jetstream, reading->scope.channel->object_bucket,
        &reading->checkpoint.pointer, &events, &reading->object);
    if (status == PARLEY_E_IO) {
        reading_refuse_away(reading, "NATS cannot be asked now");
    } else if (status != PARLEY_OK) {
        reading_fail(reading, status);
    }
}

void reading_copy_state(struct reading *reading) {
    reading_enter(reading, READING_COPYING);
    if (reading->checkpoint.has_object) {
        open_object(reading);
    } else if (take_state(reading, cut(payload_of(reading), reading->checkpoint.state_start,
                                       reading->checkpoint.state_end))) {
        finish_state(reading);
    }
}
