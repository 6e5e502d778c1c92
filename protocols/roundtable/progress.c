/* SPDX-License-Identifier: Apache-2.0 */

#include "progress.h"

#include "fact_value.h"
#include "text.h"

enum { MESSAGE_BYTES_MAX = 256, VALUE_BYTES_MAX = 2048 };

enum member { PERCENT, MESSAGE, AT, MEMBER_COUNT };
static const char *const names[MEMBER_COUNT + 1] = {
    [PERCENT] = "percent", [MESSAGE] = "message", [AT] = "at", NULL};

static bool is_percent(const struct parley_value *value) {
    return value->kind == PARLEY_NUMBER && value->number >= 0 && value->number <= 100;
}

/* ---- writing ---- */

static void write_percent(const struct parley_value *value, struct parley_buffer *out) {
    if (is_percent(value)) {
        parley_buffer_number(out, value->number);
    } else {
        parley_buffer_text(out, "null");
    }
}

static void write_text(struct parley_bytes text, struct parley_buffer *out) {
    if (text.data != NULL) {
        parley_buffer_json(out, text_prefix(text, MESSAGE_BYTES_MAX));
    } else {
        parley_buffer_text(out, "null");
    }
}

static void write_members(const struct parley_value *percent, struct parley_bytes message,
                          struct parley_bytes at, struct parley_buffer *out) {
    parley_buffer_text(out, "\"percent\":");
    write_percent(percent, out);
    parley_buffer_text(out, ",\"message\":");
    write_text(message, out);
    parley_buffer_text(out, ",\"at\":");
    write_text(at, out);
}

static enum parley_status keep(struct parley_arena *arena, struct parley_buffer *text,
                               struct parley_bytes *out) {
    const char *copy =
        text->has_failed ? NULL : parley_arena_copy(arena, parley_buffer_bytes(text));
    *out = (struct parley_bytes){copy, copy != NULL ? text->length : 0};
    parley_buffer_finish(text);
    return copy != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

enum parley_status roundtable_progress_note(struct parley_message *message, struct parley_bytes id,
                                            struct parley_decision *out) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_char(&text, ',');
    write_members(&message->values[ROUNDTABLE_PERCENT],
                  parley_message_text(message, ROUNDTABLE_MESSAGE),
                  parley_message_text(message, ROUNDTABLE_TIMESTAMP), &text);
    PARLEY_TRY(keep(&message->arena, &text, &out->note_members));
    out->note_key = TEXT_JOIN(&message->arena, id, PARLEY_BYTES(ROUNDTABLE_PROGRESS_TOKEN));
    return out->note_key.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

/* ---- reading ---- */

enum parley_status roundtable_progress_write(struct parley_bytes value, struct parley_arena *arena,
                                             struct parley_buffer *out) {
    struct parley_value members[MEMBER_COUNT];
    if (value.length == 0 || value.length > VALUE_BYTES_MAX) {
        return PARLEY_OK;
    }
    PARLEY_TRY(fact_value_read(value, names, arena, members));
    const struct parley_bytes at = parley_value_text(&members[AT]);
    if (at.data == NULL || !text_is_time(at)) {
        return PARLEY_OK;
    }
    parley_buffer_char(out, '{');
    write_members(&members[PERCENT], parley_value_text(&members[MESSAGE]), at, out);
    parley_buffer_char(out, '}');
    return parley_buffer_status(out);
}
