/* SPDX-License-Identifier: Apache-2.0 */

/* The addresses of docs/api.md as a table. A path may have variable parts: a protocol's name, any
 * other name, and an id of something that this has. */

#include "routes.h"

#include <inttypes.h>
#include <stdio.h>

#include "access_log.h"
#include "artifacts.h"
#include "agent_reader.h"
#include "agents.h"
#include "console.h"
#include "describe_pages.h"
#include "follow.h"
#include "health.h"
#include "http_head.h"
#include "answer_encoding.h"
#include "negotiate.h"
#include "problem.h"
#include "problem_pages.h"
#include "rule_pages.h"
#include "halts.h"
#include "reviews.h"
#include "ingest.h"
#include "metrics_page.h"
#include "figures.h"
#include "streams.h"
#include "checkpoints.h"
#include "tasks.h"
#include "whoami.h"

enum { NAME_SIZE = AGENT_TOKEN_SIZE + 1 }; /* so that a cut text is no name */

/* The only agent whose private messages the request may read; NULL: all agents. */
static const char *own_agent(const struct services *services, const struct http_request *request) {
    return principal_agent(guard_principal(request), services->gateway.configuration->bind_sender);
}

/* The variable parts of a path, and what its route adds. */
struct variable {
    const struct parley_protocol *protocol; /* NULL if there is none of that name */
    /* ""; cut if they are too long. `id`: of the object below `name`. */
    char protocol_name[NAME_SIZE], name[NAME_SIZE], id[NAME_SIZE];
    enum describe_page page; /* of serve_page */
    const char *view;        /* of serve_view: the name in its operation */
};

typedef void serve_fn(struct services *services, struct http_request *request,
                      const struct variable *variable);

static void serve_messages(struct services *services, struct http_request *request,
                           const struct variable *variable) {
    ingest_serve(&services->gateway, request, variable->protocol, INGEST_FORWARD);
}

/* A view of the index, of one protocol or of all that the request may read. */
static void serve_view(struct services *services, struct http_request *request,
                       const struct variable *variable) {
    index_lists_serve(services->index_lists, request, index_view_find(variable->view),
                      variable->protocol, guard_principal(request)->scopes.read,
                      own_agent(services, request));
}

static void serve_message(struct services *services, struct http_request *request,
                          const struct variable *variable) {
    index_lists_serve_one(services->index_lists, request, variable->protocol, variable->id,
                          own_agent(services, request));
}

static void serve_validate(struct services *services, struct http_request *request,
                           const struct variable *variable) {
    ingest_serve(&services->gateway, request, variable->protocol, INGEST_VALIDATE);
}

static void serve_convert(struct services *services, struct http_request *request,
                          const struct variable *variable) {
    ingest_serve(&services->gateway, request, variable->protocol, INGEST_CONVERT);
}

static void serve_stream(struct services *services, struct http_request *request,
                         const struct variable *variable) {
    const struct streams_rights rights = {.protocols = guard_principal(request)->scopes.read,
                                          .agent = own_agent(services, request)};
    streams_serve(services->streams, services->gateway.limits, request, variable->protocol,
                  &rights);
}

static void serve_agents(struct services *services, struct http_request *request,
                         const struct variable *variable) {
    agents_serve(services->agents, services->gateway.limits, request, variable->protocol,
                 variable->name[0] != '\0' ? variable->name : NULL, own_agent(services, request));
}

static void serve_checkpoints(struct services *services, struct http_request *request,
                              const struct variable *variable) {
    checkpoints_serve_list(&services->checkpoints, request, variable->protocol, variable->name);
}

static void serve_checkpoint(struct services *services, struct http_request *request,
                             const struct variable *variable) {
    checkpoints_serve_one(&services->checkpoints, request, variable->protocol, variable->name,
                          variable->id);
}

static void serve_restore(struct services *services, struct http_request *request,
                          const struct variable *variable) {
    checkpoints_serve_restore(&services->checkpoints, request, variable->protocol, variable->name);
}

static void serve_artifact(struct services *services, struct http_request *request,
                           const struct variable *variable) {
    artifacts_serve(&services->artifacts, request, variable->protocol, variable->name);
}

static void serve_compiled(struct services *services, struct http_request *request,
                           const struct variable *variable) {
    artifacts_serve_compiled(&services->artifacts, request, variable->protocol, variable->name);
}

