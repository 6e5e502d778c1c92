/* SPDX-License-Identifier: Apache-2.0 */

/* One request after another on one connection, each with the frames that have come since the last.
 * A request is repeated until the gateway has reported the outcome of each of its frames. */

#include "pipe_up.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock_and_ids.h"
#include "pipe_answer.h"
#include "pipe_input.h"
#include "reactor.h"

/* No byte moves for this long: the attempt has failed. After the end it is as long as there is
 * time, or this last moment, in which an answer can come that is on its way. */
enum { SILENCE_MS = 60000, LAST_MS = 1000 };

/* The state of a frame that was sent. */
enum fate { FATE_UNKNOWN, FATE_SETTLED, FATE_AGAIN };

struct pipe_up {
    struct pipe *pipe;
    struct pipe_caller caller;
    struct pipe_input input;
    struct pipe_batch batch;
    struct pipe_answer answer;
    struct pipe_converter converter;
    struct parley_buffer refusal;
    size_t at_once;                   /* frames in one request, at most */
    bool is_alone;                    /* this attempt has one message, which is large */
    size_t sent;                      /* of the batch, in this attempt … */
    enum fate fates[PIPE_FRAMES_MAX]; /* … and what became of them */
    bool has_summary;                 /* of the answer: it is whole */
    int64_t delay_ms;                 /* before the next attempt */
    int64_t ends_ms;                  /* when to give up; 0: standard input is open */
};

/* ---- the end ---- */

/* Standard input or output has been closed: from now on there is only so much time. */
static void note_end(struct pipe_up *up) {
    const bool is_closed = pipe_input_is_closed(&up->input) || pipe_is_latched(up->pipe->over);
    if (up->ends_ms == 0 && is_closed) {
        up->ends_ms = reactor_clock_ms() + up->pipe->options->linger_ms;
    }
}

static bool is_too_late(const struct pipe_up *up) {
    return up->ends_ms != 0 && reactor_clock_ms() >= up->ends_ms;
}

/* How long an attempt may wait for the server. */
static int64_t patience_ms(struct pipe_up *up) {
    note_end(up);
    const int64_t left_ms = up->ends_ms == 0 ? SILENCE_MS : up->ends_ms - reactor_clock_ms();
    return left_ms < LAST_MS ? LAST_MS : left_ms < SILENCE_MS ? left_ms : SILENCE_MS;
}

/* Until `latch` (-1: none), for wait_ms at most, or until the end has begun or come. */
static void await(struct pipe_up *up, int latch, int64_t wait_ms) {
    note_end(up);
    const bool is_open = up->ends_ms == 0;
    const int64_t left_ms = is_open ? wait_ms : up->ends_ms - reactor_clock_ms();
    const int64_t for_ms = left_ms < wait_ms ? left_ms : wait_ms;
    struct pollfd fds[] = {{.fd = latch, .events = POLLIN},
                           {.fd = is_open ? up->pipe->over : -1, .events = POLLIN},
                           {.fd = is_open ? STDIN_FILENO : -1}}; /* of its end alone */
    (void)poll(fds, 3, for_ms > 0 ? (int)for_ms : 0);
    note_end(up);
}

/* Immediate answers must not be missed: nothing is sent before the stream is open. */
static bool await_stream(struct pipe_up *up) {
    enum { LOOK_MS = 60000 };
    while (!pipe_is_latched(up->pipe->opened)) {
        if (is_too_late(up)) {
            pipe_fail(up->pipe, "standard input has ended, and the stream could not be opened");
            return false;
        }
        await(up, up->pipe->opened, LOOK_MS);
    }
    return !atomic_load(&up->pipe->has_failed);
}

/* ---- answers ---- */

/* The code of an error about a frame of the batch, which is valid: that it could not be stored. */
static const char *unstored_code(struct pipe_up *up, size_t at) {
    const struct parley_pipe *kind = up->pipe->options->protocol->pipe;
    const struct parley_options options = {.message_bytes_max = SIZE_MAX};
    struct parley_message *message = &up->converter.message;
    const enum parley_status status =
        parley_message_check(message, pipe_batch_message(&up->batch, at), kind->single, &options,
                             (struct parley_position){1, 1});
    const char *code =
        status == PARLEY_OK && message->is_decoded ? kind->unstored_code(message->type) : NULL;
    parley_message_reset(message);
    return code;
}

