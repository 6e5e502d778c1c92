/* SPDX-License-Identifier: Apache-2.0 */

/* A rule table told as a JSON Schema. That the schemas of the protocols give parley's own verdicts
 * is tests/differential's to show; here, what each form of row becomes. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include <jansson.h>

#include <parley/describe.h>
#include <parley/message.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define ONE PARLEY_TYPE_BIT(0)
#define TWO PARLEY_TYPE_BIT(1)

static bool never(const struct parley_captures *captures) {
    (void)captures;
    return false;
}

static bool is_strict(const struct parley_options *options) {
    return options->values[0].is_on;
}

static unsigned no_type(struct parley_bytes text) {
    (void)text;
    return PARLEY_TYPE_OTHER;
}

/* A protocol of one rule, T-1, and what its schema must be. */
struct row {
    const char *about;
    struct parley_place places[3];
    const char *at; /* a member of the schema, "" for the schema itself without its head */
    const char *schema;
};

static const char *const types[] = {"one", "two", NULL};
enum { TYPE, A, B };
static const char *const fields[] = {[TYPE] = "/head/type", [A] = "/a", [B] = "/b/c", NULL};

static struct parley_buffer write(const struct parley_rule *rules, size_t count,
                                  unsigned (*type_of)(struct parley_bytes)) {
    const struct parley_protocol protocol = {.name = "t",
                                             .title = "Test",
                                             .spec_version = "T/1",
                                             .types = types,
                                             .fields = fields,
                                             .rules = rules,
                                             .rule_count = count,
                                             .type_of = type_of};
    struct parley_buffer out;
    parley_buffer_init(&out);
    assert_int_equal(parley_protocol_write_json_schema(&protocol, &out), PARLEY_OK);
    return out;
}

