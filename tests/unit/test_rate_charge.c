/* SPDX-License-Identifier: Apache-2.0 */

/* What a sender's rate does to its requests. The clock, the timer and HTTP are played here. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "body_throttle.h"
#include "limit_sender.h"

enum { LINE_BYTES = 100 };

/* ---- the reactor, played ---- */

struct reactor {
    int64_t now_ms;
    struct reactor_timer *timer; /* NULL: not armed */
};

int64_t reactor_now_ms(const struct reactor *reactor) {
    return reactor->now_ms;
}

void reactor_timer_set(struct reactor *reactor, struct reactor_timer *timer, int64_t delay_ms) {
    assert_true(delay_ms > 0);
    timer->due_ms = reactor->now_ms + delay_ms;
    reactor->timer = timer;
}

void reactor_timer_clear(struct reactor *reactor, struct reactor_timer *timer) {
    if (reactor->timer == timer) {
        reactor->timer = NULL;
    }
}

/* ---- HTTP, played ---- */

struct http_request {
    struct peer peer;
    int64_t content_length;
    unsigned status, wake_count;
    char left[160], policy[160], retry_after[16], body[1024];
};

int64_t http_request_certificate_expires_at(const struct http_request *request) {
    (void)request;
    return 0;
}

const char *http_request_certificate(const struct http_request *request) {
    (void)request;
    return NULL;
}

const struct peer *http_request_peer(const struct http_request *request) {
    return &request->peer;
}

int64_t http_request_content_length(const struct http_request *request) {
    return request->content_length;
}

const char *http_request_id(const struct http_request *request) {
    (void)request;
    return "id";
}

void http_header(struct http_request *request, const char *name, const char *value) {
    static const struct {
        const char *name;
        size_t offset, size;
    } kept[] = {
        {"RateLimit", offsetof(struct http_request, left), sizeof request->left},
        {"RateLimit-Policy", offsetof(struct http_request, policy), sizeof request->policy},
        {"Retry-After", offsetof(struct http_request, retry_after), sizeof request->retry_after},
    };
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (strcmp(name, kept[i].name) == 0) {
            snprintf((char *)request + kept[i].offset, kept[i].size, "%s", value);
        }
    }
}

void http_request_remark(struct http_request *request, enum http_remark remark,
                         struct parley_bytes text) {
    (void)request;
    (void)remark;
    (void)text;
}

void http_request_note(struct http_request *request, enum http_note note, unsigned char value) {
    (void)request;
    (void)note;
    (void)value;
}

void http_compress(struct http_request *request) {
    (void)request;
}

const char *http_request_query(const struct http_request *request, const char *name) {
    (void)request;
    (void)name;
    return NULL;
}

const struct http_encoding *http_request_encoding(const struct http_request *request) {
    static const struct http_encoding json = {.protocol = NULL};
    (void)request;
    return &json;
}

void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct parley_bytes body) {
    (void)content_type;
    request->status = status;
    snprintf(request->body, sizeof request->body, "%.*s", (int)body.length, body.data);
}

void http_wake(struct http_request *request) {
    request->wake_count++;
}

/* ---- who sends, played ---- */

static const struct principal *sender;

const struct principal *guard_principal(const struct http_request *request) {
    (void)request;
    return sender;
}

static const struct principal anonymous = {.name = ""};
static const struct principal token = {.name = "t"};
static const struct principal fast_token = {.name = "fast", .messages_per_s = 1000};

/* ---- the world ---- */

struct world {
    struct reactor reactor;
    struct limits limits;
    struct gateway gateway;
    struct rate_headers texts;
    struct http_request request;
    struct rate_charge meter;
};

static struct world *start(struct rate rate) {
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    const struct limits_options options = {.rate = rate, .connections_max = 1};
    assert_int_equal(limits_init(&world->limits, &options), PARLEY_OK);
    world->reactor.now_ms = 1000000;
    world->gateway.reactor = &world->reactor;
    sender = &anonymous;
    return world;
}

static void stop_meter(struct world *world) {
    limits_finish(&world->limits);
    free(world);
}

