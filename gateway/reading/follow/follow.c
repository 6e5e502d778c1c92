/* SPDX-License-Identifier: Apache-2.0 */

/* Following, from the request's side: it refuses what cannot be, waits until the list is whole, and
 * wakes the readers of a list when its log says that something has changed. A list has one listener
 * on each reactor, however many readers there are. */

#include "follow.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follow_reader.h"
#include "open_answer.h"
#include "problem.h"
#include "stream_format.h"
#include "tally.h"

enum {
    PATIENCE_MS = 5000, /* for a list that is being read */
    QUIET_MS = 15000,   /* without a byte: a keepalive */
    MOVED_PRECISION_MS = 500,
};

#define FORMS                                                                                      \
    "With follow=true a list is sent as events: accept application/x-ndjson for lines of JSON or " \
    "text/event-stream for server-sent events, or omit the Accept header. Without follow=true it " \
    "is application/json."

TAILQ_HEAD(follow_readers, follow_reader);

/* The readers of one list. It stays for the reactor's life: there are few lists. */
struct follow_group {
    LIST_ENTRY(follow_group) link;
    struct change_listener listener;
    struct change_log *log;
    struct follow_readers readers;
};

struct follows {
    struct reactor *reactor;
    struct stream_access access;
    LIST_HEAD(, follow_group) groups;
    bool is_draining;
};

/* ---- waking ---- */

static void wake(struct follow_reader *reader) {
    if (reader->phase == FOLLOW_FLOWS && reader->is_waiting) {
        reader->is_waiting = false;
        http_wake(reader->request);
    }
}

static void end(struct follow_reader *reader, const char *reason) {
    if (reader->end_reason == NULL) {
        reader->end_reason = reason;
    }
    wake(reader);
}

static void on_objection(struct stream_access_entry *entry, const char *reason) {
    end(OWNER_OF(entry, struct follow_reader, access), reason);
}

static void refuse(struct follow_reader *reader, enum problem problem, const char *detail) {
    reader->phase = FOLLOW_REFUSED;
    reactor_timer_clear(reader->follows->reactor, &reader->quiet);
    problem_respond(reader->request, problem, detail);
}

static void touch(struct follow_reader *reader) {
    struct reactor *reactor = reader->follows->reactor;
    const int64_t now_ms = reactor_now_ms(reactor);
    if (now_ms - reader->moved_ms >= MOVED_PRECISION_MS || !reader->quiet.is_armed) {
        reader->moved_ms = now_ms;
        reactor_timer_set(reactor, &reader->quiet, QUIET_MS);
    }
}

static void keep_alive(struct follow_reader *reader) {
    if (reader->phase == FOLLOW_FLOWS && reader->is_waiting) {
        reader->is_keepalive_due = true;
        wake(reader);
    }
}

static void on_quiet(struct reactor_timer *timer) {
    struct follow_reader *reader = OWNER_OF(timer, struct follow_reader, quiet);
    if (reader->phase == FOLLOW_WAITS) {
        refuse(reader, reader->absent, reader->absence);
        return;
    }
    keep_alive(reader);
    reactor_timer_set(reader->follows->reactor, timer, QUIET_MS);
}

/* ---- bytes ---- */

/* It looks further in the next turn, or when all is looked at again. */
static void look_later(struct follow_reader *reader, enum follow_found found) {
    struct reactor *reactor = reader->follows->reactor;
    if (found == FOLLOW_MORE) {
        reactor_timer_set(reactor, &reader->again, 0);
    } else if (reader->filter.sweep_ms > 0) {
        reactor_timer_set(reactor, &reader->again, reader->sweep_at_ms - reactor_now_ms(reactor));
    }
}

static void on_again(struct reactor_timer *timer) {
    struct follow_reader *reader = OWNER_OF(timer, struct follow_reader, again);
    const int64_t now_ms = reactor_now_ms(reader->follows->reactor);
    if (reader->filter.sweep_ms > 0 && now_ms >= reader->sweep_at_ms) {
        reader->sweep_at_ms = now_ms + reader->filter.sweep_ms;
        reader->is_sweep_due = true;
    }
    wake(reader);
}

