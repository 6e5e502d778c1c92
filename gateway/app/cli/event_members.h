/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The members of an event, a line of JSON, read without a tree: its numbers and strings keep their
 * spelling. */

#include <parley/rule.h>

#include "json_reader.h"

#define EVENT_MEMBERS_MAX 9

/* Reads the top-level members `names` (at most EVENT_MEMBERS_MAX); a missing one has the kind
 * PARLEY_ABSENT. An array or object has only the offset of its beginning. Owns: decoded strings are
 * in the arena, other ones in `line`. Returns: JSON_READER_FAULT if it is not an object, too. */
enum json_reader_result event_members_read(struct parley_bytes line, const char *const *names,
                                           size_t count, struct parley_value *values,
                                           struct parley_arena *arena);

/* Decodes the value of `data_base64`.  Owns: the result is in the arena. Returns:
 * PARLEY_E_UNSUPPORTED: it is not base64, or data NULL; PARLEY_E_MEMORY. */
enum parley_status event_base64_read(struct parley_bytes base64, struct parley_arena *arena,
                                     struct parley_bytes *out) PARLEY_MUST_CHECK;
