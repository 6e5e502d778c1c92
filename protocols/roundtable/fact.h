/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The facts of a task in the bucket, each a JSON object under a key of its own that is written
 * once. Any client that can write to the bucket may have written one: members that are not as
 * parley writes them count as missing.
 *
 *   <id>        the task.request; a value that does not begin with `{` is the bare domain, which an
 *               older gateway wrote
 *   <id>.claim  the first task.claimed: turn 1
 *   <id>.turn.N turn N, which follows turn N-1 (turn.h)
 *   <id>.end    the first task.result or task.failed of one who may end the task
 *   <id>.retry  the first task.request that tries it again (retry.c) */

#include "roundtable.h"

/* The places in parley_route.fact_keys, in the order in which they decide; the turns are a series
 * that begins with the claim. */
enum roundtable_fact_place {
    ROUNDTABLE_FACT_END,
    ROUNDTABLE_FACT_CLAIM,
    ROUNDTABLE_FACT_TURN,
    ROUNDTABLE_FACT_REQUEST,
    /* Of the task that a request tries again. */
    ROUNDTABLE_FACT_RETRIED_END,
    ROUNDTABLE_FACT_RETRIED_CLAIM,
    ROUNDTABLE_FACT_RETRIED_REQUEST,
    ROUNDTABLE_FACT_RETRIED_RETRY,
    /* Where a task is asked for, the same of itself. */
    ROUNDTABLE_FACT_RETRY = ROUNDTABLE_FACT_RETRIED_RETRY,
};

enum roundtable_member {
    ROUNDTABLE_MEMBER_STREAM, /* where the message is stored */
    ROUNDTABLE_MEMBER_SEQ,
    ROUNDTABLE_MEMBER_AT, /* its timestamp */
    /* of a request */
    ROUNDTABLE_MEMBER_TASK,
    ROUNDTABLE_MEMBER_FROM, /* of an end, too */
    ROUNDTABLE_MEMBER_TO,
    ROUNDTABLE_MEMBER_PRIORITY,
    ROUNDTABLE_MEMBER_DEADLINE,
    ROUNDTABLE_MEMBER_RETRY_OF,
    ROUNDTABLE_MEMBER_DIGEST,
    ROUNDTABLE_MEMBER_LEASE, /* where it was given; of a claim and the turns after it, too */
    ROUNDTABLE_MEMBER_ATTEMPTS,
    ROUNDTABLE_MEMBER_RETRY,
    /* of a claim */
    ROUNDTABLE_MEMBER_HOLDER,
    ROUNDTABLE_MEMBER_CLAIM, /* its id */
    /* of a claim and the turns after it (turn.h); `not_before` of a request, too */
    ROUNDTABLE_MEMBER_N,
    ROUNDTABLE_MEMBER_KIND,
    ROUNDTABLE_MEMBER_ATTEMPT,
    ROUNDTABLE_MEMBER_UNTIL,
    ROUNDTABLE_MEMBER_NOT_BEFORE,
    ROUNDTABLE_MEMBER_WHY,
    ROUNDTABLE_MEMBER_FAILURE,    /* the id of the last task.failed that made a turn */
    ROUNDTABLE_MEMBER_FAILED_SEQ, /* its sequence, in turns after that one */
    ROUNDTABLE_MEMBER_CLAIMED_AT, /* where `at` is not that of the claim */
    /* of an end */
    ROUNDTABLE_MEMBER_STATE,
    ROUNDTABLE_MEMBER_TYPE,
    ROUNDTABLE_MEMBER_END, /* its id */
    ROUNDTABLE_MEMBER_ERROR,
    ROUNDTABLE_MEMBER_RETRYABLE,
    ROUNDTABLE_MEMBER_RETRY_AT,
    /* of `<id>.retry`: the id of the request */
    ROUNDTABLE_MEMBER_RETRIED_BY,
    /* of a claim and an end: the request's sequence, null where it was not known */
    ROUNDTABLE_MEMBER_REQUEST,
    ROUNDTABLE_MEMBER_COUNT,
};

/* Owns: texts are borrowed from the value, or live in the arena. */
struct roundtable_fact {
    bool is_there;                                        /* the key has a value */
    struct parley_value members[ROUNDTABLE_MEMBER_COUNT]; /* PARLEY_ABSENT: missing */
    struct parley_bytes domain;                           /* of a request; data NULL: not known */
};

struct roundtable_task {
    struct roundtable_fact end, claim, turn, request; /* turn: the last one after the claim */
};

/* Reads the value of a key; data is NULL if it has none.  Returns: PARLEY_E_MEMORY. */
enum parley_status roundtable_fact_read(struct parley_bytes value, struct parley_arena *arena,
                                        struct roundtable_fact *out) PARLEY_MUST_CHECK;
/* `values`: by enum roundtable_fact_place. */
enum parley_status roundtable_task_read(const struct parley_bytes values[PARLEY_FACT_KEYS_MAX],
                                        struct parley_arena *arena,
                                        struct roundtable_task *out) PARLEY_MUST_CHECK;

/* A member as text; data NULL: it is missing or null. */
struct parley_bytes roundtable_fact_text(const struct roundtable_fact *fact,
                                         enum roundtable_member member);
/* A sequence, or 0: it is missing or null. */
uint64_t roundtable_fact_sequence(const struct roundtable_fact *fact,
                                  enum roundtable_member member);

/* What the option of a request or a claim was; 0: it was not given. */
uint64_t roundtable_fact_option(const struct roundtable_fact *fact, enum roundtable_member member,
                                enum roundtable_option option);

/* "Requested → Expired: TTL exceeded, no claim" (contract, Task Lifecycle): no agent claimed the
 * task before its deadline, and none ended it.  `now_seconds`: 0 if deadlines are not checked. */
bool roundtable_task_has_expired(const struct roundtable_task *task, int64_t now_seconds);
/* requested, claimed, completed, failed or expired; data NULL: it has ended, and its fact does not
 * say how. */
struct parley_bytes roundtable_task_state(const struct roundtable_task *task, int64_t now_seconds);

/* Append a member, with a comma before it: a text, or null without one; an id in lower case; what
 * another fact says; the sequence of the request, 0: not known. */
void roundtable_fact_write_text(struct parley_buffer *out, enum roundtable_member member,
                                struct parley_bytes text);
void roundtable_fact_write_id(struct parley_buffer *out, enum roundtable_member member,
                              struct parley_bytes id);
/* Appends nothing for 0. */
void roundtable_fact_write_number(struct parley_buffer *out, enum roundtable_member member,
                                  uint64_t number);
void roundtable_fact_copy(struct parley_buffer *out, const struct roundtable_fact *from,
                          enum roundtable_member member);
void roundtable_fact_write_request_place(struct parley_buffer *out, uint64_t request);

/* Append the members of the fact that a valid message leaves, each with a comma before it; `digest`
 * as in parley_known_facts, `request`: the request's sequence, 0: not known. */
void roundtable_fact_write_request(const struct parley_message *message, const char *digest,
                                   struct parley_buffer *out);
void roundtable_fact_write_end(const struct parley_message *message, uint64_t request,
                               struct parley_buffer *out);
