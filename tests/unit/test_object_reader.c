/* SPDX-License-Identifier: Apache-2.0 */

/* How an object is read whose chunks come from a member of a cluster that lacks some of them.
 * JetStream and the ordered consumer are fakes, which answer and deliver when told to. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "object_reader.h"
#include "ordered_consumer.h"

#define NAME "ada/00000000-0000-8000-8000-000000000007"

/* Three chunks, with the sequences 11, 13 and 15. */
static const char chunks[][4] = {"abc", "def", "ghi"};
enum { FIRST = 11, SECOND = 13, THIRD = 15, META = 20 };

/* ---- JetStream ---- */

struct jetstream_request {
    jetstream_held_fn *held;
    jetstream_info_fn *info;
    void *context;
    uint64_t sequence; /* 0: for the meta */
};

static struct jetstream_request *pending;
static struct ordered_consumer_events feed;
static bool is_open;

static struct jetstream_request *new_request(struct jetstream_request request) {
    assert_null(pending);
    pending = malloc(sizeof *pending);
    assert_non_null(pending);
    *pending = request;
    return pending;
}

static struct jetstream_request end_request(void) {
    assert_non_null(pending);
    const struct jetstream_request ended = *pending;
    free(pending);
    pending = NULL;
    return ended;
}

void jetstream_request_cancel(struct jetstream_request *request) {
    if (request != NULL) {
        assert_ptr_equal(request, pending);
        end_request();
    }
}

struct jetstream_request *jetstream_last_held_ask(struct jetstream *jetstream, const char *stream,
                                                  const char *subject, jetstream_held_fn *done,
                                                  void *context) {
    (void)jetstream;
    assert_string_equal(stream, "OBJ_b");
    assert_memory_equal(subject, "$O.b.M.", strlen("$O.b.M."));
    return new_request((struct jetstream_request){.held = done, .context = context});
}

struct jetstream_request *jetstream_next_held_ask(struct jetstream *jetstream, const char *stream,
                                                  const char *subject, uint64_t sequence,
                                                  jetstream_held_fn *done, void *context) {
    (void)jetstream;
    assert_string_equal(stream, "OBJ_b");
    assert_string_equal(subject, "$O.b.C.NUID");
    return new_request(
        (struct jetstream_request){.held = done, .context = context, .sequence = sequence});
}

struct jetstream_request *jetstream_subject_ask(struct jetstream *jetstream, const char *stream,
                                                const char *subject, jetstream_info_fn *done,
                                                void *context) {
    (void)jetstream;
    assert_string_equal(stream, "OBJ_b");
    assert_string_equal(subject, "$O.b.C.NUID");
    return new_request((struct jetstream_request){.info = done, .context = context});
}

enum parley_status ordered_consumer_open(struct jetstream *jetstream, const char *stream,
                                         struct jetstream_start start, enum ordered_mode mode,
                                         const struct ordered_consumer_events *events,
                                         struct ordered_consumer **out) {
    (void)jetstream;
    (void)stream;
    (void)mode;
    assert_string_equal(start.filter, "$O.b.C.NUID");
    feed = *events;
    is_open = true;
    *out = (struct ordered_consumer *)(void *)&feed;
    return PARLEY_OK;
}

void ordered_consumer_pull(struct ordered_consumer *consumer, size_t count, size_t bytes) {
    (void)consumer;
    (void)count;
    (void)bytes;
}

void ordered_consumer_close(struct ordered_consumer *consumer) {
    is_open = is_open && consumer == NULL;
}

/* It is asked for the first chunk from `from` on, and has the one with `sequence`; 0: it
 * has none. */
static void answer(uint64_t from, uint64_t sequence) {
    const struct jetstream_request request = end_request();
    const struct jetstream_held held = {
        .found = sequence > 0 ? JETSTREAM_HELD_FOUND : JETSTREAM_HELD_GONE, .sequence = sequence};
    assert_int_equal(request.sequence, from);
    request.held(request.context, &held);
}

/* ---- the reader ---- */

static char received[16];
static int ended; /* an object_end; -1: it has not */
static struct object_reader *reader;
static char meta[256];

/* The leader is asked for the meta. */
static void answer_meta(const struct jetstream_held *held) {
    const struct jetstream_request request = end_request();
    assert_int_equal(request.sequence, 0);
    request.held(request.context, held);
}

