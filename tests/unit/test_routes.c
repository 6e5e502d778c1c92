/* SPDX-License-Identifier: Apache-2.0 */

/* Which address goes where, and which request line opens a stream. HTTP and what is behind the
 * routes are played by this file. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>

#include "console.h"
#include "describe_pages.h"
#include "jansson_setup.h"
#include "agents.h"
#include "halt_gate.h"
#include "halts.h"
#include "http_head.h"
#include "index_lists.h"
#include "index_view.h"
#include "reviews.h"
#include "routes.h"
#include "ingest.h"
#include "metrics_page.h"
#include "streams.h"
#include "artifacts.h"
#include "checkpoints.h"
#include "tasks.h"

struct jetstream {
    bool is_ready, is_patient;
    const char *trouble, *remark;
};

struct http_request {
    const char *method, *path, *host;
    const char *accept; /* NULL: none */
    unsigned status;
    char allow[64], body[1024], challenge[256];
    char served[64];           /* by whom */
    const char *authorization; /* NULL: none */
    int64_t certificate_expires_at;
    void *kept;
    void (*release)(void *kept);
    bool is_delayed; /* it will be answered */
};

void http_request_keep(struct http_request *request, void *kept, void (*release)(void *kept)) {
    if (request->release != NULL) {
        request->release(request->kept);
    }
    request->kept = kept;
    request->release = release;
}

void *http_request_kept(const struct http_request *request) {
    return request->kept;
}

const char *http_request_query(const struct http_request *request, const char *name) {
    (void)request;
    if (strcmp(name, "follow") == 0) {
        return NULL;
    }
    assert_string_equal(name, "access_token");
    return NULL;
}

int64_t http_request_certificate_expires_at(const struct http_request *request) {
    return request->certificate_expires_at;
}

const char *http_request_certificate(const struct http_request *request) {
    (void)request;
    return NULL;
}

const struct peer *http_request_peer(const struct http_request *request) {
    static const struct peer nobody;
    (void)request;
    return &nobody;
}

void http_request_serve(struct http_request *request, const struct http_handler *handler,
                        void *state) {
    request->is_delayed = true;
    handler->closed(state, false);
}

void http_close_after(struct http_request *request) {
    (void)request;
}

const char *http_request_id(const struct http_request *request) {
    (void)request;
    return "r1";
}

const char *http_request_method(const struct http_request *request) {
    return request->method;
}

const char *http_request_path(const struct http_request *request) {
    return request->path;
}

const char *http_request_host(const struct http_request *request) {
    return request->host;
}

uint32_t http_request_wait_s(const struct http_request *request) {
    (void)request;
    return 0;
}

const char *http_request_header(const struct http_request *request, const char *name) {
    return strcmp(name, "Accept") == 0          ? request->accept
           : strcmp(name, "Authorization") == 0 ? request->authorization
                                                : NULL;
}

const char *http_request_header_at(const struct http_request *request, const char *name,
                                   size_t number) {
    return number == 0 ? http_request_header(request, name) : NULL;
}

int64_t http_request_content_length(const struct http_request *request) {
    (void)request;
    return 0;
}

void http_header(struct http_request *request, const char *name, const char *value) {
    if (strcmp(name, "Allow") == 0) {
        snprintf(request->allow, sizeof request->allow, "%s", value);
    }
    if (strcmp(name, "WWW-Authenticate") == 0) {
        snprintf(request->challenge, sizeof request->challenge, "%s", value);
    }
}

void http_request_remark(struct http_request *request, enum http_remark remark,
                         struct parley_bytes text) {
    (void)request;
    (void)remark;
    (void)text;
}

const char *http_request_remarked(const struct http_request *request, enum http_remark remark) {
    (void)request;
    (void)remark;
    return NULL;
}

void http_request_note(struct http_request *request, enum http_note note, unsigned char value) {
    (void)request;
    (void)note;
    (void)value;
}

void http_compress(struct http_request *request) {
    (void)request;
}

void http_encode(struct http_request *request, const struct http_encoding *encoding) {
    (void)request;
    (void)encoding;
}

const struct http_encoding *http_request_encoding(const struct http_request *request) {
    static const struct http_encoding json = {.protocol = NULL};
    (void)request;
    return &json;
}

void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct parley_bytes body) {
    assert_int_equal(request->status, 0);
    assert_string_equal(request->served, "");
    request->status = status;
    snprintf(request->body, sizeof request->body, "%.*s", (int)body.length,
             content_type != NULL ? body.data : "");
}

bool jetstream_is_ready(const struct jetstream *jetstream) {
    return jetstream->is_ready;
}

bool jetstream_is_patient(const struct jetstream *jetstream) {
    return jetstream->is_patient;
}

uint32_t jetstream_server_version(const struct jetstream *jetstream) {
    (void)jetstream;
    return 2010027;
}

const char *jetstream_remark(const struct jetstream *jetstream, size_t number) {
    return number == 0 ? jetstream->remark : NULL;
}

const char *jetstream_trouble(const struct jetstream *jetstream) {
    return jetstream->trouble;
}

const char *jetstream_bar(const struct jetstream *jetstream) {
    (void)jetstream;
    return NULL;
}

static void note(struct http_request *request, const char *who,
                 const struct parley_protocol *protocol) {
    assert_int_equal(request->status, 0);
    snprintf(request->served, sizeof request->served, "%s %s", who,
             protocol != NULL ? protocol->name : "all");
}

void ingest_serve(struct gateway *gateway, struct http_request *request,
                  const struct parley_protocol *protocol, enum ingest_task task) {
    static const char *const names[] = {[INGEST_FORWARD] = "messages",
                                        [INGEST_VALIDATE] = "validate",
                                        [INGEST_CONVERT] = "convert"};
    (void)gateway;
    note(request, names[task], protocol);
}

void streams_serve(struct streams *streams, const struct limits *limits,
                   struct http_request *request, const struct parley_protocol *protocol,
                   const struct streams_rights *rights) {
    (void)streams;
    (void)limits;
    assert_true(rights->protocols != 0);
    note(request, "stream", protocol);
}

void index_lists_serve(struct index_lists *lists, struct http_request *request,
                       const struct index_view *view, const struct parley_protocol *protocol,
                       uint64_t readable, const char *own) {
    (void)lists;
    (void)readable;
    (void)own;
    snprintf(request->served, sizeof request->served, "view %s %s", view->name,
             protocol != NULL ? protocol->name : "all");
}

void index_lists_serve_one(struct index_lists *lists, struct http_request *request,
                           const struct parley_protocol *protocol, const char *place,
                           const char *own) {
    (void)lists;
    (void)own;
    snprintf(request->served, sizeof request->served, "message %s %s", protocol->name, place);
}

struct index_progress index_keeper_progress(const struct index_keeper *keeper) {
    (void)keeper;
    return (struct index_progress){.state = INDEX_REMADE};
}

