/* SPDX-License-Identifier: Apache-2.0 */

#include "pipe.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <sodium.h>

#include "bearer.h"
#include "quantity.h"
#include "terminal.h"

/* The largest message that NATS takes, in base64, and its envelope. */
#define LINE_BYTES_MAX ((size_t)96 << 20)

enum { DELAY_FIRST_MS = 100, DELAY_LAST_MS = 5000, DELAY_ASKED_MAX_MS = 60000 };

/* ---- shared state ---- */

void pipe_latch(int latch) {
    (void)eventfd_write(latch, 1);
}

bool pipe_is_latched(int latch) {
    struct pollfd fd = {.fd = latch, .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

bool pipe_init(struct pipe *pipe, const struct pipe_options *options) {
    *pipe = (struct pipe){.options = options, .output = PTHREAD_MUTEX_INITIALIZER};
    pipe->opened = eventfd(0, EFD_CLOEXEC);
    pipe->over = eventfd(0, EFD_CLOEXEC);
    pipe->ended = eventfd(0, EFD_CLOEXEC);
    if (pipe->opened < 0 || pipe->over < 0 || pipe->ended < 0) {
        terminal_error("cannot create an eventfd: %s", strerror(errno));
        return false;
    }
    if (parley_schema_create(options->protocol, &pipe->schema) != PARLEY_OK) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
        return false;
    }
    return true;
}

void pipe_finish(struct pipe *pipe) {
    const int latches[] = {pipe->opened, pipe->over, pipe->ended};
    for (size_t i = 0; i < sizeof latches / sizeof latches[0]; i++) {
        if (latches[i] >= 0) {
            close(latches[i]);
        }
    }
    parley_schema_destroy(pipe->schema);
}

void pipe_fail(struct pipe *pipe, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    terminal_error("%s", text);
    atomic_store(&pipe->has_failed, true);
}

static bool write_all(struct parley_bytes bytes) {
    while (bytes.length > 0) {
        const ssize_t written = write(STDOUT_FILENO, bytes.data, bytes.length);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        const size_t count = written > 0 ? (size_t)written : 0;
        bytes = (struct parley_bytes){bytes.data + count, bytes.length - count};
    }
    return true;
}

/* A reader that has gone is the end, and no error: it is how a port is closed. */
bool pipe_write(struct pipe *pipe, struct parley_bytes frame) {
    pthread_mutex_lock(&pipe->output);
    const bool is_written = !pipe_is_latched(pipe->over) && write_all(frame);
    if (!is_written) {
        if (errno != EPIPE && !pipe_is_latched(pipe->over)) {
            pipe_fail(pipe, "cannot write to standard output: %s", strerror(errno));
        }
        pipe_latch(pipe->over);
    }
    pthread_mutex_unlock(&pipe->output);
    return is_written;
}

/* ---- frames ---- */

void pipe_converter_init(struct pipe_converter *converter, const struct pipe *pipe) {
    parley_message_init(&converter->message, pipe->schema);
    parley_buffer_init(&converter->frame);
}

void pipe_converter_finish(struct pipe_converter *converter) {
    parley_message_finish(&converter->message);
    parley_buffer_finish(&converter->frame);
}

/* The gateway has judged it. Only what cannot be read cannot be converted. */
enum parley_status pipe_convert(struct pipe_converter *converter, struct parley_bytes json,
                                struct parley_bytes *out) {
    const struct parley_options options = {.message_bytes_max = SIZE_MAX};
    struct parley_message *message = &converter->message;
    parley_buffer_clear(&converter->frame);
    PARLEY_TRY(parley_message_check(message, json, &parley_codec_json, &options,
                                    (struct parley_position){1, 1}));
    if (!message->is_decoded) {
        return PARLEY_E_UNSUPPORTED;
    }
    const struct parley_protocol *protocol = message->protocol;
    PARLEY_TRY(protocol->convert(message, protocol->pipe->codec, &converter->frame));
    *out = parley_buffer_bytes(&converter->frame);
    return parley_buffer_status(&converter->frame);
}

/* ---- requests ---- */

bool pipe_caller_init(struct pipe_caller *caller, struct pipe *pipe, const char *does) {
    *caller = (struct pipe_caller){.pipe = pipe, .does = does, .delay_ms = DELAY_FIRST_MS};
    parley_buffer_init(&caller->path);
    parley_buffer_init(&caller->token);
    parley_splitter_init(&caller->lines, PARLEY_FRAMING_LINES, LINE_BYTES_MAX);
    if (!http_client_init(&caller->client)) {
        pipe_fail(pipe, "%s", parley_status_text(PARLEY_E_MEMORY));
        return false;
    }
    return true;
}

void pipe_caller_finish(struct pipe_caller *caller) {
    http_client_finish(&caller->client);
    parley_buffer_finish(&caller->path);
    parley_buffer_finish(&caller->token);
    parley_splitter_finish(&caller->lines);
}

static const char *find_token(struct pipe_caller *caller, bool *out_is_found) {
    const struct pipe_options *options = caller->pipe->options;
    *out_is_found = true;
    if (options->token_file == NULL) {
        return options->token;
    }
    struct parley_buffer error;
    parley_buffer_init(&error);
    *out_is_found = bearer_of_file(options->token_file, &caller->token, &error);
    if (!*out_is_found) {
        pipe_fail(caller->pipe, "%.*s", (int)error.length, error.data != NULL ? error.data : "");
    }
    parley_buffer_finish(&error);
    return caller->token.data;
}

bool pipe_caller_prepare(struct pipe_caller *caller, struct http_client_request *out) {
    bool has_token;
    if (caller->path.has_failed) {
        pipe_fail(caller->pipe, "%s", parley_status_text(PARLEY_E_MEMORY));
        return false;
    }
    *out =
        (struct http_client_request){.path = caller->path.data, .tls = caller->pipe->options->tls};
    out->token = find_token(caller, &has_token);
    return has_token;
}

/* Returns: false: `each` has stopped, or (sets *out_is_whole to false) there is no memory. */
static bool split_lines(struct pipe_caller *caller, struct parley_bytes bytes,
                        bool (*each)(void *context, struct parley_bytes line), void *context,
                        bool *out_is_whole) {
    struct parley_slice slice;
    enum parley_split split;
    while ((split = parley_splitter_next(&caller->lines, &bytes, &slice)) != PARLEY_SPLIT_MORE) {
        *out_is_whole = split == PARLEY_SPLIT_MESSAGE || split == PARLEY_SPLIT_FAULT;
        if (!*out_is_whole) {
            snprintf(caller->client.error, sizeof caller->client.error, "%s",
                     split == PARLEY_SPLIT_SIZE ? "a line of the answer is over 96 MiB"
                                                : parley_status_text(PARLEY_E_MEMORY));
            return false;
        }
        if (split == PARLEY_SPLIT_MESSAGE && !each(context, slice.bytes)) {
            return false;
        }
    }
    return true;
}

bool pipe_caller_read_lines(struct pipe_caller *caller, int64_t wait_ms,
                            bool (*each)(void *context, struct parley_bytes line), void *context) {
    struct parley_bytes piece;
    bool is_whole = true;
    parley_splitter_finish(&caller->lines);
    parley_splitter_init(&caller->lines, PARLEY_FRAMING_LINES, LINE_BYTES_MAX);
    while ((is_whole = http_client_receive(&caller->client, wait_ms, &piece)) && piece.length > 0) {
        if (!split_lines(caller, piece, each, context, &is_whole)) {
            break;
        }
    }
    return is_whole;
}

/* ---- attempts ---- */

bool pipe_status_is_passing(unsigned status) {
    enum { TIMEOUT = 408, TOO_EARLY = 425, TOO_MANY = 429, SERVER = 500, UNSUPPORTED = 505 };
    return status == TIMEOUT || status == TOO_EARLY || status == TOO_MANY ||
           (status >= SERVER && status < UNSUPPORTED);
}

/* Half of it at random, so that many pipes do not come back together. */
static int64_t next_delay(struct pipe_caller *caller) {
    const int64_t half = caller->delay_ms / 2;
    caller->delay_ms = caller->delay_ms * 2 < DELAY_LAST_MS ? caller->delay_ms * 2 : DELAY_LAST_MS;
    return half + (int64_t)randombytes_uniform((uint32_t)half + 1);
}

int64_t pipe_caller_failed(struct pipe_caller *caller, const char *why) {
    if (!caller->is_in_trouble) {
        terminal_error("cannot %s %s: %s; trying again", caller->does,
                       caller->pipe->options->url_text, why);
    }
    caller->is_in_trouble = true;
    return next_delay(caller);
}

int64_t pipe_caller_put_off(struct pipe_caller *caller) {
    char what[512];
    uint64_t seconds;
    const char *after = http_client_header(&caller->client, "Retry-After");
    const bool is_asked = after != NULL && quantity_read_count(after, &seconds);
    snprintf(what, sizeof what, "cannot %s %s", caller->does, caller->pipe->options->url_text);
    if (!caller->is_in_trouble) {
        http_client_print_refusal(&caller->client, what, "; trying again");
    }
    caller->is_in_trouble = true;
    const int64_t delay_ms = next_delay(caller);
    const int64_t asked_ms = !is_asked                             ? 0
                             : seconds < DELAY_ASKED_MAX_MS / 1000 ? (int64_t)seconds * 1000
                                                                   : DELAY_ASKED_MAX_MS;
    return asked_ms > delay_ms ? asked_ms : delay_ms;
}

void pipe_caller_recovered(struct pipe_caller *caller) {
    if (caller->is_in_trouble) {
        terminal_error("can %s %s again", caller->does, caller->pipe->options->url_text);
    }
    caller->is_in_trouble = false;
    caller->delay_ms = DELAY_FIRST_MS;
}

static const char *advice(const struct pipe_caller *caller) {
    const struct pipe_options *options = caller->pipe->options;
    const bool has_token = options->token != NULL || options->token_file != NULL;
    switch (caller->client.status) {
    case 401:
        return has_token ? "; the token is not accepted: it needs the scopes send and read"
                         : "; name a file with a token by --token-file, or set the environment "
                           "variable PARLEY_TOKEN";
    case 403:
        return "; the token needs the scopes send and read of this protocol, and if it is bound "
               "to a sender, that must be this agent";
    case 404:
        return "; check that the URL is that of a parley server, such as http://127.0.0.1:8080";
    default:
        return "";
    }
}

void pipe_caller_refused(struct pipe_caller *caller) {
    char what[512];
    snprintf(what, sizeof what, "cannot %s %s", caller->does, caller->pipe->options->url_text);
    http_client_print_refusal(&caller->client, what, advice(caller));
    atomic_store(&caller->pipe->has_failed, true);
}
