/* SPDX-License-Identifier: Apache-2.0 */

/* Creates the parts of one reactor (connection to NATS, HTTP server, streams) in the order in which
 * they depend on each other, and destroys them in reverse. */

#include "worker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kept_message.h"
#include "offload.h"
#include "protected_resource.h"
#include "repeats.h"
#include "admin.h"
#include "agents.h"
#include "services.h"
#include "checkpoint_task.h"
#include "board.h"
#include "channel.h"
#include "commit.h"
#include "fact_consumers.h"
#include "follow.h"
#include "listen_address.h"
#include "log.h"
#include "nats_version.h"
#include "waiters.h"
#include "webhooks.h"
#include "routes.h"
#include "streams.h"
#include "task_boards.h"
#include "worker_tasks.h"
#include "worker_figures.h"
#include "worker_halts.h"
#include "worker_objects.h"
#include "worker_streams.h"

enum {
    PARKED_MAX = 16384,
    ADMIN_CONNECTIONS = 64,
    DRAIN_POLL_MS = 20,
    DRAIN_LAST_MS = 1000, /* before its end: what waits for NATS or an ack is answered */
    IN_FLIGHT_BYTES_MAX = 64 << 20,
};

struct worker {
    struct services services;
    struct worker_options options;
    struct worker_events events;
    struct http_server *admin; /* NULL: this worker has none */
    struct worker_streams streams;
    struct fact_consumers **fact_consumers; /* one per protocol; NULL for none */
    struct worker_tasks tasks;
    pthread_t thread;
    struct reactor_timer away_timer;      /* until NATS was away for too long */
    bool is_away;                         /* it was, or was never there: counted in away_count */
    _Atomic(struct tokens *) next_tokens; /* a reference, until it is taken; NULL for none */
    _Atomic(struct jwks *) next_jwks;     /* likewise */
    struct configuration configuration;   /* this thread's own */
    _Atomic(struct configuration *)
        next_configuration; /* owned, until it is taken; NULL for none */
    struct jwt_rules jwt_rules;
    char metadata_url[PROTECTED_RESOURCE_URL_MAX];
    struct worker_figures figures;
    struct worker_halts halts;
    struct webhooks *webhooks; /* NULL: none */
    struct reactor_timer drain_timer;
    int64_t drain_deadline_ms; /* how long, then when */
    bool is_drained;
};

/* ---- events of JetStream ---- */

/* Whether the halts are known, or not needed. The worker that reads them is not ready before. */
static bool knows_halts(const struct worker *worker) {
    return !worker->options.keeps_facts ||
           halt_sets_were_seen(worker->options.halt_sets, worker->options.configuration);
}

static void on_ready(void *context) {
    struct worker *worker = context;
    nats_version_tell(worker->services.gateway.jetstream, worker->options.nats_version);
    if (!knows_halts(worker)) {
        return; /* on_halts_seen follows */
    }
    reactor_timer_clear(worker->services.gateway.reactor, &worker->away_timer);
    if (worker->is_away) {
        worker->is_away = false;
        atomic_fetch_sub(worker->options.away_count, 1);
    }
    worker->events.ready(worker->events.context);
}

static void on_halts_seen(void *context) {
    struct worker *worker = context;
    if (jetstream_is_ready(worker->services.gateway.jetstream)) {
        on_ready(worker);
    }
}

static void on_away_for_long(struct reactor_timer *timer) {
    struct worker *worker = OWNER_OF(timer, struct worker, away_timer);
    worker->is_away = true;
    atomic_fetch_add(worker->options.away_count, 1);
}

static void on_away(void *context) {
    struct worker *worker = context;
    reactor_timer_set(worker->services.gateway.reactor, &worker->away_timer,
                      worker->options.configuration->bus_patience_ms);
}

static void on_unusable(void *context, const char *error) {
    struct worker *worker = context;
    worker->events.unusable(worker->events.context, error);
}

