/* SPDX-License-Identifier: Apache-2.0 */

/* The binary: argv and signals. What a subcommand does is in its own file. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "cli.h"
#include "commands.h"
#include "jansson_setup.h"
#include "serve.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *does;
    bool is_server;
};

static const struct command commands[] = {
    {"serve", command_serve, "the gateway: HTTP in front of NATS JetStream", true},
    {"check", command_check, "check messages with no server", false},
    {"convert", command_convert, "messages in another encoding, with no server", false},
    {"rules", command_rules, "what is checked, and what makes it right", false},
    {"protocols", command_protocols, "the protocols that are spoken", false},
    {"schema", command_schema, "a protocol's rules as a JSON Schema", false},
    {"examples", command_examples, "messages to learn from, and to begin with", false},
    {"health", command_health, "ask a server whether it is ready", false},
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void print_help(FILE *out) {
    fputs(
        "Usage: parley COMMAND [OPTION]… [ARGUMENT]…\n"
        "\n"
        "A gateway for AI agents that speak message protocols: it checks each message, says what\n"
        "is wrong and how to mend it, and puts what is right on NATS JetStream.\n"
        "\n"
        "Commands:\n",
        out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "  %-11s%s\n", commands[i].name, commands[i].does);
    }
    fputs("\n"
          "  parley COMMAND --help says more; parley --version says which parley this is.\n"
          "\n"
          "Examples:\n"
          "  parley serve\n"
          "  parley check vlp message.json\n",
          out);
}

static const struct command *find_command(const char *name) {
    const char *names[COMMAND_COUNT + 1] = {0};
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
        names[i] = commands[i].name;
    }
    terminal_error_unknown("command", name, names, "parley --help");
    return NULL;
}

/* What is still buffered may fail to be written, and a result that is cut short is none. */
static int flush_output(int status) {
    const bool has_failed = fflush(stdout) != 0 || ferror(stdout);
    if (!has_failed || errno == EPIPE) {
        return status;
    }
    terminal_error("standard output cannot be written: %s", strerror(errno));
    return status == EXIT_SUCCESS ? EXIT_USAGE : status;
}

static int run(const struct command *command, int argc, char **argv) {
    jansson_set_up();
    if (sodium_init() < 0) {
        terminal_error("there is no source of random numbers");
        return EXIT_USAGE;
    }
    /* `parley check … | head` ends quietly; a server must outlive its clients. */
    signal(SIGPIPE, command->is_server ? SIG_IGN : SIG_DFL);
    return command->run(argc, argv);
}

/* A standard descriptor that is closed would become a socket or a file of ours, and be written to.
 * /dev/null the wrong way round keeps its place, and still fails what is read or written. */
static void hold_standard_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

int main(int argc, char **argv) {
    hold_standard_files();
    const char *name = argc > 1 ? argv[1] : "";
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return flush_output(EXIT_SUCCESS);
    }
    if (strcmp(name, "--version") == 0) {
        puts("parley " PARLEY_VERSION);
        return flush_output(EXIT_SUCCESS);
    }
    const struct command *command = find_command(name);
    return command == NULL ? EXIT_USAGE : flush_output(run(command, argc - 2, argv + 2));
}
