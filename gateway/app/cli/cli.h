/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the subcommands, besides their arguments and the terminal. Exit statuses are 0, 1 where
 * a command gives it a meaning, and EXIT_USAGE. */

#include <parley/protocol.h>

#include "arguments.h"
#include "terminal.h"

/* What a subcommand takes on its command line. */
struct cli_usage {
    const char *command;               /* "health" */
    const struct argument_flag *flags; /* the one with the letter h asks for `help` */
    const char *help;
    size_t operands_max;
    const char *takes; /* for one operand too many: "health takes one URL" */
};

/* Reads all arguments.  `values`: a place for each flag, NULL where it is not given; `operands`: as
 * many as `operands_max`, and NULL where that is 0.  Owns: both are borrowed from argv.
 * Returns: -1 to continue, else the exit status: the help or an error is printed. */
int cli_read(const struct cli_usage *usage, int argc, char **argv, const char *values[],
             const char *operands[]);

/* Returns: NULL when there is no such protocol, after an error message. */
const struct parley_protocol *cli_protocol(const char *name);

/* Prints what `write` appends, all or nothing.  Returns: the exit status. */
int cli_print(void (*write)(struct parley_buffer *out, const void *context), const void *context);
