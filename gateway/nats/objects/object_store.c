/* SPDX-License-Identifier: Apache-2.0 */

/* See object_store.h. Each chunk has a Nats-Msg-Id, so that jetstream_away_queue.c can publish it
 * again after a break, and JetStream stores it once. The order of chunks is that of their sequences
 * in the stream, which is why these are compared before the object gets its meta: chunks without a
 * meta are nothing. They are removed where the object fails, and expire where the gateway dies. */

#include "object_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jetstream_codes.h"
#include "object_retention.h"
#include "object_remover.h"
#include "reactor.h"

enum {
    UNACKED_MAX = 8,
    WINDOW_SHARE = 75,   /* of JetStream's window: messages come first */
    HEADERS_BYTES = 512, /* more than a chunk has */
    KEPT_MAX = 65536,    /* objects that are known, to keep the newest */
    AGAIN_MS = 250,
    MESSAGE_ID_MAX = OBJECT_NUID_MAX + 24,
};

#define DAY_NS (INT64_C(24) * 60 * 60 * 1000000000)

struct object_chunk {
    struct object_put *put;
    uint64_t sequence; /* in the stream; 0: not acknowledged */
};

struct object_store {
    struct reactor *reactor;
    struct jetstream *jetstream;
    const char *bucket;
    struct object_room *room;
    char stream[OBJECT_STREAM_MAX];
    size_t unacked_count;
    TAILQ_HEAD(, object_put) line; /* those that have chunks to send; each sends one in turn */
    LIST_HEAD(, object_put) puts;
    struct jetstream_waiter waiter;
    struct object_retention *keeper;
    struct object_remover remover;
    struct reactor_timer pump;
    struct reactor_timer again; /* until an unanswered request is sent again */
};

static void wake(struct object_store *store) {
    if (!store->pump.is_armed) {
        reactor_timer_set(store->reactor, &store->pump, 0);
    }
}

static void set_again(struct object_store *store) {
    if (!store->again.is_armed) {
        reactor_timer_set(store->reactor, &store->again, AGAIN_MS);
    }
}

/* ---- removing ---- */

static void purge_chunks(struct object_store *store, const char *nuid, uint64_t count) {
    char subject[OBJECT_SUBJECT_MAX];
    object_chunk_subject(store->bucket, parley_bytes_of(nuid), subject);
    object_remover_add(&store->remover, subject, count);
}

/* Its meta first: without chunks it would name nothing. */
static void drop_object(void *context, const char *name, uint64_t sequence, const char *nuid,
                        uint64_t chunk_count) {
    struct object_store *store = context;
    char subject[OBJECT_SUBJECT_MAX];
    if (name != NULL) {
        object_meta_subject(store->bucket, parley_bytes_of(name), subject);
        object_remover_add_up_to(&store->remover, subject, sequence);
    }
    purge_chunks(store, nuid, chunk_count);
}

/* ---- the room it takes ---- */

/* It is refused before the first chunk: a nats-server whose disk is full stops storing anything.
 * The awaited bytes are read before the room left, so that no bytes stored in between are
 * missed. */
static bool take_room(struct object_put *put) {
    struct object_room *room = put->store->room;
    const uint64_t wanted = put->bytes.length + put->bytes.length / 64; /* including the overhead of
                                                                           chunks */
    uint64_t awaited = atomic_load(&room->awaited_reply_bytes), left;
    char subject[OBJECT_SUBJECT_MAX];
    object_meta_subject(put->store->bucket, parley_bytes_of(put->name), subject);
    do {
        left = jetstream_room_left(put->store->jetstream, subject);
        left = left > awaited ? left - awaited : 0;
        if (left < wanted) {
            snprintf(put->error, sizeof put->error,
                     "The object store `%s` has room for %" PRIu64
                     " more bytes, and this takes %" PRIu64 ": free space, or raise its limit",
                     put->store->bucket, left, wanted);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&room->awaited_reply_bytes, &awaited, awaited + wanted));
    put->room_bytes = wanted;
    return true;
}

static void give_room(struct object_put *put, uint64_t bytes) {
    const uint64_t given = bytes < put->room_bytes ? bytes : put->room_bytes;
    put->room_bytes -= given;
    atomic_fetch_sub(&put->store->room->awaited_reply_bytes, given);
}

/* ---- its end ---- */

static void be_patient(struct object_put *put) {
    const struct object_store *store = put->store;
    put->patient_until_ms =
        reactor_now_ms(store->reactor) + jetstream_patience_ms(store->jetstream);
}

static void leave_line(struct object_put *put) {
    if (put->is_lined_up) {
        TAILQ_REMOVE(&put->store->line, put, links);
        put->is_lined_up = false;
    }
}

static void finish(struct object_put *put, enum object_put_end end) {
    leave_line(put);
    LIST_REMOVE(put, all);
    give_room(put, put->room_bytes);
    free(put->chunks);
    put->chunks = NULL;
    put->phase = OBJECT_PUT_OVER;
    put->end = end;
    put->done(put);
}

