/* SPDX-License-Identifier: Apache-2.0 */

/* One table, several readers: jansson's tree, the event reader over the text, and the product,
 * which may take its fast path, must say the same of every message. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "lib/protocol_options.h"
#include "lib/cases.h"
#include "lib/mutate.h"
#include "lib/readers.h"
#include "lib/rounds.h"

/* The protocols whose messages are JSON, by the files of their cases. */
static const char *const names[] = {"vlp", "roundtable", "supervisor", "brenner"};
enum { PROTOCOLS = sizeof names / sizeof names[0], VLP = 0 };

struct fixture {
    struct test_cases cases;
    struct parley_schema *schema;
    struct readers readers;
};

static int set_up(void **state) {
    static struct fixture fixtures[PROTOCOLS];
    for (size_t i = 0; i < PROTOCOLS; i++) {
        struct fixture *fixture = &fixtures[i];
        fixture->schema = cases_read_of(&fixture->cases, names[i]);
        if (fixture->schema == NULL) {
            return -1;
        }
        readers_init(&fixture->readers, fixture->schema);
    }
    *state = fixtures;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixtures = *state;
    for (size_t i = 0; i < PROTOCOLS; i++) {
        readers_finish(&fixtures[i].readers);
        parley_schema_destroy(fixtures[i].schema);
        cases_finish(&fixtures[i].cases);
    }
    return 0;
}

static void assert_agree(struct readers *readers, const char *name, struct parley_bytes text,
                         const struct parley_options *options) {
    if (!readers_agree(readers, text, options)) {
        fail_msg("%s: %s\n%.*s", name, readers->difference, (int)text.length, text.data);
    }
}

static void test_both_readers_say_the_same_of_every_conformance_case(void **state) {
    struct fixture *fixtures = *state;
    for (size_t i = 0; i < PROTOCOLS; i++) {
        for (size_t j = 0; j < fixtures[i].cases.count; j++) {
            const struct test_case *test = &fixtures[i].cases.items[j];
            assert_agree(&fixtures[i].readers, test->name, test->body, &test->options);
        }
    }
}

enum { MUTATIONS = 1500 }; /* of each protocol */

static void compare_broken_messages(struct fixture *fixture) {
    struct random_source source = {11};
    struct parley_buffer text;
    parley_buffer_init(&text);
    size_t unread = 0, invalid = 0, warned = 0, made = 0;
    const size_t wanted = test_rounds(MUTATIONS);
    while (made < wanted) {
        const struct test_case *test =
            &fixture->cases.items[random_below(&source, fixture->cases.count)];
        json_t *message = test->is_valid && test->body.length < 10000
                              ? json_loadb(test->body.data, test->body.length, JSON_ALLOW_NUL, NULL)
                              : NULL;
        if (message == NULL) {
            continue;
        }
        struct parley_options options = test->options;
        set_option(&options, test->protocol, "strict",
                   random_below(&source, 4) == 0 ? "true" : "false");
        options.stamp = random_below(&source, 4) == 0;
        parley_buffer_clear(&text);
        mutate(&source, message, &text);
        json_decref(message);
        assert_agree(&fixture->readers, test->name, parley_buffer_bytes(&text), &options);
        const struct parley_message *checked = &fixture->readers.checked;
        const bool is_valid = parley_message_is_valid(checked);
        unread += !checked->is_decoded;
        invalid += checked->is_decoded && !is_valid;
        warned += checked->is_decoded && is_valid && checked->findings.count > 0;
        made++;
    }
    parley_buffer_finish(&text);
    /* The mutations must be of every sort, or this proves little. */
    assert_in_range(unread, wanted / 20, wanted / 2);
    assert_in_range(invalid, wanted / 5, wanted * 9 / 10);
    assert_in_range(warned, wanted / 100, wanted / 2);
}

static void test_both_readers_say_the_same_of_broken_messages(void **state) {
    struct fixture *fixtures = *state;
    for (size_t i = 0; i < PROTOCOLS; i++) {
        compare_broken_messages(&fixtures[i]);
    }
}

