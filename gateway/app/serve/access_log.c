/* SPDX-License-Identifier: Apache-2.0 */

#include "access_log.h"

#include <string.h>

#include "log.h"
#include "problem.h"
#include "trace.h"

/* Others are words of the client's. */
static const char *method_of(const struct http_request *request) {
    static const char *const known[] = {"GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i], http_request_method(request)) == 0) {
            return known[i];
        }
    }
    return "other";
}

/* The problem that it was answered with, or how it ended without one. */
static const char *outcome_name(const struct http_outcome *outcome) {
    const unsigned problem = outcome->notes[HTTP_NOTE_PROBLEM];
    return problem != 0             ? problem_name((enum problem)(problem - 1))
           : !outcome->is_complete  ? "aborted"
           : outcome->status >= 400 ? "refused"
                                    : "ok";
}

/* Returns: whether the request belongs to a trace. */
static bool read_trace(const struct http_request *request, struct trace *out) {
    return trace_read(http_request_remarked(request, HTTP_REMARK_TRACE), out) ||
           trace_read(http_request_header(request, "traceparent"), out);
}

/* NULL: it was not let in by any. A connection may have kept that of an earlier request. */
static const char *principal_name(const struct http_request *request,
                                  const struct http_outcome *outcome) {
    const bool is_known = outcome->notes[HTTP_NOTE_KNOWN] != 0;
    const char *name = is_known ? guard_principal(request)->name : "";
    return name[0] != '\0' ? name : NULL;
}

void access_log_write(const struct http_request *request, const struct http_outcome *outcome,
                      const char *route, const char *protocol) {
    struct trace trace;
    char peer[PEER_TEXT_MAX];
    const bool has_trace = read_trace(request, &trace);
    peer_text(http_request_peer(request), peer);
    log_event(LOG_REQUEST,
              LOG_FIELDS(LOG_TEXT("request", http_request_id(request)),
                         LOG_TEXT("method", method_of(request)), LOG_TEXT("route", route),
                         LOG_NUMBER("status", outcome->status), LOG_TEXT("protocol", protocol),
                         LOG_TEXT("outcome", outcome_name(outcome)),
                         LOG_TEXT("rules", http_request_remarked(request, HTTP_REMARK_RULES)),
                         LOG_TEXT("token", principal_name(request, outcome)),
                         LOG_TEXT("peer", peer), LOG_NUMBER("received", outcome->received_bytes),
                         LOG_NUMBER("sent", outcome->sent_bytes),
                         LOG_NUMBER("duration_us", (reactor_clock_ns() - outcome->began_ns) / 1000),
                         LOG_TEXT("trace_id", has_trace ? trace.trace_id : NULL),
                         LOG_TEXT("span_id", has_trace ? trace.span_id : NULL)));
}
