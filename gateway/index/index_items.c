/* SPDX-License-Identifier: Apache-2.0 */

/* The view items: who holds which bead, which is the work that agents take and hand on, and what
 * waits for whom. In the order of storage, an item for each message, or for each of those whom it
 * asks.
 *
 * A bead has turns: a claim is one from its storage on, a handoff from its first acknowledgement by
 * the agent to whom it goes. The last turn holds the bead, and is open. */

#include "index_messages.h"

#include <stdlib.h>

#include <parley/index.h>

#include "agent_page.h"
#include "index_bearers.h"
#include "index_page.h"
#include "json_pick.h"
#include "reactor.h"

enum { BEADS_MAX = 1000, FIRST_CAPACITY = 8, NS_A_MS = 1000000 };

/* A claim, or a handoff.  Owns: texts are in the arena of the page. */
struct turn {
    struct index_message message; /* its place and its thread */
    struct index_cursor since;    /* pos 0: it is not confirmed so far */
    struct parley_bytes holder;
    bool is_handoff;
};

struct bead {
    struct parley_bytes name; /* in the arena of the page */
    struct turn *turns;       /* once it is settled, those that count, by `since` */
    size_t count, capacity;
    bool is_cut;
    SLIST_ENTRY(bead) links;
};

struct items {
    struct index_page page;
    const struct parley_index_items *of;
    SLIST_HEAD(, bead) beads;
    size_t bead_count;
};

enum state { HELD, WAITING, ENDED, ACKNOWLEDGED, ANSWERED };

/* A message, while its items are written. */
struct item {
    struct items *items;
    const struct index_duties_row *row;
    const struct parley_index_item_kind *kind;
    struct parley_bytes bead_name; /* data NULL: it is about none */
    int64_t bead_key;
    const struct bead *bead;          /* NULL: it is about none, or not looked up so far */
    const struct duty_thread *thread; /* NULL: it asks for nothing */
    size_t number;                    /* in that thread; SIZE_MAX: it is cut before it */
    bool is_cut;
};

/* What has become of it, for one of those whom it asks. */
struct fate {
    enum state state;
    int64_t since_ms;
};

static struct index_asking *asking_of(const struct items *items) {
    return items->page.duties.asking;
}

static bool is_running(const struct items *items) {
    return asking_of(items)->answered == INDEX_ANSWERED;
}

static void fail(struct items *items) {
    asking_of(items)->answered = INDEX_NO_MEMORY;
}

/* Returns: NULL: messages of the type are no items. */
static const struct parley_index_item_kind *kind_of(const struct items *items, unsigned type) {
    const struct parley_index_item_kind *kind = items->of->kinds;
    while (kind->name != NULL && kind->type != type) {
        kind++;
    }
    return kind->name != NULL ? kind : NULL;
}

/* The agent whom the message names as the one who takes the bead.  Owns: in the arena of the page;
 * length 0: it names none. */
static struct parley_bytes who_of(struct items *items, const struct index_message *message,
                                  const struct parley_index_item_kind *kind) {
    struct json_pick pick = {.name = kind->who};
    struct parley_arena arena = {0};
    if (json_pick(message->members, &arena, &pick, 1) == PARLEY_E_MEMORY) {
        fail(items);
    }
    const struct parley_bytes who = index_text_copy(asking_of(items), &items->page.duties.arena,
                                                    parley_value_text(&pick.value));
    parley_arena_finish(&arena);
    return who;
}

/* ---- beads ---- */

/* Makes room for one more turn.  Returns: false: there is no memory. */
static bool grow(struct items *items, struct bead *bead) {
    if (bead->count < bead->capacity) {
        return true;
    }
    const size_t wanted = bead->capacity > 0 ? 2 * bead->capacity : FIRST_CAPACITY;
    struct turn *grown = realloc(bead->turns, wanted * sizeof *grown);
    if (grown == NULL) {
        fail(items);
        return false;
    }
    bead->turns = grown;
    bead->capacity = wanted;
    return true;
}

