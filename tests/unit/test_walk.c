/* SPDX-License-Identifier: Apache-2.0 */

/* The rule engine, by a table made for it: what is asked where, what is said of it, and how much.
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>

#include <parley/message.h>

#include "json/json_message.h"
#include "rules/walk.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { ONE, TWO };
enum { TYPE, PEER, LIST_FIELD, BOX, CHAIN };

static bool has_no_peer(const struct parley_captures *captures) {
    return captures->values[PEER].kind == PARLEY_ABSENT || captures->values[PEER].text.length == 0;
}

static bool has_no_label(const struct parley_captures *captures) {
    return captures->values[BOX].kind == PARLEY_OBJECT && captures->values[BOX].count > 2;
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
    {.id = "T-09",
     .hint = "h",
     PARLEY_PLACES({.path = "/code",
                    .kinds = PARLEY_STRING,
                    .constraint = PARLEY_PATTERN,
                    .pattern = "^[a-z]+(\\.[a-z]{1,2})*$",
                    .words = "a code",
                    .maximum = 6},
                   {.path = "/title",
                    .kinds = PARLEY_STRING,
                    .constraint = PARLEY_MAX_LENGTH,
                    .maximum = 3})},
    {.id = "T-10",
     .hint = "h",
     PARLEY_PLACES(
         {.path = "/rows", .kinds = PARLEY_ARRAY, .constraint = PARLEY_MIN_ITEMS, .minimum = 1},
         {.path = "/rows/*", .kinds = PARLEY_OBJECT, .for_types = PARLEY_TYPE_BIT(ONE)},
         {.path = "/rows/*/n", .kinds = PARLEY_NUMBER, .constraint = PARLEY_INCREASING},
         {.path = "/numbers/*", .kinds = PARLEY_NUMBER, .constraint = PARLEY_INCREASING})},
    {.id = "T-11",
     .hint = "h",
     PARLEY_PLACES({.path = "/map/named", .kinds = PARLEY_INTEGER},
                   {.path = "/grid/*/x", .is_required = true},
                   {.path = "/grid/named/y", .is_required = true})},
    {.id = "T-12",
     .hint = "h",
     PARLEY_PLACES({.path = "/box/label", .is_broken = has_no_label, .message = "no label"})},
    {.id = "T-13", .hint = "the rule's", PARLEY_PLACES({.path = "/chain", .by_inspection = true})},
};

enum { INSPECTED_RULE = 12 };

static const char *const types[] = {"one", "two", NULL};
static const char *const fields[] = {"/type", "/peer", "/list", "/box", "/chain", NULL};

static enum parley_status inspect(struct parley_message *message) {
    const struct parley_value *chain = &message->values[CHAIN];
    if (chain->kind == PARLEY_STRING) {
        return findings_report(message, INSPECTED_RULE,
                               (struct parley_finding){.path = "/chain/inner",
                                                       .message = "broken inside",
                                                       .offset = chain->offset,
                                                       .body_at = {3, 4}});
    }
    return PARLEY_OK;
}

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
                                                .route = route,
                                                .inspect = inspect};

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

static void test_a_pattern_is_asked_of_the_whole_text(void **state) {
    static const struct {
        const char *code;
        bool is_fine;
    } rows[] = {{"abc", true},   {"a.bc.d", true},    {"", false},
                {"A", false},    {"a.bcd", false},    {"a.b.c.d", false},
                {"a\\n", false}, {"a\\u0000", false}, {"abcdefg", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128];
        snprintf(text, sizeof text,
                 "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\"code\":\"%s\"}", rows[i].code);
        assert_finds(*state, text, rows[i].is_fine ? "" : "T-09 /code@1:44");
    }
}

static void test_a_greatest_length_counts_code_points(void **state) {
    assert_finds(
        *state,
        "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\"title\":\"\xC3\xA9\xC3\xA9\xC3\xA9\"}",
        "");
    assert_finds(*state, "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\"title\":\"abcd\"}",
                 "T-09 /title@1:45");
}

static void test_an_array_that_is_too_short_is_told_at_itself(void **state) {
    assert_finds(*state, "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\"rows\":[]}",
                 "T-10 /rows@1:44");
}

static void test_numbers_rise_from_item_to_item_of_their_array(void **state) {
    assert_finds(
        *state,
        "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\n\"rows\":[{\"n\":1},{\"n\":2},{\"n\":2},{"
        "},{\"n\":\"x\"},{\"n\":1.5},{\"n\":3}],\"numbers\":[3,1]}",
        "T-10 /rows/2/n@2:30 T-10 /rows/4/n@2:41 T-10 /rows/5/n@2:51 T-10 /numbers/1@2:78");
}

