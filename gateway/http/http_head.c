/* SPDX-License-Identifier: Apache-2.0 */

/* Refuses the heads that libmicrohttpd accepts although two readers of HTTP may understand them
 * differently, which is how requests are smuggled past a proxy (RFC 9112, sections 2.2, 5 and 6).
 *
 * libmicrohttpd 0.9.75 hides some of it: a value ends for it at the first NUL, a folded line is
 * glued to the header's *name*, a bare LF ends a line. But it parses in place, so whatever it hid
 * shows as a gap between where one line ends and where the next one begins. This relies on how
 * that version lays out its buffer; with another layout every request is refused, and the first
 * test of test_http.c fails.
 *
 * It deliberately judges nothing else: what a header means is up to whoever asks for it. */

#include "http_internal.h"

#include <string.h>
#include <strings.h>

enum { CRLF_BYTES = 2, REQUEST_ID_MAX = 128 };

static void blame(struct http_head *head, const char *fault) {
    if (head->fault == NULL) {
        head->fault = fault;
    }
}

/* RFC 9110, section 5.6.2. */
static bool is_token_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-!#$%&'*+.^_`|~", c) != NULL);
}

static bool is_token(struct parley_bytes text) {
    for (size_t i = 0; i < text.length; i++) {
        if (!is_token_char(text.data[i])) {
            return false;
        }
    }
    return text.length > 0;
}

/* What a client may name its request: it goes into headers, logs and problems as it is. */
static bool is_request_id(struct parley_bytes text) {
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~') {
            return false;
        }
    }
    return text.length > 0 && text.length <= REQUEST_ID_MAX;
}

void http_head_start(struct http_head *head, const char *method, const char *target,
                     const char *target_end, const char *version) {
    *head = (struct http_head){.is_1_0 = strcmp(version, "HTTP/1.0") == 0};
    if (!is_token(parley_bytes_of(method)) || method + strlen(method) + 1 != target ||
        target_end + 1 != version) {
        blame(head, "The request line is not a method, a target and a version with one blank "
                    "between each.");
    }
    head->next = version + strlen(version) + CRLF_BYTES;
}

static bool is_named(struct parley_bytes name, struct parley_bytes wanted) {
    return name.length == wanted.length && strncasecmp(name.data, wanted.data, name.length) == 0;
}

/* Keeps what http.c needs of it, so that nobody has to look it up again. */
static void recognise(struct http_head *head, struct parley_bytes name, struct parley_bytes value) {
    if (is_named(name, PARLEY_BYTES("Content-Length"))) {
        head->length_count++;
        head->content_length = value.data;
    } else if (is_named(name, PARLEY_BYTES("Transfer-Encoding"))) {
        head->encoding_count++;
        head->is_chunked = is_named(value, PARLEY_BYTES("chunked"));
    } else if (is_named(name, PARLEY_BYTES("Host"))) {
        head->host_count++;
    } else if (is_named(name, PARLEY_BYTES("Expect"))) {
        head->expects_continue = !head->is_1_0 && is_named(value, PARLEY_BYTES("100-continue"));
    } else if (is_named(name, PARLEY_BYTES("X-Request-Id"))) {
        if (head->request_id == NULL && is_request_id(value)) {
            head->request_id = value.data;
        }
    }
}

void http_head_field(struct http_head *head, struct parley_bytes name, struct parley_bytes value) {
    if (name.data != head->next || memchr(value.data, '\r', value.length) != NULL) {
        blame(head, "A line of the head does not end in CRLF, is folded, or holds a NUL or CR.");
    }
    if (!is_token(name)) {
        blame(head, "A header's name holds a byte that no name can have.");
    }
    head->next = value.data + value.length + CRLF_BYTES;
    recognise(head, name, value);
}

const char *http_head_end(struct http_head *head, const char *end) {
    if (head->next + CRLF_BYTES != end) {
        blame(head, "A line of the head does not end in CRLF, is folded, or holds a NUL or CR.");
    }
    if (head->length_count > 0 && head->encoding_count > 0) {
        blame(head, "The request has both Content-Length and Transfer-Encoding.");
    }
    if (head->length_count > 1) {
        blame(head, "The request has several Content-Length headers.");
    }
    if (head->encoding_count > 1 || (head->encoding_count == 1 && !head->is_chunked)) {
        blame(head, "The only Transfer-Encoding that is understood is chunked, named once.");
    }
    if (head->encoding_count > 0 && head->is_1_0) {
        blame(head, "HTTP/1.0 knows no Transfer-Encoding.");
    }
    if (head->host_count > 1 || (head->host_count == 0 && !head->is_1_0)) {
        blame(head, "A request of HTTP/1.1 names its Host, once."); /* RFC 9112, section 3.2 */
    }
    return head->fault;
}
