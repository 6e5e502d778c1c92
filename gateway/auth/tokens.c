/* SPDX-License-Identifier: Apache-2.0 */

#include "tokens.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

/* An open table with linear probing, at most half full. */
struct slot {
    struct principal *principal; /* NULL if free */
    bool is_revoked;
    unsigned char hash[TOKEN_HASH_BYTES];
};

struct tokens {
    atomic_size_t references;
    size_t count, mask; /* slots, less one */
    struct slot slots[];
};

static struct tokens *create(size_t count) {
    size_t slots = 2;
    while (slots < 2 * count) {
        slots *= 2;
    }
    struct tokens *tokens = calloc(1, sizeof *tokens + slots * sizeof tokens->slots[0]);
    if (tokens != NULL) {
        atomic_init(&tokens->references, 1);
        tokens->mask = slots - 1;
    }
    return tokens;
}

/* The place at which the search for a hash begins. */
static size_t home(const struct tokens *tokens, const unsigned char hash[TOKEN_HASH_BYTES]) {
    size_t start;
    memcpy(&start, hash, sizeof start);
    return start & tokens->mask;
}

static bool add(struct tokens *tokens, const struct token_entry *entry) {
    struct principal *principal = principal_create(entry->name, entry->agent);
    if (principal == NULL) {
        return false;
    }
    principal->scopes = entry->scopes;
    principal->messages_per_s = entry->messages_per_s;
    principal->bytes_per_s = entry->bytes_per_s;
    principal->expires_at = entry->expires_at;
    size_t i = home(tokens, entry->hash);
    while (tokens->slots[i].principal != NULL) {
        i = (i + 1) & tokens->mask;
    }
    tokens->slots[i] = (struct slot){.principal = principal, .is_revoked = entry->revoked_at != 0};
    memcpy(tokens->slots[i].hash, entry->hash, TOKEN_HASH_BYTES);
    tokens->count++;
    return true;
}

static struct tokens *build(const struct token_file *file) {
    struct tokens *tokens = create(file->count);
    for (size_t i = 0; tokens != NULL && i < file->count; i++) {
        if (!add(tokens, &file->entries[i])) {
            tokens_unref(tokens);
            return NULL;
        }
    }
    return tokens;
}

struct tokens *tokens_read(const char *path, struct parley_buffer *error) {
    struct token_file file = {0};
    struct tokens *tokens = NULL;
    if (token_file_read(path, &file, error)) {
        tokens = build(&file);
        parley_buffer_text(error, tokens != NULL ? "" : parley_status_text(PARLEY_E_MEMORY));
    }
    token_file_finish(&file);
    return tokens;
}

struct tokens *tokens_ref(struct tokens *tokens) {
    if (tokens != NULL) {
        atomic_fetch_add(&tokens->references, 1);
    }
    return tokens;
}

void tokens_unref(struct tokens *tokens) {
    if (tokens == NULL || atomic_fetch_sub(&tokens->references, 1) != 1) {
        return;
    }
    for (size_t i = 0; i <= tokens->mask; i++) {
        principal_unref(tokens->slots[i].principal);
    }
    free(tokens);
}

size_t tokens_count(const struct tokens *tokens) {
    return tokens->count;
}

static enum token_state state_of(const struct slot *slot, int64_t now) {
    return slot->is_revoked                              ? TOKEN_REVOKED
           : principal_has_expired(slot->principal, now) ? TOKEN_EXPIRED
                                                         : TOKEN_VALID;
}

/* A certificate that was revoked and admitted again has two entries, of which the valid one
 * counts. */
static enum token_state find(const struct tokens *tokens,
                             const unsigned char hash[TOKEN_HASH_BYTES], int64_t now,
                             struct principal **out) {
    enum token_state state = TOKEN_UNKNOWN;
    for (size_t i = home(tokens, hash); state != TOKEN_VALID && tokens->slots[i].principal != NULL;
         i = (i + 1) & tokens->mask) {
        const struct slot *slot = &tokens->slots[i];
        if (sodium_memcmp(slot->hash, hash, TOKEN_HASH_BYTES) == 0) {
            state = state_of(slot, now);
            *out = slot->principal;
        }
    }
    return state;
}

enum token_state tokens_find(const struct tokens *tokens, struct parley_bytes shown, int64_t now,
                             struct principal **out) {
    unsigned char hash[TOKEN_HASH_BYTES];
    token_hash(shown, hash);
    return find(tokens, hash, now, out);
}

enum token_state tokens_find_certificate(const struct tokens *tokens, const char *name, int64_t now,
                                         struct principal **out) {
    unsigned char hash[TOKEN_HASH_BYTES];
    token_hash_certificate(name, hash);
    return find(tokens, hash, now, out);
}
