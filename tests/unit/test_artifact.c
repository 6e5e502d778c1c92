/* SPDX-License-Identifier: Apache-2.0 */

/* The artifact of a thread. Its cases are data: tests/artifact. Each is also folded in two halves
 * at every place, compiled, and folded with allocations that fail; random histories are, too. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <parley/artifact.h>
#include <parley/message.h>

#include "lib/fault_heap.h"
#include "lib/message_fixture.h"
#include "lib/random.h"

#define THREAD "RS-20251230-cell-fate"
#define BEGAN 1767225600.0 /* 2026-01-01 */

enum { MESSAGES_MAX = 64, BYTES_MAX = 4 << 20, FORM_COUNT = 3 };

static const struct parley_artifact_kind *kind;

/* A thread whose messages are checked, and valid. */
struct thread {
    char *texts[MESSAGES_MAX];
    struct parley_message messages[MESSAGES_MAX];
    size_t count;
};

/* ---- threads ---- */

static void thread_add(struct thread *thread, const struct message_fixture *fixture, json_t *json) {
    const struct parley_options options = {.message_bytes_max = 4 << 20};
    struct parley_message *message = &thread->messages[thread->count];
    assert_true(thread->count < MESSAGES_MAX);
    char *text = json_dumps(json, JSON_COMPACT);
    thread->texts[thread->count++] = text;
    parley_message_init(message, fixture->schema);
    assert_int_equal(parley_message_check(message, parley_bytes_of(text), &parley_codec_json,
                                          &options, (struct parley_position){1, 1}),
                     PARLEY_OK);
    if (!parley_message_is_valid(message)) {
        fail_msg("not valid (%s): %s", message->findings.items[0].message, text);
    }
    json_decref(json);
}

static void thread_finish(struct thread *thread) {
    for (size_t i = 0; i < thread->count; i++) {
        parley_message_finish(&thread->messages[i]);
        free(thread->texts[i]);
    }
    thread->count = 0;
}

static void append_block(struct parley_buffer *body, const char *delta) {
    parley_buffer_text(body, "````delta\n");
    parley_buffer_text(body, delta);
    parley_buffer_text(body, "\n````\n");
}

/* A message of a case (tests/artifact/README.md). */
static json_t *message_of(const json_t *wanted) {
    const char *compiled = json_string_value(json_object_get(wanted, "compiled"));
    const char *subject = json_string_value(json_object_get(wanted, "subject"));
    struct parley_buffer body;
    parley_buffer_init(&body);
    size_t index;
    json_t *one;
    json_array_foreach(json_object_get(wanted, "deltas"), index, one) {
        char *text = json_dumps(one, JSON_INDENT(1));
        append_block(&body, text);
        free(text);
    }
    json_array_foreach(json_object_get(wanted, "raw"), index, one) {
        append_block(&body, json_string_value(one));
    }
    if (body.length == 0) {
        parley_buffer_text(&body, compiled != NULL
                                      ? compiled
                                      : json_string_value(json_object_get(wanted, "body_md")));
    }
    json_t *message = json_pack("{s:s, s:s, s:s, s:s%}", "subject",
                                subject != NULL    ? subject
                                : compiled != NULL ? "COMPILED: x"
                                                   : "DELTA[opus]: x",
                                "from", json_string_value(json_object_get(wanted, "from")),
                                "thread_id", THREAD, "body_md", body.data, body.length);
    parley_buffer_finish(&body);
    assert_non_null(message);
    return message;
}

/* ---- folding ---- */

static struct parley_artifact_extent extent_of(size_t count) {
    return (struct parley_artifact_extent){.at = count, .read_count = count};
}

static struct parley_artifact *create(void) {
    struct parley_artifact *artifact = NULL;
    assert_int_equal(kind->create(PARLEY_BYTES(THREAD), BYTES_MAX, &artifact), PARLEY_OK);
    return artifact;
}

