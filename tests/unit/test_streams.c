/* SPDX-License-Identifier: Apache-2.0 */

/* Reading, whole: a real nats-server, a second NATS client that publishes and meddles, and real
 * sockets that read. */

#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <nats/nats.h>

#include "../lib/loop.h"
#include "../lib/nats_client.h"
#include "../lib/nats_server.h"
#include "../lib/replace_stream.h"
#include "channel.h"
#include "streams.h"

enum { PATIENCE_MS = LOOP_PATIENCE_MS };

struct world {
    struct nats_server nats;
    struct loop loop;
    struct jetstream *jetstream;
    struct http_server *http;
    struct streams *streams;
    struct parley_schema *schemas[8];
    struct parley_arena arena;
    struct configuration configuration;
    int listen_fd;
    unsigned port;
    natsConnection *connection;
    jsCtx *js;
};

/* ---- the gateway's side ---- */

static void begin(void *context, struct http_request *request) {
    struct world *world = context;
    const char *path = http_request_path(request);
    bool is_vlp = strcmp(path, "/v1/vlp/stream") == 0;
    static const struct streams_rights rights = {.protocols = UINT64_MAX};
    streams_serve(world->streams, NULL, request,
                  is_vlp ? parley_protocol_find(PARLEY_BYTES("vlp")) : NULL, &rights);
}

static bool stays_open(const struct http_head *head) {
    (void)head;
    return true;
}

static void nothing(void *context) {
    (void)context;
}

static void unusable(void *context, const char *error) {
    (void)context;
    (void)error;
}

static bool is_ready(void *context) {
    return jetstream_is_ready(((struct world *)context)->jetstream);
}

static bool is_away(void *context) {
    return !is_ready(context);
}

static void start_gateway(struct world *world) {
    static struct jetstream_stream streams[16];
    const size_t stream_count = parley_protocol_count();
    assert_true(stream_count <= sizeof streams / sizeof streams[0]);
    for (size_t i = 0; i < stream_count; i++) {
        streams[i] = (struct jetstream_stream){.name = parley_protocols[i]->stream,
                                               .subjects = parley_protocols[i]->subjects};
    }
    const struct jetstream_options options = {
        .bus = {.urls = world->nats.url, .name = "test"},
        .streams = streams,
        .stream_count = stream_count,
        .replicas = 1,
        .ack_timeout_ms = LOOP_PATIENCE_MS,
        .in_flight_count_max = 64,
        .in_flight_bytes_max = 1 << 20,
    };
    const struct jetstream_events events = {.ready = nothing,
                                            .away = nothing,
                                            .unusable = unusable,
                                            .unresponsive = nothing,
                                            .context = world};
    const struct http_options http = {.connections_max = 200,
                                      .idle_timeout_s = 60,
                                      .request_memory_bytes = 8192,
                                      .stream_memory_bytes = 8192,
                                      .stays_open = stays_open};
    const char *error;
    loop_create(&world->loop);
    struct reactor *reactor = world->loop.reactor;
    world->listen_fd = http_listen("127.0.0.1", 0, &world->port, &error);
    assert_true(world->listen_fd >= 0);
    assert_int_equal(
        http_server_create(reactor, world->listen_fd, &http, begin, world, &world->http),
        PARLEY_OK);
    assert_int_equal(jetstream_create(reactor, &options, &events, &world->jetstream), PARLEY_OK);
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        assert_int_equal(parley_schema_create(parley_protocols[i], &world->schemas[i]), PARLEY_OK);
    }
    char wrong[CHANNEL_ERROR_MAX];
    parley_arena_init(&world->arena, 0);
    assert_int_equal(channels_create(NULL, &world->arena, &world->configuration.channels, wrong),
                     PARLEY_OK);
    assert_int_equal(streams_create(reactor, world->jetstream, NULL, world->schemas,
                                    &world->configuration, &world->streams),
                     PARLEY_OK);
    loop_start(&world->loop);
    assert_true(loop_wait(&world->loop, is_ready, world, PATIENCE_MS));
}

static void stop_gateway(struct world *world) {
    loop_stop(&world->loop);
    http_server_destroy(world->http);
    streams_destroy(world->streams);
    jetstream_destroy(world->jetstream);
    loop_destroy(&world->loop);
    close(world->listen_fd);
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        parley_schema_destroy(world->schemas[i]);
    }
    parley_arena_finish(&world->arena);
}

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    *state = world;
    nats_server_init(&world->nats, true);
    nats_server_start(&world->nats);
    start_gateway(world);
    nats_client_connect(world->nats.url, &world->connection, &world->js);
    return 0;
}

static int tear_down(void **state) {
    struct world *world = *state;
    jsCtx_Destroy(world->js);
    natsConnection_Destroy(world->connection);
    stop_gateway(world);
    nats_server_finish(&world->nats);
    free(world);
    return 0;
}

/* ---- the other NATS client ---- */

static void publish_bytes(struct world *world, const char *subject, const char *bytes,
                          size_t length) {
    jsPubAck *ack = NULL;
    assert_int_equal(js_Publish(&ack, world->js, subject, bytes, (int)length, NULL, NULL), NATS_OK);
    jsPubAck_Destroy(ack);
}

