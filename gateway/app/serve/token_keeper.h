/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The server's tokens, as in their present file. A file that cannot be read changes nothing, and a
 * server that requires tokens continues to require them, whatever happens to the file. Threads: the
 * main one. */

#include "file_watch.h"
#include "tokens.h"

/* Owns: the caller embeds it; zeroed is valid. */
struct token_keeper {
    struct tokens *tokens; /* NULL: there is no file, and everybody is let in */
    const char *path;
    struct file_watch watch;
    /* Called with new ones, which it borrows. */
    void (*changed)(struct token_keeper *keeper, struct tokens *tokens);
};

/* Reads the file.  `is_required`: it is an error when it does not exist.
 * Returns: false: `error` gets the reason.  Owns: `path` is borrowed. */
bool token_keeper_open(struct token_keeper *keeper, const char *path, bool is_required,
                       struct parley_buffer *error);
/* Watches it from now on. */
void token_keeper_watch(struct token_keeper *keeper, struct reactor *reactor,
                        void (*changed)(struct token_keeper *keeper, struct tokens *tokens));
/* Reads it again, and logs the result. */
void token_keeper_reload(struct token_keeper *keeper);
void token_keeper_close(struct token_keeper *keeper);