void agents_serve(struct agents *agents, const struct limits *limits, struct http_request *request,
                  const struct parley_protocol *protocol, const char *name, const char *own) {
    (void)agents;
    (void)limits;
    (void)own;
    note(request, name != NULL ? "agent" : "agents", protocol);
}

void checkpoints_serve_list(struct checkpoints *checkpoints, struct http_request *request,
                            const struct parley_protocol *protocol, const char *agent) {
    (void)checkpoints;
    assert_string_not_equal(agent, "");
    note(request, "checkpoints", protocol);
}

void checkpoints_serve_one(struct checkpoints *checkpoints, struct http_request *request,
                           const struct parley_protocol *protocol, const char *agent,
                           const char *id) {
    (void)checkpoints;
    assert_string_not_equal(agent, "");
    assert_string_not_equal(id, "");
    assert_string_not_equal(id, agent);
    note(request, "checkpoint", protocol);
}

void checkpoints_serve_restore(struct checkpoints *checkpoints, struct http_request *request,
                               const struct parley_protocol *protocol, const char *agent) {
    (void)checkpoints;
    assert_string_not_equal(agent, "");
    note(request, "restore", protocol);
}

void artifacts_serve(struct artifacts *artifacts, struct http_request *request,
                     const struct parley_protocol *protocol, const char *thread) {
    (void)artifacts;
    assert_string_not_equal(thread, "");
    note(request, "artifact", protocol);
}

void artifacts_serve_compiled(struct artifacts *artifacts, struct http_request *request,
                              const struct parley_protocol *protocol, const char *thread) {
    (void)artifacts;
    assert_string_not_equal(thread, "");
    note(request, "compiled", protocol);
}

void halt_list_serve(struct gateway *gateway, struct follows *follows, struct http_request *request,
                     const struct parley_protocol *protocol) {
    (void)gateway;
    (void)follows;
    note(request, "halts", protocol);
}

void halt_release_serve(struct gateway *gateway, struct http_request *request,
                        const struct parley_protocol *protocol) {
    (void)gateway;
    note(request, "release", protocol);
}

void review_list_serve(struct gateway *gateway, struct http_request *request,
                       const struct parley_protocol *protocol) {
    (void)gateway;
    note(request, "reviews", protocol);
}

void review_serve(struct gateway *gateway, struct http_request *request,
                  const struct parley_protocol *protocol, const char *place) {
    (void)gateway;
    assert_string_not_equal(place, "");
    note(request, "review", protocol);
}

struct halt_set *halt_gate_set(struct halt_gate *gate) {
    return (struct halt_set *)gate; /* the tests put one there */
}

void tasks_serve_one(struct tasks *tasks, struct http_request *request,
                     const struct parley_protocol *protocol, const char *id) {
    (void)tasks;
    assert_string_not_equal(id, "");
    note(request, "task", protocol);
}

void tasks_serve_next(struct tasks *tasks, struct http_request *request,
                      const struct parley_protocol *protocol) {
    (void)tasks;
    note(request, "next", protocol);
}

void tasks_serve_change(struct tasks *tasks, struct http_request *request,
                        const struct parley_protocol *protocol, const char *id,
                        enum parley_task_change_kind kind) {
    (void)tasks;
    assert_string_not_equal(id, "");
    note(request, kind == PARLEY_TASK_EXTEND ? "extend" : "give back", protocol);
}

void tasks_serve_action(struct tasks *tasks, struct http_request *request,
                        const struct parley_protocol *protocol, const char *id,
                        enum parley_task_change_kind kind) {
    (void)tasks;
    assert_string_not_equal(id, "");
    note(request, kind == PARLEY_TASK_CANCEL ? "cancel" : "retry", protocol);
}

void tasks_serve_many(struct tasks *tasks, struct http_request *request,
                      const struct parley_protocol *protocol, enum parley_task_change_kind kind) {
    (void)tasks;
    note(request, kind == PARLEY_TASK_CANCEL ? "cancel many" : "retry many", protocol);
}

void tasks_serve_list(struct tasks *tasks, struct http_request *request,
                      const struct parley_protocol *protocol) {
    (void)tasks;
    note(request, "tasks", protocol);
}

void mcp_serve(struct mcp *mcp, struct http_request *request) {
    (void)mcp;
    note(request, "mcp", NULL);
}

void metrics_page_serve(struct services *services, struct http_request *request) {
    (void)services;
    note(request, "metrics", NULL);
}

void streams_serve_rejected(struct streams *streams, const struct limits *limits,
                            struct http_request *request) {
    (void)streams;
    (void)limits;
    note(request, "rejected", NULL);
}

void describe_pages_serve(const struct describe_pages *pages, struct http_request *request,
                          enum describe_page page, const struct parley_protocol *protocol) {
    static const char *const names[] = {
        [DESCRIBE_SCRIPT] = "script",     [DESCRIBE_STYLE] = "style",
        [DESCRIBE_INDEX] = "index",       [DESCRIBE_PROTOCOLS] = "protocols",
        [DESCRIBE_PROTOCOL] = "protocol", [DESCRIBE_SCHEMA] = "schema",
        [DESCRIBE_RULES] = "rules",       [DESCRIBE_EXAMPLES] = "examples"};
    (void)pages;
    note(request, names[page], protocol);
}

void console_serve(const struct console *console, struct http_request *request, const char *name) {
    (void)console;
    assert_int_equal(request->status, 0);
    snprintf(request->served, sizeof request->served, "console %s", name);
}

/* ---- who is let in ---- */

static struct reactor *reactor;
static struct guard *open_guard; /* without tokens */
static const struct configuration no_options;

static int set_up(void **state) {
    (void)state;
    jansson_set_up();
    return sodium_init() >= 0 && reactor_create(&reactor) == PARLEY_OK &&
                   guard_create(reactor, NULL, &open_guard) == PARLEY_OK
               ? 0
               : -1;
}

static int tear_down(void **state) {
    (void)state;
    guard_destroy(open_guard);
    reactor_destroy(reactor);
    return 0;
}

/* What a token needs for an address, and all that it may have without being let in; `missing` NULL:
 * both are. */
static const struct {
    const char *enough, *too_little, *missing;
} needs[] = {
    [GUARD_KNOWN] = {"admin", "metrics", NULL},
    [GUARD_SEND] = {"send:vlp", "send:brenner,read:*,admin,metrics,review", "send:vlp"},
    [GUARD_READ] = {"read:vlp", "send:*,read:brenner,admin,metrics,review", "read:vlp"},
    [GUARD_READ_ANY] = {"read:brenner", "send:*,admin,metrics,review", "read:*"},
    [GUARD_METRICS] = {"metrics", "send:*,read:*,review", "metrics"},
    [GUARD_REVIEW] = {"review", "send:*,read:*,metrics", "review"},
    [GUARD_READ_REVIEWS] = {"review", "send:*,read:brenner,metrics", "review"},
    [GUARD_ADMIN] = {"admin", "send:*,read:*,metrics,review", "admin"},
};

