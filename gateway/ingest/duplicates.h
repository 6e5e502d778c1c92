/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What JetStream calls a duplicate was published under an id that it knows. Whether it is the same
 * message, and where that lies, says the one that is stored: it is fetched by its sequence, and its
 * Parley-Digest compared (docs/api.md#nats). */

#include "failure.h"

/* Owns: texts are borrowed for the call. */
struct duplicate_answer {
    enum {
        DUPLICATE_SAME,
        DUPLICATE_OTHER,   /* another message has that id: `failure` says which */
        DUPLICATE_UNKNOWN, /* it could not be found out: `failure` says what to do */
    } verdict;
    const char *stream;
    uint64_t sequence;
    const char *subject; /* SAME: where it is stored; NULL: it was removed since */
    const char *id;      /* SAME: that it was stored with, of a message that bears one; NULL: not
                            known */
    struct failure failure;
};
typedef void duplicate_fn(void *context, const struct duplicate_answer *answer);

/* Whether the ack of a publication with this mark leaves that open. */
bool duplicate_is_open(const struct publication_mark *mark, const struct jetstream_ack *ack);

/* Finds it out. Few are asked at a time, for an answer bears the payload, and nobody says
 * beforehand how large that is; the others wait in line. Returns: NULL when it cannot be, and why
 * in `out_failure`; otherwise `done` is called once, in a later turn, and the duplicate is gone by
 * then. */
struct duplicate *duplicate_begin(const struct request_options *options,
                                  const struct publication_mark *mark,
                                  const struct jetstream_ack *ack, duplicate_fn *done,
                                  void *context, struct failure *out_failure);
/* `done` is not called any more. NULL is fine. */
void duplicate_cancel(struct duplicate *duplicate);
