/* SPDX-License-Identifier: Apache-2.0 */

/* POST …/tasks/next: the best open work for an agent, claimed in its name. The board says which to
 * try; the claim is a message like any other, and its protocol decides whether it is the first. Who
 * loses tries one of the next best by chance, so that gateways that see the same board do not all
 * try the same.
 *
 * With an Idempotency-Key the id of the claim follows from sender, agent and key, so that a claim
 * that was made before, through any gateway, is found on the board, once that has read what NATS
 * held when the request came. A claim that repeats one of the same agent may be one of another key:
 * the board says which, once it has read that far.
 *
 * With `max` it claims as many together as there is work for, and waits only for the first. What
 * goes wrong with others ends the answer early: the agent gets what it holds. The bucket's leader
 * is asked once how far it is written, in place of three keys a task; once the board has read that
 * far, what it does not have was not there at that moment, which is as late as a look-up would have
 * been. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "channel.h"
#include "waiters.h"
#include "phase.h"
#include "prefer.h"
#include "problem.h"
#include "small_body.h"
#include "tasks.h"
#include "task_agent.h"
#include "task_claim_id.h"
#include "task_take.h"
#include "task_wish.h"

enum {
    WAIT_MAX_S = 300,
    CATCH_UP_MS = 5000, /* the board is read for the first time, or behind NATS */
    AMONG_MAX = 16,
    MANY_MIN = 4,    /* with fewer, their keys are asked for */
    GONE_MAX = 1000, /* requests that are found to be gone, before a search ends */
    SAME_FOR_MS = 600000,
    ITEMS_BYTES_MAX = 1024 * 1024, /* of several: with more, the answer has no further one */
};

/*   RECEIVING ── the body has ended ──▶ SEARCHING
 *
 *   SEARCHING ── a claim may have been made before ──▶ ASKING ──▶ CATCHING_UP ──▶ SEARCHING
 *   SEARCHING ── there is none ──▶ PARKED ── woken ──▶ SEARCHING
 *   SEARCHING ── much on the board was stale ──▶ PAUSING ── the next turn ──▶ SEARCHING
 *   SEARCHING ── there is some ──▶ TAKING ── lost, or there is room for more ──▶ SEARCHING
 *   SEARCHING ── there are many ──▶ ASKING ──▶ CATCHING_UP ──▶ TAKING
 *   TAKING ── a message is gone ──▶ SEARCHING, the first time by ASKING
 *   TAKING ── the agent holds it, perhaps by another key ──▶ ASKING
 *   any ── it is answered ──▶ OVER
 */
enum next_phase {
    NEXT_RECEIVING,
    NEXT_SEARCHING,
    NEXT_ASKING,      /* how far the bucket has been written, or where a stream begins */
    NEXT_CATCHING_UP, /* until the board has read that far */
    NEXT_PARKED,      /* until there is work */
    NEXT_PAUSING,     /* until the next turn */
    NEXT_TAKING,      /* task_take.h */
    NEXT_OVER,
};

struct next {
    struct request_options options;
    struct waiters *waiters;
    struct board *board;
    struct http_request *request; /* NULL once it is gone */
    enum next_phase phase;
    struct small_body body;
    struct parley_buffer items; /* what it has claimed, separated by commas … */
    size_t item_count;          /* … of so many */
    struct task_wish wish;
    struct board_waiter waiter;
    struct waiter place;
    struct waiter_ticket ticket;
    struct jetstream_request *asked;
    struct reactor_timer pause;
    struct board_find find; /* the first of those that are taken together … */
    struct task_taking taking;
    struct task_take *takes; /* … which are these; NULL before the first */
    size_t take_count, under_way;
    bool have_takes_begun; /* else they are only taken from the board */
    size_t among, gone_count;
    char gone_from[BOARD_STREAM_MAX]; /* the stream of one that is gone */
    unsigned wait_s;                  /* that is preferred; 0: not at all */
    int64_t until_ms;                 /* it would wait */
    int64_t patience_ms; /* until it waits, whatever is preferred, for the board to be read */
    bool is_applied;     /* the preference */
    char claim_id[WORK_CLAIM_ID_SIZE]; /* "": a fresh one for each */
};

