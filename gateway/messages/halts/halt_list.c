/* SPDX-License-Identifier: Apache-2.0 */

/* The halts that are open, or were released last, as the bucket has them: once, or followed (ADR
 * 55). */

#include "halts.h"

#include <stdio.h>
#include <stdlib.h>

#include "query_problem.h"

enum { ITEMS_MAX = 1000, KINDS_MAX = 4, NAME_BYTES_MAX = 128 };

#define ABSENCE "The halts cannot be read from NATS at present. Ask again later."

/* ---- the query ---- */

struct reading {
    const struct parley_protocol *protocol;
    struct http_request *request;
    struct halts_query *out;
    struct query_names seen;
    const char *names[KINDS_MAX + 6];
    bool is_release, is_refused;
};

static bool is_kind(const struct reading *reading, const char *name) {
    const char *const *kind = reading->protocol->halts->kinds;
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

static bool has_chosen(const struct halts_query *query) {
    return query->name != NULL || query->by != NULL || query->is_all;
}

/* The filters that choose the halts. */
static void take_choice(struct reading *reading, const char *name, const char *value) {
    struct halts_query *out = reading->out;
    if (has_chosen(out)) {
        refuse_value(reading, name, value, "given alone: one option chooses the halts");
    } else if (is_kind(reading, name)) {
        out->kind = name;
        out->name = value;
    } else if (strcmp(name, "by") == 0) {
        out->by = value;
    } else {
        out->is_all = strcmp(value, "true") == 0;
        if (!out->is_all) {
            refuse_value(reading, name, value, "`true`");
        }
    }
}

static void take_name(struct reading *reading, const char *name, const char *value) {
    reading->out->released_by = value;
    if (strlen(value) > NAME_BYTES_MAX) {
        refuse_value(reading, name, value, "a name of at most 128 bytes");
    }
}

static void take_released(struct reading *reading, const char *name, const char *value) {
    reading->out->is_released = strcmp(value, "true") == 0;
    if (!reading->out->is_released) {
        refuse_value(reading, name, value, "`true`");
    }
}

static void take_follow(struct reading *reading, const char *name, const char *value) {
    if (!follow_query_set(&reading->out->follow, value)) {
        refuse_value(reading, name, value, "`true` or `false`");
    }
}

static bool is_known(const struct reading *reading, const char *name) {
    const char *const *known = reading->names;
    while (*known != NULL && strcmp(*known, name) != 0) {
        known++;
    }
    return *known != NULL;
}

static bool take_option(void *context, const char *name, const char *value) {
    struct reading *reading = context;
    const bool is_reason = strcmp(name, "reason") == 0;
    if (!query_option_is_sound(reading->request, &reading->seen, name, value)) {
        reading->is_refused = true;
    } else if (!is_known(reading, name)) {
        query_problem_unknown(reading->request, name, reading->names);
        reading->is_refused = true;
    } else if (*value == '\0' && !is_kind(reading, name)) {
        refuse_value(reading, name, value, "a text that is not empty");
    } else if (is_reason) {
        reading->out->reason = value;
    } else if (strcmp(name, "released_by") == 0) {
        take_name(reading, name, value);
    } else if (strcmp(name, "released") == 0) {
        take_released(reading, name, value);
    } else if (strcmp(name, "follow") == 0) {
        take_follow(reading, name, value);
    } else if (strcmp(name, "since") == 0) {
        reading->out->follow.token = value;
    } else {
        take_choice(reading, name, value);
    }
    return !reading->is_refused;
}

bool halts_query_read(struct http_request *request, const struct parley_protocol *protocol,
                      bool is_release, struct halts_query *out) {
    struct reading reading = {
        .protocol = protocol, .request = request, .out = out, .is_release = is_release};
    const char *const *kinds = protocol->halts->kinds;
    size_t count = 0;
    for (; kinds[count] != NULL && count < KINDS_MAX; count++) {
        reading.names[count] = kinds[count];
    }
    reading.names[count++] = "by";
    if (is_release) {
        reading.names[count++] = "all";
        reading.names[count++] = "reason";
        reading.names[count++] = "released_by";
    } else {
        reading.names[count++] = "released";
        reading.names[count++] = "follow";
        reading.names[count++] = "since";
    }
    *out = (struct halts_query){0};
    http_request_each_query(request, take_option, &reading);
    if (!reading.is_refused && is_release && (!has_chosen(out) || out->reason == NULL)) {
        problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                               "A release says what it releases (`%s` or another of GET's "
                               "options, or `all=true`) and a `reason` for people: "
                               "`?%s=NAME&reason=TEXT`.",
                               kinds[0], kinds[0]);
        return false;
    }
    return !reading.is_refused && follow_query_admit(request, &out->follow, false);
}

/* ---- its filters ---- */

struct choosing {
    const char *by;
    bool (*each)(void *context, const char *key, struct parley_bytes value);
    void *context;
};

/* A value that is not known, or cannot be read, is of no known sender. */
static bool is_by(struct parley_bytes value, const char *by) {
    struct parley_arena arena;
    struct halt_value says;
    parley_arena_init(&arena, 0);
    const bool is_by = value.data != NULL && halt_value_read(value, &arena, &says) == PARLEY_OK &&
                       halt_value_is_by(&says, parley_bytes_of(by));
    parley_arena_finish(&arena);
    return is_by;
}

static bool pass_those_by(void *context, const char *key, struct parley_bytes value) {
    const struct choosing *choosing = context;
    return !is_by(value, choosing->by) || choosing->each(choosing->context, key, value);
}

