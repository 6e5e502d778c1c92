/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Every event of the log. docs/logs.md is written from this table, and a test compares them. */

/* Identifier, name, level, message, fields, and what to do about it. A field may be absent. The
 * message stands where the event brings none of its own. */
#define LOG_EVENT_LIST(X)                                                                          \
    X(LOG_VERSIONS, "start.versions", INFO, "the libraries that parley runs with",                 \
      "parley libmicrohttpd nats_c jansson libsodium openssl", "Nothing.")                         \
    X(LOG_LIMITS, "start.limits", INFO, "the limits",                                              \
      "connections in_flight gather_bytes spool_bytes rate_messages rate_bytes bus_patience_ms "   \
      "ack_timeout_ms dedupe_window_ms",                                                           \
      "Nothing. docs/api.md#limits explains them.")                                                \
    X(LOG_LISTENING, "start.listening", INFO, "serving requests",                                  \
      "url data nats durability workers tls access quarantine bind_sender access_log trace",       \
      "Nothing. Where `access` is `open`, all who reach the address may send and read: "           \
      "`parley token create` makes a token.")                                                      \
    X(LOG_START_FAILED, "start.failed", ERROR, "parley cannot start", "",                          \
      "Do as the message says, and start it again: it has ended.")                                 \
    X(LOG_WAITING, "start.waiting", WARN, "messages get 503 until NATS is ready", "nats",          \
      "See to it that the servers of --nats run and can be reached. Nothing has to be restarted.") \
    X(LOG_SERVICE, "service.untold", WARN, "the service manager cannot be told", "state",          \
      "Look what NOTIFY_SOCKET names. systemd ends a service that does not say that it is ready: " \
      "see TimeoutStartSec.")                                                                      \
    X(LOG_FIRST_TOKEN, "token.first", INFO, "made the first token", "file",                        \
      "Read the token in the file, make tokens with fewer scopes, and revoke it.")                 \
    X(LOG_TOKENS_READ, "token.read", INFO, "read the tokens", "count file first",                  \
      "Nothing. With `first`, every request has to show a token from now on.")                     \
    X(LOG_TOKENS_KEPT, "token.kept", ERROR, "the tokens cannot be read", "",                       \
      "Correct the file that the message names. Until then the tokens that were read before stay " \
      "valid, also those that were meant to be revoked.")                                          \
    X(LOG_TOKEN_REFUSED, "token.refused", WARN, "a sender was not let in",                         \
      "request peer repeated",                                                                     \
      "If the address is one of yours, give it a valid token. `repeated` says how often the same " \
      "happened before and was not logged: there is one line an address and minute.")              \
    X(LOG_KEYS_READ, "jwt.read", INFO, "read the keys of JSON Web Tokens", "file", "Nothing.")     \
    X(LOG_KEYS_KEPT, "jwt.kept", ERROR, "the keys of JSON Web Tokens cannot be read", "",          \
      "Correct the file that the message names. Until then the keys that were read before stay "   \
      "valid.")                                                                                    \
    X(LOG_KEY_UNUSED, "jwt.unused", WARN, "a key of the JWK set is not used", "file",              \
      "Nothing, if the key is meant for others; otherwise correct what the message names.")        \
    X(LOG_TLS_READ, "tls.read", INFO, "the certificate was read again", "", "Nothing.")            \
    X(LOG_TLS_KEPT, "tls.kept", ERROR, "the certificate cannot be read", "",                       \
      "Correct the file that the message names, then send SIGHUP. Until then new connections get " \
      "the certificate that was read before.")                                                     \
    X(LOG_CONFIGURATION_READ, "config.read", INFO, "the configuration was read again", "changed",  \
      "Nothing. `changed` has the options that have another value now, and both values.")          \
    X(LOG_CONFIGURATION_WAITS, "config.restart", WARN,                                             \
      "some options in the configuration have effect only after a restart", "options",             \
      "Restart parley when it suits; until then the named options have the values of the start.")  \
    X(LOG_CONFIGURATION_KEPT, "config.kept", ERROR,                                                \
      "the configuration cannot be used; all options have the values that they had", "",           \
      "Correct what the message names (`parley serve --check-config` says the same), then send "   \
      "SIGHUP.")                                                                                   \
    X(LOG_MESSAGE_REFUSED, "message.refused", WARN,                                                \
      "a message was refused by a rule that its protocol wants in the log",                        \
      "protocol rule breaks sender id request line token",                                         \
      "Have the sender keep to the rule: with RT-003, it speaks another major version.")           \
    X(LOG_HALT_LATCHED, "halt.latched", WARN, "a message halted its conversation",                 \
      "protocol kind name by principal id",                                                        \
      "Find out why. Until people release it (DELETE /v1/PROTOCOL/halts), what it halts gets "     \
      "409 halted.")                                                                               \
    X(LOG_HALT_REFUSED, "halt.refused", WARN, "there is no room for the halt of a message",        \
      "protocol kind name by principal id",                                                        \
      "Its sender got 503, and its conversation goes on. Find out why there are so many halts, "   \
      "and release some: DELETE /v1/PROTOCOL/halts?by=NAME.")                                      \
    X(LOG_HALT_RELEASED, "halt.released", INFO, "a conversation is no longer halted",              \
      "protocol kind name made_by count by reason",                                                \
      "Nothing. Without `name` they were all those that `made_by` had made, or all.")              \
    X(LOG_NATS_QUEUE, "nats.queue", INFO,                                                          \
      "a stream is a work queue: it is read by core subscription, from now on only", "stream",     \
      "Nothing. Events of it have no sequence and no resume token, and `since=` cannot ask for "   \
      "its past.")                                                                                 \
    X(LOG_NATS_INTEREST, "nats.interest", WARN,                                                    \
      "a stream keeps only what a consumer waits for: without one, messages are acknowledged and " \
      "not stored",                                                                                \
      "stream",                                                                                    \
      "Create the consumers before messages are sent, or give the stream the retention `limits`.") \
    X(LOG_NATS_VERSION, "server.version", INFO, "connected to nats-server", "version copies",      \
      "Nothing. There is a line for each version that a worker is connected to, one after the "    \
      "other; `copies` are those of the stream with most of them.")                                \
    X(LOG_NATS_COPIES, "server.copies", WARN,                                                      \
      "a nats-server before 2.10.27 may lose what it has acknowledged where streams have several " \
      "copies, and give a task to two agents",                                                     \
      "version copies",                                                                            \
      "Upgrade all nats-servers of the cluster, one after another: "                               \
      "docs/operations.md#nats-server.")                                                           \
    X(LOG_NATS_TROUBLE, "nats.trouble", WARN, "NATS or a stream cannot be used", "subject",        \
      "Do as the message says. Messages wait for --bus-patience, then get 503; parley tries "      \
      "again "                                                                                     \
      "by itself.")                                                                                \
    X(LOG_NATS_RESOLVED, "nats.resolved", INFO, "a problem with NATS is over", "subject",          \
      "Nothing. The message names what is still wrong, if anything is.")                           \
    X(LOG_NATS_SERVER, "nats.server", ERROR, "the embedded nats-server has a problem", "",         \
      "Read nats.log in the data folder. parley starts the nats-server again by itself.")          \
    X(LOG_NATS_REPLACED, "nats.replaced", ERROR,                                                   \
      "the embedded nats-server does not acknowledge messages; it is started again", "",           \
      "Look whether the disk of the data folder is full, and make room.")                          \
    X(LOG_REQUEST, "request", INFO, "a request is over",                                           \
      "request method route status protocol outcome rules token peer received sent duration_us "   \
      "trace_id span_id",                                                                          \
      "See `outcome`: the name of a problem, which /problems/NAME of the server explains.")        \
    X(LOG_INTERNAL, "request.internal", ERROR, "a request failed inside parley", "request",        \
      "Report it. The client has the same id in the problem's `instance`.")                        \
    X(LOG_DISK_FAILED, "disk.failed", ERROR, "the disk of the data folder cannot be synced", "",   \
      "With --durability machine parley ends itself then, since it no longer knows what is on "    \
      "the "                                                                                       \
      "disk; no answer has left that promised it. Look at the disk before it is started again.")   \
    X(LOG_STALLED, "worker.stalled", ERROR, "a worker does not come back to its loop",             \
      "worker silent_s",                                                                           \
      "parley ends itself with SIGABRT, so that a service manager starts it again. Report it, "    \
      "with "                                                                                      \
      "the core dump. Where a disk or a file system made it wait, look at that; --stall-timeout "  \
      "allows more time.")                                                                         \
    X(LOG_MEMORY, "memory.short", ERROR, "out of memory", "",                                      \
      "Give the process more memory, or lower --gather-max, --in-flight and --connections.")       \
    X(LOG_DRAINING, "drain.begin", INFO, "finishing what was begun; new requests get 503",         \
      "reason longest_ms", "Nothing. A second SIGTERM or SIGINT ends parley at once.")             \
    X(LOG_STOPPED, "stop", INFO, "parley has ended", "uptime_s status left_out",                   \
      "Nothing. `left_out` counts lines that no earlier line has counted.")

enum log_event {
#define X(id, name, level, message, fields, advice) id,
    LOG_EVENT_LIST(X)
#undef X
        LOG_EVENT_COUNT
};
