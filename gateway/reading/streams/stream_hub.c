/* SPDX-License-Identifier: Apache-2.0 */

/* See stream_hub.h. Questions about the stream are answered in batches: of a thousand readers that
 * come at once, the first is answered alone and the others together.
 *
 * A stream that is deleted and created again counts from 1 again, which an ordered consumer cannot
 * see: it would wait for a sequence that is years away. So every answer about the stream is
 * compared, and a new time of creation starts everything again. The hub knows nothing of requests
 * and cursors: it notifies its members. */

#include "stream_hub.h"

#include "stream_start.h"

#include <stdio.h>

/* A little shorter than the readers' keepalive interval: keepalives trigger the checks. */
enum { CHECK_PERIOD_MS = 10000 };

void stream_hub_init(struct stream_hub *hub, struct jetstream *jetstream,
                     const struct parley_schema *schema, const struct channel *channel,
                     struct stream_pool *pool, size_t ring_count_max, size_t ring_bytes_max) {
    *hub = (struct stream_hub){.jetstream = jetstream,
                               .pool = pool,
                               .readings = UINT64_MAX,
                               .ring_count_max = ring_count_max,
                               .ring_bytes_max = ring_bytes_max,
                               .ring.low = UINT64_MAX};
    hub->channel = *channel;
    stream_renderer_init(&hub->renderer, schema, &hub->channel);
    stream_approvals_init(&hub->approvals, hub);
    LIST_INIT(&hub->asking);
    LIST_INIT(&hub->waiting);
    LIST_INIT(&hub->fetching);
    stream_groups_init(&hub->groups);
    LIST_INIT(&hub->busy);
}

void stream_hub_set_place(struct stream_hub *hub, const struct jetstream_place *place,
                          uint64_t reading) {
    hub->place = place;
    hub->readings = reading;
    hub->channel.stream = place->stream;
}

/* A stream that several protocols may read has a name for each of them in resume tokens. */
void stream_hub_look(struct stream_hub *hub) {
    stream_approvals_forget(&hub->approvals);
    if (stream_hub_filter(hub) == NULL) {
        hub->channel.token = NULL;
        return;
    }
    snprintf(hub->token, sizeof hub->token, "%s/%s", hub->place->stream, hub->channel.name);
    hub->channel.token = hub->token;
}

static void close_feed(struct stream_hub *hub) {
    if (hub->feed != NULL) {
        ordered_consumer_close(hub->feed);
        hub->feed = NULL;
    }
    core_subscription_close(hub->core);
    hub->core = NULL;
    hub->is_open = false;
    stream_ring_finish(&hub->ring);
    hub->ring.low = UINT64_MAX;
}

void stream_hub_finish(struct stream_hub *hub) {
    close_feed(hub);
    stream_approvals_finish(&hub->approvals);
    stream_renderer_finish(&hub->renderer);
    stream_groups_finish(&hub->groups);
}

const struct channel *stream_hub_channel(const struct stream_hub *hub) {
    return hub->renderer.channel;
}

/* ---- notices ---- */

static void notify(struct stream_members *list, enum stream_notice notice) {
    struct stream_member *next;
    for (struct stream_member *member = LIST_FIRST(list); member != NULL; member = next) {
        next = LIST_NEXT(member, link);
        member->ops->notice(member, notice);
    }
}

void stream_hub_notify_reviewed(struct stream_hub *hub) {
    notify(&hub->waiting, STREAM_HUB_REVIEWED);
    notify(&hub->fetching, STREAM_HUB_REVIEWED);
}

/* ---- parked members ---- */

static void notify_group(void *context, struct stream_group *group) {
    const struct stream_event *event = context;
    struct stream_member *next;
    for (struct stream_member *member = LIST_FIRST(&group->parked); member != NULL; member = next) {
        next = LIST_NEXT(member, link);
        member->ops->matched(member, event);
    }
}

static void unpark_group(void *context, struct stream_group *group) {
    (void)context;
    notify(&group->parked, STREAM_HUB_UNPARK);
}

static void unpark_all(struct stream_hub *hub) {
    stream_groups_each(&hub->groups, unpark_group, NULL);
}

/* ---- the feed ---- */

