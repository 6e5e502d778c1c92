/* SPDX-License-Identifier: Apache-2.0 */

#include "work_options.h"

const struct parley_option_help work_list_options[] = {
    {"state", "Only tasks in this state.", "requested, claimed, completed, failed or expired",
     "{\"enum\":[\"requested\",\"claimed\",\"completed\",\"failed\",\"expired\"]}"},
    {"domain", "Only tasks of this domain.",
     "a domain, 1 to 128 of A-Z a-z 0-9 _ -: what a task's name has before its first dot",
     "{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_-]{1,128}$\"}"},
    {"holder", "Only tasks that this agent has claimed.", "an agent",
     "{\"type\":\"string\",\"minLength\":1}"},
    {"from", "Only tasks that this agent has asked for.", "an agent",
     "{\"type\":\"string\",\"minLength\":1}"},
    {"priority", "Only tasks of this priority.", "low, normal, high or critical",
     "{\"enum\":[\"low\",\"normal\",\"high\",\"critical\"]}"},
    {"limit", "How many tasks the answer has at most (100).", "an integer from 1 to 1000",
     "{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}"},
    {NULL, NULL, NULL, NULL},
};
