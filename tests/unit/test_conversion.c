/* SPDX-License-Identifier: Apache-2.0 */

/* POST /convert: what comes back for one message and for many, that many are converted all or not
 * at all, and what a request for it cannot ask. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "../lib/fault_heap.h"
#include "ingest_fixture.h"

#define ONE CLAIM_OF("1")
#define TWO CLAIM_OF("2")
#define ONE_SPREAD "{\n" ONE_TAIL
#define ONE_TAIL                                                                                   \
    "\"id\":\"MSG1\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","                                 \
    "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"A\",\"content\":\"x\","                   \
    "\"confidence\":0.5}"
#define FRAME(text) "\0\0\0\x80" text
_Static_assert(sizeof ONE == 0x80 + 1, "the length in FRAME");

#define JSON "application/json"
#define NDJSON "application/x-ndjson"
#define SHEET "text/markdown"

static int set_up(void **state) {
    const int status = world_set_up(state);
    struct world *world = *state;
    world_speak(world, toy_protocol());
    world->jetstream.is_ready = false; /* nothing here needs NATS */
    return status;
}

#define BYTES(literal)                                                                             \
    { literal, sizeof(literal) - 1 }

static const struct row {
    const char *type, *to;
    struct parley_bytes body;
    const char *answer_type;
    struct parley_bytes answer;
} rows[] = {
    {JSON, "json", BYTES(ONE), JSON, BYTES(ONE)},
    {JSON, "json", BYTES(" " ONE_SPREAD "\n"), JSON, BYTES(ONE)},
    {JSON, "ndjson", BYTES(ONE_SPREAD), NDJSON, BYTES(ONE "\n")},
    {JSON, "sheet", BYTES(ONE), SHEET "; charset=utf-8", BYTES("# " ONE)},
    {JSON, "frames", BYTES(ONE), TOY_FRAMES, BYTES(FRAME(ONE))},
    {SHEET, "json", BYTES(ONE), JSON, BYTES(ONE)},
    {SHEET, "sheet", BYTES(ONE), SHEET "; charset=utf-8", BYTES("# " ONE)},
    {JSON, "json", BYTES(" [" ONE ",\n" ONE_SPREAD "]"), NDJSON, BYTES(ONE "\n" ONE "\n")},
    {JSON, "frames", BYTES("[" ONE "," TWO "]"), TOY_FRAMES, BYTES(FRAME(ONE) FRAME(TWO))},
    {JSON, "json", BYTES("[]"), NDJSON, BYTES("")},
    {NDJSON, "json", BYTES(ONE "\r\n\n" TWO), NDJSON, BYTES(ONE "\n" TWO "\n")},
    {NDJSON, "frames", BYTES(ONE "\n" TWO "\n"), TOY_FRAMES, BYTES(FRAME(ONE) FRAME(TWO))},
    {NDJSON, "frames", BYTES(""), TOY_FRAMES, BYTES("")},
    {TOY_FRAMES, "json", BYTES(FRAME(ONE) FRAME(TWO)), NDJSON, BYTES(ONE "\n" TWO "\n")},
    {TOY_FRAMES, "frames", BYTES(FRAME(ONE)), TOY_FRAMES, BYTES(FRAME(ONE))},
};

static struct request_head head_of(const char *type, const char *to) {
    return (struct request_head){.type = type, .query = {{"to", to}}, .task = INGEST_CONVERT};
}

static void assert_answer(struct world *world, const struct row *row) {
    assert_int_equal(world->request.status, 200);
    assert_true(world->request.is_whole);
    assert_string_equal(world->request.type, row->answer_type);
    assert_int_equal(world->request.answer.length, row->answer.length);
    assert_memory_equal(world_answer(world), row->answer.data, row->answer.length);
}

static void test_messages_come_back_in_the_encoding_asked_for(void **state) {
    struct world *world = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct request_head head = head_of(rows[i].type, rows[i].to);
        world_begin(world, &head);
        world_send_bytes(world, rows[i].body);
        world_end(world);
        assert_answer(world, &rows[i]);
    }
    assert_int_equal(world->jetstream.count, 0);
}

static void test_wherever_a_body_is_cut_the_answer_is_the_same(void **state) {
    struct world *world = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct request_head head = head_of(rows[i].type, rows[i].to);
        const struct parley_bytes body = rows[i].body;
        for (size_t cut = 0; cut <= body.length; cut++) {
            world_begin(world, &head);
            world_send_bytes(world, (struct parley_bytes){body.data, cut});
            world_send_bytes(world, (struct parley_bytes){body.data + cut, body.length - cut});
            world_end(world);
            assert_answer(world, &rows[i]);
        }
    }
}

/* ---- what is invalid ---- */

