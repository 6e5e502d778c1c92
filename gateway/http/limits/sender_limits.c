/* SPDX-License-Identifier: Apache-2.0 */

#include "sender_limits.h"

#include <sodium.h>

enum {
    SENDERS = 65536, /* 2 MiB, of which only the used part takes memory */
    OPENINGS_SHARE = 4,
    OPENINGS_EXPECTED = 1024,
};

static void openings_bound(struct limit_openings *openings, uint64_t each,
                           uint64_t connections_max) {
    const uint64_t share = connections_max / OPENINGS_SHARE;
    atomic_store(&openings->max, each > 0 ? each : share > 0 ? share : 1);
    atomic_store(&openings->exempts_loopback, each == 0);
}

/* Each figure changes by itself: senders checked during the change may see a new one and an old
 * one. */
void limits_change(struct limits *limits, const struct limits_options *options) {
    for (size_t unit = 0; unit < RATE_UNITS; unit++) {
        atomic_store(&limits->rate_per_s[unit], options->rate.per_s[unit]);
    }
    openings_bound(&limits->streams, options->streams_each, options->connections_max);
}

struct rate limits_rate(const struct limits *limits) {
    struct rate rate;
    for (size_t unit = 0; unit < RATE_UNITS; unit++) {
        rate.per_s[unit] = atomic_load_explicit(&limits->rate_per_s[unit], memory_order_relaxed);
    }
    return rate;
}

enum parley_status limits_init(struct limits *limits, const struct limits_options *options) {
    *limits = (struct limits){0};
    limits_change(limits, options);
    openings_bound(&limits->connections, options->connections_each, options->connections_max);
    if (sodium_init() < 0) {
        return PARLEY_E_IO;
    }
    for (size_t kind = 0; kind < LIMIT_KINDS; kind++) {
        limit_secret_draw(&limits->secrets[kind]);
        PARLEY_TRY(rate_table_create(SENDERS, &limits->rates[kind]));
    }
    PARLEY_TRY(tally_create(OPENINGS_EXPECTED, &limits->connections.tally));
    return tally_create(OPENINGS_EXPECTED, &limits->streams.tally);
}

void limits_finish(struct limits *limits) {
    for (size_t kind = 0; kind < LIMIT_KINDS; kind++) {
        rate_table_destroy(limits->rates[kind]);
    }
    tally_destroy(limits->connections.tally);
    tally_destroy(limits->streams.tally);
    *limits = (struct limits){0};
}

struct limit_sender limits_sender(const struct limits *limits, enum limit_kind kind,
                                  struct parley_bytes name) {
    return (struct limit_sender){kind, limit_key_of(&limits->secrets[kind], name)};
}

bool limits_open(const struct limit_openings *openings, const struct limit_sender *sender,
                 bool is_loopback, struct tally_entry **out_entry) {
    *out_entry = NULL;
    if (is_loopback && openings->exempts_loopback) {
        return true;
    }
    *out_entry = tally_enter(openings->tally, &sender->key, openings->max);
    return *out_entry != NULL;
}
