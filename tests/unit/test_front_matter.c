/* SPDX-License-Identifier: Apache-2.0 */

/* Front matter as a table: what it means as JSON, or what is wrong with it, where, and how the hint
 * begins. The lines of dashes around it are added, so that line 2 is its first. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "brenner/brenner.h"
#include "lib/message_fixture.h"
#include "lib/rounds.h"

struct meaning {
    const char *name;
    struct parley_bytes yaml;
    const char *json; /* without the body */
};

#define Y(text)                                                                                    \
    { (text), sizeof(text) - 1 } /* a constant, which PARLEY_BYTES is not */

static const struct meaning meanings[] = {
    {"nothing is an empty mapping", Y(""), "{}"},
    {"blank lines are too", Y("\n \n"), "{}"},
    {"so are comments", Y("# none\n"), "{}"},
    {"members stay in order", Y("b: x\na: y\n"), "{\"b\":\"x\",\"a\":\"y\"}"},
    {"CRLF ends lines", Y("a: x\r\nb: 'y\r\n  z'\r\n"), "{\"a\":\"x\",\"b\":\"y z\"}"},
    {"the braces of JSON are YAML", Y("{\"a\":1,\"b\":[true,null]}\n"),
     "{\"a\":1,\"b\":[true,null]}"},
    {"a list in brackets", Y("to: [A, B]\n"), "{\"to\":[\"A\",\"B\"]}"},
    {"a list with dashes", Y("to:\n- A\n- B\n"), "{\"to\":[\"A\",\"B\"]}"},
    {"a list with dashes, indented", Y("to:\n  - A\n  - - B\n    - C\n"),
     "{\"to\":[\"A\",[\"B\",\"C\"]]}"},
    {"empty list and mapping", Y("a: []\nb: {}\n"), "{\"a\":[],\"b\":{}}"},
    {"mappings nest", Y("a:\n  b:\n    c: d\n  e: f\n"),
     "{\"a\":{\"b\":{\"c\":\"d\"},\"e\":\"f\"}}"},
    {"nested keys repeat those outside", Y("a: {a: {a: 1}}\nb: {a: 1}\n"),
     "{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}"},
    {"a mapping in a list", Y("a:\n- b: 1\n  c: 2\n- b: 1\n"),
     "{\"a\":[{\"b\":1,\"c\":2},{\"b\":1}]}"},
    {"keys in quotes", Y("\"a b\": 1\n'c: d': 2\n\"1\": 3\n"), "{\"a b\":1,\"c: d\":2,\"1\":3}"},
    {"an explicit key", Y("? a\n: b\n"), "{\"a\":\"b\"}"},
    {"an empty key in quotes", Y("\"\": 1\n"), "{\"\":1}"},
    {"what is no character of YAML 1.1, in double quotes",
     Y("a: \"b\xC2\x85\xE2\x80\xA8\xE2\x80\xA9\xEF\xBB\xBF\x7F\xC2\x9F\xEF\xBF\xBF"
       "c\"\n"),
     "{\"a\":\"b\xC2\x85\xE2\x80\xA8\xE2\x80\xA9\xEF\xBB\xBF\x7F\xC2\x9F\xEF\xBF\xBF"
     "c\"}"},
    {"the same in single quotes, in keys and lists",
     Y("'\xE2\x80\xA8': ['\xC2\x85', x, \"\xEF\xBB\xBF\"]\nb: '\xC2\x85\n  \xE2\x80\xA9'\n"),
     "{\"\xE2\x80\xA8\":[\"\xC2\x85\",\"x\",\"\xEF\xBB\xBF\"],\"b\":\"\xC2\x85 \xE2\x80\xA9\"}"},
    {"the same beside what stands in for it",
     Y("\xF3\xB0\x80\x80: \"\xF3\xB0\x80\x80\xC2\x85\\U000F0000\xE2\x80\xA8\xF3\xB0\x80\x81\"\n"
       "c: \xF3\xB0\x80\x81 # \xF3\xB0\x80\x81\n"),
     "{\"\xF3\xB0\x80\x80\":"
     "\"\xF3\xB0\x80\x80\xC2\x85\xF3\xB0\x80\x80\xE2\x80\xA8\xF3\xB0\x80\x81\","
     "\"c\":\"\xF3\xB0\x80\x81\"}"},
    {"a comment after the header of a block", Y("a: > #c\n  x\nb: |-  # c\n  y\n"),
     "{\"a\":\"x\\n\",\"b\":\"y\"}"},
    {"merge keys are none", Y("<<: a\n"), "{\"<<\":\"a\"}"},

    {"true and false alone are booleans",
     Y("a: [true, false, True, TRUE, yes, no, on, off, y, n, Yes, No]\n"),
     "{\"a\":[true,false,\"True\",\"TRUE\",\"yes\",\"no\",\"on\",\"off\",\"y\",\"n\",\"Yes\","
     "\"No\"]}"},
    {"null in its spellings", Y("a: [null, Null, NULL, ~, nULL, nil]\nb:\nc: # x\n"),
     "{\"a\":[null,null,null,null,\"nULL\",\"nil\"],\"b\":null,\"c\":null}"},
    {"quotes make text of anything", Y("a: [\"true\", 'null', \"1\", '~', \"\"]\n"),
     "{\"a\":[\"true\",\"null\",\"1\",\"~\",\"\"]}"},
    {"block scalars are text", Y("a: |\n  1\nb: >-\n  true\n"), "{\"a\":\"1\\n\",\"b\":\"true\"}"},
    {"integers", Y("a: [0, 1, -1, +1, 12345678901234567890, 007, -0]\n"),
     "{\"a\":[0,1,-1,1,12345678901234567890,7,-0]}"},
    {"octal and hexadecimal", Y("a: [0o17, 0x1F, 0xfFfFfFfFfFfFfFfFfF, 0o0, 0x0000000000001]\n"),
     "{\"a\":[15,31,4722366482869645213695,0,1]}"},
    {"floats keep their spelling", Y("a: [0.85, 1e3, 1E+3, -1.50e-7, 0.0]\n"),
     "{\"a\":[0.85,1e3,1E+3,-1.50e-7,0.0]}"},
    {"floats that JSON spells in another way", Y("a: [.5, -.5, +.5, 1., 1.e2, 00.5, 01e2]\n"),
     "{\"a\":[0.5,-0.5,0.5,1.0,1.0e2,0.5,1e2]}"},
    {"what is almost a number is text",
     Y("a: [1_000, 0b1, 0o8, 0xG, 0x, 0o, -0x1, +0o1, 1e, 1.2.3, ., -, e5, 1:30, 0X1, ٣]\n"),
     "{\"a\":[\"1_000\",\"0b1\",\"0o8\",\"0xG\",\"0x\",\"0o\",\"-0x1\",\"+0o1\",\"1e\",\"1.2.3\","
     "\".\",\"-\",\"e5\",\"1:30\",\"0X1\",\"٣\"]}"},
    {"dates are text", Y("a: 2025-12-30\nb: 2025-12-30T10:00:00Z\n"),
     "{\"a\":\"2025-12-30\",\"b\":\"2025-12-30T10:00:00Z\"}"},
    {"infinity and not-a-number in quotes are text", Y("a: ['.inf', \".nan\"]\n"),
     "{\"a\":[\".inf\",\".nan\"]}"},

    {"a colon without a blank is text", Y("a: http://x:80/\nb: INFO:x\n"),
     "{\"a\":\"http://x:80/\",\"b\":\"INFO:x\"}"},
    {"a comment ends a plain value", Y("a: b #c\nd: e#f\n"), "{\"a\":\"b\",\"d\":\"e#f\"}"},
    {"quotes in quotes", Y("a: 'it''s'\nb: \"\\\"x\\\"\"\nc: it's \"y\"\n"),
     "{\"a\":\"it's\",\"b\":\"\\\"x\\\"\",\"c\":\"it's \\\"y\\\"\"}"},
    {"escapes", Y("a: \"\\0\\a\\b\\e\\t\\n\\r\\/\\\\ \\x41\\u00e9\\U0001F600\\N\\_\\L\\P\"\n"),
     "{\"a\":\"\\u0000\\u0007\\u0008\\u001b\\t\\n\\r/\\\\ A\xC3\xA9\xF0\x9F\x98\x80\xC2\x85\xC2\xA0"
     "\xE2\x80\xA8\xE2\x80\xA9\"}"},
    {"a plain value over lines", Y("a: b\n  c\n\n  d\n"), "{\"a\":\"b c\\nd\"}"},
    {"a double-quoted value over lines", Y("a: \"b\n  c\\\n  d\"\n"), "{\"a\":\"b cd\"}"},
    {"a tab behind a colon", Y("a:\tb\n"), "{\"a\":\"b\"}"},
    {"characters beyond the first plane", Y("a: \xF0\x9F\x98\x80\n"),
     "{\"a\":\"\xF0\x9F\x98\x80\"}"},
    {"a no-break space is a character", Y("a: x\xC2\xA0y\n"), "{\"a\":\"x\xC2\xA0y\"}"},
    {"the end of the document may be marked", Y("a: b\n...\n# c\n"), "{\"a\":\"b\"}"},
    {"a flow mapping of names alone", Y("a: {b, c: d}\n"), "{\"a\":{\"b\":null,\"c\":\"d\"}}"},
    {"question marks within text, and before a key", Y("a: [b?c, {? d : e?}]\nf: ?g\n"),
     "{\"a\":[\"b?c\",{\"d\":\"e?\"}],\"f\":\"?g\"}"},
    {"a pair in a list", Y("a: [b: c]\n"), "{\"a\":[{\"b\":\"c\"}]}"},
};

