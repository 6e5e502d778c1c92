/* SPDX-License-Identifier: Apache-2.0 */

/* See fact_store.h. A query is in one of four queues at a time:
 *
 *   waiting (of an entry)  until a key is no longer expected
 *   line                   to be sent; a bounded number of requests is under way at a time
 *   asked                  sent to the bucket's leader, all missing keys in one turn
 *   pausing                until it is sent (again): keys were absent, or NATS did not answer
 *
 * All pauses are equally long, so one timer serves them. */

#include "fact_store_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jetstream_codes.h"

enum {
    ASKED_COUNT_MAX = 1024,
    ASKED_BYTES_MAX = 32 << 20, /* where an answer has a whole message */
    RESEND_MS = 50,             /* when the bus accepts no request at present */
    SEARCHES_MAX = 16,          /* each has a consumer */
};

static const char *bucket_name(const struct fact_store *store) {
    return store->stream + strlen("KV_");
}

/* Answers of a bucket are small; one with a message is that in base64. */
static bool may_ask(const struct fact_store *store) {
    const size_t answer_bytes = jetstream_max_payload_bytes(store->jetstream) / 3 * 4;
    return store->asked_count < ASKED_COUNT_MAX &&
           (!fact_store_is_last(store) || store->asked_count == 0 ||
            (store->asked_count + 1) * answer_bytes <= ASKED_BYTES_MAX);
}

/* Returns the stream that has a key; NULL if that is not known now. */
static const char *stream_of(const struct fact_store *store, const char *key) {
    char subject[FACT_KEY_MAX];
    snprintf(subject, sizeof subject, "%.*s", (int)strcspn(key, " "), key); /* without its id */
    const struct jetstream_place *place =
        fact_store_is_last(store) ? jetstream_place_find(store->jetstream, subject) : NULL;
    return !fact_store_is_last(store) ? store->stream : place != NULL ? place->stream : NULL;
}

/* ---- queues ---- */

static void leave_list(struct fact_query *query) {
    TAILQ_REMOVE(query->list, query, link);
    query->list = NULL;
}

static void enter_list(struct fact_query *query, struct fact_queries *list) {
    if (query->list != NULL) {
        leave_list(query);
    }
    TAILQ_INSERT_TAIL(list, query, link);
    query->list = list;
}

static void end_request(struct fact_request *request) {
    if (request->request != NULL) {
        jetstream_request_cancel(request->request);
        request->request = NULL;
        request->query->store->asked_count--;
    }
    if (request->search != NULL) {
        id_search_cancel(request->search);
        request->search = NULL;
        request->query->store->search_count--;
    }
}

static void end_requests(struct fact_query *query) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        end_request(&query->requests[i]);
        query->requests[i].is_asked = false;
    }
}

static void withdraw(struct fact_query *query) {
    if (query->list != NULL) {
        leave_list(query);
        end_requests(query);
        query->store->query_count--;
    }
}

static void end_query(struct fact_query *query, bool has_failed, const char *error) {
    withdraw(query);
    query->has_failed = has_failed;
    query->error = error;
    query->done(query);
}

static void line_up(struct fact_query *query) {
    struct fact_store *store = query->store;
    enter_list(query, &store->line);
    if (!store->ask_timer.is_armed) {
        reactor_timer_set(store->reactor, &store->ask_timer, 0);
    }
}

void fact_queries_line_up(struct fact_queries *list) {
    while (!TAILQ_EMPTY(list)) {
        line_up(TAILQ_FIRST(list));
    }
}

static void pause_query(struct fact_query *query) {
    struct fact_store *store = query->store;
    enter_list(query, &store->pausing);
    query->due_ms = fact_store_now_ms(store) + FACT_RETRY_MS;
    if (!store->pause_timer.is_armed) {
        reactor_timer_set(store->reactor, &store->pause_timer, FACT_RETRY_MS);
    }
}

static void on_pause_over(struct reactor_timer *timer) {
    struct fact_store *store = OWNER_OF(timer, struct fact_store, pause_timer);
    struct fact_query *first;
    while ((first = TAILQ_FIRST(&store->pausing)) != NULL &&
           first->due_ms <= fact_store_now_ms(store)) {
        line_up(first);
    }
    if (first != NULL) {
        reactor_timer_set(store->reactor, timer, first->due_ms - fact_store_now_ms(store));
    }
}