struct made {
    const char *name, *allow;
    char header[16 + TOKEN_LENGTH];
};

static bool make(struct token_file *file, void *context, struct parley_buffer *error) {
    struct made *made = context;
    struct token_entry entry = {.name = made->name};
    char token[TOKEN_LENGTH + 1];
    token_new(token);
    token_hash(parley_bytes_of(token), entry.hash);
    snprintf(made->header, sizeof made->header, "Bearer %s", token);
    return token_scopes_read(made->allow, &entry.scopes, error) &&
           token_file_add(file, &entry, 0, error);
}

/* A token that has enough, and one that has too little. */
static struct tokens *tokens_for(enum guard_need need, struct made *enough, struct made *little) {
    char path[] = "/tmp/parley-routes-XXXXXX";
    struct parley_buffer error;
    parley_buffer_init(&error);
    close(mkstemp(path));
    unlink(path);
    *enough = (struct made){.name = "enough", .allow = needs[need].enough};
    *little = (struct made){.name = "little", .allow = needs[need].too_little};
    assert_true(token_file_change(path, make, enough, &error));
    assert_true(token_file_change(path, make, little, &error));
    struct tokens *tokens = tokens_read(path, &error);
    assert_non_null(tokens);
    unlink(path);
    parley_buffer_finish(&error);
    return tokens;
}

static struct guard *guard_for(enum guard_need need, struct made *enough, struct made *little) {
    struct guard *guard;
    assert_int_equal(guard_create(reactor, NULL, &guard), PARLEY_OK);
    guard_set_tokens(guard, tokens_for(need, enough, little));
    return guard;
}

static struct http_request ask_as(struct services *services, const struct contract_route *route,
                                  bool is_post, const char *authorization) {
    static char path[128];
    const char *brace = strchr(route->path, '{');
    if (brace == NULL) {
        snprintf(path, sizeof path, "%s", route->path);
    } else {
        const char *value =
            strncmp(brace, "{protocol}", 10) == 0 ? "vlp" : route->operation->name_example;
        snprintf(path, sizeof path, "%.*s%s%s", (int)(brace - route->path), route->path, value,
                 strchr(brace, '}') + 1);
    }
    struct http_request request = {
        .method = is_post ? "POST" : "GET", .path = path, .authorization = authorization};
    gateway_begin(services, &request);
    http_request_keep(&request, NULL, NULL);
    return request;
}

static bool is_served(const struct http_request *request) {
    return request->status == 200 || request->served[0] != '\0';
}

static enum guard_need need_of(const struct contract_route *route, bool is_post) {
    return !is_post && route->get_operation != NULL ? route->get_need : route->need;
}

static void check_scope(struct services *services, const struct contract_route *route, bool is_post,
                        const struct made *little) {
    char challenge[160];
    struct http_request request = ask_as(services, route, is_post, little->header);
    const enum guard_need need = need_of(route, is_post);
    if (needs[need].missing == NULL) { /* any token will do */
        assert_true(is_served(&request));
        return;
    }
    assert_int_equal(request.status, 403);
    assert_string_equal(request.served, "");
    snprintf(challenge, sizeof challenge,
             "Bearer realm=\"parley\", error=\"insufficient_scope\", scope=\"%s\"",
             needs[need].missing);
    assert_string_equal(request.challenge, challenge);
}

static void check_closed(struct services *services, const struct contract_route *route,
                         bool is_post) {
    struct made enough, little;
    services->gateway.guard = guard_for(need_of(route, is_post), &enough, &little);
    struct http_request request = ask_as(services, route, is_post, NULL);
    assert_int_equal(request.status, 401);
    assert_string_equal(request.served, "");
    assert_string_equal(request.challenge, "Bearer realm=\"parley\"");
    check_scope(services, route, is_post, &little);
    request = ask_as(services, route, is_post, "Bearer parley_x");
    assert_true(request.is_delayed);
    assert_false(is_served(&request));
    request = ask_as(services, route, is_post, enough.header);
    assert_true(is_served(&request));
    guard_destroy(services->gateway.guard);
}

static void check_open(struct services *services, const struct contract_route *route,
                       bool is_post) {
    struct made enough, little;
    services->gateway.guard = guard_for(GUARD_SEND, &enough, &little);
    struct http_request request = ask_as(services, route, is_post, NULL);
    assert_true(is_served(&request));
    request = ask_as(services, route, is_post, "Bearer parley_x");
    assert_true(is_served(&request));
    guard_destroy(services->gateway.guard);
}

static void test_every_address_that_is_not_open_refuses_without_its_scope(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = true};
    const struct configuration with_issuer = {.jwt_issuer = "https://issuer.example",
                                              .jwt_audience = "https://parley.example/mcp"};
    struct services services = {
        .gateway = {.configuration = &with_issuer, .jetstream = &jetstream}};
    struct contract_route route;
    size_t closed_count = 0;
    for (size_t i = 0; gateway_route(i, &route); i++) {
        assert_int_not_equal(route.need, GUARD_UNSTATED);
        for (int is_post = 0; is_post <= 1; is_post++) {
            if (is_post ? !route.has_post : !route.has_get) {
                continue;
            }
            closed_count += route.need != GUARD_OPEN;
            (route.need == GUARD_OPEN ? check_open : check_closed)(&services, &route, is_post != 0);
        }
    }
    assert_true(closed_count >= 5);
}

/* The first protocol that has the view. */
static const char *view_owner(const char *name) {
    const struct index_view *view = index_view_find(name);
    size_t i = 0;
    while (!index_view_is_of(view, parley_protocols[i])) {
        i++;
    }
    return parley_protocols[i]->name;
}

static void test_every_address_is_in_the_document_for_machines(void **state) {
    (void)state;
    struct parley_buffer document;
    struct contract_route route;
    parley_buffer_init(&document);
    openapi_write(&document, gateway_route);
    parley_buffer_char(&document, '\0');
    assert_int_equal(parley_buffer_status(&document), PARLEY_OK);
    for (size_t i = 0; gateway_route(i, &route); i++) {
        char key[160];
        const char *brace = strstr(route.path, "{protocol}");
        const enum operation_kind kind = route.operation->kind; /* not all have halts, … */
        const bool is_of_people =
            kind == OPERATION_HALTS || kind == OPERATION_REVIEWS || kind == OPERATION_REVIEW;
        const bool is_of_checkpoints = kind == OPERATION_CHECKPOINTS ||
                                       kind == OPERATION_CHECKPOINT || kind == OPERATION_RESTORE;
        const bool is_of_view = kind == OPERATION_VIEW;
        const bool is_of_threads = kind == OPERATION_ARTIFACT || kind == OPERATION_COMPILED;
        snprintf(key, sizeof key, "\"%.*s%s%s\":{\"%s\":{",
                 (int)(brace != NULL ? (size_t)(brace - route.path) : strlen(route.path)),
                 route.path,
                 brace == NULL       ? ""
                 : is_of_people      ? "vlp"
                 : is_of_view        ? view_owner(route.operation->view)
                 : is_of_checkpoints ? "supervisor"
                 : is_of_threads     ? "brenner"
                                     : "roundtable",
                 brace != NULL ? brace + 10 : "", route.has_post ? "post" : "get");
        assert_non_null(strstr(document.data, key));
    }
    parley_buffer_finish(&document);
}

