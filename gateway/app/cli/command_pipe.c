/* SPDX-License-Identifier: Apache-2.0 */

/* `parley pipe`: frames on standard input and output, so that a program needs no HTTP. */

#include "commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "pipe.h"
#include "pipe_down.h"
#include "pipe_up.h"
#include "quantity.h"
#include "server_arguments.h"

static const char help[] =
    "Usage: parley pipe --agent NAME --from gerbil|elixir [OPTION]… [URL]\n"
    "\n"
    "Connects a program to a server without HTTP: for an agent (--from gerbil) or its supervisor\n"
    "(--from elixir), as an Erlang port with {packet, 4} is. Standard input and output have\n"
    "frames, each a MessagePack map after its length in 4 bytes, big-endian. URL is the server's\n"
    "[http://127.0.0.1:8080].\n"
    "\n"
    "  Standard input   is sent. A message that is refused comes back as the other side's `error`\n"
    "                   with the code INVALID_MESSAGE, what is wrong, and the number of the frame\n"
    "                   (from 1), in `details` (of Elixir) or `context` (of Gerbil)\n"
    "  Standard output  has what the other side sends to this agent, as it was sent, and these\n"
    "                   errors\n"
    "\n"
    "While the server is away, parley tries again, and reads standard input only as far as it can\n"
    "keep: 1 MiB, or one larger frame. A message that is sent again is stored once (within the\n"
    "server's dedupe window), and none that was sent to this agent meanwhile is left out or\n"
    "passed on twice. Once standard input has ended and everything is acknowledged, parley ends.\n"
    "\n"
    "Options:\n"
    "  --agent NAME       the agent: 1 to 64 of A-Z a-z 0-9 _ -\n"
    "  --from SIDE        which side this is: gerbil (the agent) or elixir (its supervisor)\n"
    "  --since WHEN       which messages to begin with: now, all, a time, or 15m ago [now]\n"
    "  --linger TIME      how long to try after the end of standard input [30s]\n"
    "  --token-file FILE  holds the token, with the scopes send and read of the protocol; nobody\n"
    "                     else may read it. It is read for each request [PARLEY_TOKEN_FILE, else\n"
    "                     the token in PARLEY_TOKEN]\n"
    "  --ca FILE          authorities (PEM) of the certificate of an https:// URL; without it, "
    "the\n"
    "                     system's\n"
    "  --cert FILE        the certificate (PEM) to show to a server that asks for one\n"
    "  --key FILE         its private key (PEM)\n"
    "  -h, --help         print this text\n"
    "\n"
    "Exit status: 0 everything was acknowledged, 1 it was not, 2 wrong usage.\n"
    "\n"
    "Examples:\n"
    "  Port.open({:spawn, \"parley pipe --agent coder-1 --from elixir\"}, [:binary, packet: 4])\n"
    "  parley convert supervisor --to frames log.ndjson | parley pipe --agent a --from gerbil\n";

enum { AGENT, FROM, SINCE, LINGER, TOKEN_FILE, CA, CERT, KEY, HELP, FLAG_COUNT };
static const struct argument_flag flags[] = {[AGENT] = {"agent", 0, true},
                                             [FROM] = {"from", 0, true},
                                             [SINCE] = {"since", 0, true},
                                             [LINGER] = {"linger", 0, true},
                                             [TOKEN_FILE] = {"token-file", 0, true},
                                             [CA] = {"ca", 0, true},
                                             [CERT] = {"cert", 0, true},
                                             [KEY] = {"key", 0, true},
                                             [HELP] = {"help", 'h', false},
                                             {NULL, 0, false}};

/* ---- the command line ---- */

/* The one that is spoken in frames. */
static const struct parley_protocol *find_protocol(void) {
    size_t i = 0;
    while (parley_protocols[i] != NULL && parley_protocols[i]->pipe == NULL) {
        i++;
    }
    return parley_protocols[i];
}

