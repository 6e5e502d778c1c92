/* SPDX-License-Identifier: Apache-2.0 */

/* A rule table made into a trie. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include <parley/message.h>

#include "rules/schema.h"

static bool never(const struct parley_captures *captures) {
    (void)captures;
    return false;
}

static const struct parley_rule rules[] = {
    {.id = "T-1",
     .hint = "h",
     PARLEY_PLACES({.path = "/a", .kinds = PARLEY_STRING}, {.path = "/a/*/b"}, {.path = ""})},
    {.id = "T-2", .hint = "h", PARLEY_PLACES({.path = "/c", .is_broken = never, .message = "m"})},
    {.id = "T-3", .hint = "h", PARLEY_PLACES({.path = "/a"}, {.path = "/a/x/b"}, {.path = "/d"})},
};

static const char *const types[] = {"x", NULL};
static const char *const fields[] = {"/type", "/a/x/b", NULL};

static const struct parley_protocol protocol = {
    .name = "t", .types = types, .fields = fields, .rules = rules, .rule_count = 3};

static int set_up(void **state) {
    return parley_schema_create(&protocol, (struct parley_schema **)state) == PARLEY_OK ? 0 : -1;
}

static int tear_down(void **state) {
    parley_schema_destroy(*state);
    return 0;
}

static const struct schema_node *at(const struct parley_schema *schema, const char *a,
                                    const char *b, const char *c) {
    const struct schema_node *node = &schema->root;
    const char *const tokens[] = {a, b, c};
    for (size_t i = 0; i < 3 && tokens[i] != NULL && node != NULL; i++) {
        node = schema_member(node, parley_bytes_of(tokens[i]));
    }
    return node;
}

static void test_checks_hang_at_their_place_in_the_order_of_the_table(void **state) {
    const struct schema_node *a = at(*state, "a", NULL, NULL);
    assert_non_null(a->checks);
    assert_string_equal(a->checks->rule->id, "T-1");
    assert_int_equal(a->checks->order, 0);
    assert_string_equal(a->checks->next->rule->id, "T-3");
    assert_int_equal(a->checks->next->order, 2);
    assert_null(a->checks->next->next);
}

static void test_the_empty_path_is_the_message_itself(void **state) {
    const struct parley_schema *schema = *state;
    assert_ptr_equal(schema->root.checks->place, &rules[0].places[2]);
}

static void test_fields_are_captured_where_they_stand(void **state) {
    assert_int_equal(at(*state, "type", NULL, NULL)->field, 0);
    assert_int_equal(at(*state, "a", "x", "b")->field, 1);
    assert_int_equal(at(*state, "a", "other", "b")->field, -1);
    assert_int_equal(at(*state, NULL, NULL, NULL)->field, -1);
}

static void test_a_star_stands_for_the_members_that_have_no_name_of_their_own(void **state) {
    assert_ptr_equal(at(*state, "a", "one", NULL), at(*state, "a", "two", NULL));
    assert_ptr_not_equal(at(*state, "a", "one", NULL), at(*state, "a", "x", NULL));
    assert_ptr_equal(at(*state, "a", "*", NULL), at(*state, "a", "one", NULL));
}

static void test_a_key_that_no_rule_names_has_no_node(void **state) {
    assert_null(at(*state, "b", NULL, NULL));
    assert_null(at(*state, "", NULL, NULL));
    assert_null(at(*state, "aa", NULL, NULL));
    assert_null(at(*state, "c", "d", NULL));
}

static void test_rules_over_several_members_are_apart(void **state) {
    const struct parley_schema *schema = *state;
    assert_string_equal(schema->cross_checks->rule->id, "T-2");
    assert_null(schema->cross_checks->next);
    assert_null(at(schema, "c", NULL, NULL)->checks);
}

static void test_named_siblings_have_bits_of_their_own(void **state) {
    const struct parley_schema *schema = *state;
    uint64_t seen = 0;
    unsigned count = 0;
    for (const struct schema_node *child = schema->root.children; child; child = child->next) {
        assert_true(child->bit != 0 && (child->bit & (child->bit - 1)) == 0);
        assert_int_equal(seen & child->bit, 0);
        seen |= child->bit;
        count++;
    }
    assert_int_equal(count, 4); /* type, a, c, d */
}