static json_t *schema_of(const struct parley_rule *rules, size_t count,
                         unsigned (*type_of)(struct parley_bytes)) {
    struct parley_buffer out = write(rules, count, type_of);
    json_t *schema = json_loadb(out.data, out.length, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(schema);
    parley_buffer_finish(&out);
    return schema;
}

/* Without the words, which other tests look at. As deep as a schema of this file. */
static void strip_words(json_t *schema) {
    const char *key;
    size_t i;
    json_t *value;
    if (json_is_object(schema)) {
        json_object_del(schema, "title");
        json_object_del(schema, "description");
    }
    json_object_foreach(schema, key, value) {
        strip_words(value);
    }
    json_array_foreach(schema, i, value) {
        strip_words(value);
    }
}

static void check_row(const struct row *row) {
    size_t count = 0;
    while (count < 3 && row->places[count].path != NULL) {
        count++;
    }
    const struct parley_rule rule = {
        .id = "T-1", .summary = "s", .hint = "Do it.", .places = row->places, .place_count = count};
    json_t *schema = schema_of(&rule, 1, NULL);
    strip_words(schema);
    json_object_del(schema, "$schema");
    json_object_del(schema, "$id");
    json_object_del(schema, "$comment");
    const json_t *got = row->at[0] == '\0'
                            ? schema
                            : json_object_get(json_object_get(schema, "properties"), row->at);
    char *text = got != NULL ? json_dumps(got, JSON_COMPACT) : strdup("nothing");
    if (strcmp(text, row->schema) != 0) {
        fail_msg("%s: %s\nnot %s", row->about, text, row->schema);
    }
    free(text);
    json_decref(schema);
}

#define STRING(...)                                                                                \
    {                                                                                              \
        { .path = "/a", .kinds = PARLEY_STRING, __VA_ARGS__ }                                      \
    }
#define UUID_HEAD "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-"

static const struct row rows_of_one_value[] = {
    {"a kind", {{.path = "/a", .kinds = PARLEY_BOOLEAN}}, "a", "{\"type\":\"boolean\"}"},
    {"null", {{.path = "/a", .kinds = PARLEY_NULL}}, "a", "{\"type\":\"null\"}"},
    {"a kind or null",
     {{.path = "/a", .kinds = PARLEY_OBJECT | PARLEY_NULL}},
     "a",
     "{\"type\":[\"object\",\"null\"]}"},
    {"several kinds",
     {{.path = "/a", .kinds = PARLEY_STRING | PARLEY_ARRAY | PARLEY_NULL}},
     "a",
     "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\"},{\"type\":\"null\"}]}"},
    {"a number is an integer too",
     {{.path = "/a", .kinds = PARLEY_NUMBER | PARLEY_INTEGER}},
     "a",
     "{\"type\":\"number\"}"},
    {"a least length", STRING(.constraint = PARLEY_MIN_LENGTH, .minimum = 3), "a",
     "{\"type\":\"string\",\"minLength\":3}"},
    {"a greatest length", STRING(.constraint = PARLEY_MAX_LENGTH, .maximum = 120), "a",
     "{\"type\":\"string\",\"maxLength\":120}"},
    {"one choice", STRING(.constraint = PARLEY_ONE_OF, .choices = LIST("x/1")), "a",
     "{\"type\":\"string\",\"const\":\"x/1\"}"},
    {"several choices", STRING(.constraint = PARLEY_ONE_OF, .choices = LIST("x", "y")), "a",
     "{\"type\":\"string\",\"enum\":[\"x\",\"y\"]}"},
    {"choices or null",
     {{.path = "/a",
       .kinds = PARLEY_STRING | PARLEY_NULL,
       .constraint = PARLEY_ONE_OF,
       .choices = LIST("x")}},
     "a",
     "{\"type\":[\"string\",\"null\"],\"enum\":[\"x\",null]}"},
    {"a time", STRING(.constraint = PARLEY_TIME), "a",
     "{\"type\":\"string\",\"format\":\"date-time\"}"},
    {"a time in UTC", STRING(.constraint = PARLEY_TIME_UTC), "a",
     "{\"type\":\"string\",\"format\":\"date-time\",\"pattern\":\"([Zz]|[+-]00:00)$\"}"},
    {"a UUID", STRING(.constraint = PARLEY_UUID), "a",
     "{\"type\":\"string\",\"pattern\":\"" UUID_HEAD
     "[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$\"}"},
    {"a UUID of version 4", STRING(.constraint = PARLEY_UUID4), "a",
     "{\"type\":\"string\",\"pattern\":\"" UUID_HEAD
     "4[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$\"}"},
    {"a token", STRING(.constraint = PARLEY_TOKEN, .words = "w", .maximum = 128), "a",
     "{\"type\":\"string\",\"pattern\":\"^[^\\\\x00-\\\\x20\\\\x7f-\\\\x9f.*>]+$\","
     "\"maxLength\":128}"},
    {"a pattern", STRING(.constraint = PARLEY_PATTERN, .pattern = "^[a-z]+$", .words = "w"), "a",
     "{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"}"},
    {"a pattern of a greatest length",
     STRING(.constraint = PARLEY_PATTERN, .pattern = "^x", .words = "w", .maximum = 9), "a",
     "{\"type\":\"string\",\"pattern\":\"^x\",\"maxLength\":9}"},
    {"a range",
     {{.path = "/a",
       .kinds = PARLEY_NUMBER,
       .constraint = PARLEY_RANGE,
       .minimum = 0.5,
       .maximum = 1}},
     "a",
     "{\"type\":\"number\",\"minimum\":0.5,\"maximum\":1}"},
    {"a least integer or null",
     {{.path = "/a",
       .kinds = PARLEY_INTEGER | PARLEY_NULL,
       .constraint = PARLEY_MINIMUM,
       .minimum = -1}},
     "a",
     "{\"type\":[\"integer\",\"null\"],\"minimum\":-1}"},
    {"a least count",
     {{.path = "/a", .kinds = PARLEY_ARRAY, .constraint = PARLEY_MIN_ITEMS, .minimum = 1}},
     "a",
     "{\"type\":\"array\",\"minItems\":1}"},
    {"a constraint speaks of one kind and lets others be",
     {{.path = "/a",
       .kinds = PARLEY_STRING | PARLEY_NUMBER,
       .constraint = PARLEY_MIN_LENGTH,
       .minimum = 1}},
     "a",
     "{\"anyOf\":[{\"type\":\"string\",\"minLength\":1},{\"type\":\"number\"}]}"},
    {"a constraint without a kind lets all other kinds be",
     {{.path = "/a", .constraint = PARLEY_MIN_LENGTH, .minimum = 1}},
     "a",
     "{\"anyOf\":[{\"type\":\"string\",\"minLength\":1},{\"type\":\"number\"},"
     "{\"type\":\"boolean\"},{\"type\":\"object\"},{\"type\":\"array\"},{\"type\":\"null\"}]}"},
    {"a constraint without a kind takes that of another row for all types",
     {{.path = "/a", .constraint = PARLEY_MIN_LENGTH, .minimum = 1},
      {.path = "/a", .kinds = PARLEY_STRING | PARLEY_NULL}},
     "a",
     "{\"allOf\":[{\"type\":[\"string\",\"null\"],\"minLength\":1},"
     "{\"type\":[\"string\",\"null\"]}]}"},
    {"two rows at one place both hold",
     {{.path = "/a", .kinds = PARLEY_STRING, .constraint = PARLEY_MIN_LENGTH, .minimum = 1},
      {.path = "/a", .kinds = PARLEY_STRING, .constraint = PARLEY_MAX_LENGTH, .maximum = 2}},
     "a",
     "{\"allOf\":[{\"type\":\"string\",\"minLength\":1},{\"type\":\"string\",\"maxLength\":2}]}"},
};

static const struct row rows_of_places[] = {
    {"a required member, whatever it is",
     {{.path = "/a", .is_required = true}},
     "",
     "{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[\"a\"]}"},
    {"what is within an object",
     {{.path = "/a", .kinds = PARLEY_OBJECT}, {.path = "/a/b", .is_required = true}},
     "a",
     "{\"type\":\"object\",\"properties\":{\"b\":{}},\"required\":[\"b\"]}"},
    {"what is within a value that may be anything is asked where it is an object",
     {{.path = "/a/b", .kinds = PARLEY_STRING}},
     "a",
     "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"number\"},{\"type\":\"boolean\"},"
     "{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\"}}},{\"type\":\"array\"},"
     "{\"type\":\"null\"}]}"},
    {"every item",
     {{.path = "/a", .kinds = PARLEY_ARRAY}, {.path = "/a/*", .kinds = PARLEY_NUMBER}},
     "a",
     "{\"type\":\"array\",\"items\":{\"type\":\"number\"}}"},
    {"every member",
     {{.path = "/a", .kinds = PARLEY_OBJECT}, {.path = "/a/*", .kinds = PARLEY_NUMBER}},
     "a",
     "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"number\"}}"},
    {"every item or member",
     {{.path = "/a", .kinds = PARLEY_ARRAY | PARLEY_OBJECT},
      {.path = "/a/*", .kinds = PARLEY_NUMBER}},
     "a",
     "{\"anyOf\":[{\"type\":\"object\",\"additionalProperties\":{\"type\":\"number\"}},"
     "{\"type\":\"array\",\"items\":{\"type\":\"number\"}}]}"},
    {"what is asked of every member is asked of a named one too",
     {{.path = "/a", .kinds = PARLEY_OBJECT},
      {.path = "/a/*", .kinds = PARLEY_NUMBER},
      {.path = "/a/b",
       .kinds = PARLEY_NUMBER,
       .constraint = PARLEY_RANGE,
       .minimum = 0,
       .maximum = 1}},
     "a",
     "{\"type\":\"object\",\"properties\":{\"b\":{\"allOf\":["
     "{\"type\":\"number\",\"minimum\":0,\"maximum\":1},{\"type\":\"number\"}]}},"
     "\"additionalProperties\":{\"type\":\"number\"}}"},
};

#define TYPE_IS(condition)                                                                         \
    "{\"type\":\"object\",\"required\":[\"head\"],\"properties\":{"                                \
    "\"head\":{\"type\":\"object\",\"required\":[\"type\"],\"properties\":{"                       \
    "\"type\":{\"type\":\"string\",\"enum\":[" condition "]}}}}}"
#define IF(condition) "\"if\":" TYPE_IS(condition)
#define A_IS(type) "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"" type "\"}}}"

static const struct row rows_of_types[] = {
    {"for one type",
     {{.path = "/a", .kinds = PARLEY_STRING, .for_types = ONE}},
     "",
     "{\"type\":\"object\",\"allOf\":[{" IF("\"one\"") ",\"then\":" A_IS("string") "}]}"},
    {"for all but one, the unknown ones too",
     {{.path = "/a", .kinds = PARLEY_STRING, .for_types = ~ONE}},
     "",
     "{\"type\":\"object\",\"allOf\":[{" IF("\"one\"") ",\"else\":" A_IS("string") "}]}"},
    {"for all that are known",
     {{.path = "/a", .kinds = PARLEY_STRING, .for_types = ONE | TWO}},
     "",
     "{\"type\":\"object\",\"allOf\":[{" IF("\"one\",\"two\"") ",\"then\":" A_IS("string") "}]}"},
    {"for the unknown ones",
     {{.path = "/a", .kinds = PARLEY_STRING, .for_types = PARLEY_TYPE_BIT(PARLEY_TYPE_OTHER)}},
     "",
     "{\"type\":\"object\",\"allOf\":[{" IF("\"one\",\"two\"") ",\"else\":" A_IS("string") "}]}"},
    {"for all there can be",
     {{.path = "/a", .kinds = PARLEY_STRING, .for_types = UINT32_MAX}},
     "",
     A_IS("string")},
    {"rows for the same types share a condition",
     {{.path = "/a", .kinds = PARLEY_ARRAY, .for_types = TWO},
      {.path = "/b", .kinds = PARLEY_STRING, .for_types = ONE},
      {.path = "/a/*", .kinds = PARLEY_NULL, .for_types = TWO}},
     "",
     "{\"type\":\"object\",\"allOf\":[{" IF(
         "\"two\"") ",\"then\":{\"type\":\"object\","
                    "\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"type\":\"null\"}}}}},"
                    "{" IF("\"one\"") ",\"then\":{\"type\":\"object\",\"properties\":{\"b\":{"
                                      "\"type\":\"string\"}}}}]}"},
    {"a condition knows what its object must be for every type",
     {{.path = "/a", .kinds = PARLEY_OBJECT},
      {.path = "/a/b", .kinds = PARLEY_STRING, .for_types = ONE}},
     "",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\"}},\"allOf\":[{" IF(
         "\"one\"") ",\"then\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\","
                    "\"properties\":{\"b\":{\"type\":\"string\"}}}}}}]}"},
};

/* Subschemas of the fields A and B. */
#define AT_A(schema) "{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":" schema "}}"
#define AT_B(schema)                                                                               \
    "{\"type\":\"object\",\"required\":[\"b\"],\"properties\":{\"b\":{\"type\":\"object\","        \
    "\"required\":[\"c\"],\"properties\":{\"c\":" schema "}}}}"
#define ACROSS(schema) "{\"type\":\"object\",\"allOf\":[{" schema "}]}"
#define WANTS(...) .message = "m", .wants = PARLEY_TESTS(__VA_ARGS__)
#define A_IS_TRUE                                                                                  \
    { .field = A, .asks = PARLEY_IS_TRUE }
#define TRUE_SCHEMA "{\"type\":\"boolean\",\"const\":true}"
#define THEN_A(...)                                                                                \
    {                                                                                              \
        { .path = "/a", WANTS({.field = A, __VA_ARGS__}) }                                         \
    }
#define THEN_A_IS(schema) ACROSS("\"if\":{},\"then\":" AT_A(schema))

static const struct row rows_over_members[] = {
    {"a value that is there", THEN_A(.asks = PARLEY_IS_THERE), "", THEN_A_IS("{}")},
    {"a value of a kind", THEN_A(.asks = PARLEY_IS_THERE, .kinds = PARLEY_OBJECT), "",
     THEN_A_IS("{\"type\":\"object\"}")},
    {"a value of one of two kinds",
     THEN_A(.asks = PARLEY_IS_THERE, .kinds = PARLEY_OBJECT | PARLEY_STRING), "",
     THEN_A_IS("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"object\"}]}")},
    {"a text", THEN_A(.asks = PARLEY_IS_TEXT, .text = "x"), "",
     THEN_A_IS("{\"type\":\"string\",\"const\":\"x\"}")},
    {"true", THEN_A(.asks = PARLEY_IS_TRUE), "", THEN_A_IS(TRUE_SCHEMA)},
    {"a number of a range", THEN_A(.asks = PARLEY_IS_WITHIN, .minimum = 0.5, .maximum = 1), "",
     THEN_A_IS("{\"type\":\"number\",\"minimum\":0.5,\"maximum\":1}")},
    {"an array with items", THEN_A(.asks = PARLEY_HAS_ITEMS), "",
     THEN_A_IS("{\"type\":\"array\",\"minItems\":1}")},
    {"a string of a greatest length", THEN_A(.asks = PARLEY_HAS_MAX_LENGTH, .maximum = 120), "",
     THEN_A_IS("{\"type\":\"string\",\"maxLength\":120}")},
    {"a string or an array that is not empty", THEN_A(.asks = PARLEY_IS_FILLED), "",
     THEN_A_IS("{\"anyOf\":[{\"type\":\"string\",\"minLength\":1},"
               "{\"type\":\"array\",\"minItems\":1}]}")},
    {"a member of a member",
     {{.path = "/a", WANTS({.field = B, .asks = PARLEY_IS_TRUE})}},
     "",
     ACROSS("\"if\":{},\"then\":" AT_B(TRUE_SCHEMA))},
    {"one of two",
     {{.path = "/a", WANTS(A_IS_TRUE, {.field = B, .asks = PARLEY_IS_THERE})}},
     "",
     ACROSS("\"if\":{},\"then\":{\"anyOf\":[" AT_A(TRUE_SCHEMA) "," AT_B("{}") "]}")},
    {"for one type",
     {{.path = "/a", .for_types = ONE, WANTS(A_IS_TRUE)}},
     "",
     ACROSS(IF("\"one\"") ",\"then\":" AT_A(TRUE_SCHEMA))},
    {"for all types but one, the unknown ones too",
     {{.path = "/a", .for_types = ~ONE, WANTS(A_IS_TRUE)}},
     "",
     ACROSS("\"if\":{\"not\":" TYPE_IS("\"one\"") "},\"then\":" AT_A(TRUE_SCHEMA))},
    {"where another test holds",
     {{.path = "/a",
       .when = PARLEY_TESTS({.field = B, .asks = PARLEY_IS_THERE}),
       WANTS(A_IS_TRUE)}},
     "",
     ACROSS("\"if\":" AT_B("{}") ",\"then\":" AT_A(TRUE_SCHEMA))},
    {"where two tests hold, for one type",
     {{.path = "/a",
       .for_types = ONE,
       .when = PARLEY_TESTS({.field = B, .asks = PARLEY_IS_THERE}, A_IS_TRUE),
       WANTS(A_IS_TRUE)}},
     "",
     ACROSS("\"if\":{\"allOf\":[" TYPE_IS("\"one\"") "," AT_B("{}") "," AT_A(
         TRUE_SCHEMA) "]},\"then\":" AT_A(TRUE_SCHEMA))},
    {"where a test holds, for all types but one",
     {{.path = "/a",
       .for_types = ~ONE,
       .when = PARLEY_TESTS({.field = B, .asks = PARLEY_IS_THERE}),
       WANTS(A_IS_TRUE)}},
     "",
     ACROSS("\"if\":{\"allOf\":[{\"not\":" TYPE_IS("\"one\"") "}," AT_B("{}") "]},\"then\":" AT_A(
         TRUE_SCHEMA))},
};

static const struct row rows_that_cannot[] = {
    {"a rule of code over several members",
     {{.path = "/a", .is_broken = never, .message = "m"}},
     "",
     "{\"type\":\"object\"}"},
    {"a rule that code inspects",
     {{.path = "/a", .kinds = PARLEY_STRING, .by_inspection = true}},
     "",
     "{\"type\":\"object\"}"},
    {"a rule that an option of the request asks for",
     {{.path = "/a", .is_asked = is_strict, WANTS(A_IS_TRUE)}},
     "",
     "{\"type\":\"object\"}"},
    {"numbers that rise",
     {{.path = "/a/*", .kinds = PARLEY_NUMBER, .constraint = PARLEY_INCREASING}},
     "",
     "{\"type\":\"object\"}"},
};

#define CHECK_ROWS(rows)                                                                           \
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows)[0]; i++) {                                  \
        check_row(&(rows)[i]);                                                                     \
    }

