/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the splitter of lines and arrays: a body gives the same messages however it arrives. Of
 * an input's first byte, bit 0 is the framing and the rest the limit. */

#include "chunks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct chunks chunks;
    if (chunks_read(data, size, &chunks)) {
        chunks_compare(&chunks,
                       (chunks.first & 1) != 0 ? PARLEY_FRAMING_JSON : PARLEY_FRAMING_LINES,
                       chunks.first >> 1);
    }
    return 0;
}
