/* SPDX-License-Identifier: Apache-2.0 */

/* The program: finds the subcommand. What that does is in its own file. */

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
    {"serve", command_serve, "run the gateway: HTTP in front of NATS JetStream", true},
    {"check", command_check, "check messages without a server", false},
    {"convert", command_convert, "convert messages to another encoding without a server", false},
    {"fix", command_fix, "fix the messages of a pipe without a server", false},
    {"rules", command_rules, "list the rules and how to fix what breaks them", false},
    {"protocols", command_protocols, "list the supported protocols", false},
    {"schema", command_schema, "print a protocol's rules as a JSON Schema", false},
    {"examples", command_examples, "print example messages", false},
    {"health", command_health, "check whether a server is ready", false},
    {"pipe", command_pipe, "connect a program to a server by frames on standard input and output",
     false},
    {"mcp", command_mcp, "connect an MCP client to a server by standard input and output", false},
    {"token", command_token, "create, list and revoke the tokens of a server", false},
    {"index", command_index, "check or remove the index of a data folder", false},
    {"webhooks", command_webhooks, "send a test event to a webhook", false},
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void print_help(FILE *out) {
    fputs("Usage: parley COMMAND [OPTION]… [ARGUMENT]…\n"
          "\n"
          "parley is a gateway for AI agents that use message protocols. It checks each message,\n"
          "explains what is wrong and how to fix it, and publishes valid messages to NATS "
          "JetStream.\n"
          "\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "  %-11s%s\n", commands[i].name, commands[i].does);
    }
    fputs("\n"
          "parley COMMAND --help explains a command; parley --version prints the version.\n"
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

/* Writing the rest of the buffer can fail, and a truncated result must not exit with success. */
static int flush_output(int status) {
    const bool has_failed = fflush(stdout) != 0 || ferror(stdout);
    if (!has_failed || errno == EPIPE) {
        return status;
    }
    terminal_error("cannot write to standard output: %s", strerror(errno));
    return status == EXIT_SUCCESS ? EXIT_USAGE : status;
}

static int run(const struct command *command, int argc, char **argv) {
    jansson_set_up();
    if (sodium_init() < 0) {
        terminal_error("cannot initialise the random number generator");
        return EXIT_USAGE;
    }
    /* `parley check … | head` ends quietly; a server must outlive its clients. */
    signal(SIGPIPE, command->is_server ? SIG_IGN : SIG_DFL);
    return command->run(argc, argv);
}

/* A closed standard descriptor would be reused for a socket or file, and then written to. Opening
 * /dev/null in the wrong direction keeps the number, and reading or writing still fails. */
static void hold_standard_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

/* `parley help COMMAND` is `parley COMMAND --help`. */
static int explain(const char *name) {
    char help[] = "--help";
    char *arguments[] = {help, NULL};
    const struct command *command = find_command(name);
    return command == NULL ? EXIT_USAGE : flush_output(run(command, 1, arguments));
}

int main(int argc, char **argv) {
    hold_standard_files();
    const char *name = argc > 1 ? argv[1] : "";
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(name, "help") == 0 && argc > 2) {
        return explain(argv[2]);
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
