/* SPDX-License-Identifier: Apache-2.0 */

/* The lists of a board: work by its id, by its claim's id, by age, and by phase. */

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "board_state.h"
#include "text.h"

uint64_t board_hash(const struct board *board, struct parley_bytes text) {
    uint64_t hash;
    if (text.data == NULL) {
        return 0;
    }
    crypto_shorthash((unsigned char *)&hash, (const unsigned char *)text.data, text.length,
                     board->secret);
    return hash != 0 ? hash : 1;
}

struct work *works_find(const struct board *board, struct parley_bytes id) {
    struct work *work = board->chains[board_hash(board, id) % BOARD_CHAINS];
    while (work != NULL && !parley_bytes_equal(parley_bytes_of(work->id), id)) {
        work = work->chain_next;
    }
    return work;
}

/* ---- phases ---- */

/* Of work that is open or closed. */
static struct works *list_of(struct board *board, const struct work *work) {
    return work->phase == WORK_OPEN ? &board->open[work->priority] : &board->closed;
}

/* Work comes almost in the order of age, and what was taken and comes back is among the first: so
 * its place is looked for from both ends. */
static void insert_by_age(struct works *list, struct work *work) {
    struct work *before = TAILQ_LAST(list, works), *after = TAILQ_FIRST(list);
    while (before != NULL && before->order > work->order && after->order < work->order) {
        before = TAILQ_PREV(before, works, phase_link);
        after = TAILQ_NEXT(after, phase_link);
    }
    if (before == NULL) {
        TAILQ_INSERT_TAIL(list, work, phase_link);
    } else if (before->order < work->order) {
        TAILQ_INSERT_AFTER(list, before, work, phase_link);
    } else {
        TAILQ_INSERT_BEFORE(after, work, phase_link);
    }
}

static void leave_phase(struct board *board, struct work *work) {
    switch (work->phase) {
    case WORK_OPEN:
        board->open_count--;
        TAILQ_REMOVE(list_of(board, work), work, phase_link);
        break;
    case WORK_CLOSED:
        TAILQ_REMOVE(list_of(board, work), work, phase_link);
        break;
    case WORK_SPENT:
        TAILQ_REMOVE(&board->spent, work, phase_link);
        break;
    case WORK_DUE_LATER:
        due_remove(board, work);
        break;
    case WORK_TAKEN:
        break;
    }
}

void works_set_phase(struct board *board, struct work *work, enum work_phase phase) {
    leave_phase(board, work);
    work->phase = phase;
    switch (phase) {
    case WORK_OPEN:
        board->open_count++;
        insert_by_age(list_of(board, work), work);
        break;
    case WORK_CLOSED:
        TAILQ_INSERT_TAIL(&board->closed, work, phase_link);
        break;
    case WORK_SPENT:
        TAILQ_INSERT_TAIL(&board->spent, work, phase_link);
        break;
    case WORK_DUE_LATER:
        due_add(board, work);
        break;
    case WORK_TAKEN:
        break;
    }
}

void works_open(struct board *board, struct work *work) {
    const bool is_due = work->not_before_ms <= board_now_ms();
    works_set_phase(board, work, is_due ? WORK_OPEN : WORK_DUE_LATER);
    if (is_due) {
        take_wake(board, work);
    }
}

/* ---- adding and removing ---- */

/* What this process has written is known a moment before what came before it. */
static void insert_in_all(struct board *board, struct work *work) {
    struct work *before = TAILQ_LAST(&board->all, works);
    while (before != NULL && before->order > work->order) {
        before = TAILQ_PREV(before, works, age_link);
    }
    if (before != NULL) {
        TAILQ_INSERT_AFTER(&board->all, before, work, age_link);
    } else {
        TAILQ_INSERT_HEAD(&board->all, work, age_link);
    }
}

