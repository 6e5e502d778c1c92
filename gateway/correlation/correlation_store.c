/* SPDX-License-Identifier: Apache-2.0 */

/* See correlation_store.h. A value is written on the condition that its key has none, so the first
 * value stays, as the first of two messages with the same id does. A value that was read cannot
 * change, so it is cached for a while. The cache holds only what JetStream has acknowledged or
 * returned, never the absence of a key, which another gateway may end at any moment.
 *
 * A query is in one of four queues at a time:
 *
 *   waiting (of an entry)  until this reactor's own writes of that key are acknowledged
 *   line                   to be sent; a bounded number of queries is sent at a time
 *   asked                  sent to the bucket's leader
 *   pausing                the key was absent, or NATS did not answer: until it is sent once more
 *
 * All pauses are equally long, so one timer serves them. */

#include "correlation_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CACHE_COUNT_MAX = 4096,
    CHAIN_COUNT = 8192,
    CACHED_BYTES_MAX = 512, /* a larger entry is not cached, which bounds the whole cache */
    CACHE_MS = 10000,
    ASKED_COUNT_MAX = 1024,
    RESEND_MS = 50,                /* when the bus accepts no request at present */
    E_WRONG_LAST_SEQUENCE = 10071, /* of JetStream: the key has a value already */
};

struct entry {
    struct entry *chain_next;
    TAILQ_ENTRY(entry) link;            /* in `known`, while it has a value */
    struct correlation_queries waiting; /* until its writes are acknowledged */
    unsigned write_count;               /* sent, not yet acknowledged */
    int64_t known_ms;
    char *value; /* NULL: not known yet */
    size_t size;
    char key[];
};
TAILQ_HEAD(entries, entry);

struct correlation_store {
    struct reactor *reactor;
    struct jetstream *jetstream;
    char stream[CORRELATION_NAME_MAX], prefix[CORRELATION_NAME_MAX], error[512];
    struct entry *chains[CHAIN_COUNT];
    struct entries known; /* least recently used first */
    size_t known_count;
    struct correlation_queries line, asked, pausing;
    size_t asked_count, query_count;
    struct reactor_timer ask_timer, pause_timer;
    bool is_ending;
};

/* A write that awaits its ack, and is freed with it. */
struct write {
    struct correlation_store *store;
    struct entry *entry;
    jetstream_ack_fn *done;
    void *context;
    char value[];
};

void correlation_stream_name(const char *bucket, char out[CORRELATION_NAME_MAX]) {
    snprintf(out, CORRELATION_NAME_MAX, "KV_%s", bucket);
}

void correlation_stream_subjects(const char *bucket, char out[CORRELATION_NAME_MAX]) {
    snprintf(out, CORRELATION_NAME_MAX, "$KV.%s.>", bucket);
}

static const char *bucket_name(const struct correlation_store *store) {
    return store->stream + strlen("KV_");
}

/* ---- entries ---- */

static struct entry **chain_of(struct correlation_store *store, struct parley_bytes key) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < key.length; i++) {
        hash = (hash ^ (unsigned char)key.data[i]) * UINT64_C(1099511628211);
    }
    return &store->chains[(hash ^ hash >> 32) % CHAIN_COUNT];
}

static struct entry *find_entry(struct correlation_store *store, struct parley_bytes key) {
    struct entry *entry = *chain_of(store, key);
    while (entry != NULL && !parley_bytes_equal(parley_bytes_of(entry->key), key)) {
        entry = entry->chain_next;
    }
    return entry;
}

static struct entry *add_entry(struct correlation_store *store, struct parley_bytes key) {
    struct entry *entry = malloc(sizeof *entry + key.length + 1);
    if (entry == NULL) {
        return NULL;
    }
    struct entry **chain = chain_of(store, key);
    *entry = (struct entry){.chain_next = *chain, .size = key.length};
    TAILQ_INIT(&entry->waiting);
    memcpy(entry->key, key.data, key.length);
    entry->key[key.length] = '\0';
    *chain = entry;
    return entry;
}

static void forget_value(struct correlation_store *store, struct entry *entry) {
    if (entry->value != NULL) {
        TAILQ_REMOVE(&store->known, entry, link);
        store->known_count--;
        free(entry->value);
        entry->value = NULL;
    }
}

