/* SPDX-License-Identifier: Apache-2.0 */

/* A table of checks. Each reports its own state; the answer is composed of their reports. */

#include "health.h"

#include <stdio.h>

#include "configuration_load.h"
#include "halt_gate.h"
#include "negotiate.h"
#include "problem.h"
#include "server_version.h"

enum health {
    HEALTH_OK,
    HEALTH_DEGRADED, /* messages are accepted, but not all, or they wait */
    HEALTH_FAILED,
};

static const char *const health_names[] = {
    [HEALTH_OK] = "ok", [HEALTH_DEGRADED] = "degraded", [HEALTH_FAILED] = "failed"};

/* The report of a check. */
struct finding {
    enum health health;
    enum problem problem; /* where it failed */
    const char *prefix;   /* of the reason, in text: "" or the thing that it affects */
    const char *reason;   /* NULL if there is nothing to say */
    uint32_t version;     /* of the nats-server; 0: not known, or another check */
};

/* Each is asked with `number` 0, 1 … until it returns nothing: a check may have several reasons. */
typedef struct finding ask_fn(const struct services *services, size_t number);

static struct finding ask_draining(const struct services *services, size_t number) {
    if (!services->gateway.is_draining || number > 0) {
        return (struct finding){0};
    }
    return (struct finding){
        .health = HEALTH_FAILED, .problem = PROBLEM_DRAINING, .reason = HEALTH_DRAINING};
}

/* While it may come back soon, messages wait. */
static struct finding ask_nats(const struct services *services, size_t number) {
    const char *trouble = jetstream_trouble(services->gateway.jetstream);
    const bool is_patient = jetstream_is_patient(services->gateway.jetstream);
    const uint32_t version = jetstream_server_version(services->gateway.jetstream);
    if (number > 0 ||
        (trouble == NULL && (is_patient || jetstream_is_ready(services->gateway.jetstream)))) {
        return (struct finding){.version = version};
    }
    return (struct finding){.version = version,
                            .health = is_patient ? HEALTH_DEGRADED : HEALTH_FAILED,
                            .problem = PROBLEM_BUS_UNAVAILABLE,
                            .prefix = is_patient ? "messages wait: " : "",
                            .reason = trouble != NULL ? trouble : "NATS is not ready yet"};
}

/* A connection may be served by any worker: all of them must reach NATS. */
static struct finding ask_workers(const struct services *services, size_t number) {
    if (number > 0 || services->away_count == NULL || atomic_load(services->away_count) == 0) {
        return (struct finding){0};
    }
    return (struct finding){.health = HEALTH_FAILED,
                            .problem = PROBLEM_BUS_UNAVAILABLE,
                            .reason = "NATS is not ready yet for all workers"};
}

/* A stream that cannot be used stops only its own protocol. */
static struct finding ask_streams(const struct services *services, size_t number) {
    const char *remark = jetstream_remark(services->gateway.jetstream, number);
    return (struct finding){.health = remark != NULL ? HEALTH_DEGRADED : HEALTH_OK,
                            .reason = remark};
}

/* Messages that halts concern wait until then. */
static struct finding unread_halts(bool was_seen) {
    return (struct finding){.health = was_seen ? HEALTH_DEGRADED : HEALTH_FAILED,
                            .problem = PROBLEM_BUS_UNAVAILABLE,
                            .prefix = "",
                            .reason = "the halts cannot be read from NATS; messages that they may "
                                      "concern wait"};
}

static struct finding full_halts(enum halt_room room) {
    static const char *const reasons[] = {
        [HALT_SHARE_IS_FULL] =
            "a sender has made as many of the open halts as one may; its further "
            "messages that halt get 503",
        [HALT_SET_IS_FULL] =
            "as many halts are open as there can be; further messages that halt get 503"};
    return (struct finding){.health = HEALTH_DEGRADED, .prefix = "", .reason = reasons[room]};
}

static struct finding ask_halts(const struct services *services, size_t number) {
    bool is_unread = false, was_seen = true;
    enum halt_room room = HALT_HAS_ROOM;
    for (size_t i = 0; services->gateway.halt_gates != NULL && i < parley_protocol_count(); i++) {
        if (services->gateway.halt_gates[i] != NULL) {
            struct halt_set *set = halt_gate_set(services->gateway.halt_gates[i]);
            const enum halt_room room_of_it = halt_set_room(set);
            is_unread = is_unread || (!halt_set_is_seen(set) &&
                                      configuration_obeys_halts(services->gateway.configuration,
                                                                parley_protocols[i]));
            was_seen = was_seen && halt_set_was_seen(set);
            room = room_of_it > room ? room_of_it : room;
        }
    }
    if (is_unread && number == 0) {
        return unread_halts(was_seen);
    }
    return room != HALT_HAS_ROOM && number == is_unread ? full_halts(room) : (struct finding){0};
}

