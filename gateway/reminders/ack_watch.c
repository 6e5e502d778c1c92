/* SPDX-License-Identifier: Apache-2.0 */

/* See ack_watch.h. A round asks for all that became overdue since the last one that was whole, a
 * page after the other:
 *
 *   COVERING ── the index has all that was stored when the page began ──▶ ASKING
 *   ASKING ── the answer ──▶ SENDING, or the end of the round
 *   SENDING ── all are stored ──▶ COVERING, or the end of the round
 *
 * So an acknowledgement that was stored before a page began, or the reminder of another gateway, is
 * seen. Two gateways that ask at the same time send the same Nats-Msg-Id: a page that has become
 * old is not sent, so that the stream still knows it. */

#include "ack_watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "announcement.h"
#include "bucket_key.h"
#include "channel.h"
#include "index_keeper.h"
#include "index_overdue.h"
#include "index_service.h"
#include "overdue_key.h"
#include "publication.h"
#include "since_key.h"

enum {
    LOOK_MS = 2000,
    AGAIN_MS = 10000,
    COVER_POLL_MS = 100,
    OVERLAP_MS = 10000, /* of clocks, and of what is stored late */
    PAST_MS = 86400000,
    PAGE_AGE_MIN_MS = 5000, /* the index takes half of it, or more */
    PAGE_AGE_MAX_MS = 20000,
    NS_A_MS = 1000000,
};

struct ack_watch {
    struct ack_watch_options options;
    const struct parley_index_acks *acks;
    struct since_key since; /* with options.stores */
    unsigned protocol;
    struct completion_queue *completions;
    struct reactor_timer timer; /* the next round, or the next look at what the index covers */
    bool is_stopped;
    int64_t told_ms; /* what was due up to then is done with; Unix time */
    /* The round: */
    enum { RESTING, COVERING, ASKING, SENDING } phase;
    int64_t from_ms, until_ms;
    char cursor[INDEX_CURSOR_SIZE];
    bool has_failed;
    /* The page: */
    int64_t began_ms; /* on reactor_clock_ms */
    struct worker_pool_task task;
    struct index_question question;
    struct index_overdue page;
    struct parley_buffer text; /* its items, as lines */
    char progress[INDEX_PROGRESS_MAX];
    enum index_answered answered;
    size_t under_way;
};

static struct reactor *reactor_of(const struct ack_watch *watch) {
    return watch->options.gateway->reactor;
}

/* ---- rounds and pages ---- */

static void begin_page(struct ack_watch *watch) {
    watch->phase = COVERING;
    watch->began_ms = reactor_clock_ms();
    reactor_timer_set(reactor_of(watch), &watch->timer, COVER_POLL_MS);
}

static void begin_round(struct ack_watch *watch) {
    const int64_t now_ms = reactor_wall_clock_ns() / NS_A_MS;
    const int64_t oldest_ms = now_ms - PAST_MS;
    watch->from_ms = watch->told_ms > oldest_ms ? watch->told_ms : oldest_ms;
    watch->until_ms = now_ms;
    watch->cursor[0] = '\0';
    watch->has_failed = false;
    begin_page(watch);
}

static void end_round(struct ack_watch *watch) {
    watch->phase = RESTING;
    if (!watch->has_failed) {
        watch->told_ms = watch->until_ms - OVERLAP_MS;
    }
    reactor_timer_set(reactor_of(watch), &watch->timer, watch->has_failed ? AGAIN_MS : LOOK_MS);
}

/* What cannot be stored now, as without its bucket, keeps no other page from its turn. */
static void end_page(struct ack_watch *watch) {
    snprintf(watch->cursor, sizeof watch->cursor, "%s", watch->page.next);
    if (watch->cursor[0] != '\0') {
        begin_page(watch);
    } else {
        end_round(watch);
    }
}

/* ---- sending ---- */

static void leave(struct ack_watch *watch) {
    watch->under_way--;
    if (watch->under_way == 0 && watch->phase == SENDING && !watch->is_stopped) {
        end_page(watch);
    }
}

