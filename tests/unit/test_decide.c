/* SPDX-License-Identifier: Apache-2.0 */

/* What earlier messages mean for one about a task: every combination of what the keys say, type,
 * sender, time and lifecycle has exactly one row of tests/decisions/roundtable.ndjson, and is
 * decided as that says (tests/decisions/README.md). */

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

#define TASK_ID "550e8400-e29b-41d4-a716-446655440000"
#define OWN_ID "880e8400-e29b-41d4-a716-446655440003"
#define OTHER_ID "770e8400-e29b-41d4-a716-446655440002"
#define DIGEST "0123456789abcdef0123456789abcdef"
#define OTHER_DIGEST "fedcba9876543210fedcba9876543210"
#define CLAIMED_AT "2026-02-08T15:01:00Z"

enum {
    DEADLINE = 1770566400, /* 2026-02-08T16:00:00Z */
    ROWS_MAX = 400,
    STREAM_SEQUENCE = 11, /* of the request's fact; of the claim's one more, of the end's two */
};

/* ---- the dimensions ---- */

enum dimension { TYPE, SENDER, REQUEST, TO, CLAIM, END, TIME, LIFECYCLE, DIMENSIONS };

static const struct {
    const char *name;
    const char *values[8];
} dimensions[DIMENSIONS] = {
    [TYPE] = {"type",
              {"task.request", "task.claimed", "task.progress", "task.result", "task.failed"}},
    [SENDER] = {"sender", {"lancelot", "arthur", "mordred"}},
    [REQUEST] = {"request", {"late", "none", "same", "other", "domain", "broken"}},
    [TO] = {"to", {"nobody", "galahad"}},
    [CLAIM] = {"claim", {"none", "lancelot", "blind", "broken"}},
    [END] = {"end", {"none", "completed", "blind", "this", "broken"}},
    [TIME] = {"time", {"before", "after"}},
    [LIFECYCLE] = {"lifecycle", {"off", "on", "strict"}},
};
enum { IS_LATE, IS_NONE, IS_SAME, IS_OTHER, IS_DOMAIN, IS_BROKEN };
enum { END_THIS = 3, IS_RESULT = 3 };

typedef unsigned combination[DIMENSIONS];

static unsigned value_count(enum dimension of) {
    unsigned count = 0;
    while (count < 8 && dimensions[of].values[count] != NULL) {
        count++;
    }
    return count;
}

static unsigned value_of(enum dimension of, const char *name, size_t length) {
    for (unsigned i = 0; i < value_count(of); i++) {
        const char *value = dimensions[of].values[i];
        if (strlen(value) == length && strncmp(value, name, length) == 0) {
            return i;
        }
    }
    fail_msg("%s is not a %s", name, dimensions[of].name);
    return 0;
}

static const char *name_of(const combination at, enum dimension of) {
    return dimensions[of].values[at[of]];
}

/* ---- the rows ---- */

struct row {
    json_t *json;
    unsigned masks[DIMENSIONS];
    unsigned count; /* of the combinations that it decides */
};

struct table {
    struct row rows[ROWS_MAX];
    size_t count;
};

/* "task.result|task.failed"; NULL: any. */
static unsigned mask_of(enum dimension of, const char *names) {
    unsigned mask = 0;
    if (names == NULL) {
        return UINT32_MAX;
    }
    for (const char *at = names;; at++) {
        const size_t length = strcspn(at, "|");
        mask |= 1u << value_of(of, at, length);
        at += length;
        if (*at == '\0') {
            return mask;
        }
    }
}

static void add_row(struct table *table, const char *line) {
    struct row *row = &table->rows[table->count++];
    json_t *when;
    assert_in_range(table->count, 1, ROWS_MAX);
    row->json = json_loads(line, 0, NULL);
    when = json_object_get(row->json, "when");
    assert_non_null(when);
    size_t known_count = 0;
    for (unsigned i = 0; i < DIMENSIONS; i++) {
        const char *names = json_string_value(json_object_get(when, dimensions[i].name));
        row->masks[i] = mask_of(i, names);
        known_count += names != NULL;
    }
    assert_int_equal(known_count, json_object_size(when));
}

