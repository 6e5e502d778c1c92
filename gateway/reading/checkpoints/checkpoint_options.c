/* SPDX-License-Identifier: Apache-2.0 */

/* What documents say of the options. It is apart from what reads a request, so that documents need
 * no HTTP. */

#include "checkpoint_options.h"

const struct parley_option_help checkpoint_options[] = {
    {"limit", "How many checkpoints the answer has at most (100).", "an integer from 1 to 1000",
     "{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}"},
    {"cursor", "The `next` of the page before.", "the `next` of the page before",
     "{\"type\":\"string\",\"minLength\":1}"},
    {NULL, NULL, NULL, NULL},
};
