/* SPDX-License-Identifier: Apache-2.0 */

#include "repeats.h"

#include <stdlib.h>

#include "limit_key.h"

enum { WAYS = 4, SETS = REPEATS_MAX / WAYS };

/* One message of one sender. */
struct repeat {
    struct limit_key key;
    int64_t at_ms;  /* of the last time */
    uint32_t tries; /* 0: the place is free */
};

struct repeats {
    struct limit_secret secret;
    struct repeat sets[SETS][WAYS];
};

static struct repeats *create(void) {
    struct repeats *repeats = calloc(1, sizeof *repeats);
    if (repeats != NULL) {
        limit_secret_draw(&repeats->secret);
    }
    return repeats;
}

void repeats_destroy(struct repeats *repeats) {
    free(repeats);
}

/* The parts are in an order: what one sender is called is no text of another one. */
static struct limit_key key_of(const struct repeats *repeats, const struct parley_bytes parts[3]) {
    const uint64_t factor = 0x9E3779B97F4A7C15;
    struct limit_key key = {0, 0};
    for (size_t i = 0; i < 3; i++) {
        const struct limit_key part = limit_key_of(&repeats->secret, parts[i]);
        key.high = key.high * factor + part.high;
        key.low = key.low * factor + part.low;
    }
    return key;
}

static bool is_over(const struct repeat *repeat, int64_t now_ms) {
    return repeat->tries == 0 || now_ms - repeat->at_ms > REPEATS_WITHIN_MS;
}

/* The place of this message, or else the one that is free or the oldest. */
static struct repeat *find(struct repeat set[WAYS], const struct limit_key *key) {
    struct repeat *oldest = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].tries > 0 && limit_key_equals(&set[i].key, key)) {
            return &set[i];
        }
        const bool is_better =
            oldest->tries > 0 && (set[i].tries == 0 || set[i].at_ms < oldest->at_ms);
        oldest = is_better ? &set[i] : oldest;
    }
    oldest->tries = 0;
    return oldest;
}

uint32_t repeats_note(struct repeats **repeats, struct parley_bytes sender,
                      struct parley_bytes protocol, struct parley_bytes text, int64_t now_ms) {
    if (*repeats == NULL) {
        *repeats = create();
    }
    if (*repeats == NULL) {
        return 1;
    }
    const struct limit_key key =
        key_of(*repeats, (const struct parley_bytes[]){sender, protocol, text});
    struct repeat *repeat = find((*repeats)->sets[key.low % SETS], &key);
    const uint32_t tries = is_over(repeat, now_ms)      ? 1
                           : repeat->tries < UINT32_MAX ? repeat->tries + 1
                                                        : UINT32_MAX;
    *repeat = (struct repeat){.key = key, .at_ms = now_ms, .tries = tries};
    return tries;
}
