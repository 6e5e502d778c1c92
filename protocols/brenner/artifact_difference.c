/* SPDX-License-Identifier: Apache-2.0 */

/* What differs between an artifact and the same artifact earlier. Items are never removed and keep
 * their numbers, so an item is new, was killed, or has other members. */

#include "artifact.h"

#include <inttypes.h>

#include "text.h"

struct comparison {
    const struct parley_artifact *before, *after;
    struct parley_buffer *out;
    struct parley_buffer values[2], scratch;
    bool is_markdown, has_one, has_failed;
    enum brenner_target section;
};

/* ---- one change ---- */

/* A text of agents in Markdown, on one line, and cut. */
static void write_text_short(struct comparison *comparison, struct parley_bytes whole) {
    const struct parley_bytes text = text_prefix(whole, 120);
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const bool is_space = c == '\n' || c == '\r' || c == '\t';
        parley_buffer_text(comparison->out, c == '<' ? "\\" : "");
        parley_buffer_char(comparison->out, is_space ? ' ' : c);
    }
}

static void write_short(struct comparison *comparison, struct parley_bytes value) {
    write_text_short(comparison, artifact_value_text(value, &comparison->scratch));
}

static void begin_change(struct comparison *comparison, const struct artifact_item *item,
                         const char *change) {
    struct parley_buffer *out = comparison->out;
    if (comparison->is_markdown) {
        parley_buffer_text(out, "- **");
        artifact_id_write(comparison->section, item, out);
        parley_buffer_format(out, "** %s", change);
    } else {
        parley_buffer_format(out, "%s{\"section\":\"%s\",\"id\":\"", comparison->has_one ? "," : "",
                             brenner_target_sections[comparison->section].name);
        artifact_id_write(comparison->section, item, out);
        parley_buffer_format(out, "\",\"change\":\"%s\"", change);
    }
    comparison->has_one = true;
}

static void write_text(struct comparison *comparison, const char *key, struct parley_bytes value) {
    if (value.data == NULL) {
        return;
    }
    if (comparison->is_markdown) {
        parley_buffer_text(comparison->out, ": ");
        write_short(comparison, value);
    } else {
        parley_buffer_format(comparison->out, ",\"%s\":", key);
        parley_buffer_append(comparison->out, value);
    }
}

static void end_change(struct comparison *comparison) {
    parley_buffer_char(comparison->out, comparison->is_markdown ? '\n' : '}');
}

/* ---- members ---- */

static struct parley_bytes value_in(struct comparison *comparison, size_t which,
                                    const struct parley_artifact *artifact,
                                    const struct artifact_field *field) {
    struct parley_buffer *value = &comparison->values[which];
    parley_buffer_clear(value);
    if (field != NULL) {
        artifact_field_write(artifact, comparison->section, field, value);
    }
    comparison->has_failed = comparison->has_failed || value->has_failed;
    return parley_buffer_bytes(value);
}

static void write_edit(struct comparison *comparison, const struct artifact_item *item,
                       struct parley_bytes key, struct parley_bytes from, struct parley_bytes to) {
    struct parley_buffer *out = comparison->out;
    begin_change(comparison, item, "edited");
    if (comparison->is_markdown) {
        parley_buffer_text(out, " `");
        write_text_short(comparison, key);
        parley_buffer_text(out, "`: ");
        write_short(comparison, from.length > 0 ? from : PARLEY_BYTES("\"(nothing)\""));
        parley_buffer_text(out, " \xE2\x86\x92 ");
        write_short(comparison, to);
    } else {
        parley_buffer_text(out, ",\"field\":");
        parley_buffer_json(out, key);
        parley_buffer_text(out, ",\"from\":");
        parley_buffer_append(out, from.length > 0 ? from : PARLEY_BYTES("null"));
        parley_buffer_text(out, ",\"to\":");
        parley_buffer_append(out, to);
    }
    end_change(comparison);
}

/* Members are never removed. */
static void compare_members(struct comparison *comparison, const struct artifact_item *before,
                            const struct artifact_item *after) {
    for (size_t i = 0; i < after->field_count; i++) {
        const struct artifact_field *field = &after->fields[i];
        const struct parley_bytes key = artifact_bytes(&field->key);
        const struct parley_bytes from = value_in(
            comparison, 0, comparison->before, before != NULL ? artifact_field(before, key) : NULL);
        const struct parley_bytes to = value_in(comparison, 1, comparison->after, field);
        if (!parley_bytes_equal(from, to)) {
            write_edit(comparison, after, key, from, to);
        }
    }
}

