/* SPDX-License-Identifier: Apache-2.0 */

/* The views acks and inbox: who must acknowledge which message, and has; and what was sent to an
 * agent, and what of it that agent has acknowledged. Both in the order of storage. */

#include "index_messages.h"

#include <stdio.h>
#include <stdlib.h>

#include "index_duties.h"
#include "index_ledger.h"

enum { UNMATCHED_MAX = 100 };

/* Who must acknowledge a message. */
struct recipients {
    struct parley_bytes names[DUTY_NAMES_MAX]; /* data NULL: anyone */
    size_t count;
    bool is_named, is_of_anyone, is_cut;
};

/* What a recipient has made of a message. */
struct duty_state {
    const struct duty_ack *acknowledged;
    const struct duty_message *answered;
    bool is_open, is_overdue;
};

struct page {
    struct index_duties duties;
    struct index_cursor from; /* the last message that is done with … */
    size_t skipped;           /* … and of the next so many recipients */
    size_t rows_read;
    bool is_full;
    struct parley_buffer unmatched; /* a JSON array's elements */
    size_t unmatched_count;
    bool is_cut;
};

static bool is_running(const struct page *page) {
    return page->duties.asking->answered == INDEX_ANSWERED;
}

static const struct index_question *question_of(const struct page *page) {
    return page->duties.asking->question;
}

/* ---- the cursor: TIME:SEQUENCE:STREAM, and RECIPIENTS/ before it inside of a message ---- */

static bool read_cursor(struct page *page) {
    const char *text = question_of(page)->values[INDEX_CURSOR];
    const char *slash = text != NULL ? strchr(text, '/') : NULL;
    char *end = NULL;
    if (slash != NULL) {
        page->skipped = strtoull(text, &end, 10);
        if (end != slash || page->skipped > DUTY_NAMES_MAX) {
            return false;
        }
        text = slash[1] != '\0' ? slash + 1 : NULL; /* of the first message */
    }
    page->from = (struct index_cursor){.stored = question_of(page)->since_ms, .pos = -1};
    return text == NULL || index_cursor_read(page->duties.asking, text, &page->from);
}

static const char *write_cursor(struct page *page, char out[INDEX_CURSOR_SIZE]) {
    char place[INDEX_CURSOR_SIZE] = "";
    if (!page->is_full) {
        return NULL;
    }
    if (page->from.pos >= 0) {
        index_cursor_of(page->duties.asking, &page->from, place);
    }
    if (page->skipped == 0) {
        return memcpy(out, place, INDEX_CURSOR_SIZE);
    }
    snprintf(out, INDEX_CURSOR_SIZE, "%zu/%.280s", page->skipped, place);
    return out;
}

/* ---- who must acknowledge ---- */

static void find_recipients(struct page *page, const struct duty_thread *thread, size_t number,
                            const struct index_duties_row *row, struct recipients *out) {
    const struct index_message *message = &row->message;
    const uint32_t opening = page->duties.acks->opening_types;
    *out = (struct recipients){.is_cut = thread->is_cut || message->has_more};
    out->count = index_duties_receivers(&page->duties, message, out->names, &out->is_named);
    if (out->is_named) {
        return;
    }
    if (number != SIZE_MAX && (message->type >= 32 || (opening >> message->type & 1) == 0)) {
        out->count = duty_writers(thread, number, out->names, &out->is_cut);
        out->is_cut = out->is_cut || thread->is_cut;
    }
    out->is_of_anyone = out->count == 0;
    if (out->is_of_anyone) {
        out->names[out->count++] = (struct parley_bytes){0};
    }
}

