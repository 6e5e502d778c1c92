/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Answers questions to the index, on two threads that all workers share, each with a connection to
 * the file of its own. What may take long is for one of them, so that it never delays a look-up. */

#include "index_view.h"
#include "worker_pool.h"

struct index_service;

/* Each is of one thread. */
enum index_pool {
    INDEX_LOOKUPS, /* for lists of messages, threads and senders by what is in their rows */
    INDEX_VIEWS,   /* for what spans messages, and for words */
    INDEX_POOLS
};

/* `folder`: borrowed.  `has_words`: as of index_keeper_options.  Owns: returns a new service, which
 * the caller destroys after all queues of its pools are closed. */
enum parley_status index_service_create(const char *folder, bool has_words,
                                        struct index_service **out) PARLEY_MUST_CHECK;
/* NULL is allowed. */
void index_service_destroy(struct index_service *service);

/* The thread on which index_service_answer may be called.  Owns: borrowed. */
struct worker_pool *index_service_pool(const struct index_service *service, enum index_pool pool);
bool index_service_has_words(const struct index_service *service);

/* Counts a question that waits, of clients.  Returns: false: too many do.  Threads: any. */
bool index_service_enter(struct index_service *service);
void index_service_leave(struct index_service *service);

/* As index_view_answer; INDEX_BROKEN also while there is no file.  Threads: that of the pool. */
enum index_answered index_service_answer(struct index_service *service, enum index_pool pool,
                                         const struct index_question *question,
                                         struct parley_buffer *out, struct index_places *places,
                                         char progress[INDEX_PROGRESS_MAX]);
