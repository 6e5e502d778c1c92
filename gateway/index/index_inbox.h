/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What keeps inboxes current (inbox_table.h) asks the index: a page of an inbox, some of its
 * messages alone, and whom the messages concern that were indexed since a position. */

#include "index_asking.h"
#include "index_duties.h"

enum {
    INBOX_AGENTS_MAX = 256,
    INBOX_ITEMS_MAX = 1000,  /* that one question is about */
    INBOX_STREAMS_MAX = 64,  /* of a protocol */
    INBOX_NEWS_ROWS = 512,   /* messages that one question reads */
    INBOX_NEWS_MAX = 2048,   /* that it notes */
    INBOX_EVERYONE = 0xffff, /* in place of the number of an agent */
};

/* An item of an inbox.  Owns: texts are in what was answered. */
struct index_inbox_item {
    int64_t pos;
    int64_t overdue_ms; /* when it will be overdue, Unix time; 0: never, or it is */
    int64_t thread_key; /* 0: it is in no thread */
    size_t text_at, text_length, place_at, place_length; /* place: STREAM:SEQUENCE */
    bool is_unacked, is_answered;
};

enum index_inbox_change {
    INBOX_CAME,    /* the message at `pos` may be for the agent */
    INBOX_ACKED,   /* the agent has acknowledged the one at `pos` */
    INBOX_ANSWERED /* the agent has answered those before `pos` in the thread */
};

/* What a message that was indexed does to the inbox of an agent. */
struct index_inbox_news {
    enum index_inbox_change what;
    unsigned agent; /* its number; INBOX_EVERYONE: all agents */
    int64_t pos, thread_key;
};

/* Up to where the streams of a protocol are known. */
struct inbox_position {
    bool is_known;            /* else nothing is */
    unsigned char secret[16]; /* of the file: another file has another */
    struct {
        unsigned number;
        uint64_t next;       /* the first sequence that is not known */
        uint64_t oldest;     /* the first one that is indexed */
        int64_t created_key; /* of the stream: one that was created again has another */
    } streams[INBOX_STREAMS_MAX];
    size_t count;
};

/* A question and its answer.  Owns: names are borrowed. */
struct index_inbox {
    /* Of the question about news. It moves the position on, at first to the present end. */
    struct inbox_position position;
    const char *agents[INBOX_AGENTS_MAX]; /* index_short_text of each; NULL: none has this number */
    struct index_inbox_news news[INBOX_NEWS_MAX];
    size_t news_count;
    bool has_more; /* messages after the position are indexed */
    bool is_lost;  /* the position is of another file or stream, and was moved to the end */
    /* Of the question about messages: */
    int64_t places[INBOX_ITEMS_MAX];
    size_t place_count;
    size_t looked_at; /* so many of them: the items of these are noted, in the same order */
    /* Of this one, and of the view inbox: */
    struct index_inbox_item items[INBOX_ITEMS_MAX];
    size_t item_count;
    char next[INDEX_CURSOR_SIZE]; /* of a page; "": there is none */
};

/* Questions in place of a view, with index_question.inbox. They say nothing but what is noted. */
extern const struct index_view index_inbox_news_view, index_inbox_items_view;
