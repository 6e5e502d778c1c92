/* SPDX-License-Identifier: Apache-2.0 */

/* Large messages among many: they are offloaded, and nothing but the time at which that
 * happens shows it; and what is held of messages that are not whole yet is counted. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "../lib/fault_heap.h"
#include "offload.h"
#include "ingest_fixture.h"

#define ONE CLAIM_OF("1") "\n"
#define TWO CLAIM_OF("2") "\n"

enum { LARGE = 300 * 1024, PIECE = 8 * 1024, GATHER_MAX = 128 * 1024 };

static const struct request_head plain = {0};
static const struct request_head verdicts = {.task = INGEST_VALIDATE};
static const struct request_head filter = {.task = INGEST_VALIDATE,
                                           .query = {{"emit", "messages"}}};
static const struct request_head conversion = {.task = INGEST_CONVERT, .query = {{"to", "frames"}}};

/* A claim whose content is `length` times x. */
static void append_claim(struct parley_buffer *out, const char *sender, size_t length) {
    parley_buffer_format(out,
                         "{\"id\":\"%zu-%zu\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","
                         "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"%s\","
                         "\"confidence\":0.5,\"content\":\"",
                         length, out->length, sender);
    assert_true(parley_buffer_reserve(out, length));
    memset(out->data + out->length, 'x', length);
    out->length += length;
    parley_buffer_text(out, "\"}");
}

enum kind { SMALL_ONE, LARGE_ONE, LARGE_INVALID, LARGE_NO_JSON, LARGE_UNHELD, TOO_LARGE_ONE };

static void append_kind(struct parley_buffer *out, enum kind kind) {
    switch (kind) {
    case SMALL_ONE:
        append_claim(out, "A", 10);
        break;
    case LARGE_ONE:
        append_claim(out, "A", LARGE);
        break;
    case LARGE_INVALID:
        append_claim(out, "", LARGE);
        break;
    case LARGE_NO_JSON:
        append_claim(out, "A\":\"", LARGE);
        break;
    case LARGE_UNHELD:
        append_claim(out, "A\",\"seq\":1e400,\"topic\":\"", LARGE);
        break;
    case TOO_LARGE_ONE:
        append_claim(out, "A", 2 << 20);
        break;
    }
}

/* The messages as lines, an array or frames, whichever the type of the body says. */
static void write_body(struct parley_buffer *out, const char *type, const enum kind *kinds,
                       size_t count) {
    const bool is_array = type != NULL && strcmp(type, "application/json") == 0;
    const bool is_framed = type != NULL && strcmp(type, TOY_FRAMES) == 0;
    parley_buffer_text(out, is_array ? "[" : "");
    for (size_t i = 0; i < count; i++) {
        const size_t start = out->length;
        parley_buffer_append(out, (struct parley_bytes){"\0\0\0\0", is_framed ? 4 : 0});
        append_kind(out, kinds[i]);
        const size_t length = out->length - start - 4;
        for (size_t byte = 0; is_framed && byte < 4; byte++) {
            out->data[start + byte] = (char)(length >> (24 - 8 * byte));
        }
        parley_buffer_text(out, is_array ? i + 1 < count ? ",\n" : "]" : is_framed ? "" : "\n");
    }
    assert_false(out->has_failed);
}

/* In pieces as they come from a connection. */
static void send_pieces(struct world *world, struct parley_bytes body) {
    while (body.length > 0) {
        const size_t length = body.length < PIECE ? body.length : PIECE;
        world_send_bytes(world, (struct parley_bytes){body.data, length});
        body.data += length;
        body.length -= length;
    }
}

static void send_claim(struct world *world, const char *sender, size_t length) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    append_claim(&text, sender, length);
    parley_buffer_char(&text, '\n');
    send_pieces(world, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
}

static int set_up(void **state) {
    const int status = world_set_up(state);
    struct world *world = *state;
    world_speak(world, toy_protocol());
    world_have_worker_pool(world, true);
    return status;
}

/* ---- nothing but the time shows it ---- */