static size_t copy_text(struct follow_reader *reader, char *buffer, size_t size) {
    const size_t left = reader->text.length - reader->offset;
    const size_t count = left < size ? left : size;
    memcpy(buffer, reader->text.data + reader->offset, count);
    reader->offset += count;
    if (reader->offset == reader->text.length) {
        parley_buffer_clear(&reader->text);
        reader->offset = 0;
    }
    return count;
}

/* When it runs dry it waits at once, so that being asked again costs nothing. */
static ssize_t read_events(void *state, char *buffer, size_t size) {
    struct follow_reader *reader = state;
    size_t used = 0;
    if (reader->is_waiting) {
        return 0;
    }
    while (used < size && !reader->is_waiting) {
        if (reader->text.length > 0 && reader->course != FOLLOW_BREAKS) {
            used += copy_text(reader, buffer + used, size - used);
        } else if (reader->course != FOLLOW_GOES_ON) {
            break;
        } else {
            const enum follow_found found = follow_reader_fill(reader);
            reader->is_waiting = reader->course == FOLLOW_GOES_ON && reader->text.length == 0;
            if (reader->is_waiting) {
                look_later(reader, found);
            }
        }
    }
    if (used > 0) {
        touch(reader);
    }
    if (used > 0 || reader->course == FOLLOW_GOES_ON) {
        return (ssize_t)used;
    }
    return reader->course == FOLLOW_BREAKS ? HTTP_SOURCE_ABORT : HTTP_SOURCE_END;
}

/* ---- beginning ---- */

bool follow_query_admit(struct http_request *request, const struct follow_query *query,
                        bool has_limit) {
    if (query->is_followed && has_limit) {
        problem_respond(request, PROBLEM_INVALID_PARAMETER,
                        "A list that is followed is sent whole: leave out `limit` and `cursor`, "
                        "and choose with the other options.");
        return false;
    }
    if (!query->is_followed && query->token != NULL) {
        problem_respond(
            request, PROBLEM_INVALID_PARAMETER,
            "`since` resumes a list that is followed: add follow=true, or leave it out.");
        return false;
    }
    return true;
}

static size_t number_of(const struct parley_protocol *protocol) {
    size_t number = 0;
    while (parley_protocols[number] != protocol) {
        number++;
    }
    return number;
}

/* Last-Event-ID takes precedence, as for streams. Returns: false when it has answered. */
static bool read_token(struct http_request *request, const struct follow_query *query,
                       const char *name, struct follow_token *token, bool *out_has_token) {
    const char *last = http_request_header(request, "Last-Event-ID");
    const bool has_last = last != NULL && *last != '\0';
    const char *text = has_last ? last : query->token;
    *out_has_token = text != NULL;
    if (text == NULL || follow_token_read(text, name, token)) {
        return true;
    }
    problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                           "%s cannot be `%.128s`: it takes " FOLLOW_SINCE_WANTS ", such as "
                           "`%s:0123456789abcdef:01234567:42`. Without it the whole list comes.",
                           has_last ? "The header `Last-Event-ID`" : "The query option `since`",
                           text, name);
    return false;
}

/* FNV-1a, of all options but those about following, in any order; and of whom it is for. */
struct digest {
    uint32_t sum;
};

static uint32_t hash_text(uint32_t hash, const char *text) {
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT32_C(16777619);
    }
    return (hash ^ 0xff) * UINT32_C(16777619);
}

static bool add_option(void *context, const char *name, const char *value) {
    struct digest *digest = context;
    if (strcmp(name, "follow") != 0 && strcmp(name, "since") != 0) {
        digest->sum += hash_text(hash_text(UINT32_C(2166136261), name), value);
    }
    return true;
}

static uint32_t digest_of(const struct http_request *request, const char *agent) {
    struct digest digest = {0};
    http_request_each_query(request, add_option, &digest);
    return digest.sum + (agent != NULL ? hash_text(1, agent) : 0);
}

static void begin_to_flow(struct follow_reader *reader) {
    struct follows *follows = reader->follows;
    follow_reader_place(reader, reader->has_token ? &reader->token : NULL);
    reader->phase = FOLLOW_FLOWS;
    reader->is_open_due = true;
    reader->sweep_at_ms = reactor_now_ms(follows->reactor) + reader->filter.sweep_ms;
    reactor_timer_clear(follows->reactor, &reader->quiet);
    touch(reader);
    stream_access_add(&follows->access, &reader->access);
    open_answer_add_headers(reader->request);
    http_respond_live(reader->request, 200, reader->media_type, read_events);
}

