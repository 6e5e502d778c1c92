/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Asks the server which streams have subjects of the families of a stream, and for their
 * configuration, one question after the other. Private to nats/. */

#include "jetstream_map_build.h"

struct jetstream_lookup;

/* `error`: 0; the server's err_code; -1: it gave no answer. `text`: the error's, or "". */
typedef void jetstream_lookup_fn(struct jetstream_group *group, int error, const char *text);

/* Owns: borrows the group; returns a new look-up, which the caller destroys.  Returns: NULL if out
 * of memory. */
struct jetstream_lookup *jetstream_lookup_create(struct jetstream_group *group,
                                                 jetstream_lookup_fn *done);
/* `done` is no longer called. NULL is allowed. */
void jetstream_lookup_destroy(struct jetstream_lookup *lookup);

/* Begins; `done` is called once, in a later turn, unless it is cancelled.  Returns: false if the
 * server cannot be asked now. */
bool jetstream_lookup_begin(struct jetstream_lookup *lookup);
/* Harmless when it is not under way. */
void jetstream_lookup_cancel(struct jetstream_lookup *lookup);

/* Within `done`: the streams found.  Owns: borrowed for that call. */
const struct jetstream_found *jetstream_lookup_found(const struct jetstream_lookup *lookup,
                                                     size_t *out_count);
