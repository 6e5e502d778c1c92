/* SPDX-License-Identifier: Apache-2.0 */

/* Writes an artifact as Markdown: as a document, and as the body of a COMPILED message. Texts of
 * agents stay within their line, after something bold, so that none of them begins a heading, a
 * list or a block of code; `<` is escaped. */

#include "artifact.h"

#include <inttypes.h>

/* Larger ones are linked instead: a message has at most 1 MiB, of JSON. */
enum { INLINE_MAX_BYTES = 384 * 1024 };

static const char *const titles[] = {
    [BRENNER_HYPOTHESES] = "Hypothesis Slate",    [BRENNER_PREDICTIONS] = "Predictions Table",
    [BRENNER_TESTS] = "Discriminative Tests",     [BRENNER_ASSUMPTIONS] = "Assumption Ledger",
    [BRENNER_ANOMALIES] = "Anomaly Register",     [BRENNER_CRITIQUES] = "Adversarial Critique",
    [BRENNER_RESEARCH_THREAD] = "Research Thread"};

/* As in the body of a COMPILED message, in its order. */
static const char *const statistics[] = {"Hypotheses",  "Predictions", "Tests",
                                         "Assumptions", "Anomalies",   "Critiques"};

/* The members that are shown, in this order, and by which name; `name` is in the heading. Others
 * follow by their own. */
static const char *const labels[][2] = {
    {"statement", "Statement"},
    {"context", "Context"},
    {"why_it_matters", "Why it matters"},
    {"claim", "Claim"},
    {"mechanism", "Mechanism"},
    {"third_alternative", "Third alternative"},
    {"condition", "Observation/Condition"},
    {"predictions", "Predictions"},
    {"procedure", "Procedure"},
    {"discriminates", "Discriminates"},
    {"expected_outcomes", "Expected outcomes"},
    {"potency_check", "Potency check"},
    {"feasibility", "Feasibility"},
    {"score", "Evidence-per-week score"},
    {"load", "Load"},
    {"test", "Test"},
    {"scale_check", "Scale check"},
    {"calculation", "Calculation"},
    {"implication", "Implication"},
    {"observation", "Observation"},
    {"conflicts_with", "Conflicts with"},
    {"resolution_plan", "Resolution plan"},
    {"attack", "Attack"},
    {"evidence", "Evidence"},
    {"current_status", "Current status"},
    {"real_third_alternative", "Real third alternative"},
    {"proposed_alternative", "Proposed alternative"},
    {"status", "Status"},
    {"anchors", "Anchors"},
    {"references", "References"},
};
enum { LABEL_COUNT = sizeof labels / sizeof labels[0] };

/* ---- texts ---- */

struct writer {
    const struct parley_artifact *artifact;
    struct parley_buffer *out;
    struct parley_buffer scratch, value;
};

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* On one line. */
static void write_line(struct writer *writer, struct parley_bytes text) {
    size_t length = text.length, start = 0;
    while (length > 0 && is_space(text.data[length - 1])) {
        length--;
    }
    while (start < length && is_space(text.data[start])) {
        start++;
    }
    for (size_t i = start; i < length; i++) {
        if (!is_space(text.data[i])) {
            parley_buffer_text(writer->out, text.data[i] == '<' ? "\\" : "");
            parley_buffer_char(writer->out, text.data[i]);
        } else if (!is_space(text.data[i - 1])) {
            parley_buffer_char(writer->out, ' ');
        }
    }
}

static void write_value(struct writer *writer, struct parley_bytes value) {
    write_line(writer, artifact_value_text(value, &writer->scratch));
}

static void write_elements(struct writer *writer, struct parley_bytes array) {
    struct parley_bytes rest = array, element;
    for (size_t i = 0; artifact_element_next(&rest, &element); i++) {
        parley_buffer_text(writer->out, i > 0 ? ", " : "");
        write_value(writer, element);
    }
}

