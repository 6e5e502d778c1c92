/* SPDX-License-Identifier: Apache-2.0 */

/* Messages that are remembered and messages that have to know of an earlier one: what is asked,
 * what waits for it, and in which order all of it is published. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "../lib/fault_heap.h"
#include "ingest_fixture.h"

/* A protocol for these tests: VLP, whose queries are remembered by their content, under the value
 * "of-ID", and whose claims go to where the query of their content went. */

static enum parley_status route(struct parley_message *message, struct parley_route *out) {
    extern const struct parley_protocol vlp_protocol;
    PARLEY_TRY(vlp_protocol.route(message, out));
    const struct parley_bytes sent = message->text;
    const char *content =
        memmem(sent.data, sent.length, "\"content\":\"", strlen("\"content\":\""));
    if (content == NULL || out->subject.data == NULL) {
        return PARLEY_OK;
    }
    content += strlen("\"content\":\"");
    const struct parley_bytes key = {content, strcspn(content, "\"")};
    struct parley_buffer text;
    parley_buffer_init(&text);
    if (parley_bytes_equal(parley_message_type(message), PARLEY_BYTES("query"))) {
        parley_buffer_format(&text, "of-%.*s", (int)out->id.length, out->id.data);
        out->remember_key = key;
        out->remember_value =
            parley_bytes_of(parley_arena_copy(&message->arena, parley_buffer_bytes(&text)));
    } else if (!parley_bytes_equal(key, PARLEY_BYTES("alone"))) {
        const char *recalled = message->options.recalled;
        parley_buffer_format(&text, "vlp.%s", recalled != NULL ? recalled : "unknown");
        out->recall_key = key;
        out->subject =
            parley_bytes_of(parley_arena_copy(&message->arena, parley_buffer_bytes(&text)));
    }
    parley_buffer_finish(&text);
    return PARLEY_OK;
}

static struct parley_protocol protocol;

static int set_up(void **state) {
    if (world_set_up(state) != 0) {
        return -1;
    }
    struct world *world = *state;
    protocol = *parley_protocol_find(PARLEY_BYTES("vlp"));
    protocol.memory = "test";
    protocol.route = route;
    world_speak(world, &protocol);
    world->gateway.correlation_stores = world->correlation_stores;
    return 0;
}

#define MESSAGE(id, type, content)                                                                 \
    "{\"id\":\"MSG" id "\",\"protocol\":\"VLP/1.1\",\"type\":\"" type "\","                        \
    "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"A\",\"content\":\"" content "\","         \
    "\"confidence\":0.5}\n"
#define REPLY(id, key) MESSAGE(id, "claim", key)
#define REQUEST(id, key) MESSAGE(id, "query", key)
#define ALONE(id) MESSAGE(id, "claim", "alone")

static const struct request_head many = {0};
static const struct request_head single = {.type = "application/json"};

static const char *subjects(struct world *world) {
    static char text[WORLD_PUBLISHED_MAX * 16];
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < world->jetstream.count; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i > 0 ? " " : "",
                                   world->jetstream.published[i].subject);
    }
    return text;
}

/* ---- one message ---- */

static void test_a_reply_waits_for_its_request_to_be_found(void **state) {
    struct world *world = *state;
    world_post(world, &single, REPLY("1", "a"));
    assert_int_equal(world->store.query_count, 1);
    assert_true(world->store.may_retry[0]);
    assert_int_equal(world->jetstream.count, 0);
    world_lookup_answers(world, 0, "found");
    assert_string_equal(subjects(world), "vlp.found");
    world_ack_all(world);
    assert_int_equal(world->request.status, 200);
    assert_non_null(strstr(world_answer(world), "\"subject\":\"vlp.found\""));
}

static void test_a_reply_to_nothing_goes_where_its_protocol_says(void **state) {
    struct world *world = *state;
    world_post(world, &single, REPLY("1", "a"));
    world_lookup_answers(world, 0, NULL);
    assert_string_equal(subjects(world), "vlp.unknown");
}

static void test_what_is_known_here_is_not_asked_for(void **state) {
    struct world *world = *state;
    world->store.key = "a";
    world->store.known = "known";
    world_post(world, &single, REPLY("1", "a"));
    world_post(world, &many, REPLY("1", "a"));
    assert_string_equal(subjects(world), "vlp.known vlp.known");
    assert_int_equal(world->store.query_count, 0);
}

static void test_a_reply_is_counted_with_its_type_though_the_look_up_fails(void **state) {
    static const struct request_head *const both[] = {&single, &many};
    struct world *world = *state;
    for (size_t i = 0; i < 2; i++) {
        world_post(world, both[i], REPLY("1", "a"));
        world_lookup_fails(world, i, "The bucket is gone.");
        assert_int_equal(world_counted(world, OUTCOME_REFUSED), i + 1);
    }
}

