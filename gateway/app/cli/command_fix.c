/* SPDX-License-Identifier: Apache-2.0 */

/* `parley fix`: the filter for pipes. Every message that it reads is written, fixed where that is
 * safe; what remains is reported. `parley check --fix` changes files. */

#include "commands.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_session.h"

static const char help[] =
    "Usage: parley fix [OPTION]… PROTOCOL [FILE…]\n"
    "\n"
    "Reads messages in JSON (one, an array, or NDJSON) or Markdown as parley check does, and "
    "writes\n"
    "them to standard output, each followed by a line feed. What breaks a rule of PROTOCOL and "
    "can\n"
    "be fixed so that the message says the same afterwards is fixed: a number in quotes, a\n"
    "constant, letter case, the notation of a time or UUID, a misspelt key, a comma too many in a\n"
    "delta. All other bytes stay as they are. What remains is reported to standard error.\n"
    "parley check --fix changes files.\n"
    "\n"
    "Options:\n"
    "  --all            apply fixes that are only suggestions, too\n" CHECK_SESSION_OPTIONS_HELP;

static const char help_end[] =
    "  -q, --quiet      print no summary or progress to standard error\n"
    "  -h, --help       print this text\n"
    "\n"
    "Exit status: 0 all messages are valid now, 1 some are invalid, 2 wrong usage, unreadable "
    "input\n"
    "or an encoding that is not text.\n"
    "\n"
    "Examples:\n"
    "  parley fix vlp message.json | curl -H 'Content-Type: application/json' --data-binary @- …\n"
    "  agent | parley fix roundtable --quiet > fixed.ndjson\n";

static int take_flag(struct check_session *session, const char *name, const char *value) {
    bool is_all;
    const int wrong = check_session_switch(name, value, &is_all);
    session->options.fix = wrong < 0 && is_all ? PARLEY_FIX_ALL : PARLEY_FIX_SAFELY;
    return wrong;
}

/* The fixed message, or what was read if it is not a message. */
static bool write_message(const struct check_session *session) {
    const struct parley_bytes fixed = parley_message_fixed(&session->message);
    const struct parley_bytes text = fixed.data != NULL ? fixed : session->slice->bytes;
    if (text.length == 0) {
        return true;
    }
    bool is_written = fwrite(text.data, 1, text.length, stdout) == text.length;
    if (text.data[text.length - 1] != '\n') {
        is_written = putchar('\n') != EOF && is_written;
    }
    return (!session->is_live || fflush(stdout) == 0) && is_written;
}

static enum parley_status take_message(struct check_session *session, const char *file,
                                       size_t number) {
    const struct parley_codec *codec = session->message.codec;
    if (codec != NULL && codec->is_binary) {
        terminal_error("fix reads text, not %s: parley convert %s --to json converts it",
                       codec->name, session->protocol->name);
        session->is_stopped = true;
        return PARLEY_OK;
    }
    if (!write_message(session)) {
        terminal_error("cannot write to standard output");
        session->is_stopped = true;
    }
    progress_clear(&session->progress);
    return check_report_message(&session->report, file, number, &session->message);
}

int command_fix(int argc, char **argv) {
    struct check_session session = {.command = "fix",
                                    .has_spelling = true,
                                    .help = help,
                                    .help_end = help_end,
                                    .own_flags = {{"all", 0, false}},
                                    .on_flag = take_flag,
                                    .on_message = take_message,
                                    .options = {.fix = PARLEY_FIX_SAFELY}};
    const int wrong = check_session_arguments(&session, argc, argv);
    if (wrong >= 0) {
        return wrong;
    }
    check_report_init(&session.report, CHECK_HUMAN, stderr, terminal_has_colour(stderr));
    const bool is_read = check_session_run(&session) && !session.is_stopped;
    check_report_summary(&session.report, session.is_quiet ? NULL : stderr);
    const bool is_valid = session.report.invalid_count == 0;
    check_report_finish(&session.report);
    return !is_read ? EXIT_USAGE : is_valid ? EXIT_SUCCESS : EXIT_FAILURE;
}