/* Waits for the acks of the chunks sent: chunks that JetStream stores after the purge would stay. A
 * meta that may be stored needs its chunks: the next attempt finds the object, or they expire. */
static void end_if_acked(struct object_put *put) {
    if (put->phase == OBJECT_PUT_ENDING && put->acked_count == put->sent_count) {
        if (put->sent_count > 0 && !put->is_in_doubt) {
            purge_chunks(put->store, put->nuid, put->sent_count);
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
    if (ack->error_code == 0) { /* it came to no decision */
        fail(put, OBJECT_PUT_AWAY, ack->error);
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

static void ask(struct object_put *put);
static void wait_or_fail(struct object_put *put, const char *error);

static struct object_meta meta_of(const struct object_put *put) {
    return (struct object_meta){.name = parley_bytes_of(put->name),
                                .nuid = parley_bytes_of(put->nuid),
                                .digest = parley_bytes_of(put->digest),
                                .size = put->bytes.length,
                                .chunks = put->chunk_count};
}

static void end_named(struct object_put *put, uint64_t sequence) {
    const struct object_meta meta = meta_of(put);
    object_retention_stored(put->store->keeper, sequence, &meta);
    if (put->old_nuid[0] != '\0') {
        purge_chunks(put->store, put->old_nuid, put->old_chunk_count);
    }
    finish(put, OBJECT_PUT_STORED);
}

/* The last meta of its name decides how to continue. That may be unchanged, so only the first time
 * it is asked for at once. */
static void look_again(struct object_put *put) {
    put->phase = OBJECT_PUT_ASKING;
    if (put->is_in_doubt) {
        wait_or_fail(put, "JetStream does not say that it is stored");
        return;
    }
    put->is_in_doubt = true;
    be_patient(put);
    ask(put);
}

static void on_named(void *context, const struct jetstream_ack *ack) {
    struct object_put *put = context;
    const bool is_refused = ack->outcome == JETSTREAM_REFUSED;
    if (jetstream_ack_is_behind(ack)) {
        look_again(put);
        return;
    }
    if (ack->outcome == JETSTREAM_STORED) {
        end_named(put, ack->sequence);
        return;
    }
    const bool may_be_stored = !is_refused || put->is_in_doubt;
    fail_by_ack(put, ack);
    if (!may_be_stored) {
        purge_chunks(put->store, put->nuid, put->sent_count);
    }
    finish(put, put->end);
}

static enum jetstream_publish send_meta(struct object_put *put) {
    struct object_store *store = put->store;
    const struct object_meta meta = meta_of(put);
    char subject[OBJECT_SUBJECT_MAX], id[MESSAGE_ID_MAX], before[24];
    struct parley_buffer text;
    const struct bus_header headers[] = {{OBJECT_ROLLUP_HEADER, OBJECT_ROLLUP_SUBJECT},
                                         {"Nats-Expected-Last-Subject-Sequence", before},
                                         {"Nats-Msg-Id", id}};
    parley_buffer_init(&text);
    object_meta_write(&meta, store->bucket, &text);
    object_meta_subject(store->bucket, meta.name, subject);
    snprintf(id, sizeof id, "%s:meta", put->nuid);
    snprintf(before, sizeof before, "%" PRIu64, put->old_sequence);
    const struct jetstream_message message = {.subject = subject,
                                              .headers = headers,
                                              .header_count = sizeof headers / sizeof headers[0],
                                              .payload = parley_buffer_bytes(&text),
                                              .sender = &put->sender};
    const enum jetstream_publish published =
        text.has_failed ? JETSTREAM_FAILED
                        : jetstream_publish(store->jetstream, &message, on_named, put);
    if (published == JETSTREAM_PUBLISHED) {
        put->phase = OBJECT_PUT_NAMING;
    }
    parley_buffer_finish(&text);
    return published;
}

/* ---- chunks ---- */

static bool are_in_order(const struct object_put *put) {
    uint64_t last = 0;
    for (size_t i = 0; i < put->chunk_count; i++) {
        if (put->chunks[i].sequence <= last) {
            return false;
        }
        last = put->chunks[i].sequence;
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
    give_room(put, put->chunk_bytes);
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

/* Sends its next chunk, or its meta.  Returns: false if JetStream's window is full. */
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

static void begin_sending(struct object_put *put) {
    if (!take_room(put)) {
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

/* The last meta of its name. */
enum finding {
    FINDS_OTHER, /* of another object, or there is none */
    FINDS_SAME,  /* of this object, from another upload */
    FINDS_OWN,   /* that of this upload */
};

/* Notes which meta the object's own is to replace, and which chunks that one has. */
static void note_old(struct object_put *put, uint64_t sequence, const struct object_meta *meta) {
    put->old_sequence = sequence;
    put->old_nuid[0] = '\0';
    if (meta != NULL && meta->nuid.length < sizeof put->old_nuid) {
        memcpy(put->old_nuid, meta->nuid.data, meta->nuid.length);
        put->old_nuid[meta->nuid.length] = '\0';
        put->old_chunk_count = meta->chunks;
    }
}

static enum finding find(struct object_put *put, const struct jetstream_last *last) {
    struct parley_arena arena;
    struct object_meta meta;
    enum finding finding = FINDS_OTHER;
    parley_arena_init(&arena, 0);
    const bool is_object = last->found == JETSTREAM_LAST_FOUND &&
                           object_meta_read(last->payload, &arena, &meta) == PARLEY_OK &&
                           !meta.is_deleted;
    if (is_object && put->is_in_doubt &&
        parley_bytes_equal(meta.nuid, parley_bytes_of(put->nuid))) {
        finding = FINDS_OWN;
    } else {
        const bool is_same = is_object && meta.size == put->bytes.length && meta.chunks > 0 &&
                             parley_bytes_equal(meta.digest, parley_bytes_of(put->digest));
        finding = is_same ? FINDS_SAME : FINDS_OTHER;
        note_old(put, last->sequence, is_object ? &meta : NULL);
    }
    parley_arena_finish(&arena);
    return finding;
}

/* The object is already stored. */
static void end_without(struct object_put *put) {
    if (put->sent_count > 0) {
        purge_chunks(put->store, put->nuid, put->sent_count);
    }
    finish(put, OBJECT_PUT_STORED);
}

static void send_or_begin(struct object_put *put) {
    if (put->chunks == NULL) {
        begin_sending(put);
        return;
    }
    put->phase = OBJECT_PUT_SENDING; /* its meta is left to send */
    line_up(put);
}

/* NATS does not answer: asks again in a moment, for as long as a message may wait. */
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
    if (last->found != JETSTREAM_LAST_FOUND && last->found != JETSTREAM_LAST_NONE) {
        wait_or_fail(put, "The object store of checkpoints does not answer");
        return;
    }
    switch (find(put, last)) {
    case FINDS_OWN:
        end_named(put, last->sequence);
        break;
    case FINDS_SAME:
        end_without(put);
        break;
    case FINDS_OTHER:
        send_or_begin(put);
        break;
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
    be_patient(put);
    LIST_INSERT_HEAD(&store->puts, put, all);
    ask(put);
}

/* Sends requests again that NATS did not answer. A put that fails is in the line afterwards, and
 * leaves it later. */
static void on_again(struct reactor_timer *timer) {
    struct object_store *store = OWNER_OF(timer, struct object_store, again);
    struct object_put *put;
    LIST_FOREACH(put, &store->puts, all) {
        if (put->phase == OBJECT_PUT_ASKING && put->request == NULL) {
            ask(put);
        }
    }
}

/* ---- the store ---- */

enum parley_status object_store_create(struct reactor *reactor, struct jetstream *jetstream,
                                       const struct object_store_options *options,
                                       struct object_store **out) {
    struct object_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return PARLEY_E_MEMORY;
    }
    store->reactor = reactor;
    store->jetstream = jetstream;
    store->bucket = options->bucket;
    store->room = options->room;
    store->pump.fire = on_pump;
    store->again.fire = on_again;
    store->waiter.room = on_room;
    store->waiter.share = WINDOW_SHARE;
    object_stream_name(store->bucket, store->stream);
    object_remover_init(&store->remover, reactor, jetstream, store->stream);
    TAILQ_INIT(&store->line);
    LIST_INIT(&store->puts);
    const struct object_retention_options keeper = {.reactor = reactor,
                                                    .jetstream = jetstream,
                                                    .bucket = options->bucket,
                                                    .keep = options->keep,
                                                    .objects_max = KEPT_MAX,
                                                    .age_ns = options->days * DAY_NS,
                                                    .drop = drop_object,
                                                    .context = store};
    if (object_retention_create(&keeper, &store->keeper) != PARLEY_OK) {
        free(store);
        return PARLEY_E_MEMORY;
    }
    *out = store;
    return PARLEY_OK;
}

bool object_store_is_idle(const struct object_store *store) {
    return LIST_EMPTY(&store->puts);
}

/* The acks of chunks under way no longer arrive. */
void object_store_destroy(struct object_store *store) {
    struct object_put *put;
    if (store == NULL) {
        return;
    }
    while ((put = LIST_FIRST(&store->puts)) != NULL) {
        jetstream_request_cancel(put->request);
        finish(put, OBJECT_PUT_AWAY);
    }
    object_retention_destroy(store->keeper);
    object_remover_finish(&store->remover);
    jetstream_wait_cancel(store->jetstream, &store->waiter);
    reactor_timer_clear(store->reactor, &store->again);
    reactor_timer_clear(store->reactor, &store->pump);
    free(store);
}
