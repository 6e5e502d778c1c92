/* SPDX-License-Identifier: Apache-2.0 */

/* Reads in pieces with read(2), so that growing files, pipes and terminals need no special case.
 * Detects the format where it is not given; parley_splitter finds the messages. */

#include "check_input.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "check_ahead.h"

enum {
    PIECE_BYTES = 128 * 1024, /* what stays in a cache until it is read again */
    SIGNATURE_BYTES = 16,     /* after spaces: enough for encodings with a signature */
};

void check_input_init(struct check_input *input, int fd, const struct parley_protocol *protocol,
                      const struct parley_codec *codec) {
    *input = (struct check_input){.fd = fd,
                                  .protocol = protocol,
                                  .codec = codec,
                                  .message_bytes_max = protocol->message_bytes_max};
    parley_buffer_init(&input->head);
    parley_splitter_init(&input->splitter, PARLEY_FRAMING_LINES, input->message_bytes_max);
}

void check_input_finish(struct check_input *input) {
    check_ahead_destroy(input->ahead);
    parley_splitter_finish(&input->splitter);
    parley_buffer_finish(&input->head);
    free(input->piece);
    input->piece = NULL;
}

void check_input_abandon(struct check_input *input) {
    input->state = INPUT_DONE;
}

const struct parley_codec *check_input_codec_of_name(const struct parley_protocol *protocol,
                                                     const char *name) {
    const char *slash = strrchr(name, '/');
    const char *dot = strrchr(slash != NULL ? slash : name, '.');
    if (dot == NULL) {
        return NULL;
    }
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        for (const char *const *known = (*codec)->extensions; *known != NULL; known++) {
            if (strcasecmp(*known, dot + 1) == 0) {
                return *codec;
            }
        }
    }
    return NULL;
}

/* ---- reading ---- */

static enum parley_status read_some(struct check_input *input, char *out, size_t size,
                                    size_t *out_length) {
    ssize_t got;
    do {
        got = read(input->fd, out, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return PARLEY_E_IO;
    }
    input->has_ended = got == 0;
    input->read_bytes += (size_t)got;
    *out_length = (size_t)got;
    return PARLEY_OK;
}

static enum parley_status read_piece(struct check_input *input) {
    if (input->piece == NULL) {
        input->piece = malloc(PIECE_BYTES);
    }
    if (input->piece == NULL) {
        return PARLEY_E_MEMORY;
    }
    input->left.data = input->piece;
    return read_some(input, input->piece, PIECE_BYTES, &input->left.length);
}

static enum parley_status read_head(struct check_input *input) {
    size_t length;
    if (!parley_buffer_reserve(&input->head, PIECE_BYTES)) {
        return PARLEY_E_MEMORY;
    }
    PARLEY_TRY(read_some(input, input->head.data + input->head.length, PIECE_BYTES, &length));
    input->head.length += length;
    return PARLEY_OK;
}

/* ---- detecting the format ---- */

static const struct parley_codec *find_framing(const struct parley_protocol *protocol,
                                               enum parley_framing framing) {
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        if ((*codec)->framing == framing) {
            return *codec;
        }
    }
    return NULL;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The index of the first byte from `at` on that is not a space. */
static size_t skip_space(struct parley_bytes text, size_t at) {
    while (at < text.length && is_space(text.data[at])) {
        at++;
    }
    return at;
}

/* Whether a line is a single value, judged by its brackets: the splitter for arrays must find
 * exactly one element in it. Whether it is valid JSON is checked later, so that a fault in the
 * first line does not turn a file of lines into one message. */
static bool is_whole_value(struct parley_bytes line, size_t message_bytes_max) {
    struct parley_splitter splitter;
    struct parley_slice slice;
    struct parley_bytes opening = PARLEY_BYTES("[");
    parley_splitter_init(&splitter, PARLEY_FRAMING_JSON, message_bytes_max);
    (void)parley_splitter_next(&splitter, &opening, &slice);
    const enum parley_split split = parley_splitter_next(&splitter, &line, &slice);
    const bool is_whole = split == PARLEY_SPLIT_MESSAGE && skip_space(line, 0) == line.length;
    parley_splitter_finish(&splitter);
    return is_whole;
}

/* The head is complete, or long enough to detect the format. */
static bool is_head_whole(const struct check_input *input) {
    return input->has_ended || input->head.length > input->message_bytes_max;
}

static const struct parley_codec *codec_that_begins(const struct parley_protocol *protocol,
                                                    struct parley_bytes head) {
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        if ((*codec)->begins != NULL && (*codec)->begins(head)) {
            return *codec;
        }
    }
    return NULL;
}

