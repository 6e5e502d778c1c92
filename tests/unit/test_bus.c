/* SPDX-License-Identifier: Apache-2.0 */

/* The bus against a real nats-server: what it sends comes back through its mailboxes, and nothing
 * that a server does (be away, die, freeze) makes a call block. */

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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/loop.h"
#include "../lib/nats_server.h"
#include "bus.h"

struct world {
    struct nats_server server;
    struct loop loop;
    struct bus *bus;
    unsigned connected, disconnected;
    struct bus_mailbox mailbox;
    unsigned received;
    char subject[256], header[64];
    unsigned status;
    char payload[64];
    size_t payload_length;
    enum bus_send sent;
    size_t attempt_bytes;
    long most_slept_ms; /* in a call */
};

static void on_connected(void *context) {
    ((struct world *)context)->connected++;
}
static void on_disconnected(void *context) {
    ((struct world *)context)->disconnected++;
}

static void on_message(void *context, const struct bus_message *message) {
    struct world *world = context;
    world->received++;
    snprintf(world->subject, sizeof world->subject, "%s", message->subject);
    const char *header = bus_message_header(message, "X-Test");
    snprintf(world->header, sizeof world->header, "%s", header != NULL ? header : "");
    world->status = bus_message_status(message);
    world->payload_length = message->payload.length;
    if (message->payload.length < sizeof world->payload) {
        snprintf(world->payload, sizeof world->payload, "%.*s", (int)message->payload.length,
                 message->payload.length > 0 ? message->payload.data : "");
    }
}

static void create_bus(struct world *world, const char *token) {
    loop_create(&world->loop);
    const struct bus_options options = {.urls = world->server.url, .token = token, .name = "test"};
    const struct bus_events events = {
        .connected = on_connected, .disconnected = on_disconnected, .context = world};
    assert_int_equal(bus_create(world->loop.reactor, &options, &events, &world->bus), PARLEY_OK);
    loop_start(&world->loop);
}

static void destroy_bus(struct world *world) {
    loop_stop(&world->loop);
    bus_destroy(world->bus);
    loop_destroy(&world->loop);
}

static bool is_connected(void *context) {
    return bus_is_connected(((struct world *)context)->bus);
}
static bool is_away(void *context) {
    return !is_connected(context);
}
static bool has_received(void *context) {
    return ((struct world *)context)->received > 0;
}
static bool has_room(void *context) {
    return bus_has_room(((struct world *)context)->bus);
}

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    nats_server_init(&world->server, false);
    *state = world;
    return 0;
}

static int tear_down(void **state) {
    struct world *world = *state;
    nats_server_finish(&world->server);
    free(world);
    return 0;
}

static void start(struct world *world) {
    nats_server_start(&world->server);
    create_bus(world, NULL);
    assert_true(loop_wait(&world->loop, is_connected, world, LOOP_PATIENCE_MS));
}

static void open_mailbox(void *context) {
    struct world *world = context;
    assert_int_equal(bus_mailbox_open(world->bus, on_message, world, &world->mailbox), PARLEY_OK);
}

static enum bus_send publish_with(struct bus *bus, const char *subject,
                                  const struct bus_header *headers, size_t header_count,
                                  struct parley_bytes payload) {
    struct parley_buffer text;
    const size_t headers_bytes = bus_headers_bytes(headers, header_count);
    parley_buffer_init(&text);
    assert_true(parley_buffer_reserve(&text, headers_bytes + payload.length));
    enum bus_send sent = BUS_FAILED;
    if (bus_headers_write(&text, headers, header_count)) {
        parley_buffer_append(&text, payload);
        sent = bus_publish_text(bus, subject, NULL, parley_buffer_bytes(&text), headers_bytes);
    }
    parley_buffer_finish(&text);
    return sent;
}

