/* SPDX-License-Identifier: Apache-2.0 */

#include "nats_start.h"

#include "log.h"
#include "worker.h"

static void on_trouble(void *context, const char *error) {
    (void)context;
    log_text(LOG_NATS_SERVER, error);
}

static void on_restarted(void *context) {
    const struct nats_start *nats = context;
    counter_add(&nats->figures->values[FIGURE_EMBEDDED_RESTARTS], 1);
}

static int start_embedded(struct nats_start *nats, struct reactor *reactor, const char *data) {
    char error[512] = "";
    const struct embedded_options options = {.data = data};
    const struct embedded_events events = {.trouble = on_trouble,
                                           .restarted = on_restarted,
                                           .damaged = worker_log_damage,
                                           .context = nats};
    if (embedded_create(reactor, &options, &events, error, sizeof error, &nats->embedded) !=
        PARLEY_OK) {
        log_format(LOG_START_FAILED, "cannot start nats-server: %s", error);
        return 1;
    }
    nats->urls = nats->shown = embedded_url(nats->embedded);
    nats->token = embedded_token(nats->embedded);
    nats->store = data;
    return 0;
}

static int find_elsewhere(struct nats_start *nats, const struct configuration *configuration) {
    struct parley_buffer error;
    parley_buffer_init(&error);
    const bool is_loaded = nats_identity_load(configuration, &nats->identity, &error);
    if (!is_loaded) {
        log_buffer(LOG_START_FAILED, &error);
    }
    parley_buffer_finish(&error);
    nats->urls = configuration->nats;
    nats->shown = configuration->nats_shown;
    return is_loaded ? 0 : 1;
}

int nats_start_open(struct nats_start *nats, struct reactor *reactor,
                    const struct configuration *configuration, struct figures *figures) {
    nats->figures = figures;
    return configuration->nats != NULL ? find_elsewhere(nats, configuration)
                                       : start_embedded(nats, reactor, configuration->data);
}

void nats_start_close(struct nats_start *nats) {
    embedded_destroy(nats->embedded);
}
