/* SPDX-License-Identifier: Apache-2.0 */

/* See agent_table.h. Which of two messages is the last says their time of storage: sequences begin
 * again when a stream is created again. */

#include "agent_table.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "stored_headers.h"

enum {
    CHAIN_COUNT = 4096,
    BEAT_BYTES_MAX = 16 * 1024, /* of a beat that is kept for `matches` */
    NS_A_MS = 1000000,
};

/* What is kept of a part beside agent_part. */
struct more_of_part {
    uint64_t generation;         /* of the reading that has found its message */
    struct parley_bytes guarded; /* the text for who may not read private messages; data NULL: the
                                    same.  Owned */
    unsigned source;
    bool is_unread; /* its text is made when it is asked for: it says how old it is */
    size_t size_bytes;
    char id[STORED_ID_SIZE];
};

struct row {
    struct change change;
    LIST_ENTRY(row) by_name;
    TAILQ_ENTRY(row) by_news; /* the one with the oldest last message first */
    struct agent_entry entry;
    char *plain_name; /* by which readers know it */
    struct more_of_part more[PARLEY_AGENT_PARTS_MAX];
    char *beat_subject;       /* of the beat, for `matches`; NULL: not kept */
    struct parley_bytes beat; /* owned */
    enum agent_state state;   /* at its last change */
    int64_t changed_ns;
    bool is_dirty; /* it has changed again, which is not told yet */
};
LIST_HEAD(row_chain, row);
TAILQ_HEAD(row_queue, row);

struct agent_table {
    pthread_mutex_t lock;
    struct change_log changes;
    const struct channel *channel;
    const struct parley_agents *agents;
    unsigned char secret[crypto_shorthash_KEYBYTES];
    struct row_chain chains[CHAIN_COUNT];
    struct row_queue rows;
    size_t count, bytes;
    uint64_t generation;
    bool is_whole;
    struct parley_message message; /* a beat, while it is matched */
    struct parley_buffer text;     /* of parts, while they are written */
};

/* ---- rows ---- */

static struct row_chain *chain_of(struct agent_table *table, struct parley_bytes name) {
    unsigned char hash[crypto_shorthash_BYTES];
    uint64_t number;
    crypto_shorthash(hash, (const unsigned char *)name.data, name.length, table->secret);
    memcpy(&number, hash, sizeof number);
    return &table->chains[number % CHAIN_COUNT];
}

static struct row *find(struct agent_table *table, struct parley_bytes name) {
    struct row *row;
    LIST_FOREACH(row, chain_of(table, name), by_name) {
        if (parley_bytes_equal(parley_bytes_of(row->entry.name), name)) {
            break;
        }
    }
    return row;
}

/* Returns: NULL: no memory. */
static char *plain_name(struct agent_table *table, const char *name) {
    parley_buffer_clear(&table->text);
    agent_plain_name(name, &table->text);
    return parley_buffer_status(&table->text) == PARLEY_OK
               ? parley_bytes_copy(parley_buffer_bytes(&table->text))
               : NULL;
}

static struct row *add(struct agent_table *table, struct parley_bytes name) {
    struct row *row = calloc(1, sizeof *row);
    char *copy = parley_bytes_copy(name), *plain = copy != NULL ? plain_name(table, copy) : NULL;
    if (row == NULL || plain == NULL || !change_log_add(&table->changes, &row->change)) {
        free(row);
        free(copy);
        free(plain);
        return NULL;
    }
    row->entry.name = copy;
    row->plain_name = plain;
    LIST_INSERT_HEAD(chain_of(table, name), row, by_name);
    TAILQ_INSERT_TAIL(&table->rows, row, by_news);
    table->count++;
    return row;
}

static void drop_part(struct agent_table *table, struct row *row, unsigned part) {
    table->bytes -= row->entry.parts[part].length + row->more[part].guarded.length;
    free(row->entry.parts[part].text);
    free((char *)row->more[part].guarded.data);
    row->entry.parts[part] = (struct agent_part){0};
    row->more[part] = (struct more_of_part){0};
}

