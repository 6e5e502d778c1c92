/* SPDX-License-Identifier: Apache-2.0 */

/* What a message says of itself for an index: its references with their relation, and the members
 * that its protocol names. The messages are the protocols' examples, and some at the limits. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <parley/index.h>
#include <parley/message.h>

#include "checked_message.h"
#include "lib/fault_heap.h"

#define CHECKPOINT "550e8400-e29b-41d4-a716-446655440000"

/* A message: an example of its protocol by name, or a text; and what is written of it. */
static const struct wanted {
    const char *protocol, *example, *text, *wanted;
} rows[] = {
    {"vlp", NULL,
     "{\"protocol\":\"VLP/1.1\",\"id\":\"a\",\"type\":\"evidence\",\"sender\":\"s\",\"timestamp\":"
     "\"2026-01-01T00:00:00Z\",\"content\":\"c\",\"provenance\":[\"x\"],"
     "\"refers_to\":[\"b\",\"b\",\"\\u0063\",\"\"],\"keywords\":[\"heat\"],\"confidence\":0.5}",
     "supports b, supports c, keyword heat, {\"confidence\":0.5}"},
    {"vlp", NULL,
     "{\"protocol\":\"VLP/1.1\",\"id\":\"a\",\"type\":\"response\",\"sender\":\"s\",\"timestamp\":"
     "\"2026-01-01T00:00:00Z\",\"content\":\"c\",\"confidence\":1,\"refers_to\":\"q\"}",
     "answers q, {\"confidence\":1}"},
    {"vlp", NULL,
     "{\"protocol\":\"VLP/1.1\",\"id\":\"a\",\"type\":\"correction\",\"sender\":\"s\","
     "\"timestamp\":\"2026-01-01T00:00:00Z\",\"content\":\"c\",\"confidence\":1,\"refers_to\":"
     "\"b\",\"payload\":"
     "{\"refers_to\":\"inside\",\"keywords\":[\"inside\"]}}",
     "corrects b, {\"confidence\":1}"},
    {"vlp", NULL,
     "{\"protocol\":\"VLP/1.1\",\"id\":\"a\",\"type\":\"query\",\"sender\":\"s\",\"timestamp\":"
     "\"2026-01-01T00:00:00Z\",\"content\":\"c\",\"refers_to\":null}",
     "waits, "},
    {"vlp", NULL,
     "{\"protocol\":\"VLP/1.1\",\"id\":\"a\",\"type\":\"claim\",\"sender\":\"s\",\"timestamp\":"
     "\"2026-01-01T00:00:00Z\",\"content\":\"c\",\"confidence\":0.5,\"provenance\":[]}",
     "waits, {\"confidence\":0.5}"},
    {"vlp", NULL,
     "{\"protocol\":\"VLP/1.1\",\"id\":\"a\",\"type\":\"claim\",\"sender\":\"s\",\"timestamp\":"
     "\"2026-01-01T00:00:00Z\",\"content\":\"c\",\"confidence\":0.5,\"provenance\":[\"p\"]}",
     "{\"confidence\":0.5}"},
    {"roundtable", "task-request", NULL,
     "{\"priority\":\"normal\",\"ttl\":3600,\"task\":\"security.briefing\"}"},
    {"roundtable", "task-claimed", NULL,
     "task " CHECKPOINT ", {\"message\":\"Acknowledged. Scanning threat feeds...\"}"},
    {"roundtable", "task-progress", NULL,
     "task " CHECKPOINT ", {\"percent\":60,\"message\":\"Analyzed 3/5 threat feeds. Spawning CVE "
     "sub-agent.\"}"},
    {"roundtable", "task-result", NULL, "task " CHECKPOINT ", {\"status\":\"completed\"}"},
    {"roundtable", "task-failed", NULL,
     "task 560e8400-e29b-41d4-a716-446655440006, {\"error\":\"rate_limited\",\"message\":\"LLM API "
     "rate limit exceeded. Retry after 60s.\",\"retryable\":true}"},
    {"roundtable", "heartbeat", NULL, "{\"status\":\"healthy\"}"},
    {"supervisor", "heartbeat", NULL, ""},
    {"supervisor", "checkpoint-ack", NULL, "checkpoint " CHECKPOINT ", "},
    {"supervisor", "restore", NULL, "checkpoint " CHECKPOINT ", "},
    {"supervisor", "hot-reload", NULL, "backup " CHECKPOINT ", {\"module\":\"memory\"}"},
    {"supervisor", "evolution-intent", NULL,
     "{\"reason\":\"Memory is searched one block at a time\",\"target\":\"memory_system\"}"},
    {"supervisor", "evolution-result", NULL,
     "{\"success\":true,\"decision\":\"promoted\",\"reason\":\"The shadow instance was 15% "
     "faster\"}"},
    {"supervisor", "wal-entry", NULL, "{\"operation\":\"memory_add\",\"sequence\":12345}"},
    {"supervisor", "wal-batch", NULL, ""},
    {"supervisor", "error-gerbil", NULL,
     "{\"code\":\"TOOL_FAILED\",\"message\":\"calculator: division by zero\"}"},
    {"brenner", "kickoff", NULL,
     "{\"subject\":\"KICKOFF: How do cells choose their fate?\",\"ack_required\":true}"},
    {"brenner", "delta", NULL,
     "{\"subject\":\"DELTA[opus]: Add epigenetic memory as a third hypothesis\"}"},
    {"brenner", "critique", NULL,
     "{\"subject\":\"CRITIQUE: A2 takes gradients to be stable\",\"ack_required\":true,"
     "\"target\":\"A2, gradient stability\",\"severity\":\"Major\"}"},
    {"brenner", "ack", NULL,
     "acknowledges 1043, {\"subject\":\"ACK: A2 takes gradients to be stable\",\"status\":\"Will "
     "Action\"}"},
    {"brenner", "claim", NULL,
     "item brenner_bot-5so.3.4.2, {\"subject\":\"CLAIM: brenner_bot-5so.3.4.2 (delta parser)\","
     "\"item\":\"brenner_bot-5so.3.4.2\",\"agent\":\"GreenDog\"}"},
    {"brenner", "handoff", NULL,
     "item brenner_bot-5so.3.4.2, {\"subject\":\"HANDOFF: brenner_bot-5so.3.4.2 to RedLake\","
     "\"ack_required\":true,\"item\":\"brenner_bot-5so.3.4.2\",\"from\":\"GreenDog\",\"to\":"
     "\"RedLake\"}"},
    {"brenner", "blocked", NULL,
     "item brenner_bot-5so.1, {\"subject\":\"BLOCKED: brenner_bot-5so.1 waits for the schema\","
     "\"ack_required\":true,\"item\":\"brenner_bot-5so.1\",\"type\":\"Dependency\"}"},
    {"brenner", "question", NULL,
     "{\"subject\":\"QUESTION: Which rubric applies to meta-analyses?\",\"ack_required\":true,"
     "\"urgency\":\"Soon\"}"},
    {"brenner", NULL,
     "{\"subject\":\"QUESTION: x\",\"thread_id\":\"bot-5so.1\",\"body_md\":\"## Question\\nWhy?\"}",
     "item bot-5so.1, {\"subject\":\"QUESTION: x\"}"},
    {"brenner", NULL,
     "{\"subject\":\"CRITIQUE: x\",\"thread_id\":\"bot-5so.1\",\"body_md\":\"## "
     "Target\\nA2\\n\\n## "
     "Attack\\nNo\"}",
     "item bot-5so.1, {\"subject\":\"CRITIQUE: x\",\"target\":\"A2\"}"},
    {"brenner", NULL,
     "{\"subject\":\"QUESTION: x\",\"thread_id\":\"COORD-ice\",\"body_md\":\"## Question\\nWhy?\"}",
     "{\"subject\":\"QUESTION: x\"}"},
    {"brenner", NULL,
     "{\"subject\":\"BLOCKED: x\",\"thread_id\":\"bot-5so.1\",\"body_md\":\"## "
     "Item\\nbot-2\\n\\n## "
     "Blocker\\nx\"}",
     "item bot-2, {\"subject\":\"BLOCKED: x\",\"item\":\"bot-2\"}"},
    {"brenner", "info", NULL, "{\"subject\":\"INFO: The mail server restarts at 02:00 UTC\"}"},
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static const char *text_of(const struct parley_protocol *protocol, const struct wanted *row) {
    const struct parley_example *at = protocol->examples;
    while (row->text == NULL && strcmp(at->name, row->example) != 0) {
        at++;
    }
    return row->text != NULL ? row->text : at->text;
}

static void write_entry(const struct parley_protocol *protocol,
                        const struct parley_index_entry *entry, struct parley_buffer *out) {
    parley_buffer_text(out, entry->is_waiting ? "waits, " : "");
    for (size_t i = 0; i < entry->reference_count; i++) {
        parley_buffer_text(out, protocol->index->relations[entry->references[i].relation].name);
        parley_buffer_char(out, ' ');
        parley_buffer_append(out, entry->references[i].target);
        parley_buffer_text(out, ", ");
    }
    parley_buffer_append(out, (struct parley_bytes){entry->members, entry->members_length});
    parley_buffer_char(out, '\0');
}

static void test_an_entry_has_what_the_message_says(void **state) {
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const struct parley_protocol *protocol =
            parley_protocol_find(parley_bytes_of(rows[i].protocol));
        struct checked_message checked;
        struct parley_index_entry entry;
        struct parley_buffer out;
        checked_message_make(&checked, rows[i].protocol, text_of(protocol, &rows[i]));
        parley_buffer_init(&out);
        assert_int_equal(parley_message_index(&checked.message, NULL, &entry), PARLEY_OK);
        write_entry(protocol, &entry, &out);
        assert_string_equal(out.data, rows[i].wanted);
        assert_false(entry.has_more);
        parley_buffer_finish(&out);
        checked_message_finish(&checked);
    }
}

