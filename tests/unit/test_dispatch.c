/* SPDX-License-Identifier: Apache-2.0 */

/* Messages that earlier ones decide on: what is asked, what waits for it, in which order all of it
 * is published, and what its fact says when. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "ingest_fixture.h"
#include "kept_message.h"

/* A protocol for these tests: VLP, each of whose queries takes the key that is its content, and
 * whose claims go to where the query of their content went. */

static bool begins_with_content(struct parley_message *message, struct parley_bytes *out) {
    static const char start[] = "\"content\":\"";
    const char *content = memmem(message->text.data, message->text.length, start, sizeof start - 1);
    if (content == NULL) {
        return false;
    }
    content += sizeof start - 1;
    *out = (struct parley_bytes){content, strcspn(content, "\"")};
    return !parley_bytes_equal(*out, PARLEY_BYTES("alone"));
}

static bool is_query(const struct parley_message *message) {
    return parley_bytes_equal(parley_message_type(message), PARLEY_BYTES("query"));
}

static struct parley_bytes keep(struct parley_message *message, struct parley_buffer *text) {
    const char *copy = parley_arena_copy(&message->arena, parley_buffer_bytes(text));
    parley_buffer_finish(text);
    return parley_bytes_of(copy);
}

/* Whose it is: the member `of`, or the whole value. */
static struct parley_bytes known_owner(const struct parley_message *message) {
    const struct parley_known_facts *known = message->options.known;
    const struct parley_bytes value = known != NULL ? known->values[1] : (struct parley_bytes){0};
    const char *of = value.data != NULL ? strstr(value.data, "\"of\":\"") : NULL;
    of = of != NULL ? of + strlen("\"of\":\"") : NULL;
    return of != NULL ? (struct parley_bytes){of, strcspn(of, "\"")} : value;
}

static enum parley_status route(struct parley_message *message, struct parley_route *out) {
    extern const struct parley_protocol vlp_protocol;
    PARLEY_TRY(vlp_protocol.route(message, out));
    struct parley_bytes key;
    if (out->subject.data == NULL || !begins_with_content(message, &key)) {
        return PARLEY_OK;
    }
    out->fact_keys[1] = key;
    if (is_query(message)) {
        return PARLEY_OK;
    }
    const struct parley_bytes owner = known_owner(message);
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "vlp.");
    parley_buffer_append(&text, owner.data != NULL ? owner : PARLEY_BYTES("unknown"));
    out->subject = keep(message, &text);
    return out->subject.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status decide_query(struct parley_message *message, struct parley_bytes key,
                                       struct parley_decision *out) {
    const struct parley_bytes owner = known_owner(message), id = message->route.id;
    struct parley_buffer text;
    if (owner.data != NULL && parley_bytes_equal(owner, id)) {
        *out = (struct parley_decision){.kind = PARLEY_DECISION_REPEATED,
                                        .stream = PARLEY_BYTES("VLP"),
                                        .sequence = 7,
                                        .members = PARLEY_BYTES(",\"state\":\"known\"")};
        return PARLEY_OK;
    }
    if (owner.data != NULL) {
        *out = (struct parley_decision){.kind = PARLEY_DECISION_REFUSED,
                                        .problem = "already-claimed",
                                        .detail = PARLEY_BYTES("It is taken."),
                                        .members = PARLEY_BYTES(",\"holder\":\"x\"")};
        return PARLEY_OK;
    }
    parley_buffer_init(&text);
    parley_buffer_format(&text, ",\"of\":\"%.*s\"", (int)id.length, id.data);
    out->fact_key = key;
    out->fact_members = keep(message, &text);
    parley_buffer_init(&text);
    parley_buffer_format(&text, "query:%.*s", (int)key.length, key.data);
    out->message_id = keep(message, &text);
    return out->fact_members.data != NULL && out->message_id.data != NULL ? PARLEY_OK
                                                                          : PARLEY_E_MEMORY;
}

