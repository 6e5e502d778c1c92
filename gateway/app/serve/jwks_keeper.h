/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The keys of JWTs, as their file says at present. What cannot be read changes nothing.
 * Threads: the main one. */

#include "file_watch.h"
#include "jwks.h"

/* Owns: the caller embeds it; zeroed is valid, and has no keys. */
struct jwks_keeper {
    struct jwks *jwks;
    const char *path;
    struct file_watch watch;
    /* Called with new ones, which it borrows. */
    void (*changed)(struct jwks_keeper *keeper, struct jwks *jwks);
};

/* Reads the file.  `path` is NULL if there is none.  Returns: false: `error` gets the reason. Owns:
 * `path` is borrowed. */
bool jwks_keeper_open(struct jwks_keeper *keeper, const char *path, struct parley_buffer *error);
/* Watches it from now on, if there is one. */
void jwks_keeper_watch(struct jwks_keeper *keeper, struct reactor *reactor,
                       void (*changed)(struct jwks_keeper *keeper, struct jwks *jwks));
/* Reads it again, and logs the result. */
void jwks_keeper_reload(struct jwks_keeper *keeper);
void jwks_keeper_close(struct jwks_keeper *keeper);
