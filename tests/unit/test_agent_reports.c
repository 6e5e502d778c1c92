/* SPDX-License-Identifier: Apache-2.0 */

/* What each protocol reads of its agents' messages. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <parley/agents.h>
#include <parley/message.h>
#include <parley/restore.h>

#include "../lib/fault_heap.h"

#define BEAT(payload)                                                                              \
    "{\"id\":\"aa0e8400-e29b-41d4-a716-446655440005\",\"version\":\"1.0\",\"type\":\"heartbeat\"," \
    "\"from\":\"galahad\",\"timestamp\":\"2026-02-08T15:00:00Z\",\"payload\":" payload "}"
#define ENTRY(sequence) "{\"operation\":\"state_update\",\"params\":{},\"sequence\":" sequence "}"
#define AT "\"at\":\"T\",\"seq\":7"

struct row {
    const char *protocol, *message; /* NULL: unread, of `source` */
    const char *members;
    unsigned source;
};

static const struct row rows[] = {
    {"roundtable", BEAT("{\"status\":\"healthy\"}"), ",\"status\":\"healthy\"", 0},
    {"roundtable",
     BEAT("{ \"version\" : \"1.0.0\", \"other\" : {\"model\":\"no\"}, \"model\":\"m \\u00e9 \\\"\","
          "\"status\":\"x\", \"capabilities\" : [ \"a.b\" , \"c\" ], \"uptime\":1.50,"
          "\"activeTaskCount\" : 3 }"),
     ",\"status\":\"x\",\"uptime\":1.50,\"capabilities\":[\"a.b\",\"c\"],"
     "\"model\":\"m \\u00e9 \\\"\",\"activeTaskCount\":3,\"version\":\"1.0.0\"",
     0},
    {"roundtable", BEAT("{\"stat\\u0075s\":\"healthy\",\"capabilities\":[]}"),
     ",\"status\":\"healthy\",\"capabilities\":[]", 0},
    {"supervisor", "{\"type\":\"heartbeat\",\"timestamp\":1}", "", 0},
    {"supervisor", "{\"type\":\"heartbeat\",\"timestamp\":1,\"version\":2}", ",\"version\":2", 0},
    {"supervisor", "{\"type\":\"wal_entry\",\"timestamp\":1,\"data\":" ENTRY("12") "}",
     ",\"wal\":{" AT ",\"sequence\":12}", 3},
    {"supervisor",
     "{\"type\":\"wal_batch\",\"timestamp\":1,\"data\":[" ENTRY("5") ", " ENTRY("6 ") "]}",
     ",\"wal\":{" AT ",\"sequence\":6}", 4},
    {"supervisor", "{\"type\":\"metrics\",\"timestamp\":1,\"data\":{\"error_rate\": 0.1}}",
     ",\"metrics\":{" AT ",\"data\":{\"error_rate\":0.1}}", 2},
    {"supervisor",
     "{\"type\":\"checkpoint_ack\",\"timestamp\":1,\"size\":10,"
     "\"checkpoint_id\":\"550e8400-e29b-41d4-a716-446655440000\"}",
     ",\"checkpoint_ack\":{" AT ",\"checkpoint_id\":\"550e8400-e29b-41d4-a716-446655440000\","
     "\"size\":10}",
     5},
    {"supervisor", "{\"type\":\"shutdown\",\"timestamp\":1,\"reason\":\"r\"}",
     ",\"shutdown\":{" AT ",\"reason\":\"r\"}", 6},
    {"supervisor", NULL,
     ",\"checkpoint\":{" AT ",\"id\":\"i\",\"size\":99,\"age\":301,\"overdue\":true}", 1},
    {"supervisor", NULL, "", 7},
};

/* For a reader that may not read private messages of the agent. */
static const struct row guarded[] = {
    {"supervisor", NULL, ",\"checkpoint\":{" AT ",\"age\":301,\"overdue\":true}", 1},
    {"supervisor",
     "{\"type\":\"checkpoint_ack\",\"timestamp\":1,\"size\":10,"
     "\"checkpoint_id\":\"550e8400-e29b-41d4-a716-446655440000\"}",
     ",\"checkpoint_ack\":{" AT "}", 5},
    {"supervisor", "{\"type\":\"shutdown\",\"timestamp\":1,\"reason\":\"r\"}",
     ",\"shutdown\":{" AT ",\"reason\":\"r\"}", 6},
};

#define WAL(sequence, holes) ",\"wal\":{" AT ",\"sequence\":" sequence holes "}"

/* What it says of an entry by what its log lacks. */
static const struct {
    const char *members;
    struct parley_log_gaps missing;
} gaps[] = {
    {WAL("9", ""), {.count = 0}},
    {WAL("9", ",\"missing\":[{\"first\":3,\"last\":4}]"),
     {.runs = (const struct parley_log_run[]){{3, 4}}, .count = 1}},
    {WAL("9", ",\"missing\":[{\"first\":3,\"last\":4},{\"first\":7,\"last\":7}],\"more\":true"),
     {.runs = (const struct parley_log_run[]){{3, 4}, {7, 7}}, .count = 2, .has_more = true}},
    {WAL("9", ",\"missing\":[],\"more\":true"), {.has_more = true}},
};

