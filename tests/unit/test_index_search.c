/* SPDX-License-Identifier: Apache-2.0 */

/* Search of words: random messages of two streams over several days are found as a model finds them
 * that compares words, also after some were pruned; whatever is searched for is not an error of
 * SQLite; and words of what is gone go with it. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>
#include <sqlite3.h>

#include "index_search.h"
#include "index_store.h"
#include "index_view.h"

enum { VLP = 0, SUPERVISOR = 2, STREAMS = 2, MESSAGES = 600, TEXT_WORDS = 5, DAY_S = 86400 };

static const char *const names[STREAMS] = {"VLP", "VLP_OLD"};
static const char *const vocabulary[] = {
    "Warm", "cold", "wet", "dry", "assay", "h2", "\xC3\xA9t\xC3\xA9"};
enum { VOCABULARY = sizeof vocabulary / sizeof vocabulary[0] };

static char folder[64];
static uint64_t first_left[STREAMS]; /* of the model */

/* ---- random messages ---- */

static unsigned random_of(uint64_t seed, unsigned below) {
    uint64_t x = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    x = (x ^ (x >> 31)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 29)) * UINT64_C(0x94D049BB133111EB);
    return (unsigned)((x ^ (x >> 32)) % below);
}

static const char *word_of(size_t number, size_t place) {
    return vocabulary[random_of(number * 100 + place, VOCABULARY)];
}

/* Message `number` is number / STREAMS + 1 of its stream; 100 of each a day. */
static int64_t stored_ms(size_t number) {
    return (1767225600 + (int64_t)number * (DAY_S / 200)) * 1000;
}

static void add(struct index_store *store, const struct index_place places[STREAMS],
                size_t number) {
    static const struct parley_index_entry entry = {
        .type = {"vlp.claim", 9}, .lane = {"safe", 4}, .sender = {"Ann", 3}};
    char text[128] = "", id[24];
    for (size_t i = 0; i < TEXT_WORDS; i++) {
        strcat(text, word_of(number, i));
        strcat(text, i % 2 == 0 ? ", " : "-");
    }
    snprintf(id, sizeof id, "M%zu", number);
    const struct index_row row = {.stream = places[number % STREAMS].number,
                                  .sequence = number / STREAMS + 1,
                                  .stored_ms = stored_ms(number),
                                  .protocol = VLP,
                                  .id = parley_bytes_of(id),
                                  .subject = PARLEY_BYTES("vlp.safe.claim"),
                                  .words = parley_bytes_of(text),
                                  .size = 1,
                                  .entry = &entry};
    assert_int_equal(index_store_add(store, &row), PARLEY_OK);
}

static struct index_store *open_store(bool has_words, bool *out_is_lacking) {
    struct index_store *store;
    char error[INDEX_ERROR_MAX];
    bool is_new;
    assert_int_equal(index_store_open(folder, &store, &is_new, error), PARLEY_OK);
    assert_int_equal(index_store_keep_words(store, has_words, out_is_lacking), PARLEY_OK);
    return store;
}

static void find_places(struct index_store *store, struct index_place places[STREAMS],
                        const char *created) {
    for (unsigned i = 0; i < STREAMS; i++) {
        assert_int_equal(index_store_place(store, names[i], VLP, created, MESSAGES, &places[i]),
                         PARLEY_OK);
    }
}

static void write_messages(void) {
    struct index_place places[STREAMS];
    bool is_lacking;
    struct index_store *store = open_store(true, &is_lacking);
    assert_false(is_lacking);
    find_places(store, places, "now");
    for (size_t i = 0; i < MESSAGES; i++) {
        add(store, places, i);
        if (random_of(i, 7) == 0) {
            assert_int_equal(index_store_commit(store), PARLEY_OK);
        }
        if (i == MESSAGES / 3) { /* a restart */
            assert_int_equal(index_store_commit(store), PARLEY_OK);
            index_store_close(store);
            store = open_store(true, &is_lacking);
        }
    }
    assert_int_equal(index_store_commit(store), PARLEY_OK);
    index_store_close(store);
}

static int set_up(void **state) {
    (void)state;
    first_left[0] = first_left[1] = 1;
    snprintf(folder, sizeof folder, "/tmp/parley-search-XXXXXX");
    return sodium_init() < 0 || mkdtemp(folder) == NULL ? -1 : 0;
}

static int tear_down(void **state) {
    (void)state;
    index_file_remove(folder);
    return rmdir(folder);
}

/* ---- asking ---- */

static enum index_answered ask(const struct index_question *question, struct parley_buffer *out) {
    char progress[INDEX_PROGRESS_MAX];
    sqlite3 *file = index_file_read(folder);
    parley_buffer_clear(out);
    const enum index_answered answered = index_view_answer(file, question, out, NULL, progress);
    parley_buffer_char(out, '\0');
    sqlite3_close(file);
    return answered;
}

