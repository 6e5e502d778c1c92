/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fetches stored messages by their places, one after the other, and writes each as an item with its
 * data. The index is not asked. Threads: the reactor's. */

#include "index_item.h"
#include "index_message.h"
#include "jetstream.h"

/* What a worker has for it. */
struct index_fetcher {
    struct jetstream *jetstream;
    struct index_reader *readers; /* of parley_protocols */
};

enum index_fetched {
    INDEX_FETCHED,       /* all, but those that are gone or may not be seen */
    INDEX_FETCH_FULL,    /* `at` places, and more did not fit */
    INDEX_FETCH_FAILED,  /* NATS does not answer */
    INDEX_FETCH_NO_ROOM, /* out of memory */
};

/* Owns: the caller embeds it, zeroed but for what it sets, and keeps all until `done`. */
struct index_fetch {
    struct index_fetcher *fetcher;
    const struct index_places *places;
    uint64_t readable; /* as of index_message_is_visible */
    const char *own;
    struct parley_buffer *out;
    bool is_lines;
    /* As index_view.add. */
    enum parley_status (*add)(struct parley_message *message, struct parley_buffer *out);
    bool is_open; /* one item: nothing before it, and its brace is not closed */
    void (*done)(struct index_fetch *fetch, enum index_fetched result);

    size_t at;    /* places that were looked at */
    size_t count; /* items that were written */

    struct jetstream_request *request; /* private */
};

/* `schemas`: of parley_protocols.  Owns: borrows all. */
enum parley_status index_fetcher_init(struct index_fetcher *fetcher, struct jetstream *jetstream,
                                      struct parley_schema *const *schemas,
                                      const struct channel *channels) PARLEY_MUST_CHECK;
/* Zeroed is allowed. */
void index_fetcher_finish(struct index_fetcher *fetcher);

/* `done` is called now or later, once, unless it is cancelled. */
void index_fetch_begin(struct index_fetch *fetch);
/* Harmless when it is over. */
void index_fetch_cancel(struct index_fetch *fetch);
