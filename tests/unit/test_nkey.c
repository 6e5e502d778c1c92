/* SPDX-License-Identifier: Apache-2.0 */

/* The public key of a seed. The first pair is the one in NATS's documentation. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "nkey.h"

#define SEED "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
#define PUBLIC "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"

static void test_the_public_key_of_a_seed_is_found_in_its_file(void **state) {
    (void)state;
    static const char *const texts[] = {
        SEED,
        SEED "\n",
        "# SUPPORTED BY OPS\n" SEED "\r\n",
        "-----BEGIN USER NKEY SEED-----\n" SEED "\n------END USER NKEY SEED------\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char public[NKEY_TEXT_SIZE];
        assert_true(nkey_read_public(parley_bytes_of(texts[i]), public));
        assert_string_equal(public, PUBLIC);
    }
}

static void test_what_is_not_the_seed_of_a_user_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "S",
        PUBLIC,
        "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3V",  /* cut off */
        "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VA", /* another checksum */
        "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3V1", /* not base32 */
        "suacssl3uahudxkfsnvuzrf5uhpmwz6bfdtj7m6usdxiednppqyyycu3vy",
        /* of an account */
        "SAABFH6NMWEDZCY3ACVEDOGZM3CRJZEXZJTZ4CFLKXQC4XSW34MHAKODTI",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char public[NKEY_TEXT_SIZE];
        assert_false(nkey_read_public(parley_bytes_of(texts[i]), public));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_public_key_of_a_seed_is_found_in_its_file),
        cmocka_unit_test(test_what_is_not_the_seed_of_a_user_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