static struct index_question question_of(const char *q) {
    struct index_question question = {.view = index_view_find("messages"),
                                      .protocol = VLP,
                                      .readable = 1,
                                      .until_ms = INT64_MAX,
                                      .limit = INDEX_LIMIT_MAX,
                                      .has_words = true};
    question.values[INDEX_WORDS] = q;
    return question;
}

/* Appends the ids of all pages, each with a blank after it. */
static void ids_of(struct index_question question, struct parley_buffer *out) {
    static const char id[] = "\"id\":\"", next[] = "\"next\":\"";
    struct parley_buffer page;
    char cursor[320] = "";
    parley_buffer_init(&page);
    parley_buffer_clear(out);
    do {
        question.values[INDEX_CURSOR] = cursor[0] != '\0' ? cursor : NULL;
        assert_true(index_question_cursor(&question) == (cursor[0] != '\0'));
        assert_int_equal(ask(&question, &page), INDEX_ANSWERED);
        size_t count = 0;
        for (const char *at = page.data; (at = strstr(at, id)) != NULL; count++) {
            at += sizeof id - 1;
            parley_buffer_append(out, (struct parley_bytes){at, strcspn(at, "\"")});
            parley_buffer_char(out, ' ');
        }
        assert_true(count <= question.limit);
        const char *at = strstr(page.data, next);
        at = at != NULL ? at + sizeof next - 1 : "";
        snprintf(cursor, sizeof cursor, "%.*s", (int)strcspn(at, "\""), at);
    } while (cursor[0] != '\0');
    parley_buffer_char(out, '\0');
    parley_buffer_finish(&page);
}

/* ---- the model ---- */

/* What is searched for: word numbers, one after the other (a phrase), or in any place. */
struct wanted {
    const char *q;
    size_t words[3], count;
    bool is_phrase;
};

static bool has_at(size_t number, const struct wanted *wanted, size_t place) {
    for (size_t i = 0; i < wanted->count; i++) {
        if (place + i >= TEXT_WORDS || word_of(number, place + i) != vocabulary[wanted->words[i]]) {
            return false;
        }
    }
    return true;
}

static bool model_has(size_t number, const struct wanted *wanted) {
    size_t found = 0;
    if (number / STREAMS + 1 < first_left[number % STREAMS]) {
        return false;
    }
    for (size_t place = 0; wanted->is_phrase && place < TEXT_WORDS; place++) {
        if (has_at(number, wanted, place)) {
            return true;
        }
    }
    for (size_t i = 0; !wanted->is_phrase && i < wanted->count; i++) {
        bool is_there = false;
        for (size_t place = 0; place < TEXT_WORDS; place++) {
            is_there = is_there || word_of(number, place) == vocabulary[wanted->words[i]];
        }
        found += is_there ? 1 : 0;
    }
    return !wanted->is_phrase && found == wanted->count;
}

static const struct wanted all_wanted[] = {
    {"warm", {0}, 1, false},
    {"WARM", {0}, 1, false},
    {"ete", {6}, 1, false},
    {" cold  wet ", {1, 2}, 2, false},
    {"\"cold wet\"", {1, 2}, 2, true},
    {"cold-wet", {1, 2}, 2, true},
    {"\"cold, wet: dry!", {1, 2, 3}, 3, true},
    {"h2 ... assay", {5, 4}, 2, false},
    {"\"h2\"assay", {5, 4}, 2, false},
    {"wet \"\" * cold", {2, 1}, 2, false},
};

static void compare(struct index_question question, const struct wanted *wanted) {
    struct parley_buffer found, model;
    parley_buffer_init(&found);
    parley_buffer_init(&model);
    for (size_t i = 0; i < MESSAGES; i++) {
        if (stored_ms(i) >= question.since_ms && stored_ms(i) <= question.until_ms &&
            model_has(i, wanted)) {
            parley_buffer_format(&model, "M%zu ", i);
        }
    }
    parley_buffer_char(&model, '\0');
    ids_of(question, &found);
    if (strcmp(found.data, model.data) != 0) {
        fail_msg("%s: %s instead of %s", wanted->q, found.data, model.data);
    }
    parley_buffer_finish(&found);
    parley_buffer_finish(&model);
}

static void compare_all(void) {
    static const size_t limits[] = {1000, 7, 1};
    for (size_t i = 0; i < sizeof all_wanted / sizeof all_wanted[0]; i++) {
        struct index_question question = question_of(all_wanted[i].q);
        question.limit = limits[i % 3];
        compare(question, &all_wanted[i]);
        question.since_ms = stored_ms(77 + i * 40);
        compare(question, &all_wanted[i]);
        question.until_ms = stored_ms(300 + i * 30);
        compare(question, &all_wanted[i]);
    }
}

