/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The text of one line of the log: logfmt or JSON, of a bounded length. Whatever a value holds, the
 * line stays one line that reads back as it was written. Pure functions. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/bytes.h>

enum log_format { LOG_LOGFMT, LOG_JSON };

enum {
    LOG_LINE_MAX = 4096, /* PIPE_BUF of Linux: a pipe takes it whole or not at all */
    LOG_VALUE_MAX = 1024 /* as it is written; of a longer value the rest is cut off */
};

struct log_line {
    enum log_format format;
    bool is_coloured; /* for a terminal */
    bool is_cut;      /* a field was left out, since the line was full */
    size_t length;
    char text[LOG_LINE_MAX];
};

void log_line_begin(struct log_line *line, enum log_format format, bool is_coloured);

/* Adds the field `level`. `rank`, which decides its colour: 0 is the most important. */
void log_line_level(struct log_line *line, const char *name, unsigned rank);

/* Adds a field. `key` is [a-z0-9_]+. In `value`, control characters, characters that change the
 * direction of writing, and bytes that are not UTF-8 are escaped or replaced, and a text that is
 * too long ends with "…". A field for which there is no room is left out. */
void log_line_text(struct log_line *line, const char *key, struct parley_bytes value);
void log_line_number(struct log_line *line, const char *key, int64_t value);
void log_line_flag(struct log_line *line, const char *key, bool value);

/* Adds the mark of a line that was cut off, if it was, and the line feed. */
void log_line_end(struct log_line *line);
