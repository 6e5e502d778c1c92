/* SPDX-License-Identifier: Apache-2.0 */

/* Inboxes that are followed have what the view inbox has, whatever comes and goes meanwhile. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index_fixture.h"
#include "inbox_table.h"

enum { BRENNER = 3, AGENTS = 3, READERS = 9, MESSAGES = 120, HISTORIES = 8, PLACES_MAX = 16384 };
#define WALL_MS (INT64_C(1000) * 1767225600) /* of the first message */
#define HOUR_MS INT64_C(3600000)

static const char *const agents[AGENTS] = {"Ann", "Bob", "Cleo"};
static const char *const threads[] = {"", ",\"thread_id\":\"COORD-ice\"",
                                      ",\"thread_id\":\"COORD-heat\""};
static const char *const statuses[] = {"Received", "Understood", "Will Action", "Completed"};

/* A client: the items that it was told of, by their sequences. */
struct reader {
    struct inbox_list *list;
    struct follow_options options;
    struct inbox_watching watching;
    struct change_cursor cursor;
    char *texts[PLACES_MAX];
    bool *shown; /* by slot */
};

static struct {
    struct inbox_table *table;
    struct change_log *log;
    struct index_inbox asked;
    struct reader readers[READERS];
    int64_t now_ms, wall_ms;
    size_t page, questions;
    enum index_answered fault; /* of the next question; INDEX_ANSWERED: none */
} its;

static int set_up(void **state) {
    (void)state;
    memset(&its, 0, sizeof its);
    its.wall_ms = WALL_MS + HOUR_MS;
    its.now_ms = 1000000;
    its.page = INBOX_ITEMS_MAX;
    if (index_fixture_open(BRENNER) != 0 || inbox_table_create(BRENNER, &its.table) != PARLEY_OK) {
        return -1;
    }
    its.log = inbox_table_changes(its.table);
    return 0;
}

static void forget(struct reader *reader) {
    for (size_t i = 0; i < PLACES_MAX; i++) {
        free(reader->texts[i]);
        reader->texts[i] = NULL;
    }
    memset(reader->shown, 0, PLACES_MAX * sizeof *reader->shown);
}

static void leave(struct reader *reader) {
    if (reader->list != NULL) {
        change_cursor_leave(&reader->cursor);
        forget(reader);
        inbox_table_leave(reader->list, its.now_ms);
        free(reader->shown);
        reader->list = NULL;
    }
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < READERS; i++) {
        leave(&its.readers[i]);
    }
    inbox_table_destroy(its.table);
    return index_fixture_close();
}

/* ---- readers ---- */

static void enter(struct reader *reader, const char *agent, enum index_choice unacked) {
    const struct inbox_key key = {.agent = agent, .is_unacked = unacked == INDEX_ONLY};
    memset(reader, 0, sizeof *reader);
    reader->list = inbox_table_enter(its.table, &key);
    assert_non_null(reader->list);
    reader->watching.unacked = unacked;
    reader->shown = calloc(PLACES_MAX, sizeof *reader->shown);
    assert_non_null(reader->shown);
    inbox_list_follow(reader->list, &reader->options);
    assert_true(change_cursor_place(its.log, &reader->cursor, its.log->epoch, 0));
}

static size_t number_of(const char *place) {
    const char *colon = strrchr(place, ':');
    assert_non_null(colon);
    const size_t number = strtoull(colon + 1, NULL, 10);
    assert_true(number < PLACES_MAX);
    return number;
}

static void show(struct reader *reader, const struct change *change) {
    struct parley_buffer text;
    bool passes;
    char place[64];
    const struct parley_bytes id = reader->options.ops->id(reader->list, change);
    parley_buffer_init(&text);
    assert_int_equal(
        reader->options.ops->write(reader->list, &reader->watching, change, &text, &passes),
        PARLEY_OK);
    assert_true(!passes || reader->options.ops->may_pass(reader->list, NULL, change));
    if (passes || reader->shown[change->slot]) {
        snprintf(place, sizeof place, "%.*s", (int)id.length, id.data);
        const size_t number = number_of(place);
        free(reader->texts[number]);
        reader->texts[number] = passes ? parley_bytes_copy(parley_buffer_bytes(&text)) : NULL;
    }
    reader->shown[change->slot] = passes;
    parley_buffer_finish(&text);
}

