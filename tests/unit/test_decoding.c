/* SPDX-License-Identifier: Apache-2.0 */

/* Compressed bodies: they are answered as what they hold, and read no faster. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "../lib/fault_heap.h"
#include "coding.h"
#include "ingest_fixture.h"

#define GZIP .headers = {{"Content-Encoding", "gzip"}}
#define ZSTD .headers = {{"Content-Encoding", "zstd"}}
#define JSON .type = "application/json"
#define LINES .type = "application/x-ndjson"
#define BAD "{\"a\":1}"

static const struct request_head lines_head[] = {{LINES, GZIP}, {LINES, ZSTD}};
static const struct request_head one_head[] = {{JSON, GZIP}, {JSON, ZSTD}};
static const enum coding codings[] = {CODING_GZIP, CODING_ZSTD};

static struct parley_buffer compress_text(enum coding coding, const char *text) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    assert_int_equal(coding_compress(coding, parley_bytes_of(text), &out), PARLEY_OK);
    return out;
}

/* The whole request, its body in pieces. */
static void post_pieces(struct world *world, const struct request_head *head,
                        struct parley_bytes body, size_t piece) {
    world_begin(world, head);
    for (size_t at = 0; at < body.length; at += piece) {
        const size_t left = body.length - at;
        world_send_bytes(world, (struct parley_bytes){body.data + at, left < piece ? left : piece});
    }
    world_end(world);
    world_ack_all(world);
}

static void post_text(struct world *world, const struct request_head *head, enum coding coding,
                      const char *text) {
    struct parley_buffer body = compress_text(coding, text);
    post_pieces(world, head, parley_buffer_bytes(&body), SIZE_MAX / 2);
    parley_buffer_finish(&body);
}

static void test_it_is_answered_as_the_body_that_it_holds(void **state) {
    struct world *world = *state;
    static const struct {
        const char *type, *body;
    } rows[] = {
        {"application/json", CLAIM_OF("1")},
        {"application/json", "[" CLAIM_OF("1") ",\n" BAD "," CLAIM_OF("2") "]"},
        {"application/json", " "},
        {"application/json", BAD},
        {"application/json", "[1"},
        {"application/x-ndjson", CLAIM_OF("1") "\n\n" BAD "\n" CLAIM_OF("2")},
        {"application/x-ndjson", ""},
    };
    static const char *const names[] = {"gzip", "zstd"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t c = 0; c < 2; c++) {
            const struct request_head plain = {.type = rows[i].type, .task = INGEST_VALIDATE};
            const struct request_head coded = {.type = rows[i].type,
                                               .task = INGEST_VALIDATE,
                                               .headers = {{"Content-Encoding", names[c]}}};
            struct parley_buffer body = compress_text(codings[c], rows[i].body);
            world_post(world, &plain, rows[i].body);
            char *wanted = strdup(world_answer(world));
            for (size_t piece = 1; piece <= body.length; piece += 1 + piece / 4) {
                post_pieces(world, &coded, parley_buffer_bytes(&body), piece);
                assert_int_equal(world->request.status, 200);
                assert_string_equal(world_answer(world), wanted);
            }
            free(wanted);
            parley_buffer_finish(&body);
        }
    }
}

static void test_what_is_published_is_what_was_compressed(void **state) {
    struct world *world = *state;
    for (size_t c = 0; c < 2; c++) {
        post_text(world, &one_head[c], codings[c], CLAIM_OF("1"));
        assert_int_equal(world->request.status, 200);
        assert_string_equal(world->jetstream.published[c].payload, CLAIM_OF("1"));
    }
}

/* ---- bodies that break off ---- */

static void test_one_message_that_cannot_be_decompressed_is_malformed(void **state) {
    struct world *world = *state;
    static const struct {
        int cut;          /* bytes of the end */
        const char *more; /* after it */
        const char *says;
    } rows[] = {
        {1, "", "ends too early"},
        {20, "", "ends too early"},
        {0, "x", "unexpected data after the end of the compressed body"},
        {0, "\n\n\n\n\n", "unexpected data after the end of the compressed body"},
        {-1, CLAIM_OF("1"), "not compressed as its Content-Encoding says"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t c = 0; c < 2; c++) {
            struct parley_buffer body = compress_text(codings[c], CLAIM_OF("1"));
            body.length = rows[i].cut < 0 ? 0 : body.length - (size_t)rows[i].cut;
            parley_buffer_text(&body, rows[i].more);
            for (size_t piece = 1; piece <= body.length; piece *= 7) {
                post_pieces(world, &one_head[c], parley_buffer_bytes(&body), piece);
                assert_int_equal(world->request.status, 400);
                assert_non_null(strstr(world_answer(world), "/problems/malformed"));
                assert_non_null(strstr(world_answer(world), "\"rule\":\"GW-001\""));
                assert_non_null(strstr(world_answer(world), rows[i].says));
            }
            parley_buffer_finish(&body);
        }
    }
    assert_int_equal(world->jetstream.count, 0);
}

