/* SPDX-License-Identifier: Apache-2.0 */

/* See index_store.h. Statements are prepared once. A failure of SQLite ends the store: whoever has
 * it opens it again, or sets the file aside. */

#include "index_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <sqlite3.h>

#include "index_words.h"

enum { SECRET_BYTES = 16, DIGEST_BYTES = 16, REACHED_MAX = 16 };

enum statement {
    ADD_MESSAGE,
    ADD_REFERENCE,
    ADD_RECEIVER,
    FIND_PASSING,
    SET_PASSING,
    DROP_MESSAGE,
    DROP_REFERENCES,
    DROP_RECEIVERS,
    SET_NEXT,
    STATEMENT_COUNT
};

static const char insert_message[] =
    "INSERT OR REPLACE INTO messages VALUES"
    "(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20)";

static const char *const texts[] = {
    [ADD_MESSAGE] = insert_message,
    [ADD_REFERENCE] = "INSERT OR REPLACE INTO refs VALUES(?1,?2,?3,?4,?5,?6,?7)",
    [ADD_RECEIVER] = "INSERT OR REPLACE INTO receivers VALUES(?1,?2,?3,?4)",
    [FIND_PASSING] = "SELECT pos FROM passing WHERE stream=?1 AND type=?2 AND who=?3",
    [SET_PASSING] = "INSERT OR REPLACE INTO passing VALUES(?1,?2,?3,?4)",
    [DROP_MESSAGE] = "DELETE FROM messages WHERE pos=?1",
    [DROP_REFERENCES] = "DELETE FROM refs WHERE pos=?1",
    [DROP_RECEIVERS] = "DELETE FROM receivers WHERE pos=?1",
    [SET_NEXT] = "UPDATE streams SET next=?2 WHERE stream=?1",
};

/* How far a stream was read. */
struct reached {
    unsigned stream;
    uint64_t next;
};

struct index_store {
    sqlite3 *file;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    unsigned char secret[SECRET_BYTES];
    struct index_words words;
    size_t pending;
    struct reached reached[REACHED_MAX]; /* in the transaction; `streams` learns it at its end */
    size_t reached_count;
    bool is_damaged;
};

static enum parley_status note(struct index_store *store, int result) {
    if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW) {
        return PARLEY_OK;
    }
    store->is_damaged = index_result_is_damage(result);
    return (result & 0xff) == SQLITE_NOMEM ? PARLEY_E_MEMORY : PARLEY_E_IO;
}

static enum parley_status run(struct index_store *store, const char *sql) {
    return note(store, sqlite3_exec(store->file, sql, NULL, NULL, NULL));
}

/* ---- opening ---- */

static enum parley_status read_secret(struct index_store *store) {
    sqlite3_stmt *statement = NULL;
    enum parley_status status =
        note(store, sqlite3_prepare_v2(store->file, "SELECT value FROM meta WHERE name='key'", -1,
                                       &statement, NULL));
    if (status == PARLEY_OK) {
        const bool is_there = sqlite3_step(statement) == SQLITE_ROW &&
                              sqlite3_column_bytes(statement, 0) == SECRET_BYTES;
        if (is_there) {
            memcpy(store->secret, sqlite3_column_blob(statement, 0), SECRET_BYTES);
        }
        status = is_there ? PARLEY_OK : note(store, SQLITE_CORRUPT);
    }
    sqlite3_finalize(statement);
    return status;
}

static enum parley_status prepare(struct index_store *store) {
    PARLEY_TRY(read_secret(store));
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        PARLEY_TRY(
            note(store, sqlite3_prepare_v3(store->file, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                           &store->statements[i], NULL)));
    }
    return PARLEY_OK;
}

