/* SPDX-License-Identifier: Apache-2.0 */

/* Whether an agent's log continues, as tests/decisions/supervisor.ndjson says, in JSON and in
 * MessagePack; and what is read of a message that is stored. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "lib/protocol_options.h"
#include "lib/message_fixture.h"

#define AGENT "coder-1"

/* ---- a row ---- */

static json_t *entry_of(json_t *sequence) {
    return json_pack("{s:s, s:{}, s:O}", "operation", "memory_add", "params", "sequence", sequence);
}

static char *message_of(json_t *row) {
    json_t *logs = json_object_get(row, "logs"), *data = NULL;
    if (json_is_array(logs)) {
        data = json_array();
        for (size_t i = 0; i < json_array_size(logs); i++) {
            json_array_append_new(data, entry_of(json_array_get(logs, i)));
        }
    } else {
        data = entry_of(logs);
    }
    json_t *message =
        json_pack("{s:s, s:i, s:o}", "type", json_is_array(logs) ? "wal_batch" : "wal_entry",
                  "timestamp", 1705392000, "data", data);
    char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    return text;
}

/* `texts`: room for the values. */
static struct parley_known_facts known_of(json_t *row, char texts[2][32]) {
    static const char *const places[] = {"entry", "batch"};
    json_t *counted = json_object_get(row, "counted"), *final = json_object_get(row, "is_final");
    struct parley_known_facts known = {.is_final = final == NULL || json_is_true(final),
                                       .has_count = counted != NULL,
                                       .count = (uint64_t)json_integer_value(counted)};
    for (size_t i = 0; i < 2; i++) {
        json_t *stored = json_object_get(json_object_get(row, "stored"), places[i]);
        if (stored != NULL) {
            snprintf(texts[i], sizeof texts[i], "%lld",
                     (long long)json_integer_value(json_array_get(stored, 1)));
            known.values[i] = parley_bytes_of(texts[i]);
            known.sequences[i] = (uint64_t)json_integer_value(json_array_get(stored, 0));
        }
    }
    return known;
}

static json_t *count_of(const struct parley_decision *decision) {
    return decision->has_count ? json_integer((json_int_t)decision->count) : json_null();
}

static json_t *describe_refusal(const struct parley_decision *decision) {
    static const char start[] = ",\"expected\":";
    assert_string_equal(decision->problem, "wal-gap");
    assert_true(decision->detail.length > 40);
    assert_memory_equal(decision->members.data, start, sizeof start - 1);
    return json_pack("{s:s, s:i, s:o}", "decision", "refused", "expected",
                     atoi(decision->members.data + sizeof start - 1), "count", count_of(decision));
}

static json_t *describe(const struct parley_message *message,
                        const struct parley_decision *decision) {
    const struct parley_findings *findings = &message->findings;
    if (decision->kind == PARLEY_DECISION_ASK_AGAIN) {
        return json_pack("{s:s}", "decision", "ask-again");
    }
    if (decision->kind == PARLEY_DECISION_REFUSED) {
        assert_int_equal(findings->count, 0);
        return describe_refusal(decision);
    }
    assert_int_equal(decision->kind, PARLEY_DECISION_PUBLISH);
    assert_null(decision->message_id.data);
    assert_null(decision->fact_key.data);
    json_t *warnings = json_object();
    for (size_t i = 0; i < findings->count; i++) {
        assert_true(findings->items[i].rule->spans_messages);
        json_object_set_new(warnings, findings->items[i].rule->id,
                            json_string(findings->items[i].path));
    }
    return json_pack("{s:s, s:o, s:b, s:o}", "decision", "publish", "warnings", warnings, "repeat",
                     decision->is_repeat, "count", count_of(decision));
}

static void assert_decided(json_t *row, const struct parley_message *message,
                           const struct parley_decision *decision) {
    json_t *wanted = json_copy(json_object_get(row, "then")), *got = describe(message, decision);
    const char *text = json_string_value(json_object_get(wanted, "text"));
    if (text != NULL) {
        assert_string_equal(message->findings.items[0].message, text);
        json_object_del(wanted, "text");
    }
    if (!json_equal(wanted, got)) {
        char *got_text = json_dumps(got, JSON_COMPACT);
        fail_msg("%s: %s", json_string_value(json_object_get(row, "name")), got_text);
    }
    json_decref(wanted);
    json_decref(got);
}

/* ---- decided ---- */

