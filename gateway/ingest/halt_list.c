/* SPDX-License-Identifier: Apache-2.0 */

/* The halts that are open, as the bucket has them. */

#include "halts.h"

#include <stdio.h>

#include "query_problem.h"

enum { ITEMS_MAX = 1000, KINDS_MAX = 4 };

/* ---- the query ---- */

struct reading {
    const struct parley_protocol *protocol;
    struct http_request *request;
    struct halts_query *out;
    struct query_names seen;
    const char *names[KINDS_MAX + 2];
    bool is_release, is_refused;
};

static bool is_kind(const struct reading *reading, const char *name) {
    const char *const *kind = reading->protocol->halt_kinds;
    while (*kind != NULL && strcmp(*kind, name) != 0) {
        kind++;
    }
    return *kind != NULL;
}

static void refuse_value(struct reading *reading, const char *name, const char *value,
                         const char *wants) {
    query_problem_value(reading->request, name, value, wants);
    reading->is_refused = true;
}

static bool take_option(void *context, const char *name, const char *value) {
    struct reading *reading = context;
    const bool is_reason = reading->is_release && strcmp(name, "reason") == 0;
    if (!query_option_is_sound(reading->request, &reading->seen, name, value)) {
        reading->is_refused = true;
    } else if (!is_reason && !is_kind(reading, name)) {
        query_problem_unknown(reading->request, name, reading->names);
        reading->is_refused = true;
    } else if (is_reason && *value == '\0') {
        refuse_value(reading, name, value, "a text that is not empty");
    } else if (is_reason) {
        reading->out->reason = value;
    } else if (reading->out->name != NULL) {
        refuse_value(reading, name, value, "given alone: a halt is of one conversation");
    } else {
        reading->out->kind = name;
        reading->out->name = value;
    }
    return !reading->is_refused;
}

bool halts_query_read(struct http_request *request, const struct parley_protocol *protocol,
                      bool is_release, struct halts_query *out) {
    struct reading reading = {
        .protocol = protocol, .request = request, .out = out, .is_release = is_release};
    size_t count = 0;
    for (; protocol->halt_kinds[count] != NULL && count < KINDS_MAX; count++) {
        reading.names[count] = protocol->halt_kinds[count];
    }
    reading.names[count] = is_release ? "reason" : NULL;
    *out = (struct halts_query){0};
    http_request_each_query(request, take_option, &reading);
    if (!reading.is_refused && is_release && (out->name == NULL || out->reason == NULL)) {
        problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                               "A release names one conversation (`%s` or another of GET's "
                               "options) and a `reason` for people: `?%s=NAME&reason=TEXT`.",
                               protocol->halt_kinds[0], protocol->halt_kinds[0]);
        return false;
    }
    return !reading.is_refused;
}

/* ---- the answer ---- */

struct listing {
    struct parley_buffer out;
    size_t count;
    bool has_more;
};

static bool add_item(void *context, const char *key, struct parley_bytes value) {
    struct listing *listing = context;
    listing->has_more = listing->count == ITEMS_MAX;
    if (listing->has_more) {
        return false;
    }
    parley_buffer_text(&listing->out, listing->count++ > 0 ? "," : "");
    if (value.data != NULL && halt_value_is_json(value)) {
        parley_buffer_append(&listing->out, value);
    } else { /* of others, or too long */
        parley_buffer_format(&listing->out, "{\"key\":\"%s\"}", key);
    }
    return true;
}

void halt_list_serve(struct gateway *gateway, struct http_request *request,
                     const struct parley_protocol *protocol) {
    struct halt_gate *gate = gateway_halt_gate(gateway, protocol);
    struct halts_query query;
    struct listing listing = {0};
    char conversation[HALT_DIGEST_LENGTH + 1];
    if (gate == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "Nothing halts in %s.", protocol->name);
        return;
    }
    if (!halts_query_read(request, protocol, false, &query)) {
        return;
    }
    if (!halt_set_is_seen(halt_gate_set(gate))) {
        problem_respond(request, PROBLEM_BUS_UNAVAILABLE,
                        "The halts cannot be read from NATS at present. Ask again later.");
        return;
    }
    if (query.name != NULL) {
        halt_digest_conversation(query.kind, parley_bytes_of(query.name), conversation);
    }
    parley_buffer_init(&listing.out);
    parley_buffer_text(&listing.out, "{\"items\":[");
    halt_set_each(halt_gate_set(gate), query.name != NULL ? conversation : NULL, add_item,
                  &listing);
    parley_buffer_text(&listing.out, listing.has_more ? "],\"more\":true}\n" : "]}\n");
    if (listing.out.has_failed) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
    } else {
        http_header(request, "Cache-Control", "no-store");
        http_compress(request);
        http_respond(request, 200, "application/json", parley_buffer_bytes(&listing.out));
    }
    parley_buffer_finish(&listing.out);
}
