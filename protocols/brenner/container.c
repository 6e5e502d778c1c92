/* SPDX-License-Identifier: Apache-2.0 */

/* A fenced code block has no lazy lines: each of its lines has all markers of the quotes around it.
 * The markers of list items are on the first line alone; later lines have blanks in their place. */

#include "container.h"

#include <string.h>

#include "markup.h"

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static struct parley_bytes from(struct parley_bytes text, size_t start) {
    return (struct parley_bytes){text.data + start, text.length - start};
}

static struct parley_bytes line_at(struct parley_bytes text, size_t at) {
    return (struct parley_bytes){text.data + at, markup_line_length(from(text, at))};
}

static struct brenner_container container_of(struct parley_bytes opener) {
    struct brenner_container container = {.opener = opener};
    for (size_t i = 0; i < opener.length; i++) {
        container.has_quote |= opener.data[i] == '>';
        container.has_item |= opener.data[i] != '>' && !is_blank(opener.data[i]);
    }
    return container;
}

/* ---- lines ---- */

size_t brenner_first_line(struct parley_bytes body) {
    static const char mark[] = {'\xEF', '\xBB', '\xBF'};
    const bool has_mark = body.length >= sizeof mark && memcmp(body.data, mark, sizeof mark) == 0;
    return has_mark ? sizeof mark : 0;
}

/* A list that begins with another number than 1 does not end a paragraph before it. */
static bool can_begin_anywhere(char marker, size_t length) {
    return marker == '1' ? length == 2 : strchr(">-+*", marker) != NULL;
}

/* The end of the blanks that belong to the marker before them: one after `>`, and up to four after
 * that of an item.  Returns: 0: they are more than that, or a tab makes them so. */
static size_t marker_end(struct parley_bytes line, size_t at, bool is_quote) {
    enum { SPACES_MAX = 4 };
    const size_t start = at;
    const bool is_tab = at < line.length && line.data[at] == '\t';
    const size_t max = is_quote || is_tab ? 1 : SPACES_MAX;
    while (at < line.length && at - start < max && (is_tab || line.data[at] == ' ')) {
        at++;
    }
    const bool is_more = at < line.length && is_blank(line.data[at]);
    return is_more && (is_tab || !is_quote) ? 0 : at;
}

struct brenner_container brenner_container_read(struct parley_bytes line) {
    enum { INDENT_MAX = 3 };
    size_t end = 0;
    for (size_t at = 0; at < line.length; at = end) {
        while (at < line.length && at - end < INDENT_MAX && line.data[at] == ' ') {
            at++;
        }
        const size_t length = at < line.length ? markup_marker_length(line, at) : 0;
        const bool is_one = length > 0 && can_begin_anywhere(line.data[at], length);
        const size_t after = is_one ? marker_end(line, at + length, line.data[at] == '>') : 0;
        if (after == 0) {
            break;
        }
        end = after;
    }
    return container_of((struct parley_bytes){line.data, end});
}

size_t brenner_container_skip(const struct brenner_container *container, struct parley_bytes line,
                              bool *out_is_inside) {
    size_t at = 0;
    bool is_short = false;
    *out_is_inside = true;
    for (size_t i = 0; i < container->opener.length && *out_is_inside; i++) {
        if (container->opener.data[i] != '>') {
            const bool has_blank = at < line.length && is_blank(line.data[at]);
            is_short |= !has_blank;
            at += has_blank;
            continue;
        }
        while (at < line.length && is_blank(line.data[at])) {
            at++;
        }
        *out_is_inside = at < line.length && line.data[at] == '>';
        at += *out_is_inside;
    }
    if (container->has_item && is_short && at < line.length) {
        *out_is_inside &= strchr("\r\n", line.data[at]) != NULL;
    }
    return at;
}

