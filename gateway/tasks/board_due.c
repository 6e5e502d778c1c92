/* SPDX-License-Identifier: Apache-2.0 */

/* Open work that is not to be given out before a time: the first that comes due is on top of a
 * heap, which has room for all work of the board. The timer serves what happens by the clock alone,
 * too (board_moments.c). */

#include "board_state.h"

enum {
    OPEN_MAX = 16,   /* at a time: each looks for its place among what is open */
    LOOK_MS = 60000, /* the clock may be set while it waits */
};

static struct work *work_of(struct time_node *node) {
    return node != NULL ? OWNER_OF(node, struct work, due) : NULL;
}

void due_add(struct board *board, struct work *work) {
    work->due.at_ms = work->not_before_ms;
    time_heap_add(&board->due, &work->due);
}

void due_remove(struct board *board, const struct work *work) {
    time_heap_remove(&board->due, &work->due);
}

struct work *due_last(const struct board *board) {
    return work_of(time_heap_last(&board->due));
}

void due_open(struct board *board) {
    const int64_t now_ms = board_now_ms();
    for (size_t i = 0; i < OPEN_MAX && board->due.count > 0; i++) {
        struct work *first = work_of(time_heap_first(&board->due));
        if (first->due.at_ms > now_ms) {
            return;
        }
        board->has_left_out = board_settle(board, first) != PARLEY_OK || board->has_left_out;
    }
}

/* Returns: INT64_MAX: nothing is due. */
static int64_t next_ms(const struct board *board) {
    const struct time_node *first = time_heap_first(&board->due);
    const int64_t opens_ms = first != NULL ? first->at_ms : INT64_MAX;
    const int64_t tells_ms = moments_due_ms(board);
    return opens_ms < tells_ms ? opens_ms : tells_ms;
}

void due_set_timer(struct board *board) {
    const int64_t due_ms = next_ms(board);
    if (due_ms == INT64_MAX || board->watch == NULL) {
        return;
    }
    const int64_t left_ms = due_ms - board_now_ms();
    const int64_t delay_ms = left_ms < 0 ? 0 : left_ms < LOOK_MS ? left_ms : LOOK_MS;
    if (!board->due_timer.is_armed ||
        reactor_now_ms(board->reactor) + delay_ms < board->due_timer.due_ms) {
        reactor_timer_set(board->reactor, &board->due_timer, delay_ms);
    }
}

void due_on_timer(struct reactor_timer *timer) {
    struct board *board = OWNER_OF(timer, struct board, due_timer);
    pthread_mutex_lock(&board->lock);
    due_open(board);
    moments_tell(board);
    due_set_timer(board);
    pthread_mutex_unlock(&board->lock);
}

static void set_timer(void *context) {
    struct board *board = context;
    pthread_mutex_lock(&board->lock);
    due_set_timer(board);
    pthread_mutex_unlock(&board->lock);
}

/* Without memory for it, the next entry of the bucket sets the timer. */
void due_set_timer_later(struct board *board) {
    enum parley_status status = PARLEY_OK;
    if (board->reactor != NULL) {
        status = reactor_post(board->reactor, set_timer, board);
    }
    (void)status;
}
