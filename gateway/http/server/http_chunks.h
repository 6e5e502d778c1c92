/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Checks that the framing of a chunked body follows RFC 9112, section 7.1, to the letter. It keeps
 * the data and removes the framing. */

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
    const char *fault; /* NULL if there is none */
};

/* Reads the next bytes of a body, up to its end, a fault, or an incomplete line.
 * `bytes`: begins where the last call stopped; the data of its chunks is moved together in it.
 * Returns: that data.  *used: how many bytes were read; the rest must be passed again, with more,
 * or does not belong to this body. */
struct parley_bytes http_chunks_gather(struct http_chunks *chunks, char *bytes, size_t length,
                                       size_t *used);
