/* SPDX-License-Identifier: Apache-2.0 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "index_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "stored_headers.h"

enum { IN_A_SECOND = 3, FIRST_S = 1767225600 /* 2026-01-01 */, NS_A_S = 1000000000 };

static struct {
    char folder[64];
    struct parley_arena arena;
    struct parley_schema *schema;
    struct index_store *store;
    struct index_reader reader;
    struct index_place stream;
    const char *name; /* of the stream */
    unsigned protocol;
    uint64_t sequence;
    unsigned seed;
} its;

int index_fixture_open(unsigned protocol) {
    const struct channel *channels;
    char error[INDEX_ERROR_MAX];
    bool is_new;
    memset(&its, 0, sizeof its);
    snprintf(its.folder, sizeof its.folder, "/tmp/parley-index-XXXXXX");
    its.protocol = protocol;
    if (sodium_init() < 0 || mkdtemp(its.folder) == NULL ||
        channels_create(NULL, &its.arena, &channels, error) != PARLEY_OK ||
        index_store_open(its.folder, &its.store, &is_new, error) != PARLEY_OK ||
        parley_schema_create(channels[protocol].protocol, &its.schema) != PARLEY_OK) {
        return -1;
    }
    index_reader_init(&its.reader, its.schema, &channels[protocol]);
    its.name = channels[protocol].stream;
    const enum parley_status status =
        index_store_place(its.store, its.name, protocol, "now", 1, &its.stream);
    return status == PARLEY_OK ? 0 : -1;
}

int index_fixture_close(void) {
    index_reader_finish(&its.reader);
    parley_schema_destroy(its.schema);
    index_store_close(its.store);
    parley_arena_finish(&its.arena);
    index_file_remove(its.folder);
    return rmdir(its.folder);
}

void index_fixture_store(const char *subject, const char *id, const char *text) {
    const struct jetstream_header headers[] = {{.name = STORED_ID_HEADER, .value = id},
                                               {.name = NULL}};
    struct index_row row;
    its.sequence++;
    const struct jetstream_stored stored = {
        .sequence = its.sequence,
        .time_ns = (int64_t)(FIRST_S + its.sequence / IN_A_SECOND) * NS_A_S,
        .subject = subject != NULL ? subject : "x",
        .payload = parley_bytes_of(text),
        .known = headers};
    assert_int_equal(index_reader_read(&its.reader, its.stream.number, &stored, &row), PARLEY_OK);
    if (row.type == INDEX_TYPE_FOREIGN) {
        fail_msg("not valid: %s", text);
    }
    assert_int_equal(index_store_add(its.store, &row), PARLEY_OK);
}

void index_fixture_commit(void) {
    assert_int_equal(index_store_commit(its.store), PARLEY_OK);
}

void index_fixture_prune(uint64_t first) {
    bool is_left = true;
    while (is_left) {
        assert_int_equal(index_store_prune(its.store, its.stream.number, first, 1000, &is_left),
                         PARLEY_OK);
    }
}

void index_fixture_renew(const char *created) {
    its.sequence = 0;
    do {
        assert_int_equal(
            index_store_place(its.store, its.name, its.protocol, created, 1000, &its.stream),
            PARLEY_OK);
    } while (its.stream.is_left);
}

uint64_t index_fixture_last(void) {
    return its.sequence;
}

struct index_question index_fixture_question(const char *view) {
    return (struct index_question){.view = index_view_find(view),
                                   .protocol = its.protocol,
                                   .readable = UINT64_C(1) << its.protocol,
                                   .until_ms = INT64_MAX,
                                   .limit = INDEX_LIMIT_MAX};
}

enum index_answered index_fixture_answer(const struct index_question *question,
                                         struct index_places *places, struct parley_buffer *out) {
    char progress[INDEX_PROGRESS_MAX];
    sqlite3 *file = index_file_read(its.folder);
    struct index_question asked = *question;
    parley_buffer_clear(out);
    assert_non_null(file);
    if (!index_question_cursor(&asked)) {
        asked = *question; /* without the name of the list, as parley itself asks */
    }
    const enum index_answered answered = index_view_answer(file, &asked, out, places, progress);
    sqlite3_close(file);
    return answered;
}

void index_fixture_ask(const struct index_question *question, struct index_places *places,
                       struct parley_buffer *out) {
    assert_int_equal(index_fixture_answer(question, places, out), INDEX_ANSWERED);
    parley_buffer_char(out, '\0');
    assert_false(out->has_failed);
}

size_t index_fixture_count(const char *text, const char *part) {
    size_t found = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        found++;
    }
    return found;
}

void index_fixture_seed(unsigned seed) {
    its.seed = seed;
}

int index_fixture_chance(int count) {
    its.seed = its.seed * 1103515245U + 12345U;
    return (int)(its.seed >> 16) % count;
}
