/* SPDX-License-Identifier: Apache-2.0 */

/* The view evolutions: how agents have changed their own code. Results divide an agent's messages:
 * a result decides on all intents since the result before it, and what is reloaded until the next
 * one is of it. So an evolution is its result with what is on both sides of it; reloads before the
 * first result, and intents after the last, are evolutions without one.
 *
 * The agents come in the order of their names, the evolutions of one in that of their storage. The
 * cursor is AGENT:TIME:SEQUENCE:STREAM of the last result; `AGENT:` after the reloads without one;
 * AGENT after all of that agent. */

#include "index_messages.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <parley/index.h>

#include "index_bearers.h"
#include "json_pick.h"
#include "text.h"

enum {
    AGENT_SIZE = 65,   /* text_is_agent */
    SHOWN_MAX = 16,    /* intents, and reloads, of one evolution */
    ROWS_SPARE = 2000, /* more than one evolution reads */
};

enum { NEXT_AGENT, AFTER, BACKUP_OF, BY_ID };

const char *const index_evolutions_statements[] = {
    [NEXT_AGENT] = "SELECT agent FROM messages WHERE landmark=1 AND protocol=?1 AND agent>?2 "
                   "ORDER BY agent LIMIT 1",
    [AFTER] = "SELECT " INDEX_COLUMNS " FROM messages m WHERE m.landmark=1 AND m.protocol=?1 "
              "AND m.agent=?2 AND m.type=?3 AND m.stored>=?4 AND (m.stored>?4 OR m.pos>?5) "
              "ORDER BY m.stored, m.pos",
    [BACKUP_OF] = "SELECT target, target_key FROM refs WHERE pos=?1 AND relation=?2",
    [BY_ID] = INDEX_BY_ID_SQL,
    NULL,
};

static const struct index_cursor beginning = {.stored = INT64_MIN, .pos = INT64_MIN};
static const struct index_cursor end = {.stored = INT64_MAX, .pos = INT64_MAX};

/* What an evolution lacks, in the order of names. */
enum lack { LACKS_INTENT, LACKS_RESULT, LACKS_PROMOTION, LACKS_RELOAD, LACKS_BACKUP, LACK_COUNT };

struct walk {
    struct index_asking *asking;
    const struct parley_index_evolutions *of;
    char agent[AGENT_SIZE];
    struct index_cursor from;                  /* the last result that is answered */
    bool is_past_first;                        /* reloads before the first result are answered */
    char next[AGENT_SIZE + INDEX_CURSOR_SIZE]; /* "": the page is not full so far */
    bool lacks[LACK_COUNT], has_more;          /* of the evolution that is being written */
};

/* ---- reading ---- */

static struct parley_bytes agent_of(const struct walk *walk) {
    return parley_bytes_of(walk->agent);
}

/* The agent's messages of a type after a place.  Owns: the caller finalizes it. */
static sqlite3_stmt *begin_after(struct walk *walk, unsigned type,
                                 const struct index_cursor *from) {
    sqlite3_stmt *find = index_prepare(walk->asking, index_evolutions_statements[AFTER]);
    sqlite3_bind_int64(find, 1, walk->asking->question->protocol);
    index_bind_text(find, 2, agent_of(walk));
    sqlite3_bind_int64(find, 3, type);
    sqlite3_bind_int64(find, 4, from->stored);
    sqlite3_bind_int64(find, 5, from->pos);
    return find;
}

/* The next one before `until` that may be seen. */
static bool next_before(struct walk *walk, sqlite3_stmt *find, const struct index_cursor *until,
                        struct index_message *out) {
    while (index_step(walk->asking, find) && index_may_read(walk->asking)) {
        index_message_read(find, out);
        if (!ledger_is_before(&out->at, until)) {
            return false;
        }
        if (index_is_visible(walk->asking, out)) {
            return true;
        }
    }
    return false;
}

static struct index_cursor place_after(struct walk *walk, unsigned type,
                                       const struct index_cursor *from) {
    struct index_message message;
    sqlite3_stmt *find = begin_after(walk, type, from);
    const bool is_found = next_before(walk, find, &end, &message);
    sqlite3_finalize(find);
    return is_found ? message.at : end;
}

