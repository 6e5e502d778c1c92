/* SPDX-License-Identifier: Apache-2.0 */

/* Reports a knight's last heartbeat. "Periodic health signal from each knight", every 60 seconds
 * (contract, heartbeat). */

#include <parley/agents.h>

#include "json_members.h"
#include "roundtable.h"

static enum parley_status report(const struct parley_agent_report *of, struct parley_buffer *out) {
    static const struct json_member members[] = {{.name = "status", .as = NULL},
                                                 {.name = "uptime", .as = NULL},
                                                 {.name = "capabilities", .as = NULL},
                                                 {.name = "model", .as = NULL},
                                                 {.name = "activeTaskCount", .as = NULL},
                                                 {.name = "version", .as = NULL},
                                                 {.name = NULL, .as = NULL}};
    return json_members_append(of->message, "payload", members, out);
}

struct wanted {
    struct parley_bytes pattern;
    bool is_found;
};

/* The pattern is a capability, or how it begins and an asterisk: security.* */
static bool compare(void *context, struct parley_bytes capability) {
    struct wanted *wanted = context;
    const struct parley_bytes pattern = wanted->pattern;
    const bool is_prefix = pattern.length > 0 && pattern.data[pattern.length - 1] == '*';
    const size_t length = pattern.length - (is_prefix ? 1 : 0);
    wanted->is_found = (is_prefix ? capability.length >= length : capability.length == length) &&
                       memcmp(capability.data, pattern.data, length) == 0;
    return !wanted->is_found;
}

static enum parley_status matches(struct parley_message *beat, struct parley_bytes value,
                                  bool *out) {
    struct wanted wanted = {.pattern = value};
    PARLEY_TRY(json_members_each_text(beat, "payload", "capabilities", compare, &wanted));
    *out = wanted.is_found;
    return PARLEY_OK;
}

static const struct parley_agent_source sources[] = {
    {.subject = "heartbeat.*", .part = 0, .is_unread = false},
    {.subject = NULL, .part = 0, .is_unread = false},
};

const struct parley_agents roundtable_agents = {
    .sources = sources,
    .alive_seconds = 90,
    .late_seconds = 180,
    .report = report,
    .option = "capability",
    .option_does = "Only agents with this capability; `security.*` for all that begin so.",
    .option_wants = "a capability, or how some begin, such as security.*",
    .matches = matches,
};
