/* SPDX-License-Identifier: Apache-2.0 */

/* Every allocation that a message provokes fails once: the answer is "out of memory" or the right
 * one. AddressSanitizer sees to it that nothing leaks. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include <parley/describe.h>

#include "lib/cases.h"
#include "lib/fault_heap.h"
#include "lib/rounds.h"

/* The message in every encoding of its protocol, a line each. */
static enum parley_status convert_to_all(struct parley_message *message,
                                         struct parley_buffer *out) {
    const struct parley_codec *const *codec = message->protocol->codecs;
    for (; *codec != NULL; codec++) {
        parley_buffer_text(out, "\n");
        PARLEY_TRY(message->protocol->convert(message, *codec, out));
    }
    return parley_buffer_status(out);
}

static enum parley_status append_fingerprint(struct parley_message *message,
                                             struct parley_buffer *out) {
    struct parley_bytes fingerprint = {0};
    if (message->protocol->fingerprint != NULL) {
        PARLEY_TRY(message->protocol->fingerprint(message, &fingerprint));
    }
    parley_buffer_append(out, fingerprint);
    return parley_buffer_status(out);
}

/* All that comes of a message, as text. */
static enum parley_status process(struct parley_message *message, const struct test_case *test,
                                  struct parley_buffer *out) {
    struct parley_route route;
    parley_buffer_clear(out);
    PARLEY_TRY(parley_message_check(message, test->body, test->codec, &test->options,
                                    (struct parley_position){1, 1}));
    PARLEY_TRY(parley_message_write_verdict(message, out));
    if (parley_message_is_valid(message)) {
        PARLEY_TRY(message->protocol->route(message, &route));
        parley_buffer_text(out, "\n");
        parley_buffer_append(out, route.subject);
        parley_buffer_text(out, "\n");
        parley_buffer_append(out, route.source);
        parley_buffer_text(out, "\n");
        parley_buffer_append(out, route.fact_keys[2]);
        parley_buffer_text(out, "\n");
        PARLEY_TRY(message->protocol->encode(message, out));
        PARLEY_TRY(append_fingerprint(message, out));
        PARLEY_TRY(convert_to_all(message, out));
    } else if (message->protocol->write_refusal != NULL) {
        PARLEY_TRY(message->protocol->write_refusal(message, out));
    }
    return parley_buffer_status(out);
}

static void assert_right(const struct test_case *test, const struct parley_buffer *wanted,
                         const struct parley_buffer *got, size_t first) {
    if (!parley_bytes_equal(parley_buffer_bytes(wanted), parley_buffer_bytes(got))) {
        fail_msg("%s, when allocation %zu failed:\n%.*s\nnot\n%.*s", test->name, first,
                 (int)got->length, got->data, (int)wanted->length, wanted->data);
    }
}

/* One run in which `failures` allocations from number `first` on fail, with a message that has
 * been used or not; then the same message object must serve again. */
static void run_without(const struct test_case *test, const struct parley_schema *schema,
                        const struct parley_buffer *wanted, size_t first, size_t failures) {
    struct parley_message message;
    struct parley_buffer out;
    parley_message_init(&message, schema);
    parley_buffer_init(&out);
    fault_heap_arm(first, failures);
    const enum parley_status status = process(&message, test, &out);
    fault_heap_disarm();
    if (status == PARLEY_OK) {
        assert_right(test, wanted, &out, first);
    } else {
        assert_int_equal(status, PARLEY_E_MEMORY);
        assert_true(fault_heap_has_failed());
    }
    assert_int_equal(process(&message, test, &out), PARLEY_OK);
    assert_right(test, wanted, &out, first);
    parley_message_finish(&message);
    parley_buffer_finish(&out);
}

/* Fails one allocation after another, or `usual` of them, which are others for another `turn`.
 * Returns: how many were failed. */
