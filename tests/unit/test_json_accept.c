/* SPDX-License-Identifier: Apache-2.0 */

/* What the fast path accepts must be right in the eyes of every other reader, and give the same
 * facts; and it must accept what is everyday, or it is of no use. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "lib/protocol_options.h"
#include "lib/cases.h"
#include "lib/json_accept_pair.h"
#include "lib/fault_heap.h"
#include "lib/mutate.h"
#include "lib/rounds.h"

static const char *const names[] = {"vlp", "roundtable", "supervisor"};
enum { PROTOCOLS = sizeof names / sizeof names[0], VLP = 0, SUPERVISOR = 2 };

struct fixture {
    struct test_cases cases;
    struct parley_schema *schema;
    struct json_accept_pair both;
};

static int set_up(void **state) {
    static struct fixture fixtures[PROTOCOLS];
    for (size_t i = 0; i < PROTOCOLS; i++) {
        struct fixture *fixture = &fixtures[i];
        fixture->schema = cases_read_of(&fixture->cases, names[i]);
        if (fixture->schema == NULL) {
            return -1;
        }
        json_accept_pair_init(&fixture->both, fixture->schema);
    }
    *state = fixtures;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixtures = *state;
    for (size_t i = 0; i < PROTOCOLS; i++) {
        json_accept_pair_finish(&fixtures[i].both);
        parley_schema_destroy(fixtures[i].schema);
        cases_finish(&fixtures[i].cases);
    }
    return 0;
}

/* Returns: whether the fast path accepts it. */
static bool assert_agree(struct fixture *fixture, const char *name, struct parley_bytes text,
                         const struct parley_options *options) {
    if (!json_accept_pair_agree(&fixture->both, text, options)) {
        fail_msg("%s: %s\n%.*s", name, fixture->both.difference, (int)text.length, text.data);
    }
    return fixture->both.is_accepted;
}

static bool accepts(struct fixture *fixture, const char *text) {
    static const struct parley_options options = {0};
    return assert_agree(fixture, text, parley_bytes_of(text), &options);
}

/* ---- what it accepts ---- */

static void test_every_example_is_accepted_fast(void **state) {
    struct fixture *fixtures = *state;
    for (size_t i = 0; i < PROTOCOLS; i++) {
        const struct parley_example *example = fixtures[i].cases.items[0].protocol->examples;
        for (; example->name != NULL; example++) {
            if (!accepts(&fixtures[i], example->text)) {
                fail_msg("%s: it is not sure about %s", names[i], example->name);
            }
        }
    }
}