static enum parley_status decide(struct parley_message *message, struct parley_decision *out) {
    const struct parley_known_facts *known = message->options.known;
    struct parley_bytes key;
    struct parley_route ignored;
    PARLEY_TRY(parley_message_route(message, &ignored));
    if (!begins_with_content(message, &key)) {
        return PARLEY_OK;
    }
    if (is_query(message)) {
        return decide_query(message, key, out);
    }
    if (known->values[1].data == NULL && !known->is_final) {
        out->kind = PARLEY_DECISION_ASK_AGAIN;
    }
    return PARLEY_OK;
}

static struct parley_protocol protocol;
static const struct parley_facts_kind facts = {.bucket = "test", .decide = decide};

static int set_up(void **state) {
    if (world_set_up(state) != 0) {
        return -1;
    }
    struct world *world = *state;
    protocol = *parley_protocol_find(PARLEY_BYTES("vlp"));
    protocol.route = route;
    protocol.facts = &facts;
    world_speak(world, &protocol);
    world->gateway.fact_stores = world->fact_stores;
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
static const struct request_head live = {.is_live = true, .content_length = -1};
static const struct request_head single = {.type = "application/json"};
static const struct request_head stamped = {.type = "application/json",
                                            .query = {{"stamp", "true"}}};

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
    assert_int_equal(world->jetstream.count, 0);
    world_lookup_answers(world, 0, "found");
    assert_string_equal(subjects(world), "vlp.found");
    world_ack_all(world);
    assert_int_equal(world->request.status, 200);
    assert_non_null(strstr(world_answer(world), "\"subject\":\"vlp.found\""));
}

/* Nothing is found for them, however often it is asked for: so each is asked for twice. */
static void publish_after_waits(struct world *world, const struct request_head *head,
                                const char *body) {
    const size_t queries = world->store.query_count;
    world->gateway.figures->check_turn = 0;
    world_post(world, head, body);
    for (size_t i = queries; i < world->store.query_count; i++) {
        world_lookup_answers(world, i, NULL);
    }
    world_ack_all(world);
}

static void test_a_message_that_waits_is_checked_once(void **state) {
    static const struct request_head *const heads[] = {&single, &stamped, &many};
    static const char *const bodies[] = {REPLY("1", "a"), REPLY("1", "a"),
                                         REPLY("1", "a") REPLY("2", "b")};
    struct world *world = *state;
    for (size_t i = 0; i < 3; i++) {
        publish_after_waits(world, heads[i], bodies[i]);
        assert_int_equal(world->gateway.figures->check_turn, i < 2 ? 1 : 2);
    }
    assert_string_equal(subjects(world), "vlp.unknown vlp.unknown vlp.unknown vlp.unknown");
}

static void test_it_is_checked_again_where_too_many_keep_theirs(void **state) {
    struct world *world = *state;
    world->gateway.kept.used_count = KEPT_MESSAGES_MAX;
    publish_after_waits(world, &single, REPLY("1", "a"));
    assert_true(world->gateway.figures->check_turn > 1);
    publish_after_waits(world, &many, REPLY("1", "a") REPLY("2", "b"));
    assert_true(world->gateway.figures->check_turn > 2);
    assert_string_equal(subjects(world), "vlp.unknown vlp.unknown vlp.unknown");
    world->gateway.kept.used_count = 0;
}

static void test_a_reply_to_nothing_goes_where_its_protocol_says(void **state) {
    struct world *world = *state;
    world_post(world, &single, REPLY("1", "a"));
    world_lookup_answers(world, 0, NULL);
    assert_int_equal(world->jetstream.count, 0);
    assert_int_equal(world->store.delays_ms[1], FACT_RETRY_MS);
    world_lookup_answers(world, 1, NULL);
    assert_string_equal(subjects(world), "vlp.unknown");
}

static void stop_waiting(struct reactor_timer *timer) {
    reactor_stop(OWNER_OF(timer, struct world, timer)->reactor);
}

