/* SPDX-License-Identifier: Apache-2.0 */

#include "task_options.h"

#include "follow.h"

#define LIST_OF(item) "{\"type\":\"array\",\"items\":" item ",\"minItems\":1,\"maxItems\":64}"
#define LIST_OF_NAMES LIST_OF("{\"type\":\"string\",\"minLength\":1}")

const struct parley_option_help task_list_options[] = {
    {"state", "Only tasks in these states.",
     "requested, claimed, completed, failed, expired, or several of them: requested,claimed",
     "{\"type\":\"array\",\"items\":{\"enum\":[\"requested\",\"claimed\",\"completed\",\"failed\","
     "\"expired\"]},\"minItems\":1}"},
    {"domain", "Only tasks of these domains.",
     "comma-separated domains, at most 64, each 1 to 128 of A-Z a-z 0-9 _ -: what a task's name "
     "has before its first dot",
     LIST_OF("{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_-]{1,128}$\"}")},
    {"holder", "Only tasks that one of these agents has claimed.",
     "comma-separated agents, at most 64", LIST_OF_NAMES},
    {"from", "Only tasks that one of these agents has asked for.",
     "comma-separated agents, at most 64", LIST_OF_NAMES},
    {"priority", "Only tasks of these priorities.",
     "low, normal, high, critical, or several of them: high,critical",
     "{\"type\":\"array\",\"items\":{\"enum\":[\"low\",\"normal\",\"high\",\"critical\"]},"
     "\"minItems\":1}"},
    {"attempt", "Only tasks that were given to an agent so often.", "an integer from 1 to 100",
     "{\"type\":\"integer\",\"minimum\":1,\"maximum\":100}"},
    {"code", "Only tasks that have failed with one of these errors.",
     "comma-separated errors, at most 64: timeout,internal_error", LIST_OF_NAMES},
    {"lapsed",
     "true: only tasks whose holder was not heard of for as long as it holds them; false: only "
     "others.",
     "`true` or `false`", "{\"type\":\"boolean\"}"},
    {"overdue",
     "true: only tasks that have not ended by their deadline, claimed or not; a duration: that are "
     "past it for longer.",
     "`true`, or a duration such as 15m (ms, s, m, h, d; 30d at most)", "{\"type\":\"string\"}"},
    {"limit", "How many tasks the answer has at most (100). Not with follow=true.",
     "an integer from 1 to 1000", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}"},
    FOLLOW_OPTION_HELP,
    {NULL, NULL, NULL, NULL},
};
