/* SPDX-License-Identifier: Apache-2.0 */

/* What JetStream calls a duplicate, and what it did not acknowledge: whether the message is the one
 * that is stored, what the receipt names, and what a sender is promised. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>

#include "../lib/fault_heap.h"
#include "ingest_fixture.h"
#include "jansson_setup.h"

#define ONE CLAIM_OF("1") "\n"
#define TWO CLAIM_OF("2") "\n"
#define THREE CLAIM_OF("3") "\n"
#define JSON .type = "application/json"
#define KEYED .headers = {{"Idempotency-Key", "k"}}
#define ID "550e8400-e29b-41d4-a716-446655440000"
#define BEAT                                                                                       \
    "{\"id\":\"" ID "\",\"version\":\"1.0\",\"type\":\"heartbeat\",\"from\":\"sir\","              \
    "\"timestamp\":\"2026-01-01T00:00:00Z\",\"payload\":{\"status\":\"idle\"}}"
#define BARE_BEAT "{\"type\":\"heartbeat\",\"from\":\"sir\",\"payload\":{\"status\":\"idle\"}}"
#define BARE_CLAIM "{\"type\":\"claim\",\"sender\":\"A\",\"content\":\"x\",\"confidence\":0.5}"
#define IPC_BEAT "{\"type\":\"heartbeat\",\"timestamp\":1705392000}"

static const struct request_head one = {JSON}, keyed_one = {JSON, KEYED}, keyed = {KEYED};
static const char other_digest[] = "Parley-Digest: 00000000000000000000000000000000\r\n";

static void speak(struct world *world, const char *protocol) {
    world_close(world);
    world_speak(world, parley_protocol_find(parley_bytes_of(protocol)));
}

/* The header that the publication with this number bore. */
static const char *same_digest(struct world *world, size_t number) {
    static char header[96];
    const char *digest = world->jetstream.published[number].digest;
    assert_int_equal(strlen(digest), 32);
    snprintf(header, sizeof header, "Parley-Digest: %s\r\n", digest);
    return header;
}

static void assert_says(struct world *world, const char *part) {
    if (strstr(world_answer(world), part) == NULL) {
        fail_msg("no `%s` in %s", part, world_answer(world));
    }
}

/* ---- one message ---- */

static void test_where_the_id_is_a_digest_nothing_is_looked_up(void **state) {
    struct world *world = *state;
    world_post(world, &one, CLAIM_OF("1"));
    world_ack_duplicate(world, 0, 42);
    assert_int_equal(world->jetstream.asked_count, 0);
    assert_int_equal(world->request.status, 200);
    assert_says(world, "\"seq\":42,\"duplicate\":true");
}

static void test_the_first_of_an_id_is_not_asked_for_either(void **state) {
    struct world *world = *state;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world_ack(world, 0, JETSTREAM_STORED);
    assert_int_equal(world->jetstream.asked_count, 0);
    assert_int_equal(world->request.status, 200);
}

static void test_a_duplicate_is_answered_once_it_was_compared(void **state) {
    struct world *world = *state;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world_ack_duplicate(world, 0, 42);
    assert_int_equal(world->request.status, 0);
    assert_int_equal(world->jetstream.asked_count, 1);
    assert_int_equal(world->jetstream.asked[0].sequence, 42);
    world_held_found(world, 0, "vlp.safe.claim", same_digest(world, 0));
    assert_string_equal(
        world_answer(world),
        "{\"protocol\":\"vlp\",\"type\":\"claim\",\"id\":\"MSG1\",\"lane\":\"safe\","
        "\"subject\":\"vlp.safe.claim\",\"stream\":\"VLP\",\"seq\":42,"
        "\"duplicate\":true,\"warnings\":[]}\n");
}

/* (attack F12) Alice's key, and Bob's other message. */
static void test_a_key_of_another_message_is_409_and_names_the_first(void **state) {
    struct world *world = *state;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world_ack_duplicate(world, 0, 42);
    world_held_found(world, 0, "vlp.safe.claim", other_digest);
    assert_int_equal(world->request.status, 409);
    assert_string_equal(world->request.type, "application/problem+json");
    assert_string_equal(world->request.retry_after, "");
    assert_says(world, "\"type\":\"/problems/id-reused\"");
    assert_says(world, "This Idempotency-Key was used before");
    assert_says(world, "sequence 42 of stream VLP");
    assert_says(world, "\"stream\":\"VLP\",\"seq\":42}");
}

