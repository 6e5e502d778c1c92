/* SPDX-License-Identifier: Apache-2.0 */

/* The state of sessions, and how they were left: of generated histories each session is what a
 * plain reading of them, which knows neither tables nor indexes, makes of it; and pages have whole
 * sessions. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "index_fixture.h"
#include "vlp_history.h"

enum { TEXT_MAX = 1 << 14, MANY = 150, CROWD = 12000 };

/* ---- the model ---- */

/* What is open: a query that nothing answers, and a claim without a source that nothing supports,
 * unless it is corrected later by its sender or in its session. */
static bool is_open(const struct said *said, int number) {
    const struct said *of = &said[number];
    const enum said_type wanted = of->type == QUERY ? RESPONSE : EVIDENCE;
    if (of->type != QUERY && (of->type != CLAIM || !of->is_bare)) {
        return false;
    }
    for (int i = 0; i < MESSAGES; i++) {
        const bool corrects =
            said[i].type == CORRECTION && i > number && history_is_kin(&said[i], of);
        if (history_refers(said, i, number) && (said[i].type == wanted || corrects)) {
            return false;
        }
    }
    return true;
}

struct text {
    char text[TEXT_MAX];
    size_t length;
};

static void append(struct text *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    out->length +=
        (size_t)vsnprintf(out->text + out->length, TEXT_MAX - out->length, format, arguments);
    va_end(arguments);
    assert_true(out->length < TEXT_MAX);
}

static void append_counts(struct text *out, const char *member, const char *const *names,
                          const int *counts) {
    const char *between = "";
    append(out, ",\"%s\":{", member);
    for (size_t i = 0; names[i] != NULL; i++) {
        if (counts[i] > 0) {
            append(out, "%s\"%s\":%d", between, names[i], counts[i]);
            between = ",";
        }
    }
    append(out, "}");
}

static void append_open(struct text *out, const struct said *said, int history, int session,
                        uint64_t base) {
    const char *between = "";
    append(out, ",\"open\":[");
    for (int i = 0; i < MESSAGES; i++) {
        if (said[i].session == session && is_open(said, i)) {
            append(out,
                   "%s{\"message\":\"VLP:%d\",\"id\":\"%d-%d\",\"type\":\"vlp.%s\","
                   "\"sender\":\"A%d\",\"waits_for\":\"%s\"}",
                   between, (int)base + i, history, said[i].id, said_types[said[i].type],
                   said[i].sender, said[i].type == QUERY ? "answers" : "supports");
            between = ",";
        }
    }
    append(out, "]}");
}

/* A session as an item, in two parts: its head, and what follows who took part. */
static void make_session(const struct said *said, int history, int session, uint64_t base,
                         struct text *out_head, struct text *out) {
    int types[SAID_TYPES] = {0}, lanes[SAID_LANES] = {0}, count = 0, context = NONE;
    for (int i = 0; i < MESSAGES; i++) {
        if (said[i].session == session) {
            count++;
            types[said[i].type]++;
            lanes[said[i].lane]++;
            context = said[i].type == CONTEXT ? i : context;
        }
    }
    out->length = out_head->length = 0;
    append(out_head, "{\"session\":\"%d-%d\",\"count\":%d,", history, session, count);
    append_counts(out, "types", said_types, types);
    append_counts(out, "lanes", said_lanes, lanes);
    if (context != NONE) {
        append(out, ",\"context\":\"VLP:%d\"", (int)base + context);
    } else {
        append(out, ",\"context\":null");
    }
    append_open(out, said, history, session, base);
}

/* ---- both ---- */

static void ask(const char *session, struct parley_buffer *out) {
    struct index_question question = index_fixture_question("sessions");
    question.values[INDEX_SESSION] = session;
    index_fixture_ask(&question, NULL, out);
}

/* Returns: how many messages are open in it. */
static size_t compare(const struct said *said, int history, int session, uint64_t base,
                      struct parley_buffer *out) {
    static struct text head, rest;
    char name[32];
    snprintf(name, sizeof name, "%d-%d", history, session);
    make_session(said, history, session, base, &head, &rest);
    ask(name, out);
    if (strstr(out->data, head.text) == NULL || strstr(out->data, rest.text) == NULL) {
        fail_msg("wanted %s … %s\nfound %s", head.text, rest.text, out->data);
    }
    assert_int_equal(index_fixture_count(out->data, "\"more\""), 0);
    return index_fixture_count(rest.text, "\"waits_for\"");
}

static void test_sessions_are_what_a_plain_reading_makes_of_histories(void **state) {
    struct parley_buffer out;
    size_t open_count = 0;
    (void)state;
    parley_buffer_init(&out);
    for (int history = 0; history < HISTORIES; history++) {
        struct said said[MESSAGES];
        const uint64_t base = history_begin(history, said, SAID_TYPES);
        for (int session = 1; session < SESSIONS; session++) {
            open_count += compare(said, history, session, base, &out);
        }
    }
    assert_true(open_count > HISTORIES);
    ask(NULL, &out);
    assert_int_equal(index_fixture_count(out.data, "{\"session\""), HISTORIES * (SESSIONS - 1));
    assert_int_equal(index_fixture_count(out.data, "\"waits_for\""), open_count);
    parley_buffer_finish(&out);
}