static void test_each_kind_and_constraint_has_its_keyword(void **state) {
    (void)state;
    CHECK_ROWS(rows_of_one_value);
}

static void test_places_become_properties_and_items(void **state) {
    (void)state;
    CHECK_ROWS(rows_of_places);
}

static void test_rows_for_some_types_stand_behind_a_condition(void **state) {
    (void)state;
    CHECK_ROWS(rows_of_types);
}

static void test_rows_of_tests_over_several_members_become_conditions(void **state) {
    (void)state;
    CHECK_ROWS(rows_over_members);
}

static void test_what_no_schema_can_say_is_left_out(void **state) {
    (void)state;
    CHECK_ROWS(rows_that_cannot);
}

static const struct parley_rule mixed[] = {
    {.id = "T-1",
     .summary = "s",
     .hint = "Do the one.",
     PARLEY_PLACES({.path = "/a", .kinds = PARLEY_STRING})},
    {.id = "T-2",
     .summary = "s",
     .hint = "Do the other.",
     PARLEY_PLACES({.path = "/b", .kinds = PARLEY_STRING, .hint = "Do it at b."},
                   {.path = "/b", .is_broken = never, .message = "m"})},
    {.id = "T-3",
     .summary = "s",
     .hint = "h",
     PARLEY_PLACES({.path = "/c", .kinds = PARLEY_STRING, .for_types = ONE})},
    {.id = "T-4",
     .severity = PARLEY_WARNING,
     .summary = "s",
     .hint = "h",
     PARLEY_PLACES({.path = "/d", .kinds = PARLEY_STRING})},
    {.id = "T-5",
     .summary = "what must hold",
     .hint = "h",
     PARLEY_PLACES({.path = "/a", WANTS(A_IS_TRUE)},
                   {.path = "/b", .is_asked = is_strict, WANTS(A_IS_TRUE)})},
    {.id = "T-6",
     .summary = "s",
     .hint = "h",
     PARLEY_PLACES({.path = "/b", .is_asked = is_strict, .is_broken = never, .message = "m"})},
};

