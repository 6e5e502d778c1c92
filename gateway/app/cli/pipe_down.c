/* SPDX-License-Identifier: Apache-2.0 */

/* The stream is read as events, not as frames: only events have the token to continue after, so
 * that each message is passed on once, over any number of connections. The data of an event becomes
 * a frame here as the gateway would make it. */

#include "pipe_down.h"

#include <poll.h>
#include <stdlib.h>

#include "event_members.h"
#include "json_canonical.h"
#include "terminal.h"

/* An open stream has an event every 15 s. */
#define SILENCE_MS 45000

enum { TYPE, DATA, RESUME, MEMBER_COUNT };
static const char *const names[MEMBER_COUNT] = {"type", "data", "resume"};

struct pipe_down {
    struct pipe *pipe;
    struct pipe_caller caller;
    struct pipe_converter converter;
    struct parley_arena arena;
    struct parley_buffer data;  /* of an event */
    struct parley_buffer token; /* where to continue; empty: at --since */
    bool has_failed;            /* nothing can be passed on, whatever comes */
};

/* ---- one event ---- */

static bool fail(struct pipe_down *down, const char *why) {
    pipe_fail(down->pipe, "%s", why);
    down->has_failed = true;
    return false;
}

/* Returns: false: nothing more can be passed on. */
static bool pass_on(struct pipe_down *down, struct parley_bytes line, size_t offset) {
    struct parley_bytes frame;
    parley_buffer_clear(&down->data);
    if (!parley_buffer_reserve(&down->data, line.length - offset)) {
        return fail(down, parley_status_text(PARLEY_E_MEMORY));
    }
    const char *end =
        json_canonical_copy(line.data + offset, line.data + line.length, down->data.data);
    const struct parley_bytes json = {down->data.data, (size_t)(end - down->data.data)};
    const enum parley_status status = pipe_convert(&down->converter, json, &frame);
    if (status == PARLEY_E_MEMORY) {
        return fail(down, parley_status_text(status));
    }
    if (status != PARLEY_OK) {
        terminal_error("a message of the stream is left out, since it cannot be a frame: %s",
                       parley_status_text(status));
        return true;
    }
    return pipe_write(down->pipe, frame);
}

/* An event of parley's own. */
static void note(struct pipe_down *down, const struct parley_value *type) {
    if (parley_value_is(type, "parley.open")) {
        pipe_caller_recovered(&down->caller);
        pipe_latch(down->pipe->opened);
    } else if (parley_value_is(type, "parley.gap")) {
        terminal_error("messages were removed from the stream before they could be passed on");
    } else if (parley_value_is(type, "parley.foreign")) {
        terminal_error("a message of the stream is left out: it is not valid, and was published "
                       "to NATS without parley");
    }
}

static bool is_of_parley(struct parley_bytes type) {
    static const char prefix[] = "parley.";
    return type.length >= sizeof prefix - 1 && memcmp(type.data, prefix, sizeof prefix - 1) == 0;
}

static bool handle(struct pipe_down *down, struct parley_bytes line,
                   const struct parley_value *values) {
    const struct parley_bytes type = parley_value_text(&values[TYPE]);
    const struct parley_bytes token = parley_value_text(&values[RESUME]);
    if (is_of_parley(type)) {
        note(down, &values[TYPE]);
    } else if (values[DATA].kind == PARLEY_OBJECT && !pass_on(down, line, values[DATA].offset)) {
        return false;
    }
    if (token.length > 0) {
        parley_buffer_clear(&down->token);
        parley_buffer_append(&down->token, token);
    }
    return !down->token.has_failed || fail(down, parley_status_text(PARLEY_E_MEMORY));
}

static bool on_line(void *context, struct parley_bytes line) {
    struct pipe_down *down = context;
    struct parley_value values[MEMBER_COUNT];
    parley_arena_reset(&down->arena);
    switch (event_members_read(line, names, MEMBER_COUNT, values, &down->arena)) {
    case JSON_READER_READ:
        return handle(down, line, values);
    case JSON_READER_MEMORY:
        return fail(down, parley_status_text(PARLEY_E_MEMORY));
    case JSON_READER_FAULT:
        break;
    }
    return fail(down, "the stream has a line that is not an event; check that the URL is that of a "
                      "parley server");
}

