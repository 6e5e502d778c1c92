/* SPDX-License-Identifier: Apache-2.0 */

/* See board.h. This file is a board's life, and what entries of the bucket do to it. */

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "board_state.h"

enum {
    WORKS_MAX = 100000,
    BYTES_MAX = 128 * 1024 * 1024,
    READ_BYTES_MAX = 64 * 1024, /* of the arena: three values, decoded */
};

_Static_assert(BOARD_SECRET_BYTES == crypto_shorthash_KEYBYTES, "SipHash's key");

int64_t board_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- entries ---- */

/* Of a key of a series. */
static uint64_t last_number(struct parley_bytes key) {
    uint64_t number = 0, weight = 1;
    for (size_t i = key.length; i > 0 && key.data[i - 1] != '.'; i--, weight *= 10) {
        number += weight * (uint64_t)(key.data[i - 1] - '0');
    }
    return number;
}

static const struct parley_bytes UNREADABLE = {"{}", 2};

/* A value that is too long is as good as one that cannot be read. */
static enum parley_status keep_value(struct board *board, struct work *work,
                                     enum parley_task_fact fact, const struct bucket_entry *entry) {
    const struct parley_bytes value =
        entry->value.length > BOARD_FACT_BYTES_MAX ? UNREADABLE : entry->value;
    if (!parley_bytes_equal((struct parley_bytes){work->facts[fact], work->lengths[fact]}, value)) {
        change_log_touch(&board->changes, &work->change);
    }
    free(work->facts[fact]);
    work->facts[fact] = parley_bytes_copy(value);
    work->lengths[fact] = work->facts[fact] != NULL ? value.length : 0;
    work->sequences[fact] = entry->sequence;
    work->guessed &= ~(1u << fact);
    work->claimed_ms = fact == PARLEY_TASK_CLAIM || fact == PARLEY_TASK_TURN
                           ? entry->time_ns / 1000000
                           : work->claimed_ms;
    work->turn_number = fact == PARLEY_TASK_TURN ? last_number(entry->key) : work->turn_number;
    return value.data != NULL && work->facts[fact] == NULL ? PARLEY_E_MEMORY : PARLEY_OK;
}

