/* SPDX-License-Identifier: Apache-2.0 */

/* What a reader may ask for, and what it may not. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "stream_query.h"

#define SECOND INT64_C(1000000000)
#define NOW (INT64_C(1765708200) * SECOND) /* 2025-12-14T10:30:00Z */
#define CREATED "2025-12-14T10:30:00.123456789Z"

static enum stream_query_result set(struct stream_query *query, const char *name,
                                    const char *value) {
    const char *wants = NULL;
    stream_query_init(query);
    return stream_query_set(query, name, value, NOW, &wants);
}

static void assert_invalid(const char *name, const char *value) {
    struct stream_query query;
    const char *wants = NULL;
    stream_query_init(&query);
    enum stream_query_result result = stream_query_set(&query, name, value, NOW, &wants);
    if (result != STREAM_QUERY_INVALID) {
        fail_msg("%s=%s was taken", name, value);
    }
    assert_non_null(wants);
}

static void test_an_empty_query_wants_everything_from_now_on(void **state) {
    (void)state;
    struct stream_query query;
    stream_query_init(&query);
    assert_int_equal(query.since, STREAM_SINCE_NOW);
    assert_false(query.is_ending);
    assert_false(query.is_bare);
    assert_true(query.limit == UINT64_MAX);
}

static void test_since_takes_words_and_sequences(void **state) {
    (void)state;
    struct stream_query query;
    assert_int_equal(set(&query, "since", "now"), STREAM_QUERY_SET);
    assert_int_equal(query.since, STREAM_SINCE_NOW);
    assert_int_equal(set(&query, "since", "all"), STREAM_QUERY_SET);
    assert_int_equal(query.since, STREAM_SINCE_ALL);
    assert_int_equal(set(&query, "since", "42"), STREAM_QUERY_SET);
    assert_int_equal(query.since, STREAM_SINCE_SEQUENCE);
    assert_int_equal(query.sequence, 42);
    assert_int_equal(set(&query, "since", "18446744073709551615"), STREAM_QUERY_SET);
    assert_true(query.sequence == UINT64_MAX);
}

static void assert_time(const char *value, int64_t expected_ns) {
    struct stream_query query;
    if (set(&query, "since", value) != STREAM_QUERY_SET || query.since != STREAM_SINCE_TIME) {
        fail_msg("since=%s is no time", value);
    }
    if (query.time_ns != expected_ns) {
        fail_msg("since=%s is %jd, not %jd", value, (intmax_t)query.time_ns, (intmax_t)expected_ns);
    }
}

static void test_since_takes_times(void **state) {
    (void)state;
    assert_time("2025-12-14T10:30:00Z", NOW);
    assert_time("2025-12-14t10:30:00z", NOW);
    assert_time("2025-12-14T10:30:00.5Z", NOW + SECOND / 2);
    assert_time("2025-12-14T10:30:00.1234567899Z", NOW + 123456789);
    assert_time("2025-12-14T12:30:00+02:00", NOW);
    assert_time("2025-12-14T12:30:00 02:00", NOW); /* a plus that was not encoded */
    assert_time("2025-12-14T09:00:00-01:30", NOW);
    assert_time("2024-02-29T00:00:00Z", INT64_C(1709164800) * SECOND);
    assert_time("2016-12-31T23:59:60Z", INT64_C(1483228800) * SECOND);
    assert_time("2017-01-01T01:59:60+02:00", INT64_C(1483228800) * SECOND);
    assert_time("1969-12-31T23:59:59Z", 0);
    assert_time("9999-12-31T23:59:59Z", INT64_MAX);
}

static void test_since_takes_durations(void **state) {
    (void)state;
    assert_time("0s", NOW);
    assert_time("1500ms", NOW - 3 * SECOND / 2);
    assert_time("90s", NOW - 90 * SECOND);
    assert_time("15m", NOW - 900 * SECOND);
    assert_time("24h", NOW - 86400 * SECOND);
    assert_time("7d", NOW - 7 * 86400 * SECOND);
    assert_time("99999999999999999d", 0);
    assert_time("18446744073709551615ms", 0);
}

static void test_a_time_to_come_is_known_as_such(void **state) {
    (void)state;
    struct stream_query query;
    set(&query, "since", "2025-12-14T10:30:01Z");
    assert_true(query.is_future);
    set(&query, "since", "2025-12-14T10:30:00Z");
    assert_false(query.is_future);
}