struct fault {
    const char *name;
    struct parley_bytes yaml;
    const char *rule;
    size_t line, column;
    const char *path;
    const char *hint; /* a part of it */
};

static const struct fault faults[] = {
    {"a colon and a blank in a plain value", Y("subject: KICKOFF: x\n"), "GW-001", 2, 17, "",
     "subject: \"KICKOFF: x\""},
    {"places count code points", Y("a: \xC3\xA9\xF0\x9F\x98\x80 b: c\r\n"), "GW-001", 2, 8, "",
     "a: \"\xC3\xA9\xF0\x9F\x98\x80 b: c\""},
    {"lines are those of the whole document", Y("a: b\r\nc: d\r\ne: f: g\n"), "GW-001", 4, 5, "",
     "e: \"f: g\""},
    {"a colon at the end of a plain value", Y("a: b:\n"), "GW-001", 2, 5, "", "a: \"b:\""},
    {"quotes within a value to be quoted", Y("a: b \"c\": d\n"), "GW-001", 2, 9, "",
     "a: \"b \\\"c\\\": d\""},
    {"a colon and a blank where the value began on another line", Y("a: b\n  c: d\n"), "GW-001", 3,
     4, "", "Put the whole value in double quotes."},
    {"a colon and a blank behind quotes", Y("a: \"b\": c\n"), "GW-001", 2, 7, "",
     "Put the whole value in double quotes."},
    {"a member without a blank behind its colon", Y("from:x\n"), "GW-006", 2, 1, "",
     "Write one member per line"},
    {"a line that is no member", Y("a: b\nhello\nc: d\n"), "GW-001", 3, 1, "", "name: value"},
    {"an open list", Y("to: [a, b\n"), "GW-001", 3, 1, "", "Close the bracket"},
    {"an open mapping", Y("to: {a: b\n"), "GW-001", 3, 1, "", "Close the brace"},
    {"an open quote is told where it begins", Y("a: b\nc: \"d\n"), "GW-001", 3, 4, "",
     "Close the quote"},
    {"an open single quote", Y("a: it's\nb: 'c''\n"), "GW-001", 3, 4, "", "Close the quote"},
    {"a value that begins with an at sign", Y("a: @x\n"), "GW-001", 2, 4, "", "double quotes"},
    {"a value that begins with a backtick", Y("a: `x`\n"), "GW-001", 2, 4, "", "double quotes"},
    {"a value that begins with a percent sign", Y("a: %x\n"), "GW-001", 2, 4, "", "double quotes"},
    {"a tab before a member", Y("a:\n\tb: c\n"), "GW-001", 3, 1, "", "Indent with spaces."},
    {"an escape that there is not", Y("a: \"\\q\"\n"), "GW-001", 2, 5, "", "Double the backslash"},
    {"half of a surrogate pair", Y("a: \"\\ud83d\\ude00\"\n"), "GW-001", 2, 7, "",
     "Write the character itself"},
    {"a list on the line of its name", Y("a: - b\n"), "GW-001", 2, 4, "", "on the next line"},
    {"something behind a quote", Y("a: \"b\" c\n"), "GW-001", 2, 8, "", "closing quote"},
    {"a member left of the others", Y("  a: b\nc: d\n"), "GW-001", 3, 1, "", "the same column"},
    {"nothing where a value must be", Y("a: [,]\n"), "GW-001", 2, 5, "", "Write a value"},
    {"a directive", Y("%YAML 1.2\n"), "GW-001", 2, 1, "", "begins with %"},
    {"a directive after a comment", Y("# x\n\n%TAG ! !\na: b\n"), "GW-001", 4, 1, "",
     "begins with %"},
    {"an anchor", Y("a: &x b\n"), "GW-001", 2, 4, "", "Write the value out"},
    {"an anchor on a list", Y("a: &x [b]\n"), "GW-001", 2, 4, "", "Write the value out"},
    {"an anchor on a mapping", Y("a: &x {b: c}\n"), "GW-001", 2, 4, "", "Write the value out"},
    {"an anchor on a key", Y("&x a: b\n"), "GW-001", 2, 1, "", "Write the value out"},
    {"an alias", Y("a: *x\n"), "GW-001", 2, 4, "", "Write the value itself"},
    {"an alias as a key", Y("*x : b\n"), "GW-001", 2, 1, "", "Write the value itself"},
    {"bold text", Y("a: **b**\n"), "GW-001", 2, 4, "", "double quotes"},
    {"a tag", Y("a: !!str 1\n"), "GW-001", 2, 4, "", "Remove the tag"},
    {"the tag that means none", Y("a: ! 1\n"), "GW-001", 2, 4, "", "Remove the tag"},
    {"a tag on a list", Y("a: !x [1]\n"), "GW-001", 2, 4, "", "Remove the tag"},
    {"a tag on the mapping", Y("!!map {a: b}\n"), "GW-001", 2, 1, "", "Remove the tag"},
    {"a document marker with a comment", Y("a: b\n--- # x\nc: d\n"), "GW-001", 3, 1, "",
     "one YAML document"},
    {"a marker before all members", Y("--- # x\na: b\n"), "GW-001", 2, 1, "", "one YAML document"},
    {"members behind the document's end", Y("a: b\n...\nc: d\n"), "GW-001", 4, 1, "",
     "one YAML document"},
    {"infinity", Y("a: .inf\n"), "GW-001", 2, 4, "", "double quotes"},
    {"not a number", Y("a: [1, .NaN]\n"), "GW-001", 2, 8, "", "double quotes"},
    {"a number that no double holds", Y("a: 1e309\n"), "GW-001", 2, 4, "", "double"},
    {"a number key", Y("a: b\n1: c\n"), "GW-001", 3, 1, "", "Put the key in double quotes."},
    {"a boolean key", Y("a: {true: c}\n"), "GW-001", 2, 5, "", "Put the key in double quotes."},
    {"a null key", Y("~: c\n"), "GW-001", 2, 1, "", "Put the key in double quotes."},
    {"a list as a key", Y("[a]: b\n"), "GW-001", 2, 1, "", "Put the key in double quotes."},
    {"a mapping as a key", Y("? {a: b}\n: c\n"), "GW-001", 2, 3, "",
     "Put the key in double quotes."},
    {"a NUL in a key", Y("\"a\\0b\": 1\n"), "GW-001", 2, 1, "", "Remove the \\0"},

    {"a question mark that would make a key", Y("a: [b, ?c]\n"), "GW-001", 2, 8, "",
     "double quotes"},
    {"a question mark within braces", Y("a: {?b: c}\n"), "GW-001", 2, 5, "", "double quotes"},

    {"a key twice", Y("a: 1\nb: 2\na: 3\n"), "GW-003", 4, 1, "/a", "Keep one"},
    {"a key twice, once in quotes", Y("a: 1\n\"\\x61\": 3\n"), "GW-003", 3, 1, "/a", "Keep one"},
    {"a key three times is told at the second", Y("a: 1\na: 2\na: 3\n"), "GW-003", 3, 1, "/a",
     "Keep one"},
    {"a nested key twice", Y("a:\n- {}\n- b: {\"c/~\": 1, \"c/~\": 2}\n"), "GW-003", 4, 17,
     "/a/1/b/c~1~0", "Keep one"},
    {"of two repeated keys the first", Y("a: 1\nb: 1\nb: 2\na: 2\n"), "GW-003", 4, 1, "/b",
     "Keep one"},
    {"an outer repetition before an inner one", Y("a: 1\na: {b: 1, b: 2}\n"), "GW-003", 3, 1, "/a",
     "Keep one"},
    {"an inner repetition before an outer one", Y("a: {b: 1, b: 2}\na: 1\n"), "GW-003", 2, 11,
     "/a/b", "Keep one"},
    {"a repetition before a fault", Y("a: 1\na: 2\nb: [\n"), "GW-003", 3, 1, "/a", "Keep one"},
    {"a fault before a repetition", Y("a: *x\na: 2\n"), "GW-001", 2, 4, "", "Write the value"},
    {"a repetition before a fault inside", Y("a: 1\na: 2\nb: [{c: *x}]\n"), "GW-003", 3, 1, "/a",
     "Keep one"},

    {"bytes that are no UTF-8", Y("a: b\nc: x\xFF\n"), "GW-005", 3, 5, "", "UTF-8"},
    {"a fault before bytes that are no UTF-8", Y("a: *b\nc: \xFF\n"), "GW-001", 2, 4, "",
     "Write the value"},
    {"a fault behind bytes that are no UTF-8", Y("a: \xFF\nc: *b\n"), "GW-005", 2, 4, "", "UTF-8"},
    {"a repetition before bytes that are no UTF-8", Y("a: b\na: c\nd: \xFF\n"), "GW-003", 3, 1,
     "/a", "Keep one"},
    {"an open list and then bytes that are no UTF-8", Y("a: [b\xFF]\n"), "GW-005", 2, 6, "",
     "UTF-8"},
    {"a surrogate in UTF-8", Y("a: \xED\xA0\x80\n"), "GW-005", 2, 4, "", "UTF-8"},
    {"a NUL byte", Y("a: b\0c\n"), "GW-001", 2, 5, "", "as an escape"},
    {"a control character", Y("a: \"b\x01\"\n"), "GW-001", 2, 6, "", "as an escape"},
    {"a DEL", Y("a: \x7F\n"), "GW-001", 2, 4, "", "as an escape"},
    {"a C1 control", Y("a: \xC2\x9F\n"), "GW-001", 2, 4, "", "as an escape"},
    {"a next line outside of quotes",
     Y("a: \"b\xC2\x85"
       "c\"\nd: e\xC2\x85"
       "f\n"),
     "GW-001", 3, 5, "", "in double quotes"},
    {"a line separator after a fault", Y("a: *x\nd: \xE2\x80\xA8\n"), "GW-001", 2, 4, "",
     "Write the value"},
    {"a line separator before a fault", Y("a: \xE2\x80\xA8\nb: 1\nb: 2\n"), "GW-001", 2, 4, "",
     "as an escape"},
    {"a line separator in quotes before a fault", Y("a: ['\xE2\x80\xA8', *x]\n"), "GW-001", 2, 10,
     "", "Write the value"},
    {"a line separator in quotes that never end", Y("a: '\xE2\x80\xA8\n"), "GW-001", 2, 4, "",
     "Close the quote"},
    {"a line separator in a block", Y("a: |\n  b\xE2\x80\xA8\n"), "GW-001", 3, 4, "",
     "as an escape"},
    {"places after a line separator", Y("a: \"\xE2\x80\xA8\xEF\xBB\xBF\" x\n"), "GW-001", 2, 9, "",
     ""},
    {"a carriage return alone", Y("a: b\rc: d\n"), "GW-001", 2, 5, "",
     "End lines with a line feed"},
    {"a carriage return in quotes", Y("a: \"b\rc\"\n"), "GW-001", 2, 6, "", "as \\r"},
    {"a comment right after >", Y("subject: >#c\n  x\n"), "GW-001", 2, 11, "",
     "a space before the #"},
    {"a comment right after |2-", Y("a: |2-#c\n  x\n"), "GW-001", 2, 7, "", "a space before the #"},
    {"a paragraph separator", Y("# \xE2\x80\xA9\n"), "GW-001", 2, 3, "", "as an escape"},
    {"a byte-order mark inside",
     Y("\xEF\xBB\xBF"
       "a: b\n"),
     "GW-001", 2, 1, "", "as an escape"},
    {"what is no character", Y("a: \xEF\xBF\xBF\n"), "GW-001", 2, 4, "", "as an escape"},

    {"text that is no mapping", Y("Hello\n"), "GW-006", 2, 1, "", "*** for the rule"},
    {"a list that is no mapping", Y("# x\n- a\n"), "GW-006", 3, 1, "", "Write one member per line"},
    {"a null that is no mapping", Y("~\n"), "GW-006", 2, 1, "", "Write one member per line"},
    {"a list with a fault in it", Y("- a\n- *x\n"), "GW-001", 3, 3, "", "Write the value"},
};

