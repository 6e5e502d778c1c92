/* SPDX-License-Identifier: Apache-2.0 */

/* The view inbox: what was sent to an agent, and what of it that agent has acknowledged, in the
 * order of storage; and what index_inbox.h asks beside it. What a message does to an inbox is known
 * when it is stored: it may be for the agent, or the agent has sent it. */

#include "index_inbox.h"

#include <inttypes.h>
#include <stdio.h>

#include "index_duty_item.h"
#include "index_messages.h"

/* ---- items ---- */

static int64_t thread_key_of(const struct index_asking *asking,
                             const struct index_message *message) {
    return message->thread.length > 0 ? index_key(asking->secret, message->thread) : 0;
}

/* The item's place is appended after its line. */
static void note_item(struct index_page *page, const struct index_duties_row *row,
                      const struct duty_state *state, size_t text_at) {
    struct index_asking *asking = page->duties.asking;
    struct index_inbox *inbox = asking->question->inbox;
    const int64_t due_ms = row->message.at.stored + INDEX_OVERDUE_DEFAULT_MS + 1;
    char stream[INDEX_STREAM_SIZE];
    struct index_inbox_item *item = &inbox->items[inbox->item_count++];
    *item = (struct index_inbox_item){
        .pos = row->message.at.pos,
        .overdue_ms = state->is_open && !state->is_overdue ? due_ms : 0,
        .thread_key = thread_key_of(asking, &row->message),
        .text_at = text_at,
        .text_length = asking->out->length - text_at - strlen("\n"),
        .place_at = asking->out->length,
        .is_unacked = (row->part & PARLEY_INDEX_ASKS) != 0 && state->acknowledged == NULL,
        .is_answered = state->answered != NULL};
    index_stream_name(asking, (unsigned)((uint64_t)item->pos >> INDEX_SEQUENCE_BITS), stream);
    parley_buffer_format(asking->out, "%s:%" PRIu64, stream, index_sequence_of(item->pos));
    item->place_length = asking->out->length - item->place_at;
}

static void write_item(struct index_page *page, const struct index_duties_row *row, bool is_cut,
                       const struct duty_state *state) {
    struct index_asking *asking = page->duties.asking;
    const size_t text_at = asking->out->length;
    index_duty_item_write(page, row, is_cut, NULL, state);
    if (asking->question->inbox != NULL && !asking->out->has_failed) {
        note_item(page, row, state, text_at);
    }
}

/* ---- the inbox ---- */

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

/* The agent's name as the file has it. */
static struct parley_bytes agent_of(const struct index_asking *asking,
                                    char room[INDEX_DIGEST_SIZE]) {
    return index_short_text(parley_bytes_of(asking->question->values[INDEX_AGENT]), room);
}

/* Returns: false: as above. */
static bool take_row(struct index_page *page, const struct index_duties_row *row) {
    struct index_asking *asking = page->duties.asking;
    const struct index_question *question = asking->question;
    char room[INDEX_DIGEST_SIZE];
    const struct parley_bytes agent = agent_of(asking, room);
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
    const struct duty_state state = index_duty_state(page, thread, number, row, agent);
    const bool is_unacked = (row->part & PARLEY_INDEX_ASKS) != 0 && state.acknowledged == NULL;
    if (!index_is_chosen(question->unacked, is_unacked)) {
        return true;
    }
    if (asking->item_count == question->limit) {
        return false;
    }
    write_item(page, row, recipients.is_cut || number == SIZE_MAX, &state);
    return true;
}

enum index_answered index_inbox_write(struct index_asking *asking) {
    char name[INDEX_DIGEST_SIZE];
    const struct parley_bytes agent = agent_of(asking, name);
    struct index_inbox *inbox = asking->question->inbox;
    struct index_page page = {.rows_read = 0};
    struct index_page_rows named = {.is_there = false}, rest = {.is_there = false};
    char room[INDEX_CURSOR_SIZE];
    if (index_page_begin(&page, asking)) {
        index_page_rows_begin(&page, &named, DUTY_PAGE_RECEIVED, agent);
        index_page_rows_begin(&page, &rest, DUTY_PAGE, (struct parley_bytes){0});
        index_page_walk(&page, &named, &rest, take_row);
    } else {
        asking->answered = INDEX_BAD_CURSOR;
    }
    index_page_rows_finish(&named);
    index_page_rows_finish(&rest);
    if (asking->answered == INDEX_ANSWERED) {
        const char *next = index_page_next(&page, room);
        index_list_end(asking, next);
        if (inbox != NULL) {
            snprintf(inbox->next, sizeof inbox->next, "%s", next != NULL ? next : "");
        }
    }
    index_page_finish(&page);
    return asking->answered;
}

