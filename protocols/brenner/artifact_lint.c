/* SPDX-License-Identifier: Apache-2.0 */

/* What an artifact lacks: the notes of the document on merging, and the linter of the companion
 * program as far as the artifact alone can tell (docs/artifact.md#lint). Both are of the artifact
 * as it is now, not of the delta that made it so. */

#include "artifact.h"

#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "text.h"

enum { VIOLATIONS_MAX = 1000, TRANSCRIPT_SECTIONS = 236 };

/* How many living items each section has at least. */
static const struct {
    size_t least;
    const char *rule;
} minimums[BRENNER_SECTION_COUNT] = {
    [BRENNER_HYPOTHESES] = {3, "EH-001"},  [BRENNER_PREDICTIONS] = {3, "EP-001"},
    [BRENNER_TESTS] = {2, "ET-001"},       [BRENNER_ASSUMPTIONS] = {3, "EA-001"},
    [BRENNER_CRITIQUES] = {2, "EC-001"},   [BRENNER_ANOMALIES] = {0, NULL},
    [BRENNER_RESEARCH_THREAD] = {0, NULL},
};

/* Members that an item is to have, and what its lack is. */
static const struct member_rule {
    enum brenner_target section;
    enum artifact_severity severity;
    const char *rule, *member;
} member_rules[] = {
    {BRENNER_RESEARCH_THREAD, ARTIFACT_ERROR, "ER-001", "statement"},
    {BRENNER_RESEARCH_THREAD, ARTIFACT_ERROR, "ER-002", "context"},
    {BRENNER_RESEARCH_THREAD, ARTIFACT_WARNING, "WR-001", "anchors"},
    {BRENNER_HYPOTHESES, ARTIFACT_ERROR, "EH-004", "claim"},
    {BRENNER_HYPOTHESES, ARTIFACT_WARNING, "WH-001", "anchors"},
    {BRENNER_TESTS, ARTIFACT_ERROR, "ET-002", "procedure"},
    {BRENNER_TESTS, ARTIFACT_ERROR, "ET-003", "expected_outcomes"},
    {BRENNER_TESTS, ARTIFACT_WARNING, "WT-001", "potency_check"},
    {BRENNER_TESTS, ARTIFACT_WARNING, "WT-003", "score"},
    {BRENNER_ASSUMPTIONS, ARTIFACT_ERROR, "EA-003", "statement"},
    {BRENNER_CRITIQUES, ARTIFACT_ERROR, "EC-002", "attack"},
    {BRENNER_CRITIQUES, ARTIFACT_WARNING, "WC-002", "evidence"},
    {BRENNER_CRITIQUES, ARTIFACT_INFO, "IC-001", "current_status"},
};
enum { MEMBER_RULE_COUNT = sizeof member_rules / sizeof member_rules[0] };

static const char *const severities[] = {"error", "warning", "info"};

/* ---- what is found ---- */

static void write_item(struct parley_buffer *out, enum brenner_target section,
                       const struct artifact_item *item) {
    if (item != NULL) {
        parley_buffer_text(out, ",\"item\":\"");
        artifact_id_write(section, item, out);
        parley_buffer_char(out, '"');
    }
}

/* The message begins with the item, if there is one. */
__attribute__((format(printf, 6, 7))) static void
violate(struct artifact_lint *lint, enum artifact_severity severity, const char *rule,
        enum brenner_target section, const struct artifact_item *item, const char *format, ...) {
    struct parley_buffer *out = &lint->violations[severity];
    char sentence[256];
    va_list arguments;
    if (++lint->counts[severity] > VIOLATIONS_MAX) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    parley_buffer_format(out, "%s{\"id\":\"%s\",\"severity\":\"%s\"", out->length > 0 ? "," : "",
                         rule, severities[severity]);
    write_item(out, section, item);
    parley_buffer_text(out, ",\"message\":");
    parley_buffer_json(out, parley_bytes_of(sentence));
    parley_buffer_char(out, '}');
}

static void add_note(struct artifact_lint *lint, const char *code, enum brenner_target section,
                     const struct artifact_item *item, const char *sentence) {
    struct parley_buffer *out = &lint->notes;
    parley_buffer_format(out, "%s{\"code\":\"%s\",\"section\":\"%s\"", out->length > 0 ? "," : "",
                         code, brenner_target_sections[section].name);
    write_item(out, section, item);
    parley_buffer_text(out, ",\"message\":");
    parley_buffer_json(out, parley_bytes_of(sentence));
    parley_buffer_char(out, '}');
}

