/* SPDX-License-Identifier: Apache-2.0 */

#include "intake.h"

#include "phase.h"

/* What a splitter may keep allocated between two messages, when none of it is counted. */
enum { SLICE_KEPT_BYTES = 64 * 1024 };

static void enter(struct intake *intake, enum intake_phase phase) {
    static const unsigned allowed[] = {
        [INTAKE_READING] = PHASE(INTAKE_SHEDDING) | PHASE(INTAKE_CHECKING),
        [INTAKE_SHEDDING] = PHASE(INTAKE_READING),
        [INTAKE_CHECKING] = PHASE(INTAKE_HANDLING),
        [INTAKE_HANDLING] = PHASE(INTAKE_READING) | PHASE(INTAKE_HOLDING),
        [INTAKE_HOLDING] = PHASE(INTAKE_READING),
    };
    intake->phase = (enum intake_phase)phase_after(allowed, intake->phase, phase);
}

void intake_init(struct intake *intake, struct request_options *options,
                 enum parley_framing framing, const struct intake_events *events) {
    intake->options = options;
    intake->events = events;
    parley_splitter_init(&intake->splitter, framing, request_message_bytes_max(options));
}

/* The splitter holds nothing, and what it handed out is not used any more. */
static void release_slice(struct intake *intake) {
    parley_splitter_release(&intake->splitter);
    budget_uncover(intake->options->gateway->budget, &intake->held);
}

void intake_finish(struct intake *intake) {
    assert(intake_is_open(intake));
    release_slice(intake);
    parley_splitter_finish(&intake->splitter);
}

/* ---- large messages ---- */

void intake_hold(struct intake *intake) {
    enter(intake, INTAKE_HOLDING);
}

void intake_release(struct intake *intake) {
    if (intake->offload != NULL) {
        enter(intake, INTAKE_READING);
        offload_release(intake->offload);
        intake->offload = NULL;
    }
    release_slice(intake);
}

static void on_offload_done(struct offload *offload, void *context) {
    struct intake *intake = context;
    const struct verdict verdict = {.message = &offload->message,
                                    .slice = &offload->slice,
                                    .status = offload->status,
                                    .offload = offload};
    enter(intake, INTAKE_HANDLING);
    parley_splitter_note_verdict(&intake->splitter, &offload->message);
    intake->events->on_verdict(intake, &verdict);
    if (intake->phase == INTAKE_HANDLING) {
        intake_release(intake);
    }
    intake->events->on_offload_done(intake);
}

/* Returns: whether the worker pool has it now. */
static bool begin_offload(struct intake *intake, enum parley_split split,
                          const struct parley_slice *slice) {
    if (split != PARLEY_SPLIT_MESSAGE || !parley_splitter_keeps(&intake->splitter, slice)) {
        return false;
    }
    intake->offload = offload_begin(intake->options, slice, on_offload_done, intake);
    if (intake->offload != NULL) {
        enter(intake, INTAKE_CHECKING);
    }
    return intake->offload != NULL;
}

/* ---- all messages ---- */

static void check(struct intake *intake, enum parley_split split,
                  const struct parley_slice *slice) {
    struct request_options *options = intake->options;
    const enum parley_status status = check_slice(options, split, slice, &intake->splitter);
    const struct verdict verdict = {.message = gateway_message(options->gateway, options->protocol),
                                    .slice = slice,
                                    .status = status};
    intake->events->on_verdict(intake, &verdict);
}

/* Whether `split` is the message that was shed. */
static bool end_shedding(struct intake *intake, enum parley_split split) {
    if (intake->phase != INTAKE_SHEDDING) {
        return false;
    }
    enter(intake, INTAKE_READING);
    return split == PARLEY_SPLIT_SIZE;
}

static void handle_slice(struct intake *intake, enum parley_split split,
                         const struct parley_slice *slice) {
    if (end_shedding(intake, split)) {
        intake->events->on_overloaded(intake, slice);
    } else if (!begin_offload(intake, split, slice)) {
        check(intake, split, slice);
    }
    if (intake->offload == NULL &&
        (budget_is_taken(&intake->held) || slice->bytes.length > SLICE_KEPT_BYTES)) {
        release_slice(intake);
    }
}

static enum parley_split handle(struct intake *intake, enum parley_split split,
                                const struct parley_slice *slice) {
    switch (split) {
    case PARLEY_SPLIT_MESSAGE:
    case PARLEY_SPLIT_SIZE:
    case PARLEY_SPLIT_FAULT:
        handle_slice(intake, split, slice);
        break;
    case PARLEY_SPLIT_MEMORY:
        release_slice(intake);
        break;
    case PARLEY_SPLIT_MORE:
    case PARLEY_SPLIT_END:
        break;
    }
    return split;
}

enum parley_split intake_next(struct intake *intake, struct parley_bytes *input) {
    struct parley_slice slice;
    const enum parley_split split = parley_splitter_next(&intake->splitter, input, &slice);
    return handle(intake, split, &slice);
}

enum parley_split intake_end(struct intake *intake) {
    struct parley_slice slice;
    const enum parley_split split = parley_splitter_end(&intake->splitter, &slice);
    return handle(intake, split, &slice);
}

enum parley_split intake_break(struct intake *intake, const struct body_fault *fault) {
    struct parley_slice slice;
    parley_splitter_break(&intake->splitter, fault->text, fault->hint, &slice);
    if (fault->text != NULL) {
        return handle(intake, PARLEY_SPLIT_FAULT, &slice);
    }
    intake->events->on_overloaded(intake, &slice);
    return PARLEY_SPLIT_END;
}

/* ---- the budget ---- */

bool intake_cover(struct intake *intake) {
    return budget_cover(intake->options->gateway->budget, &intake->held,
                        parley_splitter_held_bytes(&intake->splitter));
}

void intake_shed(struct intake *intake) {
    if (intake->phase == INTAKE_READING) {
        enter(intake, INTAKE_SHEDDING);
    }
    parley_splitter_pass_by(&intake->splitter);
    budget_uncover(intake->options->gateway->budget, &intake->held);
}
