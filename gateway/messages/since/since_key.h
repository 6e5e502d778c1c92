/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A key of a bucket that says since when gateways write keys of some kind there, so that what was
 * before is not told. It is created once over all gateways, `{"since":MS}`, and written again
 * before the bucket has forgotten it.
 *
 * Threads: that of the reactor. */

#include "jetstream.h"
#include "reactor.h"

/* Owns: the caller embeds it, zeroed but for the first members, until the jetstream is destroyed.
 */
struct since_key {
    struct reactor *reactor;
    struct jetstream *jetstream;
    const char *bucket, *key;
    void (*known)(struct since_key *since); /* since_ms is set: called once */
    int64_t since_ms;                       /* Unix time; 0: not known yet */
    struct jetstream_request *asked;        /* this and the rest: private */
    bool is_stopped;
    struct reactor_timer again, renewal;
};

/* Begins to ask for it, and creates it if it is not there. */
void since_key_start(struct since_key *since);
/* It begins nothing from now on. Only after since_key_start. */
void since_key_stop(struct since_key *since);
