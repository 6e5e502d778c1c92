/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <parley/bytes.h>

/* The value of a header of a message that was asked for (jetstream_held.headers), as it is on the
 * wire; the first of several.  Returns: whether it is there, and fits with its NUL. */
bool held_header(struct parley_bytes headers, const char *name, char *out, size_t size);
