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

struct parley_decision;
struct parley_known_facts;
struct parley_option;
union parley_option_value;

/* The facts of a task, each at a key of its own: it was requested, an agent claimed it first, who
 * holds it since (a series, parley/facts.h), it has ended; and, once it is known by one of these,
 * which request tries it again. */
enum parley_task_fact {
    PARLEY_TASK_REQUEST,
    PARLEY_TASK_CLAIM,
    PARLEY_TASK_TURN,
    PARLEY_TASK_END,
    PARLEY_TASK_RETRY_KEY,
    PARLEY_TASK_FACTS
};
#define PARLEY_TASK_KNOWN_BY PARLEY_TASK_RETRY_KEY /* the facts before it */

/* What happens to a task by the clock alone: nothing is stored at that moment. */
enum parley_task_moment {
    PARLEY_TASK_NO_MOMENT,
    PARLEY_TASK_EXPIRES, /* no agent has claimed it in time */
    PARLEY_TASK_LAPSES,  /* its holder has not been heard of for so long that others may claim it */
};

/* Texts whose data is NULL, and a sequence of 0, are not known.  Owns: borrowed from the values and
 * from the arena. */
struct parley_task {
    struct parley_bytes id, task, domain, from, to, holder, error, retry_of, retried_by;
    struct parley_bytes requested_at, deadline, claimed_at, ended_at, retry_at; /* RFC 3339 */
    struct parley_bytes until;      /* RFC 3339: after it another agent may claim it */
    struct parley_bytes not_before; /* … before which no agent may, though none holds it */
    struct parley_bytes claim_id;   /* of the message by which it was claimed */
    struct parley_bytes progress; /* an object of write_note, which the reader of the facts adds */
    const char *state;            /* one of the kind's states, at the time that was given */
    unsigned priority;            /* index into protocol->priorities */
    bool has_priority, is_retryable, has_retryable;
    uint64_t turn;         /* the number of its last turn; 0: there is none */
    uint64_t attempt;      /* how often it was claimed; 0: never */
    uint64_t attempts_max; /* … and how often it may be; 0: as the operator says */
    bool has_lapsed;       /* `until` has passed: its holder was not heard of */
    int64_t opens_at_ms;   /* it opens then by itself, Unix time; 0: it is open, or does not */
    bool is_open;          /* it may be claimed, until … */
    int64_t open_until_ms; /* … this time, Unix time; INT64_MAX: it has none */
    int64_t retry_at_ms;   /* `retry_at`, Unix time; 0: not known */
    enum parley_task_moment moment; /* the next one, or the last; none of a task that has ended */
    int64_t moment_ms;              /* … when that is, Unix time */
    struct parley_bytes
        streams[PARLEY_TASK_FACTS]; /* where the messages are that the facts are of */
    uint64_t sequences[PARLEY_TASK_FACTS];
};

/* What an agent says of its work on a task. */
enum parley_task_report { PARLEY_TASK_PROGRESS, PARLEY_TASK_RESULT, PARLEY_TASK_FAILED };

/* What an agent asks for without a message: the task that it holds for longer, or to give it back;
 * what it requested to be ended, or requested again.  Owns: everything is borrowed. */
struct parley_task_change {
    enum parley_task_change_kind {
        PARLEY_TASK_EXTEND,
        PARLEY_TASK_RELEASE,
        PARLEY_TASK_CANCEL,
        PARLEY_TASK_RETRY,
    } kind;
    struct parley_bytes id, agent;
    bool may_any;            /* the agent may cancel and retry what others requested */
    struct parley_bytes why; /* of a release or a cancellation; data NULL: it is not said */
    int64_t seconds;         /* for how long it is held, or not given out; -1: as usual */
    int64_t now_seconds;     /* Unix time */
    const struct parley_known_facts *known;   /* values by parley_task_kind.places */
    const union parley_option_value *options; /* of the protocol */
};

struct parley_task_kind {
    const char *const *states; /* NULL-terminated */
    const char *requests;      /* below the protocol's first token: the subjects of requests */
    unsigned open_states;      /* bit I: states[I]: of what can be cancelled */
    unsigned retried_states;   /* … of what can be tried again */
    const char *expired;       /* the state of a task that was open until it was too late */

