/* SPDX-License-Identifier: Apache-2.0 */

/* `parley convert`: converts messages from one encoding of their protocol to another, as POST
 * /v1/PROTOCOL/convert does, without a server. It is a filter: it writes the valid messages to
 * standard output at once, and reports the invalid ones. */

#include "commands.h"

#include <stdlib.h>
#include <unistd.h>

#include "check_session.h"
#include "encodings.h"

static const char help[] =
    "Usage: parley convert [OPTION]… PROTOCOL --to ENCODING [FILE…]\n"
    "\n"
    "Converts messages of PROTOCOL (parley protocols lists them) to another encoding, and writes\n"
    "them to standard output. FILE and the formats of the input are as in parley check: the "
    "format\n"
    "is detected from the extension, else from the first bytes. Without FILE, or if FILE is -,\n"
    "parley reads standard input.\n"
    "\n"
    "  --to json      one message per line; the same as ndjson\n"
    "  --to msgpack   supervisor: one message as a MessagePack map\n"
    "  --to frames    supervisor: any number of MessagePack maps, each after its 4-byte length\n"
    "  --to markdown  brenner: one message as YAML front matter and body\n"
    "\n"
    "Each message is checked first. Invalid messages are left out, and reported on standard error\n"
    "as by parley check.\n"
    "\n"
    "Options:\n"
    "  --to ENCODING    required; see above\n" CHECK_SESSION_OPTIONS_HELP;

static const char help_end[] =
    "  -q, --quiet      print no summary or progress to standard error\n"
    "  -h, --help       print this text\n"
    "\n"
    "Exit status: 0 all messages were converted, 1 some are invalid, 2 wrong usage or unreadable\n"
    "input.\n"
    "\n"
    "Examples:\n"
    "  parley convert supervisor --to frames messages.ndjson > messages.frames\n"
    "  parley convert supervisor --to json messages.frames | jq .type\n"
    "  parley convert supervisor --to frames --stored events.ndjson > messages.frames\n"
    "  parley convert brenner --to markdown message.json > message.md\n";

struct convert {
    struct check_session session; /* first: on_message and on_flag are called with it */
    const char *to_name;
    const struct parley_codec *to;
    struct parley_buffer text; /* one converted message */
    bool is_held;              /* text is not written yet, since `to` holds only one message */
};

static int take_to(struct check_session *session, const char *name, const char *value) {
    (void)name;
    ((struct convert *)session)->to_name = value;
    return -1;
}

/* Returns: -1 to continue, else the exit status. */
static int find_target(struct convert *convert) {
    const struct parley_protocol *protocol = convert->session.protocol;
    char known[ENCODINGS_TEXT_MAX];
    encodings_list(protocol, false, known);
    if (convert->to_name == NULL) {
        terminal_error("convert needs --to ENCODING, where ENCODING is %s", known);
        return EXIT_USAGE;
    }
    convert->to = encodings_find(protocol, convert->to_name);
    if (convert->to == NULL) {
        terminal_error("unknown encoding '%s' for %s; --to must be %s", convert->to_name,
                       protocol->name, known);
        return EXIT_USAGE;
    }
    if (convert->to->is_binary && isatty(STDOUT_FILENO)) {
        terminal_error(
            "%s is binary, and standard output is a terminal: redirect it to a file (> FILE)",
            convert->to->name);
        return EXIT_USAGE;
    }
    convert->to = encodings_for_many(convert->to);
    return -1;
}

/* A second message where the encoding holds only one. Nothing has been written. */
static void refuse_second(struct convert *convert) {
    char others[ENCODINGS_TEXT_MAX];
    encodings_list(convert->session.protocol, true, others);
    terminal_error(
        "%s holds one message, but the input has more: convert to %s, or one message at a time",
        convert->to->name, others);
    convert->is_held = false;
    convert->session.is_stopped = true;
}

static void write_text(struct convert *convert) {
    const struct parley_bytes text = parley_buffer_bytes(&convert->text);
    const bool is_written = fwrite(text.data, 1, text.length, stdout) == text.length;
    if (convert->session.is_live) {
        fflush(stdout);
    }
    convert->session.is_stopped = !is_written || ferror(stdout);
}

static enum parley_status convert_message(struct convert *convert) {
    struct parley_message *message = &convert->session.message;
    const bool has_room = encodings_holds_many(convert->to);
    if (!has_room && convert->is_held) {
        refuse_second(convert);
        return PARLEY_OK;
    }
    parley_buffer_clear(&convert->text);
    PARLEY_TRY(message->protocol->convert(message, convert->to, &convert->text));
    if (convert->to->framing == PARLEY_FRAMING_LINES) {
        parley_buffer_char(&convert->text, '\n');
    }
    PARLEY_TRY(parley_buffer_status(&convert->text));
    convert->is_held = !has_room;
    if (has_room) {
        write_text(convert);
    }
    return PARLEY_OK;
}

static enum parley_status take_message(struct check_session *session, const char *file,
                                       size_t number) {
    if (parley_message_is_valid(&session->message)) {
        session->report.received_count++;
        return convert_message((struct convert *)session);
    }
    progress_clear(&session->progress);
    return check_report_message(&session->report, file, number, &session->message);
}

static int run(struct convert *convert) {
    struct check_session *session = &convert->session;
    check_report_init(&session->report, CHECK_HUMAN, stderr, terminal_has_colour(stderr));
    const bool is_read = check_session_run(session);
    const bool is_whole = is_read && !session->is_stopped;
    const bool is_valid = session->report.invalid_count == 0;
    if (convert->is_held) {
        write_text(convert);
    }
    if (!is_valid && !session->is_quiet) {
        check_report_summary(&session->report, stderr);
    }
    check_report_finish(&session->report);
    parley_buffer_finish(&convert->text);
    return !is_whole ? EXIT_USAGE : is_valid ? EXIT_SUCCESS : EXIT_FAILURE;
}

int command_convert(int argc, char **argv) {
    struct convert convert = {.session = {.command = "convert",
                                          .help = help,
                                          .help_end = help_end,
                                          .own_flags = {{"to", 0, true}},
                                          .on_flag = take_to,
                                          .on_message = take_message}};
    const int wrong = check_session_arguments(&convert.session, argc, argv);
    if (wrong >= 0) {
        return wrong;
    }
    const int lacking = find_target(&convert);
    return lacking >= 0 ? lacking : run(&convert);
}
