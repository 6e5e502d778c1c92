/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Bytes as tables of tests write them. */

#include <stddef.h>

/* "81 a161 (78*300)": two hexadecimal digits a byte, blanks where one likes, a byte so many times.
 * Ends the program when it is none of that.
 * Owns: the caller frees; there is no byte more than there should be, so that a read behind the end
 * is seen. */
unsigned char *hex_bytes(const char *hex, size_t *out_length);