static void read_changes(struct reader *reader) {
    const struct change *item;
    const struct change_gone *gone;
    if (!reader->options.ops->is_whole(reader->list)) {
        return;
    }
    for (;;) {
        switch (change_cursor_take(its.log, &reader->cursor, &item, &gone)) {
        case CHANGE_NONE:
            return;
        case CHANGE_ITEM:
            show(reader, item);
            break;
        case CHANGE_GONE:
            if (reader->shown[gone->slot]) {
                free(reader->texts[number_of(gone->id)]);
                reader->texts[number_of(gone->id)] = NULL;
                reader->shown[gone->slot] = false;
            }
            break;
        case CHANGE_LOST:
            forget(reader);
            assert_true(change_cursor_place(its.log, &reader->cursor, its.log->epoch, 0));
            break;
        }
    }
}

/* ---- questions ---- */

static enum inbox_wish step(void) {
    struct index_question question;
    struct parley_buffer text;
    parley_buffer_init(&text);
    const enum inbox_wish wish =
        inbox_table_next(its.table, its.now_ms, its.wall_ms, &its.asked, &question);
    if (wish != INBOX_RESTS && wish != INBOX_ENDS) {
        question.limit = wish == INBOX_PAGE ? its.page : question.limit;
        enum index_answered answered = its.fault;
        if (answered == INDEX_ANSWERED) {
            answered = index_fixture_answer(&question, NULL, &text);
        }
        its.fault = INDEX_ANSWERED;
        its.questions++;
        inbox_table_take(its.table, wish, answered, &its.asked, parley_buffer_bytes(&text),
                         its.now_ms);
    }
    parley_buffer_finish(&text);
    return wish;
}

/* Until nothing is to be asked any more. */
static void settle(void) {
    its.now_ms += INBOX_NEWS_MS;
    for (size_t i = 0; i < 2; i++) { /* what comes of the news, too */
        while (step() != INBOX_RESTS) {
        }
    }
}

/* Nothing is stored meanwhile. */
static void rest_for_long(void) {
    for (size_t i = 0; i < 5; i++) {
        settle();
    }
}

/* ---- what the view has ---- */

static void assert_has_view(struct reader *reader, const char *agent) {
    struct index_question question = index_fixture_question("inbox");
    struct parley_buffer out;
    size_t count = 0, wanted = 0;
    parley_buffer_init(&out);
    question.values[INDEX_AGENT] = agent;
    question.unacked = reader->watching.unacked;
    question.is_lines = true;
    question.now_ms = its.wall_ms;
    question.overdue_ms = -1;
    index_fixture_ask(&question, NULL, &out);
    char *rest = out.data;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && strncmp(line, "{\"next\"", 7) != 0;) {
        const char *sequence = strstr(line, "\"sequence\":\"");
        assert_non_null(sequence);
        const size_t number = strtoull(sequence + strlen("\"sequence\":\""), NULL, 10);
        if (reader->texts[number] == NULL || strcmp(reader->texts[number], line) != 0) {
            fail_msg("%s has %s instead of %s", agent, reader->texts[number], line);
        }
        wanted++;
    }
    for (size_t i = 0; i < PLACES_MAX; i++) {
        count += reader->texts[i] != NULL;
    }
    assert_int_equal(count, wanted);
    parley_buffer_finish(&out);
}

static const enum index_choice choices[] = {INDEX_ANY, INDEX_ONLY, INDEX_NOT};

static void enter_all(void) {
    for (size_t i = 0; i < READERS; i++) {
        enter(&its.readers[i], agents[i % AGENTS], choices[i / AGENTS]);
    }
}

static void assert_all_have_view(void) {
    for (size_t i = 0; i < READERS; i++) {
        read_changes(&its.readers[i]);
        assert_has_view(&its.readers[i], agents[i % AGENTS]);
    }
}

/* ---- messages ---- */

static void store(const char *head, const char *body, int sender, unsigned to, const char *rest) {
    char text[1024], names[64] = "";
    for (int i = 0; i < AGENTS; i++) {
        if ((to >> i & 1) != 0) {
            const size_t length = strlen(names);
            snprintf(names + length, sizeof names - length, "%s\"%s\"", length > 0 ? "," : "",
                     agents[i]);
        }
    }
    snprintf(text, sizeof text,
             "{\"subject\":\"%s\",\"body_md\":\"%s\",\"from\":\"%s\",\"to\":[%s]%s}", head, body,
             agents[sender], names, rest);
    index_fixture_store(NULL, NULL, text);
}

