/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds a key that stands twice in one object while a text is read. Objects nest: the keys of the
 * inner one are forgotten at its end, at no cost, and the outer one goes on. Memory is in
 * proportion to the keys of the objects that are open, 12 bytes a key and up to 16 more for large
 * objects; none is allocated while they have no more than a few. Long objects are hashed, with a
 * seed that is the process's own, so that nobody can choose keys that collide. */

#include <stdbool.h>
#include <stdint.h>

#include <parley/buffer.h>

enum {
    KEY_SET_DEPTH_MAX = 64, /* objects within one another */
    KEY_SET_FEW = 16,       /* so many keys of one object are compared one by one */
    KEY_SET_INLINE = 32,    /* so many of all open objects need no allocation */
};

struct key_set_entry {
    uint32_t offset; /* in the text, or in `copies` */
    uint32_t length;
    uint32_t hash; /* once its object has more than a few keys */
};

/* Private; public only to be embedded. */
struct key_set {
    struct parley_bytes text;
    struct parley_buffer copies; /* keys that stand in the text with escapes */
    struct key_set_entry few[KEY_SET_INLINE];
    struct key_set_entry *entries; /* of all open objects, the outer ones first */
    size_t count, capacity;
    uint32_t *slots; /* what is in them was true once, and is asked of the entries */
    size_t slot_count, taken_count;
    size_t hashed_count; /* entries of open objects that are in the table */
    struct {
        size_t first, copied_bytes;
        bool is_hashed;
    } levels[KEY_SET_DEPTH_MAX];
    size_t depth;
};

enum key_set_result { KEY_SET_NEW, KEY_SET_REPEATED, KEY_SET_MEMORY };

/* `text`: in which most keys lie.  Owns: text is borrowed, and must outlive the set. */
void key_set_init(struct key_set *set, struct parley_bytes text);
void key_set_finish(struct key_set *set);

/* An object begins, inside the present one. */
void key_set_enter(struct key_set *set);

/* Puts the next key into the present object. One that does not lie in the text is copied. */
enum key_set_result key_set_add(struct key_set *set, struct parley_bytes key);

/* The present object ends. */
void key_set_leave(struct key_set *set);
