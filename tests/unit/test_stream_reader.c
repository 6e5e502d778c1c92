/* SPDX-License-Identifier: Apache-2.0 */

/* From events to the bytes of a response. JetStream and HTTP are played by this file, so that
 * every byte and every wake-up can be counted. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream_reader.h"

#define CREATED "2025-12-01T00:00:00Z"
#define TOKEN(sequence) "VLP:" CREATED ":" #sequence
#define CLAIM                                                                                      \
    "{\"id\":\"MSG001\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","                              \
    "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"A\",\"content\":\"x\","                   \
    "\"confidence\":0.5}"
#define HEAD                                                                                       \
    "{\"specversion\":\"1.0\",\"id\":\"MSG001\",\"source\":\"/vlp/A\",\"type\":\"vlp.claim\","     \
    "\"subject\":\"vlp.safe.claim\",\"time\":\"2025-12-14T10:30:00Z\","                            \
    "\"datacontenttype\":\"application/json\","
#define EVENT(sequence, token)                                                                     \
    HEAD "\"sequence\":\"" #sequence "\",\"resume\":\"" token "\",\"data\":" CLAIM "}"

/* ---- JetStream and HTTP ---- */

struct jetstream_feed {
    struct jetstream_feed_events events;
    bool is_open;
};

struct jetstream {
    struct {
        jetstream_info_fn *done;
        void *context;
    } ask;
    struct jetstream_feed feed;
};

struct http_request {
    size_t wake_count;
};

bool jetstream_stream_ask(struct jetstream *jetstream, const char *stream, jetstream_info_fn *done,
                          void *context) {
    (void)stream;
    jetstream->ask.done = done;
    jetstream->ask.context = context;
    return true;
}

enum parley_status jetstream_feed_open(struct jetstream *jetstream, const char *stream,
                                       struct jetstream_start start, enum jetstream_flow flow,
                                       const struct jetstream_feed_events *events,
                                       struct jetstream_feed **out) {
    (void)stream;
    (void)start;
    if (flow == JETSTREAM_PULL) {
        return PARLEY_E_MEMORY; /* nothing here reads the past, but to see what a failure does */
    }
    jetstream->feed.events = *events;
    *out = &jetstream->feed;
    return PARLEY_OK;
}

void jetstream_feed_pull(struct jetstream_feed *feed, size_t count, size_t bytes) {
    (void)feed;
    assert_true(count > 0 && bytes > 0);
}

void jetstream_feed_close(struct jetstream_feed *feed) {
    feed->is_open = false;
}

void http_wake(struct http_request *request) {
    request->wake_count++;
}

const char *http_request_id(const struct http_request *request) {
    (void)request;
    return "r1";
}

const char *http_request_path(const struct http_request *request) {
    (void)request;
    return "/v1/stream";
}

/* ---- one reader of one or two streams, and everything that it sent ---- */

enum { STREAMS_MAX = 2, SENT_MAX = 65536, POOL_BYTES = 4096 };

extern const struct parley_protocol vlp_protocol;
static const struct channel vlp_channel = {
    .protocol = &vlp_protocol, .stream = "VLP", .subjects = "vlp.>"};

struct world {
    struct parley_schema *schema;
    struct reactor *reactor;
    struct stream_pool pool;
    struct jetstream servers[STREAMS_MAX];
    struct stream_hub hubs[STREAMS_MAX];
    size_t stream_count;
    struct http_request request;
    struct stream_query query;
    struct stream_reader *reader;
    bool is_ready;
    size_t moved_count;
    char sent[SENT_MAX];
    size_t length;
};

static void on_ready(struct stream_reader *reader) {
    struct world *world = reader->keeper;
    assert_false(world->is_ready);
    world->is_ready = true;
}

static void on_failed(struct stream_reader *reader) {
    (void)reader;
    fail();
}

static void on_moved(struct stream_reader *reader) {
    struct world *world = reader->keeper;
    world->moved_count++;
}

static const struct stream_reader_events events = {on_ready, on_failed, on_moved};

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    *state = world;
    stream_query_init(&world->query);
    return parley_schema_create(parley_protocol_find(PARLEY_BYTES("vlp")), &world->schema) ==
                   PARLEY_OK
               ? 0
               : -1;
}

