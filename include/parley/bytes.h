/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A run of bytes that is borrowed from its owner. It is not NUL-terminated, and may contain NUL
 * bytes. */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct parley_bytes {
    const char *data;
    size_t length;
};

/* The bytes of a string literal, without its NUL. */
#define PARLEY_BYTES(literal) ((struct parley_bytes){(literal), sizeof(literal) - 1})

static inline struct parley_bytes parley_bytes_of(const char *text) {
    return (struct parley_bytes){text, text != NULL ? strlen(text) : 0};
}

/* Copies all of them, also those after a NUL byte, which strndup leaves out, and adds a NUL.
 * Owns: returns a new block, for free.  Returns: NULL: data is NULL, or there is no memory. */
static inline char *parley_bytes_copy(struct parley_bytes bytes) {
    char *copy = bytes.data != NULL ? (char *)malloc(bytes.length + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, bytes.data, bytes.length);
        copy[bytes.length] = '\0';
    }
    return copy;
}

static inline int parley_bytes_equal(struct parley_bytes a, struct parley_bytes b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}
