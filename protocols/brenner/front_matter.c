/* SPDX-License-Identifier: Apache-2.0 */

/* Front matter by libyaml's event API. libyaml reads YAML 1.1 and checks only the syntax: the
 * meaning of scalars, keys, depth, and the few characters in which 1.1 and 1.2 differ are handled
 * here. Anchors, aliases and tags are refused, so that a document is never larger than its text. */

#include "front_matter.h"

#include <stdlib.h>

#include <yaml.h>

#include "json_reader.h"
#include "text.h"
#include "walk.h"
#include "front_matter_fault.h"
#include "yaml_scalar.h"
#include "yaml_special.h"

/* A key of an open mapping. */
struct key {
    size_t name_start, name_length; /* in reader.names */
    size_t at;                      /* in the text */
    size_t value_at;
    size_t first_item, item_count;
};

/* One open sequence or mapping. */
struct level {
    bool is_sequence;
    bool wants_value; /* of a mapping: its last key has none yet */
    size_t count;
    size_t first_key, last_key; /* of a mapping, in reader.keys */
};

struct reader {
    struct parley_bytes text;
    struct parley_arena *arena;
    struct parley_buffer *out;
    yaml_parser_t parser;
    struct yaml_specials specials;
    struct level levels[JSON_DEPTH_MAX];
    size_t depth;
    struct parley_buffer keys;  /* of struct key: those of all open mappings */
    struct parley_buffer names; /* theirs, decoded */
    struct parley_buffer items; /* of size_t: places of the items of members */
    size_t cursor_index;        /* a place in code points, … */
    size_t cursor;              /* … and in bytes */
    bool has_root, is_mapping;
    size_t root_at;
    struct front_matter_fault *fault;
    size_t fault_end; /* the end of the text that proves the fault */
    bool has_fault, is_out_of_memory;
};

static struct key *key_at(const struct reader *reader, size_t index) {
    return (struct key *)(void *)reader->keys.data + index;
}

static size_t key_count(const struct reader *reader) {
    return reader->keys.length / sizeof(struct key);
}

static struct parley_bytes name_of(const struct reader *reader, const struct key *key) {
    return (struct parley_bytes){reader->names.data + key->name_start, key->name_length};
}

static bool fail(struct reader *reader, struct front_matter_fault fault, size_t end) {
    *reader->fault = fault;
    reader->fault_end = end;
    reader->has_fault = true;
    return false;
}

static bool out_of_memory(struct reader *reader) {
    reader->is_out_of_memory = true;
    return false;
}

static bool push(struct reader *reader, struct parley_buffer *to, const void *item, size_t size) {
    parley_buffer_append(to, (struct parley_bytes){item, size});
    return !to->has_failed || out_of_memory(reader);
}

/* libyaml's marks count code points, and its lines differ from parley's. */
static size_t offset_of(struct reader *reader, yaml_mark_t mark) {
    while (reader->cursor_index > mark.index) {
        reader->cursor--;
        reader->cursor_index -= ((unsigned char)reader->text.data[reader->cursor] & 0xC0) != 0x80;
    }
    while (reader->cursor_index < mark.index && reader->cursor < reader->text.length) {
        reader->cursor += text_utf8_sequence(reader->text.data + reader->cursor,
                                             reader->text.length - reader->cursor);
        reader->cursor_index++;
    }
    return reader->cursor;
}

/* The JSON Pointer of the current member or item of the innermost of `depth` levels; `last`, if not
 * NULL, is that member. */
static const char *path_to(struct reader *reader, size_t depth, const struct key *last) {
    struct parley_buffer path;
    parley_buffer_init(&path);
    for (size_t i = 0; i < depth; i++) {
        const struct level *level = &reader->levels[i];
        if (level->is_sequence) {
            parley_buffer_format(&path, "/%zu", level->count - 1);
        } else {
            const bool is_last = i + 1 == depth && last != NULL;
            const struct key *key = is_last ? last : key_at(reader, level->last_key);
            text_append_token(&path, name_of(reader, key));
        }
    }
    const char *copy =
        path.has_failed ? NULL : parley_arena_copy(reader->arena, parley_buffer_bytes(&path));
    parley_buffer_finish(&path);
    if (copy == NULL) {
        out_of_memory(reader);
    }
    return copy;
}

/* ---- keys ---- */

static int by_name(const void *left, const void *right, void *names) {
    const struct key *a = left, *b = right;
    const size_t shorter = a->name_length < b->name_length ? a->name_length : b->name_length;
    const char *text = names;
    const int order = memcmp(text + a->name_start, text + b->name_start, shorter);
    if (order != 0) {
        return order;
    }
    if (a->name_length != b->name_length) {
        return a->name_length < b->name_length ? -1 : 1;
    }
    return a->at < b->at ? -1 : 1;
}