static size_t fail_each(const struct test_case *test, const struct parley_schema *schema,
                        size_t usual, size_t turn) {
    struct parley_message message;
    struct parley_buffer wanted;
    parley_message_init(&message, schema);
    parley_buffer_init(&wanted);
    fault_heap_arm(SIZE_MAX, 0);
    assert_int_equal(process(&message, test, &wanted), PARLEY_OK);
    const size_t count = fault_heap_disarm();
    parley_message_finish(&message);
    const size_t stride = test_stride(count, usual);
    size_t failed = 0;
    for (size_t first = turn % stride; first < count; first += stride, failed++) {
        run_without(test, schema, &wanted, first, 1);
        run_without(test, schema, &wanted, first, SIZE_MAX);
    }
    parley_buffer_finish(&wanted);
    return failed;
}

static void fail_each_of(const char *protocol) {
    struct test_cases cases;
    struct parley_schema *schema = cases_read_of(&cases, protocol);
    assert_non_null(schema);
    size_t failed = 0, valid = 0, invalid = 0, stamped = 0;
    for (size_t i = 0; i < cases.count; i++) {
        const struct test_case *test = &cases.items[i];
        if (test->body.length > 4096) {
            continue;
        }
        failed += fail_each(test, schema, 8, i);
        valid += test->is_valid;
        invalid += !test->is_valid;
        stamped += test->options.stamp;
    }
    assert_true(failed > 1000 && valid > 20 && invalid > 20 && stamped > 2);
    parley_schema_destroy(schema);
    cases_finish(&cases);
}

static void test_no_allocation_that_fails_makes_a_wrong_verdict(void **state) {
    (void)state;
    fail_each_of("vlp");
    fail_each_of("roundtable");
    fail_each_of("supervisor");
    fail_each_of("brenner");
}

static void test_many_findings_and_long_texts_survive_failures_too(void **state) {
    (void)state;
    struct parley_schema *schema;
    struct parley_buffer body;
    const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("vlp"));
    assert_int_equal(parley_schema_create(protocol, &schema), PARLEY_OK);
    parley_buffer_init(&body);
    parley_buffer_text(&body, "{\n\"sender\":\"");
    for (int i = 0; i < 3000; i++) {
        parley_buffer_text(&body, "\\u00e9");
    }
    parley_buffer_text(&body, "\",\"confidence\":");
    for (int i = 0; i < 100; i++) {
        parley_buffer_text(&body, i == 0 ? "0." : "5");
    }
    parley_buffer_text(&body, ",\"keywords\":[1");
    for (int i = 0; i < 90; i++) {
        parley_buffer_text(&body, ",{}");
    }
    parley_buffer_text(&body, "]}");
    const struct test_case test = {
        .name = "many findings",
        .protocol = protocol,
        .codec = &parley_codec_json,
        .options = {.now = CASES_NOW, .fresh_id = CASES_ID, .stamp = true},
        .body = parley_buffer_bytes(&body)};
    assert_true(fail_each(&test, schema, SIZE_MAX, 0) > 100);
    parley_buffer_finish(&body);
    parley_schema_destroy(schema);
}

/* What no case has: objects of so many keys that they are hashed, deltas that repeat keys, and
 * escapes wherever they can be. */