static bool check_option(const struct parley_protocol *protocol, const char *name,
                         const char *value) {
    struct parley_options options = {0};
    const char *wants = NULL;
    if (value == NULL) {
        terminal_error("pipe needs --agent NAME and --from SIDE (parley pipe --help)");
        return false;
    }
    if (parley_options_set(&options, protocol, name, value, &wants) != PARLEY_OPTION_SET) {
        terminal_error("--%s must be %s, not '%s'", name, wants, value);
        return false;
    }
    return true;
}

static bool take_linger(struct pipe_options *options, const char *value) {
    enum { DEFAULT_MS = 30000, DAY_MS = 24 * 3600 * 1000 };
    options->linger_ms = DEFAULT_MS;
    if (value == NULL) {
        return true;
    }
    if (!quantity_read_duration(value, &options->linger_ms) || options->linger_ms < 0 ||
        options->linger_ms > DAY_MS) {
        terminal_error("--linger must be a time from 0 to 24h, such as 30s, not '%s'", value);
        return false;
    }
    return true;
}

static bool take_all(struct pipe_options *options, const char *const values[FLAG_COUNT],
                     const char *url) {
    options->protocol = find_protocol();
    options->agent = values[AGENT];
    options->from = values[FROM];
    options->since = values[SINCE] != NULL ? values[SINCE] : "now";
    options->url_text = url != NULL ? url : SERVER_ARGUMENTS_URL;
    options->tls =
        (struct http_client_tls){.ca = values[CA], .cert = values[CERT], .key = values[KEY]};
    return check_option(options->protocol, "agent", options->agent) &&
           check_option(options->protocol, options->protocol->pipe->from->help.name,
                        options->from) &&
           take_linger(options, values[LINGER]) && server_arguments_url(url, &options->url) &&
           server_arguments_tls(&options->tls, &options->url) &&
           server_arguments_token(values[TOKEN_FILE], &options->token_file, &options->token);
}

/* Returns: -1 to continue, else the exit status. */
static int read_arguments(int argc, char **argv, struct pipe_options *options) {
    static const struct cli_usage usage = {"pipe", flags, help, 1, "pipe takes one URL"};
    const char *values[FLAG_COUNT] = {NULL}, *url = NULL;
    const int status = cli_read(&usage, argc, argv, values, &url);
    if (status >= 0) {
        return status;
    }
    return take_all(options, values, url) ? -1 : EXIT_USAGE;
}

/* ---- the run ---- */

/* A thread within a long operation (looking up a name, writing to a reader that does not read) is
 * not waited for: it ends with the process. */
static void join(pthread_t thread, int status) {
    enum { PATIENCE_S = 2 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    if (pthread_timedjoin_np(thread, NULL, &until) != 0) {
        _exit(status);
    }
}

static int run(struct pipe *pipe) {
    pthread_t down;
    if (pthread_create(&down, NULL, pipe_down_run, pipe) != 0) {
        terminal_error("cannot start a thread");
        return EXIT_FAILURE;
    }
    pipe_up_run(pipe);
    pipe_latch(pipe->ended);
    const int status = atomic_load(&pipe->has_failed) ? EXIT_FAILURE : EXIT_SUCCESS;
    join(down, status);
    return status;
}

int command_pipe(int argc, char **argv) {
    struct pipe_options options = {.protocol = NULL};
    struct pipe pipe;
    const int wrong = read_arguments(argc, argv, &options);
    if (wrong >= 0) {
        return wrong;
    }
    if (isatty(STDOUT_FILENO)) {
        terminal_error("frames are binary, and standard output is a terminal: parley pipe is "
                       "started by a program, or with its output redirected (> FILE)");
        return EXIT_USAGE;
    }
    signal(SIGPIPE, SIG_IGN); /* a server that goes must not end it, nor who reads before the rest
                                 is acknowledged */
    const int status = pipe_init(&pipe, &options) ? run(&pipe) : EXIT_FAILURE;
    pipe_finish(&pipe);
    return status;
}
