/* SPDX-License-Identifier: Apache-2.0 */

/* MessagePack as JSON, straight from the bytes to the text. */

#include <inttypes.h>

#include <sodium.h>

#include "number.h"
#include "msgpack_read.h"

struct writer {
    struct parley_buffer *out;
    size_t start;  /* of the JSON in it */
    uint64_t maps; /* a bit a level: whether it is one */
};

/* The last byte tells whether this is the first: a string would end in a quote. */
static void separate(struct writer *writer) {
    const struct parley_buffer *out = writer->out;
    if (!out->has_failed && out->length > writer->start &&
        strchr("[{:", out->data[out->length - 1]) == NULL) {
        parley_buffer_char(writer->out, ',');
    }
}

static void write_base64(struct parley_buffer *out, struct parley_bytes bytes) {
    const size_t size = sodium_base64_ENCODED_LEN(bytes.length, sodium_base64_VARIANT_ORIGINAL);
    parley_buffer_char(out, '"');
    if (parley_buffer_reserve(out, size)) {
        sodium_bin2base64(out->data + out->length, size, (const unsigned char *)bytes.data,
                          bytes.length, sodium_base64_VARIANT_ORIGINAL);
        out->length += size - 1; /* less its NUL */
    }
    parley_buffer_char(out, '"');
}

static bool write_value(void *context, const struct msgpack_value *value) {
    struct writer *writer = context;
    struct parley_buffer *out = writer->out;
    separate(writer);
    switch (value->value.kind) {
    case PARLEY_OBJECT:
    case PARLEY_ARRAY:
        writer->maps = writer->maps << 1 | (value->value.kind == PARLEY_OBJECT);
        parley_buffer_char(out, value->value.kind == PARLEY_OBJECT ? '{' : '[');
        break;
    case PARLEY_STRING:
        if (value->is_binary) {
            write_base64(out, value->value.text);
        } else {
            parley_buffer_json(out, value->value.text);
        }
        break;
    case PARLEY_NUMBER:
        if (value->is_integer) {
            parley_buffer_format(out, "%" PRId64, value->integer);
        } else {
            number_write(out, value->value.number);
        }
        break;
    case PARLEY_BOOLEAN:
        parley_buffer_text(out, value->value.number != 0 ? "true" : "false");
        break;
    default:
        parley_buffer_text(out, "null");
        break;
    }
    return true;
}

static bool write_key(void *context, struct parley_bytes key) {
    struct writer *writer = context;
    separate(writer);
    parley_buffer_json(writer->out, key);
    parley_buffer_char(writer->out, ':');
    return true;
}

static void write_end(void *context, size_t count) {
    (void)count;
    struct writer *writer = context;
    parley_buffer_char(writer->out, (writer->maps & 1) != 0 ? '}' : ']');
    writer->maps >>= 1;
}

/* `bytes` have no fault. */
static enum parley_status write_json(struct parley_bytes bytes, struct parley_buffer *out) {
    struct writer writer = {.out = out, .start = out->length};
    const struct msgpack_events events = {
        .context = &writer, .value = write_value, .key = write_key, .leave = write_end};
    msgpack_visit(bytes, &events);
    return parley_buffer_status(out);
}

enum parley_status msgpack_encode(struct parley_message *message, struct parley_buffer *out) {
    return write_json(message->text, out);
}

enum parley_status msgpack_append_json(struct parley_bytes bytes, struct parley_arena *arena,
                                       struct parley_buffer *out) {
    struct msgpack_fault fault;
    switch (msgpack_find_fault(bytes, arena, &fault)) {
    case MSGPACK_READ:
        return write_json(bytes, out);
    case MSGPACK_FAULT:
        return PARLEY_E_UNSUPPORTED;
    case MSGPACK_MEMORY:
        break;
    }
    return PARLEY_E_MEMORY;
}
