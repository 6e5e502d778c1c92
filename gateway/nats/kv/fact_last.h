/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The last message on a subject, where a decision depends on one besides its facts
 * (PARLEY_DECISION_ASK_LAST). It is asked for once. */

#include <parley/facts.h>

#include "jetstream.h"

/* Owns: the caller embeds it, zeroed at first, keeps it until `done` is called, and calls
 * fact_last_finish. */
struct fact_last {
    void (*done)(struct fact_last *last);
    bool is_known;   /* it was read, or there is none */
    char *payload;   /* NULL: there is none */
    size_t length;   /* of the payload */
    int64_t seconds; /* when it was stored, Unix time */

    /* Private. */
    struct jetstream_request *request;
};

/* `subject`: with a NUL.  Returns: true: `done` is called once, in a later turn; `is_known` says
 * whether it was read. False: it is known already, if `is_known` says so, since no stream has such
 * messages; else it cannot be asked now. */
bool fact_last_ask(struct fact_last *last, struct jetstream *jetstream, const char *subject);
void fact_last_finish(struct fact_last *last);
/* Owns: borrowed, until fact_last_finish. */
void fact_last_tell(const struct fact_last *last, struct parley_known_facts *out);