static bool has_facts(const struct work *work) {
    for (size_t i = 0; i < PARLEY_TASK_KNOWN_BY; i++) {
        if (work->facts[i] != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_spent(const struct board *board, const struct parley_task *what) {
    const uint64_t max = what->attempts_max > 0 ? what->attempts_max : board->limits.attempts_max;
    return what->is_open && max > 0 && what->attempt >= max;
}

/* What it is now, after its facts have changed. Work that is taken stays so while it is open: its
 * claim is under way. */
enum parley_status board_settle(struct board *board, struct work *work) {
    struct parley_task what;
    if (!has_facts(work)) {
        works_remove(board, work);
        return PARLEY_OK;
    }
    PARLEY_TRY(works_read(board, work, board_now_ms(), &what));
    const bool was_open = work->phase == WORK_OPEN || work->phase == WORK_DUE_LATER;
    if (was_open) {
        works_set_phase(board, work, WORK_TAKEN); /* for its priority and its time may change */
    }
    moments_describe(board, work, &what);
    PARLEY_TRY(works_describe(board, work, &what));
    const bool can_open = what.is_open || what.opens_at_ms > 0;
    const bool is_at_rest = work->phase == WORK_CLOSED || work->phase == WORK_SPENT;
    if (is_spent(board, &what)) {
        works_set_phase(board, work, WORK_SPENT);
    } else if (!can_open && work->phase != WORK_CLOSED) {
        works_set_phase(board, work, WORK_CLOSED);
    } else if (can_open && (was_open || is_at_rest || !what.is_open)) {
        works_open(board, work);
    }
    take_wake_claimers(board, work);
    return PARLEY_OK;
}

static enum parley_status take_in(struct board *board, const struct bucket_entry *entry) {
    struct parley_bytes id;
    enum parley_task_fact fact;
    if (notes_take_in(board, entry) || !board->kind->key(entry->key, &id, &fact)) {
        return PARLEY_OK;
    }
    struct work *work = works_find(board, id);
    if (work == NULL && (entry->value.data == NULL || fact >= PARLEY_TASK_KNOWN_BY)) {
        return PARLEY_OK;
    }
    if (work != NULL && entry->sequence <= work->sequences[fact]) {
        return PARLEY_OK; /* known from this process */
    }
    work = work != NULL ? work : works_add(board, id, entry->sequence);
    PARLEY_TRY(work != NULL ? PARLEY_OK : PARLEY_E_MEMORY);
    PARLEY_TRY(keep_value(board, work, fact, entry));
    if ((fact == PARLEY_TASK_CLAIM || fact == PARLEY_TASK_TURN) && work->phase == WORK_TAKEN) {
        works_set_phase(board, work, WORK_CLOSED); /* the claim that was under way is decided */
    }
    PARLEY_TRY(board_settle(board, work));
    works_make_room(board);
    return PARLEY_OK;
}

/* Without memory the entry is left out, like what there is no room for. */
void board_on_entry(void *context, const struct bucket_entry *entry) {
    struct board *board = context;
    pthread_mutex_lock(&board->lock);
    board->has_left_out = take_in(board, entry) != PARLEY_OK || board->has_left_out;
    board->last_sequence = entry->sequence;
    take_wake_readers(board);
    due_set_timer(board);
    pthread_mutex_unlock(&board->lock);
}

/* Whether a key tells something new that another gateway has written first. Its value is known for
 * a request and for a claim, of which there is one message with that key; an end or a turn may be
 * that of another message. */
static bool is_news(const struct board *board, const struct bucket_entry *entry) {
    struct parley_bytes id;
    enum parley_task_fact fact;
    if (!board->kind->key(entry->key, &id, &fact) ||
        (fact != PARLEY_TASK_REQUEST && fact != PARLEY_TASK_CLAIM)) {
        return false;
    }
    const struct work *work = works_find(board, id);
    return work == NULL || work->facts[fact] == NULL;
}

static void note_guess(struct board *board, struct parley_bytes key) {
    struct parley_bytes id;
    enum parley_task_fact fact;
    struct work *work = board->kind->key(key, &id, &fact) ? works_find(board, id) : NULL;
    if (work != NULL) {
        work->guessed |= 1u << fact;
    }
}

/* A place that is not known counts as the last one that was read: the watch, which delivers the key
 * later, has the last word. */
void board_on_written(void *context, const struct bucket_entry *entry) {
    struct board *board = context;
    struct bucket_entry placed = *entry;
    pthread_mutex_lock(&board->lock);
    const bool is_placed = entry->sequence > 0;
    if (!is_placed) {
        placed.sequence = board->last_sequence;
    }
    if (board->is_current &&
        (is_placed ? entry->sequence > board->last_sequence : is_news(board, entry))) {
        board->has_left_out = take_in(board, &placed) != PARLEY_OK || board->has_left_out;
        if (!is_placed) {
            note_guess(board, entry->key);
        }
    }
    pthread_mutex_unlock(&board->lock);
}

void board_on_began(void *context) {
    struct board *board = context;
    pthread_mutex_lock(&board->lock);
    works_remove_all(board);
    change_log_begin(&board->changes);
    board->is_current = false;
    board->has_left_out = false;
    board->beginning_count = 0;
    board->last_sequence = 0;
    board->kept_from = 0;
    pthread_mutex_unlock(&board->lock);
}

void board_on_current(void *context) {
    struct board *board = context;
    pthread_mutex_lock(&board->lock);
    board->is_current = true;
    take_wake_all(board);
    change_log_wake(&board->changes);
    pthread_mutex_unlock(&board->lock);
}

/* Memory runs out here only after that of the request was enough once. */
static void drop_facts_before(struct board *board, struct work *work, uint64_t first_sequence) {
    bool has_dropped = false;
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        if (work->facts[i] != NULL && work->sequences[i] < first_sequence) {
            free(work->facts[i]);
            work->facts[i] = NULL;
            work->lengths[i] = 0;
            has_dropped = true;
        }
    }
    if (has_dropped) {
        change_log_touch(&board->changes, &work->change);
        board->has_left_out = board_settle(board, work) != PARLEY_OK || board->has_left_out;
    }
}

static bool has_room_again(const struct board *board) {
    return board->has_left_out && board->is_current &&
           board->open_count + board->due.count < board->limits.works_max / 4 * 3 &&
           board->bytes < board->limits.bytes_max / 4 * 3;
}

void board_on_kept_from(void *context, uint64_t first_sequence) {
    struct board *board = context;
    pthread_mutex_lock(&board->lock);
    struct work *next = first_sequence > board->kept_from ? TAILQ_FIRST(&board->all) : NULL;
    while (next != NULL) {
        struct work *work = next;
        next = TAILQ_NEXT(work, age_link);
        drop_facts_before(board, work, first_sequence);
    }
    board->kept_from = first_sequence;
    if (first_sequence > board->last_sequence) {
        board->last_sequence = first_sequence - 1;
        take_wake_readers(board);
    }
    if (has_room_again(board) && board->watch != NULL) {
        reactor_timer_set(board->reactor, &board->again, 0);
    }
    pthread_mutex_unlock(&board->lock);
}

static bool is_guess(const struct work *work, enum parley_task_fact fact) {
    return (work->guessed >> fact & 1) != 0;
}

/* While nothing was left out, each key that was read of work is here, from its request on. A
 * request that is a guess may be of work that was over and had to make room: then its keys will not
 * come again. */
static bool is_whole(const struct board *board, const struct work *work) {
    return !board->has_left_out && work->facts[PARLEY_TASK_REQUEST] != NULL &&
           !is_guess(work, PARLEY_TASK_REQUEST);
}

static enum fact_known known_fact(const struct board *board, const struct work *work,
                                  enum parley_task_fact fact, uint64_t read_to) {
    if (work->facts[fact] != NULL) {
        return is_guess(work, fact) || work->lengths[fact] <= UNREADABLE.length ? FACT_UNKNOWN
                                                                                : FACT_IS_THERE;
    }
    return read_to > 0 && board->last_sequence >= read_to && is_whole(board, work) &&
                   fact < PARLEY_TASK_KNOWN_BY
               ? FACT_IS_ABSENT
               : FACT_UNKNOWN;
}

enum fact_known board_known_fact(void *context, struct parley_bytes key, uint64_t read_to,
                                 struct parley_buffer *out_value) {
    struct board *board = context;
    struct parley_bytes id;
    enum parley_task_fact fact;
    enum fact_known known = FACT_UNKNOWN;
    if (!board->kind->key(key, &id, &fact) || fact == PARLEY_TASK_TURN) {
        return FACT_UNKNOWN; /* of turns the last one alone is here */
    }
    pthread_mutex_lock(&board->lock);
    const struct work *work = board->is_current ? works_find(board, id) : NULL;
    if (work != NULL) {
        known = known_fact(board, work, fact, read_to);
    }
    if (known == FACT_IS_THERE) {
        parley_buffer_append(out_value,
                             (struct parley_bytes){work->facts[fact], work->lengths[fact]});
    }
    pthread_mutex_unlock(&board->lock);
    return known;
}

uint64_t board_read_to(struct board *board) {
    pthread_mutex_lock(&board->lock);
    const uint64_t sequence = board->last_sequence;
    pthread_mutex_unlock(&board->lock);
    return sequence;
}

uint64_t board_last_turn(void *context, struct parley_bytes series,
                         struct parley_buffer *out_value) {
    struct board *board = context;
    struct parley_bytes id;
    enum parley_task_fact fact;
    uint64_t number = 0;
    if (!board->kind->key(series, &id, &fact) || fact != PARLEY_TASK_TURN) {
        return 0;
    }
    pthread_mutex_lock(&board->lock);
    const struct work *work = board->is_current ? works_find(board, id) : NULL;
    if (work != NULL && work->facts[PARLEY_TASK_TURN] != NULL) {
        number = work->turn_number;
        parley_buffer_append(out_value, (struct parley_bytes){work->facts[PARLEY_TASK_TURN],
                                                              work->lengths[PARLEY_TASK_TURN]});
    } else if (work != NULL && work->facts[PARLEY_TASK_CLAIM] != NULL) {
        number = 1;
    }
    pthread_mutex_unlock(&board->lock);
    return number;
}

bool board_is_current(struct board *board) {
    pthread_mutex_lock(&board->lock);
    const bool is_current = board->is_current;
    pthread_mutex_unlock(&board->lock);
    return is_current;
}

/* ---- the watch ---- */

/* That it is away shows when something is claimed. */
static void on_away(void *context) {
    (void)context;
}

static enum parley_status open_watch(struct board *board) {
    const struct bucket_watch_events events = {.began = board_on_began,
                                               .entry = board_on_entry,
                                               .current = board_on_current,
                                               .away = on_away,
                                               .kept_from = board_on_kept_from,
                                               .context = board};
    return bucket_watch_open(board->reactor, board->jetstream, board->bucket, &events,
                             &board->watch);
}

/* Something was left out, and there is room for it now. */
static void on_again(struct reactor_timer *timer) {
    enum { NO_MEMORY_MS = 1000 };
    struct board *board = OWNER_OF(timer, struct board, again);
    bucket_watch_close(board->watch);
    board->watch = NULL;
    if (open_watch(board) != PARLEY_OK) {
        reactor_timer_set(board->reactor, timer, NO_MEMORY_MS);
    }
}

enum parley_status board_begin(struct board *board, struct reactor *reactor,
                               struct jetstream *jetstream) {
    pthread_mutex_lock(&board->lock);
    enum parley_status status = PARLEY_OK;
    if (board->reactor == NULL) {
        board->reactor = reactor;
        board->jetstream = jetstream;
        status = open_watch(board);
        board->reactor = status == PARLEY_OK ? reactor : NULL;
        board->may_note = status == PARLEY_OK;
    }
    pthread_mutex_unlock(&board->lock);
    return status;
}

void board_end(struct board *board, const struct reactor *reactor) {
    pthread_mutex_lock(&board->lock);
    const bool is_own = board->reactor == reactor;
    board->may_note = board->may_note && !is_own;
    pthread_mutex_unlock(&board->lock);
    if (is_own) {
        bucket_watch_close(board->watch);
        board->watch = NULL;
        reactor_timer_clear(board->reactor, &board->again);
        reactor_timer_clear(board->reactor, &board->due_timer);
        reactor_timer_clear(board->reactor, &board->note_timer);
    }
}

/* ---- its life ---- */

static size_t count_priorities(const struct parley_protocol *protocol) {
    size_t count = 0;
    while (protocol->priorities != NULL && protocol->priorities[count] != NULL) {
        count++;
    }
    return count > 0 ? count : 1;
}

enum parley_status board_create(const struct parley_protocol *protocol, const char *bucket,
                                const struct board_limits *limits, struct board **out) {
    struct board *board = calloc(1, sizeof *board);
    char *name = strdup(bucket);
    if (board == NULL || name == NULL) {
        free(board);
        free(name);
        return PARLEY_E_MEMORY;
    }
    pthread_mutex_init(&board->lock, NULL);
    board->protocol = protocol;
    board->kind = protocol->tasks;
    board->bucket = name;
    board->limits.attempts_max = limits->attempts_max;
    board->limits.works_max = limits->works_max > 0 ? limits->works_max : WORKS_MAX;
    board->limits.bytes_max = limits->bytes_max > 0 ? limits->bytes_max : BYTES_MAX;
    board->priority_count = (unsigned)count_priorities(protocol);
    board->again.fire = on_again;
    board->due_timer.fire = due_on_timer;
    board->note_timer.fire = notes_on_timer;
    change_log_init(&board->changes, &board->lock);
    randombytes_buf(board->secret, sizeof board->secret);
    parley_arena_init(&board->arena, READ_BYTES_MAX);
    TAILQ_INIT(&board->all);
    TAILQ_INIT(&board->closed);
    TAILQ_INIT(&board->spent);
    TAILQ_INIT(&board->waiters);
    TAILQ_INIT(&board->notes_ready);
    TAILQ_INIT(&board->notes_resting);
    for (size_t i = 0; i < BOARD_PRIORITIES_MAX; i++) {
        TAILQ_INIT(&board->open[i]);
    }
    for (size_t i = 0; i < BOARD_CLAIM_LISTS; i++) {
        LIST_INIT(&board->claimers[i]);
    }
    *out = board;
    return PARLEY_OK;
}

void board_destroy(struct board *board) {
    if (board == NULL) {
        return;
    }
    works_remove_all(board);
    change_log_finish(&board->changes);
    time_heap_finish(&board->due);
    time_heap_finish(&board->moments);
    parley_arena_finish(&board->arena);
    pthread_mutex_destroy(&board->lock);
    free(board->bucket);
    free(board);
}
