/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads the values of facts. Parley writes them as JSON objects, but any client that can write to
 * the bucket may have written them. */

#include <parley/arena.h>
#include <parley/rule.h>

/* Reads the members of an object that `names` (NULL-terminated) has into `values`, in that order:
 * their kind and, for strings and numbers, their value. A missing member is PARLEY_ABSENT, and so
 * are all members of a text that is not an object.  Owns: the values borrow from `text` and the
 * arena.  Returns: PARLEY_E_MEMORY. */
enum parley_status fact_value_read(struct parley_bytes text, const char *const *names,
                                   struct parley_arena *arena,
                                   struct parley_value *values) PARLEY_MUST_CHECK;

/* A whole number from 1 to 2^53; else 0. */
uint64_t fact_value_number(const struct parley_value *value);