static enum parley_status fold(struct parley_artifact *artifact, struct thread *thread, size_t from,
                               size_t to) {
    enum parley_status status = PARLEY_OK;
    for (size_t i = from; i < to && status == PARLEY_OK; i++) {
        const struct parley_artifact_place place = {.sequence = i + 1,
                                                    .seconds = BEGAN + (double)(i + 1)};
        status = kind->fold(artifact, &thread->messages[i], &place);
    }
    return status;
}

static struct parley_artifact *fold_whole(struct thread *thread, size_t count) {
    struct parley_artifact *artifact = create();
    assert_int_equal(fold(artifact, thread, 0, count), PARLEY_OK);
    return artifact;
}

static void write_form(const struct parley_artifact *artifact, size_t count, size_t form,
                       struct parley_buffer *out) {
    const struct parley_artifact_extent extent = extent_of(count);
    parley_buffer_clear(out);
    assert_int_equal(kind->write(artifact, &extent, (enum parley_artifact_form)form, out),
                     PARLEY_OK);
    parley_buffer_char(out, '\0');
}

/* ---- what is expected ---- */

/* NULL: there is nothing. `pointer` is without escapes. */
static json_t *value_at(json_t *json, const char *pointer) {
    char key[128];
    while (json != NULL && *pointer == '/') {
        const size_t length = strcspn(pointer + 1, "/");
        snprintf(key, sizeof key, "%.*s", (int)length, pointer + 1);
        json = json_is_array(json) ? json_array_get(json, strtoul(key, NULL, 10))
                                   : json_object_get(json, key);
        pointer += 1 + length;
    }
    return json;
}

static void expect_values(const char *name, const char *text, json_t *expect) {
    const char *pointer;
    json_t *wanted;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (json == NULL) {
        fail_msg("%s: not JSON: %s", name, text);
    }
    json_object_foreach(expect, pointer, wanted) {
        json_t *got = value_at(json, pointer);
        const bool is_equal =
            json_is_null(wanted) ? got == NULL || json_is_null(got) : json_equal(got, wanted);
        if (!is_equal) {
            char *spelled = json_dumps(got, JSON_ENCODE_ANY);
            char *spelled_wanted = json_dumps(wanted, JSON_ENCODE_ANY);
            fail_msg("%s: %s is %s, not %s, in %s", name, pointer,
                     spelled != NULL ? spelled : "missing", spelled_wanted, text);
        }
    }
    json_decref(json);
}

static void expect_texts(const char *name, const char *text, const json_t *texts, bool is_there) {
    size_t index;
    json_t *one;
    json_array_foreach(texts, index, one) {
        if ((strstr(text, json_string_value(one)) != NULL) != is_there) {
            fail_msg("%s: \"%s\" is %s in:\n%s", name, json_string_value(one),
                     is_there ? "not" : "found", text);
        }
    }
}

static void expect_difference(const char *name, struct thread *thread, const json_t *diff,
                              struct parley_buffer *out) {
    const size_t from = (size_t)json_integer_value(json_object_get(diff, "from"));
    struct parley_artifact *before = fold_whole(thread, from),
                           *after = fold_whole(thread, thread->count);
    const struct parley_artifact_extent extents[] = {extent_of(from), extent_of(thread->count)};
    for (size_t form = 0; form < 2; form++) {
        parley_buffer_clear(out);
        assert_int_equal(kind->write_difference(before, &extents[0], after, &extents[1],
                                                (enum parley_artifact_form)form, out),
                         PARLEY_OK);
        parley_buffer_char(out, '\0');
        if (form == PARLEY_ARTIFACT_JSON) {
            expect_values(name, out->data, json_object_get(diff, "expect"));
        }
    }
    kind->destroy(before);
    kind->destroy(after);
}

/* ---- properties ---- */

