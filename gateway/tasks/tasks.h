/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* /v1/{protocol}/tasks: work that one agent holds, for protocols that have such (parley/tasks.h).
 */

#include "board.h"
#include "gateway.h"

struct follows;
struct waiters;

/* Serves tasks on one reactor.  Owns: borrows all objects that it points to, which must outlive it.
 */
struct tasks {
    struct gateway *gateway;         /* through which work is claimed */
    struct board *const *boards;     /* one per protocol, shared; NULL if it has no work */
    struct waiters *waiters;         /* of requests that wait for work */
    struct follows *follows;         /* of lists that are followed */
    struct request_slots slots;      /* of those for lists; zeroed at first */
    struct request_slots many_slots; /* of those that change many; likewise */
};

/* GET …/tasks/{id}: from the keys of the facts, as the bucket's leader has them. */
void tasks_serve_one(struct tasks *tasks, struct http_request *request,
                     const struct parley_protocol *protocol, const char *id);
/* GET …/tasks: from the board of this process, once or followed. */
void tasks_serve_list(struct tasks *tasks, struct http_request *request,
                      const struct parley_protocol *protocol);

/* POST …/tasks/next: the best open work for an agent, claimed in its name. */
void tasks_serve_next(struct tasks *tasks, struct http_request *request,
                      const struct parley_protocol *protocol);

/* POST …/tasks/{id}/extend, …/release: the agent that holds it asks for that. */
void tasks_serve_change(struct tasks *tasks, struct http_request *request,
                        const struct parley_protocol *protocol, const char *id,
                        enum parley_task_change_kind kind);

/* POST …/tasks/{id}/cancel, …/retry: who requested it asks for that, or the scope admin. */
enum { TASK_REASON_BYTES_MAX = 1024 };
void tasks_serve_action(struct tasks *tasks, struct http_request *request,
                        const struct parley_protocol *protocol, const char *id,
                        enum parley_task_change_kind kind);

/* POST …/tasks/cancel, …/retry: the same for many, by their ids or a filter. */
void tasks_serve_many(struct tasks *tasks, struct http_request *request,
                      const struct parley_protocol *protocol, enum parley_task_change_kind kind);

/* ---- shared by the files of this folder ---- */

/* Writes an id in lower case, as in the keys.  Returns: false: it is no id of this protocol. */
bool tasks_write_id(const struct parley_protocol *protocol, const char *id, char out[BOARD_ID_MAX]);
/* Opens a query for all facts of a task; its values are by parley_task_kind.places.  Returns: false
 * without memory. */
bool tasks_open_query(struct fact_query *query, struct fact_store *store,
                      const struct parley_protocol *protocol, const char *id) PARLEY_MUST_CHECK;
/* Whether its answer says anything of the task. */
bool tasks_are_known(const struct fact_query *query);
/* Answers a request whose path has no id. */
void tasks_refuse_id(struct http_request *request, const char *id);

/* The board of the protocol, which reads its bucket from now on.  Returns: NULL: it cannot, or the
 * protocol has no work; the request is answered. */
struct board *tasks_board(const struct tasks *tasks, struct http_request *request,
                          const struct parley_protocol *protocol);

/* Whether its work is stored in a stream that gives each message to the first reader. */
bool tasks_are_queue(const struct gateway *gateway, const struct parley_protocol *protocol);
