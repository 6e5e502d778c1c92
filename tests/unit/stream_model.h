/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A model of JetStream for cursors and their hub (a stream whose messages appear and vanish, and a
 * server that answers when it is told to), and readers that hold what they get against it. */

#include <stdbool.h>

#include "stream_cursor.h"

enum {
    MESSAGES_MAX = 4096,
    READERS_MAX = 12,
    AHEAD_BYTES_MAX = 1024 * 1024, /* as stream_pool.c shares */
    FEEDS_MAX = 64,
    ASKS_MAX = 8,
    POOL_BYTES = 192 * 1024,
};

struct ordered_consumer {
    struct jetstream *server;
    struct ordered_consumer_events events;
    enum ordered_mode mode;
    bool is_used, is_open;
    uint64_t next;
    size_t pulled, pulled_bytes;
    bool has_come; /* something of what was pulled */
};

struct ask {
    jetstream_info_fn *done;
    void *context;
};

struct jetstream {
    unsigned seed;
    char created[40];
    bool is_there[MESSAGES_MAX]; /* by sequence; a message is stored at its sequence, in ns */
    uint64_t first, last;
    size_t payload_size;
    struct ordered_consumer feeds[FEEDS_MAX];
    struct ask asks[ASKS_MAX];
    size_t ask_count;
    /* A stream that holds something else too: one message in three is of the hub's subjects. */
    bool is_shared;
    uint64_t lag;      /* what the member of the cluster that serves feeds does not have yet */
    size_t feed_count; /* that were opened */
    struct rest_ask {
        jetstream_held_fn *done; /* NULL: nothing is asked */
        void *context;
        uint64_t from;
    } rest;
    char payload[32768];
    unsigned notice_every; /* each such message announces an approval; 0: none */
    bool makes_no_feed;    /* NATS does not answer who wants a consumer */
};

struct reader {
    struct jetstream *server;
    struct stream_query query;
    struct stream_cursor cursor;
    bool is_used, is_ready, is_done, is_refused;
    bool is_woken;         /* it has been told, or has not asked yet */
    uint64_t at;           /* what it has to get next; 0: not known yet */
    uint64_t silent_until; /* what may be missing without a word */
    uint64_t end;
    size_t event_count, gap_count, restart_count;
    uint64_t given; /* the announcement of what was approved last */
    size_t approved_count;
    char token[STREAM_TOKEN_MAX];
};

struct world {
    struct jetstream server;
    struct parley_schema *schema;
    struct reactor *reactor;
    struct stream_pool pool;
    struct stream_hub hub;
    struct reader readers[READERS_MAX];
};

unsigned dice(struct jetstream *server, unsigned sides);
void publish(struct jetstream *server, size_t count);
void remove_message(struct jetstream *server, uint64_t sequence);
void answer_ask(struct jetstream *server);
/* What comes on the hub's subjects from where it was asked about. */
void answer_rest(struct jetstream *server, bool is_known);
/* One thing that the server does for a feed.  Returns: whether there was anything. */
bool serve_feed(struct ordered_consumer *feed);
size_t used_feeds(const struct jetstream *server);
void open_reader(struct reader *reader, struct jetstream *server, struct stream_hub *hub);
void close_reader(struct reader *reader);
/* It leaves, and comes back with its token. */
void reopen_reader(struct reader *reader, struct stream_hub *hub);
/* Whether the message at that place announces an approval, and that is true. */
bool is_approval(const struct jetstream *server, uint64_t sequence);
/* One question about reviews, as is_approval says.  `is_known`: or it is not answered. */
void answer_review(const struct jetstream *server, bool is_known);
/* What failed is asked again. */
void retry_reviews(struct world *world);
/* The messages from `first` to `last` are not there. */
void assert_gone(const struct reader *reader, uint64_t first, uint64_t last);
void read_some(struct reader *reader, size_t count);
struct world *make_world(unsigned seed, size_t ring_count, size_t payload_size);
void free_world(struct world *world);
/* Until nothing happens any more, everybody reading all there is. */
void settle(struct world *world);
struct reader *add_reader(struct world *world, const char *since);