static void write_members(struct writer *writer, struct parley_bytes object) {
    struct json_members members = {.rest = object};
    struct json_member member;
    while (json_member_next(&members, &member)) {
        parley_buffer_text(writer->out, "\n- **");
        write_line(writer, member.key);
        parley_buffer_text(writer->out, "**: ");
        write_value(writer, member.value);
    }
    writer->out->has_failed = writer->out->has_failed || members.has_failed;
    json_members_finish(&members);
}

/* ---- items ---- */

static void write_field(struct writer *writer, enum brenner_target section, const char *label,
                        const struct artifact_field *field) {
    parley_buffer_clear(&writer->value);
    artifact_field_write(writer->artifact, section, field, &writer->value);
    writer->out->has_failed = writer->out->has_failed || writer->value.has_failed;
    const struct parley_bytes value = parley_buffer_bytes(&writer->value);
    if (!artifact_value_says(value)) {
        return;
    }
    parley_buffer_text(writer->out, "\n**");
    write_line(writer, label != NULL ? parley_bytes_of(label) : artifact_bytes(&field->key));
    const bool is_list = artifact_value_kind(value) == ARTIFACT_OBJECT;
    parley_buffer_text(writer->out, is_list ? "**:" : "**: ");
    switch (artifact_value_kind(value)) {
    case ARTIFACT_ARRAY:
        write_elements(writer, value);
        break;
    case ARTIFACT_OBJECT:
        write_members(writer, value);
        parley_buffer_char(writer->out, '\n'); /* ends the list */
        break;
    default:
        write_value(writer, value);
        break;
    }
}

static bool is_labelled(struct parley_bytes key) {
    bool is_known = parley_bytes_equal(key, PARLEY_BYTES("name"));
    for (size_t i = 0; i < LABEL_COUNT && !is_known; i++) {
        is_known = parley_bytes_equal(key, parley_bytes_of(labels[i][0]));
    }
    return is_known;
}

static void write_fields(struct writer *writer, enum brenner_target section,
                         const struct artifact_item *item) {
    for (size_t i = 0; i < LABEL_COUNT; i++) {
        const struct artifact_field *field = artifact_field(item, parley_bytes_of(labels[i][0]));
        if (field != NULL) {
            write_field(writer, section, labels[i][1], field);
        }
    }
    for (size_t i = 0; i < item->field_count; i++) {
        if (!is_labelled(artifact_bytes(&item->fields[i].key))) {
            write_field(writer, section, NULL, &item->fields[i]);
        }
    }
}

static void write_heading(struct writer *writer, enum brenner_target section,
                          const struct artifact_item *item) {
    const struct parley_bytes name = artifact_value(item, "name");
    parley_buffer_text(writer->out, item->is_killed ? "\n### ~~" : "\n### ");
    artifact_id_write(section, item, writer->out);
    if (artifact_value_says(name)) {
        parley_buffer_text(writer->out, ": ");
        write_value(writer, name);
    }
    if (section == BRENNER_TESTS) {
        parley_buffer_text(writer->out, " (Score: ");
        parley_buffer_number(writer->out, item->score);
        parley_buffer_text(writer->out, "/12)");
    }
    parley_buffer_text(writer->out, item->is_killed ? "~~ [KILLED]\n" : "\n");
}

static void write_item(struct writer *writer, enum brenner_target section,
                       const struct artifact_item *item) {
    if (section != BRENNER_RESEARCH_THREAD) {
        write_heading(writer, section, item);
    }
    write_fields(writer, section, item);
    if (item->is_killed) {
        parley_buffer_text(writer->out, "\n**Killed by**: ");
        write_line(writer, artifact_bytes(&item->killed_by));
        parley_buffer_text(writer->out, " (");
        artifact_time_write(item->killed_seconds, writer->out);
        parley_buffer_text(writer->out, ")\n**Reason**: ");
        write_line(writer, artifact_bytes(&item->kill_reason));
    }
    parley_buffer_char(writer->out, '\n');
}

