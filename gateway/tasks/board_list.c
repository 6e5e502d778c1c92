/* SPDX-License-Identifier: Apache-2.0 */

/* What is on a board, for those who ask, and for those who follow it. */

#include <stdlib.h>
#include <string.h>

#include "board_item.h"
#include "board_state.h"
#include "follow.h"
#include "text.h"

enum { LOOK_MAX = 2000 }; /* of a selection, under the lock */

/* A filter with what passes over most work quickly. */
struct sieve {
    const struct board_filter *filter;
    struct board_words domains, holders, from;
    int64_t now_ms;
    double due_before; /* Unix time; 0: any */
};

static const char *state_at(const struct board *board, const struct work *work, int64_t now_ms) {
    const bool is_late = work->phase != WORK_CLOSED && work->open_until_ms <= now_ms;
    return is_late ? board->kind->expired : work->state;
}

static bool has_state(const struct board *board, const char *state, unsigned states) {
    unsigned number = 0;
    while (board->kind->states[number] != NULL && strcmp(board->kind->states[number], state) != 0) {
        number++;
    }
    return states == 0 || (states >> number & 1) != 0;
}

static bool has_priority(bool is_known, unsigned priority, unsigned priorities) {
    return priorities == 0 || (is_known && (priorities >> priority & 1) != 0);
}

static bool may_have(const struct board_words *words, const struct board_names *names,
                     uint64_t hash) {
    return names->count == 0 || (hash != 0 && words_may_have(words, hash));
}

/* Without looking into its facts: almost all that pass here pass. */
static bool may_pass(const struct board *board, const struct work *work,
                     const struct sieve *sieve) {
    const struct board_filter *filter = sieve->filter;
    return may_have(&sieve->domains, &filter->domains, work->domain) &&
           may_have(&sieve->holders, &filter->holders, work->holder) &&
           may_have(&sieve->from, &filter->from, work->from) &&
           has_priority(work->has_priority, work->priority, filter->priorities) &&
           (!filter->is_overdue || (work->deadline > 0 && work->deadline < sieve->due_before)) &&
           has_state(board, state_at(board, work, sieve->now_ms), filter->states);
}

static bool has_name(const struct board_names *names, struct parley_bytes name) {
    return names->count == 0 ||
           (name.data != NULL && words_are_among(names->items, names->count, name));
}

static bool has_lapse(const struct parley_task *what, enum board_lapse lapse) {
    return lapse == BOARD_LAPSED_OR_NOT || what->has_lapsed == (lapse == BOARD_LAPSED);
}

static bool is_before(struct parley_bytes time, double before) {
    double at;
    return time.data != NULL && text_unix_time(time, &at) && at < before;
}

/* What no agent had claimed by then has expired: it was not done either. */
static bool has_not_ended(const struct board *board, const char *state) {
    return strcmp(state, board->kind->expired) == 0 ||
           has_state(board, state, board->kind->open_states);
}

static bool has_times(const struct board *board, const struct parley_task *what,
                      const struct sieve *sieve) {
    const struct board_filter *filter = sieve->filter;
    return (filter->before == 0 || is_before(what->requested_at, filter->before)) &&
           (!filter->is_overdue ||
            (has_not_ended(board, what->state) && is_before(what->deadline, sieve->due_before)));
}

static bool passes(const struct board *board, const struct parley_task *what,
                   const struct sieve *sieve) {
    const struct board_filter *filter = sieve->filter;
    return (filter->attempt == 0 || what->attempt == filter->attempt) &&
           has_lapse(what, filter->lapse) && has_name(&filter->errors, what->error) &&
           has_times(board, what, sieve) && has_state(board, what->state, filter->states) &&
           has_name(&filter->domains, what->domain) && has_name(&filter->holders, what->holder) &&
           has_name(&filter->from, what->from) &&
           has_priority(what->has_priority, what->priority, filter->priorities);
}

static void write_item(const struct board *board, const struct parley_task *what,
                       struct parley_buffer *out) {
    parley_buffer_char(out, '{');
    board_item_write(board->protocol, what, out);
    parley_buffer_char(out, '}');
}

static enum parley_status list(struct board *board, const struct sieve *sieve, size_t limit,
                               struct parley_buffer *out, bool *out_has_more) {
    const struct work *work;
    size_t count = 0;
    *out_has_more = false;
    for (work = TAILQ_LAST(&board->all, works); work != NULL && !*out_has_more;
         work = TAILQ_PREV(work, works, age_link)) {
        struct parley_task what;
        if (!may_pass(board, work, sieve)) {
            continue;
        }
        PARLEY_TRY(works_read(board, work, sieve->now_ms, &what));
        if (!passes(board, &what, sieve)) {
            continue;
        }
        *out_has_more = count == limit;
        if (!*out_has_more) {
            parley_buffer_text(out, count++ > 0 ? "," : "");
            write_item(board, &what, out);
        }
    }
    return parley_buffer_status(out);
}

static struct sieve sieve_of(const struct board *board, const struct board_filter *filter) {
    const int64_t now_ms = board_now_ms();
    struct sieve sieve = {.filter = filter,
                          .now_ms = now_ms,
                          .due_before = (double)(now_ms - filter->overdue_ms) / 1000};
    words_add(board, &sieve.domains, filter->domains.items, filter->domains.count);
    words_add(board, &sieve.holders, filter->holders.items, filter->holders.count);
    words_add(board, &sieve.from, filter->from.items, filter->from.count);
    return sieve;
}

