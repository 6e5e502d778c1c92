/* SPDX-License-Identifier: Apache-2.0 */

#include "workers.h"

#include <stdlib.h>

#include "figures.h"
#include "log.h"

/* ---- events: posted to the main thread ---- */

static bool post(struct workers *workers, void (*run)(void *context)) {
    const bool is_posted = reactor_post(workers->reactor, run, workers) == PARLEY_OK;
    if (!is_posted) {
        log_event(LOG_MEMORY, NULL);
    }
    return is_posted;
}

static void count_ready(void *context) {
    struct workers *workers = context;
    if (++workers->ready_count == workers->count) {
        workers->events.ready(workers);
    }
}

static void on_ready(void *context) {
    (void)post(context, count_ready);
}

static void tell_unusable(void *context) {
    struct workers *workers = context;
    workers->events.unusable(workers);
}

static void on_unusable(void *context, const char *error) {
    (void)error; /* `trouble` has logged it */
    (void)post(context, tell_unusable);
}

static void on_trouble(void *context, unsigned worker, const char *subject, const char *text) {
    const struct workers *workers = context;
    workers->events.trouble(workers->events.context, worker, subject, text);
}

static void tell_unresponsive(void *context) {
    struct workers *workers = context;
    workers->events.unresponsive(workers);
}

static void on_unresponsive(void *context) {
    (void)post(context, tell_unresponsive);
}

/* The main thread continues until then, so that it notices one that never ends. */
static void count_ended(void *context) {
    struct workers *workers = context;
    if (++workers->ended_count == workers->count) {
        workers->events.ended(workers);
    }
}

static void on_ended(void *context) {
    struct workers *workers = context;
    if (!post(workers, count_ended)) {
        reactor_stop(workers->reactor); /* worker_destroy waits for the others */
    }
}

/* ---- life ---- */

enum parley_status workers_start(struct workers *workers, struct reactor *reactor,
                                 const struct worker_options *options,
                                 const struct workers_events *events) {
    const struct worker_events each = {.ready = on_ready,
                                       .unusable = on_unusable,
                                       .trouble = on_trouble,
                                       .unresponsive = on_unresponsive,
                                       .ended = on_ended,
                                       .context = workers};
    struct worker_options own = *options;
    workers->reactor = reactor;
    workers->events = *events;
    workers->all = calloc(options->worker_count, sizeof *workers->all);
    if (workers->all == NULL) {
        return PARLEY_E_MEMORY;
    }
    own.busy_count = &workers->busy_count;
    own.nats_version = &workers->nats_version;
    own.away_count = &workers->away_count;
    atomic_store(&workers->away_count, options->worker_count);
    for (; workers->count < options->worker_count; workers->count++) {
        own.number = workers->count;
        own.figures = options->all_figures->blocks[workers->count];
        PARLEY_TRY(worker_create(&own, &each, &workers->all[workers->count]));
        own.is_probing = own.keeps_facts = false; /* the first does it for all */
        own.admin_fd = -1;
        own.webhooks = NULL;
    }
    return PARLEY_OK;
}

static void note(enum parley_status status) {
    if (status != PARLEY_OK) {
        log_event(LOG_MEMORY, NULL);
    }
}

void workers_set_tokens(const struct workers *workers, struct tokens *tokens) {
    for (unsigned i = 0; i < workers->count; i++) {
        note(worker_set_tokens(workers->all[i], tokens));
    }
}

void workers_set_jwks(const struct workers *workers, struct jwks *jwks) {
    for (unsigned i = 0; i < workers->count; i++) {
        note(worker_set_jwks(workers->all[i], jwks));
    }
}

/* Those of the workers that get it first use the new values a moment before the others. */
void workers_set_configuration(const struct workers *workers,
                               const struct configuration *configuration) {
    for (unsigned i = 0; i < workers->count; i++) {
        note(worker_set_configuration(workers->all[i], configuration));
    }
}

void workers_drain(struct workers *workers, int64_t deadline_ms) {
    atomic_store(&workers->busy_count, workers->count);
    for (unsigned i = 0; i < workers->count; i++) {
        worker_drain(workers->all[i], deadline_ms);
    }
}

void workers_finish(struct workers *workers) {
    for (unsigned i = 0; i < workers->count; i++) {
        worker_destroy(workers->all[i]);
    }
    free(workers->all);
}
