/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Identifies whom a limit counts: the hash of a name or an address, under a secret of this process.
 * All keys have one size, no client can find two that collide, and no client can know which senders
 * share a place in a table. */

#include <stdbool.h>
#include <stdint.h>

#include <parley/bytes.h>

enum { LIMIT_SECRET_BYTES = 16 };

struct limit_secret {
    unsigned char bytes[LIMIT_SECRET_BYTES];
};

struct limit_key {
    uint64_t high, low;
};

/* Draws a new secret.  After: sodium_init. */
void limit_secret_draw(struct limit_secret *secret);

/* Returns the key of the sender that is called `name`, among those of its kind. */
struct limit_key limit_key_of(const struct limit_secret *secret, struct parley_bytes name);

static inline bool limit_key_equals(const struct limit_key *a, const struct limit_key *b) {
    return a->high == b->high && a->low == b->low;
}
