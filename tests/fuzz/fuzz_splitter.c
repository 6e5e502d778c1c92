/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the splitter: a body gives the same messages whole, in the pieces that the input asks for,
 * and byte by byte.
 *
 *   byte 0: bit 0 the framing, the rest the limit
 *   byte 1: how many pieces; then a byte a piece, its length
 *   and the body */

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/slices.h"

struct input {
    enum parley_framing framing;
    size_t limit;
    struct parley_bytes body;
    size_t cuts[256];
    size_t cut_count;
};

static bool read_input(const uint8_t *data, size_t size, struct input *input) {
    if (size < 2 || size - 2 < data[1]) {
        return false;
    }
    input->framing = (data[0] & 1) != 0 ? PARLEY_FRAMING_JSON : PARLEY_FRAMING_LINES;
    input->limit = data[0] >> 1;
    input->body =
        (struct parley_bytes){(const char *)data + 2 + data[1], size - 2 - (size_t)data[1]};
    size_t at = 0;
    for (size_t i = 0; i < data[1]; i++) {
        at += data[2 + i];
        if (at <= input->body.length) {
            input->cuts[input->cut_count++] = at;
        }
    }
    return true;
}

static void compare(const struct input *input, const size_t *cuts, size_t cut_count,
                    const struct parley_buffer *whole) {
    struct parley_buffer cut;
    parley_buffer_init(&cut);
    slices_write(&cut, input->framing, input->limit, input->body, cuts, cut_count, 0);
    if (!parley_bytes_equal(parley_buffer_bytes(whole), parley_buffer_bytes(&cut))) {
        fprintf(stderr, "whole:\n%.*s\ncut:\n%.*s\n", (int)whole->length, whole->data,
                (int)cut.length, cut.data);
        demand(false, "the messages are the same however the body arrives");
    }
    parley_buffer_finish(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {0};
    if (!read_input(data, size, &input)) {
        return 0;
    }
    struct parley_buffer whole;
    parley_buffer_init(&whole);
    slices_write(&whole, input.framing, input.limit, input.body, NULL, 0, 0);
    compare(&input, input.cuts, input.cut_count, &whole);
    size_t *bytes = malloc((input.body.length + 1) * sizeof *bytes);
    demand(bytes != NULL, "there is memory");
    for (size_t i = 0; i < input.body.length; i++) {
        bytes[i] = i;
    }
    compare(&input, bytes, input.body.length, &whole);
    free(bytes);
    parley_buffer_finish(&whole);
    return 0;
}
