/* SPDX-License-Identifier: Apache-2.0 */

#include "server_arguments.h"

#include <stdlib.h>
#include <string.h>

#include "bearer.h"
#include "terminal.h"

bool server_arguments_url(const char *url, struct http_client_url *out) {
    if (!http_client_read_url(url != NULL ? url : SERVER_ARGUMENTS_URL, out)) {
        return false;
    }
    if (strpbrk(out->path, "?#") != NULL) {
        terminal_error("the URL is that of a server, without '?' and '#'");
        return false;
    }
    if (strcmp(out->path, "/") == 0) {
        out->path = "";
    }
    return true;
}

bool server_arguments_tls(const struct http_client_tls *tls, const struct http_client_url *url) {
    if ((tls->cert == NULL) != (tls->key == NULL)) {
        terminal_error("--cert and --key go together: a certificate and its private key");
        return false;
    }
    if ((tls->ca != NULL || tls->cert != NULL) && !url->is_tls) {
        terminal_error("--ca, --cert and --key are for an https:// URL; leave them out, or name "
                       "the server as https://HOST");
        return false;
    }
    return true;
}

bool server_arguments_token(const char *file, const char **out_file, const char **out_token) {
    const char *variable = getenv("PARLEY_TOKEN_FILE");
    if (file == NULL && variable != NULL && variable[0] != '\0') {
        file = variable;
    }
    *out_file = file;
    *out_token = NULL;
    return file != NULL || bearer_of_environment(out_token);
}
