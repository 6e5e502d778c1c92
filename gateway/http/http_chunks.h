/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whether the framing of a chunked body is what RFC 9112, section 7.1, says, to the letter. It
 * looks at the bytes and changes none. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/bytes.h>

enum {
    HTTP_CHUNK_LINE_MAX = 256, /* bytes of a chunk's size with its extensions */
    HTTP_TRAILERS_MAX = 4096,  /* bytes, with the empty line at their end */
};

enum http_chunks_phase {
    HTTP_CHUNK_SIZE,
    HTTP_CHUNK_DATA,
    HTTP_CHUNK_DATA_END,
    HTTP_CHUNK_TRAILERS,
    HTTP_CHUNKS_END,
};

/* One that is zeroed is at the beginning of a body. */
struct http_chunks {
    enum http_chunks_phase phase;
    uint64_t left; /* of the chunk's data */
    size_t trailer_bytes;
    const char *fault; /* NULL: none */
};

/* Looks at the next bytes of a body, up to its end, a fault, or a line that is not whole yet.
 * `bytes`: begins where the last call stopped.
 * Returns: how many were looked at; the rest is to be shown again, with more, or is not of this
 * body.  *data_length: how many of them lie before the trailers. */
size_t http_chunks_follow(struct http_chunks *chunks, struct parley_bytes bytes,
                          size_t *data_length);
