/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decompresses one stream of bytes, piece by piece: members of gzip or frames of zstd, one after
 * the other, and nothing else. It produces at most the bytes that it is asked for, so that a bomb
 * costs only as much as its reader takes. */

#include "coding.h"

struct decoder;

/* The fault of the data. */
enum decoder_fault {
    DECODER_NO_FAULT,
    DECODER_FOREIGN,  /* it is not in this coding */
    DECODER_TRAILING, /* the end of a member or frame is followed by something else than another one
                       */
    DECODER_DAMAGED,  /* within a member or frame */
    DECODER_WINDOW,   /* zstd: the window is larger than DECODER_WINDOW_BYTES_MAX */
    DECODER_DICTIONARY, /* zstd: it needs a dictionary */
    DECODER_RATIO,      /* it becomes more than DECODER_RATIO_MAX times its length */
    DECODER_CUT,        /* it ends within a member or frame */
    DECODER_MEMORY,     /* out of memory */
};

/* The largest window of the coding `zstd` (RFC 9659). */
#define DECODER_WINDOW_BYTES_MAX (8u << 20)
/* gzip cannot reach it; the first DECODER_RATIO_FREE_BYTES are free. */
#define DECODER_RATIO_MAX 2000u
#define DECODER_RATIO_FREE_BYTES (1u << 20)

/* `coding`: CODING_GZIP or CODING_ZSTD.  Returns: PARLEY_E_MEMORY. */
enum parley_status decoder_create(enum coding coding, struct decoder **out) PARLEY_MUST_CHECK;
void decoder_destroy(struct decoder *decoder);

/* Decompresses from the front of *input to `out`, until that is full or the input is used up; there
 * may be more when it was filled.  *out_length: how much was written, also with a fault.
 * Returns: the fault, of which a decoder is not called again. */
enum decoder_fault decoder_read(struct decoder *decoder, struct parley_bytes *input, char *out,
                                size_t size, size_t *out_length);

/* Whether the data may end here. No data at all may. */
enum decoder_fault decoder_end(const struct decoder *decoder);

/* The memory that it uses now; it changes at the beginning of a frame. */
size_t decoder_memory_bytes(const struct decoder *decoder);
