/* SPDX-License-Identifier: Apache-2.0 */

/* Of all conformance cases, in every encoding, and of deltas in quotes and lists: a safe fix makes
 * its violation go away, and says the same as what it replaces; all fixes together come to an end
 * in three rounds; and what an agent reads of it is short. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>

#include <jansson.h>

#include <parley/message.h>

#include "brenner/body.h"
#include "lib/cases.h"
#include "lib/json_patch.h"
#include "lib/wrapped_deltas.h"

/* Integers of more than 64 bits, too. */
#define ANY_NUMBER (JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL)

static const char *const names[] = {"vlp", "roundtable", "supervisor", "brenner"};

struct bench {
    struct parley_schema *schema;
    struct parley_message message;
    size_t fixes;    /* safe ones, applied alone */
    size_t *lengths; /* of the violations of each message that has any */
    size_t count;
};

static json_t *violations_of(struct bench *bench) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    parley_findings_write(&bench->message.findings, &out);
    parley_buffer_char(&out, '\0');
    const char *omitted = strstr(out.data, "],\"violations_omitted\"");
    const size_t length = omitted != NULL ? (size_t)(omitted + 1 - out.data) : out.length - 1;
    json_t *violations = json_loadb(out.data, length, JSON_ALLOW_NUL, NULL);
    assert_non_null(violations);
    parley_buffer_finish(&out);
    return violations;
}

static json_t *check(struct bench *bench, struct parley_bytes text,
                     const struct parley_codec *codec, const struct parley_options *options) {
    assert_int_equal(
        parley_message_check(&bench->message, text, codec, options, (struct parley_position){1, 1}),
        PARLEY_OK);
    return violations_of(bench);
}

static const json_t *safe_fix_of(const json_t *violation) {
    const json_t *fix = json_object_get(violation, "fix");
    return json_is_true(json_object_get(fix, "safe")) ? fix : NULL;
}

static bool has_same(const json_t *violations, const json_t *one) {
    size_t i;
    json_t *other;
    json_array_foreach(violations, i, other) {
        if (json_equal(json_object_get(one, "rule"), json_object_get(other, "rule")) &&
            json_equal(json_object_get(one, "path"), json_object_get(other, "path")) &&
            json_equal(json_object_get(one, "body_at"), json_object_get(other, "body_at")) &&
            json_equal(json_object_get(one, "message"), json_object_get(other, "message"))) {
            return true;
        }
    }
    return false;
}

/* ---- what a fix leaves as it is ---- */

static bool is_same_but_style(const char *a, const char *b) {
    for (;; a++, b++) {
        while (*a != '\0' && !isalnum((unsigned char)*a)) {
            a++;
        }
        while (*b != '\0' && !isalnum((unsigned char)*b)) {
            b++;
        }
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) {
            return false;
        }
        if (*a == '\0') {
            return true;
        }
    }
}

/* A time that gets another form had an offset before. */
static bool has_offset(const char *time) {
    const char *after = strlen(time) > 10 ? time + 10 : "";
    return strpbrk(after, "zZ+-") != NULL || strstr(after, "UTC") != NULL ||
           strstr(after, "GMT") != NULL;
}

/* A number stays that number, a text the same but for its style; a constant has no other choice,
 * and a time is the same in another form. */
static bool says_the_same(const json_t *before, const json_t *after, const char *path) {
    const char *text = json_string_value(before), *made = json_string_value(after);
    if (strcmp(path, "/protocol") == 0) {
        return strcmp(made, "VLP/1.1") == 0;
    }
    if (text != NULL && json_is_number(after)) {
        return strtod(text, NULL) == json_number_value(after);
    }
    if (text != NULL && json_is_boolean(after)) {
        return tolower((unsigned char)text[strspn(text, " \t")]) ==
               (json_is_true(after) ? 't' : 'f');
    }
    if (json_is_number(before) && made != NULL) {
        return strtod(made, NULL) == json_number_value(before);
    }
    if (strcmp(path, "/timestamp") == 0) {
        return text != NULL && made != NULL && has_offset(text);
    }
    const char *urn = "urn:uuid:";
    text = text != NULL && strncmp(text, urn, strlen(urn)) == 0 ? text + strlen(urn) : text;
    return text != NULL && made != NULL && is_same_but_style(text, made);
}

