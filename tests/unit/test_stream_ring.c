/* SPDX-License-Identifier: Apache-2.0 */

/* The bounded ring of events. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "stream_ring.h"

static struct stream_event *make(uint64_t sequence, size_t size_bytes) {
    struct stream_event *event = calloc(1, sizeof *event);
    assert_non_null(event);
    event->reference_count = 1;
    event->sequence = sequence;
    event->size_bytes = size_bytes;
    return event;
}

static void start(struct stream_ring *ring, size_t count_max, size_t bytes_max, uint64_t low) {
    assert_int_equal(stream_ring_init(ring, count_max, bytes_max), PARLEY_OK);
    stream_ring_restart(ring, low);
}

static uint64_t found(const struct stream_ring *ring, uint64_t sequence) {
    const struct stream_event *event = stream_ring_find(ring, sequence);
    return event != NULL ? event->sequence : 0;
}

static void test_a_new_ring_covers_nothing(void **state) {
    (void)state;
    struct stream_ring ring;
    assert_int_equal(stream_ring_init(&ring, 4, 100), PARLEY_OK);
    assert_false(stream_ring_covers(&ring, 1));
    assert_false(stream_ring_covers(&ring, UINT64_MAX));
    stream_ring_finish(&ring);
}

static void test_an_open_ring_covers_what_has_yet_to_come(void **state) {
    (void)state;
    struct stream_ring ring;
    start(&ring, 4, 100, 7);
    assert_false(stream_ring_covers(&ring, 6));
    assert_true(stream_ring_covers(&ring, 7));
    assert_true(stream_ring_covers(&ring, 1000));
    assert_int_equal(found(&ring, 7), 0);
    stream_ring_finish(&ring);
}

static void test_the_oldest_make_room_when_there_are_too_many(void **state) {
    (void)state;
    struct stream_ring ring;
    start(&ring, 3, 100, 1);
    for (uint64_t sequence = 1; sequence <= 8; sequence++) {
        stream_ring_push(&ring, make(sequence, 1));
    }
    assert_int_equal(ring.count, 3);
    assert_false(stream_ring_covers(&ring, 5));
    assert_true(stream_ring_covers(&ring, 6));
    for (uint64_t sequence = 6; sequence <= 8; sequence++) {
        assert_int_equal(found(&ring, sequence), sequence);
    }
    assert_int_equal(found(&ring, 9), 0);
    stream_ring_finish(&ring);
}

static void test_the_oldest_make_room_when_they_are_too_large(void **state) {
    (void)state;
    struct stream_ring ring;
    start(&ring, 10, 100, 1);
    stream_ring_push(&ring, make(1, 40));
    stream_ring_push(&ring, make(2, 40));
    stream_ring_push(&ring, make(3, 50));
    assert_int_equal(ring.count, 2);
    assert_int_equal(ring.bytes, 90);
    assert_false(stream_ring_covers(&ring, 1));
    stream_ring_push(&ring, make(4, 1000)); /* the newest stays, whatever its size */
    assert_int_equal(ring.count, 1);
    assert_int_equal(found(&ring, 4), 4);
    stream_ring_push(&ring, make(5, 10));
    assert_int_equal(ring.bytes, 10);
    stream_ring_finish(&ring);
}

static void test_a_missing_sequence_finds_the_next_one(void **state) {
    (void)state;
    struct stream_ring ring;
    static const uint64_t sequences[] = {3, 4, 8, 9, 20, 21};
    start(&ring, 10, 1000, 2);
    for (size_t i = 0; i < 6; i++) {
        stream_ring_push(&ring, make(sequences[i], 1));
    }
    for (uint64_t wanted = 2; wanted <= 21; wanted++) {
        size_t i = 0;
        while (sequences[i] < wanted) {
            i++;
        }
        assert_int_equal(found(&ring, wanted), sequences[i]);
    }
    assert_int_equal(found(&ring, 22), 0);
    stream_ring_finish(&ring);
}

static void test_an_event_that_is_held_outlives_the_ring(void **state) {
    (void)state;
    struct stream_ring ring;
    start(&ring, 1, 100, 1);
    stream_ring_push(&ring, make(1, 1));
    struct stream_event *held = stream_event_ref(stream_ring_find(&ring, 1));
    stream_ring_push(&ring, make(2, 1));
    stream_ring_finish(&ring);
    assert_int_equal(held->sequence, 1);
    assert_int_equal(held->reference_count, 1);
    stream_event_unref(held);
}

static void test_a_restart_forgets_what_was(void **state) {
    (void)state;
    struct stream_ring ring;
    start(&ring, 4, 100, 1);
    stream_ring_push(&ring, make(1, 10));
    stream_ring_restart(&ring, 50);
    assert_int_equal(ring.count, 0);
    assert_int_equal(ring.bytes, 0);
    assert_false(stream_ring_covers(&ring, 2));
    assert_true(stream_ring_covers(&ring, 50));
    stream_ring_finish(&ring);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_ring_covers_nothing),
        cmocka_unit_test(test_an_open_ring_covers_what_has_yet_to_come),
        cmocka_unit_test(test_the_oldest_make_room_when_there_are_too_many),
        cmocka_unit_test(test_the_oldest_make_room_when_they_are_too_large),
        cmocka_unit_test(test_a_missing_sequence_finds_the_next_one),
        cmocka_unit_test(test_an_event_that_is_held_outlives_the_ring),
        cmocka_unit_test(test_a_restart_forgets_what_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
