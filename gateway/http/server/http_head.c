/* SPDX-License-Identifier: Apache-2.0 */

/* Reads heads, and refuses those that two readers of HTTP may understand differently, which is
 * how requests are smuggled past a proxy: a line that does not end in CRLF, a folded line, a blank
 * before a colon, a NUL, two lengths. libmicrohttpd 0.9.75 accepts all of them, so it is given a
 * head that is rewritten from the one read here (mhd_recv.c).
 *
 * It deliberately checks nothing else: the meaning of a header is up to its user. */

#include "http_head.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "prefer.h"

enum {
    CRLF_BYTES = 2,
    REQUEST_ID_MAX = 128,
    LENGTH_DIGITS_MAX = 18,
    VERSION_BYTES = 8,
    KEPT_BYTES_MAX = 2048
};

static_assert(HTTP_HEAD_MAX < UINT16_MAX, "struct http_place has 16 bits for a place");

static void blame(struct http_head *head, unsigned status, const char *fault) {
    if (head->fault == NULL) {
        head->status = status;
        head->fault = fault;
    }
}

static const char *const line_end_fault =
    "A line of the head does not end in CRLF, or contains a NUL or another control character.";

/* ---- bytes ---- */

/* RFC 9110, section 5.6.2: letters, digits and -!#$%&'*+.^_`|~ */
static inline bool is_token_char(char c) {
    static const uint8_t is_one[256] = {
        /* clang-format off */
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 1, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0,
        0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0,
        /* clang-format on */
    };
    return is_one[(unsigned char)c] != 0;
}

static bool is_token(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (!is_token_char(text[i])) {
            return false;
        }
    }
    return length > 0;
}

static bool is_control(char c) {
    return ((unsigned char)c < ' ' && c != '\t') || c == '\x7f';
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Whether one of eight bytes may be a control character: none is missed, and a tab is one. */
static bool may_have_control(const char *eight) {
    const uint64_t each = UINT64_C(0x0101010101010101), top = each << 7;
    uint64_t bytes;
    memcpy(&bytes, eight, sizeof bytes);
    const uint64_t deletes = bytes ^ (each * 0x7f);
    return (((bytes - each * ' ') & ~bytes) | ((deletes - each) & ~deletes)) & top;
}

static bool one_is_control(const char *text, size_t length) {
    size_t i = 0;
    while (i < length && !is_control(text[i])) {
        i++;
    }
    return i < length;
}

/* The last eight bytes may overlap the ones before them. */
static bool has_control(const char *text, size_t length) {
    if (length < 8) {
        return one_is_control(text, length);
    }
    for (size_t i = 0; i + 8 < length; i += 8) {
        if (may_have_control(text + i) && one_is_control(text + i, 8)) {
            return true;
        }
    }
    const char *last = text + length - 8;
    return may_have_control(last) && one_is_control(last, 8);
}

/* Whether a client may give its request this id: it is copied unchanged into headers, logs and
 * problems. */
static bool is_request_id(struct parley_bytes text) {
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~') {
            return false;
        }
    }
    return text.length > 0 && text.length <= REQUEST_ID_MAX;
}

static bool is_named(struct parley_bytes name, const char *wanted, size_t length) {
    return name.length == length && strncasecmp(name.data, wanted, length) == 0;
}

#define IS_NAMED(name, literal) is_named(name, literal, sizeof(literal) - 1)

/* ---- the request line ---- */

