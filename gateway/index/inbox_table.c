/* SPDX-License-Identifier: Apache-2.0 */

/* See inbox_table.h. Items are in the order of their positions, so that what left the beginning of
 * a stream is a range of them. */

#include "inbox_table.h"

#include <stdlib.h>
#include <string.h>

#include "index_duty_item.h"

enum { PLACES_FIRST = 64 };

struct item {
    struct change change;
    struct inbox_list *list;
    int64_t pos, overdue_ms, thread_key;
    uint64_t generation; /* of the reading that has found it last */
    char *text;          /* followed by its place, and a NUL */
    size_t text_length, place_length;
    bool is_unacked, is_answered;
};

struct inbox_list {
    struct inbox_table *table;
    char *agent; /* its name as the index has it */
    bool is_bound, is_unacked, is_limited;
    struct limit_sender sender; /* who has begun it, if is_limited */
    size_t reader_count;
    int64_t idle_since_ms;
    uint32_t part; /* of its items in the log: no other inbox has had it */
    uint64_t born; /* a version of its own: tokens of an earlier list of the agent are older */
    const struct follow_trouble *trouble; /* NULL: none */
    struct item **items;
    size_t count, capacity;
    /* The reading: */
    bool is_reading, is_whole;
    uint64_t generation;
    char cursor[INDEX_CURSOR_SIZE]; /* of the next page */
    int64_t again_ms;               /* when the next one begins */
    /* Messages of which it is to be asked what has become of them; they may come twice. */
    int64_t *places;
    size_t place_count, place_capacity;
};

struct inbox_table {
    pthread_mutex_t lock;
    struct change_log changes;
    unsigned protocol;
    uint32_t last_part;
    struct inbox_list *lists[INBOX_AGENTS_MAX]; /* by their numbers; NULL: it is free */
    size_t bytes;
    struct inbox_position position;
    bool has_more;    /* news, at once */
    int64_t news_ms;  /* when they are asked for next */
    int64_t clock_ms; /* when it is looked for next what changes by the time alone */
    enum inbox_wish asked;
    unsigned number; /* of the list that was asked for last */
};

static const struct follow_trouble too_large = {
    .reason = "too-large",
    .detail = "This inbox cannot be followed: it has more than 10000 messages, or all inboxes that "
              "are followed here have more than 64 MiB. Follow it with unacked=true, or ask for "
              "its pages."};

/* ---- items ---- */

