/* SPDX-License-Identifier: Apache-2.0 */

/* See stream_reader.h. An event is copied only once per reader, into the buffer that is sent: its
 * frame, token and text are a list of slices, which is computed whenever it is needed and cut at
 * the offset that was reached. */

#include "stream_reader.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLICES_MAX = 7,
    PATIENCE_MS = 2000, /* how long merging waits for a stream's next event */
};

/* ---- cursors ---- */

static void cursor_ready(struct stream_cursor *cursor) {
    struct stream_reader *reader = cursor->reader;
    for (size_t i = 0; i < reader->cursor_count; i++) {
        if (reader->cursors[i].stage != STREAM_READY) {
            return;
        }
    }
    reader->events->ready(reader);
}

static void wake(struct stream_reader *reader) {
    if (reader->is_waiting) {
        reader->is_waiting = false;
        for (size_t i = 0; i < reader->cursor_count; i++) {
            stream_cursor_unwait(&reader->cursors[i]);
        }
        http_wake(reader->request);
    }
}

static void cursor_more(struct stream_cursor *cursor) {
    wake(cursor->reader);
}

static void cursor_failed(struct stream_cursor *cursor) {
    struct stream_reader *reader = cursor->reader;
    reader->events->failed(reader);
}

static const struct stream_cursor_events cursor_events = {
    .ready = cursor_ready, .more = cursor_more, .failed = cursor_failed};

/* ---- its events ---- */

static void release(struct stream_reader *reader) {
    if (reader->is_held) {
        reader->is_held = false;
        stream_pool_release(reader->pool, reader->current);
        stream_pool_leave(reader->pool, &reader->holder);
    }
}

/* Ends the turn of the cursor that `current` is from. */
static struct stream_cursor *current_cursor(struct stream_reader *reader) {
    assert(reader->turn > 0);
    return &reader->cursors[reader->turn - 1];
}

/* The pool is full: an event that is half sent is fetched again when the client reads on. */
static void give_back_current(struct stream_holder *holder) {
    struct stream_reader *reader = OWNER_OF(holder, struct stream_reader, holder);
    struct stream_event *event = reader->current;
    if (!stream_cursor_return(current_cursor(reader), event)) {
        return;
    }
    release(reader);
    reader->returned = (struct stream_returned){
        .sequence = event->sequence, .time_ns = event->time_ns, .length = event->text.length};
    stream_event_unref(event);
    reader->current = NULL;
}

/* Called when the client took all that it could, and `current` is not all sent. parley's own events
 * are small. */
static void hold(struct stream_reader *reader) {
    if (reader->current == NULL || reader->current->sequence == 0) {
        return;
    }
    if (!reader->is_held) {
        reader->is_held = true;
        stream_pool_hold(reader->pool, reader->current);
    }
    stream_pool_touch(reader->pool, &reader->holder);
}

/* ---- merging ---- */

static void end_merging(struct stream_reader *reader) {
    if (reader->merging != NULL) {
        reactor_timer_clear(reader->pool->reactor, &reader->merging->patience);
        reader->merging = NULL;
    }
}

static void on_timeout(struct reactor_timer *timer) {
    struct stream_reader *reader = OWNER_OF(timer, struct stream_merging, patience)->reader;
    end_merging(reader);
    wake(reader);
}

/* Begins with the reader's start, since its timer is on the pool's reactor: a reader whose request
 * ends before its body does is stopped without ever having started. */
static void begin_merging(struct stream_reader *reader) {
    if (reader->cursor_count > 1) {
        reader->merging = (struct stream_merging *)&reader->cursors[reader->cursor_count];
        *reader->merging = (struct stream_merging){.reader = reader, .patience.fire = on_timeout};
    }
}

/* Chooses the cursor to take from next. Gaps and the like go first. Returns: cursor_count: none at
 * present. */
