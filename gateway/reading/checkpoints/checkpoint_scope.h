/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The agent whose checkpoints a request is about, and the streams of their messages. Private to
 * checkpoints/. */

#include <parley/objects.h>
#include <parley/restore.h>

#include "agent_reader.h"
#include "checkpoints.h"
#include "object_layout.h"
#include "stored_headers.h"

/* Requests of a worker at a time. */
#define CHECKPOINT_READINGS_MAX 16
/* A request that NATS ends in silence takes some of them. */
#define CHECKPOINT_PATIENCE_MS 10000

#define CHECKPOINT_AGENT_MAX 65 /* with its NUL, as in --agent */
#define CHECKPOINT_SUBJECT_MAX 256

struct checkpoint_scope {
    struct checkpoints *checkpoints;
    const struct parley_protocol *protocol;
    const struct channel *channel;
    const struct parley_schema *schema;
    char agent[CHECKPOINT_AGENT_MAX];
    char subject[CHECKPOINT_SUBJECT_MAX]; /* of the checkpoints … */
    char stream[JETSTREAM_STREAM_MAX];    /* … and the stream that stores them */
    struct request_slot slot;             /* of checkpoints->slots */
};

/* Fills in `out`.  Returns: false: the request is answered; it has no checkpoints, or not for its
 * sender, or NATS cannot be read. */
bool checkpoint_scope_find(struct checkpoints *checkpoints, struct http_request *request,
                           const struct parley_protocol *protocol, const char *agent,
                           struct checkpoint_scope *out);

/* Sets the agent. The stream and the slot are left to be filled in.  `agent`: shorter than
 * CHECKPOINT_AGENT_MAX. */
void checkpoint_scope_fill(struct checkpoint_scope *scope, struct checkpoints *checkpoints,
                           const struct parley_protocol *protocol, const char *agent);

/* The subject on which the agent's messages are, of one of the patterns of parley_restore. */
void checkpoint_scope_subject(const struct checkpoint_scope *scope, const char *pattern,
                              char out[CHECKPOINT_SUBJECT_MAX]);

/* Counts a request, whose scope stays where it is. checkpoint_scope_leave once it is closed. */
static inline void checkpoint_scope_enter(struct checkpoint_scope *scope) {
    request_slot_take(&scope->checkpoints->slots, &scope->slot);
}
static inline void checkpoint_scope_leave(struct checkpoint_scope *scope) {
    request_slot_leave(&scope->slot);
}
