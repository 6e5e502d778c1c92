/* SPDX-License-Identifier: Apache-2.0 */

/* Which work is for whom: finding it, and waking those who wait for it. A new piece of work wakes
 * one who waits, who then looks for the best: not necessarily that one. Who was woken and does not
 * take it hands it on, so that no work lies there while a request waits for it. */

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "board_state.h"

enum {
    AMONG_MAX = 16,
    MANY_MAX = 64,    /* taken at once */
    STALE_MAX = 1024, /* that one search closes: with the lock */
};

/* ---- matching ---- */

/* Without the lock: 128 words take some microseconds. */
static struct board_search search_for(const struct board *board, const struct board_wish *wish) {
    struct board_search search = {.wish = wish, .agent = board_hash(board, wish->agent)};
    words_add(board, &search.words, wish->tasks, wish->task_count);
    words_add(board, &search.words, wish->domains, wish->domain_count);
    return search;
}

static bool suits(const struct board *board, const struct work *work,
                  const struct board_search *search) {
    const struct board_wish *wish = search->wish;
    if (work->to_id != 0 && (work->to_id != search->agent ||
                             !parley_bytes_equal(parley_bytes_of(work->to), wish->agent))) {
        return false;
    }
    if (wish->domain_count == 0 && wish->task_count == 0) {
        return true;
    }
    return (words_may_have(&search->words, work->name) &&
            words_are_among(wish->tasks, wish->task_count, parley_bytes_of(work->task))) ||
           (words_may_have(&search->words, work->domain) &&
            words_are_among(wish->domains, wish->domain_count,
                            board->kind->domain(parley_bytes_of(work->task))));
}

static bool is_gone(const struct board *board, const struct work *work) {
    for (size_t i = 0; i < board->beginning_count; i++) {
        const struct beginning *beginning = &board->beginnings[i];
        if (work->stream == beginning->stream && work->sequence < beginning->first_sequence &&
            work->sequences[PARLEY_TASK_REQUEST] <= beginning->known_to) {
            return true;
        }
    }
    return false;
}

/* Open work that is too late by now, or whose request is gone, is closed when it is come across. */
static bool is_stale(struct board *board, struct work *work, int64_t now_ms) {
    const bool is_late = work->open_until_ms <= now_ms;
    if (!is_late && !is_gone(board, work)) {
        return false;
    }
    work->state = is_late ? board->kind->expired : work->state;
    works_set_phase(board, work, WORK_CLOSED);
    return true;
}

/* `found`: room for `among`.  `out_is_cut`: so many had to be closed that there may be more than
 * were found. Returns: how many there are, the best first. */
static size_t find_best(struct board *board, const struct board_search *search, size_t among,
                        struct work **found, bool *out_is_cut) {
    const int64_t now_ms = board_now_ms();
    size_t count = 0, stale_count = 0;
    for (unsigned priority = board->priority_count; priority-- > 0 && count < among;) {
        struct work *next = TAILQ_FIRST(&board->open[priority]);
        while (next != NULL && count < among && stale_count < STALE_MAX) {
            struct work *work = next;
            next = TAILQ_NEXT(work, phase_link);
            if (is_stale(board, work, now_ms)) {
                stale_count++;
            } else if (suits(board, work, search)) {
                found[count++] = work;
            }
        }
    }
    *out_is_cut = stale_count == STALE_MAX;
    return count;
}

/* ---- taking ---- */

static void write_text(char *out, size_t size, struct parley_bytes text) {
    snprintf(out, size, "%.*s", (int)text.length, text.data != NULL ? text.data : "");
}

/* Returns: false: there is no memory. */
static bool write_find(struct board *board, const struct work *work, struct board_find *out) {
    struct parley_task what;
    if (works_read(board, work, board_now_ms(), &what) != PARLEY_OK) {
        return false;
    }
    memcpy(out->id, work->id, sizeof out->id);
    write_text(out->stream, sizeof out->stream, what.streams[PARLEY_TASK_REQUEST]);
    write_text(out->deadline, sizeof out->deadline, what.deadline);
    out->sequence = what.sequences[PARLEY_TASK_REQUEST];
    return true;
}

