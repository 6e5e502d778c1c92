/* SPDX-License-Identifier: Apache-2.0 */

/* The windows are small: events resemble the few before them, and thousands of readers have an
 * encoder each. The memory that zstd allocates at first use is allocated at once, to be counted. */

#include "encoder.h"

#include <assert.h>
#include <stdlib.h>

#include <zlib.h>
#include <zstd.h>

enum {
    GZIP_LEVEL = 4,
    GZIP_WINDOW_LOG = 13, /* 8 KiB */
    GZIP_IN_GZIP_FORM = 16,
    GZIP_MEMORY_LEVEL = 5,
    /* As zlib.h says: (1 << (window + 2)) + (1 << (level + 9)); and its state. */
    GZIP_BYTES = (1 << (GZIP_WINDOW_LOG + 2)) + (1 << (GZIP_MEMORY_LEVEL + 9)) +
                 (int)sizeof(z_stream) + 6144,
    ZSTD_LEVEL = 1,
    ZSTD_WINDOW_LOG = 13,
    ZSTD_HASH_LOG = 12,
    BOUND_FIXED_BYTES = 72, /* head, end, and the marks around a small piece */
};

struct encoder {
    enum coding coding;
    struct coding_quota *quota;
    size_t bytes; /* taken from the quota */
    union {
        z_stream gzip;
        ZSTD_CCtx *zstd;
    };
};

/* ---- gzip ---- */

static enum parley_status open_gzip(struct encoder *encoder) {
    encoder->bytes = sizeof *encoder + GZIP_BYTES;
    encoder->gzip = (z_stream){0};
    return deflateInit2(&encoder->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_LOG + GZIP_IN_GZIP_FORM,
                        GZIP_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK
               ? PARLEY_OK
               : PARLEY_E_MEMORY;
}

static ssize_t write_gzip(struct encoder *encoder, struct parley_bytes piece, bool is_last,
                          char *out, size_t size) {
    z_stream *gzip = &encoder->gzip;
    gzip->next_in = (const Bytef *)piece.data;
    gzip->avail_in = (uInt)piece.length;
    gzip->next_out = (Bytef *)out;
    gzip->avail_out = (uInt)size;
    const int result = deflate(gzip, is_last ? Z_FINISH : Z_SYNC_FLUSH);
    const bool is_done = is_last ? result == Z_STREAM_END : result == Z_OK && gzip->avail_out > 0;
    assert(is_done && gzip->avail_in == 0);
    return is_done ? (ssize_t)(size - gzip->avail_out) : -1;
}

/* ---- zstd ---- */

static bool configure_zstd(ZSTD_CCtx *zstd) {
    static const struct {
        ZSTD_cParameter parameter;
        int value;
    } wanted[] = {
        {ZSTD_c_compressionLevel, ZSTD_LEVEL}, {ZSTD_c_windowLog, ZSTD_WINDOW_LOG},
        {ZSTD_c_hashLog, ZSTD_HASH_LOG},       {ZSTD_c_chainLog, ZSTD_HASH_LOG},
        {ZSTD_c_contentSizeFlag, 0},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (ZSTD_isError(ZSTD_CCtx_setParameter(zstd, wanted[i].parameter, wanted[i].value))) {
            return false;
        }
    }
    return true;
}

static enum parley_status open_zstd(struct encoder *encoder) {
    ZSTD_inBuffer nothing = {"", 0, 0};
    ZSTD_outBuffer nowhere = {NULL, 0, 0};
    encoder->zstd = ZSTD_createCCtx();
    if (encoder->zstd == NULL || !configure_zstd(encoder->zstd) ||
        ZSTD_isError(ZSTD_compressStream2(encoder->zstd, &nowhere, &nothing, ZSTD_e_continue))) {
        return PARLEY_E_MEMORY;
    }
    encoder->bytes = sizeof *encoder + ZSTD_sizeof_CCtx(encoder->zstd);
    return PARLEY_OK;
}

static ssize_t write_zstd(struct encoder *encoder, struct parley_bytes piece, bool is_last,
                          /* NOLINTNEXTLINE(readability-non-const-parameter): libzstd writes */
                          char *out, size_t size) {
    ZSTD_inBuffer in = {piece.data, piece.length, 0};
    ZSTD_outBuffer to = {out, size, 0};
    const size_t left =
        ZSTD_compressStream2(encoder->zstd, &to, &in, is_last ? ZSTD_e_end : ZSTD_e_flush);
    assert(left == 0);
    return left == 0 ? (ssize_t)to.pos : -1;
}

/* ---- both ---- */

static void close_stream(struct encoder *encoder) {
    if (encoder->coding == CODING_GZIP) {
        deflateEnd(&encoder->gzip);
    } else {
        ZSTD_freeCCtx(encoder->zstd);
    }
}

enum parley_status encoder_create(enum coding coding, struct coding_quota *quota,
                                  struct encoder **out) {
    struct encoder *encoder = malloc(sizeof *encoder);
    if (encoder == NULL) {
        return PARLEY_E_MEMORY;
    }
    encoder->coding = coding;
    encoder->quota = quota;
    enum parley_status status = coding == CODING_GZIP ? open_gzip(encoder) : open_zstd(encoder);
    if (status == PARLEY_OK && !coding_quota_take(quota, encoder->bytes)) {
        status = PARLEY_E_LIMIT;
    }
    if (status != PARLEY_OK) {
        close_stream(encoder);
        free(encoder);
        return status;
    }
    *out = encoder;
    return PARLEY_OK;
}

void encoder_destroy(struct encoder *encoder) {
    if (encoder != NULL) {
        coding_quota_give(encoder->quota, encoder->bytes);
        close_stream(encoder);
        free(encoder);
    }
}

enum coding encoder_coding(const struct encoder *encoder) {
    return encoder->coding;
}

/* More than either needs: deflateBound for any parameters is the larger of the two. */
size_t encoder_bound(size_t length) {
    return length + length / 8 + length / 64 + BOUND_FIXED_BYTES;
}

size_t encoder_room(size_t size) {
    assert(size >= ENCODER_OUTPUT_MIN);
    const size_t left = size - BOUND_FIXED_BYTES;
    return left - left / 7;
}

ssize_t encoder_write(struct encoder *encoder, struct parley_bytes piece, bool is_last, char *out,
                      size_t size) {
    assert(encoder_bound(piece.length) <= size);
    if (piece.length == 0 && !is_last) {
        return 0;
    }
    return encoder->coding == CODING_GZIP ? write_gzip(encoder, piece, is_last, out, size)
                                          : write_zstd(encoder, piece, is_last, out, size);
}
