/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a splitter makes of a body that arrives in pieces, written down as text, so that two ways
 * of cutting can be compared. */

#include <parley/splitter.h>

/* Feeds `body` in pieces that end at `cuts` (ascending offsets), each in memory of its own, and
 * appends a line for each answer:
 *   message 2 at 1:5 {"a":1}
 *   size 3 at 3:1
 *   fault 4 at 3:2 expected ',' or ']'
 * A place in frames is one number, and behind a fault that ends what is fed stands "that is all".
 * `abandon_at`: the number of the message after which the array is abandoned; 0: none. */
void slices_write(struct parley_buffer *out, enum parley_framing framing, size_t limit,
                  struct parley_bytes body, const size_t *cuts, size_t cut_count,
                  size_t abandon_at);
