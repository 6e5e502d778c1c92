/* SPDX-License-Identifier: Apache-2.0 */

/* `parley rules`: the rules, from the tables that are also used to check them. */

#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "describe.h"

static const char help[] =
    "Usage: parley rules [--format human|json|markdown] [PROTOCOL]\n"
    "\n"
    "Lists the rules that messages are checked against: those of PROTOCOL, and the GW rules, "
    "which\n"
    "apply to every protocol. Without PROTOCOL, it lists the rules of all protocols.\n"
    "\n"
    "Options:\n"
    "  --format human     id, severity and requirement [default]\n"
    "  --format json      an array of {id, severity, summary, source, paths, hint}\n"
    "  --format markdown  the content of docs/rules/PROTOCOL.md\n"
    "  -h, --help         print this text\n"
    "\n"
    "Examples:\n"
    "  parley rules vlp\n"
    "  parley rules vlp | grep -i confidence\n"
    "  parley rules --format json vlp | jq -r '.[] | select(.severity == \"warning\") | .id'\n";

enum { FORMAT, HELP, FLAG_COUNT };
static const struct argument_flag flags[] = {
    [FORMAT] = {"format", 0, true}, [HELP] = {"help", 'h', false}, {NULL, 0, false}};

static void print_rules(const char *title, const struct parley_rule *rules, size_t count) {
    enum { ID_WIDTH = 10, SEVERITY_WIDTH = 9, INDENT = 2 + ID_WIDTH + SEVERITY_WIDTH };
    const bool has_colour = terminal_has_colour(stdout);
    const size_t width = terminal_width(stdout);
    printf("%s%s%s\n", has_colour ? "\033[1m" : "", title, has_colour ? "\033[0m" : "");
    for (size_t i = 0; i < count; i++) {
        printf("  %-*s%-*s", ID_WIDTH, rules[i].id, SEVERITY_WIDTH,
               parley_severity_name(rules[i].severity));
        terminal_wrap(stdout, rules[i].summary, INDENT, width);
    }
}

static void print_human(const struct parley_protocol *protocol) {
    print_rules(describe_gateway_title, parley_gateway_rules, PARLEY_GW_COUNT);
    for (const struct parley_protocol *const *at = parley_protocols; *at != NULL; at++) {
        if (protocol == NULL || protocol == *at) {
            char title[256];
            snprintf(title, sizeof title, "%s: %s (%s)", (*at)->name, (*at)->title,
                     (*at)->spec_version);
            putchar('\n');
            print_rules(title, (*at)->rules, (*at)->rule_count);
        }
    }
}

static void write_json(struct parley_buffer *out, const void *protocol) {
    describe_rules(out, protocol);
}

static void write_markdown(struct parley_buffer *out, const void *protocol) {
    describe_rules_page(out, protocol);
}

static int print_as(const char *format, const struct parley_protocol *protocol) {
    if (strcmp(format, "json") == 0) {
        return cli_print(write_json, protocol);
    }
    if (strcmp(format, "markdown") == 0) {
        return cli_print(write_markdown, protocol);
    }
    if (strcmp(format, "human") != 0) {
        terminal_error("--format must be human, json or markdown, not '%s'", format);
        return EXIT_USAGE;
    }
    print_human(protocol);
    return EXIT_SUCCESS;
}

int command_rules(int argc, char **argv) {
    static const struct cli_usage usage = {"rules", flags, help, 1,
                                           "rules takes one protocol, or none for all"};
    const char *values[FLAG_COUNT] = {[FORMAT] = "human"}, *name = NULL;
    const int read = cli_read(&usage, argc, argv, values, &name);
    if (read >= 0) {
        return read;
    }
    const struct parley_protocol *protocol = name != NULL ? cli_protocol(name) : NULL;
    return name == NULL || protocol != NULL ? print_as(values[FORMAT], protocol) : EXIT_USAGE;
}
