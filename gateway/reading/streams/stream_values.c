/* SPDX-License-Identifier: Apache-2.0 */

/* Holds types, lanes, priorities and senders against the tables of the protocols. The names are
 * gathered only when there is one of these filters. */

#include "stream_values.h"

#include <string.h>

#include <parley/arena.h>

#include "nearest.h"

enum { NAMES_MAX = 512, LISTED_MAX = 32 };

/* The values that a filter may name. */
struct names {
    struct parley_arena arena;
    const char *items[NAMES_MAX + 1]; /* ends with NULL */
    size_t count;
    size_t listed_count; /* of these are shown: a type's bare name, and not its full one too */
    bool is_open;        /* any value will do */
    bool has_failed;
};

static void add(struct names *names, const char *name) {
    names->has_failed |= name == NULL || names->count == NAMES_MAX;
    if (!names->has_failed) {
        names->items[names->count++] = name;
    }
}

/* PROTOCOL.TYPE */
static void add_full(struct names *names, const char *protocol, const char *type) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "%s.%s", protocol, type);
    add(names,
        text.has_failed ? NULL : parley_arena_copy(&names->arena, parley_buffer_bytes(&text)));
    parley_buffer_finish(&text);
}

static void gather_types(struct names *names, const struct parley_protocol *const protocols[]) {
    for (size_t i = 0; protocols[i] != NULL; i++) {
        for (const char *const *type = protocols[i]->types; *type != NULL; type++) {
            add(names, *type);
        }
    }
    names->listed_count = names->count;
    for (size_t i = 0; protocols[i] != NULL; i++) {
        for (const char *const *type = protocols[i]->types; *type != NULL; type++) {
            add_full(names, protocols[i]->name, *type);
        }
    }
    add(names, "foreign");
    add(names, "parley.foreign");
}

static void gather_lanes(struct names *names, const struct parley_protocol *const protocols[]) {
    for (size_t i = 0; protocols[i] != NULL; i++) {
        for (const char *const *lane = protocols[i]->lanes; lane != NULL && *lane != NULL; lane++) {
            add(names, *lane);
        }
    }
    names->listed_count = names->count;
}

/* Only some protocols have priorities; where none that is read has, the filter matches nothing. */
static void gather_priorities(struct names *names,
                              const struct parley_protocol *const protocols[]) {
    for (size_t i = 0; protocols[i] != NULL; i++) {
        const char *const *priority = protocols[i]->priorities;
        for (; priority != NULL && *priority != NULL; priority++) {
            add(names, *priority);
        }
    }
    names->listed_count = names->count;
    names->is_open = names->count == 0;
}

static void gather_senders(struct names *names, const struct parley_protocol *const protocols[]) {
    for (size_t i = 0; protocols[i] != NULL; i++) {
        const char *const *sender = protocols[i]->senders;
        names->is_open |= sender == NULL;
        for (; sender != NULL && *sender != NULL; sender++) {
            add(names, *sender);
        }
    }
    names->listed_count = names->count;
}

static bool has(const struct names *names, struct parley_bytes value) {
    for (size_t i = 0; i < names->count; i++) {
        if (parley_bytes_equal(value, parley_bytes_of(names->items[i]))) {
            return true;
        }
    }
    return false;
}

/* The first item of the list that is none of the names; data NULL if there is none. */
static struct parley_bytes find_unknown(const struct names *names, const char *list) {
    while (list != NULL) {
        const struct parley_bytes item = stream_list_next(&list);
        if (!has(names, item)) {
            return item;
        }
    }
    return (struct parley_bytes){0};
}

/* A sort of names, in words. */
struct sort {
    const char *one, *many;
    void (*gather)(struct names *names, const struct parley_protocol *const protocols[]);
};

static const struct sort types = {"type", "types", gather_types};
static const struct sort lanes = {"lane", "lanes", gather_lanes};
static const struct sort priorities = {"priority", "priorities", gather_priorities};
static const struct sort senders = {"sender", "senders", gather_senders};

static void explain(struct names *names, const struct sort *sort, struct parley_bytes value,
                    const struct parley_protocol *const protocols[], struct parley_buffer *out) {
    const char *where = protocols[0] != NULL && protocols[1] == NULL ? protocols[0]->name : NULL;
    const int length = value.length < 64 ? (int)value.length : 64;
    if (names->count == 0) {
        parley_buffer_format(out, "%s has no %s; leave `%s` out.",
                             where != NULL ? where : "No protocol", sort->many, sort->one);
        return;
    }
    parley_buffer_format(out, "Unknown %s `%.*s`", sort->one, length, value.data);
    const char *word = parley_arena_copy(&names->arena, value);
    const char *nearest = word != NULL ? nearest_word(word, names->items) : NULL;
    if (nearest != NULL) {
        parley_buffer_format(out, "; did you mean `%s`?", nearest);
    } else {
        parley_buffer_text(out, ".");
    }
    if (names->listed_count > LISTED_MAX) {
        parley_buffer_format(out, " GET /v1/protocols/NAME lists the %s of a protocol.",
                             sort->many);
        return;
    }
    parley_buffer_format(out, " %s%s%s are ", where != NULL ? where : "",
                         where != NULL ? "'s " : "The ", sort->many);
    for (size_t i = 0; i < names->listed_count; i++) {
        parley_buffer_format(out, "%s%s", i > 0 ? ", " : "", names->items[i]);
    }
    parley_buffer_text(out, ".");
}

static bool check(const struct sort *sort, const char *list,
                  const struct parley_protocol *const protocols[], struct parley_buffer *out) {
    if (list == NULL) {
        return true;
    }
    struct names names = {.count = 0};
    parley_arena_init(&names.arena, 0);
    sort->gather(&names, protocols);
    const struct parley_bytes unknown = find_unknown(&names, list);
    /* Without memory to know better, any value will do. */
    const bool is_known = names.has_failed || names.is_open || unknown.data == NULL;
    if (!is_known) {
        explain(&names, sort, unknown, protocols, out);
    }
    parley_arena_finish(&names.arena);
    return is_known;
}

bool stream_values_check(const struct stream_query *query,
                         const struct parley_protocol *const protocols[],
                         struct parley_buffer *out_detail) {
    const char *const *filters = query->filters;
    return check(&types, filters[STREAM_FILTER_TYPE], protocols, out_detail) &&
           check(&lanes, filters[STREAM_FILTER_LANE], protocols, out_detail) &&
           check(&priorities, filters[STREAM_FILTER_PRIORITY], protocols, out_detail) &&
           check(&senders, filters[STREAM_FILTER_SENDER], protocols, out_detail);
}
