/* SPDX-License-Identifier: Apache-2.0 */

/* Sections and delta blocks of bodies, and their places. That the structure is cmark's is compared
 * with the program `cmark` by tests/differential/brenner_structure. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "brenner/body.h"
#include "brenner/markup.h"
#include "lib/fault_heap.h"

/* Each section as "level|title|line:column|text|" and "empty" or "", each delta as
 * "delta|line:column|text|". */
static void write_body(struct parley_bytes markdown, struct parley_buffer *out) {
    struct brenner_body body;
    parley_buffer_clear(out);
    assert_int_equal(brenner_body_read(&body, markdown), PARLEY_OK);
    for (const struct brenner_section *at = body.sections; at != NULL; at = at->next) {
        parley_buffer_format(out, "%u|%.*s|%zu:%zu|%.*s|%s\n", at->level, (int)at->title.length,
                             at->title.data, at->at.line, at->at.column, (int)at->text.length,
                             at->text.data, at->is_empty ? "empty" : "");
    }
    for (const struct brenner_block *at = body.deltas; at != NULL; at = at->next) {
        parley_buffer_format(out, "delta|%zu:%zu|%.*s|\n", at->at.line, at->at.column,
                             (int)at->text.length, at->text.data);
    }
    parley_buffer_char(out, '\0');
    brenner_body_finish(&body);
}

struct structure {
    const char *markdown, *wanted;
};

static void assert_structures(const struct structure *structures, size_t count) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    for (size_t i = 0; i < count; i++) {
        write_body(parley_bytes_of(structures[i].markdown), &out);
        if (strcmp(out.data, structures[i].wanted) != 0) {
            fail_msg("%s\nis\n%snot\n%s", structures[i].markdown, out.data, structures[i].wanted);
        }
    }
    parley_buffer_finish(&out);
}
#define ASSERT_STRUCTURES(structures)                                                              \
    assert_structures(structures, sizeof(structures) / sizeof(structures)[0])

static void test_headings_of_level_1_and_2_at_the_top_are_sections(void **state) {
    (void)state;
    static const struct structure structures[] = {
        {"", ""},
        {"\n\n \n", ""},
        {"text\n", ""},
        {"# A", "1|A|1:1||empty\n"},
        {"## A\n", "2|A|1:1||empty\n"},
        {"### A\n#### B\n###### C\n", ""},
        {"#\n##\n", "1||1:1||\n2||2:1||empty\n"},
        {"#A\n##B\n", ""},
        {"   ## A\n    ## B\n", "2|A|1:4|## B|\n"},
        {"##\tA\t##\t\n", "2|A|1:1||empty\n"},
        {"## A ## b ##\n", "2|A ## b|1:1||empty\n"},
        {"## A#\n\\## B\n", "2|A#|1:1|## B|\n"},
        {"A\n===\nB\n---\n", "1|A|1:1|B|\n2|B|3:1||empty\n"},
        {"A\nB  \nC\n---\nd", "2|A B\nC|1:1|d|\n"},
        {"- A\n  ---\n", ""},
        {"> # A\n\n- # B\n\n1. # C\n", ""},
        {"> a\n# B\n", "1|B|2:1||empty\n"},
        {"```\n# A\n```\n", ""},
        {"~~~\n# A\n", ""},
        {"<!--\n# A\n-->\n", ""},
        {"<div>\n# A\n\n# B\n", "1|B|4:1||empty\n"},
        {"text\n# A\n", "1|A|2:1||empty\n"},
        {"***\n---\n", ""},
    };
    ASSERT_STRUCTURES(structures);
}

