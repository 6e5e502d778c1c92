/* SPDX-License-Identifier: Apache-2.0 */

/* Keys that stand twice in one object are found, however many there are and however objects nest;
 * a plain list of keys serves as the model. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sodium.h>
#include <stdio.h>

#include "base/key_set.h"
#include "lib/fault_heap.h"
#include "lib/random.h"

static enum key_set_result add(struct key_set *set, const char *key) {
    return key_set_add(set, parley_bytes_of(key));
}

static void test_a_key_is_repeated_only_within_its_object(void **state) {
    (void)state;
    struct key_set set;
    key_set_init(&set, PARLEY_BYTES(""));
    key_set_enter(&set);
    assert_int_equal(add(&set, "a"), KEY_SET_NEW);
    key_set_enter(&set);
    assert_int_equal(add(&set, "a"), KEY_SET_NEW);
    assert_int_equal(add(&set, "b"), KEY_SET_NEW);
    assert_int_equal(add(&set, "a"), KEY_SET_REPEATED);
    key_set_leave(&set);
    assert_int_equal(add(&set, "b"), KEY_SET_NEW);
    assert_int_equal(add(&set, "a"), KEY_SET_REPEATED);
    key_set_enter(&set);
    assert_int_equal(add(&set, ""), KEY_SET_NEW);
    assert_int_equal(add(&set, ""), KEY_SET_REPEATED);
    key_set_leave(&set);
    key_set_leave(&set);
    key_set_finish(&set);
}

static void test_keys_are_compared_whole_and_byte_for_byte(void **state) {
    (void)state;
    struct key_set set;
    key_set_init(&set, PARLEY_BYTES("aab"));
    key_set_enter(&set);
    const char *text = set.text.data;
    assert_int_equal(key_set_add(&set, (struct parley_bytes){text, 1}), KEY_SET_NEW);
    assert_int_equal(key_set_add(&set, (struct parley_bytes){text, 2}), KEY_SET_NEW);
    assert_int_equal(key_set_add(&set, (struct parley_bytes){text + 1, 2}), KEY_SET_NEW);
    assert_int_equal(add(&set, "A"), KEY_SET_NEW);
    assert_int_equal(key_set_add(&set, PARLEY_BYTES("a\0")), KEY_SET_NEW);
    assert_int_equal(key_set_add(&set, PARLEY_BYTES("a\0")), KEY_SET_REPEATED);
    assert_int_equal(key_set_add(&set, (struct parley_bytes){text + 1, 1}), KEY_SET_REPEATED);
    assert_int_equal(add(&set, "aa"), KEY_SET_REPEATED);
    key_set_leave(&set);
    key_set_finish(&set);
}

/* Keys are drawn from few, so that there are repetitions; objects are opened and closed at random;
 * lengths go well beyond what is compared one by one. */
enum { DRAWN_FROM = 3000, MODEL_MAX = 20000 };

struct model {
    unsigned keys[MODEL_MAX];
    size_t firsts[KEY_SET_DEPTH_MAX], count, depth;
};

static bool model_has(const struct model *model, unsigned key) {
    for (size_t i = model->firsts[model->depth - 1]; i < model->count; i++) {
        if (model->keys[i] == key) {
            return true;
        }
    }
    return false;
}

/* Key number `key` of a text in which all keys stand, five digits each; of every third its copy. */
static struct parley_bytes key_number(const char *text, unsigned key, char copy[8]) {
    memcpy(copy, text + (size_t)key * 5, 5);
    return (struct parley_bytes){key % 3 == 0 ? copy : text + (size_t)key * 5, 5};
}

static void test_it_agrees_with_a_plain_list(void **state) {
    (void)state;
    static char text[DRAWN_FROM * 5 + 1];
    static struct model model;
    struct random_source source = {4711};
    for (unsigned i = 0; i < DRAWN_FROM; i++) {
        snprintf(text + (size_t)i * 5, 6, "%05u", i);
    }
    size_t repeated = 0, hashed = 0;
    for (int round = 0; round < 60; round++) {
        struct key_set set;
        char copy[8];
        key_set_init(&set, (struct parley_bytes){text, sizeof text - 1});
        key_set_enter(&set);
        model.count = 0;
        model.depth = 1;
        model.firsts[0] = 0;
        for (int step = 0; step < 6000; step++) {
            const size_t what = random_below(&source, 100);
            if (what == 0 && model.depth < KEY_SET_DEPTH_MAX) {
                key_set_enter(&set);
                model.firsts[model.depth++] = model.count;
            } else if (what == 1 && model.depth > 1) {
                key_set_leave(&set);
                model.count = model.firsts[--model.depth];
            } else {
                const unsigned key = (unsigned)random_below(&source, DRAWN_FROM);
                const bool is_repeated = model_has(&model, key);
                assert_int_equal(key_set_add(&set, key_number(text, key, copy)),
                                 is_repeated ? KEY_SET_REPEATED : KEY_SET_NEW);
                repeated += is_repeated;
                if (!is_repeated) {
                    model.keys[model.count++] = key;
                }
            }
        }
        hashed += set.hashed_count;
        key_set_finish(&set);
    }
    assert_true(repeated > 1000 && hashed > 1000);
}