/* A request from an address that ends in `address`. */
static void begin(struct world *world, unsigned char address, int64_t content_length) {
    world->request = (struct http_request){.peer = {{[10] = 0xff, [11] = 0xff, [12] = 10}},
                                           .content_length = content_length};
    world->request.peer.bytes[15] = address;
    rate_charge_begin(&world->meter, &world->limits, &world->texts, &world->reactor,
                      &world->request);
}

static bool post(struct world *world, unsigned char address, int64_t content_length) {
    begin(world, address, content_length);
    return rate_charge_admit(&world->meter, &world->request, 1000000);
}

#define MESSAGES(n) ((struct rate){{[RATE_MESSAGES] = (n)}})
#define BYTES(n) ((struct rate){{[RATE_BYTES] = (n)}})

/* ---- one message ---- */

static void test_without_a_rate_nothing_is_limited_or_said(void **state) {
    (void)state;
    struct world *world = start(MESSAGES(0));
    for (size_t i = 0; i < 10000; i++) {
        assert_true(post(world, 1, INT64_MAX));
    }
    assert_false(rate_charge_is_on(&world->meter));
    assert_string_equal(world->request.left, "");
    assert_string_equal(world->request.policy, "");
    rate_charge_begin(&world->meter, NULL, &world->texts, &world->reactor, &world->request);
    assert_false(rate_charge_is_on(&world->meter));
    stop_meter(world);
}

