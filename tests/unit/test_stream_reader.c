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

#include "stream_fixture.h"
#include "stream_reader.h"
#include "stream_review.h"

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
#define STORED_AT "\"1970-01-01T00:00:00.000000001Z\"" /* of what store() stores */
#define OPENING "retry: 2000\nid: " TOKEN(40) "\n\n"
#define OPENING2 "retry: 2000\nid: " TOKEN(40) "," TOKEN(40) "\n\n"
#define EVENT(sequence, token)                                                                     \
    HEAD "\"sequence\":\"" #sequence "\",\"recordedtime\":" STORED_AT ",\"resume\":\"" token       \
         "\",\"data\":" CLAIM "}"

/* ---- JetStream and HTTP ---- */

struct ordered_consumer {
    struct ordered_consumer_events events;
    bool is_open;
};

struct jetstream {
    struct {
        jetstream_info_fn *done;
        void *context;
    } ask;
    struct ordered_consumer feed;
    struct ordered_consumer past; /* which opens only if has_past */
    bool has_past;
};

struct http_request {
    size_t wake_count;
};

struct jetstream_request *jetstream_stream_ask(struct jetstream *jetstream, const char *stream,
                                               jetstream_info_fn *done, void *context) {
    (void)stream;
    jetstream->ask.done = done;
    jetstream->ask.context = context;
    return (struct jetstream_request *)jetstream; /* nobody looks into it */
}

/* Only of streams that hold something else too. */
struct jetstream_request *jetstream_next_held_ask(struct jetstream *jetstream, const char *stream,
                                                  const char *subject, uint64_t sequence,
                                                  jetstream_held_fn *done, void *context) {
    (void)jetstream, (void)stream, (void)subject, (void)sequence, (void)done, (void)context;
    abort();
}

void jetstream_request_cancel(struct jetstream_request *request) {
    assert_true(request == NULL || review_ask_cancel(request));
}

enum parley_status ordered_consumer_open(struct jetstream *jetstream, const char *stream,
                                         struct jetstream_start start, enum ordered_mode mode,
                                         const struct ordered_consumer_events *events,
                                         struct ordered_consumer **out) {
    (void)stream;
    (void)start;
    if (mode == ORDERED_REPLAY && jetstream->has_past) {
        jetstream->past = (struct ordered_consumer){.events = *events, .is_open = true};
        *out = &jetstream->past;
        return PARLEY_OK;
    }
    if (mode == ORDERED_REPLAY) {
        return PARLEY_E_MEMORY; /* to see what a failure does */
    }
    jetstream->feed.events = *events;
    *out = &jetstream->feed;
    return PARLEY_OK;
}

void ordered_consumer_pull(struct ordered_consumer *feed, size_t count, size_t bytes) {
    (void)feed;
    assert_true(count > 0 && bytes > 0);
}

void ordered_consumer_close(struct ordered_consumer *feed) {
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
    uint64_t first_sequence;
    bool is_ready, is_ending;
    size_t moved_count;
    const struct parley_codec *codec; /* of the reader */
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
    world->first_sequence = 1;
    world->schema = vlp_schema();
    review_asks_reset();
    return 0;
}

static void close_reader(struct world *world) {
    stream_reader_destroy(world->reader);
    for (size_t i = 0; i < world->stream_count; i++) {
        assert_null(world->hubs[i].feed);
        stream_hub_finish(&world->hubs[i]);
    }
    assert_int_equal(world->pool.bytes, 0);
    stream_pool_finish(&world->pool);
    reactor_destroy(world->reactor);
    world->reader = NULL;
    world->reactor = NULL;
    world->stream_count = 0;
    world->is_ready = false;
}

static int tear_down(void **state) {
    struct world *world = *state;
    if (world->reader != NULL) {
        close_reader(world);
    }
    parley_schema_destroy(world->schema);
    free(world);
    return 0;
}

