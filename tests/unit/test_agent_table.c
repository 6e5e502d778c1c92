/* SPDX-License-Identifier: Apache-2.0 */

/* The agents that a followed list has, by messages in any order, readings and the clock. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <parley/protocol.h>

#include "../lib/fault_heap.h"
#include "agent_table.h"

#define S INT64_C(1000000000)
static const int64_t start_ns = 1705392000 * S;

enum { BEAT, METRICS, UNREAD };
static enum parley_status report(const struct parley_agent_report *of, struct parley_buffer *out) {
    parley_buffer_format(out, ",\"unread\":{\"age\":%d,\"size\":%d}", (int)of->age_seconds,
                         of->is_guarded ? 0 : (int)of->size_bytes);
    return parley_buffer_status(out);
}
static const struct parley_agent_source sources[] = {
    {.subject = "*.beat", .part = BEAT},
    {.subject = "*.metrics", .part = METRICS},
    {.subject = "*.unread", .part = UNREAD, .is_unread = true},
    {.subject = NULL}};
static const struct parley_agents kind = {
    .sources = sources, .alive_seconds = 5, .late_seconds = 15, .report = report};
static const struct parley_protocol protocol = {.name = "test", .agents = &kind};
static const struct channel channel = {.protocol = &protocol};

/* ---- a table and a reader of it ---- */

struct world {
    struct parley_schema *schema; /* of any protocol: nothing is matched */
    struct agent_table *table;
    struct change_cursor cursor;
    struct agent_watching watching;
    int64_t now_ns;
};

static int set_up(void **state) {
    static struct world world;
    world = (struct world){.watching = {.states = 7}, .now_ns = start_ns};
    assert_int_equal(parley_schema_create(parley_protocols[0], &world.schema), PARLEY_OK);
    assert_int_equal(agent_table_create(&channel, world.schema, &world.table), PARLEY_OK);
    struct change_log *log = agent_table_changes(world.table);
    assert_true(change_cursor_place(log, &world.cursor, log->epoch, 0));
    *state = &world;
    return 0;
}

static int tear_down(void **state) {
    struct world *world = *state;
    change_cursor_leave(&world->cursor);
    agent_table_destroy(world->table);
    parley_schema_destroy(world->schema);
    return 0;
}

static struct agent_news news_of(const char *name, unsigned source, int second, const char *text) {
    return (struct agent_news){.name = parley_bytes_of(name),
                               .part = source,
                               .source = source,
                               .text = parley_bytes_of(text),
                               .sequence = (uint64_t)(1000 + second),
                               .is_beat = source == BEAT,
                               .time_ns = start_ns + second * S,
                               .subject = "test.a.beat",
                               .size_bytes = 7,
                               .id = "00000000-0000-8000-8000-000000000001"};
}

static void note(struct world *world, const char *name, unsigned source, int second,
                 const char *text) {
    const struct agent_news news = news_of(name, source, second, text);
    assert_int_equal(agent_table_note(world->table, &news, world->now_ns), PARLEY_OK);
}

/* All that the reader gets: "ITEM", "-NAME" and "again", one a line. */
static void assert_changes(struct world *world, const char *wanted) {
    char all[2048] = "";
    const struct change *item;
    const struct change_gone *gone;
    struct change_log *log = agent_table_changes(world->table);
    for (;;) {
        struct parley_buffer text;
        bool passes;
        parley_buffer_init(&text);
        const enum change_taken taken = change_cursor_take(log, &world->cursor, &item, &gone);
        if (taken == CHANGE_NONE) {
            parley_buffer_finish(&text);
            break;
        }
        if (taken == CHANGE_ITEM) {
            world->watching.now_ns = world->now_ns;
            assert_int_equal(
                agent_table_follow_ops.write(world->table, &world->watching, item, &text, &passes),
                PARLEY_OK);
            parley_buffer_text(&text, passes ? "\n" : "no\n");
        } else if (taken == CHANGE_GONE) {
            parley_buffer_format(&text, "-%s\n", gone->id);
        } else {
            assert_true(change_cursor_place(log, &world->cursor, log->epoch, 0));
            parley_buffer_text(&text, "again\n");
        }
        strncat(all, text.data, text.length);
        parley_buffer_finish(&text);
    }
    assert_string_equal(all, wanted);
}

