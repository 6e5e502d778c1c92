/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Members of a JSON text by their names, for texts that no table describes. The text was read
 * before, and has no fault. */

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/rule.h>

/* A member at the top level, or of an object there. */
struct json_pick {
    const char *parent; /* the member whose member it is; NULL: of the text itself */
    const char *name;
    struct parley_value value; /* PARLEY_ABSENT: it is not there */
    struct parley_bytes raw;   /* from its first byte on, to the end of the text */
};

/* Finds them, in one pass.  Owns: decoded strings are in `arena`, the rest in `text`. */
enum parley_status json_pick(struct parley_bytes text, struct parley_arena *arena,
                             struct json_pick *picks, size_t count) PARLEY_MUST_CHECK;

/* Appends the members at the top level but those named in `but`, which ends with NULL, without
 * white space, with a comma before each: ,"a":1 */
enum parley_status json_pick_others(struct parley_bytes text, struct parley_arena *arena,
                                    const char *const *but,
                                    struct parley_buffer *out) PARLEY_MUST_CHECK;

/* Appends the value that begins at `raw`, without white space. */
void json_pick_append(struct parley_bytes raw, struct parley_buffer *out);