static void serve_work(struct services *services, struct http_request *request,
                       const struct variable *variable) {
    tasks_serve_one(&services->tasks, request, variable->protocol, variable->name);
}

static void serve_works(struct services *services, struct http_request *request,
                        const struct variable *variable) {
    tasks_serve_list(&services->tasks, request, variable->protocol);
}

static void serve_next_work(struct services *services, struct http_request *request,
                            const struct variable *variable) {
    tasks_serve_next(&services->tasks, request, variable->protocol);
}

static void serve_extend(struct services *services, struct http_request *request,
                         const struct variable *variable) {
    tasks_serve_change(&services->tasks, request, variable->protocol, variable->name,
                       PARLEY_TASK_EXTEND);
}

static void serve_give_back(struct services *services, struct http_request *request,
                            const struct variable *variable) {
    tasks_serve_change(&services->tasks, request, variable->protocol, variable->name,
                       PARLEY_TASK_RELEASE);
}

static void serve_cancel(struct services *services, struct http_request *request,
                         const struct variable *variable) {
    tasks_serve_action(&services->tasks, request, variable->protocol, variable->name,
                       PARLEY_TASK_CANCEL);
}

static void serve_retry(struct services *services, struct http_request *request,
                        const struct variable *variable) {
    tasks_serve_action(&services->tasks, request, variable->protocol, variable->name,
                       PARLEY_TASK_RETRY);
}

static void serve_cancel_many(struct services *services, struct http_request *request,
                              const struct variable *variable) {
    tasks_serve_many(&services->tasks, request, variable->protocol, PARLEY_TASK_CANCEL);
}

static void serve_retry_many(struct services *services, struct http_request *request,
                             const struct variable *variable) {
    tasks_serve_many(&services->tasks, request, variable->protocol, PARLEY_TASK_RETRY);
}

static void serve_rejected(struct services *services, struct http_request *request,
                           const struct variable *variable) {
    (void)variable;
    streams_serve_rejected(services->streams, services->gateway.limits, request);
}

static void serve_mcp(struct services *services, struct http_request *request,
                      const struct variable *variable) {
    (void)variable;
    mcp_serve(&services->mcp, request);
}

static void serve_problem(struct services *services, struct http_request *request,
                          const struct variable *variable) {
    (void)services;
    origin_protect_page(request);
    problem_pages_serve(request, variable->name);
}

static void serve_problems(struct services *services, struct http_request *request,
                           const struct variable *variable) {
    (void)services;
    (void)variable;
    origin_protect_page(request);
    problem_pages_serve_list(request);
}

static void serve_rule(struct services *services, struct http_request *request,
                       const struct variable *variable) {
    (void)services;
    origin_protect_page(request);
    rule_pages_serve(request, variable->name);
}

static void serve_all_rules(struct services *services, struct http_request *request,
                            const struct variable *variable) {
    (void)services;
    (void)variable;
    origin_protect_page(request);
    rule_pages_serve_list(request);
}

static void serve_index(struct services *services, struct http_request *request,
                        const struct variable *variable) {
    origin_protect_console(request);
    http_header(request, "Link",
                "</openapi.json>; rel=\"service-desc\", </llms.txt>; rel=\"service-doc\"");
    describe_pages_serve(services->pages, request, DESCRIBE_INDEX, variable->protocol);
}

static void serve_page(struct services *services, struct http_request *request,
                       const struct variable *variable) {
    describe_pages_serve(services->pages, request, variable->page, variable->protocol);
}

static void serve_console_file(struct services *services, struct http_request *request,
                               const struct variable *variable) {
    console_serve(services->console, request, variable->name);
}

static void serve_livez(struct services *services, struct http_request *request,
                        const struct variable *variable) {
    (void)variable;
    health_serve_livez(services, request);
}

static void serve_readyz(struct services *services, struct http_request *request,
                         const struct variable *variable) {
    (void)variable;
    health_serve_readyz(services, request);
}

static void serve_whoami(struct services *services, struct http_request *request,
                         const struct variable *variable) {
    (void)variable;
    whoami_serve(services, request);
}

static void serve_resource(struct services *services, struct http_request *request,
                           const struct variable *variable) {
    (void)variable;
    whoami_serve_resource(services, request);
}

