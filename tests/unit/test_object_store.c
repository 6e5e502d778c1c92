/* SPDX-License-Identifier: Apache-2.0 */

/* What becomes of an object whose meta JetStream refuses, or does not say that it is stored.
 * JetStream is a fake that answers when told to, and time passes as fast as timers are set. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sodium.h>

#include "object_store.h"
#include "reactor.h"

#define OWNER "ada/00000000-0000-8000-8000-00000000000"
#define BYTES "{\"state\":1}"

enum { ASKS_MAX = 40, WRONG_LAST_SEQUENCE = 10071 };

static char said[1024]; /* what was published and asked */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...) {
    const size_t length = strlen(said);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(said + length, sizeof said - length, format, arguments);
    va_end(arguments);
}

/* ---- time ---- */

enum { TIMERS_MAX = 8 };

static int64_t now_ms;
static struct reactor_timer *timers[TIMERS_MAX]; /* those that are armed */

int64_t reactor_now_ms(const struct reactor *reactor) {
    (void)reactor;
    return now_ms;
}

void reactor_timer_clear(struct reactor *reactor, struct reactor_timer *timer) {
    (void)reactor;
    timer->is_armed = false;
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        if (timers[i] == timer) {
            timers[i] = NULL;
        }
    }
}

void reactor_timer_set(struct reactor *reactor, struct reactor_timer *timer, int64_t delay_ms) {
    size_t free = 0;
    reactor_timer_clear(reactor, timer);
    while (timers[free] != NULL) {
        free++;
        assert_true(free < TIMERS_MAX);
    }
    timers[free] = timer;
    timer->is_armed = true;
    timer->due_ms = now_ms + delay_ms;
}

/* Returns: false: nothing more happens by itself. */
static bool fire_next(void) {
    struct reactor_timer *next = NULL;
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        if (timers[i] != NULL && (next == NULL || timers[i]->due_ms < next->due_ms)) {
            next = timers[i];
        }
    }
    if (next == NULL) {
        return false;
    }
    now_ms = next->due_ms > now_ms ? next->due_ms : now_ms;
    reactor_timer_clear(NULL, next);
    next->fire(next);
    return true;
}

/* ---- JetStream ---- */

struct jetstream_request {
    jetstream_last_fn *last;
    jetstream_held_fn *held;
    jetstream_done_fn *was_done;
    void *context;
    uint64_t sequence;
};

static struct jetstream_request *asked, *reading, *removing; /* that await their answer */
static jetstream_ack_fn *acked;                              /* the one that awaits its ack */
static void *ack_context;
static char own_meta[512]; /* as it was published last */
static bool is_away;
static int64_t patience_ms;

static struct jetstream_request *new_request(struct jetstream_request request) {
    struct jetstream_request *copy = malloc(sizeof *copy);
    assert_non_null(copy);
    *copy = request;
    return copy;
}

static struct jetstream_request end_request(struct jetstream_request **request) {
    assert_non_null(*request);
    const struct jetstream_request ended = **request;
    free(*request);
    *request = NULL;
    return ended;
}

void jetstream_request_cancel(struct jetstream_request *request) {
    struct jetstream_request **all[] = {&asked, &reading, &removing};
    for (size_t i = 0; i < 3 && request != NULL; i++) {
        if (*all[i] == request) {
            end_request(all[i]);
            return;
        }
    }
}

struct jetstream_request *jetstream_last_ask(struct jetstream *jetstream, const char *stream,
                                             const char *subject, jetstream_last_fn *done,
                                             void *context) {
    (void)jetstream;
    assert_string_equal(stream, "OBJ_b");
    assert_memory_equal(subject, "$O.b.M.", 7);
    assert_null(asked);
    say("ask ");
    asked = new_request((struct jetstream_request){.last = done, .context = context});
    return asked;
}

