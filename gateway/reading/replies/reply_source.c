/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the bucket of a protocol while any request waits, asks for keys, and fetches the messages
 * that they name. Any client that can write to the bucket may have written a value: the message
 * that it names is shown only if it is one of this channel. */

#include "reply_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jetstream_map.h"

/* The longest delay by an unnoticed break. */
enum { TICK_MS = 5000 };

/* ---- those that wait ---- */

static struct reply_waits *list_of(struct reply_source *source, const char *key) {
    uint32_t hash = 2166136261U;
    for (; *key != '\0'; key++) {
        hash = (hash ^ (unsigned char)*key) * 16777619U;
    }
    return &source->lists[hash % REPLY_LISTS];
}

static void each(struct reply_source *source,
                 void (*visit)(struct reply_source *source, struct reply_wait *wait)) {
    for (size_t i = 0; i < REPLY_LISTS; i++) {
        struct reply_wait *wait;
        LIST_FOREACH(wait, &source->lists[i], links) {
            visit(source, wait);
        }
    }
}

static void ask_if_watching(struct reply_source *source, struct reply_wait *wait) {
    if (wait->phase == REPLY_WATCHING) {
        reply_source_ask(source, wait);
    }
}

static void ask_unless_known(struct reply_source *source, struct reply_wait *wait) {
    if (wait->phase == REPLY_WATCHING || wait->phase == REPLY_ASKING) {
        reply_source_ask(source, wait);
    }
}

/* ---- the values of keys ---- */

static void on_asked(void *context, const struct jetstream_last *last) {
    struct reply_wait *wait = context;
    wait->request = NULL;
    wait->phase = REPLY_WATCHING;
    if (last->found == JETSTREAM_LAST_FOUND) {
        (void)fact_place_read(last->payload, &wait->reply);
    }
    if (wait->reply.sequence > 0) {
        reply_source_fetch(wait->source, wait);
    }
}

void reply_source_ask(struct reply_source *source, struct reply_wait *wait) {
    char subject[FACT_NAME_MAX + FACT_KEY_MAX];
    snprintf(subject, sizeof subject, "%s%s", source->prefix, wait->key);
    jetstream_request_cancel(wait->request);
    wait->request =
        jetstream_last_ask(source->jetstream, source->bucket_stream, subject, on_asked, wait);
    wait->phase = wait->request != NULL ? REPLY_ASKING : REPLY_WATCHING;
}

static void on_written(void *context, const struct jetstream_stored *stored) {
    struct reply_source *source = context;
    const size_t length = strlen(source->prefix);
    if (strncmp(stored->subject, source->prefix, length) != 0) {
        return;
    }
    const char *key = stored->subject + length;
    struct reply_wait *wait;
    LIST_FOREACH(wait, list_of(source, key), links) {
        if (strcmp(wait->key, key) != 0 || wait->phase == REPLY_FETCHING) {
            continue;
        }
        (void)fact_place_read(stored->payload, &wait->reply);
        if (wait->reply.sequence > 0 && wait->phase != REPLY_EXPECTED) {
            reply_source_fetch(source, wait);
        }
    }
}

/* Keys written before it began to deliver are asked for. */
static void on_opened(void *context, uint64_t next_sequence) {
    (void)next_sequence;
    each(context, ask_unless_known);
}

static void on_refused(void *context, const char *error) {
    (void)context; /* keys are asked for every few seconds all the same */
    (void)error;
}

/* ---- replies ---- */

/* The place of a message of the channel; NULL if it is none, or if it has moved since. */
static const struct jetstream_place *place_of(const struct reply_source *source,
                                              const struct reply_wait *wait, const char *subject) {
    const struct channel *channel = source->channel;
    const char *prefix = channel->prefix != NULL ? channel->prefix : channel->name;
    const size_t length = strlen(prefix);
    const bool is_of_channel = strncmp(subject, prefix, length) == 0 && subject[length] == '.';
    const struct jetstream_place *place =
        is_of_channel ? jetstream_place_find(source->jetstream, subject) : NULL;
    return place != NULL && strcmp(place->stream, wait->reply.stream) == 0 ? place : NULL;
}

/* As the hub of that stream does: see stream_hub_look. */
static void name_stream(struct reply_source *source, const struct jetstream_place *place) {
    source->shown.stream = place->stream;
    source->shown.token = place->has_others ? source->token : NULL;
    snprintf(source->token, sizeof source->token, "%s/%s", place->stream, source->channel->name);
}

static void show(struct reply_source *source, struct reply_wait *wait,
                 const struct jetstream_held *held, const struct jetstream_place *place) {
    const struct jetstream_stored stored = {.sequence = wait->reply.sequence,
                                            .time_ns = held->time_ns,
                                            .subject = held->subject,
                                            .payload = held->payload};
    if (!source->has_renderer) {
        stream_renderer_init(&source->renderer, source->schema, &source->shown);
        source->has_renderer = true;
    }
    name_stream(source, place);
    struct stream_event *event = stream_render(&source->renderer, source->created, &stored);
    if (event != NULL) {
        reply_finish(wait, REPLY_CAME, event->text);
    } else {
        reply_finish(wait, REPLY_MISSING, (struct parley_bytes){0});
    }
    stream_event_unref(event);
}

static void on_held(void *context, const struct jetstream_held *held) {
    struct reply_wait *wait = context;
    struct reply_source *source = wait->source;
    const struct jetstream_place *place = NULL;
    wait->request = NULL;
    if (held->found == JETSTREAM_HELD_FOUND) {
        place = place_of(source, wait, held->subject);
    }
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        wait->phase = REPLY_WATCHING; /* the next tick tries again */
    } else if (place != NULL) {
        show(source, wait, held, place);
    } else {
        reply_finish(wait, REPLY_MISSING, (struct parley_bytes){0});
    }
}

