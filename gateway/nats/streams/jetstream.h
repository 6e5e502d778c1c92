/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* JetStream over one reactor's bus: the streams that must exist, acknowledged publishing in a
 * bounded window, requests, and two kinds of consumers. It speaks JetStream's JSON API over bus.h
 * and never blocks. This file is the whole's life, and includes the rest of the interface. */

#include "jetstream_api.h"
#include "jetstream_map.h"
#include "jetstream_publisher.h"
#include "jetstream_trouble.h"
#include "jetstream_types.h"
#include "ordered_consumer.h"
#include "shared_consumer.h"

/* Connects and checks the streams in the background.  Owns: copies options and events; borrows all
 * that they point to; returns a new jetstream, which the caller destroys. */
enum parley_status jetstream_create(struct reactor *reactor,
                                    const struct jetstream_options *options,
                                    const struct jetstream_events *events,
                                    struct jetstream **out) PARLEY_MUST_CHECK;
/* Close its consumers first. The callbacks of publications in flight are not called. The reactor
 * must not run afterwards. NULL is allowed. */
void jetstream_destroy(struct jetstream *jetstream);

/* Messages can be accepted. */
bool jetstream_is_ready(const struct jetstream *jetstream);
/* The streams exist and can be read, even if nothing can be stored. */
bool jetstream_can_read(const struct jetstream *jetstream);
/* Connected to NATS, whether or not the streams exist. */
bool jetstream_is_connected(const struct jetstream *jetstream);
/* How often it was connected. */
uint64_t jetstream_connection_count(const struct jetstream *jetstream);

/* The version of the nats-server that it is connected to, or was last (server_version.h). */
uint32_t jetstream_server_version(const struct jetstream *jetstream);
/* The number of copies of the stream with most of them, as it was found; 0 if none was found so
 * far. */
unsigned jetstream_copies(const struct jetstream *jetstream);

/* A stream as the last look at it found it. */
struct jetstream_stream_state {
    const char *name; /* NULL if no stream is here at present, or it was named before */
    bool is_usable;   /* it takes messages */
    uint64_t bytes, messages;
    uint64_t bytes_max; /* beyond it messages are refused; 0 if there is no such limit */
};
/* `number`: those of all of options.streams, one after the other.  Returns: false after the last.
 */
bool jetstream_stream_state(const struct jetstream *jetstream, size_t number,
                            struct jetstream_stream_state *out);

/* For headers and payload together; 0 while it is not connected. */
size_t jetstream_max_payload_bytes(const struct jetstream *jetstream);
