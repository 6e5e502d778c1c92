/* SPDX-License-Identifier: Apache-2.0 */

/* The views of the index: each of their questions uses an index of the file and sorts nothing;
 * pages follow each other without gaps; and private messages are their agent's. */

#include <stdarg.h>
#include <stdatomic.h>
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

#include "index_message.h"
#include "index_view.h"

enum { VLP, ROUNDTABLE, SUPERVISOR, BRENNER, STREAMS, ROUNDS = 50 };

static char folder[64];
static sqlite3 *file;

/* ---- an index of all examples, again and again ---- */

static void add(struct index_store *store, struct index_reader *reader, unsigned stream,
                uint64_t sequence, const char *text) {
    struct index_row row;
    char subject[64];
    snprintf(subject, sizeof subject, "%s.agent-7.gerbil.checkpoint", reader->channel->name);
    const struct jetstream_stored stored = {.sequence = sequence,
                                            .time_ns =
                                                (int64_t)(1767225600 + sequence / 3) * 1000000000,
                                            .subject = subject,
                                            .payload = parley_bytes_of(text)};
    assert_int_equal(index_reader_read(reader, stream, &stored, &row), PARLEY_OK);
    assert_int_equal(index_store_add(store, &row), PARLEY_OK);
}

static void add_examples(struct index_store *store, const struct channel *channel,
                         unsigned protocol) {
    struct parley_schema *schema;
    struct index_reader reader;
    struct index_place place;
    uint64_t sequence = 0;
    assert_int_equal(parley_schema_create(channel->protocol, &schema), PARLEY_OK);
    index_reader_init(&reader, schema, channel);
    assert_int_equal(index_store_place(store, channel->stream, protocol, "now", 1, &place),
                     PARLEY_OK);
    for (size_t round = 0; round < ROUNDS; round++) {
        const struct parley_example *example = channel->protocol->examples;
        for (; example->name != NULL; example++) {
            add(store, &reader, place.number, ++sequence, example->text);
        }
    }
    assert_int_equal(index_store_commit(store), PARLEY_OK);
    index_reader_finish(&reader);
    parley_schema_destroy(schema);
}

static int set_up(void **state) {
    struct parley_arena arena = {0};
    const struct channel *channels;
    struct index_store *store;
    char error[INDEX_ERROR_MAX];
    bool is_new;
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/parley-view-XXXXXX");
    if (sodium_init() < 0 || mkdtemp(folder) == NULL ||
        channels_create(NULL, &arena, &channels, error) != PARLEY_OK ||
        index_store_open(folder, &store, &is_new, error) != PARLEY_OK) {
        return -1;
    }
    for (unsigned i = 0; i < STREAMS; i++) {
        add_examples(store, &channels[i], i);
    }
    index_store_close(store);
    parley_arena_finish(&arena);
    file = index_file_read(folder);
    return file != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    sqlite3_close(file);
    index_file_remove(folder);
    return rmdir(folder);
}

/* ---- asking ---- */

static struct index_question question_of(const char *view, unsigned protocol) {
    return (struct index_question){.view = index_view_find(view),
                                   .protocol = protocol,
                                   .readable = UINT64_C(1) << protocol,
                                   .until_ms = INT64_MAX,
                                   .limit = INDEX_LIMIT_MAX};
}

static enum index_answered ask(const struct index_question *question, struct parley_buffer *out) {
    char progress[INDEX_PROGRESS_MAX];
    parley_buffer_clear(out);
    const enum index_answered answered = index_view_answer(file, question, out, NULL, progress);
    parley_buffer_char(out, '\0');
    return answered;
}

static size_t count(const char *text, const char *part) {
    size_t found = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        found++;
    }
    return found;
}

/* The text of the member, until the next quote. */
static void read_member(const char *text, const char *member, char out[320]) {
    const char *at = strstr(text, member);
    out[0] = '\0';
    if (at != NULL) {
        at += strlen(member);
        snprintf(out, 320, "%.*s", (int)strcspn(at, "\""), at);
    }
}

static void test_every_question_uses_an_index_and_sorts_nothing(void **state) {
    (void)state;
    size_t asked = 0;
    for (const struct index_view *view = index_views; view->name != NULL; view++) {
        for (const char *const *sql = view->statements; *sql != NULL; sql++, asked++) {
            char text[2048];
            sqlite3_stmt *statement;
            snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", *sql);
            assert_int_equal(sqlite3_prepare_v2(file, text, -1, &statement, NULL), SQLITE_OK);
            while (sqlite3_step(statement) == SQLITE_ROW) {
                const char *plan = (const char *)sqlite3_column_text(statement, 3);
                if (strncmp(plan, "SEARCH", 6) != 0) {
                    fail_msg("%s: %s: %s", view->name, *sql, plan);
                }
            }
            sqlite3_finalize(statement);
        }
    }
    assert_true(asked > 10);
}