static void publish(struct world *world, const char *type, const char *lane, const char *sender,
                    unsigned number) {
    char subject[64], message[512];
    snprintf(subject, sizeof subject, "vlp.%s.%s", lane, type);
    int length =
        snprintf(message, sizeof message,
                 "{\"id\":\"m-%u\",\"protocol\":\"VLP/1.1\",\"type\":\"%s\","
                 "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"%s\",\"content\":\"x\","
                 "\"confidence\":0.50,\"safety\":{\"level\":\"%s\",\"issues\":[]}}",
                 number, type, sender, lane);
    publish_bytes(world, subject, message, (size_t)length);
}

static void publish_claims(struct world *world, unsigned first, unsigned last) {
    for (unsigned number = first; number <= last; number++) {
        publish(world, "claim", "safe", "A", number);
    }
}

/* Without waiting for each ack.  `padding`: bytes of content. */
static void publish_fast(struct world *world, unsigned first, unsigned last, size_t padding) {
    char *message = malloc(padding + 512);
    assert_non_null(message);
    for (unsigned number = first; number <= last; number++) {
        int length = sprintf(message,
                             "{\"id\":\"m-%u\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","
                             "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"A\","
                             "\"confidence\":0.5,\"content\":\"%0*u\"}",
                             number, (int)padding + 1, 1u);
        assert_int_equal(js_PublishAsync(world->js, "vlp.safe.claim", message, length, NULL),
                         NATS_OK);
    }
    assert_int_equal(js_PublishAsyncComplete(world->js, NULL), NATS_OK);
    free(message);
}

static int64_t consumer_count(struct world *world) {
    jsStreamInfo *info = NULL;
    assert_int_equal(js_GetStreamInfo(&info, world->js, "VLP", NULL, NULL), NATS_OK);
    int64_t count = info->State.Consumers;
    jsStreamInfo_Destroy(info);
    return count;
}

static void await_consumer_count(struct world *world, int64_t count) {
    for (int tries = 0; consumer_count(world) != count; tries++) {
        assert_true(tries < PATIENCE_MS / 2);
        loop_pause();
    }
}

static void make_stream_anew_with(struct world *world, int64_t consumers_max) {
    jsStreamConfig config;
    const char *subjects[] = {"vlp.>"};
    jsStreamConfig_Init(&config);
    config.Name = "VLP";
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.MaxConsumers = consumers_max;
    replace_stream(world->js, &config);
}

static void make_stream_anew(struct world *world) {
    make_stream_anew_with(world, -1);
}

/* Nobody reads it meanwhile. */
static void make_stream_without_room_for_readers(struct world *world) {
    jsConsumerConfig config;
    make_stream_anew_with(world, 1);
    jsConsumerConfig_Init(&config);
    config.Durable = "only";
    config.AckPolicy = js_AckExplicit;
    assert_int_equal(js_AddConsumer(NULL, world->js, "VLP", &config, NULL, NULL), NATS_OK);
}

/* ---- clients ---- */

struct client {
    int fd;
    char *raw; /* all that came */
    size_t raw_length, raw_capacity;
    size_t head_length;  /* 0: not whole */
    size_t chunk_offset; /* of the next chunk in raw */
    char *body;          /* without the chunks' frames; NUL-terminated */
    size_t body_length, body_capacity;
    bool has_ended; /* with the last chunk */
    bool is_closed; /* by the server */
};

static struct client *client_connect(struct world *world, int receive_buffer) {
    struct client *client = calloc(1, sizeof *client);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)world->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_non_null(client);
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer > 0) {
        setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    assert_int_equal(connect(client->fd, (struct sockaddr *)&address, sizeof address), 0);
    client->body = calloc(1, 1);
    return client;
}

static void client_ask(struct client *client, const char *method, const char *target,
                       const char *headers) {
    char request[1024];
    int length = snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: x\r\n%s\r\n", method,
                          target, headers);
    assert_int_equal(send(client->fd, request, (size_t)length, MSG_NOSIGNAL), length);
}

static void client_close(struct client *client) {
    close(client->fd);
    free(client->raw);
    free(client->body);
    free(client);
}

static bool has_header(const struct client *client, const char *line) {
    return client->head_length > 0 &&
           memmem(client->raw, client->head_length, line, strlen(line)) != NULL;
}

static void add_body(struct client *client, const char *bytes, size_t length) {
    if (client->body_length + length + 1 > client->body_capacity) {
        client->body_capacity = 2 * (client->body_length + length + 1);
        client->body = realloc(client->body, client->body_capacity);
        assert_non_null(client->body);
    }
    memcpy(client->body + client->body_length, bytes, length);
    client->body_length += length;
    client->body[client->body_length] = '\0';
}

