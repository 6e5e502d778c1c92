/* SPDX-License-Identifier: Apache-2.0 */

/* escalate=true: a claim that did not earn its confidence goes to people (safety.level review)
 * instead of back to its sender, with the issue that the protocol's own library adds. The rest of
 * its text stays as it was sent, byte for byte. */

#include "vlp.h"

#define ISSUE                                                                                      \
    "{\"code\":\"missing_provenance_high_confidence\","                                            \
    "\"detail\":\"confidence >= 0.9 without provenance\"}"

/* A part of the text, and what takes its place. */
struct edit {
    size_t at, removed;
    const char *text;
};

/* Whether VLP-012 is all that is wrong. */
static bool is_only_unearned(const struct parley_message *message, size_t *out_finding) {
    const struct parley_findings *findings = &message->findings;
    if (findings->omitted_count > 0 || findings->count != findings->warning_count + 1) {
        return false;
    }
    size_t i = 0;
    while (findings->items[i].rule->severity != PARLEY_ERROR) {
        i++;
    }
    *out_finding = i;
    return strcmp(findings->items[i].rule->id, VLP_RULE_EARNED_CONFIDENCE) == 0;
}

static bool is_safe(const struct parley_message *message) {
    return message->values[VLP_SAFETY].kind == PARLEY_ABSENT ||
           parley_value_is(&message->values[VLP_SAFETY_LEVEL], vlp_lanes[0]);
}

static void forget_finding(struct parley_findings *findings, size_t i) {
    findings->count--;
    memmove(findings->items + i, findings->items + i + 1,
            (findings->count - i) * sizeof *findings->items);
    findings->has_error = false;
}

/* ---- the text, which is valid JSON ---- */

/* The end of the string that starts at `at`. */
static size_t end_of_string(struct parley_bytes text, size_t at) {
    for (at++; text.data[at] != '"'; at++) {
        at += text.data[at] == '\\';
    }
    return at + 1;
}

/* The place of the bracket that closes the array that starts at `at`. */
static size_t last_of_array(struct parley_bytes text, size_t at) {
    for (size_t depth = 0;;) {
        const char c = text.data[at];
        depth += c == '[';
        depth -= c == ']';
        if (depth == 0) {
            return at;
        }
        at = c == '"' ? end_of_string(text, at) : at + 1;
    }
}

static size_t last_of_object(struct parley_bytes text) {
    size_t at = text.length - 1;
    while (text.data[at] != '}') { /* blanks */
        at--;
    }
    return at;
}

static enum parley_status replace(struct parley_message *message, const struct edit *edits,
                                  size_t count) {
    const struct parley_bytes text = message->text;
    struct parley_buffer out;
    parley_buffer_init(&out);
    size_t at = 0;
    for (size_t i = 0; i < count; at = edits[i].at + edits[i].removed, i++) {
        parley_buffer_append(&out, (struct parley_bytes){text.data + at, edits[i].at - at});
        parley_buffer_text(&out, edits[i].text);
    }
    parley_buffer_append(&out, (struct parley_bytes){text.data + at, text.length - at});
    const char *copy =
        out.has_failed ? NULL : parley_arena_copy(&message->arena, parley_buffer_bytes(&out));
    if (copy != NULL) {
        message->text = (struct parley_bytes){copy, out.length};
    }
    parley_buffer_finish(&out);
    return copy != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status add_safety(struct parley_message *message) {
    const struct edit end = {.at = last_of_object(message->text),
                             .text = ",\"safety\":{\"level\":\"review\",\"issues\":[" ISSUE "]}"};
    return replace(message, &end, 1);
}

static enum parley_status raise_level(struct parley_message *message) {
    const struct parley_bytes text = message->text;
    const struct parley_value *issues = &message->values[VLP_SAFETY_ISSUES];
    const size_t start = message->values[VLP_SAFETY_LEVEL].offset;
    const size_t length = end_of_string(text, start) - start;
    if (issues->kind == PARLEY_ABSENT) {
        const struct edit both = {start, length, "\"review\",\"issues\":[" ISSUE "]"};
        return replace(message, &both, 1);
    }
    const struct edit level = {start, length, "\"review\""};
    const struct edit issue = {last_of_array(text, issues->offset), 0,
                               issues->count > 0 ? "," ISSUE : ISSUE};
    const bool is_level_first = level.at < issue.at;
    const struct edit edits[] = {is_level_first ? level : issue, is_level_first ? issue : level};
    return replace(message, edits, 2);
}

/* ---- the hook ---- */

/* As a reader of the new text would find them. */
static void update_captures(struct parley_value *values) {
    const bool had_issues = values[VLP_SAFETY_ISSUES].kind != PARLEY_ABSENT;
    const bool had_safety = values[VLP_SAFETY].kind != PARLEY_ABSENT;
    values[VLP_SAFETY].kind = PARLEY_OBJECT;
    values[VLP_SAFETY].count += (had_safety ? 0u : 1u) + (had_issues ? 0u : 1u);
    values[VLP_SAFETY_LEVEL].kind = PARLEY_STRING;
    values[VLP_SAFETY_LEVEL].text = parley_bytes_of(vlp_lanes[1]);
    values[VLP_SAFETY_ISSUES].kind = PARLEY_ARRAY;
    values[VLP_SAFETY_ISSUES].count++;
}

enum parley_status vlp_escalate(struct parley_message *message) {
    size_t finding;
    const bool is_asked = message->options.values[VLP_ESCALATE].is_on;
    if (!is_asked || message->type != VLP_CLAIM || !is_only_unearned(message, &finding) ||
        !is_safe(message)) {
        return PARLEY_OK;
    }
    PARLEY_TRY(message->values[VLP_SAFETY].kind == PARLEY_ABSENT ? add_safety(message)
                                                                 : raise_level(message));
    update_captures(message->values);
    forget_finding(&message->findings, finding);
    message->is_escalated = true;
    return PARLEY_OK;
}
