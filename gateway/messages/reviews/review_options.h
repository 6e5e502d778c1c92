/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The query options of the list of messages that wait for people, for its reader and for documents.
 */

#include <parley/option.h>
#include <parley/protocol.h>

enum review_option {
    REVIEW_OPTION_THREAD,
    REVIEW_OPTION_SENDER,
    REVIEW_OPTION_OPEN,
    REVIEW_OPTION_LIMIT,
    REVIEW_OPTION_CURSOR,
    REVIEW_OPTION_COUNT,
};
enum { REVIEW_LIMIT_MAX = 1000 };

/* Writes the options of a protocol that has reviews, each at its place; name NULL ends them. */
void review_options(const struct parley_protocol *protocol,
                    struct parley_option_help out[REVIEW_OPTION_COUNT + 1]);