/* Opens a reader of streams that hold messages 1 to 40. Its first bytes are still to be read. */
static void start_reader(struct world *world, size_t stream_count, bool is_sse) {
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
    world->reader->access.reads = UINT64_MAX;
    world->reader->codec = world->codec;
    assert_true(stream_reader_start(world->reader, world->hubs, stream_count));
    for (size_t i = 0; i < stream_count; i++) {
        const struct jetstream_stream_info info = {.is_known = true,
                                                   .created = CREATED,
                                                   .first_sequence = world->first_sequence,
                                                   .last_sequence = 40,
                                                   .first_time_ns = 1};
        assert_false(world->is_ready);
        world->servers[i].ask.done(world->servers[i].ask.context, &info);
        if (world->is_ending) {
            continue;
        }
        assert_false(world->is_ready);
        const struct ordered_consumer_events *feed = &world->servers[i].feed.events;
        feed->opened(feed->context, 41);
    }
    assert_true(world->is_ready);
}

/* The same, of which parley.open has been read. */
static void open_reader(struct world *world, size_t stream_count, bool is_sse) {
    start_reader(world, stream_count, is_sse);
    if (!is_sse) {
        world->reader->due = STREAM_DUE_NOTHING;
    }
}

static void store(struct world *world, size_t stream, uint64_t sequence) {
    const struct jetstream_stored stored = {.sequence = sequence,
                                            .time_ns = 1,
                                            .subject = "vlp.safe.claim",
                                            .payload = PARLEY_BYTES(CLAIM)};
    const struct ordered_consumer_events *feed = &world->servers[stream].feed.events;
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

/* Opens one that reads a stream to its end, of which it wants nothing. */
static void start_ending_reader(struct world *world, bool is_sse) {
    world->is_ending = true;
    start_reader(world, 1, is_sse);
}

/* `line` is one event of parley's own.  `end`: what follows its time. */
static void assert_own_event(const char *line, const char *id, const char *type, const char *end) {
    char start[256];
    snprintf(start, sizeof start, "{\"specversion\":\"1.0\",\"id\":\"%s", id);
    if (strncmp(line, start, strlen(start)) != 0 || strstr(line, type) == NULL ||
        strlen(line) < strlen(end) || strcmp(line + strlen(line) - strlen(end), end) != 0 ||
        strchr(line, '\n') != line + strlen(line) - 1) {
        fail_msg("%s is not %s … %s … %s", line, start, type, end);
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
    const char expected[] = OPENING2 "id: " TOKEN(41) "," TOKEN(40) "\ndata: " EVENT(
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
        world->reader->due = STREAM_DUE_OPEN;
        for (size_t i = 0; i < 2; i++) {
            stream_cursor_unwait(&world->reader->cursors[i]);
            world->reader->cursors[i].next = 41;
        }
        world->reader->turn = 0;
    }
}

static void test_server_sent_events_begin_with_retry_and_an_id(void **state) {
    struct world *world = *state;
    open_reader(world, 1, true);
    assert_int_equal(read_all(world, 100), 0);
    assert_string_equal(world->sent, OPENING);
    store(world, 0, 41);
    assert_int_equal(read_all(world, 10000), 0);
    assert_string_equal(world->sent,
                        OPENING "id: " TOKEN(41) "\ndata: " EVENT(41, TOKEN(41)) "\n\n");
}

static void test_server_sent_events_to_an_end_begin_with_retry_alone(void **state) {
    struct world *world = *state;
    world->query.is_ending = true;
    start_ending_reader(world, true);
    assert_int_equal(read_all(world, 100), HTTP_SOURCE_END);
    assert_string_equal(world->sent, "retry: 2000\n\n");
}

/* newcomer 2.6: a reader that has seen no event yet knows where it is. */
static void test_a_stream_begins_with_an_event_that_says_where_it_is(void **state) {
    struct world *world = *state;
    world->query.limit = 1; /* it does not count */
    start_reader(world, 2, false);
    assert_int_equal(read_all(world, 50), 0);
    const size_t length = world->length;
    assert_own_event(world->sent, "r1:open", "parley.open",
                     "\"datacontenttype\":\"application/json\",\"resume\":\"" TOKEN(40) "," TOKEN(
                         40) "\",\"data\":{}}\n");
    store(world, 0, 41);
    assert_int_equal(read_all(world, 50), HTTP_SOURCE_END);
    assert_string_equal(world->sent + length, EVENT(41, TOKEN(41) "," TOKEN(40)) "\n");
}

static void test_the_opening_of_one_that_waits_for_a_sequence_names_it(void **state) {
    struct world *world = *state;
    world->query.since = STREAM_SINCE_SEQUENCE;
    world->query.sequence = 1000;
    start_reader(world, 1, false);
    assert_int_equal(read_all(world, 50), 0);
    assert_non_null(strstr(world->sent, "\"resume\":\"VLP:" CREATED ":ahead:999\","
                                        "\"data\":{\"waiting_for\":1000,\"last\":40}}\n"));
}

static void test_the_opening_of_one_whose_sequence_is_there_names_none(void **state) {
    struct world *world = *state;
    world->query.since = STREAM_SINCE_SEQUENCE;
    world->query.sequence = 40;
    start_reader(world, 1, false);
    char buffer[1000];
    const ssize_t count = stream_reader_read(world->reader, buffer, sizeof buffer - 1);
    /* It is not in the ring, and no feed opens for it; what was read before that came. */
    assert_true(count > 0);
    buffer[count] = '\0';
    assert_non_null(strstr(buffer, "\"resume\":\"" TOKEN(39) "\",\"data\":{}}\n"));
}

static void test_the_opening_stands_before_a_gap_that_has_yet_to_be_told(void **state) {
    struct world *world = *state;
    static const struct {
        uint64_t sequence;
        const char *token, *resume;
    } rows[] = {
        {3, NULL, TOKEN(2)},
        {0, TOKEN(5), TOKEN(5)},
        /* of a former stream: whoever comes back with it is told again */
        {0, "VLP:2024-01-01T00:00:00Z:77", "VLP:2024-01-01T00:00:00Z:77"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world->query.since = rows[i].token != NULL ? STREAM_SINCE_TOKEN : STREAM_SINCE_SEQUENCE;
        world->query.sequence = rows[i].sequence;
        world->query.token = rows[i].token;
        world->first_sequence = 30;
        start_reader(world, 1, false);
        char buffer[2000], expected[200];
        const ssize_t count = stream_reader_read(world->reader, buffer, sizeof buffer - 1);
        assert_true(count > 0);
        buffer[count] = '\0';
        snprintf(expected, sizeof expected, "\"resume\":\"%s\",\"data\":{}}\n", rows[i].resume);
        const char *opening = strstr(buffer, expected), *gap = strstr(buffer, "parley.gap");
        if (opening == NULL || gap == NULL || gap < opening) {
            fail_msg("%s: %s", expected, buffer);
        }
        close_reader(world);
    }
}

static void test_without_envelope_it_is_the_bare_message(void **state) {
    struct world *world = *state;
    world->query.is_bare = true;
    start_reader(world, 2, false);
    store(world, 1, 41);
    assert_int_equal(read_all(world, 50), 0);
    assert_string_equal(world->sent, "\n" CLAIM "\n"); /* the blank line opens it */
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
                 OPENING2 "id: " TOKEN(41) "," TOKEN(40) "\ndata: " EVENT(
                     41, TOKEN(41) "," TOKEN(40)) "\n\n"
                                                  "id: " TOKEN(41) "," TOKEN(41) "\ndata: " EVENT(
                                                      41, TOKEN(41) "," TOKEN(41)) "\n\n");
    store(world, 0, 41);
    store(world, 1, 41);
    while (world->length < (size_t)length) {
        ssize_t count = stream_reader_read(world->reader, world->sent + world->length, 7);
        assert_in_range(count, 1, 7);
        world->length += (size_t)count;
        if (world->reader->current != NULL && world->reader->current->sequence != 0) {
            fill_pool(world);
        }
    }
    assert_string_equal(world->sent, expected);
    assert_int_equal(stream_reader_read(world->reader, expected, 7), HTTP_SOURCE_END);
}

/* ---- what people approve ---- */

#define APPROVED_TOKEN "VLP:" CREATED ":reviewed:40"
#define APPROVED                                                                                   \
    "{\"specversion\":\"1.0\",\"id\":\"MSG001\",\"source\":\"/vlp/A\",\"type\":\"vlp.claim\","     \
    "\"subject\":\"vlp.review.claim\",\"time\":\"2025-12-14T10:30:00Z\","                          \
    "\"datacontenttype\":\"application/json\",\"sequence\":\"7\",\"recordedtime\":" STORED_AT      \
    ",\"resume\":\"%s\","                                                                          \
    "\"reviewed\":{\"by\":\"B\",\"at\":\"2025-12-15T00:00:00Z\",\"reason\":\"r\"},\"data\":" CLAIM \
    "}"
#define DECISION                                                                                   \
    "{\"decision\":\"approve\",\"by\":\"B\",\"reason\":\"r\",\"at\":\"2025-12-15T00:00:00Z\","     \
    "\"id\":\"MSG001\"}"

/* Stores a message that announces an approval of the one at 7. */
static void store_notice(struct world *world, size_t stream, uint64_t sequence) {
    const struct jetstream_header headers[] = {{REVIEW_HEADER, "VLP:7 approve"}, {.name = NULL}};
    const struct jetstream_stored stored = {.sequence = sequence,
                                            .time_ns = 1,
                                            .subject = "vlp.safe.claim",
                                            .payload = PARLEY_BYTES(CLAIM),
                                            .known = headers};
    const struct ordered_consumer_events *feed = &world->servers[stream].feed.events;
    feed->stored(feed->context, &stored);
}

static void answer_reviews(const char *message) {
    assert_string_equal(review_answer(DECISION), "VLP.7");
    assert_string_equal(review_answer(NULL), "VLP.7.notice");
    assert_string_equal(review_answer(message), "VLP:7");
}

static void test_what_is_approved_comes_before_its_notice_and_does_not_count(void **state) {
    struct world *world = *state;
    char expected[4096];
    world->query.is_reviewed = true;
    world->query.limit = 1;
    stream_query_filter(&world->query, STREAM_FILTER_LANE, "safe");
    open_reader(world, 1, false);
    assert_int_equal(read_all(world, 100), 0);
    store_notice(world, 0, 41);
    assert_int_equal(read_all(world, 100), 0);
    assert_int_equal(world->request.wake_count, 0);
    answer_reviews(CLAIM);
    assert_int_equal(world->request.wake_count, 1);
    assert_int_equal(read_all(world, 100), HTTP_SOURCE_END);
    snprintf(expected, sizeof expected, APPROVED "\n" EVENT(41, TOKEN(41)) "\n", APPROVED_TOKEN);
    assert_string_equal(world->sent, expected);
}

static void test_what_is_approved_and_was_given_back_half_sent_is_sent_to_its_end(void **state) {
    struct world *world = *state;
    char expected[4096];
    world->query.is_reviewed = true;
    open_reader(world, 2, true);
    assert_int_equal(read_all(world, 100), 0);
    world->length = 0;
    store_notice(world, 0, 41);
    answer_reviews(CLAIM);
    const char *token = APPROVED_TOKEN "," TOKEN(40);
    int length =
        snprintf(expected, sizeof expected, "id: %s\ndata: " APPROVED "\n\n", token, token);
    length += snprintf(
        expected + length, sizeof expected - (size_t)length,
        "id: " TOKEN(41) "," TOKEN(40) "\ndata: " EVENT(41, TOKEN(41) "," TOKEN(40)) "\n\n");
    while (world->length < (size_t)length) {
        ssize_t count = stream_reader_read(world->reader, world->sent + world->length, 7);
        assert_in_range(count, 1, 7);
        world->length += (size_t)count;
        if (world->reader->current != NULL && world->reader->current->sequence != 0) {
            fill_pool(world);
        }
    }
    world->sent[world->length] = '\0';
    assert_string_equal(world->sent, expected);
    assert_int_equal(review_ask_count, 3);
}

static void test_where_nothing_is_to_be_given_there_is_the_notice_alone(void **state) {
    struct world *world = *state;
    world->query.is_reviewed = true;
    stream_query_filter(&world->query, STREAM_FILTER_SENDER, "A");
    open_reader(world, 1, false);
    assert_int_equal(read_all(world, 100), 0);
    store_notice(world, 0, 41);
    answer_reviews(NULL);
    assert_int_equal(read_all(world, 100), 0);
    assert_string_equal(world->sent, EVENT(41, TOKEN(41)) "\n");
}

static void test_a_keepalive_beside_an_approval_says_which_was_sent(void **state) {
    struct world *world = *state;
    world->query.is_reviewed = true;
    open_reader(world, 1, false);
    assert_int_equal(read_all(world, 100), 0);
    store_notice(world, 0, 41);
    assert_int_equal(read_all(world, 100), 0);
    stream_reader_keep_alive(world->reader);
    assert_int_equal(read_all(world, 100), 0);
    assert_non_null(strstr(world->sent, "\"resume\":\"" TOKEN(40) "\""));
    stream_reader_end(world->reader, "draining");
    assert_int_equal(read_all(world, 100), HTTP_SOURCE_END);
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
    stream_reader_end(world->reader, "draining");
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
    assert_own_event(world->sent, "r1:", "parley.keepalive", "\"resume\":\"" TOKEN(40) "\"}\n");
    assert_int_equal(read_all(world, 100), 0);
}

static void test_an_idle_reader_without_envelope_gets_a_blank_line(void **state) {
    struct world *world = *state;
    world->query.is_bare = true;
    open_reader(world, 1, false);
    assert_int_equal(read_all(world, 100), 0);
    stream_reader_keep_alive(world->reader);
    assert_int_equal(read_all(world, 100), 0);
    assert_string_equal(world->sent, "\n");
}

static void test_an_idle_event_source_gets_an_id_without_data(void **state) {
    struct world *world = *state;
    open_reader(world, 1, true);
    assert_int_equal(read_all(world, 100), 0);
    stream_reader_keep_alive(world->reader);
    assert_int_equal(read_all(world, 100), 0);
    assert_string_equal(world->sent, OPENING "id: " TOKEN(40) "\n\n");
}

/* A filter that matches nothing moves on all the same. */
static void test_a_keepalive_says_how_far_a_filtered_reader_has_been_brought(void **state) {
    struct world *world = *state;
    stream_query_filter(&world->query, STREAM_FILTER_SENDER, "B");
    open_reader(world, 2, false);
    assert_int_equal(read_all(world, 100), 0);
    for (uint64_t sequence = 41; sequence < 60; sequence++) {
        store(world, 1, sequence);
    }
    assert_int_equal(world->request.wake_count, 0);
    stream_reader_keep_alive(world->reader);
    assert_int_equal(read_all(world, 100), 0);
    assert_own_event(world->sent, "r1:", "parley.keepalive",
                     "\"resume\":\"" TOKEN(40) "," TOKEN(59) "\"}\n");
    assert_int_equal(world->reader->cursors[1].place, STREAM_PARKED);
}

static void test_an_event_that_comes_before_the_keepalive_is_sent_in_its_place(void **state) {
    struct world *world = *state;
    open_reader(world, 1, false);
    assert_int_equal(read_all(world, 100), 0);
    stream_reader_keep_alive(world->reader);
    store(world, 0, 41);
    assert_int_equal(read_all(world, 100), 0);
    assert_string_equal(world->sent, EVENT(41, TOKEN(41)) "\n");
}

static void test_a_limit_does_not_count_keepalives(void **state) {
    struct world *world = *state;
    world->query.limit = 1;
    open_reader(world, 1, false);
    assert_int_equal(read_all(world, 100), 0);
    stream_reader_keep_alive(world->reader);
    assert_int_equal(read_all(world, 100), 0);
    stream_reader_keep_alive(world->reader);
    assert_int_equal(read_all(world, 100), 0);
    store(world, 0, 41);
    assert_int_equal(read_all(world, 100), HTTP_SOURCE_END);
}

/* A message of the past of a stream, which was stored at `time_ns`. */
static void fetch(struct world *world, size_t stream, uint64_t sequence, int64_t time_ns) {
    const struct jetstream_stored stored = {.sequence = sequence,
                                            .time_ns = time_ns,
                                            .subject = "vlp.safe.claim",
                                            .payload = PARLEY_BYTES(CLAIM)};
    const struct ordered_consumer_events *feed = &world->servers[stream].past.events;
    assert_true(world->servers[stream].past.is_open);
    feed->stored(feed->context, &stored);
}

/* The places of all streams in the tokens of what was sent, without the streams' names. */
static void assert_tokens(const struct world *world, const char *expected) {
    char found[256] = "";
    size_t length = 0;
    for (const char *at = world->sent; (at = strstr(at, "\"resume\":\"")) != NULL; at++) {
        unsigned first, second;
        assert_int_equal(
            sscanf(at, "\"resume\":\"VLP:" CREATED ":%u,VLP:" CREATED ":%u", &first, &second), 2);
        length += (size_t)snprintf(found + length, sizeof found - length, "%u,%u ", first, second);
    }
    assert_string_equal(found, expected);
}

static void start_past(struct world *world) {
    world->query.since = STREAM_SINCE_TOKEN;
    world->query.token = TOKEN(38);
    world->servers[0].has_past = world->servers[1].has_past = true;
    start_reader(world, 2, false);
    assert_int_equal(read_all(world, 100), 0);
}

/* contract 19 */
static void test_the_past_of_several_streams_is_sent_in_the_order_of_storage(void **state) {
    struct world *world = *state;
    start_past(world);
    fetch(world, 0, 39, 10);
    fetch(world, 0, 40, 30);
    assert_int_equal(read_all(world, 100), 0);
    assert_tokens(world, "38,38 "); /* parley.open; the other one may have something older */
    fetch(world, 1, 39, 20);
    assert_int_equal(read_all(world, 100), 0);
    assert_tokens(world, "38,38 39,38 39,39 ");
    fetch(world, 1, 40, 25);
    assert_int_equal(read_all(world, 100), 0);
    assert_tokens(world, "38,38 39,38 39,39 39,40 40,40 ");
    assert_null(world->reader->merging);
}

static void test_a_stream_whose_past_does_not_come_is_not_waited_for_long(void **state) {
    struct world *world = *state;
    start_past(world);
    fetch(world, 0, 39, 10);
    assert_int_equal(read_all(world, 100), 0);
    assert_true(world->reader->merging->patience.is_armed);
    world->reader->merging->patience.fire(&world->reader->merging->patience);
    assert_int_equal(read_all(world, 100), 0);
    assert_tokens(world, "38,38 39,38 ");
    fetch(world, 1, 39, 5);
    assert_int_equal(read_all(world, 100), 0);
    assert_tokens(world, "38,38 39,38 39,39 ");
}

static void test_a_drained_reader_gets_an_end_and_ends(void **state) {
    struct world *world = *state;
    open_reader(world, 2, false);
    assert_int_equal(read_all(world, 100), 0);
    stream_reader_end(world->reader, "draining");
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
    stream_reader_end(world->reader, "draining");
    assert_int_equal(read_all(world, 100), HTTP_SOURCE_END);
    assert_memory_equal(world->sent, &(EVENT(41, TOKEN(41)) "\n")[sizeof buffer],
                        sizeof EVENT(41, TOKEN(41)) - sizeof buffer);
    assert_null(strstr(world->sent, "\"sequence\":\"42\""));
    assert_non_null(strstr(world->sent, "\"resume\":\"" TOKEN(41) "\",\"data\":{\"reason\""));
}

/* ---- in another encoding: here lines, whose messages are not followed by a line feed ---- */

static void store_foreign(struct world *world, uint64_t sequence) {
    const struct jetstream_stored stored = {.sequence = sequence,
                                            .time_ns = 1,
                                            .subject = "vlp.safe.claim",
                                            .payload = PARLEY_BYTES("no JSON")};
    const struct ordered_consumer_events *feed = &world->servers[0].feed.events;
    feed->stored(feed->context, &stored);
}

static void test_in_an_encoding_there_are_messages_alone(void **state) {
    struct world *world = *state;
    world->codec = &parley_codec_ndjson;
    start_reader(world, 2, false);
    assert_int_equal(read_all(world, 7), 0);
    stream_reader_keep_alive(world->reader);
    assert_int_equal(read_all(world, 7), 0);
    assert_int_equal(world->length, 0);
    store(world, 0, 41);
    store_foreign(world, 42);
    store(world, 1, 41);
    assert_int_equal(read_all(world, 7), 0);
    assert_string_equal(world->sent, CLAIM CLAIM);
    stream_reader_end(world->reader, "draining");
    assert_int_equal(read_all(world, 7), HTTP_SOURCE_END);
    assert_string_equal(world->sent, CLAIM CLAIM);
}

static void test_in_an_encoding_a_gap_breaks_the_response(void **state) {
    struct world *world = *state;
    world->codec = &parley_codec_ndjson;
    start_reader(world, 1, false);
    store(world, 0, 41);
    store(world, 0, 43);
    assert_int_equal(read_all(world, 7), HTTP_SOURCE_ABORT);
    assert_string_equal(world->sent, CLAIM);
}

static void test_in_an_encoding_what_was_given_back_is_sent_to_its_end(void **state) {
    struct world *world = *state;
    world->codec = &parley_codec_ndjson;
    world->query.limit = 2;
    start_reader(world, 2, false);
    store(world, 0, 41);
    store(world, 1, 41);
    size_t given_back_count = 0;
    while (world->length < 2 * strlen(CLAIM)) {
        ssize_t count = stream_reader_read(world->reader, world->sent + world->length, 7);
        assert_in_range(count, 1, 7);
        world->length += (size_t)count;
        if (world->reader->current != NULL) {
            fill_pool(world);
            given_back_count++;
        }
    }
    assert_true(given_back_count > 2);
    assert_string_equal(world->sent, CLAIM CLAIM);
    char buffer[7];
    assert_int_equal(stream_reader_read(world->reader, buffer, sizeof buffer), HTTP_SOURCE_END);
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
    stream_query_filter(&world->query, STREAM_FILTER_SENDER, "B");
    open_reader(world, 1, false);
    assert_int_equal(read_all(world, 100), 0);
    for (uint64_t sequence = 41; sequence < 60; sequence++) {
        store(world, 0, sequence);
    }
    assert_int_equal(world->request.wake_count, 0);
    stream_reader_end(world->reader, "draining");
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
        TEST(test_server_sent_events_begin_with_retry_and_an_id),
        TEST(test_server_sent_events_to_an_end_begin_with_retry_alone),
        TEST(test_a_stream_begins_with_an_event_that_says_where_it_is),
        TEST(test_the_opening_of_one_that_waits_for_a_sequence_names_it),
        TEST(test_the_opening_of_one_whose_sequence_is_there_names_none),
        TEST(test_the_opening_stands_before_a_gap_that_has_yet_to_be_told),
        TEST(test_without_envelope_it_is_the_bare_message),
        TEST(test_a_gap_is_whole_even_without_envelope),
        TEST(test_the_token_of_several_streams_says_where_all_of_them_are),
        TEST(test_an_event_that_leaves_the_ring_is_sent_to_its_end),
        TEST(test_an_event_that_was_given_back_half_sent_is_sent_to_its_end),
        TEST(test_an_event_that_was_given_back_and_is_gone_breaks_the_response),
        TEST(test_what_is_approved_comes_before_its_notice_and_does_not_count),
        TEST(test_what_is_approved_and_was_given_back_half_sent_is_sent_to_its_end),
        TEST(test_where_nothing_is_to_be_given_there_is_the_notice_alone),
        TEST(test_a_keepalive_beside_an_approval_says_which_was_sent),
        TEST(test_nothing_is_sent_within_an_event_that_was_given_back),
        TEST(test_what_cannot_be_fetched_breaks_the_response),
        TEST(test_an_idle_reader_is_kept_alive),
        TEST(test_an_idle_reader_without_envelope_gets_a_blank_line),
        TEST(test_an_idle_event_source_gets_an_id_without_data),
        TEST(test_a_keepalive_says_how_far_a_filtered_reader_has_been_brought),
        TEST(test_an_event_that_comes_before_the_keepalive_is_sent_in_its_place),
        TEST(test_a_limit_does_not_count_keepalives),
        TEST(test_the_past_of_several_streams_is_sent_in_the_order_of_storage),
        TEST(test_a_stream_whose_past_does_not_come_is_not_waited_for_long),
        TEST(test_a_drained_reader_gets_an_end_and_ends),
        TEST(test_a_drained_reader_finishes_the_event_under_way),
        TEST(test_in_an_encoding_there_are_messages_alone),
        TEST(test_in_an_encoding_a_gap_breaks_the_response),
        TEST(test_in_an_encoding_what_was_given_back_is_sent_to_its_end),
        TEST(test_a_limit_ends_the_response_and_gaps_do_not_count),
        TEST(test_a_reader_sleeps_through_what_its_filters_refuse),
        cmocka_unit_test(test_an_idle_reader_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
