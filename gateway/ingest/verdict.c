/* SPDX-License-Identifier: Apache-2.0 */

#include "verdict.h"

#include "correlation_lookup.h"

static bool is_prepared(const struct verdict *verdict) {
    return verdict->offload != NULL && verdict->offload->is_prepared;
}

static void swap(struct parley_buffer *a, struct parley_buffer *b) {
    const struct parley_buffer other = *a;
    *a = *b;
    *b = other;
}

bool verdict_is_unpublishable(const struct request_options *options,
                              const struct verdict *verdict) {
    return verdict->offload != NULL && !jetstream_is_accepting(options->gateway->jetstream);
}

enum parley_status verdict_prepare(const struct request_options *options,
                                   const struct verdict *verdict, struct publication *out) {
    struct gateway *gateway = options->gateway;
    if (is_prepared(verdict)) {
        *out = verdict->offload->publication;
        return verdict->offload->prepared;
    }
    gateway->payload.limit_bytes = jetstream_max_payload_bytes(gateway->jetstream);
    return publication_prepare(verdict->message, &options->publication, verdict->slice->number,
                               &gateway->payload, out);
}

/* The offload's payload takes the place of the gateway's meanwhile. */
enum jetstream_publish verdict_publish(struct request_options *options,
                                       const struct verdict *verdict,
                                       const struct publication *publication,
                                       struct jetstream_sender *sender, struct halt_hold *hold,
                                       jetstream_ack_fn *done, void *context) {
    if (!is_prepared(verdict)) {
        return correlation_lookup_publish(options, publication, sender, hold, done, context);
    }
    swap(&options->gateway->payload, &verdict->offload->payload);
    const enum jetstream_publish published =
        correlation_lookup_publish(options, publication, sender, hold, done, context);
    swap(&options->gateway->payload, &verdict->offload->payload);
    return published;
}

enum parley_status verdict_convert(const struct request_options *options,
                                   const struct verdict *verdict, struct parley_buffer *out) {
    if (is_prepared(verdict)) {
        swap(out, &verdict->offload->payload);
        return verdict->offload->prepared;
    }
    parley_buffer_clear(out);
    return verdict->message->protocol->convert(verdict->message, options->to, out);
}

enum parley_status verdict_encode(const struct verdict *verdict, struct parley_buffer *out) {
    if (is_prepared(verdict)) {
        parley_buffer_append(out, parley_buffer_bytes(&verdict->offload->payload));
        return verdict->offload->prepared;
    }
    return verdict->message->protocol->encode(verdict->message, out);
}

/* The worker pool has done it already for what it checked. */
enum parley_status verdict_warn_of_size(const struct request_options *options,
                                        const struct verdict *verdict) {
    struct gateway *gateway = options->gateway;
    if (verdict->offload != NULL) {
        return PARLEY_OK;
    }
    return check_warn_of_size(options, verdict->message, verdict->slice->number,
                              jetstream_max_payload_bytes(gateway->jetstream), &gateway->payload);
}
