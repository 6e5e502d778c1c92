/* SPDX-License-Identifier: Apache-2.0 */

/* See gatherer.h. A message that came through a gateway is in memory already. Where that is not
 * known here, keeping it again changes nothing and costs less than finding out. What is no valid
 * message is nobody's request, and is passed over. */

#include "gatherer.h"

#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 64,
    ACK_WAIT_MS = 5000, /* after which another gateway takes what this one did not finish */
    RETURN_MS = 1000,
    STORED_BYTES_MAX = 64 * 1024 * 1024, /* the most that NATS takes */
};

struct gatherer {
    struct memory *memory;
    struct jetstream *jetstream;
    const struct channel *channel;
    struct parley_message *message;
    struct jetstream_share *share;
};

/* A message that is being kept.  Owns: itself, until the ack. */
struct keeping {
    struct jetstream *jetstream;
    char receipt[];
};

static void on_kept(void *context, const struct jetstream_ack *ack) {
    struct keeping *keeping = context;
    if (ack->outcome == JETSTREAM_STORED) {
        jetstream_share_ack(keeping->jetstream, keeping->receipt);
    } else {
        jetstream_share_return(keeping->jetstream, keeping->receipt, RETURN_MS);
    }
    free(keeping);
}

static enum parley_status keep(struct gatherer *gatherer, const struct parley_route *route,
                               const char *receipt) {
    const size_t size = strlen(receipt) + 1;
    struct keeping *keeping = malloc(sizeof *keeping + size);
    if (keeping == NULL) {
        return PARLEY_E_MEMORY;
    }
    keeping->jetstream = gatherer->jetstream;
    memcpy(keeping->receipt, receipt, size);
    if (memory_keep(gatherer->memory, route->remember_key, route->remember_value, on_kept,
                    keeping) != JETSTREAM_PUBLISHED) {
        free(keeping);
        return PARLEY_E_IO;
    }
    return PARLEY_OK;
}

static enum parley_status read_route(struct gatherer *gatherer,
                                     const struct jetstream_stored *stored,
                                     struct parley_route *out) {
    const struct parley_options options = {.message_bytes_max = STORED_BYTES_MAX,
                                           .subject_prefix = gatherer->channel->prefix,
                                           .stored_subject = stored->subject};
    struct parley_message *message = gatherer->message;
    PARLEY_TRY(parley_message_check(message, stored->payload, &parley_codec_json, &options,
                                    (struct parley_position){1, 1}));
    return parley_message_is_valid(message) ? parley_message_route(message, out) : PARLEY_OK;
}

static void on_taken(void *context, const struct jetstream_stored *stored, const char *receipt) {
    struct gatherer *gatherer = context;
    struct parley_route route = {0};
    enum parley_status status = read_route(gatherer, stored, &route);
    if (status == PARLEY_OK && route.remember_key.data != NULL &&
        memory_known(gatherer->memory, route.remember_key) == NULL) {
        status = keep(gatherer, &route, receipt);
    } else if (status != PARLEY_E_MEMORY) {
        jetstream_share_ack(gatherer->jetstream, receipt);
        status = PARLEY_OK;
    }
    if (status != PARLEY_OK) {
        jetstream_share_return(gatherer->jetstream, receipt, RETURN_MS);
    }
    parley_message_reset(gatherer->message);
}

enum parley_status gatherer_create(struct memory *memory, struct jetstream *jetstream,
                                   const struct channel *channel, struct parley_message *message,
                                   struct gatherer **out) {
    struct gatherer *gatherer = calloc(1, sizeof *gatherer);
    if (gatherer == NULL) {
        return PARLEY_E_MEMORY;
    }
    *gatherer = (struct gatherer){
        .memory = memory, .jetstream = jetstream, .channel = channel, .message = message};
    const struct jetstream_share_options options = {.stream = channel->stream,
                                                    .durable = channel->protocol->memory,
                                                    .filter = channel->memory_subjects,
                                                    .batch = BATCH,
                                                    .ack_wait_ms = ACK_WAIT_MS};
    const enum parley_status status =
        jetstream_share_open(jetstream, &options, on_taken, gatherer, &gatherer->share);
    if (status != PARLEY_OK) {
        free(gatherer);
        return status;
    }
    *out = gatherer;
    return PARLEY_OK;
}

void gatherer_stop(struct gatherer *gatherer) {
    if (gatherer != NULL) {
        jetstream_share_close(gatherer->share);
        gatherer->share = NULL;
    }
}

void gatherer_destroy(struct gatherer *gatherer) {
    gatherer_stop(gatherer);
    free(gatherer);
}
