/* SPDX-License-Identifier: Apache-2.0 */

/* See fact_ledger.h. A key's hash has 64 bits, under a secret of the process: 16 of them are its
 * slot, the other 48 are in the slot, beside the time. So one word contains all of it, and is read
 * and written without a lock; of two keys in one slot the last one is known. */

#include "fact_ledger.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <sodium.h>

enum {
    SLOT_BITS = 16,
    SLOT_COUNT = 1 << SLOT_BITS, /* 512 KiB: four seconds of 16,000 keys each */
    TICK_MS = 250,
};

struct fact_ledger {
    unsigned char secret[crypto_shorthash_KEYBYTES];
    _Atomic uint64_t slots[SLOT_COUNT]; /* 0: empty */
};

static uint64_t hash_of(const struct fact_ledger *ledger, struct parley_bytes subject) {
    uint64_t hash;
    _Static_assert(sizeof hash == crypto_shorthash_BYTES, "a hash has 64 bits");
    crypto_shorthash((unsigned char *)&hash, (const unsigned char *)subject.data, subject.length,
                     ledger->secret);
    return hash;
}

static uint64_t tick_of(int64_t now_ms) {
    return (uint64_t)(now_ms / TICK_MS) % SLOT_COUNT;
}

struct fact_ledger *fact_ledger_create(void) {
    struct fact_ledger *ledger = calloc(1, sizeof *ledger);
    if (ledger != NULL) {
        randombytes_buf(ledger->secret, sizeof ledger->secret);
    }
    return ledger;
}

void fact_ledger_destroy(struct fact_ledger *ledger) {
    free(ledger);
}

void fact_ledger_note(struct fact_ledger *ledger, struct parley_bytes subject, int64_t now_ms) {
    if (ledger == NULL) {
        return;
    }
    const uint64_t hash = hash_of(ledger, subject), slot = hash % SLOT_COUNT;
    atomic_store_explicit(&ledger->slots[slot], hash - slot + tick_of(now_ms),
                          memory_order_relaxed);
}

bool fact_ledger_knows(const struct fact_ledger *ledger, struct parley_bytes subject,
                       int64_t now_ms) {
    if (ledger == NULL) {
        return false;
    }
    const uint64_t hash = hash_of(ledger, subject), slot = hash % SLOT_COUNT;
    const uint64_t found = atomic_load_explicit(&ledger->slots[slot], memory_order_relaxed);
    const uint64_t age = (tick_of(now_ms) - found) % SLOT_COUNT;
    return found != 0 && found / SLOT_COUNT == hash / SLOT_COUNT && age <= FACT_LEDGER_MS / TICK_MS;
}
