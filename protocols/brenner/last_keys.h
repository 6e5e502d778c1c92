/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes JSON whose objects may have duplicate keys without the duplicates. */

#include <parley/arena.h>
#include <parley/buffer.h>

/* Appends `json`, which is known to be valid, without white space. Of the members of one object
 * with the same key only the value of the last is written, in the place of the first.
 * Uses the arena for its own needs.  Returns: PARLEY_E_MEMORY. */
enum parley_status last_keys_write(struct parley_bytes json, struct parley_arena *arena,
                                   struct parley_buffer *out) PARLEY_MUST_CHECK;
