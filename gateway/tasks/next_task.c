/* SPDX-License-Identifier: Apache-2.0 */

/* POST …/tasks/next: the best open work for an agent, claimed in its name. The board says which to
 * try; the claim is a message like any other, and its protocol decides whether it is the first. Who
 * loses tries one of the next best by chance, so that gateways that see the same board do not all
 * try the same. The request's message is fetched before it is claimed: work that cannot be handed
 * over is not claimed.
 *
 * With an Idempotency-Key the id of the claim follows from sender, agent and key, so that a claim
 * that was made before, through any gateway, is found on the board, once that has read what NATS
 * held when the request came. A claim that repeats one of the same agent may be one of another key:
 * the board says which, once it has read that far.
 *
 * With `max` it claims one after another, as long as there is work, and waits only for the first.
 * What goes wrong after that ends the answer early: the agent gets what it holds. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "channel.h"
#include "check.h"
#include "json_fields.h"
#include "waiters.h"
#include "phase.h"
#include "prefer.h"
#include "problem.h"
#include "small_body.h"
#include "internal_submit.h"
#include "tasks.h"
#include "task_agent.h"
#include "task_claim_id.h"
#include "task_wish.h"

enum {
    WAIT_MAX_S = 300,
    CATCH_UP_MS = 5000, /* the board is read for the first time, or behind NATS */
    AMONG_MAX = 16,
    GONE_MAX = 1000, /* requests that are found to be gone, before a search ends */
    SAME_FOR_MS = 600000,
    ITEMS_BYTES_MAX = 1024 * 1024, /* of several: with more, the answer has no further one */
};

/*   RECEIVING ── the body has ended ──▶ SEARCHING
 *
 *   SEARCHING ── a claim may have been made before ──▶ ASKING ──▶ CATCHING_UP ──▶ SEARCHING
 *   SEARCHING ── there is none ──▶ PARKED ── woken ──▶ SEARCHING
 *   SEARCHING ── much on the board was stale ──▶ PAUSING ── the next turn ──▶ SEARCHING
 *   SEARCHING ── there is one ──▶ FETCHING ──▶ CLAIMING ── lost ──▶ SEARCHING
 *   FETCHING ── the message is gone ──▶ SEARCHING, the first time by ASKING
 *   CLAIMING ── the agent holds it, perhaps by another key ──▶ ASKING
 *   CLAIMING ── the agent holds it, and takes more ──▶ SEARCHING
 *   any ── it is answered ──▶ OVER
 */
enum next_phase {
    NEXT_RECEIVING,
    NEXT_SEARCHING,
    NEXT_ASKING,      /* how far the bucket has been written, or where a stream begins */
    NEXT_CATCHING_UP, /* until the board has read that far */
    NEXT_PARKED,      /* until there is work */
    NEXT_PAUSING,     /* until the next turn */
    NEXT_FETCHING,    /* the request's message */
    NEXT_CLAIMING,
    NEXT_OVER,
};

struct next {
    struct request_options options;
    struct waiters *waiters;
    struct board *board;
    struct http_request *request; /* NULL once it is gone */
    enum next_phase phase;
    struct small_body body;
    struct parley_buffer task;
    struct parley_buffer items; /* with `max`: what it has claimed, separated by commas … */
    size_t item_count;          /* … of so many */
    struct task_wish wish;
    struct board_waiter waiter;
    struct waiter place;
    struct waiter_ticket ticket;
    struct jetstream_request *asked;
    struct reactor_timer pause;
    struct board_find find;
    size_t among, gone_count;
    unsigned wait_s;     /* that is preferred; 0: not at all */
    int64_t until_ms;    /* it would wait */
    int64_t patience_ms; /* until it waits, whatever is preferred, for the board to be read */
    bool is_applied;     /* the preference */
    char claim_id[37], now[32]; /* claim_id "": a fresh one for each */
};

