/* SPDX-License-Identifier: Apache-2.0 */

/* Reading, from the request's side: it refuses what cannot be, starts readers, sends the headers
 * when a reader's subscriptions stand, and keeps all readers in the order in which they last sent
 * something, so that one timer serves every keepalive.
 *
 *   stream_query   what is asked for
 *   stream_request … of which streams, and whether that can be
 *   stream_values  … and that the types and lanes in it exist
 *   stream_format    … and in which encoding
 *   stream_event   a message rendered once, for all; stream_rejected: one that was refused
 *   stream_envelope  the members that all of them have
 *   stream_ring    the newest events of one stream
 *   stream_pool    what all readers hold that they have not sent yet
 *   stream_approvals  what people approved, fetched once for all readers that ask for it
 *   stream_groups  who waits for what, so that an event finds those whom it concerns
 *   stream_hub     one feed a stream fills its ring
 *   stream_queue   what a reader has fetched ahead of its client
 *   stream_cursor  a reader's place in one stream: in the ring, or behind it with its own feed
 *   stream_reader  events to bytes
 *   stream_access  whether its sender may still read
 *   open_answer    what these answers share with those that follow a list
 *
 * It deliberately keeps nothing that would have to survive: where a reader was, its resume token
 * says. */

#include "streams.h"

#include <assert.h>
#include <stdlib.h>

#include "open_answer.h"
#include "problem.h"
#include "stream_access.h"
#include "stream_format.h"
#include "stream_reader.h"
#include "stream_request.h"
#include "tally.h"

enum {
    QUIET_MS = 15000, /* without a byte: a keepalive, or 503 for a reader that cannot start */
    MOVED_PRECISION_MS = 500,
    RING_COUNT_MAX = 4096,
    RING_BYTES_MAX = 8 * 1024 * 1024,
    POOL_BYTES_MAX = 32 * 1024 * 1024,
};

#define MOVED "The messages lie in other streams of NATS than before. Connect again."

TAILQ_HEAD(stream_readers, stream_reader);

struct streams {
    struct reactor *reactor;
    struct jetstream *jetstream;
    struct stream_readers readers;        /* the quietest first */
    LIST_HEAD(, stream_reader) following; /* of them, who are told moments */
    struct moments_listener listener;
    struct reactor_timer timer;  /* armed while there are readers */
    struct stream_access access; /* of those that have been answered */
    bool is_draining;
    struct stream_pool pool;
    size_t hub_count;
    struct stream_hub
        hubs[]; /* of the places of parley_protocols, in their order, and of refused messages */
};

/* ---- keepalive ---- */

/* To half a second: a busy reader is not moved about for each event. */
static void touch(struct stream_reader *reader) {
    struct streams *streams = reader->keeper;
    const int64_t now_ms = reactor_now_ms(streams->reactor);
    if (now_ms - reader->moved_ms < MOVED_PRECISION_MS) {
        return;
    }
    reader->moved_ms = now_ms;
    TAILQ_REMOVE(&streams->readers, reader, link);
    TAILQ_INSERT_TAIL(&streams->readers, reader, link);
}

static void refuse(struct stream_reader *reader, enum problem problem, const char *detail) {
    reader->phase = STREAM_REFUSED;
    stream_reader_stop(reader);
    problem_respond(reader->request, problem, detail);
}

static void keep_alive(struct stream_reader *reader, int64_t now_ms) {
    if (reader->phase == STREAM_STARTING) {
        refuse(reader, PROBLEM_BUS_UNAVAILABLE,
               "NATS does not answer requests about the stream. Connect again later.");
        return;
    }
    if (reader->phase != STREAM_FLOWING) {
        return;
    }
    for (size_t i = 0; i < reader->cursor_count; i++) {
        stream_hub_check(reader->cursors[i].hub, now_ms);
    }
    stream_reader_keep_alive(reader);
}

static void timer_fired(struct reactor_timer *timer) {
    struct streams *streams = OWNER_OF(timer, struct streams, timer);
    int64_t now_ms = reactor_now_ms(streams->reactor);
    struct stream_reader *reader = TAILQ_FIRST(&streams->readers);
    while (reader != NULL && reader->moved_ms + QUIET_MS <= now_ms) {
        touch(reader);
        keep_alive(reader, now_ms);
        reader = TAILQ_FIRST(&streams->readers);
    }
    if (reader != NULL) {
        reactor_timer_set(streams->reactor, timer, reader->moved_ms + QUIET_MS - now_ms);
    }
}