void halts_query_each(const struct halts_query *query, struct halt_set *set,
                      bool (*each)(void *context, const char *key, struct parley_bytes value),
                      void *context) {
    char conversation[HALT_DIGEST_LENGTH + 1];
    struct choosing choosing = {query->by, each, context};
    void (*const all)(struct halt_set *, const char *,
                      bool (*)(void *, const char *, struct parley_bytes), void *) =
        query->is_released ? halt_set_each_released : halt_set_each;
    if (query->by != NULL) {
        all(set, NULL, pass_those_by, &choosing);
    } else if (query->name != NULL) {
        halt_digest_conversation(query->kind, parley_bytes_of(query->name), conversation);
        all(set, conversation, each, context);
    } else {
        all(set, NULL, each, context);
    }
}

/* ---- the answer ---- */

/* What an object has between its braces; length 0: nothing. */
static struct parley_bytes members_of(struct parley_bytes object) {
    static const char blank[] = " \t\r\n";
    const char *begin = object.data + 1, *end = object.data + object.length;
    while (end > begin && end[-1] != '}') {
        end--;
    }
    end -= end > begin ? 1 : 0;
    while (begin < end && strchr(blank, *begin) != NULL) {
        begin++;
    }
    return (struct parley_bytes){begin, (size_t)(end - begin)};
}

/* Values that are unreadable are of others, or too long. The key is the last member: a foreign
 * value that has one of that name does not hide it. */
static void write_item(const char *key, struct parley_bytes value, struct parley_buffer *out) {
    struct parley_bytes members = {0};
    if (value.data != NULL && halt_value_is_json(value)) {
        members = members_of(value);
    }
    parley_buffer_char(out, '{');
    parley_buffer_append(out, members);
    parley_buffer_format(out, "%s\"key\":\"%s\"}", members.length > 0 ? "," : "", key);
}

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
    write_item(key, value, &listing->out);
    return true;
}

static void answer_once(struct http_request *request, const struct halts_query *query,
                        struct halt_set *set) {
    struct listing listing = {0};
    if (!halt_set_is_seen(set)) {
        problem_respond(request, PROBLEM_BUS_UNAVAILABLE, ABSENCE);
        return;
    }
    parley_buffer_init(&listing.out);
    parley_buffer_text(&listing.out, "{\"items\":[");
    halts_query_each(query, set, add_item, &listing);
    parley_buffer_text(&listing.out, listing.has_more ? "],\"more\":true}\n" : "]}\n");
    problem_or_json(request, &listing.out);
}

/* ---- following ---- */

/* A choice of halts.  Owns: borrows from the request of its reader. */
struct watching {
    struct halts_query query;
    char conversation[HALT_DIGEST_LENGTH + 1]; /* "": all */
};

static bool is_whole(void *list) {
    return halt_set_is_whole(list);
}

static bool is_of_choice(const struct watching *watching, const struct halt_change *halt) {
    return (watching->query.is_released ? halt->is_released : halt->is_open) &&
           memcmp(halt->key, watching->conversation, strlen(watching->conversation)) == 0 &&
           (watching->query.by == NULL || is_by(halt->value, watching->query.by));
}

static enum parley_status write_change(void *list, const void *filter, const struct change *change,
                                       struct parley_buffer *out, bool *out_passes) {
    const struct halt_change halt = halt_set_changed(change);
    (void)list;
    *out_passes = is_of_choice(filter, &halt);
    if (*out_passes) {
        write_item(halt.key, halt.value, out);
    }
    return parley_buffer_status(out);
}

static bool may_have_passed(void *list, const void *filter, const struct change *change) {
    const struct watching *watching = filter;
    (void)list;
    return memcmp(halt_set_changed(change).key, watching->conversation,
                  strlen(watching->conversation)) == 0;
}

static struct parley_bytes key_of(void *list, const struct change *change) {
    (void)list;
    return parley_bytes_of(halt_set_changed(change).key);
}

static void follow(struct gateway *gateway, struct follows *follows, struct http_request *request,
                   const struct parley_protocol *protocol, const struct halts_query *query) {
    static const struct follow_ops ops = {
        .is_whole = is_whole, .write = write_change, .may_pass = may_have_passed, .id = key_of};
    struct halt_set *set = halt_gate_set(gateway_halt_gate(gateway, protocol));
    struct watching *watching = calloc(1, sizeof *watching);
    if (watching == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    watching->query = *query;
    if (query->name != NULL) {
        halt_digest_conversation(query->kind, parley_bytes_of(query->name), watching->conversation);
    }
    const struct follow_options options = {
        .ops = &ops,
        .list = set,
        .log = halt_set_changes(set),
        .protocol = protocol,
        .name = "halts",
        .agent = principal_agent(guard_principal(request), gateway->configuration->bind_sender),
        .filter = {.filter = watching, .release = free, .context = watching},
        .absent = PROBLEM_BUS_UNAVAILABLE,
        .absence = ABSENCE};
    follows_serve(follows, gateway->limits, request, &query->follow, &options);
}

/* ---- requests ---- */

void halt_list_serve(struct gateway *gateway, struct follows *follows, struct http_request *request,
                     const struct parley_protocol *protocol) {
    struct halt_gate *gate = gateway_halt_gate(gateway, protocol);
    struct halts_query query;
    if (gate == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "Nothing halts in %s.", protocol->name);
        return;
    }
    if (!halts_query_read(request, protocol, false, &query)) {
        return;
    }
    if (query.follow.is_followed) {
        follow(gateway, follows, request, protocol, &query);
    } else {
        answer_once(request, &query, halt_gate_set(gate));
    }
}
