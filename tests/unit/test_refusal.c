/* SPDX-License-Identifier: Apache-2.0 */

/* The Validation Error body. What it quotes is text: cmark reads it back as what was quoted. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <cmark.h>
#include <stdlib.h>

#include "brenner/markdown.h"
#include "lib/cases.h"
#include "lib/message_fixture.h"
#include "brenner/brenner.h"
#include "lib/random.h"
#include "lib/rounds.h"

static struct parley_bytes refuse(struct message_fixture *fixture, struct parley_bytes text,
                                  const struct parley_codec *codec) {
    const struct parley_options options = {0};
    assert_int_equal(parley_message_check(&fixture->message, text, codec, &options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    parley_buffer_clear(&fixture->out);
    assert_int_equal(markdown_write_refusal(&fixture->message, &fixture->out), PARLEY_OK);
    return parley_buffer_bytes(&fixture->out);
}

static void assert_refusal(struct message_fixture *fixture, const char *text,
                           const struct parley_codec *codec, const char *wanted) {
    const struct parley_bytes got = refuse(fixture, parley_bytes_of(text), codec);
    if (!parley_bytes_equal(got, parley_bytes_of(wanted))) {
        fail_msg("%.*s", (int)got.length, got.data);
    }
}

static void test_a_refusal_names_message_errors_and_ways_out(void **state) {
    assert_refusal(
        *state,
        "---\nsubject: \"ACK: x\"\nid: m-7\nto: [1, 2]\n---\n## Message ID\n7\n"
        "## Status\nno\n",
        &brenner_codec_markdown,
        "# Validation Error\n\n## Message\nm-7\n\n## Errors\n- MB-112: `## Status` contains "
        "\"no\"; "
        "expected only one of Received, Understood, Will Action or Completed (line 8)\n- MB-121: "
        "`to/0` is 1; "
        "expected a string (line 4)\n- MB-121: `to/1` is 2; expected a string (line 4)\n\n## "
        "Suggestion\n- Begin `## Status` with Received, Understood, Will Action or Completed, and "
        "name only one of them.\n- Give this member a value of the right type, in quotes only if "
        "it is a string, or leave it out.\n");
}

static void test_a_place_in_a_body_within_json_says_so(void **state) {
    assert_refusal(
        *state,
        "{\"subject\":\"ACK: x\",\"id\":null,\"body_md\":\"## Message ID\\n7\\n"
        "## Status\\nno\"}",
        &parley_codec_json,
        "# Validation Error\n\n## Message\nACK: x\n\n## Errors\n"
        "- MB-112: `## Status` contains \"no\"; expected only one of Received, Understood, Will "
        "Action or "
        "Completed (line 3 of the body)\n\n## Suggestion\n"
        "- Begin `## Status` with Received, Understood, Will Action or Completed, and name only "
        "one of them.\n");
}

static void test_a_message_without_a_name_is_refused_too(void **state) {
    assert_refusal(
        *state, "{\"body_md\":\"\",\"to\":0,\"id\":[],\"subject\":\"\"}", &parley_codec_json,
        "# Validation Error\n\n## Message\nNo id or subject could be read.\n\n## "
        "Errors\n- MB-001: `subject` is \"\"; expected a subject that begins with KICKOFF:, "
        "DELTA\\[role\\]:, COMPILED:, CRITIQUE:, ACK:, CLAIM:, HANDOFF:, BLOCKED:, QUESTION: or "
        "INFO: (line 1)\n- MB-121: `to` is 0; expected a string or an array or null (line 1)\n- "
        "MB-121: `id` is an array; expected a string or an integer or null (line 1)\n\n## "
        "Suggestion\n- Begin `subject` with the type of the message and a colon, in capitals, as "
        "in \"INFO: server restarts at 02:00\"; DELTA has a role in lower-case letters, as in "
        "\"DELTA\\[opus\\]: \xE2\x80\xA6\".\n- Give this member a value of the right type, in "
        "quotes only if it is a string, or leave it out.\n");
}

static void test_a_message_that_could_not_be_read_is_refused_too(void **state) {
    assert_refusal(
        *state, "---\nsubject: INFO: *x*\n---\n", &brenner_codec_markdown,
        "# Validation Error\n\n## Message\nNo id or subject could be read.\n\n## "
        "Errors\n- GW-001: a value that contains ': ' needs quotes (line 2)\n\n## Suggestion\n- "
        "Put the value in double quotes: subject: \"INFO: \\*x\\*\"\n");
}

static void test_a_number_is_a_name_as_it_was_spelled(void **state) {
    struct message_fixture *fixture = *state;
    const struct parley_bytes got =
        refuse(fixture, PARLEY_BYTES("{\"id\":12345678901234567890}"), &parley_codec_json);
    assert_non_null(memmem(got.data, got.length, "\n12345678901234567890\n", 22));
}

/* The text of a node and what is in it, breaks as blanks. */
static void append_plain(struct parley_buffer *out, cmark_node *node) {
    cmark_iter *at = cmark_iter_new(node);
    for (cmark_event_type event; (event = cmark_iter_next(at)) != CMARK_EVENT_DONE;) {
        cmark_node *here = cmark_iter_get_node(at);
        const cmark_node_type type = cmark_node_get_type(here);
        assert_true(here == node || type == CMARK_NODE_TEXT);
        if (event == CMARK_EVENT_ENTER && type == CMARK_NODE_TEXT) {
            parley_buffer_text(out, cmark_node_get_literal(here));
        }
    }
    cmark_iter_free(at);
}