enum parley_status board_list(struct board *board, const struct board_filter *filter, size_t limit,
                              struct parley_buffer *out, bool *out_has_more) {
    const struct sieve sieve = sieve_of(board, filter);
    pthread_mutex_lock(&board->lock);
    const enum parley_status status = list(board, &sieve, limit, out, out_has_more);
    pthread_mutex_unlock(&board->lock);
    return status;
}

/* ---- a selection ---- */

/* The one that was looked at last may be gone, and its id may be that of a younger one. */
static struct work *next_of(struct board *board, const struct board_selection *selection) {
    struct work *work = selection->last_id[0] != '\0'
                            ? works_find(board, parley_bytes_of(selection->last_id))
                            : NULL;
    if (work != NULL && work->order == selection->last_order) {
        return TAILQ_NEXT(work, age_link);
    }
    work = TAILQ_FIRST(&board->all);
    while (work != NULL && work->order <= selection->last_order) {
        work = TAILQ_NEXT(work, age_link);
    }
    return work;
}

static enum parley_status select_one(struct board *board, const struct work *work,
                                     const struct sieve *sieve, struct board_selection *out) {
    struct parley_task what;
    out->last_order = work->order;
    memcpy(out->last_id, work->id, sizeof out->last_id);
    if (!may_pass(board, work, sieve)) {
        return PARLEY_OK;
    }
    PARLEY_TRY(works_read(board, work, sieve->now_ms, &what));
    if (passes(board, &what, sieve)) {
        if (out->count < out->max) {
            memcpy(out->ids[out->count++], work->id, sizeof out->ids[0]);
        }
        out->matched++;
    }
    return PARLEY_OK;
}

static enum parley_status select_some(struct board *board, const struct sieve *sieve,
                                      struct board_selection *out) {
    struct work *work = next_of(board, out);
    for (size_t i = 0; i < LOOK_MAX && work != NULL; i++) {
        PARLEY_TRY(select_one(board, work, sieve, out));
        work = TAILQ_NEXT(work, age_link);
    }
    out->is_over = work == NULL;
    return PARLEY_OK;
}

enum parley_status board_select(struct board *board, const struct board_filter *filter,
                                struct board_selection *selection) {
    const struct sieve sieve = sieve_of(board, filter);
    pthread_mutex_lock(&board->lock);
    const enum parley_status status = select_some(board, &sieve, selection);
    pthread_mutex_unlock(&board->lock);
    return status;
}

/* ---- following ---- */

struct board_watching {
    struct board_filter filter;
    struct sieve sieve; /* of the present moment */
};

struct board_watching *board_watching_create(const struct board_filter *filter) {
    struct board_watching *watching = calloc(1, sizeof *watching);
    if (watching != NULL) {
        watching->filter = *filter;
    }
    return watching;
}

void board_watching_destroy(struct board_watching *watching) {
    free(watching);
}

struct change_log *board_changes(struct board *board) {
    return &board->changes;
}

static const struct work *work_of(const struct change *change) {
    return OWNER_OF(change, struct work, change);
}

static bool is_whole(void *list) {
    const struct board *board = list;
    return board->is_current;
}

static void prepare(void *list, void *filter) {
    struct board_watching *watching = filter;
    watching->sieve = sieve_of(list, &watching->filter);
}

static enum parley_status write_change(void *list, const void *filter, const struct change *change,
                                       struct parley_buffer *out, bool *out_passes) {
    const struct board_watching *watching = filter;
    struct board *board = list;
    const struct work *work = work_of(change);
    struct parley_task what;
    *out_passes = false;
    if (!may_pass(board, work, &watching->sieve)) {
        return PARLEY_OK;
    }
    PARLEY_TRY(works_read(board, work, watching->sieve.now_ms, &what));
    *out_passes = passes(board, &what, &watching->sieve);
    if (*out_passes) {
        write_item(board, &what, out);
    }
    return parley_buffer_status(out);
}

/* By what never changes of it. */
static bool may_have_passed(void *list, const void *filter, const struct change *change) {
    const struct sieve *sieve = &((const struct board_watching *)filter)->sieve;
    const struct work *work = work_of(change);
    (void)list;
    return may_have(&sieve->domains, &sieve->filter->domains, work->domain) &&
           may_have(&sieve->from, &sieve->filter->from, work->from) &&
           has_priority(work->has_priority, work->priority, sieve->filter->priorities);
}

static struct parley_bytes id_of(void *list, const struct change *change) {
    (void)list;
    return parley_bytes_of(work_of(change)->id);
}

const struct follow_ops board_follow_ops = {.is_whole = is_whole,
                                            .prepare = prepare,
                                            .write = write_change,
                                            .may_pass = may_have_passed,
                                            .id = id_of};

struct board_counts board_counts(struct board *board) {
    pthread_mutex_lock(&board->lock);
    const struct board_counts counts = {.works = board->work_count,
                                        .open = board->open_count,
                                        .waiting = board->waiter_count,
                                        .is_current = board->is_current};
    pthread_mutex_unlock(&board->lock);
    return counts;
}
