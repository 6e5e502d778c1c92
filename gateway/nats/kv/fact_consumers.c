/* SPDX-License-Identifier: Apache-2.0 */

/* See fact_consumers.h. A message that came through a gateway gets its fact from it, once that has
 * the ack: so it is left alone until it is FRESH_MS old, and then its own key is asked for, which
 * is almost always there. An older one was delivered late, and does not wait. A message published
 * straight to NATS is handled at once, since a request may wait for it as a reply. If it depends on
 * a fact that is just being written, it waits after all, and the messages after it do too: they
 * keep their order.
 *
 *   FRESH ── old enough ──▶ LOOKING ── the key is there ──▶ acknowledged
 *     ▲                        └── absent ──▶ ASKING (all facts) ── decided ──▶ WRITING ──▶
 *     └── too early ──────────────────────────────┘                              acknowledged
 *
 * A message that fails is returned to the consumer, and delivered again. A message that is not
 * valid leaves no fact, and is acknowledged unread. */

#include "fact_consumers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "digest.h"
#include "fact_last.h"
#include "reactor.h"

enum {
    BATCH = 64,         /* of each consumer: their keys leave room in the line that senders share */
    ACK_WAIT_MS = 5000, /* after which another gateway takes the messages that this one did not
                           finish */
    RETURN_MS = 1000,
    FRESH_MS = 20,
    NS_A_MS = 1000000,
    CONSUMERS_MAX = 8,
    STORED_BYTES_MAX = 64 * 1024 * 1024, /* the most that NATS takes */
    HELD_BYTES_MAX = 16 * 1024 * 1024,   /* of messages under way; one is always taken */
};

struct taken;
TAILQ_HEAD(taken_list, taken);

struct fact_consumers {
    struct fact_consumers_options options;
    struct shared_consumer *shared[CONSUMERS_MAX];
    char durables[CONSUMERS_MAX][FACT_NAME_MAX];
    size_t count;
    struct taken_list fresh, under_way;
    struct reactor_timer timer; /* until the first fresh one is old enough */
    size_t held_bytes;
    size_t early_count; /* of the fresh, those that were looked at too early */
};

/* A message under way.  Owns: the query. */
struct taken {
    struct fact_consumers *consumers;
    struct shared_consumer *from; /* NULL if it was set aside there, or that was closed */
    TAILQ_ENTRY(taken) link;
    struct taken_list *list;
    int64_t due_ms;
    struct fact_query query;
    struct fact_last last;
    bool has_all_keys, is_final;
    bool is_direct; /* no gateway has published it */
    unsigned prepared_count;
    enum { ON_TIME, AT_ONCE, TOO_EARLY } turn; /* in which it is looked at */
    char digest[DIGEST_LENGTH + 1];
    uint64_t sequence;
    int64_t time_ns;
    union parley_option_value values[PARLEY_OPTIONS_MAX]; /* the operator's, and its headers' */
    char *receipt, *subject, *stream;
    struct parley_bytes payload;
    char bytes[];
};

/* ---- lifecycle ---- */

static void enter_list(struct taken *taken, struct taken_list *list) {
    TAILQ_REMOVE(taken->list, taken, link);
    taken->list = list;
    TAILQ_INSERT_TAIL(list, taken, link);
}

static void free_taken(struct taken *taken) {
    TAILQ_REMOVE(taken->list, taken, link);
    taken->consumers->early_count -= taken->turn == TOO_EARLY ? 1 : 0;
    taken->consumers->held_bytes -= taken->payload.length;
    fact_query_finish(&taken->query);
    fact_last_finish(&taken->last);
    free(taken);
}

static void acknowledge(struct taken *taken) {
    shared_consumer_ack(taken->consumers->options.jetstream, taken->from, taken->receipt);
    free_taken(taken);
}

static void give_back(struct taken *taken) {
    shared_consumer_return(taken->consumers->options.jetstream, taken->from, taken->receipt,
                           RETURN_MS);
    free_taken(taken);
}

/* ---- the facts it leaves ---- */

/* Decides on the message by the facts that the query has found. Afterwards the message object holds
 * it. `out`: PARLEY_DECISION_REFUSED also for a message that is not valid. */
