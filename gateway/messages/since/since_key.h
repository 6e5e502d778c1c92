/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A key of a bucket, `{"since":MS}`, that says from which time on gateways write keys of some kind
 * (a task has expired, an agent is lost) there. What happened before that time has no key, and none
 * is written for it afterwards: a webhook that is new does not get the events of months. The first
 * gateway creates the key, all use its value, and it is written again before it is removed by age.
 *
 * Threads: that of the reactor. */

#include "jetstream.h"
#include "reactor.h"

/* Owns: the caller embeds it until the jetstream is destroyed, sets the members before since_ms,
 * and zeroes the others. All that it points to is borrowed. */
struct since_key {
    struct reactor *reactor;
    struct jetstream *jetstream;
    const char *bucket, *key;
    void (*known)(struct since_key *since); /* called once, when since_ms is set */
    int64_t since_ms;                       /* Unix time; 0: not known yet */
    /* Private. */
    struct jetstream_request *asked;
    bool is_stopped;
    struct reactor_timer again, renewal;
};

/* Begins to ask for it, and creates it if it is not there. */
void since_key_start(struct since_key *since);
/* It sends nothing from now on. Only after since_key_start. */
void since_key_stop(struct since_key *since);