static void test_one_invalid_message_makes_it_a_problem(void **state) {
    struct world *world = *state;
    static const struct {
        const char *type, *body;
        unsigned status;
        const char *says;
    } cases[] = {
        {JSON, "{}", 422, "\"violations\":[{\"rule\":\"VLP-001\""},
        {JSON, "{", 400, "\"violations\":[{\"rule\":\"GW-001\""},
        {SHEET, "[" ONE "]", 400, "GW-006"},
        {NDJSON, ONE "\n{}\n" TWO "\n[]\n", 422,
         "2 of 4 messages are invalid, so none was converted; the first is on line 2, "
         "which breaks VLP-001 at line 2, column 1: "},
        {NDJSON, ONE "\n{}", 422, "1 of 2 messages is invalid, "},
        {NDJSON, "[]\n{}", 422, "\"violations\":[{\"rule\":\"GW-006\""},
        {JSON, "[" ONE ",{}]", 422, "the first is number 2, which breaks VLP-001"},
        {JSON, "[" ONE " " ONE "]", 422, "the first is number 2, which breaks GW-001"},
        {JSON, "[" ONE ",{\"a\" 1}," ONE "]", 422, "1 of 2 messages is invalid"},
        {JSON, "[" ONE ",{\"a\":1e400}," ONE "]", 422, "1 of 3 messages is invalid"},
        {JSON, "[" ONE, 422, "1 of 2 messages is invalid"},
        {TOY_FRAMES, "{}", 422, "the first is number 1, which breaks GW-001 at byte 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct request_head head = head_of(cases[i].type, "json");
        world_post(world, &head, cases[i].body);
        assert_int_equal(world->request.status, cases[i].status);
        assert_string_equal(world->request.type, "application/problem+json");
        if (strstr(world_answer(world), cases[i].says) == NULL) {
            fail_msg("%s: %s", cases[i].body, world_answer(world));
        }
        assert_null(strstr(world_answer(world), "MSG1")); /* nothing half */
    }
}

static void test_a_message_over_the_limit_is_reported_as_others_are(void **state) {
    struct world *world = *state;
    world->configuration.message_max_bytes = strlen(ONE);
    const struct request_head one = head_of(JSON, "frames"), many = head_of(NDJSON, "frames");
    world_post(world, &one, ONE " ");
    assert_int_equal(world->request.status, 413);
    world_post(world, &many, ONE "\n" ONE " \n");
    assert_int_equal(world->request.status, 422);
    assert_non_null(strstr(world_answer(world), "line 2, which breaks GW-002"));
}

/* ---- the head ---- */

static void test_what_cannot_be_converted_to_is_refused(void **state) {
    struct world *world = *state;
    static const struct {
        struct request_head head;
        const char *body;
        const char *says;
    } cases[] = {
        {{.type = JSON}, "", "`to` is missing"},
        {{.type = JSON}, "", "json, ndjson, sheet or frames"},
        {{.type = JSON, .query = {{"to", ""}}}, "", "json, ndjson, sheet or frames"},
        {{.type = JSON, .query = {{"to", "msgpack"}}}, "", "`to` cannot be `msgpack`"},
        {{.type = JSON, .query = {{"to", "JSON"}}}, "", "`to` cannot be `JSON`"},
        {{.type = JSON, .query = {{"to", "json"}, {"to", "json"}}}, "", "`to` is given twice"},
        {{.type = JSON, .query = {{"to", "json"}, {"emit", "both"}}}, "", "`emit`"},
        {{.type = JSON, .query = {{"to", "json"}, {"results", "all"}}}, "", "`results`"},
        {{.type = NDJSON, .query = {{"to", "sheet"}}}, "", "Convert to json, ndjson or frames"},
        {{.type = JSON, .query = {{"to", "sheet"}}}, "[" ONE "]", "one message at a time"},
        {{.type = TOY_FRAMES, .query = {{"to", "sheet"}}}, "", "Convert to json, ndjson or frames"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct request_head head = cases[i].head;
        head.task = INGEST_CONVERT;
        world_post(world, &head, cases[i].body);
        assert_int_equal(world->request.status, 400);
        if (strstr(world_answer(world), cases[i].says) == NULL ||
            strstr(world_answer(world), "/problems/invalid-parameter") == NULL) {
            fail_msg("%s: %s", cases[i].says, world_answer(world));
        }
    }
    world_begin(world, &(struct request_head){.type = JSON, .query = {{"to", "json"}}});
    assert_int_equal(world->request.status, 400); /* elsewhere there is no such option */
}

static void test_accept_is_held_against_what_will_be_served(void **state) {
    struct world *world = *state;
    static const struct {
        const char *type, *to, *accept, *body;
        unsigned status;
    } cases[] = {
        {JSON, "json", "application/json", ONE, 200},
        {JSON, "json", "application/x-ndjson", ONE, 406},
        {JSON, "json", "application/x-ndjson", "[" ONE "]", 200},
        {JSON, "json", "application/json", "[" ONE "]", 406},
        {JSON, "json", "application/*;q=0.1", "[" ONE "]", 200},
        {JSON, "json", "text/markdown", ONE, 406},
        {JSON, "ndjson", "application/json", ONE, 406},
        {NDJSON, "json", "application/json", ONE, 406},
        {NDJSON, "json", "application/json;q=0.5, */*;q=0.1", ONE, 200},
        {NDJSON, "frames", "*/*, application/vnd.parley.frames;q=0", ONE, 406},
        {JSON, "sheet", "text/*", ONE, 200},
        {JSON, "sheet", "application/json", ONE, 406},
        {SHEET, "json", "application/x-ndjson", ONE, 406},
        {JSON, "json", "application/x-ndjson", "{}", 422},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct request_head head = head_of(cases[i].type, cases[i].to);
        head.headers[0] = (struct request_pair){"Accept", cases[i].accept};
        world_post(world, &head, cases[i].body);
        if (world->request.status != cases[i].status) {
            fail_msg("%s to %s, Accept: %s, gave %u", cases[i].type, cases[i].to, cases[i].accept,
                     world->request.status);
        }
    }
}

/* ---- what can go wrong here ---- */

static void test_what_cannot_be_kept_makes_it_a_problem_of_ours(void **state) {
    struct world *world = *state;
    const struct request_head head = head_of(NDJSON, "json");
    world->configuration.data = "/nowhere";
    world_begin(world, &head);
    for (size_t i = 0; i < 1000; i++) {
        world_send(world, ONE "\n");
    }
    world_end(world);
    assert_int_equal(world->request.status, 500);
    world->configuration.data = "/tmp";
    world->configuration.spool_max_bytes = 2 * strlen(ONE "\n");
    world_post(world, &head, ONE "\n" TWO);
    assert_int_equal(world->request.status, 200);
    world_post(world, &head, ONE "\n" TWO "\n" ONE);
    assert_int_equal(world->request.status, 413);
    assert_non_null(strstr(world_answer(world), "--spool-max"));
    world->configuration.spool_max_bytes = UINT64_MAX / 2;
    world->spools.max_bytes = 0; /* others have all of it (attack F2) */
    world_begin(world, &head);
    for (size_t i = 0; i < 1000; i++) {
        world_send(world, ONE "\n");
    }
    assert_int_equal(world->request.status, 503);
    assert_non_null(strstr(world_answer(world), "--spool-max"));
}

static void test_a_client_may_go_half_way(void **state) {
    struct world *world = *state;
    const struct request_head head = head_of(NDJSON, "json");
    world_begin(world, &head);
    world_send(world, ONE "\n{}\n{");
    world_close(world); /* the leak sanitizer watches */
}

static void test_whichever_allocation_fails_the_answer_is_whole_or_a_problem(void **state) {
    struct world *world = *state;
    static const struct row bodies[] = {
        {NDJSON, "frames", BYTES(ONE "\n" TWO), TOY_FRAMES, BYTES(FRAME(ONE) FRAME(TWO))},
        {JSON, "sheet", BYTES(ONE), SHEET "; charset=utf-8", BYTES("# " ONE)},
        {NDJSON, "json", BYTES(ONE "\n{}\n"), NULL, BYTES("")},
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        const struct request_head head = head_of(bodies[i].type, bodies[i].to);
        size_t failed_count = 0;
        for (bool has_failed = true; has_failed; failed_count++) {
            world_close(world);
            parley_message_finish(&world->message);
            parley_message_init(&world->message, world->schema);
            fault_heap_arm(failed_count, 1);
            world_post(world, &head, bodies[i].body.data);
            has_failed = fault_heap_has_failed();
            fault_heap_disarm();
            if (world->request.status == 200) {
                assert_answer(world, &bodies[i]);
            } else {
                assert_true(world->request.status == 422 ||
                            (has_failed && world->request.status == 500));
            }
        }
        assert_true(failed_count > 4);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_messages_come_back_in_the_encoding_asked_for),
        TEST(test_wherever_a_body_is_cut_the_answer_is_the_same),
        TEST(test_one_invalid_message_makes_it_a_problem),
        TEST(test_a_message_over_the_limit_is_reported_as_others_are),
        TEST(test_what_cannot_be_converted_to_is_refused),
        TEST(test_accept_is_held_against_what_will_be_served),
        TEST(test_what_cannot_be_kept_makes_it_a_problem_of_ours),
        TEST(test_a_client_may_go_half_way),
        TEST(test_whichever_allocation_fails_the_answer_is_whole_or_a_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