static enum parley_status decide(struct taken *taken, struct parley_known_facts *known,
                                 struct parley_decision *out) {
    const struct fact_consumers_options *its = &taken->consumers->options;
    struct parley_message *message = its->message;
    struct parley_options options = {.message_bytes_max = STORED_BYTES_MAX,
                                     .subject_prefix = its->channel->prefix,
                                     .dialect = its->channel->dialect,
                                     .stored_subject = taken->subject,
                                     .now_seconds = taken->time_ns / NS_A_MS / 1000};
    memcpy(options.values, taken->values, sizeof options.values);
    out->kind = PARLEY_DECISION_REFUSED;
    PARLEY_TRY(parley_message_check(message, taken->payload, &parley_codec_json, &options,
                                    (struct parley_position){1, 1}));
    if (!parley_message_is_valid(message)) {
        return PARLEY_OK;
    }
    PARLEY_TRY(digest_of_message(message, taken->digest));
    *known = (struct parley_known_facts){.is_final = taken->is_final,
                                         .digest = taken->digest,
                                         .stored_stream = parley_bytes_of(taken->stream),
                                         .stored_sequence = taken->sequence};
    fact_last_tell(&taken->last, known);
    for (size_t i = 0; taken->has_all_keys && i < PARLEY_FACT_KEYS_MAX; i++) {
        known->values[i] = parley_bytes_of(taken->query.values[i]);
    }
    return parley_message_decide(message, known, out);
}

static void on_written(void *context, enum fact_written written, const struct jetstream_ack *ack) {
    struct taken *taken = context;
    (void)ack;
    if (written == FACT_FAILED) {
        give_back(taken);
    } else {
        acknowledge(taken);
    }
}

static void write_fact(struct taken *taken, const struct parley_decision *decision) {
    struct parley_buffer value;
    parley_buffer_init(&value);
    parley_decision_write_fact(decision, parley_bytes_of(taken->stream), taken->sequence, &value);
    const enum jetstream_publish published =
        value.has_failed ? JETSTREAM_FAILED
                         : fact_store_write(taken->consumers->options.store, decision->fact_key,
                                            parley_buffer_bytes(&value),
                                            decision->within_seconds * 1000, on_written, taken);
    parley_buffer_finish(&value);
    if (published != JETSTREAM_PUBLISHED) {
        give_back(taken);
    }
}

static void ask_all(struct taken *taken);
static void finish_decided(struct taken *taken);

static void on_last(struct fact_last *last) {
    struct taken *taken = OWNER_OF(last, struct taken, last);
    if (last->is_known) {
        finish_decided(taken);
    } else {
        give_back(taken);
    }
}

/* It depends on another message besides. */
static void ask_last(struct taken *taken, const struct parley_decision *decision) {
    char subject[FACT_KEY_MAX * 4];
    snprintf(subject, sizeof subject, "%.*s", (int)decision->last_subject.length,
             decision->last_subject.data);
    taken->last.done = on_last;
    if (fact_last_ask(&taken->last, taken->consumers->options.jetstream, subject)) {
        return;
    }
    on_last(&taken->last);
}

static void on_prepared(void *context, enum fact_written written, const struct jetstream_ack *ack) {
    struct taken *taken = context;
    (void)ack;
    if (written == FACT_FAILED) {
        give_back(taken);
    } else {
        ask_all(taken);
    }
}

/* Something is to be written first: then it is decided on once more. */
static void prepare(struct taken *taken, const struct parley_decision *decision) {
    enum { PREPARED_MAX = 16 };
    struct parley_buffer value;
    parley_buffer_init(&value);
    parley_decision_write_fact(decision, (struct parley_bytes){0}, 0, &value);
    const bool is_written = !value.has_failed && ++taken->prepared_count <= PREPARED_MAX &&
                            fact_store_create_key(taken->consumers->options.store,
                                                  decision->fact_key, parley_buffer_bytes(&value),
                                                  on_prepared, taken) == JETSTREAM_PUBLISHED;
    parley_buffer_finish(&value);
    if (!is_written) {
        give_back(taken);
    }
}

/* All wait equally long, so they are in the order in which they are due. */
static void set_due(struct taken *taken, int64_t delay_ms) {
    struct fact_consumers *consumers = taken->consumers;
    struct reactor *reactor = consumers->options.reactor;
    taken->due_ms = reactor_now_ms(reactor) + delay_ms;
    if (!consumers->timer.is_armed) {
        reactor_timer_set(reactor, &consumers->timer, delay_ms);
    }
}

