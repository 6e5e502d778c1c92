/* SPDX-License-Identifier: Apache-2.0 */

/* See stream_approvals.h. All who may publish to the lane of announcements can write one. So first
 * the key of the decision is read: it must approve, and name this announcement by its id. A copy of
 * the announcement has that id too; but a second key says where the true one is stored, as soon as
 * that is known (a moment after it is stored, or never, if the gateway died in between).
 *
 *   QUEUED ─▶ DECIDING ─▶ PLACING ─▶ FETCHING ─▶ KNOWN
 *   DECIDING, PLACING, FETCHING ── there is nothing to give ──▶ KNOWN
 *   DECIDING, PLACING, FETCHING ── NATS did not answer ──▶ FAILED ── a second later ──▶ QUEUED
 *
 * What has been asked for is fetched to its end, also if its readers have left. */

#include "stream_approvals.h"

#include <stdlib.h>

#include "bucket_key.h"
#include "phase.h"
#include "stream_hub.h"
#include "stream_review.h"

enum {
    KEPT_MAX = 32,
    KEPT_BYTES_MAX = 2 * 1024 * 1024, /* the newest is kept in any case */
    ASKED_MAX = 4,                    /* each answer may have max_payload */
    RETRY_MS = 1000,
};

enum approved_phase {
    APPROVED_QUEUED,
    APPROVED_DECIDING, /* asking for the decision */
    APPROVED_PLACING,  /* asking where its announcement is stored */
    APPROVED_FETCHING, /* asking for the message */
    APPROVED_FAILED,
    APPROVED_KNOWN,
};

struct stream_approved {
    struct stream_approvals *approvals;
    TAILQ_ENTRY(stream_approved) link;
    enum approved_phase phase;
    uint64_t sequence;           /* of the announcement */
    struct stream_event *notice; /* that; NULL once it is known */
    struct stream_event *event;  /* what is approved; NULL: nothing */
    struct jetstream_request *asked;
    struct parley_arena arena; /* of the decision */
    struct review_value value;
};

static void enter(struct stream_approved *approved, enum approved_phase phase) {
    static const unsigned allowed[] = {
        [APPROVED_QUEUED] = PHASE(APPROVED_DECIDING),
        [APPROVED_DECIDING] =
            PHASE(APPROVED_PLACING) | PHASE(APPROVED_FAILED) | PHASE(APPROVED_KNOWN),
        [APPROVED_PLACING] =
            PHASE(APPROVED_FETCHING) | PHASE(APPROVED_FAILED) | PHASE(APPROVED_KNOWN),
        [APPROVED_FETCHING] = PHASE(APPROVED_FAILED) | PHASE(APPROVED_KNOWN),
        [APPROVED_FAILED] = PHASE(APPROVED_QUEUED),
        [APPROVED_KNOWN] = 0,
    };
    approved->phase = (enum approved_phase)phase_after(allowed, approved->phase, phase);
}

static bool is_asked(const struct stream_approved *approved) {
    return approved->phase == APPROVED_DECIDING || approved->phase == APPROVED_PLACING ||
           approved->phase == APPROVED_FETCHING;
}

static const struct stream_review *review_of(const struct stream_approved *approved) {
    return approved->notice->review;
}

/* ---- what is kept ---- */

static void drop(struct stream_approved *approved) {
    struct stream_approvals *approvals = approved->approvals;
    TAILQ_REMOVE(&approvals->list, approved, link);
    approvals->newest = approvals->newest == approved ? NULL : approvals->newest;
    approvals->count--;
    approvals->asked_count -= is_asked(approved) ? 1 : 0;
    approvals->bytes -= approved->event != NULL ? approved->event->size_bytes : 0;
    jetstream_request_cancel(approved->asked);
    stream_event_unref(approved->notice);
    stream_event_unref(approved->event);
    parley_arena_finish(&approved->arena);
    free(approved);
}

/* The one that was last asked for the longest ago, of those that may be dropped. */
static struct stream_approved *find_known(const struct stream_approvals *approvals) {
    struct stream_approved *approved = TAILQ_FIRST(&approvals->list);
    while (approved != NULL &&
           (approved->phase != APPROVED_KNOWN || approved == approvals->newest)) {
        approved = TAILQ_NEXT(approved, link);
    }
    return approved;
}

static void keep_within_bytes(struct stream_approvals *approvals) {
    struct stream_approved *oldest;
    while (approvals->bytes > KEPT_BYTES_MAX && (oldest = find_known(approvals)) != NULL) {
        drop(oldest);
    }
}

static struct stream_approved *find(const struct stream_approvals *approvals, uint64_t sequence) {
    struct stream_approved *approved;
    TAILQ_FOREACH(approved, &approvals->list, link) {
        if (approved->sequence == sequence) {
            return approved;
        }
    }
    return NULL;
}