static void on_trouble(void *context, const char *subject, const char *text) {
    struct worker *worker = context;
    worker->events.trouble(worker->events.context, worker->options.number, subject, text);
}

static void on_renewed(void *context, const char *stream) {
    const struct worker *worker = context;
    streams_renewed(worker->services.streams, stream);
}

void worker_log_damage(void *context, const char *stream, uint64_t bytes) {
    (void)context;
    log_event(LOG_NATS_DAMAGE, LOG_FIELDS(LOG_TEXT("stream", stream), LOG_NUMBER("bytes", bytes)));
}

static void on_moved(void *context, const struct jetstream_stream *stream,
                     const struct jetstream_place *place) {
    const struct worker *worker = context;
    size_t protocol;
    if (place != NULL && worker->options.number == 0) { /* it is said once a process */
        worker_streams_tell_kind(place);
    }
    if (worker_streams_find_protocol(&worker->streams, stream, &protocol)) {
        streams_moved(worker->services.streams, protocol);
    }
}

static void on_unresponsive(void *context) {
    struct worker *worker = context;
    worker->events.unresponsive(worker->events.context);
}

/* ---- putting together ---- */

static size_t in_flight_count_max(const struct worker *worker) {
    return (size_t)worker->options.configuration->in_flight_max / worker->options.worker_count + 1;
}

/* Each worker looks at the streams by itself; of many, each looks less often. */
static int64_t watch_ms(const struct worker *worker) {
    enum { WATCH_MS = 2000, WORKERS_AT_FULL_RATE = 8 };
    return WATCH_MS * (1 + (int64_t)worker->options.worker_count / WORKERS_AT_FULL_RATE);
}

static enum parley_status create_jetstream(struct worker *worker) {
    const struct configuration *configuration = worker->options.configuration;
    PARLEY_TRY(worker_streams_list(&worker->streams, configuration, worker->options.webhooks));
    const struct jetstream_options options = {.bus = {.urls = worker->options.nats_urls,
                                                      .token = worker->options.nats_token,
                                                      .identity = worker->options.nats_identity,
                                                      .name = "parley",
                                                      .where = worker->options.nats_shown},
                                              .watch_ms = watch_ms(worker),
                                              .store = worker->options.nats_store,
                                              .streams = worker->streams.all,
                                              .stream_count = worker->streams.count,
                                              .replicas = (unsigned)configuration->replicas,
                                              .dedupe_window_ms = configuration->dedupe_window_ms,
                                              .ack_timeout_ms = configuration->ack_timeout_ms,
                                              .patience_ms = configuration->bus_patience_ms,
                                              .in_flight_count_max = in_flight_count_max(worker),
                                              .in_flight_bytes_max = IN_FLIGHT_BYTES_MAX,
                                              .is_probing = worker->options.is_probing};
    const bool is_first = worker->options.number == 0; /* it is said once a process */
    const struct jetstream_events events = {.ready = on_ready,
                                            .away = on_away,
                                            .unusable = on_unusable,
                                            .trouble = on_trouble,
                                            .renewed = on_renewed,
                                            .damaged = is_first ? worker_log_damage : NULL,
                                            .moved = on_moved,
                                            .unresponsive = on_unresponsive,
                                            .context = worker};
    return jetstream_create(worker->services.gateway.reactor, &options, &events,
                            &worker->services.gateway.jetstream);
}

static enum parley_status create_admin(struct worker *worker, struct http_options options) {
    options.connections_max = ADMIN_CONNECTIONS;
    options.limits = NULL;
    options.tls = NULL;
    return worker->options.admin_fd < 0
               ? PARLEY_OK
               : http_server_create(worker->services.gateway.reactor, worker->options.admin_fd,
                                    &options, admin_begin, &worker->services, &worker->admin);
}

