/* SPDX-License-Identifier: Apache-2.0 */

/* The file of the index: the same messages give the same tables, in whatever batches they come and
 * however often it is opened, killed, pruned or made again; and files that are not one. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sodium.h>
#include <sqlite3.h>

#include "index_message.h"
#include "lib/random.h"
#include "lib/rounds.h"

enum { MESSAGE_COUNT = 1500, STREAMS = 4 };

#define CREATED "2026-01-01T00:00:00Z"

static char folder[64];

struct world {
    struct parley_arena arena;
    const struct channel *channels;
    struct parley_schema *schemas[STREAMS];
    struct index_reader readers[STREAMS];
};

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    char error[CHANNEL_ERROR_MAX];
    if (world == NULL || sodium_init() < 0 ||
        channels_create(NULL, &world->arena, &world->channels, error) != PARLEY_OK) {
        return -1;
    }
    for (unsigned i = 0; i < STREAMS; i++) {
        if (parley_schema_create(parley_protocols[i], &world->schemas[i]) != PARLEY_OK) {
            return -1;
        }
        index_reader_init(&world->readers[i], world->schemas[i], &world->channels[i]);
    }
    *state = world;
    return 0;
}

static int tear_down(void **state) {
    struct world *world = *state;
    for (unsigned i = 0; i < STREAMS; i++) {
        index_reader_finish(&world->readers[i]);
        parley_schema_destroy(world->schemas[i]);
    }
    parley_arena_finish(&world->arena);
    free(world);
    return 0;
}

static void path_of(const char *suffix, char out[128]) {
    snprintf(out, 128, "%s/" INDEX_FILE_NAME "%s", folder, suffix);
}

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/parley-index-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state) {
    static const char *const suffixes[] = {"", "-wal", "-shm", ".bad", ".lock"};
    (void)state;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char path[128];
        path_of(suffixes[i], path);
        unlink(path);
    }
    return rmdir(folder);
}

/* ---- messages ---- */

static struct parley_bytes example_of(const struct parley_protocol *protocol, uint64_t number) {
    size_t count = 0;
    while (protocol->examples[count].name != NULL) {
        count++;
    }
    return parley_bytes_of(protocol->examples[number % count].text);
}

/* Message `number` of all, whose stream is that of protocol `number` % STREAMS: an example, now and
 * then broken, of one of a few threads. */
static void message_at(size_t number, struct parley_buffer *text, struct jetstream_stored *out) {
    struct random_source random = {.state = number + 1};
    const struct parley_protocol *protocol = parley_protocols[number % STREAMS];
    const struct parley_bytes example = example_of(protocol, random_below(&random, 1000));
    parley_buffer_clear(text);
    parley_buffer_append(text, example);
    if (random_below(&random, 9) == 0) {
        text->length--;
    }
    *out = (struct jetstream_stored){.sequence = number / STREAMS + 1,
                                     .time_ns = (int64_t)(1767225600 + number) * 1000000000,
                                     .subject = protocol->name,
                                     .payload = parley_buffer_bytes(text)};
}

static struct index_store *open_store(void) {
    struct index_store *store;
    char error[INDEX_ERROR_MAX];
    bool is_new;
    if (index_store_open(folder, &store, &is_new, error) != PARLEY_OK) {
        fail_msg("%s", error);
    }
    assert_false(is_new);
    return store;
}

static void find_places(struct index_store *store, struct index_place places[STREAMS]) {
    for (unsigned i = 0; i < STREAMS; i++) {
        assert_int_equal(
            index_store_place(store, parley_protocols[i]->stream, i, CREATED, 1, &places[i]),
            PARLEY_OK);
    }
}

/* Adds messages up to `end`, each stream from its place on, in batches. */
static void add_messages(struct world *world, struct index_store *store, size_t end, size_t batch) {
    struct index_place places[STREAMS];
    struct parley_buffer text;
    parley_buffer_init(&text);
    find_places(store, places);
    for (size_t number = 0; number < end; number++) {
        const struct index_place *place = &places[number % STREAMS];
        struct jetstream_stored stored;
        struct index_row row;
        message_at(number, &text, &stored);
        if (stored.sequence < place->next) {
            continue;
        }
        assert_int_equal(
            index_reader_read(&world->readers[number % STREAMS], place->number, &stored, &row),
            PARLEY_OK);
        assert_int_equal(index_store_add(store, &row), PARLEY_OK);
        if (index_store_pending(store) >= batch) {
            assert_int_equal(index_store_commit(store), PARLEY_OK);
        }
    }
    parley_buffer_finish(&text);
}