static void test_since_refuses_what_cannot_be(void **state) {
    (void)state;
    static const char *const values[] = {
        "",
        "0",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1.5",
        "18446744073709551616",
        "Now",
        "yesterday",
        "5x",
        "5 m",
        "m",
        "1h30m",
        "99999999999999999999d",
        "2025-12-14",
        "2025-12-14T10:30:00",
        "2025-12-14 10:30:00Z",
        "2025-02-29T00:00:00Z",
        "2025-13-01T00:00:00Z",
        "2025-00-01T00:00:00Z",
        "2025-04-31T00:00:00Z",
        "2025-12-14T24:00:00Z",
        "2025-12-14T10:60:00Z",
        "2025-12-14T10:30:60Z",
        "2025-12-31T23:59:61Z",
        "2025-12-14T10:30:00.Z",
        "2025-12-14T10:30:00+24:00",
        "2025-12-14T10:30:00+0200",
        "2025-12-14T10:30:00Zx",
        "VLP:42",
        "VLP::42",
        "VLP:yesterday:42",
        ":" CREATED ":42",
        "VLP:" CREATED ":",
        "VLP:" CREATED ":x",
        "VLP:" CREATED ":42,",
        ",VLP:" CREATED ":42",
        "VLP:" CREATED ":18446744073709551615",
        "VLP:" CREATED ":ahead",
        "VLP:" CREATED ":ahead:",
        "VLP:" CREATED ":behind:42",
        "VLP:" CREATED ":ahead:ahead:42",
        "VLP:ahead:42",
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        assert_invalid("since", values[i]);
    }
}

static void test_a_token_says_where_each_stream_was(void **state) {
    (void)state;
    const char *text = "VLP:" CREATED ":42,ROUNDTABLE:2024-01-01T00:00:00Z:0";
    struct stream_query query;
    struct stream_token token;
    assert_int_equal(set(&query, "since", text), STREAM_QUERY_SET);
    assert_int_equal(query.since, STREAM_SINCE_TOKEN);
    assert_ptr_equal(query.token, text);
    assert_true(stream_token_find(text, "VLP", &token));
    assert_int_equal(token.sequence, 42);
    assert_true(parley_bytes_equal(token.created, PARLEY_BYTES(CREATED)));
    assert_true(stream_token_find(text, "ROUNDTABLE", &token));
    assert_int_equal(token.sequence, 0);
    assert_false(stream_token_find(text, "BRENNER", &token));
    assert_false(stream_token_find(text, "VL", &token));
}

static void test_a_token_says_that_its_reader_waits(void **state) {
    (void)state;
    const char *text = "VLP:" CREATED ":ahead:42,ROUNDTABLE:" CREATED ":42";
    struct stream_query query;
    struct stream_token token;
    assert_int_equal(set(&query, "since", text), STREAM_QUERY_SET);
    assert_true(stream_token_find(text, "VLP", &token));
    assert_true(token.is_ahead);
    assert_int_equal(token.sequence, 42);
    assert_true(parley_bytes_equal(token.created, PARLEY_BYTES(CREATED)));
    assert_true(stream_token_find(text, "ROUNDTABLE", &token));
    assert_false(token.is_ahead);
}

static void test_a_token_says_that_its_reader_has_what_is_approved(void **state) {
    (void)state;
    static const struct {
        const char *text, *mark;
    } rows[] = {
        {"VLP:" CREATED ":reviewed:42", "reviewed:"},
        {"VLP:" CREATED ":ahead:42", "ahead:"},
        {"VLP:" CREATED ":42", ""},
    };
    struct stream_token token;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(stream_token_find(rows[i].text, "VLP", &token));
        assert_string_equal(stream_token_mark(&token), rows[i].mark);
        assert_int_equal(token.sequence, 42);
        assert_true(parley_bytes_equal(token.created, PARLEY_BYTES(CREATED)));
    }
    assert_invalid("since", "VLP:" CREATED ":reviewed:ahead:42");
    assert_invalid("since", "VLP:" CREATED ":approved:42");
    assert_invalid("since", "VLP:reviewed:42");
}

static void test_reviewed_is_true_or_false_where_there_are_reviews(void **state) {
    (void)state;
    struct stream_query query;
    assert_int_equal(set(&query, "reviewed", "true"), STREAM_QUERY_SET);
    assert_true(query.is_reviewed);
    assert_int_equal(set(&query, "reviewed", "false"), STREAM_QUERY_SET);
    assert_false(query.is_reviewed);
    assert_invalid("reviewed", "True");
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        assert_int_equal(stream_query_concerns("reviewed", parley_protocols[i]),
                         parley_protocols[i]->reviews != NULL);
    }
    assert_true(stream_query_concerns("reviewed", NULL));
    assert_false(stream_query_concerns_refused("reviewed"));
    assert_true(stream_query_concerns_refused("since"));
    assert_false(stream_query_is_filter("reviewed"));
}

static void test_the_last_event_id_wins_over_since(void **state) {
    (void)state;
    struct stream_query query;
    const char *wants = NULL;
    assert_int_equal(set(&query, "since", "all"), STREAM_QUERY_SET);
    assert_int_equal(stream_query_set_last_event(&query, "VLP:" CREATED ":7", &wants),
                     STREAM_QUERY_SET);
    assert_int_equal(query.since, STREAM_SINCE_TOKEN);
    assert_int_equal(set(&query, "since", "all"), STREAM_QUERY_SET);
    assert_int_equal(stream_query_set_last_event(&query, "", &wants), STREAM_QUERY_IGNORED);
    assert_int_equal(query.since, STREAM_SINCE_ALL);
    assert_int_equal(stream_query_set_last_event(&query, "7", &wants), STREAM_QUERY_INVALID);
    assert_non_null(wants);
}

