/* SPDX-License-Identifier: Apache-2.0 */

/* Applies the fixes of a message's findings to its text, and checks it again: a fault may have
 * hidden another. Two fixes of the same bytes are applied one after the other. */

#include "fix.h"

#include <stdlib.h>

#include "json_edit.h"
#include "json_message.h"

/* The edit of one finding. */
struct planned {
    struct parley_edit edit;
    const struct parley_finding *finding;
    size_t number; /* of the finding */
    bool is_of_text, is_applied;
};

static int by_place(const void *left, const void *right) {
    const struct planned *a = left, *b = right;
    if (a->edit.offset != b->edit.offset) {
        return a->edit.offset < b->edit.offset ? -1 : 1;
    }
    return a->number < b->number ? -1 : 1;
}

static bool is_json(const struct parley_message *message) {
    return message->codec == &parley_codec_json || message->codec == &parley_codec_ndjson;
}

static bool is_text(const struct parley_message *message) {
    return is_json(message) || (message->protocol->edit_of != NULL && message->codec != NULL &&
                                !message->codec->is_binary);
}

/* What is edited: JSON as it was read, stamped, and anything else as it was sent. */
static struct parley_bytes text_of(const struct parley_message *message) {
    return is_json(message) ? message->text : message->sent;
}

struct parley_bytes parley_message_fixed(const struct parley_message *message) {
    return text_of(message);
}

static bool can_be_fixed(const struct parley_message *message) {
    return is_text(message) && message->is_decoded && !message->is_escalated &&
           message->findings.count > 0 && text_of(message).length <= PARLEY_FIX_BYTES_MAX;
}

static enum parley_status edit_of(struct parley_message *message,
                                  const struct parley_finding *finding,
                                  const struct parley_fix *fix, struct parley_edit *out) {
    return is_json(message) ? json_edit_of(message, finding, fix, out)
                            : message->protocol->edit_of(message, finding, fix, out);
}

/* Plans the edits of all findings, in the order of the text.
 * Returns: PARLEY_E_MEMORY; findings beyond the limit of the arena have none. */
static enum parley_status plan(struct parley_message *message, struct parley_buffer *memory,
                               struct planned *out, size_t *out_count) {
    const bool takes_suggestions = message->options.fix == PARLEY_FIX_ALL;
    for (size_t i = 0; i < message->findings.count; i++) {
        const struct parley_finding *finding = &message->findings.items[i];
        struct planned *planned = &out[*out_count];
        struct parley_fix fix;
        parley_fix_of(finding, memory, &fix);
        if (memory->has_failed) {
            return PARLEY_E_MEMORY;
        }
        if (fix.kind == PARLEY_FIX_NONE || !(fix.is_safe || takes_suggestions)) {
            continue;
        }
        const enum parley_status status = edit_of(message, finding, &fix, &planned->edit);
        if (status == PARLEY_OK) {
            planned->finding = finding;
            planned->number = i;
            planned->is_of_text = fix.kind == PARLEY_FIX_EDIT;
            planned->is_applied = false;
            ++*out_count;
        } else if (status == PARLEY_E_MEMORY && !message->arena.is_over_limit) {
            return status;
        }
    }
    qsort(out, *out_count, sizeof *out, by_place);
    return PARLEY_OK;
}

static void note(struct parley_fixes *fixes, const struct parley_finding *finding,
                 struct parley_buffer *memory) {
    struct parley_buffer *out = &fixes->applied;
    struct parley_fix fix;
    parley_fix_of(finding, memory, &fix);
    out->has_failed |= memory->has_failed;
    parley_buffer_text(out, fixes->count == 0 ? "{\"rule\":\"" : ",{\"rule\":\"");
    parley_buffer_text(out, finding->rule->id);
    parley_buffer_text(out, "\",\"path\":");
    parley_buffer_json(out, parley_bytes_of(finding->path));
    if (fix.kind == PARLEY_FIX_EDIT) {
        parley_buffer_text(out, ",\"edit\":");
        parley_fix_write_edit(finding, &fix, out);
    } else {
        parley_buffer_text(out, ",\"patch\":");
        parley_fix_write_patch(finding, &fix, out);
    }
    parley_buffer_char(out, '}');
    fixes->count++;
}

/* Those of texts from the last one on, so that each finds its place. */
static void note_all(struct parley_fixes *fixes, const struct planned *planned, size_t count,
                     struct parley_buffer *memory) {
    for (size_t i = count; i > 0; i--) {
        if (planned[i - 1].is_applied && planned[i - 1].is_of_text) {
            note(fixes, planned[i - 1].finding, memory);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (planned[i].is_applied && !planned[i].is_of_text) {
            note(fixes, planned[i].finding, memory);
        }
    }
}

/* Writes the text with these edits. */
static void apply(struct parley_message *message, struct planned *planned, size_t count,
                  struct parley_buffer *memory, struct parley_buffer *out) {
    const struct parley_bytes text = text_of(message);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const struct parley_edit *edit = &planned[i].edit;
        const bool is_first = i == 0;
        if (!is_first && edit->offset <= at) {
            continue; /* in the next pass */
        }
        parley_buffer_append(out, (struct parley_bytes){text.data + at, edit->offset - at});
        parley_buffer_append(out, edit->inserted);
        at = edit->offset + edit->removed;
        planned[i].is_applied = true;
    }
    parley_buffer_append(out, (struct parley_bytes){text.data + at, text.length - at});
    note_all(&message->fixes, planned, count, memory);
}

enum parley_status fix_once(struct parley_message *message, struct parley_buffer *out,
                            bool *out_is_done) {
    struct parley_buffer memory;
    size_t count = 0;
    *out_is_done = true;
    if (!can_be_fixed(message)) {
        return PARLEY_OK;
    }
    struct planned *planned =
        parley_arena_allocate(&message->arena, message->findings.count * sizeof *planned);
    if (planned == NULL) {
        return message->arena.is_over_limit ? PARLEY_OK : PARLEY_E_MEMORY;
    }
    parley_buffer_init(&memory);
    enum parley_status status = plan(message, &memory, planned, &count);
    *out_is_done = count == 0;
    if (status == PARLEY_OK && count > 0) {
        parley_buffer_clear(out);
        apply(message, planned, count, &memory, out);
        status =
            parley_buffer_status(message->fixes.applied.has_failed ? &message->fixes.applied : out);
    }
    parley_buffer_finish(&memory);
    return status;
}

void fix_finish(struct parley_fixes *fixes) {
    parley_buffer_finish(&fixes->applied);
    parley_buffer_finish(&fixes->texts[0]);
    parley_buffer_finish(&fixes->texts[1]);
}

enum parley_status fix_write(struct parley_message *message, struct parley_buffer *out) {
    parley_buffer_text(out, ",\"applied\":[");
    parley_buffer_append(out, parley_buffer_bytes(&message->fixes.applied));
    parley_buffer_text(out, "],\"message\":");
    if (message->is_decoded && is_text(message)) {
        return message->protocol->encode(message, out);
    }
    parley_buffer_text(out, "null");
    return PARLEY_OK;
}