static void assert_says_the_same(const char *name, json_t *tree, const json_t *fix) {
    const json_t *step = json_array_get(json_object_get(fix, "patch"), 0);
    const char *path = json_string_value(json_object_get(step, "path"));
    const json_t *before = json_patch_at(tree, path), *after = json_object_get(step, "value");
    if (strcmp(json_string_value(json_object_get(step, "op")), "replace") == 0 &&
        json_object_get(fix, "edit") == NULL && !says_the_same(before, after, path)) {
        char *text = json_dumps(step, 0);
        fail_msg("%s: %s changes what it says", name, text);
    }
}

/* ---- one fix ---- */

static void assert_gone(const struct test_case *test, json_t *after, const json_t *violation) {
    if (has_same(after, violation)) {
        fail_msg("%s: its fix leaves %s", test->name,
                 json_string_value(json_object_get(violation, "rule")));
    }
    json_decref(after);
}

/* In Markdown by the edit of its text, and in every encoding by the patch of its JSON form. */
static void try_fix(struct bench *bench, const struct test_case *test, struct parley_bytes json,
                    const json_t *violation) {
    const json_t *fix = safe_fix_of(violation);
    if (fix == NULL) {
        return;
    }
    bench->fixes++;
    const json_t *edit = json_object_get(fix, "edit");
    if (edit != NULL && test->codec != &parley_codec_json) {
        char *text = json_patch_edit(test->body, edit);
        assert_gone(test, check(bench, parley_bytes_of(text), test->codec, &test->options),
                    violation);
        free(text);
    }
    json_t *tree = json_loadb(json.data, json.length, ANY_NUMBER, NULL);
    assert_non_null(tree);
    assert_says_the_same(test->name, tree, fix);
    json_patch_apply(tree, json_object_get(fix, "patch"));
    char *text = json_dumps(tree, 0);
    json_t *after = check(bench, parley_bytes_of(text), &parley_codec_json, &test->options);
    assert_gone(test, after, violation);
    free(text);
    json_decref(tree);
}

/* The message as JSON.  Owns: returns a copy; NULL: it cannot be read. */
static char *json_form(struct bench *bench, const struct test_case *test, size_t *out_length) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    if (!bench->message.is_decoded || bench->message.is_escalated) {
        return NULL;
    }
    if (test->codec == &parley_codec_json) {
        parley_buffer_append(&out, test->body);
    } else {
        assert_int_equal(bench->message.protocol->encode(&bench->message, &out), PARLEY_OK);
    }
    *out_length = out.length;
    return out.data;
}

static void try_fixes(struct bench *bench, const struct test_case *test) {
    size_t i, length = 0;
    json_t *violation;
    json_t *violations = check(bench, test->body, test->codec, &test->options);
    char *json = json_array_size(violations) > 0 ? json_form(bench, test, &length) : NULL;
    if (json != NULL) {
        json_array_foreach(violations, i, violation) {
            try_fix(bench, test, (struct parley_bytes){json, length}, violation);
        }
    }
    free(json);
    json_decref(violations);
}

static void for_all_cases(struct bench *bench,
                          void (*each)(struct bench *bench, const struct test_case *test)) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct test_cases cases;
        bench->schema = cases_read_of(&cases, names[i]);
        parley_message_init(&bench->message, bench->schema);
        for (size_t j = 0; j < cases.count; j++) {
            each(bench, &cases.items[j]);
        }
        parley_message_finish(&bench->message);
        parley_schema_destroy(bench->schema);
        cases_finish(&cases);
    }
}

static void for_all_wrapped_deltas(struct bench *bench,
                                   void (*each)(struct bench *bench,
                                                const struct wrapped_delta *delta)) {
    struct wrapped_deltas deltas;
    wrapped_deltas_make(&deltas);
    assert_true(deltas.count > 0);
    assert_int_equal(parley_schema_create(deltas.items[0].test.protocol, &bench->schema),
                     PARLEY_OK);
    parley_message_init(&bench->message, bench->schema);
    for (size_t i = 0; i < deltas.count; i++) {
        each(bench, &deltas.items[i]);
    }
    parley_message_finish(&bench->message);
    parley_schema_destroy(bench->schema);
    wrapped_deltas_finish(&deltas);
}