/* (newcomer 2.1) The id of one task given to another. */
static void test_a_round_table_id_of_another_message_is_409(void **state) {
    struct world *world = *state;
    speak(world, "roundtable");
    world_post(world, &one, BEAT);
    assert_string_equal(world->jetstream.published[0].message_id, "heartbeat:" ID);
    world_ack_duplicate(world, 0, 7);
    world_held_found(world, 0, "roundtable.heartbeat.sir", other_digest);
    assert_int_equal(world->request.status, 409);
    assert_says(world, "This id was used before");
    assert_says(world, "\"seq\":7}");
}

static void test_what_is_stored_without_a_digest_counts_as_the_same(void **state) {
    struct world *world = *state;
    static const char *const headers[] = {"", "Nats-Msg-Id: key:k\r\n", "X-Parley-Digest: 0\r\n",
                                          "Parley-Digester: 0\r\n"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        world_post(world, &keyed_one, CLAIM_OF("1"));
        world_ack_duplicate(world, i, 42);
        world_held_found(world, i, "vlp.safe.claim", headers[i]);
        assert_int_equal(world->request.status, 200);
        assert_says(world, "\"duplicate\":true");
    }
}

static void
test_header_names_are_compared_without_case_and_values_without_their_blank(void **state) {
    struct world *world = *state;
    static const char *const headers[] = {"PARLEY-DIGEST:0\r\n", "A: b\r\nparley-digest: 0\r\n"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        world_post(world, &keyed_one, CLAIM_OF("1"));
        world_ack_duplicate(world, i, 42);
        world_held_found(world, i, "vlp.safe.claim", headers[i]);
        assert_int_equal(world->request.status, 409);
    }
}

