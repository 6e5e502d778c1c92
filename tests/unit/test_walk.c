/* SPDX-License-Identifier: Apache-2.0 */

/* The rule engine, by a table made for it: what is asked where, what is said of it, and how much.
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <parley/message.h>

#include "engine/json.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { ONE, TWO };
enum { TYPE, PEER, LIST_FIELD };

static bool has_no_peer(const struct parley_facts *facts) {
    return facts->values[PEER].kind == PARLEY_ABSENT || facts->values[PEER].text.length == 0;
}

static const struct parley_rule rules[] = {
    {.id = "T-01",
     .hint = "h",
     PARLEY_PLACES({.path = "/type",
                    .kinds = PARLEY_STRING,
                    .is_required = true,
                    .constraint = PARLEY_ONE_OF,
                    .choices = LIST("one", "two")})},
    {.id = "T-02",
     .hint = "h",
     PARLEY_PLACES({.path = "/name", .kinds = PARLEY_STRING, .is_required = true},
                   {.path = "/box/name", .kinds = PARLEY_STRING, .is_required = true})},
    {.id = "T-03",
     .severity = PARLEY_WARNING,
     .hint = "h",
     PARLEY_PLACES(
         {.path = "/name", .kinds = PARLEY_STRING, .constraint = PARLEY_MIN_LENGTH, .minimum = 3})},
    {.id = "T-04",
     .hint = "h",
     PARLEY_PLACES({.path = "/size",
                    .kinds = PARLEY_NUMBER,
                    .is_required = true,
                    .for_types = PARLEY_TYPE_BIT(ONE)},
                   {.path = "/size",
                    .kinds = PARLEY_STRING | PARLEY_NUMBER,
                    .for_types = PARLEY_TYPE_BIT(TWO)})},
    {.id = "T-05",
     .hint = "h",
     PARLEY_PLACES({.path = "/list", .kinds = PARLEY_ARRAY},
                   {.path = "/list/*",
                    .kinds = PARLEY_INTEGER | PARLEY_OBJECT,
                    .constraint = PARLEY_MINIMUM,
                    .minimum = 0},
                   {.path = "/list/*/id", .is_required = true})},
    {.id = "T-06",
     .hint = "h",
     PARLEY_PLACES({.path = "/map", .kinds = PARLEY_OBJECT, .for_types = PARLEY_TYPE_BIT(ONE)},
                   {.path = "/map/*", .kinds = PARLEY_NUMBER})},
    {.id = "T-07",
     .hint = "h",
     PARLEY_PLACES({.path = "/peer",
                    .for_types = PARLEY_TYPE_BIT(TWO),
                    .is_broken = has_no_peer,
                    .message = "there is no peer"})},
    {.id = "T-08",
     .severity = PARLEY_WARNING,
     .hint = "h",
     PARLEY_PLACES({.path = "/list/*", .kinds = PARLEY_NUMBER, .hint = "its own"})},
};

static const char *const types[] = {"one", "two", NULL};
static const char *const fields[] = {"/type", "/peer", "/list", NULL};

static enum parley_status route(struct parley_message *message, struct parley_route *out) {
    (void)message;
    *out = (struct parley_route){0};
    return PARLEY_OK;
}

static const struct parley_protocol protocol = {.name = "t",
                                                .message_bytes_max = 1 << 24,
                                                .types = types,
                                                .fields = fields,
                                                .type_field = TYPE,
                                                .rules = rules,
                                                .rule_count = sizeof rules / sizeof rules[0],
                                                .decode = json_decode,
                                                .validate = json_validate,
                                                .encode = json_encode,
                                                .route = route};

static int set_up(void **state) {
    static struct parley_message message;
    struct parley_schema *schema;
    if (parley_schema_create(&protocol, &schema) != PARLEY_OK) {
        return -1;
    }
    parley_message_init(&message, schema);
    *state = &message;
    return 0;
}

static int tear_down(void **state) {
    struct parley_message *message = *state;
    struct parley_schema *schema = (struct parley_schema *)message->schema;
    parley_message_finish(message);
    parley_schema_destroy(schema);
    return 0;
}

