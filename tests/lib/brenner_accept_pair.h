/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Checks a Brenner message as everybody does, and again with nothing but the careful readers. */

#include <parley/message.h>

struct brenner_accept_pair {
    struct parley_message fast, slow;
    struct parley_buffer fast_words, slow_words; /* all there is to tell of it */
    bool is_accepted;                            /* without a tree, the last time */
};

/* Owns: schema is borrowed, and must outlive this. */
void brenner_accept_pair_init(struct brenner_accept_pair *both, const struct parley_schema *schema);
void brenner_accept_pair_finish(struct brenner_accept_pair *both);

/* Whether both have the same verdict with the same findings and places, the same facts and route,
 * and write the same payload, conversions and refusal, byte for byte. */
bool brenner_accept_pair_agree(struct brenner_accept_pair *both, struct parley_bytes text,
                               const struct parley_codec *codec);

/* Appends all that can be told of a checked message. */
void brenner_tell(struct parley_message *message, struct parley_buffer *out);
