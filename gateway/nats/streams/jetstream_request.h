/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests to JetStream's JSON API, and how their answers are read. Private to nats/;
 * jetstream_api.c has the code. */

#include <jansson.h>

#include "jetstream_api.h"

/* `answer`: borrowed; NULL when none came in time, the connection broke, or it was not a JSON
 * object. Where no server listens, it has the error JETSTREAM_NO_RESPONDERS. */
typedef void jetstream_answer_fn(void *context, json_t *answer);

/* Asks $JS.API.<what>.  Owns: steals `body`, which may be NULL.
 * Returns: NULL if it could not be sent; otherwise `done` is called once, in a later turn. */
struct jetstream_request *jetstream_request_send(struct jetstream *jetstream, const char *what,
                                                 json_t *body, jetstream_answer_fn *done,
                                                 void *context);
/* Sends a request without waiting for the answer. */
void jetstream_request_forget(struct jetstream *jetstream, const char *what);
/* Ends all requests, with or without calling their callbacks with no answer. */
void jetstream_requests_end(struct jetstream *jetstream, bool calls_back);

/* Returns: the answer's err_code, or else its code; 0 if it is not an error. */
int jetstream_answer_error(const json_t *answer);
/* Returns: the error's description, never NULL. */
const char *jetstream_answer_text(const json_t *answer);
/* Returns: the number at object.name, 0 if there is none. */
uint64_t jetstream_answer_number(const json_t *answer, const char *object, const char *name);
/* Returns: Unix time of an RFC 3339 text; 0 for Go's zero time and for any other text. */
int64_t jetstream_time_ns(const char *text);
