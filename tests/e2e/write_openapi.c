/* SPDX-License-Identifier: Apache-2.0 */

/* Writes the server's OpenAPI document to standard output, so that the tests have it without asking
 * a server of theirs. */

#include <stdio.h>
#include <stdlib.h>

#include "routes.h"

int main(void) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    openapi_write(&text, gateway_route);
    const bool is_written =
        !text.has_failed && fwrite(text.data, 1, text.length, stdout) == text.length;
    parley_buffer_finish(&text);
    return is_written && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