/* Folding in two halves is folding whole, and writing in between changes nothing. */
static void expect_halves(const char *name, struct thread *thread, size_t cut,
                          struct parley_buffer *out, struct parley_buffer *wanted) {
    struct parley_artifact *whole = fold_whole(thread, thread->count), *halves = create();
    assert_int_equal(fold(halves, thread, 0, cut), PARLEY_OK);
    for (size_t form = 0; form < FORM_COUNT; form++) {
        write_form(halves, cut, form, out);
    }
    assert_int_equal(fold(halves, thread, cut, thread->count), PARLEY_OK);
    for (size_t form = 0; form < FORM_COUNT; form++) {
        write_form(halves, thread->count, form, out);
        write_form(whole, thread->count, form, wanted);
        if (strcmp(out->data, wanted->data) != 0) {
            fail_msg("%s, cut at %zu: %s\nis not\n%s", name, cut, out->data, wanted->data);
        }
    }
    kind->destroy(whole);
    kind->destroy(halves);
}

/* A compiled body keeps all of parley's rules; and folded, it agrees with what it was made of. */
static void expect_compiled_agrees(const char *name, struct message_fixture *fixture,
                                   struct thread *thread) {
    struct parley_artifact *artifact = fold_whole(thread, thread->count);
    write_form(artifact, thread->count, PARLEY_ARTIFACT_JSON, &fixture->wanted);
    json_t *before = json_loads(fixture->wanted.data, 0, NULL);
    write_form(artifact, thread->count, PARLEY_ARTIFACT_COMPILED, &fixture->out);
    thread_add(thread, fixture,
               json_pack("{s:s, s:s, s:s, s:s}", "subject", "COMPILED: x", "from", "Boss",
                         "thread_id", THREAD, "body_md", fixture->out.data));
    const struct parley_message *message = &thread->messages[thread->count - 1];
    if (message->findings.count > 0) {
        fail_msg("%s: %s in:\n%s", name, message->findings.items[0].message, fixture->out.data);
    }
    assert_int_equal(fold(artifact, thread, thread->count - 1, thread->count), PARLEY_OK);
    write_form(artifact, thread->count, PARLEY_ARTIFACT_JSON, &fixture->wanted);
    json_t *after = json_loads(fixture->wanted.data, 0, NULL);
    if (!json_equal(json_object_get(before, "compiled_differs"),
                    json_object_get(after, "compiled_differs"))) {
        fail_msg("%s: the compiled body differs: %s", name, fixture->wanted.data);
    }
    assert_int_equal(json_integer_value(value_at(after, "/metadata/compiled_version")),
                     json_is_null(value_at(before, "/metadata/compiled_version"))
                         ? 1
                         : json_integer_value(value_at(before, "/metadata/compiled_version")) + 1);
    json_decref(before);
    json_decref(after);
    kind->destroy(artifact);
}

/* ---- cases ---- */

typedef void run_fn(struct message_fixture *fixture, const json_t *test, struct thread *thread);

static void for_each_case(struct message_fixture *fixture, run_fn *run) {
    FILE *file = fopen(PARLEY_SOURCE_DIR "/tests/artifact/cases.ndjson", "r");
    char *line = NULL;
    size_t size = 0, count = 0;
    assert_non_null(file);
    for (; getline(&line, &size, file) > 0; count++) {
        struct thread thread = {.count = 0};
        size_t index;
        json_t *wanted, *test = json_loads(line, 0, NULL);
        assert_non_null(test);
        json_array_foreach(json_object_get(test, "messages"), index, wanted) {
            thread_add(&thread, fixture, message_of(wanted));
        }
        run(fixture, test, &thread);
        thread_finish(&thread);
        json_decref(test);
    }
    assert_true(count > 60);
    free(line);
    fclose(file);
}

static void run_case(struct message_fixture *fixture, const json_t *test, struct thread *thread) {
    const char *name = json_string_value(json_object_get(test, "name"));
    struct parley_artifact *artifact = fold_whole(thread, thread->count);
    write_form(artifact, thread->count, PARLEY_ARTIFACT_JSON, &fixture->out);
    expect_values(name, fixture->out.data, json_object_get(test, "expect"));
    write_form(artifact, thread->count, PARLEY_ARTIFACT_MARKDOWN, &fixture->out);
    expect_texts(name, fixture->out.data, json_object_get(test, "shows"), true);
    expect_texts(name, fixture->out.data, json_object_get(test, "hides"), false);
    write_form(artifact, thread->count, PARLEY_ARTIFACT_COMPILED, &fixture->out);
    expect_texts(name, fixture->out.data, json_object_get(test, "body"), true);
    if (json_object_get(test, "diff") != NULL) {
        expect_difference(name, thread, json_object_get(test, "diff"), &fixture->out);
    }
    kind->destroy(artifact);
}

