/* SPDX-License-Identifier: Apache-2.0 */

/* See halt_keeper.h. A key that a gateway has written for a message is there before the message is,
 * so that writing it again for a message of the shared consumer changes nothing. */

#include "halt_keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bucket_key.h"
#include "bucket_watch.h"
#include "log.h"
#include "stored_route.h"

enum {
    BATCH = 16,
    ACK_WAIT_MS = 5000, /* after which another gateway takes what this one did not finish */
    RETURN_MS = 1000,
    PURGE_MS = 60000,
    PURGES_A_TURN = 256,
    RELEASED_KEPT_S = 8 * 24 * 3600, /* longer than the stream keeps the messages */
};

struct halt_keeper {
    struct halt_keeper_options options;
    struct halt_set *set;
    struct bucket_watch *watch;
    struct shared_consumer *shared;
    struct reactor_timer timer;
    char stream[160];
};

/* ---- the bucket ---- */

static void on_began(void *context) {
    struct halt_keeper *keeper = context;
    halt_set_begin(keeper->set);
}

static void on_entry(void *context, const struct bucket_entry *entry) {
    struct halt_keeper *keeper = context;
    halt_set_read(keeper->set, entry->key, entry->value, entry->sequence,
                  entry->time_ns / 1000000000);
}

static void purge_expired(struct halt_keeper *keeper) {
    char key[HALT_KEY_LENGTH + 1], subject[256];
    const int64_t before_seconds = (int64_t)time(NULL) - RELEASED_KEPT_S;
    for (size_t i = 0; i < PURGES_A_TURN && halt_set_expire(keeper->set, before_seconds, key);
         i++) {
        snprintf(subject, sizeof subject, "$KV.%s.%s", keeper->options.channel->halt_bucket, key);
        jetstream_purge(keeper->options.jetstream, keeper->stream, subject);
    }
}

static void on_current(void *context) {
    struct halt_keeper *keeper = context;
    const bool is_first = !halt_set_was_seen(keeper->set);
    halt_set_see(keeper->set, true);
    purge_expired(keeper);
    if (is_first) {
        keeper->options.seen(keeper->options.context);
    }
}

static void on_away(void *context) {
    struct halt_keeper *keeper = context;
    halt_set_see(keeper->set, false);
}

static void on_purge_time(struct reactor_timer *timer) {
    struct halt_keeper *keeper = OWNER_OF(timer, struct halt_keeper, timer);
    purge_expired(keeper);
    reactor_timer_set(keeper->options.reactor, timer, PURGE_MS);
}

/* ---- messages that were published straight to NATS ---- */

struct taking {
    struct halt_keeper *keeper;
    char key[HALT_KEY_LENGTH + 1];
    char receipt[];
};

static void on_kept(void *context, const struct jetstream_ack *ack) {
    struct taking *taking = context;
    struct halt_keeper *keeper = taking->keeper;
    if (ack->outcome == JETSTREAM_STORED || bucket_key_is_taken(ack)) {
        const bool is_stored = ack->outcome == JETSTREAM_STORED;
        halt_set_latched(keeper->set, taking->key, is_stored ? ack->sequence : 0);
        shared_consumer_ack(keeper->options.jetstream, keeper->shared, taking->receipt);
    } else {
        halt_set_unlatch(keeper->set, taking->key);
        shared_consumer_return(keeper->options.jetstream, keeper->shared, taking->receipt,
                               RETURN_MS);
    }
    free(taking);
}

static bool write_key(struct halt_keeper *keeper, const char *key, struct parley_bytes value,
                      const char *receipt) {
    struct taking *taking = malloc(sizeof *taking + strlen(receipt) + 1);
    if (taking == NULL) {
        return false;
    }
    taking->keeper = keeper;
    memcpy(taking->key, key, HALT_KEY_LENGTH + 1);
    memcpy(taking->receipt, receipt, strlen(receipt) + 1);
    if (halt_gate_put(keeper->options.gate, key, value, 0, on_kept, taking) !=
        JETSTREAM_PUBLISHED) {
        free(taking);
        return false;
    }
    return true;
}

