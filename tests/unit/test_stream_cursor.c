/* SPDX-License-Identifier: Apache-2.0 */

/* Cursors and hub against a model of JetStream (stream_model.h): a stream whose messages appear and
 * vanish, and a server that answers when a dice says so. Thousands of orders of events, which a
 * real server shows once in a year, come by in a second; each must keep the one promise: every
 * message once and in order, or a gap that says it is gone. (What the real server does is
 * test_streams.c's.) */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream_model.h"
#include "stream_start.h"
#include "../lib/rounds.h"

/* ---- what happens by chance ---- */

static void open_some_reader(struct world *world) {
    struct jetstream *server = &world->server;
    struct reader *reader = &world->readers[dice(server, READERS_MAX)];
    const char *wants;
    char sequence[32];
    if (reader->is_used) {
        return;
    }
    stream_query_init(&reader->query);
    switch (dice(server, 4)) {
    case 0:
        break;
    case 1:
        reader->query.since = STREAM_SINCE_ALL;
        reader->at = 1;
        reader->silent_until = UINT64_MAX;
        break;
    case 2:
        reader->at = 1 + dice(server, (unsigned)server->last + 10);
        snprintf(sequence, sizeof sequence, "%ju", (uintmax_t)reader->at);
        stream_query_set(&reader->query, "since", sequence, 1, &wants);
        break;
    default:
        reader->at = 1 + dice(server, (unsigned)server->last + 1);
        snprintf(reader->token, sizeof reader->token, "VLP:%s:%ju", server->created,
                 (uintmax_t)(reader->at - 1));
        stream_query_set(&reader->query, "since", reader->token, 1, &wants);
    }
    reader->query.is_ending = dice(server, 3) == 0;
    open_reader(reader, server, &world->hub);
}

static void remove_something(struct jetstream *server) {
    if (server->first > server->last) {
        return;
    }
    unsigned span = (unsigned)(server->last - server->first + 1);
    if (dice(server, 4) == 0) {
        unsigned count = 1 + dice(server, span);
        while (count-- > 0 && server->first <= server->last) {
            remove_message(server, server->first);
        }
    } else {
        remove_message(server, server->first + dice(server, span));
    }
}

static void step(struct world *world) {
    struct jetstream *server = &world->server;
    struct ordered_consumer *feed = &server->feeds[dice(server, 16)];
    struct reader *reader = &world->readers[dice(server, READERS_MAX)];
    if (dice(server, 8) == 0) {
        world->pool.ticker.fire(&world->pool.ticker);
    }
    switch (dice(server, 16)) {
    case 0:
        publish(server, 1 + dice(server, 6));
        break;
    case 1:
        if (dice(server, 4) == 0) {
            remove_something(server);
        }
        break;
    case 2:
        open_some_reader(world);
        break;
    case 3:
        if (reader->is_used && dice(server, 10) == 0) {
            close_reader(reader);
        }
        break;
    case 4:
        if (server->ask_count > 0) {
            answer_ask(server);
        }
        break;
    case 5:
    case 6:
    case 7:
        read_some(reader, 1 + dice(server, 20));
        break;
    default:
        if (feed->is_used) {
            serve_feed(feed);
        }
    }
}

static void check_reader(const struct world *world, const struct reader *reader) {
    const struct jetstream *server = &world->server;
    assert_true(reader->is_ready);
    assert_null(reader->cursor.queue.first);
    if (!reader->query.is_ending) {
        assert_null(reader->cursor.feed);
        assert_gone(reader, reader->at, server->last);
        return;
    }
    if (!reader->is_done) { /* its last messages vanished, and nothing has come since */
        assert_gone(reader, reader->at, reader->end);
    }
    assert_true(reader->at <= reader->end + 1 || reader->event_count + reader->gap_count == 0);
}

static void live_through(unsigned seed, size_t ring_count, size_t payload_size) {
    struct world *world = make_world(seed, ring_count, payload_size);
    for (size_t i = 0; i < 6000; i++) {
        step(world);
    }
    settle(world);
    /* One that waits for messages which have vanished sees by the next one that they have. */
    publish(&world->server, 1);
    settle(world);
    for (size_t i = 0; i < READERS_MAX; i++) {
        if (world->readers[i].is_used) {
            check_reader(world, &world->readers[i]);
        }
    }
    free_world(world);
}