static void fetch_if_due(struct reply_source *source, struct reply_wait *wait) {
    if (wait->phase == REPLY_FETCHING && wait->request == NULL) {
        reply_source_fetch(source, wait);
    }
}

static void give_up_fetching(struct reply_source *source, struct reply_wait *wait) {
    (void)source;
    if (wait->phase == REPLY_FETCHING && wait->request == NULL) {
        wait->phase = REPLY_WATCHING;
    }
}

static void on_created(void *context, const struct jetstream_stream_info *info) {
    struct reply_source *source = context;
    source->created_request = NULL;
    if (info->is_known) {
        memcpy(source->created, info->created, sizeof source->created);
    }
    each(source, info->is_known ? fetch_if_due : give_up_fetching);
}

/* Its stream's creation is part of the event. */
static void ask_created(struct reply_source *source, const char *stream) {
    source->created[0] = '\0';
    snprintf(source->created_stream, sizeof source->created_stream, "%s", stream);
    source->created_request = jetstream_stream_ask(source->jetstream, stream, on_created, source);
}

void reply_source_fetch(struct reply_source *source, struct reply_wait *wait) {
    jetstream_request_cancel(wait->request);
    wait->request = NULL;
    wait->phase = REPLY_FETCHING;
    const bool is_created_known =
        source->created[0] != '\0' && strcmp(source->created_stream, wait->reply.stream) == 0;
    if (is_created_known) {
        wait->request = jetstream_held_ask(source->jetstream, wait->reply.stream,
                                           wait->reply.sequence, on_held, wait);
    } else if (source->created_request == NULL) {
        ask_created(source, wait->reply.stream);
    }
    if (wait->request == NULL && source->created_request == NULL) {
        wait->phase = REPLY_WATCHING;
    }
}

/* ---- opening and closing ---- */

static void close_consumer(struct reply_source *source) {
    ordered_consumer_close(source->consumer);
    source->consumer = NULL;
}

static void on_tick(struct reactor_timer *timer) {
    struct reply_source *source = OWNER_OF(timer, struct reply_source, tick);
    if (source->created_request == NULL) {
        source->created[0] = '\0'; /* the stream may have been made again */
    }
    if (source->count == 0) {
        close_consumer(source);
        return;
    }
    each(source, ask_if_watching);
    reactor_timer_set(source->reactor, timer, TICK_MS);
}

static void on_lapses(struct reactor_timer *timer) {
    each(OWNER_OF(timer, struct reply_source, lapses), reply_lapse_look);
}

/* Without memory for it keys are asked for every few seconds. */
static void open_consumer(struct reply_source *source) {
    static const struct ordered_consumer_events events = {
        .opened = on_opened, .stored = on_written, .refused = on_refused};
    struct ordered_consumer_events own = events;
    own.context = source;
    if (ordered_consumer_open(source->jetstream, source->bucket_stream,
                              (struct jetstream_start){.from = JETSTREAM_FROM_NEW}, ORDERED_FOLLOW,
                              &own, &source->consumer) != PARLEY_OK) {
        source->consumer = NULL;
    }
}

void reply_source_add(struct reply_source *source, struct reply_wait *wait) {
    LIST_INSERT_HEAD(list_of(source, wait->key), wait, links);
    source->count++;
    if (source->consumer == NULL) {
        open_consumer(source);
    }
    if (!source->tick.is_armed) {
        reactor_timer_set(source->reactor, &source->tick, TICK_MS);
    }
}

void reply_source_remove(struct reply_source *source, struct reply_wait *wait) {
    LIST_REMOVE(wait, links);
    source->count--;
}

/* Messages of a work queue are gone once they are done: no request waits for replies there. While
 * NATS is away the message waits for it, and so may its sender. */
bool reply_source_is_usable(const struct reply_source *source) {
    const char *const *subject = source->channel->fact_subjects;
    if (source->channel->fact_bucket == NULL || subject == NULL) {
        return false;
    }
    for (; *subject != NULL; subject++) {
        const struct jetstream_place *place = jetstream_place_find(source->jetstream, *subject);
        if (place != NULL && !jetstream_place_takes_consumers(place)) {
            return false;
        }
    }
    return true;
}

void reply_source_init(struct reply_source *source, struct reactor *reactor,
                       struct jetstream *jetstream, struct parley_schema *schema,
                       const struct channel *channel) {
    *source = (struct reply_source){.reactor = reactor,
                                    .jetstream = jetstream,
                                    .schema = schema,
                                    .channel = channel,
                                    .shown = *channel,
                                    .tick.fire = on_tick,
                                    .lapses.fire = on_lapses};
    for (size_t i = 0; i < REPLY_LISTS; i++) {
        LIST_INIT(&source->lists[i]);
    }
    if (channel->fact_bucket != NULL) {
        fact_stream_name(channel->fact_bucket, source->bucket_stream);
        snprintf(source->prefix, sizeof source->prefix, "$KV.%s.", channel->fact_bucket);
    }
}

void reply_source_finish(struct reply_source *source) {
    close_consumer(source);
    reactor_timer_clear(source->reactor, &source->tick);
    reactor_timer_clear(source->reactor, &source->lapses);
    jetstream_request_cancel(source->created_request);
    if (source->has_renderer) {
        stream_renderer_finish(&source->renderer);
    }
}
