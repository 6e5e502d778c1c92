/* SPDX-License-Identifier: Apache-2.0 */

/* The ledger of a message: each chain of generated histories is what a plain reading of them, which
 * knows neither tables nor indexes, makes of them; and chains end. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>
#include <sqlite3.h>

#include "index_message.h"
#include "index_view.h"

enum { VLP, MESSAGES = 40, REFERENCES = 3, HISTORIES = 30, IDS = 10, NONE = -1 };
enum { HUB = 1500, LADDER = 100 };

enum type { CLAIM, EVIDENCE, QUERY, RESPONSE, CORRECTION, TYPES };
static const char *const types[] = {"claim", "evidence", "query", "response", "correction"};
static const char *const relations[] = {"\"refers\"", "\"supports\"", "\"refers\"", "\"answers\"",
                                        "\"corrects\""};

struct said {
    int id, sender, session; /* session 0: it has none */
    int references[REFERENCES], reference_count;
    enum type type;
};

static char folder[64];
static struct index_store *store;
static struct index_reader reader;
static struct index_place stream;
static uint64_t sequence;

/* ---- the file ---- */

static int set_up(void **state) {
    static struct parley_arena arena;
    const struct channel *channels;
    struct parley_schema *schema;
    char error[INDEX_ERROR_MAX];
    bool is_new;
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/parley-chain-XXXXXX");
    sequence = 0;
    if (sodium_init() < 0 || mkdtemp(folder) == NULL ||
        channels_create(NULL, &arena, &channels, error) != PARLEY_OK ||
        index_store_open(folder, &store, &is_new, error) != PARLEY_OK ||
        parley_schema_create(channels[VLP].protocol, &schema) != PARLEY_OK) {
        return -1;
    }
    *state = schema;
    index_reader_init(&reader, schema, &channels[VLP]);
    return index_store_place(store, channels[VLP].stream, VLP, "now", 1, &stream) != PARLEY_OK;
}

static int tear_down(void **state) {
    index_reader_finish(&reader);
    parley_schema_destroy(*state);
    index_store_close(store);
    index_file_remove(folder);
    return rmdir(folder);
}

static void store_text(const char *text) {
    struct index_row row;
    sequence++;
    const struct jetstream_stored stored = {.sequence = sequence,
                                            .time_ns =
                                                (int64_t)(1767225600 + sequence / 3) * 1000000000,
                                            .subject = "vlp.safe.claim",
                                            .payload = parley_bytes_of(text)};
    assert_int_equal(index_reader_read(&reader, stream.number, &stored, &row), PARLEY_OK);
    assert_int_not_equal(row.type, INDEX_TYPE_FOREIGN);
    assert_int_equal(index_store_add(store, &row), PARLEY_OK);
}

static void store_message(int history, const struct said *said) {
    char text[1024], references[128] = "", session[64] = "";
    for (int i = 0; i < said->reference_count; i++) {
        const size_t length = strlen(references);
        snprintf(references + length, sizeof references - length, "%s\"%d-%d\"", i > 0 ? "," : "",
                 history, said->references[i]);
    }
    if (said->session != 0) {
        snprintf(session, sizeof session, "\"session_id\":\"S-%d\",", said->session);
    }
    snprintf(text, sizeof text,
             "{\"protocol\":\"VLP/1.1\",\"id\":\"%d-%d\",\"type\":\"%s\",%s"
             "\"timestamp\":\"2026-01-01T00:00:00Z\",\"sender\":\"A%d\",\"content\":\"x\","
             "\"confidence\":0.5,\"provenance\":[\"p\"],\"refers_to\":[%s]}",
             history, said->id, types[said->type], session, said->sender, references);
    store_text(text);
}

static void ask(const char *id, struct parley_buffer *out) {
    char progress[INDEX_PROGRESS_MAX];
    struct index_question question = {.view = index_view_find("chain"),
                                      .protocol = VLP,
                                      .readable = UINT64_C(1) << VLP,
                                      .until_ms = INT64_MAX,
                                      .limit = INDEX_LIMIT_MAX};
    sqlite3 *file = index_file_read(folder);
    question.values[INDEX_ID] = id;
    parley_buffer_clear(out);
    assert_non_null(file);
    assert_int_equal(index_view_answer(file, &question, out, NULL, progress), INDEX_ANSWERED);
    parley_buffer_char(out, '\0');
    assert_false(out->has_failed);
    sqlite3_close(file);
}

static size_t count(const char *text, const char *part) {
    size_t found = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        found++;
    }
    return found;
}

/* ---- the model ---- */

