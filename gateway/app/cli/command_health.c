/* SPDX-License-Identifier: Apache-2.0 */

/* `parley health`: one GET of /readyz, so that a container needs no HTTP client for its
 * HEALTHCHECK. */

#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "configuration_load.h"
#include "http_client.h"
#include "listen_address.h"

static const char help[] =
    "Usage: parley health [OPTION]… [URL]\n"
    "\n"
    "Asks a server whether it can accept messages (GET /readyz), and waits up to 2 s for the\n"
    "answer. Prints the reason if it cannot, and what else is wrong (\"but: …\") if it can.\n"
    "Without URL, it asks the server on this machine: at the address in PARLEY_LISTEN, else in\n"
    "the server's configuration file, else http://127.0.0.1:8080; by HTTPS if these name a\n"
    "certificate (tls-cert). Of a URL the certificate is verified; of this machine's server it\n"
    "is not.\n"
    "\n"
    "Options:\n"
    "  --config FILE  the server's configuration file [PARLEY_CONFIG]\n"
    "  --ca FILE      authorities (PEM) of the certificate of URL; without it, the system's\n"
    "  --cert FILE    the certificate (PEM) to show to a server that requires one\n"
    "  --key FILE     its private key (PEM)\n"
    "  -h, --help     print this text\n"
    "\n"
    "Exit status: 0 ready, 1 not ready or unreachable, 2 wrong usage.\n"
    "\n"
    "Example, for a Dockerfile:\n"
    "  HEALTHCHECK CMD [\"parley\", \"health\"]\n";

enum { CONFIG, CA, CERT, KEY, HELP, FLAG_COUNT };
static const struct argument_flag flags[] = {
    [CONFIG] = {"config", 0, true}, [CA] = {"ca", 0, true},        [CERT] = {"cert", 0, true},
    [KEY] = {"key", 0, true},       [HELP] = {"help", 'h', false}, {NULL, 0, false}};

#define DEADLINE_MS 2000

static bool read_listen(const char *listen, struct http_client_url *out) {
    unsigned port;
    char address[64];
    const char *wrong = listen_address_read(listen, address, &port);
    if (wrong != NULL || port == 0) {
        terminal_error(
            "the address that the server listens on, '%s', %s; pass the server's URL instead",
            listen, wrong != NULL ? wrong : "has port 0, which is chosen at start");
        return false;
    }
    const bool is_any = listen_address_is_any(address);
    snprintf(out->host, sizeof out->host, "%s",
             !is_any                        ? address
             : strchr(address, ':') != NULL ? "::1"
                                            : "127.0.0.1");
    snprintf(out->port, sizeof out->port, "%u", port);
    out->path = "";
    return true;
}

/* The address of the server on this machine.  Returns: -1 to continue, else the exit status. */
static int find_local(const char *path, struct http_client_url *out) {
    struct configuration configuration;
    int status = configuration_load_listen(&configuration, path);
    if (status < 0 && !read_listen(configuration.listen, out)) {
        status = EXIT_USAGE;
    }
    out->is_tls = configuration.tls_cert != NULL;
    configuration_finish(&configuration);
    return status;
}

static void print_not_ready(struct http_client *client, const struct http_client_url *url) {
    char what[sizeof url->host + sizeof url->port + 32];
    snprintf(what, sizeof what, "%s port %s is not ready", url->host, url->port);
    http_client_print_refusal(client, what, "");
}

/* Prints the remaining problems, which are lines of the answer: "but: stream VLP is full". */
static void print_ready(struct http_client *client) {
    const char *line = http_client_body(client);
    puts("ready");
    while ((line = strstr(line, "\nbut: ")) != NULL) {
        char text[1024];
        struct parley_buffer clean;
        line++;
        snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
        parley_buffer_init(&clean);
        terminal_append_clean(&clean, text);
        parley_buffer_char(&clean, '\0');
        puts(clean.has_failed ? "" : clean.data);
        parley_buffer_finish(&clean);
    }
}

static int ask(const struct http_client_url *url, const struct http_client_tls *tls) {
    const bool has_path = url->path[0] != '\0' && strcmp(url->path, "/") != 0;
    const struct http_client_request request = {.path = has_path ? url->path : "/readyz",
                                                .tls = *tls};
    struct http_client client;
    int status = EXIT_FAILURE;
    if (!http_client_init(&client)) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
    } else if (!http_client_ask(&client, url, &request, DEADLINE_MS)) {
        terminal_error("no answer from %s port %s: %s", url->host, url->port, client.error);
    } else if (client.status != 200) {
        print_not_ready(&client, url);
    } else {
        print_ready(&client);
        status = EXIT_SUCCESS;
    }
    http_client_finish(&client);
    return status;
}

int command_health(int argc, char **argv) {
    static const struct cli_usage usage = {"health", flags, help, 1, "health takes one URL"};
    const char *values[FLAG_COUNT] = {NULL}, *url = NULL;
    const int read = cli_read(&usage, argc, argv, values, &url);
    if (read >= 0) {
        return read;
    }
    struct http_client_tls tls = {.ca = values[CA], .cert = values[CERT], .key = values[KEY]};
    struct http_client_url target;
    if (url != NULL && !http_client_read_url(url, &target)) {
        return EXIT_USAGE;
    }
    if ((tls.cert == NULL) != (tls.key == NULL)) {
        terminal_error("--cert and --key go together: a certificate and its private key");
        return EXIT_USAGE;
    }
    /* This machine's certificate is not verified: neither request nor answer is secret, and the
     * program that answers at this machine's address is the machine's concern. */
    tls.trusts_any_server = url == NULL;
    const int status = url == NULL ? find_local(values[CONFIG], &target) : -1;
    return status < 0 ? ask(&target, &tls) : status;
}