static void send_to_itself(void *context) {
    struct world *world = context;
    char address[BUS_SUBJECT_MAX];
    bus_mailbox_address(world->bus, world->mailbox, address);
    const struct bus_header headers[] = {{"X-Test", "a value"}, {"Nats-Msg-Id", "1"}};
    world->sent = publish_with(world->bus, address, headers, 2, PARLEY_BYTES("hello"));
}

static void test_a_message_comes_back_through_its_mailbox(void **state) {
    struct world *world = *state;
    start(world);
    loop_do(&world->loop, open_mailbox, world);
    loop_do(&world->loop, send_to_itself, world);
    assert_int_equal(world->sent, BUS_SENT);
    assert_true(loop_wait(&world->loop, has_received, world, LOOP_PATIENCE_MS));
    assert_string_equal(world->payload, "hello");
    assert_string_equal(world->header, "a value");
    assert_int_equal(world->status, 0);
    destroy_bus(world);
}

static void ask_nobody(void *context) {
    struct world *world = context;
    char address[BUS_SUBJECT_MAX];
    bus_mailbox_address(world->bus, world->mailbox, address);
    world->sent = bus_publish(world->bus, "nobody.is.there", address, PARLEY_BYTES("?"));
}

static void test_a_request_that_nobody_hears_is_answered_with_503(void **state) {
    struct world *world = *state;
    start(world);
    loop_do(&world->loop, open_mailbox, world);
    loop_do(&world->loop, ask_nobody, world);
    assert_true(loop_wait(&world->loop, has_received, world, LOOP_PATIENCE_MS));
    assert_int_equal(world->status, 503);
    destroy_bus(world);
}

static void close_and_send(void *context) {
    struct world *world = context;
    char old[BUS_SUBJECT_MAX];
    bus_mailbox_address(world->bus, world->mailbox, old);
    bus_mailbox_close(world->bus, world->mailbox);
    open_mailbox(world); /* takes the same slot */
    char new[BUS_SUBJECT_MAX];
    bus_mailbox_address(world->bus, world->mailbox, new);
    assert_string_not_equal(old, new);
    bus_publish(world->bus, old, NULL, PARLEY_BYTES("old"));
    bus_publish(world->bus, new, NULL, PARLEY_BYTES("new"));
}

static void test_what_comes_for_a_closed_mailbox_is_dropped(void **state) {
    struct world *world = *state;
    start(world);
    loop_do(&world->loop, open_mailbox, world);
    loop_do(&world->loop, close_and_send, world);
    assert_true(loop_wait(&world->loop, has_received, world, LOOP_PATIENCE_MS));
    assert_int_equal(world->received, 1);
    assert_string_equal(world->payload, "new");
    destroy_bus(world);
}

static void open_close_many(void *context) {
    struct world *world = context;
    enum { MANY = 1000 };
    struct bus_mailbox many[MANY];
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(bus_mailbox_open(world->bus, on_message, world, &many[i]), PARLEY_OK);
    }
    for (int i = 1; i < MANY; i++) {
        bus_mailbox_close(world->bus, many[i]);
        bus_mailbox_close(world->bus, many[i]); /* a second time is harmless */
    }
    world->mailbox = many[0];
}

static void test_mailboxes_grow_in_number(void **state) {
    struct world *world = *state;
    start(world);
    loop_do(&world->loop, open_close_many, world);
    loop_do(&world->loop, send_to_itself, world);
    assert_true(loop_wait(&world->loop, has_received, world, LOOP_PATIENCE_MS));
    destroy_bus(world);
}

static void send_wrong_subjects(void *context) {
    struct world *world = context;
    const char *subjects[] = {"",     ".",   "a.",  ".a",     "a..b", "a b", "a\r\nPUB b 0",
                              "a\tb", "a.*", "a.>", "a\177b", "a\nb"};
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        assert_int_equal(bus_publish(world->bus, subjects[i], NULL, PARLEY_BYTES("x")), BUS_FAILED);
    }
    const struct bus_header wrong[] = {{"A", "x\r\nB: y"}, {"A:B", "x"}, {"", "x"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(publish_with(world->bus, "a", &wrong[i], 1, PARLEY_BYTES("x")),
                         BUS_FAILED);
    }
}

