/* SPDX-License-Identifier: Apache-2.0 */

/* Finds where messages end: at line feeds, where the brackets of an array element close, or by the
 * length before a frame. It does not check whether a message can be read: the decoder does. A
 * message that is complete in the input is delivered in place; only one that is cut by the end of
 * the input is copied. */

#include <parley/splitter.h>

#include <stdarg.h>
#include <stdio.h>

enum state {
    BEFORE_ARRAY,
    BEFORE_FIRST, /* after [ */
    BEFORE_NEXT,  /* after a comma */
    IN_NESTED,    /* an object or array: until depth is 0 again */
    IN_STRING,
    IN_WORD, /* a number or literal: until white space, a comma or a bracket */
    AFTER_ELEMENT,
    AFTER_ARRAY,
    IN_FRAME, /* after its length; before it, a splitter of frames is BEFORE_ARRAY */
    DEAD,
};

void parley_splitter_init(struct parley_splitter *splitter, enum parley_framing framing,
                          size_t message_bytes_max) {
    *splitter = (struct parley_splitter){.framing = framing,
                                         .message_bytes_max = message_bytes_max,
                                         .here = framing == PARLEY_FRAMING_FRAMES
                                                     ? (struct parley_position){PARLEY_IN_BYTES, 0}
                                                     : (struct parley_position){1, 1},
                                         .state = BEFORE_ARRAY};
    parley_buffer_init(&splitter->pending);
}

void parley_splitter_finish(struct parley_splitter *splitter) {
    parley_buffer_finish(&splitter->pending);
}

void parley_splitter_abandon(struct parley_splitter *splitter) {
    splitter->state = DEAD;
    splitter->is_oversize = false;
    parley_buffer_clear(&splitter->pending);
}

void parley_splitter_pass_by(struct parley_splitter *splitter) {
    if (splitter->pending.length > 0) {
        splitter->is_oversize = true;
        parley_buffer_finish(&splitter->pending);
    }
}

void parley_splitter_release(struct parley_splitter *splitter) {
    parley_buffer_finish(&splitter->pending);
}

bool parley_splitter_has_ended(const struct parley_splitter *splitter) {
    return splitter->state == DEAD;
}

/* Keeps a part of a message for later, unless it is too large already. One byte more than the
 * limit is kept: it may be the carriage return of a line's end. */
static bool keep(struct parley_splitter *splitter, struct parley_bytes part) {
    if (splitter->is_oversize) {
        return true;
    }
    if (splitter->pending.length + part.length > splitter->message_bytes_max + 1) {
        splitter->is_oversize = true;
        parley_buffer_finish(&splitter->pending);
        return true;
    }
    parley_buffer_append(&splitter->pending, part);
    return !splitter->pending.has_failed;
}

/* A message ends with `tail`: in place if it is complete there, else appended to the part kept. */
static enum parley_split complete(struct parley_splitter *splitter, struct parley_bytes tail,
                                  struct parley_slice *out) {
    *out =
        (struct parley_slice){.bytes = tail, .origin = splitter->start, .number = splitter->number};
    if (splitter->pending.length > 0 || splitter->is_oversize) {
        if (!keep(splitter, tail)) {
            return PARLEY_SPLIT_MEMORY;
        }
        out->bytes = parley_buffer_bytes(&splitter->pending);
        splitter->pending.length = 0; /* handed out: valid until the next call */
    }
    const bool is_line = splitter->framing == PARLEY_FRAMING_LINES;
    if (is_line && out->bytes.length > 0 && out->bytes.data[out->bytes.length - 1] == '\r') {
        out->bytes.length--;
    }
    const bool is_oversize =
        splitter->is_oversize || out->bytes.length > splitter->message_bytes_max;
    splitter->is_oversize = false;
    return is_oversize ? PARLEY_SPLIT_SIZE : PARLEY_SPLIT_MESSAGE;
}