/* Decodes the chunks that are whole. */
static void decode(struct client *client) {
    if (client->head_length == 0) {
        const char *end = memmem(client->raw, client->raw_length, "\r\n\r\n", 4);
        if (end == NULL) {
            return;
        }
        client->head_length = client->chunk_offset = (size_t)(end + 4 - client->raw);
    }
    if (!has_header(client, "Transfer-Encoding: chunked")) {
        add_body(client, client->raw + client->chunk_offset,
                 client->raw_length - client->chunk_offset);
        client->chunk_offset = client->raw_length;
        return;
    }
    while (!client->has_ended) {
        const char *start = client->raw + client->chunk_offset;
        size_t left = client->raw_length - client->chunk_offset;
        const char *line_end = memmem(start, left, "\r\n", 2);
        if (line_end == NULL) {
            return;
        }
        size_t size = strtoul(start, NULL, 16);
        size_t line = (size_t)(line_end + 2 - start);
        if (left < line + size + 2) {
            return;
        }
        add_body(client, line_end + 2, size);
        client->chunk_offset += line + size + 2;
        client->has_ended = size == 0;
    }
}

/* Reads what there is, waiting for it.  Returns: false when nothing came in time. */
static bool client_read(struct client *client, int timeout_ms) {
    struct pollfd wait = {.fd = client->fd, .events = POLLIN};
    if (client->is_closed || poll(&wait, 1, timeout_ms) <= 0) {
        return false;
    }
    if (client->raw_capacity - client->raw_length < 65536) {
        client->raw_capacity = client->raw_capacity * 2 + 131072;
        client->raw = realloc(client->raw, client->raw_capacity);
        assert_non_null(client->raw);
    }
    ssize_t count = recv(client->fd, client->raw + client->raw_length, 65536, 0);
    if (count <= 0) {
        client->is_closed = true;
        return true;
    }
    client->raw_length += (size_t)count;
    decode(client);
    return true;
}

static void client_await_head(struct client *client) {
    while (client->head_length == 0) {
        assert_true(client_read(client, PATIENCE_MS) && !client->is_closed);
    }
}

/* Reads until the body has `text`. */
static void client_await(struct client *client, const char *text) {
    size_t searched = 0;
    while (strstr(client->body + searched, text) == NULL) {
        /* What was searched is not searched again: bodies are large, and may come in small bits. */
        searched = client->body_length > strlen(text) ? client->body_length - strlen(text) : 0;
        if (client->has_ended || !client_read(client, PATIENCE_MS) || client->is_closed) {
            fail_msg("no %s in\n%.*s\n%.2000s", text, (int)client->head_length, client->raw,
                     client->body);
        }
    }
}

/* Reads until the response ends, as it should. */
static void client_await_end(struct client *client) {
    while (!client->has_ended) {
        if (!client_read(client, PATIENCE_MS) || client->is_closed) {
            fail_msg("it does not end well: %s", client->body);
        }
    }
}

static struct client *open_stream(struct world *world, const char *target, const char *headers) {
    struct client *client = client_connect(world, 0);
    client_ask(client, "GET", target, headers);
    client_await_head(client);
    if (!has_header(client, "HTTP/1.1 200 ")) {
        fail_msg("%.*s", (int)client->raw_length, client->raw);
    }
    return client;
}

/* Opens one that ends, and reads it to its end. */
static struct client *read_stream(struct world *world, const char *target, const char *headers) {
    struct client *client = open_stream(world, target, headers);
    client_await_end(client);
    return client;
}

static void assert_refused(struct world *world, const char *target, const char *headers,
                           const char *status, const char *problem) {
    struct client *client = client_connect(world, 0);
    char line[64];
    client_ask(client, "GET", target, headers);
    client_await_head(client);
    client_await(client, problem);
    snprintf(line, sizeof line, "HTTP/1.1 %s ", status);
    if (!has_header(client, line)) {
        fail_msg("%s: %.*s", target, (int)client->raw_length, client->raw);
    }
    assert_true(has_header(client, "application/problem+json"));
    client_close(client);
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    while ((text = strstr(text, part)) != NULL) {
        count++;
        text += strlen(part);
    }
    return count;
}

/* Checks that the events are those of these sequences, each once and in order. It goes by lines,
 * since the address sanitizer measures the whole rest of the body at every strstr. */
static void assert_sequences(const struct client *client, uint64_t first, uint64_t last) {
    static const char name[] = "\"sequence\":\"";
    const char *line = client->body, *end = client->body + client->body_length;
    uint64_t expected = first;
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((newline != NULL ? newline : end) - line);
        const char *sequence = memmem(line, length, name, sizeof name - 1);
        if (sequence != NULL) {
            assert_int_equal(strtoull(sequence + sizeof name - 1, NULL, 10), expected);
            expected++;
        }
        line += length + 1;
    }
    assert_int_equal(expected, last + 1);
}

/* The resume token of the last event. */
static void last_token(const struct client *client, char token[128]) {
    static const char name[] = "\"resume\":\"";
    const char *last = NULL;
    for (const char *at = client->body; (at = strstr(at, name)) != NULL; at++) {
        last = at + sizeof name - 1;
    }
    assert_non_null(last);
    size_t length = strcspn(last, "\"");
    assert_true(length < 128);
    memcpy(token, last, length);
    token[length] = '\0';
}

