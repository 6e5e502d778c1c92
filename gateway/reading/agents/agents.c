/* SPDX-License-Identifier: Apache-2.0 */

/* A request reads each source of its protocol's agents with a consumer of its own, all at once, up
 * to what the stream held when it was created. The answer is made when the last of them is done.
 * Before that, if it is about one agent with a log, the log is read for its gaps (ADR 37). */

#include "agents.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_page.h"
#include "agent_query.h"
#include "agent_reader.h"
#include "agent_watch.h"
#include "problem.h"
#include "query_options.h"
#include "reactor.h"
#include "request_slots.h"
#include "log_survey.h"

enum {
    READINGS_MAX = 16,   /* of a worker at a time */
    DEADLINE_MS = 10000, /* a request that NATS ends in silence takes four of them */
    PAGE_COUNT_MAX = AGENT_LIMIT_MAX,
    PAGE_BYTES_MAX = 4 * 1024 * 1024,
};

/* READING ──▶ OVER: it is answered, or its client is gone. */
enum phase { PHASE_READING, PHASE_OVER };

struct reading {
    struct agents *agents;
    struct http_request *request;
    const struct parley_protocol *protocol;
    char name[AGENT_TOKEN_SIZE]; /* of the agent, as in subjects; "": all agents */
    enum phase phase;
    struct agent_query query;
    const char *own; /* as for agents_serve */
    struct agent_page page;
    struct log_survey *survey;             /* NULL if none is needed, or if it cannot be made */
    const struct parley_log_gaps *missing; /* that it found */
    struct agent_reader *reader;
    struct reactor_timer deadline;
    struct request_slot slot;
};

struct agents {
    struct reactor *reactor;
    struct jetstream *jetstream;
    struct parley_schema *const *schemas;
    const struct channel *channels;
    struct checkpoints *checkpoints;
    struct follows *follows;
    struct agent_watch *const *watches;
    struct request_slots slots; /* of the readings */
};

static bool is_of_one(const struct reading *reading) {
    return reading->name[0] != '\0';
}

/* ---- the answer ---- */

static void end(struct reading *reading) {
    reading->phase = PHASE_OVER;
    reactor_timer_clear(reading->agents->reactor, &reading->deadline);
    agent_reader_close(reading->reader);
    log_survey_close(reading->survey);
    reading->reader = NULL;
    reading->survey = NULL;
}

static void refuse(struct reading *reading, enum problem problem, const char *detail) {
    end(reading);
    problem_respond(reading->request, problem, detail);
}

static bool is_wanted(const struct reading *reading, const struct agent_entry *entry,
                      int64_t now_ns) {
    const struct agent_query *query = &reading->query;
    const enum agent_state state = agent_state_of(entry, reading->protocol->agents, now_ns);
    return (query->states >> state & 1) != 0 && (query->value == NULL || entry->is_match);
}

/* The members `items` and, if there may be more, `next`. */
static void write_list(const struct reading *reading, int64_t now_ns, struct parley_buffer *out) {
    const struct agent_page *page = &reading->page;
    const char *last = NULL;
    size_t count = 0, i = 0;
    parley_buffer_text(out, "{\"items\":[");
    for (; i < page->count && count < reading->query.limit; i++) {
        const struct agent_entry *entry = &page->entries[i];
        last = entry->name;
        if (is_wanted(reading, entry, now_ns)) {
            parley_buffer_text(out, count++ > 0 ? "," : "");
            agent_entry_write(entry, reading->protocol->agents, now_ns, out);
        }
    }
    parley_buffer_char(out, ']');
    if (last != NULL && (i < page->count || page->has_more)) {
        parley_buffer_text(out, ",\"next\":");
        parley_buffer_json(out, parley_bytes_of(last));
    }
    parley_buffer_char(out, '}');
}

