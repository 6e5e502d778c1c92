/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The readers of MessagePack: one that accepts valid messages (msgpack_accept.c), one that reports
 * the content of bytes without faults as events (msgpack_events.c), and one that finds faults
 * (msgpack_read.c). Private to these files. */

#include "accept.h"
#include "msgpack_message.h"
#include "msgpack_value.h"

/* ---- accept fast ---- */

/* One pass over a message that was reset. Unless unsure, message->type is set as by the walk; if
 * no row is broken, the captures are, too.  Owns: captures are borrowed from the text; the base64
 * texts of `bin` are in the arena. Nothing else is allocated, unless a message has a great many
 * keys. */
enum accept_certainty msgpack_accept(struct parley_message *message);

/* The same for a value at `path` that is encoded in the message, during its inspection. The rules
 * over several members are not checked, and no captures are set. */
enum accept_certainty msgpack_accept_inside(struct parley_message *message,
                                            struct parley_bytes bytes, const char *path);

/* A `bin` as the rules see it.  Returns: data NULL without memory. */
struct parley_bytes msgpack_base64(struct parley_arena *arena, struct parley_bytes bytes);

/* ---- report the content ---- */

/* The events of a reader, in the order of the bytes. The content of a value is not reported if the
 * listener does not ask for it. */
struct msgpack_events {
    void *context;
    /* An array or map begins, or a scalar was read.  Returns: whether to report its content. */
    bool (*value)(void *context, const struct msgpack_value *value);
    /* Returns: whether to report its value. */
    bool (*key)(void *context, struct parley_bytes key);
    /* An array or map that was reported ends. */
    void (*leave)(void *context, size_t count);
};

/* Reports the content of bytes that are known to have no fault. */
void msgpack_visit(struct parley_bytes bytes, const struct msgpack_events *events);

/* ---- find faults ---- */

/* Reads one map that must fill `bytes`, and finds the first fault.
 * Owns: the fault's texts are in the arena. */
enum msgpack_result msgpack_find_fault(struct parley_bytes bytes, struct parley_arena *arena,
                                       struct msgpack_fault *out_fault);

/* A format of values, by their first byte. */
struct msgpack_family {
    const char *name;         /* "map 16" */
    unsigned char head_bytes; /* the first byte, and the bytes between it and a text or items */
};

struct msgpack_family msgpack_family_of(unsigned char first);
bool msgpack_is_string(unsigned char first);
bool msgpack_is_map(unsigned char first);
bool msgpack_is_container(unsigned char first);
bool msgpack_is_extension(unsigned char first);

/* The bytes before a text, or before items and members. */
struct msgpack_head {
    const char *name; /* of its family */
    size_t bytes;
    size_t claim; /* of a str, bin, array or map: the length or count; 0 for others */
};

/* The head at `offset`. Its claim is read only if the head is complete. */
struct msgpack_head msgpack_head_of(struct parley_bytes bytes, size_t offset);
