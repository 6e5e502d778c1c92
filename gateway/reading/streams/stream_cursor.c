/* SPDX-License-Identifier: Apache-2.0 */

/* See stream_cursor.h. A cursor asks the server about the stream, to know where "now" is and which
 * messages are gone; finds its first sequence (stream_start.c; only a time in the middle needs a
 * feed for that); joins the hub if it follows; and is ready. From then on peek returns the next
 * event.
 *
 * Its feed has no filter in NATS, so that a jump of the sequence always means that messages are
 * gone, which the reader is told; but in a stream that has other messages too it has one, and only
 * messages before the first one count as gone. What the feed delivers is rendered ahead of the
 * client by the cursor's share of the pool, or one event; when the pool is full, a cursor whose
 * client does not read gives its queue back and fetches it again when the client does. */

#include "stream_cursor.h"

#include "stream_start.h"

#include <assert.h>
#include <stdio.h>

enum {
    AHEAD_COUNT = 2048,
    BYTES_FIRST = 16 * 1024,
    LARGE_BYTES = 32 * 1024, /* a larger event needs room in the pool first */
};

/* ---- its own feed ---- */

static void close_feed(struct stream_cursor *cursor) {
    if (cursor->feed == NULL && cursor->waiter.bytes == 0) {
        return;
    }
    stream_pool_settle(cursor->hub->pool, &cursor->waiter);
    if (cursor->feed != NULL) {
        ordered_consumer_close(cursor->feed);
        cursor->feed = NULL;
    }
    cursor->is_pulling = cursor->is_fed = false;
}

static void drop_queue(struct stream_cursor *cursor) {
    stream_queue_drop(&cursor->queue);
    cursor->queue_next = cursor->next;
}

static void drop_approved(struct stream_cursor *cursor) {
    stream_event_unref(cursor->approved);
    cursor->approved = NULL;
}

/* Sequences count other messages from now on. */
static void forget_messages(struct stream_cursor *cursor) {
    drop_approved(cursor);
    cursor->awaited = cursor->told = cursor->settled = cursor->given = 0;
}

/* The pool is full. */
static void give_back_queue(struct stream_holder *holder) {
    struct stream_cursor *cursor = OWNER_OF(holder, struct stream_cursor, queue.holder);
    close_feed(cursor);
    drop_queue(cursor);
}

/* Whether the ring has the events needed after the queue, or will have them. */
static bool is_within_ring(const struct stream_cursor *cursor) {
    return cursor->is_live && (stream_hub_is_opening(cursor->hub) ||
                               stream_ring_covers(&cursor->hub->ring, cursor->queue_next));
}

/* ---- where it waits ---- */

static struct stream_members *list_of(const struct stream_cursor *cursor, enum stream_place place) {
    struct stream_hub *hub = cursor->hub;
    struct stream_members *const lists[] = {[STREAM_ASKING] = &hub->asking,
                                            [STREAM_BUSY] = &hub->busy,
                                            [STREAM_WAITING] = &hub->waiting,
                                            [STREAM_FETCHING] = &hub->fetching};
    return place == STREAM_PARKED ? &cursor->group->parked : lists[place];
}

static void set_place(struct stream_cursor *cursor, enum stream_place place) {
    assert(place != STREAM_ASKING);
    assert(cursor->place != STREAM_ASKING || place == STREAM_BUSY);
    LIST_REMOVE(&cursor->member, link);
    LIST_INSERT_HEAD(list_of(cursor, place), &cursor->member, link);
    cursor->place = place;
}

static bool is_waiting(const struct stream_cursor *cursor) {
    return cursor->place >= STREAM_WAITING;
}

/* It needs only the next events, and its group knows its filters. */
static bool can_park(const struct stream_cursor *cursor) {
    const struct stream_hub *hub = cursor->hub;
    return cursor->group != NULL && cursor->stage == STREAM_READY && hub->is_open &&
           cursor->feed == NULL && cursor->queue.first == NULL && !cursor->has_gap &&
           cursor->failure == STREAM_SOUND && cursor->next > hub->newest &&
           stream_ring_covers(&hub->ring, cursor->next);
}

/* Puts a waiting cursor where it is woken, and only as often as necessary. */
static void choose_place(struct stream_cursor *cursor) {
    set_place(cursor, can_park(cursor)                                    ? STREAM_PARKED
                      : cursor->feed != NULL || cursor->waiter.is_waiting ? STREAM_FETCHING
                                                                          : STREAM_WAITING);
}