static void serve_metrics(struct services *services, struct http_request *request,
                          const struct variable *variable) {
    (void)variable;
    metrics_page_serve(services, request);
}

static void serve_halts(struct services *services, struct http_request *request,
                        const struct variable *variable) {
    halt_list_serve(&services->gateway, services->follows, request, variable->protocol);
}

static void serve_release(struct services *services, struct http_request *request,
                          const struct variable *variable) {
    halt_release_serve(&services->gateway, request, variable->protocol);
}

static void serve_reviews(struct services *services, struct http_request *request,
                          const struct variable *variable) {
    review_list_serve(&services->gateway, request, variable->protocol);
}

static void serve_review(struct services *services, struct http_request *request,
                         const struct variable *variable) {
    review_serve(&services->gateway, request, variable->protocol, variable->id);
}

/* How long its requests may stay open. Those that do are served by the daemon for streams, for they
 * slow all others of theirs (ADR 3). */
enum route_stay {
    ROUTE_ANSWERS,    /* as soon as it can */
    ROUTE_MAY_WAIT,   /* so, but not a POST with `Prefer: wait` */
    ROUTE_MAY_FOLLOW, /* so, but not a GET with `follow=true` */
    ROUTE_STAYS,      /* as long as its client likes */
};

struct route {
    const char *path; /* {protocol}, {name} and {id} stand for one segment each */
    size_t length;    /* of `path` */
    enum guard_need need;
    const struct operation *operation; /* its description in documents */
    serve_fn *get, *post;              /* one of them, or both with get_operation */
    /* Where there are both: what `get` is. */
    enum guard_need get_need;
    const struct operation *get_operation;
    enum route_stay stay;
    bool is_json;            /* `get` or `post` answers in JSON and nothing else */
    enum describe_page page; /* of serve_page */
    /* For DELETE, where there is one, which needs the scope admin. */
    serve_fn *remove;
    const struct operation *remove_operation;
};

/* A row without its scope, or without its description (contract/operations.c), does not compile. */
#define ROUTE(path_, need_, about_, ...)                                                           \
    {                                                                                              \
        .path = (path_), .length = sizeof(path_) - 1, .need = GUARD_##need_,                       \
        .operation = &operation_##about_, __VA_ARGS__                                              \
    }

/* The first that matches is taken. Those that stay open come first: gateway_stays_open, which is
 * asked of every request, looks no further. */
