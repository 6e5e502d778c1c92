/* SPDX-License-Identifier: Apache-2.0 */

/* Shared by handlers on one reactor. */

#include "gateway.h"

/* The memory that most messages need, and use again. */
enum { PAYLOAD_KEPT_BYTES = 64 * 1024, ARENA_KEPT_BYTES = 8 * 1024 };

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
    struct parley_message *message = gateway_message(gateway, protocol);
    if (!message->is_certain || message->arena.used_bytes > ARENA_KEPT_BYTES) {
        parley_message_reset(message);
    }
    if (gateway->payload.capacity > PAYLOAD_KEPT_BYTES) {
        parley_buffer_finish(&gateway->payload);
    }
    if (gateway->answer.capacity > PAYLOAD_KEPT_BYTES) {
        parley_buffer_finish(&gateway->answer);
    }
}

struct protocol_figures *gateway_figures(struct gateway *gateway,
                                         const struct parley_protocol *protocol) {
    return &gateway->figures->protocols[index_of(protocol)];
}

struct fact_store *gateway_fact_store(struct gateway *gateway,
                                      const struct parley_protocol *protocol) {
    return gateway->fact_stores[index_of(protocol)];
}

struct halt_gate *gateway_halt_gate(struct gateway *gateway,
                                    const struct parley_protocol *protocol) {
    return gateway->halt_gates != NULL ? gateway->halt_gates[index_of(protocol)] : NULL;
}

struct object_store *gateway_object_store(const struct gateway *gateway,
                                          const struct parley_protocol *protocol) {
    return gateway->object_stores != NULL ? gateway->object_stores[index_of(protocol)] : NULL;
}
