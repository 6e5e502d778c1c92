/* SPDX-License-Identifier: Apache-2.0 */

/* Addresses to listen on. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "listen_address.h"

static void test_addresses_are_taken_apart(void **state) {
    (void)state;
    static const struct {
        const char *text, *address;
        unsigned port;
        int is_loopback, is_any;
    } cases[] = {
        {"127.0.0.1:8080", "127.0.0.1", 8080, 1, 0},
        {":0", "127.0.0.1", 0, 1, 0},
        {"localhost:65535", "127.0.0.1", 65535, 1, 0},
        {"127.9.9.9:1", "127.9.9.9", 1, 1, 0},
        {"[::1]:80", "::1", 80, 1, 0},
        {"[::ffff:127.0.0.1]:80", "::ffff:127.0.0.1", 80, 1, 0},
        {"[::ffff:10.0.0.1]:80", "::ffff:10.0.0.1", 80, 0, 0},
        {"0.0.0.0:80", "0.0.0.0", 80, 0, 1},
        {"[::]:80", "::", 80, 0, 1},
        {"10.0.0.1:80", "10.0.0.1", 80, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char address[64];
        unsigned port;
        assert_null(listen_address_read(cases[i].text, address, &port));
        assert_string_equal(address, cases[i].address);
        assert_int_equal(port, cases[i].port);
        assert_int_equal(listen_address_is_loopback(address), cases[i].is_loopback);
        assert_int_equal(listen_address_is_any(address), cases[i].is_any);
    }
}

static void test_what_is_no_address_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"",
                                        "8080",
                                        "127.0.0.1",
                                        "127.0.0.1:",
                                        "127.0.0.1:65536",
                                        "127.0.0.1:x",
                                        "example.org:80",
                                        "::1:80",
                                        "[127.0.0.1]:80",
                                        "[]:80",
                                        "[::1:80",
                                        "127.1:80",
                                        "1.2.3.4.5:80",
                                        "127.0.0.1:-1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char address[64];
        unsigned port;
        assert_non_null(listen_address_read(wrong[i], address, &port));
    }
    char longer[128], address[64];
    unsigned port;
    memset(longer, '1', sizeof longer);
    memcpy(longer + sizeof longer - 4, ":80", 4);
    assert_non_null(listen_address_read(longer, address, &port));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_are_taken_apart),
        cmocka_unit_test(test_what_is_no_address_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
