/* SPDX-License-Identifier: Apache-2.0 */

/* The view items: of generated histories over several threads and beads it lists what a plain
 * reading makes of them, however small its pages are. How an acknowledgement finds its message is
 * shown by test_index_acks: here each names a place. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <parley/index.h>

#include "index_fixture.h"

enum { BRENNER = 3, MESSAGES = 60, HISTORIES = 12, AGENTS = 4, NONE = -1, TEXT_MAX = 1 << 16 };
enum { THREADS = 4, BEADS = 3, IN_A_SECOND = 3 /* of the fixture */ };

static const char *const agents[AGENTS + 1] = {NULL, "Ann", "Bob", "Cleo", "bob"};
static const char *const threads[THREADS] = {NULL, "RS-20260101-heat", "COORD-ice", "ice-1"};
static const char *const beads[BEADS + 1] = {NULL, "ice-1", "Ice-1", "write the paper"};

/* The first five in the order of the protocol's kinds. */
enum type { CLAIM, HANDOFF, BLOCKED, QUESTION, CRITIQUE, INFO, ACK, TYPES };
static const char *const prefixes[] = {"CLAIM",    "HANDOFF", "BLOCKED", "QUESTION",
                                       "CRITIQUE", "INFO",    "ACK"};
static const char *const kinds[] = {"claim", "handoff", "blocked", "question", "critique"};

struct said {
    enum type type;
    int sender, thread, bead, who; /* who takes the bead */
    unsigned to;                   /* a set of agents */
    int named;                     /* of an acknowledgement */
};

static int set_up(void **state) {
    (void)state;
    return index_fixture_open(BRENNER);
}

static int tear_down(void **state) {
    (void)state;
    return index_fixture_close();
}

/* ---- messages ---- */

static void write_body(const struct said *said, char out[256]) {
    const char *item = beads[said->bead], *who = agents[said->who];
    switch (said->type) {
    case CLAIM:
        snprintf(out, 256, "# C\\n\\n## Item\\n%s\\n\\n## Agent\\n%s", item, who);
        return;
    case HANDOFF:
        snprintf(out, 256, "# H\\n\\n## Item\\n%s\\n\\n## From\\nNed\\n\\n## To\\n%s", item, who);
        return;
    case BLOCKED:
        snprintf(out, 256, "# B\\n\\n## Item\\n%s\\n\\n## Blocker\\nIce", item);
        return;
    case QUESTION:
        snprintf(out, 256, "# Q\\n\\n## Question\\nWhy?");
        return;
    case CRITIQUE:
        snprintf(out, 256, "# C\\n\\n## Target\\nA2\\n\\n## Attack\\nNo");
        return;
    case ACK:
        snprintf(out, 256, "# A\\n\\n## Message ID\\nBRENNER:%d\\n\\n## Status\\n%s",
                 said->named + 1, said->bead == 1 ? "Completed" : "Received");
        return;
    default:
        snprintf(out, 256, "x");
    }
}

static void store_message(const struct said *said) {
    char text[1024], body[256], to[128] = "", thread[64] = "";
    for (int i = 1; i <= AGENTS; i++) {
        if ((said->to >> i & 1) != 0) {
            const size_t length = strlen(to);
            snprintf(to + length, sizeof to - length, "%s\"%s\"", length > 0 ? "," : "", agents[i]);
        }
    }
    if (said->thread != 0) {
        snprintf(thread, sizeof thread, ",\"thread_id\":\"%s\"", threads[said->thread]);
    }
    write_body(said, body);
    snprintf(text, sizeof text,
             "{\"subject\":\"%s: about %s\",\"body_md\":\"%s\",\"from\":\"%s\",\"to\":[%s]%s}",
             prefixes[said->type], prefixes[said->type], body, agents[said->sender], to, thread);
    index_fixture_store(NULL, NULL, text);
}

/* ---- asking ---- */

/* The text of the member, without quotes; "-": the item ends before it. */
static const char *value_in(const char *item, size_t length, const char *member, char out[64]) {
    const char *at = strstr(item, member);
    if (at == NULL || (size_t)(at - item) > length) {
        return memcpy(out, "-", 2);
    }
    at += strlen(member);
    at += *at == '"';
    snprintf(out, 64, "%.*s", (int)strcspn(at, ",}\""), at);
    return out;
}

