/* SPDX-License-Identifier: Apache-2.0 */

/* Errors as RFC 9457 problem details, all from the table in problem.h. */

#include "problem.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <parley/pipe.h>
#include <parley/rule.h>

#include "clock_and_ids.h"
#include "log.h"

enum { PROBLEM_CODE_SIZE = 64 };

static const struct parley_problem table[PROBLEM_COUNT] = {
#define X(id, name, status, title, advice) [id] = {name, status, title, advice},
    PROBLEM_LIST(X)
#undef X
};

unsigned problem_count(void) {
    unsigned count = PROBLEM_COUNT;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_problem *at = parley_protocols[i]->problems;
        for (; at != NULL && at->name != NULL; at++) {
            count++;
        }
    }
    assert(count <= PROBLEMS_MAX);
    return count;
}

/* `number`: among those of the protocols. */
static const struct parley_problem *of_protocols(unsigned number) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_problem *at = parley_protocols[i]->problems;
        for (; at != NULL && at->name != NULL; at++) {
            if (number-- == 0) {
                return at;
            }
        }
    }
    return &table[PROBLEM_INTERNAL];
}

const struct parley_problem *problem_about(enum problem problem) {
    return problem < PROBLEM_COUNT ? &table[problem] : of_protocols(problem - PROBLEM_COUNT);
}

const char *problem_name(enum problem problem) {
    return problem_about(problem)->name;
}

unsigned problem_status(enum problem problem) {
    return problem_about(problem)->status;
}

enum problem problem_of_name(const char *name) {
    const unsigned count = problem_count();
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(problem_name(i), name) == 0) {
            return (enum problem)i;
        }
    }
    return PROBLEM_INTERNAL;
}

/* All but the violations and the closing brace. */
static void write_head(struct parley_buffer *out, enum problem problem, const char *instance,
                       const char *detail) {
    const struct parley_problem *about = problem_about(problem);
    parley_buffer_format(out, "{\"type\":\"/problems/%s\",\"title\":\"%s\",\"status\":%u",
                         about->name, about->title, about->status);
    parley_buffer_text(out, ",\"detail\":");
    parley_buffer_json(out, parley_bytes_of(detail));
    if (instance != NULL) {
        parley_buffer_text(out, ",\"instance\":");
        parley_buffer_json(out, parley_bytes_of(instance));
    }
}

void problem_write(struct parley_buffer *out, enum problem problem, const char *instance,
                   const char *detail, const struct parley_findings *findings) {
    write_head(out, problem, instance, detail);
    if (findings != NULL) {
        parley_buffer_text(out, ",\"violations\":");
        parley_findings_write(findings, out);
    }
    parley_buffer_char(out, '}');
}

void problem_write_members(struct parley_buffer *out, enum problem problem, const char *detail,
                           struct parley_bytes members) {
    write_head(out, problem, NULL, detail);
    parley_buffer_append(out, members);
    parley_buffer_char(out, '}');
}