static void test_what_is_asked_of_every_member_is_asked_of_the_named_ones(void **state) {
    assert_finds(*state,
                 "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\n\"map\":{\"named\":\"s\"}}",
                 "T-06 /map/named@2:16");
    assert_finds(*state, "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\n\"map\":{\"named\":1.5}}",
                 "T-11 /map/named@2:16");
    assert_finds(
        *state, "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\n\"grid\":{\"named\":{},\"b\":{}}}",
        "T-11 /grid/named/y@2:17 T-11 /grid/named/x@2:17 T-11 /grid/b/x@2:24");
}

static void test_a_rule_over_members_is_told_at_the_nearest_fact_around_it(void **state) {
    assert_finds(
        *state,
        "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\n\"box\":{\"name\":\"n\",\"a\":1,\"b\":2}}",
        "T-12 /box/label@2:7");
}

static void test_an_inspection_reports_what_rows_cannot(void **state) {
    struct parley_message *message = *state;
    assert_finds(message, "{\"type\":\"one\",\"size\":1,\"name\":\"abc\",\"chain\":\"x\"}",
                 "T-13 /chain/inner@1:45");
    const struct parley_finding *finding = &message->findings.items[0];
    assert_string_equal(finding->hint, "the rule's");
    assert_int_equal(finding->body_at.line, 3);
    assert_false(parley_message_is_valid(message));
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_findings_write(&message->findings, &text);
    parley_buffer_char(&text, '\0');
    assert_non_null(strstr(text.data, "\"at\":{\"line\":1,\"column\":45},"
                                      "\"body_at\":{\"line\":3,\"column\":4}"));
    parley_buffer_finish(&text);
}

static void test_rows_of_other_types_do_not_fill_the_list_of_findings(void **state) {
    struct parley_message *message = *state;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "{\"rows\":[");
    for (int i = 0; i < 2 * PARLEY_FINDINGS_MAX; i++) {
        parley_buffer_text(&text, i == 0 ? "0" : ",0");
    }
    parley_buffer_text(&text, "],\"size\":\"s\",\"name\":\"abc\",\"peer\":\"p\",\"type\":\"two\"}");
    check(message, parley_buffer_bytes(&text));
    assert_int_equal(message->findings.count, 0);
    assert_int_equal(message->findings.omitted_count, 0);
    parley_buffer_finish(&text);
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
    assert_says(*state, "\"box\":{}", "`box/name` is missing; expected a string");
    assert_says(*state, "\"box\":{\"name\":null}", "`box/name` is null; expected a string");
    assert_says(*state, "\"box\":{\"name\":false}", "`box/name` is false; expected a string");
    assert_says(*state, "\"box\":{\"name\":0.85}", "`box/name` is 0.85; expected a string");
    assert_says(*state, "\"list\":{}", "`list` is an object; expected an array");
    assert_says(*state, "\"map\":[]", "`map` is an array; expected an object");
    assert_says(*state, "\"list\":[-1]",
                "`list/0` is -1; expected an integer of 0 or more or an object");
    assert_says(*state, "\"map\":{\"a\":\"\\u0000\\\"\"}",
                "`map/a` is \"\\u0000\\\"\"; expected a number");
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
    parley_buffer_text(&wanted, "\"… (81 bytes); expected a number");
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

static void test_an_error_behind_too_many_warnings_counts_and_takes_the_place_of_one(void **state) {
    struct parley_message *message = *state;
    check_many(message, VALID_ONE, "{\"id\":1}", PARLEY_FINDINGS_MAX, "]}");
    assert_true(parley_message_is_valid(message));
    check_many(message, VALID_ONE, "{\"id\":1}", PARLEY_FINDINGS_MAX, ",1.5]}");
    assert_int_equal(message->findings.omitted_count, 1);
    assert_false(parley_message_is_valid(message));
    assert_int_equal(message->findings.count, PARLEY_FINDINGS_MAX);
    assert_int_equal(message->findings.items[0].rule->severity, PARLEY_ERROR);
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
        cmocka_unit_test(test_a_pattern_is_asked_of_the_whole_text),
        cmocka_unit_test(test_a_greatest_length_counts_code_points),
        cmocka_unit_test(test_an_array_that_is_too_short_is_told_at_itself),
        cmocka_unit_test(test_numbers_rise_from_item_to_item_of_their_array),
        cmocka_unit_test(test_what_is_asked_of_every_member_is_asked_of_the_named_ones),
        cmocka_unit_test(test_a_rule_over_members_is_told_at_the_nearest_fact_around_it),
        cmocka_unit_test(test_an_inspection_reports_what_rows_cannot),
        cmocka_unit_test(test_rows_of_other_types_do_not_fill_the_list_of_findings),
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
        cmocka_unit_test(test_an_error_behind_too_many_warnings_counts_and_takes_the_place_of_one),
        cmocka_unit_test(test_an_error_of_another_type_behind_too_many_warnings_does_not_count),
        cmocka_unit_test(test_a_hundred_thousand_bad_items_take_bounded_memory),
        cmocka_unit_test(test_a_bad_member_with_a_long_name_takes_bounded_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
