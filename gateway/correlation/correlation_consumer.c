/* SPDX-License-Identifier: Apache-2.0 */

/* See correlation_consumer.h. The correlation of a message that came through a gateway is written
 * already. Where this worker does not know that, writing it again changes nothing and costs less
 * than finding out. A message that is not valid has no correlation, and is acknowledged unread. */

#include "correlation_consumer.h"

#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 64,
    ACK_WAIT_MS = 5000, /* after which another gateway takes what this one did not finish */
    RETURN_MS = 1000,
    STORED_BYTES_MAX = 64 * 1024 * 1024, /* the most that NATS takes */
};

struct correlation_consumer {
    struct correlation_store *store;
    struct jetstream *jetstream;
    const struct channel *channel;
    struct parley_message *message;
    struct shared_consumer *shared;
};

/* A correlation that is being written, freed with its ack. */
struct keeping {
    struct jetstream *jetstream;
    char receipt[];
};

static void on_kept(void *context, const struct jetstream_ack *ack) {
    struct keeping *keeping = context;
    if (ack->outcome == JETSTREAM_STORED) {
        shared_consumer_ack(keeping->jetstream, keeping->receipt);
    } else {
        shared_consumer_return(keeping->jetstream, keeping->receipt, RETURN_MS);
    }
    free(keeping);
}

static enum parley_status keep(struct correlation_consumer *consumer,
                               const struct parley_route *route, const char *receipt) {
    const size_t size = strlen(receipt) + 1;
    struct keeping *keeping = malloc(sizeof *keeping + size);
    if (keeping == NULL) {
        return PARLEY_E_MEMORY;
    }
    keeping->jetstream = consumer->jetstream;
    memcpy(keeping->receipt, receipt, size);
    if (correlation_store_put(consumer->store, route->remember_key, route->remember_value, on_kept,
                              keeping) != JETSTREAM_PUBLISHED) {
        free(keeping);
        return PARLEY_E_IO;
    }
    return PARLEY_OK;
}

static enum parley_status read_route(struct correlation_consumer *consumer,
                                     const struct jetstream_stored *stored,
                                     struct parley_route *out) {
    const struct parley_options options = {.message_bytes_max = STORED_BYTES_MAX,
                                           .subject_prefix = consumer->channel->prefix,
                                           .stored_subject = stored->subject};
    struct parley_message *message = consumer->message;
    PARLEY_TRY(parley_message_check(message, stored->payload, &parley_codec_json, &options,
                                    (struct parley_position){1, 1}));
    return parley_message_is_valid(message) ? parley_message_route(message, out) : PARLEY_OK;
}

static void on_taken(void *context, const struct jetstream_stored *stored, const char *receipt) {
    struct correlation_consumer *consumer = context;
    struct parley_route route = {0};
    enum parley_status status = read_route(consumer, stored, &route);
    if (status == PARLEY_OK && route.remember_key.data != NULL &&
        correlation_store_cached(consumer->store, route.remember_key) == NULL) {
        status = keep(consumer, &route, receipt);
    } else if (status != PARLEY_E_MEMORY) {
        shared_consumer_ack(consumer->jetstream, receipt);
        status = PARLEY_OK;
    }
    if (status != PARLEY_OK) {
        shared_consumer_return(consumer->jetstream, receipt, RETURN_MS);
    }
    parley_message_reset(consumer->message);
}

enum parley_status correlation_consumer_create(struct correlation_store *store,
                                               struct jetstream *jetstream,
                                               const struct channel *channel,
                                               struct parley_message *message,
                                               struct correlation_consumer **out) {
    struct correlation_consumer *consumer = calloc(1, sizeof *consumer);
    if (consumer == NULL) {
        return PARLEY_E_MEMORY;
    }
    *consumer = (struct correlation_consumer){
        .store = store, .jetstream = jetstream, .channel = channel, .message = message};
    const struct shared_consumer_options options = {.stream = channel->stream,
                                                    .durable = channel->protocol->memory,
                                                    .filter = channel->correlation_subjects,
                                                    .batch = BATCH,
                                                    .ack_wait_ms = ACK_WAIT_MS};
    const enum parley_status status =
        shared_consumer_open(jetstream, &options, on_taken, consumer, &consumer->shared);
    if (status != PARLEY_OK) {
        free(consumer);
        return status;
    }
    *out = consumer;
    return PARLEY_OK;
}

void correlation_consumer_stop(struct correlation_consumer *consumer) {
    if (consumer != NULL) {
        shared_consumer_close(consumer->shared);
        consumer->shared = NULL;
    }
}

void correlation_consumer_destroy(struct correlation_consumer *consumer) {
    correlation_consumer_stop(consumer);
    free(consumer);
}
