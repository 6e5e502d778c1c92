/* SPDX-License-Identifier: Apache-2.0 */

/* The ledger of a message: each chain of generated histories is what a plain reading of them, which
 * knows neither tables nor indexes, makes of them; and chains end. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "index_fixture.h"
#include "vlp_history.h"

enum { HUB = 1500, LADDER = 100 };

static const char *const relations[] = {"\"refers\"", "\"supports\"", "\"refers\"", "\"answers\"",
                                        "\"corrects\""};

/* ---- the index ---- */

static void ask(const char *id, struct parley_buffer *out) {
    struct index_question question = index_fixture_question("chain");
    question.values[INDEX_ID] = id;
    index_fixture_ask(&question, NULL, out);
}

/* ---- the model ---- */

/* What a history makes of one id. Numbers are those of its messages, in the order of storage. */
struct model {
    const struct said *said;
    bool names[MESSAGES][MESSAGES];                /* [from][to] */
    int nodes[MESSAGES], parents[MESSAGES], count; /* parents: of the message with that number */
    bool is_in[MESSAGES];
};

static void make_chain(struct model *model, const struct said *said, int id) {
    *model = (struct model){.said = said};
    for (int from = 0; from < MESSAGES; from++) {
        for (int to = 0; to < MESSAGES; to++) {
            model->names[from][to] = history_refers(said, from, to);
        }
    }
    for (int i = MESSAGES - 1; i >= 0 && model->count == 0; i--) {
        if (said[i].id == id) {
            model->nodes[model->count++] = i;
            model->is_in[i] = true;
        }
    }
    for (int at = 0; at < model->count; at++) {
        for (int i = 0; i < MESSAGES; i++) {
            if (!model->is_in[i] && model->names[i][model->nodes[at]]) {
                model->is_in[i] = true;
                model->parents[i] = model->nodes[at];
                model->nodes[model->count++] = i;
            }
        }
    }
}

static bool corrects(const struct model *model, int from, int to) {
    return model->is_in[from] && model->is_in[to] && from > to &&
           model->said[from].type == CORRECTION && model->names[from][to] &&
           history_is_kin(&model->said[from], &model->said[to]);
}

static bool is_strange(const struct model *model, int from) {
    for (int i = 0; i < MESSAGES; i++) {
        if (model->said[from].type == CORRECTION && model->is_in[i] && model->names[from][i] &&
            !history_is_kin(&model->said[from], &model->said[i])) {
            return true;
        }
    }
    return false;
}

static bool is_corrected(const struct model *model, int number) {
    bool is = false;
    for (int i = 0; i < MESSAGES; i++) {
        is = is || corrects(model, i, number);
    }
    return is;
}

static bool is_correction(const struct model *model, int number) {
    bool is = false;
    for (int i = 0; i < MESSAGES; i++) {
        is = is || corrects(model, number, i);
    }
    return is;
}

static int last_word(const struct model *model, int number) {
    int last = number;
    for (int i = number + 1; i < MESSAGES; i++) {
        if (corrects(model, i, number)) {
            const int end = last_word(model, i);
            last = end > last ? end : last;
        }
    }
    return last;
}

static const char *worth(const struct model *model, int number) {
    const bool has_part = is_corrected(model, number) || is_correction(model, number);
    const char *state = has_part                    ? "\"superseded\""
                        : is_strange(model, number) ? "\"disputed\""
                                                    : "null";
    for (int i = 0; i < MESSAGES; i++) {
        if (model->is_in[i] && is_corrected(model, i) && !is_correction(model, i) &&
            last_word(model, i) == number && strcmp(state, "\"authoritative\"") != 0) {
            state = is_strange(model, i) ? "\"disputed\"" : "\"authoritative\"";
        }
    }
    return state;
}