static int tear_down(void **state) {
    struct world *world = *state;
    stream_reader_destroy(world->reader);
    for (size_t i = 0; i < world->stream_count; i++) {
        assert_null(world->hubs[i].feed);
        stream_hub_finish(&world->hubs[i]);
    }
    assert_int_equal(world->pool.bytes, 0);
    stream_pool_finish(&world->pool);
    reactor_destroy(world->reactor);
    parley_schema_destroy(world->schema);
    free(world);
    return 0;
}

/* Opens a reader of streams that hold messages 1 to 40. */
static void open_reader(struct world *world, size_t stream_count, bool is_sse) {
    world->stream_count = stream_count;
    assert_int_equal(reactor_create(&world->reactor), PARLEY_OK);
    stream_pool_init(&world->pool, world->reactor, POOL_BYTES);
    for (size_t i = 0; i < stream_count; i++) {
        stream_hub_init(&world->hubs[i], &world->servers[i], world->schema, &vlp_channel,
                        &world->pool, 4, SIZE_MAX);
    }
    world->reader =
        stream_reader_create(&world->request, &world->query, &events, world, stream_count);
    assert_non_null(world->reader);
    world->reader->is_sse = is_sse;
    assert_true(stream_reader_start(world->reader, world->hubs));
    for (size_t i = 0; i < stream_count; i++) {
        const struct jetstream_stream_info info = {.is_known = true,
                                                   .created = CREATED,
                                                   .first_sequence = 1,
                                                   .last_sequence = 40,
                                                   .first_time_ns = 1};
        assert_false(world->is_ready);
        world->servers[i].ask.done(world->servers[i].ask.context, &info);
        assert_false(world->is_ready);
        const struct jetstream_feed_events *feed = &world->servers[i].feed.events;
        feed->opened(feed->context, 41);
    }
    assert_true(world->is_ready);
}

static void store(struct world *world, size_t stream, uint64_t sequence) {
    const struct jetstream_stored stored = {.sequence = sequence,
                                            .time_ns = 1,
                                            .subject = "vlp.safe.claim",
                                            .payload = PARLEY_BYTES(CLAIM)};
    const struct jetstream_feed_events *feed = &world->servers[stream].feed.events;
    feed->stored(feed->context, &stored);
}

/* Reads with a buffer of `size` until there is nothing now.  Returns: what read returned last. */
static ssize_t read_all(struct world *world, size_t size) {
    for (;;) {
        char *buffer = malloc(size); /* exactly as large, for the address sanitizer */
        assert_non_null(buffer);
        ssize_t count = stream_reader_read(world->reader, buffer, size);
        if (count > 0) {
            assert_true(world->length + (size_t)count < SENT_MAX);
            memcpy(world->sent + world->length, buffer, (size_t)count);
            world->length += (size_t)count;
            world->sent[world->length] = '\0';
        }
        free(buffer);
        if (count <= 0) {
            return count;
        }
    }
}

/* ---- tests ---- */

static void test_an_event_is_a_line(void **state) {
    struct world *world = *state;
    open_reader(world, 1, false);
    assert_int_equal(read_all(world, 100), 0);
    assert_int_equal(world->length, 0);
    store(world, 0, 41);
    store(world, 0, 42);
    assert_int_equal(world->request.wake_count, 1);
    assert_int_equal(read_all(world, 10000), 0);
    assert_string_equal(world->sent, EVENT(41, TOKEN(41)) "\n" EVENT(42, TOKEN(42)) "\n");
    assert_int_equal(world->moved_count, 1);
}

static void test_a_reader_that_runs_dry_waits_at_once(void **state) {
    struct world *world = *state;
    char buffer[4096];
    open_reader(world, 1, false);
    store(world, 0, 41);
    const ssize_t length = (ssize_t)strlen(EVENT(41, TOKEN(41)) "\n");
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), length);
    assert_true(world->reader->is_waiting);
    store(world, 0, 42);
    assert_int_equal(world->request.wake_count, 1);
    store(world, 0, 43);
    assert_int_equal(world->request.wake_count, 1); /* it has been told */
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), 2 * length);
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), 0);
    /* A buffer that is full to the last byte says nothing of what is behind it. */
    store(world, 0, 44);
    assert_int_equal(stream_reader_read(world->reader, buffer, (size_t)length), length);
    assert_false(world->reader->is_waiting);
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), 0);
    assert_true(world->reader->is_waiting);
}

