/* SPDX-License-Identifier: Apache-2.0 */

#include "ingest_fixture.h"

#include "kept_message.h"
#include "repeats.h"
#include "object_store.h"

#include "halt_gate.h"

#include "guard.h"
#include "jetstream_unacked.h"

#include <stdarg.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/statvfs.h>

#include "../lib/fault_heap.h"

/* ---- JetStream ---- */

bool jetstream_is_ready(const struct jetstream *jetstream) {
    return jetstream->is_ready;
}

const char *jetstream_trouble(const struct jetstream *jetstream) {
    return jetstream->is_ready ? NULL : "NATS refused the credentials";
}

const char *jetstream_bound(const struct jetstream *jetstream) {
    (void)jetstream;
    return "the test has no room (--in-flight)";
}

const char *jetstream_bar(const struct jetstream *jetstream) {
    (void)jetstream;
    return NULL;
}

size_t jetstream_max_payload_bytes(const struct jetstream *jetstream) {
    return jetstream->is_ready ? jetstream->max_payload_bytes : 0;
}

int64_t jetstream_dedupe_window_ms(const struct jetstream *jetstream, const char *stream) {
    assert_string_equal(stream, "VLP");
    return jetstream->dedupe_window_ms;
}

struct jetstream_request *jetstream_last_ask(struct jetstream *jetstream, const char *stream,
                                             const char *subject, jetstream_last_fn *done,
                                             void *context) {
    (void)jetstream, (void)stream, (void)subject, (void)done, (void)context;
    return NULL;
}

struct jetstream_request *jetstream_held_ask(struct jetstream *jetstream, const char *stream,
                                             uint64_t sequence, jetstream_held_fn *done,
                                             void *context) {
    assert_string_equal(stream, "VLP");
    if (!jetstream->is_ready || jetstream->refuses_questions) {
        return NULL;
    }
    assert_true(jetstream->asked_count < WORLD_PUBLISHED_MAX);
    struct jetstream_request *request = &jetstream->asked[jetstream->asked_count++];
    *request = (struct jetstream_request){.done = done, .context = context, .sequence = sequence};
    return request;
}

void jetstream_request_cancel(struct jetstream_request *request) {
    if (request != NULL) {
        assert_non_null(request->done);
        request->done = NULL;
    }
}

bool jetstream_is_accepting(const struct jetstream *jetstream) {
    return jetstream->is_ready;
}

enum jetstream_publish jetstream_publish(struct jetstream *jetstream,
                                         const struct jetstream_message *message,
                                         jetstream_ack_fn *done, void *context) {
    const struct bus_header *headers = message->headers;
    if (!jetstream->is_ready) {
        return JETSTREAM_AWAY;
    }
    if (jetstream->room == 0) {
        return JETSTREAM_FULL;
    }
    if (jetstream->says != JETSTREAM_PUBLISHED) {
        return jetstream->says;
    }
    jetstream->room--;
    assert_true(jetstream->count < WORLD_PUBLISHED_MAX);
    struct published *published = &jetstream->published[jetstream->count++];
    *published = (struct published){
        .done = done, .context = context, .sender = message->sender, .share = message->share};
    snprintf(published->subject, sizeof published->subject, "%s", message->subject);
    published->payload = strndup(message->payload.data, message->payload.length);
    for (size_t i = 0; i < message->header_count; i++) {
        if (strcmp(headers[i].name, "Nats-Msg-Id") == 0) {
            snprintf(published->message_id, sizeof published->message_id, "%s", headers[i].value);
        }
        if (strcmp(headers[i].name, "Parley-Digest") == 0) {
            snprintf(published->digest, sizeof published->digest, "%s", headers[i].value);
        }
        if (strcmp(headers[i].name, "ce-id") == 0) {
            snprintf(published->event_id, sizeof published->event_id, "%s", headers[i].value);
        }
    }
    return JETSTREAM_PUBLISHED;
}

void jetstream_wait_for_room(struct jetstream *jetstream, struct jetstream_waiter *waiter) {
    jetstream->waiter = waiter;
    waiter->is_waiting = true;
}

void jetstream_wait_cancel(struct jetstream *jetstream, struct jetstream_waiter *waiter) {
    waiter->is_waiting = false;
    if (jetstream->waiter == waiter) {
        jetstream->waiter = NULL;
    }
}

static void go_on(struct http_request *request);

/* ---- the disk ---- */