/* (newcomer 2.1) "one receipt is wrong" */
static void test_a_receipt_names_what_is_stored_and_not_what_was_sent(void **state) {
    struct world *world = *state;
    static const struct {
        const char *event_id, *id;
    } rows[] = {{"ce-id: FIRST\r\n", "\"id\":\"FIRST\""},
                {"ce-id: a%20b%22%25%zz%4\r\n", "\"id\":\"a b\\\"%%zz%4\""},
                {"", "\"id\":\"MSG1\""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char headers[128];
        world_post(world, &keyed_one, CLAIM_OF("1"));
        world_ack_duplicate(world, i, 42);
        snprintf(headers, sizeof headers, "%s%s", rows[i].event_id, same_digest(world, i));
        world_held_found(world, i, "vlp.block.claim", headers);
        assert_says(world, rows[i].id);
        assert_says(world, "\"lane\":\"safe\",\"subject\":\"vlp.block.claim\",\"stream\":\"VLP\"");
    }
}

static void test_a_message_without_an_id_has_that_of_its_event_in_its_receipt(void **state) {
    struct world *world = *state;
    char wanted[128];
    speak(world, "supervisor");
    world_post(world, &keyed_one, IPC_BEAT);
    assert_int_equal(strlen(world->jetstream.published[0].event_id), 36);
    world_ack_duplicate(world, 0, 42);
    world_held_found(world, 0, "supervisor._.gerbil.heartbeat",
                     "ce-id: 550e8400-e29b-41d4-a716-446655440000\r\n");
    assert_says(world, "\"id\":\"550e8400-e29b-41d4-a716-446655440000\",\"lane\":null,\"subject\":"
                       "\"supervisor._.gerbil.heartbeat\"");
    world_post(world, &keyed_one, IPC_BEAT);
    world_ack_duplicate(world, 1, 42);
    world_held_gone(world, 1);
    snprintf(wanted, sizeof wanted, "\"id\":\"%s\"", world->jetstream.published[0].event_id);
    assert_says(world, wanted);
}

/* The Nats-Msg-Id is made of agent, side and payload. */
static void test_a_duplicate_of_an_agent_is_not_looked_up(void **state) {
    struct world *world = *state;
    static const char error[] =
        "{\"type\":\"error\",\"timestamp\":1,\"error\":{\"code\":\"X\",\"message\":\"m\"}}";
    static const char *const sides[] = {"gerbil", "elixir"};
    const struct published *published = world->jetstream.published;
    speak(world, "supervisor");
    for (size_t i = 0; i < 2; i++) {
        const struct request_head head = {JSON,
                                          .query = {{"agent", "coder-1"}, {"from", sides[i]}}};
        world_post(world, &head, error);
        assert_string_equal(published[i].digest, "");
        world_ack_duplicate(world, i, 42 + i);
        assert_int_equal(world->request.status, 200);
        assert_says(world, published[i].event_id);
    }
    assert_string_not_equal(published[0].message_id, published[1].message_id);
    assert_int_equal(world->jetstream.asked_count, 0);
}

static void test_what_retention_removed_meanwhile_is_a_duplicate_all_the_same(void **state) {
    struct world *world = *state;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world_ack_duplicate(world, 0, 42);
    world_held_gone(world, 0);
    assert_says(world, "\"id\":\"MSG1\",\"lane\":\"safe\",\"subject\":\"vlp.safe.claim\","
                       "\"stream\":\"VLP\",\"seq\":42,\"duplicate\":true");
}

static void test_a_look_up_without_an_answer_is_504_and_names_the_message(void **state) {
    struct world *world = *state;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world_ack_duplicate(world, 0, 42);
    world_held_unknown(world, 0, NULL);
    assert_int_equal(world->request.status, 504);
    assert_says(world, "did not say whether it is this one");
    assert_says(world, "with the same Idempotency-Key within 2 minutes");
    assert_says(world, "\"id\":\"MSG1\"}");
}

static void test_a_look_up_that_the_server_refuses_is_503_and_says_why(void **state) {
    struct world *world = *state;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world_ack_duplicate(world, 0, 42);
    world_held_unknown(world, 0, "no responders");
    assert_int_equal(world->request.status, 503);
    assert_string_equal(world->request.retry_after, "1");
    assert_says(world, "no responders");
}

static void test_a_look_up_is_503_when_nats_goes_away(void **state) {
    struct world *world = *state;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world_ack_duplicate(world, 0, 42);
    world->jetstream.is_ready = false;
    world_held_unknown(world, 0, NULL);
    assert_int_equal(world->request.status, 503);
    assert_says(world, "the connection to NATS was lost");
    world->jetstream.is_ready = true;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world->jetstream.is_ready = false;
    world_ack_duplicate(world, 1, 42);
    assert_int_equal(world->request.status, 503);
    assert_int_equal(world->jetstream.asked_count, 1);
}

/* It is stored, most likely by this request: a 503 would say that it is not. */
static void test_what_was_published_again_and_is_not_compared_is_504(void **state) {
    struct world *world = *state;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world_ack_again(world, 0, 42);
    world->jetstream.is_ready = false;
    world_held_unknown(world, 0, NULL);
    assert_int_equal(world->request.status, 504);
    assert_says(world, "most likely this one");
    assert_says(world, "with the same Idempotency-Key within 2 minutes");
    world->jetstream.is_ready = true;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world->jetstream.is_ready = false;
    world_ack_again(world, 1, 42);
    assert_int_equal(world->request.status, 504);
    world->jetstream.is_ready = true;
    world->jetstream.refuses_questions = true;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world_ack_again(world, 2, 42);
    assert_int_equal(world->request.status, 504);
}

static void test_a_question_that_cannot_be_put_is_503(void **state) {
    struct world *world = *state;
    world->jetstream.refuses_questions = true;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world_ack_duplicate(world, 0, 42);
    assert_int_equal(world->request.status, 503);
    assert_says(world, "/problems/overloaded");
}

static void test_a_client_that_goes_meanwhile_ends_the_look_up(void **state) {
    struct world *world = *state;
    world_post(world, &keyed_one, CLAIM_OF("1"));
    world_ack_duplicate(world, 0, 42);
    world_close(world);
    assert_null(world->jetstream.asked[0].done);
    assert_int_equal(world->gateway.duplicates.asked_count, 0);
}

/* ---- what is counted ---- */

static void assert_counted(const struct world *world, uint64_t duplicate, uint64_t refused,
                           uint64_t failed) {
    assert_int_equal(world_counted(world, OUTCOME_ACCEPTED), 0);
    assert_int_equal(world_counted(world, OUTCOME_DUPLICATE), duplicate);
    assert_int_equal(world_counted(world, OUTCOME_REFUSED), refused);
    assert_int_equal(world_counted(world, OUTCOME_FAILED), failed);
}

/* In a request for one message, and in one for many. */
static const struct request_head *const both[] = {&keyed_one, &keyed};

static void test_an_ack_is_measured_without_the_look_up_after_it(void **state) {
    struct world *world = *state;
    for (size_t i = 0; i < 2; i++) {
        world_post(world, both[i], ONE);
        world_ack_duplicate(world, i, 42);
        assert_int_equal(world_measured_acks(world), i + 1);
        assert_counted(world, i, 0, 0);
        world_held_found(world, i, "vlp.safe.claim", "");
        assert_int_equal(world_measured_acks(world), i + 1);
        assert_counted(world, i + 1, 0, 0);
    }
}

static void test_a_lost_ack_is_not_measured(void **state) {
    struct world *world = *state;
    for (size_t i = 0; i < 2; i++) {
        world_post(world, both[i], ONE);
        world_ack(world, i, JETSTREAM_TIMEOUT);
        assert_counted(world, 0, 0, i + 1);
    }
    assert_int_equal(world_measured_acks(world), 0);
}

static void test_what_was_not_compared_is_not_counted_as_a_duplicate(void **state) {
    struct world *world = *state;
    for (size_t i = 0; i < 2; i++) {
        world_post(world, both[i], ONE);
        world_ack_duplicate(world, 2 * i, 42);
        world_close(world); /* during the look-up */
        assert_counted(world, 0, 2 * i + 1, 0);
        world_post(world, both[i], ONE);
        world_close(world); /* before the ack */
        world_ack_duplicate(world, 2 * i + 1, 42);
        assert_counted(world, 0, 2 * i + 2, 0);
    }
    assert_int_equal(world_measured_acks(world), 4);
    assert_int_equal(world->jetstream.asked_count, 2);
}

static void
test_a_duplicate_that_is_not_compared_is_counted_though_its_client_is_gone(void **state) {
    struct world *world = *state;
    world_post(world, &one, CLAIM_OF("1"));
    world_close(world);
    world_ack_duplicate(world, 0, 42);
    assert_counted(world, 1, 0, 0);
}

/* ---- many ---- */

static void test_results_wait_for_a_duplicate_before_them(void **state) {
    struct world *world = *state;
    world_post(world, &keyed, ONE TWO THREE);
    world_ack_duplicate(world, 1, 42);
    world_ack_duplicate(world, 2, 43);
    world_ack(world, 0, JETSTREAM_STORED);
    world_held_found(world, 1, "vlp.safe.claim", other_digest);
    assert_int_equal(world->request.status, 0);
    world_held_found(world, 0, "vlp.safe.notice", "ce-id: FIRST\r\n");
    assert_string_equal(world_statuses(world), "accepted duplicate failed 3/1/1/0/1");
    assert_says(world, "{\"line\":2,\"status\":\"duplicate\",\"id\":\"FIRST\",\"subject\":"
                       "\"vlp.safe.notice\",\"stream\":\"VLP\",\"seq\":42,\"warnings\":[]}");
    assert_says(world, "{\"line\":3,\"status\":\"failed\",\"problem\":{"
                       "\"type\":\"/problems/id-reused\"");
    assert_says(world, "\"stream\":\"VLP\",\"seq\":43}}\n");
}

static void test_who_wants_only_errors_hears_of_the_reused_id(void **state) {
    struct world *world = *state;
    const struct request_head errors = {KEYED, .query = {{"results", "errors"}}};
    world_post(world, &errors, ONE TWO);
    world_ack_duplicate(world, 0, 42);
    world_ack_duplicate(world, 1, 43);
    world_held_found(world, 0, "vlp.safe.claim", same_digest(world, 0));
    world_held_found(world, 1, "vlp.safe.claim", other_digest);
    assert_string_equal(world_statuses(world), "failed 2/0/1/0/1");
}

static void test_a_summary_counts_the_reused_id_as_failed(void **state) {
    struct world *world = *state;
    const struct request_head summary = {KEYED, .query = {{"results", "summary"}}};
    world_post(world, &summary, ONE TWO);
    world_ack_duplicate(world, 0, 42);
    world_ack_duplicate(world, 1, 43);
    world_held_found(world, 0, "vlp.safe.claim", same_digest(world, 0));
    world_held_found(world, 1, "vlp.safe.claim", other_digest);
    assert_string_equal(world_statuses(world), "2/0/1/0/1");
}

/* An answer carries the payload: with 8 MiB of it, three are all that may be under way. */
static void test_few_are_asked_at_a_time_and_the_rest_in_turn(void **state) {
    struct world *world = *state;
    world->jetstream.max_payload_bytes = 8u << 20;
    world_begin(world, &keyed);
    for (size_t i = 0; i < 100; i++) {
        world_send(world, ONE);
    }
    world_end(world);
    for (size_t i = 0; i < 100; i++) {
        world_ack_duplicate(world, i, 1000 + i);
    }
    assert_int_equal(world->jetstream.asked_count, 2);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(world->jetstream.asked[i].sequence, 1000 + i);
        world_held_found(world, i, "vlp.safe.claim", same_digest(world, i));
        assert_true(world->gateway.duplicates.asked_count <= 2);
    }
    const char *statuses = world_statuses(world);
    assert_non_null(strstr(statuses, " duplicate 100/0/100/0/0"));
}

