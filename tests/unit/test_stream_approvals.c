/* SPDX-License-Identifier: Apache-2.0 */

/* What people approved, as it is found for the readers of a hub: what is believed of a message that
 * announces it, how often and how much is asked at a time, and what is kept. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream_fixture.h"
#include "stream_model.h"
#include "stream_review.h"
#include "../lib/rounds.h"

#define ID "MSG001"
#define CLAIM                                                                                      \
    "{\"id\":\"" ID "\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","                              \
    "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"A\",\"content\":\"x\","                   \
    "\"confidence\":0.5}"
#define VALUE(decision, id)                                                                        \
    "{\"decision\":\"" decision "\",\"by\":\"B\",\"reason\":\"r\",\"at\":\"t\",\"id\":\"" id "\"}"
#define APPROVED VALUE("approve", ID)
enum { NOTICE = 43, ASKED_MAX = 4, KEPT_MAX = 32, KEPT_BYTES_MAX = 2 * 1024 * 1024 };

static int set_up(void **state) {
    review_asks_reset();
    *state = make_world(1, 100, 1);
    return 0;
}

static int tear_down(void **state) {
    free_world(*state);
    assert_int_equal(review_asks_pending(), 0);
    return 0;
}

/* The message at `sequence`, which announces that the one at `sequence` - 1 is approved. */
static struct stream_event *make_notice(struct world *world, uint64_t sequence) {
    char header[64];
    snprintf(header, sizeof header, "VLP:%" PRIu64 " approve", sequence - 1);
    const struct jetstream_header headers[] = {{REVIEW_HEADER, header}, {.name = NULL}};
    const struct jetstream_stored stored = {.sequence = sequence,
                                            .time_ns = 1000,
                                            .subject = "vlp.safe.claim",
                                            .payload = PARLEY_BYTES(CLAIM),
                                            .known = headers};
    struct stream_event *notice =
        stream_render(&world->hub.renderer, "2025-12-01T00:00:00Z", &stored);
    assert_non_null(notice);
    assert_non_null(notice->review);
    return notice;
}

/* Returns: whether it is known; `out`: what is approved, borrowed. */
static bool find(struct world *world, uint64_t sequence, struct stream_event **out) {
    struct stream_event *notice = make_notice(world, sequence);
    const bool is_known = stream_approvals_find(&world->hub.approvals, notice, out);
    stream_event_unref(notice);
    return is_known;
}

static void assert_known(struct world *world, uint64_t sequence, bool has_event) {
    struct stream_event *event;
    assert_true(find(world, sequence, &event));
    assert_int_equal(event != NULL, has_event);
}

static void assert_unknown(struct world *world, uint64_t sequence) {
    struct stream_event *event;
    assert_false(find(world, sequence, &event));
    assert_null(event);
}

static void test_an_announcement_is_believed_if_the_decision_says_the_same(void **state) {
    static const struct {
        const char *decision, *place, *message; /* NULL: none; "": not asked for */
        bool is_given;
    } rows[] = {
        {APPROVED, NULL, CLAIM, true},
        {APPROVED, "{\"stream\":\"VLP\",\"seq\":43}", CLAIM, true},
        {APPROVED, NULL, "not JSON", true},
        {APPROVED, "{\"stream\":\"VLP\",\"seq\":44}", "", false},
        {APPROVED, "{\"stream\":\"VLP2\",\"seq\":43}", "", false},
        {APPROVED, "x", "", false},
        {APPROVED, NULL, NULL, false},
        {VALUE("approve", "MSG002"), "", "", false},
        {VALUE("approve", ""), "", "", false},
        {VALUE("reject", ID), "", "", false},
        {"{\"decision\":\"approve\"}", "", "", false},
        {"not JSON", "", "", false},
        {NULL, "", "", false},
    };
    struct world *world = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const answers[] = {rows[i].decision, rows[i].place, rows[i].message};
        assert_unknown(world, NOTICE);
        for (size_t k = 0; k < 3 && (answers[k] == NULL || answers[k][0] != '\0'); k++) {
            static const char *const asked[] = {"VLP.42", "VLP.42.notice", "VLP:42"};
            assert_unknown(world, NOTICE);
            assert_string_equal(review_answer(answers[k]), asked[k]);
        }
        assert_int_equal(review_asks_pending(), 0);
        assert_known(world, NOTICE, rows[i].is_given);
        stream_approvals_forget(&world->hub.approvals);
    }
}

