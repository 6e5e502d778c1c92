/* SPDX-License-Identifier: Apache-2.0 */

/* The parameters of a Content-Type. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "media_type.h"

struct row {
    const char *type;
    enum media_type_parameters parameters;
    const char *charset;
};

static void check(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char charset[MEDIA_TYPE_CHARSET_MAX];
        const enum media_type_parameters parameters = media_type_read(rows[i].type, charset);
        if (parameters != rows[i].parameters) {
            fail_msg("\"%s\" is %d, not %d", rows[i].type, parameters, rows[i].parameters);
        }
        if (rows[i].charset != NULL) {
            assert_string_equal(charset, rows[i].charset);
        }
    }
}

#define CHECK(...)                                                                                 \
    do {                                                                                           \
        static const struct row rows[] = {__VA_ARGS__};                                            \
        check(rows, sizeof rows / sizeof rows[0]);                                                 \
    } while (0)

static void test_utf8_is_fine_however_it_is_written(void **state) {
    (void)state;
    CHECK({"a/b", MEDIA_TYPE_FINE, ""}, {"a/b;charset=utf-8", MEDIA_TYPE_FINE, "utf-8"},
          {"a/b ; Charset=UTF-8", MEDIA_TYPE_FINE, "UTF-8"},
          {"a/b;charset=\"Utf-8\"", MEDIA_TYPE_FINE, "Utf-8"},
          {"a/b;charset=\"\\utf-8\"", MEDIA_TYPE_FINE, "utf-8"},
          {"a/b;charset=utf8", MEDIA_TYPE_FINE, "utf8"});
}

static void test_other_parameters_are_passed_over(void **state) {
    (void)state;
    CHECK({"a/b; profile=x", MEDIA_TYPE_FINE, ""}, {"a/b;", MEDIA_TYPE_FINE, ""},
          {"a/b;; ;\tx=1 ;", MEDIA_TYPE_FINE, ""},
          {"a/b; x=\"charset=latin1; \\\"\"; y=z", MEDIA_TYPE_FINE, ""},
          {"a/b; charsets=latin1", MEDIA_TYPE_FINE, ""}, {"a/b; x=\"\"", MEDIA_TYPE_FINE, ""});
}

static void test_another_charset_is_named(void **state) {
    (void)state;
    CHECK({"a/b; charset=latin1", MEDIA_TYPE_CHARSET, "latin1"},
          {"a/b; charset=\"utf-16\"; x=y", MEDIA_TYPE_CHARSET, "utf-16"},
          {"a/b; charset=\"\"", MEDIA_TYPE_CHARSET, ""},
          {"a/b; charset=utf-8-and-much-more-than-a-charset-may-ever-be", MEDIA_TYPE_CHARSET,
           "utf-8-and-much-more-than-a-charset-may-e"});
}

static void test_what_is_not_a_parameter_is_malformed(void **state) {
    (void)state;
    CHECK({"a/b; charset", MEDIA_TYPE_MALFORMED, NULL},
          {"a/b; charset=", MEDIA_TYPE_MALFORMED, NULL},
          {"a/b; charset =utf-8", MEDIA_TYPE_MALFORMED, NULL},
          {"a/b; charset= utf-8", MEDIA_TYPE_MALFORMED, NULL},
          {"a/b; charset=utf-8 utf-8", MEDIA_TYPE_MALFORMED, NULL},
          {"a/b; charset=\"utf-8", MEDIA_TYPE_MALFORMED, NULL},
          {"a/b; charset=\"utf-8\\", MEDIA_TYPE_MALFORMED, NULL},
          {"a/b; charset=\"utf-8\"x", MEDIA_TYPE_MALFORMED, NULL},
          {"a/b; =utf-8", MEDIA_TYPE_MALFORMED, NULL}, {"a/b; a,b", MEDIA_TYPE_MALFORMED, NULL},
          {"a/b; charset=utf-8, text/plain", MEDIA_TYPE_MALFORMED, NULL});
}

static void test_two_charsets_are_malformed(void **state) {
    (void)state;
    CHECK({"a/b;charset=utf-8;charset=utf-8", MEDIA_TYPE_MALFORMED, NULL},
          {"a/b;charset=utf-8;x=y;Charset=latin1", MEDIA_TYPE_MALFORMED, NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_is_fine_however_it_is_written),
        cmocka_unit_test(test_other_parameters_are_passed_over),
        cmocka_unit_test(test_another_charset_is_named),
        cmocka_unit_test(test_what_is_not_a_parameter_is_malformed),
        cmocka_unit_test(test_two_charsets_are_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
