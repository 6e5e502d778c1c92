/* SPDX-License-Identifier: Apache-2.0 */

/* The model's server, in place of jetstream.c and feed.c, and its readers. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream_model.h"

#include "stream_fixture.h"
#include "stream_review.h"

#define ID "MSG001"
#define CLAIM                                                                                      \
    "{\"id\":\"" ID "\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","                              \
    "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"A\",\"content\":\"x\","                   \
    "\"confidence\":0.5}"
#define DECISION(decision)                                                                         \
    "{\"decision\":\"" decision "\",\"by\":\"B\",\"reason\":\"r\",\"at\":\"t\",\"id\":\"" ID "\"}"

/* ---- the server ---- */

unsigned dice(struct jetstream *server, unsigned sides) {
    server->seed = server->seed * 1664525u + 1013904223u;
    return (server->seed >> 8) % sides;
}

struct jetstream_request *jetstream_stream_ask(struct jetstream *server, const char *stream,
                                               jetstream_info_fn *done, void *context) {
    assert_string_equal(stream, "VLP");
    assert_true(server->ask_count < ASKS_MAX);
    server->asks[server->ask_count++] = (struct ask){done, context};
    return (struct jetstream_request *)server; /* nobody looks into it */
}

struct jetstream_request *jetstream_next_held_ask(struct jetstream *server, const char *stream,
                                                  const char *subject, uint64_t sequence,
                                                  jetstream_held_fn *done, void *context) {
    assert_string_equal(stream, "VLP");
    assert_string_equal(subject, "vlp.>");
    assert_null(server->rest.done);
    server->rest = (struct rest_ask){done, context, sequence};
    return (struct jetstream_request *)server;
}

void jetstream_request_cancel(struct jetstream_request *request) {
    if (request != NULL && !review_ask_cancel(request)) {
        ((struct jetstream *)request)->rest.done = NULL;
    }
}

static bool is_ours(const struct jetstream *server, uint64_t sequence) {
    return server->is_there[sequence] && (!server->is_shared || sequence % 3 == 1);
}

/* The first message on the hub's subjects from there on; past `last`: there is none. */
static uint64_t find_ours(const struct jetstream *server, uint64_t from, uint64_t last) {
    while (from <= last && !is_ours(server, from)) {
        from++;
    }
    return from;
}

void answer_rest(struct jetstream *server, bool is_known) {
    const struct rest_ask ask = server->rest;
    const uint64_t first = find_ours(server, ask.from, server->last);
    struct jetstream_held held = {.found = JETSTREAM_HELD_UNKNOWN};
    if (is_known) {
        held.found = first <= server->last ? JETSTREAM_HELD_FOUND : JETSTREAM_HELD_GONE;
        held.sequence = first;
    }
    server->rest.done = NULL;
    ask.done(ask.context, &held);
}

enum parley_status ordered_consumer_open(struct jetstream *server, const char *stream,
                                         struct jetstream_start start, enum ordered_mode mode,
                                         const struct ordered_consumer_events *events,
                                         struct ordered_consumer **out) {
    assert_string_equal(stream, "VLP");
    struct ordered_consumer *feed = server->feeds;
    while (feed->is_used) {
        feed++;
        assert_true(feed < server->feeds + FEEDS_MAX);
    }
    *feed = (struct ordered_consumer){
        .server = server, .events = *events, .mode = mode, .is_used = true};
    server->feed_count++;
    /* 0: the server has yet to say where "new" is */
    feed->next = start.from == JETSTREAM_FROM_SEQUENCE ? start.sequence
                 : start.from == JETSTREAM_FROM_TIME   ? (uint64_t)start.time_ns
                                                       : 0;
    *out = feed;
    return PARLEY_OK;
}

void ordered_consumer_pull(struct ordered_consumer *feed, size_t count, size_t bytes) {
    assert_true(feed->is_used && feed->mode == ORDERED_REPLAY && count > 0);
    assert_true(bytes > 0);
    feed->pulled = count;
    feed->pulled_bytes = bytes;
    feed->has_come = false;
}

void ordered_consumer_close(struct ordered_consumer *feed) {
    assert_true(feed->is_used);
    feed->is_used = false;
}

void publish(struct jetstream *server, size_t count) {
    for (size_t i = 0; i < count && server->last + 1 < MESSAGES_MAX; i++) {
        server->is_there[++server->last] = true;
    }
}

void remove_message(struct jetstream *server, uint64_t sequence) {
    server->is_there[sequence] = false;
    while (server->first <= server->last && !server->is_there[server->first]) {
        server->first++;
    }
}

