/* SPDX-License-Identifier: Apache-2.0 */

/* One piece of work. Its keys are read from the bucket's leader, so that whatever any gateway has
 * answered for is seen. */

#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "board_item.h"
#include "channel.h"
#include "problem.h"
#include "query_options.h"
#include "tasks.h"

enum {
    READ_BYTES_MAX = 256 * 1024, /* of an arena: the facts, decoded */
    TURNS_MAX = 100,             /* in an answer: the last ones */
};

struct one {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    struct board *board;
    struct http_request *request;
    struct fact_query query;
    struct parley_arena arena;
    struct parley_task work; /* in the arena and the query */
    struct {                 /* its turns, some at a time */
        struct fact_query query;
        struct parley_arena arena;
        struct parley_buffer text;
        uint64_t next; /* to be read */
    } story;
    char id[BOARD_ID_MAX];
};

static void on_closed(void *state, bool is_complete) {
    struct one *one = state;
    (void)is_complete;
    fact_query_finish(&one->query);
    fact_query_finish(&one->story.query);
    parley_buffer_finish(&one->story.text);
    parley_arena_finish(&one->story.arena);
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
    struct parley_buffer text, progress;
    parley_buffer_init(&text);
    parley_buffer_init(&progress);
    board_progress(one->board, parley_bytes_of(one->id), &progress);
    one->work.progress = parley_buffer_bytes(&progress);
    parley_buffer_char(&text, '{');
    board_item_write(one->protocol, &one->work, &text);
    parley_buffer_text(&text, ",\"turns\":[");
    parley_buffer_append(&text, parley_buffer_bytes(&one->story.text));
    parley_buffer_char(&text, ']');
    text.has_failed = text.has_failed || one->story.text.has_failed || progress.has_failed;
    write_links(one, &one->work, &text);
    parley_buffer_text(&text, "}\n");
    if (!text.has_failed) {
        http_header(one->request, "Cache-Control", "no-store");
        http_respond(one->request, 200, "application/json", parley_buffer_bytes(&text));
    } else {
        problem_respond(one->request, PROBLEM_INTERNAL, "Out of memory.");
    }
    parley_buffer_finish(&progress);
    parley_buffer_finish(&text);
}

static void respond_away(struct one *one) {
    problem_respond(one->request, PROBLEM_BUS_UNAVAILABLE,
                    "The task could not be looked up in NATS. Ask again later.");
}

/* ---- its turns ---- */

/* `value`: NULL: its key is gone. */
static enum parley_status add_turn(struct one *one, const char *value) {
    struct parley_buffer *text = &one->story.text;
    if (value == NULL) {
        return PARLEY_OK;
    }
    parley_arena_reset(&one->story.arena);
    if (text->length > 0) {
        parley_buffer_char(text, ',');
    }
    return one->protocol->tasks->write_turn(parley_bytes_of(value), &one->story.arena, text);
}

static enum parley_status add_turns(struct one *one) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        PARLEY_TRY(add_turn(one, one->story.query.values[i]));
    }
    one->story.next += PARLEY_FACT_KEYS_MAX;
    return PARLEY_OK;
}

/* Appends the key of turn `number`, from 2 on. */
static bool write_turn_key(const struct one *one, uint64_t number, struct parley_buffer *out) {
    if (!one->protocol->tasks->write_key(parley_bytes_of(one->id), PARLEY_TASK_TURN, out) ||
        out->has_failed) {
        return false;
    }
    out->length -= sizeof PARLEY_FACT_SERIES - 2; /* but for its dot */
    parley_buffer_uint(out, number);
    return !out->has_failed;
}

static bool open_turns(struct one *one) {
    struct parley_bytes keys[PARLEY_FACT_KEYS_MAX] = {{0}};
    struct parley_buffer texts[PARLEY_FACT_KEYS_MAX];
    struct fact_query *query = &one->story.query;
    bool is_open = true;
    fact_query_finish(query);
    memset(query, 0, sizeof *query);
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        parley_buffer_init(&texts[i]);
        if (one->story.next + i <= one->work.turn) {
            is_open = write_turn_key(one, one->story.next + i, &texts[i]) && is_open;
            keys[i] = parley_buffer_bytes(&texts[i]);
        }
    }
    is_open =
        is_open && fact_query_init(query, gateway_fact_store(one->gateway, one->protocol), keys, 0);
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        parley_buffer_finish(&texts[i]);
    }
    return is_open;
}

static void on_turns(struct fact_query *query);

static void read_turns(struct one *one) {
    while (one->story.next <= one->work.turn) {
        if (!open_turns(one)) {
            problem_respond(one->request, PROBLEM_INTERNAL, "Out of memory.");
            return;
        }
        one->story.query.done = on_turns;
        if (!fact_query_is_complete(&one->story.query)) {
            if (!fact_query_begin(&one->story.query, 0)) {
                respond_away(one);
            }
            return;
        }
        if (add_turns(one) != PARLEY_OK) {
            problem_respond(one->request, PROBLEM_INTERNAL, "Out of memory.");
            return;
        }
    }
    answer(one);
}

static void on_turns(struct fact_query *query) {
    struct one *one = OWNER_OF(query, struct one, story.query);
    if (query->has_failed) {
        respond_away(one);
    } else if (add_turns(one) != PARLEY_OK) {
        problem_respond(one->request, PROBLEM_INTERNAL, "Out of memory.");
    } else {
        read_turns(one);
    }
}

/* Turn 1 is the claim, whose key is there. */
static enum parley_status begin_story(struct one *one) {
    const size_t place = one->protocol->tasks->places[PARLEY_TASK_CLAIM];
    const uint64_t last = one->work.turn;
    one->story.next = last > TURNS_MAX ? last - TURNS_MAX + 1 : 2;
    return last > 0 && last <= TURNS_MAX ? add_turn(one, one->query.values[place]) : PARLEY_OK;
}

/* ---- its facts ---- */

static void read_facts(struct one *one) {
    const struct parley_task_kind *kind = one->protocol->tasks;
    struct parley_bytes facts[PARLEY_TASK_FACTS];
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        facts[i] = parley_bytes_of(one->query.values[kind->places[i]]);
    }
    if (kind->read(parley_bytes_of(one->id), facts, clock_now_seconds() * 1000, &one->arena,
                   &one->work) != PARLEY_OK ||
        begin_story(one) != PARLEY_OK) {
        problem_respond(one->request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    read_turns(one);
}

static void on_facts(struct fact_query *query) {
    struct one *one = OWNER_OF(query, struct one, query);
    if (query->has_failed) {
        respond_away(one);
    } else if (!tasks_are_known(query)) {
        problem_respond_format(
            one->request, PROBLEM_NOT_FOUND,
            "There is no task %s, or it is forgotten: the bucket `%s` has "
            "nothing about it.",
            one->id,
            channel_find(one->gateway->configuration->channels, one->protocol)->fact_bucket);
    } else {
        read_facts(one);
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
        parley_arena_init(&one->story.arena, READ_BYTES_MAX);
        parley_buffer_init(&one->story.text);
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
    const struct channel *channels = tasks->gateway->configuration->channels;
    one->gateway = tasks->gateway;
    one->protocol = protocol;
    one->board = tasks->boards[channel_find(channels, protocol) - channels];
    one->request = request;
    serve(one, id);
}