/* ---- lines ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_blank_or_feed(char c) {
    return is_blank(c) || c == '\n';
}

static bool is_blank_line(struct parley_bytes line) {
    for (size_t i = 0; i < line.length; i++) {
        if (!is_blank(line.data[i])) {
            return false;
        }
    }
    return true;
}

/* Passes over whole blank lines at the front of the input, which begins with a line. 100 KB of gzip
 * can have 100 million of them: as lines each would cost ten times as much. */
static void skip_blank_lines(struct parley_splitter *splitter, struct parley_bytes *input) {
    const char *line = input->data, *const end = input->data + input->length;
    for (const char *at = line; at < end; at++) {
        if (*at == '\n' && (size_t)(at - line) <= splitter->message_bytes_max) {
            splitter->number++;
            line = at + 1;
        } else if (!is_blank(*at)) {
            break;
        }
    }
    input->length = (size_t)(end - line);
    input->data = line;
}

static enum parley_split complete_line(struct parley_splitter *splitter, struct parley_bytes tail,
                                       struct parley_slice *out) {
    splitter->number++;
    splitter->start = (struct parley_position){splitter->number, 1};
    return complete(splitter, tail, out);
}

static enum parley_split next_line(struct parley_splitter *splitter, struct parley_bytes *input,
                                   struct parley_slice *out) {
    while (input->length > 0) {
        const bool is_at_start = splitter->pending.length == 0 && !splitter->is_oversize;
        if (is_at_start && is_blank_or_feed(input->data[0])) {
            skip_blank_lines(splitter, input);
        }
        const char *feed = memchr(input->data, '\n', input->length);
        const size_t length = feed != NULL ? (size_t)(feed - input->data) : input->length;
        const struct parley_bytes part = {input->data, length};
        const size_t taken = length + (feed != NULL);
        input->data += taken;
        input->length -= taken;
        if (feed == NULL) {
            return keep(splitter, part) ? PARLEY_SPLIT_MORE : PARLEY_SPLIT_MEMORY;
        }
        const enum parley_split split = complete_line(splitter, part, out);
        if (split != PARLEY_SPLIT_MESSAGE || !is_blank_line(out->bytes)) {
            return split;
        }
    }
    return PARLEY_SPLIT_MORE;
}

static enum parley_split end_lines(struct parley_splitter *splitter, struct parley_slice *out) {
    if (splitter->pending.length == 0 && !splitter->is_oversize) {
        return PARLEY_SPLIT_END;
    }
    const enum parley_split split = complete_line(splitter, (struct parley_bytes){"", 0}, out);
    return split == PARLEY_SPLIT_MESSAGE && is_blank_line(out->bytes) ? PARLEY_SPLIT_END : split;
}

void parley_splitter_skip_lines(struct parley_splitter *splitter, size_t count) {
    splitter->number += count;
}

/* ---- the elements of an array ---- */

static void advance(struct parley_splitter *splitter, char c) {
    if (c == '\n') {
        splitter->here.line++;
        splitter->here.column = 1;
    } else if (((unsigned char)c & 0xC0) != 0x80) {
        splitter->here.column++;
    }
}

static bool is_inside(const struct parley_splitter *splitter) {
    return splitter->state == IN_NESTED || splitter->state == IN_STRING ||
           splitter->state == IN_WORD;
}

/* The fault between two elements, and its remedy. */
enum flaw {
    NO_FLAW,
    NO_ARRAY,
    BYTE_ORDER_MARK,
    NO_MESSAGE,
    EXTRA_COMMA,
    TRAILING_COMMA,
    MISSING_COMMA,
    EXTRA_BRACKET,
    AFTER_THE_ARRAY,
    CUT_SHORT,
};

