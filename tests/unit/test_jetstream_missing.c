/* SPDX-License-Identifier: Apache-2.0 */

/* When JetStream is believed that a stream has no such message: of a stream with several copies
 * only if its leader has all that is known to be stored. The bus, the clock and JetStream are
 * fakes. */

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jetstream_api.h"
#include "jetstream_reach.h"

#define INFO "$JS.API.STREAM.INFO.S"
#define GET "$JS.API.STREAM.MSG.GET.S"
#define NONE "{\"error\":{\"code\":404,\"err_code\":10037,\"description\":\"no message found\"}}"
#define NO_LEADER                                                                                  \
    "{\"error\":{\"code\":503,\"err_code\":10008,\"description\":\"JetStream system temporarily "  \
    "unavailable\"}}"
#define HAS(SEQUENCE) "{\"config\":{\"num_replicas\":3},\"state\":{\"last_seq\":" #SEQUENCE "}}"
#define FOUND(SEQUENCE)                                                                            \
    "{\"message\":{\"subject\":\"s.a\",\"seq\":" #SEQUENCE ",\"data\":\"YQ==\"}}"

enum { REACHED = 20, STEPS_MAX = 5, LOOPS_MAX = 100 };

/* ---- the bus and the clock ---- */

static int64_t now_ms;
static struct {
    bus_receive_fn *receive;
    void *context;
    bool is_open;
} box;
static struct reactor_timer *armed;
static char asked[JETSTREAM_SUBJECT_MAX], body[256];

enum parley_status bus_mailbox_open(struct bus *bus, bus_receive_fn *receive, void *context,
                                    struct bus_mailbox *out) {
    (void)bus;
    assert_false(box.is_open);
    box.receive = receive;
    box.context = context;
    box.is_open = true;
    *out = (struct bus_mailbox){0};
    return PARLEY_OK;
}

void bus_mailbox_close(struct bus *bus, struct bus_mailbox mailbox) {
    (void)bus;
    (void)mailbox;
    box.is_open = false;
}

void bus_mailbox_address(const struct bus *bus, struct bus_mailbox mailbox,
                         char address[BUS_SUBJECT_MAX]) {
    (void)bus;
    (void)mailbox;
    snprintf(address, BUS_SUBJECT_MAX, "inbox");
}

enum bus_send bus_publish(struct bus *bus, const char *subject, const char *reply,
                          struct parley_bytes payload) {
    (void)bus;
    assert_string_equal(reply, "inbox");
    snprintf(asked, sizeof asked, "%s", subject);
    snprintf(body, sizeof body, "%.*s", (int)payload.length, payload.data);
    return BUS_SENT;
}

unsigned bus_message_status(const struct bus_message *message) {
    (void)message;
    return 0;
}

const char *bus_message_header(const struct bus_message *message, const char *name) {
    (void)message;
    (void)name;
    return NULL;
}

int64_t reactor_now_ms(const struct reactor *reactor) {
    (void)reactor;
    return now_ms;
}

void reactor_timer_set(struct reactor *reactor, struct reactor_timer *timer, int64_t delay_ms) {
    (void)reactor;
    timer->due_ms = now_ms + delay_ms;
    armed = timer;
}

void reactor_timer_clear(struct reactor *reactor, struct reactor_timer *timer) {
    (void)reactor;
    armed = armed == timer ? NULL : armed;
}

/* ---- JetStream ---- */

static struct jetstream_check check;
static struct jetstream jetstream;
static int found; /* of a jetstream_held; -1: it was not told so far */
static char error[64];

static void begin(unsigned copies) {
    jetstream = (struct jetstream){.setup = {.checks = &check, .check_count = 1}};
    check = (struct jetstream_check){
        .jetstream = &jetstream, .place = {.stream = "S"}, .copies = copies, .reached = REACHED};
    now_ms = 1000;
    found = -1;
    error[0] = '\0';
}

static void on_held(void *context, const struct jetstream_held *held) {
    (void)context;
    assert_int_equal(found, -1);
    found = (int)held->found;
    snprintf(error, sizeof error, "%s", held->error != NULL ? held->error : "");
}

static void ask(uint64_t sequence) {
    asked[0] = '\0';
    found = -1;
    assert_non_null(sequence > 0
                        ? jetstream_held_ask(&jetstream, "S", sequence, on_held, NULL)
                        : jetstream_next_held_ask(&jetstream, "S", "s.a", 3, on_held, NULL));
}

static void answer(const char *text) {
    const struct bus_message message = {.payload = parley_bytes_of(text)};
    assert_true(box.is_open);
    asked[0] = '\0';
    box.receive(box.context, &message);
}

