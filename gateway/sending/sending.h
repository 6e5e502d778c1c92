/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* POST /v1/{protocol}/messages and /validate (api.md, Sending): what a request asks for, and the
 * two ways to serve it: one message (single.c) or many (bulk.c). */

#include "gateway.h"
#include "problem.h"
#include "publication.h"

enum sending_results { RESULTS_ALL, RESULTS_ERRORS, RESULTS_SUMMARY };
enum sending_emit { EMIT_VERDICTS, EMIT_MESSAGES, EMIT_BOTH };

/* What a request asks for, read from its head.  Owns: texts are borrowed from the request. */
struct sending {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    const struct parley_codec *codec;
    struct parley_options options;
    struct publication_context publication;
    bool is_validating; /* forward nothing */
    enum sending_results results;
    enum sending_emit emit;
    char fresh_id[37], now[32]; /* for stamp */
};

/* Serves a request from its begin callback. */
void sending_serve(struct gateway *gateway, struct http_request *request,
                   const struct parley_protocol *protocol, bool is_validating);

/* The size limit of one message. */
size_t sending_message_bytes_max(const struct sending *sending);

/* Reaches a verdict on one message; it stays in gateway_message() until the next one. */
enum parley_status sending_check(struct sending *sending, struct parley_bytes bytes,
                                 struct parley_position origin) PARLEY_MUST_CHECK;

/* ---- one message ---- */

struct single;

/* Owns: `sending` is copied.  Returns: NULL when there is no memory. */
struct single *single_create(const struct sending *sending, struct http_request *request);
/* What has come of the body, up to a byte over the limit. */
struct parley_bytes single_text(const struct single *single);
/* Takes a piece of the body, always whole. */
void single_body(struct single *single, struct parley_bytes bytes);
void single_end(struct single *single);
/* The request is gone; the single frees itself, now or with its ack. */
void single_closed(struct single *single);

/* ---- many ---- */

struct bulk;

struct bulk *bulk_create(const struct sending *sending, struct http_request *request);
/* Returns: how much was taken; less than all means that http_wake will follow. */
size_t bulk_body(struct bulk *bulk, struct parley_bytes bytes);
void bulk_end(struct bulk *bulk);
void bulk_closed(struct bulk *bulk);
/* The answer, for http_respond_stream through sending_read. */
ssize_t bulk_read(struct bulk *bulk, char *buffer, size_t size);
ssize_t sending_read(void *state, char *buffer, size_t size);

/* What went wrong with a publication that was not even made, or that was made, as a problem. */
struct sending_failure {
    enum problem problem;
    char detail[256];
};
struct sending_failure sending_refused(const struct sending *sending,
                                       enum jetstream_publish refused);
struct sending_failure sending_failed(const struct jetstream_ack *ack);