static void test_nobody_ever_loses_or_doubles_a_message(void **state) {
    (void)state;
    for (unsigned seed = 1; seed <= test_rounds(15); seed++) {
        live_through(seed, 1 + seed % 9, 1);
        live_through(seed, 200, 1);
        live_through(seed, 6, 9000);
    }
}

/* ---- what must happen ---- */

static void test_one_feed_serves_all_live_readers(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    for (size_t i = 0; i < READERS_MAX; i++) {
        add_reader(world, "now");
    }
    settle(world);
    publish(&world->server, 50);
    settle(world);
    assert_int_equal(used_feeds(&world->server), 1);
    for (size_t i = 0; i < READERS_MAX; i++) {
        assert_int_equal(world->readers[i].event_count, 50);
        assert_int_equal(world->readers[i].gap_count, 0);
        close_reader(&world->readers[i]);
        assert_int_equal(used_feeds(&world->server), i + 1 < READERS_MAX ? 1 : 0);
    }
    free_world(world);
}

static void test_many_readers_ask_in_two_batches(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    for (size_t i = 0; i < READERS_MAX; i++) {
        add_reader(world, "now");
    }
    assert_int_equal(world->server.ask_count, 1);
    answer_ask(&world->server);
    assert_int_equal(world->server.ask_count, 1);
    answer_ask(&world->server);
    assert_int_equal(world->server.ask_count, 0);
    settle(world);
    for (size_t i = 0; i < READERS_MAX; i++) {
        assert_true(world->readers[i].is_ready);
    }
    free_world(world);
}

static void test_a_reader_asks_after_it_has_come(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    add_reader(world, "now");
    struct jetstream before = world->server; /* how things were when the first one asked */
    publish(&world->server, 3);
    struct reader *second = add_reader(world, "now");
    uint64_t last = world->server.last;
    world->server.last = before.last;
    answer_ask(&world->server);
    world->server.last = last;
    settle(world);
    assert_int_equal(second->event_count, 0); /* they were there before it came */
    assert_int_equal(second->at, 4);
    free_world(world);
}

static void test_a_slow_reader_reads_by_itself_and_comes_back(void **state) {
    (void)state;
    struct world *world = make_world(1, 4, 1);
    struct reader *slow = add_reader(world, "now");
    settle(world);
    slow->is_ready = false; /* its client does not read */
    publish(&world->server, 500);
    settle(world);
    assert_int_equal(used_feeds(&world->server), 1);
    slow->is_ready = true;
    read_some(slow, 1);
    assert_int_equal(used_feeds(&world->server), 2);
    settle(world);
    assert_int_equal(slow->event_count, 500);
    assert_int_equal(slow->gap_count, 0);
    assert_int_equal(used_feeds(&world->server), 1);
    free_world(world);
}

static void test_a_reader_renders_little_ahead_of_its_client(void **state) {
    (void)state;
    struct world *world = make_world(1, 4, 1);
    publish(&world->server, 400);
    struct reader *reader = add_reader(world, "all");
    world->pool.bytes_max = 64 * 1024 * 1024;
    answer_ask(&world->server);
    while (reader->event_count < 400) {
        if (reader->event_count == 100) { /* many small ones were asked for */
            assert_true(reader->cursor.queue.count > 16);
            world->server.payload_size = sizeof world->server.payload;
        }
        for (size_t i = 0; i < FEEDS_MAX; i++) {
            while (world->server.feeds[i].is_used && serve_feed(&world->server.feeds[i])) {
            }
        }
        assert_true(reader->cursor.queue.bytes <= AHEAD_BYTES_MAX);
        read_some(reader, 1);
    }
    assert_int_equal(reader->gap_count, 0);
    free_world(world);
}

