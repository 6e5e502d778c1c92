/* SPDX-License-Identifier: Apache-2.0 */

#include "moments.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct moments {
    pthread_mutex_t lock;
    struct moment *kept[MOMENTS_KEPT]; /* the one of position P at P % MOMENTS_KEPT */
    atomic_uint_fast64_t end;          /* written with the lock */
    LIST_HEAD(, moments_listener) listeners;
    LIST_HEAD(, moments_hold) holds;
};

/* ---- one of them ---- */

static void add_reference(struct moment *moment) {
    __atomic_add_fetch(&moment->reference_count, 1, __ATOMIC_RELAXED);
}

void moment_unref(const struct moment *moment) {
    struct moment *own = (struct moment *)moment;
    if (own != NULL && __atomic_sub_fetch(&own->reference_count, 1, __ATOMIC_ACQ_REL) == 0) {
        free(own);
    }
}

static void copy_text(struct parley_bytes *text, char **room) {
    if (text->data != NULL) {
        memcpy(*room, text->data, text->length);
        text->data = *room;
        *room += text->length;
    }
}

/* Returns: NULL: no memory. */
static struct moment *copy(const struct moment *moment) {
    const size_t length = moment->thread.length + moment->receiver.length + moment->domain.length +
                          moment->priority.length + moment->data.length;
    struct moment *made = malloc(sizeof *made + length);
    if (made != NULL) {
        char *room = (char *)(made + 1);
        *made = *moment;
        made->reference_count = 1;
        copy_text(&made->thread, &room);
        copy_text(&made->receiver, &room);
        copy_text(&made->domain, &room);
        copy_text(&made->priority, &room);
        copy_text(&made->data, &room);
    }
    return made;
}

static bool are_same(const struct moment *one, const struct moment *other) {
    return one->at_ms == other->at_ms && one->number == other->number && one->what == other->what &&
           one->protocol == other->protocol && parley_bytes_equal(one->thread, other->thread);
}

/* ---- all that are kept ---- */

static uint64_t first_position(uint64_t end) {
    return end > MOMENTS_KEPT ? end - MOMENTS_KEPT : 0;
}

/* A board that begins again finds the same ones. */
static bool has(const struct moments *moments, const struct moment *moment) {
    const uint64_t end = atomic_load(&moments->end);
    for (uint64_t at = end; at > first_position(end); at--) {
        if (are_same(moments->kept[(at - 1) % MOMENTS_KEPT], moment)) {
            return true;
        }
    }
    return false;
}

static void on_posted(void *context) {
    struct moments_listener *listener = context;
    if (listener->moments == NULL) {
        return;
    }
    pthread_mutex_lock(&listener->moments->lock);
    listener->is_posted = false;
    pthread_mutex_unlock(&listener->moments->lock);
    listener->come(listener);
}

static void wake_listeners(struct moments *moments) {
    struct moments_listener *listener;
    LIST_FOREACH(listener, &moments->listeners, link) {
        listener->is_posted = listener->is_posted ||
                              reactor_post(listener->reactor, on_posted, listener) == PARLEY_OK;
    }
}

void moments_add(struct moments *moments, const struct moment *moment) {
    pthread_mutex_lock(&moments->lock);
    struct moment *added = has(moments, moment) ? NULL : copy(moment);
    if (added != NULL) {
        const uint64_t end = atomic_load(&moments->end);
        struct moment **place = &moments->kept[end % MOMENTS_KEPT];
        moment_unref(*place);
        *place = added;
        atomic_store(&moments->end, end + 1);
        wake_listeners(moments);
    }
    pthread_mutex_unlock(&moments->lock);
}

uint64_t moments_end(struct moments *moments) {
    return atomic_load(&moments->end);
}

const struct moment *moments_take(struct moments *moments, uint64_t *position) {
    struct moment *taken = NULL;
    if (*position == atomic_load(&moments->end)) {
        return NULL;
    }
    pthread_mutex_lock(&moments->lock);
    const uint64_t first = first_position(atomic_load(&moments->end));
    *position = *position < first ? first : *position;
    taken = moments->kept[(*position)++ % MOMENTS_KEPT];
    add_reference(taken);
    pthread_mutex_unlock(&moments->lock);
    return taken;
}

/* ---- listeners ---- */

void moments_listen(struct moments *moments, struct moments_listener *listener) {
    pthread_mutex_lock(&moments->lock);
    listener->moments = moments;
    LIST_INSERT_HEAD(&moments->listeners, listener, link);
    pthread_mutex_unlock(&moments->lock);
}

void moments_ignore(struct moments_listener *listener) {
    struct moments *moments = listener->moments;
    if (moments != NULL) {
        pthread_mutex_lock(&moments->lock);
        LIST_REMOVE(listener, link);
        listener->moments = NULL;
        pthread_mutex_unlock(&moments->lock);
    }
}

/* ---- holds ---- */

void moments_hold(struct moments *moments, struct moments_hold *hold) {
    pthread_mutex_lock(&moments->lock);
    hold->position = atomic_load(&moments->end);
    LIST_INSERT_HEAD(&moments->holds, hold, link);
    pthread_mutex_unlock(&moments->lock);
}

void moments_let_go(struct moments *moments, struct moments_hold *hold) {
    pthread_mutex_lock(&moments->lock);
    LIST_REMOVE(hold, link);
    pthread_mutex_unlock(&moments->lock);
}

/* Half of the places, since some are added without asking. */
bool moments_have_room(struct moments *moments) {
    const struct moments_hold *hold;
    bool has_room = true;
    pthread_mutex_lock(&moments->lock);
    LIST_FOREACH(hold, &moments->holds, link) {
        has_room = has_room && atomic_load(&moments->end) - hold->position < MOMENTS_KEPT / 2;
    }
    pthread_mutex_unlock(&moments->lock);
    return has_room;
}

/* ---- their life ---- */

struct moments *moments_create(void) {
    struct moments *moments = calloc(1, sizeof *moments);
    if (moments != NULL) {
        pthread_mutex_init(&moments->lock, NULL);
        LIST_INIT(&moments->listeners);
        LIST_INIT(&moments->holds);
    }
    return moments;
}

void moments_destroy(struct moments *moments) {
    if (moments == NULL) {
        return;
    }
    for (size_t i = 0; i < MOMENTS_KEPT; i++) {
        moment_unref(moments->kept[i]);
    }
    pthread_mutex_destroy(&moments->lock);
    free(moments);
}
