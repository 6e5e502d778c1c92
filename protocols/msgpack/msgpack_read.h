/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The readers of MessagePack: one that accepts what is right (msgpack_accept.c), one that tells of
 * what has no fault whoever wants to hear of it (msgpack_events.c), and one that finds faults
 * (msgpack_read.c). Private to these files. */

#include "walk.h"
#include "msgpack_message.h"
#include "msgpack_value.h"

/* ---- accept fast ---- */

enum msgpack_certainty {
    MSGPACK_UNSURE, /* whether it can be read at all */
    MSGPACK_WHOLE,  /* there is no fault in it; of rules, nobody knows */
    MSGPACK_RIGHT,  /* it keeps every rule, and deserves no warning */
};

/* One pass over a message that was reset. Unless unsure, message->type is the walk's; if the
 * message is right, so are the facts.  Owns: facts are borrowed from the text; the base64 texts of
 * `bin` live in the arena. Nothing else is allocated, unless a message has a great many keys. */
enum msgpack_certainty msgpack_accept(struct parley_message *message);

/* The same of a value that stands at `path` of a message in another encoding, in its inspection:
 * whether it is right is known but for the rules over several members. It leaves no facts. */
enum msgpack_certainty msgpack_accept_inside(struct parley_message *message,
                                             struct parley_bytes bytes, const char *path);

/* A `bin` as the rules see it.  Returns: data NULL without memory. */
struct parley_bytes msgpack_base64(struct parley_arena *arena, struct parley_bytes bytes);

/* ---- tell what is there ---- */

/* What a reader tells, in the order of the bytes. What is inside a value that nobody wants to hear
 * of is read, and not told. */
struct msgpack_events {
    void *context;
    /* An array or map begins, or a scalar is there.  Returns: whether to tell of what is inside. */
    bool (*value)(void *context, const struct msgpack_value *value);
    /* Returns: whether to tell of its value. */
    bool (*key)(void *context, struct parley_bytes key);
    /* An array or map ends that was told of. */
    void (*leave)(void *context, size_t count);
};

/* Tells of bytes that were read before and have no fault. */
void msgpack_tell(struct parley_bytes bytes, const struct msgpack_events *events);

/* ---- find faults ---- */

/* Reads one map that fills `bytes` wholly, and finds the first fault in the order of the bytes.
 * Owns: the fault's texts live in the arena. */
enum msgpack_result msgpack_find_fault(struct parley_bytes bytes, struct parley_arena *arena,
                                       struct msgpack_fault *out_fault);

/* A family of values, by their first byte. */
struct msgpack_family {
    const char *name;         /* "map 16" */
    unsigned char head_bytes; /* the first byte, and what follows it before a text or items */
};

struct msgpack_family msgpack_family_of(unsigned char first);
bool msgpack_is_string(unsigned char first);
bool msgpack_is_map(unsigned char first);
bool msgpack_is_container(unsigned char first);
bool msgpack_is_extension(unsigned char first);

/* What stands before a text, or before items and members. */
struct msgpack_head {
    const char *name; /* of its family */
    size_t bytes;
    size_t claim; /* of a str, bin, array or map: how much follows; 0 for others */
};

/* The head at `offset`. Its claim is read only where the head is whole. */
struct msgpack_head msgpack_head_of(struct parley_bytes bytes, size_t offset);
