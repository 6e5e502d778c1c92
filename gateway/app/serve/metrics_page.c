/* SPDX-License-Identifier: Apache-2.0 */

/* Writes every metric of the table, in its order: those of figures by themselves, the others by a
 * function of this file. Values of labels are of the server's own tables; all values of one are
 * written, zeros too, except for pairs of route and status, most of which never occur. */

#include "metrics_page.h"

#include <stdio.h>

#include "configuration_load.h"
#include "exposition.h"
#include "negotiate.h"
#include "problem.h"
#include "routes.h"
#include "server_version.h"

_Static_assert(PROBLEMS_MAX * sizeof(struct counter) <= sizeof((struct figures *)0)->problems,
               "there is a figure for each");

#define OFFSET_OF(member) offsetof(struct figures, member)

/* ---- requests ---- */

/* "other" are those that no route serves. */
static const char *route_name(size_t index) {
    struct contract_route route;
    return index == FIGURES_ROUTES_MAX - 1 ? "other"
           : gateway_route(index, &route)  ? route.path
                                           : NULL;
}

static const char *status_name(size_t index, char text[static 12]) {
    if (index == 0 || index == FIGURES_STATUSES - 1) {
        return index == 0 ? "none" : "other";
    }
    snprintf(text, 12, "%u", figures_statuses[index]);
    return text;
}

static void write_requests(const struct exposition *exposition, const struct figures_set *set) {
    for (size_t i = 0; i < FIGURES_ROUTES_MAX; i++) {
        for (size_t j = 0; j < FIGURES_STATUSES; j++) {
            const uint64_t count = figures_sum(set, OFFSET_OF(routes[i].requests[j]));
            char text[12];
            if (count > 0) {
                exposition_sample(exposition,
                                  (const char *const[]){route_name(i), status_name(j, text)}, count,
                                  1);
            }
        }
    }
}

static bool has_requests(const struct figures_set *set, size_t route) {
    for (size_t j = 0; j < FIGURES_STATUSES; j++) {
        if (figures_sum(set, OFFSET_OF(routes[route].requests[j])) > 0) {
            return true;
        }
    }
    return false;
}

static void write_request_durations(const struct exposition *exposition,
                                    const struct figures_set *set) {
    for (size_t i = 0; i < FIGURES_ROUTES_MAX; i++) {
        if (has_requests(set, i)) {
            exposition_histogram(exposition, (const char *const[]){route_name(i)}, set,
                                 OFFSET_OF(routes[i].duration));
        }
    }
}

static void write_problems(const struct exposition *exposition, const struct figures_set *set) {
    const unsigned count = problem_count();
    for (unsigned i = 0; i < count; i++) {
        exposition_sample(exposition, (const char *const[]){problem_name((enum problem)i)},
                          figures_sum(set, OFFSET_OF(problems[i])), 1);
    }
}

/* ---- messages ---- */

static size_t protocol_offset(size_t protocol, size_t member) {
    return sizeof(struct figures) + protocol * sizeof(struct protocol_figures) + member;
}

#define OF_PROTOCOL(protocol, member)                                                              \
    protocol_offset((protocol), offsetof(struct protocol_figures, member))

/* "other": a type that is not in the protocol's table, or was not read. */
static const char *type_name(const struct parley_protocol *protocol, size_t index) {
    if (index == FIGURES_TYPES - 1) {
        return "other";
    }
    for (size_t i = 0; i < index; i++) {
        if (protocol->types[i] == NULL) {
            return NULL;
        }
    }
    return protocol->types[index];
}

static void write_messages(const struct exposition *exposition, const struct figures_set *set) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        for (size_t j = 0; j < FIGURES_TYPES; j++) {
            const char *type = type_name(parley_protocols[i], j);
            for (size_t k = 0; type != NULL && k < OUTCOME_COUNT; k++) {
                exposition_sample(
                    exposition,
                    (const char *const[]){parley_protocols[i]->name, type, outcome_names[k]},
                    figures_sum(set, OF_PROTOCOL(i, messages[j][k])), 1);
            }
        }
    }
}

static void write_validated(const struct exposition *exposition, const struct figures_set *set) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        for (size_t j = 0; j < VALIDITY_COUNT; j++) {
            exposition_sample(exposition,
                              (const char *const[]){parley_protocols[i]->name, validity_names[j]},
                              figures_sum(set, OF_PROTOCOL(i, validated[j])), 1);
        }
    }
}

