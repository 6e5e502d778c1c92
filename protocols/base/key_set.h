/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds duplicate keys of objects while a text is read. Objects nest: at the end of an inner object
 * its keys are dropped, at no cost, and the outer one continues. Memory is proportional to the keys
 * of the open objects: 12 bytes per key, and up to 16 more in large objects; none is allocated for
 * a few keys. Large objects are hashed with a seed of the process, so that an attacker cannot
 * choose keys that collide. */

#include <stdbool.h>
#include <stdint.h>

#include <parley/buffer.h>

enum {
    KEY_SET_DEPTH_MAX = 64, /* nesting of objects */
    KEY_SET_FEW = 16,       /* up to so many keys of an object are compared one by one */
    KEY_SET_INLINE = 32,    /* so many keys of all open objects need no allocation */
};

struct key_set_entry {
    uint32_t offset; /* in the text, or in `copies` */
    uint32_t length;
    uint32_t hash; /* valid valid once its object has more than a few keys */
};

/* Private; public only to be embedded. */
struct key_set {
    struct parley_bytes text;
    struct parley_buffer copies; /* keys that have escapes in the text */
    struct key_set_entry few[KEY_SET_INLINE];
    struct key_set_entry *entries; /* of all open objects, the outer ones first */
    size_t count, capacity;
    uint32_t *slots; /* may be stale: checked against the entries */
    size_t slot_count, taken_count;
    size_t hashed_count; /* entries of open objects that are in the table */
    struct {
        size_t first, copied_bytes;
        bool is_hashed;
    } levels[KEY_SET_DEPTH_MAX];
    size_t depth;
};

enum key_set_result { KEY_SET_NEW, KEY_SET_REPEATED, KEY_SET_MEMORY };

/* `text` contains most keys.  Owns: `text` is borrowed and must outlive the set. */
void key_set_init(struct key_set *set, struct parley_bytes text);
void key_set_finish(struct key_set *set);

/* An object begins, inside the current one. */
void key_set_enter(struct key_set *set);

/* Adds a key to the current object. A key outside `text` is copied. */
enum key_set_result key_set_add(struct key_set *set, struct parley_bytes key);

/* The current object ends. */
void key_set_leave(struct key_set *set);
