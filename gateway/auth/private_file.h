/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Files that no other user may read or write: how they are read, and replaced whole.
 *
 * Errors are sentences without a prefix and a full stop: `error` is appended to. */

#include <stdbool.h>

#include <parley/buffer.h>

/* Appends the contents of a file of at most `bytes_max` to `out`.
 * Returns: false, with an `error`: it cannot be read, belongs to another user, or others may read
 * or write it. (One of root's that a group of this process may read is taken, unless it runs as
 * root: that is how Kubernetes mounts secrets.) */
bool private_file_read(const char *path, size_t bytes_max, struct parley_buffer *out,
                       struct parley_buffer *error);

/* As private_file_read, for a file that others may read, but not write: public keys. */
bool public_file_read(const char *path, size_t bytes_max, struct parley_buffer *out,
                      struct parley_buffer *error);

/* Writes a file of mode 0600 beside it, syncs that, and renames it; a symbolic link is followed, so
 * that it stays one.  Returns: false, with an `error`. */
bool private_file_replace(const char *path, struct parley_bytes text, struct parley_buffer *error);

bool private_file_exists(const char *path);

/* Waits until no other process has the lock of the file's folder.
 * Returns: for private_file_unlock; -1, with an `error`. */
int private_file_lock(const char *path, struct parley_buffer *error);
/* -1 is allowed. */
void private_file_unlock(int lock);
