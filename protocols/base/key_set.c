/* SPDX-License-Identifier: Apache-2.0 */

/* Keys as a stack, and an open-addressed table over those of large objects. Nothing is removed from
 * the table: a slot only says where to look. The slot of a dropped key stays, and at worst refers
 * to a later one; when the table is full, it is rebuilt. */

#include "key_set.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include <sodium.h>

/* Set in the offset of a key that is in `copies`. */
#define COPIED (UINT32_C(1) << 31)
/* A slot: the number of a key plus one, or 0 if it was never used; and above it some bits of the
 * hash, so that few other keys, which are far away in memory, need to be compared. */
#define NUMBER_BITS 26
#define NUMBER_END ((UINT32_C(1) << NUMBER_BITS) - 1)

void key_set_init(struct key_set *set, struct parley_bytes text) {
    set->text = text;
    parley_buffer_init(&set->copies);
    set->entries = set->few;
    set->count = 0;
    set->capacity = KEY_SET_INLINE;
    set->slots = NULL;
    set->slot_count = set->taken_count = set->hashed_count = 0;
    set->depth = 0;
}

void key_set_finish(struct key_set *set) {
    if (set->entries != set->few) {
        free(set->entries);
    }
    free(set->slots);
    parley_buffer_finish(&set->copies);
}

static struct parley_bytes key_of(const struct key_set *set, const struct key_set_entry *entry) {
    const bool is_copied = (entry->offset & COPIED) != 0;
    const char *base = is_copied ? set->copies.data : set->text.data;
    return (struct parley_bytes){base + (entry->offset & ~COPIED), entry->length};
}

void key_set_enter(struct key_set *set) {
    assert(set->depth < KEY_SET_DEPTH_MAX);
    set->levels[set->depth].first = set->count;
    set->levels[set->depth].copied_bytes = set->copies.length;
    set->levels[set->depth].is_hashed = false;
    set->depth++;
}

void key_set_leave(struct key_set *set) {
    assert(set->depth > 0);
    set->depth--;
    if (set->levels[set->depth].is_hashed) {
        set->hashed_count -= set->count - set->levels[set->depth].first;
    }
    set->count = set->levels[set->depth].first;
    set->copies.length = set->levels[set->depth].copied_bytes;
}

/* ---- the table ---- */

/* SipHash with the 16 random bytes that the kernel gives each process. */
static uint32_t hash_of(struct parley_bytes key) {
    _Static_assert(crypto_shorthash_KEYBYTES == 16, "AT_RANDOM is 16 bytes");
    uint64_t hash;
    const unsigned char *seed = (const unsigned char *)getauxval(AT_RANDOM);
    crypto_shorthash((unsigned char *)&hash, (const unsigned char *)key.data, key.length, seed);
    return (uint32_t)hash;
}

static uint32_t slot_of(size_t number, uint32_t hash) {
    return (uint32_t)(number + 1) | (hash & ~NUMBER_END);
}

/* Whether a slot refers to `key` in the current object. */
static bool names(const struct key_set *set, uint32_t slot, struct parley_bytes key, uint32_t hash,
                  size_t first) {
    if ((slot & ~NUMBER_END) != (hash & ~NUMBER_END)) {
        return false;
    }
    const size_t number = (slot & NUMBER_END) - 1;
    return number >= first && number < set->count &&
           parley_bytes_equal(key_of(set, &set->entries[number]), key);
}

/* The free slot for `key`; SIZE_MAX: the key is there already, among the keys from number `first`
 * on.
 *  */
static size_t find_slot(const struct key_set *set, struct parley_bytes key, uint32_t hash,
                        size_t first) {
    size_t slot = hash & (set->slot_count - 1);
    for (; set->slots[slot] != 0; slot = (slot + 1) & (set->slot_count - 1)) {
        if (names(set, set->slots[slot], key, hash, first)) {
            return SIZE_MAX;
        }
    }
    return slot;
}

/* Adds keys that are known to be distinct to the table. */
static void put_all(struct key_set *set, size_t first, size_t end) {
    for (size_t number = first; number < end; number++) {
        const uint32_t hash = set->entries[number].hash;
        size_t slot = hash & (set->slot_count - 1);
        while (set->slots[slot] != 0) {
            slot = (slot + 1) & (set->slot_count - 1);
        }
        set->slots[slot] = slot_of(number, hash);
    }
    set->taken_count += end - first;
}

