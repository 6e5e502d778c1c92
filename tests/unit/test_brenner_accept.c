/* SPDX-License-Identifier: Apache-2.0 */

/* The fast path of Brenner messages, JSON and Markdown: what it accepts, and that nobody can tell
 * by anything but the time which way a message took. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "brenner/brenner.h"
#include "brenner/front_matter_accept.h"
#include "json/json_message.h"
#include "lib/brenner_accept_pair.h"
#include "lib/brenner_messages.h"
#include "lib/rounds.h"

struct fixture {
    struct test_cases cases;
    struct parley_schema *schema;
    struct brenner_accept_pair both;
};

static int set_up(void **state) {
    static struct fixture fixture;
    fixture.schema = cases_read_of(&fixture.cases, "brenner");
    if (fixture.schema == NULL) {
        return -1;
    }
    brenner_accept_pair_init(&fixture.both, fixture.schema);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    brenner_accept_pair_finish(&fixture->both);
    parley_schema_destroy(fixture->schema);
    cases_finish(&fixture->cases);
    return 0;
}

/* Returns: whether it is accepted fast. */
static bool assert_agree(struct fixture *fixture, struct parley_bytes text,
                         const struct parley_codec *codec) {
    struct brenner_accept_pair *both = &fixture->both;
    if (!brenner_accept_pair_agree(both, text, codec)) {
        fail_msg("%.*s\nis told fast as\n%.*s\nand slowly as\n%.*s", (int)text.length, text.data,
                 (int)both->fast_words.length, both->fast_words.data, (int)both->slow_words.length,
                 both->slow_words.data);
    }
    return both->is_accepted;
}

/* ---- what it accepts ---- */

static void test_every_example_is_accepted_fast_in_both_encodings(void **state) {
    struct fixture *fixture = *state;
    struct parley_buffer markdown;
    parley_buffer_init(&markdown);
    for (const struct parley_example *example = brenner_examples; example->name != NULL;
         example++) {
        if (!assert_agree(fixture, parley_bytes_of(example->text), &parley_codec_json)) {
            fail_msg("it is not sure about %s", example->name);
        }
        parley_buffer_clear(&markdown);
        assert_int_equal(brenner_convert(&fixture->both.slow, &brenner_codec_markdown, &markdown),
                         PARLEY_OK);
        if (!assert_agree(fixture, parley_buffer_bytes(&markdown), &brenner_codec_markdown)) {
            fail_msg("it is not sure about %s as Markdown", example->name);
        }
    }
    parley_buffer_finish(&markdown);
}

static void test_the_message_of_the_benchmark_is_accepted_fast(void **state) {
    struct fixture *fixture = *state;
    char text[4096];
    FILE *file = fopen(PARLEY_SOURCE_DIR "/bench/data/brenner.md", "rb");
    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_true(
        assert_agree(fixture, (struct parley_bytes){text, length}, &brenner_codec_markdown));
}

static void test_nearly_all_faultless_conformance_cases_are_accepted_fast(void **state) {
    struct fixture *fixture = *state;
    size_t faultless = 0, accepted = 0;
    for (size_t i = 0; i < fixture->cases.count; i++) {
        const struct test_case *test = &fixture->cases.items[i];
        if (test->body.length > test->protocol->message_bytes_max) {
            continue; /* it comes to no reader */
        }
        accepted += assert_agree(fixture, test->body, test->codec);
        const struct parley_message *slow = &fixture->both.slow;
        faultless += slow->is_decoded && slow->findings.count == 0;
    }
    print_message("%zu of %zu faultless cases are accepted fast\n", accepted, faultless);
    assert_in_range(accepted, faultless * 9 / 10, faultless);
}

/* ---- what it must not accept ---- */

#ifdef __SANITIZE_ADDRESS__
enum { USUAL = 2000 };
#else
enum { USUAL = 20000 };
#endif

static void test_nobody_can_tell_which_way_a_message_took(void **state) {
    struct fixture *fixture = *state;
    struct random_source source = {23};
    struct parley_buffer text;
    parley_buffer_init(&text);
    const size_t wanted = test_rounds(USUAL);
    size_t accepted = 0;
    for (size_t i = 0; i < wanted; i++) {
        parley_buffer_clear(&text);
        const struct parley_codec *codec = brenner_message_make(&source, &fixture->cases, &text);
        accepted += assert_agree(fixture, parley_buffer_bytes(&text), codec);
    }
    parley_buffer_finish(&text);
    print_message("%zu of %zu messages are accepted fast\n", accepted, wanted);
    assert_in_range(accepted, wanted / 20, wanted * 3 / 4); /* else this proves little */
}