static void enter(struct next *next, enum next_phase phase) {
    static const unsigned allowed[] = {
        [NEXT_RECEIVING] = PHASE(NEXT_SEARCHING) | PHASE(NEXT_OVER),
        [NEXT_SEARCHING] = PHASE(NEXT_ASKING) | PHASE(NEXT_PARKED) | PHASE(NEXT_PAUSING) |
                           PHASE(NEXT_TAKING) | PHASE(NEXT_OVER),
        [NEXT_ASKING] =
            PHASE(NEXT_CATCHING_UP) | PHASE(NEXT_SEARCHING) | PHASE(NEXT_TAKING) | PHASE(NEXT_OVER),
        [NEXT_CATCHING_UP] = PHASE(NEXT_SEARCHING) | PHASE(NEXT_TAKING) | PHASE(NEXT_OVER),
        [NEXT_PARKED] = PHASE(NEXT_SEARCHING) | PHASE(NEXT_OVER),
        [NEXT_PAUSING] = PHASE(NEXT_SEARCHING) | PHASE(NEXT_OVER),
        [NEXT_TAKING] = PHASE(NEXT_SEARCHING) | PHASE(NEXT_ASKING) | PHASE(NEXT_OVER),
        [NEXT_OVER] = 0,
    };
    next->phase = (enum next_phase)phase_after(allowed, next->phase, phase);
}

static void forget_takes(struct next *next) {
    for (size_t i = 0; i < next->take_count; i++) {
        task_take_finish(&next->takes[i]);
    }
    free(next->takes);
    next->takes = NULL;
    next->take_count = 0;
}

static void destroy(struct next *next) {
    forget_takes(next);
    small_body_finish(&next->body);
    parley_buffer_finish(&next->items);
    request_options_release(&next->options);
    free(next);
}

static struct gateway *gateway_of(const struct next *next) {
    return next->options.gateway;
}

/* ---- answers ---- */

static void note_preference(const struct next *next) {
    char value[32];
    if (next->is_applied) {
        snprintf(value, sizeof value, "wait=%u", next->wait_s);
        http_header(next->request, "Preference-Applied", value);
    }
}

/* Owns: steals the text's bytes. */
static void respond(struct next *next, struct parley_buffer *answer) {
    enter(next, NEXT_OVER);
    if (answer->has_failed) {
        problem_respond(next->request, PROBLEM_INTERNAL, "Out of memory.");
    } else {
        note_preference(next);
        http_respond(next->request, 200, "application/json", parley_buffer_bytes(answer));
    }
    parley_buffer_finish(answer);
}

static void respond_items(struct next *next) {
    struct parley_buffer answer;
    const bool is_list = next->wish.max > 0;
    parley_buffer_init(&answer);
    parley_buffer_reserve(&answer, next->items.length + sizeof "{\"items\":[]}\n");
    parley_buffer_text(&answer, is_list ? "{\"items\":[" : "");
    parley_buffer_append(&answer, parley_buffer_bytes(&next->items));
    parley_buffer_text(&answer, is_list ? "]}\n" : "\n");
    answer.has_failed |= next->items.has_failed;
    respond(next, &answer);
}

static void refuse(struct next *next, enum problem problem, const char *detail) {
    if (next->item_count > 0) {
        respond_items(next);
        return;
    }
    enter(next, NEXT_OVER);
    problem_respond(next->request, problem, detail);
}

static void refuse_away(struct next *next, const char *what) {
    const struct failure failure = task_take_away(gateway_of(next), what);
    refuse(next, failure.problem, failure.detail);
}

static void respond_nothing(struct next *next) {
    if (next->item_count > 0) {
        respond_items(next);
        return;
    }
    if (!board_is_current(next->board)) {
        refuse_away(next, "The tasks are still being read from NATS");
        return;
    }
    enter(next, NEXT_OVER);
    note_preference(next);
    http_respond(next->request, 204, NULL, (struct parley_bytes){0});
}

static void search(struct next *next);
static void ask_how_far(struct next *next);
static void ask_for_takes(struct next *next);

/* Another one may have been quicker: the next best, by chance. */
static void search_more(struct next *next) {
    next->among = next->among * 2 < AMONG_MAX ? next->among * 2 : AMONG_MAX;
    enter(next, NEXT_SEARCHING);
    search(next);
}

static void respond_failed(struct next *next, const struct task_take *take) {
    if (next->item_count > 0) {
        respond_items(next);
        return;
    }
    enter(next, NEXT_OVER);
    problem_respond_members(next->request, take->failure.problem, take->failure.detail,
                            parley_buffer_bytes(&take->item));
}

