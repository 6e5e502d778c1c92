/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by all readers of one stream: one ordered consumer that follows the stream, and the ring
 * of its events. The consumer is opened with the first reader that follows and closed with the
 * last. */

#include <sys/queue.h>

#include "core_subscription.h"
#include "stream_approvals.h"
#include "stream_groups.h"
#include "stream_pool.h"
#include "stream_ring.h"

enum { STREAM_HUB_TOKEN_MAX = JETSTREAM_STREAM_MAX + 32 };

/* The events of which a hub notifies its members. */
enum stream_notice {
    STREAM_HUB_OPENED,   /* the ring says from where on it covers the stream */
    STREAM_HUB_STORED,   /* the ring has a new event */
    STREAM_HUB_REFUSED,  /* NATS does not permit reading the stream: hub->refusal */
    STREAM_HUB_CHECKED,  /* the server has answered about the stream, which is still the same */
    STREAM_HUB_REVIEWED, /* more is known of what people approved */
    STREAM_HUB_UNPARK,   /* a parked member must leave its group, to the place where the hub is */
};

struct stream_member_ops {
    void (*notice)(struct stream_member *member, enum stream_notice notice);
    /* The answer to the question of stream_hub_ask. */
    void (*informed)(struct stream_member *member, const struct jetstream_stream_info *info);
    /* It is parked, and `event` passes the filters of its group. */
    void (*matched)(struct stream_member *member, const struct stream_event *event);
    /* The stream was created again. */
    void (*restarted)(struct stream_member *member, const struct jetstream_stream_info *info);
    /* The messages from `sequence` to `newest` are gone, and others will get their sequences. */
    void (*rewound)(struct stream_member *member, uint64_t sequence, uint64_t newest);
};

/* A reader's place in the hub.  Owns: its owner embeds it. Each callback may take its own member
 * out of its list, or end it, but no other member of the hub. */
struct stream_member {
    const struct stream_member_ops *ops;
    LIST_ENTRY(stream_member) link; /* in one of the hub's lists, or a group's */
    uint64_t awaited_reply_ask;
};

struct stream_hub {
    struct jetstream *jetstream;
    struct channel channel; /* that of the protocol, with the stream that this hub reads */
    const struct jetstream_place *place; /* where that is; NULL: the channel's stream, always */
    uint64_t readings;                   /* its bit in stream_access_entry.reads */
    char token[STREAM_HUB_TOKEN_MAX];    /* for channel.token */
    struct stream_renderer renderer;
    struct stream_approvals approvals;
    struct stream_pool *pool;
    size_t ring_count_max, ring_bytes_max;

    struct ordered_consumer *feed;  /* NULL: no reader follows */
    struct core_subscription *core; /* instead of it, if it reads no past; NULL: likewise */
    bool is_open;                   /* the feed is opened, and the ring knows its range */
    struct stream_ring ring;
    uint64_t newest;   /* the last sequence of the feed */
    char created[40];  /* of the stream, as last read; "": never */
    char former[40];   /* of the one before it */
    char refusal[320]; /* why NATS does not permit reading it; "": not known */

    bool is_asking;     /* a question about the stream is pending */
    bool is_stale;      /* … and its answer may be older than the last stream_hub_renewed */
    bool is_checking;   /* … and stream_hub_check asked it */
    uint64_t ask_count; /* questions so far */
    int64_t checked_ms;

    /* Each member is in one of these lists, or parked in a group. */
    struct stream_members asking;   /* until the answer about the stream */
    struct stream_members waiting;  /* their readers have nothing to send */
    struct stream_members fetching; /* … and their own feeds will wake them */
    struct stream_members busy;
    struct stream_groups groups; /* of members that wait, and have passed everything */
    uint64_t compared_count;     /* how often an event was compared with a group */
    size_t live_count;
    uint64_t event_count; /* that its readers took */
};

/* `schema`: as stream_renderer_init.  Owns: borrows jetstream, schema, channel and pool. */
void stream_hub_init(struct stream_hub *hub, struct jetstream *jetstream,
                     const struct parley_schema *schema, const struct channel *channel,
                     struct stream_pool *pool, size_t ring_count_max, size_t ring_bytes_max);
/* All members must have left. The jetstream must be destroyed, or the process ended, before the
 * reactor's next turn: no further answer may come. */
void stream_hub_finish(struct stream_hub *hub);

/* It reads the stream of `place` (borrowed) where a reader has that bit in its `reads`. Without
 * this it reads the channel's stream, for all. */
void stream_hub_set_place(struct stream_hub *hub, const struct jetstream_place *place,
                          uint64_t reading);
/* Looks again what its place is. No member may be in it. */
void stream_hub_look(struct stream_hub *hub);
/* There is a stream for it to read. */
static inline bool stream_hub_is_used(const struct stream_hub *hub) {
    return hub->place == NULL || hub->place->families != 0;
}
/* Its stream takes no consumer of parley: it reads messages published from now on, and counts them
 * itself. */
static inline bool stream_hub_is_core(const struct stream_hub *hub) {
    return hub->place != NULL && hub->place->families != 0 &&
           !jetstream_place_takes_consumers(hub->place);
}
/* Notes why messages lost by a reader that was too slow cannot be read again. */
void stream_hub_note_overrun(struct stream_hub *hub);
/* The subjects that it reads of a stream that holds something else too; NULL: all of it. */
static inline const char *stream_hub_filter(const struct stream_hub *hub) {
    return hub->place != NULL && hub->place->has_others ? hub->channel.subjects : NULL;
}

/* The same place in its stream, for a feed of the messages that it reads there. */
static inline struct jetstream_start stream_hub_begin(const struct stream_hub *hub,
                                                      struct jetstream_start start) {
    start.filter = stream_hub_filter(hub);
    start.doubts = start.filter == NULL ? JETSTREAM_DOUBTS_HELD : JETSTREAM_DOUBTS_NONE;
    return start;
}

const struct channel *stream_hub_channel(const struct stream_hub *hub);

/* Notifies those that wait of STREAM_HUB_REVIEWED. */
void stream_hub_notify_reviewed(struct stream_hub *hub);

/* Asks about the stream for a member of the list `asking`, with a question that is sent from now
 * on, not with a pending one, whose answer may be older than the reader's request. Returns: false:
 * the server cannot be asked now. */
bool stream_hub_ask(struct stream_hub *hub, struct stream_member *member);

/* Asks whether the stream is still the same, unless that was asked a short time ago. */
void stream_hub_check(struct stream_hub *hub, int64_t now_ms);

/* The stream was created again, as another module noticed: asks at once. */
void stream_hub_renewed(struct stream_hub *hub);

/* Keeps the reason why NATS does not permit reading the stream. */
void stream_hub_note_refusal(struct stream_hub *hub, const char *error);

/* One more, one less member follows. */
enum parley_status stream_hub_join(struct stream_hub *hub) PARLEY_MUST_CHECK;
void stream_hub_leave(struct stream_hub *hub);

/* The feed exists, but where it begins is not known yet. */
static inline bool stream_hub_is_opening(const struct stream_hub *hub) {
    return hub->feed != NULL && !hub->is_open;
}
