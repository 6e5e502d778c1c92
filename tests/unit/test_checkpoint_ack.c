/* SPDX-License-Identifier: Apache-2.0 */

/* With ack=true: what the gateway publishes once a checkpoint is stored, and what its sender is
 * answered then. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "../lib/fault_heap.h"
#include "ingest_fixture.h"

#define JSON .type = "application/json"
#define ASKS                                                                                       \
    {"agent", "coder-1"}, {                                                                        \
        "ack", "true"                                                                              \
    }
#define KEYED .headers = {{"Idempotency-Key", "k"}}
#define CHECKPOINT                                                                                 \
    "{\"type\":\"checkpoint\",\"timestamp\":1705392000,\"data\":{\"agent_state\":{}}}"
#define BEAT "{\"type\":\"heartbeat\",\"timestamp\":1705392000}"

static const struct request_head asks = {JSON, .query = {ASKS, {"from", "gerbil"}}};
static const struct request_head asks_keyed = {JSON, KEYED, .query = {ASKS, {"stamp", "true"}}};

static int set_up(void **state) {
    const int result = world_set_up(state);
    world_speak(*state, parley_protocol_find(PARLEY_BYTES("supervisor")));
    return result;
}

static void assert_says(struct world *world, const char *part) {
    if (strstr(world_answer(world), part) == NULL) {
        fail_msg("no `%s` in %s", part, world_answer(world));
    }
}

/* The acknowledgement of CHECKPOINT. */
static const char *ack_of(const char *id) {
    static char text[256];
    snprintf(text, sizeof text,
             "{\"type\":\"checkpoint_ack\",\"timestamp\":1705392000,\"size\":%zu,\"checkpoint_id\":"
             "\"%s\"}",
             strlen(CHECKPOINT), id);
    return text;
}

static void test_a_stored_checkpoint_is_acknowledged_by_the_other_side(void **state) {
    struct world *world = *state;
    char member[300], message_id[192];
    world_post(world, &asks, CHECKPOINT);
    const struct published *published = world->jetstream.published;
    const char *id = published[0].event_id;
    assert_int_equal(world->jetstream.count, 1);
    world_ack(world, 0, JETSTREAM_STORED);
    assert_int_equal(world->jetstream.count, 2);
    assert_int_equal(world->request.status, 0);
    assert_string_equal(published[1].subject, "supervisor.coder-1.elixir.checkpoint_ack");
    snprintf(message_id, sizeof message_id, "ack:%s", id);
    assert_string_equal(published[1].message_id, message_id);
    assert_string_equal(published[1].payload, ack_of(id));
    world_ack(world, 1, JETSTREAM_STORED);
    assert_int_equal(world->request.status, 200);
    snprintf(member, sizeof member, "\"seq\":0,\"duplicate\":false,\"ack\":%s,\"warnings\":[]}",
             ack_of(id));
    assert_says(world, member);
    assert_int_equal(world_counted(world, OUTCOME_ACCEPTED), 1);
}

static void test_a_checkpoint_that_is_sent_again_is_acknowledged_with_the_same_id(void **state) {
    struct world *world = *state;
    char first[192];
    world_post(world, &asks, CHECKPOINT);
    world_ack_all(world);
    world_ack_all(world);
    const struct published *published = world->jetstream.published;
    snprintf(first, sizeof first, "%s", published[1].message_id);
    world_post(world, &asks, CHECKPOINT);
    world_ack_duplicate(world, 2, 42);
    assert_string_equal(published[3].message_id, first);
    world_ack_duplicate(world, 3, 43);
    assert_int_equal(world->request.status, 200);
    assert_says(world, "\"seq\":42,\"duplicate\":true,\"ack\":{");
    assert_int_equal(world_counted(world, OUTCOME_DUPLICATE), 1);
}