/* Writes up->answer as the other side's error. An output that no one reads is no failure. Returns:
 * false: it has failed. */
static bool write_error(struct pipe_up *up, const char *code) {
    const struct pipe_options *options = up->pipe->options;
    struct pipe_answer *answer = &up->answer;
    struct parley_bytes frame;
    parley_buffer_clear(&up->refusal);
    options->protocol->pipe->write_refusal(
        &(struct parley_pipe_refusal){.from = options->from,
                                      .code = code,
                                      .now_seconds = clock_now_seconds(),
                                      .message = parley_buffer_bytes(&answer->message),
                                      .details = parley_buffer_bytes(&answer->details)},
        &up->refusal);
    const bool is_written =
        !answer->message.has_failed && !answer->details.has_failed && !up->refusal.has_failed &&
        pipe_convert(&up->converter, parley_buffer_bytes(&up->refusal), &frame) == PARLEY_OK;
    if (!is_written) {
        pipe_fail(up->pipe, "an error message cannot be composed: %s",
                  parley_status_text(PARLEY_E_MEMORY));
        return false;
    }
    (void)pipe_write(up->pipe, frame);
    return true;
}

/* The frame is refused for good. */
static bool write_refusal(struct pipe_up *up, size_t at) {
    return write_error(up, up->answer.is_invalid ? NULL : unstored_code(up, at));
}

/* The frame could not be stored in this attempt: its sender may do something about it, and need not
 * wait for the next ones to know. */
static bool report_delay(struct pipe_up *up, size_t at) {
    if (up->batch.is_reported[at]) {
        return true;
    }
    const char *code = unstored_code(up, at);
    up->batch.is_reported[at] = true;
    return code == NULL || write_error(up, code);
}

static bool on_line(void *context, struct parley_bytes line) {
    struct pipe_up *up = context;
    const enum pipe_result result =
        pipe_answer_read(&up->answer, line, up->batch.numbers, up->sent);
    switch (result) {
    case PIPE_RESULT_STORED:
    case PIPE_RESULT_REFUSED:
        up->fates[up->answer.line - 1] = FATE_SETTLED;
        return result == PIPE_RESULT_STORED || write_refusal(up, up->answer.line - 1);
    case PIPE_RESULT_AGAIN:
        up->fates[up->answer.line - 1] = FATE_AGAIN;
        return report_delay(up, up->answer.line - 1);
    case PIPE_RESULT_SUMMARY:
        up->has_summary = true;
        return true;
    case PIPE_RESULT_OTHER:
        break;
    }
    return true;
}

/* Drops settled frames. `results=errors` lists no stored ones: the summary says that the rest is
 * stored. */
static void settle(struct pipe_up *up) {
    bool keeps[PIPE_FRAMES_MAX];
    for (size_t i = 0; i < up->sent; i++) {
        keeps[i] = up->fates[i] == FATE_AGAIN || (up->fates[i] == FATE_UNKNOWN && !up->has_summary);
    }
    pipe_batch_keep(&up->batch, keeps, up->sent);
}

static void read_results(struct pipe_up *up) {
    const size_t before = up->batch.count - up->sent;
    for (size_t i = 0; i < up->sent; i++) {
        up->fates[i] = FATE_UNKNOWN;
    }
    up->has_summary = false;
    const bool is_whole = pipe_caller_read_lines(&up->caller, patience_ms(up), on_line, up);
    settle(up);
    if (up->batch.count == before) {
        up->at_once = PIPE_FRAMES_MAX;
        pipe_caller_recovered(&up->caller);
    } else {
        up->delay_ms =
            pipe_caller_failed(&up->caller, !is_whole          ? up->caller.client.error
                                            : !up->has_summary ? "the answer was cut off"
                                                               : "messages cannot be stored now");
    }
}

