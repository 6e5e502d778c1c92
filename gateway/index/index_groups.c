/* SPDX-License-Identifier: Apache-2.0 */

/* The views threads and senders, and what lists of groups have in common. A group that does not fit
 * into the rest of a page begins the next one; one that fits into no page is cut. */

#include "index_groups.h"

#include <inttypes.h>
#include <stdio.h>

#include "agent_page.h"
#include "index_messages.h"

enum { NAMES_MAX = 64, NAME_BYTES = INDEX_TEXT_MAX, NS_A_MS = 1000000 };

const char *const index_threads_statements[] = {
    [INDEX_GROUP_NAMES] = INDEX_THREAD_NAMES_SQL,
    [INDEX_GROUP_MESSAGES] = INDEX_THREAD_MESSAGES_SQL,
    NULL,
};

const char *const index_senders_statements[] = {
    [INDEX_GROUP_NAMES] =
        "SELECT sender FROM messages WHERE protocol=?1 AND sender>?2 ORDER BY sender LIMIT 1",
    [INDEX_GROUP_MESSAGES] =
        "SELECT " INDEX_COLUMNS " FROM messages m WHERE m.protocol=?1 AND m.sender=?2 "
        "ORDER BY m.stored, m.pos",
    NULL,
};

struct group {
    const struct index_group_list *list;
    char name[NAME_BYTES + 1], before[NAME_BYTES + 1]; /* … and the name before */
    size_t name_length;
    uint64_t count;
    struct index_cursor first, last;
    struct parley_buffer who; /* JSON texts, with commas between them */
    size_t who_count;
    bool is_cut; /* it has more messages than a page reads, or more names */
};

static void add_who(struct group *group, struct parley_bytes name) {
    struct parley_buffer text;
    if (name.data == NULL) {
        return;
    }
    parley_buffer_init(&text);
    parley_buffer_json(&text, name);
    parley_buffer_char(&text, '\0');
    parley_buffer_char(&group->who, '\0');
    const bool is_there = !text.has_failed && !group->who.has_failed && group->who_count > 0 &&
                          strstr(group->who.data, text.data) != NULL;
    group->who.length--;
    if (!is_there && group->who_count == NAMES_MAX) {
        group->is_cut = true;
    } else if (!is_there) {
        parley_buffer_text(&group->who, group->who_count++ > 0 ? "," : "");
        parley_buffer_json(&group->who, name);
    }
    parley_buffer_finish(&text);
}

/* Of a sender it is the threads' names, of a thread the senders'. */
static void take(struct group *group, const struct index_message *message) {
    const struct index_group_list *list = group->list;
    if (group->count++ == 0) {
        group->first = message->at;
    }
    group->last = message->at;
    add_who(group, list->is_of_senders ? message->thread : message->sender);
    if (list->take != NULL) {
        list->take(list->context, message);
    }
}

static void read_group(struct index_asking *asking, struct group *group) {
    sqlite3_stmt *find = index_prepare(asking, group->list->statements[INDEX_GROUP_MESSAGES]);
    sqlite3_bind_int64(find, 1, asking->question->protocol);
    index_bind_text(find, 2, (struct parley_bytes){group->name, group->name_length});
    while (index_step(asking, find) && index_may_read(asking)) {
        struct index_message message;
        index_message_read(find, &message);
        if (index_is_visible(asking, &message)) {
            take(group, &message);
        }
    }
    sqlite3_finalize(find);
}

static void write_group(struct index_asking *asking, const struct group *group) {
    const struct index_group_list *list = group->list;
    char first[AGENT_TIME_SIZE], last[AGENT_TIME_SIZE];
    struct parley_buffer *out = asking->out;
    agent_time_text(group->first.stored * NS_A_MS, first);
    agent_time_text(group->last.stored * NS_A_MS, last);
    index_item_begin(asking);
    parley_buffer_format(out, "{\"%s\":", list->member);
    parley_buffer_json(out, (struct parley_bytes){group->name, group->name_length});
    parley_buffer_format(out, ",\"count\":%" PRIu64 ",\"first\":\"%s\",\"last\":\"%s\",\"%s\":[",
                         group->count, first, last, list->members);
    parley_buffer_append(out, parley_buffer_bytes(&group->who));
    parley_buffer_char(out, ']');
    if (list->write != NULL) {
        list->write(list->context, out);
    }
    parley_buffer_text(out, asking->is_cut || group->is_cut ? ",\"more\":true" : "");
    index_item_end(asking);
}

