/* SPDX-License-Identifier: Apache-2.0 */

#include "metric.h"

const struct metric_row metric_rows[METRIC_COUNT] = {
    [METRIC_BUILD_INFO] = {"parley_build_info", METRIC_GAUGE, .labels = {"version"},
                           .help = "1, with the version of this parley."},
    [METRIC_HTTP_REQUESTS] = {"parley_http_requests", METRIC_COUNTER, .labels = {"route", "status"},
                              .help = "Requests that are over, by route and status of the answer "
                                      "(none: the client left before it had one)."},
    [METRIC_HTTP_REQUEST_DURATION] = {"parley_http_request_duration_seconds", METRIC_HISTOGRAM,
                                      "seconds", .labels = {"route"},
                                      .help = "From a request's head to the end of its answer; "
                                              "without streams."},
    [METRIC_HTTP_RECEIVED_BYTES] = {"parley_http_received_bytes", METRIC_COUNTER, "bytes",
                                    .help = "Bytes of request bodies, as they were sent."},
    [METRIC_HTTP_SENT_BYTES] = {"parley_http_sent_bytes", METRIC_COUNTER, "bytes",
                                .help = "Bytes of answers' bodies, compressed where they are."},
    [METRIC_HTTP_ACTIVE_REQUESTS] = {"parley_http_active_requests", METRIC_GAUGE,
                                     .help = "Requests that are being served, open streams among "
                                             "them."},
    [METRIC_HTTP_CONNECTIONS] = {"parley_http_connections", METRIC_GAUGE,
                                 .help = "Open connections."},
    [METRIC_HTTP_CONNECTIONS_LIMIT] = {"parley_http_connections_limit", METRIC_GAUGE,
                                       .help = "How many may be open: --connections."},
    [METRIC_HTTP_REFUSED_CONNECTIONS] = {"parley_http_refused_connections", METRIC_COUNTER,
                                         .help = "Connections of addresses that had as many as "
                                                 "they may have: --connections-per-address."},
    [METRIC_TLS_HANDSHAKES] = {"parley_tls_handshakes", METRIC_COUNTER, .labels = {"outcome"},
                               .help = "TLS handshakes that were done, and connections that ended "
                                       "before theirs was (failed)."},
    [METRIC_PROBLEMS] = {"parley_problems", METRIC_COUNTER, .labels = {"problem"},
                         .help = "Requests that were answered with a problem, by its name "
                                 "(/problems)."},
    [METRIC_MESSAGES] = {"parley_messages", METRIC_COUNTER,
                         .labels = {"protocol", "type", "outcome"},
                         .help = "Messages sent to /messages that were received whole, by what "
                                 "became of them."},
    [METRIC_VALIDATED_MESSAGES] = {"parley_validated_messages", METRIC_COUNTER,
                                   .labels = {"protocol", "outcome"},
                                   .help = "Messages sent to /validate and /convert."},
    [METRIC_VIOLATIONS] = {"parley_violations", METRIC_COUNTER, .labels = {"protocol", "rule"},
                           .help = "Violations, warnings among them, in messages sent to "
                                   "/messages."},
    [METRIC_CHECK_DURATION] = {"parley_check_duration_seconds", METRIC_HISTOGRAM, "seconds",
                               .labels = {"protocol"},
                               .help = "Decoding and validating a message; of those below 256 KiB "
                                       "one in 16 is measured."},
    [METRIC_ACK_DURATION] = {"parley_ack_duration_seconds", METRIC_HISTOGRAM, "seconds",
                             .labels = {"protocol"},
                             .help =
                                 "From publishing a message to JetStream's acknowledgement that "
                                 "it is stored."},
    [METRIC_IN_FLIGHT_MESSAGES] = {"parley_in_flight_messages", METRIC_GAUGE,
                                   .help = "Messages that wait for NATS or its acknowledgement."},
    [METRIC_IN_FLIGHT_LIMIT] = {"parley_in_flight_limit_messages", METRIC_GAUGE,
                                .help = "How many may wait: --in-flight."},
    [METRIC_HELD_MESSAGES] = {"parley_held_messages", METRIC_GAUGE,
                              .help = "Those of them that wait for NATS to come back: "
                                      "--bus-patience."},
    [METRIC_AWAITED_REPLIES] =
        {"parley_awaited_replies", METRIC_GAUGE,
         .help = "Requests that wait for the reply to their message: Prefer: wait."},
    [METRIC_GATHERED_BYTES] = {"parley_gathered_bytes", METRIC_GAUGE, "bytes",
                               .help = "Memory held by request bodies that are being received."},
    [METRIC_GATHERED_LIMIT] = {"parley_gathered_limit_bytes", METRIC_GAUGE, "bytes",
                               .help = "How much they may hold: --gather-max, and an eighth of it "
                                       "(at least 8 MiB) for the first 64 KiB of each."},
    [METRIC_SPOOLED_BYTES] = {"parley_spooled_bytes", METRIC_GAUGE, "bytes",
                              .help = "Disk space held by results that no client has read yet."},
    [METRIC_SPOOLED_LIMIT] = {"parley_spooled_limit_bytes", METRIC_GAUGE, "bytes",
                              .help = "How much they may hold: --spool-max."},
    [METRIC_COMPRESSION_BYTES] = {"parley_compression_bytes", METRIC_GAUGE, "bytes",
                                  .help = "Memory of answers that are being compressed."},
    [METRIC_REJECTED_MESSAGES] = {"parley_rejected_messages", METRIC_COUNTER, .labels = {"outcome"},
                                  .help = "Refused messages that were kept (--quarantine), and "
                                          "those that could not be (dropped)."},
    [METRIC_HALTS_OPEN] = {"parley_halts_open", METRIC_GAUGE,
                           .help = "Halts of conversations that nobody has released yet."},
    [METRIC_HALTED_MESSAGES] = {"parley_halted_messages", METRIC_COUNTER,
                                .help = "Messages that were refused because their conversation is "
                                        "halted."},
    [METRIC_HALTS_REFUSED] = {"parley_halts_refused", METRIC_COUNTER,
                              .help = "Messages that could not halt their conversation, since too "
                                      "many halts are open, or too many of their sender."},
    [METRIC_STREAM_READERS] = {"parley_stream_readers", METRIC_GAUGE, .labels = {"protocol"},
                               .help = "Open streams; one of /v1/stream counts for each protocol "
                                       "that it reads."},
    [METRIC_STREAM_READER_LAG] = {"parley_stream_reader_lag_messages", METRIC_GAUGE,
                                  .labels = {"protocol"},
                                  .help = "How many stored messages the slowest reader has not got "
                                          "to yet."},
    [METRIC_STREAM_EVENTS] = {"parley_stream_events", METRIC_COUNTER, .labels = {"protocol"},
                              .help = "Messages that were sent to readers, one for each reader."},
    [METRIC_WORKERS] = {"parley_workers", METRIC_GAUGE,
                        .help = "Threads that serve clients: --reactors."},
    [METRIC_WORKERS_READY] = {"parley_workers_ready", METRIC_GAUGE,
                              .help = "Those of them whose NATS can store messages, or is waited "
                                      "for."},
    [METRIC_TASKS_OPEN] = {"parley_tasks_open", METRIC_GAUGE,
                           .help = "Tasks on the board that an agent could be given; absent until "
                                   "tasks were asked for once, since the board is read then."},
    [METRIC_TASKS_WAITING] = {"parley_tasks_waiting", METRIC_GAUGE,
                              .help = "Requests that wait for a task."},
    [METRIC_FACTS_PENDING] = {"parley_facts_pending_messages", METRIC_GAUGE, .unit = "messages",
                              .labels = {"protocol"},
                              .help = "Stored messages that the gateways have still to read, to "
                                      "record what was published straight to NATS: requests, "
                                      "claims and ends of tasks, blocks; absent until known."},
    [METRIC_NATS_CONNECTIONS] = {"parley_nats_connections", METRIC_GAUGE,
                                 .help =
                                     "Workers that are connected to NATS; each has a connection "
                                     "of its own."},
    [METRIC_NATS_RECONNECTS] = {"parley_nats_reconnects", METRIC_COUNTER,
                                .help = "Connections to NATS after the first of each worker."},
    [METRIC_NATS_SERVER_INFO] = {"parley_nats_server_info", METRIC_GAUGE, .labels = {"version"},
                                 .help = "1, with each version of nats-server that a worker is "
                                         "connected to."},
    [METRIC_JETSTREAM_USABLE] = {"parley_jetstream_usable", METRIC_GAUGE, .labels = {"stream"},
                                 .help = "1: the stream takes messages; 0: it is missing, full, "
                                         "sealed, or NATS is away."},
    [METRIC_JETSTREAM_MESSAGES] = {"parley_jetstream_messages", METRIC_GAUGE, .labels = {"stream"},
                                   .help = "Messages that the stream holds, as last looked at "
                                           "(every few seconds)."},
    [METRIC_JETSTREAM_BYTES] = {"parley_jetstream_bytes", METRIC_GAUGE, "bytes",
                                .labels = {"stream"},
                                .help = "Bytes that the stream holds, as last looked at."},
    [METRIC_JETSTREAM_LIMIT] = {"parley_jetstream_limit_bytes", METRIC_GAUGE, "bytes",
                                .labels = {"stream"},
                                .help = "Beyond so many it refuses messages; only of streams that "
                                        "discard new ones at a max_bytes."},
    [METRIC_EMBEDDED_RESTARTS] = {"parley_embedded_nats_restarts", METRIC_COUNTER,
                                  .help = "How often the embedded nats-server was started again."},
    [METRIC_DURABILITY] = {"parley_durability_info", METRIC_GAUGE, .labels = {"durability"},
                           .help = "1, with what --durability says."},
    [METRIC_SYNC_DURATION] = {"parley_disk_sync_duration_seconds", METRIC_HISTOGRAM, "seconds",
                              .help = "Syncs of the data folder's file system, of --durability "
                                      "machine: an answer waits for one or two."},
    [METRIC_PROCESS_CPU] = {"process_cpu_seconds", METRIC_COUNTER, "seconds",
                            .help = "Processor time of the process."},
    [METRIC_PROCESS_RESIDENT_BYTES] = {"process_resident_memory_bytes", METRIC_GAUGE, "bytes",
                                       .help = "Resident memory of the process."},
    [METRIC_PROCESS_VIRTUAL_BYTES] = {"process_virtual_memory_bytes", METRIC_GAUGE, "bytes",
                                      .help = "Virtual memory of the process."},
    [METRIC_PROCESS_OPEN_FDS] = {"process_open_fds", METRIC_GAUGE,
                                 .help = "Open file descriptors."},
    [METRIC_PROCESS_MAX_FDS] = {"process_max_fds", METRIC_GAUGE, .help = "How many may be open."},
    [METRIC_PROCESS_START_TIME] = {"process_start_time_seconds", METRIC_GAUGE, "seconds",
                                   .help = "When the process started, in Unix time."},
};

const char *metric_type_name(enum metric_type type) {
    static const char *const names[] = {
        [METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_HISTOGRAM] = "histogram"};
    return names[type];
}
