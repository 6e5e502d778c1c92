/* SPDX-License-Identifier: Apache-2.0 */

/* `parley serve`: starts the embedded nats-server unless --nats is given, and one worker for each
 * core, then waits for signals. The main thread has a reactor too, but serves no client: it watches
 * signals and the nats-server. */

#include "serve.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock_and_ids.h"
#include "moment_keeper.h"
#include "moments.h"
#include "agent_watch.h"
#include "task_boards.h"
#include "process_limits.h"
#include "commit.h"
#include "configuration_load.h"
#include "data_folder.h"
#include "console.h"
#include "describe_pages.h"
#include "fact_ledger.h"
#include "figures.h"
#include "bootstrap_token.h"
#include "inbox_watch.h"
#include "index_keeper.h"
#include "index_lists.h"
#include "jwks_keeper.h"
#include "sender_limits.h"
#include "log.h"
#include "memory_trim.h"
#include "process.h"
#include "reload.h"
#include "routes.h"
#include "service_manager.h"
#include "shared_figures.h"
#include "signals.h"
#include "nats_log.h"
#include "nats_start.h"
#include "spool.h"
#include "stall_watch.h"
#include "start_check.h"
#include "start_log.h"
#include "tls_context.h"
#include "token_keeper.h"
#include "webhooks_start.h"
#include "worker_tasks.h"
#include "workers.h"
#include "worker_halts.h"

enum {
    DRAIN_AT_LEAST_MS = 12000, /* for bodies that are under way */
    DRAIN_LONGER_MS = 2000,    /* than an ack may take */
    ANNOUNCE_ANYWAY_MS = 3000, /* NATS elsewhere may be away for long */
    TRIAL_PATIENCE_S = 20,     /* which only a defect reaches */
    READY_PATIENCE_MS = 5000,  /* systemd ends a service that it does not hear this of */
    WORKER_POOL_THREADS = 2,   /* each may need twenty times the text of a message (ADR 8) */
};

struct server {
    struct configuration configuration;
    int argc; /* its source, which is read again on SIGHUP */
    char **argv;
    struct reactor *reactor;
    struct signals signals;
    struct reactor_timer announce_timer;
    struct nats_start nats;
    struct parley_schema **schemas;
    struct memory_trim trim;
    struct token_keeper tokens;
    struct jwks_keeper keys;
    struct webhook_file webhooks;
    struct process_limits bounds;
    struct halt_set **halt_sets; /* one per protocol; NULL if it halts nothing */
    struct worker_pool *worker_pool;
    struct commit *commit; /* NULL: no answer waits for the disk */
    struct describe_pages *pages;
    struct console *console;
    struct figures_set figures;
    struct shared_figures shared_figures;
    struct board **boards;
    struct agent_watch **agent_watches;
    struct inbox_watch **inbox_watches;
    struct moments *moments;
    struct fact_ledger *fact_ledger;
    struct index_keeper *index_keeper; /* NULL: no index is kept … */
    struct index_service *index_service;
    struct workers workers;
    struct stall_watch stall_watch;
    struct tls_context *tls; /* NULL: plain HTTP */
    int listen_fd, admin_fd; /* -1: none */
    unsigned port;
    bool is_announced, is_draining;
    struct nats_log *troubles;
    size_t open_count; /* of parts */
    int exit_status;
};

/* Logs the error.  Returns: the exit status of a start that failed. */
static int fail(const char *what, const char *why) {
    log_format(LOG_START_FAILED, "%s: %s", what, why);
    return 1;
}

/* ---- events of workers and nats-server ---- */

static void announce(struct server *server) {
    if (server->is_announced) {
        return;
    }
    server->is_announced = true;
    reactor_timer_clear(server->reactor, &server->announce_timer);
    const struct start_facts facts = {.nats = server->nats.shown,
                                      .port = server->port,
                                      .workers = server->workers.count,
                                      .has_tls = server->tls != NULL,
                                      .has_tokens = server->tokens.tokens != NULL};
    start_log_write(&server->configuration, &facts);
    service_manager_tell("READY=1", READY_PATIENCE_MS);
}