/* Appends what the container puts at the start of a line. */
static void write_prefix(const struct brenner_container *container, bool is_blank_line,
                         struct parley_buffer *out) {
    const struct parley_bytes opener = container->opener;
    size_t length = opener.length;
    while (is_blank_line && length > 0 && opener.data[length - 1] != '>') {
        length--;
    }
    for (size_t i = 0; i < length; i++) {
        const char c = opener.data[i];
        parley_buffer_char(out, c == '>' || is_blank(c) ? c : ' ');
    }
}

/* ---- the content of a code block ---- */

static bool is_line_end(char c) {
    return c == '\n' || c == '\r';
}

struct brenner_content brenner_content_of(struct parley_bytes body, size_t start, size_t length) {
    size_t line = start;
    while (line > 0 && is_line_end(body.data[line - 1])) {
        line--; /* the line of a fence is not empty */
    }
    while (line > 0 && !is_line_end(body.data[line - 1])) {
        line--;
    }
    line = line > 0 ? line : brenner_first_line(body);
    size_t fence = line;
    while (fence < start && body.data[fence] != '`' && body.data[fence] != '~') {
        fence++;
    }
    return (struct brenner_content){
        .container = container_of((struct parley_bytes){body.data + line, fence - line}),
        .fence = {body.data + fence, start - fence},
        .source = {body.data + start, length}};
}

/* A line of the source without what the container puts there. */
static struct parley_bytes plain_line(const struct brenner_content *content, size_t at,
                                      size_t *out_next) {
    bool is_inside;
    const struct parley_bytes line = line_at(content->source, at);
    *out_next = at + line.length;
    return from(line, brenner_container_skip(&content->container, line, &is_inside));
}

static struct parley_bytes trimmed(struct parley_bytes line) {
    line.length -= markup_line_end_length(line);
    while (line.length > 0 && is_blank(line.data[0])) {
        line = from(line, 1);
    }
    return line;
}

bool brenner_content_is(const struct brenner_content *content, struct parley_bytes text) {
    size_t at = 0, text_at = 0;
    while (at < content->source.length && text_at < text.length) {
        const struct parley_bytes line = line_at(text, text_at);
        if (!parley_bytes_equal(trimmed(plain_line(content, at, &at)), trimmed(line))) {
            return false;
        }
        text_at += line.length;
    }
    return at == content->source.length && text_at == text.length;
}

void brenner_content_write(const struct brenner_content *content, struct parley_buffer *out) {
    for (size_t at = 0; at < content->source.length;) {
        parley_buffer_append(out, plain_line(content, at, &at));
    }
}

/* The offset in the source of a byte of the plain lines. */
static size_t source_offset(const struct brenner_content *content, size_t plain) {
    for (size_t at = 0; at < content->source.length;) {
        const struct parley_bytes line = plain_line(content, at, &at);
        if (plain < line.length) {
            return (size_t)(line.data + plain - content->source.data);
        }
        plain -= line.length;
    }
    return content->source.length;
}

bool brenner_content_edit(const struct brenner_content *content, const struct parley_edit *edit,
                          size_t inserted_max, struct parley_buffer *out,
                          struct parley_edit *out_edit) {
    const size_t start = source_offset(content, edit->offset);
    const size_t end = source_offset(content, edit->offset + edit->removed);
    const struct parley_bytes inserted = edit->inserted;
    if (start == content->source.length) {
        return false;
    }
    for (size_t at = 0; at < inserted.length && out->length <= inserted_max;) {
        const struct parley_bytes line = line_at(inserted, at);
        at += line.length;
        parley_buffer_append(out, line);
        const bool is_ended = line.length > 0 && is_line_end(line.data[line.length - 1]);
        const bool is_last = at == inserted.length;
        if (is_ended && !(is_last && end == content->source.length)) {
            write_prefix(&content->container, !is_last && is_line_end(inserted.data[at]), out);
        }
    }
    *out_edit = (struct parley_edit){
        .offset = start, .removed = end - start, .inserted = parley_buffer_bytes(out)};
    return !out->has_failed && out_edit->inserted.length <= inserted_max;
}
