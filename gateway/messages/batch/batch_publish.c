/* SPDX-License-Identifier: Apache-2.0 */

#include "batch_publish.h"

#include "admission.h"

static void on_compared(void *context, const struct duplicate_answer *answer) {
    struct batch_result *result = context;
    struct batch_publisher *publisher = result->publisher;
    publisher->awaited_count--;
    result->duplicate = NULL;
    if (answer->verdict == DUPLICATE_SAME) {
        batch_result_end_same(result, answer);
    } else {
        batch_result_end_published(result, &answer->failure, answer->stream, answer->sequence);
    }
    publisher->on_settled(publisher);
}

/* Returns: whether it is under way; else the result is ended. */
static bool compare(struct batch_publisher *publisher, struct batch_result *result,
                    const struct jetstream_ack *ack) {
    struct failure failure;
    result->duplicate =
        duplicate_begin(publisher->options, &result->mark, ack, on_compared, result, &failure);
    if (result->duplicate == NULL) {
        batch_result_end_published(result, &failure, ack->stream, ack->sequence);
    }
    return result->duplicate != NULL;
}

static void end_with_ack(struct batch_publisher *publisher, struct batch_result *result,
                         const struct jetstream_ack *ack) {
    if (ack->outcome == JETSTREAM_STORED) {
        batch_result_end_stored(result, ack->stream, ack->sequence,
                                ack->is_duplicate && !ack->is_again);
    } else {
        const struct failure failure = failure_of_ack(publisher->options, &result->mark, ack);
        batch_result_end_published(result, &failure, NULL, 0);
    }
}

static void on_ack(void *context, const struct jetstream_ack *ack) {
    struct batch_result *result = context;
    struct batch_publisher *publisher = result->publisher;
    const bool is_read = publisher->results->outlet.options.request != NULL;
    const bool is_open = duplicate_is_open(&result->mark, ack);
    account_ack(publisher->options, result->account, ack);
    if (is_read && is_open && compare(publisher, result, ack)) {
        return; /* it is awaited still */
    }
    publisher->awaited_count--;
    if (!is_read) {
        account_unread(publisher->options, result->account, ack, is_open);
    } else if (!is_open) {
        end_with_ack(publisher, result, ack);
    }
    publisher->on_settled(publisher);
}

/* ---- invalid ones that halt ---- */

static void on_latched(void *context, const struct jetstream_ack *ack) {
    struct batch_result *result = context;
    struct batch_publisher *publisher = result->publisher;
    publisher->awaited_count--;
    if (ack->outcome == JETSTREAM_STORED) {
        batch_result_end_invalid(result);
    } else {
        const struct failure failure = failure_of_ack(publisher->options, &result->mark, ack);
        batch_result_end_published(result, &failure, NULL, 0);
    }
    publisher->on_settled(publisher);
}

/* As batch_publish. */
static bool latch(struct batch_publisher *publisher, struct batch_result *result,
                  struct parley_message *message) {
    const enum jetstream_publish published = halting_latch(
        publisher->options, message, &publisher->hold, on_latched, result, &publisher->share);
    if (published == JETSTREAM_FULL) {
        return false;
    }
    if (published == JETSTREAM_PUBLISHED) {
        result->publisher = publisher;
        publisher->awaited_count++;
        batch_result_note_invalid(result, message, true);
    } else {
        const struct failure failure = failure_of_refusal(publisher->options, published);
        batch_result_end_failed(result, &failure);
    }
    return true;
}

/* ---- valid ones ---- */

bool batch_publish(struct batch_publisher *publisher, struct batch_result *result,
                   const struct verdict *verdict) {
    struct request_options *options = publisher->options;
    if (!parley_message_is_valid(verdict->message)) {
        return latch(publisher, result, verdict->message);
    }
    struct publication publication;
    enum jetstream_publish published = JETSTREAM_AWAY;
    result->account = account_mark(options, verdict->message);
    struct failure halted;
    if (halting_refuses(options, verdict->message, &halted)) {
        batch_result_end_failed(result, &halted);
        return true;
    }
    if (!verdict_is_unpublishable(options, verdict)) {
        const enum parley_status status =
            verdict_prepare(options, verdict, (struct parley_bytes){0}, &publication);
        if (status != PARLEY_OK && status != PARLEY_E_LIMIT) {
            batch_result_end_internal(result, status);
            return true;
        }
        published = status == PARLEY_E_LIMIT
                        ? JETSTREAM_TOO_LARGE
                        : verdict_publish(options, verdict, &publication, &publisher->sender,
                                          &publisher->hold, on_ack, result);
    }
    if (published == JETSTREAM_FULL) {
        publisher->share = admission_share(options->protocol, publication.route.priority);
        return false;
    }
    if (published == JETSTREAM_PUBLISHED) {
        result->publisher = publisher;
        batch_result_note(result, verdict->message, &publication);
        publisher->awaited_count++;
    } else {
        const struct failure failure = failure_of_refusal(options, published);
        batch_result_end_failed(result, &failure);
    }
    return true;
}

void batch_publisher_close(struct batch_publisher *publisher) {
    for (struct batch_result *result = publisher->results->first; result != NULL;
         result = result->next) {
        if (result->duplicate != NULL) {
            account_uncompared(publisher->options, result->account,
                               duplicate_is_again(result->duplicate));
            duplicate_cancel(result->duplicate);
            result->duplicate = NULL;
            publisher->awaited_count--;
        }
    }
}