#define BEGIN "\"last\":\"2024-01-16T08:00:00.000Z\",\"age\":"
#define ITEM(name, state, age, rest)                                                               \
    "{\"agent\":\"" name "\",\"state\":\"" state "\"," BEGIN age ",\"seq\":1000" rest "}\n"

/* ---- tests ---- */

static void test_an_agent_is_what_its_last_messages_say_in_any_order(void **state) {
    struct world *world = *state;
    note(world, "a%2Fb", BEAT, 0, ",\"x\":1");
    assert_changes(world, ITEM("a/b", "alive", "0", ",\"x\":1"));
    world->now_ns += 2 * S;
    note(world, "a%2Fb", BEAT, -1, ",\"x\":0"); /* is older */
    note(world, "a%2Fb", BEAT, 0, ",\"x\":1");  /* is known */
    assert_changes(world, "");
    note(world, "a%2Fb", METRICS, -5, ",\"m\":1");
    assert_changes(world, ITEM("a/b", "alive", "2", ",\"x\":1,\"m\":1"));
}

static void test_what_is_unread_is_as_old_as_it_is_when_it_is_asked_for(void **state) {
    struct world *world = *state;
    note(world, "a", BEAT, 0, "");
    note(world, "a", UNREAD, 0, "");
    assert_changes(world, ITEM("a", "alive", "0", ",\"unread\":{\"age\":0,\"size\":7}"));
    world->now_ns += 3 * S;
    note(world, "a", METRICS, 1, ",\"m\":1");
    world->watching.own = "b";
    assert_changes(world, ITEM("a", "alive", "3", ",\"m\":1,\"unread\":{\"age\":3,\"size\":0}"));
}

static void test_who_may_not_read_all_gets_the_other_text(void **state) {
    struct world *world = *state;
    struct agent_news news = news_of("a", METRICS, 0, ",\"secret\":1");
    news.has_guarded = true;
    news.guarded = PARLEY_BYTES(",\"secret\":null");
    assert_int_equal(agent_table_note(world->table, &news, world->now_ns), PARLEY_OK);
    world->watching.own = "b";
    assert_changes(world, "{\"agent\":\"a\",\"state\":\"lost\",\"secret\":null}\n");
    world->watching.own = "a";
    agent_table_end_reading(world->table);
    world->now_ns += 2 * S;
    note(world, "a", BEAT, 0, "");
    assert_changes(world, ITEM("a", "alive", "2", ",\"secret\":1"));
}

static void test_the_clock_alone_makes_it_late_and_lost_once(void **state) {
    struct world *world = *state;
    note(world, "a", BEAT, 0, "");
    assert_changes(world, ITEM("a", "alive", "0", ""));
    for (int second = 1; second <= 20; second++) {
        world->now_ns += S;
        agent_table_tick(world->table, world->now_ns);
        assert_changes(world, second == 6    ? ITEM("a", "late", "6", "")
                              : second == 16 ? ITEM("a", "lost", "16", "")
                                             : "");
    }
    world->watching.states = 1u << AGENT_ALIVE;
    world->now_ns = start_ns;
    note(world, "b", METRICS, 1, "");
    assert_changes(world, "no\n");
}

static void test_it_changes_once_a_period_and_nothing_is_kept_back_for_longer(void **state) {
    struct world *world = *state;
    note(world, "a", METRICS, 0, ",\"m\":0");
    assert_changes(world, "{\"agent\":\"a\",\"state\":\"lost\",\"m\":0}\n");
    world->now_ns += S / 2;
    note(world, "a", METRICS, 1, ",\"m\":1");
    note(world, "a", METRICS, 2, ",\"m\":2");
    assert_changes(world, "");
    world->now_ns += S / 4;
    agent_table_tick(world->table, world->now_ns);
    assert_changes(world, "{\"agent\":\"a\",\"state\":\"lost\",\"m\":2}\n");
    agent_table_tick(world->table, world->now_ns);
    assert_changes(world, "");
}

