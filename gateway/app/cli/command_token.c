/* SPDX-License-Identifier: Apache-2.0 */

/* `parley token`: makes, lists and revokes tokens in the token file. A server reads that again by
 * itself. */

#include "commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "cli.h"
#include "configuration_load.h"
#include "data_folder.h"
#include "nearest.h"
#include "quantity.h"
#include "token_file.h"

static const char help[] =
    "Usage: parley token create --name NAME --allow SCOPE,… [OPTION]…\n"
    "       parley token list [--format human|ndjson]\n"
    "       parley token revoke NAME\n"
    "\n"
    "Manages the tokens that a server asks for. A token is printed once, on standard output, when\n"
    "it is created; the file keeps its hash only. Servers read the file again within a second.\n"
    "\n"
    "Scopes:\n"
    "  send:PROTOCOL, send:*  send, validate and convert messages\n"
    "  read:PROTOCOL, read:*  read streams\n"
    "  admin                  what operators do\n"
    "  metrics                read metrics\n"
    "  review                 decide on messages that wait for people\n"
    "\n"
    "Options of create:\n"
    "  --name NAME           who it is for: 1 to 64 of A-Z a-z 0-9 . _ - @\n"
    "  --allow SCOPE,…       what it may do\n"
    "  --agent AGENT         the only sender that its messages may name\n"
    "  --certificate CERT    for clients that show a certificate with this name, instead of a\n"
    "                        token (uri:…, dns:…, email:… or cn:…; needs --tls-client-ca)\n"
    "  --expires TIME        until when it is valid, from now: 90d, 12h [never]\n"
    "  --rate-messages N     messages a second [the server's]\n"
    "  --rate-bytes SIZE     bytes a second [the server's]\n"
    "\n"
    "Options:\n"
    "  --tokens FILE         the token file [PARLEY_TOKENS, else tokens.json in the data folder]\n"
    "  --data DIR            the data folder [PARLEY_DATA, else as for parley serve]\n"
    "  --format human        a table to read [default]\n"
    "  --format ndjson       one JSON object per line\n"
    "  -h, --help            print this text\n"
    "\n"
    "Exit status: 0 done, 2 wrong usage, or the file cannot be used.\n"
    "\n"
    "Examples:\n"
    "  parley token create --name ci --allow 'send:vlp,read:*' --expires 90d >token\n"
    "  curl -H \"Authorization: Bearer $(cat token)\" http://127.0.0.1:8080/v1/vlp/stream\n";

enum {
    NAME,
    ALLOW,
    AGENT,
    CERTIFICATE,
    EXPIRES,
    RATE_MESSAGES_FLAG,
    RATE_BYTES_FLAG,
    TOKENS,
    DATA,
    FORMAT,
    HELP,
    FLAG_COUNT
};
static const struct argument_flag flags[] = {[NAME] = {"name", 0, true},
                                             [ALLOW] = {"allow", 0, true},
                                             [AGENT] = {"agent", 0, true},
                                             [CERTIFICATE] = {"certificate", 0, true},
                                             [EXPIRES] = {"expires", 0, true},
                                             [RATE_MESSAGES_FLAG] = {"rate-messages", 0, true},
                                             [RATE_BYTES_FLAG] = {"rate-bytes", 0, true},
                                             [TOKENS] = {"tokens", 0, true},
                                             [DATA] = {"data", 0, true},
                                             [FORMAT] = {"format", 0, true},
                                             [HELP] = {"help", 'h', false},
                                             {NULL, 0, false}};

enum { OPERANDS_MAX = 2 };

/* The command line, and the file that it is about. */
struct call {
    const char *values[FLAG_COUNT]; /* NULL: not given */
    const char *operands[OPERANDS_MAX];
    int64_t now;
    struct configuration configuration;
    struct token_entry entry; /* to be created … */
    char token[TOKEN_LENGTH + 1];
};