static size_t take_answer(struct world *world, struct parley_buffer *out, size_t published_from) {
    parley_buffer_append(out, parley_buffer_bytes(&world->request.answer));
    parley_buffer_format(out, "%u %d\n", world->request.status, world->request.is_whole);
    for (size_t i = published_from; i < world->jetstream.count; i++) {
        parley_buffer_text(out, world->jetstream.published[i].payload);
        parley_buffer_text(out, world->jetstream.published[i].message_id);
        parley_buffer_text(out, world->jetstream.published[i].subject);
    }
    return world->jetstream.count;
}

static void post_all(struct world *world, const struct request_head *head, struct parley_bytes body,
                     bool has_pool, struct parley_buffer *out) {
    const size_t from = world->jetstream.count;
    world_have_worker_pool(world, has_pool);
    world->jetstream.sequence_base = from;
    world_begin(world, head);
    send_pieces(world, body);
    world_end(world);
    size_t checked_count = 0;
    for (; world->completions.count > 0; checked_count++) {
        world_check(world);
    }
    world_ack_all(world);
    assert_true(!has_pool || checked_count > 0);
    assert_true(has_pool || checked_count == 0);
    take_answer(world, out, from);
}

static void test_answers_are_the_same_to_the_byte_with_a_worker_pool_and_without(void **state) {
    struct world *world = *state;
    static const enum kind kinds[][7] = {
        {SMALL_ONE, LARGE_ONE, SMALL_ONE, LARGE_INVALID, LARGE_ONE, TOO_LARGE_ONE, SMALL_ONE},
        {LARGE_ONE, LARGE_ONE, LARGE_INVALID, SMALL_ONE, LARGE_NO_JSON, LARGE_ONE, LARGE_ONE},
        {LARGE_ONE, LARGE_UNHELD, SMALL_ONE, SMALL_ONE, LARGE_ONE, SMALL_ONE, LARGE_ONE},
    };
    static const char *const types[] = {NULL, "application/json", TOY_FRAMES};
    static const struct request_head heads[] = {
        {.task = INGEST_FORWARD},
        {.task = INGEST_FORWARD, .query = {{"results", "errors"}}},
        {.task = INGEST_FORWARD, .headers = {{"Idempotency-Key", "k"}}},
        {.task = INGEST_FORWARD, .is_live = true, .content_length = -1},
        {.task = INGEST_VALIDATE},
        {.task = INGEST_VALIDATE, .query = {{"emit", "messages"}}},
        {.task = INGEST_VALIDATE, .query = {{"emit", "both"}}},
        {.task = INGEST_VALIDATE, .query = {{"emit", "both"}, {"results", "errors"}}},
        {.task = INGEST_VALIDATE, .is_live = true, .content_length = -1},
        {.task = INGEST_CONVERT, .query = {{"to", "ndjson"}}},
        {.task = INGEST_CONVERT, .query = {{"to", "frames"}}},
    };
    for (size_t i = 0; i < 3 * 3 * sizeof heads / sizeof heads[0]; i++) {
        struct request_head head = heads[i / 9];
        struct parley_buffer body, with, without;
        parley_buffer_init(&body);
        parley_buffer_init(&with);
        parley_buffer_init(&without);
        head.type = types[i % 3];
        write_body(&body, head.type, kinds[i / 3 % 3], 7);
        world->jetstream.max_payload_bytes = i % 2 == 0 ? 1048576 : LARGE / 2; /* GW-101 */
        const bool has_end = i % 2 == 0 || head.type != NULL;
        const struct parley_bytes sent = {body.data, body.length - !has_end};
        post_all(world, &head, sent, false, &without);
        post_all(world, &head, sent, true, &with);
        assert_true(parley_bytes_equal(parley_buffer_bytes(&without), parley_buffer_bytes(&with)));
        parley_buffer_finish(&body);
        parley_buffer_finish(&with);
        parley_buffer_finish(&without);
    }
}

