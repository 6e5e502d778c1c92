/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How many of the halts that are open each sender has made, so that one of them cannot take the
 * room of all others. A sender is named by a digest (halt_value_owner).
 * Threads: one at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "halt_value.h"

struct halt_share {
    LIST_ENTRY(halt_share) link;
    size_t count;
    char owner[HALT_DIGEST_LENGTH + 1];
};

/* Owns: the shares, each as long as its count is not 0.  Zeroed at first. */
struct halt_shares {
    LIST_HEAD(, halt_share) chains[256];
    size_t full_count; /* shares with `max` or more */
    size_t max;
};

bool halt_shares_is_full(const struct halt_shares *shares, const char *owner);
/* Counts one more.  Returns: NULL: no memory, and it is not counted. */
struct halt_share *halt_shares_add(struct halt_shares *shares, const char *owner);
/* Counts one less. NULL is allowed. */
void halt_shares_remove(struct halt_shares *shares, struct halt_share *share);
