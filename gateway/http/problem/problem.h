/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The errors of docs/api.md#problems: one table gives each its name, status, title, and the page
 * that explains it at /problems/NAME. Those by which one protocol alone refuses are in its folder.
 */

#include <parley/buffer.h>
#include <parley/findings.h>
#include <parley/protocol.h>

#include "http.h"

/* Identifier, name, status, title, and advice: how the client can react. */
#define PROBLEM_LIST(X)                                                                            \
    X(PROBLEM_MALFORMED, "malformed", 400, "The body cannot be read",                              \
      "The body could not be parsed, or broke another GW rule. The violations give the "           \
      "place and a hint. Correct it there and send it again.")                                     \
    X(PROBLEM_INVALID_PARAMETER, "invalid-parameter", 400, "Invalid query parameter or header",    \
      "The detail names the query option or header, and the values that it takes. Correct or "     \
      "remove it.")                                                                                \
    X(PROBLEM_UNAUTHENTICATED, "unauthenticated", 401, "No valid token or certificate",            \
      "Send the header `Authorization: Bearer TOKEN`, with a token that the operator of the "      \
      "server has made (`parley token create`) or with a JSON Web Token, if the server takes "     \
      "those; or show a client certificate that stands for a token. The detail says what is "      \
      "wrong with what was shown.")                                                                \
    X(PROBLEM_FORBIDDEN, "forbidden", 403, "Not allowed",                                          \
      "The detail, and the header WWW-Authenticate, name the scope that is missing: use a token "  \
      "that has it. With a violation of GW-102, the message names a sender that the token may "    \
      "not "                                                                                       \
      "speak for.")                                                                                \
    X(PROBLEM_CROSS_ORIGIN, "cross-origin", 403, "A page of another site sent this request",       \
      "Nothing was done. The operator can allow the pages of that site with --cors-origin.")       \
    X(PROBLEM_NOT_FOUND, "not-found", 404, "Not found",                                            \
      "Check the path: POST /v1/PROTOCOL/messages sends, GET /v1/PROTOCOL/stream reads, "          \
      "and GET / lists the other endpoints.")                                                      \
    X(PROBLEM_NO_INDEX, "no-index", 404, "This server keeps no index",                             \
      "Lists of messages, threads and senders, and traces, are answered from an index. The "       \
      "operator switches it on with --index on; meanwhile, read the stream.")                      \
    X(PROBLEM_METHOD_NOT_ALLOWED, "method-not-allowed", 405, "Method not allowed here",            \
      "Use one of the methods that the Allow header lists.")                                       \
    X(PROBLEM_NOT_ACCEPTABLE, "not-acceptable", 406, "No media type in Accept is available",       \
      "Accept one of the media types that the detail names, or omit the Accept header.")           \
    X(PROBLEM_REQUEST_TIMEOUT, "request-timeout", 408, "The request came too slowly",              \
      "A head has to be whole within --head-timeout, and a body may not pause for the idle "       \
      "timeout or be slower than --body-rate. Send it again, at once; a body that goes on for "    \
      "long needs Transfer-Encoding: chunked and more than one message.")                          \
    X(PROBLEM_ID_REUSED, "id-reused", 409,                                                         \
      "This id or Idempotency-Key was used for another message",                                   \
      "The problem names the stream and sequence of that message. Nothing was stored, and "        \
      "sending it again does not help: use a new id or key. A repeated message must be the "       \
      "same message: with an Idempotency-Key, the same body; with an id, the same in all that "    \
      "its protocol compares (docs/api.md#retries).")                                              \
    X(PROBLEM_HALTED, "halted", 409, "The conversation is halted",                                 \
      "A message halted this conversation, or this sender's messages that name none, and people "  \
      "have not released it yet; the detail names that message. Nothing was stored, and sending "  \
      "it again does not help until then. Messages that only tell people still pass. An operator " \
      "releases it: DELETE /v1/PROTOCOL/halts, with a reason.")                                    \
    X(PROBLEM_ALREADY_REVIEWED, "already-reviewed", 409, "The message was reviewed before",        \
      "A message has one decision, the first; the problem shows it: `decision`, `by`, `reason` "   \
      "and `at`. Nothing was stored, and sending it again does not help. The same decision, sent " \
      "again by the same reviewer with the same reason, is a duplicate instead.")                  \
    X(PROBLEM_WORK_QUEUE, "work-queue", 409, "The tasks lie in a work queue",                      \
      "The stream that holds the tasks gives each to its first reader, so that this server "       \
      "does not hand them out. Read them from that stream in NATS.")                               \
    X(PROBLEM_GONE, "gone", 410, "It is not kept any more",                                        \
      "Only the last objects of an agent are kept: ask for a newer checkpoint, which the list "    \
      "of its checkpoints names.")                                                                 \
    X(PROBLEM_TOO_LARGE, "too-large", 413, "The message is too large",                             \
      "The detail names the limit. Store large data elsewhere and refer to it, or ask the "        \
      "operator to raise --message-max, --body-max, or max_payload of NATS.")                      \
    X(PROBLEM_URI_TOO_LONG, "uri-too-long", 414, "The request target is too long",                 \
      "The request line and the headers together may have 16 KiB (--head-max), and the query 64 "  \
      "options. "                                                                                  \
      "Shorten the query, or send fewer options.")                                                 \
    X(PROBLEM_UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", 415,                               \
      "This media type or encoding is not supported",                                              \
      "Set Content-Type to one that the Accept-Post header lists, and Content-Encoding to gzip "   \
      "or zstd, or omit it.")                                                                      \
    X(PROBLEM_EXPECTATION_FAILED, "expectation-failed", 417, "The expectation cannot be met",      \
      "Omit the Expect header, or set it to 100-continue.")                                        \
    X(PROBLEM_MISDIRECTED_REQUEST, "misdirected-request", 421, "The request is for another host",  \
      "The Host header names a host that this server does not answer to. Use an address that "     \
      "it listens on; the operator can add names with --host.")                                    \
    X(PROBLEM_INVALID_MESSAGE, "invalid-message", 422, "The message breaks rules of its protocol", \
      "Each violation names the rule and the place, and its hint says how to fix it. Nothing "     \
      "was forwarded. With the member `halted`, the message halts its conversation all the same, " \
      "until people release it.")                                                                  \
    X(PROBLEM_RATE_LIMITED, "rate-limited", 429, "Too many messages or bytes in this time",        \
      "Nothing was stored. Send it again after the time in Retry-After. The RateLimit header of "  \
      "every answer to a POST says how much may be sent, and a batch is slowed down instead of "   \
      "refused. Invalid messages count four times.")                                               \
    X(PROBLEM_TOO_MANY_CONNECTIONS, "too-many-connections", 429,                                   \
      "This address has too many connections",                                                     \
      "Close connections that are not used, or use one for several requests. The operator can "    \
      "allow more with --connections-per-address, for a proxy or many clients at one address.")    \
    X(PROBLEM_TOO_MANY_STREAMS, "too-many-streams", 429, "This sender has too many streams",       \
      "Close streams that are not read. The operator can allow more with --streams-per-token.")    \
    X(PROBLEM_HEAD_TOO_LARGE, "head-too-large", 431, "The head of the request is too large",       \
      "The request line and the headers together may have 16 KiB (--head-max), and a request 128 " \
      "headers. "                                                                                  \
      "Send fewer headers, or shorter cookies and tokens.")                                        \
    X(PROBLEM_INTERNAL, "internal", 500, "Internal error",                                         \
      "Report it to the operator with the request id (instance), which is also in the log of "     \
      "the server.")                                                                               \
    X(PROBLEM_BUS_UNAVAILABLE, "bus-unavailable", 503, "NATS cannot be used now",                  \
      "The detail says why. Nothing was stored. Send the request again after the time in "         \
      "Retry-After.")                                                                              \
    X(PROBLEM_OVERLOADED, "overloaded", 503, "Too many requests or messages are in progress",      \
      "Nothing was stored. Send it again after the time in Retry-After, or send fewer at a "       \
      "time.")                                                                                     \
    X(PROBLEM_INDEX_BEHIND, "index-behind", 503, "The index is behind",                            \
      "The index has not read up to the message that `after` names, or is being made. The header " \
      "Parley-Index says how far it is. Ask again after the time in Retry-After.")                 \
    X(PROBLEM_DRAINING, "draining", 503, "The server is shutting down",                            \
      "Nothing was stored. Send it again after the time in Retry-After, to another server or, "    \
      "once it has restarted, to this one.")                                                       \
    X(PROBLEM_VERSION_NOT_SUPPORTED, "version-not-supported", 505,                                 \
      "This version of HTTP is not supported", "Send the request in HTTP/1.1 or HTTP/1.0.")        \
    X(PROBLEM_BUS_TIMEOUT, "bus-timeout", 504, "JetStream did not acknowledge in time",            \
      "The message may have been stored. The detail says whether it is safe to send it "           \
      "again. Within the dedupe window (--dedupe-window, 2 minutes by default) JetStream "         \
      "stores these once: a message with an Idempotency-Key; a message with the same id, where "   \
      "its protocol compares messages by it; the same bytes of another message with an id, or "    \
      "of one whose request names the agent. For any other, send an Idempotency-Key. With "        \
      "--dedupe-window 0 JetStream recognises no repeated message.")

enum problem {
#define X(id, name, status, title, advice) id,
    PROBLEM_LIST(X)
#undef X
        PROBLEM_COUNT /* the first number of those of protocols (parley_protocol.problems) */
};

/* All problems have a place in a set of bits, and a counter in the metrics. */
#define PROBLEMS_MAX 64

/* The number of all problems: those above, and after them those of the protocols, in the order of
 * the registry. */
unsigned problem_count(void);

/* As in its address, /problems/NAME. */
const char *problem_name(enum problem problem);
unsigned problem_status(enum problem problem);

/* Finds the problem with this name, of the server or of a protocol. Returns: PROBLEM_INTERNAL if
 * there is none. */
enum problem problem_of_name(const char *name);

/* All text is static. */
const struct parley_problem *problem_about(enum problem problem);

/* Appends the RFC 9457 object. `instance`: NULL if absent.  `findings`: NULL if there are no
 * violations. */
void problem_write(struct parley_buffer *out, enum problem problem, const char *instance,
                   const char *detail, const struct parley_findings *findings);

/* As problem_write, with more members: `members` are JSON, each with a comma in front. */
void problem_write_members(struct parley_buffer *out, enum problem problem, const char *detail,
                           struct parley_bytes members);

/* Answers with it, as application/problem+json, or as the protocol's own message to a client that
 * reads another encoding than JSON (http_encode), with Retry-After if it is 503. An
 * internal error is logged. */
void problem_respond(struct http_request *request, enum problem problem, const char *detail);
void problem_respond_format(struct http_request *request, enum problem problem, const char *format,
                            ...) __attribute__((format(printf, 3, 4)));
void problem_respond_findings(struct http_request *request, enum problem problem,
                              const char *detail, const struct parley_findings *findings);
void problem_respond_members(struct http_request *request, enum problem problem, const char *detail,
                             struct parley_bytes members);
/* As problem_respond_findings, with violations that parley_findings_write wrote before the message
 * was freed. */
void problem_respond_violations(struct http_request *request, enum problem problem,
                                const char *detail, struct parley_bytes violations);

/* Answers with 200 and a JSON text that is true at this moment only, or with `internal` if it has
 * failed.  Owns: steals the text's bytes. */
void problem_or_json(struct http_request *request, struct parley_buffer *text);

/* Notes the rules that a message breaks, for the log: as many ids as fit into 256 bytes. */
void problem_remark_rules(struct http_request *request, const struct parley_findings *findings);

/* Logs an internal error, with the id of the request. */
void problem_log(const struct http_request *request, const char *detail);
