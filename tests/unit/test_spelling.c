/* SPDX-License-Identifier: Apache-2.0 */

/* GW-103: which members that a protocol does not name are taken for misspelt ones, and how they are
 * fixed. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include <parley/message.h>

#include "lib/cases.h"

#define VLP                                                                                        \
    "{\"id\":\"MSG1\",\"protocol\":\"VLP/1.1\",\"timestamp\":\"2025-12-14T10:30:00Z\","            \
    "\"content\":\"c\",\"type\":\"notice\",\"confidence\":0.5"
#define VLP_ALL VLP ",\"sender\":\"S\""
#define RT                                                                                         \
    "{\"id\":\"7f9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b\",\"timestamp\":\"2026-02-08T15:00:00Z\","     \
    "\"version\":\"1.0\",\"from\":\"galahad\""

static const struct {
    const char *protocol, *text, *fix; /* NULL: there is no GW-103 */
} rows[] = {
    /* One letter less, more, other or swapped; case and dashes. */
    {"vlp", VLP_ALL ",\"receivr\":\"R\"}",
     "{\"safe\":true,\"patch\":[{\"op\":\"move\",\"from\":\"/receivr\",\"path\":\"/receiver\"}]}"},
    {"vlp", VLP_ALL ",\"sessionId\":\"a\"}",
     "{\"safe\":true,\"patch\":[{\"op\":\"move\",\"from\":\"/sessionId\",\"path\":\"/session_id\"}]"
     "}"},
    /* A value that is not right for the other member, or is not looked into. */
    {"vlp", VLP_ALL ",\"topics\":[]}",
     "{\"safe\":false,\"patch\":[{\"op\":\"move\",\"from\":\"/topics\",\"path\":\"/topic\"}]}"},
    {"vlp", VLP_ALL ",\"saftey\":{\"level\":\"safe\"}}",
     "{\"safe\":false,\"patch\":[{\"op\":\"move\",\"from\":\"/saftey\",\"path\":\"/safety\"}]}"},
    /* Below the top, and of the message's type. */
    {"roundtable", RT ",\"type\":\"task.request\",\"payload\":{\"task\":\"a.b\",\"maxToken\":7}}",
     "{\"safe\":true,\"patch\":[{\"op\":\"move\",\"from\":\"/payload/maxToken\","
     "\"path\":\"/payload/maxTokens\"}]}"},
    {"roundtable", RT ",\"type\":\"heartbeat\",\"payload\":{\"status\":\"idle\",\"maxToken\":7}}",
     NULL},
    /* A member that is there; one that is like no other, is too short, or two others are like. */
    {"vlp", VLP_ALL ",\"receiver\":\"R\",\"receivr\":\"R\"}", NULL},
    {"vlp", VLP_ALL ",\"receivr\":\"R\",\"receiver\":\"R\"}", NULL},
    {"vlp", VLP_ALL ",\"colour\":\"red\",\"sea\":1}", NULL},
    /* A required member under another key is its own violation alone. */
    {"vlp", VLP ",\"sendr\":\"S\"}", NULL},
    /* Objects whose members are free. */
    {"vlp", VLP_ALL ",\"payload\":{\"receivr\":\"R\"},\"_extras\":{\"sendr\":1}}", NULL},
};

static void check_with(struct parley_message *message, struct parley_bytes text,
                       const struct parley_codec *codec, struct parley_options options,
                       bool has_spelling) {
    options.has_spelling = has_spelling;
    assert_int_equal(
        parley_message_check(message, text, codec, &options, (struct parley_position){1, 1}),
        PARLEY_OK);
}

static size_t count_spelling(const struct parley_message *message) {
    size_t count = 0;
    for (size_t i = 0; i < message->findings.count; i++) {
        count += strcmp(message->findings.items[i].rule->id, "GW-103") == 0;
    }
    return count;
}

static void test_a_member_that_is_like_a_missing_one_is_warned_of_with_its_fix(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct parley_protocol *protocol =
            parley_protocol_find(parley_bytes_of(rows[i].protocol));
        const struct parley_bytes text = parley_bytes_of(rows[i].text);
        struct parley_schema *schema;
        struct parley_message message;
        struct parley_buffer out;
        assert_int_equal(parley_schema_create(protocol, &schema), PARLEY_OK);
        parley_message_init(&message, schema);
        parley_buffer_init(&out);
        check_with(&message, text, &parley_codec_json, (struct parley_options){0}, false);
        assert_int_equal(count_spelling(&message), 0);
        check_with(&message, text, &parley_codec_json, (struct parley_options){0}, true);
        parley_findings_write(&message.findings, &out);
        parley_buffer_char(&out, '\0');
        const char *at = strstr(out.data, ",\"fix\":");
        const bool is_right = count_spelling(&message) == (rows[i].fix != NULL) &&
                              (rows[i].fix == NULL || strncmp(at + strlen(",\"fix\":"), rows[i].fix,
                                                              strlen(rows[i].fix)) == 0);
        if (!is_right) {
            fail_msg("%s\nhas\n%s", rows[i].text, out.data);
        }
        check_with(&message, text, &parley_codec_json,
                   (struct parley_options){.fix = PARLEY_FIX_ALL}, true);
        assert_int_equal(count_spelling(&message), 0);
        parley_buffer_finish(&out);
        parley_message_finish(&message);
        parley_schema_destroy(schema);
    }
}

/* Of every case: it does not depend on this warning what else is found. */
static void test_it_changes_no_verdict_and_no_example_has_it(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        struct test_cases cases;
        struct parley_schema *schema = cases_read_of(&cases, parley_protocols[i]->name);
        struct parley_message message;
        parley_message_init(&message, schema);
        for (size_t j = 0; j < cases.count; j++) {
            const struct test_case *test = &cases.items[j];
            check_with(&message, test->body, test->codec, test->options, false);
            const size_t count = message.findings.count;
            const bool is_valid = parley_message_is_valid(&message);
            check_with(&message, test->body, test->codec, test->options, true);
            if (message.findings.count - count_spelling(&message) != count ||
                parley_message_is_valid(&message) != is_valid) {
                fail_msg("%s: %zu findings, and %zu with GW-103", test->name, count,
                         message.findings.count);
            }
        }
        const struct parley_example *example = parley_protocols[i]->examples;
        for (; example != NULL && example->name != NULL; example++) {
            check_with(&message, parley_bytes_of(example->text), &parley_codec_json,
                       (struct parley_options){0}, true);
            assert_int_equal(count_spelling(&message), 0);
        }
        parley_message_finish(&message);
        parley_schema_destroy(schema);
        cases_finish(&cases);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_member_that_is_like_a_missing_one_is_warned_of_with_its_fix),
        cmocka_unit_test(test_it_changes_no_verdict_and_no_example_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