static enum parley_status create_http(struct worker *worker) {
    const struct configuration *configuration = worker->options.configuration;
    const struct http_options options = {
        .connections_max =
            (unsigned)(configuration->connections_max / worker->options.worker_count) + 1,
        .idle_timeout_s = (unsigned)((configuration->idle_timeout_ms + 999) / 1000),
        .head_bytes_max = (size_t)configuration->head_max_bytes,
        .body_bytes_max = configuration->body_max_bytes,
        .head_timeout_ms = configuration->head_timeout_ms,
        .body_rate_bytes = (size_t)configuration->body_rate_bytes,
        .limits = worker->options.limits,
        .full_answer = worker->options.full_answer,
        .tls = worker->options.tls,
        .tls_handshake_timeout_ms = configuration->tls_handshake_timeout_ms,
        .request_memory_bytes = WORKER_REQUEST_MEMORY_BYTES,
        .stream_memory_bytes = WORKER_STREAM_MEMORY_BYTES,
        .codings = worker->options.codings,
        .commit = worker->services.gateway.commit,
        .stays_open = gateway_stays_open,
        .refuse = gateway_refuse,
        .over = gateway_over};
    PARLEY_TRY(http_server_create(worker->services.gateway.reactor, worker->options.listen_fd,
                                  &options, gateway_begin, &worker->services,
                                  &worker->services.http));
    return create_admin(worker, options);
}

static enum parley_status create_messages(struct worker *worker) {
    const size_t count = parley_protocol_count();
    struct gateway *gateway = &worker->services.gateway;
    gateway->messages = calloc(count, sizeof *gateway->messages);
    if (gateway->messages == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        parley_message_init(&gateway->messages[i], gateway->schemas[i]);
    }
    return PARLEY_OK;
}

static enum parley_status create_facts(struct worker *worker) {
    const size_t count = parley_protocol_count();
    struct gateway *gateway = &worker->services.gateway;
    gateway->fact_stores = calloc(count, sizeof(struct fact_store *));
    worker->fact_consumers = calloc(count, sizeof(struct fact_consumers *));
    if (gateway->fact_stores == NULL || worker->fact_consumers == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        const struct channel *channel = &gateway->configuration->channels[i];
        const struct parley_facts_kind *facts = channel->protocol->facts;
        if (facts != NULL && facts->of != NULL) {
            PARLEY_TRY(fact_store_create_last(gateway->reactor, gateway->jetstream, facts->of,
                                              &gateway->fact_stores[i]));
        }
        if (channel->fact_bucket == NULL) {
            continue;
        }
        PARLEY_TRY(fact_store_create(gateway->reactor, gateway->jetstream, channel->fact_bucket,
                                     &gateway->fact_stores[i]));
        fact_store_share(gateway->fact_stores[i], worker->options.fact_ledger);
        if (worker->services.tasks.boards[i] != NULL) {
            fact_store_on_known(gateway->fact_stores[i], board_known_fact,
                                worker->services.tasks.boards[i]);
            fact_store_on_series(gateway->fact_stores[i], board_last_turn,
                                 worker->services.tasks.boards[i]);
            fact_store_on_written(gateway->fact_stores[i], board_on_written,
                                  worker->services.tasks.boards[i]);
            fact_store_on_noted(gateway->fact_stores[i], board_on_noted,
                                worker->services.tasks.boards[i]);
        }
        if (worker->options.keeps_facts && channel->fact_subjects != NULL) {
            const struct fact_consumers_options options = {
                .reactor = gateway->reactor,
                .jetstream = gateway->jetstream,
                .store = gateway->fact_stores[i],
                .channel = channel,
                .message = &gateway->messages[i],
                .values = configuration_values(gateway->configuration, channel)};
            PARLEY_TRY(fact_consumers_create(&options, &worker->fact_consumers[i]));
        }
    }
    return PARLEY_OK;
}

