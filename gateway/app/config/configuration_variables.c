/* SPDX-License-Identifier: Apache-2.0 */

/* PARLEY_LISTEN for --listen, and PARLEY_NATS_FILE where a value can hold a secret: variables can
 * be seen by all who may look at the process or the container, a file by those whom its mode lets.
 */

#include "configuration_variables.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "configuration_file.h"
#include "nearest.h"

enum {
    SECRET_BYTES_MAX = 64 * 1024,
    SHORT_FLAG_MAX = 5 /* letters; HOME and TEST resemble HOST, and are meant for others */
};

static const char PREFIX[] = "PARLEY_";
static const char FILE_SUFFIX[] = "_FILE";

static bool has_value(const char *value) {
    return value != NULL && value[0] != '\0';
}

/* ---- values ---- */

/* Editors and `echo` end a file with a line feed. */
static void remove_line_end(struct parley_buffer *text) {
    if (text->length > 0 && text->data[text->length - 1] == '\n') {
        text->length--;
    }
    if (text->length > 0 && text->data[text->length - 1] == '\r') {
        text->length--;
    }
}

/* Returns: NULL after a fault. */
static const char *read_secret(struct loading *loading, const char *variable, const char *path) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    const char *wrong =
        configuration_file_contents(path, loading->is_again, SECRET_BYTES_MAX, &text);
    remove_line_end(&text);
    if (wrong != NULL) {
        loading_fault(loading, "%s: %s cannot be read: %s", variable, path, wrong);
    } else if (text.length == 0 && !text.has_failed) {
        loading_fault(loading, "%s: %s is empty", variable, path);
    } else if (configuration_has_control(parley_buffer_bytes(&text))) {
        loading_fault(loading, "%s: %s must have one line, without control characters", variable,
                      path);
    } else {
        return loading_keep(loading, &text);
    }
    parley_buffer_finish(&text);
    return NULL;
}

static void read_variable(struct loading *loading, size_t option) {
    char name[64], file_name[72];
    const struct option row = option_at(option);
    option_name_variable(row.flag, name);
    snprintf(file_name, sizeof file_name, "%s%s", name, FILE_SUFFIX);
    const char *value = getenv(name);
    const char *path = row.is_secret ? getenv(file_name) : NULL;
    if (has_value(value) && has_value(path)) {
        loading_fault(loading, "%s and %s are both set: unset one of them", name, file_name);
    } else if (has_value(path)) {
        loading->text[option] = read_secret(loading, file_name, path);
        loading->by[option] = loading_keep_joined(loading, file_name, "");
    } else if (has_value(value)) {
        loading->text[option] = value;
        loading->by[option] = loading_keep_joined(loading, name, "");
    }
}

void configuration_read_variables(struct loading *loading) {
    for (size_t i = 0; i < option_count(); i++) {
        if (loading->text[i] == NULL) {
            read_variable(loading, i);
        }
    }
}

/* ---- names ---- */

static bool names_port(const char *variable) {
    const size_t length = strlen(variable);
    return length >= strlen("_PORT") && strcmp(variable + length - strlen("_PORT"), "_PORT") == 0;
}

/* Kubernetes sets them in every pod of a namespace for each service whose name begins with parley:
 * PARLEY_SERVICE_HOST, PARLEY_NATS_PORT=tcp://10.0.0.7:4222, PARLEY_NATS_PORT_4222_TCP_ADDR. */
static bool is_service_link(const char *variable, const char *value) {
    const char *port = strstr(variable, "_PORT_");
    return strstr(variable, "_SERVICE_HOST") != NULL || strstr(variable, "_SERVICE_PORT") != NULL ||
           (port != NULL && isdigit((unsigned char)port[strlen("_PORT_")])) ||
           (names_port(variable) && strstr(value, "://") != NULL);
}

/* Variables of clients: other commands, and the examples of the documents. */
static bool is_of_clients(const char *variable) {
    return strcmp(variable, "PARLEY_TOKEN") == 0 || strcmp(variable, "PARLEY_TOKEN_FILE") == 0 ||
           strcmp(variable, "PARLEY_URL") == 0;
}

/* "spool-max" of PARLEY_SPOOL_MAX: names are compared without their common prefix. */
static void write_flag(const char *variable, char out[128]) {
    size_t length = 0;
    for (const char *c = variable + strlen(PREFIX); *c != '\0' && length < 127; c++) {
        out[length++] = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    }
    out[length] = '\0';
}

static const char *nearest_flag(const char *flag) {
    const char *flags[OPTIONS_MAX + 1] = {0};
    for (size_t i = 0; i < option_count(); i++) {
        flags[i] = option_at(i).flag;
    }
    const size_t length = strlen(flag);
    return nearest_word_within(flag, flags, length <= SHORT_FLAG_MAX ? 1 : length / 3 + 1);
}

/* Whether it is the variable of an option, or of a file that has an option's value. */
static bool is_known(const char *flag) {
    for (size_t i = 0; i < option_count(); i++) {
        const struct option row = option_at(i);
        const size_t length = strlen(row.flag);
        if (strncmp(flag, row.flag, length) == 0 &&
            (flag[length] == '\0' || (row.is_secret && strcmp(flag + length, "-file") == 0))) {
            return true;
        }
    }
    return false;
}

static void judge_unknown(struct loading *loading, const char *variable, const char *flag) {
    const char *nearest = nearest_flag(flag);
    char meant[64];
    if (nearest != NULL) {
        option_name_variable(nearest, meant);
        loading_fault(loading,
                      "unknown environment variable %s; did you mean %s? Unset it if it is not "
                      "meant for parley",
                      variable, meant);
    } else {
        loading_warn("the unknown environment variable %s has no effect (parley serve --help lists "
                     "the known ones)",
                     variable);
    }
}

static void judge_variable(struct loading *loading, const char *variable, const char *value) {
    char flag[128];
    write_flag(variable, flag);
    if (is_known(flag) || is_service_link(variable, value) || is_of_clients(variable)) {
        return;
    }
    if (names_port(variable)) {
        loading_warn("the unknown environment variable %s has no effect; the port to listen on is "
                     "part of --listen (PARLEY_LISTEN)",
                     variable);
    } else {
        judge_unknown(loading, variable, flag);
    }
}

void configuration_judge_variables(struct loading *loading) {
    for (char *const *entry = environ; *entry != NULL; entry++) {
        char variable[128];
        const size_t length = strcspn(*entry, "=");
        snprintf(variable, sizeof variable, "%.*s", (int)(length < 127 ? length : 127), *entry);
        if (strncmp(variable, PREFIX, strlen(PREFIX)) == 0) {
            judge_variable(loading, variable, *entry + length);
        }
    }
}