/* ---- one connection ---- */

static void write_query_value(struct parley_buffer *out, struct parley_bytes text) {
    static const char plain[] =
        "-._~:0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (size_t i = 0; i < text.length; i++) {
        if (memchr(plain, text.data[i], sizeof plain - 1) != NULL) {
            parley_buffer_char(out, text.data[i]);
        } else {
            parley_buffer_format(out, "%%%02X", (unsigned char)text.data[i]);
        }
    }
}

static void write_path(struct pipe_down *down) {
    const struct pipe_options *options = down->pipe->options;
    struct parley_buffer *path = &down->caller.path;
    parley_buffer_clear(path);
    parley_buffer_format(path, "%s/v1/%s/stream?agent=%s&sender=%s&since=", options->url.path,
                         options->protocol->name, options->agent,
                         options->protocol->pipe->other_side(options->from));
    write_query_value(path, down->token.length > 0 ? parley_buffer_bytes(&down->token)
                                                   : parley_bytes_of(options->since));
    parley_buffer_char(path, '\0');
}

static bool is_over(const struct pipe_down *down) {
    return down->has_failed || pipe_is_latched(down->pipe->over) ||
           pipe_is_latched(down->pipe->ended);
}

/* Follows the stream while it is open.  Returns: how long to wait before the next attempt; -1:
 * there is none. */
static int64_t follow(struct pipe_down *down) {
    enum { OK = 200 };
    struct pipe_caller *caller = &down->caller;
    struct http_client_request request;
    write_path(down);
    if (!pipe_caller_prepare(caller, &request)) {
        return -1;
    }
    if (!http_client_ask(&caller->client, &down->pipe->options->url, &request, SILENCE_MS)) {
        return is_over(down) ? -1 : pipe_caller_failed(caller, caller->client.error);
    }
    if (caller->client.status != OK) {
        if (pipe_status_is_passing(caller->client.status)) {
            return pipe_caller_put_off(caller);
        }
        pipe_caller_refused(caller);
        return -1;
    }
    const bool is_whole = pipe_caller_read_lines(caller, SILENCE_MS, on_line, down);
    return is_over(down) ? -1
                         : pipe_caller_failed(caller, is_whole ? "the server has ended the stream"
                                                               : caller->client.error);
}

/* ---- all of it ---- */

static void run(struct pipe_down *down) {
    const int ended = down->pipe->ended;
    down->caller.client.wake_fd = ended;
    while (!pipe_is_latched(ended)) {
        const int64_t delay_ms = follow(down);
        if (delay_ms < 0) {
            return;
        }
        (void)poll(&(struct pollfd){.fd = ended, .events = POLLIN}, 1, (int)delay_ms);
    }
}

void *pipe_down_run(void *pipe) {
    struct pipe_down *down = calloc(1, sizeof *down);
    if (down == NULL) {
        pipe_fail(pipe, "%s", parley_status_text(PARLEY_E_MEMORY));
    } else {
        down->pipe = pipe;
        const bool is_ready = pipe_caller_init(&down->caller, pipe, "read from");
        pipe_converter_init(&down->converter, pipe);
        parley_arena_init(&down->arena, 0);
        parley_buffer_init(&down->data);
        parley_buffer_init(&down->token);
        if (is_ready) {
            run(down);
        }
        parley_buffer_finish(&down->token);
        parley_buffer_finish(&down->data);
        parley_arena_finish(&down->arena);
        pipe_converter_finish(&down->converter);
        pipe_caller_finish(&down->caller);
        free(down);
    }
    pipe_latch(((struct pipe *)pipe)->over);
    pipe_latch(((struct pipe *)pipe)->opened); /* no thread needs to wait for it */
    return NULL;
}