    /* Finds the task that a key of the facts is about, and the kind of fact.  Owns: `id` borrows
     * from the key.  Returns: false for a key of nothing. */
    bool (*key)(struct parley_bytes key, struct parley_bytes *id, enum parley_task_fact *fact);
    /* Appends the key of a fact, without a NUL; of the turns that of the series.  `id` in any case.
     * Returns: false: it is no id. */
    bool (*write_key)(struct parley_bytes id, enum parley_task_fact fact,
                      struct parley_buffer *out);
    /* Reads the facts (data NULL if there is none, or if it cannot be read). Returns:
     * PARLEY_E_MEMORY. */
    enum parley_status (*read)(struct parley_bytes id,
                               const struct parley_bytes facts[PARLEY_TASK_FACTS], int64_t now_ms,
                               struct parley_arena *arena,
                               struct parley_task *out) PARLEY_MUST_CHECK;
    /* Decides on a change. PARLEY_DECISION_PREPARE: the key is to be created, and once that is done
     * `members` are the answer; if another was quicker, the facts are read again, and decide anew.
     * REPEATED: `members` are the answer. PUBLISH: the message of write_cancel or write_retry is to
     * be published. Else REFUSED.  Owns: the decision is in the arena. */
    enum parley_status (*change)(const struct parley_task_change *change,
                                 struct parley_arena *arena,
                                 struct parley_decision *out) PARLEY_MUST_CHECK;
    /* The key of a note (parley_decision.note_key) is the id in lower case, and this. */
    const char *note_suffix;
    /* Appends a note for readers, as an object; nothing if it cannot be read.  Returns:
     * PARLEY_E_MEMORY. */
    enum parley_status (*write_note)(struct parley_bytes value, struct parley_arena *arena,
                                     struct parley_buffer *out) PARLEY_MUST_CHECK;
    /* Where the facts are in parley_route.fact_keys, or would be: each at another place. */
    unsigned char places[PARLEY_TASK_FACTS];
    /* The domain to which a task of this name belongs. */
    struct parley_bytes (*domain)(struct parley_bytes task);
    /* The options of the protocol, times and counts that the operator gives: for how long an agent
     * holds a task, 0: permanently; and how often a task is given to one. */
    const struct parley_option *lease, *attempts;
    /* … and the option by which a claim says for how many seconds it holds the task. */
    const struct parley_option *claim_lease;
    /* Appends the message by which a gateway ends a task that was given out as often as it may be.
     * `to`: who requested it, data NULL: not known; `message_id` a UUID, `now` RFC 3339. */
    void (*write_end)(struct parley_bytes id, struct parley_bytes to, const char *message_id,
                      const char *now, struct parley_buffer *out);
    /* Appends a turn for those who ask for the story of a task, as an object. `value`: of the key
     * of the claim, or of a turn.  Returns: PARLEY_E_MEMORY. */
    enum parley_status (*write_turn)(struct parley_bytes value, struct parley_arena *arena,
                                     struct parley_buffer *out) PARLEY_MUST_CHECK;
    /* Appends the message by which the requester of a task ends it; its id is always the same one.
     * `why`: data NULL: it is not said; `now` RFC 3339. */
    void (*write_cancel)(const struct parley_task *task, struct parley_bytes why, const char *now,
                         struct parley_buffer *out);
    /* The members of a request that one which tries its task again repeats; NULL-terminated. */
    const char *const *repeated;
    /* Appends the request by which `agent` has a task tried again; its id is always the same one.
     * `members`: those of `repeated`, as they are in the request of the task, each with a comma
     * before it; `now` RFC 3339. */
    void (*write_retry)(struct parley_bytes id, struct parley_bytes agent,
                        struct parley_bytes members, const char *now, struct parley_buffer *out);
    /* Appends the message by which `agent` claims a task: `message_id` a UUID, `now` RFC 3339. */
    void (*write_claim)(struct parley_bytes agent, struct parley_bytes id, const char *message_id,
                        const char *now, struct parley_buffer *out);
    /* Appends the message by which `agent` reports on a task, without what `stamp` fills in.
     * `payload`: JSON. */
    void (*write_report)(enum parley_task_report report, struct parley_bytes agent,
                         struct parley_bytes id, struct parley_bytes payload,
                         struct parley_buffer *out);
};
