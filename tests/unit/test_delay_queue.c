/* SPDX-License-Identifier: Apache-2.0 */

/* Messages that are handled some time after they came. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "delay_queue.h"

enum { COUNT_MAX = 16384, BYTES_MAX = 16 << 20 };

struct fixture {
    struct delay_queue queue;
    struct reactor *reactor;
    size_t due_count, expected_count;
    uint64_t last;
    char subject[32], payload[32];
};

static void on_due(struct delay_queue *queue, const struct jetstream_stored *stored) {
    struct fixture *fixture = OWNER_OF(queue, struct fixture, queue);
    assert_int_equal(stored->sequence, fixture->last + 1); /* in order */
    assert_null(stored->message);
    fixture->last = stored->sequence;
    strcpy(fixture->subject, stored->subject);
    if (stored->payload.length < sizeof fixture->payload) {
        memcpy(fixture->payload, stored->payload.data, stored->payload.length);
    }
    if (++fixture->due_count == fixture->expected_count) {
        reactor_stop(fixture->reactor);
    }
}

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    assert_int_equal(reactor_create(&fixture->reactor), PARLEY_OK);
    *state = fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    delay_queue_finish(&fixture->queue);
    reactor_destroy(fixture->reactor);
    free(fixture);
    return 0;
}

static void add(struct fixture *fixture, uint64_t sequence, struct parley_bytes payload) {
    const struct jetstream_stored stored = {
        .sequence = sequence, .subject = "a.b", .payload = payload};
    delay_queue_add(&fixture->queue, &stored);
}

static void test_what_comes_is_copied_and_handled_later_in_order(void **state) {
    struct fixture *fixture = *state;
    char text[] = "one";
    fixture->expected_count = 3;
    delay_queue_init(&fixture->queue, fixture->reactor, 10, on_due);
    add(fixture, 1, (struct parley_bytes){text, 3});
    add(fixture, 2, (struct parley_bytes){0});
    add(fixture, 3, (struct parley_bytes){text, 3});
    text[0] = 'X';
    assert_int_equal(fixture->due_count, 0);
    reactor_run(fixture->reactor);
    assert_int_equal(fixture->due_count, 3);
    assert_string_equal(fixture->subject, "a.b");
    assert_string_equal(fixture->payload, "one");
    assert_int_equal(fixture->queue.bytes, 0);
}

static void test_while_it_is_full_the_oldest_are_handled_early(void **state) {
    struct fixture *fixture = *state;
    delay_queue_init(&fixture->queue, fixture->reactor, 3600000, on_due);
    for (uint64_t i = 1; i <= COUNT_MAX; i++) {
        add(fixture, i, PARLEY_BYTES("x"));
    }
    assert_int_equal(fixture->due_count, 0);
    add(fixture, COUNT_MAX + 1, PARLEY_BYTES("x"));
    assert_int_equal(fixture->due_count, 1);
    char *large = calloc(1, BYTES_MAX);
    assert_non_null(large);
    add(fixture, COUNT_MAX + 2, (struct parley_bytes){large, BYTES_MAX});
    free(large);
    assert_int_equal(fixture->queue.count, 1); /* however large it is */
    assert_int_equal(fixture->due_count, COUNT_MAX + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_comes_is_copied_and_handled_later_in_order,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_while_it_is_full_the_oldest_are_handled_early, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