static void use(struct stream_approved *approved) {
    TAILQ_REMOVE(&approved->approvals->list, approved, link);
    TAILQ_INSERT_TAIL(&approved->approvals->list, approved, link);
}

/* ---- asking ---- */

static void ask_more(struct stream_approvals *approvals);

static void retry_later(struct stream_approvals *approvals) {
    if (!approvals->retry.is_armed) {
        reactor_timer_set(approvals->hub->pool->reactor, &approvals->retry, RETRY_MS);
    }
}

static void fail(struct stream_approved *approved) {
    struct stream_approvals *approvals = approved->approvals;
    enter(approved, APPROVED_FAILED);
    approvals->asked_count--;
    parley_arena_reset(&approved->arena);
    retry_later(approvals);
    ask_more(approvals);
}

/* Owns: takes the event. */
static void settle(struct stream_approved *approved, struct stream_event *event) {
    struct stream_approvals *approvals = approved->approvals;
    enter(approved, APPROVED_KNOWN);
    approvals->asked_count--;
    approved->event = event;
    approvals->bytes += event != NULL ? event->size_bytes : 0;
    stream_event_unref(approved->notice);
    approved->notice = NULL;
    parley_arena_finish(&approved->arena);
    parley_arena_init(&approved->arena, 0);
    use(approved);
    approvals->newest = approved;
    keep_within_bytes(approvals);
    ask_more(approvals);
    stream_hub_notify_reviewed(approvals->hub);
    approvals->newest = NULL;
}

/* The place may be in another stream than the announcement, which it names. */
static struct stream_event *render(const struct stream_approved *approved,
                                   const struct jetstream_held *held) {
    struct stream_hub *hub = approved->approvals->hub;
    struct stream_renderer *renderer = &hub->renderer;
    const struct channel *own = renderer->channel;
    struct channel shown = *own;
    const struct stream_approval approval = {.notice = approved->sequence,
                                             .time_ns = approved->notice->time_ns,
                                             .value = approved->value};
    const struct jetstream_stored stored = {.sequence = held->sequence,
                                            .time_ns = held->time_ns,
                                            .subject = held->subject,
                                            .payload = held->payload};
    shown.token = channel_token(own);
    shown.stream = review_of(approved)->stream;
    renderer->channel = &shown;
    struct stream_event *event = stream_render_approved(
        renderer, stream_hub_is_core(hub) ? NULL : hub->created, &stored, &approval);
    renderer->channel = own;
    return event;
}

static void on_message(void *context, const struct jetstream_held *held) {
    struct stream_approved *approved = context;
    const struct channel *channel = stream_hub_channel(approved->approvals->hub);
    struct stream_event *event = NULL;
    approved->asked = NULL;
    if (held->found == JETSTREAM_HELD_FOUND &&
        review_is_among(held->subject, channel->review_subjects)) {
        event = render(approved, held);
        if (event == NULL) {
            fail(approved); /* no memory */
            return;
        }
    }
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        fail(approved);
    } else {
        settle(approved, event);
    }
}

/* Waits for what was asked for, or fails. */
static void await(struct stream_approved *approved, struct jetstream_request *asked) {
    approved->asked = asked;
    if (asked == NULL) {
        fail(approved);
    }
}

static void fetch(struct stream_approved *approved) {
    const struct review_place *place = &review_of(approved)->place;
    enter(approved, APPROVED_FETCHING);
    await(approved, jetstream_held_ask(approved->approvals->hub->jetstream, place->stream,
                                       place->sequence, on_message, approved));
}

/* Whether the second key, if there is one, names this announcement. A hub that counts messages
 * itself does not know where they are. */
static bool is_placed_here(const struct stream_approved *approved,
                           const struct jetstream_last *last) {
    const struct stream_hub *hub = approved->approvals->hub;
    struct parley_buffer here;
    parley_buffer_init(&here);
    review_notice_place_write(stream_hub_channel(hub)->stream, approved->sequence, &here);
    const bool is_here = last->found != JETSTREAM_LAST_FOUND || stream_hub_is_core(hub) ||
                         here.has_failed ||
                         parley_bytes_equal(last->payload, parley_buffer_bytes(&here));
    parley_buffer_finish(&here);
    return is_here;
}

static void on_placed(void *context, const struct jetstream_last *last) {
    struct stream_approved *approved = context;
    approved->asked = NULL;
    if (last->found == JETSTREAM_LAST_UNKNOWN) {
        fail(approved);
    } else if (is_placed_here(approved, last)) {
        fetch(approved);
    } else {
        settle(approved, NULL);
    }
}

static struct jetstream_request *ask_key(struct stream_approved *approved, const char *key,
                                         jetstream_last_fn *done) {
    struct stream_hub *hub = approved->approvals->hub;
    return bucket_key_ask(hub->jetstream, stream_hub_channel(hub)->review_bucket, key, done,
                          approved);
}

