/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What all readers of one protocol share: one feed of what is new, and the ring of its events.
 * The feed is opened with the first reader that follows and closed when the last one has gone. */

#include <sys/queue.h>

#include "stream_groups.h"
#include "stream_pool.h"
#include "stream_ring.h"

struct stream_hub {
    struct jetstream *jetstream;
    struct stream_renderer renderer;
    struct stream_pool *pool;
    size_t ring_count_max, ring_bytes_max;

    struct ordered_consumer *feed; /* NULL: nobody follows */
    bool is_open;                  /* the feed stands, and the ring says what it covers */
    struct stream_ring ring;
    uint64_t newest;   /* the last sequence that the feed passed */
    char created[40];  /* of the stream, as last heard; "": never */
    char former[40];   /* of the one before it */
    char refusal[320]; /* that NATS lets nobody read it, and why; "": not heard yet */

    bool is_asking;     /* an answer about the stream is under way */
    bool is_stale;      /* … and it may be older than what stream_hub_renewed was told */
    bool is_checking;   /* … and it was asked for by stream_hub_check */
    uint64_t ask_count; /* how many were asked for */
    int64_t checked_ms;

    /* A cursor is in one of them, or parked in a group. */
    struct stream_cursors asking;   /* it waits for an answer about the stream */
    struct stream_cursors waiting;  /* its reader has nothing to send */
    struct stream_cursors fetching; /* … and its own feed will tell it */
    struct stream_cursors busy;
    struct stream_groups groups; /* … and it has passed all that there is */
    uint64_t held_count;         /* so often was an event held against a group */
    size_t live_count;
};

/* Owns: jetstream, schema, channel and pool are borrowed. */
void stream_hub_init(struct stream_hub *hub, struct jetstream *jetstream,
                     const struct parley_schema *schema, const struct channel *channel,
                     struct stream_pool *pool, size_t ring_count_max, size_t ring_bytes_max);
/* All cursors have gone, and no answer comes any more: jetstream must be destroyed, or the process
 * ended, before the reactor's next turn. */
void stream_hub_finish(struct stream_hub *hub);

const struct channel *stream_hub_channel(const struct stream_hub *hub);

/* Asks about the stream for a cursor of the list `asking`: with a question that is sent from now
 * on, never with one under way, whose answer may be older than the reader's request.
 * Returns: false: it cannot be asked now. */
bool stream_hub_ask(struct stream_hub *hub, struct stream_cursor *cursor);

/* Asks whether the stream is still the one that is read, unless that was asked lately. */
void stream_hub_check(struct stream_hub *hub, int64_t now_ms);

/* The stream was made anew, as was heard elsewhere: asks at once. */
void stream_hub_renewed(struct stream_hub *hub);

/* Keeps why NATS refuses to have the stream read. */
void stream_hub_note_refusal(struct stream_hub *hub, const char *error);

/* Counts one more, one less cursor that follows. */
enum parley_status stream_hub_join(struct stream_hub *hub) PARLEY_MUST_CHECK;
void stream_hub_leave(struct stream_hub *hub);

/* A feed is there, but it is not known yet from where on. */
static inline bool stream_hub_is_opening(const struct stream_hub *hub) {
    return hub->feed != NULL && !hub->is_open;
}
