/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The facts of a bucket that one reactor knows: values that JetStream has acknowledged or returned,
 * which cannot change, for a while; never the absence of a key, which another gateway may end at
 * any moment. Also keys that are expected, since a message that is being published will create
 * them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <parley/bytes.h>

struct fact_query;
TAILQ_HEAD(fact_queries, fact_query);

struct fact_entry {
    struct fact_entry *chain_next;
    TAILQ_ENTRY(fact_entry) link; /* in `known`, while it has a value */
    struct fact_queries waiting;  /* until it is no longer expected */
    unsigned expected_count;
    int64_t known_ms;
    char *value; /* NULL if not known */
    size_t size;
    char key[];
};

enum { FACT_CHAIN_COUNT = 8192 };

/* The owner embeds it. */
struct fact_cache {
    struct fact_entry *chains[FACT_CHAIN_COUNT];
    TAILQ_HEAD(, fact_entry) known; /* least recently used first */
    size_t known_count;
};

void fact_cache_init(struct fact_cache *cache);
/* No entry is expected. */
void fact_cache_finish(struct fact_cache *cache);

/* Returns: NULL if there is none.  Owns: borrowed, until the next call that changes the cache. */
struct fact_entry *fact_cache_find(struct fact_cache *cache, struct parley_bytes key);
/* Finds or adds an entry; one that stays unused is dropped by fact_cache_tidy.
 * Returns: NULL without memory. */
struct fact_entry *fact_cache_open(struct fact_cache *cache, struct parley_bytes key);
/* Frees an entry that has no value and is not expected. */
void fact_cache_tidy(struct fact_cache *cache, struct fact_entry *entry);

/* A value that is too large, or finds no memory, is not kept, and is asked for again. */
void fact_cache_learn(struct fact_cache *cache, struct fact_entry *entry, struct parley_bytes value,
                      int64_t now_ms);
/* Returns: NULL if not known.  Owns: borrowed, until the next turn. */
const char *fact_cache_value(struct fact_cache *cache, struct parley_bytes key, int64_t now_ms);
