/* SPDX-License-Identifier: Apache-2.0 */

/* The view messages: one parameter, the one that most likely names few, drives the search by an
 * index; the others are compared with each row that it finds. */

#include "index_messages.h"

#include "index_search.h"

/* ?1: the key or the text; ?2, ?3: stored between; ?4: after this place; ?5: the protocol. */
#define FROM_MESSAGES "SELECT " INDEX_COLUMNS " FROM messages m WHERE "
#define PAGE                                                                                       \
    " AND m.stored>=?2 AND m.stored<=?3 AND (m.stored>?2 OR m.pos>?4) ORDER BY m.stored, m.pos"
#define FROM_OTHER(table) "SELECT " INDEX_COLUMNS " FROM " table " o CROSS JOIN messages m "
#define OTHER_PAGE                                                                                 \
    " AND o.stored>=?2 AND o.stored<=?3 AND (o.stored>?2 OR o.pos>?4) ORDER BY o.stored, o.pos"

enum driver {
    BY_ID,
    BY_TARGET,
    BY_KEYWORD,
    BY_THREAD,
    BY_RECEIVER,
    BY_SENDER,
    BY_TIME,
    DRIVER_COUNT,
};

enum { HAS_TARGET = DRIVER_COUNT, HAS_RECEIVER };

const char *const index_messages_statements[] = {
    [BY_ID] = FROM_MESSAGES "m.id_key=?1" PAGE,
    [BY_TARGET] =
        FROM_OTHER("refs") "WHERE m.pos=o.pos AND o.is_label=0 AND o.target_key=?1" OTHER_PAGE,
    [BY_KEYWORD] =
        FROM_OTHER("refs") "WHERE m.pos=o.pos AND o.is_label=1 AND o.target_key=?1" OTHER_PAGE,
    [BY_THREAD] = FROM_MESSAGES "m.protocol=?5 AND m.thread=?1" PAGE,
    [BY_RECEIVER] = FROM_OTHER("receivers") "WHERE m.pos=o.pos AND o.receiver_key=?1" OTHER_PAGE,
    [BY_SENDER] = FROM_MESSAGES "m.protocol=?5 AND m.sender=?1" PAGE,
    [BY_TIME] = FROM_MESSAGES "m.protocol=?5" PAGE,
    [HAS_TARGET] = "SELECT target FROM refs WHERE pos=?1 AND target_key=?2 AND is_label=?3",
    [HAS_RECEIVER] = "SELECT receiver FROM receivers WHERE pos=?1 AND receiver_key=?2",
    NULL,
};

static const enum index_option options_of_drivers[] = {
    [BY_ID] = INDEX_ID,
    [BY_TARGET] = INDEX_REFERS_TO,
    [BY_KEYWORD] = INDEX_KEYWORD,
    [BY_THREAD] = INDEX_THREAD,
    [BY_RECEIVER] = INDEX_RECEIVER,
    [BY_SENDER] = INDEX_SENDER,
    [BY_TIME] = INDEX_OPTION_COUNT,
};

static const char *value_of(const struct index_asking *asking, enum index_option option) {
    return option < INDEX_OPTION_COUNT ? asking->question->values[option] : NULL;
}

static enum driver choose(const struct index_asking *asking) {
    enum driver driver = BY_ID;
    while (driver < BY_TIME && value_of(asking, options_of_drivers[driver]) == NULL) {
        driver++;
    }
    return driver;
}

/* ---- the other parameters ---- */

static bool has_other(struct index_asking *asking, const struct index_message *message,
                      size_t statement, const char *wanted, int is_label) {
    char room[INDEX_DIGEST_SIZE];
    const struct parley_bytes kept = index_short_text(parley_bytes_of(wanted), room);
    sqlite3_stmt *find = index_prepare(asking, index_messages_statements[statement]);
    bool is_there = false;
    sqlite3_bind_int64(find, 1, message->at.pos);
    sqlite3_bind_int64(find, 2, index_key(asking->secret, kept));
    if (statement == HAS_TARGET) {
        sqlite3_bind_int(find, 3, is_label);
    }
    while (!is_there && index_step(asking, find)) {
        is_there = index_texts_equal(message->protocol, index_column_text(find, 0), kept);
    }
    sqlite3_finalize(find);
    return is_there;
}

static bool is_sender(const struct index_asking *asking, const struct index_message *message) {
    char room[INDEX_DIGEST_SIZE];
    const char *wanted = value_of(asking, INDEX_SENDER);
    return wanted == NULL ||
           parley_bytes_equal(message->sender, index_short_text(parley_bytes_of(wanted), room));
}