/* Something that it depends on may be written in a moment. */
static void ask_again(struct taken *taken) {
    if (taken->turn == AT_ONCE) {
        taken->turn = TOO_EARLY;
        taken->consumers->early_count++;
        taken->has_all_keys = false;
        enter_list(taken, &taken->consumers->fresh);
        set_due(taken, FRESH_MS);
        return;
    }
    taken->is_final = true;
    shared_consumer_set_aside(taken->from);
    taken->from = NULL;
    if (!fact_query_begin(&taken->query, FACT_RETRY_MS)) {
        give_back(taken);
    }
}

static void finish_decided(struct taken *taken) {
    struct parley_message *message = taken->consumers->options.message;
    struct parley_known_facts known;
    struct parley_decision decision = {0};
    if (decide(taken, &known, &decision) != PARLEY_OK) {
        give_back(taken);
    } else if (decision.kind == PARLEY_DECISION_ASK_AGAIN) {
        ask_again(taken);
    } else if (decision.kind == PARLEY_DECISION_ASK_LAST) {
        ask_last(taken, &decision);
    } else if (decision.kind == PARLEY_DECISION_PREPARE) {
        prepare(taken, &decision);
    } else if (decision.kind == PARLEY_DECISION_PUBLISH && decision.fact_key.data != NULL) {
        write_fact(taken, &decision);
    } else {
        if (decision.kind == PARLEY_DECISION_PUBLISH) {
            fact_store_note(taken->consumers->options.store, &decision,
                            parley_bytes_of(taken->stream), taken->sequence);
        }
        acknowledge(taken);
    }
    parley_message_reset(message);
}

/* ---- known facts ---- */

static void on_answer(struct fact_query *query);

static void ask(struct taken *taken, const struct parley_bytes keys[PARLEY_FACT_KEYS_MAX]) {
    fact_query_finish(&taken->query);
    taken->query = (struct fact_query){.done = on_answer};
    const bool has_keys = fact_query_init(&taken->query, taken->consumers->options.store, keys, 0);
    if (has_keys && fact_query_is_complete(&taken->query)) {
        on_answer(&taken->query);
    } else if (!has_keys || !fact_query_begin(&taken->query, 0)) {
        give_back(taken);
    }
}

/* Its key may be written already, and a later one of the series still be this message's. */
static bool has_series(struct parley_message *message) {
    struct parley_route route;
    bool has_one = false;
    if (parley_message_route(message, &route) != PARLEY_OK) {
        return false;
    }
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        has_one = has_one || fact_key_is_series(route.fact_keys[i]);
    }
    return has_one;
}

/* Looks for the key that it would leave without any other facts. Keys that this process has written
 * itself need not be asked for. */
static void look(struct taken *taken) {
    const struct fact_consumers_options *its = &taken->consumers->options;
    struct parley_message *message = its->message;
    struct parley_known_facts known;
    struct parley_decision decision = {0};
    if (taken->turn == TOO_EARLY) {
        taken->turn = ON_TIME;
        taken->consumers->early_count--;
    }
    taken->is_final = true;
    enter_list(taken, &taken->consumers->under_way);
    const enum parley_status status = decide(taken, &known, &decision);
    taken->is_final = false;
    const bool is_decided = status == PARLEY_OK && decision.kind == PARLEY_DECISION_PUBLISH;
    const bool is_open = is_decided && decision.fact_key.data != NULL &&
                         ((taken->is_direct && has_series(message)) ||
                          !fact_store_has_written(its->store, decision.fact_key));
    if (is_decided && decision.fact_key.data == NULL && taken->is_direct) {
        ask_all(taken); /* it may be a sign of life */
    } else if (is_open) {
        const struct parley_bytes keys[PARLEY_FACT_KEYS_MAX] = {decision.fact_key};
        ask(taken, keys);
    } else if (status != PARLEY_E_MEMORY) {
        acknowledge(taken);
    } else {
        give_back(taken);
    }
    parley_message_reset(message);
}

static void ask_all(struct taken *taken) {
    struct parley_message *message = taken->consumers->options.message;
    struct parley_known_facts known;
    struct parley_decision decision = {0};
    struct parley_route route;
    if (decide(taken, &known, &decision) != PARLEY_OK ||
        parley_message_route(message, &route) != PARLEY_OK) {
        give_back(taken);
    } else {
        taken->has_all_keys = true;
        ask(taken, route.fact_keys);
    }
    parley_message_reset(message);
}

