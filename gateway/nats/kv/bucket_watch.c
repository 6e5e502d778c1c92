/* SPDX-License-Identifier: Apache-2.0 */

/* See bucket_watch.h. An ordered consumer does the reading; it cannot notice that a bucket was
 * deleted and made again between two of its counterparts on the server, since it then continues
 * after a sequence that the new bucket may never have had. So the bucket is known by the time at
 * which its stream was created, which is asked for before the first entry and again each time
 * before the watch calls itself current.
 *
 *   WAITING   ──▶ ASKED      the timer fires
 *   ASKED     ──▶ READING    the stream exists: the consumer is opened
 *   ASKED     ──▶ WAITING    it does not, or no server answers
 *   READING   ──▶ COMPARING  all has come, as the consumer or the stream says
 *   COMPARING ──▶ CURRENT    the stream is unchanged, and holds nothing more
 *   COMPARING ──▶ READING    the consumer was cut, or the stream holds more than has come
 *   COMPARING ──▶ WAITING    it skipped some messages of the stream: from the beginning
 *   CURRENT   ──▶ READING    the consumer was cut
 *   any       ──▶ WAITING    it is another stream, or the server refuses the consumer */

#include "bucket_watch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKET_MAX = 128,
    /* Between questions while there is no answer, or no bucket: a gateway that starts is ready once
     * it has read its buckets, which are made within milliseconds. */
    RETRY_MIN_MS = 10,
    RETRY_MAX_MS = 250,
    COMPARE_MS = 250,
    REFUSED_MS = 5000,
    LOOK_MS = 10000, /* between checks of which entries the bucket has dropped */
    /* The number of checks that find a message in the stream which does not come. A member of a
     * cluster may be a moment late; a message that was deleted last never comes. */
    SHORT_COUNT_MAX = 8,
    /* The number of readings that brought less than the bucket holds. A stream for which this
     * continues may have a wrong count. */
    AGAIN_COUNT_MAX = 4,
};

enum phase { WAITING, ASKED, READING, COMPARING, CURRENT };

struct bucket_watch {
    struct reactor *reactor;
    struct jetstream *jetstream;
    struct bucket_watch_events events;
    char stream[BUCKET_MAX + 4];
    size_t prefix_length; /* of "$KV.<bucket>.", before a key */
    enum phase phase;
    struct ordered_consumer *consumer;
    struct jetstream_request *request;
    struct reactor_timer timer;
    int64_t retry_ms;
    char created[sizeof((struct jetstream_stream_info *)0)->created];
    uint64_t last_sequence; /* that has come */
    uint64_t entry_count;   /* received entries; never fewer than the bucket still holds of them */
    /* The stream when the reading began; its state is unknown once the consumer was cut. */
    struct {
        uint64_t hole_count, first_sequence;
        int64_t first_time_ns; /* when its first message was stored */
    } before;
    unsigned short_count, again_count;
};

static void ask(struct bucket_watch *watch);

static void set_phase(struct bucket_watch *watch, enum phase phase) {
    const bool was_current = watch->phase == CURRENT;
    watch->phase = phase;
    if (was_current) {
        watch->events.away(watch->events.context);
    }
}

static void ask_after(struct bucket_watch *watch, int64_t delay_ms) {
    reactor_timer_set(watch->reactor, &watch->timer, delay_ms);
}

static void ask_again(struct bucket_watch *watch) {
    ask_after(watch, watch->retry_ms);
    watch->retry_ms = 2 * watch->retry_ms < RETRY_MAX_MS ? 2 * watch->retry_ms : RETRY_MAX_MS;
}

static void start_over(struct bucket_watch *watch, int64_t delay_ms) {
    ordered_consumer_close(watch->consumer);
    watch->consumer = NULL;
    jetstream_request_cancel(watch->request);
    watch->request = NULL;
    set_phase(watch, WAITING);
    ask_after(watch, delay_ms);
}

/* ---- the consumer's events ---- */

static void on_opened(void *context, uint64_t next_sequence) {
    (void)context;
    (void)next_sequence;
}

/* A mark that a key was deleted has no value. (parley writes no empty values.) */
static void on_stored(void *context, const struct jetstream_stored *stored) {
    struct bucket_watch *watch = context;
    watch->last_sequence = stored->sequence;
    watch->entry_count++;
    if (strlen(stored->subject) <= watch->prefix_length) {
        return;
    }
    const bool is_gone =
        stored->payload.length == 0 || jetstream_stored_header(stored, "KV-Operation") != NULL;
    const struct bucket_entry entry = {
        .key = parley_bytes_of(stored->subject + watch->prefix_length),
        .value = is_gone ? (struct parley_bytes){0} : stored->payload,
        .sequence = stored->sequence,
        .time_ns = stored->time_ns};
    watch->events.entry(watch->events.context, &entry);
}

static void on_all(void *context) {
    struct bucket_watch *watch = context;
    if (watch->phase == READING) {
        jetstream_request_cancel(watch->request);
        watch->request = NULL;
        reactor_timer_clear(watch->reactor, &watch->timer);
        watch->short_count = 0;
        watch->phase = COMPARING;
        ask(watch);
    }
}

/* An answer that is under way may be about the time before. */
static void on_cut(void *context) {
    struct bucket_watch *watch = context;
    jetstream_request_cancel(watch->request);
    watch->request = NULL;
    watch->before.hole_count = UINT64_MAX;
    watch->before.first_sequence = UINT64_MAX;
    set_phase(watch, READING);
    ask_after(watch, COMPARE_MS);
}

static void on_refused(void *context, const char *error) {
    (void)error;
    start_over(context, REFUSED_MS);
}

/* ---- the stream's own state ---- */

