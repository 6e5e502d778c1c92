/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sees that a state from the object store, which any client with access to NATS may have written,
 * stays within its place in the answer: that its bytes are one JSON object or string, and nothing
 * else. Its content is not checked: it can be 100 MiB, and is sent as it comes. */

#include <stdbool.h>
#include <stdint.h>

#include <parley/bytes.h>

/*   BEFORE ── { ──▶ INSIDE ── " ──▶ STRING ── \ ──▶ ESCAPE
 *   BEFORE ── " ──▶ STRING    and back again; at depth 0 ──▶ AFTER
 *   any ── what cannot be there ──▶ BROKEN
 */
enum json_span_position {
    JSON_SPAN_BEFORE,
    JSON_SPAN_INSIDE,
    JSON_SPAN_STRING,
    JSON_SPAN_ESCAPE,
    JSON_SPAN_AFTER,
    JSON_SPAN_BROKEN,
};

/* All zero is the beginning. */
struct json_span {
    enum json_span_position position;
    unsigned depth;
    uint64_t arrays; /* a bit for each depth: whether it is an array's */
};

/* The next bytes.  Returns: false: they leave it. */
bool json_span_take(struct json_span *fence, struct parley_bytes bytes);