static void check(struct parley_message *message, struct parley_bytes text) {
    const struct parley_options options = {0};
    assert_int_equal(parley_message_check(message, text, &parley_codec_json, &options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_true(message->is_decoded);
}

/* `wanted`: "T-01 /type@1:2", a finding a word pair. */
static void assert_finds(struct parley_message *message, const char *text, const char *wanted) {
    struct parley_buffer got;
    parley_buffer_init(&got);
    check(message, parley_bytes_of(text));
    for (size_t i = 0; i < message->findings.count; i++) {
        const struct parley_finding *finding = &message->findings.items[i];
        parley_buffer_format(&got, "%s%s %s@%zu:%zu", i == 0 ? "" : " ", finding->rule->id,
                             finding->path, finding->at.line, finding->at.column);
    }
    parley_buffer_char(&got, '\0');
    assert_string_equal(got.data, wanted);
    parley_buffer_finish(&got);
}

static void test_a_message_that_keeps_the_rules_has_no_findings(void **state) {
    assert_finds(*state, "{\"type\":\"one\",\"name\":\"abc\",\"size\":1}", "");
    assert_true(parley_message_is_valid(*state));
    assert_int_equal(((struct parley_message *)*state)->type, ONE);
}

static void test_a_missing_member_is_told_at_its_object(void **state) {
    assert_finds(*state, "{\"type\":\"one\",\n \"size\":1, \"box\": {}}",
                 "T-02 /box/name@2:19 T-02 /name@1:1");
}

static void test_members_of_a_missing_object_are_not_asked_for(void **state) {
    assert_finds(*state, "{\"type\":\"one\",\"size\":1,\"name\":\"abc\"}", "");
}

static void test_members_of_what_is_no_object_are_not_asked_for(void **state) {
    assert_finds(*state, "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\"box\":3}", "");
    assert_finds(*state, "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\"box\":[{}]}", "");
}

static void test_once_a_rule_has_failed_those_below_it_are_not_asked(void **state) {
    assert_finds(*state, "{\"type\":\"one\",\"size\":1,\"name\":1}", "T-02 /name@1:31");
    assert_finds(*state, "{\"type\":\"one\",\"size\":1,\"name\":\"ab\"}", "T-03 /name@1:31");
}

static void test_warnings_leave_a_message_valid(void **state) {
    assert_finds(*state, "{\"type\":\"one\",\"size\":1,\"name\":\"ab\"}", "T-03 /name@1:31");
    assert_true(parley_message_is_valid(*state));
}

static void test_a_rule_of_another_type_does_not_count_even_if_the_type_comes_last(void **state) {
    assert_finds(*state, "{\"size\":\"s\",\"name\":\"abc\",\"peer\":\"p\",\"type\":\"two\"}", "");
    assert_true(parley_message_is_valid(*state));
    assert_finds(*state, "{\"size\":\"s\",\"name\":\"abc\",\"type\":\"one\"}", "T-04 /size@1:9");
    assert_finds(*state, "{\"name\":\"abc\",\"type\":\"one\"}", "T-04 /size@1:1");
    assert_finds(*state, "{\"size\":null,\"name\":\"abc\",\"peer\":\"p\",\"type\":\"two\"}",
                 "T-04 /size@1:9");
}

static void test_rules_for_certain_types_do_not_count_for_an_unknown_type(void **state) {
    assert_finds(*state, "{\"type\":\"three\",\"name\":\"abc\",\"size\":true}", "T-01 /type@1:9");
    assert_int_equal(((struct parley_message *)*state)->type, PARLEY_TYPE_OTHER);
}

static void test_a_value_of_the_wrong_kind_is_not_looked_into(void **state) {
    assert_finds(*state, "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\"list\":{\"a\":true}}",
                 "T-05 /list@1:44");
    assert_finds(*state, "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\"map\":[true]}",
                 "T-06 /map@1:43");
}

static void test_the_wrong_kind_for_one_type_is_looked_into_for_the_others(void **state) {
    assert_finds(*state, "{\"type\":\"two\",\"peer\":\"p\",\"name\":\"abc\",\"map\":[true]}",
                 "T-06 /map/0@1:46");
}

static void test_a_star_is_every_item_and_every_member(void **state) {
    assert_finds(
        *state,
        "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\n\"list\":[1,2.0,1.5,{\"id\":null},{}],\n"
        "\"map\":{\"\":1,\"a~/b\":null,\"\\u00e9\":[]}}",
        "T-05 /list/2@2:15 T-05 /list/4/id@2:31 T-06 /map/a~0~1b@3:20 "
        "T-06 /map/\xC3\xA9@3:34 T-08 /list/3@2:19 T-08 /list/4@2:31");
}

static void test_a_warning_does_not_hide_what_is_wrong_inside(void **state) {
    assert_finds(*state, "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\"list\":[{}]}",
                 "T-05 /list/0/id@1:45 T-08 /list/0@1:45");
}

static void test_findings_are_in_the_order_of_the_table_then_of_the_text(void **state) {
    assert_finds(*state, "{\"list\":[\"a\",\"b\"],\"size\":null,\"name\":\"n\",\"type\":\"one\"}",
                 "T-03 /name@1:38 T-04 /size@1:26 T-05 /list/0@1:10 T-05 /list/1@1:14");
}

static void test_rules_over_several_members_see_the_facts(void **state) {
    assert_finds(*state, "{\"peer\":\"\",\"name\":\"abc\",\"type\":\"two\"}", "T-07 /peer@1:9");
    assert_finds(*state, "\n {\"name\":\"abc\",\"type\":\"two\"}", "T-07 /peer@2:2");
    assert_finds(*state, "{\"peer\":\"\",\"name\":\"abc\",\"type\":\"one\",\"size\":1}", "");
}

static void test_facts_hold_kind_text_and_count(void **state) {
    struct parley_message *message = *state;
    check(message,
          PARLEY_BYTES("{\"type\":\"one\",\"peer\":\"a\\u0000b\",\"list\":[1,{\"id\":[1,2]},3]}"));
    assert_int_equal(message->values[PEER].kind, PARLEY_STRING);
    assert_true(parley_bytes_equal(message->values[PEER].text, PARLEY_BYTES("a\0b")));
    assert_int_equal(message->values[LIST_FIELD].kind, PARLEY_ARRAY);
    assert_int_equal(message->values[LIST_FIELD].count, 3);
    check(message, PARLEY_BYTES("{}"));
    assert_int_equal(message->values[PEER].kind, PARLEY_ABSENT);
    assert_int_equal(message->values[LIST_FIELD].kind, PARLEY_ABSENT);
}

static void test_columns_count_code_points_and_lines_count_line_feeds(void **state) {
    assert_finds(*state,
                 "{\"\xF0\x9F\x98\x80\xC3\xA9\":1,\"type\":\"one\",\"size\":1,\r\n\t\"name\":1}",
                 "T-02 /name@2:9");
}

static void test_places_count_from_where_the_message_lies_in_the_body(void **state) {
    struct parley_message *message = *state;
    const struct parley_options options = {0};
    assert_int_equal(
        parley_message_check(
            message,
            PARLEY_BYTES("{\"type\":\"one\",\"size\":1,\"name\":1,\n\"box\":1,\"list\":1}"),
            &parley_codec_json, &options, (struct parley_position){7, 40}),
        PARLEY_OK);
    assert_int_equal(message->findings.count, 2);
    assert_int_equal(message->findings.items[0].at.line, 7);
    assert_int_equal(message->findings.items[0].at.column, 70);
    assert_int_equal(message->findings.items[1].at.line, 8);
    assert_int_equal(message->findings.items[1].at.column, 16);
}

/* ---- words ---- */

static void assert_says(struct parley_message *message, const char *member, const char *wanted) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "{\"type\":\"one\",\"name\":\"abc\",\"size\":1,%s}", member);
    check(message, parley_buffer_bytes(&text));
    assert_int_equal(message->findings.count, 1);
    assert_string_equal(message->findings.items[0].message, wanted);
    parley_buffer_finish(&text);
}

