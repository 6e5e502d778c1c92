/* SPDX-License-Identifier: Apache-2.0 */

/* See ack_reminder.h. A round asks for all that became overdue since the last one that was whole, a
 * page after the other:
 *
 *   COVERING ── the index has all that was stored when the page began ──▶ ASKING
 *   ASKING ── the answer ──▶ SENDING, or the end of the round
 *   SENDING ── all are stored ──▶ COVERING, or the end of the round
 *
 * So an acknowledgement that was stored before a page began, or the reminder of another gateway, is
 * seen. Two gateways that ask at the same time send the same Nats-Msg-Id: a page that has become
 * old is not sent, so that the stream still knows it. */

#include "ack_reminder.h"

#include <stdio.h>
#include <stdlib.h>

#include "announcement.h"
#include "channel.h"
#include "index_keeper.h"
#include "index_overdue.h"
#include "index_service.h"
#include "publication.h"

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

struct ack_reminder {
    struct ack_reminder_options options;
    const struct parley_index_acks *acks;
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
    struct parley_buffer text; /* its lines, which are not needed */
    char progress[INDEX_PROGRESS_MAX];
    enum index_answered answered;
    size_t under_way;
};

static struct reactor *reactor_of(const struct ack_reminder *reminder) {
    return reminder->options.gateway->reactor;
}

/* ---- rounds and pages ---- */

static void begin_page(struct ack_reminder *reminder) {
    reminder->phase = COVERING;
    reminder->began_ms = reactor_clock_ms();
    reactor_timer_set(reactor_of(reminder), &reminder->timer, COVER_POLL_MS);
}

static void begin_round(struct ack_reminder *reminder) {
    const int64_t now_ms = reactor_wall_clock_ns() / NS_A_MS;
    const int64_t oldest_ms = now_ms - PAST_MS;
    reminder->from_ms = reminder->told_ms > oldest_ms ? reminder->told_ms : oldest_ms;
    reminder->until_ms = now_ms;
    reminder->cursor[0] = '\0';
    reminder->has_failed = false;
    begin_page(reminder);
}

static void end_round(struct ack_reminder *reminder) {
    reminder->phase = RESTING;
    if (!reminder->has_failed) {
        reminder->told_ms = reminder->until_ms - OVERLAP_MS;
    }
    reactor_timer_set(reactor_of(reminder), &reminder->timer,
                      reminder->has_failed ? AGAIN_MS : LOOK_MS);
}

static void end_page(struct ack_reminder *reminder) {
    snprintf(reminder->cursor, sizeof reminder->cursor, "%s", reminder->page.next);
    if (reminder->cursor[0] != '\0' && !reminder->has_failed) {
        begin_page(reminder);
    } else {
        end_round(reminder);
    }
}

/* ---- sending ---- */

static void on_stored(void *context, const struct jetstream_ack *ack) {
    struct ack_reminder *reminder = context;
    const bool is_stored = ack->outcome == JETSTREAM_STORED;
    reminder->under_way--;
    reminder->has_failed |= !is_stored;
    if (is_stored && !ack->is_duplicate) {
        counter_add(&reminder->options.gateway->figures->values[FIGURE_REMINDERS], 1);
    }
    if (reminder->under_way == 0 && reminder->phase == SENDING && !reminder->is_stopped) {
        end_page(reminder);
    }
}

/* One that cannot be written is left out: it could not be the next time, either. */
static void send_one(struct ack_reminder *reminder, const struct parley_reminder *about) {
    struct parley_buffer text, message_id;
    parley_buffer_init(&text);
    parley_buffer_init(&message_id);
    reminder->acks->write_reminder(about, &text);
    publication_encode(about->id, &message_id);
    parley_buffer_char(&message_id, '\0');
    if (!text.has_failed && !message_id.has_failed) {
        const struct announcement announcement = {.protocol = reminder->options.channel->protocol,
                                                  .text = parley_buffer_bytes(&text),
                                                  .message_id = message_id.data};
        const enum jetstream_publish published =
            announcement_publish(reminder->options.gateway, &announcement, on_stored, reminder);
        reminder->under_way += published == JETSTREAM_PUBLISHED;
        reminder->has_failed |= published == JETSTREAM_AWAY || published == JETSTREAM_BARRED ||
                                published == JETSTREAM_FULL;
    }
    parley_buffer_finish(&text);
    parley_buffer_finish(&message_id);
}

/* The gateway owes itself nothing. */
static bool is_to_be_sent(const struct index_overdue_item *item) {
    return !item->is_reminded && !item->is_nameless &&
           !parley_bytes_equal(item->reminder.recipient, PARLEY_BYTES(PARLEY_INDEX_GATEWAY));
}