static void test_an_array_goes_on_after_a_large_message_with_a_number_too_large(void **state) {
    struct world *world = *state;
    static const enum kind kinds[] = {SMALL_ONE, LARGE_UNHELD, SMALL_ONE};
    const struct request_head head = {.task = INGEST_FORWARD, .type = "application/json"};
    struct parley_buffer body, answer;
    parley_buffer_init(&body);
    parley_buffer_init(&answer);
    write_body(&body, head.type, kinds, 3);
    post_all(world, &head, parley_buffer_bytes(&body), true, &answer);
    assert_string_equal(world_statuses(world), "accepted invalid accepted 3/2/0/1/0");
    parley_buffer_finish(&body);
    parley_buffer_finish(&answer);
}

/* ---- waiting ---- */

static void test_what_follows_a_large_message_waits_for_its_check(void **state) {
    struct world *world = *state;
    world_begin(world, &plain);
    world_send(world, ONE);
    send_claim(world, "A", LARGE);
    world_send(world, "{}\n" TWO);
    world_end(world);
    assert_int_equal(world->jetstream.count, 1);
    assert_int_equal(world->completions.count, 1);
    assert_true(world_held(world) > strlen("{}\n" TWO)); /* a byte of the large one is owed */
    world_ack_all(world);
    assert_int_equal(world->request.status, 0);
    world_check(world);
    assert_int_equal(world->jetstream.count, 3);
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "accepted accepted invalid accepted 4/3/0/1/0");
}

static void test_the_result_of_what_comes_before_it_leaves_meanwhile(void **state) {
    struct world *world = *state;
    const struct request_head head = {.is_live = true, .content_length = -1};
    world_begin(world, &head);
    world_send(world, ONE "{}\n");
    send_claim(world, "A", LARGE);
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "accepted invalid");
    world_check(world);
    world_end(world);
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "accepted invalid accepted 3/2/0/1/0");
    assert_true(world->request.is_whole);
}

static void test_a_large_message_without_room_is_held_in_its_place(void **state) {
    struct world *world = *state;
    world->jetstream.room = 1;
    world_begin(world, &plain);
    world_send(world, ONE);
    send_claim(world, "A", LARGE);
    world_send(world, TWO);
    world_end(world);
    world_check(world);
    assert_int_equal(world->jetstream.count, 1);
    assert_true(world_held(world) > 0);
    world_make_room(world, 0);
    assert_int_equal(world->jetstream.count, 1);
    world_make_room(world, 9);
    assert_int_equal(world->jetstream.count, 3);
    assert_int_equal(strlen(world->jetstream.published[1].payload) > LARGE, true);
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "accepted accepted accepted 3/3/0/0/0");
}

static void test_once_the_bus_is_away_a_large_message_has_failed(void **state) {
    struct world *world = *state;
    world_begin(world, &plain);
    send_claim(world, "A", LARGE);
    world->jetstream.is_ready = false;
    world_check(world);
    send_claim(world, "", LARGE);
    world_end(world);
    world_check(world);
    assert_string_equal(world_statuses(world), "failed invalid 2/0/0/1/1");
    assert_non_null(strstr(world_answer(world), "/problems/bus-unavailable"));
}

/* ---- the client goes, the server ends ---- */

static void
test_a_large_message_that_came_whole_is_published_though_its_client_is_gone(void **state) {
    struct world *world = *state;
    world_begin(world, &plain);
    send_claim(world, "A", LARGE);
    world_close(world);
    world_check(world);
    assert_int_equal(world->jetstream.count, 1);
    world_ack_all(world);
    world->jetstream.room = 0;
    world_begin(world, &plain);
    send_claim(world, "A", LARGE);
    world_close(world);
    world_check(world);
    world_make_room(world, 1);
    assert_int_equal(world->jetstream.count, 2);
}

static void test_a_verdict_that_no_client_waits_for_is_dropped(void **state) {
    struct world *world = *state;
    const struct request_head *const heads[] = {&verdicts, &filter, &conversion};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        world_begin(world, heads[i]);
        send_claim(world, "A", LARGE);
        world_close(world);
        world_check(world); /* the leak sanitizer watches */
    }
}

