/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A configuration while it is read: the value given for each option, where it came from, and all
 * that is wrong with any of them, so that one start shows every mistake.  Within gateway/config. */

#include <stdbool.h>
#include <stddef.h>

#include <parley/buffer.h>

#include "option.h"

struct loading {
    struct configuration *configuration;
    const char *text[OPTIONS_MAX]; /* NULL: not given */
    /* "--listen", "PARLEY_LISTEN" or "FILE:LINE: 'listen'". Ends well with "must be …". */
    const char *by[OPTIONS_MAX];
    struct parley_buffer faults; /* sentences, each with a final '\0' */
    size_t fault_count;
    bool is_out_of_memory;
    bool is_again; /* the server runs already, and must not wait for a file */
};

/* Owns: arguments are copied or borrowed; finish `faults` with parley_buffer_finish. */
void loading_init(struct loading *loading, struct configuration *configuration);

/* An empty configuration; finish it.  Returns: false: out of memory. */
bool configuration_init(struct configuration *configuration);

/* Notes a mistake; a text longer than a kilobyte is cut. */
void loading_fault(struct loading *loading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints a warning at once, cut and cleaned as mistakes are. */
void loading_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Copies a text; the copy lives as long as the configuration, and the buffer is finished.
 * Returns: NULL without memory, which is noted. */
const char *loading_keep(struct loading *loading, struct parley_buffer *text);
const char *loading_keep_joined(struct loading *loading, const char *a, const char *b);

/* The option with this field: OPTION_OF(listen). */
size_t option_index(size_t field);
#define OPTION_OF(member) option_index(offsetof(struct configuration, member))

/* Where the value of this option came from; NULL: it has its default. */
const char *loading_source(const struct loading *loading, size_t option);

/* Reads the command line.  Returns: -1; or an exit status: a flag is wrong, and it was said, or
 * help was given. */
int loading_read_flags(struct loading *loading, int argc, char **argv);
/* Then reads variables and the file into the configuration, and checks them all; mistakes are
 * noted. */
void loading_fill(struct loading *loading);

/* Whether nothing is wrong so far. */
bool loading_is_sound(const struct loading *loading);

/* Prints all that is wrong.  Returns: -1: nothing is; else the exit status. */
int loading_end(struct loading *loading);
