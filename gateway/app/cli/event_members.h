/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The members of an event, a line of JSON, read without a tree: what is in it keeps the spelling of
 * its numbers and strings. */

#include <parley/rule.h>

#include "json_reader.h"

#define EVENT_MEMBERS_MAX 8

/* Reads the top-level members `names` (at most EVENT_MEMBERS_MAX); of one that is not there the
 * kind is PARLEY_ABSENT. Of an array or object only where it begins is told (offset). Owns: decoded
 * strings are in the arena, other ones in `line`. Returns: JSON_READER_FAULT for what is not an
 * object, too. */
enum json_reader_result event_members_read(struct parley_bytes line, const char *const *names,
                                           size_t count, struct parley_value *values,
                                           struct parley_arena *arena);

/* Decodes the value of `data_base64`.  Owns: what is read is in the arena.
 * Returns: PARLEY_E_UNSUPPORTED: it is not base64, or data NULL; PARLEY_E_MEMORY. */
enum parley_status event_base64_read(struct parley_bytes base64, struct parley_arena *arena,
                                     struct parley_bytes *out) PARLEY_MUST_CHECK;
