/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads the files that people write: only the part of YAML that a list of options needs, and a list
 * of sections with options where the visitor takes sections (ADR 21). */

#include <stdbool.h>
#include <stddef.h>

#include <parley/buffer.h>

/* A file is larger by mistake. */
#define CONFIGURATION_FILE_BYTES_MAX ((size_t)256 * 1024)

struct configuration_entry {
    const char *key;
    size_t line;       /* from 1 */
    const char *value; /* as it is written, without quotes; items are joined by ','; NULL if there
                          is none */
    bool is_list;
};

struct configuration_visitor {
    /* An entry, in the order of the file.  Owns: its texts are the reader's. */
    void (*entry)(void *context, const struct configuration_entry *entry);
    /* A section begins: a key whose value is a mapping, whose entries follow, or (`name` NULL) it
     * ends. NULL: there are no sections.  Owns: as above. */
    void (*section)(void *context, const char *name, size_t line);
    /* Something that is wrong with the file; line 0: with all of it. */
    void (*fault)(void *context, size_t line, const char *text);
    void *context;
};

/* Reads the file at `path`. It continues after a mistake, unless the file is not YAML.  `is_again`:
 * as for configuration_file_contents.  Returns: false: out of memory. */
bool configuration_file_read(const char *path, bool is_again,
                             const struct configuration_visitor *visitor);

/* The same for the text of a file. */
bool configuration_text_read(struct parley_bytes text, const struct configuration_visitor *visitor);

/* Appends the contents of the file at `path`. It may be a pipe, unless it is read again: a pipe is
 * empty then, or makes the reader wait. Returns: NULL, or the reason of a failure, as the end of a
 * sentence: "cannot be read: …". */
const char *configuration_file_contents(const char *path, bool is_again, size_t bytes_max,
                                        struct parley_buffer *out);

/* Whether a value has a character that no option can have: a line break, a NUL. */
bool configuration_has_control(struct parley_bytes value);