static const struct follow_trouble *trouble_of(const struct follow_reader *reader) {
    const struct follow_trouble *trouble = NULL;
    if (reader->ops->trouble != NULL) {
        pthread_mutex_lock(reader->log->lock);
        trouble = reader->ops->trouble(reader->list);
        pthread_mutex_unlock(reader->log->lock);
    }
    return trouble;
}

/* Returns: false: the list is not whole yet. */
static bool try_to_begin(struct follow_reader *reader) {
    const struct follow_trouble *trouble = trouble_of(reader);
    pthread_mutex_lock(reader->log->lock);
    const bool is_whole = reader->ops->is_whole(reader->list);
    pthread_mutex_unlock(reader->log->lock);
    if (trouble != NULL) {
        refuse(reader, PROBLEM_OVERLOADED, trouble->detail);
    } else if (is_whole) {
        begin_to_flow(reader);
    }
    return trouble != NULL || is_whole;
}

static void tell(struct follow_reader *reader) {
    const struct follow_trouble *trouble = trouble_of(reader);
    if (trouble != NULL) {
        end(reader, trouble->reason);
    } else {
        wake(reader);
    }
}

static void on_changes(struct change_listener *listener) {
    struct follow_group *group = OWNER_OF(listener, struct follow_group, listener);
    struct follow_reader *next;
    for (struct follow_reader *reader = TAILQ_FIRST(&group->readers); reader != NULL;
         reader = next) {
        next = TAILQ_NEXT(reader, link);
        if (reader->phase == FOLLOW_WAITS) {
            (void)try_to_begin(reader);
        } else {
            tell(reader);
        }
    }
}

/* Returns: NULL: no memory. */
static struct follow_group *group_of(struct follows *follows, struct change_log *log) {
    struct follow_group *group;
    LIST_FOREACH(group, &follows->groups, link) {
        if (group->log == log) {
            return group;
        }
    }
    group = calloc(1, sizeof *group);
    if (group != NULL) {
        group->log = log;
        group->listener = (struct change_listener){.reactor = follows->reactor, .come = on_changes};
        TAILQ_INIT(&group->readers);
        LIST_INSERT_HEAD(&follows->groups, group, link);
        change_log_listen(log, &group->listener);
    }
    return group;
}

/* ---- requests ---- */

static void request_ended(void *state, struct http_request *request) {
    struct follow_reader *reader = state;
    (void)request;
    if (reader->follows->is_draining) {
        refuse(reader, PROBLEM_DRAINING, OPEN_ANSWER_DRAINING);
        return;
    }
    reader->phase = FOLLOW_WAITS;
    if (!try_to_begin(reader)) {
        reactor_timer_set(reader->follows->reactor, &reader->quiet, PATIENCE_MS);
    }
}

/* A keepalive shows whether it has left: bytes that it does not take come back. */
static void request_half_closed(void *state, struct http_request *request) {
    (void)request;
    keep_alive(state);
}

static void destroy(struct follow_reader *reader) {
    follow_reader_finish(reader);
    free(reader->agent);
    free(reader);
}

static void request_closed(void *state, bool is_complete) {
    struct follow_reader *reader = state;
    struct follows *follows = reader->follows;
    (void)is_complete;
    reactor_timer_clear(follows->reactor, &reader->quiet);
    reactor_timer_clear(follows->reactor, &reader->again);
    stream_access_remove(&follows->access, &reader->access);
    TAILQ_REMOVE(&reader->group->readers, reader, link);
    tally_leave(reader->opening);
    destroy(reader);
}

static const struct http_handler handler = {
    .end = request_ended, .half_closed = request_half_closed, .closed = request_closed};

