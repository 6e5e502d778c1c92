/* SPDX-License-Identifier: Apache-2.0 */

/* The views acks and inbox: of generated histories over several threads they list what a plain
 * reading makes of them, however small their pages are. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "index_fixture.h"

enum { BRENNER = 3, MESSAGES = 60, HISTORIES = 6, AGENTS = 4, TEXTS = 4, NONE = -1 };
enum { TEXT_MAX = 1 << 16, HOUR_MS = 60 * 60 * 1000, START_S = 1767225600 };

static const char *const agents[AGENTS + 1] = {NULL, "Ann", "Bob", "Cleo", "bob"};
static const char *const threads[] = {NULL, "RS-20260101-heat", "COORD-ice"};
static const char *const texts[TEXTS] = {"Heat", "Ice", "Heat and ice", "INFO: Heat"};
static const char *const statuses[] = {"Received", "Understood", "Will Action", "Completed"};

enum type { INFO, QUESTION, KICKOFF, ACK, TYPES };
static const char *const prefixes[] = {"INFO", "QUESTION", "KICKOFF", "ACK"};
static const char *const bodies[] = {"x", "# Q\\n\\n## Question\\nWhy?\\n\\n## Urgency\\nBlocking",
                                     "# K\\n\\n## Context\\nIt is."};

/* How an acknowledgement names its message. */
enum naming { BY_SUBJECT, BY_ID, BY_PLACE, BY_NOTHING, NAMINGS };

struct said {
    enum type type;
    int sender, thread, text, id; /* ids may come again */
    unsigned to;                  /* a set of agents */
    bool asks;
    enum naming naming;
    int named, status; /* of an acknowledgement */
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
    char named[64] = "nothing";
    if (said->type != ACK) {
        snprintf(out, 256, "%s", bodies[said->type]);
        return;
    }
    if (said->naming == BY_ID) {
        snprintf(named, sizeof named, "m%d", said->named);
    } else if (said->naming == BY_PLACE) {
        snprintf(named, sizeof named, "BRENNER:%d", said->named + 1);
    }
    snprintf(out, 256, "# A\\n\\n%s%s\\n\\n## Status\\n%s",
             said->naming != BY_SUBJECT ? "## Message ID\\n" : "",
             said->naming != BY_SUBJECT ? named : "", statuses[said->status]);
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
             "{\"subject\":\"%s: %s\",\"body_md\":\"%s\",\"from\":\"%s\",\"to\":[%s],\"id\":\"m%d\""
             "%s,\"ack_required\":%s}",
             prefixes[said->type], texts[said->text], body, agents[said->sender], to, said->id,
             thread, said->asks ? "true" : "false");
    index_fixture_store(NULL, NULL, text);
}

/* ---- asking ---- */

static struct index_question question_of(const char *view) {
    struct index_question question = index_fixture_question(view);
    question.now_ms = INT64_C(1000) * START_S;
    question.overdue_ms = -1;
    return question;
}

/* The text of the member, without quotes. */
static const char *value_after(const char *text, const char *member, char out[64]) {
    const char *at = strstr(text, member);
    assert_non_null(at);
    at += strlen(member);
    at += *at == '"';
    snprintf(out, 64, "%.*s", (int)strcspn(at, ",}\""), at);
    return out;
}

/* Of each item a line: its sequence, the recipient, and what the recipient has made of it. */
static void write_items(const char *text, bool has_recipients, char out[TEXT_MAX]) {
    for (const char *at = strstr(text, "{\"specversion\""); at != NULL;
         at = strstr(at + 1, "{\"specversion\"")) {
        char number[64], name[64] = "", status[64] = "", ack[64] = "-", answer[64];
        const char *acknowledged = strstr(at, "\"acknowledged\":");
        const size_t length = strlen(out);
        assert_non_null(acknowledged);
        if (has_recipients) {
            value_after(at, "\"recipient\":", name);
        }
        if (strncmp(acknowledged, "\"acknowledged\":{", 16) == 0) {
            value_after(acknowledged, "\"status\":", status);
            value_after(acknowledged, "\"message\":", ack);
        }
        snprintf(out + length, TEXT_MAX - length, "%s %s %s%s %s\n",
                 value_after(at, "\"sequence\":", number), name, status, ack,
                 value_after(acknowledged, "\"answered\":", answer));
    }
}

static void write_unmatched(const char *text, char out[TEXT_MAX]) {
    const char *at = strstr(text, "\"unmatched\":[");
    assert_non_null(at);
    while ((at = strstr(at, "{\"message\":")) != NULL) {
        char place[64];
        const size_t length = strlen(out);
        snprintf(out + length, TEXT_MAX - length, "%s\n", value_after(at, "\"message\":", place));
        at++;
    }
}