static void write_answer(const char *text, char out[TEXT_MAX]) {
    static const char begin[] = "{\"specversion\"";
    const char *next;
    for (const char *at = strstr(text, begin); at != NULL; at = next) {
        char number[64], kind[64], bead[64], holder[64], recipient[64], state[64], since[64];
        next = strstr(at + 1, begin);
        const size_t length = next != NULL ? (size_t)(next - at) : strlen(at);
        const char *added = strstr(at, ",\"kind\":\"");
        const size_t rest = length - (size_t)(added - at), end = strlen(out);
        assert_non_null(added);
        snprintf(out + end, TEXT_MAX - end, "%s %s %s %s %s %s %s\n",
                 value_in(at, length, "\"sequence\":", number),
                 value_in(added, rest, "\"kind\":", kind), value_in(added, rest, "\"bead\":", bead),
                 value_in(added, rest, "\"holder\":", holder),
                 value_in(added, rest, "\"recipient\":", recipient),
                 value_in(added, rest, "\"state\":", state),
                 value_in(added, rest, "\"since\":\"2026-01-01T00:00:", since));
    }
}

/* All pages. */
static void ask(struct index_question question, char items[TEXT_MAX]) {
    struct parley_buffer out;
    char cursor[64] = "", before[64];
    items[0] = '\0';
    parley_buffer_init(&out);
    do {
        memcpy(before, cursor, sizeof before);
        question.values[INDEX_CURSOR] = cursor[0] != '\0' ? before : NULL;
        index_fixture_ask(&question, NULL, &out);
        write_answer(out.data, items);
        const char *next = strstr(out.data, "\"next\":");
        assert_non_null(next);
        value_in(next, strlen(next), "\"next\":", cursor);
        assert_string_not_equal(cursor, before);
    } while (strcmp(cursor, "null") != 0);
    parley_buffer_finish(&out);
}

/* ---- the model ---- */

/* What is asked for. */
struct wanted {
    unsigned kinds; /* 0: all */
    int bead, thread;
    bool has_all;
};

static bool is_near(const struct said *said, int one, int other) {
    return said[one].thread != 0 && said[one].thread == said[other].thread;
}

/* The bead that a message is about: its own, or that of its thread. 0: none. */
static int bead_of(const struct said *said) {
    return said->type <= BLOCKED ? said->bead : said->thread == 3 ? 1 : 0;
}

/* The first acknowledgement of a message by an agent; 0: by any but its sender. */
static int first_ack(const struct said *said, int number, int who) {
    for (int i = number + 1; i < MESSAGES; i++) {
        if (said[i].type == ACK && said[i].named == number &&
            (who != 0 ? said[i].sender == who : said[i].sender != said[number].sender)) {
            return i;
        }
    }
    return NONE;
}

/* From when on the message gives its bead to who takes it. */
static int begin_of_turn(const struct said *said, int number) {
    return said[number].type == CLAIM     ? number
           : said[number].type == HANDOFF ? first_ack(said, number, said[number].who)
                                          : NONE;
}

/* The first turn of the bead that begins after `after`, or with `is_last` the last one. */
static int find_turn(const struct said *said, int bead, int after, bool is_last) {
    int found = NONE;
    for (int i = 0; i < MESSAGES; i++) {
        const int begin = begin_of_turn(said, i);
        const int best = found != NONE ? begin_of_turn(said, found) : NONE;
        if (bead_of(&said[i]) == bead && begin > after &&
            (found == NONE || (is_last ? begin > best : begin < best))) {
            found = i;
        }
    }
    return found;
}