static void wait_for_timer(void) {
    struct reactor_timer *due = armed;
    assert_non_null(due);
    asked[0] = '\0';
    armed = NULL;
    now_ms = due->due_ms;
    due->fire(due);
}

/* What is asked, and the answer; NULL: none comes in time. */
struct step {
    const char *asked, *answer;
};

/* The last step is repeated for as long as the same is asked. Between two questions about the
 * stream time passes. */
static void play(const struct step steps[STEPS_MAX]) {
    size_t at = 0;
    for (int i = 0; found < 0 && i < LOOPS_MAX; i++) {
        if (asked[0] == '\0') {
            wait_for_timer();
        }
        const bool is_next = steps[at].asked != NULL && strcmp(asked, steps[at].asked) == 0;
        at -= is_next ? 0 : 1;
        assert_string_equal(asked, steps[at].asked);
        if (steps[at].answer != NULL) {
            answer(steps[at].answer);
        } else {
            wait_for_timer();
        }
        at += at + 1 < STEPS_MAX && steps[at + 1].asked != NULL ? 1 : 0;
    }
    assert_false(box.is_open);
    assert_null(armed);
}

/* ---- questions ---- */

static const struct row {
    const char *title;
    unsigned copies;
    uint64_t sequence; /* that is asked for; 0: for one on a subject */
    struct step steps[STEPS_MAX];
    int found;
    const char *error;
    int64_t least_ms, most_ms;
} rows[] = {
    {"one that is there", 3, 0, {{GET, FOUND(7)}}, JETSTREAM_HELD_FOUND, "", 0, 0},
    {"a stream of one copy", 1, 0, {{GET, NONE}}, JETSTREAM_HELD_GONE, "", 0, 0},
    {"a stream whose copies are not known", 0, 0, {{GET, NONE}}, JETSTREAM_HELD_GONE, "", 0, 0},
    {"a leader that has all that is known",
     3,
     0,
     {{GET, NONE}, {INFO, HAS(20)}, {GET, NONE}},
     JETSTREAM_HELD_GONE,
     "",
     0,
     0},
    {"another one leads by then",
     3,
     0,
     {{GET, NONE}, {INFO, HAS(20)}, {GET, FOUND(7)}},
     JETSTREAM_HELD_FOUND,
     "",
     0,
     0},
    {"a leader that catches up",
     3,
     0,
     {{GET, NONE}, {INFO, HAS(19)}, {INFO, HAS(21)}, {GET, FOUND(7)}},
     JETSTREAM_HELD_FOUND,
     "",
     100,
     100},
    {"a leader that does not catch up",
     3,
     0,
     {{GET, NONE}, {INFO, HAS(19)}},
     JETSTREAM_HELD_UNKNOWN,
     "the new leader of its stream has not caught up so far",
     2000,
     2100},
    {"a leader is elected",
     3,
     0,
     {{GET, NONE}, {INFO, NO_LEADER}, {INFO, HAS(20)}, {GET, NONE}},
     JETSTREAM_HELD_GONE,
     "",
     100,
     100},
    {"no answer about the stream",
     3,
     0,
     {{GET, NONE}, {INFO, NULL}},
     JETSTREAM_HELD_UNKNOWN,
     "",
     2000,
     5000},
    {"no answer to the second question",
     3,
     0,
     {{GET, NONE}, {INFO, HAS(20)}, {GET, NULL}},
     JETSTREAM_HELD_UNKNOWN,
     "",
     2000,
     5000},
    {"a sequence that the leader has passed",
     3,
     18,
     {{GET, NONE}, {INFO, HAS(19)}, {GET, NONE}},
     JETSTREAM_HELD_GONE,
     "",
     0,
     0},
    {"a sequence that the leader has not reached",
     3,
     25,
     {{GET, NONE}, {INFO, HAS(24)}, {INFO, HAS(25)}, {GET, FOUND(25)}},
     JETSTREAM_HELD_FOUND,
     "",
     100,
     100},
    {"a sequence that was never stored",
     3,
     25,
     {{GET, NONE}, {INFO, HAS(20)}, {GET, NONE}},
     JETSTREAM_HELD_GONE,
     "",
     2000,
     2100},
};

static void test_a_missing_message_is_believed_of_who_knows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        print_message("%s\n", row->title);
        begin(row->copies);
        ask(row->sequence);
        play(row->steps);
        assert_int_equal(found, row->found);
        assert_string_equal(error, row->error);
        assert_true(now_ms - 1000 >= row->least_ms && now_ms - 1000 <= row->most_ms);
    }
}

