/* SPDX-License-Identifier: Apache-2.0 */

/* One walk over cmark's tree, without recursion. Of cmark's places only the line and column where a
 * node starts are used: the end of a setext heading is wrong, and the text of a block in a quote
 * has other indentation than its source. */

#include "body.h"

#include <stdint.h>
#include <strings.h>

#include "container.h"
#include "text.h"
#include "markup.h"

struct reader {
    struct brenner_body *body;
    struct parley_bytes fed;         /* what cmark read: line by line the source, tamed */
    bool is_tame;                    /* they are the same */
    bool wants_sections;             /* else neither they nor any text are needed */
    size_t line, fed_at, source_at;  /* the current line, and where it starts in either */
    struct brenner_section *open[3]; /* by level */
    struct brenner_section **last_section;
    struct brenner_block **last_block;
    bool is_out_of_memory;
};

/* ---- places ---- */

static struct parley_bytes line_at(struct parley_bytes text, size_t at) {
    const struct parley_bytes rest = {text.data + at, text.length - at};
    return (struct parley_bytes){rest.data, markup_line_length(rest)};
}

static size_t content_length(struct parley_bytes line) {
    return line.length - markup_line_end_length(line);
}

/* Nodes come in the order of their lines. */
static void go_to_line(struct reader *reader, size_t line) {
    for (; reader->line < line; reader->line++) {
        const size_t length = line_at(reader->body->source, reader->source_at).length;
        reader->fed_at += reader->is_tame ? length : line_at(reader->fed, reader->fed_at).length;
        reader->source_at += length;
    }
}

/* The offset in the source of a byte of the current line that cmark read: counted from the end,
 * lines are the same. */
static size_t source_offset(const struct reader *reader, size_t column) {
    const size_t fed = line_at(reader->fed, reader->fed_at).length;
    const size_t source = line_at(reader->body->source, reader->source_at).length;
    const size_t from_end = column <= fed ? fed - column : 0;
    return reader->source_at + (source > from_end ? source - from_end : 0);
}

static struct parley_position place_of(struct reader *reader, cmark_node *node) {
    const size_t column = (size_t)cmark_node_get_start_column(node);
    go_to_line(reader, (size_t)cmark_node_get_start_line(node));
    const size_t offset = source_offset(reader, column > 0 ? column - 1 : 0);
    const struct parley_bytes before = {reader->body->source.data + reader->source_at,
                                        offset - reader->source_at};
    return (struct parley_position){reader->line, text_code_points(before) + 1};
}

void brenner_body_move(const struct brenner_body *body, size_t *at, struct parley_position *here,
                       size_t to) {
    for (; *at < to; ++*at) {
        const char *c = body->source.data + *at;
        const bool is_in_pair = *c == '\r' && *at + 1 < body->source.length && c[1] == '\n';
        if ((*c == '\n' || *c == '\r') && !is_in_pair) {
            *here = (struct parley_position){here->line + 1, 1};
        } else if (((unsigned char)*c & 0xC0) != 0x80) {
            here->column++;
        }
    }
}

struct parley_position brenner_block_place(const struct brenner_body *body,
                                           const struct brenner_block *block, size_t offset) {
    struct parley_position here = {block->at.line + 1, 1};
    size_t at = 0, source_at = block->content_start;
    if (block->text.length == 0) {
        return block->at;
    }
    struct parley_bytes line = line_at(block->text, 0);
    while (at + line.length <= offset && at + line.length < block->text.length) {
        at += line.length;
        source_at += line_at(body->source, source_at).length;
        here.line++;
        line = line_at(block->text, at);
    }
    const size_t length = content_length(line);
    const size_t from_end = offset - at < length ? length - (offset - at) : 0;
    struct parley_bytes source = line_at(body->source, source_at);
    source.length = content_length(source);
    source.length -= from_end < source.length ? from_end : source.length;
    here.column = text_code_points(source) + 1;
    return here;
}

struct parley_bytes brenner_block_source(const struct brenner_body *body,
                                         const struct brenner_block *block) {
    const size_t length = block->end - block->content_start;
    const struct brenner_content content =
        brenner_content_of(body->source, block->content_start, length);
    return brenner_content_is(&content, block->text) ? content.source : (struct parley_bytes){0};
}

/* ---- sections ---- */

static void *take(struct reader *reader, size_t size) {
    void *memory = parley_arena_allocate(&reader->body->arena, size);
    reader->is_out_of_memory |= memory == NULL;
    return memory;
}

static void close_section(struct reader *reader, unsigned level) {
    if (reader->open[level] != NULL) {
        reader->open[level]->text_end = reader->body->plain.length;
        reader->open[level] = NULL;
    }
}

