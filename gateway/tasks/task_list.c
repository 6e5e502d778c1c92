/* SPDX-License-Identifier: Apache-2.0 */

/* The work on the board, once or followed (ADR 55). The first who asks has it read, and waits until
 * all was. */

#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "follow.h"
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
    PATIENCE_MS = 5000,
    SWEEP_MS = 1000, /* of a list that is followed, for what is overdue by now */
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
    bool has_limit;
    struct follow_query follow;
    struct board_watching *watching; /* of one that follows */
    struct reactor_timer timer;      /* until the board is current */
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
    struct board_filter *filter = &listing->filter;
    filter->is_overdue = true;
    filter->overdue_ms = 0;
    return strcmp(value, "true") == 0 || (quantity_read_duration(value, &filter->overdue_ms) &&
                                          filter->overdue_ms <= OVERDUE_MAX_MS);
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
    OPTION_LIMIT,
    OPTION_FOLLOW,
    OPTION_SINCE
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
        listing->has_limit = true;
        return query_option_count(value, LIMIT_MAX, &listing->limit);
    case OPTION_FOLLOW:
        return follow_query_set(&listing->follow, value);
    case OPTION_SINCE:
        listing->follow.token = value;
        return true;
    }
    return false;
}

/* ---- the answer ---- */

static void answer(struct listing *listing) {
    struct parley_buffer text;
    bool has_more;
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

/* ---- following ---- */

static void release_listing(void *context) {
    struct listing *listing = context;
    board_watching_destroy(listing->watching);
    free(listing);
}

/* Owns: takes the listing, whose names the filter borrows. */
static void follow(struct tasks *tasks, struct listing *listing) {
    const struct gateway *gateway = listing->gateway;
    listing->watching = board_watching_create(&listing->filter);
    if (listing->watching == NULL) {
        problem_respond(listing->request, PROBLEM_INTERNAL, "Out of memory.");
        free(listing);
        return;
    }
    const struct follow_options options = {
        .ops = &board_follow_ops,
        .list = listing->board,
        .log = board_changes(listing->board),
        .protocol = listing->protocol,
        .name = "tasks",
        .agent =
            principal_agent(guard_principal(listing->request), gateway->configuration->bind_sender),
        .filter = {.filter = listing->watching,
                   .release = release_listing,
                   .context = listing,
                   .sweep_ms = listing->filter.is_overdue ? SWEEP_MS : 0},
        .absent = PROBLEM_BUS_UNAVAILABLE,
        .absence = "The tasks are still being read from NATS. Ask again later."};
    follows_serve(tasks->follows, gateway->limits, listing->request, &listing->follow, &options);
}

/* ---- requests ---- */

static void list_once(struct tasks *tasks, struct listing *listing) {
    static const struct http_handler handler = {.closed = on_closed};
    struct http_request *request = listing->request;
    if (!request_slots_admit(&tasks->slots, LISTS_MAX, listing->gateway->limits, request,
                             "lists of tasks", &listing->slot)) {
        free(listing);
        return;
    }
    request_slot_take(&tasks->slots, &listing->slot);
    http_request_serve(request, &handler, listing);
    on_timer(&listing->timer);
}

void tasks_serve_list(struct tasks *tasks, struct http_request *request,
                      const struct parley_protocol *protocol) {
    struct gateway *gateway = tasks->gateway;
    struct board *board = tasks_board(tasks, request, protocol);
    if (board == NULL) {
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
                                .limit = LIMIT_DEFAULT,
                                .patient_until_ms = reactor_now_ms(gateway->reactor) + PATIENCE_MS};
    listing->timer.fire = on_timer;
    if (!query_options_read(request, task_list_options, set_option, listing) ||
        !follow_query_admit(request, &listing->follow, listing->has_limit)) {
        free(listing);
    } else if (listing->follow.is_followed) {
        follow(tasks, listing);
    } else {
        list_once(tasks, listing);
    }
}
