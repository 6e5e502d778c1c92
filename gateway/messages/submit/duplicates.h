/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* JetStream calls a publication a duplicate when it knows its id. Whether it is the same message,
 * and under which subject that is stored, is found out by fetching the stored one by its sequence
 * and comparing Parley-Digest (docs/api.md#nats). */

#include "failure.h"

/* Owns: texts are borrowed for the call. */
struct duplicate_answer {
    enum {
        DUPLICATE_SAME,
        DUPLICATE_OTHER,   /* another message has that id: `failure` says which */
        DUPLICATE_UNKNOWN, /* that is not known: `failure` has the advice */
    } verdict;
    const char *stream;
    uint64_t sequence;
    bool is_again;       /* SAME: as in the ack */
    const char *subject; /* where it is stored; NULL: it was removed since, or not known */
    struct parley_bytes
        payload; /* the stored message; data NULL if it was removed since, or is not known */
    struct parley_bytes headers; /* … as they are on the wire; data NULL: it has none */
    const char
        *id; /* SAME: the id it was stored with; NULL if it has none, or if that is not known */
    struct failure failure;
};
typedef void duplicate_fn(void *context, const struct duplicate_answer *answer);

/* Whether the ack of a publication with this mark leaves open which message it means. */
bool duplicate_is_open(const struct publication_mark *mark, const struct jetstream_ack *ack);

/* Begins to find that out. Few look-ups are under way at a time, since an answer carries the
 * payload and its size is not known beforehand; the others wait in line. Returns: NULL: it cannot
 * be found out, and `out_failure` says why; else `done` is called once, in a later turn, and the
 * duplicate is freed by then. */
struct duplicate *duplicate_begin(const struct request_options *options,
                                  const struct publication_mark *mark,
                                  const struct jetstream_ack *ack, duplicate_fn *done,
                                  void *context, struct failure *out_failure);
/* `done` is no longer called. NULL is allowed. */
void duplicate_cancel(struct duplicate *duplicate);
