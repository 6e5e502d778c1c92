/* SPDX-License-Identifier: Apache-2.0 */

/* What is known of an object before its message is checked: the same in whatever pieces the message
 * comes, and nothing where it will not be stored as it is. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "ahead.h"

static void assert_is_digest(const char *digest, struct parley_bytes object) {
    struct object_digest all;
    char expected[OBJECT_DIGEST_MAX];
    object_digest_begin(&all);
    object_digest_add(&all, object);
    assert_true(object_digest_end(&all, expected));
    assert_string_equal(digest, expected);
}

/* In portions of `size` bytes, each in memory of its own, so that reading on is found. */
static void look(struct ahead *ahead, struct parley_bytes text, size_t size) {
    for (size_t come = size; come < text.length; come += size) {
        char *copy = malloc(come);
        assert_non_null(copy);
        memcpy(copy, text.data, come);
        ahead_look(ahead, (struct parley_bytes){copy, come}, false);
        free(copy);
    }
    ahead_look(ahead, text, true);
}

static void test_an_object_is_known_in_whatever_portions_it_comes(void **state) {
    (void)state;
    static const struct {
        const char *text, *object; /* NULL: it is left to others */
    } rows[] = {
        {"{\"type\":\"checkpoint\",\"data\":{\"a\":[1,\"}\\\"]\",{}]},\"z\":1}\n",
         "{\"a\":[1,\"}\\\"]\",{}]}"},
        {"{\"data\":\"\\\\\\\"\xC3\xA4\"}\r\n", "\"\\\\\\\"\xC3\xA4\""},
        {"{\"a\":{\"data\":1}, \"data\" : [ 1 , 2 ],\"b\":2}", "[ 1 , 2 ]"},
        {"{\"data\":12345}", "12345"},
        {"{\"data\":{} }", NULL},
        {"{\"data\":\n{}}", NULL},
        {"{\"data\":{\n}}", NULL},
        {"{\"data\":{},\n\"b\":1}", NULL},
        {"{\n\"data\":{}}", NULL},
        {"{\"b\":{}}", NULL},
        {"{\"data\":{\"a\":\"", NULL},
        {"{\"data\":", NULL},
        {"{\"data\"", NULL},
        {"\n", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct parley_bytes text = parley_bytes_of(rows[i].text);
        for (size_t size = 1; size <= text.length + 1; size++) {
            struct ahead ahead = {.member = "data"};
            look(&ahead, text, size);
            assert_int_equal(ahead.phase, rows[i].object != NULL ? AHEAD_KNOWN : AHEAD_UNKNOWN);
            if (rows[i].object != NULL) {
                const struct parley_bytes object = {text.data + ahead.start,
                                                    ahead.end - ahead.start};
                assert_true(parley_bytes_equal(object, parley_bytes_of(rows[i].object)));
                assert_is_digest(ahead.digest, object);
            }
            ahead_finish(&ahead);
        }
    }
}

static void test_what_is_not_wanted_is_not_known(void **state) {
    (void)state;
    struct ahead ahead = {.member = "data"};
    const struct parley_bytes text = PARLEY_BYTES("{\"data\":{\"a\":1}}");
    ahead_look(&ahead, (struct parley_bytes){text.data, 10}, false);
    assert_int_equal(ahead.phase, AHEAD_DIGESTING);
    ahead.is_unwanted = true;
    ahead_look(&ahead, text, true);
    assert_int_equal(ahead.phase, AHEAD_UNKNOWN);
    ahead_finish(&ahead);
}

static void test_what_was_interrupted_is_gone_on_with(void **state) {
    (void)state;
    struct ahead ahead = {.member = "data"};
    const struct parley_bytes text = PARLEY_BYTES("{\"data\":{\"a\":1}}");
    ahead_look(&ahead, (struct parley_bytes){text.data, 10}, false);
    const size_t end = ahead.end;
    ahead.is_interrupted = true;
    ahead_look(&ahead, (struct parley_bytes){text.data, 12}, false);
    assert_int_equal(ahead.phase, AHEAD_DIGESTING);
    assert_int_equal(ahead.end, end);
    ahead.is_interrupted = false;
    ahead_look(&ahead, text, true);
    assert_int_equal(ahead.phase, AHEAD_KNOWN);
    assert_is_digest(ahead.digest, PARLEY_BYTES("{\"a\":1}"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_object_is_known_in_whatever_portions_it_comes),
        cmocka_unit_test(test_what_is_not_wanted_is_not_known),
        cmocka_unit_test(test_what_was_interrupted_is_gone_on_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