static void test_titles_and_texts_are_without_markup(void **state) {
    (void)state;
    static const struct structure structures[] = {
        {"## *a* __b__ `c  d` [e](f) ![g](h) <i>j</i>\n", "2|a b c  d e g j|1:1||empty\n"},
        {"## &amp;&#65;\\*&nosuch;\n", "2|&A*&nosuch;|1:1||empty\n"},
        {"## A\n*b*\nc  \nd\\\ne\n\nf\n", "2|A|1:1|b c\nd\ne\nf|\n"},
        {"## A\n- b\n- c\n\n> d\n\n1. e\n", "2|A|1:1|b\nc\nd\ne|\n"},
        {"## A\n```x\nb\n\nc\n```\n    d\n", "2|A|1:1|b\n\nc\nd|\n"},
        {"## A\n<p>b</p>\n\nc <b>d</b>\n", "2|A|1:1|c d|\n"},
        {"## A\n<http://b.example>\n", "2|A|1:1|http://b.example|\n"},
        {"## A\n### B\nc\n", "2|A|1:1|B\nc|\n"},
        {"## A\n***\n", "2|A|1:1||\n"},
        {"## A\n[a]: /b\n", "2|A|1:1||empty\n"},
        {"## \xC3\x84\xF0\x9F\x90\x9D\n\xC3\xA9\n", "2|\xC3\x84\xF0\x9F\x90\x9D|1:1|\xC3\xA9|\n"},
    };
    ASSERT_STRUCTURES(structures);
}

static void test_a_section_runs_to_the_next_heading_of_its_level_or_above(void **state) {
    (void)state;
    static const struct structure structures[] = {
        {"a\n# B\nc\n## D\ne\n## F\n# G\nh\n",
         "1|B|2:1|c\nD\ne\nF|\n2|D|4:1|e|\n2|F|6:1||empty\n1|G|7:1|h|\n"},
        {"## A\n# B\n", "2|A|1:1||empty\n1|B|2:1||empty\n"},
        {"# A\n## B\n", "1|A|1:1|B|\n2|B|2:1||empty\n"},
    };
    ASSERT_STRUCTURES(structures);
}

static void test_lines_end_as_cmark_ends_them(void **state) {
    (void)state;
    static const struct structure structures[] = {
        {"a\r\n# B\r\nc\r\n", "1|B|2:1|c|\n"},           {"a\r# B\rc\r", "1|B|2:1|c|\n"},
        {"\r\n\n\r\r\n# B", "1|B|5:1||empty\n"},         {"\xEF\xBB\xBF# B\n", "1|B|1:1||empty\n"},
        {"a\xE2\x80\xA8# b\n# C\n", "1|C|2:1||empty\n"},
    };
    ASSERT_STRUCTURES(structures);
    struct parley_buffer out;
    parley_buffer_init(&out);
    write_body(PARLEY_BYTES("a\0\n# \0B\n"), &out);
    assert_string_equal(out.data, "1|\xEF\xBF\xBD"
                                  "B|2:1||empty\n");
    parley_buffer_finish(&out);
}

static void test_delta_blocks_count_wherever_they_stand(void **state) {
    (void)state;
    static const struct structure structures[] = {
        {"```delta\na\n```\n", "delta|1:1|a\n|\n"},
        {"~~~~ delta x\na\n~~~\n~~~~\n", "delta|1:1|a\n~~~\n|\n"},
        {"   ```delta\n   a\n  b\n```\n", "delta|1:4|a\nb\n|\n"},
        {"```delta", "delta|1:1||\n"},
        {"```delta\na", "delta|1:1|a\n|\n"},
        {"> ```delta\n> a\nb\n", "delta|1:3|a\n|\n"},
        {"- x\n\n  ```delta\n  a\n  ```\n", "delta|3:3|a\n|\n"},
        {"1. > ```delta\n   > a\n", "delta|1:6|a\n|\n"},
        {"```delta\n```\n```delta\n```\n", "delta|1:1||\ndelta|3:1||\n"},
        {"```delta\r\na\r\nb\r```\n", "delta|1:1|a\nb\n|\n"},
        {"```Delta\n```\n```deltas\n```\n```x delta\n```\n``` \n```\n", ""},
        {"    ```delta\n    ```\n", ""},
        {"````\n```delta\n```\n````\n", ""},
        {"``delta`` and ```delta ``` x\n", ""},
        {"<pre>\n```delta\n```\n</pre>\n", ""},
    };
    ASSERT_STRUCTURES(structures);
}