/* Taken with this claim_id, or claimed with it.  `out_is_claimed`: claimed. */
static bool is_same(struct board *board, const struct work *work, const struct board_wish *wish,
                    bool *out_is_claimed) {
    struct parley_task what;
    *out_is_claimed = work->claimed_ms >= wish->claimed_since_ms &&
                      works_read(board, work, board_now_ms(), &what) == PARLEY_OK &&
                      parley_bytes_equal(what.claim_id, wish->claim_id) &&
                      parley_bytes_equal(what.holder, wish->agent) &&
                      what.sequences[PARLEY_TASK_REQUEST] > 0;
    return *out_is_claimed || work->phase == WORK_TAKEN;
}

static struct work *find_same(struct board *board, const struct board_wish *wish,
                              bool *out_is_claimed) {
    const uint64_t claim = board_hash(board, wish->claim_id);
    struct work *work = claim != 0 ? board->claims[claim % BOARD_CHAINS] : NULL;
    while (work != NULL && !(work->claim == claim && is_same(board, work, wish, out_is_claimed))) {
        work = work->claim_next;
    }
    return work;
}

static struct work *choose(struct board *board, const struct board_search *search, size_t among,
                           bool *out_is_cut) {
    struct work *found[AMONG_MAX];
    const size_t count =
        find_best(board, search, among < AMONG_MAX ? among : AMONG_MAX, found, out_is_cut);
    return count > 1 ? found[randombytes_uniform((uint32_t)count)] : (count == 1 ? found[0] : NULL);
}

static bool take(struct board *board, const struct board_search *search, size_t among,
                 struct board_find *out) {
    const struct board_wish *wish = search->wish;
    bool is_cut = false;
    out->is_claimed = false;
    out->is_unfinished = false;
    if (!board->is_current) {
        return false;
    }
    struct work *work = find_same(board, wish, &out->is_claimed);
    if (work != NULL) {
        return write_find(board, work, out);
    }
    due_open(board); /* whose timer may be late */
    work = choose(board, search, among, &is_cut);
    out->is_unfinished = work == NULL && is_cut;
    if (work == NULL || !write_find(board, work, out)) {
        return false;
    }
    works_set_phase(board, work, WORK_TAKEN);
    works_set_claim(board, work, board_hash(board, wish->claim_id));
    return true;
}

bool board_take(struct board *board, const struct board_wish *wish, size_t among,
                struct board_find *out) {
    const struct board_search search = search_for(board, wish);
    pthread_mutex_lock(&board->lock);
    const bool is_found = take(board, &search, among, out);
    pthread_mutex_unlock(&board->lock);
    return is_found;
}

/* Those found stand together: others who have lost to the same gateway begin elsewhere. */
size_t board_take_many(struct board *board, const struct board_wish *wish, size_t among,
                       struct board_find *out, size_t max) {
    const struct board_search search = search_for(board, wish);
    struct work *found[2 * MANY_MAX];
    const size_t wanted = max < MANY_MAX ? max : MANY_MAX;
    bool is_cut;
    size_t count = 0;
    pthread_mutex_lock(&board->lock);
    const size_t found_count =
        board->is_current
            ? find_best(board, &search, among > 1 ? 2 * wanted : wanted, found, &is_cut)
            : 0;
    const size_t spare = found_count > wanted ? found_count - wanted : 0;
    const size_t first = spare > 0 ? randombytes_uniform((uint32_t)spare + 1) : 0;
    for (; count < wanted && first + count < found_count; count++) {
        struct work *work = found[first + count];
        if (!write_find(board, work, &out[count])) {
            break;
        }
        out[count].is_claimed = out[count].is_unfinished = false;
        works_set_phase(board, work, WORK_TAKEN);
    }
    pthread_mutex_unlock(&board->lock);
    return count;
}