/* Prints an error of the token file.  Returns: the exit status. */
static int fail(const struct parley_buffer *error) {
    terminal_error("%.*s", (int)error->length, error->data != NULL ? error->data : "");
    return EXIT_USAGE;
}

/* ---- create ---- */

static bool read_expiry(struct call *call) {
    const char *text = call->values[EXPIRES];
    int64_t duration_ms = 0;
    if (text == NULL) {
        return true;
    }
    if (!quantity_read_duration(text, &duration_ms) || duration_ms < 1000 ||
        duration_ms / 1000 > INT64_C(100) * 366 * 86400) {
        terminal_error("--expires must be a number with a unit (s, m, h or d) such as 90d, not "
                       "'%s'",
                       text);
        return false;
    }
    call->entry.expires_at = call->now + duration_ms / 1000;
    return true;
}

static bool read_rate(const struct call *call, int flag,
                      bool (*read)(const char *text, uint64_t *out), uint64_t *out) {
    const char *text = call->values[flag];
    if (text == NULL || (read(text, out) && *out > 0 && *out <= INT64_MAX)) {
        return true;
    }
    terminal_error("--%s must be a number above 0, not '%s'", flags[flag].name, text);
    return false;
}

static bool read_entry(struct call *call, struct parley_buffer *error) {
    if (call->values[NAME] == NULL || call->values[ALLOW] == NULL) {
        parley_buffer_format(error,
                             "token create needs --%s, such as parley token create --name ci "
                             "--allow 'send:vlp,read:*'",
                             call->values[NAME] == NULL ? "name NAME" : "allow SCOPE,…");
        return false;
    }
    call->entry.name = call->values[NAME];
    call->entry.agent = call->values[AGENT];
    call->entry.certificate = call->values[CERTIFICATE];
    call->entry.created_at = call->now;
    parley_buffer_text(error, "--allow: ");
    if (!token_scopes_read(call->values[ALLOW], &call->entry.scopes, error)) {
        return false;
    }
    parley_buffer_clear(error);
    return true;
}

static bool has_other(const struct token_file *file, const struct token_entry *entry, int64_t now,
                      struct parley_buffer *error) {
    for (size_t i = 0; entry->certificate != NULL && i < file->count; i++) {
        const struct token_entry *other = &file->entries[i];
        if (other->certificate != NULL && strcmp(other->certificate, entry->certificate) == 0 &&
            strcmp(token_entry_state(other, now), "active") == 0) {
            parley_buffer_format(error,
                                 "the certificate '%s' stands for '%s' already: revoke that first",
                                 entry->certificate, other->name);
            return true;
        }
    }
    return false;
}

static bool add(struct token_file *file, void *context, struct parley_buffer *error) {
    struct call *call = context;
    if (has_other(file, &call->entry, call->now, error)) {
        return false;
    }
    return token_file_add(file, &call->entry, call->now, error);
}

static void print_created(const struct call *call) {
    char until[TOKEN_TIME_SIZE] = "";
    if (call->entry.expires_at != 0) {
        token_time_write(call->entry.expires_at, until);
    }
    if (call->entry.certificate != NULL) {
        fprintf(stderr, "clients that show the certificate '%s' are '%s', %s%s\n",
                call->entry.certificate, call->entry.name,
                until[0] != '\0' ? "until " : "until it is revoked", until);
        return;
    }
    printf("%s\n", call->token);
    fprintf(stderr,
            "created the token '%s', valid %s%s; it is not shown again, and %s keeps only "
            "its hash\n",
            call->entry.name, until[0] != '\0' ? "until " : "until it is revoked", until,
            call->configuration.token_file);
}

/* The folder of the server may not exist yet. */
static bool prepare_folder(const struct call *call, struct parley_buffer *error) {
    char text[512];
    if (call->configuration.tokens != NULL ||
        data_folder_prepare(call->configuration.data, text, sizeof text)) {
        return true;
    }
    parley_buffer_text(error, text);
    return false;
}