static void run_halves(struct message_fixture *fixture, const json_t *test, struct thread *thread) {
    for (size_t cut = 0; cut <= thread->count; cut++) {
        expect_halves(json_string_value(json_object_get(test, "name")), thread, cut, &fixture->out,
                      &fixture->wanted);
    }
}

static void run_compiled(struct message_fixture *fixture, const json_t *test,
                         struct thread *thread) {
    expect_compiled_agrees(json_string_value(json_object_get(test, "name")), fixture, thread);
}

static void test_the_cases_are_folded_as_they_say(void **state) {
    for_each_case(*state, run_case);
}

static void test_folding_a_case_in_two_halves_is_folding_it_whole(void **state) {
    for_each_case(*state, run_halves);
}

static void test_a_compiled_body_keeps_the_rules_and_agrees_with_the_fold(void **state) {
    for_each_case(*state, run_compiled);
}

/* ---- random histories ---- */

static const char *const sections[] = {
    "hypothesis_slate", "predictions_table",    "discriminative_tests", "assumption_ledger",
    "anomaly_register", "adversarial_critique", "research_thread"};
static const char letters[] = "HPTAXC";

static json_t *random_payload(struct random_source *random) {
    static const char *const keys[] = {"name",  "claim", "title",     "anchors", "conflicts_with",
                                       "score", "x",     "statement", "test",    "replace"};
    json_t *payload = json_object();
    for (size_t i = random_below(random, 5); i > 0; i--) {
        const char *key = keys[random_below(random, 10)];
        json_t *anchors = json_pack("[s, i]",
                                    "\xC2\xA7"
                                    "1",
                                    (int)random_below(random, 4));
        json_t *score = json_pack("{s:i}", "cost", (int)random_below(random, 4));
        json_t *predictions = json_pack("{s:s, s:s}", "H1", "up", "H2", "down");
        json_object_set_new(payload, key, json_pack("s", "a \"text\""));
        json_object_set(payload, "anchors", anchors);
        json_object_set(payload, "score", score);
        json_object_set(payload, "predictions", predictions);
        json_decref(anchors);
        json_decref(score);
        json_decref(predictions);
    }
    return payload;
}

static json_t *random_delta(struct random_source *random) {
    const size_t section = random_below(random, 7), operation = random_below(random, 8);
    char target[16];
    snprintf(target, sizeof target, "%c%zu", letters[section % 6], 1 + random_below(random, 6));
    if (section == 6) {
        return json_pack("{s:s, s:s, s:n, s:o}", "operation", "EDIT", "section", sections[6],
                         "target_id", "payload", random_payload(random));
    }
    if (operation < 3) {
        return json_pack("{s:s, s:s, s:s, s:{s:s}}", "operation", "KILL", "section",
                         sections[section], "target_id", target, "payload", "reason", "why");
    }
    return operation < 5
               ? json_pack("{s:s, s:s, s:s, s:o}", "operation", "EDIT", "section",
                           sections[section], "target_id", target, "payload",
                           random_payload(random))
               : json_pack("{s:s, s:s, s:n, s:o}", "operation", "ADD", "section", sections[section],
                           "target_id", "payload", random_payload(random));
}

static json_t *random_message(struct random_source *random) {
    static const char *const agents[] = {"GreenDog", "BlueMountain", "RedCreek"};
    json_t *deltas = json_array();
    for (size_t i = 1 + random_below(random, 4); i > 0; i--) {
        json_array_append_new(deltas, random_delta(random));
    }
    json_t *wanted =
        json_pack("{s:s, s:o}", "from", agents[random_below(random, 3)], "deltas", deltas);
    json_t *message = message_of(wanted);
    json_decref(wanted);
    return message;
}

