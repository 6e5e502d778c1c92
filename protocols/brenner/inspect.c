/* SPDX-License-Identifier: Apache-2.0 */

/* Checks what rows of the table cannot: the sections of a body. Also chooses which of two members
 * of an envelope is read: a member or its alias. */

#include "container.h"
#include "text.h"
#include "delta.h"
#include "markdown.h"
#include "repair.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- aliases ---- */

enum brenner_field brenner_body_field(const struct parley_message *message) {
    const struct parley_value *values = message->values;
    const bool is_alias =
        values[BRENNER_BODY_MD].kind == PARLEY_ABSENT && values[BRENNER_BODY].kind != PARLEY_ABSENT;
    return is_alias ? BRENNER_BODY : BRENNER_BODY_MD;
}

/* In these members null is absent. */
enum brenner_field brenner_sender_field(const struct parley_message *message) {
    const enum parley_kind kind = message->values[BRENNER_FROM].kind;
    const bool is_alias = (kind == PARLEY_ABSENT || kind == PARLEY_NULL) &&
                          message->values[BRENNER_SENDER_NAME].kind != PARLEY_ABSENT;
    return is_alias ? BRENNER_SENDER_NAME : BRENNER_FROM;
}

enum brenner_field brenner_claimed_field(const struct parley_message *message) {
    const char *only = message->options.only_sender;
    const struct parley_bytes alias = parley_message_text(message, BRENNER_SENDER_NAME);
    const bool is_other =
        only != NULL && alias.data != NULL && !parley_bytes_equal(alias, parley_bytes_of(only));
    return is_other ? BRENNER_SENDER_NAME : brenner_sender_field(message);
}

/* ---- sections ---- */