static void destroy_facts(struct worker *worker) {
    struct gateway *gateway = &worker->services.gateway;
    for (size_t i = 0; worker->fact_consumers != NULL && i < parley_protocol_count(); i++) {
        fact_consumers_destroy(worker->fact_consumers[i]);
    }
    for (size_t i = 0; gateway->fact_stores != NULL && i < parley_protocol_count(); i++) {
        fact_store_destroy(gateway->fact_stores[i]);
    }
    free(worker->fact_consumers);
    free(gateway->fact_stores);
}

static enum parley_status create_webhooks(struct worker *worker) {
    const struct gateway *gateway = &worker->services.gateway;
    const struct webhooks_options options = {.reactor = gateway->reactor,
                                             .jetstream = gateway->jetstream,
                                             .configuration = gateway->configuration,
                                             .messages = gateway->messages,
                                             .file = worker->options.webhooks,
                                             .figures = gateway->figures};
    return options.file != NULL ? webhooks_create(&options, &worker->webhooks) : PARLEY_OK;
}

/* Of all workers the one that keeps facts ends tasks, too. */
static enum parley_status create_tasks(struct worker *worker) {
    const struct worker_tasks_options options = {.gateway = &worker->services.gateway,
                                                 .worker = &worker->options};
    return worker->options.keeps_facts ? worker_tasks_create(&worker->tasks, &options) : PARLEY_OK;
}

static enum parley_status create_readers(struct worker *worker) {
    struct gateway *gateway = &worker->services.gateway;
    PARLEY_TRY(streams_create(gateway->reactor, gateway->jetstream, gateway->guard,
                              gateway->schemas, gateway->configuration, &worker->services.streams));
    streams_tell(worker->services.streams, worker->options.moments);
    PARLEY_TRY(follows_create(gateway->reactor, gateway->guard, gateway->configuration,
                              &worker->services.follows));
    const struct agents_follows following = {.follows = worker->services.follows,
                                             .watches = worker->options.agent_watches};
    return agents_create(gateway->reactor, gateway->jetstream, gateway->schemas,
                         gateway->configuration->channels, &worker->services.checkpoints,
                         &following, &worker->services.agents);
}

static enum parley_status build(struct worker *worker) {
    struct gateway *gateway = &worker->services.gateway;
    PARLEY_TRY(reactor_create(&gateway->reactor));
    PARLEY_TRY(create_messages(worker));
    /* Turns run in the order in which they are added: with HTTP's before the bus's, messages
     * published in a turn leave in that turn's one write, and with those of the worker pool and the
     * disk first, their results are answered. No request comes before the thread runs. */
    PARLEY_TRY(
        completion_queue_open(gateway->worker_pool, gateway->reactor, &gateway->completions));
    PARLEY_TRY(commit_queue_create(worker->options.commit, gateway->reactor, &gateway->commit));
    PARLEY_TRY(guard_create(gateway->reactor, worker->options.limits, &gateway->guard));
    guard_set_tokens(gateway->guard, tokens_ref(worker->options.tokens));
    guard_set_jwks(gateway->guard, jwks_ref(worker->options.jwks), &worker->jwt_rules);
    const bool has_metadata =
        protected_resource_url(worker->jwt_rules.audience, worker->metadata_url);
    guard_set_metadata(gateway->guard, has_metadata ? worker->metadata_url : NULL);
    PARLEY_TRY(create_http(worker));
    PARLEY_TRY(create_jetstream(worker));
    PARLEY_TRY(create_facts(worker));
    PARLEY_TRY(worker_objects_create(gateway, worker->options.object_room));
    const struct worker_halts_options halts = {.gateway = gateway,
                                               .sets = worker->options.halt_sets,
                                               .is_keeper = worker->options.keeps_facts,
                                               .seen = on_halts_seen,
                                               .context = worker};
    PARLEY_TRY(worker_halts_create(&worker->halts, &halts));
    PARLEY_TRY(replies_create(gateway->reactor, gateway->jetstream, gateway->schemas,
                              gateway->configuration->channels, &gateway->replies));
    PARLEY_TRY(create_readers(worker));
    worker->services.checkpoints = (struct checkpoints){.configuration = gateway->configuration,
                                                        .schemas = gateway->schemas,
                                                        .reactor = gateway->reactor,
                                                        .jetstream = gateway->jetstream,
                                                        .completions = gateway->completions,
                                                        .budget = gateway->budget,
                                                        .limits = gateway->limits};
    worker->services.artifacts.checkpoints = &worker->services.checkpoints;
    const struct index_lists_options lists = {.service = worker->options.index_service,
                                              .keeper = worker->options.index_keeper,
                                              .reactor = gateway->reactor,
                                              .jetstream = gateway->jetstream,
                                              .limits = gateway->limits,
                                              .schemas = gateway->schemas,
                                              .channels = gateway->configuration->channels,
                                              .follows = worker->services.follows,
                                              .inbox_watches = worker->options.inbox_watches};
    PARLEY_TRY(index_lists_create(&lists, &worker->services.index_lists));
    worker->services.index_keeper = worker->options.index_keeper;
    PARLEY_TRY(create_webhooks(worker));
    worker->services.tasks.gateway = gateway;
    worker->services.tasks.follows = worker->services.follows;
    worker->services.mcp = (struct mcp){.gateway = gateway, .version = PARLEY_VERSION};
    PARLEY_TRY(waiters_create(gateway->reactor, PARKED_MAX, &worker->services.tasks.waiters));
    PARLEY_TRY(create_tasks(worker));
    worker->figures = (struct worker_figures){.services = &worker->services,
                                              .fact_consumers = worker->fact_consumers,
                                              .halt_keepers = worker->halts.keepers};
    worker_figures_start(&worker->figures);
    return PARLEY_OK;
}