static void add_place(struct http_head *head, const char *name, size_t name_length,
                      const char *value) {
    const char *start = head->text.data;
    const struct http_place place = {(uint16_t)(name - start), (uint16_t)name_length,
                                     (uint16_t)(value - start)};
    parley_buffer_append(&head->places, (struct parley_bytes){(const char *)&place, sizeof place});
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes in place. Text that is not an escape is unchanged, as most is.  Returns: the length. */
static size_t decode(char *text) {
    char *out = text + strcspn(text, "%+");
    for (const char *at = out; *at != '\0'; at++) {
        const int high = *at == '%' ? hex_digit(at[1]) : -1;
        const int low = high >= 0 ? hex_digit(at[2]) : -1;
        if (low >= 0) {
            const char c = (char)(high * 16 + low);
            /* A NUL would hide the rest; no value that parley knows has a 0x01 either. */
            *out++ = c != '\0' ? c : '\1';
            at += 2;
        } else {
            *out++ = *at == '+' ? ' ' : *at;
        }
    }
    *out = '\0';
    return (size_t)(out - text);
}

static void read_options(struct http_head *head, char *at) {
    while (*at != '\0') {
        char *end = at + strcspn(at, "&");
        char *next = *end == '&' ? end + 1 : end;
        *end = '\0';
        if (head->option_count == HTTP_OPTIONS_MAX) {
            blame(head, 414, "The request has more than 64 query options.");
            return;
        }
        char *equals = strchr(at, '=');
        char *value = end;
        if (equals != NULL) {
            *equals = '\0';
            value = equals + 1;
            decode(value);
        }
        add_place(head, at, decode(at), value);
        head->option_count++;
        at = next;
    }
}

/* An absolute target is a proxy's (RFC 9112, section 3.2.2): its path counts, and its host instead
 * of the header's. */
static void read_target(struct http_head *head, char *target) {
    char *authority = strncasecmp(target, "http://", 7) == 0    ? target + 7
                      : strncasecmp(target, "https://", 8) == 0 ? target + 8
                                                                : NULL;
    head->path = target;
    if (authority == NULL) {
        return;
    }
    const size_t length = strcspn(authority, "/");
    const bool is_about_all = strcmp(head->method, "OPTIONS") == 0;
    head->path = authority[length] == '/' ? authority + length : is_about_all ? "*" : "/";
    head->authority = memmove(authority - 1, authority, length); /* room for its NUL */
    authority[length - 1] = '\0';
    if (length == 0) {
        blame(head, 400, "The target of the request has no host.");
    }
}

static void read_version(struct http_head *head, const char *version, size_t length) {
    const bool is_http = length == VERSION_BYTES && memcmp(version, "HTTP/", 5) == 0 &&
                         version[5] >= '0' && version[5] <= '9' && version[6] == '.' &&
                         version[7] >= '0' && version[7] <= '9';
    if (!is_http) {
        blame(head, 400, "The request line does not end with a version of HTTP.");
    } else if (version[5] != '1') {
        blame(head, 505, "Only HTTP/1.1 and HTTP/1.0 are supported.");
    }
    head->is_1_0 = is_http && version[7] == '0';
}

/* Both are in the head's text. */
static void take_request(struct http_head *head, const char *method, char *target) {
    head->method = method;
    head->is_head = strcmp(method, "HEAD") == 0;
    char *query = strchr(target, '?');
    if (query != NULL) {
        *query++ = '\0';
        read_options(head, query);
    }
    read_target(head, target);
}

static void read_line(struct http_head *head, char *line, char *end) {
    static const char shape[] =
        "The request line is not a method, a target and a version with one space between each.";
    char *target = memchr(line, ' ', (size_t)(end - line));
    char *version = target != NULL ? memchr(target + 1, ' ', (size_t)(end - target - 1)) : NULL;
    if (version == NULL || version == target + 1 || !is_token(line, (size_t)(target - line)) ||
        memchr(version + 1, ' ', (size_t)(end - version - 1)) != NULL ||
        memchr(line, '\t', (size_t)(end - line)) != NULL) {
        blame(head, 400, shape);
        return;
    }
    if (has_control(target, (size_t)(version - target))) {
        blame(head, 400, line_end_fault);
        return;
    }
    *target++ = '\0';
    *version++ = '\0';
    read_version(head, version, (size_t)(end - version));
    take_request(head, line, target);
}

/* ---- headers ---- */

static void read_length(struct http_head *head, struct parley_bytes value) {
    head->length_count++;
    head->content_length = 0;
    size_t digits = 0;
    for (size_t i = 0; i < value.length; i++) {
        const char c = value.data[i];
        digits += digits > 0 || c != '0';
        if (c < '0' || c > '9' || digits > LENGTH_DIGITS_MAX) {
            blame(head, 400, "Content-Length is not a number of bytes.");
            return;
        }
        head->content_length = head->content_length * 10 + (c - '0');
    }
    if (value.length == 0) {
        blame(head, 400, "Content-Length is not a number of bytes.");
    }
}

static void read_connection(struct http_head *head, struct parley_bytes value) {
    for (size_t at = 0; at < value.length;) {
        const char *start = value.data + at;
        const char *comma = memchr(start, ',', value.length - at);
        struct parley_bytes option = {start,
                                      comma != NULL ? (size_t)(comma - start) : value.length - at};
        at += option.length + 1;
        while (option.length > 0 && is_blank(option.data[0])) {
            option.data++;
            option.length--;
        }
        while (option.length > 0 && is_blank(option.data[option.length - 1])) {
            option.length--;
        }
        head->is_close = head->is_close || IS_NAMED(option, "close");
        head->is_kept = head->is_kept || IS_NAMED(option, "keep-alive");
    }
}

/* Several headers all count (RFC 9110, section 12.5.1): they become one list. */
static void read_accept(struct http_head *head, struct parley_bytes value) {
    struct parley_buffer *list = &head->accept;
    head->accept_count++;
    if (head->accept_count == 2) {
        parley_buffer_append(list, parley_bytes_of(http_head_field(head, "Accept")));
    }
    if (head->accept_count >= 2) {
        list->length -= head->accept_count > 2; /* its NUL */
        parley_buffer_char(list, ',');
        parley_buffer_append(list, value);
        parley_buffer_char(list, '\0');
    }
}

/* Stores the parts that the server needs, so that they need not be looked up again. */
static void read_expectation(struct http_head *head, struct parley_bytes value) {
    if (head->is_1_0) {
        return;
    }
    head->expects_continue = IS_NAMED(value, "100-continue");
    if (!head->expects_continue) {
        blame(head, 417, "The only supported expectation is 100-continue.");
    }
}

/* Stores the parts that the server needs, so that they need not be looked up again. Compares by
 * length first: most headers are none of these. */
static void recognise(struct http_head *head, struct parley_bytes name, struct parley_bytes value) {
    switch (name.length) {
    case sizeof "Host" - 1:
        head->host_count += IS_NAMED(name, "Host");
        break;
    case sizeof "Expect" - 1: /* and Accept, and Prefer */
        if (IS_NAMED(name, "Expect")) {
            read_expectation(head, value);
        } else if (IS_NAMED(name, "Accept")) {
            read_accept(head, value);
        } else if (IS_NAMED(name, "Prefer") && !head->has_wait) {
            head->has_wait = prefer_find_wait(value, &head->wait_s);
        }
        break;
    case sizeof "Connection" - 1:
        if (IS_NAMED(name, "Connection")) {
            read_connection(head, value);
        }
        break;
    case sizeof "Content-Type" - 1: /* and X-Request-Id */
        if (IS_NAMED(name, "Content-Type")) {
            head->type_count++;
        } else if (IS_NAMED(name, "X-Request-Id") && head->request_id == NULL &&
                   is_request_id(value)) {
            head->request_id = value.data;
        }
        break;
    case sizeof "Authorization" - 1:
        head->authorization_count += IS_NAMED(name, "Authorization");
        break;
    case sizeof "Content-Length" - 1:
        if (IS_NAMED(name, "Content-Length")) {
            read_length(head, value);
        }
        break;
    case sizeof "Idempotency-Key" - 1:
        head->key_count += IS_NAMED(name, "Idempotency-Key");
        break;
    case sizeof "Content-Encoding" - 1:
        head->coding_count += IS_NAMED(name, "Content-Encoding");
        break;
    case sizeof "Transfer-Encoding" - 1:
        if (IS_NAMED(name, "Transfer-Encoding")) {
            head->encoding_count++;
            head->is_chunked = IS_NAMED(value, "chunked");
        }
        break;
    default:
        break;
    }
}

/* Most headers that are looked up are absent, which one comparison shows for most of them. */
static uint64_t mark_of(const char *name, size_t length) {
    return UINT64_C(1) << ((length * 5 + (unsigned char)(name[0] | 0x20)) % 64);
}

/* Both are in the head's text, each with a NUL after it. */
static void take_field(struct http_head *head, struct parley_bytes name,
                       struct parley_bytes value) {
    if (head->field_count == HTTP_FIELDS_MAX) {
        blame(head, 431, "The request has more than 128 headers.");
        return;
    }
    add_place(head, name.data, name.length, value.data);
    head->field_count++;
    head->name_marks |= mark_of(name.data, name.length);
    recognise(head, name, value);
}

static void read_field(struct http_head *head, char *line, char *end) {
    char *colon = line; /* a NUL ends the line */
    while (is_token_char(*colon)) {
        colon++;
    }
    if (is_blank(*line)) {
        blame(head, 400, "A header continues on a second line: write it on one line.");
        return;
    }
    if (colon == line || *colon != ':') {
        blame(head, 400, "The head has a line that is not a header's name, a colon and a value.");
        return;
    }
    if (has_control(colon, (size_t)(end - colon))) {
        blame(head, 400, line_end_fault);
        return;
    }
    char *value = colon + 1;
    while (value < end && is_blank(*value)) {
        value++;
    }
    while (end > value && is_blank(end[-1])) {
        end--;
    }
    *colon = '\0';
    *end = '\0';
    take_field(head, (struct parley_bytes){line, (size_t)(colon - line)},
               (struct parley_bytes){value, (size_t)(end - value)});
}

static void check(struct http_head *head) {
    if (head->length_count > 0 && head->encoding_count > 0) {
        blame(head, 400,
              "The request has both Content-Length and Transfer-Encoding: send only one of them.");
    }
    if (head->length_count > 1) {
        blame(head, 400, "The request has several Content-Length headers: send one.");
    }
    if (head->encoding_count > 1 || (head->encoding_count == 1 && !head->is_chunked)) {
        blame(head, 400, "The only supported Transfer-Encoding is chunked, named once.");
    }
    if (head->encoding_count > 0 && head->is_1_0) {
        blame(head, 400,
              "HTTP/1.0 has no Transfer-Encoding: use HTTP/1.1, or send Content-Length.");
    }
    if (head->host_count > 1 || (head->host_count == 0 && !head->is_1_0)) {
        /* RFC 9112, section 3.2 */
        blame(head, 400, "An HTTP/1.1 request must have exactly one Host header.");
    }
    if (head->type_count > 1) {
        blame(head, 400, "The request has several Content-Type headers: send one.");
    }
    if (head->coding_count > 1) {
        blame(head, 415, "The request has several Content-Encoding headers: compress it once.");
    }
    if (head->authorization_count > 1) {
        /* A proxy in front of this server may have read the other one. */
        blame(head, 400, "The request has several Authorization headers: send one.");
    }
    if (head->key_count > 1) {
        blame(head, 400, "The request has several Idempotency-Key headers: send one.");
    }
}

/* ---- the whole head ---- */

void http_head_init(struct http_head *head) {
    *head = (struct http_head){0};
    parley_buffer_init(&head->text);
    parley_buffer_init(&head->places);
    parley_buffer_init(&head->accept);
}

void http_head_finish(struct http_head *head) {
    parley_buffer_finish(&head->text);
    parley_buffer_finish(&head->places);
    parley_buffer_finish(&head->accept);
}

void http_head_release(struct http_head *head) {
    const size_t kept = head->text.capacity + head->places.capacity + head->accept.capacity;
    if (kept > KEPT_BYTES_MAX) {
        http_head_finish(head);
    }
}

static void clear(struct http_head *head) {
    struct parley_buffer text = head->text, places = head->places, accept = head->accept;
    parley_buffer_clear(&text);
    parley_buffer_clear(&places);
    parley_buffer_clear(&accept);
    *head = (struct http_head){
        .text = text, .places = places, .accept = accept, .method = "GET", .path = "/"};
}

enum parley_status http_head_read(struct http_head *head, struct parley_bytes raw) {
    clear(head);
    parley_buffer_append(&head->text, raw);
    if (raw.length > HTTP_HEAD_MAX || parley_buffer_status(&head->text) != PARLEY_OK) {
        return PARLEY_E_MEMORY;
    }
    char *line = head->text.data, *const end = line + raw.length - CRLF_BYTES;
    while (line < end && head->fault == NULL) {
        char *line_end = memchr(line, '\r', (size_t)(end - line));
        if (line_end == NULL || line_end[1] != '\n') {
            blame(head, 400, line_end_fault);
            break;
        }
        *line_end = '\0';
        if (line == head->text.data) {
            read_line(head, line, line_end);
        } else {
            read_field(head, line, line_end);
        }
        line = line_end + CRLF_BYTES;
    }
    if (head->fault == NULL) {
        check(head);
    }
    PARLEY_TRY(parley_buffer_status(&head->accept));
    return parley_buffer_status(&head->places);
}

/* Room for the text, which must not move: the head points into it. */
static bool reserve(struct http_head *head, const struct http_head_parts *parts) {
    size_t bytes = strlen(parts->method) + parts->target.length + 2;
    for (size_t i = 0; i < parts->field_count; i++) {
        bytes += strlen(parts->fields[i].name) + parts->fields[i].value.length + 2;
    }
    if (bytes > HTTP_HEAD_MAX) {
        blame(head, 431, "The head is too long.");
    }
    return bytes > HTTP_HEAD_MAX || parley_buffer_reserve(&head->text, bytes);
}

/* There is room.  Returns: the copy, with a NUL after it. */
static char *copy_part(struct http_head *head, struct parley_bytes part) {
    char *copy = head->text.data + head->text.length;
    memcpy(copy, part.data, part.length);
    copy[part.length] = '\0';
    head->text.length += part.length + 1;
    return copy;
}

static void make_field(struct http_head *head, const struct http_field *field) {
    const struct parley_bytes name = parley_bytes_of(field->name), value = field->value;
    if (has_control(value.data, value.length)) {
        blame(head, 400, line_end_fault);
    }
    const char *copied_name = copy_part(head, name), *copied_value = copy_part(head, value);
    take_field(head, (struct parley_bytes){copied_name, name.length},
               (struct parley_bytes){copied_value, value.length});
}

enum parley_status http_head_make(struct http_head *head, const struct http_head_parts *parts) {
    clear(head);
    if (!reserve(head, parts)) {
        return PARLEY_E_MEMORY;
    }
    if (head->fault != NULL) {
        return PARLEY_OK;
    }
    const struct parley_bytes target = parts->target;
    if (target.length == 0 || memchr(target.data, ' ', target.length) != NULL ||
        has_control(target.data, target.length)) {
        blame(head, 400, "The target is not one word.");
    }
    const char *method = copy_part(head, parley_bytes_of(parts->method));
    take_request(head, method, copy_part(head, target));
    for (size_t i = 0; i < parts->field_count; i++) {
        make_field(head, &parts->fields[i]);
    }
    head->content_length = (int64_t)parts->content_length;
    head->is_1_0 = head->host_count == 0;
    if (head->fault == NULL) {
        check(head);
    }
    return parley_buffer_status(&head->places);
}

void http_head_refuse(struct http_head *head, unsigned status, const char *fault, bool is_head) {
    clear(head);
    head->is_head = is_head;
    head->method = is_head ? "HEAD" : "GET";
    blame(head, status, fault);
}

void http_head_bound_init(struct http_head_bound *bound, size_t bytes_max) {
    bound->bytes_max = bytes_max > 0 ? bytes_max : (size_t)HTTP_HEAD_USUAL;
    snprintf(bound->target_fault, sizeof bound->target_fault,
             "The target of the request has more than %zu bytes (--head-max).", bound->bytes_max);
    snprintf(bound->head_fault, sizeof bound->head_fault,
             "The request line and the headers have more than %zu bytes (--head-max).",
             bound->bytes_max);
}

const char *http_head_fault_so_far(struct parley_bytes so_far, size_t from,
                                   const struct http_head_bound *bound, unsigned *status) {
    *status = 400;
    if (!is_token_char(so_far.data[0])) {
        return "The request does not begin with a method.";
    }
    for (size_t i = from > 0 ? from - 1 : 0; i < so_far.length; i++) {
        const char c = so_far.data[i];
        const bool is_cr = c == '\r' && (i + 1 == so_far.length || so_far.data[i + 1] == '\n');
        const bool is_lf = c == '\n' && i > 0 && so_far.data[i - 1] == '\r';
        if (is_control(c) && !is_cr && !is_lf) {
            return line_end_fault;
        }
    }
    if (so_far.length <= bound->bytes_max) {
        return NULL;
    }
    const bool has_line = memchr(so_far.data, '\n', bound->bytes_max) != NULL;
    *status = has_line ? 431 : 414;
    return has_line ? bound->head_fault : bound->target_fault;
}

/* ---- writing ---- */

static char *put(char *at, const char *text) {
    return mempcpy(at, text, strlen(text));
}

static char *put_number(char *at, int64_t number) {
    char digits[LENGTH_DIGITS_MAX + 1];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        *at++ = digits[--count];
    }
    return at;
}