static void test_what_is_left_is_said_with_every_answer(void **state) {
    (void)state;
    static const struct {
        uint64_t sent;
        int64_t after_ms;
        const char *left;
    } rows[] = {
        {0, 0, "\"messages\";r=500;t=1"},    {499, 0, "\"messages\";r=500;t=1"},
        {500, 0, "\"messages\";r=499;t=1"},  {900, 0, "\"messages\";r=99;t=1"},
        {999, 0, "\"messages\";r=0;t=1"},    {1500, 0, "\"messages\";r=0;t=3"},
        {999, 100, "\"messages\";r=50;t=1"}, {1500, 9000, "\"messages\";r=500;t=1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct world *world = start(MESSAGES(500));
        begin(world, 1, 0);
        rate_charge_charge(&world->meter, rows[i].sent, 0);
        world->reactor.now_ms += rows[i].after_ms;
        begin(world, 1, 0);
        assert_string_equal(world->request.left, rows[i].left);
        assert_string_equal(world->request.policy, "\"messages\";q=500;w=1");
        stop_meter(world);
    }
}

static void test_both_rates_are_said(void **state) {
    (void)state;
    struct world *world = start((struct rate){{5, 1 << 20}});
    begin(world, 1, 0);
    assert_string_equal(world->request.left, "\"messages\";r=5;t=1, \"bytes\";r=1048576;t=1");
    assert_string_equal(world->request.policy, "\"messages\";q=5;w=1, "
                                               "\"bytes\";q=1048576;w=1;qu=\"content-bytes\"");
    stop_meter(world);
}

static void test_a_message_over_the_rate_is_refused_until_there_is_room(void **state) {
    (void)state;
    struct world *world = start(MESSAGES(2));
    for (size_t i = 0; i < 4; i++) {
        assert_true(post(world, 1, 10));
    }
    assert_false(post(world, 1, 10));
    assert_int_equal(world->request.status, 429);
    assert_string_equal(world->request.retry_after, "1");
    assert_string_equal(world->request.left, "\"messages\";r=0;t=2");
    assert_non_null(strstr(world->request.body, "\"type\":\"/problems/rate-limited\""));
    assert_non_null(strstr(world->request.body, "2 messages a second"));
    assert_true(post(world, 2, 10));
    world->reactor.now_ms += 500;
    assert_true(post(world, 1, 10));
    assert_false(post(world, 1, 10));
    stop_meter(world);
}

static void test_bytes_are_taken_beforehand_where_their_number_is_known(void **state) {
    (void)state;
    struct world *world = start(BYTES(100));
    assert_true(post(world, 1, 150));
    assert_false(post(world, 1, 51));
    assert_string_equal(world->request.left, "\"bytes\";r=50;t=1");
    assert_non_null(strstr(world->request.body, "100 bytes a second"));
    assert_true(post(world, 1, -1));
    assert_false(world->meter.has_length);
    rate_charge_charge(&world->meter, 0, 250);
    assert_false(post(world, 1, 1));
    assert_string_equal(world->request.retry_after, "3");
    /* More than a burst waits for a full bucket, and is owed. */
    world->reactor.now_ms += 3999;
    assert_false(post(world, 1, 1000));
    world->reactor.now_ms += 1;
    assert_true(post(world, 1, 1000));
    assert_false(post(world, 1, 1));
    assert_string_equal(world->request.retry_after, "9");
    stop_meter(world);
}

static void test_an_invalid_message_costs_four(void **state) {
    (void)state;
    struct world *world = start(MESSAGES(4));
    assert_true(post(world, 1, 10));
    rate_charge_charge_invalid(&world->meter);
    assert_true(post(world, 1, 10));
    rate_charge_charge_invalid(&world->meter);
    assert_false(post(world, 1, 10));
    stop_meter(world);
}

static void test_a_name_is_limited_wherever_it_comes_from_and_an_address_without_one(void **state) {
    (void)state;
    struct world *world = start(MESSAGES(1));
    sender = &token;
    assert_true(post(world, 1, 10));
    assert_true(post(world, 2, 10));
    assert_false(post(world, 3, 10));
    sender = &anonymous;
    assert_true(post(world, 1, 10));
    assert_true(post(world, 1, 10));
    assert_false(post(world, 1, 10));
    sender = &fast_token;
    for (size_t i = 0; i < 2000; i++) {
        assert_true(post(world, 1, 10));
    }
    assert_false(post(world, 1, 10));
    assert_string_equal(world->request.policy, "\"messages\";q=1000;w=1");
    stop_meter(world);
}

/* ---- many ---- */

struct body {
    struct world *world;
    struct body_throttle pace;
    size_t length;  /* still to come */
    size_t invalid; /* every so many lines are; 0: none */
    size_t line_count;
    size_t in_line;
};

/* As a batch does it: lines of LINE_BYTES are cut while the pace allows it. */
static size_t take(struct body *body, size_t offered) {
    const size_t allowed = body_throttle_begin(&body->pace, offered);
    size_t taken = 0;
    while (taken < allowed && body_throttle_is_open(&body->pace)) {
        const size_t rest = LINE_BYTES - body->in_line;
        const size_t count = rest < allowed - taken ? rest : allowed - taken;
        taken += count;
        body->in_line += count;
        if (body->in_line == LINE_BYTES) {
            body->in_line = 0;
            body->line_count++;
            body_throttle_note(&body->pace,
                               body->invalid == 0 || body->line_count % body->invalid != 0);
        }
    }
    body_throttle_end(&body->pace, offered, taken);
    return taken;
}

/* Offers what there is, in one piece, until it is taken or has to wait. */
static void offer(struct body *body) {
    size_t taken;
    do {
        taken = take(body, body->length);
        body->length -= taken;
    } while (taken > 0 && body->length > 0);
    assert_true(body->length == 0 || body->world->reactor.timer != NULL);
}

static void begin_body(struct body *body, struct world *world, size_t lines, size_t invalid) {
    *body = (struct body){.world = world, .length = lines * LINE_BYTES, .invalid = invalid};
    begin(world, 1, -1);
    body_throttle_init(&body->pace, &world->meter, &world->gateway, &world->request);
    offer(body);
}

/* Lets `ms` pass, in which the body goes on whenever it is woken. */
static void pass(struct body *body, int64_t ms) {
    struct reactor *reactor = &body->world->reactor;
    const int64_t end_ms = reactor->now_ms + ms;
    while (reactor->timer != NULL && reactor->timer->due_ms <= end_ms) {
        struct reactor_timer *timer = reactor->timer;
        reactor->now_ms = timer->due_ms;
        reactor->timer = NULL;
        timer->fire(timer);
        offer(body);
    }
    reactor->now_ms = end_ms;
}

static void test_a_body_of_many_is_taken_no_faster_than_its_rate(void **state) {
    (void)state;
    static const struct {
        struct rate rate;
        size_t invalid;
        size_t at_once, after_1_s, after_10_s; /* lines */
        unsigned wakes_max;
    } rows[] = {
        {{{100, 0}}, 0, 200, 300, 1200, 40},
        {{{1, 0}}, 0, 2, 3, 12, 10},
        {{{0, 100 * LINE_BYTES}}, 0, 200, 300, 1200, 40},
        {{{100, 10 * LINE_BYTES}}, 0, 20, 30, 120, 40},
        {{{100, 0}}, 1, 50, 75, 300, 40},
        {{{100, 0}}, 2, 80, 120, 480, 40},
        {{{0, 1}}, 0, 0, 0, 0, 20},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct world *world = start(rows[i].rate);
        struct body body;
        begin_body(&body, world, 10000, rows[i].invalid);
        assert_int_equal(body.line_count, rows[i].at_once);
        pass(&body, 1000);
        const size_t step = rows[i].at_once / 8; /* it goes on four times a second */
        assert_in_range(body.line_count, rows[i].after_1_s - step, rows[i].after_1_s + 1);
        pass(&body, 9000);
        assert_in_range(body.line_count, rows[i].after_10_s - step, rows[i].after_10_s + 1);
        assert_in_range(world->request.wake_count, 1, rows[i].wakes_max);
        body_throttle_close(&body.pace);
        assert_null(world->reactor.timer);
        stop_meter(world);
    }
}

static void test_a_body_within_its_rate_never_waits(void **state) {
    (void)state;
    struct world *world = start(MESSAGES(100));
    struct body body;
    begin_body(&body, world, 200, 0);
    assert_int_equal(body.line_count, 200);
    assert_null(world->reactor.timer);
    body_throttle_close(&body.pace);
    stop_meter(world);
}

static void test_bodies_of_one_sender_share_its_rate_with_its_messages(void **state) {
    (void)state;
    struct world *world = start(MESSAGES(100));
    struct body body;
    begin_body(&body, world, 10000, 0);
    struct rate_charge *meter = &world->meter;
    assert_false(rate_charge_admit(meter, &world->request, 10));
    rate_charge_charge(meter, 100, 0); /* by another of its requests */
    pass(&body, 1000);
    assert_int_equal(body.line_count, 200);
    pass(&body, 1000);
    assert_in_range(body.line_count, 300, 301);
    body_throttle_close(&body.pace);
    stop_meter(world);
}

static void test_a_body_is_not_slowed_while_the_server_shuts_down(void **state) {
    (void)state;
    struct world *world = start(BYTES(1));
    struct body body;
    begin_body(&body, world, 10000, 0);
    pass(&body, 1000);
    assert_int_equal(body.line_count, 0);
    world->gateway.is_draining = true;
    pass(&body, 1000);
    assert_int_equal(body.line_count, 10000);
    body_throttle_close(&body.pace);
    stop_meter(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_rate_nothing_is_limited_or_said),
        cmocka_unit_test(test_what_is_left_is_said_with_every_answer),
        cmocka_unit_test(test_both_rates_are_said),
        cmocka_unit_test(test_a_message_over_the_rate_is_refused_until_there_is_room),
        cmocka_unit_test(test_bytes_are_taken_beforehand_where_their_number_is_known),
        cmocka_unit_test(test_an_invalid_message_costs_four),
        cmocka_unit_test(test_a_name_is_limited_wherever_it_comes_from_and_an_address_without_one),
        cmocka_unit_test(test_a_body_of_many_is_taken_no_faster_than_its_rate),
        cmocka_unit_test(test_a_body_within_its_rate_never_waits),
        cmocka_unit_test(test_bodies_of_one_sender_share_its_rate_with_its_messages),
        cmocka_unit_test(test_a_body_is_not_slowed_while_the_server_shuts_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