/* ---- front matter ---- */

static void test_front_matter_is_read_fast_or_left_to_libyaml(void **state) {
    (void)state;
    static const struct {
        const char *yaml;
        const char *json; /* NULL: it is not sure */
    } rows[] = {
        {"a: b\n", "\"a\":\"b\""},
        {"a:   b c  d\n", "\"a\":\"b c  d\""},
        {"a: \"b: c # d\"\nb: 'c \\ \"d\"'\n", "\"a\":\"b: c # d\",\"b\":\"c \\\\ \\\"d\\\"\""},
        {"a: b:c#d\n", "\"a\":\"b:c#d\""},
        {"a: 1\nb: 0x1F\nc: true\nd: null\ne: 1.\nf: yes\n",
         "\"a\":1,\"b\":31,\"c\":true,\"d\":null,\"e\":1.0,\"f\":\"yes\""},
        {"a:\nb: \n", "\"a\":null,\"b\":null"},
        {"a: []\nb: [ ]\nc: [x, \"y, z\", 1 , 'q']\n",
         "\"a\":[],\"b\":[],\"c\":[\"x\",\"y, z\",1,\"q\"]"},
        {"a:\n- b\n- c d\ne: f\n", "\"a\":[\"b\",\"c d\"],\"e\":\"f\""},
        {"a:\n  -  b\n  - \"c\"\n", "\"a\":[\"b\",\"c\"]"},
        {"a: \xC3\xA9 \xC2\xA7\n", "\"a\":\"\xC3\xA9 \xC2\xA7\""},
        {"", NULL},
        {"a: b", NULL},
        {"a: b\r\n", NULL},
        {"a: b \n", NULL},
        {"a: b # c\n", NULL},
        {"a: b: c\n", NULL},
        {"a: b:\n", NULL},
        {"a: b\n c\n", NULL},
        {"a: b\n\n", NULL},
        {"# a\n", NULL},
        {"a: \"b\\n\"\n", NULL},
        {"a: 'it''s'\n", NULL},
        {"a: \"b\n", NULL},
        {"a: \"b\" c\n", NULL},
        {"a: b\na: c\n", NULL},
        {"true: b\n", NULL},
        {"1: b\n", NULL},
        {"a b: c\n", NULL},
        {"a:b\n", NULL},
        {"a: [b, c\n", NULL},
        {"a: [b, ]\n", NULL},
        {"a: [,]\n", NULL},
        {"a: [b: c]\n", NULL},
        {"a: [b] c\n", NULL},
        {"a: [[b]]\n", NULL},
        {"a: {b: c}\n", NULL},
        {"a:\n  b: c\n", NULL},
        {"a:\n- b\n - c\n", NULL},
        {"a:\n-\n", NULL},
        {"a: &b c\n", NULL},
        {"a: *b\n", NULL},
        {"a: !b c\n", NULL},
        {"a: |\n b\n", NULL},
        {"a: .inf\n", NULL},
        {"a: 1e999\n", NULL},
        {"a: b\t\n", NULL},
        {"a: b\x7F\n", NULL},
        {"a: b\xC2\x85\n", NULL},
        {"a: b\xE2\x80\xA8\n", NULL},
        {"a: \xFF\n", NULL},
        {"\xEF\xBB\xBF"
         "a: b\n",
         NULL},
        {"body: b\n", NULL},
        {"body_md: b\n", NULL},
    };
    struct parley_buffer out;
    parley_buffer_init(&out);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct parley_bytes yaml = parley_bytes_of(rows[i].yaml);
        char *copy =
            malloc(yaml.length > 0 ? yaml.length : 1); /* so that a read behind the end is seen */
        memcpy(copy, yaml.data, yaml.length);
        parley_buffer_clear(&out);
        const bool is_read = front_matter_accept((struct parley_bytes){copy, yaml.length}, &out);
        free(copy);
        const bool is_same = is_read == (rows[i].json != NULL) &&
                             (!is_read || parley_bytes_equal(parley_buffer_bytes(&out),
                                                             parley_bytes_of(rows[i].json)));
        if (!is_same) {
            fail_msg("%s: %.*s", rows[i].yaml, (int)out.length, out.data);
        }
    }
    parley_buffer_finish(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_example_is_accepted_fast_in_both_encodings),
        cmocka_unit_test(test_the_message_of_the_benchmark_is_accepted_fast),
        cmocka_unit_test(test_nearly_all_faultless_conformance_cases_are_accepted_fast),
        cmocka_unit_test(test_nobody_can_tell_which_way_a_message_took),
        cmocka_unit_test(test_front_matter_is_read_fast_or_left_to_libyaml),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