static bool says(const struct artifact_item *item, const char *member) {
    return artifact_value_says(artifact_value(item, member));
}

/* ---- members ---- */

static void check_members(struct artifact_lint *lint, enum brenner_target section,
                          const struct artifact_item *item) {
    for (size_t i = 0; i < MEMBER_RULE_COUNT; i++) {
        const struct member_rule *rule = &member_rules[i];
        if (rule->section == section && (item == NULL || !says(item, rule->member))) {
            violate(lint, rule->severity, rule->rule, section, item, "`%s` is missing",
                    rule->member);
        }
    }
}

/* What the payload of its ADD should have had, and no EDIT has brought. */
static void note_needs(struct artifact_lint *lint, enum brenner_target section,
                       const struct artifact_item *item) {
    char sentence[256];
    size_t length = 0;
    for (const char *const *need = brenner_target_sections[section].needs; *need != NULL; need++) {
        if (artifact_value_kind(artifact_value(item, *need)) == ARTIFACT_NONE) {
            length += (size_t)snprintf(sentence + length, sizeof sentence - length, "%s`%s`",
                                       length > 0 ? ", " : "it has no ", *need);
        }
    }
    if (length > 0) {
        add_note(lint, "MISSING_REQUIRED_FIELD", section, item, sentence);
    }
}

/* ---- references ---- */

static const char *const relations[] = {"extends",    "refines",    "refutes", "informed_by",
                                        "supersedes", "replicates", NULL};

static struct parley_bytes member_text(struct artifact_lint *lint, struct parley_bytes object,
                                       const char *name) {
    struct json_members members = {.rest = object};
    struct json_member member;
    struct parley_bytes text = {"", 0};
    while (json_member_next(&members, &member)) {
        if (parley_bytes_equal(member.key, parley_bytes_of(name)) &&
            artifact_value_kind(member.value) == ARTIFACT_STRING &&
            artifact_value_says(member.value)) {
            text = artifact_value_text(member.value, &lint->scratch);
        }
    }
    lint->notes.has_failed = lint->notes.has_failed || members.has_failed;
    json_members_finish(&members);
    return text;
}

static void check_reference(struct artifact_lint *lint, enum brenner_target section,
                            const struct artifact_item *item, struct parley_bytes reference,
                            size_t index) {
    if (artifact_value_kind(reference) != ARTIFACT_OBJECT) {
        violate(lint, ARTIFACT_ERROR, "ER-REF-002", section, item, "reference %zu is not an object",
                index);
        return;
    }
    if (member_text(lint, reference, "session").length == 0) {
        violate(lint, ARTIFACT_ERROR, "ER-REF-003", section, item, "reference %zu has no `session`",
                index);
    }
    if (member_text(lint, reference, "item").length == 0) {
        violate(lint, ARTIFACT_ERROR, "ER-REF-004", section, item, "reference %zu has no `item`",
                index);
    }
    if (!text_is_one_of(member_text(lint, reference, "relation"), relations)) {
        violate(lint, ARTIFACT_ERROR, "ER-REF-005", section, item,
                "`relation` of reference %zu is not one of the six", index);
    }
}

static void check_references(struct artifact_lint *lint, enum brenner_target section,
                             const struct artifact_item *item) {
    struct parley_bytes rest = artifact_value(item, "references"), reference;
    const enum artifact_value_kind kind = artifact_value_kind(rest);
    if (kind == ARTIFACT_NONE) {
        return;
    }
    if (kind != ARTIFACT_ARRAY) {
        violate(lint, ARTIFACT_ERROR, "ER-REF-001", section, item, "`references` is not an array");
        return;
    }
    for (size_t index = 1; artifact_element_next(&rest, &reference); index++) {
        check_reference(lint, section, item, reference, index);
    }
}

/* ---- anchors ---- */

static unsigned long number_at(struct parley_bytes text, size_t *at) {
    unsigned long number = 0;
    for (; *at < text.length && text.data[*at] >= '0' && text.data[*at] <= '9'; ++*at) {
        number = number < 100000000 ? number * 10 + (unsigned long)(text.data[*at] - '0') : number;
    }
    return number;
}

struct anchor {
    unsigned long first, last;
};