static void test_what_a_reading_does_not_find_leaves(void **state) {
    struct world *world = *state;
    assert_false(agent_table_follow_ops.is_whole(world->table));
    agent_table_begin_reading(world->table);
    note(world, "a", BEAT, 0, "");
    note(world, "a", METRICS, 0, ",\"m\":0");
    note(world, "b%20", METRICS, 0, "");
    agent_table_end_reading(world->table);
    assert_true(agent_table_follow_ops.is_whole(world->table));
    assert_changes(world,
                   ITEM("a", "alive", "0", ",\"m\":0") "{\"agent\":\"b \",\"state\":\"lost\"}\n");
    agent_table_begin_reading(world->table);
    note(world, "a", METRICS, 0, ",\"m\":0");
    agent_table_end_reading(world->table);
    agent_table_tick(world->table, world->now_ns);
    assert_changes(world, "-b \n{\"agent\":\"a\",\"state\":\"lost\",\"m\":0}\n");
    agent_table_set_away(world->table);
    assert_false(agent_table_follow_ops.is_whole(world->table));
    agent_table_clear(world->table);
    assert_changes(world, "again\n");
}

static void test_those_whose_last_message_is_oldest_make_room(void **state) {
    struct world *world = *state;
    char name[32], wanted[64];
    for (int i = 0; i < AGENT_TABLE_AGENTS_MAX; i++) {
        snprintf(name, sizeof name, "n%d", i);
        note(world, name, METRICS, 0, "");
    }
    note(world, "n0", METRICS, 1, ""); /* is the last now */
    struct change_log *log = agent_table_changes(world->table);
    world->cursor.version = log->version;
    change_cursor_leave(&world->cursor);
    assert_true(change_cursor_place(log, &world->cursor, log->epoch, log->version));
    for (int i = 1; i <= 3; i++) {
        note(world, i == 1 ? "x" : i == 2 ? "y" : "z", METRICS, 2, "");
        snprintf(wanted, sizeof wanted, "{\"agent\":\"%c\",\"state\":\"lost\"}\n-n%d\n", 'w' + i,
                 i);
        assert_changes(world, wanted);
    }
}

static void test_it_survives_that_memory_runs_out(void **state) {
    struct world *world = *state;
    enum parley_status status = PARLEY_E_MEMORY;
    struct agent_news news = news_of("a", METRICS, 0, ",\"m\":1");
    news.has_guarded = true;
    news.guarded = PARLEY_BYTES(",\"m\":0");
    for (size_t first = 0; status != PARLEY_OK; first++) {
        fault_heap_arm(first, SIZE_MAX);
        status = agent_table_note(world->table, &news, world->now_ns);
        (void)fault_heap_disarm();
        assert_true(status == PARLEY_OK || status == PARLEY_E_MEMORY);
        assert_true(first > 0 || status == PARLEY_E_MEMORY);
    }
    agent_table_end_reading(world->table);
    assert_changes(world, "{\"agent\":\"a\",\"state\":\"lost\",\"m\":1}\n");
}

/* ---- random histories ---- */

enum { NAMES = 6, PARTS = 3, TEXT_MAX = 400 };

/* What is known of each part of an agent: the second of its message, and the reading that found it.
 */
struct known {
    bool is_there;
    int second;
    unsigned found;
};

struct history {
    struct world *world;
    struct known known[NAMES][PARTS];
    char shown[NAMES][TEXT_MAX]; /* what a reader has, by the events that it got */
    unsigned reading;
};

static unsigned random_below(unsigned limit) {
    static uint64_t seed = 59;
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % limit;
}

/* Without how old anything is. */
static void strip_ages(const char *text, char out[TEXT_MAX]) {
    size_t length = 0;
    while (*text != '\0' && *text != '\n') {
        if (strncmp(text, "\"age\":", 6) == 0) {
            text += 6 + strspn(text + 6, "0123456789");
            continue;
        }
        assert_true(length < TEXT_MAX - 1);
        out[length++] = *text++;
    }
    out[length] = '\0';
}

static void write_part(unsigned source, int second, char out[64]) {
    snprintf(out, 64, source == UNREAD ? ",\"unread\":{\"age\":0,\"size\":7}" : ",\"p%u\":%d",
             source, second);
}

