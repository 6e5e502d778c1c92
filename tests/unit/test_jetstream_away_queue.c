/* SPDX-License-Identifier: Apache-2.0 */

/* Messages that wait for a real NATS: what waited is stored once and in order when it is back, and
 * what waited in vain is not stored. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/jetstream_world.h"

enum { SHOTS = 40, LONG_MS = 60000, SHORT_MS = 300 };

/* Numbered messages of one sender. */
struct volley {
    struct js_world *world;
    struct jetstream_sender sender;
    struct js_shot shots[SHOTS];
    char texts[SHOTS][16], ids[SHOTS][16];
    unsigned count, from;
    bool has_ids, was_patient;
    unsigned found[SHOTS], last_found; /* in the stream */
};

static struct volley *create_volley(struct js_world *world, int64_t patience_ms) {
    struct volley *volley = calloc(1, sizeof *volley);
    volley->world = world;
    volley->has_ids = true;
    world->options.patience_ms = patience_ms;
    js_world_start(world);
    return volley;
}

static void shoot(void *context) {
    struct volley *volley = context;
    for (unsigned i = volley->from; i < volley->from + volley->count; i++) {
        struct js_shot *shot = &volley->shots[i];
        snprintf(volley->texts[i], sizeof volley->texts[i], "%u", i);
        snprintf(volley->ids[i], sizeof volley->ids[i], "id-%u", i);
        *shot = (struct js_shot){.world = volley->world,
                                 .subject = "vlp.safe.claim",
                                 .id = volley->has_ids ? volley->ids[i] : NULL,
                                 .payload = parley_bytes_of(volley->texts[i]),
                                 .sender = &volley->sender};
        js_shot_go(shot);
    }
}

/* Publishes the messages from `from` on. */
static void fire(struct volley *volley, unsigned from, unsigned count) {
    volley->from = from;
    volley->count = count;
    loop_do(&volley->world->loop, shoot, volley);
}

static bool all_are_done(void *context) {
    const struct volley *volley = context;
    for (unsigned i = 0; i < volley->from + volley->count; i++) {
        if (volley->shots[i].result == JETSTREAM_PUBLISHED && volley->shots[i].done == 0) {
            return false;
        }
    }
    return true;
}

static void wait_for_all(struct volley *volley) {
    assert_true(loop_wait(&volley->world->loop, all_are_done, volley, LOOP_PATIENCE_MS));
}

static void see(void *context, uint64_t sequence, const char *text, int length) {
    struct volley *volley = context;
    char number[16] = "";
    (void)sequence;
    memcpy(number, text, (size_t)length);
    const unsigned i = (unsigned)atoi(number);
    assert_true(i < SHOTS);
    volley->found[i]++;
    assert_true(i == 0 || i > volley->last_found); /* in the order in which they were published */
    volley->last_found = i;
}

/* Each that was acknowledged is in the stream once, and no other; they are in order. */
static void check_stored(struct volley *volley, unsigned expected) {
    unsigned stored = 0;
    js_world_look(volley->world);
    js_world_read_all(volley->world, see, volley);
    for (unsigned i = 0; i < SHOTS; i++) {
        const bool is_stored =
            volley->shots[i].done > 0 && volley->shots[i].ack.outcome == JETSTREAM_STORED;
        assert_int_equal(volley->found[i], is_stored);
        stored += is_stored;
    }
    assert_int_equal(stored, expected);
}

static void lose_server(struct volley *volley) {
    nats_server_end(&volley->world->server, SIGKILL);
    assert_true(loop_wait(&volley->world->loop, js_world_is_away, volley->world, LOOP_PATIENCE_MS));
}

struct hook {
    struct volley *volley;
    void (*work)(void *volley);
};

static void set_hook(void *context) {
    const struct hook *hook = context;
    hook->volley->world->when_away = hook->work;
    hook->volley->world->when_away_context = hook->volley;
}

/* `work` is called as the outage begins, however late it is noticed here. */
static void lose_server_and(struct volley *volley, void (*work)(void *volley)) {
    struct hook hook = {volley, work}, none = {volley, NULL};
    loop_do(&volley->world->loop, set_hook, &hook);
    lose_server(volley);
    loop_do(&volley->world->loop, set_hook, &none);
}

static void freeze_and_lose_server(struct volley *volley, unsigned count) {
    nats_server_stop(&volley->world->server);
    fire(volley, 0, count);
    lose_server(volley);
}

/* ---- what waits is stored ---- */

static void test_what_comes_while_nats_is_away_is_stored_in_order_later(void **state) {
    struct volley *volley = create_volley(*state, LONG_MS);
    lose_server(volley);
    fire(volley, 0, SHOTS);
    assert_int_equal(volley->shots[0].done, 0);
    nats_server_start(&volley->world->server);
    wait_for_all(volley);
    check_stored(volley, SHOTS);
    free(volley);
}

