/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What to say to somebody who does not know whether a message was stored: whether it may be sent
 * again, and how. Nothing is promised that JetStream does not keep. */

#include "gateway.h"
#include "publication.h"

#define REPETITION_TEXT_MAX 256

/* When the client hears of it. */
enum repetition_time {
    REPETITION_LATE, /* once the time for an ack has passed */
    REPETITION_SOON, /* before that */
};

/* Writes a sentence or two about a publication of `protocol` whose mark says `repeat`. */
void repetition_advice(const struct gateway *gateway, const struct parley_protocol *protocol,
                       enum publication_repeat repeat, enum repetition_time time,
                       char out[REPETITION_TEXT_MAX]);
