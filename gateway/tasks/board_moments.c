/* SPDX-License-Identifier: Apache-2.0 */

/* What happens to work by the clock alone, in a heap by when that is. It is told a moment later,
 * since a key that another gateway has written in time takes a while to come; and what has begun to
 * be told is told though the work ends meanwhile. */

#include "board_item.h"
#include "board_state.h"

enum {
    LATER_MS = 500,
    NO_ROOM_MS = 100,
    TELL_MAX = 16, /* at a time, with the lock */
};

static const char *const names[] = {
    [PARLEY_TASK_EXPIRES] = "expired", [PARLEY_TASK_LAPSES] = "lapsed"};

static bool is_told(const struct board *board) {
    return board->teller.tell != NULL;
}

/* ---- the heap ---- */

static void forget(struct board *board, struct work *work) {
    if (work->moment_kind != PARLEY_TASK_NO_MOMENT) {
        time_heap_remove(&board->moments, &work->moment);
        work->moment_kind = PARLEY_TASK_NO_MOMENT;
    }
}

static void expect(struct board *board, struct work *work, const struct parley_task *what) {
    work->moment_kind = what->moment;
    work->moment_turn = what->turn;
    work->moment.at_ms = what->moment_ms + LATER_MS;
    time_heap_add(&board->moments, &work->moment);
}

bool moments_reserve(struct board *board, size_t count) {
    return !is_told(board) || time_heap_reserve(&board->moments, count);
}

void moments_remove(struct board *board, struct work *work) {
    forget(board, work);
}

static bool has_room(const struct board *board) {
    const struct board_teller *teller = &board->teller;
    return teller->has_room == NULL || teller->has_room(teller->context);
}

int64_t moments_due_ms(const struct board *board) {
    const struct time_node *first = time_heap_first(&board->moments);
    if (first == NULL || has_room(board)) {
        return first == NULL ? INT64_MAX : first->at_ms;
    }
    const int64_t later_ms = board_now_ms() + NO_ROOM_MS;
    return first->at_ms > later_ms ? first->at_ms : later_ms;
}

/* ---- telling ---- */

static void tell(struct board *board, const struct parley_task *what, enum parley_task_moment kind,
                 int64_t at_ms) {
    const struct parley_protocol *protocol = board->protocol;
    struct parley_buffer data;
    parley_buffer_init(&data);
    parley_buffer_char(&data, '{');
    board_item_write(protocol, what, &data);
    parley_buffer_char(&data, '}');
    if (!data.has_failed) {
        const struct moment moment = {
            .protocol = protocol,
            .what = names[kind],
            .number = kind == PARLEY_TASK_LAPSES ? what->turn : 0,
            .at_ms = at_ms,
            .thread = what->id,
            .receiver = what->from,
            .domain = what->domain,
            .priority = what->has_priority ? parley_bytes_of(protocol->priorities[what->priority])
                                           : (struct parley_bytes){0},
            .data = parley_buffer_bytes(&data)};
        board->teller.tell(board->teller.context, &moment);
    }
    parley_buffer_finish(&data);
}

/* Its facts have changed since: it was ended by others. */
static bool still_counts(const struct work *work, const struct parley_task *what) {
    return work->moment_kind == PARLEY_TASK_LAPSES && what->turn == work->moment_turn &&
           what->moment == PARLEY_TASK_NO_MOMENT && work->moment.at_ms - LATER_MS <= board_now_ms();
}

static bool is_same(const struct work *work, const struct parley_task *what) {
    return what->moment == work->moment_kind && what->turn == work->moment_turn &&
           what->moment_ms + LATER_MS == work->moment.at_ms;
}

void moments_describe(struct board *board, struct work *work, const struct parley_task *what) {
    if (!is_told(board) || is_same(work, what)) {
        return;
    }
    if (still_counts(work, what)) {
        tell(board, what, work->moment_kind, work->moment.at_ms - LATER_MS);
    }
    forget(board, work);
    if (what->moment != PARLEY_TASK_NO_MOMENT &&
        what->moment_ms > board_now_ms() - board->teller.past_ms) {
        expect(board, work, what);
    }
}

void moments_tell(struct board *board) {
    for (size_t i = 0; i < TELL_MAX && moments_due_ms(board) <= board_now_ms(); i++) {
        struct work *work = OWNER_OF(time_heap_first(&board->moments), struct work, moment);
        struct parley_task what;
        if (works_read(board, work, board_now_ms(), &what) == PARLEY_OK) {
            tell(board, &what, work->moment_kind, work->moment.at_ms - LATER_MS);
        }
        change_log_touch(&board->changes, &work->change);
        forget(board, work);
    }
}

void board_on_moment(struct board *board, const struct board_teller *teller) {
    board->teller = *teller;
}
