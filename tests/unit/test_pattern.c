/* SPDX-License-Identifier: Apache-2.0 */

/* Our automata against the C library's regular expressions: on what is written in rule tables, and
 * on expressions that nobody wrote, both must say the same of any text. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <regex.h>
#include <stdlib.h>

#include <parley/buffer.h>
#include <parley/protocol.h>

#include "rules/pattern.h"
#include "lib/random.h"
#include "lib/rounds.h"

struct both {
    const char *expression;
    struct parley_arena arena;
    const struct pattern *ours;
    regex_t theirs;
};

static void both_init(struct both *both, const char *expression) {
    both->expression = expression;
    parley_arena_init(&both->arena, 0);
    both->ours = pattern_compile(&both->arena, expression);
    assert_non_null(both->ours);
    assert_int_equal(regcomp(&both->theirs, expression, REG_EXTENDED | REG_NOSUB), 0);
}

static void both_finish(struct both *both) {
    parley_arena_finish(&both->arena);
    regfree(&both->theirs);
}

/* Returns: whether they match. */
static bool assert_same(struct both *both, struct parley_bytes text) {
    const regoff_t length = (regoff_t)text.length;
    const bool matches = re_search(&both->theirs, text.data, length, 0, length, NULL) >= 0;
    if (pattern_matches(both->ours, text) != matches) {
        fail_msg("/%s/ %s \"%.*s\"", both->expression, matches ? "matches" : "does not match",
                 (int)text.length, text.data);
    }
    return matches;
}

/* ---- texts ---- */

static const char frequent[] = "aabbcdxyz0149AZ_-.:[]$R S\xC3\n";

/* A text that is likely to match: characters of the expression, its own letters in a row, and now
 * and then any byte. */
static void random_text(struct random_source *source, const char *expression,
                        struct parley_buffer *out) {
    const size_t length = strlen(expression);
    parley_buffer_clear(out);
    for (size_t parts = random_below(source, 8); parts > 0; parts--) {
        size_t at = random_below(source, length + 1), left = 1 + random_below(source, 12);
        switch (random_below(source, 5)) {
        case 0:
            for (; at < length && left > 0; at++, left--) {
                parley_buffer_char(out, expression[at]);
            }
            break;
        case 1:
            parley_buffer_char(out, (char)random_below(source, 256));
            break;
        case 2: {
            const char c = frequent[random_below(source, sizeof frequent - 1)];
            for (left = 1 + random_below(source, 70); left > 0; left--) {
                parley_buffer_char(out, c);
            }
            break;
        }
        default:
            for (; left > 0; left--) {
                parley_buffer_char(out, frequent[random_below(source, sizeof frequent - 1)]);
            }
        }
    }
}

/* Changes a text a little, and keeps it if it matches: so that texts deep inside the automaton are
 * tried, too.  Returns: how many matched. */
static size_t try_texts(struct both *both, struct random_source *source, const char *const *seeds,
                        size_t count) {
    struct parley_buffer text, changed;
    parley_buffer_init(&text);
    parley_buffer_init(&changed);
    size_t matched = 0, seed_count = 0;
    while (seeds != NULL && seeds[seed_count] != NULL) {
        seed_count++;
    }
    for (size_t i = 0; i < count; i++) {
        if (i % 64 == 0 || text.length > 200) {
            parley_buffer_clear(&text);
            if (seed_count > 0) {
                parley_buffer_text(&text, seeds[i / 64 % seed_count]);
            }
        }
        if (random_below(source, 4) == 0) {
            random_text(source, both->expression, &changed);
        } else {
            const size_t at = random_below(source, text.length + 1);
            const size_t cut = random_below(source, 3) < text.length - at ? 1 : 0;
            parley_buffer_clear(&changed);
            parley_buffer_append(&changed, (struct parley_bytes){text.data, at});
            if (random_below(source, 3) > 0) {
                parley_buffer_char(&changed, frequent[random_below(source, sizeof frequent - 1)]);
            }
            parley_buffer_append(
                &changed, (struct parley_bytes){text.data + at + cut, text.length - at - cut});
        }
        const bool matches = assert_same(both, parley_buffer_bytes(&changed));
        matched += matches;
        if (matches || random_below(source, 4) == 0) {
            parley_buffer_clear(&text);
            parley_buffer_append(&text, parley_buffer_bytes(&changed));
        }
    }
    parley_buffer_finish(&text);
    parley_buffer_finish(&changed);
    return matched;
}

/* ---- expressions ---- */

static const char *const seeds[] = {"a",
                                    "1.0",
                                    "1.20.3",
                                    "security.briefing",
                                    "DELTA[opus]: x",
                                    "KICKOFF: x",
                                    "RS-20260102-cell-fate",
                                    "COORD-weekly",
                                    "bd-123.4",
                                    "550e8400-e29b-41d4-a716-446655440000",
                                    NULL};

