/* SPDX-License-Identifier: Apache-2.0 */

/* Finds members in a text that was read before without a fault, so that nothing needs to be checked
 * here. */

#include "json_edit.h"

#include <stdlib.h>

#include "constraint.h"
#include "json_skip.h"
#include "json_string.h"

/* A member of an object, by the offsets of its key's quote, of its value, and after that. */
struct member {
    size_t key, value, end;
};

/* Reads the member after the one in *at, or the first one: at->end is then the object's start.
 * Returns: false: there is none; at->end is as it was. */
static bool next_member(struct parley_bytes text, struct member *at) {
    size_t here = json_skip_blank(text, text.data[at->end] == '{' ? at->end + 1 : at->end);
    here = text.data[here] == ',' ? json_skip_blank(text, here + 1) : here;
    if (text.data[here] == '}') {
        return false;
    }
    at->key = here;
    at->value = json_skip_blank(text, json_skip_blank(text, json_skip_string(text, here)) + 1);
    at->end = json_skip_value(text, at->value);
    return true;
}

static bool is_key(struct parley_arena *arena, struct parley_bytes text, size_t at,
                   struct parley_bytes key) {
    struct parley_bytes raw = {text.data + at + 1, json_skip_string(text, at) - at - 2};
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
                                 struct parley_edit *out) {
    const char *copy =
        text->has_failed ? NULL : parley_arena_copy(&message->arena, parley_buffer_bytes(text));
    out->inserted = (struct parley_bytes){copy, text->length};
    parley_buffer_finish(text);
    return copy != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status replace_value(struct parley_message *message, size_t at,
                                        const struct parley_fix *fix, struct parley_edit *out) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_append(&text, fix->value);
    *out = (struct parley_edit){.offset = at, .removed = json_skip_value(message->text, at) - at};
    return insert(message, &text, out);
}

/* `last`: the last member of the object, or the start of an empty one. */
static enum parley_status add_member(struct parley_message *message, const struct member *last,
                                     struct parley_bytes key, const struct parley_fix *fix,
                                     struct parley_edit *out) {
    const bool is_first = last->key == 0;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, is_first ? "" : ",");
    parley_buffer_json(&text, key);
    parley_buffer_char(&text, ':');
    parley_buffer_append(&text, fix->value);
    *out = (struct parley_edit){.offset = is_first ? last->end + 1 : last->end};
    return insert(message, &text, out);
}

static enum parley_status rename_member(struct parley_message *message, const struct member *member,
                                        struct parley_bytes key, struct parley_edit *out) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_json(&text, key);
    *out =
        (struct parley_edit){.offset = member->key,
                             .removed = json_skip_string(message->text, member->key) - member->key};
    return insert(message, &text, out);
}

/* The offset in the text of the byte `to` of the string that begins at `at`, which decodes to as
 * many bytes as the reader says it does: an escape is one, two or three, or four of two escapes. */
static size_t skip_decoded(struct parley_bytes text, size_t at, size_t to) {
    size_t decoded = 0;
    at++;
    while (decoded < to) {
        if (text.data[at] != '\\') {
            at++;
            decoded++;
        } else if (text.data[at + 1] != 'u') {
            at += 2;
            decoded++;
        } else {
            const char hex[] = {text.data[at + 2], text.data[at + 3], text.data[at + 4],
                                text.data[at + 5], '\0'};
            const unsigned long unit = strtoul(hex, NULL, 16);
            const bool is_pair = unit >= 0xD800 && unit < 0xE000;
            at += is_pair ? 12 : 6;
            decoded += is_pair ? 4 : unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
        }
    }
    return at;
}

/* A part of the string at `at`. */
static enum parley_status edit_string(struct parley_message *message, size_t at,
                                      const struct parley_edit *edit, struct parley_edit *out) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_json(&text, edit->inserted);
    const size_t start = skip_decoded(message->text, at, edit->offset);
    const size_t end = skip_decoded(message->text, at, edit->offset + edit->removed);
    *out = (struct parley_edit){.offset = start, .removed = end - start};
    const enum parley_status status = insert(message, &text, out);
    if (status == PARLEY_OK) { /* without its quotes */
        out->inserted.data++;
        out->inserted.length -= 2;
    }
    return status;
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
                                struct parley_edit *out) {
    if (fix->kind == PARLEY_FIX_EDIT) {
        return edit_string(message, finding->offset, &fix->edit, out);
    }
    if (fix->kind == PARLEY_FIX_REPLACE) {
        return replace_value(message, finding->offset, fix, out);
    }
    /* A missing member has the place of its object; rows over several members have whole paths. */
    const bool is_missing = fix->to.data == NULL && !place_is_over_members(finding->check->place);
    const char *path = is_missing ? strrchr(finding->path, '/') : finding->path;
    size_t object = is_missing ? finding->offset : json_skip_blank(message->text, 0);
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
