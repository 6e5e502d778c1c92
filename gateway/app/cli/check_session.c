/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the arguments of check and convert, and the messages in the files that these name. */

#include "check_session.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <parley/dialect.h>

#include "check_files.h"
#include "encodings.h"
#include "clock_and_ids.h"
#include "reactor.h"
#include "rejected_event.h"
#include "stored_event.h"

/* ---- arguments ---- */

int check_session_switch(const char *name, const char *value, bool *out) {
    *out = strcmp(value, "true") == 0;
    if (!*out && strcmp(value, "false") != 0) {
        terminal_error("--%s must be true or false, not '%s'", name, value);
        return EXIT_USAGE;
    }
    return -1;
}

/* Those of protocols; `agent`, which is parley's, is in the text before. */
static bool is_of_protocol(const struct parley_option *option, const struct parley_protocol *of) {
    const struct parley_option *own = of->options;
    while (own != NULL && own->help.name != NULL && own != option) {
        own++;
    }
    return own == option;
}

static void print_options(const struct parley_protocol *protocol) {
    enum { INDENT = 19, WIDTH = 80 };
    const struct parley_option *option;
    for (size_t i = 0; (option = parley_option_at(protocol, i)) != NULL; i++) {
        struct parley_buffer text;
        char flag[32];
        if (!is_of_protocol(option, protocol)) {
            continue;
        }
        snprintf(flag, sizeof flag, "--%s%s%s", option->help.name,
                 option->value_name != NULL ? " " : "",
                 option->value_name != NULL ? option->value_name : "");
        parley_buffer_init(&text);
        parley_buffer_format(&text, "%s: %s", protocol->name, option->help.does);
        if (option->type != PARLEY_OPTION_SWITCH) {
            parley_buffer_format(&text, " Takes %s.", option->help.wants);
        }
        parley_buffer_char(&text, '\0');
        printf("  %-16s ", flag);
        terminal_wrap(stdout, text.has_failed ? option->help.does : text.data, INDENT, WIDTH);
        parley_buffer_finish(&text);
    }
}

static void print_help(const struct check_session *session) {
    fputs(session->help, stdout);
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        print_options(parley_protocols[i]);
    }
    fputs(session->help_end, stdout);
}

static int take_operand(struct check_session *session, char **argv, const char *value, int at) {
    if (session->protocol == NULL) {
        session->protocol = cli_protocol(value);
        return session->protocol == NULL ? EXIT_USAGE : -1;
    }
    argv[session->file_count++] = argv[at];
    return -1;
}

static int take_flag(struct check_session *session, const char *name, const char *value) {
    if (strcmp(name, "help") == 0) {
        print_help(session);
        return EXIT_SUCCESS;
    }
    if (strcmp(name, "quiet") == 0) {
        return check_session_switch(name, value, &session->is_quiet);
    }
    if (strcmp(name, "stored") == 0) {
        return check_session_switch(name, value, &session->reads_stored);
    }
    if (strcmp(name, "type") == 0) {
        session->media_type = value;
        return -1;
    }
    for (size_t i = 0; i < CHECK_SESSION_OWN_FLAGS; i++) {
        const char *own = session->own_flags[i].name;
        if (own != NULL && strcmp(name, own) == 0) {
            return session->on_flag(session, name, value);
        }
    }
    if (session->asked_count == CHECK_SESSION_ASKED_MAX) {
        terminal_error("too many options: give each once");
        return EXIT_USAGE;
    }
    session->asked[session->asked_count++] = (struct check_asked){name, value};
    return -1;
}

/* An option that cannot be set; of a dialect those that there are are named. */
static int complain_of_option(const struct check_session *session, const struct check_asked *asked,
                              const char *expected) {
    struct parley_buffer names;
    parley_buffer_init(&names);
    if (session->protocol != NULL && strcmp(asked->name, "dialect") == 0) {
        parley_dialects_describe(session->protocol, &names);
        parley_buffer_char(&names, '\0');
        expected = names.has_failed ? expected : names.data;
    }
    terminal_error("--%s must be %s, not '%s'", asked->name, expected, asked->value);
    parley_buffer_finish(&names);
    return EXIT_USAGE;
}

