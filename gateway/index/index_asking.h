/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A question while it is answered, and a row of messages: for the files of views. */

#include <sqlite3.h>

#include "index_item.h"
#include "index_view.h"

enum { INDEX_ROWS_MAX = 20000 /* that a page reads */ };

struct index_asking {
    sqlite3 *file;
    const struct index_question *question;
    struct parley_buffer *out;
    struct index_places *places; /* NULL: items are wanted without data */
    unsigned char secret[16];
    size_t rows_read, item_count;
    bool is_cut; /* rows that it wanted were left out: the view says of what */
    bool has_next;
    enum index_answered answered; /* the first failure */
};

/* The columns of a message, in this order, of the table that is called m. */
#define INDEX_COLUMNS                                                                              \
    "m.pos, m.stored, m.protocol, m.type, m.lane, m.source, m.id, m.thread, m.sender, m.agent, "   \
    "m.time, m.subject, m.size, m.trace, m.members, m.more, m.waits"
enum { INDEX_COLUMN_COUNT = 17 };

/* Owns: borrowed until the statement's next step; data NULL: it is null. */
struct parley_bytes index_column_text(sqlite3_stmt *statement, int number);
void index_message_read(sqlite3_stmt *statement, struct index_message *out);
/* Whether who asks may see it. */
bool index_is_visible(const struct index_asking *asking, const struct index_message *message);
/* Appends the message as an item; one whose data is asked for is noted among the places instead. */
void index_message_add(struct index_asking *asking, const struct index_message *message);
/* Appends its event without data, and without the closing brace. */
void index_message_begin(struct index_asking *asking, const struct index_message *message);

/* Begins an item of the answer, and ends it with a closing brace. */
void index_item_begin(struct index_asking *asking);
void index_item_end(struct index_asking *asking);
/* Ends the list. `next` NULL: there is no more. */
void index_list_end(struct index_asking *asking, const char *next);
/* The same, with members beside the items: `,"name":value` each. */
void index_list_end_with(struct index_asking *asking, const char *next,
                         const struct parley_buffer *members);

/* NULL: it failed, and asking->answered says so.  Owns: the caller finalizes it. */
sqlite3_stmt *index_prepare(struct index_asking *asking, const char *sql);
/* The next row.  Returns: false: there is none, or it failed. */
bool index_step(struct index_asking *asking, sqlite3_stmt *statement);
/* Counts a row that is read.  Returns: false: the page has read its share, and is_cut says so. */
bool index_may_read(struct index_asking *asking);
void index_bind_text(sqlite3_stmt *statement, int place, struct parley_bytes text);

/* Reads what index_cursor_write wrote.  Returns: false: it is none, or of a stream that the index
 * does not know. */
bool index_cursor_read(struct index_asking *asking, const char *text, struct index_cursor *out);
/* Appends a place as a text: "VLP:42", with its quotes. */
void index_place_write(struct index_asking *asking, struct parley_buffer *out, int64_t pos);
/* The name of a stream by its number, and the other way; "" and 0: there is none. */
void index_stream_name(struct index_asking *asking, unsigned number, char out[256]);
unsigned index_stream_number(struct index_asking *asking, const char *name);

/* The cursor of the page that begins after `last`. */
void index_cursor_of(struct index_asking *asking, const struct index_cursor *last,
                     char out[INDEX_CURSOR_SIZE]);

/* Texts of this protocol, by which its messages are found, are the same. */
bool index_texts_equal(const struct parley_protocol *protocol, struct parley_bytes one,
                       struct parley_bytes other);
