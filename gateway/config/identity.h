/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What libparley must be given because it is pure: who and when. */

#include <stddef.h>
#include <stdint.h>

/* A new UUID of version 4, in lower case. sodium_init() has been called.  Threads: any. */
void identity_uuid(char out[37]);

/* Random bytes fetched ahead, for those who need many ids: the system is asked once for 128 of
 * them. Zeroed at first.  Threads: one at a time. */
struct identity_pool {
    unsigned char bytes[2048];
    size_t left;
};

/* As identity_uuid. `pool` NULL: the system is asked. */
void identity_uuid_from(struct identity_pool *pool, char out[37]);

/* The present time as RFC 3339 in UTC with milliseconds: 2025-12-14T10:30:00.123Z.
 * Threads: any. */
void identity_now(char out[32]);

/* The same as Unix time. Cheap enough to be asked for every message.  Threads: any. */
int64_t identity_now_seconds(void);
