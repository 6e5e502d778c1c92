/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* MessagePack, read and written. parley's own reader accepts valid messages; msgpack-c's explains
 * faults, and its packer writes. No tree is built, no count in the input is trusted, and nesting is
 * limited to 64. */

#include "walk.h"

struct msgpack_fault {
    enum parley_gateway_rule rule;
    size_t offset;
    const char *message; /* static, or in the arena */
    const char *hint;    /* NULL: the rule's */
    const char *path;    /* of GW-003 and GW-004, in the arena; "" otherwise */
};

enum msgpack_result { MSGPACK_READ, MSGPACK_FAULT, MSGPACK_MEMORY };

/* Reads one map that fills `bytes`, and drives a walk that has begun inside, if a rule is broken;
 * or finds the first fault (docs/rules.md#gw, docs/protocols/supervisor.md#framing). To the walk a
 * `bin` is a string: its base64 text.
 * Owns: base64 texts and the fault's path are in the arena, other strings in `bytes`. */
enum msgpack_result msgpack_read_inside(struct parley_bytes bytes, struct walk *walk,
                                        struct parley_arena *arena,
                                        struct msgpack_fault *out_fault);

/* Whether a body with these first bytes is a MessagePack map rather than JSON or frames. */
bool msgpack_begins(struct parley_bytes head);

/* The hooks for messages sent as MessagePack (struct parley_protocol): message->text is the bytes.
 * Stamping inserts absent members at the front. */
enum parley_status msgpack_decode(struct parley_message *message, const struct parley_codec *codec);
enum parley_status msgpack_validate(struct parley_message *message);
enum parley_status msgpack_stamp(struct parley_message *message, const struct parley_codec *codec);
/* One line of JSON straight from the bytes: integers exactly, floats in the shortest form that
 * reads back the same (with a point or an exponent, so that they stay floats), `bin` as base64. */
enum parley_status msgpack_encode(struct parley_message *message, struct parley_buffer *out);
/* The same of one map that fills `bytes`, and may have faults.  `arena`: for what reading needs.
 * Returns: PARLEY_E_UNSUPPORTED: it has one; nothing is appended. */
enum parley_status msgpack_append_json(struct parley_bytes bytes, struct parley_arena *arena,
                                       struct parley_buffer *out);

/* ---- from JSON ---- */

/* Appends the shortest MessagePack of a JSON message's text (message->text, decoded): integers in
 * their shortest form, other numbers as float 32 where that reads back the same, else float 64. */
enum parley_status msgpack_from_json(struct parley_message *message, struct parley_buffer *out);
/* The same of any JSON (struct parley_codec). */
enum parley_status msgpack_from_text(struct parley_bytes json, struct parley_buffer *out);
/* The number of bytes of that of a message, without writing them. */
enum parley_status msgpack_size_from_json(struct parley_message *message, size_t *out);