/* What holds of any artifact. */
static void expect_sound(const char *text) {
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    for (size_t s = 0; s < 6; s++) {
        json_t *items = json_object_get(json_object_get(json, "sections"), sections[s]), *item;
        size_t index, living = 0;
        uint64_t seen = 0;
        json_array_foreach(items, index, item) {
            const char *id = json_string_value(json_object_get(item, "id"));
            const unsigned long number = strtoul(id + 1, NULL, 10);
            assert_true(id[0] == letters[s] && number >= 1 && number <= json_array_size(items));
            seen |= UINT64_C(1) << (number % 64);
            living += !json_is_true(json_object_get(item, "killed"));
        }
        assert_true(json_array_size(items) >= 60 ||
                    seen == ((UINT64_C(1) << json_array_size(items)) - 1) << 1);
        assert_true(s != 0 || living <= 6);
    }
    json_decref(json);
}

static void test_random_histories_fold_the_same_in_halves_and_compiled(void **state) {
    struct message_fixture *fixture = *state;
    struct random_source random = {.state = 26};
    for (size_t round = 0; round < 60; round++) {
        struct thread thread = {.count = 0};
        char name[32];
        snprintf(name, sizeof name, "history %zu", round);
        for (size_t i = random_below(&random, 20); i > 0; i--) {
            thread_add(&thread, fixture, random_message(&random));
        }
        expect_halves(name, &thread, random_below(&random, thread.count + 1), &fixture->out,
                      &fixture->wanted);
        struct parley_artifact *artifact = fold_whole(&thread, thread.count);
        write_form(artifact, thread.count, PARLEY_ARTIFACT_JSON, &fixture->out);
        expect_sound(fixture->out.data);
        kind->destroy(artifact);
        expect_compiled_agrees(name, fixture, &thread);
        thread_finish(&thread);
    }
}

/* ---- limits ---- */

static void test_a_fold_ends_at_its_limit_and_can_be_written(void **state) {
    struct message_fixture *fixture = *state;
    struct random_source random = {.state = 4};
    struct thread thread = {.count = 0};
    struct parley_artifact *artifact = NULL;
    for (size_t i = 0; i < 40; i++) {
        thread_add(&thread, fixture, random_message(&random));
    }
    assert_int_equal(kind->create(PARLEY_BYTES(THREAD), 20000, &artifact), PARLEY_OK);
    assert_int_equal(fold(artifact, &thread, 0, thread.count), PARLEY_E_LIMIT);
    write_form(artifact, thread.count, PARLEY_ARTIFACT_JSON, &fixture->out);
    expect_sound(fixture->out.data);
    kind->destroy(artifact);
    thread_finish(&thread);
}

/* A message that adds 50 anomalies, the first of them X`first`, and unites an array of each. */
static json_t *many_deltas(size_t first) {
    json_t *deltas = json_array();
    for (size_t i = 0; i < 50; i++) {
        json_array_append_new(deltas, json_pack("{s:s, s:s, s:n, s:{s:s, s:[s]}}", "operation",
                                                "ADD", "section", "anomaly_register", "target_id",
                                                "payload", "name", "n", "conflicts_with", "H1"));
    }
    for (size_t i = 0; i < 50; i++) {
        char target[32];
        snprintf(target, sizeof target, "X%zu", first + i);
        json_array_append_new(deltas, json_pack("{s:s, s:s, s:s, s:{s:[s]}}", "operation", "EDIT",
                                                "section", "anomaly_register", "target_id", target,
                                                "payload", "conflicts_with", "H2"));
    }
    json_t *wanted = json_pack("{s:s, s:o}", "from", "GreenDog", "deltas", deltas);
    json_t *message = message_of(wanted);
    json_decref(wanted);
    return message;
}