static void enter(struct next *next, enum next_phase phase) {
    static const unsigned allowed[] = {
        [NEXT_RECEIVING] = PHASE(NEXT_SEARCHING) | PHASE(NEXT_OVER),
        [NEXT_SEARCHING] = PHASE(NEXT_ASKING) | PHASE(NEXT_PARKED) | PHASE(NEXT_PAUSING) |
                           PHASE(NEXT_FETCHING) | PHASE(NEXT_OVER),
        [NEXT_ASKING] = PHASE(NEXT_CATCHING_UP) | PHASE(NEXT_SEARCHING) | PHASE(NEXT_OVER),
        [NEXT_CATCHING_UP] = PHASE(NEXT_SEARCHING) | PHASE(NEXT_OVER),
        [NEXT_PARKED] = PHASE(NEXT_SEARCHING) | PHASE(NEXT_OVER),
        [NEXT_PAUSING] = PHASE(NEXT_SEARCHING) | PHASE(NEXT_OVER),
        [NEXT_FETCHING] =
            PHASE(NEXT_CLAIMING) | PHASE(NEXT_ASKING) | PHASE(NEXT_SEARCHING) | PHASE(NEXT_OVER),
        [NEXT_CLAIMING] = PHASE(NEXT_SEARCHING) | PHASE(NEXT_ASKING) | PHASE(NEXT_OVER),
        [NEXT_OVER] = 0,
    };
    next->phase = (enum next_phase)phase_after(allowed, next->phase, phase);
}

static void destroy(struct next *next) {
    small_body_finish(&next->body);
    parley_buffer_finish(&next->task);
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
    parley_buffer_init(&answer);
    parley_buffer_text(&answer, "{\"items\":[");
    parley_buffer_append(&answer, parley_buffer_bytes(&next->items));
    parley_buffer_text(&answer, "]}\n");
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
    const char *trouble = jetstream_trouble(gateway_of(next)->jetstream);
    char detail[512];
    snprintf(detail, sizeof detail, "%s%s%.300s. Nothing was claimed: ask again later.", what,
             trouble != NULL ? ": " : "", trouble != NULL ? trouble : "");
    refuse(next, PROBLEM_BUS_UNAVAILABLE, detail);
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

/* The receipt says which attempt it is, and until when the agent holds the task. */
static void write_lease(const struct next *next, struct parley_bytes receipt,
                        struct parley_buffer *out) {
    struct json_field fields[] = {{.name = "attempt"}, {.name = "until"}};
    struct parley_arena arena;
    parley_arena_init(&arena, 4 * SMALL_BODY_BYTES_MAX);
    out->has_failed |= json_fields_read(receipt, fields, 2, &arena, NULL) != JSON_FIELDS_READ;
    parley_buffer_format(out, ",\"attempt\":%.0f,\"lease\":{\"until\":",
                         fields[0].kind == PARLEY_NUMBER ? fields[0].number : 1);
    if (fields[1].kind == PARLEY_STRING) {
        parley_buffer_json(out, fields[1].text);
    } else {
        parley_buffer_text(out, "null");
    }
    parley_buffer_format(out, ",\"extend\":\"/v1/%s/tasks/%s/extend\"}",
                         next->options.protocol->name, next->find.id);
    parley_arena_finish(&arena);
}

static void write_claimed(const struct next *next, struct parley_bytes receipt,
                          struct parley_buffer *out) {
    parley_buffer_text(out, "{\"task\":");
    parley_buffer_append(out, parley_buffer_bytes(&next->task));
    parley_buffer_text(out, ",\"claim\":");
    parley_buffer_append(out, receipt);
    parley_buffer_text(out, ",\"deadline\":");
    if (next->find.deadline[0] != '\0') {
        parley_buffer_json(out, parley_bytes_of(next->find.deadline));
    } else {
        parley_buffer_text(out, "null");
    }
    write_lease(next, receipt, out);
    parley_buffer_char(out, '}');
}

static void search(struct next *next);

static void add_claimed(struct next *next, struct parley_bytes receipt) {
    struct parley_buffer *items = &next->items;
    parley_buffer_text(items, next->item_count > 0 ? "," : "");
    write_claimed(next, receipt, items);
    next->item_count++;
    if (next->item_count == next->wish.max || items->length > ITEMS_BYTES_MAX ||
        items->has_failed) {
        respond_items(next);
    } else {
        next->among = 1;
        enter(next, NEXT_SEARCHING);
        search(next);
    }
}

static void respond_claimed(struct next *next, struct parley_bytes receipt) {
    struct parley_buffer answer;
    if (next->wish.max > 0) {
        add_claimed(next, receipt);
        return;
    }
    parley_buffer_init(&answer);
    write_claimed(next, receipt, &answer);
    parley_buffer_char(&answer, '\n');
    respond(next, &answer);
}

/* ---- claiming ---- */

static void ask_how_far(struct next *next);

/* Another one may have been quicker: the next best, by chance. */
static void search_more(struct next *next) {
    next->among = next->among * 2 < AMONG_MAX ? next->among * 2 : AMONG_MAX;
    enter(next, NEXT_SEARCHING);
    search(next);
}

static void respond_failed(struct next *next, const struct internal_submit_answer *answer) {
    if (next->item_count > 0) {
        respond_items(next);
        return;
    }
    enter(next, NEXT_OVER);
    problem_respond_members(next->request, answer->failure->problem, answer->failure->detail,
                            answer->text);
}

/* 409: it is somebody else's, or over. And if this agent has claimed it before, then another
 * request of its has got it, unless that was this one, by its Idempotency-Key. */
static bool is_lost_by(const struct next *next, const struct internal_submit_answer *answer) {
    return answer->is_stored ? answer->is_duplicate && next->claim_id[0] == '\0'
                             : problem_status(answer->failure->problem) == 409;
}

static void on_claimed(void *context, const struct internal_submit_answer *answer) {
    struct next *next = context;
    const bool is_lost = is_lost_by(next, answer);
    if (is_lost) {
        board_lost(next->board, next->find.id);
    } else if (!answer->is_stored) {
        board_give_back(next->board, next->find.id);
    }
    if (next->request == NULL) {
        destroy(next);
    } else if (is_lost) {
        if (next->find.is_claimed) { /* and is over */
            next->wish.wish.claim_id = (struct parley_bytes){0};
        }
        search_more(next);
    } else if (answer->is_stored && answer->is_duplicate && !next->find.is_claimed) {
        ask_how_far(next);
    } else if (answer->is_stored) {
        respond_claimed(next, answer->text);
    } else {
        respond_failed(next, answer);
    }
}

static enum parley_status write_claim(struct next *next, const char *id,
                                      struct parley_buffer *out) {
    char fresh[37];
    id_new_from(&gateway_of(next)->identities, fresh);
    clock_now_text(next->now);
    next->options.protocol->tasks->write_claim(next->wish.wish.agent, parley_bytes_of(id),
                                               next->claim_id[0] != '\0' ? next->claim_id : fresh,
                                               next->now, out);
    return parley_buffer_status(out);
}

static void claim(struct next *next) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    enum parley_status status = write_claim(next, next->find.id, &text);
    if (status == PARLEY_OK) {
        enter(next, NEXT_CLAIMING);
        status =
            internal_submit_begin(&next->options, parley_buffer_bytes(&text), on_claimed, next);
    }
    if (status != PARLEY_OK) {
        board_give_back(next->board, next->find.id);
        refuse(next, PROBLEM_INTERNAL, "Out of memory.");
    }
    parley_buffer_finish(&text);
}

