/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the decoders of content codings: any data ends with bounded output, and gzip gives the
 * same however it arrives. An input's first byte is the coding, its second the length of the
 * pieces. */

#include <stdlib.h>

#include <parley/buffer.h>

#include "decoder.h"
#include "fuzz.h"

enum { ROOM_BYTES = 4096 };

static enum decoder_fault decode(enum coding coding, struct parley_bytes data, size_t piece,
                                 struct parley_buffer *out) {
    struct decoder *decoder;
    char room[ROOM_BYTES];
    enum decoder_fault fault = DECODER_NO_FAULT;
    require(decoder_create(coding, &decoder) == PARLEY_OK, "there is memory");
    for (size_t at = 0; at < data.length && fault == DECODER_NO_FAULT; at += piece) {
        const size_t left = data.length - at;
        struct parley_bytes input = {data.data + at, left < piece ? left : piece};
        size_t length = sizeof room;
        while (fault == DECODER_NO_FAULT && (input.length > 0 || length == sizeof room)) {
            fault = decoder_read(decoder, &input, room, sizeof room, &length);
            require(length <= sizeof room, "it keeps to its room");
            parley_buffer_append(out, (struct parley_bytes){room, length});
            require(decoder_memory_bytes(decoder) < DECODER_WINDOW_BYTES_MAX + (1u << 20),
                    "its memory is bounded");
        }
    }
    fault = fault != DECODER_NO_FAULT ? fault : decoder_end(decoder);
    decoder_destroy(decoder);
    return fault;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) {
        return 0;
    }
    const enum coding coding = data[0] % 2 == 0 ? CODING_GZIP : CODING_ZSTD;
    const struct parley_bytes body = {(const char *)data + 2, size - 2};
    struct parley_buffer whole, cut;
    parley_buffer_init(&whole);
    parley_buffer_init(&cut);
    const enum decoder_fault one = decode(coding, body, size, &whole);
    const enum decoder_fault other = decode(coding, body, 1 + (size_t)data[1], &cut);
    if (coding == CODING_GZIP) {
        require((one == DECODER_NO_FAULT) == (other == DECODER_NO_FAULT),
                "it is whole however it arrives");
        require(one != DECODER_NO_FAULT ||
                    parley_bytes_equal(parley_buffer_bytes(&whole), parley_buffer_bytes(&cut)),
                "the text is the same however it arrives");
    }
    require(whole.length <= DECODER_RATIO_FREE_BYTES + size * DECODER_RATIO_MAX + 2 * ROOM_BYTES,
            "what comes out has a bound");
    parley_buffer_finish(&whole);
    parley_buffer_finish(&cut);
    return 0;
}