/* "bus-unavailable" as BUS_UNAVAILABLE. */
static void write_code(const char *name, char out[PROBLEM_CODE_SIZE]) {
    size_t i = 0;
    for (; name[i] != '\0' && i < PROBLEM_CODE_SIZE - 1; i++) {
        out[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
    }
    out[i] = '\0';
}

/* To a client that reads an encoding of its protocol instead of JSON, a problem is the message by
 * which the protocol refuses; `body` is its details.  Returns: the media type. */
static const char *refuse(const struct http_request *request, enum problem problem,
                          const char *detail, struct parley_buffer *body) {
    const struct parley_protocol *protocol = http_request_encoding(request)->protocol;
    if (protocol == NULL || protocol->pipe == NULL) {
        return "application/problem+json";
    }
    const struct parley_pipe *pipe = protocol->pipe;
    const bool is_invalid = problem == PROBLEM_INVALID_MESSAGE || problem == PROBLEM_MALFORMED;
    char code[PROBLEM_CODE_SIZE];
    struct parley_buffer refusal;
    write_code(problem_name(problem), code);
    parley_buffer_init(&refusal);
    pipe->write_refusal(&(const struct parley_pipe_refusal){.from = http_request_query(
                                                                request, pipe->from->help.name),
                                                            .code = is_invalid ? NULL : code,
                                                            .now_seconds = clock_now_seconds(),
                                                            .message = parley_bytes_of(detail),
                                                            .details = parley_buffer_bytes(body)},
                        &refusal);
    refusal.has_failed |= body->has_failed;
    parley_buffer_finish(body);
    *body = refusal;
    return "application/json";
}

/* Answers with `body`, and frees it. */
static void respond(struct http_request *request, enum problem problem, const char *detail,
                    struct parley_buffer body) {
    const char *media_type = refuse(request, problem, detail, &body);
    parley_buffer_char(&body, '\n');
    if (problem == PROBLEM_INTERNAL || body.has_failed) {
        problem_log(request, detail);
    }
    http_request_note(request, HTTP_NOTE_PROBLEM, (unsigned char)(problem + 1));
    const unsigned status = problem_status(problem);
    if (status == 503) {
        http_header(request, "Retry-After", "1");
    }
    const struct parley_bytes text =
        body.has_failed ? PARLEY_BYTES("{\"type\":\"/problems/internal\",\"status\":500}\n")
                        : parley_buffer_bytes(&body);
    http_compress(request);
    if (body.has_failed) {
        http_respond(request, 500, "application/problem+json", text);
    } else {
        http_respond(request, status, media_type, text);
    }
    parley_buffer_finish(&body);
}

void problem_or_json(struct http_request *request, struct parley_buffer *text) {
    if (text->has_failed) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
    } else {
        http_header(request, "Cache-Control", "no-store");
        http_compress(request);
        http_respond(request, 200, "application/json", parley_buffer_bytes(text));
    }
    parley_buffer_finish(text);
}

void problem_remark_rules(struct http_request *request, const struct parley_findings *findings) {
    char ids[256];
    size_t length = 0;
    const struct parley_rule *last = NULL; /* findings are in the order of the table */
    for (size_t i = 0; i < findings->count; i++) {
        const struct parley_rule *rule = findings->items[i].rule;
        const size_t more = strlen(rule->id) + 1;
        if (rule != last && more <= sizeof ids - length) {
            ids[length] = ',';
            memcpy(ids + length + (length > 0), rule->id, more - 1);
            length += more - (length == 0);
        }
        last = rule;
    }
    if (length > 0) {
        http_request_remark(request, HTTP_REMARK_RULES, (struct parley_bytes){ids, length});
    }
}

void problem_respond_findings(struct http_request *request, enum problem problem,
                              const char *detail, const struct parley_findings *findings) {
    struct parley_buffer body;
    if (findings != NULL) {
        problem_remark_rules(request, findings);
    }
    parley_buffer_init(&body);
    problem_write(&body, problem, http_request_id(request), detail, findings);
    respond(request, problem, detail, body);
}

void problem_respond_members(struct http_request *request, enum problem problem, const char *detail,
                             struct parley_bytes members) {
    struct parley_buffer body;
    parley_buffer_init(&body);
    write_head(&body, problem, http_request_id(request), detail);
    parley_buffer_append(&body, members);
    parley_buffer_char(&body, '}');
    respond(request, problem, detail, body);
}

void problem_respond_violations(struct http_request *request, enum problem problem,
                                const char *detail, struct parley_bytes violations) {
    struct parley_buffer body;
    parley_buffer_init(&body);
    write_head(&body, problem, http_request_id(request), detail);
    parley_buffer_text(&body, ",\"violations\":");
    parley_buffer_append(&body, violations);
    parley_buffer_char(&body, '}');
    respond(request, problem, detail, body);
}

void problem_log(const struct http_request *request, const char *detail) {
    log_write(LOG_INTERNAL, parley_bytes_of(detail),
              LOG_FIELDS(LOG_TEXT("request", http_request_id(request))));
}

void problem_respond(struct http_request *request, enum problem problem, const char *detail) {
    problem_respond_findings(request, problem, detail, NULL);
}

void problem_respond_format(struct http_request *request, enum problem problem, const char *format,
                            ...) {
    char detail[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    problem_respond(request, problem, detail);
}
