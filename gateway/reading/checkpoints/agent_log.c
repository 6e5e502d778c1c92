/* SPDX-License-Identifier: Apache-2.0 */

/* See agent_log.h. A consumer may be served by a member of the cluster that lags behind the leader:
 * so each subject is read from the message that the leader says is its first up to the one that it
 * says is its last. Where that member ends before, the reading fails: a consumer that continues
 * while its member catches up may pass over a message. */

#include "agent_log.h"

#include <stdlib.h>
#include <string.h>

enum { PULL_COUNT = 256, PULL_BYTES = 256 * 1024 };

static void end(struct agent_log *log, const char *error) {
    if (!log->is_ended) {
        log->is_ended = true;
        log->events.ended(log->events.context, error);
    }
}

/* ---- merging ---- */

static void pop(struct agent_log_feed *feed) {
    struct agent_log_item *item = STAILQ_FIRST(&feed->queue);
    STAILQ_REMOVE_HEAD(&feed->queue, link);
    parley_buffer_finish(&item->text);
    parley_buffer_finish(&item->runs);
    free(item);
}

static void note_runs(struct agent_log *log, const struct agent_log_item *item) {
    struct parley_log_run run;
    for (size_t at = 0; at < item->runs.length; at += sizeof run) {
        memcpy(&run, item->runs.data + at, sizeof run);
        log_gaps_note(&log->holes, run);
    }
}

/* The feed with the first message; NULL: it is not known yet which that is, or there is none.
 * `out_is_over`: there is none. */
static struct agent_log_feed *first_feed(struct agent_log *log, bool *out_is_over) {
    struct agent_log_feed *first = NULL;
    *out_is_over = true;
    for (size_t i = 0; i < log->feed_count; i++) {
        struct agent_log_feed *feed = &log->feeds[i];
        const struct agent_log_item *item = STAILQ_FIRST(&feed->queue);
        *out_is_over = *out_is_over && item == NULL && feed->is_over;
        if (item == NULL && !feed->is_over) {
            return NULL;
        }
        const bool is_first =
            item != NULL &&
            (first == NULL || item->sequence < STAILQ_FIRST(&first->queue)->sequence);
        first = is_first ? feed : first;
    }
    return first;
}

static void pull_more(struct agent_log *log) {
    for (size_t i = 0; i < log->feed_count; i++) {
        struct agent_log_feed *feed = &log->feeds[i];
        if (feed->is_idle && STAILQ_EMPTY(&feed->queue) && feed->consumer != NULL) {
            feed->is_idle = false;
            ordered_consumer_pull(feed->consumer, PULL_COUNT, PULL_BYTES);
        }
    }
}

/* Delivers the entries that can be delivered. */
static void give(struct agent_log *log) {
    bool is_over = false;
    struct agent_log_feed *feed = NULL;
    if (log->is_giving || log->unknown_count > 0) {
        return;
    }
    const char *error = NULL;
    log->is_giving = true;
    while (error == NULL && !log->is_ended && !log->events.is_full(log->events.context) &&
           (feed = first_feed(log, &is_over)) != NULL) {
        const struct agent_log_item *item = STAILQ_FIRST(&feed->queue);
        if (item->text.length > 0) {
            error = log->events.entries(log->events.context, parley_buffer_bytes(&item->text));
            note_runs(log, item);
        }
        pop(feed);
    }
    log->is_giving = false;
    if (log->is_ended) {
        return;
    }
    if (error != NULL || is_over) {
        end(log, error);
    } else {
        pull_more(log);
    }
}

/* ---- messages ---- */

static enum parley_status append(struct agent_log *log, const struct jetstream_stored *stored,
                                 struct agent_log_item *item) {
    const struct checkpoint_scope *scope = log->scope;
    bool is_ours = false;
    PARLEY_TRY(agent_message_check(log->message, scope->channel, stored->subject, stored->payload,
                                   false, &is_ours));
    return is_ours ? scope->protocol->restore->append(log->message, log->after, &item->text,
                                                      &item->runs)
                   : PARLEY_OK;
}

static enum parley_status keep(struct agent_log_feed *feed, const struct jetstream_stored *stored) {
    struct agent_log_item *item = calloc(1, sizeof *item);
    if (item == NULL) {
        return PARLEY_E_MEMORY;
    }
    item->sequence = stored->sequence;
    parley_buffer_init(&item->text);
    parley_buffer_init(&item->runs);
    STAILQ_INSERT_TAIL(&feed->queue, item, link);
    const enum parley_status status = append(feed->log, stored, item);
    parley_message_reset(feed->log->message);
    return status;
}

static void close_feed(struct agent_log_feed *feed) {
    feed->is_over = true;
    jetstream_request_cancel(feed->request);
    ordered_consumer_close(feed->consumer);
    feed->request = NULL;
    feed->consumer = NULL;
}

static const char lags[] = "a member of the cluster lags behind";