/* ---- tables ---- */

#define MESSAGES                                                                                   \
    "SELECT pos, stored, protocol, type, lane, source, id, thread, sender, agent, time, subject, " \
    "size, trace, members, more, waits, landmark FROM messages ORDER BY pos"

/* All that the tables say, without keys, which are under a secret of the file. */
static char *dump(void) {
    static const char *const queries[] = {
        "SELECT stream, name, protocol, created, next FROM streams ORDER BY 1",
        MESSAGES,
        "SELECT pos, relation, target, is_label, stored FROM refs ORDER BY 1, 2, 3",
        "SELECT pos, receiver, stored FROM receivers ORDER BY 1, 2",
        "SELECT stream, type, who, pos FROM passing ORDER BY 1, 2, 3",
    };
    struct parley_buffer out;
    sqlite3 *file = index_file_read(folder);
    assert_non_null(file);
    parley_buffer_init(&out);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_prepare_v2(file, queries[i], -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            for (int column = 0; column < sqlite3_column_count(statement); column++) {
                parley_buffer_text(&out, (const char *)sqlite3_column_text(statement, column));
                parley_buffer_char(&out, '|');
            }
            parley_buffer_char(&out, '\n');
        }
        sqlite3_finalize(statement);
    }
    sqlite3_close(file);
    parley_buffer_char(&out, '\0');
    return out.data;
}

static char *tables_of(struct world *world, size_t count, size_t batch) {
    struct index_store *store = open_store();
    add_messages(world, store, count, batch);
    assert_int_equal(index_store_commit(store), PARLEY_OK);
    index_store_close(store);
    char *tables = dump();
    assert_true(index_file_remove(folder));
    return tables;
}

static void test_tables_are_the_same_in_batches_of_any_size(void **state) {
    static const size_t batches[] = {1, 7, 5000};
    char *wanted = tables_of(*state, MESSAGE_COUNT, 100);
    assert_non_null(strstr(wanted, "|RS-20251230-cell-fate|"));
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        char *tables = tables_of(*state, MESSAGE_COUNT, batches[i]);
        assert_string_equal(tables, wanted);
        free(tables);
    }
    free(wanted);
}

