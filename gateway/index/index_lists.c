/* SPDX-License-Identifier: Apache-2.0 */

/* See index_lists.h. A question copies its parameters, since its client may go while it runs. One
 * whose `after` is not indexed so far is asked again until its time is over.
 *
 *   ASKED ── it is answered ──▶ OVER
 *   ASKED ── it is answered, and data is wanted ──▶ FETCHING ── all have come ──▶ OVER
 *   ASKED ── behind or not there, and there is time ──▶ WAITING ── 50 ms ──▶ ASKED
 *   any ── its client is gone ──▶ OVER, once no thread has it
 *
 * One message without an index begins with FETCHING.
 */

#include "index_lists.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "clock_and_ids.h"
#include "etag.h"
#include "index_checks.h"
#include "index_fetch.h"
#include "index_search.h"
#include "index_values.h"
#include "inbox_watch.h"
#include "negotiate.h"
#include "problem.h"
#include "query_options.h"
#include "request_slots.h"
#include "stream_request.h"

enum {
    WAIT_MAX_S = 5,
    AGAIN_MS = 50,
    BEGIN_WITHIN_MS = 10000, /* five questions that take as long as they may */
    QUESTIONS_MAX = 64,      /* of a worker at a time; index_service counts those of all */
    MS_A_SECOND = 1000,
};

struct question {
    struct worker_pool_task task;
    struct index_lists *lists;
    struct http_request *request; /* NULL: it is gone */
    atomic_bool is_gone;          /* the same, for the thread that answers */
    struct request_slot slot;
    enum index_pool pool;
    struct index_question asked;
    struct reactor_timer again;
    int64_t until_ms; /* on the reactor's clock: as long it is asked again */
    struct parley_arena arena;
    struct parley_buffer out;
    char progress[INDEX_PROGRESS_MAX];
    enum index_answered answered;
    struct index_places places; /* of the messages whose data is wanted … */
    struct index_fetch fetch;
    struct parley_buffer items; /* … and they themselves */
    struct follow_query follow;
    bool is_busy, has_fault;
    LIST_ENTRY(question) links;
};

struct index_lists {
    struct index_service *service;
    struct index_keeper *keeper;
    struct reactor *reactor;
    const struct channel *channels;
    struct completion_queue *completions[INDEX_POOLS];
    const struct limits *limits;
    struct follows *follows;
    struct inbox_watch *const *inbox_watches;
    struct request_slots slots;
    struct index_fetcher fetcher;
    LIST_HEAD(, question) questions;
};

/* ---- the threads' part ---- */

static void work(struct worker_pool_task *task) {
    struct question *question = OWNER_OF(task, struct question, task);
    parley_buffer_clear(&question->out);
    index_places_clear(&question->places);
    question->answered =
        index_service_answer(question->lists->service, question->pool, &question->asked,
                             &question->out, &question->places, question->progress);
}

/* ---- the answer ---- */

static void leave(struct question *question) {
    if (question->lists->service != NULL) {
        index_service_leave(question->lists->service);
        request_slot_leave(&question->slot);
    }
}

static void destroy(struct question *question) {
    LIST_REMOVE(question, links);
    reactor_timer_clear(question->lists->reactor, &question->again);
    index_fetch_cancel(&question->fetch);
    leave(question);
    index_places_finish(&question->places);
    parley_buffer_finish(&question->items);
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
        [INDEX_NO_WORDS] = {PROBLEM_NO_INDEX,
                            "This server keeps no words of messages. Its operator can switch the "
                            "search on with --index-text."},
        [INDEX_BAD_WORDS] = {PROBLEM_INVALID_PARAMETER, INDEX_WORDS_EXPECTED},
        [INDEX_WORDLESS] = {PROBLEM_INVALID_PARAMETER,
                            "Messages of this protocol have no text that `q` could search."},
        [INDEX_TOO_SLOW] = {PROBLEM_OVERLOADED,
                            "The question took more than two seconds. Ask for less, such as a "
                            "shorter time."},
        [INDEX_TOO_LATE] = {PROBLEM_OVERLOADED, "Other questions to the index took ten seconds. "
                                                "Ask again later."},
        [INDEX_BROKEN] = {PROBLEM_INDEX_BEHIND,
                          "The index cannot be read: it is being made. Ask again later."},
        [INDEX_NO_MEMORY] = {PROBLEM_INTERNAL, "Out of memory."},
    };
    problem_respond(question->request, rows[question->answered].problem,
                    rows[question->answered].detail);
}

