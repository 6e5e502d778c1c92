/* SPDX-License-Identifier: Apache-2.0 */

/* A growing buffer with a sticky failure, and JSON strings written into it. */

#include <parley/buffer.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "json_string.h"
#include "number.h"
#include "text.h"

void parley_buffer_init(struct parley_buffer *buffer) {
    *buffer = (struct parley_buffer){0};
}

void parley_buffer_finish(struct parley_buffer *buffer) {
    free(buffer->data);
    parley_buffer_init(buffer);
}

void parley_buffer_clear(struct parley_buffer *buffer) {
    buffer->length = 0;
    buffer->has_failed = buffer->is_over_limit = false;
}

bool parley_buffer_reserve(struct parley_buffer *buffer, size_t more) {
    if (buffer->has_failed) {
        return false;
    }
    if (more <= buffer->capacity - buffer->length) {
        return true;
    }
    size_t capacity = buffer->capacity < 128 ? 256 : buffer->capacity * 2;
    if (capacity - buffer->length < more) {
        capacity = buffer->length + more;
    }
    char *data = more < SIZE_MAX / 4 ? realloc(buffer->data, capacity) : NULL;
    if (data == NULL) {
        buffer->has_failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void parley_buffer_append_slowly(struct parley_buffer *buffer, struct parley_bytes bytes) {
    const bool is_over =
        buffer->limit_bytes != 0 && buffer->length + bytes.length > buffer->limit_bytes;
    if (is_over && !buffer->has_failed) {
        buffer->has_failed = buffer->is_over_limit = true;
    }
    if (bytes.length > 0 && parley_buffer_reserve(buffer, bytes.length)) {
        memcpy(buffer->data + buffer->length, bytes.data, bytes.length);
        buffer->length += bytes.length;
    }
}

/* Prints into the room that is left, and a second time only if that was too small. */
void parley_buffer_format(struct parley_buffer *buffer, const char *format, ...) {
    va_list arguments, again;
    if (!parley_buffer_reserve(buffer, 64)) {
        return;
    }
    va_start(arguments, format);
    va_copy(again, arguments);
    const size_t room = buffer->capacity - buffer->length;
    const int length = vsnprintf(buffer->data + buffer->length, room, format, arguments);
    va_end(arguments);
    if (length < 0) {
        buffer->has_failed = true;
    } else if ((size_t)length < room) {
        buffer->length += (size_t)length;
    } else if (parley_buffer_reserve(buffer, (size_t)length + 1)) {
        vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
}

void parley_buffer_uint(struct parley_buffer *buffer, uint64_t number) {
    char digits[20]; /* of 2^64 - 1 */
    char *first = digits + sizeof digits;
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    parley_buffer_append(buffer,
                         (struct parley_bytes){first, (size_t)(digits + sizeof digits - first)});
}

void parley_buffer_number(struct parley_buffer *buffer, double number) {
    static const double exact_below = 9007199254740992.0; /* 2^53 */
    if (fabs(number) < exact_below && number == floor(number)) {
        parley_buffer_format(buffer, "%.0f", number);
    } else {
        number_write(buffer, number);
    }
}

enum { STEP_BYTES = 16, SPECIAL_BYTES_MAX = 6, PIECE_BYTES = 512 };

static size_t write_escape(char c, char *out) {
    static const char letters['\\' + 1] = {
        ['"'] = '"', ['\\'] = '\\', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    const char letter = letters[(unsigned char)c];
    if (letter == '\0') {
        static const char digits[] = "0123456789abcdef";
        const char escape[SPECIAL_BYTES_MAX] = {'\\',           'u',           '0', '0',
                                                digits[c >> 4], digits[c & 15]};
        memcpy(out, escape, sizeof escape);
        return sizeof escape;
    }
    out[0] = '\\';
    out[1] = letter;
    return 2;
}

/* Writes ASCII, at most STEP_BYTES of it, for whose escapes there is room.  Returns: how many bytes
 * were written, and, in *at, where it stopped. */
static inline size_t write_ascii(const char **at, const char *end, char *out) {
    char *const start = out;
#ifdef __SSE2__
    if (end - *at >= 2 * STEP_BYTES) { /* as many as are copied at once, from any of them on */
        const char *const step = *at, *from = step;
        for (unsigned left = json_string_sixteen(step); left != 0; left &= left - 1) {
            const char *special = step + __builtin_ctz(left);
            memcpy(out, from, STEP_BYTES);
            out += special - from;
            *at = special;
            if ((signed char)*special >= ' ') { /* a quote or a backslash follows its own escape */
                *out++ = '\\';
                from = special;
            } else if ((signed char)*special >= 0) {
                out += write_escape(*special, out);
                from = special + 1;
            } else {
                return (size_t)(out - start);
            }
        }
        memcpy(out, from, STEP_BYTES);
        *at = step + STEP_BYTES;
        return (size_t)(out - start) + (size_t)(*at - from);
    }
#endif
    const char *special = json_string_plain(*at, end - *at < STEP_BYTES ? end : *at + STEP_BYTES);
    const size_t length = (size_t)(special - *at);
    memcpy(out, *at, length);
    out += length;
    *at = special;
    if (length < STEP_BYTES && special < end && (signed char)*special >= 0) {
        out += write_escape(*(*at)++, out);
    }
    return (size_t)(out - start);
}

/* Writes a sequence of UTF-8, and steps over it.  Returns: how many bytes were written. */
static size_t write_sequence(const char **at, const char *end, char *out) {
    const size_t length = text_utf8_sequence(*at, (size_t)(end - *at));
    const struct parley_bytes text =
        length > 0 ? (struct parley_bytes){*at, length} : PARLEY_BYTES("\xEF\xBF\xBD");
    memcpy(out, text.data, text.length);
    *at += length > 0 ? length : 1;
    return text.length;
}

/* JSON within JSON has a quote every few bytes: they are gathered before they are appended. */
void parley_buffer_json(struct parley_buffer *buffer, struct parley_bytes bytes) {
    char piece[PIECE_BYTES + (STEP_BYTES + 1) * SPECIAL_BYTES_MAX + STEP_BYTES];
    size_t length = 0;
    piece[length++] = '"';
    for (const char *at = bytes.data, *end = at + bytes.length; at < end;) {
        length += (signed char)*at < 0 ? write_sequence(&at, end, piece + length)
                                       : write_ascii(&at, end, piece + length);
        if (length >= PIECE_BYTES) {
            parley_buffer_append(buffer, (struct parley_bytes){piece, length});
            length = 0;
        }
    }
    piece[length++] = '"';
    parley_buffer_append(buffer, (struct parley_bytes){piece, length});
}
