/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The hooks of protocols whose messages are JSON (struct parley_protocol). */

#include <parley/message.h>

enum parley_status json_decode(struct parley_message *message, const struct parley_codec *codec);
enum parley_status json_validate(struct parley_message *message);
enum parley_status json_encode(struct parley_message *message, struct parley_buffer *out);
enum parley_status json_convert(struct parley_message *message, const struct parley_codec *to,
                                struct parley_buffer *out);

/* Decodes without json_accept.h: afterwards the text is known to be valid and the message's type is
 * known, or there is a GW finding. */
enum parley_status json_decode_carefully(struct parley_message *message) PARLEY_MUST_CHECK;

/* The first half of json_validate after json_decode_carefully: checks the rules. The findings have
 * offsets in message->text, but no positions yet. */
enum parley_status json_walk(struct parley_message *message) PARLEY_MUST_CHECK;

/* If members of protocol->stamps are absent, replaces message->text by a copy that has them, and
 * decodes it again. */
enum parley_status json_stamp(struct parley_message *message, const struct parley_codec *codec);