static void test_a_subject_that_would_be_protocol_is_refused(void **state) {
    struct world *world = *state;
    start(world);
    loop_do(&world->loop, send_wrong_subjects, world);
    destroy_bus(world);
}

static void send_sized(void *context) {
    struct world *world = context;
    char address[BUS_SUBJECT_MAX];
    bus_mailbox_address(world->bus, world->mailbox, address);
    const struct bus_header headers[] = {{"X-Test", "12345"}, {"Another-One", "67"}};
    size_t length = bus_max_payload_bytes(world->bus) - bus_headers_bytes(headers, 2);
    char *payload = calloc(1, length + 1);
    assert_int_equal(
        publish_with(world->bus, address, headers, 2, (struct parley_bytes){payload, length + 1}),
        BUS_TOO_LARGE);
    world->sent =
        publish_with(world->bus, address, headers, 2, (struct parley_bytes){payload, length});
    world->attempt_bytes = length;
    free(payload);
}

/* The server closes the connection of one who sends a byte too much: so the largest message that
 * we let pass must be the largest that it takes. */
static void test_the_largest_message_counts_its_headers(void **state) {
    struct world *world = *state;
    start(world);
    loop_do(&world->loop, open_mailbox, world);
    loop_do(&world->loop, send_sized, world);
    assert_int_equal(world->sent, BUS_SENT);
    assert_true(loop_wait(&world->loop, has_received, world, LOOP_PATIENCE_MS));
    assert_int_equal(world->payload_length, world->attempt_bytes);
    assert_int_equal(world->disconnected, 0);
    destroy_bus(world);
}

static void test_a_server_away_at_the_start_is_found_when_it_comes(void **state) {
    struct world *world = *state;
    create_bus(world, NULL);
    loop_do(&world->loop, open_mailbox, world);
    loop_do(&world->loop, send_to_itself, world);
    assert_int_equal(world->sent, BUS_AWAY);
    nats_server_start(&world->server);
    assert_true(loop_wait(&world->loop, is_connected, world, LOOP_PATIENCE_MS));
    loop_do(&world->loop, send_to_itself, world);
    assert_true(loop_wait(&world->loop, has_received, world, LOOP_PATIENCE_MS));
    destroy_bus(world);
}

static void test_a_server_that_restarts_is_found_again(void **state) {
    struct world *world = *state;
    start(world);
    for (unsigned life = 1; life <= 3; life++) {
        nats_server_end(&world->server, SIGKILL);
        assert_true(loop_wait(&world->loop, is_away, world, LOOP_PATIENCE_MS));
        nats_server_start(&world->server);
        assert_true(loop_wait(&world->loop, is_connected, world, LOOP_PATIENCE_MS));
        assert_int_equal(world->disconnected, life);
        assert_int_equal(world->connected, life + 1);
        world->received = 0;
        loop_do(&world->loop, open_mailbox, world);
        loop_do(&world->loop, send_to_itself, world);
        assert_true(loop_wait(&world->loop, has_received, world, LOOP_PATIENCE_MS));
    }
    destroy_bus(world);
}

static void send_itself_much(void *context) {
    struct world *world = context;
    static char payload[900 * 1000];
    char address[BUS_SUBJECT_MAX];
    bus_mailbox_address(world->bus, world->mailbox, address);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(
            bus_publish(world->bus, address, NULL, (struct parley_bytes){payload, sizeof payload}),
            BUS_SENT);
    }
}