static void announce_anyway(struct reactor_timer *timer) {
    struct server *server = OWNER_OF(timer, struct server, announce_timer);
    if (!server->is_announced && nats_log_flush(server->troubles) == 0) {
        log_text(LOG_NATS_TROUBLE, "NATS does not answer yet");
    }
    if (!server->is_announced) {
        log_event(LOG_WAITING, LOG_FIELDS(LOG_TEXT("nats", server->nats.shown)));
    }
    announce(server);
}

static void workers_ready(struct workers *workers) {
    announce(OWNER_OF(workers, struct server, workers));
}

static int64_t drain_deadline_ms(const struct server *server) {
    const int64_t deadline_ms = server->configuration.ack_timeout_ms + DRAIN_LONGER_MS;
    return deadline_ms < DRAIN_AT_LEAST_MS ? DRAIN_AT_LEAST_MS : deadline_ms;
}

static void drain(struct server *server) {
    if (server->is_draining) {
        return;
    }
    server->is_draining = true;
    service_manager_tell("STOPPING=1", 0);
    const int64_t deadline_ms = drain_deadline_ms(server);
    stall_watch_drain(&server->stall_watch, deadline_ms);
    workers_drain(&server->workers, deadline_ms);
}

static void workers_ended(struct workers *workers) {
    reactor_stop(OWNER_OF(workers, struct server, workers)->reactor);
}

static void end_stalled(struct stall_watch *watch, unsigned number) {
    if (number == STALL_OF_DRAIN) {
        log_text(LOG_STALLED, "a worker has not ended, long after the time that it was given");
    } else {
        log_event(LOG_STALLED,
                  LOG_FIELDS(LOG_NUMBER("worker", number), LOG_NUMBER("silent_s", watch->limit)));
    }
    abort();
}

/* Only a start is stopped by it. A stream that is changed later is logged. */
static void workers_unusable(struct workers *workers) {
    struct server *server = OWNER_OF(workers, struct server, workers);
    if (!server->is_announced && !server->is_draining) {
        nats_log_flush(server->troubles);
        server->exit_status = 1;
        signals_let_kill();
        drain(server);
    }
}

static void worker_trouble(void *context, unsigned worker, const char *subject, const char *text) {
    const struct server *server = context;
    nats_log_note(server->troubles, worker, subject, text);
}

static void workers_unresponsive(struct workers *workers) {
    const struct server *server = OWNER_OF(workers, struct server, workers);
    if (server->nats.embedded != NULL && !server->is_draining) {
        log_event(LOG_NATS_REPLACED, NULL);
        embedded_replace(server->nats.embedded);
    }
}

/* ---- signals ---- */

static void end(struct signals *signals, const char *reason) {
    struct server *server = OWNER_OF(signals, struct server, signals);
    if (!server->is_draining) {
        log_event(LOG_DRAINING, LOG_FIELDS(LOG_TEXT("reason", reason),
                                           LOG_NUMBER("longest_ms", drain_deadline_ms(server))));
    }
    signals_let_kill();
    drain(server);
}

static void apply_configuration(struct server *server) {
    process_limits_change(&server->bounds, &server->configuration);
    log_set_level((enum log_level)server->configuration.log_level);
    workers_set_configuration(&server->workers, &server->configuration);
}

/* A person or a service manager wants files to be read again. */
static void read_again(struct signals *signals) {
    struct server *server = OWNER_OF(signals, struct server, signals);
    if (reload_configuration(&server->configuration, server->argc, server->argv)) {
        apply_configuration(server);
    }
    token_keeper_reload(&server->tokens);
    reload_tls(server->tls);
    jwks_keeper_reload(&server->keys);
}

static int watch_signals(struct server *server) {
    server->signals = (struct signals){.end = end, .reload = read_again};
    return signals_watch(&server->signals, server->reactor) == PARLEY_OK
               ? 0
               : fail("cannot watch signals", strerror(errno));
}

static void close_signals(struct server *server) {
    signals_close(&server->signals);
}

/* ---- starting ---- */

