/* SPDX-License-Identifier: Apache-2.0 */

/* What a restore is composed of: what a checkpoint says of itself, and which entries of the log are
 * after it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <parley/message.h>
#include <parley/restore.h>

#include "../lib/fault_heap.h"

#define CHECKPOINT(more) "{\"type\":\"checkpoint\",\"timestamp\":1" more ",\"data\":{\"a\":1}}"
#define E(sequence)                                                                                \
    "{\"operation\":\"memory_add\",\"params\":{\"sequence\":99},\"sequence\":" sequence "}"
#define ENTRY(sequence) "{\"type\":\"wal_entry\",\"timestamp\":1,\"data\":" E(sequence) "}"
#define BATCH(entries) "{\"data\":[" entries "],\"type\":\"wal_batch\",\"timestamp\":1}"

struct fixture {
    struct parley_schema *schema;
    struct parley_message message;
    struct parley_buffer out, runs;
};

static const struct parley_restore *restore_of(void) {
    return parley_protocol_find(PARLEY_BYTES("supervisor"))->restore;
}

static void begin(struct fixture *fixture, const char *text) {
    const struct parley_options options = {0};
    const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("supervisor"));
    assert_int_equal(parley_schema_create(protocol, &fixture->schema), PARLEY_OK);
    parley_message_init(&fixture->message, fixture->schema);
    parley_buffer_init(&fixture->out);
    parley_buffer_init(&fixture->runs);
    assert_int_equal(parley_message_check(&fixture->message, parley_bytes_of(text),
                                          &parley_codec_json, &options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_true(fixture->message.is_decoded);
}

static void end(struct fixture *fixture) {
    parley_buffer_finish(&fixture->out);
    parley_buffer_finish(&fixture->runs);
    parley_message_finish(&fixture->message);
    parley_schema_destroy(fixture->schema);
}

/* ---- checkpoints ---- */

static const struct {
    const char *text;
    bool has_position, is_packed;
    int64_t position;
} checkpoints[] = {
    {CHECKPOINT(""), false, false, 0},
    {CHECKPOINT(",\"metadata\":{}"), false, false, 0},
    {CHECKPOINT(",\"metadata\":{\"wal_sequence\":12}"), true, false, 12},
    {CHECKPOINT(",\"metadata\":{\"x\":{\"wal_sequence\":3}, \"wal_sequence\" : 0 }"), true, false,
     0},
    {CHECKPOINT(",\"metadata\":{\"wal_sequence\":-1}"), true, false, -1},
    {CHECKPOINT(",\"metadata\":{\"wal_sequence\":9223372036854775807}"), true, false, INT64_MAX},
    {CHECKPOINT(",\"metadata\":{\"wal_sequence\":1.5}"), false, false, 0},
    {CHECKPOINT(",\"metadata\":{\"wal_sequence\":1e3}"), true, false, 1000},
    {CHECKPOINT(",\"metadata\":{\"wal_sequence\":41.0}"), true, false, 41},
    {CHECKPOINT(",\"metadata\":{\"wal_sequence\":9223372036854775808}"), false, false, 0},
    {CHECKPOINT(",\"metadata\":{\"wal_sequence\":1e19}"), false, false, 0},
    {CHECKPOINT(",\"metadata\":{\"wal_sequence\":\"12\"}"), false, false, 0},
    {CHECKPOINT(",\"metadata\":{\"wal_sequence\":null}"), false, false, 0},
    {CHECKPOINT(",\"metadata\":[12]"), false, false, 0},
    {CHECKPOINT(",\"wal_sequence\":12"), false, false, 0},
    {CHECKPOINT(",\"compressed\":true,\"compression\":\"zstd\""), false, true, 0},
    {CHECKPOINT(",\"compressed\":false"), false, false, 0},
};

static void test_a_checkpoint_says_up_to_where_it_has_the_log(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof checkpoints / sizeof checkpoints[0]; i++) {
        struct fixture fixture;
        struct parley_checkpoint says;
        begin(&fixture, checkpoints[i].text);
        assert_int_equal(restore_of()->read(&fixture.message, &says), PARLEY_OK);
        assert_int_equal(says.has_position, checkpoints[i].has_position);
        assert_int_equal(says.is_packed, checkpoints[i].is_packed);
        assert_true(!says.has_position || says.position == checkpoints[i].position);
        end(&fixture);
    }
}

/* ---- entries ---- */

static const struct {
    const char *text;
    bool has_position;
    int64_t position, first;
    const char *entries;
} logs[] = {
    {ENTRY("5"), false, 0, 5, "," E("5")},
    {ENTRY("5"), true, 4, 5, "," E("5")},
    {ENTRY("5"), true, 5, 5, ""},
    {ENTRY("5"), true, -1, 5, "," E("5")},
    {ENTRY("5.0"), true, 4, 5, "," E("5.0")},
    {ENTRY("50e-1"), true, 5, 5, ""},
    {BATCH(E("5") "," E("1e19")), true, INT64_MAX, 5, "," E("1e19")},
    {BATCH(E("5") "," E("6") "," E("7")), false, 0, 5, "," E("5") "," E("6") "," E("7")},
    {BATCH(E("5") "," E("6") "," E("7")), true, 6, 5, "," E("7")},
    {BATCH(E("5") "," E("6")), true, 6, 5, ""},
    {BATCH(" {\"sequence\" : 5 , \"params\" : { } , \"operation\":\"state_update\" } "), true, 4, 5,
     ",{\"sequence\":5,\"params\":{},\"operation\":\"state_update\"}"},
    {"{\"metadata\":{\"data\":[{\"sequence\":1}]},\"type\":\"wal_entry\",\"timestamp\":1,"
     "\"data\":" E("5") "}",
     false, 0, 5, "," E("5")},
};

