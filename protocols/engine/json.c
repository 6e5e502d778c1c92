/* SPDX-License-Identifier: Apache-2.0 */

/* JSON in three ways. What is certainly right needs no tree (fast.h). Of the rest jansson decides
 * whether it is refused; what it does not check (the depth, a NUL between tokens), and where and
 * what a fault is, the event reader tells. A large text gets no tree, which would be up to fifty
 * times as large: there the event reader alone decides, and tests hold it to the same verdicts.
 * Numbers are doubles here and are never written: what goes on is the text itself. */

#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include <jansson.h>

#include "fast.h"
#include "json_fault.h"
#include "json_text.h"
#include "walk.h"

#define LOAD_FLAGS                                                                                 \
    (JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL)

static void *allocate_or_end(size_t size) {
    void *memory = malloc(size);
    if (memory == NULL && size > 0) {
        abort();
    }
    return memory;
}

void parley_initialise(void) {
    json_set_alloc_funcs(allocate_or_end, free);
    json_object_seed(0); /* else the first two threads would race for it */
}

/* Whether text that jansson has read is deeper than we allow, or has a NUL byte, which jansson
 * takes behind a number. */
static bool is_beyond_jansson(struct parley_bytes text) {
    size_t depth = 0;
    bool is_in_string = false;
    for (size_t i = 0; i < text.length; i++) {
        switch (text.data[i]) {
        case '\0':
            return true;
        case '"':
            is_in_string = !is_in_string;
            break;
        case '\\':
            i += is_in_string;
            break;
        case '{':
        case '[':
            depth += !is_in_string;
            if (depth > JSON_DEPTH_MAX) {
                return true;
            }
            break;
        case '}':
        case ']':
            depth -= !is_in_string && depth > 0;
            break;
        default:
            break;
        }
    }
    return false;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static enum parley_status add_fault(struct parley_message *message,
                                    const struct json_fault *fault) {
    message->is_fault_contained = fault->is_contained;
    return findings_refuse(message, fault->rule,
                           (struct parley_finding){.path = fault->path,
                                                   .message = fault->message,
                                                   .hint = fault->hint,
                                                   .offset = fault->offset});
}

/* Reads the text by the event reader, and adds what is wrong with it. */
static enum parley_status look_for_fault(struct parley_message *message,
                                         const struct json_events *events, bool *out_has_fault) {
    struct json_fault fault;
    struct key_set keys;
    key_set_init(&keys, message->text);
    const enum json_text_result result =
        json_text_read(message->text, events, &message->arena, &keys, &fault);
    key_set_finish(&keys);
    *out_has_fault = result == JSON_TEXT_FAULT;
    if (*out_has_fault) {
        return add_fault(message, &fault);
    }
    return result == JSON_TEXT_READ ? PARLEY_OK : PARLEY_E_MEMORY;
}

/* jansson refused the text: find out where and why. Where the event reader finds no fault, jansson
 * had no memory. */
static enum parley_status explain(struct parley_message *message) {
    bool has_fault;
    PARLEY_TRY(look_for_fault(message, NULL, &has_fault));
    return has_fault ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status refuse_top_level(struct parley_message *message) {
    size_t start = 0;
    while (is_blank(message->text.data[start])) { /* there is a value, so that this ends */
        start++;
    }
    return add_fault(message,
                     &(struct json_fault){.rule = PARLEY_GW_TOP_LEVEL,
                                          .offset = start,
                                          .message = json_flaws[JSON_FLAW_TOP_LEVEL].message,
                                          .path = ""});
}

/* ---- by the tree ---- */

static void release_tree(void *tree) {
    json_decref(tree);
}

enum parley_status json_load(struct parley_message *message) {
    json_t *tree = json_loadb(message->text.data, message->text.length, LOAD_FLAGS, NULL);
    if (tree == NULL || is_beyond_jansson(message->text)) {
        json_decref(tree);
        return explain(message);
    }
    message->tree = tree;
    message->release_tree = release_tree;
    message->is_decoded = json_is_object(tree);
    return message->is_decoded ? PARLEY_OK : refuse_top_level(message);
}

static struct parley_value value_of(const json_t *node) {
    struct parley_value value = {.kind = PARLEY_NULL};
    switch (json_typeof(node)) {
    case JSON_OBJECT:
        value.kind = PARLEY_OBJECT;
        value.count = json_object_size(node);
        break;
    case JSON_ARRAY:
        value.kind = PARLEY_ARRAY;
        value.count = json_array_size(node);
        break;
    case JSON_STRING:
        value.kind = PARLEY_STRING;
        value.text = (struct parley_bytes){json_string_value(node), json_string_length(node)};
        break;
    case JSON_INTEGER:
    case JSON_REAL:
        value.kind = PARLEY_NUMBER;
        value.number = json_number_value(node);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        value.kind = PARLEY_BOOLEAN;
        value.number = json_is_true(node);
        break;
    case JSON_NULL:
        break;
    }
    return value;
}

/* Recurses no deeper than the rules' paths: walk_value says where to go. */
static void walk_tree(struct walk *walk, json_t *node) {
    const struct parley_value value = value_of(node);
    if (!walk_value(walk, &value)) {
        return;
    }
    if (value.kind == PARLEY_ARRAY) {
        for (size_t i = 0; i < value.count; i++) {
            walk_tree(walk, json_array_get(node, i));
        }
    } else {
        for (void *at = json_object_iter(node); at != NULL; at = json_object_iter_next(node, at)) {
            const struct parley_bytes key = {json_object_iter_key(at),
                                             json_object_iter_key_len(at)};
            if (walk_key(walk, key)) {
                walk_tree(walk, json_object_iter_value(at));
            }
        }
    }
    walk_leave(walk, value.count);
}

/* The type stands in a top-level member, so that it can be read before the walk. */
static uint32_t types_of(const struct parley_message *message) {
    const struct parley_protocol *protocol = message->protocol;
    const json_t *type = json_object_get(message->tree, protocol->fields[protocol->type_field] + 1);
    const struct parley_value value = type != NULL ? value_of(type) : (struct parley_value){0};
    return PARLEY_TYPE_BIT(walk_type_of(protocol, &value));
}

enum parley_status json_walk(struct parley_message *message) {
    assert(message->is_decoded && message->tree != NULL);
    struct walk walk;
    walk_begin(&walk, message, types_of(message));
    walk_tree(&walk, message->tree);
    return walk_end(&walk);
}

/* ---- by the text ---- */

/* What the top level of a text shows to one who passes by. */
struct outline {
    const struct parley_protocol *protocol;
    enum parley_kind kind; /* PARLEY_ABSENT: nothing has been read yet */
    size_t member_count;
    uint32_t stamps;          /* of protocol->stamps those whose members are there, by index */
    struct parley_value type; /* the value of the type member */
};

static bool outline_value(void *context, const struct parley_value *value) {
    struct outline *outline = context;
    const bool is_top_level = outline->kind == PARLEY_ABSENT;
    if (is_top_level) {
        outline->kind = value->kind;
    } else {
        outline->type = *value;
    }
    return is_top_level && value->kind == PARLEY_OBJECT;
}

static bool outline_key(void *context, struct parley_bytes key) {
    struct outline *outline = context;
    const struct parley_protocol *protocol = outline->protocol;
    const struct parley_stamp *stamp = protocol->stamps;
    for (unsigned i = 0; stamp != NULL && stamp[i].member != NULL; i++) {
        const bool is_there = parley_bytes_equal(key, parley_bytes_of(stamp[i].member));
        outline->stamps |= is_there ? UINT32_C(1) << i : 0;
    }
    return parley_bytes_equal(key, parley_bytes_of(protocol->fields[protocol->type_field] + 1));
}

static void outline_leave(void *context, size_t count) {
    struct outline *outline = context;
    outline->member_count = count;
}

static struct json_events events_of_outline(struct outline *outline) {
    return (struct json_events){
        .context = outline, .value = outline_value, .key = outline_key, .leave = outline_leave};
}

/* Decodes without a tree: afterwards the text is known to have no fault, and the type is known. */
static enum parley_status scan(struct parley_message *message) {
    struct outline outline = {.protocol = message->protocol};
    const struct json_events events = events_of_outline(&outline);
    bool has_fault;
    PARLEY_TRY(look_for_fault(message, &events, &has_fault));
    if (has_fault) {
        return PARLEY_OK;
    }
    message->is_decoded = outline.kind == PARLEY_OBJECT;
    message->type = walk_type_of(message->protocol, &outline.type);
    return message->is_decoded ? PARLEY_OK : refuse_top_level(message);
}

/* Asks the rules by the text, so that findings have places. */
static enum parley_status walk_text(struct parley_message *message) {
    struct walk walk;
    struct json_fault fault;
    walk_begin(&walk, message, PARLEY_TYPE_BIT(message->type));
    const struct json_events events = json_events_of_walk(&walk);
    if (json_text_read(message->text, &events, &message->arena, NULL, &fault) != JSON_TEXT_READ) {
        return PARLEY_E_MEMORY; /* this text was read before: it has no fault */
    }
    return walk_end(&walk);
}

/* The tree has no positions. So, when there is something to say, the event reader drives the same
 * table over the text, and its findings, which have them, replace the tree's. */
static enum parley_status add_positions(struct parley_message *message) {
    const struct parley_findings without = message->findings;
    PARLEY_TRY(walk_text(message));
    if (message->findings.count != without.count ||
        message->findings.has_error != without.has_error) {
        message->findings = without; /* the two readers differ: a defect, but no lie about it */
        return PARLEY_OK;
    }
    return findings_locate(message);
}

/* ---- the hooks ---- */

enum parley_status json_decode(struct parley_message *message, const struct parley_codec *codec) {
    (void)codec;
    if (fast_accepts(message)) {
        message->is_decoded = message->is_certain = true;
        return PARLEY_OK;
    }
    const bool is_large = message->text.length > JSON_TREE_BYTES_MAX;
    return is_large && !message->protocol->needs_tree ? scan(message) : json_load(message);
}

enum parley_status json_validate(struct parley_message *message) {
    if (message->is_certain) {
        return PARLEY_OK;
    }
    if (message->tree == NULL) {
        PARLEY_TRY(walk_text(message));
        return findings_locate(message);
    }
    PARLEY_TRY(json_walk(message));
    return message->findings.count > 0 ? add_positions(message) : PARLEY_OK;
}

enum parley_status json_encode(struct parley_message *message, struct parley_buffer *out) {
    struct parley_bytes text = message->text;
    while (text.length > 0 &&
           (text.data[text.length - 1] == '\n' || text.data[text.length - 1] == '\r')) {
        text.length--;
    }
    const bool is_one_line = memchr(text.data, '\n', text.length) == NULL &&
                             memchr(text.data, '\r', text.length) == NULL;
    if (is_one_line) {
        parley_buffer_append(out, text);
        return parley_buffer_status(out);
    }
    if (!parley_buffer_reserve(out, text.length)) {
        return PARLEY_E_MEMORY;
    }
    bool is_in_string = false;
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        if (!is_in_string && is_blank(c)) {
            continue;
        }
        out->data[out->length++] = c;
        if (c == '\\') {
            out->data[out->length++] = text.data[++i];
        }
        is_in_string = is_in_string != (c == '"');
    }
    return PARLEY_OK;
}

enum parley_status json_convert(struct parley_message *message, const struct parley_codec *to,
                                struct parley_buffer *out) {
    (void)to;
    return json_encode(message, out);
}

static void append_stamp(struct parley_buffer *out, const struct parley_stamp *stamp,
                         const struct parley_options *options) {
    parley_buffer_json(out, parley_bytes_of(stamp->member));
    parley_buffer_char(out, ':');
    switch (stamp->with) {
    case PARLEY_STAMP_ID:
        parley_buffer_json(out, parley_bytes_of(options->fresh_id));
        break;
    case PARLEY_STAMP_TEXT:
        parley_buffer_json(out, parley_bytes_of(stamp->text));
        break;
    case PARLEY_STAMP_TIME:
        parley_buffer_json(out, parley_bytes_of(options->now));
        break;
    case PARLEY_STAMP_SECONDS:
        parley_buffer_format(out, "%" PRId64, options->now_seconds);
        break;
    }
}

/* Writes the members that are absent, with commas between them. */
static void append_absent(struct parley_buffer *out, const struct parley_message *message,
                          const struct outline *outline) {
    const size_t start = out->length;
    for (unsigned i = 0; message->protocol->stamps[i].member != NULL; i++) {
        if ((outline->stamps >> i & 1) == 0) {
            parley_buffer_text(out, out->length > start ? "," : "");
            append_stamp(out, &message->protocol->stamps[i], &message->options);
        }
    }
}

static enum parley_status insert(struct parley_message *message, size_t at,
                                 struct parley_bytes inserted) {
    const struct parley_bytes text = message->text;
    char *stamped = parley_arena_allocate(&message->arena, text.length + inserted.length);
    if (stamped == NULL) {
        return PARLEY_E_MEMORY;
    }
    memcpy(stamped, text.data, at);
    memcpy(stamped + at, inserted.data, inserted.length);
    memcpy(stamped + at + inserted.length, text.data + at, text.length - at);
    message->text = (struct parley_bytes){stamped, text.length + inserted.length};
    message->stamp_offset = at;
    message->stamp_length = inserted.length;
    return PARLEY_OK;
}

enum parley_status json_stamp(struct parley_message *message, const struct parley_codec *codec) {
    struct outline outline = {.protocol = message->protocol};
    const struct json_events events = events_of_outline(&outline);
    const struct parley_bytes text = message->text;
    struct json_fault fault;
    if (json_text_read(text, &events, &message->arena, NULL, &fault) != JSON_TEXT_READ) {
        return PARLEY_E_MEMORY; /* this text was read before: it has no fault */
    }
    struct parley_buffer members;
    parley_buffer_init(&members);
    append_absent(&members, message, &outline);
    const bool is_complete = members.length == 0 && !members.has_failed;
    if (!is_complete && outline.member_count > 0) {
        parley_buffer_char(&members, ',');
    }
    enum parley_status status = parley_buffer_status(&members);
    if (status == PARLEY_OK && !is_complete) {
        const char *brace = memchr(text.data, '{', text.length);
        status = insert(message, (size_t)(brace + 1 - text.data), parley_buffer_bytes(&members));
    }
    parley_buffer_finish(&members);
    if (status != PARLEY_OK || is_complete) {
        return status;
    }
    release_tree(message->tree);
    message->tree = NULL;
    message->is_decoded = message->is_certain = false;
    walk_forget_facts(message);
    return json_decode(message, codec);
}
