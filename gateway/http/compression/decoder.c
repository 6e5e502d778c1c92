/* SPDX-License-Identifier: Apache-2.0 */

/* The first bytes of a member are checked here, before a library sees them: so data after a member
 * that is not another one is recognised, and zstd never reads its legacy formats. */

#include "decoder.h"

#include <stdint.h>
#include <stdlib.h>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
    GZIP_WINDOW_LOG = 15,
    GZIP_IN_GZIP_FORM = 16,
    GZIP_BYTES = (1 << GZIP_WINDOW_LOG) + 7168, /* as zlib.h says */
    GZIP_MAGIC_BYTES = 2,
    ZSTD_WINDOW_LOG = 23,
    ZSTD_MAGIC_BYTES = 4,
};
_Static_assert(1u << ZSTD_WINDOW_LOG == DECODER_WINDOW_BYTES_MAX, "both say the same");

/*   BEFORE ── its first bytes ──▶ WITHIN ── the end of the member ──▶ AFTER ── more ──▶ WITHIN */
enum decoder_phase {
    DECODER_BEFORE, /* the first member */
    DECODER_WITHIN,
    DECODER_AFTER, /* a member */
};

struct decoder {
    enum coding coding;
    enum decoder_phase phase;
    bool may_have_more; /* than was taken: the output was full */
    unsigned char magic[ZSTD_MAGIC_BYTES];
    size_t magic_length;          /* of the next member, so far */
    uint64_t in_bytes, out_bytes; /* of all members */
    union {
        z_stream gzip;
        ZSTD_DCtx *zstd;
    };
};

/* The input and output of a library call. */
struct flow {
    struct parley_bytes *input;
    char *out;
    size_t size, length; /* of out: all, used */
};

static void take(struct decoder *decoder, struct flow *flow, size_t count) {
    flow->input->data += count;
    flow->input->length -= count;
    decoder->in_bytes += count;
}

/* ---- gzip ---- */

static enum decoder_fault read_gzip(struct decoder *decoder, struct parley_bytes bytes,
                                    struct flow *flow, size_t *out_used) {
    z_stream *gzip = &decoder->gzip;
    gzip->next_in = (const Bytef *)bytes.data;
    gzip->avail_in = (uInt)bytes.length;
    gzip->next_out = (Bytef *)flow->out + flow->length;
    gzip->avail_out = (uInt)(flow->size - flow->length);
    const int result = inflate(gzip, Z_NO_FLUSH);
    *out_used = bytes.length - gzip->avail_in;
    flow->length = flow->size - gzip->avail_out;
    switch (result) {
    case Z_STREAM_END:
        decoder->phase = DECODER_AFTER;
        return inflateReset(gzip) == Z_OK ? DECODER_NO_FAULT : DECODER_DAMAGED;
    case Z_OK:
    case Z_BUF_ERROR: /* nothing to do */
        return DECODER_NO_FAULT;
    case Z_MEM_ERROR:
        return DECODER_MEMORY;
    default:
        return DECODER_DAMAGED;
    }
}

/* ---- zstd ---- */

static enum decoder_fault fault_of_zstd(size_t code) {
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_frameParameter_windowTooLarge:
        return DECODER_WINDOW;
    case ZSTD_error_dictionary_wrong:
        return DECODER_DICTIONARY;
    case ZSTD_error_memory_allocation:
        return DECODER_MEMORY;
    default:
        return DECODER_DAMAGED;
    }
}

static enum decoder_fault read_zstd(struct decoder *decoder, struct parley_bytes bytes,
                                    struct flow *flow, size_t *out_used) {
    ZSTD_inBuffer in = {bytes.data, bytes.length, 0};
    ZSTD_outBuffer out = {flow->out, flow->size, flow->length};
    const size_t code = ZSTD_decompressStream(decoder->zstd, &out, &in);
    *out_used = in.pos;
    flow->length = out.pos;
    if (ZSTD_isError(code)) {
        return fault_of_zstd(code);
    }
    if (code == 0) {
        decoder->phase = DECODER_AFTER;
    }
    return DECODER_NO_FAULT;
}

/* ---- both ---- */

static enum decoder_fault read_bytes(struct decoder *decoder, struct parley_bytes bytes,
                                     struct flow *flow, size_t *out_used) {
    const enum decoder_fault fault = decoder->coding == CODING_GZIP
                                         ? read_gzip(decoder, bytes, flow, out_used)
                                         : read_zstd(decoder, bytes, flow, out_used);
    decoder->may_have_more = decoder->phase == DECODER_WITHIN && flow->length == flow->size;
    return fault;
}