/* Large and empty, wherever the test runs. */
int fstatvfs(int fd, struct statvfs *out) {
    (void)fd;
    *out = (struct statvfs){.f_frsize = 1 << 20, .f_blocks = 1 << 20, .f_bavail = 1 << 20};
    return 0;
}

/* ---- memory ---- */

/* No series has a second key. */
static bool is_series(const char *key) {
    return strchr(key, '*') != NULL;
}

static void take_known(struct fact_query *query, const char *value) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        if (query->keys[i] != NULL && !is_series(query->keys[i]) && query->values[i] == NULL &&
            value != NULL) {
            query->values[i] = strdup(value);
        }
    }
}

bool fact_query_init(struct fact_query *query, struct fact_store *store,
                     const struct parley_bytes keys[PARLEY_FACT_KEYS_MAX], uint64_t read_to) {
    (void)read_to;
    query->store = store;
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        query->keys[i] = keys[i].data != NULL ? strndup(keys[i].data, keys[i].length) : NULL;
        if (keys[i].data != NULL && query->keys[i] == NULL) {
            return false;
        }
    }
    return fact_query_refresh(query) || true;
}

void fact_query_finish(struct fact_query *query) {
    for (size_t i = 0; query->store != NULL && i < query->store->query_count; i++) {
        if (query->store->queries[i] == query) {
            query->store->queries[i] = NULL;
        }
    }
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        free(query->keys[i]);
        free(query->values[i]);
        query->keys[i] = query->values[i] = NULL;
    }
}

bool fact_query_refresh(struct fact_query *query) {
    const struct fact_store *store = query->store;
    bool is_expected = false;
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        if (query->keys[i] != NULL && query->values[i] == NULL) {
            if (store->key != NULL && strcmp(store->key, query->keys[i]) == 0) {
                query->values[i] = strdup(store->known);
            }
            is_expected = is_expected || strcmp(store->expected, query->keys[i]) == 0;
        }
    }
    return !is_expected;
}

bool fact_store_is_last(const struct fact_store *store) {
    return store->is_last;
}

void fact_store_note(const struct fact_store *store, const struct parley_decision *decision,
                     struct parley_bytes stream, uint64_t sequence) {
    (void)store;
    (void)decision;
    (void)stream;
    (void)sequence;
}

int64_t fact_store_kept_ms(const struct fact_store *store) {
    (void)store;
    return 0;
}

bool fact_query_is_complete(const struct fact_query *query) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        if (query->keys[i] != NULL && !is_series(query->keys[i]) && query->values[i] == NULL) {
            return false;
        }
    }
    return true;
}

const char *fact_query_value(const struct fact_query *query, const char *key) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        if (query->keys[i] != NULL && strcmp(query->keys[i], key) == 0) {
            return query->values[i];
        }
    }
    return NULL;
}

bool fact_query_begin(struct fact_query *query, int64_t delay_ms) {
    struct fact_store *store = query->store;
    if (!store->jetstream->is_ready) {
        return false;
    }
    assert_true(store->query_count < WORLD_PUBLISHED_MAX);
    store->delays_ms[store->query_count] = delay_ms;
    store->queries[store->query_count++] = query;
    return true;
}

bool fact_store_expect(struct fact_store *store, struct parley_bytes key) {
    snprintf(store->expected, sizeof store->expected, "%.*s", (int)key.length, key.data);
    return true;
}

void fact_store_expect_end(struct fact_store *store, struct parley_bytes key) {
    (void)key;
    store->expected[0] = '\0';
}

enum jetstream_publish fact_store_write(struct fact_store *store, struct parley_bytes key,
                                        struct parley_bytes value, int64_t within_ms,
                                        fact_written_fn *done, void *context) {
    (void)within_ms;
    const size_t used = strlen(store->kept);
    if (!store->jetstream->is_ready) {
        return JETSTREAM_AWAY;
    }
    snprintf(store->kept + used, sizeof store->kept - used, "%.*s=%.*s ", (int)key.length, key.data,
             (int)value.length, value.data);
    assert_true(store->write_count < WORLD_PUBLISHED_MAX);
    store->writes[store->write_count++] = (struct fact_write){done, context};
    return JETSTREAM_PUBLISHED;
}

enum jetstream_publish fact_store_create_key(struct fact_store *store, struct parley_bytes key,
                                             struct parley_bytes value, fact_written_fn *done,
                                             void *context) {
    return fact_store_write(store, key, value, 0, done, context);
}

