/* SPDX-License-Identifier: Apache-2.0 */

/* JSON objects in text that is not JSON, held against jansson, which is asked anew at every brace.
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <parley/buffer.h>

#include "brenner/object_search.h"
#include "lib/random.h"
#include "lib/rounds.h"

static const char *const names[] = {"operation", "section", NULL};

static void append_place(void *context, size_t at) {
    parley_buffer_format(context, "%zu ", at);
}

static void search(struct parley_bytes text, struct parley_buffer *out) {
    char *copy = malloc(text.length + 1); /* so that a read past the end is seen */
    assert_non_null(copy);
    memcpy(copy, text.data, text.length);
    parley_buffer_clear(out);
    assert_true(object_search((struct parley_bytes){copy, text.length}, names, append_place, out));
    free(copy);
    parley_buffer_char(out, '\0');
    assert_false(out->has_failed);
}

#define OBJECT "{\"operation\":1,\"section\":2}"

static void test_objects_are_found_where_they_begin(void **state) {
    (void)state;
    static const struct {
        const char *text, *places;
    } rows[] = {
        {"", ""},
        {"no brace", ""},
        {OBJECT, "0 "},
        {"a {b} " OBJECT " c" OBJECT, "6 35 "},
        {OBJECT OBJECT, "0 27 "},
        {"{" OBJECT "}", "1 "},
        {"[" OBJECT "]", "1 "},
        {"{\"a\":" OBJECT "}", "5 "},
        {"{\"a\":" OBJECT ",\"b\":" OBJECT, "5 37 "},
        {"{\"operation\":" OBJECT ",\"section\":" OBJECT "}", "0 "},
        {"{\"operation\":" OBJECT ",\"section\":" OBJECT ",}", "13 51 "},
        {"{\"section\":null,\"operation\":null}", "0 "},
        {"{\"operation\":1,\"operation\":2}", ""},
        {"{\"operation\":1,\"a\":{\"section\":2}}", ""},
        {"{\"operation\":1,\"a\":[\"section\",2]}", ""},
        {"{\"operation\":1}{\"section\":2}", ""},
        {"{ \"operation\" : [1, {\"a\": [ ] }] ,\r\n\t\"section\" : { } }", "0 "},
        {"{\"operation\":tru,\"section\":2}", ""},
        {"{\"operation\":1e400,\"section\":2}", ""},
        {"{\"operation\":\"\\ud800\",\"section\":2}", ""},
        {"{\"operation\":\"\n\",\"section\":2}", ""},
        {"{\"\\u006Fperation\":\"\\\"}\",\"section\":2}", "0 "},
        /* A brace inside what another reading takes for a string. */
        {"{\"a\":\"" OBJECT, "6 "},
        {"\"{\" " OBJECT " \"", "4 "},
        {"{\"x\":\"{\"y\":" OBJECT "}", "11 "},
        {"{\"operation\":\"{\",\"section\":\"}\"}", "0 "},
        {"{\"operation\":1,\"section\":2,\"x{\":\":1,\",\":1}\":0}", "0 "},
        {"{\"a\":\"\\{\"operation\":1,\"section\":2}", "7 "},
        {"\\" OBJECT "\\", "1 "},
    };
    struct parley_buffer got;
    parley_buffer_init(&got);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        search(parley_bytes_of(rows[i].text), &got);
        if (strcmp(got.data, rows[i].places) != 0) {
            fail_msg("%s: %s, not %s", rows[i].text, got.data, rows[i].places);
        }
    }
    parley_buffer_finish(&got);
}

/* ---- another way to look ---- */

static bool has_names(const json_t *object) {
    return json_object_get(object, names[0]) != NULL && json_object_get(object, names[1]) != NULL;
}

static void search_anew_at_each_brace(struct parley_bytes text, struct parley_buffer *out) {
    parley_buffer_clear(out);
    for (size_t at = 0; at < text.length; at++) {
        json_error_t error;
        const size_t flags = JSON_DISABLE_EOF_CHECK | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL;
        json_t *object = text.data[at] == '{'
                             ? json_loadb(text.data + at, text.length - at, flags, &error)
                             : NULL;
        if (object != NULL && has_names(object)) {
            parley_buffer_format(out, "%zu ", at);
            at += (size_t)error.position - 1;
        }
        json_decref(object);
    }
    parley_buffer_char(out, '\0');
}

static void write_text(struct random_source *source, struct parley_buffer *out) {
    static const char *const parts[] = {
        "{",
        "{",
        "}",
        "}",
        "[",
        "]",
        "\"",
        "\"",
        ",",
        ":",
        "\\",
        " ",
        "\n",
        "1",
        "-2e3",
        "true",
        "nul",
        "\"a\":",
        "\"a\"",
        "\"operation\":1",
        OBJECT,
        "\"section\":2",
        "\"operation\"",
        "\"section\"",
        "operation",
        "section",
        "\\\"",
        "\\u006f",
        "\\u00",
        "{\"x\":",
        "\"{\"",
        "\"}\"",
        ",\"b\":",
        "{\"operation\":1,",
        "\"section\":2}",
    };
    parley_buffer_clear(out);
    for (size_t left = 1 + random_below(source, 24); left > 0; left--) {
        parley_buffer_text(out, parts[random_below(source, sizeof parts / sizeof parts[0])]);
    }
}

static void test_it_finds_what_a_reading_from_each_brace_finds(void **state) {
    (void)state;
    const size_t count = test_rounds(20000);
    struct random_source source = {141};
    struct parley_buffer text, got, wanted;
    size_t found = 0;
    parley_buffer_init(&text);
    parley_buffer_init(&got);
    parley_buffer_init(&wanted);
    for (size_t i = 0; i < count; i++) {
        write_text(&source, &text);
        search(parley_buffer_bytes(&text), &got);
        search_anew_at_each_brace(parley_buffer_bytes(&text), &wanted);
        if (strcmp(got.data, wanted.data) != 0) {
            fail_msg("%.*s: %s, not %s", (int)text.length, text.data, got.data, wanted.data);
        }
        found += got.length > 1;
    }
    assert_in_range(found, count / 20, count);
    parley_buffer_finish(&text);
    parley_buffer_finish(&got);
    parley_buffer_finish(&wanted);
}

/* ---- however deep ---- */

/* (validation A2) Read anew at each brace, these would take hours. */
static void test_an_object_is_found_however_deep_the_braces_before_it(void **state) {
    (void)state;
    enum { DEPTH = 1000000 };
    static const char *const units[] = {"{\"d\":", "{\"d\":[",   "{",
                                        "{\"",     "{\"d\":\"{", "{\"d\":{}"};
    struct parley_buffer text, got;
    parley_buffer_init(&text);
    parley_buffer_init(&got);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        char wanted[32];
        parley_buffer_clear(&text);
        for (size_t k = 0; k < DEPTH; k++) {
            parley_buffer_text(&text, units[i]);
        }
        parley_buffer_text(&text, "\n\n");
        snprintf(wanted, sizeof wanted, "%zu ", text.length);
        parley_buffer_text(&text, OBJECT);
        search(parley_buffer_bytes(&text), &got);
        assert_string_equal(got.data, wanted);
    }
    parley_buffer_finish(&text);
    parley_buffer_finish(&got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_are_found_where_they_begin),
        cmocka_unit_test(test_it_finds_what_a_reading_from_each_brace_finds),
        cmocka_unit_test(test_an_object_is_found_however_deep_the_braces_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
