/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Brenner messages whose deltas have faults that a safe fix removes, in every kind of block quote
 * and list item, of fence and of line end. */

#include "cases.h"

struct wrapped_delta {
    struct test_case test;
    const char *says; /* what its deltas say without the fault: an array of JSON; static */
};

struct wrapped_deltas {
    struct wrapped_delta *items;
    size_t count;
};

/* Owns: wrapped_deltas_finish gives them back. */
void wrapped_deltas_make(struct wrapped_deltas *deltas);
void wrapped_deltas_finish(struct wrapped_deltas *deltas);
