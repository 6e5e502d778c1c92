/* SPDX-License-Identifier: Apache-2.0 */

/* The view contexts: the last message by which a sender has said how it leaves a session, or the
 * last of a session, with its data and what it says is open. */

#include "index_messages.h"

#include <parley/index.h>

enum { OF_THREAD, OF_SENDER };

#define THE_LAST                                                                                   \
    "SELECT " INDEX_COLUMNS " FROM messages m WHERE m.landmark=1 AND m.protocol=?1 AND m.type=?2 "
#define NEWEST_FIRST " ORDER BY m.stored DESC, m.pos DESC"

const char *const index_contexts_statements[] = {
    [OF_THREAD] = THE_LAST "AND m.thread=?3" NEWEST_FIRST,
    [OF_SENDER] = THE_LAST "AND m.sender=?3" NEWEST_FIRST,
    NULL,
};

static sqlite3_stmt *begin(struct index_asking *asking, struct parley_bytes sender) {
    const struct index_question *question = asking->question;
    const struct parley_protocol *protocol = parley_protocols[question->protocol];
    const char *session = question->values[INDEX_SESSION];
    char room[INDEX_TEXT_MAX];
    sqlite3_stmt *find =
        index_prepare(asking, index_contexts_statements[session != NULL ? OF_THREAD : OF_SENDER]);
    sqlite3_bind_int64(find, 1, question->protocol);
    sqlite3_bind_int64(find, 2, protocol->index->sessions->context);
    index_bind_text(find, 3,
                    session != NULL ? index_thread_text(protocol, parley_bytes_of(session), room)
                                    : sender);
    return find;
}

enum index_answered index_contexts_write(struct index_asking *asking) {
    const char *wanted = asking->question->values[INDEX_SENDER];
    char room[INDEX_DIGEST_SIZE];
    const struct parley_bytes sender = index_short_text(parley_bytes_of(wanted), room);
    sqlite3_stmt *find = begin(asking, sender);
    bool is_found = false;
    while (!is_found && index_step(asking, find) && index_may_read(asking)) {
        struct index_message message;
        index_message_read(find, &message);
        is_found = index_is_visible(asking, &message) &&
                   (wanted == NULL || parley_bytes_equal(message.sender, sender));
        if (is_found) {
            index_message_add(asking, &message);
        }
    }
    sqlite3_finalize(find);
    index_list_end(asking, NULL);
    return asking->answered;
}

enum parley_status index_contexts_add(struct parley_message *message, struct parley_buffer *out) {
    parley_buffer_text(out, ",\"open\":");
    return message->protocol->index->sessions->write_open(message, out);
}