static void test_the_same_question_is_asked_again(void **state) {
    char first[sizeof body];
    (void)state;
    begin(3);
    ask(0);
    snprintf(first, sizeof first, "%s", body);
    assert_string_equal(first, "{\"seq\":3,\"next_by_subj\":\"s.a\"}");
    answer(NONE);
    assert_string_equal(body, "");
    answer(HAS(20));
    assert_string_equal(body, first);
    answer(NONE);
    assert_int_equal(found, JETSTREAM_HELD_GONE);
}

static void test_what_was_read_is_known(void **state) {
    static const struct step read[STEPS_MAX] = {{GET, FOUND(30)}};
    static const struct step behind[STEPS_MAX] = {{GET, NONE}, {INFO, HAS(29)}};
    (void)state;
    begin(3);
    ask(0);
    play(read);
    ask(0);
    play(behind);
    assert_int_equal(found, JETSTREAM_HELD_UNKNOWN);
}

static void test_it_may_be_cancelled_at_each_step(void **state) {
    static const char *const answers[] = {NONE, HAS(19)};
    (void)state;
    for (size_t count = 0; count <= 2; count++) {
        begin(3);
        struct jetstream_request *request = jetstream_held_ask(&jetstream, "S", 20, on_held, NULL);
        for (size_t i = 0; i < count; i++) {
            answer(answers[i]);
        }
        jetstream_request_cancel(request);
        assert_int_equal(found, -1);
        assert_null(armed);
        assert_false(box.is_open);
    }
}

/* ---- an operator moves subjects to other streams ---- */

static void on_message(void *context, const struct jetstream_last *last) {
    (void)context;
    (void)last;
}

static void test_a_direct_request_is_asked_again_of_its_own_stream(void **state) {
    (void)state;
    begin(1);
    check.direct = JETSTREAM_DIRECT_ON;
    struct jetstream_request *request = jetstream_message_ask(&jetstream, "S", 7, on_message, NULL);
    assert_string_equal(asked, "$JS.API.DIRECT.GET.S");
    strcpy(check.place.stream, "T");
    wait_for_timer();
    assert_string_equal(asked, GET);
    assert_string_equal(body, "{\"seq\":7}");
    jetstream_request_cancel(request);
}

/* ---- who describes a stream ---- */

static bool is_led;

static void on_info(void *context, const struct jetstream_stream_info *info) {
    (void)context;
    assert_true(info->is_known);
    is_led = info->is_led;
}

static void test_a_stream_may_be_described_by_one_that_does_not_lead_it(void **state) {
#define DESCRIBED(CLUSTER) "{\"created\":\"x\",\"config\":{},\"state\":{\"last_seq\":7}" CLUSTER "}"
    static const struct {
        const char *answer;
        bool is_led;
    } described[] = {
        {DESCRIBED(""), true},
        {DESCRIBED(",\"cluster\":{\"leader\":\"n1\"}"), true},
        {DESCRIBED(",\"cluster\":{\"leader\":\"\"}"), false},
        {DESCRIBED(",\"cluster\":{\"name\":\"c\",\"replicas\":[]}"), false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof described / sizeof described[0]; i++) {
        begin(3);
        assert_non_null(jetstream_stream_ask(&jetstream, "S", on_info, NULL));
        answer(described[i].answer);
        assert_int_equal(is_led, described[i].is_led);
    }
}

/* ---- how far it goes ---- */

static void look(int64_t at_ms, uint64_t last_sequence, uint64_t wanted) {
    uint64_t reached;
    now_ms = at_ms;
    jetstream_reach_look(&check, last_sequence);
    assert_true(jetstream_reach_of(&jetstream, "S", &reached));
    assert_int_equal(reached, wanted);
}

static void test_less_is_believed_after_half_a_minute(void **state) {
    (void)state;
    begin(3);
    look(1000, 19, 20);
    look(30999, 19, 20);
    look(31000, 19, 19);
    look(31001, 40, 40);
    look(32000, 39, 40);
    look(33000, 40, 40);
    look(63000, 39, 40);
    look(92999, 39, 40);
    look(93000, 39, 39);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_missing_message_is_believed_of_who_knows),
        cmocka_unit_test(test_the_same_question_is_asked_again),
        cmocka_unit_test(test_what_was_read_is_known),
        cmocka_unit_test(test_it_may_be_cancelled_at_each_step),
        cmocka_unit_test(test_a_direct_request_is_asked_again_of_its_own_stream),
        cmocka_unit_test(test_a_stream_may_be_described_by_one_that_does_not_lead_it),
        cmocka_unit_test(test_less_is_believed_after_half_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