struct jetstream_request *jetstream_next_held_ask(struct jetstream *jetstream, const char *stream,
                                                  const char *subject, uint64_t sequence,
                                                  jetstream_held_fn *done, void *context) {
    (void)jetstream;
    (void)stream;
    (void)subject;
    assert_null(reading);
    reading = new_request(
        (struct jetstream_request){.held = done, .context = context, .sequence = sequence});
    return reading;
}

/* Of a meta the end of its name, and what comes after it and stays; of chunks whose they are. */
struct jetstream_request *jetstream_purge_ask(struct jetstream *jetstream, const char *stream,
                                              const struct jetstream_removal *what,
                                              jetstream_done_fn *done, void *context) {
    char name[OBJECT_NAME_MAX];
    (void)jetstream;
    (void)stream;
    assert_null(removing);
    if (object_name_of_subject(what->subject, name)) {
        say("purge %c<%u ", *(strchr(name, '\0') - 1), (unsigned)what->before);
    } else {
        const char *nuid = strrchr(what->subject, '.') + 1;
        say("purge %s ", strstr(own_meta, nuid) != NULL ? "own" : nuid);
    }
    removing = new_request((struct jetstream_request){.was_done = done, .context = context});
    return removing;
}

enum jetstream_publish jetstream_publish(struct jetstream *jetstream,
                                         const struct jetstream_message *message,
                                         jetstream_ack_fn *done, void *context) {
    (void)jetstream;
    assert_null(acked);
    acked = done;
    ack_context = context;
    if (message->subject[5] == 'C') {
        say("chunk ");
        return JETSTREAM_PUBLISHED;
    }
    assert_string_equal(message->headers[1].name, "Nats-Expected-Last-Subject-Sequence");
    say("meta<%s ", message->headers[1].value);
    snprintf(own_meta, sizeof own_meta, "%.*s", (int)message->payload.length,
             message->payload.data);
    return JETSTREAM_PUBLISHED;
}

bool jetstream_is_accepting(const struct jetstream *jetstream) {
    (void)jetstream;
    return !is_away;
}

int64_t jetstream_patience_ms(const struct jetstream *jetstream) {
    (void)jetstream;
    return patience_ms;
}

const char *jetstream_trouble(const struct jetstream *jetstream) {
    (void)jetstream;
    return is_away ? "NATS is away" : NULL;
}

const char *jetstream_bar(const struct jetstream *jetstream) {
    (void)jetstream;
    return NULL;
}

size_t jetstream_max_payload_bytes(const struct jetstream *jetstream) {
    (void)jetstream;
    return 1024 * 1024;
}

uint64_t jetstream_room_left(const struct jetstream *jetstream, const char *subject) {
    (void)jetstream;
    (void)subject;
    return UINT64_MAX;
}

void jetstream_wait_for_room(struct jetstream *jetstream, struct jetstream_waiter *waiter) {
    (void)jetstream;
    (void)waiter;
    fail();
}

void jetstream_wait_cancel(struct jetstream *jetstream, struct jetstream_waiter *waiter) {
    (void)jetstream;
    (void)waiter;
}

/* ---- its answers ---- */

static void ack(struct jetstream_ack answer) {
    jetstream_ack_fn *done = acked;
    assert_non_null(done);
    acked = NULL;
    done(ack_context, &answer);
}

static void ack_stored(uint64_t sequence, bool is_duplicate) {
    ack((struct jetstream_ack){.outcome = JETSTREAM_STORED,
                               .stream = "OBJ_b",
                               .sequence = sequence,
                               .is_duplicate = is_duplicate});
}

static void ack_refused(int code) {
    ack((struct jetstream_ack){
        .outcome = JETSTREAM_REFUSED, .error_code = code, .error = "wrong last sequence"});
}

static void answer_none(uint64_t mark) {
    const struct jetstream_request request = end_request(&asked);
    const struct jetstream_last last = {.found = JETSTREAM_LAST_NONE, .sequence = mark};
    request.last(request.context, &last);
}

static void answer_unknown(void) {
    const struct jetstream_request request = end_request(&asked);
    const struct jetstream_last last = {.found = JETSTREAM_LAST_UNKNOWN};
    request.last(request.context, &last);
}