static struct duty_state state_of(const struct page *page, const struct duty_thread *thread,
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

static void write_place(struct page *page, const char *name, int64_t pos) {
    struct parley_buffer *out = page->duties.asking->out;
    parley_buffer_format(out, ",\"%s\":", name);
    index_place_write(page->duties.asking, out, pos);
}

static void write_acknowledged(struct page *page, const struct duty_ack *ack) {
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

static void write_state(struct page *page, const struct index_duties_row *row,
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

static void write_item(struct page *page, const struct index_duties_row *row, bool is_cut,
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
static bool is_own(const struct page *page, const struct index_message *message,
                   struct parley_bytes recipient) {
    const char *own = question_of(page)->own;
    return own == NULL || recipient.data == NULL ||
           parley_bytes_equal(recipient, parley_bytes_of(own)) ||
           parley_bytes_equal(message->sender, parley_bytes_of(own));
}

/* Returns: false: the page is full before the last of them. */
static bool add_recipients(struct page *page, const struct duty_thread *thread,
                           const struct index_duties_row *row) {
    struct index_asking *asking = page->duties.asking;
    const struct index_question *question = asking->question;
    const size_t number = duty_number(thread, &row->message.at);
    struct recipients recipients;
    find_recipients(page, thread, number, row, &recipients);
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
        write_item(page, row, recipients.is_cut || number == SIZE_MAX, &name, &state);
    }
    page->skipped = 0;
    return true;
}

static void add_unmatched(struct page *page, const struct duty_thread *thread,
                          const struct index_duties_row *row) {
    const size_t number = duty_number(thread, &row->message.at);
    struct parley_buffer *out = &page->unmatched;
    if (number == SIZE_MAX || thread->messages[number].of != 0 ||
        !is_own(page, &row->message, PARLEY_BYTES(""))) {
        return;
    }
    if (page->unmatched_count == UNMATCHED_MAX) {
        page->is_cut = true;
        return;
    }
    parley_buffer_text(out, page->unmatched_count++ > 0 ? ",{\"message\":" : "{\"message\":");
    index_place_write(page->duties.asking, out, row->message.at.pos);
    parley_buffer_text(out, ",\"sender\":");
    parley_buffer_json(out, row->message.sender);
    parley_buffer_text(out, ",\"subject\":");
    parley_buffer_json(out, row->subject);
    parley_buffer_char(out, '}');
}

/* Returns: false: the page is full before the message is done with. */
static bool take_for_acks(struct page *page, const struct index_duties_row *row) {
    const bool is_first = page->rows_read == 1;
    if ((row->part & (PARLEY_INDEX_ASKS | PARLEY_INDEX_ACKNOWLEDGES)) == 0 ||
        !index_is_visible(page->duties.asking, &row->message)) {
        return true;
    }
    const struct duty_thread *thread = index_duties_thread(&page->duties, &row->message, is_first);
    if (thread == NULL) {
        return false;
    }
    if ((row->part & PARLEY_INDEX_ACKNOWLEDGES) != 0) {
        add_unmatched(page, thread, row);
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
static bool may_be_for(struct page *page, const struct index_duties_row *row,
                       struct parley_bytes agent) {
    struct parley_bytes names[DUTY_NAMES_MAX];
    bool is_named;
    const size_t count = index_duties_receivers(&page->duties, &row->message, names, &is_named);
    return is_named ? has_name(names, count, agent) : (row->part & PARLEY_INDEX_ASKS) != 0;
}

/* Of a message that may be. */
static bool is_for(struct page *page, const struct duty_thread *thread, size_t number,
                   const struct index_duties_row *row, struct parley_bytes agent,
                   struct recipients *out) {
    find_recipients(page, thread, number, row, out);
    return (out->is_of_anyone && !parley_bytes_equal(row->message.sender, agent)) ||
           has_name(out->names, out->count, agent);
}

/* Returns: false: as above. */
static bool take_for_inbox(struct page *page, const struct index_duties_row *row) {
    struct index_asking *asking = page->duties.asking;
    const struct index_question *question = asking->question;
    const struct parley_bytes agent = parley_bytes_of(question->values[INDEX_AGENT]);
    const bool is_first = page->rows_read == 1;
    struct recipients recipients;
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

/* Rows of one statement, in the order of storage. */
struct rows {
    sqlite3_stmt *statement;
    struct index_duties_row row;
    bool is_there;
};

static void step(struct page *page, struct rows *rows) {
    rows->is_there = index_step(page->duties.asking, rows->statement);
    if (rows->is_there) {
        index_duties_row_read(rows->statement, &rows->row);
    }
}

static void begin(struct page *page, struct rows *rows, enum index_duty_statement number,
                  struct parley_bytes text) {
    sqlite3_stmt *statement = index_duties_prepare(&page->duties, number);
    char room[INDEX_DIGEST_SIZE], thread[INDEX_TEXT_MAX];
    const unsigned protocol = question_of(page)->protocol;
    const struct parley_bytes kept = index_short_text(text, room);
    rows->statement = statement;
    sqlite3_bind_int64(statement, 3, protocol);
    sqlite3_bind_int64(statement, 4, page->from.stored);
    sqlite3_bind_int64(statement, 5, page->from.pos);
    if (number == DUTY_PAGE_OF_THREAD) {
        index_bind_text(statement, 6, index_thread_text(parley_protocols[protocol], kept, thread));
    } else if (number == DUTY_PAGE_RECEIVED) {
        sqlite3_bind_int64(statement, 6, index_key(page->duties.asking->secret, kept));
    }
    step(page, rows);
}

typedef bool take_fn(struct page *page, const struct index_duties_row *row);

/* Gives the rows of both, each message once, to `take`, until the page is full. */
static void walk(struct page *page, struct rows *one, struct rows *other, take_fn *take) {
    while (is_running(page) && (one->is_there || other->is_there)) {
        const bool is_one =
            one->is_there &&
            (!other->is_there || ledger_is_before(&one->row.message.at, &other->row.message.at));
        struct rows *rows = is_one ? one : other;
        const struct index_cursor at = rows->row.message.at;
        page->rows_read++;
        page->is_full = page->rows_read > INDEX_ROWS_MAX || !take(page, &rows->row);
        if (page->is_full) {
            return;
        }
        page->from = at;
        step(page, rows);
        while (one->is_there && one->row.message.at.pos == at.pos) {
            step(page, one); /* names that differ in case have one key */
        }
    }
}

static void write_end(struct page *page, bool has_unmatched) {
    struct index_asking *asking = page->duties.asking;
    struct parley_buffer members;
    char next[INDEX_CURSOR_SIZE];
    parley_buffer_init(&members);
    if (has_unmatched) {
        parley_buffer_text(&members, ",\"unmatched\":[");
        parley_buffer_append(&members, parley_buffer_bytes(&page->unmatched));
        parley_buffer_text(&members, page->is_cut ? "],\"more\":true" : "]");
        members.has_failed = members.has_failed || page->unmatched.has_failed;
    }
    index_list_end_with(asking, write_cursor(page, next), &members);
    parley_buffer_finish(&members);
}

static enum index_answered write_list(struct index_asking *asking, bool is_inbox) {
    struct page *page = calloc(1, sizeof *page);
    struct rows one = {.is_there = false}, other = {.is_there = false};
    if (page == NULL) {
        return INDEX_NO_MEMORY;
    }
    index_duties_begin(&page->duties, asking);
    parley_buffer_init(&page->unmatched);
    const char *thread = asking->question->values[INDEX_THREAD];
    if (!read_cursor(page)) {
        asking->answered = INDEX_BAD_CURSOR;
    } else if (is_inbox) {
        begin(page, &one, DUTY_PAGE_RECEIVED,
              parley_bytes_of(asking->question->values[INDEX_AGENT]));
        begin(page, &other, DUTY_PAGE, (struct parley_bytes){0});
        walk(page, &one, &other, take_for_inbox);
    } else {
        begin(page, &other, thread != NULL ? DUTY_PAGE_OF_THREAD : DUTY_PAGE,
              parley_bytes_of(thread));
        walk(page, &one, &other, take_for_acks);
    }
    sqlite3_finalize(one.statement);
    sqlite3_finalize(other.statement);
    if (is_running(page)) {
        write_end(page, !is_inbox);
    }
    index_duties_finish(&page->duties);
    parley_buffer_finish(&page->unmatched);
    free(page);
    return asking->answered;
}

enum index_answered index_acks_write(struct index_asking *asking) {
    return write_list(asking, false);
}

enum index_answered index_inbox_write(struct index_asking *asking) {
    return write_list(asking, true);
}