static enum index_opened open_once(struct index_store *store, const char *folder,
                                   char error[INDEX_ERROR_MAX]) {
    const enum index_opened opened = index_file_open(folder, &store->file, error);
    if (opened != INDEX_OPENED || prepare(store) == PARLEY_OK) {
        return opened;
    }
    snprintf(error, INDEX_ERROR_MAX, INDEX_FILE_NAME ": %s", sqlite3_errmsg(store->file));
    /* Tables that are not as they should be are no failure of reading. */
    return INDEX_UNUSABLE;
}

static void close_file(struct index_store *store) {
    index_words_finish(&store->words);
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        sqlite3_finalize(store->statements[i]);
        store->statements[i] = NULL;
    }
    sqlite3_close(store->file);
    store->file = NULL;
}

enum parley_status index_store_open(const char *folder, struct index_store **out, bool *out_is_new,
                                    char error[INDEX_ERROR_MAX]) {
    struct index_store *store = calloc(1, sizeof *store);
    *out = NULL;
    *out_is_new = false;
    if (store == NULL) {
        return PARLEY_E_MEMORY;
    }
    enum index_opened opened = open_once(store, folder, error);
    if (opened == INDEX_UNUSABLE) {
        char second[INDEX_ERROR_MAX];
        close_file(store);
        *out_is_new = true;
        opened = index_file_set_aside(folder) ? open_once(store, folder, second) : INDEX_FAILED;
    }
    if (opened != INDEX_OPENED) {
        index_store_close(store);
        return PARLEY_E_IO;
    }
    store->is_damaged = false;
    *out = store;
    return PARLEY_OK;
}

void index_store_close(struct index_store *store) {
    if (store != NULL) {
        close_file(store);
        free(store);
    }
}

enum parley_status index_store_keep_words(struct index_store *store, bool is_wanted,
                                          bool *out_is_lacking) {
    PARLEY_TRY(run(store, "BEGIN IMMEDIATE"));
    PARLEY_TRY(
        note(store, index_words_begin(&store->words, store->file, is_wanted, out_is_lacking)));
    return run(store, "COMMIT");
}

bool index_store_is_damaged(const struct index_store *store) {
    return store->is_damaged;
}

size_t index_store_pending(const struct index_store *store) {
    return store->pending;
}

/* ---- texts ---- */

static void lower_text(struct parley_bytes text, char *out) {
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        out[i] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
}

int64_t index_key(const unsigned char secret[SECRET_BYTES], struct parley_bytes text) {
    unsigned char hash[8];
    char lower[INDEX_TEXT_MAX];
    text.length = text.length < INDEX_TEXT_MAX ? text.length : INDEX_TEXT_MAX;
    lower_text(text, lower);
    int64_t key;
    crypto_shorthash(hash, (const unsigned char *)lower, text.length, secret);
    memcpy(&key, hash, sizeof key);
    return key & INT64_MAX;
}

struct parley_bytes index_short_text(struct parley_bytes text, char room[INDEX_DIGEST_SIZE]) {
    unsigned char digest[DIGEST_BYTES];
    if (text.length <= INDEX_TEXT_MAX) {
        return text;
    }
    crypto_generichash(digest, sizeof digest, (const unsigned char *)text.data, text.length, NULL,
                       0);
    static const char prefix[] = "sha:";
    const size_t length = sizeof prefix - 1;
    memcpy(room, prefix, sizeof prefix);
    sodium_bin2hex(room + length, 2 * DIGEST_BYTES + 1, digest, sizeof digest);
    return (struct parley_bytes){room, length + 2 * DIGEST_BYTES};
}

struct parley_bytes index_thread_text(const struct parley_protocol *protocol,
                                      struct parley_bytes text, char room[INDEX_TEXT_MAX]) {
    char digest[INDEX_DIGEST_SIZE];
    const struct parley_bytes kept = index_short_text(text, digest);
    if (kept.data == digest) {
        memcpy(room, digest, kept.length);
        return (struct parley_bytes){room, kept.length};
    }
    if (!protocol->is_thread_caseless || kept.length == 0) {
        return kept;
    }
    lower_text(kept, room);
    return (struct parley_bytes){room, kept.length};
}

