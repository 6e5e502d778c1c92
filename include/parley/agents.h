/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Describes the agents that send a protocol's messages, from the last message on each subject of an
 * agent. A protocol that has agents gives a table of these subjects, and a pure function that reads
 * a message; the gateway reads the stream. */

#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/status.h>

struct parley_log_gaps; /* parley/restore.h */
struct parley_message;

#define PARLEY_AGENT_SOURCES_MAX 16
#define PARLEY_AGENT_PARTS_MAX 8

/* A kind of subject, of which each agent has one. */
struct parley_agent_source {
    const char *subject; /* below the first token, `*` in place of the agent: "heartbeat.*" */
    unsigned part;       /* of an agent's answer; of several sources of one part the last message
                            counts */
    bool is_unread;      /* only its size is needed: it is not fetched */
    bool is_end;         /* its part, if it has text, says that the agent was told to end */
};

/* The last message on a subject of an agent.  Owns: everything is borrowed. */
struct parley_agent_report {
    unsigned source;                /* index into parley_agents.sources */
    struct parley_message *message; /* checked, and valid; NULL: is_unread */
    bool is_guarded;                /* for a reader that may not read private messages of the agent
                                       (parley_protocol.private_types): their content is left out */
    size_t size_bytes;              /* of its payload */
    const char *id;                 /* a UUID: of its event, or made of its sequence */
    const char *at;                 /* when it was stored, RFC 3339 */
    int64_t age_seconds;            /* since then; not negative */
    uint64_t sequence;
    const struct parley_log_gaps
        *missing; /* in its log, since its last checkpoint; NULL: not known */
};

struct parley_agents {
    const struct parley_agent_source *sources; /* subject NULL ends them; the first is the beat */
    unsigned alive_seconds;                    /* the beat is no older: alive … */
    unsigned late_seconds;                     /* … or late; else the agent is lost */
    const char *loss_bucket; /* the key-value bucket of agents that were lost, for webhooks; NULL:
                                no program is told of them */
    /* Appends members of the agent's answer, each with a comma in front. */
    enum parley_status (*report)(const struct parley_agent_report *report,
                                 struct parley_buffer *out);
    /* The query option that selects agents by their beat, and whether a beat matches its value;
     * NULL if there is no such option. */
    const char *option;
    const char *option_does;  /* one sentence, Markdown */
    const char *option_wants; /* the values that it takes; they are not empty */
    enum parley_status (*matches)(struct parley_message *beat, struct parley_bytes value,
                                  bool *out);
};