/* The body is more than the server accepts at once. Fewer frames may do; one cannot be fewer. */
static void send_fewer(struct pipe_up *up) {
    if (up->sent > 1) {
        up->at_once = up->sent / 2;
        return;
    }
    pipe_answer_say(&up->answer, up->batch.numbers[0],
                    "the server accepts no body of this size (413)",
                    "Send less in one message, or raise the server's --body-max.");
    (void)write_refusal(up, 0);
    pipe_batch_keep(&up->batch, &(bool){false}, 1);
}

/* ---- one attempt ---- */

static bool is_large(const struct pipe_up *up, size_t at) {
    return pipe_batch_message(&up->batch, at).length > PIPE_BATCH_BYTES;
}

/* Selects the first frames of the batch that go together; a large message goes alone, and not in a
 * frame: such a one may be kept in the object store. */
static void choose(struct pipe_up *up) {
    const size_t most = up->batch.count < up->at_once ? up->batch.count : up->at_once;
    up->is_alone = is_large(up, 0);
    up->sent = 1;
    while (!up->is_alone && up->sent < most && !is_large(up, up->sent)) {
        up->sent++;
    }
}

/* The statuses that are about the message, and not about the request. */
static bool is_refusal(unsigned status) {
    enum { MALFORMED = 400, CONFLICT = 409, GONE = 410, TOO_LARGE = 413, INVALID = 422 };
    return status == MALFORMED || status == CONFLICT || status == GONE || status == TOO_LARGE ||
           status == INVALID;
}

/* Returns: false: the answer is not about the message. */
static bool settle_alone(struct pipe_up *up) {
    enum { OK = 200 };
    const unsigned status = up->caller.client.status;
    if (status != OK && !is_refusal(status)) {
        return false;
    }
    const char *text = http_client_body(&up->caller.client);
    if (status != OK) {
        (void)pipe_answer_read_problem(&up->answer, text, up->batch.numbers[0]);
        (void)write_refusal(up, 0);
    }
    pipe_batch_keep(&up->batch, &(bool){false}, 1);
    pipe_caller_recovered(&up->caller);
    return true;
}

/* A problem of the server's, about all that was sent. One of a proxy says nothing of messages. */
static void put_off(struct pipe_up *up) {
    enum { SERVER = 500 };
    const char *text = http_client_body(&up->caller.client);
    const bool is_of_server = up->caller.client.status >= SERVER;
    for (size_t i = 0; is_of_server && i < up->sent; i++) {
        if (!pipe_answer_read_problem(&up->answer, text, up->batch.numbers[i]) ||
            !report_delay(up, i)) {
            break;
        }
    }
    up->delay_ms = pipe_caller_put_off(&up->caller);
}

/* Returns: false: nothing more can be sent. */
static bool handle_answer(struct pipe_up *up) {
    enum { OK = 200, TOO_LARGE = 413 };
    const unsigned status = up->caller.client.status;
    if (up->is_alone && settle_alone(up)) {
        return !atomic_load(&up->pipe->has_failed);
    }
    if (status == OK) {
        read_results(up);
    } else if (status == TOO_LARGE) {
        send_fewer(up);
    } else if (pipe_status_is_passing(status)) {
        put_off(up);
    } else {
        pipe_caller_refused(&up->caller);
        return false;
    }
    return !atomic_load(&up->pipe->has_failed);
}

static bool attempt(struct pipe_up *up) {
    const struct pipe_options *options = up->pipe->options;
    struct http_client_request request;
    if (!pipe_caller_prepare(&up->caller, &request)) {
        return false;
    }
    const struct parley_pipe *kind = options->protocol->pipe;
    choose(up);
    up->delay_ms = 0;
    request.media_type = (up->is_alone ? kind->single : kind->codec)->media_types[0];
    request.body = up->is_alone
                       ? pipe_batch_message(&up->batch, 0)
                       : (struct parley_bytes){up->batch.body.data, up->batch.ends[up->sent - 1]};
    if (!http_client_ask(&up->caller.client, &options->url, &request, patience_ms(up))) {
        up->delay_ms = pipe_caller_failed(&up->caller, up->caller.client.error);
        return true;
    }
    return handle_answer(up);
}

