/* SPDX-License-Identifier: Apache-2.0 */

#include "stream_request.h"

#include "query_problem.h"
#include "reactor.h"
#include "stream_values.h"

/* ---- options ---- */

struct parsing {
    struct http_request *request;
    struct stream_query *query;
    int64_t now_ns;
    struct query_names seen;
    bool is_refused;
};

/* Answers with 400, if the option cannot be. */
static bool accept_option(struct http_request *request, enum stream_query_result result,
                          const char *name, const char *value, const char *wants) {
    switch (result) {
    case STREAM_QUERY_SET:
    case STREAM_QUERY_IGNORED:
        return true;
    case STREAM_QUERY_UNKNOWN:
        query_problem_unknown(request, name, stream_query_names);
        return false;
    case STREAM_QUERY_INVALID:
        query_problem_value(request, name, value, wants);
        return false;
    }
    return false;
}

static bool parse_option(void *context, const char *name, const char *value) {
    struct parsing *parsing = context;
    const char *wants = "";
    if (!query_option_is_sound(parsing->request, &parsing->seen, name, value)) {
        parsing->is_refused = true;
        return false;
    }
    enum stream_query_result result =
        stream_query_set(parsing->query, name, value, parsing->now_ns, &wants);
    parsing->is_refused = !accept_option(parsing->request, result, name, value, wants);
    return !parsing->is_refused;
}

/* ---- which streams ---- */

static bool reads_hub(const struct stream_reading *reading, const struct stream_hub *hub) {
    return (reading->bits & hub->readings) != 0 && stream_hub_is_used(hub);
}

size_t stream_reading_count(const struct stream_reading *reading) {
    size_t count = 0;
    for (size_t i = 0; i < reading->hub_count; i++) {
        count += reads_hub(reading, &reading->hubs[i]) ? 1 : 0;
    }
    return count;
}

struct stream_reading stream_reading_of_one(const struct stream_hub *hubs, size_t hub_count,
                                            const struct parley_protocol *protocol) {
    const struct stream_hub *hub = hubs;
    while (stream_hub_channel(hub)->protocol != protocol) {
        hub++;
    }
    return (struct stream_reading){.hubs = hubs,
                                   .hub_count = hub_count,
                                   .bits = hub->readings,
                                   .only = stream_hub_channel(hub)};
}

struct stream_reading stream_reading_of_protocols(const struct stream_hub *hubs, size_t hub_count,
                                                  uint64_t readable) {
    const uint64_t protocols = (UINT64_C(1) << parley_protocol_count()) - 1;
    return (struct stream_reading){
        .hubs = hubs, .hub_count = hub_count, .bits = readable & protocols};
}

void stream_name_left_out(uint64_t readable, struct http_request *request) {
    struct parley_buffer names;
    parley_buffer_init(&names);
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        if ((readable >> i & 1) == 0) {
            parley_buffer_text(&names, names.length > 0 ? ", " : "");
            parley_buffer_text(&names, parley_protocols[i]->name);
        }
    }
    parley_buffer_char(&names, '\0');
    if (!names.has_failed && names.length > 1) {
        http_header(request, "Parley-Left-Out", names.data);
    }
    parley_buffer_finish(&names);
}

/* ---- the query ---- */

/* Messages of a work queue can be read from now on only. (A token says so of its stream by having
 * no part for it.) */
static bool has_past(struct http_request *request, const struct stream_query *query,
                     const struct stream_reading *reading) {
    for (size_t i = 0; query->since != STREAM_SINCE_NOW && i < reading->hub_count; i++) {
        const struct stream_hub *hub = &reading->hubs[i];
        if (reads_hub(reading, hub) && stream_hub_is_core(hub)) {
            problem_respond_format(
                request, PROBLEM_INVALID_PARAMETER,
                "The query option `since` must be `now` (or absent, or a resume token) here: the "
                "stream %s has retention %s, so parley reads only what is published from now on.",
                hub->channel.stream, jetstream_retention_name(hub->place->retention));
            return false;
        }
    }
    return true;
}

/* A sequence counts in one stream only, and a token must speak of a stream that is read. */
static bool fits_streams(struct http_request *request, const struct stream_query *query,
                         const struct stream_reading *reading) {
    const struct channel *only = reading->only;
    if (query->since == STREAM_SINCE_SEQUENCE && stream_reading_count(reading) > 1) {
        problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                               "The query option `since` cannot be a sequence number where several "
                               "%s are read, since each has its own sequence: use a resume token, "
                               "a time or a duration.",
                               only == NULL ? "protocols" : "streams");
        return false;
    }
    if (query->since != STREAM_SINCE_TOKEN) {
        return has_past(request, query, reading);
    }
    if (stream_reading_count(reading) == 0) {
        return true; /* NATS is away, which is the answer */
    }
    struct stream_token token;
    for (size_t i = 0; i < reading->hub_count; i++) {
        const struct stream_hub *hub = &reading->hubs[i];
        if (reads_hub(reading, hub) &&
            stream_token_find(query->token, channel_token(stream_hub_channel(hub)), &token)) {
            return true;
        }
    }
    problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                           "The resume token `%.128s` does not belong to the stream read here%s%s: "
                           "use one that came from this address.",
                           query->token, only != NULL ? ", " : "",
                           only != NULL ? only->stream : "");
    return false;
}

