/* SPDX-License-Identifier: Apache-2.0 */

#include "query_options.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct http_request *request;
    const struct parley_option_help *options;
    query_option_fn *set;
    void *context;
    struct query_names seen;
    bool is_refused;
};

static void refuse_unknown(const struct reading *reading, const char *name) {
    const char *names[QUERY_OPTIONS_MAX + 1] = {NULL};
    for (size_t i = 0; i < QUERY_OPTIONS_MAX && reading->options[i].name != NULL; i++) {
        names[i] = reading->options[i].name;
    }
    query_problem_unknown(reading->request, name, names);
}

/* Returns: false when it has answered. */
static bool take(struct reading *reading, const char *name, const char *value) {
    size_t number = 0;
    while (reading->options[number].name != NULL &&
           strcmp(reading->options[number].name, name) != 0) {
        number++;
    }
    if (!query_option_is_sound(reading->request, &reading->seen, name, value)) {
        return false;
    }
    if (reading->options[number].name == NULL) {
        refuse_unknown(reading, name);
    } else if (!reading->set(reading->context, number, value)) {
        query_problem_value(reading->request, name, value, reading->options[number].wants);
    } else {
        return true;
    }
    return false;
}

static bool on_option(void *context, const char *name, const char *value) {
    struct reading *reading = context;
    reading->is_refused = !take(reading, name, value);
    return !reading->is_refused;
}

bool query_options_read(struct http_request *request, const struct parley_option_help *options,
                        query_option_fn *set, void *context) {
    struct reading reading = {
        .request = request, .options = options, .set = set, .context = context};
    http_request_each_query(request, on_option, &reading);
    return !reading.is_refused;
}

bool query_options_none(struct http_request *request) {
    static const struct parley_option_help none[] = {{NULL, NULL, NULL, NULL}};
    return query_options_read(request, none, NULL, NULL);
}

bool query_option_list(const char *value, bool (*set)(void *context, struct parley_bytes item),
                       void *context) {
    while (true) {
        const struct parley_bytes item = {value, strcspn(value, ",")};
        if (!set(context, item)) {
            return false;
        }
        if (value[item.length] == '\0') {
            return true;
        }
        value += item.length + 1;
    }
}

bool query_option_count(const char *value, size_t most, size_t *out) {
    const size_t length = strlen(value);
    *out = strtoul(value, NULL, 10);
    return length <= 4 && strspn(value, "0123456789") == length && *out >= 1 && *out <= most;
}
