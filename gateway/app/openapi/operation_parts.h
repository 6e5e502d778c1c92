/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What operations have in common, for the files that describe them. */

#include "operation.h"

#define ANSWERS(...) ((const struct operation_answer[]){__VA_ARGS__, {NULL, NULL}})

/* Of a list that can be followed. */
#define FOLLOWED(events)                                                                           \
    {"application/x-ndjson", events}, {                                                            \
        "text/event-stream", "Text"                                                                \
    }
#define PROBLEMS_OF_FOLLOWING PROBLEM_BIT(PROBLEM_TOO_MANY_STREAMS)
#define HOW_TO_FOLLOW                                                                              \
    " With `follow=true` the answer is one event per line or, with `Accept: text/event-stream`, "  \
    "server-sent events: each item (`parley.item`), `parley.current`, then for each change the "   \
    "item as it is now, or `parley.left`, for as long as the client stays connected. "             \
    "To continue after a break: `since=` and the `resume` of the last event."