/* All pages. */
static void ask(struct index_question question, char items[TEXT_MAX], char unmatched[TEXT_MAX]) {
    struct parley_buffer out;
    char cursor[64] = "";
    const bool is_inbox = question.values[INDEX_AGENT] != NULL;
    items[0] = unmatched[0] = '\0';
    parley_buffer_init(&out);
    do {
        char before[64];
        snprintf(before, sizeof before, "%s", cursor);
        question.values[INDEX_CURSOR] = cursor[0] != '\0' ? before : NULL;
        index_fixture_ask(&question, NULL, &out);
        write_items(out.data, !is_inbox, items);
        if (!is_inbox) {
            write_unmatched(out.data, unmatched);
        }
        value_after(out.data, "\"next\":", cursor);
        assert_string_not_equal(cursor, before);
    } while (strcmp(cursor, "null") != 0);
    parley_buffer_finish(&out);
}

/* ---- the model ---- */

static bool is_near(const struct said *said, int one, int other) {
    return said[one].thread != 0 && said[one].thread == said[other].thread;
}

static int by_id(const struct said *said, int ack) {
    int found = NONE;
    for (int i = 0; i < ack; i++) {
        const bool is_named = said[ack].naming == BY_ID      ? said[i].id == said[ack].named
                              : said[ack].naming == BY_PLACE ? i == said[ack].named
                                                             : false;
        if (is_named && (found == NONE || is_near(said, ack, i) || !is_near(said, ack, found))) {
            found = i;
        }
    }
    return found;
}

/* What a subject is about; with a prefix in its text that stays. */
static bool is_about(const struct said *said, int message, int ack) {
    char subject[64];
    snprintf(subject, sizeof subject, "%s: %s", prefixes[said[message].type],
             texts[said[message].text]);
    return strcmp(texts[said[message].text], texts[said[ack].text]) == 0 ||
           strcmp(subject, texts[said[ack].text]) == 0;
}

static int meant(const struct said *said, int ack) {
    int found = by_id(said, ack);
    for (int i = ack - 1; i >= 0 && found == NONE; i--) {
        if (is_near(said, ack, i) && said[i].type != ACK && said[i].sender != said[ack].sender &&
            is_about(said, i, ack)) {
            found = i;
        }
    }
    return found;
}

/* Who must acknowledge: a set; bit 0: anyone. */
static unsigned recipients_of(const struct said *said, int number) {
    const unsigned self = 1U << said[number].sender;
    unsigned writers = 0;
    for (int i = 0; i < number; i++) {
        writers |= is_near(said, number, i) ? 1U << said[i].sender : 0;
    }
    writers &= ~self;
    return said[number].to != 0                           ? said[number].to & ~self
           : said[number].type == KICKOFF || writers == 0 ? 1
                                                          : writers;
}

static void write_one(const struct said *said, int number, int who, bool has_recipient,
                      char out[TEXT_MAX]) {
    int ack = NONE, answer = NONE;
    char acknowledged[64] = "-", answered[64] = "null";
    const size_t length = strlen(out);
    for (int i = number + 1; i < MESSAGES; i++) {
        const bool is_by = who != 0 ? said[i].sender == who : said[i].sender != said[number].sender;
        if (is_by && said[i].type == ACK && meant(said, i) == number &&
            (ack == NONE || said[i].status > said[ack].status)) {
            ack = i;
        }
        if (who != 0 && is_by && said[i].type != ACK && is_near(said, number, i) &&
            answer == NONE) {
            answer = i;
        }
    }
    if (ack != NONE) {
        snprintf(acknowledged, sizeof acknowledged, "%sBRENNER:%d", statuses[said[ack].status],
                 ack + 1);
    }
    if (answer != NONE) {
        snprintf(answered, sizeof answered, "BRENNER:%d", answer + 1);
    }
    snprintf(out + length, TEXT_MAX - length, "%d %s %s %s\n", number + 1,
             !has_recipient ? ""
             : who != 0     ? agents[who]
                            : "null",
             acknowledged, answered);
}

static bool is_asking(const struct said *said) {
    return said->asks && said->type != ACK;
}

/* The recipients whom a message names in the order of their names, else of their first messages. */
static void write_recipients(const struct said *said, int number, char out[TEXT_MAX]) {
    unsigned left = recipients_of(said, number);
    if ((left & 1) != 0 || said[number].to != 0) {
        for (int who = 0; who <= AGENTS; who++) { /* agents are sorted */
            if ((left >> who & 1) != 0) {
                write_one(said, number, who, true, out);
            }
        }
        return;
    }
    for (int i = 0; i < number; i++) {
        if (is_near(said, number, i) && (left >> said[i].sender & 1) != 0) {
            left &= ~(1U << said[i].sender);
            write_one(said, number, said[i].sender, true, out);
        }
    }
}

