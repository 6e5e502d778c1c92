/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text for people: error messages of the program, and layout that fits a terminal. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <parley/buffer.h>

/* Prints "parley: …" and a line feed on standard error. */
void terminal_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "parley: unknown KIND 'WORD'; did you mean 'NEAREST'? (SEE lists them)".
 * `names` ends with NULL. */
void terminal_error_unknown(const char *kind, const char *word, const char *const names[],
                            const char *see);

/* Whether to use colour: only on a terminal that supports it, and not with NO_COLOR. */
bool terminal_has_colour(FILE *stream);

/* Columns of the terminal. SIZE_MAX where the stream is not one, so that grep sees whole lines. */
size_t terminal_width(FILE *stream);

/* Writes `text`, breaking lines at spaces so that none is longer than `width`. The cursor is at
 * column `indent` already; further lines are indented that far. Ends with a line feed. */
void terminal_wrap(FILE *out, const char *text, size_t indent, size_t width);

/* As terminal_wrap, with further lines that begin with `prefix`, such as "# ", which is on the
 * first already. */
void terminal_wrap_after(FILE *out, const char *text, const char *prefix, size_t width);

/* Appends text from outside: control characters, which could drive the terminal or end the line,
 * are written as \x1b. */
void terminal_append_clean(struct parley_buffer *out, const char *text);
