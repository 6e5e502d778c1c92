/* SPDX-License-Identifier: Apache-2.0 */

/* See object_reader.h. The name of the object decides which chunks are read: of the meta only the
 * subject of its chunks is used before it agrees with the message. */

#include "object_reader.h"

#include <stdlib.h>
#include <string.h>

#include "ordered_consumer.h"

enum { PULL_CHUNKS = 4, PULL_BYTES = PULL_CHUNKS * (int)(OBJECT_CHUNK_BYTES + 4096) };

/*   ASKING ── its meta ──▶ READING ── its last byte, or an error ──▶ ENDED
 *   READING ── nothing follows ──▶ LOOKING ── its meta, how many chunks there are ──▶ ENDED
 *   ASKING ── an error ──▶ ENDED
 */
enum phase { PHASE_ASKING, PHASE_READING, PHASE_LOOKING, PHASE_ENDED };

struct object_reader {
    struct jetstream *jetstream;
    struct object_reader_events events;
    enum phase phase;
    char stream[OBJECT_STREAM_MAX], bucket[OBJECT_STREAM_MAX];
    char meta[OBJECT_SUBJECT_MAX], chunks[OBJECT_SUBJECT_MAX];
    uint64_t meta_at, chunk_count;  /* the sequence of its meta, and what that says */
    char digest[OBJECT_DIGEST_MAX]; /* that it must have */
    uint64_t size, received;
    uint64_t first, last; /* the sequences of chunks that came; 0 if none did */
    uint64_t current_at;  /* the last one that had come when the consumer had delivered all */
    uint64_t asked_after; /* the last one that had come when the leader was asked for the missing
                             ones */
    struct object_digest sum;
    struct jetstream_request *request;
    struct ordered_consumer *consumer;
    unsigned depth; /* of callbacks in which it is used */
    bool is_closed;
};

static void free_reader(struct object_reader *reader) {
    object_digest_finish(&reader->sum);
    free(reader);
}

static void enter(struct object_reader *reader) {
    reader->depth++;
}

static void leave(struct object_reader *reader) {
    if (--reader->depth == 0 && reader->is_closed) {
        free_reader(reader);
    }
}

static void stop(struct object_reader *reader) {
    jetstream_request_cancel(reader->request);
    ordered_consumer_close(reader->consumer);
    reader->request = NULL;
    reader->consumer = NULL;
    reader->phase = PHASE_ENDED;
}

static void end(struct object_reader *reader, enum object_end how) {
    if (reader->phase != PHASE_ENDED) {
        stop(reader);
        reader->events.ended(reader->events.context, how);
    }
}

/* ---- chunks ---- */

static void end_whole(struct object_reader *reader) {
    char digest[OBJECT_DIGEST_MAX];
    if (!object_digest_end(&reader->sum, digest)) {
        end(reader, OBJECT_NO_MEMORY);
    } else {
        end(reader, strcmp(digest, reader->digest) == 0 ? OBJECT_WHOLE : OBJECT_WRONG);
    }
}

static void on_opened(void *context, uint64_t next_sequence) {
    const struct object_reader *reader = context;
    (void)next_sequence;
    ordered_consumer_pull(reader->consumer, PULL_CHUNKS, PULL_BYTES);
}

static void on_chunk(void *context, const struct jetstream_stored *stored) {
    struct object_reader *reader = context;
    enter(reader);
    if (stored->payload.length > reader->size - reader->received) {
        end(reader, OBJECT_WRONG);
    } else {
        reader->received += stored->payload.length;
        reader->first = reader->first == 0 ? stored->sequence : reader->first;
        reader->last = stored->sequence;
        object_digest_add(&reader->sum, stored->payload);
        reader->events.bytes(reader->events.context, stored->payload);
        if (reader->phase == PHASE_READING && reader->received == reader->size) {
            end_whole(reader);
        }
    }
    leave(reader);
}

static void on_pull_ended(void *context) {
    struct object_reader *reader = context;
    enter(reader);
    if (reader->phase == PHASE_READING) {
        reader->events.pulled(reader->events.context);
    }
    leave(reader);
}

static void end_missing(struct object_reader *reader, enum object_end how) {
    enter(reader);
    end(reader, how);
    leave(reader);
}

