/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How parley proves who it is to the servers of --nats: the files of the options, checked once at
 * the start, so that an error names the file instead of a connection that never comes. */

#include <parley/buffer.h>

#include "bus.h"
#include "configuration.h"

struct nats_identity {
    struct bus_identity bus; /* borrows from the configuration, and from `nkey` */
    char nkey[64];
};

/* Returns: false, with an `error`: a sentence that names the option and the file, and quotes no
 * content. */
bool nats_identity_load(const struct configuration *configuration, struct nats_identity *out,
                        struct parley_buffer *error);