static void read_lines(const char *name, void (*each)(void *context, const char *line),
                       void *context) {
    char path[512];
    char *line = NULL;
    size_t capacity = 0;
    snprintf(path, sizeof path, "%s/tests/decisions/%s", PARLEY_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (getline(&line, &capacity, file) > 0) {
        each(context, line);
    }
    free(line);
    fclose(file);
}

static void on_row(void *context, const char *line) {
    add_row(context, line);
}

static struct row *find_row(struct table *table, const combination at) {
    struct row *found = NULL;
    for (size_t i = 0; i < table->count; i++) {
        bool is_meant = true;
        for (unsigned j = 0; j < DIMENSIONS && is_meant; j++) {
            is_meant = (table->rows[i].masks[j] >> at[j] & 1) != 0;
        }
        if (is_meant && found != NULL) {
            fail_msg("two rows: %s, %s", json_string_value(json_object_get(found->json, "name")),
                     json_string_value(json_object_get(table->rows[i].json, "name")));
        }
        found = is_meant ? &table->rows[i] : found;
    }
    return found;
}

/* ---- what the keys say ---- */

static struct parley_bytes value_of_request(const combination at) {
    static char text[512];
    switch (at[REQUEST]) {
    case IS_SAME:
    case IS_OTHER:
        snprintf(text, sizeof text,
                 "{\"stream\":\"S\",\"seq\":11,\"task\":\"a.b\",\"from\":\"arthur\",\"to\":%s,"
                 "\"priority\":\"normal\",\"at\":\"2026-02-08T15:00:00Z\",\"deadline\":"
                 "\"2026-02-08T16:00:00Z\",\"retry_of\":null,\"digest\":\"%s\"}",
                 at[TO] == 0 ? "null" : "\"galahad\"",
                 at[REQUEST] == IS_SAME ? DIGEST : OTHER_DIGEST);
        return parley_bytes_of(text);
    case IS_DOMAIN:
        return PARLEY_BYTES("a");
    case IS_BROKEN:
        return PARLEY_BYTES("{\"stream\":\"S\"");
    default:
        return (struct parley_bytes){0};
    }
}

static struct parley_bytes value_of_claim(const combination at) {
    static const char *const values[] = {
        NULL,
        "{\"stream\":\"S\",\"seq\":12,\"holder\":\"lancelot\",\"claim\":\"" OTHER_ID
        "\",\"at\":\"" CLAIMED_AT "\",\"request\":11}",
        "{\"stream\":\"S\",\"seq\":12,\"holder\":\"lancelot\",\"claim\":\"" OTHER_ID
        "\",\"at\":\"" CLAIMED_AT "\",\"request\":null}",
        "lancelot",
    };
    return parley_bytes_of(values[at[CLAIM]]);
}

static struct parley_bytes value_of_end(const combination at) {
    static char text[512];
    static const char *const ids[] = {NULL, OTHER_ID, OTHER_ID, OWN_ID, NULL};
    if (ids[at[END]] == NULL) {
        return parley_bytes_of(at[END] == 0 ? NULL : "[]");
    }
    snprintf(text, sizeof text,
             "{\"stream\":\"S\",\"seq\":13,\"state\":\"completed\",\"type\":\"%s\",\"end\":\"%s\","
             "\"from\":\"lancelot\",\"at\":\"2026-02-08T15:02:00Z\",\"error\":null,"
             "\"retryable\":null,\"retry_at\":null,\"request\":%s}",
             at[END] == END_THIS ? name_of(at, TYPE) : "task.result", ids[at[END]],
             at[END] == 1 ? "11" : "null");
    return parley_bytes_of(text);
}

/* ---- a message, decided ---- */

static void write_message(const combination at, char *out, size_t size) {
    static const char *const payloads[] = {
        "{\"task\":\"a.b\"}", "{}", "{}", "{\"status\":\"failed\"}",
        "{\"error\":\"timeout\",\"retryable\":true,\"retryAfterSeconds\":90}"};
    const bool is_request = at[TYPE] == 0;
    snprintf(out, size,
             "{\"id\":\"%s\",\"version\":\"1.0\",\"from\":\"%s\",\"timestamp\":"
             "\"2026-02-08T15:00:00Z\",\"type\":\"%s\",%s\"payload\":%s}",
             is_request ? TASK_ID : OWN_ID, name_of(at, SENDER), name_of(at, TYPE),
             is_request ? "" : "\"correlationId\":\"" TASK_ID "\",", payloads[at[TYPE]]);
}

static void check(struct message_fixture *fixture, const char *text) {
    assert_int_equal(parley_message_check(&fixture->message, parley_bytes_of(text),
                                          &parley_codec_json, &fixture->options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_true(parley_message_is_valid(&fixture->message));
}

/* Keeps the values of the keys that the route asks for.  Returns: false: it is not asked for one
 * that has a value. */
static bool keep_asked(struct message_fixture *fixture, struct parley_known_facts *known) {
    assert_int_equal(parley_message_route(&fixture->message, &fixture->route), PARLEY_OK);
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        if (fixture->route.fact_keys[i].data == NULL && known->values[i].data != NULL) {
            return false;
        }
    }
    return true;
}

static json_t *json_of(struct parley_bytes text) {
    return text.data != NULL ? json_stringn(text.data, text.length) : json_null();
}

/* ",\"a\":1" as {"a":1}. */
static json_t *members_of(struct parley_bytes members) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_char(&text, '{');
    if (members.length > 0) {
        assert_int_equal(members.data[0], ',');
        parley_buffer_append(&text, (struct parley_bytes){members.data + 1, members.length - 1});
    }
    parley_buffer_char(&text, '}');
    json_t *object = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(object);
    parley_buffer_finish(&text);
    return object;
}

static json_t *warnings_of(const struct parley_message *message) {
    json_t *list = json_array();
    for (size_t i = 0; i < message->findings.count; i++) {
        const struct parley_finding *finding = &message->findings.items[i];
        if (finding->rule->spans_messages) {
            assert_true(finding->at.line == 1 && finding->at.column > 1);
            assert_true(strlen(finding->message) > 10);
            json_array_append_new(list, json_string(finding->rule->id));
        }
    }
    return list;
}

/* Whose place it is; the place of no fact is an error. */
static json_t *place_of(const struct parley_decision *decision) {
    static const char *const names[] = {"request", "claim", "end"};
    if (decision->stream.data == NULL) {
        return json_null();
    }
    assert_true(parley_bytes_equal(decision->stream, PARLEY_BYTES("S")));
    assert_in_range(decision->sequence, STREAM_SEQUENCE, STREAM_SEQUENCE + 2);
    return json_string(names[decision->sequence - STREAM_SEQUENCE]);
}

/* The part of `text` that is not the task's id: "claim", "claim:2", "turn.2"; "request": nothing is
 * left. */
static json_t *without_id(struct parley_bytes text) {
    char rest[64];
    if (text.data == NULL) {
        return json_null();
    }
    const char *id = memmem(text.data, text.length, TASK_ID, strlen(TASK_ID));
    if (id == NULL) { /* of the task that is tried again */
        return json_stringn(text.data, text.length);
    }
    const char *after = id + strlen(TASK_ID), *end = text.data + text.length;
    const int before_length = id > text.data ? (int)(id - text.data) - 1 : 0;
    after += before_length == 0 && after < end ? 1 : 0;
    snprintf(rest, sizeof rest, "%.*s%.*s", before_length, text.data, (int)(end - after), after);
    return json_string(rest[0] != '\0' ? rest : "request");
}

/* A decision in the words of the rows. */
static json_t *describe(const struct message_fixture *fixture,
                        const struct parley_decision *decision) {
    json_t *warnings = warnings_of(&fixture->message);
    if (decision->kind != PARLEY_DECISION_PUBLISH) {
        assert_int_equal(json_array_size(warnings), 0);
        assert_true(decision->kind == PARLEY_DECISION_PREPARE || decision->fact_key.data == NULL);
    }
    if (decision->kind == PARLEY_DECISION_PUBLISH) {
        return json_pack("{s:s, s:o, s:o, s:o}", "decision", "publish", "message_id",
                         without_id(decision->message_id), "fact", without_id(decision->fact_key),
                         "warnings", warnings);
    }
    json_decref(warnings);
    if (decision->kind == PARLEY_DECISION_ASK_AGAIN) {
        return json_pack("{s:s}", "decision", "ask-again");
    }
    if (decision->kind == PARLEY_DECISION_ASK_LAST) {
        return json_pack("{s:s, s:o}", "decision", "ask-last", "last_subject",
                         json_of(decision->last_subject));
    }
    if (decision->kind == PARLEY_DECISION_PREPARE) {
        return json_pack("{s:s, s:o}", "decision", "prepare", "fact",
                         without_id(decision->fact_key));
    }
    if (decision->kind == PARLEY_DECISION_REPEATED) {
        return json_pack("{s:s, s:o, s:o}", "decision", "repeated", "place", place_of(decision),
                         "members", members_of(decision->members));
    }
    assert_true(decision->detail.length > 20);
    return json_pack("{s:s, s:s, s:o, s:o}", "decision", "refused", "problem", decision->problem,
                     "place", place_of(decision), "members", members_of(decision->members));
}

static void assert_decided(json_t *row, json_t *got) {
    json_t *wanted = json_object_get(row, "then");
    if (!json_equal(wanted, got)) {
        char *wanted_text = json_dumps(wanted, JSON_COMPACT | JSON_SORT_KEYS);
        char *got_text = json_dumps(got, JSON_COMPACT | JSON_SORT_KEYS);
        fail_msg("%s: %s, not %s", json_string_value(json_object_get(row, "name")), got_text,
                 wanted_text);
    }
    json_decref(got);
}

/* ---- every combination ---- */

/* What cannot be: an addressee of a request that says none, a request that is its task's end. */
static bool can_be(const combination at) {
    const bool has_addressee = at[REQUEST] == IS_SAME || at[REQUEST] == IS_OTHER;
    return (at[TO] == 0 || has_addressee) && (at[END] != END_THIS || at[TYPE] >= IS_RESULT);
}

static void decide(struct message_fixture *fixture, const combination at, struct table *table) {
    char text[512];
    struct parley_decision decision;
    struct parley_known_facts known = {
        .values = {value_of_end(at), value_of_claim(at), {0}, value_of_request(at)},
        .is_final = at[REQUEST] == IS_NONE,
        .digest = DIGEST};
    set_lifecycle(&fixture->options, fixture->protocol, at[LIFECYCLE]);
    fixture->options.now_seconds = DEADLINE + (at[TIME] == 0 ? 0 : 1);
    write_message(at, text, sizeof text);
    check(fixture, text);
    if (!keep_asked(fixture, &known)) {
        return;
    }
    struct row *row = find_row(table, at);
    if (row == NULL) {
        fail_msg("no row for %s from %s: request %s to %s, claim %s, end %s, %s, %s",
                 name_of(at, TYPE), name_of(at, SENDER), name_of(at, REQUEST), name_of(at, TO),
                 name_of(at, CLAIM), name_of(at, END), name_of(at, TIME), name_of(at, LIFECYCLE));
        return;
    }
    row->count++;
    assert_int_equal(parley_message_decide(&fixture->message, &known, &decision), PARLEY_OK);
    assert_decided(row->json, describe(fixture, &decision));
}

static bool advance(combination at) {
    for (unsigned i = 0; i < DIMENSIONS; i++) {
        if (++at[i] < value_count(i)) {
            return true;
        }
        at[i] = 0;
    }
    return false;
}

static void test_every_combination_is_decided_by_exactly_one_row(void **state) {
    static struct table table;
    combination at = {0};
    read_lines("roundtable.ndjson", on_row, &table);
    do {
        if (can_be(at)) {
            decide(*state, at, &table);
        }
    } while (advance(at));
    unsigned count = 0;
    for (size_t i = 0; i < table.count; i++) {
        if (table.rows[i].count == 0) {
            fail_msg("%s: there is no such combination",
                     json_string_value(json_object_get(table.rows[i].json, "name")));
        }
        count += table.rows[i].count;
        json_decref(table.rows[i].json);
    }
    print_message("%u combinations by %zu rows\n", count, table.count);
}

/* ---- values and facts, one by one ---- */

static const char *text_in(json_t *object, const char *name) {
    return json_string_value(json_object_get(object, name));
}

/* What the request's query says. */
static void ask_for(struct message_fixture *fixture, json_t *asked) {
    const char *name, *wants;
    json_t *value;
    json_object_foreach(asked, name, value) {
        assert_int_equal(parley_options_set(&fixture->options, fixture->protocol, name,
                                            json_string_value(value), &wants),
                         PARLEY_OPTION_SET);
    }
}

static void on_case(void *context, const char *line) {
    static const char *const places[] = {"end",     "claim",        "turn",
                                         "request", "retried.end",  "retried.claim",
                                         "retried", "retried.retry"};
    struct message_fixture *fixture = context;
    struct parley_decision decision;
    struct parley_known_facts known = {.digest = DIGEST};
    json_t *test = json_loads(line, 0, NULL), *values = json_object_get(test, "values");
    assert_non_null(test);
    char *text = json_dumps(json_object_get(test, "message"), JSON_COMPACT);
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        json_t *value = json_object_get(values, places[i]);
        known.values[i] =
            (struct parley_bytes){json_string_value(value), json_string_length(value)};
    }
    known.kept_seconds = json_integer_value(json_object_get(test, "kept"));
    known.is_final = json_is_true(json_object_get(test, "is_final"));
    json_t *last = json_object_get(test, "last");
    known.has_last = !json_is_false(last);
    known.last = parley_bytes_of(text_in(last, "text"));
    known.last_seconds = json_integer_value(json_object_get(last, "at"));
    json_t *stored = json_object_get(test, "stored");
    known.stored_stream = parley_bytes_of(text_in(stored, "stream"));
    known.stored_sequence = (uint64_t)json_integer_value(json_object_get(stored, "seq"));
    fixture->options =
        (struct parley_options){.now_seconds = json_integer_value(json_object_get(test, "now"))};
    set_lifecycle(
        &fixture->options, fixture->protocol,
        value_of(LIFECYCLE, text_in(test, "lifecycle"), strlen(text_in(test, "lifecycle"))));
    char lease_ms[24];
    snprintf(lease_ms, sizeof lease_ms, "%lld",
             (long long)json_integer_value(json_object_get(test, "lease")) * 1000);
    set_option(&fixture->options, fixture->protocol, "task-lease", lease_ms);
    set_option(&fixture->options, fixture->protocol, "task-attempts", "3");
    set_option(&fixture->options, fixture->protocol, "task-max", "86400000");
    ask_for(fixture, json_object_get(test, "options"));
    check(fixture, text);
    assert_int_equal(parley_message_decide(&fixture->message, &known, &decision), PARLEY_OK);
    json_t *got = describe(fixture, &decision);
    if (json_object_get(json_object_get(test, "then"), "members_of_fact") != NULL) {
        json_object_set_new(got, "members_of_fact", members_of(decision.fact_members));
    }
    if (json_object_get(json_object_get(test, "then"), "text") != NULL) {
        const struct parley_findings *findings = &fixture->message.findings;
        json_object_set_new(got, "text",
                            decision.detail.data != NULL
                                ? json_of(decision.detail)
                                : json_string(findings->items[findings->count - 1].message));
    }
    if (json_object_get(json_object_get(test, "then"), "subject") != NULL) {
        assert_int_equal(parley_message_route(&fixture->message, &fixture->route), PARLEY_OK);
        json_object_set_new(got, "subject", json_of(fixture->route.subject));
    }
    assert_decided(test, got);
    free(text);
    json_decref(test);
}

