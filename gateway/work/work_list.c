/* SPDX-License-Identifier: Apache-2.0 */

/* The work on the board. The first who asks has it read, and waits until all was. */

#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "problem.h"
#include "query_options.h"
#include "text.h"
#include "work.h"
#include "work_options.h"

enum {
    LIMIT_DEFAULT = 100,
    LIMIT_MAX = 1000,
    LISTS_MAX = 64, /* of a worker at a time: clients may read theirs slowly */
    LOOK_MS = 10,
    PATIENCE_MS = 5000
};

struct listing {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    struct board *board;
    struct http_request *request;
    struct share share;
    struct board_filter filter; /* borrows from the request */
    size_t limit;
    struct reactor_timer timer; /* until the board is current */
    int64_t patient_until_ms;
};

/* ---- the query ---- */

static bool is_one_of(const char *value, const char *const *words) {
    for (; *words != NULL; words++) {
        if (strcmp(value, *words) == 0) {
            return true;
        }
    }
    return false;
}

/* `number`: of the row in work_list_options. */
static bool set_option(void *context, size_t number, const char *value) {
    struct listing *listing = context;
    struct board_filter *filter = &listing->filter;
    const char **const places[] = {&filter->state, &filter->domain, &filter->holder, &filter->from,
                                   &filter->priority};
    if (number >= sizeof places / sizeof places[0]) {
        return query_option_count(value, LIMIT_MAX, &listing->limit);
    }
    *places[number] = value;
    return places[number] == &filter->state      ? is_one_of(value, listing->protocol->work->states)
           : places[number] == &filter->priority ? is_one_of(value, listing->protocol->priorities)
           : places[number] == &filter->domain   ? text_is_domain(parley_bytes_of(value))
                                                 : value[0] != '\0';
}

/* ---- the answer ---- */

static void answer(struct listing *listing) {
    struct parley_buffer text;
    bool has_more;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "{\"items\":[");
    enum parley_status status =
        board_list(listing->board, &listing->filter, listing->limit, &text, &has_more);
    parley_buffer_text(&text, has_more ? "],\"more\":true}\n" : "]}\n");
    status = status != PARLEY_OK ? status : parley_buffer_status(&text);
    if (status == PARLEY_OK) {
        http_header(listing->request, "Cache-Control", "no-store");
        http_compress(listing->request);
        http_respond(listing->request, 200, "application/json", parley_buffer_bytes(&text));
    } else {
        problem_respond(listing->request, PROBLEM_INTERNAL, parley_status_text(status));
    }
    parley_buffer_finish(&text);
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

/* A GET has no body: its answer does not wait for this. */
static void on_end(void *state, struct http_request *request) {
    (void)state;
    (void)request;
}

static void on_closed(void *state, bool is_complete) {
    struct listing *listing = state;
    (void)is_complete;
    reactor_timer_clear(listing->gateway->reactor, &listing->timer);
    share_leave(&listing->share);
    free(listing);
}

void work_serve_list(struct gateway *gateway, struct http_request *request,
                     const struct parley_protocol *protocol) {
    static const struct http_handler handler = {.end = on_end, .closed = on_closed};
    struct board *board = work_board(gateway, request, protocol);
    struct share share;
    if (board == NULL || !share_admit(&gateway->task_shares, LISTS_MAX, gateway->limits, request,
                                      "lists of tasks", &share)) {
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
                                .share = share,
                                .limit = LIMIT_DEFAULT,
                                .patient_until_ms = reactor_now_ms(gateway->reactor) + PATIENCE_MS};
    listing->timer.fire = on_timer;
    share_take(&gateway->task_shares, &listing->share);
    http_request_serve(request, &handler, listing);
    if (query_options_read(request, work_list_options, set_option, listing)) {
        on_timer(&listing->timer);
    }
}
