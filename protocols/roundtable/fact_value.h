/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reading the values of facts. Parley writes them as JSON objects, but anybody may have written
 * them who can write to the bucket. */

#include <parley/arena.h>
#include <parley/rule.h>

/* Reads the members of an object that `names` (NULL-terminated) has into `values`, in
 * that order: their kind and, of strings and numbers, what they are. What is missing is
 * PARLEY_ABSENT, and so is everything of a text that is not an object.  Owns: the values borrow
 * from `text` and the arena.  Returns: PARLEY_E_MEMORY. */
enum parley_status fact_value_read(struct parley_bytes text, const char *const *names,
                                   struct parley_arena *arena,
                                   struct parley_value *values) PARLEY_MUST_CHECK;

/* A whole number from 1 to 2^53; else 0. */
uint64_t fact_value_number(const struct parley_value *value);