/* Adds "in name" of a parameter, and fails if it is there. */
static void add_parameter(json_t *names, const json_t *root, const json_t *parameter) {
    char name[160];
    const char *reference = json_string_value(json_object_get(parameter, "$ref"));
    const char *last = reference != NULL ? strrchr(reference, '/') + 1 : NULL;
    const json_t *components = json_object_get(json_object_get(root, "components"), "parameters");
    const json_t *found = last != NULL ? json_object_get(components, last) : parameter;
    assert_non_null(found);
    snprintf(name, sizeof name, "%s %s", json_string_value(json_object_get(found, "in")),
             json_string_value(json_object_get(found, "name")));
    for (char *at = name; *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    if (json_object_get(names, name) != NULL) {
        fail_msg("the parameter is there twice: %s", name);
    }
    json_object_set_new(names, name, json_true());
}

static void check_parameters(const json_t *root, const json_t *operation) {
    json_t *names = json_object();
    size_t index;
    json_t *parameter;
    json_array_foreach(json_object_get(operation, "parameters"), index, parameter) {
        add_parameter(names, root, parameter);
    }
    json_decref(names);
}

static void test_nothing_is_described_twice(void **state) {
    (void)state;
    struct parley_buffer document;
    json_error_t error;
    const char *path, *method;
    json_t *operations, *operation;
    parley_buffer_init(&document);
    openapi_write(&document, gateway_route);
    json_t *root = json_loadb(document.data, document.length, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) { /* a key of an object */
        fail_msg("%s at %.80s", error.text, document.data + error.position);
    }
    json_object_foreach(json_object_get(root, "paths"), path, operations) {
        json_object_foreach(operations, method, operation) {
            check_parameters(root, operation);
        }
    }
    json_decref(root);
    parley_buffer_finish(&document);
}

static void test_these_addresses_and_no_others_are_open(void **state) {
    (void)state;
    static const char *const open[] = {"/",
                                       "/page.js",
                                       "/page.css",
                                       "/console/{name}",
                                       "/v1/protocols",
                                       "/v1/protocols/{protocol}",
                                       "/v1/protocols/{protocol}/schema",
                                       "/v1/protocols/{protocol}/rules",
                                       "/v1/protocols/{protocol}/examples",
                                       "/problems",
                                       "/problems/{name}",
                                       "/rules",
                                       "/rules/{name}",
                                       "/openapi.json",
                                       "/asyncapi.json",
                                       "/llms.txt",
                                       "/.well-known/oauth-protected-resource",
                                       "/livez",
                                       "/readyz"};
    struct contract_route route;
    size_t count = 0;
    for (size_t i = 0; gateway_route(i, &route); i++) {
        if (route.need != GUARD_OPEN) {
            continue;
        }
        assert_true(count < sizeof open / sizeof open[0]);
        assert_string_equal(route.path, open[count++]);
    }
    assert_int_equal(count, sizeof open / sizeof open[0]);
}

/* The request once more, on the same connection, with this header. */
static void ask_again(struct services *services, struct http_request *request,
                      const char *authorization) {
    request->status = 0;
    request->served[0] = '\0';
    request->is_delayed = false;
    request->authorization = authorization;
    gateway_begin(services, request);
}

static void test_what_was_verified_counts_until_the_tokens_change(void **state) {
    (void)state;
    struct made enough, little, other_enough, other_little;
    struct jetstream jetstream = {.is_ready = true};
    struct services services = {.gateway = {.configuration = &no_options,
                                            .jetstream = &jetstream,
                                            .guard = guard_for(GUARD_SEND, &enough, &little)}};
    struct http_request request = {.method = "POST", .path = "/v1/vlp/messages"};
    ask_again(&services, &request, enough.header);
    assert_string_equal(request.served, "messages vlp");
    assert_string_equal(guard_principal(&request)->name, "enough");
    const void *kept = request.kept;
    ask_again(&services, &request, enough.header);
    assert_ptr_equal(request.kept, kept);
    ask_again(&services, &request, little.header);
    assert_int_equal(request.status, 403);
    assert_string_equal(guard_principal(&request)->name, "little");
    ask_again(&services, &request, NULL);
    assert_int_equal(request.status, 401);
    assert_ptr_equal(guard_principal(&request), &principal_nobody);
    ask_again(&services, &request, enough.header);
    assert_string_equal(request.served, "messages vlp");
    guard_set_tokens(services.gateway.guard, tokens_for(GUARD_SEND, &other_enough, &other_little));
    ask_again(&services, &request, enough.header);
    assert_true(request.is_delayed);
    assert_ptr_equal(guard_principal(&request), &principal_nobody);
    http_request_keep(&request, NULL, NULL);
    guard_destroy(services.gateway.guard);
}

static const struct access_outcome {
    const char *title;
    bool is_gone, is_revoked;
    int64_t expires_in;    /* seconds; 0: never */
    const char *objection; /* NULL: none */
} outcomes[] = {
    {.title = "as it was"},
    {.title = "revoked", .is_revoked = true, .objection = "token-revoked"},
    {.title = "not in the file", .is_gone = true, .objection = "token-revoked"},
    {.title = "expired", .expires_in = -10, .objection = "token-expired"},
    {.title = "expires later", .expires_in = 100000},
};

struct changed {
    const struct access_outcome *outcome;
    unsigned char hash[TOKEN_HASH_BYTES];
};

static bool change(struct token_file *file, void *context, struct parley_buffer *error) {
    const struct changed *changed = context;
    const struct access_outcome *outcome = changed->outcome;
    const int64_t now = (int64_t)time(NULL);
    struct token_entry entry = {.name = "enough",
                                .scopes = {.read = UINT64_MAX},
                                .revoked_at = outcome->is_revoked ? now : 0,
                                .expires_at =
                                    outcome->expires_in != 0 ? now + outcome->expires_in : 0};
    memcpy(entry.hash, changed->hash, sizeof entry.hash);
    return outcome->is_gone || token_file_add(file, &entry, now, error);
}

static struct tokens *tokens_after(const struct access_outcome *outcome, const struct made *made) {
    char path[] = "/tmp/parley-routes-XXXXXX";
    struct changed changed = {.outcome = outcome};
    struct parley_buffer error;
    parley_buffer_init(&error);
    token_hash(parley_bytes_of(made->header + strlen("Bearer ")), changed.hash);
    close(mkstemp(path));
    unlink(path);
    assert_true(token_file_change(path, change, &changed, &error));
    struct tokens *tokens = tokens_read(path, &error);
    assert_non_null(tokens);
    unlink(path);
    parley_buffer_finish(&error);
    return tokens;
}

static void assert_objection(struct services *services, struct http_request *request,
                             const char *objection) {
    const char *said = guard_objection(services->gateway.guard, request);
    if (objection == NULL) {
        assert_null(said);
    } else {
        assert_string_equal(said, objection);
    }
}

static void test_a_request_that_lasts_is_looked_at_again_once_tokens_change(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = true};
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++) {
        struct made enough, little;
        struct services services = {.gateway = {.configuration = &no_options,
                                                .jetstream = &jetstream,
                                                .guard = guard_for(GUARD_READ, &enough, &little)}};
        struct http_request request = {.method = "GET", .path = "/v1/vlp/stream"};
        print_message("%s\n", outcomes[i].title);
        ask_again(&services, &request, enough.header);
        assert_string_equal(request.served, "stream vlp");
        const void *kept = request.kept;
        assert_objection(&services, &request, NULL);
        assert_ptr_equal(request.kept, kept);
        guard_set_tokens(services.gateway.guard, tokens_after(&outcomes[i], &enough));
        assert_objection(&services, &request, outcomes[i].objection);
        assert_int_equal(request.status, 0);
        http_request_keep(&request, NULL, NULL);
        guard_destroy(services.gateway.guard);
    }
}

