/* SPDX-License-Identifier: Apache-2.0 */

/* The view sessions: the threads of a protocol whose threads are sessions, with how many messages
 * of each type and lane they have, what is open in them, and where an agent has said last how it
 * leaves them. It does not say whether a session is halted: keys of NATS decide that, and the index
 * may lag. */

#include "index_messages.h"

#include <inttypes.h>
#include <stdlib.h>

#include <parley/index.h>

#include "index_bearers.h"
#include "index_groups.h"

enum { OPEN_MAX = 100, TYPES_MAX = 32, LANES_MAX = 8 };

enum { BY_ID = INDEX_GROUP_MESSAGES + 1, BY_TARGET };

const char *const index_sessions_statements[] = {
    [INDEX_GROUP_NAMES] = INDEX_THREAD_NAMES_SQL,
    [INDEX_GROUP_MESSAGES] = INDEX_THREAD_MESSAGES_SQL,
    [BY_ID] = INDEX_BY_ID_SQL,
    [BY_TARGET] = INDEX_BY_TARGET_SQL,
    NULL,
};

/* A session while its messages are read. */
struct session {
    struct index_asking *asking;
    const struct parley_protocol *protocol;
    uint64_t types[TYPES_MAX], lanes[LANES_MAX];
    int64_t context;           /* the place of the last one; 0: there is none */
    struct parley_buffer open; /* JSON objects, with commas between them */
    size_t open_count;
    struct index_bearers bearers; /* of the id of a message that waits */
};

/* ---- what is open ---- */

static bool is_settled_by(const struct parley_index_relation *relation,
                          const struct index_message *message) {
    return relation->settles && (relation->target_types >> message->type & 1) != 0;
}

/* Whether one that refers to it ends its waiting: what it waits for has come, or it is corrected.
 */
static bool is_end(const struct parley_index_relation *relation,
                   const struct index_message *message, const struct index_message *other) {
    const struct ledger_node of = {
        .at = message->at, .thread = message->thread, .sender = message->sender};
    const struct ledger_node by = {
        .at = other->at, .thread = other->thread, .sender = other->sender};
    return is_settled_by(relation, message) ||
           (relation->effect == PARLEY_INDEX_CORRECTS && ledger_may_correct(&by, &of));
}

static bool is_open(struct session *session, const struct index_message *message) {
    struct index_asking *asking = session->asking;
    const int64_t key = index_key(asking->secret, message->id);
    bool is_over = false;
    if (message->id.length == 0) {
        return true;
    }
    index_bearers_find(asking, &session->bearers, message->id, key);
    sqlite3_stmt *find = index_referrers_begin(asking, key);
    struct index_message other;
    unsigned relation;
    while (!is_over && index_referrers_next(asking, find, message->id, &other, &relation)) {
        is_over = is_end(&session->protocol->index->relations[relation], message, &other) &&
                  index_bearers_is_meant(&session->bearers, &other, message->at.pos);
    }
    sqlite3_finalize(find);
    return !is_over && asking->rows_read < INDEX_ROWS_MAX; /* else it is not known */
}

static const char *waits_for(const struct session *session, const struct index_message *message) {
    const struct parley_index_relation *relation = session->protocol->index->relations;
    while (relation->name != NULL && !is_settled_by(relation, message)) {
        relation++;
    }
    return relation->name;
}

static void add_open(struct session *session, const struct index_message *message) {
    struct parley_buffer *out = &session->open;
    if (session->open_count == OPEN_MAX) {
        session->asking->is_cut = true;
        return;
    }
    parley_buffer_text(out, session->open_count++ > 0 ? ",{\"message\":" : "{\"message\":");
    index_place_write(session->asking, out, message->at.pos);
    parley_buffer_text(out, ",\"id\":");
    parley_buffer_json(out, message->id);
    parley_buffer_format(out, ",\"type\":\"%s.%s\",\"sender\":", session->protocol->name,
                         session->protocol->types[message->type]);
    parley_buffer_json(out, message->sender);
    parley_buffer_format(out, ",\"waits_for\":\"%s\"}", waits_for(session, message));
}

/* ---- a session ---- */

static void begin(void *context) {
    struct session *session = context;
    memset(session->types, 0, sizeof session->types);
    memset(session->lanes, 0, sizeof session->lanes);
    session->context = 0;
    session->open_count = 0;
    parley_buffer_clear(&session->open);
}

static void count_lane(struct session *session, struct parley_bytes lane) {
    const char *const *lanes = session->protocol->lanes;
    for (size_t i = 0; lanes != NULL && lanes[i] != NULL && i < LANES_MAX; i++) {
        session->lanes[i] += parley_bytes_equal(lane, parley_bytes_of(lanes[i])) ? 1 : 0;
    }
}

static void take(void *context, const struct index_message *message) {
    struct session *session = context;
    if (message->type >= TYPES_MAX) {
        return;
    }
    session->types[message->type]++;
    count_lane(session, message->lane);
    if (message->type == session->protocol->index->sessions->context) {
        session->context = message->at.pos;
    }
    /* Once the list is full, the rest needs no look-ups. */
    if (message->is_waiting && (session->open_count == OPEN_MAX || is_open(session, message))) {
        add_open(session, message);
    }
}

static void write_counts(struct parley_buffer *out, const char *member, const char *const *names,
                         const uint64_t *counts, size_t room) {
    const char *between = "";
    parley_buffer_format(out, ",\"%s\":{", member);
    for (size_t i = 0; names != NULL && names[i] != NULL && i < room; i++) {
        if (counts[i] > 0) {
            parley_buffer_format(out, "%s\"%s\":%" PRIu64, between, names[i], counts[i]);
            between = ",";
        }
    }
    parley_buffer_char(out, '}');
}

static void write_state(void *context, struct parley_buffer *out) {
    struct session *session = context;
    write_counts(out, "types", session->protocol->types, session->types, TYPES_MAX);
    write_counts(out, "lanes", session->protocol->lanes, session->lanes, LANES_MAX);
    parley_buffer_text(out, ",\"context\":");
    if (session->context != 0) {
        index_place_write(session->asking, out, session->context);
    } else {
        parley_buffer_text(out, "null");
    }
    parley_buffer_text(out, ",\"open\":[");
    parley_buffer_append(out, parley_buffer_bytes(&session->open));
    parley_buffer_char(out, ']');
    out->has_failed = out->has_failed || session->open.has_failed;
}

enum index_answered index_sessions_write(struct index_asking *asking) {
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return INDEX_NO_MEMORY;
    }
    session->asking = asking;
    session->protocol = parley_protocols[asking->question->protocol];
    parley_buffer_init(&session->open);
    const struct index_group_list list = {.member = "session",
                                          .members = "who",
                                          .statements = index_sessions_statements,
                                          .context = session,
                                          .begin = begin,
                                          .take = take,
                                          .write = write_state};
    index_groups_write(asking, &list, asking->question->values[INDEX_SESSION]);
    parley_buffer_finish(&session->open);
    index_bearers_finish(&session->bearers);
    free(session);
    return asking->answered;
}