static void ask_for_ack(int sender, unsigned to, const char *rest) {
    char all[128];
    snprintf(all, sizeof all, "%s,\"ack_required\":true", rest);
    store("QUESTION: Heat", "# Q\\n\\n## Question\\nWhy?", sender, to, all);
}

static void acknowledge(int sender, uint64_t sequence, const char *status, const char *rest) {
    char body[128];
    snprintf(body, sizeof body, "# A\\n\\n## Message ID\\nBRENNER:%d\\n\\n## Status\\n%s",
             (int)sequence, status);
    store("ACK: x", body, sender, 1, rest);
}

static void store_any(void) {
    const int sender = index_fixture_chance(AGENTS), kind = index_fixture_chance(6);
    const unsigned to = (unsigned)index_fixture_chance(8);
    const char *thread = threads[index_fixture_chance(3)];
    const int last = (int)index_fixture_last();
    char rest[160];
    snprintf(rest, sizeof rest, "%s,\"id\":\"m%d\"", thread, index_fixture_chance(last + 1));
    if (kind < 2) {
        ask_for_ack(sender, to, rest);
    } else if (kind == 2) {
        store("INFO: Ice", "x", sender, to, rest);
    } else if (kind == 3) {
        store("KICKOFF: Heat", "# K\\n\\n## Context\\nIt is.", sender, to, rest);
    } else if (kind == 4 && last > 0) {
        acknowledge(sender, (uint64_t)(1 + index_fixture_chance(last)),
                    statuses[index_fixture_chance(4)], rest);
    } else {
        store("ACK: Heat", "# A\\n\\n## Status\\nReceived", sender, 1, rest);
    }
}

/* ---- tests ---- */

static void test_readers_have_the_view_after_any_history(void **state) {
    (void)state;
    for (unsigned seed = 1; seed <= HISTORIES; seed++) {
        if (seed > 1) {
            assert_int_equal(tear_down(NULL), 0);
            assert_int_equal(set_up(NULL), 0);
        }
        index_fixture_seed(seed);
        its.page = (size_t)(1 + index_fixture_chance(9));
        for (int i = index_fixture_chance(40); i > 0; i--) {
            store_any();
        }
        index_fixture_commit();
        enter_all();
        for (int i = 0; i < MESSAGES; i++) {
            store_any();
            if (index_fixture_chance(3) == 0) {
                index_fixture_commit();
            }
            if (index_fixture_chance(20) == 0) {
                its.fault = INDEX_BROKEN;
            }
            for (int steps = index_fixture_chance(4); steps > 0; steps--) {
                its.now_ms += INBOX_NEWS_MS / 2;
                (void)step();
            }
            read_changes(&its.readers[index_fixture_chance(READERS)]);
            if (index_fixture_chance(30) == 0) {
                its.wall_ms += HOUR_MS;
            }
        }
        index_fixture_commit();
        settle();
        assert_all_have_view();
    }
}

static void test_what_leaves_the_stream_leaves_the_inbox(void **state) {
    (void)state;
    enter_all();
    for (int i = 0; i < 30; i++) {
        store_any();
    }
    index_fixture_commit();
    settle();
    assert_all_have_view();
    index_fixture_prune(20);
    settle();
    for (size_t i = 0; i < READERS; i++) {
        read_changes(&its.readers[i]);
        for (size_t j = 0; j < 20; j++) {
            assert_null(its.readers[i].texts[j]);
        }
    }
    its.now_ms += INBOX_AGAIN_MS; /* for what is read from messages that are gone */
    settle();
    assert_all_have_view();
}

static void test_a_stream_that_was_created_again_is_read_again(void **state) {
    (void)state;
    enter_all();
    ask_for_ack(0, 2, threads[1]);
    index_fixture_commit();
    settle();
    assert_all_have_view();
    const uint64_t epoch = its.log->epoch;
    index_fixture_renew("later");
    for (int i = 0; i < 5; i++) {
        store("INFO: x", "x", 0, 6, threads[1]);
    }
    index_fixture_commit();
    settle();
    assert_true(its.log->epoch != epoch);
    assert_all_have_view();
}

static void test_an_item_becomes_overdue_by_the_clock_alone(void **state) {
    (void)state;
    enter(&its.readers[0], "Bob", INDEX_ONLY);
    ask_for_ack(0, 2, "");
    index_fixture_commit();
    settle();
    read_changes(&its.readers[0]);
    assert_non_null(strstr(its.readers[0].texts[1], "\"overdue\":false"));
    rest_for_long();
    its.wall_ms += 4 * HOUR_MS;
    settle();
    read_changes(&its.readers[0]);
    assert_non_null(strstr(its.readers[0].texts[1], "\"overdue\":true"));
}

