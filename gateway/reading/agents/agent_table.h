/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The agents of one protocol and what their last messages say, kept while their list is followed
 * (ADR 55). Two sources tell of messages, in any order: a reading of the last message on each
 * subject, from time to time, and what is stored meanwhile. What a reading does not find has left
 * the stream, and leaves the table when that reading ends.
 *
 * Memory is bounded: of more agents, or more text, than there is room for, those leave whose last
 * message is the oldest.
 *
 * Threads: any, with the lock of the table's log; without it only what says so. */

#include "agent_page.h"
#include "agent_query.h"
#include "agent_reader.h"
#include "follow.h"

enum {
    AGENT_TABLE_AGENTS_MAX = 10000,
    AGENT_TABLE_BYTES_MAX = 64 * 1024 * 1024,
    AGENT_TABLE_PERIOD_MS = 1000, /* an agent changes at most so often */
};

struct agent_table;

/* `schema`: of the protocol; borrowed, like the channel.  Owns: a new table.  Without the lock. */
enum parley_status agent_table_create(const struct channel *channel,
                                      const struct parley_schema *schema,
                                      struct agent_table **out) PARLEY_MUST_CHECK;
/* All listeners have left. NULL is allowed.  Without the lock. */
void agent_table_destroy(struct agent_table *table);

struct change_log *agent_table_changes(struct agent_table *table);

/* A reading begins: it will note all messages that there are. */
void agent_table_begin_reading(struct agent_table *table);
/* It has noted them: the table is whole. */
void agent_table_end_reading(struct agent_table *table);
/* What comes cannot be read at present: it is not whole until a reading has ended. */
void agent_table_set_away(struct agent_table *table);
/* No list is followed: forgets everything. */
void agent_table_clear(struct agent_table *table);

/* Takes in what a message says. An older one than is known of that agent and part says nothing.
 * `now_ns`: Unix time. */
enum parley_status agent_table_note(struct agent_table *table, const struct agent_news *news,
                                    int64_t now_ns) PARLEY_MUST_CHECK;
/* Tells what has changed by the clock, and what was kept back for the period. To be called once a
 * period. */
void agent_table_tick(struct agent_table *table, int64_t now_ns);

/* A choice of agents. */
struct agent_watching {
    unsigned states;   /* bit I: enum agent_state */
    const char *value; /* for parley_agents.matches; NULL: every agent.  Borrowed */
    const char *own;   /* as in agent_reader_options.  Borrowed */
    int64_t now_ns;    /* of the present look */
};
/* Of an agent_table, with an agent_watching as filter. */
extern const struct follow_ops agent_table_follow_ops;