static int set_options(struct check_session *session) {
    for (size_t i = 0; i < session->asked_count; i++) {
        const struct check_asked *asked = &session->asked[i];
        const char *expected = "";
        if (parley_options_set(&session->options, session->protocol, asked->name, asked->value,
                               &expected) != PARLEY_OPTION_SET) {
            return complain_of_option(session, asked, expected);
        }
    }
    return -1;
}

static int take_argument(struct check_session *session, const struct arguments *arguments,
                         int argument, const char *value) {
    if (argument == ARGUMENT_WRONG) {
        return EXIT_USAGE;
    }
    return argument == ARGUMENT_OPERAND
               ? take_operand(session, arguments->argv, value, arguments->at - 1)
               : take_flag(session, arguments->flags[argument].name, value);
}

static int find_codec(struct check_session *session) {
    if (session->media_type == NULL) {
        return -1;
    }
    session->codec = parley_codec_find(session->protocol, parley_bytes_of(session->media_type));
    if (session->codec != NULL) {
        return -1;
    }
    char known[ENCODINGS_TEXT_MAX];
    encodings_list_media_types(session->protocol, known);
    terminal_error("unknown media type '%s' for %s; --type must be one of %s", session->media_type,
                   session->protocol->name, known);
    return EXIT_USAGE;
}

/* Fills in the flags that the command takes; the last one is NULL. */
static void list_flags(const struct check_session *session,
                       struct argument_flag flags[ARGUMENT_FLAGS_MAX]) {
    static const struct argument_flag common[] = {{"type", 0, true},
                                                  {"stamp", 0, false},
                                                  {"stored", 0, false},
                                                  {"quiet", 'q', false},
                                                  {"help", 'h', false}};
    size_t count = sizeof common / sizeof common[0];
    const struct parley_option *option;
    memcpy(flags, common, sizeof common);
    for (size_t i = 0; (option = parley_option_at(NULL, i)) != NULL; i++) {
        assert(count + CHECK_SESSION_OWN_FLAGS < ARGUMENT_FLAGS_MAX - 1);
        flags[count++] =
            (struct argument_flag){option->help.name, 0, option->type != PARLEY_OPTION_SWITCH};
    }
    memcpy(flags + count, session->own_flags, sizeof session->own_flags);
}

int check_session_arguments(struct check_session *session, int argc, char **argv) {
    struct argument_flag flags[ARGUMENT_FLAGS_MAX] = {{NULL, 0, false}};
    list_flags(session, flags);
    struct arguments arguments = {
        .command = session->command, .flags = flags, .argc = argc, .argv = argv};
    const char *value;
    for (int argument; (argument = arguments_next(&arguments, &value)) != ARGUMENT_END;) {
        const int status = take_argument(session, &arguments, argument, value);
        if (status >= 0) {
            return status;
        }
    }
    if (session->protocol == NULL) {
        terminal_error(
            "%s needs a protocol: parley %s PROTOCOL [FILE…] (parley protocols lists them)",
            session->command, session->command);
        return EXIT_USAGE;
    }
    session->files = argv;
    session->options.has_object = session->reads_stored;
    session->options.has_spelling = session->has_spelling && !session->reads_stored;
    const int status = set_options(session);
    return status < 0 ? find_codec(session) : status;
}

/* ---- progress ---- */