static void test_an_inbox_is_read_again_after_ten_minutes_without_a_message(void **state) {
    (void)state;
    enter(&its.readers[0], "Bob", INDEX_ANY);
    settle();
    rest_for_long();
    its.questions = 0;
    its.now_ms += INBOX_AGAIN_MS;
    settle();
    assert_int_equal(its.questions, 2); /* for news, and for its one page */
}

/* The index has the digest of its name. */
static void test_an_agent_with_a_long_name_has_an_inbox(void **state) {
    char name[301] = "", text[700];
    (void)state;
    memset(name, 'A', sizeof name - 1);
    snprintf(text, sizeof text,
             "{\"subject\":\"QUESTION: Heat\",\"body_md\":\"# Q\\n\\n## Question\\nWhy?\","
             "\"from\":\"Ann\",\"to\":[\"%s\"],\"ack_required\":true}",
             name);
    index_fixture_store(NULL, NULL, text);
    index_fixture_commit();
    enter(&its.readers[0], name, INDEX_ANY);
    settle();
    index_fixture_store(NULL, NULL, text);
    index_fixture_commit();
    settle();
    read_changes(&its.readers[0]);
    for (size_t i = 1; i <= 2; i++) {
        assert_non_null(its.readers[0].texts[i]);
    }
    assert_has_view(&its.readers[0], name);
}

/* A question a second, whatever else is stored; and one for each message that concerns an inbox. */
static void test_what_concerns_no_inbox_asks_for_nothing(void **state) {
    (void)state;
    enter(&its.readers[0], "Bob", INDEX_ANY);
    settle();
    its.questions = 0;
    for (int i = 0; i < 50; i++) {
        store("INFO: x", "x", 0, 4, threads[1]);
    }
    index_fixture_commit();
    settle();
    assert_int_equal(its.questions, 1);
    assert_int_equal(step(), INBOX_RESTS);
    its.now_ms += INBOX_NEWS_MS;
    assert_int_equal(step(), INBOX_NEWS);
    assert_int_equal(step(), INBOX_RESTS);
}

static void test_an_inbox_is_kept_for_ten_seconds_after_its_last_reader(void **state) {
    (void)state;
    enter(&its.readers[0], "Bob", INDEX_ANY);
    enter(&its.readers[1], "Bob", INDEX_NOT);
    assert_ptr_equal(its.readers[0].list, its.readers[1].list);
    settle();
    struct inbox_list *list = its.readers[0].list;
    leave(&its.readers[0]);
    leave(&its.readers[1]);
    its.now_ms += INBOX_IDLE_MS - 1;
    (void)step();
    enter(&its.readers[0], "Bob", INDEX_ANY);
    assert_ptr_equal(its.readers[0].list, list);
    leave(&its.readers[0]);
    const uint64_t epoch = its.log->epoch;
    its.now_ms += INBOX_IDLE_MS;
    assert_int_equal(step(), INBOX_ENDS);
    assert_true(its.log->epoch != epoch);
}

/* The client of another inbox does not hear of it, and its token stays valid. That of a client of
 * the one that is given up does not: what left meanwhile would not be told. */
static void test_an_inbox_that_is_given_up_says_nothing_to_others(void **state) {
    (void)state;
    ask_for_ack(0, 6, threads[1]);
    index_fixture_commit();
    enter(&its.readers[0], "Bob", INDEX_ANY);
    enter(&its.readers[1], "Cleo", INDEX_ANY);
    settle();
    read_changes(&its.readers[0]);
    leave(&its.readers[1]);
    const uint64_t version = its.log->version, gone = its.log->gone_end;
    its.now_ms += INBOX_IDLE_MS;
    settle();
    assert_int_equal(its.log->version, version);
    assert_int_equal(its.log->gone_end, gone);
    enter(&its.readers[1], "Cleo", INDEX_ANY);
    assert_true(its.readers[1].options.born > version);
    settle();
    read_changes(&its.readers[0]);
    read_changes(&its.readers[1]);
    assert_has_view(&its.readers[0], "Bob");
    assert_has_view(&its.readers[1], "Cleo");
}

