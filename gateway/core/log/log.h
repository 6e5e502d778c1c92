/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The log: one line per event on standard error. The process has one log, as it has one standard
 * error. The events that may be logged are the table in log_events.h.
 *
 * A line is one write, so that lines of several threads and processes do not mix. A line that
 * cannot be written at once (a pipe or a terminal without a reader, a full disk) is left out and
 * counted; the log never waits. The lines of each event per second are limited, and the next one
 * has `left_out`: the number of lines that were not written.
 *
 * Secrets are never passed to it. */

#include <stdbool.h>
#include <stdint.h>

#include <parley/buffer.h>
#include <parley/bytes.h>

#include "log_events.h"
#include "log_line.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

struct log_options {
    int fd; /* borrowed; a terminal is opened once more, until the next log_open */
    enum log_format format;
    enum log_level level; /* the least important that is written */
    bool is_coloured;
    unsigned requests_per_s; /* how many lines of requests there may be; 0: any number */
};

/* Makes the log write lines as `options` says. Before this call, lines are written as with
 * {2, LOG_LOGFMT, LOG_LEVEL_INFO, false, 0}.  Threads: before others log. */
void log_open(const struct log_options *options);
/* Threads: any. */
void log_set_level(enum log_level level);

enum log_field_type { LOG_FIELD_END, LOG_FIELD_TEXT, LOG_FIELD_NUMBER, LOG_FIELD_FLAG };

struct log_field {
    enum log_field_type type;
    const char *key; /* one of the event's */
    struct parley_bytes text;
    int64_t number;
};

/* Fields for log_write. A text may have any length and content; NULL leaves the field out. */
#define LOG_BYTES(key_, value_)                                                                    \
    { .type = LOG_FIELD_TEXT, .key = (key_), .text = (value_) }
#define LOG_TEXT(key_, value_) LOG_BYTES(key_, parley_bytes_of(value_))
#define LOG_NUMBER(key_, value_)                                                                   \
    { .type = LOG_FIELD_NUMBER, .key = (key_), .number = (int64_t)(value_) }
#define LOG_FLAG(key_, value_)                                                                     \
    { .type = LOG_FIELD_FLAG, .key = (key_), .number = (value_) }
#define LOG_FIELDS(...) ((const struct log_field[]){__VA_ARGS__, {.type = LOG_FIELD_END}})

/* Writes a line.  `message`: a sentence without a full stop; data NULL: the event's.  `fields`:
 * NULL if there are none.  Threads: any.  Never waits, and never fails. */
void log_write(enum log_event event, struct parley_bytes message, const struct log_field *fields);

/* log_write with a text for a message, with no message, and with the content of an error buffer. */
void log_text(enum log_event event, const char *message);
void log_event(enum log_event event, const struct log_field *fields);
void log_buffer(enum log_event event, const struct parley_buffer *message);
/* With a message put together; of a longer one than 2 KiB the rest is cut off. */
void log_format(enum log_event event, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns how many lines were left out and are not in a line so far; they count as reported
 * then. */
uint64_t log_take_left_out(void);

/* The names of levels and formats, which end with NULL. */
extern const char *const log_level_names[];
extern const char *const log_format_names[];

/* A row of the table.  Returns: NULL after the last one. */
struct log_event_row {
    const char *name, *message, *fields, *advice;
    enum log_level level;
};
const struct log_event_row *log_event_row(size_t index);
