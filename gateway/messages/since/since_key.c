/* SPDX-License-Identifier: Apache-2.0 */

#include "since_key.h"

#include <stdio.h>

#include "bucket_key.h"
#include "clock_and_ids.h"
#include "json_fields.h"

enum {
    AGAIN_MS = 1000,
    RENEW_MS = 3600000,
};

static void try_again(struct since_key *since) {
    if (!since->is_stopped && !since->again.is_armed) {
        reactor_timer_set(since->reactor, &since->again, AGAIN_MS);
    }
}

static void on_written(void *context, const struct jetstream_ack *ack) {
    (void)ack; /* it is asked for then */
    try_again(context);
}

static void write_since(struct since_key *since, int64_t since_ms, jetstream_ack_fn *done) {
    char text[48];
    snprintf(text, sizeof text, "{\"since\":%jd}", (intmax_t)since_ms);
    const struct bucket_value value = {
        .bucket = since->bucket, .key = since->key, .value = parley_bytes_of(text)};
    if (bucket_key_create(since->jetstream, &value, done, since) != JETSTREAM_PUBLISHED) {
        try_again(since);
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
    struct since_key *since = context;
    const int64_t now_ms = clock_now_seconds() * 1000;
    since->asked = NULL;
    if (last->found == JETSTREAM_LAST_FOUND) {
        const int64_t since_ms = read_since(last->payload);
        since->since_ms = since_ms != 0 ? since_ms : now_ms;
        since->known(since);
    } else if (last->found == JETSTREAM_LAST_NONE) {
        write_since(since, now_ms, on_written);
    } else {
        try_again(since);
    }
}

static void on_again(struct reactor_timer *timer) {
    struct since_key *since = OWNER_OF(timer, struct since_key, again);
    if (since->since_ms == 0 && since->asked == NULL) {
        since->asked = bucket_key_ask(since->jetstream, since->bucket, since->key, on_since, since);
        if (since->asked == NULL) {
            try_again(since);
        }
    }
}

static void on_renewed(void *context, const struct jetstream_ack *ack) {
    (void)context;
    (void)ack; /* most times it is there */
}

static void on_renewal(struct reactor_timer *timer) {
    struct since_key *since = OWNER_OF(timer, struct since_key, renewal);
    if (since->since_ms != 0) {
        write_since(since, since->since_ms, on_renewed);
    }
    reactor_timer_set(since->reactor, timer, RENEW_MS);
}

void since_key_start(struct since_key *since) {
    since->again.fire = on_again;
    since->renewal.fire = on_renewal;
    reactor_timer_set(since->reactor, &since->again, 0);
    reactor_timer_set(since->reactor, &since->renewal, RENEW_MS);
}

void since_key_stop(struct since_key *since) {
    since->is_stopped = true;
    jetstream_request_cancel(since->asked);
    since->asked = NULL;
    reactor_timer_clear(since->reactor, &since->again);
    reactor_timer_clear(since->reactor, &since->renewal);
}
