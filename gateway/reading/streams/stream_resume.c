/* SPDX-License-Identifier: Apache-2.0 */

/* Where a cursor is, for the reader's resume tokens (see stream_cursor.h). Nothing here changes the
 * cursor. */

#include "stream_cursor.h"

#include <stdio.h>

uint64_t stream_cursor_next(const struct stream_cursor *cursor) {
    uint64_t newest = cursor->hub->newest;
    return cursor->place == STREAM_PARKED && cursor->next <= newest ? newest + 1 : cursor->next;
}

uint64_t stream_cursor_lag(const struct stream_cursor *cursor) {
    const uint64_t next = stream_cursor_next(cursor), newest = cursor->hub->newest;
    const uint64_t last = newest > cursor->past_end ? newest : cursor->past_end;
    const uint64_t wanted = last < cursor->end ? last : cursor->end;
    return cursor->stage != STREAM_UNPLACED && next <= wanted ? wanted - next + 1 : 0;
}

uint64_t stream_cursor_waits_for(const struct stream_cursor *cursor, uint64_t *out_last) {
    *out_last = cursor->hub->newest;
    return cursor->next == cursor->awaited && cursor->next > *out_last ? cursor->awaited : 0;
}

/* There are messages before the awaited one, which the reader is not to get. */
static bool is_ahead(const struct stream_cursor *cursor) {
    uint64_t last;
    return stream_cursor_waits_for(cursor, &last) > last + 1;
}

/* While the reader has not got the gap of a stream that was created again: a token of the stream's
 * former life, with which it gets that gap when it comes back. */
static struct stream_token former_token(const struct stream_cursor *cursor) {
    const char *stream = channel_token(stream_hub_channel(cursor->hub));
    struct stream_token token;
    if (cursor->query->since == STREAM_SINCE_TOKEN &&
        stream_token_find(cursor->query->token, stream, &token) &&
        !parley_bytes_equal(token.created, parley_bytes_of(cursor->hub->created))) {
        return token;
    }
    return (struct stream_token){.created = parley_bytes_of(cursor->hub->former),
                                 .sequence = cursor->gap_first - 1};
}

size_t stream_cursor_token(const struct stream_cursor *cursor, char token[STREAM_TOKEN_MAX]) {
    if (stream_hub_is_core(cursor->hub)) {
        return 0; /* it can only begin with new messages */
    }
    struct stream_token at = {.created = parley_bytes_of(cursor->hub->created),
                              .sequence = stream_cursor_next(cursor) - 1,
                              .is_ahead = !cursor->has_gap && is_ahead(cursor)};
    at.is_reviewed = !cursor->has_gap && cursor->given == at.sequence + 1;
    if (cursor->has_gap && cursor->gap_last == 0) {
        at = former_token(cursor);
    } else if (cursor->has_gap) {
        at.sequence = cursor->gap_first - 1;
    } else if (at.sequence > cursor->end) {
        at.sequence = cursor->end; /* it jumped past its end, without a gap */
    }
    int length = snprintf(token, STREAM_TOKEN_MAX, "%s:%.*s:%s%ju",
                          channel_token(stream_hub_channel(cursor->hub)), (int)at.created.length,
                          at.created.data, stream_token_mark(&at), (uintmax_t)at.sequence);
    return length > 0 && length < STREAM_TOKEN_MAX ? (size_t)length : 0;
}