/* ---- tests ---- */

static void test_nothing_sent_after_the_headers_is_missed(void **state) {
    struct world *world = *state;
    publish_claims(world, 1, 3);
    for (unsigned number = 4; number < 14; number++) {
        struct client *client = open_stream(world, "/v1/vlp/stream", "");
        assert_true(has_header(client, "Content-Type: application/x-ndjson\r\n"));
        assert_true(has_header(client, "Cache-Control: no-cache, no-store\r\n"));
        assert_true(has_header(client, "X-Accel-Buffering: no\r\n"));
        publish_claims(world, number, number);
        client_await(client, "\"sequence\":");
        client_await(client, "}}\n");
        assert_sequences(client, number, number);
        client_close(client);
    }
}

static void test_all_that_is_there_is_read_and_then_it_ends(void **state) {
    struct world *world = *state;
    struct client *client = read_stream(world, "/v1/vlp/stream?since=all&follow=false", "");
    assert_string_equal(client->body, "");
    client_close(client);
    publish_claims(world, 1, 300);
    client = read_stream(world, "/v1/vlp/stream?since=all&follow=false", "");
    assert_sequences(client, 1, 300);
    assert_int_equal(count_of(client->body, "\n"), 300);
    client_close(client);
    await_consumer_count(world, 0);
}

static void test_an_event_is_the_message_and_where_it_came_from(void **state) {
    struct world *world = *state;
    publish_claims(world, 1, 1);
    struct client *client = read_stream(world, "/v1/vlp/stream?since=1&follow=false", "");
    const char *token = strstr(client->body, "\"resume\":\"VLP:2");
    assert_non_null(token);
    assert_non_null(strstr(client->body, "{\"specversion\":\"1.0\",\"id\":\"m-1\","
                                         "\"source\":\"/vlp/A\",\"type\":\"vlp.claim\","
                                         "\"subject\":\"vlp.safe.claim\","
                                         "\"time\":\"2025-12-14T10:30:00Z\","
                                         "\"datacontenttype\":\"application/json\","
                                         "\"sequence\":\"1\",\"recordedtime\":\"2"));
    assert_non_null(strstr(token, "Z:1\",\"data\":{\"id\":\"m-1\",\"protocol\":\"VLP/1.1\","));
    assert_non_null(strstr(token, "\"confidence\":0.50,"));
    client_close(client);
}

static void test_one_may_begin_at_a_sequence(void **state) {
    struct world *world = *state;
    publish_claims(world, 1, 5);
    struct client *client = open_stream(world, "/v1/vlp/stream?since=4", "");
    client_await(client, "m-5");
    publish_claims(world, 6, 6);
    client_await(client, "m-6");
    assert_sequences(client, 4, 6);
    client_close(client);
}

