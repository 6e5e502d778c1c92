/* SPDX-License-Identifier: Apache-2.0 */

#include "stream_start.h"

enum { CREATION_SKEW_NS = 250 * 1000000 };

bool stream_start_is_same(struct parley_bytes created, uint64_t sequence,
                          const struct jetstream_stream_info *info) {
    int64_t created_ns, other_ns;
    if (parley_bytes_equal(created, parley_bytes_of(info->created))) {
        return true;
    }
    return (info->is_replicated || sequence <= info->last_sequence) &&
           stream_time_parse(created, &created_ns) &&
           stream_time_parse(parley_bytes_of(info->created), &other_ns) &&
           created_ns - other_ns <= CREATION_SKEW_NS && other_ns - created_ns <= CREATION_SKEW_NS;
}

bool stream_start_is_former(const struct stream_query *query, const char *stream,
                            const struct jetstream_stream_info *info) {
    struct stream_token token;
    return query->since == STREAM_SINCE_TOKEN && stream_token_find(query->token, stream, &token) &&
           !stream_start_is_same(token.created, token.sequence, info);
}

bool stream_start_find(const struct stream_query *query, const char *stream,
                       const struct jetstream_stream_info *info, uint64_t *out) {
    struct stream_token token;
    switch (query->since) {
    case STREAM_SINCE_ALL:
        *out = info->first_sequence;
        return true;
    case STREAM_SINCE_SEQUENCE:
        *out = query->sequence;
        return true;
    case STREAM_SINCE_TIME:
        /* An empty stream has no times: whatever will be stored is newer. */
        *out = info->first_sequence;
        return info->first_time_ns == 0 || info->first_time_ns >= query->time_ns;
    case STREAM_SINCE_TOKEN:
        if (stream_token_find(query->token, stream, &token)) {
            /* The token's message was stored once, unless the token says otherwise: if it is past
             * the end now, the stream has lost its end, and the next message is new. */
            const bool is_lost = !token.is_ahead && token.sequence > info->last_sequence &&
                                 !stream_start_is_former(query, stream, info);
            *out = (is_lost ? info->last_sequence : token.sequence) + 1;
            return true;
        }
        break; /* the token is older than this stream */
    case STREAM_SINCE_NOW:
        break;
    }
    *out = info->last_sequence + 1;
    return true;
}

bool stream_start_is_awaited(const struct stream_query *query, const char *stream,
                             const struct jetstream_stream_info *info, uint64_t sequence) {
    struct stream_token token;
    const bool is_asked_for =
        query->since == STREAM_SINCE_SEQUENCE ||
        (query->since == STREAM_SINCE_TOKEN && stream_token_find(query->token, stream, &token) &&
         token.is_ahead && !stream_start_is_former(query, stream, info));
    return is_asked_for && !query->is_ending && sequence > info->last_sequence;
}

/* Past the end the message was lost with the stream's end, and another one will get its sequence.
 */
uint64_t stream_start_reviewed(const struct stream_query *query, const char *stream,
                               const struct jetstream_stream_info *info, uint64_t sequence) {
    struct stream_token token;
    const bool is_reviewed = query->since == STREAM_SINCE_TOKEN &&
                             stream_token_find(query->token, stream, &token) && token.is_reviewed &&
                             !stream_start_is_former(query, stream, info);
    return is_reviewed && sequence <= info->last_sequence ? sequence : 0;
}
