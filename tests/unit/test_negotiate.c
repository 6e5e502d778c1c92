/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "negotiate.h"

static const char *const offers[] = {"application/json", "text/html", "application/x-ndjson", NULL};

enum { JSON, HTML, NDJSON, NONE = -1 };

struct wish {
    const char *accept;
    int index;
};

static void check(const struct wish *wishes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int index = negotiate(wishes[i].accept, offers);
        if (index != wishes[i].index) {
            fail_msg("\"%s\" chose %d, not %d", wishes[i].accept, index, wishes[i].index);
        }
    }
}

#define CHECK(...)                                                                                 \
    do {                                                                                           \
        static const struct wish wishes[] = {__VA_ARGS__};                                         \
        check(wishes, sizeof wishes / sizeof wishes[0]);                                           \
    } while (0)

static void test_whoever_says_nothing_takes_the_first_offer(void **state) {
    (void)state;
    CHECK({NULL, JSON}, {"", JSON}, {"  ", JSON}, {" , ,\t", JSON});
}

static void test_a_type_is_found_in_any_case_and_among_blanks(void **state) {
    (void)state;
    CHECK({"text/html", HTML}, {"TEXT/Html", HTML}, {" \t text/html ", HTML},
          {"image/png ,text/html", HTML}, {",,text/html,,", HTML},
          {"application/x-ndjson", NDJSON});
}

static void test_what_is_not_offered_is_not_chosen(void **state) {
    (void)state;
    CHECK({"image/png", NONE}, {"image/*", NONE}, {"text/htm", NONE}, {"text/html5", NONE},
          {"text", NONE}, {"text/", NONE}, {"/", NONE}, {"*/html", NONE}, {"te/*", NONE},
          {"text/**", NONE}, {"application/json/x", NONE});
}

static void test_ranges_take_what_they_cover(void **state) {
    (void)state;
    CHECK({"*/*", JSON}, {"*", JSON}, {"text/*", HTML}, {"TEXT/*", HTML}, {"application/*", JSON},
          {"image/png, */*;q=0.1", JSON});
}

static void test_the_higher_quality_wins(void **state) {
    (void)state;
    CHECK({"application/json;q=0.5, text/html;q=0.6", HTML},
          {"application/json;q=0.5, text/html", HTML},
          {"application/json; q=1.000 , text/html;q=0.999", JSON},
          {"application/json;Q=0.1,text/html;Q=0.2", HTML},
          {"application/json;q=0.001,text/html;q=0.002,application/x-ndjson;q=0.003", NDJSON},
          {"text/html;q=0.2, text/html;q=0.8, application/json;q=0.5", HTML},
          {"application/json;q=.1, text/html;q=.2", HTML},
          {"application/json;q=0., text/html;q=1.", HTML},
          {"application/json ; q = 0.1 , text/html ; q = 0.2", HTML});
}

static void test_the_more_specific_range_decides_the_quality(void **state) {
    (void)state;
    CHECK({"*/*, application/json;q=0.1", HTML}, {"application/json;q=0.1, */*", HTML},
          {"text/*;q=0.1, */*;q=0.5, application/json;q=0.2", NDJSON},
          {"text/*;q=0.9, text/html;q=0.1, application/json;q=0.2", JSON});
}

static void test_of_equal_qualities_the_more_specific_wins_and_then_the_order(void **state) {
    (void)state;
    CHECK({"*/*, text/html", HTML}, {"text/*, application/x-ndjson", NDJSON}, {"*/*, text/*", HTML},
          {"text/html, application/json", JSON}, {"application/x-ndjson, text/html", HTML},
          {"text/html;q=0.5, */*;q=0.5", HTML});
}

static void test_quality_zero_forbids(void **state) {
    (void)state;
    CHECK({"application/json;q=0, */*", HTML}, {"application/*;q=0.0, */*;q=0.1", HTML},
          {"*/*;q=0", NONE}, {"text/html;q=0.000", NONE},
          {"*/*;q=0, application/x-ndjson", NDJSON});
}

static void test_other_parameters_are_passed_over(void **state) {
    (void)state;
    CHECK({"text/html;level=1", HTML}, {"text/html;level=1;q=0.1, application/json;q=0.2", JSON},
          {"text/html;charset=\"a,b;q=0\";q=0.3, application/json;q=0.2", HTML},
          {"text/html;x=\"\\\",\";q=0.3, application/json;q=0.2", HTML},
          {"text/html;qq=0, image/png", HTML}, {"text/html;q=0.3;ext=1, */*;q=0.2", HTML});
}

