/* SPDX-License-Identifier: Apache-2.0 */

/* What the holder of a task and its requester ask for without a message: each row of
 * tests/decisions/roundtable_changes.ndjson is decided as that says (tests/decisions/README.md).
 * And the messages by which it is done. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include <parley/facts.h>
#include <parley/tasks.h>

#include "lib/message_fixture.h"
#include "lib/protocol_options.h"

#define TASK_ID "550e8400-e29b-41d4-a716-446655440000"

static const struct parley_task_kind *kind_of(const struct message_fixture *fixture) {
    return fixture->protocol->tasks;
}

static void read_rows(void (*each)(struct message_fixture *fixture, json_t *row),
                      struct message_fixture *fixture) {
    char *line = NULL;
    size_t size = 0, count = 0;
    FILE *file = fopen(PARLEY_SOURCE_DIR "/tests/decisions/roundtable_changes.ndjson", "r");
    assert_non_null(file);
    while (getline(&line, &size, file) > 0) {
        json_t *row = json_loads(line, 0, NULL);
        assert_non_null(row);
        each(fixture, row);
        json_decref(row);
        count++;
    }
    assert_true(count > 0);
    free(line);
    fclose(file);
}

static const char *text_in(json_t *object, const char *name) {
    return json_string_value(json_object_get(object, name));
}

static enum parley_task_change_kind kind_in(json_t *row) {
    static const char *const names[] = {"extend", "release", "cancel", "retry"};
    size_t i = 0;
    while (strcmp(names[i], text_in(row, "kind")) != 0) {
        i++;
    }
    return (enum parley_task_change_kind)i;
}

/* Of an object without its braces, each with a comma before it. */
static json_t *object_of(struct parley_bytes members) {
    char text[1024];
    snprintf(text, sizeof text, "{%.*s}", members.length > 0 ? (int)members.length - 1 : 0,
             members.length > 0 ? members.data + 1 : "");
    return json_loads(text, 0, NULL);
}

static json_t *describe(const struct parley_decision *decision) {
    static const char *const names[] = {
        [PARLEY_DECISION_PUBLISH] = "publish",   [PARLEY_DECISION_ASK_AGAIN] = "ask-again",
        [PARLEY_DECISION_ASK_LAST] = "ask-last", [PARLEY_DECISION_PREPARE] = "prepare",
        [PARLEY_DECISION_REPEATED] = "repeated", [PARLEY_DECISION_REFUSED] = "refused"};
    json_t *got = json_object();
    json_object_set_new(got, "decision", json_string(names[decision->kind]));
    if (decision->kind == PARLEY_DECISION_REFUSED) {
        json_object_set_new(got, "problem", json_string(decision->problem));
        json_object_set_new(got, "text",
                            json_stringn(decision->detail.data, decision->detail.length));
    }
    if (decision->kind == PARLEY_DECISION_PREPARE) {
        const size_t id = strlen(TASK_ID);
        json_object_set_new(
            got, "key", json_stringn(decision->fact_key.data + id, decision->fact_key.length - id));
    }
    json_object_set_new(got, "members", object_of(decision->members));
    return got;
}

static void on_row(struct message_fixture *fixture, json_t *row) {
    static const char *const places[] = {"end", "claim", "turn", "request", "", "", "", ""};
    struct parley_known_facts known = {.is_final = true, .digest = ""};
    struct parley_options options = {.now_seconds = 0};
    struct parley_arena arena;
    struct parley_decision decision;
    char *texts[PARLEY_FACT_KEYS_MAX];
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        texts[i] = json_dumps(json_object_get(json_object_get(row, "values"), places[i]), 0);
        known.values[i] = parley_bytes_of(texts[i]);
    }
    set_option(&options, fixture->protocol, "task-lease", "900000");
    set_option(&options, fixture->protocol, "task-attempts", "3");
    set_option(&options, fixture->protocol, "task-max", "86400000");
    const struct parley_task_change change = {
        .kind = kind_in(row),
        .id = PARLEY_BYTES(TASK_ID),
        .agent = parley_bytes_of(text_in(row, "agent")),
        .may_any = json_is_true(json_object_get(row, "may_any")),
        .seconds = -1,
        .now_seconds = json_integer_value(json_object_get(row, "now")),
        .known = &known,
        .options = options.values,
    };
    parley_arena_init(&arena, 64 * 1024);
    assert_int_equal(kind_of(fixture)->change(&change, &arena, &decision), PARLEY_OK);
    json_t *got = describe(&decision);
    if (!json_equal(json_object_get(row, "then"), got)) {
        fail_msg("%s: %s", text_in(row, "name"), json_dumps(got, JSON_COMPACT));
    }
    json_decref(got);
    parley_arena_finish(&arena);
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        free(texts[i]);
    }
}

