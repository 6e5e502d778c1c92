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
#include <sys/statvfs.h>
#include <unistd.h>

#include "../lib/fault_heap.h"
#include "spool.h"

enum { LINE = 100, MANY = 5000 };

/* The disk of every file here. */
static struct statvfs disk;

int fstatvfs(int fd, struct statvfs *out) {
    (void)fd;
    *out = disk;
    return 0;
}

struct world {
    char folder[32];
    struct spool_quota quota;
    struct spool spool;
};

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    *state = world;
    disk = (struct statvfs){.f_frsize = 1 << 20, .f_blocks = 1 << 20, .f_bavail = 1 << 20};
    snprintf(world->folder, sizeof world->folder, "/tmp/test-spool-XXXXXX");
    if (mkdtemp(world->folder) == NULL) {
        return -1;
    }
    world->quota.max_bytes = UINT64_MAX / 2;
    spool_init(&world->spool, world->folder, &world->quota);
    return 0;
}

static int tear_down(void **state) {
    struct world *world = *state;
    spool_finish(&world->spool);
    assert_int_equal(world->quota.used_bytes, 0);
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

/* ---- room ---- */

/* Its length when it is first refused room. */
static uint64_t fill(struct spool *spool) {
    char line[LINE + 1];
    size_t i = 0;
    while (spool_has_room(spool) && i < MANY) {
        assert_true(spool_write(spool, line_of(i++, line)));
    }
    return spool_length(spool);
}

/* (attack F2) */
static void test_all_files_share_one_quota(void **state) {
    struct world *world = *state;
    struct spool other;
    spool_init(&other, world->folder, &world->quota);
    world->quota.max_bytes = 3 * 64 * 1024;
    const uint64_t length = fill(&world->spool);
    assert_true(length > 2 * 64 * 1024 && length < 5 * 64 * 1024);
    assert_in_range(fill(&other), 1, 65 * 1024); /* what is in memory */
    assert_int_equal(other.file_bytes, 0);
    check_lines(&world->spool, length / LINE, 4096);
    assert_int_equal(spool_forget(&world->spool, length), 0); /* it was read */
    assert_true(spool_has_room(&other));
    spool_finish(&other);
}

static void test_one_without_room_still_keeps_what_must_be_kept(void **state) {
    struct world *world = *state;
    world->quota.max_bytes = 0;
    assert_int_equal(write_lines(&world->spool, MANY), MANY);
    assert_false(world->spool.has_failed);
    check_lines(&world->spool, MANY, 4096);
}

/* (attack F2) */
static void test_the_disk_keeps_its_reserve(void **state) {
    struct world *world = *state;
    static const struct {
        uint64_t size_mib, left_mib;
        bool has_room;
    } rows[] = {
        {100 * 1024, 11 * 1024, true},
        {100 * 1024, 10 * 1024, false},
        {100 * 1024, 0, false},
        {5 * 1024, 1025, true},
        {5 * 1024, 1024, false},
        {5 * 1024, 600, false},
        {300, 300, false},
        {0, 0, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct spool spool;
        spool_init(&spool, world->folder, &world->quota);
        disk = (struct statvfs){.f_frsize = 1 << 20,
                                .f_blocks = (fsblkcnt_t)rows[i].size_mib,
                                .f_bfree = (fsblkcnt_t)rows[i].size_mib,
                                .f_bavail = (fsblkcnt_t)rows[i].left_mib};
        assert_int_equal(fill(&spool) == MANY * LINE, rows[i].has_room);
        spool_finish(&spool);
    }
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
        TEST(test_all_files_share_one_quota),
        TEST(test_one_without_room_still_keeps_what_must_be_kept),
        TEST(test_the_disk_keeps_its_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
