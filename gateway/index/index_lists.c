/* SPDX-License-Identifier: Apache-2.0 */

/* See index_lists.h. A question copies its parameters, since its client may go while it runs. One
 * whose `after` is not indexed so far is asked again until its time is over.
 *
 *   ASKED ── it is answered ──▶ OVER
 *   ASKED ── behind or not there, and there is time ──▶ WAITING ── 50 ms ──▶ ASKED
 *   ASKED, WAITING ── its client is gone ──▶ OVER, once no thread has it
 */

#include "index_lists.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "index_file.h"
#include "negotiate.h"
#include "problem.h"
#include "query_options.h"
#include "text.h"
#include "worker_pool.h"

enum {
    THREADS = 2,
    WAITING_MAX = 64,
    WAIT_MAX_S = 5,
    AGAIN_MS = 50,
    MS_A_SECOND = 1000,
};

/* A connection, for one thread at a time. */
struct reader {
    sqlite3 *file; /* NULL: it is not open */
    ino_t number;  /* of the file: one that was made again has another */
    bool is_taken;
};

struct index_service {
    const char *folder;
    struct worker_pool *pool;
    pthread_mutex_t lock; /* of readers */
    struct reader readers[THREADS];
    atomic_uint waiting_count;
};

struct question {
    struct worker_pool_task task;
    struct index_lists *lists;
    struct http_request *request; /* NULL: it is gone */
    struct index_question asked;
    struct reactor_timer again;
    int64_t until_ms; /* on the reactor's clock: as long it is asked again */
    struct parley_arena arena;
    struct parley_buffer out;
    char progress[INDEX_PROGRESS_MAX];
    enum index_answered answered;
    bool is_busy, has_fault;
    LIST_ENTRY(question) links;
};

struct index_lists {
    struct index_service *service;
    struct reactor *reactor;
    const struct channel *channels;
    struct completion_queue *completions;
    LIST_HEAD(, question) questions;
};

/* ---- files ---- */

static ino_t number_of(const char *folder) {
    char path[INDEX_PATH_MAX];
    struct stat about;
    snprintf(path, sizeof path, "%s/" INDEX_FILE_NAME, folder);
    return stat(path, &about) == 0 ? about.st_ino : 0;
}

static struct reader *take_reader(struct index_service *service) {
    struct reader *reader = service->readers;
    pthread_mutex_lock(&service->lock);
    while (reader->is_taken) {
        reader++; /* there is one for each thread */
    }
    reader->is_taken = true;
    pthread_mutex_unlock(&service->lock);
    const ino_t number = number_of(service->folder);
    if (reader->number != number) {
        sqlite3_close(reader->file);
        reader->file = number != 0 ? index_file_read(service->folder) : NULL;
        reader->number = reader->file != NULL ? number : 0;
    }
    return reader;
}

static void give_reader(struct index_service *service, struct reader *reader, bool is_broken) {
    if (is_broken) {
        sqlite3_close(reader->file);
        reader->file = NULL;
        reader->number = 0;
    }
    pthread_mutex_lock(&service->lock);
    reader->is_taken = false;
    pthread_mutex_unlock(&service->lock);
}

static void work(struct worker_pool_task *task) {
    struct question *question = OWNER_OF(task, struct question, task);
    struct index_service *service = question->lists->service;
    struct reader *reader = take_reader(service);
    parley_buffer_clear(&question->out);
    question->answered =
        reader->file == NULL
            ? INDEX_BROKEN
            : index_view_answer(reader->file, &question->asked, &question->out, question->progress);
    give_reader(service, reader, question->answered == INDEX_BROKEN);
}

enum parley_status index_service_create(const char *folder, struct index_service **out) {
    struct index_service *service = calloc(1, sizeof *service);
    if (service == NULL) {
        return PARLEY_E_MEMORY;
    }
    service->folder = folder;
    pthread_mutex_init(&service->lock, NULL);
    const enum parley_status status = worker_pool_create(THREADS, &service->pool);
    if (status != PARLEY_OK) {
        index_service_destroy(service);
        return status;
    }
    *out = service;
    return PARLEY_OK;
}

void index_service_destroy(struct index_service *service) {
    if (service == NULL) {
        return;
    }
    worker_pool_destroy(service->pool);
    for (size_t i = 0; i < THREADS; i++) {
        sqlite3_close(service->readers[i].file);
    }
    pthread_mutex_destroy(&service->lock);
    free(service);
}

/* ---- the answer ---- */

