/* SPDX-License-Identifier: Apache-2.0 */

#include "shared_figures.h"

#include "board.h"
#include "configuration.h"
#include "halt_set.h"
#include "index_keeper.h"
#include "process.h"

enum {
    COPY_MS = 500,
    COPIES_A_COUNT = 10, /* of open descriptors: before Linux 6.2 that takes long */
};

static void copy_bounds(const struct shared_sources *from, struct figures *out) {
    const struct process_limits *bounds = from->bounds;
    counter_set(&out->values[FIGURE_GATHERED_BYTES], budget_used(&bounds->budget));
    counter_set(&out->values[FIGURE_GATHERED_LIMIT], budget_limit(&bounds->budget));
    counter_set(&out->values[FIGURE_SPOOLED_BYTES], atomic_load(&bounds->spools.used_bytes));
    counter_set(&out->values[FIGURE_SPOOLED_LIMIT], bounds->spools.max_bytes);
    counter_set(&out->values[FIGURE_COMPRESSION_BYTES], coding_quota_used(&bounds->codings));
    counter_set(&out->values[FIGURE_IN_FLIGHT_LIMIT], from->configuration->in_flight_max);
    counter_set(&out->values[FIGURE_CONNECTIONS_LIMIT], from->configuration->connections_max);
}

static void copy_halts(const struct shared_sources *from, struct figures *out) {
    uint64_t open_count = 0, refused_count = 0;
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        if (from->halt_sets[i] != NULL) {
            open_count += halt_set_open_count(from->halt_sets[i]);
            refused_count += halt_set_refused_count(from->halt_sets[i]);
        }
    }
    counter_set(&out->values[FIGURE_HALTS_OPEN], open_count);
    counter_set(&out->values[FIGURE_HALTS_REFUSED], refused_count);
}

static void copy_workers(const struct shared_sources *from, struct figures *out) {
    const size_t count = from->set->count - 1;
    counter_set(&out->values[FIGURE_WORKERS], count);
    counter_set(&out->values[FIGURE_WORKERS_READY], count - atomic_load(from->away_count));
}

static void copy_boards(const struct shared_sources *from, struct figures *out) {
    struct board *const *boards = *from->boards;
    struct board_counts sum = {.is_current = boards != NULL};
    for (size_t i = 0; boards != NULL && i < parley_protocol_count(); i++) {
        if (boards[i] != NULL) {
            const struct board_counts counts = board_counts(boards[i]);
            sum.open += counts.open;
            sum.waiting += counts.waiting;
            sum.is_current = sum.is_current && counts.is_current;
        }
    }
    counter_set_known(&out->values[FIGURE_TASKS_OPEN], sum.is_current, sum.open);
    counter_set(&out->values[FIGURE_TASKS_WAITING], sum.waiting);
}

static void copy_index(const struct shared_sources *from, struct figures *out) {
    const struct index_keeper *keeper = *from->index_keeper;
    struct index_progress progress = {.is_known = false};
    if (keeper != NULL) {
        progress = index_keeper_progress(keeper);
    }
    counter_set_known(&out->values[FIGURE_INDEX_LAG], progress.is_known, progress.lag);
    counter_set_known(&out->values[FIGURE_INDEX_BYTES], progress.is_known, progress.bytes);
}

static void on_time(struct reactor_timer *timer) {
    struct shared_figures *copier = OWNER_OF(timer, struct shared_figures, timer);
    struct figures *out = figures_main(copier->sources.set);
    copy_bounds(&copier->sources, out);
    copy_workers(&copier->sources, out);
    copy_halts(&copier->sources, out);
    copy_boards(&copier->sources, out);
    copy_index(&copier->sources, out);
    process_read(out);
    if (copier->turn++ % COPIES_A_COUNT == 0) {
        process_read_fds(out);
    }
    reactor_timer_set(copier->reactor, timer, COPY_MS);
}

void shared_figures_start(struct shared_figures *copier, struct reactor *reactor,
                          const struct shared_sources *sources) {
    *copier =
        (struct shared_figures){.sources = *sources, .reactor = reactor, .timer.fire = on_time};
    reactor_timer_set(reactor, &copier->timer, 0);
}

void shared_figures_stop(struct shared_figures *copier) {
    if (copier->reactor != NULL) {
        reactor_timer_clear(copier->reactor, &copier->timer);
    }
}