static void test_one_may_begin_at_a_time(void **state) {
    struct world *world = *state;
    char target[128], date[32];
    struct timespec now, pause = {.tv_nsec = 20 * 1000 * 1000};
    struct tm utc;
    publish_claims(world, 1, 3);
    nanosleep(&pause, NULL); /* time is what is tested */
    clock_gettime(CLOCK_REALTIME, &now);
    nanosleep(&pause, NULL);
    publish_claims(world, 4, 6);
    gmtime_r(&now.tv_sec, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(target, sizeof target, "/v1/vlp/stream?since=%s.%09ldZ&follow=false", date,
             now.tv_nsec);
    struct client *client = read_stream(world, target, "");
    assert_sequences(client, 4, 6);
    client_close(client);
    /* A plus that was not encoded, and a follower. */
    snprintf(target, sizeof target, "/v1/vlp/stream?since=%s.%09ld+00:00", date, now.tv_nsec);
    client = open_stream(world, target, "");
    publish_claims(world, 7, 7);
    client_await(client, "m-7");
    assert_sequences(client, 4, 7);
    client_close(client);
}

static void test_one_may_begin_a_while_ago(void **state) {
    struct world *world = *state;
    publish_claims(world, 1, 3);
    struct client *client = read_stream(world, "/v1/vlp/stream?since=1h&follow=false", "");
    assert_sequences(client, 1, 3);
    client_close(client);
    client = read_stream(world, "/v1/vlp/stream?since=0s&follow=false", "");
    assert_string_equal(client->body, "");
    client_close(client);
}

static void test_a_token_goes_on_behind_its_event(void **state) {
    struct world *world = *state;
    char token[128], target[256], header[256];
    publish_claims(world, 1, 6);
    struct client *client = read_stream(world, "/v1/vlp/stream?since=all&limit=2", "");
    assert_sequences(client, 1, 2);
    last_token(client, token);
    client_close(client);
    snprintf(target, sizeof target, "/v1/vlp/stream?since=%s&limit=2", token);
    client = read_stream(world, target, "");
    assert_sequences(client, 3, 4);
    last_token(client, token);
    client_close(client);
    snprintf(header, sizeof header, "Last-Event-ID: %s\r\n", token);
    client = read_stream(world, "/v1/vlp/stream?since=all&follow=false", header);
    assert_sequences(client, 5, 6);
    client_close(client);
}

static void test_the_past_and_the_present_join_without_a_seam(void **state) {
    struct world *world = *state;
    struct client *clients[4];
    publish_fast(world, 1, 2000, 100);
    for (size_t i = 0; i < 4; i++) {
        clients[i] = client_connect(world, 0);
        client_ask(clients[i], "GET", "/v1/vlp/stream?since=all", "");
        publish_fast(world, (unsigned)(2001 + i * 1000), (unsigned)(3000 + i * 1000), 100);
    }
    for (size_t i = 0; i < 4; i++) {
        client_await(clients[i], "\"sequence\":\"6000\"");
        assert_sequences(clients[i], 1, 6000);
        client_close(clients[i]);
    }
}

static void test_a_slow_reader_loses_nothing_and_slows_nobody(void **state) {
    struct world *world = *state;
    enum { COUNT = 7000 };
    char last[32];
    struct client *slow = client_connect(world, 4096);
    client_ask(slow, "GET", "/v1/vlp/stream", "");
    client_await_head(slow);
    struct client *quick = open_stream(world, "/v1/vlp/stream", "");
    snprintf(last, sizeof last, "\"sequence\":\"%d\"", COUNT);
    for (unsigned first = 1; first < COUNT; first += 1000) {
        publish_fast(world, first, first + 999, 3000); /* more than ring and sockets hold */
        while (client_read(quick, 0)) {
        }
    }
    client_await(quick, last);
    assert_sequences(quick, 1, COUNT);
    client_await(slow, last);
    assert_sequences(slow, 1, COUNT);
    assert_int_equal(count_of(slow->body, "parley.gap"), 0);
    client_close(slow);
    client_close(quick);
}

static void test_one_consumer_serves_all_live_readers(void **state) {
    struct world *world = *state;
    struct client *clients[30];
    publish_claims(world, 1, 3);
    for (size_t i = 0; i < 30; i++) {
        clients[i] = open_stream(world, "/v1/vlp/stream", "");
    }
    assert_int_equal(consumer_count(world), 1);
    publish_claims(world, 4, 4);
    for (size_t i = 0; i < 30; i++) {
        client_await(clients[i], "m-4");
        client_close(clients[i]);
    }
    await_consumer_count(world, 0);
}

static void test_what_is_gone_is_said(void **state) {
    struct world *world = *state;
    publish_claims(world, 1, 5);
    assert_int_equal(js_PurgeStream(world->js, "VLP", NULL, NULL), NATS_OK);
    struct client *client = open_stream(world, "/v1/vlp/stream?since=2&envelope=none", "");
    client_await(client, "\"data\":{\"stream\":\"VLP\",\"first\":2,\"last\":5}}\n");
    publish_claims(world, 6, 6);
    client_await(client, "\n{\"id\":\"m-6\",");
    assert_int_equal(count_of(client->body, "parley.gap"), 1);
    client_close(client);
    client = read_stream(world, "/v1/vlp/stream?since=1h&follow=false", "");
    assert_non_null(strstr(client->body, "\"data\":{\"stream\":\"VLP\",\"first\":1,\"last\":5}}"));
    client_close(client);
    client = read_stream(world, "/v1/vlp/stream?since=all&follow=false", "");
    assert_int_equal(count_of(client->body, "parley.gap"), 0);
    assert_sequences(client, 6, 6);
    client_close(client);
}

static void test_a_hole_in_the_middle_is_said(void **state) {
    struct world *world = *state;
    publish_claims(world, 1, 6);
    assert_int_equal(js_DeleteMsg(world->js, "VLP", 3, NULL, NULL), NATS_OK);
    assert_int_equal(js_DeleteMsg(world->js, "VLP", 4, NULL, NULL), NATS_OK);
    struct client *client = read_stream(world, "/v1/vlp/stream?since=1&follow=false&limit=3", "");
    const char *gap = strstr(client->body, "\"first\":3,\"last\":4}}");
    assert_non_null(gap);
    assert_true(strstr(client->body, "\"sequence\":\"2\"") < gap);
    assert_true(strstr(client->body, "\"sequence\":\"5\"") > gap);
    assert_null(strstr(client->body, "\"sequence\":\"6\"")); /* the gap was not counted */
    client_close(client);
}

static void test_a_stream_made_anew_is_a_gap(void **state) {
    struct world *world = *state;
    char token[128], target[256];
    publish_claims(world, 1, 5);
    struct client *client = read_stream(world, "/v1/vlp/stream?since=all&follow=false", "");
    last_token(client, token);
    client_close(client);
    make_stream_anew(world);
    publish_claims(world, 101, 103);
    snprintf(target, sizeof target, "/v1/vlp/stream?since=%s&follow=false", token);
    client = read_stream(world, target, "");
    assert_non_null(strstr(client->body, "\"first\":6,\"last\":null}}\n"));
    assert_sequences(client, 1, 3);
    assert_non_null(strstr(client->body, "m-101"));
    client_close(client);
}

static void test_a_live_reader_follows_into_a_stream_made_anew(void **state) {
    struct world *world = *state;
    struct client *live = open_stream(world, "/v1/vlp/stream", "");
    publish_claims(world, 1, 5);
    client_await(live, "m-5");
    make_stream_anew(world);
    publish_claims(world, 101, 102);
    /* Any question about the stream shows it; without one the keepalive would. */
    client_close(open_stream(world, "/v1/vlp/stream", ""));
    client_await(live, "m-102");
    publish_claims(world, 103, 103);
    client_await(live, "m-103");
    assert_int_equal(count_of(live->body, "\"first\":6,\"last\":null}}"), 1);
    assert_int_equal(count_of(live->body, "\"sequence\":"), 8);
    client_close(live);
}

static void test_server_sent_events(void **state) {
    struct world *world = *state;
    struct client *client = open_stream(world, "/v1/vlp/stream", "Accept: text/event-stream\r\n");
    assert_true(has_header(client, "Content-Type: text/event-stream\r\n"));
    publish_claims(world, 1, 1);
    client_await(client, "}}\n\n");
    assert_int_equal(strncmp(client->body, "retry: 2000\nid: VLP:2", 21), 0);
    assert_non_null(strstr(client->body, "Z:0\n\nid: VLP:2"));
    assert_non_null(strstr(client->body, "Z:1\ndata: {\"specversion\":\"1.0\",\"id\":\"m-1\","));
    assert_null(strstr(client->body, "event:"));
    client_close(client);
}

static void test_without_envelope_come_the_bare_bytes(void **state) {
    struct world *world = *state;
    static const char odd[] = "{ \"id\":\"odd\",\"protocol\":\"VLP/1.1\",\"type\":\"query\","
                              "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"\\u00e9\","
                              "\"content\":\"\\u0000\",\"n\":12345678901234567}";
    publish_bytes(world, "vlp.safe.query", odd, sizeof odd - 1);
    struct client *client =
        read_stream(world, "/v1/vlp/stream?since=all&follow=false&envelope=none", "");
    assert_int_equal(client->body_length, sizeof odd);
    assert_memory_equal(client->body, odd, sizeof odd - 1);
    assert_int_equal(client->body[sizeof odd - 1], '\n');
    client_close(client);
}

static void test_what_is_foreign_comes_as_base64(void **state) {
    struct world *world = *state;
    publish_bytes(world, "vlp.safe.claim", "no JSON\n", 8);
    publish_bytes(world, "vlp.else", "{}", 2);
    publish_claims(world, 1, 1);
    struct client *client =
        read_stream(world, "/v1/vlp/stream?since=all&follow=false&envelope=none", "");
    assert_non_null(strstr(client->body, "\"id\":\"VLP:1\",\"source\":\"/vlp\","
                                         "\"type\":\"parley.foreign\","
                                         "\"subject\":\"vlp.safe.claim\""));
    assert_non_null(strstr(client->body, "\"reason\":\"GW-001: "));
    assert_non_null(strstr(client->body, "\"data_base64\":\"bm8gSlNPTgo=\"}\n"));
    assert_non_null(strstr(client->body, "\"subject\":\"vlp.else\""));
    assert_non_null(strstr(client->body, "\"reason\":\"VLP-001 /id: "));
    assert_non_null(strstr(client->body, "\"data_base64\":\"e30=\"}\n{\"id\":\"m-1\","));
    assert_int_equal(count_of(client->body, "\n"), 3);
    client_close(client);
}

static void assert_passes(struct world *world, const char *filter, const char *ids) {
    char target[160], found[64] = "";
    snprintf(target, sizeof target, "/v1/vlp/stream?since=all&follow=false&%s", filter);
    struct client *client = read_stream(world, target, "");
    static const char event[] = "{\"specversion\":\"1.0\",\"id\":\"m-";
    for (const char *at = client->body; (at = strstr(at, event)) != NULL; at++) {
        size_t length = strlen(found);
        snprintf(found + length, sizeof found - length, "%c", at[sizeof event - 1]);
    }
    if (strcmp(found, ids) != 0) {
        fail_msg("%s passes %s, not %s", filter, found, ids);
    }
    client_close(client);
}

static void test_filters_choose(void **state) {
    struct world *world = *state;
    publish(world, "claim", "safe", "A", 1);
    publish(world, "claim", "review", "B", 2);
    publish(world, "query", "safe", "The%20Observer", 3);
    publish_bytes(world, "vlp.safe.claim", "?", 1);
    publish(world, "notice", "block", "A", 4);
    assert_passes(world, "type=claim", "12");
    assert_passes(world, "type=vlp.query,notice", "34");
    assert_passes(world, "lane=safe", "13");
    assert_passes(world, "lane=review,block&sender=A", "4");
    assert_passes(world, "sender=The%2520Observer", "3");
    assert_passes(world, "receiver=A", "");
    assert_passes(world, "thread=A", "");
    assert_passes(world, "type=foreign", "");
    assert_passes(world, "strict=true&results=errors", "1234");
}

static void test_a_limit_counts_what_passes(void **state) {
    struct world *world = *state;
    publish(world, "query", "safe", "A", 1);
    publish(world, "claim", "safe", "A", 2);
    publish(world, "query", "safe", "A", 3);
    struct client *client = open_stream(world, "/v1/vlp/stream?since=all&type=claim&limit=2", "");
    client_await(client, "m-2");
    assert_false(client->has_ended);
    publish(world, "query", "safe", "A", 4);
    publish(world, "claim", "safe", "A", 5);
    client_await_end(client);
    assert_non_null(strstr(client->body, "m-5"));
    assert_int_equal(count_of(client->body, "\n"), 3); /* with parley.open */
    client_close(client);
}

static void test_all_protocols_have_one_stream(void **state) {
    struct world *world = *state;
    publish_claims(world, 1, 2);
    struct client *client = read_stream(world, "/v1/stream?since=all&follow=false", "");
    assert_sequences(client, 1, 2);
    client_close(client);
}

static void test_what_cannot_be_is_refused(void **state) {
    struct world *world = *state;
    static const char *const targets[] = {
        "/v1/vlp/stream?since=tomorrow",
        "/v1/vlp/stream?since=0",
        "/v1/vlp/stream?follow=maybe",
        "/v1/vlp/stream?follow",
        "/v1/vlp/stream?limit=0",
        "/v1/vlp/stream?limit=ten",
        "/v1/vlp/stream?envelope=all",
        "/v1/vlp/stream?type=",
        "/v1/vlp/stream?type=a&type=b",
        "/v1/vlp/stream?sinse=all",
        "/v1/vlp/stream?type=delta",
        "/v1/vlp/stream?lane=high_risk",
        "/v1/stream?type=evidnce",
        "/v1/vlp/stream?since=BRENNER:2025-12-14T10:30:00Z:3",
        "/v1/stream?since=5",
    };
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        assert_refused(world, targets[i], "", "400", "/problems/invalid-parameter");
    }
    assert_refused(world, "/v1/vlp/stream", "Last-Event-ID: 5\r\n", "400",
                   "/problems/invalid-parameter");
    assert_refused(world, "/v1/vlp/stream", "Accept: text/html\r\n", "406",
                   "/problems/not-acceptable");
}

