/* SPDX-License-Identifier: Apache-2.0 */

/* Whether work has one of several words: by bits first, since there may be 100,000 pieces of it. */

#include "board_state.h"

enum { BITS_A_PLACE = 64, PLACES = sizeof((struct board_words *)0)->bits / sizeof(uint64_t) };

void words_add(const struct board *board, struct board_words *words,
               const struct parley_bytes *texts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t hash = board_hash(board, texts[i]);
        words->bits[hash / BITS_A_PLACE % PLACES] |= UINT64_C(1) << hash % BITS_A_PLACE;
    }
}

bool words_may_have(const struct board_words *words, uint64_t hash) {
    return (words->bits[hash / BITS_A_PLACE % PLACES] >> hash % BITS_A_PLACE & 1) != 0;
}

bool words_are_among(const struct parley_bytes *texts, size_t count, struct parley_bytes text) {
    for (size_t i = 0; i < count; i++) {
        if (parley_bytes_equal(texts[i], text)) {
            return true;
        }
    }
    return false;
}