static void test_what_was_in_flight_and_has_an_id_is_published_again_in_its_place(void **state) {
    struct volley *volley = create_volley(*state, LONG_MS);
    freeze_and_lose_server(volley, SHOTS / 2);
    fire(volley, SHOTS / 2, SHOTS / 2);
    nats_server_start(&volley->world->server);
    wait_for_all(volley);
    check_stored(volley, SHOTS);
    free(volley);
}

static void test_what_was_in_flight_without_an_id_is_lost(void **state) {
    struct volley *volley = create_volley(*state, LONG_MS);
    volley->has_ids = false;
    freeze_and_lose_server(volley, 3);
    wait_for_all(volley);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(volley->shots[i].ack.outcome, JETSTREAM_LOST);
    }
    fire(volley, 3, 3); /* these were never sent */
    nats_server_start(&volley->world->server);
    wait_for_all(volley);
    check_stored(volley, 3);
    free(volley);
}

static bool is_done(void *context) {
    const struct js_shot *shot = context;
    return shot->done > 0;
}

static void test_what_was_in_flight_and_is_too_large_by_now_may_be_stored(void **state) {
    static char text[5000], path[96];
    const char *const smaller[] = {"-c", path, NULL};
    struct volley *volley = create_volley(*state, LONG_MS);
    struct nats_server *server = &volley->world->server;
    struct js_shot shot = {.world = volley->world,
                           .subject = "vlp.safe.claim",
                           .id = "large",
                           .payload = {text, sizeof text}};
    nats_server_stop(server);
    loop_do(&volley->world->loop, js_shot_go, &shot);
    lose_server(volley);
    snprintf(path, sizeof path, "%s/nats.conf", server->folder);
    FILE *file = fopen(path, "w");
    fputs("max_payload: 4096\n", file);
    fclose(file);
    server->extra = smaller;
    nats_server_start(server);
    assert_true(loop_wait(&volley->world->loop, is_done, &shot, LOOP_PATIENCE_MS));
    assert_int_equal(shot.ack.outcome, JETSTREAM_TIMEOUT);
    server->extra = NULL;
    free(volley);
}

static void test_what_a_frozen_server_does_not_acknowledge_is_stored_once(void **state) {
    struct volley *volley = create_volley(*state, LONG_MS);
    fire(volley, 0, 1);
    wait_for_all(volley);
    nats_server_stop(&volley->world->server);
    fire(volley, 1, SHOTS / 2);
    assert_false(loop_wait(&volley->world->loop, all_are_done, volley, 3000)); /* longer than
                                                                                  SILENCE_MS */
    fire(volley, 1 + SHOTS / 2, SHOTS / 2 - 1);
    nats_server_continue(&volley->world->server);
    wait_for_all(volley);
    check_stored(volley, SHOTS);
    free(volley);
}

static void delete_stream(void *context) {
    struct volley *volley = context;
    assert_int_equal(js_DeleteStream(volley->world->context, "VLP", NULL, NULL), NATS_OK);
    shoot(volley);
}

/* As between two leaders: nobody listens on the subject. */
static void test_what_finds_no_stream_waits_until_there_is_one(void **state) {
    struct volley *volley = create_volley(*state, LONG_MS);
    js_world_look(volley->world);
    volley->count = SHOTS;
    loop_do(&volley->world->loop, delete_stream, volley);
    wait_for_all(volley);
    check_stored(volley, SHOTS);
    free(volley);
}

static void test_a_message_without_an_id_is_published_again_if_nobody_heard_it(void **state) {
    struct volley *volley = create_volley(*state, LONG_MS);
    volley->has_ids = false;
    js_world_look(volley->world);
    volley->count = SHOTS;
    loop_do(&volley->world->loop, delete_stream, volley);
    wait_for_all(volley);
    check_stored(volley, SHOTS);
    free(volley);
}

/* ---- what does not ---- */

static void test_what_waits_in_vain_is_refused_with_the_reason(void **state) {
    struct volley *volley = create_volley(*state, SHORT_MS);
    volley->count = 3;
    lose_server_and(volley, shoot);
    wait_for_all(volley);
    for (int i = 0; i < 3; i++) {
        const struct js_shot *shot = &volley->shots[i];
        assert_int_equal(shot->result, JETSTREAM_PUBLISHED);
        assert_int_equal(shot->ack.outcome, JETSTREAM_REFUSED);
        assert_int_equal(shot->ack.error_code, 0);
        assert_non_null(strstr(shot->error, "NATS is unreachable"));
    }
    nats_server_start(&volley->world->server);
    assert_true(
        loop_wait(&volley->world->loop, js_world_is_ready, volley->world, LOOP_PATIENCE_MS));
    check_stored(volley, 0);
    free(volley);
}

static bool is_refusing(void *context) {
    return !jetstream_is_accepting(((struct volley *)context)->world->jetstream);
}

static void test_an_outage_that_lasted_longer_is_not_waited_for(void **state) {
    struct volley *volley = create_volley(*state, SHORT_MS);
    lose_server(volley);
    assert_true(loop_wait(&volley->world->loop, is_refusing, volley, LOOP_PATIENCE_MS));
    fire(volley, 0, 1);
    assert_int_equal(volley->shots[0].result, JETSTREAM_AWAY);
    nats_server_start(&volley->world->server);
    assert_true(
        loop_wait(&volley->world->loop, js_world_is_ready, volley->world, LOOP_PATIENCE_MS));
    fire(volley, 0, 1);
    wait_for_all(volley);
    check_stored(volley, 1);
    free(volley);
}

