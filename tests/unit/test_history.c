/* SPDX-License-Identifier: Apache-2.0 */

/* Whether an agent has what its supervisor names, as tests/decisions/supervisor_history.ndjson
 * says, in JSON and in MessagePack; which facts are asked for, and what is read of a stored
 * message. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/protocol_options.h"
#include "lib/message_fixture.h"

#define AGENT "coder-1"
#define ID "550e8400-e29b-41d4-a716-446655440000"
#define PLACE "supervisor." AGENT

static const struct {
    const char *type, *members;
} messages[] = {
    {"checkpoint_ack", ",\"checkpoint_id\":\"" ID "\""},
    {"restore", ",\"checkpoint_id\":\"" ID "\",\"snapshot\":{}"},
    {"hot_reload", ",\"code\":\"c\""},
    {"evolution_result", ",\"success\":true,\"decision\":\"promoted\""},
    {"evolution_intent", ",\"hypothesis\":{\"reason\":\"r\",\"target\":\"t\",\"new_code\":\"c\"}"},
    {"heartbeat", ""},
};

static const char *write_message(const char *type, bool has_backup, char out[256]) {
    size_t i = 0;
    while (strcmp(messages[i].type, type) != 0) {
        i++;
    }
    snprintf(out, 256, "{\"type\":\"%s\",\"timestamp\":1%s%s}", type, messages[i].members,
             has_backup ? ",\"backup_checkpoint_id\":\"" ID "\"" : "");
    return out;
}

static void check(struct message_fixture *fixture, struct parley_bytes sent,
                  const struct parley_codec *codec) {
    assert_int_equal(parley_message_check(&fixture->message, sent, codec, &fixture->options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_true(parley_message_is_valid(&fixture->message));
}

/* ---- decisions ---- */

/* The values are those of the row, which outlives them. */
static struct parley_known_facts known_of(json_t *row) {
    const json_t *final = json_object_get(row, "is_final");
    const json_t *intent = json_object_get(row, "intent"), *result = json_object_get(row, "result");
    struct parley_known_facts known = {.is_final = final == NULL || json_is_true(final),
                                       .is_unread = json_object_get(row, "is_unread") != NULL};
    if (json_object_get(row, "checkpoint") != NULL) {
        known.values[0] = PARLEY_BYTES(ID);
    }
    if (intent != NULL) {
        known.values[1] = PARLEY_BYTES("intent");
        known.sequences[1] = (uint64_t)json_integer_value(intent);
    }
    if (result != NULL) {
        known.values[2] = parley_bytes_of(json_string_value(json_array_get(result, 1)));
        known.sequences[2] = (uint64_t)json_integer_value(json_array_get(result, 0));
    }
    return known;
}

static json_t *describe(const struct parley_message *message,
                        const struct parley_decision *decision) {
    if (decision->kind == PARLEY_DECISION_ASK_AGAIN) {
        return json_string("ask-again");
    }
    assert_int_equal(decision->kind, PARLEY_DECISION_PUBLISH);
    assert_false(decision->has_count);
    json_t *warnings = json_object();
    for (size_t i = 0; i < message->findings.count; i++) {
        const struct parley_finding *finding = &message->findings.items[i];
        assert_string_equal(finding->rule->id, "IPC-203");
        assert_int_not_equal(finding->at.line, 0);
        json_object_set_new(warnings, finding->path, json_string(finding->message));
    }
    assert_int_equal(decision->is_repeat, message->findings.count > 0);
    return warnings;
}

/* Decides twice: the warnings of before are replaced. */
static void decide(struct message_fixture *fixture, json_t *row, struct parley_bytes sent,
                   const struct parley_codec *codec) {
    const struct parley_known_facts known = known_of(row);
    struct parley_decision decision;
    check(fixture, sent, codec);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(parley_message_decide(&fixture->message, &known, &decision), PARLEY_OK);
        json_t *got = describe(&fixture->message, &decision);
        if (!json_equal(json_object_get(row, "then"), got)) {
            fail_msg("%s: %s", json_string_value(json_object_get(row, "name")),
                     json_dumps(got, JSON_COMPACT | JSON_ENCODE_ANY));
        }
        json_decref(got);
    }
}