static void test_a_verdict_says_so_too(void **state) {
    struct world *world = *state;
    world_post(world, &(struct request_head){JSON, GZIP, .task = INGEST_VALIDATE}, CLAIM_OF("1"));
    assert_int_equal(world->request.status, 200);
    assert_non_null(strstr(world_answer(world), "\"valid\":false"));
    assert_non_null(strstr(world_answer(world), "GW-001"));
}

static void test_of_many_those_before_count_and_no_half_one_does(void **state) {
    struct world *world = *state;
    static const char *const types[] = {"application/x-ndjson", "application/json"};
    static const char *const bodies[] = {CLAIM_OF("1") "\n" BAD "\n" CLAIM_OF("2"),
                                         "[" CLAIM_OF("1") "," BAD "," CLAIM_OF("2")};
    for (size_t i = 0; i < 2; i++) {
        for (size_t live = 0; live < 2; live++) {
            for (size_t c = 0; c < 2; c++) {
                const struct request_head head = {
                    .type = types[i],
                    .headers = {{"Content-Encoding", coding_name(codings[c])}},
                    .is_live = live == 1,
                    .content_length = live == 1 ? -1 : 100};
                struct parley_buffer body = compress_text(codings[c], bodies[i]);
                parley_buffer_text(&body, "garbage");
                const size_t count = world->jetstream.count;
                post_pieces(world, &head, parley_buffer_bytes(&body), 9);
                /* In an array the second message has an end; the last line has none. */
                assert_string_equal(world_statuses(world),
                                    i == 0 ? "accepted invalid invalid 3/1/0/2/0"
                                           : "accepted invalid accepted invalid 4/2/0/2/0");
                assert_int_equal(world->jetstream.count - count, i == 0 ? 1 : 2);
                assert_non_null(strstr(world_answer(world), "unexpected data after the end"));
                parley_buffer_finish(&body);
            }
        }
    }
}

static void test_none_of_many_is_converted_when_the_body_breaks_off(void **state) {
    struct world *world = *state;
    struct parley_buffer body = compress_text(CODING_GZIP, CLAIM_OF("1") "\n" CLAIM_OF("2") "\n");
    const struct request_head head = {LINES, GZIP, .query = {{"to", "json"}},
                                      .task = INGEST_CONVERT};
    post_pieces(world, &head, parley_buffer_bytes(&body), 11);
    assert_int_equal(world->request.status, 200);
    body.length--;
    post_pieces(world, &head, parley_buffer_bytes(&body), 11);
    assert_int_equal(world->request.status, 422);
    assert_non_null(strstr(world_answer(world), "on line 3"));
    parley_buffer_finish(&body);
}

/* ---- limits ---- */

static void test_the_limit_of_a_message_counts_what_comes_out(void **state) {
    struct world *world = *state;
    enum { LENGTH = 3 << 20 };
    char *text = malloc(LENGTH + 1);
    unsigned random = 1;
    for (size_t i = 0; i < LENGTH; i++) { /* not so regular that it is a bomb */
        random = random * 1103515245 + 12345;
        text[i] = i % 100 == 0 ? (char)('a' + (random >> 20) % 26) : ' ';
    }
    text[0] = '{';
    text[LENGTH] = '\0';
    for (size_t c = 0; c < 2; c++) {
        post_text(world, &one_head[c], codings[c], text);
        assert_int_equal(world->request.status, 413);
        assert_non_null(strstr(world_answer(world), "GW-002"));
    }
    post_text(world, &lines_head[0], CODING_GZIP, text);
    assert_string_equal(world_statuses(world), "invalid 1/0/0/1/0");
    free(text);
}

static void test_without_room_for_a_decoder_it_is_503(void **state) {
    struct world *world = *state;
    world->budget.max_bytes = world->budget.start_max_bytes = 20 * 1024;
    for (size_t c = 0; c < 2; c++) {
        post_text(world, &one_head[c], codings[c], CLAIM_OF("1"));
        assert_int_equal(world->request.status, 503);
        assert_non_null(strstr(world_answer(world), "/problems/overloaded"));
    }
    post_text(world, &(struct request_head){LINES, GZIP, .content_length = 10}, CODING_GZIP,
              CLAIM_OF("1"));
    assert_non_null(strstr(world_answer(world), "/problems/overloaded"));
    const struct request_head conversion = {LINES, GZIP, .query = {{"to", "json"}},
                                            .task = INGEST_CONVERT};
    post_text(world, &conversion, CODING_GZIP, CLAIM_OF("1"));
    assert_int_equal(world->request.status, 503);
}