/* ---- readers ---- */

static void reader_refused(struct stream_access_entry *entry, const char *reason) {
    stream_reader_end(OWNER_OF(entry, struct stream_reader, access), reason);
}

static void reader_ready(struct stream_reader *reader) {
    struct streams *streams = reader->keeper;
    reader->phase = STREAM_FLOWING;
    touch(reader);
    stream_access_add(&streams->access, &reader->access);
    open_answer_add_headers(reader->request);
    http_respond_live(reader->request, 200, reader->media_type, stream_reader_read);
}

static void reader_failed(struct stream_reader *reader) {
    for (size_t i = 0; i < reader->cursor_count; i++) {
        const struct stream_cursor *cursor = &reader->cursors[i];
        if (cursor->failure == STREAM_FORBIDDEN) {
            refuse(reader, PROBLEM_BUS_UNAVAILABLE, cursor->hub->refusal);
            return;
        }
    }
    const char *absence = stream_hub_channel(reader->cursors[0].hub)->absence;
    refuse(reader, PROBLEM_BUS_UNAVAILABLE,
           absence != NULL ? absence
                           : "The stream does not exist in NATS at present, or NATS did not say in "
                             "time. Connect again later.");
}

static const struct stream_reader_events reader_events = {
    .ready = reader_ready, .failed = reader_failed, .moved = touch};

static void request_ended(void *state, struct http_request *request) {
    (void)request;
    struct stream_reader *reader = state;
    struct streams *streams = reader->keeper;
    if (streams->is_draining) {
        refuse(reader, PROBLEM_DRAINING, OPEN_ANSWER_DRAINING);
        return;
    }
    reader->phase = STREAM_STARTING;
    if (!stream_reader_start(reader, streams->hubs, streams->hub_count)) {
        refuse(reader, PROBLEM_BUS_UNAVAILABLE,
               "The connection to NATS is down. Connect again later.");
    }
}

static void request_closed(void *state, bool is_complete) {
    (void)is_complete;
    struct stream_reader *reader = state;
    struct streams *streams = reader->keeper;
    TAILQ_REMOVE(&streams->readers, reader, link);
    if (reader->moments != NULL) {
        LIST_REMOVE(reader, following_link);
    }
    stream_access_remove(&streams->access, &reader->access);
    tally_leave(reader->opening);
    stream_reader_destroy(reader);
    if (TAILQ_EMPTY(&streams->readers)) {
        reactor_timer_clear(streams->reactor, &streams->timer);
    }
}

/* A keepalive shows whether it has left: bytes that it does not take come back. */
static void request_half_closed(void *state, struct http_request *request) {
    (void)request;
    struct stream_reader *reader = state;
    if (reader->phase == STREAM_FLOWING) {
        stream_reader_keep_alive(reader);
    }
}

static const struct http_handler handler = {
    .end = request_ended, .half_closed = request_half_closed, .closed = request_closed};

/* ---- requests ---- */

static bool is_serving(struct streams *streams, struct http_request *request) {
    if (streams->is_draining) {
        problem_respond(request, PROBLEM_DRAINING, OPEN_ANSWER_DRAINING);
        return false;
    }
    if (!jetstream_can_read(streams->jetstream)) {
        const char *trouble = jetstream_trouble(streams->jetstream);
        problem_respond_format(request, PROBLEM_BUS_UNAVAILABLE, "%s.",
                               trouble != NULL ? trouble : "NATS cannot be read now");
        return false;
    }
    return true;
}

static const struct parley_protocol *protocol_of(const struct stream_reading *reading) {
    return reading->only != NULL ? reading->only->protocol : NULL;
}

