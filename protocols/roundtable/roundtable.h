/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the files of the Round Table plugin: the numbers of its types and fields. */

#include <parley/dialect.h>
#include <parley/message.h>
#include <parley/tasks.h>

enum roundtable_type {
    ROUNDTABLE_REQUEST,
    ROUNDTABLE_CLAIMED,
    ROUNDTABLE_PROGRESS,
    ROUNDTABLE_RESULT,
    ROUNDTABLE_FAILED,
    ROUNDTABLE_HEARTBEAT,
};

/* The captures that its rules and its route use. Some are here for their place alone: a missing
 * member is reported at the object. */
enum roundtable_field {
    ROUNDTABLE_ID,
    ROUNDTABLE_TYPE,
    ROUNDTABLE_FROM,
    ROUNDTABLE_TO,
    ROUNDTABLE_TIMESTAMP,
    ROUNDTABLE_CORRELATION_ID,
    ROUNDTABLE_PRIORITY,
    ROUNDTABLE_TTL,
    ROUNDTABLE_PAYLOAD,
    ROUNDTABLE_TASK,
    ROUNDTABLE_STATUS,
    ROUNDTABLE_TASK_RESULT,
    ROUNDTABLE_RESULT_FORMAT,
    ROUNDTABLE_RESULT_CONTENT,
    ROUNDTABLE_RESULT_METADATA,
    ROUNDTABLE_ERROR,
    ROUNDTABLE_RETRYABLE,
    ROUNDTABLE_RETRY_AFTER,
    ROUNDTABLE_PERCENT,
    ROUNDTABLE_MESSAGE,
};

/* The rules that span messages, by their index in the table: its last ones. */
enum roundtable_spanning_rule {
    ROUNDTABLE_RT_201 = 27,
    ROUNDTABLE_RT_202,
    ROUNDTABLE_RT_203,
    ROUNDTABLE_RT_205,
    ROUNDTABLE_RULE_COUNT,
};

/* Who sends the message that ends a task whose attempts are used up. */
#define ROUNDTABLE_GATEWAY "parley"

extern const char *const roundtable_types[];
extern const char *const roundtable_priorities[];
extern const struct parley_rule roundtable_rules[ROUNDTABLE_RULE_COUNT];
/* The places in roundtable_options. */
enum roundtable_option {
    ROUNDTABLE_OPTION_DOMAIN,
    ROUNDTABLE_OPTION_LIFECYCLE,
    ROUNDTABLE_OPTION_TASK_LEASE,
    ROUNDTABLE_OPTION_TASK_MAX,
    ROUNDTABLE_OPTION_TASK_ATTEMPTS,
    ROUNDTABLE_OPTION_LEASE,
    ROUNDTABLE_OPTION_ATTEMPTS,
    ROUNDTABLE_OPTION_NOT_BEFORE,
    ROUNDTABLE_OPTION_RETRY,
    ROUNDTABLE_OPTION_FROM,
};
/* The choice of ROUNDTABLE_OPTION_RETRY besides 0: no. */
enum { ROUNDTABLE_RETRY_FAILED = 1 };
extern const struct parley_option roundtable_options[];
enum parley_lifecycle roundtable_lifecycle(const struct parley_options *options);

extern const struct parley_dialect roundtable_dialects[];
extern const struct parley_problem roundtable_problems[];
extern const struct parley_example roundtable_examples[];
extern const struct parley_agents roundtable_agents;

extern const struct parley_task_kind roundtable_tasks;
extern const struct parley_index_kind roundtable_index;

/* The subject of an agent's heartbeats.  Owns: the arena.  Returns: data NULL when there is no
 * memory. */
struct parley_bytes roundtable_heartbeat_subject(struct parley_arena *arena,
                                                 struct parley_bytes agent);
/* Whether a heartbeat, from any publisher, says that its agent works on something. */
enum parley_status roundtable_is_at_work(struct parley_bytes heartbeat, struct parley_arena *arena,
                                         bool *out);

enum parley_status roundtable_route(struct parley_message *message, struct parley_route *out);
enum parley_status roundtable_change(const struct parley_task_change *change,
                                     struct parley_arena *arena, struct parley_decision *out);
enum parley_status roundtable_decide(struct parley_message *message, struct parley_decision *out);

/* The task that a message is about, in lower case: a request's own id, else the correlationId.
 * Owns: the arena.  Returns: data NULL when there is no memory. */
struct parley_bytes roundtable_task_id(struct parley_message *message);
/* Makes a UUID of a prefix and the id of a task, in any case: always the same one. */
#define ROUNDTABLE_ID_SIZE sizeof "650e8400-e29b-41d4-a716-446655440000"
#define ROUNDTABLE_RETRY "retry:"
void roundtable_make_id(const char *prefix, struct parley_bytes id, char out[ROUNDTABLE_ID_SIZE]);
/* A number from 0 to `most`, always the same one for the same id and attempt, so that what follows
 * from many ids is spread. */
uint64_t roundtable_spread(struct parley_bytes id, uint64_t attempt, uint64_t most);
/* The domain of the task a.b.c, which belongs to the domain a (contract, task.request:
 * "<domain>.<action>"). */
struct parley_bytes roundtable_domain_of(struct parley_bytes task);
/* When a request expires: its time to live begins with its timestamp, or when it is due.  `values`:
 * of its fields.  Returns: false: one of them is not valid. */
bool roundtable_deadline(const struct parley_value *values, const struct parley_options *options,
                         double *out_seconds);