static void on_stored(void *context, const struct jetstream_stored *stored) {
    struct agent_log_feed *feed = context;
    struct agent_log *log = feed->log;
    if (feed->is_over) {
        return;
    }
    if (!feed->has_begun && stored->sequence != feed->first) {
        end(log, lags);
        return;
    }
    feed->has_begun = true;
    log->bytes += stored->payload.length;
    if (log->bytes_max > 0 && log->bytes > log->bytes_max) {
        end(log, "it is too long");
        return;
    }
    if (stored->sequence <= feed->last && keep(feed, stored) != PARLEY_OK) {
        end(log, "there is no memory to read the log");
        return;
    }
    if (stored->sequence >= feed->last) {
        close_feed(feed);
    }
    give(log);
}

static void on_opened(void *context, uint64_t next_sequence) {
    const struct agent_log_feed *feed = context;
    (void)next_sequence;
    ordered_consumer_pull(feed->consumer, PULL_COUNT, PULL_BYTES);
}

static void on_pull_ended(void *context) {
    struct agent_log_feed *feed = context;
    feed->is_idle = true;
    give(feed->log);
}

/* Not called once the last one has come, since the consumer is closed then. */
static void on_current(void *context) {
    const struct agent_log_feed *feed = context;
    end(feed->log, lags);
}

static void on_refused(void *context, const char *error) {
    const struct agent_log_feed *feed = context;
    end(feed->log, error);
}

/* ---- opening and closing ---- */

static enum parley_status open_feed(struct agent_log_feed *feed) {
    const struct agent_log *log = feed->log;
    const struct jetstream_start start = {
        .from = JETSTREAM_FROM_SEQUENCE, .sequence = log->start, .filter = feed->subject};
    const struct ordered_consumer_events events = {.opened = on_opened,
                                                   .stored = on_stored,
                                                   .pull_ended = on_pull_ended,
                                                   .refused = on_refused,
                                                   .current = on_current,
                                                   .context = feed};
    return ordered_consumer_open(log->scope->checkpoints->jetstream, log->scope->stream, start,
                                 ORDERED_REPLAY, &events, &feed->consumer);
}

static void on_first(void *context, const struct jetstream_held *held) {
    struct agent_log_feed *feed = context;
    struct agent_log *log = feed->log;
    feed->request = NULL;
    log->unknown_count--;
    if (held->found != JETSTREAM_HELD_FOUND) {
        end(log, held->error != NULL ? held->error : "NATS does not answer");
        return;
    }
    feed->first = held->sequence;
    if (open_feed(feed) != PARLEY_OK) {
        end(log, "there is no memory to read the log");
        return;
    }
    give(log);
}

static void note_request(struct agent_log_feed *feed, struct jetstream_request *request) {
    feed->request = request;
    if (request == NULL) {
        end(feed->log, "NATS cannot be asked now");
    }
}

static void on_last(void *context, const struct jetstream_held *held) {
    struct agent_log_feed *feed = context;
    struct agent_log *log = feed->log;
    feed->request = NULL;
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        end(log, held->error != NULL ? held->error : "NATS does not answer");
        return;
    }
    feed->last = held->found == JETSTREAM_HELD_FOUND ? held->sequence : 0;
    if (feed->last >= log->start) {
        note_request(feed,
                     jetstream_next_held_ask(log->scope->checkpoints->jetstream, log->scope->stream,
                                             feed->subject, log->start, on_first, feed));
        return;
    }
    feed->is_over = true;
    log->unknown_count--;
    give(log);
}

static void ask_for_last(struct agent_log_feed *feed) {
    const struct agent_log *log = feed->log;
    note_request(feed, jetstream_last_held_ask(log->scope->checkpoints->jetstream,
                                               log->scope->stream, feed->subject, on_last, feed));
}

void agent_log_open(struct agent_log *log) {
    log_gaps_init(&log->holes, log->after);
    const char *const *patterns = log->scope->protocol->restore->logs;
    for (; patterns[log->feed_count] != NULL; log->feed_count++) {
        struct agent_log_feed *feed = &log->feeds[log->feed_count];
        *feed = (struct agent_log_feed){.log = log};
        STAILQ_INIT(&feed->queue);
        checkpoint_scope_subject(log->scope, patterns[log->feed_count], feed->subject);
    }
    log->unknown_count = log->feed_count;
    for (size_t i = 0; i < log->feed_count && !log->is_ended; i++) {
        ask_for_last(&log->feeds[i]);
    }
}

void agent_log_go_on(struct agent_log *log) {
    give(log);
}

void agent_log_close(struct agent_log *log) {
    log->is_ended = true;
    for (size_t i = 0; i < log->feed_count; i++) {
        close_feed(&log->feeds[i]);
        while (!STAILQ_EMPTY(&log->feeds[i].queue)) {
            pop(&log->feeds[i]);
        }
    }
}
