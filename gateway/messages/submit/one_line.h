/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* JSON that is stored as it came is on one line, without that line's end. Pure functions. */

#include <string.h>

#include <parley/bytes.h>

static inline bool one_line_is(struct parley_bytes text) {
    return memchr(text.data, '\n', text.length) == NULL &&
           memchr(text.data, '\r', text.length) == NULL;
}

static inline struct parley_bytes one_line_without_end(struct parley_bytes text) {
    while (text.length > 0 &&
           (text.data[text.length - 1] == '\n' || text.data[text.length - 1] == '\r')) {
        text.length--;
    }
    return text;
}