size_t board_spent(struct board *board, struct board_spent *out, size_t max) {
    const struct work *work;
    size_t count = 0;
    pthread_mutex_lock(&board->lock);
    due_open(board); /* whose timer may be late */
    TAILQ_FOREACH(work, &board->spent, phase_link) {
        struct parley_task what;
        if (count == max || !board->is_current ||
            works_read(board, work, board_now_ms(), &what) != PARLEY_OK) {
            break;
        }
        memcpy(out[count].id, work->id, sizeof out->id);
        write_text(out[count].from, sizeof out->from, what.from);
        count++;
    }
    pthread_mutex_unlock(&board->lock);
    return count;
}

bool board_find_claim(struct board *board, const struct board_wish *wish, struct board_find *out) {
    pthread_mutex_lock(&board->lock);
    out->is_claimed = false;
    struct work *work = find_same(board, wish, &out->is_claimed);
    const bool is_found = work != NULL && out->is_claimed && write_find(board, work, out);
    pthread_mutex_unlock(&board->lock);
    return is_found;
}

/* ---- waiting ---- */

static void stop_waiting(struct board *board, struct board_waiter *waiter) {
    TAILQ_REMOVE(&board->waiters, waiter, link);
    if (waiter->claim != 0) {
        LIST_REMOVE(waiter, claim_link);
    }
    waiter->is_waiting = false;
    board->waiter_count--;
    board->reader_count -= waiter->wish == NULL ? 1 : 0;
}

static void start_waiting(struct board *board, struct board_waiter *waiter) {
    TAILQ_INSERT_TAIL(&board->waiters, waiter, link);
    waiter->claim = waiter->wish != NULL ? board_hash(board, waiter->wish->claim_id) : 0;
    if (waiter->claim != 0) {
        LIST_INSERT_HEAD(&board->claimers[waiter->claim % BOARD_CLAIM_LISTS], waiter, claim_link);
    }
    waiter->is_waiting = true;
    board->waiter_count++;
    board->reader_count += waiter->wish == NULL ? 1 : 0;
}

static void wake(struct board *board, struct board_waiter *waiter, const char *id) {
    stop_waiting(board, waiter);
    snprintf(waiter->woken_for, sizeof waiter->woken_for, "%s", id);
    waiter->wake(waiter);
}

void take_wake(struct board *board, const struct work *work) {
    struct board_waiter *waiter;
    if (!board->is_current) {
        return;
    }
    TAILQ_FOREACH(waiter, &board->waiters, link) {
        if (waiter->wish != NULL && suits(board, work, &waiter->search)) {
            wake(board, waiter, work->id);
            return;
        }
    }
}

void take_wake_claimers(struct board *board, const struct work *work) {
    struct board_waiter *next =
        work->claim != 0 ? LIST_FIRST(&board->claimers[work->claim % BOARD_CLAIM_LISTS]) : NULL;
    while (next != NULL) {
        struct board_waiter *waiter = next;
        next = LIST_NEXT(waiter, claim_link);
        if (waiter->claim == work->claim) {
            wake(board, waiter, "");
        }
    }
}

static bool has_read(const struct board *board, uint64_t sequence) {
    return board->is_current && board->last_sequence >= sequence;
}

void take_wake_all(struct board *board) {
    struct board_waiter *next = TAILQ_FIRST(&board->waiters);
    while (next != NULL) {
        struct board_waiter *waiter = next;
        next = TAILQ_NEXT(waiter, link);
        if (waiter->wish != NULL || has_read(board, waiter->from_sequence)) {
            wake(board, waiter, "");
        }
    }
}

