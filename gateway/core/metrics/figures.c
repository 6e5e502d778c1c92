/* SPDX-License-Identifier: Apache-2.0 */

#include "figures.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE_BYTES = 64 };

const struct figure_row figure_rows[FIGURE_COUNT] = {
    [FIGURE_RECEIVED_BYTES] = {.metric = METRIC_HTTP_RECEIVED_BYTES},
    [FIGURE_SENT_BYTES] = {.metric = METRIC_HTTP_SENT_BYTES},
    [FIGURE_ACTIVE_REQUESTS] = {.metric = METRIC_HTTP_ACTIVE_REQUESTS},
    [FIGURE_IN_FLIGHT_MESSAGES] = {.metric = METRIC_IN_FLIGHT_MESSAGES},
    [FIGURE_IN_FLIGHT_LIMIT] = {.metric = METRIC_IN_FLIGHT_LIMIT},
    [FIGURE_GATHERED_BYTES] = {.metric = METRIC_GATHERED_BYTES},
    [FIGURE_GATHERED_LIMIT] = {.metric = METRIC_GATHERED_LIMIT},
    [FIGURE_SPOOLED_BYTES] = {.metric = METRIC_SPOOLED_BYTES},
    [FIGURE_SPOOLED_LIMIT] = {.metric = METRIC_SPOOLED_LIMIT},
    [FIGURE_COMPRESSION_BYTES] = {.metric = METRIC_COMPRESSION_BYTES},
    [FIGURE_WORKERS] = {.metric = METRIC_WORKERS},
    [FIGURE_WORKERS_READY] = {.metric = METRIC_WORKERS_READY},
    [FIGURE_TASKS_OPEN] = {.metric = METRIC_TASKS_OPEN},
    [FIGURE_TASKS_WAITING] = {.metric = METRIC_TASKS_WAITING},
    [FIGURE_CONNECTIONS] = {.metric = METRIC_HTTP_CONNECTIONS},
    [FIGURE_CONNECTIONS_LIMIT] = {.metric = METRIC_HTTP_CONNECTIONS_LIMIT},
    [FIGURE_REFUSED_CONNECTIONS] = {.metric = METRIC_HTTP_REFUSED_CONNECTIONS},
    [FIGURE_HANDSHAKES_DONE] = {.metric = METRIC_TLS_HANDSHAKES, .label = "done"},
    [FIGURE_HANDSHAKES_FAILED] = {.metric = METRIC_TLS_HANDSHAKES, .label = "failed"},
    [FIGURE_AWAITED_REPLIES] = {.metric = METRIC_AWAITED_REPLIES},
    [FIGURE_HELD_MESSAGES] = {.metric = METRIC_HELD_MESSAGES},
    [FIGURE_REJECTED_KEPT] = {.metric = METRIC_REJECTED_MESSAGES, .label = "kept"},
    [FIGURE_REJECTED_DROPPED] = {.metric = METRIC_REJECTED_MESSAGES, .label = "dropped"},
    [FIGURE_HALTS_OPEN] = {.metric = METRIC_HALTS_OPEN},
    [FIGURE_HALTED_MESSAGES] = {.metric = METRIC_HALTED_MESSAGES},
    [FIGURE_HALTS_REFUSED] = {.metric = METRIC_HALTS_REFUSED},
    [FIGURE_WEBHOOKS_DELIVERED] = {.metric = METRIC_WEBHOOK_REQUESTS, .label = "delivered"},
    [FIGURE_WEBHOOKS_FAILED] = {.metric = METRIC_WEBHOOK_REQUESTS, .label = "failed"},
    [FIGURE_WEBHOOKS_GIVEN_UP] = {.metric = METRIC_WEBHOOK_EVENTS_GIVEN_UP},
    [FIGURE_WEBHOOKS_IN_FLIGHT] = {.metric = METRIC_WEBHOOK_REQUESTS_ACTIVE},
    [FIGURE_REMINDERS] = {.metric = METRIC_REMINDERS},
    [FIGURE_INDEX_LAG] = {.metric = METRIC_INDEX_LAG},
    [FIGURE_INDEX_BYTES] = {.metric = METRIC_INDEX_BYTES},
    [FIGURE_NATS_CONNECTIONS] = {.metric = METRIC_NATS_CONNECTIONS},
    [FIGURE_NATS_RECONNECTS] = {.metric = METRIC_NATS_RECONNECTS},
    [FIGURE_EMBEDDED_RESTARTS] = {.metric = METRIC_EMBEDDED_RESTARTS},
    [FIGURE_PROCESS_CPU_US] = {.metric = METRIC_PROCESS_CPU, .per_unit = 1000000},
    [FIGURE_PROCESS_RESIDENT_BYTES] = {.metric = METRIC_PROCESS_RESIDENT_BYTES},
    [FIGURE_PROCESS_VIRTUAL_BYTES] = {.metric = METRIC_PROCESS_VIRTUAL_BYTES},
    [FIGURE_PROCESS_OPEN_FDS] = {.metric = METRIC_PROCESS_OPEN_FDS},
    [FIGURE_PROCESS_MAX_FDS] = {.metric = METRIC_PROCESS_MAX_FDS},
    [FIGURE_PROCESS_START_MS] = {.metric = METRIC_PROCESS_START_TIME, .per_unit = 1000},
};

