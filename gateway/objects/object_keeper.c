/* SPDX-License-Identifier: Apache-2.0 */

/* See object_keeper.h. The stream's own order says which objects are the newest, so all gateways
 * come to the same result; more than one may remove the same object. Metas are delivered again
 * after a break, and change nothing. */

#include "object_keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum {
    OBJECTS_MAX = 65536, /* those of further owners are left to the bucket's age */
    CHAINS = 1024,
    ID_LENGTH = 36,
};

struct kept {
    uint64_t sequence;
    TAILQ_ENTRY(kept) links;
    char name[OBJECT_NAME_MAX], nuid[OBJECT_NUID_MAX];
};

struct owner {
    struct owner *next;
    TAILQ_HEAD(kept_list, kept) objects; /* the oldest first */
    size_t count;
    char name[OBJECT_NAME_MAX];
};

struct object_keeper {
    struct jetstream *jetstream;
    struct ordered_consumer *consumer; /* NULL: it has not begun, or was refused */
    size_t keep, object_count;
    object_drop_fn *drop;
    void *context;
    struct owner *chains[CHAINS];
    char stream[OBJECT_STREAM_MAX], metas[OBJECT_SUBJECT_MAX];
};

/* ---- owners and objects ---- */

/* FNV-1a. */
static size_t chain_of(struct parley_bytes name) {
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < name.length; i++) {
        hash = (hash ^ (unsigned char)name.data[i]) * UINT32_C(16777619);
    }
    return hash % CHAINS;
}

/* The part before the id; data NULL: it is not a name of parley's. */
static struct parley_bytes owner_of(struct parley_bytes name) {
    const bool has_id = name.length < OBJECT_NAME_MAX && name.length > ID_LENGTH + 1 &&
                        name.data[name.length - ID_LENGTH - 1] == '/';
    return has_id ? (struct parley_bytes){name.data, name.length - ID_LENGTH - 1}
                  : (struct parley_bytes){0};
}

/* Returns: NULL: there are too many, or there is no memory. */
static struct owner *open_owner(struct object_keeper *keeper, struct parley_bytes name) {
    struct owner **chain = &keeper->chains[chain_of(name)];
    for (struct owner *owner = *chain; owner != NULL; owner = owner->next) {
        if (parley_bytes_equal(parley_bytes_of(owner->name), name)) {
            return owner;
        }
    }
    struct owner *owner = keeper->object_count < OBJECTS_MAX ? calloc(1, sizeof *owner) : NULL;
    if (owner != NULL) {
        memcpy(owner->name, name.data, name.length);
        TAILQ_INIT(&owner->objects);
        owner->next = *chain;
        *chain = owner;
    }
    return owner;
}

static void forget(struct object_keeper *keeper, struct owner *owner, struct kept *kept) {
    TAILQ_REMOVE(&owner->objects, kept, links);
    owner->count--;
    keeper->object_count--;
    free(kept);
}

static struct kept *find(const struct owner *owner, struct parley_bytes name) {
    struct kept *kept;
    TAILQ_FOREACH(kept, &owner->objects, links) {
        if (parley_bytes_equal(parley_bytes_of(kept->name), name)) {
            return kept;
        }
    }
    return NULL;
}

static void enter(struct object_keeper *keeper, struct owner *owner, struct kept *kept) {
    struct kept *before = TAILQ_LAST(&owner->objects, kept_list);
    while (before != NULL && before->sequence > kept->sequence) {
        before = TAILQ_PREV(before, kept_list, links);
    }
    if (before != NULL) {
        TAILQ_INSERT_AFTER(&owner->objects, before, kept, links);
    } else {
        TAILQ_INSERT_HEAD(&owner->objects, kept, links);
    }
    owner->count++;
    keeper->object_count++;
}

