/* SPDX-License-Identifier: Apache-2.0 */

/* What is on a board, for those who ask. */

#include <string.h>

#include "board_item.h"
#include "board_state.h"

/* A filter as hashes: 0: any. */
struct sieve {
    const struct board_filter *filter;
    uint64_t domain, holder, from;
    int64_t now_ms;
};

static uint64_t hash_of(const struct board *board, const char *text) {
    return text != NULL ? board_hash(board, parley_bytes_of(text)) : 0;
}

static const char *state_at(const struct board *board, const struct work *work, int64_t now_ms) {
    const bool is_late = work->phase != WORK_CLOSED && work->open_until_ms <= now_ms;
    return is_late ? board->kind->lapsed : work->state;
}

/* Without looking into its facts: almost all that pass here pass. */
static bool may_pass(const struct board *board, const struct work *work,
                     const struct sieve *sieve) {
    const char *state = sieve->filter->state;
    return (sieve->domain == 0 || sieve->domain == work->domain) &&
           (sieve->holder == 0 || sieve->holder == work->holder) &&
           (sieve->from == 0 || sieve->from == work->from) &&
           (state == NULL || strcmp(state, state_at(board, work, sieve->now_ms)) == 0);
}

static bool is_text(struct parley_bytes text, const char *wanted) {
    return wanted == NULL ||
           (text.data != NULL && parley_bytes_equal(text, parley_bytes_of(wanted)));
}

static bool passes(const struct board *board, const struct parley_work *what,
                   const struct board_filter *filter) {
    const char *priority = what->has_priority ? board->protocol->priorities[what->priority] : "";
    return is_text(parley_bytes_of(what->state), filter->state) &&
           is_text(what->domain, filter->domain) && is_text(what->holder, filter->holder) &&
           is_text(what->from, filter->from) &&
           is_text(parley_bytes_of(priority), filter->priority);
}

static enum parley_status list(struct board *board, const struct sieve *sieve, size_t limit,
                               struct parley_buffer *out) {
    const struct work *work;
    size_t count = 0;
    for (work = TAILQ_LAST(&board->all, works); work != NULL && count < limit;
         work = TAILQ_PREV(work, works, age_link)) {
        struct parley_work what;
        if (!may_pass(board, work, sieve)) {
            continue;
        }
        PARLEY_TRY(works_read(board, work, sieve->now_ms, &what));
        if (passes(board, &what, sieve->filter)) {
            parley_buffer_text(out, count++ > 0 ? ",{" : "{");
            board_item_write(board->protocol, &what, out);
            parley_buffer_char(out, '}');
        }
    }
    return parley_buffer_status(out);
}

enum parley_status board_list(struct board *board, const struct board_filter *filter, size_t limit,
                              struct parley_buffer *out) {
    const struct sieve sieve = {.filter = filter,
                                .domain = hash_of(board, filter->domain),
                                .holder = hash_of(board, filter->holder),
                                .from = hash_of(board, filter->from),
                                .now_ms = board_now_ms()};
    pthread_mutex_lock(&board->lock);
    const enum parley_status status = list(board, &sieve, limit, out);
    pthread_mutex_unlock(&board->lock);
    return status;
}

struct board_counts board_counts(struct board *board) {
    pthread_mutex_lock(&board->lock);
    const struct board_counts counts = {
        .works = board->work_count, .open = board->open_count, .waiting = board->waiter_count};
    pthread_mutex_unlock(&board->lock);
    return counts;
}
