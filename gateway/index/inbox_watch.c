/* SPDX-License-Identifier: Apache-2.0 */

/* See inbox_watch.h. The thread of the index has the question and the text alone while it answers;
 * all else is the reactor's, or has the lock of the table. */

#include "inbox_watch.h"

#include <stdlib.h>

#include "inbox_table.h"
#include "limit_sender.h"
#include "problem.h"

enum { LOOK_MS = 200, AFTER_FAILURE_MS = 1000, NS_A_MS = 1000000 };

struct inbox_watch {
    const struct channel *channels;
    const struct parley_protocol *protocol;
    struct inbox_table *table;
    pthread_mutex_t *lock;   /* of the table, and of the next one */
    struct reactor *reactor; /* which asks; NULL: none does */
    /* Of this reactor: */
    struct index_service *service;
    struct completion_queue *completions;
    struct reactor_timer timer; /* not while a question is asked */
    struct worker_pool_task task;
    enum inbox_wish wish;
    struct index_question question;
    struct index_inbox *asked;
    struct parley_buffer text;
    char progress[INDEX_PROGRESS_MAX];
    enum index_answered answered;
};

/* ---- questions ---- */

static void work(struct worker_pool_task *task) {
    struct inbox_watch *watch = OWNER_OF(task, struct inbox_watch, task);
    parley_buffer_clear(&watch->text);
    watch->answered = index_service_answer(watch->service, INDEX_VIEWS, &watch->question,
                                           &watch->text, NULL, watch->progress);
}

static void ask_next(struct inbox_watch *watch) {
    struct reactor *reactor = watch->reactor;
    pthread_mutex_lock(watch->lock);
    const enum inbox_wish wish =
        inbox_table_next(watch->table, reactor_now_ms(reactor), reactor_wall_clock_ns() / NS_A_MS,
                         watch->asked, &watch->question);
    watch->wish = wish;
    if (wish == INBOX_ENDS) {
        watch->reactor = NULL; /* another one may begin once the lock is free */
    }
    pthread_mutex_unlock(watch->lock);
    if (wish == INBOX_RESTS) {
        reactor_timer_set(reactor, &watch->timer, LOOK_MS);
    } else if (wish != INBOX_ENDS) {
        watch->question.channels = watch->channels;
        worker_pool_submit(watch->completions, &watch->task);
    }
}

/* A text that one question has made large is given back. */
static void done(struct worker_pool_task *task) {
    struct inbox_watch *watch = OWNER_OF(task, struct inbox_watch, task);
    struct reactor *reactor = watch->reactor;
    pthread_mutex_lock(watch->lock);
    inbox_table_take(watch->table, watch->wish, watch->answered, watch->asked,
                     parley_buffer_bytes(&watch->text), reactor_now_ms(reactor));
    pthread_mutex_unlock(watch->lock);
    parley_buffer_finish(&watch->text);
    parley_buffer_init(&watch->text);
    if (watch->answered == INDEX_ANSWERED) {
        ask_next(watch);
    } else {
        reactor_timer_set(reactor, &watch->timer, AFTER_FAILURE_MS);
    }
}

static void on_timer(struct reactor_timer *timer) {
    ask_next(OWNER_OF(timer, struct inbox_watch, timer));
}

/* ---- readers ---- */

/* One that follows. */
struct inbox_following {
    struct inbox_watch *watch;
    struct inbox_list *list;
    struct inbox_watching watching;
};

static void release(void *context) {
    struct inbox_following *following = context;
    pthread_mutex_t *lock = following->watch->lock;
    pthread_mutex_lock(lock);
    inbox_table_leave(following->list, reactor_clock_ms());
    pthread_mutex_unlock(lock);
    free(following);
}

