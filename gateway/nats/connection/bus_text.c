/* SPDX-License-Identifier: Apache-2.0 */

/* Subjects and headers as bytes on the wire. nats.c checks neither, and sends headers that are
 * written out as they are. */

#include "bus_text.h"

#include <string.h>

size_t bus_headers_bytes(const struct bus_header *headers, size_t header_count) {
    if (header_count == 0) {
        return 0;
    }
    size_t bytes = strlen("NATS/1.0\r\n\r\n");
    for (size_t i = 0; i < header_count; i++) {
        bytes += strlen(headers[i].name) + strlen(headers[i].value) + strlen(": \r\n");
    }
    return bytes;
}

bool bus_subject_can_be(const char *subject) {
    char before = '.';
    for (const char *at = subject; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if (c <= ' ' || c == 0x7f || c == '*' || c == '>' || (c == '.' && before == '.')) {
            return false;
        }
        before = *at;
    }
    return before != '.';
}

/* Whether a header is valid; the lengths are known by then. */
static bool can_be_header(struct parley_bytes name, struct parley_bytes value) {
    return name.length > 0 && strpbrk(name.data, ":\r\n \t") == NULL &&
           memchr(value.data, '\r', value.length) == NULL &&
           memchr(value.data, '\n', value.length) == NULL;
}

static char *put(char *at, struct parley_bytes bytes) {
    memcpy(at, bytes.data, bytes.length);
    return at + bytes.length;
}

bool bus_headers_write(struct parley_buffer *out, const struct bus_header *headers,
                       size_t header_count) {
    char *at = put(out->data + out->length, PARLEY_BYTES("NATS/1.0\r\n"));
    for (size_t i = 0; i < header_count; i++) {
        const struct parley_bytes name = parley_bytes_of(headers[i].name);
        const struct parley_bytes value = parley_bytes_of(headers[i].value);
        if (!can_be_header(name, value)) {
            return false;
        }
        at = put(put(put(at, name), PARLEY_BYTES(": ")), value);
        at = put(at, PARLEY_BYTES("\r\n"));
    }
    at = put(at, PARLEY_BYTES("\r\n"));
    out->length = (size_t)(at - out->data);
    return true;
}
