/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the decisions on a task share: decide.c decides on messages, change.c on what an agent asks
 * for without one, and objections.c says why something is refused. */

#include "fact.h"
#include "roundtable.h"
#include "turn.h"

struct deciding {
    struct parley_message *message; /* NULL: there is none */
    struct parley_arena *arena;
    const union parley_option_value *options;
    int64_t now_seconds; /* Unix time; 0 if deadlines are not checked */
    const struct parley_known_facts *known;
    struct roundtable_task task;
    struct roundtable_turn turn; /* of the task: the last one, and what it means now */
    enum roundtable_holding holding;
    struct parley_bytes id, from; /* of the task, in lower case; the agent */
    struct parley_decision *out;
};

/* A reason against a message: the warning that it gets, and the problem where it is refused. */
struct objection {
    enum roundtable_spanning_rule warning;
    enum roundtable_field field; /* where the warning is reported */
    const char *problem, *advice;
    void (*say)(const struct deciding *deciding, struct parley_buffer *out);
    void (*write_members)(const struct deciding *deciding, struct parley_buffer *out);
    enum roundtable_fact_place fact; /* whose message is the reason */
};

extern const struct objection objection_claimed, objection_unknown, objection_held, objection_over,
    objection_given, objection_early, objection_used_up, objection_not_held, objection_ended,
    objection_foreign, objection_not_over, objection_completed, objection_too_late;

/* All return PARLEY_E_MEMORY, or PARLEY_OK. */

/* Reads the facts: task, turn and holding. */
enum parley_status deciding_read(struct deciding *deciding) PARLEY_MUST_CHECK;
/* Moves a text into the arena. */
enum parley_status deciding_keep(struct deciding *deciding, struct parley_buffer *text,
                                 struct parley_bytes *out) PARLEY_MUST_CHECK;
enum parley_status deciding_refuse(struct deciding *deciding,
                                   const struct objection *objection) PARLEY_MUST_CHECK;
enum parley_status deciding_warn(struct deciding *deciding,
                                 const struct objection *objection) PARLEY_MUST_CHECK;
/* The key of the next turn is created, with these members. */
enum parley_status deciding_prepare_turn(struct deciding *deciding,
                                         struct parley_buffer *members) PARLEY_MUST_CHECK;
/* The holder keeps the task until `until`. */
enum parley_status deciding_extend(struct deciding *deciding, int64_t until,
                                   const char *why) PARLEY_MUST_CHECK;

/* Of a request: warns of what is wrong with trying that task again which it names, or has the key
 * taken first that says so. */
enum parley_status deciding_retry(struct deciding *deciding) PARLEY_MUST_CHECK;

/* Names the message of a fact, if its place is known. */
void deciding_name_place(struct parley_decision *out, const struct roundtable_fact *fact);
/* Append members for an answer. */
void deciding_write_state(const struct deciding *deciding, struct parley_buffer *out);
void deciding_write_turn(const struct deciding *deciding, struct parley_buffer *out);

/* To which agent the request is addressed; data NULL: to none. */
struct parley_bytes deciding_addressee(const struct deciding *deciding);
/* Whether it has ended, or expired. */
bool deciding_is_over(const struct deciding *deciding);
/* Whether the agent holds the task, or held it until its time passed. */
bool deciding_is_holder(const struct deciding *deciding);
/* Whether an agent does. */
bool deciding_has_holder(const struct deciding *deciding);
/* For how many seconds its agent holds the task without a sign of life; 0: permanently. */
int64_t deciding_lease(const struct deciding *deciding);
/* For how many the agent will whose claim the message is. */
int64_t deciding_claim_lease(const struct deciding *deciding);
/* From when on the task may be claimed, RFC 3339; data NULL: it says no time. */
struct parley_bytes deciding_not_before(const struct deciding *deciding);
/* How often the task is given to an agent. */
uint64_t deciding_attempts(const struct deciding *deciding);