/* Builds a table with room for `needed_count` keys, and fills it with the keys of all open objects
 * that are hashed. */
static bool make_table(struct key_set *set, size_t needed_count) {
    size_t slot_count = set->slot_count == 0 ? (size_t)KEY_SET_FEW * 4 : set->slot_count;
    while (needed_count > slot_count / 2) {
        slot_count *= 2;
    }
    free(set->slots); /* before, so that there are never two */
    set->slots = calloc(slot_count, sizeof *set->slots);
    set->slot_count = set->slots != NULL ? slot_count : 0;
    set->taken_count = 0;
    for (size_t i = 0; set->slots != NULL && i < set->depth; i++) {
        if (set->levels[i].is_hashed) {
            const bool is_last = i + 1 == set->depth;
            put_all(set, set->levels[i].first, is_last ? set->count : set->levels[i + 1].first);
        }
    }
    return set->slots != NULL;
}

static bool make_room(struct key_set *set, size_t more) {
    return set->taken_count + more <= set->slot_count / 4 * 3 ||
           make_table(set, set->hashed_count + more);
}

/* ---- adding ---- */

static bool make_entry(struct key_set *set, struct parley_bytes key, uint32_t hash) {
    if (set->count == set->capacity) {
        struct key_set_entry *old = set->entries == set->few ? NULL : set->entries;
        struct key_set_entry *entries = realloc(old, set->capacity * 2 * sizeof *entries);
        if (entries == NULL) {
            return false;
        }
        if (old == NULL) {
            memcpy(entries, set->few, sizeof set->few);
        }
        set->entries = entries;
        set->capacity *= 2;
    }
    const uintptr_t at = (uintptr_t)key.data, start = (uintptr_t)set->text.data;
    const bool is_copied = at < start || at > start + set->text.length;
    const size_t offset = is_copied ? set->copies.length : at - start;
    if (is_copied) {
        parley_buffer_append(&set->copies, key);
    }
    set->entries[set->count] =
        (struct key_set_entry){.offset = (uint32_t)offset | (is_copied ? COPIED : 0),
                               .length = (uint32_t)key.length,
                               .hash = hash};
    return !set->copies.has_failed && offset + key.length < COPIED && set->count < NUMBER_END - 1;
}

static enum key_set_result add_to_few(struct key_set *set, struct parley_bytes key, size_t first) {
    for (size_t number = first; number < set->count; number++) {
        if (parley_bytes_equal(key_of(set, &set->entries[number]), key)) {
            return KEY_SET_REPEATED;
        }
    }
    if (!make_entry(set, key, 0)) {
        return KEY_SET_MEMORY;
    }
    set->count++;
    return KEY_SET_NEW;
}

/* The current object is no longer small. */
static bool hash_few(struct key_set *set, size_t first) {
    const size_t count = set->count - first;
    for (size_t number = first; number < set->count; number++) {
        set->entries[number].hash = hash_of(key_of(set, &set->entries[number]));
    }
    if (!make_room(set, count + 1)) {
        return false;
    }
    put_all(set, first, set->count);
    set->hashed_count += count;
    set->levels[set->depth - 1].is_hashed = true;
    return true;
}

enum key_set_result key_set_add(struct key_set *set, struct parley_bytes key) {
    assert(set->depth > 0);
    const size_t first = set->levels[set->depth - 1].first;
    if (set->count - first < KEY_SET_FEW) {
        return add_to_few(set, key, first);
    }
    const bool has_room =
        set->levels[set->depth - 1].is_hashed ? make_room(set, 1) : hash_few(set, first);
    if (!has_room) {
        return KEY_SET_MEMORY;
    }
    const uint32_t hash = hash_of(key);
    const size_t slot = find_slot(set, key, hash, first);
    if (slot == SIZE_MAX) {
        return KEY_SET_REPEATED;
    }
    if (!make_entry(set, key, hash)) {
        return KEY_SET_MEMORY;
    }
    set->slots[slot] = slot_of(set->count, hash);
    set->count++;
    set->taken_count++;
    set->hashed_count++;
    return KEY_SET_NEW;
}