static void test_every_safe_fix_removes_its_violation_and_says_the_same(void **state) {
    (void)state;
    struct bench bench = {0};
    for_all_cases(&bench, try_fixes);
    print_message("%zu safe fixes\n", bench.fixes);
    assert_true(bench.fixes > 150);
}

/* ---- all of them ---- */

static size_t offset_of(const json_t *edit) {
    return (size_t)json_number_value(json_object_get(edit, "offset"));
}

/* The edit that is last in the text, of those that end before `end`; NULL: none. */
static const json_t *last_edit(const json_t *violations, size_t end, const char **out_path) {
    size_t i;
    json_t *violation;
    const json_t *last = NULL;
    json_array_foreach(violations, i, violation) {
        const json_t *edit = json_object_get(safe_fix_of(violation), "edit");
        const size_t removed = (size_t)json_number_value(json_object_get(edit, "delete"));
        if (edit != NULL && offset_of(edit) + removed <= end &&
            (last == NULL || offset_of(edit) > offset_of(last))) {
            last = edit;
            *out_path = json_string_value(json_object_get(violation, "path"));
        }
    }
    return last;
}

/* As a client does who has the verdict alone.  Returns: whether there was any. */
static bool apply_all(json_t *tree, const json_t *violations) {
    size_t i, end = SIZE_MAX;
    json_t *violation;
    const char *path;
    bool is_any = false;
    for (const json_t *edit; end > 0 && (edit = last_edit(violations, end, &path)) != NULL;
         end = offset_of(edit)) {
        json_patch_edit_member(tree, path, edit);
        is_any = true;
    }
    json_array_foreach(violations, i, violation) {
        const json_t *fix = safe_fix_of(violation);
        if (fix != NULL && json_object_get(fix, "edit") == NULL) {
            json_patch_apply(tree, json_object_get(fix, "patch"));
            is_any = true;
        }
    }
    return is_any;
}

static void fix_in_rounds(struct bench *bench, const struct test_case *test) {
    enum { ROUNDS = 3 };
    size_t length = 0;
    json_decref(check(bench, test->body, test->codec, &test->options));
    char *json = bench->message.findings.count > 0 ? json_form(bench, test, &length) : NULL;
    json_t *tree = json != NULL ? json_loadb(json, length, ANY_NUMBER, NULL) : NULL;
    for (size_t round = 0; tree != NULL; round++) {
        char *text = json_dumps(tree, 0);
        json_t *violations =
            check(bench, parley_bytes_of(text), &parley_codec_json, &test->options);
        const bool is_over = !apply_all(tree, violations);
        json_decref(violations);
        free(text);
        if (is_over) {
            break;
        }
        if (round == ROUNDS) {
            fail_msg("%s has fixes after %d rounds", test->name, ROUNDS);
        }
    }
    json_decref(tree);
    free(json);
}

static void test_all_fixes_come_to_an_end_in_three_rounds(void **state) {
    (void)state;
    struct bench bench = {0};
    for_all_cases(&bench, fix_in_rounds);
}

/* ---- quotes and lists ---- */

/* Each violation of a wrapped delta has a safe fix. */
static void try_wrapped(struct bench *bench, const struct wrapped_delta *delta) {
    const struct test_case *test = &delta->test;
    json_t *violations = check(bench, test->body, test->codec, &test->options);
    const size_t before = bench->fixes, count = json_array_size(violations);
    json_decref(violations);
    try_fixes(bench, test);
    if (count == 0 || bench->fixes - before != count) {
        fail_msg("%zu of %zu violations have a safe fix:\n%.*s", bench->fixes - before, count,
                 (int)test->body.length, test->body.data);
    }
    fix_in_rounds(bench, test);
}

static void test_faults_in_quotes_and_lists_have_safe_fixes(void **state) {
    (void)state;
    struct bench bench = {0};
    for_all_wrapped_deltas(&bench, try_wrapped);
    print_message("%zu safe fixes\n", bench.fixes);
}

