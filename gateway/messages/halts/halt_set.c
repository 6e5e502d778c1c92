/* SPDX-License-Identifier: Apache-2.0 */

#include "halt_set.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "halt_shares.h"

enum { CHAIN_COUNT = 8192 };

enum halt_state { LATCHING, OPEN, RELEASED };

struct halt {
    struct change change; /* in the order of changes, in any state */
    LIST_ENTRY(halt) by_key;
    LIST_ENTRY(halt) by_conversation; /* unless it is released */
    TAILQ_ENTRY(halt) released;       /* while it is, the oldest first */
    enum halt_state state;
    unsigned writer_count; /* of its key */
    uint64_t sequence;     /* in the bucket; 0: not known */
    int64_t released_seconds;
    bool is_shown;             /* it is one of the last that were released */
    struct parley_bytes value; /* owned; data NULL: not known, or released and not shown */
    struct halt_share *share;  /* in which it is counted, unless it is released; NULL: in none */
    char key[HALT_KEY_LENGTH + 1];
};
LIST_HEAD(halt_chain, halt);
TAILQ_HEAD(halt_queue, halt);

struct halt_set {
    const char *protocol;
    /* Halts that are not released, and one where the bucket cannot be read. */
    atomic_size_t busy_count;
    atomic_size_t open_count;
    atomic_bool is_seen, was_seen;
    atomic_uint_least64_t refused_count;
    pthread_mutex_t mutex; /* for the rest */
    struct change_log changes;
    bool is_read; /* all entries of the present reading */
    struct halt_chain by_key[CHAIN_COUNT], by_conversation[CHAIN_COUNT];
    struct halt_shares shares;
    struct halt_queue released;
    size_t released_count, shown_count;
    struct halt *first_shown; /* the oldest of those; NULL: none */
    bool is_overfull;         /* some were read that could not be kept */
};

/* ---- finding ---- */

/* Keys are digests: any of their digits will do. */
static size_t chain_of(const char *digest) {
    char digits[5];
    memcpy(digits, digest, 4);
    digits[4] = '\0';
    return strtoul(digits, NULL, 16) % CHAIN_COUNT;
}

static struct halt_chain *chain_by_key(struct halt_set *set, const char *key) {
    return &set->by_key[chain_of(key + HALT_DIGEST_LENGTH + 1)];
}

static struct halt *find(struct halt_set *set, const char *key) {
    struct halt *halt;
    LIST_FOREACH(halt, chain_by_key(set, key), by_key) {
        if (memcmp(halt->key, key, HALT_KEY_LENGTH) == 0) {
            return halt;
        }
    }
    return NULL;
}

static bool is_of(const struct halt *halt, const char *conversation) {
    return memcmp(halt->key, conversation, HALT_DIGEST_LENGTH) == 0;
}

/* ---- changing; the mutex is held ---- */

static void count(struct halt_set *set, bool is_added) {
    if (is_added) {
        atomic_fetch_add(&set->busy_count, 1);
        atomic_fetch_add(&set->open_count, 1);
    } else {
        atomic_fetch_sub(&set->busy_count, 1);
        atomic_fetch_sub(&set->open_count, 1);
    }
}

static void drop_value(struct halt *halt) {
    free((char *)halt->value.data);
    halt->value = (struct parley_bytes){0};
}

static void tell(struct halt_set *set, struct halt *halt) {
    change_log_touch(&set->changes, &halt->change);
}

/* Without memory it is not known. */
static void keep_value(struct halt *halt, struct parley_bytes value) {
    drop_value(halt);
    char *copy = value.length <= HALT_VALUE_MAX ? malloc(value.length + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, value.data, value.length);
        halt->value = (struct parley_bytes){copy, value.length};
    }
}

