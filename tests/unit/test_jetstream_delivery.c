/* SPDX-License-Identifier: Apache-2.0 */

/* Where a delivered message is in its stream, by its reply subject. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "jetstream_delivery.h"

static void assert_reads(bool is_read, const struct jetstream_delivery *delivery) {
    assert_true(is_read);
    assert_int_equal(delivery->stream_sequence, 42);
    assert_int_equal(delivery->consumer_sequence, 7);
    assert_int_equal(delivery->time_ns, INT64_C(1669111222333444555));
}

static void test_both_readers_find_the_same_in_every_form(void **state) {
    (void)state;
    static const char *const heads[] = {"$JS.ACK.VLP.parley-abc-1-0", "$JS.ACK.hub.ACC.VLP.c"};
    static const char *const tails[] = {".3.42.7.1669111222333444555.0",
                                        ".3.42.7.1669111222333444555.12.token"};
    for (size_t i = 0; i < 3; i++) { /* the first head has no domain, and so no token at the end */
        char reply[128];
        struct jetstream_delivery delivery = {0};
        snprintf(reply, sizeof reply, "%s%s", heads[i > 0], tails[i > 1]);
        assert_reads(jetstream_delivery_read(reply, &delivery), &delivery);
        assert_int_equal(delivery.tries, 3);
        delivery = (struct jetstream_delivery){0};
        assert_reads(jetstream_delivery_read_tail(tails[i > 1], &delivery), &delivery);
    }
}

static void test_what_is_not_a_delivery_is_not_read(void **state) {
    (void)state;
    static const char *const tails[] = {"",           ".",         ".1.2.3.4",    ".1.2.3.4.",
                                        ".1.2.x.4.5", "1.2.3.4.5", ".1..2.3.4.5", ".1.2.3.4-5"};
    struct jetstream_delivery delivery;
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        assert_false(jetstream_delivery_read_tail(tails[i], &delivery));
    }
    assert_false(jetstream_delivery_read(NULL, &delivery));
    assert_false(jetstream_delivery_read("_INBOX.abc.1-0", &delivery));
    assert_false(jetstream_delivery_read("$JS.ACK.VLP.c.1.2.3.4", &delivery));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_readers_find_the_same_in_every_form),
        cmocka_unit_test(test_what_is_not_a_delivery_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