static void test_a_reply_whose_request_cannot_be_asked_for_is_not_published(void **state) {
    struct world *world = *state;
    world_post(world, &single, REPLY("1", "a"));
    world_lookup_fails(world, 0, "The bucket is gone.");
    assert_int_equal(world->request.status, 503);
    assert_non_null(strstr(world_answer(world), "The bucket is gone."));
    world->jetstream.is_ready = false;
    world_post(world, &single, REPLY("1", "a"));
    assert_int_equal(world->request.status, 503);
    assert_int_equal(world->jetstream.count, 0);
}

static void test_a_reply_is_published_though_its_client_is_gone(void **state) {
    struct world *world = *state;
    world_post(world, &single, REPLY("1", "a"));
    world_close(world);
    world_lookup_answers(world, 0, "found");
    assert_string_equal(subjects(world), "vlp.found");
    world_post(world, &single, REPLY("1", "a"));
    world_close(world);
    world_lookup_fails(world, 1, "Away."); /* the leak sanitizer watches */
}

static void test_a_request_is_kept(void **state) {
    struct world *world = *state;
    world_post(world, &single, REQUEST("1", "a"));
    assert_string_equal(world->store.kept, "a=of-MSG1 ");
    assert_string_equal(subjects(world), "vlp.safe.query");
}

static void test_what_is_invalid_is_neither_kept_nor_asked_for(void **state) {
    struct world *world = *state;
    world_post(world, &single, "{\"content\":\"a\"}");
    assert_int_equal(world->request.status, 422);
    world_post(world, &single, "{\"type\":\"query\",\"content\":\"a\"}");
    assert_int_equal(world->store.query_count, 0);
    assert_string_equal(world->store.kept, "");
}

/* ---- a verdict ---- */

static void test_a_verdict_says_the_subject_without_patience(void **state) {
    struct world *world = *state;
    const struct request_head head = {.type = "application/json", .task = INGEST_VALIDATE};
    world_post(world, &head, REPLY("1", "a"));
    assert_false(world->store.may_retry[0]);
    world_lookup_answers(world, 0, "found");
    assert_non_null(strstr(world_answer(world), "\"subject\":\"vlp.found\""));
    assert_int_equal(world->jetstream.count, 0);
    world_post(world, &head, REQUEST("1", "a"));
    assert_string_equal(world->store.kept, "");
}

static void test_a_verdict_does_not_need_nats(void **state) {
    struct world *world = *state;
    const struct request_head head = {.type = "application/json", .task = INGEST_VALIDATE};
    world_post(world, &head, REPLY("1", "a"));
    world_lookup_fails(world, 0, "Away.");
    assert_int_equal(world->request.status, 200);
    assert_non_null(strstr(world_answer(world), "\"subject\":\"vlp.unknown\""));
    world->jetstream.is_ready = false;
    world_post(world, &head, REPLY("1", "a"));
    assert_non_null(strstr(world_answer(world), "\"subject\":\"vlp.unknown\""));
    assert_int_equal(world->store.query_count, 1);
}

static void test_a_filter_asks_for_nothing(void **state) {
    struct world *world = *state;
    const struct request_head head = {.task = INGEST_VALIDATE, .query = {{"emit", "messages"}}};
    world_post(world, &head, REPLY("1", "a"));
    assert_int_equal(world->store.query_count, 0);
    assert_string_equal(world_answer(world), REPLY("1", "a"));
}

static void test_verdicts_of_many_are_in_the_order_sent(void **state) {
    struct world *world = *state;
    const struct request_head head = {.task = INGEST_VALIDATE};
    world_post(world, &head, REPLY("1", "a") "{}\n" ALONE("2"));
    assert_int_equal(world->request.status, 0);
    world_lookup_answers(world, 0, "found");
    const char *first = strstr(world_answer(world), "{\"line\":1,\"valid\":true");
    const char *third = strstr(world_answer(world), "{\"line\":3,\"valid\":true");
    assert_ptr_equal(first, world_answer(world));
    assert_non_null(strstr(first, "vlp.found"));
    assert_true(third > first);
}

/* ---- many ---- */

static void test_all_are_asked_for_at_once_and_published_in_the_order_sent(void **state) {
    struct world *world = *state;
    world_post(world, &many, REPLY("1", "a") REPLY("2", "b") ALONE("3") REPLY("4", "c"));
    assert_int_equal(world->store.query_count, 3);
    world_lookup_answers(world, 2, "third");
    world_lookup_answers(world, 1, "second");
    assert_int_equal(world->jetstream.count, 0);
    world_lookup_answers(world, 0, NULL);
    assert_string_equal(subjects(world), "vlp.unknown vlp.second vlp.safe.claim vlp.third");
    world_ack_all(world);
    assert_int_equal(world->request.status, 200);
    assert_true(world->request.is_whole);
}

