/* SPDX-License-Identifier: Apache-2.0 */

/* Which objects are too many, by the metas of a bucket in their order, and how these are read.
 * JetStream is a fake that has a few metas, and answers when told to. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "object_retention.h"

enum { OBJECTS_MAX = 64, CHUNKS = 3 };

static char dropped[1024];
static uint64_t dropped_sequence; /* of the last one */

/* The last digit of the id says which it is; `*`: its chunks only. */
static void on_drop(void *context, const char *name, uint64_t sequence, const char *nuid,
                    uint64_t chunk_count) {
    (void)context;
    assert_int_equal(chunk_count, CHUNKS);
    const size_t length = strlen(dropped);
    const char *owner = name != NULL ? name : "", *id = name != NULL ? strchr(name, '\0') - 1 : "*";
    snprintf(dropped + length, sizeof dropped - length, "%.*s%s=%s ", (int)strcspn(owner, "/"),
             owner, id, nuid);
    dropped_sequence = sequence;
}

#define DAY_NS (INT64_C(24) * 60 * 60 * 1000000000)

/* ---- the stream ---- */

struct jetstream_request {
    jetstream_held_fn *held;
    void *context;
    uint64_t sequence;
};

struct stored {
    uint64_t sequence;
    const char *owner;
    char id;
};

static struct jetstream_request *pending;
static const struct stored *stream; /* up to one with the sequence 0 */
static int64_t stream_day;          /* on which all of it was stored */
static bool is_away;
static char asked[256];

struct jetstream_request *jetstream_next_held_ask(struct jetstream *jetstream, const char *name,
                                                  const char *subject, uint64_t sequence,
                                                  jetstream_held_fn *done, void *context) {
    const size_t length = strlen(asked);
    (void)jetstream;
    assert_string_equal(name, "OBJ_b");
    assert_string_equal(subject, "$O.b.M.>");
    assert_null(pending);
    snprintf(asked + length, sizeof asked - length, "%u ", (unsigned)sequence);
    pending = is_away ? NULL : malloc(sizeof *pending);
    if (pending != NULL) {
        *pending = (struct jetstream_request){done, context, sequence};
    }
    return pending;
}

void jetstream_request_cancel(struct jetstream_request *request) {
    assert_ptr_equal(request, pending);
    free(request);
    pending = NULL;
}

static void write_meta(const char *owner, const char *id, const char *nuid, char *out,
                       size_t size) {
    snprintf(out, size,
             "{\"name\":\"%s/00000000-0000-8000-8000-00000000000%s\",\"nuid\":\"%s\","
             "\"size\":1,\"chunks\":%d}",
             owner, id, nuid, CHUNKS);
}

static void answer(const struct jetstream_held *held) {
    const struct jetstream_request request = *pending;
    free(pending);
    pending = NULL;
    request.held(request.context, held);
}

static void answer_all(void) {
    while (pending != NULL) {
        const struct stored *next = stream;
        char text[256], id[2] = {0}, nuid[2] = {0};
        struct jetstream_held held = {.found = JETSTREAM_HELD_GONE};
        while (next->sequence != 0 && next->sequence < pending->sequence) {
            next++;
        }
        if (next->sequence != 0) {
            id[0] = nuid[0] = next->id;
            write_meta(next->owner, id, nuid, text, sizeof text);
            held = (struct jetstream_held){.found = JETSTREAM_HELD_FOUND,
                                           .sequence = next->sequence,
                                           .payload = parley_bytes_of(text),
                                           .time_ns = (20000 + stream_day) * DAY_NS};
        }
        answer(&held);
    }
}

/* ---- the keeper ---- */

static struct reactor *reactor;

static struct object_retention *keeper_of(size_t keep) {
    const struct object_retention_options options = {.reactor = reactor,
                                                     .bucket = "b",
                                                     .keep = keep,
                                                     .objects_max = OBJECTS_MAX,
                                                     .age_ns = 8 * DAY_NS,
                                                     .drop = on_drop};
    struct object_retention *keeper = NULL;
    dropped[0] = asked[0] = '\0';
    is_away = false;
    stream_day = 0;
    assert_int_equal(object_retention_create(&options, &keeper), PARLEY_OK);
    return keeper;
}

