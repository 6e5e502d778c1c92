/* SPDX-License-Identifier: Apache-2.0 */

/* One piece of work. Its keys are read from the bucket's leader, all at once, so that whatever any
 * gateway has answered for is seen; nothing is kept between requests. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "board_item.h"
#include "channel.h"
#include "problem.h"
#include "query_options.h"
#include "tasks.h"

enum { KEY_BYTES_MAX = 512, VALUE_BYTES_MAX = 64 * 1024 };

struct one {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    struct http_request *request;
    struct jetstream_request *asked[PARLEY_TASK_FACTS];
    struct parley_bytes values[PARLEY_TASK_FACTS]; /* in the arena */
    size_t awaited_reply_count;
    struct parley_arena arena;
    char id[BOARD_ID_MAX];
};

/* A question and which of them it is. */
struct place {
    struct one *one;
    enum parley_task_fact fact;
};

static void stop_asking(struct one *one) {
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        jetstream_request_cancel(one->asked[i]);
        one->asked[i] = NULL;
    }
    one->awaited_reply_count = 0;
}

static void on_closed(void *state, bool is_complete) {
    struct one *one = state;
    (void)is_complete;
    stop_asking(one);
    parley_arena_finish(&one->arena);
    free(one);
}

static void refuse(struct one *one, enum problem problem, const char *detail) {
    stop_asking(one);
    problem_respond(one->request, problem, detail);
}

static bool is_known(const struct one *one) {
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        if (one->values[i].data != NULL) {
            return true;
        }
    }
    return false;
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
    struct parley_task work;
    struct parley_buffer text;
    if (!is_known(one)) {
        problem_respond_format(
            one->request, PROBLEM_NOT_FOUND,
            "There is no task %s, or it is forgotten: the bucket `%s` has "
            "nothing about it.",
            one->id,
            channel_find(one->gateway->configuration->channels, one->protocol)->fact_bucket);
        return;
    }
    parley_buffer_init(&text);
    enum parley_status status = one->protocol->tasks->read(
        parley_bytes_of(one->id), one->values, clock_now_seconds() * 1000, &one->arena, &work);
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

static void on_value(void *context, const struct jetstream_last *last) {
    const struct place *place = context;
    struct one *one = place->one;
    one->asked[place->fact] = NULL;
    if (last->found == JETSTREAM_LAST_NO_STREAM || last->found == JETSTREAM_LAST_UNKNOWN) {
        refuse(one, PROBLEM_BUS_UNAVAILABLE,
               "The task could not be looked up in NATS. Ask again later.");
        return;
    }
    if (last->found == JETSTREAM_LAST_FOUND && last->payload.length <= VALUE_BYTES_MAX) {
        const char *copy = parley_arena_copy(&one->arena, last->payload);
        if (copy == NULL) {
            refuse(one, PROBLEM_INTERNAL, "Out of memory.");
            return;
        }
        one->values[place->fact] = (struct parley_bytes){copy, last->payload.length};
    }
    if (--one->awaited_reply_count == 0) {
        answer(one);
    }
}

static bool ask(struct one *one, enum parley_task_fact fact) {
    const char *bucket =
        channel_find(one->gateway->configuration->channels, one->protocol)->fact_bucket;
    char stream[KEY_BYTES_MAX];
    struct place *place = parley_arena_allocate(&one->arena, sizeof *place);
    struct parley_buffer subject;
    parley_buffer_init(&subject);
    parley_buffer_format(&subject, "$KV.%s.", bucket);
    one->protocol->tasks->write_key(parley_bytes_of(one->id), fact, &subject);
    parley_buffer_char(&subject, '\0');
    if (place != NULL && !subject.has_failed) {
        snprintf(stream, sizeof stream, "KV_%s", bucket);
        *place = (struct place){one, fact};
        one->asked[fact] =
            jetstream_last_ask(one->gateway->jetstream, stream, subject.data, on_value, place);
    }
    parley_buffer_finish(&subject);
    return one->asked[fact] != NULL;
}

static void ask_all(struct one *one) {
    one->awaited_reply_count = PARLEY_TASK_FACTS;
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        if (!ask(one, (enum parley_task_fact)i)) {
            const char *trouble = jetstream_trouble(one->gateway->jetstream);
            refuse(one, PROBLEM_BUS_UNAVAILABLE,
                   trouble != NULL ? trouble : "NATS cannot be asked now. Ask again later.");
            return;
        }
    }
}

/* Lower case, as in the keys.  Returns: false: it is no id of this protocol. */
static bool write_id(const struct parley_protocol *protocol, const char *id,
                     char out[BOARD_ID_MAX]) {
    struct parley_buffer key;
    parley_buffer_init(&key);
    const bool is_id = protocol->tasks->write_key(parley_bytes_of(id), PARLEY_TASK_REQUEST, &key) &&
                       !key.has_failed && key.length < BOARD_ID_MAX;
    if (is_id) {
        memcpy(out, key.data, key.length);
        out[key.length] = '\0';
    }
    parley_buffer_finish(&key);
    return is_id;
}

static void serve(struct one *one, const char *id) {
    static const struct http_handler handler = {.closed = on_closed};
    struct http_request *request = one->request;
    if (write_id(one->protocol, id, one->id)) {
        parley_arena_init(&one->arena, 16 * VALUE_BYTES_MAX);
        http_request_serve(request, &handler, one);
        ask_all(one);
    } else {
        free(one);
        problem_respond_format(request, PROBLEM_NOT_FOUND,
                               "`%.64s` is not the id of a task: that is the id of its request.",
                               id);
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
