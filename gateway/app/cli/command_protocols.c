/* SPDX-License-Identifier: Apache-2.0 */

/* `parley protocols`: the table of protocols. */

#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "describe.h"

static const char help[] =
    "Usage: parley protocols [--format human|json]\n"
    "\n"
    "Lists the protocols: the version that parley checks, the JetStream stream and subjects that\n"
    "messages are published to, the message types, and the accepted media types.\n"
    "\n"
    "Options:\n"
    "  --format human  a list to read [default]\n"
    "  --format json   an array of {name, title, version, stream, subjects, types, lanes,\n"
    "                  encodings, rules}\n"
    "  -h, --help      print this text\n";

enum { FORMAT, HELP, FLAG_COUNT };
static const struct argument_flag flags[] = {
    [FORMAT] = {"format", 0, true}, [HELP] = {"help", 'h', false}, {NULL, 0, false}};

enum { LABEL_WIDTH = 11, INDENT = 2 + LABEL_WIDTH };

static void append_listed(struct parley_buffer *out, const char *const texts[]) {
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++) {
        parley_buffer_text(out, out->length == 0 ? "" : ", ");
        parley_buffer_text(out, texts[i]);
    }
}

/* Prints `line` after its label, and clears it. */
static void print_line(const char *label, struct parley_buffer *line) {
    parley_buffer_char(line, '\0');
    if (!line->has_failed && line->length > 1) {
        printf("  %-*s", LABEL_WIDTH, label);
        terminal_wrap(stdout, line->data, INDENT, terminal_width(stdout));
    }
    parley_buffer_clear(line);
}

static void print_protocol(const struct parley_protocol *protocol) {
    const bool has_colour = terminal_has_colour(stdout);
    struct parley_buffer line;
    parley_buffer_init(&line);
    printf("%s%s%s: %s\n", has_colour ? "\033[1m" : "", protocol->name, has_colour ? "\033[0m" : "",
           protocol->title);
    parley_buffer_text(&line, protocol->spec_version);
    print_line("version", &line);
    parley_buffer_text(&line, protocol->stream);
    print_line("stream", &line);
    parley_buffer_text(&line, protocol->subjects);
    print_line("subjects", &line);
    append_listed(&line, protocol->types);
    print_line("types", &line);
    append_listed(&line, protocol->lanes);
    print_line("lanes", &line);
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        append_listed(&line, (*codec)->media_types);
    }
    print_line("accepts", &line);
    parley_buffer_finish(&line);
}

static void print_human(void) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        fputs(i == 0 ? "" : "\n", stdout);
        print_protocol(parley_protocols[i]);
    }
}

static void write_json(struct parley_buffer *out, const void *context) {
    (void)context;
    describe_protocols(out, NULL);
}

int command_protocols(int argc, char **argv) {
    static const struct cli_usage usage = {"protocols", flags, help, 0,
                                           "protocols takes only options"};
    const char *values[FLAG_COUNT] = {[FORMAT] = "human"};
    const int read = cli_read(&usage, argc, argv, values, NULL);
    if (read >= 0) {
        return read;
    }
    const char *format = values[FORMAT];
    if (strcmp(format, "json") == 0) {
        return cli_print(write_json, NULL);
    }
    if (strcmp(format, "human") != 0) {
        terminal_error("--format must be human or json, not '%s'", format);
        return EXIT_USAGE;
    }
    print_human();
    return EXIT_SUCCESS;
}
