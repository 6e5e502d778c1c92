/* SPDX-License-Identifier: Apache-2.0 */

/* Cuts one body in three ways, and compares what splitters make of it. */

#include "chunks.h"

#include <stdio.h>
#include <stdlib.h>

bool chunks_read(const uint8_t *data, size_t size, struct chunks *out) {
    if (size < 2 || size - 2 < data[1]) {
        return false;
    }
    out->first = data[0];
    out->body = (struct parley_bytes){(const char *)data + 2 + data[1], size - 2 - (size_t)data[1]};
    size_t at = 0;
    out->cut_count = 0;
    for (size_t i = 0; i < data[1]; i++) {
        at += data[2 + i];
        if (at <= out->body.length) {
            out->cuts[out->cut_count++] = at;
        }
    }
    return true;
}

static void compare(const struct chunks *chunks, enum parley_framing framing, size_t limit,
                    const size_t *cuts, size_t cut_count, const struct parley_buffer *whole) {
    struct parley_buffer cut;
    parley_buffer_init(&cut);
    slices_write(&cut, framing, limit, chunks->body, cuts, cut_count, 0);
    if (!parley_bytes_equal(parley_buffer_bytes(whole), parley_buffer_bytes(&cut))) {
        fprintf(stderr, "whole:\n%.*s\ncut:\n%.*s\n", (int)whole->length, whole->data,
                (int)cut.length, cut.data);
        require(false, "the messages are the same however the body arrives");
    }
    parley_buffer_finish(&cut);
}

void chunks_compare(const struct chunks *chunks, enum parley_framing framing, size_t limit) {
    struct parley_buffer whole;
    parley_buffer_init(&whole);
    slices_write(&whole, framing, limit, chunks->body, NULL, 0, 0);
    compare(chunks, framing, limit, chunks->cuts, chunks->cut_count, &whole);
    size_t *bytes = malloc((chunks->body.length + 1) * sizeof *bytes);
    require(bytes != NULL, "there is memory");
    for (size_t i = 0; i < chunks->body.length; i++) {
        bytes[i] = i;
    }
    compare(chunks, framing, limit, bytes, chunks->body.length, &whole);
    free(bytes);
    parley_buffer_finish(&whole);
}