static void on_beginning(void *context, const struct jetstream_stream_info *info) {
    struct next *next = context;
    next->asked = NULL;
    if (info->is_known) {
        board_begins_at(next->board, next->gone_from, info->first_sequence);
    }
    enter(next, NEXT_SEARCHING);
    search(next);
}

/* Retention has removed requests, or their stream was purged: then many are gone, and where the
 * stream begins now says which. One that was removed out of the middle is found by itself. */
static void leave_out(struct next *next, bool is_first) {
    if (next->gone_count > GONE_MAX) {
        refuse_away(next, "The requests of many open tasks are gone from NATS, and more may be");
        return;
    }
    if (is_first) {
        enter(next, NEXT_ASKING);
        next->asked =
            jetstream_stream_ask(gateway_of(next)->jetstream, next->gone_from, on_beginning, next);
    }
    if (next->asked == NULL) {
        enter(next, NEXT_SEARCHING);
        search(next);
    }
}

/* ---- taking ---- */

static void add_item(struct next *next, const struct task_take *take) {
    struct parley_buffer *items = &next->items;
    parley_buffer_text(items, next->item_count > 0 ? "," : "");
    parley_buffer_append(items, parley_buffer_bytes(&take->item));
    items->has_failed |= take->item.has_failed;
    next->item_count++;
}

/* How those that were taken together have ended. */
struct ends {
    size_t counts[TASK_TAKE_FAILED + 1];
    const struct task_take *failed; /* the first one */
};

static struct ends gather(struct next *next) {
    struct ends ends = {0};
    for (size_t i = 0; i < next->take_count; i++) {
        const struct task_take *take = &next->takes[i];
        ends.counts[take->end]++;
        if (take->end == TASK_TAKE_CLAIMED) {
            add_item(next, take);
        } else if (take->end == TASK_TAKE_GONE) {
            memcpy(next->gone_from, take->find.stream, sizeof next->gone_from);
        } else if (take->end == TASK_TAKE_LOST && take->find.is_claimed) { /* and has ended */
            next->wish.wish.claim_id = (struct parley_bytes){0};
        } else if (take->end == TASK_TAKE_FAILED && ends.failed == NULL) {
            ends.failed = take;
        }
    }
    return ends;
}

static bool has_enough(const struct next *next) {
    return next->item_count >= (next->wish.max > 0 ? next->wish.max : 1) ||
           next->items.length >= ITEMS_BYTES_MAX || next->items.has_failed;
}

static void follow_takes(struct next *next, const struct ends *ends) {
    const bool is_first_gone = next->gone_count == 0;
    next->gone_count += ends->counts[TASK_TAKE_GONE];
    if (has_enough(next)) {
        respond_items(next);
    } else if (ends->failed != NULL) {
        respond_failed(next, ends->failed);
    } else if (ends->counts[TASK_TAKE_REPEATED] > 0) {
        ask_how_far(next);
    } else if (ends->counts[TASK_TAKE_GONE] > 0) {
        leave_out(next, is_first_gone);
    } else if (ends->counts[TASK_TAKE_LOST] > 0) {
        search_more(next);
    } else {
        next->among = 1;
        enter(next, NEXT_SEARCHING);
        search(next);
    }
}

/* The takes are freed by the next ones, or with the request: what failed is read until then. */
static void on_taken(void *context) {
    struct next *next = context;
    if (--next->under_way > 0) {
        return;
    }
    if (next->request == NULL) {
        destroy(next);
        return;
    }
    const struct ends ends = gather(next);
    follow_takes(next, &ends);
}

/* They are taken from the board, and wait until that has read on. */
static bool are_takes_waiting(const struct next *next) {
    return next->take_count > 0 && !next->have_takes_begun;
}

static void give_back_waiting(struct next *next) {
    for (size_t i = 0; are_takes_waiting(next) && i < next->take_count; i++) {
        board_give_back(next->board, next->takes[i].find.id);
    }
    next->have_takes_begun = true;
}