static void add_turn(struct items *items, struct bead *bead, const struct index_message *message) {
    const struct parley_index_item_kind *kind = kind_of(items, message->type);
    if (kind == NULL || kind->role == PARLEY_INDEX_WAITS || !grow(items, bead)) {
        return;
    }
    struct turn *turn = &bead->turns[bead->count++];
    *turn = (struct turn){.since = message->at,
                          .holder = who_of(items, message, kind),
                          .is_handoff = kind->role == PARLEY_INDEX_HANDS};
    turn->message = (struct index_message){
        .at = message->at,
        .protocol = message->protocol,
        .protocol_number = message->protocol_number,
        .thread = index_text_copy(asking_of(items), &items->page.duties.arena, message->thread)};
}

/* Returns: false: the page has no room for the thread. */
static bool confirm(struct items *items, struct bead *bead, struct turn *turn) {
    const struct duty_thread *thread =
        index_duties_thread(&items->page.duties, &turn->message, index_page_is_first(&items->page));
    if (thread == NULL) {
        return false;
    }
    const size_t number = duty_number(thread, &turn->message.at);
    const struct duty_ack *ack = number != SIZE_MAX && turn->holder.length > 0
                                     ? duty_first_ack(thread, number, turn->holder)
                                     : NULL;
    turn->since = ack != NULL ? ack->at : (struct index_cursor){0};
    bead->is_cut = bead->is_cut || thread->is_cut;
    return true;
}

static int compare_turns(const void *one, const void *other) {
    const struct turn *a = one, *b = other;
    return ledger_is_before(&b->since, &a->since) - ledger_is_before(&a->since, &b->since);
}

/* Leaves the turns that count, in their order.  Returns: false: as above. */
static bool settle(struct items *items, struct bead *bead) {
    size_t kept = 0;
    for (size_t i = 0; i < bead->count; i++) {
        struct turn *turn = &bead->turns[i];
        if (turn->is_handoff && !confirm(items, bead, turn)) {
            return false;
        }
        if (turn->since.pos != 0) {
            bead->turns[kept++] = *turn;
        }
    }
    bead->count = kept;
    if (kept > 0) {
        qsort(bead->turns, kept, sizeof *bead->turns, compare_turns);
    }
    return true;
}

static void free_bead(struct bead *bead) {
    free(bead->turns);
    free(bead);
}

/* Returns: false: the page has no room for it, or it failed. */
static bool read_bead(struct items *items, struct bead *bead, int64_t key) {
    struct index_asking *asking = asking_of(items);
    struct index_duties_row row;
    sqlite3_stmt *find = index_duties_referrers(&items->page.duties, key, items->of->relation);
    while (index_duties_referrers_next(&items->page.duties, find, bead->name, &row)) {
        add_turn(items, bead, &row.message);
    }
    bead->is_cut = asking->rows_read >= INDEX_ROWS_MAX;
    const bool has_room = items->bead_count < BEADS_MAX && !bead->is_cut;
    return (has_room || index_page_is_first(&items->page)) && settle(items, bead) &&
           is_running(items);
}

/* Returns: NULL: as above. */
static const struct bead *find_bead(struct items *items, struct parley_bytes name, int64_t key) {
    struct bead *bead;
    SLIST_FOREACH(bead, &items->beads, links) {
        if (parley_bytes_equal(bead->name, name)) {
            return bead;
        }
    }
    bead = calloc(1, sizeof *bead);
    if (bead == NULL) {
        fail(items);
        return NULL;
    }
    bead->name = index_text_copy(asking_of(items), &items->page.duties.arena, name);
    if (!read_bead(items, bead, key)) {
        free_bead(bead);
        return NULL;
    }
    SLIST_INSERT_HEAD(&items->beads, bead, links);
    items->bead_count++;
    return bead;
}

/* Returns: false: as above. */
static bool look_up_bead(struct item *item) {
    if (item->bead_name.data != NULL && item->bead == NULL) {
        item->bead = find_bead(item->items, item->bead_name, item->bead_key);
        return item->bead != NULL;
    }
    return true;
}