static void write_violations(const struct exposition *exposition, const struct figures_set *set) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        for (size_t j = 0; j < protocol->rule_count + PARLEY_GW_COUNT; j++) {
            const struct parley_rule *rule = j < protocol->rule_count
                                                 ? &protocol->rules[j]
                                                 : &parley_gateway_rules[j - protocol->rule_count];
            exposition_sample(exposition, (const char *const[]){protocol->name, rule->id},
                              figures_sum(set, OF_PROTOCOL(i, violations[j])), 1);
        }
    }
}

static void write_histograms(const struct exposition *exposition, const struct figures_set *set,
                             size_t member) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        exposition_histogram(exposition, (const char *const[]){parley_protocols[i]->name}, set,
                             protocol_offset(i, member));
    }
}

static void write_checks(const struct exposition *exposition, const struct figures_set *set) {
    write_histograms(exposition, set, offsetof(struct protocol_figures, check));
}

static void write_acks(const struct exposition *exposition, const struct figures_set *set) {
    write_histograms(exposition, set, offsetof(struct protocol_figures, ack));
}

static void write_syncs(const struct exposition *exposition, const struct figures_set *set) {
    exposition_histogram(exposition, NULL, set, offsetof(struct figures, sync));
}

static void write_build(const struct exposition *exposition, const struct figures_set *set) {
    (void)set;
    exposition_sample(exposition, (const char *const[]){PARLEY_VERSION}, 1, 1);
}

static uint64_t version_of(const struct figures_set *set, size_t block) {
    return counter_read(&set->blocks[block]->nats_version);
}

static bool has_version(const struct figures_set *set, size_t block_count, uint64_t version) {
    size_t i = 0;
    while (i < block_count && version_of(set, i) != version) {
        i++;
    }
    return i < block_count;
}

static void write_nats_server(const struct exposition *exposition, const struct figures_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        const uint64_t version = version_of(set, i);
        char text[SERVER_VERSION_MAX];
        if (version > 0 && !has_version(set, i, version)) {
            server_version_text((uint32_t)version, text);
            exposition_sample(exposition, (const char *const[]){text}, 1, 1);
        }
    }
}

/* One that is kept by counter_set_known, and left out while it is not known. */
static void write_known(const struct exposition *exposition, const char *const labels[],
                        uint64_t kept) {
    if (kept > 0) {
        exposition_sample(exposition, labels, kept - 1, 1);
    }
}

static void write_open_tasks(const struct exposition *exposition, const struct figures_set *set) {
    write_known(exposition, NULL, figures_value(set, FIGURE_TASKS_OPEN));
}

static void write_index_lag(const struct exposition *exposition, const struct figures_set *set) {
    write_known(exposition, NULL, figures_value(set, FIGURE_INDEX_LAG));
}

static void write_index_bytes(const struct exposition *exposition, const struct figures_set *set) {
    write_known(exposition, NULL, figures_value(set, FIGURE_INDEX_BYTES));
}

/* ---- streams ---- */

/* For the streams that are read: a protocol, or refused messages. */
static const char *reading_name(size_t index) {
    const size_t count = parley_protocol_count();
    return index < count ? parley_protocols[index]->name : index == count ? "rejected" : NULL;
}

static void write_readings(const struct exposition *exposition, const struct figures_set *set,
                           size_t member, bool is_maximum) {
    const char *name;
    for (size_t i = 0; (name = reading_name(i)) != NULL; i++) {
        const size_t offset = OFFSET_OF(streams[0]) + i * sizeof(struct stream_figures) + member;
        exposition_sample(exposition, &name,
                          is_maximum ? figures_maximum(set, offset) : figures_sum(set, offset), 1);
    }
}

static void write_readers(const struct exposition *exposition, const struct figures_set *set) {
    write_readings(exposition, set, offsetof(struct stream_figures, readers), false);
}

static void write_lags(const struct exposition *exposition, const struct figures_set *set) {
    write_readings(exposition, set, offsetof(struct stream_figures, lag), true);
}

static void write_events(const struct exposition *exposition, const struct figures_set *set) {
    write_readings(exposition, set, offsetof(struct stream_figures, events), false);
}

/* One worker of the process reads them. */
static void write_pending_facts(const struct exposition *exposition,
                                const struct figures_set *set) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        write_known(exposition, &parley_protocols[i]->name,
                    figures_sum(set, OFFSET_OF(streams[0]) + i * sizeof(struct stream_figures) +
                                         offsetof(struct stream_figures, facts_pending)));
    }
}

/* Every worker looks at all streams of NATS: the figures are the first one's. */
static void write_stores(const struct exposition *exposition, const struct figures_set *set,
                         size_t member, bool with_zero) {
    const struct figures_set first = {.blocks = set->blocks, .count = 1};
    for (size_t i = 0; i < exposition->store_count; i++) {
        const uint64_t value =
            figures_sum(&first, OFFSET_OF(stores[0]) + i * sizeof(struct store_figures) + member);
        if (exposition->stores[i] != NULL && (value > 0 || with_zero)) {
            exposition_sample(exposition, &exposition->stores[i], value, 1);
        }
    }
}

