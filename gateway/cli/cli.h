/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the subcommands share: reading arguments, saying what is wrong with them, and writing for
 * people. Exit statuses are 0, 1 where a command says what it means, and 2: usage, or something
 * that cannot be read. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <parley/protocol.h>

#define CLI_USAGE 2

/* "parley: …" and a line feed, on standard error. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "parley: there is no KIND 'WORD'; did you mean 'NEAREST'? (SEE lists them)".
 * `names` ends with NULL. */
void cli_error_unknown(const char *kind, const char *word, const char *const names[],
                       const char *see);

/* Returns: NULL when there is no such protocol, which has then been said. */
const struct parley_protocol *cli_protocol(const char *name);

/* ---- arguments ---- */

struct cli_flag {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* -h; 0: none */
    bool has_value;   /* --flag VALUE, --flag=VALUE; else --flag, --flag=true, --flag=false */
};

#define CLI_FLAGS_MAX 32

struct cli_arguments {
    const char *command; /* for what there is to say: "check" */
    const struct cli_flag *flags;
    int argc;
    char **argv;
    int at;
    bool has_only_operands; /* behind -- */
};

enum { CLI_OPERAND = -1, CLI_END = -2, CLI_WRONG = -3 };

/* Takes the next argument: flags may stand behind operands.
 * Owns: *out_value is borrowed from argv; a switch without a value has "true".
 * Returns: the flag's index; CLI_OPERAND; CLI_END; CLI_WRONG: it has been said what is wrong. */
int cli_next(struct cli_arguments *arguments, const char **out_value);

/* ---- text for people ---- */

/* Colour only on a terminal that can, and without NO_COLOR. */
bool cli_has_colour(FILE *stream);

/* Columns of the terminal; SIZE_MAX where it is none, so that a line stays one for grep. */
size_t cli_width(FILE *stream);

/* Writes `text`, breaking lines at spaces so that none passes `width`. The cursor is at column
 * `indent` already; further lines are indented that far. Ends with a line feed. */
void cli_wrap(FILE *out, const char *text, size_t indent, size_t width);

/* Prints what `write` appends, all or nothing.  Returns: the exit status. */
int cli_print(void (*write)(struct parley_buffer *out, const void *context), const void *context);

/* Appends text that a stranger wrote: a control character would speak to the terminal, or end the
 * line, and is written as \x1b. */
void cli_append_clean(struct parley_buffer *out, const char *text);