/* The number of the first item at that position or later. */
static size_t find(const struct inbox_list *list, int64_t pos) {
    size_t low = 0, high = list->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (list->items[middle]->pos < pos) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct item *item_at(const struct inbox_list *list, int64_t pos) {
    const size_t at = find(list, pos);
    return at < list->count && list->items[at]->pos == pos ? list->items[at] : NULL;
}

static size_t bytes_of(const struct item *item) {
    return sizeof *item + item->text_length + item->place_length;
}

static struct parley_bytes place_of(const struct item *item) {
    return (struct parley_bytes){item->text + item->text_length, item->place_length};
}

static void free_item(struct item *item) {
    item->list->table->bytes -= bytes_of(item);
    free(item->text);
    free(item);
}

/* Items `from` to `end`, not included. */
static void remove_range(struct inbox_list *list, size_t from, size_t end) {
    for (size_t i = from; i < end; i++) {
        struct item *item = list->items[i];
        change_log_remove(&list->table->changes, &item->change, place_of(item));
        free_item(item);
    }
    if (end > from) {
        memmove(list->items + from, list->items + end, (list->count - end) * sizeof *list->items);
        list->count -= end - from;
    }
}

static void remove_at(struct inbox_list *list, int64_t pos) {
    const size_t at = find(list, pos);
    if (at < list->count && list->items[at]->pos == pos) {
        remove_range(list, at, at + 1);
    }
}

static bool reserve(struct inbox_list *list) {
    if (list->count < list->capacity) {
        return true;
    }
    const size_t capacity = list->capacity > 0 ? 2 * list->capacity : PLACES_FIRST;
    struct item **items = realloc(list->items, capacity * sizeof(struct item *));
    if (items != NULL) {
        list->items = items;
        list->capacity = capacity;
    }
    return items != NULL;
}

/* Owns: the item has the text.  Returns: false: no memory. */
static bool add(struct inbox_list *list, int64_t pos, struct item **out) {
    const size_t at = find(list, pos);
    struct item *item = reserve(list) ? calloc(1, sizeof *item) : NULL;
    if (item != NULL) {
        item->change.part = list->part;
    }
    if (item == NULL || !change_log_add(&list->table->changes, &item->change)) {
        free(item);
        return false;
    }
    item->list = list;
    item->pos = pos;
    list->table->bytes += bytes_of(item);
    memmove(list->items + at + 1, list->items + at, (list->count - at) * sizeof *list->items);
    list->items[at] = item;
    list->count++;
    *out = item;
    return true;
}

static bool is_same(const struct item *item, const struct index_inbox_item *now, const char *text) {
    return item->text_length == now->text_length &&
           memcmp(item->text, text + now->text_at, now->text_length) == 0;
}

/* Its readers end. Until they have, its items keep their places in the log, but no text, so that
 * other inboxes have room. */
static void set_trouble(struct inbox_list *list) {
    list->trouble = &too_large;
    for (size_t i = 0; i < list->count; i++) {
        struct item *item = list->items[i];
        list->table->bytes -= item->text_length + item->place_length;
        free(item->text);
        item->text = NULL;
        item->text_length = item->place_length = 0;
    }
    list->is_reading = false;
    list->place_count = 0;
    change_log_wake(&list->table->changes);
}

/* The item is like this now. */
static void put(struct inbox_list *list, const struct index_inbox_item *now, const char *all) {
    struct item *item = item_at(list, now->pos);
    const size_t length = now->text_length + now->place_length;
    if (item != NULL && is_same(item, now, all)) {
        item->generation = list->generation;
        item->overdue_ms = now->overdue_ms;
        return;
    }
    char *text = malloc(length + 1);
    const bool is_new = item == NULL;
    if (text == NULL || (is_new && !add(list, now->pos, &item))) {
        free(text);
        set_trouble(list);
        return;
    }
    memcpy(text, all + now->text_at, now->text_length);
    memcpy(text + now->text_length, all + now->place_at, now->place_length);
    text[length] = '\0';
    free(item->text);
    list->table->bytes -= bytes_of(item);
    item->text = text;
    item->text_length = now->text_length;
    item->place_length = now->place_length;
    item->overdue_ms = now->overdue_ms;
    item->thread_key = now->thread_key;
    item->is_unacked = now->is_unacked;
    item->is_answered = now->is_answered;
    item->generation = list->generation;
    list->table->bytes += bytes_of(item);
    if (!is_new) {
        change_log_touch(&list->table->changes, &item->change);
    }
    if (list->count > INBOX_LIST_ITEMS_MAX || list->table->bytes > INBOX_BYTES_MAX) {
        set_trouble(list);
    }
}

/* ---- what is to be asked ---- */

static void want(struct inbox_list *list, int64_t pos) {
    enum { WANTED_MAX = 2 * INBOX_LIST_ITEMS_MAX };
    if (list->trouble != NULL || list->place_count == WANTED_MAX) {
        return; /* the next reading finds it */
    }
    if (list->place_count == list->place_capacity) {
        const size_t capacity = list->place_capacity > 0 ? 2 * list->place_capacity : PLACES_FIRST;
        int64_t *places = realloc(list->places, capacity * sizeof *places);
        if (places == NULL) {
            set_trouble(list);
            return;
        }
        list->places = places;
        list->place_capacity = capacity;
    }
    list->places[list->place_count++] = pos;
}

static void want_answered(struct inbox_list *list, int64_t thread_key) {
    for (size_t i = 0; i < list->count && thread_key != 0; i++) {
        if (list->items[i]->thread_key == thread_key && !list->items[i]->is_answered) {
            want(list, list->items[i]->pos);
        }
    }
}

/* An inbox that is read finds by itself what it has not come to. */
static void take_one(struct inbox_list *list, const struct index_inbox_news *news) {
    if (news->what == INBOX_ANSWERED) {
        want_answered(list, news->thread_key);
    } else {
        want(list, news->pos);
    }
}

static void begin_reading(struct inbox_list *list) {
    list->is_reading = true;
    list->generation++;
    list->cursor[0] = '\0';
}

/* ---- lists ---- */

static void free_list(struct inbox_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        change_log_forget(&list->table->changes, &list->items[i]->change);
        free_item(list->items[i]);
    }
    free(list->items);
    free(list->places);
    free(list->agent);
    free(list);
}

static bool is_of(const struct inbox_list *list, const char *agent, const struct inbox_key *key) {
    return list->trouble == NULL && list->is_bound == key->is_bound &&
           list->is_unacked == key->is_unacked && strcmp(list->agent, agent) == 0;
}