/* Where many wait in line for the same, each would wait as long as all before it together. */
static void test_a_reply_that_has_waited_is_asked_for_again_at_once(void **state) {
    struct world *world = *state;
    world_post(world, &single, REPLY("1", "a"));
    world->timer.fire = stop_waiting;
    reactor_timer_set(world->reactor, &world->timer, FACT_RETRY_MS);
    reactor_run(world->reactor);
    world_lookup_answers(world, 0, NULL);
    assert_int_equal(world->jetstream.count, 0);
    assert_int_equal(world->store.delays_ms[1], 0);
    world_lookup_answers(world, 1, NULL);
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

#define FACT(seq, id) "{\"stream\":\"VLP\",\"seq\":" seq ",\"of\":\"MSG" id "\"}"

/* The message was found to be the first of its key, and is published. */
static void publish_first(struct world *world, const struct request_head *head, const char *body) {
    const size_t queries = world->store.query_count;
    world_post(world, head, body);
    world_lookup_answers(world, queries, NULL);
}

static void
test_a_fact_is_written_once_its_message_is_stored_and_then_it_is_answered(void **state) {
    struct world *world = *state;
    publish_first(world, &single, REQUEST("1", "a"));
    assert_string_equal(subjects(world), "vlp.safe.query");
    assert_string_equal(world->jetstream.published[0].message_id, "query:a");
    assert_string_equal(world->store.kept, "");
    assert_string_equal(world->store.expected, "a");
    world_ack(world, 0, JETSTREAM_STORED);
    assert_string_equal(world->store.kept, "a=" FACT("0", "1") " ");
    assert_int_equal(world->request.status, 0);
    world_fact_written(world, 0, FACT_WRITTEN);
    assert_int_equal(world->request.status, 200);
    assert_non_null(strstr(world_answer(world), "\"duplicate\":false"));
    assert_string_equal(world->store.expected, "");
}

static void test_an_idempotency_key_does_not_replace_what_was_decided(void **state) {
    struct world *world = *state;
    const struct request_head head = {.type = "application/json",
                                      .headers = {{"Idempotency-Key", "k"}}};
    publish_first(world, &head, REQUEST("1", "a"));
    assert_string_equal(world->jetstream.published[0].message_id, "query:a");
}

static void test_what_is_not_stored_leaves_no_fact(void **state) {
    struct world *world = *state;
    publish_first(world, &single, REQUEST("1", "a"));
    world_ack(world, 0, JETSTREAM_TIMEOUT);
    assert_int_equal(world->request.status, 504);
    assert_string_equal(world->store.kept, "");
    assert_string_equal(world->store.expected, "");
}

static void test_a_fact_that_is_not_written_is_said(void **state) {
    struct world *world = *state;
    publish_first(world, &single, REQUEST("1", "a"));
    world_ack(world, 0, JETSTREAM_STORED);
    world_fact_written(world, 0, FACT_FAILED);
    assert_int_equal(world->request.status, 504);
    assert_non_null(strstr(world_answer(world), "The message was stored, but the key `a`"));
}

static void test_a_decision_against_it_publishes_nothing(void **state) {
    struct world *world = *state;
    world_post(world, &single, REQUEST("1", "a"));
    world_lookup_answers(world, 0, FACT("3", "2"));
    assert_int_equal(world->request.status, 409);
    assert_non_null(strstr(world_answer(world), "/problems/already-claimed"));
    assert_non_null(strstr(world_answer(world), "\"holder\":\"x\""));
    world_post(world, &many, REQUEST("1", "a"));
    world_lookup_answers(world, 1, FACT("3", "2"));
    assert_string_equal(world_statuses(world), "failed 1/0/0/0/1");
    assert_non_null(strstr(world_answer(world), "\"holder\":\"x\"}"));
    assert_int_equal(world->jetstream.count, 0);
    assert_int_equal(world_counted(world, OUTCOME_REFUSED), 2);
}

static void test_a_repeated_one_gets_the_place_of_the_first(void **state) {
    struct world *world = *state;
    world_post(world, &single, REQUEST("1", "a"));
    world_lookup_answers(world, 0, FACT("7", "1"));
    assert_int_equal(world->request.status, 200);
    assert_non_null(
        strstr(world_answer(world), "\"seq\":7,\"duplicate\":true,\"state\":\"known\""));
    world_post(world, &many, REQUEST("1", "a"));
    world_lookup_answers(world, 1, FACT("7", "1"));
    assert_string_equal(world_statuses(world), "duplicate 1/0/1/0/0");
    assert_int_equal(world->jetstream.count, 0);
    assert_int_equal(world_counted(world, OUTCOME_DUPLICATE), 2);
}

static void test_a_duplicate_is_resolved_by_the_key(void **state) {
    struct world *world = *state;
    publish_first(world, &single, REQUEST("1", "a"));
    world_ack_duplicate(world, 0, 3);
    assert_int_equal(world->store.delays_ms[1], 0);
    world_lookup_answers(world, 1, NULL);
    assert_int_equal(world->store.delays_ms[2], FACT_RETRY_MS);
    world_lookup_answers(world, 2, FACT("3", "2"));
    assert_int_equal(world->request.status, 409);
    assert_non_null(strstr(world_answer(world), "/problems/already-claimed"));
    assert_string_equal(world->store.kept, "");
}

static void test_a_duplicate_whose_key_stays_away_is_resolved_by_what_is_stored(void **state) {
    struct world *world = *state;
    publish_first(world, &single, REQUEST("1", "a"));
    world_ack_duplicate(world, 0, 3);
    world_lookup_answers(world, 1, NULL);
    world_lookup_answers(world, 2, NULL);
    world_held_message(world, 0, "vlp.safe.query", "", REQUEST("2", "a"));
    assert_string_equal(world->store.kept, "a=" FACT("3", "2") " ");
    world_fact_written(world, 0, FACT_WRITTEN);
    world_lookup_answers(world, 3, FACT("3", "2"));
    assert_int_equal(world->request.status, 409);
    publish_first(world, &single, REQUEST("1", "b"));
    world_ack_duplicate(world, 1, 4);
    world_lookup_answers(world, 5, NULL);
    world_lookup_answers(world, 6, NULL);
    world_held_unknown(world, 1, "no");
    assert_int_equal(world->request.status, 503);
}

static void test_a_key_that_another_has_written_decides(void **state) {
    struct world *world = *state;
    publish_first(world, &single, REQUEST("1", "a"));
    world_ack(world, 0, JETSTREAM_STORED);
    world_fact_written(world, 0, FACT_EXISTS);
    world_lookup_answers(world, 1, FACT("9", "2"));
    assert_int_equal(world->request.status, 409);
    /* A shared consumer was faster with the same. */
    publish_first(world, &single, REQUEST("1", "b"));
    world_ack(world, 1, JETSTREAM_STORED);
    world_fact_written(world, 1, FACT_EXISTS);
    world_lookup_answers(world, 3, FACT("1", "1"));
    assert_int_equal(world->request.status, 200);
    assert_non_null(strstr(world_answer(world), "\"seq\":1,\"duplicate\":false"));
}

static void test_a_client_that_is_gone_leaves_the_fact(void **state) {
    struct world *world = *state;
    publish_first(world, &single, REQUEST("1", "a"));
    world_close(world);
    world_ack(world, 0, JETSTREAM_STORED);
    world_fact_written(world, 0, FACT_WRITTEN);
    assert_int_equal(world_counted(world, OUTCOME_ACCEPTED), 1);
}

/* Its answer has begun, and would be woken by the result that ends with its client. */
static void test_a_client_that_goes_while_what_is_stored_is_read_is_not_woken(void **state) {
    struct world *world = *state;
    world_begin(world, &live);
    world_send(world, "{}\n" REQUEST("1", "a"));
    assert_true(world->request.is_live);
    world_lookup_answers(world, 0, NULL);
    world_ack_duplicate(world, 0, 3);
    world_lookup_answers(world, 1, NULL);
    world_lookup_answers(world, 2, NULL);
    assert_int_equal(world->jetstream.asked_count, 1);
    world_close(world);
    assert_null(world->jetstream.asked[0].done);
}

static void test_of_many_for_one_key_one_is_published(void **state) {
    enum { COUNT = 100 };
    struct world *world = *state;
    world_begin(world, &many);
    for (size_t i = 0; i < COUNT; i++) {
        world_send(world, i == 0 ? REQUEST("1", "a") : REQUEST("2", "a"));
    }
    world_end(world);
    for (size_t i = 0; i < COUNT; i++) {
        world_lookup_answers(world, i, NULL);
    }
    assert_int_equal(world->jetstream.count, 1);
    assert_int_equal(world->store.query_count, COUNT + 1); /* the second waits for the first */
    world_ack(world, 0, JETSTREAM_STORED);
    world_fact_written(world, 0, FACT_WRITTEN);
    world->store.key = "a";
    world->store.known = FACT("0", "1");
    world_lookup_answers(world, COUNT, world->store.known);
    assert_int_equal(world->jetstream.count, 1);
    assert_int_equal(world->request.status, 200);
    assert_true(world->request.is_whole);
    assert_non_null(strstr(world_answer(world), "\"received\":100,\"accepted\":1,"));
    assert_non_null(strstr(world_answer(world), "\"failed\":99"));
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
    world_lookup_answers(world, 3, NULL);
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

static void test_a_reply_waits_for_its_request_in_the_same_body(void **state) {
    struct world *world = *state;
    world_post(world, &many, REQUEST("2", "b") REPLY("3", "b") ALONE("4"));
    world_lookup_answers(world, 1, NULL);
    assert_int_equal(world->store.delays_ms[2], FACT_RETRY_MS); /* while it waits for its turn */
    world_lookup_answers(world, 0, NULL);
    assert_string_equal(subjects(world), "vlp.safe.query");
    world_lookup_answers(world, 2, NULL);
    assert_int_equal(world->store.delays_ms[3], 0);
    world_ack(world, 0, JETSTREAM_STORED);
    world_fact_written(world, 0, FACT_WRITTEN);
    world_lookup_answers(world, 3, FACT("0", "2"));
    assert_string_equal(subjects(world), "vlp.safe.query vlp.MSG2 vlp.safe.claim");
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "accepted accepted accepted 3/3/0/0/0");
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
        world_lookup_answers(world, i, "x");
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
    world_lookup_answers(world, 2, "c");
    assert_string_equal(subjects(world), "vlp.a vlp.b vlp.c");
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
        while (world_run_out(world, rows[row].head, rows[row].body, "found", failed_count)) {
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
        TEST(test_a_message_that_waits_is_checked_once),
        TEST(test_it_is_checked_again_where_too_many_keep_theirs),
        TEST(test_a_reply_to_nothing_goes_where_its_protocol_says),
        TEST(test_a_reply_that_has_waited_is_asked_for_again_at_once),
        TEST(test_what_is_known_here_is_not_asked_for),
        TEST(test_a_reply_whose_request_cannot_be_asked_for_is_not_published),
        TEST(test_a_reply_is_counted_with_its_type_though_the_look_up_fails),
        TEST(test_a_reply_is_published_though_its_client_is_gone),
        TEST(test_a_fact_is_written_once_its_message_is_stored_and_then_it_is_answered),
        TEST(test_an_idempotency_key_does_not_replace_what_was_decided),
        TEST(test_what_is_not_stored_leaves_no_fact),
        TEST(test_a_fact_that_is_not_written_is_said),
        TEST(test_a_decision_against_it_publishes_nothing),
        TEST(test_a_repeated_one_gets_the_place_of_the_first),
        TEST(test_a_duplicate_is_resolved_by_the_key),
        TEST(test_a_duplicate_whose_key_stays_away_is_resolved_by_what_is_stored),
        TEST(test_a_key_that_another_has_written_decides),
        TEST(test_a_client_that_is_gone_leaves_the_fact),
        TEST(test_a_client_that_goes_while_what_is_stored_is_read_is_not_woken),
        TEST(test_of_many_for_one_key_one_is_published),
        TEST(test_what_is_invalid_is_neither_kept_nor_asked_for),
        TEST(test_a_verdict_says_the_subject_without_patience),
        TEST(test_a_verdict_does_not_need_nats),
        TEST(test_a_filter_asks_for_nothing),
        TEST(test_verdicts_of_many_are_in_the_order_sent),
        TEST(test_all_are_asked_for_at_once_and_published_in_the_order_sent),
        TEST(test_what_came_before_does_not_wait),
        TEST(test_one_that_cannot_be_asked_for_fails_alone),
        TEST(test_a_reply_waits_for_its_request_in_the_same_body),
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