/* The members that it appends, or its failure. */
static enum parley_status report(const struct row *row, bool is_guarded,
                                 const struct parley_log_gaps *missing,
                                 struct parley_message *message, struct parley_buffer *out) {
    const struct parley_agent_report of = {.source = row->source,
                                           .message = row->message != NULL ? message : NULL,
                                           .is_guarded = is_guarded,
                                           .size_bytes = 99,
                                           .id = "i",
                                           .at = "T",
                                           .age_seconds = 301,
                                           .sequence = 7,
                                           .missing = missing};
    return parley_protocol_find(parley_bytes_of(row->protocol))->agents->report(&of, out);
}

static void check_message(struct parley_message *message, const char *text) {
    const struct parley_options options = {0};
    assert_int_equal(parley_message_check(message, parley_bytes_of(text), &parley_codec_json,
                                          &options, (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_true(parley_message_is_valid(message));
}

/* With `failure` SIZE_MAX nothing fails.  Returns: whether it had the memory. */
static bool check_row(const struct row *row, bool is_guarded, const struct parley_log_gaps *missing,
                      size_t failure) {
    struct parley_schema *schema;
    struct parley_message message;
    struct parley_buffer out;
    const struct parley_protocol *protocol = parley_protocol_find(parley_bytes_of(row->protocol));
    assert_int_equal(parley_schema_create(protocol, &schema), PARLEY_OK);
    parley_message_init(&message, schema);
    parley_buffer_init(&out);
    if (row->message != NULL) {
        check_message(&message, row->message);
    }
    fault_heap_arm(failure, 1);
    const enum parley_status status = report(row, is_guarded, missing, &message, &out);
    fault_heap_disarm();
    assert_true(status == PARLEY_OK || status == PARLEY_E_MEMORY);
    assert_true(status == PARLEY_OK || fault_heap_has_failed());
    if (status == PARLEY_OK) {
        parley_buffer_char(&out, '\0');
        assert_string_equal(out.data, row->members);
    }
    parley_buffer_finish(&out);
    parley_message_finish(&message);
    parley_schema_destroy(schema);
    return status == PARLEY_OK;
}

static void test_each_message_says_what_the_table_says(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(check_row(&rows[i], false, NULL, SIZE_MAX));
    }
}

static void test_what_private_messages_hold_is_left_out_for_others(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof guarded / sizeof guarded[0]; i++) {
        assert_true(check_row(&guarded[i], true, NULL, SIZE_MAX));
    }
}

static void test_an_entry_is_reported_with_what_its_log_lacks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
        const struct row row = {
            .protocol = "supervisor",
            .message = "{\"type\":\"wal_entry\",\"timestamp\":1,\"data\":" ENTRY("9") "}",
            .members = gaps[i].members,
            .source = 3};
        assert_true(check_row(&row, false, &gaps[i].missing, SIZE_MAX));
        size_t failure = 0;
        while (!check_row(&row, false, &gaps[i].missing, failure)) {
            failure++;
        }
    }
}

static void test_a_report_without_memory_is_an_error(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t failure = 0;
        while (!check_row(&rows[i], false, NULL, failure)) {
            failure++;
        }
    }
}

static void test_a_capability_matches_whole_or_by_its_beginning(void **state) {
    (void)state;
    static const struct {
        const char *value;
        bool matches;
    } values[] = {
        {"security.cve", true},
        {"security.*", true},
        {"sec*", true},
        {"*", true},
        {"finance", true},
        {"security", false},
        {"cve", false},
        {"*cve", false},
        {"", false},
        {"finance.*", false},
        {"nested", false},
        {"é", true},
    };
    const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("roundtable"));
    struct parley_schema *schema;
    struct parley_message message;
    assert_int_equal(parley_schema_create(protocol, &schema), PARLEY_OK);
    parley_message_init(&message, schema);
    check_message(&message, BEAT("{\"status\":\"x\",\"other\":[\"nested\"],\"capabilities\":"
                                 "[\"security.cve\",\"finance\",\"\\u00e9\"]}"));
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        bool matches = !values[i].matches;
        assert_int_equal(
            protocol->agents->matches(&message, parley_bytes_of(values[i].value), &matches),
            PARLEY_OK);
        assert_int_equal(matches, values[i].matches);
    }
    parley_message_finish(&message);
    parley_schema_destroy(schema);
}

static void test_every_table_of_sources_is_complete(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_agents *agents = parley_protocols[i]->agents;
        const struct parley_agent_source *source = agents != NULL ? agents->sources : NULL;
        if (source == NULL) {
            continue;
        }
        assert_true(agents->alive_seconds < agents->late_seconds && !source->is_unread);
        assert_true((agents->option == NULL) == (agents->matches == NULL));
        for (; source->subject != NULL; source++) {
            assert_true(source - agents->sources < PARLEY_AGENT_SOURCES_MAX);
            assert_true(source->part < PARLEY_AGENT_PARTS_MAX);
            assert_non_null(strchr(source->subject, '*'));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_message_says_what_the_table_says),
        cmocka_unit_test(test_what_private_messages_hold_is_left_out_for_others),
        cmocka_unit_test(test_an_entry_is_reported_with_what_its_log_lacks),
        cmocka_unit_test(test_a_report_without_memory_is_an_error),
        cmocka_unit_test(test_a_capability_matches_whole_or_by_its_beginning),
        cmocka_unit_test(test_every_table_of_sources_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
