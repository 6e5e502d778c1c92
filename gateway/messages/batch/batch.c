/* SPDX-License-Identifier: Apache-2.0 */

/* Many messages in one request: each is checked (body_splitter.h) and submitted (batch_pending.h)
 * as its bytes are received, and its result goes to the answer in the order sent (batch_results.h).
 * Memory is bounded by the window of results: when it is full, or the outlet has no room, no more
 * of the body is read. A message that finds no room in the budget has failed, and the next one is
 * tried. */

#include "batch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "batch_pending.h"
#include "fact_lookup.h"
#include "body_throttle.h"
#include "phase.h"
#include "rejection.h"

/*   READING ── the body has ended ──▶ ENDING ── it is used up ──▶ AWAITING
 *   AWAITING ── the last result is written ──▶ ANSWERED
 *   READING, ENDING, AWAITING ── no room for results (413) ──▶ ANSWERED
 *
 * The client may go in any phase (request is NULL then): what was received whole is published all
 * the same. And the answer may break off in any phase (results.has_failed): what is in flight is
 * awaited all the same. */
enum batch_phase {
    BATCH_READING,
    BATCH_ENDING,   /* the messages at the end of the body are being taken */
    BATCH_AWAITING, /* all messages were seen; results of some are not known or not written */
    BATCH_ANSWERED, /* the answer has its end, or is a problem */
};

struct batch {
    struct request_options options;
    struct http_request *request; /* NULL once it is gone */
    enum batch_phase phase;
    struct body_splitter intake;
    struct batch_results results;
    struct batch_pending pending;
    struct body_throttle pace;
    const struct body_fault *fault; /* the body breaks off; NULL: it does not */
    bool owes_byte; /* the next byte of the body was used already, but is not called taken: so that
                       the body's end is not announced before its messages are handled */
};

static void enter(struct batch *batch, enum batch_phase phase) {
    static const unsigned allowed[] = {
        [BATCH_READING] = PHASE(BATCH_ENDING) | PHASE(BATCH_ANSWERED),
        [BATCH_ENDING] = PHASE(BATCH_AWAITING) | PHASE(BATCH_ANSWERED),
        [BATCH_AWAITING] = PHASE(BATCH_ANSWERED),
        [BATCH_ANSWERED] = 0,
    };
    batch->phase = (enum batch_phase)phase_after(allowed, batch->phase, phase);
}

/* ---- its end ---- */

static void destroy(struct batch *batch) {
    batch_pending_drop(&batch->pending);
    batch_results_finish(&batch->results);
    body_splitter_finish(&batch->intake);
    gateway_forget_message(batch->options.gateway, batch->options.protocol);
    request_options_release(&batch->options);
    free(batch);
}

/* Whether the client is gone, and nothing is under way. */
static bool is_over(const struct batch *batch) {
    return batch->request == NULL && batch_pending_is_empty(&batch->pending) &&
           !body_splitter_is_checking(&batch->intake);
}

/* Whether a message that was received whole is served though the client is gone. */
static bool is_served_anyway(const struct batch *batch) {
    return batch->options.task == INGEST_FORWARD && !batch->results.has_failed;
}

/* Handles a client that is gone. Whole messages are published all the same; but no window gets
 * further room while the server shuts down. */
static void go_on_alone(struct batch *batch) {
    const bool is_stuck =
        batch_pending_is_blocked(&batch->pending) && batch->options.gateway->is_draining;
    if (!is_served_anyway(batch) || is_stuck) {
        batch_pending_drop(&batch->pending);
    }
    if (is_over(batch)) {
        destroy(batch);
    }
}

/* The request is dropped everywhere before anything is cancelled, since cancelling ends its
 * results, and those would wake the request. */
static void batch_closed(void *state) {
    struct batch *batch = state;
    batch->request = NULL;
    body_throttle_close(&batch->pace);
    batch_results_close(&batch->results);
    batch_pending_close(&batch->pending);
    go_on_alone(batch);
}

/* ---- room ---- */

/* Whether the next message must wait for the last one, whatever room there is. */
static bool is_held_up(const struct batch *batch) {
    return batch_pending_is_blocked(&batch->pending) || !body_splitter_is_open(&batch->intake);
}

static bool has_room(struct batch *batch) {
    return !is_held_up(batch) && body_throttle_is_open(&batch->pace) &&
           batch_results_have_room(&batch->results);
}

/* Ends a body whose results find no room, and whose client can read none of them before it has sent
 * all: the messages received so far are served, and no more is read. */
