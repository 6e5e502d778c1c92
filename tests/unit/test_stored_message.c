/* SPDX-License-Identifier: Apache-2.0 */

/* What JetStream answers about one message, also where memory runs out. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/fault_heap.h"
#include "stored_message.h"

/* "NATS/1.0\r\na: b\r\n\r\n", "hello" */
#define MESSAGE                                                                                    \
    "{\"type\":\"x\",\"message\":{\"subject\":\"vlp.a\\u0026b\",\"seq\":7,"                        \
    "\"hdrs\":\"TkFUUy8xLjANCmE6IGINCg0K\",\"data\":\"aGVsbG8=\"}}"
#define ERROR(code, text)                                                                          \
    "{\"type\":\"x\",\"error\":{\"code\":404,\"err_code\":" code ",\"description\":\"" text "\"}}"

static const char headers[] = "NATS/1.0\r\na: b\r\n\r\n";

static void assert_last(const char *text, int found, const char *payload, const char *error) {
    struct stored_message answer;
    struct jetstream_last last;
    stored_message_init(&answer, parley_bytes_of(text), false);
    stored_message_last(&answer, &last);
    assert_int_equal(last.found, found);
    assert_int_equal(last.payload.length, strlen(payload));
    assert_true(parley_bytes_equal(last.payload, parley_bytes_of(payload)));
    assert_true(parley_bytes_equal(parley_bytes_of(last.error), parley_bytes_of(error)));
    stored_message_finish(&answer);
}

static void test_the_last_message_is_read(void **state) {
    (void)state;
    assert_last(MESSAGE, JETSTREAM_LAST_FOUND, "hello", NULL);
    assert_last("{\"message\":{\"subject\":\"a\"}}", JETSTREAM_LAST_FOUND, "", NULL);
    /* "NATS/1.0\r\nKV-Operation: DEL\r\n\r\n" */
    assert_last("{\"message\":{\"hdrs\":\"TkFUUy8xLjANCktWLU9wZXJhdGlvbjogREVMDQoNCg==\"}}",
                JETSTREAM_LAST_NONE, "", NULL);
    assert_last(ERROR("10037", "no message found"), JETSTREAM_LAST_NONE, "", NULL);
    assert_last(ERROR("10059", "stream not found"), JETSTREAM_LAST_NO_STREAM, "", NULL);
    assert_last(ERROR("10039", "off"), JETSTREAM_LAST_UNKNOWN, "", "off");
    assert_last("{\"message\":{\"data\":\"*\"}}", JETSTREAM_LAST_UNKNOWN, "", NULL);
    assert_last("{\"message\":7}", JETSTREAM_LAST_UNKNOWN, "", NULL);
    assert_last("{", JETSTREAM_LAST_UNKNOWN, "", NULL);
    assert_last(NULL, JETSTREAM_LAST_UNKNOWN, "", NULL);
}

static void assert_numbers(const char *text, uint64_t sequence, uint64_t count) {
    struct stored_message answer;
    struct jetstream_last last;
    stored_message_init(&answer, parley_bytes_of(text), false);
    stored_message_last(&answer, &last);
    assert_int_equal(last.sequence, sequence);
    assert_int_equal(last.count, count);
    stored_message_finish(&answer);
}

static void test_the_last_message_has_its_place_and_maybe_a_count(void **state) {
    (void)state;
    assert_numbers(MESSAGE, 7, 0);
    /* "NATS/1.0\r\nParley-Count: 289\r\n\r\n" */
    assert_numbers(
        "{\"message\":{\"seq\":9,\"hdrs\":\"TkFUUy8xLjANClBhcmxleS1Db3VudDogMjg5DQoNCg==\"}}", 9,
        289);
    /* "NATS/1.0\r\nKV-Operation: DEL\r\n\r\n" */
    assert_numbers(
        "{\"message\":{\"seq\":5,\"hdrs\":\"TkFUUy8xLjANCktWLU9wZXJhdGlvbjogREVMDQoNCg==\"}}", 5,
        0);
    assert_numbers("{\"message\":{\"seq\":-1}}", 0, 0);
}

