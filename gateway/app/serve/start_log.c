/* SPDX-License-Identifier: Apache-2.0 */

#include "start_log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "bus.h"
#include "configuration_load.h"
#include "http.h"
#include "jansson_setup.h"
#include "log.h"
#include "terminal.h"
#include "tls_context.h"

enum { REQUESTS_PER_S = 100 }; /* of which a client can make as many as it likes */

void start_log_open(const struct configuration *configuration) {
    const bool has_all = configuration->access_log == ACCESS_LOG_ALL;
    const struct log_options options = {.fd = STDERR_FILENO,
                                        .requests_per_s = has_all ? 0 : REQUESTS_PER_S,
                                        .format = (enum log_format)configuration->log_format,
                                        .level = (enum log_level)configuration->log_level,
                                        .is_coloured = terminal_has_colour(stderr)};
    log_open(&options);
}

static void write_versions(void) {
    log_event(LOG_VERSIONS, LOG_FIELDS(LOG_TEXT("parley", PARLEY_VERSION),
                                       LOG_TEXT("libmicrohttpd", http_library_version()),
                                       LOG_TEXT("nats_c", bus_library_version()),
                                       LOG_TEXT("jansson", jansson_library_version()),
                                       LOG_TEXT("libsodium", sodium_version_string()),
                                       LOG_TEXT("openssl", tls_library_version())));
}

static void write_limits(const struct configuration *configuration) {
    log_event(LOG_LIMITS,
              LOG_FIELDS(LOG_NUMBER("connections", configuration->connections_max),
                         LOG_NUMBER("in_flight", configuration->in_flight_max),
                         LOG_NUMBER("gather_bytes", configuration->gather_max_bytes),
                         LOG_NUMBER("spool_bytes", configuration->spool_max_bytes),
                         LOG_NUMBER("rate_messages", configuration->rate_messages),
                         LOG_NUMBER("rate_bytes", configuration->rate_bytes),
                         LOG_NUMBER("bus_patience_ms", configuration->bus_patience_ms),
                         LOG_NUMBER("ack_timeout_ms", configuration->ack_timeout_ms),
                         LOG_NUMBER("dedupe_window_ms", configuration->dedupe_window_ms)));
}

/* The credentials that a request must show. */
static const char *access_name(const struct configuration *configuration,
                               const struct start_facts *facts) {
    const bool has_certificates = configuration->tls_client_ca != NULL;
    return facts->has_tokens             ? "tokens"
           : configuration->jwks != NULL ? "jwt"
           : has_certificates            ? "certificates"
                                         : "open";
}

static void print(const struct configuration *configuration, const char *url) {
    printf("listening on %s\n", url); /* for programs: docs/api.md#command-line */
    if (isatty(STDOUT_FILENO)) {      /* a person may need a hint for the next step */
        printf("%s/ has examples; data is in %s; Ctrl-C stops the server\n", url,
               configuration->data);
    }
    fflush(stdout);
}

void start_log_write(const struct configuration *configuration, const struct start_facts *facts) {
    const bool is_v6 = strchr(configuration->address, ':') != NULL;
    char url[128];
    snprintf(url, sizeof url, "%s://%s%s%s:%u", facts->has_tls ? "https" : "http", is_v6 ? "[" : "",
             configuration->address, is_v6 ? "]" : "", facts->port);
    write_versions();
    write_limits(configuration);
    log_event(LOG_LISTENING,
              LOG_FIELDS(LOG_TEXT("url", url), LOG_TEXT("data", configuration->data),
                         LOG_TEXT("nats", facts->nats),
                         LOG_TEXT("durability", durability_names[configuration->durability]),
                         LOG_NUMBER("workers", facts->workers), LOG_FLAG("tls", facts->has_tls),
                         LOG_TEXT("access", access_name(configuration, facts)),
                         LOG_FLAG("quarantine", configuration->quarantine),
                         LOG_FLAG("bind_sender", configuration->bind_sender),
                         LOG_TEXT("access_log", access_log_names[configuration->access_log]),
                         LOG_FLAG("trace", configuration->trace)));
    print(configuration, url);
}