static void on_bytes(void *context, struct parley_bytes bytes) {
    (void)context;
    strncat(received, bytes.data, bytes.length);
}

static void on_pulled(void *context) {
    (void)context;
}

static void on_ended(void *context, enum object_end how) {
    (void)context;
    assert_int_equal(ended, -1);
    ended = (int)how;
}

static int begin(void **state) {
    const struct object_reader_events events = {
        .bytes = on_bytes, .pulled = on_pulled, .ended = on_ended};
    char sum[OBJECT_DIGEST_MAX];
    struct object_digest digest;
    (void)state;
    received[0] = '\0';
    ended = -1;
    object_digest_begin(&digest);
    object_digest_add(&digest, parley_bytes_of("abcdefghi"));
    assert_true(object_digest_end(&digest, sum));
    const struct object_pointer want = {
        .name = parley_bytes_of(NAME), .digest = parley_bytes_of(sum), .size = 9};
    snprintf(meta, sizeof meta,
             "{\"name\":\"" NAME "\",\"nuid\":\"NUID\",\"size\":9,\"chunks\":3,\"digest\":\"%s\"}",
             sum);
    assert_int_equal(object_reader_open(NULL, "b", &want, &events, &reader), PARLEY_OK);
    answer_meta(&(struct jetstream_held){
        .found = JETSTREAM_HELD_FOUND, .sequence = META, .payload = parley_bytes_of(meta)});
    assert_true(is_open);
    feed.opened(feed.context, 1);
    return 0;
}

static int end(void **state) {
    (void)state;
    object_reader_close(reader);
    return pending == NULL && !is_open ? 0 : -1;
}

static void deliver(uint64_t sequence) {
    const struct jetstream_stored stored = {
        .sequence = sequence, .payload = parley_bytes_of(chunks[(sequence - FIRST) / 2])};
    feed.stored(feed.context, &stored);
}

/* It was the last one that the member has. */
static void deliver_last(uint64_t sequence) {
    deliver(sequence);
    if (is_open) {
        feed.current(feed.context);
    }
}

static void test_all_of_it_is_read(void **state) {
    (void)state;
    deliver(FIRST);
    deliver(SECOND);
    deliver_last(THIRD);
    assert_int_equal(ended, OBJECT_WHOLE);
    assert_string_equal(received, "abcdefghi");
}

static void test_of_a_member_that_lags_behind_it_is_not_read(void **state) {
    (void)state;
    deliver(FIRST);
    deliver_last(SECOND);
    answer(1, FIRST);
    assert_int_equal(ended, -1);
    answer(SECOND + 1, THIRD);
    assert_int_equal(ended, OBJECT_UNREACHABLE);
}

/* The leader is asked how many chunks there are. */
static void answer_count(bool is_known, bool is_led, uint64_t count) {
    const struct jetstream_request request = end_request();
    const struct jetstream_stream_info info = {
        .is_known = is_known, .is_led = is_led, .subject_message_count = count};
    assert_non_null(request.info);
    request.info(request.context, &info);
}

