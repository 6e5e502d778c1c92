/* SPDX-License-Identifier: Apache-2.0 */

#include "batch_pending.h"

#include <stdlib.h>

/* A message that waits, or that may be examined again after it was published. */
struct pending {
    struct batch_pending *line;
    struct pending *next; /* in line */
    struct batch_result *result;
    bool has_offload;          /* the intake's holds the message … */
    struct kept_message *kept; /* … or this does; NULL, too: it is checked again */
    size_t text_length;        /* in the window */
    char text[];               /* only of what is checked again */
};

static struct batch_pending *line_of(const struct submission *submission) {
    return OWNER_OF(submission->submitter, struct batch_pending, submitter);
}

static struct batch_result *result_of(struct submission *submission) {
    return OWNER_OF(submission, struct batch_result, submission);
}

static void release_message(struct pending *one) {
    if (one->has_offload) {
        one->has_offload = false;
        body_splitter_release(one->line->intake);
    }
    kept_message_release(one->line->results->options->gateway, one->kept);
    one->kept = NULL;
}

static void free_pending(struct pending *one) {
    if (one != NULL) {
        one->line->results->window_bytes -= one->text_length;
        release_message(one);
        one->result->pending = NULL;
        free(one);
    }
}

/* Takes the first out of the line. */
static struct batch_result *pop(struct batch_pending *pending) {
    struct pending *first = pending->first;
    pending->first = first->next;
    if (pending->first == NULL) {
        pending->end = &pending->first;
    }
    return first->result;
}

void batch_pending_drop(struct batch_pending *pending) {
    jetstream_wait_cancel(pending->submitter.options->gateway->jetstream, &pending->waiter);
    while (pending->first != NULL) {
        struct batch_result *result = pop(pending);
        free_pending(result->pending);
        submission_end(&result->submission);
    }
}

static void wait_for_room(struct batch_pending *pending) {
    pending->waiter.share = pending->submitter.share;
    jetstream_wait_for_room(pending->submitter.options->gateway->jetstream, &pending->waiter);
}

/* ---- outcomes of a submission ---- */

/* The window has what its receipt takes. */
static void count_receipt(struct batch_result *result) {
    const size_t length = result->submission.receipt.text.length;
    result->results->window_bytes += length - result->counted_bytes;
    result->counted_bytes = length;
}

/* It is no longer in line or under way. */
static void end(struct batch_result *result, const struct submission_outcome *outcome) {
    count_receipt(result);
    if (result->results->outlet.options.request == NULL) {
        free_pending(result->pending);
        submission_end(&result->submission);
        return;
    }
    free_pending(result->pending);
    batch_result_end_submitted(result, outcome);
}

static void end_checked(struct batch_result *result, const struct verdict *verdict) {
    struct pending *one = result->pending;
    if (verdict->status != PARLEY_OK) {
        batch_result_end_internal(result, verdict->status);
    } else {
        batch_result_end_verdict(result, verdict);
    }
    free_pending(one);
}

/* It was published. */
static void follow(struct batch_result *result) {
    line_of(&result->submission)->awaited_reply_count++;
    count_receipt(result);
    if (result->submission.deciding == NULL) {
        free_pending(result->pending);
    }
}

static void follow_halt(struct batch_result *result, struct parley_message *message) {
    batch_result_note_invalid(result, message, true);
    result->counted_bytes = result->submission.receipt.text.length;
    follow(result);
}

/* Decides on the first in line, or on one that need not wait.  `verdict` NULL: it has waited.
 * Returns: false: it must wait longer. */
static bool go(struct batch_pending *pending, struct batch_result *result,
               const struct verdict *verdict) {
    struct submission_outcome outcome;
    const enum submission_step step = submission_go(&result->submission, verdict, &outcome);
    if (step == SUBMISSION_IS_FULL) {
        wait_for_room(pending);
    }
    if (step == SUBMISSION_IS_FULL || step == SUBMISSION_WAITS) {
        return false;
    }
    if (result->pending != NULL) {
        (void)pop(pending);
    }
    if (step == SUBMISSION_GOES) {
        follow(result);
    } else if (step == SUBMISSION_HALTS) {
        follow_halt(result, outcome.verdict.message);
    } else if (step == SUBMISSION_CHECKED) {
        end_checked(result, &outcome.verdict);
    } else {
        end(result, &outcome);
    }
    return true;
}

/* Continues in the order sent, up to one that must wait longer. */
static void go_on(struct batch_pending *pending) {
    bool is_moving = true;
    while (is_moving && pending->first != NULL && !batch_pending_is_blocked(pending) &&
           pending->first->result->submission.phase == SUBMISSION_READY) {
        is_moving = go(pending, pending->first->result, NULL);
    }
}

