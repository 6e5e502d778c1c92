/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The inboxes of one protocol that are followed (ADR 55), as the index last said. Each is read from
 * its beginning, a page after the other; since then it is asked what messages that were indexed do
 * to it, and what has become of the items concerned. What the index does not say, such as an
 * acknowledgement that left its stream, a reading every ten minutes finds.
 *
 *   inbox_table_next ──▶ what to ask ──▶ the index ──▶ inbox_table_take
 *
 * Memory is bounded: of inboxes, of their items, and of the bytes of all of them.
 *
 * Threads: any, with the lock of the table's log; without it only what says so. */

#include "follow.h"
#include "index_inbox.h"
#include "request_slots.h"

enum {
    INBOX_LIST_ITEMS_MAX = 10000,
    INBOX_BYTES_MAX = 64 * 1024 * 1024,
    INBOX_NEWS_MS = 1000,   /* news are asked for so often */
    INBOX_IDLE_MS = 10000,  /* a client that comes back after a break finds its inbox */
    INBOX_AGAIN_MS = 600000 /* it is read again */
};

struct inbox_table;
struct inbox_list;

/* `protocol`: index into parley_protocols.  Owns: a new table.  Without the lock. */
enum parley_status inbox_table_create(unsigned protocol,
                                      struct inbox_table **out) PARLEY_MUST_CHECK;
/* All listeners have left. NULL is allowed.  Without the lock. */
void inbox_table_destroy(struct inbox_table *table);

struct change_log *inbox_table_changes(struct inbox_table *table);

/* Whose inbox, and as whom it is read. Those of which only what is not acknowledged is wanted keep
 * nothing else. */
struct inbox_key {
    const char *agent; /* borrowed */
    bool is_bound;     /* who asks may read the agent's private messages alone */
    bool is_unacked;
    const struct limit_sender *sender; /* who asks, borrowed; NULL: not limited */
};

/* Begins to keep the inbox, or continues.  Owns: borrowed, until inbox_table_leave.
 * Returns: NULL: there is no room for another one, the sender has begun three quarters of those
 * that there can be (REQUEST_SLOTS_OF_SENDER), or no memory. */
struct inbox_list *inbox_table_enter(struct inbox_table *table, const struct inbox_key *key);
void inbox_table_leave(struct inbox_list *list, int64_t now_ms);
/* A choice of items of an inbox: the filter for inbox_list_follow. */
struct inbox_watching {
    enum index_choice unacked;
};
/* Sets what it is that is followed. */
void inbox_list_follow(struct inbox_list *list, struct follow_options *out);

/* What is to be asked of the index now; one at a time. */
enum inbox_wish {
    INBOX_RESTS, /* nothing */
    INBOX_ENDS,  /* nothing until inbox_table_enter: no inbox is kept */
    INBOX_NEWS,
    INBOX_PAGE,
    INBOX_ITEMS
};
/* `now_ms`: on reactor_clock_ms; `wall_ms`: Unix time. `out`: all of the question but who is to
 * wait for it.  Owns: `asked` and what it refers to stay as they are until inbox_table_take, or the
 * next call. */
enum inbox_wish inbox_table_next(struct inbox_table *table, int64_t now_ms, int64_t wall_ms,
                                 struct index_inbox *asked, struct index_question *out);
/* Takes the answer. One that failed changes nothing, and is asked for again. */
void inbox_table_take(struct inbox_table *table, enum inbox_wish wish, enum index_answered answered,
                      const struct index_inbox *asked, struct parley_bytes text, int64_t now_ms);