static void test_follow_limit_and_envelope_are_checked(void **state) {
    (void)state;
    struct stream_query query;
    assert_int_equal(set(&query, "follow", "false"), STREAM_QUERY_SET);
    assert_true(query.is_ending);
    assert_int_equal(set(&query, "follow", "true"), STREAM_QUERY_SET);
    assert_false(query.is_ending);
    assert_int_equal(set(&query, "limit", "3"), STREAM_QUERY_SET);
    assert_int_equal(query.limit, 3);
    assert_int_equal(set(&query, "envelope", "none"), STREAM_QUERY_SET);
    assert_true(query.is_bare);
    assert_invalid("follow", "");
    assert_invalid("follow", "no");
    assert_invalid("limit", "");
    assert_invalid("limit", "0");
    assert_invalid("limit", "-1");
    assert_invalid("limit", "3x");
    assert_invalid("limit", "18446744073709551616");
    assert_invalid("envelope", "");
    assert_invalid("envelope", "event");
}

static void test_filters_are_lists_without_empty_items(void **state) {
    (void)state;
    struct stream_query query;
    assert_int_equal(set(&query, "sender", "The Observer,B"), STREAM_QUERY_SET);
    assert_string_equal(query.filters[STREAM_FILTER_SENDER], "The Observer,B");
    assert_null(query.filters[STREAM_FILTER_RECEIVER]);
    assert_int_equal(set(&query, "thread", "t"), STREAM_QUERY_SET);
    assert_string_equal(query.filters[STREAM_FILTER_THREAD], "t");
    assert_invalid("type", "");
    assert_invalid("type", "a,");
    assert_invalid("lane", ",a");
    assert_invalid("receiver", "a,,b");
}

static void test_agents_and_domains_are_tokens_of_a_subject(void **state) {
    (void)state;
    struct stream_query query;
    assert_int_equal(set(&query, "agent", "coder-1,B_2"), STREAM_QUERY_SET);
    assert_int_equal(set(&query, "domain", "security,_"), STREAM_QUERY_SET);
    assert_invalid("agent", "_"); /* which stands for none */
    assert_invalid("agent", "coder-1,*");
    assert_invalid("agent", "a.b");
    assert_invalid("agent", "a,");
    assert_invalid("domain", "security.briefing");
    assert_invalid("domain", "a,>");
}

static void test_a_list_has_its_items_and_no_others(void **state) {
    (void)state;
    assert_true(stream_list_has("a,bc", PARLEY_BYTES("a")));
    assert_true(stream_list_has("a,bc", PARLEY_BYTES("bc")));
    assert_false(stream_list_has("a,bc", PARLEY_BYTES("b")));
    assert_false(stream_list_has("a,bc", PARLEY_BYTES("a,bc")));
    assert_false(stream_list_has("a,bc", PARLEY_BYTES("A")));
    assert_false(stream_list_has("a,bc", PARLEY_BYTES("")));
}

static void test_the_names_that_a_refusal_lists_are_those_that_are_taken(void **state) {
    (void)state;
    struct stream_query query;
    const char *wants = NULL;
    size_t count = 0;
    for (; stream_query_names[count] != NULL; count++) {
        stream_query_init(&query);
        assert_int_equal(stream_query_set(&query, stream_query_names[count], "", NOW, &wants),
                         STREAM_QUERY_INVALID);
    }
    assert_int_equal(count, 5 + STREAM_OPTION_COUNT);
}

static void test_options_of_others_are_ignored_and_unknown_ones_are_not(void **state) {
    (void)state;
    struct stream_query query;
    assert_int_equal(set(&query, "strict", "whatever"), STREAM_QUERY_IGNORED);
    assert_int_equal(set(&query, "results", "errors"), STREAM_QUERY_IGNORED);
    assert_int_equal(set(&query, "folow", "false"), STREAM_QUERY_UNKNOWN);
    assert_int_equal(set(&query, "", ""), STREAM_QUERY_UNKNOWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_query_wants_everything_from_now_on),
        cmocka_unit_test(test_since_takes_words_and_sequences),
        cmocka_unit_test(test_since_takes_times),
        cmocka_unit_test(test_since_takes_durations),
        cmocka_unit_test(test_a_time_to_come_is_known_as_such),
        cmocka_unit_test(test_since_refuses_what_cannot_be),
        cmocka_unit_test(test_a_token_says_where_each_stream_was),
        cmocka_unit_test(test_a_token_says_that_its_reader_waits),
        cmocka_unit_test(test_a_token_says_that_its_reader_has_what_is_approved),
        cmocka_unit_test(test_reviewed_is_true_or_false_where_there_are_reviews),
        cmocka_unit_test(test_the_last_event_id_wins_over_since),
        cmocka_unit_test(test_follow_limit_and_envelope_are_checked),
        cmocka_unit_test(test_filters_are_lists_without_empty_items),
        cmocka_unit_test(test_agents_and_domains_are_tokens_of_a_subject),
        cmocka_unit_test(test_a_list_has_its_items_and_no_others),
        cmocka_unit_test(test_the_names_that_a_refusal_lists_are_those_that_are_taken),
        cmocka_unit_test(test_options_of_others_are_ignored_and_unknown_ones_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
