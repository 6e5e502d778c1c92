/* SPDX-License-Identifier: Apache-2.0 */

#include "bootstrap_token.h"

#include <stdio.h>
#include <time.h>

#include <sodium.h>

#include "log.h"
#include "private_file.h"
#include "token_file.h"

static const char name[] = "first";

static bool add(struct token_file *file, void *context, struct parley_buffer *error) {
    const char *token = context;
    struct token_entry entry = {
        .name = name, .scopes = SCOPES_ALL, .created_at = (int64_t)time(NULL)};
    token_hash((struct parley_bytes){token, TOKEN_LENGTH}, entry.hash);
    return token_file_add(file, &entry, entry.created_at, error);
}

/* The token first: it is worth nothing until the server knows it. */
static bool store(const char *tokens_path, const char *token_path, char token[TOKEN_LENGTH + 2],
                  struct parley_buffer *error) {
    token_new(token);
    token[TOKEN_LENGTH] = '\n';
    return private_file_replace(token_path, (struct parley_bytes){token, TOKEN_LENGTH + 1},
                                error) &&
           token_file_change(tokens_path, add, token, error);
}

bool bootstrap_token_make(const char *tokens_path, const char *data, struct parley_buffer *error) {
    char path[4096], token[TOKEN_LENGTH + 2];
    if (private_file_exists(tokens_path)) {
        return true;
    }
    if (snprintf(path, sizeof path, "%s/first-token", data) >= (int)sizeof path) {
        parley_buffer_text(error, "the path of the data folder is too long");
        return false;
    }
    const bool is_made = store(tokens_path, path, token, error);
    sodium_memzero(token, sizeof token);
    if (is_made) {
        log_write(LOG_FIRST_TOKEN,
                  PARLEY_BYTES("first token created, which may do everything; to see it: cat "
                               "FILE (in a container: docker exec CONTAINER cat FILE)"),
                  LOG_FIELDS(LOG_TEXT("file", path)));
    }
    return is_made;
}