void world_fact_written(struct world *world, size_t number, enum fact_written written) {
    assert_true(number < world->store.write_count);
    const struct fact_write write = world->store.writes[number];
    const struct jetstream_ack ack = {.outcome = JETSTREAM_TIMEOUT, .error = "it is away"};
    assert_non_null(write.done);
    world->store.writes[number].done = NULL;
    write.done(write.context, written, &ack);
    go_on(&world->request);
}

static struct fact_query *take_query(struct world *world, size_t number) {
    assert_true(number < world->store.query_count);
    struct fact_query *query = world->store.queries[number];
    assert_non_null(query);
    world->store.queries[number] = NULL;
    return query;
}

void world_lookup_answers(struct world *world, size_t number, const char *value) {
    struct fact_query *query = take_query(world, number);
    query->has_failed = false;
    take_known(query, value);
    query->done(query);
    go_on(&world->request);
}

void world_lookup_fails(struct world *world, size_t number, const char *error) {
    struct fact_query *query = take_query(world, number);
    query->has_failed = true;
    query->error = error;
    query->done(query);
    go_on(&world->request);
}

/* ---- the worker pool ---- */

void worker_pool_submit(struct completion_queue *completions, struct worker_pool_task *task) {
    assert_true(completions->count < WORLD_TASKS_MAX);
    completions->tasks[completions->count++] = task;
}

void worker_pool_detach(struct worker_pool *pool, struct worker_pool_task *task) {
    (void)pool;
    task->work(task);
}

void world_have_worker_pool(struct world *world, bool is_there) {
    world->gateway.completions = is_there ? &world->completions : NULL;
}

void world_check(struct world *world) {
    struct completion_queue *completions = &world->completions;
    assert_true(completions->count > 0);
    struct worker_pool_task *task = completions->tasks[0];
    completions->count--;
    memmove(completions->tasks, completions->tasks + 1,
            completions->count * sizeof(struct worker_pool_task *));
    task->work(task);
    task->done(task);
    go_on(&world->request);
}

void world_check_all(struct world *world) {
    while (world->completions.count > 0) {
        world_check(world);
    }
}

/* ---- HTTP ---- */

const char *http_request_id(const struct http_request *request) {
    (void)request;
    return "r1";
}

/* Nobody waits for replies here: tests/e2e shows those that do. */
bool reply_enter(struct replies *replies, struct reply_wait *wait,
                 const struct parley_protocol *protocol, struct parley_bytes key, int64_t wait_ms) {
    (void)replies, (void)wait, (void)protocol, (void)key, (void)wait_ms;
    return false;
}

bool reply_begin(struct reply_wait *wait) {
    (void)wait;
    return false;
}

void reply_leave(struct reply_wait *wait) {
    (void)wait;
}

uint32_t http_request_wait_s(const struct http_request *request) {
    (void)request;
    return 0;
}

const char *http_request_header(const struct http_request *request, const char *name) {
    if (strcasecmp(name, "Content-Type") == 0) {
        const char *type = request->head.type;
        return type == NULL ? "application/x-ndjson" : type[0] != '\0' ? type : NULL;
    }
    for (size_t i = 0; i < WORLD_PAIRS_MAX; i++) {
        const struct request_pair *pair = &request->head.headers[i];
        if (pair->name != NULL && strcasecmp(pair->name, name) == 0) {
            return pair->value;
        }
    }
    return NULL;
}

void http_request_each_query(const struct http_request *request,
                             bool (*each)(void *context, const char *name, const char *value),
                             void *context) {
    for (size_t i = 0; i < WORLD_PAIRS_MAX; i++) {
        const struct request_pair *pair = &request->head.query[i];
        if (pair->name != NULL && !each(context, pair->name, pair->value)) {
            return;
        }
    }
}

void http_request_serve(struct http_request *request, const struct http_handler *handler,
                        void *state) {
    request->handler = handler;
    request->state = state;
}

bool http_request_is_discarding(const struct http_request *request) {
    return request->is_live ? request->read == NULL : request->status != 0;
}

void http_commit_refusal(struct http_request *request) {
    (void)request;
}

void http_commit(struct http_request *request) {
    request->waits_for_disk = true;
}

void http_wake(struct http_request *request) {
    assert_false(request->is_closing);
    request->is_woken = true;
}

void http_header(struct http_request *request, const char *name, const char *value) {
    char *to = strcmp(name, "Retry-After") == 0 ? request->retry_after : request->accept;
    const size_t size =
        to == request->accept ? sizeof request->accept : sizeof request->retry_after;
    snprintf(to, size, "%s", value);
}