/* No query waits for an entry without writes. */
static void remove_if_unused(struct correlation_store *store, struct entry *entry) {
    if (entry->write_count > 0 || entry->value != NULL) {
        return;
    }
    struct entry **link = chain_of(store, parley_bytes_of(entry->key));
    while (*link != entry) {
        link = &(*link)->chain_next;
    }
    *link = entry->chain_next;
    free(entry);
}

static void forget_oldest(struct correlation_store *store) {
    struct entry *oldest = TAILQ_FIRST(&store->known);
    forget_value(store, oldest);
    remove_if_unused(store, oldest);
}

/* A value that cannot be cached is asked for again. */
static void learn(struct correlation_store *store, struct entry *entry, struct parley_bytes value) {
    forget_value(store, entry);
    if (value.length == 0 || entry->size + value.length > CACHED_BYTES_MAX) {
        return;
    }
    entry->value = strndup(value.data, value.length);
    if (entry->value == NULL) {
        return;
    }
    entry->known_ms = reactor_now_ms(store->reactor);
    TAILQ_INSERT_TAIL(&store->known, entry, link);
    if (++store->known_count > CACHE_COUNT_MAX) {
        forget_oldest(store);
    }
}

const char *correlation_store_cached(struct correlation_store *store, struct parley_bytes key) {
    struct entry *entry = find_entry(store, key);
    if (entry == NULL || entry->value == NULL ||
        reactor_now_ms(store->reactor) - entry->known_ms > CACHE_MS) {
        return NULL;
    }
    TAILQ_REMOVE(&store->known, entry, link);
    TAILQ_INSERT_TAIL(&store->known, entry, link);
    return entry->value;
}

/* ---- queues ---- */

static void leave_list(struct correlation_query *query) {
    TAILQ_REMOVE(query->list, query, link);
    query->store->asked_count -= query->list == &query->store->asked ? 1 : 0;
    query->list = NULL;
}

static void enter_list(struct correlation_query *query, struct correlation_queries *list) {
    if (query->list != NULL) {
        leave_list(query);
    }
    TAILQ_INSERT_TAIL(list, query, link);
    query->list = list;
    query->store->asked_count += list == &query->store->asked ? 1 : 0;
}

static void clear_query(struct correlation_query *query) {
    leave_list(query);
    query->store->query_count--;
    jetstream_request_cancel(query->request);
    query->request = NULL;
    free(query->key);
    query->key = NULL;
}

static void end_query(struct correlation_query *query, const struct correlation_answer *answer) {
    clear_query(query);
    query->done(query, answer);
}

void correlation_query_cancel(struct correlation_query *query) {
    if (query->list != NULL) {
        clear_query(query);
    }
}

static void line_up(struct correlation_query *query) {
    struct correlation_store *store = query->store;
    enter_list(query, &store->line);
    if (!store->ask_timer.is_armed) {
        reactor_timer_set(store->reactor, &store->ask_timer, 0);
    }
}

static void pause_query(struct correlation_query *query) {
    struct correlation_store *store = query->store;
    enter_list(query, &store->pausing);
    query->due_ms = reactor_now_ms(store->reactor) + CORRELATION_RETRY_MS;
    if (!store->pause_timer.is_armed) {
        reactor_timer_set(store->reactor, &store->pause_timer, CORRELATION_RETRY_MS);
    }
}

static void on_pause_over(struct reactor_timer *timer) {
    struct correlation_store *store = OWNER_OF(timer, struct correlation_store, pause_timer);
    const int64_t now_ms = reactor_now_ms(store->reactor);
    struct correlation_query *first;
    while ((first = TAILQ_FIRST(&store->pausing)) != NULL && first->due_ms <= now_ms) {
        line_up(first);
    }
    if (first != NULL) {
        reactor_timer_set(store->reactor, timer, first->due_ms - now_ms);
    }
}

/* ---- queries to the bucket ---- */

static void fail(struct correlation_query *query, const char *error) {
    const struct correlation_answer failed = {.found = CORRELATION_FAILED, .error = error};
    end_query(query, &failed);
}

static const char *away(struct correlation_store *store) {
    const char *trouble = jetstream_trouble(store->jetstream);
    snprintf(store->error, sizeof store->error, "%.400s. Nothing was stored: send it again later.",
             trouble != NULL ? trouble : "NATS cannot accept messages now");
    return store->error;
}

/* Whether NATS may answer if the query is sent again a moment later. */
static bool may_wait(const struct correlation_query *query) {
    const struct correlation_store *store = query->store;
    return reactor_now_ms(store->reactor) < query->patient_until_ms &&
           jetstream_patience_ms(store->jetstream) > 0 && jetstream_is_accepting(store->jetstream);
}