/* A type, lane, priority or sender that nothing which is read knows. */
static bool knows_values(struct http_request *request, const struct stream_query *query,
                         const struct stream_reading *reading) {
    const struct parley_protocol *protocols[64 + 1];
    struct parley_buffer detail;
    size_t count = 0;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        if ((reading->bits >> i & 1) != 0) {
            protocols[count++] = parley_protocols[i];
        }
    }
    protocols[count] = NULL;
    parley_buffer_init(&detail);
    const bool is_known = stream_values_check(query, protocols, &detail);
    parley_buffer_char(&detail, '\0');
    if (!is_known) {
        problem_respond(request, PROBLEM_INVALID_PARAMETER,
                        detail.has_failed ? "Unknown type or lane." : detail.data);
    }
    parley_buffer_finish(&detail);
    return is_known;
}

/* Filters are about the content of valid messages. */
static bool takes_filters(struct http_request *request, const struct stream_query *query,
                          const struct stream_reading *reading) {
    if (query->filter_set == 0 || reading->only == NULL || reading->only->protocol != NULL) {
        return true;
    }
    problem_respond(request, PROBLEM_INVALID_PARAMETER,
                    "What was refused cannot be filtered: this address takes since, follow, limit "
                    "and envelope. The subject of an event names its protocol.");
    return false;
}

/* The address of a stream that has reviews; empty if there is none. */
static void name_reviewing(struct parley_buffer *out) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        if (parley_protocols[i]->reviews != NULL) {
            parley_buffer_format(out, ", or read /v1/%s/stream", parley_protocols[i]->name);
            return;
        }
    }
}

/* `lane`: in which approvals are announced, and which is not read; NULL: nothing is reviewed. */
static void refuse_reviewed(struct http_request *request, const char *lane) {
    struct parley_buffer detail;
    parley_buffer_init(&detail);
    if (lane != NULL) {
        parley_buffer_format(&detail,
                             "With `reviewed=true` the lanes must include `%s`, in which approvals "
                             "are announced: add it to `lane`, or leave `lane` out.",
                             lane);
    } else {
        parley_buffer_text(&detail, "No message that is read here waits for a review: leave "
                                    "`reviewed` out");
        name_reviewing(&detail);
        parley_buffer_char(&detail, '.');
    }
    parley_buffer_char(&detail, '\0');
    problem_respond(request, PROBLEM_INVALID_PARAMETER,
                    detail.has_failed ? "`reviewed` cannot be true here." : detail.data);
    parley_buffer_finish(&detail);
}

/* What people approve is announced in a lane, which must be among those that are read. */
static bool fits_reviews(struct http_request *request, const struct stream_query *query,
                         const struct stream_reading *reading) {
    const char *lanes = query->filters[STREAM_FILTER_LANE], *lacking = NULL;
    if (!query->is_reviewed) {
        return true;
    }
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_reviews_kind *reviews = parley_protocols[i]->reviews;
        if ((reading->bits >> i & 1) == 0 || reviews == NULL) {
            continue;
        }
        if (lanes == NULL || stream_list_has(lanes, parley_bytes_of(reviews->lane))) {
            return true;
        }
        lacking = reviews->lane;
    }
    refuse_reviewed(request, lacking);
    return false;
}

bool stream_request_parse(struct http_request *request, const struct stream_reading *reading,
                          struct stream_query *query) {
    struct parsing parsing = {
        .request = request, .query = query, .now_ns = reactor_wall_clock_ns()};
    stream_query_init(query);
    http_request_each_query(request, parse_option, &parsing);
    if (parsing.is_refused) {
        return false;
    }
    const char *last = http_request_header(request, "Last-Event-ID");
    if (last != NULL) {
        const char *wants = "";
        const enum stream_query_result result = stream_query_set_last_event(query, last, &wants);
        if (result == STREAM_QUERY_INVALID) {
            problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                                   "The header `Last-Event-ID` cannot be `%.128s`: it takes %s.",
                                   last, wants);
            return false;
        }
    }
    return takes_filters(request, query, reading) && knows_values(request, query, reading) &&
           fits_reviews(request, query, reading) && fits_streams(request, query, reading);
}
