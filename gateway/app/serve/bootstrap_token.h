/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The token that a server makes for itself where there is no token file yet (--first-token), so
 * that a container can be open to a network from its first moment, and closed to all clients in it.
 */

#include <stdbool.h>

#include <parley/buffer.h>

/* Makes the token file at `tokens_path` with one token that may do everything, and writes that
 * token to the file first-token in the folder `data`; prints where. Does nothing where there is a
 * token file.  Returns: false: `error` gets the reason. */
bool bootstrap_token_make(const char *tokens_path, const char *data, struct parley_buffer *error);
