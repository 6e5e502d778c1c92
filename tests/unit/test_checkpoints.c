/* SPDX-License-Identifier: Apache-2.0 */

/* Which part of the log a restore takes, and whose object a pointer may name. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stored_headers.h"
#include "checkpoint_scan.h"
#include "log_start.h"

static void test_what_was_stored_since_the_upload_began_is_after_it(void **state) {
    static const struct {
        const char *header;
        uint64_t sequence, begun;
    } rows[] = {
        {NULL, 42, 42},
        {"40", 42, 40},
        {"0", 42, 0},
        {"41", 42, 41},
        {"42", 42, 42},
        {"43", 42, 42},
        {"", 42, 42},
        {"-1", 42, 42},
        {"4x", 42, 42},
        {" 4", 42, 42},
        {"99999999999999999999", 42, 42},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(stored_checkpoint_begun(rows[i].header, rows[i].sequence), rows[i].begun);
    }
}

static void test_the_search_ends_where_all_before_is_in_the_checkpoint(void **state) {
    static const struct {
        int64_t first, position;
        bool is_before;
    } rows[] = {
        {1, 5, true},    {5, 5, true},  {6, 5, true},         {7, 5, false},
        {100, 5, false}, {0, -1, true}, {1, INT64_MAX, true}, {INT64_MAX, 5, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(log_start_is_before(rows[i].first, rows[i].position), rows[i].is_before);
    }
}

#define ID "28fd7316-e442-48d5-a6f8-79c7984a4924"

static void test_a_header_names_the_object_of_its_own_checkpoint_alone(void **state) {
    static const struct {
        const char *header;
        bool is_named;
    } rows[] = {
        {"coder-1/" ID, true},
        {"coder-2/" ID, false},
        {"coder-1/" ID "x", false},
        {"coder-1/x", false},
        {ID, false},
        {"", false},
        {"../coder-1/" ID, false},
        {"_/" ID, false},
    };
    const struct checkpoint_scope place = {.agent = "coder-1"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(stored_checkpoint_names_object(&place, ID, rows[i].header),
                         rows[i].is_named);
    }
}

static void test_an_id_is_a_uuid_whatever_the_event_says(void **state) {
    static const struct {
        const char *event, *id;
    } rows[] = {
        {ID, ID},
        {NULL, "00000000-0000-8000-8000-00000000002a"},
        {"", "00000000-0000-8000-8000-00000000002a"},
        {"a\"b", "00000000-0000-8000-8000-00000000002a"},
        {ID "0", "00000000-0000-8000-8000-00000000002a"},
        {"28fd7316-e442-48d5-a6f8", "00000000-0000-8000-8000-00000000002a"},
    };
    char id[STORED_ID_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stored_id(rows[i].event, 42, id);
        assert_string_equal(id, rows[i].id);
    }
}

static void test_a_header_is_found_by_its_name_in_any_case(void **state) {
    static const char text[] =
        "NATS/1.0\r\nCe-Id: x\r\nParley-Object-Name: no\r\nParley-Object: a/b\r\nEmpty:\r\n\r\n";
    static const struct {
        const char *name, *value;
    } rows[] = {
        {"ce-id", "x"}, {"Parley-Object", "a/b"}, {"Empty", ""}, {"Parley", NULL}, {"x", NULL},
    };
    char value[8];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bool is_there = held_header((struct parley_bytes){text, sizeof text - 1},
                                          rows[i].name, value, sizeof value);
        assert_int_equal(is_there, rows[i].value != NULL);
        assert_true(!is_there || strcmp(value, rows[i].value) == 0);
    }
    assert_false(held_header((struct parley_bytes){text, sizeof text - 1}, "Parley-Object", value,
                             sizeof "a/b" - 1));
    assert_false(held_header((struct parley_bytes){0}, "ce-id", value, sizeof value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_stored_since_the_upload_began_is_after_it),
        cmocka_unit_test(test_the_search_ends_where_all_before_is_in_the_checkpoint),
        cmocka_unit_test(test_a_header_names_the_object_of_its_own_checkpoint_alone),
        cmocka_unit_test(test_an_id_is_a_uuid_whatever_the_event_says),
        cmocka_unit_test(test_a_header_is_found_by_its_name_in_any_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
