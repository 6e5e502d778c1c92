/* SPDX-License-Identifier: Apache-2.0 */

/* Sets of WAYS places: a sender's key says which set it belongs to, and all places of a set are
 * compared. Every LOCKS-th set shares a lock, which is held for one look at a set. */

#include "rate_table.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    WAYS = 16,
    LOCKS = 256,
    LINE_BYTES = 64,
};

/* Zeroed: free. */
struct place {
    struct limit_key key;
    int64_t full_ns[RATE_UNITS]; /* when there is no lead left */
};

struct set {
    struct place places[WAYS];
};

struct lock {
    _Alignas(LINE_BYTES) pthread_mutex_t mutex;
};

struct rate_table {
    struct lock locks[LOCKS];
    size_t set_count; /* a power of 2 */
    struct set *sets;
};

static int64_t lead_until(int64_t full_ns, int64_t now_ns) {
    return full_ns > now_ns ? full_ns - now_ns : 0;
}

/* ---- one set ---- */

static struct place *find(struct set *set, const struct limit_key *key) {
    for (size_t i = 0; i < WAYS; i++) {
        if (limit_key_equals(&set->places[i].key, key)) {
            return &set->places[i];
        }
    }
    return NULL;
}

static int64_t recovered_ns(const struct place *place) {
    const int64_t messages_ns = place->full_ns[RATE_MESSAGES];
    const int64_t bytes_ns = place->full_ns[RATE_BYTES];
    return messages_ns > bytes_ns ? messages_ns : bytes_ns;
}

/* The one that has recovered, or will first. */
static struct place *give_up_one(struct set *set) {
    struct place *least = &set->places[0];
    for (size_t i = 1; i < WAYS; i++) {
        if (recovered_ns(&set->places[i]) < recovered_ns(least)) {
            least = &set->places[i];
        }
    }
    return least;
}

static struct rate_lead lead_of(const struct place *place, int64_t now_ns) {
    struct rate_lead lead = {{0}};
    for (size_t unit = 0; place != NULL && unit < RATE_UNITS; unit++) {
        lead.ns[unit] = lead_until(place->full_ns[unit], now_ns);
    }
    return lead;
}

static struct rate_lead lead_after(const struct rate *rate, struct rate_lead lead,
                                   const struct rate_cost *cost) {
    for (size_t unit = 0; unit < RATE_UNITS; unit++) {
        const uint64_t per_s = rate->per_s[unit];
        lead.ns[unit] = per_s > 0 ? rate_lead_after(per_s, lead.ns[unit], cost->count[unit]) : 0;
    }
    return lead;
}

static void keep(struct set *set, struct place *place, const struct limit_key *key,
                 const struct rate_lead *lead, int64_t now_ns) {
    place = place != NULL ? place : give_up_one(set);
    place->key = *key;
    for (size_t unit = 0; unit < RATE_UNITS; unit++) {
        place->full_ns[unit] = now_ns + lead->ns[unit];
    }
}

/* ---- the table ---- */

static struct set *enter(struct rate_table *table, const struct limit_key *key) {
    const size_t number = key->high & (table->set_count - 1);
    pthread_mutex_lock(&table->locks[number % LOCKS].mutex);
    return &table->sets[number];
}

static void leave(struct rate_table *table, const struct set *set) {
    const size_t number = (size_t)(set - table->sets);
    pthread_mutex_unlock(&table->locks[number % LOCKS].mutex);
}

int64_t rate_wait_for(const struct rate *rate, const struct rate_lead *lead,
                      const struct rate_cost *cost) {
    int64_t longest_ns = 0;
    for (size_t unit = 0; unit < RATE_UNITS; unit++) {
        if (rate->per_s[unit] > 0 && cost->count[unit] > 0) {
            const int64_t wait_ns =
                rate_wait_ns(rate->per_s[unit], lead->ns[unit], cost->count[unit]);
            longest_ns = wait_ns > longest_ns ? wait_ns : longest_ns;
        }
    }
    return longest_ns;
}

struct rate_lead rate_table_look(struct rate_table *table, const struct limit_key *key,
                                 int64_t now_ns) {
    struct set *set = enter(table, key);
    const struct rate_lead lead = lead_of(find(set, key), now_ns);
    leave(table, set);
    return lead;
}

struct rate_lead rate_table_take(struct rate_table *table, const struct limit_key *key,
                                 const struct rate *rate, const struct rate_cost *cost,
                                 int64_t now_ns, bool *out_is_taken) {
    struct set *set = enter(table, key);
    struct place *place = find(set, key);
    struct rate_lead lead = lead_of(place, now_ns);
    *out_is_taken = rate_wait_for(rate, &lead, cost) == 0;
    if (*out_is_taken) {
        lead = lead_after(rate, lead, cost);
        keep(set, place, key, &lead, now_ns);
    }
    leave(table, set);
    return lead;
}

struct rate_lead rate_table_charge(struct rate_table *table, const struct limit_key *key,
                                   const struct rate *rate, const struct rate_cost *cost,
                                   int64_t now_ns) {
    struct set *set = enter(table, key);
    struct place *place = find(set, key);
    const struct rate_lead lead = lead_after(rate, lead_of(place, now_ns), cost);
    keep(set, place, key, &lead, now_ns);
    leave(table, set);
    return lead;
}

/* ---- lifecycle ---- */

static size_t sets_for(size_t places) {
    size_t count = 1;
    while (count * WAYS < places) {
        count *= 2;
    }
    return count;
}

enum parley_status rate_table_create(size_t places, struct rate_table **out) {
    const size_t set_count = sets_for(places);
    struct rate_table *table = aligned_alloc(LINE_BYTES, sizeof *table);
    struct set *sets = calloc(set_count, sizeof *sets);
    if (table == NULL || sets == NULL) {
        free(table);
        free(sets);
        return PARLEY_E_MEMORY;
    }
    table->set_count = set_count;
    table->sets = sets;
    for (size_t i = 0; i < LOCKS; i++) {
        pthread_mutex_init(&table->locks[i].mutex, NULL);
    }
    *out = table;
    return PARLEY_OK;
}

void rate_table_destroy(struct rate_table *table) {
    if (table == NULL) {
        return;
    }
    for (size_t i = 0; i < LOCKS; i++) {
        pthread_mutex_destroy(&table->locks[i].mutex);
    }
    free(table->sets);
    free(table);
}