static void on_answer(struct fact_query *query) {
    struct taken *taken = OWNER_OF(query, struct taken, query);
    if (query->has_failed) {
        give_back(taken);
    } else if (taken->has_all_keys) {
        finish_decided(taken);
    } else if (query->values[0] != NULL &&
               parley_fact_is_of(parley_bytes_of(query->values[0]), parley_bytes_of(taken->stream),
                                 taken->sequence)) {
        acknowledge(taken);
    } else {
        ask_all(taken);
    }
}

/* ---- taking ---- */

static void on_timer(struct reactor_timer *timer) {
    struct fact_consumers *consumers = OWNER_OF(timer, struct fact_consumers, timer);
    const int64_t now_ms = reactor_now_ms(consumers->options.reactor);
    struct taken *first;
    while ((first = TAILQ_FIRST(&consumers->fresh)) != NULL && first->due_ms <= now_ms) {
        look(first);
    }
    if (first != NULL) {
        reactor_timer_set(consumers->options.reactor, timer, first->due_ms - now_ms);
    }
}

/* Clocks may differ: none waits longer than FRESH_MS. */
static int64_t wait_ms(int64_t stored_ns) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t age_ms = now.tv_sec * INT64_C(1000) + now.tv_nsec / NS_A_MS - stored_ns / NS_A_MS;
    return age_ms < 0 ? FRESH_MS : age_ms < FRESH_MS ? FRESH_MS - age_ms : 0;
}

/* $JS.ACK.STREAM.CONSUMER.…; the channel's stream for any other form. */
static struct parley_bytes stream_of(const struct fact_consumers *consumers, const char *receipt) {
    static const char start[] = "$JS.ACK.";
    enum { DOTS = 8 };
    size_t dots = 0;
    for (const char *at = receipt; *at != '\0'; at++) {
        dots += *at == '.' ? 1 : 0;
    }
    if (dots != DOTS || strncmp(receipt, start, sizeof start - 1) != 0) {
        return parley_bytes_of(consumers->options.channel->stream);
    }
    const char *name = receipt + sizeof start - 1;
    return (struct parley_bytes){name, strcspn(name, ".")};
}

static char *copy(char **at, struct parley_bytes text) {
    char *start = *at;
    if (text.length > 0) { /* data may be NULL then */
        memcpy(start, text.data, text.length);
    }
    start[text.length] = '\0';
    *at += text.length + 1;
    return start;
}

static const char *find_header(void *context, const char *name) {
    return jetstream_stored_header(context, name);
}

static void read_options(struct taken *taken, const struct jetstream_stored *stored) {
    struct jetstream_stored of = *stored;
    const struct fact_consumers_options *its = &taken->consumers->options;
    struct parley_options options = {.now_seconds = stored->time_ns / NS_A_MS / 1000};
    memcpy(options.values, its->values, sizeof options.values);
    parley_options_read_headers(&options, its->channel->protocol, find_header, &of);
    memcpy(taken->values, options.values, sizeof taken->values);
}

static struct taken *create_taken(struct fact_consumers *consumers,
                                  const struct jetstream_stored *stored, const char *receipt) {
    const struct parley_bytes stream = stream_of(consumers, receipt);
    const size_t size =
        stored->payload.length + strlen(stored->subject) + strlen(receipt) + stream.length + 4;
    struct taken *taken = calloc(1, sizeof *taken + size);
    if (taken == NULL) {
        return NULL;
    }
    char *at = taken->bytes;
    taken->consumers = consumers;
    taken->sequence = stored->sequence;
    taken->time_ns = stored->time_ns;
    taken->payload.data = copy(&at, stored->payload);
    taken->payload.length = stored->payload.length;
    taken->subject = copy(&at, parley_bytes_of(stored->subject));
    taken->receipt = copy(&at, parley_bytes_of(receipt));
    taken->stream = copy(&at, stream);
    read_options(taken, stored);
    return taken;
}

/* No gateway publishes without this header. */
static bool is_from_gateway(const struct jetstream_stored *stored) {
    return jetstream_stored_header(stored, "ce-specversion") != NULL;
}

