/* SPDX-License-Identifier: Apache-2.0 */

/* See object_store.h. Each chunk has a Nats-Msg-Id, so that jetstream_patience.c can publish it
 * again after a break, and JetStream stores it once. The order of chunks is that of their sequences
 * in the stream, which is why these are compared before the object gets its meta: chunks without a
 * meta are nothing. They are removed where the object fails, and expire where the gateway dies. */

#include "object_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object_keeper.h"
#include "reactor.h"

enum {
    UNACKED_MAX = 16,
    WINDOW_SHARE = 75,   /* of JetStream's window: messages come first */
    HEADERS_BYTES = 512, /* more than a chunk has */
    REMOVALS_MAX = 1024,
    AGAIN_MS = 250,
    MESSAGE_ID_MAX = OBJECT_NUID_MAX + 24,
};

struct object_chunk {
    struct object_put *put;
    uint64_t sequence; /* in the stream; 0: not acknowledged */
};

struct object_store {
    struct reactor *reactor;
    struct jetstream *jetstream;
    const char *bucket;
    char stream[OBJECT_STREAM_MAX];
    size_t unacked_count;
    TAILQ_HEAD(, object_put) line; /* those that have chunks to send; each sends one in turn */
    LIST_HEAD(, object_put) puts;
    struct jetstream_waiter waiter;
    struct object_keeper *keeper;
    struct reactor_timer pump;
    LIST_HEAD(, removal) removals;
    size_t removal_count;
    struct reactor_timer again; /* until what was not answered is asked again */
};

static void wake(struct object_store *store) {
    if (!store->pump.is_armed) {
        reactor_timer_set(store->reactor, &store->pump, 0);
    }
}

/* ---- what is removed ---- */

/* A subject whose messages are to be removed, until JetStream says that they are: chunks that no
 * meta names, and objects that are too many. */
struct removal {
    struct object_store *store;
    struct jetstream_request *request; /* NULL: it is to be asked */
    char subject[OBJECT_SUBJECT_MAX];
    LIST_ENTRY(removal) links;
};

static void set_again(struct object_store *store) {
    if (!store->again.is_armed) {
        reactor_timer_set(store->reactor, &store->again, AGAIN_MS);
    }
}

static void on_purged(void *context, bool is_done) {
    struct removal *removal = context;
    removal->request = NULL;
    if (is_done) {
        LIST_REMOVE(removal, links);
        removal->store->removal_count--;
        free(removal);
    } else {
        set_again(removal->store);
    }
}

static void ask_for_removal(struct removal *removal) {
    const struct object_store *store = removal->store;
    removal->request =
        jetstream_purge_ask(store->jetstream, store->stream, removal->subject, on_purged, removal);
    if (removal->request == NULL) {
        on_purged(removal, false);
    }
}

/* Without memory, or if NATS is away for long, they expire with the bucket's age. */
static void purge(struct object_store *store, const char *subject) {
    struct removal *removal = store->removal_count < REMOVALS_MAX ? malloc(sizeof *removal) : NULL;
    if (removal == NULL) {
        return;
    }
    *removal = (struct removal){.store = store};
    snprintf(removal->subject, sizeof removal->subject, "%s", subject);
    LIST_INSERT_HEAD(&store->removals, removal, links);
    store->removal_count++;
    ask_for_removal(removal);
}

static void purge_chunks(struct object_store *store, const char *nuid) {
    char subject[OBJECT_SUBJECT_MAX];
    object_chunk_subject(store->bucket, parley_bytes_of(nuid), subject);
    purge(store, subject);
}

/* Its meta first: without chunks it would name nothing. */
static void drop_object(void *context, const char *name, const char *nuid) {
    struct object_store *store = context;
    char subject[OBJECT_SUBJECT_MAX];
    object_meta_subject(store->bucket, parley_bytes_of(name), subject);
    purge(store, subject);
    purge_chunks(store, nuid);
}

