/* SPDX-License-Identifier: Apache-2.0 */

/* Stored messages as events, byte for byte. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream_event.h"

#define CREATED "2025-12-01T00:00:00.5Z"
#define STORED_NS INT64_C(1765708200000000042) /* 2025-12-14T10:30:00.000000042Z */

#define MEMBERS                                                                                    \
    "\"id\":\"MSG001\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","                               \
    "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"The Observer\",\"receiver\":\"B\","       \
    "\"session_id\":\"s-1\",\"content\":\"Water \\\"boils\\\"\",\"confidence\":0.85"
#define CLAIM "{" MEMBERS "}"

extern const struct parley_protocol vlp_protocol;
static const struct channel vlp_channel = {
    .name = "vlp", .protocol = &vlp_protocol, .stream = "VLP", .subjects = "vlp.>"};

struct fixture {
    struct parley_schema *schema;
    struct stream_renderer renderer;
};

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    *state = fixture;
    if (fixture == NULL || parley_schema_create(parley_protocol_find(PARLEY_BYTES("vlp")),
                                                &fixture->schema) != PARLEY_OK) {
        return -1;
    }
    stream_renderer_init(&fixture->renderer, fixture->schema, &vlp_channel);
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    stream_renderer_finish(&fixture->renderer);
    parley_schema_destroy(fixture->schema);
    free(fixture);
    return 0;
}

static struct stream_event *render(void **state, struct parley_bytes payload) {
    struct fixture *fixture = *state;
    const struct jetstream_stored stored = {
        .sequence = 42, .time_ns = STORED_NS, .subject = "vlp.safe.claim", .payload = payload};
    struct stream_event *event = stream_render(&fixture->renderer, CREATED, &stored);
    assert_non_null(event);
    return event;
}