static void test_messages_say_what_is_there_and_what_is_wanted(void **state) {
    assert_says(*state, "\"box\":{}", "`box/name` is missing; a string is wanted");
    assert_says(*state, "\"box\":{\"name\":null}", "`box/name` is null; a string is wanted");
    assert_says(*state, "\"box\":{\"name\":false}", "`box/name` is false; a string is wanted");
    assert_says(*state, "\"box\":{\"name\":0.85}", "`box/name` is 0.85; a string is wanted");
    assert_says(*state, "\"list\":{}", "`list` is an object; an array is wanted");
    assert_says(*state, "\"map\":[]", "`map` is an array; an object is wanted");
    assert_says(*state, "\"list\":[-1]",
                "`list/0` is -1; an integer of 0 or more or an object is wanted");
    assert_says(*state, "\"map\":{\"a\":\"\\u0000\\\"\"}",
                "`map/a` is \"\\u0000\\\"\"; a number is wanted");
}

static void test_long_strings_are_cut_between_characters_in_messages(void **state) {
    struct parley_buffer member, wanted;
    parley_buffer_init(&member);
    parley_buffer_init(&wanted);
    parley_buffer_text(&member, "\"map\":{\"a\":\"x");
    parley_buffer_text(&wanted, "`map/a` is \"x");
    for (int i = 0; i < 40; i++) {
        parley_buffer_text(&member, "\xC3\xA9");
        parley_buffer_text(&wanted, i < 29 ? "\xC3\xA9" : "");
    }
    parley_buffer_text(&member, "\"}");
    parley_buffer_text(&wanted, "\"… (81 bytes); a number is wanted");
    parley_buffer_char(&member, '\0');
    parley_buffer_char(&wanted, '\0');
    assert_says(*state, member.data, wanted.data);
    parley_buffer_finish(&member);
    parley_buffer_finish(&wanted);
}

