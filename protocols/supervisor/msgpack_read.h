/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One pass over MessagePack for whoever wants to hear of it: the rules (msgpack.h), and the writer
 * of JSON. Private to these files. */

#include "../engine/key_set.h"
#include "msgpack.h"

/* A value as it lies in the bytes. Of a PARLEY_STRING `value.text` are those bytes. */
struct msgpack_value {
    struct parley_value value;
    bool is_integer; /* of a number: it is exactly `integer` */
    bool is_binary;  /* of a string: it is a `bin` */
    int64_t integer;
};

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

/* `keys`: made for these bytes, and empty; NULL: the bytes were read before and had no fault, and
 * keys and texts are not looked at again. `events` NULL: only look for faults.
 * Owns: the fault's texts live in the arena. */
enum msgpack_result msgpack_read_events(struct parley_bytes bytes,
                                        const struct msgpack_events *events, struct key_set *keys,
                                        struct parley_arena *arena,
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