/* `level`: of the heading, "##" or "###". */
static enum parley_status write_section(struct writer *writer, enum brenner_target section,
                                        const char *level, unsigned number) {
    const struct artifact_section *of = &writer->artifact->sections[section];
    const struct artifact_item **items = artifact_in_order(writer->artifact, section);
    if (items == NULL) {
        return PARLEY_E_MEMORY;
    }
    parley_buffer_format(writer->out, "\n%s %u. %s\n", level, number, titles[section]);
    parley_buffer_text(writer->out, of->count == 0 ? "\nNone registered.\n" : "");
    for (size_t i = 0; i < of->count; i++) {
        write_item(writer, section, items[i]);
    }
    free(items);
    return PARLEY_OK;
}

static enum parley_status write_sections(struct writer *writer, const char *level) {
    PARLEY_TRY(write_section(writer, BRENNER_RESEARCH_THREAD, level, 1));
    for (unsigned s = 0; s < BRENNER_RESEARCH_THREAD; s++) {
        PARLEY_TRY(write_section(writer, (enum brenner_target)s, level, s + 2));
    }
    return PARLEY_OK;
}

/* ---- lists about the whole ---- */

static void write_contributors(struct writer *writer) {
    const struct parley_artifact *artifact = writer->artifact;
    parley_buffer_text(writer->out, artifact->contributor_count == 0 ? "None\n" : "");
    for (size_t i = 0; i < artifact->contributor_count; i++) {
        const struct parley_bytes agent = artifact_bytes(&artifact->contributors[i].agent);
        parley_buffer_text(writer->out, "- ");
        write_line(writer, agent.length > 0 ? agent : PARLEY_BYTES("(without a name)"));
        parley_buffer_char(writer->out, '\n');
    }
}

static void write_statistics(struct writer *writer) {
    for (size_t i = 0; i < ARTIFACT_STATISTICS; i++) {
        parley_buffer_format(writer->out, "- %s: %zu\n", statistics[i],
                             writer->artifact->sections[i].living_count);
    }
}

/* `violations`: those of the linter, items of a JSON array. */
static void write_violations(struct writer *writer, struct parley_buffer *violations) {
    struct json_members members;
    struct json_member member;
    struct parley_bytes rest, one;
    parley_buffer_clear(&writer->value);
    parley_buffer_char(&writer->value, '[');
    parley_buffer_append(&writer->value, parley_buffer_bytes(violations));
    parley_buffer_char(&writer->value, ']');
    writer->out->has_failed = writer->out->has_failed || writer->value.has_failed;
    rest = writer->value.has_failed ? PARLEY_BYTES("[]") : parley_buffer_bytes(&writer->value);
    while (artifact_element_next(&rest, &one)) {
        members = (struct json_members){.rest = one};
        parley_buffer_text(writer->out, "-");
        while (json_member_next(&members, &member)) {
            if (!parley_bytes_equal(member.key, PARLEY_BYTES("severity"))) {
                parley_buffer_char(writer->out, ' ');
                write_value(writer, member.value);
            }
        }
        parley_buffer_char(writer->out, '\n');
        json_members_finish(&members);
    }
}

static enum parley_status write_validation(struct writer *writer) {
    struct artifact_lint lint;
    const enum parley_status status = artifact_lint(&lint, writer->artifact);
    if (status != PARLEY_OK) { /* the violations are cut */
        artifact_lint_finish(&lint);
        return status;
    }
    parley_buffer_format(writer->out, "%s: %zu errors, %zu warnings, %zu notes.\n",
                         lint.counts[ARTIFACT_ERROR] == 0 ? "Valid" : "Not valid",
                         lint.counts[ARTIFACT_ERROR], lint.counts[ARTIFACT_WARNING],
                         lint.counts[ARTIFACT_INFO]);
    for (size_t i = 0; i < 2; i++) {
        parley_buffer_text(writer->out, i == 0 && lint.violations[i].length > 0 ? "\n" : "");
        write_violations(writer, &lint.violations[i]);
    }
    artifact_lint_finish(&lint);
    return PARLEY_OK;
}