static void show_progress(struct check_session *session, const struct check_input *input,
                          uint64_t size_bytes) {
    const int64_t now = reactor_clock_ms();
    if (!progress_is_due(&session->progress, now)) {
        return;
    }
    char text[128], part[32] = "";
    if (size_bytes > 0 && input->read_bytes <= size_bytes) {
        snprintf(part, sizeof part, " (%.0f %%)",
                 (double)input->read_bytes * 100 / (double)size_bytes);
    }
    snprintf(text, sizeof text, "%" PRIu64 " messages, %" PRIu64 " invalid, %" PRIu64 " MB read%s",
             session->report.received_count, session->report.invalid_count,
             input->read_bytes / 1000000, part);
    progress_show(&session->progress, now, text);
}

/* ---- messages ---- */

static void prepare_stamp(struct check_session *session) {
    if (session->options.stamp) {
        id_new(session->fresh_id);
        clock_now_text(session->now);
        session->options.fresh_id = session->fresh_id;
        session->options.now = session->now;
    }
}

/* Valid, and without a warning. */
static bool is_right(const struct parley_message *message) {
    return message->findings.count == 0 && message->findings.omitted_count == 0;
}

static enum parley_status take_verdict(struct check_session *session, const char *file,
                                       size_t number) {
    if (session->skips_right && is_right(&session->message)) {
        session->report.received_count++;
        return PARLEY_OK;
    }
    return session->on_message(session, file, number);
}

/* As every event of a stream begins, and no message. */
static bool is_event(enum parley_split split, struct parley_bytes bytes) {
    static const char start[] = "{\"specversion\":";
    const size_t length = sizeof start - 1;
    return split == PARLEY_SPLIT_MESSAGE && bytes.length >= length &&
           memcmp(bytes.data, start, length) == 0;
}

static enum parley_status check_slice(struct check_session *session, struct check_input *input,
                                      enum parley_split split, const struct parley_slice *slice,
                                      const char *file) {
    prepare_stamp(session);
    PARLEY_TRY(parley_splitter_check(&input->splitter, split, slice, &session->message,
                                     input->codec, &session->options));
    session->has_events |=
        !parley_message_is_valid(&session->message) && is_event(split, slice->bytes);
    PARLEY_TRY(take_verdict(session, file, slice->number));
    if (parley_splitter_has_ended(&input->splitter)) {
        check_input_abandon(input);
    }
    return PARLEY_OK;
}

/* ---- messages that were stored ---- */

static struct parley_position place_after(struct parley_position at, struct parley_bytes text) {
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (c == '\n') {
            at = (struct parley_position){.line = at.line + 1, .column = 1};
        } else if ((c & 0xC0) != 0x80) {
            at.column++;
        }
    }
    return at;
}

/* Those of other protocols are passed over. */
static enum parley_status check_event(struct check_session *session,
                                      const struct stored_event *event,
                                      const struct parley_slice *slice, const char *file) {
    if (!parley_bytes_equal(event->protocol, parley_bytes_of(session->protocol->name))) {
        return PARLEY_OK;
    }
    const struct parley_bytes before = {slice->bytes.data, event->offset};
    prepare_stamp(session);
    struct parley_options options = session->options;
    options.has_object = !event->is_foreign; /* parley did not write it */
    PARLEY_TRY(parley_message_check(&session->message, event->payload, &parley_codec_json, &options,
                                    place_after(slice->origin, before)));
    return take_verdict(session, file, slice->number);
}

static bool is_json(const struct parley_codec *codec) {
    return codec == &parley_codec_json || codec == &parley_codec_ndjson;
}

/* An event, or a message as it is. */
static enum parley_status check_stored(struct check_session *session, struct check_input *input,
                                       enum parley_split split, const struct parley_slice *slice,
                                       const char *file) {
    if (split != PARLEY_SPLIT_MESSAGE || !is_json(input->codec)) {
        return check_slice(session, input, split, slice, file);
    }
    struct stored_event event;
    enum parley_status status = PARLEY_OK;
    switch (stored_event_read(slice->bytes, &event)) {
    case STORED_EVENT_READ:
        status = check_event(session, &event, slice, file);
        break;
    case STORED_EVENT_NONE:
        status = check_slice(session, input, split, slice, file);
        break;
    case STORED_EVENT_OTHER:
        break;
    case STORED_EVENT_MEMORY:
        status = PARLEY_E_MEMORY;
        break;
    }
    stored_event_finish(&event);
    return status;
}

