/* SPDX-License-Identifier: Apache-2.0 */

/* Who must acknowledge the messages of a thread: rows of cases, and generated threads of which a
 * plain reading, message by message, makes the same. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "index_duty.h"

enum { MESSAGES = 80, THREADS = 300, SENDERS = 4, SUBJECTS = 5, NONE = -1 };

static const char *const senders[SENDERS + 1] = {"", "Ann", "Bob", "Cleo", "Annabel"};
static const char *const subjects[SUBJECTS] = {"Heat", "Heat again", "INFO: Heat", "heat", ""};
static const char *const topics[SUBJECTS] = {"Heat", "Heat again", "Heat", "heat", ""};

enum kind { SAYS, ACKS, REMINDS }; /* reminders are the gateway's, which takes no part */

struct said {
    int sender, subject, status;
    enum kind kind;
    int of; /* the number of a message that the acknowledgement names by id; NONE */
};

static int64_t pos_of(int number) {
    return 1000 + number;
}

static struct index_cursor place_of(int number) {
    return (struct index_cursor){.stored = number / 3, .pos = pos_of(number)};
}

static void make_thread(const struct said *said, int count, struct duty_thread *out) {
    *out = (struct duty_thread){.count = 0};
    for (int i = 0; i < count; i++) {
        const struct duty_message message = {.at = place_of(i),
                                             .part = said[i].kind == REMINDS ? PARLEY_INDEX_REMINDS
                                                     : said[i].kind == ACKS
                                                         ? PARLEY_INDEX_ACKNOWLEDGES
                                                         : PARLEY_INDEX_ASKS,
                                             .sender = parley_bytes_of(senders[said[i].sender]),
                                             .subject = parley_bytes_of(subjects[said[i].subject]),
                                             .topic = parley_bytes_of(topics[said[i].subject])};
        const struct duty_ack ack = {.at = message.at,
                                     .sender = message.sender,
                                     .topic = message.topic,
                                     .status = (size_t)said[i].status,
                                     .of = said[i].of != NONE ? pos_of(said[i].of) : 0};
        assert_int_equal(duty_add_message(out, &message), PARLEY_OK);
        if (said[i].kind == ACKS) {
            assert_int_equal(duty_add_ack(out, &ack), PARLEY_OK);
        }
    }
    assert_int_equal(duty_settle(out), PARLEY_OK);
}

/* ---- rows ---- */

static const struct {
    const char *name;
    struct said said[4];
    int count;
    int recipient; /* of message 0; 0: anyone */
    int acknowledged, answered;
} rows[] = {
    {"it is acknowledged by its id", {{1, 1, 0, SAYS, NONE}, {2, 4, 1, ACKS, 0}}, 2, 2, 1, NONE},
    {"it is acknowledged by its subject",
     {{1, 1, 0, SAYS, NONE}, {2, 1, 1, ACKS, NONE}},
     2,
     2,
     1,
     NONE},
    {"a subject may be without its prefix",
     {{1, 2, 0, SAYS, NONE}, {2, 0, 1, ACKS, NONE}},
     2,
     2,
     1,
     NONE},
    {"a subject in other letters is another",
     {{1, 3, 0, SAYS, NONE}, {2, 0, 1, ACKS, NONE}},
     2,
     2,
     NONE,
     NONE},
    {"of several with the subject it is the newest",
     {{1, 0, 0, SAYS, NONE}, {1, 0, 0, SAYS, NONE}, {2, 0, 1, ACKS, NONE}},
     3,
     2,
     NONE,
     NONE},
    {"nobody acknowledges a message of their own by its subject",
     {{1, 0, 0, SAYS, NONE}, {2, 0, 0, SAYS, NONE}, {2, 0, 1, ACKS, NONE}},
     3,
     2,
     2,
     1},
    {"an acknowledgement is not what another is about",
     {{1, 0, 0, SAYS, NONE}, {3, 0, 1, ACKS, NONE}, {2, 0, 1, ACKS, NONE}},
     3,
     2,
     2,
     NONE},
    {"the highest status counts",
     {{1, 0, 0, SAYS, NONE}, {2, 4, 3, ACKS, 0}, {2, 4, 1, ACKS, 0}, {2, 4, 3, ACKS, 0}},
     4,
     2,
     1,
     NONE},
    {"an acknowledgement is no answer, and an answer no acknowledgement",
     {{1, 0, 0, SAYS, NONE}, {2, 4, 1, ACKS, 0}, {2, 1, 0, SAYS, NONE}},
     3,
     2,
     1,
     2},
    {"another's acknowledgement does not count",
     {{1, 0, 0, SAYS, NONE}, {3, 4, 1, ACKS, 0}},
     2,
     2,
     NONE,
     NONE},
    {"anyone's counts but the sender's",
     {{1, 0, 0, SAYS, NONE}, {1, 4, 4, ACKS, 0}, {3, 4, 1, ACKS, 0}},
     3,
     0,
     2,
     NONE},
    {"a reminder is no answer, and an acknowledgement is not of its subject",
     {{1, 0, 0, SAYS, NONE}, {2, 0, 0, REMINDS, NONE}, {3, 0, 1, ACKS, NONE}},
     3,
     2,
     NONE,
     NONE},
    {"an acknowledgement behind a reminder is of the message",
     {{1, 0, 0, SAYS, NONE}, {3, 0, 0, REMINDS, NONE}, {2, 0, 1, ACKS, NONE}},
     3,
     2,
     2,
     NONE},
    {"a name that begins like another is another",
     {{2, 0, 0, SAYS, NONE}, {4, 4, 1, ACKS, 0}},
     2,
     1,
     NONE,
     NONE},
};

