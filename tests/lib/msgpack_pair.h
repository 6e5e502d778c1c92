/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Asks the fast reader of MessagePack for a message, and those that know more: msgpack-c's template
 * for faults, the walk for rules, and, by way of msgpack-c's own objects, jansson for the values.
 */

#include <parley/message.h>

#include "msgpack/msgpack_read.h"

struct msgpack_pair {
    struct parley_message fast, slow, json;
    enum accept_certainty certainty; /* of the last message */
    bool has_findings;
    char difference[256]; /* of the last comparison; "" when they agree */
};

/* Owns: schema is borrowed, and must outlive this. */
void msgpack_pair_init(struct msgpack_pair *pair, const struct parley_schema *schema);
void msgpack_pair_finish(struct msgpack_pair *pair);

/* Whether the fast reader is unsure of what has a fault and of nothing else; whether it has the
 * findings of the walk where no row is broken; and whether type and facts are those that others
 * see, bit for bit. */
bool msgpack_pair_agree(struct msgpack_pair *pair, struct parley_bytes bytes,
                        const struct parley_codec *codec, const struct parley_options *options);
