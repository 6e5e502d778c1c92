/* SPDX-License-Identifier: Apache-2.0 */

/* In which pieces messages of a bucket are removed. JetStream is a fake that answers when told to.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "object_remover.h"

struct jetstream_request {
    jetstream_done_fn *done;
    void *context;
};

static char asked[1024];
static struct jetstream_request *pending;
static bool is_away;

struct jetstream_request *jetstream_purge_ask(struct jetstream *jetstream, const char *stream,
                                              const struct jetstream_removal *what,
                                              jetstream_done_fn *done, void *context) {
    (void)jetstream;
    const size_t length = strlen(asked);
    assert_string_equal(stream, "OBJ_b");
    assert_null(pending);
    snprintf(asked + length, sizeof asked - length, "%s%c%u ", what->subject,
             what->before > 0 ? '<' : '>', (unsigned)(what->before + what->keep));
    pending = is_away ? NULL : malloc(sizeof *pending);
    if (pending != NULL) {
        *pending = (struct jetstream_request){done, context};
    }
    return pending;
}

void jetstream_request_cancel(struct jetstream_request *request) {
    assert_ptr_equal(request, pending);
    free(request);
    pending = NULL;
}

static void answer(bool is_done) {
    const struct jetstream_request request = *pending;
    free(pending);
    pending = NULL;
    request.done(request.context, is_done);
}

static void answer_all(void) {
    while (pending != NULL) {
        answer(true);
    }
}

/* What is asked again is asked when the timer fires. */
static void let_time_pass(struct object_remover *remover) {
    assert_true(remover->again.is_armed);
    reactor_timer_clear(remover->reactor, &remover->again);
    remover->again.fire(&remover->again);
}

static void begin(struct object_remover *remover, struct reactor **reactor) {
    assert_int_equal(reactor_create(reactor), PARLEY_OK);
    asked[0] = '\0';
    is_away = false;
    object_remover_init(remover, *reactor, NULL, "OBJ_b");
}

static void end(struct object_remover *remover, struct reactor *reactor) {
    object_remover_finish(remover);
    assert_null(pending);
    reactor_destroy(reactor);
}

static void test_what_is_much_is_removed_in_pieces(void **state) {
    static const struct {
        uint64_t count;
        const char *asked;
    } cases[] = {
        {0, "s>0 "},       {1, "s>0 "},           {16, "s>0 "},           {17, "s>1 s>0 "},
        {32, "s>16 s>0 "}, {40, "s>24 s>8 s>0 "}, {48, "s>32 s>16 s>0 "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct object_remover remover;
        struct reactor *reactor;
        begin(&remover, &reactor);
        object_remover_add(&remover, "s", cases[i].count);
        answer_all();
        assert_string_equal(asked, cases[i].asked);
        end(&remover, reactor);
    }
}

static void test_one_is_removed_after_the_other(void **state) {
    struct object_remover remover;
    struct reactor *reactor;
    (void)state;
    begin(&remover, &reactor);
    object_remover_add(&remover, "a", 20);
    object_remover_add(&remover, "b", 1);
    assert_string_equal(asked, "a>4 ");
    answer_all();
    object_remover_add(&remover, "c", 1);
    assert_string_equal(asked, "a>4 a>0 b>0 c>0 ");
    end(&remover, reactor);
}

static void test_what_comes_after_a_sequence_may_stay(void **state) {
    struct object_remover remover;
    struct reactor *reactor;
    (void)state;
    begin(&remover, &reactor);
    object_remover_add_up_to(&remover, "a", 1);
    object_remover_add(&remover, "b", 20);
    object_remover_add_up_to(&remover, "c", 40);
    answer_all();
    assert_string_equal(asked, "a<2 b>4 b>0 c<41 ");
    end(&remover, reactor);
}

static void test_a_piece_without_an_answer_is_asked_for_again(void **state) {
    struct object_remover remover;
    struct reactor *reactor;
    (void)state;
    begin(&remover, &reactor);
    object_remover_add(&remover, "a", 20);
    answer(false);
    object_remover_add(&remover, "b", 1);
    let_time_pass(&remover);
    is_away = true;
    answer(true);
    is_away = false;
    let_time_pass(&remover);
    answer_all();
    assert_string_equal(asked, "a>4 a>4 a>0 a>0 b>0 ");
    end(&remover, reactor);
}

/* A meta may say anything. */
static void test_a_count_that_cannot_be_has_an_end(void **state) {
    struct object_remover remover;
    struct reactor *reactor;
    (void)state;
    begin(&remover, &reactor);
    object_remover_add(&remover, "a", UINT64_MAX);
    assert_string_equal(asked, "a>65520 ");
    end(&remover, reactor);
}

static void test_no_more_wait_than_there_is_room_for(void **state) {
    struct object_remover remover;
    struct reactor *reactor;
    (void)state;
    begin(&remover, &reactor);
    for (unsigned i = 0; i < 2000; i++) {
        object_remover_add(&remover, "a", 1);
    }
    assert_int_equal(remover.count, 1024);
    end(&remover, reactor);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_much_is_removed_in_pieces),
        cmocka_unit_test(test_one_is_removed_after_the_other),
        cmocka_unit_test(test_what_comes_after_a_sequence_may_stay),
        cmocka_unit_test(test_a_piece_without_an_answer_is_asked_for_again),
        cmocka_unit_test(test_a_count_that_cannot_be_has_an_end),
        cmocka_unit_test(test_no_more_wait_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