static void respond(struct question *question, const struct parley_buffer *text) {
    struct http_request *request = question->request;
    if (text->has_failed) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
    } else {
        http_header(request, "Vary", "Accept");
        etag_respond(request, "private, no-cache",
                     question->asked.is_lines ? "application/x-ndjson" : "application/json",
                     parley_buffer_bytes(text));
    }
}

static void answer(struct question *question) {
    if (question->progress[0] != '\0') {
        http_header(question->request, "Parley-Index", question->progress);
    }
    if (question->answered != INDEX_ANSWERED) {
        refuse(question);
    } else {
        if (question->asked.view->is_of_all) {
            stream_name_left_out(question->asked.readable, question->request);
        }
        respond(question, &question->out);
    }
}

/* ---- data ---- */

static void answer_one(struct question *question) {
    if (question->fetch.count == 0) {
        problem_respond_format(question->request, PROBLEM_NOT_FOUND,
                               "There is no such message of %s: it was never stored, has left its "
                               "stream, or is private.",
                               parley_protocols[question->asked.protocol]->title);
        return;
    }
    parley_buffer_append(&question->items, parley_buffer_bytes(&question->out));
    parley_buffer_text(&question->items, "}\n");
    question->items.has_failed = question->items.has_failed || question->out.has_failed;
    respond(question, &question->items);
}

/* A page that was full before its last item: the next one begins after those that were read. */
static void answer_page(struct question *question, bool is_full) {
    struct index_places *places = &question->places;
    struct parley_buffer *items = &question->items;
    char list[LIST_NAME_SIZE];
    if (is_full) {
        const struct index_place_of *last = &places->items[question->fetch.at - 1];
        index_cursor_write(last->stored_ms, last->sequence, last->stream, places->next);
    }
    index_question_list(&question->asked, list);
    index_list_next(items, question->asked.is_lines, question->fetch.count, list,
                    places->next[0] != '\0' ? places->next : NULL);
    parley_buffer_append(items, parley_buffer_bytes(&question->out));
    http_header(question->request, "Parley-Index", question->progress);
    respond(question, items);
}