/* ---- its end ---- */

static void leave_line(struct object_put *put) {
    if (put->is_lined_up) {
        TAILQ_REMOVE(&put->store->line, put, links);
        put->is_lined_up = false;
    }
}

static void finish(struct object_put *put, enum object_put_end end) {
    leave_line(put);
    LIST_REMOVE(put, all);
    free(put->chunks);
    put->chunks = NULL;
    put->phase = OBJECT_PUT_OVER;
    put->end = end;
    put->done(put);
}

/* Waits for the acks of what was sent: what JetStream stores after the purge would stay. */
static void end_if_acked(struct object_put *put) {
    if (put->phase == OBJECT_PUT_ENDING && put->acked_count == put->sent_count) {
        if (put->sent_count > 0) {
            purge_chunks(put->store, put->nuid);
        }
        finish(put, put->end);
    }
}

static void fail(struct object_put *put, enum object_put_end end, const char *error) {
    leave_line(put);
    if (put->phase == OBJECT_PUT_ENDING) {
        return; /* the first reason counts */
    }
    put->phase = OBJECT_PUT_ENDING;
    put->end = end;
    snprintf(put->error, sizeof put->error, "%s", error != NULL ? error : "");
}

static void fail_by_ack(struct object_put *put, const struct jetstream_ack *ack) {
    if (ack->outcome != JETSTREAM_REFUSED) {
        fail(put, OBJECT_PUT_AWAY, "NATS did not acknowledge all of it in time");
        return;
    }
    char error[sizeof put->error];
    snprintf(error, sizeof error, "JetStream refused a part of it: %.150s (%d)",
             ack->error != NULL ? ack->error : "it gave no reason", ack->error_code);
    fail(put, OBJECT_PUT_REFUSED, error);
}

static void fail_by_refusal(struct object_put *put, enum jetstream_publish refused) {
    const struct jetstream *jetstream = put->store->jetstream;
    switch (refused) {
    case JETSTREAM_BARRED:
        fail(put, OBJECT_PUT_AWAY, jetstream_bar(jetstream));
        break;
    case JETSTREAM_FAILED:
        fail(put, OBJECT_PUT_FAILED, NULL);
        break;
    default:
        fail(put, OBJECT_PUT_AWAY, jetstream_trouble(jetstream));
        break;
    }
}

/* ---- the meta ---- */

static void on_named(void *context, const struct jetstream_ack *ack) {
    struct object_put *put = context;
    if (ack->outcome == JETSTREAM_STORED) {
        if (put->old_nuid[0] != '\0') {
            purge_chunks(put->store, put->old_nuid);
        }
        finish(put, OBJECT_PUT_STORED);
        return;
    }
    /* A meta that may be stored needs its chunks: the next attempt finds the object, or they
     * expire. */
    const bool may_be_stored = ack->outcome != JETSTREAM_REFUSED;
    fail_by_ack(put, ack);
    if (!may_be_stored) {
        purge_chunks(put->store, put->nuid);
    }
    finish(put, put->end);
}

static enum jetstream_publish send_meta(struct object_put *put) {
    struct object_store *store = put->store;
    const struct object_meta meta = {.name = parley_bytes_of(put->name),
                                     .nuid = parley_bytes_of(put->nuid),
                                     .digest = parley_bytes_of(put->digest),
                                     .size = put->bytes.length,
                                     .chunks = put->chunk_count};
    char subject[OBJECT_SUBJECT_MAX], id[MESSAGE_ID_MAX];
    struct parley_buffer text;
    const struct bus_header headers[] = {{OBJECT_ROLLUP_HEADER, OBJECT_ROLLUP_SUBJECT},
                                         {"Nats-Msg-Id", id}};
    parley_buffer_init(&text);
    object_meta_write(&meta, store->bucket, &text);
    object_meta_subject(store->bucket, meta.name, subject);
    snprintf(id, sizeof id, "%s:meta", put->nuid);
    const struct jetstream_message message = {.subject = subject,
                                              .headers = headers,
                                              .header_count = sizeof headers / sizeof headers[0],
                                              .payload = parley_buffer_bytes(&text),
                                              .sender = &put->sender};
    const enum jetstream_publish published =
        text.has_failed ? JETSTREAM_FAILED
                        : jetstream_publish(store->jetstream, &message, on_named, put);
    put->phase = published == JETSTREAM_PUBLISHED ? OBJECT_PUT_NAMING : put->phase;
    parley_buffer_finish(&text);
    return published;
}