/* The next "§42" or "§42-45" from `*at` on.  Returns: false: there is none. */
static bool next_anchor(struct parley_bytes text, size_t *at, struct anchor *out) {
    for (; *at + 2 < text.length; ++*at) {
        if (memcmp(text.data + *at, "\xC2\xA7", 2) != 0) {
            continue;
        }
        *at += 2;
        while (*at < text.length && text.data[*at] == ' ') {
            ++*at;
        }
        const size_t start = *at;
        out->first = out->last = number_at(text, at);
        if (*at + 1 < text.length && text.data[*at] == '-' && *at > start) {
            ++*at;
            const size_t second = *at;
            const unsigned long last = number_at(text, at);
            out->last = *at > second ? last : out->last;
        }
        if (*at > start) {
            return true;
        }
    }
    return false;
}

static bool contains(struct parley_bytes text, const char *part) {
    const size_t length = strlen(part);
    for (size_t i = 0; i + length <= text.length; i++) {
        if (strncasecmp(text.data + i, part, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool cites_evidence(struct parley_bytes text) {
    for (size_t i = 0; i + 4 <= text.length; i++) {
        if (strncasecmp(text.data + i, "EV-", 3) == 0 && text.data[i + 3] >= '0' &&
            text.data[i + 3] <= '9') {
            return true;
        }
    }
    return false;
}

static bool is_inference(struct parley_bytes text) {
    const bool is_all = (text.length == 9 && contains(text, "inference")) ||
                        (text.length == 11 && contains(text, "[inference]"));
    return is_all || (contains(text, "[inference]") && !contains(text, "from"));
}

static void check_anchors(struct artifact_lint *lint, enum brenner_target section,
                          const struct artifact_item *item) {
    struct parley_bytes rest = artifact_value(item, "anchors"), element;
    bool has_source = false, is_inferred = false;
    if (artifact_value_kind(rest) != ARTIFACT_ARRAY) {
        return;
    }
    while (artifact_element_next(&rest, &element)) {
        const struct parley_bytes text = artifact_value_text(element, &lint->scratch);
        struct anchor anchor;
        size_t at = 0;
        while (next_anchor(text, &at, &anchor)) {
            has_source = true;
            if (anchor.first < 1 || anchor.last > TRANSCRIPT_SECTIONS) {
                violate(lint, ARTIFACT_ERROR, "EP-P01", section, item,
                        "the transcript has no \xC2\xA7%lu; it ends with \xC2\xA7%d",
                        anchor.first < 1 ? anchor.first : anchor.last, TRANSCRIPT_SECTIONS);
            }
        }
        has_source = has_source || cites_evidence(text);
        is_inferred = is_inferred || is_inference(text);
    }
    if (section == BRENNER_HYPOTHESES && is_inferred && !has_source) {
        violate(lint, ARTIFACT_WARNING, "WP-P02", section, item,
                "an inference names nothing that it was made from");
    }
}

/* ---- sections ---- */

/* /third\s+alternative/i */
static bool is_called_third(struct artifact_lint *lint, const struct artifact_item *item) {
    const struct parley_bytes name =
        artifact_value_text(artifact_value(item, "name"), &lint->scratch);
    for (size_t i = 0; i + 5 < name.length; i++) {
        size_t at = i + 5;
        while (at < name.length && strchr(" \t\r\n", name.data[at]) != NULL) {
            at++;
        }
        if (strncasecmp(name.data + i, "third", 5) == 0 && at > i + 5 && name.length - at >= 11 &&
            strncasecmp(name.data + at, "alternative", 11) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a living item of the section has `member` true. */
static bool has_true(struct artifact_lint *lint, enum brenner_target section, const char *member) {
    const struct artifact_section *of = &lint->artifact->sections[section];
    for (size_t i = 0; i < of->count; i++) {
        if (!of->items[i].is_killed &&
            (artifact_value_is_true(artifact_value(&of->items[i], member)) ||
             (section == BRENNER_HYPOTHESES && is_called_third(lint, &of->items[i])))) {
            return true;
        }
    }
    return false;
}

static void check_section(struct artifact_lint *lint, enum brenner_target section) {
    const struct artifact_section *of = &lint->artifact->sections[section];
    char sentence[128];
    if (of->living_count < minimums[section].least) {
        snprintf(sentence, sizeof sentence, "%s has %zu living items; expected at least %zu",
                 brenner_target_sections[section].name, of->living_count, minimums[section].least);
        add_note(lint, "BELOW_MINIMUM", section, NULL, sentence);
        violate(lint, ARTIFACT_ERROR, minimums[section].rule, section, NULL, "%s", sentence);
    }
    if (section == BRENNER_HYPOTHESES && !has_true(lint, section, "third_alternative")) {
        add_note(lint, "NO_THIRD_ALTERNATIVE", section, NULL,
                 "no living hypothesis is a third alternative");
        violate(lint, ARTIFACT_ERROR, "EH-003", section, NULL,
                "no living hypothesis is a third alternative");
    }
    if (section == BRENNER_ASSUMPTIONS && !has_true(lint, section, "scale_check")) {
        add_note(lint, "NO_SCALE_CHECK", section, NULL, "no living assumption is a scale check");
        violate(lint, ARTIFACT_ERROR, "EA-002", section, NULL,
                "no living assumption is a scale check");
    }
    if (section == BRENNER_CRITIQUES && !has_true(lint, section, "real_third_alternative")) {
        violate(lint, ARTIFACT_WARNING, "WC-001", section, NULL,
                "no living critique is a real third alternative");
    }
    if (section == BRENNER_RESEARCH_THREAD && of->count == 0) {
        check_members(lint, section, NULL);
    }
}

/* Whether all living hypotheses of which a prediction says something have the same outcome. */
static bool says_one_thing(struct artifact_lint *lint, const struct artifact_item *prediction) {
    const struct artifact_section *hypotheses = &lint->artifact->sections[BRENNER_HYPOTHESES];
    struct json_members members = {.rest = artifact_value(prediction, "predictions")};
    struct json_member member;
    struct parley_bytes first = {NULL, 0};
    bool differs =
        hypotheses->living_count < 2 || artifact_value_kind(members.rest) != ARTIFACT_OBJECT;
    while (!differs && json_member_next(&members, &member)) {
        const unsigned number = artifact_number("H", member.key);
        if (number >= 1 && number <= hypotheses->count &&
            !hypotheses->items[number - 1].is_killed && artifact_value_says(member.value)) {
            differs = first.data != NULL && !parley_bytes_equal(first, member.value);
            first = first.data != NULL ? first : member.value;
        }
    }
    lint->notes.has_failed = lint->notes.has_failed || members.has_failed;
    json_members_finish(&members);
    return !differs && first.data != NULL;
}

static void check_one(struct artifact_lint *lint, enum brenner_target section,
                      const struct artifact_item *item) {
    const struct parley_bytes potency = artifact_value(item, "potency_check");
    check_members(lint, section, item);
    check_references(lint, section, item);
    check_anchors(lint, section, item);
    note_needs(lint, section, item);
    if (section == BRENNER_PREDICTIONS && says_one_thing(lint, item)) {
        violate(lint, ARTIFACT_WARNING, "WP-001", section, item,
                "all hypotheses have the same outcome");
    }
    if (section == BRENNER_TESTS && artifact_value_says(potency) &&
        !contains(potency, "\xC2\xA7"
                           "50") &&
        !contains(potency, "\xC2\xA7 50")) {
        violate(lint, ARTIFACT_INFO, "IP-P02", section, item,
                "`potency_check` does not cite \xC2\xA7"
                "50");
    }
    if (section == BRENNER_ASSUMPTIONS &&
        artifact_value_is_true(artifact_value(item, "scale_check")) && !says(item, "calculation")) {
        violate(lint, ARTIFACT_WARNING, "WA-003", section, item,
                "the scale check has no "
                "`calculation`");
    }
}

enum parley_status artifact_lint(struct artifact_lint *lint,
                                 const struct parley_artifact *artifact) {
    *lint = (struct artifact_lint){.artifact = artifact};
    if (artifact->contributor_count == 0) {
        violate(lint, ARTIFACT_WARNING, "WM-001", BRENNER_RESEARCH_THREAD, NULL,
                "there are no contributors");
    }
    for (size_t s = 0; s < BRENNER_SECTION_COUNT; s++) {
        const enum brenner_target section = (enum brenner_target)s;
        const struct artifact_section *of = &artifact->sections[s];
        check_section(lint, section);
        for (size_t i = 0; i < of->count; i++) {
            if (!of->items[i].is_killed) {
                check_one(lint, section, &of->items[i]);
            }
        }
    }
    return lint->notes.has_failed || lint->scratch.has_failed || lint->violations[0].has_failed ||
                   lint->violations[1].has_failed || lint->violations[2].has_failed
               ? PARLEY_E_MEMORY
               : PARLEY_OK;
}

void artifact_lint_finish(struct artifact_lint *lint) {
    parley_buffer_finish(&lint->notes);
    parley_buffer_finish(&lint->scratch);
    for (size_t i = 0; i < 3; i++) {
        parley_buffer_finish(&lint->violations[i]);
    }
}