static void bind_text(sqlite3_stmt *statement, int place, struct parley_bytes text) {
    if (text.data == NULL) {
        sqlite3_bind_null(statement, place);
    } else {
        sqlite3_bind_text64(statement, place, text.data, text.length, SQLITE_TRANSIENT,
                            SQLITE_UTF8);
    }
}

/* The key at `place`, and the text after it. */
static void bind_keyed(const struct index_store *store, sqlite3_stmt *statement, int place,
                       struct parley_bytes text) {
    char room[INDEX_DIGEST_SIZE];
    const struct parley_bytes kept = index_short_text(text, room);
    if (kept.length == 0) {
        sqlite3_bind_null(statement, place);
        sqlite3_bind_null(statement, place + 1);
        return;
    }
    sqlite3_bind_int64(statement, place, index_key(store->secret, kept));
    bind_text(statement, place + 1, kept);
}

/* Empty names nothing. */
static void bind_short(sqlite3_stmt *statement, int place, struct parley_bytes text) {
    char room[INDEX_DIGEST_SIZE];
    const struct parley_bytes kept = index_short_text(text, room);
    bind_text(statement, place, kept.length > 0 ? kept : (struct parley_bytes){0});
}

static enum parley_status step(struct index_store *store, sqlite3_stmt *statement) {
    const int result = sqlite3_step(statement);
    const int reset = sqlite3_reset(statement);
    return note(store, result == SQLITE_DONE || result == SQLITE_ROW ? reset : result);
}

/* ---- rows ---- */

static sqlite3_int64 position(unsigned stream, uint64_t sequence) {
    return (sqlite3_int64)((uint64_t)stream << INDEX_SEQUENCE_BITS |
                           (sequence & ((UINT64_C(1) << INDEX_SEQUENCE_BITS) - 1)));
}

static enum parley_status drop(struct index_store *store, sqlite3_int64 pos) {
    static const enum statement drops[] = {DROP_MESSAGE, DROP_REFERENCES, DROP_RECEIVERS};
    for (size_t i = 0; i < sizeof drops / sizeof drops[0]; i++) {
        sqlite3_bind_int64(store->statements[drops[i]], 1, pos);
        PARLEY_TRY(step(store, store->statements[drops[i]]));
    }
    return PARLEY_OK;
}

/* Of messages that pass only the last of each agent stays. */
static enum parley_status replace_passing(struct index_store *store, const struct index_row *row,
                                          sqlite3_int64 pos) {
    const struct parley_index_entry *entry = row->entry;
    const struct parley_bytes who = entry->agent.data != NULL    ? entry->agent
                                    : entry->sender.data != NULL ? entry->sender
                                                                 : PARLEY_BYTES("");
    sqlite3_stmt *find = store->statements[FIND_PASSING], *set = store->statements[SET_PASSING];
    sqlite3_bind_int64(find, 1, row->stream);
    sqlite3_bind_int64(find, 2, row->type);
    bind_text(find, 3, who);
    const int result = sqlite3_step(find);
    const sqlite3_int64 last = result == SQLITE_ROW ? sqlite3_column_int64(find, 0) : pos;
    sqlite3_reset(find);
    PARLEY_TRY(note(store, result));
    if (last != pos) {
        PARLEY_TRY(drop(store, last));
    }
    sqlite3_bind_int64(set, 1, row->stream);
    sqlite3_bind_int64(set, 2, row->type);
    bind_text(set, 3, who);
    sqlite3_bind_int64(set, 4, pos);
    return step(store, set);
}

static bool is_of_types(const struct index_row *row, uint32_t types) {
    return row->type < 32 && (types >> row->type & 1) != 0;
}

