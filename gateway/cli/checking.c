/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the arguments of check and convert, and the messages in the files that these name. */

#include "checking.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check_files.h"
#include "encodings.h"
#include "clock_and_ids.h"

/* ---- arguments ---- */

static int take_quiet(struct checking *checking, const char *value) {
    checking->is_quiet = strcmp(value, "true") == 0;
    if (!checking->is_quiet && strcmp(value, "false") != 0) {
        terminal_error("--quiet must be true or false, not '%s'", value);
        return EXIT_USAGE;
    }
    return -1;
}

static int take_operand(struct checking *checking, char **argv, const char *value, int at) {
    if (checking->protocol == NULL) {
        checking->protocol = cli_protocol(value);
        return checking->protocol == NULL ? EXIT_USAGE : -1;
    }
    argv[checking->file_count++] = argv[at];
    return -1;
}

static int take_flag(struct checking *checking, const char *name, const char *value) {
    const char *expected = "";
    if (strcmp(name, "help") == 0) {
        fputs(checking->help, stdout);
        return EXIT_SUCCESS;
    }
    if (strcmp(name, "quiet") == 0) {
        return take_quiet(checking, value);
    }
    if (strcmp(name, "type") == 0) {
        checking->media_type = value;
        return -1;
    }
    if (strcmp(name, checking->own_flag.name) == 0) {
        return checking->take(checking, value);
    }
    if (parley_options_set(&checking->options, name, value, &expected) != PARLEY_OPTION_SET) {
        terminal_error("--%s must be %s, not '%s'", name, expected, value);
        return EXIT_USAGE;
    }
    return -1;
}

static int take_argument(struct checking *checking, const struct arguments *arguments, int argument,
                         const char *value) {
    if (argument == ARGUMENT_WRONG) {
        return EXIT_USAGE;
    }
    return argument == ARGUMENT_OPERAND
               ? take_operand(checking, arguments->argv, value, arguments->at - 1)
               : take_flag(checking, arguments->flags[argument].name, value);
}

static int find_codec(struct checking *checking) {
    if (checking->media_type == NULL) {
        return -1;
    }
    checking->codec = parley_codec_find(checking->protocol, parley_bytes_of(checking->media_type));
    if (checking->codec != NULL) {
        return -1;
    }
    char known[ENCODINGS_TEXT_MAX];
    encodings_list_media_types(checking->protocol, known);
    terminal_error("unknown media type '%s' for %s; --type must be one of %s", checking->media_type,
                   checking->protocol->name, known);
    return EXIT_USAGE;
}

int checking_arguments(struct checking *checking, int argc, char **argv) {
    const struct argument_flag flags[] = {
        checking->own_flag,   {"type", 0, true},  {"strict", 0, false}, {"stamp", 0, false},
        {"from", 0, true},    {"agent", 0, true}, {"domain", 0, true},  {"quiet", 'q', false},
        {"help", 'h', false}, {NULL, 0, false},
    };
    struct arguments arguments = {
        .command = checking->command, .flags = flags, .argc = argc, .argv = argv};
    const char *value;
    for (int argument; (argument = arguments_next(&arguments, &value)) != ARGUMENT_END;) {
        const int status = take_argument(checking, &arguments, argument, value);
        if (status >= 0) {
            return status;
        }
    }
    if (checking->protocol == NULL) {
        terminal_error(
            "%s needs a protocol: parley %s PROTOCOL [FILE…] (parley protocols lists them)",
            checking->command, checking->command);
        return EXIT_USAGE;
    }
    checking->files = argv;
    return find_codec(checking);
}

/* ---- progress ---- */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void show_progress(struct checking *checking, const struct check_input *input,
                          uint64_t size_bytes) {
    const int64_t now = now_ms();
    if (!progress_is_due(&checking->progress, now)) {
        return;
    }
    char text[128], part[32] = "";
    if (size_bytes > 0 && input->read_bytes <= size_bytes) {
        snprintf(part, sizeof part, " (%.0f %%)",
                 (double)input->read_bytes * 100 / (double)size_bytes);
    }
    snprintf(text, sizeof text, "%" PRIu64 " messages, %" PRIu64 " invalid, %" PRIu64 " MB read%s",
             checking->report.received_count, checking->report.invalid_count,
             input->read_bytes / 1000000, part);
    progress_show(&checking->progress, now, text);
}

/* ---- messages ---- */

static void prepare_stamp(struct checking *checking) {
    id_new(checking->fresh_id);
    clock_now_text(checking->now);
    checking->options.fresh_id = checking->fresh_id;
    checking->options.now = checking->now;
}

/* Valid, and without a warning. */
static bool is_right(const struct parley_message *message) {
    return message->findings.count == 0 && message->findings.omitted_count == 0;
}

