/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The lists that the index answers, as rows of a table: the address, its parameters, and the SQL of
 * each way to find its messages. One contract for all: `items`, `next`, `limit=` and `cursor=`; as
 * NDJSON a line per item, and {"next":…} as the last. */

#include <stdatomic.h>

#include <parley/buffer.h>
#include <parley/message.h>

#include "channel.h"
#include "index_item.h"
#include "list_cursor.h"
#include "stream_query.h"

struct sqlite3;

/* All parameters that views have. */
enum index_option {
    INDEX_ID,
    INDEX_THREAD,
    INDEX_SENDER,
    INDEX_RECEIVER,
    INDEX_TYPE,
    INDEX_LANE,
    INDEX_REFERS_TO,
    INDEX_KEYWORD,
    INDEX_SINCE,
    INDEX_UNTIL,
    INDEX_LIMIT,
    INDEX_CURSOR,
    INDEX_AFTER,
    INDEX_WAIT,
    INDEX_DATA,
    INDEX_SESSION,
    INDEX_AGENT,
    INDEX_OPEN,
    INDEX_UNACKED,
    INDEX_OVERDUE,
    INDEX_WORDS,
    INDEX_KIND,
    INDEX_STATE,
    INDEX_BEAD,
    INDEX_FOLLOW,
    INDEX_OPTION_COUNT
};

enum {
    INDEX_LIMIT_DEFAULT = 100,
    INDEX_LIMIT_MAX = 1000,
    INDEX_OVERDUE_DEFAULT_MS = 4 * 60 * 60 * 1000
};

/* Of items that are so, or are not. */
enum index_choice { INDEX_ANY, INDEX_ONLY, INDEX_NOT };

struct index_question {
    const struct index_view *view;
    const struct channel *channels; /* of parley_protocols */
    unsigned protocol;              /* index into parley_protocols; the view is of one */
    uint64_t readable;              /* bit I: parley_protocols[I], for views of several */
    const char *own;                /* the only agent whose private messages are shown; NULL: all */
    const char *values[INDEX_OPTION_COUNT]; /* as they were given; NULL: not */
    int64_t since_ms, until_ms;             /* of storage */
    int64_t now_ms;                         /* Unix time */
    int64_t overdue_ms; /* only what is open for longer than this; negative: any */
    enum index_choice open, unacked;
    uint32_t kinds;            /* bit I: of items those of kinds[I] of the protocol; 0: all */
    bool has_all;              /* items that are not open, too */
    struct stream_token after; /* what values[INDEX_AFTER] names, if it is given */
    struct stream_token place; /* of the message, for the view of one */
    size_t limit;
    bool is_lines;  /* NDJSON */
    bool has_data;  /* items are wanted with their data: the answer is their places */
    bool has_words; /* this gateway keeps the words of messages */
    /* Set, by any thread, once nothing waits for its answer any more; NULL: never. */
    const atomic_bool *is_unwanted;
    int64_t
        begin_by_ms; /* on reactor_clock_ms: later it is not answered any more; 0: at any time */
    struct index_overdue *overdue; /* where the items of acks are noted, too; NULL: they are not */
    struct index_inbox *inbox;     /* the same of those of an inbox */
};

enum index_answered {
    INDEX_ANSWERED,
    INDEX_BEHIND,     /* the message that `after` names is not indexed so far */
    INDEX_BAD_CURSOR, /* of a stream that the index does not know */
    INDEX_NO_WORDS,   /* the words of messages are not kept */
    INDEX_BAD_WORDS,  /* there is no word to search for, or too many are */
    INDEX_WORDLESS,   /* messages of the protocol have no text to search in */
    INDEX_TOO_SLOW,   /* it took more than two seconds, or is unwanted */
    INDEX_TOO_LATE,   /* it waited longer for its turn than its begin_by_ms */
    INDEX_BROKEN,     /* the file cannot be read */
    INDEX_NO_MEMORY,
};

struct index_asking;

struct index_view {
    const char *name; /* the last part of its address */
    bool is_of_all; /* /v1/NAME: over all protocols that the token reads; else /v1/PROTOCOL/NAME */
    bool is_of_agent; /* INDEX_AGENT is the agent to whom a token is bound, and no other */
    bool may_follow;  /* with `follow`, for which `since` is a resume token */
    bool is_quick;    /* it asks for rows as they are, and for nothing that spans messages */
    bool is_of_one; /* what the index adds to a message, at /v1/PROTOCOL/messages/STREAM:SEQUENCE */
    /* Whether messages of the protocol make such a list; NULL: of each do. */
    bool (*is_of)(const struct parley_protocol *protocol);
    const struct parley_option_help *options; /* its parameters; name NULL ends them */
    const char *const *required;   /* of these one must be given, NULL-terminated; NULL: none */
    const char *const *statements; /* all that it asks, NULL-terminated */
    bool has_data; /* its items are messages with their data, which are read from the streams, … */
    /* … and it appends members to each that is valid: ,"name":value; NULL: none.  Threads: the
     * reactor's.  Returns: PARLEY_E_MEMORY. */
    enum parley_status (*add)(struct parley_message *message, struct parley_buffer *out);
    enum index_answered (*write)(struct index_asking *asking);
};

/* The name with which the cursors of the question's list begin (list_cursor.h). */
void index_question_list(const struct index_question *question, char out[LIST_NAME_SIZE]);
/* Takes the name off the cursor, for which it is asked from then on.  Returns: false: the cursor is
 * of another list. */
bool index_question_cursor(struct index_question *question);

/* Ends with a NULL name. */
extern const struct index_view index_views[];
const struct index_view *index_view_find(const char *name);
bool index_view_is_of(const struct index_view *view, const struct parley_protocol *protocol);
/* The number of a parameter by its name; INDEX_OPTION_COUNT: there is none. */
enum index_option index_option_of(const char *name);

#define INDEX_PROGRESS_MAX 1024

/* Asks the file, and appends the answer; with question->has_data only what follows the items and
 * the cursor, which are noted in `places` (NULL without has_data). `progress`: up to where each
 * stream of the protocols that are asked was indexed then: "VLP:1234,…". Takes at most two seconds.
 * Threads: any, each with a file of its own. */
enum index_answered index_view_answer(struct sqlite3 *file, const struct index_question *question,
                                      struct parley_buffer *out, struct index_places *places,
                                      char progress[INDEX_PROGRESS_MAX]);
