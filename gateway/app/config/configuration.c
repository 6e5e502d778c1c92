/* SPDX-License-Identifier: Apache-2.0 */

/* The sources of the options' values. Mistakes are gathered, and all of them printed: first those
 * in single values, and when there are none, those in combinations of values. Only on the command
 * line the first one ends it, since the text after a wrong flag may be its value. */

#include "configuration_load.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <parley/arena.h>

#include "arguments.h"
#include "configuration_checks.h"
#include "configuration_file.h"
#include "configuration_variables.h"
#include "loading.h"
#include "nearest.h"
#include "terminal.h"
#include "tls_context.h"

_Static_assert(OPTIONS_MAX + 1 <= ARGUMENT_FLAGS_MAX, "--help is a flag, too");

/* ---- the command line ---- */

/* Appends an item to a list. */
static const char *keep_item(struct loading *loading, const char *before, const char *item) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "%s,%s", before, item);
    return loading_keep(loading, &text);
}

static void take_flag(struct loading *loading, size_t option, const char *value) {
    const char *before = loading->text[option];
    const struct option row = option_at(option);
    const bool is_item = row.type == OPTION_LIST && before != NULL;
    loading->text[option] = is_item ? keep_item(loading, before, value) : value;
    loading->by[option] = loading_keep_joined(loading, "--", row.flag);
}

int loading_read_flags(struct loading *loading, int argc, char **argv) {
    struct argument_flag flags[OPTIONS_MAX + 2] = {{0}};
    for (size_t i = 0; i < option_count(); i++) {
        const struct option row = option_at(i);
        flags[i] = (struct argument_flag){row.flag, 0, row.type != OPTION_SWITCH};
    }
    const int help = (int)option_count();
    flags[help] = (struct argument_flag){"help", 'h', false};
    struct arguments arguments = {.command = "serve", .flags = flags, .argc = argc, .argv = argv};
    for (const char *value;;) {
        const int flag = arguments_next(&arguments, &value);
        if (flag == ARGUMENT_END) {
            return -1;
        }
        if (flag == ARGUMENT_OPERAND) {
            terminal_error("unexpected argument '%s': serve takes only options (parley serve "
                           "--help lists them)",
                           value);
            return EXIT_USAGE;
        }
        if (flag == ARGUMENT_WRONG) {
            return EXIT_USAGE;
        }
        if (flag == help) {
            configuration_print_help();
            return EXIT_SUCCESS;
        }
        take_flag(loading, (size_t)flag, value);
    }
}

/* ---- the file ---- */

struct file_reading {
    struct loading *loading;
    const char *path;
    size_t lines[OPTIONS_MAX]; /* where each key was; 0: it was not */
};

static void on_file_fault(void *context, size_t line, const char *text) {
    const struct file_reading *reading = context;
    if (line == 0) {
        loading_fault(reading->loading, "the configuration file %s %s", reading->path, text);
    } else {
        loading_fault(reading->loading, "%s:%zu: %s", reading->path, line, text);
    }
}

/* Returns: option_count() after a fault. */
static size_t find_key(const struct file_reading *reading, const char *key, size_t line) {
    const char *names[OPTIONS_MAX + 1] = {0};
    size_t count = 0;
    for (size_t i = 0; i < option_count(); i++) {
        const struct option row = option_at(i);
        if (!row.is_not_in_file) {
            if (strcmp(row.flag, key) == 0) {
                return i;
            }
            names[count++] = row.flag;
        }
    }
    const char *nearest = nearest_word(key, names);
    if (nearest != NULL) {
        loading_fault(reading->loading, "%s:%zu: unknown key '%s'; did you mean '%s'?",
                      reading->path, line, key, nearest);
    } else {
        loading_fault(reading->loading,
                      "%s:%zu: unknown key '%s' (the keys are the options that parley serve --help "
                      "lists)",
                      reading->path, line, key);
    }
    return option_count();
}

static const char *name_entry(const struct file_reading *reading,
                              const struct configuration_entry *entry) {
    struct parley_buffer by;
    parley_buffer_init(&by);
    parley_buffer_format(&by, "%s:%zu: '%s'", reading->path, entry->line, entry->key);
    return loading_keep(reading->loading, &by);
}

static const char *copy(struct loading *loading, const char *value) {
    return loading_keep_joined(loading, value, "");
}

/* A value is checked even if a flag or a variable takes precedence. */
static void take_value(struct file_reading *reading, size_t option,
                       const struct configuration_entry *entry) {
    struct loading *loading = reading->loading;
    struct configuration unused;
    const struct option row = option_at(option);
    const char *by = name_entry(reading, entry);
    if (by == NULL) {
        return;
    }
    if (entry->is_list && row.type != OPTION_LIST) {
        loading_fault(loading, "%s must be one value, not a list", by);
    } else if (!option_assign(&row, entry->value, &unused)) {
        option_note_invalid(&row, by, entry->value, loading);
    } else if (loading->text[option] == NULL) {
        loading->text[option] = copy(loading, entry->value);
        loading->by[option] = by;
    }
}

static void on_file_entry(void *context, const struct configuration_entry *entry) {
    struct file_reading *reading = context;
    const size_t option = find_key(reading, entry->key, entry->line);
    if (option == option_count()) {
        return;
    }
    if (reading->lines[option] != 0) {
        loading_fault(reading->loading, "%s:%zu: duplicate key '%s' (it is in line %zu, too)",
                      reading->path, entry->line, entry->key, reading->lines[option]);
        return;
    }
    reading->lines[option] = entry->line;
    if (entry->value != NULL) {
        take_value(reading, option, entry);
    }
}