/* What a history makes of one id. Numbers are those of its messages, in the order of storage. */
struct model {
    const struct said *said;
    bool names[MESSAGES][MESSAGES];                /* [from][to] */
    int nodes[MESSAGES], parents[MESSAGES], count; /* parents: of the message with that number */
    bool is_in[MESSAGES];
};

/* Of those that bear the id: of the session, else the sender's, else any; the newest before. */
static int meant(const struct said *said, int from, int id) {
    for (int tier = 0; tier < 3; tier++) {
        int before = NONE, newest = NONE;
        for (int i = 0; i < MESSAGES; i++) {
            const bool is_near = tier == 0
                                     ? said[i].session != 0 && said[i].session == said[from].session
                                     : tier == 2 || said[i].sender == said[from].sender;
            if (i != from && said[i].id == id && is_near) {
                newest = i;
                before = i < from ? i : before;
            }
        }
        if (newest != NONE) {
            return before != NONE ? before : newest;
        }
    }
    return NONE;
}

static bool refers(const struct said *said, int from, int to) {
    for (int i = 0; i < said[from].reference_count; i++) {
        if (said[from].references[i] == said[to].id && meant(said, from, said[to].id) == to) {
            return true;
        }
    }
    return false;
}

static void make_chain(struct model *model, const struct said *said, int id) {
    *model = (struct model){.said = said};
    for (int from = 0; from < MESSAGES; from++) {
        for (int to = 0; to < MESSAGES; to++) {
            model->names[from][to] = refers(said, from, to);
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

static bool is_kin(const struct said *one, const struct said *other) {
    return one->sender == other->sender || (one->session != 0 && one->session == other->session);
}

static bool corrects(const struct model *model, int from, int to) {
    return model->is_in[from] && model->is_in[to] && from > to &&
           model->said[from].type == CORRECTION && model->names[from][to] &&
           is_kin(&model->said[from], &model->said[to]);
}

static bool is_strange(const struct model *model, int from) {
    for (int i = 0; i < MESSAGES; i++) {
        if (model->said[from].type == CORRECTION && model->is_in[i] && model->names[from][i] &&
            !is_kin(&model->said[from], &model->said[i])) {
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
            const int to = meant(model->said, model->nodes[at], said->references[i]);
            const enum type type = to != NONE ? model->said[to].type : CLAIM;
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

static unsigned seed;

static int chance(int count) {
    seed = seed * 1103515245U + 12345U;
    return (int)(seed >> 16) % count;
}

static void make_history(struct said said[MESSAGES]) {
    for (int i = 0; i < MESSAGES; i++) {
        said[i] = (struct said){.id = chance(3) == 0 ? chance(IDS) : i % IDS,
                                .sender = chance(3),
                                .session = chance(3),
                                .type = (enum type)chance(TYPES),
                                .reference_count = 1 + chance(REFERENCES)};
        for (int j = 0; j < said[i].reference_count; j++) {
            said[i].references[j] = chance(IDS + 2);
        }
    }
}

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
            count(lost, "{\"of\"") != unresolved + mismatched ||
            count(wrong, "{\"of\"") != mismatched) {
            fail_msg("%s: wanted\n%s (%zu, %zu), found\n%s%s", name, wanted, unresolved, mismatched,
                     found, lost != NULL ? lost : out->data);
        }
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            states[i] += count(found, names[i]);
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
        const uint64_t base = sequence + 1;
        seed = (unsigned)history;
        make_history(said);
        for (int i = 0; i < MESSAGES; i++) {
            store_message(history, &said[i]);
        }
        assert_int_equal(index_store_commit(store), PARLEY_OK);
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
        store_message(HISTORIES, &said); /* all refer to the first */
    }
    for (int i = 0; i < LADDER; i++) {
        const struct said said = {
            .id = i, .type = CLAIM, .references = {i - 1}, .reference_count = i > 0};
        store_message(HISTORIES + 1, &said);
    }
    assert_int_equal(index_store_commit(store), PARLEY_OK);
    ask("30-0", &out);
    assert_int_equal(count(out.data, "\"specversion\""), 1000);
    assert_int_equal(count(out.data, "\"more\":true"), 1);
    ask("31-0", &out);
    assert_int_equal(count(out.data, "\"specversion\""), 65);
    assert_int_equal(count(out.data, "\"more\":true"), 1);
    ask("31-99", &out);
    assert_int_equal(count(out.data, "\"specversion\""), 1);
    assert_int_equal(count(out.data, "\"more\":true"), 0);
    parley_buffer_finish(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_chains_are_what_a_plain_reading_makes_of_histories,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_chain_ends_after_1000_messages_and_after_64_steps,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
