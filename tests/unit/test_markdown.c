/* SPDX-License-Identifier: Apache-2.0 */

/* Markdown messages: the document and its parts, places in it, and writing what can be read. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <glob.h>

#include "brenner/markdown.h"
#include "brenner/json_tokens.h"
#include "lib/cases.h"
#include "brenner/brenner.h"
#include "json/json_message.h"
#include "lib/json_oracle.h"
#include "lib/message_fixture.h"
#include "lib/mutate.h"

static void check(struct parley_message *message, struct parley_bytes text,
                  const struct parley_codec *codec, bool stamp) {
    const struct parley_options options = {.stamp = stamp, .now = CASES_NOW, .fresh_id = CASES_ID};
    assert_int_equal(
        parley_message_check(message, text, codec, &options, (struct parley_position){1, 1}),
        PARLEY_OK);
    if (message->is_certain) { /* what was not needed for the verdict */
        assert_int_equal(markdown_complete(message), PARLEY_OK);
        assert_int_equal(json_decode_carefully(message), PARLEY_OK);
    }
}

#define T(text)                                                                                    \
    { (text), sizeof(text) - 1 }

/* ---- parts ---- */

static void test_a_document_has_front_matter_and_a_body(void **state) {
    struct message_fixture *fixture = *state;
    static const struct {
        struct parley_bytes text;
        struct parley_bytes json;
    } rows[] = {
        {T("---\na: b\n---\nbody\n"), T("{\"a\":\"b\",\"body_md\":\"body\\n\"}")},
        {T("---\r\na: b\r\n---\r\nbody\r\n"), T("{\"a\":\"b\",\"body_md\":\"body\\r\\n\"}")},
        {T("--- \t\na: b\n---  \r\nbody"), T("{\"a\":\"b\",\"body_md\":\"body\"}")},
        {T("---\na: b\n---"), T("{\"a\":\"b\",\"body_md\":\"\"}")},
        {T("---\na: b\n---\n"), T("{\"a\":\"b\",\"body_md\":\"\"}")},
        {T("---\na: b\n---\n\n\n"), T("{\"a\":\"b\",\"body_md\":\"\\n\\n\"}")},
        {T("---\n---\n"), T("{\"body_md\":\"\"}")},
        {T("---\n---\n---\na: b\n---\n"), T("{\"body_md\":\"---\\na: b\\n---\\n\"}")},
        {T("---\na: b\n---\n---\nx"), T("{\"a\":\"b\",\"body_md\":\"---\\nx\"}")},
        {T("---\na: \"b\n ---\n\"\n---\nx"), T("{\"a\":\"b --- \",\"body_md\":\"x\"}")},
        {T("\xEF\xBB\xBF---\na: b\n---\nx"), T("{\"a\":\"b\",\"body_md\":\"x\"}")},
        {T("---\n---\n\xEF\xBB\xBFx"), T("{\"body_md\":\"\xEF\xBB\xBFx\"}")},
        {T("\xEF\xBB\xBFx"), T("{\"body_md\":\"x\"}")},
        {T("# Title\n"), T("{\"body_md\":\"# Title\\n\"}")},
        {T("\n---\na: b\n---\n"), T("{\"body_md\":\"\\n---\\na: b\\n---\\n\"}")},
        {T(" ---\na: b\n---\n"), T("{\"body_md\":\" ---\\na: b\\n---\\n\"}")},
        {T("----\n---\n"), T("{\"body_md\":\"----\\n---\\n\"}")},
        {T("--\n---\n"), T("{\"body_md\":\"--\\n---\\n\"}")},
        {T("---\r---\r"), T("{\"body_md\":\"---\\r---\\r\"}")},
        {T(" "), T("{\"body_md\":\" \"}")},
        {T("---\n---\na\0\x01\x7F\"\\\xC2\x85\xE2\x80\xA8"),
         T("{\"body_md\":\"a\\u0000\\u0001\x7F\\\"\\\\\xC2\x85\xE2\x80\xA8\"}")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(&fixture->message, rows[i].text, &brenner_codec_markdown, false);
        assert_true(fixture->message.is_decoded);
        if (!parley_bytes_equal(fixture->message.text, rows[i].json)) {
            fail_msg("row %zu: %.*s", i, (int)fixture->message.text.length,
                     fixture->message.text.data);
        }
    }
}

static void test_a_document_that_cannot_be_read_is_told_where(void **state) {
    struct message_fixture *fixture = *state;
    static const struct {
        struct parley_bytes text;
        const char *rule;
        size_t line, column;
        const char *path, *hint;
    } rows[] = {
        {T(""), "GW-001", 1, 1, "", "front matter"},
        {T("\xEF\xBB\xBF"), "GW-001", 1, 1, "", "front matter"},
        {T("---"), "GW-001", 1, 1, "", "End it with a line"},
        {T("---\n"), "GW-001", 1, 1, "", "End it with a line"},
        {T("---\na: b\n\nbody\n----\n"), "GW-001", 1, 1, "", "*** instead"},
        {T("---\na: b\n--- x"), "GW-001", 1, 1, "", "*** instead"},
        {T("---\na: b\nx\xFF\n"), "GW-005", 3, 2, "", "UTF-8"},
        {T("---\na: b\n---\nx\n\xC3\xA9\xC3\n"), "GW-005", 5, 2, "", "UTF-8"},
        {T("x\xFF"), "GW-005", 1, 2, "", "UTF-8"},
        {T("---\na: *b\n---\nx\xFF\n"), "GW-001", 2, 4, "", "value itself"},
        {T("---\na: b\nbody_md: c\n---\nd\n"), "GW-003", 3, 10, "/body_md", "Remove this member"},
        {T("---\nbody: |\n  c\n---\n"), "GW-003", 2, 7, "/body", "Remove this member"},
        {T("---\r\na: b\r\nc: d: e\r\n---\r\n"), "GW-001", 3, 5, "", "c: \"d: e\""},
        {T("\xEF\xBB\xBF---\na: b: c\n---\n"), "GW-001", 2, 5, "", "a: \"b: c\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(&fixture->message, rows[i].text, &brenner_codec_markdown, true);
        const struct parley_finding *got = &fixture->message.findings.items[0];
        assert_false(fixture->message.is_decoded);
        assert_false(parley_message_is_valid(&fixture->message));
        assert_int_equal(fixture->message.findings.count, 1);
        if (strcmp(got->rule->id, rows[i].rule) != 0 || got->at.line != rows[i].line ||
            got->at.column != rows[i].column || strcmp(got->path, rows[i].path) != 0 ||
            strstr(got->hint, rows[i].hint) == NULL) {
            fail_msg("row %zu: %s at %zu:%zu %s %s", i, got->rule->id, got->at.line, got->at.column,
                     got->path, got->hint);
        }
    }
}

static void test_markdown_is_what_is_no_json(void **state) {
    (void)state;
    static const struct {
        struct parley_bytes head;
        bool is_markdown;
    } rows[] = {
        {T("---\n"), true},
        {T("# x"), true},
        {T("text"), true},
        {T("\n\n# x"), true},
        {T("\xEF\xBB\xBF---"), true},
        {T(""), true},
        {T("{\"a\""), false},
        {T(" \r\n\t["), false},
        {T("\xEF\xBB\xBF {"), false},
        {T("\0{"), true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(markdown_begins(rows[i].head), rows[i].is_markdown);
    }
}

/* ---- places ---- */

struct place {
    const char *rule, *path;
    size_t line, column;
};

static void assert_places(struct message_fixture *fixture, struct parley_bytes text, bool stamp,
                          const struct place *places) {
    check(&fixture->message, text, &brenner_codec_markdown, stamp);
    const struct parley_findings *findings = &fixture->message.findings;
    size_t i = 0;
    for (; places[i].rule != NULL; i++) {
        const struct parley_finding *got = &findings->items[i];
        assert_true(i < findings->count);
        if (strcmp(got->rule->id, places[i].rule) != 0 || strcmp(got->path, places[i].path) != 0 ||
            got->at.line != places[i].line || got->at.column != places[i].column ||
            got->body_at.line != 0) {
            fail_msg("%.*s: %s %s at %zu:%zu", (int)text.length, text.data, got->rule->id,
                     got->path, got->at.line, got->at.column);
        }
    }
    assert_int_equal(findings->count, i);
}

static void test_findings_are_placed_in_the_markdown(void **state) {
    static const struct {
        struct parley_bytes text;
        struct place places[4];
    } rows[] = {
        {T("---\na: b\nsubject: \"INFO: x\"\nto: 1\n---\n"), {{"MB-121", "/to", 4, 5}}},
        {T("---\r\nsubject: \"INFO: x\"\r\nto:\r\n- \xC3\xA9\r\n-   1\r\n- [x]\r\n---\r\n"),
         {{"MB-121", "/to/1", 5, 5}, {"MB-121", "/to/2", 6, 3}}},
        {T("---\n{\"\xF0\x9F\x98\x80\": [1], \"to\": [a, 2], subject: \"INFO: x\"}\n---\n"),
         {{"MB-121", "/to/1", 2, 22}}},
        {T("---\nto: A\n---\nx\n"), {{"MB-001", "/subject", 1, 1}}},
        {T("x\n"), {{"MB-001", "/subject", 1, 1}}},
        {T("---\nsubject: \"QUESTION: x\"\nack_required: true\n---\na\n"),
         {{"MB-118", "/body_md", 5, 1}, {"MB-136", "/body_md", 5, 1}}},
        {T("---\nsubject: \"DELTA[opus]: x\"\nack_required: false\n---\na\n> ```delta\n> "
           "{\xC3\xA9\n"),
         {{"MB-005", "/body_md", 7, 4}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_places(*state, rows[i].text, false, rows[i].places);
        assert_places(*state, rows[i].text, true, rows[i].places); /* stamp moves nothing */
    }
}

static void test_a_document_within_a_body_has_places_of_the_body(void **state) {
    struct message_fixture *fixture = *state;
    const struct parley_options options = {0};
    const struct parley_bytes text = PARLEY_BYTES("---\nsubject: 1\n---\n");
    assert_int_equal(parley_message_check(&fixture->message, text, &brenner_codec_markdown,
                                          &options, (struct parley_position){7, 5}),
                     PARLEY_OK);
    assert_int_equal(fixture->message.findings.items[0].at.line, 8);
    assert_int_equal(fixture->message.findings.items[0].at.column, 10);
    assert_int_equal(parley_message_check(&fixture->message, PARLEY_BYTES("x"),
                                          &brenner_codec_markdown, &options,
                                          (struct parley_position){7, 5}),
                     PARLEY_OK);
    assert_int_equal(fixture->message.findings.items[0].at.line, 7);
    assert_int_equal(fixture->message.findings.items[0].at.column, 5);
}

static void test_stamp_fills_the_id_of_a_markdown_message(void **state) {
    struct message_fixture *fixture = *state;
    check(&fixture->message, PARLEY_BYTES("---\nsubject: x\n---\ny"), &brenner_codec_markdown,
          true);
    assert_true(parley_bytes_equal(
        fixture->message.text,
        PARLEY_BYTES("{\"id\":\"" CASES_ID "\",\"subject\":\"x\",\"body_md\":\"y\"}")));
}

/* ---- writing ---- */

static void test_members_are_written_as_people_would(void **state) {
    struct message_fixture *fixture = *state;
    static const struct {
        const char *json;
        struct parley_bytes markdown;
    } rows[] = {
        {"{}", T("---\n---\n")},
        {"{\"body_md\":\"# T\\n\"}", T("---\n---\n# T\n")},
        {"{\"body_md\":\"x\",\"subject\":\"INFO: a\",\"from\":\"GreenDog\",\"to\":[\"A\",\"B c\"]}",
         T("---\nsubject: \"INFO: a\"\nfrom: GreenDog\nto: [A, \"B c\"]\n---\nx")},
        {"{\"thread_id\":\"RS-20251230-cell-fate\",\"id\":7,\"ack_required\":true,\"x\":null}",
         T("---\nthread_id: RS-20251230-cell-fate\nid: 7\nack_required: true\nx: null\n---\n")},
        {"{\"a\":{\"b\":[1,{\"c d\":[]}],\"e\":{}}}",
         T("---\na: {b: [1, {\"c d\": []}], e: {}}\n---\n")},
        {"{ \"v\" : [ 0.850 , 1e3, -0, 12345678901234567890 ,\n1E+2 ] }",
         T("---\nv: [0.850, 1e3, -0, 12345678901234567890, 1E+2]\n---\n")},
        {"{\"a\":\"true\",\"b\":\"No\",\"c\":\"1\",\"d\":\"\",\"e\":\"2025-12-30\",\"f\":\"y\","
         "\"g\":\"NULL\",\"h\":\"~\",\"i\":\" x\",\"j\":\"a: b\",\"k\":\"a #b\",\"l\":\"-\"}",
         T("---\na: \"true\"\nb: \"No\"\nc: \"1\"\nd: \"\"\ne: \"2025-12-30\"\nf: \"y\"\n"
           "g: \"NULL\"\nh: \"~\"\ni: \" x\"\nj: \"a: b\"\nk: \"a #b\"\nl: \"-\"\n---\n")},
        {"{\"a\":\"\\u0000\\u0007\\t\\n\\r\\u007f\\u0085\\u009f\\u00a0\\u2028\\ufeff\\uffff"
         "\\ud83d\\ude00\\\"\\\\\\/\"}",
         T("---\na: \"\\u0000\\u0007\\t\\n\\u000D\\u007F\\u0085\\u009F\xC2\xA0\\u2028\\uFEFF"
           "\\uFFFF\xF0\x9F\x98\x80\\\"\\\\/\"\n---\n")},
        {"{\"yes\":1,\"\":2,\"a b\":3,\"\\u0062ody\":\"x\"}",
         T("---\n\"yes\": 1\n\"\": 2\n\"a b\": 3\n---\nx")},
        {"{\"sender_name\":\"A\",\"body\":\"x\",\"sections\":[{}],\"deltas\":[1,{\"a\":2}]}",
         T("---\nsender_name: A\n---\nx")},
        {"{\"body\":\"x\",\"body_md\":\"y\"}", T("---\n---\ny")},
        {"{\"body_md\":\"y\",\"body\":\"x\"}", T("---\n---\ny")},
        {"{\"body_md\":null,\"body\":\"x\"}", T("---\n---\nx")},
        {"{\"body_md\":7}", T("---\n---\n")},
        {"{\"a\":{\"sections\":1,\"body\":2}}", T("---\na: {sections: 1, body: 2}\n---\n")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        parley_buffer_clear(&fixture->out);
        check(&fixture->message, parley_bytes_of(rows[i].json), &parley_codec_json, false);
        assert_int_equal(markdown_write(&fixture->message, &fixture->out), PARLEY_OK);
        if (!parley_bytes_equal(parley_buffer_bytes(&fixture->out), rows[i].markdown)) {
            fail_msg("row %zu: %.*s", i, (int)fixture->out.length, fixture->out.data);
        }
    }
}

/* Appends a JSON value on one line, its strings spelled as parley_buffer_json does. */
static void append_plain_json(struct parley_buffer *out, struct parley_bytes json) {
    struct parley_buffer scratch;
    struct json_token token;
    parley_buffer_init(&scratch);
    while (json_token_next(&json, &token)) {
        if (token.kind == '"') {
            struct parley_bytes text;
            assert_true(json_token_decode(token.text, &scratch, &text));
            parley_buffer_json(out, text);
        } else {
            parley_buffer_append(out, token.text);
        }
    }
    parley_buffer_finish(&scratch);
}

static bool is_left_out(struct parley_bytes key) {
    static const char *const keys[] = {"sections", "deltas", "body", "body_md"};
    for (size_t i = 0; i < 4; i++) {
        if (parley_bytes_equal(key, parley_bytes_of(keys[i]))) {
            return true;
        }
    }
    return false;
}

/* What a message must be when it was written as Markdown and is read again. */
static void make_wanted(struct message_fixture *fixture, const json_t *tree) {
    struct json_members members = {.rest = fixture->message.text};
    struct json_member member;
    struct parley_buffer *out = &fixture->wanted;
    const json_t *body = json_object_get(tree, "body_md");
    body = json_is_string(body) ? body : json_object_get(tree, "body");
    parley_buffer_clear(out);
    parley_buffer_char(out, '{');
    while (json_member_next(&members, &member)) {
        if (!is_left_out(member.key)) {
            parley_buffer_json(out, member.key);
            parley_buffer_char(out, ':');
            append_plain_json(out, member.value);
            parley_buffer_char(out, ',');
        }
    }
    json_members_finish(&members);
    parley_buffer_text(out, "\"body_md\":");
    parley_buffer_json(out,
                       (struct parley_bytes){json_string_value(body), json_string_length(body)});
    parley_buffer_char(out, '}');
}

static bool same_member(const json_t *one, const json_t *other, const char *key) {
    const json_t *a = json_object_get(one, key), *b = json_object_get(other, key);
    return json_equal(a, b);
}

/* Writes the present message, reads that, and writes it again. */
static void assert_survives(struct message_fixture *fixture, const char *name) {
    parley_buffer_clear(&fixture->out);
    parley_buffer_clear(&fixture->second);
    assert_int_equal(markdown_write(&fixture->message, &fixture->out), PARLEY_OK);
    check(&fixture->other, parley_buffer_bytes(&fixture->out), &brenner_codec_markdown, false);
    if (!fixture->other.is_decoded) {
        const struct parley_finding *finding = &fixture->other.findings.items[0];
        fail_msg("%s: %s at %zu:%zu of\n%.*s", name, finding->message, finding->at.line,
                 finding->at.column, (int)fixture->out.length, fixture->out.data);
    }
    json_t *tree = json_oracle_read(fixture->message.text);
    json_t *again = json_oracle_read(fixture->other.text);
    assert_true(json_is_object(tree) && json_is_object(again));
    make_wanted(fixture, tree);
    if (!parley_bytes_equal(fixture->other.text, parley_buffer_bytes(&fixture->wanted))) {
        fail_msg("%s: %.*s\nbecame %.*s", name, (int)fixture->wanted.length, fixture->wanted.data,
                 (int)fixture->other.text.length, fixture->other.text.data);
    }
    const char *key;
    json_t *value;
    json_object_foreach(tree, key, value) {
        assert_true(is_left_out(parley_bytes_of(key)) || same_member(tree, again, key));
    }
    json_decref(tree);
    json_decref(again);
    assert_int_equal(markdown_write(&fixture->other, &fixture->second), PARLEY_OK);
    assert_true(parley_bytes_equal(parley_buffer_bytes(&fixture->out),
                                   parley_buffer_bytes(&fixture->second)));
}

/* Those of every protocol: whatever is an object can be front matter. */
static void test_every_conformance_case_survives_markdown(void **state) {
    struct message_fixture *fixture = *state;
    glob_t files;
    size_t survived = 0;
    assert_int_equal(glob(PARLEY_SOURCE_DIR "/tests/conformance/*.ndjson", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        FILE *file = fopen(files.gl_pathv[i], "r");
        json_t *test;
        assert_non_null(file);
        while ((test = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL)) != NULL) {
            const json_t *body = json_object_get(test, "body");
            const bool is_markdown =
                strcmp("text/markdown", json_string_value(json_object_get(test, "media_type"))) ==
                0;
            const struct parley_bytes text = {json_string_value(body), json_string_length(body)};
            check(&fixture->message, text,
                  is_markdown ? &brenner_codec_markdown : &parley_codec_json, false);
            if (fixture->message.is_decoded) {
                assert_survives(fixture, json_string_value(json_object_get(test, "name")));
                survived++;
            }
            json_decref(test);
        }
        fclose(file);
    }
    globfree(&files);
    assert_true(survived > 50);
}

static void test_awkward_bodies_survive_markdown(void **state) {
    struct message_fixture *fixture = *state;
    static const struct parley_bytes bodies[] = {
        T(""),
        T("x"),
        T("\n"),
        T("\n\nx"),
        T("---"),
        T("---\n"),
        T("---\na: b\n---\nc"),
        T("...\n"),
        T("\r\n"),
        T("\r"),
        T("x\r\ny\r\n"),
        T("\xEF\xBB\xBF"
          "x"),
        T(" x \t"),
        T("a\0b"),
        T("\0"),
        T("\x01\x1F\x7F"),
        T("\xC2\x85\xE2\x80\xA8\xE2\x80\xA9"),
        T("\"'\\`*"),
        T("\xF0\x9F\x98\x80"),
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        for (int has_subject = 0; has_subject < 2; has_subject++) {
            struct parley_buffer text;
            parley_buffer_init(&text);
            parley_buffer_text(&text,
                               has_subject ? "{\"subject\":\"x\",\"body_md\":" : "{\"body_md\":");
            parley_buffer_json(&text, bodies[i]);
            parley_buffer_char(&text, '}');
            check(&fixture->message, parley_buffer_bytes(&text), &parley_codec_json, false);
            assert_survives(fixture, "an awkward body");
            assert_true(fixture->out.length > bodies[i].length &&
                        memcmp(fixture->out.data + fixture->out.length - bodies[i].length,
                               bodies[i].data, bodies[i].length) == 0);
            parley_buffer_finish(&text);
        }
    }
}

/* A string of what YAML or Markdown might trip over. */
static void append_awkward(struct random_source *source, struct parley_buffer *out) {
    static const char *const pieces[] = {
        "a",        "true",    "null",    "1",       ".",
        "e5",       "-",       ":",       ": ",      " #",
        "#",        " ",       "  ",      "\\n",     "\\r",
        "\\t",      "'",       "\\\"",    "\\\\",    "[",
        "]",        "{",       "}",       ",",       "&",
        "*",        "!",       "|",       ">",       "%",
        "@",        "`",       "?",       "~",       "---",
        "...",      "\\u0000", "\\u001b", "\\u007f", "\\u0085",
        "\\u00a0",  "\\u2028", "\\ufeff", "\\uffff", "\\ud83d\\ude00",
        "\xC3\xA9", "<<",      "0x1F"};
    parley_buffer_char(out, '"');
    for (size_t left = random_below(source, 6); left > 0; left--) {
        parley_buffer_text(out, pieces[random_below(source, sizeof pieces / sizeof pieces[0])]);
    }
    parley_buffer_char(out, '"');
}

static void append_awkward_value(struct random_source *source, struct parley_buffer *out,
                                 int depth) {
    static const char *const words[] = {"null",  "true", "false",           "0", "-0", "1.50",
                                        "1e-07", "1E5",  "9007199254740993"};
    const size_t kind = random_below(source, depth > 3 ? 4 : 6);
    if (kind == 0) {
        parley_buffer_text(out, words[random_below(source, sizeof words / sizeof words[0])]);
    } else if (kind < 4) {
        append_awkward(source, out);
    } else {
        const bool is_array = kind == 4;
        parley_buffer_char(out, is_array ? '[' : '{');
        for (size_t i = 0, count = random_below(source, 4); i < count; i++) {
            parley_buffer_text(out, i > 0 ? " , " : "");
            if (!is_array) {
                append_awkward(source, out);
                parley_buffer_text(out, " :\n");
            }
            append_awkward_value(source, out, depth + 1);
        }
        parley_buffer_char(out, is_array ? ']' : '}');
    }
}

static void test_awkward_members_survive_markdown(void **state) {
    struct message_fixture *fixture = *state;
    struct random_source source = {11};
    struct parley_buffer text;
    size_t survived = 0;
    parley_buffer_init(&text);
    for (int i = 0; i < 20000; i++) {
        parley_buffer_clear(&text);
        parley_buffer_char(&text, '{');
        for (size_t k = 0, count = 1 + random_below(&source, 4); k < count; k++) {
            parley_buffer_text(&text, k > 0 ? "," : "");
            append_awkward(&source, &text);
            parley_buffer_char(&text, ':');
            append_awkward_value(&source, &text, 0);
        }
        parley_buffer_char(&text, '}');
        check(&fixture->message, parley_buffer_bytes(&text), &parley_codec_json, false);
        if (fixture->message.is_decoded) { /* else a key stands in it twice */
            assert_survives(fixture, text.data);
            survived++;
        }
    }
    assert_in_range(survived, 10000, 20000);
    parley_buffer_finish(&text);
}

static void test_long_keys_and_deep_values_survive_markdown(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_buffer text;
    parley_buffer_init(&text);
    for (size_t length = 100; length < 3000; length = length * 3 / 2) {
        parley_buffer_clear(&text);
        parley_buffer_text(&text, "{\"a\":[{\"");
        for (size_t i = 0; i < length; i++) {
            parley_buffer_text(&text, i % 7 == 0 ? "\\u0001" : "k");
        }
        parley_buffer_text(&text, "\":1}],\"");
        for (size_t i = 0; i < length; i++) {
            parley_buffer_text(&text, "k");
        }
        parley_buffer_text(&text, "\":{\"x\":2}}");
        check(&fixture->message, parley_buffer_bytes(&text), &parley_codec_json, false);
        assert_survives(fixture, "a long key");
    }
    parley_buffer_clear(&text);
    parley_buffer_text(&text, "{\"a\":");
    for (int i = 0; i < 63; i++) {
        parley_buffer_text(&text, i % 2 == 0 ? "[" : "{\"k\":");
    }
    for (int i = 62; i >= 0; i--) {
        parley_buffer_text(&text, i == 62 ? "]" : i % 2 == 0 ? "]" : "}");
    }
    parley_buffer_char(&text, '}');
    check(&fixture->message, parley_buffer_bytes(&text), &parley_codec_json, false);
    assert_true(fixture->message.is_decoded);
    assert_survives(fixture, "64 levels");
    parley_buffer_finish(&text);
}

/* A body of a megabyte of which JSON is six times as long, stamped. */
static void test_the_largest_body_is_read_and_written(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "---\nsubject: x\n---\n");
    while (text.length < (1 << 20)) {
        parley_buffer_char(&text, '\x01');
    }
    check(&fixture->message, parley_buffer_bytes(&text), &brenner_codec_markdown, true);
    assert_true(fixture->message.is_decoded);
    parley_buffer_clear(&fixture->out);
    assert_int_equal(markdown_write(&fixture->message, &fixture->out), PARLEY_OK);
    assert_int_equal(fixture->out.length, text.length + strlen("id: \"" CASES_ID "\"\n"));
    parley_buffer_finish(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_document_has_front_matter_and_a_body),
        cmocka_unit_test(test_a_document_that_cannot_be_read_is_told_where),
        cmocka_unit_test(test_markdown_is_what_is_no_json),
        cmocka_unit_test(test_findings_are_placed_in_the_markdown),
        cmocka_unit_test(test_a_document_within_a_body_has_places_of_the_body),
        cmocka_unit_test(test_stamp_fills_the_id_of_a_markdown_message),
        cmocka_unit_test(test_members_are_written_as_people_would),
        cmocka_unit_test(test_every_conformance_case_survives_markdown),
        cmocka_unit_test(test_awkward_bodies_survive_markdown),
        cmocka_unit_test(test_awkward_members_survive_markdown),
        cmocka_unit_test(test_long_keys_and_deep_values_survive_markdown),
        cmocka_unit_test(test_the_largest_body_is_read_and_written),
    };
    return cmocka_run_group_tests(tests, message_set_up_brenner, message_tear_down);
}