static void drop_beat(struct agent_table *table, struct row *row) {
    table->bytes -= row->beat.length;
    free(row->beat_subject);
    free((char *)row->beat.data);
    row->beat_subject = NULL;
    row->beat = (struct parley_bytes){0};
}

static void drop(struct agent_table *table, struct row *row) {
    for (unsigned i = 0; i < PARLEY_AGENT_PARTS_MAX; i++) {
        drop_part(table, row, i);
    }
    drop_beat(table, row);
    change_log_remove(&table->changes, &row->change, parley_bytes_of(row->plain_name));
    LIST_REMOVE(row, by_name);
    TAILQ_REMOVE(&table->rows, row, by_news);
    table->count--;
    free(row->entry.name);
    free(row->plain_name);
    free(row);
}

static void make_room(struct agent_table *table) {
    while (table->count > AGENT_TABLE_AGENTS_MAX ||
           (table->bytes > AGENT_TABLE_BYTES_MAX && table->count > 1)) {
        drop(table, TAILQ_FIRST(&table->rows));
    }
}

/* ---- changes ---- */

static void tell(struct agent_table *table, struct row *row, int64_t now_ns) {
    row->state = agent_state_of(&row->entry, table->agents, now_ns);
    row->changed_ns = now_ns;
    row->is_dirty = false;
    change_log_touch(&table->changes, &row->change);
}

static void changed(struct agent_table *table, struct row *row, int64_t now_ns) {
    if (now_ns - row->changed_ns >= (int64_t)AGENT_TABLE_PERIOD_MS * NS_A_MS) {
        tell(table, row, now_ns);
    } else {
        row->is_dirty = true;
    }
}

void agent_table_tick(struct agent_table *table, int64_t now_ns) {
    struct row *row;
    TAILQ_FOREACH(row, &table->rows, by_news) {
        if (row->is_dirty || agent_state_of(&row->entry, table->agents, now_ns) != row->state) {
            tell(table, row, now_ns);
        }
    }
}

/* ---- messages ---- */

/* The message that is known already, too. */
static bool is_older(const struct agent_news *news, const struct agent_part *part) {
    return news->time_ns < part->time_ns ||
           (news->time_ns == part->time_ns && news->sequence <= part->sequence);
}