/* Makes the first duplicate key of an open mapping the fault, unless an earlier fault is known. */
static void check_keys(struct reader *reader, size_t depth) {
    const size_t first = reader->levels[depth - 1].first_key;
    const size_t end = depth < reader->depth ? reader->levels[depth].first_key : key_count(reader);
    if (end - first < 2) {
        return;
    }
    struct key *sorted = malloc((end - first) * sizeof *sorted);
    if (sorted == NULL) {
        out_of_memory(reader);
        return;
    }
    memcpy(sorted, key_at(reader, first), (end - first) * sizeof *sorted);
    qsort_r(sorted, end - first, sizeof *sorted, by_name, reader->names.data);
    for (size_t i = 1; i < end - first; i++) {
        const struct key *key = &sorted[i];
        const bool is_repeated =
            parley_bytes_equal(name_of(reader, key), name_of(reader, &sorted[i - 1]));
        if (is_repeated && (!reader->has_fault || key->at < reader->fault->offset)) {
            fail(reader,
                 (struct front_matter_fault){.rule = PARLEY_GW_DUPLICATE_KEY,
                                             .offset = key->at,
                                             .message = "duplicate key",
                                             .path = path_to(reader, depth, key)},
                 key->at);
        }
    }
    free(sorted);
}

static bool take_key(struct reader *reader, const yaml_event_t *event) {
    struct level *level = &reader->levels[reader->depth - 1];
    const size_t at = offset_of(reader, event->start_mark);
    const size_t end = offset_of(reader, event->end_mark);
    const struct parley_bytes name = {(const char *)event->data.scalar.value,
                                      event->data.scalar.length};
    const size_t length = reader->out->length;
    if (at > 0 && reader->text.data[at - 1] == '?') {
        /* In brackets libyaml makes [?x] a key; to YAML 1.2 it is text, since no space follows. */
        return fail(reader, front_matter_fault_of(FRONT_MATTER_QUESTION, at - 1), at);
    }
    if (event->type != YAML_SCALAR_EVENT ||
        (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
         yaml_scalar_write(name, reader->out) != YAML_SCALAR_STRING)) {
        return fail(reader, front_matter_fault_of(FRONT_MATTER_KEY_KIND, at), end);
    }
    reader->out->length = length;
    if (memchr(name.data, '\0', name.length) != NULL) {
        return fail(reader, front_matter_fault_of(FRONT_MATTER_KEY_NUL, at), end);
    }
    const struct key key = {.name_start = reader->names.length,
                            .name_length = name.length,
                            .at = at,
                            .first_item = reader->items.length / sizeof(size_t)};
    level->last_key = key_count(reader);
    level->wants_value = true;
    parley_buffer_text(reader->out, level->count++ > 0 ? "," : "");
    parley_buffer_json(reader->out, name);
    parley_buffer_char(reader->out, ':');
    return push(reader, &reader->names, name.data, name.length) &&
           push(reader, &reader->keys, &key, sizeof key);
}

/* ---- values ---- */

/* The properties before a value, and its place. */
static bool begin_value(struct reader *reader, size_t at, bool is_mapping) {
    if (reader->depth == 0) {
        reader->has_root = true;
        reader->is_mapping = is_mapping;
        reader->root_at = at;
        return true;
    }
    struct level *level = &reader->levels[reader->depth - 1];
    if (!level->is_sequence) {
        level->wants_value = false;
        key_at(reader, level->last_key)->value_at = at;
        return true;
    }
    parley_buffer_text(reader->out, level->count++ > 0 ? "," : "");
    if (reader->depth == 2 && !reader->levels[0].is_sequence) {
        key_at(reader, reader->levels[0].last_key)->item_count++;
        return push(reader, &reader->items, &at, sizeof at);
    }
    return true;
}

static bool take_scalar(struct reader *reader, const yaml_event_t *event) {
    const struct parley_bytes text = {(const char *)event->data.scalar.value,
                                      event->data.scalar.length};
    const size_t at = offset_of(reader, event->start_mark);
    if (!begin_value(reader, at, false)) {
        return false;
    }
    const enum yaml_scalar kind = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
                                      ? yaml_scalar_write(text, reader->out)
                                      : YAML_SCALAR_STRING;
    if (kind == YAML_SCALAR_STRING) {
        parley_buffer_json(reader->out, text);
    }
    return kind != YAML_SCALAR_INFINITE ||
           fail(reader, front_matter_fault_of(FRONT_MATTER_INFINITE, at),
                offset_of(reader, event->end_mark));
}