static void answer_found(uint64_t sequence, const char *meta) {
    const struct jetstream_request request = end_request(&asked);
    const struct jetstream_last last = {
        .found = JETSTREAM_LAST_FOUND, .sequence = sequence, .payload = parley_bytes_of(meta)};
    request.last(request.context, &last);
}

/* To the keeper: of this owner there is one with this id, and then nothing. */
static void answer_reading(uint64_t sequence, const char *id) {
    char text[256];
    snprintf(text, sizeof text,
             "{\"name\":\"" OWNER "%s\",\"nuid\":\"OLD%s\",\"size\":1,\"chunks\":1}", id, id);
    const struct jetstream_held held = {.found = JETSTREAM_HELD_FOUND,
                                        .sequence = sequence,
                                        .payload = parley_bytes_of(text),
                                        .time_ns = INT64_C(1)};
    const struct jetstream_held gone = {.found = JETSTREAM_HELD_GONE};
    struct jetstream_request request = end_request(&reading);
    request.held(request.context, &held);
    request = end_request(&reading);
    request.held(request.context, &gone);
}

/* ---- the store ---- */

struct world {
    struct object_room room;
    struct object_store *store;
    struct object_put put;
    unsigned done;
};

static struct world world;

static void on_done(struct object_put *put) {
    assert_ptr_equal(put, &world.put);
    world.done++;
}

/* All that is said until an answer is awaited. */
static void expect(const char *text) {
    while (fire_next()) {
    }
    assert_string_equal(said, text);
    said[0] = '\0';
}

static void expect_end(enum object_put_end end) {
    while (fire_next()) {
    }
    assert_int_equal(world.done, 1);
    assert_int_equal(world.put.end, end);
    assert_true(object_store_is_idle(world.store));
}

static int begin(void **state) {
    (void)state;
    const struct object_store_options options = {
        .bucket = "b", .room = &world.room, .keep = 1, .days = 8};
    world = (struct world){.put = {.done = on_done}};
    said[0] = own_meta[0] = '\0';
    acked = NULL;
    is_away = false;
    patience_ms = 60000;
    now_ms = 1000;
    snprintf(world.put.name, sizeof world.put.name, "%s", OWNER "7");
    snprintf(world.put.digest, sizeof world.put.digest, "SHA-256=x");
    world.put.bytes = parley_bytes_of(BYTES);
    const bool is_made =
        sodium_init() >= 0 && object_store_create(NULL, NULL, &options, &world.store) == PARLEY_OK;
    return is_made ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    object_store_destroy(world.store);
    return asked == NULL && reading == NULL && removing == NULL && !fire_next() ? 0 : -1;
}

/* Up to its meta, which is published and has no answer yet. */
static void begin_put(void) {
    object_put_begin(&world.put, world.store);
    expect("ask ");
    answer_none(0);
    expect("chunk ");
    ack_stored(5, false);
    expect("meta<0 ");
}

static const char other_meta[] =
    "{\"name\":\"" OWNER "7\",\"nuid\":\"OTHER\",\"size\":11,\"chunks\":1,"
    "\"digest\":\"SHA-256=x\"}";

/* ---- */

static void test_the_oldest_goes_with_one_too_many(void **state) {
    (void)state;
    begin_put();
    ack_stored(40, false);
    expect_end(OBJECT_PUT_STORED);
    answer_reading(10, "1");
    expect("purge 1<11 ");
}

/* Its first answer was lost with a leader. */
static void test_one_that_was_stored_before_is_found(void **state) {
    (void)state;
    begin_put();
    ack_refused(WRONG_LAST_SEQUENCE);
    expect("ask ");
    assert_int_equal(world.done, 0);
    answer_none(0);
    expect("meta<0 ");
    ack_refused(WRONG_LAST_SEQUENCE);
    expect("ask ");
    answer_found(40, own_meta);
    expect_end(OBJECT_PUT_STORED);
    answer_reading(10, "1");
    expect("purge 1<11 ");
}

