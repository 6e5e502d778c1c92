/* SPDX-License-Identifier: Apache-2.0 */

/* `parley check`: the gateway's verdicts with no gateway, for editors, hooks and CI. It sends
 * nothing anywhere and changes no file. */

#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check_input.h"
#include "check_report.h"
#include "cli.h"
#include "identity.h"
#include "progress.h"

static const char help[] =
    "Usage: parley check [OPTION]… PROTOCOL [FILE…]\n"
    "\n"
    "Holds messages against the rules of PROTOCOL (parley protocols lists them), as the server\n"
    "would. Without FILE, or where FILE is -, it reads standard input. A file holds one message,\n"
    "an array of them, or one a line (NDJSON): that is told by its extension (.json, .ndjson,\n"
    ".jsonl), else by its first bytes. It may be of any length.\n"
    "\n"
    "Options:\n"
    "  --format human   what is wrong, where, and a hint what to change; nothing of valid\n"
    "                   messages [default]\n"
    "  --format ndjson  a JSON verdict for each message, with its line and file, then\n"
    "                   {\"summary\":{\"received\":3,\"valid\":2,\"invalid\":1}}\n"
    "  --format github  annotations for GitHub Actions\n"
    "  --type MEDIA     the media type of all input, such as application/x-ndjson\n"
    "  --strict         VLP: confidence must be earned by messages of every type\n"
    "  --stamp          fill an absent id, protocol, version and timestamp before the check\n"
    "  --from SIDE      supervisor: the side that sends, gerbil or elixir\n"
    "  --domain NAME    Round Table: the domain of a reply\n"
    "  -q, --quiet      no summary and no progress on standard error\n"
    "  -h, --help       this text\n"
    "\n"
    "Exit status: 0 all are valid, 1 some are not, 2 usage, or something cannot be read.\n"
    "\n"
    "Examples:\n"
    "  parley check vlp message.json\n"
    "  parley check --strict vlp log/*.ndjson\n"
    "  nats sub --raw 'vlp.>' | parley check vlp --type application/x-ndjson\n";

enum { FORMAT, TYPE, STRICT, STAMP, FROM, DOMAIN, QUIET, HELP };
static const struct cli_flag flags[] = {
    [FORMAT] = {"format", 0, true},  [TYPE] = {"type", 0, true},    [STRICT] = {"strict", 0, false},
    [STAMP] = {"stamp", 0, false},   [FROM] = {"from", 0, true},    [DOMAIN] = {"domain", 0, true},
    [QUIET] = {"quiet", 'q', false}, [HELP] = {"help", 'h', false}, {NULL, 0, false},
};

struct check {
    const struct parley_protocol *protocol;
    const char *media_type; /* NULL: told from the input */
    const struct parley_codec *codec;
    struct parley_options options;
    enum check_format format;
    bool is_quiet;
    char **files; /* borrowed from argv, whose front is overwritten with them */
    int file_count;

    struct parley_message message;
    struct check_report report;
    struct progress progress;
    bool is_same_terminal; /* a finding would be written into the progress line */
    bool is_live;          /* the input comes as it happens, and so does the report */
};

/* ---- arguments ---- */

static int take_format(struct check *check, const char *value) {
    static const char *const names[] = {
        [CHECK_HUMAN] = "human", [CHECK_NDJSON] = "ndjson", [CHECK_GITHUB] = "github"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], value) == 0) {
            check->format = (enum check_format)i;
            return -1;
        }
    }
    cli_error("--format wants human, ndjson or github, not '%s'", value);
    return CLI_USAGE;
}

static int take_quiet(struct check *check, const char *value) {
    check->is_quiet = strcmp(value, "true") == 0;
    if (!check->is_quiet && strcmp(value, "false") != 0) {
        cli_error("--quiet wants true or false, not '%s'", value);
        return CLI_USAGE;
    }
    return -1;
}

