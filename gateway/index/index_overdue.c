/* SPDX-License-Identifier: Apache-2.0 */

/* See index_overdue.h. Whether a reminder is stored is asked of the index: it is newer than the
 * message that it is about, so that the index has it for as long as that one. */

#include "index_overdue.h"

#include <stdio.h>

#include "index_bearers.h"

enum { MS_A_SECOND = 1000 };

void index_overdue_begin(struct index_overdue *page) {
    page->count = 0;
    page->next[0] = '\0';
    parley_arena_reset(&page->arena);
}

void index_overdue_finish(struct index_overdue *page) {
    parley_arena_finish(&page->arena);
}

struct index_question index_overdue_question(const struct index_overdue_range *range,
                                             const struct channel *channels,
                                             struct index_overdue *page) {
    struct index_question question = {.view = index_view_find("acks"),
                                      .channels = channels,
                                      .protocol = range->protocol,
                                      .readable = UINT64_C(1) << range->protocol,
                                      .since_ms = range->from_ms - range->overdue_ms + 1,
                                      .until_ms = range->until_ms - range->overdue_ms,
                                      .now_ms = range->until_ms + 1,
                                      .overdue_ms = range->overdue_ms,
                                      .open = INDEX_ONLY,
                                      .limit = INDEX_OVERDUE_MAX,
                                      .is_lines = true,
                                      .overdue = page};
    question.values[INDEX_CURSOR] = range->cursor[0] != '\0' ? range->cursor : NULL;
    return question;
}

/* One that so many other messages claim to be counts as stored. */
static bool is_stored(struct index_asking *asking, struct parley_bytes id) {
    char room[INDEX_DIGEST_SIZE];
    const struct parley_bytes kept = index_short_text(id, room);
    size_t count = 0;
    bool is = false;
    sqlite3_stmt *find = index_prepare(asking, INDEX_BY_ID_SQL);
    sqlite3_bind_int64(find, 1, index_key(asking->secret, kept));
    while (!is && index_step(asking, find)) {
        struct index_message message;
        index_message_read(find, &message);
        is = ++count > INDEX_BEARERS_MAX ||
             (message.protocol_number == asking->question->protocol &&
              parley_bytes_equal(message.id, kept) &&
              parley_bytes_equal(message.sender, PARLEY_BYTES(PARLEY_INDEX_GATEWAY)));
    }
    sqlite3_finalize(find);
    return is;
}

/* data NULL: there is none, or no memory. */
static struct parley_bytes copy(struct index_overdue *page, struct parley_bytes text) {
    const char *out = text.data != NULL ? parley_arena_copy(&page->arena, text) : NULL;
    return (struct parley_bytes){out, out != NULL ? text.length : 0};
}

/* A name of any text that a message may have is as long as its digest only by chance. */
static bool is_digest(struct parley_bytes name) {
    return name.length == INDEX_DIGEST_SIZE - 1 && memcmp(name.data, "sha:", 4) == 0;
}

static struct parley_bytes write_id(struct index_overdue *page, struct parley_bytes place,
                                    struct parley_bytes recipient) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, PARLEY_INDEX_REMINDER_ID);
    parley_buffer_append(&text, place);
    parley_buffer_char(&text, ':');
    parley_buffer_append(&text, recipient);
    const struct parley_bytes id =
        text.has_failed ? (struct parley_bytes){0} : copy(page, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
    return id;
}

enum parley_status index_overdue_note(struct index_asking *asking,
                                      const struct index_message *message,
                                      struct parley_bytes subject, struct parley_bytes recipient,
                                      size_t text_at) {
    struct index_overdue *page = asking->question->overdue;
    struct index_overdue_item *item = &page->items[page->count];
    struct parley_reminder *reminder = &item->reminder;
    char stream[INDEX_STREAM_SIZE], place[INDEX_REMINDER_PLACE_SIZE];
    index_stream_name(asking, (unsigned)((uint64_t)message->at.pos >> INDEX_SEQUENCE_BITS), stream);
    snprintf(place, sizeof place, "%s:%ju", stream, (uintmax_t)index_sequence_of(message->at.pos));
    *reminder = (struct parley_reminder){.place = copy(page, parley_bytes_of(place)),
                                         .thread = copy(page, message->thread),
                                         .subject = copy(page, subject),
                                         .recipient = copy(page, recipient),
                                         .stored_s = message->at.stored / MS_A_SECOND};
    reminder->id = write_id(page, reminder->place, reminder->recipient);
    if (reminder->id.data == NULL || reminder->place.data == NULL ||
        (reminder->recipient.data == NULL) != (recipient.data == NULL) ||
        (reminder->thread.data == NULL) != (message->thread.data == NULL) ||
        (reminder->subject.data == NULL) != (subject.data == NULL)) {
        return PARLEY_E_MEMORY;
    }
    item->stored_ms = message->at.stored;
    item->text_at = text_at;
    item->text_length = asking->out->length - text_at - strlen("\n");
    item->is_nameless = recipient.data != NULL && is_digest(recipient);
    item->is_reminded = is_stored(asking, reminder->id);
    page->count++;
    return PARLEY_OK;
}