static bool open_level(struct reader *reader, const yaml_event_t *event) {
    const bool is_sequence = event->type == YAML_SEQUENCE_START_EVENT;
    const size_t at = offset_of(reader, event->start_mark);
    if (!begin_value(reader, at, !is_sequence)) {
        return false;
    }
    if (reader->depth == JSON_DEPTH_MAX) {
        return fail(reader,
                    (struct front_matter_fault){.rule = PARLEY_GW_DEPTH,
                                                .offset = at,
                                                .message = "nested deeper than 64 levels",
                                                .path = path_to(reader, reader->depth, NULL)},
                    at);
    }
    if (reader->depth > 0) {
        parley_buffer_char(reader->out, is_sequence ? '[' : '{');
    }
    reader->levels[reader->depth++] =
        (struct level){.is_sequence = is_sequence, .first_key = key_count(reader)};
    return true;
}

/* The keys of the top mapping stay: they are the members. */
static bool close_level(struct reader *reader) {
    const struct level *level = &reader->levels[reader->depth - 1];
    if (!level->is_sequence) {
        check_keys(reader, reader->depth);
        if (reader->has_fault || reader->is_out_of_memory) {
            return false;
        }
    }
    if (reader->depth > 1) {
        if (key_count(reader) > level->first_key) {
            reader->names.length = key_at(reader, level->first_key)->name_start;
            reader->keys.length = level->first_key * sizeof(struct key);
        }
        parley_buffer_char(reader->out, level->is_sequence ? ']' : '}');
    }
    reader->depth--;
    return true;
}

/* ---- events ---- */

static bool has_anchor(const yaml_event_t *event) {
    return event->type == YAML_SCALAR_EVENT           ? event->data.scalar.anchor != NULL
           : event->type == YAML_SEQUENCE_START_EVENT ? event->data.sequence_start.anchor != NULL
                                                      : event->data.mapping_start.anchor != NULL;
}

static bool has_tag(const yaml_event_t *event) {
    return event->type == YAML_SCALAR_EVENT           ? event->data.scalar.tag != NULL
           : event->type == YAML_SEQUENCE_START_EVENT ? event->data.sequence_start.tag != NULL
                                                      : event->data.mapping_start.tag != NULL;
}

static bool take_node(struct reader *reader, const yaml_event_t *event) {
    const struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
    const size_t at = offset_of(reader, event->start_mark);
    if (has_anchor(event)) {
        return fail(reader, front_matter_fault_of(FRONT_MATTER_ANCHOR, at), at);
    }
    if (has_tag(event)) {
        return fail(reader, front_matter_fault_of(FRONT_MATTER_TAG, at), at);
    }
    if (level != NULL && !level->is_sequence && !level->wants_value) {
        return take_key(reader, event);
    }
    return event->type == YAML_SCALAR_EVENT ? take_scalar(reader, event)
                                            : open_level(reader, event);
}

/* In YAML 1.2 a comment begins only after a space. */
static bool check_header(struct reader *reader, const yaml_event_t *event) {
    const yaml_scalar_style_t style = event->data.scalar.style;
    if (style != YAML_LITERAL_SCALAR_STYLE && style != YAML_FOLDED_SCALAR_STYLE) {
        return true;
    }
    size_t at = offset_of(reader, event->start_mark) + 1;
    while (at < reader->text.length && strchr("+-0123456789", reader->text.data[at]) != NULL) {
        at++;
    }
    return at == reader->text.length || reader->text.data[at] != '#' ||
           fail(reader, front_matter_fault_of(FRONT_MATTER_HEADER_COMMENT, at), at);
}

/* Restores the characters of text between quotes. */
static void restore(struct reader *reader, yaml_event_t *event) {
    const yaml_scalar_style_t style =
        event->type == YAML_SCALAR_EVENT ? event->data.scalar.style : YAML_ANY_SCALAR_STYLE;
    if (!yaml_specials_has_any(&reader->specials)) {
        return;
    }
    if (style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE) {
        yaml_specials_restore(&reader->specials, offset_of(reader, event->start_mark),
                              (char *)event->data.scalar.value, &event->data.scalar.length);
    } else {
        yaml_specials_pass(&reader->specials, offset_of(reader, event->end_mark));
    }
}

