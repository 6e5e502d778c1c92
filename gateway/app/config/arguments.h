/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reading argv: flags and operands in any order. */

#include <stdbool.h>

/* The exit status for wrong usage, and for input that cannot be read. */
#define EXIT_USAGE 2

struct argument_flag {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* -h; 0: none */
    bool has_value;   /* --flag VALUE, --flag=VALUE; else --flag, --flag=true, --flag=false */
};

#define ARGUMENT_FLAGS_MAX 96

struct arguments {
    const char *command; /* for error messages: "check" */
    const struct argument_flag *flags;
    int argc;
    char **argv;
    int at;
    bool has_only_operands; /* after -- */
};

enum { ARGUMENT_OPERAND = -1, ARGUMENT_END = -2, ARGUMENT_WRONG = -3 };

/* Takes the next argument. Flags may come after operands.
 * Owns: *out_value is borrowed from argv; a switch without a value has "true".
 * Returns: the flag's index; ARGUMENT_OPERAND; ARGUMENT_END; ARGUMENT_WRONG, after an error
 * message.
 */
int arguments_next(struct arguments *arguments, const char **out_value);
