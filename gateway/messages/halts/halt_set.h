/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The halts of one protocol that this process knows: those of the bucket, and those whose keys are
 * being written. One set is shared by all workers. A message touches it only where something is
 * halted, or the bucket cannot be read: else it reads one number.
 *
 * A halt, by its key:
 *
 *   (none)   ──▶ LATCHING  a message that halts was read: its key is being written
 *   LATCHING ──▶ OPEN      the key is stored
 *   LATCHING ──▶ (none)    it is not: its sender has to send the message again
 *   any      ──▶ OPEN, RELEASED, (none)   as the bucket says, which is read in order
 *
 * Threads: any, for all functions. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "change_log.h"
#include "halt_value.h"

struct halt_set;

enum {
    HALTS_OPEN_MAX = 32768,               /* more cannot be latched */
    HALTS_SHARE_MAX = HALTS_OPEN_MAX / 4, /* nor more of one sender (halt_value_owner) */
    HALTS_RELEASED_MAX = 65536, /* of more, the oldest are forgotten, and halt again if repeated */
    HALTS_RELEASED_SHOWN = 100, /* of these, the last released, the values are kept, too */
};

/* `protocol`: its name, for the log; borrowed. */
enum parley_status halt_set_create(const char *protocol, struct halt_set **out);
void halt_set_destroy(struct halt_set *set);

/* ---- messages ---- */

/* Nothing is halted, and the bucket is read: every message passes. */
bool halt_set_is_idle(const struct halt_set *set);

enum halt_answer {
    HALT_CLEAR,
    HALT_HALTED,
    HALT_BLIND, /* the bucket cannot be read, or holds more halts than can be kept */
};
/* Whether a conversation is halted.  `out_value`: the value of one of its halts, if that is known,
 * is appended; NULL: it is not wanted. */
enum halt_answer halt_set_ask(struct halt_set *set, const char *conversation,
                              struct parley_buffer *out_value);

enum halt_known {
    HALT_UNKNOWN, /* or its key is being written */
    HALT_OPEN,
    HALT_RELEASED, /* it no longer halts anything */
};
/* The state of one halt. */
enum halt_known halt_set_look_up(struct halt_set *set, const char *key);

enum halt_latch {
    HALT_LATCH_WRITE, /* write its key, then call halt_set_latched or halt_set_unlatch */
    HALT_LATCH_KNOWN, /* its key has been written, and may be released */
    HALT_LATCH_FULL,
    HALT_LATCH_SHARE_FULL, /* this sender has made too many */
    HALT_LATCH_NO_MEMORY,
};
/* Halts the conversation of `key` from now on, unless this very halt was released. Where there is
 * no room, that is logged and counted. */
enum halt_latch halt_set_latch(struct halt_set *set, const char *key, struct parley_bytes value);
/* The key is stored, at `sequence`; 0: it was stored before. */
void halt_set_latched(struct halt_set *set, const char *key, uint64_t sequence);
/* It is not, or that is not known: then the bucket will say. */
void halt_set_unlatch(struct halt_set *set, const char *key);

/* ---- the bucket ---- */

/* Begins a new reading: drops the entries of the last one. */
void halt_set_begin(struct halt_set *set);
/* `value`: data NULL: the key was deleted.  `seconds`: when it was stored, Unix time. */
void halt_set_read(struct halt_set *set, struct parley_bytes key, struct parley_bytes value,
                   uint64_t sequence, int64_t seconds);
/* Whether all its entries were read, and new ones come at once. At first this is false. */
void halt_set_see(struct halt_set *set, bool is_seen);
/* It was seen at least once. */
bool halt_set_was_seen(const struct halt_set *set);
bool halt_set_is_seen(const struct halt_set *set);

/* ---- people ---- */

size_t halt_set_open_count(const struct halt_set *set);
/* How often there was no room for a halt. */
uint64_t halt_set_refused_count(const struct halt_set *set);
enum halt_room {
    HALT_HAS_ROOM,
    HALT_SHARE_IS_FULL, /* at least one sender can halt nothing more */
    HALT_SET_IS_FULL,   /* no sender can */
};
enum halt_room halt_set_room(struct halt_set *set);
/* Calls `each` with halts that are open, `value` data NULL where it is not known, until that
 * returns false. It must not call the set.  `conversation` NULL: all. */
void halt_set_each(struct halt_set *set, const char *conversation,
                   bool (*each)(void *context, const char *key, struct parley_bytes value),
                   void *context);
/* The same with those of the last HALTS_RELEASED_SHOWN that were released, the newest first. */
void halt_set_each_released(struct halt_set *set, const char *conversation,
                            bool (*each)(void *context, const char *key, struct parley_bytes value),
                            void *context);
/* Forgets a halt that was released before that time, and gives its key, so that it can be purged
 * from the bucket.  Returns: false: there is none. */
bool halt_set_expire(struct halt_set *set, int64_t before_seconds, char out[HALT_KEY_LENGTH + 1]);

/* ---- following ---- */

/* The order in which halts changed; its lock is that of the set.  Owns: borrowed. */
struct change_log *halt_set_changes(struct halt_set *set);
/* With the lock: all is known that the log is about. */
bool halt_set_is_whole(const struct halt_set *set);
/* With the lock: what an item of the log is now.  Owns: borrowed from the set. */
struct halt_change {
    const char *key;
    struct parley_bytes value; /* data NULL: not known */
    bool is_open;              /* halt_set_each has it */
    bool is_released;          /* halt_set_each_released has it */
};
struct halt_change halt_set_changed(const struct change *change);