static void serve_all_feeds(struct world *world) {
    for (size_t i = 0; i < FEEDS_MAX; i++) {
        struct ordered_consumer *feed = &world->server.feeds[i];
        while (feed->is_used && serve_feed(feed)) {
        }
    }
}

static void test_stuck_readers_hold_no_more_than_the_pool_between_them(void **state) {
    (void)state;
    struct world *world = make_world(1, 4, 30000);
    publish(&world->server, 100);
    for (size_t i = 0; i < READERS_MAX; i++) {
        add_reader(world, "all");
    }
    while (world->server.ask_count > 0) {
        answer_ask(&world->server);
    }
    serve_all_feeds(world); /* the hub's */
    for (size_t round = 0; round < 100; round++) {
        for (size_t i = 0; i < READERS_MAX; i++) {
            struct stream_event *event;
            stream_cursor_peek(&world->readers[i].cursor, &event); /* and does not take */
        }
        serve_all_feeds(world);
        assert_in_range(world->pool.bytes, 1, POOL_BYTES);
    }
    settle(world);
    for (size_t i = 0; i < READERS_MAX; i++) {
        assert_int_equal(world->readers[i].event_count, 100);
        assert_int_equal(world->readers[i].gap_count, 0);
    }
    free_world(world);
}

static void test_what_is_gone_is_said_before_anything_new_comes(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    publish(&world->server, 10);
    while (world->server.first <= world->server.last) {
        remove_message(&world->server, world->server.first);
    }
    struct reader *reader = add_reader(world, "3");
    settle(world);
    assert_int_equal(reader->gap_count, 1);
    assert_int_equal(reader->at, 11);
    free_world(world);
}

static void test_since_all_says_nothing_of_what_was_gone_before(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    publish(&world->server, 10);
    remove_message(&world->server, 1);
    remove_message(&world->server, 5);
    struct reader *reader = add_reader(world, "all");
    settle(world);
    assert_int_equal(reader->event_count, 8);
    assert_int_equal(reader->gap_count, 0);
    free_world(world);
}

static void test_since_all_says_what_is_lost_later(void **state) {
    (void)state;
    struct world *world = make_world(1, 2, 1);
    publish(&world->server, 3);
    struct reader *reader = add_reader(world, "all");
    settle(world);
    reader->is_ready = false;
    publish(&world->server, 10);
    settle(world);
    for (uint64_t sequence = 1; sequence <= 8; sequence++) {
        remove_message(&world->server, sequence);
    }
    reader->is_ready = true;
    settle(world);
    assert_int_equal(reader->gap_count, 1);
    assert_int_equal(reader->event_count, 3 + 5);
    free_world(world);
}

static void test_a_time_starts_where_the_server_says(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    publish(&world->server, 10); /* stored at 1 ns, 2 ns, … */
    struct reader *reader = add_reader(world, "1970-01-01T00:00:00.000000007Z");
    settle(world);
    assert_int_equal(reader->event_count, 4);
    assert_int_equal(reader->gap_count, 0);
    assert_int_equal(used_feeds(&world->server), 1);
    free_world(world);
}

static void test_a_time_before_the_first_message_is_a_gap_if_there_were_others(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    publish(&world->server, 10);
    add_reader(world, "1970-01-01T00:00:00.000000001Z");
    settle(world);
    assert_int_equal(world->readers[0].gap_count, 0);
    remove_message(&world->server, 1);
    remove_message(&world->server, 2);
    world->readers[1].at = 1;
    struct reader *reader = add_reader(world, "1970-01-01T00:00:00.000000001Z");
    settle(world);
    assert_int_equal(reader->gap_count, 1);
    assert_int_equal(reader->event_count, 8);
    free_world(world);
}

static void test_a_sequence_to_come_waits(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    publish(&world->server, 2);
    struct reader *reader = add_reader(world, "6");
    settle(world);
    publish(&world->server, 5);
    settle(world);
    assert_int_equal(reader->event_count, 2);
    assert_int_equal(reader->gap_count, 0);
    free_world(world);
}