/* ---- chunks ---- */

static bool are_in_order(const struct object_put *put) {
    for (size_t i = 1; i < put->chunk_count; i++) {
        if (put->chunks[i].sequence <= put->chunks[i - 1].sequence) {
            return false;
        }
    }
    return true;
}

static void line_up(struct object_put *put) {
    if (!put->is_lined_up) {
        put->is_lined_up = true;
        TAILQ_INSERT_TAIL(&put->store->line, put, links);
        wake(put->store);
    }
}

static void on_chunk(void *context, const struct jetstream_ack *ack) {
    struct object_chunk *chunk = context;
    struct object_put *put = chunk->put;
    struct object_store *store = put->store;
    put->acked_count++;
    store->unacked_count--;
    chunk->sequence = ack->sequence;
    if (ack->outcome != JETSTREAM_STORED) {
        fail_by_ack(put, ack);
    }
    if (put->phase == OBJECT_PUT_SENDING && put->acked_count == put->chunk_count) {
        line_up(put); /* for its meta */
    }
    end_if_acked(put);
    if (!TAILQ_EMPTY(&store->line)) {
        wake(store);
    }
}

static enum jetstream_publish send_chunk(struct object_put *put) {
    struct object_store *store = put->store;
    const size_t start = put->sent_count * put->chunk_bytes;
    const size_t left = put->bytes.length - start;
    char subject[OBJECT_SUBJECT_MAX], id[MESSAGE_ID_MAX];
    const struct bus_header header = {"Nats-Msg-Id", id};
    object_chunk_subject(store->bucket, parley_bytes_of(put->nuid), subject);
    snprintf(id, sizeof id, "%s:%zu", put->nuid, put->sent_count);
    const struct jetstream_message message = {
        .subject = subject,
        .headers = &header,
        .header_count = 1,
        .payload = {put->bytes.data + start, left < put->chunk_bytes ? left : put->chunk_bytes},
        .sender = &put->sender,
        .share = WINDOW_SHARE};
    const enum jetstream_publish published =
        jetstream_publish(store->jetstream, &message, on_chunk, &put->chunks[put->sent_count]);
    if (published == JETSTREAM_PUBLISHED) {
        put->sent_count++;
        store->unacked_count++;
    }
    return published;
}

/* Sends its next chunk, or its meta.  Returns: false: JetStream's window is full. */
static bool send_next(struct object_put *put) {
    const bool has_all = put->acked_count == put->chunk_count;
    if (put->phase == OBJECT_PUT_SENDING && has_all && !are_in_order(put)) {
        fail(put, OBJECT_PUT_AWAY, "NATS stored its parts in another order");
    }
    if (put->phase == OBJECT_PUT_SENDING) {
        const enum jetstream_publish published = has_all ? send_meta(put) : send_chunk(put);
        if (published == JETSTREAM_FULL) {
            return false;
        }
        if (published != JETSTREAM_PUBLISHED) {
            fail_by_refusal(put, published);
        }
    }
    leave_line(put);
    if (put->phase == OBJECT_PUT_SENDING && put->sent_count < put->chunk_count) {
        line_up(put);
    }
    end_if_acked(put);
    return true;
}

