/* SPDX-License-Identifier: Apache-2.0 */

/* The options that a sender may give with a message: those of all protocols, and those that
 * parley has for all. An option of another protocol is known, and does nothing. */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <parley/dialect.h>
#include <parley/message.h>

#include "text.h"

static const struct parley_option stamp = {
    .help = {"stamp",
             "Fills in a missing `id`, `protocol`, `version` and `timestamp`, where the protocol "
             "has them, before the message is checked.",
             "true or false", "{\"type\":\"boolean\"}"}};

static const struct parley_option fix = {
    .help = {"fix",
             "Applies the safe fixes of what a message breaks, and checks it again; the answer has "
             "the fixed `message` and what was `applied`. Messages in JSON only.",
             "true or false", "{\"type\":\"boolean\"}"}};

static const char *const details[] = {"full", "short", NULL};

static const struct parley_option violations = {
    .help = {"violations",
             "`short` leaves `hint` and `expected` out of a violation that has a `fix`.",
             "full or short", "{\"type\":\"string\",\"enum\":[\"full\",\"short\"]}"},
    .type = PARLEY_OPTION_CHOICE,
    .choices = details};

static const struct parley_option agent = {
    .help = {"agent",
             "The agent that the message belongs to. With it, the same bytes sent again are "
             "stored once, if `stamp` adds nothing to them; without it, only an "
             "`Idempotency-Key` does that.",
             "1 to 64 of A-Z a-z 0-9 _ -, the first a letter or a digit",
             "{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$\"}"},
    .type = PARLEY_OPTION_TEXT,
    .value_name = "NAME",
    .is_text = text_is_agent};

static const struct parley_option dialect = {
    .help = {"dialect",
             "The dialect in which programs send these messages: they are translated to the "
             "contract's before they are checked, and the answer says so.",
             "the name of one of the protocol's dialects",
             "{\"type\":\"string\",\"pattern\":\"^[a-z0-9-]+$\"}"},
    .type = PARLEY_OPTION_TEXT,
    .value_name = "NAME",
    .is_of_dialects = true};

/* ---- dialects ---- */

const struct parley_dialect *parley_dialect_find(const struct parley_protocol *protocol,
                                                 struct parley_bytes name) {
    const struct parley_dialect *at = protocol->dialects;
    while (at != NULL && at->name != NULL && !parley_bytes_equal(name, parley_bytes_of(at->name))) {
        at++;
    }
    return at != NULL && at->name != NULL ? at : NULL;
}

void parley_dialects_describe(const struct parley_protocol *protocol, struct parley_buffer *out) {
    const struct parley_dialect *at = protocol->dialects;
    if (at == NULL) {
        parley_buffer_format(out, "left out: %s has no dialects", protocol->name);
        return;
    }
    for (; at->name != NULL; at++) {
        parley_buffer_format(out, "%s%s", at == protocol->dialects ? "" : " or ", at->name);
    }
}

/* ---- which there are ---- */

