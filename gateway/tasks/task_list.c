/* SPDX-License-Identifier: Apache-2.0 */

/* The work on the board. The first who asks has it read, and waits until all was. */

#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "clock_and_ids.h"
#include "problem.h"
#include "quantity.h"
#include "query_options.h"
#include "text.h"
#include "tasks.h"
#include "task_options.h"

enum {
    LIMIT_DEFAULT = 100,
    LIMIT_MAX = 1000,
    LISTS_MAX = 64, /* of a worker at a time: clients may read theirs slowly */
    NAMES_MAX = 64, /* of one option */
    ATTEMPT_MAX = 100,
    LOOK_MS = 10,
    PATIENCE_MS = 5000
};
#define OVERDUE_MAX_MS (INT64_C(30) * 86400 * 1000)

struct listing {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    struct board *board;
    struct http_request *request;
    struct request_slot slot;
    struct board_filter filter; /* borrows from the request, and from here */
    struct parley_bytes domains[NAMES_MAX], holders[NAMES_MAX], from[NAMES_MAX], errors[NAMES_MAX];
    size_t limit;
    bool is_overdue;            /* only what is past its deadline … */
    int64_t overdue_ms;         /* … for longer than that */
    struct reactor_timer timer; /* until the board is current */
    int64_t patient_until_ms;
};

/* ---- the query ---- */

/* Returns: false: it is none of the words. */
static bool add_bit(struct parley_bytes item, const char *const *words, unsigned *bits) {
    const size_t number = text_choice(item, words);
    *bits |= words[number] != NULL ? 1u << number : 0;
    return words[number] != NULL;
}

static bool add_state(void *context, struct parley_bytes item) {
    struct listing *listing = context;
    return add_bit(item, listing->protocol->tasks->states, &listing->filter.states);
}

static bool add_priority(void *context, struct parley_bytes item) {
    struct listing *listing = context;
    return add_bit(item, listing->protocol->priorities, &listing->filter.priorities);
}

static bool add_name(struct board_names *names, struct parley_bytes *items,
                     struct parley_bytes item) {
    if (names->count == NAMES_MAX || item.length == 0) {
        return false;
    }
    items[names->count++] = item;
    names->items = items;
    return true;
}

static bool add_domain(void *context, struct parley_bytes item) {
    struct listing *listing = context;
    return text_is_domain(item) && add_name(&listing->filter.domains, listing->domains, item);
}

static bool add_holder(void *context, struct parley_bytes item) {
    struct listing *listing = context;
    return add_name(&listing->filter.holders, listing->holders, item);
}

static bool add_from(void *context, struct parley_bytes item) {
    struct listing *listing = context;
    return add_name(&listing->filter.from, listing->from, item);
}

static bool add_error(void *context, struct parley_bytes item) {
    struct listing *listing = context;
    return add_name(&listing->filter.errors, listing->errors, item);
}

static bool set_lapse(struct listing *listing, const char *value) {
    const bool is_true = strcmp(value, "true") == 0;
    listing->filter.lapse = is_true ? BOARD_LAPSED : BOARD_NOT_LAPSED;
    return is_true || strcmp(value, "false") == 0;
}

/* A time in milliseconds: deadlines are compared with it when the list is made. */
static bool set_overdue(struct listing *listing, const char *value) {
    listing->is_overdue = true;
    listing->overdue_ms = 0;
    return strcmp(value, "true") == 0 || (quantity_read_duration(value, &listing->overdue_ms) &&
                                          listing->overdue_ms <= OVERDUE_MAX_MS);
}

/* The rows in task_list_options. */
enum option {
    OPTION_STATE,
    OPTION_DOMAIN,
    OPTION_HOLDER,
    OPTION_FROM,
    OPTION_PRIORITY,
    OPTION_ATTEMPT,
    OPTION_CODE,
    OPTION_LAPSED,
    OPTION_OVERDUE,
    OPTION_LIMIT
};

static bool set_option(void *context, size_t number, const char *value) {
    struct listing *listing = context;
    switch ((enum option)number) {
    case OPTION_STATE:
        return query_option_list(value, add_state, listing);
    case OPTION_DOMAIN:
        return query_option_list(value, add_domain, listing);
    case OPTION_HOLDER:
        return query_option_list(value, add_holder, listing);
    case OPTION_FROM:
        return query_option_list(value, add_from, listing);
    case OPTION_PRIORITY:
        return query_option_list(value, add_priority, listing);
    case OPTION_ATTEMPT:
        return query_option_count(value, ATTEMPT_MAX, &listing->filter.attempt);
    case OPTION_CODE:
        return query_option_list(value, add_error, listing);
    case OPTION_LAPSED:
        return set_lapse(listing, value);
    case OPTION_OVERDUE:
        return set_overdue(listing, value);
    case OPTION_LIMIT:
        return query_option_count(value, LIMIT_MAX, &listing->limit);
    }
    return false;
}

/* ---- the answer ---- */

static void answer(struct listing *listing) {
    struct parley_buffer text;
    bool has_more;
    if (listing->is_overdue) {
        const int64_t before_ms = clock_now_seconds() * 1000 - listing->overdue_ms;
        listing->filter.due_before = (double)before_ms / 1000;
    }
    parley_buffer_init(&text);
    parley_buffer_text(&text, "{\"items\":[");
    text.has_failed |=
        board_list(listing->board, &listing->filter, listing->limit, &text, &has_more) != PARLEY_OK;
    parley_buffer_text(&text, has_more ? "],\"more\":true}\n" : "]}\n");
    problem_or_json(listing->request, &text);
}

static void on_timer(struct reactor_timer *timer) {
    struct listing *listing = OWNER_OF(timer, struct listing, timer);
    struct reactor *reactor = listing->gateway->reactor;
    if (board_is_current(listing->board)) {
        answer(listing);
    } else if (reactor_now_ms(reactor) >= listing->patient_until_ms) {
        const char *trouble = jetstream_trouble(listing->gateway->jetstream);
        problem_respond_format(listing->request, PROBLEM_BUS_UNAVAILABLE,
                               "The tasks are still being read from NATS%s%s. Ask again later.",
                               trouble != NULL ? ": " : "", trouble != NULL ? trouble : "");
    } else {
        reactor_timer_set(reactor, timer, LOOK_MS);
    }
}

static void on_closed(void *state, bool is_complete) {
    struct listing *listing = state;
    (void)is_complete;
    reactor_timer_clear(listing->gateway->reactor, &listing->timer);
    request_slot_leave(&listing->slot);
    free(listing);
}

void tasks_serve_list(struct tasks *tasks, struct http_request *request,
                      const struct parley_protocol *protocol) {
    static const struct http_handler handler = {.closed = on_closed};
    struct gateway *gateway = tasks->gateway;
    struct board *board = tasks_board(tasks, request, protocol);
    struct request_slot slot;
    if (board == NULL || !request_slots_admit(&tasks->slots, LISTS_MAX, gateway->limits, request,
                                              "lists of tasks", &slot)) {
        return;
    }
    struct listing *listing = calloc(1, sizeof *listing);
    if (listing == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    *listing = (struct listing){.gateway = gateway,
                                .protocol = protocol,
                                .board = board,
                                .request = request,
                                .slot = slot,
                                .limit = LIMIT_DEFAULT,
                                .patient_until_ms = reactor_now_ms(gateway->reactor) + PATIENCE_MS};
    listing->timer.fire = on_timer;
    request_slot_take(&tasks->slots, &listing->slot);
    http_request_serve(request, &handler, listing);
    if (query_options_read(request, task_list_options, set_option, listing)) {
        on_timer(&listing->timer);
    }
}
