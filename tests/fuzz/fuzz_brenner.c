/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the structure of Brenner bodies. Whatever the Markdown: sections and delta blocks stand in
 * it, in its order; the message gets a verdict, and the places of findings lie within the body. An
 * edit that is the fix of a finding makes it go away.
 *
 *   byte 0: the type of the message
 *   and the body */

#include "fuzz.h"

#include <stdio.h>
#include <string.h>

#include <parley/fix.h>
#include <parley/message.h>

#include "brenner/body.h"
#include "brenner/markup.h"

static struct parley_bytes line_of(struct parley_bytes text, size_t number) {
    size_t length = markup_line_length(text);
    for (; number > 1 && text.length > 0; number--) {
        text = (struct parley_bytes){text.data + length, text.length - length};
        length = markup_line_length(text);
    }
    return (struct parley_bytes){text.data, length};
}

static void require_place(struct parley_bytes body, struct parley_position at, size_t *line) {
    require(at.line >= *line, "places are in the order of the body");
    *line = at.line;
    const struct parley_bytes text = line_of(body, at.line);
    require(at.column >= 1 && at.column <= text.length + 1, "a place is in its line");
}

/* Bytes that are not UTF-8 cannot come this far. */
static bool is_utf8_without_nul(struct parley_bytes text) {
    struct parley_buffer json;
    parley_buffer_init(&json);
    parley_buffer_json(&json, text);
    const struct parley_bytes written = parley_buffer_bytes(&json);
    const bool is_changed = memmem(written.data, written.length, "\xEF\xBF\xBD", 3) != NULL &&
                            memmem(text.data, text.length, "\xEF\xBF\xBD", 3) == NULL;
    parley_buffer_finish(&json);
    return !is_changed && memchr(text.data, '\0', text.length) == NULL;
}

static void read_body(struct parley_bytes markdown) {
    struct brenner_body body;
    size_t line = 1;
    require(brenner_body_read(&body, markdown) == PARLEY_OK, "the body is read");
    for (const struct brenner_section *at = body.sections; at != NULL; at = at->next) {
        require(at->level == 1 || at->level == 2, "a section has level 1 or 2");
        require_place(body.source, at->at, &line);
    }
    line = 1;
    size_t end = 0;
    for (const struct brenner_block *at = body.deltas; at != NULL; at = at->next) {
        require_place(body.source, at->at, &line);
        require(at->start >= end && at->end >= at->start && at->end <= body.source.length,
                "blocks lie behind one another");
        end = at->end;
        size_t inner = at->at.line;
        for (size_t i = 0; i <= at->text.length; i++) {
            require_place(body.source, brenner_block_place(&body, at, i), &inner);
        }
    }
    brenner_body_finish(&body);
}

static void convert(struct parley_message *message) {
    struct parley_buffer out;
    struct parley_message again;
    const struct parley_options options = {0};
    parley_buffer_init(&out);
    parley_message_init(&again, message->schema);
    require(message->protocol->convert(message, &parley_codec_json, &out) == PARLEY_OK,
            "it can be converted");
    require(parley_message_check(&again, parley_buffer_bytes(&out), &parley_codec_json, &options,
                                 (struct parley_position){1, 1}) == PARLEY_OK,
            "there is a verdict on that");
    require(parley_message_is_valid(&again) && again.findings.count == message->findings.count,
            "what was converted has the same verdict");
    parley_message_finish(&again);
    parley_buffer_finish(&out);
}

static void check(struct parley_message *message, const char *subject, struct parley_bytes markdown,
                  struct parley_buffer *text) {
    const struct parley_options options = {0};
    parley_buffer_format(text, "{\"subject\":\"%s: x\",\"body_md\":", subject);
    parley_buffer_json(text, markdown);
    parley_buffer_char(text, '}');
    require(parley_message_check(message, parley_buffer_bytes(text), &parley_codec_json, &options,
                                 (struct parley_position){1, 1}) == PARLEY_OK,
            "there is a verdict");
}

static bool is_same(const struct parley_finding *one, const struct parley_finding *other) {
    return one->rule == other->rule && one->body_at.line == other->body_at.line &&
           one->body_at.column == other->body_at.column &&
           strcmp(one->message, other->message) == 0;
}

/* The body with the fix of a finding does not have it. */
static void apply(struct parley_schema *schema, const char *subject,
                  const struct parley_finding *finding, const struct parley_edit *edit) {
    const struct parley_bytes before = finding->part.text;
    const size_t end = edit->offset + edit->removed;
    struct parley_message message;
    struct parley_buffer text, body;
    require(edit->offset <= before.length && end <= before.length, "an edit is in the text");
    parley_message_init(&message, schema);
    parley_buffer_init(&text);
    parley_buffer_init(&body);
    parley_buffer_append(&body, (struct parley_bytes){before.data, edit->offset});
    parley_buffer_append(&body, edit->inserted);
    parley_buffer_append(&body, (struct parley_bytes){before.data + end, before.length - end});
    check(&message, subject, parley_buffer_bytes(&body), &text);
    for (size_t i = 0; i < message.findings.count; i++) {
        require(!is_same(finding, &message.findings.items[i]), "a fix removes its finding");
    }
    parley_buffer_finish(&body);
    parley_buffer_finish(&text);
    parley_message_finish(&message);
}

static void apply_fixes(struct parley_schema *schema, const char *subject,
                        const struct parley_message *message) {
    enum { FIXES_MAX = 8 };
    struct parley_buffer memory;
    parley_buffer_init(&memory);
    for (size_t i = 0; i < message->findings.count && i < FIXES_MAX; i++) {
        struct parley_fix fix;
        parley_fix_of(&message->findings.items[i], &memory, &fix);
        if (fix.kind == PARLEY_FIX_EDIT) {
            apply(schema, subject, &message->findings.items[i], &fix.edit);
        }
    }
    parley_buffer_finish(&memory);
}

static void check_all(const char *subject, struct parley_bytes markdown) {
    static struct parley_schema *schema; /* made once: that takes longer than most inputs */
    struct parley_message message;
    struct parley_buffer text;
    const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("brenner"));
    require(schema != NULL || parley_schema_create(protocol, &schema) == PARLEY_OK,
            "the schema is made");
    parley_message_init(&message, schema);
    parley_buffer_init(&text);
    check(&message, subject, markdown, &text);
    for (size_t i = 0; i < message.findings.count; i++) {
        size_t line = 1;
        if (message.findings.items[i].body_at.line != 0) {
            require_place(markdown, message.findings.items[i].body_at, &line);
        }
    }
    apply_fixes(schema, subject, &message);
    if (parley_message_is_valid(&message)) {
        convert(&message);
    }
    parley_buffer_finish(&text);
    parley_message_finish(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const subjects[] = {"DELTA[a]", "KICKOFF", "COMPILED", "CRITIQUE", "ACK",
                                           "CLAIM",    "HANDOFF", "BLOCKED",  "QUESTION", "INFO"};
    if (size == 0) {
        return 0;
    }
    const struct parley_bytes markdown = {(const char *)data + 1, size - 1};
    if (is_utf8_without_nul(markdown)) {
        read_body(markdown);
        check_all(subjects[data[0] % (sizeof subjects / sizeof subjects[0])], markdown);
    }
    return 0;
}
