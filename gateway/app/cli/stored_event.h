/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A line of GET /v1/PROTOCOL/stream or GET /v1/stream (docs/api.md#reading): a stored message. */

#include <parley/arena.h>
#include <parley/protocol.h>

struct stored_event {
    struct parley_bytes protocol; /* as its `source` names it */
    struct parley_bytes payload;
    size_t offset;   /* in the line: of the payload, or of the text that it was decoded from */
    bool is_foreign; /* published straight to NATS, and invalid there */
    struct parley_arena arena; /* private */
};

/* The longest possible line: the largest message that NATS takes, in base64, and its envelope. */
#define STORED_EVENT_BYTES_MAX ((size_t)96 << 20)

enum stored_event_result {
    STORED_EVENT_READ,
    STORED_EVENT_NONE,  /* not an event: a message as it is, or not JSON */
    STORED_EVENT_OTHER, /* an event that is not of a message, such as parley.open */
    STORED_EVENT_MEMORY,
};

/* Owns: `out` borrows from `line`, and must be finished whatever the result. */
enum stored_event_result stored_event_read(struct parley_bytes line, struct stored_event *out);
void stored_event_finish(struct stored_event *event);
