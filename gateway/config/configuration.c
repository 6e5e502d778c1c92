/* SPDX-License-Identifier: Apache-2.0 */

/* Where the values of the options come from, and the checks that involve several of them. The file
 * is JSON because parley has a JSON parser and every editor knows it. Nothing else is opened or
 * created here: whether the data folder can be used is up to its user. */

#include "configuration.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <parley/arena.h>

#include "arguments.h"
#include "channel.h"
#include "listen_address.h"
#include "nats_urls.h"
#include "nearest.h"
#include "option.h"
#include "terminal.h"
#include "tls_context.h"
#include "web_names.h"

_Static_assert(OPTIONS_MAX + 1 <= ARGUMENT_FLAGS_MAX, "--help is a flag, too");

/* The value given for each option, and where ("--listen", "PARLEY_LISTEN", "FILE: 'listen'"). */
struct given {
    const char *text[OPTIONS_MAX]; /* NULL: none */
    const char *by[OPTIONS_MAX];
};

/* Copies a text; the copy lives as long as the configuration.  Returns: NULL without memory. */
static const char *keep(struct configuration *configuration, struct parley_buffer *text) {
    const char *copy = text->has_failed
                           ? NULL
                           : parley_arena_copy(configuration->storage, parley_buffer_bytes(text));
    parley_buffer_finish(text);
    return copy;
}

static const char *keep_joined(struct configuration *configuration, const char *a, const char *b) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, a);
    parley_buffer_text(&text, b);
    return keep(configuration, &text);
}

/* ---- where values come from ---- */

/* Appends an item to a list. */
static const char *keep_item(struct configuration *configuration, const char *before,
                             const char *item) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "%s,%s", before, item);
    return keep(configuration, &text);
}

static int read_flags(struct configuration *configuration, struct given *given, int argc,
                      char **argv) {
    struct argument_flag flags[OPTIONS_MAX + 2] = {{0}};
    for (size_t i = 0; i < option_count; i++) {
        flags[i] = (struct argument_flag){options[i].flag, 0, options[i].type != OPTION_SWITCH};
    }
    const int help = (int)option_count;
    flags[help] = (struct argument_flag){"help", 'h', false};
    struct arguments arguments = {.command = "serve", .flags = flags, .argc = argc, .argv = argv};
    for (const char *value;;) {
        const int flag = arguments_next(&arguments, &value);
        if (flag == ARGUMENT_END) {
            return -1;
        }
        if (flag == ARGUMENT_OPERAND) {
            terminal_error("unexpected argument '%s': serve takes only options (parley serve "
                           "--help lists them)",
                           value);
            return EXIT_USAGE;
        }
        if (flag == ARGUMENT_WRONG) {
            return EXIT_USAGE;
        }
        if (flag == help) {
            configuration_print_help();
            return EXIT_SUCCESS;
        }
        const bool is_item = options[flag].type == OPTION_LIST && given->text[flag] != NULL;
        given->text[flag] = is_item ? keep_item(configuration, given->text[flag], value) : value;
        if (given->text[flag] == NULL) {
            terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
            return EXIT_FAILURE;
        }
    }
}

static int read_variables(struct configuration *configuration, struct given *given) {
    for (size_t i = 0; i < option_count; i++) {
        char variable[64];
        option_name_variable(options[i].flag, variable);
        const char *value = getenv(variable);
        const bool is_flag = given->text[i] != NULL;
        if (!is_flag && (value == NULL || value[0] == '\0')) {
            continue;
        }
        given->text[i] = is_flag ? given->text[i] : value;
        given->by[i] = is_flag ? keep_joined(configuration, "--", options[i].flag)
                               : keep_joined(configuration, variable, "");
        if (given->by[i] == NULL) {
            terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
            return EXIT_FAILURE;
        }
    }
    return -1;
}

