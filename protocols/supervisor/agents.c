/* SPDX-License-Identifier: Apache-2.0 */

/* Reports the last messages of an agent, and those to it. Agents beat every second, and make a
 * checkpoint every five minutes (schema, Heartbeat, Checkpoint Request). Snapshots, which
 * checkpoint and restore contain, are not read: the size of a checkpoint is known without it. */

#include <parley/agents.h>

#include <inttypes.h>

#include "json_members.h"
#include "supervisor.h"

enum { CHECKPOINT_SECONDS = 300 };

enum { SOURCE_CHECKPOINT = 1 }; /* in the table below */
enum part { PART_BEAT, PART_METRICS, PART_CHECKPOINT, PART_ACK, PART_WAL, PART_SHUTDOWN };

#define MEMBERS(...) ((const struct json_member[]){__VA_ARGS__, {.name = NULL, .as = NULL}})
#define MEMBER(name_)                                                                              \
    { .name = (name_), .as = NULL }

static void open_object(const struct parley_agent_report *of, const char *name,
                        struct parley_buffer *out) {
    parley_buffer_format(out, ",\"%s\":{\"at\":\"%s\",\"seq\":%" PRIu64, name, of->at,
                         of->sequence);
}

static enum parley_status report_checkpoint(const struct parley_agent_report *of,
                                            struct parley_buffer *out) {
    open_object(of, "checkpoint", out);
    if (!of->is_guarded) {
        parley_buffer_text(out, ",\"id\":");
        parley_buffer_json(out, parley_bytes_of(of->id));
        parley_buffer_format(out, ",\"size\":%zu", of->size_bytes);
    }
    parley_buffer_format(out, ",\"age\":%" PRId64 ",\"overdue\":%s}", of->age_seconds,
                         of->age_seconds > CHECKPOINT_SECONDS ? "true" : "false");
    return parley_buffer_status(out);
}

/* Writes an object with the time of the message, and members of it (NULL for none). */
static enum parley_status report_object(const struct parley_agent_report *of, const char *name,
                                        const struct json_member *members,
                                        struct parley_buffer *out) {
    open_object(of, name, out);
    if (members != NULL) {
        PARLEY_TRY(json_members_append(of->message, NULL, members, out));
    }
    parley_buffer_char(out, '}');
    return parley_buffer_status(out);
}

static enum parley_status report_wal(const struct parley_agent_report *of,
                                     struct parley_buffer *out) {
    const struct parley_log_gaps *missing = of->missing;
    open_object(of, "wal", out);
    PARLEY_TRY(json_members_append(of->message, "data", MEMBERS(MEMBER("sequence")), out));
    if (missing != NULL && (missing->count > 0 || missing->has_more)) {
        parley_buffer_char(out, ',');
        supervisor_write_gaps(missing, out);
    }
    parley_buffer_char(out, '}');
    return parley_buffer_status(out);
}

static enum parley_status report(const struct parley_agent_report *of, struct parley_buffer *out) {
    if (of->message == NULL) {
        /* A restore says nothing, in place of the shutdown before it. */
        return of->source == SOURCE_CHECKPOINT ? report_checkpoint(of, out) : PARLEY_OK;
    }
    switch (of->message->type) {
    case SUPERVISOR_HEARTBEAT:
        return json_members_append(of->message, NULL, MEMBERS(MEMBER("version")), out);
    case SUPERVISOR_METRICS:
        return report_object(of, "metrics", MEMBERS(MEMBER("data")), out);
    case SUPERVISOR_WAL_ENTRY:
    case SUPERVISOR_WAL_BATCH:
        return report_wal(of, out);
    case SUPERVISOR_CHECKPOINT_ACK:
        return report_object(
            of, "checkpoint_ack",
            of->is_guarded ? NULL : MEMBERS(MEMBER("checkpoint_id"), MEMBER("size")), out);
    case SUPERVISOR_SHUTDOWN:
        return report_object(of, "shutdown", MEMBERS(MEMBER("reason"), MEMBER("create_checkpoint")),
                             out);
    default:
        return PARLEY_OK;
    }
}

#define SOURCE(subject_, part_, is_unread_)                                                        \
    { .subject = (subject_), .part = (part_), .is_unread = (is_unread_) }

static const struct parley_agent_source sources[] = {
    SOURCE("*.gerbil.heartbeat", PART_BEAT, false),
    [SOURCE_CHECKPOINT] = SOURCE("*.gerbil.checkpoint", PART_CHECKPOINT, true),
    SOURCE("*.gerbil.metrics", PART_METRICS, false),
    SOURCE("*.gerbil.wal_entry", PART_WAL, false),
    SOURCE("*.gerbil.wal_batch", PART_WAL, false),
    SOURCE("*.elixir.checkpoint_ack", PART_ACK, false),
    {.subject = "*.elixir.shutdown", .part = PART_SHUTDOWN, .is_end = true},
    {.subject = "*.elixir.restore", .part = PART_SHUTDOWN, .is_unread = true, .is_end = true},
    SOURCE(NULL, 0, false),
};

const struct parley_agents supervisor_agents = {
    .sources = sources,
    .alive_seconds = 5,
    .late_seconds = 15,
    .loss_bucket = "parley_agents",
    .report = report,
};