static void end_wait(struct stream_cursor *cursor) {
    set_place(cursor, STREAM_BUSY);
    cursor->events->more(cursor);
}

static void wake_if_waiting(struct stream_cursor *cursor) {
    struct stream_event *event;
    if (!is_waiting(cursor)) {
        return;
    }
    if (stream_cursor_peek(cursor, &event) != STREAM_NOTHING) {
        end_wait(cursor);
    } else {
        choose_place(cursor);
    }
}

static void become_ready(struct stream_cursor *cursor) {
    bool is_live_now = !cursor->is_live || !stream_hub_is_opening(cursor->hub);
    if (cursor->stage == STREAM_PLACED && is_live_now) {
        cursor->stage = STREAM_READY;
        cursor->events->ready(cursor);
    }
}

static const char *stream_of(const struct stream_cursor *cursor) {
    return channel_token(stream_hub_channel(cursor->hub));
}

static void set_next(struct stream_cursor *cursor, uint64_t next) {
    cursor->next = cursor->queue_next = next > 0 ? next : 1;
    if (cursor->stage == STREAM_UNPLACED) {
        cursor->stage = STREAM_PLACED;
    }
}

/* Ends it, since it cannot continue without losing something. A refusal stays the reason. */
static void run_out_of_memory(struct stream_cursor *cursor) {
    if (cursor->failure == STREAM_SOUND) {
        cursor->failure = STREAM_OUT_OF_MEMORY;
    }
}

static void be_refused(struct stream_cursor *cursor) {
    close_feed(cursor);
    cursor->failure = STREAM_FORBIDDEN;
    if (cursor->stage == STREAM_READY) {
        wake_if_waiting(cursor);
    } else {
        cursor->events->failed(cursor);
    }
}

/* ---- its own feed, continued ---- */

static void feed_opened(void *context, uint64_t next_sequence) {
    struct stream_cursor *cursor = context;
    cursor->is_fed = true;
    if (cursor->stage == STREAM_UNPLACED) { /* it was opened by time */
        set_next(cursor, next_sequence);
        become_ready(cursor);
    }
}

static void feed_stored(void *context, const struct jetstream_stored *stored) {
    struct stream_cursor *cursor = context;
    cursor->is_quiet = false;
    if (stored->sequence < cursor->queue_next) {
        return;
    }
    struct stream_event *event =
        stream_render(&cursor->hub->renderer, cursor->hub->created, stored);
    if (event == NULL) {
        run_out_of_memory(cursor);
        close_feed(cursor);
        wake_if_waiting(cursor);
        return;
    }
    cursor->typical_bytes = event->size_bytes;
    cursor->queue_next = event->sequence + 1; /* first, since pushing may drop the queue */
    stream_queue_push(&cursor->queue, event);
    if (is_within_ring(cursor)) {
        close_feed(cursor);
    }
    wake_if_waiting(cursor);
}

static void refill(struct stream_cursor *cursor);

static void feed_pull_ended(void *context) {
    struct stream_cursor *cursor = context;
    cursor->is_pulling = false;
    stream_pool_settle(cursor->hub->pool, &cursor->waiter);
    refill(cursor);
}

/* It has all that its member of the cluster held. */
static void feed_current(void *context) {
    struct stream_cursor *cursor = context;
    const uint64_t last = cursor->query->is_ending ? cursor->end : cursor->past_end;
    const bool is_placed = cursor->stage != STREAM_UNPLACED;
    if (stream_hub_filter(cursor->hub) != NULL && is_placed && cursor->queue_next <= last) {
        stream_tail_ask(&cursor->rest, cursor->hub, cursor->queue_next);
    }
}

static void rest_known(struct stream_tail *rest, uint64_t first) {
    struct stream_cursor *cursor = OWNER_OF(rest, struct stream_cursor, rest);
    const uint64_t end = cursor->end;
    cursor->past_end = stream_tail_bound(rest, first, cursor->past_end);
    cursor->end = stream_tail_bound(rest, first, end);
    if (cursor->end == end && cursor->is_quiet) {
        cursor->is_quiet = false; /* what there is does not come: perhaps it does */
        close_feed(cursor);       /* from another member */
    }
    wake_if_waiting(cursor);
}

static void feed_refused(void *context, const char *error) {
    struct stream_cursor *cursor = context;
    stream_hub_note_refusal(cursor->hub, error);
    be_refused(cursor);
}

static void admitted(struct stream_waiter *waiter) {
    refill(OWNER_OF(waiter, struct stream_cursor, waiter));
}