/* ---- what does not fit ---- */

static void write_not_applied(struct writer *writer) {
    const struct artifact_events *events = &writer->artifact->not_applied;
    parley_buffer_text(writer->out, events->count > 0 ? "\n## Not Applied\n\n" : "");
    for (size_t i = 0; i < events->count; i++) {
        const struct artifact_event *event = &events->items[i];
        parley_buffer_format(writer->out, "- %s at %" PRIu64 ", delta %zu of ",
                             artifact_code_name(event->code), event->sequence, event->delta);
        write_line(writer, artifact_bytes(&event->from));
        parley_buffer_text(writer->out, ": ");
        write_line(writer, artifact_bytes(&event->text));
        parley_buffer_char(writer->out, '\n');
    }
    if (events->omitted_count > 0) {
        parley_buffer_format(writer->out, "- and %zu others\n", events->omitted_count);
    }
}

/* `names`: items of a JSON array. */
static void write_names(struct writer *writer, const char *what,
                        const struct artifact_text *names) {
    if (names->length > 0) {
        parley_buffer_clear(&writer->value);
        parley_buffer_char(&writer->value, '[');
        parley_buffer_append(&writer->value, artifact_bytes(names));
        parley_buffer_char(&writer->value, ']');
        writer->out->has_failed = writer->out->has_failed || writer->value.has_failed;
        parley_buffer_text(writer->out, what);
        write_elements(writer, writer->value.has_failed ? PARLEY_BYTES("[]")
                                                        : parley_buffer_bytes(&writer->value));
    }
}

static void write_difference(struct writer *writer, const struct artifact_compiled *compiled) {
    parley_buffer_format(writer->out, "- The message %" PRIu64 " of ", compiled->sequence);
    write_line(writer, artifact_bytes(&compiled->from));
    if (compiled->version >= 0) {
        parley_buffer_format(writer->out, " (v%" PRId64 ")", compiled->version);
    }
    for (size_t i = 0; i < ARTIFACT_STATISTICS; i++) {
        if (compiled->said[i] >= 0) {
            parley_buffer_format(writer->out, "; %s: %" PRId64 ", folded %zu (and %zu killed)",
                                 statistics[i], compiled->said[i], compiled->living[i],
                                 compiled->killed[i]);
        }
    }
    write_names(writer, "; does not name ", &compiled->missing);
    write_names(writer, "; names ", &compiled->extra);
    parley_buffer_char(writer->out, '\n');
}

static void write_differences(struct writer *writer) {
    const struct artifact_compileds *all = &writer->artifact->compiled;
    parley_buffer_text(writer->out, all->count > 0 ? "\n## Compiled Messages That Differ\n\n" : "");
    for (size_t i = 0; i < all->count; i++) {
        write_difference(writer, &all->items[i]);
    }
    if (all->omitted_count > 0) {
        parley_buffer_format(writer->out, "- and %zu others\n", all->omitted_count);
    }
}

/* ---- documents ---- */

static enum parley_status write_document(struct writer *writer,
                                         const struct parley_artifact_extent *extent) {
    const struct parley_artifact *artifact = writer->artifact;
    parley_buffer_text(writer->out, "# Brenner Protocol Artifact: ");
    write_line(writer, artifact_bytes(&artifact->thread));
    parley_buffer_format(writer->out, "\n\n**Version**: %" PRIu64 "\n**At**: %" PRIu64 "%s\n",
                         artifact->version, extent->at,
                         extent->is_cut ? " (there are more messages)" : "");
    if (artifact->compiled_version >= 0) {
        parley_buffer_format(writer->out, "**Compiled version**: %" PRId64 "\n",
                             artifact->compiled_version);
    }
    parley_buffer_text(writer->out, "**Updated**: ");
    artifact_time_write(artifact->updated_seconds, writer->out);
    parley_buffer_text(writer->out, "\n\n**Contributors**:\n\n");
    write_contributors(writer);
    PARLEY_TRY(write_sections(writer, "##"));
    write_not_applied(writer);
    write_differences(writer);
    parley_buffer_text(writer->out, "\n## Validation Status\n\n");
    return write_validation(writer);
}

