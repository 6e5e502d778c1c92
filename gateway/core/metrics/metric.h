/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The table of metrics: from it come the descriptions in /metrics, and the table in docs/metrics.md
 * (a test compares them). To add a metric: a name here, a row in metric.c, and the source of its
 * numbers: a figure (figures.h), or a function in server/metrics_page.c. */

enum metric {
    METRIC_BUILD_INFO,
    METRIC_HTTP_REQUESTS,
    METRIC_HTTP_REQUEST_DURATION,
    METRIC_HTTP_RECEIVED_BYTES,
    METRIC_HTTP_SENT_BYTES,
    METRIC_HTTP_ACTIVE_REQUESTS,
    METRIC_HTTP_CONNECTIONS,
    METRIC_HTTP_CONNECTIONS_LIMIT,
    METRIC_HTTP_REFUSED_CONNECTIONS,
    METRIC_TLS_HANDSHAKES,
    METRIC_PROBLEMS,
    METRIC_MESSAGES,
    METRIC_VALIDATED_MESSAGES,
    METRIC_VIOLATIONS,
    METRIC_CHECK_DURATION,
    METRIC_ACK_DURATION,
    METRIC_IN_FLIGHT_MESSAGES,
    METRIC_IN_FLIGHT_LIMIT,
    METRIC_HELD_MESSAGES,
    METRIC_AWAITED_REPLIES,
    METRIC_GATHERED_BYTES,
    METRIC_GATHERED_LIMIT,
    METRIC_SPOOLED_BYTES,
    METRIC_SPOOLED_LIMIT,
    METRIC_COMPRESSION_BYTES,
    METRIC_REJECTED_MESSAGES,
    METRIC_HALTS_OPEN,
    METRIC_HALTED_MESSAGES,
    METRIC_HALTS_REFUSED,
    METRIC_WEBHOOK_REQUESTS,
    METRIC_WEBHOOK_REQUESTS_ACTIVE,
    METRIC_WEBHOOK_EVENTS_GIVEN_UP,
    METRIC_STREAM_READERS,
    METRIC_STREAM_READER_LAG,
    METRIC_STREAM_EVENTS,
    METRIC_WORKERS,
    METRIC_WORKERS_READY,
    METRIC_TASKS_OPEN,
    METRIC_TASKS_WAITING,
    METRIC_FACTS_PENDING,
    METRIC_INDEX_LAG,
    METRIC_INDEX_BYTES,
    METRIC_NATS_CONNECTIONS,
    METRIC_NATS_RECONNECTS,
    METRIC_NATS_SERVER_INFO,
    METRIC_JETSTREAM_USABLE,
    METRIC_JETSTREAM_MESSAGES,
    METRIC_JETSTREAM_BYTES,
    METRIC_JETSTREAM_LIMIT,
    METRIC_EMBEDDED_RESTARTS,
    METRIC_DURABILITY,
    METRIC_SYNC_DURATION,
    METRIC_PROCESS_CPU,
    METRIC_PROCESS_RESIDENT_BYTES,
    METRIC_PROCESS_VIRTUAL_BYTES,
    METRIC_PROCESS_OPEN_FDS,
    METRIC_PROCESS_MAX_FDS,
    METRIC_PROCESS_START_TIME,
    METRIC_COUNT
};

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

#define METRIC_LABELS_MAX 3

struct metric_row {
    const char *name; /* of a counter without its _total */
    enum metric_type type;
    const char *unit; /* the end of the name; NULL: it counts things */
    const char *labels[METRIC_LABELS_MAX];
    const char *help; /* one sentence */
};

extern const struct metric_row metric_rows[METRIC_COUNT];

/* "counter", "gauge", "histogram". */
const char *metric_type_name(enum metric_type type);
