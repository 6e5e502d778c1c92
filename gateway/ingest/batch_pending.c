/* SPDX-License-Identifier: Apache-2.0 */

#include "batch_pending.h"

#include <stdlib.h>

#include "correlation_lookup.h"

struct pending {
    struct batch_pending *line;
    struct pending *next;
    struct batch_result *result;
    struct parley_slice slice;
    struct correlation_lookup lookup;
    struct offload *offload; /* the intake's: it holds the message; NULL: it is checked again */
    char bytes[];            /* of the slice; none if it was offloaded */
};

static void pop(struct batch_pending *pending) {
    struct pending *first = pending->first;
    pending->first = first->next;
    if (pending->first == NULL) {
        pending->end = &pending->first;
    }
    pending->publisher->results->window_bytes -= first->slice.bytes.length;
    if (first->offload != NULL) {
        intake_release(pending->intake);
    }
    correlation_lookup_finish(&first->lookup);
    free(first);
}

void batch_pending_drop(struct batch_pending *pending) {
    jetstream_wait_cancel(pending->options->gateway->jetstream, &pending->waiter);
    while (pending->first != NULL) {
        pop(pending);
    }
}

static void wait_for_room(struct batch_pending *pending) {
    pending->waiter.share = pending->publisher->share;
    jetstream_wait_for_room(pending->options->gateway->jetstream, &pending->waiter);
}

/* ---- going on ---- */

/* Returns: false: JetStream's window is full. */
static bool finish_valid(struct batch_pending *pending, struct batch_result *result,
                         const struct verdict *verdict) {
    if (pending->options->task == INGEST_FORWARD) {
        return batch_publish(pending->publisher, result, verdict);
    }
    batch_result_end_verdict(result, verdict);
    return true;
}

/* Checks it again, since the message object has served others meanwhile, unless the offload holds
 * it. */
static struct verdict check_again(struct batch_pending *pending, const struct pending *first) {
    struct request_options *options = pending->options;
    const char *recalled = correlation_lookup_value(&first->lookup);
    struct verdict verdict = {.slice = &first->slice, .offload = first->offload};
    if (first->offload != NULL) {
        verdict.message = &first->offload->message;
        verdict.message->options.recalled = recalled;
        return verdict;
    }
    verdict.message = gateway_message(options->gateway, options->protocol);
    options->check.recalled = recalled;
    verdict.status = check_message(options, first->slice.bytes, first->slice.origin);
    options->check.recalled = NULL;
    return verdict;
}

/* Returns: as finish_valid. */
static bool finish_first(struct batch_pending *pending) {
    struct pending *first = pending->first;
    if (first->lookup.state == LOOKUP_FAILED && pending->options->task == INGEST_FORWARD) {
        const struct failure failure = correlation_lookup_failure(&first->lookup);
        batch_result_end_failed(first->result, &failure);
        return true;
    }
    const struct verdict verdict = check_again(pending, first);
    if (verdict.status != PARLEY_OK) {
        batch_result_end_internal(first->result, verdict.status);
        return true;
    }
    return finish_valid(pending, first->result, &verdict);
}

/* Goes on in the order sent, up to one that has to wait longer. */
static void finish_all(struct batch_pending *pending) {
    while (pending->first != NULL && pending->first->lookup.state != LOOKUP_ASKING &&
           !batch_pending_is_blocked(pending)) {
        if (!finish_first(pending)) {
            wait_for_room(pending);
            return;
        }
        pop(pending);
    }
}

static void on_capacity(struct jetstream_waiter *waiter) {
    struct batch_pending *pending = OWNER_OF(waiter, struct batch_pending, waiter);
    finish_all(pending);
    pending->on_moved(pending);
}

static void on_released(struct halt_hold *hold) {
    struct batch_pending *pending = OWNER_OF(hold, struct batch_publisher, hold)->pending;
    finish_all(pending);
    pending->on_moved(pending);
}

static void on_lookup(struct correlation_lookup *lookup) {
    struct batch_pending *pending = OWNER_OF(lookup, struct pending, lookup)->line;
    finish_all(pending);
    pending->on_moved(pending);
}

/* ---- waiting ---- */

/* Copies the message, but for one that was offloaded: nothing after that is read.
 * Returns: NULL: no memory, and the result is ended. */
static struct pending *add(struct batch_pending *pending, struct batch_result *result,
                           const struct verdict *verdict) {
    const struct parley_bytes bytes = verdict->slice->bytes;
    const bool is_copied = verdict->offload == NULL;
    struct pending *last = malloc(sizeof *last + (is_copied ? bytes.length : 0));
    if (last == NULL) {
        batch_result_end_internal(result, PARLEY_E_MEMORY);
        return NULL;
    }
    *last = (struct pending){.line = pending,
                             .result = result,
                             .slice = *verdict->slice,
                             .lookup.on_ready = on_lookup,
                             .offload = verdict->offload};
    if (is_copied) {
        memcpy(last->bytes, bytes.data, bytes.length);
        last->slice.bytes.data = last->bytes;
    } else {
        intake_hold(pending->intake);
    }
    pending->publisher->results->window_bytes += bytes.length;
    *pending->end = last;
    pending->end = &last->next;
    return last;
}

static void wait_in_line(struct batch_pending *pending, struct batch_result *result,
                         const struct verdict *verdict, struct parley_bytes key) {
    const char *known = verdict->message->options.recalled;
    result->account = account_mark(pending->options, verdict->message);
    struct pending *last = add(pending, result, verdict);
    if (last == NULL) {
        return;
    }
    if (key.data != NULL) {
        correlation_lookup_begin(&last->lookup, pending->options, key);
    } else {
        if (known != NULL) {
            correlation_lookup_set(&last->lookup, known);
        }
        correlation_lookup_keep_early(pending->options, verdict->message);
    }
    finish_all(pending);
}

void batch_pending_finish_valid(struct batch_pending *pending, struct batch_result *result,
                                const struct verdict *verdict, struct parley_bytes key) {
    if (key.data != NULL || pending->first != NULL || batch_pending_is_blocked(pending)) {
        wait_in_line(pending, result, verdict, key);
    } else if (!finish_valid(pending, result, verdict) && add(pending, result, verdict) != NULL) {
        wait_for_room(pending);
    }
}

void batch_pending_init(struct batch_pending *pending, struct request_options *options,
                        struct batch_publisher *publisher, struct intake *intake,
                        void (*on_moved)(struct batch_pending *pending)) {
    pending->options = options;
    pending->publisher = publisher;
    publisher->pending = pending;
    publisher->hold.released = on_released;
    pending->intake = intake;
    pending->end = &pending->first;
    pending->waiter.room = on_capacity;
    pending->on_moved = on_moved;
}