static void on_fetched(struct index_fetch *fetch, enum index_fetched result) {
    struct question *question = OWNER_OF(fetch, struct question, fetch);
    switch (result) {
    case INDEX_FETCH_FAILED:
        problem_respond(question->request, PROBLEM_BUS_UNAVAILABLE,
                        "NATS does not give the messages now. Ask again later.");
        return;
    case INDEX_FETCH_NO_ROOM:
        problem_respond(question->request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    case INDEX_FETCHED:
    case INDEX_FETCH_FULL:
        break;
    }
    if (question->asked.view->is_of_one) {
        answer_one(question);
    } else {
        answer_page(question, result == INDEX_FETCH_FULL);
    }
}

static void fetch(struct question *question) {
    const struct index_question *asked = &question->asked;
    question->fetch = (struct index_fetch){.fetcher = &question->lists->fetcher,
                                           .places = &question->places,
                                           .readable = asked->readable,
                                           .own = asked->own,
                                           .out = &question->items,
                                           .add = asked->view->add,
                                           .is_lines = asked->is_lines,
                                           .is_open = asked->view->is_of_one,
                                           .done = on_fetched};
    index_fetch_begin(&question->fetch);
}

static enum parley_status note_place(struct question *question) {
    const struct stream_token *place = &question->asked.place;
    struct index_place_of of = {.protocol = question->asked.protocol, .sequence = place->sequence};
    snprintf(of.stream, sizeof of.stream, "%.*s", (int)place->stream.length, place->stream.data);
    index_places_clear(&question->places);
    return index_places_add(&question->places, &of);
}

/* What the index adds is left out while it cannot say. */
static void fetch_one(struct question *question) {
    if (question->answered != INDEX_ANSWERED) {
        parley_buffer_clear(&question->out);
    }
    if (note_place(question) != PARLEY_OK) {
        problem_respond(question->request, PROBLEM_INTERNAL, "Out of memory.");
    } else {
        fetch(question);
    }
}

static void ask(struct question *question);

static void done(struct worker_pool_task *task) {
    struct question *question = OWNER_OF(task, struct question, task);
    struct reactor *reactor = question->lists->reactor;
    question->is_busy = false;
    if (question->answered == INDEX_BEHIND) {
        index_keeper_hurry(question->lists->keeper);
    }
    if (question->request == NULL) {
        destroy(question);
    } else if ((question->answered == INDEX_BEHIND || question->answered == INDEX_BROKEN) &&
               reactor_now_ms(reactor) < question->until_ms) {
        reactor_timer_set(reactor, &question->again, AGAIN_MS);
    } else if (question->asked.view->is_of_one) {
        fetch_one(question);
    } else if (question->asked.has_data && question->answered == INDEX_ANSWERED) {
        fetch(question);
    } else {
        answer(question);
    }
}

static void ask(struct question *question) {
    question->is_busy = true;
    question->asked.begin_by_ms = reactor_clock_ms() + BEGIN_WITHIN_MS;
    question->task = (struct worker_pool_task){.work = work, .done = done};
    worker_pool_submit(question->lists->completions[question->pool], &question->task);
}

static void on_again(struct reactor_timer *timer) {
    ask(OWNER_OF(timer, struct question, again));
}

/* ---- parameters ---- */

static bool read_wait(struct question *question, const char *value) {
    const bool is_decimal = value[strspn(value, "0123456789.")] == '\0'; /* strtod takes 0x5, too */
    char *end;
    const double seconds = strtod(value, &end);
    const bool is_sound =
        is_decimal && end != value && *end == '\0' && seconds <= (double)WAIT_MAX_S;
    if (is_sound) {
        question->until_ms =
            reactor_now_ms(question->lists->reactor) + (int64_t)(seconds * (double)MS_A_SECOND);
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
    if (copy == NULL) {
        return true; /* has_fault says so */
    }
    if (option == INDEX_FOLLOW) {
        return follow_query_set(&question->follow, copy);
    }
    if (option == INDEX_SINCE && asked->view->may_follow) {
        question->follow.token = copy;
        return true;
    }
    return option == INDEX_WAIT ? read_wait(question, value) : index_value_set(asked, option, copy);
}

/* Returns: false: it is answered. */
static bool read_options(struct question *question, struct http_request *request) {
    struct index_question *asked = &question->asked;
    if (!query_options_read(request, asked->view->options, set_option, question)) {
        return false;
    }
    if (question->has_fault) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return false;
    }
    return index_check(asked, question->lists->fetcher.jetstream, request);
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
    atomic_store(&question->is_gone, true);
    if (!question->is_busy) {
        destroy(question);
    }
}

static const struct http_handler handler = {.closed = request_closed};

/* There is room, or no index.  Returns: false: it is answered. */
static bool enter(struct question *question, struct http_request *request) {
    struct index_lists *lists = question->lists;
    if (lists->service == NULL) {
        return true;
    }
    if (!request_slots_admit(&lists->slots, QUESTIONS_MAX, lists->limits, request, "the index",
                             &question->slot)) {
        return false;
    }
    if (!index_service_enter(lists->service)) {
        problem_respond(request, PROBLEM_OVERLOADED,
                        "Too many questions wait for the index. Ask again later.");
        return false;
    }
    request_slot_take(&lists->slots, &question->slot);
    return true;
}

static bool has_index(const struct index_lists *lists, struct http_request *request) {
    if (lists->service == NULL) {
        problem_respond(request, PROBLEM_NO_INDEX,
                        "This server keeps no index. Its operator can switch it on with --index "
                        "on.");
    }
    return lists->service != NULL;
}

/* Whether the protocol has the view; else it is answered. */
static bool is_of(const struct index_view *view, const struct parley_protocol *protocol,
                  struct http_request *request) {
    const bool is_there = protocol == NULL || index_view_is_of(view, protocol);
    if (!is_there) {
        problem_respond_format(
            request, PROBLEM_NOT_FOUND,
            "Messages of %s make no such list. /v1/protocols/%s names those that "
            "they make, as `views`.",
            protocol->title, protocol->name);
    }
    return is_there;
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

/* Returns: NULL: it is answered. */
static struct question *create(struct index_lists *lists, struct http_request *request,
                               const struct index_view *view,
                               const struct parley_protocol *protocol, uint64_t readable,
                               const char *own) {
    struct question *question = calloc(1, sizeof *question);
    if (question == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return NULL;
    }
    question->lists = lists;
    if (!enter(question, request)) {
        free(question);
        return NULL;
    }
    question->again.fire = on_again;
    question->asked = (struct index_question){.view = view,
                                              .channels = lists->channels,
                                              .until_ms = INT64_MAX,
                                              .now_ms = clock_now_seconds() * MS_A_SECOND,
                                              .overdue_ms = -1,
                                              .limit = INDEX_LIMIT_DEFAULT,
                                              .has_data = view->has_data,
                                              .is_unwanted = &question->is_gone};
    question->asked.has_words = lists->service != NULL && index_service_has_words(lists->service);
    place_protocol(&question->asked, protocol, readable);
    parley_buffer_init(&question->out);
    parley_buffer_init(&question->items);
    LIST_INSERT_HEAD(&lists->questions, question, links);
    question->asked.own =
        own != NULL ? parley_arena_copy(&question->arena, parley_bytes_of(own)) : NULL;
    question->has_fault = own != NULL && question->asked.own == NULL;
    return question;
}

/* What is followed is kept current for all who follow it. */
static void serve_followed(struct question *question, struct http_request *request) {
    struct index_lists *lists = question->lists;
    const struct index_question *asked = &question->asked;
    const struct inbox_follow with = {.reactor = lists->reactor,
                                      .service = lists->service,
                                      .completions = lists->completions[INDEX_VIEWS],
                                      .follows = lists->follows,
                                      .limits = lists->limits,
                                      .agent = asked->values[INDEX_AGENT],
                                      .own = asked->own,
                                      .unacked = asked->unacked};
    inbox_watch_serve(lists->inbox_watches[asked->protocol], request, &question->follow, &with);
}

/* Whether the options of a list that may be followed go together; else it is answered. */
static bool check_follow(const struct question *question, struct http_request *request) {
    const char *const *values = question->asked.values;
    if (!question->asked.view->may_follow) {
        return true;
    }
    if (question->follow.is_followed &&
        (values[INDEX_AFTER] != NULL || values[INDEX_WAIT] != NULL)) {
        problem_respond(request, PROBLEM_INVALID_PARAMETER,
                        "A list that is followed has each message once it is indexed: leave out "
                        "`after` and `wait`.");
        return false;
    }
    return follow_query_admit(request, &question->follow,
                              values[INDEX_LIMIT] != NULL || values[INDEX_CURSOR] != NULL);
}

void index_lists_serve(struct index_lists *lists, struct http_request *request,
                       const struct index_view *view, const struct parley_protocol *protocol,
                       uint64_t readable, const char *own) {
    if (!is_of(view, protocol, request) || !has_index(lists, request)) {
        return;
    }
    struct question *question = create(lists, request, view, protocol, readable, own);
    if (question == NULL) {
        return;
    }
    if (!read_options(question, request) || !check_follow(question, request)) {
        destroy(question);
        return;
    }
    if (question->follow.is_followed) {
        serve_followed(question, request);
        destroy(question);
        return;
    }
    if (!read_form(question, request)) {
        destroy(question);
        return;
    }
    question->request = request;
    question->pool =
        view->is_quick && question->asked.values[INDEX_WORDS] == NULL ? INDEX_LOOKUPS : INDEX_VIEWS;
    http_request_serve(request, &handler, question);
    ask(question);
}

/* ---- one message ---- */

/* Whether messages of the protocol lie in that stream; else it is answered. */
static bool has_stream(const struct question *question, struct http_request *request) {
    const struct jetstream *jetstream = question->lists->fetcher.jetstream;
    const struct parley_bytes wanted = question->asked.place.stream;
    if (!jetstream_can_read(jetstream)) {
        const char *trouble = jetstream_trouble(jetstream);
        problem_respond_format(request, PROBLEM_BUS_UNAVAILABLE, "%s.",
                               trouble != NULL ? trouble : "NATS cannot be read now");
        return false;
    }
    if (index_is_stream_of(jetstream, question->asked.protocol, wanted)) {
        return true;
    }
    problem_respond_format(request, PROBLEM_NOT_FOUND,
                           "No messages of %s lie in a stream of that name.",
                           parley_protocols[question->asked.protocol]->title);
    return false;
}

/* Returns: false: it is answered. */
static bool read_place(struct question *question, struct http_request *request, const char *place) {
    const char *copy = parley_arena_copy(&question->arena, parley_bytes_of(place));
    if (copy == NULL || question->has_fault) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return false;
    }
    if (!stream_place_parse(copy, &question->asked.place)) {
        problem_respond(request, PROBLEM_NOT_FOUND,
                        "A message is found by its stream and sequence: "
                        "/v1/PROTOCOL/messages/STREAM:SEQUENCE.");
        return false;
    }
    return has_stream(question, request);
}

void index_lists_serve_one(struct index_lists *lists, struct http_request *request,
                           const struct parley_protocol *protocol, const char *place,
                           const char *own) {
    if (!query_options_none(request)) {
        return;
    }
    struct question *question =
        create(lists, request, index_view_find("message"), protocol, 0, own);
    if (question == NULL) {
        return;
    }
    if (!read_place(question, request, place)) {
        destroy(question);
        return;
    }
    question->request = request;
    http_request_serve(request, &handler, question);
    if (lists->service != NULL) {
        ask(question);
    } else {
        fetch_one(question);
    }
}

enum parley_status index_lists_create(const struct index_lists_options *options,
                                      struct index_lists **out) {
    struct index_lists *lists = calloc(1, sizeof *lists);
    if (lists == NULL) {
        return PARLEY_E_MEMORY;
    }
    lists->service = options->service;
    lists->keeper = options->keeper;
    lists->reactor = options->reactor;
    lists->channels = options->channels;
    lists->limits = options->limits;
    lists->follows = options->follows;
    lists->inbox_watches = options->inbox_watches;
    LIST_INIT(&lists->questions);
    enum parley_status status = index_fetcher_init(&lists->fetcher, options->jetstream,
                                                   options->schemas, options->channels);
    for (size_t i = 0; i < INDEX_POOLS && status == PARLEY_OK && lists->service != NULL; i++) {
        status = completion_queue_open(index_service_pool(lists->service, (enum index_pool)i),
                                       lists->reactor, &lists->completions[i]);
    }
    if (status != PARLEY_OK) {
        index_lists_destroy(lists);
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
    for (size_t i = 0; i < INDEX_POOLS; i++) {
        completion_queue_close(lists->completions[i]);
        lists->completions[i] = NULL;
    }
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        if (lists->inbox_watches[i] != NULL) {
            inbox_watch_end(lists->inbox_watches[i], lists->reactor);
        }
    }
    for (question = LIST_FIRST(&lists->questions); question != NULL; question = next) {
        next = LIST_NEXT(question, links);
        question->is_busy = false;
        if (question->request == NULL) {
            destroy(question);
        }
    }
}

void index_lists_destroy(struct index_lists *lists) {
    if (lists != NULL) {
        index_fetcher_finish(&lists->fetcher);
        free(lists);
    }
}