static void send_page(struct ack_reminder *reminder) {
    reminder->phase = SENDING;
    reminder->under_way++; /* no ack ends the page before all are sent */
    for (size_t i = 0; i < reminder->page.count; i++) {
        if (is_to_be_sent(&reminder->page.items[i])) {
            send_one(reminder, &reminder->page.items[i].reminder);
        }
    }
    if (--reminder->under_way == 0) {
        end_page(reminder);
    }
}

/* ---- asking ---- */

static void work(struct worker_pool_task *task) {
    struct ack_reminder *reminder = OWNER_OF(task, struct ack_reminder, task);
    index_overdue_begin(&reminder->page);
    parley_buffer_clear(&reminder->text);
    reminder->answered = index_service_answer(reminder->options.service, &reminder->question,
                                              &reminder->text, NULL, reminder->progress);
}

/* The file may have been set aside while it was asked. */
static bool is_covered(const struct ack_reminder *reminder) {
    return index_keeper_covered_ms(reminder->options.keeper, reminder->protocol) >=
           reminder->began_ms;
}

/* Half of the dedupe window: in the other one, a message that is published is tried again. */
static bool is_old(const struct ack_reminder *reminder) {
    const int64_t age_ms = reactor_clock_ms() - reminder->began_ms;
    const int64_t half_ms = jetstream_dedupe_window_ms(reminder->options.gateway->jetstream,
                                                       reminder->options.channel->stream) /
                            2;
    return age_ms > PAGE_AGE_MAX_MS || (age_ms > PAGE_AGE_MIN_MS && age_ms > half_ms);
}

static void done(struct worker_pool_task *task) {
    struct ack_reminder *reminder = OWNER_OF(task, struct ack_reminder, task);
    const bool is_sound = reminder->answered == INDEX_ANSWERED && is_covered(reminder) &&
                          !is_old(reminder) &&
                          jetstream_is_ready(reminder->options.gateway->jetstream);
    if (reminder->is_stopped) {
        return;
    }
    if (!is_sound) {
        reminder->has_failed = true;
        end_round(reminder);
    } else {
        send_page(reminder);
    }
}

static void ask(struct ack_reminder *reminder) {
    const struct index_overdue_range range = {.protocol = reminder->protocol,
                                              .overdue_ms = reminder->options.overdue_ms,
                                              .from_ms = reminder->from_ms,
                                              .until_ms = reminder->until_ms,
                                              .cursor = reminder->cursor};
    reminder->phase = ASKING;
    reminder->question = index_overdue_question(
        &range, reminder->options.gateway->configuration->channels, &reminder->page);
    worker_pool_submit(reminder->completions, &reminder->task);
}

/* What was stored since the page began may acknowledge: an index that takes long is asked for what
 * it has now. */
static void look_at_cover(struct ack_reminder *reminder) {
    if (is_old(reminder) || !jetstream_is_ready(reminder->options.gateway->jetstream)) {
        begin_page(reminder);
    } else if (is_covered(reminder)) {
        ask(reminder);
    } else {
        reactor_timer_set(reactor_of(reminder), &reminder->timer, COVER_POLL_MS);
    }
}

static void on_timer(struct reactor_timer *timer) {
    struct ack_reminder *reminder = OWNER_OF(timer, struct ack_reminder, timer);
    switch (reminder->phase) {
    case RESTING:
        begin_round(reminder);
        return;
    case COVERING:
        look_at_cover(reminder);
        return;
    case ASKING:
    case SENDING:
        return; /* no timer runs */
    }
}

/* ---- life ---- */

enum parley_status ack_reminder_create(const struct ack_reminder_options *options,
                                       struct ack_reminder **out) {
    struct ack_reminder *reminder = calloc(1, sizeof *reminder);
    if (reminder == NULL) {
        return PARLEY_E_MEMORY;
    }
    *reminder = (struct ack_reminder){.options = *options,
                                      .acks = options->channel->protocol->index->acks,
                                      .task = {.work = work, .done = done},
                                      .timer = {.fire = on_timer}};
    while (parley_protocols[reminder->protocol] != options->channel->protocol) {
        reminder->protocol++;
    }
    parley_arena_init(&reminder->page.arena, 0);
    parley_buffer_init(&reminder->text);
    const enum parley_status status = completion_queue_open(
        index_service_pool(options->service), options->gateway->reactor, &reminder->completions);
    if (status != PARLEY_OK) {
        ack_reminder_destroy(reminder);
        return status;
    }
    reactor_timer_set(options->gateway->reactor, &reminder->timer, LOOK_MS);
    *out = reminder;
    return PARLEY_OK;
}

void ack_reminder_stop(struct ack_reminder *reminder) {
    if (reminder != NULL) {
        reminder->is_stopped = true;
        reactor_timer_clear(reactor_of(reminder), &reminder->timer);
    }
}

void ack_reminder_destroy(struct ack_reminder *reminder) {
    if (reminder != NULL) {
        completion_queue_close(reminder->completions);
        index_overdue_finish(&reminder->page);
        parley_buffer_finish(&reminder->text);
        free(reminder);
    }
}
