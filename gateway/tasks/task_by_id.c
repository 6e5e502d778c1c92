/* SPDX-License-Identifier: Apache-2.0 */

/* One piece of work. Its keys are read from the bucket's leader, so that whatever any gateway has
 * answered for is seen. */

#include <stdlib.h>

#include "board.h"
#include "board_item.h"
#include "channel.h"
#include "problem.h"
#include "query_options.h"
#include "tasks.h"

enum { READ_BYTES_MAX = 256 * 1024 }; /* of the arena: the facts, decoded */

struct one {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    struct http_request *request;
    struct fact_query query;
    struct parley_arena arena;
    char id[BOARD_ID_MAX];
};

static void on_closed(void *state, bool is_complete) {
    struct one *one = state;
    (void)is_complete;
    fact_query_finish(&one->query);
    parley_arena_finish(&one->arena);
    free(one);
}

/* All that was stored of it since its request can be read there. */
static void write_links(const struct one *one, const struct parley_task *work,
                        struct parley_buffer *out) {
    parley_buffer_format(out, ",\"links\":{\"self\":\"/v1/%s/tasks/%s\",\"messages\":",
                         one->protocol->name, one->id);
    if (work->sequences[PARLEY_TASK_REQUEST] > 0) {
        parley_buffer_format(out, "\"/v1/%s/stream?thread=%s&since=", one->protocol->name, one->id);
        parley_buffer_uint(out, work->sequences[PARLEY_TASK_REQUEST]);
        parley_buffer_text(out, "\"}");
    } else {
        parley_buffer_format(out, "\"/v1/%s/stream?thread=%s&since=all\"}", one->protocol->name,
                             one->id);
    }
}

static void answer(struct one *one) {
    const struct parley_task_kind *kind = one->protocol->tasks;
    struct parley_bytes facts[PARLEY_TASK_FACTS];
    struct parley_task work;
    struct parley_buffer text;
    if (!tasks_are_known(&one->query)) {
        problem_respond_format(
            one->request, PROBLEM_NOT_FOUND,
            "There is no task %s, or it is forgotten: the bucket `%s` has "
            "nothing about it.",
            one->id,
            channel_find(one->gateway->configuration->channels, one->protocol)->fact_bucket);
        return;
    }
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        facts[i] = parley_bytes_of(one->query.values[kind->places[i]]);
    }
    parley_buffer_init(&text);
    enum parley_status status =
        kind->read(parley_bytes_of(one->id), facts, clock_now_seconds() * 1000, &one->arena, &work);
    if (status == PARLEY_OK) {
        parley_buffer_char(&text, '{');
        board_item_write(one->protocol, &work, &text);
        write_links(one, &work, &text);
        parley_buffer_text(&text, "}\n");
        status = parley_buffer_status(&text);
    }
    if (status == PARLEY_OK) {
        http_header(one->request, "Cache-Control", "no-store");
        http_respond(one->request, 200, "application/json", parley_buffer_bytes(&text));
    } else {
        problem_respond(one->request, PROBLEM_INTERNAL, parley_status_text(status));
    }
    parley_buffer_finish(&text);
}

static void on_facts(struct fact_query *query) {
    struct one *one = OWNER_OF(query, struct one, query);
    if (query->has_failed) {
        problem_respond(one->request, PROBLEM_BUS_UNAVAILABLE,
                        "The task could not be looked up in NATS. Ask again later.");
    } else {
        answer(one);
    }
}

/* Who asks does not wait for NATS to come back. */
static void ask(struct one *one) {
    struct gateway *gateway = one->gateway;
    one->query.done = on_facts;
    if (!tasks_open_query(&one->query, gateway_fact_store(gateway, one->protocol), one->protocol,
                          one->id)) {
        problem_respond(one->request, PROBLEM_INTERNAL, "Out of memory.");
    } else if (!jetstream_is_ready(gateway->jetstream) || !fact_query_begin(&one->query, 0)) {
        const char *trouble = jetstream_trouble(gateway->jetstream);
        problem_respond(one->request, PROBLEM_BUS_UNAVAILABLE,
                        trouble != NULL ? trouble : "NATS cannot be asked now. Ask again later.");
    }
}

static void serve(struct one *one, const char *id) {
    static const struct http_handler handler = {.closed = on_closed};
    struct http_request *request = one->request;
    if (tasks_write_id(one->protocol, id, one->id)) {
        parley_arena_init(&one->arena, READ_BYTES_MAX);
        http_request_serve(request, &handler, one);
        ask(one);
    } else {
        free(one);
        tasks_refuse_id(request, id);
    }
}

void tasks_serve_one(struct tasks *tasks, struct http_request *request,
                     const struct parley_protocol *protocol, const char *id) {
    if (protocol->tasks == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "%s has no tasks.", protocol->title);
        return;
    }
    if (!query_options_none(request)) {
        return;
    }
    struct one *one = calloc(1, sizeof *one);
    if (one == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    one->gateway = tasks->gateway;
    one->protocol = protocol;
    one->request = request;
    serve(one, id);
}