static void write_acks(const struct said *said, int thread, char items[TEXT_MAX],
                       char unmatched[TEXT_MAX]) {
    items[0] = unmatched[0] = '\0';
    for (int i = 0; i < MESSAGES; i++) {
        const size_t length = strlen(unmatched);
        if (thread != 0 && said[i].thread != thread) {
            continue;
        }
        if (is_asking(&said[i])) {
            write_recipients(said, i, items);
        } else if (said[i].type == ACK && meant(said, i) == NONE) {
            snprintf(unmatched + length, TEXT_MAX - length, "BRENNER:%d\n", i + 1);
        }
    }
}

static void write_inbox(const struct said *said, int agent, char out[TEXT_MAX]) {
    out[0] = '\0';
    for (int i = 0; i < MESSAGES; i++) {
        const unsigned recipients = recipients_of(said, i);
        const bool is_asked = is_asking(&said[i]) && said[i].sender != agent;
        const bool is_named = said[i].to != 0 && (recipients >> agent & 1) != 0;
        const bool is_meant =
            said[i].to == 0 && ((recipients & 1) | (recipients >> agent & 1)) != 0;
        if (is_named || (is_asked && is_meant)) {
            write_one(said, i, agent, false, out);
        }
    }
}

/* ---- both ---- */

static void make_history(struct said said[MESSAGES]) {
    for (int i = 0; i < MESSAGES; i++) {
        said[i] = (struct said){
            .type = (enum type)index_fixture_chance(TYPES),
            .sender = 1 + index_fixture_chance(AGENTS),
            .thread = index_fixture_chance(5) == 0 ? 0 : 1 + index_fixture_chance(2),
            .text = index_fixture_chance(TEXTS),
            .id = index_fixture_chance(3) == 0 ? index_fixture_chance(10) : i,
            .to = index_fixture_chance(2) == 0 ? 0 : (unsigned)index_fixture_chance(16) << 1,
            .asks = index_fixture_chance(3) != 0,
            .naming = (enum naming)index_fixture_chance(NAMINGS),
            .named = index_fixture_chance(i + 3),
            .status = index_fixture_chance(4)};
    }
}

static void equal(const char *wanted, const char *found, const char *what) {
    if (strcmp(wanted, found) != 0) {
        fail_msg("%s: wanted\n%s\nfound\n%s", what, wanted, found);
    }
}

static void compare(const struct said *said) {
    static char wanted[TEXT_MAX], lost[TEXT_MAX], found[TEXT_MAX], unmatched[TEXT_MAX];
    static const size_t limits[] = {1, 3, INDEX_LIMIT_MAX};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct index_question question = question_of("acks");
        question.limit = limits[i];
        for (int thread = 0; thread <= 2; thread++) {
            question.values[INDEX_THREAD] = threads[thread];
            write_acks(said, thread, wanted, lost);
            ask(question, found, unmatched);
            equal(wanted, found, "acks");
            equal(lost, unmatched, "unmatched");
        }
        question = question_of("inbox");
        question.limit = limits[i];
        for (int agent = 1; agent <= AGENTS; agent++) {
            question.values[INDEX_AGENT] = agents[agent];
            write_inbox(said, agent, wanted);
            ask(question, found, unmatched);
            equal(wanted, found, agents[agent]);
        }
    }
}

static void test_lists_are_what_a_plain_reading_makes_of_histories(void **state) {
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
        compare(said);
    }
}

static size_t count_lines(const char *text) {
    size_t count = 0;
    for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        count++;
    }
    return count;
}

/* Ann asks Bob and Cleo, of whom Cleo acknowledges; and anyone, who does not. */
static void store_three(void) {
    const struct said said[] = {
        {.type = QUESTION, .sender = 1, .thread = 1, .to = 12, .asks = true},
        {.type = ACK, .sender = 3, .thread = 1, .naming = BY_PLACE, .named = 0},
        {.type = KICKOFF, .sender = 1, .thread = 1, .text = 1, .asks = true},
        {.type = ACK, .sender = 3, .thread = 1, .text = 2, .naming = BY_NOTHING},
    };
    for (int i = 0; i < 4; i++) {
        store_message(&said[i]);
    }
    index_fixture_commit();
}