static void test_small_messages_are_asked_for_by_dozens(void **state) {
    struct world *world = *state;
    world->jetstream.max_payload_bytes = 65536;
    world_begin(world, &keyed);
    for (size_t i = 0; i < 100; i++) {
        world_send(world, ONE);
    }
    world_end(world);
    for (size_t i = 0; i < 100; i++) {
        world_ack_duplicate(world, i, 1 + i);
    }
    assert_int_equal(world->jetstream.asked_count, 64);
    for (size_t i = 0; i < 100; i++) {
        world_held_found(world, i, "vlp.safe.claim", "");
    }
}

static void test_one_without_an_answer_ends_the_wait_of_the_others(void **state) {
    struct world *world = *state;
    world->jetstream.max_payload_bytes = 64u << 20; /* one at a time */
    world_post(world, &keyed, ONE TWO THREE);
    for (size_t i = 0; i < 3; i++) {
        world_ack_duplicate(world, i, 42);
    }
    assert_int_equal(world->jetstream.asked_count, 1);
    world_held_unknown(world, 0, NULL);
    assert_string_equal(world_statuses(world), "failed failed failed 3/0/0/0/3");
    assert_int_equal(world->jetstream.asked_count, 1);
}

static void test_a_client_that_goes_ends_all_of_its_look_ups(void **state) {
    struct world *world = *state;
    world->jetstream.max_payload_bytes = 64u << 20;
    world_post(world, &keyed, ONE TWO THREE);
    for (size_t i = 0; i < 3; i++) {
        world_ack_duplicate(world, i, 42);
    }
    world_close(world);
    assert_int_equal(world->gateway.duplicates.asked_count, 0);
    assert_true(TAILQ_EMPTY(&world->gateway.duplicates.line));
    assert_int_equal(world->jetstream.asked_count, 1);
}

