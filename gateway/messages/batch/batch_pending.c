/* SPDX-License-Identifier: Apache-2.0 */

#include "batch_pending.h"

#include <stdlib.h>

#include "dispatch.h"

struct pending {
    struct batch_pending *line;
    struct pending *next;
    LIST_ENTRY(pending) link; /* while it is under way */
    struct batch_result *result;
    struct parley_slice slice;
    struct dispatch *dispatch; /* NULL: nothing decides on it */
    struct offload *offload;   /* the intake's: it holds the message; NULL: it is checked again */
    size_t counted_bytes;      /* of its receipt, in the window */
    char bytes[];              /* of the slice; none if it was offloaded */
};

static void free_pending(struct pending *one) {
    struct batch_pending *pending = one->line;
    pending->publisher->results->window_bytes -= one->slice.bytes.length;
    if (one->offload != NULL) {
        intake_release(pending->intake);
    }
    dispatch_finish(one->dispatch);
    free(one->dispatch);
    free(one);
}

/* Takes the first out of the line. */
static struct pending *pop(struct batch_pending *pending) {
    struct pending *first = pending->first;
    pending->first = first->next;
    if (pending->first == NULL) {
        pending->end = &pending->first;
    }
    return first;
}

void batch_pending_drop(struct batch_pending *pending) {
    jetstream_wait_cancel(pending->options->gateway->jetstream, &pending->waiter);
    while (pending->first != NULL) {
        free_pending(pop(pending));
    }
}

static void wait_for_room(struct batch_pending *pending, unsigned share) {
    pending->waiter.share = share;
    jetstream_wait_for_room(pending->options->gateway->jetstream, &pending->waiter);
}

/* ---- those that nothing decides on ---- */

/* Returns: false: JetStream's window is full. */
static bool publish(struct batch_pending *pending, struct batch_result *result,
                    const struct verdict *verdict) {
    if (pending->options->task != INGEST_FORWARD) {
        batch_result_end_verdict(result, verdict);
        return true;
    }
    if (batch_publish(pending->publisher, result, verdict)) {
        return true;
    }
    wait_for_room(pending, pending->publisher->share);
    return false;
}

/* Checks it again, since the message object has served others meanwhile, unless the offload holds
 * it.  Returns: as publish. */
static bool finish_plain(struct batch_pending *pending, struct pending *first) {
    struct request_options *options = pending->options;
    struct verdict verdict = {.slice = &first->slice, .offload = first->offload};
    if (first->offload != NULL) {
        verdict.message = &first->offload->message;
    } else {
        verdict.message = gateway_message(options->gateway, options->protocol);
        verdict.status = check_message(options, first->slice.bytes, first->slice.origin);
    }
    if (verdict.status != PARLEY_OK) {
        batch_result_end_internal(first->result, verdict.status);
    } else if (!publish(pending, first->result, &verdict)) {
        return false;
    }
    free_pending(pop(pending));
    return true;
}

/* ---- those that earlier messages decide on ---- */

/* The window has what its receipt takes. */
static void count_receipt(struct pending *one) {
    const size_t length = one->result->receipt.text.length;
    one->line->publisher->results->window_bytes += length - one->counted_bytes;
    one->counted_bytes = length;
}

static void end_dispatched(struct pending *one) {
    struct batch_result *result = one->result;
    count_receipt(one);
    result->account = one->dispatch->account;
    if (result->results->outlet.options.request != NULL) {
        batch_result_end_dispatched(result, &one->dispatch->outcome);
    } else {
        dispatch_account(one->dispatch);
    }
    free_pending(one);
}

/* It is not in line any more. */
static void follow(struct batch_pending *pending, struct pending *one) {
    if (dispatch_has_sent_all(one->dispatch) && one->offload != NULL) {
        intake_release(pending->intake);
        one->offload = one->dispatch->offload = NULL;
    }
    LIST_INSERT_HEAD(&pending->under_way, one, link);
    pending->publisher->awaited_count++;
    count_receipt(one);
}

static void end_followed(struct pending *one) {
    LIST_REMOVE(one, link);
    one->line->publisher->awaited_count--;
    end_dispatched(one);
}

static void on_settled(struct dispatch *dispatch) {
    struct pending *one = dispatch->context;
    struct batch_publisher *publisher = one->line->publisher;
    end_followed(one);
    publisher->on_settled(publisher);
}