/* `agent`: as in streams_rights. */
static void serve(struct streams *streams, const struct limits *limits,
                  struct http_request *request, const struct stream_reading *reading,
                  const char *agent) {
    static const char absent[] =
        "Streams are available as application/x-ndjson and text/event-stream, and the stream of "
        "one protocol in its other encodings: accept one of them, or omit the Accept header.";
    struct stream_query query;
    struct stream_format form;
    if (!stream_format_choose(request, protocol_of(reading), absent, &form)) {
        return;
    }
    if (!stream_request_parse(request, reading, &query) ||
        !stream_format_fits(request, &form, &query) || !is_serving(streams, request)) {
        return;
    }
    if (agent != NULL) {
        stream_query_filter(&query, STREAM_FILTER_READER, agent);
    }
    if (reading->only == NULL) {
        stream_name_left_out(reading->bits, request);
    }
    struct tally_entry *opening;
    if (!open_answer_admit(limits, request, form.media_type, &opening)) {
        return;
    }
    struct stream_reader *reader = stream_reader_create(request, &query, &reader_events, streams,
                                                        stream_reading_count(reading));
    if (reader == NULL) {
        tally_leave(opening);
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    reader->opening = opening;
    reader->media_type = form.media_type;
    reader->codec = form.codec;
    reader->access =
        (struct stream_access_entry){.request = request,
                                     .reads = reading->bits,
                                     .agent = reader->query.filters[STREAM_FILTER_READER],
                                     .end = reader_refused};
    reader->is_sse = form.is_sse;
    reader->moved_ms = reactor_now_ms(streams->reactor);
    TAILQ_INSERT_TAIL(&streams->readers, reader, link);
    stream_reader_follow(reader, streams->listener.moments);
    if (reader->moments != NULL) {
        LIST_INSERT_HEAD(&streams->following, reader, following_link);
    }
    if (!streams->timer.is_armed) {
        reactor_timer_set(streams->reactor, &streams->timer, QUIET_MS);
    }
    http_request_serve(request, &handler, reader);
}

void streams_serve(struct streams *streams, const struct limits *limits,
                   struct http_request *request, const struct parley_protocol *protocol,
                   const struct streams_rights *rights) {
    const struct stream_reading reading =
        protocol != NULL
            ? stream_reading_of_one(streams->hubs, streams->hub_count, protocol)
            : stream_reading_of_protocols(streams->hubs, streams->hub_count, rights->protocols);
    serve(streams, limits, request, &reading, rights->agent);
}

void streams_serve_rejected(struct streams *streams, const struct limits *limits,
                            struct http_request *request) {
    const struct stream_reading reading =
        stream_reading_of_one(streams->hubs, streams->hub_count, NULL);
    serve(streams, limits, request, &reading, NULL);
}

/* ---- all of them ---- */

static void on_moments(struct moments_listener *listener) {
    struct streams *streams = OWNER_OF(listener, struct streams, listener);
    struct stream_reader *reader;
    LIST_FOREACH(reader, &streams->following, following_link) {
        stream_reader_look(reader);
    }
}

void streams_tell(struct streams *streams, struct moments *moments) {
    streams->listener = (struct moments_listener){.reactor = streams->reactor, .come = on_moments};
    moments_listen(moments, &streams->listener);
}

/* Those of all protocols, in use or not. */
static size_t count_places(const struct jetstream *jetstream) {
    size_t count = 0;
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        for (size_t k = 0; jetstream_place_at(jetstream, i, k) != NULL; k++) {
            count++;
        }
    }
    return count;
}

enum parley_status streams_create(struct reactor *reactor, struct jetstream *jetstream,
                                  const struct guard *guard, struct parley_schema *const *schemas,
                                  const struct configuration *configuration, struct streams **out) {
    const size_t count = parley_protocol_count();
    const size_t hub_count = count_places(jetstream) + 1;
    struct streams *streams = calloc(1, sizeof *streams + hub_count * sizeof streams->hubs[0]);
    if (streams == NULL) {
        return PARLEY_E_MEMORY;
    }
    streams->reactor = reactor;
    streams->jetstream = jetstream;
    streams->timer.fire = timer_fired;
    streams->hub_count = hub_count;
    TAILQ_INIT(&streams->readers);
    LIST_INIT(&streams->following);
    stream_access_init(&streams->access, reactor, guard, configuration);
    stream_pool_init(&streams->pool, reactor, POOL_BYTES_MAX);
    struct stream_hub *hub = streams->hubs;
    for (size_t i = 0; i < count; i++) {
        const struct jetstream_place *place;
        for (size_t k = 0; (place = jetstream_place_at(jetstream, i, k)) != NULL; k++) {
            stream_hub_init(hub, jetstream, schemas[i], &configuration->channels[i], &streams->pool,
                            RING_COUNT_MAX, RING_BYTES_MAX);
            stream_hub_set_place(hub++, place, UINT64_C(1) << i);
        }
    }
    stream_hub_init(hub, jetstream, NULL, channel_rejected(configuration->channels), &streams->pool,
                    RING_COUNT_MAX, RING_BYTES_MAX);
    hub->readings = UINT64_C(1) << count;
    *out = streams;
    return PARLEY_OK;
}

