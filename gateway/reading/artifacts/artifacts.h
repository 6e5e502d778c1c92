/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The documents that the messages of threads make (parley/artifact.h), folded from the stream for
 * each request: nothing is kept between two of them. */

#include <parley/protocol.h>

#include "checkpoints.h"

struct artifacts {
    /* Borrowed, and outlives it: the same reactor, NATS and worker pool. */
    struct checkpoints *checkpoints;
    struct request_slots slots; /* of the requests being served; zeroed at first */
};

/* GET …/threads/{thread}/artifact, and what has changed in it. */
void artifacts_serve(struct artifacts *artifacts, struct http_request *request,
                     const struct parley_protocol *protocol, const char *thread);
/* GET …/threads/{thread}/artifact/compiled: the body of a message. */
void artifacts_serve_compiled(struct artifacts *artifacts, struct http_request *request,
                              const struct parley_protocol *protocol, const char *thread);