static void test_a_chunk_that_jetstream_does_not_decide_on_fails_it_for_now(void **state) {
    (void)state;
    object_put_begin(&world.put, world.store);
    answer_none(0);
    expect("ask chunk ");
    ack_refused(0);
    expect_end(OBJECT_PUT_AWAY);
    assert_memory_equal(said, "purge ", 6);
}

static void test_one_that_replaces_another_removes_that_one(void **state) {
    (void)state;
    object_put_begin(&world.put, world.store);
    answer_found(3, "{\"name\":\"" OWNER "7\",\"nuid\":\"OTHER\",\"size\":9,\"chunks\":1}");
    expect("ask chunk ");
    ack_stored(5, false);
    expect("meta<3 ");
    ack_refused(WRONG_LAST_SEQUENCE);
    expect("ask ");
    answer_found(40, own_meta);
    expect_end(OBJECT_PUT_STORED);
    expect("purge OTHER ");
}

static void test_one_that_may_be_stored_keeps_its_chunks_while_nats_is_away(void **state) {
    (void)state;
    begin_put();
    ack_refused(WRONG_LAST_SEQUENCE);
    is_away = true;
    answer_unknown();
    expect_end(OBJECT_PUT_AWAY);
    assert_string_equal(world.put.error, "NATS is away");
    expect("ask ");
}

static void test_one_that_may_be_stored_keeps_its_chunks_when_it_is_refused(void **state) {
    (void)state;
    begin_put();
    ack_refused(WRONG_LAST_SEQUENCE);
    answer_none(0);
    expect("ask meta<0 ");
    ack_refused(10077);
    expect_end(OBJECT_PUT_REFUSED);
    expect("");
}

static void test_one_that_is_refused_leaves_nothing(void **state) {
    (void)state;
    begin_put();
    ack_refused(10077);
    expect_end(OBJECT_PUT_REFUSED);
    expect("purge own ");
}

static void test_one_that_another_gateway_has_stored_leaves_nothing(void **state) {
    (void)state;
    begin_put();
    ack_refused(WRONG_LAST_SEQUENCE);
    expect("ask ");
    answer_found(6, other_meta);
    expect_end(OBJECT_PUT_STORED);
    expect("purge own ");
}

static void test_what_is_refused_for_ever_has_an_end(void **state) {
    unsigned tries = 0;
    (void)state;
    patience_ms = 700;
    begin_put();
    while (world.done == 0 && tries < ASKS_MAX) {
        if (acked != NULL) {
            ack_refused(WRONG_LAST_SEQUENCE);
            tries++;
        }
        if (asked != NULL) {
            answer_none(0);
        }
        fire_next();
    }
    expect_end(OBJECT_PUT_AWAY);
    assert_int_equal(tries, 5); /* at once, and then after pauses of 250 ms */
}

static void test_the_mark_of_a_deletion_is_replaced(void **state) {
    (void)state;
    object_put_begin(&world.put, world.store);
    answer_none(7);
    expect("ask chunk ");
    ack_stored(9, false);
    expect("meta<7 ");
    ack_stored(10, false);
    expect_end(OBJECT_PUT_STORED);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_the_oldest_goes_with_one_too_many),
        TEST(test_one_that_was_stored_before_is_found),
        TEST(test_one_that_replaces_another_removes_that_one),
        TEST(test_a_chunk_that_jetstream_does_not_decide_on_fails_it_for_now),
        TEST(test_one_that_may_be_stored_keeps_its_chunks_while_nats_is_away),
        TEST(test_one_that_may_be_stored_keeps_its_chunks_when_it_is_refused),
        TEST(test_one_that_is_refused_leaves_nothing),
        TEST(test_one_that_another_gateway_has_stored_leaves_nothing),
        TEST(test_what_is_refused_for_ever_has_an_end),
        TEST(test_the_mark_of_a_deletion_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