/* ---- contexts ---- */

static int last_context(const struct said *said, int session, int sender) {
    int last = NONE;
    for (int i = 0; i < MESSAGES; i++) {
        if (said[i].type == CONTEXT && (session == NONE || said[i].session == session) &&
            (sender == NONE || said[i].sender == sender)) {
            last = i;
        }
    }
    return last;
}

/* Sender NONE, or session NONE: any. Senders are of all histories, sessions of one. */
static void compare_context(const struct said *said, int history, int session, int sender,
                            uint64_t base, struct parley_buffer *out) {
    struct index_question question = index_fixture_question("contexts");
    const int wanted = last_context(said, session, sender);
    char session_name[32], sender_name[32], place[64];
    snprintf(session_name, sizeof session_name, "%d-%d", history, session);
    snprintf(sender_name, sizeof sender_name, "A%d", sender);
    snprintf(place, sizeof place, "\"sequence\":\"%d\"", (int)base + wanted);
    question.values[INDEX_SESSION] = session != NONE ? session_name : NULL;
    question.values[INDEX_SENDER] = sender != NONE ? sender_name : NULL;
    index_fixture_ask(&question, NULL, out);
    const size_t found = index_fixture_count(out->data, "\"specversion\"");
    if (found != (wanted != NONE) || index_fixture_count(out->data, place) != found) {
        fail_msg("%s %s: wanted %s, found %s", session_name, sender_name, place, out->data);
    }
}

static void test_the_last_context_is_the_one_that_a_plain_reading_finds(void **state) {
    struct parley_buffer out;
    (void)state;
    parley_buffer_init(&out);
    for (int history = 0; history < HISTORIES; history++) {
        struct said said[MESSAGES];
        const uint64_t base = history_begin(history, said, SAID_TYPES);
        for (int sender = NONE; sender < SENDERS; sender++) {
            for (int session = 1; session < SESSIONS; session++) {
                compare_context(said, history, session, sender, base, &out);
            }
            if (sender != NONE && last_context(said, NONE, sender) != NONE) {
                compare_context(said, history, NONE, sender, base, &out);
            }
        }
    }
    parley_buffer_finish(&out);
}

static void test_a_session_names_at_most_100_open_messages(void **state) {
    struct parley_buffer out;
    (void)state;
    parley_buffer_init(&out);
    for (int i = 0; i < MANY; i++) {
        const struct said said = {.id = i, .session = 1, .type = QUERY};
        history_store(0, &said);
    }
    index_fixture_commit();
    ask("0-1", &out);
    assert_int_equal(index_fixture_count(out.data, "\"waits_for\""), 100);
    assert_int_equal(index_fixture_count(out.data, "],\"more\":true}"), 1);
    assert_int_equal(index_fixture_count(out.data, "\"count\":150,"), 1);
    parley_buffer_finish(&out);
}

/* A page reads 20,000 rows: the second session would not be whole on the first page. */
static void test_a_session_that_does_not_fit_into_a_page_begins_the_next(void **state) {
    struct parley_buffer out;
    struct index_question question = index_fixture_question("sessions");
    (void)state;
    parley_buffer_init(&out);
    for (int i = 0; i < 2 * CROWD; i++) {
        const struct said said = {.id = i, .session = 1 + i % 2, .type = NOTICE};
        history_store(0, &said);
    }
    index_fixture_commit();
    index_fixture_ask(&question, NULL, &out);
    assert_int_equal(index_fixture_count(out.data, "{\"session\":\"0-1\",\"count\":12000,"), 1);
    assert_int_equal(index_fixture_count(out.data, "],\"next\":\"vlp.sessions:0-1\""), 1);
    question.values[INDEX_CURSOR] = "0-1";
    index_fixture_ask(&question, NULL, &out);
    assert_int_equal(index_fixture_count(out.data, "{\"session\":\"0-2\",\"count\":12000,"), 1);
    assert_int_equal(index_fixture_count(out.data, "],\"next\":null"), 1);
    assert_int_equal(index_fixture_count(out.data, "\"more\""), 0);
    parley_buffer_finish(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sessions_are_what_a_plain_reading_makes_of_histories,
                                        history_set_up, history_tear_down),
        cmocka_unit_test_setup_teardown(test_the_last_context_is_the_one_that_a_plain_reading_finds,
                                        history_set_up, history_tear_down),
        cmocka_unit_test_setup_teardown(test_a_session_names_at_most_100_open_messages,
                                        history_set_up, history_tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_session_that_does_not_fit_into_a_page_begins_the_next, history_set_up,
            history_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
