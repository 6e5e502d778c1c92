/* SPDX-License-Identifier: Apache-2.0 */

#include "limits.h"

#include <sodium.h>

enum {
    SENDERS = 65536, /* 2 MiB, of which only what is used takes memory */
    OPENINGS_SHARE = 4,
    OPENINGS_EXPECTED = 1024,
};

static enum parley_status openings_init(struct limit_openings *openings, uint64_t each,
                                        uint64_t connections_max) {
    const uint64_t share = connections_max / OPENINGS_SHARE;
    openings->max = each > 0 ? each : share > 0 ? share : 1;
    openings->exempts_loopback = each == 0;
    return tally_create(OPENINGS_EXPECTED, &openings->tally);
}

enum parley_status limits_init(struct limits *limits, const struct limits_options *options) {
    *limits = (struct limits){.rate = options->rate};
    if (sodium_init() < 0) {
        return PARLEY_E_IO;
    }
    for (size_t kind = 0; kind < LIMIT_KINDS; kind++) {
        limit_secret_draw(&limits->secrets[kind]);
        PARLEY_TRY(rate_table_create(SENDERS, &limits->rates[kind]));
    }
    PARLEY_TRY(
        openings_init(&limits->connections, options->connections_each, options->connections_max));
    return openings_init(&limits->streams, options->streams_each, options->connections_max);
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
