/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One stored checkpoint: its payload, checked, and where its state is. */

#include "checkpoint_scope.h"

struct stored_checkpoint {
    char id[STORED_ID_SIZE];
    bool has_object;   /* the header says that its state is an object */
    uint64_t sequence; /* in its stream */
    uint64_t begun;    /* messages stored after this sequence may not be in it */
    struct parley_buffer payload;
    struct budget_share share;
    /* Once it was checked. */
    bool is_valid;
    size_t state_start, state_end; /* in the payload */
    struct object_pointer pointer; /* has_object: to its state; its texts are in the arena */
    struct parley_checkpoint says;
    struct parley_arena arena;
};

enum stored_checkpoint_taken {
    STORED_CHECKPOINT_TAKEN,
    STORED_CHECKPOINT_NO_CHECKPOINT, /* it is none of this agent's */
    STORED_CHECKPOINT_NO_ROOM,       /* within --gather-max */
    STORED_CHECKPOINT_NO_MEMORY,
};

void stored_checkpoint_init(struct stored_checkpoint *checkpoint);
void stored_checkpoint_finish(struct stored_checkpoint *checkpoint,
                              const struct checkpoints *checkpoints);

/* Keeps a message that was found.  Copies it. */
enum stored_checkpoint_taken stored_checkpoint_take(struct stored_checkpoint *checkpoint,
                                                    const struct checkpoint_scope *scope,
                                                    const struct jetstream_held *held);
/* Checks it: sets is_valid and the members below it.  Threads: any. */
enum parley_status stored_checkpoint_check(struct stored_checkpoint *checkpoint,
                                           const struct checkpoint_scope *scope) PARLEY_MUST_CHECK;

/* The value of its header OBJECT_BEGUN_HEADER (NULL if it has none), if it is possible: the
 * sequence after which messages may not be in a checkpoint that was stored as `sequence`. */
uint64_t stored_checkpoint_begun(const char *header, uint64_t sequence);