static size_t choose_earliest(struct stream_reader *reader) {
    size_t chosen = reader->cursor_count;
    int64_t earliest_ns = INT64_MAX;
    bool is_lacking = false, is_in_past = false;
    for (size_t i = 0; i < reader->cursor_count; i++) {
        struct stream_event *event = NULL;
        const enum stream_item item = stream_cursor_peek(&reader->cursors[i], &event);
        const bool is_behind = stream_cursor_is_in_past(&reader->cursors[i]);
        is_in_past |= is_behind;
        is_lacking |= item == STREAM_NOTHING && is_behind;
        const bool is_timed =
            item == STREAM_EVENT || item == STREAM_HALT || item == STREAM_APPROVED;
        if (is_timed && event->time_ns < earliest_ns) {
            earliest_ns = event->time_ns;
            chosen = i;
        } else if (!is_timed && item != STREAM_NOTHING && item != STREAM_DONE) {
            return i;
        }
    }
    struct reactor_timer *patience = &reader->merging->patience;
    if (!is_in_past) {
        end_merging(reader);
    } else if (!is_lacking) {
        reactor_timer_clear(reader->pool->reactor, patience);
    } else if (chosen < reader->cursor_count) {
        chosen = reader->cursor_count;
        if (!patience->is_armed) {
            reactor_timer_set(reader->pool->reactor, patience, PATIENCE_MS);
        }
    }
    return chosen;
}

/* ---- its life ---- */

struct stream_reader *stream_reader_create(struct http_request *request,
                                           const struct stream_query *query,
                                           const struct stream_reader_events *events, void *keeper,
                                           size_t count) {
    size_t size = sizeof(struct stream_reader) + count * sizeof(struct stream_cursor);
    const size_t merging_size = count > 1 ? sizeof(struct stream_merging) : 0;
    const size_t tokens_size = count > 1 ? count * STREAM_TOKEN_MAX : 0;
    const char *agent = query->filters[STREAM_FILTER_READER];
    const size_t agent_size = agent != NULL ? strlen(agent) + 1 : 0;
    struct stream_reader *reader = calloc(1, size + merging_size + tokens_size + agent_size);
    if (reader == NULL) {
        return NULL;
    }
    reader->request = request;
    reader->query = *query;
    reader->events = events;
    reader->keeper = keeper;
    reader->cursor_count = count;
    reader->holder.give_back = give_back_current;
    if (count > 1) {
        reader->tokens = (char *)reader + size + merging_size;
    }
    if (agent != NULL) {
        char *copy = (char *)reader + size + merging_size + tokens_size;
        memcpy(copy, agent, agent_size);
        reader->query.filters[STREAM_FILTER_READER] = copy;
    }
    return reader;
}

void stream_reader_stop(struct stream_reader *reader) {
    end_merging(reader);
    for (size_t i = 0; i < reader->cursor_count; i++) {
        stream_cursor_stop(&reader->cursors[i]);
    }
}

void stream_reader_destroy(struct stream_reader *reader) {
    if (reader != NULL) {
        stream_reader_stop(reader);
        release(reader);
        stream_event_unref(reader->current);
        free(reader);
    }
}

static bool start_cursors(struct stream_reader *reader, struct stream_hub *hubs, size_t count) {
    size_t started = 0;
    for (size_t i = 0; i < count; i++) {
        struct stream_hub *hub = &hubs[i];
        if ((reader->access.reads & hub->readings) == 0 || !stream_hub_is_used(hub)) {
            continue;
        }
        if (started == reader->cursor_count ||
            !stream_cursor_start(&reader->cursors[started++], hub, &reader->query, &cursor_events,
                                 reader)) {
            return false;
        }
    }
    return started == reader->cursor_count;
}

bool stream_reader_start(struct stream_reader *reader, struct stream_hub *hubs, size_t hub_count) {
    const bool begins = reader->is_sse || !reader->query.is_ending;
    reader->due = begins && reader->codec == NULL ? STREAM_DUE_OPEN : STREAM_DUE_NOTHING;
    reader->pool = hubs[0].pool;
    begin_merging(reader);
    const bool has_started = start_cursors(reader, hubs, hub_count);
    if (!has_started) {
        stream_reader_stop(reader);
    }
    return has_started;
}

void stream_reader_keep_alive(struct stream_reader *reader) {
    bool is_within_event = reader->returned.sequence != 0;
    if (reader->is_waiting && !is_within_event && !reader->query.is_ending &&
        reader->codec == NULL) {
        reader->due = STREAM_DUE_KEEPALIVE;
        wake(reader);
    }
}