/* ---- failures ---- */

static const char *away(struct fact_store *store) {
    const char *trouble = jetstream_trouble(store->jetstream);
    snprintf(store->error, sizeof store->error, "%.400s. Nothing was stored: send it again later.",
             trouble != NULL ? trouble : "NATS cannot accept messages now");
    return store->error;
}

/* Whether NATS may answer if the query is sent again a moment later. */
static bool may_wait(const struct fact_query *query) {
    const struct fact_store *store = query->store;
    return fact_store_now_ms(store) < query->patient_until_ms &&
           jetstream_patience_ms(store->jetstream) > 0 && jetstream_is_accepting(store->jetstream);
}

static void fail_unanswered(struct fact_query *query, const struct jetstream_last *last) {
    struct fact_store *store = query->store;
    end_requests(query);
    if (may_wait(query)) {
        pause_query(query);
        return;
    }
    if (!jetstream_is_ready(store->jetstream)) {
        end_query(query, true, away(store));
        return;
    }
    const char *reason = last->error != NULL ? last->error : "no answer came in time";
    if (fact_store_is_last(store)) {
        snprintf(store->error, sizeof store->error,
                 "The last messages before this one could not be read (%s). Nothing was stored: "
                 "send it again.",
                 last->found == JETSTREAM_LAST_NO_STREAM ? "their stream is missing" : reason);
    } else if (last->found == JETSTREAM_LAST_NO_STREAM) {
        snprintf(store->error, sizeof store->error,
                 "The key-value bucket `%s`, which records what this message depends on, is "
                 "missing. parley is creating it again; if that fails, run `nats kv add %s`. "
                 "Nothing was stored: send the message again.",
                 bucket_name(store), bucket_name(store));
    } else {
        snprintf(store->error, sizeof store->error,
                 "What this message depends on could not be looked up in the key-value bucket `%s` "
                 "(%s). Nothing was stored: send it again.",
                 bucket_name(store), reason);
    }
    end_query(query, true, store->error);
}

/* ---- queries to the bucket ---- */

/* Of a series, there may always be one key more, once its first exists. */
static bool is_missing(const struct fact_query *query, size_t number) {
    if (query->series[number].next == 0) {
        return query->keys[number] != NULL && query->values[number] == NULL &&
               !query->are_absent[number];
    }
    return query->series[number].is_begun || query->values[number - 1] != NULL;
}

static bool is_under_way(const struct fact_query *query) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        if (query->requests[i].request != NULL || query->requests[i].search != NULL) {
            return true;
        }
    }
    return false;
}

/* ---- series ---- */

enum { SERIES_NUMBER_MAX = 20 };

bool fact_key_is_series(struct parley_bytes key) {
    const struct parley_bytes end = PARLEY_BYTES(PARLEY_FACT_SERIES);
    return key.length > end.length &&
           memcmp(key.data + key.length - end.length, end.data, end.length) == 0;
}

/* Names the key of this number in place of the one before it. */
static void name_next(struct fact_query *query, size_t number, uint64_t next) {
    char *end = strrchr(query->keys[number], '.') + 1;
    query->series[number].next = next;
    snprintf(end, SERIES_NUMBER_MAX + 1, "%" PRIu64, next);
}

/* The next key has this value.  Returns: false without memory. */
static bool step(struct fact_query *query, size_t number, struct parley_bytes value) {
    char *copy = parley_bytes_copy(value);
    if (copy == NULL) {
        return false;
    }
    free(query->values[number]);
    query->values[number] = copy;
    query->requests[number].is_asked = false;
    name_next(query, number, query->series[number].next + 1);
    return true;
}

/* Begins after the last key that is known.  Returns: false without memory. */
static bool begin_series(struct fact_query *query, size_t number, struct parley_bytes key) {
    const struct fact_store *store = query->store;
    struct parley_buffer value;
    query->keys[number] = malloc(key.length + SERIES_NUMBER_MAX + 1);
    if (query->keys[number] == NULL) {
        return false;
    }
    memcpy(query->keys[number], key.data, key.length);
    query->keys[number][key.length] = '\0';
    parley_buffer_init(&value);
    const uint64_t last =
        store->series != NULL ? store->series(store->series_context, key, &value) : 0;
    query->series[number].is_begun = last > 0;
    name_next(query, number, last > 1 ? last : 2);
    const bool has_memory =
        last < 2 || (!value.has_failed && step(query, number, parley_buffer_bytes(&value)));
    parley_buffer_finish(&value);
    return has_memory;
}

