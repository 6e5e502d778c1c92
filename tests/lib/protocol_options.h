/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of protocols by their names, as a request or the operator would give them. */

#include <stdlib.h>
#include <string.h>

#include <parley/message.h>

static inline uint64_t choice_of(const struct parley_option *option, const char *value) {
    uint64_t i = 0;
    while (option->choices[i] != NULL && strcmp(option->choices[i], value) != 0) {
        i++;
    }
    if (option->choices[i] == NULL) {
        abort();
    }
    return i;
}

/* Sets an option of `protocol`; nothing where it has none of that name. Owns: borrows `value`;
 * NULL: it is not given. */
static inline void set_option(struct parley_options *options,
                              const struct parley_protocol *protocol, const char *name,
                              const char *value) {
    const struct parley_option *rows = protocol->options;
    for (size_t i = 0; rows != NULL && rows[i].help.name != NULL; i++) {
        union parley_option_value *out = &options->values[i];
        if (strcmp(rows[i].help.name, name) != 0) {
            continue;
        }
        *out = (union parley_option_value){.number = 0};
        if (value != NULL && rows[i].type == PARLEY_OPTION_SWITCH) {
            out->is_on = strcmp(value, "true") == 0;
        } else if (value != NULL && rows[i].type == PARLEY_OPTION_CHOICE) {
            out->number = choice_of(&rows[i], value);
        } else if (value != NULL && rows[i].type == PARLEY_OPTION_TEXT) {
            out->text = value;
        } else if (value != NULL) {
            out->number = strtoull(value, NULL, 10);
        }
    }
}

/* How strictly earlier messages decide; nothing for a protocol of whose messages they do not. */
static inline void set_lifecycle(struct parley_options *options,
                                 const struct parley_protocol *protocol,
                                 enum parley_lifecycle lifecycle) {
    if (protocol->facts != NULL && protocol->facts->mode != NULL) {
        options->values[protocol->facts->mode - protocol->options].number = lifecycle;
    }
}