static void end_checked(struct pending *one) {
    const struct verdict *verdict = &one->dispatch->verdict;
    if (verdict->status != PARLEY_OK) {
        batch_result_end_internal(one->result, verdict->status);
    } else {
        batch_result_end_verdict(one->result, verdict);
    }
    free_pending(one);
}

/* Returns: false: it has to wait longer. */
static bool finish_dispatched(struct batch_pending *pending, struct pending *first) {
    switch (dispatch_decide(first->dispatch)) {
    case DISPATCH_STEP_WAIT:
        return false;
    case DISPATCH_STEP_FULL:
        wait_for_room(pending, first->dispatch->share);
        return false;
    case DISPATCH_STEP_GO:
        follow(pending, pop(pending));
        break;
    case DISPATCH_STEP_SETTLED:
        end_dispatched(pop(pending));
        break;
    case DISPATCH_STEP_CHECKED:
        end_checked(pop(pending));
        break;
    }
    return true;
}

void batch_pending_close(struct batch_pending *pending) {
    struct pending *one = LIST_FIRST(&pending->under_way);
    while (one != NULL) {
        struct pending *next = LIST_NEXT(one, link);
        if (dispatch_close(one->dispatch)) {
            end_followed(one);
        }
        one = next;
    }
}

/* ---- going on ---- */

static bool is_ready(const struct pending *one) {
    return one->dispatch == NULL || one->dispatch->phase == DISPATCH_READY;
}

/* Goes on in the order sent, up to one that has to wait longer. */
static void finish_all(struct batch_pending *pending) {
    while (pending->first != NULL && is_ready(pending->first) &&
           !batch_pending_is_blocked(pending)) {
        struct pending *first = pending->first;
        if (first->dispatch == NULL ? !finish_plain(pending, first)
                                    : !finish_dispatched(pending, first)) {
            return;
        }
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

static void on_ready(struct dispatch *dispatch) {
    struct pending *one = dispatch->context;
    struct batch_pending *pending = one->line;
    if (one != pending->first) {
        dispatch_foresee(dispatch);
        return;
    }
    finish_all(pending);
    pending->on_moved(pending);
}

/* ---- waiting ---- */

/* Copies the message, but for one that was offloaded: nothing after that is read.
 * Returns: NULL: no memory, and the result is ended. */
static struct pending *add(struct batch_pending *pending, struct batch_result *result,
                           const struct verdict *verdict, bool is_dispatched) {
    const struct parley_bytes bytes = verdict->slice->bytes;
    const bool is_copied = verdict->offload == NULL;
    struct pending *last = malloc(sizeof *last + (is_copied ? bytes.length : 0));
    struct dispatch *dispatch = is_dispatched ? malloc(sizeof *dispatch) : NULL;
    if (last == NULL || (is_dispatched && dispatch == NULL)) {
        free(last);
        free(dispatch);
        batch_result_end_internal(result, PARLEY_E_MEMORY);
        return NULL;
    }
    *last = (struct pending){.line = pending,
                             .result = result,
                             .slice = *verdict->slice,
                             .dispatch = dispatch,
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

static void begin_dispatch(struct batch_pending *pending, struct pending *one,
                           const struct parley_route *route) {
    static const struct dispatch_events events = {on_ready, on_settled};
    const bool is_all = pending->options->results == RESULTS_ALL;
    *one->dispatch = (struct dispatch){.events = &events,
                                       .context = one,
                                       .options = pending->options,
                                       .slice = one->slice,
                                       .offload = one->offload,
                                       .receipt = &one->result->receipt,
                                       .form = is_all ? RECEIPT_LINE : RECEIPT_ID_ONLY,
                                       .sender = &pending->publisher->sender,
                                       .log = &pending->log,
                                       .account = one->result->account};
    dispatch_begin(one->dispatch, route);
}

void batch_pending_finish(struct batch_pending *pending, struct batch_result *result,
                          const struct verdict *verdict, const struct parley_route *route) {
    if (route == NULL && pending->first == NULL && !batch_pending_is_blocked(pending)) {
        if (!publish(pending, result, verdict)) {
            (void)add(pending, result, verdict, false);
        }
        return;
    }
    result->account = account_mark(pending->options, verdict->message);
    struct pending *last = add(pending, result, verdict, route != NULL);
    if (last != NULL && route != NULL) {
        begin_dispatch(pending, last, route);
    }
    finish_all(pending);
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
