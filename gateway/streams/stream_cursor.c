/* SPDX-License-Identifier: Apache-2.0 */

/* The life of a cursor: it asks about the stream, so that it knows where "now" is and what is
 * already gone; finds its first sequence (only a time in the middle needs a feed for that); joins
 * the hub if it follows; and is ready. From then on it is pulled: peek says what is next.
 *
 * It deliberately has no filter in NATS: a jump of the sequence then always means that messages
 * are gone, and the reader can be told. What its own feed brings is rendered ahead of the client
 * by its share of the pool, or one event; when the pool is full, a cursor whose client does not
 * read gives its queue back and fetches it again when the client does. */

#include "stream_cursor.h"

#include <stdio.h>

enum {
    AHEAD_COUNT = 2048,
    BYTES_FIRST = 16 * 1024,
    LARGE_BYTES = 32 * 1024, /* from there on an event needs room in the pool */
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
    cursor->is_pulling = false;
}

static void pop_queue(struct stream_cursor *cursor) {
    struct stream_event *event = cursor->queue;
    cursor->queue = event->next;
    if (cursor->queue == NULL) {
        cursor->queue_end = &cursor->queue;
    }
    cursor->queue_count--;
    cursor->queue_bytes -= event->size_bytes;
    event->next = NULL;
    stream_pool_release(cursor->hub->pool, event);
    if (cursor->queue == NULL) {
        stream_pool_leave(cursor->hub->pool, &cursor->holder);
    }
    stream_event_unref(event);
}

static void drop_queue(struct stream_cursor *cursor) {
    while (cursor->queue != NULL) {
        pop_queue(cursor);
    }
    cursor->queue_next = cursor->next;
}

static void push_queue(struct stream_cursor *cursor, struct stream_event *event) {
    *cursor->queue_end = event;
    cursor->queue_end = &event->next;
    cursor->queue_count++;
    cursor->queue_bytes += event->size_bytes;
    cursor->queue_next = event->sequence + 1;
    stream_pool_hold(cursor->hub->pool, event);
    stream_pool_touch(cursor->hub->pool, &cursor->holder);
}

/* From the pool. */
static void give_back_queue(struct stream_holder *holder) {
    struct stream_cursor *cursor = OWNER_OF(holder, struct stream_cursor, holder);
    close_feed(cursor);
    drop_queue(cursor);
}

/* Whether the ring has what is wanted behind the queue, or will have it. */
static bool is_within_ring(const struct stream_cursor *cursor) {
    return cursor->is_live && (stream_hub_is_opening(cursor->hub) ||
                               stream_ring_covers(&cursor->hub->ring, cursor->queue_next));
}

static void move(struct stream_cursor *cursor, struct stream_cursors *list) {
    LIST_REMOVE(cursor, link);
    LIST_INSERT_HEAD(list, cursor, link);
}

/* It wants nothing but what comes next, and the group can tell whether it wants that. */
static bool can_park(const struct stream_cursor *cursor) {
    const struct stream_hub *hub = cursor->hub;
    return cursor->group != NULL && cursor->is_ready && hub->is_open && cursor->feed == NULL &&
           cursor->queue == NULL && !cursor->has_gap && !cursor->has_failed &&
           cursor->next > hub->newest && stream_ring_covers(&hub->ring, cursor->next);
}

/* Puts one that waits where it will be told, and no more often than need be. */
static void place(struct stream_cursor *cursor) {
    struct stream_hub *hub = cursor->hub;
    cursor->is_parked = can_park(cursor);
    move(cursor, cursor->is_parked                                   ? &cursor->group->parked
                 : cursor->feed != NULL || cursor->waiter.is_waiting ? &hub->fetching
                                                                     : &hub->waiting);
}

static void end_wait(struct stream_cursor *cursor) {
    cursor->is_waiting = false;
    move(cursor, &cursor->hub->busy);
    cursor->events->more(cursor);
}

static void tell_if_waiting(struct stream_cursor *cursor) {
    struct stream_event *event;
    if (!cursor->is_waiting) {
        return;
    }
    if (stream_cursor_peek(cursor, &event) != STREAM_NOTHING) {
        end_wait(cursor);
    } else {
        place(cursor);
    }
}