static void test_while_draining_a_large_message_without_room_waits_for_none(void **state) {
    struct world *world = *state;
    world->jetstream.room = 0;
    world->gateway.is_draining = true;
    world_begin(world, &plain);
    send_claim(world, "A", LARGE);
    world_close(world);
    world_check(world);
    assert_null(world->jetstream.waiter);
}

static void test_a_server_that_ends_leaves_nothing_behind(void **state) {
    struct world *world = *state;
    const struct request_head *const heads[] = {&plain, &verdicts, &conversion};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        world_have_worker_pool(world, true);
        world_begin(world, heads[i]);
        send_claim(world, "A", LARGE);
        world->completions.count = 0;
        offloads_abandon(&world->gateway);
        assert_null(world->gateway.completions);
        world_close(world);
    }
}

/* ---- the budget ---- */

static void test_a_line_that_the_budget_has_no_room_for_fails_alone(void **state) {
    struct world *world = *state;
    world->budget.max_bytes = GATHER_MAX;
    world_begin(world, &plain);
    world_send(world, ONE);
    send_claim(world, "A", LARGE);
    send_claim(world, "A", GATHER_MAX);
    world_send(world, TWO);
    assert_int_equal(world->budget.used_bytes, 0);
    world_end(world);
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "accepted failed accepted accepted 4/3/0/0/1");
    assert_non_null(strstr(world_answer(world), "/problems/overloaded"));
    assert_non_null(strstr(world_answer(world), "131072 bytes"));
    assert_non_null(strstr(world_answer(world), "--gather-max"));
}

static void test_a_frame_or_an_element_that_finds_no_room_fails_alone(void **state) {
    struct world *world = *state;
    static const enum kind kinds[] = {SMALL_ONE, LARGE_ONE, SMALL_ONE};
    static const char *const types[] = {"application/json", TOY_FRAMES};
    world->budget.max_bytes = GATHER_MAX;
    for (size_t i = 0; i < 2; i++) {
        const struct request_head head = {.type = types[i]};
        struct parley_buffer body;
        parley_buffer_init(&body);
        write_body(&body, types[i], kinds, 3);
        world_begin(world, &head);
        send_pieces(world, parley_buffer_bytes(&body));
        world_end(world);
        world_ack_all(world);
        assert_string_equal(world_statuses(world), "accepted failed accepted 3/2/0/0/1");
        parley_buffer_finish(&body);
    }
}

/* What is wrong with a frame is known however little of it was kept. */
static void test_a_frame_that_is_cut_short_is_told_so_though_it_found_no_room(void **state) {
    struct world *world = *state;
    const struct request_head head = {.type = TOY_FRAMES, .task = INGEST_VALIDATE};
    static const enum kind kinds[] = {LARGE_ONE};
    struct parley_buffer body;
    parley_buffer_init(&body);
    write_body(&body, TOY_FRAMES, kinds, 1);
    world->budget.max_bytes = GATHER_MAX;
    world_begin(world, &head);
    send_pieces(world, (struct parley_bytes){body.data, body.length - 1});
    world_end(world);
    assert_non_null(strstr(world_answer(world), "the body ends inside this frame"));
    parley_buffer_finish(&body);
}

static void test_a_filter_whose_message_finds_no_room_is_broken_off(void **state) {
    struct world *world = *state;
    world->budget.max_bytes = GATHER_MAX;
    world_begin(world, &filter);
    send_claim(world, "A", LARGE);
    world_send(world, ONE);
    world_end(world);
    assert_false(world->request.is_whole);
}

static void test_a_conversion_whose_message_finds_no_room_is_refused(void **state) {
    struct world *world = *state;
    world->budget.max_bytes = GATHER_MAX;
    world_begin(world, &conversion);
    world_send(world, ONE);
    send_claim(world, "A", LARGE);
    world_end(world);
    assert_int_equal(world->request.status, 503);
    assert_non_null(strstr(world_answer(world), "/problems/overloaded"));
    assert_int_equal(world->budget.used_bytes, 0);
}