void fact_store_on_known(struct fact_store *store, fact_known_fn *known, void *context) {
    store->known = known;
    store->known_context = context;
}

void fact_store_on_series(struct fact_store *store, fact_series_fn *last, void *context) {
    store->series = last;
    store->series_context = context;
}

/* ---- answers ---- */

/* Returns: false without memory. */
static bool take_value(struct fact_query *query, size_t number, struct parley_bytes value) {
    struct fact_store *store = query->store;
    struct fact_entry *entry = fact_cache_open(&store->cache, parley_bytes_of(query->keys[number]));
    if (entry != NULL) {
        fact_cache_learn(&store->cache, entry, value, fact_store_now_ms(store));
        fact_cache_tidy(&store->cache, entry);
    }
    if (query->series[number].next > 0) {
        return step(query, number, value);
    }
    query->values[number] = parley_bytes_copy(value);
    return query->values[number] != NULL;
}

/* Takes a value without keeping it.  Returns: false without memory. */
static bool take_last(struct fact_query *query, size_t number, const struct jetstream_last *last) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    enum parley_status status = query->store->fact_of(last->payload, &text);
    if (status == PARLEY_OK && text.length > 0 && last->count > 0) {
        parley_buffer_clear(&text);
        parley_buffer_uint(&text, last->count);
    }
    const bool is_read = status == PARLEY_OK && parley_buffer_status(&text) == PARLEY_OK;
    if (is_read && text.length > 0) {
        query->values[number] = parley_bytes_copy(parley_buffer_bytes(&text));
        query->sequences[number] = last->sequence;
    }
    const bool has_memory = is_read && (text.length == 0 || query->values[number] != NULL);
    parley_buffer_finish(&text);
    return has_memory;
}

static bool take(struct fact_query *query, size_t number, const struct jetstream_last *last) {
    return fact_store_is_last(query->store) ? take_last(query, number, last)
                                            : take_value(query, number, last->payload);
}

/* A request has ended: another one may be sent. */
static void ask_next(struct fact_store *store) {
    if (!TAILQ_EMPTY(&store->line) && !store->ask_timer.is_armed) {
        reactor_timer_set(store->reactor, &store->ask_timer, 0);
    }
}

static bool ask_all(struct fact_query *query);

static void on_last(void *context, const struct jetstream_last *last) {
    struct fact_request *request = context;
    struct fact_query *query = request->query;
    struct fact_store *store = query->store;
    const bool is_found = last->found == JETSTREAM_LAST_FOUND && last->payload.length > 0;
    request->request = NULL;
    store->asked_count--;
    ask_next(store);
    if (last->found != JETSTREAM_LAST_FOUND && last->found != JETSTREAM_LAST_NONE) {
        fail_unanswered(query, last);
    } else if (is_found && !take(query, (size_t)(request - query->requests), last)) {
        end_query(query, true, NULL);
    } else if (query->list == &store->asked && !ask_all(query)) {
        line_up(query);
    }
}

/* Where it could not be found out, the benefit of the doubt is the message's. */
static void on_searched(void *context, enum id_search_end how, const char *error) {
    struct fact_request *request = context;
    struct fact_query *query = request->query;
    const size_t number = (size_t)(request - query->requests);
    request->search = NULL;
    query->store->search_count--;
    ask_next(query->store);
    if (how == ID_SEARCH_UNANSWERED) {
        fail_unanswered(query,
                        &(struct jetstream_last){.found = JETSTREAM_LAST_UNKNOWN, .error = error});
        return;
    }
    if (how != ID_SEARCH_MISSING) {
        query->values[number] = strdup(strchr(query->keys[number], ' ') + 1);
    }
    if (how != ID_SEARCH_MISSING && query->values[number] == NULL) {
        end_query(query, true, NULL);
    } else if (query->list == &query->store->asked && !is_under_way(query)) {
        end_query(query, false, NULL);
    }
}