struct work *works_add(struct board *board, struct parley_bytes id, uint64_t order) {
    const size_t count = board->work_count + 1;
    const bool has_room = id.length < BOARD_ID_MAX && time_heap_reserve(&board->due, count) &&
                          moments_reserve(board, count);
    struct work *work = has_room ? calloc(1, sizeof *work) : NULL;
    if (work == NULL || !change_log_add(&board->changes, &work->change)) {
        free(work);
        return NULL;
    }
    memcpy(work->id, id.data, id.length);
    work->order = order;
    work->phase = WORK_CLOSED;
    work->bytes = sizeof *work;
    work->open_until_ms = INT64_MAX;
    work->state = board->kind->states[0];
    struct work **chain = &board->chains[board_hash(board, id) % BOARD_CHAINS];
    work->chain_next = *chain;
    *chain = work;
    insert_in_all(board, work);
    TAILQ_INSERT_TAIL(&board->closed, work, phase_link);
    board->work_count++;
    board->bytes += work->bytes;
    return work;
}

static void leave_claims(struct board *board, struct work *work) {
    struct work **link = &board->claims[work->claim % BOARD_CHAINS];
    while (work->claim != 0 && *link != NULL && *link != work) {
        link = &(*link)->claim_next;
    }
    if (work->claim != 0 && *link == work) {
        *link = work->claim_next;
    }
    work->claim = 0;
}

static void leave_retries(struct work *work) {
    if (work->retry_of != 0) {
        LIST_REMOVE(work, retry_link);
        work->retry_of = 0;
    }
}

static void free_work(struct work *work) {
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        free(work->facts[i]);
    }
    free(work->task);
    free(work->to);
    free(work);
}

void works_remove(struct board *board, struct work *work) {
    struct work **link =
        &board->chains[board_hash(board, parley_bytes_of(work->id)) % BOARD_CHAINS];
    while (*link != work) {
        link = &(*link)->chain_next;
    }
    *link = work->chain_next;
    leave_claims(board, work);
    leave_retries(work);
    moments_remove(board, work);
    leave_phase(board, work);
    notes_forget(board, work);
    change_log_remove(&board->changes, &work->change, parley_bytes_of(work->id));
    TAILQ_REMOVE(&board->all, work, age_link);
    board->work_count--;
    board->bytes -= work->bytes;
    free_work(work);
}

void works_remove_all(struct board *board) {
    while (!TAILQ_EMPTY(&board->all)) {
        works_remove(board, TAILQ_FIRST(&board->all));
    }
}

/* ---- room ---- */

/* Of the lowest priority the youngest; but what is due later before that. */
static struct work *least_open(struct board *board) {
    if (board->due.count > 0) {
        return due_last(board);
    }
    for (unsigned priority = 0; priority < board->priority_count; priority++) {
        if (!TAILQ_EMPTY(&board->open[priority])) {
            return TAILQ_LAST(&board->open[priority], works);
        }
    }
    return NULL;
}

static bool is_over(const struct board *board) {
    return board->work_count > board->limits.works_max || board->bytes > board->limits.bytes_max;
}

void works_make_room(struct board *board) {
    while (is_over(board)) {
        struct work *closed = TAILQ_FIRST(&board->closed);
        struct work *least = closed != NULL ? closed : least_open(board);
        if (least == NULL) {
            return; /* all of it is taken, and will be closed in a moment */
        }
        board->has_left_out = board->has_left_out || closed == NULL;
        works_remove(board, least);
    }
}

/* ---- what the facts say ---- */

enum parley_status works_read(struct board *board, const struct work *work, int64_t now_ms,
                              struct parley_task *out) {
    struct parley_bytes facts[PARLEY_TASK_FACTS];
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        facts[i] = (struct parley_bytes){work->facts[i], work->lengths[i]};
    }
    parley_arena_reset(&board->arena);
    PARLEY_TRY(board->kind->read(parley_bytes_of(work->id), facts, now_ms, &board->arena, out));
    out->progress = parley_bytes_of(work->note != NULL ? work->note->shown : NULL);
    return PARLEY_OK;
}

