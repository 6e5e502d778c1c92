/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Asks the fast path for a message and, when it accepts, the readers that it stands in for. */

#include <parley/message.h>

struct fast_and_slow {
    struct parley_message fast, slow;
    bool is_accepted;     /* by the fast path, the last time */
    char difference[256]; /* of the last comparison; "" when they agree */
};

/* Owns: schema is borrowed, and must outlive this. */
void fast_and_slow_init(struct fast_and_slow *both, const struct parley_schema *schema);
void fast_and_slow_finish(struct fast_and_slow *both);

/* Whether what the fast path accepts is read by jansson and by the event reader, has no finding,
 * and has the same type and facts, bit for bit; and whether it leaves none where it is not sure. */
bool fast_and_slow_agree(struct fast_and_slow *both, struct parley_bytes text,
                         const struct parley_options *options);
