/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Asks the fast path for a message and, unless it is unsure, the readers that it stands in for. */

#include "rules/accept.h"

struct json_accept_pair {
    struct parley_message fast, slow;
    enum accept_certainty certainty; /* of the fast path, the last time */
    bool is_accepted;                /* it is right */
    char difference[256];            /* of the last comparison; "" when they agree */
};

/* Owns: schema is borrowed, and must outlive this. */
void json_accept_pair_init(struct json_accept_pair *both, const struct parley_schema *schema);
void json_accept_pair_finish(struct json_accept_pair *both);

/* Whether what the fast path has read is read by jansson and by the event reader, and has the same
 * type, and the size as MessagePack, if the protocol inspects that; where no row is broken, also
 * the same findings and facts, bit for bit; and whether it leaves none where it is not sure. */
bool json_accept_pair_agree(struct json_accept_pair *both, struct parley_bytes text,
                            const struct parley_options *options);
