/* SPDX-License-Identifier: Apache-2.0 */

/* The views threads and senders: in the order of their names, each with the count of its messages,
 * the first and the last, and who sent them. The cursor is the last name. */

#include "index_messages.h"

#include <inttypes.h>
#include <stdio.h>

#include "agent_page.h"

enum { NAMES_MAX = 64, NAME_BYTES = INDEX_TEXT_MAX, NS_A_MS = 1000000 };

enum { NEXT_NAME, MESSAGES_OF };

#define COLUMNS_OF "SELECT " INDEX_COLUMNS " FROM messages m WHERE m.protocol=?1 AND "

const char *const index_threads_statements[] = {
    [NEXT_NAME] = "SELECT thread FROM messages WHERE protocol=?1 AND thread>?2 ORDER BY thread "
                  "LIMIT 1",
    [MESSAGES_OF] = COLUMNS_OF "m.thread=?2 ORDER BY m.stored, m.pos",
    NULL,
};

const char *const index_senders_statements[] = {
    [NEXT_NAME] = "SELECT sender FROM messages WHERE protocol=?1 AND sender>?2 ORDER BY sender "
                  "LIMIT 1",
    [MESSAGES_OF] = COLUMNS_OF "m.sender=?2 ORDER BY m.stored, m.pos",
    NULL,
};

struct group {
    const char *member; /* "thread" */
    char name[NAME_BYTES + 1];
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
static void take(struct group *group, const struct index_message *message, bool is_of_senders) {
    if (group->count++ == 0) {
        group->first = message->at;
    }
    group->last = message->at;
    add_who(group, is_of_senders ? message->thread : message->sender);
}

static void read_group(struct index_asking *asking, const char *const *statements,
                       bool is_of_senders, struct group *group) {
    sqlite3_stmt *find = index_prepare(asking, statements[MESSAGES_OF]);
    sqlite3_bind_int64(find, 1, asking->question->protocol);
    index_bind_text(find, 2, (struct parley_bytes){group->name, group->name_length});
    while (index_step(asking, find)) {
        struct index_message message;
        if (asking->rows_read == INDEX_ROWS_MAX) {
            group->is_cut = true;
            break;
        }
        asking->rows_read++;
        index_message_read(find, &message);
        if (index_is_visible(asking, &message)) {
            take(group, &message, is_of_senders);
        }
    }
    sqlite3_finalize(find);
}

static void write_group(struct index_asking *asking, const struct group *group,
                        bool is_of_senders) {
    char first[AGENT_TIME_SIZE], last[AGENT_TIME_SIZE];
    struct parley_buffer *out = asking->out;
    agent_time_text(group->first.stored * NS_A_MS, first);
    agent_time_text(group->last.stored * NS_A_MS, last);
    index_item_begin(asking);
    parley_buffer_format(out, "{\"%s\":", group->member);
    parley_buffer_json(out, (struct parley_bytes){group->name, group->name_length});
    parley_buffer_format(out, ",\"count\":%" PRIu64 ",\"first\":\"%s\",\"last\":\"%s\",\"%s\":[",
                         group->count, first, last, is_of_senders ? "threads" : "who");
    parley_buffer_append(out, parley_buffer_bytes(&group->who));
    parley_buffer_text(out, group->is_cut ? "],\"more\":true" : "]");
    index_item_end(asking);
}

/* Returns: false: there is no name after it. */
static bool find_next(struct index_asking *asking, const char *const *statements,
                      struct group *group) {
    sqlite3_stmt *find = index_prepare(asking, statements[NEXT_NAME]);
    sqlite3_bind_int64(find, 1, asking->question->protocol);
    index_bind_text(find, 2, (struct parley_bytes){group->name, group->name_length});
    const bool is_found = index_step(asking, find);
    if (is_found) {
        const int length = sqlite3_column_bytes(find, 0);
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
                     struct parley_bytes name, bool is_of_senders) {
    char digest[INDEX_DIGEST_SIZE], thread[INDEX_TEXT_MAX];
    set_name(group, is_of_senders ? index_short_text(name, digest)
                                  : index_thread_text(protocol, name, thread));
}

static void answer_group(struct index_asking *asking, const char *const *statements,
                         bool is_of_senders, struct group *group) {
    group->count = group->who_count = 0;
    group->is_cut = false;
    parley_buffer_clear(&group->who);
    read_group(asking, statements, is_of_senders, group);
    if (group->count > 0) {
        write_group(asking, group, is_of_senders);
    }
}

static enum index_answered write_groups(struct index_asking *asking, const char *const *statements,
                                        bool is_of_senders) {
    const char *const *values = asking->question->values;
    const char *only = values[is_of_senders ? INDEX_SENDER : INDEX_THREAD];
    const struct parley_protocol *protocol = parley_protocols[asking->question->protocol];
    struct group group = {.member = is_of_senders ? "sender" : "thread"};
    const char *next = NULL;
    parley_buffer_init(&group.who);
    if (only != NULL) {
        set_only(&group, protocol, parley_bytes_of(only), is_of_senders);
        answer_group(asking, statements, is_of_senders, &group);
    } else {
        set_name(&group, parley_bytes_of(values[INDEX_CURSOR] != NULL ? values[INDEX_CURSOR] : ""));
        while (next == NULL && find_next(asking, statements, &group)) {
            answer_group(asking, statements, is_of_senders, &group);
            const bool is_full = asking->item_count == asking->question->limit ||
                                 asking->rows_read >= INDEX_ROWS_MAX;
            next = is_full ? group.name : NULL;
        }
    }
    index_list_end(asking, next);
    asking->out->has_failed = asking->out->has_failed || group.who.has_failed;
    parley_buffer_finish(&group.who);
    return asking->answered;
}

enum index_answered index_threads_write(struct index_asking *asking) {
    return write_groups(asking, index_threads_statements, false);
}

enum index_answered index_senders_write(struct index_asking *asking) {
    return write_groups(asking, index_senders_statements, true);
}
