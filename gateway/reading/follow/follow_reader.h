/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One open response of a list that is followed: its place in the changes, what it shows, and the
 * text that is being sent. follow_reader.c makes events and bytes; follow.c has the requests. */

#include "follow.h"
#include "http.h"
#include "list_cursor.h"

enum { FOLLOW_TOKEN_MAX = LIST_NAME_SIZE + 64 };

/* What a token says. */
struct follow_token {
    uint64_t epoch, version;
    uint32_t digest; /* of the options by which the list was chosen */
};

struct follow_group;

struct follow_reader {
    struct http_request *request;
    const struct follow_ops *ops;
    void *list;
    struct change_log *log;
    struct follow_filter filter;
    uint32_t part;
    uint64_t born;
    enum problem absent;
    const char *absence;
    char name[LIST_NAME_SIZE];
    bool is_sse;

    /* The place. */
    struct change_cursor cursor;
    struct change_cursor walk; /* over all items, beside the cursor */
    enum {
        FOLLOW_WALKS_NOT,
        FOLLOW_REMEMBERS, /* what its client has, which came back with a token */
        FOLLOW_SWEEPS,    /* for what passes by time alone */
    } walking;
    uint64_t swept_to;    /* items up to this version are shown by a sweep; 0: by the cursor */
    uint64_t resumed_at;  /* version of the token; 0: it began at the beginning */
    uint64_t began_at;    /* version at which it knew what its client has */
    bool is_current;      /* the client was told that the list is whole */
    unsigned char *shown; /* bit S: the item with slot S is in the client's list */
    size_t shown_bytes;
    uint32_t digest;
    const char *reset_reason; /* to be told: the list begins again; static */

    /* What is sent. */
    struct parley_buffer text, item;
    size_t offset; /* of text, which is sent up to there */
    bool is_open_due, is_keepalive_due, is_sweep_due;
    bool is_waiting;        /* until it is woken */
    const char *end_reason; /* it is to end with parley.end; static */
    enum { FOLLOW_GOES_ON, FOLLOW_ENDS, FOLLOW_BREAKS } course;

    /* follow.c's. */
    struct follows *follows;
    struct follow_group *group;
    TAILQ_ENTRY(follow_reader) link; /* of its group */
    struct stream_access_entry access;
    char *agent; /* of its access */
    struct tally_entry *opening;
    const char *media_type;
    struct follow_token token;
    bool has_token;
    enum { FOLLOW_ASKED, FOLLOW_WAITS, FOLLOW_FLOWS, FOLLOW_REFUSED } phase;
    struct reactor_timer quiet; /* WAITS: it has waited long enough; FLOWS: nothing was sent */
    struct reactor_timer again; /* it looks further, or sweeps */
    int64_t moved_ms, sweep_at_ms;
};

/* Reads a token of the list of this name.  Returns: false: it is none. */
bool follow_token_read(const char *text, const char *name, struct follow_token *out);

/* Finds its place, once the list is whole.  `token` NULL: the beginning. */
void follow_reader_place(struct follow_reader *reader, const struct follow_token *token);

enum follow_found {
    FOLLOW_DRY,  /* there is nothing more now */
    FOLLOW_MORE, /* there may be more */
};
/* Puts the next events into the empty text, some or none. */
enum follow_found follow_reader_fill(struct follow_reader *reader);
void follow_reader_finish(struct follow_reader *reader);