/* Whether the careful readers find nothing to say. */
static bool is_faultless(struct parley_message *message, const struct test_case *test) {
    struct parley_options options = test->options;
    options.stamp = false;
    assert_int_equal(parley_message_check(message, test->body, test->codec, &options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    return message->is_decoded && message->findings.count == 0;
}

static void test_nearly_all_faultless_conformance_cases_are_accepted_fast(void **state) {
    struct fixture *fixtures = *state;
    for (size_t i = 0; i < PROTOCOLS; i++) {
        struct fixture *fixture = &fixtures[i];
        struct parley_message message;
        size_t faultless = 0, accepted = 0;
        parley_message_init(&message, fixture->schema);
        for (size_t j = 0; j < fixture->cases.count; j++) {
            const struct test_case *test = &fixture->cases.items[j];
            if (test->codec->is_binary) {
                continue;
            }
            const bool is_accepted = assert_agree(fixture, test->name, test->body, &test->options);
            /* What is too large never comes to the fast path. */
            const bool has_no_fault = is_faultless(&message, test);
            faultless += has_no_fault;
            accepted += is_accepted && has_no_fault;
        }
        parley_message_finish(&message);
        print_message("%s: %zu of %zu faultless cases are accepted fast\n", names[i], accepted,
                      faultless);
        assert_in_range(accepted, faultless * 9 / 10, faultless);
    }
}

/* ---- what it must not accept ---- */

/* How many of each protocol. */
#ifdef __SANITIZE_ADDRESS__
enum { USUAL = 3000 }; /* each takes ten times as long */
#else
enum { USUAL = 100000 };
#endif

static void compare_broken_messages(struct fixture *fixture, const char *name) {
    struct random_source source = {17};
    struct parley_buffer text;
    parley_buffer_init(&text);
    const size_t wanted = test_rounds(USUAL);
    size_t accepted = 0, made = 0;
    while (made < wanted) {
        const struct test_case *test =
            &fixture->cases.items[random_below(&source, fixture->cases.count)];
        json_t *message = test->is_valid && test->body.length < 4000
                              ? json_loadb(test->body.data, test->body.length, JSON_ALLOW_NUL, NULL)
                              : NULL;
        if (message == NULL) {
            continue;
        }
        struct parley_options options = test->options;
        set_option(&options, test->protocol, "strict",
                   random_below(&source, 4) == 0 ? "true" : "false");
        for (int i = 0; i < 8 && made < wanted; i++, made++) {
            parley_buffer_clear(&text);
            mutate(&source, message, &text);
            accepted += assert_agree(fixture, test->name, parley_buffer_bytes(&text), &options);
        }
        json_decref(message);
    }
    parley_buffer_finish(&text);
    print_message("%s: %zu of %zu broken messages are accepted\n", name, accepted, wanted);
    assert_in_range(accepted, wanted / 20, wanted * 3 / 4); /* else this proves little */
}

static void test_what_it_accepts_of_broken_messages_is_right(void **state) {
    struct fixture *fixtures = *state;
    for (size_t i = 0; i < PROTOCOLS; i++) {
        compare_broken_messages(&fixtures[i], names[i]);
    }
}

#define HEAD                                                                                       \
    "{\"id\":\"abc\",\"protocol\":\"VLP/1.1\",\"type\":\"notice\",\"timestamp\":"                  \
    "\"2025-12-14T10:30:00Z\",\"sender\":\"a\",\"content\":\"b\",\"confidence\":0.5"

static void test_what_is_right_is_accepted_and_what_is_not_is_not(void **state) {
    struct fixture *fixture = (struct fixture *)*state + VLP;
    static const struct {
        const char *more; /* members behind those of HEAD */
        bool is_accepted;
    } rows[] = {
        {"", true},
        {",\"x\":{}", true},
        {",\"x\":[]", true},
        {",\"x\":[1,-0,0.5,1e5,1E+5,2e-400,12345678901234567890,true,false,null]", true},
        {",\"x\":1e400", false},
        {",\"x\":-1e400", false},
        {",\"x\":1e308", true},
        {",\"x\":01", false},
        {",\"x\":-", false},
        {",\"x\":1.", false},
        {",\"x\":.5", false},
        {",\"x\":1e", false},
        {",\"x\":1e+", false},
        {",\"x\":+1", false},
        {",\"seq\":-0", true},
        {",\"seq\":1.0", true},
        {",\"seq\":1e2", true},
        {",\"seq\":9007199254740993", true},
        {",\"seq\":1.5", false},
        {",\"x\":\"\\u0000\"", true},
        {",\"x\":\"\\ud83d\\ude00\"", true},
        {",\"x\":\"\\ud83d\"", false},
        {",\"x\":\"\\ude00\"", false},
        {",\"x\":\"\\ud83d\\n\"", false},
        {",\"x\":\"\\x\"", false},
        {",\"x\":\"\\u12g4\"", false},
        {",\"x\":\"a\nb\"", false},
        {",\"x\":\"\x7F\"", true},
        {",\"x\":\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"", true},
        {",\"x\":\"\xC0\xAF\"", false},
        {",\"x\":\"\xED\xA0\x80\"", false},
        {",\"x\":\"\xF4\x90\x80\x80\"", false},
        {",\"x\":\"\x80\"", false},
        {",\"x\":\"\xC3\"", false},
        {",\"receiver\":\"The \\\"Archivist\\\" \\u00e9\"", true},
        {",\"id\":\"abd\"", false},
        {",\"x\":1,\"x\":2", false},
        {",\"x\":{\"y\":1,\"z\":{\"y\":2}},\"y\":[{\"y\":1},{\"y\":2}]", true},
        {",\"x\":[{\"y\":1,\"z\":{\"y\":2},\"y\":1}]", false},
        {",\"safety\":{\"level\":\"safe\",\"level\":\"safe\"}", false},
        {",\"safety\":{}", false},
        {",\"\\u0078\":1", false},
        {",\"\":1,\" \":2", true},
        {",\"x\":[1,]", false},
        {",\"x\":[,1]", false},
        {",\"x\":[1 2]", false},
        {",\"x\":[1}", false},
        {",\"x\":{\"a\":1]", false},
        {",\"x\":{\"a\" 1}", false},
        {",\"x\":{\"a\":}", false},
        {",\"x\":{a:1}", false},
        {",\"x\":{\"a\":1,}", false},
        {",\"x\":nul", false},
        {",\"x\":truex", false},
        {",", false},
        {" \t\r\n, \t\r\n\"x\" \t\r\n: \t\r\n1 \t\r\n", true},
        {"}", false},
        {",\"timestamp\":1", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, HEAD "%s}", rows[i].more);
        if (accepts(fixture, text) != rows[i].is_accepted) {
            fail_msg("%s is %saccepted", rows[i].more, rows[i].is_accepted ? "not " : "");
        }
    }
    assert_false(accepts(fixture, ""));
    assert_false(accepts(fixture, " "));
    assert_false(accepts(fixture, "[]"));
    assert_false(accepts(fixture, "{}"));
    assert_false(accepts(fixture, "\xEF\xBB\xBF" HEAD "}"));
    assert_false(accepts(fixture, HEAD "} x"));
    assert_false(accepts(fixture, HEAD));
    assert_true(accepts(fixture, " \n" HEAD "}\r\n"));
}

static void test_what_follows_from_a_type_that_comes_last_is_seen(void **state) {
    struct fixture *fixture = (struct fixture *)*state + VLP;
    static const char form[] =
        "{\"id\":\"abc\",\"protocol\":\"VLP/1.1\",\"timestamp\":\"2025-12-14T10:30:00Z\","
        "\"sender\":\"a\",\"content\":\"b\",\"confidence\":0.95%s,\"type\":\"%s\"}";
    static const struct {
        const char *more, *type;
        bool is_accepted;
    } rows[] = {{"", "notice", true},
                {"", "claim", false},
                {",\"provenance\":[\"a\"]", "claim", true},
                {",\"provenance\":[\"a\"]", "evidence", false},
                {",\"provenance\":[\"a\"],\"refers_to\":\"x\"", "evidence", true},
                {"", "other", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, form, rows[i].more, rows[i].type);
        assert_int_equal(accepts(fixture, text), rows[i].is_accepted);
    }
    static const char query[] =
        "{\"id\":\"abc\",\"protocol\":\"VLP/1.1\",\"timestamp\":\"2025-12-14T10:30:00Z\","
        "\"sender\":\"a\",\"content\":\"b\",\"safety\":{\"level\":\"review\"},\"type\":\"%s\"}";
    char text[512];
    snprintf(text, sizeof text, query, "query"); /* may leave its confidence out */
    assert_true(accepts(fixture, text));
    snprintf(text, sizeof text, query, "notice");
    assert_false(accepts(fixture, text));
}

static void test_the_size_as_messagepack_is_added_up(void **state) {
    struct fixture *fixture = (struct fixture *)*state + SUPERVISOR;
    static const char *const values[] = {
        "true,false,null,[],{}",
        "0,-0,-0.0,0.0,0e0,127,128,255,256,65535,65536,4294967295,4294967296",
        "-1,-32,-33,-128,-129,-32768,-32769,-2147483648,-2147483649",
        "9223372036854775807,9223372036854775808,18446744073709551615,18446744073709551616",
        "-9223372036854775808,-9223372036854775809,99999999999999999999,1e18,10000000000000000000",
        "0.5,0.1,1.0,1e2,16777217.0,3.4028234663852886e38,3.5e38,1e300,5e-324,1e-46,-2.5",
        "\"\",\"a\\nb\",\"\\u0041\\u0000\\u007f\\u0080\\u07ff\\u0800\\uffff\",\"\\ud83d\\ude00\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"\xC3\xA9\\u00e9\xF0\x9F\x98\x80\"",
        "{\"a\":{\"b\":[1,{\"\":[]}]}, \"c\" : 1 }",
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"type\":\"checkpoint\",\"timestamp\":1705392000,\"data\":{\"x\":[%s]}}",
                 values[i]);
        accepts(fixture, text);
        assert_true(fixture->both.certainty != ACCEPT_UNSURE);
        assert_int_not_equal(fixture->both.fast.packed_bytes, 0);
    }
}

/* Where a length or a count needs a longer head. */
static void test_the_size_of_long_texts_and_lists_is_added_up(void **state) {
    struct fixture *fixture = (struct fixture *)*state + SUPERVISOR;
    static const size_t bounds[] = {15, 31, 255, 65535};
    for (size_t i = 0; i < 2 * sizeof bounds / sizeof bounds[0]; i++) {
        const size_t count = bounds[i / 2] + i % 2;
        struct parley_buffer text;
        parley_buffer_init(&text);
        parley_buffer_text(&text, "{\"type\":\"shutdown\",\"timestamp\":1,\"text\":\"");
        for (size_t k = 1; k < count; k++) {
            parley_buffer_char(&text, 'x');
        }
        parley_buffer_text(&text, "\\n\",\"list\":[0");
        for (size_t k = 1; k < count; k++) {
            parley_buffer_text(&text, ",0");
        }
        parley_buffer_text(&text, "]}");
        parley_buffer_char(&text, '\0');
        assert_int_equal(parley_buffer_status(&text), PARLEY_OK);
        accepts(fixture, text.data);
        assert_int_not_equal(fixture->both.fast.packed_bytes, 0);
        parley_buffer_finish(&text);
    }
}

/* Any byte in any place of a short message, and every message that is cut off. */
static void test_what_it_accepts_of_damaged_bytes_is_right(void **state) {
    struct fixture *fixture = (struct fixture *)*state + VLP;
    static const char text[] = HEAD ",\"topic\":\"\\u00e9\xC3\xA9\",\"seq\" : -1.5e+3}";
    const struct parley_options options = {0};
    for (size_t at = 0; at < sizeof text - 1; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char *copy = malloc(sizeof text - 1); /* so that a read behind the end is seen */
            memcpy(copy, text, sizeof text - 1);
            copy[at] = (char)byte;
            assert_agree(fixture, "changed", (struct parley_bytes){copy, sizeof text - 1},
                         &options);
            free(copy);
        }
        char *copy = malloc(at + 1);
        memcpy(copy, text, at);
        assert_false(assert_agree(fixture, "cut", (struct parley_bytes){copy, at}, &options));
        free(copy);
    }
}

/* One message object reads them all, in this order: what it expects of each is what came before. */
static void test_members_may_come_in_any_order(void **state) {
    struct fixture *fixture = (struct fixture *)*state + VLP;
#define ID "\"id\":\"abc\""
#define PROTOCOL "\"protocol\":\"VLP/1.1\""
#define REST                                                                                       \
    "\"type\":\"notice\",\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"a\",\"content\":"     \
    "\"b\","                                                                                       \
    "\"confidence\":0.5"
    static const struct {
        const char *text;
        bool is_accepted;
    } rows[] = {
        {"{" ID "," PROTOCOL "," REST "}", true},
        {"{" ID "," PROTOCOL "," REST "}", true},
        {"{" PROTOCOL "," ID "," REST "}", true},
        {"{" PROTOCOL "," PROTOCOL "," REST "}", false}, /* twice where another is expected */
        {"{" PROTOCOL "," ID "," ID "," REST "}", false},
        {"{" REST "," PROTOCOL "}", false},
        {"{" REST "," PROTOCOL "," ID "}", true},
        {"{" ID ",\"x\":1," PROTOCOL "," REST "}", true}, /* behind one that no rule names */
        {"{" ID ",\"x\":1," PROTOCOL ",\"x\":2," REST "}", false},
        {"{" ID ",\"x\":{" ID "," PROTOCOL "}," PROTOCOL "," REST "}",
         true}, /* of another object */
        {"{\"x\":{" ID "," ID "}," ID "," PROTOCOL "," REST "}", false},
        {"{" ID ",\"payload\":{" ID ",\"level\":1}," PROTOCOL "," REST
         ",\"safety\":{\"level\":\"safe\"}}",
         true},
        {"{" ID ",\"safety\":{\"level\":\"safe\"}," PROTOCOL "," REST ",\"level\":3}", true},
        {"{" ID ",\"safety\":{\"id\":0,\"level\":\"none\"}," PROTOCOL "," REST "}", false},
        {"{\"id\" : \"abc\"," PROTOCOL "," REST "}", true},
        {"{" ID ",\"*\":1," PROTOCOL "," REST "}", true}, /* the name of no place */
        {"{" ID ",\"*\":1,\"*\":1," PROTOCOL "," REST "}", false},
        {"{" ID "," PROTOCOL "," REST ",\"provenance\":[{\"ref\":\"r\",\"*\":1,\"*\":2}]}", false},
        {"{" REST "," PROTOCOL ",\"id\":\"\"}", false},
        {"{" REST "," PROTOCOL ",\"id\"}", false},
        {"{" REST "," PROTOCOL ",\"id\":}", false},
    };
#undef ID
#undef PROTOCOL
#undef REST
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (accepts(fixture, rows[i].text) != rows[i].is_accepted) {
            fail_msg("%s: it is %s", rows[i].text, rows[i].is_accepted ? "not sure" : "sure");
        }
    }
}

