/* SPDX-License-Identifier: Apache-2.0 */

#include "fact_cache.h"

#include <stdlib.h>
#include <string.h>

enum {
    CACHE_COUNT_MAX = 4096,
    CACHED_BYTES_MAX = 1024, /* a larger entry is not cached, which bounds the whole cache */
    CACHE_MS = 10000,
};

void fact_cache_init(struct fact_cache *cache) {
    TAILQ_INIT(&cache->known);
}

void fact_cache_finish(struct fact_cache *cache) {
    for (size_t i = 0; i < FACT_CHAIN_COUNT; i++) {
        while (cache->chains[i] != NULL) {
            struct fact_entry *entry = cache->chains[i];
            cache->chains[i] = entry->chain_next;
            free(entry->value);
            free(entry);
        }
    }
}

static struct fact_entry **chain_of(struct fact_cache *cache, struct parley_bytes key) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < key.length; i++) {
        hash = (hash ^ (unsigned char)key.data[i]) * UINT64_C(1099511628211);
    }
    return &cache->chains[(hash ^ hash >> 32) % FACT_CHAIN_COUNT];
}

struct fact_entry *fact_cache_find(struct fact_cache *cache, struct parley_bytes key) {
    struct fact_entry *entry = *chain_of(cache, key);
    while (entry != NULL && !parley_bytes_equal(parley_bytes_of(entry->key), key)) {
        entry = entry->chain_next;
    }
    return entry;
}

struct fact_entry *fact_cache_open(struct fact_cache *cache, struct parley_bytes key) {
    struct fact_entry *entry = fact_cache_find(cache, key);
    if (entry != NULL) {
        return entry;
    }
    entry = malloc(sizeof *entry + key.length + 1);
    if (entry == NULL) {
        return NULL;
    }
    struct fact_entry **chain = chain_of(cache, key);
    *entry = (struct fact_entry){.chain_next = *chain, .size = key.length};
    TAILQ_INIT(&entry->waiting);
    memcpy(entry->key, key.data, key.length);
    entry->key[key.length] = '\0';
    *chain = entry;
    return entry;
}

static void forget_value(struct fact_cache *cache, struct fact_entry *entry) {
    if (entry->value != NULL) {
        TAILQ_REMOVE(&cache->known, entry, link);
        cache->known_count--;
        free(entry->value);
        entry->value = NULL;
    }
}

/* No query waits for an entry that is not expected. */
void fact_cache_tidy(struct fact_cache *cache, struct fact_entry *entry) {
    if (entry->expected_count > 0 || entry->value != NULL) {
        return;
    }
    struct fact_entry **link = chain_of(cache, parley_bytes_of(entry->key));
    while (*link != entry) {
        link = &(*link)->chain_next;
    }
    *link = entry->chain_next;
    free(entry);
}

static void forget_oldest(struct fact_cache *cache) {
    struct fact_entry *oldest = TAILQ_FIRST(&cache->known);
    forget_value(cache, oldest);
    fact_cache_tidy(cache, oldest);
}

void fact_cache_learn(struct fact_cache *cache, struct fact_entry *entry, struct parley_bytes value,
                      int64_t now_ms) {
    forget_value(cache, entry);
    if (value.length == 0 || entry->size + value.length > CACHED_BYTES_MAX) {
        return;
    }
    entry->value = parley_bytes_copy(value);
    if (entry->value == NULL) {
        return;
    }
    entry->known_ms = now_ms;
    TAILQ_INSERT_TAIL(&cache->known, entry, link);
    if (++cache->known_count > CACHE_COUNT_MAX) {
        forget_oldest(cache);
    }
}

const char *fact_cache_value(struct fact_cache *cache, struct parley_bytes key, int64_t now_ms) {
    struct fact_entry *entry = fact_cache_find(cache, key);
    if (entry == NULL || entry->value == NULL || now_ms - entry->known_ms > CACHE_MS) {
        return NULL;
    }
    TAILQ_REMOVE(&cache->known, entry, link);
    TAILQ_INSERT_TAIL(&cache->known, entry, link);
    return entry->value;
}
