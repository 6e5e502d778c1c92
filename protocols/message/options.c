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

static enum parley_option_result set_escalate(struct parley_options *options, const char *value) {
    return set_flag(&options->escalate, value);
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
    struct parley_option_help help;
    enum parley_option_result (*set)(struct parley_options *options, const char *value);
} table[] = {
    {{"strict", "Requires earned confidence of every type, not of claims and evidence alone.",
      "true or false", "{\"type\":\"boolean\"}"},
     set_strict},
    {{"stamp",
      "Fills in a missing `id`, `protocol`, `version` and `timestamp`, where the protocol has "
      "them, "
      "before the message is checked.",
      "true or false", "{\"type\":\"boolean\"}"},
     set_stamp},
    {{"escalate", "Has claims that break only VLP-012 reviewed, instead of refusing them.",
      "true or false", "{\"type\":\"boolean\"}"},
     set_escalate},
    {{"from", "The side that sends.", "gerbil or elixir",
      "{\"type\":\"string\",\"enum\":[\"gerbil\",\"elixir\"]}"},
     set_from},
    {{"agent",
      "The agent that the message belongs to. With it, the same bytes sent again are stored once, "
      "if `stamp` adds nothing to them; without it, only an `Idempotency-Key` does that.",
      "1 to 64 of A-Z a-z 0-9 _ -, the first a letter or a digit",
      "{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$\"}"},
     set_agent},
    {{"domain", "The domain of a reply whose request is not known.", "1 to 128 of A-Z a-z 0-9 _ -",
      "{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_-]{1,128}$\"}"},
     set_domain},
};
enum { OPTION_COUNT = sizeof table / sizeof table[0] };

static const struct option *find(const char *name) {
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(table[i].help.name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

enum parley_option_result parley_options_set(struct parley_options *options, const char *name,
                                             const char *value, const char **out_wants) {
    const struct option *option = find(name);
    if (option == NULL) {
        return PARLEY_OPTION_UNKNOWN;
    }
    *out_wants = option->help.wants;
    return option->set(options, value);
}

const struct parley_option_help *parley_option_help(const char *name) {
    const struct option *option = find(name);
    return option != NULL ? &option->help : NULL;
}
