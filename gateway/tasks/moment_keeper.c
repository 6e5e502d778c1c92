/* SPDX-License-Identifier: Apache-2.0 */

/* See moment_keeper.h. The key `moments` says since when such keys are written; it is written again
 * before the bucket has forgotten it. A moment that is taken is kept until its key is there. */

#include "moment_keeper.h"

#include <stdio.h>
#include <stdlib.h>

#include "bucket_key.h"
#include "clock_and_ids.h"
#include "json_fields.h"
#include "moments.h"

enum {
    AT_ONCE_MAX = 32,
    AGAIN_MS = 1000,
    RENEW_MS = 3600000,
    KEY_MAX = 128,
};

static const char since_key[] = "moments";

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
    int64_t since_ms; /* Unix time; 0: not known yet */
    struct jetstream_request *asked;
    bool is_stopped;
    struct reactor_timer again, renewal;
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
        if (moment->protocol == keeper->protocol && moment->at_ms >= keeper->since_ms) {
            return moment;
        }
        moment_unref(moment);
    }
    return NULL;
}

static void proceed(struct moment_keeper *keeper) {
    for (size_t i = 0; i < AT_ONCE_MAX && keeper->since_ms != 0 && !keeper->is_stopped; i++) {
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

/* ---- since when ---- */

static void on_since_written(void *context, const struct jetstream_ack *ack) {
    (void)ack; /* it is asked for then */
    try_again(context);
}

static void write_since(struct moment_keeper *keeper, int64_t since_ms, jetstream_ack_fn *done) {
    char text[48];
    snprintf(text, sizeof text, "{\"since\":%jd}", (intmax_t)since_ms);
    const struct bucket_value value = {
        .bucket = keeper->bucket, .key = since_key, .value = parley_bytes_of(text)};
    if (bucket_key_create(jetstream_of(keeper), &value, done, keeper) != JETSTREAM_PUBLISHED) {
        try_again(keeper);
    }
}

/* Returns: 0: it does not say. */
static int64_t read_since(struct parley_bytes value) {
    struct json_field field = {.name = "since"};
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    const bool is_read = json_fields_read(value, &field, 1, &arena, NULL) == JSON_FIELDS_READ &&
                         field.kind == PARLEY_NUMBER && field.number >= 1 && field.number < 1e15;
    parley_arena_finish(&arena);
    return is_read ? (int64_t)field.number : 0;
}

/* Any client that can write to the bucket may have written another value: then it is from now on.
 */
static void on_since(void *context, const struct jetstream_last *last) {
    struct moment_keeper *keeper = context;
    const int64_t now_ms = clock_now_seconds() * 1000;
    keeper->asked = NULL;
    if (last->found == JETSTREAM_LAST_FOUND) {
        const int64_t since_ms = read_since(last->payload);
        keeper->since_ms = since_ms != 0 ? since_ms : now_ms;
        proceed(keeper);
    } else if (last->found == JETSTREAM_LAST_NONE) {
        write_since(keeper, now_ms, on_since_written);
    } else {
        try_again(keeper);
    }
}

static void on_again(struct reactor_timer *timer) {
    struct moment_keeper *keeper = OWNER_OF(timer, struct moment_keeper, again);
    if (keeper->since_ms != 0) {
        proceed(keeper);
    } else if (keeper->asked == NULL) {
        keeper->asked =
            bucket_key_ask(jetstream_of(keeper), keeper->bucket, since_key, on_since, keeper);
        if (keeper->asked == NULL) {
            try_again(keeper);
        }
    }
}

static void on_renewed(void *context, const struct jetstream_ack *ack) {
    (void)context;
    (void)ack; /* most times it is there */
}

static void on_renewal(struct reactor_timer *timer) {
    struct moment_keeper *keeper = OWNER_OF(timer, struct moment_keeper, renewal);
    if (keeper->since_ms != 0) {
        write_since(keeper, keeper->since_ms, on_renewed);
    }
    reactor_timer_set(keeper->gateway->reactor, timer, RENEW_MS);
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
                                     .again = {.fire = on_again},
                                     .renewal = {.fire = on_renewal}};
    for (size_t i = 0; i < AT_ONCE_MAX; i++) {
        keeper->writings[i].keeper = keeper;
    }
    moments_hold(moments, &keeper->hold);
    moments_listen(moments, &keeper->listener);
    reactor_timer_set(gateway->reactor, &keeper->again, 0);
    reactor_timer_set(gateway->reactor, &keeper->renewal, RENEW_MS);
    *out = keeper;
    return PARLEY_OK;
}

void moment_keeper_stop(struct moment_keeper *keeper) {
    if (keeper != NULL && !keeper->is_stopped) {
        keeper->is_stopped = true;
        moments_ignore(&keeper->listener);
        moments_let_go(keeper->moments, &keeper->hold);
        jetstream_request_cancel(keeper->asked);
        keeper->asked = NULL;
        reactor_timer_clear(keeper->gateway->reactor, &keeper->again);
        reactor_timer_clear(keeper->gateway->reactor, &keeper->renewal);
    }
}

void moment_keeper_destroy(struct moment_keeper *keeper) {
    for (size_t i = 0; keeper != NULL && i < AT_ONCE_MAX; i++) {
        moment_unref(keeper->writings[i].moment);
    }
    free(keeper);
}