static void note_content(struct reader *reader, unsigned level) {
    if (reader->open[level] != NULL) {
        reader->open[level]->is_empty = false;
    }
}

static void open_section(struct reader *reader, cmark_node *node, unsigned level) {
    close_section(reader, 2);
    if (level == 1) {
        close_section(reader, 1);
    }
    note_content(reader, 1);
    struct brenner_section *section = take(reader, sizeof *section);
    if (section == NULL) {
        return;
    }
    *section = (struct brenner_section){.level = level,
                                        .is_empty = true,
                                        .at = place_of(reader, node),
                                        .line_at = reader->source_at,
                                        .title_start = reader->body->plain.length};
    *reader->last_section = section;
    reader->last_section = &section->next;
    reader->open[level] = section;
}

/* 0: no heading of a section. `depth` is that of the node; the document has 0. */
static unsigned section_level(const struct reader *reader, cmark_node *node, cmark_node_type type,
                              size_t depth) {
    const bool is_heading = reader->wants_sections && type == CMARK_NODE_HEADING && depth == 1;
    const int level = is_heading ? cmark_node_get_heading_level(node) : 0;
    return level == 1 || level == 2 ? (unsigned)level : 0;
}

/* ---- blocks ---- */

static bool is_delta(cmark_node *node) {
    static const char word[] = "delta";
    const char *info = cmark_node_get_fence_info(node);
    const char after = strncmp(info, word, sizeof word - 1) == 0 ? info[sizeof word - 1] : 'a';
    return after == '\0' || strchr(" \t\n\v\f\r", after) != NULL;
}

/* The block's text, without the changes by taming. */
static struct parley_bytes untamed(struct reader *reader, struct parley_bytes text, size_t start) {
    char *copy = take(reader, text.length + 1);
    if (copy == NULL) {
        return text;
    }
    memcpy(copy, text.data, text.length);
    for (size_t at = 0; at < text.length;) {
        const struct parley_bytes line = line_at(text, at);
        const struct parley_bytes source = line_at(reader->body->source, start);
        const size_t length = content_length(line), source_length = content_length(source);
        const size_t same = length < source_length ? length : source_length;
        memcpy(copy + at + length - same, source.data + source_length - same, same);
        at += line.length;
        start += source.length;
    }
    return (struct parley_bytes){copy, text.length};
}

static void add_block(struct reader *reader, cmark_node *node) {
    struct brenner_block *block = take(reader, sizeof *block);
    if (block == NULL) {
        return;
    }
    struct parley_bytes text = parley_bytes_of(cmark_node_get_literal(node));
    const struct parley_bytes source = reader->body->source;
    const struct parley_position at = place_of(reader, node);
    const size_t content = reader->source_at + line_at(source, reader->source_at).length;
    if (!reader->is_tame) {
        text = untamed(reader, text, content);
    }
    *block = (struct brenner_block){
        .at = at, .text = text, .start = reader->source_at, .content_start = content};
    block->end = content;
    size_t lines = 1;
    for (size_t i = 0; i < text.length; i += line_at(text, i).length, lines++) {
        block->end += line_at(source, block->end).length;
    }
    if (reader->is_tame) { /* no other node begins in those lines */
        reader->line += lines;
        reader->fed_at = reader->source_at = block->end;
    }
    *reader->last_block = block;
    reader->last_block = &block->next;
}

/* ---- the tree ---- */

static void append(struct reader *reader, const char *text) {
    parley_buffer_append(&reader->body->plain, parley_bytes_of(text));
}

/* The text of a node: raw HTML and thematic breaks have none. */
static void append_text(struct reader *reader, cmark_node *node, cmark_node_type type) {
    switch (type) {
    case CMARK_NODE_TEXT:
    case CMARK_NODE_CODE:
    case CMARK_NODE_CODE_BLOCK:
        append(reader, cmark_node_get_literal(node));
        break;
    case CMARK_NODE_SOFTBREAK:
        append(reader, " ");
        break;
    case CMARK_NODE_LINEBREAK:
        append(reader, "\n");
        break;
    default:
        break;
    }
}

static void enter(struct reader *reader, cmark_node *node, size_t depth) {
    const cmark_node_type type = cmark_node_get_type(node);
    const unsigned level = section_level(reader, node, type, depth);
    if (level != 0) {
        open_section(reader, node, level);
    } else if (depth == 1) {
        note_content(reader, 1);
        note_content(reader, 2);
    }
    if (type == CMARK_NODE_CODE_BLOCK && is_delta(node)) {
        add_block(reader, node);
    }
    if (reader->wants_sections) {
        append_text(reader, node, type);
    }
}

