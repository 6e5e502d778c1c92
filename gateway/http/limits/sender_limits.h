/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The limits of each sender, across all workers. A sender is a name (a token's, say) or, without a
 * name, an address. Names and addresses have separate tables: however many addresses a client has,
 * they push no name out of a table. */

#include <stdatomic.h>

#include "rate_table.h"
#include "tally.h"

enum limit_kind { LIMIT_ADDRESS, LIMIT_NAME, LIMIT_KINDS };

struct limit_sender {
    enum limit_kind kind;
    struct limit_key key;
};

/* How many of a thing each sender may have open. */
struct limit_openings {
    struct tally *tally;
    _Atomic uint64_t max;
    atomic_bool
        exempts_loopback; /* addresses of this machine are not counted: proxies, test programs */
};

struct limits {
    struct limit_secret secrets[LIMIT_KINDS];
    /* of senders without a rate of their own: limits_rate */
    _Atomic uint64_t rate_per_s[RATE_UNITS];
    struct rate_table *rates[LIMIT_KINDS];
    struct limit_openings connections, streams;
};

/* The cost, in messages, of a request that is refused as invalid. */
#define LIMITS_INVALID_COST 4

struct limits_options {
    struct rate rate;
    uint64_t connections_max; /* of the whole server */
    /* Of each sender; 0: a quarter of connections_max, and loopback is not counted. */
    uint64_t connections_each, streams_each;
};

/* Finish it even after a failure. */
enum parley_status limits_init(struct limits *limits,
                               const struct limits_options *options) PARLEY_MUST_CHECK;
void limits_finish(struct limits *limits);

/* Changes the rate of senders, and how many streams each may have.  Threads: any, at any time. */
void limits_change(struct limits *limits, const struct limits_options *options);

/* Returns the rate of senders that have none of their own.  Threads: any. */
struct rate limits_rate(const struct limits *limits);

/* `name`: an address's network (peer.h) or a name, as its kind says.  Threads: any. */
struct limit_sender limits_sender(const struct limits *limits, enum limit_kind kind,
                                  struct parley_bytes name);

/* Counts one more that the sender opens.  `is_loopback`: its address is this machine's; it has no
 * name. Returns: false if it has as many as it may; otherwise *out_entry is for tally_leave. */
bool limits_open(const struct limit_openings *openings, const struct limit_sender *sender,
                 bool is_loopback, struct tally_entry **out_entry);
