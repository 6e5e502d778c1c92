/* SPDX-License-Identifier: Apache-2.0 */

/* What a violation says that it expects of the value. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include <parley/message.h>

#define VLP_HEAD                                                                                   \
    "{\"id\":\"MSG1\",\"protocol\":\"VLP/1.1\",\"timestamp\":\"2025-12-14T10:30:00Z\","            \
    "\"sender\":\"S\",\"content\":\"c\""
#define VLP VLP_HEAD ",\"type\":\"notice\",\"confidence\":0.5"
#define RT_HEAD                                                                                    \
    "{\"id\":\"7f9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b\",\"timestamp\":\"2026-02-08T15:00:00Z\","     \
    "\"version\":\"1.0\""
#define RT RT_HEAD ",\"from\":\"galahad\""
#define WAL                                                                                        \
    "{\"type\":\"wal_batch\",\"timestamp\":1,\"data\":[{\"operation\":\"memory_add\","             \
    "\"params\":{},\"sequence\":2},{\"operation\":\"memory_add\",\"params\":{},\"sequence\":"

/* Of each the first violation. */
static const struct {
    const char *protocol, *text, *expected; /* NULL: the row does not say */
} cases[] = {
    /* A constant, a closed set, kinds, and the constraints of strings, numbers and arrays. */
    {"vlp", "{\"id\":\"MSG1\"}", "{\"const\":\"VLP/1.1\"}"},
    {"vlp", VLP ",\"safety\":{\"level\":\"none\"}}", "{\"enum\":[\"safe\",\"review\",\"block\"]}"},
    {"vlp", VLP ",\"seq\":\"x\"}", "{\"type\":[\"integer\",\"null\"],\"minimum\":0}"},
    {"vlp", VLP ",\"safety\":3}", "{\"type\":\"object\"}"},
    {"vlp", VLP_HEAD ",\"type\":\"notice\",\"confidence\":2}",
     "{\"type\":\"number\",\"minimum\":0,\"maximum\":1}"},
    {"vlp", "{\"protocol\":\"VLP/1.1\",\"id\":\"\"}", "{\"type\":\"string\",\"minLength\":1}"},
    {"vlp", VLP ",\"keywords\":1}", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
    {"vlp", VLP ",\"provenance\":[3]}", "{\"type\":[\"string\",\"object\"],\"minLength\":1}"},
    {"roundtable",
     RT_HEAD ",\"from\":\"a.b\",\"type\":\"heartbeat\",\"payload\":{\"status\":\"\"}}",
     "{\"type\":\"string\",\"pattern\":\"^[^\\\\x00-\\\\x20\\\\x7f-\\\\x9f.*>]+$\","
     "\"maxLength\":128}"},
    {"roundtable", "{\"id\":7}",
     "{\"type\":\"string\",\"format\":\"uuid\",\"pattern\":\"^.{14}4.{4}[89ABab]\"}"},
    {"supervisor", "{\"type\":\"wal_batch\",\"timestamp\":1,\"data\":[]}",
     "{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"object\"}}"},
    /* A member that another one asks for is expected as its own row says, but not as null. */
    {"roundtable", RT ",\"type\":\"task.claimed\",\"payload\":{}}",
     "{\"type\":\"string\",\"format\":\"uuid\"}"},
    {"vlp", VLP_HEAD ",\"type\":\"response\",\"confidence\":0.5}",
     "{\"type\":[\"string\",\"array\"],\"items\":{\"type\":\"string\"}}"},
    {"vlp", VLP_HEAD ",\"type\":\"response\",\"confidence\":0.5,\"refers_to\":\"\"}", NULL},
    /* A value that is right alone, and wrong beside others. */
    {"vlp", VLP_HEAD ",\"type\":\"claim\",\"confidence\":0.95}", NULL},
    {"supervisor", WAL "1}]}", NULL},
};

/* At most the first `most`.  Owns: freed by the caller. */
static char *violations(const char *protocol, const char *text, size_t most,
                        const struct parley_options *options) {
    struct parley_schema *schema;
    struct parley_message message;
    struct parley_buffer out;
    assert_int_equal(parley_schema_create(parley_protocol_find(parley_bytes_of(protocol)), &schema),
                     PARLEY_OK);
    parley_message_init(&message, schema);
    assert_int_equal(parley_message_check(&message, parley_bytes_of(text), &parley_codec_json,
                                          options, (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_true(message.findings.count > 0);
    message.findings.count = message.findings.count < most ? message.findings.count : most;
    parley_buffer_init(&out);
    parley_findings_write(&message.findings, &out);
    parley_buffer_char(&out, '\0');
    assert_false(out.has_failed);
    char *copy = strdup(out.data);
    assert_non_null(copy);
    parley_buffer_finish(&out);
    parley_message_finish(&message);
    parley_schema_destroy(schema);
    return copy;
}

static void test_a_violation_says_what_its_row_expects(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct parley_options options = {0};
        char *text = violations(cases[i].protocol, cases[i].text, 1, &options);
        const char *at = strstr(text, ",\"expected\":");
        const char *wanted = cases[i].expected;
        const bool is_right = wanted == NULL ? at == NULL
                                             : at != NULL && strncmp(at + strlen(",\"expected\":"),
                                                                     wanted, strlen(wanted)) == 0;
        if (!is_right) {
            fail_msg("%s\nhas\n%s", cases[i].text, text);
        }
        free(text);
    }
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (text = strstr(text, part); text != NULL; text = strstr(text + 1, part)) {
        count++;
    }
    return count;
}

static void test_the_rules_of_the_type_that_is_meant_are_provisional(void **state) {
    static const struct {
        const char *text;
        size_t provisional, safe;
    } rows[] = {
        /* What holds for every type is no guess; and a fix of the other is not safe. */
        {RT ",\"type\":\"task.reqest\",\"ttl\":\"5\",\"payload\":{\"task\":\"a.b\","
            "\"maxTokens\":\"7\"}}",
         1, 1},
        {RT ",\"type\":\"Task.Failed\",\"payload\":{}}", 3, 1},
        {RT ",\"type\":\"task.unheard\",\"payload\":{\"maxTokens\":\"7\"}}", 0, 0},
        {RT ",\"type\":\"task.request\",\"payload\":{\"task\":\"a.b\",\"maxTokens\":\"7\"}}", 0, 1},
    };
    const struct parley_options options = {0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = violations("roundtable", rows[i].text, SIZE_MAX, &options);
        if (count_of(text, "\"provisional\":true") != rows[i].provisional ||
            count_of(text, "\"safe\":true") != rows[i].safe) {
            fail_msg("%s\nhas\n%s", rows[i].text, text);
        }
        free(text);
    }
}

static void test_a_short_violation_with_a_fix_has_neither_hint_nor_expected(void **state) {
    static const char with_fix[] = VLP ",\"seq\":\"4\"}", without[] = VLP ",\"seq\":\"x\"}";
    (void)state;
    struct parley_options options = {0};
    const char *wants;
    assert_int_equal(parley_options_set(&options, NULL, "violations", "short", &wants),
                     PARLEY_OPTION_SET);
    char *text = violations("vlp", with_fix, 1, &options);
    assert_string_equal(text,
                        "[{\"rule\":\"VLP-014\",\"severity\":\"error\",\"path\":\"/seq\","
                        "\"at\":{\"line\":1,\"column\":136},\"message\":\"`seq` is \\\"4\\\"; "
                        "expected an integer of 0 or more or null\",\"fix\":{\"safe\":true,"
                        "\"patch\":[{\"op\":\"replace\",\"path\":\"/seq\",\"value\":4}]}}]");
    free(text);
    text = violations("vlp", without, 1, &options);
    assert_non_null(strstr(text, "\"hint\":"));
    assert_non_null(strstr(text, "\"expected\":"));
    free(text);
    assert_int_equal(parley_options_set(&options, NULL, "violations", "brief", &wants),
                     PARLEY_OPTION_INVALID);
    assert_string_equal(wants, "full or short");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_violation_says_what_its_row_expects),
        cmocka_unit_test(test_the_rules_of_the_type_that_is_meant_are_provisional),
        cmocka_unit_test(test_a_short_violation_with_a_fix_has_neither_hint_nor_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
