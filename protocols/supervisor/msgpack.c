/* SPDX-License-Identifier: Apache-2.0 */

/* The hooks for messages that were sent as MessagePack. There is no tree: the bytes are read once
 * to find faults, and again by whoever wants something of them. */

#include "msgpack.h"

#include <assert.h>
#include <inttypes.h>

#include <sodium.h>

#include "msgpack_read.h"

/* ---- the rules as a listener ---- */

struct walk_listener {
    struct walk *walk;
    struct parley_arena *arena;
    bool is_out_of_memory;
};

/* A `bin` as the rules see it.  Returns: data NULL without memory. */
static struct parley_bytes base64_of(struct parley_arena *arena, struct parley_bytes bytes) {
    const size_t size = sodium_base64_ENCODED_LEN(bytes.length, sodium_base64_VARIANT_ORIGINAL);
    char *text = parley_arena_allocate(arena, size);
    if (text == NULL) {
        return (struct parley_bytes){0};
    }
    sodium_bin2base64(text, size, (const unsigned char *)bytes.data, bytes.length,
                      sodium_base64_VARIANT_ORIGINAL);
    return (struct parley_bytes){text, size - 1};
}

static bool tell_value(void *context, const struct msgpack_value *value) {
    struct walk_listener *listener = context;
    struct parley_value told = value->value;
    if (value->is_binary) {
        told.text = base64_of(listener->arena, value->value.text);
        if (told.text.data == NULL) {
            listener->is_out_of_memory = true;
            return false;
        }
    }
    return walk_value(listener->walk, &told);
}

static bool tell_key(void *context, struct parley_bytes key) {
    const struct walk_listener *listener = context;
    return walk_key(listener->walk, key);
}

static void tell_leave(void *context, size_t count) {
    const struct walk_listener *listener = context;
    walk_leave(listener->walk, count);
}

static enum msgpack_result read_for_walk(struct parley_bytes bytes, struct walk *walk,
                                         struct key_set *keys, struct parley_arena *arena,
                                         struct msgpack_fault *out_fault) {
    struct walk_listener listener = {.walk = walk, .arena = arena};
    const struct msgpack_events events = {
        .context = &listener, .value = tell_value, .key = tell_key, .leave = tell_leave};
    const enum msgpack_result result =
        msgpack_read_events(bytes, walk != NULL ? &events : NULL, keys, arena, out_fault);
    return listener.is_out_of_memory ? MSGPACK_MEMORY : result;
}

enum msgpack_result msgpack_read(struct parley_bytes bytes, struct walk *walk,
                                 struct parley_arena *arena, struct msgpack_fault *out_fault) {
    struct key_set keys;
    key_set_init(&keys, bytes);
    const enum msgpack_result result = read_for_walk(bytes, walk, &keys, arena, out_fault);
    key_set_finish(&keys);
    return result;
}

bool msgpack_begins(struct parley_bytes head) {
    return head.length > 0 && msgpack_is_map((unsigned char)head.data[0]);
}

/* ---- what decoding looks for besides faults ---- */

/* The type stands in a top-level member: known beforehand, it spares the walk the rules of others.
 */
struct type_listener {
    struct parley_message *message;
    struct parley_bytes member;
    bool is_type_next, is_out_of_memory;
};

static bool look_at_value(void *context, const struct msgpack_value *value) {
    struct type_listener *listener = context;
    if (listener->is_type_next) {
        struct parley_value type = value->value;
        if (value->is_binary) {
            type.text = base64_of(&listener->message->arena, value->value.text);
            listener->is_out_of_memory = type.text.data == NULL;
        }
        if (!listener->is_out_of_memory) {
            listener->message->type = walk_type_of(listener->message->protocol, &type);
        }
        listener->is_type_next = false;
        return false;
    }
    return value->value.kind == PARLEY_OBJECT; /* the message itself */
}

static bool look_at_key(void *context, struct parley_bytes key) {
    struct type_listener *listener = context;
    listener->is_type_next = parley_bytes_equal(key, listener->member);
    return listener->is_type_next;
}

static void look_no_further(void *context, size_t count) {
    (void)context;
    (void)count;
}

static enum msgpack_result read_type(struct parley_message *message, struct key_set *keys,
                                     struct msgpack_fault *out_fault) {
    const struct parley_protocol *protocol = message->protocol;
    struct type_listener listener = {
        .message = message, .member = parley_bytes_of(protocol->fields[protocol->type_field] + 1)};
    const struct msgpack_events events = {
        .context = &listener, .value = look_at_value, .key = look_at_key, .leave = look_no_further};
    const enum msgpack_result result =
        msgpack_read_events(message->text, &events, keys, &message->arena, out_fault);
    return listener.is_out_of_memory ? MSGPACK_MEMORY : result;
}

/* ---- hooks ---- */

enum parley_status msgpack_decode(struct parley_message *message,
                                  const struct parley_codec *codec) {
    (void)codec;
    struct msgpack_fault fault;
    struct key_set keys;
    key_set_init(&keys, message->text);
    message->type = PARLEY_TYPE_OTHER;
    const enum msgpack_result result = read_type(message, &keys, &fault);
    key_set_finish(&keys);
    switch (result) {
    case MSGPACK_READ:
        message->is_decoded = true;
        return PARLEY_OK;
    case MSGPACK_FAULT:
        return findings_refuse(message, fault.rule,
                               (struct parley_finding){.path = fault.path,
                                                       .message = fault.message,
                                                       .hint = fault.hint,
                                                       .offset = fault.offset});
    case MSGPACK_MEMORY:
        break;
    }
    return PARLEY_E_MEMORY;
}

enum parley_status msgpack_validate(struct parley_message *message) {
    assert(message->is_decoded);
    struct walk walk;
    struct msgpack_fault fault;
    walk_begin(&walk, message, PARLEY_TYPE_BIT(message->type));
    if (read_for_walk(message->text, &walk, NULL, &message->arena, &fault) != MSGPACK_READ) {
        return PARLEY_E_MEMORY; /* it was read before, and has no fault */
    }
    PARLEY_TRY(walk_end(&walk));
    return findings_locate(message);
}