static void test_parameters_choose_and_a_bound_agent_sees_its_own(void **state) {
    static const struct {
        const char *own, *agent;
        enum index_choice open, unacked;
        int64_t overdue_ms, now_ms; /* after the first message */
        size_t items, unmatched;
    } cases[] = {
        {NULL, NULL, INDEX_ANY, INDEX_ANY, -1, 0, 3, 1},
        {NULL, NULL, INDEX_ONLY, INDEX_ANY, -1, 0, 2, 1},
        {NULL, NULL, INDEX_NOT, INDEX_ANY, -1, 0, 1, 1},
        {NULL, NULL, INDEX_ANY, INDEX_ANY, 4 * HOUR_MS, 4 * HOUR_MS, 0, 1},
        {NULL, NULL, INDEX_ANY, INDEX_ANY, 4 * HOUR_MS, 4 * HOUR_MS + 2000, 2, 1},
        {"Ann", NULL, INDEX_ANY, INDEX_ANY, -1, 0, 3, 0},
        {"Bob", NULL, INDEX_ANY, INDEX_ANY, -1, 0, 2, 0},
        {"Cleo", NULL, INDEX_ONLY, INDEX_ANY, -1, 0, 1, 1},
        {NULL, "Bob", INDEX_ANY, INDEX_ANY, -1, 0, 2, 0},
        {NULL, "Cleo", INDEX_ANY, INDEX_ONLY, -1, 0, 1, 0},
        {NULL, "Cleo", INDEX_ANY, INDEX_NOT, -1, 0, 1, 0},
        {NULL, "Ann", INDEX_ANY, INDEX_ANY, -1, 0, 0, 0},
    };
    static char items[TEXT_MAX], unmatched[TEXT_MAX];
    (void)state;
    store_three();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct index_question question = question_of(cases[i].agent != NULL ? "inbox" : "acks");
        question.own = cases[i].own;
        question.values[INDEX_AGENT] = cases[i].agent;
        question.open = cases[i].open;
        question.unacked = cases[i].unacked;
        question.overdue_ms = cases[i].overdue_ms;
        question.now_ms += cases[i].now_ms;
        ask(question, items, unmatched);
        if (count_lines(items) != cases[i].items || count_lines(unmatched) != cases[i].unmatched) {
            fail_msg("%zu: %s%s", i, items, unmatched);
        }
    }
}

static void test_an_item_says_whether_it_is_urgent_and_overdue(void **state) {
    struct parley_buffer out;
    struct index_question question = question_of("inbox");
    (void)state;
    store_three();
    question.values[INDEX_AGENT] = "Bob";
    question.now_ms += 5 * HOUR_MS;
    parley_buffer_init(&out);
    index_fixture_ask(&question, NULL, &out);
    assert_non_null(strstr(out.data, "\"acknowledged\":null,\"answered\":null,\"urgent\":true,"
                                     "\"overdue\":true}"));
    assert_non_null(strstr(out.data, "\"acknowledged\":null,\"answered\":null,\"urgent\":false,"
                                     "\"overdue\":true}"));
    parley_buffer_finish(&out);
}

static void test_a_cursor_of_another_list_is_refused(void **state) {
    static const char *const cursors[] = {"x", "x/", "99/", "1/x", "/1:2:NOPE", "-1/"};
    struct parley_buffer out;
    (void)state;
    store_three();
    parley_buffer_init(&out);
    for (size_t i = 0; i < sizeof cursors / sizeof cursors[0]; i++) {
        struct index_question question = question_of("acks");
        question.values[INDEX_CURSOR] = cursors[i];
        if (index_fixture_answer(&question, NULL, &out) != INDEX_BAD_CURSOR) {
            fail_msg("%s", cursors[i]);
        }
    }
    parley_buffer_finish(&out);
}

/* The file has its digest. */
static void test_a_name_of_more_than_256_bytes_is_asked_for_as_it_is(void **state) {
    static const struct {
        const char *view;
        enum index_option option;
    } rows[] = {{"inbox", INDEX_AGENT}, {"messages", INDEX_RECEIVER}, {"messages", INDEX_SENDER}};
    char name[301] = "", text[1024];
    struct parley_buffer out;
    (void)state;
    memset(name, 'A', sizeof name - 1);
    snprintf(text, sizeof text,
             "{\"subject\":\"INFO: Heat\",\"body_md\":\"x\",\"from\":\"%s\",\"to\":[\"Ann\"]}",
             name);
    index_fixture_store(NULL, NULL, text);
    snprintf(text, sizeof text,
             "{\"subject\":\"INFO: Heat\",\"body_md\":\"x\",\"from\":\"Ann\",\"to\":[\"%s\"]}",
             name);
    index_fixture_store(NULL, NULL, text);
    index_fixture_commit();
    parley_buffer_init(&out);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct index_question question = question_of(rows[i].view);
        question.values[rows[i].option] = name;
        index_fixture_ask(&question, NULL, &out);
        if (index_fixture_count(out.data, "\"specversion\"") != 1) {
            fail_msg("%zu: %s", i, out.data);
        }
    }
    parley_buffer_finish(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lists_are_what_a_plain_reading_makes_of_histories,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parameters_choose_and_a_bound_agent_sees_its_own,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_item_says_whether_it_is_urgent_and_overdue, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_name_of_more_than_256_bytes_is_asked_for_as_it_is,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_cursor_of_another_list_is_refused, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
