/* SPDX-License-Identifier: Apache-2.0 */

#include "fence.h"

#include <string.h>

#include "markup.h"

enum { WIDTH_MIN = 3, INDENT_MAX = 3 };

/* One line: what begins it, after what its container puts there and at most three spaces. */
struct line {
    size_t start, end, next; /* `end` without the line's end */
    size_t indent;           /* spaces before … */
    size_t run_start, run;   /* … one of the characters of fences; run 0: none */
    bool is_inside;          /* the container */
};

static struct parley_bytes bytes_of(struct parley_bytes body, const struct line *line) {
    return (struct parley_bytes){body.data + line->start, line->end - line->start};
}

/* Reads the rest of a line, from `at` on. */
static void read_run(struct parley_bytes body, struct line *line, size_t at) {
    line->indent = 0;
    while (at < line->end && line->indent < INDENT_MAX && body.data[at] == ' ') {
        line->indent++;
        at++;
    }
    line->run_start = at;
    const char c = at < line->end ? body.data[at] : '\0';
    while (at < line->end && body.data[at] == c && (c == '`' || c == '~' || c == ':')) {
        at++;
    }
    line->run = at - line->run_start;
}

static struct line line_at(struct parley_bytes body, size_t start) {
    const struct parley_bytes rest = {body.data + start, body.length - start};
    const struct parley_bytes line = {rest.data, markup_line_length(rest)};
    return (struct line){.start = start,
                         .end = start + line.length - markup_line_end_length(line),
                         .next = start + line.length};
}

/* A line that may begin a block. */
static struct line first_line_at(struct parley_bytes body, size_t start,
                                 struct brenner_container *out) {
    struct line line = line_at(body, start);
    *out = brenner_container_read(bytes_of(body, &line));
    read_run(body, &line, start + out->opener.length);
    return line;
}

/* A later line of a block. */
static struct line inner_line_at(struct parley_bytes body, size_t start,
                                 const struct brenner_container *container) {
    struct line line = line_at(body, start);
    const struct parley_bytes bytes = bytes_of(body, &line);
    read_run(body, &line, start + brenner_container_skip(container, bytes, &line.is_inside));
    return line;
}

static bool is_blank(struct parley_bytes body, size_t from, size_t to) {
    while (from < to && (body.data[from] == ' ' || body.data[from] == '\t')) {
        from++;
    }
    return from == to;
}

/* Colons fence deltas alone; and no backtick follows backticks, or they are code in a line. */
static bool opens(struct parley_bytes body, const struct line *line) {
    static const char word[] = "delta";
    const size_t info = line->run_start + line->run, length = sizeof word - 1;
    if (line->run < WIDTH_MIN) {
        return false;
    }
    if (body.data[line->run_start] == ':') {
        return line->end - info >= length && memcmp(body.data + info, word, length) == 0 &&
               (line->end - info == length || is_blank(body, info + length, info + length + 1));
    }
    return body.data[line->run_start] == '~' ||
           memchr(body.data + info, '`', line->end - info) == NULL;
}

static bool closes(struct parley_bytes body, const struct line *line,
                   const struct brenner_fence *fence) {
    return line->run >= fence->width && body.data[line->run_start] == fence->character &&
           is_blank(body, line->run_start + line->run, line->end);
}

/* Whether the line begins no fence here, but may to Markdown: it is indented as far as a list may
 * be, or an item of a list that cannot begin anywhere. */
static bool may_open(struct parley_bytes body, const struct line *line) {
    static const char prefix[] = " \t>-+*.)0123456789";
    size_t at = line->start;
    while (at < line->end && memchr(prefix, body.data[at], sizeof prefix - 1) != NULL) {
        at++;
    }
    const struct parley_bytes rest = {body.data + at, line->end - at};
    return at != line->run_start && rest.length >= WIDTH_MIN &&
           (memcmp(rest.data, "```", WIDTH_MIN) == 0 || memcmp(rest.data, "~~~", WIDTH_MIN) == 0);
}

/* HTML may go on, and then nothing in it is a fence to Markdown. */
static bool is_html(struct parley_bytes body, const struct line *line) {
    return line->run_start < line->end && body.data[line->run_start] == '<';
}

/* Whether the fence, which is indented so far, may be in an item that has begun before: then it
 * ends with this line. */
static bool may_end(struct parley_bytes body, const struct line *line, size_t indent) {
    return line->indent < indent && !is_blank(body, line->run_start, line->end);
}

/* Finds the line that closes a fence.  Returns: false: there is none, and *from is the line after
 * its container, or the end. */
static bool find_end(struct parley_bytes body, size_t *from, size_t indent,
                     struct brenner_fence *fence) {
    const bool is_contained = fence->container.has_quote || fence->container.has_item;
    for (struct line line; *from < body.length; *from = line.next) {
        line = inner_line_at(body, *from, &fence->container);
        if (is_contained && !line.is_inside) {
            return false;
        }
        if (may_end(body, &line, indent)) {
            break;
        }
        if (closes(body, &line, fence)) {
            fence->end = line.run_start;
            fence->closed = line.run_start + line.run;
            fence->next = line.next;
            return true;
        }
    }
    *from = body.length;
    return false;
}

bool brenner_fence_next(struct parley_bytes body, size_t from, struct brenner_fence *out) {
    struct brenner_container container;
    from = from > 0 ? from : brenner_first_line(body);
    while (from < body.length) {
        const struct line line = first_line_at(body, from, &container);
        from = line.next;
        if (opens(body, &line)) {
            *out = (struct brenner_fence){.container = container,
                                          .character = body.data[line.run_start],
                                          .width = line.run,
                                          .start = line.run_start,
                                          .info = line.run_start + line.run,
                                          .content = line.next};
            if (find_end(body, &from, line.indent, out)) {
                return true;
            }
        } else if (is_html(body, &line) || may_open(body, &line)) {
            return false;
        }
    }
    return false;
}

/* More backticks than any line of the content begins with. */
static size_t width_for(struct parley_bytes body, const struct brenner_fence *fence) {
    size_t width = WIDTH_MIN;
    for (size_t at = fence->content; at < fence->end;) {
        const struct line line = inner_line_at(body, at, &fence->container);
        const bool is_fence = line.run >= width && body.data[line.run_start] == '`';
        width = is_fence ? line.run + 1 : width;
        at = line.next;
    }
    return width;
}

static void write_ticks(struct parley_buffer *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        parley_buffer_char(out, '`');
    }
}

void brenner_fence_write(struct parley_bytes body, const struct brenner_fence *fence,
                         struct parley_buffer *out) {
    const size_t width = width_for(body, fence);
    const char *text = body.data;
    write_ticks(out, width);
    parley_buffer_append(out, (struct parley_bytes){text + fence->info, fence->end - fence->info});
    write_ticks(out, width);
}
