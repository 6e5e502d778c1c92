/* SPDX-License-Identifier: Apache-2.0 */

/* Finds members and the ends of values in a text that was read before without a fault, so that
 * nothing needs to be checked here. */

#include "json_edit.h"

#include "constraint.h"
#include "json_string.h"

static size_t skip_blank(struct parley_bytes text, size_t at) {
    while (strchr(" \t\n\r", text.data[at]) != NULL) {
        at++;
    }
    return at;
}

static size_t skip_string(struct parley_bytes text, size_t at) {
    for (at++; text.data[at] != '"'; at++) {
        at += text.data[at] == '\\';
    }
    return at + 1;
}

static size_t skip_container(struct parley_bytes text, size_t at) {
    size_t depth = 0;
    do {
        const char c = text.data[at];
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        at = c == '"' ? skip_string(text, at) : at + 1;
    } while (depth > 0);
    return at;
}

static size_t skip_value(struct parley_bytes text, size_t at) {
    switch (text.data[at]) {
    case '"':
        return skip_string(text, at);
    case '{':
    case '[':
        return skip_container(text, at);
    default:
        while (at < text.length && strchr(",]} \t\n\r", text.data[at]) == NULL) {
            at++;
        }
        return at;
    }
}

/* A member of an object, by the offsets of its key's quote, of its value, and after that. */
struct member {
    size_t key, value, end;
};

/* Reads the member after the one in *at, or the first one: at->end is then the object's start.
 * Returns: false: there is none; at->end is as it was. */
static bool next_member(struct parley_bytes text, struct member *at) {
    size_t here = skip_blank(text, text.data[at->end] == '{' ? at->end + 1 : at->end);
    here = text.data[here] == ',' ? skip_blank(text, here + 1) : here;
    if (text.data[here] == '}') {
        return false;
    }
    at->key = here;
    at->value = skip_blank(text, skip_blank(text, skip_string(text, here)) + 1);
    at->end = skip_value(text, at->value);
    return true;
}

static bool is_key(struct parley_arena *arena, struct parley_bytes text, size_t at,
                   struct parley_bytes key) {
    struct parley_bytes raw = {text.data + at + 1, skip_string(text, at) - at - 2};
    if (raw.length > 0 && memchr(raw.data, '\\', raw.length) != NULL &&
        !json_string_decode(arena, raw, &raw)) {
        return false;
    }
    return parley_bytes_equal(raw, key);
}

/* Returns: whether the object at `object` has the member; if not, *out is its last one, or the
 * object's start. */
static bool find_member(struct parley_message *message, size_t object, struct parley_bytes key,
                        struct member *out) {
    *out = (struct member){.end = object};
    while (next_member(message->text, out)) {
        if (is_key(&message->arena, message->text, out->key, key)) {
            return true;
        }
    }
    return false;
}

/* ---- edits ---- */

static enum parley_status insert(struct parley_message *message, struct parley_buffer *text,
                                 struct json_edit *out) {
    const char *copy =
        text->has_failed ? NULL : parley_arena_copy(&message->arena, parley_buffer_bytes(text));
    out->inserted = (struct parley_bytes){copy, text->length};
    parley_buffer_finish(text);
    return copy != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status replace_value(struct parley_message *message, size_t at,
                                        const struct parley_fix *fix, struct json_edit *out) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_append(&text, fix->value);
    *out = (struct json_edit){.offset = at, .removed = skip_value(message->text, at) - at};
    return insert(message, &text, out);
}

/* `last`: the last member of the object, or the start of an empty one. */
static enum parley_status add_member(struct parley_message *message, const struct member *last,
                                     struct parley_bytes key, const struct parley_fix *fix,
                                     struct json_edit *out) {
    const bool is_first = last->key == 0;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, is_first ? "" : ",");
    parley_buffer_json(&text, key);
    parley_buffer_char(&text, ':');
    parley_buffer_append(&text, fix->value);
    *out = (struct json_edit){.offset = is_first ? last->end + 1 : last->end};
    return insert(message, &text, out);
}

static enum parley_status rename_member(struct parley_message *message, const struct member *member,
                                        struct parley_bytes key, struct json_edit *out) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_json(&text, key);
    *out = (struct json_edit){.offset = member->key,
                              .removed = skip_string(message->text, member->key) - member->key};
    return insert(message, &text, out);
}

/* The object that has, or shall have, the last token of `path`, which the object at `object` is the
 * base of.  Returns: whether it is there. */
static bool find_parent(struct parley_message *message, const char *path, size_t object,
                        size_t *out_object, struct parley_bytes *out_key) {
    for (const char *token = path + 1;;) {
        const char *end = strchr(token, '/');
        *out_key =
            (struct parley_bytes){token, end != NULL ? (size_t)(end - token) : strlen(token)};
        *out_object = object;
        if (end == NULL) {
            return message->text.data[object] == '{';
        }
        struct member member;
        if (message->text.data[object] != '{' || !find_member(message, object, *out_key, &member)) {
            return false;
        }
        object = member.value;
        token = end + 1;
    }
}

enum parley_status json_edit_of(struct parley_message *message,
                                const struct parley_finding *finding, const struct parley_fix *fix,
                                struct json_edit *out) {
    if (fix->kind == PARLEY_FIX_REPLACE) {
        return replace_value(message, finding->offset, fix, out);
    }
    /* A missing member has the place of its object; rows over several members have whole paths. */
    const bool is_missing = fix->to.data == NULL && !place_is_over_members(finding->check->place);
    const char *path = is_missing ? strrchr(finding->path, '/') : finding->path;
    size_t object = is_missing ? finding->offset : skip_blank(message->text, 0);
    struct parley_bytes key;
    struct member member;
    if (!find_parent(message, path, object, &object, &key)) {
        return PARLEY_E_UNSUPPORTED;
    }
    if (fix->kind == PARLEY_FIX_MOVE) {
        return find_member(message, object, fix->key, &member)
                   ? rename_member(message, &member, fix->to.data != NULL ? fix->to : key, out)
                   : PARLEY_E_UNSUPPORTED;
    }
    return find_member(message, object, key, &member)
               ? replace_value(message, member.value, fix, out)
               : add_member(message, &member, key, fix, out);
}