static void note_published(struct ack_watch *watch, enum jetstream_publish published) {
    watch->under_way += published == JETSTREAM_PUBLISHED;
    watch->has_failed |=
        published == JETSTREAM_AWAY || published == JETSTREAM_BARRED || published == JETSTREAM_FULL;
}

static void on_sent(void *context, const struct jetstream_ack *ack) {
    struct ack_watch *watch = context;
    const bool is_stored = ack->outcome == JETSTREAM_STORED;
    watch->has_failed |= !is_stored;
    if (is_stored && !ack->is_duplicate) {
        counter_add(&watch->options.gateway->figures->values[FIGURE_REMINDERS], 1);
    }
    leave(watch);
}

/* One that cannot be written is left out: it could not be the next time, either. */
static void send_one(struct ack_watch *watch, const struct parley_reminder *about) {
    struct parley_buffer text, message_id;
    parley_buffer_init(&text);
    parley_buffer_init(&message_id);
    watch->acks->write_reminder(about, &text);
    publication_encode(about->id, &message_id);
    parley_buffer_char(&message_id, '\0');
    if (!text.has_failed && !message_id.has_failed) {
        const struct announcement announcement = {.protocol = watch->options.channel->protocol,
                                                  .text = parley_buffer_bytes(&text),
                                                  .message_id = message_id.data};
        note_published(watch,
                       announcement_publish(watch->options.gateway, &announcement, on_sent, watch));
    }
    parley_buffer_finish(&text);
    parley_buffer_finish(&message_id);
}

/* The gateway owes itself nothing. */
static bool is_to_be_sent(const struct ack_watch *watch, const struct index_overdue_item *item) {
    return watch->options.reminds && !item->is_reminded && !item->is_nameless &&
           !parley_bytes_equal(item->reminder.recipient, PARLEY_BYTES(PARLEY_INDEX_GATEWAY));
}

/* ---- keys ---- */

static void on_written(void *context, const struct jetstream_ack *ack) {
    struct ack_watch *watch = context;
    watch->has_failed |= ack->outcome != JETSTREAM_STORED && !bucket_key_is_taken(ack);
    leave(watch);
}

/* What was due before there were such keys is not told. */
static bool is_to_be_stored(const struct ack_watch *watch, const struct index_overdue_item *item) {
    return watch->options.stores && watch->since.since_ms != 0 &&
           item->stored_ms + watch->options.overdue_ms >= watch->since.since_ms;
}

static void store_one(struct ack_watch *watch, const struct index_overdue_item *item) {
    char key[OVERDUE_KEY_SIZE];
    overdue_key_write(item->reminder.place, item->reminder.recipient, key);
    const struct bucket_value value = {
        .bucket = watch->options.channel->ack_bucket,
        .key = key,
        .value = {watch->text.data + item->text_at, item->text_length}};
    note_published(watch,
                   bucket_key_create(watch->options.gateway->jetstream, &value, on_written, watch));
}

/* ---- a page ---- */

static void take_page(struct ack_watch *watch) {
    watch->phase = SENDING;
    watch->under_way++; /* no ack ends the page before all are sent */
    watch->has_failed |= watch->options.stores && watch->since.since_ms == 0;
    for (size_t i = 0; i < watch->page.count; i++) {
        const struct index_overdue_item *item = &watch->page.items[i];
        if (is_to_be_sent(watch, item)) {
            send_one(watch, &item->reminder);
        }
        if (is_to_be_stored(watch, item)) {
            store_one(watch, item);
        }
    }
    leave(watch);
}

/* ---- asking ---- */

static void work(struct worker_pool_task *task) {
    struct ack_watch *watch = OWNER_OF(task, struct ack_watch, task);
    index_overdue_begin(&watch->page);
    parley_buffer_clear(&watch->text);
    watch->answered = index_service_answer(watch->options.service, INDEX_VIEWS, &watch->question,
                                           &watch->text, NULL, watch->progress);
}

/* The file may have been set aside while it was asked. */
static bool is_covered(const struct ack_watch *watch) {
    return index_keeper_covered_ms(watch->options.keeper, watch->protocol) >= watch->began_ms;
}

