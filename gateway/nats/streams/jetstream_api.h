/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Questions to JetStream's API about streams and single messages. */

#include "jetstream_types.h"

/* The request's callback is no longer called. NULL is allowed. */
void jetstream_request_cancel(struct jetstream_request *request);

/* Asks for the last message of a stream on one subject.
 * Returns: NULL when it cannot be asked now; otherwise `done` is called once, in a later turn.
 * Owns: the request is borrowed, until `done` is called. */
struct jetstream_request *jetstream_last_ask(struct jetstream *jetstream, const char *stream,
                                             const char *subject, jetstream_last_fn *done,
                                             void *context);

/* Of a stream with several copies, that it has no such message (JETSTREAM_HELD_GONE) is believed by
 * the following functions only of a leader that has all that is known to have been stored: a new
 * one is asked again for two seconds, then the answer is JETSTREAM_HELD_UNKNOWN. jetstream_last_ask
 * takes the first answer: whether a key exists is decided when it is created. */

/* Asks for one message by its sequence. (Its payload comes in base64, so an answer may be a third
 * longer than max_payload.)  Returns, Owns: as jetstream_last_ask. */
struct jetstream_request *jetstream_held_ask(struct jetstream *jetstream, const char *stream,
                                             uint64_t sequence, jetstream_held_fn *done,
                                             void *context);

/* As jetstream_held_ask, for the last message on a subject … */
struct jetstream_request *jetstream_last_held_ask(struct jetstream *jetstream, const char *stream,
                                                  const char *subject, jetstream_held_fn *done,
                                                  void *context);
/* … and for the first one on it from this sequence on. */
struct jetstream_request *jetstream_next_held_ask(struct jetstream *jetstream, const char *stream,
                                                  const char *subject, uint64_t sequence,
                                                  jetstream_held_fn *done, void *context);

/* Asks for one message by its sequence, found as the last one on its subject would be. */
struct jetstream_request *jetstream_message_ask(struct jetstream *jetstream, const char *stream,
                                                uint64_t sequence, jetstream_last_fn *done,
                                                void *context);

/* Asks about a stream; `done` is called exactly once, in a later turn, unless the jetstream is
 * destroyed.  Returns: NULL when it cannot be asked now (not connected, out of memory).
 * Owns: as jetstream_last_ask. */
struct jetstream_request *jetstream_stream_ask(struct jetstream *jetstream, const char *stream,
                                               jetstream_info_fn *done, void *context);

/* As jetstream_stream_ask, and how many messages it has on one subject, without wildcards. */
struct jetstream_request *jetstream_subject_ask(struct jetstream *jetstream, const char *stream,
                                                const char *subject, jetstream_info_fn *done,
                                                void *context);

/* Removes all messages of a stream on one subject, if the server can be asked; the outcome is not
 * reported. */
void jetstream_purge(struct jetstream *jetstream, const char *stream, const char *subject);
/* As jetstream_purge, for a part of them; `done` says whether it was done. The server reads nothing
 * else of the connection until it has removed all of these: 16 messages of 128 KiB take it some 4
 * ms. Returns, Owns: as jetstream_last_ask. */
struct jetstream_request *jetstream_purge_ask(struct jetstream *jetstream, const char *stream,
                                              const struct jetstream_removal *what,
                                              jetstream_done_fn *done, void *context);

/* For how long the server recognises a Nats-Msg-Id: `stream` is the name of one of options.streams.
 * The shortest setting of the streams in which its messages are stored, or
 * jetstream_options.dedupe_window_ms while that is not known. */
int64_t jetstream_dedupe_window_ms(const struct jetstream *jetstream, const char *stream);
