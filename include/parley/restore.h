/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The restore of an agent that has crashed: the last checkpoint of its state and the log entries
 * after it, composed into one message to it. The gateway reads the stream and copies the state; a
 * protocol that has this reads its messages with pure functions. */

#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/status.h>

struct parley_message;

#define PARLEY_RESTORE_LOGS_MAX 4
#define PARLEY_LOG_HOLES_MAX 100

/* Numbers of entries that follow each other.  first <= last, both more than INT64_MIN and less than
 * INT64_MAX */
struct parley_log_run {
    int64_t first, last;
};

/* The gaps of a log.  Owns: borrowed. */
struct parley_log_gaps {
    const struct parley_log_run *runs; /* in the order of their numbers */
    size_t count;
    bool has_more; /* there may be more, after these */
};

/* The members of a checkpoint that describe it. */
struct parley_checkpoint {
    bool has_position; /* it has the log's entries up to the number `position`, and no other */
    int64_t position;
    bool is_packed; /* its state must be unpacked for a restore: see unpack */
};

struct parley_restore {
    /* Subjects below the first token, `*` in place of the agent. */
    const char *checkpoint;  /* "*.checkpoint" */
    const char *const *logs; /* NULL-terminated, at most PARLEY_RESTORE_LOGS_MAX: of entries */

    /* Reads a checkpoint that was decoded. Its state, the member that parley_objects names, may be
     * a pointer. */
    enum parley_status (*read)(struct parley_message *checkpoint, struct parley_checkpoint *out);
    /* Appends the JSON of the state that is packed in `state`, the member's JSON.
     * Returns: PARLEY_E_UNSUPPORTED: it cannot be unpacked. */
    enum parley_status (*unpack)(struct parley_bytes state, struct parley_buffer *out);
    /* The number of the first entry in a valid message of the log. */
    enum parley_status (*first_number)(struct parley_message *entries, int64_t *out);
    /* Appends its entries, those that `after` (NULL: any) does not have, each as JSON with a comma
     * in front, and to `out_runs` their numbers, as struct parley_log_run, in their order. */
    enum parley_status (*append)(struct parley_message *entries,
                                 const struct parley_checkpoint *after, struct parley_buffer *out,
                                 struct parley_buffer *out_runs);
    /* The message, as JSON: what `begin` appends, the state, `between`, the entries with a comma
     * between two, what `end` appends.  `id`: the checkpoint's. */
    void (*begin)(const char *id, int64_t now_seconds, struct parley_buffer *out);
    const char *between;
    void (*end)(const struct parley_log_gaps *missing, struct parley_buffer *out);
};