static const char *state_of(const struct model *model, int number) {
    const char *state = worth(model, number);
    int supported = 0, lost = 0;
    for (int i = 0; i < MESSAGES; i++) {
        if (model->said[number].type == EVIDENCE && model->is_in[i] && model->names[number][i]) {
            supported++;
            lost += strcmp(worth(model, i), "\"superseded\"") == 0;
        }
    }
    return strcmp(state, "null") == 0 && supported > 0 && supported == lost ? "\"stale\"" : state;
}

static bool is_said_before(const struct said *said, int reference) {
    for (int i = 0; i < reference; i++) {
        if (said->references[i] == said->references[reference]) {
            return true;
        }
    }
    return false;
}

static void count_lost(const struct model *model, size_t *out_unresolved, size_t *out_mismatched) {
    *out_unresolved = *out_mismatched = 0;
    for (int at = 0; at < model->count; at++) {
        const struct said *said = &model->said[model->nodes[at]];
        for (int i = 0; i < said->reference_count; i++) {
            const int to = history_meant(model->said, model->nodes[at], said->references[i]);
            const enum said_type type = to != NONE ? model->said[to].type : CLAIM;
            if (is_said_before(said, i)) {
                continue;
            }
            *out_unresolved += to == NONE;
            *out_mismatched += to != NONE && ((said->type == EVIDENCE && type != CLAIM) ||
                                              (said->type == RESPONSE && type != QUERY));
        }
    }
}

/* ---- both ---- */

static void write_model(const struct model *model, uint64_t base, char out[8192]) {
    size_t length = 0;
    out[0] = '\0';
    for (int at = 0; at < model->count; at++) {
        const int number = model->nodes[at];
        char of[64] = "null";
        if (at > 0) {
            snprintf(of, sizeof of, "\"VLP:%d\"", (int)base + model->parents[number]);
        }
        length += (size_t)snprintf(out + length, 8192 - length, "%d %s %s %s\n", (int)base + number,
                                   at > 0 ? relations[model->said[number].type] : "null", of,
                                   state_of(model, number));
    }
}

static const char *value_after(const char *text, const char *member, char out[64]) {
    const char *at = strstr(text, member);
    assert_non_null(at);
    at += strlen(member);
    snprintf(out, 64, "%.*s", (int)strcspn(at, ",}"), at);
    return out;
}

static void write_answer(const char *text, char out[8192]) {
    size_t length = 0;
    out[0] = '\0';
    for (const char *at = strstr(text, "{\"specversion\""); at != NULL;
         at = strstr(at + 1, "{\"specversion\"")) {
        char number[64], relation[64], of[64], state[64];
        value_after(at, "\"sequence\":\"", number);
        number[strcspn(number, "\"")] = '\0';
        length +=
            (size_t)snprintf(out + length, 8192 - length, "%s %s %s %s\n", number,
                             value_after(at, "\"relation\":", relation),
                             value_after(at, "\"of\":", of), value_after(at, "\"state\":", state));
    }
}

static void compare(const struct said *said, int history, uint64_t base, struct parley_buffer *out,
                    size_t states[5]) {
    static const char *const names[] = {"\"authoritative\"", "\"superseded\"", "\"disputed\"",
                                        "\"stale\"", "null\n"};
    for (int id = 0; id < IDS + 2; id++) {
        char name[32], wanted[8192], found[8192];
        struct model model;
        size_t unresolved, mismatched;
        snprintf(name, sizeof name, "%d-%d", history, id);
        make_chain(&model, said, id);
        count_lost(&model, &unresolved, &mismatched);
        write_model(&model, base, wanted);
        ask(name, out);
        write_answer(out->data, found);
        const char *lost = strstr(out->data, "\"unresolved\":[");
        const char *wrong = strstr(out->data, "\"mismatched\":[");
        if (strcmp(wanted, found) != 0 || lost == NULL || wrong == NULL ||
            index_fixture_count(lost, "{\"of\"") != unresolved + mismatched ||
            index_fixture_count(wrong, "{\"of\"") != mismatched) {
            fail_msg("%s: wanted\n%s (%zu, %zu), found\n%s%s", name, wanted, unresolved, mismatched,
                     found, lost != NULL ? lost : out->data);
        }
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            states[i] += index_fixture_count(found, names[i]);
        }
    }
}