static void test_as_many_wait_as_may_be_in_flight(void **state) {
    struct js_world *world = *state;
    world->options.in_flight_count_max = 2;
    struct volley *volley = create_volley(world, LONG_MS);
    lose_server(volley);
    fire(volley, 0, 3);
    assert_int_equal(volley->shots[1].result, JETSTREAM_PUBLISHED);
    assert_int_equal(volley->shots[2].result, JETSTREAM_FULL);
    nats_server_start(&volley->world->server);
    wait_for_all(volley);
    check_stored(volley, 2);
    free(volley);
}

static void abandon(void *context) {
    ((struct volley *)context)->sender.is_abandoned = true;
}

static void test_what_nobody_awaits_any_more_is_dropped(void **state) {
    struct volley *volley = create_volley(*state, LONG_MS);
    lose_server(volley);
    fire(volley, 0, 3);
    loop_do(&volley->world->loop, abandon, volley);
    nats_server_start(&volley->world->server);
    wait_for_all(volley);
    check_stored(volley, 0);
    free(volley);
}

/* As if the third had met the new leader, and the others had not. */
static void overtake(void *context) {
    ((struct volley *)context)->sender.stored = 3;
}

static void test_what_a_later_one_has_overtaken_is_refused(void **state) {
    struct volley *volley = create_volley(*state, LONG_MS);
    lose_server(volley);
    fire(volley, 0, 3);
    loop_do(&volley->world->loop, overtake, volley);
    nats_server_start(&volley->world->server);
    wait_for_all(volley);
    assert_int_equal(volley->shots[1].ack.outcome, JETSTREAM_REFUSED);
    assert_non_null(strstr(volley->shots[1].error, "has stored a later one"));
    check_stored(volley, 1);
    free(volley);
}

static void give_up(void *context) {
    jetstream_give_up(((struct volley *)context)->world->jetstream);
}

static void test_all_that_waits_ends_when_the_server_gives_up(void **state) {
    struct volley *volley = create_volley(*state, LONG_MS);
    freeze_and_lose_server(volley, 3);
    fire(volley, 3, 3);
    loop_do(&volley->world->loop, give_up, volley);
    assert_true(all_are_done(volley));
    assert_int_equal(volley->shots[0].ack.outcome, JETSTREAM_LOST);
    assert_int_equal(volley->shots[3].ack.outcome, JETSTREAM_REFUSED);
    fire(volley, 6, 1);
    assert_int_equal(volley->shots[6].result, JETSTREAM_AWAY);
    free(volley);
}

static void test_what_waits_can_be_destroyed(void **state) {
    struct volley *volley = create_volley(*state, LONG_MS);
    freeze_and_lose_server(volley, 3);
    js_world_close(volley->world);
    assert_int_equal(volley->shots[0].done, 0);
    free(volley);
}

/* ---- being ready ---- */

static bool is_patient(void *context) {
    return jetstream_is_patient(((struct volley *)context)->world->jetstream);
}
static bool is_impatient(void *context) {
    return !is_patient(context);
}

static void note_patience(void *context) {
    struct volley *volley = context;
    volley->was_patient = is_patient(volley);
}

static void test_patience_begins_with_an_outage_and_ends_after_its_time(void **state) {
    struct volley *volley = create_volley(*state, SHORT_MS);
    assert_false(loop_wait(&volley->world->loop, is_patient, volley, 0));
    lose_server_and(volley, note_patience);
    assert_true(volley->was_patient);
    assert_true(loop_wait(&volley->world->loop, is_impatient, volley, LOOP_PATIENCE_MS));
    free(volley);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, js_world_set_up, js_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_what_comes_while_nats_is_away_is_stored_in_order_later),
        TEST(test_what_was_in_flight_and_has_an_id_is_published_again_in_its_place),
        TEST(test_what_was_in_flight_without_an_id_is_lost),
        TEST(test_what_was_in_flight_and_is_too_large_by_now_may_be_stored),
        TEST(test_what_a_frozen_server_does_not_acknowledge_is_stored_once),
        TEST(test_what_finds_no_stream_waits_until_there_is_one),
        TEST(test_a_message_without_an_id_is_published_again_if_nobody_heard_it),
        TEST(test_what_waits_in_vain_is_refused_with_the_reason),
        TEST(test_an_outage_that_lasted_longer_is_not_waited_for),
        TEST(test_as_many_wait_as_may_be_in_flight),
        TEST(test_what_nobody_awaits_any_more_is_dropped),
        TEST(test_what_a_later_one_has_overtaken_is_refused),
        TEST(test_all_that_waits_ends_when_the_server_gives_up),
        TEST(test_what_waits_can_be_destroyed),
        TEST(test_patience_begins_with_an_outage_and_ends_after_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