static void test_what_came_before_does_not_wait(void **state) {
    struct world *world = *state;
    world_post(world, &many, ALONE("1") REPLY("2", "a"));
    assert_int_equal(world->jetstream.count, 1);
    world_lookup_answers(world, 0, "found");
    assert_int_equal(world->jetstream.count, 2);
}

static void test_one_that_cannot_be_asked_for_fails_alone(void **state) {
    struct world *world = *state;
    world_post(world, &many, REPLY("1", "a") REPLY("2", "b"));
    world_lookup_fails(world, 0, "No answer.");
    world_lookup_answers(world, 1, "found");
    assert_string_equal(subjects(world), "vlp.found");
    world_ack_all(world);
    assert_non_null(strstr(world_answer(world), "{\"line\":1,\"status\":\"failed\""));
    assert_non_null(strstr(world_answer(world), "No answer."));
    assert_non_null(strstr(world_answer(world), "{\"line\":2,\"status\":\"accepted\""));
}

static void test_a_request_in_line_is_kept_before_its_turn(void **state) {
    struct world *world = *state;
    world_post(world, &many, REPLY("1", "a") REQUEST("2", "b") REPLY("3", "b"));
    assert_string_equal(world->store.kept, "b=of-MSG2 ");
    assert_int_equal(world->jetstream.count, 0);
    world_lookup_answers(world, 0, NULL);
    assert_int_equal(world->jetstream.count, 2);
    assert_string_equal(world->store.kept, "b=of-MSG2 b=of-MSG2 ");
    world_lookup_answers(world, 1, "of-MSG2");
    assert_string_equal(subjects(world), "vlp.unknown vlp.safe.query vlp.of-MSG2");
}

static void test_one_that_is_known_may_find_no_room(void **state) {
    struct world *world = *state;
    world->jetstream.room = 1;
    world_post(world, &many, REPLY("1", "a") REPLY("2", "b") REPLY("3", "c"));
    world_lookup_answers(world, 0, "x");
    world_lookup_answers(world, 1, "y");
    assert_int_equal(world->jetstream.count, 1);
    assert_non_null(world->jetstream.waiter);
    world_lookup_answers(world, 2, "z");
    world_make_room(world, 9);
    assert_string_equal(subjects(world), "vlp.x vlp.y vlp.z");
    world_ack_all(world);
    assert_true(world->request.is_whole);
}

static void test_the_window_bounds_what_waits(void **state) {
    enum { WINDOW = 4096 };
    struct world *world = *state;
    world_begin(world, &many);
    for (size_t i = 0; i < WINDOW; i++) {
        world_send(world, REPLY("1", "a"));
    }
    assert_int_equal(world_held(world), 0);
    world_send(world, REPLY("2", "b"));
    assert_int_equal(world->store.query_count, WINDOW);
    assert_int_equal(world_held(world), strlen(REPLY("2", "b")));
    world_lookup_answers(world, 0, "x");
    world_ack(world, 0, JETSTREAM_STORED);
    assert_int_equal(world_held(world), 0);
    for (size_t i = 1; i <= WINDOW; i++) {
        world_lookup_answers(world, i, NULL);
    }
}

static void test_all_that_came_is_published_though_the_client_is_gone(void **state) {
    struct world *world = *state;
    world_begin(world, &many);
    world_send(world, REPLY("1", "a") REPLY("2", "b") ALONE("3") REPLY("4", "c"));
    world_close(world);
    world_lookup_answers(world, 0, "x");
    world_lookup_fails(world, 1, "Away.");
    assert_string_equal(subjects(world), "vlp.x vlp.safe.claim");
    world_ack_all(world);
    world_lookup_answers(world, 2, "z");
    assert_string_equal(subjects(world), "vlp.x vlp.safe.claim vlp.z");
}

/* ---- memory runs out ---- */

/* ---- large ones ---- */

/* Blanks in front make a line large. */
static void send_large(struct world *world, const char *line) {
    enum { LARGE = 300 * 1024 };
    char *blanks = malloc(LARGE + 1);
    assert_non_null(blanks);
    memset(blanks, ' ', LARGE);
    blanks[LARGE] = '\0';
    world_send(world, blanks);
    free(blanks);
    world_send(world, line);
}