/* Kubernetes sets these in every pod of a namespace that has a service named parley. */
static bool is_service_link(const char *variable) {
    static const char *const links[] = {"PARLEY_SERVICE_", "PARLEY_PORT", NULL};
    for (size_t i = 0; links[i] != NULL; i++) {
        if (strncmp(variable, links[i], strlen(links[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* A misspelt variable would be ignored, and its value not take effect. */
static void warn_of_variable(const char *variable) {
    char names[OPTIONS_MAX][64];
    const char *known[OPTIONS_MAX + 1] = {0};
    for (size_t i = 0; i < option_count; i++) {
        option_name_variable(options[i].flag, names[i]);
        known[i] = names[i];
        if (strcmp(names[i], variable) == 0) {
            return;
        }
    }
    const char *nearest = nearest_word(variable, known);
    if (nearest != NULL) {
        terminal_error("the unknown environment variable %s has no effect; did you mean %s?",
                       variable, nearest);
    } else {
        terminal_error(
            "the unknown environment variable %s has no effect (parley serve --help lists the "
            "known ones)",
            variable);
    }
}

static void warn_of_variables(void) {
    for (char *const *entry = environ; *entry != NULL; entry++) {
        char variable[128];
        const size_t length = strcspn(*entry, "=");
        snprintf(variable, sizeof variable, "%.*s", (int)(length < 127 ? length : 127), *entry);
        if (strncmp(variable, "PARLEY_", strlen("PARLEY_")) == 0 && !is_service_link(variable)) {
            warn_of_variable(variable);
        }
    }
}

/* ---- the file ---- */

static int find_key(const char *path, const char *key) {
    const char *names[OPTIONS_MAX + 1] = {0};
    size_t count = 0;
    for (size_t i = 0; i < option_count; i++) {
        if (!options[i].is_not_in_file) {
            if (strcmp(options[i].flag, key) == 0) {
                return (int)i;
            }
            names[count++] = options[i].flag;
        }
    }
    const char *nearest = nearest_word(key, names);
    if (nearest != NULL) {
        terminal_error("%s: unknown key '%s'; did you mean '%s'?", path, key, nearest);
    } else {
        terminal_error(
            "%s: unknown key '%s' (the keys are the options that parley serve --help lists)", path,
            key);
    }
    return -1;
}

/* Appends ", not 3": the value of a key that has the wrong type. Arrays and objects are not shown,
 * since they can contain passwords. */
static void write_found(const json_t *value, bool is_list, struct parley_buffer *out) {
    parley_buffer_text(out, ", not ");
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        parley_buffer_text(out, "an object");
        break;
    case JSON_ARRAY:
        parley_buffer_text(out, is_list ? "an array with other items" : "an array");
        break;
    case JSON_STRING:
        parley_buffer_json(out, parley_bytes_of(json_string_value(value)));
        break;
    case JSON_INTEGER:
        parley_buffer_format(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        parley_buffer_number(out, json_real_value(value));
        break;
    default:
        parley_buffer_text(out, json_is_true(value) ? "true" : "false");
    }
    parley_buffer_char(out, '\0');
}

static int set_key(struct configuration *configuration, struct given *given, const char *path,
                   const char *key, const json_t *value) {
    const int i = find_key(path, key);
    if (i < 0) {
        return EXIT_USAGE;
    }
    if (json_is_null(value)) {
        return -1; /* counts as absent */
    }
    struct parley_buffer text, by;
    parley_buffer_init(&text);
    parley_buffer_init(&by);
    const char *expected;
    if (!option_read_json(&options[i], value, &text, &expected)) {
        parley_buffer_clear(&text);
        write_found(value, options[i].type == OPTION_LIST, &text);
        terminal_error("%s: '%s' must be %s%s", path, key, expected,
                       text.has_failed ? "" : text.data);
        parley_buffer_finish(&text);
        return EXIT_USAGE;
    }
    if (given->text[i] != NULL) { /* a flag or a variable takes precedence */
        parley_buffer_finish(&text);
        return -1;
    }
    parley_buffer_format(&by, "%s: '%s'", path, key);
    given->text[i] = keep(configuration, &text);
    given->by[i] = keep(configuration, &by);
    if (given->text[i] == NULL || given->by[i] == NULL) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
        return EXIT_FAILURE;
    }
    return -1;
}

static int read_file(struct configuration *configuration, struct given *given, const char *path) {
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        terminal_error("cannot read the configuration file %s: %s", path, strerror(errno));
        return EXIT_USAGE;
    }
    json_error_t error;
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    fclose(file);
    if (root == NULL) {
        terminal_error("%s:%d:%d: not valid JSON: %s (comments are not allowed)", path, error.line,
                       error.column, error.text);
        return EXIT_USAGE;
    }
    int status = -1;
    if (!json_is_object(root)) {
        terminal_error("%s: a configuration file must be one JSON object, { … }", path);
        status = EXIT_USAGE;
    }
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        if (status < 0) {
            status = set_key(configuration, given, path, key, value);
        }
    }
    json_decref(root);
    return status;
}

static int assign_all(struct configuration *configuration, const struct given *given) {
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &options[i];
        if (option->fallback != NULL) {
            const bool is_fallback_valid = option_assign(option, option->fallback, configuration);
            assert(is_fallback_valid);
            (void)is_fallback_valid;
        }
        if (given->text[i] != NULL && !option_assign(option, given->text[i], configuration)) {
            option_print_invalid(option, given->by[i], given->text[i]);
            return EXIT_USAGE;
        }
    }
    return -1;
}

/* ---- options that depend on each other ---- */

/* Where the value of the option with this field came from. */
static const char *source_of(const struct given *given, size_t field) {
    for (size_t i = 0; i < option_count; i++) {
        if (options[i].field == field) {
            return given->by[i];
        }
    }
    return NULL;
}

static int find_listen(struct configuration *configuration, const struct given *given) {
    const char *wrong =
        listen_address_read(configuration->listen, configuration->address, &configuration->port);
    if (wrong != NULL) {
        terminal_error(
            "%s: '%s' %s; expected ADDRESS:PORT, such as 127.0.0.1:8080, :8080 or [::1]:8080",
            source_of(given, offsetof(struct configuration, listen)), configuration->listen, wrong);
        return EXIT_USAGE;
    }
    return -1;
}

/* Whether requests have to show anything. */
static bool has_access_control(const struct configuration *configuration) {
    return configuration->tokens != NULL || configuration->first_token ||
           configuration->jwks != NULL || access(configuration->token_file, F_OK) == 0 ||
           (configuration->tls_client_ca != NULL && !configuration->tls_client_optional);
}

static int find_tokens(struct configuration *configuration) {
    configuration->token_file =
        configuration->tokens != NULL
            ? configuration->tokens
            : keep_joined(configuration, configuration->data, "/tokens.json");
    if (configuration->token_file == NULL) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
        return EXIT_FAILURE;
    }
    return -1;
}

/* Without an issuer and an audience, a token for another service of the same issuer would do. */
static int check_jwt(const struct configuration *configuration) {
    const bool has_jwks = configuration->jwks != NULL;
    const bool has_issuer = configuration->jwt_issuer != NULL;
    const bool has_audience = configuration->jwt_audience != NULL;
    const char *fault =
        has_jwks && !has_issuer
            ? "--jwks needs the issuer of the tokens: --jwt-issuer TEXT (their claim iss)"
        : has_jwks && !has_audience
            ? "--jwks needs the audience that this server is: --jwt-audience TEXT (their claim aud)"
        : !has_jwks && (has_issuer || has_audience)
            ? "--jwt-issuer and --jwt-audience need the issuer's keys: --jwks FILE"
            : NULL;
    if (fault != NULL) {
        terminal_error("%s", fault);
    }
    return fault != NULL ? EXIT_USAGE : -1;
}

static int check_names(const struct configuration *configuration, const struct given *given) {
    char error[WEB_NAMES_ERROR_MAX];
    const char *by = NULL;
    if (configuration->hosts != NULL && !web_names_check_hosts(configuration->hosts, error)) {
        by = source_of(given, offsetof(struct configuration, hosts));
    } else if (configuration->cors_origins != NULL &&
               !web_names_check_origins(configuration->cors_origins, error)) {
        by = source_of(given, offsetof(struct configuration, cors_origins));
    }
    if (by != NULL) {
        terminal_error("%s: %s", by, error);
    }
    return by != NULL ? EXIT_USAGE : -1;
}

/* Nobody is served by accident who should not be. */
static int check_access(const struct configuration *configuration, const struct given *given) {
    if (configuration->insecure || listen_address_is_loopback(configuration->address) ||
        has_access_control(configuration)) {
        return -1;
    }
    terminal_error("%s: other machines can reach %s, and there are no tokens: anyone who can reach "
                   "it could send and read. Make a token (parley token create --name NAME --allow "
                   "'send:*,read:*'), give the keys of JSON Web Tokens (--jwks), require "
                   "certificates of clients (--tls-client-ca), listen on a loopback address, or "
                   "add --insecure in a trusted network",
                   source_of(given, offsetof(struct configuration, listen)), configuration->listen);
    return EXIT_USAGE;
}

static int find_data(struct configuration *configuration) {
    if (configuration->data != NULL) {
        return -1;
    }
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    /* The XDG Base Directory Specification says to ignore relative paths. */
    if (state != NULL && state[0] == '/') {
        configuration->data = keep_joined(configuration, state, "/parley");
    } else if (home != NULL && home[0] == '/') {
        configuration->data = keep_joined(configuration, home, "/.local/state/parley");
    } else {
        terminal_error(
            "no default data folder: neither XDG_STATE_HOME nor HOME is an absolute path; "
            "choose a folder with --data DIR");
        return EXIT_USAGE;
    }
    if (configuration->data == NULL) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
        return EXIT_FAILURE;
    }
    return -1;
}

