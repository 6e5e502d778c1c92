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

static void append_escape(struct parley_buffer *buffer, unsigned char c) {
    switch (c) {
    case '"':
        parley_buffer_text(buffer, "\\\"");
        break;
    case '\\':
        parley_buffer_text(buffer, "\\\\");
        break;
    case '\n':
        parley_buffer_text(buffer, "\\n");
        break;
    case '\r':
        parley_buffer_text(buffer, "\\r");
        break;
    case '\t':
        parley_buffer_text(buffer, "\\t");
        break;
    default:
        parley_buffer_format(buffer, "\\u%04x", c);
    }
}

void parley_buffer_json(struct parley_buffer *buffer, struct parley_bytes bytes) {
    parley_buffer_char(buffer, '"');
    const char *written = bytes.data, *end = bytes.data + bytes.length;
    for (const char *at = bytes.data; at < end;) {
        const char *special = text_utf8_run(json_string_plain(at, end), end);
        if (special == end || json_string_is_plain(*special)) {
            at = special;
            continue;
        }
        parley_buffer_append(buffer, (struct parley_bytes){written, (size_t)(special - written)});
        if ((unsigned char)*special >= 0x80) { /* no UTF-8 */
            parley_buffer_text(buffer, "\xEF\xBF\xBD");
        } else {
            append_escape(buffer, (unsigned char)*special);
        }
        written = at = special + 1;
    }
    parley_buffer_append(buffer, (struct parley_bytes){written, (size_t)(end - written)});
    parley_buffer_char(buffer, '"');
}
