/* SPDX-License-Identifier: Apache-2.0 */

/* `parley serve --help`, most of it from the table of options. */

#include <stdio.h>

#include "option.h"
#include "terminal.h"

static void print_option(FILE *out, const struct option *option) {
    char variable[64];
    option_name_variable(option->flag, variable);
    fprintf(out, "  --%s%s%s\n      ", option->flag, option->value_name != NULL ? " " : "",
            option->value_name != NULL ? option->value_name : "");
    terminal_wrap(out, option->help, 6, 80);
    const char *fallback = option->fallback_text != NULL ? option->fallback_text : option->fallback;
    fprintf(out, "      [default: %s; %s%s]\n", fallback, variable,
            option->is_reloadable ? "; SIGHUP changes it" : "");
}

void configuration_print_help(void) {
    fputs("Usage: parley serve [OPTION]…\n"
          "\n"
          "Runs the gateway: an HTTP server that checks the messages agents POST, publishes the\n"
          "valid ones to NATS JetStream, and streams them to readers.\n"
          "\n"
          "When it is ready, it prints \"listening on http://127.0.0.1:8080\". SIGTERM or SIGINT\n"
          "(Ctrl-C) stops it: requests in progress are finished, new ones get 503. A second one\n"
          "stops it at once. SIGHUP has the configuration file, the tokens and the TLS files read\n"
          "again; of the options, those that say so change while it runs.\n"
          "\n"
          "Examples:\n"
          "  parley serve                                local only, with its own nats-server\n"
          "  parley serve --listen :9000 --data ./state  on port 9000, with its data in ./state\n"
          "  parley serve --nats nats://nats:4222        with an existing NATS server\n"
          "  parley serve --check-config                 say what a start would fail at\n"
          "  parley serve --example-config >parley.conf  make a configuration file\n"
          "\n"
          "Options:\n",
          stdout);
    for (size_t i = 0; i < option_count(); i++) {
        const struct option option = option_at(i);
        print_option(stdout, &option);
    }
    fputs("  -h, --help\n"
          "      Print this text.\n"
          "\n"
          "SIZE is a number of bytes, or a number with a unit k, m or g (powers of 1024), such as\n"
          "512k. TIME is a number with a unit ms, s, m, h or d, such as 90s.\n"
          "\n"
          "Each option can also be set by the environment variable in brackets and, except for\n"
          "config, check-config and example-config, in the configuration file. An empty variable\n"
          "counts as unset. Options without a value on the command line take true or 1, false or\n"
          "0 in a variable and in the file. The file is YAML, such as\n"
          "  # on port 9000, for messages of up to 2 MiB\n"
          "  listen: :9000\n"
          "  message-max: 2m\n"
          "--example-config prints one with every option. JSON is read too, since it is YAML.\n"
          "Precedence: command line, environment, file, default.\n"
          "\n"
          "Exit status: 0 stopped as requested, 1 failed, 2 an option is wrong.\n",
          stdout);
}