static size_t magic_bytes(const struct decoder *decoder) {
    return decoder->coding == CODING_GZIP ? GZIP_MAGIC_BYTES : ZSTD_MAGIC_BYTES;
}

/* Whether the first bytes of a member can be those: those of a frame of zstd, or of one that is to
 * be skipped. */
static bool is_magic(const struct decoder *decoder) {
    const unsigned char *magic = decoder->magic;
    if (decoder->coding == CODING_GZIP) {
        return magic[0] == 0x1F && magic[1] == 0x8B;
    }
    const uint32_t number = (uint32_t)magic[0] | (uint32_t)magic[1] << 8 |
                            (uint32_t)magic[2] << 16 | (uint32_t)magic[3] << 24;
    return number == ZSTD_MAGICNUMBER ||
           (number & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

static enum decoder_fault begin_member(struct decoder *decoder, struct flow *flow) {
    size_t used;
    decoder->magic[decoder->magic_length++] = (unsigned char)flow->input->data[0];
    take(decoder, flow, 1);
    if (decoder->magic_length < magic_bytes(decoder)) {
        return DECODER_NO_FAULT;
    }
    if (!is_magic(decoder)) {
        return decoder->phase == DECODER_BEFORE ? DECODER_FOREIGN : DECODER_TRAILING;
    }
    const struct parley_bytes magic = {(const char *)decoder->magic, decoder->magic_length};
    decoder->magic_length = 0;
    decoder->phase = DECODER_WITHIN;
    return read_bytes(decoder, magic, flow, &used);
}

static enum decoder_fault read_member(struct decoder *decoder, struct flow *flow) {
    size_t used = 0;
    const enum decoder_fault fault = read_bytes(decoder, *flow->input, flow, &used);
    take(decoder, flow, used);
    return fault;
}

static bool is_over_ratio(const struct decoder *decoder) {
    return decoder->out_bytes > DECODER_RATIO_FREE_BYTES &&
           (decoder->out_bytes - DECODER_RATIO_FREE_BYTES) / DECODER_RATIO_MAX > decoder->in_bytes;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a library writes to it */
enum decoder_fault decoder_read(struct decoder *decoder, struct parley_bytes *input, char *out,
                                size_t size, size_t *out_length) {
    struct flow flow = {.input = input, .out = out, .size = size};
    enum decoder_fault fault = DECODER_NO_FAULT;
    while (fault == DECODER_NO_FAULT && flow.length < size &&
           (input->length > 0 || decoder->may_have_more)) {
        fault = decoder->phase == DECODER_WITHIN ? read_member(decoder, &flow)
                                                 : begin_member(decoder, &flow);
    }
    *out_length = flow.length;
    decoder->out_bytes += flow.length;
    return fault == DECODER_NO_FAULT && is_over_ratio(decoder) ? DECODER_RATIO : fault;
}

enum decoder_fault decoder_end(const struct decoder *decoder) {
    const bool is_whole = decoder->phase != DECODER_WITHIN && decoder->magic_length == 0;
    return is_whole                          ? DECODER_NO_FAULT
           : decoder->phase == DECODER_AFTER ? DECODER_TRAILING
                                             : DECODER_CUT;
}

size_t decoder_memory_bytes(const struct decoder *decoder) {
    return sizeof *decoder +
           (decoder->coding == CODING_GZIP ? (size_t)GZIP_BYTES : ZSTD_sizeof_DCtx(decoder->zstd));
}

/* ---- lifecycle ---- */

static bool open_gzip(struct decoder *decoder) {
    decoder->gzip = (z_stream){0};
    return inflateInit2(&decoder->gzip, GZIP_WINDOW_LOG + GZIP_IN_GZIP_FORM) == Z_OK;
}

static bool open_zstd(struct decoder *decoder) {
    decoder->zstd = ZSTD_createDCtx();
    return decoder->zstd != NULL && !ZSTD_isError(ZSTD_DCtx_setParameter(
                                        decoder->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG));
}

enum parley_status decoder_create(enum coding coding, struct decoder **out) {
    struct decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder == NULL) {
        return PARLEY_E_MEMORY;
    }
    decoder->coding = coding;
    if (!(coding == CODING_GZIP ? open_gzip(decoder) : open_zstd(decoder))) {
        decoder_destroy(decoder);
        return PARLEY_E_MEMORY;
    }
    *out = decoder;
    return PARLEY_OK;
}

void decoder_destroy(struct decoder *decoder) {
    if (decoder == NULL) {
        return;
    }
    if (decoder->coding == CODING_GZIP) {
        inflateEnd(&decoder->gzip);
    } else {
        ZSTD_freeDCtx(decoder->zstd);
    }
    free(decoder);
}
