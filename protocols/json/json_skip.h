/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The ends of things in a JSON text, by its quotes and brackets alone. Pure functions. */

#include <parley/bytes.h>

/* The byte after the array or object that begins at `at`, in a text that was not read: what is in
 * it is left to the reader that it is for. Of one without a fault it is the right byte; of another
 * it may be any.  Returns: NULL: none is before `end`. */
const char *json_skip_unread(const char *at, const char *end);

/* ---- in a text that was read before without a fault ---- */

/* The first byte at or after `at` that is no white space. It is there. */
size_t json_skip_blank(struct parley_bytes text, size_t at);

/* The byte after the string, or any value, that begins at `at`. */
size_t json_skip_string(struct parley_bytes text, size_t at);
size_t json_skip_value(struct parley_bytes text, size_t at);
