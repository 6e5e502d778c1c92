/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* JSON objects in text that is not JSON: in prose, in code, inside other objects. */

#include <stdbool.h>

#include <parley/bytes.h>

/* Looks for objects (RFC 8259, a key may be repeated) that have every one of the members `names`,
 * at most 32 and NULL-terminated. Of such objects inside one another the outermost counts. `found`
 * is called with the offset of the brace of each, in the order of the text.
 * Units: `text` is UTF-8 of less than 4 GiB. The time is linear in its length, however its braces
 * nest, and so is the memory: at most 32 bytes for every 4 of the text.
 * Returns: false when there is no memory. */
bool object_search(struct parley_bytes text, const char *const *names,
                   void (*found)(void *context, size_t at), void *context);