static bool has_signatures(const struct parley_protocol *protocol) {
    const struct parley_codec *const *codec = protocol->codecs;
    while (*codec != NULL && (*codec)->begins == NULL) {
        codec++;
    }
    return *codec != NULL;
}

/* Detects an encoding other than JSON by its first bytes, since binary data must not be searched
 * for lines. */
static enum parley_status find_signature(struct check_input *input) {
    if (input->codec != NULL || !has_signatures(input->protocol)) {
        return PARLEY_OK;
    }
    while (!is_head_whole(input) &&
           input->head.length - skip_space(parley_buffer_bytes(&input->head), 0) <
               SIGNATURE_BYTES) {
        PARLEY_TRY(read_head(input));
    }
    input->codec = codec_that_begins(input->protocol, parley_buffer_bytes(&input->head));
    return PARLEY_OK;
}

enum guess { GUESS_UNKNOWN, GUESS_ARRAY, GUESS_LINES, GUESS_ONE };

/* A first line that is too large to be looked into does not say what comes after it: it is passed
 * by as a line, so that no message behind it is lost. */
static bool is_line(struct parley_bytes line, size_t message_bytes_max) {
    return line.length > message_bytes_max || is_whole_value(line, message_bytes_max);
}

/* Detects the kind from the head. `*from`: the length that was searched for the end of the first
 * line, so that it is not searched again when a pipe delivers it byte by byte. */
static enum guess guess(const struct check_input *input, size_t *from) {
    const struct parley_bytes head = parley_buffer_bytes(&input->head);
    const bool is_last = is_head_whole(input);
    const size_t start = skip_space(head, 0);
    if (start == head.length) {
        return is_last ? GUESS_ONE : GUESS_UNKNOWN;
    }
    if (head.data[start] == '[') {
        return GUESS_ARRAY;
    }
    if (head.data[start] != '{' || input->codec != NULL) {
        return GUESS_ONE;
    }
    const size_t searched = *from > start ? *from : start;
    const char *feed = memchr(head.data + searched, '\n', head.length - searched);
    if (feed == NULL) {
        *from = head.length;
        return input->has_ended ? GUESS_ONE : is_last ? GUESS_LINES : GUESS_UNKNOWN;
    }
    const size_t end = (size_t)(feed - head.data);
    const bool is_alone = skip_space(head, end) == head.length;
    if (is_alone && !is_last) {
        return GUESS_UNKNOWN;
    }
    const bool has_more = !is_alone || !input->has_ended; /* or may have */
    const struct parley_bytes line = {head.data + start, end - start};
    return has_more && is_line(line, input->message_bytes_max) ? GUESS_LINES : GUESS_ONE;
}

static void begin_many(struct check_input *input, enum parley_framing framing) {
    parley_splitter_init(&input->splitter, framing, input->message_bytes_max);
    input->left = parley_buffer_bytes(&input->head);
    input->state = INPUT_MANY;
}

/* JSON or unknown: the first bytes show whether there are one or many messages. */
static enum parley_status begin_json(struct check_input *input) {
    size_t from = 0;
    enum guess is = guess(input, &from);
    while (is == GUESS_UNKNOWN) {
        PARLEY_TRY(read_head(input));
        is = guess(input, &from);
    }
    const enum parley_framing framing =
        is == GUESS_LINES ? PARLEY_FRAMING_LINES : PARLEY_FRAMING_JSON;
    if (input->codec == NULL) {
        input->codec = find_framing(input->protocol, framing);
    }
    if (is == GUESS_ONE) {
        input->state = INPUT_ONE;
    } else {
        begin_many(input, framing);
    }
    return input->codec != NULL ? PARLEY_OK : PARLEY_E_UNSUPPORTED;
}