static void ask_leader(struct object_reader *reader, uint64_t from, jetstream_held_fn *done) {
    reader->request = jetstream_next_held_ask(reader->jetstream, reader->stream, reader->chunks,
                                              from, done, reader);
    if (reader->request == NULL) {
        end_missing(reader, OBJECT_UNREACHABLE);
    }
}

static void on_meta_again(void *context, const struct jetstream_held *held);

static bool ask_for_meta(struct object_reader *reader, jetstream_held_fn *done) {
    reader->request =
        jetstream_last_held_ask(reader->jetstream, reader->stream, reader->meta, done, reader);
    return reader->request != NULL;
}

/* What it delivered is not enough; from now on nothing more is taken. */
static void look_at_meta(struct object_reader *reader) {
    ordered_consumer_close(reader->consumer);
    reader->consumer = NULL;
    reader->phase = PHASE_LOOKING;
    if (!ask_for_meta(reader, on_meta_again)) {
        end_missing(reader, OBJECT_UNREACHABLE);
    }
}

/* The leader has nothing that follows: then the object was removed meanwhile, or stored once more,
 * with chunks of its own, or the member left some out, or parts of it are lost. Else it is the
 * member that lacks them. */
static void end_lacking(struct object_reader *reader, const struct jetstream_held *held) {
    if (held->found == JETSTREAM_HELD_GONE) {
        look_at_meta(reader);
    } else {
        end_missing(reader, OBJECT_UNREACHABLE);
    }
}

static void ask_what_is_missing(struct object_reader *reader);

/* Missing chunks may have come in the meantime, and perhaps there are too few again. */
static void on_chunk_after(void *context, const struct jetstream_held *held) {
    struct object_reader *reader = context;
    reader->request = NULL;
    if (held->found != JETSTREAM_HELD_FOUND || reader->last == reader->asked_after) {
        end_lacking(reader, held);
    } else if (reader->last == reader->current_at) {
        ask_what_is_missing(reader);
    }
}

static void on_first_chunk(void *context, const struct jetstream_held *held) {
    struct object_reader *reader = context;
    reader->request = NULL;
    if (held->found == JETSTREAM_HELD_FOUND && held->sequence == reader->first) {
        ask_leader(reader, reader->asked_after + 1, on_chunk_after);
    } else {
        end_lacking(reader, held);
    }
}

/* All of them should have come, since chunks are stored before the meta. But the consumer may be on
 * a member of the cluster that lags behind, and one that had none of them may begin after the
 * first. So the leader is asked for the first, and for the next one when there were too few. */
static void ask_what_is_missing(struct object_reader *reader) {
    reader->asked_after = reader->last;
    ask_leader(reader, 1, on_first_chunk);
}

static void on_current(void *context) {
    struct object_reader *reader = context;
    if (reader->phase == PHASE_READING && reader->received < reader->size) {
        reader->current_at = reader->last;
        if (reader->request == NULL) {
            ask_what_is_missing(reader);
        }
    }
}

static void on_refused(void *context, const char *error) {
    struct object_reader *reader = context;
    (void)error;
    enter(reader);
    end(reader, OBJECT_UNREACHABLE);
    leave(reader);
}

static enum parley_status open_chunks(struct object_reader *reader) {
    const struct jetstream_start start = {
        .from = JETSTREAM_FROM_SEQUENCE, .sequence = 1, .filter = reader->chunks};
    const struct ordered_consumer_events events = {.opened = on_opened,
                                                   .stored = on_chunk,
                                                   .pull_ended = on_pull_ended,
                                                   .refused = on_refused,
                                                   .current = on_current,
                                                   .context = reader};
    return ordered_consumer_open(reader->jetstream, reader->stream, start, ORDERED_REPLAY, &events,
                                 &reader->consumer);
}

/* ---- its meta ---- */

static bool is_wanted(const struct object_reader *reader, const struct object_meta *meta) {
    return meta->size == reader->size && meta->nuid.length > 0 &&
           meta->nuid.length < OBJECT_SUBJECT_MAX / 2 &&
           memchr(meta->nuid.data, '*', meta->nuid.length) == NULL &&
           memchr(meta->nuid.data, '>', meta->nuid.length) == NULL &&
           parley_bytes_equal(meta->digest, parley_bytes_of(reader->digest));
}

