/* SPDX-License-Identifier: Apache-2.0 */

/* Unpacks and reads the compressed data of a checkpoint. Base64 and zstd are decoded piece by
 * piece, so that only the result is ever in memory as a whole. */

#include "checkpoint.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <sodium.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "json_reader.h"
#include "msgpack_message.h"

enum {
    TEXT_PIECE = 64 << 10,
    DECODED_PIECE = TEXT_PIECE / 4 * 3,
    SCRATCH = 128 << 10, /* the most that zstd produces at once */
};

struct unpacking {
    ZSTD_DCtx *zstd;
    struct parley_bytes text;
    size_t at;      /* in the text: how much was taken */
    size_t size;    /* the size so far, without the content of `scratch` */
    bool has_ended; /* a frame of zstd did, and nothing follows as yet */
    struct parley_arena *arena;
    struct checkpoint_fault *fault;
    enum checkpoint_result result;
    unsigned char decoded[DECODED_PIECE];
    char scratch[SCRATCH];
};

static enum checkpoint_result say(struct parley_arena *arena, struct checkpoint_fault *fault,
                                  const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static enum checkpoint_result say(struct parley_arena *arena, struct checkpoint_fault *fault,
                                  const char *hint, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    *fault = (struct checkpoint_fault){parley_arena_copy(arena, parley_bytes_of(text)), hint};
    return fault->message != NULL ? CHECKPOINT_FAULT : CHECKPOINT_MEMORY;
}

/* ---- unpacking; these return whether to continue, and else `result` says why not ---- */

static bool decode_piece(struct unpacking *unpacking, ZSTD_inBuffer *out) {
    const char *text = unpacking->text.data + unpacking->at, *end = text;
    const size_t left = unpacking->text.length - unpacking->at;
    const size_t length = left < TEXT_PIECE ? left : TEXT_PIECE;
    size_t decoded = 0;
    const bool is_base64 =
        sodium_base642bin(unpacking->decoded, sizeof unpacking->decoded, text, length, NULL,
                          &decoded, &end, sodium_base64_VARIANT_ORIGINAL) == 0 &&
        end == text + length && (length == left || decoded == DECODED_PIECE);
    if (!is_base64) {
        unpacking->result = say(unpacking->arena, unpacking->fault,
                                "Write `data` in the alphabet of RFC 4648, section 4, with padding "
                                "and without line breaks.",
                                "`data` is not valid base64 from character %zu on",
                                unpacking->at + (size_t)(end - text) + 1);
        return false;
    }
    unpacking->at += length;
    *out = (ZSTD_inBuffer){unpacking->decoded, decoded, 0};
    return true;
}

static bool refuse_zstd(struct unpacking *unpacking, size_t code) {
    unpacking->result =
        ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation
            ? CHECKPOINT_MEMORY
            : say(unpacking->arena, unpacking->fault, NULL,
                  "`data` does not decompress: zstd says \"%s\"", ZSTD_getErrorName(code));
    return false;
}

static bool refuse_size(struct unpacking *unpacking) {
    unpacking->result =
        say(unpacking->arena, unpacking->fault, "Put less data into one checkpoint.",
            "`data` decompresses to more than %u bytes", CHECKPOINT_BYTES_MAX);
    return false;
}

/* Decompresses one piece. In the first pass `out` is the scratch, which is filled repeatedly; in
 * the second it takes everything. zstd may have more output than there is room for, even if it has
 * consumed the whole piece. */
static bool decompress_piece(struct unpacking *unpacking, ZSTD_inBuffer *piece,
                             ZSTD_outBuffer *out) {
    bool may_have_more = true;
    while (piece->pos < piece->size || may_have_more) {
        const size_t before = out->pos;
        const size_t code = ZSTD_decompressStream(unpacking->zstd, out, piece);
        if (ZSTD_isError(code)) {
            return refuse_zstd(unpacking, code);
        }
        unpacking->has_ended = code == 0;
        may_have_more = code != 0 && out->pos > before && out->pos == out->size;
        if (unpacking->size + out->pos > CHECKPOINT_BYTES_MAX) {
            return refuse_size(unpacking);
        }
        if (out->dst == unpacking->scratch && out->pos == out->size) {
            unpacking->size += out->pos;
            out->pos = 0;
        }
    }
    return true;
}

static bool decompress(struct unpacking *unpacking, ZSTD_outBuffer *out) {
    unpacking->at = unpacking->size = 0;
    unpacking->has_ended = false;
    ZSTD_DCtx_reset(unpacking->zstd, ZSTD_reset_session_only);
    while (unpacking->at < unpacking->text.length) {
        ZSTD_inBuffer piece;
        if (!decode_piece(unpacking, &piece) || !decompress_piece(unpacking, &piece, out)) {
            return false;
        }
    }
    if (!unpacking->has_ended) {
        unpacking->result =
            say(unpacking->arena, unpacking->fault, NULL,
                unpacking->text.length == 0 ? "`data` is empty"
                                            : "`data` does not decompress: it ends too early");
    }
    return unpacking->has_ended;
}

/* Text that fits into the scratch is not decompressed twice. */
static bool unpack(struct unpacking *unpacking, struct parley_buffer *out) {
    ZSTD_outBuffer scratch = {unpacking->scratch, SCRATCH, 0};
    if (!decompress(unpacking, &scratch)) {
        return false;
    }
    const size_t size = unpacking->size + scratch.pos;
    if (!parley_buffer_reserve(out, size)) {
        unpacking->result = CHECKPOINT_MEMORY;
        return false;
    }
    if (unpacking->size == 0) {
        parley_buffer_append(out, (struct parley_bytes){unpacking->scratch, size});
        return true;
    }
    ZSTD_outBuffer whole = {out->data, size, 0};
    if (!decompress(unpacking, &whole)) {
        return false;
    }
    out->length = whole.pos;
    return true;
}

enum checkpoint_result checkpoint_unpack(struct parley_bytes text, struct parley_buffer *out,
                                         struct parley_arena *arena,
                                         struct checkpoint_fault *out_fault) {
    struct unpacking *unpacking = malloc(sizeof *unpacking);
    if (unpacking == NULL) {
        return CHECKPOINT_MEMORY;
    }
    unpacking->text = text;
    unpacking->arena = arena;
    unpacking->fault = out_fault;
    unpacking->zstd = ZSTD_createDCtx();
    unpacking->result = unpacking->zstd != NULL ? CHECKPOINT_READ : CHECKPOINT_MEMORY;
    if (unpacking->zstd != NULL) {
        unpack(unpacking, out);
    }
    const enum checkpoint_result result = unpacking->result;
    ZSTD_freeDCtx(unpacking->zstd);
    free(unpacking);
    return result;
}

/* ---- reading ---- */

/* `own` is for what reading needs (the fault's path and text too); `arena` outlives it. */
static enum checkpoint_result read_msgpack(struct parley_bytes inside, struct walk *walk,
                                           struct parley_arena *own, struct parley_arena *arena,
                                           struct checkpoint_fault *out_fault) {
    struct msgpack_fault fault;
    switch (msgpack_read_inside(inside, walk, own, &fault)) {
    case MSGPACK_READ:
        return CHECKPOINT_READ;
    case MSGPACK_FAULT:
        return say(arena, out_fault, fault.hint,
                   "the MessagePack compressed in `data` is invalid at its byte %zu: %s",
                   fault.offset, fault.message);
    case MSGPACK_MEMORY:
        break;
    }
    return CHECKPOINT_MEMORY;
}

static enum checkpoint_result read_json(struct parley_bytes inside, struct walk *walk,
                                        struct parley_arena *own, struct parley_arena *arena,
                                        struct checkpoint_fault *out_fault) {
    struct json_fault fault;
    struct key_set keys;
    const struct json_events events = json_events_of_walk(walk);
    key_set_init(&keys, inside);
    const enum json_reader_result result = json_reader_read(inside, &events, own, &keys, &fault);
    key_set_finish(&keys);
    switch (result) {
    case JSON_READER_READ:
        return CHECKPOINT_READ;
    case JSON_READER_FAULT:
        return say(arena, out_fault, fault.hint,
                   "the JSON compressed in `data` is invalid at its byte %zu: %s", fault.offset,
                   fault.message);
    case JSON_READER_MEMORY:
        break;
    }
    return CHECKPOINT_MEMORY;
}

static bool begins_json_object(struct parley_bytes text) {
    static const struct parley_bytes blanks = {" \t\r\n", 4};
    size_t at = 0;
    while (at < text.length && memchr(blanks.data, text.data[at], blanks.length) != NULL) {
        at++;
    }
    return at < text.length && text.data[at] == '{';
}

enum checkpoint_result checkpoint_read(struct parley_bytes inside, struct walk *walk,
                                       struct parley_arena *arena,
                                       struct checkpoint_fault *out_fault) {
    struct parley_arena own;
    enum checkpoint_result result;
    parley_arena_init(&own, 0); /* proportional to the decompressed data, which is limited */
    if (msgpack_begins(inside)) {
        result = read_msgpack(inside, walk, &own, arena, out_fault);
    } else if (begins_json_object(inside)) {
        result = read_json(inside, walk, &own, arena, out_fault);
    } else {
        result = say(arena, out_fault, NULL,
                     "`data` decompresses to neither a MessagePack map nor a JSON object");
    }
    parley_arena_finish(&own);
    return result;
}