/* Not to be refused memory that is the test's own. */
static void keep_answer(struct http_request *request, struct parley_bytes bytes) {
    while (!parley_buffer_reserve(&request->answer, bytes.length + 1)) {
        request->answer.has_failed = false;
    }
    parley_buffer_append(&request->answer, bytes);
    request->answer.data[request->answer.length] = '\0';
}

void http_request_remark(struct http_request *request, enum http_remark remark,
                         struct parley_bytes text) {
    if (remark == HTTP_REMARK_TRACE) {
        snprintf(request->trace, sizeof request->trace, "%.*s", (int)text.length, text.data);
    }
}

const char *http_request_remarked(const struct http_request *request, enum http_remark remark) {
    return remark == HTTP_REMARK_TRACE && request->trace[0] != '\0' ? request->trace : NULL;
}

void http_request_note(struct http_request *request, enum http_note note, unsigned char value) {
    (void)request;
    (void)note;
    (void)value;
}

void http_compress(struct http_request *request) {
    (void)request;
}

const struct http_encoding *http_request_encoding(const struct http_request *request) {
    static const struct http_encoding json = {.protocol = NULL};
    (void)request;
    return &json;
}

void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct parley_bytes body) {
    if (request->status == 0) {
        request->status = status;
        request->is_whole = true;
        snprintf(request->type, sizeof request->type, "%s", content_type);
        keep_answer(request, body);
    }
}

void http_respond_stream(struct http_request *request, unsigned status, const char *content_type,
                         ssize_t (*read)(void *state, char *buffer, size_t size)) {
    assert_int_equal(request->status, 0);
    request->status = status;
    request->read = read;
    snprintf(request->type, sizeof request->type, "%s", content_type);
}

bool http_can_be_live(const struct http_request *request) {
    return request->head.is_live;
}

void http_request_keep(struct http_request *request, void *kept, void (*release)(void *kept)) {
    (void)request;
    (void)kept;
    (void)release;
}

void *http_request_kept(const struct http_request *request) {
    (void)request;
    return NULL;
}

const char *http_request_query(const struct http_request *request, const char *name) {
    (void)request;
    (void)name;
    return NULL;
}

void http_close_after(struct http_request *request) {
    (void)request;
}

int64_t http_request_certificate_expires_at(const struct http_request *request) {
    (void)request;
    return 0;
}

const char *http_request_certificate(const struct http_request *request) {
    (void)request;
    return NULL;
}

const struct peer *http_request_peer(const struct http_request *request) {
    (void)request;
    static const struct peer peer = {{[15] = 1}};
    return &peer;
}

int64_t http_request_content_length(const struct http_request *request) {
    return request->head.content_length;
}

void http_respond_live(struct http_request *request, unsigned status, const char *content_type,
                       ssize_t (*read)(void *state, char *buffer, size_t size)) {
    assert_true(request->head.is_live);
    http_respond_stream(request, status, content_type, read);
    request->is_live = true;
}

/* ---- who sends it ---- */

const struct principal *guard_principal(const struct http_request *request) {
    static const struct principal reader = {.name = "a \r\nb\"%\xC3\xA9",
                                            .scopes.read = UINT64_MAX};
    static const struct principal sender = {.name = "a \r\nb\"%\xC3\xA9"};
    return request->head.cannot_read ? &sender : &reader;
}

const char *guard_objection(const struct guard *guard, struct http_request *request) {
    (void)guard;
    (void)request;
    return NULL;
}

/* ---- the quarantine ---- */

bool jetstream_post(struct jetstream *jetstream, const struct jetstream_message *message) {
    struct posted *posted = &jetstream->posted;
    if (jetstream->drops_posts) {
        return false;
    }
    size_t length = 0;
    jetstream->posted_count++;
    snprintf(posted->subject, sizeof posted->subject, "%s", message->subject);
    for (size_t i = 0; i < message->header_count; i++) {
        length += (size_t)snprintf(posted->headers + length, sizeof posted->headers - length,
                                   "%s: %s\n", message->headers[i].name, message->headers[i].value);
    }
    snprintf(posted->payload, sizeof posted->payload, "%.*s", (int)message->payload.length,
             message->payload.data);
    return true;
}

/* ---- the gateway ---- */

struct parley_message *gateway_message(struct gateway *gateway,
                                       const struct parley_protocol *protocol) {
    assert_string_equal(protocol->name, gateway->messages->protocol->name);
    return gateway->messages;
}

