/* SPDX-License-Identifier: Apache-2.0 */

/* Reads what hex.h describes, in two rounds: one to count. */

#include "hex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not by sscanf, which measures the whole text each time. */
static unsigned char read_byte(const char *at) {
    const char digits[3] = {at[0], at[0] != '\0' ? at[1] : '\0', '\0'};
    char *end;
    const unsigned long byte = strtoul(digits, &end, 16);
    if (end != digits + 2) {
        fprintf(stderr, "no hexadecimal byte: %s\n", at);
        abort();
    }
    return (unsigned char)byte;
}

/* Returns: how many bytes; `out` NULL: only that. */
static size_t convert(const char *hex, unsigned char *out) {
    size_t length = 0;
    while (*hex != '\0') {
        char *end;
        if (*hex == ' ') {
            hex++;
            continue;
        }
        const unsigned char byte = read_byte(hex + (*hex == '('));
        const size_t times = *hex == '(' ? strtoul(hex + 4, &end, 10) : 1;
        hex = *hex == '(' ? end + 1 : hex + 2;
        if (out != NULL) {
            memset(out + length, byte, times);
        }
        length += times;
    }
    return length;
}

unsigned char *hex_bytes(const char *hex, size_t *out_length) {
    *out_length = convert(hex, NULL);
    unsigned char *bytes = malloc(*out_length > 0 ? *out_length : 1);
    if (bytes == NULL) {
        abort();
    }
    convert(hex, bytes);
    return bytes;
}