static void test_small_objects_need_no_allocation(void **state) {
    (void)state;
    static const char text[] = "abcdefghijklmnopqrstuvwxyz";
    struct key_set set;
    fault_heap_arm(SIZE_MAX, 0);
    key_set_init(&set, (struct parley_bytes){text, sizeof text - 1});
    for (int object = 0; object < 1000; object++) {
        key_set_enter(&set);
        for (size_t i = 0; i < KEY_SET_FEW; i++) {
            assert_int_equal(key_set_add(&set, (struct parley_bytes){text + i, 1}), KEY_SET_NEW);
        }
        key_set_enter(&set);
        for (size_t i = 0; i < KEY_SET_INLINE - KEY_SET_FEW; i++) {
            assert_int_equal(key_set_add(&set, (struct parley_bytes){text + i, 1}), KEY_SET_NEW);
        }
        key_set_leave(&set);
        key_set_leave(&set);
    }
    assert_int_equal(fault_heap_disarm(), 0);
    key_set_finish(&set);
}

static void test_memory_is_in_proportion_to_the_keys(void **state) {
    (void)state;
    enum { KEYS = 200000 };
    static char text[KEYS * 6 + 1];
    struct key_set set;
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(text + (size_t)i * 6, 7, "%06u", i % 1000000);
    }
    key_set_init(&set, (struct parley_bytes){text, sizeof text - 1});
    for (int round = 0; round < 3; round++) { /* what the first one took is enough for all */
        key_set_enter(&set);
        for (size_t i = 0; i < KEYS; i++) {
            assert_int_equal(key_set_add(&set, (struct parley_bytes){text + i * 6, 6}),
                             KEY_SET_NEW);
        }
        key_set_leave(&set);
        assert_in_range(set.capacity * sizeof *set.entries, KEYS * 12, KEYS * 24);
        assert_in_range(set.slot_count * sizeof *set.slots, KEYS * 4, KEYS * 12);
        assert_int_equal(set.copies.capacity, 0);
    }
    key_set_finish(&set);
}

/* The longest row of slots that a search may have to look at. */
static size_t longest_run(const struct key_set *set) {
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < 2 * set->slot_count; i++) { /* it may go round */
        run = set->slots[i % set->slot_count] != 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* Whoever knew the seed would choose keys whose hashes end alike: these do for a seed of zeros. The
 * seed is the process's own, so that they are spread like any others. */
static void test_keys_that_collide_for_another_seed_are_spread(void **state) {
    (void)state;
    enum { KEYS = 1000, KEY_LENGTH = 8, SAME_BITS = 0xFFF };
    static const unsigned char seed[crypto_shorthash_KEYBYTES];
    static char text[KEYS * KEY_LENGTH + 1];
    struct key_set set;
    for (unsigned found = 0, i = 0; found < KEYS; i++) {
        char *key = text + (size_t)found * KEY_LENGTH;
        uint64_t hash;
        snprintf(key, KEY_LENGTH + 1, "%08x", i);
        crypto_shorthash((unsigned char *)&hash, (unsigned char *)key, KEY_LENGTH, seed);
        found += (hash & SAME_BITS) == 0;
    }
    key_set_init(&set, (struct parley_bytes){text, sizeof text - 1});
    key_set_enter(&set);
    for (size_t i = 0; i < KEYS; i++) {
        const struct parley_bytes key = {text + i * KEY_LENGTH, KEY_LENGTH};
        assert_int_equal(key_set_add(&set, key), KEY_SET_NEW);
    }
    assert_in_range(set.slot_count, KEYS, SAME_BITS + 1);
    assert_true(longest_run(&set) < 200); /* some 20; of keys that collide 1,000 */
    key_set_leave(&set);
    key_set_finish(&set);
}

static void test_without_memory_it_says_so(void **state) {
    (void)state;
    static const char text[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t refused = 0;
    for (size_t first = 0; first < 8; first++) {
        struct key_set set;
        key_set_init(&set, (struct parley_bytes){text, sizeof text - 1});
        fault_heap_arm(first, SIZE_MAX);
        key_set_enter(&set);
        for (size_t i = 0; i < sizeof text - 1; i++) {
            char copy = text[i];
            const struct parley_bytes key = {i % 2 == 0 ? &copy : text + i, 1};
            if (key_set_add(&set, key) == KEY_SET_MEMORY) {
                assert_true(fault_heap_has_failed());
                refused++;
                break;
            }
        }
        fault_heap_disarm();
        key_set_leave(&set);
        key_set_finish(&set);
    }
    assert_in_range(refused, 3, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_key_is_repeated_only_within_its_object),
        cmocka_unit_test(test_keys_are_compared_whole_and_byte_for_byte),
        cmocka_unit_test(test_it_agrees_with_a_plain_list),
        cmocka_unit_test(test_small_objects_need_no_allocation),
        cmocka_unit_test(test_memory_is_in_proportion_to_the_keys),
        cmocka_unit_test(test_keys_that_collide_for_another_seed_are_spread),
        cmocka_unit_test(test_without_memory_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
