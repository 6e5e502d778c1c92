/* SPDX-License-Identifier: Apache-2.0 */

/* See object_retention.h. The stream's own order says which objects are the newest, so all gateways
 * come to one result; more than one may remove the same object.
 *
 * The metas are asked for one by one, and not delivered by a consumer: each object that is written
 * or removed makes nats-server 2.9 forget the metas that consumers of all metas were still to be
 * sent. A reading begins with the last meta that was read before. If another one is there now, or
 * none that is as new, the stream has lost its end or is another one of this name, so all are
 * forgotten and read again. */

#include "object_retention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum {
    CHAINS = 1024,
    ID_LENGTH = 36,
    AGAIN_MS = 250,
};

struct kept {
    uint64_t sequence; /* in the stream */
    int64_t time_ns;   /* of storage */
    uint64_t chunk_count;
    struct owner *owner;
    TAILQ_ENTRY(kept) links, in_all;
    char name[OBJECT_NAME_MAX], nuid[OBJECT_NUID_MAX];
};

/* There is at least one object of it. */
struct owner {
    LIST_ENTRY(owner) links;
    TAILQ_HEAD(kept_list, kept) objects; /* the oldest first */
    size_t count;
    char name[OBJECT_NAME_MAX];
};

struct object_retention {
    struct object_retention_options options;
    struct jetstream_request *request; /* for the next meta */
    struct reactor_timer again;        /* armed when it could not be asked for */
    bool is_resuming;                  /* the last meta that was read is asked for again */
    uint64_t wanted_sequence;          /* up to which they are read; 0 if they are */
    uint64_t last_sequence;            /* of the last one that was read; 0 if none was */
    int64_t last_time_ns;
    TAILQ_HEAD(all_kept, kept) all; /* the oldest first */
    size_t object_count;
    LIST_HEAD(, owner) chains[CHAINS];
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

/* Returns the part before the id; data NULL if it is not a name of parley's. */
static struct parley_bytes owner_of(struct parley_bytes name) {
    const bool has_id = name.length < OBJECT_NAME_MAX && name.length > ID_LENGTH + 1 &&
                        name.data[name.length - ID_LENGTH - 1] == '/';
    return has_id ? (struct parley_bytes){name.data, name.length - ID_LENGTH - 1}
                  : (struct parley_bytes){0};
}

static struct owner *find_owner(struct object_retention *keeper, struct parley_bytes name) {
    struct owner *owner;
    LIST_FOREACH(owner, &keeper->chains[chain_of(name)], links) {
        if (parley_bytes_equal(parley_bytes_of(owner->name), name)) {
            return owner;
        }
    }
    return NULL;
}

/* Returns: NULL without memory. */
static struct owner *open_owner(struct object_retention *keeper, struct parley_bytes name) {
    struct owner *known = find_owner(keeper, name);
    struct owner *owner = known == NULL ? calloc(1, sizeof *owner) : known;
    if (known == NULL && owner != NULL) {
        memcpy(owner->name, name.data, name.length);
        TAILQ_INIT(&owner->objects);
        LIST_INSERT_HEAD(&keeper->chains[chain_of(name)], owner, links);
    }
    return owner;
}

/* With its owner, if it was the last one. */
static void forget(struct object_retention *keeper, struct kept *kept) {
    struct owner *owner = kept->owner;
    TAILQ_REMOVE(&owner->objects, kept, links);
    TAILQ_REMOVE(&keeper->all, kept, in_all);
    keeper->object_count--;
    if (--owner->count == 0) {
        LIST_REMOVE(owner, links);
        free(owner);
    }
    free(kept);
}

/* Forgets the metas that the bucket's age has removed by now, and the oldest one if there is no
 * place for another. */
static void forget_oldest(struct object_retention *keeper, int64_t now_ns) {
    struct kept *oldest;
    while ((oldest = TAILQ_FIRST(&keeper->all)) != NULL &&
           (keeper->object_count == keeper->options.objects_max ||
            now_ns - oldest->time_ns > keeper->options.age_ns)) {
        forget(keeper, oldest);
    }
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

static void enter(struct object_retention *keeper, struct owner *owner, struct kept *kept) {
    struct kept *before = TAILQ_LAST(&owner->objects, kept_list);
    while (before != NULL && before->sequence > kept->sequence) {
        before = TAILQ_PREV(before, kept_list, links);
    }
    if (before != NULL) {
        TAILQ_INSERT_AFTER(&owner->objects, before, kept, links);
    } else {
        TAILQ_INSERT_HEAD(&owner->objects, kept, links);
    }
    kept->owner = owner;
    owner->count++;
    keeper->object_count++;
    TAILQ_INSERT_TAIL(&keeper->all, kept, in_all);
}

/* Its owner has at least the newest one afterwards. */
static void drop_oldest(struct object_retention *keeper, struct owner *owner) {
    const struct object_retention_options *options = &keeper->options;
    while (owner->count > options->keep) {
        struct kept *oldest = TAILQ_FIRST(&owner->objects);
        options->drop(options->context, oldest->name, oldest->sequence, oldest->nuid,
                      oldest->chunk_count);
        forget(keeper, oldest);
    }
}

/* Another meta of its name comes after that of `kept`: of two uploads at the same time, the chunks
 * of the first one belong to nothing now. A program that only changes the description in a meta, or
 * marks it as deleted, handles the chunks itself. */
static void replace(struct object_retention *keeper, struct kept *kept,
                    const struct object_meta *meta) {
    const struct object_retention_options *options = &keeper->options;
    const bool has_other_chunks = !parley_bytes_equal(parley_bytes_of(kept->nuid), meta->nuid);
    if (!meta->is_deleted && has_other_chunks) {
        options->drop(options->context, NULL, kept->sequence, kept->nuid, kept->chunk_count);
    }
    forget(keeper, kept);
}

/* It was known before it was read: this gateway has written it. */
static void put_in_place(struct object_retention *keeper, struct kept *kept, int64_t time_ns) {
    kept->time_ns = time_ns;
    TAILQ_REMOVE(&keeper->all, kept, in_all);
    TAILQ_INSERT_TAIL(&keeper->all, kept, in_all);
}

void object_retention_take(struct object_retention *keeper, const struct object_meta_place *at,
                           const struct object_meta *meta) {
    const struct parley_bytes name = owner_of(meta->name);
    forget_oldest(keeper, at->time_ns);
    struct owner *owner = name.data != NULL ? find_owner(keeper, name) : NULL;
    struct kept *known = owner != NULL ? find(owner, meta->name) : NULL;
    if (known != NULL && known->sequence == at->sequence) {
        put_in_place(keeper, known, at->time_ns);
        return;
    }
    if (known != NULL && known->sequence > at->sequence) {
        return; /* the gateway that wrote it removes its chunks */
    }
    if (known != NULL) {
        replace(keeper, known, meta);
    }
    const bool is_ours =
        name.data != NULL && !meta->is_deleted && meta->nuid.length < OBJECT_NUID_MAX;
    struct kept *kept = is_ours ? calloc(1, sizeof *kept) : NULL;
    owner = kept != NULL ? open_owner(keeper, name) : NULL;
    if (owner == NULL) {
        free(kept);
        return;
    }
    kept->sequence = at->sequence;
    kept->time_ns = at->time_ns;
    kept->chunk_count = meta->chunks;
    memcpy(kept->name, meta->name.data, meta->name.length);
    memcpy(kept->nuid, meta->nuid.data, meta->nuid.length);
    enter(keeper, owner, kept);
    drop_oldest(keeper, owner);
}

/* ---- reading ---- */

static void ask(struct object_retention *keeper);

static void forget_all(struct object_retention *keeper) {
    while (!TAILQ_EMPTY(&keeper->all)) {
        forget(keeper, TAILQ_FIRST(&keeper->all));
    }
    keeper->last_sequence = 0;
}

static void take_held(struct object_retention *keeper, const struct jetstream_held *held) {
    const struct object_meta_place at = {held->sequence, held->time_ns};
    struct parley_arena arena;
    struct object_meta meta;
    parley_arena_init(&arena, 0);
    if (object_meta_read(held->payload, &arena, &meta) == PARLEY_OK) {
        object_retention_take(keeper, &at, &meta);
    }
    parley_arena_finish(&arena);
    keeper->last_sequence = held->sequence;
    keeper->last_time_ns = held->time_ns;
}

/* A stream that is not a continuation is read from its beginning again. */
static void resume(struct object_retention *keeper, const struct jetstream_held *held) {
    const bool is_last = held->sequence == keeper->last_sequence;
    keeper->is_resuming = false;
    if (held->found == JETSTREAM_HELD_GONE || (is_last && held->time_ns != keeper->last_time_ns)) {
        forget_all(keeper);
    } else if (!is_last) {
        take_held(keeper, held);
    }
}

static void on_held(void *context, const struct jetstream_held *held) {
    struct object_retention *keeper = context;
    keeper->request = NULL;
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        reactor_timer_set(keeper->options.reactor, &keeper->again, AGAIN_MS);
        return;
    }
    const bool was_resuming = keeper->is_resuming;
    if (was_resuming) {
        resume(keeper, held);
    } else if (held->found == JETSTREAM_HELD_FOUND) {
        take_held(keeper, held);
    }
    const bool has_all = held->found == JETSTREAM_HELD_GONE && !was_resuming;
    if (has_all || keeper->last_sequence >= keeper->wanted_sequence) {
        keeper->wanted_sequence = 0;
    } else {
        ask(keeper);
    }
}

static void ask(struct object_retention *keeper) {
    const uint64_t from = keeper->last_sequence + (keeper->is_resuming ? 0 : 1);
    keeper->request = jetstream_next_held_ask(keeper->options.jetstream, keeper->stream,
                                              keeper->metas, from, on_held, keeper);
    if (keeper->request == NULL) {
        reactor_timer_set(keeper->options.reactor, &keeper->again, AGAIN_MS);
    }
}

static void begin(struct object_retention *keeper) {
    keeper->is_resuming = keeper->last_sequence > 0;
    ask(keeper);
}

static void on_again(struct reactor_timer *timer) {
    begin(OWNER_OF(timer, struct object_retention, again));
}

void object_retention_read(struct object_retention *keeper, uint64_t sequence) {
    const bool is_reading = keeper->wanted_sequence > 0;
    if (keeper->wanted_sequence < sequence) {
        keeper->wanted_sequence = sequence;
    }
    if (!is_reading) {
        begin(keeper);
    }
}

/* Its time is known when it is read. */
void object_retention_stored(struct object_retention *keeper, uint64_t sequence,
                             const struct object_meta *meta) {
    const struct object_meta_place at = {sequence, keeper->last_time_ns};
    object_retention_take(keeper, &at, meta);
    object_retention_read(keeper, sequence);
}

/* ---- lifecycle ---- */

enum parley_status object_retention_create(const struct object_retention_options *options,
                                           struct object_retention **out) {
    char chunks[OBJECT_SUBJECT_MAX];
    struct object_retention *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL) {
        return PARLEY_E_MEMORY;
    }
    keeper->options = *options;
    keeper->again.fire = on_again;
    TAILQ_INIT(&keeper->all);
    object_stream_name(options->bucket, keeper->stream);
    object_store_subjects(options->bucket, chunks, keeper->metas);
    *out = keeper;
    return PARLEY_OK;
}

void object_retention_destroy(struct object_retention *keeper) {
    if (keeper == NULL) {
        return;
    }
    jetstream_request_cancel(keeper->request);
    reactor_timer_clear(keeper->options.reactor, &keeper->again);
    forget_all(keeper);
    free(keeper);
}
