/* SPDX-License-Identifier: Apache-2.0 */

#include "review_options.h"

#include <parley/reviews.h>

static const struct parley_option_help rows[REVIEW_OPTION_COUNT + 1] = {
    [REVIEW_OPTION_THREAD] = {NULL, "Only messages of this conversation.",
                              "the name of a conversation",
                              "{\"type\":\"string\",\"minLength\":1}"},
    [REVIEW_OPTION_SENDER] = {"sender", "Only messages of this sender.", "the name of a sender",
                              "{\"type\":\"string\",\"minLength\":1}"},
    [REVIEW_OPTION_OPEN] = {"open",
                            "true: messages that have no decision; false: only those that have "
                            "one; all: both (true).",
                            "`true`, `false` or `all`", "{\"enum\":[\"true\",\"false\",\"all\"]}"},
    [REVIEW_OPTION_LIMIT] = {"limit", "How many messages the answer has at most (100).",
                             "an integer from 1 to 1000",
                             "{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}"},
    [REVIEW_OPTION_CURSOR] = {"cursor", "The `next` of the page before.",
                              "the `next` of the page before",
                              "{\"type\":\"string\",\"minLength\":1}"},
    [REVIEW_OPTION_COUNT] = {NULL, NULL, NULL, NULL},
};

void review_options(const struct parley_protocol *protocol,
                    struct parley_option_help out[REVIEW_OPTION_COUNT + 1]) {
    for (size_t i = 0; i <= REVIEW_OPTION_COUNT; i++) {
        out[i] = rows[i];
    }
    out[REVIEW_OPTION_THREAD].name = protocol->reviews->thread;
}