static void destroy(struct question *question) {
    LIST_REMOVE(question, links);
    reactor_timer_clear(question->lists->reactor, &question->again);
    atomic_fetch_sub(&question->lists->service->waiting_count, 1);
    parley_arena_finish(&question->arena);
    parley_buffer_finish(&question->out);
    free(question);
}

static void refuse(struct question *question) {
    static const struct {
        enum problem problem;
        const char *detail;
    } rows[] = {
        [INDEX_BEHIND] = {PROBLEM_INDEX_BEHIND,
                          "The index does not have the message that `after` names. Ask again, "
                          "or for longer with `wait`."},
        [INDEX_BAD_CURSOR] =
            {PROBLEM_INVALID_PARAMETER,
             "The query option `cursor` is not the `next` of a page of this list."},
        [INDEX_TOO_SLOW] = {PROBLEM_OVERLOADED,
                            "The question took more than two seconds. Ask for less, such as a "
                            "shorter time."},
        [INDEX_BROKEN] = {PROBLEM_INDEX_BEHIND,
                          "The index cannot be read: it is being made. Ask again later."},
        [INDEX_NO_MEMORY] = {PROBLEM_INTERNAL, "Out of memory."},
    };
    problem_respond(question->request, rows[question->answered].problem,
                    rows[question->answered].detail);
}

static void answer(struct question *question) {
    struct http_request *request = question->request;
    if (question->progress[0] != '\0') {
        http_header(request, "Parley-Index", question->progress);
    }
    if (question->answered != INDEX_ANSWERED) {
        refuse(question);
    } else if (question->asked.is_lines) {
        http_header(request, "Cache-Control", "no-store");
        http_compress(request);
        http_respond(request, 200, "application/x-ndjson", parley_buffer_bytes(&question->out));
    } else {
        struct parley_buffer out = question->out;
        parley_buffer_init(&question->out);
        problem_or_json(request, &out);
    }
}

static void ask(struct question *question);

static void done(struct worker_pool_task *task) {
    struct question *question = OWNER_OF(task, struct question, task);
    struct reactor *reactor = question->lists->reactor;
    question->is_busy = false;
    if (question->request == NULL) {
        destroy(question);
    } else if ((question->answered == INDEX_BEHIND || question->answered == INDEX_BROKEN) &&
               reactor_now_ms(reactor) < question->until_ms) {
        reactor_timer_set(reactor, &question->again, AGAIN_MS);
    } else {
        answer(question);
    }
}

static void ask(struct question *question) {
    question->is_busy = true;
    question->task = (struct worker_pool_task){.work = work, .done = done};
    worker_pool_submit(question->lists->completions, &question->task);
}

static void on_again(struct reactor_timer *timer) {
    ask(OWNER_OF(timer, struct question, again));
}

/* ---- parameters ---- */

static bool read_time(const char *value, int64_t *out_ms) {
    double seconds;
    if (!text_unix_time(parley_bytes_of(value), &seconds)) {
        return false;
    }
    *out_ms = (int64_t)(seconds * MS_A_SECOND);
    return true;
}

static bool read_wait(struct question *question, const char *value) {
    char *end;
    const double seconds = strtod(value, &end);
    const bool is_sound = value[0] != '\0' && *end == '\0' && seconds >= 0 && seconds <= WAIT_MAX_S;
    if (is_sound) {
        question->until_ms =
            reactor_now_ms(question->lists->reactor) + (int64_t)(seconds * MS_A_SECOND);
    }
    return is_sound;
}

static bool set_option(void *context, size_t number, const char *value) {
    struct question *question = context;
    struct index_question *asked = &question->asked;
    const enum index_option option = index_option_of(asked->view->options[number].name);
    const char *copy = parley_arena_copy(&question->arena, parley_bytes_of(value));
    question->has_fault |= copy == NULL;
    asked->values[option] = copy;
    switch (option) {
    case INDEX_LIMIT:
        return query_option_count(value, INDEX_LIMIT_MAX, &asked->limit);
    case INDEX_SINCE:
        return read_time(value, &asked->since_ms);
    case INDEX_UNTIL:
        return read_time(value, &asked->until_ms);
    case INDEX_WAIT:
        return read_wait(question, value);
    case INDEX_AFTER:
        return copy != NULL && stream_place_parse(copy, &asked->after);
    default:
        return value[0] != '\0';
    }
}