static const struct route routes[] = {
    ROUTE("/v1/{protocol}/messages", SEND, messages, .post = serve_messages, .stay = ROUTE_MAY_WAIT,
          .get = serve_view, .get_need = GUARD_READ, .get_operation = &operation_message_list),
    ROUTE("/mcp", KNOWN, mcp, .post = serve_mcp, .stay = ROUTE_STAYS),
    ROUTE("/v1/rejected/stream", ADMIN, rejected, .get = serve_rejected, .stay = ROUTE_STAYS),
    ROUTE("/v1/{protocol}/stream", READ, stream, .get = serve_stream, .stay = ROUTE_STAYS),
    ROUTE("/v1/stream", READ_ANY, stream_of_all, .get = serve_stream, .stay = ROUTE_STAYS),
    ROUTE("/v1/{protocol}/tasks/next", SEND, next_task, .post = serve_next_work,
          .stay = ROUTE_STAYS, .is_json = true),
    ROUTE("/v1/{protocol}/tasks", READ, tasks, .get = serve_works, .stay = ROUTE_MAY_FOLLOW,
          .is_json = true),
    ROUTE("/v1/{protocol}/halts", READ, halts, .get = serve_halts, .stay = ROUTE_MAY_FOLLOW,
          .is_json = true, .remove = serve_release, .remove_operation = &operation_release),
    ROUTE("/v1/{protocol}/agents", READ, agents, .get = serve_agents, .stay = ROUTE_MAY_FOLLOW,
          .is_json = true),
    ROUTE("/v1/{protocol}/agents/{name}/checkpoints/{id}", READ, checkpoint,
          .get = serve_checkpoint, .stay = ROUTE_STAYS),
    ROUTE("/v1/{protocol}/agents/{name}/restore", READ, restore, .get = serve_restore,
          .stay = ROUTE_STAYS),
    ROUTE("/v1/{protocol}/validate", SEND, validate, .post = serve_validate),
    ROUTE("/v1/{protocol}/convert", SEND, convert, .post = serve_convert),
    ROUTE("/v1/{protocol}/messages/{id}", READ, message, .get = serve_message, .is_json = true),
    ROUTE("/v1/{protocol}/threads", READ, threads, .get = serve_view),
    ROUTE("/v1/{protocol}/senders", READ, senders, .get = serve_view),
    ROUTE("/v1/{protocol}/chain", READ, chain, .get = serve_view),
    ROUTE("/v1/{protocol}/sessions", READ, sessions, .get = serve_view),
    ROUTE("/v1/{protocol}/contexts", READ, contexts, .get = serve_view),
    ROUTE("/v1/{protocol}/evolutions", READ, evolutions, .get = serve_view),
    ROUTE("/v1/{protocol}/acks", READ, acks, .get = serve_view),
    ROUTE("/v1/{protocol}/inbox", READ, inbox, .get = serve_view, .stay = ROUTE_MAY_FOLLOW),
    ROUTE("/v1/{protocol}/items", READ, items, .get = serve_view),
    ROUTE("/v1/trace", READ_ANY, trace, .get = serve_view),
    ROUTE("/v1/{protocol}/agents/{name}", READ, agent, .get = serve_agents, .is_json = true),
    ROUTE("/v1/{protocol}/agents/{name}/checkpoints", READ, checkpoints, .get = serve_checkpoints,
          .is_json = true),
    ROUTE("/v1/{protocol}/threads/{name}/artifact", READ, artifact, .get = serve_artifact),
    ROUTE("/v1/{protocol}/threads/{name}/artifact/compiled", READ, compiled, .get = serve_compiled),
    ROUTE("/v1/{protocol}/reviews", READ_REVIEWS, reviews, .get = serve_reviews, .is_json = true),
    ROUTE("/v1/{protocol}/reviews/{id}", REVIEW, review, .post = serve_review, .is_json = true),
    ROUTE("/v1/{protocol}/tasks/cancel", SEND, cancel_tasks, .post = serve_cancel_many),
    ROUTE("/v1/{protocol}/tasks/retry", SEND, retry_tasks, .post = serve_retry_many),
    ROUTE("/v1/{protocol}/tasks/{name}", READ, task, .get = serve_work, .is_json = true),
    ROUTE("/v1/{protocol}/tasks/{name}/extend", SEND, extend_task, .post = serve_extend,
          .is_json = true),
    ROUTE("/v1/{protocol}/tasks/{name}/release", SEND, release_task, .post = serve_give_back,
          .is_json = true),
    ROUTE("/v1/{protocol}/tasks/{name}/cancel", SEND, cancel_task, .post = serve_cancel,
          .is_json = true),
    ROUTE("/v1/{protocol}/tasks/{name}/retry", SEND, retry_task, .post = serve_retry,
          .is_json = true),
    ROUTE("/", OPEN, index, .get = serve_index),
    ROUTE("/page.js", OPEN, script, .get = serve_page, .page = DESCRIBE_SCRIPT),
    ROUTE("/page.css", OPEN, style, .get = serve_page, .page = DESCRIBE_STYLE),
    ROUTE("/console/{name}", OPEN, console_file, .get = serve_console_file),
    ROUTE("/v1/protocols", OPEN, protocols, .get = serve_page, .page = DESCRIBE_PROTOCOLS),
    ROUTE("/v1/protocols/{protocol}", OPEN, protocol, .get = serve_page, .page = DESCRIBE_PROTOCOL),
    ROUTE("/v1/protocols/{protocol}/schema", OPEN, schema, .get = serve_page,
          .page = DESCRIBE_SCHEMA),
    ROUTE("/v1/protocols/{protocol}/rules", OPEN, rules, .get = serve_page, .page = DESCRIBE_RULES),
    ROUTE("/v1/protocols/{protocol}/examples", OPEN, examples, .get = serve_page,
          .page = DESCRIBE_EXAMPLES),
    ROUTE("/problems", OPEN, problem_list, .get = serve_problems),
    ROUTE("/problems/{name}", OPEN, problem, .get = serve_problem),
    ROUTE("/rules", OPEN, rule_list, .get = serve_all_rules),
    ROUTE("/rules/{name}", OPEN, rule, .get = serve_rule),
    ROUTE("/openapi.json", OPEN, openapi, .get = serve_page, .page = DESCRIBE_OPENAPI),
    ROUTE("/asyncapi.json", OPEN, asyncapi, .get = serve_page, .page = DESCRIBE_ASYNCAPI),
    ROUTE("/llms.txt", OPEN, guide, .get = serve_page, .page = DESCRIBE_GUIDE),
    ROUTE("/v1/whoami", KNOWN, whoami, .get = serve_whoami),
    ROUTE("/.well-known/oauth-protected-resource", OPEN, resource, .get = serve_resource),
    ROUTE("/livez", OPEN, livez, .get = serve_livez),
    ROUTE("/readyz", OPEN, readyz, .get = serve_readyz),
    ROUTE("/metrics", METRICS, metrics, .get = serve_metrics),
};

