/* SPDX-License-Identifier: Apache-2.0 */

/* The tests that rows over several members are made of. The checks of one value are asked by
 * test_walk and the conformance cases. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <parley/message.h>

#include "rules/constraint.h"

enum { FIRST, SECOND, FIELDS };

static const struct parley_value absent = {.kind = PARLEY_ABSENT};
static const struct parley_value null = {.kind = PARLEY_NULL};
static const struct parley_value yes = {.kind = PARLEY_BOOLEAN, .number = 1};
static const struct parley_value no = {.kind = PARLEY_BOOLEAN, .number = 0};
static const struct parley_value one = {.kind = PARLEY_NUMBER, .number = 1};
static const struct parley_value half = {.kind = PARLEY_NUMBER, .number = 0.5};
static const struct parley_value empty_text = {.kind = PARLEY_STRING, .text = {"", 0}};
static const struct parley_value text = {.kind = PARLEY_STRING, .text = {"x", 1}};
static const struct parley_value two_wide = {.kind = PARLEY_STRING,
                                             .text = {"\xC3\xA9\xC3\xA9", 4}};
static const struct parley_value three = {.kind = PARLEY_STRING, .text = {"xyz", 3}};
static const struct parley_value no_items = {.kind = PARLEY_ARRAY};
static const struct parley_value items = {.kind = PARLEY_ARRAY, .count = 1};
static const struct parley_value object = {.kind = PARLEY_OBJECT};

static bool is_strict(const struct parley_options *options) {
    return options->values[0].is_on;
}

static bool always(const struct parley_captures *captures) {
    (void)captures;
    return true;
}

static bool is_broken(const struct parley_place *place, const struct parley_value *first,
                      const struct parley_value *second, bool strict) {
    const struct parley_value values[FIELDS] = {[FIRST] = *first, [SECOND] = *second};
    const struct parley_options options = {.values = {{.is_on = strict}}};
    const struct parley_captures captures = {.values = values, .options = &options};
    return place_is_broken(place, &captures);
}

static void test_each_question_has_its_answers(void **state) {
    (void)state;
    static const struct {
        struct parley_test test;
        const struct parley_value *holds[8], *holds_not[11];
    } rows[] = {
        {{.asks = PARLEY_IS_THERE},
         {&null, &no, &half, &empty_text, &no_items, &object},
         {&absent}},
        {{.asks = PARLEY_IS_THERE, .kinds = PARLEY_OBJECT | PARLEY_STRING},
         {&object, &empty_text, &text},
         {&absent, &null, &yes, &one, &items}},
        {{.asks = PARLEY_IS_TEXT, .text = "x"},
         {&text},
         {&absent, &null, &yes, &one, &empty_text, &items, &object}},
        {{.asks = PARLEY_IS_TRUE}, {&yes}, {&absent, &null, &no, &one, &text, &items, &object}},
        {{.asks = PARLEY_IS_WITHIN, .minimum = 1, .maximum = 2},
         {&one},
         {&absent, &null, &yes, &half, &text, &items, &object}},
        {{.asks = PARLEY_IS_WITHIN, .minimum = 0, .maximum = 0.5},
         {&half},
         {&absent, &null, &no, &one, &empty_text, &no_items, &object}},
        {{.asks = PARLEY_HAS_ITEMS},
         {&items},
         {&absent, &null, &yes, &one, &text, &no_items, &object}},
        {{.asks = PARLEY_HAS_MAX_LENGTH, .maximum = 2},
         {&empty_text, &text, &two_wide},
         {&absent, &null, &yes, &one, &three, &items, &object}},
        {{.asks = PARLEY_IS_FILLED},
         {&text, &items, &yes, &no, &one, &object},
         {&absent, &null, &empty_text, &no_items}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct parley_place place = {
            .wants = (const struct parley_test[]){rows[i].test, {.asks = PARLEY_TEST_END}}};
        for (size_t j = 0; rows[i].holds[j] != NULL; j++) {
            assert_false(is_broken(&place, rows[i].holds[j], &absent, false));
        }
        for (size_t j = 0; rows[i].holds_not[j] != NULL; j++) {
            assert_true(is_broken(&place, rows[i].holds_not[j], &absent, false));
        }
    }
}

#define FIRST_IS_TRUE                                                                              \
    { .field = FIRST, .asks = PARLEY_IS_TRUE }
#define SECOND_IS_TRUE                                                                             \
    { .field = SECOND, .asks = PARLEY_IS_TRUE }

static void test_one_of_those_wanted_is_enough(void **state) {
    (void)state;
    const struct parley_place place = {.wants = PARLEY_TESTS(FIRST_IS_TRUE, SECOND_IS_TRUE)};
    assert_false(is_broken(&place, &yes, &no, false));
    assert_false(is_broken(&place, &no, &yes, false));
    assert_true(is_broken(&place, &no, &no, false));
}

static void test_it_is_asked_only_when_all_conditions_hold(void **state) {
    (void)state;
    const struct parley_place place = {
        .when = PARLEY_TESTS(FIRST_IS_TRUE, SECOND_IS_TRUE),
        .wants = PARLEY_TESTS({.field = FIRST, .asks = PARLEY_HAS_ITEMS})};
    assert_true(is_broken(&place, &yes, &yes, false));
    assert_false(is_broken(&place, &yes, &no, false));
    assert_false(is_broken(&place, &no, &yes, false));
}

static void test_it_is_asked_only_when_the_options_ask_for_it(void **state) {
    (void)state;
    const struct parley_place tests = {.wants = PARLEY_TESTS(FIRST_IS_TRUE), .is_asked = is_strict};
    const struct parley_place code = {.is_broken = always, .is_asked = is_strict};
    assert_false(is_broken(&tests, &no, &no, false));
    assert_true(is_broken(&tests, &no, &no, true));
    assert_false(is_broken(&code, &no, &no, false));
    assert_true(is_broken(&code, &no, &no, true));
}

static void test_a_place_of_tests_or_code_is_over_members(void **state) {
    (void)state;
    const struct parley_place tests = {.wants = PARLEY_TESTS(FIRST_IS_TRUE)};
    const struct parley_place code = {.is_broken = always};
    const struct parley_place value = {.path = "/a", .kinds = PARLEY_STRING};
    assert_true(place_is_over_members(&tests));
    assert_true(place_is_over_members(&code));
    assert_false(place_is_over_members(&value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_question_has_its_answers),
        cmocka_unit_test(test_one_of_those_wanted_is_enough),
        cmocka_unit_test(test_it_is_asked_only_when_all_conditions_hold),
        cmocka_unit_test(test_it_is_asked_only_when_the_options_ask_for_it),
        cmocka_unit_test(test_a_place_of_tests_or_code_is_over_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