/* Messages are accepted all the same. */
static struct finding ask_index(const struct services *services, size_t number) {
    static const char *const reasons[] = {
        [INDEX_KEPT] = NULL,
        [INDEX_UNWRITABLE] = "the index cannot be written; the log says why",
        [INDEX_REMADE] = "the index was damaged or of another version, and is being made again"};
    const struct index_keeper *keeper = services->index_keeper;
    const char *reason = keeper != NULL ? reasons[index_keeper_progress(keeper).state] : NULL;
    if (number > 0 || reason == NULL) {
        return (struct finding){0};
    }
    return (struct finding){.health = HEALTH_DEGRADED, .prefix = "", .reason = reason};
}

static const struct {
    const char *name;
    ask_fn *ask;
} checks[] = {{"draining", ask_draining}, {"nats", ask_nats},   {"workers", ask_workers},
              {"streams", ask_streams},   {"halts", ask_halts}, {"index", ask_index}};

enum { CHECK_COUNT = sizeof checks / sizeof checks[0] };

/* ---- answers ---- */

static bool prefers_json(const struct http_request *request) {
    static const char *const offers[] = {"text/plain", "application/json", NULL};
    return negotiate(http_request_header(request, "Accept"), offers) == 1;
}

/* The first reason why it is not ready.  Returns: whether there is one. */
static bool find_failure(const struct services *services, struct finding *out) {
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        for (size_t number = 0;; number++) {
            *out = checks[i].ask(services, number);
            if (out->health == HEALTH_FAILED) {
                return true;
            }
            if (out->reason == NULL) {
                break;
            }
        }
    }
    return false;
}

static void write_check(struct parley_buffer *out, const char *name,
                        const struct finding *finding) {
    parley_buffer_format(out, "{\"name\":\"%s\",\"status\":\"%s\"", name,
                         health_names[finding->health]);
    if (finding->version > 0) {
        char version[SERVER_VERSION_MAX];
        server_version_text(finding->version, version);
        parley_buffer_format(out, ",\"version\":\"%s\"", version);
    }
    if (finding->reason != NULL) {
        parley_buffer_text(out, ",\"reason\":");
        parley_buffer_json(out, parley_bytes_of(finding->reason));
    }
    parley_buffer_char(out, '}');
}

/* One that has nothing to say is in the list, too, once. */
static void write_checks(struct parley_buffer *out, const struct services *services) {
    const char *between = "";
    parley_buffer_text(out, "\"checks\":[");
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        for (size_t number = 0;; number++) {
            const struct finding finding = checks[i].ask(services, number);
            if (finding.reason == NULL && number > 0) {
                break;
            }
            parley_buffer_text(out, between);
            write_check(out, checks[i].name, &finding);
            between = ",";
        }
    }
    parley_buffer_char(out, ']');
}

static void write_text(struct parley_buffer *out, const struct services *services) {
    parley_buffer_text(out, "ready\n");
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        struct finding finding;
        for (size_t number = 0; (finding = checks[i].ask(services, number)).reason != NULL;
             number++) {
            parley_buffer_format(out, "but: %s%s\n", finding.prefix != NULL ? finding.prefix : "",
                                 finding.reason);
        }
    }
}

static void respond(struct http_request *request, const char *type, struct parley_buffer *body) {
    if (parley_buffer_status(body) == PARLEY_OK) {
        http_respond(request, 200, type, parley_buffer_bytes(body));
    } else {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
    }
}

static void respond_failed(const struct services *services, struct http_request *request,
                           const struct finding *finding) {
    struct parley_buffer members;
    char detail[512];
    const bool is_sentence = finding->problem == PROBLEM_DRAINING;
    snprintf(detail, sizeof detail, "%s%s", finding->reason, is_sentence ? "" : ".");
    parley_buffer_init(&members);
    parley_buffer_char(&members, ',');
    write_checks(&members, services);
    problem_respond_members(request, finding->problem, detail,
                            members.has_failed ? (struct parley_bytes){0}
                                               : parley_buffer_bytes(&members));
    parley_buffer_finish(&members);
}

void health_serve_readyz(const struct services *services, struct http_request *request) {
    struct finding failure;
    struct parley_buffer body;
    if (find_failure(services, &failure)) {
        respond_failed(services, request, &failure);
        return;
    }
    parley_buffer_init(&body);
    if (prefers_json(request)) {
        parley_buffer_format(&body, "{\"status\":\"ready\",\"durability\":\"%s\",",
                             durability_names[services->gateway.configuration->durability]);
        write_checks(&body, services);
        parley_buffer_text(&body, "}\n");
        respond(request, "application/json", &body);
    } else {
        write_text(&body, services);
        respond(request, "text/plain", &body);
    }
    parley_buffer_finish(&body);
}

void health_serve_livez(const struct services *services, struct http_request *request) {
    if (!prefers_json(request)) {
        http_respond(request, 200, "text/plain", PARLEY_BYTES("alive\n"));
    } else if (services->gateway.is_draining) {
        http_respond(request, 200, "application/json",
                     PARLEY_BYTES("{\"status\":\"alive\",\"draining\":true}\n"));
    } else {
        http_respond(request, 200, "application/json",
                     PARLEY_BYTES("{\"status\":\"alive\",\"draining\":false}\n"));
    }
}