_Static_assert(sizeof routes / sizeof routes[0] < FIGURES_ROUTES_MAX, "there is a figure for each");

bool gateway_route(size_t index, struct contract_route *out) {
    if (index >= sizeof routes / sizeof routes[0]) {
        return false;
    }
    const struct route *route = &routes[index];
    *out = (struct contract_route){.path = route->path,
                                   .need = route->need,
                                   .operation = route->operation,
                                   .remove_operation = route->remove_operation,
                                   .get_need = route->get_need,
                                   .get_operation = route->get_operation,
                                   .has_get = route->get != NULL,
                                   .has_post = route->post != NULL};
    return true;
}

static const struct operation *operation_of_get(const struct route *route) {
    return route->get_operation != NULL ? route->get_operation : route->operation;
}

static void copy_segment(char out[NAME_SIZE], struct parley_bytes segment) {
    const size_t length = segment.length < NAME_SIZE ? segment.length : NAME_SIZE - 1;
    memcpy(out, segment.data, length);
    out[length] = '\0';
}

/* The rest of the path after the text for a place in braces; NULL if that is empty. */
static const char *after_segment(const char *path) {
    const size_t length = strcspn(path, "/");
    return length > 0 ? path + length : NULL;
}

/* Whether their ends, which alone tell most routes apart, let the path match. */
static inline bool ends_alike(const struct route *route, const char *path, size_t path_length) {
    enum { END = 2 };
    const char *pattern = route->path;
    return route->length < END || pattern[route->length - 1] == '}' ||
           (path_length >= END &&
            memcmp(pattern + route->length - END, path + path_length - END, END) == 0);
}

static bool has_pattern(const char *path, const char *pattern) {
    while (*pattern != '\0') {
        if (*pattern != '{') {
            if (*pattern++ != *path++) {
                return false;
            }
            continue;
        }
        path = after_segment(path);
        if (path == NULL) {
            return false;
        }
        pattern = strchr(pattern, '}') + 1;
    }
    return *path == '\0';
}

/* Asked of many routes for each request: their ends are compared here. */
static inline bool matches(const struct route *route, const char *path, size_t path_length) {
    return ends_alike(route, path, path_length) && has_pattern(path, route->path);
}

/* Reads the parts in braces of a path that matches `pattern`. */
static void read_variable(const char *pattern, const char *path, struct variable *out) {
    static const char protocol[] = "{protocol}", id[] = "{id}";
    out->protocol = NULL;
    out->protocol_name[0] = out->name[0] = out->id[0] = '\0';
    for (const char *place = strchr(pattern, '{'); place != NULL; place = strchr(pattern, '{')) {
        path += place - pattern;
        const struct parley_bytes segment = {path, strcspn(path, "/")};
        if (strncmp(place, protocol, sizeof protocol - 1) == 0) {
            out->protocol = parley_protocol_find(segment);
            copy_segment(out->protocol_name, segment);
        } else if (strncmp(place, id, sizeof id - 1) == 0) {
            copy_segment(out->id, segment);
        } else {
            copy_segment(out->name, segment);
        }
        path += segment.length;
        pattern = strchr(place, '}') + 1;
    }
}

static const char *allowed_methods(const struct route *route) {
    return route->remove != NULL ? "GET, HEAD, DELETE, OPTIONS"
           : route->post == NULL ? "GET, HEAD, OPTIONS"
           : route->get == NULL  ? "POST, OPTIONS"
                                 : "GET, HEAD, POST, OPTIONS";
}

