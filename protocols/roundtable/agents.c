/* SPDX-License-Identifier: Apache-2.0 */

/* Reports a knight's last heartbeat. "Periodic health signal from each knight", every 60 seconds
 * (contract, heartbeat). */

#include <parley/agents.h>

#include "json_members.h"
#include "json_reader.h"
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

/* ---- whether it is at work ---- */

enum beat_member { BEAT_ROOT, BEAT_OTHER, BEAT_PAYLOAD, BEAT_COUNT };

struct beat {
    enum beat_member next; /* whose value comes next */
    bool is_in_payload, is_idle;
};

static bool on_beat_value(void *context, const struct parley_value *value) {
    struct beat *beat = context;
    if (beat->next == BEAT_COUNT) {
        beat->is_idle = value->kind == PARLEY_NUMBER && value->number == 0;
        return false;
    }
    const bool is_wanted = beat->next != BEAT_OTHER && value->kind == PARLEY_OBJECT;
    beat->is_in_payload = beat->is_in_payload || (is_wanted && beat->next == BEAT_PAYLOAD);
    return is_wanted;
}

static bool on_beat_key(void *context, struct parley_bytes key) {
    struct beat *beat = context;
    beat->next = BEAT_OTHER;
    if (beat->is_in_payload && parley_bytes_equal(key, PARLEY_BYTES("activeTaskCount"))) {
        beat->next = BEAT_COUNT;
    } else if (!beat->is_in_payload && parley_bytes_equal(key, PARLEY_BYTES("payload"))) {
        beat->next = BEAT_PAYLOAD;
    }
    return beat->next != BEAT_OTHER;
}

static void on_beat_leave(void *context, size_t count) {
    (void)count;
    ((struct beat *)context)->is_in_payload = false;
}

enum parley_status roundtable_is_at_work(struct parley_bytes heartbeat, struct parley_arena *arena,
                                         bool *out) {
    struct beat beat = {.next = BEAT_ROOT};
    const struct json_events events = {
        .context = &beat, .value = on_beat_value, .key = on_beat_key, .leave = on_beat_leave};
    struct json_fault fault;
    const enum json_reader_result result =
        json_reader_read(heartbeat, &events, arena, NULL, &fault);
    *out = result == JSON_READER_READ && !beat.is_idle;
    return result == JSON_READER_MEMORY ? PARLEY_E_MEMORY : PARLEY_OK;
}