static void answer(struct reading *reading) {
    const int64_t now_ns = reactor_wall_clock_ns();
    struct parley_buffer text;
    parley_buffer_init(&text);
    if (!is_of_one(reading)) {
        write_list(reading, now_ns, &text);
    } else if (reading->page.count > 0) {
        agent_entry_write(&reading->page.entries[0], reading->protocol->agents, now_ns, &text);
    } else {
        problem_respond_format(reading->request, PROBLEM_NOT_FOUND,
                               "The stream %s has no message of this agent. "
                               "GET /v1/%s/agents lists those that it has messages of.",
                               channel_find(reading->agents->channels, reading->protocol)->stream,
                               reading->protocol->name);
        return;
    }
    parley_buffer_char(&text, '\n');
    problem_or_json(reading->request, &text);
}

/* ---- reports of the reader ---- */

static enum parley_status note(void *context, const struct agent_news *news) {
    struct reading *reading = context;
    return agent_page_note(&reading->page, news);
}

static void done(void *context, enum parley_status status, const char *error) {
    struct reading *reading = context;
    if (status == PARLEY_OK) {
        end(reading);
        answer(reading);
    } else if (error != NULL) {
        char detail[512];
        snprintf(detail, sizeof detail, "The stream %s cannot be read: %s.",
                 channel_find(reading->agents->channels, reading->protocol)->stream, error);
        refuse(reading, PROBLEM_BUS_UNAVAILABLE, detail);
    } else {
        refuse(reading, PROBLEM_INTERNAL, "Out of memory.");
    }
}

static void on_deadline(struct reactor_timer *timer) {
    struct reading *reading = OWNER_OF(timer, struct reading, deadline);
    const char *trouble = jetstream_trouble(reading->agents->jetstream);
    refuse(reading, PROBLEM_BUS_UNAVAILABLE,
           trouble != NULL ? trouble : "NATS did not send the agents' messages in time.");
}

/* ---- requests ---- */

static void request_closed(void *state, bool is_complete) {
    struct reading *reading = state;
    (void)is_complete;
    end(reading);
    request_slot_leave(&reading->slot);
    agent_page_finish(&reading->page);
    free(reading);
}

static const struct http_handler handler = {.closed = request_closed};

static bool is_serving(const struct agents *agents, struct http_request *request) {
    if (!jetstream_can_read(agents->jetstream)) {
        const char *trouble = jetstream_trouble(agents->jetstream);
        problem_respond_format(request, PROBLEM_BUS_UNAVAILABLE, "%s.",
                               trouble != NULL ? trouble : "NATS cannot be read now");
        return false;
    }
    return true;
}

static enum parley_status open_reader(struct reading *reading) {
    struct agents *agents = reading->agents;
    const struct agent_reader_options options = {
        .jetstream = agents->jetstream,
        .channel = channel_find(agents->channels, reading->protocol),
        .schema =
            agents->schemas[channel_find(agents->channels, reading->protocol) - agents->channels],
        .agent = is_of_one(reading) ? parley_bytes_of(reading->name) : (struct parley_bytes){0},
        .value = reading->query.value,
        .own = reading->own,
        .now_ns = reactor_wall_clock_ns(),
        .missing = reading->missing,
        .note = note,
        .done = done,
        .context = reading};
    return agent_reader_open(&options, &reading->reader);
}

static void read_messages(struct reading *reading) {
    const enum parley_status status = open_reader(reading);
    if (status == PARLEY_E_IO) {
        refuse(reading, PROBLEM_BUS_UNAVAILABLE,
               "The agents' messages lie in no stream that can be read, or only in a work queue.");
    } else if (status != PARLEY_OK) {
        refuse(reading, PROBLEM_INTERNAL, "Out of memory.");
    }
}

static void on_surveyed(void *context, const struct parley_log_gaps *missing) {
    struct reading *reading = context;
    reading->missing = missing;
    read_messages(reading);
}

