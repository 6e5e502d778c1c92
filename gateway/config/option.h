/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The table behind configuration.h: an option a row, and what its values may be. Where values come
 * from is configuration.c's. */

#include <jansson.h>

#include <parley/buffer.h>

#include "configuration.h"

enum option_type {
    OPTION_TEXT,
    OPTION_SWITCH,
    OPTION_COUNT,
    OPTION_SIZE,
    OPTION_DURATION,
    OPTION_LIST, /* comma-separated; an option that is given again adds to it */
};

struct option {
    const char *flag;
    enum option_type type;
    size_t field;              /* offset in struct configuration */
    const char *value_name;    /* in --help */
    const char *fallback;      /* the default, as one would write it; NULL: found out at start */
    const char *fallback_text; /* what --help says of the default, where it says more */
    uint64_t minimum, maximum; /* of counts, sizes (bytes) and durations (ms) */
    bool is_not_in_file;       /* it says what to do, not how to serve */
    const char *help;
};

#define OPTIONS 17
extern const struct option options[OPTIONS];

/* PARLEY_SPOOL_MAX for "spool-max". */
void option_name_variable(const char *flag, char out[64]);

/* Puts a value into its field, whether or not it may be there.  Owns: a text is borrowed.
 * Returns: whether it may. */
bool option_assign(const struct option *option, const char *text,
                   struct configuration *configuration);

/* Says that option_assign refused `text`, which `by` ("--listen") had brought. */
void option_say_invalid(const struct option *option, const char *by, const char *text);

/* The text that a value of the configuration file would be on the command line.
 * Returns: whether it is of a type that may stand there; else `out_wants` says what may. */
bool option_read_json(const struct option *option, const json_t *value, struct parley_buffer *out,
                      const char **out_wants);

/* The value as the configuration file would have it. */
void option_write_json(const struct option *option, const struct configuration *configuration,
                       struct parley_buffer *out);
