/* SPDX-License-Identifier: Apache-2.0 */

#include "board_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct world *woken_world;

void world_on_wake(struct board_waiter *waiter) {
    woken_world->woken |= 1u << (waiter - woken_world->waiters);
}

void world_open(struct world *world, size_t works_max) {
    const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("roundtable"));
    const struct board_limits limits = {.works_max = works_max};
    *world = (struct world){0};
    assert_int_equal(board_create(protocol, "tasks", &limits, &world->board), PARLEY_OK);
    board_on_began(world->board);
    woken_world = world;
}

int world_set_up(void **state) {
    static struct world world;
    world_open(&world, 0);
    board_on_current(world.board);
    *state = &world;
    return 0;
}

int world_tear_down(void **state) {
    board_destroy(((struct world *)*state)->board);
    return 0;
}

void world_write_id(unsigned number, char out[40]) {
    snprintf(out, 40, "00000000-0000-4000-8000-%012u", number);
}

void world_write_bytes(struct world *world, unsigned number, const char *suffix,
                       struct parley_bytes value) {
    char key[80];
    world_write_id(number, key);
    strcat(key, suffix);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct bucket_entry entry = {.key = parley_bytes_of(key),
                                       .value = value,
                                       .sequence = ++world->sequence,
                                       .time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec};
    if (world->is_own) {
        board_on_written(world->board, &entry);
    } else {
        board_on_entry(world->board, &entry);
    }
}

void world_write(struct world *world, unsigned number, const char *suffix, const char *value) {
    world_write_bytes(world, number, suffix, parley_bytes_of(value));
}

/* `retry_of`: 0: none. */
static void request_as(struct world *world, unsigned number, unsigned retry_of, const char *what,
                       const char *deadline) {
    char task[40] = "", priority[20] = "", to[20] = "", value[500], to_member[40] = "null";
    char first[40], retry_member[60] = "null";
    sscanf(what, "%39s %19s %19s", task, priority, to);
    if (to[0] != '\0') {
        snprintf(to_member, sizeof to_member, "\"%s\"", to);
    }
    if (retry_of != 0) {
        world_write_id(retry_of, first);
        snprintf(retry_member, sizeof retry_member, "\"%s\"", first);
    }
    snprintf(value, sizeof value,
             "{\"stream\":\"ROUNDTABLE\",\"seq\":%u,\"task\":\"%s\",\"from\":\"tim\",\"to\":%s,"
             "\"priority\":\"%s\",\"deadline\":\"%s\",\"retry_of\":%s,\"digest\":\"x\"}",
             number, task, to_member, priority, deadline, retry_member);
    world_write(world, number, "", value);
}

void world_request_until(struct world *world, unsigned number, const char *what,
                         const char *deadline) {
    request_as(world, number, 0, what, deadline);
}

void world_retry(struct world *world, unsigned number, unsigned first, const char *what) {
    request_as(world, number, first, what, "2099-01-01T00:00:00Z");
}

void world_fail(struct world *world, unsigned number, const char *retry_at) {
    char value[300];
    snprintf(value, sizeof value,
             "{\"stream\":\"ROUNDTABLE\",\"seq\":%u,\"state\":\"failed\",\"from\":\"galahad\","
             "\"error\":\"timeout\",\"retryable\":true,\"retry_at\":\"%s\"}",
             2000 + number, retry_at);
    world_write(world, number, ".end", value);
}

void world_request(struct world *world, unsigned number, const char *what) {
    world_request_until(world, number, what, "2099-01-01T00:00:00Z");
}

void world_claim(struct world *world, unsigned number, const char *holder, const char *claim_id) {
    char value[300];
    snprintf(value, sizeof value,
             "{\"stream\":\"ROUNDTABLE\",\"seq\":%u,\"holder\":\"%s\",\"claim\":\"%s\",\"at\":"
             "\"2026-01-01T00:00:00Z\",\"request\":1}",
             1000 + number, holder, claim_id);
    world_write(world, number, ".claim", value);
}

const struct board_wish *world_wish(struct world *world, size_t slot, const char *text) {
    static char agents[WAITERS_MAX][20], words[WAITERS_MAX][40];
    static struct parley_bytes lists[WAITERS_MAX];
    char kind = 0;
    sscanf(text, "%19s %c:%39s", agents[slot], &kind, words[slot]);
    lists[slot] = parley_bytes_of(words[slot]);
    world->wishes[slot] = (struct board_wish){.agent = parley_bytes_of(agents[slot]),
                                              .domains = &lists[slot],
                                              .tasks = &lists[slot],
                                              .domain_count = kind == 'd' ? 1 : 0,
                                              .task_count = kind == 't' ? 1 : 0};
    return &world->wishes[slot];
}

unsigned find_number(const struct board_find *find) {
    return (unsigned)strtoul(find->id + 24, NULL, 10);
}

unsigned world_take(struct world *world, const char *text) {
    struct board_find find;
    return board_take(world->board, world_wish(world, WAITERS_MAX - 1, text), 1, &find)
               ? find_number(&find)
               : 0;
}

void world_park(struct world *world, size_t slot, const char *text) {
    struct board_find find;
    world->waiters[slot].wish = world_wish(world, slot, text);
    world->waiters[slot].wake = world_on_wake;
    assert_false(board_take_or_wait(world->board, &world->waiters[slot], 1, &find));
}

unsigned world_take_woken(struct world *world, size_t slot) {
    struct board_find find;
    const bool is_found = board_take_or_wait(world->board, &world->waiters[slot], 1, &find);
    return is_found ? find_number(&find) : 0;
}
