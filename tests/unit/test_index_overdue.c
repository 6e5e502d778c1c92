/* SPDX-License-Identifier: Apache-2.0 */

/* Acknowledgements that are overdue: which of them a range of time has, page by page, and whether
 * the gateway has reminded of them. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "index_fixture.h"
#include "index_overdue.h"

enum { BRENNER = 3, MANY = 40, HOUR_MS = 60 * 60 * 1000 };

/* When the first two messages are stored, and the three after these. */
static const int64_t start_ms = INT64_C(1767225600000);

static struct index_overdue page;

static int set_up(void **state) {
    (void)state;
    parley_arena_init(&page.arena, 0);
    return index_fixture_open(BRENNER);
}

static int tear_down(void **state) {
    (void)state;
    index_overdue_finish(&page);
    return index_fixture_close();
}

static void store(const char *subject, const char *to, const char *more) {
    char text[4096];
    snprintf(text, sizeof text,
             "{\"subject\":\"%s\",\"from\":\"Ann\",\"to\":[%s],\"thread_id\":\"COORD-ice\","
             "\"body_md\":\"# A\\n\\n## Status\\nReceived\"%s}",
             subject, to, more);
    index_fixture_store(NULL, NULL, text);
}

/* Appends the ids of the reminders: `*` where it is stored, `?` where it cannot be addressed. */
static void ask(int64_t from_ms, int64_t until_ms, const char *cursor, char out[1024]) {
    struct parley_buffer text;
    const struct index_overdue_range range = {.protocol = BRENNER,
                                              .overdue_ms = HOUR_MS,
                                              .from_ms = from_ms,
                                              .until_ms = until_ms,
                                              .cursor = cursor};
    const struct index_question question = index_overdue_question(&range, NULL, &page);
    parley_buffer_init(&text);
    index_overdue_begin(&page);
    index_fixture_ask(&question, NULL, &text);
    assert_int_equal(index_fixture_count(text.data, "\"recipient\":"), page.count);
    for (size_t i = 0; i < page.count; i++) {
        const char *at = text.data + page.items[i].text_at;
        const size_t length = page.items[i].text_length;
        assert_memory_equal(at, "{\"specversion\"", 14);
        assert_memory_equal(at + length - 1, "}\n", 2);
        assert_null(memchr(at, '\n', length));
    }
    parley_buffer_finish(&text);
    for (size_t i = 0; i < page.count; i++) {
        const struct index_overdue_item *item = &page.items[i];
        const size_t length = strlen(out);
        assert_true(length < 900);
        snprintf(out + length, 1024 - length, "%s%.60s%s%s", length > 0 ? " " : "",
                 item->reminder.id.data + strlen(PARLEY_INDEX_REMINDER_ID),
                 item->is_reminded ? "*" : "", item->is_nameless ? "?" : "");
    }
}

static void test_those_are_overdue_that_were_due_in_the_range(void **state) {
    static const struct {
        int64_t from_ms, until_ms; /* after the first message was due */
        const char *wanted;
    } rows[] = {
        {-1, 0, "BRENNER:1:Bob BRENNER:1:Cleo"},
        {-HOUR_MS, HOUR_MS, "BRENNER:1:Bob BRENNER:1:Cleo BRENNER:4:Bob"},
        {0, 1000, "BRENNER:4:Bob"},
        {0, 999, ""},
        {-HOUR_MS, -1, ""},
        {1000, HOUR_MS, ""},
        {HOUR_MS, 0, ""},
    };
    (void)state;
    store("INFO: x", "\"Bob\",\"Cleo\"", ",\"ack_required\":true");
    store("INFO: asks for nothing", "\"Bob\"", "");
    store("INFO: y", "\"Dora\"", "");
    store("INFO: z", "\"Bob\"", ",\"ack_required\":true");
    index_fixture_commit();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char out[1024] = "";
        ask(start_ms + HOUR_MS + rows[i].from_ms, start_ms + HOUR_MS + rows[i].until_ms, "", out);
        if (strcmp(out, rows[i].wanted) != 0) {
            fail_msg("%zu: %s", i, out);
        }
    }
}

