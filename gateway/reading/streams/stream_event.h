/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A stored NATS message as an event, rendered once for all readers and for every form in which they
 * read it. */

#include <parley/message.h>

#include "channel.h"
#include "jetstream.h"
#include "moments.h"
#include "stream_query.h"

struct stream_approval;
struct stream_halt;
struct stream_review;

/* A CloudEvents JSON object on one line. Its parts are kept apart, so that a reader of several
 * streams can put its own token in, and a reader without envelope takes the message alone. */
struct stream_event {
    unsigned reference_count;
    unsigned holder_count;     /* stream_pool's */
    uint64_t sequence;         /* 0: an event of parley's own, which no stream holds */
    int64_t time_ns;           /* of storage */
    size_t size_bytes;         /* of all its memory */
    struct stream_event *next; /* for its owner's queue */

    struct parley_bytes text;  /* the whole object; `resume` holds the token of this stream alone.
                                  NULL: bytes that go out as `line` has them; the length is that of
                                  the event that they are made of */
    struct parley_bytes line;  /* that with a newline after it */
    struct parley_bytes token; /* its offset in text */
    struct parley_bytes bare;  /* the message in text; NULL if it is whole even without envelope */

    /* The message halts a conversation, or says that halts were released. Owned. */
    struct stream_halt *halt; /* NULL for most */
    /* The message announces that another one is approved, which is to be proven. Owned. */
    struct stream_review *review; /* NULL for most */
    uint64_t notice; /* of an event that is approved: the sequence of that announcement; else 0 */

    /* The values that filters compare, by filter; NULL: the message has none. */
    struct parley_bytes facts[STREAM_FACT_COUNT];
    uint64_t compared;       /* the number of the group whose filters it was compared with last; 0:
                                of none … */
    bool is_match;           /* … and whether it passes them */
    bool is_for_all;         /* it can have receivers, and has none */
    bool is_private;         /* it belongs to the agent in `facts` */
    bool is_thread_caseless; /* filters may name its thread in either case */
    size_t receiver_count;
    struct parley_bytes receivers[];
};

struct stream_event *stream_event_ref(struct stream_event *event);
/* NULL is allowed. */
void stream_event_unref(struct stream_event *event);

/* A type without its protocol's name; NULL when it has none. */
struct parley_bytes stream_type_name(struct parley_bytes type);
bool stream_event_matches(const struct stream_event *event, const struct stream_query *query);
/* The same, whatever lane it asks for: of what is approved. */
bool stream_event_matches_in_any_lane(const struct stream_event *event,
                                      const struct stream_query *query);
/* Whether a reader with these filters, which may not get the event itself, is told of its halt or
 * release, since they can match messages of that conversation. */
bool stream_event_tells(const struct stream_event *event, const struct stream_query *query);

/* Whether a reader with these filters follows things: it names a thread, or whom messages are for.
 */
bool stream_query_follows(const struct stream_query *query);
/* Whether such a reader is told of the moment. */
bool stream_moment_tells(const struct moment *moment, const struct stream_query *query);

/* Renders the messages of one stream, one at a time. */
struct stream_renderer {
    const struct channel *channel;
    struct stream_event *(*render)(struct stream_renderer *renderer, const char *created,
                                   const struct jetstream_stored *stored);
    struct parley_message message;          /* of a protocol; else zeroed */
    const struct stream_approval *approval; /* of what is being rendered; NULL for most */
    struct parley_buffer text;
};

/* `schema`: of the channel's protocol; NULL if the channel has refused messages, of all protocols.
 * Owns: borrows schema and channel. */
void stream_renderer_init(struct stream_renderer *renderer, const struct parley_schema *schema,
                          const struct channel *channel);
void stream_renderer_finish(struct stream_renderer *renderer);

/* Checks the message, which other clients may have published: a valid one becomes an event of its
 * type, any other parley.foreign. A refused message is not checked, and becomes parley.rejected.
 * `created`: of the stream, for the token; NULL if the event has neither token nor sequence. Owns:
 * returns a new reference.  Returns: NULL: out of memory. */
struct stream_event *stream_render(struct stream_renderer *renderer, const char *created,
                                   const struct jetstream_stored *stored);

/* The same for a message that is approved: it has the time of its approval, and the token of a
 * reader that has got it, but not the announcement. */
struct stream_event *stream_render_approved(struct stream_renderer *renderer, const char *created,
                                            const struct jetstream_stored *stored,
                                            const struct stream_approval *approval);

/* The message of an event of this renderer's stream in another encoding, as bytes that have the
 * event's place in the stream.  Owns, Returns: as above. */
struct stream_event *stream_render_converted(struct stream_renderer *renderer,
                                             const struct stream_event *event,
                                             const struct parley_codec *codec);

/* The messages from `first` to `last` are gone; `last` 0: all from `first` on, since the stream
 * was created again.  `token`: of this reader, after the gap.  Returns: as above. */
struct stream_event *stream_render_gap(const struct channel *channel, uint64_t first, uint64_t last,
                                       struct parley_bytes token);

/* What the event, which has a halt, tells: parley.halted or parley.released. `token`: of this
 * reader, before the event.  Returns: as above. */
struct stream_event *stream_render_halt(const struct channel *channel,
                                        const struct stream_event *event,
                                        struct parley_bytes token);

/* Tells a moment: parley.expired, parley.lapsed. `token`: as above.  Returns: as above. */
struct stream_event *stream_render_moment(const struct moment *moment, struct parley_bytes token);

/* Events about the response itself.  `id`: of the request; `source`: its path; `token`: of the
 * events that the reader has got so far.  Returns: as above. */

/* The reader's cursors are ready.  `waiting_for`: the sequence that it asked for, if it is not
 * stored so far and the newest one is `last`; else 0. */
struct stream_event *stream_render_open(const char *id, const char *source,
                                        struct parley_bytes token, uint64_t waiting_for,
                                        uint64_t last);
/* Nothing else was sent for a while. */
struct stream_event *stream_render_keepalive(const char *id, const char *source,
                                             struct parley_bytes token);
/* The last one.  `reason`: "draining", or what went wrong in words. */
struct stream_event *stream_render_end(const char *id, const char *source,
                                       struct parley_bytes token, const char *reason);

/* Not an event: `before`, `token` and `after` are sent as they are.  Returns: as above. */
struct stream_event *stream_render_bytes(const char *before, struct parley_bytes token,
                                         const char *after);