/* Returns: whether there is room; else the list is NULL. */
static bool enter(struct inbox_following *following, const struct http_request *request,
                  const struct inbox_follow *with, struct follow_options *options) {
    struct inbox_watch *watch = following->watch;
    const bool is_limited = with->limits != NULL && !limit_sender_is_loopback(request);
    const struct limit_sender sender =
        is_limited ? limit_sender_of(with->limits, request) : (struct limit_sender){0};
    const struct inbox_key key = {.agent = with->agent,
                                  .is_bound = with->own != NULL,
                                  .is_unacked = with->unacked == INDEX_ONLY,
                                  .sender = is_limited ? &sender : NULL};
    pthread_mutex_lock(watch->lock);
    following->list = inbox_table_enter(watch->table, &key);
    if (following->list != NULL) {
        inbox_list_follow(following->list, options);
    }
    if (following->list != NULL && watch->reactor == NULL) {
        watch->reactor = with->reactor;
        watch->service = with->service;
        watch->completions = with->completions;
        reactor_timer_set(with->reactor, &watch->timer, 0);
    }
    pthread_mutex_unlock(watch->lock);
    return following->list != NULL;
}

void inbox_watch_serve(struct inbox_watch *watch, struct http_request *request,
                       const struct follow_query *query, const struct inbox_follow *with) {
    struct inbox_following *following = calloc(1, sizeof *following);
    if (following == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    *following = (struct inbox_following){.watch = watch, .watching = {.unacked = with->unacked}};
    struct follow_options options = {
        .protocol = watch->protocol,
        .name = "inbox",
        .agent = with->own,
        .filter = {.filter = &following->watching, .release = release, .context = following},
        .absent = PROBLEM_INDEX_BEHIND,
        .absence = "The inbox is still being read from the index. Ask again later."};
    if (!enter(following, request, with, &options)) {
        problem_respond(request, PROBLEM_OVERLOADED,
                        "As many inboxes are followed here as there can be, or as one sender may. "
                        "Ask again later, or for the pages of this one.");
        free(following);
        return;
    }
    follows_serve(with->follows, with->limits, request, query, &options);
}

void inbox_watch_end(struct inbox_watch *watch, const struct reactor *reactor) {
    pthread_mutex_lock(watch->lock);
    if (watch->reactor == reactor) {
        reactor_timer_clear(watch->reactor, &watch->timer);
        watch->reactor = NULL;
    }
    pthread_mutex_unlock(watch->lock);
}

/* ---- its life ---- */

static void destroy(struct inbox_watch *watch) {
    if (watch != NULL) {
        inbox_table_destroy(watch->table);
        parley_buffer_finish(&watch->text);
        free(watch->asked);
        free(watch);
    }
}

static enum parley_status create(const struct channel *channels, unsigned protocol,
                                 struct inbox_watch **out) {
    struct inbox_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        return PARLEY_E_MEMORY;
    }
    *watch = (struct inbox_watch){.channels = channels,
                                  .protocol = parley_protocols[protocol],
                                  .asked = calloc(1, sizeof *watch->asked),
                                  .timer = {.fire = on_timer},
                                  .task = {.work = work, .done = done}};
    parley_buffer_init(&watch->text);
    if (watch->asked == NULL || inbox_table_create(protocol, &watch->table) != PARLEY_OK) {
        destroy(watch);
        return PARLEY_E_MEMORY;
    }
    watch->lock = inbox_table_changes(watch->table)->lock;
    *out = watch;
    return PARLEY_OK;
}

enum parley_status inbox_watches_create(const struct channel *channels, struct inbox_watch ***out) {
    const unsigned count = (unsigned)parley_protocol_count();
    struct inbox_watch **watches = calloc(count + 1, sizeof(struct inbox_watch *));
    enum parley_status status = watches != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++) {
        if (index_view_is_of(index_view_find("inbox"), parley_protocols[i])) {
            status = create(channels, i, &watches[i]);
        }
    }
    if (status != PARLEY_OK) {
        inbox_watches_destroy(watches);
        return status;
    }
    *out = watches;
    return PARLEY_OK;
}

void inbox_watches_destroy(struct inbox_watch **watches) {
    for (size_t i = 0; watches != NULL && i < parley_protocol_count(); i++) {
        destroy(watches[i]);
    }
    free(watches);
}
