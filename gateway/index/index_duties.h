/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads threads from the file, for the views that say who must acknowledge what. The threads that
 * one question needs are kept until it ends, so that each is read once. */

#include <sys/queue.h>

#include <parley/arena.h>

#include "index_asking.h"
#include "index_duty.h"

/* DUTY_PAGE… find the messages that a page of a view may have: those of a protocol (?3) that were
 * stored after a place (its time ?4, its pos ?5). */
enum index_duty_statement {
    DUTY_BY_THREAD,
    DUTY_ALONE,
    DUTY_BY_ID,
    DUTY_BY_TARGET,
    DUTY_TARGETS_OF,
    DUTY_MESSAGE_AT,
    DUTY_RECEIVERS_OF,
    DUTY_PAGE,           /* that have a part: enum parley_index_part */
    DUTY_PAGE_OF_THREAD, /* in the thread ?6 */
    DUTY_PAGE_RECEIVED,  /* that name the receiver with the key ?6 */
    DUTY_PAGE_LABELLED,  /* that refer to the label with the key ?6 by the relation ?7 */
    DUTY_STORED,         /* the messages of a stream from one position (?3) to another (?4) */
    DUTY_OLDEST,         /* the position of the oldest of these (?1, ?2) */
    DUTY_STATEMENT_COUNT
};
extern const char *const index_duties_statements[DUTY_STATEMENT_COUNT + 1];

struct index_duties_thread {
    struct parley_bytes name; /* data NULL: a message without one, alone */
    int64_t pos;              /* that message's */
    struct duty_thread duty;
    SLIST_ENTRY(index_duties_thread) links;
};

/* Private, except asking and acks. */
struct index_duties {
    struct index_asking *asking;
    const struct parley_index_acks *acks;
    struct parley_arena arena;
    sqlite3_stmt *statements[DUTY_STATEMENT_COUNT];
    SLIST_HEAD(, index_duties_thread) threads;
    size_t thread_count;
    unsigned stream_number; /* the stream whose name was asked for last; 0: none */
    char stream_name[INDEX_STREAM_SIZE];
    struct parley_buffer place; /* of the message that is read */
};

/* `out`: zeroed; the caller finishes it.  Owns: borrows asking. */
void index_duties_begin(struct index_duties *out, struct index_asking *asking);
void index_duties_finish(struct index_duties *duties);

/* Prepares one of DUTY_PAGE…; index_duties_row_read reads its rows.  Owns: as index_prepare. */
sqlite3_stmt *index_duties_prepare(struct index_duties *duties, enum index_duty_statement number);

/* A message, and what is in its row beside it.  Owns: borrows the row. */
struct index_duties_row {
    struct index_message message;
    unsigned part;
    struct parley_bytes subject, status;
};
void index_duties_row_read(sqlite3_stmt *statement, struct index_duties_row *out);

/* The thread of a message, as far as a page may read.  `is_first`: the message is the first of the
 * page: a thread that is too long for a page is cut, since no page would have room for it.
 * Owns: borrowed, until the duties are finished.
 * Returns: NULL: the page has no room for the whole thread, or asking->answered says why not. */
const struct duty_thread *index_duties_thread(struct index_duties *duties,
                                              const struct index_message *message, bool is_first);

/* The first text that the message refers to by this relation, in `room`, and its key.
 * Returns: data NULL: there is none. */
struct parley_bytes index_duties_target(struct index_duties *duties,
                                        const struct index_message *message, unsigned relation,
                                        char room[INDEX_TEXT_MAX], int64_t *out_key);
/* The messages that refer to a text by this relation, in the order of storage. No thread may be
 * read meanwhile.  Owns: the caller must not finalize it; a row is borrowed until the next one. */
sqlite3_stmt *index_duties_referrers(struct index_duties *duties, int64_t key, unsigned relation);
bool index_duties_referrers_next(struct index_duties *duties, sqlite3_stmt *find,
                                 struct parley_bytes text, struct index_duties_row *out);

/* The receivers that the message names, except its own sender, in the order of their names.
 * `out_named`: whether it names any, its sender included.  Owns: texts are in the arena.  Returns:
 * how many there are in `out`. */
size_t index_duties_receivers(struct index_duties *duties, const struct index_message *message,
                              struct parley_bytes out[DUTY_NAMES_MAX], bool *out_named);

/* Who must acknowledge a message.  Owns: as index_duties_receivers. */
struct index_recipients {
    struct parley_bytes names[DUTY_NAMES_MAX]; /* data NULL: anyone */
    size_t count;
    bool is_named;     /* the message itself names them */
    bool is_of_anyone; /* no agent is known: `names` has one item without a name */
    bool is_cut;       /* there may be more than these */
};

/* The agents that the message of the row asks: those that it names, else those that wrote in its
 * thread before, else anyone.  `number`: of the message in the thread; SIZE_MAX: the thread is cut
 * before it. */
void index_duties_recipients(struct index_duties *duties, const struct duty_thread *thread,
                             size_t number, const struct index_duties_row *row,
                             struct index_recipients *out);