static bool is_any_before(struct walk *walk, unsigned type, const struct index_cursor *from,
                          const struct index_cursor *until) {
    const struct index_cursor first = place_after(walk, type, from);
    return ledger_is_before(&first, until);
}

/* ---- backups ---- */

/* Ids are UUIDs, in either case. */
static bool is_backup(const struct walk *walk, const struct index_message *message,
                      struct parley_bytes id) {
    const struct parley_protocol *protocol = parley_protocols[walk->asking->question->protocol];
    const uint32_t types = protocol->index->relations[walk->of->backup].target_types;
    return message->protocol == protocol && message->type != INDEX_TYPE_FOREIGN &&
           (types >> message->type & 1) != 0 &&
           parley_bytes_equal(message->agent, agent_of(walk)) && message->id.length == id.length &&
           strncasecmp(message->id.data, id.data, id.length) == 0;
}

/* Returns: its place; 0: there is none that may be seen. */
static int64_t find_backup(struct walk *walk, struct parley_bytes id, int64_t key) {
    struct index_asking *asking = walk->asking;
    sqlite3_stmt *find = index_prepare(asking, index_evolutions_statements[BY_ID]);
    int64_t pos = 0;
    sqlite3_bind_int64(find, 1, key);
    for (int i = 0;
         i < INDEX_BEARERS_MAX && pos == 0 && index_step(asking, find) && index_may_read(asking);
         i++) {
        struct index_message message;
        index_message_read(find, &message);
        pos = is_backup(walk, &message, id) && index_is_visible(asking, &message) ? message.at.pos
                                                                                  : 0;
    }
    sqlite3_finalize(find);
    return pos;
}

/* Backups are private: who may not see another's does not learn whether it is there. */
static bool may_see_backups(const struct walk *walk) {
    const char *own = walk->asking->question->own;
    return own == NULL || strcmp(own, walk->agent) == 0;
}

static void write_backup(struct walk *walk, const struct index_message *reload) {
    struct index_asking *asking = walk->asking;
    sqlite3_stmt *find = index_prepare(asking, index_evolutions_statements[BACKUP_OF]);
    int64_t pos = 0;
    sqlite3_bind_int64(find, 1, reload->at.pos);
    sqlite3_bind_int64(find, 2, walk->of->backup);
    const bool is_named = index_step(asking, find);
    if (!is_named) {
        parley_buffer_text(asking->out, ",\"backup\":null");
    } else {
        const struct parley_bytes id = index_column_text(find, 0);
        pos = find_backup(walk, id, sqlite3_column_int64(find, 1));
        parley_buffer_text(asking->out, ",\"backup\":{\"id\":");
        parley_buffer_json(asking->out, id);
        parley_buffer_text(asking->out, ",\"message\":");
        if (pos != 0) {
            index_place_write(asking, asking->out, pos);
        }
        parley_buffer_text(asking->out, pos != 0 ? "}" : "null}");
    }
    sqlite3_finalize(find);
    if (pos == 0 && (!is_named || may_see_backups(walk))) {
        walk->lacks[LACKS_BACKUP] = true;
    }
}

/* ---- an evolution ---- */

/* Returns: how many there are. */
static size_t write_messages(struct walk *walk, const char *member, unsigned type,
                             const struct index_cursor *from, const struct index_cursor *until) {
    struct parley_buffer *out = walk->asking->out;
    struct index_message message;
    size_t count = 0;
    sqlite3_stmt *find = begin_after(walk, type, from);
    parley_buffer_format(out, ",\"%s\":[", member);
    while (next_before(walk, find, until, &message)) {
        if (count == SHOWN_MAX) {
            walk->has_more = true;
            break;
        }
        parley_buffer_text(out, count++ > 0 ? "," : "");
        index_message_begin(walk->asking, &message);
        if (type == walk->of->reload) {
            write_backup(walk, &message);
        }
        parley_buffer_char(out, '}');
    }
    sqlite3_finalize(find);
    parley_buffer_char(out, ']');
    return count;
}

