/* SPDX-License-Identifier: Apache-2.0 */

/* Where a Brenner message goes: brenner.<type>.<thread-id>, or brenner.<type> without a thread. The
 * dots of a bead id stay, so that brenner.*.bead-1.> is a subtree. A thread id that keeps its rule
 * holds nothing that a subject does not bear. */

#include "brenner.h"

#include <inttypes.h>
#include <math.h>

#include <jansson.h>

#include "../engine/json_string.h"
#include "../engine/text.h"
#include "tokens.h"

/* The digits of an id that is a number, as they were written. */
static enum parley_status spelling_of_id(const struct parley_message *message,
                                         struct parley_bytes *out) {
    struct members members = {.rest = message->text};
    struct member member;
    while (member_next(&members, &member)) {
        if (parley_bytes_equal(member.key, PARLEY_BYTES("id"))) {
            *out = member.value;
        }
    }
    member_release(&members);
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

static struct parley_bytes text_of(const json_t *string) {
    return (struct parley_bytes){json_string_value(string), json_string_length(string)};
}

/* The items of a list that is in the tree. */
static size_t items_of_tree(const struct parley_message *message, struct parley_bytes *out) {
    const json_t *to = json_object_get(message->tree, "to");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(to); i++) {
        const json_t *receiver = json_array_get(to, i);
        if (json_is_string(receiver)) {
            out[count++] = text_of(receiver);
        }
    }
    return count;
}

/* The items of a list of strings that begins at `offset` of the text, as many as `out` has room
 * for. */
static bool items_of_text(struct parley_message *message, size_t offset, struct parley_bytes *out,
                          size_t count) {
    struct parley_bytes rest = {message->text.data + offset, message->text.length - offset};
    struct token token;
    for (size_t i = 0; i < count && token_next(&rest, &token);) {
        if (token.kind != '"') {
            continue;
        }
        out[i] = (struct parley_bytes){token.text.data + 1, token.text.length - 2};
        if (memchr(out[i].data, '\\', out[i].length) != NULL &&
            !json_string_decode(&message->arena, out[i], &out[i])) {
            return false;
        }
        i++;
    }
    return true;
}

static enum parley_status receivers_of(struct parley_message *message, struct parley_route *out) {
    const struct parley_value *to = &message->values[BRENNER_TO];
    const size_t count = to->kind == PARLEY_ARRAY ? to->count : to->kind == PARLEY_STRING;
    if (count == 0) {
        return PARLEY_OK;
    }
    struct parley_bytes *receivers =
        parley_arena_allocate(&message->arena, count * sizeof *receivers);
    if (receivers == NULL) {
        return PARLEY_E_MEMORY;
    }
    out->receivers = receivers;
    if (to->kind == PARLEY_STRING) {
        receivers[0] = to->text;
        out->receiver_count = 1;
    } else if (!message->is_certain) {
        out->receiver_count = items_of_tree(message, receivers);
    } else if (items_of_text(message, to->offset, receivers, count)) {
        out->receiver_count = count;
    } else {
        return PARLEY_E_MEMORY;
    }
    return PARLEY_OK;
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
