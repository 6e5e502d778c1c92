/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The filters whose values are a closed set: types, lanes and priorities. A value that no protocol
 * which is read knows can only be a slip, and a stream that stays empty would not show it. */

#include <parley/buffer.h>
#include <parley/protocol.h>

#include "stream_query.h"

/* `protocols`: those that are read; ends with NULL.
 * Returns: whether they know all values; else `out_detail` says which one they do not know, and
 * what was probably meant. */
bool stream_closed_check(const struct stream_query *query,
                         const struct parley_protocol *const protocols[],
                         struct parley_buffer *out_detail);