static void take_text(struct object_retention *keeper, int64_t day, uint64_t sequence,
                      const char *text, bool is_deleted) {
    const struct object_meta_place at = {.sequence = sequence, .time_ns = (20000 + day) * DAY_NS};
    struct parley_arena arena;
    struct object_meta meta;
    parley_arena_init(&arena, 0);
    assert_int_equal(object_meta_read(parley_bytes_of(text), &arena, &meta), PARLEY_OK);
    meta.is_deleted = is_deleted;
    object_retention_take(keeper, &at, &meta);
    parley_arena_finish(&arena);
}

static void take_at(struct object_retention *keeper, int64_t day, uint64_t sequence,
                    const char *owner, const char *id, const char *nuid) {
    char text[256];
    write_meta(owner, id, nuid, text, sizeof text);
    take_text(keeper, day, sequence, text, false);
}

static void take(struct object_retention *keeper, uint64_t sequence, const char *owner, char id,
                 const char *nuid, bool is_deleted) {
    char text[256];
    write_meta(owner, (const char[]){id, '\0'}, nuid, text, sizeof text);
    take_text(keeper, 0, sequence, text, is_deleted);
}

static int begin(void **state) {
    (void)state;
    return reactor_create(&reactor) == PARLEY_OK ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    reactor_destroy(reactor);
    return pending == NULL ? 0 : -1;
}

/* ---- too many ---- */

static void test_the_newest_of_each_owner_are_kept(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(2);
    take(keeper, 1, "ada", '1', "a", false);
    take(keeper, 2, "bob", '1', "b", false);
    take(keeper, 3, "ada", '2', "c", false);
    assert_string_equal(dropped, "");
    take(keeper, 4, "ada", '3', "d", false);
    take(keeper, 5, "ada", '4', "e", false);
    assert_string_equal(dropped, "ada1=a ada2=c ");
    object_retention_destroy(keeper);
}

static void test_what_comes_again_changes_nothing(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(2);
    for (int i = 0; i < 3; i++) {
        take(keeper, 2, "ada", '2', "b", false);
        take(keeper, 3, "ada", '3', "c", false);
    }
    assert_string_equal(dropped, "");
    object_retention_destroy(keeper);
}

static void test_the_order_is_that_of_the_stream(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(2);
    take(keeper, 7, "ada", '7', "g", false); /* written by this gateway */
    take(keeper, 2, "ada", '2', "b", false); /* and read later */
    take(keeper, 5, "ada", '5', "e", false);
    take(keeper, 7, "ada", '7', "g", false);
    assert_string_equal(dropped, "ada2=b ");
    take(keeper, 9, "ada", '9', "i", false);
    assert_string_equal(dropped, "ada2=b ada5=e ");
    object_retention_destroy(keeper);
}

static void test_an_object_that_is_written_again_is_new(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(2);
    take(keeper, 1, "ada", '1', "a", false);
    take(keeper, 2, "ada", '2', "b", false);
    take(keeper, 3, "ada", '1', "c", false);
    take(keeper, 4, "ada", '4', "d", false);
    assert_string_equal(dropped, "*=a ada2=b ");
    object_retention_destroy(keeper);
}

/* Another gateway has removed it since, and written it again. */
static void test_the_object_that_goes_is_the_one_that_was_read(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(2);
    take(keeper, 10, "ada", '1', "a", false);
    take(keeper, 20, "ada", '2', "b", false);
    take(keeper, 50, "ada", '4', "d", false);
    assert_string_equal(dropped, "ada1=a ");
    assert_int_equal(dropped_sequence, 10);
    take(keeper, 40, "ada", '1', "c", false);
    assert_string_equal(dropped, "ada1=a ada2=b ");
    assert_int_equal(dropped_sequence, 20);
    object_retention_destroy(keeper);
}

static void test_of_two_uploads_the_chunks_of_the_first_one_go(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(1);
    take(keeper, 1, "ada", '1', "a", false);
    take(keeper, 2, "ada", '1', "b", false);
    assert_string_equal(dropped, "*=a ");
    take(keeper, 1, "ada", '1', "a", false);
    take(keeper, 3, "ada", '1', "b", false); /* its writer says something else of it */
    take(keeper, 4, "ada", '1', "c", true);  /* a client removes the chunks itself */
    assert_string_equal(dropped, "*=a ");
    object_retention_destroy(keeper);
}

