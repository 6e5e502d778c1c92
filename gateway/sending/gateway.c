/* SPDX-License-Identifier: Apache-2.0 */

/* What handlers share on one reactor. */

#include "gateway.h"

enum { PAYLOAD_KEPT_BYTES = 64 * 1024 }; /* most are smaller, and use it again */

static size_t index_of(const struct parley_protocol *protocol) {
    size_t i = 0;
    while (parley_protocols[i] != protocol) {
        i++;
    }
    return i;
}

struct parley_message *gateway_message(struct gateway *gateway,
                                       const struct parley_protocol *protocol) {
    return &gateway->messages[index_of(protocol)];
}

void gateway_forget_message(struct gateway *gateway, const struct parley_protocol *protocol) {
    parley_message_reset(gateway_message(gateway, protocol));
    if (gateway->payload.capacity > PAYLOAD_KEPT_BYTES) {
        parley_buffer_finish(&gateway->payload);
    }
}

struct memory *gateway_memory(struct gateway *gateway, const struct parley_protocol *protocol) {
    return gateway->memories[index_of(protocol)];
}