static void become_ready(struct stream_cursor *cursor) {
    bool is_live_now = !cursor->is_live || !stream_hub_is_opening(cursor->hub);
    if (!cursor->is_ready && cursor->has_next && is_live_now) {
        cursor->is_ready = true;
        cursor->events->ready(cursor);
    }
}

static void set_next(struct stream_cursor *cursor, uint64_t next) {
    cursor->next = cursor->queue_next = next > 0 ? next : 1;
    cursor->has_next = true;
}

static void feed_opened(void *context, uint64_t next_sequence) {
    struct stream_cursor *cursor = context;
    if (!cursor->has_next) { /* it was opened by time */
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
        cursor->has_failed = true;
        close_feed(cursor);
        tell_if_waiting(cursor);
        return;
    }
    cursor->typical_bytes = event->size_bytes;
    push_queue(cursor, event);
    if (is_within_ring(cursor)) {
        close_feed(cursor);
    }
    tell_if_waiting(cursor);
}

static void refill(struct stream_cursor *cursor);

static void feed_pull_ended(void *context) {
    struct stream_cursor *cursor = context;
    cursor->is_pulling = false;
    stream_pool_settle(cursor->hub->pool, &cursor->waiter);
    refill(cursor);
}

static void feed_refused(void *context, const char *error) {
    struct stream_cursor *cursor = context;
    stream_hub_note_refusal(cursor->hub, error);
    stream_cursor_refused(cursor);
}

static void admitted(struct stream_waiter *waiter) {
    refill(OWNER_OF(waiter, struct stream_cursor, waiter));
}

static bool open_feed(struct stream_cursor *cursor, struct jetstream_start start) {
    const struct ordered_consumer_events events = {.opened = feed_opened,
                                                   .stored = feed_stored,
                                                   .pull_ended = feed_pull_ended,
                                                   .refused = feed_refused,
                                                   .context = cursor};
    const char *stream = stream_hub_channel(cursor->hub)->stream;
    if (ordered_consumer_open(cursor->hub->jetstream, stream, start, ORDERED_REPLAY, &events,
                              &cursor->feed) != PARLEY_OK) {
        cursor->feed = NULL;
        return false;
    }
    return true;
}

/* Keeps its own feed going while it is behind, and closes it when it is not. */
static void refill(struct stream_cursor *cursor) {
    if (cursor->queue_next > cursor->end || is_within_ring(cursor)) {
        close_feed(cursor);
        return;
    }
    size_t share = stream_pool_share(cursor->hub->pool);
    bool is_large = cursor->typical_bytes > LARGE_BYTES;
    if ((is_large && cursor->is_pulling) || cursor->has_failed ||
        cursor->queue_count * 2 > AHEAD_COUNT || cursor->queue_bytes * 2 > share) {
        return;
    }
    /* It begins with little, before it is known how large they are. An event is up to half as
     * large again as its message: base64, what lies around it. */
    size_t bytes = (cursor->typical_bytes > 0 ? share - cursor->queue_bytes : BYTES_FIRST) / 3 * 2;
    if (!stream_pool_admit(cursor->hub->pool, &cursor->waiter,
                           is_large ? cursor->typical_bytes : 0)) {
        return;
    }
    const struct jetstream_start start = {.from = JETSTREAM_FROM_SEQUENCE,
                                          .sequence = cursor->queue_next};
    if (cursor->feed == NULL && !open_feed(cursor, start)) {
        cursor->has_failed = true;
        return;
    }
    cursor->is_pulling = true;
    ordered_consumer_pull(cursor->feed, AHEAD_COUNT - cursor->queue_count, bytes);
}

/* ---- starting ---- */

bool stream_cursor_start(struct stream_cursor *cursor, struct stream_hub *hub,
                         const struct stream_query *query,
                         const struct stream_cursor_events *events, void *reader) {
    *cursor = (struct stream_cursor){.hub = hub,
                                     .query = query,
                                     .events = events,
                                     .reader = reader,
                                     .end = UINT64_MAX,
                                     .holder.give_back = give_back_queue,
                                     .waiter.admitted = admitted};
    cursor->queue_end = &cursor->queue;
    LIST_INSERT_HEAD(&hub->asking, cursor, link);
    if (!stream_hub_ask(hub, cursor)) {
        stream_cursor_stop(cursor);
        return false;
    }
    return true;
}