/* ---- messages alone ---- */

/* Returns: false: the question has no room for it. */
static bool look_at(struct index_page *page, int64_t pos) {
    sqlite3_stmt *find = index_duties_prepare(&page->duties, DUTY_ALONE);
    bool has_room = true;
    sqlite3_bind_int64(find, 3, pos);
    if (index_step(page->duties.asking, find)) {
        struct index_duties_row row;
        index_duties_row_read(find, &row);
        has_room = row.message.protocol_number != page->duties.asking->question->protocol ||
                   index_page_give(page, &row, take_row);
    }
    sqlite3_finalize(find);
    return has_room && page->duties.asking->answered == INDEX_ANSWERED;
}

static enum index_answered write_items(struct index_asking *asking) {
    struct index_inbox *inbox = asking->question->inbox;
    struct index_page page = {.rows_read = 0};
    if (index_page_begin(&page, asking)) {
        while (inbox->looked_at < inbox->place_count &&
               look_at(&page, inbox->places[inbox->looked_at])) {
            inbox->looked_at++;
        }
    }
    index_page_finish(&page);
    return asking->answered;
}

/* ---- news ---- */

static void note_news(struct index_inbox *inbox, unsigned agent, enum index_inbox_change what,
                      int64_t pos, int64_t thread_key) {
    inbox->news[inbox->news_count++] = (struct index_inbox_news){
        .what = what, .agent = agent, .pos = pos, .thread_key = thread_key};
}

/* Returns: INBOX_EVERYONE: it is none of those whose inboxes are kept. */
static unsigned number_of(const struct index_inbox *inbox, struct parley_bytes name,
                          unsigned from) {
    for (unsigned i = from; i < INBOX_AGENTS_MAX; i++) {
        if (inbox->agents[i] != NULL &&
            parley_bytes_equal(parley_bytes_of(inbox->agents[i]), name)) {
            return i;
        }
    }
    return INBOX_EVERYONE;
}

/* Several inboxes may be of one agent. */
static void note_of(struct index_inbox *inbox, struct parley_bytes name,
                    enum index_inbox_change what, int64_t pos, int64_t thread_key) {
    for (unsigned i = number_of(inbox, name, 0); i != INBOX_EVERYONE;
         i = number_of(inbox, name, i + 1)) {
        note_news(inbox, i, what, pos, thread_key);
    }
}

static void note_receivers(struct index_duties *duties, const struct index_duties_row *row) {
    struct index_inbox *inbox = duties->asking->question->inbox;
    struct parley_bytes names[DUTY_NAMES_MAX];
    bool is_named;
    const int64_t pos = row->message.at.pos;
    const size_t count = index_duties_receivers(duties, &row->message, names, &is_named);
    for (size_t i = 0; i < count; i++) {
        note_of(inbox, names[i], INBOX_CAME, pos, 0);
    }
    if (!is_named && (row->part & PARLEY_INDEX_ASKS) != 0) {
        note_news(inbox, INBOX_EVERYONE, INBOX_CAME, pos, 0);
    }
}

/* Returns: false: the question has no room for the thread. */
static bool note_sender(struct index_duties *duties, const struct index_duties_row *row,
                        bool is_first) {
    struct index_inbox *inbox = duties->asking->question->inbox;
    const struct index_message *message = &row->message;
    if (number_of(inbox, message->sender, 0) == INBOX_EVERYONE) {
        return true;
    }
    if ((row->part & PARLEY_INDEX_ACKNOWLEDGES) == 0) {
        note_of(inbox, message->sender, INBOX_ANSWERED, message->at.pos,
                thread_key_of(duties->asking, message));
        return true;
    }
    const struct duty_thread *thread = index_duties_thread(duties, message, is_first);
    const size_t number = thread != NULL ? duty_number(thread, &message->at) : SIZE_MAX;
    if (number != SIZE_MAX && thread->messages[number].of != 0) {
        note_of(inbox, message->sender, INBOX_ACKED, thread->messages[number].of, 0);
    }
    return thread != NULL;
}

/* What one message may be noted as: for each inbox, of its receiver or of its sender. */
static bool has_room(const struct index_inbox *inbox, size_t rows_read) {
    return rows_read < INBOX_NEWS_ROWS &&
           inbox->news_count + 2 * (size_t)INBOX_AGENTS_MAX + 1 <= INBOX_NEWS_MAX;
}

static int64_t pos_of(unsigned stream, uint64_t sequence) {
    return (int64_t)((uint64_t)stream << INDEX_SEQUENCE_BITS | sequence);
}