static int take_option(struct check *check, const char *name, const char *value) {
    const char *wants = "";
    if (parley_options_set(&check->options, name, value, &wants) != PARLEY_OPTION_SET) {
        cli_error("--%s wants %s, not '%s'", name, wants, value);
        return CLI_USAGE;
    }
    return -1;
}

static int take_operand(struct check *check, char **argv, const char *value, int at) {
    if (check->protocol == NULL) {
        check->protocol = cli_protocol(value);
        return check->protocol == NULL ? CLI_USAGE : -1;
    }
    argv[check->file_count++] = argv[at];
    return -1;
}

/* Returns: -1 to go on, else the exit status. */
static int take_argument(struct check *check, const struct cli_arguments *arguments, int argument,
                         const char *value) {
    switch (argument) {
    case CLI_OPERAND:
        return take_operand(check, arguments->argv, value, arguments->at - 1);
    case FORMAT:
        return take_format(check, value);
    case TYPE:
        check->media_type = value;
        return -1;
    case QUIET:
        return take_quiet(check, value);
    case HELP:
        fputs(help, stdout);
        return EXIT_SUCCESS;
    case CLI_WRONG:
        return CLI_USAGE;
    default:
        return take_option(check, flags[argument].name, value);
    }
}

static int find_codec(struct check *check) {
    if (check->media_type == NULL) {
        return -1;
    }
    check->codec = parley_codec_find(check->protocol, parley_bytes_of(check->media_type));
    if (check->codec != NULL) {
        return -1;
    }
    struct parley_buffer known;
    parley_buffer_init(&known);
    for (const struct parley_codec *const *at = check->protocol->codecs; *at != NULL; at++) {
        parley_buffer_format(&known, "%s%s", known.length > 0 ? ", " : "", (*at)->media_types[0]);
    }
    parley_buffer_char(&known, '\0');
    cli_error("%s does not come as '%s'; --type may be %s", check->protocol->name,
              check->media_type, known.has_failed ? "" : known.data);
    parley_buffer_finish(&known);
    return CLI_USAGE;
}

static int read_arguments(struct check *check, int argc, char **argv) {
    struct cli_arguments arguments = {
        .command = "check", .flags = flags, .argc = argc, .argv = argv};
    const char *value;
    for (int argument; (argument = cli_next(&arguments, &value)) != CLI_END;) {
        const int status = take_argument(check, &arguments, argument, value);
        if (status >= 0) {
            return status;
        }
    }
    if (check->protocol == NULL) {
        cli_error("check wants a protocol: parley check PROTOCOL [FILE…] (parley protocols lists "
                  "them)");
        return CLI_USAGE;
    }
    check->files = argv;
    return find_codec(check);
}

/* ---- progress ---- */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void show_progress(struct check *check, const struct check_input *input,
                          uint64_t size_bytes) {
    const int64_t now = now_ms();
    if (!progress_is_due(&check->progress, now)) {
        return;
    }
    char text[128], part[32] = "";
    if (size_bytes > 0 && input->read_bytes <= size_bytes) {
        snprintf(part, sizeof part, " (%.0f %%)",
                 (double)input->read_bytes * 100 / (double)size_bytes);
    }
    snprintf(text, sizeof text, "%" PRIu64 " messages, %" PRIu64 " invalid, %" PRIu64 " MB read%s",
             check->report.received_count, check->report.invalid_count, input->read_bytes / 1000000,
             part);
    progress_show(&check->progress, now, text);
}

/* ---- messages ---- */

static enum parley_status judge(struct check *check, const struct check_input *input,
                                enum parley_split split, const struct parley_slice *slice) {
    char id[37], now[32];
    if (split == PARLEY_SPLIT_MESSAGE) {
        if (check->options.stamp) {
            identity_uuid(id);
            identity_now(now);
            check->options.fresh_id = id;
            check->options.now = now;
        }
        return parley_message_check(&check->message, slice->bytes, input->codec, &check->options,
                                    slice->origin);
    }
    if (split == PARLEY_SPLIT_FAULT) {
        return parley_message_refuse_fault(&check->message, slice->fault, slice->origin);
    }
    return parley_message_refuse_size(&check->message, input->message_bytes_max, slice->origin);
}