static void give_up(struct batch *batch) {
    enter(batch, BATCH_ANSWERED);
    problem_respond_format(
        batch->request, PROBLEM_TOO_LARGE,
        "There is no room to keep the results of this body until it has ended (--spool-max, or the "
        "disk of the data folder). %" PRIu64 " of its messages were read, and the valid ones "
        "were processed; nothing after them was read. Use HTTP/1.1, which receives results while "
        "it sends the body, or send less at once, or use results=summary.",
        batch->results.received_count);
}

static void wait_for_outlet(struct batch *batch) {
    if (batch->phase != BATCH_ANSWERED && !result_writer_wait(&batch->results.outlet)) {
        give_up(batch);
    }
}

/* ---- the body ---- */

static enum parley_split cut_end(struct batch *batch) {
    const struct body_fault *fault = batch->fault;
    batch->fault = NULL;
    return batch->results.has_failed ? PARLEY_SPLIT_END
           : fault != NULL           ? body_splitter_break(&batch->intake, fault)
                                     : body_splitter_end(&batch->intake);
}

/* Cuts the messages at the end of the body. */
static void take_end(struct batch *batch) {
    while (batch->phase == BATCH_ENDING && body_splitter_is_open(&batch->intake)) {
        const enum parley_split split = cut_end(batch);
        if (split == PARLEY_SPLIT_MEMORY) {
            batch->results.has_failed = true;
        } else if (split == PARLEY_SPLIT_END) {
            enter(batch, BATCH_AWAITING);
        }
    }
}

/* Answers, or ends the answer, when every result is written. */
static void finish(struct batch *batch) {
    take_end(batch);
    if (batch_results_wait_for_outlet(&batch->results)) {
        wait_for_outlet(batch);
    }
    if (batch->phase == BATCH_AWAITING && batch->results.first == NULL) {
        enter(batch, BATCH_ANSWERED);
        batch_results_end(&batch->results);
    }
}

/* Something was settled: answers, or reads on. */
static void go_on(struct batch *batch) {
    if (batch->phase != BATCH_READING) {
        finish(batch);
    } else if (has_room(batch)) {
        http_wake(batch->request);
    }
}

/* While a message finds no room, or the worker pool has it, not all is called taken: so the client
 * is not read from. */
static size_t take_piece(struct batch *batch, struct parley_bytes bytes) {
    struct batch_results *results = &batch->results;
    struct parley_bytes left = bytes;
    if (batch->owes_byte && !is_held_up(batch)) {
        batch->owes_byte = false;
        left = (struct parley_bytes){bytes.data + 1, bytes.length - 1};
    }
    while (left.length > 0 && has_room(batch) && !results->has_failed) {
        if (body_splitter_next(&batch->intake, &left) == PARLEY_SPLIT_MEMORY) {
            results->has_failed = true;
        }
    }
    if (results->has_failed) {
        if (body_splitter_is_open(&batch->intake)) {
            body_splitter_release(&batch->intake);
        }
        result_writer_wake(
            &results->outlet); /* the client learns at once that the answer breaks off */
        return bytes.length;
    }
    if (!body_splitter_cover(&batch->intake)) {
        body_splitter_shed(&batch->intake);
    }
    wait_for_outlet(batch);
    batch->owes_byte = batch->owes_byte || (is_held_up(batch) && left.length == 0);
    return bytes.length - left.length - (batch->owes_byte && left.length == 0);
}

static size_t batch_body(void *state, struct parley_bytes bytes) {
    struct batch *batch = state;
    result_writer_begin(&batch->results.outlet, false);
    const size_t allowed = body_throttle_begin(&batch->pace, bytes.length);
    const size_t taken =
        allowed > 0 ? take_piece(batch, (struct parley_bytes){bytes.data, allowed}) : 0;
    if (batch->results.has_failed) {
        return bytes.length;
    }
    body_throttle_end(&batch->pace, bytes.length, taken);
    return taken;
}

static void batch_end(void *state) {
    struct batch *batch = state;
    enter(batch, BATCH_ENDING);
    result_writer_begin(&batch->results.outlet, true);
    finish(batch);
}

static void batch_broken(void *state, const struct body_fault *fault) {
    struct batch *batch = state;
    batch->fault = fault;
    batch_end(batch);
}

static ssize_t batch_read(void *state, char *buffer, size_t size) {
    struct batch *batch = state;
    return batch_results_read(&batch->results, batch->phase == BATCH_ANSWERED, buffer, size);
}