/* What is wrong with the options that say how to connect to --nats; NULL: nothing. */
static const char *nats_fault(const struct configuration *configuration) {
    const bool has_creds = configuration->nats_creds != NULL;
    const bool has_nkey = configuration->nats_nkey != NULL;
    const bool has_cert = configuration->nats_tls_cert != NULL;
    const bool has_key = configuration->nats_tls_key != NULL;
    const bool has_any = has_creds || has_nkey || has_cert || has_key ||
                         configuration->nats_tls_ca != NULL || configuration->nats_tls_name != NULL;
    return has_any && configuration->nats == NULL
               ? "--nats-creds, --nats-nkey and --nats-tls-… are for servers of your own: give "
                 "their URLs with --nats"
           : has_creds && has_nkey ? "--nats-creds and --nats-nkey exclude each other: a "
                                     "credentials file has a seed of its own"
           : has_cert && !has_key
               ? "--nats-tls-cert needs the certificate's private key: --nats-tls-key FILE"
           : has_key && !has_cert
               ? "--nats-tls-key needs the certificate of this key: --nats-tls-cert FILE"
               : NULL;
}

static int find_nats(struct configuration *configuration, const struct given *given) {
    const char *fault = nats_fault(configuration);
    if (fault != NULL) {
        terminal_error("%s", fault);
        return EXIT_USAGE;
    }
    if (configuration->nats == NULL) {
        return -1;
    }
    char error[NATS_URLS_ERROR_MAX];
    if (!nats_urls_check(configuration->nats, error)) {
        terminal_error("%s: %s", source_of(given, offsetof(struct configuration, nats)), error);
        return EXIT_USAGE;
    }
    struct parley_buffer shown;
    parley_buffer_init(&shown);
    nats_urls_describe(configuration->nats, &shown);
    configuration->nats_shown = keep(configuration, &shown);
    if (configuration->nats_shown == NULL) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
        return EXIT_FAILURE;
    }
    return -1;
}

