/* SPDX-License-Identifier: Apache-2.0 */

/* Results that wait: in memory, in a file without a name, and when there is no room for one. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../lib/fault_heap.h"
#include "spool.h"

enum { LINE = 100, MANY = 5000 };

struct world {
    char folder[32];
    struct spool spool;
};

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    *state = world;
    snprintf(world->folder, sizeof world->folder, "/tmp/test-spool-XXXXXX");
    if (mkdtemp(world->folder) == NULL) {
        return -1;
    }
    spool_init(&world->spool, world->folder);
    return 0;
}

static int tear_down(void **state) {
    struct world *world = *state;
    spool_finish(&world->spool);
    rmdir(world->folder);
    free(world);
    return 0;
}

/* The line with this number. */
static struct parley_bytes line_of(size_t number, char line[LINE + 1]) {
    snprintf(line, LINE + 1, "%0*zu\n", LINE - 1, number);
    return (struct parley_bytes){line, LINE};
}

/* Writes lines until one is refused.  Returns: how many were kept. */
static size_t write_lines(struct spool *spool, size_t count) {
    char line[LINE + 1];
    for (size_t i = 0; i < count; i++) {
        if (!spool_write(spool, line_of(i, line))) {
            return i;
        }
    }
    return count;
}

/* What is kept is the first `count` lines, read in pieces of `size`. */
static void check_lines(const struct spool *spool, size_t count, size_t size) {
    assert_int_equal(spool_length(spool), count * LINE);
    char *all = malloc(count * LINE + 1);
    char *piece = malloc(size);
    assert_true(all != NULL && piece != NULL);
    size_t length = 0;
    for (;;) {
        const ssize_t got = spool_read(spool, length, piece, size);
        assert_true(got >= 0);
        if (got == 0) {
            break;
        }
        assert_true(length + (size_t)got <= count * LINE);
        memcpy(all + length, piece, (size_t)got);
        length += (size_t)got;
    }
    assert_int_equal(length, count * LINE);
    for (size_t i = 0; i < count; i++) {
        char line[LINE + 1];
        assert_memory_equal(all + i * LINE, line_of(i, line).data, LINE);
    }
    free(piece);
    free(all);
}

static size_t files_in(const char *folder) {
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(dir);
    return count;
}

static void test_an_empty_one_ends_at_once(void **state) {
    struct world *world = *state;
    char byte;
    assert_int_equal(spool_read(&world->spool, 0, &byte, 1), 0);
    assert_int_equal(spool_length(&world->spool), 0);
}

static void test_a_little_needs_no_file(void **state) {
    struct world *world = *state;
    assert_int_equal(write_lines(&world->spool, 600), 600);
    assert_int_equal(world->spool.fd, -1);
    check_lines(&world->spool, 600, 4096);
}

static void test_much_waits_in_a_file_without_a_name(void **state) {
    struct world *world = *state;
    assert_int_equal(write_lines(&world->spool, MANY), MANY);
    assert_true(world->spool.fd >= 0);
    assert_true(world->spool.tail.length <= 64 * 1024);
    assert_int_equal(files_in(world->folder), 0);
    check_lines(&world->spool, MANY, 4096);
    check_lines(&world->spool, MANY, 777);
    check_lines(&world->spool, MANY, 1 << 20);
}

static void test_a_result_larger_than_a_piece_is_kept_whole(void **state) {
    struct world *world = *state;
    const size_t count = 3000; /* lines in one */
    char *large = malloc(count * LINE + 1);
    assert_non_null(large);
    for (size_t i = 0; i < count; i++) {
        line_of(i, large + i * LINE);
    }
    assert_true(spool_write(&world->spool, (struct parley_bytes){large, LINE}));
    assert_true(
        spool_write(&world->spool, (struct parley_bytes){large + LINE, (count - 1) * LINE}));
    free(large);
    check_lines(&world->spool, count, 4096);
}

static void test_without_a_folder_what_was_kept_before_stays(void **state) {
    struct world *world = *state;
    rmdir(world->folder);
    const size_t kept = write_lines(&world->spool, MANY);
    assert_true(kept > 0 && kept < MANY);
    assert_true(world->spool.has_failed);
    check_lines(&world->spool, kept, 4096);
    assert_false(spool_write(&world->spool, PARLEY_BYTES("more")));
    check_lines(&world->spool, kept, 4096);
}

static void test_on_a_full_disk_what_was_kept_before_stays(void **state) {
    struct world *world = *state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN); /* so that a write past the limit fails, like one on a full disk */
    const struct rlimit small = {.rlim_cur = 150001, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const size_t kept = write_lines(&world->spool, MANY);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(kept * LINE > 150001 && kept < MANY); /* the tail is not in the file */
    check_lines(&world->spool, kept, 4096);
}

static void test_without_memory_what_was_kept_before_stays(void **state) {
    struct world *world = *state;
    const size_t kept = write_lines(&world->spool, 7);
    char *large = calloc(1, 10000);
    assert_non_null(large);
    fault_heap_arm(0, SIZE_MAX);
    assert_false(spool_write(&world->spool, (struct parley_bytes){large, 10000}));
    fault_heap_disarm();
    free(large);
    check_lines(&world->spool, kept, 4096);
}

static void test_a_file_that_cannot_be_read_is_no_end(void **state) {
    struct world *world = *state;
    assert_int_equal(write_lines(&world->spool, MANY), MANY);
    assert_int_equal(ftruncate(world->spool.fd, LINE), 0);
    char buffer[2 * LINE];
    assert_int_equal(spool_read(&world->spool, 0, buffer, sizeof buffer), LINE);
    assert_int_equal(spool_read(&world->spool, LINE, buffer, sizeof buffer), -1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_an_empty_one_ends_at_once),
        TEST(test_a_little_needs_no_file),
        TEST(test_much_waits_in_a_file_without_a_name),
        TEST(test_a_result_larger_than_a_piece_is_kept_whole),
        TEST(test_without_a_folder_what_was_kept_before_stays),
        TEST(test_on_a_full_disk_what_was_kept_before_stays),
        TEST(test_without_memory_what_was_kept_before_stays),
        TEST(test_a_file_that_cannot_be_read_is_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