static void write_summary(struct writer *writer, const struct parley_artifact_extent *extent) {
    const struct parley_artifact *artifact = writer->artifact;
    parley_buffer_format(writer->out,
                         "Folded from %" PRIu64 " DELTA messages, up to sequence %" PRIu64,
                         artifact->version, extent->at);
    if (artifact->compiled_version >= 0) {
        parley_buffer_format(writer->out, "; %" PRIu64 " of them came after v%" PRId64,
                             artifact->since_compiled, artifact->compiled_version);
    }
    parley_buffer_format(writer->out,
                         ".\n%" PRIu64 " deltas were applied, and %" PRIu64 " left out.%s\n",
                         artifact->applied_count, artifact->skipped_count,
                         extent->is_cut ? " There are more messages in the thread." : "");
}

static enum parley_status write_whole(struct writer *writer,
                                      const struct parley_artifact_extent *extent) {
    const size_t start = writer->out->length;
    PARLEY_TRY(write_sections(writer, "###"));
    if (writer->out->length - start > INLINE_MAX_BYTES) {
        writer->out->length = start;
        parley_buffer_text(writer->out, "\nIt is too large for a message: "
                                        "/v1/brenner/threads/");
        parley_buffer_append(writer->out, artifact_bytes(&writer->artifact->thread));
        parley_buffer_format(writer->out, "/artifact?at=%" PRIu64 "\n", extent->at);
    }
    return PARLEY_OK;
}

static enum parley_status write_body(struct writer *writer,
                                     const struct parley_artifact_extent *extent) {
    const int64_t last = writer->artifact->compiled_version;
    parley_buffer_format(writer->out, "# Compiled Artifact v%" PRId64 "\n\n## Summary\n",
                         last >= 0 ? last + 1 : 1);
    write_summary(writer, extent);
    parley_buffer_text(writer->out, "\n## Contributors\n");
    write_contributors(writer);
    parley_buffer_text(writer->out, "\n## Statistics\n");
    write_statistics(writer);
    parley_buffer_text(writer->out, "\n## Validation Status\n");
    PARLEY_TRY(write_validation(writer));
    parley_buffer_text(writer->out, "\n## Full Artifact\n");
    return write_whole(writer, extent);
}

typedef enum parley_status write_fn(struct writer *writer,
                                    const struct parley_artifact_extent *extent);

static enum parley_status write_with(write_fn *write, const struct parley_artifact *artifact,
                                     const struct parley_artifact_extent *extent,
                                     struct parley_buffer *out) {
    struct writer writer = {.artifact = artifact, .out = out};
    parley_buffer_init(&writer.scratch);
    parley_buffer_init(&writer.value);
    enum parley_status status = write(&writer, extent);
    if (status == PARLEY_OK && (writer.scratch.has_failed || writer.value.has_failed)) {
        status = PARLEY_E_MEMORY;
    }
    parley_buffer_finish(&writer.scratch);
    parley_buffer_finish(&writer.value);
    return status != PARLEY_OK ? status : parley_buffer_status(out);
}

enum parley_status artifact_write_markdown(const struct parley_artifact *artifact,
                                           const struct parley_artifact_extent *extent,
                                           struct parley_buffer *out) {
    return write_with(write_document, artifact, extent, out);
}

enum parley_status artifact_write_compiled(const struct parley_artifact *artifact,
                                           const struct parley_artifact_extent *extent,
                                           struct parley_buffer *out) {
    return write_with(write_body, artifact, extent, out);
}