void take_wake_readers(struct board *board) {
    struct board_waiter *next = TAILQ_FIRST(&board->waiters);
    while (next != NULL && board->reader_count > 0) {
        struct board_waiter *waiter = next;
        next = TAILQ_NEXT(waiter, link);
        if (waiter->wish == NULL && has_read(board, waiter->from_sequence)) {
            wake(board, waiter, "");
        }
    }
}

/* Wakes another one for work that is still open. */
static void hand_on(struct board *board, const char *id) {
    const struct work *work = id[0] != '\0' ? works_find(board, parley_bytes_of(id)) : NULL;
    if (work != NULL && work->phase == WORK_OPEN) {
        take_wake(board, work);
    }
}

bool board_take_or_wait(struct board *board, struct board_waiter *waiter, size_t among,
                        struct board_find *out) {
    const struct board_search search = search_for(board, waiter->wish);
    pthread_mutex_lock(&board->lock);
    waiter->search = search;
    const bool is_found = take(board, &search, among, out);
    if (is_found) {
        hand_on(board, waiter->woken_for); /* unless that was it */
    } else if (!out->is_unfinished) {
        start_waiting(board, waiter);
    }
    if (!out->is_unfinished) {
        waiter->woken_for[0] = '\0';
    }
    pthread_mutex_unlock(&board->lock);
    return is_found;
}

bool board_wait_for(struct board *board, struct board_waiter *waiter, uint64_t sequence) {
    pthread_mutex_lock(&board->lock);
    const bool waits = !has_read(board, sequence);
    waiter->woken_for[0] = '\0';
    if (waits) {
        waiter->wish = NULL;
        waiter->from_sequence = sequence;
        start_waiting(board, waiter);
    }
    pthread_mutex_unlock(&board->lock);
    return waits;
}

void board_leave(struct board *board, struct board_waiter *waiter) {
    pthread_mutex_lock(&board->lock);
    if (waiter->is_waiting) {
        stop_waiting(board, waiter);
    }
    hand_on(board, waiter->woken_for);
    waiter->woken_for[0] = '\0';
    pthread_mutex_unlock(&board->lock);
}

void board_begins_at(struct board *board, const char *stream, uint64_t first_sequence) {
    const uint64_t hash = board_hash(board, parley_bytes_of(stream));
    size_t at = 0;
    pthread_mutex_lock(&board->lock);
    while (at < board->beginning_count && board->beginnings[at].stream != hash) {
        at++;
    }
    if (at < BOARD_STREAMS_MAX) {
        board->beginnings[at] = (struct beginning){hash, first_sequence, board->last_sequence};
        board->beginning_count += at == board->beginning_count ? 1 : 0;
    }
    pthread_mutex_unlock(&board->lock);
}

/* What had lapsed is looked at again later: its holder may have been heard of, which its keys say
 * in a moment, or another clock decide. */
static void close_lost(struct board *board, struct work *work) {
    enum { AGAIN_MS = 1000 };
    if (work->facts[PARLEY_TASK_CLAIM] == NULL || work->facts[PARLEY_TASK_END] != NULL) {
        works_set_phase(board, work, WORK_CLOSED);
        return;
    }
    work->not_before_ms = board_now_ms() + AGAIN_MS;
    works_set_phase(board, work, WORK_DUE_LATER);
    due_set_timer_later(board);
}

void board_lost(struct board *board, const char *id) {
    pthread_mutex_lock(&board->lock);
    struct work *work = works_find(board, parley_bytes_of(id));
    if (work != NULL && work->phase == WORK_TAKEN) {
        works_set_claim(board, work, 0);
        close_lost(board, work);
    }
    pthread_mutex_unlock(&board->lock);
}

void board_give_back(struct board *board, const char *id) {
    pthread_mutex_lock(&board->lock);
    struct work *work = works_find(board, parley_bytes_of(id));
    if (work != NULL && work->phase == WORK_TAKEN) {
        works_set_claim(board, work, 0);
        works_open(board, work);
    }
    pthread_mutex_unlock(&board->lock);
}
