/* SPDX-License-Identifier: Apache-2.0 */

/* How agents have changed their code: of generated histories the list is what a plain reading of
 * them, which knows neither tables nor indexes, makes of them, on pages of any size. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index_fixture.h"

enum { SUPERVISOR = 2, HISTORIES = 20, MESSAGES = 60, AGENTS = 3, TEXT_MAX = 1 << 16, MANY = 40 };

enum kind { INTENT, PROMOTED, REJECTED, RELOAD, CHECKPOINT, KINDS };

struct said {
    enum kind kind;
    int agent;
    int backup; /* of a reload: the number of a message, which may be no checkpoint; -1: none */
};

static int set_up(void **state) {
    (void)state;
    return index_fixture_open(SUPERVISOR);
}

static int tear_down(void **state) {
    (void)state;
    return index_fixture_close();
}

static void write_id(char out[64], int history, int number) {
    snprintf(out, 64, "550e8400-e29b-41d4-a716-%06d%06d", history, number);
}

/* As the reload with that number names its backup: half of them in upper case. */
static void write_backup_id(char out[64], int history, int number, int backup) {
    write_id(out, history, backup);
    for (size_t i = 0; number % 2 == 0 && out[i] != '\0'; i++) {
        out[i] = (char)toupper(out[i]);
    }
}

static void write_agent(char out[32], int history, int agent) {
    snprintf(out, 32, "h%02d-%d", history, agent);
}

/* ---- sending ---- */

static void store(int history, int number, const struct said *said) {
    char text[512], subject[128], id[64], backup[128] = "", agent[32], of[64];
    const char *side = said->kind == INTENT || said->kind == CHECKPOINT ? "gerbil" : "elixir";
    const char *type = said->kind == INTENT       ? "evolution_intent"
                       : said->kind == RELOAD     ? "hot_reload"
                       : said->kind == CHECKPOINT ? "checkpoint"
                                                  : "evolution_result";
    write_agent(agent, history, said->agent);
    write_id(id, history, number);
    write_backup_id(of, history, number, said->backup);
    if (said->backup >= 0) {
        snprintf(backup, sizeof backup, ",\"backup_checkpoint_id\":\"%s\"", of);
    }
    snprintf(subject, sizeof subject, "supervisor.%s.%s.%s", agent, side, type);
    snprintf(text, sizeof text, "{\"type\":\"%s\",\"timestamp\":1705392000%s%s}", type,
             said->kind == INTENT
                 ? ",\"hypothesis\":{\"reason\":\"r\",\"target\":\"t\",\"new_code\":\"c\"}"
             : said->kind == RELOAD     ? ",\"code\":\"c\""
             : said->kind == CHECKPOINT ? ",\"data\":{\"agent_state\":{\"id\":\"a\"}}"
             : said->kind == PROMOTED   ? ",\"success\":true,\"decision\":\"promoted\""
                                        : ",\"success\":false,\"decision\":\"rejected\"",
             backup);
    index_fixture_store(subject, id, text);
}

static void make_history(struct said said[MESSAGES]) {
    for (int i = 0; i < MESSAGES; i++) {
        said[i] = (struct said){.kind = (enum kind)index_fixture_chance(KINDS),
                                .agent = index_fixture_chance(AGENTS),
                                .backup = -1};
        if (said[i].kind == RELOAD && index_fixture_chance(4) > 0) {
            said[i].backup = index_fixture_chance(MESSAGES);
        }
    }
}

/* ---- the model ---- */

static char *out;
static size_t length;
static const char *between;

static void append(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)vsnprintf(out + length, TEXT_MAX - length, format, arguments);
    va_end(arguments);
    assert_true(length < TEXT_MAX);
}

static bool is_result(const struct said *said) {
    return said->kind == PROMOTED || said->kind == REJECTED;
}

/* How many results the agent had before the message. */
static int results_before(const struct said *said, int number) {
    int count = 0;
    for (int i = 0; i < number; i++) {
        count += said[i].agent == said[number].agent && is_result(&said[i]);
    }
    return count;
}

static bool has_backup(const struct said *said, const struct said *reload) {
    return reload->backup >= 0 && said[reload->backup].kind == CHECKPOINT &&
           said[reload->backup].agent == reload->agent;
}

/* The messages of a kind that have so many results before them.  Returns: how many. */
static int append_messages(const struct said *said, int history, int base, int agent,
                           const char *member, enum kind kind, int results, bool *out_lacks) {
    int count = 0;
    append(",\"%s\":[", member);
    for (int i = 0; i < MESSAGES; i++) {
        char id[64];
        if (said[i].agent != agent || said[i].kind != kind || results_before(said, i) != results) {
            continue;
        }
        append("%s#%d", count++ > 0 ? "," : "", base + i);
        if (kind == RELOAD && said[i].backup < 0) {
            append(",\"backup\":null");
        } else if (kind == RELOAD) {
            write_backup_id(id, history, i, said[i].backup);
            append(",\"backup\":{\"id\":\"%s\",\"message\":", id);
            append(has_backup(said, &said[i]) ? "\"SUPERVISOR:%d\"}" : "null}",
                   base + said[i].backup);
        }
        *out_lacks = *out_lacks || (kind == RELOAD && !has_backup(said, &said[i]));
    }
    append("]");
    return count;
}