static void test_a_place_may_have_a_hint_of_its_own(void **state) {
    struct parley_message *message = *state;
    check(message,
          PARLEY_BYTES("{\"type\":\"one\",\"name\":\"abc\",\"size\":true,\"list\":[{\"id\":1}]}"));
    assert_int_equal(message->findings.count, 2);
    assert_string_equal(message->findings.items[0].hint, "h");
    assert_string_equal(message->findings.items[1].hint, "its own");
}

/* ---- many findings ---- */

/* `start`, then `item` as often as `count` says, then `end`. */
static void check_many(struct parley_message *message, const char *start, const char *item,
                       size_t count, const char *end) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, start);
    for (size_t i = 0; i < count; i++) {
        parley_buffer_text(&text, i == 0 ? "" : ",");
        parley_buffer_text(&text, item);
    }
    parley_buffer_text(&text, end);
    check(message, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
}

#define VALID_ONE "{\"type\":\"one\",\"name\":\"abc\",\"size\":1,\"list\":["

static void test_findings_beyond_the_maximum_are_counted(void **state) {
    struct parley_message *message = *state;
    check_many(message, VALID_ONE, "null", PARLEY_FINDINGS_MAX, "]}");
    assert_int_equal(message->findings.count, PARLEY_FINDINGS_MAX);
    assert_int_equal(message->findings.omitted_count, 0);
    check_many(message, VALID_ONE, "null", PARLEY_FINDINGS_MAX + 7, "]}");
    assert_int_equal(message->findings.count, PARLEY_FINDINGS_MAX);
    assert_int_equal(message->findings.omitted_count, 7);
    assert_string_equal(message->findings.items[PARLEY_FINDINGS_MAX - 1].path, "/list/999");
}

static void test_how_many_were_left_out_is_told(void **state) {
    struct parley_message *message = *state;
    struct parley_buffer text;
    parley_buffer_init(&text);
    check_many(message, VALID_ONE, "null", PARLEY_FINDINGS_MAX + 7, "]}");
    parley_findings_write(&message->findings, &text);
    parley_buffer_char(&text, '\0');
    assert_non_null(strstr(text.data, "}],\"violations_omitted\":7"));
    parley_buffer_finish(&text);
}

static void test_an_error_behind_too_many_warnings_still_counts(void **state) {
    struct parley_message *message = *state;
    check_many(message, VALID_ONE, "{\"id\":1}", PARLEY_FINDINGS_MAX, "]}");
    assert_true(parley_message_is_valid(message));
    check_many(message, VALID_ONE, "{\"id\":1}", PARLEY_FINDINGS_MAX, ",1.5]}");
    assert_int_equal(message->findings.omitted_count, 1);
    assert_false(parley_message_is_valid(message));
    /* One that holds for this message's type only, which is known at the end. */
    check_many(message, "{\"name\":\"abc\",\"list\":[", "{\"id\":1}", PARLEY_FINDINGS_MAX,
               "],\"type\":\"one\"}");
    assert_int_equal(message->findings.omitted_count, 1);
    assert_false(parley_message_is_valid(message));
    /* One over several members. */
    check_many(message, "{\"name\":\"abc\",\"list\":[", "{\"id\":1}", PARLEY_FINDINGS_MAX,
               "],\"size\":1,\"type\":\"two\"}");
    assert_false(parley_message_is_valid(message));
}