void answer_ask(struct jetstream *server) {
    struct ask ask = server->asks[0];
    server->ask_count--;
    memmove(server->asks, server->asks + 1, server->ask_count * sizeof server->asks[0]);
    struct jetstream_stream_info info = {
        .is_known = true, .first_sequence = server->first, .last_sequence = server->last};
    info.first_time_ns = server->first <= server->last ? (int64_t)server->first : 0;
    strcpy(info.created, server->created);
    ask.done(ask.context, &info);
}

static bool is_notice(const struct jetstream *server, uint64_t sequence) {
    return server->notice_every != 0 && sequence % server->notice_every == 0;
}

bool is_approval(const struct jetstream *server, uint64_t sequence) {
    return is_notice(server, sequence) && sequence / server->notice_every % 3 != 0;
}

/* A notice is of the message before it: "VLP.41", "VLP.41.notice", "VLP:41". */
void answer_review(const struct jetstream *server, bool is_known) {
    const char *what = review_ask_first()->what;
    const uint64_t sequence = strtoull(what + strlen("VLP."), NULL, 10) + 1;
    if (!is_known) {
        review_answer("");
    } else if (strchr(what, ':') != NULL) {
        review_answer(CLAIM);
    } else if (strstr(what, ".notice") != NULL) {
        review_answer(NULL);
    } else {
        review_answer(is_approval(server, sequence) ? DECISION("approve") : DECISION("reject"));
    }
}

void retry_reviews(struct world *world) {
    struct reactor_timer *retry = &world->hub.approvals.retry;
    if (retry->is_armed) {
        reactor_timer_clear(world->reactor, retry);
        retry->fire(retry);
    }
}

static size_t size_of(const struct jetstream *server, uint64_t sequence) {
    if (is_notice(server, sequence)) {
        return strlen(CLAIM);
    }
    size_t random = (size_t)(sequence * 2654435761u >> 7);
    return server->payload_size > 1 && random % 8 == 0
               ? 1 + random / 8 % (sizeof server->payload - 1)
               : server->payload_size;
}

static void rest(struct ordered_consumer *feed) {
    feed->pulled = 0;
    feed->events.pull_ended(feed->events.context);
}

/* It has got all that there is. */
static void say_if_current(struct ordered_consumer *feed, uint64_t end) {
    if (feed->is_used && feed->events.current != NULL &&
        find_ours(feed->server, feed->next, end) > end) {
        feed->events.current(feed->events.context);
    }
}

bool serve_feed(struct ordered_consumer *feed) {
    struct jetstream *server = feed->server;
    const uint64_t end = server->last - server->lag;
    if (!feed->is_open && server->makes_no_feed) {
        return false;
    }
    if (!feed->is_open) {
        feed->is_open = true;
        feed->next = feed->next == 0 ? server->last + 1 : feed->next;
        feed->events.opened(feed->events.context, feed->next);
        say_if_current(feed, end);
        return true;
    }
    if (feed->mode == ORDERED_REPLAY && feed->pulled == 0) {
        return false;
    }
    const uint64_t next = find_ours(server, feed->next, end);
    if (next > end) {
        return false;
    }
    feed->next = next;
    size_t size = size_of(server, feed->next);
    if (feed->mode == ORDERED_REPLAY && size > feed->pulled_bytes && feed->has_come) {
        rest(feed);
        return true;
    }
    char header[64];
    snprintf(header, sizeof header, "VLP:%ju approve", (uintmax_t)(next - 1));
    const struct jetstream_header headers[] = {{REVIEW_HEADER, header}, {.name = NULL}};
    const bool announces = is_notice(server, next);
    const struct jetstream_stored stored = {.sequence = feed->next,
                                            .time_ns = (int64_t)feed->next,
                                            .subject = "vlp.safe.claim",
                                            .payload = {announces ? CLAIM : server->payload, size},
                                            .known = announces ? headers : NULL};
    feed->next++;
    feed->pulled -= feed->mode == ORDERED_REPLAY ? 1 : 0;
    feed->pulled_bytes -= size < feed->pulled_bytes ? size : feed->pulled_bytes;
    feed->has_come = true;
    feed->events.stored(feed->events.context, &stored);
    say_if_current(feed, end);
    if (feed->is_used && feed->mode == ORDERED_REPLAY &&
        (feed->pulled == 0 || feed->pulled_bytes == 0)) {
        rest(feed);
    }
    return true;
}

size_t used_feeds(const struct jetstream *server) {
    size_t count = 0;
    for (size_t i = 0; i < FEEDS_MAX; i++) {
        count += server->feeds[i].is_used ? 1 : 0;
    }
    return count;
}