static void test_what_is_older_than_the_bucket_keeps_is_forgotten(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(2);
    take_at(keeper, 0, 1, "ada", "1", "a");
    take_at(keeper, 5, 2, "ada", "2", "b");
    take_at(keeper, 9, 3, "ada", "3", "c");
    assert_string_equal(dropped, "");
    take_at(keeper, 9, 4, "ada", "4", "d");
    assert_string_equal(dropped, "ada2=b ");
    object_retention_destroy(keeper);
}

static void test_of_very_many_the_oldest_are_forgotten(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(1);
    uint64_t sequence = 0;
    for (int i = 0; i < OBJECTS_MAX; i++) {
        char owner[16];
        snprintf(owner, sizeof owner, "a%d", i);
        take(keeper, ++sequence, owner, '1', "a", false);
    }
    take(keeper, ++sequence, "zoe", '1', "z", false); /* instead of a0's */
    take(keeper, ++sequence, "zoe", '2', "y", false); /* instead of a1's */
    assert_string_equal(dropped, "zoe1=z ");
    take(keeper, ++sequence, "a0", '2', "b", false);
    take(keeper, ++sequence, "a9", '2', "b", false);
    assert_string_equal(dropped, "zoe1=z a91=a ");
    object_retention_destroy(keeper);
}

static void test_deleted_ones_do_not_count(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(1);
    take(keeper, 1, "ada", '1', "a", false);
    take(keeper, 2, "ada", '1', "a", true);
    take(keeper, 3, "ada", '3', "c", false);
    assert_string_equal(dropped, "");
    object_retention_destroy(keeper);
}

static void test_what_parley_did_not_name_is_left_alone(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(1);
    static const char *const metas[] = {
        "{\"name\":\"a\",\"nuid\":\"x\"}", "{\"name\":\"b/1\",\"nuid\":\"x\"}",
        "{\"name\":\"/00000000-0000-8000-8000-000000000001\",\"nuid\":\"x\"}"};
    for (uint64_t i = 0; i < 6; i++) {
        take_text(keeper, 0, i + 1, metas[i % 3], false);
    }
    assert_string_equal(dropped, "");
    object_retention_destroy(keeper);
}

/* ---- reading ---- */

static const struct stored THREE[] = {{3, "ada", 'a'}, {5, "bob", 'b'}, {8, "ada", 'c'}, {0}};
static const struct stored FOUR[] = {{5, "bob", 'b'}, {8, "ada", 'c'}, {12, "ada", 'd'}, {0}};
static const struct stored OTHER[] = {{2, "ada", 'x'}, {4, "ada", 'y'}, {8, "eve", 'z'}, {0}};
static const struct stored NONE[] = {{0}};

static void look(struct object_retention *keeper, const struct stored *at, uint64_t sequence) {
    stream = at;
    asked[0] = dropped[0] = '\0';
    object_retention_read(keeper, sequence);
    answer_all();
}

static void test_all_up_to_what_was_written_is_read(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(1);
    look(keeper, THREE, 8);
    assert_string_equal(asked, "1 4 6 ");
    assert_string_equal(dropped, "adaa=a ");
    object_retention_destroy(keeper);
}

static void test_the_next_reading_goes_on_at_the_last_meta(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(1);
    look(keeper, THREE, 8);
    look(keeper, FOUR, 12);
    assert_string_equal(asked, "8 9 ");
    assert_string_equal(dropped, "adac=c ");
    look(keeper, FOUR, 12);
    assert_string_equal(asked, "12 ");
    object_retention_destroy(keeper);
}

static void test_what_was_removed_meanwhile_is_no_break(void **state) {
    static const struct stored later[] = {{12, "eve", 'd'}, {0}};
    (void)state;
    struct object_retention *keeper = keeper_of(1);
    look(keeper, THREE, 8);
    look(keeper, later, 12);
    assert_string_equal(asked, "8 ");
    object_retention_destroy(keeper);
}

/* Of a meta that another gateway has removed: there is nothing as new as it. */
static void test_a_reading_ends_with_the_stream(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(1);
    look(keeper, THREE, 20);
    assert_string_equal(asked, "1 4 6 9 ");
    look(keeper, NONE, 20);
    assert_string_equal(asked, "8 1 ");
    object_retention_destroy(keeper);
}

