/* SPDX-License-Identifier: Apache-2.0 */

/* MessagePack written by msgpack-c's packer: from the text of a JSON message, and stamps. The head
 * of an array or map contains its count, which the text shows only after its items: so it is read
 * twice. */

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <msgpack/pack.h>

#include "json_reader.h"
#include "msgpack_read.h"

static int append(void *buffer, const char *data, size_t length) {
    parley_buffer_append(buffer, (struct parley_bytes){data, length});
    return 0;
}

static int add_up(void *size, const char *data, size_t length) {
    (void)data;
    *(size_t *)size += length;
    return 0;
}

static void pack_text(msgpack_packer *packer, struct parley_bytes text) {
    msgpack_pack_str(packer, text.length);
    msgpack_pack_str_body(packer, text.data, text.length);
}

/* A number as it is spelled at `at`: without a point and an exponent it is an integer, if 64 bits
 * hold it, and if it is not -0, which as an integer would lose its sign. */
static bool is_integer(const char *at, int64_t *out) {
    char *end;
    errno = 0;
    *out = strtoll(at, &end, 10);
    return errno == 0 && strchr(".eE", *end) == NULL && !(*out == 0 && *at == '-');
}

/* ---- from JSON ---- */

struct json_packer {
    msgpack_packer packer;
    const char *text;
    uint64_t maps; /* a bit a level: whether it is one */
    /* How many items and members there are, in the order in which arrays and objects begin. NULL:
     * heads are packed after their content, which has the same total size. */
    const uint32_t *counts;
    size_t next;
};

static void pack_head(struct json_packer *json, bool is_map, size_t count) {
    if (is_map) {
        msgpack_pack_map(&json->packer, count);
    } else {
        msgpack_pack_array(&json->packer, count);
    }
}

static void pack_number(struct json_packer *json, const struct parley_value *value) {
    int64_t integer;
    if (is_integer(json->text + value->offset, &integer)) {
        msgpack_pack_int64(&json->packer, integer);
    } else if (fabs(value->number) <= FLT_MAX && (double)(float)value->number == value->number) {
        msgpack_pack_float(&json->packer, (float)value->number);
    } else {
        msgpack_pack_double(&json->packer, value->number);
    }
}

static bool pack_value(void *context, const struct parley_value *value) {
    struct json_packer *json = context;
    switch (value->kind) {
    case PARLEY_OBJECT:
    case PARLEY_ARRAY:
        json->maps = json->maps << 1 | (value->kind == PARLEY_OBJECT);
        if (json->counts != NULL) {
            pack_head(json, value->kind == PARLEY_OBJECT, json->counts[json->next++]);
        }
        break;
    case PARLEY_STRING:
        pack_text(&json->packer, value->text);
        break;
    case PARLEY_NUMBER:
        pack_number(json, value);
        break;
    case PARLEY_BOOLEAN:
        value->number != 0 ? msgpack_pack_true(&json->packer) : msgpack_pack_false(&json->packer);
        break;
    default:
        msgpack_pack_nil(&json->packer);
        break;
    }
    return true;
}

static bool pack_key(void *context, struct parley_bytes key) {
    struct json_packer *json = context;
    pack_text(&json->packer, key);
    return true;
}

static void pack_end(void *context, size_t count) {
    struct json_packer *json = context;
    if (json->counts == NULL) {
        pack_head(json, (json->maps & 1) != 0, count);
    }
    json->maps >>= 1;
}

static enum parley_status read_json(struct parley_bytes text, struct parley_arena *arena,
                                    const struct json_events *events) {
    struct json_fault fault; /* of a message none: its text was decoded */
    switch (json_reader_read(text, events, arena, NULL, &fault)) {
    case JSON_READER_READ:
        return PARLEY_OK;
    case JSON_READER_FAULT:
        return PARLEY_E_UNSUPPORTED;
    case JSON_READER_MEMORY:
        break;
    }
    return PARLEY_E_MEMORY;
}

static enum parley_status pack_json(struct parley_bytes text, struct parley_arena *arena,
                                    struct json_packer *json) {
    json->text = text.data;
    return read_json(text, arena,
                     &(const struct json_events){.context = json,
                                                 .value = pack_value,
                                                 .key = pack_key,
                                                 .leave = pack_end,
                                                 .is_brief = true});
}

struct counter {
    struct parley_buffer counts; /* of uint32_t */
    size_t open[JSON_DEPTH_MAX]; /* the indexes of the open ones */
    size_t depth;
};

static bool count_value(void *context, const struct parley_value *value) {
    struct counter *counter = context;
    if (value->kind == PARLEY_OBJECT || value->kind == PARLEY_ARRAY) {
        counter->open[counter->depth++] = counter->counts.length;
        parley_buffer_append(&counter->counts, (struct parley_bytes){"\0\0\0\0", sizeof(uint32_t)});
        return true;
    }
    return false;
}

static bool count_key(void *context, struct parley_bytes key) {
    (void)context;
    (void)key;
    return true;
}

static void count_end(void *context, size_t count) {
    struct counter *counter = context;
    const uint32_t narrow = (uint32_t)count;
    counter->depth--;
    if (!counter->counts.has_failed) {
        memcpy(counter->counts.data + counter->open[counter->depth], &narrow, sizeof narrow);
    }
}

