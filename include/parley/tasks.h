/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Tasks, which one agent holds at a time, for protocols that have them: reads the facts of a task
 * (parley/facts.h). Pure, like all of a protocol. */

#include <stdbool.h>
#include <stdint.h>

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/status.h>

/* The facts of a task, each at a key of its own: it was requested, an agent holds it, it
 * has ended. */
enum parley_task_fact {
    PARLEY_TASK_REQUEST,
    PARLEY_TASK_CLAIM,
    PARLEY_TASK_END,
    PARLEY_TASK_FACTS
};

/* Texts whose data is NULL, and a sequence of 0, are not known.  Owns: borrowed from the values and
 * from the arena. */
struct parley_task {
    struct parley_bytes id, task, domain, from, to, holder, error, retry_of;
    struct parley_bytes requested_at, deadline, claimed_at, ended_at, retry_at; /* RFC 3339 */
    struct parley_bytes claim_id; /* of the message by which it was claimed */
    const char *state;            /* one of the kind's states, at the time that was given */
    unsigned priority;            /* index into protocol->priorities */
    bool has_priority, is_retryable, has_retryable;
    bool is_open;          /* it may be claimed, until … */
    int64_t open_until_ms; /* … this time, Unix time; INT64_MAX: it has none */
    int64_t retry_at_ms;   /* `retry_at`, Unix time; 0: not known */
    struct parley_bytes
        streams[PARLEY_TASK_FACTS]; /* where the messages are that the facts are of */
    uint64_t sequences[PARLEY_TASK_FACTS];
};

/* What an agent says of its work on a task. */
enum parley_task_report { PARLEY_TASK_PROGRESS, PARLEY_TASK_RESULT, PARLEY_TASK_FAILED };

struct parley_task_kind {
    const char *const *states; /* NULL-terminated */
    const char *requests;      /* below the protocol's first token: the subjects of requests */
    const char *lapsed;        /* the state of a task that was open until it was too late */

    /* Finds the task that a key of the facts is about, and the kind of fact.  Owns: `id` borrows
     * from the key.  Returns: false for a key of nothing. */
    bool (*key)(struct parley_bytes key, struct parley_bytes *id, enum parley_task_fact *fact);
    /* Appends the key of a fact, without a NUL.  `id` in any case.  Returns: false: it is no id. */
    bool (*write_key)(struct parley_bytes id, enum parley_task_fact fact,
                      struct parley_buffer *out);
    /* Reads the facts (data NULL if there is none, or if it cannot be read). Returns:
     * PARLEY_E_MEMORY. */
    enum parley_status (*read)(struct parley_bytes id,
                               const struct parley_bytes facts[PARLEY_TASK_FACTS], int64_t now_ms,
                               struct parley_arena *arena,
                               struct parley_task *out) PARLEY_MUST_CHECK;
    /* The domain to which a task of this name belongs. */
    struct parley_bytes (*domain)(struct parley_bytes task);
    /* Appends the message by which `agent` claims a task: `message_id` a UUID, `now` RFC 3339. */
    void (*write_claim)(struct parley_bytes agent, struct parley_bytes id, const char *message_id,
                        const char *now, struct parley_buffer *out);
    /* Appends the message by which `agent` reports on a task, without what `stamp` fills in.
     * `payload`: JSON. */
    void (*write_report)(enum parley_task_report report, struct parley_bytes agent,
                         struct parley_bytes id, struct parley_bytes payload,
                         struct parley_buffer *out);
};
