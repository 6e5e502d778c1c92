/* SPDX-License-Identifier: Apache-2.0 */

#include "jwt_cache.h"

#include <stdlib.h>

enum { WAYS = 4, SETS = JWT_CACHE_COUNT / WAYS };

struct entry {
    unsigned char digest[JWT_DIGEST_BYTES];
    uint64_t generation, used;   /* `used`: the number of the last use */
    struct principal *principal; /* NULL if free */
};

struct jwt_cache {
    struct entry sets[SETS][WAYS];
    uint64_t use_count;
};

struct jwt_cache *jwt_cache_create(void) {
    return calloc(1, sizeof(struct jwt_cache));
}

void jwt_cache_destroy(struct jwt_cache *cache) {
    for (size_t i = 0; cache != NULL && i < JWT_CACHE_COUNT; i++) {
        principal_unref(cache->sets[i / WAYS][i % WAYS].principal);
    }
    free(cache);
}

/* Only verified tokens are kept, so a stranger cannot choose digests that meet in one set. */
static struct entry *set_of(struct jwt_cache *cache, const unsigned char *digest) {
    return cache->sets[(digest[0] | (unsigned)digest[1] << 8) % SETS];
}

struct principal *jwt_cache_find(struct jwt_cache *cache,
                                 const unsigned char digest[JWT_DIGEST_BYTES], uint64_t generation,
                                 int64_t now_s) {
    struct entry *set = set_of(cache, digest);
    for (size_t i = 0; i < WAYS; i++) {
        struct entry *entry = &set[i];
        if (entry->principal != NULL && entry->generation == generation &&
            memcmp(entry->digest, digest, JWT_DIGEST_BYTES) == 0 &&
            !principal_has_expired(entry->principal, now_s)) {
            entry->used = ++cache->use_count;
            return principal_ref(entry->principal);
        }
    }
    return NULL;
}

void jwt_cache_add(struct jwt_cache *cache, const unsigned char digest[JWT_DIGEST_BYTES],
                   uint64_t generation, struct principal *principal) {
    struct entry *oldest = set_of(cache, digest);
    for (size_t i = 1; i < WAYS; i++) {
        struct entry *entry = &set_of(cache, digest)[i];
        oldest = entry->used < oldest->used ? entry : oldest;
    }
    principal_unref(oldest->principal);
    *oldest = (struct entry){.generation = generation,
                             .used = ++cache->use_count,
                             .principal = principal_ref(principal)};
    memcpy(oldest->digest, digest, JWT_DIGEST_BYTES);
}