static void raise_file_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* A library that does not serve shows here, and not after "listening". */
static int try_http(struct server *server) {
    (void)server;
    const struct http_options memory = {.request_memory_bytes = WORKER_REQUEST_MEMORY_BYTES,
                                        .stream_memory_bytes = WORKER_STREAM_MEMORY_BYTES};
    char error[512];
    return mhd_self_test(&memory, TRIAL_PATIENCE_S, error, sizeof error)
               ? 0
               : fail("cannot serve HTTP", error);
}

static int create_schemas(struct server *server) {
    server->schemas = calloc(parley_protocol_count(), sizeof *server->schemas);
    bool is_whole = server->schemas != NULL;
    for (size_t i = 0; is_whole && i < parley_protocol_count(); i++) {
        is_whole = parley_schema_create(parley_protocols[i], &server->schemas[i]) == PARLEY_OK;
    }
    return is_whole ? 0 : fail("cannot start", "out of memory");
}

static void destroy_schemas(struct server *server) {
    for (size_t i = 0; server->schemas != NULL && i < parley_protocol_count(); i++) {
        parley_schema_destroy(server->schemas[i]);
    }
    free(server->schemas);
}

static int create_pages(struct server *server) {
    enum parley_status status =
        describe_pages_create(server->configuration.channels, gateway_route, &server->pages);
    if (status == PARLEY_OK) {
        status = console_create(server->configuration.web, &server->console);
    }
    return status == PARLEY_OK ? 0 : fail("cannot start", parley_status_text(status));
}

static void destroy_pages(struct server *server) {
    describe_pages_destroy(server->pages);
    console_destroy(server->console);
}

static int load_tls(struct server *server) {
    const struct tls_files files = configuration_tls_files(&server->configuration);
    char error[TLS_ERROR_MAX];
    if (files.certificate == NULL || tls_context_create(&files, error, &server->tls) == PARLEY_OK) {
        return 0;
    }
    return fail("TLS", error);
}

static void destroy_tls(struct server *server) {
    tls_context_destroy(server->tls);
}

static int prepare_data(struct server *server) {
    char error[512] = "";
    if (!data_folder_prepare(server->configuration.data, error, sizeof error)) {
        log_text(LOG_START_FAILED, error);
        return 1;
    }
    return 0;
}

/* Logs an error, after `what`.  Returns: as fail, or 0 if there is none. */
static int tell_error(bool is_done, const char *what, struct parley_buffer *error) {
    if (!is_done) {
        log_format(LOG_START_FAILED, "%s%.*s", what, (int)error->length,
                   error->data != NULL ? error->data : "");
    }
    parley_buffer_finish(error);
    return is_done ? 0 : 1;
}

static int open_tokens(struct server *server) {
    const struct configuration *configuration = &server->configuration;
    struct parley_buffer error;
    parley_buffer_init(&error);
    const bool is_open =
        (!configuration->first_token ||
         bootstrap_token_make(configuration->token_file, configuration->data, &error)) &&
        token_keeper_open(&server->tokens, configuration->token_file, configuration->tokens != NULL,
                          &error);
    return tell_error(is_open, "", &error);
}

static void close_tokens(struct server *server) {
    token_keeper_close(&server->tokens);
}

static int open_keys(struct server *server) {
    struct parley_buffer error;
    parley_buffer_init(&error);
    const bool is_open = jwks_keeper_open(&server->keys, server->configuration.jwks, &error);
    return tell_error(is_open, "--jwks ", &error);
}

static void close_keys(struct server *server) {
    jwks_keeper_close(&server->keys);
}

static int read_webhooks(struct server *server) {
    return webhooks_start(&server->configuration, &server->webhooks);
}

static void forget_webhooks(struct server *server) {
    webhook_file_finish(&server->webhooks);
}

static void hand_out_keys(struct jwks_keeper *keeper, struct jwks *jwks) {
    workers_set_jwks(&OWNER_OF(keeper, struct server, keys)->workers, jwks);
}

static void hand_out_tokens(struct token_keeper *keeper, struct tokens *tokens) {
    workers_set_tokens(&OWNER_OF(keeper, struct server, tokens)->workers, tokens);
}

static int create_bounds(struct server *server) {
    enum parley_status status = process_limits_init(&server->bounds, &server->configuration);
    status = status == PARLEY_OK ? halt_sets_create(&server->halt_sets) : status;
    return status == PARLEY_OK ? 0 : fail("cannot start", parley_status_text(status));
}