void streams_destroy(struct streams *streams) {
    if (streams == NULL) {
        return;
    }
    assert(TAILQ_EMPTY(&streams->readers));
    moments_ignore(&streams->listener);
    reactor_timer_clear(streams->reactor, &streams->timer);
    stream_access_finish(&streams->access);
    for (size_t i = 0; i < streams->hub_count; i++) {
        stream_hub_finish(&streams->hubs[i]);
    }
    stream_pool_finish(&streams->pool);
    free(streams);
}

static size_t reading_of(const struct stream_hub *hub) {
    return (size_t)__builtin_ctzll(hub->readings);
}

static void measure_reader(const struct stream_reader *reader, struct streams_state out[],
                           size_t size) {
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < reader->cursor_count; i++) {
        const struct stream_cursor *cursor = &reader->cursors[i];
        const size_t reading = cursor->hub != NULL ? reading_of(cursor->hub) : size;
        if (reading < size) {
            const uint64_t lag = stream_cursor_lag(cursor);
            out[reading].readers += reading != last ? 1 : 0;
            last = reading;
            out[reading].lag = lag > out[reading].lag ? lag : out[reading].lag;
        }
    }
}

size_t streams_measure(const struct streams *streams, struct streams_state out[], size_t size) {
    const struct stream_reader *reader;
    const size_t count = parley_protocol_count() + 1;
    for (size_t i = 0; i < count && i < size; i++) {
        out[i] = (struct streams_state){0};
    }
    for (size_t i = 0; i < streams->hub_count; i++) {
        const size_t reading = reading_of(&streams->hubs[i]);
        if (reading < size) {
            out[reading].events += streams->hubs[i].event_count;
        }
    }
    TAILQ_FOREACH(reader, &streams->readers, link) {
        measure_reader(reader, out, size);
    }
    return count;
}

void streams_renewed(struct streams *streams, const char *stream) {
    for (size_t i = 0; i < streams->hub_count; i++) {
        if (strcmp(stream_hub_channel(&streams->hubs[i])->stream, stream) == 0) {
            stream_hub_renewed(&streams->hubs[i]);
        }
    }
}

void streams_moved(struct streams *streams, size_t protocol) {
    const uint64_t bit = UINT64_C(1) << protocol;
    struct stream_reader *next;
    for (size_t i = 0; i < streams->hub_count; i++) {
        if ((streams->hubs[i].readings & bit) != 0) {
            stream_hub_look(&streams->hubs[i]);
        }
    }
    for (struct stream_reader *reader = TAILQ_FIRST(&streams->readers); reader != NULL;
         reader = next) {
        next = TAILQ_NEXT(reader, link);
        if ((reader->access.reads & bit) == 0) {
            continue;
        }
        if (reader->phase == STREAM_FLOWING) {
            stream_reader_end(reader, MOVED);
        } else if (reader->phase == STREAM_STARTING) {
            refuse(reader, PROBLEM_BUS_UNAVAILABLE, MOVED);
        }
    }
}

void streams_access_changed(struct streams *streams) {
    stream_access_changed(&streams->access);
}

void streams_drain(struct streams *streams) {
    streams->is_draining = true;
    struct stream_reader *next;
    for (struct stream_reader *reader = TAILQ_FIRST(&streams->readers); reader != NULL;
         reader = next) {
        next = TAILQ_NEXT(reader, link);
        if (reader->phase == STREAM_FLOWING) {
            stream_reader_end(reader, "draining");
        } else if (reader->phase == STREAM_STARTING) {
            refuse(reader, PROBLEM_DRAINING, OPEN_ANSWER_DRAINING);
        }
    }
}
