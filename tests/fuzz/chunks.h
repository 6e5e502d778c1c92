/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An input for splitters: a body, and how it arrives.
 *
 *   byte 0: what the target likes
 *   byte 1: how many pieces; then a byte a piece, its length
 *   and the body */

#include "fuzz.h"
#include "lib/slices.h"

struct chunks {
    uint8_t first; /* byte 0 */
    struct parley_bytes body;
    size_t cuts[256];
    size_t cut_count;
};

bool chunks_read(const uint8_t *data, size_t size, struct chunks *out);

/* Demands that the body gives the same messages whole, in its pieces, and byte by byte. */
void chunks_compare(const struct chunks *chunks, enum parley_framing framing, size_t limit);