static void decide_row(struct message_fixture *fixture, json_t *row) {
    const struct parley_codec *msgpack =
        parley_codec_find(fixture->protocol, PARLEY_BYTES("application/msgpack"));
    char text[256];
    write_message(json_string_value(json_object_get(row, "type")),
                  json_object_get(row, "backup") != NULL, text);
    fixture->options = (struct parley_options){.agent = AGENT};
    set_lifecycle(&fixture->options, fixture->protocol, PARLEY_LIFECYCLE_ON);
    decide(fixture, row, parley_bytes_of(text), &parley_codec_json);
    parley_buffer_clear(&fixture->out);
    assert_int_equal(fixture->protocol->convert(&fixture->message, msgpack, &fixture->out),
                     PARLEY_OK);
    decide(fixture, row, parley_buffer_bytes(&fixture->out), msgpack);
}

static void test_each_message_is_decided_as_its_row_says(void **state) {
    FILE *file = fopen(PARLEY_SOURCE_DIR "/tests/decisions/supervisor_history.ndjson", "r");
    char *line = NULL;
    size_t capacity = 0, count = 0;
    assert_non_null(file);
    while (getline(&line, &capacity, file) > 0) {
        json_t *row = json_loads(line, 0, NULL);
        assert_non_null(row);
        decide_row(*state, row);
        json_decref(row);
        count++;
    }
    print_message("%zu rows\n", count);
    free(line);
    fclose(file);
}

/* ---- which facts are asked for ---- */

static void test_a_message_asks_for_what_it_names(void **state) {
    static const char by_id[] = PLACE ".gerbil.checkpoint " ID;
    static const char intent[] = PLACE ".gerbil.evolution_intent";
    static const char result[] = PLACE ".elixir.evolution_result";
    static const struct {
        const char *type;
        bool has_backup, is_named;
        enum parley_lifecycle mode;
        const char *keys[PARLEY_FACT_KEYS_MAX];
    } cases[] = {
        {"checkpoint_ack", false, true, PARLEY_LIFECYCLE_ON, {by_id}},
        {"restore", false, true, PARLEY_LIFECYCLE_STRICT, {by_id}},
        {"hot_reload", false, true, PARLEY_LIFECYCLE_ON, {NULL, intent, result}},
        {"hot_reload", true, true, PARLEY_LIFECYCLE_ON, {by_id, intent, result}},
        {"evolution_result", false, true, PARLEY_LIFECYCLE_ON, {NULL, intent, result}},
        {"evolution_intent", false, true, PARLEY_LIFECYCLE_ON, {NULL, intent, result}},
        {"restore", false, false, PARLEY_LIFECYCLE_ON, {NULL}},
        {"evolution_result", false, true, PARLEY_LIFECYCLE_OFF, {NULL}},
        {"heartbeat", false, true, PARLEY_LIFECYCLE_ON, {NULL}},
    };
    struct message_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        fixture->options = (struct parley_options){.agent = cases[i].is_named ? AGENT : NULL};
        set_lifecycle(&fixture->options, fixture->protocol, cases[i].mode);
        write_message(cases[i].type, cases[i].has_backup, text);
        check(fixture, parley_bytes_of(text), &parley_codec_json);
        assert_int_equal(parley_message_route(&fixture->message, &fixture->route), PARLEY_OK);
        for (size_t key = 0; key < PARLEY_FACT_KEYS_MAX; key++) {
            assert_true(parley_bytes_equal(fixture->route.fact_keys[key],
                                           parley_bytes_of(cases[i].keys[key])));
        }
    }
}

/* ---- what is stored, from any publisher ---- */

static void test_a_stored_message_says_what_an_evolution_came_to(void **state) {
    static const char *const cases[][2] = {
        {"{\"type\":\"evolution_intent\",\"hypothesis\":{}}", "intent"},
        {"{\"hypothesis\":{\"type\":\"heartbeat\"},\"type\":\"evolution_intent\"}", "intent"},
        {"{\"decision\":\"promoted\",\"type\":\"evolution_result\"}", "promoted"},
        {"{\"type\":\"evolution_result\",\"decision\":\"rejected\"}", "rejected"},
        {"{\"type\":\"evolution_result\",\"decision\":\"deferred\"}", ""},
        {"{\"type\":\"evolution_result\",\"decision\":\"promoted or rejected\"}", ""},
        {"{\"type\":\"evolution_result\",\"decision\":{\"decision\":\"promoted\"}}", ""},
        {"{\"type\":\"evolution_result\"}", ""},
        {"{\"type\":\"heartbeat\",\"decision\":\"promoted\"}", ""},
        {"{\"type\":1}", ""},
        {"[\"evolution_intent\"]", ""},
        {"{\"type\":\"evolution_intent\"", ""},
        {"", ""},
    };
    struct message_fixture *fixture = *state;
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
        TEST(test_each_message_is_decided_as_its_row_says),
        TEST(test_a_message_asks_for_what_it_names),
        TEST(test_a_stored_message_says_what_an_evolution_came_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
