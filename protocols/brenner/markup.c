/* SPDX-License-Identifier: Apache-2.0 */

/* cmark supports neither arenas nor failures: its cmark_mem has no user pointer, and it ends the
 * process when there is no memory. So the arena of the current parse is thread-local, and a failed
 * allocation leaves cmark by longjmp: all its state is in the arena. */

#include "markup.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { CHUNK_BYTES = 64 * 1024 };

/* In front of each allocation: its size. cmark's types need no alignment beyond that. */
struct header {
    size_t size;
};

static _Thread_local struct heap {
    struct parley_arena *arena;
    char *at, *end; /* of the current chunk */
    char *last;     /* the newest allocation, which can be resized and freed */
    jmp_buf escape;
} heap;

static size_t round_up(size_t size) {
    return (size + sizeof(struct header) - 1) & ~(sizeof(struct header) - 1);
}

static struct header *header_of(void *memory) {
    return (struct header *)memory - 1;
}

static void make_room(size_t size) {
    if (size <= (size_t)(heap.end - heap.at)) {
        return;
    }
    const size_t capacity = size > CHUNK_BYTES ? size : CHUNK_BYTES;
    heap.at = parley_arena_allocate(heap.arena, capacity);
    if (heap.at == NULL) {
        longjmp(heap.escape, 1);
    }
    heap.end = heap.at + capacity;
}

static void *take(size_t size) {
    size = round_up(size);
    make_room(sizeof(struct header) + size);
    struct header *header = (void *)heap.at;
    header->size = size;
    heap.last = heap.at + sizeof *header;
    heap.at = heap.last + size;
    return heap.last;
}

/* Allocations are small, mostly of nodes. */
static void *heap_calloc(size_t count, size_t size) {
    uint64_t *memory = take(count * size);
    for (size_t i = 0; i < round_up(count * size) / sizeof *memory; i++) {
        memory[i] = 0;
    }
    return memory;
}

static void *heap_realloc(void *memory, size_t size) {
    if (memory == NULL) {
        return take(size);
    }
    const size_t old_size = header_of(memory)->size;
    if (size <= old_size) {
        return memory;
    }
    size = round_up(size);
    if (memory == heap.last && size - old_size <= (size_t)(heap.end - heap.at)) {
        header_of(memory)->size = size;
        heap.at = heap.last + size;
        return memory;
    }
    void *moved = take(size);
    memcpy(moved, memory, old_size);
    return moved;
}

static void heap_free(void *memory) {
    if (memory != NULL && memory == heap.last) {
        heap.at = heap.last - sizeof(struct header);
        heap.last = NULL;
    }
}

cmark_node *markup_parse(struct parley_arena *arena, struct parley_bytes text) {
    static cmark_mem memory = {heap_calloc, heap_realloc, heap_free};
    cmark_node *tree = NULL;
    heap.arena = arena;
    heap.at = heap.end = heap.last = NULL;
    if (setjmp(heap.escape) == 0) {
        cmark_parser *parser = cmark_parser_new_with_mem(CMARK_OPT_DEFAULT, &memory);
        cmark_parser_feed(parser, text.data, text.length);
        tree = cmark_parser_finish(parser);
    }
    heap.arena = NULL;
    return tree;
}

/* ---- lines ---- */