static void test_there_are_only_so_many_inboxes(void **state) {
    static struct inbox_list *lists[INBOX_AGENTS_MAX];
    char name[32];
    (void)state;
    for (size_t i = 0; i < INBOX_AGENTS_MAX; i++) {
        const struct inbox_key key = {.agent = name};
        snprintf(name, sizeof name, "agent%zu", i);
        lists[i] = inbox_table_enter(its.table, &key);
        assert_non_null(lists[i]);
    }
    assert_null(inbox_table_enter(its.table, &(struct inbox_key){.agent = "another"}));
    inbox_table_leave(lists[7], its.now_ms);
    settle();
    its.now_ms += INBOX_IDLE_MS;
    settle();
    lists[7] = inbox_table_enter(its.table, &(struct inbox_key){.agent = "another"});
    assert_non_null(lists[7]);
    for (size_t i = 0; i < INBOX_AGENTS_MAX; i++) {
        inbox_table_leave(lists[i], its.now_ms);
    }
}

static void test_one_sender_leaves_a_quarter_of_the_inboxes_to_others(void **state) {
    static struct inbox_list *lists[INBOX_AGENTS_MAX];
    const size_t share = REQUEST_SLOTS_OF_SENDER(INBOX_AGENTS_MAX);
    const struct limit_sender one = {.key = {.high = 1}}, other = {.key = {.high = 2}};
    char name[32];
    (void)state;
    for (size_t i = 0; i < share; i++) {
        snprintf(name, sizeof name, "agent%zu", i);
        lists[i] = inbox_table_enter(its.table, &(struct inbox_key){.agent = name, .sender = &one});
        assert_non_null(lists[i]);
    }
    const struct inbox_key known = {.agent = "agent0", .sender = &one};
    assert_null(inbox_table_enter(its.table, &(struct inbox_key){.agent = "x", .sender = &one}));
    assert_ptr_equal(inbox_table_enter(its.table, &known), lists[0]);
    inbox_table_leave(lists[0], its.now_ms);
    lists[share] =
        inbox_table_enter(its.table, &(struct inbox_key){.agent = "x", .sender = &other});
    lists[share + 1] = inbox_table_enter(its.table, &(struct inbox_key){.agent = "y"});
    for (size_t i = 0; i < share + 2; i++) {
        assert_non_null(lists[i]);
        inbox_table_leave(lists[i], its.now_ms);
    }
}

/* Its readers end, and others have room. */
static void test_an_inbox_that_is_too_large_says_so(void **state) {
    (void)state;
    for (int i = 0; i <= INBOX_LIST_ITEMS_MAX; i++) {
        store("INFO: x", "x", 0, i == 0 ? 6 : 2, "");
    }
    index_fixture_commit();
    enter(&its.readers[0], "Bob", INDEX_ANY);
    enter(&its.readers[1], "Bob", INDEX_ONLY);
    enter(&its.readers[2], "Cleo", INDEX_ANY);
    settle();
    const struct follow_trouble *trouble = its.readers[0].options.ops->trouble(its.readers[0].list);
    assert_non_null(trouble);
    assert_string_equal(trouble->reason, "too-large");
    assert_false(its.readers[0].options.ops->is_whole(its.readers[0].list));
    for (size_t i = 1; i < 3; i++) {
        assert_null(its.readers[i].options.ops->trouble(its.readers[i].list));
        read_changes(&its.readers[i]);
        assert_has_view(&its.readers[i], i == 1 ? "Bob" : "Cleo");
    }
    struct inbox_list *list = its.readers[0].list;
    leave(&its.readers[0]);
    enter(&its.readers[0], "Bob", INDEX_ANY);
    assert_ptr_not_equal(its.readers[0].list, list);
    settle();
}

int main(void) {
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_readers_have_the_view_after_any_history),
        TEST(test_what_leaves_the_stream_leaves_the_inbox),
        TEST(test_a_stream_that_was_created_again_is_read_again),
        TEST(test_an_item_becomes_overdue_by_the_clock_alone),
        TEST(test_an_inbox_is_read_again_after_ten_minutes_without_a_message),
        TEST(test_an_agent_with_a_long_name_has_an_inbox),
        TEST(test_what_concerns_no_inbox_asks_for_nothing),
        TEST(test_an_inbox_is_kept_for_ten_seconds_after_its_last_reader),
        TEST(test_an_inbox_that_is_given_up_says_nothing_to_others),
        TEST(test_there_are_only_so_many_inboxes),
        TEST(test_one_sender_leaves_a_quarter_of_the_inboxes_to_others),
        TEST(test_an_inbox_that_is_too_large_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