static cmark_node *expect(cmark_node *node, cmark_node_type type) {
    assert_int_equal(cmark_node_get_type(node), type);
    return cmark_node_next(node);
}

/* The refusal has the document's form, and its message is named by `name`. */
static void assert_form(struct parley_bytes markdown, struct parley_bytes name) {
    cmark_node *document = cmark_parse_document(markdown.data, markdown.length, CMARK_OPT_DEFAULT);
    cmark_node *node = expect(cmark_node_first_child(document), CMARK_NODE_HEADING);
    node = expect(node, CMARK_NODE_HEADING);
    cmark_node *paragraph = node;
    node = expect(node, CMARK_NODE_PARAGRAPH);
    node = expect(node, CMARK_NODE_HEADING);
    node = expect(node, CMARK_NODE_LIST);
    node = expect(node, CMARK_NODE_HEADING);
    assert_null(expect(node, CMARK_NODE_LIST));
    struct parley_buffer text;
    parley_buffer_init(&text);
    append_plain(&text, paragraph);
    if (!parley_bytes_equal(parley_buffer_bytes(&text), name)) {
        fail_msg("%.*s became %.*s", (int)name.length, name.data, (int)text.length, text.data);
    }
    parley_buffer_finish(&text);
    cmark_node_free(document);
}

/* A hint that shows a line of what was sent. */
static void assert_hint_keeps_form(struct message_fixture *fixture, struct parley_buffer *text,
                                   struct parley_bytes name) {
    parley_buffer_clear(text);
    parley_buffer_text(text, "---\nk: v: ");
    parley_buffer_append(text, name);
    parley_buffer_text(text, "\n---\n");
    assert_form(refuse(fixture, parley_buffer_bytes(text), &brenner_codec_markdown),
                PARLEY_BYTES("No id or subject could be read."));
}

static void test_what_is_quoted_stays_text(void **state) {
    struct message_fixture *fixture = *state;
    static const char *const pieces[] = {
        "#",        "##",       "*",     "_",  "__", "`",   "```", "~~~", "[a](b)",
        "[a]: b",   "![",       "<b>",   "<!", "-",  "---", "===", "+",   "1.",
        "12)",      ">",        "&amp;", "\\", "|",  "\n",  " ",   "a",   "b_c",
        "\xC3\xA9", "http://x", "~",     "\"", "'",  "$",   "0",   ".",   "]"};
    struct random_source source = {3};
    struct parley_buffer name, text;
    parley_buffer_init(&name);
    parley_buffer_init(&text);
    for (size_t i = test_rounds(5000); i > 0; i--) {
        parley_buffer_clear(&name);
        parley_buffer_clear(&text);
        parley_buffer_text(&text, "{\"to\":0,\"subject\":\"x\",\"id\":");
        for (size_t left = 1 + random_below(&source, 6); left > 0; left--) {
            parley_buffer_text(&name,
                               pieces[random_below(&source, sizeof pieces / sizeof *pieces)]);
        }
        parley_buffer_json(&text, parley_buffer_bytes(&name));
        parley_buffer_char(&text, '}');
        /* What is quoted stands on one line, with one blank where there were some. */
        size_t length = 0;
        for (size_t k = 0; k < name.length; k++) {
            const bool is_blank = name.data[k] == ' ' || name.data[k] == '\n';
            if (!is_blank || (length > 0 && name.data[length - 1] != ' ')) {
                name.data[length++] = is_blank ? ' ' : name.data[k];
            }
        }
        length -= length > 0 && name.data[length - 1] == ' ';
        if (length > 0) {
            name.length = length;
            assert_form(refuse(fixture, parley_buffer_bytes(&text), &parley_codec_json),
                        parley_buffer_bytes(&name));
            assert_hint_keeps_form(fixture, &text, parley_buffer_bytes(&name));
        }
    }
    parley_buffer_finish(&name);
    parley_buffer_finish(&text);
}

static void test_a_long_name_is_cut_between_characters(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "{\"subject\":\"INFO: x\",\"body_md\":\"\",\"to\":0,\"id\":\"x");
    for (int i = 0; i < 1000; i++) {
        parley_buffer_text(&text, "\xC3\xA9");
    }
    parley_buffer_text(&text, "\"}");
    const struct parley_bytes got = refuse(fixture, parley_buffer_bytes(&text), &parley_codec_json);
    assert_non_null(memmem(got.data, got.length, "\xC3\xA9 \xE2\x80\xA6\n", 7));
    assert_in_range(got.length, 1000, 1400);
    parley_buffer_finish(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refusal_names_message_errors_and_ways_out),
        cmocka_unit_test(test_a_place_in_a_body_within_json_says_so),
        cmocka_unit_test(test_a_message_without_a_name_is_refused_too),
        cmocka_unit_test(test_a_message_that_could_not_be_read_is_refused_too),
        cmocka_unit_test(test_a_number_is_a_name_as_it_was_spelled),
        cmocka_unit_test(test_what_is_quoted_stays_text),
        cmocka_unit_test(test_a_long_name_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, message_set_up_brenner, message_tear_down);
}