static void test_every_parameter_is_known(void **state) {
    (void)state;
    for (const struct index_view *view = index_views; view->name != NULL; view++) {
        for (size_t i = 0; view->options[i].name != NULL; i++) {
            assert_true(index_option_of(view->options[i].name) < INDEX_OPTION_COUNT);
        }
        assert_ptr_equal(index_view_find(view->name), view);
    }
    assert_int_equal(index_option_of("x"), INDEX_OPTION_COUNT);
}

/* How many messages each question finds. */
static const struct {
    unsigned protocol;
    enum index_option option;
    const char *value;
    size_t rounds; /* times ROUNDS */
} rows[] = {
    {VLP, INDEX_ID, "MSG-claim-001", 1},
    {VLP, INDEX_ID, "not there", 0},
    {VLP, INDEX_ID, "550e8400-e29b-41d4-a716-446655440000", 0}, /* of another protocol */
    {VLP, INDEX_TYPE, "claim", 1},
    {VLP, INDEX_TYPE, "vlp.claim", 1},
    {VLP, INDEX_REFERS_TO, "MSG-claim-001", 2},
    {ROUNDTABLE, INDEX_THREAD, "550E8400-e29b-41d4-a716-446655440000", 4},
    {ROUNDTABLE, INDEX_ID, "550E8400-e29b-41d4-a716-446655440000", 1},
    {ROUNDTABLE, INDEX_SENDER, "tim", 2},
    {ROUNDTABLE, INDEX_RECEIVER, "tim", 2},
    {SUPERVISOR, INDEX_REFERS_TO, "550e8400-e29b-41d4-a716-446655440000", 3},
    {BRENNER, INDEX_RECEIVER, "BlueMountain", 4},
    {BRENNER, INDEX_REFERS_TO, "1043", 1},
    {BRENNER, INDEX_KEYWORD, "brenner_bot-5so.3.4.2", 2},
};

static void test_each_parameter_finds_its_messages(void **state) {
    (void)state;
    struct parley_buffer out;
    parley_buffer_init(&out);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct index_question question = question_of("messages", rows[i].protocol);
        question.values[rows[i].option] = rows[i].value;
        assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
        const size_t found = count(out.data, "\"specversion\"");
        if (found != rows[i].rounds * ROUNDS) {
            fail_msg("%s: %zu: %.300s", rows[i].value, found, out.data);
        }
        /* Another parameter, by which nothing more is left out. */
        question.values[INDEX_SENDER] = "nobody";
        assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
        assert_int_equal(count(out.data, "\"specversion\""), 0);
    }
    parley_buffer_finish(&out);
}

static size_t walk(struct index_question question, const char *item) {
    struct parley_buffer out;
    char cursor[320] = "";
    size_t found = 0;
    parley_buffer_init(&out);
    do {
        question.values[INDEX_CURSOR] = cursor[0] != '\0' ? cursor : NULL;
        assert_true(index_question_cursor(&question) == (cursor[0] != '\0'));
        assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
        const size_t items = count(out.data, item);
        assert_true(items <= question.limit);
        found += items;
        read_member(out.data, "\"next\":\"", cursor);
    } while (cursor[0] != '\0');
    parley_buffer_finish(&out);
    return found;
}

static void test_pages_follow_each_other_without_gaps(void **state) {
    static const size_t limits[] = {1, 7, 100};
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct index_question question = question_of("messages", BRENNER);
        question.limit = limits[i];
        assert_int_equal(walk(question, "\"specversion\""), 10 * ROUNDS);
        question.values[INDEX_THREAD] = "brenner_bot-5so.3.4.2";
        assert_int_equal(walk(question, "\"specversion\""), 2 * ROUNDS);
        question.values[INDEX_THREAD] = NULL;
        question.values[INDEX_RECEIVER] = "Operator";
        assert_int_equal(walk(question, "\"specversion\""), 4 * ROUNDS);
        question = question_of("threads", BRENNER);
        question.limit = limits[i];
        assert_int_equal(walk(question, "{\"thread\""), 4);
        question = question_of("senders", BRENNER);
        question.limit = limits[i];
        assert_int_equal(walk(question, "{\"sender\""), 4);
    }
}

