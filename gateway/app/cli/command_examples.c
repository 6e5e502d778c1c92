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

enum { FORMAT, HELP };
static const struct argument_flag flags[] = {
    [FORMAT] = {"format", 0, true}, [HELP] = {"help", 'h', false}, {NULL, 0, false}};

#define EXAMPLES_MAX 128

/* The arguments. */
struct wanted {
    const struct parley_protocol *protocol;
    const char *name; /* NULL: the list */
    const char *format;
};

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

static int print_wanted(const struct wanted *wanted) {
    const bool is_json = strcmp(wanted->format, "json") == 0;
    if (!is_json && strcmp(wanted->format, "human") != 0) {
        terminal_error("--format must be human or json, not '%s'", wanted->format);
        return EXIT_USAGE;
    }
    if (wanted->protocol == NULL) {
        terminal_error("examples needs a protocol (parley protocols lists them)");
        return EXIT_USAGE;
    }
    if (wanted->name != NULL) {
        return print_one(wanted->protocol, wanted->name);
    }
    if (is_json) {
        return cli_print(write_json, wanted->protocol);
    }
    print_list(wanted->protocol);
    return EXIT_SUCCESS;
}

/* Returns: whether there was room for it. */
static bool take_operand(struct wanted *wanted, const char *value) {
    if (wanted->protocol == NULL) {
        wanted->protocol = cli_protocol(value);
        return wanted->protocol != NULL;
    }
    if (wanted->name != NULL) {
        terminal_error("unexpected argument '%s': examples prints one example at a time", value);
        return false;
    }
    wanted->name = value;
    return true;
}

int command_examples(int argc, char **argv) {
    struct arguments arguments = {
        .command = "examples", .flags = flags, .argc = argc, .argv = argv};
    struct wanted wanted = {.format = "human"};
    const char *value;
    for (int argument; (argument = arguments_next(&arguments, &value)) != ARGUMENT_END;) {
        switch (argument) {
        case FORMAT:
            wanted.format = value;
            break;
        case HELP:
            fputs(help, stdout);
            return EXIT_SUCCESS;
        case ARGUMENT_OPERAND:
            if (!take_operand(&wanted, value)) {
                return EXIT_USAGE;
            }
            break;
        default:
            return EXIT_USAGE;
        }
    }
    return print_wanted(&wanted);
}