/* Reads front matter around which the dashes are put, with an empty body. */
static void read(struct message_fixture *fixture, struct parley_bytes yaml,
                 struct parley_buffer *text) {
    const struct parley_options options = {0};
    parley_buffer_clear(text);
    parley_buffer_text(text, "---\n");
    parley_buffer_append(text, yaml);
    parley_buffer_text(text, "---\n");
    assert_int_equal(parley_message_check(&fixture->message, parley_buffer_bytes(text),
                                          &brenner_codec_markdown, &options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
}

static void test_front_matter_means_what_yaml_says(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_buffer text, wanted;
    parley_buffer_init(&text);
    parley_buffer_init(&wanted);
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        const struct meaning *row = &meanings[i];
        read(fixture, row->yaml, &text);
        const size_t length = strlen(row->json) - 1;
        parley_buffer_clear(&wanted);
        parley_buffer_append(&wanted, (struct parley_bytes){row->json, length});
        parley_buffer_text(&wanted, length > 1 ? ",\"body_md\":\"\"}" : "\"body_md\":\"\"}");
        if (!fixture->message.is_decoded) {
            fail_msg("%s: %s", row->name, fixture->message.findings.items[0].message);
        }
        if (!parley_bytes_equal(fixture->message.text, parley_buffer_bytes(&wanted))) {
            fail_msg("%s: %.*s", row->name, (int)fixture->message.text.length,
                     fixture->message.text.data);
        }
    }
    parley_buffer_finish(&text);
    parley_buffer_finish(&wanted);
}

static void test_what_is_wrong_is_told_with_its_place_and_a_way_out(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_buffer text;
    parley_buffer_init(&text);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const struct fault *row = &faults[i];
        read(fixture, row->yaml, &text);
        assert_false(fixture->message.is_decoded && fixture->message.findings.count == 0);
        const struct parley_finding *got = &fixture->message.findings.items[0];
        if (fixture->message.is_decoded || fixture->message.findings.count != 1 ||
            !fixture->message.findings.has_error || strcmp(got->rule->id, row->rule) != 0 ||
            got->at.line != row->line || got->at.column != row->column ||
            strcmp(got->path, row->path) != 0 || strstr(got->hint, row->hint) == NULL) {
            fail_msg("%s: %s at %zu:%zu %s (%s) %s", row->name, got->rule->id, got->at.line,
                     got->at.column, got->path, got->message, got->hint);
        }
    }
    parley_buffer_finish(&text);
}

