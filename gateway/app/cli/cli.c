/* SPDX-License-Identifier: Apache-2.0 */

/* Shared by the subcommands. */

#include "cli.h"

#include <stdio.h>
#include <stdlib.h>

const struct parley_protocol *cli_protocol(const char *name) {
    enum { SUGGESTED_MAX = 32 };
    const char *names[SUGGESTED_MAX + 1] = {0};
    const struct parley_protocol *found = parley_protocol_find(parley_bytes_of(name));
    for (size_t i = 0; i < SUGGESTED_MAX && parley_protocols[i] != NULL; i++) {
        names[i] = parley_protocols[i]->name;
    }
    if (found == NULL) {
        terminal_error_unknown("protocol", name, names, "parley protocols");
    }
    return found;
}

int cli_print(void (*write)(struct parley_buffer *out, const void *context), const void *context) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    write(&out, context);
    const enum parley_status status = parley_buffer_status(&out);
    if (status == PARLEY_OK) {
        fwrite(out.data, 1, out.length, stdout);
    } else {
        terminal_error("%s", parley_status_text(status));
    }
    parley_buffer_finish(&out);
    return status == PARLEY_OK ? EXIT_SUCCESS : EXIT_USAGE;
}