static void kill_while_adding(struct world *world, size_t end, size_t batch) {
    const pid_t child = fork();
    if (child == 0) {
        add_messages(world, open_store(), end, batch);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* What was not committed is read again. */
static void test_tables_are_the_same_after_restarts_and_kills(void **state) {
    char *wanted = tables_of(*state, MESSAGE_COUNT, 100);
    for (size_t end = 100; end < MESSAGE_COUNT; end += 333) {
        struct index_store *store = open_store();
        add_messages(*state, store, end, 64);
        index_store_close(store);
    }
    for (size_t end = 700; end < MESSAGE_COUNT; end += 400) {
        kill_while_adding(*state, end, 64);
    }
    char *tables = tables_of(*state, MESSAGE_COUNT, 64);
    assert_string_equal(tables, wanted);
    free(tables);
    free(wanted);
}

/* As the two above, with 100,000 messages where it is thorough. */
static void test_tables_of_many_messages_are_the_same(void **state) {
    const size_t count = test_rounds(MESSAGE_COUNT);
    char *wanted = tables_of(*state, count, 5000);
    for (size_t part = 1; part < 4; part++) {
        kill_while_adding(*state, part * count / 4, 7);
    }
    char *tables = tables_of(*state, count, 7);
    assert_string_equal(tables, wanted);
    free(tables);
    free(wanted);
}

static void test_pruned_rows_are_gone_and_later_ones_stay(void **state) {
    enum { FIRST = 200 };
    struct index_store *store = open_store();
    struct index_place places[STREAMS];
    bool is_left = true;
    add_messages(*state, store, MESSAGE_COUNT, 500);
    find_places(store, places);
    for (unsigned i = 0; i < STREAMS; i++) {
        is_left = true;
        size_t steps = 0;
        for (; is_left; steps++) {
            assert_int_equal(index_store_prune(store, places[i].number, FIRST, 50, &is_left),
                             PARLEY_OK);
        }
        assert_true(steps > 1);
    }
    index_store_close(store);
    sqlite3 *file = index_file_read(folder);
    static const char *const tables[] = {"messages", "refs", "receivers", "passing"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char sql[160];
        sqlite3_stmt *statement;
        snprintf(sql, sizeof sql, "SELECT count(*), sum((pos & 1099511627775) < %d) FROM %s", FIRST,
                 tables[i]);
        assert_int_equal(sqlite3_prepare_v2(file, sql, -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_true(sqlite3_column_int(statement, 0) > 0);
        assert_int_equal(sqlite3_column_int(statement, 1), 0);
        sqlite3_finalize(statement);
    }
    sqlite3_close(file);
}

static void test_a_stream_that_was_created_again_begins_again(void **state) {
    struct index_store *store = open_store();
    struct index_place place;
    add_messages(*state, store, 400, 100);
    assert_int_equal(index_store_place(store, "VLP", 0, CREATED, 1, &place), PARLEY_OK);
    assert_true(place.next > 1);
    size_t steps = 0;
    do {
        assert_int_equal(index_store_place(store, "VLP", 0, "2026-02-02T00:00:00Z", 30, &place),
                         PARLEY_OK);
        steps++;
    } while (place.is_left);
    assert_in_range(steps, 3, 5);
    assert_int_equal(place.next, 1);
    index_store_close(store);
    char *tables = dump();
    assert_null(strstr(tables, "|vlp|"));
    assert_non_null(strstr(tables, "|brenner|"));
    free(tables);
}

/* ---- files that are not one ---- */

static void expect_new(const char *what) {
    struct index_store *store;
    char error[INDEX_ERROR_MAX], bad[128];
    struct stat about;
    bool is_new;
    if (index_store_open(folder, &store, &is_new, error) != PARLEY_OK || !is_new) {
        fail_msg("%s", what);
    }
    index_store_close(store);
    path_of(".bad", bad);
    assert_int_equal(stat(bad, &about), 0);
    path_of("", bad);
    assert_int_equal(stat(bad, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    char *tables = dump();
    assert_string_equal(tables, "");
    free(tables);
    assert_true(index_file_remove(folder));
}

static void write_at(off_t offset, const char *bytes, size_t length) {
    char path[128];
    path_of("", path);
    const int fd = open(path, O_WRONLY | O_CREAT, 0644);
    assert_int_equal(pwrite(fd, bytes, length, offset), length);
    close(fd);
}

static void test_a_foreign_file_is_set_aside(void **state) {
    (void)state;
    char text[4096];
    memset(text, 'x', sizeof text);
    write_at(0, text, sizeof text);
    expect_new("text");
}

static void change(const char *sql) {
    char path[128];
    sqlite3 *file;
    index_store_close(open_store());
    path_of("", path);
    assert_int_equal(sqlite3_open(path, &file), SQLITE_OK);
    assert_int_equal(sqlite3_exec(file, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(file);
}

static void test_a_file_of_another_version_or_program_is_set_aside(void **state) {
    static const char *const changes[] = {"PRAGMA user_version=999", "PRAGMA application_id=7",
                                          "DROP TABLE refs", "DELETE FROM meta"};
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        change(changes[i]);
        expect_new(changes[i]);
    }
}

static void test_a_damaged_page_is_noticed(void **state) {
    struct index_store *store = open_store();
    struct index_place places[STREAMS];
    char noise[64 * 1024];
    memset(noise, 0x5a, sizeof noise);
    add_messages(*state, store, MESSAGE_COUNT, 5000);
    assert_int_equal(index_store_commit(store), PARLEY_OK);
    index_store_close(store);
    write_at(8192, noise, sizeof noise);
    bool is_new, is_damaged = false, is_left;
    char error[INDEX_ERROR_MAX];
    assert_int_equal(index_store_open(folder, &store, &is_new, error), PARLEY_OK);
    if (!is_new) {
        enum parley_status status = PARLEY_OK;
        for (unsigned i = 0; status == PARLEY_OK && i < STREAMS; i++) {
            status =
                index_store_place(store, parley_protocols[i]->stream, i, CREATED, 1, &places[i]);
            status = status == PARLEY_OK
                         ? index_store_prune(store, places[i].number, 1000, 5000, &is_left)
                         : status;
        }
        assert_int_equal(status, PARLEY_E_IO);
        is_damaged = index_store_is_damaged(store);
    }
    index_store_close(store);
    assert_true(is_new || is_damaged);
}

static void test_one_process_at_a_time_has_the_lock(void **state) {
    (void)state;
    const int first = index_file_lock(folder);
    assert_true(first >= 0);
    assert_int_equal(index_file_lock(folder), -1);
    close(first);
    const int second = index_file_lock(folder);
    assert_true(second >= 0);
    close(second);
}

/* ---- a full disk ---- */

/* Adds messages in batches until one cannot be written.  Returns: how many were offered. */
static size_t add_until_failure(struct world *world, struct index_store *store) {
    struct index_place places[STREAMS];
    struct parley_buffer text;
    enum parley_status status = PARLEY_OK;
    size_t number = 0;
    parley_buffer_init(&text);
    find_places(store, places);
    for (; status == PARLEY_OK && number < MESSAGE_COUNT; number++) {
        struct jetstream_stored stored;
        struct index_row row;
        message_at(number, &text, &stored);
        assert_int_equal(index_reader_read(&world->readers[number % STREAMS],
                                           places[number % STREAMS].number, &stored, &row),
                         PARLEY_OK);
        status = index_store_add(store, &row);
        if (status == PARLEY_OK && index_store_pending(store) >= 50) {
            status = index_store_commit(store);
        }
    }
    parley_buffer_finish(&text);
    assert_int_equal(status, PARLEY_E_IO);
    return number;
}

/* What was committed before stays, and the rest is read again once there is room. */
static void test_a_full_disk_is_no_damage(void **state) {
    enum { ROOM = 512 * 1024 };
    struct rlimit before;
    char *wanted = tables_of(*state, MESSAGE_COUNT, 100);
    struct index_store *store = open_store();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    const struct rlimit full = {.rlim_cur = ROOM, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    const size_t offered = add_until_failure(*state, store);
    const bool is_damaged = index_store_is_damaged(store);
    index_store_close(store);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(is_damaged);
    assert_in_range(offered, 50, MESSAGE_COUNT - 1);
    char *tables = tables_of(*state, MESSAGE_COUNT, 100);
    assert_string_equal(tables, wanted);
    free(tables);
    free(wanted);
}

/* ---- limits ---- */

static void test_long_ids_are_kept_as_their_digests_and_many_references_are_cut(void **state) {
    struct world *world = *state;
    struct index_store *store = open_store();
    struct index_place place;
    struct index_row row;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(
        &text, "{\"protocol\":\"VLP/1.1\",\"type\":\"query\",\"sender\":\"s\",\"timestamp\":"
               "\"2026-01-01T00:00:00Z\",\"content\":\"c\",\"refers_to\":[\"x\"");
    for (size_t i = 0; i < 100000; i++) {
        parley_buffer_format(&text, ",\"m%zu\"", i);
    }
    parley_buffer_text(&text, "],\"id\":\"");
    for (size_t i = 0; i < 300; i++) {
        parley_buffer_char(&text, 'a');
    }
    parley_buffer_text(&text, "\"}");
    const struct jetstream_stored stored = {
        .sequence = 1, .subject = "vlp", .payload = parley_buffer_bytes(&text)};
    assert_int_equal(index_store_place(store, "VLP", 0, CREATED, 1, &place), PARLEY_OK);
    assert_int_equal(index_reader_read(&world->readers[0], place.number, &stored, &row), PARLEY_OK);
    assert_non_null(row.entry);
    assert_int_equal(index_store_add(store, &row), PARLEY_OK);
    assert_int_equal(index_store_commit(store), PARLEY_OK);
    index_store_close(store);
    char *tables = dump();
    size_t lines = 0;
    for (const char *at = strchr(tables, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        lines++;
    }
    assert_int_equal(lines, 1 + 1 + PARLEY_INDEX_REFERENCES_MAX);
    assert_non_null(strstr(tables, "|sha:"));
    free(tables);
    parley_buffer_finish(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder_with_world, remove_folder)

static struct world *shared;

static int make_folder_with_world(void **state) {
    *state = shared;
    return make_folder(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_tables_are_the_same_in_batches_of_any_size),
        TEST(test_tables_are_the_same_after_restarts_and_kills),
        TEST(test_tables_of_many_messages_are_the_same),
        TEST(test_pruned_rows_are_gone_and_later_ones_stay),
        TEST(test_a_stream_that_was_created_again_begins_again),
        TEST(test_a_foreign_file_is_set_aside),
        TEST(test_a_file_of_another_version_or_program_is_set_aside),
        TEST(test_a_damaged_page_is_noticed),
        TEST(test_one_process_at_a_time_has_the_lock),
        TEST(test_a_full_disk_is_no_damage),
        TEST(test_long_ids_are_kept_as_their_digests_and_many_references_are_cut),
    };
    void *world = NULL;
    if (set_up(&world) != 0) {
        return 1;
    }
    shared = world;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tear_down(&world);
    return failed;
}