static bool open_feed(struct stream_cursor *cursor, struct jetstream_start start) {
    const struct ordered_consumer_events events = {.opened = feed_opened,
                                                   .stored = feed_stored,
                                                   .pull_ended = feed_pull_ended,
                                                   .refused = feed_refused,
                                                   .current = feed_current,
                                                   .context = cursor};
    const char *stream = stream_hub_channel(cursor->hub)->stream;
    if (ordered_consumer_open(cursor->hub->jetstream, stream, stream_hub_begin(cursor->hub, start),
                              ORDERED_REPLAY, &events, &cursor->feed) != PARLEY_OK) {
        cursor->feed = NULL;
        return false;
    }
    cursor->is_quiet = false; /* of a check that was before it */
    return true;
}

/* Keeps the feed going while the cursor is behind the ring, and closes it when it is not. */
static void refill(struct stream_cursor *cursor) {
    if (cursor->queue_next > cursor->end || is_within_ring(cursor)) {
        close_feed(cursor);
        return;
    }
    if (stream_hub_is_core(cursor->hub)) {
        stream_hub_note_overrun(cursor->hub);
        cursor->failure = STREAM_FORBIDDEN;
        return;
    }
    size_t share = stream_pool_share(cursor->hub->pool);
    bool is_large = cursor->typical_bytes > LARGE_BYTES;
    if ((is_large && cursor->is_pulling) || cursor->failure != STREAM_SOUND ||
        cursor->queue.count * 2 > AHEAD_COUNT || cursor->queue.bytes * 2 > share) {
        return;
    }
    /* The first pull is small, since the size of events is not known. An event is up to half as
     * large again as its message: base64, the envelope. */
    size_t bytes = (cursor->typical_bytes > 0 ? share - cursor->queue.bytes : BYTES_FIRST) / 3 * 2;
    if (!stream_pool_admit(cursor->hub->pool, &cursor->waiter,
                           is_large ? cursor->typical_bytes : 0)) {
        return;
    }
    const struct jetstream_start start = {.from = JETSTREAM_FROM_SEQUENCE,
                                          .sequence = cursor->queue_next};
    if (cursor->feed == NULL && !open_feed(cursor, start)) {
        run_out_of_memory(cursor);
        return;
    }
    cursor->is_pulling = true;
    ordered_consumer_pull(cursor->feed, AHEAD_COUNT - cursor->queue.count, bytes);
}

/* ---- starting ---- */

static const struct stream_member_ops member_ops;

bool stream_cursor_start(struct stream_cursor *cursor, struct stream_hub *hub,
                         const struct stream_query *query,
                         const struct stream_cursor_events *events, void *reader) {
    *cursor = (struct stream_cursor){.hub = hub,
                                     .query = query,
                                     .events = events,
                                     .reader = reader,
                                     .member.ops = &member_ops,
                                     .end = UINT64_MAX,
                                     .waiter.admitted = admitted,
                                     .rest.known = rest_known};
    stream_queue_init(&cursor->queue, hub->pool, give_back_queue);
    LIST_INSERT_HEAD(&hub->asking, &cursor->member, link);
    /* So that a core subscription is known to the server once that has answered the question. */
    cursor->is_live =
        stream_hub_is_core(hub) && !query->is_ending && stream_hub_join(hub) == PARLEY_OK;
    if (!stream_hub_ask(hub, &cursor->member)) {
        stream_cursor_stop(cursor);
        return false;
    }
    return true;
}

void stream_cursor_stop(struct stream_cursor *cursor) {
    if (cursor->hub == NULL) {
        return;
    }
    stream_tail_forget(&cursor->rest);
    close_feed(cursor);
    drop_queue(cursor);
    drop_approved(cursor);
    LIST_REMOVE(&cursor->member, link);
    stream_groups_leave(cursor->group);
    if (cursor->is_live) {
        stream_hub_leave(cursor->hub);
    }
    cursor->hub = NULL;
}

static void set_gap(struct stream_cursor *cursor, uint64_t first, uint64_t last) {
    cursor->has_gap = true;
    cursor->gap_first = first;
    cursor->gap_last = last;
}

/* Continues at `sequence`; the messages before it are gone, which becomes a gap. */
static void jump_to(struct stream_cursor *cursor, uint64_t sequence) {
    uint64_t first = cursor->next, last = sequence - 1;
    if (first <= cursor->silent_until) {
        first = cursor->silent_until + 1;
    }
    if (last > cursor->end) {
        last = cursor->end;
    }
    if (first <= last) {
        set_gap(cursor, first, last);
    }
    cursor->next = sequence;
}