static void fail_unanswered(struct correlation_query *query, const struct jetstream_last *last) {
    struct correlation_store *store = query->store;
    if (may_wait(query)) {
        pause_query(query);
        return;
    }
    if (!jetstream_is_ready(store->jetstream)) {
        fail(query, away(store));
        return;
    }
    if (last->found == JETSTREAM_LAST_NO_STREAM) {
        snprintf(store->error, sizeof store->error,
                 "The key-value bucket `%s`, which records the request that this message answers, "
                 "is missing. parley is creating it again; if that fails, run `nats kv add %s`. "
                 "Nothing was stored: send the message again.",
                 bucket_name(store), bucket_name(store));
    } else {
        snprintf(store->error, sizeof store->error,
                 "The request that this message answers could not be looked up in the key-value "
                 "bucket `%s` (%s). Nothing was stored: send it again.",
                 bucket_name(store), last->error != NULL ? last->error : "no answer came in time");
    }
    fail(query, store->error);
}

static void found(struct correlation_query *query, struct parley_bytes payload) {
    struct correlation_store *store = query->store;
    const struct parley_bytes key = parley_bytes_of(query->key);
    struct entry *entry = find_entry(store, key);
    entry = entry != NULL ? entry : add_entry(store, key);
    char *value = strndup(payload.data, payload.length);
    if (entry != NULL) {
        learn(store, entry, payload);
        remove_if_unused(store, entry);
    }
    if (value == NULL) {
        fail(query, NULL);
        return;
    }
    const struct correlation_answer known = {.found = CORRELATION_FOUND, .value = value};
    end_query(query, &known);
    free(value);
}

static void not_found(struct correlation_query *query) {
    if (query->may_retry && !query->has_retried) {
        query->has_retried = true;
        pause_query(query);
        return;
    }
    end_query(query, &(struct correlation_answer){.found = CORRELATION_ABSENT});
}

static void on_last(void *context, const struct jetstream_last *last) {
    struct correlation_query *query = context;
    struct correlation_store *store = query->store;
    query->request = NULL;
    if (last->found == JETSTREAM_LAST_FOUND && last->payload.length > 0) {
        found(query, last->payload);
    } else if (last->found == JETSTREAM_LAST_FOUND || last->found == JETSTREAM_LAST_NONE) {
        not_found(query);
    } else {
        fail_unanswered(query, last);
    }
    if (!TAILQ_EMPTY(&store->line) && !store->ask_timer.is_armed) {
        reactor_timer_set(store->reactor, &store->ask_timer, 0);
    }
}

static void ask_next(struct correlation_store *store, struct correlation_query *query) {
    char subject[CORRELATION_NAME_MAX + CORRELATION_KEY_MAX];
    snprintf(subject, sizeof subject, "%s%s", store->prefix, query->key);
    query->request = jetstream_last_ask(store->jetstream, store->stream, subject, on_last, query);
    if (query->request != NULL) {
        enter_list(query, &store->asked);
    }
}

static void on_ask(struct reactor_timer *timer) {
    struct correlation_store *store = OWNER_OF(timer, struct correlation_store, ask_timer);
    struct correlation_query *first;
    while ((first = TAILQ_FIRST(&store->line)) != NULL) {
        if (!jetstream_is_ready(store->jetstream) && may_wait(first)) {
            pause_query(first);
            continue;
        }
        if (!jetstream_is_ready(store->jetstream)) {
            fail(first, away(store));
            continue;
        }
        if (store->asked_count >= ASKED_COUNT_MAX) {
            return; /* the next answer continues */
        }
        ask_next(store, first);
        if (first->request == NULL) {
            reactor_timer_set(store->reactor, timer, RESEND_MS);
            return;
        }
    }
}

bool correlation_store_query(struct correlation_store *store, struct correlation_query *query,
                             struct parley_bytes key, bool may_retry) {
    struct entry *entry = find_entry(store, key);
    if (store->is_ending || !jetstream_is_accepting(store->jetstream)) {
        return false;
    }
    query->key =
        strndup(key.data, key.length < CORRELATION_KEY_MAX ? key.length : CORRELATION_KEY_MAX);
    if (query->key == NULL) {
        return false;
    }
    query->store = store;
    query->may_retry = may_retry;
    query->has_retried = false;
    query->patient_until_ms =
        reactor_now_ms(store->reactor) + jetstream_patience_ms(store->jetstream);
    store->query_count++;
    if (entry != NULL && entry->write_count > 0) {
        enter_list(query, &entry->waiting);
    } else {
        line_up(query);
    }
    return true;
}

