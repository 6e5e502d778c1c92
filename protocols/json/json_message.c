/* SPDX-License-Identifier: Apache-2.0 */

/* JSON in two ways. A message that keeps every row of the table is accepted in one pass
 * (json_accept.h). All others are read by the event reader: first, if that pass could not do so,
 * for faults and for the message's type, then for the rules, so that every finding has its place.
 * No tree is made: a message takes its own size and little more, and memory that is missing is a
 * status. The text itself is passed on. */

#include "json_message.h"

#include <assert.h>
#include <inttypes.h>

#include "json_accept.h"
#include "json_fault.h"
#include "json_reader.h"
#include "walk.h"

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

/* Reads the text by the event reader, and adds its findings. */
static enum parley_status look_for_fault(struct parley_message *message,
                                         const struct json_events *events, bool *out_has_fault) {
    struct json_fault fault;
    struct key_set keys;
    key_set_init(&keys, message->text);
    const enum json_reader_result result =
        json_reader_read(message->text, events, &message->arena, &keys, &fault);
    key_set_finish(&keys);
    *out_has_fault = result == JSON_READER_FAULT;
    if (*out_has_fault) {
        return add_fault(message, &fault);
    }
    return result == JSON_READER_READ ? PARLEY_OK : PARLEY_E_MEMORY;
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

/* ---- reading ---- */

/* The members at the top level of a text. */
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

enum parley_status json_decode_carefully(struct parley_message *message) {
    struct outline outline = {.protocol = message->protocol};
    const struct json_events events = events_of_outline(&outline);
    bool has_fault;
    PARLEY_TRY(look_for_fault(message, &events, &has_fault));
    if (has_fault) {
        return PARLEY_OK;
    }
    message->is_decoded = outline.kind == PARLEY_OBJECT;
    message->type = schema_type_of(message->schema, &outline.type);
    return message->is_decoded ? PARLEY_OK : refuse_top_level(message);
}

enum parley_status json_walk(struct parley_message *message) {
    struct walk walk;
    struct json_fault fault;
    assert(message->is_decoded);
    walk_begin(&walk, message, PARLEY_TYPE_BIT(message->type));
    const struct json_events events = json_events_of_walk(&walk);
    if (json_reader_read(message->text, &events, &message->arena, NULL, &fault) !=
        JSON_READER_READ) {
        return PARLEY_E_MEMORY; /* this text was read before: it has no fault */
    }
    return walk_end(&walk);
}

/* ---- the hooks ---- */

enum parley_status json_decode(struct parley_message *message, const struct parley_codec *codec) {
    (void)codec;
    const enum accept_certainty certainty = json_accept(message);
    if (certainty == ACCEPT_UNSURE) {
        return json_decode_carefully(message);
    }
    message->is_decoded = true;
    message->is_certain = certainty > ACCEPT_WHOLE;
    return PARLEY_OK;
}

enum parley_status json_validate(struct parley_message *message) {
    if (!message->is_certain) {
        PARLEY_TRY(json_walk(message));
    }
    return findings_locate(message);
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

/* Known without another look at the text: the message keeps rows that require all of them. */
static bool has_every_stamp(const struct parley_message *message) {
    return message->is_certain &&
           (message->schema->stamped_types & PARLEY_TYPE_BIT(message->type)) != 0;
}

enum parley_status json_stamp(struct parley_message *message, const struct parley_codec *codec) {
    if (has_every_stamp(message)) {
        return PARLEY_OK;
    }
    struct outline outline = {.protocol = message->protocol};
    const struct json_events events = events_of_outline(&outline);
    const struct parley_bytes text = message->text;
    struct json_fault fault;
    if (json_reader_read(text, &events, &message->arena, NULL, &fault) != JSON_READER_READ) {
        return PARLEY_E_MEMORY; /* this text was read before: it has no fault */
    }
    struct parley_buffer members;
    parley_buffer_init(&members);
    parley_options_refresh(&message->options);
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
    message->is_decoded = message->is_certain = false;
    walk_forget_captures(message);
    message->findings = (struct parley_findings){0};
    return json_decode(message, codec);
}
