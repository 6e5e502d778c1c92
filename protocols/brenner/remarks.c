/* SPDX-License-Identifier: Apache-2.0 */

/* A list of remarks, cut at what a message may bear. */

#include "remarks.h"

#include <stdarg.h>
#include <stdio.h>

#include "text.h"

bool brenner_remarks_has_room(const struct brenner_remarks *remarks) {
    return remarks->count < PARLEY_FINDINGS_MAX;
}

static bool grow(struct brenner_remarks *remarks) {
    if (remarks->count < remarks->capacity) {
        return true;
    }
    const size_t capacity = remarks->capacity == 0 ? 8 : remarks->capacity * 2;
    struct brenner_remark *items = parley_arena_allocate(remarks->arena, capacity * sizeof *items);
    if (items == NULL) {
        return false;
    }
    if (remarks->count > 0) {
        memcpy(items, remarks->items, remarks->count * sizeof *items);
    }
    remarks->items = items;
    remarks->capacity = capacity;
    return true;
}

void brenner_remark(struct brenner_remarks *remarks, enum brenner_rule rule,
                    struct parley_position body_at, const char *hint, const char *format, ...) {
    char text[512];
    va_list arguments;
    if (!brenner_remarks_has_room(remarks)) {
        remarks->omitted[rule]++;
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *message = parley_arena_copy(remarks->arena, parley_bytes_of(text));
    if (message == NULL || !grow(remarks)) {
        remarks->is_out_of_memory = true;
        return;
    }
    remarks->items[remarks->count++] =
        (struct brenner_remark){.rule = rule, .body_at = body_at, .message = message, .hint = hint};
}

enum parley_status brenner_remarks_report(const struct brenner_remarks *remarks, struct walk *walk,
                                          enum brenner_field field) {
    const struct parley_message *message = walk->message;
    struct parley_finding finding = {.path = message->protocol->fields[field],
                                     .offset = message->values[field].offset};
    for (size_t i = 0; i < remarks->count; i++) {
        const struct brenner_remark *remark = &remarks->items[i];
        finding.message = remark->message;
        finding.hint = remark->hint;
        finding.body_at = remark->body_at;
        walk_report(walk, remark->rule, finding);
    }
    for (unsigned rule = 0; rule < BRENNER_RULE_COUNT; rule++) {
        for (size_t i = 0; i < remarks->omitted[rule]; i++) {
            walk_report(walk, rule, finding); /* there are too many to keep: it is only counted */
        }
    }
    return remarks->is_out_of_memory ? PARLEY_E_MEMORY : PARLEY_OK;
}

const char *brenner_quote(struct brenner_remarks *remarks, struct parley_buffer *buffer,
                          struct parley_bytes text) {
    enum { SHOWN_BYTES = 60 };
    const struct parley_bytes shown = text_prefix(text, SHOWN_BYTES);
    parley_buffer_clear(buffer);
    parley_buffer_json(buffer, shown);
    parley_buffer_text(buffer, shown.length < text.length ? "…" : "");
    parley_buffer_char(buffer, '\0');
    remarks->is_out_of_memory |= buffer->has_failed;
    return buffer->has_failed ? "" : buffer->data;
}