static void on_pump(struct reactor_timer *timer) {
    struct object_store *store = OWNER_OF(timer, struct object_store, pump);
    struct object_put *first;
    while ((first = TAILQ_FIRST(&store->line)) != NULL && store->unacked_count < UNACKED_MAX) {
        if (!send_next(first)) {
            jetstream_wait_for_room(store->jetstream, &store->waiter);
            return;
        }
    }
}

static void on_room(struct jetstream_waiter *waiter) {
    wake(OWNER_OF(waiter, struct object_store, waiter));
}

/* ---- its beginning ---- */

/* A chunk must fit into a message. */
static size_t chunk_bytes_of(const struct object_store *store) {
    const size_t most = jetstream_max_payload_bytes(store->jetstream);
    const size_t fitting = most > 2 * HEADERS_BYTES ? most - HEADERS_BYTES : HEADERS_BYTES;
    return fitting < OBJECT_CHUNK_BYTES ? fitting : OBJECT_CHUNK_BYTES;
}

/* Refused before the first chunk: a nats-server whose disk is full stops storing anything. */
static bool has_room(struct object_put *put) {
    const struct object_store *store = put->store;
    const struct object_put *other;
    char subject[OBJECT_SUBJECT_MAX];
    uint64_t wanted = put->bytes.length + put->bytes.length / 64; /* and what chunks cost */
    LIST_FOREACH(other, &store->puts, all) {
        if (other->phase == OBJECT_PUT_SENDING) {
            wanted += other->bytes.length;
        }
    }
    object_meta_subject(store->bucket, parley_bytes_of(put->name), subject);
    const uint64_t left = jetstream_room_left(store->jetstream, subject);
    if (left < wanted) {
        snprintf(put->error, sizeof put->error,
                 "The object store `%s` has room for %" PRIu64
                 " more bytes, and this takes %zu: free space, or raise its limit",
                 store->bucket, left, put->bytes.length);
    }
    return left >= wanted;
}

static void begin_sending(struct object_put *put) {
    if (!has_room(put)) {
        finish(put, OBJECT_PUT_REFUSED);
        return;
    }
    put->chunk_bytes = chunk_bytes_of(put->store);
    put->chunk_count = (put->bytes.length + put->chunk_bytes - 1) / put->chunk_bytes;
    put->chunks = calloc(put->chunk_count, sizeof *put->chunks);
    if (put->chunks == NULL) {
        finish(put, OBJECT_PUT_FAILED);
        return;
    }
    for (size_t i = 0; i < put->chunk_count; i++) {
        put->chunks[i].put = put;
    }
    object_nuid_new(put->nuid);
    put->phase = OBJECT_PUT_SENDING;
    line_up(put);
}

/* Returns: whether the object is there already.  Notes whose chunks are to be removed if another
 * one is. */
static bool is_there(struct object_put *put, struct parley_bytes text) {
    struct parley_arena arena;
    struct object_meta meta;
    parley_arena_init(&arena, 0);
    const bool is_known = object_meta_read(text, &arena, &meta) == PARLEY_OK && !meta.is_deleted;
    const bool is_same = is_known && meta.size == put->bytes.length && meta.chunks > 0 &&
                         parley_bytes_equal(meta.digest, parley_bytes_of(put->digest));
    if (is_known && !is_same && meta.nuid.length < sizeof put->old_nuid) {
        memcpy(put->old_nuid, meta.nuid.data, meta.nuid.length);
    }
    parley_arena_finish(&arena);
    return is_same;
}

/* NATS does not answer: asks again in a moment, for as long as a message would wait. */
static void wait_or_fail(struct object_put *put, const char *error) {
    struct object_store *store = put->store;
    if (jetstream_is_accepting(store->jetstream) &&
        reactor_now_ms(store->reactor) < put->patient_until_ms) {
        set_again(store);
        return;
    }
    const char *trouble = jetstream_trouble(store->jetstream);
    fail(put, OBJECT_PUT_AWAY, trouble != NULL ? trouble : error);
    line_up(put); /* to end in a later turn */
}