/* Returns: false: there is no name after it. */
static bool find_next(struct index_asking *asking, struct group *group) {
    sqlite3_stmt *find = index_prepare(asking, group->list->statements[INDEX_GROUP_NAMES]);
    sqlite3_bind_int64(find, 1, asking->question->protocol);
    index_bind_text(find, 2, (struct parley_bytes){group->name, group->name_length});
    const bool is_found = index_step(asking, find);
    if (is_found) {
        const int length = sqlite3_column_bytes(find, 0);
        memcpy(group->before, group->name, sizeof group->before);
        group->name_length = (size_t)(length <= NAME_BYTES ? length : NAME_BYTES);
        memcpy(group->name, sqlite3_column_text(find, 0), group->name_length);
        group->name[group->name_length] = '\0';
    }
    sqlite3_finalize(find);
    return is_found;
}

static void set_name(struct group *group, struct parley_bytes name) {
    group->name_length = name.length < NAME_BYTES ? name.length : NAME_BYTES;
    memcpy(group->name, name.data, group->name_length);
    group->name[group->name_length] = '\0';
}

/* As it is kept. */
static void set_only(struct group *group, const struct parley_protocol *protocol,
                     struct parley_bytes name) {
    char digest[INDEX_DIGEST_SIZE], thread[INDEX_TEXT_MAX];
    set_name(group, group->list->is_of_senders ? index_short_text(name, digest)
                                               : index_thread_text(protocol, name, thread));
}

/* Returns: false: there was no room for it after other groups of the page. */
static bool answer_group(struct index_asking *asking, struct group *group) {
    group->count = group->who_count = 0;
    group->is_cut = asking->is_cut = false;
    parley_buffer_clear(&group->who);
    if (group->list->begin != NULL) {
        group->list->begin(group->list->context);
    }
    read_group(asking, group);
    if (asking->is_cut && asking->rows_read >= INDEX_ROWS_MAX && asking->item_count > 0) {
        return false;
    }
    if (group->count > 0) {
        write_group(asking, group);
    }
    return true;
}

/* Returns: the name after which the next page begins; NULL: there is none. */
static const char *answer_all(struct index_asking *asking, struct group *group) {
    while (find_next(asking, group)) {
        if (!answer_group(asking, group)) {
            return group->before;
        }
        if (asking->item_count == asking->question->limit || asking->rows_read >= INDEX_ROWS_MAX) {
            return group->name;
        }
    }
    return NULL;
}

enum index_answered index_groups_write(struct index_asking *asking,
                                       const struct index_group_list *list, const char *only) {
    const char *cursor = asking->question->values[INDEX_CURSOR];
    struct group group = {.list = list};
    const char *next = NULL;
    parley_buffer_init(&group.who);
    if (only != NULL) {
        set_only(&group, parley_protocols[asking->question->protocol], parley_bytes_of(only));
        answer_group(asking, &group);
    } else {
        set_name(&group, parley_bytes_of(cursor != NULL ? cursor : ""));
        next = answer_all(asking, &group);
    }
    index_list_end(asking, next);
    asking->out->has_failed = asking->out->has_failed || group.who.has_failed;
    parley_buffer_finish(&group.who);
    return asking->answered;
}

enum index_answered index_threads_write(struct index_asking *asking) {
    const struct index_group_list list = {
        .member = "thread", .members = "who", .statements = index_threads_statements};
    return index_groups_write(asking, &list, asking->question->values[INDEX_THREAD]);
}

enum index_answered index_senders_write(struct index_asking *asking) {
    const struct index_group_list list = {.member = "sender",
                                          .members = "threads",
                                          .statements = index_senders_statements,
                                          .is_of_senders = true};
    return index_groups_write(asking, &list, asking->question->values[INDEX_SENDER]);
}
