/* SPDX-License-Identifier: Apache-2.0 */

#include "roundtable.h"

#include "text.h"

enum { REQUEST = 1 << ROUNDTABLE_REQUEST, CLAIMED = 1 << ROUNDTABLE_CLAIMED };

/* As RT-005. */
static bool is_sender(struct parley_bytes text) {
    enum { LENGTH_MAX = 128 };
    return text_utf8_prefix(text) == text.length && text_is_token(text) &&
           text_code_points(text) <= LENGTH_MAX;
}

const struct parley_option roundtable_options[] = {
    [ROUNDTABLE_OPTION_DOMAIN] =
        {.help = {"domain", "The domain of a reply whose request is not known.",
                  "1 to 128 of A-Z a-z 0-9 _ -",
                  "{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_-]{1,128}$\"}"},
         .type = PARLEY_OPTION_TEXT,
         .value_name = "NAME",
         .is_text = text_is_domain},
    [ROUNDTABLE_OPTION_LIFECYCLE] =
        {.help = {.name = "lifecycle"},
         .type = PARLEY_OPTION_CHOICE,
         .value_name = "MODE",
         .choices = (const char *const[]){[PARLEY_LIFECYCLE_OFF] = "off",
                                          [PARLEY_LIFECYCLE_ON] = "on",
                                          [PARLEY_LIFECYCLE_STRICT] = "strict",
                                          NULL},
         .server = {.help =
                        "Whether earlier messages decide on later ones: on refuses a claim of a "
                        "task that another agent holds, that is addressed to another agent or "
                        "that is over, and an id that was used before, and warns of the rest; "
                        "strict also refuses reports of agents that do not hold the task and "
                        "reports on a task that is over; off decides nothing. All gateways of "
                        "a fleet need the same one.",
                    .fallback = "on"}},
    [ROUNDTABLE_OPTION_TASK_LEASE] =
        {.help = {.name = "task-lease"},
         .type = PARLEY_OPTION_TIME,
         .value_name = "TIME",
         .maximum = 24 * 3600 * 1000,
         .server = {.help = "How long an agent holds a task without a sign of life: after that "
                            "another agent can take it. Progress, heartbeats, extend and a "
                            "claim are signs. 0: an agent holds a task permanently, unless its "
                            "request or its claim says how long. All gateways of a fleet need the "
                            "same one.",
                    .fallback = "15m"}},
    [ROUNDTABLE_OPTION_TASK_MAX] =
        {.help = {.name = "task-max"},
         .type = PARLEY_OPTION_TIME,
         .value_name = "TIME",
         .minimum = 3600 * 1000,
         .maximum = UINT64_C(30) * 24 * 3600 * 1000,
         .server = {.help =
                        "How long after its claim the heartbeats of an agent extend its lease of "
                        "a task. Progress and extend do so later, too.",
                    .fallback = "24h"}},
    [ROUNDTABLE_OPTION_TASK_ATTEMPTS] =
        {.help = {.name = "task-attempts"},
         .type = PARLEY_OPTION_COUNT,
         .value_name = "N",
         .minimum = 1,
         .maximum = 100,
         .server = {.help = "How many times a task is given to an agent, counting those that gave "
                            "it back. All gateways of a fleet need the same one.",
                    .fallback = "3"}},
    [ROUNDTABLE_OPTION_LEASE] =
        {.help = {"lease", "How many seconds of silence end an agent's hold of the task.",
                  "60 to 86400", "{\"type\":\"integer\",\"minimum\":60,\"maximum\":86400}"},
         .type = PARLEY_OPTION_COUNT,
         .value_name = "SECONDS",
         .minimum = 60,
         .maximum = 86400,
         .header = "Parley-Lease",
         .header_types = REQUEST | CLAIMED},
    [ROUNDTABLE_OPTION_ATTEMPTS] =
        {.help = {"attempts", "How often the task is given to an agent.", "1 to 100",
                  "{\"type\":\"integer\",\"minimum\":1,\"maximum\":100}"},
         .type = PARLEY_OPTION_COUNT,
         .value_name = "N",
         .minimum = 1,
         .maximum = 100,
         .header = "Parley-Attempts",
         .header_types = REQUEST},
    [ROUNDTABLE_OPTION_NOT_BEFORE] =
        {.help = {"not_before", "When the task can be claimed; its `ttl` begins then.",
                  "an RFC 3339 time, or 90s, 15m, 24h or 7d from now, at most 30 days ahead",
                  "{\"type\":\"string\"}"},
         .type = PARLEY_OPTION_MOMENT,
         .value_name = "AT",
         .maximum = 30 * 86400,
         .header = "Parley-Not-Before",
         .header_types = REQUEST},
    [ROUNDTABLE_OPTION_RETRY] =
        {.help = {"retry", "Whether an attempt follows a retryable failure.", "no or failed",
                  "{\"type\":\"string\",\"enum\":[\"no\",\"failed\"]}"},
         .type = PARLEY_OPTION_CHOICE,
         .value_name = "WHEN",
         .choices = (const char *const[]){[0] = "no", [ROUNDTABLE_RETRY_FAILED] = "failed", NULL},
         .header = "Parley-Retry",
         .header_types = REQUEST},
    [ROUNDTABLE_OPTION_FROM] =
        {.help =
             {"from",
              "With a `dialect`: the sender of a message that does not name one (else the agent "
              "of a bound token, else `operator`).",
              "an agent id: 1 to 128 characters without spaces, dots, `*` or `>`",
              "{\"type\":\"string\",\"minLength\":1,\"maxLength\":128}"},
         .type = PARLEY_OPTION_TEXT,
         .value_name = "NAME",
         .is_text = is_sender,
         .is_of_dialects = true},
    {.help = {.name = NULL}},
};

enum parley_lifecycle roundtable_lifecycle(const struct parley_options *options) {
    return (enum parley_lifecycle)options->values[ROUNDTABLE_OPTION_LIFECYCLE].number;
}
