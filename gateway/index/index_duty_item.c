/* SPDX-License-Identifier: Apache-2.0 */

#include "index_duty_item.h"

/* ---- what is made of a message ---- */

struct duty_state index_duty_state(const struct index_page *page, const struct duty_thread *thread,
                                   size_t number, const struct index_duties_row *row,
                                   struct parley_bytes recipient) {
    const struct index_question *question = page->duties.asking->question;
    const int64_t overdue_ms =
        question->overdue_ms >= 0 ? question->overdue_ms : INDEX_OVERDUE_DEFAULT_MS;
    struct duty_state state = {.is_open = (row->part & PARLEY_INDEX_ASKS) != 0};
    if (number != SIZE_MAX) {
        state.acknowledged = duty_acknowledged(thread, number, recipient);
        state.answered = duty_answered(thread, number, recipient);
    }
    state.is_open = state.is_open && state.acknowledged == NULL && state.answered == NULL;
    state.is_overdue = state.is_open && question->now_ms - row->message.at.stored > overdue_ms;
    return state;
}

bool index_is_chosen(enum index_choice choice, bool is) {
    return choice == INDEX_ANY || (choice == INDEX_ONLY) == is;
}

/* ---- items ---- */

static void write_place(struct index_page *page, const char *name, int64_t pos) {
    struct parley_buffer *out = page->duties.asking->out;
    parley_buffer_format(out, ",\"%s\":", name);
    index_place_write(page->duties.asking, out, pos);
}

static void write_acknowledged(struct index_page *page, const struct duty_ack *ack) {
    struct parley_buffer *out = page->duties.asking->out;
    if (ack == NULL) {
        parley_buffer_text(out, ",\"acknowledged\":null");
        return;
    }
    parley_buffer_text(out, ",\"acknowledged\":{\"status\":");
    if (ack->status > 0) {
        parley_buffer_format(out, "\"%s\"", page->duties.acks->statuses[ack->status - 1]);
    } else {
        parley_buffer_text(out, "null");
    }
    write_place(page, "message", ack->at.pos);
    parley_buffer_char(out, '}');
}

static void write_state(struct index_page *page, const struct index_duties_row *row,
                        const struct duty_state *state) {
    struct parley_buffer *out = page->duties.asking->out;
    write_acknowledged(page, state->acknowledged);
    if (state->answered != NULL) {
        write_place(page, "answered", state->answered->at.pos);
    } else {
        parley_buffer_text(out, ",\"answered\":null");
    }
    parley_buffer_format(out, ",\"urgent\":%s,\"overdue\":%s",
                         (row->part & PARLEY_INDEX_URGENT) != 0 ? "true" : "false",
                         state->is_overdue ? "true" : "false");
}

void index_duty_item_write(struct index_page *page, const struct index_duties_row *row, bool is_cut,
                           const struct parley_bytes *recipient, const struct duty_state *state) {
    struct index_asking *asking = page->duties.asking;
    struct index_message message = row->message;
    message.has_more = message.has_more || is_cut;
    index_item_begin(asking);
    index_message_begin(asking, &message);
    if (recipient != NULL) {
        write_place(page, "message", message.at.pos);
        parley_buffer_text(asking->out, ",\"recipient\":");
        if (recipient->data != NULL) {
            parley_buffer_json(asking->out, *recipient);
        } else {
            parley_buffer_text(asking->out, "null");
        }
    }
    write_state(page, row, state);
    index_item_end(asking);
}