/* ---- writing ---- */

/* After the last write to an entry: the queries that waited for it get its value, or are sent. */
static void release_waiting(struct correlation_store *store, struct entry *entry) {
    struct correlation_query *query;
    if (entry->write_count > 0) {
        return;
    }
    entry->write_count++; /* keeps the entry alive through the callbacks */
    while ((query = TAILQ_FIRST(&entry->waiting)) != NULL) {
        char *value = entry->value != NULL ? strdup(entry->value) : NULL;
        if (value != NULL) {
            const struct correlation_answer known = {.found = CORRELATION_FOUND, .value = value};
            end_query(query, &known);
            free(value);
        } else {
            line_up(query);
        }
    }
    entry->write_count--;
    remove_if_unused(store, entry);
}

static void on_written(void *context, const struct jetstream_ack *ack) {
    struct write *write = context;
    struct correlation_store *store = write->store;
    struct entry *entry = write->entry;
    struct jetstream_ack reported = *ack;
    if (ack->outcome == JETSTREAM_STORED) {
        learn(store, entry, parley_bytes_of(write->value));
    } else if (ack->outcome == JETSTREAM_REFUSED && ack->error_code == E_WRONG_LAST_SEQUENCE) {
        reported = (struct jetstream_ack){.outcome = JETSTREAM_STORED, .stream = store->stream};
    }
    entry->write_count--;
    release_waiting(store, entry);
    write->done(write->context, &reported);
    free(write);
}

static enum jetstream_publish put(struct correlation_store *store, struct parley_bytes key,
                                  struct parley_bytes value, unsigned share, jetstream_ack_fn *done,
                                  void *context) {
    static const struct bus_header first = {"Nats-Expected-Last-Subject-Sequence", "0"};
    char subject[CORRELATION_NAME_MAX + CORRELATION_KEY_MAX + 1];
    if (key.length > CORRELATION_KEY_MAX) {
        return JETSTREAM_FAILED;
    }
    snprintf(subject, sizeof subject, "%s%.*s", store->prefix, (int)key.length, key.data);
    struct entry *entry = find_entry(store, key);
    entry = entry != NULL ? entry : add_entry(store, key);
    struct write *write = malloc(sizeof *write + value.length + 1);
    if (entry == NULL || write == NULL) {
        if (entry != NULL) {
            remove_if_unused(store, entry);
        }
        free(write);
        return JETSTREAM_FAILED;
    }
    *write = (struct write){.store = store, .entry = entry, .done = done, .context = context};
    memcpy(write->value, value.data, value.length);
    write->value[value.length] = '\0';
    const struct jetstream_message message = {
        .subject = subject, .headers = &first, .header_count = 1, .payload = value, .share = share};
    const enum jetstream_publish published =
        store->is_ending ? JETSTREAM_AWAY
                         : jetstream_publish(store->jetstream, &message, on_written, write);
    if (published == JETSTREAM_PUBLISHED) {
        entry->write_count++;
    } else {
        remove_if_unused(store, entry);
        free(write);
    }
    return published;
}

enum jetstream_publish correlation_store_put(struct correlation_store *store,
                                             struct parley_bytes key, struct parley_bytes value,
                                             jetstream_ack_fn *done, void *context) {
    return put(store, key, value, 0, done, context);
}

/* ---- both at once ---- */

/* A message and its correlation, freed after both acks. */
struct pair {
    struct correlation_store *store;
    jetstream_ack_fn *done; /* NULL: the message was not published */
    void *context;
    unsigned awaited_count;
    struct jetstream_ack message, kept;
    char stream[256], error[512];
};

/* The texts of an ack are borrowed for its call. */
static void keep_error(struct pair *pair, struct jetstream_ack *ack) {
    if (ack->error != NULL) {
        snprintf(pair->error, sizeof pair->error, "%s", ack->error);
        ack->error = pair->error;
    }
}

/* The message is stored, its correlation perhaps not. The sender should send the message again, as
 * when no ack came. */
static void report_not_kept(struct pair *pair) {
    char text[sizeof pair->error + 256];
    struct jetstream_ack reported = pair->kept;
    if (reported.outcome == JETSTREAM_REFUSED) {
        snprintf(text, sizeof text,
                 "The message was stored, but the destination of its replies was not: the "
                 "key-value bucket `%s` refused it (%.100s).",
                 bucket_name(pair->store), pair->error);
        reported = (struct jetstream_ack){.outcome = JETSTREAM_TIMEOUT, .error = text};
    }
    pair->done(pair->context, &reported);
}