/* The line that a hint shows, put in the place of the one that it is about, can be read. */
static void test_a_line_that_a_hint_shows_can_be_read(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_buffer text, mended;
    size_t shown = 0;
    parley_buffer_init(&text);
    parley_buffer_init(&mended);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        read(fixture, faults[i].yaml, &text);
        const struct parley_finding *finding = &fixture->message.findings.items[0];
        const char *line = strstr(finding->hint, "quotes:  ");
        if (line == NULL) {
            continue;
        }
        const char *at = faults[i].yaml.data;
        for (size_t k = 2; k < finding->at.line; k++) {
            at = strchr(at, '\n') + 1;
        }
        parley_buffer_clear(&mended);
        parley_buffer_append(&mended, (struct parley_bytes){faults[i].yaml.data,
                                                            (size_t)(at - faults[i].yaml.data)});
        parley_buffer_text(&mended, line + strlen("quotes:  "));
        parley_buffer_text(&mended, strchr(at, '\n'));
        read(fixture, parley_buffer_bytes(&mended), &text);
        assert_true(fixture->message.is_decoded);
        shown++;
    }
    assert_int_equal(shown, 5);
    parley_buffer_finish(&text);
    parley_buffer_finish(&mended);
}

/* `before`, then `unit` `count` times, then `unit2` as often, then `after`. */
static void repeat(struct parley_buffer *out, const char *before, const char *unit, size_t count,
                   const char *after) {
    parley_buffer_clear(out);
    parley_buffer_text(out, before);
    for (size_t i = 0; i < count; i++) {
        parley_buffer_text(out, unit);
    }
    parley_buffer_text(out, after);
}