static const struct section_rule {
    enum brenner_rule rule;
    enum brenner_type type;
    const char *section;
    enum { PRESENT, NON_EMPTY, ONE_OF, ONE_OF_AT_FIRST, AGENT } wants;
    const char *const *choices; /* ONE_OF, ONE_OF_AT_FIRST */
} section_rules[] = {
    {MB_003, BRENNER_KICKOFF, "Context", PRESENT, NULL},
    {MB_006, BRENNER_CRITIQUE, "Target", PRESENT, NULL},
    {MB_007, BRENNER_CRITIQUE, "Attack", PRESENT, NULL},
    {MB_008, BRENNER_HANDOFF, "From", AGENT, NULL},
    {MB_008, BRENNER_HANDOFF, "To", AGENT, NULL},
    {MB_111, BRENNER_COMPILED, "Contributors", NON_EMPTY, NULL},
    {MB_112, BRENNER_ACK, "Status", ONE_OF_AT_FIRST,
     LIST("Received", "Understood", "Will Action", "Completed")},
    {MB_113, BRENNER_CLAIM, "Item", NON_EMPTY, NULL},
    {MB_114, BRENNER_CLAIM, "Agent", NON_EMPTY, NULL},
    {MB_115, BRENNER_HANDOFF, "Item", NON_EMPTY, NULL},
    {MB_116, BRENNER_BLOCKED, "Item", NON_EMPTY, NULL},
    {MB_117, BRENNER_BLOCKED, "Blocker", NON_EMPTY, NULL},
    {MB_118, BRENNER_QUESTION, "Question", PRESENT, NULL},
    {MB_131, BRENNER_COMPILED, "Statistics", PRESENT, NULL},
    {MB_132, BRENNER_CRITIQUE, "Severity", ONE_OF, LIST("Critical", "Major", "Minor")},
    {MB_133, BRENNER_ACK, "Message ID", NON_EMPTY, NULL},
    {MB_134, BRENNER_HANDOFF, "State", NON_EMPTY, NULL},
    {MB_135, BRENNER_BLOCKED, "Type", ONE_OF,
     LIST("Dependency", "Question", "Resource", "External")},
    {MB_136, BRENNER_QUESTION, "Urgency", ONE_OF, LIST("Blocking", "Soon", "Whenever")},
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_name_byte(char c) {
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '-';
}

static bool is_agent_name(struct parley_bytes text) {
    size_t length = 0;
    while (length < text.length && is_name_byte(text.data[length])) {
        length++;
    }
    return length > 0 && length == text.length;
}

static bool is_word_byte(char c) {
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
}

/* Whether `choice` is at `at`, as whole words. */
static bool has_choice_at(struct parley_bytes text, size_t at, const char *choice) {
    const size_t length = strlen(choice);
    return text.length - at >= length && memcmp(text.data + at, choice, length) == 0 &&
           (at == 0 || !is_word_byte(text.data[at - 1])) &&
           (at + length == text.length || !is_word_byte(text.data[at + length]));
}

/* Whether the text begins with one of the choices, and names no other: "Received, will look
 * tomorrow". */
static bool begins_with_one_of(struct parley_bytes text, const char *const *choices) {
    const char *first = NULL;
    for (size_t at = 0; at < text.length; at++) {
        for (size_t i = 0; choices[i] != NULL; i++) {
            if (!has_choice_at(text, at, choices[i])) {
                continue;
            }
            if (at > 0 && first != choices[i]) {
                return false;
            }
            first = choices[i];
        }
        if (first == NULL) {
            return false;
        }
    }
    return first != NULL;
}

/* A value is taken from the first section of its name; for the rest any of them counts. */
static bool holds(const struct section_rule *rule, const struct brenner_section *first) {
    switch (rule->wants) {
    case PRESENT:
        return true;
    case ONE_OF:
        return text_is_one_of(first->text, rule->choices);
    case ONE_OF_AT_FIRST:
        return begins_with_one_of(first->text, rule->choices);
    case AGENT:
        return is_agent_name(first->text);
    case NON_EMPTY:
        break;
    }
    const struct brenner_section *at = first;
    while (at != NULL &&
           (at->is_empty || at->level != 2 || !brenner_section_is(at, rule->section))) {
        at = at->next;
    }
    return at != NULL;
}

static const struct parley_position body_start = {1, 1};

/* Appends the choices: "Critical, Major or Minor". */
static void append_choices(struct parley_buffer *out, const char *const *choices) {
    for (size_t i = 0; choices[i] != NULL; i++) {
        parley_buffer_text(out, i == 0 ? "" : choices[i + 1] == NULL ? " or " : ", ");
        parley_buffer_text(out, choices[i]);
    }
}

static void add_value(struct body_findings *findings, const struct section_rule *rule,
                      const struct brenner_section *section) {
    struct parley_buffer value, choices;
    parley_buffer_init(&value);
    parley_buffer_init(&choices);
    if (rule->choices != NULL) {
        append_choices(&choices, rule->choices);
    } else {
        parley_buffer_text(&choices, "the name of one agent (A-Z a-z 0-9 _ -)");
    }
    parley_buffer_char(&choices, '\0');
    body_findings_add(
        findings, rule->rule, section->at, NULL, "`## %s` contains %s; expected %s%s",
        rule->section,
        section->text.length > 0 ? body_findings_quote(findings, &value, section->text) : "nothing",
        rule->wants == ONE_OF_AT_FIRST ? "only one of " : "",
        choices.has_failed ? "" : choices.data);
    findings->is_out_of_memory |= choices.has_failed;
    parley_buffer_finish(&value);
    parley_buffer_finish(&choices);
}

/* The text of the next line that is not blank, at or after the line at `from`, trimmed; `out_next`:
 * the line after it.  Returns: data NULL: there is none. */
static struct parley_bytes next_words(struct parley_bytes text, size_t from, size_t *out_next) {
    static const char blanks[] = " \t\r\n";
    while (from < text.length && strchr(blanks, text.data[from]) != NULL) {
        from++;
    }
    const char *feed = memchr(text.data + from, '\n', text.length - from);
    size_t end = feed != NULL ? (size_t)(feed - text.data) : text.length;
    *out_next = end;
    while (end > from && strchr(blanks, text.data[end - 1]) != NULL) {
        end--;
    }
    return (struct parley_bytes){end > from ? text.data + from : NULL, end - from};
}

/* A value that is one line, in a quote or a list perhaps, and one of the choices in other
 * letter case or spelling. The part begins with the line of the heading. */
static bool fix_value(const struct parley_finding *finding, struct parley_buffer *memory,
                      struct parley_fix *out) {
    const struct parley_bytes text = finding->part.text;
    const struct section_rule *row = section_rules;
    size_t at = finding->part.start;
    while (finding->rule != &brenner_rules[row->rule]) {
        row++;
    }
    next_words(text, at, &at);
    struct parley_bytes value = next_words(text, at, &at);
    const struct parley_bytes after = next_words(text, at, &at);
    if (value.data == NULL || (after.data != NULL && after.data[0] != '#')) {
        return false;
    }
    const size_t before = brenner_container_read(value).opener.length;
    value = (struct parley_bytes){value.data + before, value.length - before};
    const char *choice = brenner_repair_choice(value, row->choices, &out->is_safe);
    parley_buffer_text(memory, choice != NULL ? choice : "");
    out->edit = (struct parley_edit){.offset = (size_t)(value.data - text.data),
                                     .removed = value.length,
                                     .inserted = parley_buffer_bytes(memory)};
    return choice != NULL;
}

static void offer_value(struct body_findings *findings, const struct section_rule *rule,
                        const struct brenner_body *body, const struct brenner_section *section) {
    if (rule->choices != NULL && !body->is_replaced) {
        body_findings_offer(findings, rule->rule,
                            (struct parley_part){.fix = fix_value, .start = section->line_at});
    }
}

static void check_section(const struct section_rule *rule, const struct brenner_body *body,
                          struct body_findings *findings) {
    const struct brenner_section *section = brenner_body_section(body, rule->section);
    if (section == NULL) {
        body_findings_add(findings, rule->rule, body_start, NULL, "the body has no `## %s` section",
                          rule->section);
    } else if (!holds(rule, section)) {
        if (rule->wants == NON_EMPTY) {
            body_findings_add(findings, rule->rule, section->at, NULL,
                              "the section `## %s` is empty", rule->section);
        } else {
            add_value(findings, rule, section);
            offer_value(findings, rule, body, section);
        }
    }
}

/* ---- rules of their own ---- */

static void check_research_question(const struct brenner_body *body,
                                    struct body_findings *findings) {
    struct parley_position place = body_start;
    for (const struct brenner_section *at = body->sections; at != NULL; at = at->next) {
        const bool is_question = at->level == 2 && brenner_section_is(at, "Research Question");
        if ((at->level == 1 && at->title.length > 0) || (is_question && !at->is_empty)) {
            return;
        }
        place = at->level == 1 || is_question ? at->at : place;
    }
    body_findings_add(findings, MB_002, place, NULL,
                      "the body has no research question: neither a title (`# …`) nor a `## "
                      "Research Question` section with text");
}

/* "v3", unless it is the end of a word. */
int64_t brenner_version(struct parley_bytes text) {
    for (size_t i = 0; i + 1 < text.length; i++) {
        const char before = i > 0 ? text.data[i - 1] : ' ';
        if (text.data[i] != 'v' || !is_digit(text.data[i + 1]) ||
            (before != '-' && is_name_byte(before))) {
            continue;
        }
        int64_t version = 0;
        for (i++; i < text.length && is_digit(text.data[i]) && version < INT64_C(1000000000); i++) {
            version = version * 10 + (text.data[i] - '0');
        }
        return version;
    }
    return -1;
}

/* "§42" */
static bool has_citation(struct parley_bytes text) {
    static const char mark[] = "\xC2\xA7";
    for (size_t i = 0; i + 2 < text.length; i++) {
        if (memcmp(text.data + i, mark, 2) == 0 && is_digit(text.data[i + 2])) {
            return true;
        }
    }
    return false;
}

static void check_version(const struct brenner_body *body, struct body_findings *findings) {
    for (const struct brenner_section *at = body->sections; at != NULL; at = at->next) {
        const bool is_summary = at->level == 2 && brenner_section_is(at, "Summary");
        if ((at->level == 1 && brenner_version(at->title) >= 0) ||
            (is_summary && brenner_version(at->text) >= 0)) {
            return;
        }
    }
    const bool has_title = body->sections != NULL && body->sections->level == 1;
    body_findings_add(findings, MB_110, has_title ? body->sections->at : body_start, NULL,
                      "neither the title nor `## Summary` states the version (v1, v2, …)");
}

static void check_excerpt(const struct brenner_body *body, struct body_findings *findings) {
    const struct brenner_section *first = brenner_body_section(body, "Excerpt");
    if (first == NULL) {
        body_findings_add(findings, MB_130, body_start, NULL,
                          "the body has no `## Excerpt` section");
        return;
    }
    for (const struct brenner_section *at = first; at != NULL; at = at->next) {
        if (at->level == 2 && brenner_section_is(at, "Excerpt") && has_citation(at->text)) {
            return;
        }
    }
    body_findings_add(findings, MB_130, first->at, NULL,
                      "the section `## Excerpt` does not cite the transcript (\xC2\xA7n)");
}

static enum parley_status check_body(enum brenner_type type, struct brenner_body *body,
                                     struct body_findings *findings) {
    if (type == BRENNER_KICKOFF) {
        check_research_question(body, findings);
        check_excerpt(body, findings);
    } else if (type == BRENNER_COMPILED) {
        check_version(body, findings);
    } else if (type == BRENNER_DELTA) {
        return brenner_deltas_check(body, findings); /* no rule asks for a section */
    }
    for (size_t i = 0; i < sizeof section_rules / sizeof section_rules[0]; i++) {
        if (section_rules[i].type == type) {
            check_section(&section_rules[i], body, findings);
        }
    }
    return PARLEY_OK;
}

/* ---- who speaks ---- */

/* Sections that say in whose name a message speaks. */
static const struct {
    enum brenner_type type;
    const char *section, *heading;
} speakers[] = {
    {BRENNER_CLAIM, "Agent", "`## Agent`"},
    {BRENNER_HANDOFF, "From", "`## From`"},
};

static void note_speaker(const struct brenner_section *section, const char *heading,
                         struct body_findings *findings) {
    const char *name = parley_arena_copy(findings->arena, section->text);
    findings->is_out_of_memory |= name == NULL;
    findings->other_speaker = (struct parley_bytes){name, section->text.length};
    findings->speaker_section = heading;
    findings->speaker_at = section->at;
}

/* Any section of that name counts, since a reader may take any. An empty one is a finding of its
 * own. */
static void find_other_speaker(enum brenner_type type, struct parley_bytes only,
                               const struct brenner_body *body, struct body_findings *findings) {
    for (size_t i = 0; i < sizeof speakers / sizeof speakers[0]; i++) {
        const struct brenner_section *at = speakers[i].type == type ? body->sections : NULL;
        for (; at != NULL; at = at->next) {
            if (at->level == 2 && brenner_section_is(at, speakers[i].section) &&
                at->text.length > 0 && !parley_bytes_equal(at->text, only)) {
                note_speaker(at, speakers[i].heading, findings);
                return;
            }
        }
    }
}

struct parley_speaker brenner_other_speaker(const struct parley_message *message) {
    const struct body_findings *findings = message->derived;
    const enum brenner_field field = brenner_body_field(message);
    if (findings == NULL || findings->other_speaker.data == NULL) {
        return (struct parley_speaker){.what = NULL};
    }
    const struct parley_position at = markdown_body_place(message, findings->speaker_at);
    return (struct parley_speaker){.name = findings->other_speaker,
                                   .what = findings->speaker_section,
                                   .field = field,
                                   .at = at,
                                   .body_at = at.line == 0 ? findings->speaker_at
                                                           : (struct parley_position){0}};
}

/* ---- the body ---- */

/* Reads the body once per message, and keeps the findings in message->derived. */
static enum parley_status read_body(struct parley_message *message, struct parley_bytes markdown) {
    struct body_findings *findings = parley_arena_allocate(&message->arena, sizeof *findings);
    struct brenner_body body;
    if (findings == NULL) {
        return PARLEY_E_MEMORY;
    }
    *findings = (struct body_findings){.arena = &message->arena};
    const bool has_section_rules = message->type != BRENNER_DELTA;
    enum parley_status status =
        (has_section_rules ? brenner_body_read : brenner_body_read_deltas)(&body, markdown);
    if (status == PARLEY_OK) {
        status = check_body((enum brenner_type)message->type, &body, findings);
    }
    if (status == PARLEY_OK && message->options.only_sender != NULL) {
        find_other_speaker((enum brenner_type)message->type,
                           parley_bytes_of(message->options.only_sender), &body, findings);
    }
    brenner_body_finish(&body);
    message->derived = status == PARLEY_OK ? findings : NULL;
    return status;
}

/* INFO allows any body, and nothing is known about an unknown type. */
static bool has_body_rules(const struct parley_message *message) {
    return message->type != PARLEY_TYPE_OTHER && message->type != BRENNER_INFO;
}

enum parley_status brenner_inspect(struct parley_message *message) {
    const enum brenner_field field = brenner_body_field(message);
    const struct parley_value *body = &message->values[field];
    if (body->kind != PARLEY_STRING || !has_body_rules(message)) {
        return PARLEY_OK;
    }
    if (message->derived == NULL) {
        PARLEY_TRY(read_body(message, body->text));
    }
    return body_findings_report(message->derived, message, field);
}