static int find_replicas(const struct configuration *configuration) {
    if (configuration->replicas > 1 && configuration->nats == NULL) {
        terminal_error("%" PRIu64 " replicas need a cluster of NATS servers: give its URLs with "
                       "--nats, or use --replicas 1",
                       configuration->replicas);
        return EXIT_USAGE;
    }
    return -1;
}

struct tls_files configuration_tls_files(const struct configuration *configuration) {
    return (struct tls_files){.certificate = configuration->tls_cert,
                              .key = configuration->tls_key,
                              .client_ca = configuration->tls_client_ca,
                              .is_client_optional = configuration->tls_client_optional};
}

static int find_tls(const struct configuration *configuration) {
    const bool has_cert = configuration->tls_cert != NULL;
    const bool has_ca = configuration->tls_client_ca != NULL;
    const char *wrong = NULL;
    if (has_cert != (configuration->tls_key != NULL)) {
        wrong = has_cert ? "--tls-cert needs the certificate's private key: --tls-key FILE"
                         : "--tls-key needs the certificate of this key: --tls-cert FILE";
    } else if (has_ca && !has_cert) {
        wrong = "--tls-client-ca needs TLS: give a certificate and its key with --tls-cert FILE "
                "and --tls-key FILE";
    } else if (configuration->tls_client_optional && !has_ca) {
        wrong = "--tls-client-optional needs the authority of the certificates that clients may "
                "show: --tls-client-ca FILE";
    }
    if (wrong != NULL) {
        terminal_error("%s", wrong);
    }
    return wrong != NULL ? EXIT_USAGE : -1;
}

static int find_channels(struct configuration *configuration, const struct given *given) {
    char error[CHANNEL_ERROR_MAX];
    const enum parley_status status = channels_create(
        configuration->subject_prefixes, configuration->storage, &configuration->channels, error);
    if (status == PARLEY_E_UNSUPPORTED) {
        terminal_error("%s: %s", source_of(given, offsetof(struct configuration, subject_prefixes)),
                       error);
        return EXIT_USAGE;
    }
    if (status != PARLEY_OK) {
        terminal_error("%s", parley_status_text(status));
        return EXIT_FAILURE;
    }
    return -1;
}

/* ---- --check-config ---- */

/* The server loads them itself, when it starts. */
static int check_tls(const struct configuration *configuration) {
    const struct tls_files files = configuration_tls_files(configuration);
    struct tls_context *context = NULL;
    char error[TLS_ERROR_MAX];
    if (files.certificate == NULL) {
        return -1;
    }
    if (tls_context_create(&files, error, &context) != PARLEY_OK) {
        terminal_error("TLS: %s", error);
        return EXIT_FAILURE;
    }
    tls_context_destroy(context);
    return -1;
}