static void on_taken(void *context, struct shared_consumer *from,
                     const struct jetstream_stored *stored, const char *receipt) {
    struct fact_consumers *consumers = context;
    const bool has_room = consumers->held_bytes == 0 ||
                          consumers->held_bytes + stored->payload.length <= HELD_BYTES_MAX;
    struct taken *taken = has_room ? create_taken(consumers, stored, receipt) : NULL;
    if (taken == NULL) {
        shared_consumer_return(consumers->options.jetstream, from, receipt, RETURN_MS);
        return;
    }
    taken->from = from;
    taken->is_direct = !is_from_gateway(stored);
    taken->list = &consumers->fresh;
    TAILQ_INSERT_TAIL(&consumers->fresh, taken, link);
    consumers->held_bytes += taken->payload.length;
    if (consumers->early_count == 0 && taken->is_direct) {
        taken->turn = AT_ONCE;
        look(taken);
    } else {
        set_due(taken, wait_ms(stored->time_ns));
    }
}

/* The first subject's consumer has the bucket's name, as in older versions; the others have their
 * subject's in it: parley_tasks_results. */
static void name_durable(const char *bucket, const char *below, bool is_first,
                         char out[FACT_NAME_MAX]) {
    const size_t length = strcspn(below, ">*");
    int written = snprintf(out, FACT_NAME_MAX, "%s%s%.*s", bucket, is_first ? "" : "_",
                           is_first ? 0 : (int)length, below);
    while (written > 0 && written < FACT_NAME_MAX && out[written - 1] == '.') {
        out[--written] = '\0';
    }
    for (char *at = out; *at != '\0'; at++) {
        *at = (char)(*at == '.' ? '_' : *at);
    }
}

static enum parley_status open_all(struct fact_consumers *consumers) {
    const struct fact_consumers_options *its = &consumers->options;
    const struct parley_facts_kind *facts = its->channel->protocol->facts;
    for (size_t i = 0; its->channel->fact_subjects[i] != NULL && i < CONSUMERS_MAX; i++) {
        char *durable = consumers->durables[consumers->count];
        name_durable(facts->bucket, facts->subjects[i], i == 0, durable);
        const struct shared_consumer_options options = {.stream = its->channel->stream,
                                                        .durable = durable,
                                                        .filter = its->channel->fact_subjects[i],
                                                        .batch = BATCH,
                                                        .ack_wait_ms = ACK_WAIT_MS};
        PARLEY_TRY(shared_consumer_open(its->jetstream, &options, on_taken, consumers,
                                        &consumers->shared[consumers->count]));
        consumers->count++;
    }
    return PARLEY_OK;
}

enum parley_status fact_consumers_create(const struct fact_consumers_options *options,
                                         struct fact_consumers **out) {
    struct fact_consumers *consumers = calloc(1, sizeof *consumers);
    if (consumers == NULL) {
        return PARLEY_E_MEMORY;
    }
    consumers->options = *options;
    TAILQ_INIT(&consumers->fresh);
    TAILQ_INIT(&consumers->under_way);
    consumers->timer.fire = on_timer;
    const enum parley_status status = open_all(consumers);
    if (status != PARLEY_OK) {
        fact_consumers_destroy(consumers);
        return status;
    }
    *out = consumers;
    return PARLEY_OK;
}

bool fact_consumers_pending(const struct fact_consumers *consumers, uint64_t *out) {
    bool is_known = consumers != NULL && consumers->count > 0;
    *out = 0;
    for (size_t i = 0; is_known && i < consumers->count; i++) {
        uint64_t pending = 0;
        is_known =
            consumers->shared[i] != NULL && shared_consumer_pending(consumers->shared[i], &pending);
        *out += pending;
    }
    return is_known;
}

/* Waiting messages are delivered again, to another gateway. */
void fact_consumers_stop(struct fact_consumers *consumers) {
    if (consumers == NULL) {
        return;
    }
    for (size_t i = 0; i < consumers->count; i++) {
        shared_consumer_close(consumers->shared[i]);
        consumers->shared[i] = NULL;
    }
    while (!TAILQ_EMPTY(&consumers->fresh)) {
        free_taken(TAILQ_FIRST(&consumers->fresh));
    }
    struct taken *taken;
    TAILQ_FOREACH(taken, &consumers->under_way, link) {
        taken->from = NULL;
    }
    reactor_timer_clear(consumers->options.reactor, &consumers->timer);
}

/* The callbacks of writes under way are no longer called. */
void fact_consumers_destroy(struct fact_consumers *consumers) {
    fact_consumers_stop(consumers);
    while (consumers != NULL && !TAILQ_EMPTY(&consumers->under_way)) {
        free_taken(TAILQ_FIRST(&consumers->under_way));
    }
    free(consumers);
}