static void write_usable(const struct exposition *exposition, const struct figures_set *set) {
    write_stores(exposition, set, offsetof(struct store_figures, is_usable), true);
}

static void write_store_messages(const struct exposition *exposition,
                                 const struct figures_set *set) {
    write_stores(exposition, set, offsetof(struct store_figures, messages), true);
}

static void write_store_bytes(const struct exposition *exposition, const struct figures_set *set) {
    write_stores(exposition, set, offsetof(struct store_figures, bytes), true);
}

static void write_store_limits(const struct exposition *exposition, const struct figures_set *set) {
    write_stores(exposition, set, offsetof(struct store_figures, bytes_max), false);
}

/* ---- all of them ---- */

static size_t store_names(const struct services *services, const char *out[FIGURES_STREAMS_MAX]) {
    struct jetstream_stream_state state;
    size_t count = 0;
    while (count < FIGURES_STREAMS_MAX &&
           jetstream_stream_state(services->gateway.jetstream, count, &state)) {
        out[count++] = state.name;
    }
    return count;
}

typedef void write_fn(const struct exposition *exposition, const struct figures_set *set);

/* Those that are not figures. */
static write_fn *const writers[METRIC_COUNT] = {
    [METRIC_BUILD_INFO] = write_build,
    [METRIC_HTTP_REQUESTS] = write_requests,
    [METRIC_HTTP_REQUEST_DURATION] = write_request_durations,
    [METRIC_PROBLEMS] = write_problems,
    [METRIC_MESSAGES] = write_messages,
    [METRIC_VALIDATED_MESSAGES] = write_validated,
    [METRIC_VIOLATIONS] = write_violations,
    [METRIC_CHECK_DURATION] = write_checks,
    [METRIC_ACK_DURATION] = write_acks,
    [METRIC_STREAM_READERS] = write_readers,
    [METRIC_STREAM_READER_LAG] = write_lags,
    [METRIC_STREAM_EVENTS] = write_events,
    [METRIC_TASKS_OPEN] = write_open_tasks,
    [METRIC_INDEX_LAG] = write_index_lag,
    [METRIC_INDEX_BYTES] = write_index_bytes,
    [METRIC_FACTS_PENDING] = write_pending_facts,
    [METRIC_NATS_SERVER_INFO] = write_nats_server,
    [METRIC_JETSTREAM_USABLE] = write_usable,
    [METRIC_JETSTREAM_MESSAGES] = write_store_messages,
    [METRIC_JETSTREAM_BYTES] = write_store_bytes,
    [METRIC_JETSTREAM_LIMIT] = write_store_limits,
    [METRIC_SYNC_DURATION] = write_syncs,
};

/* From the configuration: no thread counts it. */
static void write_durability(struct exposition *exposition,
                             const struct configuration *configuration) {
    exposition_begin(exposition, METRIC_DURABILITY);
    exposition_sample(exposition,
                      (const char *const[]){durability_names[configuration->durability]}, 1, 1);
}

static void write_all(enum exposition_format format, const struct services *services,
                      struct parley_buffer *out) {
    const struct figures_set *set = services->all_figures;
    const char *stores[FIGURES_STREAMS_MAX];
    struct exposition exposition;
    exposition_init(&exposition, format, out);
    exposition.stores = stores;
    exposition.store_count = store_names(services, stores);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (i == METRIC_DURABILITY) {
            write_durability(&exposition, services->gateway.configuration);
        } else if (writers[i] != NULL) {
            exposition_begin(&exposition, (enum metric)i);
            writers[i](&exposition, set);
        } else {
            exposition_figures(&exposition, (enum metric)i, set);
        }
    }
    exposition_end(&exposition);
}

static enum exposition_format format_for(const struct http_request *request) {
    static const char *const offers[] = {"text/plain", "application/openmetrics-text", NULL};
    return negotiate(http_request_header(request, "Accept"), offers) == 1 ? EXPOSITION_OPENMETRICS
                                                                          : EXPOSITION_PROMETHEUS;
}

void metrics_page_serve(struct services *services, struct http_request *request) {
    const enum exposition_format format = format_for(request);
    struct parley_buffer text;
    parley_buffer_init(&text);
    write_all(format, services, &text);
    if (parley_buffer_status(&text) == PARLEY_OK) {
        http_compress(request);
        http_respond(request, 200, exposition_media_type(format), parley_buffer_bytes(&text));
    } else {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
    }
    parley_buffer_finish(&text);
}
