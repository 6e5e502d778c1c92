/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The hooks of protocols whose messages are JSON (struct parley_protocol). */

#include <parley/message.h>

enum parley_status json_decode(struct parley_message *message, const struct parley_codec *codec);
enum parley_status json_validate(struct parley_message *message);
enum parley_status json_encode(struct parley_message *message, struct parley_buffer *out);
enum parley_status json_convert(struct parley_message *message, const struct parley_codec *to,
                                struct parley_buffer *out);

/* A text over this gets no tree, unless its protocol needs one. */
#define JSON_TREE_BYTES_MAX (64u << 10)

/* The careful way to decode, whatever fast.h says of the message: afterwards there is a tree. */
enum parley_status json_load(struct parley_message *message) PARLEY_MUST_CHECK;

/* The first half of json_validate: asks the rules by the tree, so that findings have no place. */
enum parley_status json_walk(struct parley_message *message) PARLEY_MUST_CHECK;

/* Replaces message->text by a copy in which absent members of protocol->stamps are filled, and
 * decodes it again, if anything is absent. */
enum parley_status json_stamp(struct parley_message *message, const struct parley_codec *codec);