static bool is_text(const struct index_asking *asking, const struct index_message *message,
                    enum index_option option, struct parley_bytes text) {
    char room[INDEX_DIGEST_SIZE];
    const char *wanted = value_of(asking, option);
    return wanted == NULL || (text.data != NULL &&
                              index_texts_equal(message->protocol, text,
                                                index_short_text(parley_bytes_of(wanted), room)));
}

/* "claim", or "vlp.claim". */
static bool is_type(const struct index_asking *asking, const struct index_message *message) {
    const char *wanted = value_of(asking, INDEX_TYPE);
    const char *name = message->protocol->name;
    const size_t length = strlen(name);
    if (wanted == NULL) {
        return true;
    }
    if (message->type == INDEX_TYPE_FOREIGN) {
        return strcmp(wanted, "parley.foreign") == 0;
    }
    const char *type = message->protocol->types[message->type];
    return strcmp(wanted, type) == 0 ||
           (strncmp(wanted, name, length) == 0 && wanted[length] == '.' &&
            strcmp(wanted + length + 1, type) == 0);
}

bool index_messages_match(struct index_asking *asking, const struct index_message *message) {
    const char *target = value_of(asking, INDEX_REFERS_TO);
    const char *keyword = value_of(asking, INDEX_KEYWORD);
    const char *receiver = value_of(asking, INDEX_RECEIVER);
    const char *lane = value_of(asking, INDEX_LANE);
    return message->protocol_number == asking->question->protocol &&
           index_is_visible(asking, message) && is_type(asking, message) &&
           is_text(asking, message, INDEX_ID, message->id) &&
           is_text(asking, message, INDEX_THREAD, message->thread) && is_sender(asking, message) &&
           (lane == NULL || parley_bytes_equal(message->lane, parley_bytes_of(lane))) &&
           (target == NULL || has_other(asking, message, HAS_TARGET, target, 0)) &&
           (keyword == NULL || has_other(asking, message, HAS_TARGET, keyword, 1)) &&
           (receiver == NULL || has_other(asking, message, HAS_RECEIVER, receiver, 0));
}

/* ---- the list ---- */

static void bind_wanted(struct index_asking *asking, sqlite3_stmt *find, enum driver driver) {
    const char *wanted = value_of(asking, options_of_drivers[driver]);
    const struct parley_protocol *protocol = parley_protocols[asking->question->protocol];
    char room[INDEX_DIGEST_SIZE], thread[INDEX_TEXT_MAX];
    if (wanted == NULL) {
        return;
    }
    const struct parley_bytes kept = index_short_text(parley_bytes_of(wanted), room);
    if (driver == BY_THREAD) {
        index_bind_text(find, 1, index_thread_text(protocol, kept, thread));
    } else if (driver == BY_SENDER) {
        index_bind_text(find, 1, kept);
    } else {
        sqlite3_bind_int64(find, 1, index_key(asking->secret, kept));
    }
}

static sqlite3_stmt *begin(struct index_asking *asking, const struct index_cursor *from) {
    const enum driver driver = choose(asking);
    sqlite3_stmt *find = index_prepare(asking, index_messages_statements[driver]);
    if (find != NULL) {
        bind_wanted(asking, find, driver);
        sqlite3_bind_int64(find, 2, from->stored);
        sqlite3_bind_int64(find, 3, asking->question->until_ms);
        sqlite3_bind_int64(find, 4, from->pos);
        if (sqlite3_bind_parameter_count(find) >= 5) {
            sqlite3_bind_int64(find, 5, asking->question->protocol);
        }
    }
    return find;
}

enum index_answered index_messages_write(struct index_asking *asking) {
    const char *cursor = value_of(asking, INDEX_CURSOR);
    struct index_cursor from = {.stored = asking->question->since_ms, .pos = -1};
    char next[INDEX_CURSOR_SIZE] = "";
    if (value_of(asking, INDEX_WORDS) != NULL) {
        return index_search_write(asking);
    }
    if (cursor != NULL && !index_cursor_read(asking, cursor, &from)) {
        return INDEX_BAD_CURSOR;
    }
    sqlite3_stmt *find = begin(asking, &from);
    int64_t last = -1;
    while (index_step(asking, find)) {
        struct index_message message;
        const bool is_full =
            asking->item_count == asking->question->limit || asking->rows_read == INDEX_ROWS_MAX;
        if (is_full) {
            index_cursor_of(asking, &from, next);
            break;
        }
        index_message_read(find, &message);
        asking->rows_read++;
        from = message.at;
        if (message.at.pos != last && index_messages_match(asking, &message)) {
            index_message_add(asking, &message);
        }
        last = message.at.pos;
    }
    sqlite3_finalize(find);
    index_list_end(asking, next[0] != '\0' ? next : NULL);
    return asking->answered;
}
