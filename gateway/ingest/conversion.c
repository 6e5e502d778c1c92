/* SPDX-License-Identifier: Apache-2.0 */

/* Many messages of one request put into another encoding, all of them or none: what is converted
 * goes to the spool, which is the answer once the body has ended and nothing in it was invalid. Of
 * what is invalid only the first is told; the rest are counted. A large message is checked and
 * offloaded, and nothing behind it is read meanwhile. */

#include "offload.h"

#include <inttypes.h>
#include <stdlib.h>

#include "spool.h"

enum { TEXT_KEPT_BYTES = 64 * 1024 }; /* of what one message was written into */

struct conversion {
    struct request_options options;
    struct http_request *request; /* NULL once it is gone */
    struct parley_splitter splitter;
    struct spool spool;
    struct parley_buffer text; /* one converted message */
    uint64_t received_count, invalid_count;
    struct parley_buffer detail, violations; /* of the first that is invalid */
    uint64_t read_offset;                    /* of the answer, in the spool */
    struct offload *offload;  /* the large message that the worker pool has; NULL: none */
    struct budget_share held; /* taken for what the splitter holds */
    bool has_ended;           /* the whole body has come */
    bool is_answered;         /* with a problem */
};

struct conversion *conversion_create(const struct request_options *options,
                                     struct http_request *request) {
    struct conversion *conversion = calloc(1, sizeof *conversion);
    if (conversion == NULL || !request_options_keep(&conversion->options, options)) {
        free(conversion);
        return NULL;
    }
    conversion->request = request;
    parley_splitter_init(&conversion->splitter, options->codec->framing,
                         request_message_bytes_max(options));
    spool_init(&conversion->spool, options->gateway->configuration->data, options->gateway->spools);
    return conversion;
}

/* The splitter holds nothing, and nobody looks at what it handed out any more. */
static void release_slice(struct conversion *conversion) {
    parley_splitter_release(&conversion->splitter);
    budget_uncover(conversion->options.gateway->budget, &conversion->held);
}

static void destroy(struct conversion *conversion) {
    release_slice(conversion);
    parley_splitter_finish(&conversion->splitter);
    spool_finish(&conversion->spool);
    parley_buffer_finish(&conversion->text);
    parley_buffer_finish(&conversion->detail);
    parley_buffer_finish(&conversion->violations);
    gateway_forget_message(conversion->options.gateway, conversion->options.protocol);
    request_options_release(&conversion->options);
    free(conversion);
}

void conversion_closed(struct conversion *conversion) {
    conversion->request = NULL;
    if (conversion->offload == NULL) {
        destroy(conversion);
    }
}

/* ---- one message ---- */

static void fail(struct conversion *conversion, enum parley_status status) {
    conversion->is_answered = true;
    problem_respond_format(conversion->request, PROBLEM_INTERNAL,
                           "The messages could not be converted: %s.", parley_status_text(status));
}

static void note_invalid(struct conversion *conversion, const struct parley_message *message,
                         size_t number) {
    if (conversion->invalid_count++ > 0) {
        return;
    }
    const bool is_line = conversion->splitter.framing == PARLEY_FRAMING_LINES;
    parley_buffer_format(&conversion->detail, "%s %zu, which breaks ",
                         is_line ? "that of line" : "number", number);
    check_describe(message, &conversion->detail);
    parley_findings_write(&message->findings, &conversion->violations);
    if (conversion->detail.has_failed || conversion->violations.has_failed) {
        fail(conversion, PARLEY_E_MEMORY);
    }
}

/* Appends what parts a message from the next one, where the encoding does not. */
static void end_message(const struct conversion *conversion, struct parley_buffer *text) {
    const enum parley_framing framing = conversion->options.to->framing;
    if (framing == PARLEY_FRAMING_LINES || framing == PARLEY_FRAMING_JSON) {
        parley_buffer_char(text, '\n');
    }
}

static void keep(struct conversion *conversion, struct parley_bytes text) {
    const uint64_t limit = conversion->options.gateway->configuration->spool_max_bytes;
    const bool is_too_long = spool_length(&conversion->spool) + text.length > limit;
    if (is_too_long) {
        conversion->is_answered = true;
        problem_respond_format(conversion->request, PROBLEM_TOO_LARGE,
                               "Converted, the messages take more than the %" PRIu64 " bytes that "
                               "are kept for an answer (--spool-max): send fewer at once.",
                               limit);
    } else if (!spool_has_room(&conversion->spool)) {
        conversion->is_answered = true;
        problem_respond(conversion->request, PROBLEM_OVERLOADED,
                        "The converted messages find no room to wait in until all of them are "
                        "known: other answers fill it (--spool-max), or the disk of the data "
                        "folder is nearly full. Nothing was stored: send them again later, or "
                        "fewer at once.");
    } else if (!spool_write(&conversion->spool, text)) {
        fail(conversion, PARLEY_E_IO);
    }
}

/* Into `text`, unless the worker pool has done it. */
static enum parley_status write_converted(struct conversion *conversion,
                                          struct parley_message *message) {
    const struct parley_codec *to = conversion->options.to;
    struct offload *offload = conversion->offload;
    if (offload == NULL) {
        return message->protocol->convert(message, to, &conversion->text);
    }
    parley_buffer_finish(&conversion->text);
    conversion->text = offload->payload;
    parley_buffer_init(&offload->payload);
    return offload->prepared;
}

static void convert(struct conversion *conversion, struct parley_message *message) {
    struct parley_buffer *text = &conversion->text;
    parley_buffer_clear(text);
    enum parley_status status = write_converted(conversion, message);
    end_message(conversion, text);
    status = status != PARLEY_OK ? status : parley_buffer_status(text);
    if (status != PARLEY_OK) {
        fail(conversion, status);
    } else {
        keep(conversion, parley_buffer_bytes(text));
    }
    if (text->capacity > TEXT_KEPT_BYTES) {
        parley_buffer_finish(text);
    }
}

