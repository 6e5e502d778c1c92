/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `parley pipe`: what its two directions share. Each has a thread and a connection of its own:
 *
 *   standard input ──▶ pipe_input ──▶ pipe_up ──▶ POST …/messages        (the main thread)
 *                                        │ refused: the other side's error
 *                                        ▼
 *   standard output ◀───────────────── pipe ◀── pipe_down ◀── GET …/stream
 *
 * They tell each other three things, each once, by a latch: an eventfd that can be read from then
 * on, so that a thread that also waits for something else sees it. */

#include <pthread.h>
#include <stdatomic.h>

#include <parley/message.h>
#include <parley/pipe.h>
#include <parley/splitter.h>

#include "http_client.h"

struct pipe_options {
    const struct parley_protocol *protocol; /* it has a `pipe` */
    const char *agent, *from, *since;
    const char *token;      /* NULL if there is none, or if it is in token_file … */
    const char *token_file; /* … which is read for each request, so that it can be replaced */
    const char *url_text;
    struct http_client_url url;
    struct http_client_tls tls;
    int64_t linger_ms; /* how long to try after the end of standard input */
};

struct pipe {
    const struct pipe_options *options;
    struct parley_schema *schema;
    pthread_mutex_t output;  /* one frame at a time */
    atomic_bool has_failed;  /* the exit status is 1 */
    int opened, over, ended; /* latches: the stream has been opened, or never will be; nothing more
                                can be passed on to standard output; all that was read is sent */
};

/* Returns: false, after an error message. */
bool pipe_init(struct pipe *pipe, const struct pipe_options *options);
void pipe_finish(struct pipe *pipe);

void pipe_latch(int latch);
bool pipe_is_latched(int latch);

/* Prints an error message, and notes that the pipe has failed. */
void pipe_fail(struct pipe *pipe, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a frame to standard output.  Threads: any. Returns: false: its reader is gone. `over` is
 * latched. */
bool pipe_write(struct pipe *pipe, struct parley_bytes frame);

/* ---- a message of parley's, or of the stream, as a frame ---- */

struct pipe_converter {
    struct parley_message message;
    struct parley_buffer frame;
};

void pipe_converter_init(struct pipe_converter *converter, const struct pipe *pipe);
void pipe_converter_finish(struct pipe_converter *converter);
/* Owns: `out` is borrowed until the next call.  Returns: PARLEY_E_LIMIT, PARLEY_E_UNSUPPORTED: it
 * cannot be a frame; PARLEY_E_MEMORY. */
enum parley_status pipe_convert(struct pipe_converter *converter, struct parley_bytes json,
                                struct parley_bytes *out);

/* ---- requests ---- */

/* One direction's requests, and its attempts. */
struct pipe_caller {
    struct pipe *pipe;
    const char *does; /* for people: "send to" */
    struct http_client client;
    struct parley_buffer path, token;
    struct parley_splitter lines; /* of an answer */
    bool is_in_trouble;           /* and has said so */
    int64_t delay_ms;             /* before the next attempt */
};

/* Returns: false, after an error message. pipe_caller_finish is to be called whatever the result.
 */
bool pipe_caller_init(struct pipe_caller *caller, struct pipe *pipe, const char *does);
void pipe_caller_finish(struct pipe_caller *caller);

/* A request to `caller->path`, which ends with a NUL.
 * Returns: false: there is no request, and it has been said why. */
bool pipe_caller_prepare(struct pipe_caller *caller, struct http_client_request *out);

/* Hands each line of the answer to `each` until it returns false. Silence of wait_ms ends it.
 * Returns: false: the answer was cut off; client.error says why. */
bool pipe_caller_read_lines(struct pipe_caller *caller, int64_t wait_ms,
                            bool (*each)(void *context, struct parley_bytes line), void *context);

/* Whether the same request can succeed later. */
bool pipe_status_is_passing(unsigned status);

/* It failed and is tried again: says so, once until pipe_caller_recovered. The next delay is
 * longer.  Returns: how long to wait. */
int64_t pipe_caller_failed(struct pipe_caller *caller, const char *why);
/* The same for an answer with such a status, which may say how long. */
int64_t pipe_caller_put_off(struct pipe_caller *caller);
void pipe_caller_recovered(struct pipe_caller *caller);

/* Handles an answer that no further attempt would change: prints advice, and fails. */
void pipe_caller_refused(struct pipe_caller *caller);