void world_speak(struct world *world, const struct parley_protocol *protocol) {
    parley_message_finish(&world->message);
    parley_schema_destroy(world->schema);
    assert_int_equal(parley_schema_create(protocol, &world->schema), PARLEY_OK);
    parley_message_init(&world->message, world->schema);
    world->channels[0] = (struct channel){.protocol = protocol, .stream = "VLP"};
    world->channels[1] = (struct channel){.name = "rejected", .stream = "REJECTED"};
}

void gateway_forget_message(struct gateway *gateway, const struct parley_protocol *protocol) {
    parley_message_reset(gateway_message(gateway, protocol));
}

struct protocol_figures *gateway_figures(struct gateway *gateway,
                                         const struct parley_protocol *protocol) {
    (void)protocol;
    return &gateway->figures->protocols[0];
}

uint64_t world_counted(const struct world *world, enum outcome outcome) {
    uint64_t count = 0;
    for (size_t i = 0; i < FIGURES_TYPES - 1; i++) {
        count += counter_read(&world->gateway.figures->protocols[0].messages[i][outcome]);
    }
    return count;
}

uint64_t world_measured_acks(const struct world *world) {
    uint64_t count = 0;
    for (size_t i = 0; i <= HISTOGRAM_BUCKETS; i++) {
        count += counter_read(&world->gateway.figures->protocols[0].ack.counts[i]);
    }
    return count;
}

struct fact_store *gateway_fact_store(struct gateway *gateway,
                                      const struct parley_protocol *protocol) {
    (void)protocol;
    return gateway->fact_stores != NULL ? gateway->fact_stores[0] : NULL;
}

/* Halts are shown by their own tests. */
struct halt_gate *gateway_halt_gate(struct gateway *gateway,
                                    const struct parley_protocol *protocol) {
    (void)gateway;
    (void)protocol;
    return NULL;
}

/* Objects are shown with a server. */
struct object_store *gateway_object_store(const struct gateway *gateway,
                                          const struct parley_protocol *protocol) {
    (void)gateway;
    (void)protocol;
    return NULL;
}

void object_put_begin(struct object_put *put, struct object_store *store) {
    (void)put;
    (void)store;
    fail();
}

struct jetstream_request *jetstream_stream_ask(struct jetstream *jetstream, const char *stream,
                                               jetstream_info_fn *done, void *context) {
    (void)jetstream;
    (void)stream;
    (void)done;
    (void)context;
    return NULL;
}

int64_t jetstream_kept_ms(const struct jetstream *jetstream, const char *stream) {
    (void)jetstream;
    (void)stream;
    return 0;
}

size_t jetstream_message_bytes_max_least(const struct jetstream *jetstream) {
    return jetstream_message_bytes_max(jetstream, NULL);
}

size_t jetstream_message_bytes_max(const struct jetstream *jetstream, const char *subject) {
    const size_t payload = jetstream_max_payload_bytes(jetstream);
    const size_t stream = jetstream->message_bytes_max;
    (void)subject;
    return stream != 0 && stream < payload ? stream : payload;
}

const struct jetstream_place *jetstream_place_find(const struct jetstream *jetstream,
                                                   const char *subject) {
    (void)jetstream;
    (void)subject;
    return NULL;
}

struct halt_set *halt_gate_set(struct halt_gate *gate) {
    (void)gate;
    return NULL;
}

enum jetstream_publish halt_gate_publish(struct halt_gate *gate, const struct halt_post *post) {
    (void)gate;
    (void)post;
    return JETSTREAM_FAILED;
}

int world_set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    if (world == NULL || sodium_init() < 0) {
        return -1;
    }
    assert_int_equal(reactor_create(&world->reactor), PARLEY_OK);
    world_speak(world, parley_protocol_find(PARLEY_BYTES("vlp")));
    world->configuration = (struct configuration){.data = "/tmp",
                                                  .spool_max_bytes = UINT64_C(1) << 32,
                                                  .dedupe_window_ms = 1,
                                                  .ack_timeout_ms = 10000};
    world->configuration.channels = world->channels;
    world->gateway = (struct gateway){.configuration = &world->configuration,
                                      .messages = &world->message,
                                      .budget = &world->budget,
                                      .spools = &world->spools,
                                      .reactor = world->reactor,
                                      .figures = figures_create(),
                                      .jetstream = &world->jetstream};
    assert_non_null(world->gateway.figures);
    world->budget.max_bytes = world->budget.start_max_bytes = SIZE_MAX / 2;
    world->spools.max_bytes = UINT64_MAX / 2;
    LIST_INIT(&world->gateway.offloads);
    world->store.jetstream = &world->jetstream;
    world->fact_stores[0] = &world->store;
    world->jetstream = (struct jetstream){.is_ready = true,
                                          .room = SIZE_MAX,
                                          .max_payload_bytes = 1048576,
                                          .dedupe_window_ms = 120000};
    *state = world;
    return 0;
}