static void test_the_event_is_that_of_the_message_with_the_decision(void **state) {
    struct world *world = *state;
    struct stream_event *event;
    assert_unknown(world, NOTICE);
    review_answer(APPROVED);
    review_answer(NULL);
    review_answer(CLAIM);
    assert_true(find(world, NOTICE, &event));
    assert_int_equal(event->sequence, 42);
    assert_int_equal(event->notice, NOTICE);
    assert_true(event->time_ns == 1000); /* when it was approved */
    char *text = strndup(event->text.data, event->text.length);
    static const char *const parts[] = {
        "\"sequence\":\"42\"", ":reviewed:42\",",
        "\"reviewed\":{\"by\":\"B\",\"at\":\"t\",\"reason\":\"r\"},\"data\":" CLAIM "}"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strstr(text, parts[i]) == NULL) {
            fail_msg("%s lacks %s", text, parts[i]);
        }
    }
    free(text);
}

static void test_all_readers_share_one_question_and_few_are_asked_at_a_time(void **state) {
    struct world *world = *state;
    for (size_t round = 0; round < 3; round++) {
        for (uint64_t sequence = 2; sequence <= 21; sequence++) {
            assert_unknown(world, sequence);
        }
    }
    assert_int_equal(review_ask_count, ASKED_MAX);
    while (review_asks_pending() > 0) {
        assert_in_range(review_asks_pending(), 1, ASKED_MAX);
        review_answer(NULL);
    }
    assert_int_equal(review_ask_count, 20);
    for (uint64_t sequence = 2; sequence <= 21; sequence++) {
        assert_known(world, sequence, false);
    }
    assert_int_equal(review_ask_count, 20);
}

static void test_what_is_not_answered_is_asked_again_later(void **state) {
    struct world *world = *state;
    struct stream_approvals *approvals = &world->hub.approvals;
    for (size_t answered = 0; answered < 3; answered++) {
        assert_unknown(world, NOTICE);
        for (size_t i = 0; i < answered; i++) {
            review_answer(i == 0 ? APPROVED : NULL);
        }
        review_answer("");
        assert_int_equal(review_asks_pending(), 0);
        assert_true(approvals->retry.is_armed);
        assert_unknown(world, NOTICE);
        assert_int_equal(review_asks_pending(), 0);
        reactor_timer_clear(world->reactor, &approvals->retry);
        approvals->retry.fire(&approvals->retry);
        assert_int_equal(review_asks_pending(), 1);
        review_answer(APPROVED);
        review_answer(NULL);
        review_answer(CLAIM);
        assert_known(world, NOTICE, true);
        stream_approvals_trim(approvals);
    }
}

static void test_while_nats_is_away_nothing_is_asked_in_a_circle(void **state) {
    struct world *world = *state;
    struct stream_approvals *approvals = &world->hub.approvals;
    is_review_asked = false;
    for (uint64_t sequence = 2; sequence <= 101; sequence++) {
        assert_unknown(world, sequence);
    }
    assert_int_equal(approvals->count, KEPT_MAX);
    assert_int_equal(approvals->asked_count, 0);
    is_review_asked = true;
    reactor_timer_clear(world->reactor, &approvals->retry);
    approvals->retry.fire(&approvals->retry);
    assert_int_equal(review_asks_pending(), ASKED_MAX);
    while (review_asks_pending() > 0) {
        review_answer(NULL);
    }
    assert_unknown(world, 101);
    review_answer(NULL);
    assert_known(world, 101, false);
}

static void test_what_is_kept_has_bounds(void **state) {
    struct world *world = *state;
    struct stream_approvals *approvals = &world->hub.approvals;
    const size_t length = 200 * 1024;
    char *message = malloc(length + sizeof CLAIM);
    memset(message, ' ', length);
    memcpy(message + length, CLAIM, sizeof CLAIM);
    for (uint64_t sequence = 2; sequence <= 60; sequence++) {
        memset(message, 'x', length); /* not valid: it is kept as it is */
        assert_unknown(world, sequence);
        review_answer(APPROVED);
        review_answer(NULL);
        review_answer(message);
        assert_known(world, sequence, true);
        assert_in_range(approvals->bytes, 1, KEPT_BYTES_MAX);
        assert_in_range(approvals->count, 1, KEPT_MAX);
    }
    free(message);
    stream_approvals_trim(approvals);
    assert_int_equal(approvals->count, 0);
    assert_int_equal(approvals->bytes, 0);
}

