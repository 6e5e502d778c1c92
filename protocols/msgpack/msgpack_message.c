/* SPDX-License-Identifier: Apache-2.0 */

/* The hooks for messages sent as MessagePack. There is no tree: the bytes are read once, and again
 * only for what needs them. */

#include "msgpack_message.h"

#include <assert.h>
#include <inttypes.h>

#include <sodium.h>

#include "msgpack_read.h"

/* A text that was not accepted has a fault; if it has none, there was no memory. */
static enum msgpack_result find_fault(struct parley_bytes bytes, struct parley_arena *arena,
                                      struct msgpack_fault *out_fault) {
    const enum msgpack_result result = msgpack_find_fault(bytes, arena, out_fault);
    return result == MSGPACK_READ ? MSGPACK_MEMORY : result;
}

/* ---- the rules as a listener ---- */

struct walk_listener {
    struct walk *walk;
    struct parley_arena *arena;
    bool is_out_of_memory;
};

struct parley_bytes msgpack_base64(struct parley_arena *arena, struct parley_bytes bytes) {
    const size_t size = sodium_base64_ENCODED_LEN(bytes.length, sodium_base64_VARIANT_ORIGINAL);
    char *text = parley_arena_allocate(arena, size);
    if (text == NULL) {
        return (struct parley_bytes){0};
    }
    sodium_bin2base64(text, size, (const unsigned char *)bytes.data, bytes.length,
                      sodium_base64_VARIANT_ORIGINAL);
    return (struct parley_bytes){text, size - 1};
}

static bool on_value(void *context, const struct msgpack_value *value) {
    struct walk_listener *listener = context;
    struct parley_value seen = value->value;
    if (value->is_binary) {
        seen.text = msgpack_base64(listener->arena, value->value.text);
        if (seen.text.data == NULL) {
            listener->is_out_of_memory = true;
            return false;
        }
    }
    if (!walk_value(listener->walk, &seen)) {
        return false;
    }
    const struct schema_node *node = listener->walk->frames[listener->walk->depth - 1].node;
    const bool has_names = seen.kind == PARLEY_OBJECT && node->child_count > 0;
    if (has_names || node->rest != &schema_unasked) {
        return true;
    }
    walk_leave(listener->walk, seen.count); /* no rule checks its content */
    return false;
}

static bool on_key(void *context, struct parley_bytes key) {
    const struct walk_listener *listener = context;
    return walk_key(listener->walk, key);
}

static void on_leave(void *context, size_t count) {
    const struct walk_listener *listener = context;
    walk_leave(listener->walk, count);
}

/* Returns: false when there is no memory. */
static bool walk_bytes(struct parley_bytes bytes, struct walk *walk, struct parley_arena *arena) {
    struct walk_listener listener = {.walk = walk, .arena = arena};
    const struct msgpack_events events = {
        .context = &listener, .value = on_value, .key = on_key, .leave = on_leave};
    msgpack_visit(bytes, &events);
    return !listener.is_out_of_memory;
}

enum msgpack_result msgpack_read_inside(struct parley_bytes bytes, struct walk *walk,
                                        struct parley_arena *arena,
                                        struct msgpack_fault *out_fault) {
    switch (msgpack_accept_inside(walk->message, bytes, walk->base)) {
    case ACCEPT_RIGHT:
        return MSGPACK_READ;
    case ACCEPT_INSPECTED: /* the inspection of the inner text is under way */
    case ACCEPT_WHOLE:
        return walk_bytes(bytes, walk, arena) ? MSGPACK_READ : MSGPACK_MEMORY;
    case ACCEPT_UNSURE:
        break;
    }
    return find_fault(bytes, arena, out_fault);
}

bool msgpack_begins(struct parley_bytes head) {
    return head.length > 0 && msgpack_is_map((unsigned char)head.data[0]);
}

/* ---- hooks ---- */

/* Stamping is still to come, which moves the text. */
enum parley_status msgpack_decode(struct parley_message *message,
                                  const struct parley_codec *codec) {
    (void)codec;
    struct msgpack_fault fault;
    const enum accept_certainty certainty = msgpack_accept(message);
    if (certainty != ACCEPT_UNSURE) {
        message->is_decoded = true;
        message->is_certain = certainty > ACCEPT_WHOLE && !message->options.stamp;
        return PARLEY_OK;
    }
    if (find_fault(message->text, &message->arena, &fault) == MSGPACK_MEMORY) {
        return PARLEY_E_MEMORY;
    }
    return findings_refuse(message, fault.rule,
                           (struct parley_finding){.path = fault.path,
                                                   .message = fault.message,
                                                   .hint = fault.hint,
                                                   .offset = fault.offset});
}

enum parley_status msgpack_validate(struct parley_message *message) {
    assert(message->is_decoded);
    if (message->is_certain) {
        return findings_locate(message);
    }
    struct walk walk;
    walk_begin(&walk, message, PARLEY_TYPE_BIT(message->type));
    if (!walk_bytes(message->text, &walk, &message->arena)) {
        return PARLEY_E_MEMORY;
    }
    PARLEY_TRY(walk_end(&walk));
    return findings_locate(message);
}