/* The next message of its subjects has this sequence. */
static void skip_to(struct stream_cursor *cursor, uint64_t sequence) {
    if (stream_hub_filter(cursor->hub) != NULL) {
        cursor->next = sequence; /* messages in between may be of others */
    } else {
        jump_to(cursor, sequence);
    }
}

/* Finds the messages that are gone already. They would show as a jump with the next message, but
 * that may come much later. */
static void find_first_gap(struct stream_cursor *cursor, const struct jetstream_stream_info *info) {
    bool is_by_time = cursor->query->since == STREAM_SINCE_TIME;
    if (stream_start_is_former(cursor->query, stream_of(cursor), info)) {
        set_gap(cursor, cursor->next, 0);
        set_next(cursor, info->first_sequence);
    } else if (is_by_time && !cursor->query->is_future && info->first_sequence > 1) {
        set_gap(cursor, 1, info->first_sequence - 1);
    } else if (cursor->next < info->first_sequence) {
        jump_to(cursor, info->first_sequence);
        cursor->queue_next = cursor->next;
    }
}

static void on_informed(struct stream_member *member, const struct jetstream_stream_info *info) {
    struct stream_cursor *cursor = OWNER_OF(member, struct stream_cursor, member);
    struct stream_hub *hub = cursor->hub;
    const struct stream_query *query = cursor->query;
    set_place(cursor, STREAM_BUSY);
    if (!cursor->is_live) {
        cursor->is_live = info->is_known && !query->is_ending && stream_hub_join(hub) == PARLEY_OK;
    }
    if (!info->is_known || (!cursor->is_live && !query->is_ending)) {
        cursor->events->failed(cursor);
        return;
    }
    cursor->group = cursor->is_live ? stream_groups_join(&hub->groups, query) : NULL;
    cursor->end = query->is_ending ? info->last_sequence : UINT64_MAX;
    cursor->past_end = info->last_sequence;
    cursor->silent_until = query->since == STREAM_SINCE_ALL ? info->last_sequence : 0;
    cursor->not_before_ns = query->since == STREAM_SINCE_TIME ? query->time_ns : 0;
    uint64_t next;
    if (stream_hub_is_core(hub)) {
        set_next(cursor, hub->newest + 1);
        become_ready(cursor);
        return;
    }
    if (stream_start_find(query, stream_of(cursor), info, &next)) {
        set_next(cursor, next);
        cursor->awaited =
            stream_start_is_awaited(query, stream_of(cursor), info, next) ? cursor->next : 0;
        cursor->settled = cursor->given =
            stream_start_reviewed(query, stream_of(cursor), info, cursor->next);
        find_first_gap(cursor, info);
        become_ready(cursor);
        return;
    }
    const struct jetstream_start start = {.from = JETSTREAM_FROM_TIME, .time_ns = query->time_ns};
    if (!open_feed(cursor, start)) {
        cursor->events->failed(cursor);
    }
}

/* ---- reading ---- */

/* The first event that is available from `next` on; NULL if none is. */
static struct stream_event *upcoming(struct stream_cursor *cursor) {
    const struct stream_ring *ring = &cursor->hub->ring;
    if (cursor->is_live && stream_ring_covers(ring, cursor->next)) {
        close_feed(cursor);
        drop_queue(cursor);
        return stream_ring_find(ring, cursor->next);
    }
    return cursor->queue.first;
}

static void pass(struct stream_cursor *cursor, const struct stream_event *event) {
    cursor->next = event->sequence + 1;
    if (cursor->queue.first == event) {
        stream_queue_pop(&cursor->queue);
    }
    if (cursor->queue.first == NULL && cursor->queue_next < cursor->next) {
        cursor->queue_next = cursor->next;
    }
}

static bool is_to_be_told(const struct stream_cursor *cursor, const struct stream_event *event) {
    return event->halt != NULL && cursor->told != event->sequence &&
           event->time_ns >= cursor->not_before_ns && stream_event_tells(event, cursor->query);
}

static bool may_approve(const struct stream_cursor *cursor, const struct stream_event *event) {
    return event->review != NULL && cursor->query->is_reviewed &&
           cursor->settled != event->sequence && event->time_ns >= cursor->not_before_ns;
}

/* Looks for what `notice` approves.  Returns: whether it is known, and then either `approved` is to
 * be given, or the announcement is settled. */
