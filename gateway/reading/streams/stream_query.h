/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The query of a reader: the options of docs/api.md#reading and resume tokens. It knows neither
 * HTTP nor NATS, and reads no clock. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/bytes.h>
#include <parley/message.h>

enum stream_since {
    STREAM_SINCE_NOW,
    STREAM_SINCE_ALL,
    STREAM_SINCE_SEQUENCE,
    STREAM_SINCE_TIME, /* durations too */
    STREAM_SINCE_TOKEN,
};

/* First the filters of which a message has one value or none. */
enum stream_filter {
    STREAM_FILTER_TYPE,
    STREAM_FILTER_LANE,
    STREAM_FILTER_SENDER,
    STREAM_FILTER_THREAD,
    STREAM_FILTER_DOMAIN,
    STREAM_FILTER_PRIORITY,
    STREAM_FILTER_AGENT,
    STREAM_FILTER_RECEIVER, /* one of its receivers */
    STREAM_FILTER_FOR,      /* the same, or the message is for all */
    STREAM_FILTER_READER,   /* no option: the one agent whose private messages the reader gets */
    STREAM_FILTER_COUNT,
    STREAM_OPTION_COUNT = STREAM_FILTER_READER,
    STREAM_FACT_COUNT = STREAM_FILTER_RECEIVER,
};

struct stream_query {
    enum stream_since since;
    uint64_t sequence;   /* STREAM_SINCE_SEQUENCE: inclusive */
    int64_t time_ns;     /* STREAM_SINCE_TIME: Unix time, inclusive */
    bool is_future;      /* STREAM_SINCE_TIME: it is in the future */
    const char *token;   /* STREAM_SINCE_TOKEN: a valid one */
    bool is_ending;      /* follow=false */
    bool is_bare;        /* envelope=none */
    bool is_reviewed;    /* reviewed=true: also what people approve, when they do */
    uint64_t limit;      /* UINT64_MAX: none */
    unsigned filter_set; /* a bit for each filter that is set */
    const char
        *filters[STREAM_FILTER_COUNT]; /* lists with commas (the reader: one name); NULL: all */
};

enum stream_query_result {
    STREAM_QUERY_SET,
    STREAM_QUERY_IGNORED, /* an option of other addresses */
    STREAM_QUERY_UNKNOWN,
    STREAM_QUERY_INVALID, /* not a valid value */
};

/* The names of all options, for an error text; ends with NULL. */
extern const char *const stream_query_names[];

/* Whether readers of `protocol` have a use for the option (NULL: readers of all protocols); the
 * filters that it leaves out match nothing there. */
bool stream_query_concerns(const char *name, const struct parley_protocol *protocol);
/* Whether readers of refused messages have a use for it. */
bool stream_query_concerns_refused(const char *name);
/* Whether it selects messages by their content. */
bool stream_query_is_filter(const char *name);
/* The option's line in documents.  Returns: NULL when there is no such option. */
const struct parley_option_help *stream_query_help(const char *name);

/* An empty query: everything from now on. */
void stream_query_init(struct stream_query *query);

/* Sets an option by its name.  Owns: the query borrows `value`.  `now_ns`: Unix time, for
 * durations.  `out_wants`: which values are valid, for STREAM_QUERY_INVALID. */
enum stream_query_result stream_query_set(struct stream_query *query, const char *name,
                                          const char *value, int64_t now_ns,
                                          const char **out_wants);

/* Sets the value of the Last-Event-ID header, which takes precedence over `since`.  Owns: as above.
 */
enum stream_query_result stream_query_set_last_event(struct stream_query *query, const char *value,
                                                     const char **out_wants);

/* Owns: the query borrows `list`. */
static inline void stream_query_filter(struct stream_query *query, enum stream_filter filter,
                                       const char *list) {
    query->filters[filter] = list;
    query->filter_set |= 1u << filter;
}

/* Returns the first item of a comma-separated list, and moves the list on; to NULL after the last.
 */
struct parley_bytes stream_list_next(const char **list);
/* Whether `value` is an item of the comma-separated `list`, byte for byte. */
bool stream_list_has(const char *list, struct parley_bytes value);
/* The same, ignoring the case of A to Z. */
bool stream_list_has_caseless(const char *list, struct parley_bytes value);

/* Room for one stream's part of a resume token: a NATS name, a time, "ahead", a number, and a NUL.
 */
#define STREAM_TOKEN_MAX 352

/* One stream's part of a resume token: STREAM:<created>:<sequence>, or, of a reader that waits
 * for a sequence after the next one, STREAM:<created>:ahead:<sequence>; of one that has got what
 * the next message approves, and not that message itself, STREAM:<created>:reviewed:<sequence>. */
struct stream_token {
    struct parley_bytes stream;
    struct parley_bytes created; /* of the stream, RFC 3339 */
    uint64_t sequence;           /* the last one that the reader has; 0: none */
    bool
        is_ahead; /* the reader has not got the messages up to there, for it did not ask for them */
    bool is_reviewed; /* it has got what the next message approves */
};

/* What precedes its sequence: "ahead:", "reviewed:" or "". */
static inline const char *stream_token_mark(const struct stream_token *token) {
    return token->is_ahead ? "ahead:" : token->is_reviewed ? "reviewed:" : "";
}

/* Finds the part of `stream`.  Owns: out borrows from `text`.
 * Returns: false when there is none. */
bool stream_token_find(const char *text, const char *stream, struct stream_token *out);

/* The place of a message: STREAM:SEQUENCE, `created` then empty, or the resume token of one stream.
 * Owns: out borrows from `text`. */
bool stream_place_parse(const char *text, struct stream_token *out);

/* An RFC 3339 date-time as Unix time in nanoseconds, cut to what 64 bits hold from 1970 on. A
 * blank before the offset counts as a `+` that was not percent-encoded. */
bool stream_time_parse(struct parley_bytes text, int64_t *out_ns);
