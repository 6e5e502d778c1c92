/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How the ack of a publication is read. */

#include "jetstream_types.h"

/* The texts of an ack. A longer text is cut off. */
struct jetstream_ack_texts {
    char stream[256];
    char error[512];
};

/* Reads an ack: JETSTREAM_STORED; JETSTREAM_REFUSED, with its stream if the ack names one; or, when
 * memory ran out before it was known which, JETSTREAM_TIMEOUT with an error that says so.
 * Owns: the texts of `out` are in `texts`, or static.  Returns: false if it is not an ack. */
bool jetstream_ack_read(struct parley_bytes payload, struct jetstream_ack_texts *texts,
                        struct jetstream_ack *out);