static void test_an_entry_has_the_members_of_the_route(void **state) {
    (void)state;
    struct checked_message checked;
    struct parley_index_entry entry;
    checked_message_make(
        &checked, "brenner",
        "{\"subject\":\"INFO: x\",\"body_md\":\"y\",\"id\":7,\"from\":\"Ann\",\"to\":[\"Bob\","
        "\"Cleo\"],\"thread_id\":\"COORD-daily-sync\"}");
    assert_int_equal(parley_message_index(&checked.message, NULL, &entry), PARLEY_OK);
    assert_true(parley_bytes_equal(entry.id, PARLEY_BYTES("7")));
    assert_true(parley_bytes_equal(entry.thread, PARLEY_BYTES("COORD-daily-sync")));
    assert_true(parley_bytes_equal(entry.sender, PARLEY_BYTES("Ann")));
    assert_true(parley_bytes_equal(entry.type, PARLEY_BYTES("brenner.info")));
    assert_int_equal(entry.receiver_count, 2);
    assert_true(parley_bytes_equal(entry.receivers[1], PARLEY_BYTES("Cleo")));
    checked_message_finish(&checked);
}

/* ---- what is open ---- */

#define CONTEXT(members)                                                                           \
    "{\"protocol\":\"VLP/1.1\",\"id\":\"a\",\"type\":\"session_context\",\"sender\":\"s\","        \
    "\"timestamp\":\"2026-01-01T00:00:00Z\",\"content\":\"c\",\"confidence\":1" members "}"

