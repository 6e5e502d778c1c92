/* SPDX-License-Identifier: Apache-2.0 */

#include "fence.h"

enum { WIDTH_MIN = 3, INDENT_MAX = 3 };

/* One line: what begins it, after at most three spaces. */
struct line {
    size_t start, end, next; /* `end` without the line's end */
    size_t run_start, run;   /* of one of the characters of fences; run 0: none */
};

static struct line line_at(struct parley_bytes body, size_t start) {
    struct line line = {.start = start, .end = start};
    while (line.end < body.length && body.data[line.end] != '\n') {
        line.end++;
    }
    line.next = line.end < body.length ? line.end + 1 : line.end;
    if (line.end > start && body.data[line.end - 1] == '\r') {
        line.end--;
    }
    size_t at = start;
    while (at < line.end && at - start < INDENT_MAX && body.data[at] == ' ') {
        at++;
    }
    line.run_start = at;
    const char c = at < line.end ? body.data[at] : '\0';
    while (at < line.end && body.data[at] == c && (c == '`' || c == '~' || c == ':')) {
        at++;
    }
    line.run = at - line.run_start;
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

/* HTML may go on, and then nothing in it is a fence to Markdown. */
static bool is_html(struct parley_bytes body, const struct line *line) {
    return line->run_start < line->end && body.data[line->run_start] == '<';
}

bool brenner_fence_next(struct parley_bytes body, size_t from, struct brenner_fence *out) {
    bool has_html = false;
    *out = (struct brenner_fence){.width = 0};
    for (struct line line; from < body.length; from = line.next) {
        line = line_at(body, from);
        if (out->width == 0 && opens(body, &line)) {
            *out = (struct brenner_fence){.character = body.data[line.run_start],
                                          .width = line.run,
                                          .start = line.run_start,
                                          .info = line.run_start + line.run,
                                          .content = line.next};
        } else if (out->width > 0 && closes(body, &line, out)) {
            out->end = line.start;
            out->closed = line.run_start + line.run;
            out->next = line.next;
            return !has_html;
        }
        has_html |= out->width == 0 && is_html(body, &line);
    }
    return false;
}

/* More backticks than any line of the content begins with. */
static size_t width_for(struct parley_bytes body, const struct brenner_fence *fence) {
    size_t width = WIDTH_MIN;
    for (size_t at = fence->content; at < fence->end;) {
        const struct line line = line_at(body, at);
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
