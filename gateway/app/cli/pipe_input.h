/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Standard input, cut into frames. It is read only when its frames can be taken: what waits is in
 * the kernel, and its writer waits. */

#include <parley/splitter.h>

/* One request has this many frames or bytes, or one frame that is larger. */
enum { PIPE_FRAMES_MAX = 1024, PIPE_BATCH_BYTES = 1 << 20 };

/* Frames that are not acknowledged yet, as they came. */
struct pipe_batch {
    struct parley_buffer body;
    size_t ends[PIPE_FRAMES_MAX];      /* of each frame in `body` */
    uint64_t numbers[PIPE_FRAMES_MAX]; /* of each in all of standard input, from 1 */
    bool is_reported[PIPE_FRAMES_MAX]; /* its sender knows that it could not be stored so far */
    size_t count;
};

struct pipe_input {
    struct parley_splitter splitter;
    char bytes[65536];
    struct parley_bytes rest; /* of `bytes`, not split yet */
    bool is_ended;            /* the input has ended */
};

enum pipe_gathered {
    PIPE_GATHERED_BATCH, /* at least one frame */
    PIPE_GATHERED_FAULT, /* `out` is not a frame: out->fault; if is_ended, nothing can be read after
                            it. The batch may have frames, which came before it */
    PIPE_GATHERED_END,   /* no frame, and there will be none */
    PIPE_GATHERED_MEMORY,
};

void pipe_input_init(struct pipe_input *input);
void pipe_input_finish(struct pipe_input *input);

/* Waits for a frame, or until `over` can be read and standard input is empty at the moment, and
 * takes the bytes that are there. */
enum pipe_gathered pipe_input_gather(struct pipe_input *input, int over, struct pipe_batch *batch,
                                     struct parley_slice *out);

/* Whether its writer has closed it. */
bool pipe_input_is_closed(const struct pipe_input *input);

void pipe_batch_init(struct pipe_batch *batch);
void pipe_batch_finish(struct pipe_batch *batch);
/* The message in a frame. */
struct parley_bytes pipe_batch_message(const struct pipe_batch *batch, size_t at);
/* Drops those of the first `count` frames for which `keeps` says false. */
void pipe_batch_keep(struct pipe_batch *batch, const bool *keeps, size_t count);