static void test_its_decoder_comes_out_of_the_budget(void **state) {
    struct world *world = *state;
    struct parley_buffer body = compress_text(CODING_ZSTD, CLAIM_OF("1"));
    world_begin(world, &lines_head[1]);
    world_send_bytes(world, (struct parley_bytes){body.data, 20});
    assert_in_range(world->budget.used_bytes + world->budget.start_used_bytes, 64 * 1024,
                    512 * 1024);
    world_close(world);
    assert_int_equal(world->budget.used_bytes + world->budget.start_used_bytes, 0);
    parley_buffer_finish(&body);
}

/* ---- pace ---- */

/* `count` claims, a line each. */
static struct parley_buffer many_lines(size_t count) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    for (size_t i = 0; i < count; i++) {
        parley_buffer_text(&text, CLAIM_OF("1") "\n");
    }
    parley_buffer_char(&text, '\0');
    return text;
}

static void test_no_more_is_decompressed_than_is_taken(void **state) {
    struct world *world = *state;
    enum { COUNT = 500, ROOM = 10 };
    struct parley_buffer text = many_lines(COUNT);
    struct request_head head = {LINES, .is_live = true, .content_length = -1};
    for (size_t c = 0; c < 2; c++) {
        const size_t before = world->jetstream.count;
        head.headers[0] = (struct request_pair){"Content-Encoding", coding_name(codings[c])};
        struct parley_buffer body = compress_text(codings[c], text.data);
        world->jetstream.room = ROOM;
        world_begin(world, &head);
        world_send_bytes(world, parley_buffer_bytes(&body));
        world_end(world);
        assert_int_equal(world->jetstream.count - before, ROOM);
        assert_true(world_held(world) > 0);
        for (size_t i = ROOM; i < COUNT; i += ROOM) {
            world_make_room(world, ROOM);
            assert_int_equal(world->jetstream.count - before, i + ROOM);
        }
        assert_int_equal(world_held(world), 0);
        world_ack_all(world);
        assert_non_null(strstr(world_answer(world), "\"received\":500,\"accepted\":500"));
        parley_buffer_finish(&body);
    }
    parley_buffer_finish(&text);
}

static void test_whole_messages_are_taken_where_the_client_flushes(void **state) {
    struct world *world = *state;
    for (size_t c = 0; c < 2; c++) {
        const size_t before = world->jetstream.count;
        world_begin(world, &lines_head[c]);
        for (size_t i = 1; i <= 3; i++) { /* a member or frame each */
            struct parley_buffer body = compress_text(codings[c], CLAIM_OF("1") "\n");
            world_send_bytes(world, parley_buffer_bytes(&body));
            assert_int_equal(world->jetstream.count - before, i);
            parley_buffer_finish(&body);
        }
        world_end(world);
        world_ack_all(world);
        assert_string_equal(world_statuses(world), "accepted accepted accepted 3/3/0/0/0");
    }
}

static void test_whichever_allocation_fails_it_is_answered(void **state) {
    struct world *world = *state;
    struct parley_buffer body = compress_text(CODING_GZIP, CLAIM_OF("1"));
    bool has_failed = true;
    for (size_t i = 0; has_failed; i++) {
        fault_heap_arm(i, 1);
        world_begin(world, &one_head[0]);
        world_send_bytes(world, parley_buffer_bytes(&body));
        world_end(world);
        has_failed = fault_heap_has_failed();
        fault_heap_disarm();
        world_ack_all(world);
        assert_true(world->request.status == 500 || world->request.status == 200);
        world_close(world);
    }
    parley_buffer_finish(&body);
}

#define world_test(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        world_test(test_it_is_answered_as_the_body_that_it_holds),
        world_test(test_what_is_published_is_what_was_compressed),
        world_test(test_one_message_that_cannot_be_decompressed_is_malformed),
        world_test(test_a_verdict_says_so_too),
        world_test(test_of_many_those_before_count_and_no_half_one_does),
        world_test(test_none_of_many_is_converted_when_the_body_breaks_off),
        world_test(test_the_limit_of_a_message_counts_what_comes_out),
        world_test(test_without_room_for_a_decoder_it_is_503),
        world_test(test_its_decoder_comes_out_of_the_budget),
        world_test(test_no_more_is_decompressed_than_is_taken),
        world_test(test_whole_messages_are_taken_where_the_client_flushes),
        world_test(test_whichever_allocation_fails_it_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