static void test_any_size_of_buffer_gives_the_same_bytes(void **state) {
    struct world *world = *state;
    open_reader(world, 2, true);
    const char expected[] =
        "retry: 2000\n\n"
        "id: " TOKEN(41) "," TOKEN(40) "\ndata: " EVENT(
            41, TOKEN(41) "," TOKEN(40)) "\n\n"
                                         "id: " TOKEN(41) "," TOKEN(41) "\ndata: " EVENT(
                                             41, TOKEN(41) "," TOKEN(41)) "\n\n";
    store(world, 0, 41);
    store(world, 1, 41);
    for (size_t size = 1; size < sizeof expected + 2; size += size < 40 ? 1 : 37) {
        world->length = 0;
        world->sent[0] = '\0';
        assert_int_equal(read_all(world, size), 0);
        assert_string_equal(world->sent, expected);
        world->reader->is_waiting = false;
        world->reader->notice = "retry: 2000\n\n";
        for (size_t i = 0; i < 2; i++) {
            stream_cursor_unwait(&world->reader->cursors[i]);
            world->reader->cursors[i].next = 41;
        }
        world->reader->turn = 0;
    }
}

static void test_server_sent_events_begin_with_retry(void **state) {
    struct world *world = *state;
    open_reader(world, 1, true);
    assert_int_equal(read_all(world, 100), 0);
    assert_string_equal(world->sent, "retry: 2000\n\n");
    store(world, 0, 41);
    assert_int_equal(read_all(world, 10000), 0);
    assert_string_equal(world->sent,
                        "retry: 2000\n\nid: " TOKEN(41) "\ndata: " EVENT(41, TOKEN(41)) "\n\n");
}

static void test_without_envelope_it_is_the_bare_message(void **state) {
    struct world *world = *state;
    world->query.is_bare = true;
    open_reader(world, 2, false);
    store(world, 1, 41);
    assert_int_equal(read_all(world, 50), 0);
    assert_string_equal(world->sent, CLAIM "\n");
}

static void test_a_gap_is_whole_even_without_envelope(void **state) {
    struct world *world = *state;
    world->query.is_bare = true;
    open_reader(world, 2, false);
    store(world, 0, 44);
    assert_int_equal(read_all(world, 50), 0);
    assert_non_null(strstr(world->sent, "\"type\":\"parley.gap\""));
    assert_non_null(strstr(world->sent,
                           "\"resume\":\"" TOKEN(43) "," TOKEN(
                               40) "\","
                                   "\"data\":{\"stream\":\"VLP\",\"first\":41,\"last\":43}}\n" CLAIM
                                   "\n"));
}

static void test_the_token_of_several_streams_says_where_all_of_them_are(void **state) {
    struct world *world = *state;
    open_reader(world, 2, false);
    store(world, 0, 41);
    store(world, 0, 42);
    store(world, 1, 41);
    assert_int_equal(read_all(world, 10000), 0);
    assert_string_equal(
        world->sent, EVENT(41, TOKEN(41) "," TOKEN(40)) "\n" EVENT(
                         41, TOKEN(41) "," TOKEN(41)) "\n" EVENT(42, TOKEN(42) "," TOKEN(41)) "\n");
}

static void test_an_event_that_leaves_the_ring_is_sent_to_its_end(void **state) {
    struct world *world = *state;
    open_reader(world, 1, false);
    char buffer[100];
    store(world, 0, 41);
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), sizeof buffer);
    for (uint64_t sequence = 42; sequence < 52; sequence++) {
        store(world, 0, sequence);
    }
    char rest[1000];
    size_t length = sizeof EVENT(41, TOKEN(41)) - sizeof buffer;
    assert_int_equal(stream_reader_read(world->reader, rest, length), length);
    assert_memory_equal(rest, &(EVENT(41, TOKEN(41)) "\n")[sizeof buffer], length);
}

