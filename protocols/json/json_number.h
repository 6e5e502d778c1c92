/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The numbers of JSON texts, for a reader that does not explain faults. */

#include <stdbool.h>

/* Reads the number at `at`. `out`: its value, the same as by strtod; NULL: only its syntax is
 * checked.
 * Returns: its end; NULL: it is not a number of RFC 8259, is too large for a double, or too long to
 * decide here. */
const char *json_number_read(const char *at, const char *end, double *out);
