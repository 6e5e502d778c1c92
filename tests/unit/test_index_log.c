/* SPDX-License-Identifier: Apache-2.0 */

/* The file that SQLite keeps beside the index, for what was committed last: it stays bounded while
 * questions follow each other without a pause. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>
#include <sqlite3.h>

#include "index_file.h"

enum {
    COMMITS = 220,
    COMMIT_BYTES = 1 << 20,
    LOG_BYTES_MAX = 136 << 20, /* 32,000 pages with their heads, and one commit */
    READERS = 2,
    WAIT_MS = 100,
};

static char folder[64];
static atomic_uint began[READERS]; /* how many transactions */
static atomic_bool is_over;

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/parley-index-XXXXXX");
    return sodium_init() >= 0 && mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return index_file_remove(folder) && rmdir(folder) == 0 ? 0 : -1;
}

static void pause_ms(void) {
    nanosleep(&(const struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Each transaction ends only once the other reader has begun its next one: there is always one. */
static void *read_on(void *context) {
    const size_t number = (size_t)(uintptr_t)context, other = 1 - number;
    sqlite3 *file = index_file_read(folder);
    while (file != NULL && !atomic_load(&is_over)) {
        sqlite3_exec(file, "BEGIN; SELECT count(*) FROM meta", NULL, NULL, NULL);
        const unsigned before = atomic_load(&began[other]);
        atomic_fetch_add(&began[number], 1);
        for (int i = 0; i < WAIT_MS && atomic_load(&began[other]) == before; i++) {
            pause_ms();
        }
        sqlite3_exec(file, "COMMIT", NULL, NULL, NULL);
    }
    sqlite3_close(file);
    return NULL;
}

static off_t log_bytes(void) {
    char path[128];
    struct stat about;
    snprintf(path, sizeof path, "%s/" INDEX_FILE_NAME "-wal", folder);
    return stat(path, &about) == 0 ? about.st_size : 0;
}

static void test_what_was_committed_last_is_bounded_while_there_is_always_a_question(void **state) {
    char error[INDEX_ERROR_MAX];
    pthread_t readers[READERS];
    sqlite3 *file;
    off_t most = 0;
    (void)state;
    assert_int_equal(index_file_open(folder, &file, error), INDEX_OPENED);
    for (size_t i = 0; i < READERS; i++) {
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, (void *)(uintptr_t)i), 0);
    }
    for (int i = 0; i < COMMITS; i++) {
        char sql[96];
        snprintf(sql, sizeof sql, "INSERT OR REPLACE INTO meta VALUES('filling', randomblob(%d))",
                 (int)COMMIT_BYTES);
        assert_int_equal(sqlite3_exec(file, sql, NULL, NULL, NULL), SQLITE_OK);
        most = log_bytes() > most ? log_bytes() : most;
    }
    atomic_store(&is_over, true);
    for (size_t i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
        assert_true(atomic_load(&began[i]) > 10);
    }
    sqlite3_close(file);
    assert_true(most <= LOG_BYTES_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        test_what_was_committed_last_is_bounded_while_there_is_always_a_question, make_folder,
        remove_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