/* The place of the letter X in the first delta block. */
static void test_places_in_a_delta_block_are_those_of_the_body(void **state) {
    (void)state;
    static const struct {
        const char *markdown;
        size_t line, column;
    } places[] = {
        {"```delta\nX\n```\n", 2, 1},
        {"\n\n```delta\n\n  aX\n```\n", 5, 4},
        {"> ```delta\n> \xC3\xA9X\n", 2, 4},
        {">   ```delta\n>     X\n", 2, 7},
        {"- - ```delta\n\n\n    X", 4, 5},
        {"1.\t```delta\n\t X\n", 2, 3},
        {"-   ```delta\n\t a X\n", 2, 5},
        {"```delta\r\na\r\rX\r\n```", 4, 1},
        {"a\n\n```delta\n\xF0\x9F\x90\x9D X", 4, 3},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct brenner_body body;
        assert_int_equal(brenner_body_read(&body, parley_bytes_of(places[i].markdown)), PARLEY_OK);
        assert_non_null(body.deltas);
        const char *x = memchr(body.deltas->text.data, 'X', body.deltas->text.length);
        assert_non_null(x);
        const struct parley_position at =
            brenner_block_place(&body, body.deltas, (size_t)(x - body.deltas->text.data));
        if (at.line != places[i].line || at.column != places[i].column) {
            fail_msg("%s: %zu:%zu", places[i].markdown, at.line, at.column);
        }
        brenner_body_finish(&body);
    }
}

static void test_names_are_compared_without_case_and_suffix(void **state) {
    (void)state;
    static const struct {
        const char *title;
        bool is_context;
    } titles[] = {{"Context", true},
                  {"cONTEXT", true},
                  {"Context (optional)", true},
                  {"Context (If Applicable)", true},
                  {"Context(OPTIONAL)", true},
                  {"Context (if applicable) (optional)", true},
                  {"Contexts", false},
                  {"Contex", false},
                  {"(optional) Context", false},
                  {"(optional)", false},
                  {"Context optional", false},
                  {"", false}};
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        const struct brenner_section section = {.title = parley_bytes_of(titles[i].title)};
        assert_int_equal(brenner_section_is(&section, "Context"), titles[i].is_context);
    }
}

/* ---- bounds ---- */

static void repeat(struct parley_buffer *out, const char *unit, size_t count) {
    for (size_t i = 0; i < count; i++) {
        parley_buffer_text(out, unit);
    }
}

/* What cmark would need hours for: containers in one another with blank lines or emphasis, and
 * images that never end. Each is read, and what stands behind it is found. */
static void test_hostile_bodies_are_read(void **state) {
    (void)state;
    static const struct {
        const char *first, *second, *third;
        size_t first_count, second_count, third_count;
    } bodies[] = {
        {"- ", "a\n", "\n", 100000, 1, 400000},
        {"1) ", "```\n", "\n", 100000, 1, 400000},
        {">", "", "a*", 200000, 0, 200000},
        {"> - ", "x\n", ">\n", 100000, 1, 200000},
        {"![[]()", "", "", 170000, 0, 0},
        {"[a]: u\n\n", "![[a]", "", 1, 170000, 0},
        {"*_", "", "", 300000, 0, 0},
        {"[", "]", "(", 200000, 200000, 200000},
        {"\t", "- a\n", "\n", 100000, 1, 100000},
        {"```delta\n", "", "", 60000, 0, 0},
    };
    struct parley_buffer text;
    parley_buffer_init(&text);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct brenner_body body;
        parley_buffer_clear(&text);
        repeat(&text, bodies[i].first, bodies[i].first_count);
        repeat(&text, bodies[i].second, bodies[i].second_count);
        repeat(&text, bodies[i].third, bodies[i].third_count);
        parley_buffer_text(&text, "\n\n# End\n");
        assert_int_equal(brenner_body_read(&body, parley_buffer_bytes(&text)), PARLEY_OK);
        assert_true(body.sections != NULL || body.deltas != NULL);
        brenner_body_finish(&body);
    }
    parley_buffer_finish(&text);
}

static bool is_tame(struct parley_bytes text) {
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    const struct parley_bytes tamed = markup_tame(&arena, text);
    assert_non_null(tamed.data);
    assert_true(tamed.length <= text.length);
    const bool is_same = tamed.data == text.data;
    parley_arena_finish(&arena);
    return is_same;
}