/* The first line feed or carriage return from `at` on, or `end`. */
static const char *find_line_end(const char *at, const char *end) {
#ifdef __SSE2__
    while (end - at >= 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        const unsigned found =
            (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')),
                                                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r'))));
        if (found != 0) {
            return at + __builtin_ctz(found);
        }
        at += 16;
    }
#endif
    while (at < end && *at != '\n' && *at != '\r') {
        at++;
    }
    return at;
}

size_t markup_line_length(struct parley_bytes text) {
    const char *end = text.data + text.length;
    const char *at = find_line_end(text.data, end);
    if (end - at >= 2 && at[0] == '\r' && at[1] == '\n') {
        at++;
    }
    at += at < end;
    return (size_t)(at - text.data);
}

size_t markup_line_end_length(struct parley_bytes line) {
    size_t length = 0;
    while (length < line.length && (line.data[line.length - 1 - length] == '\n' ||
                                    line.data[line.length - 1 - length] == '\r')) {
        length++;
    }
    return length;
}

/* ---- taming ---- */

/* cmark walks up the tree for each piece of emphasis, and down all list items for each blank line:
 * both are as long as containers are deep. A line of Markdown opens as many as it has markers, and
 * continues as many as it has spaces for. */
enum { MARKERS_MAX = 16, BLANK_COLUMNS_MAX = 64, TAB_COLUMNS = 4 };

/* For each link, cmark 0.30 looks at all images that have begun in the same paragraph. */
enum { IMAGES_MAX = 256 };

struct tamer {
    struct parley_bytes line; /* without its end */
    size_t at;                /* in the line */
    char *out;
    size_t image_count; /* in this paragraph */
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static bool is_followed_by_blank(struct parley_bytes line, size_t at) {
    return at + 1 >= line.length || is_blank(line.data[at + 1]);
}

size_t markup_marker_length(struct parley_bytes line, size_t at) {
    enum { DIGITS_MAX = 9 };
    if (line.data[at] == '>') {
        return 1;
    }
    size_t end = at;
    if (strchr("-+*", line.data[at]) == NULL) {
        while (end < line.length && line.data[end] >= '0' && line.data[end] <= '9') {
            end++;
        }
        if (end == at || end - at > DIGITS_MAX || end == line.length ||
            strchr(".)", line.data[end]) == NULL) {
            return 0;
        }
    }
    return is_followed_by_blank(line, end) ? end + 1 - at : 0;
}

/* The start of a possible thematic break that fills the line: its marks do not begin a list. */
static size_t rule_start(struct parley_bytes line) {
    size_t at = line.length;
    char mark = '\0';
    while (at > 0 && (is_blank(line.data[at - 1]) || line.data[at - 1] == mark ||
                      (mark == '\0' && strchr("-*_", line.data[at - 1]) != NULL))) {
        at--;
        mark = is_blank(line.data[at]) ? mark : line.data[at];
    }
    return at;
}

/* Blanks and container markers, as many as are allowed. */
static void tame_prefix(struct tamer *tamer) {
    const struct parley_bytes line = tamer->line;
    const size_t markers_end = rule_start(line);
    size_t markers = 0, columns = 0, length = 0;
    for (; tamer->at < line.length; tamer->at += length) {
        const char c = line.data[tamer->at];
        length = 1;
        if (is_blank(c)) {
            columns += c == '\t' ? TAB_COLUMNS : 1;
            if (columns <= BLANK_COLUMNS_MAX) {
                *tamer->out++ = c;
            }
            continue;
        }
        length = tamer->at < markers_end ? markup_marker_length(line, tamer->at) : 0;
        if (length == 0) {
            return;
        }
        memcpy(tamer->out, line.data + tamer->at, length);
        tamer->out += length;
        if (++markers > MARKERS_MAX) {
            tamer->out[-1] = c == '>' || length == 1 ? '.' : ',';
            tamer->at += length;
            return;
        }
    }
}

/* The text after the prefix. */
static void tame_rest(struct tamer *tamer) {
    const struct parley_bytes line = tamer->line;
    if (tamer->at == line.length) {
        tamer->image_count = 0; /* a blank line ends every paragraph */
    }
    for (; tamer->at < line.length; tamer->at++) {
        const char *here = line.data + tamer->at;
        const bool is_image = here[0] == '!' && tamer->at + 1 < line.length && here[1] == '[' &&
                              (tamer->at == 0 || here[-1] != '<'); /* as in <![CDATA[ */
        tamer->image_count += is_image;
        *tamer->out++ = is_image && tamer->image_count > IMAGES_MAX ? '.' : *here;
    }
}

/* Whether no prefix of a line could need taming. In a run of spaces and of characters of markers,
 * it counts each character that could end a marker, so that it may return false wrongly. */
static bool has_tame_prefixes(struct parley_bytes text) {
    static const bool is_of_marker[256] = {
        ['>'] = true, ['-'] = true, ['+'] = true, ['*'] = true, ['.'] = true, [')'] = true,
        ['0'] = true, ['1'] = true, ['2'] = true, ['3'] = true, ['4'] = true, ['5'] = true,
        ['6'] = true, ['7'] = true, ['8'] = true, ['9'] = true, [' '] = true, ['\t'] = true};
    for (size_t at = 0, length; at < text.length; at += length) {
        const struct parley_bytes line = {text.data + at, text.length - at};
        size_t markers = 0, columns = 0;
        for (size_t i = 0; i < line.length && is_of_marker[(unsigned char)line.data[i]]; i++) {
            const char next = i + 1 < line.length ? line.data[i + 1] : '\n';
            const bool is_last = is_blank(next) || next == '\n' || next == '\r';
            if (is_blank(line.data[i])) {
                columns += line.data[i] == '\t' ? TAB_COLUMNS : 1;
            } else {
                markers += line.data[i] == '>' || is_last;
            }
        }
        if (markers > MARKERS_MAX || columns > BLANK_COLUMNS_MAX) {
            return false;
        }
        length = markup_line_length(line);
    }
    return true;
}

static bool has_few_images(struct parley_bytes text) {
    const char *end = text.data + text.length;
    const char *at = text.data;
    size_t count = 0;
    while (count <= IMAGES_MAX && at < end && (at = memchr(at, '!', (size_t)(end - at))) != NULL) {
        at++;
        count += at < end && *at == '[';
    }
    return count <= IMAGES_MAX;
}

struct parley_bytes markup_tame(struct parley_arena *arena, struct parley_bytes text) {
    if (has_few_images(text) && has_tame_prefixes(text)) {
        return text;
    }
    char *copy = parley_arena_allocate(arena, text.length + 1);
    if (copy == NULL) {
        return (struct parley_bytes){0};
    }
    struct tamer tamer = {.out = copy};
    for (size_t at = 0, length; at < text.length; at += length) {
        const struct parley_bytes rest = {text.data + at, text.length - at};
        length = markup_line_length(rest);
        const size_t end_length = markup_line_end_length((struct parley_bytes){rest.data, length});
        tamer.line = (struct parley_bytes){rest.data, length - end_length};
        tamer.at = 0;
        tame_prefix(&tamer);
        tame_rest(&tamer);
        memcpy(tamer.out, rest.data + length - end_length, end_length);
        tamer.out += end_length;
    }
    const struct parley_bytes tamed = {copy, (size_t)(tamer.out - copy)};
    return parley_bytes_equal(tamed, text) ? text : tamed;
}