/* What waits for facts ends. */
static void end_facts(struct world *world) {
    for (size_t i = 0; i < world->store.query_count; i++) {
        if (world->store.queries[i] != NULL) {
            world_lookup_fails(world, i, "It is over.");
        }
    }
    for (size_t i = 0; i < world->store.write_count; i++) {
        if (world->store.writes[i].done != NULL) {
            world_fact_written(world, i, FACT_FAILED);
        }
    }
}

int world_tear_down(void **state) {
    struct world *world = *state;
    world_close(world);
    world_check_all(world);
    world_ack_all(world);
    end_facts(world);
    assert_null(world->jetstream.waiter);
    assert_true(LIST_EMPTY(&world->gateway.offloads));
    assert_int_equal(world->budget.used_bytes, 0);
    assert_int_equal(world->budget.start_used_bytes, 0);
    assert_int_equal(world->spools.used_bytes, 0);
    for (size_t i = 0; i < world->jetstream.count; i++) {
        free(world->jetstream.published[i].payload);
    }
    parley_buffer_finish(&world->request.answer);
    parley_buffer_finish(&world->request.held);
    assert_int_equal(world->gateway.kept.used_count, 0);
    kept_messages_finish(&world->gateway);
    repeats_destroy(world->gateway.repeats);
    parley_buffer_finish(&world->gateway.payload);
    parley_buffer_finish(&world->gateway.answer);
    parley_message_finish(&world->message);
    parley_schema_destroy(world->schema);
    reactor_destroy(world->reactor);
    figures_destroy(world->gateway.figures);
    free(world);
    return 0;
}

/* ---- a protocol in more encodings ---- */

static const struct parley_codec sheet = {
    .name = "sheet",
    .media_types = (const char *const[]){"text/markdown", NULL},
    .extensions = (const char *const[]){"md", NULL},
    .framing = PARLEY_FRAMING_WHOLE,
};

static const struct parley_codec frames = {
    .name = "frames",
    .media_types = (const char *const[]){TOY_FRAMES, NULL},
    .extensions = (const char *const[]){"frames", NULL},
    .framing = PARLEY_FRAMING_FRAMES,
    .is_binary = true,
};

static enum parley_status toy_convert(struct parley_message *message, const struct parley_codec *to,
                                      struct parley_buffer *out) {
    if (to == &frames) {
        const size_t start = out->length;
        parley_buffer_append(out, (struct parley_bytes){"\0\0\0", 4});
        PARLEY_TRY(message->protocol->encode(message, out));
        if (!out->has_failed) {
            out->data[start + 2] = (char)((out->length - start - 4) >> 8);
            out->data[start + 3] = (char)(out->length - start - 4);
        }
        return parley_buffer_status(out);
    }
    parley_buffer_text(out, to == &sheet ? "# " : "");
    return message->protocol->encode(message, out);
}

static enum parley_status toy_refusal(struct parley_message *message, struct parley_buffer *out) {
    parley_buffer_format(out, "# %s\n", message->findings.items[0].rule->id);
    return parley_buffer_status(out);
}

const struct parley_protocol *toy_protocol(void) {
    static const struct parley_codec *const codecs[] = {&parley_codec_json, &parley_codec_ndjson,
                                                        &sheet, &frames, NULL};
    static struct parley_protocol toy;
    toy = *parley_protocol_find(PARLEY_BYTES("vlp"));
    toy.codecs = codecs;
    toy.convert = toy_convert;
    toy.refusal_media_type = "text/markdown";
    toy.write_refusal = toy_refusal;
    return &toy;
}

/* ---- a request ---- */

void world_begin(struct world *world, const struct request_head *head) {
    struct http_request *request = &world->request;
    world_close(world);
    parley_buffer_finish(&request->answer);
    parley_buffer_finish(&request->held);
    *request = (struct http_request){.head = *head};
    ingest_serve(&world->gateway, request, world->message.protocol, head->task);
}

