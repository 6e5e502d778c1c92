/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Asks jansson and its tree, the event reader over the text, and the product as a whole for the
 * same message apart from one another, and compares what they say. */

#include <parley/message.h>

struct readers {
    struct parley_message by_tree, by_text;
    struct parley_message checked; /* by parley_message_check: by the fast path or carefully */
    char difference[512];          /* of the last comparison; "" when they agree */
};

/* Owns: schema is borrowed, and must outlive the readers. */
void readers_init(struct readers *readers, const struct parley_schema *schema);
void readers_finish(struct readers *readers);

/* Whether all find the text readable or not (jansson decides) and, when it is, the same findings in
 * the same order, the same facts and the same type. */
bool readers_agree(struct readers *readers, struct parley_bytes text,
                   const struct parley_options *options);
