/* SPDX-License-Identifier: Apache-2.0 */

/* What the acks of JetStream say, also where memory runs out. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/fault_heap.h"
#include "jetstream_ack.h"

static void assert_stored(const char *payload, uint64_t sequence, bool is_duplicate) {
    struct jetstream_ack_texts texts;
    struct jetstream_ack ack;
    assert_true(jetstream_ack_read(parley_bytes_of(payload), &texts, &ack));
    assert_int_equal(ack.outcome, JETSTREAM_STORED);
    assert_string_equal(ack.stream, "VLP");
    assert_int_equal(ack.sequence, sequence);
    assert_int_equal(ack.is_duplicate, is_duplicate);
}

static void test_acks_of_every_form_are_read(void **state) {
    (void)state;
    assert_stored("{\"stream\":\"VLP\", \"seq\":42}", 42, false);
    assert_stored("{\"stream\":\"VLP\", \"domain\":\"x\", \"seq\":42,\"duplicate\": true}", 42,
                  true);
    assert_stored("{\"seq\":42,\"stream\":\"VLP\",\"duplicate\":false}", 42, false);
    assert_stored("{\"duplicate\":true,\"seq\":9007199254740993,\"stream\":\"\\u0056LP\"}",
                  UINT64_C(9007199254740993), true);
    assert_stored("{\"seq\":7,\"stream\":\"VLP\",\"more\":{\"stream\":\"X\",\"seq\":1}}", 7, false);
}

static void assert_refused(const char *payload, int code, const char *error, const char *stream) {
    struct jetstream_ack_texts texts;
    struct jetstream_ack ack;
    assert_true(jetstream_ack_read(parley_bytes_of(payload), &texts, &ack));
    assert_int_equal(ack.outcome, JETSTREAM_REFUSED);
    assert_int_equal(ack.error_code, code);
    assert_string_equal(ack.error, error);
    if (stream == NULL) {
        assert_null(ack.stream);
    } else {
        assert_string_equal(ack.stream, stream);
    }
}

static void test_an_error_has_its_code_and_text(void **state) {
    (void)state;
    assert_refused("{\"error\":{\"code\":503,\"err_code\":10077,\"description\":\"maximum messages "
                   "exceeded\"},\"stream\":\"VLP\",\"seq\":0}",
                   10077, "maximum messages exceeded", "VLP");
    assert_refused("{\"error\":{\"code\":400,\"description\":\"\\u003cno\\u003e\"}}", 400, "<no>",
                   NULL);
    assert_refused("{\"error\":{\"err_code\":0}}", -1, "JetStream gave no reason", NULL);
    assert_refused("{\"error\":null}", -1, "JetStream gave no reason", NULL);
    assert_refused("{\"error\":\"no\",\"stream\":[1]}", -1, "JetStream gave no reason", NULL);
}

static void test_a_long_reason_is_cut_off(void **state) {
    (void)state;
    static const char head[] = "{\"error\":{\"code\":400,\"description\":\"";
    char payload[2000];
    memset(payload, 'x', sizeof payload);
    memcpy(payload, head, sizeof head - 1);
    memcpy(payload + sizeof payload - 4, "\"}}", 4);
    struct jetstream_ack_texts texts;
    struct jetstream_ack ack;
    assert_true(jetstream_ack_read(parley_bytes_of(payload), &texts, &ack));
    assert_int_equal(strlen(ack.error), sizeof texts.error - 1);
}

static void test_other_answers_are_not_acks(void **state) {
    (void)state;
    static const char *const payloads[] = {"",
                                           "hello",
                                           "[]",
                                           "7",
                                           "{}",
                                           "{\"seq\":1}",
                                           "{\"stream\":7,\"seq\":1}",
                                           "{\"more\":{\"stream\":\"VLP\",\"seq\":1}}",
                                           "[{\"stream\":\"VLP\",\"seq\":1}]",
                                           "{\"stream\":\"VLP\",\"seq\":1",
                                           "{\"error\":{\"code\":503}"};
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        struct jetstream_ack_texts texts;
        struct jetstream_ack ack;
        assert_false(jetstream_ack_read(parley_bytes_of(payloads[i]), &texts, &ack));
    }
}

/* Lets each allocation fail in turn, alone or with all that follow.
 * Returns: how often one failed. */
static size_t fail_each(const char *payload, enum jetstream_outcome outcome, int code,
                        const char *error) {
    static const size_t failures[] = {1, SIZE_MAX};
    size_t failed_count = 0;
    for (size_t i = 0; i < 2; i++) {
        bool has_failed = true;
        for (size_t number = 0; has_failed; number++) {
            struct jetstream_ack_texts texts;
            struct jetstream_ack ack;
            fault_heap_arm(number, failures[i]);
            const bool is_ack = jetstream_ack_read(parley_bytes_of(payload), &texts, &ack);
            fault_heap_disarm();
            has_failed = fault_heap_has_failed();
            failed_count += has_failed;
            assert_true(is_ack);
            if (has_failed) {
                assert_int_equal(ack.outcome, outcome);
                assert_int_equal(ack.error_code, code);
                assert_string_equal(ack.error, error);
            }
        }
    }
    return failed_count;
}

static void test_usual_errors_need_no_memory(void **state) {
    (void)state;
    assert_int_equal(
        fail_each("{\"error\":{\"code\":503,\"err_code\":10077,\"description\":\"full\""
                  "},\"stream\":\"VLP\",\"seq\":0}",
                  JETSTREAM_REFUSED, 10077, "full"),
        0);
}

static void test_an_error_whose_text_finds_no_memory_is_refused_all_the_same(void **state) {
    (void)state;
    assert_true(fail_each("{\"error\":{\"code\":400,\"err_code\":10060,\"description\":"
                          "\"expected \\\"x\\\"\"},\"stream\":\"VLP\",\"seq\":0}",
                          JETSTREAM_REFUSED, 10060, "parley had no memory to read the reason") > 0);
}

static void test_an_ack_that_finds_no_memory_may_mean_that_it_was_stored(void **state) {
    (void)state;
    static const char error[] = "parley had no memory to read JetStream's acknowledgement. The "
                                "message may have been stored.";
    assert_true(fail_each("{\"stream\":\"\\u0056LP\",\"seq\":1}", JETSTREAM_TIMEOUT, 0, error) > 0);
    assert_true(fail_each("{\"error\":{\"description\":\"\\\"\",\"code\":400}}", JETSTREAM_TIMEOUT,
                          0, error) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acks_of_every_form_are_read),
        cmocka_unit_test(test_an_error_has_its_code_and_text),
        cmocka_unit_test(test_a_long_reason_is_cut_off),
        cmocka_unit_test(test_other_answers_are_not_acks),
        cmocka_unit_test(test_usual_errors_need_no_memory),
        cmocka_unit_test(test_an_error_whose_text_finds_no_memory_is_refused_all_the_same),
        cmocka_unit_test(test_an_ack_that_finds_no_memory_may_mean_that_it_was_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
