/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of a POST to /v1/{protocol}/messages, /validate or /convert (docs/api.md#sending),
 * read from its head before the body. */

#include "coding.h"
#include "gateway.h"
#include "rate_charge.h"
#include "publication.h"

enum ingest_task { INGEST_FORWARD, INGEST_VALIDATE, INGEST_CONVERT };

enum ingest_results { RESULTS_ALL, RESULTS_ERRORS, RESULTS_SUMMARY };
enum ingest_emit { EMIT_VERDICTS, EMIT_MESSAGES, EMIT_BOTH };

/* Which of JSON and NDJSON the client prefers, by its Accept header. */
enum answer_form {
    ANSWER_BY_BODY,  /* neither: JSON for one message, NDJSON for many */
    ANSWER_LINES,    /* NDJSON: a body of one is answered as a batch of one */
    ANSWER_DOCUMENT, /* JSON: a body of many is answered in one document */
};

/* The values that `stamp` fills in. */
struct stamped_values {
    char id[37], now[32];
};

/* Owns: texts are borrowed from the request; a handler that may outlive it keeps a copy
 * (request_options_keep). */
struct request_options {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    const struct parley_codec *codec;
    enum coding coding;          /* of the body */
    struct parley_options check; /* how each message is checked */
    struct publication_context publication;
    struct rate_charge meter;
    const char
        *principal; /* where messages can halt: the name of the token; NULL if none was shown */
    enum ingest_task task;
    bool is_alone;  /* one message, answered as one: a large one may go to an object store */
    bool wants_ack; /* of messages that the protocol acknowledges (parley/objects.h) */
    const struct parley_codec *to; /* INGEST_CONVERT */
    bool has_own_refusal;          /* the client prefers protocol->write_refusal */
    enum answer_form form;
    bool is_only_for_one;   /* the client reads no form of an answer to many */
    const char *lines_type; /* the media type of NDJSON, as the client calls it */
    enum ingest_results results;
    enum ingest_emit emit;
    uint64_t facts_read_to;        /* of a message of the gateway's own: as fact_query_init says */
    struct stamped_values stamped; /* into the message that was checked last */
};

/* Reads the request's head into `options`, whose gateway, protocol and task are set.
 * Returns: whether it can be served; if not, the request is answered. */
bool request_options_read(struct request_options *options, struct http_request *request);

/* Sets the protocol's options to the operator's values, and drops those of the request. */
void request_options_of_server(struct request_options *options);

/* Copies `options` with its texts into `out`, for a handler that publishes whole messages even if
 * the client is gone.  Returns: false: no memory. */
bool request_options_keep(struct request_options *out,
                          const struct request_options *options) PARLEY_MUST_CHECK;
/* Frees the texts of a copy. */
void request_options_release(struct request_options *kept);

/* The names of the query options of a task, those of all protocols among them; ends with NULL. */
#define REQUEST_NAMES_MAX 80
void request_options_names(enum ingest_task task, const char *out[REQUEST_NAMES_MAX]);
/* Whether `ack` concerns a protocol. */
bool request_may_be_acknowledged(const struct parley_protocol *protocol);
/* Describes one of these for documents. The schema of `to` is NULL: it is made of the protocol's
 * encodings. */
const struct parley_option_help *request_options_help(const struct parley_protocol *protocol,
                                                      const char *name);

/* The size limit of one message. */
size_t request_message_bytes_max(const struct request_options *options);

/* The media type of the answer to INGEST_CONVERT. */
const char *request_converted_type(const struct request_options *options, bool is_many);
/* Whether the client accepts it; if not, the request is answered. */
bool request_accepts_converted(const struct request_options *options, struct http_request *request,
                               bool is_many);
