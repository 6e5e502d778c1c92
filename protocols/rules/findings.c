/* SPDX-License-Identifier: Apache-2.0 */

/* The findings of a message: adding them, finding their places, and writing them. */

#include "findings.h"

#include <stdlib.h>

#include <parley/fix.h>
#include <parley/message.h>

/* ---- adding ---- */

static void omit(struct parley_findings *findings, const struct parley_finding *finding) {
    findings->omitted_count++;
    if (finding->rule->severity == PARLEY_ERROR) {
        findings->omitted_error_types |= finding->for_types;
    }
}

enum parley_status findings_do_without(struct parley_message *message,
                                       const struct parley_finding *finding) {
    if (!message->arena.is_over_limit) {
        return PARLEY_E_MEMORY;
    }
    omit(&message->findings, finding);
    return PARLEY_OK;
}

bool findings_has_room(const struct parley_findings *findings, enum parley_severity severity) {
    return findings->count < PARLEY_FINDINGS_MAX ||
           (severity == PARLEY_ERROR && findings->warning_count > 0);
}

/* The list is full, and has warnings: replaces the last of them. */
static void displace_warning(struct parley_findings *findings, struct parley_finding finding) {
    size_t i = findings->count - 1;
    while (findings->items[i].rule->severity != PARLEY_WARNING) {
        i--;
    }
    omit(findings, &findings->items[i]);
    findings->items[i] = finding;
    findings->warning_count--;
}

enum parley_status findings_add(struct parley_message *message, struct parley_finding finding) {
    struct parley_findings *findings = &message->findings;
    finding.discovered = findings->discovered_count++;
    if (!findings_has_room(findings, finding.rule->severity)) {
        omit(findings, &finding);
        return PARLEY_OK;
    }
    if (findings->count == PARLEY_FINDINGS_MAX) {
        displace_warning(findings, finding);
        return PARLEY_OK;
    }
    if (findings->count == findings->capacity) {
        const size_t capacity = findings->capacity == 0 ? 8 : findings->capacity * 2;
        struct parley_finding *items =
            parley_arena_allocate(&message->arena, capacity * sizeof *items);
        if (items == NULL) {
            return findings_do_without(message, &finding);
        }
        if (findings->count > 0) {
            memcpy(items, findings->items, findings->count * sizeof *items);
        }
        findings->items = items;
        findings->capacity = capacity;
    }
    findings->items[findings->count++] = finding;
    findings->warning_count += finding.rule->severity == PARLEY_WARNING;
    return PARLEY_OK;
}

enum parley_status findings_report(struct parley_message *message, unsigned rule,
                                   struct parley_finding finding) {
    finding.rule = &message->protocol->rules[rule];
    finding.hint = finding.hint != NULL ? finding.hint : finding.rule->hint;
    finding.order = rule;
    finding.for_types = UINT32_MAX;
    return findings_add(message, finding);
}

enum parley_status findings_refuse(struct parley_message *message, enum parley_gateway_rule rule,
                                   struct parley_finding finding) {
    finding.rule = &parley_gateway_rules[rule];
    finding.hint = finding.hint != NULL ? finding.hint : finding.rule->hint;
    finding.for_types = UINT32_MAX;
    message->findings.has_error = true;
    PARLEY_TRY(findings_add(message, finding));
    return findings_locate(message);
}

/* ---- their order ---- */

static int by_table(const void *left, const void *right) {
    const struct parley_finding *a = left, *b = right;
    const bool is_first = a->meant.data != NULL; /* GW-103: the GW rules come first */
    if (is_first != (b->meant.data != NULL)) {
        return is_first ? -1 : 1;
    }
    if (a->order != b->order) {
        return a->order < b->order ? -1 : 1;
    }
    return a->discovered < b->discovered ? -1 : 1;
}

void findings_settle(struct parley_message *message) {
    struct parley_findings *findings = &message->findings;
    findings->has_error = (findings->omitted_error_types & PARLEY_TYPE_BIT(message->type)) != 0;
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].rule->severity == PARLEY_ERROR) {
            findings->has_error = true;
        }
    }
    if (findings->count > 1) {
        qsort(findings->items, findings->count, sizeof *findings->items, by_table);
    }
}

/* ---- places ---- */

static int by_offset(const void *left, const void *right) {
    const struct parley_finding *const *a = left, *const *b = right;
    return ((*a)->offset > (*b)->offset) - ((*a)->offset < (*b)->offset);
}

/* Maps an offset in the text read to one in the text sent. */
static size_t sent_offset(const struct parley_message *message, size_t offset) {
    if (offset >= message->stamp_offset + message->stamp_length) {
        return offset - message->stamp_length;
    }
    return offset > message->stamp_offset ? message->stamp_offset : offset;
}

/* The offset in the body of `offset` in the text read. */
static struct parley_position byte_position(const struct parley_message *message, size_t offset) {
    return (struct parley_position){PARLEY_IN_BYTES,
                                    message->origin.column + sent_offset(message, offset)};
}