/* Returns: PARLEY_E_MEMORY. */
static enum parley_status keep_text(char **text, struct parley_bytes bytes) {
    free(*text);
    *text = parley_bytes_copy(bytes);
    return bytes.data != NULL && *text == NULL ? PARLEY_E_MEMORY : PARLEY_OK;
}

static void count_bytes(struct board *board, struct work *work) {
    board->bytes -= work->bytes;
    work->bytes = sizeof *work;
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        work->bytes += work->lengths[i];
    }
    work->bytes += work->note != NULL ? work->note->bytes : 0;
    work->bytes += (work->task != NULL ? strlen(work->task) + 1 : 0) +
                   (work->to != NULL ? strlen(work->to) + 1 : 0);
    board->bytes += work->bytes;
}

void works_set_claim(struct board *board, struct work *work, uint64_t claim) {
    leave_claims(board, work);
    work->claim = claim;
    if (claim != 0) {
        work->claim_next = board->claims[claim % BOARD_CHAINS];
        board->claims[claim % BOARD_CHAINS] = work;
    }
}

/* `first`: what it tries again; NULL: that is not known. */
static void put_off(struct work *work, const struct work *first) {
    work->put_off_ms = first != NULL ? first->retry_at_ms : work->put_off_ms;
    work->not_before_ms =
        work->put_off_ms > work->opens_at_ms ? work->put_off_ms : work->opens_at_ms;
}

/* What it tries again may have said when that is due. */
static void set_retry_of(struct board *board, struct work *work, struct parley_bytes id) {
    const struct work *first = id.data != NULL ? works_find(board, id) : NULL;
    leave_retries(work);
    work->retry_of = board_hash(board, id);
    if (work->retry_of != 0) {
        LIST_INSERT_HEAD(&board->retries[work->retry_of % BOARD_CHAINS], work, retry_link);
    }
    put_off(work, first);
}

/* It has ended, and says when it may be tried again. All that try it again are visited: once, since
 * it ends once. */
static void put_retries_off(struct board *board, const struct work *first) {
    const uint64_t id = board_hash(board, parley_bytes_of(first->id));
    struct work *work;
    LIST_FOREACH(work, &board->retries[id % BOARD_CHAINS], retry_link) {
        if (work->retry_of != id) {
            continue;
        }
        const bool is_open = work->phase == WORK_OPEN || work->phase == WORK_DUE_LATER;
        if (is_open) {
            works_set_phase(board, work, WORK_TAKEN); /* its place depends on the time */
        }
        put_off(work, first);
        if (is_open) {
            works_open(board, work);
        }
    }
}

enum parley_status works_describe(struct board *board, struct work *work,
                                  const struct parley_task *what) {
    PARLEY_TRY(keep_text(&work->task, what->task));
    PARLEY_TRY(keep_text(&work->to, what->to));
    work->state = what->state;
    work->priority = what->priority;
    work->has_priority = what->has_priority;
    work->open_until_ms = what->open_until_ms;
    work->stream = board_hash(board, what->streams[PARLEY_TASK_REQUEST]);
    work->sequence = what->sequences[PARLEY_TASK_REQUEST];
    work->name = board_hash(board, what->task);
    work->domain = board_hash(board, what->domain);
    work->to_id = board_hash(board, what->to);
    work->holder = board_hash(board, what->holder);
    work->from = board_hash(board, what->from);
    work->opens_at_ms = what->opens_at_ms;
    if (what->deadline.data == NULL || !text_unix_time(what->deadline, &work->deadline)) {
        work->deadline = 0;
    }
    works_set_claim(board, work, board_hash(board, what->claim_id));
    set_retry_of(board, work, what->retry_of);
    if (work->retry_at_ms != what->retry_at_ms) {
        work->retry_at_ms = what->retry_at_ms;
        put_retries_off(board, work);
    }
    count_bytes(board, work);
    return PARLEY_OK;
}
