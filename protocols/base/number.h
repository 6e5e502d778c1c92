/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Floating-point numbers as JSON text. */

#include <parley/buffer.h>

/* Appends a finite number with the fewest digits that read back to the same double, always with a
 * point or an exponent, so that it stays a float: 1.0, 0.1, 1e16, 5e-324, -0.0. */
void number_write(struct parley_buffer *out, double number);
