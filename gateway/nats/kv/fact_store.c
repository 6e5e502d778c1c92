/* SPDX-License-Identifier: Apache-2.0 */

/* See fact_store.h. This file writes keys, each on the condition that it has no value, and is the
 * store's life; fact_query.c asks for keys. */

#include "fact_store_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <parley/message.h>

#include "jetstream_codes.h"
#include "jetstream_map.h"

void fact_stream_name(const char *bucket, char out[FACT_NAME_MAX]) {
    snprintf(out, FACT_NAME_MAX, "KV_%s", bucket);
}

void fact_stream_subjects(const char *bucket, char out[FACT_NAME_MAX]) {
    snprintf(out, FACT_NAME_MAX, "$KV.%s.>", bucket);
}

bool fact_store_is_last(const struct fact_store *store) {
    return store->fact_of != NULL;
}

int64_t fact_store_kept_ms(const struct fact_store *store) {
    return fact_store_is_last(store) ? 0 : jetstream_kept_ms(store->jetstream, store->stream);
}

/* ---- writing ---- */

bool fact_store_expect(struct fact_store *store, struct parley_bytes key) {
    struct fact_entry *entry = fact_cache_open(&store->cache, key);
    if (entry == NULL) {
        return false;
    }
    entry->expected_count++;
    return true;
}

void fact_store_expect_end(struct fact_store *store, struct parley_bytes key) {
    struct fact_entry *entry = fact_cache_find(&store->cache, key);
    if (--entry->expected_count == 0) {
        fact_queries_line_up(&entry->waiting);
        fact_cache_tidy(&store->cache, entry);
    }
}

/* A write that awaits its ack, and is freed with it. */
struct write {
    struct fact_store *store;
    fact_written_fn *done;
    void *context;
    struct parley_bytes key, value; /* in `bytes` */
    char bytes[];
};

/* Returns: its length. */
static size_t write_subject(const struct fact_store *store, struct parley_bytes key,
                            char out[FACT_NAME_MAX + FACT_KEY_MAX + 1]) {
    return (size_t)snprintf(out, FACT_NAME_MAX + FACT_KEY_MAX + 1, "%s%.*s", store->prefix,
                            (int)key.length, key.data);
}

static void note(const struct write *write) {
    const struct fact_store *store = write->store;
    char subject[FACT_NAME_MAX + FACT_KEY_MAX + 1];
    const size_t length = write_subject(store, write->key, subject);
    fact_ledger_note(store->ledger, (struct parley_bytes){subject, length},
                     fact_store_now_ms(store));
}

bool fact_store_has_written(const struct fact_store *store, struct parley_bytes key) {
    char subject[FACT_NAME_MAX + FACT_KEY_MAX + 1];
    if (key.length > FACT_KEY_MAX) {
        return false;
    }
    const size_t length = write_subject(store, key, subject);
    return fact_ledger_knows(store->ledger, (struct parley_bytes){subject, length},
                             fact_store_now_ms(store));
}

static void learn(const struct write *write) {
    struct fact_cache *cache = &write->store->cache;
    struct fact_entry *entry = fact_cache_open(cache, write->key);
    if (entry != NULL) {
        fact_cache_learn(cache, entry, write->value, fact_store_now_ms(write->store));
        fact_cache_tidy(cache, entry);
    }
}

static void report_written(const struct write *write, uint64_t sequence) {
    const struct fact_store *store = write->store;
    const struct bucket_entry entry = {.key = write->key,
                                       .value = write->value,
                                       .sequence = sequence,
                                       .time_ns = reactor_wall_clock_ns()};
    if (store->written != NULL) {
        store->written(store->written_context, &entry);
    }
}

static void on_written(void *context, const struct jetstream_ack *ack) {
    struct write *write = context;
    enum fact_written written = FACT_FAILED;
    if (ack->outcome == JETSTREAM_STORED) {
        written = FACT_WRITTEN;
        learn(write);
        report_written(write, ack->sequence);
    } else if (jetstream_ack_is_behind(ack)) {
        written = FACT_EXISTS;
        report_written(write, 0);
    }
    if (written != FACT_FAILED) {
        note(write);
    }
    write->done(write->context, written, ack);
    free(write);
}

static struct write *create_write(struct fact_store *store, struct parley_bytes key,
                                  struct parley_bytes value, fact_written_fn *done, void *context) {
    struct write *write = malloc(sizeof *write + key.length + value.length);
    if (write == NULL) {
        return NULL;
    }
    *write = (struct write){.store = store, .done = done, .context = context};
    memcpy(write->bytes, key.data, key.length);
    memcpy(write->bytes + key.length, value.data, value.length);
    write->key = (struct parley_bytes){write->bytes, key.length};
    write->value = (struct parley_bytes){write->bytes + key.length, value.length};
    return write;
}

