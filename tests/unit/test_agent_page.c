/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../lib/fault_heap.h"
#include "agent_page.h"

#define S INT64_C(1000000000)
static const int64_t now_ns = 1705392000 * S;

static const struct parley_agents agents = {.alive_seconds = 5, .late_seconds = 15};

static enum parley_status note(struct agent_page *page, const char *name, unsigned part,
                               uint64_t sequence, const char *text) {
    const struct agent_news news = {.name = parley_bytes_of(name),
                                    .part = part,
                                    .sequence = sequence,
                                    .is_beat = part == 0,
                                    .time_ns = now_ns,
                                    .text = parley_bytes_of(text)};
    return agent_page_note(page, &news);
}

static void assert_names(const struct agent_page *page, const char *names) {
    char all[256] = "";
    for (size_t i = 0; i < page->count; i++) {
        strcat(strcat(all, i > 0 ? " " : ""), page->entries[i].name);
    }
    assert_string_equal(all, names);
}

static void test_the_state_is_the_age_of_the_last_beat(void **state) {
    (void)state;
    static const struct {
        int64_t age_ns;
        enum agent_state state;
    } rows[] = {
        {-S, AGENT_ALIVE},
        {0, AGENT_ALIVE},
        {5 * S, AGENT_ALIVE},
        {5 * S + 1, AGENT_LATE},
        {15 * S, AGENT_LATE},
        {15 * S + 1, AGENT_LOST},
        {1705392000 * S, AGENT_LOST},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct agent_entry entry = {.beat_sequence = 1, .beat_ns = now_ns - rows[i].age_ns};
        assert_int_equal(agent_state_of(&entry, &agents, now_ns), rows[i].state);
    }
    const struct agent_entry silent = {.beat_sequence = 0, .beat_ns = now_ns};
    assert_int_equal(agent_state_of(&silent, &agents, now_ns), AGENT_LOST);
}