size_t http_head_write(const struct http_head *head, bool is_chunked, char *out) {
    char *at = put(out, head->is_head ? "HEAD / HTTP/1." : "GET / HTTP/1.");
    at = put(at, head->is_1_0 ? "0\r\n" : "1\r\nHost:p\r\n");
    if (head->fault != NULL || head->is_close) {
        at = put(at, "Connection:close\r\n");
    } else if (head->is_kept) {
        at = put(at, "Connection:keep-alive\r\n");
    }
    if (head->fault == NULL && is_chunked) {
        at = put(at, "Transfer-Encoding:chunked\r\n");
    } else if (head->fault == NULL && head->length_count > 0) {
        at = put_number(put(at, "Content-Length:"), head->content_length);
        at = put(at, "\r\n");
    }
    if (head->fault == NULL && head->expects_continue) {
        at = put(at, "Expect:100-continue\r\n");
    }
    at = put(at, "\r\n");
    assert(at - out <= HTTP_REWRITTEN_MAX);
    return (size_t)(at - out);
}

/* ---- asking ---- */

static const struct http_place *places_of(const struct http_head *head) {
    return (const void *)head->places.data;
}

const char *http_head_field_at(const struct http_head *head, const char *name, size_t number) {
    const size_t length = strlen(name);
    const struct http_place *place = places_of(head) + head->option_count;
    if ((head->name_marks & mark_of(name, length)) == 0) {
        return NULL;
    }
    for (size_t i = 0; i < head->field_count; i++, place++) {
        if (place->name_length == length &&
            strncasecmp(head->text.data + place->name, name, length) == 0 && number-- == 0) {
            return head->text.data + place->value;
        }
    }
    return NULL;
}

const char *http_head_field(const struct http_head *head, const char *name) {
    const bool is_joined = head->accept.length > 0 && strcasecmp(name, "Accept") == 0;
    return is_joined ? head->accept.data : http_head_field_at(head, name, 0);
}

const char *http_head_option(const struct http_head *head, const char *name) {
    const struct http_place *place = places_of(head);
    for (size_t i = 0; i < head->option_count; i++, place++) {
        if (strcmp(head->text.data + place->name, name) == 0) {
            return head->text.data + place->value;
        }
    }
    return NULL;
}

void http_head_each_option(const struct http_head *head,
                           bool (*each)(void *context, const char *name, const char *value),
                           void *context) {
    const struct http_place *place = places_of(head);
    for (size_t i = 0; i < head->option_count; i++, place++) {
        if (!each(context, head->text.data + place->name, head->text.data + place->value)) {
            return;
        }
    }
}
