/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Options of a protocol: a request gives them in its query, and the operator of a server as options
 * of `parley serve`. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/buffer.h>
#include <parley/bytes.h>

struct parley_protocol;

struct parley_options;

/* A protocol has at most so many. */
#define PARLEY_OPTIONS_MAX 12

enum parley_option_type {
    PARLEY_OPTION_SWITCH, /* is_on */
    PARLEY_OPTION_CHOICE, /* number: the index of one of `choices` */
    PARLEY_OPTION_COUNT,  /* number */
    PARLEY_OPTION_TIME, /* number: a length of time in milliseconds; only the operator gives one */
    PARLEY_OPTION_TEXT, /* text; only a request gives one */
    PARLEY_OPTION_MOMENT, /* number: Unix time in seconds, given as a time or as a length of time
                             from now on; only a request gives one */
};

/* The value of an option. All bits are 0: it was not given. */
union parley_option_value {
    bool is_on;
    uint64_t number;
    const char *text;
};

/* Describes an option of a request for documents. */
struct parley_option_help {
    const char *name;
    const char *does;   /* one sentence, Markdown */
    const char *wants;  /* the allowed values, for an error text */
    const char *schema; /* of a value, as JSON Schema */
};

/* An option of a protocol. One that both the operator and a request can give has the operator's
 * value for requests that do not.  Owns: all text is static. */
struct parley_option {
    struct parley_option_help help; /* `name` is unique in its protocol, and among all if the
                                       operator can give it; `does` NULL: requests cannot */
    enum parley_option_type type;
    const char *value_name;                    /* in help texts: "SIDE"; NULL: of a switch */
    const char *const *choices;                /* of a choice; NULL-terminated */
    bool (*is_text)(struct parley_bytes text); /* of a text: whether it is allowed */
    uint64_t minimum, maximum; /* of a count or a time; a moment is at most `maximum` seconds from
                                  now */

    /* What is published says the value in this header, and what was published straight to NATS may,
     * too; NULL: none does. `header_types`: bit I: messages of protocol->types[I]. */
    const char *header;
    unsigned header_types;

    bool is_of_dialects; /* it concerns messages in a dialect alone */

    /* The text of `parley serve --help` on --NAME; `help` is NULL if the operator cannot give it.
     */
    struct {
        const char *help;
        const char *fallback; /* the default, as a user would write it */
        bool is_reloadable;   /* SIGHUP changes it */
    } server;
};

/* The options of requests, besides `stamp` and `fix`, which concern messages of a protocol (NULL:
 * of any, each name once): its own, `agent`, if its messages name no sender, and `dialect`, if it
 * has any. They are numbered from 0.  Returns: NULL: there are not so many. */
const struct parley_option *parley_option_at(const struct parley_protocol *protocol, size_t number);

/* Describes any of them, `stamp` or `fix`, for documents; one that several protocols have as
 * `protocol` (or NULL) has it.  Returns: NULL when no option has that name. */
const struct parley_option_help *parley_option_help(const struct parley_protocol *protocol,
                                                    const char *name);

/* Appends the value as its header says it.  Returns: false: it was not given. */
bool parley_option_write(const struct parley_option *option, union parley_option_value value,
                         struct parley_buffer *out);

/* Finds a header of a stored message.  Returns: NULL: it has none of that name. */
typedef const char *parley_header_fn(void *context, const char *name);
/* Sets the options that the headers of a stored message give, with options->now_seconds as the time
 * at which it was stored. A value that is not allowed counts as absent. */
void parley_options_read_headers(struct parley_options *options,
                                 const struct parley_protocol *protocol, parley_header_fn *header,
                                 void *context);