static void test_what_was_open_to_everybody_needs_a_token_once_there_are_any(void **state) {
    (void)state;
    struct made enough, little;
    struct guard *guard;
    assert_int_equal(guard_create(reactor, NULL, &guard), PARLEY_OK);
    struct jetstream jetstream = {.is_ready = true};
    struct services services = {
        .gateway = {.configuration = &no_options, .jetstream = &jetstream, .guard = guard}};
    struct http_request request = {.method = "GET", .path = "/v1/vlp/stream"};
    ask_again(&services, &request, NULL);
    assert_string_equal(request.served, "stream vlp");
    assert_objection(&services, &request, NULL);
    guard_set_tokens(guard, tokens_for(GUARD_READ, &enough, &little));
    assert_objection(&services, &request, "token-required");
    http_request_keep(&request, NULL, NULL);
    guard_destroy(guard);
}

/* Whatever else it has shown, and where nothing has to be shown. */
static void test_a_certificate_counts_until_it_expires(void **state) {
    (void)state;
    const int64_t now = (int64_t)time(NULL);
    struct made enough, little;
    struct jetstream jetstream = {.is_ready = true};
    struct guard *const guards[] = {guard_for(GUARD_READ, &enough, &little), open_guard};
    for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++) {
        struct services services = {
            .gateway = {.configuration = &no_options, .jetstream = &jetstream, .guard = guards[i]}};
        struct http_request request = {
            .method = "GET", .path = "/v1/vlp/stream", .certificate_expires_at = now + 1000};
        ask_again(&services, &request, enough.header);
        assert_string_equal(request.served, "stream vlp");
        assert_objection(&services, &request, NULL);
        assert_int_equal(guard_expires_at(&request), now + 1000);
        request.certificate_expires_at = now - 1;
        assert_objection(&services, &request, "certificate-expired");
        ask_again(&services, &request, enough.header);
        assert_int_equal(request.status, 401);
        assert_ptr_equal(guard_principal(&request), &principal_nobody);
        http_request_keep(&request, NULL, NULL);
    }
    guard_destroy(guards[0]);
}

/* ---- addresses ---- */

struct row {
    const char *method, *path;
    unsigned status;    /* 0: served by … */
    const char *served; /* … this */
};

static void check(struct services *services, const struct row *row, struct http_request *request) {
    *request = (struct http_request){.method = row->method, .path = row->path};
    services->gateway.guard = open_guard;
    gateway_begin(services, request);
    if (request->status != row->status ||
        strcmp(request->served, row->served != NULL ? row->served : "") != 0) {
        fail_msg("%s %s: %u %s", row->method, row->path, request->status, request->served);
    }
}

