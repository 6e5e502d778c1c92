/* SPDX-License-Identifier: Apache-2.0 */

/* The live side of one protocol. Questions about the stream are answered in batches: of a thousand
 * readers that come at once, the first is answered alone and the others together.
 *
 * A stream that is deleted and made anew counts from 1 again, which a feed cannot see: it would
 * wait for a sequence that is years away. So every answer about the stream is looked at, and a new
 * time of creation begins everything anew. It deliberately knows nothing of requests: it tells
 * cursors, and they tell their readers. */

#include "stream_hub.h"

#include "stream_cursor.h"

#include <stdio.h>

/* Not much shorter than the readers' keepalive, which is what asks for checks. */
enum { CHECK_PERIOD_MS = 10000 };

void stream_hub_init(struct stream_hub *hub, struct jetstream *jetstream,
                     const struct parley_schema *schema, const struct channel *channel,
                     struct stream_pool *pool, size_t ring_count_max, size_t ring_bytes_max) {
    *hub = (struct stream_hub){.jetstream = jetstream,
                               .pool = pool,
                               .ring_count_max = ring_count_max,
                               .ring_bytes_max = ring_bytes_max,
                               .ring.low = UINT64_MAX};
    stream_renderer_init(&hub->renderer, schema, channel);
    LIST_INIT(&hub->asking);
    LIST_INIT(&hub->waiting);
    LIST_INIT(&hub->fetching);
    stream_groups_init(&hub->groups);
    LIST_INIT(&hub->busy);
}

static void close_feed(struct stream_hub *hub) {
    if (hub->feed != NULL) {
        ordered_consumer_close(hub->feed);
        hub->feed = NULL;
    }
    hub->is_open = false;
    stream_ring_finish(&hub->ring);
    hub->ring.low = UINT64_MAX;
}

void stream_hub_finish(struct stream_hub *hub) {
    close_feed(hub);
    stream_renderer_finish(&hub->renderer);
    stream_groups_finish(&hub->groups);
}

const struct channel *stream_hub_channel(const struct stream_hub *hub) {
    return hub->renderer.channel;
}

/* ---- telling cursors ---- */

/* Tells every cursor of a list. What is told may take that cursor out of the list or end it, but
 * no other one of this hub. */
static void tell(struct stream_cursors *list, void (*what)(struct stream_cursor *cursor)) {
    struct stream_cursor *next;
    for (struct stream_cursor *cursor = LIST_FIRST(list); cursor != NULL; cursor = next) {
        next = LIST_NEXT(cursor, link);
        what(cursor);
    }
}

/* ---- the parked ones ---- */

/* Those who have passed what is before an event, which their filters let through. */
static void tell_group(void *context, struct stream_group *group) {
    const struct stream_event *event = context;
    struct stream_cursor *next;
    for (struct stream_cursor *cursor = LIST_FIRST(&group->parked); cursor != NULL; cursor = next) {
        next = LIST_NEXT(cursor, link);
        if (cursor->next <= event->sequence) {
            stream_cursor_called(cursor, event);
        }
    }
}

static void unpark_group(void *context, struct stream_group *group) {
    (void)context;
    tell(&group->parked, stream_cursor_unpark);
}

static void unpark_all(struct stream_hub *hub) {
    stream_groups_each(&hub->groups, unpark_group, NULL);
}

/* ---- the feed ---- */

static void feed_opened(void *context, uint64_t next_sequence) {
    struct stream_hub *hub = context;
    hub->is_open = true;
    hub->newest = next_sequence - 1;
    stream_ring_restart(&hub->ring, next_sequence);
    tell(&hub->waiting, stream_cursor_hub_opened);
    tell(&hub->fetching, stream_cursor_hub_opened);
    tell(&hub->busy, stream_cursor_hub_opened);
}

/* A NATS that lost its power may have lost its newest messages too, and counts again from where it
 * is. Those who have read the lost ones go back with it, or they would take what is new now for
 * what they have. */
static void rewind_to(struct stream_hub *hub, uint64_t sequence) {
    stream_ring_restart(&hub->ring, sequence);
    unpark_all(hub);
    struct stream_cursors *lists[] = {&hub->busy, &hub->waiting, &hub->fetching};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct stream_cursor *cursor;
        LIST_FOREACH(cursor, lists[i], link) {
            stream_cursor_rewind(cursor, sequence, hub->newest);
        }
    }
}

static void feed_stored(void *context, const struct jetstream_stored *stored) {
    struct stream_hub *hub = context;
    uint64_t sequence = stored->sequence;
    if (sequence <= hub->newest) {
        rewind_to(hub, sequence);
    }
    struct stream_event *event = stream_render(&hub->renderer, hub->created, stored);
    if (event == NULL || sequence != hub->newest + 1) {
        unpark_all(hub); /* a hole, of which all are to know */
    }
    hub->newest = sequence;
    if (event != NULL) {
        stream_ring_push(&hub->ring, event);
        hub->held_count += stream_groups_match(&hub->groups, event, tell_group, event);
    } else {
        /* Without memory for it the ring has a hole: readers fetch what lies before its new
         * beginning from the stream. */
        stream_ring_restart(&hub->ring, sequence + 1);
    }
    tell(&hub->waiting, stream_cursor_hub_stored);
}