static void assert_bytes(struct parley_bytes bytes, const char *expected) {
    char *text = strndup(bytes.data != NULL ? bytes.data : "", bytes.length);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void test_a_valid_message_becomes_an_event(void **state) {
    struct stream_event *event = render(state, PARLEY_BYTES(CLAIM));
    assert_bytes(event->text,
                 "{\"specversion\":\"1.0\",\"id\":\"MSG001\",\"source\":\"/vlp/The%20Observer\","
                 "\"type\":\"vlp.claim\",\"subject\":\"vlp.safe.claim\","
                 "\"time\":\"2025-12-14T10:30:00Z\",\"datacontenttype\":\"application/json\","
                 "\"sequence\":\"42\",\"recordedtime\":\"2025-12-14T10:30:00.000000042Z\","
                 "\"resume\":\"VLP:" CREATED ":42\",\"data\":" CLAIM "}");
    assert_bytes(event->bare, CLAIM);
    assert_bytes(event->token, "VLP:" CREATED ":42");
    assert_int_equal(event->line.length, event->text.length + 1);
    assert_ptr_equal(event->line.data, event->text.data);
    assert_int_equal(event->line.data[event->text.length], '\n');
    assert_int_equal(event->sequence, 42);
    assert_true(event->time_ns == STORED_NS);
    stream_event_unref(event);
}

static void test_the_token_in_an_event_is_one_that_is_understood(void **state) {
    struct stream_event *event = render(state, PARLEY_BYTES(CLAIM));
    char *text = strndup(event->token.data, event->token.length);
    struct stream_token token;
    assert_non_null(text);
    assert_true(stream_token_find(text, "VLP", &token));
    assert_int_equal(token.sequence, 42);
    free(text);
    stream_event_unref(event);
}

static void test_a_message_on_several_lines_becomes_one_line(void **state) {
    struct stream_event *event = render(state, PARLEY_BYTES("{\r\n\t" MEMBERS "\n}\n"));
    assert_bytes(event->bare, CLAIM);
    assert_null(memchr(event->text.data, '\n', event->text.length));
    assert_null(memchr(event->text.data, '\r', event->text.length));
    stream_event_unref(event);
}

static void assert_holds(const struct stream_event *event, const char *part) {
    char *text = strndup(event->text.data, event->text.length);
    assert_non_null(text);
    if (strstr(text, part) == NULL) {
        fail_msg("%s\nlacks\n%s", text, part);
    }
    free(text);
}

/* `reason`: what it begins with. */
static void assert_foreign(struct stream_event *event, const char *reason, const char *base64) {
    char start[512], end[512];
    const int start_length =
        snprintf(start, sizeof start,
                 "{\"specversion\":\"1.0\",\"id\":\"VLP:42\",\"source\":\"/vlp\","
                 "\"type\":\"parley.foreign\",\"subject\":\"vlp.safe.claim\","
                 "\"time\":\"2025-12-14T10:30:00.000000042Z\",\"sequence\":\"42\","
                 "\"recordedtime\":\"2025-12-14T10:30:00.000000042Z\","
                 "\"resume\":\"VLP:" CREATED ":42\",\"reason\":\"%s",
                 reason);
    const int end_length = snprintf(end, sizeof end, "\",\"data_base64\":\"%s\"}", base64);
    char *text = strndup(event->text.data, event->text.length);
    assert_non_null(text);
    if (strncmp(text, start, (size_t)start_length) != 0 ||
        strcmp(text + event->text.length - end_length, end) != 0) {
        fail_msg("%s\nis not\n%s … %s", text, start, end);
    }
    free(text);
    assert_null(event->bare.data);
    stream_event_unref(event);
}

static void test_what_is_no_text_comes_as_foreign_and_says_why(void **state) {
    assert_foreign(render(state, PARLEY_BYTES("hello\n\377")), "GW-", "aGVsbG8K/w==");
}

static void test_what_breaks_a_rule_comes_as_foreign_and_says_which(void **state) {
    assert_foreign(render(state, PARLEY_BYTES("{}")), "VLP-001 /id: ", "e30=");
    struct stream_event *event = render(state, PARLEY_BYTES("{}"));
    assert_holds(event, "; VLP-002 /protocol: ");
    assert_holds(event, "; VLP-007 /confidence: ");
    stream_event_unref(event);
}

static void test_a_foreign_event_names_some_violations_and_counts_the_rest(void **state) {
    struct stream_event *event =
        render(state, PARLEY_BYTES("{" MEMBERS ",\"provenance\":[1,2,3,4,5,6,7,8,9,10,11,12]}"));
    assert_holds(event, "\"reason\":\"VLP-008 /provenance/0: ");
    assert_holds(event, "; VLP-008 /provenance/7: ");
    assert_holds(event, "; and 4 more\",\"data_base64\":");
    stream_event_unref(event);
}

/* CloudEvents allows none in a String: neither ours nor those that a key of the message has. (D10)
 */
static void test_the_reason_of_a_foreign_event_has_no_control_characters(void **state) {
    struct stream_event *event =
        render(state, PARLEY_BYTES("{\"a\\nb\\u0001\\u0085c\":1,\"a\\nb\\u0001\\u0085c\":2}"));
    assert_holds(event, "\"reason\":\"GW-003 /a b   c: ");
    stream_event_unref(event);
}

static void test_an_empty_payload_comes_as_foreign(void **state) {
    assert_foreign(render(state, (struct parley_bytes){"", 0}), "GW-001: ", "");
}

static void test_a_renderer_is_used_again_after_a_giant_message(void **state) {
    size_t size = 2 * 1024 * 1024;
    char *giant = malloc(size);
    assert_non_null(giant);
    memset(giant, 'x', size);
    struct stream_event *event = render(state, (struct parley_bytes){giant, size});
    assert_true(event->text.length > size * 4 / 3);
    stream_event_unref(event);
    free(giant);
    event = render(state, PARLEY_BYTES(CLAIM));
    assert_bytes(event->bare, CLAIM);
    stream_event_unref(event);
}

static void test_a_message_over_the_limit_for_new_ones_is_still_read(void **state) {
    size_t size = 3 * 1024 * 1024;
    char *large = malloc(size + sizeof CLAIM + 32);
    assert_non_null(large);
    size_t length = (size_t)sprintf(large, "{" MEMBERS ",\"topic\":\"");
    memset(large + length, 'x', size);
    length += size;
    memcpy(large + length, "\"}", 2);
    struct stream_event *event = render(state, (struct parley_bytes){large, length + 2});
    assert_bytes(event->facts[STREAM_FILTER_TYPE], "vlp.claim");
    assert_int_equal(event->bare.length, length + 2);
    stream_event_unref(event);
    free(large);
}

static bool matches(const struct stream_event *event, enum stream_filter filter, const char *list) {
    struct stream_query query;
    stream_query_init(&query);
    stream_query_filter(&query, filter, list);
    return stream_event_matches(event, &query);
}

static void test_filters_pass_what_they_name(void **state) {
    struct stream_event *event = render(state, PARLEY_BYTES(CLAIM));
    assert_true(matches(event, STREAM_FILTER_TYPE, "claim"));
    assert_true(matches(event, STREAM_FILTER_TYPE, "query,vlp.claim"));
    assert_true(matches(event, STREAM_FILTER_LANE, "safe"));
    assert_true(matches(event, STREAM_FILTER_SENDER, "The Observer"));
    assert_true(matches(event, STREAM_FILTER_RECEIVER, "A,B"));
    assert_true(matches(event, STREAM_FILTER_THREAD, "s-1"));
    assert_false(matches(event, STREAM_FILTER_TYPE, "query"));
    assert_false(matches(event, STREAM_FILTER_TYPE, "Claim"));
    assert_false(matches(event, STREAM_FILTER_LANE, "review,block"));
    assert_false(matches(event, STREAM_FILTER_SENDER, "The%20Observer"));
    assert_false(matches(event, STREAM_FILTER_RECEIVER, "A"));
    assert_false(matches(event, STREAM_FILTER_THREAD, "s"));
    stream_event_unref(event);
}

static void test_filters_must_all_pass(void **state) {
    struct stream_event *event = render(state, PARLEY_BYTES(CLAIM));
    struct stream_query query;
    stream_query_init(&query);
    assert_true(stream_event_matches(event, &query));
    stream_query_filter(&query, STREAM_FILTER_TYPE, "claim");
    stream_query_filter(&query, STREAM_FILTER_LANE, "block");
    assert_false(stream_event_matches(event, &query));
    stream_query_filter(&query, STREAM_FILTER_LANE, "safe");
    assert_true(stream_event_matches(event, &query));
    stream_event_unref(event);
}

static void test_a_foreign_message_passes_no_filter_but_its_own_type(void **state) {
    struct stream_event *event = render(state, PARLEY_BYTES("?"));
    assert_true(matches(event, STREAM_FILTER_TYPE, "parley.foreign"));
    assert_false(matches(event, STREAM_FILTER_TYPE, "claim"));
    assert_false(matches(event, STREAM_FILTER_LANE, "safe"));
    assert_false(matches(event, STREAM_FILTER_SENDER, "The Observer"));
    assert_false(matches(event, STREAM_FILTER_RECEIVER, "B"));
    assert_false(matches(event, STREAM_FILTER_THREAD, "s-1"));
    stream_event_unref(event);
}

static void test_a_gap_says_what_is_gone(void **state) {
    (void)state;
    struct stream_event *event = stream_render_gap(&vlp_channel, 3, 9, PARLEY_BYTES("TOKEN"));
    assert_non_null(event);
    assert_holds(event, "{\"specversion\":\"1.0\",\"id\":\"VLP:3-9\",\"source\":\"/vlp\","
                        "\"type\":\"parley.gap\",\"time\":\"2");
    assert_holds(event, "Z\",\"datacontenttype\":\"application/json\",\"resume\":\"TOKEN\","
                        "\"data\":{\"stream\":\"VLP\",\"first\":3,\"last\":9}}");
    assert_bytes(event->token, "TOKEN");
    assert_null(event->bare.data);
    stream_event_unref(event);
}

static void test_a_gap_into_another_life_has_no_last(void **state) {
    (void)state;
    struct stream_event *event = stream_render_gap(&vlp_channel, 43, 0, PARLEY_BYTES("TOKEN"));
    assert_non_null(event);
    assert_holds(event, "\"data\":{\"stream\":\"VLP\",\"first\":43,\"last\":null}}");
    stream_event_unref(event);
}

static void test_the_end_bears_a_token_to_come_back_with(void **state) {
    (void)state;
    struct stream_event *event =
        stream_render_end("r1", "/v1/stream", PARLEY_BYTES("TOKEN"), "draining");
    assert_non_null(event);
    assert_holds(event, "{\"specversion\":\"1.0\",\"id\":\"r1\",\"source\":\"/v1/stream\","
                        "\"type\":\"parley.end\",\"time\":\"2");
    assert_holds(event, "\"resume\":\"TOKEN\",\"data\":{\"reason\":\"draining\"}}");
    stream_event_unref(event);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_valid_message_becomes_an_event),
        cmocka_unit_test(test_the_token_in_an_event_is_one_that_is_understood),
        cmocka_unit_test(test_a_message_on_several_lines_becomes_one_line),
        cmocka_unit_test(test_what_is_no_text_comes_as_foreign_and_says_why),
        cmocka_unit_test(test_what_breaks_a_rule_comes_as_foreign_and_says_which),
        cmocka_unit_test(test_a_foreign_event_names_some_violations_and_counts_the_rest),
        cmocka_unit_test(test_the_reason_of_a_foreign_event_has_no_control_characters),
        cmocka_unit_test(test_an_empty_payload_comes_as_foreign),
        cmocka_unit_test(test_a_renderer_is_used_again_after_a_giant_message),
        cmocka_unit_test(test_a_message_over_the_limit_for_new_ones_is_still_read),
        cmocka_unit_test(test_filters_pass_what_they_name),
        cmocka_unit_test(test_filters_must_all_pass),
        cmocka_unit_test(test_a_foreign_message_passes_no_filter_but_its_own_type),
        cmocka_unit_test(test_a_gap_says_what_is_gone),
        cmocka_unit_test(test_a_gap_into_another_life_has_no_last),
        cmocka_unit_test(test_the_end_bears_a_token_to_come_back_with),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
