/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Readers that wait for what is new in one stream, by what they filter for: those with the same
 * filters are a group, and a group is found by what an event bears. So an event costs as much as
 * there are groups that it may concern, however many others wait. */

#include <sys/queue.h>

#include "stream_event.h"

struct stream_cursor;
LIST_HEAD(stream_cursors, stream_cursor);

/* A value of a filter, by which its group is found. */
struct stream_group_key {
    enum stream_filter filter;
    struct parley_bytes value;
    struct stream_group *group;
    LIST_ENTRY(stream_group_key) link;
};

struct stream_group {
    struct stream_query query; /* its filters alone; their texts lie behind the keys */
    size_t reference_count;
    struct stream_cursors parked; /* who waits, having passed all that there is */
    LIST_ENTRY(stream_group) link;
    size_t key_count;
    struct stream_group_key keys[];
};

LIST_HEAD(stream_group_list, stream_group);
LIST_HEAD(stream_group_chain, stream_group_key);

struct stream_groups {
    struct stream_group_list indexed[STREAM_FILTER_COUNT]; /* by the filter of their keys */
    struct stream_group_list others;                       /* each event is held against them */
    struct stream_group_chain *chains;                     /* NULL: not needed yet */
    unsigned char seed[16];
};

typedef void stream_group_fn(void *context, struct stream_group *group);

void stream_groups_init(struct stream_groups *groups);
/* All groups have been left. */
void stream_groups_finish(struct stream_groups *groups);

/* The group with these filters.  Owns: the caller, until it leaves; nothing of the query is kept.
 * Returns: NULL without memory. */
struct stream_group *stream_groups_join(struct stream_groups *groups,
                                        const struct stream_query *query);
/* NULL is fine. */
void stream_groups_leave(struct stream_group *group);

/* Calls `found` for each group that the event matches and in which somebody is parked. It may take
 * cursors out of that group.  Returns: against how many groups the event was held. */
size_t stream_groups_match(struct stream_groups *groups, const struct stream_event *event,
                           stream_group_fn *found, void *context);
/* Calls it for each group in which somebody is parked. */
void stream_groups_each(struct stream_groups *groups, stream_group_fn *found, void *context);
