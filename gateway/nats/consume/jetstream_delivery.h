/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The reply subject of a message that a consumer delivers, which says where the message is in the
 * stream: $JS.ACK.<stream>.<consumer>.<tries>.<sseq>.<cseq>.<time>.<pending>, or with
 * <domain>.<account> after $JS.ACK (and perhaps one more token at the end). Private to nats/. */

#include <stdbool.h>
#include <stdint.h>

struct jetstream_delivery {
    uint64_t tries; /* 1: it is delivered for the first time; jetstream_delivery_read alone says it
                     */
    uint64_t stream_sequence;
    uint64_t consumer_sequence;
    int64_t time_ns;
    uint64_t pending; /* messages that the stream held and the consumer had not sent */
};
/* Returns: false if the subject is not one of these.  `reply`: may be NULL. */
bool jetstream_delivery_read(const char *reply, struct jetstream_delivery *out);
/* As jetstream_delivery_read, for the text after the consumer's name:
 * .<tries>.<sseq>.<cseq>.<time>.<pending>, and perhaps one more token. It takes a third of the
 * time, which counts for each event of a replay. */
bool jetstream_delivery_read_tail(const char *tail, struct jetstream_delivery *out);