/* The deltas of a body, as an array. */
static json_t *deltas_of(struct parley_bytes markdown) {
    json_t *deltas = json_array();
    struct brenner_body body;
    assert_int_equal(brenner_body_read_deltas(&body, markdown), PARLEY_OK);
    for (const struct brenner_block *at = body.deltas; at != NULL; at = at->next) {
        json_array_append_new(deltas, json_loadb(at->text.data, at->text.length, 0, NULL));
    }
    brenner_body_finish(&body);
    return deltas;
}

/* The body of a message in Markdown or JSON.  Owns: returns a copy. */
static char *body_of(const struct test_case *test, struct parley_bytes text, size_t *out_length) {
    if (test->codec != &parley_codec_json) {
        const char *end = memmem(text.data + 3, text.length - 3, "---\n", 4);
        *out_length = text.length - (size_t)(end + 4 - text.data);
        return strndup(end + 4, *out_length);
    }
    json_t *tree = json_loadb(text.data, text.length, 0, NULL);
    const json_t *body = json_object_get(tree, "body_md");
    *out_length = json_string_length(body);
    char *copy = strndup(json_string_value(body), *out_length);
    json_decref(tree);
    return copy;
}

static void fix_wrapped(struct bench *bench, const struct wrapped_delta *delta) {
    struct parley_options options = delta->test.options;
    options.fix = PARLEY_FIX_SAFELY;
    json_decref(check(bench, delta->test.body, delta->test.codec, &options));
    const struct parley_bytes fixed = parley_message_fixed(&bench->message);
    size_t length;
    char *body = body_of(&delta->test, fixed, &length);
    json_t *says = deltas_of((struct parley_bytes){body, length});
    json_t *wanted = json_loads(delta->says, 0, NULL);
    assert_non_null(wanted);
    if (!parley_message_is_valid(&bench->message) || !json_equal(says, wanted)) {
        fail_msg("%.*s\nbecomes\n%.*s", (int)delta->test.body.length, delta->test.body.data,
                 (int)fixed.length, fixed.data);
    }
    json_decref(says);
    json_decref(wanted);
    free(body);
}

static void test_deltas_in_quotes_and_lists_say_the_same_once_they_are_fixed(void **state) {
    (void)state;
    struct bench bench = {0};
    for_all_wrapped_deltas(&bench, fix_wrapped);
}

/* ---- how much there is to read ---- */

static void note_length(struct bench *bench, const struct test_case *test) {
    struct parley_buffer out;
    json_decref(check(bench, test->body, test->codec, &test->options));
    if (bench->message.findings.count == 0) {
        return;
    }
    parley_buffer_init(&out);
    parley_findings_write(&bench->message.findings, &out);
    bench->lengths = realloc(bench->lengths, (bench->count + 1) * sizeof *bench->lengths);
    assert_non_null(bench->lengths);
    bench->lengths[bench->count++] = out.length;
    parley_buffer_finish(&out);
}

static int by_size(const void *left, const void *right) {
    const size_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* A token is about four bytes of English, and fewer of JSON: bytes / 3 is more than it has. */
static void test_the_violations_of_a_message_are_short(void **state) {
    enum { TOKENS_MAX = 200, BYTES_A_TOKEN = 3 };
    (void)state;
    struct bench bench = {0};
    for_all_cases(&bench, note_length);
    qsort(bench.lengths, bench.count, sizeof *bench.lengths, by_size);
    const size_t median = bench.lengths[bench.count / 2];
    print_message("%zu messages, %zu bytes at the median\n", bench.count, median);
    assert_true(median <= (size_t)TOKENS_MAX * BYTES_A_TOKEN);
    free(bench.lengths);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_safe_fix_removes_its_violation_and_says_the_same),
        cmocka_unit_test(test_all_fixes_come_to_an_end_in_three_rounds),
        cmocka_unit_test(test_faults_in_quotes_and_lists_have_safe_fixes),
        cmocka_unit_test(test_deltas_in_quotes_and_lists_say_the_same_once_they_are_fixed),
        cmocka_unit_test(test_the_violations_of_a_message_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
