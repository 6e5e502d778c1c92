/* SPDX-License-Identifier: Apache-2.0 */

#include "json_pick.h"

#include "json_canonical.h"
#include "json_reader.h"
#include "text.h"

/* A number, or one of the three names, ends at the first character that cannot continue it. */
static size_t scalar_length(struct parley_bytes text) {
    size_t length = 0;
    while (length < text.length && strchr(",]} \n\r\t", text.data[length]) == NULL) {
        length++;
    }
    return length;
}

void json_pick_append(struct parley_bytes raw, struct parley_buffer *out) {
    if (strchr("\"[{", raw.data[0]) == NULL) {
        parley_buffer_append(out, (struct parley_bytes){raw.data, scalar_length(raw)});
    } else if (parley_buffer_reserve(out, raw.length)) {
        char *end = json_canonical_copy(raw.data, raw.data + raw.length, out->data + out->length);
        out->length = (size_t)(end - out->data);
    }
}

/* ---- members by name ---- */

struct picking {
    struct parley_bytes text;
    struct json_pick *picks;
    size_t count;
    size_t present;     /* the pick whose key was read; count: none */
    size_t depth;       /* of the object that is being read */
    const char *parent; /* at the top level: the key that was read, if picks are below it */
};

static bool pick_key(void *context, struct parley_bytes key) {
    struct picking *picking = context;
    const char *parent = picking->depth == 1 ? NULL : picking->parent;
    picking->present = picking->count;
    picking->parent = parent;
    for (size_t i = 0; i < picking->count; i++) {
        const struct json_pick *pick = &picking->picks[i];
        const bool is_here = (pick->parent == NULL) == (parent == NULL) &&
                             (parent == NULL || strcmp(pick->parent, parent) == 0);
        if (is_here && parley_bytes_equal(key, parley_bytes_of(pick->name))) {
            picking->present = i;
        } else if (parent == NULL && pick->parent != NULL &&
                   parley_bytes_equal(key, parley_bytes_of(pick->parent))) {
            picking->parent = pick->parent;
        }
    }
    return picking->present < picking->count || picking->parent != NULL;
}

static bool pick_value(void *context, const struct parley_value *value) {
    struct picking *picking = context;
    if (picking->present < picking->count) {
        struct json_pick *pick = &picking->picks[picking->present];
        pick->value = *value;
        pick->raw = (struct parley_bytes){picking->text.data + value->offset,
                                          picking->text.length - value->offset};
    }
    const bool is_entered =
        value->kind == PARLEY_OBJECT &&
        (picking->depth == 0 || (picking->depth == 1 && picking->parent != NULL));
    picking->depth += is_entered ? 1 : 0;
    return is_entered;
}

static void pick_leave(void *context, size_t count) {
    struct picking *picking = context;
    (void)count;
    picking->depth--;
    picking->present = picking->count;
}

enum parley_status json_pick(struct parley_bytes text, struct parley_arena *arena,
                             struct json_pick *picks, size_t count) {
    struct picking picking = {.text = text, .picks = picks, .count = count, .present = count};
    const struct json_events events = {
        .context = &picking, .value = pick_value, .key = pick_key, .leave = pick_leave};
    return json_reader_read_again(text, &events, arena);
}

/* ---- the others ---- */

struct copying {
    struct parley_bytes text;
    const char *const *but;
    struct parley_buffer *out;
    bool is_inside;
};

static bool copy_key(void *context, struct parley_bytes key) {
    struct copying *copying = context;
    if (text_is_one_of(key, copying->but)) {
        return false;
    }
    parley_buffer_char(copying->out, ',');
    parley_buffer_json(copying->out, key);
    parley_buffer_char(copying->out, ':');
    return true;
}

static bool copy_value(void *context, const struct parley_value *value) {
    struct copying *copying = context;
    if (!copying->is_inside) {
        copying->is_inside = true;
        return value->kind == PARLEY_OBJECT;
    }
    json_pick_append((struct parley_bytes){copying->text.data + value->offset,
                                           copying->text.length - value->offset},
                     copying->out);
    return false;
}

static void copy_leave(void *context, size_t count) {
    (void)context;
    (void)count;
}

enum parley_status json_pick_others(struct parley_bytes text, struct parley_arena *arena,
                                    const char *const *but, struct parley_buffer *out) {
    struct copying copying = {.text = text, .but = but, .out = out};
    const struct json_events events = {.context = &copying,
                                       .value = copy_value,
                                       .key = copy_key,
                                       .leave = copy_leave,
                                       .is_brief = true};
    PARLEY_TRY(json_reader_read_again(text, &events, arena));
    return parley_buffer_status(out);
}
