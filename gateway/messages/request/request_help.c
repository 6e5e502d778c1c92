/* SPDX-License-Identifier: Apache-2.0 */

/* The query options of a POST: their names, and what documents say of them. */

#include "request_options.h"

#include <assert.h>

#include <parley/objects.h>

static const struct parley_option_help helps[] = {
    {"results",
     "What the answer to many messages has: `all` results (default), only `errors` and the "
     "summary, or only the `summary`.",
     "all, errors or summary", "{\"type\":\"string\",\"enum\":[\"all\",\"errors\",\"summary\"]}"},
    {"emit",
     "Of many messages: their `verdicts` (default), only the valid `messages` themselves, or "
     "`both`, a verdict with the message.",
     "verdicts, messages or both",
     "{\"type\":\"string\",\"enum\":[\"verdicts\",\"messages\",\"both\"]}"},
    {"ack",
     "Whether the gateway answers the message in the name of the other side, once it is stored "
     "(default `false`). It needs `agent`, and the scope `read`.",
     "true or false", "{\"type\":\"boolean\"}"},
    {"to", "The encoding to convert to.", NULL, NULL},
};

static const struct parley_option_help *own_help(const char *name) {
    for (size_t i = 0; i < sizeof helps / sizeof helps[0]; i++) {
        if (strcmp(helps[i].name, name) == 0) {
            return &helps[i];
        }
    }
    return NULL;
}

bool request_may_be_acknowledged(const struct parley_protocol *protocol) {
    return protocol->objects != NULL && protocol->objects->begin_ack != NULL;
}

void request_options_names(enum ingest_task task, const char *out[REQUEST_NAMES_MAX]) {
    const bool is_converting = task == INGEST_CONVERT;
    size_t count = 0;
    out[count++] = is_converting ? "to" : "results";
    if (!is_converting) {
        out[count++] = "emit";
    }
    out[count++] = "stamp";
    if (task != INGEST_FORWARD) {
        out[count++] = "fix";
    }
    out[count++] = "violations";
    const struct parley_option *option;
    for (size_t i = 0; (option = parley_option_at(NULL, i)) != NULL; i++) {
        assert(count < REQUEST_NAMES_MAX - 2);
        out[count++] = option->help.name;
    }
    if (!is_converting) {
        out[count++] = "ack";
    }
    out[count] = NULL;
}

const struct parley_option_help *request_options_help(const struct parley_protocol *protocol,
                                                      const char *name) {
    const struct parley_option_help *help = own_help(name);
    return help != NULL ? help : parley_option_help(protocol, name);
}
