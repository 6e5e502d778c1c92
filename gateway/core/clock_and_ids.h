/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The time and fresh ids, which libparley is given because it is pure. */

#include <stddef.h>
#include <stdint.h>

/* Writes a new UUID of version 4, in lower case. sodium_init() has been called.  Threads: any. */
void id_new(char out[37]);

/* Random bytes fetched ahead, for callers that need many ids: one system call for 128 of them.
 * Zeroed at first.  Threads: one at a time. */
struct id_pool {
    unsigned char bytes[2048];
    size_t left;
};

/* As id_new, from `pool`; NULL: from the system. */
void id_new_from(struct id_pool *pool, char out[37]);

/* Writes the present time as RFC 3339 in UTC with milliseconds: 2025-12-14T10:30:00.123Z.
 * Threads: any. */
void clock_now_text(char out[32]);

/* Returns: the present time as Unix time. Cheap enough to be called for every message.
 * Threads: any. */
int64_t clock_now_seconds(void);