static const char *text_at(const json_t *schema, const char *name, const char *keyword) {
    const json_t *properties = json_object_get(schema, "properties");
    return json_string_value(json_object_get(json_object_get(properties, name), keyword));
}

static void test_the_head_names_the_rules_that_are_left_out(void **state) {
    (void)state;
    json_t *schema = schema_of(mixed, 6, no_type);
    assert_string_equal(json_string_value(json_object_get(schema, "$schema")),
                        "https://json-schema.org/draft/2020-12/schema");
    assert_string_equal(json_string_value(json_object_get(schema, "$id")), "urn:parley:schema:t");
    assert_string_equal(json_string_value(json_object_get(schema, "title")), "Test (T/1)");
    const char *comment = json_string_value(json_object_get(schema, "$comment"));
    /* T-3 is for a type that code tells. */
    assert_string_equal(
        comment,
        "Generated from the rules that parley checks. Checked by parley only: GW-001, "
        "GW-002, GW-003, GW-004, GW-005, GW-102, T-2 (in part: /b), T-3, and what is encoded in a "
        "string, such as compressed data. Checked only if a request option asks for it: "
        "T-5 (in part: /b), T-6. Warnings, which leave a message valid: T-4.");
    assert_int_equal(json_array_size(json_object_get(schema, "allOf")), 1);
    assert_null(text_at(schema, "d", "type"));
    json_decref(schema);
}

