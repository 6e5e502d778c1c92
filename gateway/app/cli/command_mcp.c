/* SPDX-License-Identifier: Apache-2.0 */

/* `parley mcp`: the Model Context Protocol on standard input and output, for clients that only
 * start programs. */

#include "commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "cli.h"
#include "mcp_bridge.h"
#include "server_arguments.h"

static const char help[] =
    "Usage: parley mcp [OPTION]… [URL]\n"
    "\n"
    "Connects a client of the Model Context Protocol that starts programs to a server: each line\n"
    "of standard input is a JSON-RPC message, which is posted to /mcp below URL\n"
    "[http://127.0.0.1:8080], and what the server answers are lines of standard output. A\n"
    "notification that a request is cancelled closes it. At the end of standard input parley\n"
    "waits for the answers, unless standard output is closed.\n"
    "\n"
    "Options:\n"
    "  --token-file FILE  holds the token; only its owner may read it. It is read for each "
    "request\n"
    "                     [PARLEY_TOKEN_FILE, else the token in PARLEY_TOKEN]\n"
    "  --ca FILE          authorities (PEM) of the certificate of an https:// URL; without it, "
    "the\n"
    "                     system's\n"
    "  --cert FILE        the certificate (PEM) to show to a server that asks for one\n"
    "  --key FILE         its private key (PEM)\n"
    "  -h, --help         print this text\n"
    "\n"
    "Exit status: 0 the end of standard input, 1 it could not be read, 2 wrong usage.\n"
    "\n"
    "Example, in the configuration of a client:\n"
    "  {\"mcpServers\": {\"parley\": {\"command\": \"parley\", \"args\": [\"mcp\"]}}}\n";

enum { TOKEN_FILE, CA, CERT, KEY, HELP, FLAG_COUNT };
static const struct argument_flag flags[] = {[TOKEN_FILE] = {"token-file", 0, true},
                                             [CA] = {"ca", 0, true},
                                             [CERT] = {"cert", 0, true},
                                             [KEY] = {"key", 0, true},
                                             [HELP] = {"help", 'h', false},
                                             {NULL, 0, false}};

/* Returns: -1 to continue, else the exit status. */
static int read_arguments(int argc, char **argv, struct mcp_bridge_options *options) {
    static const struct cli_usage usage = {"mcp", flags, help, 1, "mcp takes one URL"};
    const char *values[FLAG_COUNT] = {NULL}, *url = NULL;
    const int status = cli_read(&usage, argc, argv, values, &url);
    if (status >= 0) {
        return status;
    }
    options->tls =
        (struct http_client_tls){.ca = values[CA], .cert = values[CERT], .key = values[KEY]};
    const bool is_fine =
        server_arguments_url(url, &options->url) &&
        server_arguments_tls(&options->tls, &options->url) &&
        server_arguments_token(values[TOKEN_FILE], &options->token_file, &options->token);
    return is_fine ? -1 : EXIT_USAGE;
}

int command_mcp(int argc, char **argv) {
    struct mcp_bridge_options options = {.path = NULL};
    char path[1024];
    const int status = read_arguments(argc, argv, &options);
    if (status >= 0) {
        return status;
    }
    const size_t length = strlen(options.url.path);
    const bool is_whole = length >= 4 && strcmp(options.url.path + length - 4, "/mcp") == 0;
    snprintf(path, sizeof path, "%s%s", options.url.path, is_whole ? "" : "/mcp");
    options.path = path;
    signal(SIGPIPE, SIG_IGN); /* who no longer reads ends it in order */
    curl_global_init(CURL_GLOBAL_DEFAULT);
    return mcp_bridge_run(&options);
}