static void test_an_address_goes_to_whoever_serves_it(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"POST", "/v1/vlp/messages", 0, "messages vlp"},
        {"GET", "/v1/vlp/messages", 0, "view messages vlp"},
        {"GET", "/v1/vlp/messages/VLP:1", 0, "message vlp VLP:1"},
        {"GET", "/v1/vlp/threads", 0, "view threads vlp"},
        {"GET", "/v1/vlp/senders", 0, "view senders vlp"},
        {"GET", "/v1/vlp/chain", 0, "view chain vlp"},
        {"GET", "/v1/vlp/sessions", 0, "view sessions vlp"},
        {"GET", "/v1/vlp/contexts", 0, "view contexts vlp"},
        {"GET", "/v1/supervisor/evolutions", 0, "view evolutions supervisor"},
        {"GET", "/v1/brenner/acks", 0, "view acks brenner"},
        {"GET", "/v1/brenner/inbox", 0, "view inbox brenner"},
        {"GET", "/v1/brenner/items", 0, "view items brenner"},
        {"GET", "/v1/trace", 0, "view trace all"},
        {"POST", "/v1/vlp/validate", 0, "validate vlp"},
        {"POST", "/v1/vlp/convert", 0, "convert vlp"},
        {"GET", "/v1/vlp/stream", 0, "stream vlp"},
        {"HEAD", "/v1/vlp/stream", 0, "stream vlp"},
        {"GET", "/v1/roundtable/agents", 0, "agents roundtable"},
        {"GET", "/v1/supervisor/agents/a", 0, "agent supervisor"},
        {"GET", "/v1/supervisor/agents/a/checkpoints", 0, "checkpoints supervisor"},
        {"GET", "/v1/supervisor/agents/a/checkpoints/b", 0, "checkpoint supervisor"},
        {"GET", "/v1/supervisor/agents/a/restore", 0, "restore supervisor"},
        {"GET", "/v1/brenner/threads/a.b/artifact", 0, "artifact brenner"},
        {"GET", "/v1/brenner/threads/a.b/artifact/compiled", 0, "compiled brenner"},
        {"GET", "/v1/vlp/halts", 0, "halts vlp"},
        {"DELETE", "/v1/vlp/halts", 0, "release vlp"},
        {"GET", "/v1/vlp/reviews", 0, "reviews vlp"},
        {"POST", "/v1/vlp/reviews/VLP:42", 0, "review vlp"},
        {"GET", "/v1/roundtable/tasks", 0, "tasks roundtable"},
        {"POST", "/v1/roundtable/tasks/next", 0, "next roundtable"},
        {"GET", "/v1/roundtable/tasks/ID", 0, "task roundtable"},
        {"POST", "/mcp", 0, "mcp all"},
        {"GET", "/mcp", 405, NULL},
        {"GET", "/v1/stream", 0, "stream all"},
        {"GET", "/v1/rejected/stream", 0, "rejected all"},
        {"HEAD", "/v1/stream", 0, "stream all"},
        {"GET", "/v1/protocols", 0, "protocols all"},
        {"GET", "/v1/protocols/vlp", 0, "protocol vlp"},
        {"HEAD", "/v1/protocols/vlp", 0, "protocol vlp"},
        {"GET", "/v1/protocols/vlp/schema", 0, "schema vlp"},
        {"GET", "/v1/protocols/vlp/rules", 0, "rules vlp"},
        {"GET", "/v1/protocols/vlp/examples", 0, "examples vlp"},
        {"GET", "/", 0, "index all"},
        {"HEAD", "/", 0, "index all"},
        {"GET", "/page.js", 0, "script all"},
        {"GET", "/page.css", 0, "style all"},
        {"GET", "/console/main.js", 0, "console main.js"},
        {"GET", "/console/", 404, NULL},
        {"GET", "/console/a/b", 404, NULL},
        {"GET", "/livez", 200, NULL},
        {"GET", "/readyz", 200, NULL},
        {"GET", "/problems/internal", 200, NULL},
        {"GET", "/problems/nonesuch", 404, NULL},
        {"GET", "/problems/", 404, NULL},
        {"GET", "/problems/internal/", 404, NULL},
        {"GET", "", 404, NULL},
        {"GET", "*", 404, NULL},
        {"GET", "//", 404, NULL},
        {"GET", "/livez/", 404, NULL},
        {"GET", "/v1/supervisor/agents/", 404, NULL},
        {"GET", "/v1/roundtable/tasks/", 404, NULL},
        {"POST", "/v1/roundtable/tasks", 405, NULL},
        {"GET", "/v1/supervisor/agents/a/b", 404, NULL},
        {"GET", "/v1/nope/agents/a", 404, NULL},
        {"GET", "/v1/stream/", 404, NULL},
        {"GET", "/v1/protocols/", 404, NULL},
        {"GET", "/v1/protocols/nope", 404, NULL},
        {"GET", "/v1/protocols/nope/schema", 404, NULL},
        {"GET", "/v1/protocols/vlp/", 404, NULL},
        {"GET", "/v1/protocols/vlp/messages", 404, NULL},
        {"GET", "/v1/protocols/messages", 404, NULL},
        {"GET", "/v1//stream", 404, NULL},
        {"GET", "/v1/VLP/stream", 404, NULL},
        {"GET", "/v1/vl/stream", 404, NULL},
        {"GET", "/v1/vlpx/stream", 404, NULL},
        {"GET", "/v1/vlp%2Fx/stream", 404, NULL},
        {"GET", "/v1/vlp/x/stream", 404, NULL},
        {"GET", "/v1/vlp/streams", 404, NULL},
        {"POST", "/v1/vlp/message", 404, NULL},
        {"POST", "/v1/convert", 404, NULL},
        {"POST", "/v1/messages", 404, NULL},
    };
    struct jetstream jetstream = {.is_ready = true};
    struct services services = {.gateway = {.configuration = &no_options, .jetstream = &jetstream}};
    struct http_request request;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(&services, &rows[i], &request);
    }
}

static void test_another_method_is_told_which_ones_there_are(void **state) {
    (void)state;
    static const struct {
        struct row row;
        const char *allow;
    } rows[] = {
        {{"PUT", "/v1/vlp/messages", 405, NULL}, "GET, HEAD, POST, OPTIONS"},
        {{"HEAD", "/v1/vlp/validate", 405, NULL}, "POST, OPTIONS"},
        {{"GET", "/v1/vlp/convert", 405, NULL}, "POST, OPTIONS"},
        {{"POST", "/v1/vlp/stream", 405, NULL}, "GET, HEAD, OPTIONS"},
        {{"POST", "/v1/protocols", 405, NULL}, "GET, HEAD, OPTIONS"},
        {{"POST", "/v1/vlp/halts", 405, NULL}, "GET, HEAD, DELETE, OPTIONS"},
        {{"PUT", "/v1/protocols/vlp/schema", 405, NULL}, "GET, HEAD, OPTIONS"},
        {{"OPTIONS", "/v1/protocols/vlp/rules", 204, NULL}, "GET, HEAD, OPTIONS"},
        {{"DELETE", "/", 405, NULL}, "GET, HEAD, OPTIONS"},
        {{"get", "/", 405, NULL}, "GET, HEAD, OPTIONS"},
        {{"OPTIONS", "/v1/vlp/messages", 204, NULL}, "GET, HEAD, POST, OPTIONS"},
        {{"OPTIONS", "/v1/stream", 204, NULL}, "GET, HEAD, OPTIONS"},
        {{"OPTIONS", "/nowhere", 404, NULL}, ""},
        {{"OPTIONS", "*", 204, NULL}, "GET, HEAD, POST, DELETE, OPTIONS"}, /* (contract 19) */
    };
    struct jetstream jetstream = {.is_ready = true};
    struct services services = {.gateway = {.configuration = &no_options, .jetstream = &jetstream}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct http_request request;
        check(&services, &rows[i].row, &request);
        assert_string_equal(request.allow, rows[i].allow);
    }
}

static void test_an_unknown_protocol_is_told_which_ones_there_are(void **state) {
    (void)state;
    struct services services = {.gateway = {.configuration = &no_options}};
    struct http_request request;
    check(&services, &(struct row){"POST", "/v1/nope/messages", 404, NULL}, &request);
    assert_non_null(strstr(request.body, "`nope`"));
    assert_non_null(strstr(request.body, "vlp"));
}

static void test_a_long_path_is_only_not_found(void **state) {
    (void)state;
    struct services services = {.gateway = {.configuration = &no_options}};
    struct http_request request;
    char path[6000] = "/v1/";
    memset(path + 4, 'x', 5000);
    check(&services, &(struct row){"GET", path, 404, NULL}, &request);
    memcpy(path + 5004, "/stream", 8);
    check(&services, &(struct row){"GET", path, 404, NULL}, &request);
}

