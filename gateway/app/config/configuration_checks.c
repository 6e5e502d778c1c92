/* SPDX-License-Identifier: Apache-2.0 */

/* Nothing is opened or created here: whether the data folder can be used is up to its user. */

#include "configuration_checks.h"

#include <stdlib.h>
#include <unistd.h>

#include "channel.h"
#include "listen_address.h"
#include "nats_urls.h"
#include "web_names.h"

enum { REMIND_DEDUPE_MS = 60000 };

/* ---- values by themselves ---- */

static void check_listen(struct loading *loading) {
    struct configuration *configuration = loading->configuration;
    const char *wrong =
        listen_address_read(configuration->listen, configuration->address, &configuration->port);
    if (wrong != NULL) {
        loading_fault(
            loading,
            "%s: '%s' %s; expected ADDRESS:PORT, such as 127.0.0.1:8080, :8080 or [::1]:8080",
            loading_source(loading, OPTION_OF(listen)), configuration->listen, wrong);
    }
}

static void check_admin_listen(struct loading *loading) {
    struct configuration *configuration = loading->configuration;
    if (configuration->admin_listen == NULL) {
        return;
    }
    const char *wrong = listen_address_read(
        configuration->admin_listen, configuration->admin_address, &configuration->admin_port);
    wrong = wrong == NULL && configuration->admin_port == 0 ? "has no port" : wrong;
    if (wrong != NULL) {
        loading_fault(
            loading, "%s: '%s' %s; expected ADDRESS:PORT, such as 127.0.0.1:9090 or :9090",
            loading_source(loading, OPTION_OF(admin_listen)), configuration->admin_listen, wrong);
    }
}

static void check_names(struct loading *loading) {
    const struct configuration *configuration = loading->configuration;
    char error[WEB_NAMES_ERROR_MAX];
    if (configuration->hosts != NULL && !web_names_check_hosts(configuration->hosts, error)) {
        loading_fault(loading, "%s: %s", loading_source(loading, OPTION_OF(hosts)), error);
    }
    if (configuration->cors_origins != NULL &&
        !web_names_check_origins(configuration->cors_origins, error)) {
        loading_fault(loading, "%s: %s", loading_source(loading, OPTION_OF(cors_origins)), error);
    }
}

static void check_nats(struct loading *loading) {
    struct configuration *configuration = loading->configuration;
    char error[NATS_URLS_ERROR_MAX];
    struct parley_buffer shown;
    if (configuration->nats == NULL) {
        return;
    }
    if (!nats_urls_check(configuration->nats, error)) {
        loading_fault(loading, "%s: %s", loading_source(loading, OPTION_OF(nats)), error);
        return;
    }
    parley_buffer_init(&shown);
    nats_urls_describe(configuration->nats, &shown);
    configuration->nats_shown = loading_keep(loading, &shown);
}

static void check_prefixes(struct loading *loading) {
    struct configuration *configuration = loading->configuration;
    char error[CHANNEL_ERROR_MAX];
    const enum parley_status status = channels_create(
        configuration->subject_prefixes, configuration->storage, &configuration->channels, error);
    if (status == PARLEY_E_UNSUPPORTED) {
        loading_fault(loading, "%s: %s", loading_source(loading, OPTION_OF(subject_prefixes)),
                      error);
    } else if (status != PARLEY_OK) {
        loading->is_out_of_memory = true;
    }
}

static void check_dialects(struct loading *loading) {
    struct configuration *configuration = loading->configuration;
    char error[CHANNEL_ERROR_MAX];
    if (configuration->channels != NULL &&
        channels_set_dialects(configuration->dialects, configuration->channels, error) !=
            PARLEY_OK) {
        loading_fault(loading, "%s: %s", loading_source(loading, OPTION_OF(dialects)), error);
    }
}

void configuration_check_values(struct loading *loading) {
    check_listen(loading);
    check_admin_listen(loading);
    check_names(loading);
    check_nats(loading);
    check_prefixes(loading);
    check_dialects(loading);
}