/* Somebody else holds more than there is room for. */
static void fill_pool(struct world *world) {
    struct stream_holder other = {.give_back = NULL};
    world->pool.bytes_max = 0;
    stream_pool_touch(&world->pool, &other);
    stream_pool_leave(&world->pool, &other);
    world->pool.bytes_max = POOL_BYTES;
    assert_null(world->reader->current);
    assert_int_equal(world->pool.bytes, 0);
}

static void test_an_event_that_was_given_back_half_sent_is_sent_to_its_end(void **state) {
    struct world *world = *state;
    world->query.limit = 2;
    open_reader(world, 2, true);
    char expected[4096];
    int length =
        snprintf(expected, sizeof expected, "%s",
                 "retry: 2000\n\n"
                 "id: " TOKEN(41) "," TOKEN(40) "\ndata: " EVENT(
                     41, TOKEN(41) "," TOKEN(40)) "\n\n"
                                                  "id: " TOKEN(41) "," TOKEN(41) "\ndata: " EVENT(
                                                      41, TOKEN(41) "," TOKEN(41)) "\n\n");
    store(world, 0, 41);
    store(world, 1, 41);
    while (world->length < (size_t)length) {
        ssize_t count = stream_reader_read(world->reader, world->sent + world->length, 7);
        assert_in_range(count, 1, 7);
        world->length += (size_t)count;
        if (world->reader->current != NULL) {
            fill_pool(world);
        }
    }
    assert_string_equal(world->sent, expected);
    assert_int_equal(stream_reader_read(world->reader, expected, 7), HTTP_SOURCE_END);
}

static void test_an_event_that_was_given_back_and_is_gone_breaks_the_response(void **state) {
    struct world *world = *state;
    open_reader(world, 1, false);
    char buffer[100];
    store(world, 0, 41);
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), sizeof buffer);
    fill_pool(world);
    store(world, 0, 41); /* another one with its number: the stream had lost it */
    store(world, 0, 42);
    world->reader->returned.time_ns++;
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), HTTP_SOURCE_ABORT);
}

static void test_nothing_is_sent_within_an_event_that_was_given_back(void **state) {
    struct world *world = *state;
    open_reader(world, 1, false);
    char buffer[100];
    assert_int_equal(read_all(world, 100), 0);
    store(world, 0, 41);
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), sizeof buffer);
    fill_pool(world);
    stream_ring_restart(&world->hubs[0].ring, UINT64_MAX - 1);
    world->hubs[0].is_open = false; /* as if its feed were opened anew: it may come yet */
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), 0);
    stream_reader_keep_alive(world->reader);
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), 0);
    stream_reader_drain(world->reader);
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), 0);
}

static void test_what_cannot_be_fetched_breaks_the_response(void **state) {
    struct world *world = *state;
    open_reader(world, 1, false);
    for (uint64_t sequence = 41; sequence < 51; sequence++) {
        store(world, 0, sequence); /* the ring holds four, and no feed opens for the others */
    }
    assert_int_equal(read_all(world, 100), HTTP_SOURCE_ABORT);
    assert_int_equal(world->length, 0);
}

static void test_an_idle_reader_is_kept_alive(void **state) {
    struct world *world = *state;
    open_reader(world, 1, false);
    stream_reader_keep_alive(world->reader); /* it has not come to read yet */
    assert_int_equal(world->request.wake_count, 0);
    assert_int_equal(read_all(world, 100), 0);
    stream_reader_keep_alive(world->reader);
    stream_reader_keep_alive(world->reader);
    assert_int_equal(world->request.wake_count, 1);
    assert_int_equal(read_all(world, 100), 0);
    assert_string_equal(world->sent, "\n");
}

static void test_an_idle_event_source_gets_a_comment(void **state) {
    struct world *world = *state;
    open_reader(world, 1, true);
    assert_int_equal(read_all(world, 100), 0);
    stream_reader_keep_alive(world->reader);
    assert_int_equal(read_all(world, 100), 0);
    assert_string_equal(world->sent, "retry: 2000\n\n:\n\n");
}

