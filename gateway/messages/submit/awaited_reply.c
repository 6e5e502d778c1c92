/* SPDX-License-Identifier: Apache-2.0 */

#include "awaited_reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <parley/dialect.h>

enum {
    WAIT_MAX_S = 300, /* however long a client would wait */
    ID_MAX_BYTES = 256,
    REQUEST_MAX_BYTES = 1 << 16, /* of a request that is kept to answer in its dialect */
};

struct awaited_reply {
    struct reply_wait wait;
    struct request_slot slot;
    struct http_request *request;
    const struct guard *guard;
    const struct parley_protocol *protocol;
    int64_t wait_s;
    void (*done)(void *context);
    void *context;
    /* The request, if it was in a dialect, which its client reads; a longer one is not kept. */
    const struct parley_dialect *dialect;
    const struct parley_schema *schema;
    struct parley_buffer asked;
    struct parley_buffer answer; /* so far */
    char id[ID_MAX_BYTES];       /* of the message; "": not known */
};

/* Where its client can look for what becomes of it. */
static void add_location(const struct awaited_reply *awaited) {
    char path[ID_MAX_BYTES + 64];
    if (awaited->id[0] != '\0') {
        snprintf(path, sizeof path, "/v1/%s/tasks/%s", awaited->protocol->name, awaited->id);
        http_header(awaited->request, "Location", path);
    }
}

/* In the words of the request. */
static void write_reply(struct awaited_reply *awaited, struct parley_bytes event) {
    struct parley_buffer *answer = &awaited->answer;
    if (awaited->dialect == NULL) {
        parley_buffer_append(answer, event);
    } else if (parley_dialect_event(awaited->dialect, awaited->schema, event,
                                    parley_buffer_bytes(&awaited->asked), answer) != PARLEY_OK) {
        answer->has_failed = true;
    }
}

static void write_end(struct awaited_reply *awaited, enum reply_end end,
                      struct parley_bytes event) {
    struct parley_buffer *answer = &awaited->answer;
    switch (end) {
    case REPLY_CAME:
        parley_buffer_text(answer, ",\"reply\":");
        write_reply(awaited, event);
        break;
    case REPLY_MISSING:
        add_location(awaited);
        break;
    case REPLY_LAPSED:
        parley_buffer_text(answer, ",\"state\":");
        parley_buffer_json(answer, parley_bytes_of(awaited->protocol->tasks->expired));
        break;
    }
    parley_buffer_text(answer, "}\n");
}

static void respond(struct awaited_reply *awaited, enum reply_end end, struct parley_bytes event) {
    struct parley_buffer *answer = &awaited->answer;
    struct http_request *request = awaited->request;
    char applied[32];
    write_end(awaited, end, event);
    if (answer->has_failed) {
        problem_respond(request, PROBLEM_INTERNAL,
                        "The message is stored, and there is no memory for the reply.");
        return;
    }
    snprintf(applied, sizeof applied, "wait=%" PRId64, awaited->wait_s);
    http_header(request, "Preference-Applied", applied);
    http_compress(request);
    http_respond(request, end == REPLY_MISSING ? 202 : 200, "application/json",
                 parley_buffer_bytes(answer));
}

/* A token may have been revoked meanwhile. */
static bool may_read(const struct awaited_reply *awaited) {
    struct http_request *request = awaited->request;
    return guard_objection(awaited->guard, request) == NULL &&
           scopes_may_read(&guard_principal(request)->scopes, awaited->protocol);
}

/* Who may not read any more gets the receipt alone. */
static void on_over(struct reply_wait *wait, enum reply_end end, struct parley_bytes event) {
    struct awaited_reply *awaited = OWNER_OF(wait, struct awaited_reply, wait);
    respond(awaited, may_read(awaited) ? end : REPLY_MISSING, event);
    awaited->done(awaited->context);
}

struct awaited_reply *awaited_reply_expect(const struct request_options *options,
                                           struct http_request *request,
                                           const struct parley_route *route,
                                           struct parley_message *message,
                                           void (*done)(void *context), void *context) {
    if (request == NULL || http_request_wait_s(request) == 0 || route->answer_key.data == NULL ||
        options->task != INGEST_FORWARD ||
        !scopes_may_read(&guard_principal(request)->scopes, options->protocol)) {
        return NULL;
    }
    struct gateway *gateway = options->gateway;
    struct request_slot slot;
    if (request_slots_find(&gateway->reply_slots, REPLIES_MAX, gateway->limits, request, &slot) !=
        REQUEST_SLOTS_FREE) {
        return NULL;
    }
    struct awaited_reply *awaited = malloc(sizeof *awaited);
    if (awaited == NULL) {
        return NULL;
    }
    const uint32_t wanted_s = http_request_wait_s(request);
    *awaited = (struct awaited_reply){.wait.over = on_over,
                                      .slot = slot,
                                      .request = request,
                                      .guard = gateway->guard,
                                      .protocol = options->protocol,
                                      .wait_s = wanted_s < WAIT_MAX_S ? wanted_s : WAIT_MAX_S,
                                      .done = done,
                                      .context = context};
    parley_buffer_init(&awaited->answer);
    parley_buffer_init(&awaited->asked);
    if (message->dialect != NULL && message->dialect->from_contract != NULL) {
        awaited->dialect = message->dialect;
        awaited->schema = message->schema;
        if (message->text.length <= REQUEST_MAX_BYTES) {
            parley_buffer_append(&awaited->asked, message->text);
        }
    }
    if (!reply_enter(gateway->replies, &awaited->wait, options->protocol, route->answer_key,
                     awaited->wait_s * 1000)) {
        parley_buffer_finish(&awaited->asked);
        free(awaited);
        return NULL;
    }
    request_slot_take(&gateway->reply_slots, &awaited->slot);
    return awaited;
}

/* In JSON, in quotes; one with an escape is none for an address. */
static void keep_id(struct awaited_reply *awaited, struct parley_bytes id) {
    if (id.length > 2 && id.length < ID_MAX_BYTES && memchr(id.data, '\\', id.length) == NULL) {
        memcpy(awaited->id, id.data + 1, id.length - 2);
        awaited->id[id.length - 2] = '\0';
    }
}

bool awaited_reply_begin(struct awaited_reply *awaited, struct parley_bytes receipt,
                         const struct receipt *noted) {
    parley_buffer_text(&awaited->answer, "{\"receipt\":");
    parley_buffer_append(&awaited->answer, receipt);
    keep_id(awaited, receipt_id(noted));
    http_request_note(awaited->request, HTTP_NOTE_PARKED, 1);
    if (reply_begin(&awaited->wait)) {
        return true;
    }
    respond(awaited, REPLY_MISSING, (struct parley_bytes){0});
    return false;
}

void awaited_reply_drop(struct awaited_reply *awaited) {
    if (awaited == NULL) {
        return;
    }
    reply_leave(&awaited->wait);
    request_slot_leave(&awaited->slot);
    parley_buffer_finish(&awaited->answer);
    parley_buffer_finish(&awaited->asked);
    free(awaited);
}