static struct halt *add(struct halt_set *set, const char *key) {
    struct halt *halt = calloc(1, sizeof *halt);
    if (halt == NULL || !change_log_add(&set->changes, &halt->change)) {
        free(halt);
        return NULL;
    }
    memcpy(halt->key, key, HALT_KEY_LENGTH);
    LIST_INSERT_HEAD(chain_by_key(set, key), halt, by_key);
    LIST_INSERT_HEAD(&set->by_conversation[chain_of(key)], halt, by_conversation);
    count(set, true);
    return halt;
}

static void leave_share(struct halt_set *set, struct halt *halt) {
    halt_shares_remove(&set->shares, halt->share);
    halt->share = NULL;
}

static void enter_share(struct halt_set *set, struct halt *halt, const char *owner) {
    leave_share(set, halt);
    halt->share = halt_shares_add(&set->shares, owner);
}

static void hide(struct halt_set *set, struct halt *halt) {
    if (!halt->is_shown) {
        return;
    }
    if (set->first_shown == halt) {
        set->first_shown = TAILQ_NEXT(halt, released);
    }
    set->shown_count--;
    halt->is_shown = false;
    drop_value(halt);
    tell(set, halt);
}

/* `halt`: it was released last. */
static void show(struct halt_set *set, struct halt *halt, struct parley_bytes value) {
    if (set->shown_count == HALTS_RELEASED_SHOWN) {
        hide(set, set->first_shown);
    }
    if (set->first_shown == NULL) {
        set->first_shown = halt;
    }
    set->shown_count++;
    halt->is_shown = true;
    keep_value(halt, value);
}

static void leave_state(struct halt_set *set, struct halt *halt) {
    leave_share(set, halt);
    if (halt->state == RELEASED) {
        hide(set, halt);
        TAILQ_REMOVE(&set->released, halt, released);
        set->released_count--;
    } else {
        LIST_REMOVE(halt, by_conversation);
        count(set, false);
    }
}

static void drop(struct halt_set *set, struct halt *halt) {
    leave_state(set, halt);
    LIST_REMOVE(halt, by_key);
    change_log_remove(&set->changes, &halt->change, parley_bytes_of(halt->key));
    drop_value(halt);
    free(halt);
}

static void open_halt(struct halt_set *set, struct halt *halt, struct parley_bytes value,
                      const char *owner) {
    if (halt->state == RELEASED) {
        leave_state(set, halt);
        LIST_INSERT_HEAD(&set->by_conversation[chain_of(halt->key)], halt, by_conversation);
        count(set, true);
    }
    if (halt->state != OPEN || !parley_bytes_equal(halt->value, value)) {
        tell(set, halt);
    }
    halt->state = OPEN;
    keep_value(halt, value);
    enter_share(set, halt, owner);
}

static void release(struct halt_set *set, struct halt *halt, struct parley_bytes value,
                    int64_t seconds) {
    leave_state(set, halt);
    halt->state = RELEASED;
    halt->released_seconds = seconds;
    TAILQ_INSERT_TAIL(&set->released, halt, released);
    show(set, halt, value);
    tell(set, halt);
    if (++set->released_count > HALTS_RELEASED_MAX) {
        drop(set, TAILQ_FIRST(&set->released));
    }
}

/* Reads the members of a value that the set needs. A value that cannot be read halts. */
struct summary {
    bool is_released;
    char owner[HALT_DIGEST_LENGTH + 1];
};

static void summarize(struct parley_bytes value, struct summary *out) {
    struct parley_arena arena;
    struct halt_value read;
    parley_arena_init(&arena, 0);
    if (halt_value_read(value, &arena, &read) != PARLEY_OK) {
        read = (struct halt_value){0};
    }
    out->is_released = read.released_at.data != NULL;
    halt_value_owner(&read, out->owner);
    parley_arena_finish(&arena);
}

/* ---- messages ---- */

bool halt_set_is_idle(const struct halt_set *set) {
    return atomic_load_explicit(&set->busy_count, memory_order_relaxed) == 0;
}