static void read_file_if_any(struct loading *loading) {
    struct file_reading reading = {.loading = loading, .path = loading->text[OPTION_OF(config)]};
    const struct configuration_visitor visitor = {
        .entry = on_file_entry, .fault = on_file_fault, .context = &reading};
    if (reading.path != NULL &&
        !configuration_file_read(reading.path, loading->is_again, &visitor)) {
        loading->is_out_of_memory = true;
    }
}

/* ---- values ---- */

static void assign(struct loading *loading, size_t i) {
    const struct option row = option_at(i);
    const struct option *option = &row;
    if (option->fallback != NULL) {
        const bool is_fallback_valid =
            option_assign(option, option->fallback, loading->configuration);
        assert(is_fallback_valid);
        (void)is_fallback_valid;
    }
    if (loading->text[i] != NULL && loading->by[i] != NULL &&
        !option_assign(option, loading->text[i], loading->configuration)) {
        option_note_invalid(option, loading->by[i], loading->text[i], loading);
    }
}

struct tls_files configuration_tls_files(const struct configuration *configuration) {
    return (struct tls_files){.certificate = configuration->tls_cert,
                              .key = configuration->tls_key,
                              .client_ca = configuration->tls_client_ca,
                              .is_client_optional = configuration->tls_client_optional};
}

/* ---- --check-config ---- */

int configuration_print(const struct configuration *configuration) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    parley_buffer_text(&out, "{");
    for (size_t i = 0; i < option_count(); i++) {
        const struct option row = option_at(i);
        if (!row.is_not_in_file) {
            parley_buffer_format(&out, "%s\n  \"%s\": ", i == 0 ? "" : ",", row.flag);
            option_write_json(&row, configuration, &out);
        }
    }
    parley_buffer_text(&out, "\n}\n");
    const enum parley_status status = parley_buffer_status(&out);
    if (status == PARLEY_OK) {
        fwrite(out.data, 1, out.length, stdout);
    } else {
        terminal_error("%s", parley_status_text(status));
    }
    parley_buffer_finish(&out);
    return status == PARLEY_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- loading ---- */

void loading_fill(struct loading *loading) {
    configuration_read_variables(loading);
    read_file_if_any(loading);
    for (size_t i = 0; i < option_count(); i++) {
        assign(loading, i);
    }
    if (loading_is_sound(loading)) {
        configuration_check_values(loading);
        configuration_find_data(loading);
        configuration_find_tokens(loading);
    }
    if (loading_is_sound(loading)) {
        configuration_check_together(loading);
    }
}

static int init(struct configuration *configuration) {
    if (!configuration_init(configuration)) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
        return EXIT_FAILURE;
    }
    return -1;
}

static int load(struct configuration *configuration, int argc, char **argv) {
    struct loading loading;
    loading_init(&loading, configuration);
    int status = loading_read_flags(&loading, argc, argv);
    if (status < 0) {
        configuration_judge_variables(&loading);
        loading_fill(&loading);
    }
    if (status < 0 && configuration->example_config) {
        configuration_print_example();
        status = EXIT_SUCCESS;
    }
    if (status >= 0) {
        parley_buffer_finish(&loading.faults);
        return status;
    }
    return loading_end(&loading);
}

int configuration_load(struct configuration *configuration, int argc, char **argv) {
    const int status = init(configuration);
    return status < 0 ? load(configuration, argc, argv) : status;
}

int configuration_load_listen(struct configuration *configuration, const char *path) {
    struct loading loading;
    const int status = init(configuration);
    if (status >= 0) {
        return status;
    }
    loading_init(&loading, configuration);
    loading.text[OPTION_OF(config)] = path;
    configuration_read_variables(&loading);
    read_file_if_any(&loading);
    const char *listen = loading.text[OPTION_OF(listen)];
    configuration->listen = listen != NULL ? listen : option_at(OPTION_OF(listen)).fallback;
    configuration->tls_cert = loading.text[OPTION_OF(tls_cert)];
    return loading_end(&loading);
}

int configuration_load_tokens(struct configuration *configuration, const char *tokens,
                              const char *data) {
    struct loading loading;
    const int status = init(configuration);
    if (status >= 0) {
        return status;
    }
    loading_init(&loading, configuration);
    loading.text[OPTION_OF(tokens)] = tokens;
    loading.text[OPTION_OF(data)] = data;
    configuration_read_variables(&loading);
    read_file_if_any(&loading);
    configuration->tokens = loading.text[OPTION_OF(tokens)];
    configuration->data = loading.text[OPTION_OF(data)];
    configuration_find_data(&loading);
    configuration_find_tokens(&loading);
    return loading_end(&loading);
}

int configuration_load_webhooks(struct configuration *configuration, const char *webhooks) {
    struct loading loading;
    const int status = init(configuration);
    if (status >= 0) {
        return status;
    }
    loading_init(&loading, configuration);
    loading.text[OPTION_OF(webhooks)] = webhooks;
    configuration_read_variables(&loading);
    read_file_if_any(&loading);
    configuration->webhooks = loading.text[OPTION_OF(webhooks)];
    return loading_end(&loading);
}

bool configuration_init(struct configuration *configuration) {
    *configuration = (struct configuration){.storage = malloc(sizeof(struct parley_arena))};
    if (configuration->storage != NULL) {
        parley_arena_init(configuration->storage, 0);
    }
    return configuration->storage != NULL;
}

void configuration_finish(struct configuration *configuration) {
    if (configuration->storage != NULL) {
        parley_arena_finish(configuration->storage);
        free(configuration->storage);
        configuration->storage = NULL;
    }
}