static void test_a_cursor_begins_with_the_name_of_its_list(void **state) {
    static const struct {
        const char *view;
        unsigned protocol;
        const char *cursor, *rest; /* NULL: it is of another list */
    } cursors[] = {{"messages", VLP, "vlp.messages:1:2:VLP", "1:2:VLP"},
                   {"messages", BRENNER, "vlp.messages:1:2:VLP", NULL},
                   {"acks", BRENNER, "brenner.messages:1:2:BRENNER", NULL},
                   {"acks", BRENNER, "brenner.acks:1/1:2:BRENNER", "1/1:2:BRENNER"},
                   {"trace", 0, "trace:x", "x"},
                   {"threads", VLP, "vlp.threads:", ""},
                   {"threads", VLP, "vlp.threads", NULL},
                   {"threads", VLP, "RS-1", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cursors / sizeof cursors[0]; i++) {
        struct index_question question = question_of(cursors[i].view, cursors[i].protocol);
        question.values[INDEX_CURSOR] = cursors[i].cursor;
        assert_int_equal(index_question_cursor(&question), cursors[i].rest != NULL);
        if (cursors[i].rest != NULL) {
            assert_string_equal(question.values[INDEX_CURSOR], cursors[i].rest);
        }
    }
}

static void test_a_cursor_that_names_no_place_is_refused(void **state) {
    (void)state;
    static const char *const cursors[] = {"x", "1:2", "1:2:NOPE", "::", "1:99999999999999999:VLP"};
    struct parley_buffer out;
    parley_buffer_init(&out);
    for (size_t i = 0; i < sizeof cursors / sizeof cursors[0]; i++) {
        struct index_question question = question_of("messages", VLP);
        question.values[INDEX_CURSOR] = cursors[i];
        assert_int_equal(ask(&question, &out), INDEX_BAD_CURSOR);
    }
    parley_buffer_finish(&out);
}

static void test_private_messages_are_those_of_their_agent(void **state) {
    (void)state;
    struct parley_buffer out;
    struct index_question question = question_of("messages", SUPERVISOR);
    parley_buffer_init(&out);
    question.values[INDEX_TYPE] = "wal_entry";
    question.own = "agent-7";
    assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
    assert_int_equal(count(out.data, "\"specversion\""), ROUNDS);
    question.own = "agent-8";
    assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
    assert_int_equal(count(out.data, "\"specversion\""), 0);
    question.values[INDEX_TYPE] = "shutdown";
    assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
    assert_int_equal(count(out.data, "\"specversion\""), ROUNDS);
    parley_buffer_finish(&out);
}

/* The id of a task, to which checkpoints of another protocol refer, too. */
static void test_a_trace_spans_the_protocols_that_may_be_read(void **state) {
    (void)state;
    struct parley_buffer out;
    struct index_question question = question_of("trace", 0);
    parley_buffer_init(&out);
    question.values[INDEX_ID] = "550e8400-e29b-41d4-a716-446655440000";
    question.readable = UINT64_MAX;
    assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
    assert_int_equal(count(out.data, "\"type\":\"roundtable."), 4 * ROUNDS);
    assert_int_equal(count(out.data, "\"type\":\"supervisor."), 3 * ROUNDS);
    question.readable = UINT64_C(1) << ROUNDTABLE;
    assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
    assert_int_equal(count(out.data, "\"type\":\"roundtable."), 4 * ROUNDS);
    assert_int_equal(count(out.data, "\"type\":\"supervisor."), 0);
    question.readable = UINT64_C(1) << BRENNER;
    question.values[INDEX_ID] = "RS-20251230-cell-fate"; /* a thread */
    assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
    assert_true(count(out.data, "\"type\":\"brenner.") >= 6 * ROUNDS);
    parley_buffer_finish(&out);
}

/* Keys ignore case; the ids of VLP do not, and those of Round Table do. */
static void test_a_trace_compares_ids_as_their_protocol_does(void **state) {
    static const struct {
        unsigned protocol;
        const char *id;
        bool is_found;
    } cases[] = {{VLP, "MSG-claim-001", true},
                 {VLP, "msg-claim-001", false},
                 {ROUNDTABLE, "550E8400-E29B-41D4-A716-446655440000", true}};
    struct parley_buffer out;
    (void)state;
    parley_buffer_init(&out);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct index_question question = question_of("trace", cases[i].protocol);
        question.values[INDEX_ID] = cases[i].id;
        assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
        if ((count(out.data, "\"specversion\"") > 0) != cases[i].is_found) {
            fail_msg("%s: %.300s", cases[i].id, out.data);
        }
    }
    parley_buffer_finish(&out);
}