static void test_head_gets_the_headers(void **state) {
    struct world *world = *state;
    struct client *client = client_connect(world, 0);
    client_ask(client, "HEAD", "/v1/vlp/stream", "Connection: close\r\n");
    client_await_head(client);
    assert_true(has_header(client, "HTTP/1.1 200 "));
    assert_true(has_header(client, "Content-Type: application/x-ndjson\r\n"));
    while (!client->is_closed) {
        assert_true(client_read(client, PATIENCE_MS));
    }
    assert_int_equal(client->raw_length, client->head_length);
    client_close(client);
}

static void drain(void *context) {
    struct world *world = context;
    streams_drain(world->streams);
}

static void test_a_drain_ends_every_stream_and_takes_no_new_one(void **state) {
    struct world *world = *state;
    char token[128], target[256];
    struct client *line = open_stream(world, "/v1/vlp/stream", "");
    struct client *sse = open_stream(world, "/v1/stream", "Accept: text/event-stream\r\n");
    publish_claims(world, 1, 2);
    client_await(line, "m-2");
    client_await(sse, "m-2");
    loop_do(&world->loop, drain, world);
    client_await_end(line);
    client_await_end(sse);
    assert_non_null(strstr(line->body, "\"type\":\"parley.end\""));
    assert_non_null(strstr(sse->body, "\"type\":\"parley.end\""));
    last_token(line, token);
    snprintf(target, sizeof target, "%s", strrchr(token, ':'));
    assert_string_equal(target, ":2");
    assert_refused(world, "/v1/vlp/stream", "", "503", "/problems/draining");
    client_close(line);
    client_close(sse);
}

