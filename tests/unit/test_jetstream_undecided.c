/* SPDX-License-Identifier: Apache-2.0 */

/* What JetStream has not decided on: an earlier message with the same id, or to the same key, is on
 * its way to the replicas. JetStream is played by the second client, in the words of nats-server
 * 2.10 and 2.15, on a server that has none. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/jetstream_world.h"
#include "../lib/nats_client.h"
#include "jetstream_codes.h"

#define ERROR(code, text)                                                                          \
    "{\"error\":{\"code\":400,\"err_code\":" code ",\"description\":\"" text                       \
    "\"},\"stream\":\"VLP\",\"seq\":0}"

enum { LONG_MS = 60000, SHORT_MS = 300, ANSWERS_MAX = 4 };

static const char later_payload[] = "[]";
static const char no_answer[] = "";
static const char under_way[] = "{\"stream\":\"VLP\", \"seq\":0,\"duplicate\": true}";
static const char in_process[] = ERROR("10158", "duplicate message id is in process");
static const char before_it[] = ERROR("10164", "wrong last sequence");
static const char behind[] = ERROR("10071", "wrong last sequence: 7");
static const char stored[] = "{\"stream\":\"VLP\", \"seq\":9}";
static const char known[] = "{\"stream\":\"VLP\", \"seq\":7,\"duplicate\": true}";
static const char *const undecided[] = {under_way, in_process, before_it};

/* One publication, and what it is answered, one after the other; the last one for all further. */
struct play {
    struct js_world *world;
    const char *answers[ANSWERS_MAX + 1];
    atomic_uint published;
    natsSubscription *info, *messages;
    struct jetstream_sender sender;
    struct js_shot shot, later;
    unsigned later_count;
    atomic_uint published_before; /* when `later` came last */
};

static void answer_info(natsConnection *connection, natsSubscription *subscription,
                        natsMsg *message, void *context) {
    static const char info[] =
        "{\"type\":\"io.nats.jetstream.api.v1.stream_info_response\","
        "\"config\":{\"name\":\"VLP\",\"subjects\":[\"vlp.>\"],\"retention\":\"limits\","
        "\"max_consumers\":-1,\"max_msgs\":-1,\"max_bytes\":-1,\"max_age\":0,\"storage\":\"file\","
        "\"discard\":\"old\",\"num_replicas\":3,\"duplicate_window\":120000000000},"
        "\"created\":\"2026-01-01T00:00:00Z\","
        "\"state\":{\"messages\":0,\"bytes\":0,\"first_seq\":0,\"last_seq\":0}}";
    (void)subscription;
    (void)context;
    natsConnection_PublishString(connection, natsMsg_GetReply(message), info);
    natsMsg_Destroy(message);
}

static void answer_message(natsConnection *connection, natsSubscription *subscription,
                           natsMsg *message, void *context) {
    struct play *play = context;
    const unsigned number = play->published;
    unsigned last = 0;
    (void)subscription;
    if (strcmp(natsMsg_GetData(message), later_payload) == 0) {
        play->published_before = number;
        if (play->later_count++ > 0) {
            natsConnection_PublishString(connection, natsMsg_GetReply(message), stored);
        }
        natsMsg_Destroy(message);
        return;
    }
    while (play->answers[last + 1] != NULL) {
        last++;
    }
    const char *answer = play->answers[number < last ? number : last];
    if (answer[0] != '\0') {
        natsConnection_PublishString(connection, natsMsg_GetReply(message), answer);
    }
    play->published++;
    natsMsg_Destroy(message);
}

static void begin(struct play *play, int64_t patience_ms) {
    struct js_world *world = play->world;
    world->server.has_jetstream = false;
    world->options.patience_ms = patience_ms;
    nats_server_start(&world->server);
    js_world_look(world);
    assert_int_equal(natsConnection_Subscribe(&play->info, world->connection,
                                              "$JS.API.STREAM.INFO.VLP", answer_info, NULL),
                     NATS_OK);
    assert_int_equal(
        natsConnection_Subscribe(&play->messages, world->connection, "vlp.>", answer_message, play),
        NATS_OK);
    assert_int_equal(natsConnection_Flush(world->connection), NATS_OK);
    js_world_open(world);
    assert_true(loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS));
    play->shot = (struct js_shot){.world = world,
                                  .subject = "vlp.safe.claim",
                                  .id = "one",
                                  .payload = {"{}", 2},
                                  .sender = &play->sender};
    loop_do(&world->loop, js_shot_go, &play->shot);
    assert_int_equal(play->shot.result, JETSTREAM_PUBLISHED);
}