static void on_asked(void *context, const struct jetstream_last *last) {
    struct object_put *put = context;
    put->request = NULL;
    if (last->found == JETSTREAM_LAST_FOUND && is_there(put, last->payload)) {
        finish(put, OBJECT_PUT_STORED);
    } else if (last->found == JETSTREAM_LAST_FOUND || last->found == JETSTREAM_LAST_NONE) {
        begin_sending(put);
    } else {
        wait_or_fail(put, "The object store of checkpoints does not answer");
    }
}

static void ask(struct object_put *put) {
    struct object_store *store = put->store;
    char subject[OBJECT_SUBJECT_MAX];
    object_meta_subject(store->bucket, parley_bytes_of(put->name), subject);
    put->request = jetstream_last_ask(store->jetstream, store->stream, subject, on_asked, put);
    if (put->request == NULL) {
        wait_or_fail(put, "NATS cannot be asked now");
    }
}

void object_put_begin(struct object_put *put, struct object_store *store) {
    put->store = store;
    put->error[0] = '\0';
    put->phase = OBJECT_PUT_ASKING;
    put->patient_until_ms =
        reactor_now_ms(store->reactor) + jetstream_patience_ms(store->jetstream);
    LIST_INSERT_HEAD(&store->puts, put, all);
    object_keeper_begin(store->keeper);
    ask(put);
}

/* What NATS did not answer. A put that fails is in the line afterwards, and leaves it later. */
static void on_again(struct reactor_timer *timer) {
    struct object_store *store = OWNER_OF(timer, struct object_store, again);
    struct removal *removal;
    struct object_put *put;
    LIST_FOREACH(removal, &store->removals, links) {
        if (removal->request == NULL) {
            ask_for_removal(removal);
        }
    }
    LIST_FOREACH(put, &store->puts, all) {
        if (put->phase == OBJECT_PUT_ASKING && put->request == NULL) {
            ask(put);
        }
    }
}

/* ---- the store ---- */

enum parley_status object_store_create(struct reactor *reactor, struct jetstream *jetstream,
                                       const char *bucket, size_t keep, struct object_store **out) {
    struct object_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return PARLEY_E_MEMORY;
    }
    store->reactor = reactor;
    store->jetstream = jetstream;
    store->bucket = bucket;
    store->pump.fire = on_pump;
    store->again.fire = on_again;
    store->waiter.room = on_room;
    store->waiter.share = WINDOW_SHARE;
    object_stream_name(bucket, store->stream);
    TAILQ_INIT(&store->line);
    LIST_INIT(&store->puts);
    LIST_INIT(&store->removals);
    if (object_keeper_create(jetstream, bucket, keep, drop_object, store, &store->keeper) !=
        PARLEY_OK) {
        free(store);
        return PARLEY_E_MEMORY;
    }
    *out = store;
    return PARLEY_OK;
}

bool object_store_is_idle(const struct object_store *store) {
    return LIST_EMPTY(&store->puts);
}

/* The acks of what was sent do not come any more. */
void object_store_destroy(struct object_store *store) {
    struct object_put *put;
    if (store == NULL) {
        return;
    }
    while ((put = LIST_FIRST(&store->puts)) != NULL) {
        jetstream_request_cancel(put->request);
        finish(put, OBJECT_PUT_AWAY);
    }
    struct removal *removal;
    while ((removal = LIST_FIRST(&store->removals)) != NULL) {
        jetstream_request_cancel(removal->request);
        LIST_REMOVE(removal, links);
        free(removal);
    }
    object_keeper_destroy(store->keeper);
    jetstream_wait_cancel(store->jetstream, &store->waiter);
    reactor_timer_clear(store->reactor, &store->again);
    reactor_timer_clear(store->reactor, &store->pump);
    free(store);
}