static void test_a_large_reply_is_published_in_its_place(void **state) {
    struct world *world = *state;
    world_have_worker_pool(world, true);
    world_begin(world, &many);
    world_send(world, REPLY("1", "a"));
    send_large(world, REPLY("2", "b"));
    world_send(world, REPLY("3", "c"));
    world_end(world);
    assert_int_equal(world->store.query_count, 1);
    world_check(world);
    assert_int_equal(world->store.query_count, 2);
    world_lookup_answers(world, 1, "b");
    assert_string_equal(subjects(world), "");
    assert_true(world_held(world) > 0);
    world_lookup_answers(world, 0, "a");
    assert_string_equal(subjects(world), "vlp.a vlp.b");
    world_lookup_answers(world, 2, NULL);
    assert_string_equal(subjects(world), "vlp.a vlp.b vlp.unknown");
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "accepted accepted accepted 3/3/0/0/0");
    assert_non_null(strstr(world_answer(world), "\"id\":\"MSG2\",\"subject\":\"vlp.b\""));
}

static void test_a_large_reply_may_lose_its_client_and_its_bucket(void **state) {
    struct world *world = *state;
    world_have_worker_pool(world, true);
    world_begin(world, &many);
    send_large(world, REPLY("1", "a"));
    world_close(world);
    world_check(world);
    world_lookup_answers(world, 0, "a");
    world_begin(world, &many);
    send_large(world, REPLY("2", "b"));
    world_check(world);
    world_close(world);
    world_lookup_fails(world, 1, "Away."); /* the leak sanitizer watches */
    assert_string_equal(subjects(world), "vlp.a");
}

static void test_the_verdict_on_a_large_reply_says_its_subject(void **state) {
    struct world *world = *state;
    const struct request_head head = {.task = INGEST_VALIDATE};
    world_have_worker_pool(world, true);
    world_begin(world, &head);
    send_large(world, REPLY("1", "a"));
    world_end(world);
    world_check(world);
    world_lookup_answers(world, 0, "found");
    assert_non_null(strstr(world_answer(world), "\"subject\":\"vlp.found\""));
}

/* One run with one allocation failing.  Returns: whether it was reached. */
static bool run_out(struct world *world, const struct request_head *head, const char *body,
                    size_t number) {
    world_close(world);
    parley_message_finish(&world->message);
    parley_message_init(&world->message, world->schema);
    parley_buffer_finish(&world->gateway.payload);
    world->store.query_count = 0;
    fault_heap_arm(number, 1);
    world_post(world, head, body);
    for (size_t i = 0; i < world->store.query_count; i++) {
        world_lookup_answers(world, i, "found");
    }
    world_ack_all(world);
    const bool has_failed = fault_heap_has_failed();
    fault_heap_disarm();
    return has_failed;
}

static void test_whichever_allocation_fails_no_reply_goes_astray(void **state) {
    struct world *world = *state;
    static const struct {
        const struct request_head *head;
        const char *body;
    } rows[] = {
        {&single, REPLY("1", "a")},
        {&many, REPLY("1", "a") REQUEST("2", "b") REPLY("3", "b") ALONE("4")},
    };
    for (size_t row = 0; row < 2; row++) {
        size_t failed_count = 0;
        while (run_out(world, rows[row].head, rows[row].body, failed_count)) {
            failed_count++;
            assert_true(world->request.status == 200 || world->request.status == 500);
        }
        assert_true(failed_count > 5);
        assert_int_equal(world->request.status, 200);
    }
    assert_null(strstr(subjects(world), "unknown"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_reply_waits_for_its_request_to_be_found),
        TEST(test_a_reply_to_nothing_goes_where_its_protocol_says),
        TEST(test_what_is_known_here_is_not_asked_for),
        TEST(test_a_reply_whose_request_cannot_be_asked_for_is_not_published),
        TEST(test_a_reply_is_counted_with_its_type_though_the_look_up_fails),
        TEST(test_a_reply_is_published_though_its_client_is_gone),
        TEST(test_a_request_is_kept),
        TEST(test_what_is_invalid_is_neither_kept_nor_asked_for),
        TEST(test_a_verdict_says_the_subject_without_patience),
        TEST(test_a_verdict_does_not_need_nats),
        TEST(test_a_filter_asks_for_nothing),
        TEST(test_verdicts_of_many_are_in_the_order_sent),
        TEST(test_all_are_asked_for_at_once_and_published_in_the_order_sent),
        TEST(test_what_came_before_does_not_wait),
        TEST(test_one_that_cannot_be_asked_for_fails_alone),
        TEST(test_a_request_in_line_is_kept_before_its_turn),
        TEST(test_one_that_is_known_may_find_no_room),
        TEST(test_the_window_bounds_what_waits),
        TEST(test_all_that_came_is_published_though_the_client_is_gone),
        TEST(test_a_large_reply_is_published_in_its_place),
        TEST(test_a_large_reply_may_lose_its_client_and_its_bucket),
        TEST(test_the_verdict_on_a_large_reply_says_its_subject),
        TEST(test_whichever_allocation_fails_no_reply_goes_astray),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