static int print_configuration(const struct configuration *configuration) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    parley_buffer_text(&out, "{");
    for (size_t i = 0; i < option_count; i++) {
        if (!options[i].is_not_in_file) {
            parley_buffer_format(&out, "%s\n  \"%s\": ", i == 0 ? "" : ",", options[i].flag);
            option_write_json(&options[i], configuration, &out);
        }
    }
    parley_buffer_text(&out, "\n}\n");
    const enum parley_status status = parley_buffer_status(&out);
    if (status == PARLEY_OK) {
        fwrite(out.data, 1, out.length, stdout);
    } else {
        terminal_error("%s", parley_status_text(status));
    }
    parley_buffer_finish(&out);
    return status == PARLEY_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- loading ---- */

static size_t index_of(size_t field) {
    size_t i = 0;
    while (options[i].field != field) {
        i++;
    }
    return i;
}

static const char *config_path(const struct given *given) {
    return given->text[index_of(offsetof(struct configuration, config))];
}

static int read_file_if_any(struct configuration *configuration, struct given *given) {
    const char *path = config_path(given);
    return path != NULL ? read_file(configuration, given, path) : -1;
}

static int load(struct configuration *configuration, int argc, char **argv) {
    struct given given = {.text = {NULL}};
    int status = read_flags(configuration, &given, argc, argv);
    status = status < 0 ? read_variables(configuration, &given) : status;
    if (status < 0) {
        warn_of_variables();
    }
    status = status < 0 ? read_file_if_any(configuration, &given) : status;
    status = status < 0 ? assign_all(configuration, &given) : status;
    status = status < 0 ? find_listen(configuration, &given) : status;
    status = status < 0 ? check_names(configuration, &given) : status;
    status = status < 0 ? check_jwt(configuration) : status;
    status = status < 0 ? find_data(configuration) : status;
    status = status < 0 ? find_tokens(configuration) : status;
    status = status < 0 ? check_access(configuration, &given) : status;
    status = status < 0 ? find_nats(configuration, &given) : status;
    status = status < 0 ? find_replicas(configuration) : status;
    status = status < 0 ? find_channels(configuration, &given) : status;
    status = status < 0 ? find_tls(configuration) : status;
    if (status >= 0 || !configuration->check_config) {
        return status;
    }
    status = check_tls(configuration);
    return status < 0 ? print_configuration(configuration) : status;
}

static int init(struct configuration *configuration) {
    *configuration = (struct configuration){.storage = malloc(sizeof(struct parley_arena))};
    if (configuration->storage == NULL) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
        return EXIT_FAILURE;
    }
    parley_arena_init(configuration->storage, 0);
    return -1;
}

int configuration_load(struct configuration *configuration, int argc, char **argv) {
    const int status = init(configuration);
    return status < 0 ? load(configuration, argc, argv) : status;
}

int configuration_load_listen(struct configuration *configuration, const char *path) {
    const size_t listen = index_of(offsetof(struct configuration, listen));
    const size_t config = index_of(offsetof(struct configuration, config));
    struct given given = {.text = {NULL}};
    int status = init(configuration);
    given.text[config] = path;
    status = status < 0 ? read_variables(configuration, &given) : status;
    status = status < 0 ? read_file_if_any(configuration, &given) : status;
    configuration->listen =
        given.text[listen] != NULL ? given.text[listen] : options[listen].fallback;
    configuration->tls_cert = given.text[index_of(offsetof(struct configuration, tls_cert))];
    return status;
}

int configuration_load_tokens(struct configuration *configuration, const char *tokens,
                              const char *data) {
    const size_t tokens_option = index_of(offsetof(struct configuration, tokens));
    const size_t data_option = index_of(offsetof(struct configuration, data));
    struct given given = {.text = {NULL}};
    int status = init(configuration);
    given.text[tokens_option] = tokens;
    given.text[data_option] = data;
    status = status < 0 ? read_variables(configuration, &given) : status;
    status = status < 0 ? read_file_if_any(configuration, &given) : status;
    configuration->tokens = given.text[tokens_option];
    configuration->data = given.text[data_option];
    status = status < 0 ? find_data(configuration) : status;
    return status < 0 ? find_tokens(configuration) : status;
}

void configuration_finish(struct configuration *configuration) {
    if (configuration->storage != NULL) {
        parley_arena_finish(configuration->storage);
        free(configuration->storage);
        configuration->storage = NULL;
    }
}