/* ---- values from the environment ---- */

void configuration_find_data(struct loading *loading) {
    struct configuration *configuration = loading->configuration;
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (configuration->data != NULL) {
        return;
    }
    /* The XDG Base Directory Specification says to ignore relative paths. */
    if (state != NULL && state[0] == '/') {
        configuration->data = loading_keep_joined(loading, state, "/parley");
    } else if (home != NULL && home[0] == '/') {
        configuration->data = loading_keep_joined(loading, home, "/.local/state/parley");
    } else {
        loading_fault(
            loading, "no default data folder: neither XDG_STATE_HOME nor HOME is an absolute path; "
                     "choose a folder with --data DIR");
    }
}

void configuration_find_tokens(struct loading *loading) {
    struct configuration *configuration = loading->configuration;
    if (configuration->data != NULL || configuration->tokens != NULL) {
        configuration->token_file =
            configuration->tokens != NULL
                ? configuration->tokens
                : loading_keep_joined(loading, configuration->data, "/tokens.json");
    }
}

/* ---- options that depend on each other ---- */

/* The option, however it was given, "needs" something. */
static void refuse_if(struct loading *loading, bool is_wrong, size_t option, const char *needs) {
    if (is_wrong) {
        loading_fault(loading, "%s %s", loading_source(loading, option), needs);
    }
}

static void check_addresses(struct loading *loading) {
    const struct configuration *configuration = loading->configuration;
    if (configuration->admin_listen == NULL) {
        return;
    }
    const char *address = configuration->address, *admin = configuration->admin_address;
    const bool is_same = strcmp(address, admin) == 0 || listen_address_is_any(address) ||
                         listen_address_is_any(admin);
    refuse_if(loading, is_same && configuration->port == configuration->admin_port,
              OPTION_OF(admin_listen), "needs another port than --listen has");
}

/* Without an issuer and an audience, a token for another service of the same issuer would do. */
static void check_jwt(struct loading *loading) {
    const struct configuration *configuration = loading->configuration;
    const bool has_jwks = configuration->jwks != NULL;
    const bool has_issuer = configuration->jwt_issuer != NULL;
    const bool has_audience = configuration->jwt_audience != NULL;
    refuse_if(loading, has_jwks && !has_issuer, OPTION_OF(jwks),
              "needs the issuer of the tokens: --jwt-issuer TEXT (their claim iss)");
    refuse_if(loading, has_jwks && !has_audience, OPTION_OF(jwks),
              "needs the audience that this server is: --jwt-audience TEXT (their claim aud)");
    refuse_if(loading, has_issuer && !has_jwks, OPTION_OF(jwt_issuer),
              "needs the issuer's keys: --jwks FILE");
    refuse_if(loading, has_audience && !has_jwks, OPTION_OF(jwt_audience),
              "needs the issuer's keys: --jwks FILE");
}

/* Whether requests must show a token or a certificate. */
static bool has_access_control(const struct configuration *configuration) {
    return configuration->tokens != NULL || configuration->first_token ||
           configuration->jwks != NULL || access(configuration->token_file, F_OK) == 0 ||
           (configuration->tls_client_ca != NULL && !configuration->tls_client_optional);
}

/* No client is served by accident. */
static void check_access(struct loading *loading) {
    const struct configuration *configuration = loading->configuration;
    if (configuration->insecure || listen_address_is_loopback(configuration->address) ||
        has_access_control(configuration)) {
        return;
    }
    loading_fault(loading,
                  "%s: other machines can reach %s, and there are no tokens: anyone who can reach "
                  "it could send and read. Make a token (parley token create --name NAME --allow "
                  "'send:*,read:*'), give the keys of JSON Web Tokens (--jwks), require "
                  "certificates of clients (--tls-client-ca), listen on a loopback address, or "
                  "add --insecure in a trusted network",
                  loading_source(loading, OPTION_OF(listen)), configuration->listen);
}

