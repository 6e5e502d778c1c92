/* SPDX-License-Identifier: Apache-2.0 */

/* The hooks for messages that were sent as MessagePack. There is no tree: the bytes are read once,
 * and again only by whoever wants something of them. */

#include "msgpack_message.h"

#include <assert.h>
#include <inttypes.h>

#include <sodium.h>

#include "msgpack_read.h"

/* What was not read fast has a fault; if not, there was no memory. */
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

static bool tell_value(void *context, const struct msgpack_value *value) {
    struct walk_listener *listener = context;
    struct parley_value told = value->value;
    if (value->is_binary) {
        told.text = msgpack_base64(listener->arena, value->value.text);
        if (told.text.data == NULL) {
            listener->is_out_of_memory = true;
            return false;
        }
    }
    if (!walk_value(listener->walk, &told)) {
        return false;
    }
    const struct schema_node *node = listener->walk->frames[listener->walk->depth - 1].node;
    const bool has_names = told.kind == PARLEY_OBJECT && node->child_count > 0;
    if (has_names || node->rest != &schema_unasked) {
        return true;
    }
    walk_leave(listener->walk, told.count); /* nobody asks about what is in it */
    return false;
}

static bool tell_key(void *context, struct parley_bytes key) {
    const struct walk_listener *listener = context;
    return walk_key(listener->walk, key);
}

static void tell_leave(void *context, size_t count) {
    const struct walk_listener *listener = context;
    walk_leave(listener->walk, count);
}

/* Returns: false when there is no memory. */
static bool tell_walk(struct parley_bytes bytes, struct walk *walk, struct parley_arena *arena) {
    struct walk_listener listener = {.walk = walk, .arena = arena};
    const struct msgpack_events events = {
        .context = &listener, .value = tell_value, .key = tell_key, .leave = tell_leave};
    msgpack_tell(bytes, &events);
    return !listener.is_out_of_memory;
}

enum msgpack_result msgpack_read_inside(struct parley_bytes bytes, struct walk *walk,
                                        struct parley_arena *arena,
                                        struct msgpack_fault *out_fault) {
    switch (msgpack_accept_inside(walk->message, bytes, walk->base)) {
    case MSGPACK_RIGHT:
        return MSGPACK_READ;
    case MSGPACK_WHOLE:
        return tell_walk(bytes, walk, arena) ? MSGPACK_READ : MSGPACK_MEMORY;
    case MSGPACK_UNSURE:
        break;
    }
    return find_fault(bytes, arena, out_fault);
}

bool msgpack_begins(struct parley_bytes head) {
    return head.length > 0 && msgpack_is_map((unsigned char)head.data[0]);
}

/* ---- hooks ---- */

/* A stamp is yet to be put into what is found right, which then lies elsewhere. */
enum parley_status msgpack_decode(struct parley_message *message,
                                  const struct parley_codec *codec) {
    (void)codec;
    struct msgpack_fault fault;
    const enum msgpack_certainty certainty = msgpack_accept(message);
    if (certainty != MSGPACK_UNSURE) {
        message->is_decoded = true;
        message->is_certain = certainty == MSGPACK_RIGHT && !message->options.stamp;
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
        return PARLEY_OK;
    }
    struct walk walk;
    walk_begin(&walk, message, PARLEY_TYPE_BIT(message->type));
    if (!tell_walk(message->text, &walk, &message->arena)) {
        return PARLEY_E_MEMORY;
    }
    PARLEY_TRY(walk_end(&walk));
    return findings_locate(message);
}
