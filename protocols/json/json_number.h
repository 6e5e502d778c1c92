/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The numbers of JSON texts, for a reader that does not explain faults. */

#include <stddef.h>

/* Reads the number at `at`. `out`: its value, the same as by strtod; NULL: only its syntax is
 * checked.
 * Returns: its end; NULL: it is not a number of RFC 8259, is too large for a double, or too long to
 * decide here. */
const char *json_number_read(const char *at, const char *end, double *out);

/* The same, and how many bytes it takes as MessagePack: without a point and an exponent it is an
 * integer, if 64 bits with a sign hold it, and if it is not -0; else a float 32, if that reads back
 * the same, or a float 64. */
const char *json_number_measure(const char *at, const char *end, double *out, size_t *out_bytes);