static void check_nats_files(struct loading *loading) {
    const struct configuration *configuration = loading->configuration;
    const char *const files[] = {configuration->nats_creds,   configuration->nats_nkey,
                                 configuration->nats_tls_ca,  configuration->nats_tls_cert,
                                 configuration->nats_tls_key, configuration->nats_tls_name};
    const size_t given_by[] = {OPTION_OF(nats_creds),   OPTION_OF(nats_nkey),
                               OPTION_OF(nats_tls_ca),  OPTION_OF(nats_tls_cert),
                               OPTION_OF(nats_tls_key), OPTION_OF(nats_tls_name)};
    const bool has_cert = configuration->nats_tls_cert != NULL;
    const bool has_key = configuration->nats_tls_key != NULL;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        refuse_if(loading, files[i] != NULL && configuration->nats == NULL, given_by[i],
                  "is for servers of your own: give their URLs with --nats");
    }
    refuse_if(loading, configuration->nats_creds != NULL && configuration->nats_nkey != NULL,
              OPTION_OF(nats_nkey),
              "and --nats-creds exclude each other: a credentials file has a seed of its own");
    refuse_if(loading, has_cert && !has_key, OPTION_OF(nats_tls_cert),
              "needs the certificate's private key: --nats-tls-key FILE");
    refuse_if(loading, has_key && !has_cert, OPTION_OF(nats_tls_key),
              "needs the certificate of this key: --nats-tls-cert FILE");
}

static void check_tls(struct loading *loading) {
    const struct configuration *configuration = loading->configuration;
    const bool has_cert = configuration->tls_cert != NULL;
    const bool has_key = configuration->tls_key != NULL;
    const bool has_ca = configuration->tls_client_ca != NULL;
    refuse_if(loading, has_cert && !has_key, OPTION_OF(tls_cert),
              "needs the certificate's private key: --tls-key FILE");
    refuse_if(loading, has_key && !has_cert, OPTION_OF(tls_key),
              "needs the certificate of this key: --tls-cert FILE");
    refuse_if(loading, has_ca && !has_cert, OPTION_OF(tls_client_ca),
              "needs TLS: give a certificate and its key with --tls-cert FILE and --tls-key FILE");
    refuse_if(loading, configuration->tls_client_optional && !has_ca,
              OPTION_OF(tls_client_optional),
              "needs the authority of the certificates that clients may show: --tls-client-ca "
              "FILE");
}

void configuration_check_together(struct loading *loading) {
    const struct configuration *configuration = loading->configuration;
    check_addresses(loading);
    check_jwt(loading);
    check_access(loading);
    check_nats_files(loading);
    refuse_if(loading, configuration->replicas > 1 && configuration->nats == NULL,
              OPTION_OF(replicas),
              "above 1 needs a cluster of NATS servers: give its URLs with --nats");
    refuse_if(loading,
              configuration->durability == DURABILITY_MACHINE && configuration->nats != NULL,
              OPTION_OF(durability),
              "of machine is for the embedded nats-server: of servers of your own a client cannot "
              "see whether they sync. Set `sync_interval: always` in their jetstream block, and "
              "give --durability server");
    refuse_if(loading,
              configuration->durability == DURABILITY_SERVER && configuration->nats == NULL,
              OPTION_OF(durability),
              "of server is for servers of your own, of --nats: with the embedded nats-server, "
              "give --durability machine");
    refuse_if(loading, configuration->index_text && configuration->index == 0,
              OPTION_OF(index_text), "needs the index: --index on");
    refuse_if(loading, configuration->remind_ms > 0 && configuration->index == 0,
              OPTION_OF(remind_ms), "needs the index, which knows what is overdue: --index on");
    refuse_if(loading,
              configuration->remind_ms > 0 && configuration->dedupe_window_ms < REMIND_DEDUPE_MS,
              OPTION_OF(remind_ms),
              "needs a --dedupe-window of 1m or more, so that gateways remind once");
    check_tls(loading);
}