enum halt_answer halt_set_ask(struct halt_set *set, const char *conversation,
                              struct parley_buffer *out_value) {
    struct halt *halt;
    if (halt_set_is_idle(set)) {
        return HALT_CLEAR;
    }
    pthread_mutex_lock(&set->mutex);
    LIST_FOREACH(halt, &set->by_conversation[chain_of(conversation)], by_conversation) {
        if (is_of(halt, conversation)) {
            break;
        }
    }
    if (halt != NULL && out_value != NULL) {
        parley_buffer_append(out_value, halt->value);
    }
    const bool is_blind = !atomic_load(&set->is_seen) || set->is_overfull;
    pthread_mutex_unlock(&set->mutex);
    return halt != NULL ? HALT_HALTED : is_blind ? HALT_BLIND : HALT_CLEAR;
}

enum halt_known halt_set_look_up(struct halt_set *set, const char *key) {
    static const enum halt_known known[] = {
        [LATCHING] = HALT_UNKNOWN, [OPEN] = HALT_OPEN, [RELEASED] = HALT_RELEASED};
    pthread_mutex_lock(&set->mutex);
    const struct halt *halt = find(set, key);
    const enum halt_known result = halt != NULL ? known[halt->state] : HALT_UNKNOWN;
    pthread_mutex_unlock(&set->mutex);
    return result;
}

/* One that is open was stored by another message with these bytes. */
static enum halt_latch latch(struct halt_set *set, const char *key, struct parley_bytes value) {
    struct halt *halt = find(set, key);
    struct summary says;
    if (halt != NULL && halt->state != LATCHING) {
        return HALT_LATCH_KNOWN;
    }
    summarize(value, &says);
    if (halt == NULL && atomic_load(&set->open_count) >= HALTS_OPEN_MAX) {
        return HALT_LATCH_FULL;
    }
    if (halt == NULL && halt_shares_is_full(&set->shares, says.owner)) {
        return HALT_LATCH_SHARE_FULL;
    }
    halt = halt != NULL ? halt : add(set, key);
    if (halt == NULL) {
        return HALT_LATCH_NO_MEMORY;
    }
    halt->writer_count++;
    keep_value(halt, value);
    enter_share(set, halt, says.owner);
    return HALT_LATCH_WRITE;
}

static void refuse(struct halt_set *set, struct parley_bytes value, const char *reason) {
    atomic_fetch_add(&set->refused_count, 1);
    halt_value_log(LOG_HALT_REFUSED, set->protocol, value, reason);
}

enum halt_latch halt_set_latch(struct halt_set *set, const char *key, struct parley_bytes value) {
    pthread_mutex_lock(&set->mutex);
    const enum halt_latch result = latch(set, key, value);
    pthread_mutex_unlock(&set->mutex);
    if (result == HALT_LATCH_FULL) {
        refuse(set, value, "as many halts are open as there can be");
    } else if (result == HALT_LATCH_SHARE_FULL) {
        refuse(set, value, "this sender has made as many of the open halts as one may");
    }
    return result;
}

/* Entries read from the bucket in the meantime are newer. */
void halt_set_latched(struct halt_set *set, const char *key, uint64_t sequence) {
    pthread_mutex_lock(&set->mutex);
    struct halt *halt = find(set, key);
    if (halt != NULL && halt->writer_count > 0) {
        if (sequence > 0 && halt->value.data != NULL) {
            halt_value_log(LOG_HALT_LATCHED, set->protocol, halt->value, NULL);
        }
        halt->writer_count--;
        if (halt->state == LATCHING) {
            halt->state = OPEN;
            tell(set, halt);
        }
        halt->sequence = halt->sequence > sequence ? halt->sequence : sequence;
    }
    pthread_mutex_unlock(&set->mutex);
}

void halt_set_unlatch(struct halt_set *set, const char *key) {
    pthread_mutex_lock(&set->mutex);
    struct halt *halt = find(set, key);
    if (halt != NULL && halt->writer_count > 0 && --halt->writer_count == 0 &&
        halt->state == LATCHING) {
        drop(set, halt);
    }
    pthread_mutex_unlock(&set->mutex);
}