static enum parley_status keep_beat(struct agent_table *table, struct row *row,
                                    const struct agent_news *news) {
    row->entry.beat_sequence = news->sequence;
    row->entry.beat_ns = news->time_ns;
    drop_beat(table, row);
    if (table->agents->matches == NULL || news->payload.length > BEAT_BYTES_MAX) {
        return PARLEY_OK;
    }
    row->beat_subject = strdup(news->subject);
    row->beat = (struct parley_bytes){parley_bytes_copy(news->payload), news->payload.length};
    row->beat.length = row->beat.data != NULL ? row->beat.length : 0;
    table->bytes += row->beat.length;
    return row->beat_subject != NULL && row->beat.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static char *copy_text(struct parley_bytes text) {
    return parley_bytes_copy(text.data != NULL ? text : PARLEY_BYTES(""));
}

static enum parley_status keep_part(struct agent_table *table, struct row *row,
                                    const struct agent_news *news) {
    char *text = copy_text(news->text);
    char *guarded = news->has_guarded ? copy_text(news->guarded) : NULL;
    if (text == NULL || (news->has_guarded && guarded == NULL)) {
        free(text);
        free(guarded);
        return PARLEY_E_MEMORY;
    }
    drop_part(table, row, news->part);
    row->entry.parts[news->part] =
        (struct agent_part){news->sequence, news->text.length, text, news->time_ns};
    struct more_of_part *more = &row->more[news->part];
    *more = (struct more_of_part){.guarded = {guarded, guarded != NULL ? news->guarded.length : 0},
                                  .source = news->source,
                                  .is_unread = table->agents->sources[news->source].is_unread,
                                  .size_bytes = news->size_bytes};
    memcpy(more->id, news->id, sizeof more->id);
    table->bytes += news->text.length + more->guarded.length;
    return PARLEY_OK;
}

enum parley_status agent_table_note(struct agent_table *table, const struct agent_news *news,
                                    int64_t now_ns) {
    struct row *row = find(table, news->name);
    row = row != NULL ? row : add(table, news->name);
    if (row == NULL) {
        return PARLEY_E_MEMORY;
    }
    if (is_older(news, &row->entry.parts[news->part])) {
        row->more[news->part].generation = table->generation;
        return PARLEY_OK;
    }
    PARLEY_TRY(keep_part(table, row, news));
    row->more[news->part].generation = table->generation;
    if (news->is_beat) {
        PARLEY_TRY(keep_beat(table, row, news));
    }
    TAILQ_REMOVE(&table->rows, row, by_news);
    TAILQ_INSERT_TAIL(&table->rows, row, by_news);
    changed(table, row, now_ns);
    make_room(table);
    return PARLEY_OK;
}

/* ---- readings ---- */

void agent_table_begin_reading(struct agent_table *table) {
    table->generation++;
}

/* Returns: whether a message of the agent is left. */
static bool keep_what_was_found(struct agent_table *table, struct row *row) {
    bool is_left = false;
    for (unsigned i = 0; i < PARLEY_AGENT_PARTS_MAX; i++) {
        if (row->entry.parts[i].sequence == 0) {
            continue;
        }
        if (row->more[i].generation == table->generation) {
            is_left = true;
            continue;
        }
        if (row->more[i].source == 0) {
            row->entry.beat_sequence = 0;
            row->entry.beat_ns = 0;
            drop_beat(table, row);
        }
        drop_part(table, row, i);
        row->is_dirty = true;
    }
    return is_left;
}

void agent_table_end_reading(struct agent_table *table) {
    struct row *next;
    for (struct row *row = TAILQ_FIRST(&table->rows); row != NULL; row = next) {
        next = TAILQ_NEXT(row, by_news);
        if (!keep_what_was_found(table, row)) {
            drop(table, row);
        }
    }
    table->is_whole = true;
    change_log_wake(&table->changes);
}

void agent_table_set_away(struct agent_table *table) {
    table->is_whole = false;
}

void agent_table_clear(struct agent_table *table) {
    while (!TAILQ_EMPTY(&table->rows)) {
        drop(table, TAILQ_FIRST(&table->rows));
    }
    change_log_begin(&table->changes);
    table->is_whole = false;
}

/* ---- following ---- */

static const struct row *row_of(const struct change *change) {
    return OWNER_OF(change, struct row, change);
}

static bool is_whole(void *list) {
    return ((const struct agent_table *)list)->is_whole;
}

static void prepare(void *list, void *filter) {
    struct agent_watching *watching = filter;
    (void)list;
    watching->now_ns = reactor_wall_clock_ns();
}

/* A beat that was too long to be kept matches nothing. */
static enum parley_status matches(struct agent_table *table, const struct row *row,
                                  const char *value, bool *out) {
    enum parley_status status = PARLEY_OK;
    *out = value == NULL;
    if (value == NULL || row->beat.data == NULL) {
        return PARLEY_OK;
    }
    bool is_ours;
    status = agent_message_check(&table->message, table->channel, row->beat_subject, row->beat,
                                 false, &is_ours);
    if (status == PARLEY_OK && is_ours) {
        status = table->agents->matches(&table->message, parley_bytes_of(value), out);
    }
    parley_message_reset(&table->message);
    return status;
}

static enum parley_status write_unread(struct agent_table *table, const struct row *row,
                                       unsigned part, bool is_guarded, int64_t now_ns) {
    char at[AGENT_TIME_SIZE];
    const struct more_of_part *more = &row->more[part];
    const struct agent_part *of = &row->entry.parts[part];
    agent_time_text(of->time_ns, at);
    const struct parley_agent_report report = {.source = more->source,
                                               .is_guarded = is_guarded,
                                               .size_bytes = more->size_bytes,
                                               .id = more->id,
                                               .at = at,
                                               .age_seconds =
                                                   agent_age_seconds(of->time_ns, now_ns),
                                               .sequence = of->sequence};
    return table->agents->report(&report, &table->text);
}

/* The agent for this reader. The texts that are made for it lie one after the other. */
static enum parley_status write_row(struct agent_table *table, const struct row *row,
                                    const struct agent_watching *watching,
                                    struct parley_buffer *out) {
    struct agent_entry shown = row->entry;
    size_t begins[PARLEY_AGENT_PARTS_MAX];
    const bool is_guarded = agent_is_guarded(watching->own, parley_bytes_of(row->entry.name));
    parley_buffer_clear(&table->text);
    for (unsigned i = 0; i < PARLEY_AGENT_PARTS_MAX; i++) {
        const struct more_of_part *more = &row->more[i];
        begins[i] = table->text.length;
        if (more->is_unread && shown.parts[i].sequence > 0) {
            PARLEY_TRY(write_unread(table, row, i, is_guarded, watching->now_ns));
            shown.parts[i].length = table->text.length - begins[i];
        } else if (is_guarded && more->guarded.data != NULL) {
            shown.parts[i].text = (char *)more->guarded.data;
            shown.parts[i].length = more->guarded.length;
        }
    }
    PARLEY_TRY(parley_buffer_status(&table->text));
    for (unsigned i = 0; i < PARLEY_AGENT_PARTS_MAX; i++) {
        if (row->more[i].is_unread && shown.parts[i].length > 0) {
            shown.parts[i].text = table->text.data + begins[i];
        }
    }
    agent_entry_write(&shown, table->agents, watching->now_ns, out);
    return parley_buffer_status(out);
}

static enum parley_status write_change(void *list, const void *filter, const struct change *change,
                                       struct parley_buffer *out, bool *out_passes) {
    struct agent_table *table = list;
    const struct agent_watching *watching = filter;
    const struct row *row = row_of(change);
    const enum agent_state state = agent_state_of(&row->entry, table->agents, watching->now_ns);
    *out_passes = (watching->states >> state & 1) != 0;
    if (*out_passes) {
        PARLEY_TRY(matches(table, row, watching->value, out_passes));
    }
    return *out_passes ? write_row(table, row, watching, out) : PARLEY_OK;
}

static struct parley_bytes name_of(void *list, const struct change *change) {
    (void)list;
    return parley_bytes_of(row_of(change)->plain_name);
}

const struct follow_ops agent_table_follow_ops = {
    .is_whole = is_whole, .prepare = prepare, .write = write_change, .id = name_of};

struct change_log *agent_table_changes(struct agent_table *table) {
    return &table->changes;
}

/* ---- its life ---- */

enum parley_status agent_table_create(const struct channel *channel,
                                      const struct parley_schema *schema,
                                      struct agent_table **out) {
    struct agent_table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return PARLEY_E_MEMORY;
    }
    table->channel = channel;
    table->agents = channel->protocol->agents;
    pthread_mutex_init(&table->lock, NULL);
    change_log_init(&table->changes, &table->lock);
    randombytes_buf(table->secret, sizeof table->secret);
    TAILQ_INIT(&table->rows);
    parley_message_init(&table->message, schema);
    parley_buffer_init(&table->text);
    *out = table;
    return PARLEY_OK;
}

void agent_table_destroy(struct agent_table *table) {
    if (table == NULL) {
        return;
    }
    agent_table_clear(table);
    change_log_finish(&table->changes);
    parley_message_finish(&table->message);
    parley_buffer_finish(&table->text);
    pthread_mutex_destroy(&table->lock);
    free(table);
}