/* Numbers are where readers like to differ: each form, at its limits. */
static void test_both_readers_say_the_same_of_numbers(void **state) {
    struct fixture *fixture = (struct fixture *)*state + VLP;
    static const char *const numbers[] = {
        "0",
        "-0",
        "-0.0",
        "00",
        "01",
        "-",
        "+1",
        ".5",
        "5.",
        "0.5",
        "1e",
        "1e+",
        "1e5",
        "1E-5",
        "1e400",
        "-1e400",
        "1e-400",
        "4.9e-324",
        "2e-324",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "12345678901234567890",
        "0x10",
        "1_0",
        "NaN",
        "Infinity",
        "1.0",
        "4.0e3",
        "0.1e1",
        "1 ",
        "1\n",
        "1a",
        "1.e1",
        "0e0",
        "0.0000000000000000000000000000001",
        "0.8999999999999999999999999999999999999999999999999999999999999999999999999999999999999",
        "99999999999999999999999999999999999999999999999999999999999999999999999999999999999999"};
    const struct parley_options options = {0};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"confidence\":%s,\"seq\":%s}", numbers[i], numbers[i]);
        assert_agree(&fixture->readers, numbers[i], parley_bytes_of(text), &options);
        assert_agree(&fixture->readers, numbers[i], parley_bytes_of(numbers[i]), &options);
    }
}

/* Keys are compared as what they mean, and few otherwise than many. */
static void test_both_readers_say_the_same_of_repeated_keys(void **state) {
    struct fixture *fixture = *state;
    static const struct {
        const char *text; /* behind `count` other members */
        bool is_repeated;
    } rows[] = {
        {"\"a\":1,\"b\":2", false},
        {"\"a\":1,\"a\":2", true},
        {"\"a\":1,\"\\u0061\":2", true},
        {"\"\\u0061\":1,\"a\":2", true},
        {"\"\\u0061\":1,\"\\u0061\":2", true},
        {"\"\\u0061\":1,\"\\u0062\":2", false},
        {"\"\":1,\"\":2", true},
        {"\"a\":{\"a\":1},\"b\":[{\"a\":2},{\"a\":3}]", false},
        {"\"a\":{\"b\":{},\"c\":{},\"b\":[]}", true},
        {"\"a\":[{\"b\":1,\"\\/\":2,\"/\":3}]", true},
        {"\"k0\":1", true},
        {"\"k00\":1", false},
        {"\"a\":1,\"a\"", true},
        {"\"a\":nul,\"a\":1", false},
    };
    static const int counts[] = {1, 14, 15, 16, 17, 100};
    const struct parley_options options = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            struct parley_buffer text;
            parley_buffer_init(&text);
            for (int member = 0; member < counts[k]; member++) {
                parley_buffer_format(&text, "%s\"k%d\":{\"a\":0}", member == 0 ? "{" : ",", member);
            }
            parley_buffer_format(&text, ",%s}", rows[i].text);
            assert_agree(&fixture->readers, rows[i].text, parley_buffer_bytes(&text), &options);
            const struct parley_findings *findings = &fixture->readers.checked.findings;
            assert_int_equal(findings->count > 0 &&
                                 findings->items[0].rule ==
                                     &parley_gateway_rules[PARLEY_GW_DUPLICATE_KEY],
                             rows[i].is_repeated);
            parley_buffer_finish(&text);
        }
    }
}

/* Every prefix of a message is a body that was cut off. */
static void test_both_readers_refuse_every_message_that_is_cut_off(void **state) {
    struct fixture *fixture = (struct fixture *)*state + VLP;
    static const char text[] =
        "{\"id\":\"a\\u00e9\\n\xC3\xA9\",\"seq\":-1.5e+3,\"safety\":{\"level\":"
        "\"safe\",\"issues\":[true,false,null,\"\\ud83d\\ude00\"]}}";
    const struct parley_options options = {0};
    for (size_t length = 0; length < sizeof text - 1; length++) {
        char *copy = malloc(length + 1); /* so that a read behind the end is seen */
        memcpy(copy, text, length);
        assert_agree(&fixture->readers, "cut off", (struct parley_bytes){copy, length}, &options);
        assert_false(fixture->readers.checked.is_decoded);
        free(copy);
    }
}