void stream_reader_follow(struct stream_reader *reader, struct moments *moments) {
    const struct stream_query *query = &reader->query;
    if (moments != NULL && stream_query_follows(query) && !query->is_ending && !query->is_bare &&
        reader->codec == NULL) {
        reader->moments = moments;
        reader->moments_position = moments_end(moments);
        reader->moments_from_ms = reactor_wall_clock_ns() / 1000000;
    }
}

void stream_reader_look(struct stream_reader *reader) {
    if (reader->returned.sequence == 0) {
        wake(reader);
    }
}

void stream_reader_end(struct stream_reader *reader, const char *reason) {
    if (reader->course == STREAM_GOES_ON) {
        reader->course = STREAM_LEAVES;
        reader->end_reason = reason;
    }
    wake(reader);
}

/* ---- the next event ---- */

/* The resume token: the places in all streams.  Owns: it is in `token` for one stream, in the
 * reader's memory for several. */
static struct parley_bytes write_tokens(struct stream_reader *reader,
                                        char token[STREAM_TOKEN_MAX]) {
    if (reader->tokens == NULL) {
        return (struct parley_bytes){token, stream_cursor_token(&reader->cursors[0], token)};
    }
    size_t length = 0;
    for (size_t i = 0; i < reader->cursor_count; i++) {
        const size_t added = stream_cursor_token(&reader->cursors[i], reader->tokens + length);
        if (added > 0) {
            length += added;
            reader->tokens[length++] = ','; /* in place of the NUL */
        }
    }
    reader->tokens_length = length > 0 ? length - 1 : 0;
    return (struct parley_bytes){reader->tokens, reader->tokens_length};
}

static struct stream_event *render_gap(struct stream_reader *reader, struct stream_cursor *cursor) {
    char token[STREAM_TOKEN_MAX];
    uint64_t first, last;
    stream_cursor_take_gap(cursor, &first, &last);
    return stream_render_gap(stream_hub_channel(cursor->hub), first, last,
                             write_tokens(reader, token));
}

/* It is written before the event: a reader that comes back with its token gets both. */
static struct stream_event *render_halt(struct stream_reader *reader, struct stream_cursor *cursor,
                                        const struct stream_event *event) {
    char token[STREAM_TOKEN_MAX];
    stream_cursor_tell(cursor, event);
    return stream_render_halt(stream_hub_channel(cursor->hub), event, write_tokens(reader, token));
}

static struct stream_event *render_end(struct stream_reader *reader, const char *reason) {
    char token[STREAM_TOKEN_MAX];
    return stream_render_end(http_request_id(reader->request), http_request_path(reader->request),
                             write_tokens(reader, token), reason);
}

/* In place of parley.open and keepalives, a reader without envelope gets a blank line, and one of
 * server-sent events an id without data, which an event source stores and does not report. */
static struct stream_event *render_due_bytes(struct stream_reader *reader) {
    char token[STREAM_TOKEN_MAX];
    const bool is_open = reader->due == STREAM_DUE_OPEN;
    if (!reader->is_sse) {
        return stream_render_bytes("\n", PARLEY_BYTES(""), "");
    }
    if (reader->query.is_ending) {
        return stream_render_bytes("retry: 2000\n\n", PARLEY_BYTES(""), "");
    }
    return stream_render_bytes(is_open ? "retry: 2000\nid: " : "id: ", write_tokens(reader, token),
                               "\n\n");
}

static struct stream_event *render_due_event(struct stream_reader *reader) {
    char token[STREAM_TOKEN_MAX];
    const char *id = http_request_id(reader->request), *path = http_request_path(reader->request);
    const struct parley_bytes resume = write_tokens(reader, token);
    if (reader->due == STREAM_DUE_KEEPALIVE) {
        return stream_render_keepalive(id, path, resume);
    }
    uint64_t last = 0;
    const uint64_t waiting_for =
        reader->cursor_count == 1 ? stream_cursor_waits_for(&reader->cursors[0], &last) : 0;
    return stream_render_open(id, path, resume, waiting_for, last);
}

/* Sets `current` to the event that is due. */
static enum stream_item take_due(struct stream_reader *reader) {
    const bool is_event = !reader->is_sse && !reader->query.is_bare;
    reader->current = is_event ? render_due_event(reader) : render_due_bytes(reader);
    reader->due = STREAM_DUE_NOTHING;
    return reader->current != NULL ? STREAM_EVENT : STREAM_FAILED;
}

