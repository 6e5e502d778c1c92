/* SPDX-License-Identifier: Apache-2.0 */

#include "verdict.h"

static bool is_prepared(const struct verdict *verdict) {
    return verdict->offload != NULL && verdict->offload->is_prepared;
}

static void swap(struct parley_buffer *a, struct parley_buffer *b) {
    const struct parley_buffer other = *a;
    *a = *b;
    *b = other;
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

/* The worker pool has measured the message that it checked. */
enum parley_status verdict_warn_of_size(const struct request_options *options,
                                        const struct verdict *verdict) {
    struct gateway *gateway = options->gateway;
    struct published_size size = {0};
    if (verdict->offload != NULL) {
        size = verdict->offload->size;
    } else {
        const struct size_limits limits = check_size_limits(gateway);
        PARLEY_TRY(check_size(options, verdict->message, verdict->slice->number, &limits,
                              &gateway->payload, &size));
    }
    return check_warn_of_size(options, verdict->message, &size);
}