/* So that one sender leaves room for others. */
static bool has_enough(const struct inbox_table *table, const struct limit_sender *sender) {
    size_t count = 0;
    for (size_t i = 0; i < INBOX_AGENTS_MAX && sender != NULL; i++) {
        const struct inbox_list *list = table->lists[i];
        count += list != NULL && list->is_limited && list->sender.kind == sender->kind &&
                 limit_key_equals(&list->sender.key, &sender->key);
    }
    return count >= REQUEST_SLOTS_OF_SENDER(INBOX_AGENTS_MAX);
}

struct inbox_list *inbox_table_enter(struct inbox_table *table, const struct inbox_key *key) {
    char room[INDEX_DIGEST_SIZE];
    const char *name = index_short_text(parley_bytes_of(key->agent), room).data;
    unsigned free_number = INBOX_AGENTS_MAX;
    for (unsigned i = 0; i < INBOX_AGENTS_MAX; i++) {
        struct inbox_list *list = table->lists[i];
        if (list != NULL && is_of(list, name, key)) {
            list->reader_count++;
            return list;
        }
        free_number = list == NULL && free_number == INBOX_AGENTS_MAX ? i : free_number;
    }
    const bool has_room = free_number < INBOX_AGENTS_MAX && !has_enough(table, key->sender);
    struct inbox_list *list = has_room ? calloc(1, sizeof *list) : NULL;
    char *agent = list != NULL ? strdup(name) : NULL;
    if (agent == NULL) {
        free(list);
        return NULL;
    }
    *list = (struct inbox_list){.table = table,
                                .agent = agent,
                                .is_bound = key->is_bound,
                                .is_unacked = key->is_unacked,
                                .is_limited = key->sender != NULL,
                                .reader_count = 1,
                                .part = ++table->last_part,
                                .born = ++table->changes.version};
    if (list->is_limited) {
        list->sender = *key->sender;
    }
    begin_reading(list);
    table->lists[free_number] = list;
    return list;
}

void inbox_table_leave(struct inbox_list *list, int64_t now_ms) {
    list->reader_count--;
    list->idle_since_ms = now_ms;
}

/* Returns: whether any is left. */
static bool drop_idle(struct inbox_table *table, int64_t now_ms) {
    bool is_any_left = false;
    for (size_t i = 0; i < INBOX_AGENTS_MAX; i++) {
        struct inbox_list *list = table->lists[i];
        const bool is_idle =
            list != NULL && list->reader_count == 0 &&
            (list->trouble != NULL || now_ms - list->idle_since_ms >= INBOX_IDLE_MS);
        if (is_idle) {
            free_list(list);
            table->lists[i] = NULL;
        }
        is_any_left = is_any_left || table->lists[i] != NULL;
    }
    return is_any_left;
}

/* What is known is of another file, or of no use. */
static void begin_again(struct inbox_table *table) {
    for (size_t i = 0; i < INBOX_AGENTS_MAX; i++) {
        struct inbox_list *list = table->lists[i];
        if (list != NULL) {
            remove_range(list, 0, list->count);
            list->place_count = 0;
            list->is_whole = false;
            list->born = 0;
            if (list->trouble == NULL) {
                begin_reading(list);
            }
        }
    }
    change_log_begin(&table->changes);
}

/* ---- the next question ---- */

/* The first list after the one that was asked for last that `is_due`; NULL: none is. */
static struct inbox_list *next_list(struct inbox_table *table,
                                    bool (*is_due)(const struct inbox_list *list)) {
    for (unsigned i = 1; i <= INBOX_AGENTS_MAX; i++) {
        const unsigned number = (table->number + i) % INBOX_AGENTS_MAX;
        if (table->lists[number] != NULL && is_due(table->lists[number])) {
            table->number = number;
            return table->lists[number];
        }
    }
    return NULL;
}

static bool wants_items(const struct inbox_list *list) {
    return list->place_count > 0;
}

static bool wants_page(const struct inbox_list *list) {
    return list->is_reading;
}

static void look_at_clock(struct inbox_table *table, int64_t now_ms, int64_t wall_ms) {
    if (now_ms < table->clock_ms) {
        return;
    }
    table->clock_ms = now_ms + INBOX_NEWS_MS;
    for (size_t i = 0; i < INBOX_AGENTS_MAX; i++) {
        struct inbox_list *list = table->lists[i];
        if (list != NULL && list->trouble == NULL && list->is_whole && !list->is_reading &&
            now_ms >= list->again_ms) {
            begin_reading(list);
        }
        for (size_t j = 0; list != NULL && j < list->count; j++) {
            struct item *item = list->items[j];
            if (item->overdue_ms != 0 && item->overdue_ms <= wall_ms) {
                item->overdue_ms = 0;
                want(list, item->pos);
            }
        }
    }
}

