/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Says which objects of a bucket are too many: of each owner, the first part of a name, the newest
 * are kept. It reads the metas of the bucket, from any writer, from the first call of
 * object_keeper_begin on. */

#include "jetstream.h"
#include "object_layout.h"

struct object_keeper;

/* The object is to be removed. It may have been already.  Owns: texts are borrowed for the call. */
typedef void object_drop_fn(void *context, const char *name, const char *nuid);

/* `keep`: how many objects of an owner, at least 1.  Owns: borrows all arguments; returns a new
 * keeper, which the caller destroys before the jetstream. */
enum parley_status object_keeper_create(struct jetstream *jetstream, const char *bucket,
                                        size_t keep, object_drop_fn *drop, void *context,
                                        struct object_keeper **out) PARLEY_MUST_CHECK;
/* NULL is allowed. */
void object_keeper_destroy(struct object_keeper *keeper);

/* An object is going to be written. Harmless when it was called before. */
void object_keeper_begin(struct object_keeper *keeper);

/* A meta of the bucket.  For object_keeper.c, and its test. */
void object_keeper_take(struct object_keeper *keeper, uint64_t sequence, struct parley_bytes meta);