static void destroy_bounds(struct server *server) {
    halt_sets_destroy(server->halt_sets);
    process_limits_finish(&server->bounds);
}

static unsigned worker_count(const struct configuration *configuration) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return configuration->reactors != 0 ? (unsigned)configuration->reactors
           : cores > 0                  ? (unsigned)cores
                                        : 1;
}

static int create_figures(struct server *server) {
    if (figures_set_create(worker_count(&server->configuration), &server->figures) != PARLEY_OK) {
        return fail("cannot start", "out of memory");
    }
    process_note_start(figures_main(&server->figures));
    const struct shared_sources shared = {.configuration = &server->configuration,
                                          .bounds = &server->bounds,
                                          .away_count = &server->workers.away_count,
                                          .halt_sets = server->halt_sets,
                                          .boards = (struct board *const *const *)&server->boards,
                                          .index_keeper = &server->index_keeper,
                                          .set = &server->figures};
    shared_figures_start(&server->shared_figures, server->reactor, &shared);
    return 0;
}

static void destroy_figures(struct server *server) {
    shared_figures_stop(&server->shared_figures);
    figures_set_destroy(&server->figures);
}

static int start_nats(struct server *server) {
    return nats_start_open(&server->nats, server->reactor, &server->configuration,
                           figures_main(&server->figures));
}

static void end_nats(struct server *server) {
    nats_start_close(&server->nats);
}

static void on_synced(void *context, uint64_t ns) {
    struct server *server = context;
    histogram_add(&figures_main(&server->figures)->sync, ns);
}

/* Data written since the last sync may be lost, and the kernel does not report it twice. So no
 * further answer leaves; a start finds the data on the disk. */
static void on_sync_failed(void *context, int error) {
    (void)context;
    log_format(LOG_DISK_FAILED, "the disk of the data folder cannot be synced: %s",
               strerror(error));
    abort();
}

static int start_commit(struct server *server) {
    const struct configuration *configuration = &server->configuration;
    if (configuration->durability != DURABILITY_MACHINE) {
        return 0;
    }
    const struct commit_options options = {.folder = configuration->data,
                                           .synced = on_synced,
                                           .failed = on_sync_failed,
                                           .context = server};
    const enum parley_status status = commit_create(&options, &server->commit);
    return status == PARLEY_OK     ? 0
           : status == PARLEY_E_IO ? fail(configuration->data, strerror(errno))
                                   : fail("cannot start", parley_status_text(status));
}

static void end_commit(struct server *server) {
    commit_destroy(server->commit);
}

static int create_stall_watch(struct server *server) {
    const struct configuration *configuration = &server->configuration;
    server->stall_watch.stalled = end_stalled;
    const enum parley_status status =
        stall_watch_start(&server->stall_watch, server->reactor, worker_count(configuration),
                          configuration->stall_timeout_ms);
    return status == PARLEY_OK ? 0 : fail("cannot start", parley_status_text(status));
}

static void stop_stall_watch(struct server *server) {
    stall_watch_stop(&server->stall_watch);
}

/* Readers are told what happens while they read, and a board that has to be read again may be late;
 * webhooks are told, too, what happened while no gateway ran. */
static int64_t moments_past_ms(const struct server *server) {
    enum { PAST_MS = 10000 };
    return worker_tasks_keep_moments(&server->webhooks) ? MOMENT_KEEPER_PAST_MS : PAST_MS;
}

static int create_shared(struct server *server) {
    server->fact_ledger = fact_ledger_create();
    server->moments = moments_create();
    if (server->fact_ledger == NULL || server->moments == NULL ||
        task_boards_create(&server->configuration, server->moments, moments_past_ms(server),
                           &server->boards) != PARLEY_OK ||
        agent_watches_create(server->configuration.channels, server->schemas,
                             &server->agent_watches) != PARLEY_OK ||
        inbox_watches_create(server->configuration.channels, &server->inbox_watches) != PARLEY_OK ||
        worker_pool_create(WORKER_POOL_THREADS, &server->worker_pool) != PARLEY_OK) {
        return fail("cannot start", "out of memory");
    }
    return 0;
}

