/* SPDX-License-Identifier: Apache-2.0 */

/* `parley schema`: a protocol's rules for other validators. */

#include "commands.h"

#include <stdlib.h>

#include <parley/describe.h>

#include "cli.h"

static const char help[] =
    "Usage: parley schema PROTOCOL\n"
    "\n"
    "Prints the rules of PROTOCOL as a JSON Schema (draft 2020-12), for editors, libraries and\n"
    "language models. It describes each member; its $comment lists the rules that a schema cannot\n"
    "express, which only parley checks.\n"
    "\n"
    "Options:\n"
    "  -h, --help  print this text\n"
    "\n"
    "Example:\n"
    "  parley schema vlp >vlp.schema.json\n";

enum { HELP, FLAG_COUNT };
static const struct argument_flag flags[] = {[HELP] = {"help", 'h', false}, {NULL, 0, false}};

static void write_schema(struct parley_buffer *out, const void *protocol) {
    out->has_failed |= parley_protocol_write_json_schema(protocol, out) != PARLEY_OK;
}

int command_schema(int argc, char **argv) {
    static const struct cli_usage usage = {"schema", flags, help, 1, "schema takes one protocol"};
    const char *values[FLAG_COUNT] = {NULL}, *name = NULL;
    const int read = cli_read(&usage, argc, argv, values, &name);
    if (read >= 0) {
        return read;
    }
    if (name == NULL) {
        terminal_error("schema needs a protocol (parley protocols lists them)");
        return EXIT_USAGE;
    }
    const struct parley_protocol *protocol = cli_protocol(name);
    return protocol != NULL ? cli_print(write_schema, protocol) : EXIT_USAGE;
}
