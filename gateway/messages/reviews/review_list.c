/* SPDX-License-Identifier: Apache-2.0 */

/* GET …/reviews: first the keys of all decisions are read, then the messages that wait for people,
 * from the oldest on, until a page is full. Nothing is kept between requests.
 *
 *   DECISIONS ── all keys are read ──▶ MESSAGES ── all are read, or the page is full ──▶ OVER
 *   DECISIONS, MESSAGES ── it failed, or its client is gone ──▶ OVER
 */

#include "reviews.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_page.h"
#include "channel.h"
#include "decided.h"
#include "fact_store.h"
#include "ordered_consumer.h"
#include "problem.h"
#include "query_options.h"
#include "review_options.h"
#include "stream_event.h"

enum {
    LIMIT_DEFAULT = 100,
    LISTS_MAX = 16,             /* of a worker at a time */
    ANSWER_BYTES_MAX = 4 << 20, /* beyond it the page ends; it has at least one message */
    PULL_COUNT = 256,
    PULL_BYTES = 1 << 20,
    PATIENCE_MS = 10000,
};

struct list {
    struct gateway *gateway;
    const struct channel *channel;
    struct http_request *request;
    struct request_slot slot;
    struct reactor_timer deadline;
    struct ordered_consumer *consumer; /* NULL: none is open */
    struct stream_renderer renderer;
    struct decided decided;
    const char *thread, *sender; /* NULL: of all */
    bool has_open, has_decided;  /* messages without a decision; those with one */
    size_t limit, count;
    uint64_t after, last;              /* the cursor; the last message that was read */
    char stream[JETSTREAM_STREAM_MAX]; /* that has the messages */
    struct parley_buffer items;
};

static void end(struct list *list) {
    reactor_timer_clear(list->gateway->reactor, &list->deadline);
    ordered_consumer_close(list->consumer);
    list->consumer = NULL;
}

static void refuse(struct list *list, enum problem problem, const char *detail) {
    end(list);
    problem_respond(list->request, problem, detail);
}

static void on_deadline(struct reactor_timer *timer) {
    refuse(OWNER_OF(timer, struct list, deadline), PROBLEM_BUS_UNAVAILABLE,
           "NATS did not send the messages and decisions in time. Ask again later.");
}

static void answer(struct list *list, bool has_more) {
    struct parley_buffer text;
    end(list);
    parley_buffer_init(&text);
    parley_buffer_text(&text, "{\"items\":[");
    parley_buffer_append(&text, parley_buffer_bytes(&list->items));
    parley_buffer_char(&text, ']');
    if (has_more) {
        parley_buffer_format(&text, ",\"next\":\"%" PRIu64 "\"", list->last);
    }
    parley_buffer_text(&text, "}\n");
    text.has_failed = text.has_failed || list->items.has_failed;
    problem_or_json(list->request, &text);
}

/* ---- both readings ---- */

static void pull(void *context) {
    struct list *list = context;
    if (list->consumer != NULL) {
        ordered_consumer_pull(list->consumer, PULL_COUNT, PULL_BYTES);
    }
}

static void on_opened(void *context, uint64_t next_sequence) {
    (void)next_sequence;
    pull(context);
}

static void on_refused(void *context, const char *error) {
    refuse(context, PROBLEM_BUS_UNAVAILABLE, error);
}

/* Returns: false: it is answered. */
static bool read_stream(struct list *list, const char *stream, const struct jetstream_start *start,
                        struct ordered_consumer_events events) {
    events.opened = on_opened;
    events.pull_ended = pull;
    events.refused = on_refused;
    events.context = list;
    const bool is_open =
        ordered_consumer_open(list->gateway->jetstream, stream, *start, ORDERED_REPLAY, &events,
                              &list->consumer) == PARLEY_OK;
    if (!is_open) {
        list->consumer = NULL;
        refuse(list, PROBLEM_INTERNAL, "Out of memory.");
    }
    return is_open;
}

/* ---- messages ---- */

static bool passes(const char *wanted, struct parley_bytes value) {
    return wanted == NULL || parley_bytes_equal(value, parley_bytes_of(wanted));
}

static void write_item(struct list *list, const struct stream_event *event,
                       const struct review_value *decision) {
    char time[AGENT_TIME_SIZE];
    struct parley_buffer *out = &list->items;
    agent_time_text(event->time_ns, time);
    parley_buffer_text(out, list->count++ > 0 ? "," : "");
    parley_buffer_format(out,
                         "{\"message\":\"%s:%" PRIu64 "\",\"at\":\"%s\",\"event\":", list->stream,
                         event->sequence, time);
    parley_buffer_append(out, event->text);
    if (decision != NULL) {
        parley_buffer_text(out, ",\"reviewed\":{");
        review_value_write(decision, out);
        parley_buffer_char(out, '}');
    }
    parley_buffer_char(out, '}');
}

static bool is_full(const struct list *list, const struct stream_event *event) {
    return list->count == list->limit ||
           (list->count > 0 && list->items.length + event->text.length > ANSWER_BYTES_MAX);
}

/* Returns: false: the page is full. */
static bool take(struct list *list, const struct stream_event *event) {
    const struct review_value *decision = decided_find(&list->decided, event->sequence);
    if (!(decision != NULL ? list->has_decided : list->has_open) ||
        !passes(list->thread, event->facts[STREAM_FILTER_THREAD]) ||
        !passes(list->sender, event->facts[STREAM_FILTER_SENDER])) {
        return true;
    }
    if (is_full(list, event)) {
        return false;
    }
    write_item(list, event, decision);
    return true;
}

