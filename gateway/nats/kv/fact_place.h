/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where the message is that the value of a fact is of: what parley_decision_write_fact has written
 * before the protocol's members. */

#include "jetstream_types.h"

struct fact_place {
    char stream[JETSTREAM_STREAM_MAX];
    uint64_t sequence; /* not 0 */
};

/* Reads it from {"stream":…,"seq":…,…}.  Returns: false, with *out unchanged: it does not say. */
bool fact_place_read(struct parley_bytes value, struct fact_place *out);
