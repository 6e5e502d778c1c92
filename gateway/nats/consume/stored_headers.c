/* SPDX-License-Identifier: Apache-2.0 */

#include "stored_headers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "text.h"

/* Returns the text after `name` and its colon on this line; data NULL if it is another header's. */
static struct parley_bytes value_on(struct parley_bytes line, const char *name) {
    const size_t length = strlen(name);
    if (line.length <= length || line.data[length] != ':' ||
        strncasecmp(line.data, name, length) != 0) {
        return (struct parley_bytes){0};
    }
    const size_t start = length + 1 + (line.length > length + 1 && line.data[length + 1] == ' ');
    return (struct parley_bytes){line.data + start, line.length - start};
}

bool held_header(struct parley_bytes headers, const char *name, char *out, size_t size) {
    const char *at = headers.data, *end = headers.data + headers.length;
    while (at != NULL && at < end) {
        const char *line_end = memchr(at, '\r', (size_t)(end - at));
        line_end = line_end != NULL ? line_end : end;
        const struct parley_bytes value =
            value_on((struct parley_bytes){at, (size_t)(line_end - at)}, name);
        if (value.data != NULL) {
            if (value.length < size) {
                memcpy(out, value.data, value.length);
                out[value.length] = '\0';
            }
            return value.length < size;
        }
        at = memchr(line_end, '\n', (size_t)(end - line_end));
        at = at != NULL ? at + 1 : NULL;
    }
    return false;
}

struct held_header_of {
    struct parley_bytes headers;
    char value[64]; /* a longer one is none of an option */
};

static const char *find_header(void *context, const char *name) {
    struct held_header_of *of = context;
    return held_header(of->headers, name, of->value, sizeof of->value) ? of->value : NULL;
}

void held_options(struct parley_bytes headers, const struct parley_protocol *protocol,
                  struct parley_options *options) {
    struct held_header_of of = {.headers = headers};
    if (headers.data != NULL) {
        parley_options_read_headers(options, protocol, find_header, &of);
    }
}

/* Version 8 (RFC 9562) is for forms of one's own. */
void stored_id(const char *event_id, uint64_t sequence, char out[STORED_ID_SIZE]) {
    if (event_id != NULL && text_is_uuid(parley_bytes_of(event_id), false)) {
        memcpy(out, event_id, STORED_ID_SIZE);
    } else {
        const uint64_t low = sequence & UINT64_C(0xFFFFFFFFFFFF);
        snprintf(out, STORED_ID_SIZE, "00000000-0000-8000-8000-%012" PRIx64, low);
    }
}