/* What `stamp` fills in differs, and with it the id that is made of the message. */
static void test_the_id_is_that_of_what_is_stored(void **state) {
    struct world *world = *state;
    char headers[128];
    world_post(world, &asks_keyed, "{\"type\":\"checkpoint\",\"data\":{\"agent_state\":{}}}");
    snprintf(headers, sizeof headers, "Parley-Digest: %s\r\nce-id: %s\r\n",
             world->jetstream.published[0].digest, "550e8400-e29b-41d4-a716-446655440000");
    world_ack_duplicate(world, 0, 42);
    assert_int_equal(world->jetstream.count, 1);
    world_held_found(world, 0, "supervisor.coder-1.gerbil.checkpoint", headers);
    assert_string_equal(world->jetstream.published[1].message_id,
                        "ack:550e8400-e29b-41d4-a716-446655440000");
    world_ack(world, 1, JETSTREAM_STORED);
    assert_says(world, "\"id\":\"550e8400-e29b-41d4-a716-446655440000\"");
    assert_says(world, "\"checkpoint_id\":\"550e8400-e29b-41d4-a716-446655440000\"}");
}

static void test_without_its_acknowledgement_a_checkpoint_is_504(void **state) {
    struct world *world = *state;
    static const struct {
        enum jetstream_outcome outcome;
        const char *says;
    } rows[] = {{JETSTREAM_REFUSED, "(JetStream refused it)"},
                {JETSTREAM_TIMEOUT, "(no ack came in time)"},
                {JETSTREAM_LOST, "(the connection to NATS broke)"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world_post(world, &asks, CHECKPOINT);
        world_ack(world, 2 * i, JETSTREAM_STORED);
        world_ack(world, 2 * i + 1, rows[i].outcome);
        assert_int_equal(world->request.status, 504);
        assert_says(world, rows[i].says);
        assert_says(world, "is stored, but perhaps not its acknowledgement");
        assert_says(world, "Send the same bytes again within 2 minutes");
    }
    assert_int_equal(world_counted(world, OUTCOME_FAILED), 3);
}

static void test_an_acknowledgement_that_cannot_be_published_is_504(void **state) {
    struct world *world = *state;
    static const enum jetstream_publish says[] = {JETSTREAM_AWAY, JETSTREAM_FULL,
                                                  JETSTREAM_TOO_LARGE, JETSTREAM_FAILED};
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++) {
        world->jetstream.says = JETSTREAM_PUBLISHED;
        world_post(world, &asks, CHECKPOINT);
        world->jetstream.says = says[i];
        world_ack(world, i, JETSTREAM_STORED);
        assert_int_equal(world->request.status, 504);
        assert_says(world, "/problems/bus-timeout");
    }
}

static void test_a_checkpoint_that_is_not_stored_is_not_acknowledged(void **state) {
    struct world *world = *state;
    world_post(world, &asks, CHECKPOINT);
    world_ack(world, 0, JETSTREAM_REFUSED);
    assert_int_equal(world->request.status, 503);
    world_post(world, &asks, "{\"type\":\"checkpoint\",\"timestamp\":1}");
    assert_int_equal(world->request.status, 422);
    assert_int_equal(world->jetstream.count, 1);
}

/* The leak sanitizer watches. */
static void test_a_client_may_be_gone_at_any_time(void **state) {
    struct world *world = *state;
    for (size_t step = 0; step < 3; step++) {
        for (unsigned outcome = JETSTREAM_STORED; outcome <= JETSTREAM_LOST; outcome++) {
            const size_t first = world->jetstream.count;
            world_post(world, &asks, CHECKPOINT);
            for (size_t i = 0; i < 2; i++) {
                if (i == step) {
                    world_close(world);
                }
                world_ack(world, first + i, i == 1 ? outcome : JETSTREAM_STORED);
            }
            assert_int_equal(world->jetstream.count, first + 2);
        }
    }
    world_post(world, &asks, CHECKPOINT);
    world_close(world);
    const size_t count = world->jetstream.count;
    world_ack(world, count - 1, JETSTREAM_LOST);
    assert_int_equal(world->jetstream.count, count);
}

