/* SPDX-License-Identifier: Apache-2.0 */

/* Writes an artifact as JSON; and what all its writers share. */

#include "artifact.h"

#include <inttypes.h>

#include "text.h"

static const char *const codes[] = {
    [ARTIFACT_INVALID_TARGET] = "INVALID_TARGET",
    [ARTIFACT_TARGET_KILLED] = "TARGET_KILLED",
    [ARTIFACT_SECTION_LIMIT_EXCEEDED] = "SECTION_LIMIT_EXCEEDED",
    [ARTIFACT_RT_ADD_NOT_ALLOWED] = "RT_ADD_NOT_ALLOWED",
    [ARTIFACT_AUTO_CORRECTED] = "AUTO_CORRECTED",
    [ARTIFACT_FORBIDDEN_PAYLOAD_KEY] = "FORBIDDEN_PAYLOAD_KEY",
    [ARTIFACT_ITEM_LIMIT_EXCEEDED] = "ITEM_LIMIT_EXCEEDED",
};

/* ---- shared ---- */

const char *artifact_code_name(enum artifact_code code) {
    return codes[code];
}

void artifact_time_write(double seconds, struct parley_buffer *out) {
    char time[TEXT_TIME_SIZE];
    text_write_unix_time(seconds, time);
    parley_buffer_text(out, time);
}

/* By the score, the highest first; then by the number. */
static int by_score(const void *left, const void *right) {
    const struct artifact_item *a = *(const struct artifact_item *const *)left,
                               *b = *(const struct artifact_item *const *)right;
    return a->score != b->score ? (a->score > b->score ? -1 : 1)
                                : (a->number > b->number) - (a->number < b->number);
}

const struct artifact_item **artifact_in_order(const struct parley_artifact *artifact,
                                               enum brenner_target section) {
    const struct artifact_section *of = &artifact->sections[section];
    const struct artifact_item **items = calloc(of->count + 1, sizeof(struct artifact_item *));
    for (size_t i = 0; items != NULL && i < of->count; i++) {
        items[i] = &of->items[i];
    }
    if (items != NULL && section == BRENNER_TESTS) {
        qsort(items, of->count, sizeof(struct artifact_item *), by_score);
    }
    return items;
}

static bool is_killed_hypothesis(const struct parley_artifact *artifact, struct parley_bytes key) {
    const struct artifact_section *of = &artifact->sections[BRENNER_HYPOTHESES];
    unsigned number = artifact_number("H", key);
    number = number > 0 ? number : artifact_number("h", key);
    return number >= 1 && number <= of->count && of->items[number - 1].is_killed;
}

/* The document on merging marks the predictions of a hypothesis when it is killed. Doing it when
 * they are written marks those too that are added later. */
static void write_predictions(const struct parley_artifact *artifact, struct parley_bytes object,
                              struct parley_buffer *out) {
    struct json_members members = {.rest = object};
    struct json_member member;
    parley_buffer_char(out, '{');
    const size_t start = out->length;
    while (json_member_next(&members, &member)) {
        parley_buffer_text(out, out->length > start ? "," : "");
        parley_buffer_json(out, member.key);
        parley_buffer_char(out, ':');
        parley_buffer_append(out, is_killed_hypothesis(artifact, member.key)
                                      ? PARLEY_BYTES("\"N/A\"")
                                      : member.value);
    }
    parley_buffer_char(out, '}');
    out->has_failed = out->has_failed || members.has_failed;
    json_members_finish(&members);
}

void artifact_field_write(const struct parley_artifact *artifact, enum brenner_target section,
                          const struct artifact_field *field, struct parley_buffer *out) {
    const struct parley_bytes value = artifact_bytes(&field->value);
    if (section == BRENNER_PREDICTIONS && artifact_value_kind(value) == ARTIFACT_OBJECT &&
        parley_bytes_equal(artifact_bytes(&field->key), PARLEY_BYTES("predictions"))) {
        write_predictions(artifact, value, out);
    } else {
        parley_buffer_append(out, value);
    }
}

/* ---- the head ---- */

static void write_time(const char *key, double seconds, struct parley_buffer *out) {
    parley_buffer_format(out, ",\"%s\":\"", key);
    artifact_time_write(seconds, out);
    parley_buffer_char(out, '"');
}

static void write_contributors(const struct parley_artifact *artifact, struct parley_buffer *out) {
    parley_buffer_text(out, ",\"contributors\":[");
    for (size_t i = 0; i < artifact->contributor_count; i++) {
        parley_buffer_text(out, i > 0 ? ",{\"agent\":" : "{\"agent\":");
        parley_buffer_json(out, artifact_bytes(&artifact->contributors[i].agent));
        write_time("contributed_at", artifact->contributors[i].seconds, out);
        parley_buffer_char(out, '}');
    }
    parley_buffer_char(out, ']');
}

