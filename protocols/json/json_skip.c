/* SPDX-License-Identifier: Apache-2.0 */

#include "json_skip.h"

#include <string.h>

size_t json_skip_blank(struct parley_bytes text, size_t at) {
    while (strchr(" \t\n\r", text.data[at]) != NULL) {
        at++;
    }
    return at;
}

size_t json_skip_string(struct parley_bytes text, size_t at) {
    for (at++; text.data[at] != '"'; at++) {
        at += text.data[at] == '\\';
    }
    return at + 1;
}

static size_t skip_container(struct parley_bytes text, size_t at) {
    size_t depth = 0;
    do {
        const char c = text.data[at];
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        at = c == '"' ? json_skip_string(text, at) : at + 1;
    } while (depth > 0);
    return at;
}

size_t json_skip_value(struct parley_bytes text, size_t at) {
    switch (text.data[at]) {
    case '"':
        return json_skip_string(text, at);
    case '{':
    case '[':
        return skip_container(text, at);
    default:
        while (at < text.length && strchr(",]} \t\n\r", text.data[at]) == NULL) {
            at++;
        }
        return at;
    }
}