static void assert_token(const struct reader *reader, const char *expected) {
    char token[STREAM_TOKEN_MAX];
    assert_true(stream_cursor_token(&reader->cursor, token) > 0);
    assert_string_equal(token, expected);
}

#define LIFE "VLP:2025-01-01T00:00:00Z:"

/* The token of one that waits says that it does, so that this is no stream which has lost its end.
 * (D7) */
static void test_one_that_comes_back_waiting_gets_nothing_before_what_it_asked_for(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    publish(&world->server, 13);
    struct reader *first = add_reader(world, "20");
    settle(world);
    assert_token(first, LIFE "ahead:19");
    publish(&world->server, 2);
    settle(world);
    assert_token(first, LIFE "ahead:19");
    close_reader(first);
    world->readers[0].at = 20;
    struct reader *back = add_reader(world, LIFE "ahead:19");
    uint64_t last;
    settle(world);
    assert_int_equal(stream_cursor_waits_for(&back->cursor, &last), 20);
    assert_int_equal(last, 15);
    assert_token(back, LIFE "ahead:19");
    publish(&world->server, 4); /* it would be the next one now, as of any other reader */
    settle(world);
    assert_token(back, LIFE "19");
    publish(&world->server, 6);
    settle(world);
    assert_int_equal(back->event_count, 6);
    assert_int_equal(back->gap_count, 0);
    assert_token(back, LIFE "25");
    free_world(world);
}

static void test_one_that_comes_back_after_what_it_waited_for_gets_all_from_there(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    publish(&world->server, 25);
    world->readers[0].at = 20;
    struct reader *back = add_reader(world, LIFE "ahead:19");
    settle(world);
    assert_int_equal(back->event_count, 6);
    assert_int_equal(back->gap_count, 0);
    assert_token(back, LIFE "25");
    free_world(world);
}

static void test_one_that_waited_is_told_of_a_stream_made_anew(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    publish(&world->server, 3);
    world->readers[0].at = 20;
    struct reader *back = add_reader(world, "VLP:2024-01-01T00:00:00Z:ahead:19");
    settle(world);
    assert_int_equal(back->restart_count, 1);
    assert_int_equal(back->event_count, 3);
    assert_token(back, LIFE "3");
    free_world(world);
}

static void make_anew(struct jetstream *server, size_t count) {
    memset(server->is_there, 0, sizeof server->is_there);
    strcpy(server->created, "2026-02-02T00:00:00Z");
    server->first = 1;
    server->last = 0;
    publish(server, count);
}

static void test_a_token_of_a_former_stream_is_a_gap_and_then_everything(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    make_anew(&world->server, 3);
    world->readers[0].at = 43;
    struct reader *reader = add_reader(world, "VLP:2025-01-01T00:00:00Z:42");
    settle(world);
    assert_int_equal(reader->restart_count, 1);
    assert_int_equal(reader->event_count, 3);
    free_world(world);
}

/* Another member of a cluster answers. */
static void test_a_creation_some_milliseconds_off_is_the_same_stream(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    struct reader *live = add_reader(world, "now");
    settle(world);
    publish(&world->server, 20);
    settle(world);
    strcpy(world->server.created, "2025-01-01T00:00:00.007Z");
    stream_hub_check(&world->hub, 1000000);
    answer_ask(&world->server);
    struct reader *back = add_reader(world, "VLP:2025-01-01T00:00:00Z:15");
    settle(world);
    assert_int_equal(live->restart_count + back->restart_count, 0);
    assert_int_equal(live->event_count, 20);
    free_world(world);
}

static void test_a_creation_some_milliseconds_off_is_another_stream_if_it_went_back(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    make_anew(&world->server, 3);
    strcpy(world->server.created, "2025-01-01T00:00:00.007Z");
    struct reader *back = add_reader(world, "VLP:2025-01-01T00:00:00Z:15");
    settle(world);
    assert_int_equal(back->restart_count, 1);
    assert_int_equal(back->event_count, 3);
    free_world(world);
}