/* ---- the request's message ---- */

static void on_beginning(void *context, const struct jetstream_stream_info *info) {
    struct next *next = context;
    next->asked = NULL;
    if (info->is_known) {
        board_begins_at(next->board, next->find.stream, info->first_sequence);
    }
    enter(next, NEXT_SEARCHING);
    search(next);
}

/* Retention has removed it, or its stream was purged: then many are gone, and where the stream
 * begins now says which. One that was removed out of the middle is found by itself. */
static void leave_out(struct next *next) {
    board_lost(next->board, next->find.id);
    if (++next->gone_count > GONE_MAX) {
        refuse_away(next, "The requests of many open tasks are gone from NATS, and more may be");
        return;
    }
    if (next->gone_count == 1) {
        enter(next, NEXT_ASKING);
        next->asked = jetstream_stream_ask(gateway_of(next)->jetstream, next->find.stream,
                                           on_beginning, next);
    }
    if (next->asked == NULL) {
        enter(next, NEXT_SEARCHING);
        search(next);
    }
}

static void on_fetched(void *context, const struct jetstream_last *last) {
    struct next *next = context;
    next->asked = NULL;
    if (last->found == JETSTREAM_LAST_FOUND) {
        parley_buffer_clear(&next->task);
        parley_buffer_append(&next->task, last->payload);
        claim(next);
    } else if (last->found == JETSTREAM_LAST_NONE) {
        leave_out(next);
    } else {
        board_give_back(next->board, next->find.id);
        refuse_away(next, "The task could not be read from NATS");
    }
}