static void settle_pair(struct pair *pair) {
    if (--pair->awaited_count > 0) {
        return;
    }
    if (pair->done != NULL && pair->message.outcome == JETSTREAM_STORED &&
        pair->kept.outcome != JETSTREAM_STORED) {
        report_not_kept(pair);
    } else if (pair->done != NULL) {
        pair->done(pair->context, &pair->message);
    }
    free(pair);
}

static void on_kept(void *context, const struct jetstream_ack *ack) {
    struct pair *pair = context;
    pair->kept = *ack;
    if (pair->message.outcome == JETSTREAM_STORED) { /* else the message's error is reported */
        keep_error(pair, &pair->kept);
    }
    settle_pair(pair);
}

static void on_stored(void *context, const struct jetstream_ack *ack) {
    struct pair *pair = context;
    pair->message = *ack;
    keep_error(pair, &pair->message);
    if (ack->stream != NULL) {
        snprintf(pair->stream, sizeof pair->stream, "%s", ack->stream);
        pair->message.stream = pair->stream;
    }
    settle_pair(pair);
}

/* The correlation is published first: if the message then cannot be, its sender sends it again, and
 * writing the same correlation again changes nothing. The message must not fail because the window
 * is full, or the next attempt would fill the window with its own correlation again: hence
 * jetstream_publish_second. */
enum jetstream_publish correlation_store_publish(struct correlation_store *store,
                                                 struct parley_bytes key, struct parley_bytes value,
                                                 const struct jetstream_message *message,
                                                 jetstream_ack_fn *done, void *context) {
    if (correlation_store_cached(store, key) != NULL) { /* it was acknowledged a moment ago */
        return jetstream_publish(store->jetstream, message, done, context);
    }
    struct pair *pair = calloc(1, sizeof *pair);
    if (pair == NULL) {
        return JETSTREAM_FAILED;
    }
    *pair = (struct pair){.store = store, .context = context, .awaited_count = 1};
    enum jetstream_publish published = put(store, key, value, message->share, on_kept, pair);
    if (published != JETSTREAM_PUBLISHED) {
        free(pair);
        return published;
    }
    published = jetstream_publish_second(store->jetstream, message, on_stored, pair);
    if (published == JETSTREAM_PUBLISHED) {
        pair->awaited_count++;
        pair->done = done;
    }
    return published;
}

/* ---- its life ---- */

enum parley_status correlation_store_create(struct reactor *reactor, struct jetstream *jetstream,
                                            const char *bucket, struct correlation_store **out) {
    struct correlation_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return PARLEY_E_MEMORY;
    }
    store->reactor = reactor;
    store->jetstream = jetstream;
    correlation_stream_name(bucket, store->stream);
    snprintf(store->prefix, sizeof store->prefix, "$KV.%s.", bucket);
    TAILQ_INIT(&store->known);
    TAILQ_INIT(&store->line);
    TAILQ_INIT(&store->asked);
    TAILQ_INIT(&store->pausing);
    store->ask_timer.fire = on_ask;
    store->pause_timer.fire = on_pause_over;
    *out = store;
    return PARLEY_OK;
}

static void end_all(struct correlation_queries *list) {
    while (!TAILQ_EMPTY(list)) {
        fail(TAILQ_FIRST(list), "parley is shutting down. Nothing was stored: send it again.");
    }
}

/* Writes that await their ack are not reported any more: they end with the jetstream. */
void correlation_store_destroy(struct correlation_store *store) {
    if (store == NULL) {
        return;
    }
    store->is_ending = true;
    end_all(&store->line);
    end_all(&store->asked);
    end_all(&store->pausing);
    for (size_t i = 0; i < CHAIN_COUNT; i++) {
        while (store->chains[i] != NULL) {
            struct entry *entry = store->chains[i];
            end_all(&entry->waiting);
            store->chains[i] = entry->chain_next;
            free(entry->value);
            free(entry);
        }
    }
    reactor_timer_clear(store->reactor, &store->ask_timer);
    reactor_timer_clear(store->reactor, &store->pause_timer);
    free(store);
}

bool correlation_store_is_idle(const struct correlation_store *store) {
    return store->query_count == 0;
}