static void test_while_draining_nothing_is_served_but_that_it_lives(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"POST", "/v1/vlp/messages", 503, NULL},
        {"POST", "/v1/vlp/validate", 503, NULL},
        {"POST", "/v1/vlp/convert", 503, NULL},
        {"GET", "/v1/stream", 503, NULL},
        {"GET", "/readyz", 503, NULL},
        {"GET", "/v1/vlp/stream", 503, NULL},
        {"GET", "/v1/protocols", 503, NULL},
        {"GET", "/v1/protocols/vlp/rules", 503, NULL},
        {"GET", "/problems/draining", 503, NULL},
        {"GET", "/", 503, NULL},
        {"GET", "/nowhere", 503, NULL},
        {"GET", "/v1/vlp/messages", 503, NULL},
        {"OPTIONS", "/v1/vlp/messages", 503, NULL},
        {"GET", "/livez", 200, NULL},
        {"HEAD", "/livez", 200, NULL},
    };
    struct jetstream jetstream = {.is_ready = true};
    struct services services = {
        .gateway = {.configuration = &no_options, .jetstream = &jetstream, .is_draining = true}};
    struct http_request request;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(&services, &rows[i], &request);
    }
}

/* Before anything else: a name that was pointed here learns nothing, not even that it drains. */
static void test_nothing_is_served_to_another_host(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"POST", "/v1/vlp/messages"},
                                          {"GET", "/v1/stream"},
                                          {"GET", "/v1/protocols"},
                                          {"GET", "/"},
                                          {"GET", "/livez"},
                                          {"GET", "/readyz"},
                                          {"OPTIONS", "/v1/stream"},
                                          {"OPTIONS", "*"},
                                          {"GET", "/nowhere"},
                                          {"PUT", "/"}};
    struct jetstream jetstream = {.is_ready = true};
    struct services services = {
        .gateway = {.configuration = &no_options,
                    .jetstream = &jetstream,
                    .origins = {.address = "127.0.0.1", .is_loopback = true},
                    .is_draining = true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct http_request request = {
            .method = rows[i][0], .path = rows[i][1], .host = "evil.example"};
        gateway_begin(&services, &request);
        assert_int_equal(request.status, 421);
    }
}

static void test_it_is_ready_when_nats_is(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = false};
    struct services services = {.gateway = {.configuration = &no_options, .jetstream = &jetstream}};
    struct http_request request;
    check(&services, &(struct row){"GET", "/readyz", 503, NULL}, &request);
    check(&services, &(struct row){"GET", "/livez", 200, NULL}, &request);
}

enum { PROTOCOLS_MOST = 8 };

static void test_it_is_ready_once_nats_is_for_every_worker(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = true};
    atomic_uint away_count = 1;
    struct services services = {.gateway = {.configuration = &no_options, .jetstream = &jetstream},
                                .away_count = &away_count};
    struct http_request request;
    check(&services, &(struct row){"GET", "/readyz", 503, NULL}, &request);
    atomic_store(&away_count, 0);
    check(&services, &(struct row){"GET", "/readyz", 200, NULL}, &request);
}

static void test_it_is_not_ready_while_a_stream_cannot_be_used_and_says_which(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = true, .trouble = "stream VLP is not ours"};
    struct services services = {.gateway = {.configuration = &no_options, .jetstream = &jetstream}};
    struct http_request request;
    check(&services, &(struct row){"GET", "/readyz", 503, NULL}, &request);
    assert_non_null(strstr(request.body, jetstream.trouble));
}

/* (attack F8) */
static void test_it_is_ready_while_one_stream_is_full_and_says_which(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = true, .remark = "stream VLP is full"};
    struct services services = {.gateway = {.configuration = &no_options, .jetstream = &jetstream}};
    struct http_request request;
    check(&services, &(struct row){"GET", "/readyz", 200, NULL}, &request);
    assert_string_equal(request.body, "ready\nbut: stream VLP is full\n");
}

static void test_it_is_ready_once_the_halts_were_read(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = true};
    struct halt_set *set;
    assert_int_equal(halt_set_create("vlp", &set), PARLEY_OK);
    struct halt_gate *gates[PROTOCOLS_MOST] = {(struct halt_gate *)set};
    const struct channel channels[] = {{.protocol = parley_protocols[0]}, {.protocol = NULL}};
    struct configuration configuration = {.channels = channels};
    const struct parley_halts_kind *halts = parley_protocols[0]->halts;
    uint64_t *mode = &configuration.values[0][halts->mode - parley_protocols[0]->options].number;
    struct services services = {
        .gateway = {.jetstream = &jetstream, .halt_gates = gates, .configuration = &configuration}};
    struct http_request request;
    check(&services, &(struct row){"GET", "/readyz", 503, NULL}, &request);
    *mode = PARLEY_ON_HALT_IGNORE;
    check(&services, &(struct row){"GET", "/readyz", 200, NULL}, &request);
    *mode = PARLEY_ON_HALT_REFUSE;
    halt_set_see(set, true);
    check(&services, &(struct row){"GET", "/readyz", 200, NULL}, &request);
    assert_string_equal(request.body, "ready\n");
    halt_set_see(set, false);
    check(&services, &(struct row){"GET", "/readyz", 200, NULL}, &request);
    assert_non_null(strstr(request.body, "but: the halts cannot be read"));
    halt_set_destroy(set);
}

static void test_an_index_that_is_made_again_is_said(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = true};
    struct services services = {.gateway = {.jetstream = &jetstream, .configuration = &no_options}};
    struct http_request request;
    check(&services, &(struct row){"GET", "/readyz", 200, NULL}, &request);
    assert_string_equal(request.body, "ready\n");
    services.index_keeper = (const struct index_keeper *)(const void *)&services;
    check(&services, &(struct row){"GET", "/readyz", 200, NULL}, &request);
    assert_non_null(strstr(request.body, "but: the index was damaged"));
}