static void test_only_one_checkpoint_of_an_agent_can_be_acknowledged(void **state) {
    struct world *world = *state;
    static const struct {
        struct request_head head;
        const char *body;
        unsigned status;
        const char *says;
    } rows[] = {
        {{JSON, .query = {{"ack", "true"}}},
         CHECKPOINT,
         400,
         "The query option `ack` needs `agent`"},
        {{JSON, .query = {{"ack", "1"}}}, CHECKPOINT, 400, "true or false"},
        {{JSON, .query = {ASKS}, .cannot_read = true},
         CHECKPOINT,
         403,
         "`read:supervisor` is missing"},
        {{JSON, .query = {ASKS}}, "[" CHECKPOINT "]", 400, "is for one checkpoint"},
        {{.query = {ASKS}}, CHECKPOINT "\n", 400, "is for one checkpoint"},
        {{JSON, .query = {ASKS}, .headers = {{"Accept", "application/x-ndjson"}}},
         CHECKPOINT,
         400,
         "is for one checkpoint"},
        {{JSON, .query = {ASKS}, .task = INGEST_VALIDATE}, CHECKPOINT, 200, "{\"valid\":true,"},
        {{JSON, .query = {{"ack", "true"}, {"to", "msgpack"}}, .task = INGEST_CONVERT},
         CHECKPOINT,
         400,
         "`ack`"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world_post(world, &rows[i].head, rows[i].body);
        assert_int_equal(world->request.status, rows[i].status);
        assert_says(world, rows[i].says);
        assert_int_equal(world->jetstream.count, 0);
    }
}

static void test_nothing_else_is_acknowledged(void **state) {
    struct world *world = *state;
    static const struct request_head not_asked = {JSON,
                                                  .query = {{"agent", "a"}, {"ack", "false"}}};
    static const struct {
        const char *protocol;
        const struct request_head *head;
        const char *body;
    } rows[] = {{"supervisor", &asks, BEAT},
                {"supervisor", &not_asked, CHECKPOINT},
                {"vlp", &asks, CLAIM_OF("1")}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world_close(world);
        world_speak(world, parley_protocol_find(parley_bytes_of(rows[i].protocol)));
        world_post(world, rows[i].head, rows[i].body);
        world_ack(world, i, JETSTREAM_STORED);
        assert_int_equal(world->request.status, 200);
        assert_null(strstr(world_answer(world), "\"ack\""));
        assert_int_equal(world->jetstream.count, i + 1);
    }
}

static void test_whichever_allocation_fails_it_is_answered(void **state) {
    struct world *world = *state;
    size_t failed_count = 0;
    for (bool has_failed = true; has_failed; failed_count++) {
        world_close_all(world);
        fault_heap_arm(failed_count, 1);
        world_post(world, &asks, CHECKPOINT);
        world_ack_all(world);
        world_ack_all(world);
        has_failed = fault_heap_has_failed();
        fault_heap_disarm();
        const unsigned status = world->request.status;
        assert_true(status == 200 || (has_failed && (status == 500 || status == 504)));
    }
    assert_true(failed_count > 10);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_stored_checkpoint_is_acknowledged_by_the_other_side),
        TEST(test_a_checkpoint_that_is_sent_again_is_acknowledged_with_the_same_id),
        TEST(test_the_id_is_that_of_what_is_stored),
        TEST(test_without_its_acknowledgement_a_checkpoint_is_504),
        TEST(test_an_acknowledgement_that_cannot_be_published_is_504),
        TEST(test_a_checkpoint_that_is_not_stored_is_not_acknowledged),
        TEST(test_a_client_may_be_gone_at_any_time),
        TEST(test_only_one_checkpoint_of_an_agent_can_be_acknowledged),
        TEST(test_nothing_else_is_acknowledged),
        TEST(test_whichever_allocation_fails_it_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