static void write_number(const char *key, uint64_t number, struct parley_buffer *out) {
    parley_buffer_format(out, ",\"%s\":%" PRIu64, key, number);
}

static void write_metadata(const struct parley_artifact *artifact,
                           const struct parley_artifact_extent *extent, struct parley_buffer *out) {
    parley_buffer_text(out, "{\"metadata\":{\"session_id\":");
    parley_buffer_json(out, artifact_bytes(&artifact->thread));
    parley_buffer_format(out, ",\"status\":\"%s\"", artifact->version > 0 ? "active" : "draft");
    write_number("version", artifact->version, out);
    if (artifact->compiled_version >= 0) {
        write_number("compiled_version", (uint64_t)artifact->compiled_version, out);
    } else {
        parley_buffer_text(out, ",\"compiled_version\":null");
    }
    write_time("created_at", artifact->created_seconds, out);
    write_time("updated_at", artifact->updated_seconds, out);
    write_contributors(artifact, out);
    write_number("at", extent->at, out);
    write_number("messages", extent->read_count, out);
    write_number("unread", extent->unread_count, out);
    write_number("applied", artifact->applied_count, out);
    write_number("skipped", artifact->skipped_count, out);
    parley_buffer_format(out, ",\"complete\":%s}", extent->is_cut ? "false" : "true");
}

/* ---- the items ---- */

static void write_item(const struct parley_artifact *artifact, enum brenner_target section,
                       const struct artifact_item *item, struct parley_buffer *out) {
    parley_buffer_text(out, "{\"id\":\"");
    artifact_id_write(section, item, out);
    parley_buffer_char(out, '"');
    for (size_t i = 0; i < item->field_count; i++) {
        parley_buffer_char(out, ',');
        parley_buffer_json(out, artifact_bytes(&item->fields[i].key));
        parley_buffer_char(out, ':');
        artifact_field_write(artifact, section, &item->fields[i], out);
    }
    if (item->is_killed) {
        parley_buffer_text(out, ",\"killed\":true,\"killed_by\":");
        parley_buffer_json(out, artifact_bytes(&item->killed_by));
        write_time("killed_at", item->killed_seconds, out);
        parley_buffer_text(out, ",\"kill_reason\":");
        parley_buffer_json(out, artifact_bytes(&item->kill_reason));
    }
    parley_buffer_char(out, '}');
}

static enum parley_status write_section(const struct parley_artifact *artifact,
                                        enum brenner_target section, struct parley_buffer *out) {
    const struct artifact_section *of = &artifact->sections[section];
    const struct artifact_item **items = artifact_in_order(artifact, section);
    if (items == NULL) {
        return PARLEY_E_MEMORY;
    }
    parley_buffer_format(out, ",\"%s\":[", brenner_target_sections[section].name);
    for (size_t i = 0; i < of->count; i++) {
        parley_buffer_text(out, i > 0 ? "," : "");
        write_item(artifact, section, items[i], out);
    }
    parley_buffer_char(out, ']');
    free(items);
    return PARLEY_OK;
}

static enum parley_status write_sections(const struct parley_artifact *artifact,
                                         struct parley_buffer *out) {
    const struct artifact_section *thread = &artifact->sections[BRENNER_RESEARCH_THREAD];
    parley_buffer_text(out, ",\"sections\":{\"research_thread\":");
    if (thread->count > 0) {
        write_item(artifact, BRENNER_RESEARCH_THREAD, thread->items, out);
    } else {
        parley_buffer_text(out, "null");
    }
    for (size_t s = 0; s < BRENNER_RESEARCH_THREAD; s++) {
        PARLEY_TRY(write_section(artifact, (enum brenner_target)s, out));
    }
    parley_buffer_char(out, '}');
    return PARLEY_OK;
}

/* ---- what is said about them ---- */

static void write_events(const char *key, const struct artifact_events *events,
                         struct parley_buffer *out) {
    parley_buffer_format(out, ",\"%s\":[", key);
    for (size_t i = 0; i < events->count; i++) {
        const struct artifact_event *event = &events->items[i];
        parley_buffer_format(
            out, "%s{\"code\":\"%s\",\"seq\":%" PRIu64 ",\"delta\":%zu,\"from\":", i > 0 ? "," : "",
            artifact_code_name(event->code), event->sequence, event->delta);
        parley_buffer_json(out, artifact_bytes(&event->from));
        parley_buffer_format(out, ",\"operation\":\"%s\",\"section\":\"%s\",\"target_id\":",
                             event->operation, event->section);
        if (event->target.length > 0) {
            parley_buffer_json(out, artifact_bytes(&event->target));
        } else {
            parley_buffer_text(out, "null");
        }
        parley_buffer_text(out, ",\"message\":");
        parley_buffer_json(out, artifact_bytes(&event->text));
        parley_buffer_char(out, '}');
    }
    parley_buffer_format(out, "],\"%s_omitted\":%zu", key, events->omitted_count);
}

