/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One message that the gateway itself sends, in the name of the client that asked for it: checked,
 * decided on, published and kept like any other. It continues when the request that asked for it is
 * gone. */

#include "failure.h"
#include "request_options.h"

/* Owns: borrowed for the call. */
struct internal_submit_answer {
    bool is_stored;
    bool is_duplicate;
    const struct failure *failure; /* of one that is not stored */
    /* The receipt; or further members of the problem, each with a comma before it. */
    struct parley_bytes text;
};
typedef void internal_submit_fn(void *context, const struct internal_submit_answer *answer);

/* `options`: of the request that asks for it, which forwards; an Idempotency-Key of its own is not
 * the message's.  Owns: copies options and message.
 * Returns: PARLEY_OK: `done` is called once, in a later turn, unless the gateway ends first. */
enum parley_status internal_submit_begin(const struct request_options *options,
                                         struct parley_bytes message, internal_submit_fn *done,
                                         void *context) PARLEY_MUST_CHECK;

/* The same, but it is not published before internal_submit_release: what decides on it is asked for
 * meanwhile. `out`: to release or to cancel it.  Owns: the gateway's until one of both. */
struct internal_submit;
enum parley_status internal_submit_prepare(const struct request_options *options,
                                           struct parley_bytes message, internal_submit_fn *done,
                                           void *context,
                                           struct internal_submit **out) PARLEY_MUST_CHECK;
void internal_submit_release(struct internal_submit *sending);
/* It was prepared, and not released: `done` is not called. */
void internal_submit_cancel(struct internal_submit *sending);
