/* SPDX-License-Identifier: Apache-2.0 */

/* The views acks and inbox: who must acknowledge which message, and has; and what was sent to an
 * agent, and what of it that agent has acknowledged. Both in the order of storage. */

#include "index_messages.h"

#include <stdio.h>
#include <stdlib.h>

#include "index_overdue.h"
#include "index_page.h"
#include "reactor.h"

enum { UNMATCHED_MAX = 100 };

/* What a recipient has made of a message. */
struct duty_state {
    const struct duty_ack *acknowledged;
    const struct duty_message *answered;
    bool is_open, is_overdue;
};

struct acks {
    struct index_page page;
    struct parley_buffer unmatched; /* a JSON array's elements */
    size_t unmatched_count;
    bool is_cut;
};

static const struct index_question *question_of(const struct index_page *page) {
    return page->duties.asking->question;
}

/* ---- what is made of a message ---- */

static struct duty_state state_of(const struct index_page *page, const struct duty_thread *thread,
                                  size_t number, const struct index_duties_row *row,
                                  struct parley_bytes recipient) {
    const struct index_question *question = question_of(page);
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

static bool is_chosen(enum index_choice choice, bool is) {
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

static void write_item(struct index_page *page, const struct index_duties_row *row, bool is_cut,
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

/* ---- acks ---- */

/* A request that is bound to an agent sees what that agent asks and is asked. */
static bool is_own(const struct index_page *page, const struct index_message *message,
                   struct parley_bytes recipient) {
    const char *own = question_of(page)->own;
    return own == NULL || recipient.data == NULL ||
           parley_bytes_equal(recipient, parley_bytes_of(own)) ||
           parley_bytes_equal(message->sender, parley_bytes_of(own));
}

/* Of a thread that is cut, the rest may have the acknowledgement. */
static void note_overdue(struct index_page *page, bool is_cut, const struct index_duties_row *row,
                         struct parley_bytes recipient, size_t text_at) {
    struct index_asking *asking = page->duties.asking;
    if (asking->question->overdue != NULL && !is_cut && !asking->out->has_failed &&
        index_overdue_note(asking, &row->message, row->subject, recipient, text_at) != PARLEY_OK) {
        asking->answered = INDEX_NO_MEMORY;
    }
}

/* Returns: false: the page is full before the last of them. */
static bool add_recipients(struct index_page *page, const struct duty_thread *thread,
                           const struct index_duties_row *row) {
    struct index_asking *asking = page->duties.asking;
    const struct index_question *question = asking->question;
    const size_t number = duty_number(thread, &row->message.at);
    struct index_recipients recipients;
    index_duties_recipients(&page->duties, thread, number, row, &recipients);
    for (size_t i = page->skipped; i < recipients.count; i++) {
        const struct parley_bytes name = recipients.names[i];
        const struct duty_state state = state_of(page, thread, number, row, name);
        if (!is_own(page, &row->message, name) || !is_chosen(question->open, state.is_open) ||
            (question->overdue_ms >= 0 && !state.is_overdue)) {
            continue;
        }
        if (asking->item_count == question->limit) {
            page->skipped = i;
            return false;
        }
        const size_t text_at = asking->out->length;
        write_item(page, row, recipients.is_cut || number == SIZE_MAX, &name, &state);
        note_overdue(page, thread->is_cut || number == SIZE_MAX, row, name, text_at);
    }
    return true;
}

static void add_unmatched(struct acks *acks, const struct duty_thread *thread,
                          const struct index_duties_row *row) {
    const size_t number = duty_number(thread, &row->message.at);
    struct parley_buffer *out = &acks->unmatched;
    if (number == SIZE_MAX || thread->messages[number].of != 0 ||
        !is_own(&acks->page, &row->message, PARLEY_BYTES(""))) {
        return;
    }
    if (acks->unmatched_count == UNMATCHED_MAX) {
        acks->is_cut = true;
        return;
    }
    parley_buffer_text(out, acks->unmatched_count++ > 0 ? ",{\"message\":" : "{\"message\":");
    index_place_write(acks->page.duties.asking, out, row->message.at.pos);
    parley_buffer_text(out, ",\"sender\":");
    parley_buffer_json(out, row->message.sender);
    parley_buffer_text(out, ",\"subject\":");
    parley_buffer_json(out, row->subject);
    parley_buffer_char(out, '}');
}

/* Returns: false: the page is full before the message is done with. */
static bool take_for_acks(struct index_page *page, const struct index_duties_row *row) {
    const bool is_first = index_page_is_first(page);
    if ((row->part & (PARLEY_INDEX_ASKS | PARLEY_INDEX_ACKNOWLEDGES)) == 0 ||
        !index_is_visible(page->duties.asking, &row->message)) {
        return true;
    }
    const struct duty_thread *thread = index_duties_thread(&page->duties, &row->message, is_first);
    if (thread == NULL) {
        return false;
    }
    if ((row->part & PARLEY_INDEX_ACKNOWLEDGES) != 0) {
        add_unmatched(OWNER_OF(page, struct acks, page), thread, row);
        return true;
    }
    return add_recipients(page, thread, row);
}

/* ---- inbox ---- */

static bool has_name(const struct parley_bytes *names, size_t count, struct parley_bytes name) {
    bool has = false;
    for (size_t i = 0; i < count && !has; i++) {
        has = parley_bytes_equal(names[i], name);
    }
    return has;
}

/* Whether the message may be for the agent, which needs no thread to be read: it names it, or names
 * no agent and asks. */
static bool may_be_for(struct index_page *page, const struct index_duties_row *row,
                       struct parley_bytes agent) {
    struct parley_bytes names[DUTY_NAMES_MAX];
    bool is_named;
    const size_t count = index_duties_receivers(&page->duties, &row->message, names, &is_named);
    return is_named ? has_name(names, count, agent) : (row->part & PARLEY_INDEX_ASKS) != 0;
}

/* Of a message that may be. */
static bool is_for(struct index_page *page, const struct duty_thread *thread, size_t number,
                   const struct index_duties_row *row, struct parley_bytes agent,
                   struct index_recipients *out) {
    index_duties_recipients(&page->duties, thread, number, row, out);
    return (out->is_of_anyone && !parley_bytes_equal(row->message.sender, agent)) ||
           has_name(out->names, out->count, agent);
}

/* Returns: false: as above. */
static bool take_for_inbox(struct index_page *page, const struct index_duties_row *row) {
    struct index_asking *asking = page->duties.asking;
    const struct index_question *question = asking->question;
    const struct parley_bytes agent = parley_bytes_of(question->values[INDEX_AGENT]);
    const bool is_first = index_page_is_first(page);
    struct index_recipients recipients;
    if (!index_is_visible(asking, &row->message) || !may_be_for(page, row, agent)) {
        return true;
    }
    const struct duty_thread *thread = index_duties_thread(&page->duties, &row->message, is_first);
    if (thread == NULL) {
        return false;
    }
    const size_t number = duty_number(thread, &row->message.at);
    if (!is_for(page, thread, number, row, agent, &recipients)) {
        return true;
    }
    const struct duty_state state = state_of(page, thread, number, row, agent);
    const bool is_unacked = (row->part & PARLEY_INDEX_ASKS) != 0 && state.acknowledged == NULL;
    if (!is_chosen(question->unacked, is_unacked)) {
        return true;
    }
    if (asking->item_count == question->limit) {
        return false;
    }
    write_item(page, row, recipients.is_cut || number == SIZE_MAX, NULL, &state);
    return true;
}

/* ---- the lists ---- */

static void write_end(struct acks *acks, bool has_unmatched) {
    struct index_asking *asking = acks->page.duties.asking;
    struct parley_buffer members;
    char room[INDEX_CURSOR_SIZE];
    const char *next = index_page_next(&acks->page, room);
    parley_buffer_init(&members);
    if (has_unmatched) {
        parley_buffer_text(&members, ",\"unmatched\":[");
        parley_buffer_append(&members, parley_buffer_bytes(&acks->unmatched));
        parley_buffer_text(&members, acks->is_cut ? "],\"more\":true" : "]");
        members.has_failed = members.has_failed || acks->unmatched.has_failed;
    }
    index_list_end_with(asking, next, &members);
    if (asking->question->overdue != NULL) {
        snprintf(asking->question->overdue->next, INDEX_CURSOR_SIZE, "%s",
                 next != NULL ? next : "");
    }
    parley_buffer_finish(&members);
}

static enum index_answered write_list(struct index_asking *asking, bool is_inbox) {
    struct acks *acks = calloc(1, sizeof *acks);
    struct index_page_rows one = {.is_there = false}, other = {.is_there = false};
    if (acks == NULL) {
        return INDEX_NO_MEMORY;
    }
    struct index_page *page = &acks->page;
    parley_buffer_init(&acks->unmatched);
    const char *thread = asking->question->values[INDEX_THREAD];
    if (!index_page_begin(page, asking)) {
        asking->answered = INDEX_BAD_CURSOR;
    } else if (is_inbox) {
        index_page_rows_begin(page, &one, DUTY_PAGE_RECEIVED,
                              parley_bytes_of(asking->question->values[INDEX_AGENT]));
        index_page_rows_begin(page, &other, DUTY_PAGE, (struct parley_bytes){0});
        index_page_walk(page, &one, &other, take_for_inbox);
    } else {
        index_page_rows_begin(page, &other, thread != NULL ? DUTY_PAGE_OF_THREAD : DUTY_PAGE,
                              parley_bytes_of(thread));
        index_page_walk(page, &one, &other, take_for_acks);
    }
    index_page_rows_finish(&one);
    index_page_rows_finish(&other);
    if (asking->answered == INDEX_ANSWERED) {
        write_end(acks, !is_inbox);
    }
    index_page_finish(page);
    parley_buffer_finish(&acks->unmatched);
    free(acks);
    return asking->answered;
}

enum index_answered index_acks_write(struct index_asking *asking) {
    return write_list(asking, false);
}

enum index_answered index_inbox_write(struct index_asking *asking) {
    return write_list(asking, true);
}