static void end_boards(const struct worker *worker) {
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        if (worker->services.tasks.boards[i] != NULL) {
            board_end(worker->services.tasks.boards[i], worker->services.gateway.reactor);
        }
    }
}

static void take_apart(struct worker *worker) {
    struct gateway *gateway = &worker->services.gateway;
    if (gateway->reactor != NULL) {
        reactor_timer_clear(gateway->reactor, &worker->drain_timer);
        reactor_timer_clear(gateway->reactor, &worker->away_timer);
        worker_figures_stop(&worker->figures);
    }
    completion_queue_close(gateway->completions);
    offloads_abandon(gateway);
    checkpoint_tasks_abandon(&worker->services.checkpoints);
    index_lists_stop(worker->services.index_lists);
    http_server_destroy(worker->admin);
    http_server_destroy(worker->services.http);
    index_lists_destroy(worker->services.index_lists);
    commit_queue_destroy(gateway->commit);
    guard_destroy(gateway->guard);
    streams_destroy(worker->services.streams);
    follows_destroy(worker->services.follows);
    agents_destroy(worker->services.agents);
    worker_tasks_stop(&worker->tasks);
    end_boards(worker);
    waiters_destroy(worker->services.tasks.waiters);
    webhooks_destroy(worker->webhooks);
    worker_halts_destroy(&worker->halts);
    replies_destroy(gateway->replies);
    destroy_facts(worker);
    worker_objects_destroy(gateway);
    jetstream_destroy(gateway->jetstream);
    worker_tasks_destroy(&worker->tasks);
    for (size_t i = 0; gateway->messages != NULL && i < parley_protocol_count(); i++) {
        parley_message_finish(&gateway->messages[i]);
    }
    free(gateway->messages);
    kept_messages_finish(gateway);
    repeats_destroy(gateway->repeats);
    parley_buffer_finish(&gateway->payload);
    parley_buffer_finish(&gateway->answer);
    worker_streams_finish(&worker->streams);
}

/* Frees objects that the main thread may still give to a worker whose thread has ended. */
static void forget(struct worker *worker) {
    tokens_unref(atomic_exchange(&worker->next_tokens, NULL));
    jwks_unref(atomic_exchange(&worker->next_jwks, NULL));
    free(atomic_exchange(&worker->next_configuration, NULL));
    reactor_destroy(worker->services.gateway.reactor);
    free(worker);
}

