/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* POST /v1/{protocol}/messages, /validate and /convert (api.md, Sending): what a request asks for,
 * and the ways to serve it: one message (single.c), many (bulk.c), or many to be put into another
 * encoding, all or none of them (conversion.c). */

#include <parley/splitter.h>

#include "gateway.h"
#include "problem.h"
#include "publication.h"

enum sending_task { SENDING_FORWARD, SENDING_VALIDATE, SENDING_CONVERT };

enum sending_results { RESULTS_ALL, RESULTS_ERRORS, RESULTS_SUMMARY };
enum sending_emit { EMIT_VERDICTS, EMIT_MESSAGES, EMIT_BOTH };

/* What a request asks for, read from its head.  Owns: texts are borrowed from the request; whoever
 * may outlive that keeps them (sending_keep). */
struct sending {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    const struct parley_codec *codec;
    struct parley_options options;
    struct publication_context publication;
    enum sending_task task;
    const struct parley_codec *to; /* SENDING_CONVERT */
    bool has_own_refusal;          /* the client would rather have protocol->write_refusal */
    /* Of what Accept says, if it likes one of JSON and NDJSON better: */
    bool wants_lines;       /* a body of one is answered as a batch of one */
    bool wants_document;    /* a body of many is answered in one JSON document */
    const char *lines_type; /* the media type of NDJSON, as the client calls it */
    enum sending_results results;
    enum sending_emit emit;
    char fresh_id[37], now[32]; /* for stamp */
};

/* Serves a request from its begin callback. */
void sending_serve(struct gateway *gateway, struct http_request *request,
                   const struct parley_protocol *protocol, enum sending_task task);

/* Reads the request's head into `sending`, whose gateway, protocol and task are set.
 * Returns: whether it can be served; if not, the request is answered. */
bool sending_read_head(struct sending *sending, struct http_request *request);

/* Copies `sending` with its texts into `out`, for who publishes what came whole though the client
 * is gone.  Returns: false: no memory. */
bool sending_keep(struct sending *out, const struct sending *sending) PARLEY_MUST_CHECK;
/* Frees the texts of what was kept. */
void sending_release(struct sending *kept);

/* The size limit of one message. */
size_t sending_message_bytes_max(const struct sending *sending);

/* Reaches a verdict on one message; it stays in gateway_message() until the next one. */
enum parley_status sending_check(struct sending *sending, struct parley_bytes bytes,
                                 struct parley_position origin) PARLEY_MUST_CHECK;
/* The same into a message object of one's own.  Threads: any, while nobody else uses the two. */
enum parley_status sending_check_as(struct sending *sending, struct parley_message *message,
                                    struct parley_bytes bytes,
                                    struct parley_position origin) PARLEY_MUST_CHECK;
/* The same of what `splitter` handed out of a body, whole or not; of an array that proved to be no
 * JSON, nothing more will come. */
enum parley_status sending_check_slice(struct sending *sending, enum parley_split split,
                                       const struct parley_slice *slice,
                                       struct parley_splitter *splitter) PARLEY_MUST_CHECK;

/* "VLP-012 at line 9, column 17: …", the first finding of a message that has one, and that there
 * are more. */
void sending_describe(const struct parley_message *message, struct parley_buffer *out);

/* What the answer to SENDING_CONVERT comes as. */
const char *sending_converted_type(const struct sending *sending, bool is_many);
/* Whether the client takes that; if not, the request is answered. */
bool sending_accepts_converted(const struct sending *sending, struct http_request *request,
                               bool is_many);

/* ---- one message ---- */

struct single;

/* Owns: `sending` is copied, with its texts.  Returns: NULL when there is no memory. */
struct single *single_create(const struct sending *sending, struct http_request *request);
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

struct bulk;

/* `framing`: of the body; PARLEY_FRAMING_WHOLE: it is a batch of one. */
struct bulk *bulk_create(const struct sending *sending, enum parley_framing framing,
                         struct http_request *request);
/* Returns: how much was taken; less than all means that http_wake will follow. */
size_t bulk_body(struct bulk *bulk, struct parley_bytes bytes);
void bulk_end(struct bulk *bulk);
void bulk_closed(struct bulk *bulk);
/* The answer, for http_respond_stream through sending_read. */
ssize_t bulk_read(struct bulk *bulk, char *buffer, size_t size);
ssize_t sending_read(void *state, char *buffer, size_t size);

/* ---- many, into another encoding ---- */

struct conversion;

struct conversion *conversion_create(const struct sending *sending, struct http_request *request);
/* As bulk_body. */
size_t conversion_body(struct conversion *conversion, struct parley_bytes bytes);
void conversion_end(struct conversion *conversion);
void conversion_closed(struct conversion *conversion);
ssize_t conversion_read(struct conversion *conversion, char *buffer, size_t size);

/* ---- failures ---- */

/* publication_prepare into the gateway's payload.  Returns: PARLEY_E_LIMIT when it would be over
 * what NATS takes, without having written more than that: JETSTREAM_TOO_LARGE. */
enum parley_status sending_prepare(const struct sending *sending, struct parley_message *message,
                                   size_t number, struct publication *out) PARLEY_MUST_CHECK;

/* Warns of a valid message that is over what NATS takes (GW-101).  `nats_bytes_max`: of its payload
 * and headers, 0 when it is not known; `scratch`: is written to.
 * Threads: any, while nobody else uses the message and the buffer. */
enum parley_status sending_warn_of_size(const struct sending *sending,
                                        struct parley_message *message, size_t number,
                                        size_t nats_bytes_max,
                                        struct parley_buffer *scratch) PARLEY_MUST_CHECK;

/* What went wrong with a publication that was not even made, or that was made, as a problem. */
struct sending_failure {
    enum problem problem;
    char detail[512];
};
struct sending_failure sending_refused(const struct sending *sending,
                                       enum jetstream_publish refused);
struct sending_failure sending_failed(const struct sending *sending,
                                      const struct publication_mark *mark,
                                      const struct jetstream_ack *ack);
/* What the problem says besides, as members with a comma each: the message's id, which its sender
 * needs to send it again (504), and where the first one lies (409).
 * `id`: as JSON; data NULL: not known.  `stream`: NULL: none. */
void sending_failure_members(enum problem problem, struct parley_bytes id, const char *stream,
                             uint64_t sequence, struct parley_buffer *out);
/* The budget has no room for what has come. */
struct sending_failure sending_overloaded(const struct sending *sending);