static bool take_event(struct reader *reader, const yaml_event_t *event) {
    const size_t at = offset_of(reader, event->start_mark);
    switch (event->type) {
    case YAML_SCALAR_EVENT:
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return take_node(reader, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_level(reader);
    case YAML_ALIAS_EVENT:
        return fail(reader, front_matter_fault_of(FRONT_MATTER_ALIAS, at), at);
    case YAML_DOCUMENT_START_EVENT:
        return event->data.document_start.implicit ||
               fail(reader, front_matter_fault_of(FRONT_MATTER_DOCUMENT, at), at);
    default:
        return true;
    }
}

static bool explain(struct reader *reader) {
    const yaml_parser_t *parser = &reader->parser;
    if (parser->error == YAML_READER_ERROR) { /* a special character without a stand-in */
        return fail(reader, front_matter_fault_of(FRONT_MATTER_UNFIT, parser->problem_offset),
                    parser->problem_offset);
    }
    if (parser->error != YAML_SCANNER_ERROR && parser->error != YAML_PARSER_ERROR) {
        return out_of_memory(reader);
    }
    const size_t at = offset_of(reader, parser->problem_mark);
    const struct front_matter_problem problem = {
        .text = parser->problem,
        .at = at,
        .context_at = parser->context != NULL ? offset_of(reader, parser->context_mark) : at};
    struct front_matter_fault fault;
    return front_matter_explain(reader->text, &problem, reader->arena, &fault)
               ? fail(reader, fault, at)
               : out_of_memory(reader);
}

static bool read_events(struct reader *reader) {
    for (bool is_end = false; !is_end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader->parser, &event)) {
            return explain(reader);
        }
        restore(reader, &event);
        const bool is_fine = (event.type != YAML_SCALAR_EVENT || check_header(reader, &event)) &&
                             take_event(reader, &event);
        is_end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (!is_fine) {
            return false;
        }
    }
    return true;
}

/* Keeps the first of the faults, `unfit` included. */
static void settle_fault(struct reader *reader, const struct front_matter_fault *unfit) {
    const size_t outside = reader->specials.outside;
    if (unfit != NULL && (!reader->has_fault || reader->fault_end >= unfit->offset)) {
        fail(reader, *unfit, unfit->offset);
    }
    if (outside != SIZE_MAX && (!reader->has_fault || outside < reader->fault->offset)) {
        fail(reader, front_matter_fault_of(FRONT_MATTER_UNFIT, outside), outside);
    }
    for (size_t depth = reader->depth; reader->has_fault && depth > 0; depth--) {
        check_keys(reader, depth);
    }
    if (!reader->has_fault && reader->has_root && !reader->is_mapping) {
        fail(reader, front_matter_fault_of(FRONT_MATTER_TOP_LEVEL, reader->root_at), 0);
    }
}

static bool hand_out(struct reader *reader, struct front_matter *out) {
    const size_t count = key_count(reader);
    struct front_matter_member *members =
        parley_arena_allocate(reader->arena, count * sizeof *members);
    const char *names = parley_arena_copy(reader->arena, parley_buffer_bytes(&reader->names));
    size_t *items = parley_arena_allocate(reader->arena, reader->items.length);
    if (members == NULL || names == NULL || items == NULL) {
        return out_of_memory(reader);
    }
    if (reader->items.length > 0) {
        memcpy(items, reader->items.data, reader->items.length);
    }
    for (size_t i = 0; i < count; i++) {
        const struct key *key = key_at(reader, i);
        members[i] =
            (struct front_matter_member){.name = {names + key->name_start, key->name_length},
                                         .at = key->value_at,
                                         .items = items + key->first_item,
                                         .item_count = key->item_count};
    }
    *out = (struct front_matter){members, count};
    return true;
}

static void read_all(struct reader *reader, struct front_matter *out) {
    struct front_matter_fault unfit;
    const bool has_unfit = front_matter_find_unreadable(reader->text, &unfit);
    if (has_unfit) {
        reader->text.length = unfit.offset;
    }
    const struct parley_bytes fed = yaml_specials_replace(&reader->specials, reader->text);
    if (fed.data == NULL || !yaml_parser_initialize(&reader->parser)) {
        out_of_memory(reader);
        return;
    }
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader->parser, (const unsigned char *)fed.data, fed.length);
    if (read_events(reader)) {
        yaml_specials_pass(&reader->specials, reader->text.length);
    }
    yaml_parser_delete(&reader->parser);
    if (!reader->is_out_of_memory) {
        settle_fault(reader, has_unfit ? &unfit : NULL);
    }
    if (!reader->is_out_of_memory && !reader->has_fault) {
        hand_out(reader, out);
    }
}

enum front_matter_result front_matter_read(struct parley_bytes yaml, struct parley_arena *arena,
                                           struct parley_buffer *out,
                                           struct front_matter *out_members,
                                           struct front_matter_fault *out_fault) {
    struct reader reader = {.text = yaml, .arena = arena, .out = out, .fault = out_fault};
    parley_buffer_init(&reader.keys);
    parley_buffer_init(&reader.names);
    parley_buffer_init(&reader.items);
    if (parley_buffer_reserve(&reader.names, 1)) { /* names have an address, empty ones too */
        read_all(&reader, out_members);
    } else {
        out_of_memory(&reader);
    }
    parley_buffer_finish(&reader.keys);
    parley_buffer_finish(&reader.names);
    parley_buffer_finish(&reader.items);
    yaml_specials_finish(&reader.specials);
    if (reader.is_out_of_memory || out->has_failed) {
        return FRONT_MATTER_MEMORY;
    }
    return reader.has_fault ? FRONT_MATTER_FAULT : FRONT_MATTER_READ;
}
