/* SPDX-License-Identifier: Apache-2.0 */

#include "process_limits.h"

#include "configuration.h"
#include "routes.h"

static struct limits_options limits_of(const struct configuration *configuration) {
    return (struct limits_options){
        .rate = {{[RATE_MESSAGES] = configuration->rate_messages,
                  [RATE_BYTES] = configuration->rate_bytes}},
        .connections_max = configuration->connections_max,
        .connections_each = configuration->connections_per_address,
        .streams_each = configuration->streams_per_token,
    };
}

static void bound_bytes(struct process_limits *bounds, const struct configuration *configuration) {
    budget_bound(&bounds->budget, (size_t)configuration->gather_max_bytes);
    atomic_store(&bounds->codings.max_bytes, (size_t)configuration->compression_max_bytes);
    atomic_store(&bounds->spools.max_bytes, configuration->spool_max_bytes);
}

enum parley_status process_limits_init(struct process_limits *bounds,
                                       const struct configuration *configuration) {
    const struct limits_options options = limits_of(configuration);
    bound_bytes(bounds, configuration);
    PARLEY_TRY(limits_init(&bounds->limits, &options));
    gateway_write_full_answer(bounds->limits.connections.max, &bounds->full_answer);
    return parley_buffer_status(&bounds->full_answer);
}

void process_limits_change(struct process_limits *bounds,
                           const struct configuration *configuration) {
    const struct limits_options options = limits_of(configuration);
    bound_bytes(bounds, configuration);
    limits_change(&bounds->limits, &options);
}

void process_limits_finish(struct process_limits *bounds) {
    limits_finish(&bounds->limits);
    parley_buffer_finish(&bounds->full_answer);
}