static void test_chains_are_what_a_plain_reading_makes_of_histories(void **state) {
    struct parley_buffer out;
    size_t states[5] = {0};
    (void)state;
    parley_buffer_init(&out);
    for (int history = 0; history < HISTORIES; history++) {
        struct said said[MESSAGES];
        const uint64_t base = history_begin(history, said, NOTICE);
        compare(said, history, base, &out, states);
    }
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        assert_true(states[i] > HISTORIES); /* each state has come, and often */
    }
    parley_buffer_finish(&out);
}

static void test_a_chain_ends_after_1000_messages_and_after_64_steps(void **state) {
    struct parley_buffer out;
    (void)state;
    parley_buffer_init(&out);
    for (int i = 0; i < HUB; i++) {
        const struct said said = {.id = i, .type = CLAIM, .reference_count = i > 0};
        history_store(HISTORIES, &said); /* all refer to the first */
    }
    for (int i = 0; i < LADDER; i++) {
        const struct said said = {
            .id = i, .type = CLAIM, .references = {i - 1}, .reference_count = i > 0};
        history_store(HISTORIES + 1, &said);
    }
    index_fixture_commit();
    ask("30-0", &out);
    assert_int_equal(index_fixture_count(out.data, "\"specversion\""), 1000);
    assert_int_equal(index_fixture_count(out.data, "\"more\":true"), 1);
    ask("31-0", &out);
    assert_int_equal(index_fixture_count(out.data, "\"specversion\""), 65);
    assert_int_equal(index_fixture_count(out.data, "\"more\":true"), 1);
    ask("31-99", &out);
    assert_int_equal(index_fixture_count(out.data, "\"specversion\""), 1);
    assert_int_equal(index_fixture_count(out.data, "\"more\":true"), 0);
    parley_buffer_finish(&out);
}

/* Keys of texts ignore case, and ids of VLP do not. */
static void test_references_that_differ_in_case_alone_are_all_kept(void **state) {
    static const char *const ids[] = {"heat", "Heat", "HEAT"};
    struct parley_buffer out;
    (void)state;
    parley_buffer_init(&out);
    index_fixture_store(NULL, NULL,
                        "{\"protocol\":\"VLP/1.1\",\"id\":\"e\",\"type\":\"evidence\","
                        "\"sender\":\"Ann\",\"timestamp\":\"2026-01-01T00:00:00Z\","
                        "\"content\":\"c\",\"confidence\":0.5,\"provenance\":[\"p\"],"
                        "\"refers_to\":[\"heat\",\"Heat\",\"HEAT\"]}");
    index_fixture_commit();
    ask("e", &out);
    assert_non_null(strstr(out.data, "\"unresolved\":[{\"of\":\"VLP:1\",\"relation\":\"supports\","
                                     "\"id\":\"heat\"},{\"of\":\"VLP:1\",\"relation\":\"supports\","
                                     "\"id\":\"Heat\"},{\"of\":\"VLP:1\",\"relation\":\"supports\","
                                     "\"id\":\"HEAT\"}]"));
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        struct index_question question = index_fixture_question("messages");
        question.values[INDEX_REFERS_TO] = ids[i];
        index_fixture_ask(&question, NULL, &out);
        assert_int_equal(index_fixture_count(out.data, "\"specversion\""), 1);
    }
    parley_buffer_finish(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_chains_are_what_a_plain_reading_makes_of_histories,
                                        history_set_up, history_tear_down),
        cmocka_unit_test_setup_teardown(test_a_chain_ends_after_1000_messages_and_after_64_steps,
                                        history_set_up, history_tear_down),
        cmocka_unit_test_setup_teardown(test_references_that_differ_in_case_alone_are_all_kept,
                                        history_set_up, history_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
