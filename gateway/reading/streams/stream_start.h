/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the place where a query begins in a stream, by the server's description of the stream.
 * Nothing here has state. */

#include "jetstream.h"
#include "stream_query.h"

/* Whether a stream created at `created` (RFC 3339) that held `sequence` may be the one of `info`.
 * In a cluster each nats-server 2.9 keeps its own time of creation, milliseconds from the others',
 * and may answer with it after a restart; so a difference that small counts only if the sequence
 * went back as well, and of a replicated stream not even then: a leader that was just elected may
 * not know of the last messages yet. */
bool stream_start_is_same(struct parley_bytes created, uint64_t sequence,
                          const struct jetstream_stream_info *info);
/* Whether the query's resume token is of an earlier stream of this name, which was deleted. */
bool stream_start_is_former(const struct stream_query *query, const char *stream,
                            const struct jetstream_stream_info *info);
/* Finds the first sequence to deliver.  Returns: false when only the server can find it: a time
 * between the stream's first message and now. */
bool stream_start_find(const struct stream_query *query, const char *stream,
                       const struct jetstream_stream_info *info, uint64_t *out);
/* Returns: `sequence`, which was found, if the reader has got before what that message approves;
 * else 0. */
uint64_t stream_start_reviewed(const struct stream_query *query, const char *stream,
                               const struct jetstream_stream_info *info, uint64_t sequence);
/* Whether the query asked for this sequence, which is not stored so far, and waits for it. */
bool stream_start_is_awaited(const struct stream_query *query, const char *stream,
                             const struct jetstream_stream_info *info, uint64_t sequence);