static void assert_held(const char *text, int found, const char *subject, const char *error) {
    struct stored_message answer;
    struct jetstream_held held;
    stored_message_init(&answer, parley_bytes_of(text), false);
    stored_message_held(&answer, &held);
    assert_int_equal(held.found, found);
    assert_true(parley_bytes_equal(parley_bytes_of(held.subject), parley_bytes_of(subject)));
    assert_true(parley_bytes_equal(parley_bytes_of(held.error), parley_bytes_of(error)));
    stored_message_finish(&answer);
}

static void test_a_held_message_is_read(void **state) {
    (void)state;
    assert_held(MESSAGE, JETSTREAM_HELD_FOUND, "vlp.a&b", NULL);
    assert_held("{\"message\":{\"subject\":\"a\"}}", JETSTREAM_HELD_FOUND, "a", NULL);
    assert_held(ERROR("10037", "no message found"), JETSTREAM_HELD_GONE, NULL, NULL);
    assert_held(ERROR("10059", "\\u003cno\\u003e"), JETSTREAM_HELD_UNKNOWN, NULL, "<no>");
    assert_held("{\"message\":{}}", JETSTREAM_HELD_UNKNOWN, NULL, NULL);
    assert_held("[]", JETSTREAM_HELD_UNKNOWN, NULL, NULL);
    assert_held(NULL, JETSTREAM_HELD_UNKNOWN, NULL, NULL);
}

static void test_a_request_that_no_server_listens_to_is_an_error(void **state) {
    (void)state;
    struct stored_message answer;
    struct jetstream_held held;
    stored_message_init(&answer, (struct parley_bytes){0}, true);
    stored_message_held(&answer, &held);
    assert_int_equal(held.found, JETSTREAM_HELD_UNKNOWN);
    assert_string_equal(held.error, MESSAGE_ANSWER_NO_RESPONDERS);
    stored_message_finish(&answer);
}

/* Lets the allocations from `number` on fail.  Returns: whether one did. */
static bool fail_from(const char *text, size_t number, size_t failures) {
    static const char error[] = "parley has no memory to read the answer";
    struct stored_message answer;
    struct jetstream_last last;
    struct jetstream_held held;
    fault_heap_arm(number, failures);
    stored_message_init(&answer, parley_bytes_of(text), false);
    stored_message_last(&answer, &last);
    stored_message_held(&answer, &held);
    stored_message_finish(&answer);
    fault_heap_disarm();
    if (last.found == JETSTREAM_LAST_UNKNOWN || held.found == JETSTREAM_HELD_UNKNOWN) {
        assert_true(fault_heap_has_failed());
        assert_true(last.error == NULL || strcmp(last.error, error) == 0);
        assert_true(held.error == NULL || strcmp(held.error, error) == 0);
        assert_true(last.error != NULL || held.error != NULL);
    }
    return fault_heap_has_failed();
}

static void test_an_answer_that_finds_no_memory_is_an_error(void **state) {
    (void)state;
    static const size_t failures[] = {1, SIZE_MAX};
    for (size_t i = 0; i < 2; i++) {
        size_t number = 0;
        while (fail_from(MESSAGE, number, failures[i])) {
            number++;
        }
        assert_true(number > 0);
    }
}

static void test_headers_are_decoded(void **state) {
    (void)state;
    struct stored_message answer;
    struct jetstream_held held;
    stored_message_init(&answer, PARLEY_BYTES(MESSAGE), false);
    stored_message_held(&answer, &held);
    assert_true(parley_bytes_equal(held.headers, parley_bytes_of(headers)));
    stored_message_finish(&answer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_message_is_read),
        cmocka_unit_test(test_the_last_message_has_its_place_and_maybe_a_count),
        cmocka_unit_test(test_a_held_message_is_read),
        cmocka_unit_test(test_headers_are_decoded),
        cmocka_unit_test(test_a_request_that_no_server_listens_to_is_an_error),
        cmocka_unit_test(test_an_answer_that_finds_no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
