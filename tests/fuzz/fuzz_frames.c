/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the splitter of frames: a body gives the same messages however it arrives. An input's
 * first byte is the limit. */

#include "chunks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct chunks chunks;
    if (chunks_read(data, size, &chunks)) {
        chunks_compare(&chunks, PARLEY_FRAMING_FRAMES, chunks.first);
    }
    return 0;
}
