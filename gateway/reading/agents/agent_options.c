/* SPDX-License-Identifier: Apache-2.0 */

/* Describes the options for documents. It is apart from the reader of requests, so that documents
 * need no HTTP. */

#include "agent_options.h"

#include "follow.h"

const struct parley_option_help agent_query_options[] = {
    {"state", "Only agents in these states.", "alive, late, lost, or several of them: alive,late",
     "{\"type\":\"array\",\"items\":{\"enum\":[\"alive\",\"late\",\"lost\"]},\"minItems\":1}"},
    {"limit", "How many agents the answer has at most (100). Not with follow=true.",
     "an integer from 1 to 1000", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}"},
    {"cursor", "The `next` of the page before.", "the `next` of the page before",
     "{\"type\":\"string\",\"minLength\":1}"},
    FOLLOW_OPTION_HELP,
    {NULL, NULL, NULL, NULL},
};