/* Appends the decision of a result as JSON.  Returns: whether it promotes. */
static bool write_decision(struct walk *walk, const struct index_message *result) {
    struct json_pick pick = {.name = walk->of->decision};
    struct parley_arena arena = {0};
    const enum parley_status status = json_pick(result->members, &arena, &pick, 1);
    const struct parley_bytes decision = parley_value_text(&pick.value);
    const bool is_promoted = parley_bytes_equal(decision, parley_bytes_of(walk->of->promoted));
    if (status == PARLEY_E_MEMORY) {
        walk->asking->answered = INDEX_NO_MEMORY;
    }
    parley_buffer_json(walk->asking->out, decision);
    parley_arena_finish(&arena);
    return is_promoted;
}

static void write_lacks(struct walk *walk) {
    static const char *const names[LACK_COUNT] = {[LACKS_INTENT] = "intent",
                                                  [LACKS_RESULT] = "result",
                                                  [LACKS_PROMOTION] = "promotion",
                                                  [LACKS_RELOAD] = "reload",
                                                  [LACKS_BACKUP] = "backup"};
    struct parley_buffer *out = walk->asking->out;
    const char *between = "";
    parley_buffer_text(out, ",\"lacks\":[");
    for (size_t i = 0; i < LACK_COUNT; i++) {
        if (walk->lacks[i]) {
            parley_buffer_format(out, "%s\"%s\"", between, names[i]);
            between = ",";
        }
    }
    parley_buffer_text(out, walk->has_more ? "],\"more\":true" : "]");
}

static void begin_evolution(struct walk *walk) {
    memset(walk->lacks, 0, sizeof walk->lacks);
    walk->has_more = false;
    index_item_begin(walk->asking);
    parley_buffer_text(walk->asking->out, "{\"agent\":");
    parley_buffer_json(walk->asking->out, agent_of(walk));
    parley_buffer_text(walk->asking->out, ",\"decision\":");
}

/* With the intents since `walk->from`, and the reloads until the next result. */
static void write_decided(struct walk *walk, const struct index_message *result) {
    struct parley_buffer *out = walk->asking->out;
    const struct index_cursor until = place_after(walk, walk->of->result, &result->at);
    begin_evolution(walk);
    const bool is_promoted = write_decision(walk, result);
    const size_t intents =
        write_messages(walk, "intents", walk->of->intent, &walk->from, &result->at);
    parley_buffer_text(out, ",\"result\":");
    index_message_begin(walk->asking, result);
    parley_buffer_char(out, '}');
    const size_t reloads = write_messages(walk, "reloads", walk->of->reload, &result->at, &until);
    walk->lacks[LACKS_INTENT] = intents == 0;
    walk->lacks[LACKS_PROMOTION] = !is_promoted && reloads > 0;
    walk->lacks[LACKS_RELOAD] = is_promoted && reloads == 0;
    write_lacks(walk);
    index_item_end(walk->asking);
}

/* Intents that wait for a result, or reloads that came before any. */
static void write_undecided(struct walk *walk, const struct index_cursor *intents_from,
                            const struct index_cursor *reloads_until) {
    begin_evolution(walk);
    parley_buffer_text(walk->asking->out, "null");
    const size_t intents = write_messages(walk, "intents", walk->of->intent, intents_from, &end);
    parley_buffer_text(walk->asking->out, ",\"result\":null");
    write_messages(walk, "reloads", walk->of->reload, &beginning, reloads_until);
    walk->lacks[LACKS_INTENT] = intents == 0;
    walk->lacks[LACKS_RESULT] = true;
    write_lacks(walk);
    index_item_end(walk->asking);
}

/* ---- pages ---- */