static void feed_opened(void *context, uint64_t next_sequence) {
    struct stream_hub *hub = context;
    hub->is_open = true;
    hub->newest = next_sequence - 1;
    stream_ring_restart(&hub->ring, next_sequence);
    notify(&hub->waiting, STREAM_HUB_OPENED);
    notify(&hub->fetching, STREAM_HUB_OPENED);
    notify(&hub->busy, STREAM_HUB_OPENED);
}

/* A server that lost its power may have lost its newest messages too, and reuses their sequences.
 * The members that have read the lost messages go back with it, or they would skip the new ones. */
static void rewind_to(struct stream_hub *hub, uint64_t sequence) {
    stream_approvals_forget(&hub->approvals);
    stream_ring_restart(&hub->ring, sequence);
    unpark_all(hub);
    struct stream_members *lists[] = {&hub->busy, &hub->waiting, &hub->fetching};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct stream_member *member;
        LIST_FOREACH(member, lists[i], link) {
            member->ops->rewound(member, sequence, hub->newest);
        }
    }
}

static void feed_stored(void *context, const struct jetstream_stored *stored) {
    struct stream_hub *hub = context;
    uint64_t sequence = stored->sequence;
    if (sequence <= hub->newest) {
        rewind_to(hub, sequence);
    }
    struct stream_event *event =
        stream_render(&hub->renderer, stream_hub_is_core(hub) ? NULL : hub->created, stored);
    const bool has_jumped = sequence != hub->newest + 1 && stream_hub_filter(hub) == NULL;
    if (event == NULL || has_jumped || event->halt != NULL || event->review != NULL) {
        unpark_all(hub); /* a gap, or what more readers are told of than get the message */
    }
    hub->newest = sequence;
    if (event != NULL) {
        stream_ring_push(&hub->ring, event);
        hub->compared_count += stream_groups_match(&hub->groups, event, notify_group, event);
    } else {
        /* Out of memory for it, the ring begins after it: readers fetch earlier events from the
         * stream. */
        stream_ring_restart(&hub->ring, sequence + 1);
    }
    notify(&hub->waiting, STREAM_HUB_STORED);
}

void stream_hub_note_refusal(struct stream_hub *hub, const char *error) {
    snprintf(hub->refusal, sizeof hub->refusal,
             "NATS does not permit reading the stream %.64s: %.160s",
             stream_hub_channel(hub)->stream, error);
}

static void feed_refused(void *context, const char *error) {
    struct stream_hub *hub = context;
    stream_hub_note_refusal(hub, error);
    unpark_all(hub);
    close_feed(hub);
    /* The busy members first: a waiting one that is notified becomes busy. */
    notify(&hub->busy, STREAM_HUB_REFUSED);
    notify(&hub->waiting, STREAM_HUB_REFUSED);
    notify(&hub->fetching, STREAM_HUB_REFUSED);
}

void stream_hub_note_overrun(struct stream_hub *hub) {
    snprintf(hub->refusal, sizeof hub->refusal,
             "messages came faster than this reader took them, and the stream %.64s, which has "
             "retention %s, cannot be read again",
             hub->channel.stream, jetstream_retention_name(hub->place->retention));
}

static void core_published(void *context, const struct jetstream_stored *published) {
    struct stream_hub *hub = context;
    struct jetstream_stored stored = *published;
    stored.sequence = hub->newest + 1;
    feed_stored(hub, &stored);
}

static enum parley_status open_core(struct stream_hub *hub) {
    PARLEY_TRY(stream_ring_init(&hub->ring, hub->ring_count_max, hub->ring_bytes_max));
    const enum parley_status status =
        core_subscription_open_place(hub->jetstream, hub->place, core_published, hub, &hub->core);
    if (status != PARLEY_OK) {
        hub->core = NULL;
        close_feed(hub);
        return status;
    }
    feed_opened(hub, hub->newest + 1);
    return PARLEY_OK;
}

static enum parley_status open_feed(struct stream_hub *hub) {
    if (stream_hub_is_core(hub)) {
        return open_core(hub);
    }
    const struct ordered_consumer_events events = {
        .opened = feed_opened, .stored = feed_stored, .refused = feed_refused, .context = hub};
    PARLEY_TRY(stream_ring_init(&hub->ring, hub->ring_count_max, hub->ring_bytes_max));
    enum parley_status status = ordered_consumer_open(
        hub->jetstream, stream_hub_channel(hub)->stream,
        stream_hub_begin(hub, (struct jetstream_start){.from = JETSTREAM_FROM_NEW}), ORDERED_FOLLOW,
        &events, &hub->feed);
    if (status != PARLEY_OK) {
        hub->feed = NULL;
        close_feed(hub);
    }
    return status;
}