static void write_one(const struct said *said, int number, const char *recipient, const char *state,
                      int since, const struct wanted *wanted, char out[TEXT_MAX]) {
    const int bead = bead_of(&said[number]);
    const int last = bead != 0 ? find_turn(said, bead, NONE, true) : NONE;
    const size_t end = strlen(out);
    if (wanted->has_all || strcmp(state, "held") == 0 || strcmp(state, "waiting") == 0) {
        snprintf(out + end, TEXT_MAX - end, "%d %s %s %s %s %s %02d.000Z\n", number + 1,
                 kinds[said[number].type], bead != 0 ? beads[bead] : "null",
                 last != NONE ? agents[said[last].who] : "null", recipient, state,
                 (since + 1) / IN_A_SECOND);
    }
}

static void write_turn(const struct said *said, int number, const struct wanted *wanted,
                       char out[TEXT_MAX]) {
    const char *recipient = said[number].type == HANDOFF ? agents[said[number].who] : "-";
    const int begin = begin_of_turn(said, number);
    const int next = begin != NONE ? find_turn(said, bead_of(&said[number]), begin, false) : NONE;
    if (begin == NONE) {
        write_one(said, number, recipient, "waiting", number, wanted, out);
    } else if (next == NONE) {
        write_one(said, number, recipient, "held", begin, wanted, out);
    } else {
        write_one(said, number, recipient, "ended", begin_of_turn(said, next), wanted, out);
    }
}

/* Of one who is asked; 0: anyone. */
static void write_wait(const struct said *said, int number, int who, const struct wanted *wanted,
                       char out[TEXT_MAX]) {
    const int ack = first_ack(said, number, who);
    const char *recipient = who != 0 ? agents[who] : "null";
    int answer = NONE;
    for (int i = MESSAGES - 1; i > number; i--) {
        answer =
            said[i].sender == who && said[i].type != ACK && is_near(said, number, i) ? i : answer;
    }
    if (ack != NONE && (answer == NONE || ack < answer)) {
        write_one(said, number, recipient, "acknowledged", ack, wanted, out);
    } else if (answer != NONE) {
        write_one(said, number, recipient, "answered", answer, wanted, out);
    } else {
        write_one(said, number, recipient, "waiting", number, wanted, out);
    }
}

/* Those whom it names, by name; else those who wrote before, by their first messages; else anyone.
 */
static void write_waits(const struct said *said, int number, const struct wanted *wanted,
                        char out[TEXT_MAX]) {
    unsigned done = 1U << said[number].sender;
    const unsigned self = done;
    for (int who = 1; who <= AGENTS && said[number].to != 0; who++) { /* agents are sorted */
        if ((said[number].to & ~self) >> who & 1) {
            write_wait(said, number, who, wanted, out);
        }
    }
    for (int i = 0; i < number && said[number].to == 0; i++) {
        if (is_near(said, number, i) && (done >> said[i].sender & 1) == 0) {
            done |= 1U << said[i].sender;
            write_wait(said, number, said[i].sender, wanted, out);
        }
    }
    if (said[number].to == 0 && done == self) {
        write_wait(said, number, 0, wanted, out);
    }
}

static void write_model(const struct said *said, const struct wanted *wanted, char out[TEXT_MAX]) {
    out[0] = '\0';
    for (int i = 0; i < MESSAGES; i++) {
        const bool is_wanted = (wanted->bead == 0 || bead_of(&said[i]) == wanted->bead) &&
                               (wanted->thread == 0 || said[i].thread == wanted->thread) &&
                               (wanted->kinds == 0 || (wanted->kinds >> said[i].type & 1) != 0);
        if (is_wanted && said[i].type <= HANDOFF) {
            write_turn(said, i, wanted, out);
        } else if (is_wanted && said[i].type <= CRITIQUE) {
            write_waits(said, i, wanted, out);
        }
    }
}

/* ---- both ---- */

static int first_of(unsigned set) {
    int agent = 1;
    while ((set >> agent & 1) == 0) {
        agent++;
    }
    return agent;
}