/* ---- readers ---- */

static void on_ready(struct stream_cursor *cursor) {
    struct reader *reader = cursor->reader;
    assert_false(reader->is_ready);
    reader->is_ready = reader->is_woken = true;
    if (reader->at == 0) {
        reader->at = cursor->has_gap ? cursor->gap_first : cursor->next;
    }
    reader->silent_until = cursor->silent_until;
    reader->end = cursor->end;
}

static void on_more(struct stream_cursor *cursor) {
    struct reader *reader = cursor->reader;
    assert_false(reader->is_woken);
    reader->is_woken = true;
    stream_cursor_unwait(cursor);
}

static void on_failed(struct stream_cursor *cursor) {
    (void)cursor;
    fail();
}

static const struct stream_cursor_events events = {on_ready, on_more, on_failed};

void open_reader(struct reader *reader, struct jetstream *server, struct stream_hub *hub) {
    reader->server = server;
    reader->is_used = true;
    assert_true(stream_cursor_start(&reader->cursor, hub, &reader->query, &events, reader));
}

void close_reader(struct reader *reader) {
    stream_cursor_stop(&reader->cursor);
    *reader = (struct reader){.is_used = false};
}

void reopen_reader(struct reader *reader, struct stream_hub *hub) {
    struct jetstream *server = reader->server;
    struct reader kept = *reader;
    struct stream_token token;
    const size_t length = stream_cursor_token(&reader->cursor, kept.token);
    assert_in_range(length, 1, STREAM_TOKEN_MAX - 1);
    assert_true(stream_token_find(kept.token, "VLP", &token));
    stream_cursor_stop(&reader->cursor);
    memset(reader, 0, sizeof *reader);
    memcpy(reader->token, kept.token, sizeof kept.token);
    stream_query_init(&reader->query);
    reader->query.since = STREAM_SINCE_TOKEN;
    reader->query.token = reader->token;
    reader->query.is_reviewed = kept.query.is_reviewed;
    reader->at = token.sequence + 1 > kept.at ? token.sequence + 1 : kept.at;
    reader->given = kept.given;
    open_reader(reader, server, hub);
}

void assert_gone(const struct reader *reader, uint64_t first, uint64_t last) {
    for (uint64_t sequence = first; sequence <= last; sequence++) {
        assert_false(is_ours(reader->server, sequence));
    }
}

static void get_event(struct reader *reader, struct stream_event *event) {
    if (event->sequence > reader->at) {
        /* Only since=all may pass over something without a word. */
        assert_true(reader->server->is_shared || event->sequence - 1 <= reader->silent_until);
        assert_gone(reader, reader->at, event->sequence - 1);
        reader->at = event->sequence;
    }
    assert_int_equal(event->sequence, reader->at);
    if (reader->query.is_reviewed && is_approval(reader->server, event->sequence)) {
        assert_int_equal(reader->given, event->sequence);
    }
    reader->at++;
    reader->event_count++;
}

/* Before its announcement, once. */
static void get_approved(struct reader *reader, const struct stream_event *event) {
    assert_true(reader->query.is_reviewed);
    assert_true(is_approval(reader->server, event->notice));
    assert_true(event->notice >= reader->at);
    assert_int_not_equal(event->notice, reader->given);
    assert_int_equal(event->sequence, event->notice - 1);
    reader->given = event->notice;
    reader->approved_count++;
}

static void get_gap(struct reader *reader) {
    uint64_t first, last;
    stream_cursor_take_gap(&reader->cursor, &first, &last);
    if (first > reader->at) {
        assert_int_equal(first, reader->silent_until + 1);
        assert_gone(reader, reader->at, first - 1);
    } else {
        assert_int_equal(first, reader->at);
    }
    reader->gap_count++;
    if (last == 0) {
        reader->restart_count++;
        reader->at = 1;
        reader->silent_until = 0;
        reader->given = 0;
        return;
    }
    assert_true(last >= first);
    assert_gone(reader, first, last);
    reader->at = last + 1;
}

/* Whoever came back with its token would miss nothing, neither a message nor a gap. */
static void check_token(const struct reader *reader) {
    char text[STREAM_TOKEN_MAX];
    struct stream_token token;
    const size_t length = stream_cursor_token(&reader->cursor, text);
    assert_in_range(length, 1, STREAM_TOKEN_MAX - 1);
    assert_true(stream_token_find(text, "VLP", &token));
    if (parley_bytes_equal(token.created, parley_bytes_of(reader->server->created)) &&
        token.sequence >= reader->at) {
        assert_true(reader->server->is_shared || token.sequence <= reader->silent_until);
        assert_gone(reader, reader->at, token.sequence);
    }
}

