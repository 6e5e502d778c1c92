/* SPDX-License-Identifier: Apache-2.0 */

/* Where a Brenner message goes: brenner.<type>.<thread-id>, or brenner.<type> without a thread. The
 * dots of a bead id stay, so that brenner.*.bead-1.> is a subtree. A valid thread id contains only
 * characters that are allowed in subjects. */

#include "brenner.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "json_string.h"
#include "text.h"
#include "json_tokens.h"

/* The digits of an id that is a number, as they were written. */
static enum parley_status spelling_of_id(const struct parley_message *message,
                                         struct parley_bytes *out) {
    struct json_members members = {.rest = message->text};
    struct json_member member;
    while (json_member_next(&members, &member)) {
        if (parley_bytes_equal(member.key, PARLEY_BYTES("id"))) {
            *out = member.value;
        }
    }
    json_members_finish(&members);
    return members.has_failed ? PARLEY_E_MEMORY : PARLEY_OK;
}

/* 1043, 1043.0 and 1.043e3 are one id. */
static enum parley_status number_id(struct parley_message *message, double number,
                                    struct parley_bytes *out) {
    char digits[32];
    PARLEY_TRY(spelling_of_id(message, out));
    const bool is_plain = memchr(out->data, '.', out->length) == NULL &&
                          memchr(out->data, 'e', out->length) == NULL &&
                          memchr(out->data, 'E', out->length) == NULL;
    if (is_plain || fabs(number) >= 0x1p63) {
        return PARLEY_OK;
    }
    snprintf(digits, sizeof digits, "%" PRId64, (int64_t)number);
    *out = parley_bytes_of(parley_arena_copy(&message->arena, parley_bytes_of(digits)));
    return out->data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

/* An empty id names nothing. */
static enum parley_status id_of(struct parley_message *message, struct parley_bytes *out) {
    const struct parley_value *id = &message->values[BRENNER_ID];
    if (id->kind == PARLEY_NUMBER && id->number == floor(id->number)) {
        return number_id(message, id->number, out);
    }
    const struct parley_bytes text = parley_value_text(id);
    *out = text.length > 0 ? text : (struct parley_bytes){0};
    return PARLEY_OK;
}

/* The next string of the list that `rest` is in, at `*depth` 1; strings inside its other items do
 * not count.  Returns: false after its `]`. */
static bool next_item(struct parley_bytes *rest, size_t *depth, struct parley_bytes *out) {
    struct json_token token;
    while (*depth > 0 && json_token_next(rest, &token)) {
        if (token.kind == '"' && *depth == 1) {
            *out = (struct parley_bytes){token.text.data + 1, token.text.length - 2};
            return true;
        }
        *depth += token.kind == '[' || token.kind == '{';
        *depth -= token.kind == ']' || token.kind == '}';
    }
    return false;
}

static bool has_escapes(struct parley_bytes raw) {
    return memchr(raw.data, '\\', raw.length) != NULL;
}

/* The strings in the list that begins at `offset` of the text, which has `count` items. The decoded
 * strings are in one allocation, since rounding each up could exceed the message's limit. */
static enum parley_status items_of(struct parley_message *message, size_t offset, size_t count,
                                   struct parley_route *out) {
    const struct parley_bytes list = {message->text.data + offset + 1,
                                      message->text.length - offset - 1};
    struct parley_bytes *items = parley_arena_allocate(&message->arena, count * sizeof *items);
    struct parley_bytes rest = list, item;
    size_t depth = 1, item_count = 0, decoded_bytes = 0;
    while (items != NULL && next_item(&rest, &depth, &item)) {
        items[item_count++] = item;
        decoded_bytes += has_escapes(item) ? item.length : 0;
    }
    char *decoded = parley_arena_allocate(&message->arena, decoded_bytes);
    if (items == NULL || decoded == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < item_count; i++) {
        if (has_escapes(items[i])) {
            items[i] = (struct parley_bytes){decoded, json_string_write(items[i], decoded)};
            decoded += items[i].length;
        }
    }
    out->receivers = items;
    out->receiver_count = item_count;
    return PARLEY_OK;
}

static enum parley_status receivers_of(struct parley_message *message, struct parley_route *out) {
    const struct parley_value *to = &message->values[BRENNER_TO];
    if (to->kind == PARLEY_STRING) {
        out->receivers = &to->text;
        out->receiver_count = 1;
    }
    return to->kind == PARLEY_ARRAY && to->count > 0 ? items_of(message, to->offset, to->count, out)
                                                     : PARLEY_OK;
}

static struct parley_bytes join(struct parley_message *message, struct parley_bytes thread) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "brenner.%s", brenner_types[message->type]);
    if (thread.data != NULL) {
        parley_buffer_char(&text, '.');
        parley_buffer_append(&text, thread);
    }
    const char *copy =
        text.has_failed ? NULL : parley_arena_copy(&message->arena, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
    return parley_bytes_of(copy);
}

static enum parley_status address(struct parley_message *message, struct parley_route *out) {
    out->subject = join(message, out->thread);
    out->type = join(message, (struct parley_bytes){0});
    out->source =
        out->sender.length == 0
            ? PARLEY_BYTES("/brenner")
            : text_percent_encode(&message->arena, PARLEY_BYTES("/brenner/"), out->sender);
    return out->subject.data != NULL && out->type.data != NULL && out->source.data != NULL
               ? PARLEY_OK
               : PARLEY_E_MEMORY;
}

enum parley_status brenner_route(struct parley_message *message, struct parley_route *out) {
    *out =
        (struct parley_route){.sender = parley_message_text(message, brenner_sender_field(message)),
                              .thread = parley_message_text(message, BRENNER_THREAD_ID)};
    PARLEY_TRY(id_of(message, &out->id));
    PARLEY_TRY(receivers_of(message, out));
    out->dedupe = out->id.data != NULL ? PARLEY_DEDUPE_PAYLOAD : PARLEY_DEDUPE_NONE;
    return parley_message_is_valid(message) ? address(message, out) : PARLEY_OK;
}
