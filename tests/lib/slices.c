/* SPDX-License-Identifier: Apache-2.0 */

/* Drives a splitter as the gateway does. Running out of memory is no case here: it aborts. */

#include "slices.h"

#include <stdlib.h>

static void write_slice(struct parley_buffer *out, enum parley_split split,
                        const struct parley_slice *slice) {
    const char *kind = split == PARLEY_SPLIT_MESSAGE ? "message"
                       : split == PARLEY_SPLIT_SIZE  ? "size"
                                                     : "fault";
    parley_buffer_format(out, "%s %zu at ", kind, slice->number);
    if (slice->origin.line == PARLEY_IN_BYTES) {
        parley_buffer_format(out, "%zu", slice->origin.column);
    } else {
        parley_buffer_format(out, "%zu:%zu", slice->origin.line, slice->origin.column);
    }
    if (split == PARLEY_SPLIT_MESSAGE) {
        parley_buffer_char(out, ' ');
        parley_buffer_append(out, slice->bytes);
    } else if (split == PARLEY_SPLIT_FAULT) {
        parley_buffer_format(out, " %s", slice->fault);
    }
    parley_buffer_char(out, '\n');
}

static void feed(struct parley_splitter *splitter, struct parley_bytes piece, size_t abandon_at,
                 struct parley_buffer *out) {
    char *copy = malloc(piece.length + 1); /* a piece of nothing has an address too */
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, piece.data, piece.length);
    struct parley_bytes input = {copy, piece.length};
    struct parley_slice slice;
    enum parley_split split;
    while ((split = parley_splitter_next(splitter, &input, &slice)) != PARLEY_SPLIT_MORE) {
        if (split == PARLEY_SPLIT_MEMORY || split == PARLEY_SPLIT_END) {
            abort();
        }
        write_slice(out, split, &slice);
        if (abandon_at != 0 && slice.number == abandon_at) {
            parley_splitter_abandon(splitter);
        }
    }
    if (input.length != 0) {
        abort();
    }
    free(copy);
}

void slices_write(struct parley_buffer *out, enum parley_framing framing, size_t limit,
                  struct parley_bytes body, const size_t *cuts, size_t cut_count,
                  size_t abandon_at) {
    struct parley_splitter splitter;
    parley_splitter_init(&splitter, framing, limit);
    size_t at = 0;
    for (size_t i = 0; i <= cut_count; i++) {
        const size_t end = i < cut_count ? cuts[i] : body.length;
        feed(&splitter, (struct parley_bytes){body.data + at, end - at}, abandon_at, out);
        at = end;
    }
    struct parley_slice slice;
    enum parley_split split;
    while ((split = parley_splitter_end(&splitter, &slice)) != PARLEY_SPLIT_END) {
        if (split == PARLEY_SPLIT_MEMORY || split == PARLEY_SPLIT_MORE) {
            abort();
        }
        write_slice(out, split, &slice);
    }
    parley_splitter_finish(&splitter);
}
