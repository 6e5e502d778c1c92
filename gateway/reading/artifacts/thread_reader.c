/* SPDX-License-Identifier: Apache-2.0 */

/* See thread_reader.h. A consumer may be served by a member of the cluster that lags behind the
 * leader: so the leader is asked which message of the thread is its first and which its last, and
 * the reading fails where that member begins or ends otherwise. */

#include "thread_reader.h"

#include <stdlib.h>

enum { PULL_COUNT = 256, PULL_BYTES = 256 * 1024 };

static void fail(struct thread_reader *reader, const char *error) {
    if (!reader->is_over) {
        thread_reader_close(reader);
        reader->failed(reader->context, error);
    }
}

static const char lags[] = "a member of the cluster lags behind";
static const char no_memory[] = "there is no memory to read it";

/* ---- batches ---- */

static void give(struct thread_reader *reader) {
    if (reader->end != THREAD_GOES_ON) {
        thread_reader_close(reader);
    }
    reader->batch(reader->context, reader->end);
}

static bool keep(struct thread_reader *reader, const struct jetstream_stored *stored) {
    if (reader->count == reader->capacity) {
        const size_t capacity = reader->capacity + PULL_COUNT;
        struct thread_message *grown =
            realloc(reader->messages, capacity * sizeof *reader->messages);
        if (grown == NULL) {
            return false;
        }
        reader->messages = grown;
        reader->capacity = capacity;
    }
    struct thread_message *message = &reader->messages[reader->count++];
    *message = (struct thread_message){.sequence = stored->sequence, .time_ns = stored->time_ns};
    message->subject = reader->text.length;
    parley_buffer_text(&reader->text, stored->subject);
    parley_buffer_char(&reader->text, '\0');
    message->payload = reader->text.length;
    message->payload_length = stored->payload.length;
    parley_buffer_append(&reader->text, stored->payload);
    reader->read_count++;
    reader->read_bytes += stored->payload.length;
    return !reader->text.has_failed;
}

/* Where reading ends after a message of that sequence, which is kept if it is not too late. */
static enum thread_end end_after(const struct thread_reader *reader, uint64_t sequence) {
    if (sequence >= reader->last || (reader->at != 0 && sequence >= reader->at)) {
        return THREAD_IS_WHOLE;
    }
    const bool is_full =
        reader->read_count >= THREAD_MESSAGES_MAX || reader->read_bytes >= THREAD_BYTES_MAX;
    return is_full ? THREAD_IS_CUT : THREAD_GOES_ON;
}

static void on_stored(void *context, const struct jetstream_stored *stored) {
    struct thread_reader *reader = context;
    const uint64_t sequence = stored->sequence;
    if (reader->is_over) {
        return;
    }
    if (!reader->has_begun && sequence != reader->first) {
        fail(reader, lags);
        return;
    }
    reader->has_begun = true;
    const bool is_late = sequence > reader->last || (reader->at != 0 && sequence > reader->at);
    if (!is_late && !keep(reader, stored)) {
        fail(reader, no_memory);
        return;
    }
    reader->end = end_after(reader, sequence);
    if (reader->end != THREAD_GOES_ON) {
        give(reader);
    }
}

static void on_opened(void *context, uint64_t next_sequence) {
    const struct thread_reader *reader = context;
    (void)next_sequence;
    ordered_consumer_pull(reader->consumer, PULL_COUNT, PULL_BYTES);
}

static void on_pull_ended(void *context) {
    struct thread_reader *reader = context;
    if (!reader->is_over) {
        give(reader);
    }
}

/* Not called once the last one has come, since the consumer is closed then. */
static void on_current(void *context) {
    fail(context, lags);
}

static void on_refused(void *context, const char *error) {
    fail(context, error);
}

/* ---- where it begins and ends ---- */

static void open_consumer(struct thread_reader *reader) {
    const struct jetstream_start start = {
        .from = JETSTREAM_FROM_SEQUENCE, .sequence = reader->first, .filter = reader->subject};
    const struct ordered_consumer_events events = {.opened = on_opened,
                                                   .stored = on_stored,
                                                   .pull_ended = on_pull_ended,
                                                   .refused = on_refused,
                                                   .current = on_current,
                                                   .context = reader};
    if (ordered_consumer_open(reader->jetstream, reader->stream, start, ORDERED_REPLAY, &events,
                              &reader->consumer) != PARLEY_OK) {
        fail(reader, no_memory);
    }
}

static void note_request(struct thread_reader *reader, struct jetstream_request *request) {
    reader->asked = request;
    if (request == NULL) {
        fail(reader, "NATS cannot be asked now");
    }
}

static void on_first(void *context, const struct jetstream_held *held) {
    struct thread_reader *reader = context;
    reader->asked = NULL;
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        fail(reader, held->error != NULL ? held->error : "NATS does not answer");
    } else if (held->found == JETSTREAM_HELD_GONE ||
               (reader->at != 0 && held->sequence > reader->at)) {
        fail(reader, NULL);
    } else {
        reader->first = held->sequence;
        open_consumer(reader);
    }
}

static void on_last(void *context, const struct jetstream_held *held) {
    struct thread_reader *reader = context;
    reader->asked = NULL;
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        fail(reader, held->error != NULL ? held->error : "NATS does not answer");
    } else if (held->found == JETSTREAM_HELD_GONE) {
        fail(reader, NULL);
    } else {
        reader->last = held->sequence;
        note_request(reader, jetstream_next_held_ask(reader->jetstream, reader->stream,
                                                     reader->subject, 1, on_first, reader));
    }
}

void thread_reader_open(struct thread_reader *reader) {
    parley_buffer_init(&reader->text);
    note_request(reader, jetstream_last_held_ask(reader->jetstream, reader->stream, reader->subject,
                                                 on_last, reader));
}

void thread_reader_go_on(struct thread_reader *reader) {
    reader->count = 0;
    parley_buffer_clear(&reader->text);
    if (!reader->is_over) {
        ordered_consumer_pull(reader->consumer, PULL_COUNT, PULL_BYTES);
    }
}

void thread_reader_close(struct thread_reader *reader) {
    reader->is_over = true;
    jetstream_request_cancel(reader->asked);
    ordered_consumer_close(reader->consumer);
    reader->asked = NULL;
    reader->consumer = NULL;
}

void thread_reader_finish(struct thread_reader *reader) {
    parley_buffer_finish(&reader->text);
    free(reader->messages);
    reader->messages = NULL;
}
