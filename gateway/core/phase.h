/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The transitions of a state machine, as a table: for each phase the set of those that may follow.
 * A transition that is not in it is an internal error. */

#include <assert.h>

#define PHASE(phase) (1u << (phase))

/* Returns: `to`, which may follow `from`. */
static inline unsigned phase_after(const unsigned *allowed, unsigned from, unsigned to) {
    assert((allowed[from] & PHASE(to)) != 0);
    (void)allowed;
    (void)from;
    return to;
}
