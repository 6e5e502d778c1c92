/* SPDX-License-Identifier: Apache-2.0 */

/* Ids that follow from another one, so that every gateway gives the same message the same id. They
 * have the form of a UUID of version 4. Two hashes by FNV-1a, mixed as splitmix64 does: one who
 * knows the id of a task can foresee them. */

#include <inttypes.h>
#include <stdio.h>

#include "roundtable.h"

static uint64_t add(uint64_t hash, char byte) {
    const uint64_t prime = 0x100000001B3;
    const char lower = (char)(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
    return (hash ^ (unsigned char)lower) * prime;
}

static uint64_t mix(uint64_t hash) {
    hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9;
    hash = (hash ^ hash >> 27) * 0x94D049BB133111EB;
    return hash ^ hash >> 31;
}

static uint64_t hash_of(uint64_t basis, const char *prefix, struct parley_bytes id) {
    uint64_t hash = basis;
    for (const char *at = prefix; *at != '\0'; at++) {
        hash = add(hash, *at);
    }
    for (size_t i = 0; i < id.length; i++) {
        hash = add(hash, id.data[i]);
    }
    return mix(hash);
}

void roundtable_make_id(const char *prefix, struct parley_bytes id, char out[ROUNDTABLE_ID_SIZE]) {
    const uint64_t high = hash_of(0xCBF29CE484222325, prefix, id);
    const uint64_t low = hash_of(0x9E3779B97F4A7C15, prefix, id);
    snprintf(out, ROUNDTABLE_ID_SIZE, "%08x-%04x-4%03x-%04x-%04x%08x", (unsigned)(high >> 32),
             (unsigned)(high >> 16 & 0xFFFF), (unsigned)(high & 0x0FFF),
             (unsigned)(0x8000 | (low >> 48 & 0x3FFF)), (unsigned)(low >> 32 & 0xFFFF),
             (unsigned)(low & 0xFFFFFFFF));
}

uint64_t roundtable_spread(struct parley_bytes id, uint64_t attempt, uint64_t most) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "attempt:%" PRIu64 ":", attempt);
    return hash_of(0xCBF29CE484222325, prefix, id) % (most + 1);
}