static enum inbox_wish choose(struct inbox_table *table, int64_t now_ms, int64_t wall_ms) {
    const bool is_news_due = table->has_more || now_ms >= table->news_ms;
    if (!table->position.is_known) {
        return INBOX_NEWS;
    }
    look_at_clock(table, now_ms, wall_ms);
    if (next_list(table, wants_items) != NULL) {
        return INBOX_ITEMS;
    }
    if (is_news_due && table->asked != INBOX_NEWS) {
        return INBOX_NEWS;
    }
    if (next_list(table, wants_page) != NULL) {
        return INBOX_PAGE;
    }
    return is_news_due ? INBOX_NEWS : INBOX_RESTS;
}

static void ask_news(const struct inbox_table *table, struct index_inbox *asked) {
    asked->position = table->position;
    asked->news_count = 0;
    asked->has_more = asked->is_lost = false;
    for (size_t i = 0; i < INBOX_AGENTS_MAX; i++) {
        const struct inbox_list *list = table->lists[i];
        asked->agents[i] = list != NULL && list->trouble == NULL ? list->agent : NULL;
    }
}

/* The last ones of those that are wanted. */
static void ask_items(const struct inbox_list *list, struct index_inbox *asked) {
    asked->place_count = list->place_count < INBOX_ITEMS_MAX ? list->place_count : INBOX_ITEMS_MAX;
    memcpy(asked->places, list->places + list->place_count - asked->place_count,
           asked->place_count * sizeof *asked->places);
}

enum inbox_wish inbox_table_next(struct inbox_table *table, int64_t now_ms, int64_t wall_ms,
                                 struct index_inbox *asked, struct index_question *out) {
    if (!drop_idle(table, now_ms)) {
        table->position.is_known = false;
        change_log_begin(&table->changes);
        return INBOX_ENDS;
    }
    const enum inbox_wish wish = choose(table, now_ms, wall_ms);
    const struct inbox_list *list = table->lists[table->number];
    asked->looked_at = asked->item_count = 0;
    *out = (struct index_question){.protocol = table->protocol,
                                   .readable = UINT64_C(1) << table->protocol,
                                   .until_ms = INT64_MAX,
                                   .now_ms = wall_ms,
                                   .overdue_ms = -1,
                                   .limit = INBOX_ITEMS_MAX,
                                   .is_lines = true,
                                   .inbox = asked};
    table->asked = wish != INBOX_RESTS ? wish : table->asked;
    if (wish == INBOX_NEWS) {
        out->view = &index_inbox_news_view;
        ask_news(table, asked);
    } else if (wish != INBOX_RESTS) {
        out->view = wish == INBOX_PAGE ? index_view_find("inbox") : &index_inbox_items_view;
        out->values[INDEX_AGENT] = list->agent;
        out->values[INDEX_CURSOR] =
            wish == INBOX_PAGE && list->cursor[0] != '\0' ? list->cursor : NULL;
        out->own = list->is_bound ? list->agent : NULL;
        out->unacked = list->is_unacked ? INDEX_ONLY : INDEX_ANY;
        if (wish == INBOX_ITEMS) {
            ask_items(list, asked);
        }
    }
    return wish;
}

/* ---- answers ---- */

/* Messages that left the beginning of their stream. */
static void drop_oldest(struct inbox_table *table) {
    for (size_t i = 0; i < INBOX_AGENTS_MAX; i++) {
        struct inbox_list *list = table->lists[i];
        for (size_t j = 0; list != NULL && j < table->position.count; j++) {
            const uint64_t first = (uint64_t)table->position.streams[j].number
                                   << INDEX_SEQUENCE_BITS;
            remove_range(list, find(list, (int64_t)first),
                         find(list, (int64_t)(first | table->position.streams[j].oldest)));
        }
    }
}

static void take_news(struct inbox_table *table, const struct index_inbox *asked, int64_t now_ms) {
    table->position = asked->position;
    table->has_more = asked->has_more;
    table->news_ms = now_ms + INBOX_NEWS_MS;
    if (asked->is_lost) {
        begin_again(table);
        return;
    }
    for (size_t i = 0; i < asked->news_count; i++) {
        const struct index_inbox_news *news = &asked->news[i];
        for (unsigned j = 0; j < INBOX_AGENTS_MAX; j++) {
            const bool is_its = news->agent == j || news->agent == INBOX_EVERYONE;
            if (is_its && asked->agents[j] != NULL) {
                take_one(table->lists[j], news);
            }
        }
    }
    drop_oldest(table);
}