static void nest(struct parley_buffer *text, int depth, char opening, char closing) {
    parley_buffer_clear(text);
    parley_buffer_text(text, HEAD ",\"x\":");
    for (int i = 0; i < depth; i++) {
        parley_buffer_char(text, opening);
        parley_buffer_text(text, opening == '{' && i + 1 < depth ? "\"a\":" : "");
    }
    for (int i = 0; i < depth; i++) {
        parley_buffer_char(text, closing);
    }
    parley_buffer_char(text, '}');
}

static void test_nesting_is_accepted_down_to_64(void **state) {
    struct fixture *fixture = (struct fixture *)*state + VLP;
    const struct parley_options options = {0};
    struct parley_buffer text;
    parley_buffer_init(&text);
    for (int depth = 60; depth < 70; depth++) {
        nest(&text, depth, '[', ']');
        assert_int_equal(assert_agree(fixture, "arrays", parley_buffer_bytes(&text), &options),
                         depth <= 63);
        nest(&text, depth, '{', '}');
        assert_int_equal(assert_agree(fixture, "objects", parley_buffer_bytes(&text), &options),
                         depth <= 63);
    }
    parley_buffer_finish(&text);
}

static void test_a_few_hundred_keys_are_told_apart(void **state) {
    struct fixture *fixture = (struct fixture *)*state + VLP;
    const struct parley_options options = {0};
    struct parley_buffer text;
    parley_buffer_init(&text);
    for (int count = 1; count < 300; count += 7) {
        for (int repeated = -1; repeated < count; repeated += 1 + count / 3) {
            parley_buffer_clear(&text);
            parley_buffer_text(&text, HEAD ",\"x\":{");
            for (int i = 0; i < count; i++) {
                parley_buffer_format(&text, "%s\"k%d\":%d", i == 0 ? "" : ",", i, i);
            }
            if (repeated >= 0) {
                parley_buffer_format(&text, ",\"k%d\":0", repeated);
            }
            parley_buffer_text(&text, "}}");
            assert_int_equal(assert_agree(fixture, "keys", parley_buffer_bytes(&text), &options),
                             repeated < 0 && count <= 255);
        }
    }
    parley_buffer_finish(&text);
}