static const struct {
    const char *text, *wanted;
} contexts[] = {
    {CONTEXT(""), "{\"keywords\":[]}"},
    {CONTEXT(",\"keywords\":[],\"payload\":null"), "{\"keywords\":[]}"},
    {CONTEXT(
         ",\"keywords\":[\"done\",\"pending:review\",\"pending\",\"pendings\",\"a pending:b\"]"),
     "{\"keywords\":[\"pending:review\",\"pending\"]}"},
    {CONTEXT(",\"payload\":{\"completed\":[1],\"pending\":[\"a\",\"b\"],\"next_session_hints\":["
             "\"c\"]}"),
     "{\"keywords\":[],\"pending\":[\"a\",\"b\"],\"next_session_hints\":[\"c\"]}"},
    {CONTEXT(",\"pending\":1,\"payload\":{\"x\":{\"pending\":2},\"pending\":{\"pending\":3}}"),
     "{\"keywords\":[],\"pending\":{\"pending\":3}}"},
};

static void test_a_context_says_what_is_open_in_its_own_words(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof contexts / sizeof contexts[0]; i++) {
        enum parley_status status = PARLEY_E_MEMORY;
        for (size_t first = 0; status != PARLEY_OK; first++) {
            struct checked_message checked;
            struct parley_buffer out;
            checked_message_make(&checked, "vlp", contexts[i].text);
            parley_buffer_init(&out);
            fault_heap_arm(first, SIZE_MAX);
            status = checked.message.protocol->index->sessions->write_open(&checked.message, &out);
            fault_heap_disarm();
            if (status == PARLEY_OK) {
                parley_buffer_char(&out, '\0');
                assert_string_equal(out.data, contexts[i].wanted);
            }
            parley_buffer_finish(&out);
            checked_message_finish(&checked);
        }
    }
}

