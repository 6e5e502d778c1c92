/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The file of tokens: JSON that a person can read, with the hash of each token and its permissions
 * (docs/api.md#access). It is secret, since a user who can write it can admit anyone, and one who
 * can read it sees all names: a file that others can read or write is refused.
 *
 * Errors are sentences without a prefix and a full stop: `error` is appended to. */

#include <parley/arena.h>

#include "scopes.h"
#include "token.h"

enum {
    TOKEN_NAME_MAX = 64,
    TOKEN_AGENT_MAX = 128,
    TOKEN_CERTIFICATE_MAX = 255,
    TOKEN_FILE_BYTES_MAX = 16 << 20,
    TOKEN_FILE_KEPT_S = 90 * 86400, /* expired and revoked tokens, so that their use can be
                                       explained */
};

struct token_entry {
    const char *name;        /* 1 to 64 of A-Z a-z 0-9 . _ - @ */
    const char *agent;       /* NULL if absent */
    const char *certificate; /* the name of a client's certificate that stands for a token, as
                                "dns:…"; NULL for a token */
    struct scopes scopes;
    uint64_t messages_per_s, bytes_per_s;       /* 0: the server's */
    int64_t created_at, expires_at, revoked_at; /* Unix time; 0: unknown, never, no */
    unsigned char hash[TOKEN_HASH_BYTES];
};

/* Owns: the texts of its entries are its own. Zeroed, it is empty. */
struct token_file {
    struct token_entry *entries;
    size_t count, capacity;
    struct parley_arena texts;
};

void token_file_finish(struct token_file *file);

/* Reads it into `out`, which is empty; a file that does not exist is an error.
 * Returns: false, with an `error`; `out` must be finished in any case. */
bool token_file_read(const char *path, struct token_file *out, struct parley_buffer *error);

/* Makes `change` change the content of the file, or an empty one where there is no file, and
 * replaces the file: with mode 0600, synced, and renamed, so that no reader sees half of it. Only
 * one process at a time does this to a folder; the others wait.  `change` returns false, with an
 * `error`, to leave the file as it is.
 * Returns: false, with an `error`. */
bool token_file_change(const char *path,
                       bool (*change)(struct token_file *file, void *context,
                                      struct parley_buffer *error),
                       void *context, struct parley_buffer *error);

/* Adds an entry; it replaces one of equal name that has expired or was revoked by `now`.
 * Copies its texts.  Returns: false, with an `error`: the name is taken, or a text is not one. */
bool token_file_add(struct token_file *file, const struct token_entry *entry, int64_t now,
                    struct parley_buffer *error);

/* Whether it can be the name of a certificate. */
bool token_certificate_is_name(const char *text);

/* Returns: NULL if there is none of that name. */
struct token_entry *token_file_find(const struct token_file *file, const char *name);

/* "active", "expired" or "revoked" */
const char *token_entry_state(const struct token_entry *entry, int64_t now);

/* Adds the comma-separated scopes in `text`, of which there must be one.
 * Returns: false, with an `error`. */
bool token_scopes_read(const char *text, struct scopes *out, struct parley_buffer *error);

/* 2026-11-22T14:30:00Z */
enum { TOKEN_TIME_SIZE = 32 };
void token_time_write(int64_t time, char out[TOKEN_TIME_SIZE]);