/* nats.c's own reconnecting would go on parsing where the old connection was cut. */
static void test_a_connection_cut_within_a_message_spoils_nothing(void **state) {
    struct world *world = *state;
    start(world);
    for (int life = 0; life < 5; life++) {
        world->received = 0;
        loop_do(&world->loop, open_mailbox, world);
        loop_do(&world->loop, send_itself_much, world);
        assert_true(loop_wait(&world->loop, has_received, world, LOOP_PATIENCE_MS));
        nats_server_end(&world->server, SIGKILL);
        assert_true(loop_wait(&world->loop, is_away, world, LOOP_PATIENCE_MS));
        nats_server_start(&world->server);
        assert_true(loop_wait(&world->loop, is_connected, world, LOOP_PATIENCE_MS));
        world->received = 0;
        loop_do(&world->loop, open_mailbox, world);
        loop_do(&world->loop, send_to_itself, world);
        assert_true(loop_wait(&world->loop, has_received, world, LOOP_PATIENCE_MS));
        assert_string_equal(world->payload, "hello");
        assert_int_equal(world->disconnected, life + 1);
    }
    destroy_bus(world);
}

static void test_a_wrong_token_is_tried_until_it_is_right(void **state) {
    struct world *world = *state;
    static const char *const other[] = {"--auth", "other", NULL};
    static const char *const right[] = {"--auth", "right", NULL};
    world->server.extra = other;
    nats_server_start(&world->server);
    create_bus(world, "right");
    assert_false(loop_wait(&world->loop, is_connected, world, 1500));
    nats_server_end(&world->server, SIGKILL);
    world->server.extra = right;
    nats_server_start(&world->server);
    assert_true(loop_wait(&world->loop, is_connected, world, LOOP_PATIENCE_MS));
    destroy_bus(world);
}

static void send_much(void *context) {
    struct world *world = context;
    static char payload[1000 * 1000];
    for (int i = 0; i < 4 && world->sent == BUS_SENT; i++) {
        struct loop_nap nap;
        loop_nap_begin(&nap);
        world->sent =
            bus_publish(world->bus, "much", NULL, (struct parley_bytes){payload, sizeof payload});
        const long slept = loop_nap_ms(&nap);
        world->most_slept_ms = slept > world->most_slept_ms ? slept : world->most_slept_ms;
        world->attempt_bytes += world->sent == BUS_SENT ? sizeof payload : 0;
    }
}

static bool is_full(void *context) {
    struct world *world = context;
    send_much(world);
    return world->sent != BUS_SENT;
}

static void test_a_frozen_server_fills_the_bus_and_blocks_nothing(void **state) {
    struct world *world = *state;
    start(world);
    nats_server_stop(&world->server);
    assert_true(loop_wait(&world->loop, is_full, world, LOOP_PATIENCE_MS));
    assert_int_equal(world->sent, BUS_FULL);
    assert_true(world->attempt_bytes < 64 * 1000 * 1000);
    assert_true(world->most_slept_ms < 1000);
    nats_server_continue(&world->server);
    assert_true(loop_wait(&world->loop, has_room, world, LOOP_PATIENCE_MS));
    loop_do(&world->loop, open_mailbox, world);
    loop_do(&world->loop, send_to_itself, world);
    assert_true(loop_wait(&world->loop, has_received, world, LOOP_PATIENCE_MS));
    assert_int_equal(world->disconnected, 0);
    destroy_bus(world);
}

static void send_and_note_sleep(void *context) {
    struct world *world = context;
    struct loop_nap nap;
    loop_nap_begin(&nap);
    send_to_itself(world);
    world->most_slept_ms = loop_nap_ms(&nap);
}

/* The listening socket of a frozen server still takes connections: the first attempt would wait
 * for its INFO. */
static void test_a_server_frozen_at_the_start_blocks_nothing(void **state) {
    struct world *world = *state;
    nats_server_start(&world->server);
    nats_server_stop(&world->server);
    struct loop_nap nap;
    loop_nap_begin(&nap);
    create_bus(world, NULL);
    assert_true(loop_nap_ms(&nap) < 1000);
    loop_do(&world->loop, open_mailbox, world);
    loop_do(&world->loop, send_and_note_sleep, world);
    assert_true(world->most_slept_ms < 1000);
    assert_int_equal(world->sent, BUS_AWAY);
    nats_server_continue(&world->server);
    assert_true(loop_wait(&world->loop, is_connected, world, LOOP_PATIENCE_MS));
    destroy_bus(world);
}