static void end(struct play *play) {
    js_world_close(play->world); /* before the one who answers it */
    natsSubscription_Destroy(play->info);
    natsSubscription_Destroy(play->messages);
}

static const struct jetstream_ack *ack_of(struct play *play) {
    assert_true(loop_wait(&play->world->loop, js_shot_is_done, &play->shot, LOOP_PATIENCE_MS));
    assert_int_equal(play->shot.done, 1);
    return &play->shot.ack;
}

static void expect_known(struct play *play) {
    begin(play, LONG_MS);
    const struct jetstream_ack *ack = ack_of(play);
    assert_int_equal(ack->outcome, JETSTREAM_STORED);
    assert_int_equal(ack->sequence, 7);
    assert_true(ack->is_duplicate);
    assert_false(ack->is_again); /* it is another's: all of this one's were answered */
    assert_int_equal(play->published, 3);
    end(play);
}

static void expect_stored(struct play *play) {
    begin(play, LONG_MS);
    const struct jetstream_ack *ack = ack_of(play);
    assert_int_equal(ack->outcome, JETSTREAM_STORED);
    assert_int_equal(ack->sequence, 9);
    assert_false(ack->is_duplicate);
    end(play);
}

static void expect_behind(struct play *play) {
    begin(play, LONG_MS);
    assert_true(jetstream_ack_is_behind(ack_of(play)));
    end(play);
}

static void expect_refusal(struct play *play) {
    begin(play, SHORT_MS);
    const struct jetstream_ack *ack = ack_of(play);
    assert_int_equal(ack->outcome, JETSTREAM_REFUSED);
    assert_int_equal(ack->error_code, 0);
    assert_non_null(strstr(play->shot.error, "still storing a message with this id"));
    assert_in_range(play->published, 2, 20); /* with longer and longer pauses */
    end(play);
}

static void expect_refusal_at_once(struct play *play) {
    begin(play, 0);
    assert_int_equal(ack_of(play)->outcome, JETSTREAM_REFUSED);
    assert_int_equal(play->published, 1);
    end(play);
}

static void give_up(void *context) {
    jetstream_give_up(((struct play *)context)->world->jetstream);
}

static bool is_published_twice(void *context) {
    return ((struct play *)context)->published >= 2;
}

static void expect_end_at_shutdown(struct play *play) {
    begin(play, LONG_MS);
    assert_true(loop_wait(&play->world->loop, is_published_twice, play, LOOP_PATIENCE_MS));
    loop_do(&play->world->loop, give_up, play);
    const struct jetstream_ack *ack = ack_of(play);
    assert_true(ack->outcome == JETSTREAM_REFUSED || ack->outcome == JETSTREAM_TIMEOUT);
    end(play);
}

/* Its first time had no answer, as with a leader that dies: that may be the one under way. */
static void expect_own(struct play *play) {
    begin(play, LONG_MS);
    const struct jetstream_ack *ack = ack_of(play);
    assert_int_equal(ack->outcome, JETSTREAM_STORED);
    assert_int_equal(ack->sequence, 7);
    assert_true(ack->is_again);
    end(play);
}

static void expect_unknown(struct play *play) {
    play->world->options.ack_timeout_ms = 4000;
    begin(play, 3000);
    assert_int_equal(ack_of(play)->outcome, JETSTREAM_TIMEOUT);
    assert_in_range(play->published, 1, 40); /* once where a busy machine is late */
    end(play);
}

/* As if a later message of the same body were stored. */
static void overtake(void *context) {
    ((struct play *)context)->sender.stored = 2;
}