static void offer(struct http_request *request) {
    const bool has_handler = request->handler != NULL;
    const bool is_open = !http_request_is_discarding(request);
    request->is_woken = false;
    /* In memory of just that size, for the address sanitizer, and never refused. */
    char *copy = aligned_alloc(1, request->held.length); /* the faulty heap has no such */
    assert_non_null(copy);
    if (request->held.length > 0) {
        memcpy(copy, request->held.data, request->held.length);
    }
    const struct parley_bytes bytes = {copy, request->held.length};
    const size_t taken = !has_handler || !is_open || bytes.length == 0
                             ? bytes.length
                             : request->handler->body(request->state, request, bytes);
    assert_true(taken <= bytes.length);
    request->held.length -= taken;
    if (request->held.length > 0) {
        memmove(request->held.data, request->held.data + taken, request->held.length);
    }
    free(copy);
}

static void tell_end(struct http_request *request) {
    if (request->is_ending && !request->is_ended && request->held.length == 0) {
        request->is_ended = true;
        const bool is_open = request->is_live ? request->read != NULL : request->status == 0;
        if (request->handler != NULL && is_open) {
            request->handler->end(request->state, request);
        }
    }
}

static void read_answer(struct http_request *request) {
    char buffer[777];
    while (request->read != NULL && !request->is_held_up) {
        const ssize_t count = request->read(request->state, buffer, sizeof buffer);
        if (count == 0 && request->is_live) {
            return;
        }
        if (count < 0) {
            request->is_whole = count == HTTP_SOURCE_END;
            request->read = NULL;
        } else {
            keep_answer(request, (struct parley_bytes){buffer, (size_t)count});
        }
    }
}

/* What http_request.c does: offers what is not taken; when all is, reports the end; and asks for
 * the answer, until none of that wakes anything. */
static void go_on(struct http_request *request) {
    do {
        offer(request);
        tell_end(request);
        if (!request->is_woken || request->held.length == 0) {
            read_answer(request);
            tell_end(request);
        }
    } while (request->is_woken && request->held.length > 0);
}

void world_send(struct world *world, const char *text) {
    world_send_bytes(world, parley_bytes_of(text));
}

void world_send_bytes(struct world *world, struct parley_bytes bytes) {
    struct http_request *request = &world->request;
    const bool is_waiting = request->held.length > 0;
    while (!parley_buffer_reserve(&request->held, bytes.length + 1)) {
        request->held.has_failed = false;
    }
    parley_buffer_append(&request->held, bytes);
    if (!is_waiting) {
        go_on(request);
    }
}

size_t world_held(const struct world *world) {
    return world->request.held.length;
}

void world_end(struct world *world) {
    world->request.is_ending = true;
    if (world->request.held.length == 0) {
        go_on(&world->request);
    }
}

void world_close(struct world *world) {
    struct http_request *request = &world->request;
    if (request->handler != NULL) {
        request->is_closing = true;
        request->handler->closed(request->state, request->status != 0);
        request->is_closing = false;
        request->handler = NULL;
    }
}

void world_close_all(struct world *world) {
    world_close(world);
    parley_message_finish(&world->message);
    parley_message_init(&world->message, world->schema);
    parley_buffer_finish(&world->gateway.payload);
    parley_buffer_finish(&world->gateway.answer);
}

bool world_run_out(struct world *world, const struct request_head *head, const char *body,
                   const char *answer, size_t number) {
    world_close_all(world);
    world->store.query_count = 0;
    fault_heap_arm(number, 1);
    world_post(world, head, body);
    for (size_t i = 0; i < world->store.query_count; i++) {
        world_lookup_answers(world, i, answer);
    }
    world_ack_all(world);
    const bool has_failed = fault_heap_has_failed();
    fault_heap_disarm();
    return has_failed;
}

void world_hold_up(struct world *world, bool is_held_up) {
    world->request.is_held_up = is_held_up;
    go_on(&world->request);
}

void world_post(struct world *world, const struct request_head *head, const char *body) {
    world_begin(world, head);
    world_send(world, body);
    world_end(world);
}

/* ---- what JetStream says ---- */

void world_ack(struct world *world, size_t number, enum jetstream_outcome outcome) {
    assert_true(number < world->jetstream.count);
    struct published *published = &world->jetstream.published[number];
    assert_non_null(published->done);
    const struct jetstream_ack ack = {.outcome = outcome,
                                      .stream = "VLP",
                                      .sequence = number - world->jetstream.sequence_base,
                                      .error_code = 503};
    jetstream_ack_fn *done = published->done;
    published->done = NULL;
    done(published->context, &ack);
    go_on(&world->request);
}