static void test_an_error_of_another_type_behind_too_many_warnings_does_not_count(void **state) {
    struct parley_message *message = *state;
    check_many(message, "{\"name\":\"abc\",\"peer\":\"p\",\"list\":[", "{\"id\":1}",
               PARLEY_FINDINGS_MAX, "],\"type\":\"two\"}");
    assert_true(parley_message_is_valid(message));
}

static void test_a_hundred_thousand_bad_items_take_bounded_memory(void **state) {
    struct parley_message *message = *state;
    check_many(message, VALID_ONE, "\"a rather long item that is no number at all\"", 100000, "]}");
    assert_int_equal(message->findings.count, PARLEY_FINDINGS_MAX);
    assert_int_equal(message->findings.omitted_count, 100000 - PARLEY_FINDINGS_MAX);
    assert_in_range(message->arena.used_bytes, 1, 2 << 20);
}

static void test_a_bad_member_with_a_long_name_takes_bounded_memory(void **state) {
    struct parley_message *message = *state;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "{\"type\":\"one\",\"name\":\"abc\",\"size\":1,\"map\":{\"");
    for (int i = 0; i < 1000000; i++) {
        parley_buffer_char(&text, 'k');
    }
    parley_buffer_text(&text, "\":true}}");
    check(message, parley_buffer_bytes(&text));
    assert_int_equal(message->findings.count, 1);
    assert_in_range(message->arena.used_bytes, 1, 8 << 20);
    parley_buffer_finish(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_that_keeps_the_rules_has_no_findings),
        cmocka_unit_test(test_a_missing_member_is_told_at_its_object),
        cmocka_unit_test(test_members_of_a_missing_object_are_not_asked_for),
        cmocka_unit_test(test_members_of_what_is_no_object_are_not_asked_for),
        cmocka_unit_test(test_once_a_rule_has_failed_those_below_it_are_not_asked),
        cmocka_unit_test(test_warnings_leave_a_message_valid),
        cmocka_unit_test(test_a_rule_of_another_type_does_not_count_even_if_the_type_comes_last),
        cmocka_unit_test(test_rules_for_certain_types_do_not_count_for_an_unknown_type),
        cmocka_unit_test(test_a_value_of_the_wrong_kind_is_not_looked_into),
        cmocka_unit_test(test_the_wrong_kind_for_one_type_is_looked_into_for_the_others),
        cmocka_unit_test(test_a_star_is_every_item_and_every_member),
        cmocka_unit_test(test_a_warning_does_not_hide_what_is_wrong_inside),
        cmocka_unit_test(test_findings_are_in_the_order_of_the_table_then_of_the_text),
        cmocka_unit_test(test_rules_over_several_members_see_the_facts),
        cmocka_unit_test(test_facts_hold_kind_text_and_count),
        cmocka_unit_test(test_columns_count_code_points_and_lines_count_line_feeds),
        cmocka_unit_test(test_places_count_from_where_the_message_lies_in_the_body),
        cmocka_unit_test(test_messages_say_what_is_there_and_what_is_wanted),
        cmocka_unit_test(test_long_strings_are_cut_between_characters_in_messages),
        cmocka_unit_test(test_a_place_may_have_a_hint_of_its_own),
        cmocka_unit_test(test_findings_beyond_the_maximum_are_counted),
        cmocka_unit_test(test_how_many_were_left_out_is_told),
        cmocka_unit_test(test_an_error_behind_too_many_warnings_still_counts),
        cmocka_unit_test(test_an_error_of_another_type_behind_too_many_warnings_does_not_count),
        cmocka_unit_test(test_a_hundred_thousand_bad_items_take_bounded_memory),
        cmocka_unit_test(test_a_bad_member_with_a_long_name_takes_bounded_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
