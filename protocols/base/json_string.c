/* SPDX-License-Identifier: Apache-2.0 */

/* Escapes, and bytes that are not ASCII: the slow part of strings. */

#include "json_string.h"

#include "text.h"

static int hex_value(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = (char)(c | 32);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

long json_string_unit(const char *at, const char *end) {
    long unit = 0;
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') {
        return -1;
    }
    for (int i = 2; i < 6; i++) {
        const int digit = hex_value(at[i]);
        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

/* The end of the escape at `at`; NULL: it is not valid. */
static const char *skip_escape(const char *at, const char *end) {
    if (end - at < 2) {
        return NULL;
    }
    if (at[1] != 'u') {
        return at[1] != '\0' && strchr("\"\\/bfnrt", at[1]) != NULL ? at + 2 : NULL;
    }
    const long unit = json_string_unit(at, end);
    at += 6;
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        const long second = json_string_unit(at, end);
        return second >= 0xDC00 && second <= 0xDFFF ? at + 6 : NULL;
    }
    return unit >= 0 && !(unit >= 0xDC00 && unit <= 0xDFFF) ? at : NULL;
}

const char *json_string_rest(const char *at, const char *end, bool *out_has_escapes) {
    *out_has_escapes = false;
    while (at != NULL && at < end && *at != '"') {
        const unsigned char c = (unsigned char)*at;
        if (c == '\\') {
            *out_has_escapes = true;
            at = skip_escape(at, end);
        } else if (c >= 0x80) {
            const char *after = text_utf8_run(at, end);
            at = after > at ? after : NULL;
        } else {
            at = c >= 0x20 ? json_string_plain(at, end) : NULL;
        }
    }
    return at != end ? at : NULL;
}

static char *put_utf8(char *out, unsigned long code) {
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    if (code < 0x800) {
        *out++ = (char)(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *out++ = (char)(0xE0 | code >> 12);
        } else {
            *out++ = (char)(0xF0 | code >> 18);
            *out++ = (char)(0x80 | (code >> 12 & 63));
        }
        *out++ = (char)(0x80 | (code >> 6 & 63));
    }
    *out++ = (char)(0x80 | (code & 63));
    return out;
}

size_t json_string_write(struct parley_bytes raw, char *out) {
    static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    char *to = out;
    const char *end = raw.data + raw.length;
    for (const char *at = raw.data; at < end;) {
        if (*at != '\\') {
            *to++ = *at++;
        } else if (at[1] != 'u') {
            *to++ = strchr(escapes, at[1])[1];
            at += 2;
        } else {
            unsigned long code = (unsigned long)json_string_unit(at, end);
            at += 6;
            if (code >= 0xD800 && code <= 0xDBFF) {
                code = 0x10000 + ((code - 0xD800) << 10) +
                       ((unsigned long)json_string_unit(at, end) - 0xDC00);
                at += 6;
            }
            to = put_utf8(to, code);
        }
    }
    return (size_t)(to - out);
}

bool json_string_decode(struct parley_arena *arena, struct parley_bytes raw,
                        struct parley_bytes *out) {
    char *decoded = parley_arena_allocate(arena, raw.length + 1);
    if (decoded == NULL) {
        return false;
    }
    *out = (struct parley_bytes){decoded, json_string_write(raw, decoded)};
    return true;
}

/* Decodes the valid escape from `at` to `after` into UTF-8. */
static size_t escaped_bytes(const char *at, const char *after) {
    enum { ESCAPED_UNIT_BYTES = 6 };
    if (at[1] != 'u') {
        return 1;
    }
    const long unit = json_string_unit(at, after);
    return after - at > ESCAPED_UNIT_BYTES ? 4 : unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
}

size_t json_string_bytes(struct parley_bytes raw) {
    const char *end = raw.data + raw.length;
    const char *at = memchr(raw.data, '\\', raw.length);
    size_t bytes = raw.length;
    while (at != NULL) {
        const char *after = skip_escape(at, end);
        bytes -= (size_t)(after - at) - escaped_bytes(at, after);
        at = memchr(after, '\\', (size_t)(end - after));
    }
    return bytes;
}