/* The turn of the message.  Returns: SIZE_MAX: it has none. */
static size_t turn_of(const struct item *item) {
    const struct bead *bead = item->bead;
    for (size_t i = 0; bead != NULL && i < bead->count; i++) {
        if (bead->turns[i].message.at.pos == item->row->message.at.pos) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* ---- states ---- */

static struct fate fate_of_turn(const struct item *item) {
    const size_t number = turn_of(item);
    if (number == SIZE_MAX) {
        return (struct fate){item->kind->role == PARLEY_INDEX_TAKES ? HELD : WAITING,
                             item->row->message.at.stored};
    }
    const struct turn *turn = &item->bead->turns[number];
    const bool is_last = number + 1 == item->bead->count;
    return (struct fate){is_last ? HELD : ENDED, turn[is_last ? 0 : 1].since.stored};
}

static struct fate fate_of_wait(const struct item *item, struct parley_bytes recipient) {
    const struct duty_ack *ack = NULL;
    const struct duty_message *answer = NULL;
    if (item->number != SIZE_MAX) {
        ack = duty_first_ack(item->thread, item->number, recipient);
        answer = duty_answered(item->thread, item->number, recipient);
    }
    if (ack != NULL && (answer == NULL || ledger_is_before(&ack->at, &answer->at))) {
        return (struct fate){ACKNOWLEDGED, ack->at.stored};
    }
    return answer != NULL ? (struct fate){ANSWERED, answer->at.stored}
                          : (struct fate){WAITING, item->row->message.at.stored};
}

/* ---- items ---- */

static void write_text(struct parley_buffer *out, const char *name, struct parley_bytes text) {
    parley_buffer_format(out, ",\"%s\":", name);
    if (text.length > 0) {
        parley_buffer_json(out, text);
    } else {
        parley_buffer_text(out, "null");
    }
}

static void write_item(const struct item *item, const struct parley_bytes *recipient,
                       const struct fate *fate) {
    static const char *const states[] = {[HELD] = "held",
                                         [WAITING] = "waiting",
                                         [ENDED] = "ended",
                                         [ACKNOWLEDGED] = "acknowledged",
                                         [ANSWERED] = "answered"};
    struct index_asking *asking = asking_of(item->items);
    const struct bead *bead = item->bead;
    const bool is_held = bead != NULL && bead->count > 0;
    struct index_message message = item->row->message;
    char since[AGENT_TIME_SIZE];
    message.has_more = message.has_more || item->is_cut || (bead != NULL && bead->is_cut);
    agent_time_text(fate->since_ms * NS_A_MS, since);
    index_item_begin(asking);
    index_message_begin(asking, &message);
    parley_buffer_format(asking->out, ",\"kind\":\"%s\"", item->kind->name);
    write_text(asking->out, "bead", item->bead_name);
    write_text(asking->out, "holder",
               is_held ? bead->turns[bead->count - 1].holder : (struct parley_bytes){0});
    if (recipient != NULL) {
        write_text(asking->out, "recipient", *recipient);
    }
    parley_buffer_format(asking->out, ",\"state\":\"%s\",\"since\":\"%s\"", states[fate->state],
                         since);
    index_item_end(asking);
}

/* Adds one, unless it is not chosen.  Returns: false: the page is full before it. */
static bool add_item(struct item *item, const struct parley_bytes *recipient,
                     const struct fate *fate) {
    struct index_asking *asking = asking_of(item->items);
    if (!asking->question->has_all && fate->state != HELD && fate->state != WAITING) {
        return true;
    }
    if (asking->item_count == asking->question->limit || !look_up_bead(item)) {
        return false;
    }
    write_item(item, recipient, fate);
    return true;
}

/* Returns: false: as above. */
static bool add_turn_items(struct item *item) {
    if (!look_up_bead(item)) {
        return false;
    }
    const struct fate fate = fate_of_turn(item);
    if (item->kind->role == PARLEY_INDEX_TAKES) {
        return add_item(item, NULL, &fate);
    }
    const struct parley_bytes recipient = who_of(item->items, &item->row->message, item->kind);
    return add_item(item, &recipient, &fate);
}

/* Returns: false: the page is full before the last of those who are asked. */
static bool add_wait_items(struct item *item) {
    struct index_page *page = &item->items->page;
    const struct index_message *message = &item->row->message;
    struct index_recipients recipients;
    item->thread = index_duties_thread(&page->duties, message, index_page_is_first(page));
    if (item->thread == NULL) {
        return false;
    }
    item->number = duty_number(item->thread, &message->at);
    index_duties_recipients(&page->duties, item->thread, item->number, item->row, &recipients);
    item->is_cut = recipients.is_cut || item->number == SIZE_MAX;
    for (size_t i = page->skipped; i < recipients.count; i++) {
        const struct fate fate = fate_of_wait(item, recipients.names[i]);
        if (!add_item(item, &recipients.names[i], &fate)) {
            page->skipped = i;
            return false;
        }
    }
    return true;
}

/* ---- the list ---- */

/* Whether it is of the kind, the bead and the thread that are asked for. */
static bool is_wanted(const struct item *item) {
    const struct index_question *question = asking_of(item->items)->question;
    const struct parley_protocol *protocol = parley_protocols[question->protocol];
    const char *bead = question->values[INDEX_BEAD], *thread = question->values[INDEX_THREAD];
    char digest[INDEX_DIGEST_SIZE], room[INDEX_TEXT_MAX];
    const size_t number = (size_t)(item->kind - item->items->of->kinds);
    return (question->kinds == 0 || (question->kinds >> number & 1) != 0) &&
           (bead == NULL || (item->bead_name.data != NULL &&
                             index_texts_equal(protocol, item->bead_name,
                                               index_short_text(parley_bytes_of(bead), digest)))) &&
           (thread == NULL ||
            parley_bytes_equal(item->row->message.thread,
                               index_thread_text(protocol, parley_bytes_of(thread), room)));
}

static bool take(struct index_page *page, const struct index_duties_row *row) {
    struct items *items = OWNER_OF(page, struct items, page);
    struct item item = {.items = items, .row = row, .kind = kind_of(items, row->message.type)};
    char bead[INDEX_TEXT_MAX];
    if ((row->part & PARLEY_INDEX_IS_ITEM) == 0 || item.kind == NULL ||
        !index_is_visible(page->duties.asking, &row->message)) {
        return true;
    }
    item.bead_name = index_duties_target(&page->duties, &row->message, items->of->relation, bead,
                                         &item.bead_key);
    if (!is_wanted(&item)) {
        return true;
    }
    return item.kind->role == PARLEY_INDEX_WAITS ? add_wait_items(&item) : add_turn_items(&item);
}

static void walk(struct items *items) {
    const struct index_question *question = asking_of(items)->question;
    const char *bead = question->values[INDEX_BEAD], *thread = question->values[INDEX_THREAD];
    struct index_page_rows rows = {.is_there = false}, none = {.is_there = false};
    const enum index_duty_statement statement = bead != NULL     ? DUTY_PAGE_LABELLED
                                                : thread != NULL ? DUTY_PAGE_OF_THREAD
                                                                 : DUTY_PAGE;
    index_page_rows_begin(&items->page, &rows, statement,
                          parley_bytes_of(bead != NULL ? bead : thread));
    index_page_walk(&items->page, &none, &rows, take);
    index_page_rows_finish(&rows);
}

static void finish(struct items *items) {
    while (!SLIST_EMPTY(&items->beads)) {
        struct bead *bead = SLIST_FIRST(&items->beads);
        SLIST_REMOVE_HEAD(&items->beads, links);
        free_bead(bead);
    }
    index_page_finish(&items->page);
    free(items);
}

enum index_answered index_items_write(struct index_asking *asking) {
    struct items *items = calloc(1, sizeof *items);
    char next[INDEX_CURSOR_SIZE];
    if (items == NULL) {
        return INDEX_NO_MEMORY;
    }
    items->of = parley_protocols[asking->question->protocol]->index->items;
    SLIST_INIT(&items->beads);
    if (!index_page_begin(&items->page, asking)) {
        asking->answered = INDEX_BAD_CURSOR;
    } else {
        walk(items);
    }
    if (is_running(items)) {
        index_list_end(asking, index_page_next(&items->page, next));
    }
    finish(items);
    return asking->answered;
}