/* The same for each single byte, put in any place. */
static void test_both_readers_say_the_same_of_any_byte_in_any_place(void **state) {
    struct fixture *fixture = (struct fixture *)*state + VLP;
    static const char text[] =
        "{ \"id\" : \"a\\n\", \"seq\":1.5e1 ,\"keywords\":[ true,null],\"topic\":\"\xC3\xA9\"}";
    const struct parley_options options = {0};
    char changed[sizeof text];
    for (size_t at = 0; at < sizeof text - 1; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            memcpy(changed, text, sizeof text);
            changed[at] = (char)byte;
            assert_agree(&fixture->readers, "changed",
                         (struct parley_bytes){changed, sizeof text - 1}, &options);
        }
    }
}

/* ---- large ones ---- */

static void check(struct parley_message *message, struct parley_bytes text,
                  const struct parley_options *options) {
    assert_int_equal(parley_message_check(message, text, &parley_codec_json, options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
}

/* What is wrong at the end of a text is another thing when blanks follow. */
static bool ends_too_early(const struct parley_message *message) {
    return !message->is_decoded && message->findings.items[0].offset == message->text.length;
}

static bool same_finding(const struct parley_finding *a, const struct parley_finding *b) {
    return a->rule == b->rule && strcmp(a->path, b->path) == 0 &&
           strcmp(a->message, b->message) == 0 && strcmp(a->hint, b->hint) == 0 &&
           a->at.line == b->at.line && a->at.column == b->at.column &&
           a->body_at.line == b->body_at.line;
}

static bool same_verdict(const struct parley_message *small, const struct parley_message *large) {
    const struct parley_findings *a = &small->findings, *b = &large->findings;
    bool is_same = small->is_decoded == large->is_decoded && small->type == large->type &&
                   a->count == b->count && a->omitted_count == b->omitted_count &&
                   a->has_error == b->has_error;
    for (size_t i = 0; is_same && i < a->count; i++) {
        is_same = same_finding(&a->items[i], &b->items[i]);
    }
    return is_same || (ends_too_early(small) && !large->is_decoded);
}

enum { PADDING = (64 << 10) + 1 };

/* `large` is cleared: it then holds `text` and so many blanks that it is large. */
static void assert_same_when_large(struct readers *readers, const char *name,
                                   struct parley_bytes text, const struct parley_options *options,
                                   struct parley_buffer *large) {
    parley_buffer_clear(large);
    parley_buffer_append(large, text);
    assert_true(parley_buffer_reserve(large, PADDING));
    memset(large->data + large->length, ' ', PADDING);
    large->length += PADDING;
    check(&readers->checked, text, options);
    check(&readers->by_text, parley_buffer_bytes(large), options);
    if (!same_verdict(&readers->checked, &readers->by_text)) {
        fail_msg("%s: another verdict when it is large\n%.*s", name, (int)text.length, text.data);
    }
}

static void test_a_large_message_gets_the_verdict_of_a_small_one(void **state) {
    struct fixture *fixtures = *state;
    struct random_source source = {31};
    struct parley_buffer text, large;
    parley_buffer_init(&text);
    parley_buffer_init(&large);
    for (size_t i = 0; i < PROTOCOLS; i++) {
        for (size_t j = 0; j < fixtures[i].cases.count; j++) {
            const struct test_case *test = &fixtures[i].cases.items[j];
            if (test->body.length > 10000) {
                continue;
            }
            assert_same_when_large(&fixtures[i].readers, test->name, test->body, &test->options,
                                   &large);
            json_t *message = test->is_valid ? json_loadb(test->body.data, test->body.length,
                                                          JSON_ALLOW_NUL, NULL)
                                             : NULL;
            for (int k = 0; message != NULL && k < 5; k++) {
                parley_buffer_clear(&text);
                mutate(&source, message, &text);
                assert_same_when_large(&fixtures[i].readers, test->name, parley_buffer_bytes(&text),
                                       &test->options, &large);
            }
            json_decref(message);
        }
    }
    parley_buffer_finish(&text);
    parley_buffer_finish(&large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_readers_say_the_same_of_every_conformance_case),
        cmocka_unit_test(test_both_readers_say_the_same_of_broken_messages),
        cmocka_unit_test(test_both_readers_say_the_same_of_numbers),
        cmocka_unit_test(test_both_readers_say_the_same_of_repeated_keys),
        cmocka_unit_test(test_both_readers_refuse_every_message_that_is_cut_off),
        cmocka_unit_test(test_both_readers_say_the_same_of_any_byte_in_any_place),
        cmocka_unit_test(test_a_large_message_gets_the_verdict_of_a_small_one),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