static void destroy_shared(struct server *server) {
    worker_pool_destroy(server->worker_pool);
    agent_watches_destroy(server->agent_watches);
    inbox_watches_destroy(server->inbox_watches);
    task_boards_destroy(server->boards);
    moments_destroy(server->moments);
    fact_ledger_destroy(server->fact_ledger);
}

/* One worker is enough to notice that the embedded nats-server hangs. */
static int start_workers(struct server *server) {
    const struct configuration *configuration = &server->configuration;
    const struct worker_options options = {
        .configuration = configuration,
        .schemas = server->schemas,
        .pages = server->pages,
        .console = server->console,
        .nats_urls = server->nats.urls,
        .nats_shown = server->nats.shown,
        .nats_identity = server->nats.identity.bus,
        .nats_store = server->nats.store,
        .nats_token = server->nats.token,
        .listen_fd = server->listen_fd,
        .admin_fd = server->admin_fd,
        .tls = server->tls,
        .budget = &server->bounds.budget,
        .codings = &server->bounds.codings,
        .spools = &server->bounds.spools,
        .object_room = &server->bounds.object_room,
        .limits = &server->bounds.limits,
        .halt_sets = server->halt_sets,
        .all_figures = &server->figures,
        .full_answer = parley_buffer_bytes(&server->bounds.full_answer),
        .worker_pool = server->worker_pool,
        .commit = server->commit,
        .boards = server->boards,
        .agent_watches = server->agent_watches,
        .inbox_watches = server->inbox_watches,
        .moments = server->moments,
        .fact_ledger = server->fact_ledger,
        .index_service = server->index_service,
        .index_keeper = server->index_keeper,
        .tokens = server->tokens.tokens,
        .jwks = server->keys.jwks,
        .webhooks = server->webhooks.count > 0 ? &server->webhooks : NULL,
        .is_probing = server->nats.embedded != NULL,
        .keeps_facts = true,
        .worker_count = worker_count(configuration)};
    const struct workers_events events = {.ready = workers_ready,
                                          .unusable = workers_unusable,
                                          .trouble = worker_trouble,
                                          .unresponsive = workers_unresponsive,
                                          .ended = workers_ended,
                                          .context = server};
    const enum parley_status status =
        workers_start(&server->workers, server->reactor, &options, &events);
    for (unsigned i = 0; i < server->workers.count; i++) {
        stall_watch_add(&server->stall_watch, worker_reactor(server->workers.all[i]));
    }
    return status == PARLEY_OK ? 0 : fail("cannot start a worker", parley_status_text(status));
}

static void finish_workers(struct server *server) {
    workers_finish(&server->workers);
}

static int start_index(struct server *server) {
    const struct configuration *configuration = &server->configuration;
    char error[512];
    if (configuration->index == 0) {
        return 0;
    }
    const struct index_keeper_options options = {.folder = configuration->data,
                                                 .channels = configuration->channels,
                                                 .schemas = server->schemas,
                                                 .bus = {.urls = server->nats.urls,
                                                         .token = server->nats.token,
                                                         .identity = server->nats.identity.bus,
                                                         .name = "parley-index",
                                                         .where = server->nats.shown},
                                                 .nats_store = server->nats.store,
                                                 .replicas = (unsigned)configuration->replicas,
                                                 .dedupe_window_ms =
                                                     configuration->dedupe_window_ms,
                                                 .bytes_max = configuration->index_max_bytes,
                                                 .has_words = configuration->index_text};
    if (index_keeper_create(&options, &server->index_keeper, error) != PARLEY_OK) {
        return fail("--index on", error);
    }
    const enum parley_status status = index_service_create(
        configuration->data, configuration->index_text, &server->index_service);
    return status == PARLEY_OK ? 0 : fail("--index on", parley_status_text(status));
}

static void end_index(struct server *server) {
    index_service_destroy(server->index_service);
    index_keeper_destroy(server->index_keeper);
}