static void test_each_row_is_decided_as_it_says(void **state) {
    read_rows(on_row, *state);
}

/* ---- messages ---- */

static void check(struct message_fixture *fixture, const struct parley_buffer *text) {
    fixture->options = (struct parley_options){.now_seconds = 1770564000};
    set_option(&fixture->options, fixture->protocol, "lifecycle", "on");
    assert_int_equal(parley_message_check(&fixture->message, parley_buffer_bytes(text),
                                          &parley_codec_json, &fixture->options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_int_equal(fixture->message.findings.count, 0);
}

static void write_cancel(struct message_fixture *fixture, struct parley_bytes holder,
                         struct parley_bytes why, struct parley_buffer *out) {
    const struct parley_task task = {
        .id = PARLEY_BYTES(TASK_ID), .from = PARLEY_BYTES("tim"), .holder = holder};
    parley_buffer_clear(out);
    kind_of(fixture)->write_cancel(&task, why, "2026-02-08T15:00:00Z", out);
    check(fixture, out);
    parley_buffer_char(out, '\0');
}

static void test_the_message_of_a_cancellation_is_valid_and_has_always_the_same_id(void **state) {
    static const char id[] = "{\"id\":\"";
    struct message_fixture *fixture = *state;
    const struct parley_bytes nothing = {0};
    write_cancel(fixture, PARLEY_BYTES("galahad"), PARLEY_BYTES("Enough."), &fixture->out);
    write_cancel(fixture, nothing, nothing, &fixture->second);
    assert_memory_equal(fixture->out.data, fixture->second.data, sizeof id - 1 + 36);
    assert_non_null(strstr(fixture->out.data, "\"to\":\"galahad\""));
    assert_non_null(strstr(fixture->out.data, "\"message\":\"Enough.\""));
    assert_null(strstr(fixture->second.data, "\"to\""));
}

static void id_of_retry(struct message_fixture *fixture, const char *id, char out[37]) {
    parley_buffer_clear(&fixture->out);
    kind_of(fixture)->write_retry(parley_bytes_of(id), PARLEY_BYTES("tim"),
                                  PARLEY_BYTES(",\"payload\":{\"task\":\"a.b\"}"),
                                  "2026-02-08T15:00:00Z", &fixture->out);
    check(fixture, &fixture->out);
    assert_memory_equal(fixture->out.data, "{\"id\":\"", 7);
    snprintf(out, 37, "%.36s", fixture->out.data + 7);
}

static void test_a_retry_has_an_id_of_its_own_whatever_case_the_task_is_in(void **state) {
    struct message_fixture *fixture = *state;
    char own[37], same[37], other[37], again[37];
    id_of_retry(fixture, "550e8400-e29b-41d4-a716-44665544abcd", own);
    id_of_retry(fixture, "550E8400-E29B-41D4-A716-44665544ABCD", same);
    id_of_retry(fixture, "550e8400-e29b-41d4-a716-44665544abce", other);
    id_of_retry(fixture, own, again);
    assert_string_equal(own, same);
    assert_string_not_equal(own, other);
    assert_string_not_equal(own, again);
    assert_int_equal(own[14], '4');
    assert_non_null(strchr("89ab", own[19]));
}

static void test_only_one_retry_of_a_task_can_be_stored(void **state) {
    static const char name[] = "retry:" TASK_ID;
    struct message_fixture *fixture = *state;
    const struct parley_known_facts nothing = {.is_final = true, .digest = ""};
    struct parley_decision decision;
    char id[37];
    id_of_retry(fixture, "550E8400-E29B-41D4-A716-446655440000", id);
    assert_int_equal(parley_message_decide(&fixture->message, &nothing, &decision), PARLEY_OK);
    assert_int_equal(decision.kind, PARLEY_DECISION_PUBLISH);
    assert_int_equal(decision.message_id.length, sizeof name - 1);
    assert_memory_equal(decision.message_id.data, name, sizeof name - 1);
    assert_memory_equal(decision.fact_key.data, id, 36);
}

int main(void) {
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, message_set_up_roundtable, message_tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(test_each_row_is_decided_as_it_says),
        TEST(test_the_message_of_a_cancellation_is_valid_and_has_always_the_same_id),
        TEST(test_a_retry_has_an_id_of_its_own_whatever_case_the_task_is_in),
        TEST(test_only_one_retry_of_a_task_can_be_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