static void write_compiled(const struct artifact_compiled *compiled, struct parley_buffer *out) {
    parley_buffer_format(out, "{\"seq\":%" PRIu64 ",\"from\":", compiled->sequence);
    parley_buffer_json(out, artifact_bytes(&compiled->from));
    if (compiled->version >= 0) {
        write_number("version", (uint64_t)compiled->version, out);
    } else {
        parley_buffer_text(out, ",\"version\":null");
    }
    parley_buffer_text(out, ",\"statistics\":[");
    bool has_one = false;
    for (size_t i = 0; i < ARTIFACT_STATISTICS; i++) {
        if (compiled->said[i] >= 0) {
            parley_buffer_format(out,
                                 "%s{\"section\":\"%s\",\"compiled\":%" PRId64
                                 ",\"folded\":%zu,\"killed\":%zu}",
                                 has_one ? "," : "", brenner_target_sections[i].name,
                                 compiled->said[i], compiled->living[i], compiled->killed[i]);
            has_one = true;
        }
    }
    parley_buffer_text(out, "],\"contributors\":{\"missing\":[");
    parley_buffer_append(out, artifact_bytes(&compiled->missing));
    parley_buffer_text(out, "],\"extra\":[");
    parley_buffer_append(out, artifact_bytes(&compiled->extra));
    parley_buffer_text(out, "]}}");
}

static void write_compileds(const struct parley_artifact *artifact, struct parley_buffer *out) {
    const struct artifact_compileds *all = &artifact->compiled;
    parley_buffer_text(out, ",\"compiled_differs\":[");
    for (size_t i = 0; i < all->count; i++) {
        parley_buffer_text(out, i > 0 ? "," : "");
        write_compiled(&all->items[i], out);
    }
    parley_buffer_format(out, "],\"compiled_differs_omitted\":%zu", all->omitted_count);
}

static enum parley_status write_lint(const struct parley_artifact *artifact,
                                     struct parley_buffer *out) {
    struct artifact_lint lint;
    const enum parley_status status = artifact_lint(&lint, artifact);
    parley_buffer_text(out, ",\"notes\":[");
    parley_buffer_append(out, parley_buffer_bytes(&lint.notes));
    parley_buffer_format(out,
                         "],\"lint\":{\"valid\":%s,\"summary\":{\"errors\":%zu,\"warnings\":%zu,"
                         "\"info\":%zu},\"violations\":[",
                         lint.counts[0] == 0 ? "true" : "false", lint.counts[0], lint.counts[1],
                         lint.counts[2]);
    bool has_one = false;
    for (size_t i = 0; i < 3; i++) {
        parley_buffer_text(out, has_one && lint.violations[i].length > 0 ? "," : "");
        parley_buffer_append(out, parley_buffer_bytes(&lint.violations[i]));
        has_one = has_one || lint.violations[i].length > 0;
    }
    parley_buffer_text(out, "]}");
    artifact_lint_finish(&lint);
    return status;
}

enum parley_status artifact_write_json(const struct parley_artifact *artifact,
                                       const struct parley_artifact_extent *extent,
                                       struct parley_buffer *out) {
    write_metadata(artifact, extent, out);
    PARLEY_TRY(write_sections(artifact, out));
    write_events("not_applied", &artifact->not_applied, out);
    write_events("corrections", &artifact->corrections, out);
    PARLEY_TRY(write_lint(artifact, out));
    write_compileds(artifact, out);
    parley_buffer_char(out, '}');
    return parley_buffer_status(out);
}

/* ---- the capability ---- */

static enum parley_status write_form(const struct parley_artifact *artifact,
                                     const struct parley_artifact_extent *extent,
                                     enum parley_artifact_form form, struct parley_buffer *out) {
    switch (form) {
    case PARLEY_ARTIFACT_JSON:
        return artifact_write_json(artifact, extent, out);
    case PARLEY_ARTIFACT_MARKDOWN:
        return artifact_write_markdown(artifact, extent, out);
    case PARLEY_ARTIFACT_COMPILED:
        break;
    }
    return artifact_write_compiled(artifact, extent, out);
}

const struct parley_artifact_kind brenner_artifact = {
    .subjects = "*.",
    .create = artifact_create,
    .destroy = artifact_destroy,
    .fold = artifact_fold,
    .write = write_form,
    .write_difference = artifact_write_difference,
};