static void ack_duplicate(struct world *world, size_t number, uint64_t sequence, bool is_again) {
    assert_true(number < world->jetstream.count);
    struct published *published = &world->jetstream.published[number];
    const struct jetstream_ack ack = {.outcome = JETSTREAM_STORED,
                                      .stream = "VLP",
                                      .sequence = sequence,
                                      .is_duplicate = true,
                                      .is_again = is_again};
    jetstream_ack_fn *done = published->done;
    assert_non_null(done);
    published->done = NULL;
    done(published->context, &ack);
    go_on(&world->request);
}

void world_ack_duplicate(struct world *world, size_t number, uint64_t sequence) {
    ack_duplicate(world, number, sequence, false);
}

void world_ack_again(struct world *world, size_t number, uint64_t sequence) {
    ack_duplicate(world, number, sequence, true);
}

static void tell_held(struct world *world, size_t number, const struct jetstream_held *held) {
    assert_true(number < world->jetstream.asked_count);
    struct jetstream_request *request = &world->jetstream.asked[number];
    jetstream_held_fn *done = request->done;
    assert_non_null(done);
    request->done = NULL;
    done(request->context, held);
    go_on(&world->request);
}

void world_held_found(struct world *world, size_t number, const char *subject,
                      const char *headers) {
    char wire[1024];
    snprintf(wire, sizeof wire, "NATS/1.0\r\n%s\r\n", headers);
    const struct jetstream_held held = {
        .found = JETSTREAM_HELD_FOUND, .subject = subject, .headers = parley_bytes_of(wire)};
    tell_held(world, number, &held);
}

void world_held_message(struct world *world, size_t number, const char *subject,
                        const char *headers, const char *payload) {
    char wire[1024];
    snprintf(wire, sizeof wire, "NATS/1.0\r\n%s\r\n", headers);
    const struct jetstream_held held = {.found = JETSTREAM_HELD_FOUND,
                                        .subject = subject,
                                        .headers = parley_bytes_of(wire),
                                        .payload = parley_bytes_of(payload)};
    tell_held(world, number, &held);
}

void world_held_gone(struct world *world, size_t number) {
    tell_held(world, number, &(struct jetstream_held){.found = JETSTREAM_HELD_GONE});
}

void world_held_unknown(struct world *world, size_t number, const char *error) {
    tell_held(world, number,
              &(struct jetstream_held){.found = JETSTREAM_HELD_UNKNOWN, .error = error});
}

void world_ack_all(struct world *world) {
    for (size_t i = 0; i < world->jetstream.count; i++) {
        if (world->jetstream.published[i].done != NULL) {
            world_ack(world, i, JETSTREAM_STORED);
        }
    }
}

void world_make_room(struct world *world, size_t count) {
    struct jetstream_waiter *waiter = world->jetstream.waiter;
    world->jetstream.room = count;
    world->jetstream.waiter = NULL;
    if (waiter != NULL) {
        waiter->is_waiting = false;
        waiter->room(waiter);
    }
    go_on(&world->request);
}

const char *world_answer(struct world *world) {
    return world->request.answer.data != NULL ? world->request.answer.data : "";
}

const char *world_statuses(struct world *world) {
    static char text[4096];
    size_t length = 0;
    text[0] = '\0';
    for (const char *at = world_answer(world); *at != '\0'; at = strchr(at, '\n') + 1) {
        assert_non_null(strchr(at, '\n'));
        json_t *line = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
        assert_non_null(line);
        const json_t *summary = json_object_get(line, "summary");
        const char *status = json_string_value(json_object_get(line, "status"));
        long long counts[5] = {0};
        static const char *const names[] = {"received", "accepted", "duplicate", "invalid",
                                            "failed"};
        for (size_t i = 0; i < 5; i++) {
            counts[i] = json_integer_value(json_object_get(summary, names[i]));
        }
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%s", length > 0 ? " " : "");
        if (summary != NULL) {
            length +=
                (size_t)snprintf(text + length, sizeof text - length, "%lld/%lld/%lld/%lld/%lld",
                                 counts[0], counts[1], counts[2], counts[3], counts[4]);
        } else {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s",
                                       status != NULL ? status : "?");
        }
        json_decref(line);
    }
    return text;
}
