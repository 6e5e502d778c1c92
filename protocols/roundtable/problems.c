/* SPDX-License-Identifier: Apache-2.0 */

/* The refusals of messages that a task's lifecycle does not allow (decide.c). */

#include "roundtable.h"

const struct parley_problem roundtable_problems[] = {
    {.name = "already-claimed",
     .status = 409,
     .title = "Another agent holds this task",
     .advice =
         "The member `holder` names the agent whose claim was first, and `claimed_at` when that "
         "was. Nothing was stored, and sending it again does not help: take another task."},
    {.name = "not-due",
     .status = 409,
     .title = "The task may not be claimed yet",
     .advice =
         "Its last holder gave it back, to be claimed from `not_before` on. Nothing was stored: "
         "claim it then, or take another task."},
    {.name = "attempts-used-up",
     .status = 409,
     .title = "The task was given out as often as it may be",
     .advice =
         "The member `attempt` says how often (--task-attempts). Nothing was stored: take another "
         "task. Its requester can request it again with a new id."},
    {.name = "task-over",
     .status = 409,
     .title = "The task is over",
     .advice =
         "The member `state` says how it ended: completed, failed or expired. A task that has "
         "ended "
         "stays ended: a retry is a new task.request with an id of its own, whose correlationId "
         "names this one."},
    {.name = "task-open",
     .status = 409,
     .title = "The task is not over",
     .advice =
         "The member `state` says what it is: requested or claimed. Nothing was requested: only a "
         "task that has failed or expired is tried again. Cancel it first, or wait until it has "
         "ended."},
    {.name = "not-holder",
     .status = 409,
     .title = "Another agent holds this task",
     .advice =
         "With --lifecycle strict only the agent that holds a task may report on it, and the one "
         "that requested it may end it. Claim the task first."},
    {.name = "not-addressee",
     .status = 409,
     .title = "The task is addressed to another agent",
     .advice =
         "Only the agent that a task.request names in `to` may claim the task. Take another one."},
    {.name = NULL},
};
