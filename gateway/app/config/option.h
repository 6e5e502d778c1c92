/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of configuration.h, one row each, and their values as text. Where a value comes from
 * is up to configuration.c. */

#include <parley/buffer.h>

#include "configuration_load.h"

struct loading;

enum option_type {
    OPTION_TEXT,
    OPTION_SWITCH,
    OPTION_COUNT,
    OPTION_SIZE,
    OPTION_DURATION,
    OPTION_CHOICE, /* one of `choices`; its field has the index, a uint64_t */
    OPTION_LIST,   /* comma-separated; giving the option again appends to it */
};

struct option {
    const char *flag;
    enum option_type type;
    size_t field;               /* offset in struct configuration, of the type for `type` */
    const char *value_name;     /* in --help */
    const char *fallback;       /* the default, as a user would write it; NULL: found at start */
    const char *fallback_text;  /* the default in --help, where `fallback` would not explain it */
    uint64_t minimum, maximum;  /* of counts, sizes (bytes) and durations (ms) */
    const char *const *choices; /* of a choice; ends with NULL */
    bool is_not_in_file;        /* not a key of the configuration file */
    bool is_reloadable;         /* SIGHUP changes it; only of a number or a switch */
    bool is_secret;             /* may hold one: PARLEY_…_FILE names a file with the value */
    const char *help;
};

/* All options, in the order of --help: those of the table in options.c, and those of the protocols
 * (parley_protocol.options). */
enum { OPTIONS_MAX = 95 };
struct option option_at(size_t number);
size_t option_count(void);

/* Prints `parley serve --help`. */
void configuration_print_help(void);
/* Prints `parley serve --example-config`. */
void configuration_print_example(void);

/* PARLEY_SPOOL_MAX for "spool-max". */
void option_name_variable(const char *flag, char out[64]);

/* Stores a value in its field, even if it is out of range.  Owns: a text is borrowed.
 * Returns: whether the value is allowed. */
bool option_assign(const struct option *option, const char *text,
                   struct configuration *configuration);

/* Notes that option_assign refused `text`, which came from `by` ("--listen"). */
void option_note_invalid(const struct option *option, const char *by, const char *text,
                         struct loading *loading);

/* Takes over the value of an option that is_reloadable. */
void option_copy(const struct option *option, const struct configuration *from,
                 struct configuration *to);

/* Appends a value, which must not be absent, as a user would write it. */
void option_write_text(const struct option *option, const struct configuration *configuration,
                       struct parley_buffer *out);

/* Appends the value as in a configuration file, in JSON. */
void option_write_json(const struct option *option, const struct configuration *configuration,
                       struct parley_buffer *out);