static void end_reading(struct inbox_list *list, int64_t now_ms) {
    for (size_t i = list->count; i > 0; i--) {
        if (list->items[i - 1]->generation != list->generation) {
            remove_range(list, i - 1, i);
        }
    }
    list->is_reading = false;
    list->is_whole = true;
    list->again_ms = now_ms + INBOX_AGAIN_MS;
    change_log_wake(&list->table->changes);
}

static void take_page(struct inbox_list *list, const struct index_inbox *asked, const char *text,
                      int64_t now_ms) {
    for (size_t i = 0; i < asked->item_count && list->trouble == NULL; i++) {
        put(list, &asked->items[i], text);
    }
    memcpy(list->cursor, asked->next, sizeof list->cursor);
    if (list->trouble == NULL && asked->next[0] == '\0') {
        end_reading(list, now_ms);
    }
}

/* One that was looked at and is no item is none any more. */
static void take_items(struct inbox_list *list, const struct index_inbox *asked, const char *text) {
    size_t noted = 0;
    for (size_t i = 0; i < asked->looked_at && list->trouble == NULL; i++) {
        if (noted < asked->item_count && asked->items[noted].pos == asked->places[i]) {
            put(list, &asked->items[noted++], text);
        } else {
            remove_at(list, asked->places[i]);
        }
    }
    if (list->trouble != NULL) {
        return;
    }
    const size_t left = asked->place_count - asked->looked_at;
    list->place_count -= asked->place_count;
    memcpy(list->places + list->place_count, asked->places + asked->looked_at,
           left * sizeof *list->places);
    list->place_count += left;
    if (list->place_count == 0) {
        free(list->places);
        list->places = NULL;
        list->place_capacity = 0;
    }
}

void inbox_table_take(struct inbox_table *table, enum inbox_wish wish, enum index_answered answered,
                      const struct index_inbox *asked, struct parley_bytes text, int64_t now_ms) {
    struct inbox_list *list = table->lists[table->number];
    if (answered == INDEX_BAD_CURSOR && wish == INBOX_PAGE) {
        begin_reading(list); /* its stream is gone */
    }
    if (answered != INDEX_ANSWERED) {
        return;
    }
    if (wish == INBOX_NEWS) {
        take_news(table, asked, now_ms);
    } else if (wish == INBOX_PAGE) {
        take_page(list, asked, text.data, now_ms);
    } else if (wish == INBOX_ITEMS) {
        take_items(list, asked, text.data);
    }
}

/* ---- following ---- */

static const struct item *item_of(const struct change *change) {
    return OWNER_OF(change, struct item, change);
}

static const struct follow_trouble *trouble_of(void *list) {
    return ((const struct inbox_list *)list)->trouble;
}

static bool is_whole(void *list) {
    return ((const struct inbox_list *)list)->is_whole;
}

static enum parley_status write_change(void *list, const void *filter, const struct change *change,
                                       struct parley_buffer *out, bool *out_passes) {
    const struct item *item = item_of(change);
    const struct inbox_watching *watching = filter;
    *out_passes = item->list == list && item->text != NULL &&
                  index_is_chosen(watching->unacked, item->is_unacked);
    if (*out_passes) {
        parley_buffer_append(out, (struct parley_bytes){item->text, item->text_length});
    }
    return parley_buffer_status(out);
}

static bool may_pass(void *list, const void *filter, const struct change *change) {
    (void)filter;
    return item_of(change)->list == list;
}

static struct parley_bytes id_of(void *list, const struct change *change) {
    (void)list;
    return place_of(item_of(change));
}

static const struct follow_ops ops = {.trouble = trouble_of,
                                      .is_whole = is_whole,
                                      .write = write_change,
                                      .may_pass = may_pass,
                                      .id = id_of};

void inbox_list_follow(struct inbox_list *list, struct follow_options *out) {
    out->ops = &ops;
    out->list = list;
    out->log = &list->table->changes;
    out->part = list->part;
    out->born = list->born;
}

struct change_log *inbox_table_changes(struct inbox_table *table) {
    return &table->changes;
}

/* ---- its life ---- */

enum parley_status inbox_table_create(unsigned protocol, struct inbox_table **out) {
    struct inbox_table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return PARLEY_E_MEMORY;
    }
    table->protocol = protocol;
    pthread_mutex_init(&table->lock, NULL);
    change_log_init(&table->changes, &table->lock);
    *out = table;
    return PARLEY_OK;
}

void inbox_table_destroy(struct inbox_table *table) {
    if (table == NULL) {
        return;
    }
    for (size_t i = 0; i < INBOX_AGENTS_MAX; i++) {
        if (table->lists[i] != NULL) {
            free_list(table->lists[i]);
        }
    }
    change_log_finish(&table->changes);
    pthread_mutex_destroy(&table->lock);
    free(table);
}
