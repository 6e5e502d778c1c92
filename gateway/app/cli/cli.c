/* SPDX-License-Identifier: Apache-2.0 */

/* Shared by the subcommands. */

#include "cli.h"

#include <stdio.h>
#include <stdlib.h>

int cli_read(const struct cli_usage *usage, int argc, char **argv, const char *values[],
             const char *operands[]) {
    struct arguments arguments = {
        .command = usage->command, .flags = usage->flags, .argc = argc, .argv = argv};
    const char *value;
    size_t count = 0;
    for (int argument; (argument = arguments_next(&arguments, &value)) != ARGUMENT_END;) {
        if (argument == ARGUMENT_WRONG) {
            return EXIT_USAGE;
        }
        if (argument == ARGUMENT_OPERAND && count == usage->operands_max) {
            terminal_error("unexpected argument '%s': %s", value, usage->takes);
            return EXIT_USAGE;
        }
        if (argument == ARGUMENT_OPERAND) {
            operands[count++] = value;
        } else if (usage->flags[argument].letter == 'h') {
            fputs(usage->help, stdout);
            return EXIT_SUCCESS;
        } else {
            values[argument] = value;
        }
    }
    return -1;
}

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