static enum parley_status begin(struct check_input *input) {
    PARLEY_TRY(find_signature(input));
    switch (input->codec != NULL ? input->codec->framing : PARLEY_FRAMING_JSON) {
    case PARLEY_FRAMING_LINES:
    case PARLEY_FRAMING_FRAMES:
        begin_many(input, input->codec->framing);
        return PARLEY_OK;
    case PARLEY_FRAMING_WHOLE:
        input->state = INPUT_ONE;
        return PARLEY_OK;
    case PARLEY_FRAMING_JSON:
        break;
    }
    return begin_json(input);
}

/* ---- the messages ---- */

/* The whole input is one message; if it is too large, the rest is not read. */
static enum parley_status next_one(struct check_input *input, enum parley_split *out_split,
                                   struct parley_slice *out) {
    while (!input->has_ended && input->head.length <= input->message_bytes_max) {
        PARLEY_TRY(read_head(input));
    }
    input->state = INPUT_DONE;
    const struct parley_position bytes = {PARLEY_IN_BYTES, 0}, text = {1, 1};
    const bool is_whole = input->head.length <= input->message_bytes_max;
    *out = (struct parley_slice){.origin = input->codec->is_binary ? bytes : text, .number = 1};
    if (is_whole) {
        out->bytes = parley_buffer_bytes(&input->head);
    }
    *out_split = is_whole ? PARLEY_SPLIT_MESSAGE : PARLEY_SPLIT_SIZE;
    return PARLEY_OK;
}

/* Takes the next piece that was checked ahead, and skips it if all of it is right. */
static enum parley_status take_piece(struct check_input *input, bool *out_is_skipped) {
    struct check_piece piece;
    PARLEY_TRY(check_ahead_next(input->ahead, &piece));
    input->read_bytes += piece.bytes.length;
    input->has_ended = piece.bytes.length == 0;
    *out_is_skipped = piece.is_right;
    if (piece.is_right) {
        parley_splitter_skip_lines(&input->splitter, piece.line_count);
        input->passed_count += piece.message_count;
    } else {
        input->left = piece.bytes;
    }
    return PARLEY_OK;
}

void check_input_look_ahead(struct check_input *input, const struct parley_schema *schema,
                            const struct parley_options *options) {
    input->schema = schema;
    input->options = options;
}

/* The part read so far can end within a line. */
static void begin_ahead(struct check_input *input) {
    if (input->schema != NULL && input->splitter.framing == PARLEY_FRAMING_LINES) {
        input->ahead = check_ahead_create(input->fd, input->schema, input->codec, input->options,
                                          input->message_bytes_max);
    }
    input->schema = NULL;
}

/* Reads more of many messages. */
static enum parley_status read_on(struct check_input *input, bool *out_is_skipped) {
    *out_is_skipped = false;
    begin_ahead(input);
    return input->ahead != NULL ? take_piece(input, out_is_skipped) : read_piece(input);
}

static enum parley_status next_of_many(struct check_input *input, enum parley_split *out_split,
                                       struct parley_slice *out) {
    for (bool is_skipped = false; !is_skipped;) {
        *out_split = parley_splitter_next(&input->splitter, &input->left, out);
        if (*out_split == PARLEY_SPLIT_MORE && input->has_ended) {
            *out_split = parley_splitter_end(&input->splitter, out);
        }
        if (*out_split == PARLEY_SPLIT_MEMORY) {
            return PARLEY_E_MEMORY;
        }
        if (*out_split != PARLEY_SPLIT_MORE) {
            return PARLEY_OK;
        }
        PARLEY_TRY(read_on(input, &is_skipped));
    }
    return PARLEY_OK;
}

enum parley_status check_input_next(struct check_input *input, enum parley_split *out_split,
                                    struct parley_slice *out) {
    if (input->state == INPUT_NEW) {
        PARLEY_TRY(begin(input));
    }
    if (input->state == INPUT_MANY) {
        return next_of_many(input, out_split, out);
    }
    if (input->state == INPUT_ONE) {
        return next_one(input, out_split, out);
    }
    *out_split = PARLEY_SPLIT_END;
    return PARLEY_OK;
}