/* One pass over the text for all findings, in the order of their offsets. */
enum parley_status findings_locate(struct parley_message *message) {
    struct parley_findings *findings = &message->findings;
    if (findings->count == 0) {
        return PARLEY_OK;
    }
    struct parley_finding **sorted =
        parley_arena_allocate(&message->arena, findings->count * sizeof *sorted);
    if (sorted == NULL) {
        return PARLEY_E_MEMORY;
    }
    const bool is_in_bytes = message->origin.line == PARLEY_IN_BYTES;
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].at.line != 0) {
            continue;
        }
        if (is_in_bytes) {
            findings->items[i].at = byte_position(message, findings->items[i].offset);
        } else {
            sorted[count++] = &findings->items[i];
        }
    }
    qsort(sorted, count, sizeof *sorted, by_offset);
    struct parley_position here = message->origin;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t target = sent_offset(message, sorted[i]->offset);
        for (; at < target && at < message->sent.length; at++) {
            const unsigned char c = (unsigned char)message->sent.data[at];
            if (c == '\n') {
                here = (struct parley_position){.line = here.line + 1, .column = 1};
            } else if ((c & 0xC0) != 0x80) {
                here.column++;
            }
        }
        sorted[i]->at = here;
    }
    return PARLEY_OK;
}

/* ---- writing ---- */

void parley_position_write(struct parley_position at, struct parley_buffer *out) {
    if (at.line == PARLEY_IN_BYTES) {
        parley_buffer_text(out, "{\"offset\":");
    } else {
        parley_buffer_text(out, "{\"line\":");
        parley_buffer_uint(out, at.line);
        parley_buffer_text(out, ",\"column\":");
    }
    parley_buffer_uint(out, at.column);
    parley_buffer_char(out, '}');
}

void parley_position_describe(struct parley_position at, struct parley_buffer *out) {
    if (at.line == PARLEY_IN_BYTES) {
        parley_buffer_text(out, "byte ");
    } else {
        parley_buffer_text(out, "line ");
        parley_buffer_uint(out, at.line);
        parley_buffer_text(out, ", column ");
    }
    parley_buffer_uint(out, at.column);
}

const char *parley_severity_name(enum parley_severity severity) {
    return severity == PARLEY_ERROR ? "error" : "warning";
}

/* `member` with its comma, quotes and colon. */
static void write_position(struct parley_buffer *out, const char *member,
                           struct parley_position at) {
    if (at.line != 0) {
        parley_buffer_text(out, member);
        parley_position_write(at, out);
    }
}

/* A patch of an edited text has the whole of it: as many as `text_left` allows. */
static void write_fix(struct parley_buffer *out, const struct parley_finding *finding,
                      const struct parley_fix *fix, size_t *text_left) {
    const bool is_edit = fix->kind == PARLEY_FIX_EDIT;
    const size_t text_bytes = is_edit ? finding->part.text.length : 0;
    parley_buffer_text(out, fix->is_safe ? ",\"fix\":{\"safe\":true" : ",\"fix\":{\"safe\":false");
    if (text_bytes <= *text_left) {
        *text_left -= text_bytes;
        parley_buffer_text(out, ",\"patch\":");
        parley_fix_write_patch(finding, fix, out);
    }
    if (is_edit) {
        parley_buffer_text(out, ",\"edit\":");
        parley_fix_write_edit(finding, fix, out);
    }
    parley_buffer_char(out, '}');
}

/* What makes it right, by words and by data.  `memory`: for the value of the fix. */
static void write_remedy(struct parley_buffer *out, const struct parley_finding *finding,
                         bool is_short, struct parley_buffer *memory, size_t *text_left) {
    struct parley_fix fix;
    parley_fix_of(finding, memory, &fix);
    out->has_failed |= memory->has_failed;
    const bool has_fix = fix.kind != PARLEY_FIX_NONE;
    if (!has_fix || !is_short) {
        parley_buffer_text(out, ",\"hint\":");
        parley_buffer_json(out, parley_bytes_of(finding->hint));
        parley_finding_write_expected(finding, ",\"expected\":", out);
    }
    if (has_fix) {
        write_fix(out, finding, &fix, text_left);
    }
}

void parley_findings_write(const struct parley_findings *findings, struct parley_buffer *out) {
    struct parley_buffer memory;
    size_t text_left = PARLEY_FIX_TEXTS_MAX;
    parley_buffer_init(&memory);
    parley_buffer_char(out, '[');
    for (size_t i = 0; i < findings->count; i++) {
        const struct parley_finding *finding = &findings->items[i];
        parley_buffer_text(out, i == 0 ? "{\"rule\":\"" : ",{\"rule\":\"");
        parley_buffer_text(out, finding->rule->id);
        parley_buffer_text(out, "\",\"severity\":\"");
        parley_buffer_text(out, parley_severity_name(finding->rule->severity));
        parley_buffer_text(out, "\",\"path\":");
        parley_buffer_json(out, parley_bytes_of(finding->path));
        parley_buffer_text(out, finding->is_provisional ? ",\"provisional\":true" : "");
        write_position(out, ",\"at\":", finding->at);
        write_position(out, ",\"body_at\":", finding->body_at);
        parley_buffer_text(out, ",\"message\":");
        parley_buffer_json(out, parley_bytes_of(finding->message));
        write_remedy(out, finding, findings->is_short, &memory, &text_left);
        parley_buffer_char(out, '}');
    }
    parley_buffer_finish(&memory);
    parley_buffer_char(out, ']');
    if (findings->omitted_count > 0) {
        parley_buffer_text(out, ",\"violations_omitted\":");
        parley_buffer_uint(out, findings->omitted_count);
    }
}
