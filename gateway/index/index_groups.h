/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lists of groups of messages by a name that they share, in the order of the names: of each the
 * count, the first and the last, and the other names in it; and what a list adds. The cursor is the
 * last name. */

#include "index_asking.h"

struct index_group_list {
    const char *member;            /* "thread" */
    const char *members;           /* of the names in a group: "who" */
    const char *const *statements; /* INDEX_GROUP_NAMES and INDEX_GROUP_MESSAGES */
    bool is_of_senders;            /* else of threads */
    /* What the list adds, all NULL if nothing. The messages of a group come in the order of
     * storage; what does not fit sets asking->is_cut. `write` appends members: ,"name":value */
    void *context;
    void (*begin)(void *context);
    void (*take)(void *context, const struct index_message *message);
    void (*write)(void *context, struct parley_buffer *out);
};

enum { INDEX_GROUP_NAMES, INDEX_GROUP_MESSAGES };

#define INDEX_THREAD_NAMES_SQL                                                                     \
    "SELECT thread FROM messages WHERE protocol=?1 AND thread>?2 ORDER BY thread LIMIT 1"
#define INDEX_THREAD_MESSAGES_SQL                                                                  \
    "SELECT " INDEX_COLUMNS " FROM messages m WHERE m.protocol=?1 AND m.thread=?2 "                \
    "ORDER BY m.stored, m.pos"

/* `only`: the one group that is wanted; NULL: all.  Returns: as a view. */
enum index_answered index_groups_write(struct index_asking *asking,
                                       const struct index_group_list *list, const char *only);