static uint64_t hole_count(const struct jetstream_stream_info *info) {
    return info->last_sequence + 1 - info->first_sequence - info->message_count;
}

static void remember(struct bucket_watch *watch, const struct jetstream_stream_info *info) {
    watch->before.hole_count = hole_count(info);
    watch->before.first_sequence = info->first_sequence;
    watch->before.first_time_ns = info->message_count > 0 ? info->first_time_ns : INT64_MAX;
}

/* Whether a message was removed since the reading began, and not by its age, which removes the
 * first. */
static bool has_lost_some(const struct bucket_watch *watch,
                          const struct jetstream_stream_info *info) {
    const int64_t age_ns = reactor_wall_clock_ns() - watch->before.first_time_ns;
    const bool is_due = info->max_age_ns > 0 && age_ns >= info->max_age_ns;
    return hole_count(info) > watch->before.hole_count ||
           (info->first_sequence > watch->before.first_sequence && !is_due);
}

static void open_consumer(struct bucket_watch *watch, const struct jetstream_stream_info *info) {
    const struct ordered_consumer_events events = {.opened = on_opened,
                                                   .stored = on_stored,
                                                   .refused = on_refused,
                                                   .current = on_all,
                                                   .cut = on_cut,
                                                   .context = watch};
    const struct jetstream_start start = {
        .from = JETSTREAM_FROM_SEQUENCE, .sequence = 1, .doubts = JETSTREAM_DOUBTS_NEW};
    if (ordered_consumer_open(watch->jetstream, watch->stream, start, ORDERED_FOLLOW, &events,
                              &watch->consumer) != PARLEY_OK) {
        start_over(watch, RETRY_MAX_MS);
        return;
    }
    memcpy(watch->created, info->created, sizeof watch->created);
    watch->last_sequence = 0;
    watch->entry_count = 0;
    remember(watch, info);
    set_phase(watch, READING);
    ask_after(watch, COMPARE_MS);
    watch->events.began(watch->events.context);
}

static bool has_more(const struct bucket_watch *watch, const struct jetstream_stream_info *info) {
    return info->last_sequence > watch->last_sequence &&
           info->first_sequence <= info->last_sequence;
}

/* Where a message was removed the consumer may have skipped another one. */
static bool may_lack_some(const struct bucket_watch *watch,
                          const struct jetstream_stream_info *info) {
    return watch->entry_count < info->message_count || has_lost_some(watch, info);
}

static void compare(struct bucket_watch *watch, const struct jetstream_stream_info *info) {
    if (strcmp(info->created, watch->created) != 0) {
        start_over(watch, 0);
        return;
    }
    if (watch->phase == READING) {
        if (!ordered_consumer_has_all(watch->consumer, info->last_sequence)) {
            ask_after(watch, COMPARE_MS);
            return;
        }
        watch->short_count = 0;
        watch->phase = COMPARING;
    }
    if (watch->phase == COMPARING) {
        if (has_more(watch, info) && watch->short_count++ < SHORT_COUNT_MAX) {
            ask_after(watch, COMPARE_MS);
            return;
        }
        if (may_lack_some(watch, info) && watch->again_count < AGAIN_COUNT_MAX) {
            start_over(watch, watch->again_count++ * COMPARE_MS);
            return;
        }
        watch->again_count = 0;
        set_phase(watch, CURRENT);
        watch->events.current(watch->events.context);
    }
    if (watch->events.kept_from != NULL) {
        watch->events.kept_from(watch->events.context, info->first_sequence);
    }
    ask_after(watch, LOOK_MS);
}

static void on_info(void *context, const struct jetstream_stream_info *info) {
    struct bucket_watch *watch = context;
    watch->request = NULL;
    if (!info->is_known) {
        if (watch->phase == ASKED) {
            set_phase(watch, WAITING);
        }
        ask_again(watch);
        return;
    }
    watch->retry_ms = RETRY_MIN_MS;
    if (watch->phase == ASKED) {
        open_consumer(watch, info);
    } else {
        compare(watch, info);
    }
}

/* There is always either a request or the timer. */
static void ask(struct bucket_watch *watch) {
    assert(watch->request == NULL);
    watch->request = jetstream_stream_ask(watch->jetstream, watch->stream, on_info, watch);
    if (watch->request == NULL) {
        ask_again(watch);
    } else if (watch->phase == WAITING) {
        set_phase(watch, ASKED);
    }
}

static void on_timer(struct reactor_timer *timer) {
    ask(OWNER_OF(timer, struct bucket_watch, timer));
}

/* ---- lifecycle ---- */

enum parley_status bucket_watch_open(struct reactor *reactor, struct jetstream *jetstream,
                                     const char *bucket, const struct bucket_watch_events *events,
                                     struct bucket_watch **out) {
    assert(strlen(bucket) < BUCKET_MAX);
    struct bucket_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        return PARLEY_E_MEMORY;
    }
    watch->reactor = reactor;
    watch->jetstream = jetstream;
    watch->events = *events;
    snprintf(watch->stream, sizeof watch->stream, "KV_%s", bucket);
    watch->prefix_length = strlen("$KV..") + strlen(bucket);
    watch->timer.fire = on_timer;
    watch->retry_ms = RETRY_MIN_MS;
    ask_after(watch, 0);
    *out = watch;
    return PARLEY_OK;
}

void bucket_watch_close(struct bucket_watch *watch) {
    if (watch == NULL) {
        return;
    }
    ordered_consumer_close(watch->consumer);
    jetstream_request_cancel(watch->request);
    reactor_timer_clear(watch->reactor, &watch->timer);
    free(watch);
}

bool bucket_watch_is_current(const struct bucket_watch *watch) {
    return watch->phase == CURRENT;
}