/* ---- messages that were refused ---- */

static const struct parley_codec *codec_of(const struct check_session *session,
                                           const struct rejected_event *event) {
    const struct parley_codec *codec = session->codec;
    if (codec == NULL && event->content_type != NULL) {
        codec = parley_codec_find(session->protocol, parley_bytes_of(event->content_type));
    }
    return codec != NULL ? codec : &parley_codec_json;
}

/* Those of other protocols are passed over. */
static enum parley_status check_rejected(struct check_session *session,
                                         const struct rejected_event *event, size_t number) {
    if (!parley_bytes_equal(event->protocol, parley_bytes_of(session->protocol->name))) {
        return PARLEY_OK;
    }
    const struct parley_codec *codec = codec_of(session, event);
    const struct parley_position bytes = {PARLEY_IN_BYTES, 0}, text = {1, 1};
    prepare_stamp(session);
    PARLEY_TRY(parley_message_check(&session->message, event->payload, codec, &session->options,
                                    codec->is_binary ? bytes : text));
    session->rejected_for = event->rules;
    return session->on_message(session, event->id, number);
}

static enum parley_status check_line(struct check_session *session, enum parley_split split,
                                     const struct parley_slice *slice, const char *file) {
    struct rejected_event event;
    const struct parley_bytes line =
        split == PARLEY_SPLIT_MESSAGE ? slice->bytes : (struct parley_bytes){0};
    const enum rejected_event_result result = rejected_event_read(line, &event);
    enum parley_status status = PARLEY_OK;
    if (result == REJECTED_EVENT_READ) {
        status = check_rejected(session, &event, slice->number);
    } else if (result == REJECTED_EVENT_MEMORY) {
        status = PARLEY_E_MEMORY;
    } else if (result == REJECTED_EVENT_WRONG) {
        progress_clear(&session->progress);
        terminal_error("%s:%zu: not an event of /v1/rejected/stream",
                       file != NULL ? file : "standard input", slice->number);
        session->has_unreadable = true;
    }
    rejected_event_finish(&event);
    return status;
}

/* ---- all of an input ---- */

/* The clock is read for each piece of input, not for each message: there can be two million per
 * second. */
static enum parley_status check_all(struct check_session *session, struct check_input *input,
                                    const char *file, uint64_t size_bytes) {
    uint64_t seen_bytes = UINT64_MAX;
    while (!session->is_stopped) {
        enum parley_split split;
        struct parley_slice slice;
        PARLEY_TRY(check_input_next(input, &split, &slice));
        if (split == PARLEY_SPLIT_END) {
            break;
        }
        session->report.received_count += input->passed_count;
        input->passed_count = 0;
        if (input->read_bytes != seen_bytes) {
            seen_bytes = input->read_bytes;
            session->options.now_seconds = clock_now_seconds();
            show_progress(session, input, size_bytes);
        }
        if (split == PARLEY_SPLIT_MORE) {
            continue;
        }
        session->slice = &slice;
        PARLEY_TRY(session->reads_rejected ? check_line(session, split, &slice, file)
                   : session->reads_stored ? check_stored(session, input, split, &slice, file)
                                           : check_slice(session, input, split, &slice, file));
    }
    return PARLEY_OK;
}

/* ---- files ---- */

/* Looking ahead needs threads and memory, --stamp changes each message, and events are not looked
 * into. */
static bool is_worth_looking_ahead(const struct check_session *session, uint64_t size_bytes) {
    enum { LARGE_BYTES = 4 << 20 };
    return session->skips_right && !session->options.stamp && !session->reads_stored &&
           size_bytes >= LARGE_BYTES;
}