/* The evolution with the agent's result of that number, counted from 0, and the intents before it.
 * `place`: of the result; -1: there is none, and `number` -1 means the reloads before the first. */
static void append_evolution(const struct said *said, int history, int base, int agent, int number,
                             int place) {
    char name[32];
    bool lacks_backup = false;
    const size_t begun = length;
    const bool is_promoted = place >= 0 && said[place].kind == PROMOTED;
    write_agent(name, history, agent);
    append("%s{\"agent\":\"%s\",\"decision\":%s", between, name,
           place < 0     ? "null"
           : is_promoted ? "\"promoted\""
                         : "\"rejected\"");
    const int intents =
        append_messages(said, history, base, agent, "intents", INTENT, number, &lacks_backup);
    if (place >= 0) {
        append(",\"result\":#%d", base + place);
    } else {
        append(",\"result\":null");
    }
    const int reloads = append_messages(said, history, base, agent, "reloads", RELOAD,
                                        place >= 0   ? number + 1
                                        : number < 0 ? 0
                                                     : MESSAGES,
                                        &lacks_backup);
    if (place < 0 && intents + reloads == 0) {
        length = begun;
        out[length] = '\0';
        return;
    }
    const bool lacks[] = {intents == 0, place < 0, place >= 0 && !is_promoted && reloads > 0,
                          is_promoted && reloads == 0, lacks_backup};
    static const char *const names[] = {"intent", "result", "promotion", "reload", "backup"};
    const char *comma = "";
    append(",\"lacks\":[");
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++) {
        if (lacks[i]) {
            append("%s\"%s\"", comma, names[i]);
            comma = ",";
        }
    }
    append("]}");
    between = ",";
}

static void append_agent(const struct said *said, int history, int base, int agent) {
    int number = 0;
    append_evolution(said, history, base, agent, -1, -1);
    for (int i = 0; i < MESSAGES; i++) {
        if (said[i].agent == agent && is_result(&said[i])) {
            append_evolution(said, history, base, agent, number++, i);
        }
    }
    append_evolution(said, history, base, agent, number, -1);
}

/* ---- the answer ---- */

/* Copies the items, with each event as its sequence and its backup. */
static void reduce(const char *text, char *reduced) {
    const char *at = strstr(text, "\"items\":[");
    size_t count = strlen(reduced), depth = 0;
    assert_non_null(at);
    for (at += strlen("\"items\":["); !(depth == 0 && *at == ']'); at++) {
        if (strncmp(at, "{\"specversion\"", strlen("{\"specversion\"")) == 0) {
            const char *sequence = strstr(at, "\"sequence\":\"") + strlen("\"sequence\":\"");
            const char *stop = strstr(at, ",\"backup\":");
            size_t inside = 0;
            count += (size_t)sprintf(reduced + count, "#%d", atoi(sequence));
            do {
                inside += *at == '{';
                inside -= *at == '}';
                at++;
            } while (inside > 0 && at != stop);
            if (inside > 0) {
                at = stop; /* its backup is the last member */
                const size_t part = strstr(stop, "\"backup\":null") == stop + 1
                                        ? strlen(",\"backup\":null")
                                        : strcspn(stop, "}") + 1;
                count += (size_t)sprintf(reduced + count, "%.*s", (int)part, stop);
                at += part + 1;
            }
            at--;
            continue;
        }
        depth += *at == '{';
        depth -= *at == '}';
        /* The brackets of an item are within its braces. */
        reduced[count++] = *at;
        reduced[count] = '\0';
    }
}

static void read_next(const char *text, char next[320]) {
    const char *at = strstr(text, "],\"next\":");
    assert_non_null(at);
    at += strlen("],\"next\":");
    next[0] = '\0';
    if (*at == '"') {
        snprintf(next, 320, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
    }
}

static void walk(struct index_question question, char *reduced) {
    struct parley_buffer answer;
    char cursor[320] = "";
    parley_buffer_init(&answer);
    reduced[0] = '\0';
    do {
        char page[TEXT_MAX] = "";
        question.values[INDEX_CURSOR] = cursor[0] != '\0' ? cursor : NULL;
        index_fixture_ask(&question, NULL, &answer);
        assert_true(index_fixture_count(answer.data, "{\"agent\"") <= question.limit);
        reduce(answer.data, page);
        if (page[0] != '\0') {
            strcat(reduced, reduced[0] != '\0' ? "," : "");
            strcat(reduced, page);
        }
        read_next(answer.data, cursor);
    } while (cursor[0] != '\0');
    parley_buffer_finish(&answer);
}

static void compare(struct index_question question) {
    static const size_t limits[] = {1, 3, INDEX_LIMIT_MAX};
    static char reduced[TEXT_MAX];
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        question.limit = limits[i];
        walk(question, reduced);
        if (strcmp(reduced, out) != 0) {
            fail_msg("limit %zu: wanted\n%s\nfound\n%s", limits[i], out, reduced);
        }
    }
}