#define TOKEN "VLP:2026-01-01T00:00:00Z:"

static void test_what_is_not_indexed_so_far_is_behind(void **state) {
    static const struct {
        const char *after;
        enum index_answered wanted;
    } cases[] = {{"VLP:1", INDEX_ANSWERED},   {"VLP:350", INDEX_ANSWERED},
                 {"VLP:351", INDEX_BEHIND},   {TOKEN "350", INDEX_ANSWERED},
                 {TOKEN "351", INDEX_BEHIND}, {"BRENNER:1", INDEX_BEHIND},
                 {"NOPE:1", INDEX_BEHIND}};
    struct parley_buffer out;
    (void)state;
    parley_buffer_init(&out);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct index_question question = question_of("messages", VLP);
        question.values[INDEX_AFTER] = cases[i].after;
        assert_true(stream_place_parse(cases[i].after, &question.after));
        if (ask(&question, &out) != cases[i].wanted) {
            fail_msg("%s", cases[i].after);
        }
    }
    parley_buffer_finish(&out);
}

static void test_a_place_is_of_a_stream_and_a_sequence(void **state) {
    static const char *const wrong[] = {
        "",        "VLP",       "VLP:",        ":1",
        "VLP:x",   "VLP:0",     "VLP:-1",      "VLP:1x",
        "VLP: 1",  "VLP:1:2",   "VLP:1,VLP:2", TOKEN,
        TOKEN "x", TOKEN "1:2", "VLP:now:1",   "VLP:99999999999999999999"};
    struct stream_token place;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (stream_place_parse(wrong[i], &place)) {
            fail_msg("%s", wrong[i]);
        }
    }
}

static void test_lines_end_with_the_cursor(void **state) {
    (void)state;
    struct parley_buffer out;
    struct index_question question = question_of("messages", VLP);
    parley_buffer_init(&out);
    question.is_lines = true;
    question.limit = 2;
    assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
    assert_int_equal(count(out.data, "\n"), 3);
    assert_int_equal(count(out.data, "}\n{\"next\":\""), 1);
    question.values[INDEX_ID] = "not there";
    assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
    assert_int_equal(strncmp(out.data, "{\"next\":null,\"since\":\"", 21), 0);
    parley_buffer_finish(&out);
}

static void test_a_question_whose_client_has_left_is_given_up(void **state) {
    atomic_bool is_gone = true;
    struct index_question question = question_of("threads", 0);
    struct parley_buffer out;
    (void)state;
    question.is_unwanted = &is_gone;
    parley_buffer_init(&out);
    assert_int_equal(ask(&question, &out), INDEX_TOO_SLOW);
    assert_string_equal(out.data, "");
    atomic_store(&is_gone, false);
    assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
    parley_buffer_finish(&out);
}

static void test_a_question_whose_turn_comes_too_late_is_not_answered(void **state) {
    struct index_question question = question_of("threads", 0);
    struct parley_buffer out;
    (void)state;
    parley_buffer_init(&out);
    question.begin_by_ms = reactor_clock_ms() - 1;
    assert_int_equal(ask(&question, &out), INDEX_TOO_LATE);
    assert_string_equal(out.data, "");
    question.begin_by_ms = reactor_clock_ms() + 60000;
    assert_int_equal(ask(&question, &out), INDEX_ANSWERED);
    parley_buffer_finish(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_question_uses_an_index_and_sorts_nothing),
        cmocka_unit_test(test_every_parameter_is_known),
        cmocka_unit_test(test_each_parameter_finds_its_messages),
        cmocka_unit_test(test_pages_follow_each_other_without_gaps),
        cmocka_unit_test(test_a_cursor_begins_with_the_name_of_its_list),
        cmocka_unit_test(test_a_cursor_that_names_no_place_is_refused),
        cmocka_unit_test(test_private_messages_are_those_of_their_agent),
        cmocka_unit_test(test_a_trace_spans_the_protocols_that_may_be_read),
        cmocka_unit_test(test_a_trace_compares_ids_as_their_protocol_does),
        cmocka_unit_test(test_what_is_not_indexed_so_far_is_behind),
        cmocka_unit_test(test_a_place_is_of_a_stream_and_a_sequence),
        cmocka_unit_test(test_lines_end_with_the_cursor),
        cmocka_unit_test(test_a_question_whose_client_has_left_is_given_up),
        cmocka_unit_test(test_a_question_whose_turn_comes_too_late_is_not_answered),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