static int number_of(const struct index_cursor *at) {
    return (int)(at->pos - pos_of(0));
}

static void test_each_case_is_judged_so(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct duty_thread thread;
        const struct parley_bytes recipient = rows[i].recipient != 0
                                                  ? parley_bytes_of(senders[rows[i].recipient])
                                                  : (struct parley_bytes){0};
        make_thread(rows[i].said, rows[i].count, &thread);
        const struct duty_ack *ack = duty_acknowledged(&thread, 0, recipient);
        const struct duty_message *answer = duty_answered(&thread, 0, recipient);
        if ((ack != NULL ? number_of(&ack->at) : NONE) != rows[i].acknowledged ||
            (answer != NULL ? number_of(&answer->at) : NONE) != rows[i].answered) {
            fail_msg("%s", rows[i].name);
        }
        duty_finish(&thread);
    }
}

static void test_an_id_means_the_newest_before_in_its_thread_else_in_any(void **state) {
    static const struct {
        int bearers[3]; /* numbers; negative: of another thread */
        int chosen;     /* index; NONE */
    } cases[] = {{{-1, -3, -2}, 1}, {{1, -4, 3}, 2}, {{9, -2, 8}, 1}, {{9, -9, 5}, NONE}};
    const struct index_cursor ack = place_of(5);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct duty_bearer bearers[3];
        for (size_t j = 0; j < 3; j++) {
            bearers[j] = (struct duty_bearer){.at = place_of(abs(cases[i].bearers[j])),
                                              .is_near = cases[i].bearers[j] > 0};
        }
        const size_t chosen = duty_choose(&ack, bearers, 3);
        assert_int_equal(chosen == SIZE_MAX ? NONE : (int)chosen, cases[i].chosen);
    }
}

static void test_long_subjects_are_compared_as_far_as_they_are_kept(void **state) {
    char text[300];
    struct duty_thread thread = {.count = 0};
    (void)state;
    memset(text, 'x', sizeof text);
    const struct duty_message asked = {.at = place_of(0),
                                       .part = PARLEY_INDEX_ASKS,
                                       .sender = PARLEY_BYTES("Ann"),
                                       .subject = {text, 256},
                                       .topic = {text, 256}};
    const struct duty_message said = {
        .at = place_of(1), .part = PARLEY_INDEX_ACKNOWLEDGES, .sender = PARLEY_BYTES("Bob")};
    const struct duty_ack ack = {
        .at = said.at, .sender = said.sender, .topic = {text, 251}, .status = 1};
    assert_int_equal(duty_add_message(&thread, &asked), PARLEY_OK);
    assert_int_equal(duty_add_message(&thread, &said), PARLEY_OK);
    assert_int_equal(duty_add_ack(&thread, &ack), PARLEY_OK);
    assert_int_equal(duty_settle(&thread), PARLEY_OK);
    assert_non_null(duty_acknowledged(&thread, 0, PARLEY_BYTES("Bob")));
    assert_int_equal(thread.messages[1].of, asked.at.pos);
    duty_finish(&thread);
}

/* ---- the model ---- */

static bool is_about(const struct said *said, int message, int ack) {
    const char *topic = topics[said[ack].subject];
    return topic[0] != '\0' && (strcmp(subjects[said[message].subject], topic) == 0 ||
                                strcmp(topics[said[message].subject], topic) == 0);
}