static enum parley_status pack_text_of_json(struct parley_bytes text, struct parley_arena *arena,
                                            struct parley_buffer *out) {
    struct counter counter = {.depth = 0};
    parley_buffer_init(&counter.counts);
    enum parley_status status = read_json(text, arena,
                                          &(const struct json_events){.context = &counter,
                                                                      .value = count_value,
                                                                      .key = count_key,
                                                                      .leave = count_end,
                                                                      .is_brief = true});
    if (status == PARLEY_OK) {
        status = parley_buffer_status(&counter.counts);
    }
    if (status == PARLEY_OK) {
        struct json_packer json = {.packer = {.data = out, .callback = append},
                                   .counts = (const uint32_t *)(void *)counter.counts.data};
        status = pack_json(text, arena, &json);
    }
    parley_buffer_finish(&counter.counts);
    return status == PARLEY_OK ? parley_buffer_status(out) : status;
}

enum parley_status msgpack_from_json(struct parley_message *message, struct parley_buffer *out) {
    return pack_text_of_json(message->text, &message->arena, out);
}

enum parley_status msgpack_from_text(struct parley_bytes json, struct parley_buffer *out) {
    struct parley_arena arena;
    parley_arena_init(&arena, 0); /* proportional to the text */
    const enum parley_status status = pack_text_of_json(json, &arena, out);
    parley_arena_finish(&arena);
    return status;
}

enum parley_status msgpack_size_from_json(struct parley_message *message, size_t *out) {
    struct json_packer json = {.packer = {.data = out, .callback = add_up}};
    *out = 0;
    return pack_json(message->text, &message->arena, &json);
}

/* ---- stamps ---- */

/* The stamps of the protocol that the message has already, one bit each. */
struct stamp_listener {
    const struct parley_stamp *stamps;
    uint32_t present;
};

static bool enter_message(void *context, const struct msgpack_value *value) {
    (void)context;
    (void)value;
    return true;
}

static bool note_member(void *context, struct parley_bytes key) {
    struct stamp_listener *listener = context;
    for (unsigned i = 0; listener->stamps[i].member != NULL; i++) {
        if (parley_bytes_equal(key, parley_bytes_of(listener->stamps[i].member))) {
            listener->present |= UINT32_C(1) << i;
        }
    }
    return false;
}

static void leave_message(void *context, size_t count) {
    (void)context;
    (void)count;
}

static void pack_stamp(msgpack_packer *packer, const struct parley_stamp *stamp,
                       const struct parley_options *options) {
    pack_text(packer, parley_bytes_of(stamp->member));
    switch (stamp->with) {
    case PARLEY_STAMP_ID:
        pack_text(packer, parley_bytes_of(options->fresh_id));
        break;
    case PARLEY_STAMP_TEXT:
        pack_text(packer, parley_bytes_of(stamp->text));
        break;
    case PARLEY_STAMP_TIME:
        pack_text(packer, parley_bytes_of(options->now));
        break;
    case PARLEY_STAMP_SECONDS:
        msgpack_pack_int64(packer, options->now_seconds);
        break;
    }
}

/* The message with the missing stamps at its front; its head, which counts them, may become
 * longer. */
static enum parley_status insert_stamps(struct parley_message *message, uint32_t present,
                                        struct parley_buffer *out) {
    const struct parley_bytes text = message->text;
    const struct parley_stamp *stamps = message->protocol->stamps;
    const struct msgpack_head head = msgpack_head_of(text, 0);
    size_t missing = 0;
    for (unsigned i = 0; stamps[i].member != NULL; i++) {
        missing += (present >> i & 1) == 0;
    }
    if (missing == 0) {
        return PARLEY_OK;
    }
    msgpack_packer packer = {.data = out, .callback = append};
    parley_options_refresh(&message->options);
    msgpack_pack_map(&packer, head.claim + missing);
    for (unsigned i = 0; stamps[i].member != NULL; i++) {
        if ((present >> i & 1) == 0) {
            pack_stamp(&packer, &stamps[i], &message->options);
        }
    }
    const size_t inserted = out->length - head.bytes;
    parley_buffer_append(out,
                         (struct parley_bytes){text.data + head.bytes, text.length - head.bytes});
    const char *stamped =
        out->has_failed ? NULL : parley_arena_copy(&message->arena, parley_buffer_bytes(out));
    if (stamped == NULL) {
        return PARLEY_E_MEMORY;
    }
    message->text = (struct parley_bytes){stamped, out->length};
    message->stamp_offset = head.bytes;
    message->stamp_length = inserted;
    return PARLEY_OK;
}

enum parley_status msgpack_stamp(struct parley_message *message, const struct parley_codec *codec) {
    (void)codec;
    struct stamp_listener listener = {.stamps = message->protocol->stamps};
    const struct msgpack_events events = {
        .context = &listener, .value = enter_message, .key = note_member, .leave = leave_message};
    msgpack_visit(message->text, &events);
    struct parley_buffer out;
    parley_buffer_init(&out);
    const enum parley_status status = insert_stamps(message, listener.present, &out);
    parley_buffer_finish(&out);
    return status;
}
