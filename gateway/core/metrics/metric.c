/* SPDX-License-Identifier: Apache-2.0 */

#include "metric.h"

const struct metric_row metric_rows[METRIC_COUNT] = {
    [METRIC_BUILD_INFO] = {"parley_build_info", METRIC_GAUGE, .labels = {"version"},
                           .help = "Always 1, labeled with the version of parley."},
    [METRIC_HTTP_REQUESTS] = {"parley_http_requests", METRIC_COUNTER, .labels = {"route", "status"},
                              .help = "Completed requests, by route and status (none: the client "
                                      "disconnected before an answer)."},
    [METRIC_HTTP_REQUEST_DURATION] =
        {"parley_http_request_duration_seconds", METRIC_HISTOGRAM, "seconds", .labels = {"route"},
         .help = "Time from the head of a request to the end of its answer, without streams."},
    [METRIC_HTTP_RECEIVED_BYTES] =
        {"parley_http_received_bytes", METRIC_COUNTER, "bytes",
         .help = "Bytes of request bodies as received, before decompression."},
    [METRIC_HTTP_SENT_BYTES] = {"parley_http_sent_bytes", METRIC_COUNTER, "bytes",
                                .help = "Bytes of response bodies as sent, after compression."},
    [METRIC_HTTP_ACTIVE_REQUESTS] = {"parley_http_active_requests", METRIC_GAUGE,
                                     .help = "Requests in progress, including open streams."},
    [METRIC_HTTP_CONNECTIONS] = {"parley_http_connections", METRIC_GAUGE,
                                 .help = "Open connections."},
    [METRIC_HTTP_CONNECTIONS_LIMIT] = {"parley_http_connections_limit", METRIC_GAUGE,
                                       .help =
                                           "Maximum number of open connections (--connections)."},
    [METRIC_HTTP_REFUSED_CONNECTIONS] = {"parley_http_refused_connections", METRIC_COUNTER,
                                         .help =
                                             "Connections refused by --connections-per-address."},
    [METRIC_TLS_HANDSHAKES] = {"parley_tls_handshakes", METRIC_COUNTER, .labels = {"outcome"},
                               .help = "TLS handshakes, by outcome."},
    [METRIC_PROBLEMS] = {"parley_problems", METRIC_COUNTER, .labels = {"problem"},
                         .help = "Requests answered with a problem, by its name (/problems)."},
    [METRIC_MESSAGES] = {"parley_messages", METRIC_COUNTER,
                         .labels = {"protocol", "type", "outcome"},
                         .help = "Messages received completely on /messages, by outcome."},
    [METRIC_VALIDATED_MESSAGES] = {"parley_validated_messages", METRIC_COUNTER,
                                   .labels = {"protocol", "outcome"},
                                   .help =
                                       "Messages received on /validate and /convert, by outcome."},
    [METRIC_VIOLATIONS] =
        {"parley_violations", METRIC_COUNTER, .labels = {"protocol", "rule"},
         .help = "Rule violations, including warnings, in messages received on /messages."},
    [METRIC_CHECK_DURATION] = {"parley_check_duration_seconds", METRIC_HISTOGRAM, "seconds",
                               .labels = {"protocol"},
                               .help = "Time to decode and validate a message; one in 16 of those "
                                       "below 256 KiB is measured."},
    [METRIC_ACK_DURATION] = {"parley_ack_duration_seconds", METRIC_HISTOGRAM, "seconds",
                             .labels = {"protocol"},
                             .help =
                                 "Time from publishing a message to JetStream's acknowledgement."},
    [METRIC_IN_FLIGHT_MESSAGES] = {"parley_in_flight_messages", METRIC_GAUGE,
                                   .help = "Messages waiting for NATS or for its acknowledgement."},
    [METRIC_IN_FLIGHT_LIMIT] = {"parley_in_flight_limit_messages", METRIC_GAUGE,
                                .help = "Maximum number of messages in flight (--in-flight)."},
    [METRIC_HELD_MESSAGES] =
        {"parley_held_messages", METRIC_GAUGE,
         .help = "Messages in flight that wait for NATS to return (--bus-patience)."},
    [METRIC_AWAITED_REPLIES] =
        {"parley_awaited_replies", METRIC_GAUGE,
         .help = "Requests waiting for the reply to their message (Prefer: wait)."},
    [METRIC_GATHERED_BYTES] = {"parley_gathered_bytes", METRIC_GAUGE, "bytes",
                               .help = "Memory of request bodies being received."},
    [METRIC_GATHERED_LIMIT] = {"parley_gathered_limit_bytes", METRIC_GAUGE, "bytes",
                               .help = "Limit of that memory: --gather-max plus an eighth of it "
                                       "(at least 8 MiB) for the first 64 KiB of each body."},
    [METRIC_SPOOLED_BYTES] = {"parley_spooled_bytes", METRIC_GAUGE, "bytes",
                              .help = "Disk space of results that clients have not read yet."},
    [METRIC_SPOOLED_LIMIT] = {"parley_spooled_limit_bytes", METRIC_GAUGE, "bytes",
                              .help = "Limit of that disk space (--spool-max)."},
    [METRIC_COMPRESSION_BYTES] = {"parley_compression_bytes", METRIC_GAUGE, "bytes",
                                  .help = "Memory used to compress responses."},
    [METRIC_REJECTED_MESSAGES] =
        {"parley_rejected_messages", METRIC_COUNTER, .labels = {"outcome"},
         .help = "Refused messages, by whether they were kept (--quarantine) or dropped."},
    [METRIC_HALTS_OPEN] = {"parley_halts_open", METRIC_GAUGE,
                           .help = "Halts of conversations that are not released yet."},
    [METRIC_HALTED_MESSAGES] = {"parley_halted_messages", METRIC_COUNTER,
                                .help = "Messages refused because their conversation is halted."},
    [METRIC_HALTS_REFUSED] = {"parley_halts_refused", METRIC_COUNTER,
                              .help = "Messages that could not halt their conversation because too "
                                      "many halts are open, in total or by their sender."},
    [METRIC_WEBHOOK_REQUESTS] =
        {"parley_webhook_requests", METRIC_COUNTER, .labels = {"outcome"},
         .help = "Requests to webhooks, by whether the event was delivered or the request failed."},
    [METRIC_WEBHOOK_REQUESTS_ACTIVE] = {"parley_webhook_requests_active", METRIC_GAUGE,
                                        .help = "Requests to webhooks that are under way."},
    [METRIC_WEBHOOK_EVENTS_GIVEN_UP] =
        {"parley_webhook_events_given_up", METRIC_COUNTER,
         .help = "Events that a webhook has not accepted for a day, and is not sent any more."},
    [METRIC_REMINDERS] = {"parley_reminders", METRIC_COUNTER,
                          .help = "Messages by which the gateway has reminded of an "
                                  "acknowledgement that was overdue."},
    [METRIC_STREAM_READERS] =
        {"parley_stream_readers", METRIC_GAUGE, .labels = {"protocol"},
         .help = "Open streams; one on /v1/stream counts for each protocol that it reads."},
    [METRIC_STREAM_READER_LAG] = {"parley_stream_reader_lag_messages", METRIC_GAUGE,
                                  .labels = {"protocol"},
                                  .help = "Lag of the slowest reader, in stored messages."},
    [METRIC_STREAM_EVENTS] = {"parley_stream_events", METRIC_COUNTER, .labels = {"protocol"},
                              .help = "Messages sent to readers, counted once for each reader."},
    [METRIC_WORKERS] = {"parley_workers", METRIC_GAUGE, .help = "Worker threads (--reactors)."},
    [METRIC_WORKERS_READY] = {"parley_workers_ready", METRIC_GAUGE,
                              .help = "Worker threads that can store messages, or still wait for "
                                      "NATS within --bus-patience."},
    [METRIC_TASKS_OPEN] = {"parley_tasks_open", METRIC_GAUGE,
                           .help = "Open tasks that an agent could be given; absent until parley "
                                   "has read them, right after its start."},
    [METRIC_TASKS_WAITING] = {"parley_tasks_waiting", METRIC_GAUGE,
                              .help = "Requests waiting for a task."},
    [METRIC_INDEX_LAG] = {"parley_index_lag_messages", METRIC_GAUGE, .unit = "messages",
                          .help = "Stored messages that the index has not read, as of its last "
                                  "look at the streams, every two seconds; absent without "
                                  "--index on, and while the index cannot be used."},
    [METRIC_INDEX_BYTES] = {"parley_index_bytes", METRIC_GAUGE, "bytes",
                            .help = "Size of the index; absent as above."},
    [METRIC_FACTS_PENDING] =
        {"parley_facts_pending_messages", METRIC_GAUGE, .unit = "messages", .labels = {"protocol"},
         .help =
             "Stored messages that gateways have not read yet, to record what was published "
             "straight to NATS (requests, claims and ends of tasks, blocks); absent until known."},
    [METRIC_NATS_CONNECTIONS] = {"parley_nats_connections", METRIC_GAUGE,
                                 .help = "Workers connected to NATS; each has one connection."},
    [METRIC_NATS_RECONNECTS] = {"parley_nats_reconnects", METRIC_COUNTER,
                                .help = "Reconnections to NATS."},
    [METRIC_NATS_SERVER_INFO] =
        {"parley_nats_server_info", METRIC_GAUGE, .labels = {"version"},
         .help =
             "Always 1, labeled with each version of nats-server that a worker is connected to."},
    [METRIC_JETSTREAM_USABLE] = {"parley_jetstream_usable", METRIC_GAUGE, .labels = {"stream"},
                                 .help = "1 if the stream accepts messages; 0 if it is missing, "
                                         "full or sealed, or NATS is away."},
    [METRIC_JETSTREAM_MESSAGES] = {"parley_jetstream_messages", METRIC_GAUGE, .labels = {"stream"},
                                   .help = "Messages in the stream, updated every few seconds."},
    [METRIC_JETSTREAM_BYTES] = {"parley_jetstream_bytes", METRIC_GAUGE, "bytes",
                                .labels = {"stream"},
                                .help = "Bytes in the stream, updated every few seconds."},
    [METRIC_JETSTREAM_LIMIT] = {"parley_jetstream_limit_bytes", METRIC_GAUGE, "bytes",
                                .labels = {"stream"},
                                .help =
                                    "Byte limit of the stream, of streams with discard=new only."},
    [METRIC_EMBEDDED_RESTARTS] = {"parley_embedded_nats_restarts", METRIC_COUNTER,
                                  .help = "Restarts of the embedded nats-server."},
    [METRIC_DURABILITY] = {"parley_durability_info", METRIC_GAUGE, .labels = {"durability"},
                           .help = "Always 1, labeled with --durability."},
    [METRIC_SYNC_DURATION] = {"parley_disk_sync_duration_seconds", METRIC_HISTOGRAM, "seconds",
                              .help = "Time to sync the data folder's file system (--durability "
                                      "machine); an answer waits for one or two syncs."},
    [METRIC_PROCESS_CPU] = {"process_cpu_seconds", METRIC_COUNTER, "seconds",
                            .help = "CPU time of the process."},
    [METRIC_PROCESS_RESIDENT_BYTES] = {"process_resident_memory_bytes", METRIC_GAUGE, "bytes",
                                       .help = "Resident memory of the process."},
    [METRIC_PROCESS_VIRTUAL_BYTES] = {"process_virtual_memory_bytes", METRIC_GAUGE, "bytes",
                                      .help = "Virtual memory of the process."},
    [METRIC_PROCESS_OPEN_FDS] = {"process_open_fds", METRIC_GAUGE,
                                 .help = "Open file descriptors."},
    [METRIC_PROCESS_MAX_FDS] = {"process_max_fds", METRIC_GAUGE,
                                .help = "Maximum number of open file descriptors."},
    [METRIC_PROCESS_START_TIME] = {"process_start_time_seconds", METRIC_GAUGE, "seconds",
                                   .help = "Start time of the process, in Unix time."},
};

const char *metric_type_name(enum metric_type type) {
    static const char *const names[] = {
        [METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_HISTOGRAM] = "histogram"};
    return names[type];
}
