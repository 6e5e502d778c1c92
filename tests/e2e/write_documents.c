/* SPDX-License-Identifier: Apache-2.0 */

/* Writes openapi.json, or with the argument `asyncapi` asyncapi.json, to standard output, as a
 * server without options serves it: so that the tests have them without asking a server of theirs.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asyncapi.h"
#include "routes.h"

static void write_asyncapi(struct parley_buffer *text) {
    struct parley_arena arena;
    const struct channel *channels;
    char error[CHANNEL_ERROR_MAX];
    parley_arena_init(&arena, 0);
    if (channels_create(NULL, &arena, &channels, error) == PARLEY_OK) {
        asyncapi_write(text, channels);
    }
    parley_arena_finish(&arena);
}

int main(int argc, char **argv) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    if (argc > 1 && strcmp(argv[1], "asyncapi") == 0) {
        write_asyncapi(&text);
    } else {
        openapi_write(&text, gateway_route);
    }
    const bool is_written = !text.has_failed && text.length > 0 &&
                            fwrite(text.data, 1, text.length, stdout) == text.length;
    parley_buffer_finish(&text);
    return is_written && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
