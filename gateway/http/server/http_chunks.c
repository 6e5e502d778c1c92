/* SPDX-License-Identifier: Apache-2.0 */

/* libmicrohttpd 0.9.75 ends lines of a chunked body at a bare LF, and does not look at trailers.
 * A proxy in front of us may read these bytes differently, and take a part of the body
 * for the next request. So they are followed here (mhd_recv.c), and anything doubtful is a
 * fault. */

#include "http_chunks.h"

#include <string.h>
#include <strings.h>

enum { SIZE_DIGITS_MAX = 15 };

static void blame(struct http_chunks *chunks, const char *fault) {
    chunks->fault = fault;
}

static bool is_control(char c) {
    return ((unsigned char)c < ' ' && c != '\t') || c == '\x7f';
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Finds the line at the start of `bytes`, of at most `max` bytes with its end.
 * Returns: its length with its end; 0 if it is incomplete, or for a fault. */
static size_t find_line(struct http_chunks *chunks, struct parley_bytes bytes, size_t max,
                        const char *too_long) {
    for (size_t i = 0; i < bytes.length && i < max; i++) {
        if (bytes.data[i] == '\n' && i > 0 && bytes.data[i - 1] == '\r') {
            return i + 1;
        }
        const bool is_end =
            bytes.data[i] == '\r' && (i + 1 == bytes.length || bytes.data[i + 1] == '\n');
        if (is_control(bytes.data[i]) && !is_end) {
            blame(chunks, "A line of the chunked body does not end in CRLF, or contains a control "
                          "character.");
            return 0;
        }
    }
    if (bytes.length >= max) {
        blame(chunks, too_long);
    }
    return 0;
}

static size_t follow_size(struct http_chunks *chunks, struct parley_bytes bytes) {
    const char *fault = "The size of a chunk is not a hexadecimal number of bytes.";
    const size_t length = find_line(chunks, bytes, HTTP_CHUNK_LINE_MAX,
                                    "The line of a chunk's size has more than 256 bytes.");
    uint64_t size = 0;
    size_t at = 0, digits = 0;
    for (; at < bytes.length && hex_digit(bytes.data[at]) >= 0; at++) {
        size = size * 16 + (uint64_t)hex_digit(bytes.data[at]);
        digits += size > 0;
        if (digits > SIZE_DIGITS_MAX) {
            blame(chunks, fault);
            return 0;
        }
    }
    const bool is_number =
        at == bytes.length || (at > 0 && (bytes.data[at] == ';' || bytes.data[at] == '\r'));
    if (chunks->fault == NULL && !is_number) {
        blame(chunks, fault);
    }
    if (chunks->fault != NULL || length == 0) {
        return 0;
    }
    chunks->left = size;
    chunks->phase = size > 0 ? HTTP_CHUNK_DATA : HTTP_CHUNK_TRAILERS;
    return length;
}

static size_t follow_data(struct http_chunks *chunks, struct parley_bytes bytes) {
    const size_t length = bytes.length < chunks->left ? bytes.length : (size_t)chunks->left;
    chunks->left -= length;
    if (chunks->left == 0) {
        chunks->phase = HTTP_CHUNK_DATA_END;
    }
    return length;
}

static size_t follow_data_end(struct http_chunks *chunks, struct parley_bytes bytes) {
    const size_t length = bytes.length < 2 ? bytes.length : 2;
    if (memcmp(bytes.data, "\r\n", length) != 0) {
        blame(chunks, "The data of a chunk does not end in CRLF.");
        return 0;
    }
    if (length < 2) {
        return 0;
    }
    chunks->phase = HTTP_CHUNK_SIZE;
    return length;
}

/* RFC 9110, section 6.5.1: fields that frame, route or describe a message cannot come after it. */
static bool is_misplaced(struct parley_bytes name) {
    static const char *const names[] = {
        "Transfer-Encoding", "Content-Length",   "Host",          "Connection",
        "Content-Type",      "Content-Encoding", "Content-Range", "Authorization",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i]) == name.length && strncasecmp(names[i], name.data, name.length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_name(struct parley_bytes name) {
    static const char chars[] = "-!#$%&'*+.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (size_t i = 0; i < name.length; i++) {
        if (memchr(chars, name.data[i], sizeof chars - 1) == NULL) {
            return false;
        }
    }
    return name.length > 0;
}

static size_t follow_trailer(struct http_chunks *chunks, struct parley_bytes bytes) {
    static const char too_long[] = "The trailers of the body have more than 4 KiB.";
    const size_t length =
        find_line(chunks, bytes, HTTP_TRAILERS_MAX - chunks->trailer_bytes, too_long);
    if (length == 0) {
        return 0;
    }
    chunks->trailer_bytes += length;
    if (length == 2) {
        chunks->phase = HTTP_CHUNKS_END;
        return length;
    }
    const char *colon = memchr(bytes.data, ':', length);
    const struct parley_bytes name = {bytes.data, colon != NULL ? (size_t)(colon - bytes.data) : 0};
    if (!is_name(name)) {
        blame(chunks, "A trailer is not a name, a colon and a value on one line.");
        return 0;
    }
    if (is_misplaced(name)) {
        blame(chunks, "A trailer has a name that is allowed only for headers.");
        return 0;
    }
    return length;
}

/* Returns: how many of the bytes were read; 0 if a line is incomplete, or for a fault. */
static size_t follow(struct http_chunks *chunks, struct parley_bytes bytes) {
    switch (chunks->phase) {
    case HTTP_CHUNK_SIZE:
        return follow_size(chunks, bytes);
    case HTTP_CHUNK_DATA:
        return follow_data(chunks, bytes);
    case HTTP_CHUNK_DATA_END:
        return follow_data_end(chunks, bytes);
    case HTTP_CHUNK_TRAILERS:
        return follow_trailer(chunks, bytes);
    case HTTP_CHUNKS_END:
        break;
    }
    return 0;
}

struct parley_bytes http_chunks_gather(struct http_chunks *chunks, char *bytes, size_t length,
                                       size_t *used) {
    char *start = bytes, *end = bytes; /* of the data so far */
    size_t at = 0, step = 1;
    for (; at < length && step > 0; at += step) {
        const bool is_data = chunks->phase == HTTP_CHUNK_DATA;
        step = follow(chunks, (struct parley_bytes){bytes + at, length - at});
        if (is_data && end == start) {
            start = bytes + at; /* the first stays where it is */
            end = start + step;
        } else if (is_data) {
            memmove(end, bytes + at, step);
            end += step;
        }
    }
    *used = at;
    return (struct parley_bytes){start, (size_t)(end - start)};
}