/* Returns: false: it has failed, and has said why. */
static bool deliver(struct pipe_up *up) {
    while (up->batch.count > 0) {
        if (!attempt(up)) {
            return false;
        }
        await(up, -1, up->delay_ms);
        if (up->batch.count > 0 && is_too_late(up)) {
            pipe_fail(up->pipe, "standard input has ended, and %zu messages are not acknowledged",
                      up->batch.count);
            return false;
        }
    }
    return true;
}

/* ---- all of it ---- */

/* Handles bytes that are no frame. After an empty one others follow. */
static bool refuse_fault(struct pipe_up *up, const struct parley_slice *slice) {
    pipe_answer_say(&up->answer, slice->number, slice->fault, slice->hint);
    if (up->input.is_ended) {
        pipe_fail(up->pipe, "standard input is not whole frames: %s", slice->fault);
    }
    return write_error(up, NULL);
}

/* Returns: false: there is nothing more to do, or it has failed. */
static bool handle(struct pipe_up *up, enum pipe_gathered gathered,
                   const struct parley_slice *slice) {
    switch (gathered) {
    case PIPE_GATHERED_BATCH:
        return deliver(up);
    case PIPE_GATHERED_FAULT:
        return refuse_fault(up, slice) && deliver(up) && !up->input.is_ended;
    case PIPE_GATHERED_END:
        break;
    case PIPE_GATHERED_MEMORY:
        pipe_fail(up->pipe, "%s", parley_status_text(PARLEY_E_MEMORY));
        break;
    }
    return false;
}

static enum pipe_gathered gather(struct pipe_up *up, struct parley_slice *out) {
    const enum pipe_gathered gathered =
        pipe_input_gather(&up->input, up->pipe->over, &up->batch, out);
    note_end(up);
    return gathered;
}

/* The pipe ends, and what is left was not acknowledged. */
static void report_lost(struct pipe_up *up) {
    for (size_t i = 0; i < up->batch.count; i++) {
        const char *code = unstored_code(up, i);
        pipe_answer_say(&up->answer, up->batch.numbers[i],
                        "the pipe has ended, and the message is not acknowledged",
                        "Send it again: a message that is stored already is a duplicate.");
        if (code != NULL && !write_error(up, code)) {
            return;
        }
    }
}

/* Reads before it waits for the stream: the end of a file is seen only by reading it. */
static void run(struct pipe_up *up) {
    struct parley_slice slice;
    enum pipe_gathered gathered = gather(up, &slice);
    bool goes_on = await_stream(up);
    while (goes_on && (goes_on = handle(up, gathered, &slice))) {
        gathered = gather(up, &slice);
    }
    report_lost(up);
}

static void write_path(struct pipe_up *up) {
    const struct pipe_options *options = up->pipe->options;
    parley_buffer_format(&up->caller.path, "%s/v1/%s/messages?agent=%s&%s=%s&results=errors",
                         options->url.path, options->protocol->name, options->agent,
                         options->protocol->pipe->from->help.name, options->from);
    parley_buffer_char(&up->caller.path, '\0');
}

void pipe_up_run(struct pipe *pipe) {
    struct pipe_up *up = calloc(1, sizeof *up);
    if (up == NULL) {
        pipe_fail(pipe, "%s", parley_status_text(PARLEY_E_MEMORY));
        return;
    }
    up->pipe = pipe;
    up->at_once = PIPE_FRAMES_MAX;
    const bool is_ready = pipe_caller_init(&up->caller, pipe, "send to");
    pipe_input_init(&up->input);
    pipe_batch_init(&up->batch);
    pipe_answer_init(&up->answer);
    pipe_converter_init(&up->converter, pipe);
    parley_buffer_init(&up->refusal);
    write_path(up);
    if (is_ready) {
        run(up);
    }
    parley_buffer_finish(&up->refusal);
    pipe_converter_finish(&up->converter);
    pipe_answer_finish(&up->answer);
    pipe_batch_finish(&up->batch);
    pipe_input_finish(&up->input);
    pipe_caller_finish(&up->caller);
    free(up);
}
