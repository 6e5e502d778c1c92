/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads the messages of one thread, up to what the stream's leader holds when it begins, in
 * batches: each is folded by the caller before the next is read. */

#include "jetstream.h"
#include "ordered_consumer.h"

/* What is read of one thread. */
#define THREAD_MESSAGES_MAX 10000u
#define THREAD_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct thread_message {
    uint64_t sequence;
    int64_t time_ns;
    size_t subject, subject_length, payload, payload_length; /* of thread_reader.text */
};

enum thread_end {
    THREAD_GOES_ON,
    THREAD_IS_WHOLE,
    THREAD_IS_CUT, /* at one of the limits */
};

struct thread_reader {
    struct jetstream *jetstream;
    const char *stream, *subject; /* the subject may have wildcards */
    uint64_t at;                  /* no message after it; 0: no such limit */
    /* A batch has come; thread_reader_go_on, or thread_reader_close, follows. */
    void (*batch)(void *context, enum thread_end end);
    /* The thread has no message; or (`error`: half a sentence) it cannot be read. */
    void (*failed)(void *context, const char *error);
    void *context;

    /* The batch.  Owns: valid until thread_reader_go_on. */
    struct thread_message *messages;
    size_t count;
    struct parley_buffer text;

    /* Private. */
    size_t capacity, read_bytes;
    uint64_t read_count, first, last; /* of the stream, as its leader says */
    enum thread_end end;
    bool has_begun;
    bool is_over; /* nothing more is read */
    struct jetstream_request *asked;
    struct ordered_consumer *consumer;
};

/* Owns: the caller embeds it, with all that is not private set and the rest zeroed, and closes it.
 * `failed` may be called before it returns. */
void thread_reader_open(struct thread_reader *reader);
/* The batch was used. Not after one with an end. */
void thread_reader_go_on(struct thread_reader *reader);
/* Nothing more is read; the batch stays. Harmless a second time. */
void thread_reader_close(struct thread_reader *reader);
/* After thread_reader_close. */
void thread_reader_finish(struct thread_reader *reader);
