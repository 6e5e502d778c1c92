/* SPDX-License-Identifier: Apache-2.0 */

/* The findings of a body, at most as many as a message may have. */

#include "body_findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "text.h"

bool body_findings_has_room(const struct body_findings *findings) {
    return findings->count < PARLEY_FINDINGS_MAX;
}

static bool grow(struct body_findings *findings) {
    if (findings->count < findings->capacity) {
        return true;
    }
    const size_t capacity = findings->capacity == 0 ? 8 : findings->capacity * 2;
    struct body_finding *items = parley_arena_allocate(findings->arena, capacity * sizeof *items);
    if (items == NULL) {
        return false;
    }
    if (findings->count > 0) {
        memcpy(items, findings->items, findings->count * sizeof *items);
    }
    findings->items = items;
    findings->capacity = capacity;
    return true;
}

void body_findings_add(struct body_findings *findings, enum brenner_rule rule,
                       struct parley_position body_at, const char *hint, const char *format, ...) {
    char text[512];
    va_list arguments;
    if (!body_findings_has_room(findings)) {
        findings->omitted[rule]++;
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *message = parley_arena_copy(findings->arena, parley_bytes_of(text));
    if (message == NULL || !grow(findings)) {
        findings->is_out_of_memory = true;
        return;
    }
    findings->items[findings->count++] =
        (struct body_finding){.rule = rule, .body_at = body_at, .message = message, .hint = hint};
}

void body_findings_offer(struct body_findings *findings, enum brenner_rule rule,
                         struct parley_part part) {
    struct body_finding *last = findings->count > 0 ? &findings->items[findings->count - 1] : NULL;
    if (last != NULL && last->rule == rule && findings->omitted[rule] == 0) {
        last->part = part;
    }
}

enum parley_status body_findings_report(const struct body_findings *findings,
                                        struct parley_message *message, enum brenner_field field) {
    struct parley_finding finding = {.path = message->protocol->fields[field],
                                     .offset = message->values[field].offset};
    for (size_t i = 0; i < findings->count; i++) {
        const struct body_finding *kept = &findings->items[i];
        finding.message = kept->message;
        finding.hint = kept->hint;
        finding.body_at = kept->body_at;
        finding.part = kept->part;
        finding.part.text = message->values[field].text;
        PARLEY_TRY(findings_report(message, kept->rule, finding));
    }
    finding.part = (struct parley_part){.fix = NULL};
    for (unsigned rule = 0; rule < BRENNER_RULE_COUNT; rule++) {
        for (size_t i = 0; i < findings->omitted[rule]; i++) { /* too many to keep: only counted */
            PARLEY_TRY(findings_report(message, rule, finding));
        }
    }
    return findings->is_out_of_memory ? PARLEY_E_MEMORY : PARLEY_OK;
}

const char *body_findings_quote(struct body_findings *findings, struct parley_buffer *buffer,
                                struct parley_bytes text) {
    enum { SHOWN_BYTES = 60 };
    const struct parley_bytes shown = text_prefix(text, SHOWN_BYTES);
    parley_buffer_clear(buffer);
    parley_buffer_json(buffer, shown);
    parley_buffer_text(buffer, shown.length < text.length ? "…" : "");
    parley_buffer_char(buffer, '\0');
    findings->is_out_of_memory |= buffer->has_failed;
    return buffer->has_failed ? "" : buffer->data;
}
