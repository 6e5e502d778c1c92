/* SPDX-License-Identifier: Apache-2.0 */

/* A group is entered under each value of one of its filters, the one that is likely to be the
 * rarest. A reader that filters for very many values, or for nothing, is asked each time. Values
 * come from readers, so they are hashed with a key of our own; and without their case, since some
 * events have a thread that may be written in either. The filters themselves decide afterwards. */

#include "stream_groups.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CHAIN_COUNT = 4096, KEYS_MAX = 16, HASHED_MAX = 256 };

/* The rarest first: many agents have a thread or a name, few messages have a given one. */
static const enum stream_filter RAREST_FIRST[STREAM_OPTION_COUNT] = {
    STREAM_FILTER_THREAD, STREAM_FILTER_RECEIVER, STREAM_FILTER_SENDER,
    STREAM_FILTER_AGENT,  STREAM_FILTER_FOR,      STREAM_FILTER_DOMAIN,
    STREAM_FILTER_LANE,   STREAM_FILTER_TYPE,     STREAM_FILTER_PRIORITY};

void stream_groups_init(struct stream_groups *groups) {
    *groups = (struct stream_groups){.chains = NULL};
    for (size_t i = 0; i < STREAM_FILTER_COUNT; i++) {
        LIST_INIT(&groups->indexed[i]);
    }
    LIST_INIT(&groups->others);
}

void stream_groups_finish(struct stream_groups *groups) {
    free(groups->chains);
    groups->chains = NULL;
}

static bool make_chains(struct stream_groups *groups) {
    if (groups->chains == NULL) {
        groups->chains = calloc(CHAIN_COUNT, sizeof groups->chains[0]);
        randombytes_buf(groups->seed, sizeof groups->seed);
    }
    return groups->chains != NULL;
}

static struct stream_group_chain *chain_of(const struct stream_groups *groups,
                                           enum stream_filter filter, struct parley_bytes value) {
    char folded[HASHED_MAX]; /* all but very long ones: these share a chain if they begin alike */
    const size_t length = value.length < sizeof folded ? value.length : sizeof folded;
    for (size_t i = 0; i < length; i++) {
        const bool is_capital = value.data[i] >= 'A' && value.data[i] <= 'Z';
        folded[i] = (char)(value.data[i] + (is_capital ? 'a' - 'A' : 0));
    }
    uint64_t hash;
    _Static_assert(sizeof hash == crypto_shorthash_BYTES, "it is as long as that");
    crypto_shorthash((unsigned char *)&hash, (const unsigned char *)folded, length, groups->seed);
    return &groups->chains[(hash + filter) % CHAIN_COUNT];
}

static bool is_key(const struct stream_group_key *key, enum stream_filter filter,
                   struct parley_bytes value) {
    return key->filter == filter && key->value.length == value.length &&
           strncasecmp(key->value.data, value.data, value.length) == 0;
}

/* ---- joining and leaving ---- */

static bool has_filters(const struct stream_group *group, const struct stream_query *query) {
    for (size_t i = 0; i < STREAM_FILTER_COUNT; i++) {
        const char *ours = group->query.filters[i], *theirs = query->filters[i];
        if ((ours == NULL) != (theirs == NULL) || (ours != NULL && strcmp(ours, theirs) != 0)) {
            return false;
        }
    }
    return true;
}

static size_t count_items(const char *list) {
    size_t count = 0;
    for (; list != NULL; count++) {
        stream_list_next(&list);
    }
    return count;
}

/* The filter to find it by.  Returns: how many values that has; 0: none will do. */
static size_t choose_filter(const struct stream_query *query, enum stream_filter *out) {
    for (size_t i = 0; i < STREAM_OPTION_COUNT; i++) {
        size_t count = count_items(query->filters[RAREST_FIRST[i]]);
        if (count > 0 && count <= KEYS_MAX) {
            *out = RAREST_FIRST[i];
            return count;
        }
    }
    return 0;
}

static struct stream_group *find_group(const struct stream_groups *groups,
                                       const struct stream_query *query, size_t key_count,
                                       enum stream_filter filter) {
    if (key_count == 0) {
        struct stream_group *group;
        LIST_FOREACH(group, &groups->others, link) {
            if (has_filters(group, query)) {
                return group;
            }
        }
        return NULL;
    }
    const char *list = query->filters[filter];
    struct parley_bytes first = stream_list_next(&list);
    struct stream_group_key *key;
    LIST_FOREACH(key, chain_of(groups, filter, first), link) {
        if (is_key(key, filter, first) && has_filters(key->group, query)) {
            return key->group;
        }
    }
    return NULL;
}

static void copy_filters(struct stream_group *group, const struct stream_query *query,
                         char *space) {
    for (size_t i = 0; i < STREAM_FILTER_COUNT; i++) {
        if (query->filters[i] != NULL) {
            stream_query_filter(&group->query, (enum stream_filter)i, space);
            space = stpcpy(space, query->filters[i]) + 1;
        }
    }
}

