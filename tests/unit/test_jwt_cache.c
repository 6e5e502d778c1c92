/* SPDX-License-Identifier: Apache-2.0 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "jwt_cache.h"

enum { KEYS = 7, NOW = 1000 };

/* Digests of one set, which differ in their last byte. */
static const unsigned char *digest_of(unsigned char number) {
    static unsigned char digest[JWT_DIGEST_BYTES];
    digest[JWT_DIGEST_BYTES - 1] = number;
    return digest;
}

static void add(struct jwt_cache *cache, unsigned char number, int64_t expires_at) {
    char name[16];
    snprintf(name, sizeof name, "agent-%d", number);
    struct principal *principal = principal_create(name, NULL);
    principal->expires_at = expires_at;
    jwt_cache_add(cache, digest_of(number), KEYS, principal);
    principal_unref(principal);
}

static bool has(struct jwt_cache *cache, unsigned char number, uint64_t generation, int64_t now) {
    struct principal *principal = jwt_cache_find(cache, digest_of(number), generation, now);
    const bool is_there = principal != NULL;
    if (is_there) {
        assert_int_equal(principal->name[6] - '0', number);
    }
    principal_unref(principal);
    return is_there;
}

static void test_what_was_verified_is_found_until_it_expires_or_the_keys_change(void **state) {
    (void)state;
    struct jwt_cache *cache = jwt_cache_create();
    assert_false(has(cache, 1, KEYS, NOW));
    add(cache, 1, NOW + 10);
    assert_true(has(cache, 1, KEYS, NOW));
    assert_true(has(cache, 1, KEYS, NOW + 9));
    assert_false(has(cache, 1, KEYS, NOW + 10));
    assert_false(has(cache, 1, KEYS + 1, NOW));
    assert_false(has(cache, 2, KEYS, NOW));
    jwt_cache_destroy(cache);
}

static void test_the_one_that_was_not_used_for_longest_makes_room(void **state) {
    (void)state;
    struct jwt_cache *cache = jwt_cache_create();
    for (unsigned char i = 1; i <= 4; i++) {
        add(cache, i, 0);
    }
    assert_true(has(cache, 1, KEYS, NOW));
    add(cache, 5, 0);
    assert_true(has(cache, 1, KEYS, NOW));
    assert_false(has(cache, 2, KEYS, NOW));
    assert_true(has(cache, 3, KEYS, NOW));
    assert_true(has(cache, 5, KEYS, NOW));
    jwt_cache_destroy(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_verified_is_found_until_it_expires_or_the_keys_change),
        cmocka_unit_test(test_the_one_that_was_not_used_for_longest_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