static void begin_takes(struct next *next) {
    enter(next, NEXT_TAKING);
    next->have_takes_begun = true;
    next->taking.agent = next->wish.wish.agent;
    next->taking.room = ITEMS_BYTES_MAX - next->items.length;
    next->under_way = 1; /* until all have begun */
    for (size_t i = 0; i < next->take_count; i++) {
        next->under_way += task_take_begin(&next->takes[i], &next->taking) ? 1 : 0;
    }
    on_taken(next);
}

/* Owns: room for `max` of them. */
static void take_more(struct next *next, size_t max) {
    struct board_find *finds = max > 1 ? calloc(max - 1, sizeof *finds) : NULL;
    const size_t count =
        finds != NULL ? board_take_many(next->board, &next->wish.wish, next->among, finds, max - 1)
                      : 0; /* and without memory the first one alone */
    for (size_t i = 0; i < count; i++) {
        next->takes[next->take_count++].find = finds[i];
    }
    free(finds);
}

/* The first one was found. With `max` as many as there is work for are taken with it. */
static void take_work(struct next *next) {
    const size_t max = next->wish.max > 0 ? next->wish.max - next->item_count : 1;
    forget_takes(next);
    next->takes = calloc(max, sizeof *next->takes);
    if (next->takes == NULL) {
        board_give_back(next->board, next->find.id);
        refuse(next, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    next->takes[0].find = next->find;
    next->take_count = 1;
    next->have_takes_begun = false;
    next->options.facts_read_to = 0;
    take_more(next, max);
    if (next->take_count < MANY_MIN) {
        begin_takes(next);
    } else {
        ask_for_takes(next);
    }
}

/* ---- searching and waiting ---- */

static void on_wake(struct board_waiter *waiter) {
    waiter_wake(OWNER_OF(waiter, struct next, waiter)->ticket);
}

static int64_t time_left_ms(const struct next *next) {
    if (next->item_count > 0) {
        return 0; /* what it holds is not to wait */
    }
    const bool is_patient = next->until_ms < next->patience_ms && !board_is_current(next->board);
    return (is_patient ? next->patience_ms : next->until_ms) -
           reactor_now_ms(gateway_of(next)->reactor);
}

static bool park(struct next *next) {
    const int64_t left_ms = time_left_ms(next);
    if (left_ms <= 0 || !waiters_enter(next->waiters, &next->place, left_ms)) {
        return false;
    }
    next->ticket = waiter_ticket(&next->place);
    return true;
}

static void on_pause_over(struct reactor_timer *timer) {
    struct next *next = OWNER_OF(timer, struct next, pause);
    enter(next, NEXT_SEARCHING);
    search(next);
}

static void search(struct next *next) {
    bool is_found = false;
    next->waiter.wish = &next->wish.wish;
    next->find.is_unfinished = false;
    if (park(next)) {
        is_found = board_take_or_wait(next->board, &next->waiter, next->among, &next->find);
        if (!is_found && !next->find.is_unfinished && time_left_ms(next) > 0) {
            next->is_applied = next->wait_s > 0;
            enter(next, NEXT_PARKED);
            return;
        }
        waiter_leave(&next->place);
    }
    /* Without time to wait, or the board was not current until this moment. */
    if (!is_found && !next->find.is_unfinished) {
        is_found = board_take(next->board, &next->wish.wish, next->among, &next->find);
    }
    board_leave(next->board, &next->waiter);
    if (is_found) {
        take_work(next);
    } else if (next->find.is_unfinished) {
        enter(next, NEXT_PAUSING);
        reactor_timer_set(gateway_of(next)->reactor, &next->pause, 0);
    } else {
        respond_nothing(next);
    }
}

/* Who asks may be bound to another agent by now.  Returns: false: it is answered. */
static bool is_agent_still_allowed(struct next *next) {
    struct request_options now = next->options;
    now.check.only_sender = principal_agent(guard_principal(next->request),
                                            gateway_of(next)->configuration->bind_sender);
    return task_agent_is_allowed(&now, next->request, next->wish.wish.agent);
}

/* A token that is revoked claims nothing any more. Returns: whether the request may continue; if
 * not, it is answered, and what it was woken for is another's. */
static bool may_continue(struct next *next) {
    const struct parley_protocol *protocol = next->options.protocol;
    const struct guard *guard = gateway_of(next)->guard;
    const bool may = guard_admit_again(guard, next->request, GUARD_SEND, protocol) &&
                     guard_admit_again(guard, next->request, GUARD_READ, protocol) &&
                     is_agent_still_allowed(next);
    if (!may) {
        enter(next, NEXT_OVER);
        board_leave(next->board, &next->waiter);
        give_back_waiting(next);
    }
    return may;
}

/* Woken, too late, or at the end of the process. */
static void on_over(struct waiter *place, enum waiter_end end) {
    struct next *next = OWNER_OF(place, struct next, place);
    const bool will_take = are_takes_waiting(next) && end != WAITER_DRAINING;
    if ((will_take || end == WAITER_WOKEN) && !may_continue(next)) {
        return;
    }
    if (will_take) {
        board_leave(next->board, &next->waiter);
        begin_takes(next);
    } else if (end == WAITER_WOKEN) {
        next->gone_count = 0;
        enter(next, NEXT_SEARCHING);
        search(next);
    } else {
        const bool was_behind = next->phase == NEXT_CATCHING_UP;
        board_leave(next->board, &next->waiter);
        give_back_waiting(next);
        if (end == WAITER_DRAINING) {
            refuse(next, PROBLEM_DRAINING, "The server is shutting down. Nothing was claimed.");
        } else if (was_behind) {
            refuse_away(next, "The tasks are still being read from NATS");
        } else {
            respond_nothing(next);
        }
    }
}

/* ---- how far the bucket is written ---- */

/* Returns: false: NATS cannot be asked now. */
static bool ask_bucket(struct next *next, jetstream_info_fn *done) {
    char stream[FACT_NAME_MAX];
    const struct gateway *gateway = gateway_of(next);
    fact_stream_name(
        channel_find(gateway->configuration->channels, next->options.protocol)->fact_bucket,
        stream);
    enter(next, NEXT_ASKING);
    next->asked = jetstream_stream_ask(gateway->jetstream, stream, done, next);
    return next->asked != NULL;
}

/* Returns: whether the board has to read on to get there: on_over() follows. */
static bool catch_up(struct next *next, uint64_t sequence) {
    enter(next, NEXT_CATCHING_UP);
    const bool is_parked = waiters_enter(next->waiters, &next->place, CATCH_UP_MS);
    if (is_parked) {
        next->ticket = waiter_ticket(&next->place);
    }
    if (is_parked && board_wait_for(next->board, &next->waiter, sequence)) {
        return true;
    }
    waiter_leave(&next->place);
    return false;
}

/* A bucket that ends before what the board has read was made again: then the keys are asked for. */
static void on_written_for_takes(void *context, const struct jetstream_stream_info *info) {
    struct next *next = context;
    const bool is_known = info->is_led && info->last_sequence >= next->options.facts_read_to;
    next->asked = NULL;
    next->options.facts_read_to = is_known ? info->last_sequence : 0;
    if (!is_known || !catch_up(next, info->last_sequence)) {
        begin_takes(next);
    }
}

static void ask_for_takes(struct next *next) {
    next->options.facts_read_to = board_read_to(next->board);
    if (!ask_bucket(next, on_written_for_takes)) {
        next->options.facts_read_to = 0;
        begin_takes(next);
    }
}

/* ---- the same request again ---- */

static void on_written(void *context, const struct jetstream_stream_info *info) {
    struct next *next = context;
    next->asked = NULL;
    if (!info->is_led) {
        refuse_away(next, "NATS does not say how far the tasks have been written");
    } else if (!catch_up(next, info->last_sequence)) {
        enter(next, NEXT_SEARCHING);
        search(next);
    }
}

static void ask_how_far(struct next *next) {
    if (!ask_bucket(next, on_written)) {
        refuse_away(next, "NATS cannot be asked now");
    }
}

/* ---- the body ---- */

static size_t on_body(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct next *next = state;
    return small_body_take(&next->body, request, bytes);
}

/* Each claim says for how long it is. */
static void set_lease(struct next *next) {
    const struct parley_protocol *protocol = next->options.protocol;
    const struct parley_option *lease = protocol->tasks->claim_lease;
    if (lease != NULL) {
        next->options.check.values[lease - protocol->options].number = next->wish.lease;
    }
}

static void on_end(void *state, struct http_request *request) {
    struct next *next = state;
    const struct reactor *reactor = gateway_of(next)->reactor;
    if (!small_body_is_whole(&next->body, request)) {
        return;
    }
    const char *fault =
        task_wish_read(parley_buffer_bytes(&next->body.bytes), &next->body.arena, &next->wish);
    if (fault != NULL) {
        refuse(next, PROBLEM_MALFORMED, fault);
        return;
    }
    if (!task_agent_is_allowed(&next->options, next->request, next->wish.wish.agent)) {
        return;
    }
    if (next->wish.max > 0 && next->options.publication.idempotency_key != NULL) {
        refuse(next, PROBLEM_MALFORMED,
               "An Idempotency-Key names one task: send it without `max`, or `max` without it.");
        return;
    }
    set_lease(next);
    next->until_ms = reactor_now_ms(reactor) + (int64_t)next->wait_s * 1000;
    next->patience_ms = reactor_now_ms(reactor) + CATCH_UP_MS;
    enter(next, NEXT_SEARCHING);
    if (next->options.publication.idempotency_key == NULL) {
        search(next);
        return;
    }
    task_claim_id_write(&next->options.publication, next->wish.wish.agent, next->claim_id);
    next->wish.wish.claim_id = parley_bytes_of(next->claim_id);
    next->wish.wish.claimed_since_ms = clock_now_seconds() * 1000 - SAME_FOR_MS;
    if (board_find_claim(next->board, &next->wish.wish, &next->find)) {
        take_work(next);
    } else {
        ask_how_far(next);
    }
}

/* Its client is gone. A claim that is under way continues: whether it was made is not known. */
static void on_closed(void *state, bool is_complete) {
    struct next *next = state;
    (void)is_complete;
    next->request = NULL;
    waiter_leave(&next->place);
    board_leave(next->board, &next->waiter);
    give_back_waiting(next);
    jetstream_request_cancel(next->asked);
    reactor_timer_clear(gateway_of(next)->reactor, &next->pause);
    for (size_t i = 0; next->under_way > 0 && i < next->take_count; i++) {
        const bool was_under_way = next->takes[i].phase != TASK_TAKE_OVER;
        next->under_way -= was_under_way && task_take_cancel(&next->takes[i]) ? 1 : 0;
    }
    if (next->under_way == 0) {
        destroy(next);
    }
}

/* ---- its beginning ---- */

static unsigned preferred_wait_s(const struct http_request *request) {
    uint32_t seconds = 0;
    const char *prefer = http_request_header(request, "Prefer");
    if (prefer == NULL || !prefer_find_wait(parley_bytes_of(prefer), &seconds)) {
        return 0;
    }
    return seconds < WAIT_MAX_S ? seconds : WAIT_MAX_S;
}

static struct next *create(const struct request_options *options, struct board *board,
                           struct http_request *request) {
    struct next *next = calloc(1, sizeof *next);
    if (next == NULL || !request_options_keep(&next->options, options)) {
        free(next);
        return NULL;
    }
    next->board = board;
    next->request = request;
    next->taking = (struct task_taking){.options = &next->options,
                                        .board = board,
                                        .claim_id = next->claim_id,
                                        .done = on_taken,
                                        .context = next};
    next->among = 1;
    next->wait_s = preferred_wait_s(request);
    next->waiter.wake = on_wake;
    next->pause.fire = on_pause_over;
    next->place.over = on_over;
    small_body_init(&next->body, SMALL_BODY_BYTES_MAX);
    parley_buffer_init(&next->items);
    return next;
}

void tasks_serve_next(struct tasks *tasks, struct http_request *request,
                      const struct parley_protocol *protocol) {
    static const struct http_handler handler = {
        .body = on_body, .end = on_end, .closed = on_closed};
    struct gateway *gateway = tasks->gateway;
    struct request_options options = {
        .gateway = gateway, .protocol = protocol, .task = INGEST_FORWARD};
    struct board *board = tasks_board(tasks, request, protocol);
    if (board == NULL || !guard_admit(gateway->guard, request, GUARD_READ, protocol) ||
        !task_options_read(&options, request)) {
        return;
    }
    if (tasks_are_queue(gateway, protocol)) {
        problem_respond(request, PROBLEM_WORK_QUEUE,
                        "The tasks lie in a stream with work-queue or interest retention: read "
                        "them there, as the knights of that fleet do.");
        return;
    }
    struct next *next = create(&options, board, request);
    if (next == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    next->waiters = tasks->waiters;
    http_request_serve(request, &handler, next);
    http_commit(request);
}