static struct stream_group *make_group(const struct stream_query *query, size_t key_count) {
    size_t size = sizeof(struct stream_group) + key_count * sizeof(struct stream_group_key);
    size_t texts_size = 0;
    for (size_t i = 0; i < STREAM_FILTER_COUNT; i++) {
        texts_size += query->filters[i] != NULL ? strlen(query->filters[i]) + 1 : 0;
    }
    struct stream_group *group = calloc(1, size + texts_size);
    if (group != NULL) {
        group->key_count = key_count;
        copy_filters(group, query, (char *)group + size);
    }
    return group;
}

static void index_group(struct stream_groups *groups, struct stream_group *group,
                        enum stream_filter filter) {
    const char *list = group->query.filters[filter];
    for (size_t i = 0; i < group->key_count; i++) {
        struct stream_group_key *key = &group->keys[i];
        *key = (struct stream_group_key){
            .filter = filter, .value = stream_list_next(&list), .group = group};
        LIST_INSERT_HEAD(chain_of(groups, filter, key->value), key, link);
    }
}

struct stream_group *stream_groups_join(struct stream_groups *groups,
                                        const struct stream_query *query) {
    enum stream_filter filter = STREAM_FILTER_TYPE;
    size_t key_count = choose_filter(query, &filter);
    if (key_count > 0 && !make_chains(groups)) {
        return NULL;
    }
    struct stream_group *group = find_group(groups, query, key_count, filter);
    if (group == NULL) {
        group = make_group(query, key_count);
        if (group == NULL) {
            return NULL;
        }
        group->number = ++groups->count;
        if (key_count > 0) {
            index_group(groups, group, filter);
        }
        LIST_INSERT_HEAD(key_count > 0 ? &groups->indexed[filter] : &groups->others, group, link);
    }
    group->reference_count++;
    return group;
}

void stream_groups_leave(struct stream_group *group) {
    if (group == NULL || --group->reference_count > 0) {
        return;
    }
    for (size_t i = 0; i < group->key_count; i++) {
        LIST_REMOVE(&group->keys[i], link);
    }
    LIST_REMOVE(group, link);
    free(group);
}

/* ---- an event ---- */

struct matching {
    const struct stream_groups *groups;
    const struct stream_event *event;
    stream_group_fn *found;
    void *context;
    size_t held_count;
};

static void hold_against(struct matching *matching, struct stream_group *group) {
    if (LIST_EMPTY(&group->parked)) {
        return;
    }
    matching->held_count++;
    if (stream_event_matches(matching->event, &group->query)) {
        matching->found(matching->context, group);
    }
}

static void look_up(struct matching *matching, enum stream_filter filter,
                    struct parley_bytes value) {
    struct stream_group_key *key;
    if (value.data == NULL || LIST_EMPTY(&matching->groups->indexed[filter])) {
        return;
    }
    LIST_FOREACH(key, chain_of(matching->groups, filter, value), link) {
        if (is_key(key, filter, value)) {
            hold_against(matching, key->group);
        }
    }
}

/* An event for all receivers concerns all groups that ask for a receiver. */
static void look_up_receivers(struct matching *matching) {
    const struct stream_event *event = matching->event;
    struct stream_group *group;
    for (size_t i = 0; i < event->receiver_count; i++) {
        look_up(matching, STREAM_FILTER_RECEIVER, event->receivers[i]);
        look_up(matching, STREAM_FILTER_FOR, event->receivers[i]);
    }
    if (event->is_for_all) {
        LIST_FOREACH(group, &matching->groups->indexed[STREAM_FILTER_FOR], link) {
            hold_against(matching, group);
        }
    }
}

static void look_up_all(struct matching *matching) {
    const struct parley_bytes *facts = matching->event->facts;
    for (size_t i = 0; i < STREAM_FACT_COUNT; i++) {
        look_up(matching, (enum stream_filter)i, facts[i]);
    }
    look_up(matching, STREAM_FILTER_TYPE, stream_type_name(facts[STREAM_FILTER_TYPE]));
    look_up_receivers(matching);
}

size_t stream_groups_match(struct stream_groups *groups, const struct stream_event *event,
                           stream_group_fn *found, void *context) {
    struct matching matching = {
        .groups = groups, .event = event, .found = found, .context = context};
    struct stream_group *group;
    LIST_FOREACH(group, &groups->others, link) {
        hold_against(&matching, group);
    }
    if (groups->chains != NULL) {
        look_up_all(&matching);
    }
    return matching.held_count;
}

static void each_of(const struct stream_group_list *list, stream_group_fn *found, void *context) {
    struct stream_group *group;
    LIST_FOREACH(group, list, link) {
        if (!LIST_EMPTY(&group->parked)) {
            found(context, group);
        }
    }
}

void stream_groups_each(struct stream_groups *groups, stream_group_fn *found, void *context) {
    for (size_t i = 0; i < STREAM_FILTER_COUNT; i++) {
        each_of(&groups->indexed[i], found, context);
    }
    each_of(&groups->others, found, context);
}
