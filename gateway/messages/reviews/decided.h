/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The decisions on the messages of one stream, as a reading of the bucket finds them. */

#include <parley/arena.h>

#include "jetstream.h"
#include "review_value.h"

struct decision {
    uint64_t sequence;         /* of the message */
    struct review_value value; /* empty if it was read without values */
};

/* Owns: all of it. */
struct decided {
    struct parley_arena arena;
    char prefix[512]; /* of the subjects of its keys: "$KV.parley_reviews.VLP." */
    struct decision *items;
    size_t count, capacity;
};

/* `bucket`: as of channel.h; `stream`: that has the messages.  Owns: copies both. */
void decided_init(struct decided *decided, const char *bucket, const char *stream);
void decided_finish(struct decided *decided);

/* Notes what an entry of the bucket says; keys of other streams and of other kinds are passed over.
 * Returns: false: no memory. */
bool decided_note(struct decided *decided, const struct jetstream_stored *stored);
/* All are noted: they can be found. */
void decided_sort(struct decided *decided);
/* Returns: NULL: there is no decision on that message. */
const struct review_value *decided_find(const struct decided *decided, uint64_t sequence);
