/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A few threads that do for all reactors what would keep one of them too long from its other
 * requests. A reactor has a desk with the crew: it gives a task there, and is told on its own
 * thread, in a later turn, that the task is done. Tasks are done in the order in which they come.
 */

#include <sys/queue.h>

#include "reactor.h"

struct crew;
struct crew_desk;

/* Something to do. The owner embeds it, and keeps it, and whatever the work needs, until `done`. */
struct crew_task {
    void (*work)(struct crew_task *task); /* on a thread of the crew, while nobody else looks */
    void (*done)(struct crew_task *task); /* on the reactor's thread */
    struct crew_desk *desk;               /* private, like what follows */
    TAILQ_ENTRY(crew_task) links;
};

enum { CREW_THREADS_MAX = 8 };

/* Starts `thread_count` threads, 1 to CREW_THREADS_MAX. */
enum parley_status crew_create(unsigned thread_count, struct crew **out) PARLEY_MUST_CHECK;
/* Does what was left behind, ends the threads and frees everything. All desks are closed by then.
 */
void crew_destroy(struct crew *crew);

/* Before the reactor runs. */
enum parley_status crew_desk_open(struct crew *crew, struct reactor *reactor,
                                  struct crew_desk **out) PARLEY_MUST_CHECK;
/* When the reactor does not run any more: takes back what waits, and waits for what is under way.
 * Nobody is told that a task of this desk is done any more. NULL is fine. */
void crew_desk_close(struct crew_desk *desk);

/* Has `work` done, and then `done` called.  Threads: the desk's reactor's. */
void crew_do(struct crew_desk *desk, struct crew_task *task);
/* Has `work` done some time, which gives back the task itself: `done` is not called. */
void crew_leave(struct crew *crew, struct crew_task *task);