static void on_ready(struct submission *submission) {
    struct batch_pending *pending = line_of(submission);
    if (pending->first != result_of(submission)->pending) {
        submission_foresee(submission);
        return;
    }
    go_on(pending);
    pending->on_moved(pending);
}

static void on_sent(struct submission *submission) {
    struct pending *one = result_of(submission)->pending;
    submission->offload = NULL;
    submission->kept = NULL;
    if (one != NULL) {
        release_message(one);
    }
}

static void on_settled(struct submission *submission, const struct submission_outcome *outcome) {
    struct batch_pending *pending = line_of(submission);
    pending->awaited_reply_count--;
    end(result_of(submission), outcome);
    pending->on_moved(pending);
}

static void on_capacity(struct jetstream_waiter *waiter) {
    struct batch_pending *pending = OWNER_OF(waiter, struct batch_pending, waiter);
    go_on(pending);
    pending->on_moved(pending);
}

static void on_released(struct halt_hold *hold) {
    struct batch_pending *pending = OWNER_OF(hold, struct batch_pending, hold);
    go_on(pending);
    pending->on_moved(pending);
}

void batch_pending_close(struct batch_pending *pending) {
    struct submission_outcome outcome;
    pending->submitter.is_unread = true;
    for (struct batch_result *result = pending->results->first; result != NULL;
         result = result->next) {
        if (submission_close(&result->submission, &outcome)) {
            pending->awaited_reply_count--;
            end(result, &outcome);
        }
    }
}

/* ---- in line ---- */

/* Copies the text of the message, unless its object is kept, or it was offloaded: nothing after
 * that is read.  Returns: NULL: no memory. */
static struct pending *create_pending(struct batch_pending *pending, struct batch_result *result,
                                      const struct verdict *verdict) {
    const struct parley_bytes text = verdict->slice->bytes;
    const bool is_copied = verdict->offload == NULL && verdict->kept == NULL;
    struct pending *one = malloc(sizeof *one + (is_copied ? text.length : 0));
    if (one != NULL) {
        *one = (struct pending){.line = pending,
                                .result = result,
                                .has_offload = verdict->offload != NULL,
                                .text_length = text.length};
    }
    if (one != NULL && is_copied) {
        memcpy(one->text, text.data, text.length);
    }
    return one;
}

/* `one` NULL: no memory. */
static void wait_in_line(struct batch_pending *pending, struct batch_result *result,
                         struct pending *one) {
    if (one == NULL) {
        batch_result_end_internal(result, PARLEY_E_MEMORY);
        return;
    }
    if (one->has_offload) {
        body_splitter_hold(pending->intake);
    } else if (pending->intake->kept != NULL) {
        one->kept = body_splitter_take(pending->intake);
    } else {
        result->submission.slice.bytes.data = one->text;
    }
    result->pending = one;
    pending->results->window_bytes += one->text_length;
    *pending->end = one;
    pending->end = &one->next;
}

void batch_pending_finish(struct batch_pending *pending, struct batch_result *result,
                          const struct verdict *verdict, const struct parley_route *route) {
    struct submission *submission = &result->submission;
    const bool is_first = pending->first == NULL && !batch_pending_is_blocked(pending);
    const bool waits = route != NULL || !is_first;
    struct pending *one = waits ? create_pending(pending, result, verdict) : NULL;
    if ((waits && one == NULL) ||
        submission_begin(submission, &pending->submitter, verdict, route) != PARLEY_OK) {
        free(one);
        batch_result_end_internal(result, PARLEY_E_MEMORY);
        return;
    }
    if (waits) {
        wait_in_line(pending, result, one);
    }
    if (is_first && submission->phase == SUBMISSION_READY && !go(pending, result, verdict) &&
        !waits) {
        wait_in_line(pending, result, create_pending(pending, result, verdict));
    }
    go_on(pending);
}

static enum receipt_form form_of(const struct request_options *options) {
    switch (options->results) {
    case RESULTS_ALL:
        return RECEIPT_LINE;
    case RESULTS_ERRORS:
        return RECEIPT_ID_ONLY;
    case RESULTS_SUMMARY:
        break;
    }
    return RECEIPT_NONE;
}

void batch_pending_init(struct batch_pending *pending, struct request_options *options,
                        struct batch_results *results, struct body_splitter *intake,
                        void (*on_moved)(struct batch_pending *pending)) {
    static const struct submission_events events = {on_ready, on_sent, on_settled};
    pending->results = results;
    pending->intake = intake;
    pending->submitter.events = &events;
    pending->submitter.options = options;
    pending->submitter.hold = &pending->hold;
    pending->submitter.waits_for_room = true;
    pending->submitter.form = form_of(options);
    pending->hold.released = on_released;
    pending->end = &pending->first;
    pending->waiter.room = on_capacity;
    pending->on_moved = on_moved;
}