enum parley_status stream_hub_join(struct stream_hub *hub) {
    if (hub->feed == NULL && hub->core == NULL) {
        PARLEY_TRY(open_feed(hub));
    }
    hub->live_count++;
    return PARLEY_OK;
}

void stream_hub_leave(struct stream_hub *hub) {
    if (--hub->live_count == 0) {
        close_feed(hub);
        stream_approvals_trim(&hub->approvals);
    }
}

/* ---- questions about the stream ---- */

static void informed(void *context, const struct jetstream_stream_info *answer);

static bool send_ask(struct stream_hub *hub) {
    hub->is_asking = jetstream_stream_ask(hub->jetstream, stream_hub_channel(hub)->stream, informed,
                                          hub) != NULL;
    hub->ask_count += hub->is_asking ? 1 : 0;
    return hub->is_asking;
}

bool stream_hub_ask(struct stream_hub *hub, struct stream_member *member) {
    member->awaited_reply_ask = hub->ask_count + 1;
    return hub->is_asking || send_ask(hub);
}

void stream_hub_check(struct stream_hub *hub, int64_t now_ms) {
    if (!hub->is_asking && now_ms - hub->checked_ms >= CHECK_PERIOD_MS) {
        hub->checked_ms = now_ms;
        hub->is_checking = send_ask(hub);
    }
}

void stream_hub_renewed(struct stream_hub *hub) {
    if (hub->created[0] == '\0') {
        return; /* no reader has read it so far */
    }
    hub->is_stale = hub->is_asking;
    if (!hub->is_asking) {
        hub->is_checking = send_ask(hub);
    }
}

/* The stream was created again: its readers begin at its first message. */
static void restart(struct stream_hub *hub, const struct jetstream_stream_info *info) {
    unpark_all(hub);
    close_feed(hub);
    stream_approvals_forget(&hub->approvals);
    snprintf(hub->former, sizeof hub->former, "%s", hub->created);
    snprintf(hub->created, sizeof hub->created, "%s", info->created);
    if (hub->live_count > 0) {
        open_feed(hub); /* without it each reader uses a feed of its own */
    }
    /* The busy members first: a waiting one that is notified becomes busy. */
    struct stream_members *lists[] = {&hub->busy, &hub->waiting, &hub->fetching};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct stream_member *next;
        for (struct stream_member *member = LIST_FIRST(lists[i]); member != NULL; member = next) {
            next = LIST_NEXT(member, link);
            member->ops->restarted(member, info);
        }
    }
}

static void inform(struct stream_hub *hub, const struct jetstream_stream_info *info) {
    struct stream_member *next;
    for (struct stream_member *member = LIST_FIRST(&hub->asking); member != NULL; member = next) {
        next = LIST_NEXT(member, link);
        if (member->awaited_reply_ask <= hub->ask_count || !info->is_known) {
            member->ops->informed(member, info);
        }
    }
}

/* For a stream whose messages it counts itself: there is nothing before the present. */
static struct jetstream_stream_info describe_core(const struct stream_hub *hub, bool is_known) {
    return (struct jetstream_stream_info){
        .is_known = is_known, .first_sequence = hub->newest + 1, .last_sequence = hub->newest};
}

static void informed(void *context, const struct jetstream_stream_info *answer) {
    struct stream_hub *hub = context;
    const struct jetstream_stream_info core = describe_core(hub, answer->is_known);
    const struct jetstream_stream_info *info = stream_hub_is_core(hub) ? &core : answer;
    bool was_check = hub->is_checking;
    hub->is_asking = hub->is_checking = false;
    if (info->is_known && !stream_start_is_same(parley_bytes_of(hub->created), hub->newest, info)) {
        restart(hub, info);
    } else if (info->is_known && was_check) {
        notify(&hub->waiting, STREAM_HUB_CHECKED);
        notify(&hub->fetching, STREAM_HUB_CHECKED);
    }
    inform(hub, info);
    if (hub->is_stale) {
        hub->is_stale = false;
        stream_hub_renewed(hub);
    }
    if (!LIST_EMPTY(&hub->asking) && !hub->is_asking && !send_ask(hub)) {
        inform(hub, &(struct jetstream_stream_info){.is_known = false});
    }
}