static void test_evolutions_are_what_a_plain_reading_makes_of_histories(void **state) {
    static char wanted[TEXT_MAX];
    size_t lacks[5] = {0};
    (void)state;
    out = wanted;
    for (int history = 0; history < HISTORIES; history++) {
        struct said said[MESSAGES];
        const int base = (int)index_fixture_last() + 1;
        index_fixture_seed((unsigned)history);
        make_history(said);
        for (int i = 0; i < MESSAGES; i++) {
            store(history, i, &said[i]);
        }
        index_fixture_commit();
        for (int agent = 0; agent < AGENTS; agent++) {
            static const char *const names[] = {"\"intent\"", "\"result\"]", "\"promotion\"",
                                                "\"reload\"", "\"backup\"]"};
            struct index_question question = index_fixture_question("evolutions");
            char name[32];
            write_agent(name, history, agent);
            question.values[INDEX_AGENT] = name;
            length = 0;
            out[0] = '\0';
            between = "";
            append_agent(said, history, base, agent);
            compare(question);
            for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++) {
                lacks[i] += index_fixture_count(out, names[i]);
            }
        }
    }
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++) {
        assert_true(lacks[i] > HISTORIES / 2);
    }
}

static void test_all_agents_come_in_the_order_of_their_names(void **state) {
    static char wanted[TEXT_MAX];
    struct said said[MESSAGES];
    (void)state;
    out = wanted;
    length = 0;
    between = "";
    index_fixture_seed(1);
    make_history(said);
    for (int i = 0; i < MESSAGES; i++) {
        store(0, i, &said[i]);
    }
    index_fixture_commit();
    for (int agent = 0; agent < AGENTS; agent++) {
        append_agent(said, 0, 1, agent);
    }
    compare(index_fixture_question("evolutions"));
}

static void test_an_evolution_names_16_intents_and_says_that_there_are_more(void **state) {
    struct parley_buffer answer;
    struct index_question question = index_fixture_question("evolutions");
    const struct said intent = {.kind = INTENT, .backup = -1};
    (void)state;
    parley_buffer_init(&answer);
    for (int i = 0; i < MANY; i++) {
        store(0, i, &intent);
    }
    index_fixture_commit();
    index_fixture_ask(&question, NULL, &answer);
    assert_int_equal(index_fixture_count(answer.data, "\"specversion\""), 16);
    assert_int_equal(index_fixture_count(answer.data, "\"lacks\":[\"result\"],\"more\":true}"), 1);
    parley_buffer_finish(&answer);
}

/* Checkpoints are private: their agent's token sees whether they are there, no other agent's. */
static void test_a_backup_is_shown_to_those_who_may_see_it(void **state) {
    static const struct {
        const char *own, *message, *lacks;
    } cases[] = {{NULL, "\"SUPERVISOR:1\"", "[]"},
                 {"h00-0", "\"SUPERVISOR:1\"", "[]"},
                 {"other", "null", "[]"}};
    static const struct said said[] = {{.kind = CHECKPOINT, .backup = -1},
                                       {.kind = INTENT, .backup = -1},
                                       {.kind = PROMOTED, .backup = -1},
                                       {.kind = RELOAD, .backup = 0}};
    struct parley_buffer answer;
    (void)state;
    parley_buffer_init(&answer);
    for (int i = 0; i < 4; i++) {
        store(0, i, &said[i]);
    }
    index_fixture_commit();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct index_question question = index_fixture_question("evolutions");
        char wanted[128];
        question.own = cases[i].own;
        index_fixture_ask(&question, NULL, &answer);
        snprintf(wanted, sizeof wanted, "\"message\":%s}}],\"lacks\":%s}", cases[i].message,
                 cases[i].lacks);
        if (index_fixture_count(answer.data, wanted) != 1) {
            fail_msg("%s: wanted %s, found %s", cases[i].own, wanted, answer.data);
        }
    }
    parley_buffer_finish(&answer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_evolutions_are_what_a_plain_reading_makes_of_histories,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all_agents_come_in_the_order_of_their_names, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_an_evolution_names_16_intents_and_says_that_there_are_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_backup_is_shown_to_those_who_may_see_it, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