static void place(struct stream_approved *approved) {
    char key[REVIEW_KEY_MAX];
    review_notice_key_write(&review_of(approved)->place, key);
    enter(approved, APPROVED_PLACING);
    await(approved, ask_key(approved, key, on_placed));
}

/* Reads the decision, which the answer lends.  Returns: whether there was memory for it. */
static bool read_decision(struct stream_approved *approved, struct parley_bytes text) {
    const char *copy = parley_arena_copy(&approved->arena, text);
    return copy != NULL && review_value_read((struct parley_bytes){copy, text.length},
                                             &approved->arena, &approved->value) == PARLEY_OK;
}

static void on_decided(void *context, const struct jetstream_last *last) {
    struct stream_approved *approved = context;
    const struct review_value *value = &approved->value;
    approved->asked = NULL;
    const bool is_found = last->found == JETSTREAM_LAST_FOUND;
    if (last->found == JETSTREAM_LAST_UNKNOWN ||
        (is_found && !read_decision(approved, last->payload))) {
        fail(approved);
    } else if (is_found && parley_bytes_equal(value->decision, parley_bytes_of(review_approve)) &&
               parley_bytes_equal(value->id, review_of(approved)->id)) {
        place(approved);
    } else {
        settle(approved, NULL);
    }
}

static void decide(struct stream_approved *approved) {
    char key[REVIEW_KEY_MAX];
    review_key_write(&review_of(approved)->place, key);
    approved->approvals->asked_count++;
    enter(approved, APPROVED_DECIDING);
    await(approved, ask_key(approved, key, on_decided));
}

static struct stream_approved *find_queued(const struct stream_approvals *approvals) {
    struct stream_approved *approved = TAILQ_FIRST(&approvals->list);
    while (approved != NULL && approved->phase != APPROVED_QUEUED) {
        approved = TAILQ_NEXT(approved, link);
    }
    return approved;
}

static void ask_more(struct stream_approvals *approvals) {
    struct stream_approved *approved;
    while (approvals->asked_count < ASKED_MAX && (approved = find_queued(approvals)) != NULL) {
        decide(approved);
    }
}

/* Readers look again, for there may be some that found no room here. */
static void on_retry(struct reactor_timer *timer) {
    struct stream_approvals *approvals = OWNER_OF(timer, struct stream_approvals, retry);
    struct stream_approved *approved;
    TAILQ_FOREACH(approved, &approvals->list, link) {
        if (approved->phase == APPROVED_FAILED) {
            enter(approved, APPROVED_QUEUED);
        }
    }
    ask_more(approvals);
    stream_hub_notify_reviewed(approvals->hub);
}

/* ---- what the hub and cursors call ---- */

void stream_approvals_init(struct stream_approvals *approvals, struct stream_hub *hub) {
    *approvals = (struct stream_approvals){.hub = hub, .retry.fire = on_retry};
    TAILQ_INIT(&approvals->list);
}

static void drop_all(struct stream_approvals *approvals) {
    struct stream_approved *approved;
    while ((approved = TAILQ_FIRST(&approvals->list)) != NULL) {
        drop(approved);
    }
}

void stream_approvals_finish(struct stream_approvals *approvals) {
    drop_all(approvals);
    if (approvals->retry.is_armed) {
        reactor_timer_clear(approvals->hub->pool->reactor, &approvals->retry);
    }
}

/* Readers that wait for something look again. */
void stream_approvals_forget(struct stream_approvals *approvals) {
    if (approvals->count > 0) {
        drop_all(approvals);
        retry_later(approvals);
    }
}

void stream_approvals_trim(struct stream_approvals *approvals) {
    struct stream_approved *approved;
    while ((approved = find_known(approvals)) != NULL) {
        drop(approved);
    }
}

/* Returns: whether there is room for one more. */
static bool make_room(struct stream_approvals *approvals) {
    struct stream_approved *oldest = approvals->count == KEPT_MAX ? find_known(approvals) : NULL;
    if (oldest != NULL) {
        drop(oldest);
    }
    return approvals->count < KEPT_MAX;
}

bool stream_approvals_find(struct stream_approvals *approvals, struct stream_event *notice,
                           struct stream_event **out) {
    struct stream_approved *approved = find(approvals, notice->sequence);
    *out = NULL;
    if (approved != NULL) {
        *out = approved->event;
        if (approved->phase == APPROVED_KNOWN) {
            use(approved);
        }
        return approved->phase == APPROVED_KNOWN;
    }
    if (!make_room(approvals)) {
        return false; /* all are being asked for: the first that is known wakes its readers */
    }
    approved = calloc(1, sizeof *approved);
    if (approved == NULL) {
        retry_later(approvals);
        return false;
    }
    approved->approvals = approvals;
    approved->sequence = notice->sequence;
    approved->notice = stream_event_ref(notice);
    parley_arena_init(&approved->arena, 0);
    TAILQ_INSERT_TAIL(&approvals->list, approved, link);
    approvals->count++;
    ask_more(approvals);
    return false;
}