/* Moves the position of one stream on, up to `end`. */
static void read_news(struct index_duties *duties, size_t number, uint64_t end, size_t *rows_read) {
    struct index_inbox *inbox = duties->asking->question->inbox;
    const unsigned stream = inbox->position.streams[number].number;
    uint64_t *next = &inbox->position.streams[number].next;
    sqlite3_stmt *find = index_duties_prepare(duties, DUTY_STORED);
    sqlite3_bind_int64(find, 3, pos_of(stream, *next));
    sqlite3_bind_int64(find, 4, pos_of(stream, end));
    while (!inbox->has_more && index_step(duties->asking, find)) {
        struct index_duties_row row;
        index_duties_row_read(find, &row);
        const size_t before = inbox->news_count;
        inbox->has_more =
            !has_room(inbox, *rows_read) || !note_sender(duties, &row, *rows_read == 0);
        if (inbox->has_more) {
            inbox->news_count = before;
            break;
        }
        note_receivers(duties, &row);
        *next = index_sequence_of(row.message.at.pos) + 1;
        (*rows_read)++;
    }
    sqlite3_finalize(find);
    if (!inbox->has_more && duties->asking->answered == INDEX_ANSWERED) {
        *next = end;
    }
}

static uint64_t oldest_of(struct index_asking *asking, unsigned stream, uint64_t end) {
    uint64_t oldest = end;
    sqlite3_stmt *find = index_prepare(asking, index_duties_statements[DUTY_OLDEST]);
    sqlite3_bind_int64(find, 1, pos_of(stream, 0));
    sqlite3_bind_int64(find, 2, pos_of(stream, end));
    if (index_step(asking, find) && sqlite3_column_type(find, 0) != SQLITE_NULL) {
        oldest = index_sequence_of(sqlite3_column_int64(find, 0));
    }
    sqlite3_finalize(find);
    return oldest;
}

/* Up to where the file has the streams now. One protocol has fewer than there is room for. */
static void read_present(struct index_asking *asking, struct inbox_position *out) {
    sqlite3_stmt *find = index_prepare(
        asking, "SELECT stream, next, created FROM streams WHERE protocol=?1 ORDER BY stream");
    sqlite3_bind_int64(find, 1, asking->question->protocol);
    *out = (struct inbox_position){.is_known = true};
    memcpy(out->secret, asking->secret, sizeof out->secret);
    while (out->count < INBOX_STREAMS_MAX && index_step(asking, find)) {
        const unsigned number = (unsigned)sqlite3_column_int(find, 0);
        const uint64_t next = (uint64_t)sqlite3_column_int64(find, 1);
        out->streams[out->count].number = number;
        out->streams[out->count].next = next;
        out->streams[out->count].oldest = oldest_of(asking, number, next);
        out->streams[out->count].created_key =
            index_key(asking->secret, index_column_text(find, 2));
        out->count++;
    }
    sqlite3_finalize(find);
}

/* The number of that stream in the position; `count`: it is not there. */
static size_t find_stream(const struct inbox_position *position, unsigned number) {
    size_t i = 0;
    while (i < position->count && position->streams[i].number != number) {
        i++;
    }
    return i;
}

static bool is_continued(const struct inbox_position *before, const struct inbox_position *now) {
    bool is = before->is_known && memcmp(before->secret, now->secret, sizeof now->secret) == 0;
    for (size_t i = 0; i < before->count && is; i++) {
        const size_t at = find_stream(now, before->streams[i].number);
        is = at < now->count && now->streams[at].next >= before->streams[i].next &&
             now->streams[at].created_key == before->streams[i].created_key;
    }
    return is;
}

static enum index_answered write_news(struct index_asking *asking) {
    struct index_inbox *inbox = asking->question->inbox;
    const struct inbox_position before = inbox->position;
    struct index_duties duties = {.asking = asking};
    size_t rows_read = 0;
    read_present(asking, &inbox->position);
    if (!is_continued(&before, &inbox->position)) {
        inbox->is_lost = before.is_known;
        return asking->answered;
    }
    index_duties_begin(&duties, asking);
    for (size_t i = 0; i < inbox->position.count; i++) {
        const size_t known = find_stream(&before, inbox->position.streams[i].number);
        const uint64_t end = inbox->position.streams[i].next;
        inbox->position.streams[i].next = known < before.count ? before.streams[known].next : 1;
        read_news(&duties, i, end, &rows_read);
    }
    index_duties_finish(&duties);
    return asking->answered;
}

const struct index_view index_inbox_news_view = {.name = "inbox", .write = write_news};
const struct index_view index_inbox_items_view = {.name = "inbox", .write = write_items};