static void test_a_drained_reader_gets_an_end_and_ends(void **state) {
    struct world *world = *state;
    open_reader(world, 2, false);
    assert_int_equal(read_all(world, 100), 0);
    stream_reader_drain(world->reader);
    assert_int_equal(world->request.wake_count, 1);
    assert_int_equal(read_all(world, 100), HTTP_SOURCE_END);
    assert_non_null(strstr(world->sent, "\"id\":\"r1\",\"source\":\"/v1/stream\","
                                        "\"type\":\"parley.end\""));
    assert_non_null(strstr(world->sent, "\"resume\":\"" TOKEN(40) "," TOKEN(40) "\""));
    assert_int_equal(read_all(world, 100), HTTP_SOURCE_END);
}

static void test_a_drained_reader_finishes_the_event_under_way(void **state) {
    struct world *world = *state;
    open_reader(world, 1, false);
    char buffer[10];
    store(world, 0, 41);
    store(world, 0, 42);
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), sizeof buffer);
    stream_reader_drain(world->reader);
    assert_int_equal(read_all(world, 100), HTTP_SOURCE_END);
    assert_memory_equal(world->sent, &(EVENT(41, TOKEN(41)) "\n")[sizeof buffer],
                        sizeof EVENT(41, TOKEN(41)) - sizeof buffer);
    assert_null(strstr(world->sent, "\"sequence\":\"42\""));
    assert_non_null(strstr(world->sent, "\"resume\":\"" TOKEN(41) "\",\"data\":{\"reason\""));
}

static void test_a_limit_ends_the_response_and_gaps_do_not_count(void **state) {
    struct world *world = *state;
    world->query.limit = 2;
    open_reader(world, 1, false);
    store(world, 0, 41);
    store(world, 0, 43);
    store(world, 0, 44);
    assert_int_equal(read_all(world, 100), HTTP_SOURCE_END);
    assert_non_null(strstr(world->sent, "parley.gap"));
    assert_non_null(strstr(world->sent, "\"sequence\":\"43\""));
    assert_null(strstr(world->sent, "\"sequence\":\"44\""));
}

static void test_a_reader_sleeps_through_what_its_filters_refuse(void **state) {
    struct world *world = *state;
    world->query.filters[STREAM_FILTER_SENDER] = "B";
    open_reader(world, 1, false);
    assert_int_equal(read_all(world, 100), 0);
    for (uint64_t sequence = 41; sequence < 60; sequence++) {
        store(world, 0, sequence);
    }
    assert_int_equal(world->request.wake_count, 0);
    stream_reader_drain(world->reader);
    assert_int_equal(read_all(world, 100), HTTP_SOURCE_END);
    assert_non_null(strstr(world->sent, "\"resume\":\"" TOKEN(59) "\""));
}

static void test_an_idle_reader_is_small(void **state) {
    (void)state;
    assert_true(sizeof(struct stream_reader) + sizeof(struct stream_cursor) < 1024);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_an_event_is_a_line),
        TEST(test_a_reader_that_runs_dry_waits_at_once),
        TEST(test_any_size_of_buffer_gives_the_same_bytes),
        TEST(test_server_sent_events_begin_with_retry),
        TEST(test_without_envelope_it_is_the_bare_message),
        TEST(test_a_gap_is_whole_even_without_envelope),
        TEST(test_the_token_of_several_streams_says_where_all_of_them_are),
        TEST(test_an_event_that_leaves_the_ring_is_sent_to_its_end),
        TEST(test_an_event_that_was_given_back_half_sent_is_sent_to_its_end),
        TEST(test_an_event_that_was_given_back_and_is_gone_breaks_the_response),
        TEST(test_nothing_is_sent_within_an_event_that_was_given_back),
        TEST(test_what_cannot_be_fetched_breaks_the_response),
        TEST(test_an_idle_reader_is_kept_alive),
        TEST(test_an_idle_event_source_gets_a_comment),
        TEST(test_a_drained_reader_gets_an_end_and_ends),
        TEST(test_a_drained_reader_finishes_the_event_under_way),
        TEST(test_a_limit_ends_the_response_and_gaps_do_not_count),
        TEST(test_a_reader_sleeps_through_what_its_filters_refuse),
        cmocka_unit_test(test_an_idle_reader_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