static void drop_oldest(struct object_keeper *keeper, struct owner *owner) {
    while (owner->count > keeper->keep) {
        struct kept *oldest = TAILQ_FIRST(&owner->objects);
        keeper->drop(keeper->context, oldest->name, oldest->nuid);
        forget(keeper, owner, oldest);
    }
}

static void note(struct object_keeper *keeper, uint64_t sequence, const struct object_meta *meta) {
    const struct parley_bytes name = owner_of(meta->name);
    struct owner *owner = name.data != NULL ? open_owner(keeper, name) : NULL;
    struct kept *known = owner != NULL ? find(owner, meta->name) : NULL;
    if (owner == NULL || (known != NULL && known->sequence >= sequence)) {
        return;
    }
    if (known != NULL) {
        forget(keeper, owner, known);
    }
    struct kept *kept =
        meta->is_deleted || meta->nuid.length >= OBJECT_NUID_MAX ? NULL : calloc(1, sizeof *kept);
    if (kept == NULL) {
        return;
    }
    kept->sequence = sequence;
    memcpy(kept->name, meta->name.data, meta->name.length);
    memcpy(kept->nuid, meta->nuid.data, meta->nuid.length);
    enter(keeper, owner, kept);
    drop_oldest(keeper, owner);
}

void object_keeper_take(struct object_keeper *keeper, uint64_t sequence, struct parley_bytes meta) {
    struct parley_arena arena;
    struct object_meta read;
    parley_arena_init(&arena, 0);
    if (object_meta_read(meta, &arena, &read) == PARLEY_OK) {
        note(keeper, sequence, &read);
    }
    parley_arena_finish(&arena);
}

/* ---- reading ---- */

static void on_opened(void *context, uint64_t next_sequence) {
    (void)context;
    (void)next_sequence;
}

static void on_stored(void *context, const struct jetstream_stored *stored) {
    object_keeper_take(context, stored->sequence, stored->payload);
}

/* Begun again with the next object. */
static void on_refused(void *context, const char *error) {
    struct object_keeper *keeper = context;
    (void)error;
    ordered_consumer_close(keeper->consumer);
    keeper->consumer = NULL;
}

void object_keeper_begin(struct object_keeper *keeper) {
    const struct ordered_consumer_events events = {
        .opened = on_opened, .stored = on_stored, .refused = on_refused, .context = keeper};
    const struct jetstream_start start = {.from = JETSTREAM_FROM_LAST, .filter = keeper->metas};
    if (keeper->consumer == NULL &&
        ordered_consumer_open(keeper->jetstream, keeper->stream, start, ORDERED_FOLLOW, &events,
                              &keeper->consumer) != PARLEY_OK) {
        keeper->consumer = NULL;
    }
}

/* ---- its life ---- */

enum parley_status object_keeper_create(struct jetstream *jetstream, const char *bucket,
                                        size_t keep, object_drop_fn *drop, void *context,
                                        struct object_keeper **out) {
    char chunks[OBJECT_SUBJECT_MAX];
    struct object_keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL) {
        return PARLEY_E_MEMORY;
    }
    keeper->jetstream = jetstream;
    keeper->keep = keep;
    keeper->drop = drop;
    keeper->context = context;
    object_stream_name(bucket, keeper->stream);
    object_store_subjects(bucket, chunks, keeper->metas);
    *out = keeper;
    return PARLEY_OK;
}

static void free_owner(struct object_keeper *keeper, struct owner *owner) {
    struct kept *kept;
    while ((kept = TAILQ_FIRST(&owner->objects)) != NULL) {
        forget(keeper, owner, kept);
    }
    free(owner);
}

void object_keeper_destroy(struct object_keeper *keeper) {
    if (keeper == NULL) {
        return;
    }
    ordered_consumer_close(keeper->consumer);
    for (size_t i = 0; i < CHAINS; i++) {
        struct owner *owner;
        while ((owner = keeper->chains[i]) != NULL) {
            keeper->chains[i] = owner->next;
            free_owner(keeper, owner);
        }
    }
    free(keeper);
}