static void test_each_way_to_read_json_survives_failures(void **state) {
    (void)state;
    static const struct {
        const char *protocol, *start, *repeated, *end;
        int count;
    } rows[] = {
        {"vlp", "{\"type\":\"claim\"", ",\"k\\u00e9%d\":[\"\\n\"]", "}", 2000},
        {"vlp", "{\"type\":\"claim\"", ",\"k\\u00e9%d\":[\"\\n\"]", ",\"k\u00e91\":2}", 2000},
        {"roundtable", "{\"metadata\":{\"\":0", ",\"%d\":{\"\\t\":1e400}", "}}", 40},
        {"brenner", "{\"subject\":\"INFO: \\t\",\"from\":\"a\",\"to\":[\"x\"",
         ",\"\\u00e9%d\",[\"y\"]", "],\"thread_id\":\"t\",\"body_md\":\"b\"}", 40},
        {"brenner", "{\"subject\":\"INFO: \\t\",\"from\":\"a\",\"to\":[\"x\"", ",\"\\u00e9%d\"",
         "],\"thread_id\":\"t\",\"b\\u006fdy_md\":\"b\\n\"}", 40},
        {"brenner",
         "{\"subject\":\"INFO: x\",\"from\":\"a\",\"to\":[\"x\"],\"thread_id\":\"t\","
         "\"body_md\":\"```delta\\n{\\\"a\\\":0",
         ",\\\"\\\\u0061\\\":[%d,{\\\"b\\\":1,\\\"b\\\":2}]", "}\\n```\\n\"}", 10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_schema *schema;
        struct parley_buffer body;
        const struct parley_protocol *protocol =
            parley_protocol_find(parley_bytes_of(rows[i].protocol));
        assert_int_equal(parley_schema_create(protocol, &schema), PARLEY_OK);
        parley_buffer_init(&body);
        parley_buffer_text(&body, rows[i].start);
        for (int k = 0; k < rows[i].count; k++) {
            char text[128];
            snprintf(text, sizeof text, rows[i].repeated, k);
            parley_buffer_text(&body, text);
        }
        parley_buffer_text(&body, rows[i].end);
        for (unsigned stamp = 0; stamp < 2; stamp++) {
            const struct test_case test = {
                .name = rows[i].end,
                .protocol = protocol,
                .codec = &parley_codec_json,
                .options = {.now = CASES_NOW, .fresh_id = CASES_ID, .stamp = stamp == 1},
                .body = parley_buffer_bytes(&body)};
            assert_true(fail_each(&test, schema, SIZE_MAX, 0) > 3);
        }
        parley_buffer_finish(&body);
        parley_schema_destroy(schema);
    }
}

static void test_a_refusal_without_reading_survives_failures(void **state) {
    (void)state;
    struct parley_schema *schema;
    struct parley_message message;
    assert_int_equal(parley_schema_create(parley_protocols[0], &schema), PARLEY_OK);
    for (size_t first = 0; first < 8; first++) {
        parley_message_init(&message, schema);
        fault_heap_arm(first, SIZE_MAX);
        const enum parley_status status =
            first % 2 == 0 ? parley_message_refuse_size(&message, 5, (struct parley_position){1, 1})
                           : parley_message_refuse_fault(&message, "fault", NULL,
                                                         (struct parley_position){1, 1});
        fault_heap_disarm();
        assert_int_equal(status, fault_heap_has_failed() ? PARLEY_E_MEMORY : PARLEY_OK);
        /* Whatever the status, it must not pass for valid. */
        assert_false(status == PARLEY_OK && parley_message_is_valid(&message));
        parley_message_finish(&message);
    }
    parley_schema_destroy(schema);
}

static void test_a_schema_is_made_whole_or_not_at_all(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        struct parley_schema *schema = NULL;
        fault_heap_arm(SIZE_MAX, 0);
        assert_int_equal(parley_schema_create(parley_protocols[i], &schema), PARLEY_OK);
        const size_t count = fault_heap_disarm();
        parley_schema_destroy(schema);
        for (size_t first = 0; first < count; first++) {
            fault_heap_arm(first, 1);
            assert_int_equal(parley_schema_create(parley_protocols[i], &schema), PARLEY_E_MEMORY);
            fault_heap_disarm();
        }
    }
}

static void test_a_json_schema_is_written_whole_or_not_at_all(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        struct parley_buffer out;
        parley_buffer_init(&out);
        fault_heap_arm(SIZE_MAX, 0);
        assert_int_equal(parley_protocol_write_json_schema(parley_protocols[i], &out), PARLEY_OK);
        const size_t count = fault_heap_disarm();
        parley_buffer_finish(&out);
        assert_true(count > 10);
        for (size_t first = 0; first < count; first++) {
            parley_buffer_init(&out);
            fault_heap_arm(first, 1);
            assert_int_equal(parley_protocol_write_json_schema(parley_protocols[i], &out),
                             PARLEY_E_MEMORY);
            fault_heap_disarm();
            parley_buffer_finish(&out);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_allocation_that_fails_makes_a_wrong_verdict),
        cmocka_unit_test(test_many_findings_and_long_texts_survive_failures_too),
        cmocka_unit_test(test_each_way_to_read_json_survives_failures),
        cmocka_unit_test(test_a_refusal_without_reading_survives_failures),
        cmocka_unit_test(test_a_schema_is_made_whole_or_not_at_all),
        cmocka_unit_test(test_a_json_schema_is_written_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
