/* SPDX-License-Identifier: Apache-2.0 */

/* A table of slots, which other threads look into under a mutex, and a list of those that are
 * parked in the order of their deadlines. To wake one it is marked, and its slot noted in a list
 * for which there is room beforehand: waking allocates nothing, so no wake-up is lost. */

#include "waiters.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SLOTS_AT_FIRST = 16 };

struct slot {
    struct waiter *place; /* NULL if free */
    uint64_t number;      /* of the stay */
    uint32_t next;        /* when it is free: the next one that is */
    bool is_woken;
};

struct waiters {
    struct reactor *reactor;
    struct reactor_turn turn;
    struct reactor_timer timer; /* for the first of `parked` */
    TAILQ_HEAD(waiters_places, waiter) parked;
    size_t count, places_max;
    uint64_t last_number;
    bool is_draining;
    atomic_bool has_woken;

    pthread_mutex_t lock;           /* of the members below */
    struct slot *slots;             /* written on the reactor's thread alone, except is_woken */
    uint32_t *woken;                /* the slots that were, as many as there is room for slots */
    uint32_t slot_count, free_slot; /* free_slot == slot_count if none is */
    uint32_t woken_count;
};

/* ---- slots ---- */

/* Twice as many. With the lock.  Returns: false without memory. */
static bool grow(struct waiters *waiters) {
    const uint32_t count = waiters->slot_count > 0 ? waiters->slot_count * 2 : SLOTS_AT_FIRST;
    struct slot *slots = realloc(waiters->slots, count * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    waiters->slots = slots;
    uint32_t *woken = realloc(waiters->woken, count * sizeof *woken);
    if (woken == NULL) {
        return false;
    }
    waiters->woken = woken;
    for (uint32_t i = waiters->slot_count; i < count; i++) {
        slots[i] = (struct slot){.next = i + 1};
    }
    waiters->free_slot = waiters->slot_count;
    waiters->slot_count = count;
    return true;
}

static bool take_slot(struct waiters *waiters, struct waiter *place) {
    pthread_mutex_lock(&waiters->lock);
    const bool has_slot = waiters->free_slot < waiters->slot_count || grow(waiters);
    if (has_slot) {
        struct slot *slot = &waiters->slots[waiters->free_slot];
        place->slot = waiters->free_slot;
        waiters->free_slot = slot->next;
        *slot = (struct slot){.place = place, .number = ++waiters->last_number};
    }
    pthread_mutex_unlock(&waiters->lock);
    return has_slot;
}

/* One that was woken stays on the list of those, which asks for its place. */
static void give_slot(struct waiters *waiters, uint32_t number) {
    pthread_mutex_lock(&waiters->lock);
    struct slot *slot = &waiters->slots[number];
    slot->place = NULL;
    if (!slot->is_woken) {
        slot->next = waiters->free_slot;
        waiters->free_slot = number;
    }
    pthread_mutex_unlock(&waiters->lock);
}

/* Takes one that was woken; NULL if it has left in the meantime. */
static struct waiter *next_woken(struct waiters *waiters, bool *has_more) {
    struct waiter *place = NULL;
    pthread_mutex_lock(&waiters->lock);
    *has_more = waiters->woken_count > 0;
    if (*has_more) {
        const uint32_t number = waiters->woken[--waiters->woken_count];
        struct slot *slot = &waiters->slots[number];
        slot->is_woken = false;
        place = slot->place;
        if (place == NULL) {
            slot->next = waiters->free_slot;
            waiters->free_slot = number;
        }
    }
    pthread_mutex_unlock(&waiters->lock);
    return place;
}

/* ---- places ---- */

static void set_timer(struct waiters *waiters) {
    const struct waiter *first = TAILQ_FIRST(&waiters->parked);
    if (first == NULL) {
        reactor_timer_clear(waiters->reactor, &waiters->timer);
    } else if (!waiters->timer.is_armed || waiters->timer.due_ms != first->due_ms) {
        reactor_timer_set(waiters->reactor, &waiters->timer,
                          first->due_ms - reactor_now_ms(waiters->reactor));
    }
}

/* Searches from the end, since most wait as long as those before them. */
static void insert(struct waiters *waiters, struct waiter *place) {
    struct waiter *before = TAILQ_LAST(&waiters->parked, waiters_places);
    while (before != NULL && before->due_ms > place->due_ms) {
        before = TAILQ_PREV(before, waiters_places, links);
    }
    if (before != NULL) {
        TAILQ_INSERT_AFTER(&waiters->parked, before, place, links);
    } else {
        TAILQ_INSERT_HEAD(&waiters->parked, place, links);
    }
}

bool waiters_enter(struct waiters *waiters, struct waiter *place, int64_t wait_ms) {
    assert(place->waiters == NULL);
    if (waiters->is_draining || waiters->count == waiters->places_max ||
        !take_slot(waiters, place)) {
        return false;
    }
    place->waiters = waiters;
    place->due_ms = reactor_now_ms(waiters->reactor) + wait_ms;
    insert(waiters, place);
    waiters->count++;
    set_timer(waiters);
    return true;
}

void waiter_leave(struct waiter *place) {
    struct waiters *waiters = place->waiters;
    if (waiters == NULL) {
        return;
    }
    TAILQ_REMOVE(&waiters->parked, place, links);
    waiters->count--;
    place->waiters = NULL;
    give_slot(waiters, place->slot);
    set_timer(waiters);
}

static void end_stay(struct waiter *place, enum waiter_end end) {
    waiter_leave(place);
    place->over(place, end);
}

static void on_timer(struct reactor_timer *timer) {
    struct waiters *waiters = OWNER_OF(timer, struct waiters, timer);
    const int64_t now_ms = reactor_now_ms(waiters->reactor);
    struct waiter *first;
    while ((first = TAILQ_FIRST(&waiters->parked)) != NULL && first->due_ms <= now_ms) {
        end_stay(first, WAITER_TIME_UP);
    }
    set_timer(waiters);
}

void waiters_drain(struct waiters *waiters) {
    struct waiter *first;
    waiters->is_draining = true;
    while ((first = TAILQ_FIRST(&waiters->parked)) != NULL) {
        end_stay(first, WAITER_DRAINING);
    }
}

size_t waiters_count(const struct waiters *waiters) {
    return waiters->count;
}

/* ---- waking ---- */

struct waiter_ticket waiter_ticket(const struct waiter *place) {
    const struct waiters *waiters = place->waiters;
    return (struct waiter_ticket){.waiters = place->waiters,
                                  .number = waiters->slots[place->slot].number,
                                  .slot = place->slot};
}

void waiter_wake(struct waiter_ticket ticket) {
    struct waiters *waiters = ticket.waiters;
    pthread_mutex_lock(&waiters->lock);
    struct slot *slot = &waiters->slots[ticket.slot];
    const bool is_first = slot->place != NULL && slot->number == ticket.number && !slot->is_woken;
    if (is_first) {
        slot->is_woken = true;
        waiters->woken[waiters->woken_count++] = ticket.slot;
        atomic_store(&waiters->has_woken, true);
    }
    pthread_mutex_unlock(&waiters->lock);
    if (is_first) {
        reactor_wake(waiters->reactor);
    }
}

/* Also handles places that are woken while it runs, since each ends a stay. */
static void run_turn(struct reactor_turn *turn) {
    struct waiters *waiters = OWNER_OF(turn, struct waiters, turn);
    if (!atomic_exchange(&waiters->has_woken, false)) {
        return;
    }
    bool has_more;
    do {
        struct waiter *place = next_woken(waiters, &has_more);
        if (place != NULL) {
            end_stay(place, WAITER_WOKEN);
        }
    } while (has_more);
}

/* It was woken after the loop had begun to wait, or by this thread after the turn. */
static int64_t turn_timeout_ms(struct reactor_turn *turn) {
    const struct waiters *waiters = OWNER_OF(turn, struct waiters, turn);
    return atomic_load(&waiters->has_woken) ? 0 : -1;
}

/* ---- lifecycle ---- */

enum parley_status waiters_create(struct reactor *reactor, size_t places_max,
                                  struct waiters **out) {
    struct waiters *waiters = calloc(1, sizeof *waiters);
    if (waiters == NULL) {
        return PARLEY_E_MEMORY;
    }
    waiters->reactor = reactor;
    waiters->places_max = places_max;
    waiters->timer.fire = on_timer;
    waiters->turn = (struct reactor_turn){.run = run_turn, .timeout_ms = turn_timeout_ms};
    TAILQ_INIT(&waiters->parked);
    pthread_mutex_init(&waiters->lock, NULL);
    reactor_turn_add(reactor, &waiters->turn);
    *out = waiters;
    return PARLEY_OK;
}

void waiters_destroy(struct waiters *waiters) {
    if (waiters == NULL) {
        return;
    }
    assert(waiters->count == 0);
    reactor_timer_clear(waiters->reactor, &waiters->timer);
    pthread_mutex_destroy(&waiters->lock);
    free(waiters->slots);
    free(waiters->woken);
    free(waiters);
}
