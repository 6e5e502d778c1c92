/* SPDX-License-Identifier: Apache-2.0 */

#include "pipe_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { LENGTH_BYTES = 4 };

void pipe_batch_init(struct pipe_batch *batch) {
    parley_buffer_init(&batch->body);
    batch->count = 0;
}

void pipe_batch_finish(struct pipe_batch *batch) {
    parley_buffer_finish(&batch->body);
}

static void clear(struct pipe_batch *batch) {
    batch->count = 0;
    if (batch->body.capacity > 2 * PIPE_BATCH_BYTES) {
        parley_buffer_finish(&batch->body);
    }
    parley_buffer_clear(&batch->body);
}

void pipe_batch_keep(struct pipe_batch *batch, const bool *keeps, size_t count) {
    size_t kept = 0, end = 0;
    for (size_t i = 0, start = 0, stop; i < batch->count; i++, start = stop) {
        stop = batch->ends[i];
        if (i >= count || keeps[i]) {
            memmove(batch->body.data + end, batch->body.data + start, stop - start);
            end += stop - start;
            batch->numbers[kept] = batch->numbers[i];
            batch->is_reported[kept] = batch->is_reported[i];
            batch->ends[kept++] = end;
        }
    }
    batch->body.length = end;
    batch->count = kept;
    if (kept == 0) {
        clear(batch);
    }
}

struct parley_bytes pipe_batch_message(const struct pipe_batch *batch, size_t at) {
    const size_t start = (at > 0 ? batch->ends[at - 1] : 0) + LENGTH_BYTES;
    return (struct parley_bytes){batch->body.data + start, batch->ends[at] - start};
}

static bool add(struct pipe_batch *batch, const struct parley_slice *frame) {
    const size_t length = frame->bytes.length;
    const unsigned char head[LENGTH_BYTES] = {(unsigned char)(length >> 24),
                                              (unsigned char)(length >> 16),
                                              (unsigned char)(length >> 8), (unsigned char)length};
    parley_buffer_append(&batch->body, (struct parley_bytes){(const char *)head, LENGTH_BYTES});
    parley_buffer_append(&batch->body, frame->bytes);
    batch->ends[batch->count] = batch->body.length;
    batch->is_reported[batch->count] = false;
    batch->numbers[batch->count++] = frame->number;
    return !batch->body.has_failed;
}

static bool is_full(const struct pipe_batch *batch) {
    return batch->count == PIPE_FRAMES_MAX || batch->body.length >= PIPE_BATCH_BYTES;
}

/* ---- standard input ---- */

void pipe_input_init(struct pipe_input *input) {
    parley_splitter_init(&input->splitter, PARLEY_FRAMING_FRAMES, PARLEY_FRAME_BYTES_MAX);
    input->rest = (struct parley_bytes){0};
    input->is_ended = false;
    (void)fcntl(STDIN_FILENO, F_SETPIPE_SZ, PIPE_BATCH_BYTES); /* if it is a pipe: fewer requests */
}

void pipe_input_finish(struct pipe_input *input) {
    parley_splitter_finish(&input->splitter);
}

bool pipe_input_is_closed(const struct pipe_input *input) {
    struct pollfd fd = {.fd = STDIN_FILENO};
    return input->is_ended || (poll(&fd, 1, 0) > 0 && fd.revents != 0);
}

/* Waits for bytes, unless there are frames that can be sent now. Returns: false: there are none
 * now, and it need not wait for any. */
static bool await_bytes(int over, bool has_frames) {
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = over, .events = POLLIN}};
    int count;
    do {
        count = poll(fds, 2, has_frames ? 0 : -1);
    } while (count < 0 && errno == EINTR);
    return fds[0].revents != 0;
}

/* Returns: false: it has ended. An error of reading is its end, too. */
static bool read_some(struct pipe_input *input) {
    ssize_t got;
    do {
        got = read(STDIN_FILENO, input->bytes, sizeof input->bytes);
    } while (got < 0 && errno == EINTR);
    input->is_ended = got <= 0;
    input->rest = (struct parley_bytes){input->bytes, got > 0 ? (size_t)got : 0};
    return !input->is_ended;
}

/* Takes the next frame of the bytes read.  Returns: PARLEY_SPLIT_MORE: there is none. */
static enum parley_split take(struct pipe_input *input, struct pipe_batch *batch,
                              struct parley_slice *out) {
    enum parley_split split = input->is_ended
                                  ? parley_splitter_end(&input->splitter, out)
                                  : parley_splitter_next(&input->splitter, &input->rest, out);
    if (split == PARLEY_SPLIT_MESSAGE && !add(batch, out)) {
        split = PARLEY_SPLIT_MEMORY;
    }
    if (split == PARLEY_SPLIT_MESSAGE && out->bytes.length > PIPE_BATCH_BYTES) {
        parley_splitter_release(&input->splitter);
    }
    input->is_ended = input->is_ended || parley_splitter_has_ended(&input->splitter);
    return split;
}

enum pipe_gathered pipe_input_gather(struct pipe_input *input, int over, struct pipe_batch *batch,
                                     struct parley_slice *out) {
    while (!is_full(batch)) {
        switch (take(input, batch, out)) {
        case PARLEY_SPLIT_MESSAGE:
            continue;
        case PARLEY_SPLIT_FAULT:
        case PARLEY_SPLIT_SIZE:
            return PIPE_GATHERED_FAULT;
        case PARLEY_SPLIT_MEMORY:
            return PIPE_GATHERED_MEMORY;
        case PARLEY_SPLIT_END:
        case PARLEY_SPLIT_MORE:
            break;
        }
        if (input->is_ended || !await_bytes(over, batch->count > 0)) {
            break;
        }
        (void)read_some(input); /* at the end, take() reports the rest */
        if (input->is_ended) {
            continue;
        }
    }
    return batch->count > 0 ? PIPE_GATHERED_BATCH : PIPE_GATHERED_END;
}
