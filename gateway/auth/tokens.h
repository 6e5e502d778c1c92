/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The tokens of a server at one moment: the content of its file, as a table by hash. It never
 * changes, so that all threads share it; a changed file makes a new one. */

#include "principal.h"
#include "token_file.h"

struct tokens;

enum token_state { TOKEN_UNKNOWN, TOKEN_VALID, TOKEN_EXPIRED, TOKEN_REVOKED };

/* Reads the file at `path`.  Returns: NULL, with an `error` (token_file.h). The caller has a
 * reference to it. */
struct tokens *tokens_read(const char *path, struct parley_buffer *error);

/* It lives until its last reference is dropped.  Threads: any.  NULL is allowed. */
struct tokens *tokens_ref(struct tokens *tokens);
void tokens_unref(struct tokens *tokens);

/* Returns how many tokens there are, valid or not. */
size_t tokens_count(const struct tokens *tokens);

/* Looks up a token that a client shows. The time that it takes depends on the token's hash alone,
 * no part of which a sender can choose.
 * Owns: *out, of TOKEN_VALID, is borrowed from `tokens`; principal_ref keeps it longer. */
enum token_state tokens_find(const struct tokens *tokens, struct parley_bytes shown, int64_t now,
                             struct principal **out);
/* As tokens_find, for a client's certificate by its name. */
enum token_state tokens_find_certificate(const struct tokens *tokens, const char *name, int64_t now,
                                         struct principal **out);