static void test_what_only_the_inspection_finds_needs_no_other_reader(void **state) {
    struct fixture *fixture = (struct fixture *)*state + SUPERVISOR;
    const struct parley_options options = {0};
    static const struct {
        const char *type, *more;
        int filler; /* bytes */
        enum accept_certainty certainty;
        const char *rule;
    } rows[] = {
        {"heartbeat", "", 20, ACCEPT_RIGHT, NULL},
        {"heartbeat", "", 200, ACCEPT_INSPECTED, "IPC-007"},
        {"checkpoint", "", 1 << 20, ACCEPT_INSPECTED, "IPC-101"},
        {"checkpoint", ",\"compressed\":true,\"compression\":\"zstd\",\"data\":\"!\"", 20,
         ACCEPT_INSPECTED, "IPC-016"},
        {"wal_entry", "", 20, ACCEPT_WHOLE, NULL},
        {"heartbeat", ",\"x\":nul", 200, ACCEPT_UNSURE, NULL},
    };
    struct parley_buffer text;
    parley_buffer_init(&text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bool has_data = strstr(rows[i].more, "data") != NULL;
        parley_buffer_clear(&text);
        parley_buffer_format(&text, "{\"type\":\"%s\",\"timestamp\":1,\"filler\":\"%0*d\"%s%s}",
                             rows[i].type, rows[i].filler, 0, rows[i].more,
                             has_data ? "" : ",\"data\":{}");
        assert_agree(fixture, rows[i].type, parley_buffer_bytes(&text), &options);
        assert_int_equal(fixture->both.certainty, rows[i].certainty);
        const struct parley_findings *findings = &fixture->both.fast.findings;
        assert_int_equal(findings->count, rows[i].rule != NULL);
        if (rows[i].rule != NULL) {
            assert_string_equal(findings->items[0].rule->id, rows[i].rule);
        }
    }
    parley_buffer_finish(&text);
}