static void test_a_reader_outlives_nats_itself(void **state) {
    struct world *world = *state;
    struct client *live = open_stream(world, "/v1/vlp/stream", "");
    publish_claims(world, 1, 3);
    client_await(live, "m-3");
    nats_server_end(&world->nats, SIGKILL);
    assert_true(loop_wait(&world->loop, is_away, world, PATIENCE_MS));
    assert_refused(world, "/v1/vlp/stream", "", "503", "/problems/bus-unavailable");
    nats_server_start(&world->nats);
    assert_true(loop_wait(&world->loop, is_ready, world, PATIENCE_MS));
    while (natsConnection_Status(world->connection) != NATS_CONN_STATUS_CONNECTED) {
        loop_pause();
    }
    publish_claims(world, 4, 6);
    client_await(live, "m-6");
    assert_sequences(live, 1, 6);
    struct client *client = read_stream(world, "/v1/vlp/stream?since=2&follow=false", "");
    assert_sequences(client, 2, 6);
    client_close(client);
    client_close(live);
}

static void test_quiet_readers_are_kept_alive(void **state) {
    struct world *world = *state;
    struct client *line = open_stream(world, "/v1/vlp/stream", "");
    struct client *sse = open_stream(world, "/v1/vlp/stream", "Accept: text/event-stream\r\n");
    struct client *bare = open_stream(world, "/v1/vlp/stream?envelope=none", "");
    struct client *other = open_stream(world, "/v1/stream?sender=Z", "");
    publish_claims(world, 1, 1);
    client_await(sse, "m-1");
    client_await(line, "m-1");
    /* fifteen seconds, as the contract says */
    client_await(line, "\"type\":\"parley.keepalive\"");
    client_await(other, "\"type\":\"parley.keepalive\"");
    client_await(bare, "}\n\n");
    client_await(sse, "Z:1\n\n");
    assert_int_equal(bare->body[0], '\n');
    assert_int_equal(count_of(line->body, "\n"), 3);
    assert_int_equal(count_of(sse->body, "Z:0\n\nid: VLP:2"), 1);
    char token[128], target[256];
    last_token(line, token);
    publish_claims(world, 2, 2);
    client_await(line, "m-2");
    /* One whose filter let nothing through has been brought as far. */
    assert_non_null(strstr(other->body, token));
    snprintf(target, sizeof target, "/v1/vlp/stream?follow=false&since=%s", token);
    struct client *back = read_stream(world, target, "");
    assert_sequences(back, 2, 2);
    client_close(back);
    client_close(bare);
    client_close(other);
    client_close(line);
    client_close(sse);
}

