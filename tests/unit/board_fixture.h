/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A board that is given entries as a watch would deliver them. Work and its keys have numbers. */

#include "board.h"

enum { WAITERS_MAX = 8 };
#define CLAIM_ID "5c1f7d0e-9b1a-4c57-8a43-1f0a8a9b2c3d"

struct world {
    struct board *board;
    uint64_t sequence;
    struct board_waiter waiters[WAITERS_MAX];
    struct board_wish wishes[WAITERS_MAX];
    struct parley_bytes words[WAITERS_MAX];
    unsigned woken;
    bool is_own; /* entries are written by this process, and not yet delivered */
};

void world_on_wake(struct board_waiter *waiter);

/* An empty one, which has not read all yet.  Owns: the caller destroys world->board. */
void world_open(struct world *world, size_t works_max);
/* For cmocka: one that has read all. */
int world_set_up(void **state);
int world_tear_down(void **state);

void world_write_id(unsigned number, char out[40]);
/* An entry of the bucket, now. */
void world_write_bytes(struct world *world, unsigned number, const char *suffix,
                       struct parley_bytes value);
void world_write(struct world *world, unsigned number, const char *suffix, const char *value);

/* A request: "security.scan high" and perhaps " galahad" to whom. */
void world_request(struct world *world, unsigned number, const char *what);
void world_request_until(struct world *world, unsigned number, const char *what,
                         const char *deadline);
/* One that tries `first` again. */
void world_retry(struct world *world, unsigned number, unsigned first, const char *what);
void world_claim(struct world *world, unsigned number, const char *holder, const char *claim_id);
/* Its end, which says when it may be tried again. */
void world_fail(struct world *world, unsigned number, const char *retry_at);

/* "galahad": any; "galahad d:security t:intel.weather": at most one of each. */
const struct board_wish *world_wish(struct world *world, size_t slot, const char *text);
unsigned find_number(const struct board_find *find);
/* Returns: the number of the work, 0: none. */
unsigned world_take(struct world *world, const char *text);
/* There is none. */
void world_park(struct world *world, size_t slot, const char *text);
unsigned world_take_woken(struct world *world, size_t slot);
