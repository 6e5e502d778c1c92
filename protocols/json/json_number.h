/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The numbers of JSON texts, for a reader that need not say what is wrong with them. */

#include <stdbool.h>

/* Reads the number at `at`. `out`: its value as strtod tells it; NULL: only its form is wanted.
 * Returns: where it ends; NULL: it is no number of RFC 8259, or too large for a double, or too long
 * to tell here. */
const char *json_number_read(const char *at, const char *end, double *out);