/* Returns: whether all of it could be read. */
static bool check_open(struct check_session *session, int fd, const char *file) {
    const struct parley_codec *codec = session->codec;
    if (codec == NULL && file != NULL) {
        codec = check_input_codec_of_name(session->protocol, file);
    }
    struct check_input input;
    struct stat status;
    const bool has_size = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    const uint64_t size_bytes = has_size ? (uint64_t)status.st_size : 0;
    session->is_live = !has_size;
    session->options.now_seconds = clock_now_seconds();
    check_input_init(&input, fd, session->protocol, codec);
    if (session->reads_rejected) {
        input.codec = &parley_codec_ndjson;
        input.message_bytes_max = REJECTED_EVENT_BYTES_MAX;
    }
    if (session->reads_stored && input.message_bytes_max < STORED_EVENT_BYTES_MAX) {
        input.message_bytes_max = STORED_EVENT_BYTES_MAX; /* each message has its limit */
    }
    if (is_worth_looking_ahead(session, size_bytes)) {
        check_input_look_ahead(&input, session->message.schema, &session->options);
    }
    const enum parley_status result = check_all(session, &input, file, size_bytes);
    const char *error = strerror(errno);
    progress_clear(&session->progress);
    check_input_finish(&input);
    if (result != PARLEY_OK) {
        terminal_error("%s: %s", file != NULL ? file : "standard input",
                       result == PARLEY_E_IO ? error : parley_status_text(result));
    }
    return result == PARLEY_OK;
}

static bool check_path(void *context, const char *path) {
    struct check_session *session = context;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        terminal_error("%s: %s", path, strerror(errno));
        return false;
    }
    const bool is_read = check_open(session, fd, path);
    close(fd);
    return session->on_file_end != NULL ? session->on_file_end(session, path) && is_read : is_read;
}

static bool is_stopped(void *context) {
    const struct check_session *session = context;
    return session->is_stopped;
}

static bool check_standard_input(struct check_session *session) {
    if (isatty(STDIN_FILENO) && !session->is_quiet) {
        fputs("Reading standard input from the terminal; press Ctrl-D to end it.\n", stderr);
    }
    return check_open(session, STDIN_FILENO, NULL);
}

static bool check_operand(struct check_session *session, struct check_files *files,
                          const char *operand) {
    if (strcmp(operand, "-") == 0) {
        return check_standard_input(session);
    }
    if (strncmp(operand, "http://", 7) == 0 || strncmp(operand, "https://", 8) == 0) {
        /* Without the URL, which may have a password. */
        terminal_error("%s reads files, not a URL: pipe what curl reads from it into parley %s %s",
                       session->command, session->command, session->protocol->name);
        return false;
    }
    return check_files_each(files, operand);
}

static bool check_all_files(struct check_session *session) {
    struct check_files files = {.protocol = session->protocol,
                                .is_once = session->reads_files_once,
                                .read = check_path,
                                .is_stopped = is_stopped,
                                .context = session};
    bool is_read = session->file_count > 0 || check_standard_input(session);
    for (int i = 0; i < session->file_count && !session->is_stopped; i++) {
        is_read = check_operand(session, &files, session->files[i]) && is_read;
    }
    check_files_finish(&files);
    return is_read;
}

bool check_session_run(struct check_session *session) {
    struct parley_schema *schema;
    if (parley_schema_create(session->protocol, &schema) != PARLEY_OK) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
        return false;
    }
    parley_message_init(&session->message, schema);
    progress_init(&session->progress, session->is_quiet ? -1 : STDERR_FILENO, reactor_clock_ms());
    const bool is_read = check_all_files(session) && !session->has_unreadable;
    if (session->has_events && !session->is_quiet) {
        fputs("There are events of a stream: --stored reads the messages in them.\n", stderr);
    }
    parley_message_finish(&session->message);
    parley_schema_destroy(schema);
    return is_read;
}
