/* SPDX-License-Identifier: Apache-2.0 */

#include "coding.h"

#include <strings.h>

#include <zlib.h>
#include <zstd.h>

#include "encoder.h"

static const char *const names[CODING_COUNT] = {
    [CODING_IDENTITY] = "identity", [CODING_GZIP] = "gzip", [CODING_ZSTD] = "zstd"};

const char *coding_name(enum coding coding) {
    return names[coding];
}

static bool is_named(struct parley_bytes name, const char *wanted) {
    return name.length == strlen(wanted) && strncasecmp(name.data, wanted, name.length) == 0;
}

enum coding coding_find(struct parley_bytes name) {
    for (size_t i = 0; i < CODING_COUNT; i++) {
        if (is_named(name, names[i])) {
            return (enum coding)i;
        }
    }
    return is_named(name, "x-gzip") ? CODING_GZIP : CODING_UNKNOWN;
}

/* ---- in one piece, once ---- */

static bool compress_gzip(struct parley_bytes plain, struct parley_buffer *out, size_t size) {
    enum { WINDOW_LOG = 15, IN_GZIP_FORM = 16, MEMORY_LEVEL = 9 };
    z_stream gzip = {.next_in = (const Bytef *)plain.data,
                     .avail_in = (uInt)plain.length,
                     .next_out = (Bytef *)out->data + out->length,
                     .avail_out = (uInt)size};
    if (deflateInit2(&gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_LOG + IN_GZIP_FORM,
                     MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        return false;
    }
    const bool is_done = deflate(&gzip, Z_FINISH) == Z_STREAM_END;
    out->length += size - gzip.avail_out;
    deflateEnd(&gzip);
    return is_done;
}

static bool compress_zstd(struct parley_bytes plain, struct parley_buffer *out, size_t size) {
    enum { LEVEL = 3 };
    const size_t length =
        ZSTD_compress(out->data + out->length, size, plain.data, plain.length, LEVEL);
    out->length += ZSTD_isError(length) ? 0 : length;
    return !ZSTD_isError(length);
}

enum parley_status coding_compress(enum coding coding, struct parley_bytes plain,
                                   struct parley_buffer *out) {
    const size_t size = encoder_bound(plain.length);
    if (!parley_buffer_reserve(out, size)) {
        return PARLEY_E_MEMORY;
    }
    const bool is_done =
        coding == CODING_GZIP ? compress_gzip(plain, out, size) : compress_zstd(plain, out, size);
    return is_done ? PARLEY_OK : PARLEY_E_MEMORY;
}
