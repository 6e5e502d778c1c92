/* SPDX-License-Identifier: Apache-2.0 */

/* Keys as a stack, and an open-addressed table over those of large objects. Nothing is ever taken
 * out of the table: a slot counts only while its entry is on the stack and names the slot. Keys
 * leave in the reverse of the order in which they came, so that no probe sequence is cut. */

#include "key_set.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include <sodium.h>

#define NO_SLOT UINT32_MAX
/* Set in the offset of a key that lies in `copies`. */
#define COPIED (UINT32_C(1) << 31)

void key_set_init(struct key_set *set, struct parley_bytes text) {
    set->text = text;
    parley_buffer_init(&set->copies);
    set->entries = set->few;
    set->count = 0;
    set->capacity = KEY_SET_INLINE;
    set->slots = NULL;
    set->slot_count = set->hashed_count = 0;
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

/* SipHash under the 16 random bytes that the kernel gives each process. */
static uint64_t hash_of(struct parley_bytes key) {
    _Static_assert(crypto_shorthash_KEYBYTES == 16, "AT_RANDOM is 16 bytes");
    uint64_t hash;
    const unsigned char *seed = (const unsigned char *)getauxval(AT_RANDOM);
    crypto_shorthash((unsigned char *)&hash, (const unsigned char *)key.data, key.length, seed);
    return hash;
}

static bool is_in_use(const struct key_set *set, size_t slot) {
    const uint32_t number = set->slots[slot];
    return number < set->count && set->entries[number].slot == slot;
}

/* The slot where `key` is, or would be, among the keys from number `first` on. */
static size_t find_slot(const struct key_set *set, struct parley_bytes key, size_t first,
                        bool *out_is_there) {
    size_t slot = hash_of(key) & (set->slot_count - 1);
    for (; is_in_use(set, slot); slot = (slot + 1) & (set->slot_count - 1)) {
        const uint32_t number = set->slots[slot];
        if (number >= first && parley_bytes_equal(key_of(set, &set->entries[number]), key)) {
            *out_is_there = true;
            return slot;
        }
    }
    *out_is_there = false;
    return slot;
}

static void put(struct key_set *set, size_t number, size_t slot) {
    set->slots[slot] = (uint32_t)number;
    set->entries[number].slot = (uint32_t)slot;
    set->hashed_count++;
}

/* Puts entries that are known to differ from one another into the table. */
static void put_all(struct key_set *set, size_t first, size_t end) {
    for (size_t number = first; number < end; number++) {
        bool is_there;
        put(set, number, find_slot(set, key_of(set, &set->entries[number]), number, &is_there));
    }
}

/* A larger table, filled anew with the keys of all open objects that are hashed. */
static bool grow_table(struct key_set *set, size_t wanted_count) {
    size_t slot_count = set->slot_count == 0 ? (size_t)KEY_SET_FEW * 4 : set->slot_count;
    while (wanted_count > slot_count / 2) {
        slot_count *= 2;
    }
    free(set->slots); /* before, so that there are never two */
    set->slots = calloc(slot_count, sizeof *set->slots);
    set->slot_count = set->slots != NULL ? slot_count : 0;
    set->hashed_count = 0;
    for (size_t number = 0; number < set->count; number++) {
        set->entries[number].slot = NO_SLOT;
    }
    for (size_t i = 0; set->slots != NULL && i < set->depth; i++) {
        if (set->levels[i].is_hashed) {
            const bool is_last = i + 1 == set->depth;
            put_all(set, set->levels[i].first, is_last ? set->count : set->levels[i + 1].first);
        }
    }
    return set->slots != NULL;
}

static bool make_room(struct key_set *set, size_t more) {
    return set->hashed_count + more <= set->slot_count / 2 ||
           grow_table(set, set->hashed_count + more);
}

/* ---- adding ---- */

static bool make_entry(struct key_set *set, struct parley_bytes key) {
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
                               .slot = NO_SLOT};
    return !set->copies.has_failed && offset + key.length < COPIED;
}

static enum key_set_result add_to_few(struct key_set *set, struct parley_bytes key, size_t first) {
    for (size_t number = first; number < set->count; number++) {
        if (parley_bytes_equal(key_of(set, &set->entries[number]), key)) {
            return KEY_SET_REPEATED;
        }
    }
    if (!make_entry(set, key)) {
        return KEY_SET_MEMORY;
    }
    set->count++;
    return KEY_SET_NEW;
}

enum key_set_result key_set_add(struct key_set *set, struct parley_bytes key) {
    assert(set->depth > 0);
    const size_t level = set->depth - 1, first = set->levels[level].first;
    const size_t count = set->count - first;
    if (count < KEY_SET_FEW) {
        return add_to_few(set, key, first);
    }
    const bool is_hashed = set->levels[level].is_hashed;
    if (!make_room(set, is_hashed ? 1 : count + 1)) {
        return KEY_SET_MEMORY;
    }
    if (!is_hashed) {
        put_all(set, first, set->count);
        set->levels[level].is_hashed = true;
    }
    bool is_there;
    const size_t slot = find_slot(set, key, first, &is_there);
    if (is_there) {
        return KEY_SET_REPEATED;
    }
    if (!make_entry(set, key)) {
        return KEY_SET_MEMORY;
    }
    put(set, set->count, slot);
    set->count++;
    return KEY_SET_NEW;
}
