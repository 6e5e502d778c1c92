/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the subcommands, besides their arguments and the terminal. Exit statuses are 0, 1 where
 * a command gives it a meaning, and EXIT_USAGE. */

#include <parley/protocol.h>

#include "arguments.h"
#include "terminal.h"

/* Returns: NULL when there is no such protocol, after an error message. */
const struct parley_protocol *cli_protocol(const char *name);

/* Prints what `write` appends, all or nothing.  Returns: the exit status. */
int cli_print(void (*write)(struct parley_buffer *out, const void *context), const void *context);