static size_t count_of(const char *sql) {
    sqlite3 *file = index_file_read(folder);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(file, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const size_t count = (size_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(file);
    return count;
}

#define ALL_TABLES "SELECT count(*) FROM sqlite_master WHERE name LIKE 'words%'"
#define PARTS "SELECT count(*) FROM words"

static void test_messages_are_found_as_by_comparing_words(void **state) {
    (void)state;
    write_messages();
    assert_int_equal(count_of(PARTS), 2 * 3); /* days */
    compare_all();
}

static void prune(size_t stream, uint64_t first) {
    struct index_place places[STREAMS];
    bool is_lacking, is_left = true;
    struct index_store *store = open_store(true, &is_lacking);
    find_places(store, places, "now");
    while (is_left) {
        assert_int_equal(index_store_prune(store, places[stream].number, first, 13, &is_left),
                         PARLEY_OK);
    }
    index_store_close(store);
    first_left[stream] = first;
}

static void test_what_was_pruned_is_not_found_and_its_day_goes_with_its_last_message(void **state) {
    (void)state;
    static const struct {
        size_t stream, first, parts;
    } steps[] = {{0, 50, 6}, {0, 101, 5}, {1, 101, 4}, {1, 250, 3}, {0, 1000, 1}, {1, 1000, 0}};
    write_messages();
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        prune(steps[i].stream, steps[i].first);
        assert_int_equal(count_of(PARTS), steps[i].parts);
        compare_all();
    }
    assert_int_equal(count_of(ALL_TABLES), 1);
}

/* Its messages have the places of old ones. */
static void test_a_stream_that_was_created_again_has_none_of_the_old_words(void **state) {
    (void)state;
    struct index_place places[STREAMS];
    struct parley_buffer out;
    bool is_lacking;
    write_messages();
    struct index_store *store = open_store(true, &is_lacking);
    find_places(store, places, "later");
    for (size_t i = 0; i < 4; i++) {
        add(store, places, i);
    }
    assert_int_equal(index_store_commit(store), PARLEY_OK);
    index_store_close(store);
    parley_buffer_init(&out);
    for (size_t i = 0; i < VOCABULARY; i++) {
        struct parley_buffer wanted;
        const struct wanted one = {vocabulary[i], {i}, 1, false};
        parley_buffer_init(&wanted);
        for (size_t j = 0; j < 4; j++) {
            if (model_has(j, &one)) {
                parley_buffer_format(&wanted, "M%zu ", j);
            }
        }
        parley_buffer_char(&wanted, '\0');
        ids_of(question_of(vocabulary[i]), &out);
        assert_string_equal(out.data, wanted.data);
        parley_buffer_finish(&wanted);
    }
    parley_buffer_finish(&out);
}

static void test_a_file_without_words_is_made_again_and_one_with_words_forgets_them(void **state) {
    (void)state;
    struct parley_buffer out;
    const struct index_question question = question_of("warm");
    bool is_lacking;
    parley_buffer_init(&out);
    write_messages();
    index_store_close(open_store(false, &is_lacking));
    assert_false(is_lacking);
    assert_int_equal(count_of(ALL_TABLES), 0);
    assert_int_equal(count_of("SELECT count(*) FROM messages"), MESSAGES);
    assert_int_equal(ask(&question, &out), INDEX_BROKEN); /* it is made again */
    struct index_question unasked = question;
    unasked.has_words = false;
    assert_int_equal(ask(&unasked, &out), INDEX_NO_WORDS);
    index_store_close(open_store(true, &is_lacking));
    assert_true(is_lacking);
    assert_true(index_file_remove(folder));
    index_store_close(open_store(true, &is_lacking));
    assert_false(is_lacking);
    assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
    parley_buffer_finish(&out);
}

/* ---- what is searched for ---- */

/* Any file has FTS5. */
static sqlite3 *memory;

static int open_memory(void **state) {
    (void)state;
    return sqlite3_open(":memory:", &memory);
}

static int close_memory(void **state) {
    (void)state;
    return sqlite3_close(memory);
}

static void test_words_and_phrases_are_put_in_quotes(void **state) {
    (void)state;
    static const struct {
        const char *q, *wanted; /* NULL: refused */
    } rows[] = {
        {"one two", "\"one\" \"two\""},
        {"\"one two\" three", "\"one two\" \"three\""},
        {"a:b AND NOT (c* OR ^d) -e", "\"a:b\" \"AND\" \"NOT\" \"(c*\" \"OR\" \"^d)\" \"-e\""},
        {"\"open one", "\"open one\""},
        {"one\"two three\"four", "\"one\" \"two three\" \"four\""},
        {"\xC3\xA9", "\"\xC3\xA9\""},
        {"\xE4\xBA\xAC one\xF0\x9F\x98\x80", "\"\xE4\xBA\xAC\" \"one\xF0\x9F\x98\x80\""},
        {"one \xF0\x9F\x98\x80 \"\xE2\x82\xAC\"", "\"one\""},
        {"\xF0\x9F\x98\x80", NULL}, /* U+1F600 */
        {"\xE2\x80\x94 \xC2\xB1 \"\xE2\x9C\x93\"", NULL},
        {"", NULL},
        {" \" \" ", NULL},
        {"* -- ...", NULL},
        {"\"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_buffer out;
        parley_buffer_init(&out);
        assert_int_equal(index_search_expression(memory, rows[i].q, &out), rows[i].wanted != NULL);
        parley_buffer_char(&out, '\0');
        assert_string_equal(out.data, rows[i].wanted != NULL ? rows[i].wanted : "");
        parley_buffer_finish(&out);
    }
}

static void test_too_much_is_refused(void **state) {
    (void)state;
    char text[1100] = "";
    struct parley_buffer out;
    for (size_t count = 1; count <= 33; count++) {
        strcat(text, "w ");
        parley_buffer_init(&out);
        assert_int_equal(index_search_expression(memory, text, &out), count <= 32);
        parley_buffer_finish(&out);
    }
    memset(text, 'w', 1025);
    parley_buffer_init(&out);
    text[1025] = '\0';
    assert_false(index_search_expression(memory, text, &out));
    text[1024] = '\0';
    assert_true(index_search_expression(memory, text, &out));
    parley_buffer_finish(&out);
}

static void test_whatever_is_searched_for_is_no_error_of_sqlite(void **state) {
    (void)state;
    static const char characters[] = "\"\"\"  *^:-+(){},.'\\ANDORTEw2\xC3\xA9\xF0\x9F\x98\x80";
    struct parley_buffer out;
    parley_buffer_init(&out);
    write_messages();
    for (uint64_t i = 0; i < 2000; i++) {
        char q[40];
        const size_t length = 1 + random_of(i, sizeof q - 2);
        for (size_t j = 0; j < length; j++) {
            q[j] = characters[random_of(i * 64 + j, sizeof characters - 1)];
        }
        q[length] = '\0';
        const struct index_question question = question_of(q);
        const enum index_answered answered = ask(&question, &out);
        if (answered != INDEX_ANSWERED && answered != INDEX_BAD_WORDS) {
            fail_msg("%s: %d", q, (int)answered);
        }
    }
    parley_buffer_finish(&out);
}

static void test_protocols_without_text_say_so(void **state) {
    (void)state;
    struct parley_buffer out;
    struct index_question question = question_of("warm");
    parley_buffer_init(&out);
    write_messages();
    question.protocol = SUPERVISOR;
    question.readable = 1 << SUPERVISOR;
    assert_int_equal(ask(&question, &out), INDEX_WORDLESS);
    parley_buffer_finish(&out);
}

/* ---- plans ---- */

static void read_plan(sqlite3 *file, const char *sql, char out[512]) {
    char text[1024];
    sqlite3_stmt *statement;
    snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", sql);
    assert_int_equal(sqlite3_prepare_v2(file, text, -1, &statement, NULL), SQLITE_OK);
    out[0] = '\0';
    while (sqlite3_step(statement) == SQLITE_ROW) {
        strcat(strcat(out, (const char *)sqlite3_column_text(statement, 3)), "\n");
    }
    sqlite3_finalize(statement);
}

static void test_every_question_uses_an_index_and_sorts_nothing(void **state) {
    (void)state;
    char plan[512], sql[INDEX_SEARCH_SQL_MAX];
    write_messages();
    sqlite3 *file = index_file_read(folder);
    read_plan(file, index_search_statements[0], plan);
    assert_string_equal(plan, "SEARCH words USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)\n");
    index_search_sql((INT64_C(1) << INDEX_SEQUENCE_BITS) + 1, sql);
    read_plan(file, sql, plan);
    assert_non_null(strstr(plan, " VIRTUAL TABLE INDEX "));
    assert_non_null(strstr(plan, "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)\n"));
    assert_null(strstr(plan, "B-TREE"));
    sqlite3_close(file);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_messages_are_found_as_by_comparing_words),
        TEST(test_what_was_pruned_is_not_found_and_its_day_goes_with_its_last_message),
        TEST(test_a_stream_that_was_created_again_has_none_of_the_old_words),
        TEST(test_a_file_without_words_is_made_again_and_one_with_words_forgets_them),
        cmocka_unit_test(test_words_and_phrases_are_put_in_quotes),
        cmocka_unit_test(test_too_much_is_refused),
        TEST(test_whatever_is_searched_for_is_no_error_of_sqlite),
        TEST(test_protocols_without_text_say_so),
        TEST(test_every_question_uses_an_index_and_sorts_nothing),
    };
    return cmocka_run_group_tests(tests, open_memory, close_memory);
}