static void on_message(void *context, const struct jetstream_stored *stored) {
    struct list *list = context;
    struct stream_event *event = stream_render(&list->renderer, NULL, stored);
    if (event == NULL) {
        refuse(list, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    if (take(list, event)) {
        list->last = stored->sequence;
    } else {
        answer(list, true);
    }
    stream_event_unref(event);
}

static void on_all_messages(void *context) {
    answer(context, false);
}

static void read_messages(struct list *list) {
    const struct jetstream_start start = {.from = JETSTREAM_FROM_SEQUENCE,
                                          .sequence = list->after + 1,
                                          .filter = list->channel->review_subjects};
    const struct ordered_consumer_events events = {.stored = on_message,
                                                   .current = on_all_messages};
    (void)read_stream(list, list->stream, &start, events);
}

/* ---- decisions ---- */

static void on_decision(void *context, const struct jetstream_stored *stored) {
    struct list *list = context;
    if (!decided_note(&list->decided, stored)) {
        refuse(list, PROBLEM_INTERNAL, "Out of memory.");
    }
}

static void on_all_decisions(void *context) {
    struct list *list = context;
    ordered_consumer_close(list->consumer);
    list->consumer = NULL;
    decided_sort(&list->decided);
    read_messages(list);
}

static void read_decisions(struct list *list) {
    char bucket[FACT_NAME_MAX];
    const struct jetstream_start start = {
        .from = JETSTREAM_FROM_SEQUENCE, .sequence = 1, .is_headers_only = !list->has_decided};
    const struct ordered_consumer_events events = {.stored = on_decision,
                                                   .current = on_all_decisions};
    fact_stream_name(list->channel->review_bucket, bucket);
    (void)read_stream(list, bucket, &start, events);
}

/* ---- requests ---- */

static void on_closed(void *state, bool is_complete) {
    struct list *list = state;
    (void)is_complete;
    end(list);
    request_slot_leave(&list->slot);
    stream_renderer_finish(&list->renderer);
    decided_finish(&list->decided);
    parley_buffer_finish(&list->items);
    free(list);
}

static bool read_number(const char *text, uint64_t *out) {
    const size_t length = strlen(text);
    const bool is_number = length > 0 && length <= 18 && strspn(text, "0123456789") == length;
    *out = is_number ? strtoull(text, NULL, 10) : 0;
    return is_number;
}

static bool set_option(void *context, size_t number, const char *value) {
    struct list *list = context;
    switch ((enum review_option)number) {
    case REVIEW_OPTION_THREAD:
        list->thread = value;
        return true;
    case REVIEW_OPTION_SENDER:
        list->sender = value;
        return true;
    case REVIEW_OPTION_OPEN:
        list->has_open = strcmp(value, "false") != 0;
        list->has_decided = strcmp(value, "true") != 0;
        return !list->has_open || !list->has_decided || strcmp(value, "all") == 0;
    case REVIEW_OPTION_LIMIT:
        return query_option_count(value, REVIEW_LIMIT_MAX, &list->limit);
    case REVIEW_OPTION_CURSOR:
        return read_number(value, &list->after);
    case REVIEW_OPTION_COUNT:
        break;
    }
    return false;
}

/* Returns: whether the stream that has the messages is known, and takes consumers; if not, the
 * request is answered. */
static bool find_stream(struct list *list, struct http_request *request) {
    const struct jetstream_place *place =
        jetstream_place_find(list->gateway->jetstream, list->channel->review_subjects);
    if (place == NULL) {
        problem_respond(request, PROBLEM_BUS_UNAVAILABLE,
                        "The stream that has the messages is not known at present. Ask again "
                        "later.");
        return false;
    }
    if (!jetstream_place_takes_consumers(place)) {
        problem_respond_format(request, PROBLEM_BUS_UNAVAILABLE,
                               "The messages are in the stream %s, whose retention is `%s`: parley "
                               "creates no consumer there. Read them there.",
                               place->stream, jetstream_retention_name(place->retention));
        return false;
    }
    snprintf(list->stream, sizeof list->stream, "%s", place->stream);
    return true;
}

static void begin(const struct list *own) {
    static const struct http_handler handler = {.closed = on_closed};
    struct gateway *gateway = own->gateway;
    struct list *list = malloc(sizeof *list);
    if (list == NULL) {
        problem_respond(own->request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    *list = *own;
    parley_buffer_init(&list->items);
    stream_renderer_init(&list->renderer, gateway_message(gateway, list->channel->protocol)->schema,
                         list->channel);
    decided_init(&list->decided, list->channel->review_bucket, list->stream);
    request_slot_take(&gateway->review_slots, &list->slot);
    http_request_serve(list->request, &handler, list);
    reactor_timer_set(gateway->reactor, &list->deadline, PATIENCE_MS);
    read_decisions(list);
}

void review_list_serve(struct gateway *gateway, struct http_request *request,
                       const struct parley_protocol *protocol) {
    struct parley_option_help options[REVIEW_OPTION_COUNT + 1];
    struct list own = {.gateway = gateway,
                       .request = request,
                       .deadline = {.fire = on_deadline},
                       .has_open = true,
                       .limit = LIMIT_DEFAULT};
    if (protocol->reviews == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "Nothing waits for a review in %s.",
                               protocol->name);
        return;
    }
    own.channel = channel_find(gateway->configuration->channels, protocol);
    review_options(protocol, options);
    if (query_options_read(request, options, set_option, &own) && find_stream(&own, request) &&
        request_slots_admit(&gateway->review_slots, LISTS_MAX, gateway->limits, request,
                            "lists of reviews", &own.slot)) {
        begin(&own);
    }
}
