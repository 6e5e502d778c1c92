/* SPDX-License-Identifier: Apache-2.0 */

/* Describes the options for documents. It is apart from the reader of requests, so that documents
 * need no HTTP. */

#include "checkpoint_options.h"

const struct parley_option_help checkpoint_options[] = {
    {"limit", "How many checkpoints the answer has at most (100).", "an integer from 1 to 1000",
     "{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}"},
    {"cursor", "The `next` of the page before.", "the `next` of the page before",
     "{\"type\":\"string\",\"minLength\":1}"},
    {NULL, NULL, NULL, NULL},
};

const struct parley_option_help restore_options[] = {
    {"checkpoint", "The id of the checkpoint to go back to, as in their list (the last one).",
     "the id of a checkpoint: a UUID", "{\"type\":\"string\",\"format\":\"uuid\"}"},
    {NULL, NULL, NULL, NULL},
};