const char *const outcome_names[OUTCOME_COUNT] = {[OUTCOME_ACCEPTED] = "accepted",
                                                  [OUTCOME_DUPLICATE] = "duplicate",
                                                  [OUTCOME_INVALID] = "invalid",
                                                  [OUTCOME_REFUSED] = "refused",
                                                  [OUTCOME_FAILED] = "failed"};

const char *const validity_names[VALIDITY_COUNT] = {
    [VALIDITY_VALID] = "valid", [VALIDITY_INVALID] = "invalid", [VALIDITY_FAILED] = "failed"};

/* The usual one is found first. The last, for others, has no number. */
const unsigned figures_statuses[FIGURES_STATUSES] = {
    0,   200, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 413, 414, 415,
    416, 417, 421, 422, 429, 431, 500, 501, 503, 504, 505, 206, 301, 302, 426};

size_t figures_status_index(unsigned status) {
    for (size_t i = 1; i < FIGURES_STATUSES - 1; i++) {
        if (figures_statuses[i] == status) {
            return i;
        }
    }
    return status == 0 ? 0 : FIGURES_STATUSES - 1;
}

struct figures *figures_create(void) {
    const size_t count = parley_protocol_count();
    const size_t used = sizeof(struct figures) + count * sizeof(struct protocol_figures);
    const size_t size = (used + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    struct figures *figures = aligned_alloc(CACHE_LINE_BYTES, size);
    if (figures != NULL) {
        memset(figures, 0, size);
    }
    return figures;
}

void figures_destroy(struct figures *figures) {
    free(figures);
}

static const struct counter *at(const struct figures *block, size_t offset) {
    return (const void *)((const char *)(const void *)block + offset);
}

uint64_t figures_sum(const struct figures_set *set, size_t offset) {
    uint64_t sum = 0;
    for (size_t i = 0; i < set->count; i++) {
        sum += counter_read(at(set->blocks[i], offset));
    }
    return sum;
}

uint64_t figures_maximum(const struct figures_set *set, size_t offset) {
    uint64_t most = 0;
    for (size_t i = 0; i < set->count; i++) {
        const uint64_t value = counter_read(at(set->blocks[i], offset));
        most = value > most ? value : most;
    }
    return most;
}

uint64_t figures_value(const struct figures_set *set, enum figure figure) {
    return figures_sum(set, offsetof(struct figures, values) + figure * sizeof(struct counter));
}

enum parley_status figures_set_create(size_t workers, struct figures_set *out) {
    *out = (struct figures_set){.blocks = calloc(workers + 1, sizeof *out->blocks)};
    if (out->blocks == NULL) {
        return PARLEY_E_MEMORY;
    }
    while (out->count < workers + 1) {
        out->blocks[out->count] = figures_create();
        if (out->blocks[out->count] == NULL) {
            return PARLEY_E_MEMORY;
        }
        out->count++;
    }
    return PARLEY_OK;
}

void figures_set_destroy(struct figures_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        figures_destroy(set->blocks[i]);
    }
    free(set->blocks);
}