/* ---- the thread ---- */

/* Its name, for top -H and debuggers. */
static void name_thread(const struct worker *worker) {
    char name[16]; /* what Linux keeps */
    snprintf(name, sizeof name, "worker-%u", worker->options.number);
    pthread_setname_np(pthread_self(), name);
}

static void *run(void *context) {
    struct worker *worker = context;
    name_thread(worker);
    reactor_run(worker->services.gateway.reactor);
    take_apart(worker);
    worker->events.ended(worker->events.context);
    return NULL;
}

enum parley_status worker_create(const struct worker_options *options,
                                 const struct worker_events *events, struct worker **out) {
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) {
        return PARLEY_E_MEMORY;
    }
    worker->options = *options;
    worker->events = *events;
    worker->is_away = true;
    worker->away_timer.fire = on_away_for_long;
    worker->configuration = *options->configuration;
    worker->options.configuration = &worker->configuration;
    worker->services.gateway.configuration = &worker->configuration;
    worker->services.away_count = options->away_count;
    worker->services.gateway.schemas = options->schemas;
    worker->services.pages = options->pages;
    worker->services.console = options->console;
    worker->jwt_rules = (struct jwt_rules){.issuer = options->configuration->jwt_issuer,
                                           .audience = options->configuration->jwt_audience};
    worker->services.gateway.origins = (struct origin_policy){
        .address = options->configuration->address,
        .hosts = options->configuration->hosts,
        .sites = options->configuration->cors_origins,
        .is_loopback = listen_address_is_loopback(options->configuration->address),
        .has_tls = options->configuration->tls_cert != NULL};
    worker->services.tasks.boards = options->boards;
    worker->services.gateway.budget = options->budget;
    worker->services.gateway.spools = options->spools;
    worker->services.gateway.codings = options->codings;
    worker->services.gateway.limits = options->limits;
    worker->services.gateway.figures = options->figures;
    worker->services.all_figures = options->all_figures;
    worker->services.gateway.worker_pool = options->worker_pool;
    LIST_INIT(&worker->services.gateway.offloads);
    enum parley_status status = build(worker);
    if (status == PARLEY_OK && pthread_create(&worker->thread, NULL, run, worker) != 0) {
        status = PARLEY_E_IO;
    }
    if (status != PARLEY_OK) {
        take_apart(worker);
        forget(worker);
        return status;
    }
    *out = worker;
    return PARLEY_OK;
}

/* ---- tokens ---- */

/* Answers that stay open end, soon, if their senders may no longer read them. */
static void access_changed(struct worker *worker) {
    streams_access_changed(worker->services.streams);
    follows_access_changed(worker->services.follows);
}

static void take_tokens(void *context) {
    struct worker *worker = context;
    struct tokens *tokens = atomic_exchange(&worker->next_tokens, NULL);
    if (tokens != NULL) { /* not taken yet, though posted twice */
        guard_set_tokens(worker->services.gateway.guard, tokens);
        access_changed(worker);
    }
}

enum parley_status worker_set_tokens(struct worker *worker, struct tokens *tokens) {
    tokens_unref(atomic_exchange(&worker->next_tokens, tokens_ref(tokens)));
    return reactor_post(worker->services.gateway.reactor, take_tokens, worker);
}

static void take_jwks(void *context) {
    struct worker *worker = context;
    struct jwks *jwks = atomic_exchange(&worker->next_jwks, NULL);
    if (jwks != NULL) {
        guard_set_jwks(worker->services.gateway.guard, jwks, &worker->jwt_rules);
        access_changed(worker);
    }
}

enum parley_status worker_set_jwks(struct worker *worker, struct jwks *jwks) {
    jwks_unref(atomic_exchange(&worker->next_jwks, jwks_ref(jwks)));
    return reactor_post(worker->services.gateway.reactor, take_jwks, worker);
}