static void test_times_of_creation_may_differ_a_little(void **state) {
    (void)state;
    static const struct {
        const char *created;
        uint64_t sequence;
        bool is_same, is_same_if_replicated;
    } cases[] = {
        {"2026-11-22T14:56:37.278602845Z", 42, true, true},
        {"2026-11-22T14:56:37.28550499Z", 42, true, true},
        {"2026-11-22T14:56:37.03Z", 42, true, true},
        {"2026-11-22T14:56:37.28Z", 43, false, true},
        {"2026-11-22T14:56:37.02Z", 42, false, false},
        {"2026-11-22T14:56:38Z", 1, false, false},
        {"", 0, false, false},
    };
    struct jetstream_stream_info info = {
        .is_known = true, .created = "2026-11-22T14:56:37.278602845Z", .last_sequence = 42};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        info.is_replicated = false;
        const struct parley_bytes created = parley_bytes_of(cases[i].created);
        assert_int_equal(stream_start_is_same(created, cases[i].sequence, &info), cases[i].is_same);
        info.is_replicated = true;
        assert_int_equal(stream_start_is_same(created, cases[i].sequence, &info),
                         cases[i].is_same_if_replicated);
    }
}

static void test_a_stream_made_anew_is_noticed_while_it_is_read(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    struct reader *live = add_reader(world, "now");
    settle(world);
    publish(&world->server, 20);
    settle(world);
    make_anew(&world->server, 5);
    settle(world);
    assert_int_equal(live->event_count, 20); /* it cannot know yet */
    stream_hub_check(&world->hub, 1000000);
    answer_ask(&world->server);
    read_some(live, SIZE_MAX); /* the gap, and then it waits for the new feed */
    assert_int_equal(live->restart_count, 1);
    assert_int_equal(used_feeds(&world->server), 1);
    settle(world);
    assert_int_equal(live->event_count, 25);
    publish(&world->server, 5);
    settle(world);
    assert_int_equal(live->event_count, 30);
    assert_int_equal(live->gap_count, 1);
    assert_int_equal(used_feeds(&world->server), 1);
    free_world(world);
}

/* As after a power cut: the last messages are gone, and their numbers are given again. */
static void lose_end(struct jetstream *server, uint64_t last) {
    while (server->last > last) {
        server->is_there[server->last--] = false;
    }
    for (size_t i = 0; i < FEEDS_MAX; i++) {
        if (server->feeds[i].next > last + 1) {
            server->feeds[i].next = last + 1; /* what a feed does that finds its consumer gone */
        }
    }
}

static void test_a_stream_that_lost_its_end_is_read_on(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    struct reader *live = add_reader(world, "now");
    struct reader *patient = add_reader(world, "30");
    settle(world);
    publish(&world->server, 10);
    settle(world);
    lose_end(&world->server, 6);
    publish(&world->server, 2);
    live->at = 7;
    settle(world);
    assert_int_equal(live->event_count, 12);
    assert_int_equal(live->gap_count, 0);
    assert_int_equal(patient->cursor.next, 30);
    struct reader *back = add_reader(world, "VLP:2025-01-01T00:00:00Z:10");
    settle(world);
    publish(&world->server, 1);
    settle(world);
    assert_int_equal(back->event_count, 1);
    free_world(world);
}

/* It reads from the first message to the last, and ends there. */
static struct reader *open_reader_of_the_past(struct world *world) {
    struct reader *reader = &world->readers[0];
    stream_query_init(&reader->query);
    reader->query.since = STREAM_SINCE_ALL;
    reader->query.is_ending = true;
    open_reader(reader, &world->server, &world->hub);
    answer_ask(&world->server);
    return reader;
}

static void test_an_end_that_vanished_is_given_up_after_two_checks(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    publish(&world->server, 5);
    struct reader *reader = open_reader_of_the_past(world);
    remove_message(&world->server, 4);
    remove_message(&world->server, 5);
    settle(world);
    assert_int_equal(reader->event_count, 3);
    assert_false(reader->is_done);
    stream_hub_check(&world->hub, 1000000);
    settle(world);
    assert_false(reader->is_done);
    stream_hub_check(&world->hub, 1000001); /* too soon: it asks nothing */
    settle(world);
    assert_false(reader->is_done);
    stream_hub_check(&world->hub, 1015000);
    settle(world);
    assert_true(reader->is_done);
    free_world(world);
}

