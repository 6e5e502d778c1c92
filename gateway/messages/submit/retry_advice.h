/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Advises a client that does not know whether its message was stored: whether it may be sent again,
 * and how. It promises nothing that JetStream does not keep. */

#include "gateway.h"
#include "publication.h"

#define RETRY_TEXT_MAX 256

/* When the client gets this advice. */
enum retry_time {
    RETRY_LATE, /* once the time for an ack has passed */
    RETRY_SOON, /* before that */
};

/* Writes a sentence or two about a publication of `protocol` whose mark says `repeat`. */
void retry_advice(const struct gateway *gateway, const struct parley_protocol *protocol,
                  enum publication_repeat repeat, enum retry_time time, char out[RETRY_TEXT_MAX]);
