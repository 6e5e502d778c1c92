/* SPDX-License-Identifier: Apache-2.0 */

/* What is on a board, for those who ask. */

#include <string.h>

#include "board_item.h"
#include "board_state.h"

/* A filter as hashes: 0: any. */
struct sieve {
    const struct board_filter *filter;
    uint64_t domain, holder, from;
    int priority; /* BOARD_ANY: any */
    int64_t now_ms;
};
enum { BOARD_ANY = -1 };

static uint64_t hash_of(const struct board *board, const char *text) {
    return text != NULL ? board_hash(board, parley_bytes_of(text)) : 0;
}

/* One that the protocol does not have is nobody's. */
static int priority_of(const struct board *board, const char *name) {
    int number = 0;
    while (name != NULL && board->protocol->priorities[number] != NULL &&
           strcmp(board->protocol->priorities[number], name) != 0) {
        number++;
    }
    return name != NULL ? number : BOARD_ANY;
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
           (sieve->priority == BOARD_ANY ||
            (work->has_priority && (unsigned)sieve->priority == work->priority)) &&
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
                               struct parley_buffer *out, bool *out_has_more) {
    const struct work *work;
    size_t count = 0;
    *out_has_more = false;
    for (work = TAILQ_LAST(&board->all, works); work != NULL && !*out_has_more;
         work = TAILQ_PREV(work, works, age_link)) {
        struct parley_work what;
        if (!may_pass(board, work, sieve)) {
            continue;
        }
        PARLEY_TRY(works_read(board, work, sieve->now_ms, &what));
        if (!passes(board, &what, sieve->filter)) {
            continue;
        }
        *out_has_more = count == limit;
        if (!*out_has_more) {
            parley_buffer_text(out, count++ > 0 ? ",{" : "{");
            board_item_write(board->protocol, &what, out);
            parley_buffer_char(out, '}');
        }
    }
    return parley_buffer_status(out);
}

enum parley_status board_list(struct board *board, const struct board_filter *filter, size_t limit,
                              struct parley_buffer *out, bool *out_has_more) {
    const struct sieve sieve = {.filter = filter,
                                .domain = hash_of(board, filter->domain),
                                .holder = hash_of(board, filter->holder),
                                .from = hash_of(board, filter->from),
                                .priority = priority_of(board, filter->priority),
                                .now_ms = board_now_ms()};
    pthread_mutex_lock(&board->lock);
    const enum parley_status status = list(board, &sieve, limit, out, out_has_more);
    pthread_mutex_unlock(&board->lock);
    return status;
}

struct board_counts board_counts(struct board *board) {
    pthread_mutex_lock(&board->lock);
    const struct board_counts counts = {.works = board->work_count,
                                        .open = board->open_count,
                                        .waiting = board->waiter_count,
                                        .is_current = board->is_current};
    pthread_mutex_unlock(&board->lock);
    return counts;
}