static void test_an_entry_says_whether_it_asks_acknowledges_and_is_urgent(void **state) {
    static const struct {
        const char *type, *body, *more;
        unsigned part;
    } cases[] = {
        {"INFO", "x", "", 0},
        {"INFO", "x", ",\"ack_required\":false,\"importance\":\"normal\"", 0},
        {"INFO", "x", ",\"ack_required\":true", PARLEY_INDEX_ASKS},
        {"INFO", "x", ",\"importance\":\"high\"", PARLEY_INDEX_URGENT},
        {"INFO", "x", ",\"ack_required\":true,\"importance\":\"urgent\"",
         PARLEY_INDEX_ASKS | PARLEY_INDEX_URGENT},
        {"ACK", "# A\\n\\n## Status\\nReceived", ",\"ack_required\":true",
         PARLEY_INDEX_ACKNOWLEDGES},
        {"QUESTION", "# Q\\n\\n## Question\\nWhy?\\n\\n## Urgency\\nSoon", "",
         PARLEY_INDEX_IS_ITEM},
        {"QUESTION", "# Q\\n\\n## Question\\nWhy?\\n\\n## Urgency\\nBlocking", "",
         PARLEY_INDEX_URGENT | PARLEY_INDEX_IS_ITEM},
        {"INFO", "x", ",\"from\":\"parley\",\"id\":\"remind:x\"", PARLEY_INDEX_REMINDS},
        {"INFO", "x", ",\"from\":\"parley\",\"id\":\"x\"", 0},
        {"INFO", "x", ",\"from\":\"Ann\",\"id\":\"remind:x\",\"ack_required\":true",
         PARLEY_INDEX_ASKS},
        {"ACK", "# A\\n\\n## Status\\nReceived", ",\"from\":\"parley\",\"id\":\"remind:x\"",
         PARLEY_INDEX_ACKNOWLEDGES},
        {"CRITIQUE", "# C\\n\\n## Target\\nA2\\n\\n## Attack\\nNo\\n\\n## Severity\\nCritical", "",
         PARLEY_INDEX_URGENT | PARLEY_INDEX_IS_ITEM},
        {"CLAIM", "# C\\n\\n## Item\\nx\\n\\n## Agent\\nAnn", "", PARLEY_INDEX_IS_ITEM},
        {"HANDOFF", "# H\\n\\n## Item\\nx\\n\\n## From\\nAnn\\n\\n## To\\nBob",
         ",\"ack_required\":true", PARLEY_INDEX_ASKS | PARLEY_INDEX_IS_ITEM},
        {"BLOCKED", "# B\\n\\n## Item\\nx\\n\\n## Blocker\\ny", "", PARLEY_INDEX_IS_ITEM},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct checked_message checked;
        struct parley_index_entry entry = {.part = 99};
        char text[512];
        snprintf(text, sizeof text, "{\"subject\":\"%s: x\",\"body_md\":\"%s\"%s}", cases[i].type,
                 cases[i].body, cases[i].more);
        checked_message_make(&checked, "brenner", text);
        assert_int_equal(parley_message_index(&checked.message, NULL, &entry), PARLEY_OK);
        if (entry.part != cases[i].part) {
            fail_msg("%s: %u", text, entry.part);
        }
        checked_message_finish(&checked);
    }
}