static void expect(const struct history *history, unsigned name, char out[TEXT_MAX]) {
    char plain[] = {(char)('a' + name), '\0'}, texts[PARTS][64];
    struct agent_entry entry = {.name = plain};
    struct parley_buffer text;
    bool is_there = false;
    parley_buffer_init(&text);
    for (unsigned i = 0; i < PARTS; i++) {
        const struct known *known = &history->known[name][i];
        if (known->is_there) {
            is_there = true;
            write_part(i, known->second, texts[i]);
            entry.parts[i] = (struct agent_part){.text = texts[i], .length = strlen(texts[i])};
        }
    }
    if (history->known[name][BEAT].is_there) {
        entry.beat_sequence = (uint64_t)(1000 + history->known[name][BEAT].second);
        entry.beat_ns = start_ns + history->known[name][BEAT].second * S;
    }
    agent_entry_write(&entry, &kind, history->world->now_ns, &text);
    parley_buffer_char(&text, '\0');
    strip_ages(is_there ? text.data : "", out);
    parley_buffer_finish(&text);
}

static void happen(struct history *history) {
    struct world *world = history->world;
    const unsigned what = random_below(40), name = random_below(NAMES), part = random_below(PARTS);
    const char plain[] = {(char)('a' + name), '\0'};
    if (what == 0) {
        agent_table_begin_reading(world->table);
        history->reading++;
    } else if (what == 1) {
        agent_table_end_reading(world->table);
        for (unsigned i = 0; i < NAMES * PARTS; i++) {
            struct known *known = &history->known[i / PARTS][i % PARTS];
            known->is_there = known->is_there && known->found == history->reading;
        }
    } else if (what == 2 && random_below(10) == 0) {
        agent_table_clear(world->table);
        memset(history->known, 0, sizeof history->known);
    } else {
        char text[64];
        struct known *known = &history->known[name][part];
        const int now = (int)((world->now_ns - start_ns) / S);
        const int second = now - (int)random_below(20);
        write_part(part, second, text);
        note(world, plain, part, second, part == UNREAD ? "" : text);
        known->second = known->is_there && known->second > second ? known->second : second;
        known->is_there = true;
        known->found = history->reading;
    }
}

/* The reader applies what it gets to what it has. */
static void take_all(struct history *history) {
    struct world *world = history->world;
    struct change_log *log = agent_table_changes(world->table);
    const struct change *item;
    const struct change_gone *gone;
    enum change_taken taken;
    world->watching.now_ns = world->now_ns;
    while ((taken = change_cursor_take(log, &world->cursor, &item, &gone)) != CHANGE_NONE) {
        if (taken == CHANGE_ITEM) {
            struct parley_buffer text;
            bool passes;
            parley_buffer_init(&text);
            assert_int_equal(
                agent_table_follow_ops.write(world->table, &world->watching, item, &text, &passes),
                PARLEY_OK);
            parley_buffer_char(&text, '\0');
            strip_ages(text.data,
                       history->shown[agent_table_follow_ops.id(world->table, item).data[0] - 'a']);
            parley_buffer_finish(&text);
        } else if (taken == CHANGE_GONE) {
            history->shown[gone->id[0] - 'a'][0] = '\0';
        } else {
            memset(history->shown, 0, sizeof history->shown);
            assert_true(change_cursor_place(log, &world->cursor, log->epoch, 0));
        }
    }
}

static void test_a_reader_has_what_random_histories_leave(void **state) {
    enum { TICKS = 5000 };
    struct history history = {.world = *state};
    for (int i = 0; i < TICKS; i++) {
        for (unsigned j = random_below(6); j > 0; j--) {
            happen(&history);
            if (random_below(3) == 0) {
                take_all(&history);
            }
        }
        history.world->now_ns += S * (1 + random_below(3));
        agent_table_tick(history.world->table, history.world->now_ns);
        take_all(&history);
        for (unsigned name = 0; name < NAMES; name++) {
            char wanted[TEXT_MAX];
            expect(&history, name, wanted);
            assert_string_equal(history.shown[name], wanted);
        }
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_an_agent_is_what_its_last_messages_say_in_any_order),
        TEST(test_what_is_unread_is_as_old_as_it_is_when_it_is_asked_for),
        TEST(test_who_may_not_read_all_gets_the_other_text),
        TEST(test_the_clock_alone_makes_it_late_and_lost_once),
        TEST(test_it_changes_once_a_period_and_nothing_is_kept_back_for_longer),
        TEST(test_what_a_reading_does_not_find_leaves),
        TEST(test_those_whose_last_message_is_oldest_make_room),
        TEST(test_a_reader_has_what_random_histories_leave),
        TEST(test_it_survives_that_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
