/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The ends of things in a JSON text that was read before without a fault. Pure functions. */

#include <parley/bytes.h>

/* The first byte at or after `at` that is no white space. It is there. */
size_t json_skip_blank(struct parley_bytes text, size_t at);

/* The byte after the string, or any value, that begins at `at`. */
size_t json_skip_string(struct parley_bytes text, size_t at);
size_t json_skip_value(struct parley_bytes text, size_t at);