/* ---- how ---- */

static void test_an_example_is_checked_without_an_allocation(void **state) {
    struct fixture *fixtures = *state;
    const struct parley_options options = {0};
    for (size_t i = 0; i < PROTOCOLS; i++) {
        struct parley_message message;
        parley_message_init(&message, fixtures[i].schema);
        const struct parley_example *example = fixtures[i].cases.items[0].protocol->examples;
        for (; example->name != NULL; example++) {
            fault_heap_arm(SIZE_MAX, 0);
            const enum parley_status status =
                parley_message_check(&message, parley_bytes_of(example->text), &parley_codec_json,
                                     &options, (struct parley_position){1, 1});
            const size_t allocations = fault_heap_disarm();
            assert_int_equal(status, PARLEY_OK);
            assert_true(message.is_certain && message.is_decoded);
            assert_true(parley_message_is_valid(&message));
            if (message.derived == NULL) { /* nothing had to be unpacked */
                assert_int_equal(allocations, message.arena.used_bytes > 0 ? 1 : 0);
            }
        }
        parley_message_finish(&message);
    }
}

static void test_a_message_is_accepted_fast_once_it_is_stamped(void **state) {
    struct fixture *fixture = (struct fixture *)*state + VLP;
    static const struct {
        const char *text;
        bool is_certain;
    } rows[] = {
        {HEAD "}", true}, /* nothing was absent */
        {"{\"type\":\"notice\",\"sender\":\"a\",\"content\":\"b\",\"confidence\":0.5}", true},
        {"{\"type\":\"claim\",\"sender\":\"a\",\"content\":\"b\",\"confidence\":1}", false},
    };
    const struct parley_options options = {
        .stamp = true, .now = CASES_NOW, .now_seconds = CASES_NOW_SECONDS, .fresh_id = CASES_ID};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_message message;
        parley_message_init(&message, fixture->schema);
        assert_int_equal(parley_message_check(&message, parley_bytes_of(rows[i].text),
                                              &parley_codec_json, &options,
                                              (struct parley_position){1, 1}),
                         PARLEY_OK);
        assert_int_equal(message.is_certain, rows[i].is_certain);
        assert_int_equal(parley_message_is_valid(&message), i != 2);
        assert_int_equal(message.values[0].kind, PARLEY_STRING); /* the id */
        parley_message_finish(&message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_example_is_accepted_fast),
        cmocka_unit_test(test_nearly_all_faultless_conformance_cases_are_accepted_fast),
        cmocka_unit_test(test_what_it_accepts_of_broken_messages_is_right),
        cmocka_unit_test(test_what_is_right_is_accepted_and_what_is_not_is_not),
        cmocka_unit_test(test_what_follows_from_a_type_that_comes_last_is_seen),
        cmocka_unit_test(test_the_size_as_messagepack_is_added_up),
        cmocka_unit_test(test_the_size_of_long_texts_and_lists_is_added_up),
        cmocka_unit_test(test_what_it_accepts_of_damaged_bytes_is_right),
        cmocka_unit_test(test_members_may_come_in_any_order),
        cmocka_unit_test(test_nesting_is_accepted_down_to_64),
        cmocka_unit_test(test_a_few_hundred_keys_are_told_apart),
        cmocka_unit_test(test_what_only_the_inspection_finds_needs_no_other_reader),
        cmocka_unit_test(test_an_example_is_checked_without_an_allocation),
        cmocka_unit_test(test_a_message_is_accepted_fast_once_it_is_stamped),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