void stream_hub_note_refusal(struct stream_hub *hub, const char *error) {
    snprintf(hub->refusal, sizeof hub->refusal,
             "NATS does not let the stream %.64s be read: %.160s", stream_hub_channel(hub)->stream,
             error);
}

static void feed_refused(void *context, const char *error) {
    struct stream_hub *hub = context;
    stream_hub_note_refusal(hub, error);
    unpark_all(hub);
    close_feed(hub);
    /* The busy ones first: a waiting one that is told becomes busy. */
    tell(&hub->busy, stream_cursor_refused);
    tell(&hub->waiting, stream_cursor_refused);
    tell(&hub->fetching, stream_cursor_refused);
}

static enum parley_status open_feed(struct stream_hub *hub) {
    const struct ordered_consumer_events events = {
        .opened = feed_opened, .stored = feed_stored, .refused = feed_refused, .context = hub};
    PARLEY_TRY(stream_ring_init(&hub->ring, hub->ring_count_max, hub->ring_bytes_max));
    enum parley_status status = ordered_consumer_open(
        hub->jetstream, stream_hub_channel(hub)->stream,
        (struct jetstream_start){.from = JETSTREAM_FROM_NEW}, ORDERED_FOLLOW, &events, &hub->feed);
    if (status != PARLEY_OK) {
        hub->feed = NULL;
        close_feed(hub);
    }
    return status;
}

enum parley_status stream_hub_join(struct stream_hub *hub) {
    if (hub->feed == NULL) {
        PARLEY_TRY(open_feed(hub));
    }
    hub->live_count++;
    return PARLEY_OK;
}

void stream_hub_leave(struct stream_hub *hub) {
    if (--hub->live_count == 0) {
        close_feed(hub);
    }
}

/* ---- questions about the stream ---- */

static void informed(void *context, const struct jetstream_stream_info *info);

static bool send_ask(struct stream_hub *hub) {
    hub->is_asking =
        jetstream_stream_ask(hub->jetstream, stream_hub_channel(hub)->stream, informed, hub);
    hub->ask_count += hub->is_asking ? 1 : 0;
    return hub->is_asking;
}

bool stream_hub_ask(struct stream_hub *hub, struct stream_cursor *cursor) {
    cursor->awaited_ask = hub->ask_count + 1;
    return hub->is_asking || send_ask(hub);
}

void stream_hub_check(struct stream_hub *hub, int64_t now_ms) {
    if (!hub->is_asking && now_ms - hub->checked_ms >= CHECK_PERIOD_MS) {
        hub->checked_ms = now_ms;
        hub->is_checking = send_ask(hub);
    }
}

void stream_hub_renewed(struct stream_hub *hub) {
    if (hub->created[0] == '\0') {
        return; /* nobody has read it yet */
    }
    hub->is_stale = hub->is_asking;
    if (!hub->is_asking) {
        hub->is_checking = send_ask(hub);
    }
}

/* The stream was made anew: its readers begin at its first message. */
static void restart(struct stream_hub *hub, const struct jetstream_stream_info *info) {
    unpark_all(hub);
    close_feed(hub);
    snprintf(hub->former, sizeof hub->former, "%s", hub->created);
    snprintf(hub->created, sizeof hub->created, "%s", info->created);
    if (hub->live_count > 0) {
        open_feed(hub); /* without it every reader reads from the stream by itself */
    }
    /* The busy ones first: a waiting one that is told becomes busy. */
    struct stream_cursors *lists[] = {&hub->busy, &hub->waiting, &hub->fetching};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct stream_cursor *next;
        for (struct stream_cursor *cursor = LIST_FIRST(lists[i]); cursor != NULL; cursor = next) {
            next = LIST_NEXT(cursor, link);
            stream_cursor_restart(cursor, info);
        }
    }
}

static void inform(struct stream_hub *hub, const struct jetstream_stream_info *info) {
    struct stream_cursor *next;
    for (struct stream_cursor *cursor = LIST_FIRST(&hub->asking); cursor != NULL; cursor = next) {
        next = LIST_NEXT(cursor, link);
        if (cursor->awaited_ask <= hub->ask_count || !info->is_known) {
            stream_cursor_informed(cursor, info);
        }
    }
}

static void informed(void *context, const struct jetstream_stream_info *info) {
    struct stream_hub *hub = context;
    bool was_check = hub->is_checking;
    hub->is_asking = hub->is_checking = false;
    if (info->is_known && strcmp(hub->created, info->created) != 0) {
        restart(hub, info);
    } else if (info->is_known && was_check) {
        tell(&hub->waiting, stream_cursor_checked);
        tell(&hub->fetching, stream_cursor_checked);
    }
    inform(hub, info);
    if (hub->is_stale) {
        hub->is_stale = false;
        stream_hub_renewed(hub);
    }
    if (!LIST_EMPTY(&hub->asking) && !hub->is_asking && !send_ask(hub)) {
        inform(hub, &(struct jetstream_stream_info){.is_known = false});
    }
}
