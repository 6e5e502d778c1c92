/* SPDX-License-Identifier: Apache-2.0 */

/* Describes the options for documents. It is apart from the reader of requests, so that documents
 * need no HTTP. */

#include "artifact_options.h"

#define SEQUENCE "{\"type\":\"integer\",\"minimum\":1}"
#define AT                                                                                         \
    {                                                                                              \
        "at", "The sequence of the last message that counts: the artifact as it was then (now).",  \
            "the sequence of a message", SEQUENCE                                                  \
    }

const struct parley_option_help artifact_options[] = {
    AT,
    {"diff", "A sequence: only what has changed since then. It is not after `at`.",
     "the sequence of a message, at most that of `at`", SEQUENCE},
    {NULL, NULL, NULL, NULL},
};

const struct parley_option_help compiled_options[] = {
    AT,
    {NULL, NULL, NULL, NULL},
};