static void test_every_pattern_of_the_tables_matches_what_the_c_library_does(void **state) {
    (void)state;
    struct random_source source = {3};
    size_t patterns = 0;
    for (size_t p = 0; parley_protocols[p] != NULL; p++) {
        for (size_t r = 0; r < parley_protocols[p]->rule_count; r++) {
            const struct parley_rule *rule = &parley_protocols[p]->rules[r];
            for (size_t i = 0; i < rule->place_count; i++) {
                if (rule->places[i].constraint != PARLEY_PATTERN) {
                    continue;
                }
                struct both both;
                both_init(&both, rule->places[i].pattern);
                const size_t count = test_rounds(20000);
                const size_t matched = try_texts(&both, &source, seeds, count);
                assert_in_range(matched, count / 1000, count);
                both_finish(&both);
                patterns++;
            }
        }
    }
    assert_true(patterns >= 7);
}

static void test_every_form_matches_what_the_c_library_does(void **state) {
    (void)state;
    static const struct {
        const char *expression, *example;
    } rows[] = {
        {"", ""},
        {"a", "a"},
        {"^a", "a"},
        {"a$", "a"},
        {"^a$", "a"},
        {"^$", ""},
        {"ab|c", "ab"},
        {"^(ab|c)$", "c"},
        {"a*b", "aab"},
        {"^a*$", "aa"},
        {"^(a|b)*c$", "abc"},
        {"^a+b?$", "aab"},
        {"^a{3}$", "aaa"},
        {"^a{2,}$", "aaa"},
        {"^a{2,4}b$", "aaab"},
        {"^(ab){1,3}$", "abab"},
        {"^a{0,2}$", "aa"},
        {"[a-c]+x", "abx"},
        {"[]a]", "]"},
        {"[a-]z", "-z"},
        {"^[-a]$", "-"},
        {"[^a-c]", "x"},
        {"^[^:]*:[ \t]*[^ \t]", "a: \xC3\xA9"},
        {"^[^]a]+$", "b"},
        {"\\.\\[\\]", ".[]"},
        {"a\\$", "a$"},
        {"^(a*)*b$", "aab"},
        {"^(a|ab)(c|bcd)$", "abcd"},
        {"(a|)b", "ab"},
        {"^(a?){3}$", "aa"},
        {"^((a|b)*)+$", "ab"},
        {"x[0-9]{2,3}y", "x12y"},
        {"^(0|[1-9][0-9]*)(\\.0)?$", "10.0"},
        {"aab", "aaab"},
        {"abab", "ababab"},
        {"a(b|c)*d", "abcd"},
        {"^[a-z]{1,64}$", "abc"},
    };
    struct random_source source = {5};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const examples[] = {rows[i].example, NULL};
        struct both both;
        both_init(&both, rows[i].expression);
        assert_true(assert_same(&both, parley_bytes_of(rows[i].example)));
        try_texts(&both, &source, examples, test_rounds(5000));
        both_finish(&both);
    }
}

static void write_expression(struct random_source *source, struct parley_buffer *out, int depth) {
    static const char *const atoms[] = {"a", "b", "c", "[ab]", "[b-c]", "\\.", "1", "[0-9_-]"};
    static const char *const repeats[] = {"", "", "", "*", "+", "?", "{2}", "{1,2}", "{2,}"};
    for (size_t pieces = 1 + random_below(source, 2); pieces > 0; pieces--) {
        if (depth > 0 && random_below(source, 3) == 0) {
            parley_buffer_char(out, '(');
            write_expression(source, out, depth - 1);
            if (random_below(source, 2) == 0) {
                parley_buffer_char(out, '|');
                write_expression(source, out, depth - 1);
            }
            parley_buffer_char(out, ')');
        } else {
            parley_buffer_text(out, atoms[random_below(source, sizeof atoms / sizeof atoms[0])]);
        }
        parley_buffer_text(out, repeats[random_below(source, sizeof repeats / sizeof repeats[0])]);
    }
}

static void test_expressions_that_nobody_wrote_match_what_the_c_library_does(void **state) {
    (void)state;
    struct random_source source = {7};
    struct parley_buffer text;
    parley_buffer_init(&text);
    size_t matched = 0;
    for (size_t i = 0; i < test_rounds(20000) / 40; i++) {
        parley_buffer_clear(&text);
        parley_buffer_text(&text, random_below(&source, 2) == 0 ? "^" : "");
        write_expression(&source, &text, 1);
        parley_buffer_text(&text, random_below(&source, 2) == 0 ? "$" : "");
        parley_buffer_char(&text, '\0');
        struct both both;
        both_init(&both, text.data);
        matched += try_texts(&both, &source, NULL, 40);
        both_finish(&both);
    }
    assert_in_range(matched, test_rounds(20000) / 20, SIZE_MAX);
    parley_buffer_finish(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern_of_the_tables_matches_what_the_c_library_does),
        cmocka_unit_test(test_every_form_matches_what_the_c_library_does),
        cmocka_unit_test(test_expressions_that_nobody_wrote_match_what_the_c_library_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