static enum parley_status add_message(struct index_store *store, const struct index_row *row,
                                      sqlite3_int64 pos) {
    static const struct parley_index_entry nothing = {.has_more = false};
    const struct parley_index_entry *entry = row->entry != NULL ? row->entry : &nothing;
    const struct parley_protocol *protocol = parley_protocols[row->protocol];
    sqlite3_stmt *add = store->statements[ADD_MESSAGE];
    char thread[INDEX_TEXT_MAX];
    const struct parley_bytes members = {entry->members_length > 0 ? entry->members : NULL,
                                         entry->members_length};
    sqlite3_bind_int64(add, 1, pos);
    sqlite3_bind_int64(add, 2, row->stored_ms);
    sqlite3_bind_int64(add, 3, row->protocol);
    sqlite3_bind_int64(add, 4, row->type);
    bind_text(add, 5, entry->lane);
    bind_text(add, 6, entry->source);
    bind_keyed(store, add, 7, row->id);
    bind_short(add, 9, index_thread_text(protocol, entry->thread, thread));
    bind_short(add, 10, entry->sender);
    bind_text(add, 11, entry->agent);
    bind_text(add, 12, entry->time);
    bind_text(add, 13, row->subject);
    sqlite3_bind_int64(add, 14, (sqlite3_int64)row->size);
    bind_text(add, 15, row->trace);
    bind_text(add, 16, members);
    sqlite3_bind_int(add, 17, entry->has_more);
    sqlite3_bind_int(add, 18, entry->is_waiting);
    sqlite3_bind_int(add, 19,
                     row->entry != NULL && is_of_types(row, protocol->index->landmark_types));
    if (entry->part != 0) {
        sqlite3_bind_int64(add, 20, entry->part);
    } else {
        sqlite3_bind_null(add, 20);
    }
    return step(store, add);
}

static enum parley_status add_references(struct index_store *store, const struct index_row *row,
                                         sqlite3_int64 pos) {
    const struct parley_index_relation *relations =
        parley_protocols[row->protocol]->index->relations;
    sqlite3_stmt *add = store->statements[ADD_REFERENCE];
    for (size_t i = 0; i < row->entry->reference_count; i++) {
        const struct parley_index_reference *reference = &row->entry->references[i];
        sqlite3_bind_int64(add, 1, pos);
        sqlite3_bind_int64(add, 2, (sqlite3_int64)i);
        sqlite3_bind_int64(add, 3, reference->relation);
        bind_keyed(store, add, 4, reference->target);
        sqlite3_bind_int(add, 6, relations[reference->relation].is_label);
        sqlite3_bind_int64(add, 7, row->stored_ms);
        PARLEY_TRY(step(store, add));
    }
    return PARLEY_OK;
}

static enum parley_status add_receivers(struct index_store *store, const struct index_row *row,
                                        sqlite3_int64 pos) {
    sqlite3_stmt *add = store->statements[ADD_RECEIVER];
    for (size_t i = 0; i < row->entry->receiver_count; i++) {
        if (row->entry->receivers[i].length == 0) {
            continue;
        }
        sqlite3_bind_int64(add, 1, pos);
        bind_keyed(store, add, 2, row->entry->receivers[i]);
        sqlite3_bind_int64(add, 4, row->stored_ms);
        PARLEY_TRY(step(store, add));
    }
    return PARLEY_OK;
}

static enum parley_status begin(struct index_store *store) {
    return store->pending == 0 ? run(store, "BEGIN IMMEDIATE") : PARLEY_OK;
}

static enum parley_status set_reached(struct index_store *store) {
    sqlite3_stmt *set = store->statements[SET_NEXT];
    for (size_t i = 0; i < store->reached_count; i++) {
        sqlite3_bind_int64(set, 1, store->reached[i].stream);
        sqlite3_bind_int64(set, 2, (sqlite3_int64)store->reached[i].next);
        PARLEY_TRY(step(store, set));
    }
    store->reached_count = 0;
    return PARLEY_OK;
}

