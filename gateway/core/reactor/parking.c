/* SPDX-License-Identifier: Apache-2.0 */

/* A table of slots, which other threads look into under a mutex, and a list of those that are
 * parked in the order of their deadlines. To wake one it is marked, and its slot noted in a list
 * for which there is room beforehand: waking allocates nothing, so no wake-up is lost. */

#include "parking.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SLOTS_AT_FIRST = 16 };

struct slot {
    struct parking_place *place; /* NULL: free */
    uint64_t number;             /* of the stay */
    uint32_t next;               /* when it is free: the next one that is */
    bool is_woken;
};

struct parking {
    struct reactor *reactor;
    struct reactor_turn turn;
    struct reactor_timer timer; /* for the first of `parked` */
    TAILQ_HEAD(parking_places, parking_place) parked;
    size_t count, places_max;
    uint64_t last_number;
    bool is_draining;
    atomic_bool has_woken;

    pthread_mutex_t lock;           /* of what follows */
    struct slot *slots;             /* written on the reactor's thread alone, but for is_woken */
    uint32_t *woken;                /* the slots that were, as many as there is room for slots */
    uint32_t slot_count, free_slot; /* free_slot == slot_count: none is */
    uint32_t woken_count;
};

/* ---- slots ---- */

/* Twice as many. With the lock.  Returns: false without memory. */
static bool grow(struct parking *parking) {
    const uint32_t count = parking->slot_count > 0 ? parking->slot_count * 2 : SLOTS_AT_FIRST;
    struct slot *slots = realloc(parking->slots, count * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    parking->slots = slots;
    uint32_t *woken = realloc(parking->woken, count * sizeof *woken);
    if (woken == NULL) {
        return false;
    }
    parking->woken = woken;
    for (uint32_t i = parking->slot_count; i < count; i++) {
        slots[i] = (struct slot){.next = i + 1};
    }
    parking->free_slot = parking->slot_count;
    parking->slot_count = count;
    return true;
}

static bool take_slot(struct parking *parking, struct parking_place *place) {
    pthread_mutex_lock(&parking->lock);
    const bool has_slot = parking->free_slot < parking->slot_count || grow(parking);
    if (has_slot) {
        struct slot *slot = &parking->slots[parking->free_slot];
        place->slot = parking->free_slot;
        parking->free_slot = slot->next;
        *slot = (struct slot){.place = place, .number = ++parking->last_number};
    }
    pthread_mutex_unlock(&parking->lock);
    return has_slot;
}

/* One that was woken stays on the list of those, which asks for its place. */
static void give_slot(struct parking *parking, uint32_t number) {
    pthread_mutex_lock(&parking->lock);
    struct slot *slot = &parking->slots[number];
    slot->place = NULL;
    if (!slot->is_woken) {
        slot->next = parking->free_slot;
        parking->free_slot = number;
    }
    pthread_mutex_unlock(&parking->lock);
}

/* Of one that was woken; NULL: it has left meanwhile. */
static struct parking_place *next_woken(struct parking *parking, bool *has_more) {
    struct parking_place *place = NULL;
    pthread_mutex_lock(&parking->lock);
    *has_more = parking->woken_count > 0;
    if (*has_more) {
        const uint32_t number = parking->woken[--parking->woken_count];
        struct slot *slot = &parking->slots[number];
        slot->is_woken = false;
        place = slot->place;
        if (place == NULL) {
            slot->next = parking->free_slot;
            parking->free_slot = number;
        }
    }
    pthread_mutex_unlock(&parking->lock);
    return place;
}

/* ---- places ---- */

static void set_timer(struct parking *parking) {
    const struct parking_place *first = TAILQ_FIRST(&parking->parked);
    if (first == NULL) {
        reactor_timer_clear(parking->reactor, &parking->timer);
    } else if (!parking->timer.is_armed || parking->timer.due_ms != first->due_ms) {
        reactor_timer_set(parking->reactor, &parking->timer,
                          first->due_ms - reactor_now_ms(parking->reactor));
    }
}

/* From the end, for most wait as long as those before them. */
static void insert(struct parking *parking, struct parking_place *place) {
    struct parking_place *before = TAILQ_LAST(&parking->parked, parking_places);
    while (before != NULL && before->due_ms > place->due_ms) {
        before = TAILQ_PREV(before, parking_places, links);
    }
    if (before != NULL) {
        TAILQ_INSERT_AFTER(&parking->parked, before, place, links);
    } else {
        TAILQ_INSERT_HEAD(&parking->parked, place, links);
    }
}

bool parking_enter(struct parking *parking, struct parking_place *place, int64_t wait_ms) {
    assert(place->parking == NULL);
    if (parking->is_draining || parking->count == parking->places_max ||
        !take_slot(parking, place)) {
        return false;
    }
    place->parking = parking;
    place->due_ms = reactor_now_ms(parking->reactor) + wait_ms;
    insert(parking, place);
    parking->count++;
    set_timer(parking);
    return true;
}

void parking_leave(struct parking_place *place) {
    struct parking *parking = place->parking;
    if (parking == NULL) {
        return;
    }
    TAILQ_REMOVE(&parking->parked, place, links);
    parking->count--;
    place->parking = NULL;
    give_slot(parking, place->slot);
    set_timer(parking);
}

static void end_stay(struct parking_place *place, enum parking_end end) {
    parking_leave(place);
    place->over(place, end);
}

static void on_timer(struct reactor_timer *timer) {
    struct parking *parking = OWNER_OF(timer, struct parking, timer);
    const int64_t now_ms = reactor_now_ms(parking->reactor);
    struct parking_place *first;
    while ((first = TAILQ_FIRST(&parking->parked)) != NULL && first->due_ms <= now_ms) {
        end_stay(first, PARKING_TIME_UP);
    }
    set_timer(parking);
}

void parking_drain(struct parking *parking) {
    struct parking_place *first;
    parking->is_draining = true;
    while ((first = TAILQ_FIRST(&parking->parked)) != NULL) {
        end_stay(first, PARKING_DRAINING);
    }
}

size_t parking_count(const struct parking *parking) {
    return parking->count;
}

/* ---- waking ---- */

struct parking_ticket parking_ticket(const struct parking_place *place) {
    const struct parking *parking = place->parking;
    return (struct parking_ticket){.parking = place->parking,
                                   .number = parking->slots[place->slot].number,
                                   .slot = place->slot};
}

void parking_wake(struct parking_ticket ticket) {
    struct parking *parking = ticket.parking;
    pthread_mutex_lock(&parking->lock);
    struct slot *slot = &parking->slots[ticket.slot];
    const bool is_first = slot->place != NULL && slot->number == ticket.number && !slot->is_woken;
    if (is_first) {
        slot->is_woken = true;
        parking->woken[parking->woken_count++] = ticket.slot;
        atomic_store(&parking->has_woken, true);
    }
    pthread_mutex_unlock(&parking->lock);
    if (is_first) {
        reactor_wake(parking->reactor);
    }
}

/* Those that are woken meanwhile too, since each ends a stay. */
static void run_turn(struct reactor_turn *turn) {
    struct parking *parking = OWNER_OF(turn, struct parking, turn);
    if (!atomic_exchange(&parking->has_woken, false)) {
        return;
    }
    bool has_more;
    do {
        struct parking_place *place = next_woken(parking, &has_more);
        if (place != NULL) {
            end_stay(place, PARKING_WOKEN);
        }
    } while (has_more);
}

/* It was woken after the loop had begun to wait, or by this thread after the turn. */
static int64_t turn_timeout_ms(struct reactor_turn *turn) {
    const struct parking *parking = OWNER_OF(turn, struct parking, turn);
    return atomic_load(&parking->has_woken) ? 0 : -1;
}

/* ---- life ---- */

enum parley_status parking_create(struct reactor *reactor, size_t places_max,
                                  struct parking **out) {
    struct parking *parking = calloc(1, sizeof *parking);
    if (parking == NULL) {
        return PARLEY_E_MEMORY;
    }
    parking->reactor = reactor;
    parking->places_max = places_max;
    parking->timer.fire = on_timer;
    parking->turn = (struct reactor_turn){.run = run_turn, .timeout_ms = turn_timeout_ms};
    TAILQ_INIT(&parking->parked);
    pthread_mutex_init(&parking->lock, NULL);
    reactor_turn_add(reactor, &parking->turn);
    *out = parking;
    return PARLEY_OK;
}

void parking_destroy(struct parking *parking) {
    if (parking == NULL) {
        return;
    }
    assert(parking->count == 0);
    reactor_timer_clear(parking->reactor, &parking->timer);
    pthread_mutex_destroy(&parking->lock);
    free(parking->slots);
    free(parking->woken);
    free(parking);
}