/* ---- options that change ---- */

/* Between turns: no request is in the middle of a decision. */
static void take_configuration(void *context) {
    struct worker *worker = context;
    struct configuration *next = atomic_exchange(&worker->next_configuration, NULL);
    if (next != NULL) {
        worker->configuration = *next;
        http_server_bound_bodies(worker->services.http, next->body_max_bytes,
                                 (size_t)next->body_rate_bytes);
        access_changed(worker);
        free(next);
    }
}

enum parley_status worker_set_configuration(struct worker *worker,
                                            const struct configuration *configuration) {
    struct configuration *next = malloc(sizeof *next);
    if (next == NULL) {
        return PARLEY_E_MEMORY;
    }
    *next = *configuration;
    free(atomic_exchange(&worker->next_configuration, next));
    return reactor_post(worker->services.gateway.reactor, take_configuration, worker);
}

/* ---- draining ---- */

static bool has_idle_facts(const struct gateway *gateway) {
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        if (gateway->fact_stores[i] != NULL && !fact_store_is_idle(gateway->fact_stores[i])) {
            return false;
        }
    }
    return true;
}

static void poll_drained(struct reactor_timer *timer) {
    struct worker *worker = OWNER_OF(timer, struct worker, drain_timer);
    struct gateway *gateway = &worker->services.gateway;
    atomic_uint *busy_count = worker->options.busy_count;
    const bool is_idle = http_server_active_count(worker->services.http) == 0 &&
                         LIST_EMPTY(&gateway->offloads) && has_idle_facts(gateway) &&
                         worker_halts_are_idle(&worker->halts) &&
                         worker_objects_are_idle(gateway) && webhooks_are_idle(worker->webhooks) &&
                         jetstream_in_flight_count(gateway->jetstream) == 0;
    if (reactor_now_ms(gateway->reactor) >= worker->drain_deadline_ms - DRAIN_LAST_MS) {
        worker_halts_give_up(&worker->halts);
        jetstream_give_up(gateway->jetstream);
    }
    if (is_idle && !worker->is_drained) {
        worker->is_drained = true;
        atomic_fetch_sub(busy_count, 1);
    }
    if (atomic_load(busy_count) == 0 ||
        reactor_now_ms(gateway->reactor) >= worker->drain_deadline_ms) {
        reactor_stop(gateway->reactor);
        return;
    }
    reactor_timer_set(gateway->reactor, timer, DRAIN_POLL_MS);
}

static void begin_drain(void *context) {
    struct worker *worker = context;
    struct gateway *gateway = &worker->services.gateway;
    gateway->is_draining = true;
    worker->drain_deadline_ms += reactor_now_ms(gateway->reactor);
    http_server_drain(worker->services.http);
    streams_drain(worker->services.streams);
    follows_drain(worker->services.follows);
    waiters_drain(worker->services.tasks.waiters);
    replies_drain(gateway->replies);
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        fact_consumers_stop(worker->fact_consumers[i]);
    }
    worker_halts_stop(&worker->halts);
    webhooks_stop(worker->webhooks);
    worker_tasks_stop(&worker->tasks);
    worker->drain_timer.fire = poll_drained;
    reactor_timer_set(gateway->reactor, &worker->drain_timer, 0);
}

void worker_drain(struct worker *worker, int64_t deadline_ms) {
    worker->drain_deadline_ms = deadline_ms;
    if (reactor_post(worker->services.gateway.reactor, begin_drain, worker) != PARLEY_OK) {
        atomic_fetch_sub(worker->options.busy_count, 1);
        reactor_stop(worker->services.gateway.reactor); /* no memory to be polite with */
    }
}

struct reactor *worker_reactor(const struct worker *worker) {
    return worker->services.gateway.reactor;
}

void worker_destroy(struct worker *worker) {
    if (worker != NULL) {
        pthread_join(worker->thread, NULL);
        forget(worker);
    }
}