/* ---- items ---- */

static void write_killed(struct comparison *comparison, const struct artifact_item *item) {
    parley_buffer_clear(&comparison->values[0]);
    parley_buffer_json(&comparison->values[0], artifact_bytes(&item->kill_reason));
    begin_change(comparison, item, "killed");
    write_text(comparison, "kill_reason", parley_buffer_bytes(&comparison->values[0]));
    end_change(comparison);
}

static void compare_item(struct comparison *comparison, const struct artifact_item *before,
                         const struct artifact_item *after) {
    const bool is_thread = comparison->section == BRENNER_RESEARCH_THREAD;
    if (before == NULL && !is_thread) {
        begin_change(comparison, after, "added");
        write_text(comparison, "name", artifact_value(after, "name"));
        end_change(comparison);
    } else {
        compare_members(comparison, before, after);
    }
    if (after->is_killed && (before == NULL || !before->is_killed)) {
        write_killed(comparison, after);
    }
}

static void compare_sections(struct comparison *comparison) {
    for (size_t s = 0; s < BRENNER_SECTION_COUNT; s++) {
        /* RT first, as in the artifact. */
        const size_t section = s == 0 ? BRENNER_RESEARCH_THREAD : s - 1;
        const struct artifact_section *before = &comparison->before->sections[section],
                                      *after = &comparison->after->sections[section];
        comparison->section = (enum brenner_target)section;
        for (size_t i = 0; i < after->count; i++) {
            compare_item(comparison, i < before->count ? &before->items[i] : NULL,
                         &after->items[i]);
        }
    }
}

/* ---- the whole ---- */

static void write_head(struct comparison *comparison,
                       const struct parley_artifact_extent *before_extent,
                       const struct parley_artifact_extent *after_extent) {
    struct parley_buffer *out = comparison->out;
    const struct parley_bytes thread = artifact_bytes(&comparison->after->thread);
    if (comparison->is_markdown) {
        parley_buffer_text(out, "# Changes of ");
        parley_buffer_append(out, thread);
        parley_buffer_format(
            out,
            "\n\nFrom version %" PRIu64 " (%" PRIu64 ") to version %" PRIu64 " (%" PRIu64 ")%s\n\n",
            comparison->before->version, before_extent->at, comparison->after->version,
            after_extent->at, after_extent->is_cut ? "; there are more messages." : ".");
        return;
    }
    parley_buffer_text(out, "{\"session_id\":");
    parley_buffer_json(out, thread);
    parley_buffer_format(out,
                         ",\"from\":{\"at\":%" PRIu64 ",\"version\":%" PRIu64
                         "},\"to\":{\"at\":%" PRIu64 ",\"version\":%" PRIu64
                         "},\"complete\":%s,\"changes\":[",
                         before_extent->at, comparison->before->version, after_extent->at,
                         comparison->after->version, after_extent->is_cut ? "false" : "true");
}

enum parley_status artifact_write_difference(const struct parley_artifact *before,
                                             const struct parley_artifact_extent *before_extent,
                                             const struct parley_artifact *after,
                                             const struct parley_artifact_extent *after_extent,
                                             enum parley_artifact_form form,
                                             struct parley_buffer *out) {
    struct comparison comparison = {.before = before,
                                    .after = after,
                                    .out = out,
                                    .is_markdown = form == PARLEY_ARTIFACT_MARKDOWN};
    write_head(&comparison, before_extent, after_extent);
    compare_sections(&comparison);
    if (comparison.is_markdown) {
        parley_buffer_text(out, comparison.has_one ? "" : "Nothing changed.\n");
    } else {
        parley_buffer_text(out, "]}");
    }
    const bool has_failed = comparison.has_failed || comparison.values[0].has_failed ||
                            comparison.values[1].has_failed || comparison.scratch.has_failed;
    parley_buffer_finish(&comparison.values[0]);
    parley_buffer_finish(&comparison.values[1]);
    parley_buffer_finish(&comparison.scratch);
    return has_failed ? PARLEY_E_MEMORY : parley_buffer_status(out);
}