/* ---- the bucket ---- */

/* Those that stay are taken out of the log and put into it again, which needs no memory. */
static void begin_changes(struct halt_set *set) {
    struct change *change, *next;
    struct changes kept;
    TAILQ_INIT(&kept);
    for (change = TAILQ_FIRST(&set->changes.changes); change != NULL; change = next) {
        next = TAILQ_NEXT(change, link);
        const struct halt *halt = OWNER_OF(change, struct halt, change);
        change_log_remove(&set->changes, change, parley_bytes_of(halt->key));
        TAILQ_INSERT_TAIL(&kept, change, link);
    }
    change_log_begin(&set->changes);
    for (change = TAILQ_FIRST(&kept); change != NULL; change = next) {
        next = TAILQ_NEXT(change, link);
        (void)change_log_add(&set->changes, change);
    }
}

void halt_set_begin(struct halt_set *set) {
    pthread_mutex_lock(&set->mutex);
    for (size_t i = 0; i < CHAIN_COUNT; i++) {
        struct halt *halt = LIST_FIRST(&set->by_key[i]);
        while (halt != NULL) {
            struct halt *next = LIST_NEXT(halt, by_key);
            if (halt->writer_count == 0) {
                drop(set, halt);
            }
            halt = next;
        }
    }
    begin_changes(set);
    set->is_overfull = false;
    set->is_read = false;
    pthread_mutex_unlock(&set->mutex);
}

static void take(struct halt_set *set, const char *key, struct parley_bytes value,
                 uint64_t sequence, int64_t seconds) {
    struct halt *halt = find(set, key);
    struct summary says;
    if (halt != NULL && halt->sequence > sequence) {
        return;
    }
    if (value.data == NULL) {
        if (halt != NULL && halt->writer_count == 0) {
            drop(set, halt);
        }
        return;
    }
    summarize(value, &says);
    const bool has_room = says.is_released || atomic_load(&set->open_count) < 2 * HALTS_OPEN_MAX;
    halt = halt == NULL && has_room ? add(set, key) : halt;
    if (halt == NULL) {
        set->is_overfull = true;
        return;
    }
    halt->sequence = sequence;
    if (!says.is_released) {
        open_halt(set, halt, value, says.owner);
    } else if (halt->state != RELEASED) {
        release(set, halt, value, seconds);
    }
}

void halt_set_read(struct halt_set *set, struct parley_bytes key, struct parley_bytes value,
                   uint64_t sequence, int64_t seconds) {
    if (!halt_key_is_one(key)) {
        return; /* of others */
    }
    pthread_mutex_lock(&set->mutex);
    take(set, key.data, value, sequence, seconds);
    pthread_mutex_unlock(&set->mutex);
}

void halt_set_see(struct halt_set *set, bool is_seen) {
    if (atomic_exchange(&set->is_seen, is_seen) != is_seen) {
        atomic_fetch_add(&set->busy_count, is_seen ? SIZE_MAX : 1);
    }
    if (is_seen) {
        atomic_store(&set->was_seen, true);
        pthread_mutex_lock(&set->mutex);
        set->is_read = true;
        change_log_wake(&set->changes);
        pthread_mutex_unlock(&set->mutex);
    }
}

bool halt_set_was_seen(const struct halt_set *set) {
    return atomic_load(&set->was_seen);
}

bool halt_set_is_seen(const struct halt_set *set) {
    return atomic_load(&set->is_seen);
}

/* ---- people ---- */

size_t halt_set_open_count(const struct halt_set *set) {
    return atomic_load(&set->open_count);
}

uint64_t halt_set_refused_count(const struct halt_set *set) {
    return atomic_load(&set->refused_count);
}

enum halt_room halt_set_room(struct halt_set *set) {
    pthread_mutex_lock(&set->mutex);
    const bool has_full_share = set->shares.full_count > 0;
    pthread_mutex_unlock(&set->mutex);
    return halt_set_open_count(set) >= HALTS_OPEN_MAX ? HALT_SET_IS_FULL
           : has_full_share                           ? HALT_SHARE_IS_FULL
                                                      : HALT_HAS_ROOM;
}