static void test_health_has_a_reason_for_each_check(void **state) {
    (void)state;
#define NATS(status) "{\"name\":\"nats\",\"status\":\"" status "\",\"version\":\"2.10.27\""
#define OK(name) "{\"name\":\"" name "\",\"status\":\"ok\"}"
#define SAYS(name, status, reason)                                                                 \
    "{\"name\":\"" name "\",\"status\":\"" status "\",\"reason\":\"" reason "\"}"
    static const struct {
        struct jetstream jetstream;
        bool is_draining;
        unsigned away_count, status;
        const char *detail, *checks;
    } rows[] = {
        {{.is_ready = true},
         .status = 200,
         .checks = OK("draining") "," NATS("ok") "}"
                                                 "," OK("workers") "," OK("streams") "," OK(
                                                     "halts") "," OK("index")},
        {{.is_ready = true, .remark = "stream VLP is full"},
         .status = 200,
         .checks = OK("draining") "," NATS(
             "ok") "}"
                   "," OK("workers") "," SAYS("streams", "degraded", "stream VLP is full") "," OK(
                       "halts") "," OK("index")},
        {{.is_patient = true, .trouble = "NATS is away"},
         .status = 200,
         .checks = OK("draining") "," NATS("degraded") ",\"reason\":\"NATS is away\"}"
                                                       "," OK("workers") "," OK("streams") "," OK(
                                                           "halts") "," OK("index")},
        {{.trouble = "NATS is away"},
         .away_count = 2,
         .status = 503,
         .detail = "NATS is away.",
         .checks = OK("draining") "," NATS(
             "failed") ",\"reason\":\"NATS is away\"}"
                       "," SAYS(
                           "workers", "failed",
                           "NATS is not ready yet for all workers") "," OK("streams") "," OK("halt"
                                                                                             "s")},
        {{.is_ready = true},
         .away_count = 1,
         .status = 503,
         .detail = "NATS is not ready yet for all workers.",
         .checks = SAYS("workers", "failed", "NATS is not ready yet for all workers")},
        {{.is_ready = true},
         .is_draining = true,
         .status = 503,
         .detail = "The server is shutting down",
         .checks = "{\"name\":\"draining\",\"status\":\"failed\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct jetstream jetstream = rows[i].jetstream;
        atomic_uint away_count = rows[i].away_count;
        struct services services = {.gateway = {.configuration = &no_options,
                                                .jetstream = &jetstream,
                                                .is_draining = rows[i].is_draining,
                                                .guard = open_guard},
                                    .away_count = &away_count};
        struct http_request request = {
            .method = "GET", .path = "/readyz", .accept = "application/json"};
        gateway_begin(&services, &request);
        assert_int_equal(request.status, rows[i].status);
        assert_non_null(strstr(request.body, rows[i].checks));
        assert_non_null(strstr(request.body,
                               rows[i].detail != NULL ? rows[i].detail : "{\"status\":\"ready\","));
    }
#undef OK
#undef NATS
#undef SAYS
}

static void test_that_it_lives_is_said_in_json_too(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = false};
    struct services services = {
        .gateway = {.configuration = &no_options, .jetstream = &jetstream, .guard = open_guard}};
    struct http_request request = {.method = "GET", .path = "/livez", .accept = "application/json"};
    gateway_begin(&services, &request);
    assert_int_equal(request.status, 200);
    assert_string_equal(request.body, "{\"status\":\"alive\",\"draining\":false}\n");
}

/* ---- which request stays open ---- */

static void test_an_address_that_stays_open_is_told_by_the_head(void **state) {
    (void)state;
    static const struct {
        const char *method, *target;
        bool waits, stays_open;
    } rows[] = {
        {"GET", "/v1/stream", false, true},
        {"GET", "/v1/vlp/stream", false, true},
        {"GET", "/v1/rejected/stream", true, true},
        {"POST", "/v1/vlp/stream", true, false}, /* there is no such thing */
        {"HEAD", "/v1/stream", false, false},
        {"GET", "/livez", true, false},
        {"POST", "/v1/vlp/validate", true, false},
        {"POST", "/v1/vlp/messages", true, true},
        {"POST", "/v1/vlp/messages", false, false},
        {"POST", "/v1/vlp/messages?follow=true", false, false}, /* nothing is followed */
        {"GET", "/v1/vlp/messages", true, false},
        {"GET", "/v1/vlp/messages?follow=true", true, false},
        {"GET", "/v1/nonesuch", true, false},
        {"POST", "/v1/roundtable/tasks/next", false, true},
        {"POST", "/mcp", false, true},
        {"GET", "/mcp", false, false},
        {"GET", "/v1/roundtable/tasks/next", false, false},
        {"GET", "/v1/roundtable/tasks?follow=true", false, true},
        {"GET", "/v1/roundtable/tasks?from=tim&follow=true", false, true},
        {"GET", "/v1/roundtable/tasks?follow=false", true, false},
        {"GET", "/v1/roundtable/tasks?follow", false, false},
        {"GET", "/v1/roundtable/tasks", true, false}, /* nothing is waited for */
        {"HEAD", "/v1/roundtable/tasks?follow=true", false, false},
        {"GET", "/v1/vlp/halts?by=tim&follow=true", false, true},
        {"GET", "/v1/vlp/halts", false, false},
        {"DELETE", "/v1/vlp/halts?follow=true", false, false},
        {"GET", "/v1/roundtable/agents?follow=true&state=late", false, true},
        {"GET", "/v1/roundtable/agents", false, false},
        {"GET", "/v1/supervisor/agents/ada?follow=true", false, false},
        {"GET", "/v1/supervisor/agents/ada/checkpoints", false, false},
        {"GET", "/v1/supervisor/agents/ada/checkpoints/1", false, true},
        {"GET", "/v1/supervisor/agents/ada/restore", false, true},
    };
    static const struct http_field waits = {"Prefer", {"wait=9", 6}};
    struct http_head head;
    http_head_init(&head);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct http_head_parts parts = {.method = rows[i].method,
                                              .target = parley_bytes_of(rows[i].target),
                                              .fields = &waits,
                                              .field_count = rows[i].waits};
        assert_int_equal(http_head_make(&head, &parts), PARLEY_OK);
        assert_null(head.fault);
        if (gateway_stays_open(&head) != rows[i].stays_open) {
            fail_msg("%s %s is not %d", rows[i].method, rows[i].target, rows[i].stays_open);
        }
    }
    http_head_finish(&head);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_address_goes_to_whoever_serves_it),
        cmocka_unit_test(test_another_method_is_told_which_ones_there_are),
        cmocka_unit_test(test_an_unknown_protocol_is_told_which_ones_there_are),
        cmocka_unit_test(test_a_long_path_is_only_not_found),
        cmocka_unit_test(test_while_draining_nothing_is_served_but_that_it_lives),
        cmocka_unit_test(test_nothing_is_served_to_another_host),
        cmocka_unit_test(test_it_is_ready_when_nats_is),
        cmocka_unit_test(test_it_is_ready_once_nats_is_for_every_worker),
        cmocka_unit_test(test_it_is_not_ready_while_a_stream_cannot_be_used_and_says_which),
        cmocka_unit_test(test_it_is_ready_while_one_stream_is_full_and_says_which),
        cmocka_unit_test(test_it_is_ready_once_the_halts_were_read),
        cmocka_unit_test(test_an_index_that_is_made_again_is_said),
        cmocka_unit_test(test_health_has_a_reason_for_each_check),
        cmocka_unit_test(test_that_it_lives_is_said_in_json_too),
        cmocka_unit_test(test_an_address_that_stays_open_is_told_by_the_head),
        cmocka_unit_test(test_every_address_that_is_not_open_refuses_without_its_scope),
        cmocka_unit_test(test_every_address_is_in_the_document_for_machines),
        cmocka_unit_test(test_nothing_is_described_twice),
        cmocka_unit_test(test_these_addresses_and_no_others_are_open),
        cmocka_unit_test(test_what_was_verified_counts_until_the_tokens_change),
        cmocka_unit_test(test_a_request_that_lasts_is_looked_at_again_once_tokens_change),
        cmocka_unit_test(test_what_was_open_to_everybody_needs_a_token_once_there_are_any),
        cmocka_unit_test(test_a_certificate_counts_until_it_expires),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
