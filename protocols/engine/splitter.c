/* SPDX-License-Identifier: Apache-2.0 */

/* Finds where messages end: at line feeds, or where the brackets of an array's element close. It
 * does not ask whether a message is JSON: whoever decodes it does. A message that lies whole in
 * the input is handed out in place; only one that is cut by the end of the input is copied. */

#include <parley/splitter.h>

enum state {
    BEFORE_ARRAY,
    BEFORE_FIRST, /* behind [ */
    BEFORE_NEXT,  /* behind a comma */
    IN_NESTED,    /* an object or array: until depth is 0 again */
    IN_STRING,
    IN_WORD, /* a number or literal: until a blank, comma or bracket */
    AFTER_ELEMENT,
    AFTER_ARRAY,
    DEAD,
};

void parley_splitter_init(struct parley_splitter *splitter, enum parley_framing framing,
                          size_t message_bytes_max) {
    *splitter = (struct parley_splitter){.framing = framing,
                                         .message_bytes_max = message_bytes_max,
                                         .here = {1, 1},
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

/* A message ends with `tail`: in place if all of it is there, else behind what was kept. */
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

static bool is_blank_line(struct parley_bytes line) {
    for (size_t i = 0; i < line.length; i++) {
        if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r') {
            return false;
        }
    }
    return true;
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

static enum parley_split fault(struct parley_splitter *splitter, const char *text,
                               struct parley_slice *out) {
    /* Between elements it stands for the one that should have followed. */
    const size_t number = splitter->number + !is_inside(splitter);
    *out = (struct parley_slice){.origin = splitter->here, .number = number, .fault = text};
    parley_splitter_abandon(splitter);
    return PARLEY_SPLIT_FAULT;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The state behind the first byte of an element. */
static enum state begin_element(struct parley_splitter *splitter, char c) {
    splitter->start = splitter->here;
    splitter->number++;
    splitter->depth = 1;
    splitter->in_string = splitter->after_backslash = false;
    return c == '{' || c == '[' ? IN_NESTED : c == '"' ? IN_STRING : IN_WORD;
}

/* Whether `c` is the last byte of the element that it stands in. */
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

/* A byte between elements.  Returns: NULL, or what is wrong. */
static const char *between(struct parley_splitter *splitter, char c) {
    switch ((enum state)splitter->state) {
    case BEFORE_ARRAY:
        splitter->state = BEFORE_FIRST;
        return c == '[' ? NULL : "an array is wanted here";
    case BEFORE_FIRST:
        splitter->state = AFTER_ARRAY;
        return c == ']' ? NULL : "a message or ] is wanted here";
    case AFTER_ELEMENT:
        splitter->state = c == ',' ? BEFORE_NEXT : AFTER_ARRAY;
        return c == ',' || c == ']' ? NULL : "a comma or ] is wanted here";
    case AFTER_ARRAY:
        return "something follows behind the array";
    default:
        return "a message is wanted here";
    }
}

static bool starts_element(const struct parley_splitter *splitter, char c) {
    const bool is_wanted = splitter->state == BEFORE_FIRST || splitter->state == BEFORE_NEXT;
    return is_wanted && !is_space(c) && c != ']' && c != '}' && c != ',' && c != ':';
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
        const char *wrong = is_space(c) ? NULL : between(splitter, c);
        if (wrong != NULL) {
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
    return fault(splitter, "the body ends inside the array", out);
}

enum parley_split parley_splitter_next(struct parley_splitter *splitter, struct parley_bytes *input,
                                       struct parley_slice *out) {
    return splitter->framing == PARLEY_FRAMING_LINES ? next_line(splitter, input, out)
                                                     : next_element(splitter, input, out);
}

enum parley_split parley_splitter_end(struct parley_splitter *splitter, struct parley_slice *out) {
    return splitter->framing == PARLEY_FRAMING_LINES ? end_lines(splitter, out)
                                                     : end_array(splitter, out);
}
