/* SPDX-License-Identifier: Apache-2.0 */

/* See start_check.h. Not found are what only NATS can say (that it is away, refuses this user, or
 * has streams that cannot be used), and a port or data folder that another process has: that may be
 * the server whose configuration this is. */

#include "start_check.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "configuration_load.h"
#include "data_folder.h"
#include "embedded.h"
#include "http.h"
#include "jwks.h"
#include "nats_identity.h"
#include "private_file.h"
#include "terminal.h"
#include "tls_context.h"
#include "tokens.h"
#include "webhooks_start.h"

/* Each appends a sentence to `error` if something is wrong. */
typedef void check_fn(const struct configuration *configuration, struct parley_buffer *error);

static void check_address(const char *flag, const char *listen, const char *address, unsigned port,
                          struct parley_buffer *error) {
    const char *fault = http_listen_fault(address, port);
    if (fault != NULL) {
        parley_buffer_format(error, "%s %s: %s", flag, listen, fault);
    }
}

static void check_listen(const struct configuration *configuration, struct parley_buffer *error) {
    check_address("--listen", configuration->listen, configuration->address, configuration->port,
                  error);
}

static void check_admin_listen(const struct configuration *configuration,
                               struct parley_buffer *error) {
    if (configuration->admin_listen != NULL) {
        check_address("--admin-listen", configuration->admin_listen, configuration->admin_address,
                      configuration->admin_port, error);
    }
}

static void check_tls(const struct configuration *configuration, struct parley_buffer *error) {
    const struct tls_files files = configuration_tls_files(configuration);
    struct tls_context *context = NULL;
    char why[TLS_ERROR_MAX];
    if (files.certificate != NULL && tls_context_create(&files, why, &context) != PARLEY_OK) {
        parley_buffer_format(error, "TLS: %s", why);
    }
    tls_context_destroy(context);
}

static void check_data(const struct configuration *configuration, struct parley_buffer *error) {
    char why[512];
    if (!data_folder_check(configuration->data, why, sizeof why)) {
        parley_buffer_text(error, why);
    }
}

/* Where --first-token would make the file of --tokens. */
static void check_folder_of(const char *path, struct parley_buffer *error) {
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    if (folder == NULL || access(folder, W_OK | X_OK) != 0) {
        parley_buffer_format(error,
                             "--first-token: %s cannot be made: %s; make its folder, or let "
                             "parley's user write to it",
                             path, strerror(errno));
    }
    free(folder);
}

static void check_tokens(const struct configuration *configuration, struct parley_buffer *error) {
    const char *path = configuration->token_file;
    const bool is_given = configuration->tokens != NULL, is_there = private_file_exists(path);
    if (is_there || (is_given && !configuration->first_token)) {
        tokens_unref(tokens_read(path, error));
    } else if (is_given) {
        check_folder_of(path, error);
    }
}

static void check_keys(const struct configuration *configuration, struct parley_buffer *error) {
    if (configuration->jwks != NULL) {
        parley_buffer_text(error, "--jwks ");
        struct jwks *jwks = jwks_read_file(configuration->jwks, error);
        if (jwks != NULL) {
            parley_buffer_clear(error);
        }
        jwks_unref(jwks);
    }
}

static void check_webhooks(const struct configuration *configuration, struct parley_buffer *error) {
    struct webhook_file file = {.count = 0};
    (void)webhooks_start_read(configuration, &file, error);
    webhook_file_finish(&file);
}

static void check_nats(const struct configuration *configuration, struct parley_buffer *error) {
    struct nats_identity identity;
    char why[512];
    if (configuration->nats != NULL) {
        (void)nats_identity_load(configuration, &identity, error);
    } else if (!embedded_is_installed(why, sizeof why)) {
        parley_buffer_text(error, why);
    }
}

/* File names can hold what drives a terminal. */
static void print_fault(struct parley_buffer *fault) {
    struct parley_buffer clean;
    parley_buffer_init(&clean);
    parley_buffer_char(fault, '\0');
    terminal_append_clean(&clean, fault->has_failed ? "" : fault->data);
    const bool is_whole = !fault->has_failed && !clean.has_failed;
    terminal_error("%.*s", is_whole ? (int)clean.length : INT_MAX,
                   is_whole ? clean.data : parley_status_text(PARLEY_E_MEMORY));
    parley_buffer_finish(&clean);
}

/* Returns: whether all is well. */
static bool run(check_fn *check, const struct configuration *configuration) {
    struct parley_buffer fault;
    parley_buffer_init(&fault);
    check(configuration, &fault);
    const bool is_well = fault.length == 0 && !fault.has_failed;
    if (!is_well) {
        print_fault(&fault);
    }
    parley_buffer_finish(&fault);
    return is_well;
}

int start_check(const struct configuration *configuration) {
    static check_fn *const checks[] = {check_listen,   check_admin_listen, check_tls,
                                       check_data,     check_tokens,       check_keys,
                                       check_webhooks, check_nats};
    int status = configuration_print(configuration);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        status = run(checks[i], configuration) ? status : EXIT_FAILURE;
    }
    return status;
}
