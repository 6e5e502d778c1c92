/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The filters whose values are a closed set: types, lanes, priorities, and senders where a
 * protocol has only so many. A value that none
 * of the protocols has is a mistake, which a stream that stays empty would not show. */

#include <parley/buffer.h>
#include <parley/protocol.h>

#include "stream_query.h"

/* `protocols`: those that are read; ends with NULL. Returns: whether every value exists; else
 * `out_detail` names the one that does not, and the value that was probably meant. */
bool stream_values_check(const struct stream_query *query,
                         const struct parley_protocol *const protocols[],
                         struct parley_buffer *out_detail);