/* The event, or in its place the message in the reader's encoding.  Owns: takes the event. */
static struct stream_event *in_encoding(const struct stream_reader *reader,
                                        struct stream_cursor *cursor, struct stream_event *event) {
    if (reader->codec == NULL || event == NULL) {
        return event;
    }
    struct stream_event *converted =
        stream_render_converted(&cursor->hub->renderer, event, reader->codec);
    stream_event_unref(event);
    return converted;
}

/* Takes what was peeked at, which is an event of a message. */
static struct stream_event *take_message(const struct stream_reader *reader,
                                         struct stream_cursor *cursor, enum stream_item item,
                                         struct stream_event *event) {
    return in_encoding(reader, cursor,
                       item == STREAM_APPROVED ? stream_cursor_take_approved(cursor)
                                               : stream_cursor_take(cursor, event));
}

/* Takes the event that was given back, to continue within it. If it is no longer the same event
 * (the message was deleted, the stream was created again), its rest is lost. */
static enum stream_item take_again(struct stream_reader *reader) {
    struct stream_cursor *cursor = current_cursor(reader);
    struct stream_event *event = NULL;
    enum stream_item item = stream_cursor_peek(cursor, &event);
    if (item == STREAM_NOTHING) {
        return item;
    }
    const struct stream_returned *returned = &reader->returned;
    const bool is_message = item == STREAM_EVENT || item == STREAM_APPROVED;
    if (!is_message || event->sequence != returned->sequence ||
        event->time_ns != returned->time_ns || event->text.length != returned->length) {
        return STREAM_FAILED;
    }
    reader->current = take_message(reader, cursor, item, event);
    reader->returned = (struct stream_returned){0};
    return reader->current != NULL ? item : STREAM_FAILED;
}

static void count_event(struct stream_reader *reader) {
    if (reader->query.limit != UINT64_MAX && --reader->query.limit == 0) {
        reader->course = STREAM_ENDS;
    }
}

/* Passes over what is not a message of the protocol, where the reader takes nothing else. */
static enum stream_item peek_wanted(struct stream_reader *reader, struct stream_cursor *cursor,
                                    struct stream_event **out) {
    for (;;) {
        const enum stream_item item = stream_cursor_peek(cursor, out);
        if (item == STREAM_HALT && (reader->codec != NULL || reader->query.is_bare)) {
            stream_cursor_tell(cursor, *out);
        } else if (item == STREAM_EVENT && reader->codec != NULL && (*out)->bare.data == NULL) {
            stream_event_unref(stream_cursor_take(cursor, *out));
        } else if (item == STREAM_APPROVED && reader->codec != NULL && (*out)->bare.data == NULL) {
            stream_event_unref(stream_cursor_take_approved(cursor));
        } else {
            return item;
        }
    }
}

/* Takes the next of one cursor: after STREAM_EVENT, STREAM_APPROVED, STREAM_HALT and STREAM_GAP it
 * is `current`. */
static enum stream_item take(struct stream_reader *reader, struct stream_cursor *cursor) {
    struct stream_event *event = NULL;
    enum stream_item item = peek_wanted(reader, cursor, &event);
    if (item == STREAM_EVENT || item == STREAM_APPROVED) {
        reader->current = take_message(reader, cursor, item, event);
        if (reader->current == NULL) {
            return STREAM_FAILED;
        }
        if (item == STREAM_EVENT) {
            count_event(reader);
        }
        if (reader->tokens != NULL) {
            write_tokens(reader, NULL);
        }
    } else if (item == STREAM_HALT) {
        reader->current = render_halt(reader, cursor, event);
        item = reader->current != NULL ? STREAM_HALT : STREAM_FAILED;
    } else if (item == STREAM_GAP && reader->codec != NULL) {
        return STREAM_FAILED; /* no message says it: the response is not complete */
    } else if (item == STREAM_GAP) {
        reader->current = render_gap(reader, cursor);
        item = reader->current != NULL ? STREAM_GAP : STREAM_FAILED;
    }
    return item;
}

