/* SPDX-License-Identifier: Apache-2.0 */

#include "body_splitter.h"

#include "phase.h"

/* The memory that a splitter may keep between two messages, when none of it is counted. */
enum { SLICE_KEPT_BYTES = 64 * 1024 };

static void enter(struct body_splitter *intake, enum body_splitter_phase phase) {
    static const unsigned allowed[] = {
        [BODY_SPLITTER_READING] = PHASE(BODY_SPLITTER_SHEDDING) | PHASE(BODY_SPLITTER_CHECKING),
        [BODY_SPLITTER_SHEDDING] = PHASE(BODY_SPLITTER_READING),
        [BODY_SPLITTER_CHECKING] = PHASE(BODY_SPLITTER_HANDLING),
        [BODY_SPLITTER_HANDLING] = PHASE(BODY_SPLITTER_READING) | PHASE(BODY_SPLITTER_HOLDING),
        [BODY_SPLITTER_HOLDING] = PHASE(BODY_SPLITTER_READING),
    };
    intake->phase = (enum body_splitter_phase)phase_after(allowed, intake->phase, phase);
}

void body_splitter_init(struct body_splitter *intake, struct request_options *options,
                        enum parley_framing framing, const struct body_splitter_events *events) {
    intake->options = options;
    intake->events = events;
    parley_splitter_init(&intake->splitter, framing, request_message_bytes_max(options));
}

/* Called once the splitter holds nothing, and its last message is no longer used. */
static void release_slice(struct body_splitter *intake) {
    parley_splitter_release(&intake->splitter);
    budget_uncover(intake->options->gateway->budget, &intake->held);
}

void body_splitter_finish(struct body_splitter *intake) {
    assert(body_splitter_is_open(intake));
    release_slice(intake);
    parley_splitter_finish(&intake->splitter);
}

/* ---- large messages ---- */

void body_splitter_hold(struct body_splitter *intake) {
    enter(intake, BODY_SPLITTER_HOLDING);
}

void body_splitter_release(struct body_splitter *intake) {
    if (intake->offload != NULL) {
        enter(intake, BODY_SPLITTER_READING);
        offload_release(intake->offload);
        intake->offload = NULL;
    }
    release_slice(intake);
}

static void on_offload_done(struct offload *offload, void *context) {
    struct body_splitter *intake = context;
    const struct verdict verdict = {.message = &offload->message,
                                    .slice = &offload->slice,
                                    .status = offload->status,
                                    .offload = offload};
    enter(intake, BODY_SPLITTER_HANDLING);
    parley_splitter_note_verdict(&intake->splitter, &offload->message);
    intake->events->on_verdict(intake, &verdict);
    if (intake->phase == BODY_SPLITTER_HANDLING) {
        body_splitter_release(intake);
    }
    intake->events->on_offload_done(intake);
}

/* Returns: whether the worker pool has it now. */
static bool begin_offload(struct body_splitter *intake, enum parley_split split,
                          const struct parley_slice *slice) {
    if (split != PARLEY_SPLIT_MESSAGE || !parley_splitter_keeps(&intake->splitter, slice)) {
        return false;
    }
    intake->offload = offload_begin(intake->options, slice, on_offload_done, intake);
    if (intake->offload != NULL) {
        enter(intake, BODY_SPLITTER_CHECKING);
    }
    return intake->offload != NULL;
}

/* ---- all messages ---- */

struct kept_message *body_splitter_take(struct body_splitter *intake) {
    struct kept_message *kept = intake->kept;
    intake->kept = NULL;
    return kept;
}

/* The bytes of a message that may wait are copied first: the splitter's do not stay. */
static struct kept_message *keep(struct body_splitter *intake, struct parley_slice *slice) {
    struct kept_message *kept = kept_message_take(intake->options);
    if (kept != NULL && !kept_message_copy(kept, &slice->bytes)) {
        kept_message_release(intake->options->gateway, kept);
        kept = NULL;
    }
    return kept;
}

static void check(struct body_splitter *intake, enum parley_split split,
                  const struct parley_slice *slice) {
    struct request_options *options = intake->options;
    struct parley_slice own = *slice;
    intake->kept = split == PARLEY_SPLIT_MESSAGE ? keep(intake, &own) : NULL;
    const enum parley_status status =
        check_slice(options, intake->kept, split, &own, &intake->splitter);
    const struct verdict verdict = {.message = check_object(options, intake->kept),
                                    .slice = &own,
                                    .status = status,
                                    .kept = intake->kept};
    intake->events->on_verdict(intake, &verdict);
    kept_message_release(options->gateway, body_splitter_take(intake));
}

/* Whether `split` is the message that was shed. */
static bool end_shedding(struct body_splitter *intake, enum parley_split split) {
    if (intake->phase != BODY_SPLITTER_SHEDDING) {
        return false;
    }
    enter(intake, BODY_SPLITTER_READING);
    return split == PARLEY_SPLIT_SIZE;
}

static void handle_slice(struct body_splitter *intake, enum parley_split split,
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

static enum parley_split handle(struct body_splitter *intake, enum parley_split split,
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

enum parley_split body_splitter_next(struct body_splitter *intake, struct parley_bytes *input) {
    struct parley_slice slice;
    const enum parley_split split = parley_splitter_next(&intake->splitter, input, &slice);
    return handle(intake, split, &slice);
}

enum parley_split body_splitter_end(struct body_splitter *intake) {
    struct parley_slice slice;
    const enum parley_split split = parley_splitter_end(&intake->splitter, &slice);
    return handle(intake, split, &slice);
}

enum parley_split body_splitter_break(struct body_splitter *intake,
                                      const struct body_fault *fault) {
    struct parley_slice slice;
    parley_splitter_break(&intake->splitter, fault->text, fault->hint, &slice);
    if (fault->text != NULL) {
        return handle(intake, PARLEY_SPLIT_FAULT, &slice);
    }
    intake->events->on_overloaded(intake, &slice);
    return PARLEY_SPLIT_END;
}

/* ---- the budget ---- */

bool body_splitter_cover(struct body_splitter *intake) {
    return budget_cover(intake->options->gateway->budget, &intake->held,
                        parley_splitter_held_bytes(&intake->splitter));
}

void body_splitter_shed(struct body_splitter *intake) {
    if (intake->phase == BODY_SPLITTER_READING) {
        enter(intake, BODY_SPLITTER_SHEDDING);
    }
    parley_splitter_pass_by(&intake->splitter);
    budget_uncover(intake->options->gateway->budget, &intake->held);
}
