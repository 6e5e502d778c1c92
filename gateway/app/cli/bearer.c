/* SPDX-License-Identifier: Apache-2.0 */

#include "bearer.h"

#include <stdlib.h>

#include "private_file.h"
#include "terminal.h"

/* A token, or a JSON Web Token. */
enum { BYTES_MAX = 8192 };

static bool is_token(struct parley_bytes token) {
    for (size_t i = 0; i < token.length; i++) {
        if (token.data[i] <= ' ' || token.data[i] > '~') {
            return false;
        }
    }
    return token.length > 0;
}

bool bearer_of_environment(const char **out) {
    const char *token = getenv("PARLEY_TOKEN");
    *out = token != NULL && token[0] != '\0' ? token : NULL;
    if (*out != NULL && !is_token(parley_bytes_of(token))) {
        terminal_error("PARLEY_TOKEN has a space or another character that no token has; set it to "
                       "the token alone");
        return false;
    }
    return true;
}

bool bearer_of_file(const char *path, struct parley_buffer *out, struct parley_buffer *error) {
    parley_buffer_clear(out);
    parley_buffer_format(error, "the token file %s: ", path);
    if (!private_file_read(path, BYTES_MAX, out, error)) {
        return false;
    }
    size_t start = 0, end = out->length;
    for (; start < end && out->data[start] >= 0 && out->data[start] <= ' '; start++) {
    }
    for (; end > start && out->data[end - 1] >= 0 && out->data[end - 1] <= ' '; end--) {
    }
    if (!is_token((struct parley_bytes){out->data + start, end - start})) {
        parley_buffer_text(error, "it does not hold one token and nothing else");
        return false;
    }
    memmove(out->data, out->data + start, end - start);
    out->length = end - start;
    parley_buffer_char(out, '\0');
    return !out->has_failed;
}