static void test_a_message_over_the_bounds_is_kept_alone(void **state) {
    struct world *world = *state;
    char *message = malloc(KEPT_BYTES_MAX + 1);
    memset(message, 'x', KEPT_BYTES_MAX);
    message[KEPT_BYTES_MAX] = '\0';
    for (uint64_t sequence = 2; sequence <= 4; sequence++) {
        assert_unknown(world, sequence);
        review_answer(APPROVED);
        review_answer(NULL);
        review_answer(message);
        assert_known(world, sequence, true);
        assert_int_equal(world->hub.approvals.count, 1);
    }
    free(message);
}

static void test_what_is_asked_is_forgotten_when_the_stream_is_another(void **state) {
    struct world *world = *state;
    for (uint64_t sequence = 2; sequence <= 10; sequence++) {
        assert_unknown(world, sequence);
    }
    stream_approvals_forget(&world->hub.approvals);
    assert_int_equal(review_asks_pending(), 0);
    assert_true(world->hub.approvals.retry.is_armed); /* so that those who wait look again */
    assert_unknown(world, 2);
    assert_int_equal(review_asks_pending(), 1);
}

/* ---- by chance ---- */

enum { NOTICE_EVERY = 5 };

static void open_some_reader(struct world *world) {
    struct jetstream *server = &world->server;
    struct reader *reader = &world->readers[dice(server, READERS_MAX)];
    if (reader->is_used && reader->is_ready && dice(server, 2) == 0) {
        reopen_reader(reader, &world->hub);
    } else if (!reader->is_used) {
        stream_query_init(&reader->query);
        reader->query.is_reviewed = dice(server, 4) != 0;
        reader->query.since = dice(server, 2) == 0 ? STREAM_SINCE_ALL : STREAM_SINCE_NOW;
        open_reader(reader, server, &world->hub);
    }
}

static void step(struct world *world) {
    struct jetstream *server = &world->server;
    struct ordered_consumer *feed = &server->feeds[dice(server, 16)];
    struct reader *reader = &world->readers[dice(server, READERS_MAX)];
    switch (dice(server, 16)) {
    case 0:
        publish(server, 1 + dice(server, 6));
        break;
    case 1:
        open_some_reader(world);
        break;
    case 2:
        if (server->first <= server->last && dice(server, 6) == 0) {
            const unsigned span = (unsigned)(server->last - server->first + 1);
            remove_message(server, server->first + dice(server, span));
        }
        break;
    case 3:
        if (server->ask_count > 0) {
            answer_ask(server);
        }
        break;
    case 4:
    case 5:
    case 6:
        if (review_asks_pending() > 0) {
            answer_review(server, dice(server, 5) != 0);
        }
        break;
    case 7:
        retry_reviews(world);
        world->pool.ticker.fire(&world->pool.ticker);
        break;
    case 8:
    case 9:
    case 10:
        read_some(reader, 1 + dice(server, 20));
        break;
    default:
        if (feed->is_used) {
            serve_feed(feed);
        }
    }
}

static void live_through(unsigned seed, size_t ring_count, size_t payload_size) {
    struct world *world = make_world(seed, ring_count, payload_size);
    world->server.notice_every = NOTICE_EVERY;
    for (size_t i = 0; i < 6000; i++) {
        step(world);
    }
    settle(world);
    publish(&world->server, 2 * NOTICE_EVERY);
    settle(world);
    for (size_t i = 0; i < READERS_MAX; i++) {
        const struct reader *reader = &world->readers[i];
        if (reader->is_used) {
            assert_true(reader->is_ready);
            assert_gone(reader, reader->at, world->server.last);
        }
    }
    free_world(world);
    assert_int_equal(review_asks_pending(), 0);
}

static void test_nobody_ever_loses_or_doubles_what_is_approved(void **state) {
    (void)state;
    for (unsigned seed = 1; seed <= test_rounds(10); seed++) {
        live_through(seed, 1 + seed % 9, 1);
        live_through(seed, 200, 1);
        live_through(seed, 6, 9000);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_an_announcement_is_believed_if_the_decision_says_the_same),
        TEST(test_the_event_is_that_of_the_message_with_the_decision),
        TEST(test_all_readers_share_one_question_and_few_are_asked_at_a_time),
        TEST(test_what_is_not_answered_is_asked_again_later),
        TEST(test_while_nats_is_away_nothing_is_asked_in_a_circle),
        TEST(test_what_is_kept_has_bounds),
        TEST(test_a_message_over_the_bounds_is_kept_alone),
        TEST(test_what_is_asked_is_forgotten_when_the_stream_is_another),
        cmocka_unit_test(test_nobody_ever_loses_or_doubles_what_is_approved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