static enum parley_status append(struct fixture *fixture, size_t row) {
    const struct parley_checkpoint after = {.has_position = logs[row].has_position,
                                            .position = logs[row].position};
    return restore_of()->append(&fixture->message, &after, &fixture->out, &fixture->runs);
}

static void test_only_entries_after_the_checkpoint_are_in_a_restore(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        struct fixture fixture;
        int64_t first = 0;
        begin(&fixture, logs[i].text);
        assert_int_equal(append(&fixture, i), PARLEY_OK);
        parley_buffer_char(&fixture.out, '\0');
        assert_string_equal(fixture.out.data, logs[i].entries);
        assert_int_equal(restore_of()->first_number(&fixture.message, &first), PARLEY_OK);
        assert_int_equal(first, logs[i].first);
        end(&fixture);
    }
}

static void test_entries_without_memory_are_an_error(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        enum parley_status status = PARLEY_E_MEMORY;
        for (size_t failure = 0; status == PARLEY_E_MEMORY; failure++) {
            struct fixture fixture;
            begin(&fixture, logs[i].text);
            fault_heap_arm(failure, 1);
            status = append(&fixture, i);
            fault_heap_disarm();
            assert_true(status == PARLEY_OK || status == PARLEY_E_MEMORY);
            end(&fixture);
        }
    }
}

/* "5-7 9": the runs of a message's entries. */
static void check_runs(const char *text, const char *expected) {
    struct fixture fixture;
    const struct parley_checkpoint after = {.has_position = true, .position = 4};
    char said[256] = "";
    begin(&fixture, text);
    assert_int_equal(restore_of()->append(&fixture.message, &after, &fixture.out, &fixture.runs),
                     PARLEY_OK);
    for (size_t at = 0; at < fixture.runs.length; at += sizeof(struct parley_log_run)) {
        struct parley_log_run run;
        memcpy(&run, fixture.runs.data + at, sizeof run);
        snprintf(said + strlen(said), sizeof said - strlen(said), "%s%jd-%jd", at > 0 ? " " : "",
                 (intmax_t)run.first, (intmax_t)run.last);
    }
    assert_string_equal(said, expected);
    end(&fixture);
}

static void test_the_numbers_of_entries_are_runs(void **state) {
    (void)state;
    check_runs(ENTRY("5"), "5-5");
    check_runs(ENTRY("4"), "");
    check_runs(ENTRY("1e19"), "");
    check_runs(ENTRY("9223372036854775807"), "");
    check_runs(BATCH(E("3") "," E("5") "," E("6.0") "," E("9")), "5-6 9-9");
}

static void check_end(size_t count, bool has_more, const char *expected) {
    static const struct parley_log_run runs[] = {{3, 4}, {7, 7}};
    const struct parley_log_gaps missing = {.runs = runs, .count = count, .has_more = has_more};
    struct parley_buffer out;
    parley_buffer_init(&out);
    restore_of()->end(&missing, &out);
    parley_buffer_char(&out, '\0');
    assert_string_equal(out.data, expected);
    parley_buffer_finish(&out);
}

static void test_a_restore_says_what_its_log_lacks(void **state) {
    (void)state;
    check_end(0, false, "]}");
    check_end(1, false, "],\"metadata\":{\"missing\":[{\"first\":3,\"last\":4}]}}");
    check_end(2, true,
              "],\"metadata\":{\"missing\":[{\"first\":3,\"last\":4},{\"first\":7,\"last\":7}],"
              "\"more\":true}}");
}

/* ---- packed states: what is inside is base64 of zstd ---- */

#define JSON_OBJECT "\"KLUv/QBYUAAAeyAiYSIgOiAxfQEAAA==\"" /* { "a" : 1} */

static const struct {
    const char *text, *inside; /* NULL: it cannot be unpacked */
} packed[] = {
    {JSON_OBJECT, "{\"a\":1}"}, {"{\"a\":1}", NULL}, {"\"\"", NULL}, {"\"!\"", NULL},
    {"\"AAAA\"", NULL},         {"12", NULL},
};

static void test_a_packed_state_is_unpacked_or_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++) {
        struct parley_buffer out;
        parley_buffer_init(&out);
        const enum parley_status status =
            restore_of()->unpack(parley_bytes_of(packed[i].text), &out);
        assert_int_equal(status, packed[i].inside != NULL ? PARLEY_OK : PARLEY_E_UNSUPPORTED);
        if (packed[i].inside != NULL) {
            parley_buffer_char(&out, '\0');
            assert_string_equal(out.data, packed[i].inside);
        }
        parley_buffer_finish(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_checkpoint_says_up_to_where_it_has_the_log),
        cmocka_unit_test(test_only_entries_after_the_checkpoint_are_in_a_restore),
        cmocka_unit_test(test_entries_without_memory_are_an_error),
        cmocka_unit_test(test_the_numbers_of_entries_are_runs),
        cmocka_unit_test(test_a_restore_says_what_its_log_lacks),
        cmocka_unit_test(test_a_packed_state_is_unpacked_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