static int create(struct call *call, struct parley_buffer *error) {
    if (!read_entry(call, error)) {
        return fail(error);
    }
    if (!read_expiry(call) ||
        !read_rate(call, RATE_MESSAGES_FLAG, quantity_read_count, &call->entry.messages_per_s) ||
        !read_rate(call, RATE_BYTES_FLAG, quantity_read_size, &call->entry.bytes_per_s)) {
        return EXIT_USAGE;
    }
    if (call->entry.certificate == NULL) {
        token_new(call->token);
        token_hash(parley_bytes_of(call->token), call->entry.hash);
    }
    if (!prepare_folder(call, error) ||
        !token_file_change(call->configuration.token_file, add, call, error)) {
        return fail(error);
    }
    print_created(call);
    sodium_memzero(call->token, sizeof call->token);
    return EXIT_SUCCESS;
}

/* ---- list ---- */

static void time_or_dash(int64_t time, char out[TOKEN_TIME_SIZE]) {
    if (time != 0) {
        token_time_write(time, out);
    } else {
        memcpy(out, "-", sizeof "-");
    }
}

static void print_row(const struct token_entry *entry, int64_t now) {
    char expires[TOKEN_TIME_SIZE];
    struct parley_buffer text;
    parley_buffer_init(&text);
    scopes_write(&entry->scopes, ',', &text);
    parley_buffer_char(&text, '\0');
    time_or_dash(entry->expires_at, expires);
    printf("%-20s  %-8s  %-20s  %-16s  %s\n", entry->name, token_entry_state(entry, now), expires,
           entry->agent != NULL ? entry->agent : "-", text.has_failed ? "" : text.data);
    parley_buffer_finish(&text);
}

static void print_table(const struct token_file *file, int64_t now) {
    printf("%-20s  %-8s  %-20s  %-16s  %s\n", "NAME", "STATE", "EXPIRES", "AGENT", "ALLOW");
    for (size_t i = 0; i < file->count; i++) {
        print_row(&file->entries[i], now);
    }
}

static void write_member(struct parley_buffer *out, const char *name, const char *value) {
    parley_buffer_format(out, ",\"%s\":", name);
    if (value != NULL) {
        parley_buffer_json(out, parley_bytes_of(value));
    } else {
        parley_buffer_text(out, "null");
    }
}

static void write_time(struct parley_buffer *out, const char *name, int64_t time) {
    char text[TOKEN_TIME_SIZE];
    token_time_write(time, text);
    write_member(out, name, time != 0 ? text : NULL);
}

static void write_rate(struct parley_buffer *out, const char *name, uint64_t rate) {
    parley_buffer_format(out, ",\"%s\":", name);
    if (rate != 0) {
        parley_buffer_uint(out, rate);
    } else {
        parley_buffer_text(out, "null");
    }
}

static void write_line(struct parley_buffer *out, const struct token_entry *entry, int64_t now) {
    parley_buffer_text(out, "{\"name\":");
    parley_buffer_json(out, parley_bytes_of(entry->name));
    write_member(out, "state", token_entry_state(entry, now));
    parley_buffer_text(out, ",\"allow\":\"");
    scopes_write(&entry->scopes, ',', out);
    parley_buffer_char(out, '"');
    write_member(out, "agent", entry->agent);
    write_member(out, "certificate", entry->certificate);
    write_rate(out, "rate-messages", entry->messages_per_s);
    write_rate(out, "rate-bytes", entry->bytes_per_s);
    write_time(out, "created", entry->created_at);
    write_time(out, "expires", entry->expires_at);
    write_time(out, "revoked", entry->revoked_at);
    parley_buffer_text(out, "}\n");
}

struct listing {
    const struct token_file *file;
    int64_t now;
};

static void write_lines(struct parley_buffer *out, const void *context) {
    const struct listing *listing = context;
    for (size_t i = 0; i < listing->file->count; i++) {
        write_line(out, &listing->file->entries[i], listing->now);
    }
}