static bool admit_form(struct http_request *request, const struct route *route, bool is_delete) {
    static const char *const offers[] = {"application/json", NULL};
    if (is_delete || !route->is_json ||
        (route->stay == ROUTE_MAY_FOLLOW &&
         follow_is_asked(http_request_query(request, "follow"))) ||
        http_request_encoding(request)->protocol != NULL ||
        negotiate(http_request_header(request, "Accept"), offers) >= 0) {
        return true;
    }
    problem_respond(request, PROBLEM_NOT_ACCEPTABLE,
                    "The answer is application/json: accept it, or omit the Accept header.");
    return false;
}

static void serve(struct services *services, struct http_request *request,
                  const struct route *route, const struct variable *variable) {
    const char *method = http_request_method(request);
    const bool is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    const bool is_post = strcmp(method, "POST") == 0;
    const bool is_delete = strcmp(method, "DELETE") == 0;
    serve_fn *function = is_get      ? route->get
                         : is_post   ? route->post
                         : is_delete ? route->remove
                                     : NULL;
    const enum guard_need need = is_delete                                ? GUARD_ADMIN
                                 : is_get && route->get_operation != NULL ? route->get_need
                                                                          : route->need;
    if (variable->protocol != NULL && !route->operation->is_page) {
        answer_encoding_choose(request, variable->protocol);
    }
    if (strcmp(method, "OPTIONS") == 0) {
        origin_answer_options(&services->gateway.origins, request, allowed_methods(route));
    } else if (function == NULL) {
        http_header(request, "Allow", allowed_methods(route));
        problem_respond_format(request, PROBLEM_METHOD_NOT_ALLOWED, "%s allows %s.",
                               http_request_path(request), allowed_methods(route));
    } else if (origin_admit(&services->gateway.origins, request, route->need == GUARD_OPEN) &&
               guard_admit(services->gateway.guard, request, need, variable->protocol) &&
               admit_form(request, route, is_delete)) {
        function(services, request, variable);
    }
}

static void refuse_protocol(struct http_request *request, const char *name) {
    char known[256];
    size_t length = 0;
    for (size_t i = 0; parley_protocols[i] != NULL && length < sizeof known; i++) {
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i > 0 ? ", " : "",
                                   parley_protocols[i]->name);
    }
    problem_respond_format(request, PROBLEM_NOT_FOUND,
                           "There is no protocol `%s`; the protocols are: %s.", name, known);
}

static bool is_health(const char *path) {
    return strcmp(path, "/livez") == 0 || strcmp(path, "/readyz") == 0;
}

void gateway_begin(void *context, struct http_request *request) {
    struct services *services = context;
    const char *path = http_request_path(request);
    if (!origin_admit_host(&services->gateway.origins, request)) {
        return;
    }
    if (services->gateway.is_draining && !is_health(path)) {
        problem_respond(request, PROBLEM_DRAINING, HEALTH_DRAINING);
        return;
    }
    if (strcmp(path, "*") == 0 && strcmp(http_request_method(request), "OPTIONS") == 0) {
        /* The server as a whole, not one of its addresses (RFC 9110, section 9.3.7). */
        http_header(request, "Allow", "GET, HEAD, POST, DELETE, OPTIONS");
        http_respond(request, 204, NULL, (struct parley_bytes){0});
        return;
    }
    const size_t path_length = strlen(path);
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (!matches(&routes[i], path, path_length)) {
            continue;
        }
        struct variable variable;
        read_variable(routes[i].path, path, &variable);
        variable.page = routes[i].page;
        variable.view = operation_of_get(&routes[i])->view;
        http_request_note(request, HTTP_NOTE_ROUTE, (unsigned char)(i + 1));
        if (variable.protocol == NULL && strstr(routes[i].path, "{protocol}") != NULL) {
            refuse_protocol(request, variable.protocol_name);
        } else {
            serve(services, request, &routes[i], &variable);
        }
        return;
    }
    problem_respond_format(
        request, PROBLEM_NOT_FOUND,
        "There is nothing at %.200s. Send to /v1/PROTOCOL/messages, read from "
        "/v1/PROTOCOL/stream; / lists all endpoints, /openapi.json describes them.",
        path);
}

/* The protocol in the path of a request that has this route; NULL for none. */
static const char *protocol_name(const char *route, const char *path) {
    const char *place = route != NULL ? strstr(route, "{protocol}") : NULL;
    if (place == NULL) {
        return NULL;
    }
    const char *segment = path + (place - route);
    const struct parley_protocol *protocol =
        parley_protocol_find((struct parley_bytes){segment, strcspn(segment, "/")});
    return protocol != NULL ? protocol->name : NULL;
}

