/* SPDX-License-Identifier: Apache-2.0 */

/* The view acks: who must acknowledge which message, and has, in the order of storage. */

#include "index_messages.h"

#include <stdio.h>
#include <stdlib.h>

#include "index_duty_item.h"
#include "index_overdue.h"
#include "reactor.h"

enum { UNMATCHED_MAX = 100 };

struct acks {
    struct index_page page;
    struct parley_buffer unmatched; /* a JSON array's elements */
    size_t unmatched_count;
    bool is_cut;
};

static const struct index_question *question_of(const struct index_page *page) {
    return page->duties.asking->question;
}

/* ---- items ---- */

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
        const struct duty_state state = index_duty_state(page, thread, number, row, name);
        if (!is_own(page, &row->message, name) || !index_is_chosen(question->open, state.is_open) ||
            (question->overdue_ms >= 0 && !state.is_overdue)) {
            continue;
        }
        if (asking->item_count == question->limit) {
            page->skipped = i;
            return false;
        }
        const size_t text_at = asking->out->length;
        index_duty_item_write(page, row, recipients.is_cut || number == SIZE_MAX, &name, &state);
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
static bool take_row(struct index_page *page, const struct index_duties_row *row) {
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

/* ---- the list ---- */

static void write_end(struct acks *acks) {
    struct index_asking *asking = acks->page.duties.asking;
    struct parley_buffer members;
    char room[INDEX_CURSOR_SIZE];
    const char *next = index_page_next(&acks->page, room);
    parley_buffer_init(&members);
    parley_buffer_text(&members, ",\"unmatched\":[");
    parley_buffer_append(&members, parley_buffer_bytes(&acks->unmatched));
    parley_buffer_text(&members, acks->is_cut ? "],\"more\":true" : "]");
    members.has_failed = members.has_failed || acks->unmatched.has_failed;
    index_list_end_with(asking, next, &members);
    if (asking->question->overdue != NULL) {
        snprintf(asking->question->overdue->next, INDEX_CURSOR_SIZE, "%s",
                 next != NULL ? next : "");
    }
    parley_buffer_finish(&members);
}

enum index_answered index_acks_write(struct index_asking *asking) {
    struct acks *acks = calloc(1, sizeof *acks);
    struct index_page_rows none = {.is_there = false}, rows = {.is_there = false};
    if (acks == NULL) {
        return INDEX_NO_MEMORY;
    }
    const char *thread = asking->question->values[INDEX_THREAD];
    parley_buffer_init(&acks->unmatched);
    if (index_page_begin(&acks->page, asking)) {
        index_page_rows_begin(&acks->page, &rows, thread != NULL ? DUTY_PAGE_OF_THREAD : DUTY_PAGE,
                              parley_bytes_of(thread));
        index_page_walk(&acks->page, &none, &rows, take_row);
    } else {
        asking->answered = INDEX_BAD_CURSOR;
    }
    index_page_rows_finish(&rows);
    if (asking->answered == INDEX_ANSWERED) {
        write_end(acks);
    }
    index_page_finish(&acks->page);
    parley_buffer_finish(&acks->unmatched);
    free(acks);
    return asking->answered;
}
