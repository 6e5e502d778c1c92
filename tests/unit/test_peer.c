/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "peer.h"

static const struct row {
    const char *address, *text;
    bool is_v4, is_loopback;
    size_t network_length;
} rows[] = {
    {"192.0.2.1", "192.0.2.1", true, false, 16},
    {"127.0.0.1", "127.0.0.1", true, true, 16},
    {"127.9.9.9", "127.9.9.9", true, true, 16},
    {"2001:db8::1", "2001:db8::1", false, false, 8},
    {"::1", "::1", false, true, 8},
    {"::2", "::2", false, false, 8},
    {"::ffff:192.0.2.1", "192.0.2.1", true, false, 16},
    {"::ffff:127.0.0.1", "127.0.0.1", true, true, 16},
};

static struct peer peer_at(const char *text) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        return peer_of((const struct sockaddr *)&v4);
    }
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return peer_of((const struct sockaddr *)&v6);
}

static bool are_one_sender(const char *one, const char *other) {
    const struct peer a = peer_at(one), b = peer_at(other);
    const struct parley_bytes x = peer_network(&a), y = peer_network(&b);
    return x.length == y.length && memcmp(x.data, y.data, x.length) == 0;
}

static void test_addresses_of_both_families_are_read_and_written(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct peer peer = peer_at(rows[i].address);
        char text[PEER_TEXT_MAX];
        peer_text(&peer, text);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(peer_is_v4(&peer), rows[i].is_v4);
        assert_int_equal(peer_is_loopback(&peer), rows[i].is_loopback);
        assert_int_equal(peer_network(&peer).length, rows[i].network_length);
    }
}

static void test_an_ipv6_sender_is_its_64_bits_and_an_ipv4_sender_its_address(void **state) {
    (void)state;
    assert_true(are_one_sender("2001:db8::1", "2001:db8::ffff:1"));
    assert_false(are_one_sender("2001:db8::1", "2001:db8:0:1::1"));
    assert_false(are_one_sender("192.0.2.1", "192.0.2.2"));
    assert_true(are_one_sender("192.0.2.1", "::ffff:192.0.2.1"));
}

static void test_an_address_of_another_family_is_nobody(void **state) {
    (void)state;
    const struct sockaddr local = {.sa_family = AF_UNIX};
    const struct peer peer = peer_of(&local);
    char text[PEER_TEXT_MAX];
    peer_text(&peer, text);
    assert_string_equal(text, "::");
    assert_false(peer_is_loopback(&peer));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_of_both_families_are_read_and_written),
        cmocka_unit_test(test_an_ipv6_sender_is_its_64_bits_and_an_ipv4_sender_its_address),
        cmocka_unit_test(test_an_address_of_another_family_is_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
