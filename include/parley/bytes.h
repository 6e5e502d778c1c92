/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A run of bytes that is borrowed from its owner. It is not NUL-terminated, and may contain NUL
 * bytes. */

#include <stddef.h>
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

static inline int parley_bytes_equal(struct parley_bytes a, struct parley_bytes b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}
