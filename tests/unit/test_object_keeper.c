/* SPDX-License-Identifier: Apache-2.0 */

/* Which objects are too many, by the metas of a bucket in their order. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "object_keeper.h"

static char dropped[1024];

static void on_drop(void *context, const char *name, const char *nuid) {
    (void)context;
    const size_t length = strlen(dropped);
    /* The last digit of the id says which it is. */
    snprintf(dropped + length, sizeof dropped - length, "%.*s%c=%s ", (int)strcspn(name, "/"), name,
             name[strlen(name) - 1], nuid);
}

static struct object_keeper *keeper_of(size_t keep) {
    struct object_keeper *keeper = NULL;
    dropped[0] = '\0';
    assert_int_equal(object_keeper_create(NULL, "b", keep, on_drop, NULL, &keeper), PARLEY_OK);
    return keeper;
}

static void take(struct object_keeper *keeper, uint64_t sequence, const char *owner, char id,
                 const char *nuid, bool is_deleted) {
    char text[256];
    snprintf(text, sizeof text,
             "{\"name\":\"%s/00000000-0000-8000-8000-00000000000%c\",\"nuid\":\"%s\",\"size\":1,"
             "\"chunks\":1%s}",
             owner, id, nuid, is_deleted ? ",\"deleted\":true" : "");
    object_keeper_take(keeper, sequence, parley_bytes_of(text));
}

static void test_the_newest_of_each_owner_are_kept(void **state) {
    (void)state;
    struct object_keeper *keeper = keeper_of(2);
    take(keeper, 1, "ada", '1', "a", false);
    take(keeper, 2, "bob", '1', "b", false);
    take(keeper, 3, "ada", '2', "c", false);
    assert_string_equal(dropped, "");
    take(keeper, 4, "ada", '3', "d", false);
    take(keeper, 5, "ada", '4', "e", false);
    assert_string_equal(dropped, "ada1=a ada2=c ");
    object_keeper_destroy(keeper);
}

static void test_what_comes_again_or_late_changes_nothing(void **state) {
    (void)state;
    struct object_keeper *keeper = keeper_of(2);
    take(keeper, 2, "ada", '2', "b", false);
    take(keeper, 3, "ada", '3', "c", false);
    take(keeper, 2, "ada", '2', "b", false);
    take(keeper, 3, "ada", '3', "c", false);
    assert_string_equal(dropped, "");
    take(keeper, 1, "ada", '1', "a", false);
    assert_string_equal(dropped, "ada1=a ");
    object_keeper_destroy(keeper);
}

static void test_an_object_that_is_written_again_is_new(void **state) {
    (void)state;
    struct object_keeper *keeper = keeper_of(2);
    take(keeper, 1, "ada", '1', "a", false);
    take(keeper, 2, "ada", '2', "b", false);
    take(keeper, 3, "ada", '1', "c", false);
    take(keeper, 4, "ada", '4', "d", false);
    assert_string_equal(dropped, "ada2=b ");
    object_keeper_destroy(keeper);
}

static void test_deleted_ones_do_not_count(void **state) {
    (void)state;
    struct object_keeper *keeper = keeper_of(1);
    take(keeper, 1, "ada", '1', "a", false);
    take(keeper, 2, "ada", '1', "a", true);
    take(keeper, 3, "ada", '3', "c", false);
    assert_string_equal(dropped, "");
    object_keeper_destroy(keeper);
}

static void test_what_parley_did_not_name_is_left_alone(void **state) {
    (void)state;
    struct object_keeper *keeper = keeper_of(1);
    static const char *const metas[] = {
        "{\"name\":\"a\",\"nuid\":\"x\"}", "{\"name\":\"b/1\",\"nuid\":\"x\"}", "{}", "",
        "{\"name\":\"/00000000-0000-8000-8000-000000000001\",\"nuid\":\"x\"}"};
    for (uint64_t i = 0; i < 10; i++) {
        object_keeper_take(keeper, i + 1, parley_bytes_of(metas[i % 5]));
    }
    assert_string_equal(dropped, "");
    object_keeper_destroy(keeper);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_newest_of_each_owner_are_kept),
        cmocka_unit_test(test_what_comes_again_or_late_changes_nothing),
        cmocka_unit_test(test_an_object_that_is_written_again_is_new),
        cmocka_unit_test(test_deleted_ones_do_not_count),
        cmocka_unit_test(test_what_parley_did_not_name_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