/* Owns: the reader has the filter.  Returns: NULL: no memory; the filter is the caller's. */
static struct follow_reader *create(struct follows *follows, struct http_request *request,
                                    const struct follow_options *options,
                                    const struct stream_format *form) {
    struct follow_group *group = group_of(follows, options->log);
    struct follow_reader *reader = group != NULL ? calloc(1, sizeof *reader) : NULL;
    char *agent = options->agent != NULL ? strdup(options->agent) : NULL;
    if (reader == NULL || (options->agent != NULL && agent == NULL)) {
        free(reader);
        free(agent);
        return NULL;
    }
    *reader =
        (struct follow_reader){.request = request,
                               .ops = options->ops,
                               .list = options->list,
                               .log = options->log,
                               .filter = options->filter,
                               .part = options->part,
                               .born = options->born,
                               .absent = options->absent,
                               .absence = options->absence,
                               .is_sse = form->is_sse,
                               .digest = digest_of(request, options->agent),
                               .follows = follows,
                               .group = group,
                               .access = {.request = request,
                                          .reads = UINT64_C(1) << number_of(options->protocol),
                                          .agent = agent,
                                          .end = on_objection},
                               .agent = agent,
                               .media_type = form->media_type,
                               .quiet.fire = on_quiet,
                               .again.fire = on_again};
    list_name(options->protocol->name, options->name, reader->name);
    parley_buffer_init(&reader->text);
    parley_buffer_init(&reader->item);
    TAILQ_INSERT_TAIL(&group->readers, reader, link);
    return reader;
}

/* Returns: false when it has answered. */
static bool is_serving(const struct follows *follows, struct http_request *request) {
    if (follows->is_draining) {
        problem_respond(request, PROBLEM_DRAINING, OPEN_ANSWER_DRAINING);
    }
    return !follows->is_draining;
}

void follows_serve(struct follows *follows, const struct limits *limits,
                   struct http_request *request, const struct follow_query *query,
                   const struct follow_options *options) {
    struct stream_format form;
    struct follow_token token = {0};
    bool has_token;
    char name[LIST_NAME_SIZE];
    struct tally_entry *opening = NULL;
    struct follow_reader *reader = NULL;
    list_name(options->protocol->name, options->name, name);
    if (stream_format_choose(request, NULL, FORMS, &form) &&
        read_token(request, query, name, &token, &has_token) && is_serving(follows, request) &&
        open_answer_admit(limits, request, form.media_type, &opening)) {
        reader = create(follows, request, options, &form);
        if (reader == NULL) {
            tally_leave(opening);
            problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        }
    }
    if (reader == NULL) {
        options->filter.release(options->filter.context);
        return;
    }
    reader->opening = opening;
    reader->token = token;
    reader->has_token = has_token;
    http_request_note(request, HTTP_NOTE_PARKED, 1);
    http_request_serve(request, &handler, reader);
}

/* ---- all of them ---- */

enum parley_status follows_create(struct reactor *reactor, const struct guard *guard,
                                  const struct configuration *configuration, struct follows **out) {
    struct follows *follows = calloc(1, sizeof *follows);
    if (follows == NULL) {
        return PARLEY_E_MEMORY;
    }
    follows->reactor = reactor;
    LIST_INIT(&follows->groups);
    stream_access_init(&follows->access, reactor, guard, configuration);
    *out = follows;
    return PARLEY_OK;
}

void follows_destroy(struct follows *follows) {
    if (follows == NULL) {
        return;
    }
    while (!LIST_EMPTY(&follows->groups)) {
        struct follow_group *group = LIST_FIRST(&follows->groups);
        assert(TAILQ_EMPTY(&group->readers));
        change_log_ignore(&group->listener);
        LIST_REMOVE(group, link);
        free(group);
    }
    stream_access_finish(&follows->access);
    free(follows);
}

void follows_access_changed(struct follows *follows) {
    stream_access_changed(&follows->access);
}

void follows_drain(struct follows *follows) {
    struct follow_group *group;
    follows->is_draining = true;
    LIST_FOREACH(group, &follows->groups, link) {
        struct follow_reader *next;
        for (struct follow_reader *reader = TAILQ_FIRST(&group->readers); reader != NULL;
             reader = next) {
            next = TAILQ_NEXT(reader, link);
            if (reader->phase == FOLLOW_WAITS) {
                refuse(reader, PROBLEM_DRAINING, OPEN_ANSWER_DRAINING);
            } else {
                end(reader, "draining");
            }
        }
    }
}