static const struct {
    const char *message, *hint;
} flaws[] = {
    [NO_ARRAY] = {"expected an array", "Begin the array with [, or send one message as { … }."},
    [BYTE_ORDER_MARK] = {"a byte-order mark is not allowed before JSON",
                         "Send UTF-8 without a byte-order mark (U+FEFF)."},
    [NO_MESSAGE] = {"expected a message or ']'",
                    "Write each message as an object, and put commas between messages."},
    [EXTRA_COMMA] = {"expected a message before ','", "Remove the extra comma."},
    [TRAILING_COMMA] = {"expected a message after ','",
                        "Remove the comma before ]: JSON has no trailing commas."},
    [MISSING_COMMA] = {"expected ',' or ']'",
                       "Put a comma between two messages, and ] after the last one."},
    [EXTRA_BRACKET] = {"expected ',' or ']'", "Remove the extra closing bracket."},
    [AFTER_THE_ARRAY] = {"unexpected data after the array",
                         "Put all messages into one array, and nothing after it."},
    [CUT_SHORT] = {"the body ends inside the array",
                   "Close the array with ], and check that the whole body is sent."},
};

static enum parley_split fault(struct parley_splitter *splitter, enum flaw flaw,
                               struct parley_slice *out) {
    /* Between elements it is the position of the missing one. */
    const size_t number = splitter->number + !is_inside(splitter);
    *out = (struct parley_slice){.origin = splitter->here,
                                 .number = number,
                                 .fault = flaws[flaw].message,
                                 .hint = flaws[flaw].hint};
    parley_splitter_abandon(splitter);
    return PARLEY_SPLIT_FAULT;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The state after the first byte of an element. */
static enum state begin_element(struct parley_splitter *splitter, char c) {
    splitter->start = splitter->here;
    splitter->number++;
    splitter->depth = 1;
    splitter->in_string = splitter->after_backslash = false;
    return c == '{' || c == '[' ? IN_NESTED : c == '"' ? IN_STRING : IN_WORD;
}

/* Whether `c` is the last byte of its element. */
static bool ends_element(struct parley_splitter *splitter, char c) {
    if (splitter->after_backslash) {
        splitter->after_backslash = false;
        return false;
    }
    const bool is_string = splitter->state == IN_STRING || splitter->in_string;
    if (is_string) {
        splitter->after_backslash = c == '\\';
        splitter->in_string = splitter->state == IN_NESTED && c != '"';
        return splitter->state == IN_STRING && c == '"';
    }
    if (c == '"') {
        splitter->in_string = true;
    } else if (c == '{' || c == '[') {
        splitter->depth++;
    } else if (c == '}' || c == ']') {
        splitter->depth--;
    }
    return splitter->depth == 0;
}

/* A byte between elements. */
static enum flaw between(struct parley_splitter *splitter, char c) {
    switch ((enum state)splitter->state) {
    case BEFORE_ARRAY:
        splitter->state = BEFORE_FIRST;
        return c == '[' ? NO_FLAW : c == '\xEF' ? BYTE_ORDER_MARK : NO_ARRAY;
    case BEFORE_FIRST:
        splitter->state = AFTER_ARRAY;
        return c == ']' ? NO_FLAW : c == ',' ? EXTRA_COMMA : NO_MESSAGE;
    case AFTER_ELEMENT:
        splitter->state = c == ',' ? BEFORE_NEXT : AFTER_ARRAY;
        return c == ',' || c == ']' ? NO_FLAW : c == '}' ? EXTRA_BRACKET : MISSING_COMMA;
    case AFTER_ARRAY:
        return AFTER_THE_ARRAY;
    default:
        return c == ']' ? TRAILING_COMMA : c == ',' ? EXTRA_COMMA : NO_MESSAGE;
    }
}

static bool starts_element(const struct parley_splitter *splitter, char c) {
    const bool is_expected = splitter->state == BEFORE_FIRST || splitter->state == BEFORE_NEXT;
    return is_expected && !is_space(c) && c != ']' && c != '}' && c != ',' && c != ':';
}

static void take(struct parley_bytes *input, size_t count) {
    input->data += count;
    input->length -= count;
}

/* The rest of the element that the input begins in; its first `skip` bytes are known to be. */
static enum parley_split rest_of_element(struct parley_splitter *splitter,
                                         struct parley_bytes *input, size_t skip,
                                         struct parley_slice *out) {
    for (size_t i = skip; i < input->length; i++) {
        const char c = input->data[i];
        const bool is_word = splitter->state == IN_WORD;
        const bool is_behind = is_word && (is_space(c) || c == ',' || c == ']');
        const bool is_last = !is_word && ends_element(splitter, c);
        if (!is_behind) {
            advance(splitter, c);
        }
        if (is_behind || is_last) {
            const struct parley_bytes tail = {input->data, i + is_last};
            take(input, tail.length);
            splitter->state = AFTER_ELEMENT;
            return complete(splitter, tail, out);
        }
    }
    const struct parley_bytes part = *input;
    take(input, part.length);
    return keep(splitter, part) ? PARLEY_SPLIT_MORE : PARLEY_SPLIT_MEMORY;
}

static enum parley_split next_element(struct parley_splitter *splitter, struct parley_bytes *input,
                                      struct parley_slice *out) {
    while (input->length > 0 && splitter->state != DEAD) {
        if (is_inside(splitter)) {
            return rest_of_element(splitter, input, 0, out);
        }
        const char c = input->data[0];
        if (starts_element(splitter, c)) {
            splitter->state = (int)begin_element(splitter, c);
            advance(splitter, c);
            return rest_of_element(splitter, input, 1, out);
        }
        const enum flaw wrong = is_space(c) ? NO_FLAW : between(splitter, c);
        if (wrong != NO_FLAW) {
            return fault(splitter, wrong, out);
        }
        advance(splitter, c);
        take(input, 1);
    }
    take(input, input->length);
    return PARLEY_SPLIT_MORE;
}

static enum parley_split end_array(struct parley_splitter *splitter, struct parley_slice *out) {
    if (splitter->state == AFTER_ARRAY || splitter->state == DEAD) {
        return PARLEY_SPLIT_END;
    }
    return fault(splitter, CUT_SHORT, out);
}

/* ---- frames ---- */

static enum parley_split frame_fault(struct parley_splitter *splitter, struct parley_slice *out,
                                     const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static enum parley_split frame_fault(struct parley_splitter *splitter, struct parley_slice *out,
                                     const char *hint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(splitter->fault_text, sizeof splitter->fault_text, format, arguments);
    va_end(arguments);
    *out = (struct parley_slice){.origin = splitter->start,
                                 .number = splitter->number,
                                 .fault = splitter->fault_text,
                                 .hint = hint};
    return PARLEY_SPLIT_FAULT;
}

static enum parley_split end_of_frames(struct parley_splitter *splitter, enum parley_split split) {
    parley_splitter_abandon(splitter);
    return split;
}

static bool begins_like_json(const struct parley_splitter *splitter) {
    size_t i = 0;
    while (i < sizeof splitter->head && is_space((char)splitter->head[i])) {
        i++;
    }
    return i < sizeof splitter->head && (splitter->head[i] == '{' || splitter->head[i] == '[');
}

/* The four bytes of a frame's length are there.  Returns: PARLEY_SPLIT_MORE when a frame follows.
 */
static enum parley_split begin_frame(struct parley_splitter *splitter, struct parley_slice *out) {
    const unsigned char *head = splitter->head;
    const size_t length =
        (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | (size_t)head[3];
    splitter->head_count = 0;
    if (length == 0) {
        return frame_fault(splitter, out, "Leave this frame out: a frame holds one message.",
                           "this frame is empty: its length is 0");
    }
    if (length > PARLEY_FRAME_BYTES_MAX && begins_like_json(splitter)) {
        return end_of_frames(splitter,
                             frame_fault(splitter, out,
                                         "Send JSON with Content-Type: application/json, or "
                                         "application/x-ndjson for one message per line.",
                                         "this is JSON; expected the 4-byte length of a frame"));
    }
    if (length > PARLEY_FRAME_BYTES_MAX) {
        return end_of_frames(
            splitter,
            frame_fault(
                splitter, out,
                "Write the length of the message that follows as 4 bytes, big-endian.",
                "the length of this frame is %zu bytes, over the limit of %u: the start of the "
                "next frame is not known",
                length, PARLEY_FRAME_BYTES_MAX));
    }
    splitter->frame_bytes = splitter->frame_left = length;
    splitter->is_oversize = length > splitter->message_bytes_max;
    splitter->start = splitter->here;
    splitter->state = IN_FRAME;
    return PARLEY_SPLIT_MORE;
}

static void take_bytes(struct parley_splitter *splitter, struct parley_bytes *input, size_t count) {
    splitter->here.column += count;
    take(input, count);
}

static enum parley_split read_head(struct parley_splitter *splitter, struct parley_bytes *input,
                                   struct parley_slice *out) {
    if (splitter->head_count == 0) {
        splitter->start = splitter->here;
        splitter->number++;
    }
    splitter->head[splitter->head_count++] = (unsigned char)input->data[0];
    take_bytes(splitter, input, 1);
    return splitter->head_count < sizeof splitter->head ? PARLEY_SPLIT_MORE
                                                        : begin_frame(splitter, out);
}

static enum parley_split read_frame(struct parley_splitter *splitter, struct parley_bytes *input,
                                    struct parley_slice *out) {
    const bool is_whole = input->length >= splitter->frame_left;
    const struct parley_bytes part = {input->data, is_whole ? splitter->frame_left : input->length};
    take_bytes(splitter, input, part.length);
    splitter->frame_left -= part.length;
    if (is_whole) {
        splitter->state = BEFORE_ARRAY;
        return complete(splitter, part, out);
    }
    return keep(splitter, part) ? PARLEY_SPLIT_MORE : PARLEY_SPLIT_MEMORY;
}

static enum parley_split next_frame(struct parley_splitter *splitter, struct parley_bytes *input,
                                    struct parley_slice *out) {
    while (input->length > 0 && splitter->state != DEAD) {
        const enum parley_split split = splitter->state == IN_FRAME
                                            ? read_frame(splitter, input, out)
                                            : read_head(splitter, input, out);
        if (split != PARLEY_SPLIT_MORE) {
            return split;
        }
    }
    take(input, input->length);
    return PARLEY_SPLIT_MORE;
}

static const char hint_cut_short[] = "Send the whole frame; its length counts the message alone, "
                                     "without the 4 bytes of the length.";

static enum parley_split end_frames(struct parley_splitter *splitter, struct parley_slice *out) {
    if (splitter->state == IN_FRAME) {
        splitter->start.column -= sizeof splitter->head;
        return end_of_frames(
            splitter,
            frame_fault(splitter, out, hint_cut_short,
                        "the body ends inside this frame: %zu of its %zu bytes arrived",
                        splitter->frame_bytes - splitter->frame_left, splitter->frame_bytes));
    }
    if (splitter->state != DEAD && splitter->head_count > 0) {
        return end_of_frames(splitter,
                             frame_fault(splitter, out, hint_cut_short,
                                         "the body ends inside the length of a frame: %zu of its 4 "
                                         "bytes arrived",
                                         splitter->head_count));
    }
    return PARLEY_SPLIT_END;
}

/* ---- one message ---- */

static enum parley_split next_whole(struct parley_splitter *splitter, struct parley_bytes *input) {
    const struct parley_bytes part = *input;
    take(input, part.length);
    return splitter->state == DEAD || keep(splitter, part) ? PARLEY_SPLIT_MORE
                                                           : PARLEY_SPLIT_MEMORY;
}

/* Also of no bytes: the decoder reports what is missing. */
static enum parley_split end_whole(struct parley_splitter *splitter, struct parley_slice *out) {
    if (splitter->state == DEAD) {
        return PARLEY_SPLIT_END;
    }
    splitter->state = DEAD;
    splitter->number = 1;
    splitter->start = (struct parley_position){1, 1};
    return complete(splitter, (struct parley_bytes){"", 0}, out);
}

/* ---- all of them ---- */

/* Where the next message is, or the one that is not complete. */
static struct parley_slice place_of_next(const struct parley_splitter *splitter) {
    switch (splitter->framing) {
    case PARLEY_FRAMING_LINES:
        return (struct parley_slice){.origin = {splitter->number + 1, 1},
                                     .number = splitter->number + 1};
    case PARLEY_FRAMING_WHOLE:
        return (struct parley_slice){.origin = {1, 1}, .number = 1};
    case PARLEY_FRAMING_FRAMES: {
        const bool is_within = splitter->state == IN_FRAME || splitter->head_count > 0;
        return (struct parley_slice){.origin = splitter->here,
                                     .number = splitter->number + !is_within};
    }
    default:
        return (struct parley_slice){.origin = splitter->here,
                                     .number = splitter->number + !is_inside(splitter)};
    }
}

void parley_splitter_break(struct parley_splitter *splitter, const char *fault, const char *hint,
                           struct parley_slice *out) {
    *out = place_of_next(splitter);
    out->fault = fault;
    out->hint = hint;
    parley_splitter_abandon(splitter);
}

enum parley_split parley_splitter_next(struct parley_splitter *splitter, struct parley_bytes *input,
                                       struct parley_slice *out) {
    switch (splitter->framing) {
    case PARLEY_FRAMING_LINES:
        return next_line(splitter, input, out);
    case PARLEY_FRAMING_FRAMES:
        return next_frame(splitter, input, out);
    case PARLEY_FRAMING_WHOLE:
        return next_whole(splitter, input);
    default:
        return next_element(splitter, input, out);
    }
}

enum parley_split parley_splitter_end(struct parley_splitter *splitter, struct parley_slice *out) {
    switch (splitter->framing) {
    case PARLEY_FRAMING_LINES:
        return end_lines(splitter, out);
    case PARLEY_FRAMING_FRAMES:
        return end_frames(splitter, out);
    case PARLEY_FRAMING_WHOLE:
        return end_whole(splitter, out);
    default:
        return end_array(splitter, out);
    }
}

/* Whether the end of the message is not known, and so neither is the start of the next one. */
static bool has_lost_its_end(const struct parley_message *message) {
    return !message->is_decoded && !message->is_fault_contained && message->findings.count > 0 &&
           message->findings.items[0].rule == &parley_gateway_rules[PARLEY_GW_PARSE];
}

void parley_splitter_note_verdict(struct parley_splitter *splitter,
                                  const struct parley_message *message) {
    if (splitter->framing == PARLEY_FRAMING_JSON && has_lost_its_end(message)) {
        parley_splitter_abandon(splitter);
    }
}

enum parley_status parley_splitter_check(struct parley_splitter *splitter, enum parley_split split,
                                         const struct parley_slice *slice,
                                         struct parley_message *message,
                                         const struct parley_codec *codec,
                                         const struct parley_options *options) {
    if (split == PARLEY_SPLIT_SIZE) {
        return parley_message_refuse_size(message, splitter->message_bytes_max, slice->origin);
    }
    if (split == PARLEY_SPLIT_FAULT) {
        return parley_message_refuse_fault(message, slice->fault, slice->hint, slice->origin);
    }
    PARLEY_TRY(parley_message_check(message, slice->bytes, codec, options, slice->origin));
    parley_splitter_note_verdict(splitter, message);
    return PARLEY_OK;
}