static void test_a_subschema_bears_its_rule_and_what_to_do(void **state) {
    (void)state;
    json_t *schema = schema_of(mixed, 6, NULL);
    assert_string_equal(text_at(schema, "a", "title"), "T-1: a string");
    assert_string_equal(text_at(schema, "a", "description"), "Do the one.");
    assert_string_equal(text_at(schema, "b", "title"), "T-2: a string");
    assert_string_equal(text_at(schema, "b", "description"), "Do it at b.");
    json_decref(schema);
}

static void test_a_condition_over_members_bears_its_rule_and_what_to_do(void **state) {
    (void)state;
    json_t *schema = schema_of(mixed, 6, NULL);
    const json_t *last = json_array_get(json_object_get(schema, "allOf"), 1);
    assert_string_equal(json_string_value(json_object_get(last, "title")), "T-5: what must hold");
    assert_string_equal(json_string_value(json_object_get(last, "description")), "h");
    json_decref(schema);
}

static void test_it_is_appended_to_what_is_there(void **state) {
    (void)state;
    struct parley_buffer out;
    parley_buffer_init(&out);
    parley_buffer_text(&out, "before ");
    assert_int_equal(parley_protocol_write_json_schema(parley_protocols[0], &out), PARLEY_OK);
    assert_memory_equal(out.data, "before {\n  \"$schema\": ", 21);
    assert_memory_equal(out.data + out.length - 3, "\n}\n", 3);
    parley_buffer_finish(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_and_constraint_has_its_keyword),
        cmocka_unit_test(test_places_become_properties_and_items),
        cmocka_unit_test(test_rows_for_some_types_stand_behind_a_condition),
        cmocka_unit_test(test_rows_of_tests_over_several_members_become_conditions),
        cmocka_unit_test(test_what_no_schema_can_say_is_left_out),
        cmocka_unit_test(test_the_head_names_the_rules_that_are_left_out),
        cmocka_unit_test(test_a_subschema_bears_its_rule_and_what_to_do),
        cmocka_unit_test(test_a_condition_over_members_bears_its_rule_and_what_to_do),
        cmocka_unit_test(test_it_is_appended_to_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
