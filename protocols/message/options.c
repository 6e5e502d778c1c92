/* SPDX-License-Identifier: Apache-2.0 */

/* The options that a sender may give with a message, of all protocols, as one table: an option
 * of another protocol is known, and does nothing. */

#include <parley/message.h>

#include "text.h"

static enum parley_option_result set_flag(bool *flag, const char *value) {
    if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0) {
        return PARLEY_OPTION_INVALID;
    }
    *flag = strcmp(value, "true") == 0;
    return PARLEY_OPTION_SET;
}

static enum parley_option_result set_strict(struct parley_options *options, const char *value) {
    return set_flag(&options->strict, value);
}

static enum parley_option_result set_stamp(struct parley_options *options, const char *value) {
    return set_flag(&options->stamp, value);
}

static enum parley_option_result set_from(struct parley_options *options, const char *value) {
    if (strcmp(value, "gerbil") != 0 && strcmp(value, "elixir") != 0) {
        return PARLEY_OPTION_INVALID;
    }
    options->from = value;
    return PARLEY_OPTION_SET;
}

static enum parley_option_result set_domain(struct parley_options *options, const char *value) {
    if (!text_is_domain(parley_bytes_of(value))) {
        return PARLEY_OPTION_INVALID;
    }
    options->domain = value;
    return PARLEY_OPTION_SET;
}

static enum parley_option_result set_agent(struct parley_options *options, const char *value) {
    if (!text_is_agent(parley_bytes_of(value))) {
        return PARLEY_OPTION_INVALID;
    }
    options->agent = value;
    return PARLEY_OPTION_SET;
}

static const struct option {
    const char *name;
    enum parley_option_result (*set)(struct parley_options *options, const char *value);
    const char *wants;
} table[] = {
    {"strict", set_strict, "true or false"},
    {"stamp", set_stamp, "true or false"},
    {"from", set_from, "gerbil or elixir"},
    {"agent", set_agent, "1 to 64 of A-Z a-z 0-9 _ -, the first a letter or a digit"},
    {"domain", set_domain, "1 to 128 of A-Z a-z 0-9 _ -"},
};

enum parley_option_result parley_options_set(struct parley_options *options, const char *name,
                                             const char *value, const char **out_wants) {
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0) {
            *out_wants = table[i].wants;
            return table[i].set(options, value);
        }
    }
    return PARLEY_OPTION_UNKNOWN;
}
