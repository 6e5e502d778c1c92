/* SPDX-License-Identifier: Apache-2.0 */

/* One reading with a listener that enters the message, the member `parent`, the objects in it if it
 * is an array, and no more. */

#include "json_members.h"

#include <assert.h>

#include "json_pick.h"
#include "json_reader.h"

struct search {
    const char *parent;
    const struct json_member *members;
    size_t count, present;            /* the member whose key was read; count: none of them */
    size_t depth;                     /* of the array or object that is being read */
    size_t offsets[JSON_MEMBERS_MAX]; /* of the values; 0: there is none */
    bool (*each)(void *context, struct parley_bytes text);
    void *context;
    size_t list_depth; /* of the array whose texts are wanted; 0: outside of it */
};

static bool enter(struct search *search, const struct parley_value *value) {
    const bool has_content = value->kind == PARLEY_ARRAY || value->kind == PARLEY_OBJECT;
    search->depth += has_content ? 1 : 0;
    return has_content;
}

static bool on_member(struct search *search, const struct parley_value *value) {
    search->offsets[search->present] = value->offset;
    search->present = search->count;
    if (search->each == NULL || value->kind != PARLEY_ARRAY) {
        return false;
    }
    search->list_depth = search->depth + 1;
    return enter(search, value);
}

static bool on_value(void *context, const struct parley_value *value) {
    struct search *search = context;
    if (search->list_depth > 0) {
        if (search->each != NULL && value->kind == PARLEY_STRING &&
            !search->each(search->context, value->text)) {
            search->each = NULL;
        }
        return false;
    }
    return search->present < search->count ? on_member(search, value) : enter(search, value);
}

static bool on_key(void *context, struct parley_bytes key) {
    struct search *search = context;
    search->present = search->count;
    if (search->depth == 1 && search->parent != NULL) {
        return parley_bytes_equal(key, parley_bytes_of(search->parent));
    }
    for (size_t i = 0; i < search->count; i++) {
        if (parley_bytes_equal(key, parley_bytes_of(search->members[i].name))) {
            search->present = i;
            return true;
        }
    }
    return false;
}

static void on_leave(void *context, size_t count) {
    struct search *search = context;
    (void)count;
    search->list_depth = search->list_depth == search->depth ? 0 : search->list_depth;
    search->depth--;
}

static enum parley_status find(struct parley_message *message, struct search *search) {
    while (search->members[search->count].name != NULL) {
        search->count++;
    }
    assert(search->count <= JSON_MEMBERS_MAX);
    search->present = search->count;
    const struct json_events events = {
        .context = search, .value = on_value, .key = on_key, .leave = on_leave, .is_brief = true};
    return json_reader_read_again(message->text, &events, &message->arena);
}

enum parley_status json_members_append(struct parley_message *message, const char *parent,
                                       const struct json_member *members,
                                       struct parley_buffer *out) {
    struct search search = {.parent = parent, .members = members};
    PARLEY_TRY(find(message, &search));
    for (size_t i = 0; i < search.count; i++) {
        const size_t offset = search.offsets[i];
        if (offset > 0) { /* where the message's own brace is, no member can be */
            const char *name = members[i].as != NULL ? members[i].as : members[i].name;
            parley_buffer_format(out, ",\"%s\":", name);
            json_pick_append(
                (struct parley_bytes){message->text.data + offset, message->text.length - offset},
                out);
        }
    }
    return parley_buffer_status(out);
}

enum parley_status json_members_each_text(struct parley_message *message, const char *parent,
                                          const char *name,
                                          bool (*each)(void *context, struct parley_bytes text),
                                          void *context) {
    const struct json_member members[] = {{.name = name, .as = NULL}, {.name = NULL, .as = NULL}};
    struct search search = {.parent = parent, .members = members, .each = each, .context = context};
    return find(message, &search);
}
