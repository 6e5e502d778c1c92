/* SPDX-License-Identifier: Apache-2.0 */

/* See moment_keeper.h. The key `moments` says since when such keys are written. A moment that is
 * taken is kept until its key is there. */

#include "moment_keeper.h"

#include <stdio.h>
#include <stdlib.h>

#include "bucket_key.h"
#include "moments.h"
#include "since_key.h"

enum {
    AT_ONCE_MAX = 32,
    AGAIN_MS = 1000,
    KEY_MAX = 128,
};

/* A key that is being written. */
struct writing {
    struct moment_keeper *keeper;
    const struct moment *moment; /* NULL: none */
    bool is_under_way;           /* else it is tried again */
};

struct moment_keeper {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    const char *bucket;
    struct moments *moments;
    struct moments_listener listener;
    struct moments_hold hold;
    struct writing writings[AT_ONCE_MAX];
    struct since_key since;
    bool is_stopped;
    struct reactor_timer again;
};

static struct jetstream *jetstream_of(const struct moment_keeper *keeper) {
    return keeper->gateway->jetstream;
}

static void try_again(struct moment_keeper *keeper) {
    if (!keeper->is_stopped && !keeper->again.is_armed) {
        reactor_timer_set(keeper->gateway->reactor, &keeper->again, AGAIN_MS);
    }
}

/* ---- keys of moments ---- */

static void proceed(struct moment_keeper *keeper);

static void on_written(void *context, const struct jetstream_ack *ack) {
    struct writing *writing = context;
    struct moment_keeper *keeper = writing->keeper;
    writing->is_under_way = false;
    if (ack->outcome == JETSTREAM_STORED || bucket_key_is_taken(ack)) {
        moment_unref(writing->moment);
        writing->moment = NULL;
        proceed(keeper);
    } else {
        try_again(keeper);
    }
}

static void write_moment(struct writing *writing) {
    struct moment_keeper *keeper = writing->keeper;
    const struct moment *moment = writing->moment;
    char key[KEY_MAX], number[24] = "";
    if (moment->number != 0) {
        snprintf(number, sizeof number, ".%ju", (uintmax_t)moment->number);
    }
    snprintf(key, sizeof key, "%.*s.%s%s", (int)moment->thread.length, moment->thread.data,
             moment->what, number);
    const struct bucket_value value = {.bucket = keeper->bucket, .key = key, .value = moment->data};
    writing->is_under_way = true;
    if (bucket_key_create(jetstream_of(keeper), &value, on_written, writing) !=
        JETSTREAM_PUBLISHED) {
        writing->is_under_way = false;
        try_again(keeper);
    }
}

/* The next one of the protocol's.  Returns: NULL: there is none so far. */
static const struct moment *take(struct moment_keeper *keeper) {
    const struct moment *moment;
    while ((moment = moments_take(keeper->moments, &keeper->hold.position)) != NULL) {
        if (moment->protocol == keeper->protocol && moment->at_ms >= keeper->since.since_ms) {
            return moment;
        }
        moment_unref(moment);
    }
    return NULL;
}

static void proceed(struct moment_keeper *keeper) {
    for (size_t i = 0; i < AT_ONCE_MAX && keeper->since.since_ms != 0 && !keeper->is_stopped; i++) {
        struct writing *writing = &keeper->writings[i];
        if (writing->moment == NULL && (writing->moment = take(keeper)) == NULL) {
            continue;
        }
        if (!writing->is_under_way) {
            write_moment(writing);
        }
    }
}

static void on_come(struct moments_listener *listener) {
    proceed(OWNER_OF(listener, struct moment_keeper, listener));
}

static void on_since(struct since_key *since) {
    proceed(OWNER_OF(since, struct moment_keeper, since));
}

static void on_again(struct reactor_timer *timer) {
    proceed(OWNER_OF(timer, struct moment_keeper, again));
}

/* ---- life ---- */

enum parley_status moment_keeper_create(struct gateway *gateway,
                                        const struct parley_protocol *protocol, const char *bucket,
                                        struct moments *moments, struct moment_keeper **out) {
    struct moment_keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL) {
        return PARLEY_E_MEMORY;
    }
    *keeper = (struct moment_keeper){.gateway = gateway,
                                     .protocol = protocol,
                                     .bucket = bucket,
                                     .moments = moments,
                                     .listener = {.reactor = gateway->reactor, .come = on_come},
                                     .since = {.reactor = gateway->reactor,
                                               .jetstream = gateway->jetstream,
                                               .bucket = bucket,
                                               .key = "moments",
                                               .known = on_since},
                                     .again = {.fire = on_again}};
    for (size_t i = 0; i < AT_ONCE_MAX; i++) {
        keeper->writings[i].keeper = keeper;
    }
    moments_hold(moments, &keeper->hold);
    moments_listen(moments, &keeper->listener);
    since_key_start(&keeper->since);
    *out = keeper;
    return PARLEY_OK;
}

void moment_keeper_stop(struct moment_keeper *keeper) {
    if (keeper != NULL && !keeper->is_stopped) {
        keeper->is_stopped = true;
        moments_ignore(&keeper->listener);
        moments_let_go(keeper->moments, &keeper->hold);
        since_key_stop(&keeper->since);
        reactor_timer_clear(keeper->gateway->reactor, &keeper->again);
    }
}

void moment_keeper_destroy(struct moment_keeper *keeper) {
    for (size_t i = 0; keeper != NULL && i < AT_ONCE_MAX; i++) {
        moment_unref(keeper->writings[i].moment);
    }
    free(keeper);
}
