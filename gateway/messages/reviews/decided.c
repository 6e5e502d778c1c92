/* SPDX-License-Identifier: Apache-2.0 */

#include "decided.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void decided_init(struct decided *decided, const char *bucket, const char *stream) {
    *decided = (struct decided){.items = NULL};
    parley_arena_init(&decided->arena, 0);
    snprintf(decided->prefix, sizeof decided->prefix, "$KV.%s.%s.", bucket, stream);
}

void decided_finish(struct decided *decided) {
    free(decided->items);
    parley_arena_finish(&decided->arena);
}

/* A key without a value was removed by hand: nothing is decided. */
static bool is_decision(const struct decided *decided, const struct jetstream_stored *stored,
                        uint64_t *out_sequence) {
    const size_t length = strlen(decided->prefix);
    return strncmp(stored->subject, decided->prefix, length) == 0 &&
           review_sequence_read(parley_bytes_of(stored->subject + length), out_sequence) &&
           jetstream_stored_header(stored, "KV-Operation") == NULL;
}

static bool grow(struct decided *decided) {
    const size_t capacity = decided->capacity > 0 ? 2 * decided->capacity : 64;
    struct decision *items = realloc(decided->items, capacity * sizeof *items);
    if (items != NULL) {
        decided->items = items;
        decided->capacity = capacity;
    }
    return items != NULL;
}

bool decided_note(struct decided *decided, const struct jetstream_stored *stored) {
    struct decision decision = {.sequence = 0};
    if (!is_decision(decided, stored, &decision.sequence)) {
        return true;
    }
    const char *text = parley_arena_copy(&decided->arena, stored->payload);
    if (text == NULL || (decided->count == decided->capacity && !grow(decided)) ||
        review_value_read(parley_bytes_of(text), &decided->arena, &decision.value) != PARLEY_OK) {
        return false;
    }
    decided->items[decided->count++] = decision;
    return true;
}

static int by_sequence(const void *a, const void *b) {
    const uint64_t one = ((const struct decision *)a)->sequence;
    const uint64_t other = ((const struct decision *)b)->sequence;
    return (one > other) - (one < other);
}

void decided_sort(struct decided *decided) {
    if (decided->count > 0) {
        qsort(decided->items, decided->count, sizeof *decided->items, by_sequence);
    }
}

const struct review_value *decided_find(const struct decided *decided, uint64_t sequence) {
    const struct decision wanted = {.sequence = sequence};
    const struct decision *found =
        decided->count > 0
            ? bsearch(&wanted, decided->items, decided->count, sizeof *decided->items, by_sequence)
            : NULL;
    return found != NULL ? &found->value : NULL;
}
