/* SPDX-License-Identifier: Apache-2.0 */

/* `parley check`: the gateway's verdicts without a server, for editors, hooks and CI. It sends
 * nothing, and changes files only with --fix. */

#include "commands.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_fix.h"
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
    "  --fix            fix what is safe to fix in files with JSON or Markdown: the messages say\n"
    "                   the same afterwards. All other bytes of a file stay as they are; what\n"
    "                   remains is reported\n"
    "  --fix=all        the same with fixes that are only suggestions\n"
    "  --diff           show what --fix would change, and change nothing\n"
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
    struct check_fix fix;  /* with --fix or --diff … */
    bool tells_of_fix;     /* … or what they could do is said at the end */
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

static int take_fix(struct check_session *session, const char *value) {
    bool is_on = strcmp(value, "all") == 0;
    if (is_on) {
        session->options.fix = PARLEY_FIX_ALL;
        return -1;
    }
    const int wrong = check_session_switch("fix", value, &is_on);
    session->options.fix = is_on ? PARLEY_FIX_SAFELY : PARLEY_FIX_NOTHING;
    return wrong;
}

static int take_flag(struct check_session *session, const char *name, const char *value) {
    struct check *check = (struct check *)session;
    if (strcmp(name, "fix") == 0) {
        return take_fix(session, value);
    }
    if (strcmp(name, "diff") == 0) {
        return check_session_switch(name, value, &check->fix.is_shown);
    }
    if (strcmp(name, "format") == 0) {
        return take_format(check, value);
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
    struct check *check = (struct check *)session;
    if (session->options.fix != PARLEY_FIX_NOTHING) {
        PARLEY_TRY(check_fix_note(&check->fix, session->slice, &session->message));
    }
    if (check->tells_of_fix) {
        PARLEY_TRY(check_fix_count(&check->fix, &session->message));
    }
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

static bool end_file(struct check_session *session, const char *file) {
    struct check *check = (struct check *)session;
    return check_fix_end_file(&check->fix, file);
}

/* Standard input is not fixed here. */
static bool has_files_alone(const struct check_session *session) {
    bool is_of_files = session->file_count > 0;
    for (int i = 0; i < session->file_count; i++) {
        is_of_files = is_of_files && strcmp(session->files[i], "-") != 0;
    }
    return is_of_files;
}

/* Returns: whether the options can be used together; if not, an error message was printed. */
static bool are_together(const struct check *check) {
    const struct check_session *session = &check->session;
    if (session->reads_stored && session->reads_rejected) {
        terminal_error("--stored and --rejected exclude each other: messages are stored, or "
                       "refused");
        return false;
    }
    if (session->options.fix == PARLEY_FIX_NOTHING) {
        return true;
    }
    if (session->reads_stored || session->reads_rejected) {
        terminal_error("--fix and --diff fix messages in files, not in events: leave out --stored "
                       "and --rejected");
        return false;
    }
    const bool is_of_files = has_files_alone(session);
    if (!is_of_files) {
        terminal_error("--fix and --diff need files; parley fix %s fixes standard input",
                       session->protocol->name);
    }
    return is_of_files;
}

/* "--fix can fix 2 of these, --fix=all 1 more; --diff shows how" */
static void tell_of_fixes(const struct check_fix *fix) {
    const bool has_safe = fix->safe_count > 0, has_suggested = fix->suggested_count > 0;
    if (has_safe && has_suggested) {
        fprintf(stderr, "--fix can fix %zu of these, --fix=all %zu more; --diff shows how\n",
                fix->safe_count, fix->suggested_count);
    } else if (has_safe) {
        fprintf(stderr, "--fix can fix %zu of these; --diff shows how\n", fix->safe_count);
    } else if (has_suggested) {
        fprintf(stderr, "--fix=all can fix %zu of these, by a guess; with --diff it shows how\n",
                fix->suggested_count);
    }
}

static void report_fixes(const struct check *check) {
    tell_of_fixes(&check->fix);
    if (check->fix.fixed_count > 0 && !check->session.is_quiet) {
        fprintf(stderr, "%s %zu place%s in %zu file%s\n",
                check->fix.is_shown ? "--fix fixes" : "Fixed", check->fix.fixed_count,
                check->fix.fixed_count == 1 ? "" : "s", check->fix.file_count,
                check->fix.file_count == 1 ? "" : "s");
    }
}

static int run(struct check *check) {
    struct check_session *session = &check->session;
    session->reads_files_once = true;
    /* Otherwise each message has a line, or may have been fixed. */
    session->skips_right = check->format != CHECK_NDJSON && !session->reads_rejected &&
                           session->options.fix == PARLEY_FIX_NOTHING;
    check->tells_of_fix = session->options.fix == PARLEY_FIX_NOTHING && !session->is_quiet &&
                          check->format != CHECK_NDJSON && !session->reads_stored &&
                          !session->reads_rejected && has_files_alone(session);
    FILE *out = check->fix.is_shown ? stderr : stdout; /* the diff is alone */
    check_report_init(&session->report, check->format, out, terminal_has_colour(out));
    const bool is_read = check_session_run(session);
    check_report_summary(&session->report, session->is_quiet ? NULL : stderr);
    report_fixes(check);
    const bool is_valid = session->report.invalid_count == 0;
    check_report_finish(&session->report);
    check_fix_finish(&check->fix);
    return !is_read ? EXIT_USAGE : is_valid ? EXIT_SUCCESS : EXIT_FAILURE;
}

int command_check(int argc, char **argv) {
    struct check check = {.session = {.command = "check",
                                      .has_spelling = true,
                                      .help = help,
                                      .help_end = help_end,
                                      .own_flags = {{"format", 0, true},
                                                    {"rejected", 0, false},
                                                    {"fix", 0, false},
                                                    {"diff", 0, false}},
                                      .on_flag = take_flag,
                                      .on_message = report},
                          .format = CHECK_HUMAN,
                          .is_same_terminal = isatty(STDOUT_FILENO)};
    struct check_session *session = &check.session;
    const int wrong = check_session_arguments(session, argc, argv);
    if (wrong >= 0) {
        return wrong;
    }
    if (check.fix.is_shown && session->options.fix == PARLEY_FIX_NOTHING) {
        session->options.fix = PARLEY_FIX_SAFELY;
    }
    if (session->options.fix != PARLEY_FIX_NOTHING) {
        session->on_file_end = end_file;
    }
    return are_together(&check) ? run(&check) : EXIT_USAGE;
}
