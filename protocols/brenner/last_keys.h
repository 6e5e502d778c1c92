/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* JSON whose objects may repeat a key, written so that none does. */

#include <parley/arena.h>
#include <parley/buffer.h>

/* Appends `json`, which was read and found right, without blanks. Of the members of one object with
 * the same key only the value of the last is written, in the place of the first.
 * Owns: the arena holds what is needed meanwhile.  Returns: PARLEY_E_MEMORY. */
enum parley_status last_keys_write(struct parley_bytes json, struct parley_arena *arena,
                                   struct parley_buffer *out) PARLEY_MUST_CHECK;