static void test_an_item_has_what_a_reminder_says(void **state) {
    static const char *const threads[] = {",\"thread_id\":\"COORD-ice\"", ""};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char text[512], out[1024] = "";
        snprintf(text, sizeof text,
                 "{\"subject\":\"KICKOFF: x\",\"from\":\"Ann\",\"ack_required\":true,"
                 "\"body_md\":\"# K\\n\\n## Context\\nx\"%s}",
                 threads[i]);
        index_fixture_store(NULL, NULL, text);
        index_fixture_commit();
        ask(start_ms - 1 + HOUR_MS, start_ms + HOUR_MS, "", out);
        const struct parley_reminder *reminder = &page.items[i].reminder;
        assert_int_equal(page.count, i + 1);
        assert_string_equal(reminder->id.data, i == 0 ? "remind:BRENNER:1:" : "remind:BRENNER:2:");
        assert_string_equal(reminder->place.data, i == 0 ? "BRENNER:1" : "BRENNER:2");
        assert_string_equal(reminder->subject.data, "KICKOFF: x");
        assert_int_equal(reminder->stored_s, start_ms / 1000);
        assert_int_equal(page.items[i].stored_ms, start_ms);
        assert_null(reminder->recipient.data);
        assert_int_equal(reminder->thread.length, i == 0 ? strlen("COORD-ice") : 0);
    }
}

static void test_one_is_reminded_if_the_gateway_has_said_so(void **state) {
    static const struct {
        const char *from, *id, *wanted;
    } rows[] = {
        {"Ann", "remind:BRENNER:1:Bob", "BRENNER:1:Bob BRENNER:1:bob"},
        {"parley", "remind:BRENNER:1:BOB", "BRENNER:1:Bob BRENNER:1:bob"},
        {"parley", "remind:BRENNER:1:Bob", "BRENNER:1:Bob* BRENNER:1:bob"},
        {"parley", "remind:BRENNER:1:bob", "BRENNER:1:Bob* BRENNER:1:bob*"},
    };
    (void)state;
    store("INFO: x", "\"Bob\",\"bob\"", ",\"ack_required\":true");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512], out[1024] = "";
        snprintf(text, sizeof text,
                 "{\"subject\":\"INFO: r\",\"body_md\":\"x\",\"from\":\"%s\",\"id\":\"%s\"}",
                 rows[i].from, rows[i].id);
        index_fixture_store(NULL, NULL, text);
        index_fixture_commit();
        ask(start_ms, start_ms + HOUR_MS, "", out);
        assert_string_equal(out, rows[i].wanted);
    }
}

static void
test_a_long_name_is_looked_up_but_one_of_which_a_digest_is_left_cannot_be_addressed(void **state) {
    char name[258] = "\"", out[1024] = "", text[1024], wanted[512];
    (void)state;
    memset(name + 1, 'n', 250);
    snprintf(text, sizeof text, "%s\",\"%s%s\"", name, name + 1, "ninety9");
    store("INFO: x", text, ",\"ack_required\":true");
    index_fixture_commit();
    ask(start_ms, start_ms + HOUR_MS, "", out);
    snprintf(wanted, sizeof wanted, "BRENNER:1:%.50s BRENNER:1:sha:", name + 1);
    assert_memory_equal(out, wanted, strlen(wanted));
    assert_string_equal(out + strlen(out) - 1, "?");
    assert_false(page.items[0].is_nameless);
    snprintf(text, sizeof text,
             "{\"subject\":\"INFO: r\",\"body_md\":\"x\",\"from\":\"parley\","
             "\"id\":\"remind:BRENNER:1:%s\"}",
             name + 1);
    index_fixture_store(NULL, NULL, text);
    index_fixture_commit();
    out[0] = '\0';
    ask(start_ms, start_ms + HOUR_MS, "", out);
    assert_true(page.items[0].is_reminded);
    assert_false(page.items[1].is_reminded);
}

static void test_pages_have_all_of_them_once(void **state) {
    char to[1024] = "", cursor[INDEX_CURSOR_SIZE] = "";
    size_t pages = 0, count = 0;
    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(to + strlen(to), sizeof to - strlen(to), "%s\"a%d\"", i > 0 ? "," : "", 10 + i);
    }
    store("INFO: x", to, ",\"ack_required\":true");
    store("INFO: y", to, ",\"ack_required\":true");
    index_fixture_commit();
    do {
        char out[1024] = "", wanted[64];
        ask(start_ms, start_ms + HOUR_MS, cursor, out);
        for (size_t i = 0; i < page.count; i++, count++) {
            snprintf(wanted, sizeof wanted, "remind:BRENNER:%zu:a%zu", 1 + count / MANY,
                     10 + count % MANY);
            assert_string_equal(page.items[i].reminder.id.data, wanted);
        }
        snprintf(cursor, sizeof cursor, "%s", page.next);
        pages++;
    } while (cursor[0] != '\0');
    assert_int_equal(count, 2 * MANY);
    assert_int_equal(pages, (2 * MANY + INDEX_OVERDUE_MAX - 1) / INDEX_OVERDUE_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_those_are_overdue_that_were_due_in_the_range, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_an_item_has_what_a_reminder_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_is_reminded_if_the_gateway_has_said_so, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_long_name_is_looked_up_but_one_of_which_a_digest_is_left_cannot_be_addressed,
            set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pages_have_all_of_them_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