/* Returns: false: it is answered. */
static bool read_options(struct question *question, struct http_request *request) {
    struct index_question *asked = &question->asked;
    const char *required = asked->view->required;
    if (!query_options_read(request, asked->view->options, set_option, question)) {
        return false;
    }
    if (question->has_fault) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return false;
    }
    if (required != NULL && asked->values[index_option_of(required)] == NULL) {
        problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                               "The query option `%s` is required.", required);
        return false;
    }
    return true;
}

/* Returns: false: it is answered. */
static bool read_form(struct question *question, struct http_request *request) {
    static const char *const offers[] = {"application/json", "application/x-ndjson",
                                         "application/ndjson", "application/jsonl", NULL};
    const int form = http_request_encoding(request)->protocol != NULL
                         ? 0
                         : negotiate(http_request_header(request, "Accept"), offers);
    question->asked.is_lines = form > 0;
    if (form < 0) {
        problem_respond(request, PROBLEM_NOT_ACCEPTABLE,
                        "The answer is application/json or application/x-ndjson: accept one of "
                        "them, or omit the Accept header.");
    }
    return form >= 0;
}

/* ---- requests ---- */

static void request_closed(void *state, bool is_complete) {
    struct question *question = state;
    (void)is_complete;
    question->request = NULL;
    if (!question->is_busy) {
        destroy(question);
    }
}

static const struct http_handler handler = {.closed = request_closed};

static bool admit(struct index_lists *lists, struct http_request *request) {
    if (lists->service == NULL) {
        problem_respond(request, PROBLEM_NO_INDEX,
                        "This server keeps no index. Its operator can switch it on with --index "
                        "on.");
        return false;
    }
    if (atomic_fetch_add(&lists->service->waiting_count, 1) >= WAITING_MAX) {
        atomic_fetch_sub(&lists->service->waiting_count, 1);
        problem_respond(request, PROBLEM_OVERLOADED,
                        "Too many questions wait for the index. Ask again later.");
        return false;
    }
    return true;
}

static void place_protocol(struct index_question *asked, const struct parley_protocol *protocol,
                           uint64_t readable) {
    asked->readable = readable;
    for (unsigned i = 0; protocol != NULL && parley_protocols[i] != NULL; i++) {
        if (parley_protocols[i] == protocol) {
            asked->protocol = i;
            asked->readable = UINT64_C(1) << i;
        }
    }
}

void index_lists_serve(struct index_lists *lists, struct http_request *request,
                       const struct index_view *view, const struct parley_protocol *protocol,
                       uint64_t readable, const char *own) {
    if (!admit(lists, request)) {
        return;
    }
    struct question *question = calloc(1, sizeof *question);
    if (question == NULL) {
        atomic_fetch_sub(&lists->service->waiting_count, 1);
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    question->lists = lists;
    question->again.fire = on_again;
    question->asked = (struct index_question){.view = view,
                                              .channels = lists->channels,
                                              .until_ms = INT64_MAX,
                                              .limit = INDEX_LIMIT_DEFAULT};
    place_protocol(&question->asked, protocol, readable);
    parley_buffer_init(&question->out);
    LIST_INSERT_HEAD(&lists->questions, question, links);
    question->asked.own =
        own != NULL ? parley_arena_copy(&question->arena, parley_bytes_of(own)) : NULL;
    question->has_fault = own != NULL && question->asked.own == NULL;
    if (!read_options(question, request) || !read_form(question, request)) {
        destroy(question);
        return;
    }
    question->request = request;
    http_request_serve(request, &handler, question);
    ask(question);
}

enum parley_status index_lists_create(struct index_service *service, struct reactor *reactor,
                                      const struct channel *channels, struct index_lists **out) {
    struct index_lists *lists = calloc(1, sizeof *lists);
    if (lists == NULL) {
        return PARLEY_E_MEMORY;
    }
    lists->service = service;
    lists->reactor = reactor;
    lists->channels = channels;
    LIST_INIT(&lists->questions);
    const enum parley_status status =
        service != NULL ? completion_queue_open(service->pool, reactor, &lists->completions)
                        : PARLEY_OK;
    if (status != PARLEY_OK) {
        free(lists);
        return status;
    }
    *out = lists;
    return PARLEY_OK;
}

void index_lists_stop(struct index_lists *lists) {
    struct question *question, *next;
    if (lists == NULL) {
        return;
    }
    completion_queue_close(lists->completions);
    lists->completions = NULL;
    for (question = LIST_FIRST(&lists->questions); question != NULL; question = next) {
        next = LIST_NEXT(question, links);
        question->is_busy = false;
        if (question->request == NULL) {
            destroy(question);
        }
    }
}

void index_lists_destroy(struct index_lists *lists) {
    free(lists);
}