static bool each_of_chain(struct halt_set *set, size_t chain, const char *conversation,
                          bool (*each)(void *, const char *, struct parley_bytes), void *context) {
    struct halt *halt;
    LIST_FOREACH(halt, &set->by_conversation[chain], by_conversation) {
        if ((conversation == NULL || is_of(halt, conversation)) && halt->state == OPEN &&
            !each(context, halt->key, halt->value)) {
            return false;
        }
    }
    return true;
}

void halt_set_each(struct halt_set *set, const char *conversation,
                   bool (*each)(void *context, const char *key, struct parley_bytes value),
                   void *context) {
    pthread_mutex_lock(&set->mutex);
    if (conversation != NULL) {
        (void)each_of_chain(set, chain_of(conversation), conversation, each, context);
    } else {
        for (size_t i = 0; i < CHAIN_COUNT && each_of_chain(set, i, NULL, each, context); i++) {
        }
    }
    pthread_mutex_unlock(&set->mutex);
}

void halt_set_each_released(struct halt_set *set, const char *conversation,
                            bool (*each)(void *context, const char *key, struct parley_bytes value),
                            void *context) {
    pthread_mutex_lock(&set->mutex);
    struct halt *halt = TAILQ_LAST(&set->released, halt_queue);
    for (; halt != NULL && halt->is_shown; halt = TAILQ_PREV(halt, halt_queue, released)) {
        if ((conversation == NULL || is_of(halt, conversation)) &&
            !each(context, halt->key, halt->value)) {
            break;
        }
    }
    pthread_mutex_unlock(&set->mutex);
}

bool halt_set_expire(struct halt_set *set, int64_t before_seconds, char out[HALT_KEY_LENGTH + 1]) {
    pthread_mutex_lock(&set->mutex);
    struct halt *oldest = TAILQ_FIRST(&set->released);
    const bool is_due = oldest != NULL && oldest->released_seconds < before_seconds;
    if (is_due) {
        memcpy(out, oldest->key, HALT_KEY_LENGTH + 1);
        drop(set, oldest);
    }
    pthread_mutex_unlock(&set->mutex);
    return is_due;
}

/* ---- following ---- */

struct change_log *halt_set_changes(struct halt_set *set) {
    return &set->changes;
}

bool halt_set_is_whole(const struct halt_set *set) {
    return set->is_read && halt_set_is_seen(set);
}

struct halt_change halt_set_changed(const struct change *change) {
    const struct halt *halt = OWNER_OF(change, struct halt, change);
    return (struct halt_change){.key = halt->key,
                                .value = halt->value,
                                .is_open = halt->state == OPEN,
                                .is_released = halt->state == RELEASED && halt->is_shown};
}

/* ---- its life ---- */

enum parley_status halt_set_create(const char *protocol, struct halt_set **out) {
    struct halt_set *set = calloc(1, sizeof *set);
    if (set == NULL) {
        return PARLEY_E_MEMORY;
    }
    set->protocol = protocol;
    set->shares.max = HALTS_SHARE_MAX;
    atomic_init(&set->busy_count, 1); /* it is not seen */
    pthread_mutex_init(&set->mutex, NULL);
    change_log_init(&set->changes, &set->mutex);
    TAILQ_INIT(&set->released);
    *out = set;
    return PARLEY_OK;
}

void halt_set_destroy(struct halt_set *set) {
    if (set == NULL) {
        return;
    }
    for (size_t i = 0; i < CHAIN_COUNT; i++) {
        while (!LIST_EMPTY(&set->by_key[i])) {
            drop(set, LIST_FIRST(&set->by_key[i]));
        }
    }
    change_log_finish(&set->changes);
    pthread_mutex_destroy(&set->mutex);
    free(set);
}