static void test_small_items_take_little_of_the_limit(void **state) {
    struct message_fixture *fixture = *state;
    struct thread thread = {.count = 0};
    for (size_t i = 0; i < 60; i++) {
        thread_add(&thread, fixture, many_deltas(1 + 50 * i));
    }
    struct parley_artifact *artifact = fold_whole(&thread, thread.count); /* within BYTES_MAX */
    write_form(artifact, thread.count, PARLEY_ARTIFACT_JSON, &fixture->out);
    json_t *json = json_loads(fixture->out.data, 0, NULL);
    assert_int_equal(json_array_size(value_at(json, "/sections/anomaly_register")), 3000);
    json_decref(json);
    kind->destroy(artifact);
    thread_finish(&thread);
}

/* ---- memory ---- */

/* Everything that is done with an artifact.  Returns: PARLEY_OK or PARLEY_E_MEMORY. */
static enum parley_status do_all(struct thread *thread, struct parley_buffer *out) {
    const struct parley_artifact_extent extents[] = {extent_of(1), extent_of(thread->count)};
    struct parley_artifact *before = NULL, *after = NULL;
    enum parley_status status = kind->create(PARLEY_BYTES(THREAD), BYTES_MAX, &before);
    status = status != PARLEY_OK ? status : kind->create(PARLEY_BYTES(THREAD), BYTES_MAX, &after);
    status = status != PARLEY_OK ? status : fold(before, thread, 0, 1);
    status = status != PARLEY_OK ? status : fold(after, thread, 0, thread->count);
    for (size_t form = 0; form < FORM_COUNT && status == PARLEY_OK; form++) {
        status = kind->write(after, &extents[1], (enum parley_artifact_form)form, out);
    }
    for (size_t form = 0; form < 2 && status == PARLEY_OK; form++) {
        status = kind->write_difference(before, &extents[0], after, &extents[1],
                                        (enum parley_artifact_form)form, out);
    }
    kind->destroy(before);
    kind->destroy(after);
    return status;
}

static void run_faults(struct message_fixture *fixture, const json_t *test, struct thread *thread) {
    const char *name = json_string_value(json_object_get(test, "name"));
    parley_buffer_clear(&fixture->wanted);
    fault_heap_arm(SIZE_MAX, 0);
    assert_int_equal(do_all(thread, &fixture->wanted), PARLEY_OK);
    const size_t total = fault_heap_disarm();
    for (size_t first = 0; first < total; first += 1 + total / 100) {
        parley_buffer_finish(&fixture->out);
        parley_buffer_init(&fixture->out);
        fault_heap_arm(first, 1);
        const enum parley_status status = do_all(thread, &fixture->out);
        fault_heap_disarm();
        if (status != PARLEY_E_MEMORY &&
            !parley_bytes_equal(parley_buffer_bytes(&fixture->out),
                                parley_buffer_bytes(&fixture->wanted))) {
            size_t same = 0;
            while (same < fixture->out.length && same < fixture->wanted.length &&
                   fixture->out.data[same] == fixture->wanted.data[same]) {
                same++;
            }
            fail_msg("%s: when allocation %zu failed (status %d), after %zu bytes: %.200s\nnot "
                     "%.200s",
                     name, first, (int)status, same, fixture->out.data + same,
                     fixture->wanted.data + same);
        }
    }
}

static void test_whichever_allocation_fails_an_artifact_is_right_or_not_there(void **state) {
    for_each_case(*state, run_faults);
}

int main(void) {
    kind = parley_protocol_find(PARLEY_BYTES("brenner"))->artifact;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_cases_are_folded_as_they_say),
        cmocka_unit_test(test_folding_a_case_in_two_halves_is_folding_it_whole),
        cmocka_unit_test(test_a_compiled_body_keeps_the_rules_and_agrees_with_the_fold),
        cmocka_unit_test(test_random_histories_fold_the_same_in_halves_and_compiled),
        cmocka_unit_test(test_a_fold_ends_at_its_limit_and_can_be_written),
        cmocka_unit_test(test_small_items_take_little_of_the_limit),
        cmocka_unit_test(test_whichever_allocation_fails_an_artifact_is_right_or_not_there),
    };
    return cmocka_run_group_tests(tests, message_set_up_brenner, message_tear_down);
}