static void test_a_frozen_nats_is_no_reason_to_wait_for_ever(void **state) {
    struct world *world = *state;
    struct client *live = open_stream(world, "/v1/vlp/stream", "");
    nats_server_stop(&world->nats);
    assert_refused(world, "/v1/vlp/stream", "", "503", "/problems/bus-unavailable");
    nats_server_continue(&world->nats);
    while (natsConnection_Status(world->connection) != NATS_CONN_STATUS_CONNECTED) {
        loop_pause();
    }
    publish_claims(world, 1, 1);
    client_await(live, "m-1");
    client_close(live);
}

/* attack F4 */
static void test_a_stream_that_nats_lets_nobody_read_is_said_to_be_so(void **state) {
    struct world *world = *state;
    static const char reason[] = "NATS does not permit reading the stream VLP: ";
    make_stream_without_room_for_readers(world);
    publish_claims(world, 2, 3);
    assert_refused(world, "/v1/vlp/stream", "", "503", reason);
    assert_refused(world, "/v1/stream", "", "503", reason);
    struct client *past = read_stream(world, "/v1/vlp/stream?since=all&follow=false", "");
    assert_non_null(strstr(past->body, "\"type\":\"parley.end\""));
    assert_non_null(strstr(past->body, reason));
    assert_null(strstr(past->body, "m-2"));
    client_close(past);
}

static void test_a_reader_that_leaves_leaves_nothing_behind(void **state) {
    struct world *world = *state;
    publish_fast(world, 1, 3000, 2000);
    for (size_t i = 0; i < 5; i++) {
        struct client *client = client_connect(world, 4096);
        client_ask(client, "GET", "/v1/vlp/stream?since=all", "");
        client_await(client, "\"sequence\":\"1\"");
        client_close(client); /* in the middle of the past */
    }
    await_consumer_count(world, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_sent_after_the_headers_is_missed),
        TEST(test_all_that_is_there_is_read_and_then_it_ends),
        TEST(test_an_event_is_the_message_and_where_it_came_from),
        TEST(test_one_may_begin_at_a_sequence),
        TEST(test_one_may_begin_at_a_time),
        TEST(test_one_may_begin_a_while_ago),
        TEST(test_a_token_goes_on_behind_its_event),
        TEST(test_the_past_and_the_present_join_without_a_seam),
        TEST(test_a_slow_reader_loses_nothing_and_slows_nobody),
        TEST(test_one_consumer_serves_all_live_readers),
        TEST(test_what_is_gone_is_said),
        TEST(test_a_hole_in_the_middle_is_said),
        TEST(test_a_stream_made_anew_is_a_gap),
        TEST(test_a_live_reader_follows_into_a_stream_made_anew),
        TEST(test_server_sent_events),
        TEST(test_without_envelope_come_the_bare_bytes),
        TEST(test_what_is_foreign_comes_as_base64),
        TEST(test_filters_choose),
        TEST(test_a_limit_counts_what_passes),
        TEST(test_all_protocols_have_one_stream),
        TEST(test_what_cannot_be_is_refused),
        TEST(test_head_gets_the_headers),
        TEST(test_a_drain_ends_every_stream_and_takes_no_new_one),
        TEST(test_a_reader_outlives_nats_itself),
        TEST(test_quiet_readers_are_kept_alive),
        TEST(test_a_frozen_nats_is_no_reason_to_wait_for_ever),
        TEST(test_a_stream_that_nats_lets_nobody_read_is_said_to_be_so),
        TEST(test_a_reader_that_leaves_leaves_nothing_behind),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nats_Close();
    return failed;
}