/* ---- its messages ---- */

/* An invalid message; one that halts has its turn among the others, since it stops those after it.
 */
static void refuse(struct batch *batch, struct batch_result *result,
                   const struct verdict *verdict) {
    const enum halting_effect effect = halting_of_invalid(&batch->options, verdict->message);
    rejection_note(&batch->options, batch->request, verdict);
    if (effect == HALTING_HALTS) {
        batch_pending_finish(&batch->pending, result, verdict, NULL);
    } else {
        batch_result_note_invalid(result, verdict->message, effect == HALTING_HALTED);
        batch_result_end_invalid(result);
    }
}

static void on_verdict(struct body_splitter *intake, const struct verdict *verdict) {
    struct batch *batch = OWNER_OF(intake, struct batch, intake);
    struct parley_message *message = verdict->message;
    struct parley_route route;
    bool is_decided = false;
    if (batch->request == NULL && !is_served_anyway(batch)) {
        return;
    }
    enum parley_status status = verdict->status;
    body_throttle_note(&batch->pace, status != PARLEY_OK || parley_message_is_valid(message));
    if (status == PARLEY_OK) {
        message_metrics_violations(&batch->options, message);
    }
    const bool is_validated = batch->options.task == INGEST_VALIDATE;
    const bool is_valid = status == PARLEY_OK && parley_message_is_valid(message);
    if (is_valid) {
        status = fact_lookup_is_needed(&batch->options, message, &route, &is_decided);
    }
    if (status == PARLEY_OK && is_validated && !is_decided && batch->results.first == NULL) {
        batch_results_add_verdict(&batch->results, verdict);
        return;
    }
    struct batch_result *result = batch_results_add(&batch->results, verdict->slice->number);
    if (result == NULL) {
        return;
    }
    if (status != PARLEY_OK) {
        batch_result_end_internal(result, status);
    } else if (is_valid) {
        batch_pending_finish(&batch->pending, result, verdict, is_decided ? &route : NULL);
    } else if (is_validated) {
        batch_result_end_verdict(result, verdict);
    } else {
        refuse(batch, result, verdict);
    }
}

static void on_overloaded(struct body_splitter *intake, const struct parley_slice *slice) {
    struct batch *batch = OWNER_OF(intake, struct batch, intake);
    const struct failure failure = failure_overloaded(&batch->options);
    body_throttle_note(&batch->pace, true);
    struct batch_result *result = batch_results_add(&batch->results, slice->number);
    if (result != NULL) {
        batch_result_end_failed(result, &failure);
    }
}

static void on_offload_done(struct body_splitter *intake) {
    struct batch *batch = OWNER_OF(intake, struct batch, intake);
    if (batch->request == NULL) {
        go_on_alone(batch);
        return;
    }
    if (batch->results.has_failed) {
        result_writer_wake(&batch->results.outlet);
    }
    go_on(batch);
}

/* A result has ended, or what waited went on. */
static void on_progress(struct batch *batch) {
    if (batch->request != NULL) {
        go_on(batch);
    } else if (is_over(batch)) {
        destroy(batch);
    }
}

static void on_moved(struct batch_pending *pending) {
    on_progress(OWNER_OF(pending, struct batch, pending));
}

static void on_outlet_room(void *context) {
    struct batch *batch = context;
    batch_results_flush(&batch->results);
    go_on(batch);
}

/* ---- its beginning ---- */

static void *batch_create(const struct request_options *options, enum parley_framing framing,
                          struct http_request *request) {
    static const struct body_splitter_events events = {.on_verdict = on_verdict,
                                                       .on_overloaded = on_overloaded,
                                                       .on_offload_done = on_offload_done};
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL || !request_options_keep(&batch->options, options)) {
        free(batch);
        return NULL;
    }
    batch->options.publication.is_batch = framing != PARLEY_FRAMING_WHOLE;
    batch->request = request;
    body_throttle_init(&batch->pace, &batch->options.meter, batch->options.gateway, request);
    body_splitter_init(&batch->intake, &batch->options, framing, &events);
    batch_results_init(&batch->results, &batch->options, request, on_outlet_room, batch);
    batch_pending_init(&batch->pending, &batch->options, &batch->results, &batch->intake, on_moved);
    return batch;
}

const struct body_handler batch_handler = {.create = batch_create,
                                           .body = batch_body,
                                           .end = batch_end,
                                           .broken = batch_broken,
                                           .closed = batch_closed,
                                           .read = batch_read};