static void test_what_cannot_be_read_counts_as_not_sent(void **state) {
    (void)state;
    CHECK({"text/html;q=x, application/json;q=0.1", JSON}, {"text/html;q=", NONE},
          {"text/html;q=1.001", NONE}, {"text/html;q=2", NONE}, {"text/html;q=-1", NONE},
          {"text/html;q=0.5.5", NONE}, {"text/html;q=00.5", NONE}, {"text/html;q", NONE},
          {"text/html;x=\"never closed, application/json", HTML}, {";q=1", NONE},
          {"text/html;q=99999999999999999999", NONE}, {"text/html;q=0.99999999999999999999", HTML});
}

static void test_one_offer_has_the_quality_of_its_most_specific_range(void **state) {
    (void)state;
    static const struct {
        const char *accept;
        int quality;
    } rows[] = {
        {NULL, 1000},
        {" ,", 1000},
        {"text/html", 1000},
        {"*/*", 1000},
        {"text/*;q=0.3, */*", 300},
        {"text/html;q=0.25, text/*", 250},
        {"text/html;q=0, */*", 0},
        {"image/png", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(negotiate_quality(rows[i].accept, "text/html"), rows[i].quality);
    }
}

static void test_a_coding_is_chosen_by_quality_and_then_by_cost(void **state) {
    (void)state;
    static const struct {
        const char *accept;
        enum coding coding;
    } rows[] = {
        {NULL, CODING_IDENTITY},
        {"", CODING_IDENTITY},
        {"br", CODING_IDENTITY},
        {"deflate, br", CODING_IDENTITY},
        {"gzip", CODING_GZIP},
        {"GZIP", CODING_GZIP},
        {"x-gzip", CODING_GZIP},
        {"gzip, deflate, br, zstd", CODING_ZSTD},
        {"zstd, gzip", CODING_ZSTD},
        {"zstd;q=0.5, gzip", CODING_GZIP},
        {"gzip;q=0.5, zstd;q=0.5", CODING_ZSTD},
        {"zstd;q=0, gzip", CODING_GZIP},
        {"zstd;q=0, gzip;q=0", CODING_IDENTITY},
        {"*", CODING_ZSTD},
        {"*;q=0", CODING_IDENTITY},
        {"gzip, *;q=0", CODING_GZIP},
        {"zstd;q=0, *", CODING_GZIP},
        {"identity", CODING_IDENTITY},
        {"identity, gzip;q=0.5", CODING_IDENTITY},
        {"identity;q=0.5, gzip", CODING_GZIP},
        {"identity;q=0, gzip;q=0.1", CODING_GZIP},
        {"identity, gzip", CODING_GZIP},
        {"gzip;q=1.5", CODING_IDENTITY},
        {"gzip ; q=0.1 , , ", CODING_GZIP},
        {"\"gzip", CODING_IDENTITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(negotiate_coding(rows[i].accept), rows[i].coding);
    }
}

static void test_a_type_with_several_names_is_liked_by_the_one_that_is_named(void **state) {
    (void)state;
    static const char *const names[] = {"application/msgpack", "application/x-msgpack", NULL};
    static const struct {
        const char *accept;
        int quality;
    } rows[] = {
        {NULL, 1000},
        {"application/msgpack", 1000},
        {"application/x-msgpack;q=0.5", 500},
        {"application/x-msgpack;q=0.5, application/msgpack;q=0.7", 700},
        {"*/*, application/msgpack;q=0", 0},
        {"*/*;q=0.1, application/x-msgpack;q=0", 0},
        {"application/*;q=0.2", 200},
        {"application/json", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(negotiate_quality_of_any(rows[i].accept, names), rows[i].quality);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whoever_says_nothing_takes_the_first_offer),
        cmocka_unit_test(test_a_type_is_found_in_any_case_and_among_blanks),
        cmocka_unit_test(test_what_is_not_offered_is_not_chosen),
        cmocka_unit_test(test_ranges_take_what_they_cover),
        cmocka_unit_test(test_the_higher_quality_wins),
        cmocka_unit_test(test_the_more_specific_range_decides_the_quality),
        cmocka_unit_test(test_of_equal_qualities_the_more_specific_wins_and_then_the_order),
        cmocka_unit_test(test_quality_zero_forbids),
        cmocka_unit_test(test_other_parameters_are_passed_over),
        cmocka_unit_test(test_what_cannot_be_read_counts_as_not_sent),
        cmocka_unit_test(test_a_coding_is_chosen_by_quality_and_then_by_cost),
        cmocka_unit_test(test_one_offer_has_the_quality_of_its_most_specific_range),
        cmocka_unit_test(test_a_type_with_several_names_is_liked_by_the_one_that_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