static bool find_approved(struct stream_cursor *cursor, struct stream_event *notice) {
    struct stream_event *approved = NULL;
    if (cursor->approved != NULL && cursor->approved->notice == notice->sequence) {
        return true;
    }
    drop_approved(cursor);
    cursor->is_asking = !stream_approvals_find(&cursor->hub->approvals, notice, &approved);
    if (cursor->is_asking) {
        return false;
    }
    if (approved != NULL && stream_event_matches_in_any_lane(approved, cursor->query)) {
        cursor->approved = stream_event_ref(approved);
    } else {
        cursor->settled = notice->sequence;
    }
    return true;
}

static inline bool passes_filters(const struct stream_cursor *cursor, struct stream_event *event) {
    return cursor->group != NULL ? stream_group_passes(cursor->group, event)
                                 : stream_event_matches(event, cursor->query);
}

enum stream_item stream_cursor_peek(struct stream_cursor *cursor, struct stream_event **out) {
    cursor->is_asking = false;
    for (;;) {
        if (cursor->has_gap) {
            return STREAM_GAP;
        }
        if (cursor->next > cursor->end) {
            close_feed(cursor);
            drop_queue(cursor);
            return STREAM_DONE;
        }
        struct stream_event *event = upcoming(cursor);
        if (event == NULL) {
            refill(cursor);
            static const enum stream_item items[] = {[STREAM_SOUND] = STREAM_NOTHING,
                                                     [STREAM_OUT_OF_MEMORY] = STREAM_FAILED,
                                                     [STREAM_FORBIDDEN] = STREAM_UNREADABLE};
            return items[cursor->failure];
        }
        if (event->sequence > cursor->next) {
            skip_to(cursor, event->sequence);
        } else if (is_to_be_told(cursor, event)) {
            *out = event;
            return STREAM_HALT;
        } else if (may_approve(cursor, event)) {
            if (!find_approved(cursor, event)) {
                return STREAM_NOTHING;
            }
            if (cursor->approved != NULL) {
                *out = cursor->approved;
                return STREAM_APPROVED;
            }
        } else if (event->time_ns >= cursor->not_before_ns && passes_filters(cursor, event)) {
            *out = event;
            return STREAM_EVENT;
        } else {
            pass(cursor, event);
        }
    }
}

struct stream_event *stream_cursor_take(struct stream_cursor *cursor, struct stream_event *event) {
    stream_event_ref(event);
    cursor->hub->event_count++;
    pass(cursor, event);
    stream_queue_touch(&cursor->queue);
    /* A large event is sent first: its client may have stopped reading. */
    if (cursor->feed != NULL && event->size_bytes * 2 <= stream_pool_share(cursor->hub->pool)) {
        refill(cursor);
    }
    return event;
}

struct stream_event *stream_cursor_take_approved(struct stream_cursor *cursor) {
    struct stream_event *event = cursor->approved;
    cursor->approved = NULL;
    cursor->settled = cursor->given = event->notice;
    cursor->hub->event_count++;
    stream_queue_touch(&cursor->queue);
    return event;
}

/* It is asked for again, with the announcement that is next. */
static bool return_approved(struct stream_cursor *cursor, const struct stream_event *event) {
    if (cursor->has_gap || cursor->failure != STREAM_SOUND || cursor->next != event->notice) {
        return false;
    }
    cursor->settled = cursor->given = 0;
    return true;
}

bool stream_cursor_return(struct stream_cursor *cursor, const struct stream_event *event) {
    if (event->notice != 0) {
        return return_approved(cursor, event);
    }
    if (cursor->has_gap || cursor->failure != STREAM_SOUND || cursor->next != event->sequence + 1) {
        return false;
    }
    close_feed(cursor);
    cursor->next = event->sequence;
    drop_queue(cursor);
    return true;
}

void stream_cursor_tell(struct stream_cursor *cursor, const struct stream_event *event) {
    cursor->told = event->sequence;
}

void stream_cursor_take_gap(struct stream_cursor *cursor, uint64_t *out_first, uint64_t *out_last) {
    *out_first = cursor->gap_first;
    *out_last = cursor->gap_last;
    cursor->has_gap = false;
}

/* To where the hub is. */
static void unpark(struct stream_cursor *cursor) {
    cursor->next = cursor->queue_next = stream_cursor_next(cursor);
    set_place(cursor, STREAM_WAITING);
}

