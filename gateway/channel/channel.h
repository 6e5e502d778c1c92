/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The names of a protocol's stream, subjects and bucket in NATS. All other modules take these names
 * from here: --subject-prefix changes them, so that several fleets can share one NATS. */

#include <parley/arena.h>
#include <parley/protocol.h>

struct channel {
    const struct parley_protocol *protocol;
    const char *prefix;   /* the subject's first token; NULL: the protocol's name */
    const char *stream;   /* ROUNDTABLE, or ROUNDTABLE_FLEET-A */
    const char *subjects; /* of that stream: roundtable.>, or fleet-a.> */
    /* The bucket of its correlations: parley_tasks, or parley_tasks_fleet-a; NULL: it has none. */
    const char *correlation_bucket;
    /* Whose messages have correlations, also when they were published straight to NATS; NULL: none
     * have. */
    const char *correlation_subjects;
};

#define CHANNEL_ERROR_MAX 256

/* Creates the channels of all protocols, in the order of parley_protocols.
 * `prefixes`: "roundtable=fleet-a,vlp=x", or NULL.  Owns: everything is allocated in `arena`.
 * Returns: PARLEY_E_UNSUPPORTED, with the reason in `error`; PARLEY_E_MEMORY. */
enum parley_status channels_create(const char *prefixes, struct parley_arena *arena,
                                   const struct channel **out,
                                   char error[CHANNEL_ERROR_MAX]) PARLEY_MUST_CHECK;

/* The channel of `protocol`, which must be among `channels`. */
const struct channel *channel_find(const struct channel *channels,
                                   const struct parley_protocol *protocol);
