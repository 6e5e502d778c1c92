/* SPDX-License-Identifier: Apache-2.0 */

/* What handlers share on one reactor. */

#include "gateway.h"

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

struct memory *gateway_memory(struct gateway *gateway, const struct parley_protocol *protocol) {
    return gateway->memories[index_of(protocol)];
}