static void test_only_what_is_nested_beyond_reason_is_changed(void **state) {
    (void)state;
    static const struct {
        const char *unit;
        size_t most; /* so many are let be */
        const char *rest;
    } texts[] = {{"> ", 16, "a\n"},        {">", 16, "\n"},       {"- ", 16, "a"},
                 {"12. ", 16, "a\n"},      {" ", 64, "a\n"},      {"\t", 16, "a\n"},
                 {"![a](b) ", 256, "\n"},  {"- ", 10000, "- \n"}, {"* ", 10000, "*\n"},
                 {"<![CDATA[", 1000, "a"}, {"-", 1000, "a"},      {"a > ", 1000, "\n"}};
    struct parley_buffer text;
    parley_buffer_init(&text);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (size_t more = 0; more < 2; more++) {
            parley_buffer_clear(&text);
            repeat(&text, texts[i].unit, texts[i].most + more);
            parley_buffer_text(&text, texts[i].rest);
            assert_int_equal(is_tame(parley_buffer_bytes(&text)),
                             more == 0 || texts[i].most >= 1000);
        }
    }
    parley_buffer_finish(&text);
}

/* What taming changes is put right in a delta block, and places stay. */
static void test_taming_changes_no_delta(void **state) {
    (void)state;
    struct parley_buffer text;
    struct brenner_body body;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "```delta\n");
    repeat(&text, " ", 100);
    repeat(&text, "![", 300);
    parley_buffer_text(&text, "X\n> > > > > > > > > > > > > > > > > > > > > > Y\n```\n");
    assert_int_equal(brenner_body_read(&body, parley_buffer_bytes(&text)), PARLEY_OK);
    const struct parley_bytes delta = body.deltas->text;
    assert_true(parley_bytes_equal((struct parley_bytes){delta.data + delta.length - 4, 4},
                                   PARLEY_BYTES("> Y\n")));
    const char *x = memchr(delta.data, 'X', delta.length);
    assert_non_null(x);
    assert_memory_equal(x - 600, text.data + 9 + 100, 600);
    const struct parley_position at =
        brenner_block_place(&body, body.deltas, (size_t)(x - delta.data));
    assert_int_equal(at.line, 2);
    assert_int_equal(at.column, 701);
    brenner_body_finish(&body);
    parley_buffer_finish(&text);
}

static void test_a_body_is_read_whole_or_not_at_all(void **state) {
    (void)state;
    static const char markdown[] = "# A *b*\n\n- c ![d](e)\n\n```delta\nf\n```\n\n[a]: b\n";
    struct brenner_body body;
    struct parley_buffer text;
    parley_buffer_init(&text);
    repeat(&text, markdown, 200);
    size_t first = 0;
    for (bool is_failing = true; is_failing; first++) {
        fault_heap_arm(first, 1);
        const enum parley_status status = brenner_body_read(&body, parley_buffer_bytes(&text));
        fault_heap_disarm();
        is_failing = fault_heap_has_failed();
        assert_int_equal(status, is_failing ? PARLEY_E_MEMORY : PARLEY_OK);
        brenner_body_finish(&body);
    }
    assert_true(first > 5);
    parley_buffer_finish(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headings_of_level_1_and_2_at_the_top_are_sections),
        cmocka_unit_test(test_titles_and_texts_are_without_markup),
        cmocka_unit_test(test_a_section_runs_to_the_next_heading_of_its_level_or_above),
        cmocka_unit_test(test_lines_end_as_cmark_ends_them),
        cmocka_unit_test(test_delta_blocks_count_wherever_they_stand),
        cmocka_unit_test(test_places_in_a_delta_block_are_those_of_the_body),
        cmocka_unit_test(test_names_are_compared_without_case_and_suffix),
        cmocka_unit_test(test_hostile_bodies_are_read),
        cmocka_unit_test(test_only_what_is_nested_beyond_reason_is_changed),
        cmocka_unit_test(test_taming_changes_no_delta),
        cmocka_unit_test(test_a_body_is_read_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