static void test_an_end_is_not_given_up_while_nothing_can_come(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    publish(&world->server, 5);
    world->server.makes_no_feed = true;
    struct reader *reader = open_reader_of_the_past(world);
    settle(world);
    for (int64_t at_ms = 1000000; at_ms <= 1015000; at_ms += 15000) {
        assert_false(reader->is_refused);
        stream_hub_check(&world->hub, at_ms);
        settle(world);
    }
    assert_true(reader->is_refused);
    assert_false(reader->is_done);
    assert_int_equal(reader->gap_count, 0);
    free_world(world);
}

/* It had to wait for room in the pool, during the first check. */
static void test_a_feed_that_is_opened_late_has_two_checks_too(void **state) {
    (void)state;
    struct world *world = make_world(1, 100, 1);
    publish(&world->server, 5);
    struct reader *reader = open_reader_of_the_past(world);
    reader->cursor.typical_bytes = POOL_BYTES / 2;
    world->pool.granted_bytes = POOL_BYTES; /* to others */
    read_some(reader, SIZE_MAX);
    stream_hub_check(&world->hub, 1000000);
    answer_ask(&world->server);
    assert_int_equal(used_feeds(&world->server), 0);
    world->pool.granted_bytes = 0;
    world->pool.ticker.fire(&world->pool.ticker);
    assert_int_equal(used_feeds(&world->server), 1);
    stream_hub_check(&world->hub, 1015000);
    answer_ask(&world->server);
    settle(world);
    assert_false(reader->is_refused);
    assert_true(reader->is_done);
    assert_int_equal(reader->event_count, 5);
    assert_int_equal(reader->gap_count, 0);
    free_world(world);
}

static void test_filters_hide_messages_and_no_gaps(void **state) {
    (void)state;
    struct world *world = make_world(1, 4, 1);
    struct reader *reader = &world->readers[0];
    stream_query_init(&reader->query);
    stream_query_filter(&reader->query, STREAM_FILTER_TYPE,
                        "claim"); /* all that comes is foreign */
    open_reader(reader, &world->server, &world->hub);
    settle(world);
    publish(&world->server, 40);
    settle(world);
    assert_false(reader->is_woken);
    assert_int_equal(reader->event_count + reader->gap_count, 0);
    assert_true(reader->cursor.place == STREAM_PARKED);
    assert_int_equal(world->hub.compared_count, 0);
    char token[STREAM_TOKEN_MAX];
    stream_cursor_token(&reader->cursor, token);
    assert_string_equal(token, "VLP:2025-01-01T00:00:00Z:40");
    reader->at = 41;
    publish(&world->server, 2);
    remove_message(&world->server, 41);
    settle(world);
    assert_int_equal(reader->gap_count, 1);
    free_world(world);
}

/* What an event costs beside readers whom it does not concern. */
static void test_an_event_is_held_against_few_groups_however_many_wait(void **state) {
    (void)state;
    static const struct {
        const char *name, *value;
    } filters[READERS_MAX] = {
        {"type", "claim"},
        {"type", "vlp.claim"},
        {"type", "claim"},
        {"lane", "safe,review"},
        {"sender", "A"},
        {"sender", "B"},
        {"receiver", "C"},
        {"thread", "T"},
        {"sender", "A,B,D"},
        {"sender", "A"},
        {"type", "parley.foreign"},
        {"type", "foreign"},
    };
    struct world *world = make_world(1, 4, 1);
    const char *wants;
    for (size_t i = 0; i < READERS_MAX; i++) {
        struct reader *reader = &world->readers[i];
        stream_query_init(&reader->query);
        assert_int_equal(
            stream_query_set(&reader->query, filters[i].name, filters[i].value, 1, &wants),
            STREAM_QUERY_SET);
        open_reader(reader, &world->server, &world->hub);
    }
    settle(world);
    publish(&world->server, 40); /* all of it foreign, and for the last two */
    settle(world);
    assert_int_equal(world->hub.compared_count, 2 * 40);
    for (size_t i = 0; i < READERS_MAX; i++) {
        bool is_concerned = i >= READERS_MAX - 2;
        assert_int_equal(world->readers[i].event_count, is_concerned ? 40 : 0);
        assert_int_equal(world->readers[i].gap_count, 0);
        assert_true(world->readers[i].cursor.place == STREAM_PARKED);
    }
    free_world(world);
}