static void expect_order(struct play *play) {
    begin(play, LONG_MS);
    assert_true(loop_wait(&play->world->loop, is_published_twice, play, LOOP_PATIENCE_MS));
    loop_do(&play->world->loop, overtake, play);
    assert_int_equal(ack_of(play)->outcome, JETSTREAM_TIMEOUT);
    end(play);
}

static void send_later(void *context) {
    struct play *play = context;
    play->later = play->shot;
    play->later.id = "two";
    play->later.payload = (struct parley_bytes){later_payload, 2};
    js_shot_go(&play->later);
}

/* None of a body had an answer: what comes after it is published again once it is decided. */
static void expect_order_of_two(struct play *play) {
    begin(play, LONG_MS);
    loop_do(&play->world->loop, send_later, play);
    assert_int_equal(ack_of(play)->outcome, JETSTREAM_STORED);
    assert_true(loop_wait(&play->world->loop, js_shot_is_done, &play->later, LOOP_PATIENCE_MS));
    assert_int_equal(play->published_before, 4);
    end(play);
}

static void expect_known_though_overtaken(struct play *play) {
    overtake(play);
    expect_known(play);
}

/* ---- the tests ---- */

/* Runs it with each answer that decides nothing in the places of `under_way`. */
static void for_each(const char *const *answers, void (*run)(struct play *play)) {
    for (size_t i = 0; i < sizeof undecided / sizeof undecided[0]; i++) {
        void *world = NULL;
        assert_int_equal(js_world_set_up(&world), 0);
        struct play play = {.world = world};
        for (size_t at = 0; answers[at] != NULL; at++) {
            play.answers[at] = answers[at] == under_way ? undecided[i] : answers[at];
        }
        run(&play);
        js_world_tear_down(&world);
    }
}

#define TEST(name, run, ...)                                                                       \
    static void name(void **state) {                                                               \
        static const char *const answers[] = {__VA_ARGS__, NULL};                                  \
        (void)state;                                                                               \
        for_each(answers, run);                                                                    \
    }

TEST(test_it_is_published_again_until_it_is_a_duplicate, expect_known, under_way, under_way, known)
TEST(test_it_is_stored_if_the_other_one_is_not, expect_stored, under_way, under_way, stored)
TEST(test_it_is_refused_once_its_key_has_a_value, expect_behind, under_way, behind)
TEST(test_what_stays_undecided_is_refused, expect_refusal, under_way)
TEST(test_without_patience_it_is_refused_at_once, expect_refusal_at_once, under_way)
TEST(test_it_ends_when_the_gateway_shuts_down, expect_end_at_shutdown, under_way)
TEST(test_what_had_no_answer_at_first_is_its_own, expect_own, no_answer, under_way, known)
TEST(test_what_had_no_answer_may_be_stored, expect_unknown, no_answer, under_way)
TEST(test_what_a_later_one_has_overtaken_is_not_stored_after_it, expect_order, no_answer, under_way)
TEST(test_what_follows_it_in_its_body_waits_for_it, expect_order_of_two, no_answer, under_way,
     under_way, stored)
TEST(test_what_waits_for_another_cannot_be_overtaken, expect_known_though_overtaken, under_way,
     under_way, known)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_published_again_until_it_is_a_duplicate),
        cmocka_unit_test(test_it_is_stored_if_the_other_one_is_not),
        cmocka_unit_test(test_it_is_refused_once_its_key_has_a_value),
        cmocka_unit_test(test_what_stays_undecided_is_refused),
        cmocka_unit_test(test_without_patience_it_is_refused_at_once),
        cmocka_unit_test(test_it_ends_when_the_gateway_shuts_down),
        cmocka_unit_test(test_what_had_no_answer_at_first_is_its_own),
        cmocka_unit_test(test_what_had_no_answer_may_be_stored),
        cmocka_unit_test(test_what_a_later_one_has_overtaken_is_not_stored_after_it),
        cmocka_unit_test(test_what_follows_it_in_its_body_waits_for_it),
        cmocka_unit_test(test_what_waits_for_another_cannot_be_overtaken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
