/* SPDX-License-Identifier: Apache-2.0 */

/* Open work that is not to be given out before a time: a heap, the first that comes due on top. It
 * has room for all work of the board, so that nothing has to be allocated when work is put off. */

#include <assert.h>
#include <stdlib.h>

#include "board_state.h"

enum {
    SLOTS_AT_FIRST = 64,
    OPEN_MAX = 16,   /* at a time: each looks for its place among what is open */
    LOOK_MS = 60000, /* the clock may be set while it waits */
};

static void put(struct board *board, size_t slot, struct work *work) {
    board->due.slots[slot] = work;
    work->due_slot = slot;
}

static bool is_before(const struct work *work, const struct work *other) {
    return work->not_before_ms < other->not_before_ms;
}

static void rise(struct board *board, size_t slot, struct work *work) {
    while (slot > 0 && is_before(work, board->due.slots[(slot - 1) / 2])) {
        put(board, slot, board->due.slots[(slot - 1) / 2]);
        slot = (slot - 1) / 2;
    }
    put(board, slot, work);
}

static void sink(struct board *board, size_t slot, struct work *work) {
    struct work **slots = board->due.slots;
    size_t child;
    while ((child = 2 * slot + 1) < board->due.count) {
        child += child + 1 < board->due.count && is_before(slots[child + 1], slots[child]) ? 1 : 0;
        if (!is_before(slots[child], work)) {
            break;
        }
        put(board, slot, slots[child]);
        slot = child;
    }
    put(board, slot, work);
}

bool due_reserve(struct board *board, size_t count) {
    if (count <= board->due.room) {
        return true;
    }
    const size_t room = board->due.room > 0 ? 2 * board->due.room : SLOTS_AT_FIRST;
    struct work **slots = realloc(board->due.slots, room * sizeof(struct work *));
    if (slots != NULL) {
        board->due.slots = slots;
        board->due.room = room;
    }
    return slots != NULL;
}

void due_add(struct board *board, struct work *work) {
    assert(board->due.count < board->due.room);
    rise(board, board->due.count++, work);
}

void due_remove(struct board *board, const struct work *work) {
    struct work *last = board->due.slots[--board->due.count];
    const size_t slot = work->due_slot;
    if (last == work) {
        return;
    }
    if (is_before(last, work)) {
        rise(board, slot, last);
    } else {
        sink(board, slot, last);
    }
}

struct work *due_last(const struct board *board) {
    return board->due.count > 0 ? board->due.slots[board->due.count - 1] : NULL;
}

void due_open(struct board *board) {
    const int64_t now_ms = board_now_ms();
    for (size_t i = 0; i < OPEN_MAX && board->due.count > 0; i++) {
        struct work *first = board->due.slots[0];
        if (first->not_before_ms > now_ms) {
            return;
        }
        board->has_left_out = board_settle(board, first) != PARLEY_OK || board->has_left_out;
    }
}

void due_set_timer(struct board *board) {
    if (board->due.count == 0 || board->watch == NULL) {
        return;
    }
    const int64_t left_ms = board->due.slots[0]->not_before_ms - board_now_ms();
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
    due_set_timer(board);
    pthread_mutex_unlock(&board->lock);
}