static void begin(struct reading *reading) {
    static const struct parley_log_gaps unknown = {.has_more = true};
    struct agents *agents = reading->agents;
    const bool has_log = reading->protocol->restore != NULL &&
                         configuration_lifecycle(agents->checkpoints->configuration,
                                                 reading->protocol) != PARLEY_LIFECYCLE_OFF;
    if (!is_of_one(reading) || !has_log) {
        read_messages(reading);
        return;
    }
    reading->missing = &unknown;
    reading->survey = log_survey_open(agents->checkpoints, reading->protocol, reading->name,
                                      on_surveyed, reading);
    if (reading->survey == NULL) {
        read_messages(reading);
    }
}

static void start(struct agents *agents, struct http_request *request,
                  const struct parley_protocol *protocol, const struct agent_query *query,
                  const char *name, const char *own, const struct request_slot *slot) {
    struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    *reading = (struct reading){.agents = agents,
                                .request = request,
                                .protocol = protocol,
                                .query = *query,
                                .own = own,
                                .slot = *slot,
                                .deadline = {.fire = on_deadline}};
    snprintf(reading->name, sizeof reading->name, "%s", name);
    agent_page_init(&reading->page, query->after, PAGE_COUNT_MAX, PAGE_BYTES_MAX);
    request_slot_take(&agents->slots, &reading->slot);
    http_request_serve(request, &handler, reading);
    reactor_timer_set(agents->reactor, &reading->deadline, DEADLINE_MS);
    begin(reading);
}

void agents_serve(struct agents *agents, const struct limits *limits, struct http_request *request,
                  const struct parley_protocol *protocol, const char *name, const char *own) {
    struct agent_query query = {.after = ""};
    struct request_slot slot;
    char token[AGENT_TOKEN_SIZE] = "";
    if (protocol->agents == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND,
                               "Messages of %s do not say which agents are alive.", protocol->name);
        return;
    }
    const bool is_sound = name != NULL ? query_options_none(request)
                                       : agent_query_parse(request, protocol->agents, &query);
    if (is_sound && query.follow.is_followed) {
        const struct agent_follow with = {.reactor = agents->reactor,
                                          .jetstream = agents->jetstream,
                                          .follows = agents->follows,
                                          .limits = limits,
                                          .own = own};
        agent_watch_serve(
            agents->watches[channel_find(agents->channels, protocol) - agents->channels], request,
            &query, &with);
        return;
    }
    if (!is_sound || !is_serving(agents, request) ||
        !request_slots_admit(&agents->slots, READINGS_MAX, limits, request, "agents", &slot)) {
        return;
    }
    if (name != NULL && !agent_token(name, token)) {
        problem_respond(request, PROBLEM_NOT_FOUND, "No agent has such a name.");
        return;
    }
    start(agents, request, protocol, &query, token, own, &slot);
}

/* ---- all of them ---- */

enum parley_status agents_create(struct reactor *reactor, struct jetstream *jetstream,
                                 struct parley_schema *const *schemas,
                                 const struct channel *channels, struct checkpoints *checkpoints,
                                 const struct agents_follows *follows, struct agents **out) {
    struct agents *agents = calloc(1, sizeof *agents);
    if (agents == NULL) {
        return PARLEY_E_MEMORY;
    }
    *agents = (struct agents){.reactor = reactor,
                              .jetstream = jetstream,
                              .schemas = schemas,
                              .channels = channels,
                              .checkpoints = checkpoints,
                              .follows = follows->follows,
                              .watches = follows->watches};
    *out = agents;
    return PARLEY_OK;
}

void agents_destroy(struct agents *agents) {
    assert(agents == NULL || LIST_EMPTY(&agents->slots.taken));
    for (size_t i = 0; agents != NULL && i < parley_protocol_count(); i++) {
        if (agents->watches[i] != NULL) {
            agent_watch_end(agents->watches[i], agents->reactor);
        }
    }
    free(agents);
}