/* Whether an earlier protocol has an option of that name, too: two that one request never has. */
static bool is_named_before(const struct parley_option *option, size_t protocol) {
    for (size_t i = 0; i < protocol; i++) {
        const struct parley_option *at = parley_protocols[i]->options;
        for (; at != NULL && at->help.name != NULL; at++) {
            if (at->help.does != NULL && strcmp(at->help.name, option->help.name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Those that parley has for protocols that need them. */
static const struct parley_option *own_at(const struct parley_protocol *protocol, size_t number) {
    if (protocol == NULL || protocol->sender_field == NULL) {
        if (number-- == 0) {
            return &agent;
        }
    }
    return number == 0 && (protocol == NULL || protocol->dialects != NULL) ? &dialect : NULL;
}

const struct parley_option *parley_option_at(const struct parley_protocol *protocol,
                                             size_t number) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const bool is_meant = protocol == NULL || protocol == parley_protocols[i];
        const struct parley_option *at = is_meant ? parley_protocols[i]->options : NULL;
        for (; at != NULL && at->help.name != NULL; at++) {
            const bool is_new = protocol != NULL || !is_named_before(at, i);
            if (at->help.does != NULL && is_new && number-- == 0) {
                return at;
            }
        }
    }
    return own_at(protocol, number);
}

/* Returns: NULL: no protocol has it. */
static const struct parley_option *find(const struct parley_protocol *protocol, const char *name) {
    const struct parley_option *at;
    for (size_t i = 0; (at = parley_option_at(protocol, i)) != NULL; i++) {
        if (strcmp(at->help.name, name) == 0) {
            return at;
        }
    }
    return NULL;
}

/* Those that concern messages of every protocol come first. */
static const struct parley_option *find_any(const struct parley_protocol *protocol,
                                            const char *name) {
    if (strcmp(name, stamp.help.name) == 0) {
        return &stamp;
    }
    if (strcmp(name, fix.help.name) == 0) {
        return &fix;
    }
    if (strcmp(name, violations.help.name) == 0) {
        return &violations;
    }
    const struct parley_option *its = protocol != NULL ? find(protocol, name) : NULL;
    return its != NULL ? its : find(NULL, name);
}

const struct parley_option_help *parley_option_help(const struct parley_protocol *protocol,
                                                    const char *name) {
    const struct parley_option *option = find_any(protocol, name);
    return option != NULL ? &option->help : NULL;
}

/* ---- their values ---- */

static bool read_choice(const char *const *choices, const char *value, uint64_t *out) {
    for (*out = 0; choices[*out] != NULL; ++*out) {
        if (strcmp(choices[*out], value) == 0) {
            return true;
        }
    }
    return false;
}

/* Digits alone, of a number that a double has exactly.  Returns: their length; 0: it is none. */
static size_t read_digits(const char *text, uint64_t *out) {
    enum { DIGITS_MAX = 15 };
    size_t length = 0;
    for (*out = 0; text[length] >= '0' && text[length] <= '9'; length++) {
        if (length == DIGITS_MAX) {
            return 0;
        }
        *out = *out * 10 + (uint64_t)(text[length] - '0');
    }
    return length;
}

static bool read_count(const struct parley_option *option, const char *value, uint64_t *out) {
    const size_t length = read_digits(value, out);
    return length > 0 && value[length] == '\0' && *out >= option->minimum &&
           *out <= option->maximum;
}

/* A number and s, m, h or d. */
static bool read_length(const char *value, uint64_t *out_seconds) {
    static const char units[] = "smhd";
    static const uint64_t seconds[] = {1, 60, 3600, 86400};
    const size_t length = read_digits(value, out_seconds);
    const char *unit = length > 0 && value[length] != '\0' ? strchr(units, value[length]) : NULL;
    if (unit == NULL || value[length + 1] != '\0') {
        return false;
    }
    *out_seconds *= seconds[unit - units];
    return true;
}

/* `now`: Unix time; 0: it is not known, and how far away the moment is is not asked. A moment of
 * the past is the first one that there is. */
static bool read_moment(const struct parley_option *option, const char *value, int64_t now,
                        uint64_t *out) {
    double seconds;
    uint64_t length;
    if (text_unix_time(parley_bytes_of(value), &seconds)) {
        *out = seconds > 1 ? (uint64_t)ceil(seconds) : 1;
    } else if (read_length(value, &length)) {
        *out = (uint64_t)now + length;
    } else {
        return false;
    }
    return now == 0 || *out <= (uint64_t)now + option->maximum;
}

static bool read(const struct parley_option *option, const struct parley_protocol *protocol,
                 const char *value, int64_t now, union parley_option_value *out) {
    if (option == &dialect) {
        return protocol == NULL || parley_dialect_find(protocol, parley_bytes_of(value)) != NULL;
    }
    switch (option->type) {
    case PARLEY_OPTION_SWITCH:
        out->is_on = strcmp(value, "true") == 0;
        return out->is_on || strcmp(value, "false") == 0;
    case PARLEY_OPTION_CHOICE:
        return read_choice(option->choices, value, &out->number);
    case PARLEY_OPTION_TEXT:
        out->text = value;
        return option->is_text(parley_bytes_of(value));
    case PARLEY_OPTION_COUNT:
        return read_count(option, value, &out->number);
    case PARLEY_OPTION_MOMENT:
        return read_moment(option, value, now, &out->number);
    case PARLEY_OPTION_TIME:
        break; /* the operator's */
    }
    return false;
}

/* Where the value of an option goes.  Returns: NULL: it is another protocol's. */
static union parley_option_value *place_of(struct parley_options *options,
                                           const struct parley_protocol *protocol,
                                           const struct parley_option *option) {
    const struct parley_option *own = protocol != NULL ? protocol->options : NULL;
    for (size_t i = 0; own != NULL && own[i].help.name != NULL; i++) {
        if (option == &own[i]) {
            return &options->values[i];
        }
    }
    return NULL;
}

enum parley_option_result parley_options_set(struct parley_options *options,
                                             const struct parley_protocol *protocol,
                                             const char *name, const char *value,
                                             const char **out_wants) {
    const struct parley_option *option = find_any(protocol, name);
    union parley_option_value read_value = {.number = 0};
    if (option == NULL) {
        return PARLEY_OPTION_UNKNOWN;
    }
    *out_wants = option->help.wants;
    if (!read(option, protocol, value, options->now_seconds, &read_value)) {
        return PARLEY_OPTION_INVALID;
    }
    union parley_option_value *place = place_of(options, protocol, option);
    if (option == &stamp) {
        options->stamp = read_value.is_on;
    } else if (option == &fix) {
        options->fix = read_value.is_on ? PARLEY_FIX_SAFELY : PARLEY_FIX_NOTHING;
    } else if (option == &violations) {
        options->has_short_violations = read_value.number != 0;
    } else if (option == &agent) {
        options->agent = read_value.text;
    } else if (option == &dialect) {
        options->dialect =
            protocol != NULL ? parley_dialect_find(protocol, parley_bytes_of(value)) : NULL;
    } else if (place != NULL) {
        *place = read_value;
    }
    return PARLEY_OPTION_SET;
}

/* ---- headers ---- */

bool parley_option_write(const struct parley_option *option, union parley_option_value value,
                         struct parley_buffer *out) {
    char time[TEXT_TIME_SIZE];
    if (value.number == 0) {
        return false;
    }
    switch (option->type) {
    case PARLEY_OPTION_COUNT:
    case PARLEY_OPTION_TIME:
        parley_buffer_uint(out, value.number);
        break;
    case PARLEY_OPTION_MOMENT:
        text_write_unix_time((double)value.number, time);
        parley_buffer_text(out, time);
        break;
    case PARLEY_OPTION_CHOICE:
        parley_buffer_text(out, option->choices[value.number]);
        break;
    case PARLEY_OPTION_SWITCH:
        parley_buffer_text(out, "true");
        break;
    case PARLEY_OPTION_TEXT:
        parley_buffer_text(out, value.text);
        break;
    }
    return true;
}

void parley_options_read_headers(struct parley_options *options,
                                 const struct parley_protocol *protocol, parley_header_fn *header,
                                 void *context) {
    const struct parley_option *rows = protocol->options;
    for (size_t i = 0; rows != NULL && rows[i].help.name != NULL; i++) {
        const char *text = rows[i].header != NULL ? header(context, rows[i].header) : NULL;
        union parley_option_value value = {.number = 0};
        if (text != NULL && read(&rows[i], protocol, text, options->now_seconds, &value)) {
            options->values[i] = value;
        }
    }
}
