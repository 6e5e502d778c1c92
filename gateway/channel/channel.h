/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where a protocol's messages lie in NATS. Everybody who names a stream or a subject asks here:
 * --subject-prefix changes both, so that several fleets can share one NATS. */

#include <parley/arena.h>
#include <parley/protocol.h>

struct channel {
    const struct parley_protocol *protocol;
    const char *prefix;          /* the subject's first token; NULL: the protocol's name */
    const char *stream;          /* ROUNDTABLE, or ROUNDTABLE_FLEET-A */
    const char *subjects;        /* what that stream holds: roundtable.>, or fleet-a.> */
    const char *memory;          /* the bucket of its memory: parley_tasks, or parley_tasks_fleet-a;
                                    NULL: it has none */
    const char *memory_subjects; /* what the protocol's memory learns from; NULL: nothing */
};

#define CHANNEL_ERROR_MAX 256

/* Makes the channels of all protocols, in the order of parley_protocols.
 * `prefixes`: "roundtable=fleet-a,vlp=x", or NULL.  Owns: everything lives in `arena`.
 * Returns: PARLEY_E_UNSUPPORTED, and what is wrong with `prefixes` in `error`; PARLEY_E_MEMORY. */
enum parley_status channels_create(const char *prefixes, struct parley_arena *arena,
                                   const struct channel **out,
                                   char error[CHANNEL_ERROR_MAX]) PARLEY_MUST_CHECK;

/* Of all channels, that of `protocol`. */
const struct channel *channel_find(const struct channel *channels,
                                   const struct parley_protocol *protocol);
