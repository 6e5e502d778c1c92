/* SPDX-License-Identifier: Apache-2.0 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "web_names.h"

struct row {
    const char *list;
    const char *wrong; /* NULL: it is valid */
};

static void check(const struct row *rows, size_t count,
                  bool (*check_list)(const char *list, char error[WEB_NAMES_ERROR_MAX])) {
    for (size_t i = 0; i < count; i++) {
        char error[WEB_NAMES_ERROR_MAX] = "";
        const bool is_valid = check_list(rows[i].list, error);
        if (is_valid != (rows[i].wrong == NULL) ||
            (!is_valid && strncmp(error, rows[i].wrong, strlen(rows[i].wrong)) != 0)) {
            fail_msg("%s: %s", rows[i].list, error);
        }
    }
}

static void test_a_host_is_a_name_or_an_address_without_more(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"parley", NULL},
        {"parley.example,10.0.0.1,[fd00::1]", NULL},
        {"", "'' is not a host"},
        {"a,", "'' is not a host"},
        {"a,,b", "'' is not a host"},
        {"a:80", "'a:80' is not a host"},
        {"http://a", "'http://a' is not a host"},
        {"fd00::1", "'fd00::1' is not a host"},
        {"[parley]", "'[parley]' is not a host"},
        {"*.example", "'*.example' is not a host"},
        {"a, b", "' b' is not a host"},
    };
    check(rows, sizeof rows / sizeof rows[0], web_names_check_hosts);
}

static void test_an_origin_is_written_as_browsers_write_it(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"https://console.example", NULL},
        {"http://localhost:3000,https://[fd00::1]:8443,http://10.0.0.1", NULL},
        {"*", "'*' is not an origin"},
        {"null", "'null' is not an origin"},
        {"console.example", "'console.example' is not an origin"},
        {"https://", "'https://' is not an origin"},
        {"https://a/", "'https://a/' is not an origin"},
        {"https://a:443", "'https://a:443' is not an origin"},
        {"http://a:80", "'http://a:80' is not an origin"},
        {"https://a:0", "'https://a:0' is not an origin"},
        {"https://a:", "'https://a:' is not an origin"},
        {"https://u@a", "'https://u@a' is not an origin"},
        {"HTTPS://a", "'HTTPS://a' is not an origin"},
        {"https://*.example", "'https://*.example' is not an origin"},
        {"file://a", "'file://a' is not an origin"},
    };
    check(rows, sizeof rows / sizeof rows[0], web_names_check_origins);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_host_is_a_name_or_an_address_without_more),
        cmocka_unit_test(test_an_origin_is_written_as_browsers_write_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