/* ---- reminders ---- */

#define X10 "xxxxxxxxxx"
#define X90 X10 X10 X10 X10 X10 X10 X10 X10 X10
#define CUT "INFO: Acknowledgement overdue: "

static const struct {
    const char *subject, *recipient, *thread, *wanted; /* NULL: it has none */
} reminders[] = {
    {"QUESTION: Why?", "Bob", "RS-20260101-heat", CUT "QUESTION: Why?"},
    {"KICKOFF: x", NULL, "RS-20260101-heat", CUT "KICKOFF: x"},
    {"QUESTION: Why?", "Bob", NULL, CUT "QUESTION: Why?"},
    {NULL, "", NULL, CUT},
    {"INFO: # \"\\\n\n## Status\n```delta", "a \"b\"\n\xE2\x82\xAC", "COORD-ice",
     CUT "INFO: # \"\\\n\n## Status\n```delta"},
    {X90, "Bob", "a.b-1", CUT "xxxxxxxx" X10 X10 X10 X10 X10 X10 X10 X10 "\xE2\x80\xA6"},
    {"xxxxxxxxx" X10 X10 X10 X10 X10 X10 X10 X10, "Bob", "a.b-1",
     CUT "xxxxxxxxx" X10 X10 X10 X10 X10 X10 X10 X10},
    {"\xC3\xA9" X90 X90, "Bob", "a",
     CUT "\xC3\xA9xxxxxx" X10 X10 X10 X10 X10 X10 X10 X10 "\xE2\x80\xA6"},
    {"xxxxxxx" X10 X10 X10 X10 X10 X10 X10 X10 "\xC3\xA9xxx", "Bob", "a",
     CUT "xxxxxxx" X10 X10 X10 X10 X10 X10 X10 X10 "\xE2\x80\xA6"},
};

static struct parley_bytes bytes_or_none(const char *text) {
    return text != NULL ? parley_bytes_of(text) : (struct parley_bytes){0};
}

/* Without memory it says so, and is not whole. */
static void write_reminder(size_t number, struct parley_buffer *out) {
    const struct parley_reminder reminder = {.id = PARLEY_BYTES("remind:BRENNER:12:Bob"),
                                             .place = PARLEY_BYTES("BRENNER:12"),
                                             .thread = bytes_or_none(reminders[number].thread),
                                             .subject = bytes_or_none(reminders[number].subject),
                                             .recipient =
                                                 bytes_or_none(reminders[number].recipient),
                                             .stored_s = 1767225600};
    bool is_written = false;
    for (size_t first = 0; !is_written; first++) {
        parley_buffer_finish(out);
        parley_buffer_init(out);
        fault_heap_arm(first, SIZE_MAX);
        parley_protocol_find(PARLEY_BYTES("brenner"))->index->acks->write_reminder(&reminder, out);
        fault_heap_disarm();
        is_written = !out->has_failed;
    }
    parley_buffer_char(out, '\0');
}

