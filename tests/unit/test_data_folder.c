/* SPDX-License-Identifier: Apache-2.0 */

/* Which data folders are taken. (attack F11) */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "data_folder.h"

struct place {
    char root[64], folder[128], error[512];
};

static int set_up(void **state) {
    struct place *place = calloc(1, sizeof *place);
    assert_non_null(place);
    snprintf(place->root, sizeof place->root, "/tmp/parley-data-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    snprintf(place->folder, sizeof place->folder, "%s/d", place->root);
    *state = place;
    return 0;
}

static int tear_down(void **state) {
    struct place *place = *state;
    rmdir(place->folder);
    rmdir(place->root);
    free(place);
    return 0;
}

static bool prepare(struct place *place) {
    return data_folder_prepare(place->folder, place->error, sizeof place->error);
}

static void test_a_missing_one_is_made_for_its_owner_alone(void **state) {
    struct place *place = *state;
    struct stat status;
    assert_true(prepare(place));
    assert_int_equal(stat(place->folder, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
}

static void test_a_check_says_the_same_and_makes_nothing(void **state) {
    struct place *place = *state;
    char below[256];
    struct stat status;
    snprintf(below, sizeof below, "%s/a/b", place->folder);
    assert_true(data_folder_check(below, place->error, sizeof place->error));
    assert_int_equal(stat(place->folder, &status), -1);
    assert_true(data_folder_check("none-in-this-folder", place->error, sizeof place->error));
    assert_false(data_folder_check("/dev/null/d", place->error, sizeof place->error));
    assert_non_null(strstr(place->error, "Not a directory; give another one with --data"));
    assert_int_equal(mkdir(place->folder, 0700), 0);
    assert_true(data_folder_check(place->folder, place->error, sizeof place->error));
    assert_int_equal(chmod(place->folder, 0777), 0);
    assert_false(data_folder_check(place->folder, place->error, sizeof place->error));
    assert_non_null(strstr(place->error, "chmod go-w"));
}

static void test_its_mode_decides_who_else_may_write(void **state) {
    static const struct {
        mode_t mode;
        bool is_taken;
    } rows[] = {{0700, true},  {0755, true},   {0775, true},
                {0777, false}, {01777, false}, {0702, false}};
    struct place *place = *state;
    assert_int_equal(mkdir(place->folder, 0700), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(chmod(place->folder, rows[i].mode), 0);
        assert_int_equal(prepare(place), rows[i].is_taken);
        assert_true(rows[i].is_taken || strstr(place->error, "chmod go-w") != NULL);
    }
}

static void test_it_may_lie_in_a_folder_for_everybody(void **state) {
    struct place *place = *state;
    assert_int_equal(chmod(place->root, 01777), 0);
    assert_true(prepare(place));
}

static void test_the_folder_of_another_user_is_refused(void **state) {
    struct place *place = *state;
    assert_int_equal(mkdir(place->folder, 0777), 0);
    if (chown(place->folder, 12345, (gid_t)-1) != 0) {
        skip(); /* takes a privilege */
    }
    assert_false(prepare(place));
    assert_non_null(strstr(place->error, "another user (id 12345"));
}

static void test_a_group_that_is_not_ours_may_not_write(void **state) {
    struct place *place = *state;
    assert_int_equal(mkdir(place->folder, 0700), 0);
    if (chown(place->folder, (uid_t)-1, 12345) != 0) {
        skip(); /* takes a privilege */
    }
    assert_true(prepare(place));
    assert_int_equal(chmod(place->folder, 0770), 0);
    assert_false(prepare(place));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_missing_one_is_made_for_its_owner_alone),
        TEST(test_a_check_says_the_same_and_makes_nothing),
        TEST(test_its_mode_decides_who_else_may_write),
        TEST(test_it_may_lie_in_a_folder_for_everybody),
        TEST(test_the_folder_of_another_user_is_refused),
        TEST(test_a_group_that_is_not_ours_may_not_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