/* The clock is read for each piece of input, not for each message: there can be two million per
 * second. */
static enum parley_status check_all(struct checking *checking, struct check_input *input,
                                    const char *file, uint64_t size_bytes) {
    uint64_t seen_bytes = UINT64_MAX;
    while (!checking->is_stopped) {
        enum parley_split split;
        struct parley_slice slice;
        PARLEY_TRY(check_input_next(input, &split, &slice));
        if (split == PARLEY_SPLIT_END) {
            break;
        }
        checking->report.received_count += input->passed_count;
        input->passed_count = 0;
        if (input->read_bytes != seen_bytes) {
            seen_bytes = input->read_bytes;
            checking->options.now_seconds = clock_now_seconds();
            show_progress(checking, input, size_bytes);
        }
        if (split == PARLEY_SPLIT_MORE) {
            continue;
        }
        if (checking->options.stamp) {
            prepare_stamp(checking);
        }
        PARLEY_TRY(parley_splitter_check(&input->splitter, split, &slice, &checking->message,
                                         input->codec, &checking->options));
        if (checking->passes_right && is_right(&checking->message)) {
            checking->report.received_count++;
            continue;
        }
        PARLEY_TRY(checking->each(checking, file, slice.number));
        if (parley_splitter_has_ended(&input->splitter)) {
            check_input_abandon(input);
        }
    }
    return PARLEY_OK;
}

/* ---- files ---- */

/* Looking ahead needs threads and memory, and --stamp changes each message. */
static bool is_worth_looking_ahead(const struct checking *checking, uint64_t size_bytes) {
    enum { LARGE_BYTES = 4 << 20 };
    return checking->passes_right && !checking->options.stamp && size_bytes >= LARGE_BYTES;
}

/* Returns: whether all of it could be read. */
static bool check_open(struct checking *checking, int fd, const char *file) {
    const struct parley_codec *codec = checking->codec;
    if (codec == NULL && file != NULL) {
        codec = check_input_codec_of_name(checking->protocol, file);
    }
    struct check_input input;
    struct stat status;
    const bool has_size = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    const uint64_t size_bytes = has_size ? (uint64_t)status.st_size : 0;
    checking->is_live = !has_size;
    checking->options.now_seconds = clock_now_seconds();
    check_input_init(&input, fd, checking->protocol, codec);
    if (is_worth_looking_ahead(checking, size_bytes)) {
        check_input_look_ahead(&input, checking->message.schema, &checking->options);
    }
    const enum parley_status result = check_all(checking, &input, file, size_bytes);
    const int error = errno;
    progress_clear(&checking->progress);
    check_input_finish(&input);
    if (result != PARLEY_OK) {
        terminal_error("%s: %s", file != NULL ? file : "standard input",
                       result == PARLEY_E_IO ? strerror(error) : parley_status_text(result));
    }
    return result == PARLEY_OK;
}

static bool check_path(void *context, const char *path) {
    struct checking *checking = context;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        terminal_error("%s: %s", path, strerror(errno));
        return false;
    }
    const bool is_read = check_open(checking, fd, path);
    close(fd);
    return is_read;
}

static bool is_stopped(void *context) {
    const struct checking *checking = context;
    return checking->is_stopped;
}

static bool check_standard_input(struct checking *checking) {
    if (isatty(STDIN_FILENO) && !checking->is_quiet) {
        fputs("Reading standard input from the terminal; press Ctrl-D to end it.\n", stderr);
    }
    return check_open(checking, STDIN_FILENO, NULL);
}

static bool check_all_files(struct checking *checking) {
    struct check_files files = {.protocol = checking->protocol,
                                .is_once = checking->takes_files_once,
                                .read = check_path,
                                .is_stopped = is_stopped,
                                .context = checking};
    bool is_read = checking->file_count > 0 || check_standard_input(checking);
    for (int i = 0; i < checking->file_count && !checking->is_stopped; i++) {
        const char *operand = checking->files[i];
        is_read = (strcmp(operand, "-") == 0 ? check_standard_input(checking)
                                             : check_files_each(&files, operand)) &&
                  is_read;
    }
    check_files_finish(&files);
    return is_read;
}

bool checking_run(struct checking *checking) {
    struct parley_schema *schema;
    if (parley_schema_create(checking->protocol, &schema) != PARLEY_OK) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
        return false;
    }
    parley_message_init(&checking->message, schema);
    progress_init(&checking->progress, checking->is_quiet ? -1 : STDERR_FILENO, now_ms());
    const bool is_read = check_all_files(checking);
    parley_message_finish(&checking->message);
    parley_schema_destroy(schema);
    return is_read;
}