/* A duplicate with one allocation failing.  Returns: whether it was reached. */
static bool run_out(struct world *world, const struct request_head *head, size_t number) {
    const size_t published = world->jetstream.count, asked = world->jetstream.asked_count;
    world_close_all(world);
    fault_heap_arm(number, 1);
    world_post(world, head, ONE);
    if (world->jetstream.count > published) {
        world_ack_duplicate(world, published, 42);
    }
    if (world->jetstream.asked_count > asked) {
        world_held_found(world, asked, "vlp.block.claim", "ce-id: FIRST\r\n");
    }
    const bool has_failed = fault_heap_has_failed();
    fault_heap_disarm();
    return has_failed;
}

static void test_whichever_allocation_fails_a_duplicate_is_answered(void **state) {
    struct world *world = *state;
    size_t number = 0;
    for (; run_out(world, &keyed_one, number); number++) {
        const unsigned status = world->request.status;
        assert_true(status == 200 || status == 500 || status == 503);
    }
    assert_true(number > 5);
    assert_int_equal(world->request.status, 200);
    for (number = 0; run_out(world, &keyed, number); number++) {
        assert_true(world->request.status == 200 || world->request.status == 500);
    }
    assert_true(number > 5);
    assert_string_equal(world_statuses(world), "duplicate 1/0/1/0/0");
    assert_says(world, "\"id\":\"FIRST\",\"subject\":\"vlp.block.claim\"");
}