typedef enum jetstream_publish publish_fn(struct jetstream *jetstream,
                                          const struct jetstream_message *message,
                                          jetstream_ack_fn *done, void *context);

static enum jetstream_publish write_by(publish_fn *publish, struct fact_store *store,
                                       struct parley_bytes key, struct parley_bytes value,
                                       int64_t within_ms, fact_written_fn *done, void *context) {
    static const struct bus_header first = {"Nats-Expected-Last-Subject-Sequence", "0"};
    char subject[FACT_NAME_MAX + FACT_KEY_MAX + 1];
    if (key.length > FACT_KEY_MAX || store->is_ending) {
        return store->is_ending ? JETSTREAM_AWAY : JETSTREAM_FAILED;
    }
    struct write *write = create_write(store, key, value, done, context);
    if (write == NULL) {
        return JETSTREAM_FAILED;
    }
    write_subject(store, key, subject);
    const struct jetstream_message message = {.subject = subject,
                                              .headers = &first,
                                              .header_count = 1,
                                              .payload = value,
                                              .within_ms = within_ms};
    const enum jetstream_publish published = publish(store->jetstream, &message, on_written, write);
    if (published != JETSTREAM_PUBLISHED) {
        free(write);
    }
    return published;
}

enum jetstream_publish fact_store_write(struct fact_store *store, struct parley_bytes key,
                                        struct parley_bytes value, int64_t within_ms,
                                        fact_written_fn *done, void *context) {
    return write_by(jetstream_publish_second, store, key, value, within_ms, done, context);
}

enum jetstream_publish fact_store_create_key(struct fact_store *store, struct parley_bytes key,
                                             struct parley_bytes value, fact_written_fn *done,
                                             void *context) {
    return write_by(jetstream_publish, store, key, value, 0, done, context);
}

/* ---- lifecycle ---- */

static struct fact_store *create(struct reactor *reactor, struct jetstream *jetstream) {
    struct fact_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return NULL;
    }
    store->reactor = reactor;
    store->jetstream = jetstream;
    fact_cache_init(&store->cache);
    fact_queries_init(store);
    return store;
}

enum parley_status fact_store_create(struct reactor *reactor, struct jetstream *jetstream,
                                     const char *bucket, struct fact_store **out) {
    *out = create(reactor, jetstream);
    if (*out == NULL) {
        return PARLEY_E_MEMORY;
    }
    fact_stream_name(bucket, (*out)->stream);
    snprintf((*out)->prefix, sizeof(*out)->prefix, "$KV.%s.", bucket);
    return PARLEY_OK;
}

enum parley_status fact_store_create_last(struct reactor *reactor, struct jetstream *jetstream,
                                          fact_of_fn *fact_of, struct fact_store **out) {
    *out = create(reactor, jetstream);
    if (*out == NULL) {
        return PARLEY_E_MEMORY;
    }
    (*out)->fact_of = fact_of;
    return PARLEY_OK;
}

void fact_store_share(struct fact_store *store, struct fact_ledger *ledger) {
    store->ledger = ledger;
}

void fact_store_on_written(struct fact_store *store, fact_entry_fn *written, void *context) {
    store->written = written;
    store->written_context = context;
}

void fact_store_on_noted(struct fact_store *store, fact_entry_fn *noted, void *context) {
    store->noted = noted;
    store->noted_context = context;
}

void fact_store_note(const struct fact_store *store, const struct parley_decision *decision,
                     struct parley_bytes stream, uint64_t sequence) {
    const struct parley_decision note = {.fact_members = decision->note_members};
    struct parley_buffer value;
    if (store->noted == NULL || decision->note_key.data == NULL) {
        return;
    }
    parley_buffer_init(&value);
    parley_decision_write_fact(&note, stream, sequence, &value);
    const struct bucket_entry entry = {
        .key = decision->note_key, .value = parley_buffer_bytes(&value), .sequence = sequence};
    if (!value.has_failed) {
        store->noted(store->noted_context, &entry);
    }
    parley_buffer_finish(&value);
}

/* Writes that await their ack are no longer reported: they end with the jetstream. */
void fact_store_destroy(struct fact_store *store) {
    if (store == NULL) {
        return;
    }
    store->is_ending = true;
    fact_queries_finish(store);
    fact_cache_finish(&store->cache);
    free(store);
}

bool fact_store_is_idle(const struct fact_store *store) {
    return store->query_count == 0;
}