static void test_values_of_every_kind_are_read_and_facts_are_written(void **state) {
    read_lines("roundtable_values.ndjson", on_case, *state);
}

/* A fact that was written says of the same message what it must. */
static void test_a_fact_is_read_as_it_was_written(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_known_facts known = {.is_final = true, .digest = DIGEST};
    struct parley_decision decision;
    combination at = {0};
    char text[512];
    fixture->options = (struct parley_options){.stamp = false};
    set_lifecycle(&fixture->options, fixture->protocol, PARLEY_LIFECYCLE_ON);
    write_message(at, text, sizeof text);
    check(fixture, text);
    assert_int_equal(parley_message_decide(&fixture->message, &known, &decision), PARLEY_OK);
    assert_int_equal(decision.kind, PARLEY_DECISION_PUBLISH);
    parley_decision_write_fact(&decision, PARLEY_BYTES("S"), STREAM_SEQUENCE, &fixture->out);
    known.values[3] = parley_buffer_bytes(&fixture->out);
    assert_int_equal(parley_message_decide(&fixture->message, &known, &decision), PARLEY_OK);
    assert_int_equal(decision.kind, PARLEY_DECISION_REPEATED);
    assert_int_equal(decision.sequence, STREAM_SEQUENCE);
    known.digest = OTHER_DIGEST;
    assert_int_equal(parley_message_decide(&fixture->message, &known, &decision), PARLEY_OK);
    assert_int_equal(decision.kind, PARLEY_DECISION_REFUSED);
}

static void test_deciding_again_replaces_the_warnings_of_before(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_known_facts known = {.is_final = true, .digest = DIGEST};
    struct parley_decision decision;
    combination at = {[TYPE] = 1};
    char text[512];
    fixture->options = (struct parley_options){.stamp = false};
    set_lifecycle(&fixture->options, fixture->protocol, PARLEY_LIFECYCLE_ON);
    write_message(at, text, sizeof text);
    check(fixture, text);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(parley_message_decide(&fixture->message, &known, &decision), PARLEY_OK);
        assert_int_equal(fixture->message.findings.count, 1);
        assert_int_equal(fixture->message.findings.warning_count, 1);
    }
    known.values[3] = PARLEY_BYTES("a");
    assert_int_equal(parley_message_decide(&fixture->message, &known, &decision), PARLEY_OK);
    assert_int_equal(fixture->message.findings.count, 0);
}

int main(void) {
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, message_set_up_roundtable, message_tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(test_every_combination_is_decided_by_exactly_one_row),
        TEST(test_values_of_every_kind_are_read_and_facts_are_written),
        TEST(test_a_fact_is_read_as_it_was_written),
        TEST(test_deciding_again_replaces_the_warnings_of_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