/* ---- what is promised ---- */

/* (contract 2, newcomer 2.1) */
static void test_a_504_promises_what_is_kept_and_nothing_else(void **state) {
    struct world *world = *state;
    static const char stamp[] = "stamp";
    static const struct {
        const char *protocol;
        struct request_head head;
        const char *body;
        int64_t window_ms;
        enum jetstream_outcome outcome;
        const char *says;
    } rows[] = {
        {"vlp",
         {JSON},
         CLAIM_OF("1"),
         120000,
         JETSTREAM_TIMEOUT,
         "Send the same bytes again within 2 minutes of the first attempt (the dedupe window), and "
         "it is stored once."},
        {"vlp",
         {JSON},
         CLAIM_OF("1"),
         90000,
         JETSTREAM_LOST,
         "Send the same bytes again within 90 seconds of"},
        {"vlp",
         {JSON, KEYED},
         CLAIM_OF("1"),
         3600000,
         JETSTREAM_TIMEOUT,
         "Send the same body again with the same Idempotency-Key within 1 hour of"},
        {"vlp",
         {JSON, .query = {{stamp, "true"}}},
         BARE_CLAIM,
         120000,
         JETSTREAM_TIMEOUT,
         "If it is sent again, it may be stored twice, since `stamp` fills in new values each "
         "time. Send an "
         "`Idempotency-Key` next time: with the same key it is stored once within 2 minutes."},
        {"roundtable",
         {JSON},
         BEAT,
         120000,
         JETSTREAM_TIMEOUT,
         "Send it again with the same id within 2 minutes"},
        {"roundtable",
         {JSON, .query = {{stamp, "true"}}},
         BARE_BEAT,
         120000,
         JETSTREAM_TIMEOUT,
         "Send it again with the `id` that `stamp` gave it, which this problem names,"},
        {"supervisor",
         {JSON},
         IPC_BEAT,
         120000,
         JETSTREAM_TIMEOUT,
         "If it is sent again, it may be stored twice, since nothing marks it as the same message. "
         "Send an "
         "`Idempotency-Key` next time"},
        {"supervisor",
         {JSON},
         IPC_BEAT,
         120000,
         JETSTREAM_LOST,
         "If it is sent again, it may be stored twice"},
        {"supervisor",
         {JSON, .query = {{"agent", "a"}}},
         IPC_BEAT,
         120000,
         JETSTREAM_TIMEOUT,
         "Send the same bytes again"},
        {"supervisor",
         {JSON, KEYED},
         IPC_BEAT,
         120000,
         JETSTREAM_TIMEOUT,
         "Send the same body again with the same Idempotency-Key"},
        {"vlp",
         {JSON, KEYED},
         CLAIM_OF("1"),
         100,
         JETSTREAM_TIMEOUT,
         "If it is sent again, it may be stored twice, even with an Idempotency-Key: this server "
         "does not "
         "look for duplicates (--dedupe-window 0)."},
        {"vlp",
         {JSON},
         CLAIM_OF("1"),
         5000,
         JETSTREAM_TIMEOUT,
         "even with an Idempotency-Key: the dedupe window of 5 seconds has passed."},
        {"vlp", {JSON}, CLAIM_OF("1"), 5000, JETSTREAM_LOST, "within 5 seconds of"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world->configuration.dedupe_window_ms = 120000;
        speak(world, rows[i].protocol);
        world->jetstream.dedupe_window_ms = rows[i].window_ms;
        world_post(world, &rows[i].head, rows[i].body);
        world_ack(world, i, rows[i].outcome);
        assert_int_equal(world->request.status, 504);
        assert_says(world, "may have been stored. ");
        json_t *problem = json_loads(world_answer(world), 0, NULL);
        const char *detail = json_string_value(json_object_get(problem, "detail"));
        if (strstr(detail, rows[i].says) == NULL) {
            fail_msg("no `%s` in `%s`", rows[i].says, detail);
        }
        json_decref(problem);
    }
}

static void test_a_504_has_the_id_also_one_that_stamp_made(void **state) {
    struct world *world = *state;
    world_post(world, &one, CLAIM_OF("1"));
    world_ack(world, 0, JETSTREAM_TIMEOUT);
    assert_says(world, "\"id\":\"MSG1\"}");
    const struct request_head stamped = {JSON, .query = {{"stamp", "true"}}};
    world_post(world, &stamped, BARE_CLAIM);
    world_ack(world, 1, JETSTREAM_LOST);
    char id[128];
    snprintf(id, sizeof id, "\"id\":\"%s\"}", world->jetstream.published[1].event_id);
    assert_int_equal(strlen(id), sizeof "\"id\":\"\"}" - 1 + 36);
    assert_says(world, id);
}

static void test_in_a_batch_a_504_has_the_id_whatever_results_are_asked_for(void **state) {
    struct world *world = *state;
    static const char *const results[] = {"all", "errors"};
    for (size_t i = 0; i < 2; i++) {
        const struct request_head head = {.query = {{"results", results[i]}}};
        world_post(world, &head, ONE TWO);
        world_ack(world, 2 * i, JETSTREAM_STORED);
        world_ack(world, 2 * i + 1, JETSTREAM_TIMEOUT);
        assert_says(world, "\"id\":\"MSG2\"}}\n");
    }
}

static void test_a_503_has_no_id(void **state) {
    struct world *world = *state;
    world_post(world, &one, CLAIM_OF("1"));
    world_ack(world, 0, JETSTREAM_REFUSED);
    assert_null(strstr(world_answer(world), "MSG1"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_where_the_id_is_a_digest_nothing_is_looked_up),
        TEST(test_the_first_of_an_id_is_not_asked_for_either),
        TEST(test_a_duplicate_is_answered_once_it_was_compared),
        TEST(test_a_key_of_another_message_is_409_and_names_the_first),
        TEST(test_a_round_table_id_of_another_message_is_409),
        TEST(test_what_is_stored_without_a_digest_counts_as_the_same),
        TEST(test_header_names_are_compared_without_case_and_values_without_their_blank),
        TEST(test_a_receipt_names_what_is_stored_and_not_what_was_sent),
        TEST(test_a_message_without_an_id_has_that_of_its_event_in_its_receipt),
        TEST(test_a_duplicate_of_an_agent_is_not_looked_up),
        TEST(test_what_retention_removed_meanwhile_is_a_duplicate_all_the_same),
        TEST(test_a_look_up_without_an_answer_is_504_and_names_the_message),
        TEST(test_a_look_up_that_the_server_refuses_is_503_and_says_why),
        TEST(test_a_look_up_is_503_when_nats_goes_away),
        TEST(test_what_was_published_again_and_is_not_compared_is_504),
        TEST(test_a_question_that_cannot_be_put_is_503),
        TEST(test_a_client_that_goes_meanwhile_ends_the_look_up),
        TEST(test_an_ack_is_measured_without_the_look_up_after_it),
        TEST(test_a_lost_ack_is_not_measured),
        TEST(test_what_was_not_compared_is_not_counted_as_a_duplicate),
        TEST(test_a_duplicate_that_is_not_compared_is_counted_though_its_client_is_gone),
        TEST(test_results_wait_for_a_duplicate_before_them),
        TEST(test_who_wants_only_errors_hears_of_the_reused_id),
        TEST(test_a_summary_counts_the_reused_id_as_failed),
        TEST(test_few_are_asked_at_a_time_and_the_rest_in_turn),
        TEST(test_small_messages_are_asked_for_by_dozens),
        TEST(test_one_without_an_answer_ends_the_wait_of_the_others),
        TEST(test_a_client_that_goes_ends_all_of_its_look_ups),
        TEST(test_whichever_allocation_fails_a_duplicate_is_answered),
        TEST(test_a_504_promises_what_is_kept_and_nothing_else),
        TEST(test_a_504_has_the_id_also_one_that_stamp_made),
        TEST(test_in_a_batch_a_504_has_the_id_whatever_results_are_asked_for),
        TEST(test_a_503_has_no_id),
    };
    jansson_set_up();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
