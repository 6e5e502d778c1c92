/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of an event's text that are the same whatever was stored. Shared by streams/ and the
 * index. */

#include "stream_event.h"
#include "stream_review.h"

/* Offsets in a text that is still growing. */
struct stream_layout {
    size_t token_offset, token_length;
    size_t bare_offset, bare_length; /* length 0: none */
};

/* The envelope of a stored message.  Owns: everything is borrowed. */
struct stream_envelope {
    struct parley_bytes id;     /* data NULL: STREAM:sequence */
    struct parley_bytes source; /* data NULL: the channel's name after a slash */
    struct parley_bytes type;
    struct parley_bytes time;               /* data NULL: that of storage */
    const char *content_type;               /* NULL if none is given */
    const struct stream_approval *approval; /* NULL if it is not approved */
};

/* Writes the members that every event of a stream has, from the opening brace up to the resume
 * token, and `reviewed`; `recordedtime`, when it was stored, is CloudEvents' extension "Recorded
 * Time".  `created`: of the stream, for the token; NULL: there is neither token nor sequence nor
 * `recordedtime`. */
void stream_write_stored(struct parley_buffer *out, const struct channel *channel,
                         const char *created, const struct jetstream_stored *stored,
                         const struct stream_envelope *envelope, struct stream_layout *layout);

/* `name`: with what precedes the value: `,"type":`. */
void stream_write_member(struct parley_buffer *out, const char *name, struct parley_bytes value);
/* A time in nanoseconds of Unix time.  `name`: as above. */
void stream_write_time(struct parley_buffer *out, const char *name, int64_t time_ns);
/* The member `resume`. */
void stream_write_token(struct parley_buffer *out, struct parley_bytes token,
                        struct stream_layout *layout);
/* An event of parley's own, without a line's end.  Owns: everything is borrowed. */
struct stream_own_event {
    int64_t time_ns; /* Unix time */
    const char *id, *source, *type;
    struct parley_bytes token; /* length 0: none */
    struct parley_bytes data;  /* JSON; data NULL: none */
};
void stream_write_own(struct parley_buffer *out, const struct stream_own_event *event,
                      struct stream_layout *layout);
/* The member `data_base64`. */
void stream_write_base64(struct parley_buffer *out, struct parley_bytes bytes);

/* CloudEvents, Type System: a String has no control characters (U+0000-001F, U+007F-009F), and a
 * text may quote a part of a sender's message. Each becomes a blank, in place. */
void stream_blank_controls(struct parley_buffer *text);

/* Ends the line in `text`, which has an event.  `route` NULL: filters find nothing but the type.
 * Owns: copies the text; returns a new reference.  Returns: NULL: out of memory. */
struct stream_event *stream_event_make(struct parley_buffer *text,
                                       const struct stream_layout *layout, struct parley_bytes type,
                                       const struct parley_route *route);