static int list(struct call *call, struct parley_buffer *error) {
    const char *format = call->values[FORMAT] != NULL ? call->values[FORMAT] : "human";
    struct token_file file = {0};
    int status = EXIT_SUCCESS;
    if (strcmp(format, "human") != 0 && strcmp(format, "ndjson") != 0) {
        terminal_error("--format must be human or ndjson, not '%s'", format);
        return EXIT_USAGE;
    }
    if (!token_file_read(call->configuration.token_file, &file, error)) {
        status = fail(error);
    } else if (strcmp(format, "human") == 0) {
        print_table(&file, call->now);
    } else {
        status = cli_print(write_lines, &(struct listing){&file, call->now});
    }
    token_file_finish(&file);
    return status;
}

/* ---- revoke ---- */

static void explain_unknown(const struct token_file *file, const char *name,
                            struct parley_buffer *error) {
    enum { SUGGESTED_MAX = 64 };
    const char *names[SUGGESTED_MAX + 1] = {0};
    for (size_t i = 0; i < SUGGESTED_MAX && i < file->count; i++) {
        names[i] = file->entries[i].name;
    }
    const char *nearest = nearest_word(name, names);
    parley_buffer_format(error, "there is no token named '%s'", name);
    if (nearest != NULL) {
        parley_buffer_format(error, "; did you mean '%s'?", nearest);
    }
    parley_buffer_text(error, " (parley token list shows them)");
}

static bool mark_revoked(struct token_file *file, void *context, struct parley_buffer *error) {
    const struct call *call = context;
    struct token_entry *entry = token_file_find(file, call->operands[1]);
    if (entry == NULL) {
        explain_unknown(file, call->operands[1], error);
        return false;
    }
    entry->revoked_at = entry->revoked_at != 0 ? entry->revoked_at : call->now;
    return true;
}

static int revoke_token(struct call *call, struct parley_buffer *error) {
    if (call->operands[1] == NULL) {
        parley_buffer_text(error, "token revoke needs the name of a token (parley token list shows "
                                  "them)");
        return fail(error);
    }
    if (!token_file_change(call->configuration.token_file, mark_revoked, call, error)) {
        return fail(error);
    }
    fprintf(stderr, "revoked the token '%s'\n", call->operands[1]);
    return EXIT_SUCCESS;
}

/* ---- the command ---- */

static const struct action {
    const char *name;
    bool has_operand;
    int (*run)(struct call *call, struct parley_buffer *error);
} actions[] = {{"create", false, create}, {"list", false, list}, {"revoke", true, revoke_token}};

static const struct action *find_action(const struct call *call) {
    static const char *const names[] = {"create", "list", "revoke", NULL};
    if (call->operands[0] == NULL) {
        terminal_error("token needs an action: create, list or revoke (see parley token --help)");
        return NULL;
    }
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(actions[i].name, call->operands[0]) != 0) {
            continue;
        }
        if (call->operands[1] != NULL && !actions[i].has_operand) {
            terminal_error("unexpected argument '%s': see parley token --help", call->operands[1]);
            return NULL;
        }
        return &actions[i];
    }
    terminal_error_unknown("action", call->operands[0], names, "parley token --help");
    return NULL;
}

static int run(struct call *call) {
    const struct action *action = find_action(call);
    if (action == NULL) {
        return EXIT_USAGE;
    }
    int status =
        configuration_load_tokens(&call->configuration, call->values[TOKENS], call->values[DATA]);
    if (status < 0) {
        struct parley_buffer error;
        parley_buffer_init(&error);
        status = action->run(call, &error);
        parley_buffer_finish(&error);
    }
    configuration_finish(&call->configuration);
    return status;
}

int command_token(int argc, char **argv) {
    struct call call = {.now = (int64_t)time(NULL)};
    static const struct cli_usage usage = {"token", flags, help, OPERANDS_MAX,
                                           "see parley token --help"};
    const int status = cli_read(&usage, argc, argv, call.values, call.operands);
    return status < 0 ? run(&call) : status;
}