void gateway_over(void *context, const struct http_request *request,
                  const struct http_outcome *outcome) {
    const struct services *services = context;
    const unsigned noted = outcome->notes[HTTP_NOTE_ROUTE],
                   problem = outcome->notes[HTTP_NOTE_PROBLEM];
    const size_t index = noted == 0 ? FIGURES_ROUTES_MAX - 1 : noted - 1;
    struct route_figures *figures = &services->gateway.figures->routes[index];
    counter_add(&figures->requests[figures_status_index(outcome->status)], 1);
    const bool is_parked = outcome->notes[HTTP_NOTE_PARKED] != 0;
    if (noted == 0 || (routes[index].stay != ROUTE_STAYS && !is_parked)) {
        histogram_add(&figures->duration, (uint64_t)(reactor_clock_ns() - outcome->began_ns));
    }
    if (problem != 0) {
        counter_add(&services->gateway.figures->problems[problem - 1], 1);
    }
    if (access_log_has(&services->gateway, request, outcome)) {
        const char *route = noted == 0 ? NULL : routes[index].path;
        access_log_write(request, outcome, route, protocol_name(route, http_request_path(request)));
    }
}

/* Whether a GET or POST stays open if its path is the route's. */
static inline bool may_stay(const struct route *route, const struct http_head *head, bool is_get) {
    if ((is_get ? route->get : route->post) == NULL) {
        return false;
    }
    switch (route->stay) {
    case ROUTE_STAYS:
        return true;
    case ROUTE_MAY_WAIT:
        return !is_get && head->wait_s > 0;
    case ROUTE_MAY_FOLLOW:
        return is_get && follow_is_asked(http_head_option(head, "follow"));
    case ROUTE_ANSWERS:
        break;
    }
    return false;
}

bool gateway_stays_open(const struct http_head *head) {
    const size_t path_length = strlen(head->path);
    const bool is_get = strcmp(head->method, "GET") == 0;
    if (!is_get && strcmp(head->method, "POST") != 0) {
        return false;
    }
    for (size_t i = 0; routes[i].stay != ROUTE_ANSWERS; i++) {
        if (ends_alike(&routes[i], head->path, path_length) && may_stay(&routes[i], head, is_get) &&
            has_pattern(head->path, routes[i].path)) {
            return true;
        }
    }
    return false;
}

void gateway_refuse(struct http_request *request, unsigned status, const char *detail) {
    const bool is_body = http_request_content_length(request) < 0; /* the head was valid */
    enum problem problem = is_body ? PROBLEM_MALFORMED : PROBLEM_INVALID_PARAMETER;
    static const enum problem others[] = {PROBLEM_TOO_LARGE,
                                          PROBLEM_REQUEST_TIMEOUT,
                                          PROBLEM_URI_TOO_LONG,
                                          PROBLEM_EXPECTATION_FAILED,
                                          PROBLEM_HEAD_TOO_LARGE,
                                          PROBLEM_VERSION_NOT_SUPPORTED,
                                          PROBLEM_UNSUPPORTED_MEDIA_TYPE};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (problem_status(others[i]) == status) {
            problem = others[i];
        }
    }
    problem_respond(request, problem, detail);
}

void gateway_write_full_answer(uint64_t each, struct parley_buffer *out) {
    char detail[160];
    struct parley_buffer body;
    snprintf(detail, sizeof detail,
             "This address has %" PRIu64
             " connections open (--connections-per-address). Use those, "
             "or close one.",
             each);
    parley_buffer_init(&body);
    problem_write(&body, PROBLEM_TOO_MANY_CONNECTIONS, NULL, detail, NULL);
    parley_buffer_format(out,
                         "HTTP/1.1 429 Too Many Requests\r\n"
                         "Content-Type: application/problem+json\r\n"
                         "Content-Length: %zu\r\n"
                         "Retry-After: 1\r\n"
                         "Connection: close\r\n"
                         "\r\n",
                         body.length);
    parley_buffer_append(out, parley_buffer_bytes(&body));
    out->has_failed = out->has_failed || body.has_failed;
    parley_buffer_finish(&body);
}