/* Accepts one connection, greets, and says no more. */
static int greet_and_freeze(int listener) {
    static const char info[] = "INFO {\"server_id\":\"x\",\"version\":\"2.9.10\",\"proto\":1,"
                               "\"headers\":true,\"max_payload\":1048576}\r\n";
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, LOOP_PATIENCE_MS), 1);
    int fd = accept(listener, NULL, NULL);
    assert_int_equal(send(fd, info, sizeof info - 1, 0), sizeof info - 1);
    return fd;
}

/* The library would spin there for ever; the bus must try again, and end. A nats-server cannot be
 * frozen at just that moment, hence a socket. */
static void test_a_server_that_freezes_within_the_greeting_is_given_up(void **state) {
    struct world *world = *state;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    const int yes = 1; /* beside the socket that reserves the port */
    assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)world->server.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    create_bus(world, NULL);
    int first = greet_and_freeze(listener);
    int second = greet_and_freeze(listener);
    destroy_bus(world); /* which waiting for that server would never end */
    close(first);
    close(second);
    close(listener);
}

static void test_a_bus_can_be_destroyed_at_any_moment(void **state) {
    struct world *world = *state;
    for (int i = 0; i < 6; i++) { /* nobody there: while it tries */
        create_bus(world, NULL);
        destroy_bus(world);
    }
    nats_server_start(&world->server);
    for (int i = 0; i < 20; i++) { /* while it connects */
        create_bus(world, NULL);
        destroy_bus(world);
    }
    create_bus(world, NULL);
    assert_true(loop_wait(&world->loop, is_connected, world, LOOP_PATIENCE_MS));
    nats_server_end(&world->server, SIGKILL); /* while it reconnects */
    assert_true(loop_wait(&world->loop, is_away, world, LOOP_PATIENCE_MS));
    destroy_bus(world);
}

static void test_an_unreadable_address_comes_to_nothing(void **state) {
    struct world *world = *state;
    snprintf(world->server.url, sizeof world->server.url, "nats://127.0.0.1:notaport");
    create_bus(world, NULL);
    assert_false(loop_wait(&world->loop, is_connected, world, 1500));
    destroy_bus(world);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* In a process that ends without the leak check: what the cancelled attempt held is lost. */
static int run_leaking_tests(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_server_that_freezes_within_the_greeting_is_given_up),
    };
    pid_t child = fork();
    if (child == 0) {
        int failed = cmocka_run_group_tests(tests, NULL, NULL);
        fflush(NULL);
        _exit(failed);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return status != 0;
}

int main(void) {
    int failed = run_leaking_tests();
    const struct CMUnitTest tests[] = {
        TEST(test_a_message_comes_back_through_its_mailbox),
        TEST(test_a_request_that_nobody_hears_is_answered_with_503),
        TEST(test_what_comes_for_a_closed_mailbox_is_dropped),
        TEST(test_mailboxes_grow_in_number),
        TEST(test_a_subject_that_would_be_protocol_is_refused),
        TEST(test_the_largest_message_counts_its_headers),
        TEST(test_a_server_away_at_the_start_is_found_when_it_comes),
        TEST(test_a_server_that_restarts_is_found_again),
        TEST(test_a_connection_cut_within_a_message_spoils_nothing),
        TEST(test_a_wrong_token_is_tried_until_it_is_right),
        TEST(test_a_frozen_server_fills_the_bus_and_blocks_nothing),
        TEST(test_a_server_frozen_at_the_start_blocks_nothing),
        TEST(test_a_bus_can_be_destroyed_at_any_moment),
        TEST(test_an_unreadable_address_comes_to_nothing),
    };
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