static enum parley_status note_reached(struct index_store *store, unsigned stream, uint64_t next) {
    size_t i = 0;
    while (i < store->reached_count && store->reached[i].stream != stream) {
        i++;
    }
    if (i == REACHED_MAX) {
        PARLEY_TRY(set_reached(store));
        i = 0;
    }
    store->reached[i] = (struct reached){.stream = stream, .next = next};
    store->reached_count = i < store->reached_count ? store->reached_count : i + 1;
    return PARLEY_OK;
}

enum parley_status index_store_add(struct index_store *store, const struct index_row *row) {
    const sqlite3_int64 pos = position(row->stream, row->sequence);
    PARLEY_TRY(begin(store));
    store->pending++;
    if (row->entry != NULL) {
        if (is_of_types(row, parley_protocols[row->protocol]->index->passing_types)) {
            PARLEY_TRY(replace_passing(store, row, pos));
        }
        PARLEY_TRY(add_references(store, row, pos));
        PARLEY_TRY(add_receivers(store, row, pos));
    }
    PARLEY_TRY(add_message(store, row, pos));
    if (row->words.length > 0) {
        PARLEY_TRY(note(store, index_words_add(&store->words, pos, row->stored_ms, row->words)));
    }
    return note_reached(store, row->stream, row->sequence + 1);
}

enum parley_status index_store_commit(struct index_store *store) {
    if (store->pending == 0) {
        return PARLEY_OK;
    }
    store->pending = 0;
    PARLEY_TRY(set_reached(store));
    return run(store, "COMMIT");
}

/* ---- streams ---- */

static enum parley_status drop_range(struct index_store *store, sqlite3_int64 from,
                                     sqlite3_int64 end) {
    static const char *const names[] = {"messages", "refs", "receivers", "passing"};
    char sql[128];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE pos>=%lld AND pos<%lld", names[i],
                 (long long)from, (long long)end);
        PARLEY_TRY(run(store, sql));
    }
    return PARLEY_OK;
}

static enum parley_status renew(struct index_store *store, unsigned number, const char *created) {
    sqlite3_stmt *set = NULL;
    PARLEY_TRY(note(store, sqlite3_prepare_v2(store->file,
                                              "UPDATE streams SET created=?2, next=1, first=1 "
                                              "WHERE stream=?1",
                                              -1, &set, NULL)));
    sqlite3_bind_int64(set, 1, number);
    sqlite3_bind_text(set, 2, created, -1, SQLITE_TRANSIENT);
    const enum parley_status status = step(store, set);
    sqlite3_finalize(set);
    return status;
}

static enum parley_status find(struct index_store *store, const char *stream, const char *created,
                               struct index_place *out, bool *out_is_same) {
    sqlite3_stmt *find = NULL;
    PARLEY_TRY(note(store, sqlite3_prepare_v2(store->file,
                                              "SELECT stream, next, created FROM streams "
                                              "WHERE name=?1",
                                              -1, &find, NULL)));
    sqlite3_bind_text(find, 1, stream, -1, SQLITE_TRANSIENT);
    const int result = sqlite3_step(find);
    *out = (struct index_place){.number = 0};
    if (result == SQLITE_ROW) {
        const char *known = (const char *)sqlite3_column_text(find, 2);
        *out = (struct index_place){.number = (unsigned)sqlite3_column_int64(find, 0),
                                    .next = (uint64_t)sqlite3_column_int64(find, 1)};
        *out_is_same = known != NULL && strcmp(known, created) == 0;
    }
    sqlite3_finalize(find);
    return note(store, result);
}