static int meant(const struct said *said, int ack) {
    int found = said[ack].of;
    for (int i = ack - 1; i >= 0 && found == NONE; i--) {
        if (said[i].kind == SAYS && said[i].sender != said[ack].sender && is_about(said, i, ack)) {
            found = i;
        }
    }
    return found;
}

static int model_acknowledged(const struct said *said, int message, int recipient, bool is_first) {
    int best = NONE;
    for (int i = 0; i < MESSAGES; i++) {
        const bool is_by =
            recipient != 0 ? said[i].sender == recipient : said[i].sender != said[message].sender;
        if (said[i].kind == ACKS && is_by && meant(said, i) == message &&
            (best == NONE || (!is_first && said[i].status > said[best].status))) {
            best = i;
        }
    }
    return best;
}

static int model_answered(const struct said *said, int message, int recipient) {
    int i = message + 1;
    while (i < MESSAGES && (said[i].kind != SAYS || said[i].sender != recipient)) {
        i++;
    }
    return i < MESSAGES && recipient != 0 ? i : NONE;
}

static size_t model_writers(const struct said *said, int message, const char *out[SENDERS]) {
    size_t count = 0;
    for (int i = 0; i < message; i++) {
        bool is_there = said[i].sender == said[message].sender || said[i].sender == 0 ||
                        said[i].kind == REMINDS;
        for (size_t j = 0; j < count; j++) {
            is_there = is_there || out[j] == senders[said[i].sender];
        }
        if (!is_there) {
            out[count++] = senders[said[i].sender];
        }
    }
    return count;
}

static unsigned seed;

static int chance(int count) {
    seed = seed * 1103515245U + 12345U;
    return (int)(seed >> 16) % count;
}

static void compare(const struct said *said, const struct duty_thread *thread, size_t found[2]) {
    for (int i = 0; i < MESSAGES; i++) {
        struct parley_bytes writers[DUTY_NAMES_MAX];
        const char *wanted[SENDERS + 1];
        bool has_more;
        const struct index_cursor at = place_of(i);
        assert_int_equal(duty_number(thread, &at), i);
        const size_t count = duty_writers(thread, (size_t)i, writers, &has_more);
        assert_int_equal(count, model_writers(said, i, wanted));
        for (size_t j = 0; j < count; j++) {
            assert_true(parley_bytes_equal(writers[j], parley_bytes_of(wanted[j])));
        }
        for (int who = 0; who <= SENDERS; who++) {
            const struct parley_bytes name =
                who != 0 ? parley_bytes_of(senders[who]) : (struct parley_bytes){0};
            const struct duty_ack *ack = duty_acknowledged(thread, (size_t)i, name);
            const struct duty_message *answer = duty_answered(thread, (size_t)i, name);
            assert_int_equal(ack != NULL ? number_of(&ack->at) : NONE,
                             model_acknowledged(said, i, who, false));
            const struct duty_ack *first = duty_first_ack(thread, (size_t)i, name);
            assert_int_equal(first != NULL ? number_of(&first->at) : NONE,
                             model_acknowledged(said, i, who, true));
            assert_int_equal(answer != NULL ? number_of(&answer->at) : NONE,
                             model_answered(said, i, who));
            found[0] += ack != NULL;
            found[1] += answer != NULL;
        }
    }
}

static void test_threads_are_what_a_plain_reading_makes_of_them(void **state) {
    size_t found[2] = {0};
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        struct said said[MESSAGES];
        struct duty_thread thread;
        seed = (unsigned)i;
        for (int j = 0; j < MESSAGES; j++) {
            said[j] = (struct said){.sender = chance(SENDERS + 1),
                                    .subject = chance(SUBJECTS),
                                    .status = chance(5),
                                    .kind = (enum kind[]){SAYS, ACKS, ACKS, REMINDS}[chance(4)],
                                    .of = NONE};
            said[j].of = said[j].kind == ACKS && j > 0 && chance(2) == 0 ? chance(j) : NONE;
        }
        make_thread(said, MESSAGES, &thread);
        compare(said, &thread, found);
        duty_finish(&thread);
    }
    assert_true(found[0] > THREADS && found[1] > THREADS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_case_is_judged_so),
        cmocka_unit_test(test_an_id_means_the_newest_before_in_its_thread_else_in_any),
        cmocka_unit_test(test_long_subjects_are_compared_as_far_as_they_are_kept),
        cmocka_unit_test(test_threads_are_what_a_plain_reading_makes_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
