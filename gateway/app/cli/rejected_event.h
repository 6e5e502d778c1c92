/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A line of GET /v1/rejected/stream (docs/api.md#rejected): a refused message, as it was sent. */

#include <parley/arena.h>
#include <parley/protocol.h>

struct rejected_event {
    const char *id;    /* REJECTED:7 */
    const char *rules; /* the rules that it broke: "VLP-005,VLP-012"; "" if they are not known */
    struct parley_bytes protocol;
    const char *content_type; /* NULL: not known */
    struct parley_bytes payload;
    struct parley_arena arena; /* private */
};

/* The longest possible line: the largest message that NATS takes, in base64, and its envelope. */
#define REJECTED_EVENT_BYTES_MAX ((size_t)96 << 20)

enum rejected_event_result {
    REJECTED_EVENT_READ,
    REJECTED_EVENT_OTHER, /* an event that is not of something refused, such as parley.open */
    REJECTED_EVENT_WRONG, /* not an event, or one without its payload */
    REJECTED_EVENT_MEMORY,
};

/* Owns: `out` borrows from `line`, and must be finished whatever the result. */
enum rejected_event_result rejected_event_read(struct parley_bytes line,
                                               struct rejected_event *out);
void rejected_event_finish(struct rejected_event *event);
