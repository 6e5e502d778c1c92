/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From where on the log is read. A checkpoint that says up to which number it has the entries may
 * lack some that were stored long before it, so the stream is searched backwards, in steps that
 * grow: the first entry from a place on tells whether all before it are in the checkpoint, since
 * numbers grow (docs/adr/0033). */

#include "stored_checkpoint.h"

struct log_start {
    const struct checkpoint_scope *scope;
    const struct stored_checkpoint *checkpoint;
    /* `sequence`: of the stream; `error`: it cannot be found: half a sentence. */
    void (*done)(void *context, uint64_t sequence, const char *error);
    void *context;
    struct parley_message *message; /* to check entries with */

    /* Private. */
    uint64_t at, distance;
    size_t log;              /* that is being asked for */
    uint64_t found_sequence; /* of the first entry from there on; 0: none */
    int64_t found_number;
    struct jetstream_request *request;
};

/* Owns: the caller embeds it, and closes it. `done` comes in a later turn. */
void log_start_find(struct log_start *start);
void log_start_close(struct log_start *start);

/* Whether all entries before the first one, which has this number, are in a checkpoint that has
 * those up to `position`. */
bool log_start_is_before(int64_t first_number, int64_t position);