/* Returns: whether the message is done. */
static bool latch(struct halt_keeper *keeper, const struct parley_route *route,
                  struct parley_bytes payload, const char *receipt, bool *out_is_kept_later) {
    struct halt_of_message halt;
    struct parley_buffer value;
    char now[32];
    const time_t seconds = time(NULL);
    struct tm parts;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
    parley_buffer_init(&value);
    halt_of_message(
        &(struct halting_message){.route = route,
                                  .payload = payload,
                                  .is_valid = parley_message_is_valid(keeper->options.message),
                                  .now = now},
        &halt, &value);
    bool is_done = true;
    *out_is_kept_later = false;
    if (value.has_failed) {
        is_done = false;
    } else {
        switch (halt_set_latch(keeper->set, halt.key, parley_buffer_bytes(&value))) {
        case HALT_LATCH_KNOWN:
        case HALT_LATCH_SHARE_FULL: /* waiting for room, it would hold up those of others */
            break;
        case HALT_LATCH_FULL:
        case HALT_LATCH_NO_MEMORY:
            is_done = false;
            break;
        case HALT_LATCH_WRITE:
            *out_is_kept_later = write_key(keeper, halt.key, parley_buffer_bytes(&value), receipt);
            is_done = *out_is_kept_later;
            if (!is_done) {
                halt_set_unlatch(keeper->set, halt.key);
            }
            break;
        }
    }
    parley_buffer_finish(&value);
    return is_done;
}

/* One that cannot be read halts nothing, and is acknowledged. */
static void on_taken(void *context, struct shared_consumer *from,
                     const struct jetstream_stored *stored, const char *receipt) {
    struct halt_keeper *keeper = context;
    (void)from;
    struct parley_route route;
    bool is_kept_later = false;
    bool is_done = stored_route_read(keeper->options.message, keeper->options.channel,
                                     stored->subject, stored->payload, &route) == PARLEY_OK;
    if (is_done && route.halt_role == PARLEY_HALT_LATCHES) {
        is_done = latch(keeper, &route, stored->payload, receipt, &is_kept_later);
    }
    if (!is_done) {
        shared_consumer_return(keeper->options.jetstream, keeper->shared, receipt, RETURN_MS);
    } else if (!is_kept_later) {
        shared_consumer_ack(keeper->options.jetstream, keeper->shared, receipt);
    }
    parley_message_reset(keeper->options.message);
}

/* ---- its life ---- */

static enum parley_status open_both(struct halt_keeper *keeper) {
    const struct halt_keeper_options *options = &keeper->options;
    const struct bucket_watch_events events = {.began = on_began,
                                               .entry = on_entry,
                                               .current = on_current,
                                               .away = on_away,
                                               .context = keeper};
    const struct shared_consumer_options shared = {.stream = options->channel->stream,
                                                   .durable = options->channel->halt_bucket,
                                                   .filter = options->channel->halt_subjects,
                                                   .batch = BATCH,
                                                   .ack_wait_ms = ACK_WAIT_MS,
                                                   .is_from_now = true};
    PARLEY_TRY(bucket_watch_open(options->reactor, options->jetstream,
                                 options->channel->halt_bucket, &events, &keeper->watch));
    return shared_consumer_open(options->jetstream, &shared, on_taken, keeper, &keeper->shared);
}

enum parley_status halt_keeper_create(const struct halt_keeper_options *options,
                                      struct halt_keeper **out) {
    struct halt_keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL) {
        return PARLEY_E_MEMORY;
    }
    keeper->options = *options;
    keeper->set = halt_gate_set(options->gate);
    snprintf(keeper->stream, sizeof keeper->stream, "KV_%s", options->channel->halt_bucket);
    keeper->timer.fire = on_purge_time;
    const enum parley_status status = open_both(keeper);
    if (status != PARLEY_OK) {
        halt_keeper_destroy(keeper);
        return status;
    }
    reactor_timer_set(options->reactor, &keeper->timer, PURGE_MS);
    *out = keeper;
    return PARLEY_OK;
}

bool halt_keeper_pending(const struct halt_keeper *keeper, uint64_t *out) {
    *out = 0;
    return keeper != NULL && keeper->shared != NULL && shared_consumer_pending(keeper->shared, out);
}

void halt_keeper_stop(struct halt_keeper *keeper) {
    if (keeper != NULL) {
        shared_consumer_close(keeper->shared);
        keeper->shared = NULL;
    }
}

void halt_keeper_destroy(struct halt_keeper *keeper) {
    if (keeper == NULL) {
        return;
    }
    halt_keeper_stop(keeper);
    reactor_timer_clear(keeper->options.reactor, &keeper->timer);
    bucket_watch_close(keeper->watch);
    free(keeper);
}