static void test_another_stream_of_this_name_is_read_from_the_first_on(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(2);
    look(keeper, THREE, 8);
    stream_day = 1;
    look(keeper, OTHER, 4);
    assert_string_equal(asked, "8 1 3 ");
    assert_string_equal(dropped, "");
    take(keeper, 9, "ada", 'w', "w", false);
    assert_string_equal(dropped, "adax=x ");
    object_retention_destroy(keeper);
}

static void test_what_is_written_during_a_reading_is_read_too(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(2);
    stream = THREE;
    object_retention_read(keeper, 3);
    object_retention_read(keeper, 8);
    object_retention_read(keeper, 5);
    answer_all();
    assert_string_equal(asked, "1 4 6 ");
    object_retention_destroy(keeper);
}

static void stop_waiting(struct reactor_timer *timer) {
    (void)timer;
    reactor_stop(reactor);
}

static void let_time_pass(void) {
    struct reactor_timer timer = {.fire = stop_waiting};
    reactor_timer_set(reactor, &timer, 300);
    reactor_run(reactor);
}

static void test_what_nats_does_not_answer_is_asked_again(void **state) {
    static const struct jetstream_held unknown = {.found = JETSTREAM_HELD_UNKNOWN};
    (void)state;
    struct object_retention *keeper = keeper_of(2);
    stream = THREE;
    object_retention_read(keeper, 8);
    answer(&unknown);
    let_time_pass();
    answer_all();
    assert_string_equal(asked, "1 1 4 6 ");
    object_retention_destroy(keeper);
}

static void test_what_cannot_be_asked_is_asked_later(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(2);
    stream = THREE;
    is_away = true;
    object_retention_read(keeper, 8);
    is_away = false;
    let_time_pass();
    answer_all();
    assert_string_equal(asked, "1 1 4 6 ");
    object_retention_destroy(keeper);
}

/* Before it is read another gateway replaces it. */
static void test_what_this_gateway_stored_is_known_at_once(void **state) {
    static const struct stored replaced[] = {{8, "ada", 'c'}, {12, "ada", 'a'}, {0}};
    const struct object_meta own = {.name =
                                        parley_bytes_of("ada/00000000-0000-8000-8000-00000000000a"),
                                    .nuid = parley_bytes_of("own"),
                                    .chunks = CHUNKS};
    (void)state;
    struct object_retention *keeper = keeper_of(2);
    look(keeper, THREE, 8);
    stream = replaced;
    object_retention_stored(keeper, 11, &own);
    answer_all();
    assert_string_equal(dropped, "*=a *=own ");
    object_retention_destroy(keeper);
}

static void test_it_may_end_during_a_reading(void **state) {
    (void)state;
    struct object_retention *keeper = keeper_of(2);
    object_retention_read(keeper, 8);
    object_retention_destroy(keeper);
    assert_null(pending);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_the_newest_of_each_owner_are_kept),
        TEST(test_what_comes_again_changes_nothing),
        TEST(test_the_order_is_that_of_the_stream),
        TEST(test_an_object_that_is_written_again_is_new),
        TEST(test_the_object_that_goes_is_the_one_that_was_read),
        TEST(test_of_two_uploads_the_chunks_of_the_first_one_go),
        TEST(test_what_is_older_than_the_bucket_keeps_is_forgotten),
        TEST(test_of_very_many_the_oldest_are_forgotten),
        TEST(test_deleted_ones_do_not_count),
        TEST(test_what_parley_did_not_name_is_left_alone),
        TEST(test_all_up_to_what_was_written_is_read),
        TEST(test_the_next_reading_goes_on_at_the_last_meta),
        TEST(test_what_was_removed_meanwhile_is_no_break),
        TEST(test_a_reading_ends_with_the_stream),
        TEST(test_another_stream_of_this_name_is_read_from_the_first_on),
        TEST(test_what_is_written_during_a_reading_is_read_too),
        TEST(test_what_nats_does_not_answer_is_asked_again),
        TEST(test_what_cannot_be_asked_is_asked_later),
        TEST(test_what_this_gateway_stored_is_known_at_once),
        TEST(test_it_may_end_during_a_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