static void begin_reading(struct object_reader *reader, const struct object_meta *meta) {
    object_chunk_subject(reader->bucket, meta->nuid, reader->chunks);
    reader->phase = PHASE_READING;
    object_digest_begin(&reader->sum);
    if (reader->size == 0) {
        end_whole(reader);
    } else if (open_chunks(reader) != PARLEY_OK) {
        end(reader, OBJECT_NO_MEMORY);
    }
}

static void read_meta(struct object_reader *reader, const struct jetstream_held *held) {
    struct parley_arena arena;
    struct object_meta meta;
    parley_arena_init(&arena, 0);
    const enum parley_status status = object_meta_read(held->payload, &arena, &meta);
    if (status == PARLEY_E_MEMORY) {
        end(reader, OBJECT_NO_MEMORY);
    } else if (status == PARLEY_OK && meta.is_deleted) {
        end(reader, OBJECT_GONE);
    } else if (status != PARLEY_OK || !is_wanted(reader, &meta)) {
        end(reader, OBJECT_WRONG);
    } else {
        reader->meta_at = held->sequence;
        reader->chunk_count = meta.chunks;
        begin_reading(reader, &meta);
    }
    parley_arena_finish(&arena);
}

static void on_meta(void *context, const struct jetstream_held *held) {
    struct object_reader *reader = context;
    reader->request = NULL;
    enter(reader);
    if (held->found == JETSTREAM_HELD_FOUND) {
        read_meta(reader, held);
    } else {
        end(reader, held->found == JETSTREAM_HELD_UNKNOWN ? OBJECT_UNREACHABLE : OBJECT_GONE);
    }
    leave(reader);
}

static void on_counted(void *context, const struct jetstream_stream_info *info) {
    struct object_reader *reader = context;
    const bool is_lost =
        info->is_known && info->is_led && info->subject_message_count < reader->chunk_count;
    reader->request = NULL;
    end_missing(reader, is_lost ? OBJECT_WRONG : OBJECT_UNREACHABLE);
}

static void on_meta_again(void *context, const struct jetstream_held *held) {
    struct object_reader *reader = context;
    reader->request = NULL;
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        end_missing(reader, OBJECT_UNREACHABLE);
    } else if (!object_is_there(held)) {
        end_missing(reader, OBJECT_GONE);
    } else {
        reader->request = held->sequence == reader->meta_at
                              ? jetstream_subject_ask(reader->jetstream, reader->stream,
                                                      reader->chunks, on_counted, reader)
                              : NULL;
        if (reader->request == NULL) {
            end_missing(reader, OBJECT_UNREACHABLE);
        }
    }
}

bool object_is_there(const struct jetstream_held *held) {
    struct parley_arena arena;
    struct object_meta meta;
    parley_arena_init(&arena, 0);
    const bool is_there = held->found == JETSTREAM_HELD_FOUND &&
                          object_meta_read(held->payload, &arena, &meta) == PARLEY_OK &&
                          !meta.is_deleted;
    parley_arena_finish(&arena);
    return is_there;
}

/* ---- lifecycle ---- */

static bool copy(struct parley_bytes text, char *out, size_t size) {
    if (text.length >= size) {
        return false;
    }
    memcpy(out, text.data, text.length);
    out[text.length] = '\0';
    return true;
}

enum parley_status object_reader_open(struct jetstream *jetstream, const char *bucket,
                                      const struct object_pointer *want,
                                      const struct object_reader_events *events,
                                      struct object_reader **out) {
    struct object_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        return PARLEY_E_MEMORY;
    }
    reader->jetstream = jetstream;
    reader->events = *events;
    reader->size = want->size;
    object_stream_name(bucket, reader->stream);
    object_meta_subject(bucket, want->name, reader->meta);
    const bool is_copied = copy(parley_bytes_of(bucket), reader->bucket, sizeof reader->bucket) &&
                           copy(want->digest, reader->digest, sizeof reader->digest);
    if (!is_copied || !ask_for_meta(reader, on_meta)) {
        free_reader(reader);
        return PARLEY_E_IO;
    }
    *out = reader;
    return PARLEY_OK;
}

void object_reader_pull(struct object_reader *reader) {
    if (reader->phase == PHASE_READING && reader->consumer != NULL) {
        ordered_consumer_pull(reader->consumer, PULL_CHUNKS, PULL_BYTES);
    }
}

void object_reader_close(struct object_reader *reader) {
    if (reader == NULL) {
        return;
    }
    stop(reader);
    reader->is_closed = true;
    if (reader->depth == 0) {
        free_reader(reader);
    }
}
