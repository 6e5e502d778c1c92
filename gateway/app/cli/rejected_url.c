/* SPDX-License-Identifier: Apache-2.0 */

#include "rejected_url.h"

#include <string.h>

#include "bearer.h"
#include "terminal.h"

/* An open stream has an event every 15 s. */
#define WAIT_MS 60000
#define STREAM "/v1/rejected/stream"

bool rejected_url_is(const char *operand) {
    return strncmp(operand, "http://", 7) == 0 || strncmp(operand, "https://", 8) == 0;
}

/* ---- what is asked for ---- */

static bool has_option(const char *path, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = strchr(path, '?'); at != NULL; at = strchr(at + 1, '&')) {
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '=') {
            return true;
        }
    }
    return false;
}

static void write_path(struct parley_buffer *out, const char *path) {
    const bool has_path = path[0] != '\0' && strcmp(path, "/") != 0;
    parley_buffer_text(out, has_path ? path : STREAM);
    const char *separator = strchr(path, '?') == NULL ? "?" : "&";
    if (!has_option(path, "since")) {
        parley_buffer_format(out, "%ssince=all", separator);
        separator = "&";
    }
    if (!has_option(path, "follow")) {
        parley_buffer_format(out, "%sfollow=false", separator);
    }
    parley_buffer_char(out, '\0');
}

/* ---- the answer ---- */

static const char *advice(unsigned status, bool has_token) {
    switch (status) {
    case 401:
        return has_token ? "; the token in PARLEY_TOKEN is not accepted: set it to one of this "
                           "server that has the scope admin"
                         : "; set the environment variable PARLEY_TOKEN to a token with the scope "
                           "admin";
    case 403:
        return has_token ? "; the token in PARLEY_TOKEN needs the scope admin: parley token create "
                           "--name NAME --allow admin makes such a token"
                         : "; set the environment variable PARLEY_TOKEN to a token with the scope "
                           "admin";
    case 404:
        return "; the URL is that of the server, such as http://127.0.0.1:8080, or of its "
               "stream, " STREAM;
    default:
        return "";
    }
}

static bool ask(struct http_client *client, const char *url, const struct http_client_url *parts,
                const struct http_client_request *request) {
    if (!http_client_open(client, parts, request, WAIT_MS)) {
        terminal_error("%s: no answer: %s; check that a server listens there", url, client->error);
        return false;
    }
    if (client->status != 200) {
        http_client_print_refusal(client, url, advice(client->status, request->token != NULL));
        return false;
    }
    return true;
}

bool rejected_url_open(struct http_client *client, const char *url,
                       const struct tls_client_options *tls) {
    struct http_client_url parts;
    struct http_client_request request = {.tls = *tls};
    http_client_init(client);
    if (!http_client_read_url(url, &parts) || !bearer_of_environment(&request.token)) {
        return false;
    }
    struct parley_buffer path;
    parley_buffer_init(&path);
    write_path(&path, parts.path);
    request.path = path.data;
    request.tls.host = parts.host;
    const bool is_open = !path.has_failed && ask(client, url, &parts, &request);
    if (path.has_failed) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
    }
    parley_buffer_finish(&path);
    return is_open;
}

ssize_t rejected_url_read(void *client, char *out, size_t size) {
    return http_client_receive(client, out, size, WAIT_MS);
}