static const char *verdict_of(struct message_fixture *fixture) {
    return fixture->message.is_decoded ? "read" : fixture->message.findings.items[0].rule->id;
}

static void test_nesting_ends_at_64(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_buffer yaml, text;
    parley_buffer_init(&yaml);
    parley_buffer_init(&text);
    static const struct {
        const char *before, *unit, *after, *closing;
    } forms[] = {{"a: ", "[", "\n", "]"}, {"a: ", "{a: ", "\n", "}"}, {"a:\n", "- ", "\n", ""}};
    for (size_t form = 0; form < 3; form++) {
        for (size_t depth = 63; depth <= 64; depth++) {
            repeat(&yaml, forms[form].before, forms[form].unit, depth, "x");
            for (size_t i = 0; i < depth; i++) {
                parley_buffer_text(&yaml, forms[form].closing);
            }
            parley_buffer_text(&yaml, forms[form].after);
            read(fixture, parley_buffer_bytes(&yaml), &text);
            assert_string_equal(verdict_of(fixture), depth == 63 ? "read" : "GW-004");
        }
        assert_true(strlen(fixture->message.findings.items[0].path) == 2 + 63 * 2);
    }
    parley_buffer_finish(&yaml);
    parley_buffer_finish(&text);
}

/* Hostile front matter of the message limit's size: a verdict, and soon (the test's time limit). */
static void test_long_front_matter_gets_a_verdict(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_buffer yaml, text;
    parley_buffer_init(&yaml);
    parley_buffer_init(&text);
    static const struct {
        const char *before, *unit, *after, *verdict;
        size_t count;
    } forms[] = {
        {"a: ", "[", "\n", "GW-004", 1000000},
        {"a: ", "{a: ", "\n", "GW-004", 250000},
        {"a: ", "- ", "\n", "GW-001", 500000},
        {"", "? ", "\n", "GW-001", 500000},
        {"a: [", "1,", "]\n", "read", 500000},
        {"a: [", "[],", "]\n", "read", 300000},
        {"a: [", "{},", "]\n", "read", 300000},
        {"a: [", "\"\":,", "]\n", "read", 200000},
        {"a: {", "x: 1,", "}\n", "GW-003", 200000},
        {"", "x: 1\n", "", "GW-003", 200000},
        {"a: \"", "\\u0001", "\"\n", "read", 170000},
        {"a: '", "''", "'\n", "read", 500000},
        {"a: |\n", " x\n", "", "read", 340000},
        {"a: b", "\n\n c", "\n", "read", 250000},
        {"", "\n", "", "read", 1000000},
        {"", "#\n", "", "read", 500000},
        {"a: 0x", "0", "1\n", "read", 1000000},
        {"a: 0x", "F", "\n", "GW-001", 1000000},
        {"a: 0.", "1", "\n", "read", 1000000},
        {"a: 1", "0", "\n", "GW-001", 1000000},
        {"a", "a", ": b\n", "GW-001", 2000},
        {"? a", "a", "\n: b\n", "read", 1000000},
        {"a: ", "&", "\n", "GW-001", 1000000},
        {"a: ", "!", "\n", "GW-001", 1000000},
        {"a: ", "*a ", "\n", "GW-001", 300000},
        {"%", "a", "\n", "GW-001", 1000000},
        {"a: ", ": ", "\n", "GW-001", 500000},
    };
    const size_t percent = test_rounds(20);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const size_t whole = forms[i].count;
        const size_t count = whole >= 100000 ? whole / 100 * percent : whole;
        repeat(&yaml, forms[i].before, forms[i].unit, count, forms[i].after);
        read(fixture, parley_buffer_bytes(&yaml), &text);
        if (strcmp(verdict_of(fixture), forms[i].verdict) != 0) {
            fail_msg("row %zu: %s", i, verdict_of(fixture));
        }
    }
    parley_buffer_finish(&yaml);
    parley_buffer_finish(&text);
}

static void test_as_many_members_as_a_message_holds_are_read(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_buffer yaml, text;
    parley_buffer_init(&yaml);
    parley_buffer_init(&text);
    parley_buffer_char(&yaml, '{');
    for (size_t i = 0; i < 140000; i++) {
        parley_buffer_format(&yaml, "k%zx,", i);
    }
    parley_buffer_text(&yaml, "}\n");
    read(fixture, parley_buffer_bytes(&yaml), &text);
    assert_true(fixture->message.is_decoded);
    parley_buffer_finish(&yaml);
    parley_buffer_finish(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_front_matter_means_what_yaml_says),
        cmocka_unit_test(test_what_is_wrong_is_told_with_its_place_and_a_way_out),
        cmocka_unit_test(test_a_line_that_a_hint_shows_can_be_read),
        cmocka_unit_test(test_nesting_ends_at_64),
        cmocka_unit_test(test_long_front_matter_gets_a_verdict),
        cmocka_unit_test(test_as_many_members_as_a_message_holds_are_read),
    };
    return cmocka_run_group_tests(tests, message_set_up_brenner, message_tear_down);
}
