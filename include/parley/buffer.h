/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A growing run of bytes to write text into. Failure is sticky: append as often as needed, and
 * check once, at the end, whether everything was written. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <parley/bytes.h>
#include <parley/status.h>

struct parley_buffer {
    char *data;
    size_t length;
    size_t capacity;
    bool has_failed;    /* an append failed; it and all later ones were dropped */
    size_t limit_bytes; /* an append that would exceed it fails, unless its room was reserved; 0: no
                           limit. Not changed by clear */
    bool is_over_limit; /* it failed because of the limit */
};

void parley_buffer_init(struct parley_buffer *buffer);
void parley_buffer_finish(struct parley_buffer *buffer);

/* Empties the buffer and clears the failure; keeps the memory for the next use. */
void parley_buffer_clear(struct parley_buffer *buffer);

/* Makes room for `more` bytes after the current end.  Returns: false when there is no memory. */
bool parley_buffer_reserve(struct parley_buffer *buffer, size_t more);

/* The slow path of parley_buffer_append: a limit, a failure, or no room yet. */
void parley_buffer_append_slowly(struct parley_buffer *buffer, struct parley_bytes bytes);

/* Inline, since most texts are short. */
static inline void parley_buffer_append(struct parley_buffer *buffer, struct parley_bytes bytes) {
    const bool is_plain = buffer->limit_bytes == 0 && !buffer->has_failed && bytes.length > 0;
    if (is_plain && bytes.length <= buffer->capacity - buffer->length) {
        memcpy(buffer->data + buffer->length, bytes.data, bytes.length);
        buffer->length += bytes.length;
    } else {
        parley_buffer_append_slowly(buffer, bytes);
    }
}

static inline void parley_buffer_text(struct parley_buffer *buffer, const char *text) {
    parley_buffer_append(buffer, parley_bytes_of(text));
}

static inline void parley_buffer_char(struct parley_buffer *buffer, char c) {
    parley_buffer_append(buffer, (struct parley_bytes){&c, 1});
}

void parley_buffer_format(struct parley_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* `number` in decimal, at a fraction of what parley_buffer_format costs. */
void parley_buffer_uint(struct parley_buffer *buffer, uint64_t number);

/* `number`, which is finite, in the fewest digits that read back the same; one that is whole, and
 * exact as a double, as an integer: 1, 0.1, 1705392000, 1e300. */
void parley_buffer_number(struct parley_buffer *buffer, double number);

/* `bytes` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void parley_buffer_json(struct parley_buffer *buffer, struct parley_bytes bytes);

static inline struct parley_bytes parley_buffer_bytes(const struct parley_buffer *buffer) {
    return (struct parley_bytes){buffer->data, buffer->length};
}

/* Returns: PARLEY_E_MEMORY or PARLEY_E_LIMIT if any append failed since init or clear. */
static inline enum parley_status parley_buffer_status(const struct parley_buffer *buffer) {
    return !buffer->has_failed     ? PARLEY_OK
           : buffer->is_over_limit ? PARLEY_E_LIMIT
                                   : PARLEY_E_MEMORY;
}