static void test_a_reminder_is_valid_without_a_warning_and_asks_for_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof reminders / sizeof reminders[0]; i++) {
        struct checked_message checked;
        struct parley_index_entry entry;
        struct parley_buffer text = {0};
        const char *recipient = reminders[i].recipient;
        write_reminder(i, &text);
        checked_message_make(&checked, "brenner", text.data);
        assert_int_equal(checked.message.findings.count, 0);
        assert_int_equal(parley_message_index(&checked.message, NULL, &entry), PARLEY_OK);
        assert_int_equal(entry.part, PARLEY_INDEX_REMINDS);
        assert_true(parley_bytes_equal(entry.sender, PARLEY_BYTES(PARLEY_INDEX_GATEWAY)));
        assert_true(parley_bytes_equal(entry.id, PARLEY_BYTES("remind:BRENNER:12:Bob")));
        assert_true(parley_bytes_equal(entry.thread, bytes_or_none(reminders[i].thread)));
        assert_int_equal(entry.receiver_count, recipient != NULL);
        assert_true(recipient == NULL ||
                    parley_bytes_equal(entry.receivers[0], parley_bytes_of(recipient)));
        assert_true(parley_bytes_equal(
            parley_message_text(&checked.message, checked.message.protocol->type_field),
            parley_bytes_of(reminders[i].wanted)));
        assert_non_null(strstr(text.data, "2026-01-01T00:00:00Z"));
        checked_message_finish(&checked);
        parley_buffer_finish(&text);
    }
}

static void test_a_subject_is_about_the_text_after_its_prefix(void **state) {
    static const char *const cases[][2] = {{"ACK: Heat", "Heat"},
                                           {"DELTA[opus]:  a: b ", "a: b"},
                                           {"Heat: more", "Heat: more"},
                                           {" Heat", "Heat"},
                                           {"ACK: INFO: x", "INFO: x"},
                                           {"ACK:", ""},
                                           {"", ""}};
    const struct parley_index_acks *acks =
        parley_protocol_find(PARLEY_BYTES("brenner"))->index->acks;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct parley_bytes topic = acks->topic(parley_bytes_of(cases[i][0]));
        assert_true(parley_bytes_equal(topic, parley_bytes_of(cases[i][1])));
    }
    assert_int_equal(acks->topic((struct parley_bytes){0}).length, 0);
}

/* ---- limits ---- */

static void append_list(struct parley_buffer *text, size_t count) {
    for (size_t i = 0; i < count; i++) {
        parley_buffer_format(text, "%s\"m%zu\"", i == 0 ? "" : ",", i);
    }
}

static void test_of_many_references_so_many_are_kept_and_it_is_said(void **state) {
    (void)state;
    static const size_t counts[] = {64, 65, 100000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct checked_message checked;
        struct parley_index_entry entry;
        struct parley_buffer text;
        parley_buffer_init(&text);
        parley_buffer_text(&text,
                           "{\"protocol\":\"VLP/1.1\",\"id\":\"a\",\"type\":\"query\",\"sender\":"
                           "\"s\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"content\":\"c\","
                           "\"refers_to\":[");
        append_list(&text, counts[i]);
        parley_buffer_text(&text, "]}");
        parley_buffer_char(&text, '\0');
        checked_message_make(&checked, "vlp", text.data);
        assert_int_equal(parley_message_index(&checked.message, NULL, &entry), PARLEY_OK);
        assert_int_equal(entry.reference_count, PARLEY_INDEX_REFERENCES_MAX);
        assert_true(parley_bytes_equal(entry.references[63].target, PARLEY_BYTES("m63")));
        assert_int_equal(entry.has_more, counts[i] > PARLEY_INDEX_REFERENCES_MAX);
        checked_message_finish(&checked);
        parley_buffer_finish(&text);
    }
}

