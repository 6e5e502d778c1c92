/* SPDX-License-Identifier: Apache-2.0 */

/* `parley examples`: valid messages from a protocol's table. */

#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "describe.h"

static const char help[] =
    "Usage: parley examples [--format human|json] PROTOCOL [NAME]\n"
    "\n"
    "Lists the example messages of PROTOCOL, or prints the one named NAME.\n"
    "\n"
    "Options:\n"
    "  --format human  list the names and what the examples show [default]\n"
    "  --format json   list as an array of {name, title, message}\n"
    "  -h, --help      print this text\n"
    "\n"
    "Examples:\n"
    "  parley examples vlp\n"
    "  parley examples vlp claim | parley check vlp\n"
    "  parley examples vlp claim | curl localhost:8080/v1/vlp/messages --json @-\n";

enum { FORMAT, HELP, FLAG_COUNT };
static const struct argument_flag flags[] = {
    [FORMAT] = {"format", 0, true}, [HELP] = {"help", 'h', false}, {NULL, 0, false}};

#define EXAMPLES_MAX 128

static void write_json(struct parley_buffer *out, const void *protocol) {
    describe_examples(out, protocol);
}

static void print_list(const struct parley_protocol *protocol) {
    enum { NAME_WIDTH = 28, INDENT = NAME_WIDTH + 1 };
    const struct parley_example *example = protocol->examples;
    for (; example != NULL && example->name != NULL; example++) {
        printf("%-*s ", NAME_WIDTH, example->name);
        terminal_wrap(stdout, example->title, INDENT, terminal_width(stdout));
    }
}

static int print_one(const struct parley_protocol *protocol, const char *name) {
    const char *names[EXAMPLES_MAX + 1] = {0};
    char see[128];
    const struct parley_example *example = protocol->examples;
    for (size_t i = 0; i < EXAMPLES_MAX && example != NULL && example->name != NULL; i++) {
        if (strcmp(example->name, name) == 0) {
            puts(example->text);
            return EXIT_SUCCESS;
        }
        names[i] = (example++)->name;
    }
    snprintf(see, sizeof see, "parley examples %s", protocol->name);
    terminal_error_unknown("example", name, names, see);
    return EXIT_USAGE;
}

int command_examples(int argc, char **argv) {
    enum { PROTOCOL, NAME, OPERAND_COUNT };
    static const struct cli_usage usage = {"examples", flags, help, OPERAND_COUNT,
                                           "examples prints one example at a time"};
    const char *values[FLAG_COUNT] = {[FORMAT] = "human"}, *operands[OPERAND_COUNT] = {NULL};
    const int read = cli_read(&usage, argc, argv, values, operands);
    if (read >= 0) {
        return read;
    }
    const bool is_json = strcmp(values[FORMAT], "json") == 0;
    if (!is_json && strcmp(values[FORMAT], "human") != 0) {
        terminal_error("--format must be human or json, not '%s'", values[FORMAT]);
        return EXIT_USAGE;
    }
    if (operands[PROTOCOL] == NULL) {
        terminal_error("examples needs a protocol (parley protocols lists them)");
        return EXIT_USAGE;
    }
    const struct parley_protocol *protocol = cli_protocol(operands[PROTOCOL]);
    if (protocol == NULL) {
        return EXIT_USAGE;
    }
    if (operands[NAME] != NULL) {
        return print_one(protocol, operands[NAME]);
    }
    if (is_json) {
        return cli_print(write_json, protocol);
    }
    print_list(protocol);
    return EXIT_SUCCESS;
}
