/* SPDX-License-Identifier: Apache-2.0 */

/* Lists of entries, by key. Connections and streams begin and end seldom compared with messages, so
 * one lock does. */

#include "tally.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>

struct tally_entry {
    struct tally *tally;
    struct limit_key key;
    uint64_t count;
    LIST_ENTRY(tally_entry) links;
};

LIST_HEAD(tally_list, tally_entry);

struct tally {
    pthread_mutex_t mutex;
    size_t sender_count;
    size_t list_count; /* a power of 2 */
    struct tally_list lists[];
};

static struct tally_list *list_of(struct tally *tally, const struct limit_key *key) {
    return &tally->lists[key->high & (tally->list_count - 1)];
}

static struct tally_entry *find(struct tally_list *list, const struct limit_key *key) {
    struct tally_entry *entry;
    LIST_FOREACH(entry, list, links) {
        if (limit_key_equals(&entry->key, key)) {
            return entry;
        }
    }
    return NULL;
}

static struct tally_entry *add(struct tally *tally, const struct limit_key *key) {
    struct tally_entry *entry = malloc(sizeof *entry);
    if (entry != NULL) {
        *entry = (struct tally_entry){.tally = tally, .key = *key};
        LIST_INSERT_HEAD(list_of(tally, key), entry, links);
        tally->sender_count++;
    }
    return entry;
}

struct tally_entry *tally_enter(struct tally *tally, const struct limit_key *key, uint64_t max) {
    pthread_mutex_lock(&tally->mutex);
    struct tally_entry *entry = find(list_of(tally, key), key);
    if (entry == NULL && max > 0) {
        entry = add(tally, key);
    }
    if (entry != NULL && entry->count >= max) {
        entry = NULL;
    }
    if (entry != NULL) {
        entry->count++;
    }
    pthread_mutex_unlock(&tally->mutex);
    return entry;
}

void tally_leave(struct tally_entry *entry) {
    if (entry == NULL) {
        return;
    }
    struct tally *tally = entry->tally;
    pthread_mutex_lock(&tally->mutex);
    const bool is_last = --entry->count == 0;
    if (is_last) {
        LIST_REMOVE(entry, links);
        tally->sender_count--;
    }
    pthread_mutex_unlock(&tally->mutex);
    if (is_last) {
        free(entry);
    }
}

size_t tally_sender_count(struct tally *tally) {
    pthread_mutex_lock(&tally->mutex);
    const size_t count = tally->sender_count;
    pthread_mutex_unlock(&tally->mutex);
    return count;
}

enum parley_status tally_create(size_t expected, struct tally **out) {
    size_t count = 1;
    while (count < expected) {
        count *= 2;
    }
    struct tally *tally = calloc(1, sizeof *tally + count * sizeof tally->lists[0]);
    if (tally == NULL) {
        return PARLEY_E_MEMORY;
    }
    pthread_mutex_init(&tally->mutex, NULL);
    tally->list_count = count;
    for (size_t i = 0; i < count; i++) {
        LIST_INIT(&tally->lists[i]);
    }
    *out = tally;
    return PARLEY_OK;
}

void tally_destroy(struct tally *tally) {
    if (tally != NULL) {
        pthread_mutex_destroy(&tally->mutex);
        free(tally);
    }
}