/* First of what can fail, so that a second server started by mistake fails at once. */
static int start_listening(struct server *server) {
    const struct configuration *configuration = &server->configuration;
    const char *why = "";
    unsigned admin_port;
    server->listen_fd =
        http_listen(configuration->address, configuration->port, &server->port, &why);
    if (server->listen_fd < 0) {
        return fail(configuration->listen, why);
    }
    if (configuration->admin_listen == NULL) {
        return 0;
    }
    server->admin_fd =
        http_listen(configuration->admin_address, configuration->admin_port, &admin_port, &why);
    return server->admin_fd < 0 ? fail(configuration->admin_listen, why) : 0;
}

static void stop_listening(struct server *server) {
    if (server->listen_fd >= 0) {
        close(server->listen_fd);
    }
    if (server->admin_fd >= 0) {
        close(server->admin_fd);
    }
}

static int create_reactor(struct server *server) {
    server->announce_timer.fire = announce_anyway;
    if (reactor_create(&server->reactor) != PARLEY_OK ||
        nats_log_create(server->reactor, &server->troubles) != PARLEY_OK) {
        return fail("cannot start", strerror(errno));
    }
    memory_trim_start(&server->trim, server->reactor);
    return 0;
}

static void destroy_reactor(struct server *server) {
    memory_trim_stop(&server->trim);
    nats_log_destroy(server->troubles);
    reactor_destroy(server->reactor);
}

/* What the process has: opened in this order, each with what is above it, and closed in the reverse
 * order, from the one that could not be opened. `close` NULL: nothing is left open. */
static const struct part {
    int (*open)(struct server *server); /* Returns: 0, or the exit status: the error is logged */
    void (*close)(struct server *server);
} parts[] = {
    {create_reactor, destroy_reactor},
    {start_listening, stop_listening},
    {load_tls, destroy_tls},
    {watch_signals, close_signals},
    {try_http, NULL},
    {create_schemas, destroy_schemas},
    {create_pages, destroy_pages},
    {create_bounds, destroy_bounds},
    {prepare_data, NULL},
    {open_tokens, close_tokens},
    {open_keys, close_keys},
    {read_webhooks, forget_webhooks},
    {create_figures, destroy_figures},
    {start_nats, end_nats},
    {start_commit, end_commit},
    {create_stall_watch, stop_stall_watch},
    {start_index, end_index},
    {create_shared, destroy_shared},
    {start_workers, finish_workers},
};

static int start(struct server *server) {
    int status = 0;
    raise_file_limit();
    while (status == 0 && server->open_count < sizeof parts / sizeof parts[0]) {
        status = parts[server->open_count++].open(server);
    }
    if (status == 0) {
        token_keeper_watch(&server->tokens, server->reactor, hand_out_tokens);
        jwks_keeper_watch(&server->keys, server->reactor, hand_out_keys);
        reactor_timer_set(server->reactor, &server->announce_timer, ANNOUNCE_ANYWAY_MS);
    }
    return status;
}

static void finish(struct server *server) {
    if (server->reactor != NULL) {
        drain(server);
    }
    while (server->open_count > 0) {
        const struct part *part = &parts[--server->open_count];
        if (part->close != NULL) {
            part->close(server);
        }
    }
    configuration_finish(&server->configuration);
}

int command_serve(int argc, char **argv) {
    struct server server = {.listen_fd = -1, .admin_fd = -1, .argc = argc, .argv = argv};
    const int64_t began_s = clock_now_seconds();
    const int loaded = configuration_load(&server.configuration, argc, argv);
    if (loaded >= 0) {
        configuration_finish(&server.configuration);
        return loaded;
    }
    if (server.configuration.check_config) {
        const int status = start_check(&server.configuration);
        configuration_finish(&server.configuration);
        return status;
    }
    start_log_open(&server.configuration);
    server.exit_status = start(&server);
    if (server.exit_status == 0) {
        reactor_run(server.reactor);
    }
    finish(&server);
    if (server.is_announced) {
        log_event(LOG_STOPPED, LOG_FIELDS(LOG_NUMBER("uptime_s", clock_now_seconds() - began_s),
                                          LOG_NUMBER("status", server.exit_status),
                                          LOG_NUMBER("left_out", log_take_left_out())));
    }
    return server.exit_status;
}
