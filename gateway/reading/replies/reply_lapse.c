/* SPDX-License-Identifier: Apache-2.0 */

/* Work that no agent claims by its deadline is never answered: its waiters learn that then. The
 * deadline is in the key of the request, which is asked for once the message is stored: a repeated
 * request has that of the first one. At the deadline the bucket's leader is asked for the claim and
 * then for the end, so that what any gateway has decided by then counts.
 *
 *   REQUEST ── it has a deadline ──▶ CLAIM, at the deadline ── none ──▶ END ── none ──▶ lapsed
 *      └── none ──▶ NEVER ◀── there is one ──┴───────────────────────────┘
 *
 * Each step that NATS does not answer is repeated. While its reply is fetched the work is over, and
 * nothing is decided: should the reply not be there, the steps go on. One timer serves all waiters
 * of a source. */

#include "reply_source.h"

enum {
    /* The key of a claim follows its message by as much, published through a gateway or not. */
    CLAIM_MS = FACT_RETRY_MS,
    RETRY_MS = 2000,
    LOOK_MS = 60000, /* the clock may be set while they wait */
    READ_BYTES_MAX = 64 * 1024,
};

#define NEVER INT64_MAX

static int64_t now_ms(void) {
    return reactor_wall_clock_ns() / 1000000;
}

static const struct parley_task_kind *kind_of(const struct reply_wait *wait) {
    return wait->source->channel->protocol->tasks;
}

/* Schedules the next step for this time. */
static void look_at(struct reply_wait *wait, int64_t due_ms) {
    struct reply_source *source = wait->source;
    struct reactor_timer *timer = &source->lapses;
    const int64_t rest_ms = due_ms > now_ms() ? due_ms - now_ms() : 0;
    const int64_t delay_ms = rest_ms < LOOK_MS ? rest_ms : LOOK_MS;
    const bool is_first =
        !timer->is_armed || reactor_now_ms(source->reactor) + delay_ms < timer->due_ms;
    wait->lapse.due_ms = due_ms;
    if (due_ms != NEVER && is_first) {
        reactor_timer_set(source->reactor, timer, delay_ms);
    }
}

/* When the work can no longer be claimed, by the value of its request's key. */
static int64_t deadline_of(const struct reply_wait *wait, struct parley_bytes request) {
    const struct parley_task_kind *kind = kind_of(wait);
    const struct parley_bytes facts[PARLEY_TASK_FACTS] = {[PARLEY_TASK_REQUEST] = request};
    struct parley_bytes id;
    enum parley_task_fact fact;
    struct parley_task work;
    struct parley_arena arena;
    parley_arena_init(&arena, READ_BYTES_MAX);
    const bool is_read = kind->key(parley_bytes_of(wait->key), &id, &fact) &&
                         kind->read(id, facts, now_ms(), &arena, &work) == PARLEY_OK;
    parley_arena_finish(&arena);
    return is_read ? work.open_until_ms : NEVER;
}

static void on_none(struct reply_wait *wait) {
    switch (wait->lapse.fact) {
    case PARLEY_TASK_CLAIM:
        wait->lapse.fact = PARLEY_TASK_END;
        look_at(wait, 0);
        break;
    case PARLEY_TASK_END:
        reply_finish(wait, REPLY_LAPSED, (struct parley_bytes){0});
        break;
    case PARLEY_TASK_REQUEST:
    case PARLEY_TASK_TURN:
    case PARLEY_TASK_RETRY_KEY:
    case PARLEY_TASK_FACTS:
        look_at(wait, NEVER);
        break;
    }
}

static void on_found(struct reply_wait *wait, struct parley_bytes value) {
    int64_t deadline_ms = NEVER;
    switch (wait->lapse.fact) {
    case PARLEY_TASK_REQUEST:
        deadline_ms = deadline_of(wait, value);
        break;
    case PARLEY_TASK_END: /* which has not come yet by the reading of the bucket */
        reply_source_ask(wait->source, wait);
        break;
    case PARLEY_TASK_CLAIM:
    case PARLEY_TASK_TURN:
    case PARLEY_TASK_RETRY_KEY:
    case PARLEY_TASK_FACTS:
        break;
    }
    wait->lapse.fact = PARLEY_TASK_CLAIM;
    look_at(wait, deadline_ms == NEVER ? NEVER : deadline_ms + CLAIM_MS);
}

static void on_asked(void *context, const struct jetstream_last *last) {
    struct reply_wait *wait = context;
    const bool is_known = last->found == JETSTREAM_LAST_FOUND || last->found == JETSTREAM_LAST_NONE;
    wait->lapse.request = NULL;
    if (!is_known || wait->phase == REPLY_FETCHING) {
        look_at(wait, now_ms() + RETRY_MS);
    } else if (last->found == JETSTREAM_LAST_FOUND) {
        on_found(wait, last->payload);
    } else {
        on_none(wait);
    }
}

/* Returns: false: NATS takes no request now, or there is no memory. */
static bool ask(struct reply_wait *wait) {
    const struct parley_task_kind *kind = kind_of(wait);
    struct parley_buffer subject;
    struct parley_bytes id;
    enum parley_task_fact fact;
    parley_buffer_init(&subject);
    parley_buffer_text(&subject, wait->source->prefix);
    const bool is_key = kind->key(parley_bytes_of(wait->key), &id, &fact) &&
                        kind->write_key(id, wait->lapse.fact, &subject);
    parley_buffer_char(&subject, '\0');
    if (is_key && !subject.has_failed) {
        wait->lapse.request = jetstream_last_ask(
            wait->source->jetstream, wait->source->bucket_stream, subject.data, on_asked, wait);
    }
    parley_buffer_finish(&subject);
    return wait->lapse.request != NULL;
}

void reply_lapse_look(struct reply_source *source, struct reply_wait *wait) {
    (void)source;
    if (wait->lapse.due_ms == NEVER || wait->lapse.request != NULL) {
        return;
    }
    if (wait->lapse.due_ms > now_ms()) {
        look_at(wait, wait->lapse.due_ms);
    } else if (wait->phase == REPLY_FETCHING || !ask(wait)) {
        look_at(wait, now_ms() + RETRY_MS);
    }
}

void reply_lapse_begin(struct reply_wait *wait) {
    if (kind_of(wait) != NULL) {
        wait->lapse.fact = PARLEY_TASK_REQUEST;
        look_at(wait, 0);
    }
}