/* `place` NULL: the page ends before the first result; else after that one. */
static bool is_full(struct walk *walk, const struct index_cursor *place) {
    struct index_asking *asking = walk->asking;
    char cursor[INDEX_CURSOR_SIZE] = "";
    if (asking->item_count < asking->question->limit &&
        asking->rows_read < INDEX_ROWS_MAX - ROWS_SPARE) {
        return false;
    }
    if (place != NULL) {
        index_cursor_of(asking, place, cursor);
    }
    snprintf(walk->next, sizeof walk->next, "%s:%s", walk->agent, cursor);
    return true;
}

static void write_agent(struct walk *walk) {
    struct index_message result;
    if (!walk->is_past_first) {
        const struct index_cursor first = place_after(walk, walk->of->result, &beginning);
        if (is_any_before(walk, walk->of->reload, &beginning, &first)) {
            write_undecided(walk, &end, &first);
        }
        if (is_full(walk, NULL)) {
            return;
        }
    }
    sqlite3_stmt *find = begin_after(walk, walk->of->result, &walk->from);
    while (next_before(walk, find, &end, &result)) {
        write_decided(walk, &result);
        walk->from = result.at;
        if (is_full(walk, &walk->from)) {
            sqlite3_finalize(find);
            return;
        }
    }
    sqlite3_finalize(find);
    if (is_any_before(walk, walk->of->intent, &walk->from, &end)) {
        write_undecided(walk, &walk->from, &beginning);
    }
    if (is_full(walk, NULL)) {
        snprintf(walk->next, sizeof walk->next, "%s", walk->agent);
    }
}

/* Returns: false: there is no agent after it. */
static bool go_to_next(struct walk *walk) {
    sqlite3_stmt *find = index_prepare(walk->asking, index_evolutions_statements[NEXT_AGENT]);
    sqlite3_bind_int64(find, 1, walk->asking->question->protocol);
    index_bind_text(find, 2, agent_of(walk));
    const bool is_found = index_step(walk->asking, find);
    if (is_found) {
        snprintf(walk->agent, sizeof walk->agent, "%s", (const char *)sqlite3_column_text(find, 0));
        walk->from = beginning;
        walk->is_past_first = false;
    }
    sqlite3_finalize(find);
    return is_found;
}

/* `out_is_within`: the page goes on with the same agent.  Returns: false: it is none. */
static bool read_cursor(struct walk *walk, const char *text, bool *out_is_within) {
    const size_t length = strcspn(text, ":");
    const char *rest = text + length;
    if (!text_is_agent((struct parley_bytes){text, length})) {
        return false;
    }
    snprintf(walk->agent, sizeof walk->agent, "%.*s", (int)length, text);
    *out_is_within = *rest == ':';
    walk->is_past_first = true;
    return *rest == '\0' || rest[1] == '\0' ||
           index_cursor_read(walk->asking, rest + 1, &walk->from);
}

static bool begin(struct walk *walk, bool *out_is_within) {
    const char *cursor = walk->asking->question->values[INDEX_CURSOR];
    const char *only = walk->asking->question->values[INDEX_AGENT];
    *out_is_within = only != NULL && text_is_agent(parley_bytes_of(only)); /* else it has none */
    if (cursor != NULL) {
        return read_cursor(walk, cursor, out_is_within) &&
               (only == NULL || (*out_is_within && strcmp(only, walk->agent) == 0));
    }
    if (only != NULL) {
        snprintf(walk->agent, sizeof walk->agent, "%s", only);
    }
    return true;
}

enum index_answered index_evolutions_write(struct index_asking *asking) {
    const bool has_one = asking->question->values[INDEX_AGENT] != NULL;
    struct walk walk = {.asking = asking,
                        .of = parley_protocols[asking->question->protocol]->index->evolutions,
                        .from = beginning};
    bool is_within;
    if (!begin(&walk, &is_within)) {
        return INDEX_BAD_CURSOR;
    }
    while (walk.next[0] == '\0' && (is_within || (!has_one && go_to_next(&walk)))) {
        write_agent(&walk);
        is_within = false;
    }
    /* After the last of the one agent that is wanted there is nothing. */
    const bool is_over = has_one && strchr(walk.next, ':') == NULL;
    index_list_end(asking, walk.next[0] != '\0' && !is_over ? walk.next : NULL);
    return asking->answered;
}
