/* SPDX-License-Identifier: Apache-2.0 */

/* Arenas: alignment, limits, and what a reset keeps. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdalign.h>

#include <parley/arena.h>

#include "lib/fault_heap.h"

static void test_allocations_are_aligned_and_apart(void **state) {
    (void)state;
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    unsigned char *pieces[300];
    for (size_t i = 0; i < 300; i++) {
        pieces[i] = parley_arena_allocate(&arena, i);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        memset(pieces[i], (int)(i % 256), i);
    }
    for (size_t i = 0; i < 300; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_int_equal(pieces[i][k], i % 256);
        }
    }
    parley_arena_finish(&arena);
}

static void test_the_limit_is_kept_to_the_byte_of_alignment(void **state) {
    (void)state;
    struct parley_arena arena;
    parley_arena_init(&arena, 64);
    assert_non_null(parley_arena_allocate(&arena, 33)); /* 48 with alignment */
    assert_null(parley_arena_allocate(&arena, 17));
    assert_non_null(parley_arena_allocate(&arena, 16));
    assert_null(parley_arena_allocate(&arena, 1));
    assert_non_null(parley_arena_allocate(&arena, 0));
    parley_arena_finish(&arena);
}

static void test_a_reset_gives_the_limit_back(void **state) {
    (void)state;
    struct parley_arena arena;
    parley_arena_init(&arena, 64);
    assert_non_null(parley_arena_allocate(&arena, 64));
    parley_arena_reset(&arena);
    assert_non_null(parley_arena_allocate(&arena, 64));
    parley_arena_finish(&arena);
}

static void test_sizes_that_overflow_are_refused(void **state) {
    (void)state;
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    assert_null(parley_arena_allocate(&arena, SIZE_MAX));
    assert_null(parley_arena_allocate(&arena, SIZE_MAX - 8));
    assert_null(parley_arena_allocate(&arena, SIZE_MAX / 2 + 1));
    parley_arena_finish(&arena);
}

static void test_a_reset_keeps_one_small_block(void **state) {
    (void)state;
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    void *first = parley_arena_allocate(&arena, 16);
    assert_non_null(parley_arena_allocate(&arena, 100000));
    parley_arena_reset(&arena);
    fault_heap_arm(SIZE_MAX, 0);
    void *again = parley_arena_allocate(&arena, 16);
    assert_int_equal(fault_heap_disarm(), 0);
    assert_ptr_equal(first, again);
    parley_arena_finish(&arena);
}

static void test_a_reset_keeps_no_block_that_a_large_message_needed(void **state) {
    (void)state;
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    assert_non_null(parley_arena_allocate(&arena, 100000));
    parley_arena_reset(&arena);
    assert_null(arena.blocks);
    assert_int_equal(arena.used_bytes, 0);
    parley_arena_finish(&arena);
}

static void test_without_memory_it_answers_null_and_can_go_on(void **state) {
    (void)state;
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    fault_heap_arm(0, 1);
    assert_null(parley_arena_allocate(&arena, 16));
    assert_null(arena.blocks);
    assert_non_null(parley_arena_allocate(&arena, 16));
    fault_heap_disarm();
    parley_arena_finish(&arena);
}

static void test_a_copy_ends_with_a_nul_and_may_hold_one(void **state) {
    (void)state;
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    assert_string_equal(parley_arena_copy(&arena, PARLEY_BYTES("text")), "text");
    assert_string_equal(parley_arena_copy(&arena, (struct parley_bytes){NULL, 0}), "");
    assert_memory_equal(parley_arena_copy(&arena, PARLEY_BYTES("a\0b")), "a\0b", 4);
    parley_arena_finish(&arena);
}

static void test_finish_may_be_called_on_a_zeroed_arena_and_twice(void **state) {
    (void)state;
    struct parley_arena arena = {0};
    parley_arena_finish(&arena);
    parley_arena_finish(&arena);
    assert_non_null(parley_arena_allocate(&arena, 1));
    parley_arena_finish(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_are_aligned_and_apart),
        cmocka_unit_test(test_the_limit_is_kept_to_the_byte_of_alignment),
        cmocka_unit_test(test_a_reset_gives_the_limit_back),
        cmocka_unit_test(test_sizes_that_overflow_are_refused),
        cmocka_unit_test(test_a_reset_keeps_one_small_block),
        cmocka_unit_test(test_a_reset_keeps_no_block_that_a_large_message_needed),
        cmocka_unit_test(test_without_memory_it_answers_null_and_can_go_on),
        cmocka_unit_test(test_a_copy_ends_with_a_nul_and_may_hold_one),
        cmocka_unit_test(test_finish_may_be_called_on_a_zeroed_arena_and_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
