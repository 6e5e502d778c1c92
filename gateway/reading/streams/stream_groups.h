/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Readers that wait for new events of one stream, by their filters: those with the same filters are
 * a group, and a group is found by the values in an event. So the cost of an event grows with the
 * groups that it may concern, not with the readers that wait. */

#include <sys/queue.h>

#include "stream_event.h"

struct stream_member; /* stream_hub.h */
LIST_HEAD(stream_members, stream_member);

/* A value of a filter, by which its group is found. */
struct stream_group_key {
    enum stream_filter filter;
    struct parley_bytes value;
    struct stream_group *group;
    LIST_ENTRY(stream_group_key) link;
};

struct stream_group {
    struct stream_query query; /* only its filters; their texts are after the keys */
    uint64_t number;           /* of all groups of its hub, from 1 on */
    size_t reference_count;
    struct stream_members parked; /* they wait, and have passed everything that is stored */
    LIST_ENTRY(stream_group) link;
    size_t key_count;
    struct stream_group_key keys[];
};

LIST_HEAD(stream_group_list, stream_group);
LIST_HEAD(stream_group_chain, stream_group_key);

struct stream_groups {
    struct stream_group_list indexed[STREAM_FILTER_COUNT]; /* by the filter of their keys */
    struct stream_group_list others;                       /* each event is compared with them */
    struct stream_group_chain *chains;                     /* NULL: not needed so far */
    uint64_t count;                                        /* of the groups so far */
    unsigned char seed[16];
};

typedef void stream_group_fn(void *context, struct stream_group *group);

void stream_groups_init(struct stream_groups *groups);
/* All groups must have been left. */
void stream_groups_finish(struct stream_groups *groups);

/* Returns: the group with these filters; NULL: out of memory.  Owns: returns a reference, which
 * stream_groups_leave gives back; copies the parts of the query that it needs. */
struct stream_group *stream_groups_join(struct stream_groups *groups,
                                        const struct stream_query *query);
/* NULL is allowed. */
void stream_groups_leave(struct stream_group *group);

/* Whether the event passes its filters. Its readers ask one after the other, and the first one
 * answers for all.  `event`: of the hub. */
static inline bool stream_group_passes(const struct stream_group *group,
                                       struct stream_event *event) {
    if (event->compared != group->number) {
        event->is_match = stream_event_matches(event, &group->query);
        event->compared = group->number;
    }
    return event->is_match;
}

/* Calls `found` for each group that the event matches and that has parked members. It may take
 * members out of that group.  Returns: with how many groups the event was compared. */
size_t stream_groups_match(struct stream_groups *groups, const struct stream_event *event,
                           stream_group_fn *found, void *context);
/* Calls `found` for each group that has parked members. */
void stream_groups_each(struct stream_groups *groups, stream_group_fn *found, void *context);