void stream_cursor_wait(struct stream_cursor *cursor) {
    if (!is_waiting(cursor)) {
        choose_place(cursor);
    }
}

void stream_cursor_unwait(struct stream_cursor *cursor) {
    if (cursor->place == STREAM_PARKED) {
        unpark(cursor);
    }
    if (is_waiting(cursor)) {
        set_place(cursor, STREAM_BUSY);
    }
}

/* ---- from the hub ---- */

static void on_opened(struct stream_cursor *cursor) {
    if (cursor->stage == STREAM_READY) {
        wake_if_waiting(cursor);
    } else {
        become_ready(cursor);
    }
}

/* A reader that ends would wait without end if its last messages were deleted: nothing comes that
 * could show the jump. When two checks, which are seconds apart, were answered and no message came
 * in between, they are gone; for a stream that has other messages too the leader is asked. Nothing
 * can come, and nothing is known of them, as long as NATS has not made the consumer. */
static void on_checked(struct stream_cursor *cursor) {
    const bool has_something = cursor->has_gap || cursor->queue.first != NULL ||
                               cursor->next > cursor->end || cursor->is_asking;
    if (!cursor->query->is_ending || has_something) {
        return;
    }
    if (!cursor->is_quiet) {
        cursor->is_quiet = true;
        return;
    }
    if (cursor->feed != NULL && !cursor->is_fed) {
        stream_hub_note_refusal(cursor->hub, "it makes no consumer");
        be_refused(cursor);
    } else if (cursor->feed != NULL && stream_hub_filter(cursor->hub) != NULL) {
        stream_tail_ask(&cursor->rest, cursor->hub, cursor->queue_next);
    } else if (cursor->feed != NULL) {
        jump_to(cursor, cursor->end + 1);
        wake_if_waiting(cursor);
    }
}

static void on_notice(struct stream_member *member, enum stream_notice notice) {
    struct stream_cursor *cursor = OWNER_OF(member, struct stream_cursor, member);
    switch (notice) {
    case STREAM_HUB_OPENED:
        on_opened(cursor);
        break;
    case STREAM_HUB_STORED:
        if (cursor->is_live) {
            wake_if_waiting(cursor);
        }
        break;
    case STREAM_HUB_REFUSED:
        be_refused(cursor);
        break;
    case STREAM_HUB_CHECKED:
        on_checked(cursor);
        break;
    case STREAM_HUB_REVIEWED:
        wake_if_waiting(cursor);
        break;
    case STREAM_HUB_UNPARK:
        unpark(cursor);
        break;
    }
}

static void on_matched(struct stream_member *member, const struct stream_event *event) {
    struct stream_cursor *cursor = OWNER_OF(member, struct stream_cursor, member);
    if (cursor->next > event->sequence) {
        return; /* it waits for a later one */
    }
    cursor->next = cursor->queue_next = event->sequence;
    if (event->time_ns >= cursor->not_before_ns) {
        end_wait(cursor);
    } else {
        set_place(cursor, STREAM_WAITING);
    }
}

static void on_restarted(struct stream_member *member, const struct jetstream_stream_info *info) {
    struct stream_cursor *cursor = OWNER_OF(member, struct stream_cursor, member);
    stream_tail_forget(&cursor->rest);
    close_feed(cursor);
    if (cursor->stage != STREAM_UNPLACED) {
        set_gap(cursor, cursor->has_gap ? cursor->gap_first : cursor->next, 0);
    }
    set_next(cursor, info->first_sequence);
    drop_queue(cursor);
    cursor->not_before_ns = 0;
    cursor->silent_until = cursor->past_end = 0;
    forget_messages(cursor);
    if (cursor->query->is_ending) {
        cursor->end = info->last_sequence;
    }
    on_opened(cursor);
}

static void on_rewound(struct stream_member *member, uint64_t sequence, uint64_t newest) {
    struct stream_cursor *cursor = OWNER_OF(member, struct stream_cursor, member);
    /* A cursor that waits for a sequence past the end keeps waiting for it. */
    if (cursor->is_live && cursor->stage != STREAM_UNPLACED && cursor->next > sequence &&
        cursor->next <= newest + 1) {
        close_feed(cursor);
        cursor->next = sequence;
        forget_messages(cursor);
        drop_queue(cursor);
    }
}

static const struct stream_member_ops member_ops = {.notice = on_notice,
                                                    .informed = on_informed,
                                                    .matched = on_matched,
                                                    .restarted = on_restarted,
                                                    .rewound = on_rewound};