/* Half of the dedupe window: in the other one, a message that is published is tried again. */
static bool is_old(const struct ack_watch *watch) {
    const int64_t age_ms = reactor_clock_ms() - watch->began_ms;
    const int64_t half_ms = jetstream_dedupe_window_ms(watch->options.gateway->jetstream,
                                                       watch->options.channel->stream) /
                            2;
    return age_ms > PAGE_AGE_MAX_MS || (age_ms > PAGE_AGE_MIN_MS && age_ms > half_ms);
}

static void done(struct worker_pool_task *task) {
    struct ack_watch *watch = OWNER_OF(task, struct ack_watch, task);
    const bool is_sound = watch->answered == INDEX_ANSWERED && is_covered(watch) &&
                          !is_old(watch) && jetstream_is_ready(watch->options.gateway->jetstream);
    if (watch->is_stopped) {
        return;
    }
    if (!is_sound) {
        watch->has_failed = true;
        end_round(watch);
    } else {
        take_page(watch);
    }
}

static void ask(struct ack_watch *watch) {
    const struct index_overdue_range range = {.protocol = watch->protocol,
                                              .overdue_ms = watch->options.overdue_ms,
                                              .from_ms = watch->from_ms,
                                              .until_ms = watch->until_ms,
                                              .cursor = watch->cursor};
    watch->phase = ASKING;
    watch->question = index_overdue_question(
        &range, watch->options.gateway->configuration->channels, &watch->page);
    worker_pool_submit(watch->completions, &watch->task);
}

/* What was stored since the page began may acknowledge: an index that takes long is asked for what
 * it has now. */
static void look_at_cover(struct ack_watch *watch) {
    if (is_old(watch) || !jetstream_is_ready(watch->options.gateway->jetstream)) {
        begin_page(watch);
    } else if (is_covered(watch)) {
        ask(watch);
    } else {
        reactor_timer_set(reactor_of(watch), &watch->timer, COVER_POLL_MS);
    }
}

static void on_timer(struct reactor_timer *timer) {
    struct ack_watch *watch = OWNER_OF(timer, struct ack_watch, timer);
    switch (watch->phase) {
    case RESTING:
        begin_round(watch);
        return;
    case COVERING:
        look_at_cover(watch);
        return;
    case ASKING:
    case SENDING:
        return; /* no timer runs */
    }
}

/* ---- life ---- */

static void on_since(struct since_key *since) {
    (void)since; /* the next round asks for it */
}

enum parley_status ack_watch_create(const struct ack_watch_options *options,
                                    struct ack_watch **out) {
    struct ack_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        return PARLEY_E_MEMORY;
    }
    *watch = (struct ack_watch){.options = *options,
                                .acks = options->channel->protocol->index->acks,
                                .since = {.reactor = options->gateway->reactor,
                                          .jetstream = options->gateway->jetstream,
                                          .bucket = options->channel->ack_bucket,
                                          .key = "since",
                                          .known = on_since},
                                .task = {.work = work, .done = done},
                                .timer = {.fire = on_timer}};
    while (parley_protocols[watch->protocol] != options->channel->protocol) {
        watch->protocol++;
    }
    parley_arena_init(&watch->page.arena, 0);
    parley_buffer_init(&watch->text);
    const enum parley_status status =
        completion_queue_open(index_service_pool(options->service, INDEX_VIEWS),
                              options->gateway->reactor, &watch->completions);
    if (status != PARLEY_OK) {
        ack_watch_destroy(watch);
        return status;
    }
    if (options->stores) {
        since_key_start(&watch->since);
    }
    reactor_timer_set(options->gateway->reactor, &watch->timer, LOOK_MS);
    *out = watch;
    return PARLEY_OK;
}

void ack_watch_stop(struct ack_watch *watch) {
    if (watch != NULL && !watch->is_stopped) {
        watch->is_stopped = true;
        reactor_timer_clear(reactor_of(watch), &watch->timer);
        if (watch->options.stores) {
            since_key_stop(&watch->since);
        }
    }
}

void ack_watch_destroy(struct ack_watch *watch) {
    if (watch != NULL) {
        completion_queue_close(watch->completions);
        index_overdue_finish(&watch->page);
        parley_buffer_finish(&watch->text);
        free(watch);
    }
}