/* The first three begin and end alike and are as long as one another; "*" is a key like any. */
static const struct parley_rule of_length[] = {
    {.id = "T-1",
     .hint = "h",
     PARLEY_PLACES({.path = "/one", .constraint = PARLEY_MIN_LENGTH, .minimum = 1},
                   {.path = "/three", .constraint = PARLEY_MIN_LENGTH, .minimum = 1},
                   {.path = "/three", .constraint = PARLEY_MIN_LENGTH, .minimum = 3},
                   {.path = "/choice", .constraint = PARLEY_MIN_LENGTH, .minimum = 1},
                   {.path = "/choice", .constraint = PARLEY_ONE_OF, .choices = types})},
};
static const struct parley_protocol of_lengths = {
    .name = "t", .types = types, .fields = fields, .rules = of_length, .rule_count = 1};

static void test_a_long_string_is_free_where_rows_ask_for_a_length_alone(void **state) {
    (void)state;
    struct parley_schema *schema;
    assert_int_equal(parley_schema_create(&of_lengths, &schema), PARLEY_OK);
    assert_int_equal(at(schema, "one", NULL, NULL)->free_text_bytes, 1);
    assert_int_equal(at(schema, "three", NULL, NULL)->free_text_bytes, 3 * 4);
    assert_true(at(schema, "choice", NULL, NULL)->free_text_bytes == SIZE_MAX);
    parley_schema_destroy(schema);
}

static void test_keys_that_are_nearly_alike_are_told_apart(void **state) {
    (void)state;
    static const char *const keys[] = {"duration-of-one-second",
                                       "duration-of-six-second",
                                       "duration-of-ten-second",
                                       "a",
                                       "b",
                                       "ab",
                                       "ba",
                                       "abc",
                                       "acb",
                                       "abcd",
                                       "abcdefg",
                                       "abcdefgh",
                                       "abcdefghi",
                                       NULL};
    struct parley_place places[sizeof keys / sizeof keys[0]];
    char paths[sizeof keys / sizeof keys[0]][32];
    size_t count = 0;
    for (; keys[count] != NULL; count++) {
        snprintf(paths[count], sizeof paths[count], "/%s", keys[count]);
        places[count] = (struct parley_place){.path = paths[count]};
    }
    const struct parley_rule rule = {
        .id = "T-1", .hint = "h", .places = places, .place_count = count};
    struct parley_protocol own = protocol;
    own.rules = &rule;
    own.rule_count = 1;
    struct parley_schema *schema;
    assert_int_equal(parley_schema_create(&own, &schema), PARLEY_OK);
    for (size_t i = 0; i < count; i++) {
        const struct schema_node *node = at(schema, keys[i], NULL, NULL);
        assert_non_null(node);
        assert_true(parley_bytes_equal(node->token, parley_bytes_of(keys[i])));
    }
    static const char *const others[] = {"",
                                         "c",
                                         "aa",
                                         "bb",
                                         "abb",
                                         "abcdefgg",
                                         "*",
                                         "duration-of-two-second",
                                         "duration-of-one-seconds"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_null(at(schema, others[i], NULL, NULL));
    }
    parley_schema_destroy(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checks_hang_at_their_place_in_the_order_of_the_table),
        cmocka_unit_test(test_the_empty_path_is_the_message_itself),
        cmocka_unit_test(test_fields_are_captured_where_they_stand),
        cmocka_unit_test(test_a_star_stands_for_the_members_that_have_no_name_of_their_own),
        cmocka_unit_test(test_a_key_that_no_rule_names_has_no_node),
        cmocka_unit_test(test_rules_over_several_members_are_apart),
        cmocka_unit_test(test_named_siblings_have_bits_of_their_own),
        cmocka_unit_test(test_a_long_string_is_free_where_rows_ask_for_a_length_alone),
        cmocka_unit_test(test_keys_that_are_nearly_alike_are_told_apart),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
