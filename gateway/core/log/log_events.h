/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Every event of the log. docs/logs.md is written from this table, and a test compares them. */

/* Identifier, name, level, message, fields, and the operator's remedy. A field may be absent. The
 * message is used where the event brings none of its own. */
#define LOG_EVENT_LIST(X)                                                                          \
    X(LOG_VERSIONS, "start.versions", INFO, "versions of parley and its libraries",                \
      "parley libmicrohttpd nats_c jansson libsodium openssl", "Nothing.")                         \
    X(LOG_LIMITS, "start.limits", INFO, "limits in effect",                                        \
      "connections in_flight gather_bytes spool_bytes rate_messages rate_bytes bus_patience_ms "   \
      "ack_timeout_ms dedupe_window_ms",                                                           \
      "Nothing. docs/api.md#limits explains them.")                                                \
    X(LOG_LISTENING, "start.listening", INFO, "serving requests",                                  \
      "url data nats durability workers tls access quarantine bind_sender access_log trace",       \
      "Nothing. With `access` `open`, every client that reaches the address may send and read; "   \
      "create a token with `parley token create`.")                                                \
    X(LOG_START_FAILED, "start.failed", ERROR, "parley cannot start", "",                          \
      "Fix the reported problem and restart; the process has exited.")                             \
    X(LOG_WAITING, "start.waiting", WARN,                                                          \
      "NATS is not ready; messages are answered 503 until it is", "nats",                          \
      "Check that the --nats servers are running and reachable. No restart is needed.")            \
    X(LOG_SERVICE, "service.notify_failed", WARN, "cannot notify the service manager", "state",    \
      "Check NOTIFY_SOCKET. systemd stops a service that does not report readiness within "        \
      "TimeoutStartSec.")                                                                          \
    X(LOG_FIRST_TOKEN, "token.first", INFO, "first token created", "file",                         \
      "Read the token from the file, create tokens with fewer scopes, and revoke this one.")       \
    X(LOG_TOKENS_READ, "token.read", INFO, "tokens loaded", "count file first",                    \
      "Nothing. With `first`, every request needs a token from now on.")                           \
    X(LOG_TOKENS_KEPT, "token.kept", ERROR, "cannot read the tokens", "",                          \
      "Fix the file named in the message. Until then the previously loaded tokens stay valid, "    \
      "including those that were meant to be revoked.")                                            \
    X(LOG_TOKEN_REFUSED, "token.refused", WARN, "authentication failed", "request peer repeated",  \
      "If the address is one of yours, give it a valid token. `repeated` counts earlier failures " \
      "that were not logged: there is one line per address and minute.")                           \
    X(LOG_KEYS_READ, "jwt.read", INFO, "JSON Web Token keys loaded", "file", "Nothing.")           \
    X(LOG_KEYS_KEPT, "jwt.kept", ERROR, "cannot read the JSON Web Token keys", "",                 \
      "Fix the file named in the message. Until then the previously loaded keys stay valid.")      \
    X(LOG_KEY_UNUSED, "jwt.unused", WARN, "ignoring a key of the JWK set", "file",                 \
      "Nothing if the key is meant for another service; otherwise fix what the message names.")    \
    X(LOG_TLS_READ, "tls.read", INFO, "certificate reloaded", "", "Nothing.")                      \
    X(LOG_TLS_KEPT, "tls.kept", ERROR, "cannot read the certificate", "",                          \
      "Fix the file named in the message, then send SIGHUP. Until then new connections get the "   \
      "previous certificate.")                                                                     \
    X(LOG_CONFIGURATION_READ, "config.read", INFO, "configuration reloaded", "changed",            \
      "Nothing. `changed` lists the options that changed, with their old and new values.")         \
    X(LOG_CONFIGURATION_WAITS, "config.restart", WARN,                                             \
      "some changes take effect only after a restart", "options",                                  \
      "Restart parley at a convenient time; until then the named options keep their old values.")  \
    X(LOG_CONFIGURATION_KEPT, "config.kept", ERROR,                                                \
      "invalid configuration; the previous configuration stays in effect", "",                     \
      "Fix what the message names (`parley serve --check-config` reports the same), then send "    \
      "SIGHUP.")                                                                                   \
    X(LOG_MESSAGE_REFUSED, "message.refused", WARN,                                                \
      "message refused by a rule that is always logged",                                           \
      "protocol rule breaks sender id request line token",                                         \
      "Correct the sender. With RT-003, it uses another major version of the protocol.")           \
    X(LOG_WEBHOOKS_READ, "webhook.read", INFO, "webhooks loaded", "count file", "Nothing.")        \
    X(LOG_WEBHOOK_FAILS, "webhook.failing", WARN,                                                  \
      "event not delivered to a webhook; it is sent again later",                                  \
      "webhook event_type id tries why",                                                           \
      "Find out why the receiver did not accept it (`parley webhooks test NAME` sends one "        \
      "request). Further failures of this webhook are counted in metrics and not logged.")         \
    X(LOG_WEBHOOK_WORKS, "webhook.recovered", INFO, "webhook accepts events again",                \
      "webhook event_type id tries why", "Nothing.")                                               \
    X(LOG_WEBHOOK_GIVEN_UP, "webhook.given_up", ERROR,                                             \
      "event not delivered to a webhook for a day, and given up",                                  \
      "webhook event_type id tries why",                                                           \
      "Bring the receiver back, and read what it has missed from the stream; the event is still "  \
      "stored.")                                                                                   \
    X(LOG_INDEX_REBUILT, "index.rebuilt", WARN, "the index was set aside and is made again",       \
      "why",                                                                                       \
      "Nothing. The old file is index.sqlite.bad in the data folder; lists are incomplete until "  \
      "the streams are read again.")                                                               \
    X(LOG_INDEX_FAILED, "index.failed", ERROR, "the index cannot be used", "why",                  \
      "Check the disk of the data folder. Messages are accepted all the same; parley tries again " \
      "every two seconds.")                                                                        \
    X(LOG_HALT_LATCHED, "halt.latched", WARN, "conversation halted by a message",                  \
      "protocol kind name by principal id",                                                        \
      "Find out why. Until the halt is released (DELETE /v1/PROTOCOL/halts), messages of that "    \
      "conversation are answered 409 halted.")                                                     \
    X(LOG_HALT_REFUSED, "halt.refused", WARN, "too many halts; a conversation was not halted",     \
      "protocol kind name by principal id",                                                        \
      "The sender was answered 503, and its conversation continues. Find out why there are so "    \
      "many halts, and release some: DELETE /v1/PROTOCOL/halts?by=NAME.")                          \
    X(LOG_HALT_RELEASED, "halt.released", INFO, "conversation released",                           \
      "protocol kind name made_by count by principal reason",                                      \
      "Nothing. Without `name`, all halts by `made_by` were released, or all halts.")              \
    X(LOG_REVIEW_DECIDED, "review.decided", INFO, "message reviewed",                              \
      "protocol message decision by principal reason",                                             \
      "Nothing. `message` is its stream and sequence.")                                            \
    X(LOG_NATS_QUEUE, "nats.queue", INFO,                                                          \
      "work-queue stream: only new messages are read, through a core subscription", "stream",      \
      "Nothing. Its events have no sequence and no resume token, and `since=` cannot replay it.")  \
    X(LOG_NATS_INTEREST, "nats.interest", WARN,                                                    \
      "interest stream: without a consumer, messages are acknowledged but not stored", "stream",   \
      "Create the consumers before messages are sent, or set the retention of the stream to "      \
      "`limits`.")                                                                                 \
    X(LOG_NATS_VERSION, "server.version", INFO, "connected to nats-server", "version copies",      \
      "Nothing. One line is logged for each version that workers are connected to; `copies` is "   \
      "the highest number of replicas of a stream.")                                               \
    X(LOG_NATS_COPIES, "server.copies", WARN,                                                      \
      "nats-server before 2.10.27 can lose acknowledged messages of replicated streams, and give " \
      "a task to two agents",                                                                      \
      "version copies",                                                                            \
      "Upgrade all nats-servers of the cluster, one after another: "                               \
      "docs/operations.md#nats-server.")                                                           \
    X(LOG_NATS_DAMAGE, "stream.damaged", ERROR,                                                    \
      "nats-server cannot read part of the files of a stream, and dropped it", "stream bytes",     \
      "Stored messages may be missing, and new ones may get their sequences. Unless the machine "  \
      "has just failed while messages were being written, check the disk, and restore the stream " \
      "from a backup: docs/operations.md#survives.")                                               \
    X(LOG_NATS_TROUBLE, "nats.trouble", WARN, "NATS or a stream is not usable", "subject",         \
      "Fix the reported problem. Messages wait for --bus-patience, then are answered 503; parley " \
      "keeps retrying.")                                                                           \
    X(LOG_NATS_RESOLVED, "nats.resolved", INFO, "NATS problem resolved", "subject",                \
      "Nothing. The message names any remaining problem.")                                         \
    X(LOG_NATS_SERVER, "nats.server", ERROR, "problem with the embedded nats-server", "",          \
      "Read nats.log in the data folder. parley restarts the nats-server.")                        \
    X(LOG_NATS_REPLACED, "nats.replaced", ERROR,                                                   \
      "the embedded nats-server does not acknowledge messages; restarting it", "",                 \
      "Check whether the disk of the data folder is full, and free space.")                        \
    X(LOG_REQUEST, "request", INFO, "request completed",                                           \
      "request method route status protocol outcome rules token peer received sent duration_us "   \
      "trace_id span_id",                                                                          \
      "`outcome` is the name of a problem; see /problems/NAME on this server.")                    \
    X(LOG_INTERNAL, "request.internal", ERROR, "internal error in a request", "request",           \
      "Report it. The `instance` of the client's problem has the same id.")                        \
    X(LOG_DISK_FAILED, "disk.failed", ERROR, "cannot sync the disk of the data folder", "",        \
      "With --durability machine parley exits, since it no longer knows what is on the disk; no "  \
      "answer that promised it was sent. Check the disk before you restart it.")                   \
    X(LOG_STALLED, "worker.stalled", ERROR, "a worker is stuck", "worker silent_s",                \
      "parley aborts (SIGABRT), so that a service manager restarts it. Report it with the core "   \
      "dump. If a disk or file system blocked the worker, check that; --stall-timeout allows "     \
      "more time.")                                                                                \
    X(LOG_MEMORY, "memory.short", ERROR, "out of memory", "",                                      \
      "Give the process more memory, or lower --gather-max, --in-flight and --connections.")       \
    X(LOG_DRAINING, "drain.begin", INFO,                                                           \
      "draining: finishing requests in progress; new ones are answered 503", "reason longest_ms",  \
      "Nothing. A second SIGTERM or SIGINT stops parley at once.")                                 \
    X(LOG_STOPPED, "stop", INFO, "parley stopped", "uptime_s status left_out",                     \
      "Nothing. `left_out` counts dropped lines that no earlier line has counted.")

enum log_event {
#define X(id, name, level, message, fields, advice) id,
    LOG_EVENT_LIST(X)
#undef X
        LOG_EVENT_COUNT
};
