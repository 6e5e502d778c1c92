/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The permissions of a principal, as docs/api.md#access lists them: `send:vlp`, `read:*`, `admin`,
 * `metrics`, `review`.
 * A protocol is known by its place in parley_protocols, so that asking costs one bit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/buffer.h>
#include <parley/protocol.h>

/* A set of scopes.  Zeroed: the empty set. */
struct scopes {
    uint64_t send, read; /* bit I: parley_protocols[I]; all bits: `*`, protocols to come too */
    bool admin, metrics, review;
};

#define SCOPES_ALL ((struct scopes){UINT64_MAX, UINT64_MAX, true, true, true})

/* Adds one scope, such as "send:vlp".
 * Returns: false: there is no such scope; `out_error`, if it is not NULL, gets a sentence that
 * lists the scopes. */
bool scopes_add(struct scopes *scopes, struct parley_bytes scope, struct parley_buffer *out_error);

/* Appends them, separated by `separator`: "send:vlp,read:*". */
void scopes_write(const struct scopes *scopes, char separator, struct parley_buffer *out);

bool scopes_may_send(const struct scopes *scopes, const struct parley_protocol *protocol);
bool scopes_may_read(const struct scopes *scopes, const struct parley_protocol *protocol);
/* `admin` includes `metrics`. */
bool scopes_may_measure(const struct scopes *scopes);
/* Likewise `review`. */
bool scopes_may_review(const struct scopes *scopes);