static void test_of_many_receivers_so_many_are_kept_and_it_is_said(void **state) {
    (void)state;
    struct checked_message checked;
    struct parley_index_entry entry;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text,
                       "{\"subject\":\"INFO: x\",\"body_md\":\"y\",\"from\":\"Ann\",\"to\":[");
    append_list(&text, PARLEY_INDEX_RECEIVERS_MAX + 1);
    parley_buffer_text(&text, "]}");
    parley_buffer_char(&text, '\0');
    checked_message_make(&checked, "brenner", text.data);
    assert_int_equal(parley_message_index(&checked.message, NULL, &entry), PARLEY_OK);
    assert_int_equal(entry.receiver_count, PARLEY_INDEX_RECEIVERS_MAX);
    assert_true(entry.has_more);
    checked_message_finish(&checked);
    parley_buffer_finish(&text);
}

static void test_long_texts_are_cut_between_characters_and_all_members_fit(void **state) {
    (void)state;
    struct parley_index_entry entry = {.has_more = false};
    char text[2 * PARLEY_INDEX_TEXT_BYTES_MAX];
    for (size_t i = 0; i < sizeof text; i += 2) {
        memcpy(text + i, "\xC3\xA9", 2);
    }
    parley_index_add_text(&entry, "a", (struct parley_bytes){text, PARLEY_INDEX_TEXT_BYTES_MAX});
    assert_false(entry.has_more);
    parley_index_add_text(&entry, "b", (struct parley_bytes){text, sizeof text - 1});
    assert_true(entry.has_more);
    assert_int_equal(entry.members_length, 2 * (PARLEY_INDEX_TEXT_BYTES_MAX + 6) + 3);
    for (size_t i = 0; i < 10; i++) {
        parley_index_add_text(&entry, "c", (struct parley_bytes){text, sizeof text});
    }
    assert_true(entry.members_length <= PARLEY_INDEX_MEMBERS_BYTES_MAX);
    assert_int_equal(entry.members[entry.members_length - 1], '}');
}

static void test_memory_may_run_out_at_any_place(void **state) {
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const struct parley_protocol *protocol =
            parley_protocol_find(parley_bytes_of(rows[i].protocol));
        enum parley_status status = PARLEY_E_MEMORY;
        for (size_t first = 0; status != PARLEY_OK; first++) {
            struct checked_message checked;
            struct parley_index_entry entry;
            checked_message_make(&checked, rows[i].protocol, text_of(protocol, &rows[i]));
            fault_heap_arm(first, SIZE_MAX);
            status = parley_message_index(&checked.message, NULL, &entry);
            const bool has_failed = fault_heap_has_failed();
            fault_heap_disarm();
            assert_true(status == PARLEY_OK || status == PARLEY_E_MEMORY);
            assert_true(has_failed || status == PARLEY_OK);
            assert_true(status != PARLEY_OK || !has_failed || entry.has_more);
            checked_message_finish(&checked);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_entry_has_what_the_message_says),
        cmocka_unit_test(test_an_entry_has_the_members_of_the_route),
        cmocka_unit_test(test_a_context_says_what_is_open_in_its_own_words),
        cmocka_unit_test(test_an_entry_says_whether_it_asks_acknowledges_and_is_urgent),
        cmocka_unit_test(test_a_reminder_is_valid_without_a_warning_and_asks_for_nothing),
        cmocka_unit_test(test_a_subject_is_about_the_text_after_its_prefix),
        cmocka_unit_test(test_of_many_references_so_many_are_kept_and_it_is_said),
        cmocka_unit_test(test_of_many_receivers_so_many_are_kept_and_it_is_said),
        cmocka_unit_test(test_long_texts_are_cut_between_characters_and_all_members_fit),
        cmocka_unit_test(test_memory_may_run_out_at_any_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