static void make_history(struct said said[MESSAGES]) {
    for (int i = 0; i < MESSAGES; i++) {
        said[i] = (struct said){
            .type = (enum type)index_fixture_chance(TYPES),
            .sender = 1 + index_fixture_chance(AGENTS),
            .thread = index_fixture_chance(THREADS),
            .bead = 1 + index_fixture_chance(BEADS),
            .who = 1 + index_fixture_chance(AGENTS),
            .to = index_fixture_chance(2) == 0 ? 0 : (unsigned)index_fixture_chance(16) << 1,
            .named = index_fixture_chance(i + 3)};
        /* Else handoffs are rarely confirmed, and others rarely acknowledged by whom they ask. */
        const int named = said[i].named;
        if (said[i].type == ACK && named < i && said[named].type == HANDOFF) {
            said[i].sender = said[named].who;
        } else if (said[i].type == ACK && named < i && said[named].to != 0) {
            said[i].sender = first_of(said[named].to);
        }
    }
}

static void compare(const struct said *said, const struct wanted *wanted, size_t states[5]) {
    static const char *const names[] = {" held ", " waiting ", " ended ", " acknowledged ",
                                        " answered "};
    static const size_t limits[] = {1, 3, INDEX_LIMIT_MAX};
    static char model[TEXT_MAX], found[TEXT_MAX];
    struct index_question question = index_fixture_question("items");
    question.kinds = wanted->kinds;
    question.has_all = wanted->has_all;
    question.values[INDEX_BEAD] = beads[wanted->bead];
    question.values[INDEX_THREAD] = threads[wanted->thread];
    write_model(said, wanted, model);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        question.limit = limits[i];
        ask(question, found);
        if (strcmp(model, found) != 0) {
            fail_msg("kinds %u, bead %d, thread %d, all %d: wanted\n%s\nfound\n%s", wanted->kinds,
                     wanted->bead, wanted->thread, wanted->has_all, model, found);
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        states[i] += index_fixture_count(found, names[i]);
    }
}

static void test_items_are_what_a_plain_reading_makes_of_histories(void **state) {
    static const unsigned sets[] = {0, 1U << CLAIM | 1U << HANDOFF, 1U << QUESTION, 1U << BLOCKED};
    size_t states[5] = {0};
    for (int i = 0; i < HISTORIES; i++) {
        struct said said[MESSAGES];
        if (i > 0) {
            assert_int_equal(tear_down(state) + set_up(state), 0);
        }
        index_fixture_seed((unsigned)i);
        make_history(said);
        for (int j = 0; j < MESSAGES; j++) {
            store_message(&said[j]);
        }
        index_fixture_commit();
        for (int j = 0; j < (BEADS + 1) * THREADS; j++) {
            const struct wanted wanted = {.kinds = sets[(i + j) % 4],
                                          .bead = j % (BEADS + 1),
                                          .thread = j / (BEADS + 1),
                                          .has_all = (i + j / (BEADS + 1)) % 3 != 0};
            compare(said, &wanted, states);
        }
    }
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        assert_true(states[i] > HISTORIES); /* each state has come, and often */
    }
}

/* A page reads 1000 beads, and the next one begins after them. */
static void test_a_page_ends_before_it_has_read_too_many_beads(void **state) {
    enum { CLAIMS = 1200 };
    struct index_question question = index_fixture_question("items");
    struct parley_buffer out;
    char text[256], cursor[64];
    (void)state;
    for (int i = 0; i < CLAIMS; i++) {
        snprintf(text, sizeof text,
                 "{\"subject\":\"CLAIM: x\",\"body_md\":\"# C\\n\\n## Item\\nbead-%d\\n\\n"
                 "## Agent\\nAnn\",\"from\":\"Ann\"}",
                 i % (CLAIMS - 1)); /* the last one is of the first bead */
        index_fixture_store(NULL, NULL, text);
    }
    index_fixture_commit();
    parley_buffer_init(&out);
    index_fixture_ask(&question, NULL, &out);
    assert_int_equal(index_fixture_count(out.data, "\"state\":\"held\""), 999);
    value_in(out.data, out.length, "\"next\":", cursor);
    question.values[INDEX_CURSOR] = cursor;
    index_fixture_ask(&question, NULL, &out);
    assert_int_equal(index_fixture_count(out.data, "\"state\":\"held\""), 200);
    assert_non_null(strstr(out.data, "\"next\":null"));
    parley_buffer_finish(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_items_are_what_a_plain_reading_makes_of_histories,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_page_ends_before_it_has_read_too_many_beads, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
