/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Makes memory run out where a test says. It stands in for malloc, calloc and realloc of what is
 * linked statically, that is, of libparley and of the test. For one thread.
 *
 * Shared libraries are left alone. Of jansson, which is on no message's way, version 2.14 does not
 * survive a failure: its lexer ignores that its buffer did not grow. */

#include <stdbool.h>
#include <stddef.h>

/* From here on allocations are counted, and from the one with the number `first` (from 0) on
 * `count` of them fail. SIZE_MAX as first: none. */
void fault_heap_arm(size_t first, size_t count);

/* Back to normal.  Returns: how many allocations were asked for. */
size_t fault_heap_disarm(void);

/* Whether one was refused since fault_heap_arm. */
bool fault_heap_has_failed(void);
