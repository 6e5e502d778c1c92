/* SPDX-License-Identifier: Apache-2.0 */

/* What handlers share on one reactor. */

#include "gateway.h"

struct parley_message *gateway_message(struct gateway *gateway,
                                       const struct parley_protocol *protocol) {
    size_t i = 0;
    while (parley_protocols[i] != protocol) {
        i++;
    }
    return &gateway->messages[i];
}