static void test_what_is_held_is_counted_until_it_is_done_with(void **state) {
    struct world *world = *state;
    const struct request_head *const heads[] = {&plain, &verdicts, &conversion};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        world_begin(world, heads[i]);
        world_send(world, ONE);
        assert_int_equal(world->budget.used_bytes, 0);
        send_claim(world, "A", LARGE);
        assert_in_range(world->budget.used_bytes, LARGE - BUDGET_START_BYTES,
                        LARGE + BUDGET_STEP_BYTES);
        world_check(world);
        assert_int_equal(world->budget.used_bytes, 0);
        send_claim(world, "A", LARGE / 2); /* checked at once */
        assert_int_equal(world->budget.used_bytes, 0);
    }
}

static void test_what_is_held_is_given_back_with_its_client(void **state) {
    struct world *world = *state;
    const struct request_head *const heads[] = {&plain, &verdicts, &conversion};
    char *half = calloc(1, LARGE + 1);
    assert_non_null(half);
    memset(half, 'x', LARGE);
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        world_begin(world, heads[i]);
        send_pieces(world, parley_bytes_of(half));
        assert_in_range(world->budget.used_bytes, LARGE - BUDGET_START_BYTES,
                        LARGE + BUDGET_STEP_BYTES);
        world_close(world);
        assert_int_equal(world->budget.used_bytes, 0);
    }
    free(half);
}

/* ---- memory runs out ---- */

/* One run with one allocation failing.  Returns: whether it was reached. */
static bool run_out(struct world *world, const struct request_head *head, struct parley_bytes body,
                    size_t number) {
    world_close_all(world);
    fault_heap_arm(number, 1);
    world_begin(world, head);
    send_pieces(world, body);
    world_end(world);
    world_check_all(world);
    world_ack_all(world);
    const bool has_failed = fault_heap_has_failed();
    fault_heap_disarm();
    assert_int_equal(world->budget.used_bytes, 0);
    return has_failed;
}

static void test_whichever_allocation_fails_all_is_given_back(void **state) {
    struct world *world = *state;
    static const enum kind kinds[] = {LARGE_ONE, SMALL_ONE, LARGE_INVALID};
    const struct request_head *const heads[] = {&plain, &verdicts, &filter, &conversion};
    struct parley_buffer body;
    parley_buffer_init(&body);
    write_body(&body, NULL, kinds, 3);
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        size_t failed_count = 0;
        while (run_out(world, heads[i], parley_buffer_bytes(&body), failed_count)) {
            failed_count++;
            const bool is_bulk = world->request.status == 200 && heads[i] != &filter;
            if (is_bulk && world->request.is_whole && heads[i] != &conversion) {
                assert_non_null(strstr(world_answer(world), "{\"summary\":{\"received\":3,"));
            }
        }
        assert_true(failed_count > 10);
    }
    parley_buffer_finish(&body);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_answers_are_the_same_to_the_byte_with_a_worker_pool_and_without),
        TEST(test_an_array_goes_on_after_a_large_message_with_a_number_too_large),
        TEST(test_what_follows_a_large_message_waits_for_its_check),
        TEST(test_the_result_of_what_comes_before_it_leaves_meanwhile),
        TEST(test_a_large_message_without_room_is_held_in_its_place),
        TEST(test_once_the_bus_is_away_a_large_message_has_failed),
        TEST(test_a_large_message_that_came_whole_is_published_though_its_client_is_gone),
        TEST(test_a_verdict_that_no_client_waits_for_is_dropped),
        TEST(test_while_draining_a_large_message_without_room_waits_for_none),
        TEST(test_a_server_that_ends_leaves_nothing_behind),
        TEST(test_a_line_that_the_budget_has_no_room_for_fails_alone),
        TEST(test_a_frame_or_an_element_that_finds_no_room_fails_alone),
        TEST(test_a_frame_that_is_cut_short_is_told_so_though_it_found_no_room),
        TEST(test_a_filter_whose_message_finds_no_room_is_broken_off),
        TEST(test_a_conversion_whose_message_finds_no_room_is_refused),
        TEST(test_what_is_held_is_counted_until_it_is_done_with),
        TEST(test_what_is_held_is_given_back_with_its_client),
        TEST(test_whichever_allocation_fails_all_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