static bool read_item(struct reader *reader) {
    struct stream_event *event;
    check_token(reader);
    enum stream_item item = stream_cursor_peek(&reader->cursor, &event);
    assert_true(reader->cursor.queue.bytes <= AHEAD_BYTES_MAX + 64 * 1024);
    if (item == STREAM_EVENT) {
        event = stream_cursor_take(&reader->cursor, event);
        bool is_returned =
            dice(reader->server, 10) == 0 && stream_cursor_return(&reader->cursor, event);
        if (!is_returned) {
            get_event(reader, event);
        }
        stream_event_unref(event);
    } else if (item == STREAM_APPROVED) {
        event = stream_cursor_take_approved(&reader->cursor);
        bool is_returned =
            dice(reader->server, 3) == 0 && stream_cursor_return(&reader->cursor, event);
        if (!is_returned) {
            get_approved(reader, event);
        }
        stream_event_unref(event);
    } else if (item == STREAM_GAP) {
        get_gap(reader);
    } else {
        assert_int_not_equal(item, STREAM_FAILED);
        reader->is_done = item == STREAM_DONE;
        reader->is_refused = item == STREAM_UNREADABLE;
        reader->is_woken = false;
        stream_cursor_wait(&reader->cursor);
        return false;
    }
    return true;
}

void read_some(struct reader *reader, size_t count) {
    while (reader->is_ready && reader->is_woken && count-- > 0 && read_item(reader)) {
    }
}

/* ---- the world ---- */

struct world *make_world(unsigned seed, size_t ring_count, size_t payload_size) {
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->server.seed = seed;
    world->server.first = 1;
    world->server.payload_size = payload_size;
    strcpy(world->server.created, "2025-01-01T00:00:00Z");
    world->schema = vlp_schema();
    assert_int_equal(reactor_create(&world->reactor), PARLEY_OK);
    stream_pool_init(&world->pool, world->reactor, POOL_BYTES);
    stream_hub_init(&world->hub, &world->server, world->schema, &vlp_channel, &world->pool,
                    ring_count, 64 * 1024);
    return world;
}

void free_world(struct world *world) {
    for (size_t i = 0; i < READERS_MAX; i++) {
        if (world->readers[i].is_used) {
            close_reader(&world->readers[i]);
        }
    }
    assert_int_equal(used_feeds(&world->server), 0);
    assert_int_equal(world->pool.bytes, 0);
    assert_true(TAILQ_EMPTY(&world->pool.holders));
    assert_true(TAILQ_EMPTY(&world->pool.waiters));
    assert_int_equal(world->pool.granted_bytes, 0);
    stream_hub_finish(&world->hub);
    stream_pool_finish(&world->pool);
    reactor_destroy(world->reactor);
    parley_schema_destroy(world->schema);
    free(world);
}

void settle(struct world *world) {
    bool is_moving = true;
    while (is_moving) {
        is_moving = !TAILQ_EMPTY(&world->pool.waiters);
        world->pool.ticker.fire(&world->pool.ticker);
        while (world->server.ask_count > 0) {
            answer_ask(&world->server);
            is_moving = true;
        }
        if (review_asks_pending() > 0) {
            answer_review(&world->server, true);
            is_moving = true;
        } else if (world->hub.approvals.retry.is_armed) {
            retry_reviews(world);
            is_moving = true;
        }
        if (world->server.rest.done != NULL) {
            answer_rest(&world->server, true);
            is_moving = true;
        }
        for (size_t i = 0; i < FEEDS_MAX; i++) {
            struct ordered_consumer *feed = &world->server.feeds[i];
            is_moving |= feed->is_used && serve_feed(feed);
        }
        for (size_t i = 0; i < READERS_MAX; i++) {
            struct reader *reader = &world->readers[i];
            if (reader->is_used && reader->is_ready && reader->is_woken) {
                read_some(reader, SIZE_MAX);
                is_moving = true;
            }
        }
    }
}

struct reader *add_reader(struct world *world, const char *since) {
    struct reader *reader = world->readers;
    const char *wants;
    while (reader->is_used) {
        reader++;
    }
    stream_query_init(&reader->query);
    assert_int_equal(stream_query_set(&reader->query, "since", since, 1, &wants), STREAM_QUERY_SET);
    open_reader(reader, &world->server, &world->hub);
    return reader;
}
