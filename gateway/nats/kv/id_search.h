/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds out whether a stream has a message with an id on a subject. The leader is asked for the
 * last message there, which is mostly the one; then the headers of all are read. */

#include <parley/bytes.h>

#include "jetstream.h"
#include "reactor.h"

struct id_search;

enum id_search_end {
    ID_SEARCH_FOUND,
    ID_SEARCH_MISSING,
    ID_SEARCH_UNKNOWN,    /* the headers could not be read, or not in time */
    ID_SEARCH_UNANSWERED, /* the leader did not answer */
};

/* `error`: of UNANSWERED, the server's; or NULL. */
typedef void id_search_fn(void *context, enum id_search_end how, const char *error);

/* `subject`, `id` (a UUID, in either case): copied.
 * Returns: NULL when it cannot begin now; otherwise `done` is called once, in a later turn.
 * Owns: the search is borrowed, until `done` is called. */
struct id_search *id_search_begin(struct reactor *reactor, struct jetstream *jetstream,
                                  const char *stream, struct parley_bytes subject, const char *id,
                                  id_search_fn *done, void *context);
/* `done` is no longer called. NULL is allowed. */
void id_search_cancel(struct id_search *search);