/* What follows from the verdict on a message. */
static void on_verdict(struct conversion *conversion, struct parley_message *message,
                       const struct parley_slice *slice, enum parley_status status) {
    conversion->received_count++;
    if (status != PARLEY_OK) {
        fail(conversion, status);
    } else if (!parley_message_is_valid(message)) {
        note_invalid(conversion, message, slice->number);
    } else if (conversion->invalid_count == 0) {
        convert(conversion, message);
    }
}

static void end_if_whole(struct conversion *conversion);

static void on_checked(struct offload *offload, void *context) {
    struct conversion *conversion = context;
    if (conversion->request != NULL) {
        parley_splitter_note_verdict(&conversion->splitter, &offload->message);
        on_verdict(conversion, &offload->message, &offload->slice, offload->status);
    }
    offload_release(offload);
    conversion->offload = NULL;
    release_slice(conversion);
    if (conversion->request == NULL) {
        destroy(conversion);
    } else {
        end_if_whole(conversion);
        http_wake(conversion->request);
    }
}

/* Returns: whether the worker pool has it now. */
static bool check_offloaded(struct conversion *conversion, const struct parley_slice *slice) {
    if (slice->bytes.length >= OFFLOAD_BYTES_MIN &&
        parley_splitter_keeps(&conversion->splitter, slice)) {
        conversion->offload = offload_begin(&conversion->options, slice, on_checked, conversion);
    }
    return conversion->offload != NULL;
}

static void check(struct conversion *conversion, enum parley_split split,
                  const struct parley_slice *slice) {
    const enum parley_status status =
        split == PARLEY_SPLIT_MEMORY
            ? PARLEY_E_MEMORY
            : check_slice(&conversion->options, split, slice, &conversion->splitter);
    on_verdict(conversion,
               gateway_message(conversion->options.gateway, conversion->options.protocol), slice,
               status);
}

static void handle_slice(struct conversion *conversion, enum parley_split split,
                         const struct parley_slice *slice) {
    if (split == PARLEY_SPLIT_MESSAGE && check_offloaded(conversion, slice)) {
        return;
    }
    check(conversion, split, slice);
    if (budget_is_taken(&conversion->held) || slice->bytes.length > SLICE_KEPT_BYTES) {
        release_slice(conversion);
    }
}

/* ---- all of them ---- */

/* Sees to it that what the splitter holds is counted, or that it is not held. */
static void count_held(struct conversion *conversion) {
    if (!budget_cover(conversion->options.gateway->budget, &conversion->held,
                      parley_splitter_held_bytes(&conversion->splitter))) {
        const struct failure failure = failure_overloaded(&conversion->options);
        release_slice(conversion);
        conversion->is_answered = true;
        problem_respond(conversion->request, failure.problem, failure.detail);
    }
}

size_t conversion_body(struct conversion *conversion, struct parley_bytes bytes) {
    struct parley_bytes left = bytes;
    while (left.length > 0 && !conversion->is_answered && conversion->offload == NULL) {
        struct parley_slice slice = {0};
        const enum parley_split split = parley_splitter_next(&conversion->splitter, &left, &slice);
        if (split != PARLEY_SPLIT_MORE) {
            handle_slice(conversion, split, &slice);
        }
    }
    if (!conversion->is_answered) {
        count_held(conversion);
    }
    return conversion->is_answered ? bytes.length : bytes.length - left.length;
}

static void refuse(struct conversion *conversion) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text,
                         "%" PRIu64 " of %" PRIu64 " messages %s invalid, so that none was "
                         "converted; the first is ",
                         conversion->invalid_count, conversion->received_count,
                         conversion->invalid_count == 1 ? "is" : "are");
    parley_buffer_append(&text, parley_buffer_bytes(&conversion->detail));
    parley_buffer_char(&text, '\0');
    if (text.has_failed) {
        fail(conversion, PARLEY_E_MEMORY);
    } else {
        problem_respond_violations(conversion->request, PROBLEM_INVALID_MESSAGE, text.data,
                                   parley_buffer_bytes(&conversion->violations));
    }
    parley_buffer_finish(&text);
}

/* The body has ended: answer, when nothing of it is with the worker pool. */
static void end_if_whole(struct conversion *conversion) {
    enum parley_split split = conversion->has_ended ? PARLEY_SPLIT_MORE : PARLEY_SPLIT_END;
    while (split != PARLEY_SPLIT_END && !conversion->is_answered && conversion->offload == NULL) {
        struct parley_slice slice = {0};
        split = parley_splitter_end(&conversion->splitter, &slice);
        if (split != PARLEY_SPLIT_END) {
            handle_slice(conversion, split, &slice);
        }
    }
    if (!conversion->has_ended || conversion->is_answered || conversion->offload != NULL) {
        return;
    }
    if (conversion->invalid_count > 0) {
        refuse(conversion);
    } else {
        http_respond_stream(conversion->request, 200,
                            request_converted_type(&conversion->options, true), ingest_read);
    }
}

void conversion_end(struct conversion *conversion) {
    conversion->has_ended = true;
    end_if_whole(conversion);
}

ssize_t conversion_read(struct conversion *conversion, char *buffer, size_t size) {
    const ssize_t count = spool_read(&conversion->spool, conversion->read_offset, buffer, size);
    if (count > 0) {
        conversion->read_offset += (uint64_t)count;
        return count;
    }
    return count < 0 ? HTTP_SOURCE_ABORT : HTTP_SOURCE_END;
}
