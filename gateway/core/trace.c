/* SPDX-License-Identifier: Apache-2.0 */

#include "trace.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

enum { SAMPLED = 1 };

/* "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" */
enum { TRACE_ID_AT = 3, SPAN_AT = 36, FLAGS_AT = 53 };

bool trace_is_sampled(const struct trace *trace) {
    return (trace->flags & SAMPLED) != 0;
}

/* The value of a digit; -1 if it is not one. Upper case is not allowed. */
static int hex_value(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_hex(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (hex_value(text[i]) < 0) {
            return false;
        }
    }
    return true;
}

/* Not only zeros, which is how an invalid id is written. */
static bool is_id(const char *text, size_t length) {
    return is_hex(text, length) && strspn(text, "0") < length;
}

static bool is_visible(const char *text) {
    while (*text > 0x20 && *text < 0x7F) {
        text++;
    }
    return *text == '\0';
}

/* Whether the text after the flags is possible in a version like this one. */
static bool has_known_end(const char *text, size_t length) {
    const char *end = text + TRACE_PARENT_LENGTH;
    return strncmp(text, "00", 2) == 0
               ? *end == '\0'
               : strncmp(text, "ff", 2) != 0 && length <= TRACE_PARENT_MAX &&
                     (*end == '\0' || *end == '-') && is_visible(end);
}

bool trace_read(const char *traceparent, struct trace *out) {
    const size_t length = traceparent != NULL ? strlen(traceparent) : 0;
    if (length < TRACE_PARENT_LENGTH || !is_hex(traceparent, 2) ||
        !has_known_end(traceparent, length) || traceparent[TRACE_ID_AT - 1] != '-' ||
        !is_id(traceparent + TRACE_ID_AT, TRACE_ID_LENGTH) || traceparent[SPAN_AT - 1] != '-' ||
        !is_id(traceparent + SPAN_AT, TRACE_SPAN_LENGTH) || traceparent[FLAGS_AT - 1] != '-' ||
        !is_hex(traceparent + FLAGS_AT, 2)) {
        return false;
    }
    const int high = hex_value(traceparent[FLAGS_AT]), low = hex_value(traceparent[FLAGS_AT + 1]);
    *out = (struct trace){.flags = (unsigned char)(high * 16 + low)};
    memcpy(out->trace_id, traceparent + TRACE_ID_AT, TRACE_ID_LENGTH);
    memcpy(out->span_id, traceparent + SPAN_AT, TRACE_SPAN_LENGTH);
    return true;
}

/* Writes so many random digits, which are not all zero. */
static void make_id(char *out, size_t length) {
    unsigned char bytes[TRACE_ID_LENGTH / 2];
    do {
        randombytes_buf(bytes, length / 2);
    } while (sodium_is_zero(bytes, length / 2));
    sodium_bin2hex(out, length + 1, bytes, length / 2);
}

void trace_start(struct trace *out) {
    *out = (struct trace){.flags = SAMPLED};
    make_id(out->trace_id, TRACE_ID_LENGTH);
    make_id(out->span_id, TRACE_SPAN_LENGTH);
}

void trace_write(const struct trace *trace, char out[TRACE_PARENT_LENGTH + 1]) {
    snprintf(out, TRACE_PARENT_LENGTH + 1, "00-%s-%s-%02x", trace->trace_id, trace->span_id,
             trace->flags);
}

bool trace_state_is_valid(const char *tracestate) {
    size_t length = 0;
    for (; tracestate != NULL && tracestate[length] != '\0'; length++) {
        const unsigned char c = (unsigned char)tracestate[length];
        if ((c < 0x20 && c != '\t') || c >= 0x7F || length == TRACE_STATE_MAX) {
            return false;
        }
    }
    return length > 0;
}