void stream_cursor_stop(struct stream_cursor *cursor) {
    if (cursor->hub == NULL) {
        return;
    }
    close_feed(cursor);
    drop_queue(cursor);
    LIST_REMOVE(cursor, link);
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

/* Goes on behind the messages before `sequence`, and has the reader told that they are gone. */
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

static bool is_of_another_life(const struct stream_cursor *cursor,
                               const struct jetstream_stream_info *info) {
    struct stream_token token;
    return cursor->query->since == STREAM_SINCE_TOKEN &&
           stream_token_find(cursor->query->token, stream_hub_channel(cursor->hub)->stream,
                             &token) &&
           !parley_bytes_equal(token.created, parley_bytes_of(info->created));
}

/* Where a cursor that knows its sequence begins.  Returns: false when it is not known. */
static bool find_sequence(const struct stream_cursor *cursor,
                          const struct jetstream_stream_info *info, uint64_t *out) {
    const struct stream_query *query = cursor->query;
    struct stream_token token;
    switch (query->since) {
    case STREAM_SINCE_ALL:
        *out = info->first_sequence;
        return true;
    case STREAM_SINCE_SEQUENCE:
        *out = query->sequence;
        return true;
    case STREAM_SINCE_TIME:
        /* An empty stream has no time at all: what there will be is newer. */
        *out = info->first_sequence;
        return info->first_time_ns == 0 || info->first_time_ns >= query->time_ns;
    case STREAM_SINCE_TOKEN:
        if (stream_token_find(query->token, stream_hub_channel(cursor->hub)->stream, &token)) {
            /* Its message was there once, unless the token says that it was not: if it is past the
             * end now, the stream has lost its end, and what comes next is new. */
            bool is_lost = !token.is_ahead && token.sequence > info->last_sequence &&
                           !is_of_another_life(cursor, info);
            *out = (is_lost ? info->last_sequence : token.sequence) + 1;
            return true;
        }
        break; /* a token from a time without this stream says nothing of it */
    case STREAM_SINCE_NOW:
        break;
    }
    *out = info->last_sequence + 1;
    return true;
}

/* The sequence that is waited for; 0: none is that is not there yet. */
static uint64_t find_awaited(const struct stream_cursor *cursor,
                             const struct jetstream_stream_info *info) {
    const struct stream_query *query = cursor->query;
    struct stream_token token;
    const bool is_asked_for =
        query->since == STREAM_SINCE_SEQUENCE ||
        (query->since == STREAM_SINCE_TOKEN &&
         stream_token_find(query->token, stream_hub_channel(cursor->hub)->stream, &token) &&
         token.is_ahead && !is_of_another_life(cursor, info));
    return is_asked_for && !query->is_ending && cursor->next > info->last_sequence ? cursor->next
                                                                                   : 0;
}

/* Says what is gone already. It would show as a jump with the next message, but that may be long
 * in coming. */
static void find_first_gap(struct stream_cursor *cursor, const struct jetstream_stream_info *info) {
    bool is_by_time = cursor->query->since == STREAM_SINCE_TIME;
    if (is_of_another_life(cursor, info)) {
        set_gap(cursor, cursor->next, 0);
        set_next(cursor, info->first_sequence);
    } else if (is_by_time && !cursor->query->is_future && info->first_sequence > 1) {
        set_gap(cursor, 1, info->first_sequence - 1);
    } else if (cursor->next < info->first_sequence) {
        jump_to(cursor, info->first_sequence);
        cursor->queue_next = cursor->next;
    }
}

void stream_cursor_informed(struct stream_cursor *cursor,
                            const struct jetstream_stream_info *info) {
    struct stream_hub *hub = cursor->hub;
    const struct stream_query *query = cursor->query;
    move(cursor, &hub->busy);
    cursor->is_live = info->is_known && !query->is_ending && stream_hub_join(hub) == PARLEY_OK;
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
    if (find_sequence(cursor, info, &next)) {
        set_next(cursor, next);
        cursor->awaited = find_awaited(cursor, info);
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

/* The first event that is there from `next` on. */
static struct stream_event *upcoming(struct stream_cursor *cursor) {
    const struct stream_ring *ring = &cursor->hub->ring;
    if (cursor->is_live && stream_ring_covers(ring, cursor->next)) {
        close_feed(cursor);
        drop_queue(cursor);
        return stream_ring_find(ring, cursor->next);
    }
    return cursor->queue;
}

static void pass(struct stream_cursor *cursor, const struct stream_event *event) {
    cursor->next = event->sequence + 1;
    if (cursor->queue == event) {
        pop_queue(cursor);
    }
    if (cursor->queue == NULL && cursor->queue_next < cursor->next) {
        cursor->queue_next = cursor->next;
    }
}

enum stream_item stream_cursor_peek(struct stream_cursor *cursor, struct stream_event **out) {
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
            return cursor->is_refused   ? STREAM_UNREADABLE
                   : cursor->has_failed ? STREAM_FAILED
                                        : STREAM_NOTHING;
        }
        if (event->sequence > cursor->next) {
            jump_to(cursor, event->sequence);
        } else if (event->time_ns >= cursor->not_before_ns &&
                   stream_event_matches(event, cursor->query)) {
            *out = event;
            return STREAM_EVENT;
        } else {
            pass(cursor, event);
        }
    }
}

struct stream_event *stream_cursor_take(struct stream_cursor *cursor, struct stream_event *event) {
    struct stream_pool *pool = cursor->hub->pool;
    stream_event_ref(event);
    pass(cursor, event);
    if (cursor->queue != NULL) {
        stream_pool_touch(pool, &cursor->holder);
    }
    /* A large one is to be sent first: its client may be stuck. */
    if (cursor->feed != NULL && event->size_bytes * 2 <= stream_pool_share(pool)) {
        refill(cursor);
    }
    return event;
}

bool stream_cursor_return(struct stream_cursor *cursor, const struct stream_event *event) {
    if (cursor->has_gap || cursor->has_failed || cursor->next != event->sequence + 1) {
        return false;
    }
    close_feed(cursor);
    cursor->next = event->sequence;
    drop_queue(cursor);
    return true;
}

void stream_cursor_take_gap(struct stream_cursor *cursor, uint64_t *out_first, uint64_t *out_last) {
    *out_first = cursor->gap_first;
    *out_last = cursor->gap_last;
    cursor->has_gap = false;
}

void stream_cursor_wait(struct stream_cursor *cursor) {
    if (!cursor->is_waiting) {
        cursor->is_waiting = true;
        place(cursor);
    }
}

void stream_cursor_unwait(struct stream_cursor *cursor) {
    if (cursor->is_parked) {
        stream_cursor_unpark(cursor);
    }
    if (cursor->is_waiting) {
        cursor->is_waiting = false;
        move(cursor, &cursor->hub->busy);
    }
}

static uint64_t next_of(const struct stream_cursor *cursor) {
    uint64_t newest = cursor->hub->newest;
    return cursor->is_parked && cursor->next <= newest ? newest + 1 : cursor->next;
}

uint64_t stream_cursor_waits_for(const struct stream_cursor *cursor, uint64_t *out_last) {
    *out_last = cursor->hub->newest;
    return cursor->next == cursor->awaited && cursor->next > *out_last ? cursor->awaited : 0;
}

/* Others are before the one that is waited for, which the reader is not to get. */
static bool is_ahead(const struct stream_cursor *cursor) {
    uint64_t last;
    return stream_cursor_waits_for(cursor, &last) > last + 1;
}

/* Of a cursor whose stream was made anew, while its reader has not been told: a token of the former
 * life, so that a reader that comes back with it is told. */
static struct stream_token former_token(const struct stream_cursor *cursor) {
    const char *stream = stream_hub_channel(cursor->hub)->stream;
    struct stream_token token;
    if (cursor->query->since == STREAM_SINCE_TOKEN &&
        stream_token_find(cursor->query->token, stream, &token) &&
        !parley_bytes_equal(token.created, parley_bytes_of(cursor->hub->created))) {
        return token;
    }
    return (struct stream_token){.created = parley_bytes_of(cursor->hub->former),
                                 .sequence = cursor->gap_first - 1};
}

size_t stream_cursor_token(const struct stream_cursor *cursor, char token[STREAM_TOKEN_MAX]) {
    struct stream_token at = {.created = parley_bytes_of(cursor->hub->created),
                              .sequence = next_of(cursor) - 1,
                              .is_ahead = !cursor->has_gap && is_ahead(cursor)};
    if (cursor->has_gap && cursor->gap_last == 0) {
        at = former_token(cursor);
    } else if (cursor->has_gap) {
        at.sequence = cursor->gap_first - 1;
    } else if (at.sequence > cursor->end) {
        at.sequence = cursor->end; /* it jumped past its end, of which nothing was said */
    }
    int length = snprintf(token, STREAM_TOKEN_MAX, "%s:%.*s:%s%ju",
                          stream_hub_channel(cursor->hub)->stream, (int)at.created.length,
                          at.created.data, at.is_ahead ? "ahead:" : "", (uintmax_t)at.sequence);
    return length > 0 && length < STREAM_TOKEN_MAX ? (size_t)length : 0;
}

/* ---- from the hub ---- */

void stream_cursor_hub_opened(struct stream_cursor *cursor) {
    if (cursor->is_ready) {
        tell_if_waiting(cursor);
    } else {
        become_ready(cursor);
    }
}

void stream_cursor_called(struct stream_cursor *cursor, const struct stream_event *event) {
    cursor->next = cursor->queue_next = event->sequence;
    cursor->is_parked = false;
    if (event->time_ns >= cursor->not_before_ns) {
        end_wait(cursor);
    } else {
        move(cursor, &cursor->hub->waiting);
    }
}

void stream_cursor_unpark(struct stream_cursor *cursor) {
    cursor->next = cursor->queue_next = next_of(cursor);
    cursor->is_parked = false;
    move(cursor, &cursor->hub->waiting);
}

void stream_cursor_hub_stored(struct stream_cursor *cursor) {
    if (cursor->is_live) {
        tell_if_waiting(cursor);
    }
}

void stream_cursor_restart(struct stream_cursor *cursor, const struct jetstream_stream_info *info) {
    close_feed(cursor);
    if (cursor->has_next) {
        set_gap(cursor, cursor->has_gap ? cursor->gap_first : cursor->next, 0);
    }
    set_next(cursor, info->first_sequence);
    drop_queue(cursor);
    cursor->not_before_ns = 0;
    cursor->silent_until = cursor->past_end = cursor->awaited = 0;
    if (cursor->query->is_ending) {
        cursor->end = info->last_sequence;
    }
    if (cursor->is_ready) {
        tell_if_waiting(cursor);
    } else {
        become_ready(cursor);
    }
}

void stream_cursor_refused(struct stream_cursor *cursor) {
    close_feed(cursor);
    cursor->has_failed = cursor->is_refused = true;
    if (cursor->is_ready) {
        tell_if_waiting(cursor);
    } else {
        cursor->events->failed(cursor);
    }
}

void stream_cursor_rewind(struct stream_cursor *cursor, uint64_t sequence, uint64_t newest) {
    /* One that waits for a sequence to come goes on waiting for it. */
    if (cursor->is_live && cursor->has_next && cursor->next > sequence &&
        cursor->next <= newest + 1) {
        close_feed(cursor);
        cursor->next = sequence;
        cursor->awaited = 0;
        drop_queue(cursor);
    }
}

/* A reader that wants the messages up to a certain one would wait for ever if the last of them
 * were deleted meanwhile: nothing comes that could show the jump. When two checks, which lie
 * seconds apart, were answered and no message came in between, they are gone. */
void stream_cursor_checked(struct stream_cursor *cursor) {
    bool has_something = cursor->has_gap || cursor->queue != NULL || cursor->next > cursor->end;
    if (!cursor->query->is_ending || has_something) {
        return;
    }
    if (!cursor->is_quiet) {
        cursor->is_quiet = true;
        return;
    }
    jump_to(cursor, cursor->end + 1);
    tell_if_waiting(cursor);
}
