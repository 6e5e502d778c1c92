/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* W3C Trace Context, level 1: which trace a request belongs to. parley sends spans to no collector,
 * so it adds none of its own: the context that it passes on names the sender's span. It does not
 * depend on HTTP. */

#include <stdbool.h>
#include <stddef.h>

enum {
    TRACE_ID_LENGTH = 32,
    TRACE_SPAN_LENGTH = 16,
    TRACE_PARENT_LENGTH = 55,
    TRACE_PARENT_MAX = 256, /* of one of another version */
    TRACE_STATE_MAX = 512,  /* of a tracestate that is passed on */
};

/* The header of an answer that names a trace which began here, in the form of a traceparent. */
#define TRACE_RESPONSE_HEADER "traceresponse"

struct trace {
    char trace_id[TRACE_ID_LENGTH + 1];
    char span_id[TRACE_SPAN_LENGTH + 1]; /* the sender's; of a trace that began here its first */
    unsigned char flags;
};

/* Whether the sender records the spans of this trace. */
bool trace_is_sampled(const struct trace *trace);

/* Reads a traceparent header; NULL if absent. An unknown version is read as far as version 00 goes.
 * Returns: whether it is valid.  Source: W3C Trace Context, section 3.2. */
bool trace_read(const char *traceparent, struct trace *out);

/* A trace that begins here, and is sampled. */
void trace_start(struct trace *out);

/* Writes its traceparent, in version 00. */
void trace_write(const struct trace *trace, char out[TRACE_PARENT_LENGTH + 1]);

/* Whether a tracestate header may be passed on: visible ASCII, blanks and tabs, not longer than
 * TRACE_STATE_MAX. Its members are not parsed. NULL if absent. */
bool trace_state_is_valid(const char *tracestate);