static bool ask_for_id(struct fact_request *request, const char *key, const char *id) {
    struct fact_store *store = request->query->store;
    if (store->search_count == SEARCHES_MAX) {
        return false;
    }
    request->search = id_search_begin(store->reactor, store->jetstream, stream_of(store, key),
                                      (struct parley_bytes){key, (size_t)(id - key)}, id + 1,
                                      on_searched, request);
    request->is_asked = request->search != NULL;
    store->search_count += request->is_asked ? 1 : 0;
    return request->is_asked;
}

/* Returns: false if the bus takes no request now, or enough are under way. */
static bool ask(struct fact_query *query, size_t number) {
    struct fact_store *store = query->store;
    struct fact_request *request = &query->requests[number];
    char subject[FACT_NAME_MAX + FACT_KEY_MAX];
    if (request->is_asked) {
        return true;
    }
    if (!may_ask(store)) {
        return false;
    }
    request->query = query;
    const char *id = strchr(query->keys[number], ' ');
    if (id != NULL) {
        return ask_for_id(request, query->keys[number], id);
    }
    snprintf(subject, sizeof subject, "%s%s", store->prefix, query->keys[number]);
    request->request = jetstream_last_ask(store->jetstream, stream_of(store, query->keys[number]),
                                          subject, on_last, request);
    request->is_asked = request->request != NULL;
    store->asked_count += request->is_asked ? 1 : 0;
    return request->is_asked;
}

/* Returns: false if not all of it could be asked now. */
static bool ask_all(struct fact_query *query) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        if (is_missing(query, i) && !ask(query, i)) {
            return false;
        }
    }
    enter_list(query, &query->store->asked);
    if (!is_under_way(query)) {
        end_query(query, false, NULL);
    }
    return true;
}

/* Returns the entry of a key that is missing and expected; NULL if there is none. */
static struct fact_entry *expected_entry(struct fact_query *query) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        struct fact_entry *entry =
            is_missing(query, i)
                ? fact_cache_find(&query->store->cache, parley_bytes_of(query->keys[i]))
                : NULL;
        if (entry != NULL && entry->expected_count > 0) {
            return entry;
        }
    }
    return NULL;
}

static bool is_placed(const struct fact_query *query) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        if (is_missing(query, i) && stream_of(query->store, query->keys[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* Returns: false if nothing more can be asked now. */
static bool ask_first(struct fact_store *store, struct fact_query *first) {
    const bool is_ready = jetstream_is_ready(store->jetstream) && is_placed(first);
    struct fact_entry *expected;
    if (!is_ready && may_wait(first)) {
        end_requests(first);
        pause_query(first);
    } else if (!is_ready) {
        end_query(first, true, away(store));
    } else if (!is_under_way(first) && !fact_query_refresh(first) &&
               (expected = expected_entry(first)) != NULL) {
        enter_list(first, &expected->waiting);
    } else {
        return ask_all(first);
    }
    return true;
}

static void on_ask(struct reactor_timer *timer) {
    struct fact_store *store = OWNER_OF(timer, struct fact_store, ask_timer);
    struct fact_query *first;
    while ((first = TAILQ_FIRST(&store->line)) != NULL) {
        if (!ask_first(store, first)) {
            /* Else the next answer continues. */
            if (may_ask(store)) {
                reactor_timer_set(store->reactor, timer, RESEND_MS);
            }
            return;
        }
    }
}

bool fact_query_begin(struct fact_query *query, int64_t delay_ms) {
    struct fact_store *store = query->store;
    if (store->is_ending || !jetstream_is_accepting(store->jetstream)) {
        return false;
    }
    query->has_failed = false;
    query->patient_until_ms = fact_store_now_ms(store) + jetstream_patience_ms(store->jetstream);
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        query->requests[i].is_asked = false;
        query->are_absent[i] = false;
    }
    store->query_count++;
    if (delay_ms > 0) {
        pause_query(query);
    } else {
        line_up(query);
    }
    return true;
}

/* ---- a query's keys and values ---- */

/* Whether a message of this reactor is about to create it. */
static bool is_expected(const struct fact_query *query, size_t number) {
    const struct fact_entry *entry =
        fact_cache_find(&query->store->cache, parley_bytes_of(query->keys[number]));
    return entry != NULL && entry->expected_count > 0;
}

/* A value that finds no memory is asked for. */
static void take_from_others(struct fact_query *query, size_t number, uint64_t read_to) {
    const struct fact_store *store = query->store;
    struct parley_buffer value;
    if (query->series[number].next > 0 || !is_missing(query, number)) {
        return;
    }
    parley_buffer_init(&value);
    const enum fact_known known =
        store->known(store->known_context, parley_bytes_of(query->keys[number]), read_to, &value);
    if (known == FACT_IS_THERE && !value.has_failed) {
        query->values[number] = parley_bytes_copy(parley_buffer_bytes(&value));
    }
    query->are_absent[number] = known == FACT_IS_ABSENT && !is_expected(query, number);
    parley_buffer_finish(&value);
}

bool fact_query_init(struct fact_query *query, struct fact_store *store,
                     const struct parley_bytes keys[PARLEY_FACT_KEYS_MAX], uint64_t read_to) {
    query->store = store;
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        const size_t length = keys[i].length < FACT_KEY_MAX ? keys[i].length : FACT_KEY_MAX - 1;
        const struct parley_bytes key = {keys[i].data, length};
        if (fact_key_is_series(key)) {
            if (!begin_series(query, i, key)) {
                return false;
            }
            continue;
        }
        query->keys[i] = parley_bytes_copy(key);
        if (keys[i].data != NULL && query->keys[i] == NULL) {
            return false;
        }
    }
    (void)fact_query_refresh(query);
    for (size_t i = 0; store->known != NULL && i < PARLEY_FACT_KEYS_MAX; i++) {
        take_from_others(query, i, read_to);
    }
    return true;
}

void fact_query_finish(struct fact_query *query) {
    withdraw(query);
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        free(query->keys[i]);
        free(query->values[i]);
        query->keys[i] = query->values[i] = NULL;
        query->series[i].next = 0;
    }
}

