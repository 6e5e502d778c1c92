/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The token that a command shows to a server. It is never an argument, which others can see. */

#include <parley/buffer.h>

/* That of the environment variable PARLEY_TOKEN; NULL: it is not set, or empty.
 * Owns: borrowed from the environment.  Returns: false, after an error message. */
bool bearer_of_environment(const char **out);

/* Reads the token in a file that no other user may read, without the white space around it, as a
 * string.  Returns: false, with an `error` (appended to). */
bool bearer_of_file(const char *path, struct parley_buffer *out, struct parley_buffer *error);