static bool is_told(const struct stream_reader *reader, const struct moment *moment) {
    size_t protocol = 0;
    while (parley_protocols[protocol] != moment->protocol) {
        protocol++;
    }
    return moment->at_ms >= reader->moments_from_ms &&
           (reader->access.reads >> protocol & 1) != 0 &&
           stream_moment_tells(moment, &reader->query);
}

/* Sets `current` to the next moment of which it is told. */
static enum stream_item take_moment(struct stream_reader *reader) {
    const struct moment *moment;
    enum stream_item item = STREAM_NOTHING;
    while (item == STREAM_NOTHING &&
           (moment = moments_take(reader->moments, &reader->moments_position)) != NULL) {
        if (is_told(reader, moment)) {
            char token[STREAM_TOKEN_MAX];
            reader->current = stream_render_moment(moment, write_tokens(reader, token));
            item = reader->current != NULL ? STREAM_EVENT : STREAM_FAILED;
        }
        moment_unref(moment);
    }
    return item;
}

/* Sets `current` to the last event. */
static enum stream_item take_end(struct stream_reader *reader, const char *reason) {
    reader->course = STREAM_ENDS;
    if (reader->codec != NULL) {
        return STREAM_DONE;
    }
    reader->current = render_end(reader, reason);
    return reader->current != NULL ? STREAM_EVENT : STREAM_FAILED;
}

/* Takes the next of one cursor, and notes its turn. */
static inline enum stream_item take_from(struct stream_reader *reader, size_t index) {
    const enum stream_item item = take(reader, &reader->cursors[index]);
    if (item == STREAM_NOTHING || item == STREAM_DONE) {
        return item;
    }
    if (item == STREAM_UNREADABLE) {
        return take_end(reader, reader->cursors[index].hub->refusal);
    }
    reader->turn = index + 1;
    reader->due = STREAM_DUE_NOTHING;
    return item;
}

/* Sets `current`, if there is something. The streams take turns, so that a busy one does not delay
 * the others. */
static enum stream_item take_in_turn(struct stream_reader *reader) {
    size_t done_count = 0;
    for (size_t i = 0; i < reader->cursor_count; i++) {
        size_t index = reader->turn + i;
        index -= index >= reader->cursor_count ? reader->cursor_count : 0;
        const enum stream_item item = take_from(reader, index);
        if (item == STREAM_DONE) {
            done_count++;
        } else if (item != STREAM_NOTHING) {
            return item;
        }
    }
    if (done_count < reader->cursor_count) {
        return STREAM_NOTHING;
    }
    reader->course = STREAM_ENDS;
    return STREAM_DONE;
}

/* The same, but takes the event that was stored first. */
static __attribute__((noinline)) enum stream_item take_earliest(struct stream_reader *reader) {
    const size_t index = choose_earliest(reader);
    if (index < reader->cursor_count) {
        reader->turn = index; /* that one has something */
    } else if (reader->merging != NULL) {
        return STREAM_NOTHING;
    }
    return take_in_turn(reader);
}

static enum stream_item find_event(struct stream_reader *reader) {
    if (reader->returned.sequence != 0) {
        return take_again(reader);
    }
    if (reader->due == STREAM_DUE_OPEN) {
        return take_due(reader);
    }
    if (reader->course == STREAM_LEAVES) {
        return take_end(reader, reader->end_reason);
    }
    enum stream_item item = reader->moments != NULL ? take_moment(reader) : STREAM_NOTHING;
    if (item != STREAM_NOTHING) {
        reader->due = STREAM_DUE_NOTHING;
        return item;
    }
    item = reader->merging != NULL ? take_earliest(reader) : take_in_turn(reader);
    if (item == STREAM_NOTHING && reader->due == STREAM_DUE_KEEPALIVE) {
        return take_due(reader);
    }
    return item;
}

/* ---- bytes ---- */

static void add(struct parley_bytes slices[SLICES_MAX], size_t *count, struct parley_bytes slice) {
    slices[(*count)++] = slice;
}

static struct parley_bytes span(const char *from, const char *to) {
    return (struct parley_bytes){from, (size_t)(to - from)};
}