/* Blocks do not occur in paragraphs and headings: those contain only text. */
static cmark_node *first_child(const struct reader *reader, cmark_node *node) {
    const cmark_node_type type = cmark_node_get_type(node);
    const bool has_text = type == CMARK_NODE_PARAGRAPH || type == CMARK_NODE_HEADING;
    return has_text && !reader->wants_sections ? NULL : cmark_node_first_child(node);
}

static void leave(struct reader *reader, cmark_node *node, size_t depth) {
    const cmark_node_type type = cmark_node_get_type(node);
    if (!reader->wants_sections || (type != CMARK_NODE_PARAGRAPH && type != CMARK_NODE_HEADING)) {
        return;
    }
    struct brenner_section *section = reader->open[section_level(reader, node, type, depth)];
    if (section != NULL) {
        section->title_end = reader->body->plain.length;
    }
    append(reader, "\n");
    if (section != NULL) {
        section->text_start = reader->body->plain.length;
    }
}

static void walk_tree(struct reader *reader, cmark_node *root) {
    cmark_node *node = root;
    size_t depth = 0;
    while (!reader->is_out_of_memory) {
        enter(reader, node, depth);
        cmark_node *next = first_child(reader, node);
        depth += next != NULL;
        while (next == NULL) {
            leave(reader, node, depth);
            if (node == root) {
                return;
            }
            next = cmark_node_next(node);
            node = next == NULL ? cmark_node_parent(node) : node;
            depth -= next == NULL;
        }
        node = next;
    }
}

static struct parley_bytes trimmed(const struct parley_buffer *plain, size_t start, size_t end) {
    static const char blanks[] = " \t\n\v\f\r";
    while (start < end && memchr(blanks, plain->data[start], sizeof blanks - 1) != NULL) {
        start++;
    }
    while (start < end && memchr(blanks, plain->data[end - 1], sizeof blanks - 1) != NULL) {
        end--;
    }
    return start < end ? (struct parley_bytes){plain->data + start, end - start} : PARLEY_BYTES("");
}

/* Now that the text does not move anymore. */
static void point_to_text(struct brenner_body *body) {
    for (struct brenner_section *at = body->sections; at != NULL; at = at->next) {
        at->title = trimmed(&body->plain, at->title_start, at->title_end);
        at->text = trimmed(&body->plain, at->text_start, at->text_end);
    }
    size_t number = 0;
    for (struct brenner_block *at = body->deltas; at != NULL; at = at->next) {
        at->number = ++number;
    }
}

/* cmark replaces a NUL as well, but counts its bytes otherwise. */
static struct parley_bytes without_nul(struct parley_arena *arena, struct parley_bytes text) {
    static const char replacement[] = {'\xEF', '\xBF', '\xBD'}; /* U+FFFD */
    if (text.length == 0 || memchr(text.data, '\0', text.length) == NULL) {
        return text;
    }
    size_t count = 0;
    for (size_t i = 0; i < text.length; i++) {
        count += text.data[i] == '\0';
    }
    char *copy = parley_arena_allocate(arena, text.length + 2 * count);
    if (copy == NULL) {
        return (struct parley_bytes){0};
    }
    char *out = copy;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '\0') {
            memcpy(out, replacement, sizeof replacement);
            out += sizeof replacement;
        } else {
            *out++ = text.data[i];
        }
    }
    return (struct parley_bytes){copy, text.length + 2 * count};
}

static enum parley_status read_all(struct brenner_body *body, bool wants_sections) {
    struct reader reader = {.body = body,
                            .wants_sections = wants_sections,
                            .line = 1,
                            .last_section = &body->sections,
                            .last_block = &body->deltas};
    reader.fed = markup_tame(&body->arena, body->source);
    reader.is_tame = reader.fed.data == body->source.data;
    cmark_node *root = reader.fed.data != NULL ? markup_parse(&body->arena, reader.fed) : NULL;
    if (root == NULL) {
        return PARLEY_E_MEMORY;
    }
    body->tree = root;
    walk_tree(&reader, root);
    close_section(&reader, 2);
    close_section(&reader, 1);
    if (reader.is_out_of_memory || body->plain.has_failed) {
        return PARLEY_E_MEMORY;
    }
    point_to_text(body);
    return PARLEY_OK;
}