/* Where the elements of an array end is known by their syntax alone: behind one that has none,
 * nothing can be. */
static bool ends_array(const struct check_input *input, const struct parley_message *message) {
    return input->splitter.framing == PARLEY_FRAMING_JSON && message->findings.count > 0 &&
           message->findings.items[0].rule == &parley_gateway_rules[PARLEY_GW_PARSE];
}

static enum parley_status check_all(struct check *check, struct check_input *input,
                                    const char *file, uint64_t size_bytes) {
    for (;;) {
        enum parley_split split;
        struct parley_slice slice;
        PARLEY_TRY(check_input_next(input, &split, &slice));
        if (split == PARLEY_SPLIT_END) {
            return PARLEY_OK;
        }
        PARLEY_TRY(judge(check, input, split, &slice));
        if (check->is_same_terminal && !check_report_is_silent(&check->report, &check->message)) {
            progress_clear(&check->progress);
        }
        PARLEY_TRY(check_report_message(&check->report, file, slice.number, &check->message));
        if (check->is_live) {
            fflush(check->report.out);
        }
        if (ends_array(input, &check->message)) {
            check_input_abandon(input);
        }
        show_progress(check, input, size_bytes);
    }
}

/* ---- files ---- */

/* Returns: whether all of it could be read. */
static bool check_open(struct check *check, int fd, const char *file) {
    const struct parley_codec *codec = check->codec;
    if (codec == NULL && file != NULL) {
        codec = check_input_codec_of_name(check->protocol, file);
    }
    struct check_input input;
    struct stat status;
    const bool has_size = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    check->is_live = !has_size;
    check_input_init(&input, fd, check->protocol, codec);
    const enum parley_status result =
        check_all(check, &input, file, has_size ? (uint64_t)status.st_size : 0);
    const int error = errno;
    progress_clear(&check->progress);
    check_input_finish(&input);
    if (result != PARLEY_OK) {
        cli_error("%s: %s", file != NULL ? file : "standard input",
                  result == PARLEY_E_IO ? strerror(error) : parley_status_text(result));
    }
    return result == PARLEY_OK;
}

static bool check_file(struct check *check, const char *file) {
    if (strcmp(file, "-") == 0) {
        if (isatty(STDIN_FILENO) && !check->is_quiet) {
            fputs("Reading from the terminal; Ctrl-D ends it.\n", stderr);
        }
        return check_open(check, STDIN_FILENO, NULL);
    }
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        cli_error("%s: %s", file, strerror(errno));
        return false;
    }
    const bool is_read = check_open(check, fd, file);
    close(fd);
    return is_read;
}

static int check_files(struct check *check) {
    bool is_read = true;
    if (check->file_count == 0) {
        is_read = check_file(check, "-");
    }
    for (int i = 0; i < check->file_count; i++) {
        is_read = check_file(check, check->files[i]) && is_read;
    }
    check_report_summary(&check->report, check->is_quiet ? NULL : stderr);
    if (!is_read) {
        return CLI_USAGE;
    }
    return check->report.invalid_count > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int command_check(int argc, char **argv) {
    struct check check = {.format = CHECK_HUMAN};
    const int wrong = read_arguments(&check, argc, argv);
    if (wrong >= 0) {
        return wrong;
    }
    struct parley_schema *schema;
    if (parley_schema_create(check.protocol, &schema) != PARLEY_OK) {
        cli_error("%s", parley_status_text(PARLEY_E_MEMORY));
        return CLI_USAGE;
    }
    parley_message_init(&check.message, schema);
    check_report_init(&check.report, check.format, stdout, cli_has_colour(stdout));
    progress_init(&check.progress, check.is_quiet ? -1 : STDERR_FILENO, now_ms());
    check.is_same_terminal = isatty(STDOUT_FILENO);
    const int status = check_files(&check);
    check_report_finish(&check.report);
    parley_message_finish(&check.message);
    parley_schema_destroy(schema);
    return status;
}