/* Returns: false without memory: it is asked for. */
static bool take_known(struct fact_query *query, size_t number, const char *known) {
    if (query->series[number].next > 0) {
        return step(query, number, parley_bytes_of(known));
    }
    query->values[number] = strdup(known);
    return query->values[number] != NULL;
}

bool fact_query_refresh(struct fact_query *query) {
    struct fact_store *store = query->store;
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        const char *known;
        while (is_missing(query, i) &&
               (known = fact_cache_value(&store->cache, parley_bytes_of(query->keys[i]),
                                         fact_store_now_ms(store))) != NULL &&
               take_known(query, i, known)) {
            /* Of a series, the next one may be known, too. */
        }
    }
    return expected_entry(query) == NULL;
}

bool fact_query_is_complete(const struct fact_query *query) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        if (is_missing(query, i)) {
            return false;
        }
    }
    return true;
}

/* Whether `key` is one of the series that were found. */
static bool is_in_series(const struct fact_query *query, size_t number, const char *key) {
    const char *next = query->keys[number];
    const size_t length = (size_t)(strrchr(next, '.') + 1 - next);
    return strncmp(next, key, length) == 0 && strchr(key + length, '.') == NULL &&
           strtoull(key + length, NULL, 10) < query->series[number].next;
}

const char *fact_query_value(const struct fact_query *query, const char *key) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        const bool is_meant = query->keys[i] != NULL &&
                              (query->series[i].next > 0 ? is_in_series(query, i, key)
                                                         : strcmp(query->keys[i], key) == 0);
        if (is_meant) {
            return query->values[i];
        }
    }
    return NULL;
}

/* ---- the life of all queries ---- */

void fact_queries_init(struct fact_store *store) {
    TAILQ_INIT(&store->line);
    TAILQ_INIT(&store->asked);
    TAILQ_INIT(&store->pausing);
    store->ask_timer.fire = on_ask;
    store->pause_timer.fire = on_pause_over;
}

static void end_all(struct fact_queries *list) {
    while (!TAILQ_EMPTY(list)) {
        end_query(TAILQ_FIRST(list), true,
                  "parley is shutting down. Nothing was stored: send it again.");
    }
}

void fact_queries_finish(struct fact_store *store) {
    for (size_t i = 0; i < FACT_CHAIN_COUNT; i++) {
        for (struct fact_entry *entry = store->cache.chains[i]; entry != NULL;
             entry = entry->chain_next) {
            fact_queries_line_up(&entry->waiting);
        }
    }
    end_all(&store->line);
    end_all(&store->asked);
    end_all(&store->pausing);
    reactor_timer_clear(store->reactor, &store->ask_timer);
    reactor_timer_clear(store->reactor, &store->pause_timer);
}
