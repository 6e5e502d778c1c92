/* SPDX-License-Identifier: Apache-2.0 */

/* Lists the members of all objects, sorts them to find those with the same key, and writes the
 * tokens again. Numbers and strings stay as they were spelled. */

#include "last_keys.h"

#include <stdlib.h>

#include "json_string.h"
#include "json_reader.h"
#include "json_tokens.h"

/* A member, in the order of the text. */
struct entry {
    struct parley_bytes token; /* the key as it is written … */
    struct parley_bytes key;   /* … and its meaning */
    struct parley_bytes value;
    size_t object; /* the number of its object */
    size_t number; /* its own */
    size_t next;   /* of the first entry after its value */
    size_t last;   /* the last member with its key, which is written in its place */
    bool is_dropped;
};

/* An object or array that is open while the members are listed. */
struct level {
    bool is_object;
    size_t object;
    size_t entry; /* whose value comes next; NO_ENTRY: a key does, or there is none */
};

#define NO_ENTRY SIZE_MAX

struct list {
    struct parley_arena *arena;
    struct entry *entries;
    size_t count, object_count;
    struct level levels[1 + JSON_DEPTH_MAX]; /* the first is around the whole text */
    size_t depth;
};

static size_t count_members(struct parley_bytes json) {
    size_t count = 0;
    struct json_token token;
    while (json_token_next(&json, &token)) {
        count += token.kind == ':';
    }
    return count;
}

static bool add_entry(struct list *list, struct level *level, struct parley_bytes token) {
    const struct parley_bytes raw = {token.data + 1, token.length - 2};
    struct entry *entry = &list->entries[list->count];
    *entry = (struct entry){.token = token,
                            .key = raw,
                            .object = level->object,
                            .number = list->count,
                            .last = list->count};
    level->entry = list->count++;
    return memchr(raw.data, '\\', raw.length) == NULL ||
           json_string_decode(list->arena, raw, &entry->key);
}

/* `end`: of the value before the token that follows it. */
static void end_entry(struct list *list, struct level *level, const char *end) {
    if (level->entry != NO_ENTRY) {
        struct entry *entry = &list->entries[level->entry];
        entry->value.length = (size_t)(end - entry->value.data);
        entry->next = list->count;
        level->entry = NO_ENTRY;
    }
}

/* `end`: where the token before ended. */
static bool add_token(struct list *list, const struct json_token *token, const char *end) {
    struct level *level = &list->levels[list->depth];
    if (token->kind == '{' || token->kind == '[') {
        list->levels[++list->depth] = (struct level){
            .is_object = token->kind == '{', .object = list->object_count++, .entry = NO_ENTRY};
    } else if (token->kind == '}' || token->kind == ']') {
        end_entry(list, level, end);
        list->depth--;
    } else if (token->kind == ',') {
        end_entry(list, level, end);
    } else if (token->kind == ':') {
        list->entries[level->entry].value.data = token->text.data + 1;
    } else if (token->kind == '"' && level->is_object && level->entry == NO_ENTRY) {
        return add_entry(list, level, token->text);
    }
    return true;
}

static bool list_members(struct list *list, struct parley_bytes json) {
    struct json_token token;
    const char *end = json.data;
    while (json_token_next(&json, &token)) {
        if (!add_token(list, &token, end)) {
            return false;
        }
        end = token.text.data + token.text.length;
    }
    return true;
}

static int compare_keys(const struct entry *a, const struct entry *b) {
    if (a->object != b->object) {
        return a->object < b->object ? -1 : 1;
    }
    const size_t shorter = a->key.length < b->key.length ? a->key.length : b->key.length;
    const int order = shorter > 0 ? memcmp(a->key.data, b->key.data, shorter) : 0;
    return order != 0 ? order : (a->key.length > b->key.length) - (a->key.length < b->key.length);
}

static int by_key(const void *left, const void *right) {
    const struct entry *a = *(struct entry *const *)left, *b = *(struct entry *const *)right;
    const int order = compare_keys(a, b);
    return order != 0 ? order : a->number < b->number ? -1 : 1;
}

static bool mark_repeated(struct list *list) {
    struct entry **sorted =
        parley_arena_allocate(list->arena, list->count * sizeof(struct entry *));
    if (sorted == NULL) {
        return false;
    }
    for (size_t i = 0; i < list->count; i++) {
        sorted[i] = &list->entries[i];
    }
    qsort(sorted, list->count, sizeof(struct entry *), by_key);
    struct entry *first = NULL;
    for (size_t i = 0; i < list->count; i++) {
        if (first != NULL && compare_keys(first, sorted[i]) == 0) {
            first->last = sorted[i]->number;
            sorted[i]->is_dropped = true;
        } else {
            first = sorted[i];
        }
    }
    return true;
}

static void skip_to(struct parley_bytes *rest, const char *at) {
    rest->length -= (size_t)(at - rest->data);
    rest->data = at;
}

/* Writes a value whose first member, if it has any, is entry `number`. Recurses into values that
 * replace others, which are nested. */
static void write_value(const struct list *list, struct parley_bytes rest, size_t number,
                        struct parley_buffer *out) {
    bool has_comma = false;
    struct json_token token;
    while (json_token_next(&rest, &token)) {
        if (token.kind == ',') {
            has_comma = true; /* unless the member after it is dropped */
            continue;
        }
        const struct entry *entry = number < list->count ? &list->entries[number] : NULL;
        const bool is_key = entry != NULL && entry->token.data == token.text.data;
        const bool is_dropped = is_key && entry->is_dropped;
        if (!is_dropped) {
            parley_buffer_text(out, has_comma ? "," : "");
            parley_buffer_append(out, token.text);
        }
        has_comma = false;
        if (is_key && !is_dropped && entry->last != number) {
            parley_buffer_char(out, ':');
            write_value(list, list->entries[entry->last].value, entry->last + 1, out);
        }
        if (is_dropped || (is_key && entry->last != number)) {
            skip_to(&rest, entry->value.data + entry->value.length);
            number = entry->next;
        } else {
            number += is_key;
        }
    }
}

enum parley_status last_keys_write(struct parley_bytes json, struct parley_arena *arena,
                                   struct parley_buffer *out) {
    struct list list = {.arena = arena, .levels = {{.entry = NO_ENTRY}}};
    list.entries = parley_arena_allocate(arena, count_members(json) * sizeof *list.entries);
    if (list.entries == NULL || !list_members(&list, json) || !mark_repeated(&list)) {
        return PARLEY_E_MEMORY;
    }
    write_value(&list, json, 0, out);
    return parley_buffer_status(out);
}
