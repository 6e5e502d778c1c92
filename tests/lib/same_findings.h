/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Compares the findings of two readers of one message. */

#include <parley/findings.h>

/* Whether they are the same, in the same order, and, if both readers know offsets, at the same
 * ones. */
bool findings_are_the_same(const struct parley_findings *a, const struct parley_findings *b,
                           bool has_offsets);