static void fetch(struct next *next) {
    enter(next, NEXT_FETCHING);
    next->asked = jetstream_message_ask(gateway_of(next)->jetstream, next->find.stream,
                                        next->find.sequence, on_fetched, next);
    if (next->asked == NULL) {
        board_give_back(next->board, next->find.id);
        refuse_away(next, "NATS cannot be asked now");
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
        fetch(next);
    } else if (next->find.is_unfinished) {
        enter(next, NEXT_PAUSING);
        reactor_timer_set(gateway_of(next)->reactor, &next->pause, 0);
    } else {
        respond_nothing(next);
    }
}

/* A token that is revoked claims nothing any more. Returns: whether the request may continue; if
 * not, it is answered, and what it was woken for is another's. */
static bool may_continue(struct next *next) {
    const struct parley_protocol *protocol = next->options.protocol;
    const struct guard *guard = gateway_of(next)->guard;
    const bool may = guard_admit_again(guard, next->request, GUARD_SEND, protocol) &&
                     guard_admit_again(guard, next->request, GUARD_READ, protocol);
    if (!may) {
        enter(next, NEXT_OVER);
        board_leave(next->board, &next->waiter);
    }
    return may;
}

/* Woken, too late, or at the end of the process. */
static void on_over(struct waiter *place, enum waiter_end end) {
    struct next *next = OWNER_OF(place, struct next, place);
    if (end == WAITER_WOKEN) {
        if (!may_continue(next)) {
            return;
        }
        next->gone_count = 0;
        enter(next, NEXT_SEARCHING);
        search(next);
    } else {
        const bool was_behind = next->phase == NEXT_CATCHING_UP;
        board_leave(next->board, &next->waiter);
        if (end == WAITER_DRAINING) {
            refuse(next, PROBLEM_DRAINING, "The server is shutting down. Nothing was claimed.");
        } else if (was_behind) {
            refuse_away(next, "The tasks are still being read from NATS");
        } else {
            respond_nothing(next);
        }
    }
}

/* ---- the same request again ---- */

static void on_written(void *context, const struct jetstream_stream_info *info) {
    struct next *next = context;
    next->asked = NULL;
    if (!info->is_known) {
        refuse_away(next, "NATS does not say how far the tasks have been written");
        return;
    }
    enter(next, NEXT_CATCHING_UP);
    const bool is_parked = waiters_enter(next->waiters, &next->place, CATCH_UP_MS);
    if (is_parked) {
        next->ticket = waiter_ticket(&next->place);
    }
    if (is_parked && board_wait_for(next->board, &next->waiter, info->last_sequence)) {
        return;
    }
    waiter_leave(&next->place);
    enter(next, NEXT_SEARCHING);
    search(next);
}

static void ask_how_far(struct next *next) {
    char stream[FACT_NAME_MAX];
    const struct gateway *gateway = gateway_of(next);
    fact_stream_name(
        channel_find(gateway->configuration->channels, next->options.protocol)->fact_bucket,
        stream);
    enter(next, NEXT_ASKING);
    next->asked = jetstream_stream_ask(gateway->jetstream, stream, on_written, next);
    if (next->asked == NULL) {
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
        fetch(next);
    } else {
        ask_how_far(next);
    }
}

/* Its client is gone. A claim that is under way goes on: nobody knows whether it was made. */
static void on_closed(void *state, bool is_complete) {
    struct next *next = state;
    (void)is_complete;
    next->request = NULL;
    waiter_leave(&next->place);
    board_leave(next->board, &next->waiter);
    jetstream_request_cancel(next->asked);
    reactor_timer_clear(gateway_of(next)->reactor, &next->pause);
    if (next->phase == NEXT_FETCHING) {
        board_give_back(next->board, next->find.id);
    }
    if (next->phase != NEXT_CLAIMING) {
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
    next->among = 1;
    next->wait_s = preferred_wait_s(request);
    next->waiter.wake = on_wake;
    next->pause.fire = on_pause_over;
    next->place.over = on_over;
    small_body_init(&next->body, SMALL_BODY_BYTES_MAX);
    parley_buffer_init(&next->task);
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