/* Of those who wait together, some wait for a time yet to come. */
static void test_who_waits_for_a_time_to_come_is_not_woken_before_it(void **state) {
    (void)state;
    struct world *world = make_world(1, 64, 1);
    struct reader *now = add_reader(world, "now"),
                  *later = add_reader(world, "1970-01-01T00:00:00Z");
    later->query.time_ns = 5; /* as its message is stored: the model's time is the sequence */
    later->query.is_future = true;
    settle(world);
    assert_true(now->cursor.place == STREAM_PARKED && later->cursor.place == STREAM_PARKED);
    assert_ptr_equal(now->cursor.group, later->cursor.group);
    for (uint64_t sequence = 1; sequence <= 6; sequence++) {
        publish(&world->server, 1);
        settle(world);
        assert_int_equal(now->event_count, sequence);
        if (sequence == 4) {
            later->at = 5; /* the others are older than what it wants */
        }
        assert_int_equal(later->event_count, sequence < 5 ? 0 : sequence - 4);
        assert_true(now->cursor.place == STREAM_PARKED && later->cursor.place == STREAM_PARKED);
    }
    free_world(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_ever_loses_or_doubles_a_message),
        cmocka_unit_test(test_one_feed_serves_all_live_readers),
        cmocka_unit_test(test_many_readers_ask_in_two_batches),
        cmocka_unit_test(test_a_reader_asks_after_it_has_come),
        cmocka_unit_test(test_a_slow_reader_reads_by_itself_and_comes_back),
        cmocka_unit_test(test_a_reader_renders_little_ahead_of_its_client),
        cmocka_unit_test(test_stuck_readers_hold_no_more_than_the_pool_between_them),
        cmocka_unit_test(test_what_is_gone_is_said_before_anything_new_comes),
        cmocka_unit_test(test_since_all_says_nothing_of_what_was_gone_before),
        cmocka_unit_test(test_since_all_says_what_is_lost_later),
        cmocka_unit_test(test_a_time_starts_where_the_server_says),
        cmocka_unit_test(test_a_time_before_the_first_message_is_a_gap_if_there_were_others),
        cmocka_unit_test(test_a_sequence_to_come_waits),
        cmocka_unit_test(test_one_that_comes_back_waiting_gets_nothing_before_what_it_asked_for),
        cmocka_unit_test(test_one_that_comes_back_after_what_it_waited_for_gets_all_from_there),
        cmocka_unit_test(test_one_that_waited_is_told_of_a_stream_made_anew),
        cmocka_unit_test(test_a_token_of_a_former_stream_is_a_gap_and_then_everything),
        cmocka_unit_test(test_a_creation_some_milliseconds_off_is_the_same_stream),
        cmocka_unit_test(test_a_creation_some_milliseconds_off_is_another_stream_if_it_went_back),
        cmocka_unit_test(test_times_of_creation_may_differ_a_little),
        cmocka_unit_test(test_a_stream_made_anew_is_noticed_while_it_is_read),
        cmocka_unit_test(test_a_stream_that_lost_its_end_is_read_on),
        cmocka_unit_test(test_an_end_that_vanished_is_given_up_after_two_checks),
        cmocka_unit_test(test_an_end_is_not_given_up_while_nothing_can_come),
        cmocka_unit_test(test_a_feed_that_is_opened_late_has_two_checks_too),
        cmocka_unit_test(test_filters_hide_messages_and_no_gaps),
        cmocka_unit_test(test_an_event_is_held_against_few_groups_however_many_wait),
        cmocka_unit_test(test_who_waits_for_a_time_to_come_is_not_woken_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