static enum parley_status read_body(struct brenner_body *body, struct parley_bytes markdown,
                                    bool wants_sections) {
    *body = (struct brenner_body){0};
    parley_arena_init(&body->arena,
                      markdown.length * MARKUP_BYTES_PER_BYTE + MARKUP_BYTES_AT_LEAST);
    parley_buffer_init(&body->plain);
    if (markdown.length > MARKUP_TEXT_MAX) {
        return PARLEY_E_LIMIT;
    }
    body->source = without_nul(&body->arena, markdown);
    body->is_replaced = body->source.data != markdown.data;
    return body->source.data != NULL ? read_all(body, wants_sections) : PARLEY_E_MEMORY;
}

enum parley_status brenner_body_read(struct brenner_body *body, struct parley_bytes markdown) {
    return read_body(body, markdown, true);
}

enum parley_status brenner_body_read_deltas(struct brenner_body *body,
                                            struct parley_bytes markdown) {
    return read_body(body, markdown, false);
}

void brenner_body_finish(struct brenner_body *body) {
    parley_arena_finish(&body->arena);
    parley_buffer_finish(&body->plain);
}

/* ---- quotes ---- */

static bool is_container(cmark_node_type type) {
    return type == CMARK_NODE_DOCUMENT || type == CMARK_NODE_BLOCK_QUOTE ||
           type == CMARK_NODE_LIST || type == CMARK_NODE_ITEM;
}

/* The text; the number of quotes around a block is known where it begins. */
struct unquoting {
    char *text;
    size_t length;
    size_t at, line; /* how far it is done: up to the start of this line */
    size_t quotes;   /* around the last block that has begun */
};

/* Replaces the markers of the lines before `line` by spaces. */
static void unquote_to(struct unquoting *unquoting, size_t line) {
    while (unquoting->line < line && unquoting->at < unquoting->length) {
        char *at = unquoting->text + unquoting->at, *end = unquoting->text + unquoting->length;
        unquoting->at += markup_line_length((struct parley_bytes){at, (size_t)(end - at)});
        unquoting->line++;
        for (size_t left = unquoting->quotes; at < end && left > 0; at++) {
            if (*at == '>') {
                *at = ' ';
                left--;
            } else if (*at != ' ' && *at != '\t') {
                break;
            }
        }
    }
}

/* Goes through the blocks without inner blocks, in their order. */
static void unquote_tree(struct unquoting *unquoting, cmark_node *root) {
    size_t quotes = 0;
    for (cmark_node *node = root; node != NULL;) {
        const cmark_node_type type = cmark_node_get_type(node);
        cmark_node *next = is_container(type) ? cmark_node_first_child(node) : NULL;
        if (!is_container(type)) {
            unquote_to(unquoting, (size_t)cmark_node_get_start_line(node));
            unquoting->quotes = quotes;
        }
        quotes += next != NULL && type == CMARK_NODE_BLOCK_QUOTE;
        while (next == NULL && node != root) {
            next = cmark_node_next(node);
            node = next == NULL ? cmark_node_parent(node) : node;
            quotes -= next == NULL && cmark_node_get_type(node) == CMARK_NODE_BLOCK_QUOTE;
        }
        node = next;
    }
}

struct parley_bytes brenner_body_unquoted(struct brenner_body *body) {
    const size_t length = body->source.length;
    char *text = parley_arena_allocate(&body->arena, length + 1);
    if (text == NULL) {
        return (struct parley_bytes){0};
    }
    memcpy(text, body->source.data, length);
    struct unquoting unquoting = {.text = text, .length = length, .line = 1, .quotes = SIZE_MAX};
    unquote_tree(&unquoting, body->tree);
    unquote_to(&unquoting, SIZE_MAX);
    return (struct parley_bytes){text, length};
}

/* ---- names ---- */

static struct parley_bytes without_suffix(struct parley_bytes title, struct parley_bytes suffix) {
    if (title.length < suffix.length ||
        strncasecmp(title.data + title.length - suffix.length, suffix.data, suffix.length) != 0) {
        return title;
    }
    title.length -= suffix.length;
    while (title.length > 0 && strchr(" \t\n", title.data[title.length - 1]) != NULL) {
        title.length--;
    }
    return title;
}

bool brenner_section_is(const struct brenner_section *section, const char *name) {
    const struct parley_bytes optional = without_suffix(section->title, PARLEY_BYTES("(optional)"));
    const struct parley_bytes title = without_suffix(optional, PARLEY_BYTES("(if applicable)"));
    return title.length == strlen(name) && strncasecmp(title.data, name, title.length) == 0;
}

const struct brenner_section *brenner_body_section(const struct brenner_body *body,
                                                   const char *name) {
    const struct brenner_section *section = body->sections;
    while (section != NULL && !(section->level == 2 && brenner_section_is(section, name))) {
        section = section->next;
    }
    return section;
}
