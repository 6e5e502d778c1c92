/* SPDX-License-Identifier: Apache-2.0 */

#include "stall_watch.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "service_manager.h"

enum { TICK_MS = 1000 };

struct stall_watched {
    struct reactor *reactor;
    atomic_bool is_asked; /* until it has answered */
    unsigned silent;      /* for how many seconds */
};

static unsigned seconds_of(int64_t ms) {
    return (unsigned)((ms + TICK_MS - 1) / TICK_MS);
}

static void answer(void *context) {
    struct stall_watched *watched = context;
    atomic_store(&watched->is_asked, false);
}

static void ask(struct stall_watched *watched) {
    if (atomic_load(&watched->is_asked)) {
        watched->silent++;
        return;
    }
    watched->silent = 0;
    atomic_store(&watched->is_asked, true);
    if (reactor_post(watched->reactor, answer, watched) != PARLEY_OK) {
        atomic_store(&watched->is_asked, false); /* it is asked again in a second */
    }
}

static void ask_all(struct stall_watch *watch) {
    for (unsigned i = 0; i < watch->count; i++) {
        ask(&watch->watched[i]);
        if (watch->limit > 0 && watch->watched[i].silent == watch->limit) {
            watch->stalled(watch, i);
        }
    }
}

static void tick(struct reactor_timer *timer) {
    struct stall_watch *watch = OWNER_OF(timer, struct stall_watch, timer);
    service_manager_beat();
    reactor_timer_set(watch->reactor, timer, TICK_MS);
    if (watch->left == 0) {
        ask_all(watch);
    } else if (--watch->left == 0) {
        watch->stalled(watch, STALL_OF_DRAIN);
    }
}

enum parley_status stall_watch_start(struct stall_watch *watch, struct reactor *reactor,
                                     unsigned workers_max, int64_t limit_ms) {
    watch->watched = calloc(workers_max, sizeof *watch->watched);
    if (watch->watched == NULL) {
        return PARLEY_E_MEMORY;
    }
    watch->limit = seconds_of(limit_ms);
    watch->reactor = reactor;
    watch->timer.fire = tick;
    reactor_timer_set(reactor, &watch->timer, TICK_MS);
    return PARLEY_OK;
}

void stall_watch_add(struct stall_watch *watch, struct reactor *worker) {
    watch->watched[watch->count++].reactor = worker;
}

void stall_watch_drain(struct stall_watch *watch, int64_t drain_ms) {
    watch->count = 0;
    watch->left = watch->limit > 0 ? seconds_of(drain_ms) + watch->limit : 0;
}

void stall_watch_stop(struct stall_watch *watch) {
    if (watch->reactor != NULL) {
        reactor_timer_clear(watch->reactor, &watch->timer);
        free(watch->watched);
        watch->reactor = NULL;
    }
}