static enum parley_status create(struct index_store *store, const char *stream, unsigned protocol,
                                 const char *created) {
    sqlite3_stmt *add = NULL;
    PARLEY_TRY(note(store, sqlite3_prepare_v2(store->file,
                                              "INSERT INTO streams(name, protocol, created, next, "
                                              "first) VALUES(?1,?2,?3,1,1)",
                                              -1, &add, NULL)));
    sqlite3_bind_text(add, 1, stream, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(add, 2, protocol);
    sqlite3_bind_text(add, 3, created, -1, SQLITE_TRANSIENT);
    const enum parley_status status = step(store, add);
    sqlite3_finalize(add);
    return status;
}

/* ---- retention ---- */

/* The end of the oldest `count` rows before `end`, or `end`. */
static enum parley_status find_end(struct index_store *store, sqlite3_int64 from, sqlite3_int64 end,
                                   size_t count, sqlite3_int64 *out) {
    sqlite3_stmt *find = NULL;
    PARLEY_TRY(note(store, sqlite3_prepare_v2(store->file,
                                              "SELECT pos FROM messages WHERE pos>=?1 AND pos<?2 "
                                              "ORDER BY pos LIMIT 1 OFFSET ?3",
                                              -1, &find, NULL)));
    sqlite3_bind_int64(find, 1, from);
    sqlite3_bind_int64(find, 2, end);
    sqlite3_bind_int64(find, 3, (sqlite3_int64)count);
    const int result = sqlite3_step(find);
    *out = result == SQLITE_ROW ? sqlite3_column_int64(find, 0) : end;
    sqlite3_finalize(find);
    return note(store, result);
}

enum parley_status index_store_prune(struct index_store *store, unsigned stream, uint64_t first,
                                     size_t count, bool *out_left) {
    const sqlite3_int64 from = position(stream, 0), before = from + (sqlite3_int64)first;
    sqlite3_int64 end;
    char sql[128];
    PARLEY_TRY(index_store_commit(store));
    PARLEY_TRY(find_end(store, from, before, count, &end));
    *out_left = end < before;
    PARLEY_TRY(run(store, "BEGIN IMMEDIATE"));
    PARLEY_TRY(drop_range(store, from, end));
    PARLEY_TRY(note(store, index_words_drop(&store->words, from, end)));
    snprintf(sql, sizeof sql, "UPDATE streams SET first=%llu WHERE stream=%u AND first<%llu",
             (unsigned long long)(uint64_t)(end - from), stream,
             (unsigned long long)(uint64_t)(end - from));
    PARLEY_TRY(run(store, sql));
    return run(store, "COMMIT");
}

/* ---- places ---- */

enum parley_status index_store_place(struct index_store *store, const char *stream,
                                     unsigned protocol, const char *created, size_t count,
                                     struct index_place *out) {
    bool is_same = true;
    PARLEY_TRY(index_store_commit(store));
    PARLEY_TRY(find(store, stream, created, out, &is_same));
    if (out->number == 0) {
        PARLEY_TRY(create(store, stream, protocol, created));
        PARLEY_TRY(find(store, stream, created, out, &is_same));
    }
    if (is_same) {
        return PARLEY_OK;
    }
    out->next = 1;
    PARLEY_TRY(index_store_prune(store, out->number, UINT64_C(1) << INDEX_SEQUENCE_BITS, count,
                                 &out->is_left));
    return out->is_left ? PARLEY_OK : renew(store, out->number, created);
}

enum parley_status index_store_first(struct index_store *store, unsigned stream, uint64_t *out) {
    sqlite3_int64 pos;
    PARLEY_TRY(find_end(store, position(stream, 0), position(stream + 1, 0), 0, &pos));
    *out = pos < position(stream + 1, 0) ? (uint64_t)(pos - position(stream, 0)) : 0;
    return PARLEY_OK;
}

uint64_t index_store_bytes(struct index_store *store) {
    static const char sql[] =
        "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, "
        "pragma_freelist_count, pragma_page_size";
    sqlite3_stmt *statement = NULL;
    uint64_t bytes = 0;
    if (sqlite3_prepare_v2(store->file, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        bytes = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    return bytes;
}