/* It lacks the one in the middle. */
static void test_chunks_that_a_member_leaves_out_are_not_lost(void **state) {
    static const struct {
        bool is_known, is_led;
        uint64_t count;
        enum object_end end;
    } rows[] = {{true, true, 3, OBJECT_UNREACHABLE},
                {true, true, 2, OBJECT_WRONG},
                {true, false, 2, OBJECT_UNREACHABLE},
                {false, false, 0, OBJECT_UNREACHABLE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (i > 0) {
            assert_int_equal(end(state), 0);
            begin(state);
        }
        deliver(FIRST);
        deliver_last(THIRD);
        answer(1, FIRST);
        answer(THIRD + 1, 0);
        answer_meta(&(struct jetstream_held){
            .found = JETSTREAM_HELD_FOUND, .sequence = META, .payload = parley_bytes_of(meta)});
        assert_int_equal(ended, -1);
        answer_count(rows[i].is_known, rows[i].is_led, rows[i].count);
        assert_int_equal(ended, rows[i].end);
    }
}

/* What the leader says of the meta when it has no more chunks. */
static void test_chunks_are_lost_if_their_meta_is_still_the_last(void **state) {
    static const struct {
        struct jetstream_held held;
        const char *payload; /* NULL: as it was */
        enum object_end end;
    } rows[] = {
        {{.found = JETSTREAM_HELD_FOUND, .sequence = META}, NULL, OBJECT_WRONG},
        {{.found = JETSTREAM_HELD_FOUND, .sequence = META + 4}, NULL, OBJECT_UNREACHABLE},
        {{.found = JETSTREAM_HELD_FOUND, .sequence = META + 1},
         "{\"name\":\"" NAME "\",\"nuid\":\"\",\"size\":0,\"chunks\":0,\"deleted\":true}",
         OBJECT_GONE},
        {{.found = JETSTREAM_HELD_GONE}, "", OBJECT_GONE},
        {{.found = JETSTREAM_HELD_UNKNOWN}, "", OBJECT_UNREACHABLE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct jetstream_held held = rows[i].held;
        if (i > 0) {
            assert_int_equal(end(state), 0);
            begin(state);
        }
        held.payload = parley_bytes_of(rows[i].payload != NULL ? rows[i].payload : meta);
        deliver(FIRST);
        deliver_last(SECOND);
        answer(1, FIRST);
        answer(SECOND + 1, 0);
        assert_int_equal(ended, -1);
        assert_false(is_open);
        answer_meta(&held);
        if (rows[i].end == OBJECT_WRONG) {
            answer_count(true, true, 2);
        }
        assert_int_equal(ended, rows[i].end);
    }
}

static void test_an_object_that_is_not_there_is_gone(void **state) {
    static const struct {
        struct jetstream_held held;
        enum object_end end;
    } rows[] = {
        {{.found = JETSTREAM_HELD_GONE}, OBJECT_GONE},
        {{.found = JETSTREAM_HELD_UNKNOWN}, OBJECT_UNREACHABLE},
    };
    const struct object_reader_events events = {.ended = on_ended};
    const struct object_pointer want = {
        .name = parley_bytes_of(NAME), .digest = parley_bytes_of("SHA-256=x"), .size = 9};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(end(state), 0);
        ended = -1;
        assert_int_equal(object_reader_open(NULL, "b", &want, &events, &reader), PARLEY_OK);
        answer_meta(&rows[i].held);
        assert_int_equal(ended, rows[i].end);
    }
}

static void test_a_member_that_catches_up_meanwhile_is_read_on(void **state) {
    (void)state;
    deliver_last(FIRST);
    answer(1, FIRST);
    deliver(SECOND);
    answer(FIRST + 1, SECOND);
    assert_int_equal(ended, -1);
    deliver_last(THIRD);
    assert_int_equal(ended, OBJECT_WHOLE);
    assert_string_equal(received, "abcdefghi");
}

static void test_a_member_that_lags_behind_again_is_noticed(void **state) {
    (void)state;
    deliver_last(FIRST);
    deliver_last(SECOND);
    answer(1, FIRST);
    answer(FIRST + 1, SECOND);
    assert_int_equal(ended, -1);
    answer(1, FIRST);
    answer(SECOND + 1, THIRD);
    assert_int_equal(ended, OBJECT_UNREACHABLE);
}

static void test_what_came_meanwhile_does_not_replace_the_first_chunk(void **state) {
    (void)state;
    deliver_last(SECOND);
    deliver(THIRD);
    answer(1, FIRST);
    assert_int_equal(ended, OBJECT_UNREACHABLE);
}

static void test_it_may_be_closed_while_the_leader_is_asked(void **state) {
    (void)state;
    deliver_last(FIRST);
    assert_non_null(pending);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_all_of_it_is_read),
        TEST(test_of_a_member_that_lags_behind_it_is_not_read),
        TEST(test_chunks_are_lost_if_their_meta_is_still_the_last),
        TEST(test_chunks_that_a_member_leaves_out_are_not_lost),
        TEST(test_an_object_that_is_not_there_is_gone),
        TEST(test_a_member_that_catches_up_meanwhile_is_read_on),
        TEST(test_a_member_that_lags_behind_again_is_noticed),
        TEST(test_what_came_meanwhile_does_not_replace_the_first_chunk),
        TEST(test_it_may_be_closed_while_the_leader_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
