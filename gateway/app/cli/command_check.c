/* SPDX-License-Identifier: Apache-2.0 */

/* `parley check`: the gateway's verdicts without a server, for editors, hooks and CI. It sends
 * nothing and changes no file. */

#include "commands.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_session.h"

static const char help[] =
    "Usage: parley check [OPTION]… PROTOCOL [FILE…]\n"
    "\n"
    "Checks messages against the rules of PROTOCOL (parley protocols lists them), as the server\n"
    "does. FILE can be a file of any length, a folder (all files in it and its subfolders with an\n"
    "extension below; not links, hidden files or node_modules), or a quoted pattern\n"
    "(\"log/*.md\"). A file that is named twice is checked once. Without FILE, or if FILE is -,\n"
    "parley reads standard input. The format is detected from the extension, else from the first\n"
    "bytes:\n"
    "\n"
    "  JSON         one message, or an array of them (.json)\n"
    "  NDJSON       one message per line (.ndjson, .jsonl)\n"
    "  MessagePack  supervisor: one message (.msgpack), or frames, each a message after its\n"
    "               length in 4 bytes, big-endian (.frames)\n"
    "  Markdown     brenner: one message as YAML front matter and body (.md)\n"
    "\n"
    "Options:\n"
    "  --format human   for each problem: where, what, and how to fix it [default]\n"
    "  --format ndjson  a JSON verdict for each message, with its file and line, and at the end\n"
    "                   {\"summary\":{\"received\":3,\"valid\":2,\"invalid\":1}}\n"
    "  --format github  annotations for GitHub Actions\n"
    "  --rejected       check again what a server has refused of PROTOCOL and kept (its option\n"
    "                   --quarantine), and report what would pass now and what would still be\n"
    "                   refused. The input has what GET /v1/rejected/stream "
    "returned\n" CHECK_SESSION_OPTIONS_HELP;

static const char help_end[] =
    "  -q, --quiet      print no summary or progress to standard error\n"
    "  -h, --help       print this text\n"
    "\n"
    "Problems are located as FILE:LINE:COLUMN, in MessagePack as FILE:byte OFFSET.\n"
    "\n"
    "Exit status: 0 all messages are valid, 1 some are invalid, 2 wrong usage or unreadable "
    "input.\n"
    "\n"
    "Examples:\n"
    "  parley check vlp message.json\n"
    "  parley check --strict vlp log/*.ndjson\n"
    "  parley check brenner threads\n"
    "  parley check --from gerbil supervisor checkpoint.msgpack\n"
    "  curl -fsS 'http://127.0.0.1:8080/v1/rejected/stream?since=all&follow=false' |\n"
    "    parley check vlp --rejected\n"
    "  curl -s 'http://127.0.0.1:8080/v1/supervisor/stream?since=all&follow=false' |\n"
    "    parley check supervisor --stored\n"
    "  nats sub --raw 'vlp.>' | parley check vlp --type application/x-ndjson\n";

struct check {
    struct check_session session; /* first: on_message and on_flag are called with it */
    enum check_format format;
    bool is_same_terminal; /* as the progress line, which must be cleared before a finding */
};

static int take_format(struct check *check, const char *value) {
    static const char *const names[] = {
        [CHECK_HUMAN] = "human", [CHECK_NDJSON] = "ndjson", [CHECK_GITHUB] = "github"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], value) == 0) {
            check->format = (enum check_format)i;
            return -1;
        }
    }
    terminal_error("--format must be human, ndjson or github, not '%s'", value);
    return EXIT_USAGE;
}

static int take_flag(struct check_session *session, const char *name, const char *value) {
    if (strcmp(name, "format") == 0) {
        return take_format((struct check *)session, value);
    }
    return check_session_switch(name, value, &session->reads_rejected);
}

/* Counts refused messages that would pass now. */
static void report_pass(const struct check *check, const char *id) {
    const char *rules = check->session.rejected_for;
    struct parley_buffer text;
    parley_buffer_init(&text);
    terminal_append_clean(&text, id);
    parley_buffer_text(&text, ": would pass now; it was refused for ");
    terminal_append_clean(&text, rules[0] != '\0' ? rules : "rules that are not known");
    parley_buffer_char(&text, '\n');
    fwrite(text.data, 1, text.length, stdout);
    parley_buffer_finish(&text);
}

static enum parley_status report(struct check_session *session, const char *file, size_t number) {
    const struct check *check = (const struct check *)session;
    if (check->is_same_terminal && !check_report_is_silent(&session->report, &session->message)) {
        progress_clear(&session->progress);
    }
    PARLEY_TRY(check_report_message(&session->report, file, number, &session->message));
    if (session->reads_rejected && check->format == CHECK_HUMAN &&
        parley_message_is_valid(&session->message)) {
        report_pass(check, file);
    }
    if (session->is_live) {
        fflush(session->report.out);
    }
    return PARLEY_OK;
}

int command_check(int argc, char **argv) {
    struct check check = {.session = {.command = "check",
                                      .help = help,
                                      .help_end = help_end,
                                      .own_flags = {{"format", 0, true}, {"rejected", 0, false}},
                                      .on_flag = take_flag,
                                      .on_message = report},
                          .format = CHECK_HUMAN,
                          .is_same_terminal = isatty(STDOUT_FILENO)};
    struct check_session *session = &check.session;
    const int wrong = check_session_arguments(session, argc, argv);
    if (wrong >= 0) {
        return wrong;
    }
    if (session->reads_stored && session->reads_rejected) {
        terminal_error("--stored and --rejected exclude each other: messages are stored, or "
                       "refused");
        return EXIT_USAGE;
    }
    session->reads_files_once = true;
    /* Otherwise each message has a line. */
    session->skips_right = check.format != CHECK_NDJSON && !session->reads_rejected;
    check_report_init(&session->report, check.format, stdout, terminal_has_colour(stdout));
    const bool is_read = check_session_run(session);
    check_report_summary(&session->report, session->is_quiet ? NULL : stderr);
    const bool is_valid = session->report.invalid_count == 0;
    check_report_finish(&session->report);
    return !is_read ? EXIT_USAGE : is_valid ? EXIT_SUCCESS : EXIT_FAILURE;
}
