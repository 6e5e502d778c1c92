/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The data of a fact store, shared by fact_store.c, which writes keys, and fact_query.c, which asks
 * for them; private to them. */

#include "fact_store.h"

#include "reactor.h"

struct fact_store {
    struct reactor *reactor;
    struct jetstream *jetstream;
    fact_of_fn *fact_of; /* NULL if it has a bucket */
    char stream[FACT_NAME_MAX], prefix[FACT_NAME_MAX], error[512];
    struct fact_cache cache;
    struct fact_ledger *ledger; /* NULL if there is none */
    fact_entry_fn *written;     /* NULL if there is no listener */
    void *written_context;
    fact_entry_fn *noted; /* likewise */
    void *noted_context;
    fact_known_fn *known; /* NULL: nothing is known without asking */
    void *known_context;
    fact_series_fn *series; /* NULL: no last keys are known */
    void *series_context;
    struct fact_queries line, asked, pausing;
    size_t asked_count, query_count, search_count;
    struct reactor_timer ask_timer, pause_timer;
    bool is_ending;
};

static inline int64_t fact_store_now_ms(const struct fact_store *store) {
    return reactor_now_ms(store->reactor);
}

/* Begins without any query. */
void fact_queries_init(struct fact_store *store);
/* Ends all queries with an error; the store must be ending. */
void fact_queries_finish(struct fact_store *store);
/* Sends the queries that wait for a key, in a later turn. */
void fact_queries_line_up(struct fact_queries *list);
