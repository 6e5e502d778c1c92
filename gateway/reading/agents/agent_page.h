/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One page of agents while it is read. Messages come in any order; the page keeps the agents with
 * the first names after a given one. When it is full the last name goes: it cannot come back, since
 * all that are kept are before it. So its memory is bounded, however many agents there are. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/agents.h>

enum agent_state { AGENT_ALIVE, AGENT_LATE, AGENT_LOST, AGENT_STATE_COUNT };
extern const char *const agent_state_names[]; /* ends with NULL */

struct agent_part {
    uint64_t sequence; /* of its message; 0: there is none */
    size_t length;
    char *text;      /* members, each with a comma in front */
    int64_t time_ns; /* when its message was stored, Unix time */
};

struct agent_entry {
    char *name; /* as in subjects */
    uint64_t beat_sequence;
    int64_t beat_ns; /* when it was stored, Unix time */
    bool is_match;   /* its beat is one of those asked for */
    size_t size_bytes;
    struct agent_part parts[PARLEY_AGENT_PARTS_MAX];
};

struct agent_page {
    const char *after; /* only names after it, "": all; borrowed */
    size_t count_max, bytes_max;
    size_t count, bytes;
    size_t capacity;
    struct agent_entry *entries; /* in the order of names */
    bool has_more;               /* names after the last one were dropped */
};

/* `after`: borrowed for the page's life. */
void agent_page_init(struct agent_page *page, const char *after, size_t count_max,
                     size_t bytes_max);
void agent_page_finish(struct agent_page *page);

/* The report of a message on an agent.  Owns: borrowed. */
struct agent_news {
    struct parley_bytes name;
    unsigned part;
    struct parley_bytes text;
    uint64_t sequence;
    bool is_beat;
    int64_t time_ns;
    bool is_match;

    /* With agent_reader_options.is_kept: */
    unsigned source;             /* index into parley_agents.sources */
    const char *subject;         /* on which it is stored */
    struct parley_bytes payload; /* empty: is_unread */
    bool has_guarded;            /* who may not read private messages gets another text: */
    struct parley_bytes guarded;
    size_t size_bytes; /* as in parley_agent_report, like: */
    const char *id;
};
enum parley_status agent_page_note(struct agent_page *page,
                                   const struct agent_news *news) PARLEY_MUST_CHECK;

/* By the time of its beat. */
enum agent_state agent_state_of(const struct agent_entry *entry, const struct parley_agents *agents,
                                int64_t now_ns);
/* Whether it is lost without having been told to end. One that beats longer than an agent may be
 * late after it was told lives on; one without a beat was never there.  `out_at_ns`: when its last
 * beat became too old, or becomes so. */
bool agent_is_missed(const struct agent_entry *entry, const struct parley_agents *agents,
                     int64_t now_ns, int64_t *out_at_ns);
/* The name without its percent-encoding, in which subjects have it. */
void agent_plain_name(const char *name, struct parley_buffer *out);
/* Appends the agent as a JSON object. */
void agent_entry_write(const struct agent_entry *entry, const struct parley_agents *agents,
                       int64_t now_ns, struct parley_buffer *out);

/* Whole seconds between two Unix times, 0 if the clock of the server that stored it is ahead. */
static inline int64_t agent_age_seconds(int64_t time_ns, int64_t now_ns) {
    return now_ns > time_ns ? (now_ns - time_ns) / 1000000000 : 0;
}
/* RFC 3339, in milliseconds. */
#define AGENT_TIME_SIZE sizeof "2000-01-01T00:00:00.000Z"
void agent_time_text(int64_t time_ns, char out[AGENT_TIME_SIZE]);