static void check(struct message_fixture *fixture, struct parley_bytes sent,
                  const struct parley_codec *codec) {
    assert_int_equal(parley_message_check(&fixture->message, sent, codec, &fixture->options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_true(parley_message_is_valid(&fixture->message));
}

static const struct parley_codec *msgpack_of(const struct message_fixture *fixture) {
    return parley_codec_find(fixture->protocol, PARLEY_BYTES("application/msgpack"));
}

/* Decides twice: the warnings of before are replaced. */
static void decide(struct message_fixture *fixture, json_t *row, struct parley_bytes sent,
                   const struct parley_codec *codec) {
    char texts[2][32];
    struct parley_known_facts known = known_of(row, texts);
    struct parley_decision decision;
    check(fixture, sent, codec);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(parley_message_decide(&fixture->message, &known, &decision), PARLEY_OK);
        assert_decided(row, &fixture->message, &decision);
    }
}

static void decide_row(struct message_fixture *fixture, json_t *row) {
    const char *mode = json_string_value(json_object_get(row, "mode"));
    char *text = message_of(row);
    fixture->options = (struct parley_options){.agent = AGENT};
    set_lifecycle(&fixture->options, fixture->protocol,
                  mode != NULL ? PARLEY_LIFECYCLE_STRICT : PARLEY_LIFECYCLE_ON);
    decide(fixture, row, parley_bytes_of(text), &parley_codec_json);
    assert_int_equal(
        fixture->protocol->convert(&fixture->message, msgpack_of(fixture), &fixture->out),
        PARLEY_OK);
    decide(fixture, row, parley_buffer_bytes(&fixture->out), msgpack_of(fixture));
    free(text);
}

static void test_each_entry_is_decided_as_its_row_says(void **state) {
    FILE *file = fopen(PARLEY_SOURCE_DIR "/tests/decisions/supervisor.ndjson", "r");
    char *line = NULL;
    size_t capacity = 0, count = 0;
    assert_non_null(file);
    while (getline(&line, &capacity, file) > 0) {
        struct message_fixture *fixture = *state;
        json_t *row = json_loads(line, 0, NULL);
        assert_non_null(row);
        parley_buffer_clear(&fixture->out);
        decide_row(fixture, row);
        json_decref(row);
        count++;
    }
    print_message("%zu rows\n", count);
    free(line);
    fclose(file);
}

/* ---- which messages are asked for ---- */

#define ENTRY                                                                                      \
    "{\"type\":\"wal_entry\",\"timestamp\":1,\"data\":{\"operation\":\"memory_add\","              \
    "\"params\":{},\"sequence\":5}}"
#define HEARTBEAT "{\"type\":\"heartbeat\",\"timestamp\":1}"

static void test_the_last_messages_of_both_types_are_asked_for(void **state) {
    struct message_fixture *fixture = *state;
    static const struct {
        const char *text, *agent, *prefix;
        enum parley_lifecycle mode;
        const char *entry, *batch; /* NULL: nothing is asked for */
    } cases[] = {
        {ENTRY, AGENT, NULL, PARLEY_LIFECYCLE_ON, "supervisor.coder-1.gerbil.wal_entry",
         "supervisor.coder-1.gerbil.wal_batch"},
        {ENTRY, AGENT, "fleet-a", PARLEY_LIFECYCLE_STRICT, "fleet-a.coder-1.gerbil.wal_entry",
         "fleet-a.coder-1.gerbil.wal_batch"},
        {ENTRY, NULL, NULL, PARLEY_LIFECYCLE_ON, NULL, NULL},
        {ENTRY, AGENT, NULL, PARLEY_LIFECYCLE_OFF, NULL, NULL},
        {HEARTBEAT, AGENT, NULL, PARLEY_LIFECYCLE_STRICT, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture->options =
            (struct parley_options){.agent = cases[i].agent, .subject_prefix = cases[i].prefix};
        set_lifecycle(&fixture->options, fixture->protocol, cases[i].mode);
        check(fixture, parley_bytes_of(cases[i].text), &parley_codec_json);
        assert_int_equal(parley_message_route(&fixture->message, &fixture->route), PARLEY_OK);
        const struct parley_bytes *keys = fixture->route.fact_keys;
        assert_true(parley_bytes_equal(keys[0], parley_bytes_of(cases[i].entry)));
        assert_true(parley_bytes_equal(keys[1], parley_bytes_of(cases[i].batch)));
        assert_null(keys[2].data);
    }
}

/* ---- what is stored, from any publisher ---- */

static void test_a_stored_message_says_its_last_sequence_or_nothing(void **state) {
    struct message_fixture *fixture = *state;
    static const char *const cases[][2] = {
        {ENTRY, "5"},
        {"{\"data\":[{\"sequence\":3},{\"sequence\":4,\"params\":{\"sequence\":9}}]}", "4"},
        {"{\"sequence\":1,\"data\":{\"params\":{\"sequence\":9},\"sequence\":7}}", "7"},
        {"{\"data\":{\"sequence\":9007199254740992}}", "9007199254740992"},
        {"{\"data\":{\"sequence\":9007199254740994}}", ""},
        {"{\"data\":{\"sequence\":-1}}", ""},
        {"{\"data\":{\"sequence\":\"7\"}}", ""},
        {"{\"data\":[[{\"sequence\":7}]]}", "7"},
        {"{\"data\":[{\"sequence\":7}", ""},
        {"{\"data\":[]}", ""},
        {"[]", ""},
        {"not JSON", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parley_buffer_clear(&fixture->out);
        assert_int_equal(fixture->protocol->facts->of(parley_bytes_of(cases[i][0]), &fixture->out),
                         PARLEY_OK);
        assert_true(
            parley_bytes_equal(parley_buffer_bytes(&fixture->out), parley_bytes_of(cases[i][1])));
    }
}

int main(void) {
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, message_set_up_supervisor, message_tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(test_each_entry_is_decided_as_its_row_says),
        TEST(test_the_last_messages_of_both_types_are_asked_for),
        TEST(test_a_stored_message_says_its_last_sequence_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
