/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* POST /v1/{protocol}/messages, /validate and /convert (docs/api.md#sending): what a request asks
 * for, and the ways to serve it: one message (single.c), many (batch.c), or many to be put into
 * another encoding, all or none of them (conversion.c). */

#include <parley/splitter.h>

#include "gateway.h"
#include "problem.h"
#include "publication.h"

enum ingest_task { INGEST_FORWARD, INGEST_VALIDATE, INGEST_CONVERT };

enum ingest_results { RESULTS_ALL, RESULTS_ERRORS, RESULTS_SUMMARY };
enum ingest_emit { EMIT_VERDICTS, EMIT_MESSAGES, EMIT_BOTH };

/* What a request asks for, read from its head.  Owns: texts are borrowed from the request; whoever
 * may outlive that keeps them (request_options_keep). */
struct request_options {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    const struct parley_codec *codec;
    struct parley_options check; /* how each message is checked */
    struct publication_context publication;
    enum ingest_task task;
    const struct parley_codec *to; /* INGEST_CONVERT */
    bool has_own_refusal;          /* the client would rather have protocol->write_refusal */
    /* Of what Accept says, if it likes one of JSON and NDJSON better: */
    bool wants_lines;       /* a body of one is answered as a batch of one */
    bool wants_document;    /* a body of many is answered in one JSON document */
    const char *lines_type; /* the media type of NDJSON, as the client calls it */
    enum ingest_results results;
    enum ingest_emit emit;
    char fresh_id[37], now[32]; /* for stamp */
};

/* Serves a request from its begin callback. */
void ingest_serve(struct gateway *gateway, struct http_request *request,
                  const struct parley_protocol *protocol, enum ingest_task task);

/* Reads the request's head into `options`, whose gateway, protocol and task are set.
 * Returns: whether it can be served; if not, the request is answered. */
bool request_options_read(struct request_options *options, struct http_request *request);

/* Copies `options` with its texts into `out`, for who publishes what came whole though the client
 * is gone.  Returns: false: no memory. */
bool request_options_keep(struct request_options *out,
                          const struct request_options *options) PARLEY_MUST_CHECK;
/* Frees the texts of what was kept. */
void request_options_release(struct request_options *kept);

/* The size limit of one message. */
size_t request_message_bytes_max(const struct request_options *options);

/* Reaches a verdict on one message; it stays in gateway_message() until the next one. */
enum parley_status check_message(struct request_options *options, struct parley_bytes bytes,
                                 struct parley_position origin) PARLEY_MUST_CHECK;
/* The same into a message object of one's own.  Threads: any, while nobody else uses the two. */
enum parley_status check_message_as(struct request_options *options, struct parley_message *message,
                                    struct parley_bytes bytes,
                                    struct parley_position origin) PARLEY_MUST_CHECK;
/* The same of what `splitter` handed out of a body, whole or not; of an array that proved to be no
 * JSON, nothing more will come. */
enum parley_status check_slice(struct request_options *options, enum parley_split split,
                               const struct parley_slice *slice,
                               struct parley_splitter *splitter) PARLEY_MUST_CHECK;

/* "VLP-012 at line 9, column 17: …", the first finding of a message that has one, and that there
 * are more. */
void check_describe(const struct parley_message *message, struct parley_buffer *out);

/* What the answer to INGEST_CONVERT comes as. */
const char *request_converted_type(const struct request_options *options, bool is_many);
/* Whether the client takes that; if not, the request is answered. */
bool request_accepts_converted(const struct request_options *options, struct http_request *request,
                               bool is_many);

/* ---- one message ---- */

struct single;

/* Owns: `options` is copied, with its texts.  Returns: NULL when there is no memory. */
struct single *single_create(const struct request_options *options, struct http_request *request);
/* What has come of the body, up to a byte over the limit. */
struct parley_bytes single_text(const struct single *single);
/* Takes a piece of the body, always whole. */
void single_body(struct single *single, struct parley_bytes bytes);
void single_end(struct single *single);
/* The request is gone; the single frees itself, now or with its ack. */
void single_closed(struct single *single);

/* ---- many ---- */

/* What a splitter may go on holding between two messages, when none of it is counted. */
#define SLICE_KEPT_BYTES (64u * 1024)

struct batch;

/* `framing`: of the body; PARLEY_FRAMING_WHOLE: it is a batch of one. */
struct batch *batch_create(const struct request_options *options, enum parley_framing framing,
                           struct http_request *request);
/* Returns: how much was taken; less than all means that http_wake will follow. */
size_t batch_body(struct batch *batch, struct parley_bytes bytes);
void batch_end(struct batch *batch);
void batch_closed(struct batch *batch);
/* The answer, for http_respond_stream through ingest_read. */
ssize_t batch_read(struct batch *batch, char *buffer, size_t size);
ssize_t ingest_read(void *state, char *buffer, size_t size);

/* ---- many, into another encoding ---- */

struct conversion;

struct conversion *conversion_create(const struct request_options *options,
                                     struct http_request *request);
/* As batch_body. */
size_t conversion_body(struct conversion *conversion, struct parley_bytes bytes);
void conversion_end(struct conversion *conversion);
void conversion_closed(struct conversion *conversion);
ssize_t conversion_read(struct conversion *conversion, char *buffer, size_t size);

/* ---- failures ---- */

/* publication_prepare into the gateway's payload.  Returns: PARLEY_E_LIMIT when it would be over
 * what NATS takes, without having written more than that: JETSTREAM_TOO_LARGE. */
enum parley_status ingest_prepare(const struct request_options *options,
                                  struct parley_message *message, size_t number,
                                  struct publication *out) PARLEY_MUST_CHECK;

/* Warns of a valid message that is over what NATS takes (GW-101).  `nats_bytes_max`: of its payload
 * and headers, 0 when it is not known; `scratch`: is written to.
 * Threads: any, while nobody else uses the message and the buffer. */
enum parley_status check_warn_of_size(const struct request_options *options,
                                      struct parley_message *message, size_t number,
                                      size_t nats_bytes_max,
                                      struct parley_buffer *scratch) PARLEY_MUST_CHECK;

/* What went wrong with a publication that was not even made, or that was made, as a problem. */
struct failure {
    enum problem problem;
    char detail[512];
};
struct failure failure_of_refusal(const struct request_options *options,
                                  enum jetstream_publish refused);
struct failure failure_of_ack(const struct request_options *options,
                              const struct publication_mark *mark, const struct jetstream_ack *ack);
/* What the problem says besides, as members with a comma each: the message's id, which its sender
 * needs to send it again (504), and where the first one lies (409).
 * `id`: as JSON; data NULL: not known.  `stream`: NULL: none. */
void failure_write_members(enum problem problem, struct parley_bytes id, const char *stream,
                           uint64_t sequence, struct parley_buffer *out);
/* The budget has no room for what has come. */
struct failure failure_overloaded(const struct request_options *options);