static size_t slice_event(const struct stream_reader *reader,
                          struct parley_bytes slices[SLICES_MAX]) {
    const struct stream_event *event = reader->current;
    /* Events of parley's own were written for this reader. */
    bool is_spliced = reader->tokens != NULL && event->sequence != 0 && event->token.length > 0;
    struct parley_bytes token =
        is_spliced ? (struct parley_bytes){reader->tokens, reader->tokens_length} : event->token;
    size_t count = 0;
    if (event->text.data == NULL) {
        add(slices, &count, event->line);
        return count;
    }
    if (reader->is_sse && token.length > 0) {
        add(slices, &count, PARLEY_BYTES("id: "));
        add(slices, &count, token);
        add(slices, &count, PARLEY_BYTES("\ndata: "));
    } else if (reader->is_sse) {
        add(slices, &count, PARLEY_BYTES("data: "));
    }
    if (reader->query.is_bare && event->bare.data != NULL) {
        add(slices, &count, event->bare);
    } else if (is_spliced) {
        const char *behind = event->token.data + event->token.length;
        add(slices, &count, span(event->text.data, event->token.data));
        add(slices, &count, token);
        add(slices, &count, span(behind, event->text.data + event->text.length));
    } else if (!reader->is_sse) {
        add(slices, &count, event->line);
        return count;
    } else {
        add(slices, &count, event->text);
    }
    add(slices, &count, reader->is_sse ? PARLEY_BYTES("\n\n") : PARLEY_BYTES("\n"));
    return count;
}

/* Copies slices from the reader's offset on.  Returns: how much; everything is through when the
 * offset is back at 0. */
static size_t copy_slices(struct stream_reader *reader, const struct parley_bytes *slices,
                          size_t count, char *buffer, size_t size) {
    size_t start = 0, used = 0;
    for (size_t i = 0; i < count; i++) {
        size_t end = start + slices[i].length;
        if (reader->offset < end) {
            size_t skipped = reader->offset - start;
            size_t length = slices[i].length - skipped;
            if (length > size - used) {
                length = size - used;
            }
            memcpy(buffer + used, slices[i].data + skipped, length);
            used += length;
            reader->offset += length;
            if (reader->offset < end) {
                return used;
            }
        }
        start = end;
    }
    reader->offset = 0;
    return used;
}

static size_t copy_pending(struct stream_reader *reader, char *buffer, size_t size) {
    struct parley_bytes slices[SLICES_MAX];
    size_t used = copy_slices(reader, slices, slice_event(reader, slices), buffer, size);
    if (reader->offset == 0) {
        release(reader);
        stream_event_unref(reader->current);
        reader->current = NULL;
    }
    return used;
}

static bool has_ended(const struct stream_reader *reader) {
    return reader->course >= STREAM_ENDS && reader->returned.sequence == 0;
}

static void wait(struct stream_reader *reader) {
    reader->is_waiting = true;
    for (size_t i = 0; i < reader->cursor_count; i++) {
        stream_cursor_wait(&reader->cursors[i]);
    }
}

/* Fills the buffer.  Returns: how much was put there; `out_is_dry`: there is nothing more now. */
static size_t fill(struct stream_reader *reader, char *buffer, size_t size, bool *out_is_dry) {
    size_t used = 0;
    *out_is_dry = false;
    while (used < size) {
        if (reader->current != NULL) {
            used += copy_pending(reader, buffer + used, size - used);
            continue;
        }
        if (has_ended(reader)) {
            break;
        }
        enum stream_item item = find_event(reader);
        if (item == STREAM_FAILED) {
            reader->returned = (struct stream_returned){0};
            reader->course = STREAM_BREAKS;
        }
        if (reader->current == NULL) {
            *out_is_dry = !has_ended(reader);
            break;
        }
    }
    return used;
}

/* When it runs dry it waits at once, so that being asked again costs nothing. */
ssize_t stream_reader_read(void *state, char *buffer, size_t size) {
    struct stream_reader *reader = state;
    bool is_dry;
    if (reader->is_waiting) {
        return 0;
    }
    size_t used = fill(reader, buffer, size, &is_dry);
    if (used > 0) {
        hold(reader);
        reader->events->moved(reader);
    }
    if (is_dry) {
        wait(reader);
    }
    if (used > 0 || !has_ended(reader)) {
        return (ssize_t)used;
    }
    return reader->course == STREAM_BREAKS ? HTTP_SOURCE_ABORT : HTTP_SOURCE_END;
}
