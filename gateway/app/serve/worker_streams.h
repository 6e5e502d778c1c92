/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The streams of JetStream that must exist for one worker: those of all channels, the buckets and
 * object stores of their protocols, and the quarantine. */

#include "configuration.h"
#include "jetstream.h"

struct webhook_file;

struct worker_streams {
    struct jetstream_stream *all; /* those of parley_protocols first, in their order */
    size_t count;
    struct bucket_names *buckets; /* for the names of buckets … */
    size_t bucket_count;
    struct object_names *stores; /* … and of object stores: one per protocol */
};

/* Lists them.  Owns: the caller embeds it, zeroed at first, and finishes it in any case, after the
 * jetstream is destroyed; the configuration's channels outlive it.  `webhooks` NULL: none. */
enum parley_status worker_streams_list(struct worker_streams *streams,
                                       const struct configuration *configuration,
                                       const struct webhook_file *webhooks) PARLEY_MUST_CHECK;
void worker_streams_finish(struct worker_streams *streams);

/* Whether it is the stream of a protocol's messages; of which: parley_protocols[*out_protocol]. */
bool worker_streams_find_protocol(const struct worker_streams *streams,
                                  const struct jetstream_stream *stream, size_t *out_protocol);

/* Logs the kind of a stream that was found for operators. */
void worker_streams_tell_kind(const struct jetstream_place *place);