static void test_an_agent_is_missed_if_it_is_lost_and_was_not_told_to_end(void **state) {
    (void)state;
    enum { END = 2 };
    static const struct parley_agent_source sources[] = {
        {.subject = "*.beat"},
        {.subject = "*.end", .part = END, .is_end = true},
        {.subject = NULL}};
    const struct parley_agents with_end = {
        .sources = sources, .alive_seconds = 5, .late_seconds = 15};
    static const struct {
        const char *name;
        uint64_t sequence;
        int64_t age_ns;
        size_t end_length; /* 0: it was told nothing, or that it goes on */
        int64_t end_age_ns;
        bool is_missed;
    } rows[] = {
        {"alive", 1, 0, 0, 0, false},
        {"late", 1, 15 * S, 0, 0, false},
        {"lost", 1, 15 * S + 1, 0, 0, true},
        {"long lost", 1, 9000 * S, 0, 0, true},
        {"without a beat", 0, 9000 * S, 0, 0, false},
        {"ended", 1, 20 * S, 3, 19 * S, false},
        {"ended after it was lost", 1, 900 * S, 3, S, false},
        {"still beating while it ended", 1, 20 * S, 3, 35 * S, false},
        {"alive long after it was told to end", 1, 20 * S, 3, 35 * S + 1, true},
        {"told to go on", 1, 20 * S, 0, 19 * S, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct agent_entry entry = {
            .beat_sequence = rows[i].sequence,
            .beat_ns = now_ns - rows[i].age_ns,
            .parts[END] = {.length = rows[i].end_length, .time_ns = now_ns - rows[i].end_age_ns}};
        int64_t at_ns = 0;
        if (agent_is_missed(&entry, &with_end, now_ns, &at_ns) != rows[i].is_missed) {
            fail_msg("%s", rows[i].name);
        }
        assert_int_equal(at_ns, entry.beat_ns + 15 * S);
    }
}

static void test_a_full_page_keeps_the_first_names(void **state) {
    (void)state;
    static const struct {
        const char *names, *after;
        size_t count_max;
        const char *kept;
        bool has_more;
    } rows[] = {
        {"c a b", "", 3, "a b c", false},     {"c a b", "", 2, "a b", true},
        {"a b c", "", 2, "a b", true},        {"c b a", "", 1, "a", true},
        {"c a b a c", "", 3, "a b c", false}, {"c a b", "a", 2, "b c", false},
        {"c a b", "c", 2, "", false},         {"ab a abc", "a", 9, "ab abc", false},
        {"b a% a", "", 9, "a a% b", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct agent_page page;
        char names[64];
        agent_page_init(&page, rows[i].after, rows[i].count_max, 1 << 20);
        snprintf(names, sizeof names, "%s", rows[i].names);
        char *rest = names;
        for (char *name = strsep(&rest, " "); name != NULL; name = strsep(&rest, " ")) {
            assert_int_equal(note(&page, name, 0, 1, ""), PARLEY_OK);
        }
        assert_names(&page, rows[i].kept);
        assert_int_equal(page.has_more, rows[i].has_more);
        agent_page_finish(&page);
    }
}

static void test_a_page_is_bounded_in_bytes(void **state) {
    (void)state;
    struct agent_page page;
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    agent_page_init(&page, "", 1000, 10 * 2000);
    for (unsigned i = 0; i < 300; i++) {
        char name[8];
        snprintf(name, sizeof name, "k%03u", (i * 7) % 300);
        assert_int_equal(note(&page, name, 1, 1, text), PARLEY_OK);
        assert_true(page.bytes <= page.bytes_max);
    }
    assert_true(page.has_more && page.count >= 5);
    assert_int_equal(note(&page, "k000", 1, 2, ""), PARLEY_OK); /* what is replaced makes room */
    assert_true(page.bytes <= page.bytes_max - 900);
    agent_page_finish(&page);
}

static void test_of_each_part_the_last_message_counts(void **state) {
    (void)state;
    struct agent_page page;
    struct parley_buffer text;
    parley_buffer_init(&text);
    agent_page_init(&page, "", 9, 1 << 20);
    assert_int_equal(note(&page, "a%2Fb", 2, 7, ",\"wal\":7"), PARLEY_OK);
    assert_int_equal(note(&page, "a%2Fb", 2, 5, ",\"wal\":5"), PARLEY_OK);
    agent_entry_write(&page.entries[0], &agents, now_ns, &text);
    parley_buffer_text(&text, "\n");
    assert_int_equal(note(&page, "a%2Fb", 0, 9, ",\"version\":1"), PARLEY_OK);
    assert_int_equal(note(&page, "a%2Fb", 0, 8, ",\"version\":0"), PARLEY_OK);
    assert_int_equal(note(&page, "a%2Fb", 2, 10, ""), PARLEY_OK);
    agent_entry_write(&page.entries[0], &agents, now_ns + 6 * S, &text);
    parley_buffer_char(&text, '\0');
    assert_string_equal(text.data,
                        "{\"agent\":\"a/b\",\"state\":\"lost\",\"wal\":7}\n"
                        "{\"agent\":\"a/b\",\"state\":\"late\",\"last\":"
                        "\"2024-01-16T08:00:00.000Z\",\"age\":6,\"seq\":9,\"version\":1}");
    parley_buffer_finish(&text);
    agent_page_finish(&page);
}

static void test_a_page_that_finds_no_memory_is_an_error(void **state) {
    (void)state;
    enum parley_status status = PARLEY_E_MEMORY;
    size_t failures = 0;
    for (; status != PARLEY_OK; failures++) {
        struct agent_page page;
        agent_page_init(&page, "", 9, 1 << 20);
        fault_heap_arm(failures, 1);
        status = note(&page, "a", 0, 1, ",\"x\":1");
        fault_heap_disarm();
        assert_true(status == PARLEY_OK || status == PARLEY_E_MEMORY);
        agent_page_finish(&page);
    }
    assert_true(failures > 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_state_is_the_age_of_the_last_beat),
        cmocka_unit_test(test_an_agent_is_missed_if_it_is_lost_and_was_not_told_to_end),
        cmocka_unit_test(test_a_full_page_keeps_the_first_names),
        cmocka_unit_test(test_a_page_is_bounded_in_bytes),
        cmocka_unit_test(test_of_each_part_the_last_message_counts),
        cmocka_unit_test(test_a_page_that_finds_no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
